//! Derivatives of motions by start, inputs and parameters.

use gelenk::model::Stop;
use gelenk::sensitivity::{
    DMatrix, Derivatives, Named, Options, ParameterPair, exact_numbers, sensitivity as derivatives,
};
use numpy::IntoPyArray;
use numpy::PyArray1;
use numpy::ndarray::Array2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::call::{guarded, interruptible};
use crate::errors::{self, failed, faults, finite, value};
use crate::model::Model;

/// The change of a parameter with which its neighbours are made, as a part of it.
const PART: f64 = 1e-5;

/// How the state at `time` answers to the start, the inputs and parameters.
#[pyfunction]
#[pyo3(signature = (model, time, *, parameters = None, rtol = 1e-10))]
pub(crate) fn sensitivity<'py>(
    py: Python<'py>,
    model: &Model,
    time: f64,
    parameters: Option<Vec<String>>,
    rtol: f64,
) -> PyResult<Bound<'py, PyDict>> {
    if finite(py, "time", time)? <= 0.0 {
        return Err(value(py, format!("time is {time}: it must be positive")));
    }
    if !(1e-14..1.0).contains(&rtol) {
        return Err(value(py, format!("rtol is {rtol}, not between 1e-14 and 1")));
    }
    let inner = model.inner.clone();
    let mut pairs = Vec::new();
    for name in parameters.unwrap_or_default() {
        let all = &inner.model().parameters;
        let Some(parameter) = all.iter().find(|p| p.name == name) else {
            return Err(errors::name(py, "parameter", &name, all.iter().map(|p| p.name.as_str())));
        };
        let step = PART * if parameter.value == 0.0 { 1.0 } else { parameter.value.abs() };
        let unit = parameter.unit.clone().unwrap_or_else(|| "1".to_owned());
        let with = |x: f64| {
            let mut set = inner.set.clone();
            set.retain(|(other, _)| *other != name);
            set.push((name.clone(), format!("{x:?}")));
            let made = guarded(py, || inner.again(set, str::to_owned))?;
            made.map(|inner| inner.model().clone()).map_err(|list| faults(py, &list))
        };
        let models = [with(parameter.value + step)?, with(parameter.value - step)?];
        let name = Named { name, unit };
        pairs.push(ParameterPair { name, models, step, exact: Err(String::new()) });
    }
    let options = Options { rtol, atol: rtol, ..Options::default() };
    let found = interruptible(
        py,
        &Stop::default(),
        |_| Ok(()),
        || {
            exact_numbers(&inner.loaded, &mut pairs);
            derivatives(inner.model(), time, &options, Derivatives::Exact, &pairs)
        },
    )?;
    let found = found.map_err(|error| failed(py, &error.to_string(), None))?;
    let names = |list: &[Named]| -> Vec<String> { list.iter().map(|n| n.name.clone()).collect() };
    let dict = PyDict::new(py);
    dict.set_item("time", found.t)?;
    dict.set_item("quantities", names(&found.quantities))?;
    dict.set_item("start", PyArray1::from_slice(py, &found.values[0]))?;
    dict.set_item("end", PyArray1::from_slice(py, &found.values[1]))?;
    let parameters: Vec<String> = names(&pairs.into_iter().map(|p| p.name).collect::<Vec<_>>());
    dict.set_item("parameters", parameters)?;
    for (name, matrix) in [
        ("by_start", &found.by_start),
        ("by_inputs", &found.by_inputs),
        ("by_parameters", &found.by_parameters),
    ] {
        dict.set_item(name, array(py, matrix)?)?;
    }
    Ok(dict)
}

fn array<'py>(py: Python<'py>, matrix: &DMatrix<f64>) -> PyResult<Bound<'py, PyAny>> {
    let rows: Vec<f64> = matrix.transpose().iter().copied().collect();
    let table = Array2::from_shape_vec((matrix.nrows(), matrix.ncols()), rows);
    let table = table.map_err(|error| failed(py, &error.to_string(), None))?;
    Ok(table.into_pyarray(py).into_any())
}
