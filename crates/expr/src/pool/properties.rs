//! What is known of an expression from its form, kept with every entry.

use super::{Pool, Stored};
use crate::func::Func;
use crate::node::{Expr, Node};
use crate::number::Number;
use crate::rational::Rational;

#[derive(Clone, Copy, Debug)]
pub(super) struct Properties {
    /// One bit per variable below, modulo 63; bit 63 is time.
    variables: u64,
    /// Surely not negative where it has a value.
    nonnegative: bool,
    /// A division by an exact zero, or something undefined, is part of it.
    singular: bool,
}

const TIME_BIT: u64 = 1 << 63;

impl Properties {
    pub(super) fn of_symbol(rank: u32, is_time: bool) -> Self {
        let variables = if is_time { TIME_BIT } else { 1 << (rank % 63) };
        Self { variables, nonnegative: false, singular: false }
    }

    pub(super) fn of_function_of_time(hash: u64) -> Self {
        let variables = 1 << (hash % 63) | TIME_BIT;
        Self { variables, nonnegative: false, singular: false }
    }
}

impl Pool {
    /// Whether the value is known not to be negative wherever it is defined, from the form
    /// alone: numbers, |x|, even powers, exp, and sums and products of such.
    pub fn is_nonnegative(&self, e: Expr) -> bool {
        self.entries[e.index()].properties.nonnegative
    }

    /// Whether a division by an exact zero, or something undefined, is part of it.
    pub fn is_singular(&self, e: Expr) -> bool {
        self.entries[e.index()].properties.singular
    }

    /// False only if `e` certainly does not contain any variable of `x`.
    pub(crate) fn may_depend(&self, e: Expr, x: Expr) -> bool {
        self.entries[e.index()].properties.variables & self.variable_bits(x) != 0
    }

    pub(crate) fn variable_bits(&self, e: Expr) -> u64 {
        let bits = self.entries[e.index()].properties.variables;
        // A function of time answers to its own bit; time is asked for by the time symbol.
        if matches!(self.entries[e.index()].stored, Stored::OfTime(..)) {
            bits & !TIME_BIT
        } else {
            bits
        }
    }

    /// Whether no symbol or function of time is part of it.
    pub fn is_constant(&self, e: Expr) -> bool {
        self.entries[e.index()].properties.variables == 0
    }

    pub(super) fn properties(&self, node: Node<'_>) -> Properties {
        let mut result = Properties { variables: 0, nonnegative: false, singular: false };
        let mut all_nonnegative = true;
        let mut visit = |parts: &[Expr]| {
            for p in parts {
                let part = &self.entries[p.index()].properties;
                result.variables |= part.variables;
                result.singular |= part.singular;
                all_nonnegative &= part.nonnegative;
            }
        };
        result.nonnegative = match node {
            Node::Number(n) => !n.is_negative(),
            Node::Constant(_) => true,
            Node::Symbol(_) | Node::OfTime { .. } => false,
            Node::Sum(p) | Node::Product(p) => {
                visit(p);
                all_nonnegative
            }
            Node::Power(base, exponent) => {
                visit(&[base, exponent]);
                if base == Expr::ZERO && self.as_number(exponent).is_some_and(Number::is_negative) {
                    result.singular = true;
                }
                let odd = self.as_number(exponent).is_none_or(|k| {
                    k.is_integer() && !k.as_rational().is_some_and(Rational::is_even)
                });
                !odd || self.is_nonnegative(base)
            }
            Node::Apply(func, p) => {
                visit(p);
                match func {
                    Func::Exp | Func::Cosh | Func::Acosh | Func::Acos | Func::Abs | Func::Step => {
                        true
                    }
                    Func::Log if p == [Expr::MINUS_ONE] => {
                        result.singular = true;
                        false
                    }
                    Func::Min | Func::Floor => all_nonnegative,
                    Func::Max => p.iter().any(|&p| self.is_nonnegative(p)),
                    _ => false,
                }
            }
            Node::If(_, p) => {
                visit(&p);
                self.is_nonnegative(p[2]) && self.is_nonnegative(p[3])
            }
        };
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_known_from_the_form() {
        let mut pool = Pool::new();
        for text in ["2", "pi", "x^2", "abs(x)", "x^2*exp(y) + 1", "sqrt(x)", "max(x, 0)"] {
            let e = pool.parse(text).unwrap();
            assert!(pool.is_nonnegative(e), "{text}");
        }
        for text in ["-2", "x", "x^3", "x^2 - 1", "min(x, 0)", "log(x)"] {
            let e = pool.parse(text).unwrap();
            assert!(!pool.is_nonnegative(e), "{text}");
        }
    }

    #[test]
    fn dependence_beyond_63_variables() {
        let mut pool = Pool::new();
        let symbols: Vec<Expr> = (0..200).map(|i| pool.symbol(&format!("s{i}"))).collect();
        let e = pool.mul(&[symbols[3], symbols[150]]);
        for (i, &s) in symbols.iter().enumerate() {
            assert_eq!(pool.contains(e, s), i == 3 || i == 150);
            assert_eq!(pool.diff(e, s) != Expr::ZERO, i == 3 || i == 150);
        }
        assert!(!pool.is_constant(e));
    }
}
