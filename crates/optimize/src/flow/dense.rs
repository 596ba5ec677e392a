//! Small dense algebra, row by row in flat slices: what an interval needs, without allocation.

/// c += a b, with a of r rows and n columns, b of n rows and k columns.
pub(crate) fn multiply_add(a: &[f64], b: &[f64], c: &mut [f64], n: usize, k: usize) {
    for (a_row, c_row) in a.chunks_exact(n).zip(c.chunks_exact_mut(k)) {
        for (&factor, b_row) in a_row.iter().zip(b.chunks_exact(k)) {
            if factor != 0.0 {
                axpy(factor, b_row, c_row);
            }
        }
    }
}

/// Copies the lower triangle to the upper one.
pub(crate) fn mirror(c: &mut [f64], k: usize) {
    for i in 0..k {
        for j in 0..i {
            c[j * k + i] = c[i * k + j];
        }
    }
}

/// y += factor x.
#[inline]
pub(crate) fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// x · y, in four sums that run side by side.
#[inline]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (x, y) = (x.chunks_exact(4), y.chunks_exact(4));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in x.zip(y) {
        for i in 0..4 {
            sums[i] += x[i] * y[i];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// P A = L U with row pivots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lu {
    n: usize,
    a: Vec<f64>,
    pivots: Vec<usize>,
}

impl Lu {
    pub(crate) fn new(n: usize) -> Self {
        Lu { n, a: vec![0.0; n * n], pivots: vec![0; n] }
    }

    /// The matrix to be factored, to be written before [`factor`](Self::factor).
    pub(crate) fn matrix(&mut self) -> &mut [f64] {
        &mut self.a
    }

    /// Factors in place; false if singular or not finite.
    #[must_use]
    pub(crate) fn factor(&mut self) -> bool {
        let n = self.n;
        for k in 0..n {
            let mut pivot = k;
            for i in k + 1..n {
                if self.a[i * n + k].abs() > self.a[pivot * n + k].abs() {
                    pivot = i;
                }
            }
            self.pivots[k] = pivot;
            let size = self.a[pivot * n + k];
            if !size.is_finite() || size == 0.0 {
                return false;
            }
            if pivot != k {
                let (above, below) = self.a.split_at_mut(pivot * n);
                above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
            }
            let (above, below) = self.a.split_at_mut((k + 1) * n);
            let row = &above[k * n..];
            let inverse = 1.0 / row[k];
            for other in below.chunks_exact_mut(n) {
                if other[k] != 0.0 {
                    let factor = other[k] * inverse;
                    other[k] = factor;
                    axpy(-factor, &row[k + 1..], &mut other[k + 1..]);
                }
            }
        }
        true
    }

    /// A⁻¹ b, in place.
    pub(crate) fn solve_one(&self, b: &mut [f64]) {
        let n = self.n;
        for i in 0..n {
            b.swap(i, self.pivots[i]);
        }
        for i in 1..n {
            b[i] -= dot(&self.a[i * n..i * n + i], &b[..i]);
        }
        for i in (0..n).rev() {
            let sum = dot(&self.a[i * n + i + 1..(i + 1) * n], &b[i + 1..n]);
            b[i] = (b[i] - sum) / self.a[i * n + i];
        }
    }

    /// A⁻¹ B for k right-hand sides, in place.
    pub(crate) fn solve(&self, b: &mut [f64], k: usize) {
        let n = self.n;
        for i in 0..n {
            let pivot = self.pivots[i];
            if pivot != i {
                let (above, below) = b.split_at_mut(pivot * k);
                above[i * k..(i + 1) * k].swap_with_slice(&mut below[..k]);
            }
        }
        for i in 1..n {
            let (above, below) = b.split_at_mut(i * k);
            for (&factor, row) in self.a[i * n..i * n + i].iter().zip(above.chunks_exact(k)) {
                if factor != 0.0 {
                    axpy(-factor, row, &mut below[..k]);
                }
            }
        }
        for i in (0..n).rev() {
            let (above, below) = b.split_at_mut((i + 1) * k);
            let row = &mut above[i * k..];
            for (&factor, other) in
                self.a[i * n + i + 1..(i + 1) * n].iter().zip(below.chunks_exact(k))
            {
                if factor != 0.0 {
                    axpy(-factor, other, row);
                }
            }
            let inverse = 1.0 / self.a[i * n + i];
            row.iter_mut().for_each(|x| *x *= inverse);
        }
    }

    /// A⁻ᵀ b, in place.
    pub(crate) fn solve_transposed(&self, b: &mut [f64]) {
        let n = self.n;
        for i in 0..n {
            b[i] /= self.a[i * n + i];
            let (head, tail) = b.split_at_mut(i + 1);
            axpy(-head[i], &self.a[i * n + i + 1..(i + 1) * n], tail);
        }
        for i in (0..n).rev() {
            let (head, tail) = b.split_at_mut(i);
            axpy(-tail[0], &self.a[i * n..i * n + i], head);
        }
        for i in (0..n).rev() {
            b.swap(i, self.pivots[i]);
        }
    }
}

