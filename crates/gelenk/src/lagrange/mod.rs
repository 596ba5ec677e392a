//! The lagrange engine: the equations of motion derived from the model's energies, integrated to twelve digits.
//!
//! ```text
//! q̈ = f(q, q̇, t)
//! ```
//! f comes from [`gelenk_lagrange`]; Dormand and Prince's method of order 8 integrates it with a step of its own choice, and Radau IIA of order 5
//! goes on where the equations are found stiff. Where loops are closed, q and q̇ are put back on the conditions after each step.
//! Work and dissipation are integrated with the motion. Gaps and forces of joints come from the model's rows, which share nothing with the
//! derivation.

mod look;

use std::ops::ControlFlow;

pub use gelenk_lagrange::Numeric;
use gelenk_lagrange::from_model;
use gelenk_model::force::Account;
use gelenk_model::{
    Event, Ledger, Loaded, Model, Observer, Reaction, RowKind, RunFailure, RunReport, RunSettings,
    Sample, State,
};
use gelenk_ode::{Failure, Integrator, Method, Options, Stop, System};

use crate::simulate::SimulateError;
use crate::times::Times;
use look::{Look, still};

/// The local error of a run without an accuracy of its own, relative and absolute.
pub const TOLERANCE: f64 = 1e-12;

/// How far joints may turn between two looks at their coordinates, rad.
const LARGEST_TURN: f64 = 1.0;

/// A start velocity that is changed by more than this is told, m/s or rad/s.
const CHANGED: f64 = 1e-6;

/// A joint open by more than this at the start is an error, m or rad.
const OPEN_AT_START: f64 = 1e-6;

/// The local error, relative and absolute, of the integration: [`TOLERANCE`], or a hundredth of the accuracy asked for.
pub fn local_tolerance(settings: &RunSettings) -> f64 {
    settings.accuracy.map_or(TOLERANCE, |accuracy| (0.01 * accuracy).clamp(1e-13, 1e-4))
}

/// Refuses models with what Lagrange's equations do not have: contact, end stops, dry friction, joints that break.
pub fn check_model(model: &Model) -> Result<(), SimulateError> {
    let refuse = |element: String, what: &str| {
        let reason = format!(
            "{element}: {what} is no part of Lagrange's equations; run it with the impulse engine"
        );
        Err(SimulateError::Unsupported { engine: "lagrange", reason })
    };
    for joint in &model.joints {
        let (element, properties) = (format!("joint `{}`", joint.name), &joint.properties);
        if !properties.limits.is_empty() {
            return refuse(element, "an end stop");
        }
        if properties.friction.iter().any(|f| *f != 0.0) {
            return refuse(element, "dry friction");
        }
        if properties.break_force.is_some() || properties.break_torque.is_some() {
            return refuse(element, "breaking");
        }
    }
    if let Some(block) = model.rows.iter().find(|block| block.is_bound()) {
        return refuse(format!("`{}`", block.name), "a bound");
    }
    if let Some(body) = model.bodies.iter().find(|body| body.contact.collide) {
        return refuse(format!("body `{}`", body.name), "contact");
    }
    Ok(())
}

/// The model's equations as numbers; an error says what they cannot hold.
pub fn prepare(loaded: &Loaded) -> Result<Numeric, SimulateError> {
    check_model(&loaded.model)?;
    let refuse = |error: gelenk_lagrange::DeriveError| SimulateError::Unsupported {
        engine: "lagrange",
        reason: error.to_string(),
    };
    let mut system = from_model(loaded).map_err(refuse)?;
    system.numeric(&loaded.model).map_err(refuse)
}

