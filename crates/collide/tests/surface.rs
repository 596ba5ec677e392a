//! Height fields and meshes of fixed bodies, hulls of moving ones; what may touch; names that stay.

mod common;

use std::sync::Arc;

use common::{Scene, add, ball, cuboid, exact, floor, turn};
use gelenk_collide::{Feature, Touch, World};
use gelenk_model::Builder;
use gelenk_model::contact::{BodyContact, ContactSettings, Party};
use gelenk_model::joint::{Ball, Fixed, JointKind};
use gelenk_model::math::{Quat, Vec3};
use gelenk_model::mesh::TriMesh;
use gelenk_model::shape::Geometry;
use proptest::prelude::*;

/// A grid of n × n points over 4 m × 4 m.
fn grid(n: usize, height: impl Fn(f64, f64) -> f64) -> Geometry {
    let x = |i: usize| 4.0 * (i as f64 / (n - 1) as f64 - 0.5);
    let heights = (0..n * n).map(|k| height(x(k % n), x(k / n))).collect();
    Geometry::Heightfield { size: [4.0, 4.0], n_x: n, heights }
}

#[test]
fn a_ball_rolls_over_inner_edges_as_over_a_plane() {
    let mut scene = Scene::new(&[grid(9, |_, _| 0.25), ball(0.3)]);
    scene.send(1, [1.0, 0.7, 0.0], [0.0; 3]);
    for k in 0..2000 {
        let t = f64::from(k) * 1e-3;
        // Over corners of the grid too.
        scene.put(
            1,
            [-1.0 + t, -1.0 + t * if k % 2 == 0 { 1.0 } else { 0.7 }, 0.55],
            Quat::identity(),
        );
        scene.touches(1e-2, 1e-3);
        assert_eq!(scene.out.len(), 1, "{:?}", scene.out);
        let place = scene.out[0].place(&scene.poses[1], &scene.poses[2]);
        assert!((place.normal + Vec3::z()).norm() < 1e-15);
        assert!(place.gap.abs() < 1e-15);
    }
}

#[test]
fn a_box_slides_over_inner_edges_as_over_a_plane() {
    let mut scene = Scene::new(&[cuboid(0.7, 0.5, 0.2), grid(17, |_, _| 0.0)]);
    scene.send(0, [1.0, 0.7, 0.0], [0.0; 3]);
    for k in 0..500 {
        let t = f64::from(k) * 2e-3;
        scene.put(0, [-0.5 + t, -0.5 + t, 0.1], turn([0.0, 0.0, 1.0], t));
        scene.touches(1e-3, 1e-4);
        assert_eq!(scene.out.len(), 4, "{:?}", scene.out);
        for touch in &scene.out {
            let place = touch.place(&scene.poses[1], &scene.poses[2]);
            assert!((place.normal - Vec3::z()).norm() < 1e-15 && place.gap.abs() < 1e-15);
        }
    }
}

