//! Volume, centre and inertia of a closed mesh.

use super::TriMesh;
use crate::math::{Mat3, Vec3};

/// Volume integrals of a solid of density 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Volume V, m³; negative if the surface is inside out.
    pub volume: f64,
    /// Centre of the volume, m.
    pub center: Vec3,
    /// Inertia tensor about the centre for density 1, m⁵.
    pub inertia: Mat3,
}

impl TriMesh {
    /// Volume, centre and inertia, as the sum over the tetrahedra between a point o and the triangles (a, b, c):
    ///
    /// ```text
    /// V   = Σ v,  v = (a−o)·((b−o)×(c−o))/6
    /// x̄   = o + Σ v (a'+b'+c')/4 / V
    /// ∫ x'xᵀ' = Σ v/20 (Σ_k p_k p_kᵀ + (Σp)(Σp)ᵀ),  p = a', b', c'
    /// Θ   = tr(P) E − P with P = ∫x'xᵀ' − V x̄'x̄'ᵀ
    /// ```
    /// o is the middle of the bounding box, so that a mesh far from the origin loses no digits.
    pub fn moments(&self) -> Moments {
        let (low, high) = self.bounds();
        let o = (low + high) / 2.0;
        let mut volume = 0.0;
        let mut first = Vec3::zeros();
        let mut second = Mat3::zeros();
        for triangle in &self.triangles {
            let [a, b, c] = self.corners(triangle).map(|p| p - o);
            let v = a.dot(&b.cross(&c)) / 6.0;
            let sum = a + b + c;
            volume += v;
            first += sum * (v / 4.0);
            let squares = a * a.transpose() + b * b.transpose() + c * c.transpose();
            second += (squares + sum * sum.transpose()) * (v / 20.0);
        }
        let center = first / volume;
        let central = second - center * center.transpose() * volume;
        let inertia = Mat3::identity() * central.trace() - central;
        Moments { volume, center: o + center, inertia }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuboid(size: Vec3, at: Vec3) -> TriMesh {
        let mut vertices = Vec::new();
        for i in 0..8u32 {
            let sign = |bit: u32| if i >> bit & 1 == 1 { 0.5 } else { -0.5 };
            vertices.push(at + Vec3::new(sign(0) * size.x, sign(1) * size.y, sign(2) * size.z));
        }
        let quads =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles =
            quads.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
        TriMesh { vertices, triangles }
    }

    #[test]
    fn box_far_from_the_origin() {
        let (size, at) = (Vec3::new(1.0, 2.0, 3.0), Vec3::new(1000.0, -2000.0, 500.0));
        let mesh = cuboid(size, at);
        assert_eq!(mesh.surface(), crate::mesh::Surface::Closed);
        let moments = mesh.moments();
        assert!((moments.volume - 6.0).abs() < 1e-12);
        assert!((moments.center - at).norm() < 1e-12);
        let expected = Vec3::new(4.0 + 9.0, 1.0 + 9.0, 1.0 + 4.0) * 6.0 / 12.0;
        assert!((moments.inertia - Mat3::from_diagonal(&expected)).norm() < 1e-11);
    }

    #[test]
    fn mirror_image_keeps_its_outside_out() {
        let mut mesh = cuboid(Vec3::repeat(1.0), Vec3::zeros());
        mesh.scale(&Vec3::new(-2.0, 1.0, 1.0));
        assert!((mesh.moments().volume - 2.0).abs() < 1e-14);
        mesh.flip();
        assert!((mesh.moments().volume + 2.0).abs() < 1e-14);
    }

    /// Tetrahedron with corner at the origin: V = 1/6, centre 1/4, Θ_xx about the corner 1/30, Θ_xy = −1/120.
    #[test]
    fn tetrahedron() {
        let mesh = TriMesh {
            vertices: vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
        };
        let moments = mesh.moments();
        assert!((moments.volume - 1.0 / 6.0).abs() < 1e-16);
        assert!((moments.center - Vec3::repeat(0.25)).norm() < 1e-15);
        let about_corner = 1.0 / 30.0 - moments.volume * 2.0 / 16.0;
        let product = -(1.0 / 120.0 - moments.volume / 16.0);
        assert!((moments.inertia[(0, 0)] - about_corner).abs() < 1e-16);
        assert!((moments.inertia[(0, 1)] - product).abs() < 1e-16);
    }
}
