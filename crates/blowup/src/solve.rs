//! Isolated solutions of polynomial systems: exact where they are rational.

use gelenk_expr::Rational;

use crate::error::Error;
use crate::field::Field;
use crate::groebner::{Work, basis, normal_form};
use crate::poly::{Monomial, Poly};

/// The real solutions of a system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solutions {
    /// Those with rational coordinates.
    pub rational: Vec<Vec<Rational>>,
    /// Others met on the way: the variable and its irrational real values, with the rational
    /// values of variables already fixed (none: not fixed yet).
    pub irrational: Vec<Irrational>,
}

/// A variable that takes irrational values.
#[derive(Clone, Debug, PartialEq)]
pub struct Irrational {
    /// Values fixed before.
    pub fixed: Vec<Option<Rational>>,
    /// The variable.
    pub variable: usize,
    /// Its real values that are not rational.
    pub values: Vec<f64>,
}

/// Solves a system that has finitely many solutions.
///
/// Variable by variable: its minimal polynomial modulo the ideal is the first linear relation among
/// the normal forms of 1, x, x², …; each rational root is put in, and so on. `what` names the solutions in
/// errors.
pub fn solve(
    equations: &[Poly<Rational>],
    what: &'static str,
    work: &mut Work,
) -> Result<Solutions, Error> {
    let mut solutions = Solutions::default();
    let Some(n) = equations.first().map(Poly::n_variables) else {
        return Err(Error::NotIsolated { what });
    };
    // (equations with the values put in, values)
    let mut open = vec![(basis(equations, work)?, vec![None; n])];
    while let Some((g, fixed)) = open.pop() {
        if g.iter().any(|p| p.degree() == 0) {
            continue;
        }
        let Some(variable) = fixed.iter().position(Option::is_none) else {
            solutions.rational.push(fixed.into_iter().flatten().collect());
            continue;
        };
        // Finitely many solutions: each variable has a power among the leading monomials.
        let has_power = |i: usize| {
            g.iter()
                .filter_map(Poly::leading)
                .any(|(m, _)| m.exponents().iter().enumerate().all(|(j, e)| (j == i) == (*e > 0)))
        };
        if (0..n).any(|i| !has_power(i)) {
            return Err(Error::NotIsolated { what });
        }
        let minimal = minimal_polynomial(&g, n, variable, work)?;
        let (roots, others) = real_roots(&minimal);
        // Pushed in reverse, so that smaller roots are solved first.
        for root in roots.iter().rev() {
            let mut more = g.clone();
            let x = Poly::variable(n, variable);
            more.push(x.minus(&Poly::constant(n, root.clone())));
            let mut fixed = fixed.clone();
            fixed[variable] = Some(root.clone());
            open.push((basis(&more, work)?, fixed));
        }
        if !others.is_empty() {
            solutions.irrational.push(Irrational { fixed, variable, values: others });
        }
    }
    Ok(solutions)
}

/// The coefficients of the minimal polynomial of x_i modulo the ideal, constant first.
fn minimal_polynomial(
    g: &[Poly<Rational>],
    n: usize,
    i: usize,
    work: &mut Work,
) -> Result<Vec<Rational>, Error> {
    let x = Poly::variable(n, i);
    let mut power = Poly::constant(n, Rational::ONE);
    // Echelon form: (leading monomial, normal form, its combination of powers).
    let mut rows: Vec<(Monomial, Poly<Rational>, Vec<Rational>)> = Vec::new();
    for k in 0.. {
        let mut p = normal_form(&power, g, work)?;
        power = p.times(&x);
        let mut combination = vec![Rational::ZERO; k + 1];
        combination[k] = Rational::ONE;
        for (m, row, row_combination) in &rows {
            let c = p.coefficient(m);
            if !Field::is_zero(&c) {
                p = p.minus(&row.scaled(&c));
                for (a, b) in combination.iter_mut().zip(row_combination) {
                    *a = a.minus(&(b * &c));
                }
            }
        }
        let Some((m, c)) = p.leading() else { return Ok(combination) };
        let (m, inverse) = (m.clone(), c.recip().unwrap_or(Rational::ONE));
        let p = p.scaled(&inverse);
        let combination: Vec<Rational> = combination.iter().map(|c| c * &inverse).collect();
        // Rows before must not contain m: eliminate it there.
        for (_, row, row_combination) in &mut rows {
            let c = row.coefficient(&m);
            if !Field::is_zero(&c) {
                *row = row.minus(&p.scaled(&c));
                row_combination.resize(combination.len(), Rational::ZERO);
                for (a, b) in row_combination.iter_mut().zip(&combination) {
                    *a = a.minus(&(b * &c));
                }
            }
        }
        rows.push((m, p, combination));
    }
    unreachable!("normal forms of a zero-dimensional ideal span finitely many dimensions")
}

