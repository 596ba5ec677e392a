//! Numbers between bounds, with the multipliers of these bounds and the barrier before them.

use serde::{Deserialize, Serialize};

/// The product of a distance and its multiplier stays within this factor of μ.
const FAR_FROM_CENTRE: f64 = 1e10;

/// A list of numbers between bounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bounded {
    pub(crate) value: Vec<f64>,
    /// Multipliers of lower bounds; 0 where there is none.
    pub(crate) below: Vec<f64>,
    /// Multipliers of upper bounds.
    pub(crate) above: Vec<f64>,
}

/// The bounds of a list: infinite where there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

impl Limits {
    pub(crate) fn not_negative(n: usize) -> Self {
        Limits { lower: vec![0.0; n], upper: vec![f64::INFINITY; n] }
    }

    fn has_lower(&self, i: usize) -> bool {
        self.lower[i] > f64::NEG_INFINITY
    }

    fn has_upper(&self, i: usize) -> bool {
        self.upper[i] < f64::INFINITY
    }

    pub(crate) fn count(&self) -> usize {
        (0..self.lower.len())
            .map(|i| usize::from(self.has_lower(i)) + usize::from(self.has_upper(i)))
            .sum()
    }

    /// Moves a number strictly between its bounds.
    pub(crate) fn inside(&self, i: usize, value: f64, share: f64) -> f64 {
        let (l, u) = (self.lower[i], self.upper[i]);
        let from = |bound: f64| {
            let near = share * bound.abs().max(1.0);
            if u - l < f64::INFINITY { near.min(share * (u - l)) } else { near }
        };
        let mut out = value;
        if self.has_lower(i) {
            out = out.max(l + from(l));
        }
        if self.has_upper(i) {
            out = out.min(u - from(u));
        }
        out
    }
}

impl Bounded {
    pub(crate) fn new(limits: &Limits, value: Vec<f64>, mu: f64, unit: bool) -> Self {
        let below = (0..value.len()).map(|i| {
            if !limits.has_lower(i) {
                0.0
            } else if unit {
                1.0
            } else {
                mu / (value[i] - limits.lower[i])
            }
        });
        let above = (0..value.len()).map(|i| {
            if !limits.has_upper(i) {
                0.0
            } else if unit {
                1.0
            } else {
                mu / (limits.upper[i] - value[i])
            }
        });
        Bounded { below: below.collect(), above: above.collect(), value }
    }

    /// Σ = z_L/(x − l) + z_U/(u − x).
    pub(crate) fn sigma(&self, limits: &Limits, i: usize) -> f64 {
        let mut sum = 0.0;
        if limits.has_lower(i) {
            sum += self.below[i] / (self.value[i] - limits.lower[i]);
        }
        if limits.has_upper(i) {
            sum += self.above[i] / (limits.upper[i] - self.value[i]);
        }
        sum
    }

    /// ∂/∂x of −μ ln(x − l) − μ ln(u − x).
    pub(crate) fn slope(&self, limits: &Limits, i: usize, mu: f64) -> f64 {
        let mut sum = 0.0;
        if limits.has_lower(i) {
            sum -= mu / (self.value[i] - limits.lower[i]);
        }
        if limits.has_upper(i) {
            sum += mu / (limits.upper[i] - self.value[i]);
        }
        sum
    }

    /// −μ Σ ln of all distances, at other values; infinite outside.
    pub(crate) fn barrier(limits: &Limits, value: &[f64], mu: f64) -> f64 {
        let mut sum = 0.0;
        for (i, &x) in value.iter().enumerate() {
            if limits.has_lower(i) {
                sum -= libm::log((x - limits.lower[i]).max(0.0));
            }
            if limits.has_upper(i) {
                sum -= libm::log((limits.upper[i] - x).max(0.0));
            }
        }
        mu * sum
    }

    /// The longest part of a step that keeps 1 − τ of every distance.
    pub(crate) fn longest(&self, limits: &Limits, step: &[f64], tau: f64) -> f64 {
        let mut longest = 1.0_f64;
        for (i, &d) in step.iter().enumerate() {
            if d < 0.0 && limits.has_lower(i) {
                longest = longest.min(-tau * (self.value[i] - limits.lower[i]) / d);
            }
            if d > 0.0 && limits.has_upper(i) {
                longest = longest.min(tau * (limits.upper[i] - self.value[i]) / d);
            }
        }
        longest
    }

    /// Steps of the multipliers that belong to a step of the values.
    pub(crate) fn dual_step(&self, limits: &Limits, step: &[f64], mu: f64) -> (Vec<f64>, Vec<f64>) {
        let below = step.iter().enumerate().map(|(i, d)| {
            if !limits.has_lower(i) {
                return 0.0;
            }
            let gap = self.value[i] - limits.lower[i];
            mu / gap - self.below[i] - self.below[i] / gap * d
        });
        let above = step.iter().enumerate().map(|(i, d)| {
            if !limits.has_upper(i) {
                return 0.0;
            }
            let gap = limits.upper[i] - self.value[i];
            mu / gap - self.above[i] + self.above[i] / gap * d
        });
        (below.collect(), above.collect())
    }

