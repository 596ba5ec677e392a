//! Dry friction: it holds without creeping, slips with a constant force, and takes exactly its work.

mod common;

use common::{after, settings, toml};
use gelenk_impulse::Simulation;
use gelenk_model::math::{Vec3, perpendicular_frame};
use gelenk_model::{Model, RunSettings};

/// A block of 2 kg on a slider along x.
fn block(gravity: &str, velocity: f64, joint: &str) -> Model {
    toml(&format!(
        r#"
[model]
name = "block"
gravity = {gravity}

[[body]]
name = "block"
mass = 2
inertia = [0.1, 0.2, 0.3]
position = [0.3, 0, 0]
velocity = [{velocity}, 0, 0]

[[joint]]
name = "slide"
type = "slider"
between = ["world", "block"]
point = [0, 0, 0]
axis = [1, 0, 0]
drawn_at = 0.3
{joint}
"#
    ))
}

/// A sliding block stops after v m/F seconds and m v²/2F metres, to the order of the step, and stays.
#[test]
fn a_sliding_block_stops() {
    let model = block("[0, 0, -9.81]", 1.5, "friction = 3");
    let (stop, way) = (1.5 * 2.0 / 3.0, 2.0 * 1.5 * 1.5 / 6.0);
    for (order, solver) in [(2, "sweep-accelerated"), (2, "direct"), (4, "direct")] {
        let mut errors = Vec::new();
        for h in [0.02, 0.01, 0.005] {
            let solver = solver.to_owned();
            let settings = RunSettings { order, solver, ..settings(h, 1e-10) };
            let mut simulation = Simulation::new(&model, &settings).unwrap();
            while simulation.state().t < stop - 1.5 * h {
                simulation.step().unwrap();
                let (t, x) = (simulation.state().t, simulation.state().coordinate[0] - 0.3);
                // Constant force: order 2 is exact.
                assert!((x - (1.5 * t - 0.75 * t * t)).abs() < 1e-12, "{t} {x}");
            }
            while simulation.state().t < stop + 0.5 {
                simulation.step().unwrap();
                if simulation.state().t > stop + 1.5 * h {
                    let speed = simulation.state().s_dot[1].norm();
                    assert!(speed < 1e-12, "{order} {speed}");
                }
            }
            errors.push((simulation.state().coordinate[0] - 0.3 - way).abs());
            let ledger = simulation.ledger();
            let taken = 2.0 * 1.5 * 1.5 / 2.0;
            assert!((ledger.dissipation - taken).abs() < 1e-12, "{ledger:?}");
            assert!(ledger.integrator_error().abs() < 1e-12, "{ledger:?}");
        }
        // F h²/8m is the most that one step can be off.
        for (error, h) in errors.iter().zip([0.02, 0.01, 0.005_f64]) {
            assert!(*error <= 3.0 * h * h / 16.0, "{errors:?}");
        }
    }
}

