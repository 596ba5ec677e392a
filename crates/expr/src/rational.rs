//! Exact rational numbers: two `i64` while they fit, big integers after that.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Neg};

use dashu_int::ops::{BitTest, UnsignedAbs};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// Numerators and denominators longer than this are shortened, see [`Rational`].
const MAX_BITS: usize = 8192;

/// An exact rational number n/d in lowest terms, d > 0.
///
/// It is exact up to 8192 bits in n and d, far beyond the range of `f64`. Past that both are
/// shortened by the same shift to 4096 bits (each at least 1), which changes no `f64` value
/// by more than its rounding, so that hostile input cannot fill the memory with one number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rational(Repr);

/// `Big` holds only what does not fit in `Small`, so that equality is structural.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    Small(i64, i64),
    Big(Box<RBig>),
}

impl Rational {
    /// 0.
    pub const ZERO: Self = Self(Repr::Small(0, 1));
    /// 1.
    pub const ONE: Self = Self(Repr::Small(1, 1));
    /// -1.
    pub const MINUS_ONE: Self = Self(Repr::Small(-1, 1));
    /// 1/2.
    pub const HALF: Self = Self(Repr::Small(1, 2));

    /// n/d in lowest terms; none when d = 0.
    pub fn new(n: i64, d: i64) -> Option<Self> {
        (d != 0).then(|| Self::reduced(i128::from(n), i128::from(d)))
    }

    /// n/d from big integers; none when d = 0.
    pub fn from_big(n: IBig, d: UBig) -> Option<Self> {
        (d != UBig::ZERO).then(|| Self::shrink(RBig::from_parts(n, d)))
    }

    /// The exact value of a finite float; none for infinities and NaN.
    pub fn from_f64(x: f64) -> Option<Self> {
        RBig::try_from(x).ok().map(Self::shrink)
    }

    fn reduced(n: i128, d: i128) -> Self {
        let g = gcd(n.unsigned_abs(), d.unsigned_abs());
        let sign = if d < 0 { -1 } else { 1 };
        let (n, d) = match i128::try_from(g) {
            Ok(g) if g > 1 => (n / g * sign, d / g * sign),
            _ => (n * sign, d * sign),
        };
        match (i64::try_from(n), i64::try_from(d)) {
            (Ok(n), Ok(d)) => Self(Repr::Small(n, d)),
            _ => Self(Repr::Big(Box::new(RBig::from_parts(n.into(), d.unsigned_abs().into())))),
        }
    }

    fn shrink(r: RBig) -> Self {
        if let (Ok(n), Ok(d)) = (i64::try_from(r.numerator()), i64::try_from(r.denominator())) {
            return Self(Repr::Small(n, d));
        }
        let bits = r.numerator().bit_len().max(r.denominator().bit_len());
        if bits <= MAX_BITS {
            return Self(Repr::Big(Box::new(r)));
        }
        let shift = bits - MAX_BITS / 2;
        let (n, d) = r.into_parts();
        let negative = n < IBig::ZERO;
        let n = (n.unsigned_abs() >> shift).max(UBig::ONE);
        let d = (d >> shift).max(UBig::ONE);
        let n = if negative { -IBig::from(n) } else { IBig::from(n) };
        Self::shrink(RBig::from_parts(n, d))
    }

    fn to_big(&self) -> RBig {
        match &self.0 {
            Repr::Small(n, d) => RBig::from_parts((*n).into(), d.unsigned_abs().into()),
            Repr::Big(r) => (**r).clone(),
        }
    }

    /// n and d when both fit in an `i64`.
    pub fn parts(&self) -> Option<(i64, i64)> {
        match self.0 {
            Repr::Small(n, d) => Some((n, d)),
            Repr::Big(_) => None,
        }
    }

