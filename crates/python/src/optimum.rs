//! Optimal motions.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;

use gelenk::model::Stop;
use gelenk::optimize::problem::{Failed, Problem, RunOptions};
use gelenk::optimize::{answer_json, gallery};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::call::{guarded, interruptible};
use crate::errors::{self, failed, faults, finite, value, wrong_type};
use crate::from_json;
use crate::model::assignments;

/// Solves a problem of the gallery, or of a file.
#[pyfunction]
#[pyo3(signature = (
    problem, *, starts = None, seed = None, intervals = None, tolerance = None, max_iterations = None, progress = None, **parameters
))]
pub(crate) fn optimize<'py>(
    py: Python<'py>,
    problem: PathBuf,
    starts: Option<usize>,
    seed: Option<u64>,
    intervals: Option<usize>,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
    progress: Option<Bound<'py, PyAny>>,
    parameters: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(x) = tolerance
        && finite(py, "tolerance", x)? <= 0.0
    {
        return Err(value(py, format!("tolerance is {x}: it must be positive")));
    }
    for (name, given) in
        [("starts", starts), ("intervals", intervals), ("max_iterations", max_iterations)]
    {
        if given == Some(0) {
            return Err(value(py, format!("{name} is 0: there must be one at least")));
        }
    }
    if let Some(progress) = &progress
        && !progress.is_callable()
    {
        return Err(wrong_type("progress must be callable".to_owned()));
    }
    let set = assignments(parameters)?;
    let problem = read(py, &problem, &set)?;
    let options =
        RunOptions { starts, seed, intervals, tolerance, max_iterations, ..RunOptions::default() };
    let stop = Stop::default();
    let latest: Mutex<Option<Value>> = Mutex::new(None);
    let progress = progress.map(Bound::unbind);
    let meanwhile = |py: Python<'_>| -> PyResult<()> {
        let (Some(progress), Ok(mut latest)) = (&progress, latest.lock()) else { return Ok(()) };
        match latest.take() {
            Some(live) => {
                drop(latest);
                progress.bind(py).call1((from_json(py, &live)?,)).map(drop)
            }
            None => Ok(()),
        }
    };
    let finished = interruptible(py, &stop, meanwhile, || {
        gelenk::optimize::problem::optimize(&problem, &options, None, &mut |live| {
            if let Ok(mut latest) = latest.lock() {
                *latest = Some(json!({
                    "start": live.stage.start,
                    "iteration": live.iteration,
                    "objective": live.objective,
                    "infeasibility": live.infeasibility,
                    "kkt": live.kkt,
                }));
            }
            if stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    })?;
    let finished = finished.map_err(|error| match error {
        Failed::File(list) => faults(py, &list),
        other => failed(py, &other.to_string(), None),
    })?;
    from_json(py, &Value::Object(answer_json(&problem, &finished)))
}

fn read(py: Python<'_>, path: &std::path::Path, set: &[(String, String)]) -> PyResult<Problem> {
    let name = path.display().to_string();
    let (text, folder) = match gallery::problem(&name) {
        Some(named) => (named.text.to_owned(), None),
        None if path.is_file() => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| value(py, format!("cannot read `{name}`: {error}")))?;
            (text, path.parent().map(std::path::Path::to_owned))
        }
        None if name.contains(['/', '\\', '.']) => {
            return Err(PyFileNotFoundError::new_err(format!("there is no file `{name}`")));
        }
        None => {
            let names = gallery::PROBLEMS.iter().map(|problem| problem.name);
            return Err(errors::name(py, "named problem", &name, names));
        }
    };
    let problem = guarded(py, || gelenk::optimize::read(&name, &text, set, folder.as_deref()))?;
    problem.map_err(|list| faults(py, &list))
}
