//! A progress bar on standard error with the time left; hidden where there is no terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar counts in these parts of the whole.
const PARTS: u64 = 1_000_000;

/// Progress of a command towards its end.
pub(crate) struct Progress {
    bar: ProgressBar,
    end: f64,
    /// Whether the way there is simulated time, which is then shown.
    is_time: bool,
    next: Instant,
}

impl Progress {
    /// A bar for a run to `end` seconds; `label` stands before it.
    pub(crate) fn of_run(label: &str, end: f64, quiet: bool) -> Self {
        Progress { is_time: true, ..Progress::of_work(label, end, quiet) }
    }

    /// A bar for work that is done at `end`.
    pub(crate) fn of_work(label: &str, end: f64, quiet: bool) -> Self {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(PARTS), target);
        let style =
            ProgressStyle::with_template("{prefix} {wide_bar} {percent:>3} %  {msg}  {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .progress_chars("━╸ ");
        bar.set_style(style);
        bar.set_prefix(label.to_owned());
        Progress { bar, end, is_time: false, next: Instant::now() }
    }

    /// A line that says what is done now, for work whose length nobody knows.
    pub(crate) fn of_parts(label: &str, quiet: bool) -> Self {
        let progress = Progress::of_work(label, 1.0, quiet);
        let style = ProgressStyle::with_template("{prefix}: {msg}  {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        progress.bar.set_style(style);
        progress
    }

    /// Moves the bar to what is reached; cheap enough for every step.
    pub(crate) fn reached(&mut self, t: f64) {
        if self.bar.is_hidden() {
            return;
        }
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + Duration::from_millis(50);
        self.bar.set_position(part(t, self.end));
        if self.is_time {
            self.bar.set_message(format!("t = {t:.3} s"));
        }
    }

    /// Says what is done now.
    pub(crate) fn doing(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// t / end as parts, kept within the bar.
fn part(t: f64, end: f64) -> u64 {
    let share = if end > 0.0 { (t / end).clamp(0.0, 1.0) } else { 1.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1,000,000")]
    let part = (share * PARTS as f64) as u64;
    part
}
