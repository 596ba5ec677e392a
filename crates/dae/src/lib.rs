//! The DAE engine.

pub mod constraints;
pub mod descriptor;
pub mod equations;
pub mod layout;
pub mod polynomial;
pub mod project;
pub mod relax;
mod rows;
mod simulation;
mod switch;

pub use equations::{Equations, Mode};
pub use gelenk_ode::{Method, Stop};
pub use layout::Layout;
pub use project::Invariants;
pub use simulation::{DaeError, Options, Simulation, check_model};
