//! A model built in code: a pendulum on a cart that a spring pulls. `cargo run --example own_model`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use gelenk::model::force::{ForceKind, PointPair, Spring};
use gelenk::model::joint::{Hinge, Slider};
use gelenk::model::math::{Mat3, Vec3};
use gelenk::model::signal::Value;
use gelenk::model::{
    BodyDef, BodyId, Builder, CheckOptions, JointId, JointKind, RunSettings, check,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = Builder::new("cart and pendulum");

    // Mass, and inertia about the centre of mass; then the place of that centre.
    let cart = builder.body(&BodyDef::new("cart", 3.0, Mat3::identity() * 0.05));
    let (m, l) = (1.0, 0.8);
    let rod = Mat3::from_diagonal(&Vec3::new(m * l * l / 12.0, m * l * l / 12.0, 1e-4));
    let middle = Vec3::new(0.0, 0.0, -l / 2.0);
    let pendulum = builder.body(&BodyDef::new("pendulum", m, rod).at(middle));

    // Joints are given as things stand at the start: a point and an axis in the world.
    let pair = [BodyId::WORLD, cart];
    let [a, b] = builder.joint_frames(pair, &Vec3::zeros(), &Vec3::x());
    let rail = builder.joint("rail", pair, JointKind::Slider(Slider::new(&a, &b)), None);
    let pair = [cart, pendulum];
    let [a, b] = builder.joint_frames(pair, &Vec3::zeros(), &Vec3::y());
    let pivot = builder.joint("pivot", pair, JointKind::Hinge(Hinge::new(&a, &b)), None);

    // A spring from a post at x = 1 m, stretched by 0.4 m.
    let ends = PointPair { bodies: [BodyId::WORLD, cart], points: [Vec3::x(), Vec3::zeros()] };
    let (length, stiffness) = (Value::Constant(0.6), Value::Constant(40.0));
    builder.force("spring", ForceKind::Spring(Spring { ends, length, stiffness }));
    let model = builder.finish();

    let freedom = check(&model, &CheckOptions::default()).degrees_of_freedom;
    println!("{freedom} degrees of freedom");
    assert_eq!(freedom, 2);

    // `()` watches nothing; the report has the end.
    let settings = RunSettings { duration: 3.0, step: 0.005, order: 4, ..RunSettings::default() };
    let report = gelenk::simulate(&model, &settings, &mut ())?;
    let at = |id: JointId| report.state.coordinate[model.joints[id.index()].first_coordinate];
    println!("t = {} s: cart at {:.4} m, pendulum at {:.4} rad", report.t, at(rail), at(pivot));
    println!("largest energy error {:.1e} J", report.energy_max_abs_error);
    assert!(report.energy_max_abs_error < 1e-5, "order 4 keeps the energy");
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
