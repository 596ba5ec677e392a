//! Number literals.

use dashu_int::{IBig, UBig};

use crate::number::Number;
use crate::rational::Rational;

/// Decimal exponents beyond ±40 make a float.
const MAX_EXPONENT: i64 = 40;
/// Literals of more digits make a float; rationals of up to 8192 bits have fewer.
const MAX_DIGITS: usize = 2500;

/// The value of a literal such as `12`, `0.3` or `1e-9`: the exact rational, or a float when
/// the exponent is beyond ±40 or there are more than 2500 digits.
///
/// None when the literal has no float value: too large, or not zero and too small.
pub(crate) fn value(literal: &str) -> Option<Number> {
    exact(literal).map(Number::Rational).or_else(|| float(literal))
}

/// The literal as a float, as for `~0.1`.
pub(crate) fn float(literal: &str) -> Option<Number> {
    let x: f64 = literal.parse().ok()?;
    let mantissa = literal.split(['e', 'E']).next().unwrap_or(literal);
    let underflow = x == 0.0 && mantissa.contains(|c: char| ('1'..='9').contains(&c));
    if underflow { None } else { Number::float(x) }
}

fn exact(literal: &str) -> Option<Rational> {
    let (mantissa, exponent) = match literal.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (literal, 0),
    };
    if mantissa.len() > MAX_DIGITS || exponent.abs() > MAX_EXPONENT {
        return None;
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let n: IBig = if digits.is_empty() { IBig::ZERO } else { digits.parse().ok()? };
    let exponent = exponent - i64::try_from(fraction.len()).ok()?;
    let scale = UBig::from(10u8).pow(usize::try_from(exponent.unsigned_abs()).ok()?);
    if exponent >= 0 {
        Rational::from_big(n * IBig::from(scale), UBig::ONE)
    } else {
        Rational::from_big(n, scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let r = |n, d| Some(Number::Rational(Rational::new(n, d).unwrap()));
        assert_eq!(value("0.3"), r(3, 10));
        assert_eq!(value("1e-9"), r(1, 1_000_000_000));
        assert_eq!(value("1.5E2"), r(150, 1));
        assert_eq!(value(".5"), r(1, 2));
        assert_eq!(value("5."), r(5, 1));
        assert_eq!(value("1e41"), Some(Number::Float(1e41)));
        assert_eq!(value("1e999"), None);
        assert_eq!(value("1e-999"), None);
        assert_eq!(value("0e-999"), Some(Number::ZERO));
        assert_eq!(value("1e99999999999999999999"), None);
    }

    #[test]
    fn decimals_round_to_the_same_float() {
        for text in ["0.1", "9.81", "123456789.123456789", "6.02214076e23", "1.6e-35"] {
            let exact = value(text).unwrap().to_f64();
            assert_eq!(exact.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        let long = "0.".to_owned() + &"123456789".repeat(60);
        assert_eq!(value(&long).unwrap().to_f64(), long.parse::<f64>().unwrap());
    }
}
