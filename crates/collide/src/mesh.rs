//! Meshes: convex hulls of moving bodies, surfaces of fixed ones.

use gelenk_model::math::Vec3;
use gelenk_model::mesh::TriMesh;
use rustc_hash::FxHashMap;

use crate::convex::{self, Tree};
use crate::solid::{Edge, Face, Kind, Side, Solid, ball_around, index};

/// Triangles are one face where their normals differ by less, rad.
const SAME_PLANE: f64 = 1e-7;
/// Edges of a surface are sharp where it bends outward by more, rad: a ball rolls over the others unhindered.
const SHARP: f64 = 1e-5;

/// What a surface has beside its features.
#[derive(Clone, Debug)]
pub(crate) struct Surface {
    /// A box around each triangle.
    pub(crate) tree: Tree,
    /// Corners of each triangle in the body's frame; triangle i is face i.
    pub(crate) triangles: Vec<[Vec3; 3]>,
    /// Sharp edges of each triangle in [`Solid::edges`], or `NONE`.
    pub(crate) edges: Vec<[u32; 3]>,
    /// Corners of each triangle that lie on sharp edges, in [`Solid::corners`], or `NONE`.
    pub(crate) corners: Vec<[u32; 3]>,
}

/// Marks an edge or corner that cannot be touched.
pub(crate) const NONE: u32 = u32::MAX;

/// The convex hull of points: coplanar triangles become one face. `None` if they enclose no volume.
pub(crate) fn hull(points: &[Vec3]) -> Option<Solid> {
    let mesh = convex::hull(points)?;
    let size = mesh.bounds().1 - mesh.bounds().0;
    let (triangles, normals) = with_area(&mesh, size.norm());
    if triangles.len() < 4 || size.min() <= 0.0 {
        return None;
    }
    let edges = half_edges(&triangles);
    // Triangles of one plane, by flooding over their edges.
    let mut plane = vec![NONE; triangles.len()];
    let mut loops: Vec<Vec<u32>> = Vec::new();
    let mut faces: Vec<Vec3> = Vec::new();
    for first in 0..triangles.len() {
        if plane[first] != NONE {
            continue;
        }
        let number = index(faces.len());
        let mut group = vec![first];
        plane[first] = number;
        let mut sum = Vec3::zeros();
        let mut next = 0;
        while next < group.len() {
            let t = group[next];
            next += 1;
            let [a, b, c] = mesh.corners(&triangles[t]);
            sum += (b - a).cross(&(c - a));
            for (i, j) in sides(&triangles[t]) {
                if let Some(&other) = edges.get(&(j, i))
                    && plane[other] == NONE
                    && normals[other].cross(&normals[first]).norm() < SAME_PLANE
                    && normals[other].dot(&normals[first]) > 0.0
                {
                    plane[other] = number;
                    group.push(other);
                }
            }
        }
        // The outline: sides whose other triangle is not in the group, each followed by the one that starts where it ends.
        let mut follow: FxHashMap<u32, u32> = FxHashMap::default();
        for &t in &group {
            for (i, j) in sides(&triangles[t]) {
                if edges.get(&(j, i)).is_none_or(|&other| plane[other] != number) {
                    follow.insert(i, j);
                }
            }
        }
        let start = *follow.keys().min()?;
        let mut outline = vec![start];
        let mut at = *follow.get(&start)?;
        while at != start && outline.len() <= follow.len() {
            outline.push(at);
            at = *follow.get(&at)?;
        }
        loops.push(outline);
        faces.push(sum.normalize());
    }
    // Corners inside a face are none.
    let mut used: Vec<u32> = loops.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    for corner in loops.iter_mut().flatten() {
        *corner = index(used.partition_point(|u| u < corner));
    }
    let corners: Vec<Vec3> = used.iter().map(|&i| mesh.vertices[i as usize]).collect();
    Some(Solid::polytope(&corners, &loops, &faces))
}

