//! The engines against each other: the same model, the same times, what differs.
//!
//! The impulse engine knows rows and masses, the lagrange engine knows energies; they share no equation. The dae engine has the rows of the first and
//! the integrator of the second. Where all give the same motion, all are right.

pub mod gallery;

use std::ops::ControlFlow;
use std::time::Instant as Clock;

use gelenk_model::{BodyKind, Loaded, Model, Observer, RunFailure, RunSettings, Sample, State};

use crate::engine::{self, ENGINES, EngineKind, Judged, Ready, Steps};
use crate::plot::Plot;
use crate::simulate::SimulateError;
use crate::verdict::{Finding, Level, Verdict, VerdictLimits};

/// Most steps of the impulse engine in one run of a comparison.
const MOST_STEPS: f64 = 40_000.0;
/// Errors below this are rounding, m.
const ROUNDING: f64 = 2e-12;
/// Errors above this say nothing of the order yet, m.
const COARSE: f64 = 1e-3;

/// What to compare.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// Simulated time, s.
    pub duration: f64,
    /// Engines by name; each is compared with each.
    pub engines: Vec<String>,
    /// Times at which states are compared, s, ascending.
    pub times: Vec<f64>,
    /// Differences of positions up to this are agreement, m.
    pub within: f64,
    /// Step of the impulse engine; found by halving if none.
    pub step: Option<f64>,
    /// Order of the impulse engine.
    pub order: u32,
    /// Measure the orders of the impulse engine as well.
    pub orders: bool,
}

impl CompareOptions {
    /// All engines over `duration` seconds, at `n` times.
    pub fn new(duration: f64, n: u32) -> Self {
        let times = (0..=n).map(|i| duration * f64::from(i) / f64::from(n.max(1))).collect();
        CompareOptions {
            duration,
            engines: ENGINES.map(str::to_owned).to_vec(),
            times,
            within: 1e-8,
            step: None,
            order: 8,
            orders: true,
        }
    }
}

/// One engine's run.
#[derive(Clone, Debug)]
pub struct EngineRun {
    /// The engine.
    pub engine: String,
    /// How it was run, in words.
    pub how: String,
    /// Its steps.
    pub steps: u64,
    /// Time on the clock, s.
    pub wall_seconds: f64,
    /// Largest gap of a joint, m or rad.
    pub gap: f64,
    /// Largest |integrator error| of its energy ledger, J.
    pub energy_error: f64,
    /// How far positions were with twice the step, m, where the step was halved until positions stand.
    pub change: Option<f64>,
    /// States at the times.
    pub states: Vec<State>,
    /// Kinetic plus potential energy at the times, J.
    pub energies: Vec<f64>,
    /// The verdict on it.
    pub verdict: Verdict,
}

/// Largest differences over all bodies at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// When, s.
    pub time: f64,
    /// Of centres of mass, m.
    pub position: f64,
    /// Of rotations, rad.
    pub rotation: f64,
    /// Of velocities of centres of mass, m/s.
    pub velocity: f64,
    /// Of kinetic plus potential energy, J.
    pub energy: f64,
    /// The body whose position differs most.
    pub body: String,
}

/// An order of the impulse engine, measured against the other engine.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredOrder {
    /// The method's order.
    pub order: u32,
    /// Two steps, s, the second half the first.
    pub steps: [f64; 2],
    /// Position errors with them at the end, m.
    pub errors: [f64; 2],
    /// log₂ of their ratio; `None` where the second is rounding.
    pub measured: Option<f64>,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The runs.
    pub runs: Vec<EngineRun>,
    /// Engines that cannot run the model, with the reason.
    pub unable: Vec<(String, String)>,
    /// The two runs that differ most, at every time; empty where only one engine runs.
    pub differences: Vec<Difference>,
    /// The largest of all.
    pub worst: Difference,
    /// Orders of the impulse engine.
    pub orders: Vec<MeasuredOrder>,
    /// Whether positions agree as asked.
    pub agree: bool,
    /// The verdict on all runs, and on how far they are apart.
    pub verdict: Verdict,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// There is no such engine.
    #[error(transparent)]
    Engine(SimulateError),
    /// An engine failed on the way.
    #[error("{engine}: {failure}")]
    Failed {
        /// The engine.
        engine: String,
        /// Its failure.
        failure: Box<RunFailure>,
    },
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

