//! Cases with answers by hand.

mod common;

use common::{Scene, ball, cuboid, floor, turn};
use gelenk_collide::{Feature, Touch};
use gelenk_model::math::{Quat, Vec3};
use gelenk_model::shape::Geometry;

fn flat() -> Quat {
    Quat::identity()
}

#[test]
fn a_ball_on_a_plane_has_one_touch() {
    let mut scene = Scene::new(&[floor(), ball(0.5)]);
    scene.put(1, [3.0, -2.0, 0.75], turn([1.0, 2.0, 3.0], 0.7));
    assert!(scene.touches(0.0, 0.2).is_empty());
    assert_eq!(scene.touches(0.0, 0.3).len(), 1);
    let touch = scene.out[0];
    assert_eq!(touch.bodies, [1, 2]);
    let place = touch.place(&scene.poses[1], &scene.poses[2]);
    // From b, the ball, to a, the floor.
    assert!((place.normal + Vec3::z()).norm() < 1e-15);
    assert!((place.gap - 0.25).abs() < 1e-15);
    assert!((place.points[1] - Vec3::new(3.0, -2.0, 0.25)).norm() < 1e-15);
    assert!((place.points[0] - Vec3::new(3.0, -2.0, 0.0)).norm() < 1e-15);
    assert_eq!(scene.world.pairs()[touch.pair].bodies, [1, 2]);
}

#[test]
fn a_falling_ball_is_listed_when_it_can_arrive() {
    let mut scene = Scene::new(&[floor(), ball(0.5)]);
    scene.put(1, [0.0, 0.0, 1.5], flat()).send(1, [0.0, 0.0, -100.0], [0.0; 3]);
    assert_eq!(scene.touches(0.011, 0.0).len(), 1);
    assert!(scene.touches(0.009, 0.0).is_empty());
}

#[test]
fn a_box_on_a_plane_stands_on_four_corners() {
    let mut scene = Scene::new(&[cuboid(1.0, 2.0, 3.0), floor()]);
    scene.put(0, [0.0, 0.0, 1.5], flat());
    assert_eq!(scene.touches(0.01, 1e-3).len(), 4);
    assert!(scene.gaps().iter().all(|g| g.abs() < 1e-15));
    // Spinning, all eight can come down.
    scene.put(0, [0.0, 0.0, 5.0], flat()).send(0, [0.0; 3], [1000.0, 0.0, 0.0]);
    assert_eq!(scene.touches(0.01, 1e-3).len(), 8);
}

#[test]
fn a_capsule_lies_on_a_plane_by_its_ends() {
    let mut scene = Scene::new(&[Geometry::Capsule { radius: 0.1, length: 1.0 }, floor()]);
    scene.put(0, [0.0, 0.0, 0.1], turn([0.0, 1.0, 0.0], std::f64::consts::FRAC_PI_2));
    assert_eq!(scene.touches(0.001, 1e-3).len(), 2);
    assert!(scene.gaps().iter().all(|g| g.abs() < 1e-15));
}

#[test]
fn two_balls() {
    let mut scene = Scene::new(&[ball(0.5), ball(0.25)]);
    scene.put(0, [0.0; 3], flat()).put(1, [0.6, 0.0, 0.8], flat());
    assert_eq!(scene.touches(0.0, 0.3).len(), 1);
    let place = scene.out[0].place(&scene.poses[1], &scene.poses[2]);
    assert!((place.gap - 0.25).abs() < 1e-15);
    assert!((place.normal + Vec3::new(0.6, 0.0, 0.8)).norm() < 1e-15);
    assert!((place.points[0] - Vec3::new(0.3, 0.0, 0.4)).norm() < 1e-15);
}

/// Numbers of touches by what they join: corner on face, edge on edge, other.
fn kinds(scene: &Scene) -> [usize; 3] {
    use gelenk_collide::Feature::{Line, Plane, Point};
    let mut count = [0; 3];
    for touch in &scene.out {
        match touch.features {
            [Point(_), Plane { .. }] | [Plane { .. }, Point(_)] => count[0] += 1,
            [Line { .. }, Line { .. }] => count[1] += 1,
            _ => count[2] += 1,
        }
    }
    count
}

#[test]
fn a_box_on_a_box_has_four_touches_however_it_stands() {
    let mut scene = Scene::new(&[cuboid(1.0, 1.0, 1.0), cuboid(1.0, 1.0, 1.0)]);
    // Exactly on top, half a box aside, aside in both directions.
    for (place, expected) in [
        ([0.0, 0.0, 1.0], [4, 0, 0]),
        ([0.5, 0.0, 1.0], [4, 0, 0]),
        ([0.3, 0.2, 1.0], [2, 2, 0]),
        ([-1.0, 0.25, 0.0], [4, 0, 0]),
    ] {
        scene.put(0, [0.0; 3], flat()).put(1, place, flat());
        scene.touches(1e-3, 1e-4);
        assert_eq!(kinds(&scene), expected, "{place:?} {:#?}", scene.out);
        assert!(scene.gaps().iter().all(|g| g.abs() < 1e-15));
    }
    // Turned by 45 degrees the edges cross at eight places.
    scene.put(1, [0.0, 0.0, 1.0], turn([0.0, 0.0, 1.0], std::f64::consts::FRAC_PI_4));
    scene.touches(1e-3, 1e-4);
    assert_eq!(kinds(&scene), [0, 8, 0]);
}

