//! Shapes: they give mass, inertia, looks and contact geometry.

use std::sync::Arc;

use crate::contact::MaterialId;
use crate::math::{Quat, Vec3};
use crate::mesh::TriMesh;

/// A shape on a body.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its geometry.
    pub geometry: Geometry,
    /// Its place in the body's file frame, m.
    pub position: Vec3,
    /// Its rotation in the body's file frame.
    pub rotation: Quat,
    /// false: for looks only.
    pub physical: bool,
    /// Its own material, or the body's.
    pub material: Option<MaterialId>,
    /// Its own colour, red, green, blue from 0 to 1.
    pub color: Option<[f64; 3]>,
}

impl Shape {
    /// A shape at the body's origin.
    pub fn new(geometry: Geometry) -> Self {
        Shape {
            geometry,
            position: Vec3::zeros(),
            rotation: Quat::identity(),
            physical: true,
            material: None,
            color: None,
        }
    }
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
    /// Cylinder along z with half balls at its ends, m.
    Capsule {
        /// Radius.
        radius: f64,
        /// Length of the cylinder, without the half balls.
        length: f64,
    },
    /// Cone along z, base at −length/2, tip at +length/2, m.
    Cone {
        /// Radius of the base.
        radius: f64,
        /// Height.
        length: f64,
    },
    /// Thin rod along z, m.
    Rod {
        /// Length.
        length: f64,
        /// Radius, for looks.
        radius: f64,
    },
    /// The half space z ≤ 0.
    Plane {
        /// Edge lengths of the drawn piece, m.
        size: [f64; 2],
    },
    /// Heights over a grid in x and y, m.
    Heightfield {
        /// Edge lengths along x and y.
        size: [f64; 2],
        /// Points along x.
        n_x: usize,
        /// Heights row by row, n_x a row; the first row has the smallest y.
        heights: Arc<[f64]>,
    },
    /// Triangle mesh.
    Mesh {
        /// The mesh, scaled, m.
        mesh: Arc<TriMesh>,
        /// Name of its file.
        file: String,
    },
}
