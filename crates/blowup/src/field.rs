//! Numbers that polynomials are made of: exact rationals, complex rationals, floats.

use std::fmt;

use gelenk_expr::Rational;

/// A field of numbers.
///
/// [`is_below`](Field::is_below) is where exact and rounded numbers differ: a constant or linear
/// term of a polynomial over floats counts as zero below a tolerance (\[Laufen\] §IV.4), one
/// over rationals only when it is zero.
pub trait Field: Clone + PartialEq + fmt::Debug {
    /// 0.
    fn zero() -> Self;
    /// 1.
    fn one() -> Self;
    /// The number nearest to a rational.
    fn from_rational(r: &Rational) -> Self;
    /// a + b.
    #[must_use]
    fn plus(&self, b: &Self) -> Self;
    /// a · b.
    #[must_use]
    fn times(&self, b: &Self) -> Self;
    /// −a.
    #[must_use]
    fn negative(&self) -> Self;
    /// 1/a; none for 0.
    #[must_use]
    fn inverse(&self) -> Option<Self>;
    /// A square root within the field, where there is one.
    #[must_use]
    fn root(&self) -> Option<Self>;
    /// Whether a counts as zero: exactly for exact numbers, |a| < `epsilon` for floats.
    fn is_below(&self, epsilon: f64) -> bool;
    /// |a| as a float, for choosing pivots.
    fn size(&self) -> f64;
    /// Whether pivots are better chosen by size (floats) than by place (exact numbers).
    fn is_rounded() -> bool;
    /// The number as the coefficient of a product: whether to write a minus sign, and the rest.
    fn written(&self) -> (bool, String);

    /// a − b.
    #[must_use]
    fn minus(&self, b: &Self) -> Self {
        self.plus(&b.negative())
    }
    /// Whether a is exactly zero.
    fn is_zero(&self) -> bool {
        *self == Self::zero()
    }
    /// Whether a is exactly one.
    fn is_one(&self) -> bool {
        *self == Self::one()
    }
    /// An integer.
    fn from_int(n: i64) -> Self {
        Self::from_rational(&Rational::from(n))
    }
}

impl Field for Rational {
    fn zero() -> Self {
        Self::ZERO
    }
    fn one() -> Self {
        Self::ONE
    }
    fn from_rational(r: &Rational) -> Self {
        r.clone()
    }
    fn plus(&self, b: &Self) -> Self {
        self + b
    }
    fn times(&self, b: &Self) -> Self {
        self * b
    }
    fn negative(&self) -> Self {
        -self
    }
    fn inverse(&self) -> Option<Self> {
        self.recip()
    }
    fn root(&self) -> Option<Self> {
        Rational::root(self, 2)
    }
    fn is_below(&self, _epsilon: f64) -> bool {
        Rational::is_zero(self)
    }
    fn size(&self) -> f64 {
        self.to_f64().abs()
    }
    fn is_rounded() -> bool {
        false
    }
    fn written(&self) -> (bool, String) {
        (self.is_negative(), self.abs().to_string())
    }
}

impl Field for f64 {
    fn zero() -> Self {
        0.0
    }
    fn one() -> Self {
        1.0
    }
    fn from_rational(r: &Rational) -> Self {
        r.to_f64()
    }
    fn plus(&self, b: &Self) -> Self {
        self + b
    }
    fn times(&self, b: &Self) -> Self {
        self * b
    }
    fn negative(&self) -> Self {
        -self
    }
    fn inverse(&self) -> Option<Self> {
        (*self != 0.0).then(|| 1.0 / self)
    }
    fn root(&self) -> Option<Self> {
        (*self >= 0.0).then(|| self.sqrt())
    }
    fn is_below(&self, epsilon: f64) -> bool {
        self.abs() < epsilon || *self == 0.0
    }
    fn size(&self) -> f64 {
        self.abs()
    }
    fn is_rounded() -> bool {
        true
    }
    fn written(&self) -> (bool, String) {
        (*self < 0.0, self.abs().to_string())
    }
}

/// A complex number with rational parts, for the complex polar blow-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gauss {
    /// Real part.
    pub re: Rational,
    /// Imaginary part.
    pub im: Rational,
}

impl Gauss {
    /// re + i im.
    pub fn new(re: Rational, im: Rational) -> Self {
        Self { re, im }
    }

    /// The imaginary unit.
    pub fn i() -> Self {
        Self::new(Rational::ZERO, Rational::ONE)
    }
}

impl Field for Gauss {
    fn zero() -> Self {
        Self::new(Rational::ZERO, Rational::ZERO)
    }
    fn one() -> Self {
        Self::new(Rational::ONE, Rational::ZERO)
    }
    fn from_rational(r: &Rational) -> Self {
        Self::new(r.clone(), Rational::ZERO)
    }
    fn plus(&self, b: &Self) -> Self {
        Self::new(&self.re + &b.re, &self.im + &b.im)
    }
    fn times(&self, b: &Self) -> Self {
        Self::new(
            (&self.re * &b.re).minus(&(&self.im * &b.im)),
            &(&self.re * &b.im) + &(&self.im * &b.re),
        )
    }
    fn negative(&self) -> Self {
        Self::new(-&self.re, -&self.im)
    }
    fn inverse(&self) -> Option<Self> {
        let norm = (&(&self.re * &self.re) + &(&self.im * &self.im)).recip()?;
        Some(Self::new(&self.re * &norm, &(-&self.im) * &norm))
    }
    fn root(&self) -> Option<Self> {
        if !self.im.is_zero() {
            return None;
        }
        match self.re.root(2) {
            Some(root) => Some(Self::new(root, Rational::ZERO)),
            None => Some(Self::new(Rational::ZERO, (-&self.re).root(2)?)),
        }
    }
    fn is_below(&self, _epsilon: f64) -> bool {
        self.is_zero()
    }
    fn size(&self) -> f64 {
        self.re.to_f64().hypot(self.im.to_f64())
    }
    fn is_rounded() -> bool {
        false
    }
    fn written(&self) -> (bool, String) {
        if self.im.is_zero() {
            return self.re.written();
        }
        if self.re.is_zero() {
            let (negative, size) = self.im.written();
            return (negative, if size == "1" { "i".into() } else { format!("{size}*i") });
        }
        let (negative, size) = self.im.written();
        let sign = if negative { '-' } else { '+' };
        (false, format!("({} {sign} {size}*i)", self.re))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers() {
        let i = Gauss::i();
        assert_eq!(i.times(&i), Gauss::from_int(-1));
        assert_eq!(i.inverse(), Some(i.negative()));
        assert_eq!(Gauss::from_int(-4).root(), Some(i.times(&Gauss::from_int(2))));
        assert_eq!(i.negative().written(), (true, "i".to_owned()));
        assert!(Gauss::zero().inverse().is_none());
    }

    #[test]
    fn what_counts_as_zero() {
        assert!(1e-13.is_below(1e-12));
        let tiny = Rational::from_f64(1e-13).unwrap();
        assert!(!tiny.is_below(1e-12));
    }
}
