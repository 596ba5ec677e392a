//! Truncated power series: Taylor coefficients of functions of time, exact to the order kept.

use std::cmp::Ordering;

use crate::func::Func;
use crate::numeric;

/// a(t) = a₀ + a₁ t + … + a_n tⁿ, all higher terms left out.
///
/// Sums, products and functions of series give the first n + 1 Taylor coefficients of the result without any
/// approximation but rounding: each function by the recurrence that its differential equation gives. Where a function
/// has a kink or a jump (`abs`, `min`, `sign`, `floor`, a comparison), the branch for small t > 0 is taken.
///
/// ```
/// use gelenk_expr::Series;
/// let t = Series::new(vec![0.0, 1.0, 0.0, 0.0]);
/// assert_eq!(t.exp().coefficients(), [1.0, 1.0, 0.5, 0.5 / 3.0]);
/// ```
///
/// \[Hairer, Nørsett, Wanner 1993\] I.8, "computation of the Taylor coefficients".
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    a: Vec<f64>,
}

impl Series {
    /// The series with these coefficients, a₀ first; there must be at least one.
    pub fn new(coefficients: Vec<f64>) -> Self {
        debug_assert!(!coefficients.is_empty());
        Series { a: coefficients }
    }

    /// The constant `value` with `n` coefficients.
    pub fn constant(value: f64, n: usize) -> Self {
        let mut a = vec![0.0; n];
        a[0] = value;
        Series { a }
    }

    /// a₀, a₁, …
    pub fn coefficients(&self) -> &[f64] {
        &self.a
    }

    /// The coefficient of t^k; 0 beyond the order kept.
    pub fn at(&self, k: usize) -> f64 {
        self.a.get(k).copied().unwrap_or(0.0)
    }

    /// Coefficients that follow from those before: c_k = f(k, c₀ … c_{k−1}).
    fn grow(&self, first: f64, f: impl Fn(usize, &[f64]) -> f64) -> Self {
        let mut c = Vec::with_capacity(self.a.len());
        c.push(first);
        for k in 1..self.a.len() {
            let next = f(k, &c);
            c.push(next);
        }
        Series { a: c }
    }

    fn map2(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Series { a: self.a.iter().zip(&other.a).map(|(a, b)| f(*a, *b)).collect() }
    }

    pub(crate) fn add(&self, b: &Self) -> Self {
        self.map2(b, |a, b| a + b)
    }

    pub(crate) fn sub(&self, b: &Self) -> Self {
        self.map2(b, |a, b| a - b)
    }

    pub(crate) fn scale(&self, factor: f64) -> Self {
        Series { a: self.a.iter().map(|a| a * factor).collect() }
    }

    /// c_k = Σ a_j b_{k−j}.
    pub(crate) fn mul(&self, b: &Self) -> Self {
        let a = (0..self.a.len()).map(|k| convolve(&self.a, &b.a, k)).collect();
        Series { a }
    }

    /// c = a/b from a = b c.
    pub(crate) fn div(&self, b: &Self) -> Self {
        let (a, b) = (&self.a, &b.a);
        self.grow(a[0] / b[0], |k, c| (a[k] - (1..=k).map(|j| b[j] * c[k - j]).sum::<f64>()) / b[0])
    }

    /// c = √a from a = c².
    pub(crate) fn sqrt(&self) -> Self {
        let a = &self.a;
        self.grow(a[0].sqrt(), |k, c| {
            (a[k] - (1..k).map(|j| c[j] * c[k - j]).sum::<f64>()) / (2.0 * c[0])
        })
    }

    /// e^a, from ċ = c ȧ.
    #[must_use]
    pub fn exp(&self) -> Self {
        let a = &self.a;
        self.grow(libm::exp(a[0]), |k, c| {
            (1..=k).map(|j| j as f64 * a[j] * c[k - j]).sum::<f64>() / k as f64
        })
    }

