//! Models: loaded from files, texts and the gallery.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use gelenk::import::{ImportOptions, import_model, is_robot_file};
use gelenk::model::{
    BodyKind, Diagnostics, Limits, LoadOptions, Loaded, RunSettings, load_path, load_text,
};
use gelenk::recording::{Header, Override};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};

use crate::call::guarded;
use crate::errors::{self, finite, type_name, value};
use crate::from_json;
use gelenk::quantity::{Quantities, coordinate_names};

/// A checked mechanism. It does not change; `with_` makes another.
#[pyclass(frozen, module = "gelenk", name = "Model")]
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) inner: Arc<Inner>,
}

/// What every result of a model shares.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) loaded: Loaded,
    pub(crate) set: Vec<(String, String)>,
    pub(crate) quantities: Quantities,
}

impl Inner {
    pub(crate) fn new(loaded: Loaded, set: Vec<(String, String)>) -> Arc<Self> {
        let quantities = Quantities::new(&loaded.model);
        Arc::new(Inner { loaded, set, quantities })
    }

    pub(crate) fn model(&self) -> &gelenk::model::Model {
        &self.loaded.model
    }

    /// All that the model was made from.
    pub(crate) fn header(&self, settings: &RunSettings) -> Header {
        Header::of_loaded(&self.loaded, &self.set, settings)
    }

    /// The model with another text and other values.
    pub(crate) fn again(
        &self,
        set: Vec<(String, String)>,
        change: impl FnOnce(&str) -> String,
    ) -> Result<Arc<Self>, Diagnostics> {
        let header = self.header(&self.model().run);
        let options = LoadOptions { overrides: set.clone(), ..LoadOptions::default() };
        Ok(Inner::new(header.load_again(change, options)?, set))
    }
}

/// Values for parameters, as `--set` takes them.
pub(crate) fn assignments(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let mut set = Vec::new();
    for (name, given) in given.into_iter().flatten() {
        let py = given.py();
        let name: String = name.extract()?;
        let text = if let Ok(text) = given.cast::<PyString>() {
            text.to_string()
        } else if given.is_instance_of::<PyBool>() {
            return Err(errors::wrong_type(format!(
                "parameter `{name}`: a number or an expression is wanted, not bool"
            )));
        } else if let Ok(x) = given.extract::<f64>() {
            format!("{:?}", finite(py, &format!("parameter `{name}`"), x)?)
        } else {
            return Err(errors::wrong_type(format!(
                "parameter `{name}`: a number or an expression is wanted, not {}",
                type_name(&given)
            )));
        };
        set.push((name, text));
    }
    Ok(set)
}

fn finish(
    py: Python<'_>,
    set: Vec<(String, String)>,
    load: impl FnOnce(&[(String, String)]) -> Result<Loaded, Diagnostics>,
) -> PyResult<Model> {
    let loaded = guarded(py, || load(&set))?.map_err(|faults| errors::faults(py, &faults))?;
    Ok(Model { inner: Inner::new(loaded, set) })
}

/// Loads a model file, a URDF or an MJCF file.
#[pyfunction]
#[pyo3(signature = (path, **parameters))]
pub(crate) fn load(
    py: Python<'_>,
    path: PathBuf,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    let set = assignments(parameters)?;
    if !path.exists() {
        let mut message = format!("there is no file `{}`", path.display());
        if let Some(name) = path.to_str().filter(|name| gelenk::scenes::scene(name).is_some()) {
            message.push_str(&format!("; `gelenk.gallery(\"{name}\")` is a model of the gallery"));
        }
        return Err(PyFileNotFoundError::new_err(message));
    }
    let options = LoadOptions { overrides: set.clone(), ..LoadOptions::default() };
    finish(py, set, |_| {
        if is_robot_file(&path) {
            let import = ImportOptions { limits: options.limits, ..ImportOptions::default() };
            import_model(&path, &import, &options).map(|(_, loaded)| loaded)
        } else {
            load_path(&path, &options)
        }
    })
}

/// Loads a model from a text; part files and meshes are read below `folder`.
#[pyfunction]
#[pyo3(signature = (text, *, name = "model", folder = None, **parameters))]
pub(crate) fn loads(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    let set = assignments(parameters)?;
    let options =
        LoadOptions { overrides: set.clone(), base_dir: folder, ..LoadOptions::default() };
    finish(py, set, |_| load_text(name, text, &options))
}

