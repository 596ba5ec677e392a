//! Many worlds at once: the same model from many states, on all cores, with the bits of one at a time.

use std::sync::Arc;

use gelenk::model::Stop;
use gelenk_impulse::{Checkpoint, Failure, Simulation as Engine};
use numpy::ndarray::{Array3, ArrayView3};
use numpy::{IntoPyArray, PyArray3, PyReadonlyArray3};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::call::interruptible;
use crate::errors::{self, value};
use crate::model::Model;
use crate::simulation::{State, failure, settings};
use gelenk::quantity::{Quantity, Reader, coordinates};

/// Where a world ended and what went wrong, if anything.
type Ended = (Checkpoint, Option<(usize, Failure)>);

/// What Python gets: (worlds, steps, 1 + 2 n + k), the last states, and of worlds that failed their number, step and reason.
type Answer<'py> = (Bound<'py, PyArray3<f64>>, Vec<State>, Vec<(usize, usize, String)>);

/// Steps every world and keeps time, q, qd and the quantities wanted after every step.
#[pyfunction]
#[pyo3(signature = (model, worlds, states, inputs, steps, step, order, tolerance, contact, threads, quantities))]
pub(crate) fn rollout<'py>(
    py: Python<'py>,
    model: &Model,
    worlds: usize,
    states: Option<Vec<State>>,
    inputs: Option<PyReadonlyArray3<'py, f64>>,
    steps: usize,
    step: Option<f64>,
    order: Option<u32>,
    tolerance: Option<f64>,
    contact: Option<String>,
    threads: Option<usize>,
    quantities: Vec<String>,
) -> PyResult<Answer<'py>> {
    let inner = model.inner.clone();
    let settings = settings(py, &inner, step, order, tolerance, contact)?;
    let all = &inner.quantities;
    let mut wanted = vec![Quantity::Time];
    wanted.extend(coordinates(inner.model(), false));
    wanted.extend(coordinates(inner.model(), true));
    for name in &quantities {
        let found = all.find(inner.model(), name).ok_or_else(|| {
            errors::name(py, "quantity", name, all.names.iter().map(String::as_str))
        })?;
        wanted.extend(found);
    }
    let width = wanted.len();
    let numbers = worlds.checked_mul(steps).and_then(|n| n.checked_mul(width));
    let Some(numbers) = numbers.filter(|&n| n <= isize::MAX as usize / 16) else {
        return Err(value(py, format!("{worlds} worlds of {steps} steps are too many")));
    };
    let pool = threads
        .map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build())
        .transpose()
        .map_err(|error| value(py, error.to_string()))?;
    let stop = Stop::default();
    let inputs = inputs.as_ref().map(PyReadonlyArray3::as_array);
    let states = states.as_deref();
    let done = interruptible(
        py,
        &stop,
        |_| Ok(()),
        || -> Result<_, Failure> {
            let first = Engine::new(inner.model(), &settings)?;
            let begins = first.checkpoint();
            let mut out: Vec<f64> = Vec::new();
            if out.try_reserve_exact(numbers).is_err() {
                let reason = format!("there is no memory for {numbers} numbers");
                return Err(Failure { reason, element: None });
            }
            out.resize(numbers, f64::NAN);
            let mut work = || -> Result<Vec<Ended>, Failure> {
                let one = |own: &mut (Engine<'_>, Reader), (world, rows): (usize, &mut [f64])| {
                    let (engine, reader) = own;
                    let from = states.map_or(&begins, |states| &states[world].inner);
                    engine.restore(from)?;
                    let failed =
                        follow(inner.model(), engine, reader, &wanted, world, inputs, rows, &stop)
                            .err();
                    Ok((engine.checkpoint(), failed))
                };
                let begin = || (first.clone(), Reader::new(inner.model()));
                // Rows of nothing cannot be cut into chunks.
                if steps == 0 {
                    return (0..worlds)
                        .into_par_iter()
                        .map_init(begin, |own, world| one(own, (world, &mut [])))
                        .collect();
                }
                out.par_chunks_exact_mut(steps * width).enumerate().map_init(begin, one).collect()
            };
            let ended = match &pool {
                Some(pool) => pool.install(work),
                None => work(),
            }?;
            Ok((out, ended))
        },
    )?;
    let (out, ended) = done.map_err(|error| failure(py, &error))?;
    let table = Array3::from_shape_vec((worlds, steps, width), out)
        .map_err(|error| value(py, error.to_string()))?;
    let mut last = Vec::with_capacity(worlds);
    let mut failures = Vec::new();
    for (world, (state, failed)) in ended.into_iter().enumerate() {
        last.push(State { inner: Arc::new(state) });
        failures.extend(failed.map(|(step, failure)| (world, step, failure.reason)));
    }
    Ok((table.into_pyarray(py), last, failures))
}

/// One world, step by step.
fn follow(
    model: &gelenk::model::Model,
    engine: &mut Engine<'_>,
    reader: &mut Reader,
    wanted: &[Quantity],
    world: usize,
    inputs: Option<ArrayView3<'_, f64>>,
    rows: &mut [f64],
    stop: &Stop,
) -> Result<(), (usize, Failure)> {
    let mut row = Vec::with_capacity(wanted.len());
    for (k, out) in rows.chunks_exact_mut(wanted.len()).enumerate() {
        if stop.is_asked() {
            return Ok(());
        }
        let fail = |reason: String| (k, Failure { reason, element: None });
        if let Some(inputs) = inputs {
            let mut held = engine.inputs();
            for (i, input) in model.inputs.iter().enumerate() {
                held.set(&input.name, inputs[[world, k, i]]).map_err(fail)?;
            }
        }
        engine.step().map_err(|failure| (k, failure))?;
        row.clear();
        reader.read(model, &engine.sample(), wanted, &mut row);
        out.copy_from_slice(&row);
    }
    Ok(())
}
