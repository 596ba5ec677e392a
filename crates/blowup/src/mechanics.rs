//! Point masses on polynomial constraints as numbers: equations of motion, projection, Taylor expansion.

use gelenk_expr::Rational;
use gelenk_ode::Failure;
use nalgebra::{DMatrix, DVector, Dyn, LU};

use crate::error::Error;
use crate::poly::Poly;
use crate::series;
use crate::system::System;

/// Masses that move along coordinates x with constraints g(x) = 0 in a potential U(x), all polynomials.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanism {
    /// g over the coordinates.
    pub constraints: System<Rational>,
    /// The mass of each coordinate, kg.
    pub masses: Vec<Rational>,
    /// U, J; the forces are −∂U/∂x.
    pub potential: Poly<Rational>,
}

impl Mechanism {
    /// Checks that lengths fit and masses are positive.
    pub fn new(
        constraints: System<Rational>,
        masses: Vec<Rational>,
        potential: Poly<Rational>,
    ) -> Result<Self, Error> {
        let variables = constraints.n_variables();
        for (what, given) in [("masses", masses.len()), ("potential", potential.n_variables())] {
            if given != variables {
                return Err(Error::WrongLength { what, given, variables });
            }
        }
        if constraints.equations.len() > variables {
            let equations = constraints.equations.len();
            return Err(Error::TooManyEquations { equations, variables });
        }
        if let Some(i) = masses.iter().position(|m| *m <= Rational::ZERO) {
            let name = constraints.names[i].clone();
            return Err(Error::BadMass { name, mass: masses[i].to_f64() });
        }
        Ok(Self { constraints, masses, potential })
    }
}

/// A formulation of the motion: the original one, or a blown-up one whose further variables have no mass.
///
/// ```text
/// [ M  Gᵀ ] [ v̇ ]   [ −∂U/∂x  ]
/// [ G  0  ] [ μ ] = [ −vᵀg″v  ]
/// ```
pub(crate) struct Formulation {
    pub(crate) n: usize,
    pub(crate) m: usize,
    masses: Vec<f64>,
    forces: Vec<Poly<f64>>,
    pub(crate) g: Vec<Poly<f64>>,
    /// ∂g_k/∂x_i that are not zero: (k, i, polynomial).
    jacobian: Vec<(usize, usize, Poly<f64>)>,
    /// ∂²g_k/∂x_i∂x_j for i ≤ j, off the diagonal twice.
    curvature: Vec<(usize, usize, usize, Poly<f64>)>,
    potential: Poly<f64>,
}

impl Formulation {
    /// The motion of a mechanism on other constraints, whose first variables are the mechanism's.
    pub(crate) fn new(mechanism: &Mechanism, constraints: &System<f64>) -> Self {
        let (n, m) = (constraints.n_variables(), constraints.equations.len());
        let by: Vec<Poly<f64>> =
            (0..mechanism.masses.len()).map(|i| Poly::variable(n, i)).collect();
        let potential = if by.is_empty() {
            Poly::zero(n)
        } else {
            mechanism.potential.to_f64().substitute(&by)
        };
        let mut masses: Vec<f64> = mechanism.masses.iter().map(Rational::to_f64).collect();
        masses.resize(n, 0.0);
        let mut jacobian = Vec::new();
        let mut curvature = Vec::new();
        for (k, g) in constraints.equations.iter().enumerate() {
            for i in 0..n {
                let slope = g.derivative(i);
                for j in i..n {
                    let mut c = slope.derivative(j);
                    if j > i {
                        c = c.scaled(&2.0);
                    }
                    if !c.is_empty() {
                        curvature.push((k, i, j, c));
                    }
                }
                if !slope.is_empty() {
                    jacobian.push((k, i, slope));
                }
            }
        }
        let forces = (0..n).map(|i| potential.derivative(i).scaled(&-1.0)).collect();
        let g = constraints.equations.clone();
        Self { n, m, masses, forces, g, jacobian, curvature, potential }
    }

    /// T + U.
    pub(crate) fn energy(&self, x: &[f64], v: &[f64]) -> f64 {
        let kinetic: f64 = self.masses.iter().zip(v).map(|(m, v)| 0.5 * m * v * v).sum();
        kinetic + self.potential.eval(x)
    }

