//! H = L U with blocks of 6 × 6, where it has no symmetry; the pattern has.

use super::cholesky::{Block, Six};
use super::pattern::{Island, Pattern};

/// H and its factors.
#[derive(Clone, Debug, Default)]
pub(super) struct Lu {
    /// Diagonal blocks; after the factorization their inverses. (n columns)
    pub diagonal: Vec<Block>,
    /// Blocks below them, and those above, in the places of their mirror images; afterwards L and U. (n entries)
    pub below: Vec<Block>,
    pub above: Vec<Block>,
}

impl Lu {
    /// Memory for a pattern.
    pub(super) fn resize(&mut self, pattern: &Pattern) {
        self.diagonal.resize(pattern.body.len(), [0.0; 36]);
        self.below.resize(pattern.entry_row.len(), [0.0; 36]);
        self.above.resize(pattern.entry_row.len(), [0.0; 36]);
    }

    /// H = 1 of an island.
    pub(super) fn reset(&mut self, pattern: &Pattern, island: &Island) {
        let (from, to) = island.columns;
        let mut one = [0.0; 36];
        for k in 0..6 {
            one[7 * k] = 1.0;
        }
        self.diagonal[from..to].fill(one);
        let entries = pattern.first_entry[from]..pattern.first_entry[to];
        self.below[entries.clone()].fill([0.0; 36]);
        self.above[entries].fill([0.0; 36]);
    }

    /// Factorizes an island; false where a diagonal block has no inverse.
    pub(super) fn factorize(&mut self, pattern: &Pattern, island: &Island) -> bool {
        for k in island.columns.0..island.columns.1 {
            let Some(inverse) = inverse(&self.diagonal[k]) else { return false };
            self.diagonal[k] = inverse;
            for entry in pattern.first_entry[k]..pattern.first_entry[k + 1] {
                let below = self.below[entry];
                self.below[entry] = [0.0; 36];
                add_product(&below, &inverse, 1.0, &mut self.below[entry]);
            }
            for u in &pattern.updates[pattern.first_update[k]..pattern.first_update[k + 1]] {
                let (l, up) = (self.below[u.a], self.above[u.b]);
                if u.a == u.b {
                    add_product(&l, &up, -1.0, &mut self.diagonal[u.target]);
                } else {
                    add_product(&l, &up, -1.0, &mut self.below[u.target]);
                    let (l, up) = (self.below[u.b], self.above[u.a]);
                    add_product(&l, &up, -1.0, &mut self.above[u.target]);
                }
            }
        }
        true
    }

    /// x ← H⁻¹ x on an island.
    pub(super) fn solve(&self, pattern: &Pattern, island: &Island, x: &mut [Six]) {
        let (from, to) = island.columns;
        for k in from..to {
            let own = x[k];
            for entry in pattern.first_entry[k]..pattern.first_entry[k + 1] {
                subtract_applied(&self.below[entry], &own, &mut x[pattern.entry_row[entry]]);
            }
        }
        for k in (from..to).rev() {
            let mut own = x[k];
            for entry in pattern.first_entry[k]..pattern.first_entry[k + 1] {
                let later = x[pattern.entry_row[entry]];
                subtract_applied(&self.above[entry], &later, &mut own);
            }
            let inverse = &self.diagonal[k];
            for i in 0..6 {
                x[k][i] = (0..6).map(|j| inverse[6 * i + j] * own[j]).sum();
            }
        }
    }
}

/// The inverse of a block, by Gauss and Jordan with rows changing places.
fn inverse(a: &Block) -> Option<Block> {
    let mut a = *a;
    let mut b = [0.0; 36];
    for k in 0..6 {
        b[7 * k] = 1.0;
    }
    for k in 0..6 {
        let mut pivot = k;
        for i in k + 1..6 {
            if a[6 * i + k].abs() > a[6 * pivot + k].abs() {
                pivot = i;
            }
        }
        let size = a[6 * pivot + k];
        if size == 0.0 || !size.is_finite() {
            return None;
        }
        for j in 0..6 {
            a.swap(6 * k + j, 6 * pivot + j);
            b.swap(6 * k + j, 6 * pivot + j);
        }
        let one = 1.0 / size;
        for j in 0..6 {
            a[6 * k + j] *= one;
            b[6 * k + j] *= one;
        }
        for i in (0..6).filter(|&i| i != k) {
            let part = a[6 * i + k];
            if part != 0.0 {
                for j in 0..6 {
                    a[6 * i + j] -= part * a[6 * k + j];
                    b[6 * i + j] -= part * b[6 * k + j];
                }
            }
        }
    }
    Some(b)
}

/// c += part a b.
fn add_product(a: &Block, b: &Block, part: f64, c: &mut Block) {
    for i in 0..6 {
        let mut row = [0.0; 6];
        row.copy_from_slice(&c[6 * i..6 * i + 6]);
        for m in 0..6 {
            let f = part * a[6 * i + m];
            for j in 0..6 {
                row[j] += f * b[6 * m + j];
            }
        }
        c[6 * i..6 * i + 6].copy_from_slice(&row);
    }
}

/// y −= a x.
fn subtract_applied(a: &Block, x: &Six, y: &mut Six) {
    for i in 0..6 {
        for j in 0..6 {
            y[i] -= a[6 * i + j] * x[j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block times its inverse, with a zero where the first pivot would be.
    #[test]
    fn inverts_a_block() {
        let mut a = [0.0; 36];
        for i in 0..6 {
            for j in 0..6 {
                a[6 * i + j] = ((7 * i + 3 * j + i * j) % 11) as f64 - 4.5;
            }
        }
        a[0] = 0.0;
        let b = inverse(&a).expect("a regular block");
        let mut c = [0.0; 36];
        add_product(&a, &b, 1.0, &mut c);
        for (k, c) in c.iter().enumerate() {
            let one = if k % 7 == 0 { 1.0 } else { 0.0 };
            assert!((c - one).abs() < 1e-12, "{k}: {c}");
        }
        assert!(inverse(&[1.0; 36]).is_none());
    }
}