/// On a slope a block below the friction bound does not move, not even by rounding that adds up.
#[test]
fn a_block_on_a_slope_stays_put() {
    // g sin α = 3 m/s², so that 6 N pull along the slope.
    for (order, solver) in [(2, "sweep-accelerated"), (2, "direct"), (4, "direct")] {
        let model = block("[3, 0, -9]", 0.0, "friction = 6.01");
        let solver = solver.to_owned();
        let settings = RunSettings { order, solver, ..settings(0.005, 1e-9) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        for _ in 0..10_000 {
            simulation.step().unwrap();
        }
        let x = simulation.state().coordinate[0];
        assert!((x - 0.3).abs() < 1e-15, "{}", x - 0.3);
        assert!((simulation.reactions()[0].force.x + 6.0).abs() < 1e-9);
        let ledger = simulation.ledger();
        // Rounding of 10,000 steps.
        assert!(ledger.dissipation.abs() < 1e-11, "{order}: {ledger:?}");
    }
}

/// Above the bound it accelerates at g sin α − F/m, whatever the order.
#[test]
fn a_block_on_a_slope_slides() {
    for (order, solver) in
        [(2, "sweep-accelerated"), (2, "direct"), (4, "sweep-accelerated"), (6, "direct")]
    {
        let model = block("[3, 0, -9]", 0.0, "friction = 4");
        let solver = solver.to_owned();
        let settings = RunSettings { order, solver, ..settings(0.01, 1e-10) };
        let end = after(&model, &settings, 2.0);
        let x = end.state().coordinate[0] - 0.3;
        assert!((x - 0.5 * (3.0 - 2.0) * 4.0).abs() < 1e-9, "{order}: {x}");
        assert!((end.reactions()[0].force.x + 4.0).abs() < 1e-9);
        assert!((end.ledger().dissipation - 4.0 * x).abs() < 1e-9);
        assert!(end.ledger().integrator_error().abs() < 1e-9);
    }
}

/// Coulomb's oscillator: each half swing falls short by 2F/k, until |x| < F/k holds it.
#[test]
fn an_oscillator_loses_its_amplitude_by_equal_steps() {
    // k = 50 N/m, F = 1 N: 0.04 m a half swing, starting at 0.25 m: 0.21, 0.17, ... 0.01 < F/k = 0.02.
    let model = block("[0, 0, 0]", 0.0, "friction = 1\nstiffness = 50\nrest = 0.05");
    let half = std::f64::consts::PI / (50.0_f64 / 2.0).sqrt();
    for (order, h, solver) in
        [(2, 0.002, "sweep-accelerated"), (2, 0.002, "direct"), (4, 0.01, "direct")]
    {
        let (tolerance, solver) = (2e-6, solver.to_owned());
        let settings = RunSettings { order, solver, ..settings(h, 1e-11) };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        // The farthest place of each half swing.
        let mut turns = [(0.0, 0.0); 6];
        while simulation.state().t < 6.5 * half {
            simulation.step().unwrap();
            let (t, x) = (simulation.state().t, simulation.state().coordinate[0] - 0.05);
            let n = (t / half).round();
            for (k, turn) in (1..=6_u8).zip(&mut turns) {
                let out = if k % 2 == 0 { x } else { -x };
                // Farther by more than places are off.
                if (f64::from(k) - n).abs() < 0.1 && out > turn.0 + tolerance {
                    *turn = (out, t);
                }
            }
        }
        for (n, (x, t)) in (1..).zip(&turns) {
            let exact = 0.25 - 0.04 * f64::from(n);
            // The nearest step may miss the turn by h/2, and the place by a h²/8 there.
            let missed = 50.0 * exact / 2.0 * h * h / 8.0;
            assert!((x - exact).abs() < missed + tolerance, "{order} {n}: {x} {exact}");
            assert!((t - half * f64::from(n)).abs() < 2.0 * h, "{order} {n}: {t}");
        }
        let end = simulation.state().coordinate[0];
        assert!((end - 0.06).abs() < tolerance, "{order}: {end}");
        let speed = simulation.state().s_dot[1].norm();
        assert!(speed < 1e-12, "{order} {speed}");
        let way: f64 = (1..=6).map(|n| 2.0 * 0.25 - 0.04 * (2.0 * f64::from(n) - 1.0)).sum();
        let ledger = simulation.ledger();
        assert!((ledger.dissipation - way).abs() < 1e-4, "{} {way}", ledger.dissipation);
        assert!(ledger.integrator_error().abs() < 1e-4, "{ledger:?}");
    }
}

/// A nut of a screw: friction M at the angle, a load along the axis. It turns where the load's torque F p/2π is above M.
#[test]
fn a_screw_holds_its_load_by_friction() {
    let text = |friction: f64| {
        format!(
            r#"
[model]
name = "screw"
gravity = [0, 0, -10]
[[body]]
name = "nut"
mass = 2
inertia = [0.01, 0.01, 0.02]
[[joint]]
name = "thread"
type = "screw"
between = ["world", "nut"]
point = [0, 0, 0]
axis = [0, 0, 1]
pitch = 0.05
friction = {friction}
"#
        )
    };
    let lead = 0.05 / std::f64::consts::TAU;
    let load = 2.0 * 10.0 * lead; // N m
    let held = toml(&text(1.001 * load));
    for solver in ["sweep-accelerated", "direct"] {
        let settings = RunSettings { solver: solver.to_owned(), ..settings(0.01, 1e-10) };
        let end = after(&held, &settings, 10.0);
        assert!(end.state().coordinate[0].abs() < 1e-10, "{:?}", end.state().coordinate);
    }
    let turns = toml(&text(0.4 * load));
    let end = after(&turns, &settings(0.01, 1e-10), 1.0);
    let alpha = 0.6 * load / (0.02 + 2.0 * lead * lead);
    let angle = end.state().coordinate[0];
    assert!((angle + 0.5 * alpha).abs() < 1e-6, "{angle} {alpha}");
}

/// Friction in every coordinate, a number for each: a planar joint slows x, y and its turning apart from each other.
#[test]
fn every_coordinate_has_its_own() {
    let model = toml(
        r#"
[model]
name = "puck"
gravity = [0, 0, -10]
[[body]]
name = "puck"
mass = 2
inertia = [0.1, 0.1, 0.2]
velocity = [1, 2, 0]
angular_velocity = [0, 0, 3]
[[joint]]
name = "table"
type = "planar"
between = ["world", "puck"]
point = [0, 0, 0]
axis = [0, 0, 1]
friction = [1, 0, 0.1]
damping = [0, 0.5, 0]
"#,
    );
    let end = after(&model, &RunSettings { order: 4, ..settings(0.01, 1e-11) }, 1.0);
    let q = &end.state().coordinate;
    let (x, y) = perpendicular_frame(&Vec3::z());
    let start = Vec3::new(1.0, 2.0, 0.0);
    let along_x = start.dot(&x) - start.dot(&x).signum() * 0.25;
    let along_y = start.dot(&y) * 2.0 / 0.5 * (1.0 - (-0.25_f64).exp());
    assert!(start.dot(&x).abs() > 0.6, "it must not stop");
    assert!((q[0] - along_x).abs() < 1e-9, "{q:?} {along_x}");
    assert!((q[1] - along_y).abs() < 1e-9, "{q:?} {along_y}");
    assert!((q[2] - (3.0 - 0.25)).abs() < 1e-9, "{q:?}");
    let (taken_x, taken_turn) = (1.0 * along_x.abs(), 0.1 * q[2]);
    let v_y = start.dot(&y) * (-0.25_f64).exp();
    let taken_y = start.dot(&y).powi(2) - v_y * v_y;
    let taken = end.ledger().dissipation;
    assert!((taken - taken_x - taken_turn - taken_y).abs() < 1e-8, "{taken}");
    assert!(end.ledger().integrator_error().abs() < 1e-9);
}

/// A double pendulum of heavy arms with friction in both hinges comes to rest, stays there, and all its energy is told.
#[test]
fn friction_in_a_chain_comes_to_rest() {
    let model = toml(
        r#"
[model]
name = "arms"
[[body]]
name = "upper"
mass = 2
shape = { cylinder = { radius = 0.03 } }
ends = [[0, 0, 0], [1, 0, 0]]
[[body]]
name = "lower"
mass = 1
shape = { cylinder = { radius = 0.03 } }
ends = [[1, 0, 0], [2, 0, 0]]
[[joint]]
name = "shoulder"
type = "hinge"
between = ["world", "upper"]
point = [0, 0, 0]
axis = [0, 1, 0]
friction = 4
[[joint]]
name = "elbow"
type = "hinge"
between = ["upper", "lower"]
point = [1, 0, 0]
axis = [0, 1, 0]
friction = 1
"#,
    );
    let mut places = Vec::new();
    for (solver, h) in [("sweep-accelerated", 0.005), ("direct", 0.005), ("direct", 0.0025)] {
        let settings = RunSettings { solver: solver.to_owned(), ..settings(h, 1e-10) };
        let rest = after(&model, &settings, 12.0);
        let speed = rest.state().omega[1].norm() + rest.state().omega[2].norm();
        assert!(speed < 1e-9, "{solver} {h}: {speed}");
        let later = after(&model, &settings, 20.0);
        for (a, b) in rest.state().coordinate.iter().zip(&later.state().coordinate) {
            assert!((a - b).abs() < 2e-10, "{solver} {h}: {a} {b}");
        }
        let ledger = later.ledger();
        assert!(ledger.kinetic < 1e-16);
        let lost = ledger.initial - ledger.potential;
        assert!((ledger.dissipation - lost).abs() < 300.0 * h * h, "{ledger:?}");
        places.push(later.state().coordinate.clone());
    }
    for (a, b) in places[0].iter().zip(&places[1]) {
        assert!((a - b).abs() < 1e-5, "{places:?}");
    }
}

/// A drive that turns a hinge as told meets its friction: the work it does is the friction's, whatever the friction.
#[test]
fn a_prescribed_motion_overcomes_friction() {
    for friction in [0.5, 500.0] {
        let model = toml(&format!(
            r#"
[model]
name = "crank"
gravity = [0, 0, 0]
[[body]]
name = "crank"
mass = 1
inertia = [0.1, 0.1, 0.1]
[[joint]]
name = "axle"
type = "hinge"
between = ["world", "crank"]
point = [0, 0, 0]
axis = [0, 0, 1]
friction = {friction}
motion = {{ angle = "t^2" }}
"#
        ));
        for solver in ["sweep-accelerated", "direct"] {
            let settings = RunSettings { solver: solver.to_owned(), ..settings(0.01, 1e-10) };
            let end = after(&model, &settings, 1.0);
            assert!((end.state().coordinate[0] - 1.0).abs() < 1e-9);
            let ledger = end.ledger();
            // The first step begins at rest, where friction has no direction yet.
            assert!((ledger.dissipation - friction).abs() < 2e-4 * friction, "{solver} {ledger:?}");
            assert!(
                (ledger.work - friction - 0.5 * 0.1 * 4.0).abs() < 2e-4 * friction,
                "{ledger:?}"
            );
        }
    }
}
