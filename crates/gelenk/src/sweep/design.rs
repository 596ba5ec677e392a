//! The members of a sweep: grid, list, random, Latin hypercube, Sobol.

use super::{Plan, Range, Sample};

/// A number from (seed, member, dimension) alone, in [0, 1): the mixing function of splitmix64, \[Steele, Lea, Flood 2014\].
fn uniform(seed: u64, member: u64, dimension: u64) -> f64 {
    // 53 bits are exact in a double.
    (mix(seed, member, dimension) >> 11) as f64 / (1_u64 << 53) as f64
}

fn mix(seed: u64, member: u64, dimension: u64) -> u64 {
    let step = |state: u64, given: u64| {
        let mut z = (state ^ given).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    step(step(step(0, seed), dimension), member)
}

/// The place of `member` among `n` in a random order: four rounds of a Feistel network over the next even power of two,
/// walked on until it lies below `n`. Any member can be had without the others.
fn shuffled(member: u64, n: u64, seed: u64, dimension: u64) -> u64 {
    let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
    let half = bits.div_ceil(2).max(1);
    let mask = (1_u64 << half) - 1;
    let mut place = member;
    loop {
        let (mut left, mut right) = (place >> half, place & mask);
        for round in 0..4 {
            let key = mix(seed ^ 0x005e_ed5e_ed5e_ed5e, right, 8 * dimension + round);
            (left, right) = (right, left ^ (key & mask));
        }
        place = left << half | right;
        if place < n {
            return place;
        }
    }
}

/// Primitive polynomials and first direction numbers of \[Joe, Kuo 2008\], new-joe-kuo-6, from the second dimension on:
/// degree, coefficients, numbers.
const SOBOL: [(u32, u32, [u32; 7]); 20] = [
    (1, 0, [1, 0, 0, 0, 0, 0, 0]),
    (2, 1, [1, 3, 0, 0, 0, 0, 0]),
    (3, 1, [1, 3, 1, 0, 0, 0, 0]),
    (3, 2, [1, 1, 1, 0, 0, 0, 0]),
    (4, 1, [1, 1, 3, 3, 0, 0, 0]),
    (4, 4, [1, 3, 5, 13, 0, 0, 0]),
    (5, 2, [1, 1, 5, 5, 17, 0, 0]),
    (5, 4, [1, 1, 5, 5, 5, 0, 0]),
    (5, 7, [1, 1, 7, 11, 19, 0, 0]),
    (5, 11, [1, 1, 5, 1, 1, 0, 0]),
    (5, 13, [1, 1, 1, 3, 11, 0, 0]),
    (5, 14, [1, 3, 5, 5, 31, 0, 0]),
    (6, 1, [1, 3, 3, 9, 7, 49, 0]),
    (6, 13, [1, 1, 1, 15, 21, 21, 0]),
    (6, 16, [1, 3, 1, 13, 27, 49, 0]),
    (6, 19, [1, 1, 1, 15, 7, 5, 0]),
    (6, 22, [1, 3, 1, 15, 13, 25, 0]),
    (6, 25, [1, 1, 5, 5, 19, 61, 0]),
    (7, 1, [1, 3, 7, 11, 23, 15, 103]),
    (7, 4, [1, 3, 7, 13, 13, 15, 69]),
];

/// The most values that a Sobol sample varies.
pub(super) const MOST_SOBOL: usize = SOBOL.len() + 1;

/// Bits of a coordinate of a Sobol point.
const BITS: u32 = 32;

/// The coordinate of Sobol's point number `member` in a dimension, as a fraction of 2³².
fn sobol(member: u64, dimension: usize) -> u32 {
    let mut directions = [0_u32; BITS as usize];
    match dimension.checked_sub(1).and_then(|d| SOBOL.get(d)) {
        None => {
            for (i, direction) in (0..BITS).zip(&mut directions) {
                *direction = 1 << (BITS - 1 - i);
            }
        }
        Some(&(degree, coefficients, first)) => {
            let s = degree as usize;
            for i in 0..BITS as usize {
                directions[i] = if i < s {
                    first[i] << (BITS as usize - 1 - i)
                } else {
                    let mut v = directions[i - s] ^ (directions[i - s] >> degree);
                    for k in 1..s {
                        if coefficients >> (s - 1 - k) & 1 == 1 {
                            v ^= directions[i - k];
                        }
                    }
                    v
                };
            }
        }
    }
    // Gray code of the number.
    let gray = member ^ (member >> 1);
    let set = directions.iter().enumerate().filter(|(i, _)| gray >> i & 1 == 1);
    set.fold(0, |x, (_, direction)| x ^ direction)
}

impl Range {
    /// How many values it has in a grid or list.
    pub(super) fn len(&self) -> u64 {
        match self {
            Range::Values(values) => values.len() as u64,
            Range::Between { count, .. } => *count,
        }
    }

    /// The value at `part` of the way, from 0 to 1.
    fn at(&self, part: f64) -> f64 {
        match self {
            Range::Values(values) => {
                let n = values.len();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a place in the list"
                )]
                let i = (part * n as f64) as usize;
                values.get(i.min(n.saturating_sub(1))).copied().unwrap_or(f64::NAN)
            }
            Range::Between { from, to, log: false, .. } => from + part * (to - from),
            // One portable library: the same bits on every machine.
            Range::Between { from, to, log: true, .. } => from * libm::pow(to / from, part),
        }
    }

    /// The value of a place in a grid or list.
    fn nth(&self, i: u64) -> f64 {
        match self {
            Range::Values(values) => {
                let i = usize::try_from(i).unwrap_or(usize::MAX);
                values.get(i).copied().unwrap_or(f64::NAN)
            }
            Range::Between { from, .. } if i == 0 => *from,
            Range::Between { to, count, .. } if i + 1 == *count => *to,
            Range::Between { count, .. } => self.at(i as f64 / (count - 1) as f64),
        }
    }
}

