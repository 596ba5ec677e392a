//! When a run steps, and when it is looked at.

use gelenk_model::RunSettings;

use super::{Step, Steps};

/// Steps, sample times and the times of `at`.
///
/// Given steps end at t₀ + i h; the last one is shortened to end at the duration (and left whole where it is within 1e-9 of
/// that), and samples are at the steps nearest to the multiples of `settings.sample`. With steps of an engine's own, samples are at
/// the multiples themselves.
#[derive(Debug)]
pub(crate) struct Agenda {
    steps: Steps,
    start: f64,
    duration: f64,
    /// Given steps: h, their number, the length of the last one, and how many are done.
    h: f64,
    n: u64,
    last_h: f64,
    done: u64,
    /// Seconds between samples; none: every step.
    interval: Option<f64>,
    /// The next sample; of given steps with the step that it is at.
    k: u64,
    due: u64,
    /// The last step has been shown.
    shown: bool,
    /// Times wanted, ascending, and how many are done.
    at: Vec<f64>,
    next_at: usize,
    /// Times closer than this are one.
    near: f64,
}

impl Agenda {
    pub(crate) fn new(settings: &RunSettings, steps: Steps, start: f64) -> Self {
        let duration = settings.duration;
        // A step longer than the run is as long as the run.
        let h = if duration > 0.0 { settings.step.min(duration) } else { settings.step };
        let n = (duration / h - 1e-9).ceil().max(0.0);
        let rest = duration - (n - 1.0) * h;
        let last_h = if (rest - h).abs() <= 1e-9 * h { h } else { rest };
        let mut at = settings.at.clone();
        at.sort_by(f64::total_cmp);
        let near = 1e-9 * if steps == Steps::Given { h } else { settings.step };
        let next_at = at.partition_point(|&t| t < start - near);
        let interval = match steps {
            Steps::Given => settings.sample,
            Steps::Own => Some(settings.sample.unwrap_or(settings.step)),
        };
        let mut agenda = Agenda {
            steps,
            start,
            duration,
            h,
            n: whole(n),
            last_h,
            done: 0,
            interval,
            k: 1,
            due: 0,
            shown: false,
            at,
            next_at,
            near,
        };
        agenda.due = agenda.sample_step(1, 0);
        agenda
    }

    /// The end of the run, s.
    fn end(&self) -> f64 {
        self.start + self.duration
    }

    /// The end of given step i, s.
    fn step_end(&self, i: u64) -> f64 {
        if i == self.n { self.end() } else { self.start + i as f64 * self.h }
    }

    /// The given step nearest to sample k, at least `after` + 1.
    fn sample_step(&self, k: u64, after: u64) -> u64 {
        let Some(interval) = self.interval else { return after + 1 };
        whole((k as f64 * interval / self.h).round()).max(after + 1)
    }

    /// The step from `t`, cut at `cut`; none at the end. Also whether it is, or ends, a whole given step.
    pub(crate) fn step(&self, t: f64, cut: Option<f64>, in_parts: bool) -> Option<(Step, bool)> {
        if self.steps == Steps::Own {
            let end = self.end();
            return (t < end).then_some((Step { length: end - t, end }, true));
        }
        if self.done >= self.n {
            return None;
        }
        let i = self.done + 1;
        let end = self.step_end(i);
        if let Some(cut) = cut.filter(|&cut| cut < end - self.near) {
            return Some((Step { length: cut - t, end: cut }, false));
        }
        let length = match (in_parts, i == self.n) {
            (true, _) => end - t,
            (false, true) => self.last_h,
            (false, false) => self.h,
        };
        Some((Step { length, end }, true))
    }

    /// A whole step is done.
    pub(crate) fn stepped(&mut self) {
        self.done += 1;
        self.shown = false;
    }

    /// The next time of `at`, if it is before a given step ends at `end`.
    pub(crate) fn at_before(&self, end: f64) -> Option<f64> {
        let at = self.at.get(self.next_at).copied();
        at.filter(|&at| self.steps == Steps::Given && at < end - self.near)
    }

    /// The next time of `at`, if `t` has come to it.
    pub(crate) fn at_by(&self, t: f64) -> Option<f64> {
        let at = self.at.get(self.next_at).copied();
        // Within steps of an engine's own every moment can be shown, and is shown as it was asked for.
        let (at, near) = match self.steps {
            Steps::Own => (at.map(|at| at.clamp(self.start, self.end())), 0.0),
            Steps::Given => (at, self.near),
        };
        at.filter(|&at| at <= t + near)
    }

    /// Whether `t` has come to a time.
    pub(crate) fn is_by(&self, time: f64, t: f64) -> bool {
        time <= t + self.near
    }

    pub(crate) fn at_done(&mut self) {
        self.next_at += 1;
    }

    /// The next time of a sample up to `t`, which a step has come to; `whole`: it ends a given step.
    pub(crate) fn sample_by(&self, t: f64, whole: bool) -> Option<f64> {
        match self.steps {
            Steps::Given => {
                let due = self.done >= self.due || self.done == self.n;
                (whole && due && !self.shown).then_some(t)
            }
            Steps::Own => self.own_sample().filter(|sample| *sample <= t),
        }
    }

    pub(crate) fn sample_done(&mut self) {
        match self.steps {
            Steps::Own => self.k += 1,
            Steps::Given => {
                self.shown = true;
                while self.done >= self.due {
                    self.k += 1;
                    self.due = self.sample_step(self.k, self.due);
                }
            }
        }
    }

    /// Time of the next sample with steps of an engine's own; the last one is the end.
    fn own_sample(&self) -> Option<f64> {
        let interval = self.interval?;
        let before = self.start + (self.k - 1) as f64 * interval;
        if before >= self.end() - self.near {
            return None;
        }
        let t = self.start + self.k as f64 * interval;
        Some(if t > self.end() - self.near { self.end() } else { t })
    }
}

/// A positive whole number.
fn whole(x: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "x ≥ 0; saturates")]
    let n = x as u64;
    n
}
