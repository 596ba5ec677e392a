//! The one set of floating-point routines that folding, `eval` and tapes share.
//!
//! They are IEEE operations and the `libm` crate's software functions, never the platform's,
//! and no fused multiply-add: the same expression gives the same bits everywhere.

use crate::func::Func;

/// Integer and half-integer powers up to this are products; others call `pow`.
pub(crate) const MAX_PRODUCT_POWER: i64 = 64;

/// Smaller of two; NaN if one is.
#[inline]
pub(crate) fn min(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// Larger of two; NaN if one is.
#[inline]
pub(crate) fn max(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// -1, 0 or 1; NaN of NaN.
#[inline]
pub(crate) fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x + 0.0
    }
}

/// 0 for x < 0, 1 for x >= 0; NaN of NaN.
#[inline]
pub(crate) fn step(x: f64) -> f64 {
    if x < 0.0 {
        0.0
    } else if x >= 0.0 {
        1.0
    } else {
        x
    }
}

/// The value of a function of one argument.
#[inline]
pub(crate) fn unary(func: Func, x: f64) -> f64 {
    match func {
        Func::Exp => libm::exp(x),
        Func::Log => libm::log(x),
        Func::Log10 => libm::log10(x),
        Func::Log2 => libm::log2(x),
        Func::Sin => libm::sin(x),
        Func::Cos => libm::cos(x),
        Func::Tan => libm::tan(x),
        Func::Asin => libm::asin(x),
        Func::Acos => libm::acos(x),
        Func::Atan => libm::atan(x),
        Func::Sinh => libm::sinh(x),
        Func::Cosh => libm::cosh(x),
        Func::Tanh => libm::tanh(x),
        Func::Asinh => libm::asinh(x),
        Func::Acosh => libm::acosh(x),
        Func::Atanh => libm::atanh(x),
        Func::Abs => x.abs(),
        Func::Sign => sign(x),
        Func::Step => step(x),
        Func::Floor => x.floor(),
        Func::Erf => libm::erf(x),
        Func::Min | Func::Max => x,
        Func::Atan2 => f64::NAN,
    }
}

/// x^n for n >= 1 by squaring: the bits of n from the highest down.
#[inline]
pub(crate) fn powi(x: f64, n: u32) -> f64 {
    let mut result = x;
    for bit in (0..n.ilog2()).rev() {
        result *= result;
        if n >> bit & 1 == 1 {
            result *= x;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_never_hidden() {
        for f in [min, max] {
            assert!(f(f64::NAN, 1.0).is_nan());
            assert!(f(1.0, f64::NAN).is_nan());
        }
        assert!(step(f64::NAN).is_nan());
        assert!(sign(f64::NAN).is_nan());
    }

    #[test]
    fn steps_and_signs() {
        assert_eq!((step(-1e-300), step(0.0), step(-0.0)), (0.0, 1.0, 1.0));
        assert_eq!((sign(-2.0), sign(0.0), sign(3.0)), (-1.0, 0.0, 1.0));
    }

    #[test]
    fn squaring_gives_the_power() {
        for n in 1..=20u32 {
            assert_eq!(powi(2.0, n), f64::from(1u32 << n));
            assert_eq!(powi(3.0, n), 3f64.powi(i32::try_from(n).unwrap()));
        }
    }
}
