//! Collision geometry for Gelenk: which features of rigid bodies can touch, and the exact gap between them.
//!
//! [`World::touches`] lists *touches*: pairs of body-fixed features (point, line, plane, circle, cone) that can come
//! together within a step. [`Touch::place`] gives normal, closest points and signed gap of such a pair at any poses in
//! closed form, exact to rounding, so that a solver can follow it through a step without asking again. Balls and
//! capsules are points and lines with a radius. No dynamics here.

mod broad;
mod build;
mod convex;
mod crossing;
mod curve;
mod deep;
mod error;
mod fast;
mod features;
mod filter;
mod mesh;
mod narrow;
mod nearby;
mod solid;
mod touch;
mod world;

pub use error::CollideError;
pub use touch::{Feature, Place, Touch, TouchKey};
pub use world::{Collider, Pair, World};
