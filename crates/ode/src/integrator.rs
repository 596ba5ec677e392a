//! Stepping: error control, events, restarts.

mod locate;

use crate::dop853::{Dop853, Trial, evaluate};
use crate::error::Error;
use crate::events::{Event, EventKind, Watch};
use crate::options::{Method, Options, Stats, Tolerance};
use crate::radau::Radau;
use crate::system::{Failure, System};

/// Why [`Integrator::advance`] or [`Integrator::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A step was made.
    Step,
    /// The end is reached.
    End,
    /// The step ends where switching functions meet zero; see [`Integrator::events`].
    Event,
    /// The same, and it was one of so many events in so short a time
    /// ([`Options::chatter_events`]) that the motion between them has no meaning any more: a
    /// ball that has come to rest, a relay that flutters. Going on is allowed.
    Chattering,
}

/// An integration of a [`System`], step by step, forward or backward in time.
#[derive(Clone, Debug)]
pub struct Integrator {
    options: Options,
    tolerance: Tolerance,
    radau_tolerance: Tolerance,
    t: f64,
    y: Vec<f64>,
    /// f(t, y).
    f: Vec<f64>,
    /// Length of the next step.
    h: f64,
    dop: Dop853,
    radau: Option<Radau>,
    /// What must be done before the next step.
    start: Start,
    /// Start of the last step, its state there and its length with its sign.
    t_old: f64,
    y_old: Vec<f64>,
    h_old: f64,
    /// Of the last step there is an interpolant.
    dense: Dense,
    /// Error of the last accepted step and its length, for the step control of Radau.
    last: Option<(f64, f64)>,
    rejected: bool,
    /// The next step is the first of the implicit method.
    found_stiff: bool,
    watch: Option<Watch>,
    /// Start and number of events of a possible chattering.
    chatter: (f64, usize),
    /// Looks out for steps that get nowhere.
    crawl: Crawl,
    probe: Vec<f64>,
    stats: Stats,
}

/// How far the last tries went.
#[derive(Clone, Copy, Debug)]
struct Crawl {
    /// Where, and after how many tries, the last look was.
    t: f64,
    tries: usize,
    /// The longest step so far.
    longest: f64,
}

impl Crawl {
    /// Every so many tries it is looked how far they went.
    const TRIES: usize = 1_000;
    /// They got nowhere if that is less than this part of the longest step so far.
    const NOWHERE: f64 = 1e-2;
    /// The end is out of reach if it would take so many more, or more than are allowed.
    const FAR: usize = 1_000_000;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Go on.
    Ready,
    /// After an event: the right-hand side may be another one.
    Event,
    /// The state was set.
    Changed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dense {
    None,
    /// To be computed where it is needed.
    Possible,
    Ready,
}

impl Integrator {
    /// An integration from (t, y).
    pub fn new(options: Options, t: f64, y: &[f64]) -> Result<Self, Error> {
        let n = y.len();
        let tolerance = options.check(n)?;
        if !(t.is_finite() && y.iter().all(|x| x.is_finite())) {
            return Err(Error::BadOption("the initial values are not finite".into()));
        }
        let radau = (options.method == Method::Radau5).then(|| Radau::new(n));
        Ok(Self {
            radau_tolerance: Radau::tolerance(&tolerance),
            tolerance,
            t,
            y: y.to_vec(),
            f: vec![0.0; n],
            h: 0.0,
            dop: Dop853::new(n),
            radau,
            start: Start::Changed,
            t_old: t,
            y_old: y.to_vec(),
            h_old: 0.0,
            dense: Dense::None,
            last: None,
            rejected: false,
            found_stiff: false,
            watch: None,
            chatter: (t, 0),
            crawl: Crawl { t, tries: 0, longest: 0.0 },
            probe: vec![0.0; n],
            stats: Stats::default(),
            options,
        })
    }

    /// The time reached.
    pub fn t(&self) -> f64 {
        self.t
    }

    /// The state reached.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// f at the state reached, after a step.
    pub fn f(&self) -> &[f64] {
        &self.f
    }

    /// The length that the next step will try, without its sign; 0 before the first.
    pub fn next_step(&self) -> f64 {
        self.h
    }

    /// Start and end of the last step.
    pub fn last_step(&self) -> (f64, f64) {
        (self.t_old, self.t_old + self.h_old)
    }

