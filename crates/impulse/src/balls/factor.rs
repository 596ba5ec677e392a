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
    /// What the elimination of a column subtracts from blocks below the diagonal of later columns, column after column.
    updates: Vec<Update>,
    /// Where the entries of each column begin, and where the last ones end.
    starts: Vec<usize>,
    /// Number of joints; one more column takes what belongs to none.
    spare: usize,
}

/// A symmetric matrix by its upper half: xx, xy, xz, yy, yz, zz.
pub(super) type Upper = [f64; 6];

/// A joint: one line of the cache.
#[derive(Clone, Debug, Default)]
struct Column {
    /// K_kk, then D⁻¹.
    diagonal: Upper,
    /// Product of the diagonal of K_kk, the measure of a singular pivot.
    alone: f64,
    /// Blocks below the diagonal.
    n_entries: usize,
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
        let (mut columns, mut entries, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for later in touched {
            let mut rows: Vec<usize> = later.iter().map(|&block| place[block]).collect();
            rows.sort_unstable();
            columns.push(Column { n_entries: rows.len(), ..Column::default() });
            entries.extend(rows.into_iter().map(|row| Entry { row, block: Mat3::zeros() }));
            starts.push(entries.len());
        }
        let spare = columns.len();
        let mut factor = Factor { columns, entries, updates: Vec::new(), starts, spare };
        for k in 0..spare {
            let (from, to) = (factor.starts[k], factor.starts[k + 1]);
            for b in from..to {
                for a in b + 1..to {
                    let target = factor.entry(factor.entries[a].row, factor.entries[b].row);
                    factor.updates.push(Update { target, a, b });
                }
            }
        }
        // One more of each, for links without a joint there.
        factor.columns.push(Column::default());
        factor.entries.push(Entry { row: spare, block: Mat3::zeros() });
        factor
    }

    /// The entry for pairs where one joint is not there.
    pub(super) fn spare_entry(&self) -> usize {
        self.entries.len() - 1
    }

    /// Which entry the block of joints `row` and `column` is, where `row` is eliminated after `column`.
    pub(super) fn entry(&self, row: usize, column: usize) -> usize {
        let (start, end) = (self.starts[column], self.starts[column + 1]);
        let found = self.entries[start..end].iter().position(|e| e.row == row);
        start + found.expect("elimination adds what it touches to the pattern")
    }

    /// K = 0.
    pub(super) fn clear(&mut self) {
        for column in &mut self.columns {
            column.diagonal = Upper::default();
        }
        for entry in &mut self.entries {
            entry.block = Mat3::zeros();
        }
    }

    /// K of a joint with itself.
    #[inline(always)]
    pub(super) fn diagonal(&mut self, joint: usize) -> &mut Upper {
        &mut self.columns[joint].diagonal
    }

    /// K of a pair of joints.
    #[inline(always)]
    pub(super) fn block(&mut self, entry: usize) -> &mut Mat3 {
        &mut self.entries[entry].block
    }

    /// K = L D Lᵀ. Returns the smallest determinant of a pivot block as a part of what its joint has alone; 0 where it is nearly
    /// singular.
    pub(super) fn factorize(&mut self) -> f64 {
        let mut weakest = 1.0_f64;
        for column in &mut self.columns {
            let [xx, _, _, yy, _, zz] = column.diagonal;
            column.alone = xx * yy * zz;
        }
        let (mut from, mut list) = (0, self.updates.iter());
        for k in 0..self.spare {
            let (before, after) = self.columns.split_at_mut(k + 1);
            let Column { diagonal, alone, n_entries } = &mut before[k];
            let Some((inverse, determinant)) = inverse(diagonal, SINGULAR * *alone) else {
                return 0.0;
            };
            weakest = weakest.min(determinant / *alone);
            *diagonal = inverse;
            let inverse = matrix(&inverse);
            let to = from + *n_entries;
            let (own, later) = self.entries.split_at_mut(to);
            let own = &mut own[from..];
            if let [entry] = own {
                // Chains and trees have no other.
                let raw = entry.block;
                entry.block = raw * inverse;
                subtract_symmetric(&mut after[entry.row - k - 1].diagonal, &raw, &entry.block);
                from = to;
                continue;
            }
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
            from = to;
        }
        weakest
    }

    /// Solves K x = e in place, and adds x to `sum`.
    pub(super) fn solve(&self, x: &mut [Vec3], sum: &mut [Vec3]) {
        let columns = &self.columns[..self.spare];
        let mut entries = self.entries.iter();
        for (k, column) in columns.iter().enumerate() {
            let own = x[k];
            for entry in entries.by_ref().take(column.n_entries) {
                x[entry.row] -= entry.block * own;
            }
        }
        let mut entries = self.entries[..self.entries.len() - 1].iter().rev();
        for (k, column) in columns.iter().enumerate().rev() {
            let mut own = matrix(&column.diagonal) * x[k];
            for entry in entries.by_ref().take(column.n_entries) {
                own -= entry.block.tr_mul(&x[entry.row]);
            }
            x[k] = own;
            sum[k] += own;
        }
    }
}

/// All of a symmetric matrix.
#[inline(always)]
pub(super) fn matrix(&[xx, xy, xz, yy, yz, zz]: &Upper) -> Mat3 {
    Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
}

/// c −= a bᵀ, which is symmetric.
#[inline(always)]
fn subtract_symmetric(c: &mut Upper, a: &Mat3, b: &Mat3) {
    let mut k = 0;
    for i in 0..3 {
        for j in i..3 {
            c[k] -= a[(i, 0)] * b[(j, 0)] + a[(i, 1)] * b[(j, 1)] + a[(i, 2)] * b[(j, 2)];
            k += 1;
        }
    }
}

/// The inverse of a symmetric matrix by its cofactors, and its determinant, if that is above `least`.
#[inline(always)]
pub(super) fn inverse(&[xx, xy, xz, yy, yz, zz]: &Upper, least: f64) -> Option<(Upper, f64)> {
    let c_xx = yy * zz - yz * yz;
    let c_xy = xz * yz - xy * zz;
    let c_xz = xy * yz - xz * yy;
    let determinant = xx * c_xx + xy * c_xy + xz * c_xz;
    if determinant.is_nan() || determinant <= least {
        return None;
    }
    let d = 1.0 / determinant;
    let (yy_inv, yz_inv) = ((xx * zz - xz * xz) * d, (xy * xz - xx * yz) * d);
    let zz_inv = (xx * yy - xy * xy) * d;
    Some(([c_xx * d, c_xy * d, c_xz * d, yy_inv, yz_inv, zz_inv], determinant))
}
