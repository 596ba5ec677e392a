//! A world that has seen a motion lists what one lists that sees its last moment alone.

mod common;

use common::{Scene, ball, cuboid, floor, turn};
use gelenk_collide::Touch;
use gelenk_model::math::Vec3;
use gelenk_model::shape::Geometry;

const H: f64 = 1e-2;

fn shapes() -> Vec<Geometry> {
    let mut shapes = vec![floor()];
    for i in 0..3 {
        let size = 0.2 + 0.1 * f64::from(i);
        shapes.push(ball(0.5 * size));
        shapes.push(cuboid(size, 0.2, 0.3));
        shapes.push(Geometry::Capsule { radius: 0.1, length: size });
        shapes.push(Geometry::Cylinder { radius: 0.1, length: size });
    }
    shapes
}

/// Bodies on circles through each other and the floor, ever faster, at the step k.
fn place(scene: &mut Scene, n: u8, k: u32) {
    for i in 1..n {
        let rate = (0.5 + 0.37 * f64::from(i)) * (1.0 + 0.01 * f64::from(k));
        let angle = |k: u32| rate * H * f64::from(k) + f64::from(i);
        let at = |k: u32| {
            let a = angle(k);
            Vec3::new(0.5 * a.cos(), 0.5 * (0.7 * a).sin(), 0.4 + 0.35 * (1.3 * a).sin())
        };
        let (s, v) = (at(k), (at(k + 1) - at(k)) / H);
        scene.put(i.into(), s.into(), turn([0.6, 0.0, 0.8], angle(k)));
        scene.send(i.into(), v.into(), [0.6 * rate, 0.0, 0.8 * rate]);
    }
}

/// Whether two lists are the same but for the numbers of the pairs, which tell the past.
fn same(a: &[Touch], b: &[Touch]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Touch { pair: b.pair, ..*a } == *b)
}

#[test]
fn the_past_changes_no_list() {
    let shapes = shapes();
    let n = u8::try_from(shapes.len()).unwrap();
    let mut old = Scene::new(&shapes);
    let (mut touches, mut overlaps) = (0, 0);
    for k in 0..300 {
        let mut new = Scene::new(&shapes);
        place(&mut old, n, k);
        place(&mut new, n, k);
        // Steps of several lengths.
        let h = H * f64::from(1 + k % 3);
        touches += old.touches(h, 1e-6).len();
        assert!(same(&old.out, new.touches(h, 1e-6)), "touches at {k}");
        old.world.overlaps(&old.poses, 1e-3, &mut old.out);
        let mut new = Scene::new(&shapes);
        place(&mut new, n, k);
        new.world.overlaps(&new.poses, 1e-3, &mut new.out);
        overlaps += new.out.len();
        assert!(same(&old.out, &new.out), "overlaps at {k}");
    }
    assert!(touches > 1000 && overlaps > 300, "{touches} touches, {overlaps} overlaps");
}
