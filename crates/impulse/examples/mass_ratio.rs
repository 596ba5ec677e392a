//! Chains of ten rods with mass ratios from 1 to a million, by both solvers: the worst gap, the energy error and the corrections a step.
//!
//! ```sh
//! cargo run --release -p gelenk-impulse --example mass_ratio
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::time::Instant;

use gelenk_impulse::{Failure, Simulation};
use gelenk_model::joint::Ball;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{BodyDef, BodyId, Builder, JointKind, Model, RunSettings};

const LINKS: u32 = 10;
const STEPS: u32 = 1000;

/// A chain held at one end and let go from the horizontal, link i with a mass.
fn chain(mass: impl Fn(u32) -> f64) -> Model {
    let mut builder = Builder::new("chain");
    let mut last = BodyId::WORLD;
    for i in 0..LINKS {
        let mass = mass(i);
        let place = Vec3::new(0.2 * f64::from(i), 0.0, 0.0);
        let across = mass * 0.2 * 0.2 / 12.0;
        let inertia = Mat3::from_diagonal(&Vec3::new(0.01 * across, across, across));
        let def = BodyDef::new(&format!("link {i}"), mass, inertia);
        let link = builder.body(&def.at(place + Vec3::new(0.1, 0.0, 0.0)));
        let [a, b] = builder.joint_frames([last, link], &place, &Vec3::y());
        let joint = JointKind::Ball(Ball::new(&a, &b));
        builder.joint(&format!("joint {i}"), [last, link], joint, None);
        last = link;
    }
    builder.finish()
}

fn main() -> Result<(), Failure> {
    println!(
        "| chain | ratio | solver | gap / tolerance | energy error / kinetic energy | corrections a step | steps/s |"
    );
    println!("|---|---|---|---|---|---|---|");
    let heavy_last = |i: u32| i + 1 == LINKS;
    let in_turn = |i: u32| i % 2 == 1;
    let kinds: [(&str, &dyn Fn(u32) -> bool); 2] =
        [("heavy last link", &heavy_last), ("heavy and light in turn", &in_turn)];
    for (name, heavy) in kinds {
        for ratio in [1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6] {
            let model = chain(|i| if heavy(i) { 0.1 * ratio } else { 0.1 });
            for solver in ["direct", "sweep-accelerated"] {
                let settings = RunSettings {
                    step: 0.002,
                    tolerance: 1e-9,
                    solver: solver.to_owned(),
                    ..RunSettings::default()
                };
                let begin = Instant::now();
                let mut simulation = Simulation::new(&model, &settings)?;
                let mut kinetic = 0.0_f64;
                for _ in 0..STEPS {
                    simulation.step()?;
                    kinetic = kinetic.max(simulation.ledger().kinetic);
                }
                let gap = simulation.worst_gaps().iter().fold(0.0_f64, |a, b| a.max(*b));
                println!(
                    "| {name} | {ratio:.0e} | {solver} | {:.2} | {:.1e} | {:.1} | {:.0} |",
                    gap / settings.tolerance,
                    simulation.energy_errors().1 / kinetic,
                    simulation.totals().corrections as f64 / f64::from(STEPS),
                    f64::from(STEPS) / begin.elapsed().as_secs_f64(),
                );
            }
        }
    }
    Ok(())
}
