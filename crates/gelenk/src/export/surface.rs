//! Shapes as triangles, for pictures and scenes.

use gelenk_model::math::Vec3;
use gelenk_model::shape::Geometry;

/// A surface of triangles with a normal at every corner, in the frame of its shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triangles {
    /// Corners, m.
    pub corners: Vec<Vec3>,
    /// Unit normals, one a corner.
    pub normals: Vec<Vec3>,
    /// Three corners a triangle, counter-clockwise seen from outside.
    pub indices: Vec<[u32; 3]>,
}

/// Pieces around a round shape.
const AROUND: u32 = 32;
/// Pieces from the equator of a ball to its pole.
const TO_POLE: u32 = 8;
/// Normals of a mesh are smoothed between triangles that meet at less than this angle: its cosine.
const SMOOTH: f64 = 0.8;

impl Triangles {
    /// The surface of a geometry; a plane or a height field is a sheet seen from above.
    pub fn of(geometry: &Geometry) -> Self {
        match geometry {
            Geometry::Box { size } => cuboid(&(size / 2.0)),
            Geometry::Sphere { radius } => turned(&arc(*radius, 0.0, -1.0, 1.0)),
            Geometry::Cylinder { radius, length } => {
                let (r, h) = (*radius, length / 2.0);
                let mut all = turned(&[(r, -h, 1.0, 0.0), (r, h, 1.0, 0.0)]);
                all.add(&turned(&[(0.0, -h, 0.0, -1.0), (r, -h, 0.0, -1.0)]));
                all.add(&turned(&[(r, h, 0.0, 1.0), (0.0, h, 0.0, 1.0)]));
                all
            }
            Geometry::Capsule { radius, length } => {
                let mut outline = arc(*radius, -length / 2.0, -1.0, 0.0);
                outline.extend(arc(*radius, length / 2.0, 0.0, 1.0));
                turned(&outline)
            }
            Geometry::Rod { radius, length } => {
                Self::of(&Geometry::Cylinder { radius: *radius, length: *length })
            }
            Geometry::Cone { radius, length } => {
                let (r, h) = (*radius, length / 2.0);
                let slant = r.hypot(*length);
                let (across, along) = (length / slant, r / slant);
                let mut all = turned(&[(r, -h, across, along), (0.0, h, across, along)]);
                all.add(&turned(&[(0.0, -h, 0.0, -1.0), (r, -h, 0.0, -1.0)]));
                all
            }
            Geometry::Plane { size } => {
                let (x, y) = (size[0] / 2.0, size[1] / 2.0);
                let corners = [[-x, -y], [x, -y], [x, y], [-x, y]];
                Triangles {
                    corners: corners.map(|[x, y]| Vec3::new(x, y, 0.0)).to_vec(),
                    normals: vec![Vec3::z(); 4],
                    indices: vec![[0, 1, 2], [0, 2, 3]],
                }
            }
            Geometry::Heightfield { size, n_x, heights } => field(*size, *n_x, heights),
            Geometry::Mesh { mesh, .. } => {
                let triangles = mesh.triangles.iter().map(|triangle| mesh.corners(triangle));
                smooth(&triangles.collect::<Vec<_>>(), mesh)
            }
            _ => Triangles::default(),
        }
    }

    /// Adds another surface.
    fn add(&mut self, other: &Triangles) {
        let first = self.next();
        self.corners.extend(&other.corners);
        self.normals.extend(&other.normals);
        self.indices.extend(other.indices.iter().map(|triangle| triangle.map(|i| i + first)));
    }

    fn next(&self) -> u32 {
        u32::try_from(self.corners.len()).unwrap_or(u32::MAX)
    }
}

fn cuboid(half: &Vec3) -> Triangles {
    let mut all = Triangles::default();
    for axis in 0..3 {
        for sign in [-1.0, 1.0] {
            let normal = Vec3::ith(axis, sign);
            let u = Vec3::ith((axis + 1) % 3, 1.0);
            let w = normal.cross(&u);
            let first = all.next();
            for (a, b) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                all.corners.push((normal + u * a + w * b).component_mul(half));
                all.normals.push(normal);
            }
            all.indices.push([first, first + 1, first + 2]);
            all.indices.push([first, first + 2, first + 3]);
        }
    }
    all
}

/// Part of a half circle about a point of the z axis, from one height (−1 to 1) to another: radius, z, and the normal's two parts.
fn arc(radius: f64, z: f64, from: f64, to: f64) -> Vec<(f64, f64, f64, f64)> {
    use std::f64::consts::FRAC_PI_2;
    let n = if to - from > 1.5 { 2 * TO_POLE } else { TO_POLE };
    (0..=n)
        .map(|i| {
            let angle = FRAC_PI_2 * (from + (to - from) * f64::from(i) / f64::from(n));
            let (s, c) = angle.sin_cos();
            // Exactly on the axis at the poles.
            let c = if c < 1e-12 { 0.0 } else { c };
            (radius * c, z + radius * s, c, s)
        })
        .collect()
}