    /// What it has cost so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The method in use; never [`Method::Auto`].
    pub fn method(&self) -> Method {
        if self.radau.is_some() || self.found_stiff { Method::Radau5 } else { Method::Dop853 }
    }

    /// The switching functions that met zero at the end of the last step, after
    /// [`Stop::Event`].
    pub fn events(&self) -> &[Event] {
        self.watch.as_ref().map_or(&[], |w| &w.fired)
    }

    /// Sets another state at the time reached, as an impact does.
    ///
    /// # Panics
    ///
    /// If the length is another one.
    pub fn set_state(&mut self, y: &[f64]) {
        self.y.copy_from_slice(y);
        self.start = Start::Changed;
    }

    /// Forgets what is known of the right-hand side: call it after changing the system other
    /// than at an event.
    pub fn restart(&mut self) {
        if self.start == Start::Ready {
            self.start = Start::Event;
        }
    }

    /// Steps until the end or an event.
    pub fn run<S: System + ?Sized>(&mut self, system: &mut S, t_end: f64) -> Result<Stop, Error> {
        loop {
            match self.advance(system, t_end)? {
                Stop::Step => {}
                stop => return Ok(stop),
            }
        }
    }

    /// One step towards `t_end`, which a step meets exactly.
    pub fn advance<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        t_end: f64,
    ) -> Result<Stop, Error> {
        debug_assert_eq!(system.dim(), self.y.len(), "the state has the system's length");
        if !t_end.is_finite() {
            return Err(Error::BadOption(format!("the end is at {t_end}")));
        }
        let way = t_end - self.t;
        if way == 0.0 {
            return Ok(Stop::End);
        }
        let sign = way.signum();
        if self.found_stiff {
            // Only now, since the interpolant of the last step belonged to the other method.
            self.found_stiff = false;
            self.radau = Some(Radau::new(self.y.len()));
            self.last = None;
        }
        self.begin(system, sign)?;
        self.dense = Dense::None;
        let (mut h, mut at_end, next) = self.accept_step(system, t_end)?;
        let mut stop = Stop::Step;
        if self.watch.as_ref().is_some_and(|w| w.n > 0)
            && let Some(event_h) = self.find_event(system, h)?
        {
            at_end &= event_h.to_bits() == h.to_bits();
            h = event_h;
            stop = Stop::Event;
        }
        self.h = next;
        self.commit(system, h, if at_end { t_end } else { self.t + h })?;
        if stop == Stop::Event {
            stop = self.count_event();
            // Events that come ever closer have a limit of their own.
            (self.crawl.t, self.crawl.tries) = (self.t, self.stats.steps + self.stats.rejected);
        } else if at_end {
            stop = Stop::End;
        }
        self.change_if_stiff(h);
        Ok(stop)
    }

    /// Before a step: f, its length, the sides of the switching functions.
    fn begin<S: System + ?Sized>(&mut self, system: &mut S, sign: f64) -> Result<(), Error> {
        if self.start == Start::Ready {
            return Ok(());
        }
        let t = self.t;
        if !evaluate(system, &mut self.stats, t, &self.y, &mut self.f)? {
            return Err(Error::NoValue { t });
        }
        let last = self.h;
        self.h = match self.options.first_step {
            Some(h) if last == 0.0 => h,
            _ => {
                let guess = self.first_step(system, sign)?;
                if last > 0.0 { guess.min(last) } else { guess }
            }
        };
        self.h = self.h.min(self.options.max_step);
        self.last = None;
        self.rejected = false;
        self.dop.forget_stiffness();
        if let Some(radau) = &mut self.radau {
            radau.restart();
        }
        let mut watch = match self.watch.take() {
            Some(watch) => watch,
            None => Watch::new(system.n_switches(), &self.options),
        };
        if watch.n > 0 {
            let result = self.find_sides(system, &mut watch, sign);
            self.watch = Some(watch);
            result?;
        } else {
            self.watch = Some(watch);
        }
        self.start = Start::Ready;
        Ok(())
    }

