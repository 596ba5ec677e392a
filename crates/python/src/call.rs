//! Long calls: without Python's lock, ended by Ctrl-C, and no panic passes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use gelenk::model::Stop;
use pyo3::prelude::*;

use crate::errors::{raise, value};

/// How often Python's signals are looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Stack of the thread beside: formulas are walked by recursion. Memory is taken only where it is used.
const STACK: usize = 64 << 20;

/// Does `work` in a thread beside, so that Python can go on and Ctrl-C is heard; `meanwhile` is called now and then.
///
/// An exception from there asks `stop`, and is raised once the work has ended.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    mut meanwhile: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let mut raised = None;
    let done = std::thread::scope(|scope| {
        let (ended, mut end) = channel();
        let thread =
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                let result = catch_unwind(AssertUnwindSafe(work));
                // Whoever waits has heard of the end already where this fails.
                let _ = ended.send(());
                result
            })?;
        loop {
            let (waited, back) = py.detach(|| {
                let waited = end.recv_timeout(LOOK);
                (waited, end)
            });
            end = back;
            match waited {
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    if let Err(error) = py.check_signals().and_then(|()| meanwhile(py)) {
                        stop.ask();
                        raised = Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
        }
        Ok(py.detach(|| thread.join()))
    });
    let done = done
        .map_err(|error: std::io::Error| value(py, format!("no thread can be started: {error}")))?;
    match (raised, done) {
        (Some(error), _) => Err(error),
        (None, Ok(Ok(result))) => Ok(result),
        (None, Ok(Err(panic)) | Err(panic)) => Err(internal(py, &*panic)),
    }
}

/// Does `work` here, with a panic as an exception.
pub(crate) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| internal(py, &*panic))
}

/// A mistake of ours.
pub(crate) fn internal(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    let message = format!("gelenk has made a mistake, please report it: {text}");
    raise(py, "InternalError", (message,))
}
