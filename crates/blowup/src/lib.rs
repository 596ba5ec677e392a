//! Singular positions.
mod error;
mod field;
pub mod groebner;
mod poly;
pub mod series;
pub mod solve;
mod system;
pub use error::Error;
pub use field::{Field, Gauss};
pub use poly::{Monomial, Poly};
pub use system::System;
