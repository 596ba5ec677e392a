//! Work and precision: what an error costs, for the orders of the impulse engine, for the dae engine and for the lagrange engine.
//!
//! The reference is the dae engine with local errors of 1e-13. The impulse engine runs with halved steps, the others with
//! tighter tolerances; of each run the time of the processor and the largest error of positions at the end are kept.

use std::ops::ControlFlow;

use cpu_time::ThreadTime;
use gelenk_model::{Loaded, Model, Observer, RunSettings, Sample};

use crate::compare::{CompareError, Watch, difference};
use crate::plot::Plot;
use crate::simulate::{SimulateError, simulate_as_told};

/// Halvings of the step.
const LEVELS: u32 = 8;
/// Most steps of a run.
const MOST_STEPS: f64 = 20_000.0;
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

/// Watches nothing.
struct Nobody;

impl Observer for Nobody {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
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
    let dae = |rtol: f64| RunSettings {
        engine: "dae".to_owned(),
        rtol: Some(rtol),
        atol: Some(rtol),
        ..base.clone()
    };
    let mut run = |settings: &RunSettings| {
        let begin = ThreadTime::now();
        let report = match simulate_as_told(model, settings, &mut Stopper(&mut watch)) {
            Ok(report) if report.stopped => return Err(CompareError::Stopped),
            Ok(report) => report,
            // Too long a step for the joints: no trial.
            Err(SimulateError::Failed(_)) => return Ok(None),
            Err(error) => return Err(CompareError::Engine(error)),
        };
        Ok(Some((report, begin.elapsed().as_secs_f64())))
    };
    let Some((exact, _)) = run(&dae(REFERENCE))? else { return Ok(Vec::new()) };
    let mut methods = Vec::new();
    let mut trials = Vec::new();
    for k in 4..=12 {
        let rtol = 10.0_f64.powi(-k);
        if let Some((report, seconds)) = run(&dae(rtol))? {
            let error = difference(model, &exact.state, &report.state).position;
            trials.push(Trial { setting: rtol, seconds, error, steps: report.steps });
        }
    }
    methods.push(Method { name: "dae".to_owned(), trials });
    // The equations are derived once; what is measured is their integration.
    if let Ok(numeric) = crate::lagrange::prepare(loaded) {
        let mut trials = Vec::new();
        for k in 4..=12 {
            let rtol = 10.0_f64.powi(-k);
            let settings = RunSettings {
                engine: "lagrange".to_owned(),
                accuracy: Some(100.0 * rtol),
                ..base.clone()
            };
            let begin = ThreadTime::now();
            let run = crate::lagrange::run_prepared(model, &numeric, &settings, &mut Nobody);
            if let Ok(report) = run {
                let seconds = begin.elapsed().as_secs_f64();
                let error = difference(model, &exact.state, &report.state).position;
                trials.push(Trial { setting: rtol, seconds, error, steps: report.steps });
            }
        }
        methods.push(Method { name: "lagrange".to_owned(), trials });
    }
    for order in [2, 4, 6, 8] {
        let mut trials = Vec::new();
        let mut step = (f64::from(order) * base.step).min(duration / 10.0);
        for _ in 0..LEVELS {
            if duration / step > MOST_STEPS {
                break;
            }
            let settings = RunSettings {
                engine: "impulse".to_owned(),
                order,
                step,
                tolerance: base.tolerance.min(1e-12),
                velocity_tolerance: base.velocity_tolerance.min(1e-12),
                ..base.clone()
            };
            if let Some((report, seconds)) = run(&settings)? {
                let error = difference(model, &exact.state, &report.state).position;
                trials.push(Trial { setting: step, seconds, error, steps: report.steps });
                if error < 10.0 * FLOOR {
                    break;
                }
            }
            step *= 0.5;
        }
        methods.push(Method { name: format!("impulse, order {order}"), trials });
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
