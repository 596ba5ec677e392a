//! Running a model with the engine that its settings name.

use gelenk_impulse::{BadSetting, Method};
use gelenk_model::{Ledger, Model, Observer, RunFailure, RunReport, RunSettings};

/// The engines there are.
pub const ENGINES: [&str; 1] = ["impulse"];

/// Settings that cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// No engine of that name.
    #[error("there is no engine `{0}`; there is `impulse`")]
    UnknownEngine(String),
    /// A setting that the engine does not take.
    #[error(transparent)]
    Bad(#[from] BadSetting),
    /// More steps than anybody waits for.
    #[error("the run would take {0:.1e} steps; choose a larger step or a shorter duration")]
    TooManySteps(f64),
}

/// The most steps of a run.
const MOST_STEPS: f64 = 1e12;

/// Looks at the settings before a run.
pub fn check_settings(settings: &RunSettings) -> Result<(), SettingsError> {
    if !ENGINES.contains(&settings.engine.as_str()) {
        return Err(SettingsError::UnknownEngine(settings.engine.clone()));
    }
    Method::new(settings)?;
    let steps = settings.duration / settings.step;
    if steps > MOST_STEPS { Err(SettingsError::TooManySteps(steps)) } else { Ok(()) }
}

/// Runs `model` as `settings` say and tells `observer`.
///
/// Settings that [`check_settings`] refuses end as a failure before the first step.
pub fn simulate(
    model: &Model,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunFailure> {
    match settings.engine.as_str() {
        "impulse" => gelenk_impulse::run(model, settings, observer),
        other => {
            let reason = SettingsError::UnknownEngine(other.to_owned()).to_string();
            Err(RunFailure { reason, element: None, report: Box::new(not_started(model)) })
        }
    }
}

/// The report of a run that did not start.
fn not_started(model: &Model) -> RunReport {
    RunReport {
        engine: "none",
        t: model.start.t,
        steps: 0,
        corrections: 0,
        stopped: false,
        ledger: Ledger::default(),
        energy_mean_abs_error: 0.0,
        energy_max_abs_error: 0.0,
        worst_gaps: vec![0.0; model.rows.len()],
        worst_velocity_errors: vec![0.0; model.rows.len()],
        events: Vec::new(),
        state: model.start.clone(),
    }
}
