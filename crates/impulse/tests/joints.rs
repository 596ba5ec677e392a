//! Joints that break, are removed, put back and added while the model runs.

mod common;

use common::{settings, toml};
use gelenk_impulse::Simulation;
use gelenk_model::joint::{Ball, Hinge, JointProperties, Limit};
use gelenk_model::math::Vec3;
use gelenk_model::{BodyId, JointKind, Model, RunSettings};

/// Moment about the pivot, kg m².
const MOMENT: f64 = 0.5 + 1.5 * 4.0;

/// A bob of 1.5 kg and 0.5 kg m² on an arm of 2 m that is let go from the horizontal.
///
/// With φ from the horizontal and I = J + m l²: φ̈ = m g l cos φ/I, φ̇² = 2 m g l sin φ/I. The force of the pivot is
/// m g sin φ + m l φ̇² along the arm and m (g cos φ − l φ̈) across; 3 m g sin φ for a point, J = 0.
fn arm(keys: &str) -> Model {
    toml(&format!(
        r#"
[model]
name = "arm"
[[body]]
name = "bob"
mass = 1.5
inertia = [0.5, 0.5, 0.5]
position = [2, 0, 0]
[[joint]]
name = "pivot"
type = "hinge"
between = ["world", "bob"]
point = [0, 0, 0]
axis = [0, 1, 0]
{keys}
"#
    ))
}

/// When the arm is at an angle, s.
fn time_of(angle: f64) -> f64 {
    // dt = dφ/√(2 m g l sin φ/I); φ = u² takes the root at the start away.
    let n = 4000;
    let f = |u: f64| {
        let phi = u * u;
        if u == 0.0 { 2.0 } else { 2.0 * u / phi.sin().sqrt() }
    };
    let end = angle.sqrt();
    let h = end / f64::from(n);
    let sum: f64 = (0..n)
        .map(|i| {
            let u = f64::from(i) * h;
            (f(u) + 4.0 * f(u + 0.5 * h) + f(u + h)) * h / 6.0
        })
        .sum();
    sum / (2.0 * 1.5 * 9.81 * 2.0 / MOMENT).sqrt()
}

/// It breaks at the end of the first step whose mean force is above the strength: the time to a step.
#[test]
fn a_pendulum_breaks_where_its_tension_says() {
    let angle = 40.0_f64.to_radians();
    let part = 1.5 * 4.0 / MOMENT;
    let along = 1.5 * 9.81 * angle.sin() * (1.0 + 2.0 * part);
    let across = 1.5 * 9.81 * angle.cos() * (1.0 - part);
    let strength = along.hypot(across);
    let exact = time_of(angle);
    let model = arm(&format!("break_force = {strength}"));
    for h in [0.01, 0.002, 0.0005] {
        let mut simulation = Simulation::new(&model, &settings(h, 1e-10)).unwrap();
        while simulation.state().t < 0.6 {
            simulation.step().unwrap();
        }
        let events = simulation.take_events();
        let broken: Vec<_> = events.iter().filter(|event| event.kind == "broken").collect();
        assert_eq!(broken.len(), 1, "{events:?}");
        assert_eq!(broken[0].between, ["pivot"]);
        // The mean force is that of the middle of the step, and it breaks at the end.
        let late = broken[0].time - exact;
        assert!(late > 0.49 * h && late < 1.51 * h, "{h}: {} {exact}", broken[0].time);
        assert!(broken[0].detail.contains("force of"), "{}", broken[0].detail);
        // From there it flies freely: nothing holds it and its speed along x stays.
        assert!(!simulation.state().active[0]);
        assert_eq!(simulation.reactions()[0].force, Vec3::zeros());
        let before = simulation.state().s_dot[1];
        simulation.step().unwrap();
        let change = simulation.state().s_dot[1] - before - Vec3::new(0.0, 0.0, -9.81 * h);
        assert!(change.norm() < 1e-13, "{change}");
        let error = simulation.ledger().integrator_error();
        assert!(error.abs() < 50.0 * h * h, "{error}");
    }
}

/// A torque breaks a hinge too, and with it go its spring and its stop; the spring's energy is accounted for.
#[test]
fn what_belongs_to_a_joint_goes_with_it() {
    // A lever of 1 kg at 0.5 m beside the axis of a vertical hinge: 4.905 N m across the axis.
    let text = |strength: f64| {
        format!(
            r#"
[model]
name = "gate"
[[body]]
name = "gate"
mass = 1
inertia = [0.01, 0.01, 0.01]
position = [0.5, 0, 0]
[[joint]]
name = "post"
type = "hinge"
between = ["world", "gate"]
point = [0, 0, 0]
axis = [0, 0, 1]
stiffness = 2
rest = 0.5
limits = {{ min = 0 }}
friction = 0.01
break_torque = {strength}
"#
        )
    };
    let holds = toml(&text(4.95));
    let mut simulation = Simulation::new(&holds, &settings(0.005, 1e-10)).unwrap();
    simulation.step().unwrap();
    assert!(simulation.state().active[0]);
    let breaks = toml(&text(4.9));
    let mut simulation = Simulation::new(&breaks, &settings(0.005, 1e-10)).unwrap();
    simulation.step().unwrap();
    assert!(!simulation.state().active[0]);
    let events = simulation.take_events();
    assert!(events.iter().any(|e| e.kind == "broken" && e.detail.contains("torque of 4.9")));
    for _ in 0..100 {
        simulation.step().unwrap();
    }
    let ledger = simulation.ledger();
    assert!(ledger.integrator_error().abs() < 1e-8, "{ledger:?}");
    let held = ledger.dissipation;
    assert!((held - 0.5 * 2.0 * 0.25).abs() < 0.01 * held, "{ledger:?}");
}

