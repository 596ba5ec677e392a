//! Events of a step that was accepted: which comes first, and the step made again to end there.

use super::{Dense, Integrator, Start, Stop};
use crate::dop853::Trial;
use crate::error::Error;
use crate::events::{Event, Watch, Zero};
use crate::system::{Direction, System};

impl Integrator {
    /// Which side each function is on where that is not known: where it is zero, the side that
    /// it goes to.
    pub(super) fn find_sides<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        watch: &mut Watch,
        sign: f64,
    ) -> Result<(), Error> {
        let t = self.t;
        system.switches(t, &self.y, &mut watch.g).map_err(|e| Error::fatal(e, t))?;
        let changed = self.start == Start::Changed;
        let mut unknown = false;
        for i in 0..watch.n {
            let fired = watch.fired.iter().any(|e| e.switch == i);
            if system.direction(i) == Direction::Leaving {
                watch.side[i] = 1.0;
                continue;
            }
            // After an event without a change of the state a function is beyond its zero.
            if fired && !changed {
                continue;
            }
            let known = watch.g[i] != 0.0 && !fired;
            watch.side[i] = if known { watch.g[i].signum() } else { 0.0 };
            unknown |= !known;
        }
        let mut part = 1e-7;
        while unknown && part < 1.0 {
            let delta = sign * part * self.h;
            for i in 0..self.y.len() {
                self.probe[i] = self.y[i] + delta * self.f[i];
            }
            let mut g = std::mem::take(&mut watch.spare);
            let result = system.switches(t + delta, &self.probe, &mut g);
            unknown = false;
            for i in 0..watch.n {
                if watch.side[i] == 0.0 {
                    let change = g[i] - watch.g[i];
                    if result.is_ok() && change.abs() > 16.0 * f64::EPSILON * watch.g[i].abs() {
                        watch.side[i] = change.signum();
                    } else {
                        unknown = true;
                    }
                }
            }
            watch.spare = g;
            part *= 100.0;
        }
        Ok(())
    }

    /// The earliest event of the step that was just accepted: the step is made again to end
    /// there.
    pub(super) fn find_event<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
    ) -> Result<Option<f64>, Error> {
        let Some(mut watch) = self.watch.take() else { return Ok(None) };
        let result = self.find_event_in(system, h, &mut watch);
        self.watch = Some(watch);
        result
    }

    fn find_event_in<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
        watch: &mut Watch,
    ) -> Result<Option<f64>, Error> {
        watch.fired.clear();
        // In a few units of the clock nothing can be told apart.
        if h.abs() <= 16.0 * f64::EPSILON * self.t.abs() {
            return Ok(None);
        }
        if !self.interpolate(system, h)? {
            return Err(Error::NoValue { t: self.t });
        }
        self.dense = Dense::Ready;
        let t = self.t;
        let (dop, radau, probe) = (&self.dop, self.radau.as_ref(), &mut self.probe);
        watch.scan(system, &self.options, |system, theta, g| {
            match radau {
                None => dop.at(theta, probe),
                Some(radau) => radau.at(theta, probe),
            }
            system.switches(t + theta * h, probe, g).map_err(|e| Error::fatal(e, t + theta * h))
        })?;
        if watch.zeros.is_empty() {
            self.end_sides(system, h, watch)?;
            return Ok(None);
        }
        // A part of what is allowed, since the times of events add up; 4 units of the clock.
        let tolerance = (0.02 * self.options.event_tolerance * t.abs().max(1.0))
            .max(4.0 * f64::EPSILON * t.abs());
        let mut found: Option<(f64, Zero)> = None;
        for k in 0..watch.zeros.len() {
            let mut zero = watch.zeros[k];
            match found {
                None => {}
                // Later by the interpolant, but it may have been crossed before.
                Some((x, _)) if zero.theta * h.abs() <= x.abs() + 1e-6 * h.abs() => {
                    zero.high = zero.high.min(x / h);
                    if zero.low >= zero.high || zero.touch {
                        continue;
                    }
                }
                Some(_) => break,
            }
            if let Some(x) = self.polish(system, h, &mut zero, watch, tolerance)?
                && found.is_none_or(|(best, _)| x.abs() < best.abs())
            {
                found = Some((x, zero));
            }
        }
        let Some((x, first)) = found else {
            // The interpolant saw a zero that the step does not have: it comes in the next.
            self.step_again(system, h, watch)?;
            self.end_sides(system, h, watch)?;
            return Ok(None);
        };
        self.step_again(system, x, watch)?;
        for k in 0..watch.zeros.len() {
            let zero = if watch.zeros[k].switch == first.switch { first } else { watch.zeros[k] };
            let there = zero.switch == first.switch
                || (!zero.touch && zero.side * watch.g[zero.switch] <= 0.0)
                || (zero.theta * h - x).abs() <= 2.0 * tolerance;
            if there {
                watch.fired.push(Event { switch: zero.switch, kind: Watch::kind(&zero) });
                if !zero.touch {
                    watch.side[zero.switch] = -zero.side;
                }
            }
        }
        for i in 0..watch.n {
            if watch.g[i] != 0.0 && !watch.fired.iter().any(|e| e.switch == i) {
                watch.side[i] = watch.g[i].signum();
            }
        }
        self.stats.events += watch.fired.len();
        if !self.finish(system, x)? {
            return Err(Error::NoValue { t: t + x });
        }
        Ok(Some(x))
    }

    /// Sides at the end of a step without events.
    fn end_sides<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
        watch: &mut Watch,
    ) -> Result<(), Error> {
        let t = self.t + h;
        let y = match &mut self.radau {
            None => self.dop.y_new(),
            Some(radau) => radau.y_new(),
        };
        system.switches(t, y, &mut watch.g).map_err(|e| Error::fatal(e, t))?;
        for i in 0..watch.n {
            if watch.g[i] != 0.0 && system.direction(i) != Direction::Leaving {
                watch.side[i] = watch.g[i].signum();
            }
        }
        Ok(())
    }

    /// The step with another length, and the switching functions at its end.
    fn step_again<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        x: f64,
        watch: &mut Watch,
    ) -> Result<(), Error> {
        self.stats.event_steps += 1;
        self.dense = Dense::None;
        let t = self.t + x;
        if let Trial::Failed(_) = self.attempt(system, x, true)? {
            return Err(Error::NoValue { t });
        }
        let y = match &mut self.radau {
            None => self.dop.y_new(),
            Some(radau) => radau.y_new(),
        };
        system.switches(t, y, &mut watch.g).map_err(|e| Error::fatal(e, t))
    }

    /// The length of the step that ends at a zero, by secants within bounds; none if the zero
    /// is not in the step.
    fn polish<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        h: f64,
        zero: &mut Zero,
        watch: &mut Watch,
        tolerance: f64,
    ) -> Result<Option<f64>, Error> {
        if zero.touch {
            return Ok(Some(zero.theta * h));
        }
        let (mut low, mut high) = (zero.low * h, zero.high * h);
        let mut x = (zero.theta * h).clamp(low.min(high), low.max(high));
        let mut slope = zero.slope / h;
        let (mut crossed, mut beyond) = (false, false);
        let mut last: Option<(f64, f64)> = None;
        for _ in 0..100 {
            // No shorter step than the clock can tell.
            if x.abs() <= 4.0 * f64::EPSILON * self.t.abs() {
                return Ok(Some(h.signum() * 8.0 * f64::EPSILON * self.t.abs().max(1e-300)));
            }
            self.step_again(system, x, watch)?;
            let value = zero.side * watch.g[zero.switch];
            if value > 0.0 {
                low = x;
            } else {
                (high, crossed) = (x, true);
            }
            if let Some((last_x, last_value)) = last
                && (x - last_x).abs() > 0.0
                && (value - last_value).abs() > 0.0
            {
                slope = (value - last_value) / (x - last_x);
            }
            last = Some((x, value));
            if value == 0.0 || beyond {
                return Ok(Some(x));
            }
            let next = x - value / slope;
            let inside = next > low.min(high) && next < low.max(high);
            if inside && (next - x).abs() <= tolerance {
                if value < 0.0 {
                    return Ok(Some(x));
                }
                // Once more, to end beyond the zero, so that it is not met again.
                beyond = true;
                x = next + h.signum() * 0.5 * tolerance;
                x = x.clamp(low.min(high), low.max(high));
                continue;
            }
            if (high - low).abs() <= tolerance {
                break;
            }
            x = if inside { next } else { 0.5 * (low + high) };
        }
        if crossed {
            return Ok(Some(high));
        }
        // Never beyond: the end of the bracket decides.
        self.step_again(system, high, watch)?;
        let value = zero.side * watch.g[zero.switch];
        if value <= 0.0 {
            return Ok(Some(high));
        }
        if zero.high.to_bits() == zero.theta.to_bits() {
            // The least value on the interpolant was beyond zero by less than its error.
            zero.touch = true;
            return Ok(Some(high));
        }
        Ok(None)
    }

    /// Counts events that come thick and fast.
    pub(super) fn count_event(&mut self) -> Stop {
        self.start = Start::Event;
        let window = self.options.chatter_time * self.t.abs().max(1.0);
        if (self.t - self.chatter.0).abs() > window {
            self.chatter = (self.t, 0);
        }
        self.chatter.1 += 1;
        if self.chatter.1 >= self.options.chatter_events {
            self.chatter = (self.t, 0);
            return Stop::Chattering;
        }
        Stop::Event
    }
}
