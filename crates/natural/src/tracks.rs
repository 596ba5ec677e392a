//! Curves, surfaces and couplings of angles as polynomials.
//!
//! A surface f = 0 is one with its point's place in the frame on the first body put in. Of a curve c(u) the parameter u is eliminated: where a coordinate is linear in u, by putting it in; else by
//! resultants,
//! ```text
//! Res_u(c_i(u) − x_i, c_j(u) − x_j) = lc^m Π_{c_i(u) = x_i} (c_j(u) − x_j),
//! ```
//! zero on the curve and, but for crossings, with a slope there.

use std::collections::BTreeMap;

use gelenk_expr::Pool;
use gelenk_model::joint::{Path, Surface};

use crate::constraints::from_expression;
use crate::polynomial::Polynomial;

/// Largest degree in u, and largest sum of exponents in a coupling.
const MOST_DEGREE: usize = 8;
/// A ratio is a fraction with at most this denominator.
const MOST_PARTS: u32 = 24;
/// Coefficients below this part of the largest are none.
const NOTHING: f64 = 1e-14;

/// A text over names as a polynomial, the names being the first variables.
fn read(text: &str, names: &[&str]) -> Result<Polynomial, String> {
    let mut pool = Pool::new();
    let e = pool.parse(text).map_err(|error| error.message)?;
    let symbols: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(i, name)| (pool.symbol(name), Polynomial::variable(i)))
        .collect();
    from_expression(&pool, e, &symbols)
}

/// f at a place in the frame of the surface.
pub(crate) fn surface(surface: &Surface, place: &[Polynomial; 3]) -> Result<Polynomial, String> {
    let (text, names) = surface.text();
    let f = read(text, &names)
        .map_err(|reason| format!("its surface is no polynomial in x, y, z: {reason}"))?;
    Ok(f.compose(place))
}

/// The two conditions of a point on a curve.
pub(crate) fn curve(path: &Path, place: &[Polynomial; 3]) -> Result<Vec<Polynomial>, String> {
    let Some([x, y, z, u]) = path.texts() else {
        return Err("a curve by points is a spline, no single polynomial".to_owned());
    };
    let mut formulas: Vec<Vec<f64>> = Vec::new();
    for text in [x, y, z] {
        let c = read(text, &[u])
            .map_err(|reason| format!("its curve is no polynomial in u: {reason}"))?;
        let coefficients = coefficients(&c);
        if coefficients.len() > MOST_DEGREE + 1 {
            return Err(format!(
                "its curve has the degree {}; more than {MOST_DEGREE} is not taken",
                coefficients.len() - 1
            ));
        }
        formulas.push(coefficients);
    }
    // The coordinate of least degree that changes is the one by which u goes.
    let Some(lead) = (0..3).filter(|&i| formulas[i].len() > 1).min_by_key(|&i| formulas[i].len())
    else {
        return Err("its curve is a single point".to_owned());
    };
    let locals = [0, 1, 2].map(Polynomial::variable);
    let mut rows = Vec::new();
    for other in (0..3).filter(|&i| i != lead) {
        let g = match (formulas[lead].as_slice(), formulas[other].as_slice()) {
            (_, [c]) => &locals[other] - &Polynomial::constant(*c),
            ([b, a], c) => {
                // u = (x_lead − b)/a.
                let u = (&locals[lead] - &Polynomial::constant(*b)).scaled(1.0 / a);
                let mut value = Polynomial::default();
                for (k, c) in (0u32..).zip(c) {
                    value = &value + &u.power(k).scaled(*c);
                }
                &locals[other] - &value
            }
            (first, second) => {
                resultant(&minus(first, &locals[lead]), &minus(second, &locals[other]))
            }
        };
        rows.push(g.compose(place));
    }
    Ok(rows)
}

/// Coefficients by power of the only variable; the highest is not 0.
fn coefficients(c: &Polynomial) -> Vec<f64> {
    let mut list = vec![0.0; c.degree() as usize + 1];
    for (monomial, value) in c.terms() {
        list[monomial.first().map_or(0, |(_, k)| *k as usize)] = value;
    }
    let largest = list.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    while list.len() > 1 && list.last().is_some_and(|c| c.abs() <= NOTHING * largest) {
        list.pop();
    }
    list
}

