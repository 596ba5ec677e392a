//! Two usual cures of the drift, for comparison: Baumgarte's stabilization and projection.

use gelenk_model::math::Vec3;
use nalgebra::DVector;

use super::correction::correct_velocities;
use super::independent::Independent;
use super::system::{PointError, PointState, PointSystem, along};
use super::taylor::taylor_step;

/// Newton steps of a projection at most.
const MAX_PROJECTIONS: usize = 20;

/// One step of the Lagrange-multiplier method with c̈ + 2 α ċ + α² c = 0 in place of c̈ = 0 (Baumgarte), by Runge and Kutta's method of
/// order 4. Steps are stable for α h up to 2.7.
pub fn baumgarte_step(
    system: &PointSystem,
    state: &mut PointState,
    independent: &Independent,
    alpha: f64,
    h: f64,
) -> Result<(), PointError> {
    let start = state.clone();
    let n = start.p.len();
    let (mut moved, mut pushed) = (vec![Vec3::zeros(); n], vec![Vec3::zeros(); n]);
    let mut at = start.clone();
    for (ahead, weight) in [(0.5, 1.0), (0.5, 2.0), (1.0, 2.0), (0.0, 1.0)] {
        let a = stabilized(system, &at, independent, alpha)?;
        let v = at.p_dot.clone();
        for r in 0..n {
            moved[r] += v[r] * (weight * h / 6.0);
            pushed[r] += a[r] * (weight * h / 6.0);
            at.p[r] = start.p[r] + v[r] * (ahead * h);
            at.p_dot[r] = start.p_dot[r] + a[r] * (ahead * h);
        }
        at.t = start.t + ahead * h;
    }
    for r in 0..n {
        state.p[r] = start.p[r] + moved[r];
        state.p_dot[r] = start.p_dot[r] + pushed[r];
    }
    state.t = start.t + h;
    Ok(())
}

/// Accelerations with M λ = −G·a − c̈₀ − 2 α ċ − α² c, where c̈₀ is what c̈ is without accelerations.
fn stabilized(
    system: &PointSystem,
    state: &PointState,
    independent: &Independent,
    alpha: f64,
) -> Result<Vec<Vec3>, PointError> {
    let n = system.names.len();
    let kept = &independent.kept;
    let (gradients, c_t) = system.gradients(state, kept);
    let mut a: Vec<Vec3> = (0..n).map(|r| system.gravity_on(r)).collect();
    let series = [state.p.clone(), state.p_dot.clone(), vec![Vec3::zeros(); n]];
    let rows = kept.iter().zip(gradients.iter().zip(&c_t));
    let b = rows.map(|(&k, (g, c_t))| {
        let constraint = &system.constraints[k];
        let bend = 2.0 * constraint.value_coefficient(state.t, &series, 2);
        let rate = along(g, &state.p_dot) + c_t;
        -along(g, &a) - bend - 2.0 * alpha * rate - alpha * alpha * constraint.value(state)
    });
    let b = DVector::from_iterator(kept.len(), b);
    let x = system.matrix(&gradients, &gradients).lu().solve(&b);
    let x = x.ok_or(PointError::Singular { t: state.t })?;
    system.apply(&gradients, x.as_slice(), &mut a);
    Ok(a)
}

/// One step of the Taylor method of order n, then the nearest positions (in the metric of the masses) and velocities that the
/// constraints allow.
pub fn projected_step(
    system: &PointSystem,
    state: &mut PointState,
    independent: &Independent,
    n: usize,
    h: f64,
    delta_max: f64,
) -> Result<(), PointError> {
    let kept = &independent.kept;
    taylor_step(system, state, independent, n, h)?;
    for round in 0..=MAX_PROJECTIONS {
        let (error, worst) = system.worst_error(state);
        if error <= delta_max {
            break;
        }
        if round == MAX_PROJECTIONS || error.is_nan() {
            let constraint = system.constraints[worst].name.clone();
            return Err(PointError::NotClosed { constraint, error, solves: round, t: state.t, h });
        }
        let (gradients, _) = system.gradients(state, kept);
        let c = kept.iter().map(|&k| -system.constraints[k].value(state));
        let c = DVector::from_iterator(kept.len(), c);
        let x = system.matrix(&gradients, &gradients).lu().solve(&c);
        let x = x.ok_or(PointError::Singular { t: state.t })?;
        system.apply(&gradients, x.as_slice(), &mut state.p);
    }
    correct_velocities(system, state, independent)?;
    Ok(())
}
