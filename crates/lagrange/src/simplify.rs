//! Simplification to the form a textbook would print.
//!
//! An expression goes to the canonical [ring](crate::ring), where all identities of circular functions hold by
//! themselves; from there several ways lead back: the sum as it is, pairs contracted by sum-to-product, sums of angles split
//! at the borders of groups, squares by Pythagoras in the shorter direction, each factored in several orders. The
//! cheapest by [`cost`] is taken, after it has been expanded again and found equal in the ring.

use gelenk_expr::{Expr, Pool};
use rustc_hash::FxHashMap;

pub use crate::factor::cost;
use crate::factor::{Factorizer, Terms};
use crate::recombine::{as_terms, recombined, separated};
use crate::ring::{Poly, Ring};

/// What is known about symbols beyond their names.
#[derive(Clone, Debug, Default)]
pub struct Assumptions {
    /// Symbols known to be positive: √(x²) = x for these.
    pub positive: Vec<Expr>,
}

/// Bounds on the work of a simplification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Elements with more terms than this stay expanded.
    pub terms: usize,
    /// Elements with more terms than this are factored in one order only and not recombined pair by pair.
    pub thorough: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { terms: 20_000, thorough: 600 }
    }
}

/// A shorter expression of the same value; `e` itself if none is found.
///
/// ```
/// use gelenk_expr::Pool;
/// use gelenk_lagrange::simplify::{Assumptions, simplify};
/// let mut pool = Pool::new();
/// let e = pool.parse("m*l^2*cos(a)^2 + m*l^2*sin(a)^2 + m*l*r*cos(a)*cos(b) + m*l*r*sin(a)*sin(b)").unwrap();
/// let short = simplify(&mut pool, e, &Assumptions::default());
/// assert_eq!(pool.display(short).to_string(), "m*l*(l + r*cos(a - b))");
/// ```
pub fn simplify(pool: &mut Pool, e: Expr, assumptions: &Assumptions) -> Expr {
    let mut ring = Ring::new(&assumptions.positive);
    ring.set_limit(2_000_000);
    let p = ring.from_expr(pool, e);
    if ring.overflowed() {
        return e;
    }
    let short = shortest(&mut ring, pool, &p, &[], &Limits::default()).0;
    if cost(pool, short) < cost(pool, e) { short } else { e }
}

/// Whether `e` is zero for all values of its symbols; exact for polynomials in sin, cos, roots and reciprocals. False
/// where the expression is too large to tell.
pub fn is_zero(pool: &mut Pool, e: Expr, assumptions: &Assumptions) -> bool {
    let mut ring = Ring::new(&assumptions.positive);
    ring.set_limit(5_000_000);
    let p = ring.from_expr(pool, e);
    !ring.overflowed() && ring.is_zero(&p)
}

/// The cheapest form found of an element, and whether all ways were tried. `groups` numbers the angles that are better
/// summed than split, by [`Ring::angles`].
pub fn shortest(
    ring: &mut Ring,
    pool: &mut Pool,
    p: &Poly,
    groups: &[usize],
    limits: &Limits,
) -> (Expr, bool) {
    if p.len() <= 1 {
        return (ring.to_expr(pool, p), true);
    }
    if p.len() > limits.terms {
        return (ring.to_expr(pool, p), false);
    }
    let thorough = p.len() <= limits.thorough;
    let mut ways: Vec<Terms> = vec![as_terms(ring, pool, p)];
    if thorough {
        ways.push(recombined(ring, pool, p));
    }
    let room = 4 * p.len() + 200;
    ways.extend(separated(ring, pool, p, groups, room, false));
    if thorough {
        ways.extend(separated(ring, pool, p, groups, room, true));
        if !groups.is_empty() {
            ways.extend(separated(ring, pool, p, &[], room, false));
        }
    }
    ways.dedup();
    let mut candidates: Vec<(usize, usize, Expr)> = Vec::new();
    let mut factorizer = Factorizer { pool, memo: FxHashMap::default() };
    for (i, terms) in ways.iter().enumerate() {
        let e = factorizer.best(terms, thorough);
        candidates.push((factorizer.cost(e), i, e));
    }
    candidates.sort_unstable();
    for (_, _, e) in candidates {
        if proven(ring, pool, p, e) {
            return (e, thorough);
        }
    }
    (ring.to_expr(pool, p), false)
}

/// Whether an expression is the element, by expanding it again.
fn proven(ring: &mut Ring, pool: &mut Pool, p: &Poly, e: Expr) -> bool {
    let again = ring.from_expr(pool, e);
    again == *p || {
        let difference = again.sub(p);
        ring.is_zero(&difference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_forms() {
        for (text, expected) in [
            ("sin(a)^2 + cos(a)^2", "1"),
            ("1 - cos(a)^2", "sin(a)^2"),
            ("cos(a)*cos(b) - sin(a)*sin(b)", "cos(a + b)"),
            ("A*sin(b)^2 + C*cos(b)^2", "A + cos(b)^2*(-A + C)"),
            ("a*x + a*y + b*x + b*y", "(a + b)*(x + y)"),
            ("x^2 + 2*x*y + y^2", "(x + y)^2"),
            ("m*g*l*sin(a)*cos(b)*cos(c)", "m*g*l*sin(a)*cos(b)*cos(c)"),
            ("sqrt(x^2)", "abs(x)"),
            ("sqrt(cos(a)^2*l^2 + sin(a)^2*l^2)", "abs(l)"),
        ] {
            let mut pool = Pool::new();
            let e = pool.parse(text).expect(text);
            let short = simplify(&mut pool, e, &Assumptions::default());
            assert_eq!(pool.display(short).to_string(), expected, "{text}");
            let mut ring = Ring::default();
            let p = ring.from_expr(&mut pool, e);
            let fromring = shortest(&mut ring, &mut pool, &p, &[], &Limits::default()).0;
            assert!(cost(&pool, fromring) <= cost(&pool, e), "{text}");
        }
    }

    #[test]
    fn squares_of_sums_of_circular_functions() {
        let mut pool = Pool::new();
        let e = pool.parse("m*(l1*cos(q2) + l2*cos(q2 + q3))^2").expect("parses");
        let mut ring = Ring::default();
        let p = ring.from_expr(&mut pool, e);
        let short = shortest(&mut ring, &mut pool, &p, &[], &Limits::default()).0;
        assert_eq!(short, e, "{}", pool.display(short));
    }
}
