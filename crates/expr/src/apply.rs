//! Function application and conditionals.

use crate::func::{Func, Parity};
use crate::node::{Comparison, Expr, Node};
use crate::number::Number;
use crate::pool::Pool;
use crate::rational::Rational;

impl Pool {
    /// f(arguments), in canonical form.
    ///
    /// Exact values are taken where they are simple (sin π/6 = 1/2, log 1 = 0, ⌊7/2⌋ = 3),
    /// functions of floats are computed, signs leave odd functions and vanish in even ones
    /// (sin(-x) = -sin x, cos(-x) = cos x), and log(exp x) = exp(log x) = x.
    ///
    /// The number of arguments must be among [`Func::n_arguments`]; with another the result is
    /// [`undefined`](Self::undefined).
    pub fn func(&mut self, func: Func, arguments: &[Expr]) -> Expr {
        debug_assert!(func.n_arguments().contains(&arguments.len()), "arguments of {func:?}");
        match (func, arguments) {
            (Func::Min | Func::Max, [_, ..]) => self.extremum(func, arguments),
            (Func::Atan2, &[y, x]) => self.atan2(y, x),
            (Func::Min | Func::Max | Func::Atan2, _) => self.undefined(),
            (_, &[x]) => self.unary(func, x),
            _ => self.undefined(),
        }
    }

    /// sin x.
    pub fn sin(&mut self, x: Expr) -> Expr {
        self.unary(Func::Sin, x)
    }

    /// cos x.
    pub fn cos(&mut self, x: Expr) -> Expr {
        self.unary(Func::Cos, x)
    }

    /// if(a ? b, x, y): x where the comparison holds, else y. NaN compares false.
    ///
    /// a > b is kept as b < a; a comparison of exact numbers is decided at once.
    pub fn if_else(
        &mut self,
        comparison: Comparison,
        a: Expr,
        b: Expr,
        then: Expr,
        otherwise: Expr,
    ) -> Expr {
        let (comparison, a, b) = match comparison {
            Comparison::Greater => (Comparison::Less, b, a),
            Comparison::GreaterEqual => (Comparison::LessEqual, b, a),
            _ => (comparison, a, b),
        };
        if then == otherwise {
            return then;
        }
        if let (Some(x), Some(y)) = (self.as_number(a), self.as_number(b)) {
            let order = x.to_exact().cmp(&y.to_exact());
            let holds = match comparison {
                Comparison::Less => order.is_lt(),
                _ => order.is_le(),
            };
            return if holds { then } else { otherwise };
        }
        self.intern(Node::If(comparison, [a, b, then, otherwise]))
    }

    fn unary(&mut self, func: Func, x: Expr) -> Expr {
        if let Some(value) = self.known_value(func, x) {
            return value;
        }
        match func.parity() {
            Parity::Odd if self.reads_negative(x) => {
                let minus_x = self.neg(x);
                let value = self.unary(func, minus_x);
                self.neg(value)
            }
            Parity::Even if self.reads_negative(x) => {
                let minus_x = self.neg(x);
                self.unary(func, minus_x)
            }
            _ => self.intern(Node::Apply(func, &[x])),
        }
    }

    /// The value of func(x) where it has a simpler form than the application.
    fn known_value(&mut self, func: Func, x: Expr) -> Option<Expr> {
        if let Some(number) = self.as_number(x).cloned() {
            return match number {
                Number::Rational(r) => self.value_at_rational(func, &r),
                Number::Float(x) => {
                    let value = func.value(&[x]);
                    value.is_finite().then(|| self.float(value))
                }
            };
        }
        match (func, self.node(x)) {
            (Func::Exp, Node::Apply(Func::Log, &[y]))
            | (Func::Log, Node::Apply(Func::Exp, &[y])) => Some(y),
            (Func::Log, _) if x == Expr::E => Some(Expr::ONE),
            (Func::Abs, _) if self.is_nonnegative(x) => Some(x),
            (Func::Abs | Func::Sign, Node::Product(factors)) => {
                let c = self.as_number(factors[0])?.clone();
                let rest = self.product_tail(x);
                let value = self.unary(func, rest);
                let scale = match func {
                    Func::Abs => self.number(c.abs()),
                    _ if c.is_negative() => Expr::MINUS_ONE,
                    _ => Expr::ONE,
                };
                Some(self.mul(&[scale, value]))
            }
            (Func::Sign, Node::Constant(_)) => Some(Expr::ONE),
            (Func::Step, _) if self.is_nonnegative(x) && !self.is_singular(x) => Some(Expr::ONE),
            (Func::Sin | Func::Cos | Func::Tan, _) => {
                let turn = self.multiple_of_pi(x)?;
                self.trigonometric_value(func, &turn)
            }
            _ => None,
        }
    }