    /// a^b; for a constant b from a ċ = b c ȧ, else e^(b log a).
    pub(crate) fn pow(&self, b: &Self) -> Self {
        if b.a[1..].iter().any(|b| *b != 0.0) {
            return b.mul(&self.unary(Func::Log)).exp();
        }
        let (a, p) = (&self.a, b.a[0]);
        self.grow(libm::pow(a[0], p), |k, c| {
            let sum = (1..=k).map(|j| (p * j as f64 - (k - j) as f64) * a[j] * c[k - j]);
            sum.sum::<f64>() / (k as f64 * a[0])
        })
    }

    /// The c with c₀ given and ċ = d ȧ, where d is the derivative of a function at a.
    fn integrate(&self, c0: f64, d: &Self) -> Self {
        let a = &self.a;
        self.grow(c0, |k, _| (1..=k).map(|j| j as f64 * a[j] * d.a[k - j]).sum::<f64>() / k as f64)
    }

    /// sin and cos (sign −1) or sinh and cosh (sign 1), together: ṡ = c ȧ, ċ = ± s ȧ.
    fn sine_and_cosine(&self, first: [f64; 2], sign: f64) -> [Self; 2] {
        let a = &self.a;
        let (mut s, mut c) = (vec![first[0]], vec![first[1]]);
        for k in 1..a.len() {
            let sum =
                |x: &[f64]| (1..=k).map(|j| j as f64 * a[j] * x[k - j]).sum::<f64>() / k as f64;
            let (next_s, next_c) = (sum(&c), sign * sum(&s));
            s.push(next_s);
            c.push(next_c);
        }
        [Series { a: s }, Series { a: c }]
    }

    /// atan2(self, x), from (x ẏ − y ẋ)/(x² + y²).
    pub(crate) fn atan2(&self, x: &Self) -> Self {
        let square = x.mul(x).add(&self.mul(self));
        let rate = x.mul(&self.rate()).sub(&self.mul(&x.rate())).div(&square);
        self.grow(libm::atan2(self.a[0], x.a[0]), |k, _| rate.a[k - 1] / k as f64)
    }

    /// ȧ; its last coefficient is not known and 0.
    fn rate(&self) -> Self {
        let n = self.a.len();
        let a = (1..=n).map(|k| if k < n { k as f64 * self.a[k] } else { 0.0 });
        Series { a: a.collect() }
    }

    /// Which is smaller for small t > 0: the first coefficients that differ decide.
    pub(crate) fn compare(&self, b: &Self) -> Option<Ordering> {
        for (a, b) in self.a.iter().zip(&b.a) {
            match a.partial_cmp(b) {
                Some(Ordering::Equal) => {}
                other => return other,
            }
        }
        Some(Ordering::Equal)
    }

    fn like(&self, value: f64) -> Self {
        Series::constant(value, self.a.len())
    }

    /// Its sign for small t > 0: −1, 0 or 1; NaN of NaN.
    fn sign(&self) -> f64 {
        self.a.iter().map(|a| numeric::sign(*a)).find(|sign| *sign != 0.0).unwrap_or(0.0)
    }