/// c(u) − x by power of u.
fn minus(c: &[f64], x: &Polynomial) -> Vec<Polynomial> {
    let mut list: Vec<Polynomial> = c.iter().map(|c| Polynomial::constant(*c)).collect();
    if let Some(first) = list.first_mut() {
        *first = &*first - x;
    }
    list
}

/// The determinant of Sylvester's matrix, by columns chosen so far: no division is needed.
fn resultant(a: &[Polynomial], b: &[Polynomial]) -> Polynomial {
    let (n, m) = (a.len() - 1, b.len() - 1);
    let size = n + m;
    let entry = |row: usize, column: usize| -> Option<&Polynomial> {
        let (list, shift) = if row < m { (a, row) } else { (b, row - m) };
        // Highest power first.
        let power = (list.len() - 1 + shift).checked_sub(column)?;
        (column >= shift).then(|| &list[power])
    };
    // Minors of the first rows by the set of their columns.
    let mut minors: BTreeMap<u32, Polynomial> = [(0, Polynomial::constant(1.0))].into();
    for row in 0..size {
        let mut next: BTreeMap<u32, Polynomial> = BTreeMap::new();
        for (columns, minor) in &minors {
            for column in (0..size).filter(|c| columns & (1 << c) == 0) {
                let Some(entry) = entry(row, column) else { continue };
                // One change of sign for each chosen column behind.
                let behind = (columns >> (column + 1)).count_ones();
                let sign = if behind % 2 == 0 { 1.0 } else { -1.0 };
                let sum = next.entry(columns | 1 << column).or_default();
                *sum = &*sum + &(minor * entry).scaled(sign);
            }
        }
        minors = next;
    }
    minors.into_values().next().unwrap_or_default()
}

/// An angle by its cosine and sine, and its ratio.
type Turn = ((Polynomial, Polynomial), f64);

/// Im( e^{−iNc} Π (cos φ + i sin φ)^{N r} ) = sin(N (Σ r φ − c)) with the smallest N that makes all N r whole.
pub(crate) fn coupled_angles(angles: &[Turn], target: f64) -> Result<Polynomial, String> {
    let whole = |x: f64| (x - x.round()).abs() < 1e-12 * x.abs().max(1.0);
    let parts = (1..=MOST_PARTS).map(f64::from);
    let Some(parts) = parts.into_iter().find(|n| angles.iter().all(|(_, r)| whole(n * r))) else {
        return Err(format!(
            "a coupling of angles is a polynomial only if its ratios are fractions (with denominators to {MOST_PARTS}): of an angle only cosine and sine are coordinates"
        ));
    };
    let powers: Vec<f64> = angles.iter().map(|(_, r)| (parts * r).round()).collect();
    if powers.iter().map(|n| n.abs()).sum::<f64>() > MOST_DEGREE as f64 {
        return Err(format!(
            "a coupling of angles by these ratios has more than {MOST_DEGREE} factors and is not taken as a polynomial"
        ));
    }
    let (sin, cos) = (parts * target).sin_cos();
    let mut product = (Polynomial::constant(cos), Polynomial::constant(-sin));
    for (((cosine, sine), _), power) in angles.iter().zip(powers) {
        let sine = if power < 0.0 { -sine } else { sine.clone() };
        let mut k = power.abs();
        while k > 0.5 {
            let (re, im) = &product;
            product = (&(re * cosine) - &(im * &sine), &(re * &sine) + &(im * cosine));
            k -= 1.0;
        }
    }
    Ok(product.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Res_u(u² − 1 − x, u³ − u − y) = ±(y² − x²(x + 1)): the nodal cubic.
    #[test]
    fn the_resultant_of_the_nodal_cubic() {
        let (x, y) = (Polynomial::variable(0), Polynomial::variable(1));
        let a = minus(&[-1.0, 0.0, 1.0], &x);
        let b = minus(&[0.0, -1.0, 0.0, 1.0], &y);
        let found = resultant(&a, &b);
        let expected = &y.power(2) - &(&x.power(3) + &x.power(2));
        assert!(found == expected || found == -&expected, "{found:?}");
    }
}