    /// First step of \[Hairer, Nørsett, Wanner 1993\], section II.4.
    fn first_step<S: System + ?Sized>(&mut self, system: &mut S, sign: f64) -> Result<f64, Error> {
        let n = self.y.len();
        let order = if self.radau.is_some() { 4.0 } else { 8.0 };
        let norm = |v: &dyn Fn(usize) -> f64| {
            let sum: f64 =
                (0..n).map(|i| (v(i) / self.tolerance.scale(i, self.y[i])).powi(2)).sum();
            (sum / n.max(1) as f64).sqrt()
        };
        let (d0, d1) = (norm(&|i| self.y[i]), norm(&|i| self.f[i]));
        let mut h0 = if d0 < 1e-5 || d1 < 1e-5 { 1e-6 } else { 0.01 * d0 / d1 };
        h0 = h0.min(self.options.max_step);
        let mut f1 = std::mem::take(&mut self.y_old);
        for i in 0..n {
            self.probe[i] = self.y[i] + sign * h0 * self.f[i];
        }
        let fine = evaluate(system, &mut self.stats, self.t + sign * h0, &self.probe, &mut f1);
        let d2 = norm(&|i| f1[i] - self.f[i]) / h0;
        self.y_old = f1;
        if !fine? || !d2.is_finite() {
            return Ok(h0 * 1e-3);
        }
        let most = d1.max(d2);
        let h1 =
            if most <= 1e-15 { 1e-6f64.max(h0 * 1e-3) } else { (0.01 / most).powf(1.0 / order) };
        Ok((100.0 * h0).min(h1))
    }

