//! Work and precision: what an error costs, for the orders of the impulse engine, for the dae engine and for the lagrange engine.
//!
//! The reference is the dae engine with local errors of 1e-13. The impulse engine runs with halved steps, the others with
//! tighter tolerances; of each run the time of the processor and the largest error of positions at the end are kept.

use std::ops::ControlFlow;

use cpu_time::ThreadTime;
use gelenk_model::{Loaded, Model, Observer, RunReport, RunSettings, Sample};

use crate::compare::{CompareError, Watch, difference};
use crate::engine::{self, ENGINE_KINDS, EngineKind, Ready, Steps};
use crate::plot::Plot;
use crate::verdict::{Level, VerdictLimits};

/// Halvings of the step.
const LEVELS: u32 = 8;
/// Most steps of a run.
const MOST_STEPS: f64 = 20_000.0;
/// The engine that the others are measured against.
const REFERENCE_ENGINE: &str = "dae";
/// Local errors of the reference.
const REFERENCE: f64 = 1e-13;
/// Errors below this are those of the reference.
const FLOOR: f64 = 1e-13;

/// A run: what it cost and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Step, s, or relative tolerance.
    pub setting: f64,
    /// Time of the processor, s.
    pub seconds: f64,
    /// Largest error of a position at the end, m.
    pub error: f64,
    /// Steps.
    pub steps: u64,
    /// The verdict on it.
    pub verdict: Level,
}

/// The runs of one method, coarsest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// `impulse, order 4`, `dae` or `lagrange`.
    pub name: String,
    /// Its runs.
    pub trials: Vec<Trial>,
}

/// Stops where the caller wants.
struct Stopper<'a, 'w>(&'a mut Watch<'w>);

impl Observer for Stopper<'_, '_> {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        (self.0)()
    }
}

/// Work and precision of a model over `duration` seconds.
pub fn precision(
    loaded: &Loaded,
    duration: f64,
    mut watch: Watch<'_>,
) -> Result<Vec<Method>, CompareError> {
    let model = &loaded.model;
    let base = RunSettings {
        duration,
        sample: Some(duration.max(1e-9)),
        at: Vec::new(),
        accuracy: None,
        estimated_error: None,
        ..model.run.clone()
    };
    let mut run = |ready: &dyn Ready, kind: &dyn EngineKind, settings: &RunSettings| {
        let begin = ThreadTime::now();
        let limits = VerdictLimits::default();
        let judged = engine::run(kind, model, ready, settings, limits, &mut Stopper(&mut watch));
        match judged.result {
            Ok(report) if report.stopped => Err(CompareError::Stopped),
            Ok(report) => Ok(Some((report, begin.elapsed().as_secs_f64(), judged.verdict.level))),
            // Too long a step for the joints: no trial.
            Err(_) => Ok(None),
        }
    };
    // Equations are derived once; what is measured is their integration.
    let mut able = Vec::new();
    for kind in ENGINE_KINDS {
        let settings = kind.exact(base.clone());
        match kind.prepare(loaded.into(), &settings) {
            Ok(ready) => able.push((kind, ready, settings)),
            Err(error) if kind.name() == REFERENCE_ENGINE => {
                return Err(CompareError::Engine(error));
            }
            Err(_) => {}
        }
    }
    let reference = able.iter().find(|(kind, ..)| kind.name() == REFERENCE_ENGINE);
    let Some((kind, ready, settings)) = reference else { return Ok(Vec::new()) };
    let settings = kind.with_local_error(settings.clone(), REFERENCE);
    let Some((exact, ..)) = run(&**ready, *kind, &settings)? else { return Ok(Vec::new()) };
    let error_of = |report: &RunReport| difference(model, &exact.state, &report.state).position;
    let mut methods = Vec::new();
    for (kind, ready, settings) in able.iter().filter(|(kind, ..)| kind.steps() == Steps::Own) {
        let mut trials = Vec::new();
        for k in 4..=12 {
            let tolerance = 10.0_f64.powi(-k);
            let settings = kind.with_local_error(settings.clone(), tolerance);
            if let Some((report, seconds, verdict)) = run(&**ready, *kind, &settings)? {
                let error = error_of(&report);
                let steps = report.steps;
                trials.push(Trial { setting: tolerance, seconds, error, steps, verdict });
            }
        }
        methods.push(Method { name: kind.name().to_owned(), trials });
    }
    for (kind, ready, settings) in able.iter().filter(|(kind, ..)| kind.steps() == Steps::Given) {
        for order in [2, 4, 6, 8] {
            let mut trials = Vec::new();
            let mut step = (f64::from(order) * base.step).min(duration / 10.0);
            for _ in 0..LEVELS {
                if duration / step > MOST_STEPS {
                    break;
                }
                let settings = RunSettings {
                    order,
                    step,
                    tolerance: base.tolerance.min(1e-12),
                    velocity_tolerance: base.velocity_tolerance.min(1e-12),
                    ..settings.clone()
                };
                if let Some((report, seconds, verdict)) = run(&**ready, *kind, &settings)? {
                    let error = error_of(&report);
                    let steps = report.steps;
                    trials.push(Trial { setting: step, seconds, error, steps, verdict });
                    if error < 10.0 * FLOOR {
                        break;
                    }
                }
                step *= 0.5;
            }
            methods.push(Method { name: format!("{}, order {order}", kind.name()), trials });
        }
    }
    Ok(methods)
}

/// Error against time, both logarithmic.
pub fn plot_svg(model: &Model, methods: &[Method]) -> String {
    let title = format!("{}: what an error costs", model.name);
    let mut plot = Plot::new(&title).x_axis("time", "s").y_axis("error", "m").log_log();
    for method in methods {
        let points = method.trials.iter().map(|t| (t.seconds, t.error.max(FLOOR)));
        plot = plot.line(&method.name, points.collect::<Vec<_>>());
    }
    plot.to_svg()
}
