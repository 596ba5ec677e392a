//! Laws of impact beside their answers in closed form: Poisson's, Newton's, Stronge's.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{settings, toml};
use gelenk_impulse::Simulation;
use gelenk_model::{ImpactLaw, Model, RunSettings, State};

const LAWS: [ImpactLaw; 3] = [ImpactLaw::Poisson, ImpactLaw::Newton, ImpactLaw::Stronge];

/// Radius of what touches, and how far it is beside the centre of mass.
const R: f64 = 0.2;
const A: f64 = 0.3;
const MASS: f64 = 2.0;
const INERTIA: f64 = 0.15;

/// A body that touches the floor with a ball beside its centre of mass; nothing pulls it down.
fn knob(friction: f64, restitution: f64, [x, z]: [f64; 2]) -> Model {
    toml(&format!(
        r#"
[model]
name = "knob"
gravity = [0, 0, 0]

[[material]]
name = "m"
friction = {friction:?}
restitution = {restitution:?}

[[body]]
name = "floor"
fixed = true
material = "m"
shape = {{ plane = {{}} }}

[[body]]
name = "knob"
mass = {MASS:?}
inertia = [0.2, {INERTIA:?}, 0.2]
center_of_mass = [0, 0, 0]
position = [0, 0, {:?}]
velocity = [{x:?}, 0, {z:?}]
material = "m"
shape = {{ sphere = {{ radius = {R:?} }}, position = [{A:?}, 0, 0] }}
"#,
        R + 1e-7
    ))
}

/// After the first impact.
fn struck(model: &Model, law: ImpactLaw) -> (State, f64) {
    let settings =
        RunSettings { impact: law, solver: "direct".to_owned(), ..settings(1e-4, 1e-10) };
    let mut simulation = Simulation::new(model, &settings).unwrap();
    simulation.step().unwrap();
    let events = simulation.take_events();
    assert_eq!(events.iter().filter(|event| event.kind == "impact").count(), 1, "{events:?}");
    (simulation.state().clone(), simulation.ledger().impact_loss)
}

/// v and ω_y after the impulse (t, n) at the point (A, −R).
fn after([x, z]: [f64; 2], [t, n]: [f64; 2]) -> [f64; 3] {
    // Torque about y: z f_x − x f_z.
    [x + t / MASS, z + n / MASS, (-R * t - A * n) / INERTIA]
}

fn agrees(what: &str, state: &State, expected: [f64; 3]) {
    let (v, omega) = (state.s_dot[2], state.omega[2]);
    for (found, expected) in [v.x, v.z, omega.y].into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{what}: {v:?} {omega:?}, expected {expected}");
    }
}

/// K of the contact: speeds (t, n) that impulses (t, n) make.
fn answer() -> [f64; 3] {
    [1.0 / MASS + R * R / INERTIA, 1.0 / MASS + A * A / INERTIA, R * A / INERTIA]
}

/// Without friction, and where it slides one way throughout, all laws are one.
#[test]
fn laws_are_one_where_nothing_comes_to_rest() {
    let [_, nn, tn] = answer();
    for restitution in [0.0, 0.4, 0.9] {
        for (friction, start) in [(0.0, [0.7, -2.0]), (0.05, [6.0, -1.0])] {
            let n = (1.0 + restitution) * -start[1] / (nn - friction * tn);
            let expected = after(start, [-friction * n, n]);
            for law in LAWS {
                let (state, _) = struck(&knob(friction, restitution, start), law);
                agrees(&format!("{law:?}, ε {restitution}, μ {friction}"), &state, expected);
            }
        }
    }
}

/// Where the point stops sliding in the compression and sticks, each law gives back what it says, and Stronge's impulse is the geometric mean of
/// the other two.
#[test]
fn each_law_is_met_where_sliding_stops() {
    let [tt, nn, tn] = answer();
    for restitution in [0.2, 0.6, 1.0] {
        let start = [0.9, -2.0];
        let model = knob(5.0, restitution, start);
        // u = K p + u⁻ = 0 at the end of the compression.
        let det = tt * nn - tn * tn;
        let [t_c, n_c] =
            [(-nn * start[0] + tn * start[1]) / det, (tn * start[0] - tt * start[1]) / det];
        assert!(n_c > 0.0 && t_c.abs() < 5.0 * n_c);
        // In restitution friction holds: t = −(tn/tt) n.
        let k = nn - tn * tn / tt;
        let poisson = restitution * n_c;
        let newton = restitution * -start[1] / k;
        let stronge = restitution * (n_c * -start[1] / k).sqrt();
        assert!((stronge * stronge - poisson * newton).abs() < 1e-12);
        assert!((poisson / newton - 1.0).abs() > 0.05, "the laws differ here");
        for (law, n) in LAWS.into_iter().zip([poisson, newton, stronge]) {
            let (state, loss) = struck(&model, law);
            let expected = after(start, [t_c - tn / tt * n, n_c + n]);
            agrees(&format!("{law:?}, ε {restitution}"), &state, expected);
            assert!(loss > -1e-9, "{law:?}: {loss}");
        }
    }
}

