//! Distances by an independent way: exact projections onto each shape, taken in turn.

use gelenk_model::math::Vec3;
use gelenk_model::shape::Geometry;
use gelenk_model::state::Pose;

/// The point of a solid nearest to p, in its own frame.
fn project(shape: &Geometry, p: &Vec3) -> Vec3 {
    match shape {
        Geometry::Sphere { radius } => p * (radius / p.norm()).min(1.0),
        Geometry::Box { size } => p.zip_map(size, |x, s| x.clamp(-s / 2.0, s / 2.0)),
        Geometry::Capsule { radius, length } | Geometry::Rod { radius, length } => {
            let foot = Vec3::new(0.0, 0.0, p.z.clamp(-length / 2.0, length / 2.0));
            let d = p - foot;
            foot + d * (radius / d.norm()).min(1.0)
        }
        Geometry::Cylinder { radius, length } => {
            let rho = p.xy().norm();
            let k = (radius / rho).min(1.0);
            Vec3::new(p.x * k, p.y * k, p.z.clamp(-length / 2.0, length / 2.0))
        }
        Geometry::Cone { radius, length } => {
            // In the half plane of the axis and p: a triangle.
            let rho = p.xy().norm();
            let corners = [[0.0, -length / 2.0], [*radius, -length / 2.0], [0.0, length / 2.0]];
            let inside = p.z >= -length / 2.0 && rho <= radius * (0.5 - p.z / length);
            if inside {
                return *p;
            }
            let mut best = (f64::INFINITY, [0.0; 2]);
            for (a, b) in [(corners[0], corners[1]), (corners[1], corners[2])] {
                let (dx, dz) = (b[0] - a[0], b[1] - a[1]);
                let t = ((rho - a[0]) * dx + (p.z - a[1]) * dz) / (dx * dx + dz * dz);
                let t = t.clamp(0.0, 1.0);
                let q = [a[0] + dx * t, a[1] + dz * t];
                let d = (rho - q[0]).hypot(p.z - q[1]);
                if d < best.0 {
                    best = (d, q);
                }
            }
            let k = if rho > 0.0 { best.1[0] / rho } else { 0.0 };
            Vec3::new(p.x * k, p.y * k, best.1[1])
        }
        Geometry::Mesh { mesh, .. } => {
            // The hull's surface is among the triangles of all corners.
            let v = &mesh.vertices;
            let mut best = v[0];
            for i in 0..v.len() {
                for j in 0..i {
                    for k in 0..j {
                        let q = on_triangle(p, &v[i], &v[j], &v[k]);
                        if (p - q).norm_squared() < (p - best).norm_squared() {
                            best = q;
                        }
                    }
                }
            }
            best
        }
        _ => unreachable!("no convex solid"),
    }
}

fn on_segment(p: &Vec3, a: &Vec3, b: &Vec3) -> Vec3 {
    let d = b - a;
    a + d * ((p - a).dot(&d) / d.norm_squared()).clamp(0.0, 1.0)
}

/// The point of a triangle nearest to p.
pub fn on_triangle(p: &Vec3, a: &Vec3, b: &Vec3, c: &Vec3) -> Vec3 {
    let n = (b - a).cross(&(c - a));
    let foot = p - n * (n.dot(&(p - a)) / n.norm_squared());
    let inside =
        [(a, b), (b, c), (c, a)].iter().all(|(x, y)| n.dot(&(*y - *x).cross(&(foot - *x))) >= 0.0);
    if inside {
        return foot;
    }
    [(a, b), (b, c), (c, a)]
        .into_iter()
        .map(|(x, y)| on_segment(p, x, y))
        .min_by(|x, y| (x - p).norm().total_cmp(&(y - p).norm()))
        .unwrap()
}

fn nearest(shape: &Geometry, at: &Pose, p: &Vec3) -> Vec3 {
    at.point(&project(shape, &at.rot.tr_mul(&(p - at.s))))
}

/// Closest points of two solids that are apart, by projecting to and fro.
pub fn closest(a: (&Geometry, &Pose), b: (&Geometry, &Pose), rounds: usize) -> [Vec3; 2] {
    let mut p = nearest(a.0, a.1, &b.1.s);
    let mut q = nearest(b.0, b.1, &p);
    for _ in 0..rounds {
        let before = p;
        p = nearest(a.0, a.1, &q);
        q = nearest(b.0, b.1, &p);
        if (p - before).norm() < 1e-15 {
            break;
        }
    }
    [p, q]
}

/// Whether two solids are farther apart than `gap`, proved by a plane between them; `None` if neither that nor the
/// opposite shows.
pub fn apart(a: (&Geometry, &Pose), b: (&Geometry, &Pose), gap: f64) -> Option<bool> {
    let mut q = b.1.s;
    for _ in 0..300 {
        let p = nearest(a.0, a.1, &q);
        q = nearest(b.0, b.1, &p);
        let d = p - q;
        if d.norm() <= gap {
            return Some(false);
        }
        if separation(a, b, &d.normalize()) > gap {
            return Some(true);
        }
    }
    None
}

/// The farthest extent of a solid in direction d, unit.
fn extent(shape: &Geometry, d: &Vec3) -> f64 {
    let across = d.xy().norm();
    match shape {
        Geometry::Sphere { radius } => *radius,
        Geometry::Box { size } => size.dot(&d.abs()) / 2.0,
        Geometry::Capsule { radius, length } | Geometry::Rod { radius, length } => {
            radius + length / 2.0 * d.z.abs()
        }
        Geometry::Cylinder { radius, length } => radius * across + length / 2.0 * d.z.abs(),
        Geometry::Cone { radius, length } => {
            (radius * across - length / 2.0 * d.z).max(length / 2.0 * d.z)
        }
        Geometry::Mesh { mesh, .. } => {
            mesh.vertices.iter().map(|v| v.dot(d)).fold(f64::NEG_INFINITY, f64::max)
        }
        _ => unreachable!("no convex solid"),
    }
}

/// The separation of two solids along a unit normal from b to a; negative where they overlap.
pub fn separation(a: (&Geometry, &Pose), b: (&Geometry, &Pose), n: &Vec3) -> f64 {
    let far =
        |(shape, at): (&Geometry, &Pose), d: &Vec3| at.s.dot(d) + extent(shape, &at.rot.tr_mul(d));
    -far(a, &-n) - far(b, n)
}
