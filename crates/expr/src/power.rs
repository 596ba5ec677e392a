//! Powers and square roots.

use crate::func::Func;
use crate::node::{Expr, Node};
use crate::number::Number;
use crate::pool::Pool;
use crate::rational::Rational;

impl Pool {
    /// base^exponent, in canonical form.
    ///
    /// - x^0 = 1 (also 0^0, as `f64::powf` has it), x^1 = x, 1^x = 1, e^x = exp(x);
    /// - rational powers of positive rationals are exact where they are rational, and else
    ///   have an exponent between 0 and 1: 2^(3/2) = 2·2^(1/2);
    /// - (x^a)^n = x^(a n) for integer n, and (x^a)^b = x^(a b) for fractional a or x >= 0;
    /// - (x^a)^b = |x|^(a b) for an even integer a: √(x²) is |x|, never x;
    /// - (x y)^n = x^n y^n for integer n, and √(4 x² y) = 2 |x| √y;
    /// - 0^(-1) and 0^x are kept as they are.
    pub fn pow(&mut self, base: Expr, exponent: Expr) -> Expr {
        if exponent == Expr::ZERO {
            return if self.is_singular(base) { self.undefined() } else { Expr::ONE };
        }
        if exponent == Expr::ONE {
            return base;
        }
        if base == Expr::ONE && !self.is_singular(exponent) {
            return Expr::ONE;
        }
        if base == Expr::E {
            return self.func(Func::Exp, &[exponent]);
        }
        let Some(k) = self.as_number(exponent).cloned() else {
            return self.intern(Node::Power(base, exponent));
        };
        // x^2.0 is x^2: the function is the same.
        if let Number::Float(x) = k
            && x.fract() == 0.0
            && let Some(n) = Rational::from_f64(x)
        {
            let n = self.number(n);
            return self.pow(base, n);
        }
        self.numeric_power(base, &k).unwrap_or_else(|| self.intern(Node::Power(base, exponent)))
    }

    /// √x = x^(1/2).
    pub fn sqrt(&mut self, x: Expr) -> Expr {
        self.pow(x, Expr::HALF)
    }

    /// base^k where another form than the plain power is canonical.
    fn numeric_power(&mut self, base: Expr, k: &Number) -> Option<Expr> {
        match self.node(base) {
            Node::Number(n) => {
                let n = n.clone();
                self.power_of_number(&n, k)
            }
            Node::Apply(Func::Exp, &[x]) => {
                let k = self.number(k.clone());
                let exponent = self.mul(&[x, k]);
                Some(self.func(Func::Exp, &[exponent]))
            }
            Node::Apply(Func::Abs, &[x]) if is_even(k) => {
                let k = self.number(k.clone());
                Some(self.pow(x, k))
            }
            Node::Power(inner, inner_exponent) => self.power_of_power(inner, inner_exponent, k),
            Node::Product(_) => self.power_of_product(base, k),
            Node::Sum(_) if is_even(k) && self.reads_negative(base) => {
                let flipped = self.negated_sum(base);
                let k = self.number(k.clone());
                Some(self.pow(flipped, k))
            }
            _ => None,
        }
    }

    fn power_of_power(&mut self, x: Expr, a: Expr, k: &Number) -> Option<Expr> {
        let even = self.as_rational(a).is_some_and(Rational::is_even);
        // A fractional power has a value only for x >= 0.
        let fractional = self.as_number(a).is_some_and(|a| !a.is_integer());
        let exponent = self.number(k.clone());
        if k.is_integer() || fractional || self.is_nonnegative(x) {
            let exponent = self.mul(&[a, exponent]);
            Some(self.pow(x, exponent))
        } else if even {
            let exponent = self.mul(&[a, exponent]);
            let magnitude = self.func(Func::Abs, &[x]);
            Some(self.pow(magnitude, exponent))
        } else {
            None
        }
    }

    fn power_of_product(&mut self, product: Expr, k: &Number) -> Option<Expr> {
        let exponent = self.number(k.clone());
        let factors = self.parts(product).to_vec();
        if k.is_integer() {
            let powers: Vec<Expr> = factors.iter().map(|&f| self.pow(f, exponent)).collect();
            return Some(self.mul(&powers));
        }
        // Factors that are surely not negative may leave the root; we let those go that
        // become simpler outside.
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for f in factors {
            let (_, a) = self.as_power(f);
            let leaves = match self.node(f) {
                Node::Number(Number::Rational(r)) if !r.is_negative() => {
                    let r = r.clone();
                    k.as_rational().is_some_and(|k| exact_root(&r, k).is_some())
                }
                Node::Power(..) => self.as_rational(a).is_some_and(Rational::is_even),
                _ => false,
            };
            if leaves {
                outside.push(self.pow(f, exponent));
            } else {
                inside.push(f);
            }
        }
        if outside.is_empty() {
            return None;
        }
        let inside = self.mul(&inside);
        outside.push(self.pow(inside, exponent));
        Some(self.mul(&outside))
    }