#[test]
fn crossed_planks_touch_where_their_edges_cross() {
    let mut scene = Scene::new(&[cuboid(1.0, 0.1, 0.1), cuboid(1.0, 0.1, 0.1)]);
    scene.put(0, [0.0; 3], flat());
    scene.put(1, [0.0, 0.0, 0.1], turn([0.0, 0.0, 1.0], std::f64::consts::FRAC_PI_2));
    scene.touches(1e-3, 1e-4);
    assert_eq!(kinds(&scene), [0, 4, 0], "{:#?}", scene.out);
    assert!(scene.gaps().iter().all(|g| g.abs() < 1e-15));
}

#[test]
fn a_box_that_falls_beside_a_table_is_not_caught() {
    let mut scene = Scene::new(&[cuboid(1.0, 1.0, 1.0), cuboid(1.0, 1.0, 1.0)]);
    // 1 mm beside it, 5 mm above; then the same 1 mm over it.
    scene.put(0, [0.0; 3], flat()).send(1, [0.0, 0.0, -10.0], [0.0; 3]);
    scene.put(1, [1.001, 0.0, 1.005], flat());
    scene.touches(1e-3, 1e-4);
    assert!(scene.out.is_empty(), "{:#?}", scene.out);
    scene.put(1, [0.999, 0.0, 1.005], flat());
    scene.touches(1e-3, 1e-4);
    assert_eq!(kinds(&scene), [4, 0, 0]);
}

/// A cone of 3 m × 4 m (side 5 m), and a capsule that lies 0.1 mm over the middle of its side, turned by `across` against the line to the tip in the plane of
/// the side, and by `into` out of it, its lower end towards the cone.
fn along_a_cone(across: f64, into: f64) -> Scene {
    let cone = Geometry::Cone { radius: 3.0, length: 4.0 };
    let mut scene = Scene::new(&[Geometry::Capsule { radius: 0.1, length: 1.0 }, cone]);
    let normal = Vec3::new(0.8, 0.0, 0.6);
    let centre = Vec3::new(1.5, 0.0, 0.0) + normal * 0.1001;
    let lies = turn([0.0, 1.0, 0.0], into - 0.6_f64.asin());
    scene.put(0, centre.into(), turn(normal.into(), across) * lies).put(1, [0.0; 3], flat());
    scene
}

fn axis_on_side(scene: &Scene) -> Option<Touch> {
    let is =
        |touch: &&Touch| matches!(touch.features, [Feature::Line { .. }, Feature::Cone { .. }]);
    scene.out.iter().find(is).copied()
}

#[test]
fn a_capsule_along_the_side_of_a_cone() {
    for across in [1.0, 0.1, 0.01, 1e-3] {
        let mut scene = along_a_cone(across, 0.0);
        scene.touches(0.0, 1.5e-4);
        let touch = axis_on_side(&scene).expect("the axis crosses a line to the tip");
        let [a, b] = [&scene.poses[1], &scene.poses[2]];
        let place = touch.place(a, b);
        // One of two planes touches both: they come together as the lines do, and what rounding does to them grows.
        let rounding = 1e-14 / (across * across);
        assert!((place.gap - 1e-4).abs() < rounding, "{across}: {}", place.gap);
        assert!((place.normal - Vec3::new(0.8, 0.0, 0.6)).norm() < rounding);
        assert!((place.points[1] - Vec3::new(1.5, 0.0, 0.0)).norm() < rounding / across);
        assert!(scene.world.has_place(&touch, a, b));
        // Its lower end goes down until no plane along the axis touches the side: that end is nearest then.
        for into in [0.1, 0.01, 1e-3] {
            let mut tilted = along_a_cone(0.0, into);
            assert!(!tilted.world.has_place(&touch, &tilted.poses[1], &tilted.poses[2]), "{into}");
            tilted.touches(0.0, 1.5e-4);
            assert!(axis_on_side(&tilted).is_none(), "{into}");
            let is_end =
                |touch: &Touch| matches!(touch.features, [Feature::Point(_), Feature::Cone { .. }]);
            let end = tilted.out.iter().find(|touch| is_end(touch)).expect("the lower end");
            let expected = 0.1001 - 0.5 * f64::sin(into) - 0.1;
            assert!((tilted.gap(end) - expected).abs() < 1e-14, "{into}: {}", tilted.gap(end));
        }
    }
}
