//! Servos at their largest force, and force laws that switch without end.

use gelenk_dae::{DaeError, Options, Simulation};
use gelenk_model::{LoadOptions, Model, load_text};

fn sledge(extra: &str) -> Model {
    let text = format!(
        r#"
        [model]
        gravity = [0, 0, 0]
        [[body]]
        name = "sledge"
        mass = 1
        inertia = [0.1, 0.1, 0.1]
        [[joint]]
        name = "way"
        type = "slider"
        between = ["world", "sledge"]
        point = [0, 0, 0]
        axis = [1, 0, 0]
        {extra}
        "#
    );
    load_text("sledge", &text, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}")).model
}

/// A constant force until k (1 − x) falls below it, then an oscillation about x = 1: the corner is found, so that all digits hold.
#[test]
fn the_bound_of_a_servo_is_found_in_time() {
    let model = sledge("drive = { position = 1, stiffness = 100, max_force = 5 }");
    let mut simulation = Simulation::new(&model, &model.start, &Options::default()).unwrap();
    let corner = (2.0 * 0.95 / 5.0_f64).sqrt();
    let t = corner + 0.02;
    let state = simulation.run(t).unwrap();
    let (sin, cos) = 0.2_f64.sin_cos();
    let x = 1.0 - 0.05 * cos + 0.5 * corner * sin;
    assert!((state.s[1].x - x).abs() < 1e-12, "{} {x}", state.s[1].x);
    assert_eq!(simulation.statistics().events, 1);
}

/// Friction written as a force law with a jump: once at rest it switches without end; the run ends and names it.
#[test]
fn a_law_that_flutters_is_named() {
    let model = sledge(
        r#"
        [[force]]
        name = "relay"
        body = "sledge"
        force = ["5 - 10*sign(body.sledge.velocity.x)", 0, 0]
        "#,
    );
    let mut start = model.start.clone();
    start.s_dot[1].x = 1.0;
    let mut simulation = Simulation::new(&model, &start, &Options::default()).unwrap();
    match simulation.run(1.0) {
        Err(DaeError::Chatters { element, .. }) => assert_eq!(element, "relay"),
        other => panic!("{:?}", other.map(|state| state.s)),
    }
}
