//! When a run with steps of its own is looked at.

use gelenk_model::RunSettings;

/// The times of a run.
pub(crate) struct Times {
    start: f64,
    pub(crate) end: f64,
    /// Seconds between samples.
    interval: f64,
    at: Vec<f64>,
    /// Times closer than this are one.
    pub(crate) near: f64,
}

impl Times {
    pub(crate) fn new(settings: &RunSettings, start: f64) -> Self {
        let interval = settings.sample.unwrap_or(settings.step);
        let mut at = settings.at.clone();
        at.sort_by(f64::total_cmp);
        Times { start, end: start + settings.duration, interval, at, near: 1e-9 * settings.step }
    }

    /// Time of sample k; the last one is the end.
    pub(crate) fn sample(&self, k: u64) -> Option<f64> {
        let before = self.start + (k - 1) as f64 * self.interval;
        if before >= self.end - self.near {
            return None;
        }
        let t = self.start + k as f64 * self.interval;
        Some(if t > self.end - self.near { self.end } else { t })
    }

    pub(crate) fn first_at(&self, t: f64) -> usize {
        self.at.partition_point(|&at| at < t - self.near)
    }

    pub(crate) fn at(&self, i: usize) -> Option<f64> {
        self.at.get(i).map(|at| at.min(self.end))
    }
}
