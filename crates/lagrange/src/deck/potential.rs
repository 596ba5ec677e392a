//! Potential and dissipation function of generalized forces, which the program of 1978 left open (its section 8: they would
//! need an indefinite integration).
//!
//! ```text
//! Q_ρ(q, q̇) = Q_ρ(q, 0) + rest        Q_ρ(q, 0) = −∂U/∂q^ρ        rest = −∂R/∂q̇^ρ
//! ```
//! U exists exactly where ∂Q_ρ/∂q^σ is symmetric, R where ∂Q_ρ/∂q̇^σ is. They are found coordinate by coordinate: the ring
//! turns products of circular functions into sums, whose terms are integrated one by one; roots and other functions by
//! substitution of their argument. What is found is differentiated again and compared.

use gelenk_expr::{Expr, Func, Node, Pool};

use super::derive::Work;
use crate::ring::{Circular, MonoId, Ring, TrigId};

/// A function whose negative slopes are forces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForceFunction {
    /// The forces are zero.
    Zero,
    /// The function.
    Is(Expr),
    /// There is none: the slope of force ρ by coordinate σ is not that of force σ by coordinate ρ.
    Missing {
        /// ρ, from 1.
        rho: usize,
        /// σ, from 1.
        sigma: usize,
    },
    /// There is one, but the integration found no formula.
    NotFound,
}

/// Whose forces a pair of functions belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Force and moment of a body, from 1.
    Body(usize),
    /// A damper between two bodies.
    Damper(usize, usize),
    /// All generalized forces.
    All,
}

/// Potential and dissipation function of some generalized forces.
#[derive(Clone, Debug)]
pub struct ForceFunctions {
    /// Whose.
    pub source: Source,
    /// U.
    pub potential: ForceFunction,
    /// R.
    pub dissipation: ForceFunction,
}

/// Both functions of the forces Q_ρ, ρ = 1..f.
pub(super) fn functions(
    work: &mut Work<'_>,
    source: Source,
    q: &[Expr],
    rates: &[Expr],
) -> ForceFunctions {
    let coordinates = work.coordinates[1..].to_vec();
    let rates = &rates[1..];
    let at_rest: Vec<Expr> = q
        .iter()
        .map(|&e| {
            let still = rates.iter().fold(e, |e, &rate| work.substitute(e, rate, Expr::ZERO));
            work.short(still)
        })
        .collect();
    let moving: Vec<Expr> = q
        .iter()
        .zip(&at_rest)
        .map(|(&e, &still)| {
            let rest = work.pool.sub(e, still);
            work.short(rest)
        })
        .collect();
    ForceFunctions {
        source,
        potential: function(work, &at_rest, &coordinates),
        dissipation: function(work, &moving, rates),
    }
}

/// The function with q_k = −∂U/∂v_k.
fn function(work: &mut Work<'_>, q: &[Expr], variables: &[Expr]) -> ForceFunction {
    if q.iter().all(|e| *e == Expr::ZERO) {
        return ForceFunction::Zero;
    }
    for rho in 0..q.len() {
        for sigma in 0..rho {
            let slopes =
                [(rho, sigma), (sigma, rho)].map(|(a, b)| work.diff_by(q[a], variables[b]));
            if !work.equal(slopes[0], slopes[1]) {
                return ForceFunction::Missing { rho: rho + 1, sigma: sigma + 1 };
            }
        }
    }
    let mut u = Expr::ZERO;
    for (&force, &x) in q.iter().zip(variables) {
        let known = work.diff_by(u, x);
        let rest = work.pool.add(&[force, known]);
        let rest = work.short(rest);
        let Some(integral) = integral(work, rest, x) else { return ForceFunction::NotFound };
        u = work.pool.sub(u, integral);
    }
    let u = work.short(u);
    let found = q.iter().zip(variables).all(|(&force, &x)| {
        let slope = work.diff_by(u, x);
        let opposite = work.pool.neg(slope);
        same(work, force, opposite)
    });
    if found { ForceFunction::Is(u) } else { ForceFunction::NotFound }
}

/// Whether two expressions are one function: in the ring, or, with magnitudes and signs that the ring does not know, at points.
fn same(work: &mut Work<'_>, a: Expr, b: Expr) -> bool {
    if work.equal(a, b) {
        return true;
    }
    let mut compared = false;
    for trial in 0u64..8 {
        let value = |symbol: Expr| {
            // A number in (0.5, 1.5) from the symbol's place in the pool, later with a sign.
            let mut x =
                (symbol.index() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (trial << 40);
            x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            let size = 0.5 + ((x ^ x >> 31) >> 11) as f64 / (1u64 << 53) as f64;
            if trial > 3 && x & 1 == 1 { -size } else { size }
        };
        let (x, y) = (work.pool.eval(a, value), work.pool.eval(b, value));
        if x.is_finite() && y.is_finite() {
            compared = true;
            if (x - y).abs() > 1e-9 * (1.0 + x.abs() + y.abs()) {
                return false;
            }
        }
    }
    compared
}

/// A term of the ring, as far as the variable x is concerned.
struct Piece {
    /// What does not depend on x.
    constant: Expr,
    /// xⁿ.
    power: i32,
    trig: TrigId,
    /// The one other factor that depends on x.
    other: Option<Factor>,
}

/// A factor of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    /// u^(n/d).
    Power { u: Expr, n: i32, d: i32 },
    /// A function of x.
    Function(Expr),
}

