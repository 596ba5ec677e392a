//! Convergence studies: halve the step again and again, measure the order of the method and what accuracy costs.
//!
//! Level i runs with h_i = h_0 / 2^i. The error of a quantity x at a level is its largest distance from a reference
//! over common times t_k (all of them steps of every level):
//!
//! ```text
//! e_i = max_k |x_i(t_k) − x_ref(t_k)|,   order between levels: p_i = log2(e_i / e_{i+1})
//! ```
//!
//! The reference is run with a smaller step and, where the engine has one, a higher order; how good it is itself is
//! measured by a second one with twice its step. Levels whose error is not well above that are left out of the order.

mod plot;

use std::ops::ControlFlow;
use std::time::Instant;

use gelenk_model::{BodyId, BodyKind, Model, Observer, RunReport, RunSettings, Sample, State};

use crate::engine::Judged;
use crate::simulate::{SimulateError, simulate_judged};
use crate::verdict::{Verdict, VerdictLimits};

pub use plot::plot_svg;

/// The error must be this much above the reference's own to count.
const ABOVE_REFERENCE: f64 = 50.0;
/// Relative rounding of sums over a run; errors below this times the size of the quantity are noise.
const ROUNDING: f64 = 1e-13;
/// How many common times are compared at most.
const MOST_TIMES: u32 = 100;

/// What a study is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyOptions {
    /// Number of step sizes.
    pub levels: usize,
    /// Quantities by name, see [`quantities`]; empty: all.
    pub quantities: Vec<String>,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// `position`, `rotation`, `velocity`, `angular_velocity` or `energy`; with `.name`, of one body or point.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    kind: Kind,
    body: Option<BodyId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Position,
    Rotation,
    Velocity,
    AngularVelocity,
    Energy,
}

const KINDS: [(&str, &str, Kind); 5] = [
    ("position", "m", Kind::Position),
    ("rotation", "rad", Kind::Rotation),
    ("velocity", "m/s", Kind::Velocity),
    ("angular_velocity", "rad/s", Kind::AngularVelocity),
    ("energy", "J", Kind::Energy),
];

/// One run of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Step, s.
    pub step: f64,
    /// Order of the method.
    pub order: u32,
    /// Steps done.
    pub steps: u64,
    /// Joint corrections or solves done.
    pub corrections: u64,
    /// Time it took, s.
    pub wall_seconds: f64,
    /// Error of each quantity.
    pub errors: Vec<f64>,
}

/// The result of a study.
#[derive(Clone, Debug)]
pub struct Study {
    /// The settings all levels share; the step is the coarsest.
    pub settings: RunSettings,
    /// What was measured.
    pub quantities: Vec<Quantity>,
    /// The levels, coarsest first.
    pub levels: Vec<Level>,
    /// The reference; its errors are those of a second reference with twice the step.
    pub reference: Level,
    /// Below this an error says nothing, for each quantity.
    pub floors: Vec<f64>,
    /// The verdict on the reference: what all errors are measured by.
    pub verdict: Verdict,
}

/// Why a study ended without a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A quantity that the model does not have.
    #[error("there is no quantity `{name}`; {help}")]
    UnknownQuantity {
        /// As given.
        name: String,
        /// What there is.
        help: String,
    },
    /// The duration holds no step.
    #[error("the duration {duration} s is shorter than the step {step} s")]
    TooShort {
        /// Duration, s.
        duration: f64,
        /// Coarsest step, s.
        step: f64,
    },
    /// A run could not go on.
    #[error("with step {step} s: {error}")]
    Failed {
        /// Step, s.
        step: f64,
        /// Why.
        error: SimulateError,
    },
    /// The watcher stopped it.
    #[error("stopped")]
    Stopped,
}

/// The quantities a study of this model measures unless told: all kinds it has, over all bodies.
pub fn quantities(model: &Model) -> Vec<Quantity> {
    let rigid = model.bodies.iter().any(|body| body.kind == BodyKind::Rigid && !body.fixed);
    KINDS
        .iter()
        .filter(|(_, _, kind)| rigid || !matches!(kind, Kind::Rotation | Kind::AngularVelocity))
        .map(|&(name, unit, kind)| Quantity { name: name.to_owned(), unit, kind, body: None })
        .collect()
}