    /// The value when it is an integer that fits in an `i64`.
    pub fn to_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Small(n, 1) => Some(n),
            _ => None,
        }
    }

    /// n.
    pub fn numerator(&self) -> IBig {
        self.to_big().numerator().clone()
    }

    /// d > 0.
    pub fn denominator(&self) -> UBig {
        self.to_big().denominator().clone()
    }

    /// Whether the value is 0.
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// Whether the value is 1.
    pub fn is_one(&self) -> bool {
        *self == Self::ONE
    }

    /// Whether the value is below 0.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small(n, _) => *n < 0,
            Repr::Big(r) => *r.numerator() < IBig::ZERO,
        }
    }

    /// Whether d = 1.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Small(_, d) => *d == 1,
            Repr::Big(r) => r.is_int(),
        }
    }

    /// Whether the value is an even integer.
    pub fn is_even(&self) -> bool {
        match &self.0 {
            Repr::Small(n, d) => *d == 1 && n % 2 == 0,
            Repr::Big(r) => r.is_int() && r.numerator() % 2 == 0,
        }
    }

    /// The nearest `f64`, ties to even; infinite beyond its range.
    pub fn to_f64(&self) -> f64 {
        const EXACT: u64 = 1 << 53;
        match &self.0 {
            // Both are exact, so the one division rounds correctly.
            Repr::Small(n, d) if n.unsigned_abs() <= EXACT && d.unsigned_abs() <= EXACT => {
                *n as f64 / *d as f64
            }
            _ => self.to_big().to_f64().value(),
        }
    }

    /// The largest integer not above the value.
    #[must_use]
    pub fn floor(&self) -> Self {
        match &self.0 {
            Repr::Small(n, d) => Self(Repr::Small(n.div_euclid(*d), 1)),
            Repr::Big(r) => Self::shrink(RBig::from(r.floor())),
        }
    }

    /// |r|.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// 1/r; none for 0.
    #[must_use]
    pub fn recip(&self) -> Option<Self> {
        match &self.0 {
            Repr::Small(0, _) => None,
            Repr::Small(n, d) => Some(Self::reduced(i128::from(*d), i128::from(*n))),
            Repr::Big(_) => Some(Self::shrink(RBig::ONE / self.to_big())),
        }
    }

    /// r^k; none for 0 to a negative power, and where the result would exceed 8192 bits.
    pub fn pow(&self, k: i64) -> Option<Self> {
        if k < 0 {
            return self.pow(k.checked_neg()?)?.recip();
        }
        match self.0 {
            Repr::Small(0 | 1, 1) => return Some(if k == 0 { Self::ONE } else { self.clone() }),
            Repr::Small(-1, 1) => return Some(if k % 2 == 0 { Self::ONE } else { self.clone() }),
            _ => {}
        }
        let big = self.to_big();
        let bits = big.numerator().bit_len().max(big.denominator().bit_len());
        let k = isize::try_from(k).ok()?;
        let fits = bits.checked_mul(k.unsigned_abs()).is_some_and(|b| b <= MAX_BITS);
        fits.then(|| Self::shrink(big.pow(k)))
    }

    /// The exact real root r^(1/k) of a value r >= 0, where it is rational.
    pub fn root(&self, k: u32) -> Option<Self> {
        if self.is_negative() || k == 0 {
            return None;
        }
        let exact = |x: &UBig| {
            let root = x.nth_root(k as usize);
            (root.pow(k as usize) == *x).then_some(root)
        };
        let big = self.to_big();
        let n = exact(&big.numerator().unsigned_abs())?;
        let d = exact(big.denominator())?;
        Self::from_big(n.into(), d)
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // 128-bit division is slow; almost all values here are short.
        if let (Ok(x), Ok(y)) = (u64::try_from(a), u64::try_from(b)) {
            return u128::from(gcd64(x, y));
        }
        (a, b) = (b, a % b);
    }
    a
}