    /// A function of one argument.
    pub(crate) fn unary(&self, func: Func) -> Self {
        let one = self.like(1.0);
        let square = || self.mul(self);
        let first = numeric::unary(func, self.a[0]);
        let from_rate = |rate: Series| self.integrate(first, &rate);
        match func {
            Func::Exp => self.exp(),
            Func::Log => from_rate(one.div(self)),
            Func::Log10 => from_rate(one.div(self).scale(std::f64::consts::LOG10_E)),
            Func::Log2 => from_rate(one.div(self).scale(std::f64::consts::LOG2_E)),
            Func::Sin | Func::Cos | Func::Tan => {
                let first = [libm::sin(self.a[0]), libm::cos(self.a[0])];
                let [sin, cos] = self.sine_and_cosine(first, -1.0);
                match func {
                    Func::Sin => sin,
                    Func::Cos => cos,
                    _ => from_rate(one.div(&cos.mul(&cos))),
                }
            }
            Func::Sinh | Func::Cosh | Func::Tanh => {
                let first = [libm::sinh(self.a[0]), libm::cosh(self.a[0])];
                let [sinh, cosh] = self.sine_and_cosine(first, 1.0);
                match func {
                    Func::Sinh => sinh,
                    Func::Cosh => cosh,
                    _ => from_rate(one.div(&cosh.mul(&cosh))),
                }
            }
            Func::Asin => from_rate(one.div(&one.sub(&square()).sqrt())),
            Func::Acos => from_rate(one.div(&one.sub(&square()).sqrt()).scale(-1.0)),
            Func::Atan => from_rate(one.div(&one.add(&square()))),
            Func::Asinh => from_rate(one.div(&one.add(&square()).sqrt())),
            Func::Acosh => from_rate(one.div(&square().sub(&one).sqrt())),
            Func::Atanh => from_rate(one.div(&one.sub(&square()))),
            Func::Erf => {
                let factor = std::f64::consts::FRAC_2_SQRT_PI;
                from_rate(square().scale(-1.0).exp().scale(factor))
            }
            Func::Abs => self.scale(self.sign()),
            Func::Sign => self.like(self.sign()),
            Func::Step => self.like(numeric::step(self.sign())),
            Func::Floor => {
                // Just below an integer when it falls away from one.
                let falls = self.sub(&self.like(first)).sign() < 0.0;
                self.like(if falls { first - 1.0 } else { first })
            }
            Func::Min | Func::Max => self.clone(),
            Func::Atan2 => self.like(f64::NAN),
        }
    }
}

fn convolve(a: &[f64], b: &[f64], k: usize) -> f64 {
    (0..=k).map(|j| a[j] * b[k - j]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f(x₀ + t) has the Taylor coefficients f⁽ᵏ⁾(x₀)/k!, which summed up give f nearby.
    #[test]
    fn every_function_is_its_taylor_series() {
        let (t, n) = (0.02, 12);
        for func in Func::ALL {
            let x0 = if func == Func::Acosh { 1.7 } else { 0.4 };
            // a(t) = x0 + 0.7 t − 0.3 t²
            let mut a = vec![0.0; n];
            a[..3].copy_from_slice(&[x0, 0.7, -0.3]);
            let x = x0 + 0.7 * t - 0.3 * t * t;
            let (series, exact) = if func == Func::Atan2 {
                let other = Series::constant(0.8, n);
                (Series::new(a).atan2(&other), libm::atan2(x, 0.8))
            } else {
                (Series::new(a).unary(func), func.value(&[x]))
            };
            let value = series.coefficients().iter().rev().fold(0.0, |sum, a| sum * t + a);
            assert!((value - exact).abs() < 1e-15, "{func:?}: {value} and {exact}");
        }
    }

    #[test]
    fn quotients_roots_and_powers_undo_products() {
        let a = Series::new(vec![1.5, -0.3, 0.2, 0.7, -0.1]);
        let b = Series::new(vec![0.7, 0.4, -0.5, 0.2, 0.3]);
        let close = |x: &Series, y: &Series| {
            x.coefficients().iter().zip(y.coefficients()).all(|(x, y)| (x - y).abs() < 1e-14)
        };
        assert!(close(&a.mul(&b).div(&b), &a));
        assert!(close(&a.mul(&a).sqrt(), &a));
        let third = Series::constant(1.0 / 3.0, 5);
        assert!(close(&a.mul(&a).mul(&a).pow(&third), &a));
        assert!(close(&a.pow(&b).unary(Func::Log).div(&a.unary(Func::Log)), &b));
    }

    #[test]
    fn kinks_take_the_branch_ahead() {
        let falling = Series::new(vec![0.0, -2.0, 1.0]);
        assert_eq!(falling.unary(Func::Abs).coefficients(), [0.0, 2.0, -1.0]);
        assert_eq!(falling.unary(Func::Sign).coefficients(), [-1.0, 0.0, 0.0]);
        assert_eq!(falling.unary(Func::Step).coefficients(), [0.0, 0.0, 0.0]);
        assert_eq!(falling.unary(Func::Floor).coefficients(), [-1.0, 0.0, 0.0]);
        assert_eq!(falling.compare(&Series::constant(0.0, 3)), Some(Ordering::Less));
    }
}
