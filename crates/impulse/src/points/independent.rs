//! Redundant constraints: found by rank, left out.

use nalgebra::DVector;

use super::system::{PointState, PointSystem};

/// Constraints whose gradient, of length 1 after weighting with the masses, leaves at most this much beside the span of
/// others count as redundant.
pub const RANK_TOLERANCE: f64 = 1e-9;

/// A largest set of independent constraints at a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Independent {
    /// Constraints that stay, ascending; their number is the rank.
    pub kept: Vec<usize>,
    /// Constraints that follow from those, ascending.
    pub removed: Vec<usize>,
    /// The smallest pivot of those that stay; near the tolerance the rank is in doubt. Infinite without constraints.
    pub smallest_kept: f64,
    /// The largest pivot of those removed; 0 without any.
    pub largest_removed: f64,
    /// Pivots up to this count as zero.
    pub tolerance: f64,
}

/// Finds a largest set of independent constraints: \[Schmitt, Bender, Prautzsch 2005\] section 4, last theorem.
///
/// The rows G_k M^−½, scaled to length 1, are taken in the order of what the others leave of them (orthogonalization with
/// row pivoting, each row made orthogonal twice); what leaves at most `tolerance` is redundant. The matrix M of those
/// that stay is regular.
pub fn independent(system: &PointSystem, state: &PointState, tolerance: f64) -> Independent {
    let n = system.names.len();
    let m = system.constraints.len();
    let mut rows: Vec<DVector<f64>> = Vec::with_capacity(m);
    for constraint in &system.constraints {
        let mut row = DVector::<f64>::zeros(3 * n);
        for (point, g) in constraint.gradient(state).0 {
            let weighted = g * system.mass_inv[point].sqrt();
            for axis in 0..3 {
                row[3 * point + axis] += weighted[axis];
            }
        }
        let length = row.norm();
        // Between fixed points, or without a value: nothing to act on.
        let sound = length > 0.0 && length.is_finite();
        rows.push(if sound { row / length } else { DVector::zeros(3 * n) });
    }
    let mut rest: Vec<usize> = (0..m).collect();
    let mut basis: Vec<DVector<f64>> = Vec::new();
    let mut found = Independent {
        kept: Vec::new(),
        removed: Vec::new(),
        smallest_kept: f64::INFINITY,
        largest_removed: 0.0,
        tolerance,
    };
    while let Some((at, pivot)) = longest(&rest, &rows) {
        if pivot <= tolerance {
            found.largest_removed = pivot;
            break;
        }
        let k = rest.remove(at);
        let mut q = rows[k].clone();
        for b in &basis {
            q -= b * b.dot(&q);
        }
        q /= q.norm();
        for &other in &rest {
            let share = q.dot(&rows[other]);
            rows[other].axpy(-share, &q, 1.0);
        }
        basis.push(q);
        found.kept.push(k);
        found.smallest_kept = found.smallest_kept.min(pivot);
    }
    found.kept.sort_unstable();
    found.removed = rest;
    found
}

/// Place in `rest` and length of the longest row, the first among equals.
fn longest(rest: &[usize], rows: &[DVector<f64>]) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for (at, &k) in rest.iter().enumerate() {
        let length = rows[k].norm();
        if best.is_none_or(|(_, other)| length > other) {
            best = Some((at, length));
        }
    }
    best
}