    fn value_at_rational(&mut self, func: Func, r: &Rational) -> Option<Expr> {
        let value = match func {
            Func::Exp | Func::Cos | Func::Cosh if r.is_zero() => Expr::ONE,
            Func::Exp if r.is_one() => Expr::E,
            Func::Log | Func::Log10 | Func::Log2 | Func::Acos | Func::Acosh if r.is_one() => {
                Expr::ZERO
            }
            Func::Log10 if r.to_i64() == Some(10) => Expr::ONE,
            Func::Log2 if r.to_i64() == Some(2) => Expr::ONE,
            Func::Abs => self.number(r.abs()),
            Func::Sign if r.is_negative() => Expr::MINUS_ONE,
            Func::Sign if !r.is_zero() => Expr::ONE,
            Func::Step if r.is_negative() => Expr::ZERO,
            Func::Step => Expr::ONE,
            Func::Floor => self.number(r.floor()),
            _ if r.is_zero() && func.parity() == Parity::Odd => Expr::ZERO,
            _ => return None,
        };
        Some(value)
    }

    /// r where x = r π.
    fn multiple_of_pi(&self, x: Expr) -> Option<Rational> {
        match self.node(x) {
            _ if x == Expr::PI => Some(Rational::ONE),
            Node::Product(&[r, Expr::PI]) => self.as_rational(r).cloned(),
            _ => None,
        }
    }

    /// sin, cos or tan of r π where 12 r is one of the well-known integers.
    fn trigonometric_value(&mut self, func: Func, r: &Rational) -> Option<Expr> {
        let twelfths = (r * &Rational::from(12)).to_i64()?.rem_euclid(24);
        match func {
            Func::Sin => self.sine_of_twelfths(twelfths),
            Func::Cos => self.sine_of_twelfths((twelfths + 6) % 24),
            _ => {
                let sin = self.sine_of_twelfths(twelfths)?;
                let cos = self.sine_of_twelfths((twelfths + 6) % 24)?;
                (cos != Expr::ZERO).then(|| self.div(sin, cos))
            }
        }
    }

    /// sin(k π/12) for 0 <= k < 24.
    fn sine_of_twelfths(&mut self, k: i64) -> Option<Expr> {
        if k >= 12 {
            let value = self.sine_of_twelfths(k - 12)?;
            return Some(self.neg(value));
        }
        match k.min(12 - k) {
            0 => Some(Expr::ZERO),
            2 => Some(Expr::HALF),
            3 => Some(self.sqrt(Expr::HALF)),
            4 => {
                let three = self.num(3);
                let root = self.sqrt(three);
                Some(self.mul(&[Expr::HALF, root]))
            }
            6 => Some(Expr::ONE),
            _ => None,
        }
    }

    fn atan2(&mut self, y: Expr, x: Expr) -> Expr {
        if let (Some(a), Some(b)) = (self.as_number(y), self.as_number(x)) {
            let float = matches!(a, Number::Float(_)) || matches!(b, Number::Float(_));
            if a.is_zero() && !b.is_negative() && !b.is_zero() {
                return Expr::ZERO;
            }
            if float {
                let value = libm::atan2(a.to_f64(), b.to_f64());
                return self.float(value);
            }
        }
        self.intern(Node::Apply(Func::Atan2, &[y, x]))
    }

