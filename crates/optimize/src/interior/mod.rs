//! A primal-dual interior point for programs of stages: barrier, exact curvature, filter line search, restoration.
//!
//! The method is that of Wächter and Biegler, "On the implementation of an interior-point filter line-search algorithm for
//! large-scale nonlinear programming", Math. Program. 106 (2006); its numbers are taken over where nothing is said. The linear systems are
//! those of `chain`.

mod bounded;
mod core;
mod curvature;
mod estimate;
mod newton;
mod search;
mod solve;
mod state;

pub use self::core::Core;
pub use self::curvature::Hessian;
pub use self::solve::solve;
pub use self::state::{InteriorOptions, InteriorState, Outcome, Report, Status, violations};
