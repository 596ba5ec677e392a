//! Simulations: a model in motion, step by step, with inputs from Python.

use std::sync::Arc;
use std::time::Instant;

use gelenk::model::RunSettings;
use gelenk_impulse::Checkpoint;
use gelenk_impulse::{Failure, Simulation as Engine};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::call::{LOOK, guarded};
use crate::errors::{self, failed, finite, value};
use crate::model::{Inner, Model};
use gelenk::quantity::{ENERGIES, Quantity, Reader, coordinates, energies};

/// A state that a simulation can go on from, bit by bit.
#[pyclass(frozen, module = "gelenk", name = "State", eq, from_py_object)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) inner: Arc<Checkpoint>,
}

fn vectors(
    py: Python<'_>,
    list: impl ExactSizeIterator<Item = [f64; 3]>,
) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let n = list.len();
    let flat: Vec<f64> = list.flatten().collect();
    let table = Array2::from_shape_vec((n, 3), flat);
    Ok(table.map_err(|error| failed(py, &error.to_string(), None))?.into_pyarray(py))
}

#[pymethods]
impl State {
    /// Time, s.
    #[getter]
    fn time(&self) -> f64 {
        self.inner.state.t
    }

    /// Centres of mass, world frame, m: (bodies, 3), the world first.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        vectors(py, self.inner.state.s.iter().map(|v| (*v).into()))
    }

    /// Their velocities, m/s: (bodies, 3).
    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        vectors(py, self.inner.state.s_dot.iter().map(|v| (*v).into()))
    }

    /// Angular velocities, world frame, rad/s: (bodies, 3).
    #[getter]
    fn angular_velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        vectors(py, self.inner.state.omega.iter().map(|v| (*v).into()))
    }

    fn __repr__(&self) -> String {
        format!("<gelenk.State at {} s>", self.inner.state.t)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let load = py.import("gelenk._gelenk")?.getattr("state_from_bytes")?;
        Ok((load, (PyBytes::new(py, &self.inner.to_bytes()),)))
    }
}

/// A state that was pickled.
#[pyfunction]
pub(crate) fn state_from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<State> {
    match Checkpoint::from_bytes(bytes) {
        Some(inner) => Ok(State { inner: Arc::new(inner) }),
        None => Err(value(py, "these bytes are not a pickled state of this version")),
    }
}

/// The settings of a simulation.
pub(crate) fn settings(
    py: Python<'_>,
    inner: &Inner,
    step: Option<f64>,
    order: Option<u32>,
    tolerance: Option<f64>,
    contact: Option<String>,
) -> PyResult<RunSettings> {
    let mut settings = inner.model().run.clone();
    "impulse".clone_into(&mut settings.engine);
    settings.accuracy = None;
    for (name, given) in [("step", step), ("tolerance", tolerance)] {
        if let Some(x) = given
            && finite(py, name, x)? <= 0.0
        {
            return Err(value(py, format!("{name} is {x}: it must be positive")));
        }
    }
    settings.step = step.unwrap_or(settings.step);
    settings.order = order.unwrap_or(settings.order);
    settings.tolerance = tolerance.unwrap_or(settings.tolerance);
    settings.contact = contact.unwrap_or(settings.contact);
    // Any duration will do: it is the caller who ends.
    settings.duration = settings.step;
    gelenk::check_settings(&settings).map_err(|error| value(py, error.to_string()))?;
    Ok(settings)
}

/// The exception that a failure of the engine is.
pub(crate) fn failure(py: Python<'_>, failure: &Failure) -> PyErr {
    failed(py, &failure.reason, failure.element.as_deref())
}

/// A model in motion, advanced step by step by the impulse engine.
#[pyclass(module = "gelenk", name = "Simulation")]
#[derive(Debug)]
pub(crate) struct Simulation {
    inner: Arc<Inner>,
    settings: RunSettings,
    engine: Engine<'static>,
    reader: Reader,
    coordinates: Vec<Quantity>,
    rates: Vec<Quantity>,
}

