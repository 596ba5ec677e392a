//! Singular positions.
mod blow;
mod error;
mod field;
pub mod groebner;
mod poly;
pub mod series;
pub mod solve;
mod system;
pub use blow::{Judge, Method, Resolution, Round, blow_up};
pub use error::Error;
pub use field::{Field, Gauss};
pub use poly::{Monomial, Poly};
pub use system::System;
