//! Singular positions.
mod error;
mod field;
mod poly;
mod system;
pub use error::Error;
pub use field::{Field, Gauss};
pub use poly::{Monomial, Poly};
pub use system::System;
