//! A whole run with an observer.

use gelenk_model::run::{Observer, RunFailure, RunReport};
use gelenk_model::{Event, Model, RunSettings};

use crate::control::{Clocked, Control};
use crate::explain::Failure;
use crate::simulation::Simulation;

/// Runs `model` as `settings` say and tells `observer`.
///
/// Steps end at t₀ + i h; the last one is shortened to end at the duration (and left whole where it is within 1e-9 of
/// that). Samples come at the steps nearest to the multiples of `settings.sample`, at the start and at the end. States
/// at the times `settings.at` come from side steps of the length needed, so that the run itself does not depend on
/// them.
pub fn run(
    model: &Model,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunFailure> {
    run_with(model, settings, None, observer)
}

/// [`run()`] with a control law in the loop: steps end at its calls too, and the steps counted are those parts.
pub fn run_controlled(
    model: &Model,
    settings: &RunSettings,
    control: &mut Control<'_>,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunFailure> {
    run_with(model, settings, Some(control), observer)
}

fn run_with(
    model: &Model,
    settings: &RunSettings,
    control: Option<&mut Control<'_>>,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunFailure> {
    let mut simulation = Simulation::new(model, settings).map_err(|failure| {
        let report = empty_report(model);
        RunFailure { reason: failure.reason, element: failure.element, report: Box::new(report) }
    })?;
    let stop = observer.stop().unwrap_or_default();
    simulation.set_stop(stop.clone());
    let mut events = Vec::new();
    let control = control.map(|control| Clocked::new(control, simulation.state().t)).transpose();
    let result = control.and_then(|control| {
        let runner = Runner::new(&simulation, settings);
        runner.run(&mut simulation, control, observer, &mut events)
    });
    // A step that was given up is none.
    let stopped = matches!(result, Ok(true)) || stop.is_asked() && result.is_err();
    let report = report(&simulation, events, stopped);
    match result {
        Ok(_) => Ok(report),
        Err(_) if stopped => Ok(report),
        Err(Failure { reason, element }) => {
            Err(RunFailure { reason, element, report: Box::new(report) })
        }
    }
}

/// The times of a run.
struct Runner {
    t_start: f64,
    h: f64,
    /// Number of steps; the last has the length `last_h`.
    n: u64,
    last_h: f64,
    duration: f64,
    /// Times wanted, ascending.
    at: Vec<f64>,
    sample: Option<f64>,
}

impl Runner {
    fn new(simulation: &Simulation<'_>, settings: &RunSettings) -> Self {
        let duration = settings.duration;
        // A step longer than the run is as long as the run.
        let h = if duration > 0.0 { settings.step.min(duration) } else { settings.step };
        let n = (duration / h - 1e-9).ceil().max(0.0);
        let rest = duration - (n - 1.0) * h;
        let last_h = if (rest - h).abs() <= 1e-9 * h { h } else { rest };
        let mut at = settings.at.clone();
        at.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "n ≥ 0; saturates"
        )]
        let n = n as u64;
        Runner {
            t_start: simulation.state().t,
            h,
            n,
            last_h,
            duration,
            at,
            sample: settings.sample,
        }
    }

    /// Time after step i, s.
    fn time(&self, i: u64) -> f64 {
        if i == self.n { self.t_start + self.duration } else { self.t_start + i as f64 * self.h }
    }

    /// The step nearest to sample k, at least `after` + 1.
    fn sample_step(&self, k: u64, after: u64) -> u64 {
        let Some(interval) = self.sample else { return after + 1 };
        let step = (k as f64 * interval / self.h).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; saturates"
        )]
        let step = step as u64;
        step.max(after + 1)
    }

    /// Runs to the end; true if the observer stopped it.
    fn run(
        &self,
        simulation: &mut Simulation<'_>,
        mut control: Option<Clocked<'_, '_>>,
        observer: &mut dyn Observer,
        events: &mut Vec<Event>,
    ) -> Result<bool, Failure> {
        // Times closer than this to a step are that step's.
        let near = 1e-9 * self.h;
        let mut next_at = self.at.partition_point(|&t| t < self.t_start - near);
        let (mut k, mut due) = (1, self.sample_step(1, 0));
        let tell = |simulation: &mut Simulation<'_>,
                    observer: &mut dyn Observer,
                    events: &mut Vec<Event>| {
            for event in simulation.take_events() {
                observer.event(&event);
                events.push(event);
            }
        };
        tell(simulation, observer, events);
        while self.at.get(next_at).is_some_and(|&t| t <= self.t_start + near) {
            if observer.at(&simulation.sample()).is_break() {
                return Ok(true);
            }
            next_at += 1;
        }
        if observer.sample(&simulation.sample()).is_break() {
            return Ok(true);
        }
        if let Some(control) = &mut control {
            simulation.control(control)?;
        }
        for i in 1..=self.n {
            let t_end = self.time(i);
            let mut whole = true;
            loop {
                // A call of the control law within the step cuts it.
                let cut = control.as_ref().map(Clocked::next).filter(|&at| at < t_end - near);
                whole &= cut.is_none();
                let (t, t_next) = (simulation.state().t, cut.unwrap_or(t_end));
                while let Some(&at) = self.at.get(next_at).filter(|&&at| at < t_next - near) {
                    if simulation.peek(at - t, |sample| observer.at(sample))?.is_break() {
                        return Ok(true);
                    }
                    next_at += 1;
                }
                let h = match (whole, i == self.n) {
                    (false, _) => t_next - t,
                    (true, true) => self.last_h,
                    (true, false) => self.h,
                };
                let result = simulation.advance(h, t_next);
                tell(simulation, observer, events);
                result?;
                while self.at.get(next_at).is_some_and(|&at| at <= t_next + near) {
                    if observer.at(&simulation.sample()).is_break() {
                        return Ok(true);
                    }
                    next_at += 1;
                }
                if let Some(control) = control.as_mut().filter(|c| c.next() <= t_next + near) {
                    simulation.control(control)?;
                }
                if cut.is_none() {
                    break;
                }
            }
            let t_next = t_end;
            if i == self.n || i >= due {
                if observer.sample(&simulation.sample()).is_break() {
                    return Ok(true);
                }
                while i >= due {
                    k += 1;
                    due = self.sample_step(k, due);
                }
            }
            if observer.step(t_next).is_break() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn report(simulation: &Simulation<'_>, events: Vec<Event>, stopped: bool) -> RunReport {
    let (energy_mean_abs_error, energy_max_abs_error) = simulation.energy_errors();
    RunReport {
        engine: "impulse",
        t: simulation.state().t,
        steps: simulation.steps(),
        corrections: simulation.totals().corrections,
        stopped,
        ledger: simulation.ledger(),
        energy_mean_abs_error,
        energy_max_abs_error,
        worst_gaps: simulation.worst_gaps().to_vec(),
        worst_velocity_errors: simulation.worst_velocity_errors().to_vec(),
        worst_penetration: simulation.worst_penetration(),
        contacts: simulation.contacts().to_vec(),
        events,
        ways: simulation.ways().list(),
        statistics: None,
        state: simulation.state().clone(),
    }
}

/// The report of a run that did not start.
fn empty_report(model: &Model) -> RunReport {
    RunReport {
        engine: "impulse",
        t: model.start.t,
        steps: 0,
        corrections: 0,
        stopped: false,
        ledger: gelenk_model::Ledger::default(),
        energy_mean_abs_error: 0.0,
        energy_max_abs_error: 0.0,
        worst_gaps: vec![0.0; model.rows.len()],
        worst_velocity_errors: vec![0.0; model.rows.len()],
        worst_penetration: None,
        contacts: Vec::new(),
        events: Vec::new(),
        ways: Vec::new(),
        statistics: None,
        state: model.start.clone(),
    }
}