/// Runs a model by its equations of motion and tells `observer`.
///
/// Samples come every `settings.sample` seconds, or every `settings.step` seconds if that is not given, from the method's dense output; so
/// do the states at the times `settings.at`. The steps counted are the method's own.
pub fn run(
    loaded: &Loaded,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, SimulateError> {
    let numeric = prepare(loaded)?;
    run_prepared(&loaded.model, &numeric, settings, observer).map_err(SimulateError::Failed)
}

/// [`run()`] with equations that are there already.
pub fn run_prepared(
    model: &Model,
    numeric: &Numeric,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunFailure> {
    let mut run = Run::new(model, numeric)?;
    let result = run.go(settings, observer);
    match result {
        Ok(stopped) => Ok(RunReport { stopped, ..run.report() }),
        Err(reason) => Err(RunFailure { reason, element: None, report: Box::new(run.report()) }),
    }
}

/// The equations as a system of first order: y = [q, q̇], and [work, dissipation] where there is any.
struct Equations<'a> {
    numeric: &'a Numeric,
    look: Look<'a>,
    /// Memory for a state, and the joint coordinates of the last step with their rates.
    state: State,
    at_step: (f64, Vec<f64>, Vec<f64>),
    n: usize,
    books: bool,
    corrections: u64,
}

impl Equations<'_> {
    /// The state at y; angles of joints near where they should be after the last step.
    fn fill(&mut self, t: f64, y: &[f64]) {
        let (q, qd) = (&y[..self.n], &y[self.n..2 * self.n]);
        self.numeric.write_state(q, qd, t, &mut self.state);
        self.look.read(&self.state);
        let (t_step, coordinates, rates) = &self.at_step;
        for (k, slot) in self.state.coordinate.iter_mut().enumerate() {
            *slot = coordinates[k] + (t - t_step) * rates[k];
        }
        self.look.count_on(&mut self.state);
    }

    /// Takes y as the place from which joint coordinates are counted on.
    fn arrive(&mut self, t: f64, y: &[f64]) {
        self.fill(t, y);
        self.at_step.0 = t;
        self.at_step.1.clone_from(&self.state.coordinate);
        self.look.coordinate_rates(&self.state, &mut self.at_step.2);
    }
}

impl System for Equations<'_> {
    fn dim(&self) -> usize {
        2 * self.n + if self.books { 2 } else { 0 }
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        let n = self.n;
        let (q, qd) = (&y[..n], &y[n..2 * n]);
        let qdd = self.numeric.accelerations(q, qd, t);
        if !qdd.iter().all(|x| x.is_finite()) {
            return Err(Failure::Domain);
        }
        dy[..n].copy_from_slice(qd);
        dy[n..2 * n].copy_from_slice(&qdd);
        if self.books {
            self.fill(t, y);
            let numeric = self.numeric;
            let accelerations = || numeric.body_accelerations(q, qd, &qdd, t);
            let powers = self.look.powers(&self.state, accelerations);
            dy[2 * n..].copy_from_slice(&powers);
        }
        Ok(())
    }

    fn accepted(&mut self, t: f64, y: &mut [f64]) -> Result<bool, Failure> {
        if self.numeric.n_rows() == 0 {
            return Ok(false);
        }
        let (q, rest) = y.split_at_mut(self.n);
        self.numeric.project(q, &mut rest[..self.n], t);
        self.corrections += 1;
        Ok(true)
    }
}

/// What a run has come to.
struct Run<'a> {
    model: &'a Model,
    equations: Equations<'a>,
    y: Vec<f64>,
    t: f64,
    steps: u64,
    ledger: Ledger,
    energy_abs_sum: f64,
    energy_abs_max: f64,
    worst_gaps: Vec<f64>,
    worst_velocity_errors: Vec<f64>,
    events: Vec<Event>,
    /// The state at the last step.
    state: State,
}

impl<'a> Run<'a> {
    fn new(model: &'a Model, numeric: &'a Numeric) -> Result<Self, RunFailure> {
        let n = numeric.n();
        let start = &model.start;
        let (mut q, mut qd) = numeric.read_state(model, start);
        numeric.project(&mut q, &mut qd, start.t);
        numeric.fit_velocities(model, start, &q, &mut qd);
        let booked =
            |force: &gelenk_model::force::Force| force.kind.law().account() != Account::Potential;
        let prescribed = |kind: &RowKind| matches!(kind, RowKind::Tie(_) | RowKind::Equation(_));
        let books = model.forces.iter().any(booked)
            || model.rows.iter().any(|block| prescribed(&block.kind));
        let mut y = q;
        y.extend_from_slice(&qd);
        if books {
            y.extend([0.0; 2]);
        }
        let mut look = Look::new(model);
        look.read(start);
        let n_coordinates = start.coordinate.len();
        let equations = Equations {
            numeric,
            look,
            state: start.clone(),
            at_step: (start.t, start.coordinate.clone(), vec![0.0; n_coordinates]),
            n,
            books,
            corrections: 0,
        };
        let mut run = Run {
            model,
            equations,
            y,
            t: start.t,
            steps: 0,
            ledger: Ledger::default(),
            energy_abs_sum: 0.0,
            energy_abs_max: 0.0,
            worst_gaps: vec![0.0; model.rows.len()],
            worst_velocity_errors: vec![0.0; model.rows.len()],
            events: Vec::new(),
            state: start.clone(),
        };
        run.begin().map_err(|(reason, element)| RunFailure {
            reason,
            element,
            report: Box::new(run.report()),
        })?;
        Ok(run)
    }