impl Simulation {
    fn numbers<'py>(&mut self, py: Python<'py>, rates: bool) -> Bound<'py, PyArray1<f64>> {
        let wanted = if rates { &self.rates } else { &self.coordinates };
        let mut out = Vec::with_capacity(wanted.len());
        self.reader.read(self.inner.model(), &self.engine.sample(), wanted, &mut out);
        PyArray1::from_vec(py, out)
    }

    fn find(&self, py: Python<'_>, name: &str) -> PyResult<Vec<Quantity>> {
        let all = &self.inner.quantities;
        all.find(self.inner.model(), name)
            .ok_or_else(|| errors::name(py, "quantity", name, all.names.iter().map(String::as_str)))
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (model, step = None, *, order = None, tolerance = None, contact = None))]
    fn new(
        py: Python<'_>,
        model: &Model,
        step: Option<f64>,
        order: Option<u32>,
        tolerance: Option<f64>,
        contact: Option<String>,
    ) -> PyResult<Self> {
        let inner = model.inner.clone();
        let settings = settings(py, &inner, step, order, tolerance, contact)?;
        let engine = guarded(py, || Engine::owned(inner.model().clone(), &settings))?
            .map_err(|error| failure(py, &error))?;
        let reader = Reader::new(inner.model());
        let [coordinates, rates] = [false, true].map(|rates| coordinates(inner.model(), rates));
        Ok(Simulation { inner, settings, engine, reader, coordinates, rates })
    }

    /// The model.
    #[getter]
    fn model(&self) -> Model {
        Model { inner: self.inner.clone() }
    }

    /// The length of a step, s.
    #[getter]
    fn step_size(&self) -> f64 {
        self.settings.step
    }

    /// Advances by `n` steps.
    #[pyo3(signature = (n = 1))]
    fn step(&mut self, py: Python<'_>, n: u64) -> PyResult<()> {
        let mut left = n;
        // One step is not worth letting go of Python's lock.
        while left > 0 {
            let engine = &mut self.engine;
            let mut few = || -> Result<u64, Failure> {
                let begin = Instant::now();
                let mut done = 0;
                while done < left {
                    engine.step()?;
                    done += 1;
                    if done.is_multiple_of(16) && begin.elapsed() > LOOK {
                        break;
                    }
                }
                Ok(done)
            };
            let done = if n == 1 {
                guarded(py, few)?
            } else {
                let result =
                    py.detach(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut few)));
                result.map_err(|panic| crate::call::internal(py, &*panic))?
            };
            left -= done.map_err(|error| failure(py, &error))?;
            if n > 1 {
                py.check_signals()?;
            }
        }
        Ok(())
    }

    /// Time, s.
    #[getter]
    fn time(&self) -> f64 {
        self.engine.state().t
    }

    /// Steps done.
    #[getter]
    fn steps(&self) -> u64 {
        self.engine.steps()
    }

    /// Joint coordinates, rad or m.
    #[getter]
    fn q<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, false)
    }

    /// Rates of the joint coordinates, rad/s or m/s.
    #[getter]
    fn qd<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.numbers(py, true)
    }

    /// A quantity now: a number, or an array for a vector.
    fn __getitem__<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let wanted = self.find(py, name)?;
        let mut out = Vec::with_capacity(wanted.len());
        self.reader.read(self.inner.model(), &self.engine.sample(), &wanted, &mut out);
        match out.as_slice() {
            [one] => Ok(one.into_pyobject(py)?.into_any()),
            _ => Ok(PyArray1::from_vec(py, out).into_any()),
        }
    }

    /// Several quantities now, one after the other in an array.
    fn read<'py>(
        &mut self,
        py: Python<'py>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut wanted = Vec::new();
        for name in &names {
            wanted.extend(self.find(py, name)?);
        }
        let mut out = Vec::with_capacity(wanted.len());
        self.reader.read(self.inner.model(), &self.engine.sample(), &wanted, &mut out);
        Ok(PyArray1::from_vec(py, out))
    }

    /// The inputs: read and set by name.
    #[getter]
    fn inputs(slf: Bound<'_, Self>) -> Inputs {
        Inputs { simulation: slf.unbind() }
    }

    #[setter]
    fn set_inputs(&mut self, py: Python<'_>, values: &Bound<'_, PyDict>) -> PyResult<()> {
        for (name, x) in values {
            let name: String = name.extract()?;
            self.hold(py, &name, x.extract()?)?;
        }
        Ok(())
    }

    /// The energies, J.
    #[getter]
    fn energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, x) in ENERGIES.iter().zip(energies(&self.engine.ledger())) {
            dict.set_item(name, x)?;
        }
        Ok(dict)
    }

    /// The contacts of the last step.
    #[getter]
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let model = self.inner.model();
        for contact in self.engine.contacts() {
            let names = contact.bodies.map(|body| model.bodies[body.index()].name.as_str());
            let array = |v: [f64; 3]| PyArray1::from_slice(py, &v);
            let arguments = (
                (names[0], names[1]),
                array(contact.point.into()),
                array(contact.normal.into()),
                array(contact.force.into()),
                contact.gap,
            );
            list.append(py.import("gelenk._results")?.getattr("Contact")?.call1(arguments)?)?;
        }
        Ok(list)
    }

    /// Events since the last call.
    fn take_events<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for event in self.engine.take_events() {
            let dict = PyDict::new(py);
            dict.set_item("time", event.time)?;
            dict.set_item("kind", event.kind)?;
            dict.set_item("between", event.between)?;
            dict.set_item("detail", event.detail)?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// The state now, inputs included.
    fn state(&self) -> State {
        State { inner: Arc::new(self.engine.checkpoint()) }
    }

    /// Goes on from a state of the same model.
    fn restore(&mut self, py: Python<'_>, state: &State) -> PyResult<()> {
        let engine = &mut self.engine;
        let done = guarded(py, || engine.restore(&state.inner))?;
        done.map_err(|error| value(py, error.reason))
    }

    /// Goes back to the start of the model.
    fn reset(&mut self, py: Python<'_>) -> PyResult<()> {
        let engine = guarded(py, || Engine::owned(self.inner.model().clone(), &self.settings))?;
        self.engine = engine.map_err(|error| failure(py, &error))?;
        Ok(())
    }

    #[pyo3(name = "_input")]
    fn input(&mut self, py: Python<'_>, name: &str) -> PyResult<f64> {
        let known = self.engine.inputs().get(name);
        known.ok_or_else(|| no_input(py, &self.inner, name))
    }

    #[pyo3(name = "_hold")]
    fn hold(&mut self, py: Python<'_>, name: &str, x: f64) -> PyResult<()> {
        finite(py, &format!("input `{name}`"), x)?;
        let set = self.engine.inputs().set(name, x);
        set.map_err(|_| no_input(py, &self.inner, name))
    }

    fn __repr__(&self) -> String {
        let name = &self.inner.model().name;
        format!("<gelenk.Simulation of {name:?} at {} s>", self.engine.state().t)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Model, Bound<'py, PyDict>, State))> {
        let py = slf.py();
        let this = slf.borrow();
        let how = PyDict::new(py);
        how.set_item("step", this.settings.step)?;
        how.set_item("order", this.settings.order)?;
        how.set_item("tolerance", this.settings.tolerance)?;
        how.set_item("contact", &this.settings.contact)?;
        let make = py.import("gelenk._results")?.getattr("_simulation")?;
        Ok((make, (this.model(), how, this.state())))
    }
}

