//! From expressions to text that parses back.

use std::fmt;

use crate::node::{Expr, Node};
use crate::number::Number;
use crate::pool::Pool;
use crate::rational::Rational;

/// An expression as text; see [`Pool::display`].
#[derive(Clone, Copy)]
pub struct Display<'a> {
    pool: &'a Pool,
    expr: Expr,
}

impl Pool {
    /// The expression as readable text that parses back to the same expression.
    ///
    /// Negative powers print as quotients, x^(1/2) as `sqrt(x)`, and floats with a mark,
    /// `~0.1`, to tell them from the exact `0.1` = 1/10. 0^(-1) prints as it is, since the
    /// parser refuses `1/0`. Shared parts print as often as they occur, so the text of a large
    /// shared expression can be very long; printing itself needs no stack.
    pub fn display(&self, e: Expr) -> Display<'_> {
        Display { pool: self, expr: e }
    }
}

/// How tightly an expression binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sum,
    Product,
    Power,
    Atom,
}

/// What is still to be written, last first.
enum Piece {
    Text(&'static str),
    Owned(String),
    /// An expression, in parentheses if it binds less tightly than the level.
    Expr(Expr, Level),
    /// An expression whose leading sign is already written.
    Magnitude(Expr),
    /// base^|exponent|, where the exponent is a number.
    PositivePower(Expr, Expr),
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut todo = vec![Piece::Expr(self.expr, Level::Sum)];
        let mut pieces = Vec::new();
        while let Some(piece) = todo.pop() {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Owned(text) => f.write_str(&text)?,
                Piece::Expr(e, level) if self.level(e) < level => {
                    pieces.push(Piece::Text("("));
                    pieces.push(Piece::Expr(e, Level::Sum));
                    pieces.push(Piece::Text(")"));
                }
                Piece::Expr(e, _) => self.expression(e, &mut pieces),
                Piece::Magnitude(e) => self.magnitude(e, &mut pieces),
                Piece::PositivePower(base, exponent) => {
                    self.positive_power(base, exponent, &mut pieces);
                }
            }
            todo.extend(pieces.drain(..).rev());
        }
        Ok(())
    }
}

impl fmt::Debug for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Display<'_> {
    fn level(&self, e: Expr) -> Level {
        match self.pool.node(e) {
            Node::Sum(_) => Level::Sum,
            Node::Product(_) => Level::Product,
            Node::Number(n) if n.is_negative() => Level::Product,
            Node::Number(Number::Rational(r)) if !r.is_integer() => Level::Product,
            Node::Power(base, exponent) => {
                if self.is_divisor(base, exponent) {
                    Level::Product
                } else if exponent == Expr::HALF {
                    Level::Atom
                } else {
                    Level::Power
                }
            }
            _ => Level::Atom,
        }
    }

    /// Whether base^exponent prints below a fraction bar. Not if the positive power would be
    /// computed at once: 0, and floats.
    fn is_divisor(&self, base: Expr, exponent: Expr) -> bool {
        let computed = match self.pool.node(base) {
            Node::Number(Number::Float(_)) => true,
            _ => base == Expr::ZERO,
        };
        !computed && self.pool.as_number(exponent).is_some_and(Number::is_negative)
    }

    fn has_minus(&self, e: Expr) -> bool {
        !matches!(self.pool.node(e), Node::Sum(_)) && self.pool.reads_negative(e)
    }

    fn expression(&self, e: Expr, out: &mut Vec<Piece>) {
        let one = [e];
        let terms = match self.pool.node(e) {
            Node::Sum(terms) => terms,
            _ => &one,
        };
        for (i, &term) in terms.iter().enumerate() {
            match (i, self.has_minus(term)) {
                (0, false) => {}
                (0, true) => out.push(Piece::Text("-")),
                (_, false) => out.push(Piece::Text(" + ")),
                (_, true) => out.push(Piece::Text(" - ")),
            }
            out.push(Piece::Magnitude(term));
        }
    }

    fn magnitude(&self, e: Expr, out: &mut Vec<Piece>) {
        match self.pool.node(e) {
            Node::Number(n) => out.push(Piece::Owned(number(&n.abs()))),
            Node::Constant(c) => out.push(Piece::Text(c.name())),
            Node::Symbol(name) => out.push(Piece::Owned(name.to_owned())),
            Node::OfTime { name, order } => {
                let primes = "'".repeat(order as usize);
                out.push(Piece::Owned(format!("{name}{primes}({})", self.pool.time_name())));
            }
            Node::Sum(_) => out.push(Piece::Expr(e, Level::Product)),
            Node::Product(factors) => self.product(factors, out),
            Node::Power(..) => self.product(&[e], out),
            Node::Apply(func, arguments) => {
                out.push(Piece::Text(func.name()));
                list("(", arguments, out);
            }
            Node::If(comparison, [a, b, x, y]) => {
                out.push(Piece::Text("if("));
                out.push(Piece::Expr(a, Level::Sum));
                out.push(Piece::Owned(format!(" {} ", comparison.symbol())));
                out.push(Piece::Expr(b, Level::Sum));
                list(", ", &[x, y], out);
            }
        }
    }

    /// |coefficient| · above / below.
    fn product(&self, factors: &[Expr], out: &mut Vec<Piece>) {
        let (coefficient, factors) = match self.pool.as_number(factors[0]) {
            Some(n) => (n.abs(), &factors[1..]),
            None => (Number::ONE, factors),
        };
        let (mut above, mut below) = (Vec::new(), Vec::new());
        match &coefficient {
            Number::Rational(r) => {
                if !r.is_one() && r.numerator() != 1.into() {
                    above.push(Piece::Owned(r.numerator().to_string()));
                }
                if !r.is_integer() {
                    below.push(Piece::Owned(r.denominator().to_string()));
                }
            }
            Number::Float(_) => above.push(Piece::Owned(number(&coefficient))),
        }
        for &factor in factors {
            match self.pool.node(factor) {
                Node::Power(base, exponent) if self.is_divisor(base, exponent) => {
                    below.push(Piece::PositivePower(base, exponent));
                }
                Node::Power(base, exponent) => {
                    above.push(Piece::PositivePower(base, exponent));
                }
                _ => above.push(Piece::Expr(factor, Level::Power)),
            }
        }
        if above.is_empty() {
            above.push(Piece::Text("1"));
        }
        join(above, out);
        match below.len() {
            0 => {}
            1 => {
                out.push(Piece::Text("/"));
                join(below, out);
            }
            _ => {
                out.push(Piece::Text("/("));
                join(below, out);
                out.push(Piece::Text(")"));
            }
        }
    }

    fn positive_power(&self, base: Expr, exponent: Expr, out: &mut Vec<Piece>) {
        let divisor = self.is_divisor(base, exponent);
        let magnitude = self.pool.as_number(exponent).filter(|_| divisor).map(Number::abs);
        let is_half = match &magnitude {
            Some(k) => k.as_rational() == Some(&Rational::HALF),
            None => exponent == Expr::HALF,
        };
        if is_half {
            out.push(Piece::Text("sqrt("));
            out.push(Piece::Expr(base, Level::Sum));
            out.push(Piece::Text(")"));
            return;
        }
        out.push(Piece::Expr(base, Level::Atom));
        match magnitude {
            Some(k) if k.is_one() => {}
            Some(k) if k.as_rational().is_some_and(|r| !r.is_integer()) => {
                out.push(Piece::Owned(format!("^({})", number(&k))));
            }
            Some(k) => out.push(Piece::Owned(format!("^{}", number(&k)))),
            None => {
                out.push(Piece::Text("^"));
                out.push(Piece::Expr(exponent, Level::Power));
            }
        }
    }
}

