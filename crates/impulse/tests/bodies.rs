//! Rigid bodies: tops, chains in free space, mass ratios, reactions, ropes.

mod common;

use common::{HeavyTop, after, ball, settings, slope, toml};
use gelenk_impulse::Simulation;
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{BodyDef, BodyId, Builder, Model, RunSettings};

fn top() -> HeavyTop {
    let mut top =
        HeavyTop { mass: 1.5, l: 0.4, j1: 0.05, j3: 0.08, theta: 0.6, precession: 0.0, spin: 40.0 };
    // Regular precession: (J1 + m l²) Ω² cos θ − J3 ω3 Ω + m g l = 0, the slow root.
    let (a, b, c) = (
        (top.j1 + top.mass * top.l * top.l) * top.theta.cos(),
        top.j3 * top.spin,
        top.mass * 9.81 * top.l,
    );
    top.precession = 2.0 * c / (b + (b * b - 4.0 * a * c).sqrt());
    top
}

/// The axis of a heavy top in regular precession goes round at constant tilt; all orders show.
#[test]
fn regular_precession() {
    let top = top();
    let model = top.model();
    let t: f64 = 1.0;
    let exact = {
        let (sin, cos) = (top.precession * t).sin_cos();
        let (s, c) = top.theta.sin_cos();
        Vec3::new(s * cos, s * sin, c) * top.l
    };
    for (order, h) in [(2, 0.005), (4, 0.01), (6, 0.025), (8, 0.05)] {
        let error = |h: f64| {
            let settings = RunSettings { order, ..settings(h, 1e-15) };
            (after(&model, &settings, t).state().s[1] - exact).norm()
        };
        let errors = [error(h), error(h / 2.0)];
        let slope = slope(&errors);
        assert!((slope - f64::from(order)).abs() < 0.35, "order {order}: {slope} {errors:?}");
    }
}

/// A top that nutates, without a closed form: orders by a fine run.
#[test]
fn nutating_top_orders() {
    let mut top = top();
    top.precession = 0.0;
    let model = top.model();
    let fine = RunSettings { order: 8, ..settings(0.01, 1e-15) };
    let reference = after(&model, &fine, 0.6).state().s[1];
    for (order, h) in [(2, 0.005), (4, 0.02), (6, 0.03)] {
        let error = |h: f64| {
            let settings = RunSettings { order, ..settings(h, 1e-15) };
            (after(&model, &settings, 0.6).state().s[1] - reference).norm()
        };
        let errors = [error(h), error(h / 2.0)];
        let slope = slope(&errors);
        assert!((slope - f64::from(order)).abs() < 0.35, "order {order}: {slope} {errors:?}");
    }
}

/// Three linked boxes tumble through empty space.
fn tumbling() -> Model {
    let mut builder = Builder::new("tumbling");
    builder.gravity(Vec3::zeros());
    let mut last = None;
    for i in 0..3_u8 {
        let x = f64::from(i);
        let mut def = BodyDef::new(
            &format!("box {i}"),
            1.0 + x,
            Mat3::from_diagonal(&Vec3::new(0.1, 0.2 + 0.1 * x, 0.25 + 0.1 * x)),
        );
        def.position = Vec3::new(x, 0.3 * x, 0.0);
        def.angular_velocity = Vec3::new(1.0, 2.0 - x, 0.5 + x);
        def.velocity = Vec3::new(0.3 * x, 0.0, 1.0);
        let body = builder.body(&def);
        if let Some(last) = last {
            let point = def.position - Vec3::new(0.5, 0.15, 0.1);
            ball(&mut builder, &format!("joint {i}"), last, body, point);
        }
        last = Some(body);
    }
    builder.finish()
}

fn momenta(model: &Model, simulation: &Simulation<'_>) -> (Vec3, Vec3) {
    let state = simulation.state();
    let (mut linear, mut angular) = (Vec3::zeros(), Vec3::zeros());
    for (i, body) in model.bodies.iter().enumerate().skip(1) {
        let spin = state.rot[i].inverse_transform_vector(&state.omega[i]);
        let p = state.s_dot[i] * body.mass;
        linear += p;
        angular += state.s[i].cross(&p) + state.rot[i] * body.inertia.component_mul(&spin);
    }
    (linear, angular)
}

/// Joint impulses come in pairs: momentum and angular momentum stay to rounding, at any tolerance; the centre moves on a
/// straight line.
#[test]
fn linked_bodies_keep_their_momenta() {
    let model = tumbling();
    for tolerance in [1e-4, 1e-12] {
        let mut simulation = Simulation::new(&model, &settings(0.01, tolerance)).expect("starts");
        assert!(simulation.take_events().iter().any(|e| e.kind == "start-velocity"));
        let (linear, angular) = momenta(&model, &simulation);
        for _ in 0..1000 {
            simulation.step().expect("step");
        }
        let (linear_now, angular_now) = momenta(&model, &simulation);
        assert!((linear_now - linear).norm() < 1e-12 * linear.norm());
        // A gap lets the pair act at two points: the moment p × gap.
        let allowed = if tolerance < 1e-9 { 1e-10 } else { 0.02 };
        let change = (angular_now - angular).norm() / angular.norm();
        assert!(change < allowed, "tolerance {tolerance:e}: {change:e}");
    }
}