/// A model of the gallery.
#[pyfunction]
#[pyo3(signature = (name, **parameters))]
pub(crate) fn gallery(
    py: Python<'_>,
    name: &str,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Model> {
    let Some(scene) = gelenk::scenes::scene(name) else {
        let names = gelenk::scenes::SCENES.iter().map(|scene| scene.name);
        return Err(errors::name(py, "model in the gallery", name, names));
    };
    let set = assignments(parameters)?;
    let options = LoadOptions { overrides: set.clone(), ..LoadOptions::default() };
    finish(py, set, |_| load_text(scene.name, scene.text, &options))
}

/// The models of the gallery with what they show.
#[pyfunction]
pub(crate) fn gallery_names() -> BTreeMap<&'static str, &'static str> {
    gelenk::scenes::SCENES.iter().map(|scene| (scene.name, scene.summary)).collect()
}

/// A model that was pickled.
#[pyfunction]
pub(crate) fn model_from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Model> {
    let header: Header = serde_json::from_slice(bytes)
        .map_err(|error| value(py, format!("these bytes are not a pickled model: {error}")))?;
    let pair = |given: &Override| (given.name.clone(), given.value.clone());
    let set: Vec<_> = header.overrides.iter().map(pair).collect();
    finish(py, set, |set| {
        let options = LoadOptions { overrides: set.to_vec(), ..LoadOptions::default() };
        header.load_again(str::to_owned, options)
    })
}

impl Model {
    fn names(&self, kind: BodyKind) -> Vec<String> {
        let bodies = self.inner.model().bodies.iter().filter(|body| body.kind == kind);
        bodies.map(|body| body.name.clone()).collect()
    }
}

#[pymethods]
impl Model {
    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.inner.model().name.clone()
    }

    /// What it is, for people.
    #[getter]
    fn description(&self) -> String {
        self.inner.model().description.clone()
    }

    /// Gravity, m/s².
    #[getter]
    fn gravity(&self) -> [f64; 3] {
        self.inner.model().gravity.into()
    }

    /// Names of the rigid bodies.
    #[getter]
    fn bodies(&self) -> Vec<String> {
        self.names(BodyKind::Rigid)
    }

    /// Names of the point masses.
    #[getter]
    fn points(&self) -> Vec<String> {
        self.names(BodyKind::Point)
    }

    /// Names of the joints.
    #[getter]
    fn joints(&self) -> Vec<String> {
        self.inner.model().joints.iter().map(|joint| joint.name.clone()).collect()
    }

    /// Names of the joint coordinates, in the order of `q`.
    #[getter]
    fn coordinates(&self) -> Vec<String> {
        let model = self.inner.model();
        let names = (0..model.joints.len()).flat_map(|i| coordinate_names(model, i));
        names.map(|[place, _]| place).collect()
    }

    /// The inputs with their default values.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for input in &self.inner.model().inputs {
            dict.set_item(&input.name, input.value)?;
        }
        Ok(dict)
    }

    /// The parameters with their values.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for parameter in &self.inner.model().parameters {
            dict.set_item(&parameter.name, parameter.value)?;
        }
        Ok(dict)
    }

    /// All quantities of a run by name, with their units.
    #[getter]
    fn quantities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = &self.inner.quantities;
        let dict = PyDict::new(py);
        for (name, unit) in all.names.iter().zip(&all.units) {
            dict.set_item(name, unit)?;
        }
        Ok(dict)
    }

    /// What its user should know: diagnostics.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list = serde_json::to_value(&self.inner.loaded.warnings).unwrap_or_default();
        py.import("gelenk.errors")?.call_method1("_diagnostics", (list.to_string(),))
    }

    /// The settings of `[run]`.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &gelenk::report::settings_json(&self.inner.model().run))
    }

    /// The text of the model file; of a robot file that of the model it became.
    #[getter]
    fn text(&self) -> String {
        self.inner.loaded.sources.files().first().map_or_else(String::new, |file| file.text.clone())
    }

    /// The model with other values of parameters: numbers or expressions.
    #[pyo3(signature = (**parameters))]
    fn with_(&self, py: Python<'_>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Model> {
        let new = assignments(parameters)?;
        for (name, _) in &new {
            let known = self.inner.model().parameters.iter().map(|p| p.name.as_str());
            if !known.clone().any(|known| known == name) {
                return Err(errors::name(py, "parameter", name, known));
            }
        }
        let mut set = self.inner.set.clone();
        set.retain(|(name, _)| !new.iter().any(|(other, _)| other == name));
        set.extend(new);
        let made = guarded(py, || self.inner.again(set, str::to_owned))?;
        Ok(Model { inner: made.map_err(|faults| errors::faults(py, &faults))? })
    }

    /// Degrees of freedom, constraints, rank and redundant constraints at the start.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let model = self.inner.model();
        let report =
            guarded(py, || gelenk::model::check(model, &gelenk::model::CheckOptions::default()))?;
        let dict = PyDict::new(py);
        dict.set_item("degrees_of_freedom", report.degrees_of_freedom)?;
        dict.set_item("constraints", report.constraints)?;
        dict.set_item("rank", report.rank)?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        let model = self.inner.model();
        format!(
            "<gelenk.Model {:?}: {} bodies, {} points, {} joints, {} inputs>",
            model.name,
            self.names(BodyKind::Rigid).len(),
            self.names(BodyKind::Point).len(),
            model.joints.len(),
            model.inputs.len()
        )
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let header = self.inner.header(&self.inner.model().run);
        let bytes = serde_json::to_vec(&header)
            .map_err(|error| value(py, format!("the model cannot be pickled: {error}")))?;
        let load = py.import("gelenk._gelenk")?.getattr("model_from_bytes")?;
        Ok((load, (PyBytes::new(py, &bytes),)))
    }
}

/// What a model may ask of the machine.
pub(crate) fn limits() -> Limits {
    Limits::default()
}