    /// G.
    pub(crate) fn jacobian(&self, x: &[f64]) -> DMatrix<f64> {
        let mut g = DMatrix::zeros(self.m, self.n);
        for (k, i, p) in &self.jacobian {
            g[(*k, *i)] = p.eval(x);
        }
        g
    }

    /// The smallest singular value of G; 0 without constraints has no meaning and is infinite.
    pub(crate) fn least_singular_value(&self, x: &[f64]) -> f64 {
        if self.m == 0 {
            return f64::INFINITY;
        }
        let values = self.jacobian(x).singular_values();
        values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn factors(&self, x: &[f64]) -> LU<f64, Dyn, Dyn> {
        let size = self.n + self.m;
        let mut a = DMatrix::zeros(size, size);
        for (i, m) in self.masses.iter().enumerate() {
            a[(i, i)] = *m;
        }
        for (k, i, p) in &self.jacobian {
            let value = p.eval(x);
            a[(self.n + k, *i)] = value;
            a[(*i, self.n + k)] = value;
        }
        a.lu()
    }

    fn bend(&self, x: &[f64], v: &[f64]) -> Vec<f64> {
        let mut bend = vec![0.0; self.m];
        for (k, i, j, p) in &self.curvature {
            bend[*k] += p.eval(x) * v[*i] * v[*j];
        }
        bend
    }

    /// v̇ into `a`.
    pub(crate) fn acceleration(&self, x: &[f64], v: &[f64], a: &mut [f64]) -> Result<(), Failure> {
        let mut right = DVector::zeros(self.n + self.m);
        for (i, f) in self.forces.iter().enumerate() {
            right[i] = f.eval(x);
        }
        for (k, bend) in self.bend(x, v).iter().enumerate() {
            right[self.n + k] = -bend;
        }
        if !self.factors(x).solve_mut(&mut right) {
            return Err(Failure::Domain);
        }
        a.copy_from_slice(&right.as_slice()[..self.n]);
        Ok(())
    }

    /// Moves (x, v) onto g = 0, G v = 0, least in the metric of the masses. False if that fails.
    pub(crate) fn project(&self, x: &mut [f64], v: &mut [f64]) -> bool {
        for _ in 0..8 {
            let mut right = DVector::zeros(self.n + self.m);
            for (k, g) in self.g.iter().enumerate() {
                right[self.n + k] = -g.eval(x);
            }
            if !self.factors(x).solve_mut(&mut right) {
                return false;
            }
            let mut change = 0.0f64;
            for (x, d) in x.iter_mut().zip(right.iter().take(self.n)) {
                *x += d;
                change = change.max(d.abs() / (1.0 + x.abs()));
            }
            if !change.is_finite() {
                return false;
            }
            // The rest after this step is the square of it.
            if change < 1e-8 {
                break;
            }
        }
        let mut right = DVector::zeros(self.n + self.m);
        for i in 0..self.n {
            right[i] = self.masses[i] * v[i];
        }
        if !self.factors(x).solve_mut(&mut right) {
            return false;
        }
        v.copy_from_slice(&right.as_slice()[..self.n]);
        v.iter().all(|v| v.is_finite())
    }

    /// The Taylor coefficients x_0 … x_`order` of the motion through (x, v), one series a variable.
    ///
    /// Order by order: the matrix stays that at (x, v), only the right-hand sides grow.
    pub(crate) fn taylor(&self, x: &[f64], v: &[f64], order: usize) -> Option<Vec<Vec<f64>>> {
        let n = self.n;
        let mut xs: Vec<Vec<f64>> = x.iter().zip(v).map(|(x, v)| vec![*x, *v]).collect();
        let factors = self.factors(x);
        let mut accelerations: Vec<Vec<f64>> = Vec::new();
        let mut multipliers: Vec<Vec<f64>> = Vec::new();
        for k in 0..order.saturating_sub(1) {
            let now: Vec<Vec<f64>> = xs.iter().map(|x| x[..=k].to_vec()).collect();
            let rates: Vec<Vec<f64>> =
                xs.iter().map(|x| (0..=k).map(|j| (j + 1) as f64 * x[j + 1]).collect()).collect();
            let mut right = DVector::zeros(n + self.m);
            for (i, f) in self.forces.iter().enumerate() {
                right[i] = series::eval(f, &now)[k];
            }
            for (row, i, p) in &self.jacobian {
                let p = series::eval(p, &now);
                for j in 1..=k {
                    right[*i] -= p[j] * multipliers[k - j][*row];
                    right[n + row] -= p[j] * accelerations[k - j][*i];
                }
            }
            for (row, i, j, p) in &self.curvature {
                let product = series::product(&rates[*i], &rates[*j]);
                right[n + row] -= series::product(&series::eval(p, &now), &product)[k];
            }
            if !factors.solve_mut(&mut right) || right.iter().any(|a| !a.is_finite()) {
                return None;
            }
            for (i, x) in xs.iter_mut().enumerate() {
                x.push(right[i] / ((k + 1) * (k + 2)) as f64);
            }
            accelerations.push(right.as_slice()[..n].to_vec());
            multipliers.push(right.as_slice()[n..].to_vec());
        }
        Some(xs)
    }
}

/// One formulation as y' = f(y) with y = (x, v). After each step it is projected onto the constraints and, if asked for, onto
/// the energy, by a factor on all velocities, which keeps G v = 0
/// (\[Hairer, Lubich, Wanner 2006\] IV.4).
pub(crate) struct Flow<'a> {
    pub(crate) formulation: &'a Formulation,
    /// The energy to keep.
    pub(crate) energy: Option<f64>,
    /// Σ |ΔE| of what the projection onto the energy took away, J.
    pub(crate) corrected: f64,
}