    fn power_of_number(&mut self, n: &Number, k: &Number) -> Option<Expr> {
        if let (Number::Rational(n), Number::Rational(k)) = (n, k) {
            return self.power_of_rational(n, k);
        }
        if n.is_zero() {
            return (!k.is_negative()).then_some(Expr::ZERO);
        }
        // Integer powers are exact and rounded once, as all arithmetic of numbers is.
        if let Some(i) = k.as_rational().and_then(Rational::to_i64) {
            let value = n.to_exact().pow(i).map(|r| self.rounded(r));
            if value.is_some() {
                return value;
            }
        }
        let value = libm::pow(n.to_f64(), k.to_f64());
        (value.is_finite() && value != 0.0).then(|| self.float(value))
    }

    /// The float nearest to an exact value, or that value where it is out of their range.
    fn rounded(&mut self, exact: Rational) -> Expr {
        match Number::float(exact.to_f64()) {
            Some(x @ Number::Float(_)) => self.number(x),
            _ => self.number(exact),
        }
    }

    fn power_of_rational(&mut self, n: &Rational, k: &Rational) -> Option<Expr> {
        if let Some(i) = k.to_i64() {
            let value = n.pow(i)?;
            return Some(self.number(value));
        }
        if n.is_zero() {
            return (!k.is_negative()).then_some(Expr::ZERO);
        }
        if n.is_negative() || k.is_integer() {
            return None;
        }
        if let Some(value) = exact_root(n, k) {
            return Some(self.number(value));
        }
        // (1/d)^k = d^(-k)
        if let Some((1, d)) = n.parts() {
            let base = self.num(d);
            let exponent = self.number(-k);
            return Some(self.pow(base, exponent));
        }
        // n^k = n^floor(k) n^(k - floor(k))
        let whole = k.floor();
        if whole.is_zero() {
            return None;
        }
        let fraction = k + &-&whole;
        let coefficient = n.pow(whole.to_i64()?)?;
        let coefficient = self.number(coefficient);
        let (base, fraction) = (self.number(n.clone()), self.number(fraction));
        let root = self.intern(Node::Power(base, fraction));
        Some(self.mul(&[coefficient, root]))
    }
}

fn is_even(k: &Number) -> bool {
    k.as_rational().is_some_and(Rational::is_even)
}

/// n^(p/q) where it is rational and q is small.
fn exact_root(n: &Rational, k: &Rational) -> Option<Rational> {
    let (p, q) = k.parts()?;
    let q = u32::try_from(q).ok().filter(|&q| q <= 64)?;
    n.root(q)?.pow(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let mut pool = Pool::new();
        let e = pool.parse(text).unwrap();
        pool.display(e).to_string()
    }

    #[test]
    fn roots_of_squares_are_absolute_values() {
        assert_eq!(show("sqrt(x^2)"), "abs(x)");
        assert_eq!(show("sqrt(x^4)"), "x^2");
        assert_eq!(show("sqrt(x^6)"), "abs(x)^3");
        assert_eq!(show("sqrt(4*x^2*y)"), "2*sqrt(y)*abs(x)");
        assert_eq!(show("sqrt(x)^2"), "x");
        assert_eq!(show("(x^2)^(1/4)"), "sqrt(abs(x))");
        assert_eq!(show("sqrt(x^3)"), "sqrt(x^3)");
        assert_eq!(show("sqrt((x - y)^2)"), "abs(x - y)");
        assert_eq!(show("(y - x)^2 - (x - y)^2"), "0");
    }

    #[test]
    fn numbers_fold_exactly() {
        assert_eq!(show("4^(1/2)"), "2");
        assert_eq!(show("8^(2/3)"), "4");
        assert_eq!(show("2^(3/2)"), "2*sqrt(2)");
        assert_eq!(show("1/sqrt(2)"), "sqrt(2)/2");
        assert_eq!(show("sqrt(1/2)"), "sqrt(2)/2");
        assert_eq!(show("sqrt(2)*sqrt(2)"), "2");
        assert_eq!(show("(2/3)^(-2)"), "9/4");
        assert_eq!(show("0^0"), "1");
        assert_eq!(show("0^3"), "0");
        assert_eq!(show("9^9^9^9"), "9^9^387420489");
        assert_eq!(show("(-8)^(1/3)"), "(-8)^(1/3)");
    }

    #[test]
    fn powers_merge_where_valid() {
        assert_eq!(show("(x^a)^2"), "x^(2*a)");
        assert_eq!(show("(x^a)^b"), "(x^a)^b");
        assert_eq!(show("(2*x*y)^2"), "4*x^2*y^2");
        assert_eq!(show("1/(x*y)"), "1/(x*y)");
        assert_eq!(show("e^x"), "exp(x)");
        assert_eq!(show("exp(x)^2"), "exp(2*x)");
        assert_eq!(show("x^~2"), "x^2");
    }

    #[test]
    fn huge_powers_cancel() {
        assert_eq!(show("2^100000/2^99999"), "2");
    }
}
