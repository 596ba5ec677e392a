//! Engines as the live view drives them: a little further each time, with a hand that may pull.

use gelenk::engine::{Engine, EngineKind, Grip, Step, Steps};
use gelenk::model::force::{Force, ForceKind, Hand};
use gelenk::model::{Event, Ledger, Loaded, Model, RunReport, RunSettings, Sample, State};
use gelenk::verdict::{Judge, Verdict};

use crate::frame::{Frame, encode};

/// The local error of the engines that choose their steps, unless the model asks for one.
const LIVE_TOLERANCE: f64 = 1e-9;

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

/// The settings of a live run with an engine.
pub(crate) fn live_settings(kind: &dyn EngineKind, settings: &RunSettings) -> RunSettings {
    if settings.accuracy.is_none() && settings.rtol.is_none() {
        return kind.with_local_error(settings.clone(), LIVE_TOLERANCE);
    }
    settings.clone()
}

/// The model with a hand as one of its forces, for engines that know no other hand.
pub(crate) fn with_hand(loaded: &Loaded, hand: Hand) -> Loaded {
    let mut loaded = loaded.clone();
    loaded.model.forces.push(Force { name: "hand".to_owned(), kind: ForceKind::Hand(hand) });
    loaded
}

/// A model in motion.
pub(crate) struct Motion<'m> {
    engine: Box<dyn Engine + 'm>,
    model: &'m Model,
    settings: RunSettings,
    /// Seconds between two moments shown.
    h: f64,
    t_start: f64,
    steps: u64,
    judge: Judge,
    /// What has happened and was not taken yet.
    events: Vec<Event>,
    /// Events that the verdict asks for.
    loose: Vec<Event>,
}

impl<'m> Motion<'m> {
    /// `tick`: seconds between two moments shown of engines that choose their steps.
    pub(crate) fn new(
        engine: Box<dyn Engine + 'm>,
        kind: &dyn EngineKind,
        model: &'m Model,
        settings: RunSettings,
        tick: f64,
    ) -> Self {
        let h = if kind.steps() == Steps::Given { settings.step } else { tick };
        let t_start = engine.time();
        let (judge, steps) = (Judge::default(), 0);
        let (events, loose) = (Vec::new(), Vec::new());
        let mut motion =
            Motion { engine, model, settings, h, t_start, steps, judge, events, loose };
        motion.gather();
        motion
    }

    /// Goes on by one step.
    pub(crate) fn step(&mut self) -> Result<(), String> {
        let target = self.t_start + (self.steps + 1) as f64 * self.h;
        let near = target - 1e-9 * self.h;
        while self.engine.time() < near {
            let whole = self.engine.time() <= target - (1.0 - 1e-9) * self.h;
            let length = if whole { self.h } else { target - self.engine.time() };
            let result = self.engine.advance(&Step { length, end: target });
            self.gather();
            result.map_err(|failure| failure.to_string())?;
            let end = self.engine.time();
            loop {
                let t = self.engine.reach().min(end);
                self.engine.look(t).map_err(|failure| failure.to_string())?;
                if t >= end {
                    break;
                }
            }
            self.engine.arrive();
            self.engine.settle().map_err(|failure| failure.to_string())?;
            self.gather();
            self.judge.ledger(end, &self.engine.ledger());
        }
        // What a switch at the end has changed is shown.
        self.engine.finish();
        self.engine.look(self.engine.time()).map_err(|failure| failure.to_string())?;
        self.steps += 1;
        Ok(())
    }

    fn gather(&mut self) {
        let events = self.engine.take_events();
        self.loose.extend(events.iter().find(|event| event.kind == "contact-loose").cloned());
        self.loose.truncate(1);
        self.events.extend(events);
    }

    /// The length of a step, s.
    pub(crate) fn step_length(&self) -> f64 {
        self.h
    }

    /// The frame of now.
    pub(crate) fn frame(&mut self, index: u32, carried: &Carried) -> Frame {
        let model = self.model;
        let sample = self.engine.sample();
        // The engines before are in the ledger too.
        let sample = Sample { ledger: carried.whole(&sample.ledger), ..sample };
        encode(model, &sample, index)
    }

    /// The state of now.
    pub(crate) fn state(&self) -> &State {
        self.engine.state()
    }

    /// The ledger since this engine took over.
    pub(crate) fn ledger(&self) -> Ledger {
        self.engine.ledger()
    }

    /// Lets a hand pull, or go.
    pub(crate) fn pull(&mut self, hand: Option<Hand>) -> Grip {
        self.engine.pull(hand)
    }

    /// Takes the events since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The verdict on the motion since this engine took over.
    pub(crate) fn verdict(&self, failure: Option<&str>) -> Verdict {
        let report = RunReport { events: self.loose.clone(), ..self.engine.report() };
        let (model, settings) = (self.model, &self.settings);
        self.judge.clone().verdict(model, settings, &report, failure, self.engine.refused())
    }
}
