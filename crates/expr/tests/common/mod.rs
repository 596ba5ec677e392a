//! Random expressions, as recipes that can be built in a pool or computed directly.
#![allow(dead_code, reason = "each test binary uses some of it")]

use gelenk_expr::{Comparison, Expr, Func, Pool};
use proptest::prelude::*;

pub(crate) const NAMES: [&str; 3] = ["x", "y", "z"];

/// A formula as a tree.
#[derive(Clone, Debug)]
pub(crate) enum Recipe {
    Variable(usize),
    /// n/d.
    Number(i64, i64),
    Float(f64),
    /// f^(order)(t).
    OfTime(u32),
    Pi,
    Sum(Vec<Recipe>),
    Product(Vec<Recipe>),
    Difference(Box<Recipe>, Box<Recipe>),
    Quotient(Box<Recipe>, Box<Recipe>),
    /// x^(n/d).
    Power(Box<Recipe>, i64, i64),
    SymbolicPower(Box<Recipe>, Box<Recipe>),
    Unary(Func, Box<Recipe>),
    Atan2(Box<Recipe>, Box<Recipe>),
    Extremum(Func, Vec<Recipe>),
    If(Comparison, [Box<Recipe>; 4]),
}

impl Recipe {
    pub(crate) fn build(&self, pool: &mut Pool) -> Expr {
        let all = |items: &[Self], pool: &mut Pool| -> Vec<Expr> {
            items.iter().map(|r| r.build(pool)).collect()
        };
        match self {
            Self::Variable(i) => pool.symbol(NAMES[*i]),
            Self::Number(n, d) => pool.rational(*n, *d),
            Self::Float(x) => pool.float(*x),
            Self::OfTime(order) => pool.function_of_time("f", *order),
            Self::Pi => Expr::PI,
            Self::Sum(terms) => {
                let terms = all(terms, pool);
                pool.add(&terms)
            }
            Self::Product(factors) => {
                let factors = all(factors, pool);
                pool.mul(&factors)
            }
            Self::Difference(a, b) => {
                let (a, b) = (a.build(pool), b.build(pool));
                pool.sub(a, b)
            }
            Self::Quotient(a, b) => {
                let (a, b) = (a.build(pool), b.build(pool));
                pool.div(a, b)
            }
            Self::Power(x, n, d) => {
                let (x, k) = (x.build(pool), pool.rational(*n, *d));
                pool.pow(x, k)
            }
            Self::SymbolicPower(x, y) => {
                let (x, y) = (x.build(pool), y.build(pool));
                pool.pow(x, y)
            }
            Self::Unary(func, x) => {
                let x = x.build(pool);
                pool.func(*func, &[x])
            }
            Self::Atan2(y, x) => {
                let (y, x) = (y.build(pool), x.build(pool));
                pool.func(Func::Atan2, &[y, x])
            }
            Self::Extremum(func, items) => {
                let items = all(items, pool);
                pool.func(*func, &items)
            }
            Self::If(comparison, parts) => {
                let [a, b, x, y] = parts.each_ref().map(|p| p.build(pool));
                pool.if_else(*comparison, a, b, x, y)
            }
        }
    }

    /// The value without any simplification, and the largest magnitude or amplification of
    /// errors met on the way.
    pub(crate) fn value(&self, x: &[f64; 3], scale: &mut f64) -> f64 {
        let value = match self {
            Self::Variable(i) => x[*i],
            Self::Number(n, d) => *n as f64 / *d as f64,
            Self::Float(x) => *x,
            Self::OfTime(order) => f64::from(*order) + 0.5,
            Self::Pi => std::f64::consts::PI,
            Self::Sum(terms) => terms.iter().map(|r| r.value(x, scale)).sum(),
            Self::Product(factors) => factors.iter().map(|r| r.value(x, scale)).product(),
            Self::Difference(a, b) => a.value(x, scale) - b.value(x, scale),
            Self::Quotient(a, b) => {
                let b = b.value(x, scale);
                *scale = scale.max(b.recip().abs());
                a.value(x, scale) / b
            }
            Self::Power(r, n, d) => {
                let base = r.value(x, scale);
                *scale = scale.max(base.recip().abs());
                if *d == 1 {
                    base.powi(i32::try_from(*n).expect("exponents are small"))
                } else {
                    base.powf(*n as f64 / *d as f64)
                }
            }
            Self::SymbolicPower(r, s) => {
                let base = r.value(x, scale);
                *scale = scale.max(base.recip().abs());
                base.powf(s.value(x, scale))
            }
            Self::Unary(func, r) => {
                let u = r.value(x, scale);
                let slope = (func.value(&[u + 1e-6]) - func.value(&[u - 1e-6])) / 2e-6;
                *scale = if slope.is_nan() { f64::INFINITY } else { scale.max(slope.abs()) };
                func.value(&[u])
            }
            Self::Atan2(a, b) => {
                // Near y = 0 rounding decides between π and -π.
                let y = a.value(x, scale);
                *scale = scale.max(y.recip().abs());
                y.atan2(b.value(x, scale))
            }
            Self::Extremum(func, items) => {
                let values: Vec<f64> = items.iter().map(|r| r.value(x, scale)).collect();
                func.value(&values)
            }
            Self::If(comparison, parts) => {
                let [a, b, x, y] = parts.each_ref().map(|p| p.value(x, scale));
                if comparison.holds(a, b) { x } else { y }
            }
        };
        *scale = scale.max(value.abs());
        value
    }
}

