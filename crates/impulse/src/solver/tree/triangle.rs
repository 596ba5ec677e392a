//! A = Uᵀ D⁻¹ U of small symmetric matrices, D the diagonal of U, with rows of whole groups of four numbers: their loops have no ends to look for.
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use crate::lanes::{F, LANES};

/// A pivot below this part of the largest response is none: contacts say the same.
pub(super) const WEAK: f64 = 1e-9;

/// The triangle U, row after row, and the inverse of its diagonal. What is left of the diagonal means nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Triangle {
    rows: Vec<F>,
    inverse: Vec<f64>,
}

/// Calls a function of the width, in groups of four, that `n` numbers need.
macro_rules! with_width {
    ($n:expr, $function:ident ( $($argument:expr),* )) => {
        match $n.div_ceil(LANES) {
            0..=1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            4 => $function::<4>($($argument),*),
            5 => $function::<5>($($argument),*),
            6..=8 => $function::<8>($($argument),*),
            _ => $function::<MOST>($($argument),*),
        }
    };
}

/// The widest: 60 numbers.
const MOST: usize = 15;

impl Triangle {
    /// Factorizes the part `active` of the symmetric `g`, `stride` numbers a row; false where it is nearly singular. There are at most 60.
    pub(super) fn make(&mut self, g: &[f64], stride: usize, active: &[usize]) -> bool {
        with_width!(active.len(), make(self, g, stride, active))
    }

    /// x ← A⁻¹ x.
    pub(super) fn solve(&mut self, x: &mut [f64]) {
        with_width!(x.len(), solve(self, x));
    }
}

/// Writes the part `active` of `g`, with rows of `W` groups of four.
fn collect<const W: usize>(rows: &mut Vec<F>, g: &[f64], stride: usize, active: &[usize]) {
    rows.clear();
    let whole = stride == LANES * W && active.last().is_some_and(|last| last + 1 == active.len());
    if whole {
        let (fours, _) = g[..active.len() * stride].as_chunks::<LANES>();
        rows.extend(fours.iter().map(|four| F::new(*four)));
        return;
    }
    for &i in active {
        let from = &g[i * stride..(i + 1) * stride];
        for own in active.chunks(LANES) {
            let mut four = [0.0; LANES];
            for (to, &j) in four.iter_mut().zip(own) {
                *to = from[j];
            }
            rows.push(F::new(four));
        }
        rows.extend(std::iter::repeat_n(F::ZERO, W - active.len().div_ceil(LANES)));
    }
}

fn make<const W: usize>(own: &mut Triangle, g: &[f64], stride: usize, active: &[usize]) -> bool {
    let Triangle { rows, inverse, .. } = own;
    collect::<W>(rows, g, stride, active);
    inverse.clear();
    let (rows, _) = rows.as_chunks_mut::<W>();
    let mut largest = 0.0_f64;
    for &i in active {
        largest = largest.max(g[i * stride + i]);
    }
    // What is left of the diagonal counts for nothing, and is left as it is.
    for k in 0..rows.len() {
        let (done, rest) = rows.split_at_mut(k + 1);
        let row = &done[k];
        let pivot = row[k / LANES].as_array()[k % LANES];
        if pivot.is_nan() || pivot <= WEAK * largest {
            return false;
        }
        let one_over = 1.0 / pivot;
        inverse.push(one_over);
        for (i, own) in (k + 1..).zip(rest) {
            let part = F::splat(row[i / LANES].as_array()[i % LANES] * one_over);
            // Lengths that are known: what is left of the diagonal is done with, or as good.
            if i / LANES >= W / 2 {
                for c in W / 2..W {
                    own[c] -= row[c] * part;
                }
            } else {
                for c in 0..W {
                    own[c] -= row[c] * part;
                }
            }
        }
    }
    true
}

fn solve<const W: usize>(own: &Triangle, x: &mut [f64]) {
    let (rows, _) = own.rows.as_chunks::<W>();
    let inverse = &own.inverse[..];
    // y = Uᵀ⁻¹ x, divided by D.
    let mut right = [F::ZERO; W];
    for (to, from) in right.iter_mut().zip(x.chunks(LANES)) {
        let mut four = [0.0; LANES];
        four[..from.len()].copy_from_slice(from);
        *to = F::new(four);
    }
    for (k, row) in rows.iter().enumerate() {
        let y = right[k / LANES].as_array()[k % LANES] * inverse[k];
        x[k] = y;
        let part = F::splat(y);
        for c in k / LANES..W {
            right[c] -= row[c] * part;
        }
    }
    // x = y − D⁻¹ U x; what is not known yet is 0.
    let mut known = [F::ZERO; W];
    for (k, row) in rows.iter().enumerate().rev() {
        let mut sum = F::ZERO;
        for c in k / LANES..W {
            sum += known[c] * row[c];
        }
        x[k] -= sum.reduce_add() * inverse[k];
        known[k / LANES].as_mut_array()[k % LANES] = x[k];
    }
}

