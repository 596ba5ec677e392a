//! Solvers: how the impulses of a step are found.

mod along;
mod anderson;
mod direct;
mod sweep;

pub use along::{Along, Crossing};
pub use anderson::Anderson;
pub use direct::{Direct, Factor, Sharing};
pub(crate) use direct::{FINE, GAIN, eliminate_in_turns, factorize, neighbours, newton};
pub use sweep::{PLAIN_SWEEPS, Sweep};
pub(crate) use sweep::{part_of_gap, sweep_positions, sweep_velocities};

use gelenk_model::Model;

use crate::error::StepError;
use crate::method::Method;
use crate::rows::{At, Look};
use crate::scratch::Scratch;

/// Finds the impulses of a step. All solvers give the same motion, to the tolerances.
///
/// A solver changes `scratch.bodies.twists`, the velocities at the instant, by impulses along the rows, adds up these
/// impulses in `scratch.rows`, and leaves the errors reached in `gap` and `velocity_error`.
pub trait Solver: Sync {
    /// Finds impulses p at time t, along the rows there, after which free flight closes all joints:
    /// C(q(t+h; v + M⁻¹ Jᵀ p)) = 0 to the tolerance. Adds to `rows.impulse`. Returns the number of corrections.
    fn correct_positions(
        &self,
        model: &Model,
        method: &Method,
        look: &Look<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError>;

    /// Finds impulses with J v + C_t = 0 to the velocity tolerance. Adds to `rows.velocity_impulse`. Returns the
    /// number of corrections.
    fn correct_velocities(
        &self,
        model: &Model,
        method: &Method,
        at: &At<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError>;
}

/// Length of a block's error; rad counted at 1 m.
pub(crate) fn norm(c: &[f64]) -> f64 {
    c.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The worst block of a look at all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worst {
    /// Error over tolerance.
    pub ratio: f64,
    /// Its index.
    pub block: usize,
    /// Work of the impulses over the gaps, over what is allowed; 0 where nobody asks.
    pub work: f64,
}

impl Worst {
    /// Takes note of a block.
    #[inline(always)]
    pub(crate) fn see(&mut self, ratio: f64, block: usize) {
        // A NaN is worse than any number, and stays.
        if ratio > self.ratio || ratio.is_nan() {
            (self.ratio, self.block) = (ratio, block);
        }
    }
}

/// The error of a position correction that did not come to its end: its worst block, and sweeps or solves done.
pub(crate) fn lost_positions((block, sweeps): (usize, u64), gap: &[f64], t: f64) -> StepError {
    StepError::Positions { block, gap: gap[block], sweeps, t }
}

/// The same of a velocity correction.
pub(crate) fn lost_velocities((block, sweeps): (usize, u64), error: &[f64], t: f64) -> StepError {
    StepError::Velocities { block, error: error[block], sweeps, t }
}
