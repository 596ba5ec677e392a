//! The curvature of the Lagrangian: exact, that of the objective alone, or by damped BFGS updates stage by stage.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use crate::program::StageDerivatives;
use crate::shape::Shape;

/// Which curvature the Newton steps use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hessian {
    /// Second derivatives of objective, conditions and interval maps.
    #[default]
    Exact,
    /// Of the objective alone (Gauss and Newton's for sums of squares).
    GaussNewton,
    /// Damped BFGS updates of each stage's block (Powell 1978), as the thesis's program had.
    Bfgs,
}

/// Gradient of stage k's Lagrangian by (w, p).
fn gradient(
    shape: &Shape,
    stage: &StageDerivatives,
    k: usize,
    y: &[f64],
    v: &[f64],
) -> DVector<f64> {
    let mut g = stage.gradient.clone();
    let part = |list: &[f64], at: usize, n: usize| DVector::from_column_slice(&list[at..at + n]);
    let s = &shape.stages[k];
    g += stage.equal.tr_mul(&part(y, shape.equal_at(k), s.equalities));
    g += stage.unequal.tr_mul(&part(v, shape.unequal_at(k), s.inequalities));
    g += stage.left.tr_mul(&part(y, shape.link_at(k), s.links));
    if k > 0 {
        g -= stage.right.tr_mul(&part(y, shape.link_at(k - 1), shape.stages[k - 1].links));
    }
    g
}

/// B of all stages after a step from x to x_new.
pub(crate) fn update(
    shape: &Shape,
    blocks: &mut [DMatrix<f64>],
    old: (&[f64], &[StageDerivatives]),
    new: (&[f64], &[StageDerivatives]),
    multipliers: (&[f64], &[f64]),
) {
    let (y, v) = multipliers;
    for (k, b) in blocks.iter_mut().enumerate() {
        let s = DVector::from_vec(shape.point(new.0, k)) - DVector::from_vec(shape.point(old.0, k));
        let mut d = gradient(shape, &new.1[k], k, y, v) - gradient(shape, &old.1[k], k, y, v);
        let bs = &*b * &s;
        let sbs = s.dot(&bs);
        if sbs <= 1e-20 || s.amax() <= 1e-14 {
            continue;
        }
        let sd = s.dot(&d);
        if sd < 0.2 * sbs {
            let share = 0.8 * sbs / (sbs - sd);
            d = d * share + &bs * (1.0 - share);
        }
        let sd = s.dot(&d);
        *b += &d * d.transpose() / sd - &bs * bs.transpose() / sbs;
    }
}
