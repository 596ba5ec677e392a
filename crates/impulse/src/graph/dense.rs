//! A small dense matrix and its factor, four columns at a time.

use crate::lanes::{F, LANES};

/// Numbers in whole lanes.
type Lane = [f64; LANES];

/// A square matrix, row by row, each padded to whole lanes; after [`factor`](Dense::factor) P A = L U in place.
#[derive(Clone, Debug, Default)]
pub(super) struct Dense {
    n: usize,
    /// Lanes of a row.
    width: usize,
    rows: Vec<Lane>,
    /// Row of A at each place.
    order: Vec<usize>,
    pivot: Vec<Lane>,
    x: Vec<Lane>,
    y: Vec<Lane>,
}

impl Dense {
    /// Zero, n × n.
    pub(super) fn clear(&mut self, n: usize) {
        (self.n, self.width) = (n, n.div_ceil(LANES));
        self.rows.clear();
        self.rows.resize(n * self.width, [0.0; LANES]);
    }

    pub(super) fn n(&self) -> usize {
        self.n
    }

    /// Row i, with its padding.
    #[inline(always)]
    pub(super) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        self.rows[i * self.width..(i + 1) * self.width].as_flattened_mut()
    }

    /// Gauss's elimination with the largest entry of each column; false where there is none.
    pub(super) fn factor(&mut self) -> bool {
        let (n, width) = (self.n, self.width);
        self.order.clear();
        self.order.extend(0..n);
        for k in 0..n {
            let (first, lane) = (k / LANES, k % LANES);
            let (mut best, mut at) = (0.0, k);
            for (i, row) in self.rows.chunks_exact(width).enumerate().skip(k) {
                let x = row[first][lane].abs();
                if x > best {
                    (best, at) = (x, i);
                }
            }
            if !(best > 0.0 && best.is_finite()) {
                return false;
            }
            let (upper, lower) = self.rows.split_at_mut((k + 1) * width);
            let own = &mut upper[k * width..];
            if at != k {
                self.order.swap(k, at);
                own.swap_with_slice(&mut lower[(at - k - 1) * width..][..width]);
            }
            let inverse = 1.0 / own[first][lane];
            // Columns before the next one stay as they are.
            self.pivot.clear();
            self.pivot.extend_from_slice(&own[first..]);
            if let Some(pivot) = self.pivot.first_mut() {
                pivot[..=lane].fill(0.0);
            }
            for row in lower.chunks_exact_mut(width) {
                let row = &mut row[first..];
                let factor = row[0][lane] * inverse;
                if factor != 0.0 {
                    let factor = F::splat(factor);
                    for (x, y) in row.iter_mut().zip(&self.pivot) {
                        *x = (F::new(*x) - factor * F::new(*y)).to_array();
                    }
                }
                row[0][lane] = factor;
            }
        }
        true
    }

    /// v += A⁻¹ b.
    pub(super) fn add_solution(&mut self, b: &[f64], v: &mut [f64]) {
        let Self { n, width, rows, order, x, y, .. } = self;
        for x in [&mut *x, &mut *y] {
            x.clear();
            x.resize(*width, [0.0; LANES]);
        }
        // What is not known yet is zero.
        for (k, (row, from)) in rows.chunks_exact(*width).zip(order).enumerate() {
            let end = k / LANES + 1;
            x[k / LANES][k % LANES] = b[*from] - dot(&row[..end], &x[..end]);
        }
        for (k, row) in rows.chunks_exact(*width).enumerate().rev() {
            let (first, lane) = (k / LANES, k % LANES);
            let rest = x[first][lane] - dot(&row[first..], &y[first..]);
            y[first][lane] = rest / row[first][lane];
        }
        debug_assert_eq!(*n, v.len());
        v.iter_mut().zip(y.as_flattened()).for_each(|(v, y)| *v += y);
    }
}

#[inline(always)]
fn dot(a: &[Lane], b: &[Lane]) -> f64 {
    let sum = a.iter().zip(b).fold(F::ZERO, |sum, (a, b)| sum + F::new(*a) * F::new(*b));
    let [a, b, c, d] = sum.to_array();
    (a + b) + (c + d)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A x of a matrix whose first pivot is zero, of a size that fills no whole lanes.
    #[test]
    fn a_solution_gives_the_right_side() {
        let n = 7;
        let entry = |i: usize, k: usize| ((3 * i + 5 * k + i * k) % 11) as f64 - 2.0;
        let mut dense = Dense::default();
        dense.clear(n);
        for i in 0..n {
            (0..n).for_each(|k| dense.row_mut(i)[k] = entry(i, k));
        }
        dense.row_mut(0)[0] = 0.0;
        assert!(dense.factor());
        let b: Vec<f64> = (0..n).map(|i| i as f64 - 2.5).collect();
        let mut x = vec![0.0; n];
        dense.add_solution(&b, &mut x);
        for (i, b) in b.iter().enumerate() {
            let row = |k: usize| if i + k == 0 { 0.0 } else { entry(i, k) };
            let sum: f64 = (0..n).map(|k| row(k) * x[k]).sum();
            assert!((sum - b).abs() < 1e-12, "{i}: {sum} {b}");
        }
        dense.clear(2);
        assert!(!dense.factor());
    }
}