/// A general matrix of rows of whole groups of four, L U with rows changed places.
#[derive(Clone, Debug, Default)]
pub(super) struct Square {
    rows: Vec<F>,
    pivots: Vec<usize>,
    /// Groups of a row.
    width: usize,
}

impl Square {
    /// Begins with the part `active` of the symmetric `g`, `stride` numbers a row.
    pub(super) fn begin(&mut self, g: &[f64], stride: usize, active: &[usize]) {
        self.width = with_width!(active.len(), width_of());
        with_width!(active.len(), collect(&mut self.rows, g, stride, active));
    }

    /// The entry in `row` and `column`.
    pub(super) fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.rows[row * self.width + column / LANES].as_mut_array()[column % LANES]
    }

    /// L U; false where it is nearly singular.
    pub(super) fn factorize(&mut self) -> bool {
        with_width!(self.width * LANES, factorize(self))
    }

    /// x ← A⁻ᵀ x.
    pub(super) fn solve_transposed(&self, x: &mut [f64]) {
        with_width!(self.width * LANES, solve_transposed(self, x));
    }
}

fn width_of<const W: usize>() -> usize {
    W
}

fn factorize<const W: usize>(own: &mut Square) -> bool {
    let Square { rows, pivots, .. } = own;
    let mut largest = F::ZERO;
    for row in rows.iter() {
        largest = largest.max(row.abs());
    }
    let largest = largest.to_array().into_iter().fold(0.0, f64::max);
    let (rows, _) = rows.as_chunks_mut::<W>();
    let n = rows.len();
    pivots.clear();
    for k in 0..n {
        let entry = |row: &[F; W]| row[k / LANES].as_array()[k % LANES];
        let (mut pivot, mut size) = (k, entry(&rows[k]).abs());
        for i in k + 1..n {
            let other = entry(&rows[i]).abs();
            if other > size {
                (pivot, size) = (i, other);
            }
        }
        if size.is_nan() || size <= WEAK * largest {
            return false;
        }
        pivots.push(pivot);
        if pivot != k {
            rows.swap(k, pivot);
        }
        let (above, below) = rows.split_at_mut(k + 1);
        let row = &above[k];
        let inverse = 1.0 / entry(row);
        let first = from_lane(row[k / LANES], k % LANES);
        for own in below {
            let part = entry(own) * inverse;
            if part != 0.0 {
                let four = F::splat(part);
                // The factors of L left of the diagonal stay.
                own[k / LANES] -= first * four;
                for c in k / LANES + 1..W {
                    own[c] -= row[c] * four;
                }
            }
            own[k / LANES].as_mut_array()[k % LANES] = part;
        }
    }
    true
}

/// 1 from a lane on, 0 before it.
const FROM: [[f64; LANES]; LANES] =
    [[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]];

/// `x` with 0 before a lane.
#[inline(always)]
fn from_lane(x: F, lane: usize) -> F {
    x * F::new(FROM[lane])
}

/// Uᵀ y = x, Lᵀ z = y, and the rows that changed places go back.
fn solve_transposed<const W: usize>(own: &Square, x: &mut [f64]) {
    let (rows, _) = own.rows.as_chunks::<W>();
    let mut right = [F::ZERO; W];
    for (k, x) in x.iter().enumerate() {
        right[k / LANES].as_mut_array()[k % LANES] = *x;
    }
    for (k, row) in rows.iter().enumerate() {
        let (group, lane) = (k / LANES, k % LANES);
        let known = right[group].as_array()[lane] / row[group].as_array()[lane];
        let four = F::splat(known);
        right[group] -= from_lane(row[group], lane) * four;
        for c in group + 1..W {
            right[c] -= row[c] * four;
        }
        right[group].as_mut_array()[lane] = known;
    }
    for (k, row) in rows.iter().enumerate().rev() {
        let (group, lane) = (k / LANES, k % LANES);
        let four = F::splat(right[group].as_array()[lane]);
        for c in 0..group {
            right[c] -= row[c] * four;
        }
        // Up to the diagonal.
        right[group] -= row[group] * (F::ONE - F::new(FROM[lane])) * four;
    }
    for (k, x) in x.iter_mut().enumerate() {
        *x = right[k / LANES].as_array()[k % LANES];
    }
    for (k, &pivot) in own.pivots.iter().enumerate().rev() {
        x.swap(k, pivot);
    }
}

