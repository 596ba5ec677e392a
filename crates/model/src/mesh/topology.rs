//! Is the surface closed, and which side is out?

use rustc_hash::FxHashMap;

use super::TriMesh;
use crate::math::Vec3;

/// What kind of surface a mesh is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Surface {
    /// Every edge joins two triangles that agree on the outside.
    Closed,
    /// Edges that belong to one triangle only.
    Open {
        /// How many.
        edges: usize,
        /// The middle of one of them, m.
        at: Vec3,
    },
    /// Edges whose triangles disagree on the outside, or that join more than two.
    Tangled {
        /// How many.
        edges: usize,
        /// The middle of one of them, m.
        at: Vec3,
    },
}

impl TriMesh {
    /// Makes corners that lie within `distance` of each other one, and drops triangles that lose a corner.
    ///
    /// Each corner joins the first kept corner in reach, so the result depends on the file alone.
    pub fn weld(&mut self, distance: f64) {
        let cell = |v: &Vec3| -> [i64; 3] {
            if distance > 0.0 {
                #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
                return [0, 1, 2].map(|i| (v[i] / distance).floor() as i64);
            }
            // Exactly equal; -0 counts as 0.
            [0, 1, 2].map(|i| (v[i] + 0.0).to_bits().cast_signed())
        };
        let reach = if distance > 0.0 { -1..=1 } else { 0..=0 };
        let mut cells: FxHashMap<[i64; 3], Vec<u32>> = FxHashMap::default();
        let mut kept: Vec<Vec3> = Vec::new();
        let mut new_index: Vec<u32> = Vec::with_capacity(self.vertices.len());
        for v in &self.vertices {
            let home = cell(v);
            let mut found: Option<u32> = None;
            for dx in reach.clone() {
                for dy in reach.clone() {
                    for dz in reach.clone() {
                        let near = [
                            home[0].wrapping_add(dx),
                            home[1].wrapping_add(dy),
                            home[2].wrapping_add(dz),
                        ];
                        for i in cells.get(&near).into_iter().flatten() {
                            let close = (kept[*i as usize] - v).norm() <= distance;
                            if close && found.is_none_or(|f| *i < f) {
                                found = Some(*i);
                            }
                        }
                    }
                }
            }
            new_index.push(found.unwrap_or_else(|| {
                // There were as many corners before, and their number fitted.
                let i = u32::try_from(kept.len()).unwrap_or(u32::MAX);
                kept.push(*v);
                cells.entry(home).or_default().push(i);
                i
            }));
        }
        self.vertices = kept;
        for triangle in &mut self.triangles {
            *triangle = triangle.map(|i| new_index[i as usize]);
        }
        self.triangles.retain(|[a, b, c]| a != b && b != c && c != a);
    }

    /// Whether the surface is closed.
    ///
    /// It is if each directed edge occurs once and its opposite once.
    pub fn surface(&self) -> Surface {
        let mut count: FxHashMap<[u32; 2], u32> = FxHashMap::default();
        for &[a, b, c] in &self.triangles {
            for edge in [[a, b], [b, c], [c, a]] {
                *count.entry(edge).or_default() += 1;
            }
        }
        let (mut open, mut tangled) = (0, 0);
        let (mut open_at, mut tangled_at) = ([0, 0], [0, 0]);
        for &[a, b, c] in &self.triangles {
            for edge in [[a, b], [b, c], [c, a]] {
                let same = count.get(&edge).copied().unwrap_or(0);
                let opposite = count.get(&[edge[1], edge[0]]).copied().unwrap_or(0);
                if same > 1 {
                    tangled += 1;
                    tangled_at = edge;
                } else if opposite == 0 {
                    open += 1;
                    open_at = edge;
                }
            }
        }
        let middle = |edge: [u32; 2]| {
            (self.vertices[edge[0] as usize] + self.vertices[edge[1] as usize]) / 2.0
        };
        if tangled > 0 {
            Surface::Tangled { edges: tangled, at: middle(tangled_at) }
        } else if open > 0 {
            Surface::Open { edges: open, at: middle(open_at) }
        } else {
            Surface::Closed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tetrahedron() -> TriMesh {
        TriMesh {
            vertices: vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
        }
    }

    #[test]
    fn closed_open_tangled() {
        let mut mesh = tetrahedron();
        assert_eq!(mesh.surface(), Surface::Closed);
        let last = mesh.triangles.pop().unwrap();
        assert!(matches!(mesh.surface(), Surface::Open { edges: 3, .. }));
        mesh.triangles.push([last[0], last[2], last[1]]);
        assert!(matches!(mesh.surface(), Surface::Tangled { .. }));
    }

    #[test]
    fn welding_joins_near_corners_across_cells() {
        let mut mesh = tetrahedron();
        // The last triangle gets its own corners, a little off to either side of a cell border.
        for v in [Vec3::x() * (1.0 + 1e-9), Vec3::y() * (1.0 - 1e-9), Vec3::new(-1e-9, 0.0, 1.0)] {
            mesh.vertices.push(v);
        }
        mesh.triangles[3] = [4, 5, 6];
        mesh.weld(0.0);
        assert!(matches!(mesh.surface(), Surface::Open { edges: 6, .. }));
        mesh.weld(1e-6);
        assert_eq!(mesh.surface(), Surface::Closed);
        assert_eq!(mesh, tetrahedron());
    }
}
