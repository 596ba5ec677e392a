//! Engines as the live view drives them: a little further each time, with a hand that may pull.

use gelenk::model::force::{Force, ForceKind, Hand};
use gelenk::model::{
    Event, Ledger, Loaded, Model, Observer, RunReport, RunSettings, Sample, State,
};
use gelenk_impulse::Simulation;

use crate::frame::{Frame, encode};

/// The local error of the engines that choose their steps, unless the model asks for one.
const LIVE_TOLERANCE: f64 = 1e-9;

/// A model in motion.
pub(crate) trait Engine {
    /// Goes on by one step.
    fn step(&mut self) -> Result<(), String>;
    /// The length of a step, s.
    fn step_length(&self) -> f64;
    /// The frame of now.
    fn frame(&self, index: u32, carried: &Carried) -> Frame;
    /// The state of now.
    fn state(&self) -> &State;
    /// The ledger since this engine took over.
    fn ledger(&self) -> Ledger;
    /// Lets a hand pull, or go; an error says why it cannot.
    fn pull(&mut self, hand: Option<Hand>) -> Result<(), String>;
    /// Takes the events since the last call.
    fn take_events(&mut self) -> Vec<Event>;
}

/// What the ledger had when an engine took over from another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    initial: Option<f64>,
    /// Kinetic and potential energy there.
    total: f64,
    work: f64,
    dissipation: f64,
    impact_loss: f64,
}

impl Carried {
    /// The ledger of the whole motion.
    pub(crate) fn whole(&self, ledger: &Ledger) -> Ledger {
        Ledger {
            initial: self.initial.unwrap_or(ledger.initial),
            work: self.work + ledger.work,
            dissipation: self.dissipation + ledger.dissipation,
            impact_loss: self.impact_loss + ledger.impact_loss,
            ..*ledger
        }
    }

    /// The next engine begins. What another model has more or less in the same state was done from outside.
    pub(crate) fn join(&mut self, ledger: &Ledger) {
        if self.initial.is_some() {
            self.work += ledger.initial - self.total;
        }
    }

    /// Takes over what an engine has come to.
    pub(crate) fn add(&mut self, ledger: &Ledger) {
        let whole = self.whole(ledger);
        self.initial = Some(whole.initial);
        self.total = whole.total();
        (self.work, self.dissipation, self.impact_loss) =
            (whole.work, whole.dissipation, whole.impact_loss);
    }
}

/// The impulse engine.
pub(crate) struct Stepping<'m>(pub(crate) Simulation<'m>, pub(crate) f64);

impl<'m> Stepping<'m> {
    pub(crate) fn new(
        model: &'m Model,
        settings: &RunSettings,
        state: State,
    ) -> Result<Self, String> {
        let simulation = Simulation::from_state(model, settings, state);
        Ok(Stepping(simulation.map_err(|failure| failure.to_string())?, settings.step))
    }
}

impl Engine for Stepping<'_> {
    fn step(&mut self) -> Result<(), String> {
        self.0.step().map_err(|failure| failure.to_string())
    }

    fn step_length(&self) -> f64 {
        self.1
    }

    fn frame(&self, index: u32, carried: &Carried) -> Frame {
        let sample = self.0.sample();
        let sample = Sample { ledger: carried.whole(&sample.ledger), ..sample };
        encode(self.0.model(), &sample, index)
    }

    fn state(&self) -> &State {
        self.0.state()
    }

    fn ledger(&self) -> Ledger {
        self.0.ledger()
    }

    fn pull(&mut self, hand: Option<Hand>) -> Result<(), String> {
        self.0.pull(hand);
        Ok(())
    }

    fn take_events(&mut self) -> Vec<Event> {
        self.0.take_events()
    }
}

/// An engine with steps of its own choice, run in pieces of `step` seconds.
pub(crate) struct Pieces {
    loaded: Loaded,
    /// The derived equations, of the lagrange engine.
    equations: Option<gelenk::lagrange::Numeric>,
    settings: RunSettings,
    step: f64,
    last: Last,
    carried: Carried,
}