/// The surface of a fixed body.
pub(crate) fn surface(mesh: &TriMesh) -> Option<Solid> {
    let (low, high) = mesh.bounds();
    let size = (high - low).norm();
    let (triangles, normals) = with_area(mesh, size);
    if triangles.is_empty() {
        return None;
    }
    let halves = half_edges(&triangles);
    let mut solid = Solid::empty(Kind::Surface);
    let mut surface = Surface {
        tree: Tree::new(triangles.iter().map(|t| {
            let [a, b, c] = mesh.corners(t);
            (a.inf(&b).inf(&c), a.sup(&b).sup(&c))
        })),
        triangles: triangles.iter().map(|t| mesh.corners(t)).collect(),
        edges: vec![[NONE; 3]; triangles.len()],
        corners: vec![[NONE; 3]; triangles.len()],
    };
    let mut sharp = vec![false; mesh.vertices.len()];
    for (t, triangle) in triangles.iter().enumerate() {
        let n = normals[t];
        let p = mesh.vertices[triangle[0] as usize];
        let first = index(solid.sides.len());
        for (k, (i, j)) in sides(triangle).into_iter().enumerate() {
            let (x, y) = (mesh.vertices[i as usize], mesh.vertices[j as usize]);
            let inward = n.cross(&(y - x)).normalize();
            solid.sides.push(Side { s: inward, c: inward.dot(&x) });
            let other = halves.get(&(j, i)).copied();
            let into = match other {
                // The second triangle of an edge finds it made.
                Some(o) if o < t => {
                    let l = sides(&triangles[o]).into_iter().position(|side| side == (j, i));
                    surface.edges[t][k] = l.map_or(NONE, |l| surface.edges[o][l]);
                    continue;
                }
                Some(o) => normals[o].cross(&(x - y)).normalize(),
                None => Vec3::zeros(),
            };
            // Outward bend: the neighbour falls away below this triangle's plane.
            if other.is_some() && n.dot(&into) > -SHARP {
                continue;
            }
            surface.edges[t][k] = index(solid.edges.len());
            let length = (y - x).norm();
            let e = (y - x) / length;
            solid.edges.push(Edge { p: x, e, length, round: 0.0, into: [inward, into] });
            sharp[i as usize] = true;
            sharp[j as usize] = true;
        }
        let sides = [first, index(solid.sides.len())];
        let ball = ball_around(surface.triangles[t].iter().copied());
        solid.faces.push(Face { p, n, sides, radius: f64::INFINITY, ball });
    }
    // Corners where sharp edges end, with the directions of all edges that leave them.
    let mut leaving: Vec<(u32, u32)> = triangles
        .iter()
        .flat_map(|t| sides(t).into_iter().flat_map(|(i, j)| [(i, j), (j, i)]))
        .filter(|(i, _)| sharp[*i as usize])
        .collect();
    leaving.sort_unstable();
    leaving.dedup();
    let mut number = vec![NONE; mesh.vertices.len()];
    for group in leaving.chunk_by(|x, y| x.0 == y.0) {
        let i = group[0].0 as usize;
        let p = mesh.vertices[i];
        let rays: Vec<Vec3> =
            group.iter().map(|(_, j)| (mesh.vertices[*j as usize] - p).normalize()).collect();
        number[i] = index(solid.corners.len());
        solid.corner(p, 0.0, &rays);
    }
    for (corners, triangle) in surface.corners.iter_mut().zip(&triangles) {
        *corners = triangle.map(|i| number[i as usize]);
    }
    solid.surface = Some(Box::new(surface));
    let middle = (low + high) / 2.0;
    let mut solid = solid.bounded(middle, size / 2.0);
    solid.half = gelenk_model::math::Mat3::from_diagonal(&((high - low) / 2.0));
    Some(solid)
}

/// A height field as a mesh: two triangles a cell, in its own frame.
pub(crate) fn heights(size: [f64; 2], n_x: usize, heights: &[f64]) -> Option<TriMesh> {
    let n_y = heights.len().checked_div(n_x)?;
    if n_x < 2 || n_y < 2 || n_x * n_y != heights.len() {
        return None;
    }
    let place = |i: usize, n: usize, size: f64| size * (i as f64 / (n - 1) as f64 - 0.5);
    let vertices = (0..heights.len())
        .map(|k| {
            let (i, j) = (k % n_x, k / n_x);
            Vec3::new(place(i, n_x, size[0]), place(j, n_y, size[1]), heights[k])
        })
        .collect();
    let mut triangles = Vec::with_capacity(2 * (n_x - 1) * (n_y - 1));
    for j in 0..n_y - 1 {
        for i in 0..n_x - 1 {
            let [a, b] = [index(j * n_x + i), index((j + 1) * n_x + i)];
            triangles.push([a, a + 1, b]);
            triangles.push([a + 1, b + 1, b]);
        }
    }
    Some(TriMesh { vertices, triangles })
}

/// The triangles that have an area, and their normals.
fn with_area(mesh: &TriMesh, size: f64) -> (Vec<[u32; 3]>, Vec<Vec3>) {
    let mut normals = Vec::with_capacity(mesh.triangles.len());
    let mut triangles = Vec::with_capacity(mesh.triangles.len());
    for triangle in &mesh.triangles {
        let [a, b, c] = mesh.corners(triangle);
        let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
        if let Some(n) = (b - a).cross(&(c - a)).try_normalize(1e-12 * size * longest) {
            triangles.push(*triangle);
            normals.push(n);
        }
    }
    (triangles, normals)
}

fn sides(triangle: &[u32; 3]) -> [(u32, u32); 3] {
    let [a, b, c] = *triangle;
    [(a, b), (b, c), (c, a)]
}

/// The triangle to the left of each directed side.
fn half_edges(triangles: &[[u32; 3]]) -> FxHashMap<(u32, u32), usize> {
    let mut edges = FxHashMap::default();
    for (t, triangle) in triangles.iter().enumerate() {
        for side in sides(triangle) {
            edges.entry(side).or_insert(t);
        }
    }
    edges
}
