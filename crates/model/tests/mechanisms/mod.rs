//! Mechanisms that the tests of checking and assembling share.
#![allow(dead_code, reason = "each test file uses some of them")]

use gelenk_model::joint::{
    Ball, Cylindrical, Distance, Fixed, Hinge, JointFrame, JointKind, Planar, Rail, Rope, Slider,
    Translation, Universal,
};
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::{BodyDef, BodyId, Builder, Model};

pub(crate) const WORLD: BodyId = BodyId::WORLD;

pub(crate) fn v(x: f64, y: f64, z: f64) -> Vec3 {
    Vec3::new(x, y, z)
}

/// A body with three different moments.
pub(crate) fn block(builder: &mut Builder, name: &str, at: Vec3) -> BodyId {
    let inertia = Mat3::from_diagonal(&v(0.1, 0.2, 0.25));
    builder.body(&BodyDef::new(name, 1.0, inertia).at(at))
}

/// A uniform thin rod of 1 kg.
pub(crate) fn rod(builder: &mut Builder, name: &str, from: Vec3, to: Vec3) -> BodyId {
    let length = (to - from).norm();
    let u = (to - from) / length;
    let inertia = (Mat3::identity() - u * u.transpose()) * (length * length / 12.0);
    builder.body(&BodyDef::new(name, 1.0, inertia).at((from + to) / 2.0))
}

pub(crate) fn ball(builder: &mut Builder, name: &str, bodies: [BodyId; 2], point: Vec3) {
    let [a, b] = builder.joint_frames(bodies, &point, &Vec3::z());
    builder.joint(name, bodies, JointKind::Ball(Ball::new(&a, &b)), None);
}

pub(crate) fn hinge(
    builder: &mut Builder,
    name: &str,
    bodies: [BodyId; 2],
    point: Vec3,
    axis: Vec3,
) {
    let [a, b] = builder.joint_frames(bodies, &point, &axis);
    builder.joint(name, bodies, JointKind::Hinge(Hinge::new(&a, &b)), None);
}

pub(crate) fn fixed(builder: &mut Builder, name: &str, bodies: [BodyId; 2], point: Vec3) {
    let [a, b] = builder.joint_frames(bodies, &point, &Vec3::z());
    builder.joint(name, bodies, JointKind::Fixed(Fixed::new(&a, &b)), None);
}

/// A rod without mass between two body points given in the principal frames.
pub(crate) fn distance(
    builder: &mut Builder,
    name: &str,
    bodies: [BodyId; 2],
    points: [Vec3; 2],
    length: f64,
) {
    let [a, b] = points.map(|origin| JointFrame { origin, axes: Mat3::identity() });
    let kind = JointKind::Distance(Distance::new(&a, &b, length).expect("a positive length"));
    builder.joint(name, bodies, kind, None);
}

pub(crate) fn rope(
    builder: &mut Builder,
    name: &str,
    bodies: [BodyId; 2],
    points: [Vec3; 2],
    length: f64,
) {
    let [a, b] = points.map(|origin| JointFrame { origin, axes: Mat3::identity() });
    let kind = JointKind::Rope(Rope::new(&a, &b, length).expect("a positive length"));
    builder.joint(name, bodies, kind, None);
}

/// A joint of type number `which`, closed at the start.
pub(crate) fn any_joint(which: usize, a: &JointFrame, b: &JointFrame) -> JointKind {
    match which {
        0 => JointKind::Ball(Ball::new(a, b)),
        1 => JointKind::Hinge(Hinge::new(a, b)),
        2 => JointKind::Fixed(Fixed::new(a, b)),
        3 => JointKind::Slider(Slider::new(a, b)),
        4 => JointKind::Cylindrical(Cylindrical::new(a, b)),
        5 => JointKind::Planar(Planar::new(a, b)),
        6 => JointKind::Rail(Rail::new(a, b)),
        7 => JointKind::Universal(Universal::new(a, b)),
        _ => JointKind::Translation(Translation::new(a, b)),
    }
}

/// Rods from joint to joint, hung at both ends.
pub(crate) fn hung_chain(points: &[Vec3]) -> Model {
    let mut builder = Builder::new("chain");
    let mut last = WORLD;
    for (i, ends) in points.windows(2).enumerate() {
        let body = rod(&mut builder, &format!("rod{}", i + 1), ends[0], ends[1]);
        ball(&mut builder, &format!("j{i}"), [last, body], ends[0]);
        last = body;
    }
    let n = points.len() - 1;
    ball(&mut builder, &format!("j{n}"), [last, WORLD], points[n]);
    builder.finish()
}

