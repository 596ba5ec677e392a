//! Dense LU factorization with row pivots, real and complex, in place and without allocation.

use std::ops::{Add, Div, Mul, Sub};

/// A complex number; only what the factorization needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Complex {
    pub(crate) re: f64,
    pub(crate) im: f64,
}

impl Complex {
    pub(crate) const fn new(re: f64, im: f64) -> Self {
        Self { re, im }
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self::new(self.re + o.re, self.im + o.im)
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self::new(self.re - o.re, self.im - o.im)
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self::new(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)
    }
}

impl Div for Complex {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let square = o.re * o.re + o.im * o.im;
        let (re, im) = (o.re / square, -o.im / square);
        self * Self::new(re, im)
    }
}

/// What a factorization needs of a number.
pub(crate) trait Scalar:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// A measure of size for pivots.
    fn size(self) -> f64;
}

impl Scalar for f64 {
    fn size(self) -> f64 {
        self.abs()
    }
}

impl Scalar for Complex {
    fn size(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
}

/// Factors the n by n matrix `a`, row by row, in place; false if it is singular.
pub(crate) fn factor<T: Scalar>(n: usize, a: &mut [T], pivots: &mut [usize]) -> bool {
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if a[i * n + k].size() > a[pivot * n + k].size() {
                pivot = i;
            }
        }
        pivots[k] = pivot;
        let size = a[pivot * n + k].size();
        if !(size > 0.0 && size.is_finite()) {
            return false;
        }
        if pivot != k {
            for j in 0..n {
                a.swap(k * n + j, pivot * n + j);
            }
        }
        let (above, below) = a.split_at_mut((k + 1) * n);
        let row = &above[k * n..];
        for other in below.chunks_exact_mut(n) {
            let factor = other[k] / row[k];
            other[k] = factor;
            if factor.size() > 0.0 {
                for j in k + 1..n {
                    other[j] = other[j] - factor * row[j];
                }
            }
        }
    }
    true
}

/// Solves with the factors of [`factor`]; b becomes the solution.
pub(crate) fn solve<T: Scalar>(n: usize, a: &[T], pivots: &[usize], b: &mut [T]) {
    for k in 0..n {
        b.swap(k, pivots[k]);
    }
    for i in 0..n {
        let mut x = b[i];
        for j in 0..i {
            x = x - a[i * n + j] * b[j];
        }
        b[i] = x;
    }
    for i in (0..n).rev() {
        let mut x = b[i];
        for j in i + 1..n {
            x = x - a[i * n + j] * b[j];
        }
        b[i] = x / a[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_systems_are_solved() {
        let a = [0.0, 2.0, 1.0, 1.0, 1.0, 0.0, 3.0, -1.0, 2.0];
        let x = [1.0, -2.0, 3.0];
        let mut b = [0.0; 3];
        for i in 0..3 {
            b[i] = (0..3).map(|j| a[i * 3 + j] * x[j]).sum();
        }
        let (mut lu, mut pivots) = (a, [0; 3]);
        assert!(factor(3, &mut lu, &mut pivots));
        solve(3, &lu, &pivots, &mut b);
        for i in 0..3 {
            assert!((b[i] - x[i]).abs() < 1e-15, "{b:?}");
        }
    }

    #[test]
    fn complex_systems_are_solved() {
        let c = Complex::new;
        let a = [c(0.0, 1.0), c(2.0, 0.0), c(1.0, -1.0), c(0.5, 3.0)];
        let x = [c(1.0, 2.0), c(-1.0, 0.5)];
        let mut b = [a[0] * x[0] + a[1] * x[1], a[2] * x[0] + a[3] * x[1]];
        let (mut lu, mut pivots) = (a, [0; 2]);
        assert!(factor(2, &mut lu, &mut pivots));
        solve(2, &lu, &pivots, &mut b);
        for i in 0..2 {
            assert!((b[i] - x[i]).size() < 1e-15, "{b:?}");
        }
    }

    #[test]
    fn singular_is_said() {
        let mut a = [1.0, 2.0, 2.0, 4.0];
        assert!(!factor(2, &mut a, &mut [0; 2]));
    }
}