    /// The longest part of a step of the multipliers that keeps 1 − τ of each.
    pub(crate) fn longest_dual(&self, step: &(Vec<f64>, Vec<f64>), tau: f64) -> f64 {
        let mut longest = 1.0_f64;
        for (z, d) in self.below.iter().zip(&step.0).chain(self.above.iter().zip(&step.1)) {
            if *d < 0.0 {
                longest = longest.min(-tau * z / d);
            }
        }
        longest
    }

    /// Takes a step of values and multipliers, then keeps the multipliers near the central path.
    pub(crate) fn advance(
        &mut self,
        limits: &Limits,
        value: Vec<f64>,
        dual: &(Vec<f64>, Vec<f64>),
        alpha: f64,
        mu: f64,
    ) {
        self.value = value;
        for i in 0..self.value.len() {
            if limits.has_lower(i) {
                let gap = self.value[i] - limits.lower[i];
                let z = self.below[i] + alpha * dual.0[i];
                self.below[i] = z.clamp(mu / (FAR_FROM_CENTRE * gap), FAR_FROM_CENTRE * mu / gap);
            }
            if limits.has_upper(i) {
                let gap = limits.upper[i] - self.value[i];
                let z = self.above[i] + alpha * dual.1[i];
                self.above[i] = z.clamp(mu / (FAR_FROM_CENTRE * gap), FAR_FROM_CENTRE * mu / gap);
            }
        }
    }

    /// Moves values away from bounds, to where the barrier μ leaves their multipliers, but no farther than √μ and a tenth of the room.
    pub(crate) fn open(&mut self, limits: &Limits, mu: f64) {
        for i in 0..self.value.len() {
            let (l, u) = (limits.lower[i], limits.upper[i]);
            let farthest = libm::sqrt(mu).min(0.1 * (u - l));
            let distance = |z: f64| (mu / z).min(farthest);
            if limits.has_lower(i) {
                self.value[i] = self.value[i].max(l + distance(self.below[i]));
            }
            if limits.has_upper(i) {
                self.value[i] = self.value[i].min(u - distance(self.above[i]));
            }
            if limits.has_lower(i) {
                self.below[i] = self.below[i].max(mu / (self.value[i] - l));
            }
            if limits.has_upper(i) {
                self.above[i] = self.above[i].max(mu / (u - self.value[i]));
            }
        }
    }

    /// Largest |distance · multiplier − μ|.
    pub(crate) fn complementarity(&self, limits: &Limits, mu: f64) -> f64 {
        let mut most = 0.0_f64;
        for i in 0..self.value.len() {
            if limits.has_lower(i) {
                most = most.max(((self.value[i] - limits.lower[i]) * self.below[i] - mu).abs());
            }
            if limits.has_upper(i) {
                most = most.max(((limits.upper[i] - self.value[i]) * self.above[i] - mu).abs());
            }
        }
        most
    }

    /// Sum of all multipliers.
    pub(crate) fn total(&self) -> f64 {
        self.below.iter().chain(&self.above).sum()
    }

    /// How many bounds are active: closer than their multiplier is large.
    pub(crate) fn active(&self, limits: &Limits) -> usize {
        (0..self.value.len())
            .filter(|&i| {
                (limits.has_lower(i) && self.value[i] - limits.lower[i] < self.below[i])
                    || (limits.has_upper(i) && limits.upper[i] - self.value[i] < self.above[i])
            })
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounded, Limits};

    /// A number at its bound moves to where the barrier leaves its multiplier, one with a weak multiplier no farther than √μ and a tenth of
    /// the room, and one that is far enough stays; complementarity is then at least μ.
    #[test]
    fn opening_leaves_bounds_as_far_as_multipliers_allow() {
        let limits = Limits { lower: vec![0.0; 4], upper: vec![f64::INFINITY, 1e9, 0.01, 2.0] };
        let mut list = Bounded {
            value: vec![1e-9, 1e-9, 1e-9, 0.5],
            below: vec![10.0, 1e-7, 1e-7, 1e-9],
            above: vec![0.0, 1e-9, 1e-9, 1e-9],
        };
        let mu = 1e-4;
        list.open(&limits, mu);
        for (value, exact) in list.value.iter().zip([1e-5, 1e-2, 1e-3, 0.5]) {
            assert!((value - exact).abs() < 1e-15, "{value}, not {exact}");
        }
        for i in 0..4 {
            let product = (list.value[i] - limits.lower[i]) * list.below[i];
            assert!(product >= mu * (1.0 - 1e-12), "{i}: {product:e}");
        }
    }
}
