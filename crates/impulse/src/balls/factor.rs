//! K = J M⁻¹ Jᵀ of ball joints as a sparse matrix of 3 × 3 blocks, and its factorization K = L D Lᵀ.

use gelenk_model::math::{Mat3, Vec3};

/// A pivot block whose determinant has fallen below this part of what its joint has alone is nearly singular. Such
/// systems are left to the general solver, which looks at single rows.
const SINGULAR: f64 = 1e-10;

/// The factor: pattern made once for a model, numbers made once a step. All indices are in elimination order.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    columns: Vec<Column>,
    /// Blocks below the diagonal, column after column.
    entries: Vec<Entry>,
    /// What the elimination of a column subtracts from blocks below the diagonal of later columns.
    updates: Vec<Update>,
    /// Number of joints; one more column takes what belongs to none.
    spare: usize,
}

/// A joint.
#[derive(Clone, Debug)]
struct Column {
    /// K_kk, upper half, then D⁻¹.
    diagonal: Mat3,
    entries: (usize, usize),
    updates: (usize, usize),
}

/// A block below the diagonal: K_jk, then L_jk.
#[derive(Clone, Debug)]
struct Entry {
    row: usize,
    block: Mat3,
}

/// entries[target] −= K_a L_bᵀ.
#[derive(Clone, Copy, Debug)]
struct Update {
    target: usize,
    a: usize,
    b: usize,
}

impl Factor {
    /// The pattern. `touched` lists, in elimination order, the row blocks that the elimination of each one touches; `place`
    /// says where each row block comes in it.
    pub(super) fn new(touched: &[Vec<usize>], place: &[usize]) -> Self {
        let mut factor =
            Factor { columns: Vec::new(), entries: Vec::new(), updates: Vec::new(), spare: 0 };
        for later in touched {
            let mut rows: Vec<usize> = later.iter().map(|&block| place[block]).collect();
            rows.sort_unstable();
            let first = factor.entries.len();
            for row in rows {
                factor.entries.push(Entry { row, block: Mat3::zeros() });
            }
            let entries = (first, factor.entries.len());
            factor.columns.push(Column { diagonal: Mat3::zeros(), entries, updates: (0, 0) });
        }
        for k in 0..factor.columns.len() {
            let first = factor.updates.len();
            let (from, to) = factor.columns[k].entries;
            for b in from..to {
                for a in b + 1..to {
                    let target = factor.entry(factor.entries[a].row, factor.entries[b].row);
                    factor.updates.push(Update { target, a, b });
                }
            }
            factor.columns[k].updates = (first, factor.updates.len());
        }
        // One more of each, for links without a joint there.
        factor.spare = factor.columns.len();
        factor.columns.push(Column { diagonal: Mat3::zeros(), entries: (0, 0), updates: (0, 0) });
        factor.entries.push(Entry { row: factor.spare, block: Mat3::zeros() });
        factor
    }

    /// The entry for pairs where one joint is not there.
    pub(super) fn spare_entry(&self) -> usize {
        self.entries.len() - 1
    }

    /// Which entry the block of joints `row` and `column` is, where `row` is eliminated after `column`.
    pub(super) fn entry(&self, row: usize, column: usize) -> usize {
        let (start, end) = self.columns[column].entries;
        let found = self.entries[start..end].iter().position(|e| e.row == row);
        start + found.expect("elimination adds what it touches to the pattern")
    }

    /// K = 0.
    pub(super) fn clear(&mut self) {
        for column in &mut self.columns {
            column.diagonal = Mat3::zeros();
        }
        for entry in &mut self.entries {
            entry.block = Mat3::zeros();
        }
    }

    /// K of a joint with itself; the upper half counts.
    #[inline(always)]
    pub(super) fn diagonal(&mut self, joint: usize) -> &mut Mat3 {
        &mut self.columns[joint].diagonal
    }

    /// K of a pair of joints.
    #[inline(always)]
    pub(super) fn block(&mut self, entry: usize) -> &mut Mat3 {
        &mut self.entries[entry].block
    }

