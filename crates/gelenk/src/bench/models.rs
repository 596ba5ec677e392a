//! Models of any size, built in code.

use gelenk_model::joint::{Ball, Hinge};
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::{BodyDef, BodyId, Builder, JointKind, LoadOptions, Model, load_text};

/// A thin uniform rod of 1 kg/m from `p` to `q`.
fn rod(name: &str, p: Vec3, q: Vec3) -> BodyDef {
    let along = q - p;
    let length = along.norm();
    let j = length.powi(3) / 12.0;
    let inertia = Mat3::from_diagonal(&Vec3::new(0.0, j, j));
    let mut rod = BodyDef::new(name, length, inertia).at((p + q) / 2.0);
    // A rod that points back is turned about y.
    let back = || Quat::from_axis_angle(&Vec3::y_axis(), std::f64::consts::PI);
    rod.rotation = Quat::rotation_between(&Vec3::x(), &along).unwrap_or_else(back);
    rod
}

fn ball(builder: &mut Builder, name: &str, bodies: [BodyId; 2], point: &Vec3) {
    let [a, b] = builder.joint_frames(bodies, point, &Vec3::y());
    builder.joint(name, bodies, JointKind::Ball(Ball::new(&a, &b)), None);
}

/// Eight rods of 1 m and 1 kg between two points 6 m apart, regular start: the gallery's `eight-loop`.
pub fn eight_loop() -> Model {
    let s = 0.5_f64.sqrt();
    let mut points = [0., 1., 2., 3., 2., 3., 4., 5., 6.].map(|x| Vec3::new(x, 0.0, 0.0));
    points[4] = Vec3::new(3.0 - s, 0.0, -s);
    let mut builder = Builder::new("eight-loop");
    let mut last = BodyId::WORLD;
    for (i, ends) in points.windows(2).enumerate() {
        let body = builder.body(&rod(&format!("rod{}", i + 1), ends[0], ends[1]));
        ball(&mut builder, &format!("joint{i}"), [last, body], &ends[0]);
        last = body;
    }
    ball(&mut builder, "joint8", [last, BodyId::WORLD], &points[8]);
    builder.finish()
}

/// Edge of a box, m.
const EDGE: f64 = 0.2;

/// Cubes of 1 kg at these places, on a plane, friction 0.5.
fn on_plane(name: &str, places: impl Iterator<Item = [f64; 3]>) -> Model {
    let mut text = format!(
        "[model]\nname = \"{name}\"\n[[material]]\nname = \"m\"\nfriction = 0.5\n\
         [[body]]\nname = \"floor\"\nfixed = true\nmaterial = \"m\"\nshape = {{ plane = {{}} }}\n"
    );
    for (i, place) in places.enumerate() {
        text += &format!(
            "[[body]]\nname = \"box{i}\"\nmass = 1\nposition = {place:?}\nmaterial = \"m\"\n\
             shape = {{ box = {{ size = [{EDGE}, {EDGE}, {EDGE}] }} }}\n"
        );
    }
    match load_text("boxes.toml", &text, &LoadOptions::default()) {
        Ok(loaded) => loaded.model,
        Err(diagnostics) => unreachable!("{diagnostics}"),
    }
}

/// A pyramid: rows of cubes, the lowest of `rows`, each one cube shorter and half a cube further than the one below.
pub fn pyramid(rows: usize) -> Model {
    let row = move |k: usize| {
        let (x, z) = (0.525 * EDGE * k as f64, EDGE * (k as f64 + 0.5));
        (0..rows - k).map(move |i| [x + 1.05 * EDGE * i as f64, 0.0, z])
    };
    on_plane(&format!("pyramid of {}", rows * (rows + 1) / 2), (0..rows).flat_map(row))
}

/// `n` cubes apart on a plane.
pub fn boxes(n: usize) -> Model {
    let side = n.isqrt().max(1);
    let place =
        |i: usize| [2.0 * EDGE * (i % side) as f64, 2.0 * EDGE * (i / side) as f64, 0.5 * EDGE];
    on_plane(&format!("{n} boxes"), (0..n).map(place))
}

/// A chain of `n` links of 0.1 m and 0.1 kg, held at one end, let go from the horizontal. (On a slope its
/// own weight pulls a chain of 1000 m so hard that its links swing faster than a step of 1 ms can follow.)
pub fn chain(n: usize) -> Model {
    let mut builder = Builder::new(&format!("chain of {n}"));
    let mut last = BodyId::WORLD;
    for i in 0..n {
        let at = |k: usize| Vec3::new(0.1, 0.0, 0.0) * k as f64;
        let body = builder.body(&rod(&format!("link{i}"), at(i), at(i + 1)));
        ball(&mut builder, &format!("joint{i}"), [last, body], &at(i));
        last = body;
    }
    builder.finish()
}

/// A binary tree of `n` rods hung up at its root: rod i carries rods 2i + 1 and 2i + 2. Rods get shorter by a third with each
/// generation and spread to both sides, in turns along x and along y.
pub fn tree(n: usize) -> Model {
    let mut builder = Builder::new(&format!("tree of {n}"));
    let mut made: Vec<(BodyId, Vec3, f64, u32)> = Vec::with_capacity(n);
    for i in 0..n {
        let (parent, top, length, depth) = if i == 0 {
            (BodyId::WORLD, Vec3::zeros(), 1.0, 0)
        } else {
            let (body, end, length, depth) = made[(i - 1) / 2];
            (body, end, length * 2.0 / 3.0, depth + 1)
        };
        let side = match (i, i % 2) {
            (0, _) => 0.3,
            (_, 1) => 0.6,
            _ => -0.6,
        };
        let along = if depth % 2 == 0 { Vec3::x() } else { Vec3::y() };
        let end = top + (along * side - Vec3::z() * 0.8) * length;
        let body = builder.body(&rod(&format!("rod{i}"), top, end));
        ball(&mut builder, &format!("joint{i}"), [parent, body], &top);
        made.push((body, end, length, depth));
    }
    builder.finish()
}

/// `n` four-bars in a row, the N-four-bar mechanism of the benchmark collections: n + 1 upright rods of 1 m on the ground, n rods across
/// their tops, hinges about y, tops moving with 1 m/s along x. One degree of freedom; three redundant rows a loop.
pub fn four_bars(n: usize) -> Model {
    let mut builder = Builder::new(&format!("{n} four-bars"));
    let hinge = |builder: &mut Builder, name: &str, bodies: [BodyId; 2], point: &Vec3| {
        let [a, b] = builder.joint_frames(bodies, point, &Vec3::y());
        builder.joint(name, bodies, JointKind::Hinge(Hinge::new(&a, &b)), None);
    };
    let foot = |i: usize| Vec3::new(i as f64, 0.0, 0.0);
    let mut last: Option<(BodyId, BodyId)> = None;
    for i in 0..=n {
        let top = foot(i) + Vec3::z();
        let mut upright = rod(&format!("upright{i}"), foot(i), top);
        upright.angular_velocity = Vec3::y();
        upright.velocity = Vec3::x() * 0.5;
        let upright = builder.body(&upright);
        hinge(&mut builder, &format!("foot{i}"), [BodyId::WORLD, upright], &foot(i));
        if let Some((_, across)) = last {
            hinge(&mut builder, &format!("right{i}"), [across, upright], &top);
        }
        if i < n {
            let mut across = rod(&format!("across{i}"), top, foot(i + 1) + Vec3::z());
            across.velocity = Vec3::x();
            let across = builder.body(&across);
            hinge(&mut builder, &format!("left{i}"), [upright, across], &top);
            last = Some((upright, across));
        }
    }
    builder.finish()
}