fn list(open: &'static str, items: &[Expr], out: &mut Vec<Piece>) {
    for (i, &item) in items.iter().enumerate() {
        out.push(Piece::Text(if i == 0 { open } else { ", " }));
        out.push(Piece::Expr(item, Level::Sum));
    }
    out.push(Piece::Text(")"));
}

fn join(pieces: Vec<Piece>, out: &mut Vec<Piece>) {
    for (i, piece) in pieces.into_iter().enumerate() {
        if i > 0 {
            out.push(Piece::Text("*"));
        }
        out.push(piece);
    }
}

/// A number that is not negative; floats with their mark.
fn number(n: &Number) -> String {
    match n {
        Number::Rational(r) => r.to_string(),
        // The debug form is the shortest that reads back, with an exponent where that is short.
        Number::Float(x) => format!("~{}", format!("{x:?}").trim_end_matches(".0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let mut pool = Pool::new();
        for name in ["a", "b", "c", "x", "y"] {
            pool.symbol(name);
        }
        pool.function_of_time("f", 0);
        let e = pool.parse(text).unwrap();
        assert_eq!(pool.display(e).to_string(), printed);
        assert_eq!(pool.parse(printed), Ok(e), "{printed}");
    }

    #[test]
    fn quotients_and_signs() {
        check("a/b/c", "a/(b*c)");
        check("-a/2 - b*3/4", "-a/2 - 3*b/4");
        check("(a + b)/2", "(a + b)/2");
        check("-(a + b)/2", "-(a + b)/2");
        check("c - (a + b)*2", "c - 2*(a + b)");
        check("1/x^2", "1/x^2");
        check("-1/x", "-1/x");
        check("a/sqrt(x)", "a/sqrt(x)");
        check("x^(-3/2)", "1/x^(3/2)");
        check("2^(-x)", "2^(-x)");
        check("x^y^2", "x^y^2");
        check("(x^y)^a", "(x^y)^a");
        check("x^(1/y)", "x^(1/y)");
        check("(-2)^x", "(-2)^x");
        check("(2/3)^x", "(2/3)^x");
        check("(a*b)^x", "(a*b)^x");
        check("-x^2", "-x^2");
        check("(-x)^2", "x^2");
        check("(a + b)*(a - b)", "(a + b)*(a - b)");
        check("0^(-1)", "0^(-1)");
        check("x*0^(-2)", "0^(-2)*x");
    }

    #[test]
    fn floats_keep_their_mark() {
        check("~0.1*x", "~0.1*x");
        check("-~0.1", "-~0.1");
        check("x^~0.1", "x^~0.1");
        check("x^(-~0.1)", "1/x^~0.1");
        check("~1e300", "~1e300");
        check("1e300 + x", "x + ~1e300");
        check("x - ~2.5", "x - ~2.5");
    }

    #[test]
    fn functions() {
        check("f''(t) + 2*f'(t) + f(t)", "f(t) + 2*f'(t) + f''(t)");
        check("if(x>=y,a,if(x<0,b,c))", "if(y <= x, a, if(x < 0, b, c))");
        check("min(x,y)^2*e^(-x)", "exp(-x)*min(x, y)^2");
        check("sqrt(x + 1)*pi*e", "pi*e*sqrt(x + 1)");
    }
}
