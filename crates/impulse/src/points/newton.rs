//! Integration steps by Newton's method.

use nalgebra::DVector;

use super::correction::correct_velocities;
use super::independent::{Independent, independent};
use super::system::{PointError, PointState, PointSystem};

/// Linear systems solved in a step at most; two or three are usual.
pub const MAX_SOLVES: usize = 30;

/// Impulses at t that make all constraints hold at t + h, then ballistic motion to there: \[Schmitt, Bender, Prautzsch
/// 2005\] section 5.
///
/// ```text
/// M_h X = B      M_h[r, s] = −Σ (1/m) G_r(t + h)·G_s(t)      b_r = −c_r(t + h)/h
/// ```
/// For distances this is (5.8) and (5.9): M_h\[r, s\] = ∓ (1/m) A_r(h)·A_s, b_r = (d_r² − A_r(h)²)/2h. The impulses are
/// applied and the system is solved again until all errors are at most `delta_max` (m; equations in their own unit).
/// On a failure the state stays as it was. Returns the number of systems solved.
pub fn newton_step(
    system: &PointSystem,
    state: &mut PointState,
    independent: &Independent,
    h: f64,
    delta_max: f64,
) -> Result<usize, PointError> {
    let kept = &independent.kept;
    let (now, _) = system.gradients(state, kept);
    let mut moving = state.clone();
    for solves in 0..=MAX_SOLVES {
        let ahead = system.look_ahead(&moving, h);
        let (error, worst) = system.worst_error(&ahead);
        if error <= delta_max {
            *state = ahead;
            return Ok(solves);
        }
        if solves == MAX_SOLVES || error.is_nan() {
            let constraint = system.constraints[worst].name.clone();
            return Err(PointError::NotClosed { constraint, error, solves, t: state.t, h });
        }
        let (then, _) = system.gradients(&ahead, kept);
        let b = kept.iter().map(|&r| -system.constraints[r].value(&ahead) / h);
        let b = DVector::from_iterator(kept.len(), b);
        let x = system.matrix(&then, &now).lu().solve(&b);
        let x = x.ok_or(PointError::Singular { t: state.t })?;
        system.apply(&now, x.as_slice(), &mut moving.p_dot);
    }
    unreachable!("the last round returns")
}

/// One step of the impulse method: [`newton_step`], then [`correct_velocities`] at t + h. Returns the systems solved in
/// the first.
///
/// Which constraints are redundant is known from the start of the run; only where a step fails is it asked again, with
/// the tolerance of `independent`, and the step tried once more.
pub fn impulse_step(
    system: &PointSystem,
    state: &mut PointState,
    independent_set: &mut Independent,
    h: f64,
    delta_max: f64,
) -> Result<usize, PointError> {
    let saved = state.clone();
    let mut advance = |set: &Independent| {
        state.clone_from(&saved);
        let solves = newton_step(system, state, set, h, delta_max)?;
        correct_velocities(system, state, set)?;
        Ok(solves)
    };
    let error = match advance(independent_set) {
        Ok(solves) => return Ok(solves),
        Err(error) => error,
    };
    let again = independent(system, &saved, independent_set.tolerance);
    if again.kept != independent_set.kept
        && let Ok(solves) = advance(&again)
    {
        *independent_set = again;
        return Ok(solves);
    }
    *state = saved;
    Err(error)
}