    /// The state at the start: near the one of the model, with velocities that fit.
    fn begin(&mut self) -> Result<(), (String, Option<String>)> {
        self.equations.arrive(self.t, &self.y);
        self.state = self.equations.state.clone();
        let total =
            self.model.kinetic_energy(&self.state) + self.model.potential_energy(&self.state);
        self.ledger.initial = total;
        self.ledger = self.ledger_at(&self.state, &self.y);
        let (gaps, rates) = self.equations.look.gaps(&self.state);
        for (block, gap) in self.model.rows.iter().zip(&gaps) {
            if gap.is_nan() || *gap > OPEN_AT_START {
                let reason = format!(
                    "`{}` is open by {gap:.3e} at the start: move its bodies to where it is closed",
                    block.name
                );
                return Err((reason, Some(block.name.clone())));
            }
        }
        self.worst_gaps = gaps;
        self.worst_velocity_errors = rates;
        let start = &self.model.start;
        let mut change: f64 = 0.0;
        for (i, body) in self.model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
            change = change.max((self.state.s_dot[i] - start.s_dot[i]).norm());
            // About an axis without inertia a velocity means nothing.
            if body.inertia_inv.iter().all(|x| *x != 0.0) {
                change = change.max((self.state.omega[i] - start.omega[i]).norm());
            }
        }
        if change > CHANGED {
            let detail = format!(
                "velocities at the start did not fit the joints and were changed by up to {change:.2e}"
            );
            self.events.push(Event::new(self.t, "start-velocity", Vec::new(), detail));
        }
        Ok(())
    }

    /// Runs to the end; true if the observer stopped it.
    fn go(&mut self, settings: &RunSettings, observer: &mut dyn Observer) -> Result<bool, String> {
        for event in &self.events {
            observer.event(event);
        }
        let times = Times::new(settings, self.t);
        let tolerance = local_tolerance(settings);
        let options = Options::with_tolerance(tolerance).method(Method::Auto);
        let mut integrator =
            Integrator::new(options, self.t, &self.y).map_err(|error| error.to_string())?;
        let (mut k, mut next_at) = (1, times.first_at(self.t));
        let (state, y) = (self.state.clone(), self.y.clone());
        while times.at(next_at).is_some_and(|at| at <= self.t + times.near) {
            if self.show(&state, &y, |sample| observer.at(sample)).is_break() {
                return Ok(true);
            }
            next_at += 1;
        }
        if self.show(&state, &y, |sample| observer.sample(sample)).is_break() {
            return Ok(true);
        }
        while self.t < times.end {
            let t_old = self.t;
            let stop = integrator.advance(&mut self.equations, times.end);
            let stop = stop.map_err(|error| explain(&error, self.equations.numeric.n_rows()))?;
            let t_new = if stop == Stop::End { times.end } else { integrator.t() };
            self.steps += 1;
            self.stiff(&integrator, observer);
            // Joints are counted on in parts, each at most a turn of `LARGEST_TURN`.
            let fastest = self.equations.at_step.2.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            let part = LARGEST_TURN / fastest.max(1e-300);
            let mut t_seen = t_old;
            loop {
                let sample = times.sample(k).filter(|t| *t <= t_new);
                let at = times.at(next_at).filter(|t| *t <= t_new + times.near);
                let wanted = [sample, at].into_iter().flatten().fold(t_new, f64::min);
                let t = wanted.min(t_seen + part);
                let y = self.dense(&mut integrator, t, t_new)?;
                self.equations.arrive(t, &y);
                t_seen = t;
                let state = self.equations.state.clone();
                if at.is_some_and(|at| at <= t + times.near) {
                    next_at += 1;
                    if self.show(&state, &y, |sample| observer.at(sample)).is_break() {
                        self.arrived(t, &y);
                        return Ok(true);
                    }
                    continue;
                }
                if t >= t_new {
                    self.arrived(t, &y);
                }
                if sample.is_some_and(|sample| sample <= t) {
                    k += 1;
                    if self.show(&state, &y, |sample| observer.sample(sample)).is_break() {
                        self.arrived(t, &y);
                        return Ok(true);
                    }
                }
                if t >= t_new {
                    break;
                }
            }
            if observer.step(self.t).is_break() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// y at a time of the last step, on the conditions.
    fn dense(
        &mut self,
        integrator: &mut Integrator,
        t: f64,
        t_new: f64,
    ) -> Result<Vec<f64>, String> {
        let mut y = integrator.y().to_vec();
        if t < t_new {
            let found = integrator.at(&mut self.equations, t, &mut y);
            found.map_err(|error| error.to_string())?;
            let (q, rest) = y.split_at_mut(self.equations.n);
            self.equations.numeric.project(q, &mut rest[..self.equations.n], t);
        }
        Ok(y)
    }

    /// The end of a step, or where the run is stopped: ledger and gaps there.
    fn arrived(&mut self, t: f64, y: &[f64]) {
        self.t = t;
        self.y.copy_from_slice(y);
        self.state.clone_from(&self.equations.state);
        self.state.t = t;
        self.ledger = self.ledger_at(&self.state, &self.y);
        let error = self.ledger.integrator_error().abs();
        self.energy_abs_sum += error;
        self.energy_abs_max = self.energy_abs_max.max(error);
        let (gaps, rates) = self.equations.look.gaps(&self.state);
        let widen = |worst: &mut [f64], now: &[f64]| {
            for (worst, now) in worst.iter_mut().zip(now) {
                *worst = worst.max(*now);
            }
        };
        widen(&mut self.worst_gaps, &gaps);
        widen(&mut self.worst_velocity_errors, &rates);
    }

    fn ledger_at(&self, state: &State, y: &[f64]) -> Ledger {
        let booked = y.get(2 * self.equations.n..).filter(|booked| booked.len() == 2);
        Ledger {
            initial: self.ledger.initial,
            kinetic: self.model.kinetic_energy(state),
            potential: self.model.potential_energy(state),
            work: booked.map_or(0.0, |b| b[0]),
            dissipation: booked.map_or(0.0, |b| b[1]),
            impact_loss: 0.0,
        }
    }

    /// Shows a moment; poses of `state` must have been read.
    fn show(
        &mut self,
        state: &State,
        y: &[f64],
        see: impl FnOnce(&Sample<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let reactions = self.reactions(state, y);
        let ledger = self.ledger_at(state, y);
        see(&Sample {
            step: self.steps,
            state,
            reactions: &reactions,
            contacts: &[],
            ledger,
            worst_gaps: &self.worst_gaps,
        })
    }

    fn reactions(&mut self, state: &State, y: &[f64]) -> Vec<Reaction> {
        if self.model.joints.is_empty() {
            return still(self.model);
        }
        let Equations { numeric, look, n, .. } = &mut self.equations;
        let (q, qd) = (&y[..*n], &y[*n..2 * *n]);
        let qdd = numeric.accelerations(q, qd, state.t);
        let accelerations = numeric.body_accelerations(q, qd, &qdd, state.t);
        look.reactions(state, &accelerations)
    }

    /// Tells once where the equations were found stiff.
    fn stiff(&mut self, integrator: &Integrator, observer: &mut dyn Observer) {
        let told = self.events.iter().any(|event| event.kind == "stiff");
        let Some(t) = integrator.stats().stiff_at.filter(|_| !told) else { return };
        let detail =
            "the equations are stiff here: Radau IIA of order 5 goes on from the method of order 8"
                .to_owned();
        let event = Event::new(t, "stiff", Vec::new(), detail);
        observer.event(&event);
        self.events.push(event);
    }

    fn report(&self) -> RunReport {
        RunReport {
            engine: "lagrange",
            t: self.t,
            steps: self.steps,
            corrections: self.equations.corrections,
            stopped: false,
            ledger: self.ledger,
            energy_mean_abs_error: self.energy_abs_sum / self.steps.max(1) as f64,
            energy_max_abs_error: self.energy_abs_max,
            worst_gaps: self.worst_gaps.clone(),
            worst_velocity_errors: self.worst_velocity_errors.clone(),
            worst_penetration: None,
            contacts: Vec::new(),
            events: self.events.clone(),
            statistics: None,
            state: self.state.clone(),
        }
    }
}

/// A failure of the integration, with what may help.
fn explain(error: &gelenk_ode::Error, n_rows: usize) -> String {
    let why = if n_rows > 0 {
        "the mechanism may pass a singular position, where its loops do not determine the motion"
    } else {
        "the coordinates may be singular there, as three angles are where two of their axes meet"
    };
    format!("lagrange engine: {error}; {why}: try the impulse engine")
}
