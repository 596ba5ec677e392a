//! Gröbner bases of rational polynomials, with a bound on work.
//!
//! Buchberger's algorithm \[Cox, Little, O'Shea 2015\] §2.7-2.10 in graded reverse lexicographic order, with
//! both of his criteria; pairs of low degree first. The growth may be doubly exponential, so every
//! coefficient operation counts against a bound.

use std::collections::BTreeSet;

use gelenk_expr::Rational;

use crate::error::Error;
use crate::field::Field;
use crate::poly::{Monomial, Poly};

/// Operations that may still be spent.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    left: usize,
    bound: usize,
    what: &'static str,
}

impl Work {
    /// At most `bound` operations on `what`, which names it in errors.
    pub fn new(what: &'static str, bound: usize) -> Self {
        Self { left: bound, bound, what }
    }

    fn spend(&mut self, operations: usize) -> Result<(), Error> {
        match self.left.checked_sub(operations) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::WorkBound { what: self.what, bound: self.bound }),
        }
    }
}

/// Pairs of basis elements that wait: by the least common multiple of their leading monomials, and by number.
#[derive(Default)]
struct Pairs {
    by_degree: BTreeSet<(Monomial, usize, usize)>,
    waiting: BTreeSet<(usize, usize)>,
}

impl Pairs {
    fn add(&mut self, lcm: Monomial, i: usize, j: usize) {
        self.by_degree.insert((lcm, i, j));
        self.waiting.insert((i, j));
    }

    fn next(&mut self) -> Option<(Monomial, usize, usize)> {
        let (lcm, i, j) = self.by_degree.pop_first()?;
        self.waiting.remove(&(i, j));
        Some((lcm, i, j))
    }

    fn wait(&self, a: usize, b: usize) -> bool {
        self.waiting.contains(&(a.min(b), a.max(b)))
    }
}

/// A reduced Gröbner basis of the ideal of `generators`.
pub fn basis(generators: &[Poly<Rational>], work: &mut Work) -> Result<Vec<Poly<Rational>>, Error> {
    let mut basis: Vec<Poly<Rational>> = Vec::new();
    let mut pairs = Pairs::default();
    let mut sorted: Vec<&Poly<Rational>> = generators.iter().filter(|g| !g.is_empty()).collect();
    sorted.sort_by_key(|g| (g.degree(), g.len()));
    for g in sorted {
        let rest = normal_form(g, &basis, work)?;
        insert(&mut basis, &mut pairs, &rest);
    }
    while let Some((lcm, i, j)) = pairs.next() {
        work.spend(basis.len())?;
        if is_covered(&lcm, i, j, &basis, &pairs) {
            continue;
        }
        let s = s_polynomial(&basis[i], &basis[j], &lcm);
        work.spend(s.len())?;
        let rest = normal_form(&s, &basis, work)?;
        insert(&mut basis, &mut pairs, &rest);
    }
    reduced(basis, work)
}

fn insert(basis: &mut Vec<Poly<Rational>>, pairs: &mut Pairs, g: &Poly<Rational>) {
    let Some((lead, c)) = g.leading() else { return };
    let (lead, g) = (lead.clone(), g.scaled(&c.recip().unwrap_or(Rational::ONE)));
    for (i, other) in basis.iter().enumerate() {
        let Some((m, _)) = other.leading() else { continue };
        // First criterion: coprime leading monomials give nothing.
        if !m.is_coprime(&lead) {
            pairs.add(m.lcm(&lead), i, basis.len());
        }
    }
    basis.push(g);
}

/// Second criterion: a third element divides the lcm and both pairs with it are done.
fn is_covered(lcm: &Monomial, i: usize, j: usize, basis: &[Poly<Rational>], pairs: &Pairs) -> bool {
    basis.iter().enumerate().any(|(k, g)| {
        k != i
            && k != j
            && g.leading().is_some_and(|(m, _)| m.divides(lcm))
            && !pairs.wait(i, k)
            && !pairs.wait(j, k)
    })
}

fn s_polynomial(f: &Poly<Rational>, g: &Poly<Rational>, lcm: &Monomial) -> Poly<Rational> {
    let mut s = Poly::zero(f.n_variables());
    for (p, sign) in [(f, Rational::ONE), (g, Rational::MINUS_ONE)] {
        if let Some((m, c)) = p.leading()
            && let (Some(factor), Some(c)) = (m.quotient(lcm), c.recip())
        {
            s.add_multiple(&(&sign * &c), &factor, p);
        }
    }
    s
}

