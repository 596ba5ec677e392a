//! Models and helpers that the tests share.
#![allow(dead_code, unreachable_pub, reason = "every test file takes what it needs")]

pub mod tree;

use std::ops::ControlFlow;

use gelenk_impulse::Simulation;
use gelenk_model::joint::{Ball, Distance, Hinge, JointFrame};
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::{BodyDef, BodyId, Builder, JointKind, Model, Observer, RunSettings, Sample};

/// An observer that does nothing.
pub struct Nobody;

impl Observer for Nobody {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Inertia of a thin uniform rod along x.
pub fn thin_rod(mass: f64, length: f64) -> Mat3 {
    let j = mass * length * length / 12.0;
    Mat3::from_diagonal(&Vec3::new(0.0, j, j))
}

/// A thin uniform rod of 1 kg/m from p to q.
pub fn rod(builder: &mut Builder, name: &str, p: Vec3, q: Vec3) -> BodyId {
    let length = (q - p).norm();
    let mut def = BodyDef::new(name, length, thin_rod(length, length)).at((p + q) / 2.0);
    def.rotation = Quat::rotation_between(&Vec3::x(), &(q - p))
        .unwrap_or_else(|| Quat::from_axis_angle(&Vec3::y_axis(), std::f64::consts::PI));
    builder.body(&def)
}

/// A ball joint at a world point.
pub fn ball(builder: &mut Builder, name: &str, a: BodyId, b: BodyId, point: Vec3) {
    let [fa, fb] = builder.joint_frames([a, b], &point, &Vec3::y());
    builder.joint(name, [a, b], JointKind::Ball(Ball::new(&fa, &fb)), None);
}

/// A hinge at a world point.
pub fn hinge(builder: &mut Builder, name: &str, a: BodyId, b: BodyId, point: Vec3, axis: Vec3) {
    let [fa, fb] = builder.joint_frames([a, b], &point, &axis);
    builder.joint(name, [a, b], JointKind::Hinge(Hinge::new(&fa, &fb)), None);
}

/// A chain of rods through the points, hung up at both ends.
pub fn chain(points: &[Vec3]) -> Model {
    let mut builder = Builder::new("chain");
    let mut last = BodyId::WORLD;
    for (i, pair) in points.windows(2).enumerate() {
        let body = rod(&mut builder, &format!("rod {}", i + 1), pair[0], pair[1]);
        ball(&mut builder, &format!("joint {i}"), last, body, pair[0]);
        last = body;
    }
    let end = points.len() - 1;
    ball(&mut builder, &format!("joint {end}"), BodyId::WORLD, last, points[end]);
    builder.finish()
}

/// The paper's 8-loop with all joints on one line: singular at the start.
pub fn eight_loop_flat() -> Model {
    chain(&[0., 1., 2., 3., 2., 3., 4., 5., 6.].map(|x| Vec3::new(x, 0.0, 0.0)))
}

/// The 8-loop with the folded joint off the line: regular.
pub fn eight_loop() -> Model {
    let mut points = [0., 1., 2., 3., 2., 3., 4., 5., 6.].map(|x| Vec3::new(x, 0.0, 0.0));
    let s = 0.5_f64.sqrt();
    points[4] = Vec3::new(3.0 - s, 0.0, -s);
    chain(&points)
}

/// Settings with a step and a tolerance, for the papers' sweep; every impact is located.
pub fn settings(step: f64, tolerance: f64) -> RunSettings {
    let (solver, contact) = ("sweep-accelerated".to_owned(), "exact".to_owned());
    let velocity_tolerance = tolerance;
    RunSettings { step, tolerance, velocity_tolerance, solver, contact, ..RunSettings::default() }
}

/// The simulation after `t` seconds.
pub fn after<'m>(model: &'m Model, settings: &RunSettings, t: f64) -> Simulation<'m> {
    let mut simulation = Simulation::new(model, settings).expect("the model starts");
    while simulation.state().t < t - 0.5 * settings.step {
        simulation.step().expect("the step is made");
    }
    simulation
}

/// The mathematical pendulum: a point mass of 1 kg on a massless rod of 1 m, let go at 10°.
pub fn pendulum() -> Model {
    let (sin, cos) = 10.0_f64.to_radians().sin_cos();
    let bob = Vec3::new(sin, 0.0, -cos);
    let mut builder = Builder::new("pendulum");
    let point = builder.point("bob", 1.0, bob, Vec3::zeros(), false);
    distance(&mut builder, "rod", BodyId::WORLD, point, [Vec3::zeros(), bob]);
    builder.finish()
}

/// A massless rod between two world points.
pub fn distance(builder: &mut Builder, name: &str, a: BodyId, b: BodyId, points: [Vec3; 2]) {
    let frame = |body: BodyId, point: &Vec3| JointFrame {
        origin: builder.local_point(body, point),
        axes: Mat3::identity(),
    };
    let (fa, fb) = (frame(a, &points[0]), frame(b, &points[1]));
    let length = (points[1] - points[0]).norm();
    let joint = Distance::new(&fa, &fb, length).expect("a length");
    builder.joint(name, [a, b], JointKind::Distance(joint), None);
}

/// A double pendulum of two thin rods of 1 m and 1 kg that swing in the plane, let go from the horizontal; hinges.
pub fn double_pendulum() -> Model {
    let mut builder = Builder::new("double pendulum");
    let at = |x: f64| Vec3::new(x, 0.0, 0.0);
    let upper = rod(&mut builder, "upper", at(0.0), at(1.0));
    let lower = rod(&mut builder, "lower", at(1.0), at(2.0));
    ball(&mut builder, "shoulder", BodyId::WORLD, upper, at(0.0));
    ball(&mut builder, "elbow", upper, lower, at(1.0));
    builder.finish()
}

