//! The dae engine: natural coordinates, the index-1 system, a step of its own choice, switching functions.
//!
//! [`gelenk_dae`] steps; here the steps become samples, events and a report, as those of the other engines.

use std::borrow::Cow;

use gelenk_dae::{DaeError, Method, Options, Simulation, Stop};
use gelenk_model::force::Hand;
use gelenk_model::{
    Event, Ledger, Model, Observer, Reaction, RunFailure, RunReport, RunSettings, Sample, State,
    Statistics,
};

use crate::engine::{Engine, EngineKind, Failure, Grip, Ready, Source, Step, Steps, empty_report};
use crate::settings::SettingsError;
use crate::simulate::{SimulateError, simulate_as_told};

const NAME: &str = "dae";

/// The local error of a run that asks for none, relative and absolute.
pub const TOLERANCE: f64 = 1e-12;

/// How far joints may turn between two looks at their coordinates, rad.
const LARGEST_TURN: f64 = 1.0;

/// Refuses models with what the engine does not have: contact of bodies.
pub fn check_model(model: &Model) -> Result<(), SimulateError> {
    gelenk_dae::check_model(model)
        .map_err(|error| SimulateError::Unsupported { engine: NAME, reason: error.to_string() })
}

/// Relative and absolute tolerance of the local error: as given, a hundredth of the accuracy asked for, or [`TOLERANCE`].
pub fn tolerances(settings: &RunSettings) -> (f64, f64) {
    let usual = settings.accuracy.map_or(TOLERANCE, |x| (0.01 * x).clamp(1e-13, 1e-4));
    let rtol = settings.rtol.unwrap_or(usual);
    (rtol, settings.atol.unwrap_or(rtol))
}

/// The engine's options; an error says which setting makes no sense.
pub fn options(settings: &RunSettings) -> Result<Options, String> {
    let (rtol, atol) = tolerances(settings);
    if !(1e-14..1.0).contains(&rtol) {
        return Err(format!("rtol is {rtol}, not between 1e-14 and 1"));
    }
    if !(atol.is_finite() && atol > 0.0) {
        return Err(format!("atol is {atol}, not above 0"));
    }
    let method = match settings.integrator.as_deref() {
        None | Some("auto") => Method::Auto,
        Some("dop853") => Method::Dop853,
        Some("radau") => Method::Radau5,
        Some(other) => {
            return Err(format!(
                "there is no integrator `{other}`; there is `auto`, `dop853`, `radau`"
            ));
        }
    };
    Ok(Options { rtol, atol, method, impact: settings.impact, ..Options::default() })
}

/// Runs a model and tells `observer`.
///
/// Samples come every `settings.sample` seconds, or every `settings.step` seconds if that is not given, from the method's dense output; so
/// do the states at the times `settings.at`. The steps counted are the method's own.
pub fn run(
    model: &Model,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, SimulateError> {
    let settings = RunSettings { engine: NAME.to_owned(), ..settings.clone() };
    simulate_as_told(model, &settings, observer)
}

/// Natural coordinates, integrated with steps of the engine's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dae;

impl EngineKind for Dae {
    fn name(&self) -> &'static str {
        NAME
    }

    fn steps(&self) -> Steps {
        Steps::Own
    }

    fn takes_hand_as_force(&self) -> bool {
        true
    }

    fn has_rtol(&self) -> bool {
        true
    }

    fn check_settings(&self, settings: &RunSettings) -> Result<(), SettingsError> {
        options(settings).map_err(SettingsError::Dae)?;
        Ok(())
    }

    fn check_model(&self, model: &Model, settings: &RunSettings) -> Result<(), SimulateError> {
        if settings.contact == "none" { Ok(()) } else { check_model(model) }
    }

    fn prepare<'a>(
        &self,
        source: Source<'a>,
        settings: &RunSettings,
    ) -> Result<Box<dyn Ready + 'a>, SimulateError> {
        let model = if settings.contact == "none" {
            Cow::Owned(source.model.without_contact())
        } else {
            Cow::Borrowed(source.model)
        };
        check_model(&model)?;
        options(settings).map_err(unsupported)?;
        Ok(Box::new(Natural { model }))
    }

    fn with_local_error(&self, settings: RunSettings, tolerance: f64) -> RunSettings {
        RunSettings { rtol: Some(tolerance), atol: Some(tolerance), ..settings }
    }

    fn exact(&self, settings: RunSettings) -> RunSettings {
        let engine = NAME.to_owned();
        RunSettings { engine, accuracy: None, rtol: None, atol: None, ..settings }
    }

    fn precision(&self, settings: &RunSettings) -> String {
        format!("local errors of {:.0e}", tolerances(settings).0)
    }

    fn allowed_gap(&self, settings: &RunSettings, _own: Option<f64>) -> f64 {
        // It projects to its tolerance of the local error, whatever the joint's.
        let (rtol, atol) = tolerances(settings);
        rtol.max(atol).max(1e-13)
    }

    fn remedy(&self, settings: &RunSettings) -> String {
        let (rtol, _) = tolerances(settings);
        if rtol > 1e-11 {
            return format!("try --rtol {:.0e}, or --engine impulse", (0.01 * rtol).max(1e-12));
        }
        "try --engine impulse, or another --rtol".to_owned()
    }
}

