//! How fast the impulse engine runs the paper's 8-loop, beside the error it makes.
//!
//! `cargo run --release -p gelenk-impulse --example eight_loop_speed [solver [step tolerance]]` prints, for a few steps
//! and tolerances or the ones given, corrections a second, simulated over real time, mean energy error and largest gap, over 10 s of motion. The paper had 670,000 corrections a second and
//! 64 times real time on a 1.7 GHz PC.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::ops::ControlFlow;
use std::time::Instant;

use gelenk_impulse::run;
use gelenk_model::joint::Ball;
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::{
    BodyDef, BodyId, Builder, JointKind, Model, Observer, RunFailure, RunSettings, Sample,
};

/// Eight rods of 1 m and 1 kg through nine points, hung up at both ends.
fn eight_loop() -> Model {
    let s = 0.5_f64.sqrt();
    let mut points = [0., 1., 2., 3., 2., 3., 4., 5., 6.].map(|x| Vec3::new(x, 0.0, 0.0));
    points[4] = Vec3::new(3.0 - s, 0.0, -s);
    let rod = Mat3::from_diagonal(&Vec3::new(0.0, 1.0 / 12.0, 1.0 / 12.0));
    let mut builder = Builder::new("eight-loop");
    let mut last = BodyId::WORLD;
    let join = |builder: &mut Builder, i: usize, a: BodyId, b: BodyId| {
        let [a_frame, b_frame] = builder.joint_frames([a, b], &points[i], &Vec3::y());
        let kind = JointKind::Ball(Ball::new(&a_frame, &b_frame));
        builder.joint(&format!("joint {i}"), [a, b], kind, None);
    };
    for i in 0..8 {
        let (p, q) = (points[i], points[i + 1]);
        let mut def = BodyDef::new(&format!("rod {i}"), 1.0, rod).at((p + q) / 2.0);
        let direction = q - p;
        let angle = (-direction.z).atan2(direction.x);
        def.rotation = Quat::from_axis_angle(&Vec3::y_axis(), angle);
        let body = builder.body(&def);
        join(&mut builder, i, last, body);
        last = body;
    }
    join(&mut builder, 8, BodyId::WORLD, last);
    builder.finish()
}

struct Nobody;

impl Observer for Nobody {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn main() -> Result<(), RunFailure> {
    let solver = std::env::args().nth(1).unwrap_or_else(|| "sweep-accelerated".to_owned());
    let model = eight_loop();
    println!("8-loop, 10 s, solver {solver}");
    println!("h, s     tolerance  velocity   corr./step  corr./s   real time   energy error   gap");
    let given: Vec<f64> = std::env::args().skip(2).filter_map(|x| x.parse().ok()).collect();
    let mut cases = vec![(0.01, 1e-5), (0.005, 1e-7), (0.0025, 1e-9), (0.001, 1e-9)];
    if let [step, tolerance] = given[..] {
        cases = vec![(step, tolerance)];
    }
    for (step, tolerance) in cases {
        for velocity_correction in [false, true] {
            let settings = RunSettings {
                step,
                tolerance,
                velocity_tolerance: tolerance,
                velocity_correction,
                solver: solver.clone(),
                sample: Some(10.0),
                ..RunSettings::default()
            };
            let start = Instant::now();
            let report = run(&model, &settings, &mut Nobody)?;
            let wall = start.elapsed().as_secs_f64();
            let gap = report.worst_gaps.iter().fold(0.0, |a: f64, b| a.max(*b));
            println!(
                "{step:<8} {tolerance:<10.0e} {:<10} {:<11.1} {:<9.3e} {:<11.0} {:<14.3e} {gap:.2e}",
                if velocity_correction { "corrected" } else { "as is" },
                report.corrections as f64 / report.steps as f64,
                report.corrections as f64 / wall,
                10.0 / wall,
                report.energy_mean_abs_error,
            );
        }
    }
    Ok(())
}