impl Plan {
    /// How many members the sweep has.
    pub fn n_members(&self) -> u64 {
        match self.sample {
            Sample::Grid => {
                self.vary.iter().fold(1, |n: u64, vary| n.saturating_mul(vary.range.len()))
            }
            Sample::List => self.vary.first().map_or(0, |vary| vary.range.len()),
            Sample::Random { count, .. }
            | Sample::Latin { count, .. }
            | Sample::Sobol { count, .. } => count,
        }
    }

    /// What a member has, in the order of [`Plan::vary`].
    pub fn values(&self, member: u64) -> Vec<f64> {
        let each = |value: &dyn Fn(u64, &Range) -> f64| {
            (0..).zip(&self.vary).map(|(d, vary)| value(d, &vary.range)).collect()
        };
        match self.sample {
            Sample::Grid => {
                let mut rest = member;
                let mut values: Vec<f64> = Vec::with_capacity(self.vary.len());
                for vary in self.vary.iter().rev() {
                    let n = vary.range.len().max(1);
                    values.push(vary.range.nth(rest % n));
                    rest /= n;
                }
                values.reverse();
                values
            }
            Sample::List => each(&|_, range| range.nth(member)),
            Sample::Random { seed, .. } => each(&|d, range| range.at(uniform(seed, member, d))),
            Sample::Latin { count, seed } => each(&|d, range| {
                let place = shuffled(member, count, seed, d);
                range.at((place as f64 + uniform(seed, member, d)) / count as f64)
            }),
            Sample::Sobol { seed, .. } => each(&|d, range| {
                let dimension = usize::try_from(d).unwrap_or(usize::MAX);
                let shift = seed.map_or(0, |seed| mix(seed, 0, d) >> 32);
                let x = u64::from(sobol(member, dimension)) ^ shift;
                range.at(x as f64 / (1_u64 << BITS) as f64)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first points of the sequence, as its authors' program prints them.
    #[test]
    fn sobol_points_are_those_of_its_authors() {
        // In eighths of the range.
        let point = |n: u64| [0, 1, 2].map(|d| sobol(n, d));
        let eighths = |x: [u32; 3]| x.map(|x| x << 29);
        assert_eq!(point(0), [0; 3]);
        assert_eq!(point(1), eighths([4, 4, 4]));
        assert_eq!(point(2), eighths([6, 2, 2]));
        assert_eq!(point(3), eighths([2, 6, 6]));
        assert_eq!(point(4), eighths([3, 3, 5]));
        assert_eq!(point(5), eighths([7, 7, 1]));
    }

    /// In every dimension the first 1024 points lie in as many equal parts: only right direction numbers do that.
    #[test]
    fn sobol_points_fill_every_dimension_evenly() {
        for d in 0..MOST_SOBOL {
            let mut parts: Vec<u32> = (0..1024).map(|n| sobol(n, d) >> 22).collect();
            parts.sort_unstable();
            assert!(parts.iter().copied().eq(0..1024), "dimension {d}");
        }
    }

    #[test]
    fn an_order_has_every_place_once() {
        for n in [1, 2, 3, 10, 1000, 1025] {
            let mut places: Vec<u64> = (0..n).map(|i| shuffled(i, n, 7, 2)).collect();
            assert!(n < 10 || !places.is_sorted(), "{n}");
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..n), "{n}");
        }
    }

    #[test]
    fn random_numbers_are_spread_and_depend_on_all_three() {
        let n = 10_000;
        let mean: f64 = (0..n).map(|i| uniform(1, i, 0)).sum::<f64>() / n as f64;
        // Five standard deviations of a mean of 10,000.
        assert!((mean - 0.5).abs() < 5.0 * 0.2887 / 100.0, "{mean}");
        let together: f64 =
            (0..n).map(|i| (uniform(1, i, 0) - 0.5) * (uniform(1, i, 1) - 0.5)).sum();
        assert!((together / n as f64).abs() < 5.0 / 12.0 / 100.0, "{together}");
        assert!(uniform(1, 0, 0).to_bits() != uniform(2, 0, 0).to_bits());
    }
}