/// The remainder of the division by `basis`: zero just for members of the ideal if the basis is a
/// Gröbner basis.
pub fn normal_form(
    p: &Poly<Rational>,
    basis: &[Poly<Rational>],
    work: &mut Work,
) -> Result<Poly<Rational>, Error> {
    let mut p = p.clone();
    let mut rest = Poly::zero(p.n_variables());
    while let Some((m, c)) = p.remove_leading() {
        work.spend(1 + basis.len() / 8)?;
        let divisor = basis.iter().find_map(|g| {
            let (lead, lead_c) = g.leading()?;
            Some((g, lead.quotient(&m)?, lead_c.recip()?))
        });
        match divisor {
            None => rest.add_term(m, &c),
            Some((g, factor, inverse)) => {
                work.spend(g.len())?;
                p.add_term(m, &c);
                p.add_multiple(&(-&(&c * &inverse)), &factor, g);
            }
        }
    }
    Ok(rest)
}

fn reduced(mut basis: Vec<Poly<Rational>>, work: &mut Work) -> Result<Vec<Poly<Rational>>, Error> {
    let lead = |g: &Poly<Rational>| g.leading().map(|(m, _)| m.clone());
    basis.sort_by_key(lead);
    let mut minimal: Vec<Poly<Rational>> = Vec::new();
    for g in basis {
        let Some(m) = lead(&g) else { continue };
        if !minimal.iter().any(|h| lead(h).is_some_and(|h| h.divides(&m))) {
            minimal.push(g);
        }
    }
    for k in 0..minimal.len() {
        let mut others = minimal.clone();
        let g = others.remove(k);
        let rest = normal_form(&g, &others, work)?;
        let c = rest.leading().and_then(|(_, c)| c.recip()).unwrap_or(Rational::ONE);
        minimal[k] = rest.scaled(&c);
    }
    Ok(minimal)
}

/// Whether p is in the ideal of `generators`: p = Σ h_i g_i with polynomials h_i.
pub fn is_member(
    p: &Poly<Rational>,
    generators: &[Poly<Rational>],
    work: &mut Work,
) -> Result<bool, Error> {
    let basis = basis(generators, work)?;
    Ok(normal_form(p, &basis, work)?.is_empty())
}

/// Whether p vanishes wherever all `generators` do, over the complex numbers: whether 1 is in the ideal of
/// g and 1 − z p with a new variable z (Rabinowitsch).
pub fn vanishes_with(
    p: &Poly<Rational>,
    generators: &[Poly<Rational>],
    work: &mut Work,
) -> Result<bool, Error> {
    let n = p.n_variables();
    let wider = |q: &Poly<Rational>| {
        q.map_monomials(n + 1, |m, _| {
            let mut e = m.exponents().to_vec();
            e.push(0);
            Monomial(e)
        })
    };
    let mut all: Vec<Poly<Rational>> = generators.iter().map(wider).collect();
    let zp = Poly::variable(n + 1, n).times(&wider(p));
    all.push(zp.minus(&Poly::constant(n + 1, Rational::one())));
    let basis = basis(&all, work)?;
    Ok(basis.iter().any(|g| g.degree() == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::System;

    fn polys(names: &[&str], texts: &[&str]) -> Vec<Poly<Rational>> {
        System::parse(names, texts).unwrap().equations
    }

    #[test]
    fn a_known_basis() {
        // [Cox, Little, O'Shea 2015] §2.8 example 2, checked with SymPy 1.14 in this order:
        // groebner([x**2+y**2+z**2-1, x**2+z**2-y, x-z], order='grevlex')
        let f = polys(&["x", "y", "z"], &["x^2+y^2+z^2-1", "x^2+z^2-y", "x-z"]);
        let mut work = Work::new("test", 10_000);
        let g = basis(&f, &mut work).unwrap();
        let s = System { names: ["x", "y", "z"].map(String::from).to_vec(), equations: g };
        assert_eq!(s.to_string(), "x - z = 0\nz^2 - 1/2*y = 0\ny^2 + y - 1 = 0");
    }

    #[test]
    fn membership() {
        let f = polys(&["x", "y"], &["x", "x*y"]);
        let mut work = Work::new("test", 10_000);
        assert!(is_member(&f[1], &f[..1], &mut work).unwrap());
        assert!(!is_member(&f[0], &f[1..], &mut work).unwrap());
        // y vanishes where y² does, though it is no member.
        let f = polys(&["x", "y"], &["y", "y^2"]);
        assert!(!is_member(&f[0], &f[1..], &mut work).unwrap());
        assert!(vanishes_with(&f[0], &f[1..], &mut work).unwrap());
    }

    #[test]
    fn work_is_bounded() {
        let f = polys(
            &["x", "y", "z"],
            &["x^5*y + z^4 - 3*x", "x*y^4*z - 2*y^2 + z", "z^5*x + x^2*y^3 - 7"],
        );
        let mut work = Work::new("the basis", 500);
        assert_eq!(
            basis(&f, &mut work).unwrap_err(),
            Error::WorkBound { what: "the basis", bound: 500 }
        );
    }
}