/// Called now and then; break to stop.
pub type Watch<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// Runs a model with several engines and compares.
///
/// The impulse engine runs with order 8, or that asked for, and tight tolerances; its step is halved until halving it again changes positions by less than a
/// tenth of what is asked (or rounding, or the number of steps, ends it). The lagrange engine runs with local errors of 1e-12.
pub fn compare(
    loaded: &Loaded,
    options: &CompareOptions,
    watch: Watch<'_>,
) -> Result<Comparison, CompareError> {
    let model = &loaded.model;
    let mut out = Comparison {
        runs: Vec::new(),
        unable: Vec::new(),
        differences: Vec::new(),
        worst: Difference::default(),
        orders: Vec::new(),
        agree: true,
        verdict: Verdict::default(),
    };
    // Who cannot run says so before anybody runs.
    let mut able = Vec::new();
    for name in &options.engines {
        let Some(kind) = engine::find(name) else {
            let engine = name.clone();
            return Err(CompareError::Engine(SimulateError::UnknownEngine { engine }));
        };
        let settings = kind.exact(base(model, options));
        match kind.prepare(loaded.into(), &settings) {
            Ok(ready) => able.push(Able { model, kind, ready, settings }),
            Err(error) => out.unable.push((name.clone(), error.to_string())),
        }
    }
    if able.len() < 2 {
        return Ok(out);
    }
    for engine in &able {
        out.runs.push(match engine.kind.steps() {
            Steps::Own => engine.run(&engine.settings, watch)?,
            Steps::Given => engine.halved(options, watch)?,
        });
    }
    if let Some((a, b)) = farthest(model, &out.runs) {
        let (a, b) = (&out.runs[a], &out.runs[b]);
        for (i, time) in options.times.iter().enumerate() {
            let (Some(x), Some(y)) = (a.states.get(i), b.states.get(i)) else { continue };
            let mut difference = difference(model, x, y);
            difference.time = *time;
            difference.energy = (a.energies[i] - b.energies[i]).abs();
            out.differences.push(difference);
        }
        out.worst = worst(&out.differences);
        out.agree = out.worst.position <= options.within;
    }
    let own = |engine: &Able<'_>| engine.kind.steps() == Steps::Own;
    let exact = out.runs.iter().zip(&able).rev().find(|(_, engine)| own(engine));
    let stepping = able.iter().find(|engine| !own(engine));
    if let (Some((exact, _)), Some(stepping), true) = (exact, stepping, options.orders) {
        for order in [2, 4, 6, 8] {
            out.orders.extend(stepping.measure(options, order, &exact.states, watch)?);
        }
    }
    out.verdict = judge(&out, options);
    Ok(out)
}

/// The settings that all engines have in common.
fn base(model: &Model, options: &CompareOptions) -> RunSettings {
    RunSettings {
        duration: options.duration,
        sample: Some(options.duration.max(1e-9)),
        at: options.times.clone(),
        estimated_error: None,
        ..model.run.clone()
    }
}

