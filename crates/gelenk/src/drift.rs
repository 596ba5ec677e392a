//! Drift: how constraints open over time with the Lagrange-multiplier method, and how they do not with impulses.
//!
//! A model of point masses is run with one step by the Taylor method of orders 1 … n, which is the Lagrange-multiplier
//! method \[Schmitt, Bender, Prautzsch 2005, section 6\], and by the impulse engine. The error of a constraint is |A| − d
//! of a distance, m, and left less right of an equation.

use std::ops::ControlFlow;

use gelenk_impulse::points::{
    Independent, PointError, PointState, PointSystem, RANK_TOLERANCE, baumgarte_step,
    correct_velocities, from_model, impulse_step, independent, projected_step, single_step,
    taylor_step,
};
use gelenk_model::{Model, Observer, RunSettings, Sample};

use crate::engine::Judged;
use crate::plot::Plot;
use crate::simulate::{SimulateError, simulate_judged};
use crate::verdict::{Verdict, VerdictLimits};

/// Into how many intervals a run is divided at most.
const MOST_INTERVALS: usize = 200;
/// Highest order of the Taylor method.
pub const MAX_ORDER: usize = 20;

/// The result of a study.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The settings of the impulse engine; all methods have its step.
    pub settings: RunSettings,
    /// Constraints that count at the start, and those that are redundant.
    pub independent: Independent,
    /// Names of the redundant constraints.
    pub redundant: Vec<String>,
    /// Ends of the intervals, s.
    pub times: Vec<f64>,
    /// The impulse engine first, then the Taylor method of orders 1, 2, …, then the others.
    pub methods: Vec<DriftMethod>,
    /// The verdict on the run of the impulse engine; the other methods drift, which is what the study shows.
    pub verdict: Verdict,
}

/// How one method did.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftMethod {
    /// Which method.
    pub kind: DriftKind,
    /// Largest |error| of a constraint in each interval, m; infinite after the method broke down. (times)
    pub errors: Vec<f64>,
    /// Change of energy since the start, at the end of each interval, J. (times)
    pub energy: Vec<f64>,
    /// Why it ended early.
    pub stopped: Option<String>,
}

/// The methods that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftKind {
    /// The impulse engine.
    Impulse,
    /// The Taylor (Lagrange-multiplier) method of an order.
    Taylor(usize),
    /// The impulse method as the paper writes it: Newton's method until all constraints hold, then the direct velocity correction.
    Newton,
    /// The same with one step of Newton's method a step.
    Single,
    /// The Lagrange-multiplier method with Baumgarte's stabilization.
    Baumgarte,
    /// The Taylor method of order 2 with projection of positions and velocities.
    Projection,
}

impl DriftKind {
    /// Its name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            DriftKind::Impulse => "impulse",
            DriftKind::Taylor(_) => "taylor",
            DriftKind::Newton => "newton",
            DriftKind::Single => "single",
            DriftKind::Baumgarte => "baumgarte",
            DriftKind::Projection => "projection",
        }
    }
}

impl DriftMethod {
    /// Its name: "impulse", "Taylor 3".
    pub fn name(&self) -> String {
        match self.kind {
            DriftKind::Impulse => "impulse".to_owned(),
            DriftKind::Taylor(order) => format!("Taylor {order}"),
            DriftKind::Newton => "Newton".to_owned(),
            DriftKind::Single => "1 Newton".to_owned(),
            DriftKind::Baumgarte => "Baumgarte".to_owned(),
            DriftKind::Projection => "projected".to_owned(),
        }
    }
}

/// α h of Baumgarte's stabilization: errors die away within some two steps, and steps are far from the edge of stability (2.7).
const ALPHA_STEP: f64 = 0.5;