/// e += Σ g_i δ_i over the rows `active` of the symmetric `g`, `stride` numbers a row.
pub(super) fn add_rows(g: &[f64], stride: usize, active: &[usize], delta: &[f64], e: &mut [f64]) {
    fn add<const W: usize>(g: &[f64], n: usize, active: &[usize], delta: &[f64], e: &mut [f64]) {
        // Rows follow each other: what is too many is the next row's, and goes nowhere.
        let mut sums = [F::ZERO; W];
        for (&i, delta) in active.iter().zip(delta) {
            let part = F::splat(*delta);
            let row = &g[i * n..i * n + LANES * W];
            let (fours, _) = row.as_chunks::<LANES>();
            for c in 0..W {
                sums[c] += F::new(fours[c]) * part;
            }
        }
        for (e, sum) in e.chunks_mut(LANES).zip(sums) {
            for (e, sum) in e.iter_mut().zip(sum.to_array()) {
                *e += sum;
            }
        }
    }
    with_width!(stride, add(g, stride, active, delta, e));
}

/// g ← RᵀR, `root` the six rows of R and `g` that of `n` rows, all of `stride` numbers, with room behind them ([`room`]).
pub(super) fn square(root: &[f64], stride: usize, n: usize, g: &mut [f64]) {
    fn square<const W: usize>(root: &[f64], stride: usize, n: usize, g: &mut [f64]) {
        for i in 0..n {
            let mut sums = [F::ZERO; W];
            for k in 0..6 {
                let row = &root[k * stride..k * stride + LANES * W];
                let part = F::splat(root[k * stride + i]);
                let (fours, _) = row.as_chunks::<LANES>();
                for c in 0..W {
                    sums[c] += F::new(fours[c]) * part;
                }
            }
            // What is too many is written over by the next row.
            let (fours, _) = g[i * stride..i * stride + LANES * W].as_chunks_mut::<LANES>();
            for c in 0..W {
                fours[c] = sums[c].to_array();
            }
        }
    }
    with_width!(stride, square(root, stride, n, g));
}

/// Numbers of a row of `n`: whole groups of four.
pub(super) fn stride(n: usize) -> usize {
    n.div_ceil(LANES) * LANES
}

/// How many numbers `g` has to have for [`add_rows`].
pub(super) fn room(n: usize) -> usize {
    n * stride(n) + LANES * MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes at both sides of whole groups, with a row left out, against the product.
    #[test]
    fn a_triangle_solves() {
        for n in 1..=60_usize {
            let (mut g, stride) = (vec![0.0; room(n)], stride(n));
            for i in 0..n {
                for j in 0..n {
                    let far = i.abs_diff(j) as f64;
                    g[i * stride + j] = 1.0 / (1.0 + far) + if i == j { 0.5 } else { 0.0 };
                }
            }
            let active: Vec<usize> = (0..n).filter(|i| n == 1 || *i != n / 2).collect();
            let x: Vec<f64> = active.iter().map(|&i| (i as f64 * 0.7).sin()).collect();
            let mut e = vec![0.0; n];
            add_rows(&g, stride, &active, &x, &mut e);
            let mut found: Vec<f64> = active.iter().map(|&i| e[i]).collect();
            let mut triangle = Triangle::default();
            assert!(triangle.make(&g, stride, &active));
            triangle.solve(&mut found);
            for (found, x) in found.iter().zip(&x) {
                assert!((found - x).abs() < 1e-12, "{n}: {found} for {x}");
            }
        }
        let mut triangle = Triangle::default();
        assert!(
            !triangle.make(&[1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], 4, &[0, 1]),
            "rows that say the same"
        );
    }

    /// Rows that have to change places, at sizes on both sides of whole groups.
    #[test]
    fn a_square_solves() {
        for n in 2..=23_usize {
            let (g, stride) = (vec![0.0; room(n)], stride(n));
            let active: Vec<usize> = (0..n).collect();
            let mut square = Square::default();
            square.begin(&g, stride, &active);
            let entry = |i: usize, j: usize| ((3 * i + 7 * j * j + i * j) as f64).sin();
            for i in 0..n {
                for j in 0..n {
                    *square.at(i, j) = entry(i, j);
                }
            }
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).cos()).collect();
            let mut found: Vec<f64> =
                (0..n).map(|j| (0..n).map(|i| entry(i, j) * x[i]).sum()).collect();
            assert!(square.factorize());
            square.solve_transposed(&mut found);
            for (found, x) in found.iter().zip(&x) {
                assert!((found - x).abs() < 1e-10, "{n}: {found} for {x}");
            }
        }
        let mut square = Square::default();
        square.begin(&[1.0, 2.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0], 4, &[0, 1]);
        assert!(!square.factorize(), "rows that say the same");
    }
}
