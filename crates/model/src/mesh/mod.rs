//! Triangle meshes: reading, checking, mass properties.

mod collada;
mod mass;
mod read;
mod topology;

pub use mass::Moments;
pub use topology::Surface;

use crate::math::Vec3;

/// A triangle mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct TriMesh {
    /// Corners, m.
    pub vertices: Vec<Vec3>,
    /// Corner numbers of each triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// Why a mesh file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// Neither STL nor OBJ nor Collada.
    #[error("`{0}` files are not read; meshes are STL, OBJ or Collada (dae) files")]
    UnknownFormat(String),
    /// The file breaks off or is not what its name says.
    #[error("{0}")]
    Malformed(String),
    /// Too large.
    #[error("the mesh has more than {0} triangles")]
    TooManyTriangles(usize),
    /// No triangle at all.
    #[error("the mesh has no triangles")]
    Empty,
}

impl TriMesh {
    /// Smallest and largest coordinates.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        let mut low = Vec3::repeat(f64::INFINITY);
        let mut high = Vec3::repeat(f64::NEG_INFINITY);
        for v in &self.vertices {
            low = low.inf(v);
            high = high.sup(v);
        }
        (low, high)
    }

    /// The corners of a triangle.
    pub fn corners(&self, triangle: &[u32; 3]) -> [Vec3; 3] {
        triangle.map(|i| self.vertices[i as usize])
    }

    /// Multiplies coordinates by a factor along each axis; a mirror image keeps its outside out.
    pub fn scale(&mut self, factors: &Vec3) {
        for v in &mut self.vertices {
            v.component_mul_assign(factors);
        }
        if factors.product() < 0.0 {
            self.flip();
        }
    }

    /// Turns the surface inside out.
    pub fn flip(&mut self) {
        for triangle in &mut self.triangles {
            triangle.swap(1, 2);
        }
    }
}
