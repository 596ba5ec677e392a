//! What an expression is made of.

use crate::func::Func;
use crate::number::Number;

/// A handle to an expression in a [`Pool`](crate::Pool): equal handles of one pool are equal
/// expressions, and the canonical form makes equal sums and products equal handles.
///
/// The order of handles is the order of creation (parts come before the whole); for the
/// mathematical order see [`Pool::compare`](crate::Pool::compare).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(pub(crate) u32);

impl Expr {
    /// 0, in every pool.
    pub const ZERO: Self = Self(0);
    /// 1, in every pool.
    pub const ONE: Self = Self(1);
    /// -1, in every pool.
    pub const MINUS_ONE: Self = Self(2);
    /// 2, in every pool.
    pub const TWO: Self = Self(3);
    /// 1/2, in every pool.
    pub const HALF: Self = Self(4);
    /// π, in every pool.
    pub const PI: Self = Self(5);
    /// Euler's number e, in every pool.
    pub const E: Self = Self(6);

    /// Position in the pool: 0, 1, 2, ... in order of creation.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An exact mathematical constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Constant {
    /// π = 3.14159...
    Pi,
    /// e = 2.71828...
    E,
}

impl Constant {
    /// The nearest `f64`.
    pub fn value(self) -> f64 {
        match self {
            Self::Pi => std::f64::consts::PI,
            Self::E => std::f64::consts::E,
        }
    }

    /// The name in text: `pi` or `e`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::E => "e",
        }
    }
}

/// A comparison, as in `if(a < b, x, y)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Comparison {
    /// a < b.
    Less,
    /// a <= b.
    LessEqual,
    /// a > b; stored as b < a.
    Greater,
    /// a >= b; stored as b <= a.
    GreaterEqual,
}

impl Comparison {
    /// The sign in text.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        }
    }

    /// Whether it holds; false if either is NaN.
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Less => a < b,
            Self::LessEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterEqual => a >= b,
        }
    }
}

/// The outermost part of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node<'a> {
    /// A number.
    Number(&'a Number),
    /// π or e.
    Constant(Constant),
    /// A symbol.
    Symbol(&'a str),
    /// The `order`-th derivative of an unspecified function of time: f(t), f'(t), ...
    OfTime {
        /// The function's name, f.
        name: &'a str,
        /// How often it is differentiated.
        order: u32,
    },
    /// A sum of two or more terms; a number, if any, comes last. No term is itself a sum.
    Sum(&'a [Expr]),
    /// A product of two or more factors; a number, if any, comes first. No factor is itself a
    /// product, and no two factors have the same base.
    Product(&'a [Expr]),
    /// base^exponent.
    Power(Expr, Expr),
    /// A function of its arguments.
    Apply(Func, &'a [Expr]),
    /// `if(a < b, x, y)` with parts [a, b, x, y]; the comparison is `Less` or `LessEqual`.
    If(Comparison, [Expr; 4]),
}
