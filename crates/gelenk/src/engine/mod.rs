//! The engines, and what all of them have in common.
//!
//! [`EngineKind`] is an engine as a choice: its name, what it refuses, how it is set up. [`Ready`] is a model made ready for it (the
//! lagrange engine derives its equations here, once). [`Engine`] is the model in motion: one step at a time, with samples, events,
//! statistics, and a state that another engine may go on from. [`run`] is the one run loop; it tells an observer what happens and ends with a
//! [`Verdict`](crate::verdict::Verdict).
//!
//! ```text
//! find(name) -> EngineKind --prepare--> Ready --start(state)--> Engine --run loop--> samples, events, report, verdict
//! ```
//!
//! To add an engine: its file, and a line in [`ENGINE_KINDS`] (its name is in the list of the model reader, which model files are checked
//! against).
//!
//! ```
//! use gelenk::engine::{Source, Step, prepare};
//! use gelenk::model::{LoadOptions, load_text};
//!
//! let text = gelenk::scenes::scene("double-pendulum").ok_or("no such model")?.text;
//! let model = load_text("double-pendulum", text, &LoadOptions::default())?.model;
//! let ready = prepare(Source::from(&model), &model.run)?;
//! let mut engine = ready.start(&model.run, &model.start)?;
//! engine.advance(&Step { length: 0.001, end: 0.001 })?;
//! // A checkpoint is a state: another engine goes on from it.
//! let checkpoint = engine.state().clone();
//! let mut again = ready.start(&model.run, &checkpoint)?;
//! again.advance(&Step { length: 0.001, end: 0.002 })?;
//! assert_eq!(again.time(), 0.002);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod agenda;
mod impulse;
mod run;

use std::fmt::Debug;

use gelenk_model::force::Hand;
use gelenk_model::{
    Event, Ledger, Loaded, Model, RunFailure, RunReport, RunSettings, Sample, State, Stop,
};

use crate::settings::SettingsError;
use crate::simulate::SimulateError;

pub use gelenk_model::load::ENGINES;
pub(crate) use impulse::Controlled;
pub(crate) use run::drive;
pub use run::{Judged, run};

/// All engines, in the order of [`ENGINES`].
pub static ENGINE_KINDS: [&dyn EngineKind; ENGINES.len()] =
    [&impulse::Impulse, &crate::dae::Dae, &crate::lagrange::Lagrange];

/// The engine of a name.
pub fn find(name: &str) -> Option<&'static dyn EngineKind> {
    ENGINE_KINDS.into_iter().find(|kind| kind.name() == name)
}

/// The engine that settings name; an error lists those that exist.
pub fn named(settings: &RunSettings) -> Result<&'static dyn EngineKind, SimulateError> {
    find(&settings.engine)
        .ok_or_else(|| SimulateError::UnknownEngine { engine: settings.engine.clone() })
}

/// A model made ready for the engine that settings name.
pub fn prepare<'a>(
    source: Source<'a>,
    settings: &RunSettings,
) -> Result<Box<dyn Ready + 'a>, SimulateError> {
    named(settings)?.prepare(source, settings)
}

/// A model, and the file that it was loaded from where that is known.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The model.
    pub model: &'a Model,
    /// The whole of what was loaded.
    pub loaded: Option<&'a Loaded>,
}

impl<'a> From<&'a Model> for Source<'a> {
    fn from(model: &'a Model) -> Self {
        Source { model, loaded: None }
    }
}

impl<'a> From<&'a Loaded> for Source<'a> {
    fn from(loaded: &'a Loaded) -> Self {
        Source { model: &loaded.model, loaded: Some(loaded) }
    }
}

/// How long the steps of an engine are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// As the settings say; what is between two steps is looked at before the second.
    Given,
    /// As the engine likes; what is within a step is looked at after it.
    Own,
}

/// An engine that may be chosen.
pub trait EngineKind: Sync + Debug {
    /// Its name, one of [`ENGINES`].
    fn name(&self) -> &'static str;

    /// How long its steps are.
    fn steps(&self) -> Steps;

    /// Whether a hand that pulls must be a force of the model: [`Grip::Anew`].
    fn takes_hand_as_force(&self) -> bool {
        false
    }

    /// Whether it reads `rtol`, `atol` and `integrator`.
    fn has_rtol(&self) -> bool {
        false
    }

    /// Refuses settings that it cannot run with.
    fn check_settings(&self, _settings: &RunSettings) -> Result<(), SettingsError> {
        Ok(())
    }

    /// Refuses models with what it does not have.
    fn check_model(&self, _model: &Model, _settings: &RunSettings) -> Result<(), SimulateError> {
        Ok(())
    }

