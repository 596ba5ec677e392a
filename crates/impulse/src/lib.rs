//! The impulse engine of Gelenk: forces replaced by impulses, joints closed to a tolerance at every step.
//!
//! [`run`] runs a model and tells an observer; [`Simulation`] is the same step by step; [`step`] is one step alone.
//! The equations are in the crate's README.

mod balls;
pub mod bounds;
pub mod compose;
mod contact;
pub mod control;
pub mod dense;
mod drives;
pub mod error;
mod explain;
pub mod flight;
mod graph;
mod hand;
mod hinges;
mod joints;
mod kick;
mod lanes;
pub mod method;
mod parts;
pub mod points;
pub mod rows;
mod run;
pub mod scratch;
pub mod simulation;
mod singular;
mod small;
pub mod solver;
mod step;
mod stops;
mod touching;

pub use compose::Order;
pub use dense::Dense;
pub use error::StepError;
pub use explain::Failure;
pub use graph::Ways;
pub use method::{BadSetting, Landing, Method, SolverKind};
pub use parts::{MAX_HALVINGS, MOST_TRIES};
pub use run::{run, run_controlled};
pub use scratch::Scratch;
pub use simulation::{Checkpoint, Simulation};
pub use step::{StepReport, step};

/// The README's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
