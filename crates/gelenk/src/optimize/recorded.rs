//! Recordings of optimal motions, and making them again from what they hold.

use std::path::Path;

use gelenk_model::{
    Diagnostic, Diagnostics, Limits, LoadOptions, Loaded, Observer, RunReport, RunSettings,
};
use gelenk_optimize::problem::{Found, PhaseSolution, Problem, Solution};

use super::{DaeCertificate, certify_by_dae, conditions, replay, status_word};
use crate::recording::{Header, Optimum, Override, Recorder, RecordingError};

/// Records a motion of a problem's model, with about `every` seconds between samples. Gives the number of samples; none for problems
/// without a model.
pub fn record(
    problem: &Problem,
    solution: &Solution,
    every: f64,
    path: &Path,
) -> Result<Option<u64>, RecordingError> {
    record_motion(problem, solution, None, every, path, false)
}

/// [`record`] of what a start found, which says how it ended: `verify` calls nothing but an optimum verified. `overwrite`
/// permits ordinary files of others to be replaced.
pub fn record_found(
    problem: &Problem,
    found: &Found,
    every: f64,
    path: &Path,
    overwrite: bool,
) -> Result<Option<u64>, RecordingError> {
    let status = Some(status_word(&found.status).to_owned());
    record_motion(problem, &found.solution, status, every, path, overwrite)
}

fn record_motion(
    problem: &Problem,
    solution: &Solution,
    status: Option<String>,
    every: f64,
    path: &Path,
    overwrite: bool,
) -> Result<Option<u64>, RecordingError> {
    let Some(loaded) = problem.model() else { return Ok(None) };
    let settings = replay_settings(loaded, solution);
    let mut header = Header::of_loaded(loaded, problem.model_set(), &settings);
    header.optimum = Some(Optimum {
        problem: problem.name.clone(),
        text: problem.text().to_owned(),
        set: problem.set().iter().map(given).collect(),
        every,
        motion: solution.clone(),
        status,
    });
    let mut recorder = Recorder::create_with(path, header, overwrite)?;
    let fault = |what: String| RecordingError::Settings { what };
    let report = replay(problem, solution, every, &mut recorder).map_err(fault)?;
    let Some(report) = report else { return Ok(None) };
    recorder.finish(Ok(&report)).map(|certificate| Some(certificate.samples))
}

/// The settings that stand in a recording of an optimal motion.
pub fn replay_settings(loaded: &Loaded, solution: &Solution) -> RunSettings {
    let last = |phase: &PhaseSolution| phase.times.last().copied().unwrap_or(0.0);
    RunSettings {
        engine: "optimize".to_owned(),
        duration: solution.phases.iter().map(last).sum(),
        ..loaded.model.run.clone()
    }
}

fn given((name, value): &(String, String)) -> Override {
    Override { name: name.clone(), value: value.clone() }
}

/// The optimal motion in a recording, with the problem and the model it belongs to.
#[derive(Clone, Debug)]
pub struct Recorded {
    problem: Problem,
    motion: Solution,
    every: f64,
}

impl Recorded {
    /// Reads problem, model and motion from a header; none where the recording is that of a run.
    pub fn of(header: &Header, limits: Limits) -> Result<Option<Self>, String> {
        let Some(optimum) = &header.optimum else { return Ok(None) };
        let set: Vec<(String, String)> =
            optimum.set.iter().map(|o| (o.name.clone(), o.value.clone())).collect();
        let load = |_: &str, asked: &LoadOptions| -> Result<Loaded, Diagnostics> {
            header.load_with(asked, limits).map_err(|message| Diagnostics {
                list: vec![Diagnostic::error("recorded-model", message)],
                sources: gelenk_model::source::SourceMap::default(),
            })
        };
        let problem = Problem::read(&optimum.problem, &optimum.text, &set, &load)
            .map_err(|faults| faults.to_string())?;
        let motion = optimum.motion.clone();
        Ok(Some(Recorded { problem, motion, every: optimum.every }))
    }

    /// Shows the motion to an observer, integrated again from its nodes with its controls: the same bits as in the recording.
    pub fn replay(&self, observer: &mut dyn Observer) -> Result<RunReport, String> {
        replay(&self.problem, &self.motion, self.every, observer)?
            .ok_or_else(|| "the problem names no model".to_owned())
    }

    /// Every interval run again by the DAE engine at a tolerance; none where a free number is a parameter of the model.
    pub fn certify(&self, tolerance: f64) -> Result<Option<DaeCertificate>, String> {
        let free: Vec<String> = self.problem.free_names();
        certify_by_dae(&self.problem, &self.motion, &free, tolerance)
    }

    /// The condition that is missed most and by how much, in its own unit; none where all hold to 1e-6.
    pub fn missed(&self) -> Result<Option<(String, f64)>, String> {
        let mut worst: Option<(String, f64)> = None;
        for condition in conditions(&self.problem, &self.motion)? {
            let [low, high] = condition.values;
            let by = (condition.bounds[0] - low).max(high - condition.bounds[1]);
            let size = 1.0 + low.abs().max(high.abs());
            if !(by <= 1e-6 * size) && worst.as_ref().is_none_or(|(_, most)| !(by <= *most)) {
                worst = Some((condition.name, by));
            }
        }
        Ok(worst)
    }
}