/// Finds a quantity by name: `velocity`, `position.bob`.
pub fn quantity(model: &Model, name: &str) -> Result<Quantity, StudyError> {
    let unknown = || {
        StudyError::UnknownQuantity {
        name: name.to_owned(),
        help: "there are position, rotation, velocity, angular_velocity, each also of one body or point \
               (position.NAME), and energy"
            .to_owned(),
    }
    };
    let (kind_name, body_name) = match name.split_once('.') {
        Some((kind, body)) => (kind, Some(body)),
        None => (name, None),
    };
    let &(_, unit, kind) = KINDS.iter().find(|(k, ..)| *k == kind_name).ok_or_else(unknown)?;
    let body = match body_name {
        None => None,
        Some(_) if kind == Kind::Energy => return Err(unknown()),
        Some(body) => Some(model.body(body).ok_or_else(|| StudyError::UnknownQuantity {
            name: name.to_owned(),
            help: format!("the model has no body or point `{body}`"),
        })?),
    };
    Ok(Quantity { name: name.to_owned(), unit, kind, body })
}

/// A tolerance so tight that gaps do not spoil the measured order: well below the error h^p of the finest level.
pub fn study_tolerance(settings: &RunSettings, levels: usize) -> f64 {
    let finest = settings.step * 0.5_f64.powi(i32::try_from(levels).unwrap_or(i32::MAX) - 1);
    let order = i32::try_from(settings.order).unwrap_or(2);
    (1e-5 * finest.powi(order)).clamp(1e-13, 1e-9).min(settings.tolerance)
}

/// Runs a study. `watch` gets the share of the work done and may stop it.
///
/// The duration is rounded to whole coarsest steps. Tolerances are used as given; see [`study_tolerance`].
pub fn converge(
    model: &Model,
    settings: &RunSettings,
    options: &StudyOptions,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Study, StudyError> {
    let quantities = if options.quantities.is_empty() {
        quantities(model)
    } else {
        options.quantities.iter().map(|q| quantity(model, q)).collect::<Result<_, _>>()?
    };
    let n_steps = (settings.duration / settings.step).round();
    if n_steps < 1.0 || n_steps.is_nan() {
        let RunSettings { duration, step, .. } = *settings;
        return Err(StudyError::TooShort { duration, step });
    }
    let every = (n_steps / f64::from(MOST_TIMES)).ceil().max(1.0);
    let mut settings = settings.clone();
    settings.duration = n_steps * settings.step;
    settings.accuracy = None;
    // Products with whole numbers: the same bits as the times of the steps of every level.
    settings.at = (1..=MOST_TIMES)
        .map(|k| f64::from(k) * every)
        .take_while(|&k| k <= n_steps)
        .map(|k| k * settings.step)
        .collect();
    settings.sample = Some(settings.duration);

    let mut runs = Runs { model, total: 0.0, done: 0.0, watch };
    let plan = plan(&settings, options.levels);
    runs.total = plan.iter().map(|&(h, order)| work(settings.duration, h, order)).sum();
    let mut outcomes = Vec::new();
    for (h, order) in plan {
        outcomes.push(runs.run(&settings, h, order)?);
    }
    let second = outcomes.pop();
    let reference = outcomes.pop();
    let (Some(reference), Some(second)) = (reference, second) else {
        return Err(StudyError::Stopped);
    };
    let errors = |outcome: &Outcome| -> Vec<f64> {
        quantities.iter().map(|q| q.error(outcome, &reference)).collect()
    };
    let reference_errors = errors(&second);
    let floors = quantities
        .iter()
        .zip(&reference_errors)
        .map(|(q, e)| (ABOVE_REFERENCE * e).max(ROUNDING * q.size(&reference)))
        .collect();
    let levels = outcomes.iter().map(|outcome| outcome.level(errors(outcome))).collect();
    let verdict = reference.verdict.clone();
    let reference = reference.level(reference_errors);
    Ok(Study { settings, quantities, levels, reference, floors, verdict })
}

/// Step and order of each run: the levels, the reference, the reference's check.
fn plan(settings: &RunSettings, levels: usize) -> Vec<(f64, u32)> {
    let mut h = settings.step;
    let mut plan = Vec::new();
    for _ in 0..levels {
        plan.push((h, settings.order));
        h *= 0.5;
    }
    let order = (settings.order + 2).min(8);
    // A higher order does better with the finest step's half than the same order with its eighth.
    let reference = if order > settings.order { h } else { 0.25 * h };
    plan.push((reference, order));
    plan.push((2.0 * reference, order));
    plan
}

/// Work of a run in steps of order 2.
fn work(duration: f64, h: f64, order: u32) -> f64 {
    let stages = match order {
        2 => 1.0,
        4 => 5.0,
        6 => 9.0,
        _ => 17.0,
    };
    stages * duration / h
}

struct Runs<'a> {
    model: &'a Model,
    total: f64,
    done: f64,
    watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
}

