//! Inconsistent start values: relaxations of the conditions, and the initial projection. \[Simon 2004\] chapter II.
//!
//! A relaxation replaces g(p) = 0 by a condition that the start values satisfy and that is g where they are consistent:
//! ```text
//! linear        g(p) = g(p₀) + G(p₀) v₀ τ                                                   τ = t − t₀
//! Baumgarte     g(p) = [g₀ + (ġ₀ + α g₀) τ + (α ġ₀ + ½ α² g₀) τ²] e^(−ατ)
//! orthogonal    g(p − v_i τ) = g(p₀),   v_i the part of v₀ that is M-orthogonal to the conditions
//! mixed         the same with chosen components of v_i zero
//! ```

use gelenk_ode::{Failure, Integrator, System};
use nalgebra::{DMatrix, DVector};

use crate::descriptor::{Descriptor, DescriptorError};
use crate::polynomial::Polynomial;

/// Newton's iterations.
const MAX_ITERATIONS: u32 = 50;

/// How the conditions are relaxed.
#[derive(Clone, Debug, PartialEq)]
pub enum Relaxation {
    /// By a function linear in time; may drive the system into a singularity.
    Linear,
    /// By one that dies away.
    Baumgarte {
        /// How fast, 1/s.
        alpha: f64,
    },
    /// By taking out the inconsistent part of the velocities; the same trajectory for g and h(g).
    Orthogonal,
    /// Orthogonal in part: these components of v_i are zero, so that these coordinates keep to the conditions.
    Mixed {
        /// Coordinates whose velocity stays as it is.
        kept: Vec<usize>,
    },
}

/// In which norm the initial projection moves least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// A = M.
    Mass,
    /// A = E.
    Unit,
}

/// Φ with g(p(t)) = Φ(t): (a + b τ + c τ²) e^(−ατ).
#[derive(Clone, Debug)]
struct Target {
    t0: f64,
    a: DVector<f64>,
    b: DVector<f64>,
    c: DVector<f64>,
    alpha: f64,
}

impl Target {
    /// Φ, Φ̇, Φ̈.
    fn at(&self, t: f64) -> [DVector<f64>; 3] {
        let (tau, alpha) = (t - self.t0, self.alpha);
        let decay = (-alpha * tau).exp();
        let value = &self.a + &self.b * tau + &self.c * (tau * tau);
        let slope = &self.b + &self.c * (2.0 * tau);
        let bend = &self.c * 2.0;
        [
            &value * decay,
            (&slope - &value * alpha) * decay,
            (bend - slope * (2.0 * alpha) + value * (alpha * alpha)) * decay,
        ]
    }
}

struct Relaxed<'d, 'a> {
    system: &'d Descriptor<'a>,
    target: Target,
    tolerance: f64,
}

impl System for Relaxed<'_, '_> {
    fn dim(&self) -> usize {
        2 * self.system.n()
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        let n = self.system.n();
        let [_, _, bend] = self.target.at(t);
        let (p, v) = y.split_at(n);
        let found = self.system.accelerations(t, p, v, &bend);
        let (a, _) = found.map_err(|_| Failure::Domain)?;
        dy[..n].copy_from_slice(v);
        dy[n..].copy_from_slice(a.as_slice());
        Ok(())
    }

    fn accepted(&mut self, t: f64, y: &mut [f64]) -> Result<bool, Failure> {
        let n = self.system.n();
        let [value, slope, _] = self.target.at(t);
        let (p, v) = y.split_at_mut(n);
        let gap = |p: &[f64], v: &[f64]| {
            let g = self.system.value(p) - &value;
            let g_vel = self.system.jacobian(p) * DVector::from_column_slice(v) - &slope;
            (g, g_vel)
        };
        let (g, g_vel) = gap(p, v);
        if g.amax() <= self.tolerance && g_vel.amax() <= self.tolerance {
            return Ok(false);
        }
        let mass = self.system.mass_matrix();
        let zero = DVector::zeros(n);
        for _ in 0..3 {
            let (g, _) = gap(p, v);
            let step = Descriptor::solve(&mass, &self.system.jacobian(p), &zero, &-g);
            let (step, _) = step.map_err(|_| Failure::Domain)?;
            p.iter_mut().zip(step.iter()).for_each(|(p, step)| *p += step);
        }
        let (_, g_vel) = gap(p, v);
        let step = Descriptor::solve(&mass, &self.system.jacobian(p), &zero, &-g_vel);
        let (step, _) = step.map_err(|_| Failure::Domain)?;
        v.iter_mut().zip(step.iter()).for_each(|(v, step)| *v += step);
        Ok(true)
    }
}

