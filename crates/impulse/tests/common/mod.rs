//! Models and helpers that the tests share.
#![allow(dead_code, unreachable_pub, reason = "every test file takes what it needs")]

use std::ops::ControlFlow;

use gelenk_impulse::Simulation;
use gelenk_model::joint::{Ball, Hinge};
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

/// Settings with a step and a tolerance.
pub fn settings(step: f64, tolerance: f64) -> RunSettings {
    RunSettings { step, tolerance, velocity_tolerance: tolerance, ..RunSettings::default() }
}

/// The simulation after `t` seconds.
pub fn after<'m>(model: &'m Model, settings: &RunSettings, t: f64) -> Simulation<'m> {
    let mut simulation = Simulation::new(model, settings).expect("the model starts");
    while simulation.state().t < t - 0.5 * settings.step {
        simulation.step().expect("the step is made");
    }
    simulation
}
