//! Machines with closed loops that stand on something, as importers make them: light bodies between joints, servos, feet that begin inside the floor.

mod common;

use common::{settings, toml};
use gelenk_impulse::Simulation;
use gelenk_model::RunSettings;

/// One of two legs: a fork of a milligram between two hinges, thigh, shin, foot, and a rod that keeps the foot level.
const LEG: &str = r#"
[[body]]
name = "SIDE_fork"
mass = 1e-6
inertia = [3e-9, 4e-9, 5e-9]
position = [0, Y, 0.55]

[[body]]
name = "SIDE_thigh"
mass = 1
inertia = [0.01, 0.009, 0.002]
position = [0, Y, 0.42]

[[body]]
name = "SIDE_shin"
mass = 0.6
inertia = [0.006, 0.005, 0.001]
position = [0, Y, 0.18]

[[body]]
name = "SIDE_rod"
mass = 0.1
inertia = [0.001, 0.00101, 0.00002]
position = [-0.08, Y, 0.18]

[[body]]
name = "SIDE_foot"
mass = 0.4
inertia = [0.0005, 0.002, 0.0018]
position = [0, Y, 0.03]
material = "rubber"
shapes = [
  { capsule = { radius = 0.02, length = 0.16 }, position = [0, 0.03, -0.0103], rotation = { axis = [0, 1, 0], angle = 1.5707963267948966 } },
  { capsule = { radius = 0.02, length = 0.16 }, position = [0, -0.03, -0.0103], rotation = { axis = [0, 1, 0], angle = 1.5707963267948966 } },
]

[[joint]]
name = "SIDE_roll"
type = "hinge"
between = ["trunk", "SIDE_fork"]
point = [0, Y, 0.55]
axis = [1, 0, 0]
damping = 1
drive = { angle = 0, stiffness = 300, damping = 5 }

[[joint]]
name = "SIDE_pitch"
type = "hinge"
between = ["SIDE_fork", "SIDE_thigh"]
point = [0, Y, 0.55]
axis = [0, 1, 0]
damping = 1
drive = { angle = 0, stiffness = 300, damping = 5 }

[[joint]]
name = "SIDE_knee"
type = "hinge"
between = ["SIDE_thigh", "SIDE_shin"]
point = [0, Y, 0.3]
axis = [0, 1, 0]
damping = 0.5
drive = { angle = 0, stiffness = 300, damping = 5 }

[[joint]]
name = "SIDE_ankle"
type = "hinge"
between = ["SIDE_shin", "SIDE_foot"]
point = [0, Y, 0.06]
axis = [0, 1, 0]

[[joint]]
name = "SIDE_rod_top"
type = "universal"
between = ["SIDE_thigh", "SIDE_rod"]
point = [-0.08, Y, 0.3]
axis = [0, 1, 0]
axis2 = [1, 0, 0]

[[joint]]
name = "SIDE_rod_bottom"
type = "ball"
between = ["SIDE_rod", "SIDE_foot"]
point = [-0.08, Y, 0.06]
"#;

/// A trunk on two legs, its feet 0.3 mm inside the floor.
fn legs() -> String {
    let trunk = r#"
[model]
name = "legs"
gravity = [0, 0, -9.81]

[[material]]
name = "rubber"
friction = 0.8

[[body]]
name = "floor"
fixed = true
material = "rubber"
shape = { plane = {} }

[[body]]
name = "trunk"
mass = 8
inertia = [0.1, 0.1, 0.1]
position = [0, 0, 0.6]
"#;
    let leg = |side: &str, y: &str| LEG.replace("SIDE", side).replace('Y', y);
    format!("{trunk}{}{}", leg("left", "0.15"), leg("right", "-0.15"))
}

/// Standing takes a few solves a step, and no step is halved: with contact not many times the work without.
#[test]
fn closed_loops_stand_on_the_floor_with_few_solves() {
    let model = toml(&legs());
    let solver = "direct".to_owned();
    let settings = RunSettings { solver, ..settings(5e-4, 1e-9) };
    let mut simulation = Simulation::new(&model, &settings).unwrap();
    let steps = 60;
    for _ in 0..steps {
        simulation.step().unwrap();
    }
    let events = simulation.take_events();
    assert!(events.iter().any(|event| event.kind == "start-overlap"));
    let halved = events.iter().filter(|event| event.kind == "step-halved").count();
    let totals = simulation.totals();
    assert_eq!(halved, 0, "{totals:?}");
    assert!(totals.corrections < 8 * steps, "{totals:?}");
    assert!(totals.velocity_corrections < 12 * steps, "{totals:?}");
    // It is lifted out of the floor, and has not moved else.
    let trunk = simulation.state().s[2].z;
    assert!(trunk > 0.6 && trunk < 0.6 + 4e-4, "{trunk}");
    let ledger = simulation.ledger();
    assert!(ledger.integrator_error().abs() < 1e-6, "{ledger:?}");
    assert!(simulation.worst_gaps().iter().all(|gap| *gap <= 1e-9));
}
