//! The lagrange engine: the equations of motion derived from the model's energies, integrated to twelve digits.
//!
//! ```text
//! q̈ = f(q, q̇, t)
//! ```
//! f comes from [`gelenk_lagrange`]; Dormand and Prince's method of order 8 integrates it with a step of its own choice, and Radau IIA of order 5
//! goes on where the equations are found stiff. Where loops are closed, q and q̇ are put back on the conditions after each step.
//! Work and dissipation are integrated with the motion. Gaps and forces of joints come from the model's rows, which share nothing with the
//! derivation.

pub(crate) mod look;
mod watch;

pub use gelenk_lagrange::Numeric;
use gelenk_lagrange::from_model;
use gelenk_model::force::{Account, Hand};
use gelenk_model::{
    Event, Ledger, Loaded, Model, Observer, Reaction, RowKind, RunFailure, RunReport, RunSettings,
    Sample, State,
};
use gelenk_ode::{Integrator, Method, Options, Stop, System};

use crate::engine::{Engine, EngineKind, Failure, Grip, Ready, Source, Step, Steps, empty_report};
use crate::simulate::{SimulateError, simulate_loaded};
use look::{Look, still};
use watch::{Passed, Watch};

const NAME: &str = "lagrange";

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
        Err(SimulateError::Unsupported { engine: NAME, reason })
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
        engine: NAME,
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
    let settings = RunSettings { engine: NAME.to_owned(), ..settings.clone() };
    simulate_loaded(loaded, &settings, observer)
}

/// Derived equations of motion, integrated with steps of the engine's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lagrange;

impl EngineKind for Lagrange {
    fn name(&self) -> &'static str {
        NAME
    }

    fn steps(&self) -> Steps {
        Steps::Own
    }

    fn check_model(&self, model: &Model, _settings: &RunSettings) -> Result<(), SimulateError> {
        check_model(model)
    }

    fn prepare<'a>(
        &self,
        source: Source<'a>,
        _settings: &RunSettings,
    ) -> Result<Box<dyn Ready + 'a>, SimulateError> {
        let loaded = source.loaded.ok_or(SimulateError::NeedsFile(NAME))?;
        let numeric = prepare(loaded)?;
        Ok(Box::new(Derived { model: source.model, numeric }))
    }

    fn with_local_error(&self, settings: RunSettings, tolerance: f64) -> RunSettings {
        RunSettings { accuracy: Some(100.0 * tolerance), ..settings }
    }

    fn precision(&self, settings: &RunSettings) -> String {
        format!("local errors of {:.0e}", local_tolerance(settings))
    }

    fn remedy(&self, _settings: &RunSettings) -> String {
        "try a smaller --accuracy, or --engine impulse".to_owned()
    }
}

/// A model with its equations.
#[derive(Debug)]
struct Derived<'a> {
    model: &'a Model,
    numeric: Numeric,
}

impl Ready for Derived<'_> {
    fn start<'s>(
        &'s self,
        settings: &RunSettings,
        state: &State,
    ) -> Result<Box<dyn Engine + 's>, RunFailure> {
        Ok(Box::new(Run::new(self.model, &self.numeric, settings, state)?))
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

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), gelenk_ode::Failure> {
        let n = self.n;
        let (q, qd) = (&y[..n], &y[n..2 * n]);
        let qdd = self.numeric.accelerations(q, qd, t);
        if !qdd.iter().all(|x| x.is_finite()) {
            return Err(gelenk_ode::Failure::Domain);
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

    fn accepted(&mut self, t: f64, y: &mut [f64]) -> Result<bool, gelenk_ode::Failure> {
        if self.numeric.n_rows() == 0 {
            return Ok(false);
        }
        let (q, rest) = y.split_at_mut(self.n);
        self.numeric.project(q, &mut rest[..self.n], t);
        self.corrections += 1;
        Ok(true)
    }
}

/// A moment that is looked at.
struct Moment {
    state: State,
    y: Vec<f64>,
    reactions: Vec<Reaction>,
}

/// A model in motion.
struct Run<'a> {
    model: &'a Model,
    equations: Equations<'a>,
    integrator: Integrator,
    /// Where the last step ended, s.
    end: f64,
    /// The longest part of the last step in which no joint turns too far, s.
    part: f64,
    /// The state that the run has come to, and its time.
    state: State,
    y: Vec<f64>,
    t: f64,
    seen: Moment,
    steps: u64,
    ledger: Ledger,
    energy_abs_sum: f64,
    energy_abs_max: f64,
    worst_gaps: Vec<f64>,
    worst_velocity_errors: Vec<f64>,
    /// What has happened and was not taken yet.
    events: Vec<Event>,
    stiff_told: bool,
    watch: Watch,
}

impl<'a> Run<'a> {
    fn new(
        model: &'a Model,
        numeric: &'a Numeric,
        settings: &RunSettings,
        start: &State,
    ) -> Result<Self, RunFailure> {
        let n = numeric.n();
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
        let fail = |reason: String, element: Option<String>, report: RunReport| RunFailure {
            reason,
            element,
            report: Box::new(report),
        };
        let tolerance = local_tolerance(settings);
        let options = Options::with_tolerance(tolerance).method(Method::Auto);
        let integrator = Integrator::new(options, start.t, &y)
            .map_err(|error| fail(error.to_string(), None, empty_report(NAME, model, start)))?;
        let mut run = Run {
            model,
            equations,
            integrator,
            end: start.t,
            part: f64::INFINITY,
            state: start.clone(),
            seen: Moment { state: start.clone(), y: y.clone(), reactions: Vec::new() },
            y,
            t: start.t,
            steps: 0,
            ledger: Ledger::default(),
            energy_abs_sum: 0.0,
            energy_abs_max: 0.0,
            worst_gaps: vec![0.0; model.rows.len()],
            worst_velocity_errors: vec![0.0; model.rows.len()],
            events: Vec::new(),
            stiff_told: false,
            watch: Watch::default(),
        };
        match run.begin(start) {
            Ok(()) => Ok(run),
            Err((reason, element)) => Err(fail(reason, element, run.report())),
        }
    }