fn unsupported(reason: String) -> SimulateError {
    SimulateError::Unsupported { engine: NAME, reason }
}

/// A model in natural coordinates; without contact where none is wanted.
#[derive(Debug)]
struct Natural<'a> {
    model: Cow<'a, Model>,
}

impl Ready for Natural<'_> {
    fn start<'s>(
        &'s self,
        settings: &RunSettings,
        state: &State,
    ) -> Result<Box<dyn Engine + 's>, RunFailure> {
        let fail = |Failure { reason, element }| {
            let report = RunReport {
                statistics: Some(Statistics::default()),
                ..empty_report(NAME, &self.model, state)
            };
            RunFailure { reason, element, report: Box::new(report) }
        };
        let options =
            options(settings).map_err(|reason| fail(Failure { reason, element: None }))?;
        let run = Run::new(&self.model, state, &options).map_err(|error| fail(failure(&error)))?;
        Ok(Box::new(run))
    }
}

fn failure(error: &DaeError) -> Failure {
    let element = error.element().map(str::to_owned);
    Failure { reason: format!("dae engine: {error}"), element }
}

/// A moment that is looked at.
struct Moment {
    state: State,
    y: Vec<f64>,
    reactions: Vec<Reaction>,
}

/// A model in motion.
struct Run<'m> {
    model: &'m Model,
    simulation: Simulation<'m>,
    steps: u64,
    ledger: Ledger,
    energy_abs_sum: f64,
    energy_abs_max: f64,
    worst_gaps: Vec<f64>,
    /// Those of the steps before the last one, which samples within it show.
    shown_gaps: Vec<f64>,
    worst_velocity_errors: Vec<f64>,
    /// What has happened and was not taken yet.
    events: Vec<Event>,
    stiff_told: bool,
    /// Where the last step ended, s.
    t: f64,
    /// The longest part of the last step in which no joint turns too far, s.
    part: f64,
    seen: Moment,
    /// The state that the run has come to.
    state: State,
}

impl<'m> Run<'m> {
    fn new(model: &'m Model, start: &State, options: &Options) -> Result<Self, DaeError> {
        let mut simulation = Simulation::new(model, start, options)?;
        let (t, y) = (simulation.t(), simulation.y().to_vec());
        let state = simulation.look(t, &y);
        let mut run = Run {
            model,
            simulation,
            steps: 0,
            ledger: Ledger::default(),
            energy_abs_sum: 0.0,
            energy_abs_max: 0.0,
            worst_gaps: vec![0.0; model.rows.len()],
            shown_gaps: vec![0.0; model.rows.len()],
            worst_velocity_errors: vec![0.0; model.rows.len()],
            events: Vec::new(),
            stiff_told: false,
            t: state.t,
            part: f64::INFINITY,
            seen: Moment { state: state.clone(), y, reactions: Vec::new() },
            state,
        };
        let total = model.kinetic_energy(&run.state) + model.potential_energy(&run.state);
        // Impacts at the very start come before the first look.
        run.ledger.initial = total + run.simulation.impact_loss();
        run.ledger = run.ledger_at(&run.state, &run.seen.y);
        run.gather_events();
        Ok(run)
    }

