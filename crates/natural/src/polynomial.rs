//! Polynomials in several variables with f64 coefficients: what joints are in natural coordinates.

use std::collections::BTreeMap;
use std::ops::{Add, Mul, Neg, Sub};

/// Product of powers: (variable, exponent) with ascending variables and exponents above 0; empty for 1.
pub type Monomial = Vec<(usize, u32)>;

/// A polynomial: its terms in the order of their monomials, none with the coefficient 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polynomial {
    terms: BTreeMap<Monomial, f64>,
}

impl Polynomial {
    /// The number c.
    pub fn constant(c: f64) -> Self {
        let mut polynomial = Polynomial::default();
        polynomial.add_term(Vec::new(), c);
        polynomial
    }

    /// The variable x_i.
    pub fn variable(i: usize) -> Self {
        let mut polynomial = Polynomial::default();
        polynomial.add_term(vec![(i, 1)], 1.0);
        polynomial
    }

    /// Adds c times a monomial.
    pub fn add_term(&mut self, monomial: Monomial, c: f64) {
        let sum = self.terms.get(&monomial).copied().unwrap_or(0.0) + c;
        if sum == 0.0 {
            self.terms.remove(&monomial);
        } else {
            self.terms.insert(monomial, sum);
        }
    }

    /// The terms, in a fixed order.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, f64)> {
        self.terms.iter().map(|(monomial, c)| (monomial, *c))
    }

    /// The largest sum of exponents; 0 for numbers.
    pub fn degree(&self) -> u32 {
        self.terms.keys().map(|m| m.iter().map(|(_, k)| k).sum()).max().unwrap_or(0)
    }

    /// c times it.
    #[must_use]
    pub fn scaled(&self, c: f64) -> Self {
        let mut out = Polynomial::default();
        for (monomial, a) in self.terms() {
            out.add_term(monomial.clone(), c * a);
        }
        out
    }

    /// Its n-th power.
    #[must_use]
    pub fn power(&self, n: u32) -> Self {
        (0..n).fold(Polynomial::constant(1.0), |product, _| &product * self)
    }

    /// The polynomial with `parts` in place of its variables. (variables)
    #[must_use]
    pub fn compose(&self, parts: &[Polynomial]) -> Self {
        let mut sum = Polynomial::default();
        for (monomial, c) in self.terms() {
            let product = monomial
                .iter()
                .fold(Polynomial::constant(c), |product, &(i, k)| &product * &parts[i].power(k));
            sum = &sum + &product;
        }
        sum
    }

    /// Its value at x.
    pub fn value(&self, x: &[f64]) -> f64 {
        self.terms.iter().map(|(m, c)| c * monomial_value(m, x)).sum()
    }

    /// Adds ∂/∂x_i at x to `gradient`. (variables)
    pub fn add_gradient(&self, x: &[f64], gradient: &mut [f64]) {
        for (monomial, c) in &self.terms {
            for (at, &(i, _)) in monomial.iter().enumerate() {
                gradient[i] += c * lowered(monomial, &[at], x);
            }
        }
    }

    /// Σ ∂²/∂x_i∂x_j u_i w_j at x.
    pub fn second(&self, x: &[f64], u: &[f64], w: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.each_second(x, |i, j, h| sum += h * u[i] * w[j]);
        sum
    }

    /// Calls `see(i, j, ∂²/∂x_i∂x_j)` for all pairs that a term has, several times for a pair if several have it.
    pub fn each_second(&self, x: &[f64], mut see: impl FnMut(usize, usize, f64)) {
        for (monomial, c) in &self.terms {
            for (a, &(i, _)) in monomial.iter().enumerate() {
                for (b, &(j, k)) in monomial.iter().enumerate() {
                    if a != b || k >= 2 {
                        see(i, j, c * lowered(monomial, &[a, b], x));
                    }
                }
            }
        }
    }

    /// ∂/∂x_i as a polynomial.
    #[must_use]
    pub fn derivative(&self, i: usize) -> Self {
        let mut out = Polynomial::default();
        for (monomial, c) in &self.terms {
            if let Some(at) = monomial.iter().position(|(v, _)| *v == i) {
                let mut lower = monomial.clone();
                let k = lower[at].1;
                if k == 1 {
                    lower.remove(at);
                } else {
                    lower[at].1 -= 1;
                }
                out.add_term(lower, c * f64::from(k));
            }
        }
        out
    }
}

fn power(x: f64, k: u32) -> f64 {
    (0..k).fold(1.0, |product, _| product * x)
}

fn monomial_value(monomial: &Monomial, x: &[f64]) -> f64 {
    monomial.iter().map(|&(i, k)| power(x[i], k)).product()
}

/// The derivative of a monomial by the variables at the places `by`.
fn lowered(monomial: &Monomial, by: &[usize], x: &[f64]) -> f64 {
    let mut product = 1.0;
    for (at, &(i, k)) in monomial.iter().enumerate() {
        let mut k = k;
        for _ in by.iter().filter(|b| **b == at) {
            product *= f64::from(k);
            k = k.saturating_sub(1);
        }
        product *= power(x[i], k);
    }
    product
}

impl Add for &Polynomial {
    type Output = Polynomial;
    fn add(self, other: &Polynomial) -> Polynomial {
        let mut out = self.clone();
        for (monomial, c) in other.terms() {
            out.add_term(monomial.clone(), c);
        }
        out
    }
}

impl Neg for &Polynomial {
    type Output = Polynomial;
    fn neg(self) -> Polynomial {
        self.scaled(-1.0)
    }
}

impl Sub for &Polynomial {
    type Output = Polynomial;
    fn sub(self, other: &Polynomial) -> Polynomial {
        self + &-other
    }
}

impl Mul for &Polynomial {
    type Output = Polynomial;
    fn mul(self, other: &Polynomial) -> Polynomial {
        let mut out = Polynomial::default();
        for (a, c) in &self.terms {
            for (b, d) in &other.terms {
                let mut powers: BTreeMap<usize, u32> = a.iter().copied().collect();
                for &(i, k) in b {
                    *powers.entry(i).or_insert(0) += k;
                }
                out.add_term(powers.into_iter().collect(), c * d);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x² y − 3 y + 2 by hand.
    #[test]
    fn values_and_derivatives() {
        let (x, y) = (Polynomial::variable(0), Polynomial::variable(1));
        let p = &(&(&x.power(2) * &y) - &y.scaled(3.0)) + &Polynomial::constant(2.0);
        let at = [2.0, 5.0];
        let mut gradient = [0.0; 2];
        p.add_gradient(&at, &mut gradient);
        let found = [
            p.value(&at),
            gradient[0],
            gradient[1],
            p.second(&at, &[1.0, 0.0], &[1.0, 0.0]),
            p.second(&at, &[1.0, 0.0], &[0.0, 1.0]),
            p.second(&at, &[1.0, 1.0], &[1.0, 1.0]),
        ];
        for (found, expected) in found.iter().zip([7.0, 20.0, 1.0, 10.0, 4.0, 18.0]) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
        assert_eq!(p.derivative(0), (&x * &y).scaled(2.0));
        assert_eq!(p.degree(), 3);
        assert_eq!((&p - &p), Polynomial::default());
    }
}
