//! Errors of the facade as exceptions of `gelenk.errors`.

use gelenk::model::Diagnostics;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// An exception of `gelenk.errors`.
pub(crate) fn raise<A>(py: Python<'_>, name: &str, arguments: A) -> PyErr
where
    A: for<'py> pyo3::call::PyCallArgs<'py>,
{
    let made = py
        .import("gelenk.errors")
        .and_then(|errors| errors.getattr(name))
        .and_then(|class| class.call1(arguments));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// All faults of a model or problem file.
pub(crate) fn faults(py: Python<'_>, faults: &Diagnostics) -> PyErr {
    raise(py, "_model_error", (faults.render(false), faults.to_json().to_string()))
}

/// A value that makes no sense.
pub(crate) fn value(py: Python<'_>, message: impl AsRef<str>) -> PyErr {
    raise(py, "InputError", (message.as_ref(),))
}

/// A name that is not there, with the nearest that is.
pub(crate) fn name<'a>(
    py: Python<'_>,
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> PyErr {
    let known: Vec<&str> = known.into_iter().collect();
    let mut message = format!("there is no {what} `{name}`");
    if let Some(near) = gelenk::nearest(name, known.iter().copied()) {
        message.push_str(&format!("; did you mean `{near}`?"));
    } else if known.is_empty() {
        message.push_str("; there is none at all");
    } else if known.len() <= 12 {
        message.push_str(&format!("; there are {}", known.join(", ")));
    }
    raise(py, "UnknownNameError", (message,))
}

/// A computation that could not go on.
pub(crate) fn failed(py: Python<'_>, message: &str, element: Option<&str>) -> PyErr {
    raise(py, "RunError", (message, element))
}

/// A type of argument that is not taken.
pub(crate) fn wrong_type(message: String) -> PyErr {
    pyo3::exceptions::PyTypeError::new_err(message)
}

/// Checks that a number is finite.
pub(crate) fn finite(py: Python<'_>, what: &str, x: f64) -> PyResult<f64> {
    if x.is_finite() {
        return Ok(x);
    }
    Err(value(py, format!("{what} is {x}, which is not a finite number")))
}

/// The name of a value's type, for messages.
pub(crate) fn type_name(value: &Bound<'_, PyAny>) -> String {
    let class: Bound<'_, PyType> = value.get_type();
    class.name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}