/// The newest sample, as an observer keeps it.
#[derive(Default)]
struct Last {
    sample: Option<gelenk::recording::RecordedSample>,
    worst_gaps: Vec<f64>,
    events: Vec<Event>,
}

impl Observer for Last {
    fn sample(&mut self, sample: &Sample<'_>) -> std::ops::ControlFlow<()> {
        let mut kept = gelenk::recording::RecordedSample::new(sample);
        self.worst_gaps.resize(kept.worst_gaps.len(), 0.0);
        for (worst, now) in self.worst_gaps.iter_mut().zip(&mut kept.worst_gaps) {
            *worst = worst.max(*now);
            *now = *worst;
        }
        self.sample = Some(kept);
        std::ops::ControlFlow::Continue(())
    }

    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
}

impl Pieces {
    pub(crate) fn new(
        loaded: &Loaded,
        settings: &RunSettings,
        state: State,
        step: f64,
    ) -> Result<Self, String> {
        let mut loaded = loaded.clone();
        loaded.model.start = state;
        let equations = if settings.engine == "lagrange" {
            Some(gelenk::lagrange::prepare(&loaded).map_err(|error| error.to_string())?)
        } else {
            gelenk::dae::check_model(&loaded.model).map_err(|error| error.to_string())?;
            None
        };
        let mut settings = settings.clone();
        if settings.accuracy.is_none() {
            settings.rtol = settings.rtol.or(Some(LIVE_TOLERANCE));
        }
        let mut pieces = Pieces {
            loaded,
            equations,
            settings,
            step,
            last: Last::default(),
            carried: Carried::default(),
        };
        // The start itself, so that there is something to see.
        pieces.run(0.0)?;
        Ok(pieces)
    }

    fn run(&mut self, duration: f64) -> Result<RunReport, String> {
        let settings = RunSettings {
            duration,
            sample: Some(duration.max(1e-9)),
            at: Vec::new(),
            ..self.settings.clone()
        };
        let model = &self.loaded.model;
        match &self.equations {
            Some(equations) => {
                gelenk::lagrange::run_prepared(model, equations, &settings, &mut self.last)
                    .map_err(|failure| failure.to_string())
            }
            None => gelenk::dae::run(model, &settings, &mut self.last)
                .map_err(|error| error.to_string()),
        }
    }

    fn sample(&self) -> Option<Sample<'_>> {
        self.last.sample.as_ref().map(gelenk::recording::RecordedSample::as_sample)
    }
}

impl Engine for Pieces {
    fn step(&mut self) -> Result<(), String> {
        let report = self.run(self.step)?;
        self.carried.add(&report.ledger);
        self.loaded.model.start = report.state;
        Ok(())
    }

    fn step_length(&self) -> f64 {
        self.step
    }

    fn frame(&self, index: u32, carried: &Carried) -> Frame {
        let Some(sample) = self.sample() else { return Frame::from([]) };
        // The pieces before are in the ledger too.
        let ledger = carried.whole(&self.ledger());
        encode(&self.loaded.model, &Sample { ledger, ..sample }, index)
    }

    fn state(&self) -> &State {
        &self.loaded.model.start
    }

    fn ledger(&self) -> Ledger {
        let now = self.sample().map_or_else(Ledger::default, |sample| sample.ledger);
        let none = Ledger { work: 0.0, dissipation: 0.0, impact_loss: 0.0, ..now };
        self.carried.whole(&none)
    }

    fn pull(&mut self, hand: Option<Hand>) -> Result<(), String> {
        if self.equations.is_some() && hand.is_some() {
            return Err(
                "derived equations have no hand: bodies are dragged with the impulse or dae engine"
                    .to_owned(),
            );
        }
        let forces = &mut self.loaded.model.forces;
        forces.retain(|force| !matches!(force.kind, ForceKind::Hand(_)));
        if let Some(hand) = hand {
            forces.push(Force { name: "hand".to_owned(), kind: ForceKind::Hand(hand) });
        }
        Ok(())
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.last.events)
    }
}