    /// K = L D Lᵀ. Returns the smallest determinant of a pivot block as a part of what its joint has `alone`; 0 where it is nearly
    /// singular.
    pub(super) fn factorize(&mut self, alone: &[f64]) -> f64 {
        let mut weakest = 1.0_f64;
        for k in 0..self.spare {
            let (before, after) = self.columns.split_at_mut(k + 1);
            let Column { diagonal, entries, updates } = &mut before[k];
            let Some((inverse, determinant)) = inverse(diagonal, SINGULAR * alone[k]) else {
                return 0.0;
            };
            weakest = weakest.min(determinant / alone[k]);
            *diagonal = inverse;
            let (from, to) = *entries;
            let (own, later) = self.entries.split_at_mut(to);
            let own = &mut own[from..];
            if let [entry] = own {
                // Chains and trees have no other.
                let raw = entry.block;
                entry.block = raw * inverse;
                subtract_symmetric(&mut after[entry.row - k - 1].diagonal, &raw, &entry.block);
                continue;
            }
            let mut list = self.updates[updates.0..updates.1].iter();
            for b in 0..own.len() {
                let raw = own[b].block;
                let l = raw * inverse;
                own[b].block = l;
                subtract_symmetric(&mut after[own[b].row - k - 1].diagonal, &raw, &l);
                // Those after b still hold K_ak.
                for update in list.by_ref().take(own.len() - b - 1) {
                    debug_assert_eq!(update.b - from, b);
                    later[update.target - to].block -= own[update.a - from].block * l.transpose();
                }
            }
        }
        weakest
    }

    /// Solves K x = e in place, and adds x to `sum`.
    pub(super) fn solve(&self, x: &mut [Vec3], sum: &mut [Vec3]) {
        let columns = &self.columns[..self.spare];
        let mut entries = self.entries.iter();
        for (k, column) in columns.iter().enumerate() {
            let own = x[k];
            for entry in entries.by_ref().take(column.n_entries()) {
                x[entry.row] -= entry.block * own;
            }
        }
        let mut entries = self.entries[..self.entries.len() - 1].iter().rev();
        for (k, column) in columns.iter().enumerate().rev() {
            let mut own = column.diagonal * x[k];
            for entry in entries.by_ref().take(column.n_entries()) {
                own -= entry.block.tr_mul(&x[entry.row]);
            }
            x[k] = own;
            sum[k] += own;
        }
    }
}

impl Column {
    /// Blocks below the diagonal.
    #[inline(always)]
    fn n_entries(&self) -> usize {
        self.entries.1 - self.entries.0
    }
}

/// c −= a bᵀ, which is symmetric; the upper half alone.
#[inline(always)]
fn subtract_symmetric(c: &mut Mat3, a: &Mat3, b: &Mat3) {
    for i in 0..3 {
        for j in i..3 {
            c[(i, j)] -= a[(i, 0)] * b[(j, 0)] + a[(i, 1)] * b[(j, 1)] + a[(i, 2)] * b[(j, 2)];
        }
    }
}

/// The inverse of a symmetric matrix, given its upper half, by its cofactors, and its determinant, if
/// that is above `least`.
#[inline(always)]
pub(super) fn inverse(a: &Mat3, least: f64) -> Option<(Mat3, f64)> {
    let (xx, xy, xz) = (a.m11, a.m12, a.m13);
    let (yy, yz, zz) = (a.m22, a.m23, a.m33);
    let c_xx = yy * zz - yz * yz;
    let c_xy = xz * yz - xy * zz;
    let c_xz = xy * yz - xz * yy;
    let determinant = xx * c_xx + xy * c_xy + xz * c_xz;
    if determinant.is_nan() || determinant <= least {
        return None;
    }
    let d = 1.0 / determinant;
    let (xx_inv, xy_inv, xz_inv) = (c_xx * d, c_xy * d, c_xz * d);
    let (yy_inv, yz_inv) = ((xx * zz - xz * xz) * d, (xy * xz - xx * yz) * d);
    let zz_inv = (xx * yy - xy * xy) * d;
    let inverse = Mat3::new(
        xx_inv, xy_inv, xz_inv, //
        xy_inv, yy_inv, yz_inv, //
        xz_inv, yz_inv, zz_inv,
    );
    Some((inverse, determinant))
}
