//! The run loop.

use gelenk_model::{Event, Model, Observer, RunFailure, RunReport, RunSettings};

use super::agenda::Agenda;
use super::{Engine, EngineKind, Failure, Ready, empty_report};
use crate::verdict::{Judge, Verdict, VerdictLimits};

/// How a run ended, and whether its result can be relied on.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What the engine says.
    pub result: Result<RunReport, RunFailure>,
    /// The verdict on it.
    pub verdict: Verdict,
}

impl Judged {
    /// The report of what was reached.
    pub fn report(&self) -> &RunReport {
        match &self.result {
            Ok(report) => report,
            Err(failure) => &failure.report,
        }
    }
}

impl From<Result<RunReport, RunFailure>> for Judged {
    /// A result that nobody has judged.
    fn from(result: Result<RunReport, RunFailure>) -> Self {
        Judged { result, verdict: Verdict::default() }
    }
}

/// Runs a model that is ready for an engine as `settings` say, from its start, and tells `observer`.
///
/// Samples come at the start, about every `settings.sample` seconds and at the end; states at the times `settings.at` are exact.
pub fn run(
    kind: &dyn EngineKind,
    model: &Model,
    ready: &dyn Ready,
    settings: &RunSettings,
    limits: VerdictLimits,
    observer: &mut dyn Observer,
) -> Judged {
    match ready.start(settings, &model.start) {
        Ok(mut engine) => drive(kind, model, &mut *engine, settings, limits, observer),
        Err(failure) => {
            let reason = Some(failure.reason.as_str());
            let mut judge = Judge::new(limits);
            let verdict = judge.verdict(model, settings, &failure.report, reason, None);
            Judged { result: Err(failure), verdict }
        }
    }
}

/// Drives an engine through a whole run.
pub(crate) fn drive(
    kind: &dyn EngineKind,
    model: &Model,
    engine: &mut dyn Engine,
    settings: &RunSettings,
    limits: VerdictLimits,
    observer: &mut dyn Observer,
) -> Judged {
    let stop = observer.stop().unwrap_or_default();
    engine.set_stop(stop.clone());
    let agenda = Agenda::new(settings, kind.steps(), engine.time());
    let mut drive =
        Drive { engine, agenda, observer, events: Vec::new(), judge: Judge::new(limits) };
    let result = drive.go();
    let Drive { engine, events, mut judge, .. } = drive;
    // A step that was given up is none.
    let stopped = matches!(result, Ok(true)) || stop.is_asked() && result.is_err();
    let report = RunReport { stopped, events, ..engine.report() };
    let failure = result.err().filter(|_| !stopped);
    let reason = failure.as_ref().map(|failure| failure.reason.as_str());
    let verdict = judge.verdict(model, settings, &report, reason, engine.refused());
    let result = match failure {
        None => Ok(report),
        Some(Failure { reason, element }) => {
            Err(RunFailure { reason, element, report: Box::new(report) })
        }
    };
    Judged { result, verdict }
}

/// An engine on its way.
struct Drive<'a> {
    engine: &'a mut dyn Engine,
    agenda: Agenda,
    observer: &'a mut dyn Observer,
    events: Vec<Event>,
    judge: Judge,
}

impl Drive<'_> {
    /// Runs to the end; true if the observer stopped it.
    fn go(&mut self) -> Result<bool, Failure> {
        self.tell();
        let start = self.engine.time();
        while self.agenda.at_by(start).is_some() {
            if self.shows_at() {
                return Ok(true);
            }
        }
        if self.shows_sample() {
            return Ok(true);
        }
        if self.engine.next_call().is_some() {
            self.engine.call()?;
        }
        // A given step that a call of the control law has cut.
        let mut in_parts = false;
        while let Some((step, whole)) =
            self.agenda.step(self.engine.time(), self.engine.next_call(), in_parts)
        {
            while let Some(at) = self.agenda.at_before(step.end) {
                self.engine.look(at)?;
                if self.shows_at() {
                    return Ok(true);
                }
            }
            let result = self.engine.advance(&step);
            self.tell();
            result?;
            in_parts = !whole;
            if whole {
                self.agenda.stepped();
            }
            if self.shows_moments(whole)? {
                return Ok(true);
            }
            self.engine.settle()?;
            self.tell();
            let t = self.engine.time();
            self.judge.ledger(t, &self.engine.ledger());
            if whole && self.observer.step(t).is_break() {
                return Ok(true);
            }
        }
        self.engine.finish();
        Ok(false)
    }

    /// Shows what is wanted up to where the last step ended; true if the observer stops the run.
    fn shows_moments(&mut self, whole: bool) -> Result<bool, Failure> {
        let end = self.engine.time();
        loop {
            let at = self.agenda.at_by(end);
            let sample = self.agenda.sample_by(end, whole);
            let wanted = [sample, at].into_iter().flatten().fold(end, f64::min);
            let t = wanted.min(self.engine.reach());
            self.engine.look(t)?;
            if at.is_some() && self.agenda.at_by(t).is_some() {
                if self.shows_at() {
                    self.engine.arrive();
                    return Ok(true);
                }
                continue;
            }
            if t >= end && self.engine.next_call().is_some_and(|call| self.agenda.is_by(call, t)) {
                self.engine.call()?;
            }
            if t >= end {
                self.engine.arrive();
            }
            if sample.is_some_and(|sample| sample <= t) {
                self.agenda.sample_done();
                if self.shows_sample() {
                    if t < end {
                        self.engine.arrive();
                    }
                    return Ok(true);
                }
            }
            if t >= end {
                return Ok(false);
            }
        }
    }

    /// Shows the moment looked at as one of those asked for; true to stop.
    fn shows_at(&mut self) -> bool {
        self.agenda.at_done();
        self.observer.at(&self.engine.sample()).is_break()
    }

    /// Shows the moment looked at as a sample; true to stop.
    fn shows_sample(&mut self) -> bool {
        let sample = self.engine.sample();
        self.judge.sample(&sample);
        self.observer.sample(&sample).is_break()
    }

    /// Tells what has happened.
    fn tell(&mut self) {
        for event in self.engine.take_events() {
            self.observer.event(&event);
            self.events.push(event);
        }
    }
}

/// A failed start.
pub(crate) fn start_failure(
    engine: &'static str,
    model: &Model,
    state: &gelenk_model::State,
    Failure { reason, element }: Failure,
) -> RunFailure {
    RunFailure { reason, element, report: Box::new(empty_report(engine, model, state)) }
}