fn no_input(py: Python<'_>, inner: &Inner, name: &str) -> PyErr {
    let known = inner.model().inputs.iter().map(|input| input.name.as_str());
    errors::name(py, "input", name, known)
}

/// The inputs of a simulation.
#[pyclass(frozen, module = "gelenk", name = "Inputs", mapping)]
#[derive(Debug)]
pub(crate) struct Inputs {
    simulation: Py<Simulation>,
}

#[pymethods]
impl Inputs {
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<f64> {
        self.simulation.bind(py).try_borrow_mut()?.input(py, name)
    }

    fn __setitem__(&self, py: Python<'_>, name: &str, x: f64) -> PyResult<()> {
        self.simulation.bind(py).try_borrow_mut()?.hold(py, name, x)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.keys(py)?.len())
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.keys(py)?.iter().any(|known| known == name))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.keys(py)?)?.try_iter()?.into_any())
    }

    /// Names of the inputs.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let simulation = self.simulation.bind(py).try_borrow()?;
        Ok(simulation.inner.model().inputs.iter().map(|input| input.name.clone()).collect())
    }

    /// Names and values.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        let names = self.keys(py)?;
        names.into_iter().map(|name| Ok((name.clone(), self.__getitem__(py, &name)?))).collect()
    }

    /// Sets all inputs at once, in the order of the model.
    fn set_all(&self, py: Python<'_>, values: Vec<f64>) -> PyResult<()> {
        let names = self.keys(py)?;
        if names.len() != values.len() {
            let message = format!("{} values for {} inputs", values.len(), names.len());
            return Err(value(py, message));
        }
        let mut simulation = self.simulation.bind(py).try_borrow_mut()?;
        names.iter().zip(values).try_for_each(|(name, x)| simulation.hold(py, name, x))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let items = self.items(py)?;
        let items: Vec<String> = items.iter().map(|(name, x)| format!("{name}: {x}")).collect();
        Ok(format!("<gelenk.Inputs {{{}}}>", items.join(", ")))
    }
}
