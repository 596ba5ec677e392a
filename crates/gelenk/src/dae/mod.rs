//! The dae engine: natural coordinates, the index-1 system, a step of its own choice, switching functions.
//!
//! [`gelenk_dae`] steps; here the steps become samples, events and a report, as those of the other engines.

use std::ops::ControlFlow;

use gelenk_dae::{DaeError, Method, Options, Simulation, Stop};
use gelenk_model::{
    Event, Ledger, Model, Observer, RunFailure, RunReport, RunSettings, Sample, State,
};

use crate::simulate::SimulateError;
use crate::times::Times;

/// The local error of a run that asks for none, relative and absolute.
pub const TOLERANCE: f64 = 1e-12;

/// How far joints may turn between two looks at their coordinates, rad.
const LARGEST_TURN: f64 = 1.0;

/// Refuses models with what the engine does not have: contact of bodies.
pub fn check_model(model: &Model) -> Result<(), SimulateError> {
    gelenk_dae::check_model(model)
        .map_err(|error| SimulateError::Unsupported { engine: "dae", reason: error.to_string() })
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
    Ok(Options { rtol, atol, method, ..Options::default() })
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
    let without = (settings.contact == "none").then(|| model.without_contact());
    let model = without.as_ref().unwrap_or(model);
    check_model(model)?;
    let options =
        options(settings).map_err(|reason| SimulateError::Unsupported { engine: "dae", reason })?;
    let mut run = match Run::new(model, &options) {
        Ok(run) => run,
        Err(error) => {
            let report = Box::new(empty_report(model));
            return Err(SimulateError::Failed(failure(&error, report)));
        }
    };
    match run.go(settings, observer) {
        Ok(stopped) => Ok(RunReport { stopped, ..run.report() }),
        Err(error) => Err(SimulateError::Failed(failure(&error, Box::new(run.report())))),
    }
}

fn failure(error: &DaeError, report: Box<RunReport>) -> RunFailure {
    let element = error.element().map(str::to_owned);
    RunFailure { reason: format!("dae engine: {error}"), element, report }
}

/// What a run has come to.
struct Run<'m> {
    model: &'m Model,
    simulation: Simulation<'m>,
    steps: u64,
    ledger: Ledger,
    energy_abs_sum: f64,
    energy_abs_max: f64,
    worst_gaps: Vec<f64>,
    worst_velocity_errors: Vec<f64>,
    events: Vec<Event>,
    stiff_told: bool,
    /// The state at the last step.
    state: State,
}