/// An outline (radius, z, normal across, normal along), from below, turned about z.
fn turned(outline: &[(f64, f64, f64, f64)]) -> Triangles {
    let mut all = Triangles::default();
    for &(r, z, across, along) in outline {
        for k in 0..=AROUND {
            let angle = std::f64::consts::TAU * f64::from(k % AROUND) / f64::from(AROUND);
            let (s, c) = angle.sin_cos();
            all.corners.push(Vec3::new(r * c, r * s, z));
            all.normals.push(Vec3::new(across * c, across * s, along).normalize());
        }
    }
    let ring = AROUND + 1;
    let rings = u32::try_from(outline.len()).unwrap_or(1);
    for i in 0..rings.saturating_sub(1) {
        let (low, high) = (outline[i as usize].0, outline[i as usize + 1].0);
        for k in 0..AROUND {
            let [a, b] = [i * ring + k, i * ring + k + 1];
            let [c, d] = [b + ring, a + ring];
            if low > 0.0 {
                all.indices.push([a, b, c]);
            }
            if high > 0.0 {
                all.indices.push([a, c, d]);
            }
        }
    }
    all
}

fn field(size: [f64; 2], n_x: usize, heights: &[f64]) -> Triangles {
    let n_y = heights.len().checked_div(n_x).unwrap_or(0);
    if n_x < 2 || n_y < 2 {
        return Triangles::default();
    }
    let place = |i: usize, n: usize, size: f64| (i as f64 / (n - 1) as f64 - 0.5) * size;
    let at = |i: usize, j: usize| {
        Vec3::new(place(i, n_x, size[0]), place(j, n_y, size[1]), heights[j * n_x + i])
    };
    let mut all = Triangles::default();
    for j in 0..n_y {
        for i in 0..n_x {
            let x = at((i + 1).min(n_x - 1), j) - at(i.saturating_sub(1), j);
            let y = at(i, (j + 1).min(n_y - 1)) - at(i, j.saturating_sub(1));
            all.corners.push(at(i, j));
            all.normals.push(x.cross(&y).try_normalize(0.0).unwrap_or_else(Vec3::z));
        }
    }
    let index = |i: usize, j: usize| u32::try_from(j * n_x + i).unwrap_or(0);
    for j in 0..n_y - 1 {
        for i in 0..n_x - 1 {
            let [a, b, c, d] = [index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1)];
            all.indices.extend([[a, b, c], [a, c, d]]);
        }
    }
    all
}

/// A mesh with normals smoothed where its triangles meet at a small angle.
fn smooth(triangles: &[[Vec3; 3]], mesh: &gelenk_model::mesh::TriMesh) -> Triangles {
    let normal = |[a, b, c]: &[Vec3; 3]| (b - a).cross(&(c - a));
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); mesh.vertices.len()];
    for (i, triangle) in (0u32..).zip(&mesh.triangles) {
        triangle.iter().for_each(|corner| around[*corner as usize].push(i));
    }
    let weighted: Vec<Vec3> = triangles.iter().map(normal).collect();
    let unit: Vec<Vec3> =
        weighted.iter().map(|n| n.try_normalize(0.0).unwrap_or_else(Vec3::z)).collect();
    let mut all = Triangles::default();
    for (i, corners) in triangles.iter().enumerate() {
        let first = all.next();
        for (k, corner) in corners.iter().enumerate() {
            let near = around[mesh.triangles[i][k] as usize].iter().map(|other| *other as usize);
            let sum: Vec3 = near
                .filter(|other| unit[*other].dot(&unit[i]) > SMOOTH)
                .map(|other| weighted[other])
                .sum();
            all.corners.push(*corner);
            all.normals.push(sum.try_normalize(0.0).unwrap_or(unit[i]));
        }
        all.indices.push([first, first + 1, first + 2]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Volume inside a closed surface: Σ a·(b×c)/6.
    fn volume(triangles: &Triangles) -> f64 {
        let corner = |i: u32| triangles.corners[i as usize];
        triangles
            .indices
            .iter()
            .map(|[a, b, c]| corner(*a).dot(&corner(*b).cross(&corner(*c))) / 6.0)
            .sum()
    }

    #[test]
    fn surfaces_are_closed_and_face_outwards() {
        use std::f64::consts::PI;
        let size = Vec3::new(1.0, 2.0, 3.0);
        let shapes = [
            (Geometry::Box { size }, 6.0, 1e-12),
            (Geometry::Sphere { radius: 0.5 }, PI / 6.0, 0.03),
            (Geometry::Cylinder { radius: 0.5, length: 2.0 }, PI / 2.0, 0.01),
            (Geometry::Capsule { radius: 0.5, length: 1.0 }, PI / 4.0 + PI / 6.0, 0.03),
            (Geometry::Cone { radius: 0.5, length: 3.0 }, PI / 4.0, 0.01),
        ];
        for (geometry, expected, part) in shapes {
            let surface = Triangles::of(&geometry);
            let found = volume(&surface);
            assert!((found / expected - 1.0).abs() <= part, "{geometry:?}: {found} {expected}");
            assert!(surface.normals.iter().all(|n| (n.norm() - 1.0).abs() < 1e-12));
            for triangle in &surface.indices {
                let [a, b, c] = triangle.map(|i| surface.corners[i as usize]);
                let face = (b - a).cross(&(c - a));
                assert!(face.norm() > 0.0, "{geometry:?}: a triangle without area");
                for i in triangle {
                    assert!(face.dot(&surface.normals[*i as usize]) > 0.0, "{geometry:?}");
                }
            }
        }
    }
}