/// How far an engine with a tolerance of the local error ends apart from itself at its usual tolerance and a tenth of that, m; `None` where it does not run
/// to the end.
fn from_itself(
    loaded: &Loaded,
    kind: &'static dyn EngineKind,
    options: &CompareOptions,
    watch: Watch<'_>,
) -> Result<Option<f64>, CompareError> {
    let model = &loaded.model;
    let settings = kind.exact(base(model, options));
    let Ok(ready) = kind.prepare(loaded.into(), &settings) else { return Ok(None) };
    let able = Able { model, kind, ready, settings };
    let mut ends = Vec::new();
    for tolerance in [1e-12, 1e-13] {
        match able.run(&kind.with_local_error(able.settings.clone(), tolerance), watch) {
            Ok(run) => ends.push(run.states),
            Err(CompareError::Failed { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(worst_of(model, &ends[0], &ends[1])))
}

/// The verdict on a comparison.
fn judge(comparison: &Comparison, options: &CompareOptions) -> Verdict {
    let runs = comparison.runs.iter();
    let mut verdict = Verdict::of_parts(runs.map(|run| (run.engine.as_str(), &run.verdict)));
    if !comparison.agree {
        let worst = &comparison.worst;
        verdict.push(Finding {
            level: Level::Failed,
            quantity: "difference".to_owned(),
            value: worst.position,
            limit: options.within,
            time: Some(worst.time),
            element: Some(worst.body.clone()),
            cause: format!(
                "engines are apart by {:.1e} m at `{}`, more than {:.1e} m",
                worst.position, worst.body, options.within
            ),
            remedy:
                "try a shorter --duration: the motion may be chaotic; else one of them is wrong"
                    .to_owned(),
        });
    }
    verdict
}

/// An engine that can run the model.
struct Able<'a> {
    model: &'a Model,
    kind: &'static dyn EngineKind,
    ready: Box<dyn Ready + 'a>,
    settings: RunSettings,
}

/// The two runs that differ most.
fn farthest(model: &Model, runs: &[EngineRun]) -> Option<(usize, usize)> {
    let mut found: Option<(usize, usize, f64)> = None;
    for a in 0..runs.len() {
        for b in a + 1..runs.len() {
            let apart = worst_of(model, &runs[a].states, &runs[b].states);
            if found.is_none_or(|(_, _, most)| apart > most || apart.is_nan()) {
                found = Some((a, b, apart));
            }
        }
    }
    found.map(|(a, b, _)| (a, b))
}

/// States and energies at the times of `at`.
struct Camera<'a, 'w> {
    states: Vec<State>,
    energies: Vec<f64>,
    watch: &'a mut Watch<'w>,
}

impl Observer for Camera<'_, '_> {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.states.push(sample.state.clone());
        self.energies.push(sample.ledger.total());
        ControlFlow::Continue(())
    }
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        (self.watch)()
    }
}

impl Able<'_> {
    /// A run, with what was seen at the times.
    fn run(&self, settings: &RunSettings, mut watch: Watch<'_>) -> Result<EngineRun, CompareError> {
        let begin = Clock::now();
        let mut camera = Camera { states: Vec::new(), energies: Vec::new(), watch: &mut watch };
        let limits = VerdictLimits::default();
        let Judged { result, verdict } =
            engine::run(self.kind, self.model, &*self.ready, settings, limits, &mut camera);
        let report = result.map_err(|failure| CompareError::Failed {
            engine: self.kind.name().to_owned(),
            failure: Box::new(failure),
        })?;
        if report.stopped {
            return Err(CompareError::Stopped);
        }
        Ok(EngineRun {
            engine: self.kind.name().to_owned(),
            how: self.kind.precision(settings),
            steps: report.steps,
            wall_seconds: begin.elapsed().as_secs_f64(),
            gap: crate::report::largest(&report.worst_gaps),
            energy_error: report.energy_max_abs_error,
            change: None,
            states: camera.states,
            energies: camera.energies,
            verdict,
        })
    }

    /// A run with an order and a step, of an engine that takes them.
    fn stepped(&self, order: u32, step: f64, watch: Watch<'_>) -> Result<EngineRun, CompareError> {
        let tolerance = self.model.run.tolerance.min(1e-12);
        let velocity_tolerance = tolerance;
        let settings = self.settings.clone();
        let settings = RunSettings { step, order, tolerance, velocity_tolerance, ..settings };
        self.run(&settings, watch)
    }

    /// The order asked for with a step that is short enough.
    fn halved(
        &self,
        options: &CompareOptions,
        watch: Watch<'_>,
    ) -> Result<EngineRun, CompareError> {
        let model = self.model;
        if let Some(step) = options.step {
            return self.stepped(options.order, step, watch);
        }
        let mut step =
            (2.0 * model.run.step).min(options.duration / 20.0).max(options.duration / MOST_STEPS);
        let mut best = self.stepped(options.order, step, watch)?;
        let mut change = f64::INFINITY;
        while 2.0 * options.duration / step <= MOST_STEPS {
            let finer = self.stepped(options.order, step / 2.0, watch)?;
            let now = worst_of(model, &best.states, &finer.states);
            // Rounding grows where the method has no more to give.
            if now > change && change < options.within {
                break;
            }
            best = EngineRun { change: Some(now), ..finer };
            step /= 2.0;
            if now < (0.1 * options.within).max(ROUNDING) {
                break;
            }
            change = now;
        }
        Ok(best)
    }

    /// An order against exact states.
    fn measure(
        &self,
        options: &CompareOptions,
        order: u32,
        exact: &[State],
        watch: Watch<'_>,
    ) -> Result<Option<MeasuredOrder>, CompareError> {
        let model = self.model;
        let mut step = (f64::from(order) * model.run.step).min(options.duration / 10.0);
        let mut error = |step: f64| -> Result<f64, CompareError> {
            match self.stepped(order, step, watch) {
                Ok(run) => Ok(worst_of(model, exact, &run.states)),
                // Too long a step for the joints; a shorter one may do.
                Err(CompareError::Failed { .. }) => Ok(f64::INFINITY),
                Err(error) => Err(error),
            }
        };
        let mut coarse = error(step)?;
        while options.duration / step < MOST_STEPS {
            let fine = error(step / 2.0)?;
            if coarse < COARSE || fine < 100.0 * ROUNDING {
                let clean = fine > 10.0 * ROUNDING && coarse.is_finite();
                let measured = clean.then(|| (coarse / fine).log2());
                let (steps, errors) = ([step, step / 2.0], [coarse, fine]);
                return Ok(Some(MeasuredOrder { order, steps, errors, measured }));
            }
            (coarse, step) = (fine, step / 2.0);
        }
        Ok(None)
    }
}

