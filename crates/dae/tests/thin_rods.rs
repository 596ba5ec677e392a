//! Thin rods that joints hold off their axis: their spin hands on the inertia of the bodies joined to them.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_dae::{Options, Simulation};
use gelenk_model::math::Vec3;
use gelenk_model::{CheckOptions, LoadOptions, Model, State, check, load_text};

/// Two rods and no weight: one on a ball joint, one across its end on a hinge. The first one's spin turns the second.
fn cross(moment: f64) -> Model {
    let text = format!(
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
    );
    load_text("cross", &text, &LoadOptions::default()).unwrap().model
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

fn run(model: &Model, t_end: f64) -> (State, State) {
    let mut simulation = Simulation::new(model, &model.start, &Options::default()).unwrap();
    let y = simulation.y().to_vec();
    let start = simulation.look(0.0, &y);
    (start, simulation.run(t_end).unwrap())
}

#[test]
fn energy_and_momentum_stay() {
    let model = cross(0.0);
    assert_eq!(model.held_spins().len(), 2);
    let (start, end) = run(&model, 2.0);
    let energy = [&start, &end].map(|state| model.kinetic_energy(state));
    assert!(energy[0] > 2.0 && (energy[0] - energy[1]).abs() < 1e-9, "{energy:?}");
    let [before, after] = [&start, &end].map(|state| momentum(&model, state));
    assert!((before - after).norm() < 1e-9, "{before} {after}");
}

/// A rod with a moment δ moves as one without in the limit; what is left is of first order in δ.
#[test]
fn rods_are_the_limit_of_thick_ones() {
    let ends: Vec<State> = [0.0, 1e-7, 2e-7].map(|moment| run(&cross(moment), 0.3).1).into();
    for i in 1..=2 {
        let near = (ends[1].s[i] - ends[0].s[i]).norm();
        assert!(near < 1e-4, "{near:e}");
        let limit = ends[1].s[i] * 2.0 - ends[2].s[i];
        let off = (limit - ends[0].s[i]).norm();
        assert!(off < 1e-8, "{off:e} of {near:e}");
    }
}

/// Start velocities that do not fit are those nearest in the norm of kinetic energy, which has no part for the spin of a thin rod.
#[test]
fn start_velocities_are_projected_as_in_the_limit() {
    let misfit = |moment: f64| {
        let mut model = cross(moment);
        model.start.omega[1] += Vec3::new(0.3, 0.2, -0.5);
        model.start.s_dot[2] += Vec3::new(0.1, -0.4, 0.2);
        run(&model, 0.0).0
    };
    let [thin, thick, thicker] = [0.0, 1e-7, 2e-7].map(misfit);
    for i in 1..=2 {
        let off = (thick.s_dot[i] * 2.0 - thicker.s_dot[i] - thin.s_dot[i]).norm();
        let turn = (thick.omega[i] * 2.0 - thicker.omega[i] - thin.omega[i]).norm();
        assert!(off < 1e-9 && turn < 1e-9, "{off:e} {turn:e}");
    }
}

#[test]
fn check_counts_the_spin() {
    let report = check(&cross(0.0), &CheckOptions::default());
    assert_eq!(
        report.degrees_of_freedom,
        check(&cross(0.01), &CheckOptions::default()).degrees_of_freedom
    );
    assert_eq!(report.degrees_of_freedom, 4);
    assert!(report.redundant.is_empty() && report.warnings.is_empty(), "{:?}", report.warnings);
}

/// Exact derivatives know of it, too: the implicit method finds the same motion.
#[test]
fn the_implicit_method_agrees() {
    let model = cross(0.0);
    let options = Options {
        rtol: 1e-10,
        atol: 1e-10,
        method: gelenk_ode::Method::Radau5,
        ..Options::default()
    };
    let mut simulation = Simulation::new(&model, &model.start, &options).unwrap();
    let found = simulation.run(0.3).unwrap();
    let (_, want) = run(&model, 0.3);
    for i in 1..=2 {
        assert!((found.s[i] - want.s[i]).norm() < 1e-8);
    }
}
