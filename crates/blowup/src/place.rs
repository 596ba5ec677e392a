//! Where a motion meets a singular position.

use gelenk_expr::Rational;
use nalgebra::{DMatrix, DVector};

use crate::field::Field;
use crate::mechanics::Formulation;
use crate::solve::simplest_between;
use crate::system::System;

/// A singular position near a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The position.
    pub x: Vec<f64>,
    /// The same exactly, where it is rational.
    pub exact: Option<Vec<Rational>>,
}

/// Newton's iteration for g(x) = 0, Gᵀu = 0, |u|² = 1, least steps; then fractions near its end are tried.
///
/// Where the singularity is simple (the tangent cone is reduced) this converges quadratically,
/// elsewhere linearly; the fraction is then found all the same, and proven by exact arithmetic.
pub fn singular_place(system: &System<Rational>, near: &[f64]) -> Option<Place> {
    let float = system.to_f64();
    let (n, m) = (float.n_variables(), float.equations.len());
    if m == 0 || near.len() != n {
        return None;
    }
    let jacobian = float.jacobian();
    let second: Vec<Vec<Vec<_>>> = jacobian
        .iter()
        .map(|row| row.iter().map(|p| (0..n).map(|j| p.derivative(j)).collect()).collect())
        .collect();
    let matrix = |x: &[f64]| DMatrix::from_fn(m, n, |k, i| jacobian[k][i].eval(x));
    let mut x = near.to_vec();
    let mut u = least_direction(&matrix(&x))?;
    let scale = 1.0 + near.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for _ in 0..60 {
        let g = matrix(&x);
        // Rows: g, Gᵀu, (|u|² − 1)/2. Columns: x, u.
        let mut a = DMatrix::zeros(m + n + 1, n + m);
        let mut right = DVector::zeros(m + n + 1);
        for k in 0..m {
            right[k] = -float.equations[k].eval(&x);
            for i in 0..n {
                a[(k, i)] = g[(k, i)];
                a[(m + i, n + k)] = g[(k, i)];
                right[m + i] -= g[(k, i)] * u[k];
                for j in 0..n {
                    a[(m + i, j)] += u[k] * second[k][i][j].eval(&x);
                }
            }
            a[(m + n, n + k)] = u[k];
        }
        right[m + n] = 0.5 * (1.0 - u.norm_squared());
        let step = least_squares(a, &right)?;
        for i in 0..n {
            x[i] += step[i];
        }
        for k in 0..m {
            u[k] += step[n + k];
        }
        let size = step.norm();
        if !size.is_finite() || x.iter().any(|x| x.abs() > 100.0 * scale) {
            return None;
        }
        if size < 1e-15 * scale {
            break;
        }
    }
    for tolerance in [1e-10, 1e-8, 1e-6, 1e-4, 1e-3] {
        if let Some(exact) = nearby_fraction(system, &x, tolerance * scale) {
            return Some(Place {
                x: exact.iter().map(Rational::to_f64).collect(),
                exact: Some(exact),
            });
        }
    }
    let g = matrix(&x);
    let values = g.singular_values();
    let (least, most) = (values.min(), values.max());
    let open = float.equations.iter().map(|g| g.eval(&x).abs()).fold(0.0, f64::max);
    (open < 1e-10 && least < 1e-7 * most.max(1.0)).then_some(Place { x, exact: None })
}

/// The rational point of smallest denominators in the box, if it is a singular solution.
fn nearby_fraction(system: &System<Rational>, x: &[f64], tolerance: f64) -> Option<Vec<Rational>> {
    let exact: Vec<Rational> = x
        .iter()
        .map(|x| {
            let (low, high) =
                (Rational::from_f64(x - tolerance)?, Rational::from_f64(x + tolerance)?);
            Some(simplest_between(&low, &high))
        })
        .collect::<Option<_>>()?;
    let on = system.equations.iter().all(|g| Field::is_zero(&g.eval(&exact)));
    (on && system.rank_at(&exact, 0.0) < system.equations.len()).then_some(exact)
}

/// The unit vector u with the smallest |Gᵀu|.
fn least_direction(g: &DMatrix<f64>) -> Option<DVector<f64>> {
    let eigen = (g * g.transpose()).symmetric_eigen();
    let k = eigen.eigenvalues.imin();
    let u: DVector<f64> = eigen.eigenvectors.column(k).into();
    u.iter().all(|u| u.is_finite()).then_some(u)
}