fn gcd64(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl From<i64> for Rational {
    fn from(n: i64) -> Self {
        Self(Repr::Small(n, 1))
    }
}

impl Add for &Rational {
    type Output = Rational;
    fn add(self, other: &Rational) -> Rational {
        match (&self.0, &other.0) {
            (Repr::Small(a, 1), Repr::Small(b, 1)) => {
                Rational::reduced(i128::from(*a) + i128::from(*b), 1)
            }
            // |a| d + |b| c < 2^127, so i128 holds it.
            (Repr::Small(a, c), Repr::Small(b, d)) => {
                let (a, b, c, d) = (i128::from(*a), i128::from(*b), i128::from(*c), i128::from(*d));
                Rational::reduced(a * d + b * c, c * d)
            }
            _ => Rational::shrink(self.to_big() + other.to_big()),
        }
    }
}

impl Mul for &Rational {
    type Output = Rational;
    fn mul(self, other: &Rational) -> Rational {
        match (&self.0, &other.0) {
            (Repr::Small(a, c), Repr::Small(b, d)) => {
                let n = i128::from(*a) * i128::from(*b);
                Rational::reduced(n, i128::from(*c) * i128::from(*d))
            }
            _ => Rational::shrink(self.to_big() * other.to_big()),
        }
    }
}

impl Neg for &Rational {
    type Output = Rational;
    fn neg(self) -> Rational {
        match &self.0 {
            Repr::Small(n, d) => Rational::reduced(-i128::from(*n), i128::from(*d)),
            Repr::Big(_) => Rational::shrink(-self.to_big()),
        }
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small(a, c), Repr::Small(b, d)) => {
                (i128::from(*a) * i128::from(*d)).cmp(&(i128::from(*b) * i128::from(*c)))
            }
            _ => self.to_big().cmp(&other.to_big()),
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `n` or `n/d`.
impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small(n, 1) => write!(f, "{n}"),
            Repr::Small(n, d) => write!(f, "{n}/{d}"),
            Repr::Big(r) => write!(f, "{r}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(n: i64, d: i64) -> Rational {
        Rational::new(n, d).unwrap()
    }

    #[test]
    fn lowest_terms() {
        assert_eq!(r(6, -4), r(-3, 2));
        assert_eq!(r(0, -7), Rational::ZERO);
        assert!(Rational::new(1, 0).is_none());
        assert_eq!(&r(1, 6) + &r(1, 3), Rational::HALF);
        assert_eq!(&r(2, 3) * &r(3, 2), Rational::ONE);
    }

    #[test]
    fn grows_and_shrinks_back() {
        let big = &r(i64::MAX, 1) * &r(i64::MAX, 1);
        assert!(big.parts().is_none());
        assert_eq!(&big * &big.recip().unwrap(), Rational::ONE);
        assert_eq!(-&r(i64::MIN, 1), &r(i64::MAX, 1) + &Rational::ONE);
        assert_eq!(-&-&r(i64::MIN, 1), r(i64::MIN, 1));
        assert_eq!(r(i64::MIN, i64::MIN), Rational::ONE);
        assert_eq!(r(1, i64::MIN).recip().unwrap(), r(i64::MIN, 1));
    }

    #[test]
    fn powers_and_roots() {
        assert_eq!(r(2, 3).pow(-2), Some(r(9, 4)));
        assert_eq!(r(9, 4).root(2), Some(r(3, 2)));
        assert_eq!(r(2, 1).root(2), None);
        assert_eq!(r(-8, 1).root(3), None);
        assert_eq!(r(2, 1).pow(i64::MAX), None);
        assert_eq!(r(0, 1).pow(-1), None);
        assert_eq!(r(-1, 1).pow(i64::MAX), Some(r(-1, 1)));
        assert_eq!(r(0, 1).pow(0), Some(Rational::ONE));
    }

    #[test]
    fn floor_rounds_down() {
        assert_eq!(r(-1, 2).floor(), r(-1, 1));
        assert_eq!(r(7, 2).floor(), r(3, 1));
    }

    #[test]
    fn huge_values_stay_bounded() {
        let mut x = r(3, 7);
        for _ in 0..40 {
            x = &x * &x;
        }
        assert!(x.denominator().bit_len() <= MAX_BITS);
        assert_eq!(x.to_f64(), 0.0);
        assert_eq!(x.recip().unwrap().to_f64(), f64::INFINITY);
        // A moderate ratio of two enormous numbers keeps its value.
        let n = IBig::from(3) << 9000;
        let d = UBig::from(2u8) << 9000;
        let ratio = Rational::from_big(n + IBig::ONE, d + UBig::ONE).unwrap();
        assert!((ratio.to_f64() - 1.5).abs() < 1e-15);
    }

    #[test]
    fn floats_are_exact() {
        for x in [0.1, -2.5, 1e300, 5e-324, f64::MAX] {
            let exact = Rational::from_f64(x).unwrap();
            assert_eq!(exact.to_f64().to_bits(), x.to_bits());
        }
        assert!(Rational::from_f64(f64::NAN).is_none());
    }
}
