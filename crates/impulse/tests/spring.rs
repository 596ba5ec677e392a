//! Force elements: springs, dampers, drives, and their lines in the ledger.

mod common;

use common::{after, settings, slope, toml};
use gelenk_impulse::Simulation;
use gelenk_model::{Model, RunSettings};

/// \[Schmitt 2003\] table 10.1: h and the mean of |y − cos t| over 17.2 s.
const TABLE_10_1: [(f64, f64); 7] = [
    (0.04, 0.000_366_301_5),
    (0.02, 9.172_66e-5),
    (0.01, 2.295_15e-5),
    (0.005, 5.740_4e-6),
    (0.0025, 1.435_4e-6),
    (0.00125, 3.589e-7),
    (0.000_625, 8.97e-8),
];

/// ÿ = −y: a unit mass on a unit spring without weight.
fn oscillator(damping: f64) -> Model {
    toml(&format!(
        r#"
[model]
name = "oscillator"
gravity = [0, 0, 0]
[[point]]
name = "mass"
mass = 1
position = [1, 0, 0]
[[spring]]
between = ["world", "mass"]
points = [[-10, 0, 0], [1, 0, 0]]
length = 10
stiffness = 1
damping = {damping}
"#
    ))
}

#[test]
fn table_10_1() {
    let model = oscillator(0.0);
    for (h, paper) in TABLE_10_1 {
        let mut simulation = Simulation::new(&model, &settings(h, 1e-9)).expect("starts");
        let (mut sum, mut n) = (0.0, 0.0);
        while simulation.state().t < 17.2 - 0.5 * h {
            simulation.step().expect("step");
            sum += (simulation.state().s[1].x - simulation.state().t.cos()).abs();
            n += 1.0;
        }
        let mean: f64 = sum / n;
        assert!((mean / paper - 1.0).abs() < 0.02, "h = {h}: {mean:e}, paper {paper:e}");
    }
}

#[test]
fn orders_on_the_oscillator() {
    let model = oscillator(0.0);
    for (order, h) in [(2, 0.1), (4, 0.2), (6, 0.4), (8, 0.8)] {
        let error = |h: f64| {
            let settings = RunSettings { order, ..settings(h, 1e-12) };
            let simulation = after(&model, &settings, 8.0);
            (simulation.state().s[1].x - 8.0_f64.cos()).abs()
        };
        let errors = [error(h), error(h / 2.0)];
        assert!((slope(&errors) - f64::from(order)).abs() < 0.2, "{order}: {errors:?}");
    }
}

/// ÿ = −y − 2 δ ẏ decays as known; the step with a damper is of second order and composes to the fourth; the ledger balances
/// to the error of the method.
#[test]
fn damped_oscillator() {
    let delta: f64 = 0.1;
    let model = oscillator(2.0 * delta);
    let omega = (1.0 - delta * delta).sqrt();
    let t: f64 = 8.0;
    let exact = (-delta * t).exp() * ((omega * t).cos() + delta / omega * (omega * t).sin());
    for (order, h) in [(2, 0.05), (4, 0.1)] {
        let run = |h: f64| {
            let settings = RunSettings { order, ..settings(h, 1e-13) };
            let simulation = after(&model, &settings, t);
            let ledger = simulation.ledger();
            let error = (simulation.state().s[1].x - exact).abs();
            (error, ledger.integrator_error().abs(), ledger.dissipation)
        };
        let (one, two) = (run(h), run(h / 2.0));
        let slope_x = slope(&[one.0, two.0]);
        let slope_e = slope(&[one.1, two.1]);
        assert!((slope_x - f64::from(order)).abs() < 0.2, "{order}: slope {slope_x}");
        assert!((slope_e - f64::from(order)).abs() < 0.3, "{order}: energy slope {slope_e}");
        assert!(two.2 > 0.35 && two.2 < 0.5, "the damper took {} J", two.2);
    }
}

/// A damper a hundred times stronger than fixed-point repetition alone could stand.
#[test]
fn strong_damper_settles() {
    let model = oscillator(20_000.0);
    let simulation = after(&model, &settings(0.01, 1e-9), 1.0);
    let x = simulation.state().s[1].x;
    // ẋ ≈ −x/c
    let exact = (-1.0_f64 / 20_000.0).exp();
    assert!((x - exact).abs() < 1e-7, "{x} {exact}");
    assert!(simulation.ledger().integrator_error().abs() < 1e-6);
}