/// The states of a run at the common times.
struct Outcome {
    step: f64,
    order: u32,
    states: Vec<State>,
    report: RunReport,
    verdict: Verdict,
    wall_seconds: f64,
}

impl Runs<'_> {
    fn run(&mut self, settings: &RunSettings, h: f64, order: u32) -> Result<Outcome, StudyError> {
        let settings = RunSettings { step: h, order, ..settings.clone() };
        let work = work(settings.duration, h, order);
        let mut states = Vec::new();
        let mut collector = Collector {
            states: &mut states,
            watch: &mut |t| (self.watch)((self.done + work * t / settings.duration) / self.total),
        };
        let begin = Instant::now();
        let limits = VerdictLimits::default();
        let failed = |error| StudyError::Failed { step: h, error };
        let Judged { result, verdict } =
            simulate_judged(self.model.into(), &settings, limits, &mut collector)
                .map_err(failed)?;
        let report = result.map_err(|failure| failed(failure.into()))?;
        let wall_seconds = begin.elapsed().as_secs_f64();
        if report.stopped {
            return Err(StudyError::Stopped);
        }
        self.done += work;
        Ok(Outcome { step: h, order, states, report, verdict, wall_seconds })
    }
}

struct Collector<'a> {
    states: &'a mut Vec<State>,
    watch: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
}

impl Observer for Collector<'_> {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.states.push(sample.state.clone());
        ControlFlow::Continue(())
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        (self.watch)(t)
    }
}

impl Outcome {
    fn level(&self, errors: Vec<f64>) -> Level {
        Level {
            step: self.step,
            order: self.order,
            steps: self.report.steps,
            corrections: self.report.corrections,
            wall_seconds: self.wall_seconds,
            errors,
        }
    }
}

impl Quantity {
    /// Largest distance from the reference over bodies and common times.
    fn error(&self, run: &Outcome, reference: &Outcome) -> f64 {
        if self.kind == Kind::Energy {
            return run.report.energy_max_abs_error;
        }
        let pairs = run.states.iter().zip(&reference.states);
        pairs.map(|(x, y)| self.largest(x, |i| self.distance(x, y, i))).fold(0.0, worse)
    }

    /// How large the quantity itself gets, for rounding.
    fn size(&self, run: &Outcome) -> f64 {
        let energy = |state: &State| state.s_dot.len() as f64 * run.report.ledger.initial.abs();
        let states = run.states.iter();
        let size = |state: &State| match self.kind {
            Kind::Position => self.largest(state, |i| state.s[i].norm()),
            Kind::Rotation => 1.0,
            Kind::Velocity => self.largest(state, |i| state.s_dot[i].norm()),
            Kind::AngularVelocity => self.largest(state, |i| state.omega[i].norm()),
            Kind::Energy => energy(state).max(run.report.ledger.kinetic),
        };
        states.map(size).fold(0.0, worse)
    }

    fn largest(&self, state: &State, f: impl Fn(usize) -> f64) -> f64 {
        match self.body {
            Some(id) => f(id.index()),
            None => (0..state.s.len()).map(f).fold(0.0, worse),
        }
    }

    fn distance(&self, x: &State, y: &State, i: usize) -> f64 {
        match self.kind {
            Kind::Position => (x.s[i] - y.s[i]).norm(),
            Kind::Rotation => {
                // 2 asin of the imaginary part: exact for small angles, where acos of the real part is not.
                let turn = x.rot[i].inverse() * y.rot[i];
                2.0 * turn.imag().norm().min(1.0).asin()
            }
            Kind::Velocity => (x.s_dot[i] - y.s_dot[i]).norm(),
            Kind::AngularVelocity => (x.omega[i] - y.omega[i]).norm(),
            Kind::Energy => 0.0,
        }
    }
}

