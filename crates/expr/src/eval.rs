//! Plain evaluation.

use rustc_hash::FxHashMap;

use crate::node::{Expr, Node};
use crate::number::Number;
use crate::numeric::{self, MAX_PRODUCT_POWER};
use crate::pool::Pool;
use crate::rational::Rational;

/// How a power with a numeric exponent is computed, by [`Pool::eval`] and by tapes alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PowerForm {
    /// x^whole·√x^half, or its inverse: products and at most one root.
    Product {
        /// The whole part of |exponent|.
        whole: u32,
        /// Whether a half remains.
        half: bool,
        /// Whether the exponent is negative.
        inverse: bool,
    },
    /// The general `pow`.
    General(f64),
}

impl PowerForm {
    pub(crate) fn of(exponent: &Number) -> Self {
        let product = || {
            let (n, d) = exponent.as_rational().and_then(Rational::parts)?;
            let halves = n.checked_mul(3 - d).filter(|_| d <= 2)?;
            if halves.unsigned_abs() > 2 * MAX_PRODUCT_POWER.unsigned_abs() {
                return None;
            }
            let whole = u32::try_from(halves.unsigned_abs() / 2).ok()?;
            Some(Self::Product { whole, half: halves % 2 != 0, inverse: halves < 0 })
        };
        product().unwrap_or_else(|| Self::General(exponent.to_f64()))
    }

    /// |x^exponent| without the inversion.
    fn magnitude(self, x: f64) -> f64 {
        match self {
            Self::Product { whole: 0, .. } => x.sqrt(),
            Self::Product { whole, half: false, .. } => numeric::powi(x, whole),
            Self::Product { whole, half: true, .. } => numeric::powi(x, whole) * x.sqrt(),
            Self::General(k) => libm::pow(x, k),
        }
    }

    pub(crate) fn is_inverse(self) -> bool {
        matches!(self, Self::Product { inverse: true, .. })
    }
}

impl Pool {
    /// The value of an expression, given those of its symbols and functions of time.
    ///
    /// Sums are added from left to right, beginning with the first term that has no minus;
    /// products are the factors from left to right, times the coefficient, divided by the
    /// product of the divisors. A [`Tape`](crate::Tape) gives the same bits, much faster.
    ///
    /// ```
    /// # use gelenk_expr::Pool;
    /// let mut pool = Pool::new();
    /// let e = pool.parse("x^2 + 1/2").unwrap();
    /// assert_eq!(pool.eval(e, |_| 3.0), 9.5);
    /// ```
    pub fn eval(&self, e: Expr, mut variable: impl FnMut(Expr) -> f64) -> f64 {
        let mut values: FxHashMap<Expr, f64> = FxHashMap::default();
        for e in self.subexpressions(&[e]) {
            let value = |e: Expr| values[&e];
            let result = match self.node(e) {
                Node::Number(n) => n.to_f64(),
                Node::Constant(c) => c.value(),
                Node::Symbol(_) | Node::OfTime { .. } => variable(e),
                Node::Sum(terms) => {
                    let first = self.first_term(terms);
                    let others = terms.iter().enumerate().filter(|&(i, _)| i != first);
                    others.fold(value(terms[first]), |sum, (_, &term)| sum + value(term))
                }
                Node::Product(factors) => self.product_value(factors, value),
                Node::Power(base, exponent) => match self.as_number(exponent) {
                    Some(_) => self.product_value(&[e], value),
                    None => libm::pow(value(base), value(exponent)),
                },
                Node::Apply(func, arguments) => {
                    let arguments: Vec<f64> = arguments.iter().map(|&a| value(a)).collect();
                    func.value(&arguments)
                }
                Node::If(comparison, [a, b, then, otherwise]) => {
                    let holds = comparison.holds(value(a), value(b));
                    value(if holds { then } else { otherwise })
                }
            };
            values.insert(e, result);
        }
        values[&e]
    }

    /// The value of an expression without variables; none if it has some.
    ///
    /// Rationals are correctly rounded. Other constants, as sqrt(2)·π, are evaluated.
    pub fn as_f64(&self, e: Expr) -> Option<f64> {
        match self.node(e) {
            Node::Number(n) => Some(n.to_f64()),
            _ => self.is_constant(e).then(|| self.eval(e, |_| f64::NAN)),
        }
    }

    /// Where a sum begins: at the first term without a minus sign, so that the others can be
    /// subtracted; at the first if all have one.
    pub(crate) fn first_term(&self, terms: &[Expr]) -> usize {
        terms.iter().position(|&t| !self.reads_negative(t)).unwrap_or(0)
    }

    /// How a factor base^exponent is computed; none if the exponent is no number.
    pub(crate) fn power_form(&self, factor: Expr) -> Option<(Expr, PowerForm)> {
        match self.node(factor) {
            Node::Power(base, exponent) => {
                self.as_number(exponent).map(|k| (base, PowerForm::of(k)))
            }
            _ => None,
        }
    }

    fn product_value(&self, factors: &[Expr], value: impl Fn(Expr) -> f64) -> f64 {
        let times = |product: Option<f64>, x: f64| Some(product.map_or(x, |p| p * x));
        let (mut above, mut below) = (None, None);
        let mut coefficient = None;
        for &factor in factors {
            if let Some(n) = self.as_number(factor) {
                coefficient = Some(n.to_f64());
            } else if let Some((base, form)) = self.power_form(factor) {
                let power = form.magnitude(value(base));
                if form.is_inverse() {
                    below = times(below, power);
                } else {
                    above = times(above, power);
                }
            } else {
                above = times(above, value(factor));
            }
        }
        let above = match (above, coefficient) {
            (Some(above), Some(c)) => above * c,
            (Some(x), None) | (None, Some(x)) => x,
            (None, None) => 1.0,
        };
        below.map_or(above, |below| above / below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let mut pool = Pool::new();
        let e = pool.parse(text).unwrap();
        pool.as_f64(e).unwrap()
    }

    #[test]
    fn constants_evaluate() {
        assert_eq!(value("1/3"), 1.0 / 3.0);
        assert_eq!(value("0.1"), 0.1);
        assert_eq!(value("2*pi"), std::f64::consts::TAU);
        assert_eq!(value("sqrt(2)"), 2f64.sqrt());
        assert_eq!(value("0^(-1)"), f64::INFINITY);
        assert!(value("log(-1)").is_nan());
        assert_eq!(value("2^100000"), f64::INFINITY);
        assert_eq!(value("min(pi, e, 3)"), std::f64::consts::E);
        assert_eq!(value("(-8)^(1/3)").to_bits() & (1 << 62), 1 << 62);
    }

    #[test]
    fn variables_are_asked_for() {
        let mut pool = Pool::new();
        let e = pool.parse("x*y^(-3/2) - f'(t)").unwrap();
        assert_eq!(pool.as_f64(e), None);
        let value = pool.eval(e, |s| match pool.node(s) {
            Node::Symbol("x") => 16.0,
            Node::Symbol("y") => 4.0,
            _ => 1.0,
        });
        assert_eq!(value, 1.0);
    }

    #[test]
    fn forms_of_powers() {
        let form = |n, d| PowerForm::of(&Number::Rational(Rational::new(n, d).unwrap()));
        assert_eq!(form(-3, 2), PowerForm::Product { whole: 1, half: true, inverse: true });
        assert_eq!(form(64, 1), PowerForm::Product { whole: 64, half: false, inverse: false });
        assert_eq!(form(65, 1), PowerForm::General(65.0));
        assert_eq!(form(1, 4), PowerForm::General(0.25));
    }
}
