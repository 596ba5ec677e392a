//! Axes: ranges, ticks and their labels.

use crate::svg::{nice_above, with_decimals};

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Log,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where, px.
    pub(super) at: f64,
    /// `None` for the small ones.
    pub(super) label: Option<String>,
}

/// An axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    /// Lowest and highest value; logarithms (base 10) of them on a logarithmic axis.
    low: f64,
    high: f64,
    /// Where they are, px.
    pub(super) ends: [f64; 2],
    pub(super) ticks: Vec<Tick>,
    /// Labels are in units of 10 to this power.
    power: i32,
}

/// Pixels between labels, at least: beside and above each other.
const SPACING: [f64; 2] = [64.0, 40.0];
/// Values beyond this are drawn as this, and ranges below its inverse as none: sums and quotients must stay finite.
const HUGE: f64 = 1e300;

impl Axis {
    /// The axis that shows all `values` between the two `ends`.
    pub(super) fn new(scale: Scale, values: impl Iterator<Item = f64>, ends: [f64; 2]) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            let value = match scale {
                Scale::Linear => value.clamp(-HUGE, HUGE),
                Scale::Log => value.log10(),
            };
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let axis = Axis { scale, low, high, ends, ticks: Vec::new(), power: 0 };
        match scale {
            Scale::Linear => axis.linear(),
            Scale::Log => axis.logarithmic(),
        }
    }

    /// Ticks at 1, 2 or 5 times a power of ten; a little air above and below.
    fn linear(mut self) -> Self {
        let size = self.low.abs().max(self.high.abs());
        // A range that rounding made, or none, is widened to see the value.
        let small = size < 1.0 / HUGE;
        if small || self.high - self.low < 1e-12 * size {
            let half = if small { 1.0 } else { 0.1 * size };
            (self.low, self.high) = (self.low - half, self.high + half);
        }
        let length = (self.ends[1] - self.ends[0]).abs();
        let vertical = self.ends[0] > self.ends[1];
        let wanted = (length / SPACING[usize::from(vertical)]).clamp(2.0, 12.0);
        let range = self.high - self.low;
        let step = nice_above(range / wanted);
        if vertical {
            let air = 0.04 * range;
            (self.low, self.high) = (self.low - air, self.high + air);
        }
        let size = self.low.abs().max(self.high.abs());
        let power = size.log10().floor();
        if !(-3.0..5.0).contains(&power) {
            #[expect(clippy::cast_possible_truncation, reason = "an exponent of a double")]
            let power = power as i32;
            self.power = power;
        }
        let unit = 10f64.powi(self.power);
        let first = (self.low / step - 1e-9).ceil();
        for k in 0..64 {
            let value = (first + f64::from(k)) * step;
            if value > self.high + 1e-9 * step {
                break;
            }
            let label = Some(with_decimals(value / unit, step / unit));
            self.ticks.push(Tick { at: self.place(value), label });
        }
        self
    }

    /// Ticks at powers of ten, with small ones at 2 to 9 times them where there is room.
    fn logarithmic(mut self) -> Self {
        if self.high - self.low < 1e-3 {
            (self.low, self.high) = (self.low - 0.5, self.high + 0.5);
        }
        let air = 0.04 * (self.high - self.low);
        (self.low, self.high) = (self.low - air, self.high + air);
        let length = (self.ends[1] - self.ends[0]).abs();
        let decades = self.high - self.low;
        let every = (decades * 45.0 / length).ceil().max(1.0);
        let few = decades < 1.5;
        #[expect(clippy::cast_possible_truncation, reason = "an exponent of a double")]
        let (from, to) = (self.low.floor() as i32, self.high.ceil() as i32);
        for power in from..=to {
            for digit in 1..10 {
                let log = f64::from(power) + f64::from(digit).log10();
                if log < self.low || log > self.high {
                    continue;
                }
                let label = if digit == 1 {
                    (f64::from(power).rem_euclid(every) < 0.5).then(|| power_of_ten(power))
                } else if few && [2, 5].contains(&digit) {
                    Some(format!("{digit}·{}", power_of_ten(power)))
                } else {
                    None
                };
                if digit == 1 || decades < 8.0 {
                    self.ticks.push(Tick { at: self.place_inside(log), label });
                }
            }
        }
        self
    }

    fn place_inside(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low);
        self.ends[0] + part * (self.ends[1] - self.ends[0])
    }

    /// Where a value is, px.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.place_inside(value.clamp(-HUGE, HUGE)),
            Scale::Log => self.place_inside(value.log10()),
        }
    }

    /// Lowest and highest value.
    pub(super) fn range(&self) -> [f64; 2] {
        match self.scale {
            Scale::Linear => [self.low, self.high],
            Scale::Log => [self.low, self.high].map(|x| 10f64.powf(x)),
        }
    }

    /// What the labels are in units of: "10⁻⁹"; `None` for 1.
    pub(super) fn factor_label(&self) -> Option<String> {
        (self.power != 0).then(|| power_of_ten(self.power))
    }
}

/// "10⁻⁹"
fn power_of_ten(power: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    format!("10{}", power.to_string().chars().map(raised).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().filter_map(|tick| tick.label.clone()).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let axis = Axis::new(Scale::Linear, [0.0, 10.0].into_iter(), [0.0, 600.0]);
        assert_eq!(labels(&axis), ["0", "2", "4", "6", "8", "10"]);
        assert!((axis.ticks[1].at - 120.0).abs() < 1e-9);
        let axis = Axis::new(Scale::Linear, [0.0, 3.2e-9].into_iter(), [0.0, 300.0]);
        assert_eq!(labels(&axis), ["0", "1", "2", "3"]);
        assert_eq!(axis.factor_label().as_deref(), Some("10⁻⁹"));
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        let axis = Axis::new(Scale::Log, [1e-3, 1e1].into_iter(), [0.0, 400.0]);
        assert_eq!(labels(&axis), ["10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹"]);
        let axis = Axis::new(Scale::Log, [1e-14, 1e2].into_iter(), [0.0, 300.0]);
        assert!(labels(&axis).len() <= 7);
    }
}