impl gelenk_ode::System for Flow<'_> {
    fn dim(&self) -> usize {
        2 * self.formulation.n
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        let n = self.formulation.n;
        dy[..n].copy_from_slice(&y[n..]);
        self.formulation.acceleration(&y[..n], &y[n..], &mut dy[n..])
    }

    fn accepted(&mut self, _t: f64, y: &mut [f64]) -> Result<bool, Failure> {
        if self.formulation.m == 0 {
            return Ok(false);
        }
        let (x, v) = y.split_at_mut(self.formulation.n);
        if !self.formulation.project(x, v) {
            return Err(Failure::Domain);
        }
        if let Some(energy) = self.energy {
            let potential = self.formulation.potential.eval(x);
            let now = self.formulation.energy(x, v);
            let ratio = (energy - potential) / (now - potential);
            // Near rest a factor on the velocities can do nothing; the error waits until it moves again.
            if (ratio - 1.0).abs() < 1e-2 {
                self.corrected += (now - energy).abs();
                for v in v.iter_mut() {
                    *v *= ratio.sqrt();
                }
            }
        }
        Ok(true)
    }
}

/// A series at t.
pub(crate) fn at(series: &[f64], t: f64) -> f64 {
    series.iter().rev().fold(0.0, |sum, c| sum * t + c)
}

/// The coefficients of the same polynomial about t.
pub(crate) fn about(series: &[f64], t: f64) -> Vec<f64> {
    let mut c = series.to_vec();
    // Synthetic division, again and again.
    for k in 0..c.len() {
        for j in (k..c.len() - 1).rev() {
            c[j] += t * c[j + 1];
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_polynomials() {
        // (t + 2)³ about 2: 8 + 12 τ + 6 τ² + τ³ from t³.
        assert_eq!(about(&[0.0, 0.0, 0.0, 1.0], 2.0), [8.0, 12.0, 6.0, 1.0]);
        assert!((at(&[1.0, 2.0, 3.0], 2.0) - 17.0).abs() < 1e-15);
    }

    #[test]
    fn taylor_of_a_circle() {
        // Without forces a mass runs around the unit circle: (cos t, sin t).
        let circle = System::parse(&["x", "y"], &["x^2 + y^2 - 1"]).unwrap();
        let masses = vec![Rational::ONE; 2];
        let mechanism = Mechanism::new(circle.clone(), masses, Poly::zero(2)).unwrap();
        let formulation = Formulation::new(&mechanism, &circle.to_f64());
        let xs = formulation.taylor(&[1.0, 0.0], &[0.0, 1.0], 9).unwrap();
        let mut factorial = 1.0;
        for k in 0..=9 {
            let signs = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][k % 4];
            assert!((xs[0][k] - signs.0 / factorial).abs() < 1e-15, "x_{k}");
            assert!((xs[1][k] - signs.1 / factorial).abs() < 1e-15, "y_{k}");
            factorial *= (k + 1) as f64;
        }
    }
}
