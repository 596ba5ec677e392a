//! The tables of the language.
//!
//! SI units and radians; degrees only where a key says so (`angle_deg`). World coordinates mean those of the part a
//! table stands in, at the start of the motion.

mod body;
mod choices;
mod circuit;
mod file;
mod force;
mod joint;
mod problem;

pub use body::*;
pub use choices::*;
pub use circuit::*;
pub use file::*;
pub use force::*;
pub use joint::*;
pub use problem::*;
