//! What the collision library does for us; no other module speaks to it.
//!
//! It proposes directions, hulls and trees of boxes. Every number that leaves this crate is computed from our own support
//! points: its distances to curved surfaces are off by up to 1e-5.

use gelenk_model::math::Vec3;
use gelenk_model::mesh::TriMesh;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::math::{Pose as Isometry, Vector};
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};
use parry3d_f64::query::epa::EPA;
use parry3d_f64::query::gjk::{CsoPoint, GJKResult, VoronoiSimplex, closest_points};
use parry3d_f64::shape::SupportMap;
use parry3d_f64::transformation::try_convex_hull;

/// A convex set given by its farthest points.
pub(crate) trait Support {
    /// A point of the set that is farthest in direction d (any length).
    fn support(&self, d: &Vec3) -> Vec3;
}

/// A convex set for the library.
struct Shown<'a, S: ?Sized>(&'a S);

impl<S: Support + ?Sized> SupportMap for Shown<'_, S> {
    fn local_support_point(&self, d: Vector) -> Vector {
        vector(&self.0.support(&vec3(d)))
    }
}

fn vector(v: &Vec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

fn vec3(v: Vector) -> Vec3 {
    Vec3::new(v.x, v.y, v.z)
}

/// How two convex sets lie to each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Separation {
    /// From b to a.
    pub(crate) normal: Vec3,
    /// min n·x over a − max n·x over b: never more than the distance, whatever the normal. Negative where they overlap.
    pub(crate) distance: f64,
    /// The farthest points of a against n and of b along n.
    pub(crate) points: [Vec3; 2],
}

/// The separation along a given normal.
pub(crate) fn along<A, B>(a: &A, b: &B, normal: Vec3) -> Separation
where
    A: Support + ?Sized,
    B: Support + ?Sized,
{
    let points = [a.support(&-normal), b.support(&normal)];
    Separation { normal, distance: normal.dot(&(points[0] - points[1])), points }
}

/// The separation along the best normal found, beginning with `hint`.
///
/// Apart, the normal is that of the closest points by GJK; overlapping, that of the least overlap by EPA. Sets that are farther apart than `enough` may
/// be farther still than is said.
pub(crate) fn separation<A, B>(a: &A, b: &B, hint: &Vec3, enough: f64) -> Separation
where
    A: Support + ?Sized,
    B: Support + ?Sized,
{
    let start = hint.try_normalize(0.0).unwrap_or_else(Vec3::z);
    let mut best = along(a, b, start);
    if !best.distance.is_finite() || best.distance > enough {
        return best;
    }
    let mut try_normal = |normal: Vec3| {
        if let Some(normal) = normal.try_normalize(1e-300) {
            let next = along(a, b, normal);
            if next.distance > best.distance {
                best = next;
            }
        }
    };
    let (shown_a, shown_b) = (Shown(a), Shown(b));
    let still = Isometry::IDENTITY;
    let mut simplex = VoronoiSimplex::new();
    simplex.reset(CsoPoint::from_shapes(&still, &shown_a, &shown_b, vector(&-start)));
    match closest_points(&still, &shown_a, &shown_b, enough, true, &mut simplex) {
        GJKResult::ClosestPoints(p, q, d) => {
            try_normal(-vec3(d));
            try_normal(vec3(p) - vec3(q));
        }
        GJKResult::Proximity(d) | GJKResult::NoIntersection(d) => try_normal(-vec3(d)),
        GJKResult::Intersection => {
            let mut epa = EPA::new();
            if let Some((p, q, d)) = epa.closest_points(&still, &shown_a, &shown_b, &simplex) {
                try_normal(-vec3(d));
                try_normal(vec3(q) - vec3(p));
            }
        }
    }
    best
}

/// A tree of boxes.
#[derive(Clone)]
pub(crate) struct Tree(Bvh);

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tree of {} boxes", self.0.leaf_count())
    }
}

impl Tree {
    /// A tree of boxes given by their lowest and highest corners.
    pub(crate) fn new(boxes: impl Iterator<Item = (Vec3, Vec3)>) -> Self {
        let leaves: Vec<Aabb> =
            boxes.map(|(low, high)| Aabb::new(vector(&low), vector(&high))).collect();
        Tree(Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves))
    }

    /// The numbers of the boxes that overlap a box, ascending.
    pub(crate) fn overlapping(&self, low: &Vec3, high: &Vec3, out: &mut Vec<u32>) {
        out.clear();
        let aabb = Aabb::new(vector(low), vector(high));
        out.extend(self.0.intersect_aabb(&aabb));
        out.sort_unstable();
    }
}

/// The convex hull of the corners of a mesh, as triangles; `None` if it has no volume.
pub(crate) fn hull(points: &[Vec3]) -> Option<TriMesh> {
    let points: Vec<Vector> = points.iter().map(vector).collect();
    if points.len() < 4 {
        return None;
    }
    let (vertices, triangles) = try_convex_hull(&points).ok()?;
    Some(TriMesh { vertices: vertices.into_iter().map(vec3).collect(), triangles })
}