/// The shortest solution of least residual.
pub(crate) fn least_squares(a: DMatrix<f64>, right: &DVector<f64>) -> Option<DVector<f64>> {
    let svd = a.try_svd(true, true, f64::EPSILON, 500)?;
    let most = svd.singular_values.max();
    svd.solve(right, 1e-11 * most).ok()
}

/// Improves a point of a divided system in which variable `fixed` is zero: Newton's iteration with least steps.
pub(crate) fn polish(system: &System<f64>, fixed: usize, point: &mut [f64]) {
    let n = system.n_variables();
    let free: Vec<usize> = (0..n).filter(|i| *i != fixed).collect();
    let mut x = point.to_vec();
    for _ in 0..20 {
        let g = system.jacobian_at(&x);
        let a = DMatrix::from_fn(g.len(), free.len(), |k, j| g[k][free[j]]);
        let right = DVector::from_iterator(g.len(), system.equations.iter().map(|g| -g.eval(&x)));
        let Some(step) = least_squares(a, &right) else { return };
        for (j, i) in free.iter().enumerate() {
            x[*i] += step[j];
        }
        if step.norm() < 1e-15 {
            break;
        }
    }
    // Far away is another solution: the curve knows better.
    let moved = x.iter().zip(point.iter()).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
    if moved < 0.1 {
        point.copy_from_slice(&x);
    }
}

/// Along a Taylor polynomial the time, within its radius, at which G is nearest to losing rank, and how near.
pub(crate) fn nearest_loss(formulation: &Formulation, taylor: &[Vec<f64>]) -> Option<(f64, f64)> {
    let length = taylor.first()?.len();
    // Radius of convergence from the last coefficients (root test), the worst of the variables.
    let mut radius = f64::INFINITY;
    for x in taylor {
        for k in length.saturating_sub(2)..length {
            if x[k] != 0.0 {
                radius = radius.min(x[k].abs().powf(-1.0 / k as f64));
            }
        }
    }
    let speed = taylor.iter().map(|x| x[1] * x[1]).sum::<f64>().sqrt();
    let size = 1.0 + taylor.iter().map(|x| x[0].abs()).fold(0.0, f64::max);
    if speed == 0.0 {
        return None;
    }
    let end = (1.2 * radius).min(size / speed);
    let value = |t: f64| {
        let x: Vec<f64> = taylor.iter().map(|x| crate::mechanics::at(x, t)).collect();
        formulation.least_singular_value(&x)
    };
    let samples = 48;
    let mut best = (0, value(0.0));
    for k in 1..=samples {
        let v = value(end * f64::from(k) / f64::from(samples));
        if v < best.1 {
            best = (k, v);
        }
        // The first valley counts.
        if v > 2.0 * best.1 && best.0 > 0 {
            break;
        }
    }
    if best.0 == 0 {
        return None;
    }
    let step = end / f64::from(samples);
    let (mut low, mut high) = (step * f64::from(best.0 - 1), step * f64::from(best.0 + 1));
    for _ in 0..60 {
        let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
        if value(a) < value(b) {
            high = b;
        } else {
            low = a;
        }
    }
    let t = 0.5 * (low + high);
    Some((t, value(t)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_singular_places() {
        let eight = System::parse(&["x", "y"], &["y^2 = x^2*(1 - x^2)"]).unwrap();
        let place = singular_place(&eight, &[0.1, -0.08]).unwrap();
        assert_eq!(place.exact, Some(vec![Rational::ZERO; 2]));
        // A cusp, where Newton's iteration is slow.
        let cusp = System::parse(&["x", "y"], &["y^2 = (x - 1/3)^3"]).unwrap();
        let place = singular_place(&cusp, &[0.4, 0.02]).unwrap();
        assert_eq!(place.exact.unwrap()[0], Rational::new(1, 3).unwrap());
        // An irrational one: y² = (x² - 2)² crosses itself in (±√2, 0).
        let s = System::parse(&["x", "y"], &["y^2 = (x^2 - 2)^2"]).unwrap();
        let place = singular_place(&s, &[1.5, 0.1]).unwrap();
        assert!(place.exact.is_none());
        assert!((place.x[0] - 2f64.sqrt()).abs() < 1e-14 && place.x[1].abs() < 1e-14);
        // A circle has none.
        let circle = System::parse(&["x", "y"], &["x^2 + y^2 = 1"]).unwrap();
        assert!(singular_place(&circle, &[0.9, 0.4]).is_none());
    }
}