#[test]
fn a_ball_on_a_ridge_touches_the_edge() {
    let mut scene = Scene::new(&[ball(0.5), grid(5, |x, _| -x.abs())]);
    scene.put(0, [0.0, 0.3, 0.5], Quat::identity());
    scene.touches(1e-3, 1e-4);
    assert_eq!(scene.out.len(), 1);
    assert!(matches!(scene.out[0].features[1], Feature::Line { .. }));
    assert!(scene.gaps()[0].abs() < 1e-15);
    // In a valley it touches both sides.
    let mut scene = Scene::new(&[ball(0.5), grid(5, |x, _| x.abs())]);
    scene.put(0, [0.0, 0.3, 0.5 * 2.0_f64.sqrt()], Quat::identity());
    scene.touches(1e-3, 1e-4);
    assert_eq!(scene.out.len(), 2);
    assert!(scene.gaps().iter().all(|gap| gap.abs() < 1e-15));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The nearest touch of a ball over rough ground is the nearest point of all triangles.
    #[test]
    fn a_ball_over_rough_ground(
        heights in prop::collection::vec(-0.5..0.5_f64, 36),
        place in prop::array::uniform2(-1.5..1.5_f64),
        gap in 1e-6..1e-2_f64,
        radius in 0.1..1.0_f64,
    ) {
        let ground = Geometry::Heightfield { size: [4.0, 4.0], n_x: 6, heights: heights.clone().into() };
        let point = |i: usize, j: usize| {
            Vec3::new(4.0 * (i as f64 / 5.0 - 0.5), 4.0 * (j as f64 / 5.0 - 0.5), heights[6 * j + i])
        };
        let distance = |c: &Vec3| {
            let mut least = f64::INFINITY;
            for i in 0..5 {
                for j in 0..5 {
                    let [a, b, d, e] = [point(i, j), point(i + 1, j), point(i, j + 1), point(i + 1, j + 1)];
                    for (x, y, z) in [(a, b, d), (b, e, d)] {
                        least = least.min((exact::on_triangle(c, &x, &y, &z) - c).norm());
                    }
                }
            }
            least
        };
        // Down until the gap is as wanted, or a little less.
        let mut centre = Vec3::new(place[0], place[1], 3.0);
        for _ in 0..40 {
            centre.z -= distance(&centre) - radius - gap;
        }
        let wanted = distance(&centre) - radius;
        let mut scene = Scene::new(&[ball(radius), ground]);
        scene.put(0, centre.into(), Quat::identity());
        scene.touches(0.0, 2e-2);
        let least = scene.gaps().into_iter().fold(f64::INFINITY, f64::min);
        prop_assert!((least - wanted).abs() < 1e-12, "{least} is {wanted}");
    }
}

fn cube_mesh() -> Geometry {
    // Twelve triangles, and corners in the middle of faces that the hull drops.
    let mut vertices: Vec<Vec3> = (0..8_u8)
        .map(|i| {
            Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))
                - Vec3::repeat(0.5)
        })
        .collect();
    vertices.push(Vec3::new(0.5, 0.1, 0.1));
    vertices.push(Vec3::new(0.0, 0.0, 0.0));
    let triangles = vec![[0, 1, 2], [1, 3, 2], [4, 5, 6], [1, 3, 8], [0, 1, 9]];
    Geometry::Mesh { mesh: Arc::new(TriMesh { vertices, triangles }), file: String::new() }
}

#[test]
fn the_hull_of_a_cube_stands_like_a_box() {
    let mut scene = Scene::new(&[cube_mesh(), cuboid(2.0, 2.0, 1.0)]);
    scene.put(0, [0.1, 0.2, 1.0], turn([0.0, 0.0, 1.0], 0.3));
    scene.touches(1e-3, 1e-4);
    assert_eq!(scene.out.len(), 4, "{:?}", scene.out);
    assert!(scene.gaps().iter().all(|gap| gap.abs() < 1e-15));
}

#[test]
fn a_standing_cylinder_and_a_rolling_one() {
    let cylinder = Geometry::Cylinder { radius: 0.5, length: 1.0 };
    let mut scene = Scene::new(&[cylinder, floor()]);
    // Standing: four points of the rim; tilted a little, the lowest point of the rim as well.
    scene.put(0, [0.0, 0.0, 0.5], Quat::identity());
    assert_eq!(scene.touches(1e-3, 1e-4).len(), 4);
    scene.put(0, [0.0, 0.0, 0.5], turn([1.0, 0.3, 0.0], 1e-4));
    scene.touches(1e-3, 1e-3);
    assert_eq!(scene.out.len(), 5);
    let lowest = scene.gaps().into_iter().fold(f64::INFINITY, f64::min);
    let expected = 0.5 - 0.5 * 1e-4_f64.cos() - 0.5 * 1e-4_f64.sin();
    assert!((lowest - expected).abs() < 1e-15, "{lowest} {expected}");
    // Lying: both rims.
    scene.put(0, [0.0, 0.0, 0.5], turn([1.0, 0.0, 0.0], std::f64::consts::FRAC_PI_2));
    assert_eq!(scene.touches(1e-3, 1e-4).len(), 2);
    assert!(scene.gaps().iter().all(|gap| gap.abs() < 1e-15));
}

