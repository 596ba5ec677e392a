//! The impulse engine: [`gelenk_impulse::Simulation`] step by step.

use gelenk_impulse::control::{Clocked, Control};
use gelenk_impulse::{Method, Simulation};
use gelenk_model::force::Hand;
use gelenk_model::{Event, Ledger, Model, RunFailure, RunReport, RunSettings, Sample, State, Stop};

use super::run::start_failure;
use super::{Engine, EngineKind, Failure, Grip, Ready, Refused, Source, Step, Steps, empty_report};
use crate::recording::RecordedSample;
use crate::settings::SettingsError;
use crate::simulate::SimulateError;

const NAME: &str = "impulse";

/// Forces replaced by impulses, joints closed to a tolerance at every step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Impulse;

impl EngineKind for Impulse {
    fn name(&self) -> &'static str {
        NAME
    }

    fn steps(&self) -> Steps {
        Steps::Given
    }

    fn check_settings(&self, settings: &RunSettings) -> Result<(), SettingsError> {
        Method::new(settings)?;
        Ok(())
    }

    fn prepare<'a>(
        &self,
        source: Source<'a>,
        _settings: &RunSettings,
    ) -> Result<Box<dyn Ready + 'a>, SimulateError> {
        Ok(Box::new(Steppable(source.model)))
    }

    fn precision(&self, settings: &RunSettings) -> String {
        format!(
            "order {}, step {:.3e} s, gaps within {:.0e}",
            settings.order, settings.step, settings.tolerance
        )
    }

    fn remedy(&self, settings: &RunSettings) -> String {
        let step = settings.step / 4.0;
        if settings.order > 2 {
            return format!("try --step {step:.1e} or --order 2");
        }
        format!("try --step {step:.1e}, or --accuracy 1e-6")
    }
}

/// A model that needs no more.
#[derive(Debug)]
struct Steppable<'a>(&'a Model);

impl Ready for Steppable<'_> {
    fn start<'s>(
        &'s self,
        settings: &RunSettings,
        state: &State,
    ) -> Result<Box<dyn Engine + 's>, RunFailure> {
        Ok(Box::new(Stepping::new(self.0, settings, state)?))
    }
}

fn failure(failure: gelenk_impulse::Failure) -> Failure {
    Failure { reason: failure.reason, element: failure.element }
}

/// A model in motion.
struct Stepping<'m> {
    simulation: Simulation<'m>,
    /// A moment ahead that is looked at.
    ahead: Option<RecordedSample>,
}

impl<'m> Stepping<'m> {
    fn new(model: &'m Model, settings: &RunSettings, state: &State) -> Result<Self, RunFailure> {
        let simulation = Simulation::from_state(model, settings, state.clone())
            .map_err(|error| start_failure(NAME, model, state, failure(error)))?;
        Ok(Stepping { simulation, ahead: None })
    }
}

impl Engine for Stepping<'_> {
    fn advance(&mut self, step: &Step) -> Result<(), Failure> {
        self.ahead = None;
        self.simulation.advance(step.length, step.end).map_err(failure)
    }

    fn time(&self) -> f64 {
        self.simulation.state().t
    }

    fn look(&mut self, t: f64) -> Result<(), Failure> {
        let dt = t - self.time();
        self.ahead = if dt > 0.0 {
            Some(self.simulation.peek(dt, RecordedSample::new).map_err(failure)?)
        } else {
            None
        };
        Ok(())
    }

    fn sample(&mut self) -> Sample<'_> {
        match &self.ahead {
            Some(ahead) => ahead.as_sample(),
            None => self.simulation.sample(),
        }
    }

    fn take_events(&mut self) -> Vec<Event> {
        self.simulation.take_events()
    }

    fn state(&self) -> &State {
        self.simulation.state()
    }

    fn ledger(&self) -> Ledger {
        self.simulation.ledger()
    }

    fn report(&self) -> RunReport {
        let simulation = &self.simulation;
        let (energy_mean_abs_error, energy_max_abs_error) = simulation.energy_errors();
        RunReport {
            t: simulation.state().t,
            steps: simulation.steps(),
            corrections: simulation.totals().corrections,
            ledger: simulation.ledger(),
            energy_mean_abs_error,
            energy_max_abs_error,
            worst_gaps: simulation.worst_gaps().to_vec(),
            worst_velocity_errors: simulation.worst_velocity_errors().to_vec(),
            worst_penetration: simulation.worst_penetration(),
            contacts: simulation.contacts().to_vec(),
            ways: simulation.ways().list(),
            ..empty_report(NAME, simulation.model(), simulation.state())
        }
    }

    fn refused(&self) -> Option<Refused> {
        self.simulation.refused().map(|(steps, time)| Refused { steps, time })
    }

    fn set_stop(&mut self, stop: Stop) {
        self.simulation.set_stop(stop);
    }

    fn pull(&mut self, hand: Option<Hand>) -> Grip {
        self.simulation.pull(hand);
        Grip::Taken
    }
}

/// The same with a control law in the loop.
pub(crate) struct Controlled<'m, 'c, 'l> {
    stepping: Stepping<'m>,
    law: Clocked<'c, 'l>,
}

impl<'m, 'c, 'l> Controlled<'m, 'c, 'l> {
    pub(crate) fn new(
        model: &'m Model,
        settings: &RunSettings,
        control: &'c mut Control<'l>,
    ) -> Result<Self, RunFailure> {
        let stepping = Stepping::new(model, settings, &model.start)?;
        let law = Clocked::new(control, model.start.t)
            .map_err(|error| start_failure(NAME, model, stepping.state(), failure(error)))?;
        Ok(Controlled { stepping, law })
    }
}

impl Engine for Controlled<'_, '_, '_> {
    fn advance(&mut self, step: &Step) -> Result<(), Failure> {
        self.stepping.advance(step)
    }

    fn time(&self) -> f64 {
        self.stepping.time()
    }

    fn look(&mut self, t: f64) -> Result<(), Failure> {
        self.stepping.look(t)
    }

    fn sample(&mut self) -> Sample<'_> {
        self.stepping.sample()
    }

    fn take_events(&mut self) -> Vec<Event> {
        self.stepping.take_events()
    }

    fn state(&self) -> &State {
        self.stepping.state()
    }

    fn ledger(&self) -> Ledger {
        self.stepping.ledger()
    }

    fn report(&self) -> RunReport {
        self.stepping.report()
    }

    fn refused(&self) -> Option<Refused> {
        self.stepping.refused()
    }

    fn set_stop(&mut self, stop: Stop) {
        self.stepping.set_stop(stop);
    }

    fn next_call(&self) -> Option<f64> {
        Some(self.law.next())
    }

    fn call(&mut self) -> Result<(), Failure> {
        self.stepping.simulation.control(&mut self.law).map_err(failure)
    }

    fn pull(&mut self, hand: Option<Hand>) -> Grip {
        self.stepping.pull(hand)
    }
}