/// A free asymmetric body keeps energy and angular momentum to 1e-12 through the whole engine.
#[test]
fn free_body_is_exact() {
    let mut builder = Builder::new("free body");
    builder.gravity(Vec3::new(0.0, 0.0, -9.81));
    let mut def = BodyDef::new("box", 2.0, Mat3::from_diagonal(&Vec3::new(0.1, 0.2, 0.28)));
    def.angular_velocity = Vec3::new(0.1, 5.0, -0.2);
    def.velocity = Vec3::new(1.0, 2.0, 30.0);
    builder.body(&def);
    let model = builder.finish();
    let mut simulation = Simulation::new(&model, &settings(0.01, 1e-9)).expect("starts");
    for _ in 0..1000 {
        simulation.step().expect("step");
    }
    let state = simulation.state();
    let exact = Vec3::new(10.0, 20.0, 300.0 - 0.5 * 9.81 * 100.0);
    assert!((state.s[1] - exact).norm() < 1e-10);
    let ledger = simulation.ledger();
    assert!((ledger.integrator_error() / ledger.initial).abs() < 1e-12);
}

/// A weight of a ton on a chain of gram-light rods hangs still, with the right force in every joint.
#[test]
fn heavy_weight_on_light_chain() {
    let mut builder = Builder::new("weight");
    let mut last = BodyId::WORLD;
    for i in 0..5_u8 {
        let z = -0.2 * f64::from(i);
        let inertia = Mat3::from_diagonal(&Vec3::new(1e-6, 1e-6, 1e-9));
        let def =
            BodyDef::new(&format!("link {i}"), 1e-3, inertia).at(Vec3::new(0.0, 0.0, z - 0.1));
        let link = builder.body(&def);
        ball(&mut builder, &format!("joint {i}"), last, link, Vec3::new(0.0, 0.0, z));
        last = link;
    }
    let inertia = Mat3::from_diagonal_element(100.0);
    let weight =
        builder.body(&BodyDef::new("weight", 1000.0, inertia).at(Vec3::new(0.0, 0.0, -1.5)));
    ball(&mut builder, "hook", last, weight, Vec3::new(0.0, 0.0, -1.0));
    let model = builder.finish();
    let simulation = after(&model, &settings(0.01, 1e-9), 0.5);
    assert!((simulation.state().s[6].z + 1.5).abs() < 1e-8);
    for (i, reaction) in simulation.reactions().iter().enumerate() {
        let below = 1000.0 + 1e-3 * (5.0 - i as f64);
        // The tolerance of 1e-9 m over steps of 0.01 s is a force of m · 1e-9/h² = 0.01 N.
        assert!((reaction.force.z - below * 9.81).abs() < 0.05, "{i}: {}", reaction.force.z);
    }
}

/// A hinge carries torque across its axis and none along it.
#[test]
fn hinge_reaction_of_a_cantilever() {
    let model = toml(
        r#"
[model]
name = "beam"
[[body]]
name = "beam"
mass = 4
inertia = [0.1, 0.5, 0.5]
position = [0.6, 0, 0]
[[joint]]
name = "wall"
type = "hinge"
between = ["world", "beam"]
point = [0, 0, 0]
axis = [0, 0, 1]
"#,
    );
    let simulation = after(&model, &settings(0.01, 1e-12), 0.3);
    let reaction = simulation.reactions()[0];
    assert!((reaction.force - Vec3::new(0.0, 0.0, 39.24)).norm() < 1e-9, "{}", reaction.force);
    // Weight 39.24 N at 0.6 m: the wall holds against it about −y.
    assert!((reaction.torque - Vec3::new(0.0, -23.544, 0.0)).norm() < 1e-9, "{}", reaction.torque);
}

/// A ball thrown up on a rope flies freely while the rope is slack, is caught without rebound, and swings.
#[test]
fn rope_pulls_and_never_pushes() {
    let model = toml(
        r#"
[model]
name = "rope"
[[point]]
name = "ball"
mass = 2
position = [0.5, 0, 0]
velocity = [0, 0, 2]
[[joint]]
name = "rope"
type = "rope"
between = ["world", "ball"]
points = [[0, 0, 0], [0.5, 0, 0]]
length = 1
"#,
    );
    let mut simulation = Simulation::new(&model, &settings(0.001, 1e-9)).expect("starts");
    let mut caught = None;
    while simulation.state().t < 3.0 {
        simulation.step().expect("step");
        let (t, s) = (simulation.state().t, simulation.state().s[1]);
        assert!(s.norm() < 1.0 + 2e-9, "t = {t}: {}", s.norm());
        let fall = Vec3::new(0.5, 0.0, 2.0 * t - 0.5 * 9.81 * t * t);
        if caught.is_none() {
            if simulation.reactions()[0].force.norm() > 0.0 {
                caught = Some(t);
            } else {
                assert!((s - fall).norm() < 1e-12, "free flight until the rope is taut");
                assert!(fall.norm() < 1.0 + 1e-9);
            }
        }
    }
    // |r(t)| = 1: 0.25 + (2 t − g t²/2)² = 1.
    let z = -0.75_f64.sqrt();
    let expected = (2.0 + (4.0 - 2.0 * 9.81 * z).sqrt()) / 9.81;
    let caught = caught.expect("caught");
    assert!((caught - expected).abs() < 0.0011, "{caught} {expected}");
    let ledger = simulation.ledger();
    // The radial speed is lost: r = (0.5, z), v = (0, 2 − g t).
    let radial = z * (2.0 - 9.81 * expected);
    let lost = 0.5 * 2.0 * radial * radial;
    assert!((ledger.impact_loss / lost - 1.0).abs() < 0.01, "{} {lost}", ledger.impact_loss);
    assert!(ledger.integrator_error().abs() < 1e-3 * lost, "{}", ledger.integrator_error());
}
