//! Sign changes and touches of switching functions within a step.
//!
//! The functions are looked at on the interpolant, at a few points of the step. A sign change
//! between two of them is a crossing. Where a function comes nearer to zero and goes away again,
//! its least value is sought; if that is on the other side, there are two crossings, and the
//! first counts; if it is zero but for a small rest, the function touches zero. The interpolant
//! only gives the first guess of the time: the step is made again with other lengths until it
//! ends at the zero (an interpolant alone may be off by more than the tolerance of the step).

use crate::error::Error;
use crate::options::Options;
use crate::system::{Direction, System};

/// How a switching function met zero, seen along the integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// From negative to positive.
    Rising,
    /// From positive to negative.
    Falling,
    /// It touched zero, as far as the digits tell, and stays on its side.
    Grazing,
}

/// A switching function that met zero at the end of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which function.
    pub switch: usize,
    /// How.
    pub kind: EventKind,
}

/// A zero seen on the interpolant, as parts of the step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zero {
    pub(crate) switch: usize,
    /// Which side it comes from.
    pub(crate) side: f64,
    /// Last point known to be on that side.
    pub(crate) low: f64,
    /// The zero, or the nearest point to it.
    pub(crate) theta: f64,
    /// First point known to be beyond.
    pub(crate) high: f64,
    /// side · dg/dθ there.
    pub(crate) slope: f64,
    /// A touch, not a crossing.
    pub(crate) touch: bool,
}

/// What is known of the switching functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) n: usize,
    /// 1 or -1: the side each function is on; 0 if not known yet.
    pub(crate) side: Vec<f64>,
    /// Largest size seen, the measure for touches.
    largest: Vec<f64>,
    /// Where a step is looked at, from 0 to 1.
    thetas: Vec<f64>,
    /// Values there, one row a point.
    samples: Vec<f64>,
    pub(crate) g: Vec<f64>,
    /// Room for another look.
    pub(crate) spare: Vec<f64>,
    pub(crate) zeros: Vec<Zero>,
    pub(crate) fired: Vec<Event>,
}

impl Watch {
    pub(crate) fn new(n: usize, options: &Options) -> Self {
        // Close to both ends as well, so that a turn next to an end is seen.
        let mut thetas = vec![0.0, 1e-3];
        let m = options.samples + 1;
        thetas.extend((1..m).map(|k| k as f64 / m as f64));
        thetas.extend([1.0 - 1e-3, 1.0]);
        let samples = vec![0.0; n * thetas.len()];
        Self {
            n,
            side: vec![0.0; n],
            largest: vec![0.0; n],
            thetas,
            samples,
            g: vec![0.0; n],
            spare: vec![0.0; n],
            zeros: Vec::with_capacity(n),
            fired: Vec::with_capacity(n),
        }
    }

    /// Looks for the first zero of each function in the step; `at` gives the functions at a
    /// part of the step.
    pub(crate) fn scan<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        options: &Options,
        mut at: impl FnMut(&mut S, f64, &mut [f64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let n = self.n;
        for (k, &theta) in self.thetas.iter().enumerate() {
            at(system, theta, &mut self.samples[k * n..(k + 1) * n])?;
        }
        self.zeros.clear();
        for switch in 0..n {
            for k in 0..self.thetas.len() {
                let size = self.samples[k * n + switch].abs();
                self.largest[switch] = self.largest[switch].max(size);
            }
            let direction = system.direction(switch);
            let mut g = |theta: f64| -> Result<f64, Error> {
                at(system, theta, &mut self.g)?;
                Ok(self.g[switch])
            };
            let seen = Seen {
                thetas: &self.thetas,
                values: &self.samples[switch..],
                stride: n,
                rest: options.graze_tolerance * self.largest[switch],
            };
            let zero = seen.first(&mut self.side[switch], direction, &mut g)?;
            if let Some(mut zero) = zero {
                zero.switch = switch;
                self.zeros.push(zero);
            }
        }
        self.zeros.sort_by(|a, b| a.theta.total_cmp(&b.theta).then(a.switch.cmp(&b.switch)));
        Ok(())
    }

    /// The kind of a zero's event.
    pub(crate) fn kind(zero: &Zero) -> EventKind {
        match (zero.touch, zero.side > 0.0) {
            (true, _) => EventKind::Grazing,
            (false, true) => EventKind::Falling,
            (false, false) => EventKind::Rising,
        }
    }
}

/// Whether a crossing from `side` counts.
pub(crate) fn counts(direction: Direction, side: f64) -> bool {
    match direction {
        Direction::Both => true,
        Direction::Rising => side < 0.0,
        Direction::Falling | Direction::Leaving => side > 0.0,
    }
}

/// One function at the points of a step.
struct Seen<'a> {
    thetas: &'a [f64],
    values: &'a [f64],
    stride: usize,
    rest: f64,
}