/// Largest difference of positions over all times, m.
fn worst_of(model: &Model, a: &[State], b: &[State]) -> f64 {
    a.iter().zip(b).map(|(a, b)| difference(model, a, b).position).fold(0.0, f64::max)
}

/// Where two states differ, by the body that differs most.
pub fn difference(model: &Model, a: &State, b: &State) -> Difference {
    let mut out = Difference { time: a.t, ..Difference::default() };
    for (i, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
        let position = (a.s[i] - b.s[i]).norm();
        if position > out.position || position.is_nan() {
            out.position = position;
            out.body.clone_from(&body.name);
        }
        out.velocity = out.velocity.max((a.s_dot[i] - b.s_dot[i]).norm());
        if body.kind == BodyKind::Point {
            continue;
        }
        let massless: Vec<usize> = (0..3).filter(|&k| body.inertia_inv[k] == 0.0).collect();
        let turn = match massless[..] {
            [] => a.rot[i].angle_to(&b.rot[i]),
            // A thin rod has a direction, and no angle about it.
            [k] => {
                let axis = gelenk_model::math::Vec3::ith(k, 1.0);
                let (x, y) = (a.rot[i] * axis, b.rot[i] * axis);
                x.cross(&y).norm().atan2(x.dot(&y))
            }
            _ => 0.0,
        };
        out.rotation = out.rotation.max(turn);
    }
    out
}

fn worst(all: &[Difference]) -> Difference {
    let mut out = Difference::default();
    for one in all {
        if one.position > out.position || one.position.is_nan() {
            (out.position, out.time) = (one.position, one.time);
            out.body.clone_from(&one.body);
        }
        out.rotation = out.rotation.max(one.rotation);
        out.velocity = out.velocity.max(one.velocity);
        out.energy = out.energy.max(one.energy);
    }
    out
}

/// The differences over time as a picture; the axis of differences is logarithmic.
pub fn plot_svg(model: &Model, comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison.runs.iter().map(|run| run.engine.as_str()).collect();
    let title = format!("{}: {} against each other", model.name, names.join(" and "));
    let line = |value: fn(&Difference) -> f64| -> Vec<(f64, f64)> {
        let all = comparison.differences.iter().map(|d| (d.time, value(d)));
        all.filter(|(_, y)| *y > 0.0).collect()
    };
    Plot::new(&title)
        .x_axis("time", "s")
        .y_axis("difference", "")
        .log_y()
        .line("position, m", line(|d| d.position))
        .line("rotation, rad", line(|d| d.rotation))
        .line("energy, J", line(|d| d.energy))
        .to_svg()
}