/// A = L Lᵀ of a symmetric positive definite matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cholesky {
    n: usize,
    l: Vec<f64>,
}

impl Cholesky {
    pub(crate) fn new(n: usize) -> Self {
        Cholesky { n, l: vec![0.0; n * n] }
    }

    /// The matrix to be factored; its lower triangle is read.
    pub(crate) fn matrix(&mut self) -> &mut [f64] {
        &mut self.l
    }

    /// Factors in place; the row that depends on those before it, if any.
    pub(crate) fn factor(&mut self) -> Result<(), usize> {
        let n = self.n;
        for i in 0..n {
            let diagonal = self.l[i * n + i];
            for j in 0..=i {
                let (above, row) = self.l.split_at_mut(i * n);
                let mut sum = row[j];
                if j < i {
                    sum -= dot(&row[..j], &above[j * n..j * n + j]);
                    row[j] = sum / above[j * n + j];
                } else {
                    sum -= dot(&row[..j], &row[..j]);
                    // Rounding leaves some 1e-16 of the diagonal where nothing is left.
                    if !(sum > 1e-13 * diagonal) {
                        return Err(i);
                    }
                    row[j] = sum.sqrt();
                }
            }
        }
        Ok(())
    }

    /// A⁻¹ b, in place.
    pub(crate) fn solve_one(&self, b: &mut [f64]) {
        let n = self.n;
        for i in 0..n {
            b[i] = (b[i] - dot(&self.l[i * n..i * n + i], &b[..i])) / self.l[i * n + i];
        }
        for i in (0..n).rev() {
            b[i] /= self.l[i * n + i];
            let (head, tail) = b.split_at_mut(i);
            axpy(-tail[0], &self.l[i * n..i * n + i], head);
        }
    }

    /// A⁻¹ B for k right-hand sides, in place.
    pub(crate) fn solve(&self, b: &mut [f64], k: usize) {
        let n = self.n;
        for i in 0..n {
            let (above, below) = b.split_at_mut(i * k);
            let row = &mut below[..k];
            for (&factor, other) in self.l[i * n..i * n + i].iter().zip(above.chunks_exact(k)) {
                axpy(-factor, other, row);
            }
            let inverse = 1.0 / self.l[i * n + i];
            row.iter_mut().for_each(|x| *x *= inverse);
        }
        for i in (0..n).rev() {
            let (above, below) = b.split_at_mut(i * k);
            let row = &mut below[..k];
            let inverse = 1.0 / self.l[i * n + i];
            row.iter_mut().for_each(|x| *x *= inverse);
            for (&factor, other) in self.l[i * n..i * n + i].iter().zip(above.chunks_exact_mut(k)) {
                axpy(-factor, row, other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(n: usize) -> Vec<f64> {
        let mut a: Vec<f64> = (0..n * n).map(|i| ((i * i * 7 + 3 * i) % 11) as f64 - 5.0).collect();
        a[0] = 0.0;
        for i in 0..n {
            a[i * n + (i + 1) % n] += 9.0;
        }
        a
    }

    #[test]
    fn both_ways_of_a_pivoted_factorization() {
        let n = 7;
        let a = matrix(n);
        let mut lu = Lu::new(n);
        lu.matrix().copy_from_slice(&a);
        assert!(lu.factor());
        let x: Vec<f64> = (0..2 * n).map(|i| i as f64 - 4.0).collect();
        let mut b = vec![0.0; 2 * n];
        multiply_add(&a, &x, &mut b, n, 2);
        let mut one: Vec<f64> = b.iter().step_by(2).copied().collect();
        lu.solve(&mut b, 2);
        lu.solve_one(&mut one);
        assert!((0..n).all(|i| (one[i] - x[2 * i]).abs() < 1e-11), "{one:?}");
        let mut c = vec![0.0; n];
        for i in 0..n {
            axpy(x[i], &a[i * n..(i + 1) * n], &mut c);
        }
        lu.solve_transposed(&mut c);
        for i in 0..n {
            assert!(
                (b[2 * i] - x[2 * i]).abs() < 1e-11 && (c[i] - x[i]).abs() < 1e-11,
                "{b:?} {c:?}"
            );
        }
    }

    #[test]
    fn a_dependent_row_is_named() {
        let mut cholesky = Cholesky::new(2);
        cholesky.matrix().copy_from_slice(&[4.0, 2.0, 2.0, 1.0]);
        assert_eq!(cholesky.factor(), Err(1));
        cholesky.matrix().copy_from_slice(&[4.0, 2.0, 2.0, 2.0]);
        assert_eq!(cholesky.factor(), Ok(()));
        let mut b = [8.0, 6.0];
        cholesky.solve_one(&mut b);
        assert!((b[0] - 1.0).abs() < 1e-15 && (b[1] - 2.0).abs() < 1e-15, "{b:?}");
    }
}