/// The inconsistent part v_i of velocities: [M Gᵀ; G 0] [v_i; ξ] = [0; G v₀] (18).
pub fn inconsistent_part(
    system: &Descriptor<'_>,
    p: &[f64],
    v: &[f64],
) -> Result<Vec<f64>, DescriptorError> {
    let jac = system.jacobian(p);
    let wanted = &jac * DVector::from_column_slice(v);
    let zero = DVector::zeros(system.n());
    let (part, _) = Descriptor::solve(&system.mass_matrix(), &jac, &zero, &wanted)?;
    Ok(part.as_slice().to_vec())
}

/// The smallest v_i in the M-norm with G v_i = G v₀ and zero at the coordinates `kept` (23).
pub fn mixed_part(
    system: &Descriptor<'_>,
    p: &[f64],
    v: &[f64],
    kept: &[usize],
) -> Result<Vec<f64>, DescriptorError> {
    let jac = system.jacobian(p);
    let wanted = &jac * DVector::from_column_slice(v);
    let (n, k) = (system.n(), jac.nrows());
    let weights: Vec<f64> = system.mass.iter().map(|m| 1.0 / m.max(1e-300).sqrt()).collect();
    // The kept components are left out, which is what zero means.
    let free: Vec<usize> = (0..n).filter(|i| !kept.contains(i)).collect();
    if free.is_empty() || k == 0 {
        let nothing = wanted.iter().all(|x| *x == 0.0);
        return if nothing { Ok(vec![0.0; n]) } else { Err(DescriptorError::Contradiction) };
    }
    let matrix = DMatrix::from_fn(k, free.len(), |i, j| jac[(i, free[j])] * weights[free[j]]);
    let svd = matrix.clone().svd(true, true);
    let tolerance = 1e-12 * svd.singular_values.amax();
    let x = svd.solve(&wanted, tolerance).map_err(|_| DescriptorError::Singular)?;
    if (&matrix * &x - &wanted).amax() > 1e-9 * (1.0 + wanted.amax()) {
        return Err(DescriptorError::Contradiction);
    }
    let mut part = vec![0.0; n];
    for (j, &i) in free.iter().enumerate() {
        part[i] = x[j] * weights[i];
    }
    Ok(part)
}

/// Integrates from values that need not be consistent, from t₀ to t₁; p and v there.
pub fn integrate(
    system: &Descriptor<'_>,
    relaxation: &Relaxation,
    (t0, p0, v0): (f64, &[f64], &[f64]),
    t1: f64,
    options: &gelenk_ode::Options,
) -> Result<(Vec<f64>, Vec<f64>), DescriptorError> {
    let n = system.n();
    let g0 = system.value(p0);
    let g_vel0 = system.jacobian(p0) * DVector::from_column_slice(v0);
    let zero = || DVector::zeros(g0.len());
    let part = match relaxation {
        Relaxation::Orthogonal => Some(inconsistent_part(system, p0, v0)?),
        Relaxation::Mixed { kept } => Some(mixed_part(system, p0, v0, kept)?),
        Relaxation::Linear | Relaxation::Baumgarte { .. } => None,
    };
    let target = match relaxation {
        Relaxation::Linear => Target { t0, a: g0.clone(), b: g_vel0, c: zero(), alpha: 0.0 },
        Relaxation::Baumgarte { alpha } => Target {
            t0,
            a: g0.clone(),
            b: &g_vel0 + &g0 * *alpha,
            c: &g_vel0 * *alpha + &g0 * (0.5 * alpha * alpha),
            alpha: *alpha,
        },
        Relaxation::Orthogonal | Relaxation::Mixed { .. } => {
            Target { t0, a: g0.clone(), b: zero(), c: zero(), alpha: 0.0 }
        }
    };
    let mut y = p0.to_vec();
    y.extend_from_slice(v0);
    if let Some(part) = &part {
        y[n..].iter_mut().zip(part).for_each(|(v, part)| *v -= part);
    }
    let tolerance = 10.0 * options.rtol.max(options.atol);
    let mut relaxed = Relaxed { system, target, tolerance };
    let mut integrator = Integrator::new(options.clone(), t0, &y)?;
    integrator.run(&mut relaxed, t1)?;
    let (mut p, mut v) = (integrator.y()[..n].to_vec(), integrator.y()[n..].to_vec());
    if let Some(part) = &part {
        for i in 0..n {
            p[i] += part[i] * (t1 - t0);
            v[i] += part[i];
        }
    }
    Ok((p, v))
}

