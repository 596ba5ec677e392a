//! A hand that pulls at a body.

use gelenk_impulse::Simulation;
use gelenk_model::force::Hand;
use gelenk_model::math::Vec3;
use gelenk_model::{LoadOptions, RunSettings, load_text};

/// The pulled pendulum comes to rest where weight, thread and hand balance; what the hand does is booked as work.
#[test]
fn a_pulled_pendulum_comes_to_rest_in_balance() {
    let text = gelenk_scenes::scene("pendulum").expect("in the gallery").text;
    let model = load_text("pendulum", text, &LoadOptions::default()).expect("a model").model;
    let settings = RunSettings { step: 0.005, ..model.run.clone() };
    let mut simulation = Simulation::new(&model, &settings).expect("it starts");
    let body = gelenk_model::BodyId(u32::try_from(model.n_bodies() - 1).expect("few"));
    let target = Vec3::new(0.8, 0.0, -0.2);
    let hand = Hand::new(&model, body, Vec3::zeros(), target, settings.step);
    for _ in 0..20 {
        simulation.step().expect("it runs");
    }
    let before = simulation.state().s[body.index()];
    simulation.pull(Some(hand));
    for _ in 0..4000 {
        simulation.step().expect("it runs on");
    }
    let s = simulation.state().s[body.index()];
    assert!((s - before).norm() > 0.3, "it has moved: {s}");
    assert!(simulation.state().s_dot[body.index()].norm() < 1e-6, "and rests");
    // Across the thread nothing is left of weight and pull.
    let m = model.bodies[body.index()].mass;
    let load = m * model.gravity + hand.stiffness * (target - s);
    let along = s / s.norm();
    let across = load - along * load.dot(&along);
    assert!(across.norm() < 1e-5 * load.norm(), "{across}");
    let ledger = simulation.ledger();
    assert!(ledger.work.abs() > 0.1 && ledger.integrator_error().abs() < 0.02, "{ledger:?}");
    simulation.pull(None);
    for _ in 0..200 {
        simulation.step().expect("it swings on");
    }
    assert!((simulation.state().s[body.index()].norm() - 1.0).abs() < 1e-8, "the thread holds");
    assert!(simulation.model().forces.is_empty());
}

/// A hand is no stronger than it says.
#[test]
fn a_hand_pulls_no_harder_than_its_limit() {
    let text = gelenk_scenes::scene("free-body").expect("in the gallery").text;
    let model = load_text("free-body", text, &LoadOptions::default()).expect("a model").model;
    let mut simulation = Simulation::new(&model, &model.run).expect("it starts");
    let body = gelenk_model::BodyId(1);
    let far = Vec3::new(1e6, 0.0, 0.0);
    let hand = Hand::new(&model, body, Vec3::zeros(), far, model.run.step);
    let before = simulation.state().s_dot[1];
    simulation.pull(Some(hand));
    simulation.step().expect("it runs");
    let dv = (simulation.state().s_dot[1] - before) / model.run.step - model.gravity;
    let limit = hand.max_force / model.bodies[1].mass;
    assert!((dv.norm() - limit).abs() < 1e-6 * limit, "{dv} against {limit}");
}