#[test]
fn names_stay_while_a_stack_moves_slowly() {
    let shapes: Vec<Geometry> =
        std::iter::once(floor()).chain((0..10).map(|_| cuboid(1.0, 1.0, 1.0))).collect();
    let mut scene = Scene::new(&shapes);
    let mut names = None;
    for k in 0..200_u32 {
        for i in 1..11_u32 {
            // Noise of the size that a solver leaves, on a slow drift of all.
            let noise = |c: u32| 1e-9 * f64::sin(f64::from(c * (k * 17 + i * 31 + 1)));
            let s = [1e-6 * f64::from(k) + noise(3), noise(5), f64::from(i) - 0.5 + noise(7)];
            scene.put(
                i as usize,
                s,
                Quat::from_scaled_axis(Vec3::new(noise(11), noise(13), noise(19))),
            );
        }
        scene.touches(1e-3, 1e-4);
        let now: Vec<_> = scene.out.iter().map(|touch| touch.key).collect();
        assert_eq!(now.len(), 40);
        assert!(now.is_sorted());
        assert_eq!(*names.get_or_insert_with(|| now.clone()), now);
    }
}

#[test]
fn boxes_on_a_floor_meet_their_neighbours_alone() {
    for n in [5_u8, 10, 20] {
        let shapes: Vec<Geometry> = std::iter::once(floor())
            .chain((0..u16::from(n) * u16::from(n)).map(|_| cuboid(1.0, 1.0, 1.0)))
            .collect();
        let mut scene = Scene::new(&shapes);
        for i in 0..n {
            for j in 0..n {
                let body = 1 + usize::from(i) * usize::from(n) + usize::from(j);
                scene.put(body, [1.5 * f64::from(i), 1.5 * f64::from(j), 0.5], Quat::identity());
            }
        }
        assert_eq!(scene.touches(1e-3, 1e-3).len(), 4 * usize::from(n) * usize::from(n));
        assert_eq!(scene.world.pairs().len(), usize::from(n) * usize::from(n));
    }
}

#[test]
fn joined_and_ignored_bodies_do_not_touch() {
    let mut builder = Builder::new("filter");
    let ids: Vec<_> =
        (0..5).map(|i| add(&mut builder, &format!("b{i}"), ball(1.0), false)).collect();
    let ground = add(&mut builder, "ground", floor(), true);
    let wall = add(&mut builder, "wall", cuboid(1.0, 1.0, 1.0), true);
    let looks = add(&mut builder, "looks", ball(1.0), false);
    builder.body_contact(looks, BodyContact::default(), None);
    // 0 and 1 are welded, 1 hangs on 2: neither 0 nor 1 touches 2.
    let mut join = |a: usize, b: usize, weld: bool| {
        let bodies = [ids[a], ids[b]];
        let [fa, fb] = builder.joint_frames(bodies, &Vec3::zeros(), &Vec3::z());
        let kind = if weld {
            JointKind::Fixed(Fixed::new(&fa, &fb))
        } else {
            JointKind::Ball(Ball::new(&fa, &fb))
        };
        builder.joint(&format!("j{a}{b}"), bodies, kind, None);
    };
    join(0, 1, true);
    join(1, 2, false);
    builder.contact(ContactSettings {
        ignored: vec![
            [Party::Body(ids[3]), Party::Body(ids[4])],
            [Party::Body(ids[3]), Party::Body(ground)],
        ],
        ..ContactSettings::default()
    });
    let model = builder.finish();
    let mut world = World::new(&model).unwrap();
    assert!(!world.is_empty());
    let n = model.n_bodies();
    let poses = vec![gelenk_model::Pose::identity(); n];
    let twists = vec![gelenk_model::Twist::zero(); n];
    let mut out = Vec::new();
    world.touches(&poses, &twists, 1e-3, 0.1, &mut out);
    let mut pairs: Vec<_> = world.pairs().iter().map(|pair| pair.bodies).collect();
    pairs.sort_unstable();
    let [b0, b1, b2, b3, b4] = [0, 1, 2, 3, 4].map(|i| ids[i].index());
    let (g, w) = (ground.index(), wall.index());
    let mut expected = vec![
        [b0, b3],
        [b0, b4],
        [b1, b3],
        [b1, b4],
        [b2, b3],
        [b2, b4],
        [b0, g],
        [b1, g],
        [b2, g],
        [b4, g],
        [b0, w],
        [b1, w],
        [b2, w],
        [b3, w],
        [b4, w],
    ];
    expected.sort_unstable();
    assert_eq!(pairs, expected);
    // The ball joint lets its bodies touch; what is welded never touches.
    let mut free = model.clone();
    for joint in &mut free.joints {
        joint.properties.collide = true;
    }
    let mut open = World::new(&free).unwrap();
    open.touches(&poses, &twists, 1e-3, 0.1, &mut out);
    let meet = |pair: [usize; 2]| open.pairs().iter().any(|p| p.bodies == pair);
    assert!(meet([b1, b2]) && meet([b0, b2]) && !meet([b0, b1]));
    // The ball joint breaks.
    world.set_joints(&model, &[true, false]);
    world.touches(&poses, &twists, 1e-3, 0.1, &mut out);
    assert!(world.pairs().iter().any(|pair| pair.bodies == [b1, b2]));
}