impl Seen<'_> {
    fn value(&self, k: usize) -> f64 {
        self.values[k * self.stride]
    }

    fn first(
        &self,
        side: &mut f64,
        direction: Direction,
        g: &mut impl FnMut(f64) -> Result<f64, Error>,
    ) -> Result<Option<Zero>, Error> {
        let last = self.thetas.len() - 1;
        let mut rounded = direction == Direction::Leaving && self.value(0) <= 0.0;
        for k in 1..=last {
            let value = self.value(k);
            if rounded && value <= 0.0 && value > -self.rest {
                continue;
            }
            rounded &= value <= 0.0;
            if *side == 0.0 {
                *side = if value == 0.0 { 0.0 } else { value.signum() };
                continue;
            }
            let s = *side;
            let (before, here) = (s * self.value(k - 1), s * value);
            let (low, theta) = (self.thetas[k - 1], self.thetas[k]);
            if here <= 0.0 {
                if counts(direction, s) {
                    let beyond = self.thetas[(k + 1).min(last)];
                    return Self::crossing(s, low, theta, beyond, g).map(Some);
                }
                *side = -s;
                continue;
            }
            if k == last {
                break;
            }
            // A turn towards zero and away from it, seen in three points, and steep enough.
            let (after, high) = (s * self.value(k + 1), self.thetas[k + 1]);
            let way = before.max(after) - here;
            if here <= before && here <= after && way > 0.0 && here <= 8.0 * way {
                let (theta, least) = least(s, low, high, g)?;
                if least <= 0.0 {
                    return if counts(direction, s) {
                        Self::crossing(s, low, theta, theta, g).map(Some)
                    } else {
                        Self::crossing(-s, theta, high, high, g).map(Some)
                    };
                }
                if least <= self.rest {
                    let slope = 0.0;
                    return Ok(Some(Zero {
                        switch: 0,
                        side: s,
                        low,
                        theta,
                        high,
                        slope,
                        touch: true,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// The zero between `low` and `high` by false position and halving.
    fn crossing(
        side: f64,
        mut low: f64,
        mut high: f64,
        beyond: f64,
        g: &mut impl FnMut(f64) -> Result<f64, Error>,
    ) -> Result<Zero, Error> {
        let mut at_low = side * g(low)?;
        if at_low <= 0.0 {
            // The step starts at a zero: look for a point that has left it.
            let mut theta = high;
            for _ in 0..40 {
                theta *= 0.5;
                at_low = side * g(theta)?;
                if at_low > 0.0 {
                    low = theta;
                    break;
                }
                high = theta;
            }
            if at_low <= 0.0 {
                let slope = 0.0;
                return Ok(Zero {
                    switch: 0,
                    side,
                    low: 0.0,
                    theta: high,
                    high,
                    slope,
                    touch: false,
                });
            }
        }
        let (start, width) = (low, high - low);
        let mut at_high = side * g(high)?;
        for k in 0..200 {
            if high - low <= 4.0 * f64::EPSILON * high || at_high >= 0.0 {
                break;
            }
            let middle = 0.5 * (low + high);
            let cut = low + (high - low) * at_low / (at_low - at_high);
            let theta = if k % 3 == 2 || !(cut > low && cut < high) { middle } else { cut };
            let value = side * g(theta)?;
            if value > 0.0 {
                (low, at_low) = (theta, value);
            } else {
                (high, at_high) = (theta, value);
            }
        }
        let step = 1e-4 * width;
        let slope = side * (g(high + step)? - g(high - step)?) / (2.0 * step);
        Ok(Zero { switch: 0, side, low: start, theta: high, high: beyond, slope, touch: false })
    }
}

/// Least value of side·g between two points by golden section.
fn least(
    side: f64,
    mut a: f64,
    mut b: f64,
    g: &mut impl FnMut(f64) -> Result<f64, Error>,
) -> Result<(f64, f64), Error> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut x1, mut x2) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
    let (mut g1, mut g2) = (side * g(x1)?, side * g(x2)?);
    let mut best = if g1 < g2 { (x1, g1) } else { (x2, g2) };
    for _ in 0..60 {
        if best.1 <= 0.0 || b - a <= 1e-9 * b {
            break;
        }
        if g1 <= g2 {
            (b, x2, g2) = (x2, x1, g1);
            x1 = b - GOLDEN * (b - a);
            g1 = side * g(x1)?;
        } else {
            (a, x1, g1) = (x1, x2, g2);
            x2 = a + GOLDEN * (b - a);
            g2 = side * g(x2)?;
        }
        for point in [(x1, g1), (x2, g2)] {
            if point.1 < best.1 {
                best = point;
            }
        }
    }
    Ok(best)
}
