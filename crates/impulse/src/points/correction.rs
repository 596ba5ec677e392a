//! Velocity correction by one system of linear equations.

use nalgebra::DVector;

use super::independent::Independent;
use super::system::{PointError, PointState, PointSystem, along};

/// Changes velocities by impulses along the constraints so that all of them hold: \[Schmitt, Bender, Prautzsch 2005\]
/// section 4.
///
/// ```text
/// M X = B      M[r, s] = −Σ (1/m) G_r·G_s      b_r = −(G_r·Ṗ + ∂c_r/∂t)
/// ```
/// For distances this is (4.9): M\[r, s\] = ∓ (1/m) A_r·A_s for common points, b_r = −A_r·Ȧ_r. The constraints
/// `independent.removed` follow from the others. Returns the largest change of a velocity, m/s.
pub fn correct_velocities(
    system: &PointSystem,
    state: &mut PointState,
    independent: &Independent,
) -> Result<f64, PointError> {
    let (gradients, c_t) = system.gradients(state, &independent.kept);
    let rates = gradients.iter().zip(&c_t).map(|(g, c_t)| -(along(g, &state.p_dot) + c_t));
    let b = DVector::from_iterator(gradients.len(), rates);
    let x = system.matrix(&gradients, &gradients).lu().solve(&b);
    let x = x.filter(|x| x.iter().all(|x| x.is_finite()));
    let x = x.ok_or(PointError::Singular { t: state.t })?;
    let before = state.p_dot.clone();
    system.apply(&gradients, x.as_slice(), &mut state.p_dot);
    let changes = before.iter().zip(&state.p_dot).map(|(a, b)| (b - a).norm());
    Ok(changes.fold(0.0, f64::max))
}