/// A damper that stops its mass within a fraction of the step: unhalved steps would throw it to and fro for ever, (1 − x)/(1 + x) = −0.96 of its speed each with
/// x = c h/(2 m) = 50.
#[test]
fn a_damper_too_strong_for_the_step_halves_it() {
    let mass = |damping: f64| {
        toml(&format!(
            r#"
[model]
name = "piston"
gravity = [0, 0, 0]
[[body]]
name = "mass"
mass = 1
velocity = [1, 0, 0]
shape = {{ box = {{ size = [0.1, 0.1, 0.1] }} }}
[[joint]]
name = "cylinder"
type = "slider"
between = ["world", "mass"]
point = [0, 0, 0]
axis = [1, 0, 0]
damping = {damping}
"#
        ))
    };
    let model = mass(1e4);
    let mut simulation = Simulation::new(&model, &settings(0.01, 1e-9)).expect("starts");
    for _ in 0..10 {
        simulation.step().expect("step");
    }
    let state = simulation.state();
    assert!(state.s_dot[1].x.abs() < 1e-3 && state.s[1].x.abs() < 5e-4, "{state:?}");
    let halved = |e: &gelenk_model::Event| e.kind == "step-halved" && e.detail.contains("dampers");
    assert!(simulation.take_events().iter().any(halved));
    // No step that can be made is short enough for this one.
    let model = mass(1e9);
    let mut simulation = Simulation::new(&model, &settings(0.01, 1e-9)).expect("starts");
    let failure = simulation.step().expect_err("it would be thrown back").to_string();
    assert!(failure.contains("dampers") && failure.contains("`mass`"), "{failure}");
}

/// A prescribed motion does the work that the ledger says: a bar turned at constant speed against gravity.
#[test]
fn prescribed_motion_does_work() {
    let model = toml(
        r#"
[model]
name = "crane"
[[body]]
name = "bar"
mass = 2
ends = [[0, 0, 0], [1, 0, 0]]
shape = { cylinder = { radius = 0.05 } }
angular_velocity = [0, -0.5, 0]
velocity = [0, 0, 0.25]
[[joint]]
name = "hinge"
type = "hinge"
between = ["world", "bar"]
point = [0, 0, 0]
axis = [0, -1, 0]
motion = { angle = "0.5*t" }
"#,
    );
    let mut last = 0.0;
    for h in [0.02, 0.01] {
        let simulation = after(&model, &settings(h, 1e-12), 2.0);
        let angle = simulation.state().coordinate[0];
        assert!((angle - 1.0).abs() < 1e-11, "{angle}");
        let ledger = simulation.ledger();
        // From horizontal to 1 rad: m g ½ sin 1.
        let exact = 2.0 * 9.81 * 0.5 * 1.0_f64.sin();
        let error = (ledger.work - exact).abs();
        assert!(error < 2e-3 * exact, "{} {exact}", ledger.work);
        assert!(ledger.integrator_error().abs() <= error + 1e-9);
        if last > 0.0 {
            let ratio: f64 = last / error;
            assert!((ratio - 4.0).abs() < 0.2, "the work is of second order: {ratio}");
        }
        last = error;
    }
}

/// A motor of constant torque on a free wheel: ω = T t/J, and the ledger's work is the kinetic energy.
#[test]
fn motor_spins_a_wheel() {
    let model = toml(
        r#"
[model]
name = "wheel"
[[body]]
name = "wheel"
mass = 3
inertia = [0.2, 0.2, 0.4]
[[joint]]
name = "axle"
type = "hinge"
between = ["world", "wheel"]
point = [0, 0, 0]
axis = [0, 0, 1]
motor = { torque = 0.8 }
"#,
    );
    let simulation = after(&model, &settings(0.01, 1e-12), 5.0);
    let omega = simulation.state().omega[1].z;
    assert!((omega - 10.0).abs() < 1e-11, "{omega}");
    assert!((simulation.state().coordinate[0] - 25.0).abs() < 1e-10, "counted over full turns");
    let ledger = simulation.ledger();
    assert!((ledger.work - 20.0).abs() < 1e-10, "{}", ledger.work);
    assert!(ledger.integrator_error().abs() < 1e-10);
    let reaction = simulation.reactions()[0];
    assert!((reaction.force.z - 3.0 * 9.81).abs() < 1e-9, "the bearing carries the weight");
}

/// A spring too stiff for the step does not explode: the step is halved and the event tells.
#[test]
fn stiff_spring_halves_the_step() {
    let model = toml(
        r#"
[model]
name = "stiff"
gravity = [0, 0, 0]
[[point]]
name = "mass"
mass = 1
position = [1.1, 0, 0]
[[spring]]
between = ["world", "mass"]
points = [[0, 0, 0], [1.1, 0, 0]]
length = 1
stiffness = 100000
"#,
    );
    // ω = 316/s: an unhalved leapfrog explodes for h > 2/ω = 0.0063.
    let mut simulation = Simulation::new(&model, &settings(0.02, 1e-9)).expect("starts");
    for _ in 0..100 {
        simulation.step().expect("step");
    }
    let events = simulation.take_events();
    assert!(events.iter().any(|e| e.kind == "step-halved"));
    assert!(events.len() < 20, "told once, not in every step");
    // The spring holds 500 J; an explosion makes many times that.
    assert!(simulation.energy_errors().1 < 250.0, "{:?}", simulation.energy_errors());
}

/// A mass at rest on a stretched spring has no kinetic energy to measure errors by; that is no reason to halve steps, not at its
/// start and not where it turns.
#[test]
fn turning_points_halve_no_step() {
    let model = oscillator(0.0);
    let mut simulation = after(&model, &settings(0.01, 1e-9), 20.0);
    assert_eq!(simulation.take_events(), []);
    assert!(simulation.energy_errors().1 < 1.3e-5, "{:?}", simulation.energy_errors());
}