impl<'m> Run<'m> {
    fn new(model: &'m Model, options: &Options) -> Result<Self, DaeError> {
        let mut simulation = Simulation::new(model, &model.start, options)?;
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
            worst_velocity_errors: vec![0.0; model.rows.len()],
            events: Vec::new(),
            stiff_told: false,
            state,
        };
        let total = model.kinetic_energy(&run.state) + model.potential_energy(&run.state);
        // Impacts at the very start come before the first look.
        run.ledger.initial = total + run.simulation.impact_loss();
        run.ledger = run.ledger_at(&run.state, &y);
        Ok(run)
    }

    /// Runs to the end; true if the observer stopped it.
    fn go(
        &mut self,
        settings: &RunSettings,
        observer: &mut dyn Observer,
    ) -> Result<bool, DaeError> {
        let times = Times::new(settings, self.state.t);
        self.tell(observer);
        let (mut k, mut next_at) = (1, times.first_at(self.state.t));
        let y = self.simulation.y().to_vec();
        let state = self.simulation.look(self.state.t, &y);
        while times.at(next_at).is_some_and(|at| at <= state.t + times.near) {
            if self.show(&state, &y, |sample| observer.at(sample)).is_break() {
                return Ok(true);
            }
            next_at += 1;
        }
        if self.show(&state, &y, |sample| observer.sample(sample)).is_break() {
            return Ok(true);
        }
        while self.state.t < times.end {
            let t_old = self.state.t;
            let stop = self.simulation.advance(times.end)?;
            let t_new = if stop == Stop::End { times.end } else { self.simulation.t() };
            self.steps += 1;
            let part = LARGEST_TURN / self.simulation.equations().fastest().max(1e-300);
            let mut t_seen = t_old;
            loop {
                let sample = times.sample(k).filter(|t| *t <= t_new);
                let at = times.at(next_at).filter(|t| *t <= t_new + times.near);
                let wanted = [sample, at].into_iter().flatten().fold(t_new, f64::min);
                let t = wanted.min(t_seen + part);
                let y =
                    if t < t_new { self.simulation.at(t)? } else { self.simulation.y().to_vec() };
                let state = self.simulation.look(t, &y);
                t_seen = t;
                if at.is_some_and(|at| at <= t + times.near) {
                    next_at += 1;
                    if self.show(&state, &y, |sample| observer.at(sample)).is_break() {
                        self.arrived(state, &y);
                        return Ok(true);
                    }
                    continue;
                }
                if sample.is_some_and(|sample| sample <= t) {
                    k += 1;
                    if self.show(&state, &y, |sample| observer.sample(sample)).is_break() {
                        self.arrived(state, &y);
                        return Ok(true);
                    }
                }
                if t >= t_new {
                    self.arrived(state, &y);
                    break;
                }
            }
            self.simulation.switch()?;
            self.tell(observer);
            if observer.step(self.state.t).is_break() {
                return Ok(true);
            }
        }
        // After a switch at the very end the state is the one after it.
        let (t, y) = (self.state.t, self.simulation.y().to_vec());
        self.state = self.simulation.look(t, &y);
        self.ledger = self.ledger_at(&self.state, &y);
        Ok(false)
    }

    /// Tells what has happened.
    fn tell(&mut self, observer: &mut dyn Observer) {
        let mut news = self.simulation.take_events();
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
            news.push(Event::new(t, "stiff", Vec::new(), detail.to_owned()));
        }
        for event in &news {
            observer.event(event);
        }
        self.events.extend(news);
    }

    /// The end of a step: ledger and gaps there. The state must have been looked at.
    fn arrived(&mut self, state: State, y: &[f64]) {
        let t = state.t;
        self.state = state;
        self.ledger = self.ledger_at(&self.state, y);
        let error = self.ledger.integrator_error().abs();
        self.energy_abs_sum += error;
        self.energy_abs_max = self.energy_abs_max.max(error);
        let equations = self.simulation.equations();
        equations.invariants(t, y);
        let (gaps, rates) = equations.gaps(t);
        let widen = |worst: &mut [f64], now: &[f64]| {
            for (worst, now) in worst.iter_mut().zip(now) {
                *worst = if now.is_nan() { *now } else { worst.max(*now) };
            }
        };
        widen(&mut self.worst_gaps, &gaps);
        widen(&mut self.worst_velocity_errors, &rates);
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

    /// Shows a moment; the state must have been looked at.
    fn show(
        &mut self,
        state: &State,
        y: &[f64],
        see: impl FnOnce(&Sample<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let ledger = self.ledger_at(state, y);
        let equations = self.simulation.equations();
        equations.accelerate(state.t);
        let reactions = equations.reactions();
        see(&Sample {
            step: self.steps,
            state,
            reactions: &reactions,
            contacts: &[],
            ledger,
            worst_gaps: &self.worst_gaps,
        })
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
            events: self.events.clone(),
            statistics: Some(statistics),
            t: self.state.t,
            state: self.state.clone(),
            ..empty_report(self.model)
        }
    }
}

/// The report of a run that has not begun.
fn empty_report(model: &Model) -> RunReport {
    RunReport {
        engine: "dae",
        t: model.start.t,
        steps: 0,
        corrections: 0,
        stopped: false,
        ledger: Ledger::default(),
        energy_mean_abs_error: 0.0,
        energy_max_abs_error: 0.0,
        worst_gaps: vec![0.0; model.rows.len()],
        worst_velocity_errors: vec![0.0; model.rows.len()],
        worst_penetration: None,
        contacts: Vec::new(),
        events: Vec::new(),
        statistics: Some(gelenk_model::Statistics::default()),
        state: model.start.clone(),
    }
}
