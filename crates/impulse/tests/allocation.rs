//! No allocation inside a step after the first.

mod common;

use common::{double_pendulum, eight_loop, settings, toml};
use gelenk_impulse::Simulation;
use gelenk_model::RunSettings;

#[test]
fn steps_allocate_nothing() {
    let driven = toml(
        r#"
[model]
name = "driven"
[[body]]
name = "bar"
mass = 1
inertia = [0.02, 0.1, 0.11]
position = [0.5, 0, 0]
[[joint]]
name = "hinge"
type = "hinge"
between = ["world", "bar"]
point = [0, 0, 0]
axis = [0, 1, 0]
drive = { angle = "0.3*sin(2*t)", stiffness = 40, damping = 2, max_torque = 10 }
[[spring]]
between = ["world", "bar"]
points = [[1, 0, 1], [1, 0, 0]]
length = 0.8
stiffness = 120
damping = 3
"#,
    );
    for (name, model) in
        [("loop", eight_loop()), ("pendulum", double_pendulum()), ("driven", driven)]
    {
        for (solver, order) in [("sweep-accelerated", 2), ("direct", 2), ("sweep-accelerated", 4)] {
            let solver = solver.to_owned();
            let settings = RunSettings { solver, order, ..settings(0.002, 1e-9) };
            let mut simulation = Simulation::new(&model, &settings).expect("starts");
            simulation.step().expect("step");
            let count = allocation_counter::measure(|| {
                for _ in 0..200 {
                    simulation.step().expect("step");
                }
            });
            let what = format!("{name}, {} of order {order}", settings.solver);
            assert!(simulation.take_events().is_empty(), "{what}: no halving");
            assert_eq!(count.count_total, 0, "{what}");
        }
    }
}

/// Nor while a machine stands on its feet.
#[test]
fn standing_allocates_nothing() {
    let model = common::scene_with("hexapod", &[("stride", "0"), ("lift", "0")]);
    let mut simulation = Simulation::new(&model, &model.run).expect("starts");
    for _ in 0..400 {
        simulation.step().expect("step");
    }
    simulation.take_events();
    let count = allocation_counter::measure(|| {
        for _ in 0..100 {
            simulation.step().expect("step");
        }
    });
    assert!(simulation.take_events().is_empty());
    assert_eq!(count.count_total, 0);
}
