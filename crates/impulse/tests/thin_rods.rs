//! Thin rods that joints hold off their axis: their spin hands on the inertia of the bodies joined to them.

mod common;

use common::{settings, toml};
use gelenk_impulse::Simulation;
use gelenk_model::math::Vec3;
use gelenk_model::{Model, RunSettings, State};

/// Two rods and no weight: one on a ball joint, one across its end on a hinge. The first one's spin turns the second.
fn cross(moment: f64) -> Model {
    toml(&format!(
        r#"
        [model]
        name = "cross"
        gravity = [0, 0, 0]
        [[body]]
        name = "upright"
        mass = 1.2
        position = [0, 0, 0.5]
        inertia = [0.1, 0.1, {moment:e}]
        angular_velocity = [0.7, -1.1, 2.0]
        velocity = [-0.55, -0.35, 0]
        [[body]]
        name = "bar"
        mass = 0.8
        position = [0, 0.3, 1]
        inertia = [0.06, {moment:e}, 0.06]
        angular_velocity = [2.2, -1.1, 2.0]
        velocity = [-1.7, -0.7, 0.66]
        [[joint]]
        name = "foot"
        type = "ball"
        between = ["world", "upright"]
        point = [0, 0, 0]
        [[joint]]
        name = "elbow"
        type = "hinge"
        between = ["upright", "bar"]
        point = [0, 0, 1]
        axis = [1, 0, 0]
        "#
    ))
}

/// Angular momentum about the origin.
fn momentum(model: &Model, state: &State) -> Vec3 {
    let mut sum = Vec3::zeros();
    for (i, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
        let omega = state.rot[i].inverse_transform_vector(&state.omega[i]);
        sum += state.s[i].cross(&state.s_dot[i]) * body.mass;
        sum += state.rot[i] * body.inertia.component_mul(&omega);
    }
    sum
}

/// Energy and angular momentum stay (without the spin the energy swings by 40 %), with both solvers, and the dae engine, which gives such axes a
/// stand-in moment and takes it back, finds the same motion.
#[test]
fn spins_are_kept() {
    let model = cross(0.0);
    let run = |solver: &str| {
        let settings =
            RunSettings { order: 4, solver: solver.to_owned(), ..settings(0.002, 1e-12) };
        let mut simulation = Simulation::new(&model, &settings).expect("starts");
        let (energy, turn) = (simulation.ledger().total(), momentum(&model, simulation.state()));
        for _ in 0..500 {
            simulation.step().expect("a step");
        }
        let error = (simulation.ledger().total() - energy).abs() / energy;
        assert!(error < 1e-9, "{solver}: energy off by {error:e}");
        let error = (momentum(&model, simulation.state()) - turn).norm() / turn.norm();
        assert!(error < 1e-9, "{solver}: angular momentum off by {error:e}");
        simulation.state().s[2]
    };
    let options = gelenk_dae::Options::default();
    let mut other = gelenk_dae::Simulation::new(&model, &model.start, &options).expect("starts");
    let bar = other.run(1.0).expect("runs").s[2];
    for solver in ["direct", "sweep-accelerated"] {
        let found = run(solver);
        assert!((found - bar).norm() < 1e-7, "{solver}: {found} {bar}");
    }
}

/// What a load turns a rod by about its own axis goes to what the joint lets move: a rod on a hinge beside its axis, with a damper there, moves
/// as a body with the rod's moment about the hinge does.
#[test]
fn loads_about_the_axis_of_a_rod_are_handed_on() {
    for joint in [
        "damping = 0.3",
        "motor = { torque = 0.4 }",
        "stiffness = 5",
        "drive = { angle = 0.5, stiffness = 20, damping = 1 }",
    ] {
        let model = toml(&format!(
            r#"
            [model]
            name = "rod"
            gravity = [0, 0, 0]
            [[body]]
            name = "rod"
            mass = 0.7
            position = [0.2, 0, 0]
            inertia = [0.01, 0.01, 0]
            velocity = [0, 0.6, 0]
            angular_velocity = [0, 1.8, 3]
            [[joint]]
            name = "pin"
            type = "hinge"
            between = ["world", "rod"]
            point = [0, 0, 0]
            axis = [0, 0.6, 0.8]
            {joint}
            "#
        ));
        // Out of the rod's axis z: J = 0.01 * 0.6² + m d², d the distance of the centre from the hinge.
        let moment = 0.01 * 0.36 + 0.7 * 0.04;
        let settings = RunSettings { solver: "direct".to_owned(), ..settings(1e-3, 1e-11) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        let start = simulation.state().omega[1].norm();
        let (mut q, mut w) = (0.0, start);
        let force = |q: f64, w: f64| match joint {
            "damping = 0.3" => -0.3 * w,
            "motor = { torque = 0.4 }" => 0.4,
            "stiffness = 5" => -5.0 * q,
            _ => 20.0 * (0.5 - q) - w,
        };
        for _ in 0..200 {
            simulation.step().unwrap();
            for _ in 0..100 {
                let h = 1e-5;
                let (q1, w1) = (q + 0.5 * h * w, w + 0.5 * h * force(q, w) / moment);
                (q, w) = (q + h * w1, w + h * force(q1, w1) / moment);
            }
        }
        let state = simulation.state();
        assert!((state.coordinate[0] - q).abs() < 1e-5, "{joint}: {} {q}", state.coordinate[0]);
        let ledger = simulation.ledger();
        assert!(ledger.integrator_error().abs() < 1e-4 * ledger.initial, "{joint}: {ledger:?}");
    }
}