fn value(p: &[Rational], x: &Rational) -> Rational {
    p.iter().rev().fold(Rational::ZERO, |sum, c| &(&sum * x) + c)
}

fn derivative(p: &[Rational]) -> Vec<Rational> {
    p.iter()
        .enumerate()
        .skip(1)
        .map(|(k, c)| c * &Rational::from(i64::try_from(k).unwrap_or(i64::MAX)))
        .collect()
}

fn trim(mut p: Vec<Rational>) -> Vec<Rational> {
    while p.last().is_some_and(Field::is_zero) {
        p.pop();
    }
    p
}

/// Remainder and quotient.
fn divide(a: &[Rational], b: &[Rational]) -> (Vec<Rational>, Vec<Rational>) {
    let mut rest = a.to_vec();
    let mut quotient = vec![Rational::ZERO; (a.len() + 1).saturating_sub(b.len())];
    let Some(inverse) = b.last().and_then(Rational::recip) else { return (rest, quotient) };
    while rest.len() >= b.len() {
        let shift = rest.len() - b.len();
        let factor = rest.last().map_or(Rational::ZERO, |c| c * &inverse);
        for (k, c) in b.iter().enumerate() {
            rest[shift + k] = rest[shift + k].minus(&(c * &factor));
        }
        quotient[shift] = factor;
        rest.pop();
    }
    (trim(rest), quotient)
}

/// The distinct real roots: rational ones in ascending order, and the others as floats.
///
/// Square-free part by p/gcd(p, p′); roots isolated by Sturm's chain, bisected to the last
/// digit, and tried as fractions on the way.
pub fn real_roots(p: &[Rational]) -> (Vec<Rational>, Vec<f64>) {
    let p = trim(p.to_vec());
    if p.len() < 2 {
        return (Vec::new(), Vec::new());
    }
    let (mut a, mut b) = (p.clone(), derivative(&p));
    while !b.is_empty() {
        let (rest, _) = divide(&a, &b);
        (a, b) = (b, rest);
    }
    let square_free = if a.len() > 1 { divide(&p, &a).1 } else { p };
    let mut chain = vec![square_free.clone(), derivative(&square_free)];
    while chain.last().is_some_and(|p| p.len() > 1) {
        let k = chain.len();
        let (rest, _) = divide(&chain[k - 2], &chain[k - 1]);
        if rest.is_empty() {
            break;
        }
        chain.push(rest.iter().map(|c| -c).collect());
    }
    let changes = |x: &Rational| {
        let mut last = 0;
        let mut count = 0usize;
        for p in &chain {
            let v = value(p, x);
            let sign = if Field::is_zero(&v) {
                0
            } else if v.is_negative() {
                -1
            } else {
                1
            };
            if sign != 0 {
                count += usize::from(last != 0 && sign != last);
                last = sign;
            }
        }
        count
    };
    // Cauchy's bound, rounded up to a power of two.
    let lead = square_free.last().map_or(1.0, Field::size);
    let most = square_free.iter().map(Field::size).fold(0.0, f64::max) / lead;
    let mut bound = Rational::from(2);
    while bound.to_f64() < 1.0 + most && bound.to_f64() < 1e300 {
        bound = &bound * &Rational::from(2);
    }
    let mut open = vec![(-&bound, bound)];
    let (mut rational, mut others) = (Vec::new(), Vec::new());
    while let Some((low, high)) = open.pop() {
        // Roots in (low, high].
        let n = changes(&low).saturating_sub(changes(&high));
        if n == 0 {
            continue;
        }
        if n == 1 {
            match bisect(&square_free, low, high) {
                Ok(root) => rational.push(root),
                Err(root) => others.push(root),
            }
            continue;
        }
        let middle = &(&low + &high) * &Rational::HALF;
        open.push((middle.clone(), high));
        open.push((low, middle));
    }
    rational.sort();
    others.sort_by(f64::total_cmp);
    (rational, others)
}