/// The larger; not-a-number wins, so that it cannot hide.
fn worse(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

impl Study {
    /// Whether the error of a quantity at a level says something about the method.
    pub fn is_clean(&self, level: usize, quantity: usize) -> bool {
        let error = self.levels[level].errors[quantity];
        error.is_finite() && error > self.floors[quantity]
    }

    /// Order between a level and the next finer one; `None` where an error says nothing.
    pub fn order(&self, level: usize, quantity: usize) -> Option<f64> {
        let clean = level + 1 < self.levels.len()
            && self.is_clean(level, quantity)
            && self.is_clean(level + 1, quantity);
        clean.then(|| {
            let errors = |i: usize| self.levels[i].errors[quantity];
            (errors(level) / errors(level + 1)).log2()
        })
    }

    /// The measured order of a quantity: that of its two finest levels that say something.
    pub fn measured_order(&self, quantity: usize) -> Option<f64> {
        (0..self.levels.len()).rev().find_map(|level| self.order(level, quantity))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use gelenk_model::joint::Distance;
    use gelenk_model::math::Vec3;
    use gelenk_model::{BodyId, Builder, JointKind, Model, RunSettings};

    use super::{StudyError, StudyOptions, converge, plot_svg, quantity, study_tolerance};

    /// A point mass on a 1 m thread, released at 10 degrees.
    fn pendulum() -> Model {
        let mut builder = Builder::new("pendulum");
        let place = Vec3::new(10_f64.to_radians().sin(), 0.0, -10_f64.to_radians().cos());
        let bob = builder.point("bob", 1.0, place, Vec3::zeros(), false);
        let bodies = [BodyId::WORLD, bob];
        let mut frames = builder.joint_frames(bodies, &Vec3::zeros(), &Vec3::z());
        frames[1].origin = Vec3::zeros();
        let thread = Distance::new(&frames[0], &frames[1], 1.0).unwrap();
        builder.joint("thread", bodies, JointKind::Distance(thread), None);
        builder.finish()
    }

    fn options() -> StudyOptions {
        StudyOptions { levels: 5, quantities: Vec::new() }
    }

    fn settings(step: f64, order: u32) -> RunSettings {
        let mut settings = RunSettings { duration: 1.0, step, order, ..RunSettings::default() };
        settings.tolerance = study_tolerance(&settings, 5);
        settings.velocity_tolerance = settings.tolerance;
        settings
    }

    #[test]
    fn the_pendulum_has_the_order_of_the_method() {
        let model = pendulum();
        for (order, step, margin) in [(2, 0.01, 0.02), (4, 0.05, 0.1), (6, 0.1, 0.25)] {
            let study = converge(&model, &settings(step, order), &options(), &mut |_| {
                ControlFlow::Continue(())
            })
            .unwrap();
            for (k, quantity) in study.quantities.iter().enumerate() {
                let measured = study.measured_order(k).unwrap();
                let expected = f64::from(order);
                assert!((measured - expected).abs() < margin, "{}: {measured}", quantity.name);
            }
        }
    }

    #[test]
    fn errors_at_the_reference_are_no_order() {
        // At h = 0.001 and order 8 the errors are rounding.
        let model = pendulum();
        let mut settings = settings(0.002, 8);
        settings.duration = 0.1;
        let study = converge(&model, &settings, &options(), &mut |_| ControlFlow::Continue(()));
        let study = study.unwrap();
        assert_eq!(study.measured_order(0), None, "{:?}", study.levels);
    }

    #[test]
    fn quantities_have_names() {
        let model = pendulum();
        for name in ["position", "velocity.bob", "energy"] {
            assert_eq!(quantity(&model, name).unwrap().name, name);
        }
        for name in ["colour", "position.nobody", "energy.bob", ""] {
            let error = quantity(&model, name).unwrap_err();
            assert!(matches!(error, StudyError::UnknownQuantity { .. }), "{error}");
        }
    }

    #[test]
    fn a_study_can_be_stopped_and_needs_a_step() {
        let model = pendulum();
        let mut seen = 0.0;
        let stopped = converge(&model, &settings(0.01, 2), &options(), &mut |share| {
            assert!((0.0..=1.0 + 1e-12).contains(&share));
            seen = share;
            if share > 0.5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(stopped, Err(StudyError::Stopped)) && seen > 0.5);
        let mut short = settings(0.01, 2);
        short.duration = 0.001;
        let error = converge(&model, &short, &options(), &mut |_| ControlFlow::Continue(()));
        assert!(matches!(error, Err(StudyError::TooShort { .. })));
    }

    #[test]
    fn the_plot_shows_every_quantity_and_the_promised_slope() {
        let model = pendulum();
        let study =
            converge(&model, &settings(0.01, 2), &options(), &mut |_| ControlFlow::Continue(()));
        let svg = plot_svg(&model, &study.unwrap());
        for part in ["position, m: order 2.00", "energy, J: order 2.00", "slope 2", "step, s"] {
            assert!(svg.contains(part), "{part}");
        }
    }
}