    /// Keeps what has happened until it is taken.
    fn gather_events(&mut self) {
        self.events.extend(self.simulation.take_events());
        let stiff_at = self.simulation.statistics().stiff_at.filter(|_| !self.stiff_told);
        if let Some(t) = stiff_at {
            self.stiff_told = true;
            let detail = match self.simulation.method() {
                Method::Dop853 => {
                    "the model is stiff here: the explicit method goes on with short steps; --integrator radau takes longer ones"
                }
                _ => {
                    "the model is stiff here: Radau IIA of order 5 goes on from the method of order 8"
                }
            };
            self.events.push(Event::new(t, "stiff", Vec::new(), detail.to_owned()));
        }
    }

    fn ledger_at(&self, state: &State, y: &[f64]) -> Ledger {
        let booked = self.simulation.booked(y);
        Ledger {
            initial: self.ledger.initial,
            kinetic: self.model.kinetic_energy(state),
            potential: self.model.potential_energy(state),
            work: booked[0],
            dissipation: booked[1],
            impact_loss: self.simulation.impact_loss(),
        }
    }
}

impl Engine for Run<'_> {
    fn advance(&mut self, step: &Step) -> Result<(), Failure> {
        let stop = self.simulation.advance(step.end).map_err(|error| failure(&error))?;
        self.t = if stop == Stop::End { step.end } else { self.simulation.t() };
        self.steps += 1;
        self.part = LARGEST_TURN / self.simulation.equations().fastest().max(1e-300);
        Ok(())
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn look(&mut self, t: f64) -> Result<(), Failure> {
        self.seen.y = if t < self.t {
            self.simulation.at(t).map_err(|error| failure(&error))?
        } else {
            self.simulation.y().to_vec()
        };
        self.seen.state = self.simulation.look(t, &self.seen.y);
        Ok(())
    }

    fn reach(&self) -> f64 {
        // Joints are counted on in parts, each at most a turn of `LARGEST_TURN`.
        self.seen.state.t + self.part
    }

    fn sample(&mut self) -> Sample<'_> {
        let ledger = self.ledger_at(&self.seen.state, &self.seen.y);
        let equations = self.simulation.equations();
        equations.accelerate(self.seen.state.t);
        self.seen.reactions = equations.reactions();
        Sample {
            step: self.steps,
            state: &self.seen.state,
            reactions: &self.seen.reactions,
            contacts: &[],
            ledger,
            worst_gaps: &self.shown_gaps,
            inputs: &[],
        }
    }

    fn arrive(&mut self) {
        self.state.clone_from(&self.seen.state);
        self.ledger = self.ledger_at(&self.state, &self.seen.y);
        let error = self.ledger.integrator_error().abs();
        self.energy_abs_sum += error;
        self.energy_abs_max = self.energy_abs_max.max(error);
        let (t, equations) = (self.state.t, self.simulation.equations());
        equations.invariants(t, &self.seen.y);
        let (gaps, rates) = equations.gaps(t);
        let widen = |worst: &mut [f64], now: &[f64]| {
            for (worst, now) in worst.iter_mut().zip(now) {
                *worst = if now.is_nan() { *now } else { worst.max(*now) };
            }
        };
        widen(&mut self.worst_gaps, &gaps);
        widen(&mut self.worst_velocity_errors, &rates);
    }

    fn settle(&mut self) -> Result<(), Failure> {
        self.simulation.switch().map_err(|error| failure(&error))?;
        self.gather_events();
        self.shown_gaps.clone_from(&self.worst_gaps);
        Ok(())
    }

    fn finish(&mut self) {
        // After a switch at the very end the state is the one after it.
        let y = self.simulation.y().to_vec();
        self.state = self.simulation.look(self.state.t, &y);
        self.ledger = self.ledger_at(&self.state, &y);
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn ledger(&self) -> Ledger {
        self.ledger
    }

    fn report(&self) -> RunReport {
        let statistics = self.simulation.statistics();
        RunReport {
            steps: self.steps,
            corrections: statistics.projections,
            ledger: self.ledger,
            energy_mean_abs_error: self.energy_abs_sum / self.steps.max(1) as f64,
            energy_max_abs_error: self.energy_abs_max,
            worst_gaps: self.worst_gaps.clone(),
            worst_velocity_errors: self.worst_velocity_errors.clone(),
            statistics: Some(statistics),
            ..empty_report(NAME, self.model, &self.state)
        }
    }

    fn pull(&mut self, _hand: Option<Hand>) -> Grip {
        // The hand is a force of the model, which is constant in a run.
        Grip::Anew
    }
}