/// A removed joint leaves its freedoms, comes back where it is closed, and is refused where it is open, with the gap.
#[test]
fn joints_are_removed_and_put_back() {
    let model = arm("");
    let joint = model.joint("pivot").unwrap();
    let mut simulation = Simulation::new(&model, &settings(0.01, 1e-10)).unwrap();
    assert_eq!(simulation.check().degrees_of_freedom, 1);
    simulation.remove_joint(joint).unwrap();
    assert_eq!(simulation.check().degrees_of_freedom, 6);
    simulation.restore_joint(joint).unwrap();
    assert_eq!(simulation.check().degrees_of_freedom, 1);
    simulation.remove_joint(joint).unwrap();
    for _ in 0..10 {
        simulation.step().unwrap();
    }
    let fallen = 0.5 * 9.81 * 0.01;
    assert!((simulation.state().s[1].z + fallen).abs() < 1e-12);
    let before = simulation.state().clone();
    let failure = simulation.restore_joint(joint).unwrap_err();
    assert!(failure.reason.contains("`pivot` is open by 4.905e-2"), "{failure}");
    assert_eq!(*simulation.state(), before);
    // A clone of the state is a checkpoint, with the joint away.
    let mut other = Simulation::from_state(&model, &settings(0.01, 1e-10), before).unwrap();
    other.step().unwrap();
    simulation.step().unwrap();
    assert_eq!(other.state().s, simulation.state().s);
}

/// A body that falls beside the world is caught by a new joint: the velocity along it goes, and is booked.
#[test]
fn a_joint_is_added_on_the_way() {
    for solver in ["sweep-accelerated", "direct"] {
        let model = arm("");
        let settings = RunSettings { solver: solver.to_owned(), ..settings(0.01, 1e-10) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        simulation.remove_joint(model.joint("pivot").unwrap()).unwrap();
        for _ in 0..10 {
            simulation.step().unwrap();
        }
        let bob = model.body("bob").unwrap();
        let bodies = [BodyId::WORLD, bob];
        // Open by 1 mm: refused, and nothing has changed.
        let [a, mut b] = simulation.joint_frames(bodies, &Vec3::zeros(), &Vec3::y());
        b.origin.x += 1e-3;
        let before = simulation.state().clone();
        let open = JointKind::Ball(Ball::new(&a, &b));
        let refused = simulation.add_joint("hook", bodies, open, None, JointProperties::default());
        assert!(refused.unwrap_err().reason.contains("`hook` is open by 1.000e-3"));
        assert_eq!(*simulation.state(), before);
        assert_eq!(simulation.model().joints.len(), 1);
        // A hinge 2 m away at the same height with a stop: the bob goes on as a pendulum.
        let z = simulation.state().s[1].z;
        let pivot = Vec3::new(0.0, 0.0, z);
        let [a, b] = simulation.joint_frames(bodies, &pivot, &Vec3::y());
        let hinge = JointKind::Hinge(Hinge::new(&a, &b));
        let limit = Limit { which: 0, min: f64::NEG_INFINITY, max: 1.0, restitution: 0.0 };
        let properties = JointProperties { limits: vec![limit], ..JointProperties::default() };
        let id = simulation.add_joint("swing", bodies, hinge, None, properties).unwrap();
        assert_eq!(id.index(), 1);
        assert_eq!(simulation.check().degrees_of_freedom, 1);
        let twice = JointKind::Ball(Ball::new(&a, &b));
        let twice = simulation.add_joint("swing", bodies, twice, None, JointProperties::default());
        assert!(twice.unwrap_err().reason.contains("already"));
        while simulation.state().t < 1.5 {
            simulation.step().unwrap();
            assert!(((simulation.state().s[1] - pivot).norm() - 2.0).abs() < 1e-9);
        }
        // It ends at the stop, 1 rad below the horizontal.
        assert!((simulation.state().coordinate[1] - 1.0).abs() < 1e-9);
        let ledger = simulation.ledger();
        assert!(ledger.integrator_error().abs() < 1e-3 * ledger.impact_loss, "{ledger:?}");
        assert_eq!(simulation.reactions().len(), 2);
    }
}

/// A ball joint of a chain is cut and the pieces fly apart, with both solvers alike.
#[test]
fn a_chain_is_cut() {
    let points: Vec<Vec3> = (0..6).map(|i| Vec3::new(f64::from(i), 0.0, 0.0)).collect();
    let model = common::chain(&points);
    let mut ends = Vec::new();
    for solver in ["sweep-accelerated", "direct"] {
        let settings = RunSettings { solver: solver.to_owned(), ..settings(0.005, 1e-11) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        let middle = model.joint("joint 3").unwrap();
        simulation.remove_joint(middle).unwrap();
        for _ in 0..60 {
            simulation.step().unwrap();
        }
        assert_eq!(simulation.check().degrees_of_freedom, 5 * 5 - 5 * 3);
        let [a, b] = [simulation.state().s[3], simulation.state().s[4]];
        assert!((a - b).norm() > 1.1, "{a} {b}");
        ends.push(simulation.state().s.clone());
    }
    for (one, two) in ends[0].iter().zip(&ends[1]) {
        assert!((one - two).norm() < 1e-8, "{one} {two}");
    }
}

/// A state of another model is refused in words.
#[test]
fn a_state_of_another_model_is_refused() {
    let (model, other) = (arm(""), arm("friction = 1"));
    let failure = Simulation::from_state(&model, &settings(0.01, 1e-9), other.start.clone());
    assert!(failure.unwrap_err().reason.contains("another model"));
}
