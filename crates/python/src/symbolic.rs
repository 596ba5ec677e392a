//! Derived equations.

use gelenk::derive::{CodeLanguage, DeriveOptions, Place, derive as derive_equations};
use gelenk::model::Stop;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::call::interruptible;
use crate::errors::{finite, type_name, value, wrong_type};
use crate::model::Model;

/// The texts of a derivation, made at once: JSON, LaTeX, text, Markdown, Python or why there is none.
#[pyfunction]
#[pyo3(signature = (model, linearize = None))]
pub(crate) fn derive<'py>(
    py: Python<'py>,
    model: &Model,
    linearize: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let place = match &linearize {
        None => None,
        Some(given) if given.cast::<PyString>().is_ok_and(|text| text == "start") => {
            Some(Place::Start)
        }
        Some(given) => {
            let dict = given.cast::<PyDict>().map_err(|_| {
                wrong_type(format!(
                    "linearize: \"start\" or a dict of coordinates is wanted, not {}",
                    type_name(given)
                ))
            })?;
            let mut list = Vec::new();
            for (name, x) in dict {
                let name: String = name.extract()?;
                let text = match x.cast::<PyString>() {
                    Ok(text) => text.to_string(),
                    Err(_) => format!("{:?}", finite(py, &name, x.extract()?)?),
                };
                list.push((name, text));
            }
            Some(Place::At(list))
        }
    };
    let options = DeriveOptions { linearize: place, ..DeriveOptions::default() };
    let inner = model.inner.clone();
    let made = interruptible(
        py,
        &Stop::default(),
        |_| Ok(()),
        || {
            let mut derivation = derive_equations(&inner.loaded, &options)?;
            let code = derivation.code(inner.model(), CodeLanguage::Python);
            let json = serde_json::Value::Object(derivation.json(&[])).to_string();
            let latex = derivation.latex(&[]);
            let (text, markdown) = (derivation.text(&[]), derivation.markdown(&[]));
            Ok::<_, gelenk::derive::DerivationError>((json, latex, text, markdown, code))
        },
    )?;
    let (json, latex, text, markdown, code) = made.map_err(|error| value(py, error.to_string()))?;
    let dict = PyDict::new(py);
    dict.set_item("json", json)?;
    dict.set_item("latex", latex)?;
    dict.set_item("text", text)?;
    dict.set_item("markdown", markdown)?;
    match code {
        Ok(code) => dict.set_item("python", code)?,
        Err(error) => dict.set_item("no_python", error.to_string())?,
    }
    Ok(dict)
}
