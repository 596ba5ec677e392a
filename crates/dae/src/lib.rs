//! The DAE engine.

pub mod equations;
pub mod layout;
pub mod project;
mod rows;
mod simulation;
mod switch;

pub use equations::{Equations, Mode};
pub use gelenk_ode::{Method, Stop};
pub use layout::Layout;
pub use project::Invariants;
pub use simulation::{DaeError, Options, Simulation, Statistics, check_model};