    /// The state at the start: near the one given, with velocities that fit.
    fn begin(&mut self, start: &State) -> Result<(), (String, Option<String>)> {
        self.equations.arrive(self.t, &self.y);
        self.state = self.equations.state.clone();
        self.seen.state.clone_from(&self.state);
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

    /// y at a time of the last step, on the conditions.
    fn dense(&mut self, t: f64) -> Result<Vec<f64>, Failure> {
        let mut y = self.integrator.y().to_vec();
        if t < self.end {
            let found = self.integrator.at(&mut self.equations, t, &mut y);
            found.map_err(|error| Failure { reason: error.to_string(), element: None })?;
            let (q, rest) = y.split_at_mut(self.equations.n);
            self.equations.numeric.project(q, &mut rest[..self.equations.n], t);
        }
        Ok(y)
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

    /// Forces of joints at the moment looked at.
    fn reactions(&mut self) -> Vec<Reaction> {
        if self.model.joints.is_empty() {
            return still(self.model);
        }
        let Equations { numeric, look, n, .. } = &mut self.equations;
        let Moment { state, y, .. } = &self.seen;
        let (q, qd) = (&y[..*n], &y[*n..2 * *n]);
        let qdd = numeric.accelerations(q, qd, state.t);
        let accelerations = numeric.body_accelerations(q, qd, &qdd, state.t);
        look.reactions(state, &accelerations)
    }

    /// Tells of a singular position that the last step has passed; an error where it may have taken another branch.
    fn look_out(&mut self) -> Result<(), Failure> {
        let (t, n) = (self.integrator.t(), self.equations.n);
        let passed = self.watch.look(self.equations.numeric, &self.integrator.y()[..2 * n], t);
        match passed {
            Passed::Nothing => {}
            Passed::Singular => {
                let detail =
                    "a singular position of the loops, crossed along the branch the motion came on"
                        .to_owned();
                self.events.push(Event::new(t, "singularity", Vec::new(), detail));
            }
            Passed::Branch => {
                let reason = format!(
                    "lagrange engine: t = {t} s: the loops lose rank here, several motions go on, and the equations do not tell which: try --engine dae"
                );
                return Err(Failure { reason, element: None });
            }
        }
        Ok(())
    }

    /// Tells once where the equations were found stiff.
    fn stiff(&mut self) {
        let Some(t) = self.integrator.stats().stiff_at.filter(|_| !self.stiff_told) else { return };
        self.stiff_told = true;
        let detail =
            "the equations are stiff here: Radau IIA of order 5 goes on from the method of order 8"
                .to_owned();
        self.events.push(Event::new(t, "stiff", Vec::new(), detail));
    }
}

impl Engine for Run<'_> {
    fn advance(&mut self, step: &Step) -> Result<(), Failure> {
        let stop = self.integrator.advance(&mut self.equations, step.end).map_err(|error| {
            Failure { reason: explain(&error, self.equations.numeric.n_rows()), element: None }
        })?;
        self.end = if stop == Stop::End { step.end } else { self.integrator.t() };
        self.steps += 1;
        self.stiff();
        self.look_out()?;
        // Joints are counted on in parts, each at most a turn of `LARGEST_TURN`.
        let fastest = self.equations.at_step.2.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        self.part = LARGEST_TURN / fastest.max(1e-300);
        Ok(())
    }

    fn time(&self) -> f64 {
        self.end
    }

    fn look(&mut self, t: f64) -> Result<(), Failure> {
        self.seen.y = self.dense(t)?;
        self.equations.arrive(t, &self.seen.y);
        self.seen.state.clone_from(&self.equations.state);
        Ok(())
    }

    fn reach(&self) -> f64 {
        self.equations.at_step.0 + self.part
    }

    fn sample(&mut self) -> Sample<'_> {
        self.seen.reactions = self.reactions();
        Sample {
            step: self.steps,
            state: &self.seen.state,
            reactions: &self.seen.reactions,
            contacts: &[],
            ledger: self.ledger_at(&self.seen.state, &self.seen.y),
            worst_gaps: &self.worst_gaps,
            inputs: &[],
        }
    }

    fn arrive(&mut self) {
        self.t = self.equations.at_step.0;
        self.y.copy_from_slice(&self.seen.y);
        self.state.clone_from(&self.equations.state);
        self.state.t = self.t;
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
        RunReport {
            t: self.t,
            steps: self.steps,
            corrections: self.equations.corrections,
            ledger: self.ledger,
            energy_mean_abs_error: self.energy_abs_sum / self.steps.max(1) as f64,
            energy_max_abs_error: self.energy_abs_max,
            worst_gaps: self.worst_gaps.clone(),
            worst_velocity_errors: self.worst_velocity_errors.clone(),
            ..empty_report(NAME, self.model, &self.state)
        }
    }

    fn pull(&mut self, hand: Option<Hand>) -> Grip {
        if hand.is_none() {
            return Grip::Taken;
        }
        let why =
            "derived equations have no hand: bodies are dragged with the impulse or dae engine";
        Grip::Never(why.to_owned())
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