    /// Tries steps until one is good; its signed length, whether it meets the end, and the
    /// length of the next.
    fn accept_step<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        t_end: f64,
    ) -> Result<(f64, bool, f64), Error> {
        let sign = (t_end - self.t).signum();
        loop {
            let way = (t_end - self.t).abs();
            let tried = self.stats.steps + self.stats.rejected;
            if tried >= self.options.max_steps {
                return Err(Error::TooManySteps { t: self.t, steps: tried });
            }
            self.look_for_crawl(tried, way)?;
            let wanted = self.h.min(self.options.max_step);
            let at_end = wanted * 1.01 >= way;
            let h = sign * if at_end { way } else { wanted };
            let too_small = h.abs() <= 4.0 * f64::EPSILON * self.t.abs() || h == 0.0;
            if too_small && !at_end {
                return Err(Error::StepTooSmall { t: self.t, h });
            }
            let factor = match self.attempt(system, h, false)? {
                Trial::Error(error) => {
                    let factor = self.factor(h.abs(), error);
                    if error <= 1.0 && self.finish(system, h)? {
                        return Ok((h, at_end, self.length_after(h.abs(), error, factor, at_end)));
                    }
                    if error <= 1.0 { 0.25 } else { factor.min(0.9) }
                }
                Trial::Failed(factor) => factor,
            };
            self.stats.rejected += 1;
            self.rejected = true;
            self.h = h.abs() * factor;
            if too_small {
                return Err(Error::StepTooSmall { t: self.t, h });
            }
        }
    }

    /// An error where many tries got nowhere, though steps were long before, and at their pace the end is out of reach.
    fn look_for_crawl(&mut self, tried: usize, way: f64) -> Result<(), Error> {
        let tries = tried - self.crawl.tries;
        if tries < Crawl::TRIES {
            return Ok(());
        }
        let went = (self.t - self.crawl.t).abs();
        let tries_left = way / went * tries as f64;
        let nowhere = went <= Crawl::NOWHERE * self.crawl.longest;
        let allowed = self.options.max_steps.saturating_sub(tried).min(Crawl::FAR);
        if nowhere && !(tries_left <= allowed as f64) {
            return Err(Error::Crawls { t: self.t, tries, went, longest: self.crawl.longest });
        }
        (self.crawl.t, self.crawl.tries) = (self.t, tried);
        Ok(())
    }

    /// Factor for the next step from the error of this one.
    fn factor(&self, h: f64, error: f64) -> f64 {
        match &self.radau {
            None => (0.9 * error.max(1e-30).powf(-0.125)).clamp(0.333, 6.0),
            Some(radau) => {
                let safety = radau.safety();
                let plain = safety * error.powf(-0.25);
                // Predictive control of Gustafsson, [Hairer, Wanner 1996] section IV.8.
                let predicted = match self.last {
                    Some((last_error, last_h)) if error <= 1.0 => {
                        plain * (h / last_h) * (last_error / error).powf(0.25)
                    }
                    _ => plain,
                };
                plain.min(predicted).clamp(0.125, 8.0)
            }
        }
    }

    fn length_after(&mut self, h: f64, error: f64, factor: f64, at_end: bool) -> f64 {
        let factor = if self.rejected { factor.min(1.0) } else { factor };
        self.rejected = false;
        self.last = Some((error.max(1e-2), h));
        let next = match &self.radau {
            Some(radau) => radau.settle(h, factor),
            None => h * factor,
        };
        // A step cut short by the end tells nothing about the next.
        if at_end { next.max(self.h) } else { next }
    }

    fn attempt<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
        exact: bool,
    ) -> Result<Trial, Error> {
        let from = (self.t, &self.y[..], &self.f[..]);
        match &mut self.radau {
            None => self.dop.attempt(system, &mut self.stats, from, h, &self.tolerance),
            Some(radau) => {
                let first = self.last.is_none() || self.rejected;
                let (stats, tolerance) = (&mut self.stats, &self.radau_tolerance);
                radau.attempt(system, stats, from, h, tolerance, (first, exact))
            }
        }
    }

    /// f at the end of the step.
    fn finish<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<bool, Error> {
        match &mut self.radau {
            None => self.dop.finish(system, &mut self.stats, self.t + h),
            Some(radau) => radau.finish(system, &mut self.stats, (self.t, &self.y), h),
        }
    }

    /// The interpolant of the step from (t, y), not yet committed.
    fn interpolate<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<bool, Error> {
        match self.radau {
            None => self.dop.interpolate(system, &mut self.stats, (self.t, &self.y), h),
            Some(_) => Ok(true),
        }
    }

    /// The step is final.
    fn commit<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
        t_new: f64,
    ) -> Result<(), Error> {
        self.stats.steps += 1;
        self.crawl.longest = self.crawl.longest.max(h.abs());
        self.y_old.copy_from_slice(&self.y);
        (self.t_old, self.h_old) = (self.t, h);
        match &mut self.radau {
            None => {
                self.y.copy_from_slice(self.dop.y_new());
                self.f.copy_from_slice(self.dop.f_new());
            }
            Some(radau) => {
                self.y.copy_from_slice(radau.y_new());
                self.f.copy_from_slice(radau.f_new());
                radau.commit(h);
                self.dense = Dense::Ready;
            }
        }
        if self.dense == Dense::None {
            self.dense = Dense::Possible;
        }
        self.t = t_new;
        match system.accepted(self.t, &mut self.y) {
            Ok(false) => {}
            Ok(true) => {
                self.stats.corrections += 1;
                if !evaluate(system, &mut self.stats, self.t, &self.y, &mut self.f)? {
                    return Err(Error::NoValue { t: self.t });
                }
            }
            Err(Failure::Domain) => return Err(Error::NoValue { t: self.t }),
            Err(Failure::Stop(message)) => return Err(Error::System { t: self.t, message }),
        }
        Ok(())
    }

    fn change_if_stiff(&mut self, h: f64) {
        if self.radau.is_some() || self.found_stiff || !self.dop.is_stiff(h) {
            return;
        }
        if self.stats.stiff_at.is_none() {
            self.stats.stiff_at = Some(self.t);
        }
        self.dop.forget_stiffness();
        if self.options.method == Method::Auto {
            self.found_stiff = true;
        }
    }

    /// The state at a time within the last step, from the interpolant (order 7; Radau: the
    /// collocation polynomial). The first call in a step of the explicit method takes three
    /// evaluations.
    ///
    /// Corrections after the step ([`System::accepted`]) are not part of it.
    pub fn at<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        t: f64,
        y: &mut [f64],
    ) -> Result<(), Error> {
        let (from, to) = self.last_step();
        let theta = if self.h_old == 0.0 { f64::NAN } else { (t - from) / self.h_old };
        if self.dense == Dense::None || !(-1e-9..=1.0 + 1e-9).contains(&theta) {
            return Err(Error::OutsideStep { t, from, to });
        }
        if let Some(radau) = &self.radau {
            radau.at(theta, y);
            return Ok(());
        }
        if self.dense == Dense::Possible {
            let start = (self.t_old, &self.y_old[..]);
            if !self.dop.interpolate(system, &mut self.stats, start, self.h_old)? {
                return Err(Error::NoValue { t: from });
            }
            self.dense = Dense::Ready;
        }
        self.dop.at(theta, y);
        Ok(())
    }

    /// Whether an event of the last step only touched zero.
    pub fn grazed(&self) -> bool {
        self.events().iter().any(|e| e.kind == EventKind::Grazing)
    }
}
