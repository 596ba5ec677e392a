//! Rigid bodies as point masses: a model of bodies and joints turned into an equivalent one of point masses, distances
//! and equations.
//!
//! \[Schmitt, Bender, Prautzsch 2005\], section 3, proves that this is always possible for point-to-point joints. The
//! motion is the same; simulating rigid bodies is faster. What it is for: checking one against the other, and studying
//! constraints in their plainest form.

mod convert;
mod forces;
mod frame;
mod masses;
mod write;

pub use convert::{BodyPoint, PointMass, PointModel, PointModelError, point_model, point_model_of};
pub use forces::PointForce;
pub use masses::{EquivalentMasses, MassPoint, equivalent_masses, six_masses};