/// Why there is no study.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriftError {
    /// Not a model of point masses, or one that cannot start.
    #[error(transparent)]
    Points(#[from] PointError),
    /// The model has no constraint that could drift.
    #[error("the model has no constraint: nothing can drift")]
    NoConstraint,
    /// The impulse run failed.
    #[error(transparent)]
    Failed(#[from] SimulateError),
    /// The duration holds no step.
    #[error("the duration {duration} s is shorter than the step {step} s")]
    TooShort {
        /// Duration, s.
        duration: f64,
        /// Step, s.
        step: f64,
    },
    /// The watcher stopped it.
    #[error("stopped")]
    Stopped,
}

/// Runs `model` by the impulse engine, by the Taylor method of orders 1 … `highest`, by the impulse method as the paper writes it and
/// by two cures of the drift, all with the step of `settings`.
/// `watch` gets the share of the work done and may stop it.
pub fn drift(
    model: &Model,
    settings: &RunSettings,
    highest: usize,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Drift, DriftError> {
    let (system, mut start) = from_model(model)?;
    if system.constraints.is_empty() {
        return Err(DriftError::NoConstraint);
    }
    let set = independent(&system, &start, RANK_TOLERANCE);
    correct_velocities(&system, &mut start, &set)?;
    let RunSettings { duration, step, .. } = *settings;
    let n_steps = (duration / step).round();
    if n_steps < 1.0 || n_steps.is_nan() {
        return Err(DriftError::TooShort { duration, step });
    }
    let highest = highest.clamp(1, MAX_ORDER);
    let mut settings = settings.clone();
    settings.duration = n_steps * step;
    settings.sample = None;
    settings.accuracy = None;
    settings.at.clear();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1")]
    let n_steps = n_steps as u64;
    let clock = Clock { start: start.t, step, n_steps };
    let mut others: Vec<DriftKind> = (1..=highest).map(DriftKind::Taylor).collect();
    others.extend([
        DriftKind::Newton,
        DriftKind::Single,
        DriftKind::Baumgarte,
        DriftKind::Projection,
    ]);
    let share = 1.0 / (others.len() + 1) as f64;
    let (impulse, verdict) = by_impulse(model, &settings, &system, &start, clock, share, watch)?;
    let mut methods = vec![impulse];
    for (k, kind) in others.into_iter().enumerate() {
        let mut part = |done: f64| watch((k as f64 + 1.0 + done) * share);
        let tolerance = settings.tolerance;
        methods.push(by_points(&system, &start, &set, kind, tolerance, clock, &mut part)?);
    }
    let redundant = set.removed.iter().map(|&k| system.constraints[k].name.clone()).collect();
    let times = (1..=clock.n_intervals()).map(|k| clock.end_of(k)).collect();
    Ok(Drift { settings, independent: set, redundant, times, methods, verdict })
}

/// The steps of all methods, in intervals.
#[derive(Clone, Copy)]
struct Clock {
    start: f64,
    step: f64,
    n_steps: u64,
}

impl Clock {
    fn n_intervals(self) -> u64 {
        self.n_steps.min(MOST_INTERVALS as u64)
    }

    /// The last step of interval k = 1, 2, …
    fn last_step(self, k: u64) -> u64 {
        k * self.n_steps / self.n_intervals()
    }

    fn end_of(self, k: u64) -> f64 {
        self.start + self.last_step(k) as f64 * self.step
    }
}

/// Gathers errors step by step.
struct Gauge<'s> {
    system: &'s PointSystem,
    clock: Clock,
    energy_start: f64,
    worst: f64,
    method: DriftMethod,
}

impl<'s> Gauge<'s> {
    fn new(system: &'s PointSystem, start: &PointState, clock: Clock, kind: DriftKind) -> Self {
        let method = DriftMethod { kind, errors: Vec::new(), energy: Vec::new(), stopped: None };
        Gauge { system, clock, energy_start: system.energy(start), worst: 0.0, method }
    }

    /// Looks at the state after step `i` = 1, 2, …
    fn look(&mut self, i: u64, state: &PointState) {
        let (error, _) = self.system.worst_error(state);
        self.worst = if error.is_nan() { f64::INFINITY } else { self.worst.max(error) };
        if i == self.clock.last_step(self.method.errors.len() as u64 + 1) {
            self.method.errors.push(std::mem::take(&mut self.worst));
            self.method.energy.push(self.system.energy(state) - self.energy_start);
        }
    }

    fn finish(mut self) -> DriftMethod {
        let n = usize::try_from(self.clock.n_intervals()).unwrap_or(0);
        self.method.errors.resize(n, f64::INFINITY);
        self.method.energy.resize(n, f64::NAN);
        self.method
    }
}

fn by_points(
    system: &PointSystem,
    start: &PointState,
    set: &Independent,
    kind: DriftKind,
    tolerance: f64,
    clock: Clock,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<DriftMethod, DriftError> {
    let mut gauge = Gauge::new(system, start, clock, kind);
    let (mut state, mut set) = (start.clone(), set.clone());
    let h = clock.step;
    for i in 1..=clock.n_steps {
        let t = state.t;
        let stepped = match kind {
            DriftKind::Taylor(order) => taylor_step(system, &mut state, &set, order, h),
            DriftKind::Single => single_step(system, &mut state, &set, h),
            DriftKind::Baumgarte => baumgarte_step(system, &mut state, &set, ALPHA_STEP / h, h),
            DriftKind::Projection => projected_step(system, &mut state, &set, 2, h, tolerance),
            DriftKind::Newton | DriftKind::Impulse => {
                impulse_step(system, &mut state, &mut set, h, tolerance).map(|_| ())
            }
        };
        state.t = clock.start + i as f64 * clock.step;
        let finite = state.p.iter().all(|p| p.iter().all(|x| x.is_finite()));
        if stepped.is_err() || !finite {
            let endless = || "its numbers grow without end".to_owned();
            let why = stepped.err().map_or_else(endless, |error| error.to_string());
            gauge.method.stopped = Some(format!("at t = {t:.4} s: {why}"));
            break;
        }
        gauge.look(i, &state);
        if watch(i as f64 / clock.n_steps as f64).is_break() {
            return Err(DriftError::Stopped);
        }
    }
    Ok(gauge.finish())
}

/// Watches the impulse engine.
struct Watching<'s, 'w> {
    gauge: Gauge<'s>,
    state: PointState,
    duration: f64,
    share: f64,
    watch: &'w mut dyn FnMut(f64) -> ControlFlow<()>,
}

impl Observer for Watching<'_, '_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        if sample.step == 0 {
            return ControlFlow::Continue(());
        }
        // Points beyond the bodies are anchors, which stay.
        let n = sample.state.s.len();
        self.state.t = sample.state.t;
        self.state.p[..n].copy_from_slice(&sample.state.s);
        self.state.p_dot[..n].copy_from_slice(&sample.state.s_dot);
        self.gauge.look(sample.step, &self.state);
        (self.watch)(self.share * sample.state.t / self.duration)
    }
}

fn by_impulse(
    model: &Model,
    settings: &RunSettings,
    system: &PointSystem,
    start: &PointState,
    clock: Clock,
    share: f64,
    watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<(DriftMethod, Verdict), DriftError> {
    let gauge = Gauge::new(system, start, clock, DriftKind::Impulse);
    let duration = settings.duration;
    let mut watching = Watching { gauge, state: start.clone(), duration, share, watch };
    let limits = VerdictLimits::default();
    let Judged { result, verdict } =
        simulate_judged(model.into(), settings, limits, &mut watching)?;
    let report = result.map_err(SimulateError::from)?;
    if report.stopped {
        return Err(DriftError::Stopped);
    }
    Ok((watching.gauge.finish(), verdict))
}

/// Draws constraint errors over time, on a logarithmic axis.
pub fn plot_svg(model: &Model, drift: &Drift) -> String {
    let title = format!("{}: drift of the constraints, step {} s", model.name, drift.settings.step);
    let mut plot = Plot::new(&title).x_axis("time", "s").y_axis("largest error", "m").log_y();
    for method in &drift.methods {
        let points = drift.times.iter().copied().zip(method.errors.iter().copied());
        plot = plot.line(&method.name(), points);
    }
    plot.to_svg()
}