impl Factor {
    fn new(pool: &Pool, e: Expr, exponent: i32) -> Option<Self> {
        match pool.node(e) {
            Node::Power(u, p) => {
                let (n, d) = pool.as_rational(p)?.parts()?;
                let n = i32::try_from(n).ok()?.checked_mul(exponent)?;
                Some(Factor::Power { u, n, d: i32::try_from(d).ok()? })
            }
            _ if exponent == 1 => Some(Factor::Function(e)),
            _ => Some(Factor::Power { u: e, n: exponent, d: 1 }),
        }
    }

    /// The product, if it is a power of one base.
    fn times(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Factor::Power { u, n, d }, Factor::Power { u: v, n: m, d: e }) if u == v => {
                let n = n.checked_mul(e)?.checked_add(m.checked_mul(d)?)?;
                Some(Factor::Power { u, n, d: d.checked_mul(e)? })
            }
            _ => None,
        }
    }
}

/// ∫ e dx without a constant; none if no rule fits.
fn integral(work: &mut Work<'_>, e: Expr, x: Expr) -> Option<Expr> {
    if e == Expr::ZERO {
        return Some(Expr::ZERO);
    }
    in_the_ring(work, e, x).or_else(|| as_it_stands(work, e, x))
}

/// Term by term, each by substitution of the argument of one of its factors.
fn as_it_stands(work: &mut Work<'_>, e: Expr, x: Expr) -> Option<Expr> {
    let summands = match work.pool.node(e) {
        Node::Sum(terms) => terms.to_vec(),
        _ => vec![e],
    };
    let mut terms = Vec::with_capacity(summands.len());
    for term in summands {
        let factors = match work.pool.node(term) {
            Node::Product(factors) => factors.to_vec(),
            _ => vec![term],
        };
        let found = factors.iter().find_map(|&factor| {
            if !depends(work, factor, x) {
                return None;
            }
            let rest: Vec<Expr> = factors.iter().copied().filter(|f| *f != factor).collect();
            let rest = work.pool.mul(&rest);
            let factor = Factor::new(work.pool, factor, 1)?;
            by_substitution(work, factor, rest, x)
        });
        terms.push(found?);
    }
    Some(work.pool.add(&terms))
}

/// In the ring, where circular functions stand alone in each term.
fn in_the_ring(work: &mut Work<'_>, e: Expr, x: Expr) -> Option<Expr> {
    let mut ring = Ring::new(&[]);
    ring.set_limit(200_000);
    let p = ring.from_expr(work.pool, e);
    if ring.overflowed() {
        return None;
    }
    let mut terms = Vec::new();
    // Factors of one function of x are integrated together, by substitution.
    let mut groups: Vec<(Factor, Vec<Expr>)> = Vec::new();
    for ((mono, trig), coefficient) in &p.0 {
        let number = work.pool.number(coefficient.clone());
        let piece = piece(work, &ring, *mono, *trig, number, x)?;
        match piece.other {
            None => terms.push(elementary(work, &ring, &piece, x)?),
            Some(Factor::Function(size))
                if piece.trig == 0 && piece.power >= 0 && is_size_of(work.pool, size, x) =>
            {
                // ∫ xⁿ |x| dx
                let exponent = work.pool.num(i64::from(piece.power + 1));
                let power = work.pool.pow(x, exponent);
                let divisor = work.pool.num(i64::from(piece.power + 2));
                let product = work.pool.mul(&[piece.constant, power, size]);
                terms.push(work.pool.div(product, divisor));
            }
            Some(other) => {
                let power = {
                    let exponent = work.pool.num(i64::from(piece.power));
                    work.pool.pow(x, exponent)
                };
                let trig = ring.trig_expr(work.pool, piece.trig);
                let rest = work.pool.mul(&[piece.constant, power, trig]);
                match groups.iter_mut().find(|(of, _)| *of == other) {
                    Some((_, rests)) => rests.push(rest),
                    None => groups.push((other, vec![rest])),
                }
            }
        }
    }
    for (factor, rests) in groups {
        let rest = work.pool.add(&rests);
        terms.push(by_substitution(work, factor, rest, x)?);
    }
    Some(work.pool.add(&terms))
}

/// Whether x is in e or, through an unspecified function, moves it; a sign does, though its slope is zero.
fn depends(work: &mut Work<'_>, e: Expr, x: Expr) -> bool {
    work.pool.contains(e, x) || work.diff_by(e, x) != Expr::ZERO
}