/// The one root in (low, high].
fn bisect(p: &[Rational], mut low: Rational, mut high: Rational) -> Result<Rational, f64> {
    if Field::is_zero(&value(p, &high)) {
        return Ok(high);
    }
    let beyond = value(p, &high).is_negative();
    for _ in 0..1200 {
        let simple = simplest_between(&low, &high);
        // `low` may be the root of the interval before.
        if simple != low && Field::is_zero(&value(p, &simple)) {
            return Ok(simple);
        }
        let middle = &(&low + &high) * &Rational::HALF;
        let v = value(p, &middle);
        if Field::is_zero(&v) {
            return Ok(middle);
        }
        if v.is_negative() == beyond {
            high = middle;
        } else {
            low = middle;
        }
        let (a, b) = (low.to_f64(), high.to_f64());
        if a.to_bits() == b.to_bits() || b - a < 1e-17 {
            break;
        }
    }
    Err((&(&low + &high) * &Rational::HALF).to_f64())
}

/// The fraction of smallest denominator in the closed interval, by continued fractions.
pub(crate) fn simplest_between(low: &Rational, high: &Rational) -> Rational {
    let (mut low, mut high) = (low.clone(), high.clone());
    let mut parts: Vec<Rational> = Vec::new();
    for _ in 0..200 {
        let floor = low.floor();
        let next = &floor + &Rational::ONE;
        if low == floor {
            parts.push(floor);
            break;
        }
        if next <= high {
            parts.push(next);
            break;
        }
        parts.push(floor.clone());
        let (a, b) = (low.minus(&floor).recip(), high.minus(&floor).recip());
        (low, high) = (b.unwrap_or(Rational::ONE), a.unwrap_or(Rational::ONE));
    }
    let mut x = parts.pop().unwrap_or(Rational::ZERO);
    while let Some(part) = parts.pop() {
        x = &part + &x.recip().unwrap_or(Rational::ZERO);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::System;

    fn r(n: i64, d: i64) -> Rational {
        Rational::new(n, d).unwrap()
    }

    #[test]
    fn roots() {
        // (x - 1/3)² (x + 2) (x² - 2) (x² + 1)
        let factors: [&[i64]; 5] = [&[-1, 3], &[-1, 3], &[2, 1], &[-2, 0, 1], &[1, 0, 1]];
        let mut p = vec![Rational::ONE];
        for f in factors {
            let mut q = vec![Rational::ZERO; p.len() + f.len() - 1];
            for (i, a) in p.iter().enumerate() {
                for (j, b) in f.iter().enumerate() {
                    q[i + j] = &q[i + j] + &(a * &Rational::from(*b));
                }
            }
            p = q;
        }
        let (rational, others) = real_roots(&p);
        assert_eq!(rational, [r(-2, 1), r(1, 3)]);
        assert_eq!(others.len(), 2);
        assert!((others[0] + 2f64.sqrt()).abs() < 1e-15);
        assert!((others[1] - 2f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn simplest_fractions() {
        assert_eq!(simplest_between(&r(31, 100), &r(34, 100)), r(1, 3));
        assert_eq!(simplest_between(&r(-7, 2), &r(-10, 3)), r(-7, 2));
        assert_eq!(simplest_between(&r(-1, 2), &r(1, 3)), r(0, 1));
    }

    #[test]
    fn systems() {
        let mut work = Work::new("test", 100_000);
        let s = System::parse(&["x", "y"], &["x^2 + y^2 - 25", "x*y - 12"]).unwrap();
        let found = solve(&s.equations, "solutions", &mut work).unwrap();
        let mut points: Vec<_> =
            found.rational.iter().map(|p| (p[0].to_f64(), p[1].to_f64())).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(points, [(-4.0, -3.0), (-3.0, -4.0), (3.0, 4.0), (4.0, 3.0)]);
        let s = System::parse(&["x", "y"], &["x*y"]).unwrap();
        assert!(solve(&s.equations, "points", &mut work).is_err());
    }
}