#[test]
fn errors_name_body_and_shape() {
    let mut builder = Builder::new("wrong");
    add(&mut builder, "tray", floor(), false);
    let error = World::new(&builder.finish()).unwrap_err().to_string();
    assert!(error.contains("body `tray`, shape 1"), "{error}");
    let mut builder = Builder::new("wrong");
    add(&mut builder, "flat", cuboid(1.0, 0.0, 1.0), false);
    let error = World::new(&builder.finish()).unwrap_err().to_string();
    assert!(error.contains("body `flat`, shape 1: its size is 0"), "{error}");
}

#[test]
fn overlaps_are_told_with_their_depth() {
    let mut scene = Scene::new(&[cuboid(1.0, 1.0, 1.0), cuboid(1.0, 1.0, 1.0), floor()]);
    scene.put(0, [0.0, 0.0, 0.499], Quat::identity()).put(1, [0.2, 0.1, 1.498], Quat::identity());
    scene.world.overlaps(&scene.poses, 5e-4, &mut scene.out);
    // Four corners in the floor, four places between the boxes.
    assert_eq!(
        scene.out.len(),
        8,
        "{:#?}",
        scene.out.iter().map(|t| (t.key, scene.gap(t))).collect::<Vec<_>>()
    );
    assert!(scene.gaps().iter().all(|gap| (gap + 1e-3).abs() < 1e-14), "{:?}", scene.gaps());
    scene.world.overlaps(&scene.poses, 2e-3, &mut scene.out);
    assert!(scene.out.is_empty());
    // Half inside each other: no features tell, the least overlap does.
    scene.put(0, [0.0, 0.0, 5.0], Quat::identity()).put(1, [0.4, 0.1, 5.0], Quat::identity());
    scene.world.overlaps(&scene.poses, 1e-3, &mut scene.out);
    assert!(!scene.out.is_empty());
    assert!(scene.gaps().iter().all(|gap| (gap + 0.6).abs() < 1e-6), "{:?}", scene.gaps());
}

/// A plate on another, its edges nearly above those below: a corner that has sunk in from above is nearer to the side than to the top, and has not come in
/// there.
#[test]
fn a_corner_beside_an_edge_comes_in_from_above() {
    let size = [0.1, 0.05, 0.01];
    let mut scene =
        Scene::new(&[cuboid(size[0], size[1], size[2]), cuboid(size[0], size[1], size[2])]);
    let rot = turn([0.0, 1.0, 0.0], 0.004) * turn([1.0, 0.0, 0.0], -0.008);
    let corner = rot * Vec3::new(-0.05, 0.025, -0.005);
    let place = Vec3::new(0.001, 0.025 - 5e-5, 0.005 - 1.5e-4);
    let s = place - corner;
    scene.put(1, s.into(), rot);
    scene.world.overlaps(&scene.poses, 1e-6, &mut scene.out);
    let below = Vec3::new(-0.05, 0.025, -0.005);
    let on_top = |touch: &&Touch| match touch.features {
        [Feature::Plane { normal, .. }, Feature::Point(p)] => {
            normal == Vec3::z() && (p - below).norm() < 1e-12
        }
        _ => false,
    };
    let found = scene.out.iter().find(on_top).expect("the corner on the top");
    assert!((scene.gap(found) + 1.5e-4).abs() < 1e-9, "{:?}", scene.out);
}
