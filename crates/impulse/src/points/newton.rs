//! Integration steps by Newton's method.

use nalgebra::{DMatrix, DVector};

use super::constraint::Gradient;
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
        let x = newton_system(system, &now, &ahead, kept, h).solution(state.t)?;
        system.apply(&now, x.as_slice(), &mut moving.p_dot);
    }
    unreachable!("the last round returns")
}

/// The linear system M_h X = B of one round, (5.8) and (5.9).
#[derive(Clone, Debug)]
pub struct NewtonSystem {
    /// M_h; for h → 0 the matrix of the velocity correction (4.9).
    pub matrix: DMatrix<f64>,
    /// B.
    pub right: DVector<f64>,
}

impl NewtonSystem {
    /// X, the strengths of the impulses; `t` is for the message.
    pub fn solution(&self, t: f64) -> Result<DVector<f64>, PointError> {
        let x = self.matrix.clone().lu().solve(&self.right);
        x.ok_or(PointError::Singular { t })
    }
}

/// The first linear system of a step of `h` from a state: its solution is x_k of section 8. With h = 0 only its matrix has a meaning.
pub fn first_system(
    system: &PointSystem,
    state: &PointState,
    independent: &Independent,
    h: f64,
) -> NewtonSystem {
    let (now, _) = system.gradients(state, &independent.kept);
    newton_system(system, &now, &system.look_ahead(state, h), &independent.kept, h)
}

fn newton_system(
    system: &PointSystem,
    now: &[Gradient],
    ahead: &PointState,
    kept: &[usize],
    h: f64,
) -> NewtonSystem {
    let (then, _) = system.gradients(ahead, kept);
    let b = kept.iter().map(|&r| -system.constraints[r].value(ahead) / h);
    NewtonSystem { matrix: system.matrix(&then, now), right: DVector::from_iterator(kept.len(), b) }
}

/// A step with one linear system for the positions, whatever gaps that leaves, and one for the velocities: the method of the theorem of
/// section 8, which converges as h → 0.
pub fn single_step(
    system: &PointSystem,
    state: &mut PointState,
    independent: &Independent,
    h: f64,
) -> Result<(), PointError> {
    let x = first_system(system, state, independent, h).solution(state.t)?;
    let (now, _) = system.gradients(state, &independent.kept);
    let mut moving = state.clone();
    system.apply(&now, x.as_slice(), &mut moving.p_dot);
    let mut ahead = system.look_ahead(&moving, h);
    correct_velocities(system, &mut ahead, independent)?;
    *state = ahead;
    Ok(())
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
