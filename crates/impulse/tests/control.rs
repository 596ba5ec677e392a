//! A control law in the loop.

use gelenk_impulse::control::{Control, Inputs, Measured};
use gelenk_impulse::{Simulation, run, run_controlled};
use gelenk_model::{LoadOptions, Model, RunSettings, State, load_text};

/// A bar upright on a hinge, falling, with a motor of torque `TORQUE`.
fn upright(torque: &str) -> Model {
    let text = r#"
        [inputs]
        torque = 0

        [[body]]
        name = "bar"
        mass = 1
        ends = [[0, 0, 0], [0, 0, 1]]
        shape = { cylinder = { radius = 0.02 } }
        angular_velocity = [0, 1, 0]

        [[joint]]
        name = "pivot"
        type = "hinge"
        between = ["world", "bar"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
        motor = { torque = "TORQUE" }
    "#;
    let text = text.replace("TORQUE", torque);
    load_text("upright", &text, &LoadOptions::default()).expect("a good model").model
}

fn settings(duration: f64) -> RunSettings {
    RunSettings { duration, step: 0.004, order: 4, tolerance: 1e-12, ..RunSettings::default() }
}

fn law(measured: &Measured<'_>, inputs: &mut Inputs<'_>) -> Result<(), String> {
    let angle = measured.coordinate("pivot", "angle").ok_or("no pivot")?;
    let speed = measured.velocity("pivot", "angle").ok_or("no pivot")?;
    inputs.set("torque", -20.0 * angle - 3.0 * speed)
}

fn controlled(model: &Model, period: f64, duration: f64) -> State {
    let mut law = law;
    let mut control = Control { period, law: &mut law };
    run_controlled(model, &settings(duration), &mut control, &mut ()).expect("it runs").state
}

#[test]
fn a_law_in_the_loop_balances_and_converges_to_the_continuous_law() {
    let model = upright("input.torque");
    let fallen = run(&model, &settings(2.0), &mut ()).expect("it runs").state;
    assert!(fallen.coordinate[0].abs() > 1.0, "without control it falls: {}", fallen.coordinate[0]);
    let stands = controlled(&model, 0.01, 8.0);
    assert!(stands.coordinate[0].abs() < 1e-4, "{}", stands.coordinate[0]);
    // The same law as an expression is the limit of fast calls; the hold makes an error of first order in T.
    let exact = upright("-20*joint.pivot.angle - 3*joint.pivot.velocity");
    let exact = run(&exact, &settings(0.5), &mut ()).expect("it runs").state.coordinate[0];
    // Periods that are multiples of the step, parts of it, and neither.
    for period in [0.008, 0.002, 0.003] {
        let error = |period: f64| (controlled(&model, period, 0.5).coordinate[0] - exact).abs();
        let (coarse, fine) = (error(period), error(period / 2.0));
        let slope = (coarse / fine).log2();
        assert!((slope - 1.0).abs() < 0.1, "period {period}: {coarse:.2e}, {fine:.2e}: {slope}");
    }
    assert_eq!(controlled(&model, 0.003, 0.5), controlled(&model, 0.003, 0.5), "the same bits");
}

#[test]
fn calls_come_at_exact_multiples_and_hold() {
    let model = upright("input.torque");
    let mut times = Vec::new();
    let mut law = |measured: &Measured<'_>, inputs: &mut Inputs<'_>| {
        times.push(measured.time());
        assert!(measured.pose("bar").is_some() && measured.twist("bar").is_some());
        assert!(measured.pose("nobody").is_none() && inputs.get("nothing").is_none());
        inputs.set("torque", times.len() as f64)
    };
    let mut control = Control { period: 0.007, law: &mut law };
    run_controlled(&model, &settings(0.1), &mut control, &mut ()).expect("it runs");
    let expected: Vec<f64> = (0..15).map(|k| f64::from(k) * 0.007).collect();
    assert_eq!(times, expected);
    // Step by step, with an input held at a value: the same as that value in the file.
    let constant = upright("0.3");
    let mut held = Simulation::new(&model, &settings(0.1)).expect("a good start");
    held.inputs().set("torque", 0.3).expect("an input");
    let mut fixed = Simulation::new(&constant, &settings(0.1)).expect("a good start");
    for _ in 0..25 {
        held.step().expect("it runs");
        fixed.step().expect("it runs");
    }
    // A law that may read velocities takes another way there: the same but for rounding.
    assert!((held.state().s[1] - fixed.state().s[1]).norm() < 1e-14);
}

#[test]
fn faults_are_told() {
    let model = upright("input.torque");
    let fail = |law: &mut dyn FnMut(&Measured<'_>, &mut Inputs<'_>) -> Result<(), String>,
                period| {
        let mut control = Control { period, law };
        let failure = run_controlled(&model, &settings(0.1), &mut control, &mut ());
        failure.expect_err("a fault").reason
    };
    assert!(fail(&mut |_, inputs| inputs.set("force", 1.0), 0.01).contains("no input `force`"));
    assert!(fail(&mut |_, inputs| inputs.set("torque", f64::NAN), 0.01).contains("not finite"));
    assert!(fail(&mut |_, _| Err("enough".to_owned()), 0.01).contains("t = 0 s: enough"));
    assert!(fail(&mut |_, _| Ok(()), 0.0).contains("control period"));
}
