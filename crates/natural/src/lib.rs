//! Natural coordinates of a model, and what they tell of singular positions.
//!
//! A rigid body has 12 natural coordinates, its centre and the entries of R, a point mass 3 ([`layout`]). Joints are polynomials in them
//! ([`constraints`], [`polynomial`]). Bodies on common loops that have one degree of freedom move on a curve, whatever the forces are: it is followed ahead
//! ([`approach`]), and where its conditions lose rank it is blown up ([`blow`]) and has a tangent all the same ([`branch`]). The dae engine and the impulse
//! engine pass singular positions on it, each with its own equations of motion. Source: \[Laufen\] chapters I, III and IV.

pub mod approach;
pub mod beside;
pub mod blow;
pub mod branch;
pub mod constraints;
pub mod layout;
pub mod near;
pub mod polynomial;
mod tracks;

pub use beside::Beside;
pub use branch::{Branch, Lookout, NoMotion, Outlook, Slide};
pub use layout::Layout;
