//! Integration steps with Taylor expansion: the Lagrange-multiplier method of any order.

use gelenk_model::math::Vec3;
use nalgebra::DVector;

use super::constraint::Gradient;
use super::independent::Independent;
use super::system::{PointError, PointState, PointSystem, along};

/// The motion near a state as power series in time.
#[derive(Clone, Debug, PartialEq)]
pub struct PointSeries {
    /// P_k with P(t + τ) = Σ P_k τᵏ, m/sᵏ: for each power, all points.
    pub p: Vec<Vec<Vec3>>,
    /// λ_k of the multipliers q(t + τ) = Σ λ_k τᵏ: for each power, all constraints; 0 for redundant ones. (6.2)
    pub lambda: Vec<Vec<f64>>,
}

/// Taylor coefficients of the motion to τ^(n+1) and of the multipliers to τ^(n−1): \[Schmitt, Bender, Prautzsch 2005\]
/// section 6, carried on to any order.
///
/// The forces −G_k q_k of (6.3) and the condition that τ^(k+2) of every constraint vanish give, order by order,
///
/// ```text
/// (k+1)(k+2) P_{k+2} = a − (1/m) Σ_s G_s λ_ks        a = g [k = 0] − (1/m) Σ_{j≥1} Σ_s G_js λ_(k−j)s
/// M λ_k = b                                          b_r = −G_r·a − (k+1)(k+2) ĉ_r
/// ```
/// with G_j the coefficients of the gradients along the motion and ĉ_r the coefficient of τ^(k+2) in c_r that the known
/// P_0 … P_{k+1} give. For distances and k = 0 this is (6.11): b_r = −A_r·gterm_r − Ȧ_r². The matrix M, that of the
/// velocity correction (4.9), is the same for all k. As in the paper, c = 0 and ċ = 0 at the start are not used: (6.6)
/// and (6.7) are ignored, and the method drifts.
pub fn taylor_series(
    system: &PointSystem,
    state: &PointState,
    independent: &Independent,
    n: usize,
) -> Result<PointSeries, PointError> {
    let kept = &independent.kept;
    let n_points = system.names.len();
    let zero = vec![Vec3::zeros(); n_points];
    let mut p = vec![state.p.clone(), state.p_dot.clone()];
    let mut lambda: Vec<Vec<f64>> = Vec::with_capacity(n);
    // G_j of the kept constraints, for each j.
    let mut gradients: Vec<Vec<Gradient>> = Vec::with_capacity(n);
    let (first, _) = system.gradients(state, kept);
    let matrix = system.matrix(&first, &first).lu();
    for k in 0..n {
        let factor = ((k + 1) * (k + 2)) as f64;
        let coefficient = |&r: &usize| system.constraints[r].gradient_coefficient(state.t, &p, k);
        gradients.push(kept.iter().map(coefficient).collect());
        let mut a: Vec<Vec3> = (0..n_points)
            .map(|r| if k == 0 { system.gravity_on(r) } else { Vec3::zeros() })
            .collect();
        for j in 1..=k {
            let known: Vec<f64> = kept.iter().map(|&r| lambda[k - j][r]).collect();
            system.apply(&gradients[j], &known, &mut a);
        }
        p.push(zero.clone());
        let b = kept.iter().zip(&first).map(|(&r, g)| {
            let c_hat = system.constraints[r].value_coefficient(state.t, &p, k + 2);
            -along(g, &a) - factor * c_hat
        });
        let solution = matrix.solve(&DVector::from_iterator(kept.len(), b));
        let solution = solution.ok_or(PointError::Singular { t: state.t })?;
        system.apply(&first, solution.as_slice(), &mut a);
        for (p, a) in p[k + 2].iter_mut().zip(&a) {
            *p = a / factor;
        }
        let mut all = vec![0.0; system.constraints.len()];
        for (&r, x) in kept.iter().zip(solution.iter()) {
            all[r] = *x;
        }
        lambda.push(all);
    }
    Ok(PointSeries { p, lambda })
}

/// One step of the Taylor method of order n ≥ 1 over `h` seconds: positions to h^(n+1), velocities to hⁿ, so that the
/// error of a step is O(h^(n+1)) in the velocities and that of a run O(hⁿ).
///
/// n = 1 is the paper's (6.12). Nothing brings the constraints back: compare [`impulse_step`](super::impulse_step).
pub fn taylor_step(
    system: &PointSystem,
    state: &mut PointState,
    independent: &Independent,
    n: usize,
    h: f64,
) -> Result<(), PointError> {
    let PointSeries { p, .. } = taylor_series(system, state, independent, n.max(1))?;
    for r in 0..system.names.len() {
        let mut place = Vec3::zeros();
        let mut rate = Vec3::zeros();
        for k in (0..p.len()).rev() {
            place = place * h + p[k][r];
            if k > 0 {
                rate = rate * h + p[k][r] * k as f64;
            }
        }
        state.p[r] = place;
        state.p_dot[r] = rate;
    }
    state.t += h;
    Ok(())
}
