//! Damped least squares.

use super::matrix::BlockMatrix;
use super::plan::Plan;
use super::qr::{Damping, factor};

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
    right.iter_mut().for_each(|d| *d *= delta);
    if plan.work > MAX_WORK {
        return conjugate_gradients(matrix, b, delta, &right);
    }
    let damping = Damping { delta, right: &right };
    factor(matrix, plan, b, Some(damping), 0.0).solve(matrix.n_columns())
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
