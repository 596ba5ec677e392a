//! Speed beside error: the 8-loop and chains with both solvers.
//!
//! `cargo run --release -p gelenk-impulse --example solver_speed`
#![expect(clippy::print_stdout, reason = "an example shows its results")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use gelenk_impulse::Simulation;
use gelenk_model::math::Vec3;
use gelenk_model::{Builder, Model, RunSettings};

fn measure(name: &str, model: &Model, settings: &RunSettings, seconds: f64) {
    let mut simulation = match Simulation::new(model, settings) {
        Ok(simulation) => simulation,
        Err(failure) => return println!("{name}: {failure}"),
    };
    let steps = (seconds / settings.step).round();
    let start = Instant::now();
    while simulation.state().t < seconds - 0.5 * settings.step {
        if let Err(failure) = simulation.step() {
            println!("{name}: {failure}");
            break;
        }
    }
    let wall = start.elapsed().as_secs_f64();
    let sample = simulation.sample();
    let gap = sample.worst_gaps.iter().fold(0.0_f64, |a, b| a.max(*b));
    println!(
        "{name:24} {:9}  {:8.0} x real time  {:8.2} us/step  {:6.2} corrections/step  {:5.1} M corrections/s  gap {gap:.1e} m  energy error {:+.2e} J",
        settings.solver,
        seconds / wall,
        1e6 * wall / steps,
        simulation.totals().corrections as f64 / steps,
        simulation.totals().corrections as f64 / wall / 1e6,
        sample.ledger.integrator_error(),
    );
}

/// Links of 0.1 m in a horizontal line, hung up at one end. (A chain of 1000 m that hangs would be pulled so hard that its links
/// swing faster than a step of 1 ms can tell.)
fn chain(n: u32) -> Model {
    let mut builder = Builder::new("chain");
    let mut last = gelenk_model::BodyId::WORLD;
    for i in 0..n {
        let at = |k: u32| Vec3::new(0.1, 0.0, 0.0) * f64::from(k);
        let body = common::rod(&mut builder, &format!("link {i}"), at(i), at(i + 1));
        common::ball(&mut builder, &format!("joint {i}"), last, body, at(i));
        last = body;
    }
    builder.finish()
}

fn main() {
    let eight = common::eight_loop();
    for solver in ["sweep-accelerated", "direct"] {
        for velocity_correction in [true, false] {
            let settings = RunSettings {
                solver: solver.to_owned(),
                velocity_correction,
                velocity_tolerance: 1e-4,
                ..common::settings(0.01, 1e-5)
            };
            measure("eight-loop", &eight, &settings, 10.0);
        }
    }
    for n in [10, 100, 1000, 10000] {
        let settings = RunSettings {
            solver: "direct".to_owned(),
            velocity_correction: false,
            ..common::settings(0.001, 1e-9)
        };
        measure(&format!("chain of {n}"), &chain(n), &settings, if n > 1000 { 0.02 } else { 0.2 });
    }
}
