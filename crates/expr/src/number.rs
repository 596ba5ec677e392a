//! Numbers in expressions: exact rationals and floats.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg};

use crate::rational::Rational;

/// A number: exact, or a finite non-zero float.
///
/// Arithmetic is exact, and rounded to the nearest float if a float takes part. A result beyond
/// the range of floats, or below it and not zero, stays exact, so that a number is always
/// finite and only a true zero is zero.
#[derive(Clone, Debug)]
pub enum Number {
    /// An exact rational.
    Rational(Rational),
    /// A float, finite and not zero.
    Float(f64),
}

impl Number {
    /// 0.
    pub const ZERO: Self = Self::Rational(Rational::ZERO);
    /// 1.
    pub const ONE: Self = Self::Rational(Rational::ONE);
    /// -1.
    pub const MINUS_ONE: Self = Self::Rational(Rational::MINUS_ONE);

    /// A float; 0.0 and -0.0 become the exact zero, infinities and NaN none.
    pub fn float(x: f64) -> Option<Self> {
        if x == 0.0 { Some(Self::ZERO) } else { x.is_finite().then_some(Self::Float(x)) }
    }

    /// The value as `f64`, correctly rounded.
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::Rational(r) => r.to_f64(),
            Self::Float(x) => *x,
        }
    }

    /// The rational, if exact.
    pub fn as_rational(&self) -> Option<&Rational> {
        match self {
            Self::Rational(r) => Some(r),
            Self::Float(_) => None,
        }
    }

    /// Whether the value is 0.
    pub fn is_zero(&self) -> bool {
        self.as_rational().is_some_and(Rational::is_zero)
    }

    /// Whether the value is 1, exact or as a float.
    pub fn is_one(&self) -> bool {
        self.equals_unit(1.0)
    }

    /// Whether the value is -1, exact or as a float.
    pub fn is_minus_one(&self) -> bool {
        self.equals_unit(-1.0)
    }

    fn equals_unit(&self, unit: f64) -> bool {
        match self {
            Self::Rational(r) => r.parts() == Some((if unit > 0.0 { 1 } else { -1 }, 1)),
            Self::Float(x) => x.to_bits() == unit.to_bits(),
        }
    }

    /// Whether the value is below 0.
    pub fn is_negative(&self) -> bool {
        match self {
            Self::Rational(r) => r.is_negative(),
            Self::Float(x) => *x < 0.0,
        }
    }

    /// |x|.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// The same value as an exact rational.
    pub fn to_exact(&self) -> Rational {
        match self {
            Self::Rational(r) => r.clone(),
            Self::Float(x) => Rational::from_f64(*x).unwrap_or(Rational::ZERO),
        }
    }

    /// Whether the value, exact or float, is an integer.
    pub fn is_integer(&self) -> bool {
        match self {
            Self::Rational(r) => r.is_integer(),
            Self::Float(x) => x.fract() == 0.0,
        }
    }

    /// Order by value; a rational comes before the float of the same value.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Rational(a), Self::Rational(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (Self::Rational(a), b) => a.cmp(&b.to_exact()).then(Ordering::Less),
            (a, Self::Rational(b)) => a.to_exact().cmp(b).then(Ordering::Greater),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rational(a), Self::Rational(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

impl Eq for Number {}

impl Add for &Number {
    type Output = Number;
    fn add(self, other: &Number) -> Number {
        let mut total = Total::from(self);
        total.add(&Total::from(other));
        total.round()
    }
}

impl Mul for &Number {
    type Output = Number;
    fn mul(self, other: &Number) -> Number {
        let mut total = Total::from(self);
        total.multiply(&Total::from(other));
        total.round()
    }
}

impl Neg for &Number {
    type Output = Number;
    fn neg(self) -> Number {
        match self {
            Number::Rational(r) => Number::Rational(-r),
            Number::Float(x) => Number::Float(-x),
        }
    }
}

impl From<Rational> for Number {
    fn from(r: Rational) -> Self {
        Self::Rational(r)
    }
}

/// A sum or product of numbers, rounded once at the end if a float took part: the outcome does
/// not depend on the order.
#[derive(Clone, Debug)]
pub(crate) struct Total {
    exact: Rational,
    is_float: bool,
}

impl Total {
    pub(crate) const ZERO: Self = Self { exact: Rational::ZERO, is_float: false };
    pub(crate) const ONE: Self = Self { exact: Rational::ONE, is_float: false };

    pub(crate) fn add(&mut self, other: &Self) {
        self.exact = &self.exact + &other.exact;
        self.is_float |= other.is_float;
    }

    pub(crate) fn multiply(&mut self, other: &Self) {
        self.exact = &self.exact * &other.exact;
        self.is_float |= other.is_float;
    }

    /// The float nearest to the total, or the exact total if that is out of range or no float
    /// took part.
    pub(crate) fn round(self) -> Number {
        if self.is_float
            && let Some(x @ Number::Float(_)) = Number::float(self.exact.to_f64())
        {
            return x;
        }
        Number::Rational(self.exact)
    }
}

impl From<&Number> for Total {
    fn from(n: &Number) -> Self {
        Self { exact: n.to_exact(), is_float: matches!(n, Number::Float(_)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_round_and_overflow_exactly() {
        let tenth = Number::float(0.1).unwrap();
        let fifth = Number::float(0.2).unwrap();
        assert_eq!((&tenth + &fifth).to_f64(), 0.1 + 0.2);
        let huge = Number::float(1e308).unwrap();
        let tiny = Number::float(1e-308).unwrap();
        let product = &huge * &huge;
        assert!(matches!(product, Number::Rational(_)));
        assert!(((&(&tiny * &tiny) * &product).to_f64() - 1.0).abs() < 1e-15);
        assert!((&huge + &-&huge).is_zero());
    }

    #[test]
    fn zero_is_exact() {
        assert_eq!(Number::float(-0.0), Some(Number::ZERO));
        assert_eq!(Number::float(f64::NAN), None);
        assert_eq!(Number::float(f64::INFINITY), None);
    }
}
