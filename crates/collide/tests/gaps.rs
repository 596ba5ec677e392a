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
        prop::collection::vec(unit(), 6..9).prop_map(|vertices| Geometry::Mesh {
            mesh: Arc::new(TriMesh { vertices, triangles: vec![[0, 1, 2]] }),
            file: String::new(),
        }),
    ]
}

/// Two solids at a wanted gap: moved together along the line between their closest points.
fn at_gap(shapes: [&Geometry; 2], rot: [Quat; 2], from: Vec3, gap: f64) -> ([Pose; 2], Vec3) {
    let a = pose([0.0; 3], rot[0]);
    let mut b = pose((from * 4.0).into(), rot[1]);
    let [p, q] = exact::closest((shapes[0], &a), (shapes[1], &b));
    let d = p - q;
    let normal = d.normalize();
    b.s += d - normal * gap;
    ([a, b], normal)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

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
        let (poses, normal) = at_gap([&shapes.0, &shapes.1], [rot.0, rot.1], from, gap);
        let mut scene = Scene::new(&[shapes.0.clone(), shapes.1.clone()]);
        scene.poses[1..].copy_from_slice(&poses);
        scene.touches(0.0, 0.02);
        let [a, b] = poses;
        let mut found = false;
        for touch in &scene.out {
            let place = touch.place(&a, &b);
            prop_assert!((place.normal.norm() - 1.0).abs() < 1e-12);
            let between = place.points[0] - place.points[1];
            prop_assert!((between - place.normal * place.gap).norm() < 1e-9, "{touch:?} {place:?}");
            // The rate, by central differences.
            let e = 1e-6;
            let moved = |at: &Pose, v: &Vec3, w: &Vec3, t: f64| Pose {
                s: at.s + v * t,
                rot: nalgebra::Rotation3::new(w * t).into_inner() * at.rot,
            };
            let at = |t: f64| touch.gap(&moved(&a, &v.0, &v.1, t), &moved(&b, &v.2, &v.3, t));
            let rate = (at(e) - at(-e)) / (2.0 * e);
            let point = |k: usize, at: &Pose, v: &Vec3, w: &Vec3| v + w.cross(&(place.points[k] - at.s));
            let expected = place.normal.dot(&(point(0, &a, &v.0, &v.1) - point(1, &b, &v.2, &v.3)));
            prop_assert!((rate - expected).abs() < 1e-6, "{rate} {expected} {touch:?}");
            if !scene.world.holds(touch, &a, &b, 1e-7) {
                continue;
            }
            found = true;
            prop_assert!((place.gap - gap).abs() < 1e-9, "gap {} is {gap} {touch:?}", place.gap);
            prop_assert!((place.normal - normal).norm() < 1e-5, "{} is {normal} {touch:?}", place.normal);
        }
        // Between corners and edges of two sharp solids that are apart no features face each other.
        let sharp = |shape: &Geometry| !matches!(shape, Geometry::Sphere { .. } | Geometry::Capsule { .. });
        prop_assert!(found || sharp(&shapes.0) && sharp(&shapes.1), "nothing found at {gap}");
    }
}
