//! H = L Lᵀ with blocks of 6 × 6.

use super::pattern::{Island, Pattern};

/// A block, row-major.
pub(super) type Block = [f64; 36];

/// Six numbers of a body.
pub(super) type Six = [f64; 6];

/// H and its factor.
#[derive(Clone, Debug, Default)]
pub(super) struct Cholesky {
    /// Diagonal blocks; after the factorization L with the inverses of its diagonal. (n columns)
    pub diagonal: Vec<Block>,
    /// Blocks below them. (n entries)
    pub below: Vec<Block>,
}

impl Cholesky {
    /// Memory for a pattern.
    pub(super) fn resize(&mut self, pattern: &Pattern) {
        self.diagonal.resize(pattern.body.len(), [0.0; 36]);
        self.below.resize(pattern.entry_row.len(), [0.0; 36]);
    }

    /// H = 1 of an island.
    pub(super) fn reset(&mut self, pattern: &Pattern, island: &Island) {
        let (from, to) = island.columns;
        let mut one = [0.0; 36];
        for k in 0..6 {
            one[7 * k] = 1.0;
        }
        self.diagonal[from..to].fill(one);
        self.below[pattern.first_entry[from]..pattern.first_entry[to]].fill([0.0; 36]);
    }

    /// Factorizes an island. H ≥ 1, so that every pivot is at least 1 but for rounding.
    pub(super) fn factorize(&mut self, pattern: &Pattern, island: &Island) {
        for k in island.columns.0..island.columns.1 {
            factor(&mut self.diagonal[k]);
            for entry in pattern.first_entry[k]..pattern.first_entry[k + 1] {
                divide(&self.diagonal[k], &mut self.below[entry]);
            }
            for u in &pattern.updates[pattern.first_update[k]..pattern.first_update[k + 1]] {
                let (l_a, l_b) = (self.below[u.a], &self.below[u.b]);
                if u.a == u.b {
                    subtract(&l_a, &l_a, &mut self.diagonal[u.target]);
                } else {
                    let l_b = *l_b;
                    subtract(&l_a, &l_b, &mut self.below[u.target]);
                }
            }
        }
    }

    /// x ← H⁻¹ x on an island.
    pub(super) fn solve(&self, pattern: &Pattern, island: &Island, x: &mut [Six]) {
        let (from, to) = island.columns;
        for k in from..to {
            let l = &self.diagonal[k];
            let mut own = x[k];
            for i in 0..6 {
                for j in 0..i {
                    own[i] -= l[6 * i + j] * own[j];
                }
                own[i] *= l[7 * i];
            }
            x[k] = own;
            for entry in pattern.first_entry[k]..pattern.first_entry[k + 1] {
                let (l, later) = (&self.below[entry], &mut x[pattern.entry_row[entry]]);
                for i in 0..6 {
                    for j in 0..6 {
                        later[i] -= l[6 * i + j] * own[j];
                    }
                }
            }
        }
        for k in (from..to).rev() {
            let mut own = x[k];
            for entry in pattern.first_entry[k]..pattern.first_entry[k + 1] {
                let (l, later) = (&self.below[entry], &x[pattern.entry_row[entry]]);
                for i in 0..6 {
                    for j in 0..6 {
                        own[j] -= l[6 * i + j] * later[i];
                    }
                }
            }
            let l = &self.diagonal[k];
            for i in (0..6).rev() {
                for j in i + 1..6 {
                    own[i] -= l[6 * j + i] * own[j];
                }
                own[i] *= l[7 * i];
            }
            x[k] = own;
        }
    }
}

/// a ← L with a = L Lᵀ, its diagonal inverted.
fn factor(a: &mut Block) {
    for j in 0..6 {
        for m in 0..j {
            let l = a[6 * j + m];
            for i in j..6 {
                a[6 * i + j] -= a[6 * i + m] * l;
            }
        }
        // What is not positive is rounding far beyond the tolerances; the look at the errors will tell.
        let inverse = 1.0 / a[7 * j].max(0.25).sqrt();
        for i in j + 1..6 {
            a[6 * i + j] *= inverse;
        }
        a[7 * j] = inverse;
    }
}

/// b ← b L⁻ᵀ.
fn divide(l: &Block, b: &mut Block) {
    // Columns of b one after the other, all six rows at once.
    let mut columns = [[0.0; 6]; 6];
    for j in 0..6 {
        let mut column = [0.0; 6];
        for i in 0..6 {
            column[i] = b[6 * i + j];
        }
        for m in 0..j {
            let f = l[6 * j + m];
            for i in 0..6 {
                column[i] -= columns[m][i] * f;
            }
        }
        for i in 0..6 {
            column[i] *= l[7 * j];
        }
        columns[j] = column;
    }
    for j in 0..6 {
        for i in 0..6 {
            b[6 * i + j] = columns[j][i];
        }
    }
}

/// c ← c − a bᵀ.
fn subtract(a: &Block, b: &Block, c: &mut Block) {
    let mut bt = [0.0; 36];
    for i in 0..6 {
        for j in 0..6 {
            bt[6 * i + j] = b[6 * j + i];
        }
    }
    for i in 0..6 {
        let mut row = [0.0; 6];
        row.copy_from_slice(&c[6 * i..6 * i + 6]);
        for m in 0..6 {
            let f = a[6 * i + m];
            for j in 0..6 {
                row[j] -= f * bt[6 * m + j];
            }
        }
        c[6 * i..6 * i + 6].copy_from_slice(&row);
    }
}
