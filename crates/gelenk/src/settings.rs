//! Settings of a run, looked at before the run.

use gelenk_impulse::BadSetting;
use gelenk_model::RunSettings;

use crate::accuracy::AccuracyError;
use crate::engine;
use crate::simulate::SimulateError;

/// The most steps of a run.
const MOST_STEPS: f64 = 1e12;

/// Settings that cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// No engine of that name.
    #[error(transparent)]
    Engine(SimulateError),
    /// A setting that the engine does not take.
    #[error(transparent)]
    Bad(#[from] BadSetting),
    /// A setting of the dae engine that makes no sense.
    #[error("{0}")]
    Dae(String),
    /// An accuracy that is no positive number.
    #[error(transparent)]
    Accuracy(#[from] AccuracyError),
    /// More steps than anybody waits for.
    #[error("the run would take {0:.1e} steps; choose a larger step or a shorter duration")]
    TooManySteps(f64),
}

/// Refuses settings that no engine can run with.
pub fn check_settings(settings: &RunSettings) -> Result<(), SettingsError> {
    engine::named(settings).map_err(SettingsError::Engine)?.check_settings(settings)?;
    if let Some(accuracy) = settings.accuracy
        && !(accuracy > 0.0 && accuracy.is_finite())
    {
        return Err(AccuracyError::Bad(accuracy).into());
    }
    let steps = settings.duration / settings.step;
    if steps > MOST_STEPS { Err(SettingsError::TooManySteps(steps)) } else { Ok(()) }
}
