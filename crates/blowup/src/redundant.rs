//! Equations that follow from others: \[Laufen\] III §1.1 and §2.

use gelenk_expr::Rational;

use crate::error::Error;
use crate::field::Field;
use crate::groebner::{Work, basis, is_member, normal_form};
use crate::poly::{Monomial, Poly};
use crate::system::System;

/// A combination of equations that is a sum of squares, so that each of them vanishes in real positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Squares {
    /// The combination Σ w_j ℓ_j², all w_j of one sign.
    pub combination: Poly<Rational>,
    /// ℓ_j.
    pub forms: Vec<Poly<Rational>>,
}

/// Which equations are not needed, and what does it without them.
#[derive(Clone, Debug, PartialEq)]
pub struct Redundancy {
    /// Numbers, from 0, of the equations that are combinations Σ h_i g_i of those before and the others kept.
    pub members: Vec<usize>,
    /// Sums of squares among combinations of the rest.
    pub squares: Vec<Squares>,
    /// The system without what is redundant, squares replaced by what they say.
    pub simplified: System<Rational>,
}

/// Equations that are members of the ideal of the others; the later of two goes.
pub fn redundant(system: &System<Rational>, work: &mut Work) -> Result<Vec<usize>, Error> {
    let mut kept: Vec<usize> = (0..system.equations.len()).collect();
    let mut members = Vec::new();
    for i in (0..system.equations.len()).rev() {
        let others: Vec<Poly<Rational>> =
            kept.iter().filter(|k| **k != i).map(|k| system.equations[*k].clone()).collect();
        if is_member(&system.equations[i], &others, work)? {
            kept.retain(|k| *k != i);
            members.push(i);
        }
    }
    members.reverse();
    Ok(members)
}

/// Looks for redundant equations, then, at a point, for combinations that are sums of squares: three masses in a line
/// by three distances (example 6) lose rank everywhere, and say that the middle one sits in the middle.
pub fn redundancy(
    system: &System<Rational>,
    place: &[Rational],
    work: &mut Work,
) -> Result<Redundancy, Error> {
    let n = system.n_variables();
    if place.len() != n {
        return Err(Error::WrongLength { what: "point", given: place.len(), variables: n });
    }
    let members = redundant(system, work)?;
    let mut kept = System { names: system.names.clone(), equations: Vec::new() };
    for (i, g) in system.equations.iter().enumerate() {
        if !members.contains(&i) {
            kept.equations.push(g.clone());
        }
    }
    let back: Vec<Rational> = place.iter().map(|c| -c).collect();
    let local = kept.shifted(place)?.triangular(0.0);
    let mut squares = Vec::new();
    for g in &local.equations {
        if let Some(forms) = squares_of(g) {
            let forms: Vec<_> = forms.iter().map(|f| primitive(&f.shifted(&back))).collect();
            squares.push(Squares { combination: g.shifted(&back), forms });
        }
    }
    if !squares.is_empty() {
        kept.equations = simplified(kept.equations, &squares, work)?;
    }
    Ok(Redundancy { members, squares, simplified: kept })
}

/// The equations that remain when the linear forms hold.
fn simplified(
    equations: Vec<Poly<Rational>>,
    squares: &[Squares],
    work: &mut Work,
) -> Result<Vec<Poly<Rational>>, Error> {
    let mut forms: Vec<Poly<Rational>> = Vec::new();
    for form in squares.iter().flat_map(|s| &s.forms) {
        if !is_member(form, &forms, work)? {
            forms.push(form.clone());
        }
    }
    let mut kept: Vec<Poly<Rational>> = Vec::new();
    for g in equations {
        let mut others = kept.clone();
        others.extend(forms.iter().cloned());
        let basis = basis(&others, work)?;
        if !normal_form(&g, &basis, work)?.is_empty() {
            kept.push(g);
        }
    }
    kept.extend(forms);
    Ok(kept)
}

/// Without common factors of the coefficients, the first positive.
fn primitive(p: &Poly<Rational>) -> Poly<Rational> {
    match p.leading().and_then(|(_, c)| c.recip()) {
        Some(c) => p.scaled(&c),
        None => p.clone(),
    }
}

/// The linear forms ℓ_j of a semidefinite quadratic form Σ w_j ℓ_j²; none if p is none.
fn squares_of(p: &Poly<Rational>) -> Option<Vec<Poly<Rational>>> {
    if p.is_empty() || p.terms().any(|(m, _)| m.degree() != 2) {
        return None;
    }
    let n = p.n_variables();
    // Completing squares; a semidefinite form with a variable in it has its square too.
    let mut rest = p.clone();
    let mut forms = Vec::new();
    let mut sign = None;
    while !rest.is_empty() {
        let (i, a) = (0..n).find_map(|i| {
            let m = Monomial::variable(n, i);
            let a = rest.coefficient(&m.times(&m));
            (!Field::is_zero(&a)).then_some((i, a))
        })?;
        if *sign.get_or_insert(a.is_negative()) != a.is_negative() {
            return None;
        }
        // ∂p/∂x_i = 2 a ℓ with coefficient 1 of x_i in ℓ.
        let form = rest.derivative(i).scaled(&(&a * &Rational::from(2)).recip()?);
        rest = rest.minus(&form.times(&form).scaled(&a));
        forms.push(form);
    }
    Some(forms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares() {
        let form = |text: &str| {
            let s = System::parse(&["x", "y", "z"], &[text]).unwrap();
            squares_of(&s.equations[0]).map(|forms| forms.len())
        };
        assert_eq!(form("x^2 + 2*x*y + 2*y^2"), Some(2));
        assert_eq!(form("-(x - y + z)^2"), Some(1));
        assert_eq!(form("x^2 - y^2"), None);
        assert_eq!(form("x*y"), None);
        assert_eq!(form("x^2 + x*y"), None);
        assert_eq!(form("x^2 + y^3"), None);
    }
}
