//! Shapes: they give mass, inertia, looks and contact geometry.

use crate::math::{Quat, Vec3};

/// A shape on a body.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its geometry.
    pub geometry: Geometry,
    /// Its place in the body's file frame, m.
    pub position: Vec3,
    /// Its rotation in the body's file frame.
    pub rotation: Quat,
}

/// Geometry of a shape, centred at its own origin; axes along z.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Geometry {
    /// Box with full edge lengths, m.
    Box {
        /// Edge lengths along x, y, z.
        size: Vec3,
    },
    /// Ball, m.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// Cylinder along z, m.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Length along z.
        length: f64,
    },
}