/// Functions with a derivative everywhere they have a value.
pub(crate) const SMOOTH: [Func; 17] = [
    Func::Exp,
    Func::Log,
    Func::Log10,
    Func::Log2,
    Func::Sin,
    Func::Cos,
    Func::Tan,
    Func::Asin,
    Func::Acos,
    Func::Atan,
    Func::Sinh,
    Func::Cosh,
    Func::Tanh,
    Func::Asinh,
    Func::Acosh,
    Func::Atanh,
    Func::Erf,
];

const ROUGH: [Func; 4] = [Func::Abs, Func::Sign, Func::Step, Func::Floor];

fn leaf() -> impl Strategy<Value = Recipe> {
    prop_oneof![
        4 => (0..3usize).prop_map(Recipe::Variable),
        2 => (-6..=6i64, 1..=4i64).prop_map(|(n, d)| Recipe::Number(n, d)),
        1 => Just(Recipe::Pi),
    ]
}

fn any_leaf() -> impl Strategy<Value = Recipe> {
    prop_oneof![
        6 => leaf(),
        1 => (-3.0..3.0f64).prop_map(Recipe::Float),
        1 => any::<f64>().prop_map(Recipe::Float),
        1 => any::<(i64, i64)>().prop_map(|(n, d)| Recipe::Number(n, d)),
        1 => (0..3u32).prop_map(Recipe::OfTime),
    ]
}

fn grow_smooth(inner: BoxedStrategy<Recipe>) -> BoxedStrategy<Recipe> {
    let pair = (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
    prop_oneof![
        3 => prop::collection::vec(inner.clone(), 2..4).prop_map(Recipe::Sum),
        3 => prop::collection::vec(inner.clone(), 2..4).prop_map(Recipe::Product),
        2 => pair.clone().prop_map(|(a, b)| Recipe::Difference(a, b)),
        2 => pair.clone().prop_map(|(a, b)| Recipe::Quotient(a, b)),
        3 => (inner.clone().prop_map(Box::new), -3..=4i64, 1..=3i64)
            .prop_map(|(x, n, d)| Recipe::Power(x, n, d)),
        1 => pair.clone().prop_map(|(a, b)| Recipe::SymbolicPower(a, b)),
        1 => pair.prop_map(|(a, b)| Recipe::Atan2(a, b)),
        4 => (prop::sample::select(&SMOOTH[..]), inner.prop_map(Box::new))
            .prop_map(|(f, x)| Recipe::Unary(f, x)),
    ]
    .boxed()
}

/// Formulas that are smooth where they are defined.
pub(crate) fn smooth() -> impl Strategy<Value = Recipe> {
    leaf().boxed().prop_recursive(4, 24, 3, |inner| grow_smooth(inner.boxed()))
}

/// Polynomials with rational coefficients.
pub(crate) fn polynomial() -> impl Strategy<Value = Recipe> {
    leaf().boxed().prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Recipe::Sum),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Recipe::Product),
            (inner.prop_map(Box::new), 0..=3i64).prop_map(|(x, n)| Recipe::Power(x, n, 1)),
        ]
        .boxed()
    })
}

/// Every kind of formula, with floats, jumps, conditionals and functions of time.
pub(crate) fn anything() -> impl Strategy<Value = Recipe> {
    any_leaf().boxed().prop_recursive(5, 32, 3, |inner| {
        let inner = inner.boxed();
        let one = inner.clone().prop_map(Box::new);
        prop_oneof![
            6 => grow_smooth(inner.clone()),
            1 => (prop::sample::select(&ROUGH[..]), one.clone())
                .prop_map(|(f, x)| Recipe::Unary(f, x)),
            1 => (
                prop::sample::select(&[Func::Min, Func::Max][..]),
                prop::collection::vec(inner, 1..4),
            )
                .prop_map(|(f, items)| Recipe::Extremum(f, items)),
            1 => (
                prop::sample::select(
                    &[
                        Comparison::Less,
                        Comparison::LessEqual,
                        Comparison::Greater,
                        Comparison::GreaterEqual,
                    ][..],
                ),
                one.clone(),
                one.clone(),
                one.clone(),
                one,
            )
                .prop_map(|(c, a, b, x, y)| Recipe::If(c, [a, b, x, y])),
        ]
        .boxed()
    })
}

/// A pool with the variables declared in order, and the function f.
pub(crate) fn pool() -> Pool {
    let mut pool = Pool::new();
    for name in NAMES {
        pool.symbol(name);
    }
    pool.function_of_time("f", 0);
    pool
}

/// The value of a variable of these recipes.
pub(crate) fn variable(pool: &Pool, e: Expr, x: &[f64; 3]) -> f64 {
    match pool.node(e) {
        gelenk_expr::Node::Symbol(name) => {
            NAMES.iter().position(|n| *n == name).map_or(f64::NAN, |i| x[i])
        }
        gelenk_expr::Node::OfTime { order, .. } => f64::from(order) + 0.5,
        _ => f64::NAN,
    }
}

pub(crate) fn point() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(prop_oneof![0.1..2.0f64, -2.0..2.0f64])
}
