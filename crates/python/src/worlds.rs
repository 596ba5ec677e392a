//! Worlds that are kept and stepped together, and formulas over their quantities; for learning.

use std::sync::Arc;

use gelenk::model::{RunSettings, Stop};
use gelenk_impulse::Simulation as Engine;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::call::interruptible;
use crate::errors::{self, value};
use crate::model::{Inner, Model};
use crate::simulation::{failure, settings};
use gelenk::quantity::{Formula, FormulaError, Quantity, Reader};

/// Something to read from every world: quantities, then formulas over quantities and inputs.
#[derive(Clone, Debug, Default)]
struct Sight {
    quantities: Vec<Quantity>,
    formulas: Vec<Formula>,
}

fn formula(py: Python<'_>, inner: &Inner, text: &str) -> PyResult<Formula> {
    let all = &inner.quantities;
    Formula::new(inner.model(), all, text).map_err(|error| match error {
        FormulaError::Unknown { name } => {
            errors::name(py, "quantity", &name, all.names.iter().map(String::as_str))
        }
        error => value(py, error.to_string()),
    })
}

/// A world: a model of its own, since parameters may differ.
#[derive(Debug)]
struct World {
    inner: Arc<Inner>,
    engine: Engine<'static>,
    reader: Reader,
}

impl World {
    fn new(py: Python<'_>, model: &Model, settings: &RunSettings) -> PyResult<Self> {
        let inner = model.inner.clone();
        let engine = crate::call::guarded(py, || Engine::owned(inner.model().clone(), settings))?
            .map_err(|error| failure(py, &error))?;
        let reader = Reader::new(inner.model());
        Ok(World { inner, engine, reader })
    }

    fn look(&mut self, sight: &Sight, out: &mut Vec<f64>) {
        let World { inner, engine, reader } = self;
        let model = inner.model();
        reader.read(model, &engine.sample(), &sight.quantities, out);
        if sight.formulas.is_empty() {
            return;
        }
        let inputs = held(model, engine);
        for formula in &sight.formulas {
            out.push(formula.value(model, reader, &engine.sample(), |i| inputs[i]));
        }
    }
}

/// What the inputs are held at.
fn held(model: &gelenk::model::Model, engine: &mut Engine<'static>) -> Vec<f64> {
    let inputs = engine.inputs();
    model.inputs.iter().map(|input| inputs.get(&input.name).unwrap_or(f64::NAN)).collect()
}

/// Several worlds of one shape, stepped together.
#[pyclass(module = "gelenk", name = "Worlds")]
#[derive(Debug)]
pub(crate) struct Worlds {
    settings: RunSettings,
    sight: Sight,
    width: usize,
    worlds: Vec<World>,
}

#[pymethods]
impl Worlds {
    /// `n` worlds at the start of `model`; `quantities` and `formulas` are what `look` gives.
    #[new]
    #[pyo3(signature = (model, n, *, step = None, quantities = Vec::new(), formulas = Vec::new()))]
    fn new(
        py: Python<'_>,
        model: &Model,
        n: usize,
        step: Option<f64>,
        quantities: Vec<String>,
        formulas: Vec<String>,
    ) -> PyResult<Self> {
        let settings = settings(py, &model.inner, step, None, None, None)?;
        let mut sight = Sight::default();
        let all = &model.inner.quantities;
        for name in &quantities {
            let found = all.find(model.inner.model(), name).ok_or_else(|| {
                errors::name(py, "quantity", name, all.names.iter().map(String::as_str))
            })?;
            sight.quantities.extend(found);
        }
        for text in &formulas {
            sight.formulas.push(formula(py, &model.inner, text)?);
        }
        let width = sight.quantities.len() + sight.formulas.len();
        let worlds: PyResult<Vec<World>> =
            (0..n).map(|_| World::new(py, model, &settings)).collect();
        Ok(Worlds { settings, sight, width, worlds: worlds? })
    }

    fn __len__(&self) -> usize {
        self.worlds.len()
    }

    /// Numbers that `look` gives of a world.
    #[getter]
    fn width(&self) -> usize {
        self.width
    }

    /// Puts world `i` at the start of `model`: the same, with other parameters.
    fn reset(&mut self, py: Python<'_>, i: usize, model: &Model) -> PyResult<()> {
        let n = self.worlds.len();
        let Some(world) = self.worlds.get_mut(i) else {
            return Err(value(py, format!("there is no world {i} among {n}")));
        };
        if world.inner.quantities.names != model.inner.quantities.names {
            return Err(value(py, "a world takes the same model with other parameters only"));
        }
        *world = World::new(py, model, &self.settings)?;
        Ok(())
    }

    /// Holds the inputs (worlds, inputs) and makes `n` steps in every world; worlds that fail are told with the reason.
    fn step(
        &mut self,
        py: Python<'_>,
        inputs: PyReadonlyArray2<'_, f64>,
        n: u64,
    ) -> PyResult<Vec<(usize, String)>> {
        let inputs = inputs.as_array();
        let wanted =
            (self.worlds.len(), self.worlds.first().map_or(0, |w| w.inner.model().inputs.len()));
        if inputs.dim() != wanted && !self.worlds.is_empty() {
            let message = format!("inputs of shape {wanted:?} are wanted, not {:?}", inputs.dim());
            return Err(value(py, message));
        }
        let stop = Stop::default();
        let one = |(i, world): (usize, &mut World)| -> Option<(usize, String)> {
            let World { inner, engine, .. } = world;
            for (k, input) in inner.model().inputs.iter().enumerate() {
                if let Err(why) = engine.inputs().set(&input.name, inputs[[i, k]]) {
                    return Some((i, why));
                }
            }
            for _ in 0..n {
                if stop.is_asked() {
                    break;
                }
                if let Err(failure) = engine.step() {
                    return Some((i, failure.reason));
                }
            }
            None
        };
        let worlds = &mut self.worlds;
        if let [world] = worlds.as_mut_slice() {
            // A thread beside costs more than most steps of one world.
            return Ok(crate::call::guarded(py, || one((0, world)))?.into_iter().collect());
        }
        interruptible(
            py,
            &stop,
            |_| Ok(()),
            || worlds.par_iter_mut().enumerate().filter_map(one).collect(),
        )
    }

    /// What was asked for of every world: (worlds, width).
    fn look<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut out = Vec::with_capacity(self.worlds.len() * self.width);
        for world in &mut self.worlds {
            world.look(&self.sight, &mut out);
        }
        let table = Array2::from_shape_vec((self.worlds.len(), self.width), out);
        Ok(table.map_err(|error| value(py, error.to_string()))?.into_pyarray(py))
    }
}