    /// Makes a model ready.
    fn prepare<'a>(
        &self,
        source: Source<'a>,
        settings: &RunSettings,
    ) -> Result<Box<dyn Ready + 'a>, SimulateError>;

    /// The same settings with a tolerance of the local error; nothing changes for engines with given steps.
    fn with_local_error(&self, settings: RunSettings, _tolerance: f64) -> RunSettings {
        settings
    }

    /// The settings with which engines are compared: as exact as the engine likes to be, for engines with steps of their own.
    fn exact(&self, settings: RunSettings) -> RunSettings {
        RunSettings { engine: self.name().to_owned(), accuracy: None, ..settings }
    }

    /// How exact it is with these settings, in words.
    fn precision(&self, settings: &RunSettings) -> String;

    /// The largest gap that it leaves a joint, which may have a tolerance of its own.
    fn allowed_gap(&self, settings: &RunSettings, own: Option<f64>) -> f64 {
        own.unwrap_or(settings.tolerance)
    }

    /// What to try where a result is not good.
    fn remedy(&self, settings: &RunSettings) -> String;
}

/// A model made ready for an engine.
pub trait Ready: Debug {
    /// Begins at a state, such as the model's start or a checkpoint.
    fn start<'s>(
        &'s self,
        settings: &RunSettings,
        state: &State,
    ) -> Result<Box<dyn Engine + 's>, RunFailure>;
}

/// A step that an engine is to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Its length, s; engines with steps of their own do not care.
    pub length: f64,
    /// Where it ends, s (now + length but for rounding); engines with steps of their own may stop before.
    pub end: f64,
}

/// Why an engine cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// What happened, with time, element, value and what to try.
    pub reason: String,
    /// The element at fault, by name, if known.
    pub element: Option<String>,
}

/// Parts of steps that were taken although they are bad, since halving did not help.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refused {
    /// How many.
    pub steps: u64,
    /// When the first ended, s.
    pub time: f64,
}

/// What becomes of a hand that pulls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grip {
    /// It pulls from now on, or has let go.
    Taken,
    /// The engine must begin anew, with the hand as a force of the model.
    Anew,
    /// The engine knows no hands; why.
    Never(String),
}

/// A model in motion. A new engine looks at its start.
pub trait Engine {
    /// Makes a step. After a failure the engine is where the last good step ended.
    fn advance(&mut self, step: &Step) -> Result<(), Failure>;

    /// Where the last step ended, s.
    fn time(&self) -> f64;

    /// Turns to a moment: within the last step, or ahead of it for engines with given steps. [`Engine::sample`] shows it.
    fn look(&mut self, t: f64) -> Result<(), Failure>;

    /// The latest moment that [`Engine::look`] may turn to next, s.
    fn reach(&self) -> f64 {
        f64::INFINITY
    }

    /// The moment looked at.
    fn sample(&mut self) -> Sample<'_>;

    /// Takes the moment looked at as that which the run has come to.
    fn arrive(&mut self) {}

    /// Deals with what happened at the end of a step: switches, impacts.
    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes the state after the last switch as that which the run has come to, as at the end of a run.
    fn finish(&mut self) {}

    /// Takes the events since the last call.
    fn take_events(&mut self) -> Vec<Event>;

    /// The state that the run has come to: a checkpoint.
    fn state(&self) -> &State;

    /// The energy ledger there.
    fn ledger(&self) -> Ledger;

    /// Statistics and errors so far; events are those who took them know.
    fn report(&self) -> RunReport;

    /// Parts of steps that were taken although they are bad.
    fn refused(&self) -> Option<Refused> {
        None
    }

    /// Hears a wish to stop within a step, where it can.
    fn set_stop(&mut self, _stop: Stop) {}

    /// When a control law is to be called next, s: a step must end there.
    fn next_call(&self) -> Option<f64> {
        None
    }

    /// Calls the control law.
    fn call(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Lets a hand pull a body, or go.
    fn pull(&mut self, hand: Option<Hand>) -> Grip;
}

/// The report of a run that has not begun.
pub(crate) fn empty_report(engine: &'static str, model: &Model, start: &State) -> RunReport {
    RunReport {
        engine,
        t: start.t,
        steps: 0,
        corrections: 0,
        stopped: false,
        ledger: Ledger::default(),
        energy_mean_abs_error: 0.0,
        energy_max_abs_error: 0.0,
        worst_gaps: vec![0.0; model.rows.len()],
        worst_velocity_errors: vec![0.0; model.rows.len()],
        worst_penetration: None,
        contacts: Vec::new(),
        events: Vec::new(),
        ways: Vec::new(),
        statistics: None,
        state: start.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_engine() {
        assert_eq!(ENGINE_KINDS.map(EngineKind::name), ENGINES);
        assert!(find("steam").is_none());
    }
}
