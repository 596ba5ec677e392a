//! Running a model with the engine its settings name.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::Path;

use gelenk_model::{
    Event, Limits, Loaded, Model, Observer, RunFailure, RunReport, RunSettings, Sample, Stop,
};

use gelenk_impulse::control::Control;

use crate::accuracy::{AccuracyError, choose};
use crate::engine::{self, Controlled, ENGINES, Judged, Source, Steps};
use crate::recording::{self, Header, VerifyError, VerifyReport};
use crate::verdict::VerdictLimits;

/// Why a model was not run to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// There is no such engine.
    #[error("there is no engine `{engine}`; there is {}", ENGINES.map(|name| format!("`{name}`")).join(", "))]
    UnknownEngine {
        /// The name.
        engine: String,
    },
    /// The engine cannot run this model.
    #[error("the {engine} engine cannot run this model: {reason}")]
    Unsupported {
        /// The engine.
        engine: &'static str,
        /// The element and why.
        reason: String,
    },
    /// The engine derives its equations from the whole of a loaded file.
    #[error(
        "the {0} engine derives its equations from the whole file and chooses its steps itself: `run` and `compare` have it (in code: `simulate_loaded`)"
    )]
    NeedsFile(&'static str),
    /// No step was found for the accuracy asked for.
    #[error(transparent)]
    Accuracy(#[from] AccuracyError),
    /// The run could not go on; what was reached is inside.
    #[error(transparent)]
    Failed(#[from] RunFailure),
}

/// Runs `model` with the engine that `settings` name, and tells `observer`.
///
/// Settings with an accuracy and no estimated error go through [`choose`] first. Do that yourself to know what was chosen,
/// and before recording, so that the recording has it. [`simulate_judged`] gives the verdict as well.
pub fn simulate(
    model: &Model,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, SimulateError> {
    Ok(simulate_judged(model.into(), settings, VerdictLimits::default(), observer)?.result?)
}

/// [`simulate()`] of a model as it was loaded, with any engine: the lagrange engine derives its equations from the file.
pub fn simulate_loaded(
    loaded: &Loaded,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, SimulateError> {
    Ok(simulate_judged(loaded.into(), settings, VerdictLimits::default(), observer)?.result?)
}

/// [`simulate()`] of a model or a loaded file, with the verdict on the result: whether it can be relied on.
///
/// ```
/// use gelenk::model::{LoadOptions, load_text};
/// use gelenk::simulate::simulate_judged;
/// use gelenk::verdict::VerdictLimits;
///
/// let text = gelenk::scenes::scene("double-pendulum").ok_or("no such model")?.text;
/// let loaded = load_text("double-pendulum", text, &LoadOptions::default())?;
/// let settings = gelenk::model::RunSettings { duration: 0.5, step: 0.001, ..loaded.model.run.clone() };
/// let judged = simulate_judged((&loaded).into(), &settings, VerdictLimits::default(), &mut ())?;
/// assert!(judged.verdict.is_good());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate_judged(
    source: Source<'_>,
    settings: &RunSettings,
    limits: VerdictLimits,
    observer: &mut dyn Observer,
) -> Result<Judged, SimulateError> {
    let kind = engine::named(settings)?;
    let asks = settings.accuracy.is_some() && settings.estimated_error.is_none();
    let chosen = if asks && kind.steps() == Steps::Given {
        Some(choose(source.model, settings, &mut || ControlFlow::Continue(()))?)
    } else {
        None
    };
    let settings = chosen.as_ref().unwrap_or(settings);
    let ready = kind.prepare(source, settings)?;
    Ok(engine::run(kind, source.model, &*ready, settings, limits, observer))
}

/// [`simulate()`] with a control law in the loop, called at a fixed rate to set the model's inputs.
///
/// The step is that of `settings`. A recording of such a run cannot be verified by the model alone: the law is not in it.
///
/// ```
/// use gelenk::control::Control;
/// use gelenk::model::{LoadOptions, load_text};
///
/// let text = r#"
///     [inputs]
///     torque = 0
///
///     [[body]]
///     name = "arm"
///     mass = 1
///     ends = [[0, 0, 0], [0, 0, 1]]
///     shape = { cylinder = { radius = 0.02 } }
///     angular_velocity = [0, 0.1, 0]
///
///     [[joint]]
///     name = "pivot"
///     type = "hinge"
///     between = ["world", "arm"]
///     point = [0, 0, 0]
///     axis = [0, 1, 0]
///     motor = { torque = "input.torque" }
/// "#;
/// let model = load_text("balance", text, &LoadOptions::default())?.model;
/// let mut law = |measured: &gelenk::control::Measured<'_>, inputs: &mut gelenk::control::Inputs<'_>| {
///     let angle = measured.coordinate("pivot", "angle").ok_or("no pivot")?;
///     let speed = measured.velocity("pivot", "angle").ok_or("no pivot")?;
///     inputs.set("torque", -20.0 * angle - 4.0 * speed)
/// };
/// let mut control = Control { period: 0.002, law: &mut law };
/// let report = gelenk::simulate_controlled(&model, &model.run, &mut control, &mut ())?;
/// assert!(report.state.coordinate[0].abs() < 1e-6, "it stands");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate_controlled(
    model: &Model,
    settings: &RunSettings,
    control: &mut Control<'_>,
    observer: &mut dyn Observer,
) -> Result<RunReport, SimulateError> {
    let kind = engine::named(settings)?;
    if kind.steps() == Steps::Own {
        let reason = "a control law in the loop goes with the fixed step of the impulse engine";
        return Err(SimulateError::Unsupported { engine: kind.name(), reason: reason.to_owned() });
    }
    let mut engine = Controlled::new(model, settings, control)?;
    let limits = VerdictLimits::default();
    Ok(engine::drive(kind, model, &mut engine, settings, limits, observer).result?)
}

/// Runs `model` with the step and order of `settings`, whatever accuracy they ask for.
pub(crate) fn simulate_as_told(
    model: &Model,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, SimulateError> {
    let kind = engine::named(settings)?;
    let ready = kind.prepare(model.into(), settings)?;
    Ok(engine::run(kind, model, &*ready, settings, VerdictLimits::default(), observer).result?)
}

/// Runs a recording again from the model and settings in it, and compares every byte.
///
/// `limits`: what the model in it may ask of the machine.
pub fn verify(path: impl AsRef<Path>, limits: Limits) -> Result<VerifyReport, VerifyError> {
    let kept = RefCell::new(None);
    let kept_limits = Cell::new(VerdictLimits::default());
    let load = |header: &Header| {
        kept_limits.set(header.limits);
        let loaded = header.load(limits)?;
        let model = loaded.model.clone();
        kept.replace(Some(loaded));
        Ok(model)
    };
    recording::verify(path, &load, &|_, settings, observer| {
        let kept = kept.borrow();
        let loaded = kept.as_ref().ok_or("the model is not loaded")?;
        let limits = kept_limits.get();
        simulate_judged(loaded.into(), settings, limits, observer)
            .map_err(|error| error.to_string())
    })
}

/// Two observers of one run; each sees everything, the first one first. The run stops when either stops it.
pub struct Both<'a>(pub &'a mut dyn Observer, pub &'a mut dyn Observer);

impl std::fmt::Debug for Both<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Both").finish_non_exhaustive()
    }
}

/// Stops where either stops.
fn either(a: ControlFlow<()>, b: ControlFlow<()>) -> ControlFlow<()> {
    a?;
    b
}

impl Observer for Both<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        either(self.0.sample(sample), self.1.sample(sample))
    }

    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        either(self.0.at(sample), self.1.at(sample))
    }

    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        either(self.0.step(t), self.1.step(t))
    }

    fn stop(&self) -> Option<Stop> {
        self.0.stop().or_else(|| self.1.stop())
    }
}
