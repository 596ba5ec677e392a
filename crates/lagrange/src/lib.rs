//! The Lagrange engine: equations of motion in closed form, derived from energies.

mod algebra;
pub mod analysis;
pub mod code;
pub mod deck;
pub mod derive;
pub mod equations;
mod factor;
mod forces;
mod kinematics;
mod loops;
pub mod model;
pub mod numeric;
pub mod print;
pub mod program;
mod recombine;
pub mod ring;
pub mod simplify;
mod state;
pub mod system;
mod tree;
pub mod write;

pub use derive::{Closed, Options};
pub use equations::Equations;
pub use model::from_model;
pub use program::Program;
pub use numeric::Numeric;
pub use system::{DeriveError, System};