/// The initial projection Π: p with A (p − p₀) + Gᵀ(p) ξ = 0 and g(p) = 0 by Newton's method with the tensor ∂G ξ (31), then
/// v = v₀ − v_i with [A Gᵀ; G 0] [v_i; ξ'] = [0; G v₀] at p (32).
pub fn initial_projection(
    system: &Descriptor<'_>,
    p0: &[f64],
    v0: &[f64],
    norm: Norm,
) -> Result<(Vec<f64>, Vec<f64>), DescriptorError> {
    let n = system.n();
    let a = match norm {
        Norm::Mass => system.mass_matrix(),
        Norm::Unit => DMatrix::identity(n, n),
    };
    let start = DVector::from_column_slice(p0);
    let (mut p, mut xi) = (start.clone(), DVector::zeros(system.g.len()));
    let scale = 1.0 + start.amax();
    let mut iterations = 0;
    loop {
        let (g, jac) = (system.value(p.as_slice()), system.jacobian(p.as_slice()));
        let upper = -(&a * (&p - &start)) - jac.transpose() * &xi;
        let block = &a + system.tensor(p.as_slice(), &xi);
        let (step, change) = Descriptor::solve(&block, &jac, &upper, &-&g)?;
        p += &step;
        xi += change;
        iterations += 1;
        if step.amax() <= 4.0 * f64::EPSILON * scale {
            break;
        }
        if iterations >= MAX_ITERATIONS || !step.amax().is_finite() {
            let gap = system.value(p.as_slice()).amax();
            if gap <= 1e-12 * scale && step.amax() <= 1e-12 * scale {
                break;
            }
            return Err(DescriptorError::TooFar { gap, iterations });
        }
    }
    let jac = system.jacobian(p.as_slice());
    let wanted = &jac * DVector::from_column_slice(v0);
    let (part, _) = Descriptor::solve(&a, &jac, &DVector::zeros(n), &wanted)?;
    let v = DVector::from_column_slice(v0) - part;
    Ok((p.as_slice().to_vec(), v.as_slice().to_vec()))
}

/// The same system in n + k variables with globally full rank: g_i + z_i Σ_j g_j² = 0 (28), with pseudo-masses 1 for the z. `pull`: a
/// force −z − ż drives them back to zero; else none acts on them. Start with z = ż = 0.
pub fn with_added_variables<'a>(system: Descriptor<'a>, pull: bool) -> Descriptor<'a> {
    let (n, k) = (system.n(), system.g.len());
    let squares = system.g.iter().fold(Polynomial::default(), |sum, g| &sum + &g.power(2));
    let g = (system.g.iter().enumerate())
        .map(|(i, g)| g + &(&Polynomial::variable(n + i) * &squares))
        .collect();
    let mut mass = system.mass;
    mass.extend(vec![1.0; k]);
    let inner = system.force;
    Descriptor {
        mass,
        g,
        force: Box::new(move |t, p, v, out| {
            inner(t, &p[..n], &v[..n], &mut out[..n]);
            for i in n..n + k {
                out[i] = if pull { -p[i] - v[i] } else { 0.0 };
            }
        }),
    }
}
