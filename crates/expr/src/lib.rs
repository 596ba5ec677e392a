//! Symbolic expressions: parse, print, differentiate, substitute, compile.
//!
//! Every distinct expression exists once in a [`Pool`] and is handled by a small copyable
//! [`Expr`], so equality is a comparison of two integers and shared parts are stored,
//! differentiated and computed once. Expressions serve as force laws and constraints, compiled
//! to a [`Tape`], and as the kernel of symbolic mechanics.
//!
//! ```
//! use gelenk_expr::{Pool, Tape};
//!
//! let mut pool = Pool::new();
//! // A pendulum's potential energy, and its torque -∂U/∂q.
//! let u = pool.parse("m*g*l*(1 - cos(q))").unwrap();
//! let q = pool.symbol("q");
//! let slope = pool.diff(u, q);
//! let torque = pool.neg(slope);
//! assert_eq!(pool.display(torque).to_string(), "-m*g*l*sin(q)");
//!
//! let inputs = ["m", "g", "l", "q"].map(|name| pool.symbol(name));
//! let tape = Tape::compile(&pool, &[torque], &inputs).unwrap();
//! assert_eq!(tape.values(&[2.0, 10.0, 0.5, 0.0]), [-0.0]);
//! ```
//!
//! # Canonical form
//!
//! Building an expression simplifies it by these rules and no others, so that equal sums and
//! products have the same handle whatever the order they were written in:
//!
//! - Sums and products are flat and sorted ([`Pool::compare`]: symbols by rank, the order of
//!   their first declaration, then structure). -1 times a sum changes the signs of its terms.
//! - Like terms and equal bases are collected: 2x + x = 3x, x·x = x², x^a·x^b = x^(a+b),
//!   exp(a)·exp(b) = exp(a + b). So x/x = 1 and √x·√x = x: a result may have a value where
//!   what was written had none.
//! - Rationals are computed exactly ([`Rational`]); a float makes the numbers it meets floats
//!   ([`Number`]). x⁰ = 1, x¹ = x, 0·x = 0 for finite x.
//! - √(x²) = |x|, never x; (x^a)^b is x^(ab) only where that holds for all real x
//!   ([`Pool::pow`]).
//! - Signs leave functions, sin(-x) = -sin(x), cos(-x) = cos(x), and simple exact values are
//!   taken, sin(π/6) = 1/2 ([`Pool::func`]).
//! - Nothing is expanded: 2·(x + y) and x·(y + z) stay as they are. [`Pool::expand`]
//!   multiplies out, and is what decides whether two polynomials are equal. This is the one
//!   gap in "equal sums are the same": 2·(x + y) is not 2x + 2y.
//! - Division by an exact zero, met in substitution, say, stays as the power 0^(-1), which
//!   evaluates to infinity; 0·0^(-1) and the like become [`Pool::undefined`], which evaluates
//!   to NaN. The parser refuses to divide by zero.
//!
//! # Text
//!
//! `0.3` and `1e-9` are exact, `~0.3` is the float; `x^2` or `x**2`; `-x^2` is -(x²);
//! `f''(t)` is the second derivative of an unspecified function of time;
//! `if(a < b, x, y)` a conditional; identifiers may have dots, `joint.elbow.angle`; `pi` and
//! `e` are constants. Products need their `*`. What [`Pool::display`] prints, [`Pool::parse`]
//! reads back as the same expression. Nesting is limited to [`MAX_DEPTH`] levels and the text
//! to [`MAX_LENGTH`] bytes; nothing else in this crate recurses, so expressions may be built
//! arbitrarily deep.
//!
//! # Same input, same bits
//!
//! Evaluation uses IEEE operations in a fixed order, no fused multiply-add, and the `libm`
//! crate's software functions (musl's algorithms, errors below one unit in the last place)
//! instead of the platform's, so results do not depend on the machine.

#![cfg_attr(test, allow(clippy::float_cmp))]

mod apply;
mod calculus;
mod diff;
mod display;
mod dual;
mod error;
mod eval;
mod func;
mod lex;
mod literal;
mod node;
mod number;
mod numeric;
mod order;
mod parse;
mod pool;
mod power;
mod product;
mod rational;
mod rebuild;
mod series;
mod suggest;
mod sum;
mod tape;
mod walk;

pub use calculus::ConstraintEquations;
pub use display::Display;
pub use dual::{Dual, LANES};
pub use error::{CompileError, ParseError};
pub use func::Func;
pub use lex::{MAX_LENGTH, is_identifier};
pub use node::{Comparison, Constant, Expr, Node};
pub use number::Number;
pub use parse::{MAX_DEPTH, ParseOptions, Parsed};
pub use pool::Pool;
pub use rational::Rational;
pub use series::Series;
pub use suggest::{edit_distance, nearest};
pub use tape::Tape;
