//! Damped least squares.

use super::matrix::BlockMatrix;
use super::plan::Plan;
use super::qr::{Damping, factor_damped};

/// Above this many operations the direct method gives way to the iterative one.
const MAX_WORK: f64 = 2e11;
/// Iterations of the iterative method.
const MAX_ITERATIONS: usize = 20_000;

/// The x that minimizes |A x + b|² + δ² |x + d|². (n_columns)
///
/// By orthogonal elimination of `[A; δ E]`, which does not square the condition; for a matrix so densely coupled that
/// this takes too long, by conjugate gradients (CGLS, \[Hestenes, Stiefel 1952\]).
pub(crate) fn damped_least_squares(
    matrix: &BlockMatrix,
    plan: &Plan,
    b: &[f64],
    delta: f64,
    d: Option<&[f64]>,
) -> Vec<f64> {
    let mut right = d.map_or_else(|| vec![0.0; matrix.n_columns()], <[f64]>::to_vec);
    for d in &mut right {
        *d *= delta;
    }
    if plan.work > MAX_WORK {
        return conjugate_gradients(matrix, b, delta, &right);
    }
    let damping = Damping { delta, right: &right };
    factor_damped(matrix, plan, b, damping).solve(matrix.n_columns())
}

/// The same by conjugate gradients on AᵀA + δ² E, never formed; `right` is δ d.
fn conjugate_gradients(matrix: &BlockMatrix, b: &[f64], delta: f64, right: &[f64]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let gradient = |upper: &[f64], lower: &[f64]| {
        let mut g = matrix.multiply_transposed(upper);
        g.iter_mut().zip(lower).for_each(|(g, l)| *g += delta * l);
        g
    };
    let mut x = vec![0.0; matrix.n_columns()];
    // What is left of −b and −δ d.
    let mut upper: Vec<f64> = b.iter().map(|b| -b).collect();
    let mut lower: Vec<f64> = right.iter().map(|d| -d).collect();
    let mut s = gradient(&upper, &lower);
    let mut p = s.clone();
    let mut size = dot(&s, &s);
    let goal = size * 1e-28;
    for _ in 0..MAX_ITERATIONS {
        let q = matrix.multiply(&p);
        let curvature = dot(&q, &q) + delta * delta * dot(&p, &p);
        if size <= goal || curvature <= 0.0 || !curvature.is_finite() {
            break;
        }
        let alpha = size / curvature;
        x.iter_mut().zip(&p).for_each(|(x, p)| *x += alpha * p);
        upper.iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * q);
        lower.iter_mut().zip(&p).for_each(|(r, p)| *r -= alpha * delta * p);
        s = gradient(&upper, &lower);
        let next = dot(&s, &s);
        let beta = next / size;
        size = next;
        p.iter_mut().zip(&s).for_each(|(p, s)| *p = s + beta * *p);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::matrix::Block;

    #[test]
    fn conjugate_gradients_agree_with_elimination() {
        // A chain of ten groups of two columns.
        let first_column: Vec<usize> = (0..=10).map(|g| 2 * g).collect();
        let blocks = (0..9).map(|k| Block {
            groups: vec![k, k + 1],
            first_row: 2 * k,
            n_rows: 2,
            grounded: false,
            values: vec![1.0, 0.2, -1.0, 0.5, 0.1, 1.0, 0.3, -1.0],
        });
        let matrix = BlockMatrix { first_column, blocks: blocks.collect() };
        let b: Vec<f64> = (0..18).map(|i| f64::from(i % 5) - 2.0).collect();
        let d: Vec<f64> = (0..20).map(|i| f64::from(i % 3) - 1.0).collect();
        let direct = damped_least_squares(&matrix, &Plan::new(&matrix), &b, 1e-2, Some(&d));
        let right: Vec<f64> = d.iter().map(|d| 1e-2 * d).collect();
        let iterative = conjugate_gradients(&matrix, &b, 1e-2, &right);
        for (a, b) in direct.iter().zip(&iterative) {
            assert!((a - b).abs() < 1e-8, "{a} {b}");
        }
    }
}