/// Two bodies on a joint hit with their stops at once; whatever the law, no energy is made, and nothing approaches after.
#[test]
fn linked_bodies_bounce_and_make_no_energy() {
    let mut different = false;
    for [first, second] in [[0.8, 0.8], [1.0, 0.1], [0.1, 1.0]] {
        let text = format!(
            r#"
[model]
name = "linked"
gravity = [0, 0, 0]
[[body]]
name = "upper"
mass = 1
ends = [[0, 0, 0], [1, 0, 0]]
shape = {{ cylinder = {{ radius = 0.05 }} }}
angular_velocity = [0, 2, 0]
velocity = [0, 0, -1]
[[body]]
name = "lower"
mass = 0.5
ends = [[1, 0, 0], [1.5, 0, 0]]
shape = {{ cylinder = {{ radius = 0.05 }} }}
angular_velocity = [0, 3.5, 0]
velocity = [0, 0, -2.875]
[[joint]]
name = "shoulder"
type = "hinge"
between = ["world", "upper"]
point = [0, 0, 0]
axis = [0, 1, 0]
limits = {{ max = 2e-4, restitution = {first:?} }}
[[joint]]
name = "elbow"
type = "hinge"
between = ["upper", "lower"]
point = [1, 0, 0]
axis = [0, 1, 0]
limits = {{ max = 1.5e-4, restitution = {second:?} }}
"#
        );
        let model = toml(&text);
        let ends = LAWS.map(|impact| {
            let settings =
                RunSettings { impact, solver: "direct".to_owned(), ..settings(1e-3, 1e-11) };
            let mut simulation = Simulation::new(&model, &settings).unwrap();
            for _ in 0..5 {
                simulation.step().unwrap();
            }
            let events = simulation.take_events();
            assert!(events.iter().any(|event| event.kind == "impact"), "{events:?}");
            let ledger = simulation.ledger();
            assert!(ledger.impact_loss > -1e-9 * ledger.initial, "{impact:?}: {ledger:?}");
            assert!(ledger.integrator_error().abs() < 1e-6 * ledger.initial, "{ledger:?}");
            simulation.state().clone()
        });
        different |= (ends[0].omega[1] - ends[1].omega[1]).norm() > 1e-3;
    }
    assert!(different, "the laws differ somewhere");
}

/// Up a slope and down again: friction turns round where the box does, and the error is of second order.
#[test]
fn friction_turns_round_where_the_box_does() {
    let (g, theta, mu, v) = (9.81_f64, 0.6_f64, 0.3, 2.0);
    let model = toml(&format!(
        r#"
[model]
name = "slope"
gravity = [{:?}, 0, {:?}]
[[material]]
name = "m"
friction = {mu:?}
[[body]]
name = "floor"
fixed = true
material = "m"
shape = {{ plane = {{}} }}
[[body]]
name = "box"
mass = 2
position = [0, 0, 0.1]
velocity = [{:?}, 0, 0]
material = "m"
shape = {{ box = {{ size = [0.4, 0.4, 0.2] }} }}
"#,
        g * theta.sin(),
        -g * theta.cos(),
        -v
    ));
    let up = g * (theta.sin() + mu * theta.cos());
    let down = g * (theta.sin() - mu * theta.cos());
    let (end, turn) = (0.8, v / up);
    let exact = -v * v / (2.0 * up) + 0.5 * down * (end - turn) * (end - turn);
    for solver in ["iterative", "direct"] {
        let errors: Vec<f64> = [0.02, 0.01, 0.005, 0.0025]
            .iter()
            .map(|h| {
                let settings = RunSettings {
                    solver: solver.to_owned(),
                    contact: "auto".to_owned(),
                    ..settings(*h, 1e-10)
                };
                let mut simulation = Simulation::new(&model, &settings).unwrap();
                while simulation.state().t < end - 1e-9 {
                    simulation.step().unwrap();
                }
                (simulation.state().s[2].x - exact).abs()
            })
            .collect();
        for (error, h) in errors.iter().zip([0.02, 0.01, 0.005, 0.0025_f64]) {
            assert!(*error < 2.0 * h * h, "{solver}: {errors:?}");
        }
    }
}

/// The same of dry friction in a joint: a block on a rail that pulls it back.
#[test]
fn dry_friction_turns_round_where_the_coordinate_does() {
    let model = toml(
        r#"
[model]
name = "rail"
gravity = [5, 0, 0]
[[body]]
name = "block"
mass = 2
inertia = [0.1, 0.1, 0.1]
velocity = [-1.3, 0, 0]
[[joint]]
name = "slide"
type = "slider"
between = ["world", "block"]
point = [0, 0, 0]
axis = [1, 0, 0]
friction = 3
"#,
    );
    let (back, on) = (5.0 + 1.5, 5.0 - 1.5);
    let (end, turn): (f64, f64) = (0.8, 1.3 / back);
    let exact = -1.3 * turn / 2.0 + 0.5 * on * (end - turn) * (end - turn);
    for h in [0.02, 0.01, 0.005, 0.0025] {
        let settings = RunSettings { solver: "direct".to_owned(), ..settings(h, 1e-10) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        while simulation.state().t < end - 1e-9 {
            simulation.step().unwrap();
        }
        let error = (simulation.state().s[1].x - exact).abs();
        assert!(error < 1e-4 * h, "{h}: {error:e}");
        let ledger = simulation.ledger();
        assert!(ledger.integrator_error().abs() < 1e-9, "{ledger:?}");
    }
}