fn piece(
    work: &mut Work<'_>,
    ring: &Ring,
    mono: MonoId,
    trig: TrigId,
    number: Expr,
    x: Expr,
) -> Option<Piece> {
    let factors: Vec<(Expr, i32)> = ring.factors(mono).collect();
    let mut constant = vec![number];
    let (mut power, mut other): (i32, Option<Factor>) = (0, None);
    for (factor, exponent) in factors {
        if factor == x {
            power = exponent;
        } else if !depends(work, factor, x) {
            let exponent = work.pool.num(i64::from(exponent));
            constant.push(work.pool.pow(factor, exponent));
        } else {
            let factor = Factor::new(work.pool, factor, exponent)?;
            other = Some(match other {
                None => factor,
                Some(other) => other.times(factor)?,
            });
        }
    }
    Some(Piece { constant: work.pool.mul(&constant), power, trig, other })
}

/// Whether e is |x|.
fn is_size_of(pool: &Pool, e: Expr, x: Expr) -> bool {
    matches!(pool.node(e), Node::Apply(Func::Abs, [u]) if *u == x)
}

/// ∫ c xⁿ {1, cos θ, sin θ} dx with θ linear in x.
fn elementary(work: &mut Work<'_>, ring: &Ring, piece: &Piece, x: Expr) -> Option<Expr> {
    let mut slope = Expr::ZERO;
    let trig = (piece.trig != 0).then(|| ring.trig(piece.trig).clone());
    let mut angle = Expr::ZERO;
    if let Some(trig) = &trig {
        let terms: Vec<Expr> = trig
            .vector
            .iter()
            .zip(ring.angles())
            .map(|(&k, &angle)| {
                let k = work.pool.num(i64::from(k));
                work.pool.mul(&[k, angle])
            })
            .collect();
        angle = work.pool.add(&terms);
        slope = work.diff_by(angle, x);
        if depends(work, slope, x) || slope == Expr::ZERO && depends(work, angle, x) {
            return None;
        }
    }
    let Some(trig) = trig.filter(|_| slope != Expr::ZERO) else {
        let circular = ring.trig_expr(work.pool, piece.trig);
        let whole = power_integral(work.pool, x, piece.power, 1);
        return Some(work.pool.mul(&[piece.constant, circular, whole]));
    };
    if piece.power < 0 {
        return None;
    }
    // By parts, down to the power 0: ∫ xⁿ cos θ = xⁿ sin θ/a − n/a ∫ xⁿ⁻¹ sin θ, ∫ xⁿ sin θ = −xⁿ cos θ/a + n/a ∫ xⁿ⁻¹ cos θ.
    let (mut kind, mut factor) = (trig.kind, piece.constant);
    let mut terms = Vec::new();
    for n in (0..=piece.power).rev() {
        factor = work.pool.div(factor, slope);
        let exponent = work.pool.num(i64::from(n));
        let power = work.pool.pow(x, exponent);
        let (circular, next) = match kind {
            Circular::Cos => (work.pool.sin(angle), Circular::Sin),
            Circular::Sin => (work.pool.cos(angle), Circular::Cos),
        };
        if kind == Circular::Sin {
            factor = work.pool.neg(factor);
        }
        terms.push(work.pool.mul(&[factor, power, circular]));
        factor = work.pool.mul(&[Expr::MINUS_ONE, factor, exponent]);
        kind = next;
    }
    Some(work.pool.add(&terms))
}

/// ∫ u^(n/d) du.
fn power_integral(pool: &mut Pool, u: Expr, n: i32, d: i32) -> Expr {
    if n == -d {
        // ln |u|, in a form whose slope is 1/u.
        let square = pool.pow(u, Expr::TWO);
        let log = pool.func(Func::Log, &[square]);
        return pool.mul(&[Expr::HALF, log]);
    }
    let (n, d) = (pool.num(i64::from(n + d)), pool.num(i64::from(d)));
    let exponent = pool.div(n, d);
    let power = pool.pow(u, exponent);
    pool.div(power, exponent)
}

/// ∫ rest · F(u) dx where rest/(∂u/∂x) does not depend on x.
fn by_substitution(work: &mut Work<'_>, factor: Factor, rest: Expr, x: Expr) -> Option<Expr> {
    let (u, whole) = match factor {
        Factor::Power { u, n, d } => (u, power_integral(work.pool, u, n, d)),
        Factor::Function(e) => {
            let Node::Apply(func, [u]) = work.pool.node(e) else { return None };
            let u = *u;
            let whole = match func {
                // |u| and u |u|/2.
                Func::Sign => work.pool.func(Func::Abs, &[u]),
                Func::Abs => work.pool.mul(&[Expr::HALF, u, e]),
                Func::Exp => e,
                Func::Sinh => work.pool.func(Func::Cosh, &[u]),
                Func::Cosh => work.pool.func(Func::Sinh, &[u]),
                Func::Log => {
                    let product = work.pool.mul(&[u, e]);
                    work.pool.sub(product, u)
                }
                _ => return None,
            };
            (u, whole)
        }
    };
    let slope = work.diff_by(u, x);
    if slope == Expr::ZERO {
        return None;
    }
    let ratio = work.pool.div(rest, slope);
    let ratio = work.short(ratio);
    if depends(work, ratio, x) {
        return None;
    }
    Some(work.pool.mul(&[ratio, whole]))
}
