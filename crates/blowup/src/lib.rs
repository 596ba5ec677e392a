//! Singular positions of polynomial constraints g(x) = 0: found, blown up, crossed.
//!
//! A position is singular where G = ∂g/∂x loses rank: there the equations of motion
//! ```text
//! [ M  Gᵀ ] [ v̇ ]   [ F ]
//! [ G  0  ] [ μ ] = [ γ ]
//! ```
//! have no unique solution, though a mechanism often passes without noticing. \[Laufen\] chapters III and IV blow such
//! positions up: new variables are put in and powers of one of them divided out, until the rank is full.
//!
//! - [`analyse`] says all at once: redundant equations, singular positions, branches, blow-ups, whether a motion passes.
//! - [`blow_up`] follows a curve through a position (theorems 1 to 3), [`branches()`] finds the curves.
//! - [`redundancy`] finds equations that follow from others.
//! - [`run`] moves point masses through singular positions.
//!
//! ```
//! use gelenk_blowup::{System, analyse};
//! use gelenk_expr::Rational;
//! // The degenerate crank drive: two unit rods, the end of the second on the x axis, both upright.
//! let crank = System::parse(
//!     &["x1", "y1", "x2", "y2"],
//!     &["x1^2 + y1^2 = 1", "(x1 - x2)^2 + (y1 - y2)^2 = 1", "y2 = 0"],
//! )?;
//! let masses = vec![Rational::ONE; 4];
//! let found = analyse(&crank, Some(&masses), &[0.0, 1.0, 0.0, 0.0], 1_000_000)?;
//! let branches = &found.positions[0].branches.found;
//! assert_eq!(branches.len(), 2); // x2 = 0, or x2 = 2 x1
//! assert!(found.positions[0].resolved.iter().all(|branch| branch.smooth == Some(true)));
//! # Ok::<(), gelenk_blowup::Error>(())
//! ```
//!
//! Exact rational arithmetic wherever the numbers are exact; a Gröbner basis may grow without measure, so every search has a
//! bound on its work and says when it was met. Same input, same bits.

mod analysis;
mod blow;
mod branches;
mod crossing;
mod error;
mod field;
pub mod groebner;
mod inertia;
mod mechanics;
mod place;
mod poly;
mod redundant;
pub mod series;
pub mod solve;
mod system;

pub use analysis::{Analysis, Position, ResolvedBranch, analyse, place_text};
pub use blow::{Judge, Method, Polish, Resolution, Round, blow_up};
pub use branches::{Branch, Branches, branches};
pub use crossing::{CrossOptions, CrossRun, Crossing, Observe, run};
pub use error::Error;
pub use field::{Field, Gauss};
pub use inertia::{admits_smooth_motion, whole_matrix};
pub use mechanics::Mechanism;
pub use place::{Place, singular_place};
pub use poly::{Monomial, Poly};
pub use redundant::{Redundancy, Squares, redundancy, redundant};
pub use system::System;