    /// min or max: flat, sorted, without repetitions, with at most one number.
    fn extremum(&mut self, func: Func, arguments: &[Expr]) -> Expr {
        let mut flat: Vec<Expr> = Vec::with_capacity(arguments.len());
        for &x in arguments {
            match self.node(x) {
                Node::Apply(f, inner) if f == func => flat.extend_from_slice(inner),
                _ => flat.push(x),
            }
        }
        let best = flat.iter().copied().filter(|&x| self.as_number(x).is_some()).reduce(|a, b| {
            let order = match (self.as_number(a), self.as_number(b)) {
                (Some(a), Some(b)) => a.order(b),
                _ => std::cmp::Ordering::Equal,
            };
            if order.is_lt() == (func == Func::Min) { a } else { b }
        });
        flat.retain(|&x| self.as_number(x).is_none());
        flat.extend(best);
        flat.sort_unstable_by(|&a, &b| self.compare(a, b));
        flat.dedup();
        match *flat {
            [only] => only,
            _ => self.intern(Node::Apply(func, &flat)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let mut pool = Pool::new();
        for name in ["x", "y"] {
            pool.symbol(name);
        }
        let e = pool.parse(text).unwrap();
        pool.display(e).to_string()
    }

    #[test]
    fn signs_leave_functions() {
        assert_eq!(show("sin(-x)"), "-sin(x)");
        assert_eq!(show("cos(-x)"), "cos(x)");
        assert_eq!(show("sin(y - x) + sin(x - y)"), "0");
        assert_eq!(show("cos(y - x) - cos(x - y)"), "0");
        assert_eq!(show("abs(-2*x)"), "2*abs(x)");
        assert_eq!(show("sign(-2*x)"), "-sign(x)");
        assert_eq!(show("abs(abs(x))"), "abs(x)");
        assert_eq!(show("exp(-x)"), "exp(-x)");
    }

    #[test]
    fn exact_values() {
        assert_eq!(show("sin(0) + cos(0) + exp(0) + log(1)"), "2");
        assert_eq!(show("sin(pi/6)"), "1/2");
        assert_eq!(show("cos(pi/4)"), "sqrt(2)/2");
        assert_eq!(show("sin(4*pi/3)"), "-sqrt(3)/2");
        assert_eq!(show("tan(pi/3)"), "sqrt(3)");
        assert_eq!(show("tan(pi/2)"), "tan(pi/2)");
        assert_eq!(show("cos(7*pi)"), "-1");
        assert_eq!(show("floor(-7/2)"), "-4");
        assert_eq!(show("step(0) + step(-1)"), "1");
        assert_eq!(show("log(exp(x)) + exp(log(y))"), "x + y");
        assert_eq!(show("log(e)"), "1");
        assert_eq!(show("sin(1)"), "sin(1)");
    }

    #[test]
    fn extrema_are_flat_and_sorted() {
        assert_eq!(show("min(y, 3, x, min(2, x))"), "min(x, y, 2)");
        assert_eq!(show("max(1, 2, 1/2)"), "2");
        assert_eq!(show("max(x, x)"), "x");
    }

    #[test]
    fn conditions_decide_exactly() {
        assert_eq!(show("if(1 < 2, x, y)"), "x");
        assert_eq!(show("if(1/3 >= 1/3, x, y)"), "x");
        assert_eq!(show("if(x > 2, x, y)"), "if(2 < x, x, y)");
        assert_eq!(show("if(x > 2, y, y)"), "y");
    }

    #[test]
    fn floats_are_computed() {
        assert_eq!(show("sin(~0.5)"), format!("~{:?}", libm::sin(0.5)));
        assert_eq!(show("log(-~1)"), "log(-~1)");
        assert_eq!(show("atan2(~1, ~1)"), format!("~{:?}", libm::atan2(1.0, 1.0)));
    }
}