/// The chain of eight rods whose joints all lie on a line.
pub(crate) fn eight_loop_flat() -> Model {
    let x = [0.0, 1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    hung_chain(&x.map(|x| v(x, 0.0, 0.0)))
}

/// The same with the folded joint off the line.
pub(crate) fn eight_loop() -> Model {
    let x = [0.0, 1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut points = x.map(|x| v(x, 0.0, 0.0));
    let h = 0.5_f64.sqrt();
    points[4] = v(3.0 - h, 0.0, -h);
    hung_chain(&points)
}

/// Crank, coupler and rocker in the x-z plane with hinges along y.
pub(crate) fn four_bar() -> Model {
    let points = [v(0.0, 0.0, 0.0), v(0.2, 0.0, 1.0), v(2.1, 0.0, 1.6), v(3.0, 0.0, 0.0)];
    let mut builder = Builder::new("four-bar");
    let names = ["crank", "coupler", "rocker"];
    let bodies: Vec<BodyId> =
        (0..3).map(|i| block(&mut builder, names[i], (points[i] + points[i + 1]) / 2.0)).collect();
    let chain = [WORLD, bodies[0], bodies[1], bodies[2], WORLD];
    for (i, name) in ["a", "b", "c", "d"].iter().enumerate() {
        hinge(&mut builder, name, [chain[i], chain[i + 1]], points[i], Vec3::y());
    }
    builder.finish()
}

/// Six hinges along the edges of a cube, \[Bricard 1897\]: six equations a loop too many by one, yet it moves.
pub(crate) fn bricard() -> Model {
    let p = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]]
        .map(|[x, y, z]: [i32; 3]| v(f64::from(x), f64::from(y), f64::from(z)));
    let axes = [Vec3::y(), Vec3::z(), Vec3::x(), Vec3::y(), Vec3::z(), Vec3::x()];
    let mut builder = Builder::new("bricard");
    // The link from point 0 to point 1 is the frame.
    let mut links = vec![WORLD];
    for i in 1..6 {
        links.push(block(&mut builder, &format!("link{i}"), (p[i] + p[(i + 1) % 6]) / 2.0));
    }
    for i in 0..6 {
        let bodies = [links[(i + 5) % 6], links[i]];
        hinge(&mut builder, &format!("h{i}"), bodies, p[i], axes[i]);
    }
    builder.finish()
}

/// Eight point masses at the corners of a cuboid with all 28 distances.
pub(crate) fn cuboid() -> Model {
    let mut builder = Builder::new("cuboid");
    let mut points = Vec::new();
    for i in 0..8_u32 {
        let corner = v(f64::from(i & 1), 0.7 * f64::from(i >> 1 & 1), 1.3 * f64::from(i >> 2));
        let mass = 1.0 + 0.1 * f64::from(i);
        points.push((builder.point(&format!("p{i}"), mass, corner, Vec3::zeros(), false), corner));
    }
    for i in 0..8 {
        for j in i + 1..8 {
            let length = (points[i].1 - points[j].1).norm();
            let ends = [Vec3::zeros(); 2];
            let bodies = [points[i].0, points[j].0];
            distance(&mut builder, &format!("d{i}{j}"), bodies, ends, length);
        }
    }
    builder.finish()
}

/// Bodies in a tree of joints, drawn from numbers in (0, 1).
pub(crate) fn random_tree(n: usize, number: impl FnMut() -> f64) -> Model {
    random_loops(n, 0, 0.0, number)
}

/// The same with `extra` joints between any two of them, open by up to `gap`.
pub(crate) fn random_loops(
    n: usize,
    extra: usize,
    gap: f64,
    mut number: impl FnMut() -> f64,
) -> Model {
    let mut builder = Builder::new("random");
    let mut bodies = vec![WORLD];
    for i in 0..n {
        let mut vector = || Vec3::from_fn(|_, _| 4.0 * number() - 2.0);
        let mut def = BodyDef::new(&format!("b{i}"), 1.0, Mat3::identity());
        def.position = vector();
        def.rotation = Quat::from_scaled_axis(vector());
        def.center_of_mass = vector() * 0.1;
        def.mass = 0.5 + 2.0 * number();
        def.inertia = Mat3::from_diagonal(&(v(1.0, 1.2, 1.4) * (0.1 + number())));
        let body = builder.body(&def);
        let parent = bodies[pick(number(), bodies.len())];
        random_joint(&mut builder, &format!("j{i}"), [parent, body], 0.0, &mut number);
        bodies.push(body);
    }
    for i in 0..extra {
        let a = pick(number(), bodies.len());
        let b = (a + 1 + pick(number(), n)) % bodies.len();
        let pair = [bodies[a], bodies[b]];
        random_joint(&mut builder, &format!("extra{i}"), pair, gap, &mut number);
    }
    builder.finish()
}

fn random_joint(
    builder: &mut Builder,
    name: &str,
    bodies: [BodyId; 2],
    gap: f64,
    number: &mut impl FnMut() -> f64,
) {
    let kind = pick(number(), 9);
    let mut vector = || Vec3::from_fn(|_, _| 4.0 * number() - 2.0);
    let axis = vector() + v(0.0, 0.0, 1e-3);
    let [a, mut b] = builder.joint_frames(bodies, &vector(), &axis);
    b.origin += vector() * (gap / 4.0);
    b.axes = Quat::from_scaled_axis(vector() * (gap / 4.0)).to_rotation_matrix() * b.axes;
    builder.joint(name, bodies, any_joint(kind, &a, &b), None);
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn pick(number: f64, n: usize) -> usize {
    (number * n as f64) as usize % n
}

/// Pseudo-random numbers in (0, 1), the same in every run.
pub(crate) fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}
