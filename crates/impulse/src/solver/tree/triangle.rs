//! A = Uᵀ D⁻¹ U of small symmetric matrices, D the diagonal of U, with rows of whole groups of four numbers: their loops have no ends to look for.

use crate::lanes::{F, LANES};

/// A pivot below this part of the largest response is none: contacts say the same.
pub(super) const WEAK: f64 = 1e-9;

/// The triangle U without its diagonal, row after row, and the inverse of the diagonal.
#[derive(Clone, Debug, Default)]
pub(super) struct Triangle {
    rows: Vec<F>,
    inverse: Vec<f64>,
    right: Vec<F>,
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
    /// Factorizes the part `active` of the symmetric `g` (n × n); false where it is nearly singular. There are at most 60.
    pub(super) fn make(&mut self, g: &[f64], n: usize, active: &[usize]) -> bool {
        with_width!(active.len(), make(self, g, n, active))
    }

    /// x ← A⁻¹ x.
    pub(super) fn solve(&mut self, x: &mut [f64]) {
        with_width!(x.len(), solve(self, x));
    }
}

fn make<const W: usize>(own: &mut Triangle, g: &[f64], n: usize, active: &[usize]) -> bool {
    let Triangle { rows, inverse, .. } = own;
    rows.clear();
    inverse.clear();
    let mut largest = 0.0_f64;
    for &i in active {
        let from = &g[i * n..(i + 1) * n];
        largest = largest.max(from[i]);
        let mut row = [0.0; 4 * MOST];
        for (to, &j) in row.iter_mut().zip(active) {
            *to = from[j];
        }
        let (fours, _) = row.as_chunks::<LANES>();
        rows.extend(fours[..W].iter().map(|four| F::new(*four)));
    }
    let (rows, _) = rows.as_chunks_mut::<W>();
    for k in 0..rows.len() {
        let (done, rest) = rows.split_at_mut(k + 1);
        let row = &mut done[k];
        let mut numbers = [[0.0; LANES]; W];
        for c in 0..W {
            numbers[c] = row[c].to_array();
        }
        let pivot = numbers[k / LANES][k % LANES];
        if pivot.is_nan() || pivot <= WEAK * largest {
            return false;
        }
        let one_over = 1.0 / pivot;
        inverse.push(one_over);
        for (i, own) in (k + 1..).zip(rest) {
            let part = F::splat(numbers[i / LANES][i % LANES] * one_over);
            for c in 0..W {
                own[c] -= row[c] * part;
            }
        }
        // What is left of the diagonal, and the diagonal itself, counts for nothing.
        for j in 0..=k {
            numbers[j / LANES][j % LANES] = 0.0;
        }
        for c in 0..W {
            row[c] = F::new(numbers[c]);
        }
    }
    true
}

fn solve<const W: usize>(own: &mut Triangle, x: &mut [f64]) {
    let Triangle { rows, inverse, right } = own;
    let (rows, _) = rows.as_chunks::<W>();
    // y = Uᵀ⁻¹ x, divided by D.
    let mut padded = [0.0; 4 * MOST];
    padded[..x.len()].copy_from_slice(x);
    let (fours, _) = padded.as_chunks::<LANES>();
    right.clear();
    right.extend(fours[..W].iter().map(|four| F::new(*four)));
    let (right, _) = right.as_chunks_mut::<W>();
    let Some(right) = right.first_mut() else { return };
    for (k, row) in rows.iter().enumerate() {
        let y = right[k / LANES].to_array()[k % LANES] * inverse[k];
        x[k] = y;
        let part = F::splat(y);
        for c in 0..W {
            right[c] -= row[c] * part;
        }
    }
    // x = y − D⁻¹ U x.
    let mut known = [F::ZERO; W];
    for (k, row) in rows.iter().enumerate().rev() {
        let mut sum = F::ZERO;
        for c in 0..W {
            sum += known[c] * row[c];
        }
        x[k] -= sum.reduce_add() * inverse[k];
        let mut four = known[k / LANES].to_array();
        four[k % LANES] = x[k];
        known[k / LANES] = F::new(four);
    }
}

/// e += Σ g_i δ_i over the rows `active` of the symmetric `g` (n × n).
pub(super) fn add_rows(g: &[f64], n: usize, active: &[usize], delta: &[f64], e: &mut [f64]) {
    fn add<const W: usize>(g: &[f64], n: usize, active: &[usize], delta: &[f64], e: &mut [f64]) {
        // Rows follow each other: four numbers too many are the next row's, and go nowhere.
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
    with_width!(n, add(g, n, active, delta, e));
}

/// How many numbers `g` has to have for [`add_rows`].
pub(super) fn room(n: usize) -> usize {
    n * n + LANES * MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes at both sides of whole groups, with a row left out, against the product.
    #[test]
    fn a_triangle_solves() {
        for n in 1..=60_usize {
            let mut g = vec![0.0; room(n)];
            for i in 0..n {
                for j in 0..n {
                    let far = i.abs_diff(j) as f64;
                    g[i * n + j] = 1.0 / (1.0 + far) + if i == j { 0.5 } else { 0.0 };
                }
            }
            let active: Vec<usize> = (0..n).filter(|i| n == 1 || *i != n / 2).collect();
            let x: Vec<f64> = active.iter().map(|&i| (i as f64 * 0.7).sin()).collect();
            let mut e = vec![0.0; n];
            add_rows(&g, n, &active, &x, &mut e);
            let mut found: Vec<f64> = active.iter().map(|&i| e[i]).collect();
            let mut triangle = Triangle::default();
            assert!(triangle.make(&g, n, &active));
            triangle.solve(&mut found);
            for (found, x) in found.iter().zip(&x) {
                assert!((found - x).abs() < 1e-12, "{n}: {found} for {x}");
            }
        }
        let mut triangle = Triangle::default();
        assert!(!triangle.make(&[1.0, 1.0, 1.0, 1.0], 2, &[0, 1]), "rows that say the same");
    }
}