/// A heavy symmetric top: J1 = J2 about its centre, J3, mass m, centre at distance l from the fixed point, axis tilted by
/// theta, with precession Ω about z and spin ω3 along its axis.
pub struct HeavyTop {
    pub mass: f64,
    pub l: f64,
    pub j1: f64,
    pub j3: f64,
    pub theta: f64,
    pub precession: f64,
    pub spin: f64,
}

impl HeavyTop {
    pub fn axis(&self) -> Vec3 {
        Vec3::new(self.theta.sin(), 0.0, self.theta.cos())
    }

    pub fn model(&self) -> Model {
        let mut builder = Builder::new("heavy top");
        let inertia = Mat3::from_diagonal(&Vec3::new(self.j1, self.j1, self.j3));
        let mut def = BodyDef::new("top", self.mass, inertia);
        def.rotation = Quat::from_axis_angle(&Vec3::y_axis(), self.theta);
        def.position = self.axis() * self.l;
        // ω = Ω z + (ω3 − Ω cos θ) e
        let slip = self.spin - self.precession * self.theta.cos();
        def.angular_velocity = Vec3::z() * self.precession + self.axis() * slip;
        def.velocity = def.angular_velocity.cross(&def.position);
        let top = builder.body(&def);
        ball(&mut builder, "tip", BodyId::WORLD, top, Vec3::zeros());
        builder.finish()
    }
}

/// Slope of a log-log line through the errors of runs with steps h, h/2, h/4, …
pub fn slope(errors: &[f64]) -> f64 {
    let n = errors.len() - 1;
    (errors[0] / errors[n]).log2() / n as f64
}

/// y(t) of ẏ = f(y) by Gragg, Bulirsch and Stoer with 8 columns over steps of about 0.02: an answer near rounding that shares
/// nothing with the engine.
pub fn extrapolated(f: impl Fn(&[f64]) -> Vec<f64>, y: Vec<f64>, t: f64) -> Vec<f64> {
    extrapolated_over(f, y, t, 0.02)
}

/// [`extrapolated`] over steps of about the given length, for what is quicker.
///
/// Increments are extrapolated, not values, and added with their rounding errors carried along (Kahan).
pub fn extrapolated_over(
    f: impl Fn(&[f64]) -> Vec<f64>,
    mut y: Vec<f64>,
    t: f64,
    about: f64,
) -> Vec<f64> {
    let n = (t / about).ceil();
    let step = t / n;
    let mut lost = vec![0.0; y.len()];
    let mut done = 0.0;
    while done < n {
        let start = f(&y);
        let moved = |d: &[f64]| -> Vec<f64> { y.iter().zip(d).map(|(y, d)| y + d).collect() };
        let mut table: Vec<Vec<f64>> = Vec::new();
        for k in 0..8_i32 {
            let m = 2 * (k + 1);
            let h = step / f64::from(m);
            let mut before = vec![0.0; y.len()];
            let mut now: Vec<f64> = start.iter().map(|f| h * f).collect();
            for _ in 1..m {
                let slope = f(&moved(&now));
                let next = before.iter().zip(&slope).map(|(d, f)| d + 2.0 * h * f).collect();
                before = std::mem::replace(&mut now, next);
            }
            // Aitken-Neville in h².
            let mut row = now;
            let mut rows = Vec::new();
            for (j, earlier) in table.iter().enumerate() {
                let ratio = f64::from(m) / f64::from(2 * (k - i32::try_from(j).expect("small")));
                let factor = ratio * ratio - 1.0;
                let better = row.iter().zip(earlier).map(|(a, b)| a + (a - b) / factor).collect();
                rows.push(std::mem::replace(&mut row, better));
            }
            rows.push(row);
            table = rows;
        }
        let increment = table.pop().expect("eight columns");
        for ((y, lost), increment) in y.iter_mut().zip(&mut lost).zip(increment) {
            let increment = increment - *lost;
            let next = *y + increment;
            *lost = (next - *y) - increment;
            *y = next;
        }
        done += 1.0;
    }
    y
}

/// A model from the text of a model file.
pub fn toml(text: &str) -> Model {
    match gelenk_model::load_text("test.toml", text, &gelenk_model::LoadOptions::default()) {
        Ok(loaded) => loaded.model,
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

/// A model of the gallery.
pub fn scene(name: &str) -> Model {
    scene_with(name, &[])
}

/// A model of the gallery with other parameters.
pub fn scene_with(name: &str, overrides: &[(&str, &str)]) -> Model {
    let scene = gelenk_scenes::scene(name).expect("a scene of that name");
    let overrides = overrides.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let options = gelenk_model::LoadOptions { overrides, ..gelenk_model::LoadOptions::default() };
    match gelenk_model::load_text(name, scene.text, &options) {
        Ok(loaded) => loaded.model,
        Err(diagnostics) => panic!("{name}: {diagnostics}"),
    }
}

/// Settings of accuracy work: the direct solver, an order, a step, and gaps near rounding.
pub fn accurate(order: u32, step: f64) -> RunSettings {
    let (tolerance, solver) = (1e-15, "direct".to_owned());
    RunSettings {
        step,
        order,
        tolerance,
        velocity_tolerance: tolerance,
        solver,
        ..RunSettings::default()
    }
}
