//! Point-mass systems, as \[Schmitt, Bender, Prautzsch 2005\] write them: the paper's pages as functions.
//!
//! A [`PointSystem`] is masses and constraints, a [`PointState`] where they are and how they move.
//!
//! - [`correct_velocities`]: velocities that fit the constraints, by one linear system (section 4, (4.9));
//! - [`newton_step`]: impulses that make the constraints hold at t + h (section 5, (5.8) and (5.9));
//! - [`impulse_step`]: both, the impulse method; [`single_step`]: with one linear system for each (section 8);
//! - [`taylor_step`]: the Taylor or Lagrange-multiplier method of any order (section 6), for comparison: it drifts;
//! - [`baumgarte_step`] and [`projected_step`]: two usual cures of that drift;
//! - [`independent`]: a largest set of constraints that do not depend on each other (section 4, end).
//!
//! Constraints are c_k(P, t) = 0 with the gradients G_k = ∂c_k/∂P. A distance (i, j, d) is
//!
//! ```text
//! c = ½ (A² − d²)      A = P_j − P_i      G = [ −A at i, +A at j ]
//! ```
//!
//! so that an impulse of strength x is the paper's I = A x, with plus on i and minus on j: ΔṖ = −G x/m. With it the
//! paper's matrix is M\[r, s\] = −Σ G_r·G_s/m over common points, for distances as for any other constraint.
//!
//! This is for reading, teaching and comparing. Runs of models go through [`run`](crate::run()), whose direct solver
//! does the same for all joints, sparsely; `tests/points.rs` holds the two together.

mod constraint;
mod correction;
mod from_model;
mod independent;
mod newton;
mod stabilized;
mod system;
mod taylor;

pub use constraint::{Constraint, ConstraintKind, Gradient, PointEquation};
pub use correction::correct_velocities;
pub use from_model::from_model;
pub use independent::{Independent, RANK_TOLERANCE, independent};
pub use newton::{MAX_SOLVES, NewtonSystem, first_system, impulse_step, newton_step, single_step};
pub use stabilized::{baumgarte_step, projected_step};
pub use system::{PointError, PointState, PointSystem};
pub use taylor::{PointSeries, taylor_series, taylor_step};
