//! Any expression, simplified: it has the same value as before, and what is said to be zero is.
#![no_main]

use gelenk_expr::{Expr, Func, Node, Pool};
use gelenk_lagrange::simplify::{Assumptions, is_zero, simplify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut pool = Pool::new();
    let Ok(e) = pool.parse(text) else { return };
    if pool.n_operations(&[e]) > 40 || !is_smooth(&pool, e) {
        return;
    }
    let assumptions = Assumptions::default();
    let short = simplify(&mut pool, e, &assumptions);
    let zero = is_zero(&mut pool, e, &assumptions);
    for k in 0..4u32 {
        let at = |relative: f64| {
            move |s: Expr| {
                (0.3 + f64::from((k * 37 + s.index() as u32 * 61 + 11) % 101) / 63.0)
                    * (1.0 + relative)
            }
        };
        let before = pool.eval(e, at(0.0));
        if !before.is_finite() || before.abs() > 1e12 {
            continue;
        }
        // Rounding is told from faults by what a small change of the point does.
        let change =
            (pool.eval(e, at(1e-9)) - before).abs() + (pool.eval(e, at(-1e-9)) - before).abs();
        if !change.is_finite() || change > 1e-3 {
            continue;
        }
        let allowed = 1e-7 * (1.0 + largest(&pool, e, at(0.0))) + 10.0 * change;
        let after = pool.eval(short, at(0.0));
        assert!(
            (after - before).abs() <= allowed,
            "{}: {before} became {after}, {}",
            text,
            pool.display(short)
        );
        assert!(!zero || before.abs() <= allowed, "{text}: {before} is not zero");
    }
});

/// No jumps: at a jump the last digit of an argument decides.
fn is_smooth(pool: &Pool, e: Expr) -> bool {
    pool.subexpressions(&[e]).into_iter().all(|part| {
        let jump = matches!(
            pool.node(part),
            Node::If(..) | Node::Apply(Func::Floor | Func::Step | Func::Sign | Func::Atan2, _)
        );
        let large = matches!(pool.node(part), Node::Power(_, k) if pool.as_f64(k).is_some_and(|k| k.abs() > 12.0));
        !jump && !large
    })
}

/// The largest value of a part, the measure of rounding.
fn largest(pool: &Pool, e: Expr, at: impl Fn(Expr) -> f64) -> f64 {
    pool.subexpressions(&[e]).into_iter().map(|part| pool.eval(part, &at).abs()).fold(0.0, f64::max)
}
