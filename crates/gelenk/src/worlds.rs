//! Many independent worlds at once: runs and steps in parallel, with the bits of one at a time.
//!
//! Worlds share nothing but their models, so that neither their number nor the number of threads changes a result.
//!
//! ```
//! use gelenk::model::{LoadOptions, RunSettings, load_text};
//! use gelenk::worlds::Worlds;
//!
//! // The same pendulum, released at 64 heights.
//! let text = gelenk::scenes::scene("pendulum").ok_or("no such model")?.text;
//! let models: Vec<_> = (1..=64)
//!     .map(|i| {
//!         let angle = ("phi0".to_owned(), format!("{i}*pi/180"));
//!         load_text("pendulum", text, &LoadOptions { overrides: vec![angle], ..LoadOptions::default() })
//!     })
//!     .collect::<Result<_, _>>()?;
//! let settings = RunSettings { step: 0.01, ..RunSettings::default() };
//! let mut worlds = Worlds::new(models.iter().map(|loaded| (&loaded.model, settings.clone())))?;
//! worlds.advance(100)?;
//! assert!(worlds.states().all(|state| (state.t - 1.0).abs() < 1e-12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use gelenk_impulse::{Failure, Simulation};
use gelenk_model::{Model, RunReport, RunSettings, State};
use rayon::prelude::*;

use crate::simulate::{SimulateError, simulate};

/// Worlds that are stepped together, by the impulse engine.
#[derive(Clone, Debug)]
pub struct Worlds<'m> {
    simulations: Vec<Simulation<'m>>,
}

/// Why a world cannot start or go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("world {world}: {failure}")]
pub struct WorldFailure {
    /// Which world, counted from 0; the first of those that failed.
    pub world: usize,
    /// What happened.
    pub failure: Failure,
}

impl<'m> Worlds<'m> {
    /// One world for each model and its settings, at the model's start.
    pub fn new(
        worlds: impl IntoIterator<Item = (&'m Model, RunSettings)>,
    ) -> Result<Self, WorldFailure> {
        let worlds = worlds.into_iter().map(|(model, settings)| (model, settings, None));
        Worlds::start(worlds.collect())
    }

    /// One world for each state of one model.
    pub fn of_states(
        model: &'m Model,
        settings: &RunSettings,
        states: impl IntoIterator<Item = State>,
    ) -> Result<Self, WorldFailure> {
        let worlds = states.into_iter().map(|state| (model, settings.clone(), Some(state)));
        Worlds::start(worlds.collect())
    }

    fn start(worlds: Vec<(&'m Model, RunSettings, Option<State>)>) -> Result<Self, WorldFailure> {
        let simulations: Vec<_> = worlds
            .into_par_iter()
            .map(|(model, settings, state)| match state {
                Some(state) => Simulation::from_state(model, &settings, state),
                None => Simulation::new(model, &settings),
            })
            .collect();
        let simulations = simulations.into_iter().enumerate().map(|(world, simulation)| {
            simulation.map_err(|failure| WorldFailure { world, failure })
        });
        Ok(Worlds { simulations: simulations.collect::<Result<_, _>>()? })
    }

    /// Advances every world by `steps` of its own steps.
    ///
    /// A world that fails stays at its last good state; the others come to their end.
    pub fn advance(&mut self, steps: u64) -> Result<(), WorldFailure> {
        let results: Vec<Result<(), Failure>> = self
            .simulations
            .par_iter_mut()
            .map(|simulation| (0..steps).try_for_each(|_| simulation.step()))
            .collect();
        let first = results.into_iter().enumerate().find_map(|(world, result)| {
            result.err().map(|failure| WorldFailure { world, failure })
        });
        first.map_or(Ok(()), Err)
    }

    /// The states now, in order.
    pub fn states(&self) -> impl ExactSizeIterator<Item = &State> {
        self.simulations.iter().map(Simulation::state)
    }

    /// The simulations, in order, for energies, gaps and forces.
    pub fn simulations(&self) -> &[Simulation<'m>] {
        &self.simulations
    }
}

/// Whole runs in parallel, each with the engine its settings name; the reports come in the order given.
pub fn simulate_all(worlds: &[(&Model, RunSettings)]) -> Vec<Result<RunReport, SimulateError>> {
    worlds.par_iter().map(|(model, settings)| simulate(model, settings, &mut ())).collect()
}
