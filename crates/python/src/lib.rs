//! The Python module `gelenk._gelenk`: parse, call the facade, give arrays. What users see is in `gelenk/`, in Python.

mod call;
mod errors;
mod model;
mod optimum;
mod rollout;
mod run;
mod sensitivity;
mod simulation;
mod sweep;
mod symbolic;
mod worlds;

use pyo3::prelude::*;

/// The native part of `gelenk`.
#[pymodule]
mod _gelenk {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::model::{Model, gallery, gallery_names, load, loads, model_from_bytes};
    #[pymodule_export]
    use super::optimum::optimize;
    #[pymodule_export]
    use super::rollout::rollout;
    #[pymodule_export]
    use super::run::{Run, open_recording, run};
    #[pymodule_export]
    use super::sensitivity::sensitivity;
    #[pymodule_export]
    use super::simulation::{Inputs, Simulation, State, state_from_bytes};
    #[pymodule_export]
    use super::sweep::{SweepJob, SweepPlan};
    #[pymodule_export]
    use super::symbolic::derive;
    #[pymodule_export]
    use super::worlds::Worlds;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", gelenk::VERSION)
    }
}

/// The Python value of a JSON text.
fn from_json<'py>(py: Python<'py>, json: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json.to_string(),))
}
