//! Nothing passes through anything: first crossings of fast pairs against fine sampling.

mod common;

use common::{Scene, ball, cuboid, exact, floor, pose, turn};
use gelenk_model::math::{Quat, Vec3};
use gelenk_model::shape::Geometry;
use gelenk_model::state::Pose;
use proptest::prelude::*;

const TOLERANCE: f64 = 1e-6;

fn vector(size: f64) -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(-size..size).prop_map(Vec3::from)
}

fn rotation() -> impl Strategy<Value = Quat> {
    vector(3.0).prop_map(Quat::from_scaled_axis)
}

fn shape() -> impl Strategy<Value = Geometry> {
    let size = || 0.05..0.6_f64;
    prop_oneof![
        // Bullets, sheets, and all the rest.
        Just(ball(0.005)),
        (size(), size()).prop_map(|(x, y)| cuboid(2.0 * x, 2.0 * y, 0.002)),
        size().prop_map(ball),
        (size(), size(), size()).prop_map(|(x, y, z)| cuboid(x, y, z)),
        (size(), size()).prop_map(|(radius, length)| Geometry::Capsule { radius, length }),
        (size(), size()).prop_map(|(radius, length)| Geometry::Cylinder { radius, length }),
        (size(), size()).prop_map(|(radius, length)| Geometry::Cone { radius, length }),
    ]
}

/// A way of a body: start, end, and the turn between.
#[derive(Clone, Copy, Debug)]
struct Way {
    from: Vec3,
    to: Vec3,
    rot: Quat,
    turn: Vec3,
}

impl Way {
    fn at(&self, t: f64) -> Pose {
        let s = self.from + (self.to - self.from) * t;
        pose(s.into(), Quat::from_scaled_axis(self.turn * t) * self.rot)
    }
}

fn way() -> impl Strategy<Value = Way> {
    // From one side to the other, close by the middle; turns by less than half a turn, as rotations between two poses do.
    (vector(2.0), vector(0.3), rotation(), vector(1.8)).prop_map(|(from, by, rot, turn)| Way {
        from,
        to: by * 2.0 - from,
        rot,
        turn,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn no_crossing_is_missed(shapes in (shape(), shape()), ways in (way(), way())) {
        let at = |t: f64| [ways.0.at(t), ways.1.at(t)];
        let apart = |t: f64, gap: f64| {
            let [a, b] = at(t);
            exact::apart((&shapes.0, &a), (&shapes.1, &b), gap)
        };
        prop_assume!(apart(0.0, 0.01) == Some(true));
        let mut scene = Scene::new(&[shapes.0.clone(), shapes.1.clone()]);
        let mut ends = [scene.poses.clone(), scene.poses.clone()];
        ends[0][1..].copy_from_slice(&at(0.0));
        ends[1][1..].copy_from_slice(&at(1.0));
        let found = scene.world.first_crossing(&ends[0], &ends[1], TOLERANCE);
        // Before the crossing they are apart, to the last sample.
        let last = found.map_or(1.0, |(t, _)| t);
        for k in 0..100 {
            let t = last * f64::from(k) / 100.0;
            prop_assert!(apart(t, 0.4 * TOLERANCE) != Some(false), "overlap at {t}, found {found:?}");
        }
        if let Some((t, touch)) = found {
            // And there they are near.
            prop_assert!(apart(t, 1.1 * TOLERANCE) != Some(true), "far apart at {t} {touch:?}");
            let [a, b] = at(t);
            prop_assert!(touch.gap(&a, &b) <= 1.1 * TOLERANCE, "{} {touch:?}", touch.gap(&a, &b));
        }
    }
}

#[test]
fn a_bullet_does_not_pass_a_sheet() {
    let mut scene = Scene::new(&[ball(0.001), cuboid(1.0, 1.0, 1e-4)]);
    let from = scene.put(0, [0.1, 0.2, 10.0], Quat::identity()).poses.clone();
    let to = scene.put(0, [0.1, 0.2, -990.0], Quat::identity()).poses.clone();
    let (t, touch) = scene.world.first_crossing(&from, &to, 1e-7).unwrap();
    let expected = (10.0 - 0.001 - 5e-5) / 1000.0;
    assert!((t - expected).abs() < 1e-9, "{t} {expected}");
    assert!((touch.place(&from[1], &from[2]).normal - Vec3::z()).norm() < 1e-12);
}

#[test]
fn a_corner_comes_down_on_a_plane() {
    // A plate on edge that turns down by a quarter turn, its centre held at a quarter of its width.
    let mut scene = Scene::new(&[cuboid(1.0, 1.0, 0.01), floor()]);
    let from = scene.put(0, [0.0, 0.0, 0.25], Quat::identity()).poses.clone();
    let to = scene.put(0, [0.0, 0.0, 0.25], turn([0.0, 1.0, 0.0], 1.5)).poses.clone();
    let (t, touch) = scene.world.first_crossing(&from, &to, 1e-8).unwrap();
    // 0.5 sin φ + 0.005 cos φ = 0.25
    let phi = 1.5 * t;
    assert!((0.5 * phi.sin() + 0.005 * phi.cos() - 0.25).abs() < 2e-8);
    assert_eq!(touch.bodies, [1, 2]);
}

/// What moves along with another has not passed it, however fast both are; what moves against it has to be looked at.
#[test]
fn only_what_moves_against_another_may_have_passed_it() {
    let mut scene = Scene::new(&[ball(0.001), cuboid(1.0, 1.0, 1e-4)]);
    let from = scene.put(0, [0.1, 0.2, 0.01], Quat::identity()).poses.clone();
    let both = |scene: &mut Scene, ball: f64| {
        scene.put(0, [0.1, 0.2, 0.01 + ball], Quat::identity());
        scene.put(1, [0.0, 0.0, 0.5], Quat::identity()).poses.clone()
    };
    // Ten ball's diameters above the sheet, and less at the end.
    let together = both(&mut scene, 0.5 - 4e-5);
    assert_eq!(scene.world.first_passing(&from, &together, 1e-7), None);
    let through = both(&mut scene, 0.47);
    let (t, _) = scene.world.first_passing(&from, &through, 1e-7).unwrap();
    let expected = (0.01 - 0.001 - 5e-5) / 0.03;
    assert!((t - expected).abs() < 1e-4, "{t} {expected}");
}

/// Two plates on a hinge that turn together by 0.3 rad: seen from each other they stay where they are.
#[test]
fn plates_that_turn_together_do_not_pass_each_other() {
    let mut scene = Scene::new(&[cuboid(0.096, 0.2, 0.016), cuboid(0.096, 0.2, 0.016)]);
    let place = |scene: &mut Scene, angle: f64, bend: f64| {
        let y = [0.0, 1.0, 0.0];
        let about = |angle: f64, x: f64| turn(y, angle) * Vec3::new(x, 0.0, 0.0);
        let [a, b] = [about(angle, -0.05), about(angle + bend, 0.05)];
        scene.put(0, a.into(), turn(y, angle));
        scene.put(1, b.into(), turn(y, angle + bend)).poses.clone()
    };
    let from = place(&mut scene, 0.0, 0.0);
    let to = place(&mut scene, 0.3, 0.05);
    assert_eq!(scene.world.first_passing(&from, &to, 1e-7), None);
}
