//! Gaps and normals of random pairs of all shapes, against projections that know nothing of features.

mod common;

use std::sync::Arc;

use common::{Scene, exact, pose};
use gelenk_model::math::{Quat, Vec3};
use gelenk_model::mesh::TriMesh;
use gelenk_model::shape::Geometry;
use gelenk_model::state::Pose;
use proptest::prelude::*;

fn unit() -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(-1.0..1.0_f64)
        .prop_map(Vec3::from)
        .prop_filter("not too short", |v| v.norm() > 0.1)
        .prop_map(|v| v.normalize())
}

fn rotation() -> impl Strategy<Value = Quat> {
    (unit(), 0.0..6.3_f64).prop_map(|(axis, angle)| {
        Quat::from_axis_angle(&nalgebra::Unit::new_unchecked(axis), angle)
    })
}

fn shape() -> impl Strategy<Value = Geometry> {
    let size = || 0.3..1.5_f64;
    prop_oneof![
        size().prop_map(|radius| Geometry::Sphere { radius }),
        prop::array::uniform3(size()).prop_map(|s| Geometry::Box { size: s.into() }),
        (size(), size()).prop_map(|(radius, length)| Geometry::Capsule { radius, length }),
        (size(), size()).prop_map(|(radius, length)| Geometry::Cylinder { radius, length }),
        (size(), size()).prop_map(|(radius, length)| Geometry::Cone { radius, length }),
        prop::collection::vec(unit(), 5..7).prop_map(|vertices| Geometry::Mesh {
            mesh: Arc::new(TriMesh { vertices, triangles: vec![[0, 1, 2]] }),
            file: String::new(),
        }),
    ]
}

/// Two solids at a wanted gap: the second comes along a line until they nearly touch, so that it is a face that a corner
/// meets; goes back along the normal, where projections converge fast; and comes again to the gap wanted.
fn at_gap(
    shapes: [&Geometry; 2],
    rot: [Quat; 2],
    from: Vec3,
    gap: f64,
) -> Option<([Pose; 2], Vec3)> {
    let a = pose([0.0; 3], rot[0]);
    let mut b = pose((from * 4.0).into(), rot[1]);
    for _ in 0..60 {
        let [p, q] = exact::closest((shapes[0], &a), (shapes[1], &b), 100);
        let d = p - q;
        if d.norm() < 1e-9 {
            b.s += from * 1e-5;
            continue;
        }
        let normal = d.normalize();
        let rate = -normal.dot(&from);
        if d.norm() < 1e-5 {
            b.s -= normal * 0.3;
            let [p, q] = exact::closest((shapes[0], &a), (shapes[1], &b), 5_000);
            let normal = (p - q).normalize();
            b.s += (p - q) - normal * gap;
            return Some(([a, b], normal));
        }
        b.s -= from * ((d.norm() - 5e-6) / rate.max(0.1));
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 0, ..ProptestConfig::default() })]

    /// A touch that holds has the gap and the normal of the pair, apart or overlapping; its closest points are as far apart
    /// as it says; and its rate is n·(v_a − v_b).
    #[test]
    fn gap_and_normal(
        shapes in (shape(), shape()),
        rot in (rotation(), rotation()),
        from in unit(),
        gap in prop_oneof![1e-4..1e-2_f64, -1e-3..-1e-5_f64],
        v in (unit(), unit(), unit(), unit()),
    ) {
        let together = at_gap([&shapes.0, &shapes.1], [rot.0, rot.1], from, gap);
        prop_assume!(together.is_some());
        let (poses, normal) = together.unwrap();
        let mut scene = Scene::new(&[shapes.0.clone(), shapes.1.clone()]);
        scene.poses[1..].copy_from_slice(&poses);
        scene.touches(0.0, 0.02);
        let [a, b] = poses;
        let mut found = false;
        let sides = [(&shapes.0, &a), (&shapes.1, &b)];
        let least = exact::separation(sides[0], sides[1], &normal);
        prop_assert!((least - gap).abs() < 1e-9);
        let mut best = f64::NEG_INFINITY;
        for touch in &scene.out {
            let place = touch.place(&a, &b);
            prop_assert!((place.normal.norm() - 1.0).abs() < 1e-12);
            let between = place.points[0] - place.points[1];
            prop_assert!((between - place.normal * place.gap).norm() < 1e-9, "{touch:?} {place:?}");
            // The rate, by central differences of two widths.
            let moved = |at: &Pose, v: &Vec3, w: &Vec3, t: f64| Pose {
                s: at.s + v * t,
                rot: nalgebra::Rotation3::new(w * t).into_inner() * at.rot,
            };
            let at = |t: f64| touch.gap(&moved(&a, &v.0, &v.1, t), &moved(&b, &v.2, &v.3, t));
            let slope = |e: f64| (at(e) - at(-e)) / (2.0 * e);
            let rate = (4.0 * slope(1e-7) - slope(2e-7)) / 3.0;
            let point = |k: usize, at: &Pose, v: &Vec3, w: &Vec3| v + w.cross(&(place.points[k] - at.s));
            let expected = place.normal.dot(&(point(0, &a, &v.0, &v.1) - point(1, &b, &v.2, &v.3)));
            prop_assert!((rate - expected).abs() < 1e-6, "{rate} {expected} {touch:?}");
            if !scene.world.holds(touch, &a, &b, 1e-7) {
                continue;
            }
            found = true;
            // Both solids lie on their sides of the planes through the closest points.
            let own = exact::separation(sides[0], sides[1], &place.normal);
            prop_assert!((place.gap - own).abs() < 1e-7, "gap {} is {own} {touch:?}", place.gap);
            best = best.max(place.gap);
            if gap > 0.0 {
                prop_assert!((place.gap - gap).abs() < 1e-9, "gap {} is {gap} {touch:?}", place.gap);
                prop_assert!((place.normal - normal).norm() < 1e-5, "{} is {normal} {touch:?}", place.normal);
            }
        }
        // Overlapping, no normal separates them better.
        prop_assert!(!found || best > gap - 1e-9, "{best} is worse than {gap}");
        // Between corners and edges of two sharp solids that are apart no features face each other: seldom this near.
        let sharp = |shape: &Geometry| !matches!(shape, Geometry::Sphere { .. } | Geometry::Capsule { .. });
        prop_assert!(found || sharp(&shapes.0) && sharp(&shapes.1), "nothing found at {gap}");
    }
}
