//! Contact: cases with answers in closed form.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{settings, toml};
use gelenk_impulse::Simulation;
use gelenk_model::math::Vec3;
use gelenk_model::{Event, Model, RunSettings};

const G: f64 = 9.81;

/// A floor at z = 0 and what `bodies` says; both of the material `m` with the given values.
fn on_floor(gravity: [f64; 3], material: &str, bodies: &str) -> Model {
    toml(&format!(
        r#"
[model]
name = "contact"
gravity = [{:?}, {:?}, {:?}]

[[material]]
name = "m"
{material}

[[body]]
name = "floor"
fixed = true
material = "m"
shape = {{ plane = {{}} }}

{bodies}
"#,
        gravity[0], gravity[1], gravity[2]
    ))
}

fn down() -> [f64; 3] {
    [0.0, 0.0, -G]
}

/// Gravity as on a slope of angle θ that falls towards x.
fn slope(theta: f64) -> [f64; 3] {
    [G * theta.sin(), 0.0, -G * theta.cos()]
}

fn ball(position: [f64; 3], velocity: [f64; 3]) -> String {
    format!(
        r#"
[[body]]
name = "ball"
mass = 2
position = {position:?}
velocity = {velocity:?}
material = "m"
shape = {{ sphere = {{ radius = 0.1 }} }}
"#
    )
}

fn cuboid(name: &str, position: [f64; 3], velocity: [f64; 3]) -> String {
    format!(
        r#"
[[body]]
name = "{name}"
mass = 2
position = {position:?}
velocity = {velocity:?}
material = "m"
shape = {{ box = {{ size = [0.4, 0.3, 0.2] }} }}
"#
    )
}

fn run(model: &Model, settings: &RunSettings, duration: f64) -> (Simulation<'static>, Vec<Event>) {
    let model: &'static Model = Box::leak(Box::new(model.clone()));
    let mut simulation = Simulation::new(model, settings).unwrap();
    while simulation.state().t < duration - 0.5 * settings.step {
        simulation.step().unwrap();
    }
    let events = simulation.take_events();
    (simulation, events)
}

fn both_solvers(step: f64, tolerance: f64) -> [RunSettings; 2] {
    ["direct", "sweep-accelerated"]
        .map(|solver| RunSettings { solver: solver.to_owned(), ..settings(step, tolerance) })
}

/// A ball that falls from z₀ hits at √(2 z₀/g), then after 2 ε v/g, 2 ε² v/g, …
#[test]
fn a_ball_bounces_at_the_right_times() {
    let (height, e) = (0.8, 0.7);
    let model = on_floor(down(), "restitution = 0.7", &ball([0.0, 0.0, 0.1 + height], [0.0; 3]));
    for settings in both_solvers(0.01, 1e-10) {
        let (_, events) = run(&model, &settings, 2.2);
        let v = (2.0 * G * height).sqrt();
        let (mut t, mut rebound) = (v / G, e * v);
        let impacts = events.iter().filter(|event| event.kind == "impact");
        for (k, event) in impacts.take(8).enumerate() {
            assert!((event.time - t).abs() < 1e-9, "{k}: {} {t}", event.time);
            t += 2.0 * rebound / G;
            rebound *= e;
        }
        assert!(events.iter().filter(|event| event.kind == "impact").count() >= 8);
    }
}

/// A ball comes to rest after infinitely many bounces in finite time, and stays.
#[test]
fn a_ball_comes_to_rest() {
    let model = on_floor(down(), "restitution = 0.5", &ball([0.0, 0.0, 0.4], [0.0; 3]));
    for settings in both_solvers(0.01, 1e-10) {
        let (simulation, events) = run(&model, &settings, 3.0);
        assert!(events.len() < 30, "{}", events.len());
        let z = simulation.state().s[2].z;
        assert!((z - 0.1).abs() < 1e-9, "{z}");
        assert!(simulation.state().s_dot[2].norm() < 1e-9);
    }
}

/// On a slope steeper than the friction angle a box slides s = ½ g (sin θ − μ cos θ) t².
#[test]
fn a_box_slides_down_a_slope() {
    let (theta, mu) = (0.6_f64, 0.4);
    let model = on_floor(slope(theta), "friction = 0.4", &cuboid("box", [0.0, 0.0, 0.1], [0.0; 3]));
    for settings in both_solvers(0.001, 1e-9) {
        let (simulation, _) = run(&model, &settings, 1.0);
        let way = 0.5 * G * (theta.sin() - mu * theta.cos());
        let x = simulation.state().s[2].x;
        assert!((x / way - 1.0).abs() < 1e-6, "{x} {way}");
        assert!((simulation.state().s[2].z - 0.1).abs() < 1e-9);
    }
}

/// A box thrown on level ground comes to rest after v²/(2 μ g).
#[test]
fn a_box_slides_to_rest() {
    let (v, mu) = (3.0, 0.3);
    let model = on_floor(down(), "friction = 0.3", &cuboid("box", [0.0, 0.0, 0.1], [v, 0.0, 0.0]));
    for settings in both_solvers(0.001, 1e-9) {
        let (simulation, _) = run(&model, &settings, 2.0);
        let way = v * v / (2.0 * mu * G);
        let x = simulation.state().s[2].x;
        assert!((x / way - 1.0).abs() < 1e-6, "{x} {way}");
        assert!(simulation.state().s_dot[2].norm() < 1e-9);
    }
}

/// Below the friction angle a box stays where it is.
#[test]
fn a_box_stays_on_a_slope() {
    let model = on_floor(slope(0.35), "friction = 0.4", &cuboid("box", [0.0, 0.0, 0.1], [0.0; 3]));
    for settings in both_solvers(0.01, 1e-9) {
        let (simulation, _) = run(&model, &settings, 100.0);
        let away = (simulation.state().s[2] - Vec3::new(0.0, 0.0, 0.1)).norm();
        assert!(away < 1e-9, "{away:e}");
    }
}

/// A ball thrown without spin slips until t = 2 v₀/(7 μ g) and then rolls with 5/7 v₀.
#[test]
fn a_ball_slips_then_rolls() {
    let (v, mu) = (2.0, 0.25);
    let model = on_floor(down(), "friction = 0.25", &ball([0.0, 0.0, 0.1], [v, 0.0, 0.0]));
    for settings in both_solvers(0.001, 1e-9) {
        let roll = 2.0 * v / (7.0 * mu * G);
        let (simulation, _) = run(&model, &settings, (roll * 1000.0).floor() / 1000.0);
        let state = simulation.state();
        let slip = state.s_dot[2].x - 0.1 * state.omega[2].y;
        let left = 3.5 * mu * G * (roll - state.t);
        assert!((slip - left).abs() < 1e-8, "{slip} {left}");
        let (simulation, _) = run(&model, &settings, 2.0);
        let state = simulation.state();
        assert!((state.s_dot[2].x / (v * 5.0 / 7.0) - 1.0).abs() < 1e-6, "{}", state.s_dot[2].x);
        let slip = state.s_dot[2].x - 0.1 * state.omega[2].y;
        assert!(slip.abs() < 1e-8, "{slip}");
    }
}

/// Five balls in a row: the last one leaves with the speed of the first.
#[test]
fn newtons_cradle() {
    let mut bodies = String::new();
    for i in 0..5 {
        let (x, v) = if i == 0 { (-0.3, 1.5) } else { (0.2 * f64::from(i - 1), 0.0) };
        bodies += &ball([x, 0.0, 5.0], [v, 0.0, 0.0]).replace("\"ball\"", &format!("\"ball{i}\""));
    }
    let model = on_floor([0.0; 3], "restitution = 1\nfriction = 0", &bodies);
    for settings in both_solvers(0.01, 1e-10) {
        let (simulation, _) = run(&model, &settings, 0.5);
        let state = simulation.state();
        for i in 0..4 {
            assert!(state.s_dot[2 + i].norm() < 1e-9, "{i}: {}", state.s_dot[2 + i]);
        }
        assert!((state.s_dot[6].x - 1.5).abs() < 1e-9, "{}", state.s_dot[6]);
    }
}

/// Two bodies that collide off centre keep momentum, angular momentum and, with ε = 1 and no friction, energy.
#[test]
fn an_elastic_collision_keeps_everything() {
    let bodies = ball([0.0, 0.0, 5.0], [2.0, 0.0, 0.0])
        + &ball([0.5, 0.08, 5.05], [-1.0, 0.3, 0.0])
            .replace("\"ball\"", "\"other\"")
            .replace("mass = 2", "mass = 5");
    let model = on_floor([0.0; 3], "restitution = 1\nfriction = 0", &bodies);
    for settings in both_solvers(0.01, 1e-10) {
        let start = model.start.clone();
        let (simulation, events) = run(&model, &settings, 0.5);
        assert_eq!(events.len(), 1);
        let state = simulation.state();
        let momentum = |s: &gelenk_model::State| s.s_dot[2] * 2.0 + s.s_dot[3] * 5.0;
        assert!((momentum(state) - momentum(&start)).norm() < 1e-10);
        let energy = model.kinetic_energy(state) - model.kinetic_energy(&start);
        assert!(energy.abs() < 1e-10, "{energy:e}");
        assert!(state.omega[2].norm() < 1e-12);
    }
}

/// Ten boxes on one another stand still.
#[test]
fn a_stack_stands() {
    let mut bodies = String::new();
    for i in 0..10 {
        let z = 0.1 + 0.2 * f64::from(i);
        bodies += &cuboid(&format!("box{i}"), [0.0, 0.0, z], [0.0; 3]);
    }
    let model = on_floor(down(), "friction = 0.5", &bodies);
    for settings in both_solvers(0.01, 1e-9) {
        let (simulation, _) = run(&model, &settings, 60.0);
        let state = simulation.state();
        for i in 0..10 {
            let away = (state.s[2 + i] - model.start.s[2 + i]).norm();
            assert!(away < 1e-6, "{i}: {away:e}");
        }
    }
}

/// A ball of 5 mm radius at 400 m/s does not go through a sheet of 1 mm within steps of 10 ms, nor does a plate that spins.
#[test]
fn a_bullet_does_not_tunnel() {
    let sheet = r#"
[[body]]
name = "sheet"
fixed = true
position = [2.0, 0, 1]
material = "m"
shape = { box = { size = [0.001, 1, 1] } }
"#;
    let bodies =
        ball([0.0, 0.0, 1.0], [400.0, 0.0, 0.0]).replace("radius = 0.1", "radius = 0.005") + sheet;
    let model = on_floor([0.0; 3], "restitution = 0.5\nfriction = 0", &bodies);
    for settings in both_solvers(0.01, 1e-9) {
        let (simulation, events) = run(&model, &settings, 0.05);
        let impacts: Vec<_> = events.iter().filter(|event| event.kind == "impact").collect();
        assert_eq!(impacts.len(), 1, "{events:?}");
        let time = (2.0 - 0.0005 - 0.005) / 400.0;
        assert!((impacts[0].time - time).abs() < 1e-9, "{} {time}", impacts[0].time);
        assert!((simulation.state().s_dot[2].x + 200.0).abs() < 1e-9);
    }
}

/// The coarse mode: no impact is located, and nothing ends below the floor.
#[test]
fn the_coarse_mode_keeps_out_too() {
    let model = on_floor(down(), "restitution = 0.5", &ball([0.0, 0.0, 0.5], [1.0, 0.0, 0.0]));
    for settings in both_solvers(0.01, 1e-9) {
        let settings = RunSettings { contact: "coarse".to_owned(), ..settings };
        let mut simulation = Simulation::new(&model, &settings).unwrap();
        let mut energy = f64::INFINITY;
        for _ in 0..200 {
            simulation.step().unwrap();
            assert!(simulation.state().s[2].z > 0.1 - 1e-9, "{}", simulation.state().s[2].z);
            let now = simulation.ledger().total();
            assert!(now < energy + 1e-9, "{now} {energy}");
            energy = now;
        }
        assert!(simulation.state().s_dot[2].z.abs() < 1e-6);
        assert!(simulation.worst_penetration().unwrap() < 1e-9);
    }
}

/// The floor bears the weight: contact forces in the results.
#[test]
fn contacts_tell_their_forces() {
    let model = on_floor(slope(0.2), "friction = 0.4", &cuboid("box", [0.0, 0.0, 0.1], [0.0; 3]));
    for settings in both_solvers(0.01, 1e-9) {
        let (simulation, _) = run(&model, &settings, 0.1);
        let contacts = simulation.contacts();
        assert_eq!(contacts.len(), 4);
        // Body a is the floor here: the force on it is the weight.
        let force: Vec3 = contacts.iter().map(|c| c.force).sum();
        let sign = if contacts[0].bodies[0].index() == 1 { 1.0 } else { -1.0 };
        let weight = Vec3::from(slope(0.2)) * 2.0 * sign;
        assert!((force - weight).norm() < 1e-6, "{force} {weight}");
    }
}

/// A rod that slips and falls: order 2 in h while nothing but sliding happens.
#[test]
fn sliding_has_second_order() {
    let rod = r#"
[[body]]
name = "rod"
mass = 3
position = [0, 0, "0.05 + 0.5*cos(0.5)"]
rotation = { axis = [0, 1, 0], angle = 0.5 }
material = "m"
shape = { capsule = { radius = 0.05, length = 1 } }
"#;
    let model = on_floor(down(), "friction = 0.1", rod);
    let end = |h: f64, solver: &str| {
        let settings = RunSettings { solver: solver.to_owned(), ..settings(h, 1e-12) };
        let (simulation, events) = run(&model, &settings, 0.24);
        assert!(events.is_empty(), "{events:?}");
        let state = simulation.state();
        (state.s[2], state.omega[2].y)
    };
    let (s, w) = end(0.24 / 1024.0, "direct");
    let error = |h: f64, solver: &str| {
        let (own, turn) = end(h, solver);
        (own - s).norm() + (turn - w).abs()
    };
    for solver in ["direct", "sweep-accelerated"] {
        let errors: Vec<f64> = [8.0, 16.0, 32.0, 64.0].map(|n| error(0.24 / n, solver)).to_vec();
        for pair in errors.windows(2) {
            let slope = (pair[0] / pair[1]).log2();
            assert!((slope - 2.0).abs() < 0.1, "{solver}: {slope} {errors:?}");
        }
    }
}

/// The same rod falls from 2 cm above the floor, hits it at √(2 z/g) and slips on: order 2 in h on both sides of the impact.
#[test]
fn motion_between_impacts_has_second_order() {
    let rod = r#"
[[body]]
name = "rod"
mass = 3
position = [0, 0, "0.07 + 0.5*cos(0.5)"]
rotation = { axis = [0, 1, 0], angle = 0.5 }
material = "m"
shape = { capsule = { radius = 0.05, length = 1 } }
"#;
    let model = on_floor(down(), "friction = 0.1", rod);
    let end = |n: f64| {
        let (simulation, events) = run(&model, &settings(0.24 / n, 1e-12), 0.24);
        let [hit] = &events[..] else { panic!("{events:?}") };
        assert!((hit.time - (2.0 * 0.02 / G).sqrt()).abs() < 1e-9, "{hit:?}");
        let state = simulation.state();
        (state.s[2], state.omega[2].y)
    };
    let (s, w) = end(2048.0);
    let error = |n: f64| {
        let (own, turn) = end(n);
        (own - s).norm() + (turn - w).abs()
    };
    // How the impact cuts its step changes with h: the slope over a factor of eight.
    let errors = [8.0, 16.0, 32.0, 64.0].map(error);
    let slope = (errors[0] / errors[3]).log2() / 3.0;
    assert!((slope - 2.0).abs() < 0.2, "{slope} {errors:?}");
}

/// A wheel on a slope, tan θ < 3 μ: it rolls with g sin θ / (1 + J/(m r²)) = 2/3 g sin θ.
#[test]
fn a_wheel_rolls_down_a_slope() {
    let wheel = r#"
[[body]]
name = "wheel"
mass = 2
position = [0, 0, 0.2]
rotation = { axis = [1, 0, 0], angle = "pi/2" }
material = "m"
shape = { cylinder = { radius = 0.2, length = 0.1 } }
"#;
    let theta = 0.3_f64;
    let model = on_floor(slope(theta), "friction = 0.4", wheel);
    for settings in both_solvers(0.001, 1e-10) {
        let (simulation, _) = run(&model, &settings, 1.0);
        let way = 0.5 * G * theta.sin() * 2.0 / 3.0;
        let x = simulation.state().s[2].x;
        assert!((x / way - 1.0).abs() < 1e-6, "{x} {way}");
        assert!((simulation.state().s[2].z - 0.2).abs() < 1e-9);
    }
}

/// A ball that spins about the vertical is stopped by torsional resistance, ω̇ = −r_s m g/J, and one that rolls by rolling
/// resistance: its moment r_r m g decelerates with 5/7 r_r g/r.
#[test]
fn spinning_and_rolling_end() {
    let spin = ball([0.0, 0.0, 0.1], [0.0; 3]) + "angular_velocity = [0, 0, 5]\n";
    let model = on_floor(down(), "friction = 0.5\ntorsional_friction = 0.002", &spin);
    for settings in both_solvers(0.001, 1e-10) {
        let (simulation, _) = run(&model, &settings, 0.5);
        let inertia = 0.4 * 2.0 * 0.01;
        let rate = 5.0 - 0.5 * 0.002 * 2.0 * G / inertia;
        let omega = simulation.state().omega[2].z;
        assert!((omega - rate).abs() < 1e-7, "{omega} {rate}");
    }
    let roll = ball([0.0, 0.0, 0.1], [1.0, 0.0, 0.0]) + "angular_velocity = [0, 10, 0]\n";
    let model = on_floor(down(), "friction = 0.5\nrolling_friction = 0.001", &roll);
    for settings in both_solvers(0.001, 1e-10) {
        let (simulation, _) = run(&model, &settings, 1.0);
        let speed = 1.0 - 5.0 / 7.0 * 0.001 * G / 0.1;
        let v = simulation.state().s_dot[2].x;
        assert!((v - speed).abs() < 1e-6, "{v} {speed}");
        let (simulation, _) = run(&model, &settings, 20.0);
        assert!(simulation.state().s_dot[2].norm() < 1e-8);
    }
}

/// A box at rest stands on four equal feet, and each has a quarter of its weight.
#[test]
fn four_corners_share_a_weight() {
    let model = on_floor(down(), "friction = 0.5", &cuboid("box", [0.0, 0.0, 0.1], [0.0; 3]));
    let direct = RunSettings { solver: "direct".to_owned(), ..settings(0.01, 1e-8) };
    let (simulation, _) = run(&model, &direct, 1.0);
    let contacts = &simulation.state().contacts;
    assert_eq!(contacts.len(), 4);
    for contact in contacts {
        let force = -contact.impulse[0] / direct.step;
        assert!((force - 2.0 * G / 4.0).abs() < 1e-6, "{force}");
    }
}

/// Boxes joined by hinges fall on the floor and slide: joints stay closed, nothing sinks, and all comes to rest.
#[test]
fn a_hinged_chain_of_boxes_falls() {
    let mut bodies = String::new();
    for i in 0..4 {
        let x = 0.5 * f64::from(i);
        bodies += &cuboid(&format!("box{i}"), [x, 0.0, 0.3], [1.0, 0.0, 0.0]);
    }
    for i in 0..3 {
        let (x, z) = (0.25 + 0.5 * f64::from(i), 0.3);
        let hinge = format!(
            r#"
[[joint]]
name = "hinge{i}"
type = "hinge"
between = ["box{i}", "box{}"]
point = [{x:?}, 0, {z:?}]
axis = [0, 1, 0]
"#,
            i + 1
        );
        bodies += &hinge;
    }
    let model = on_floor(down(), "friction = 0.5", &bodies);
    // Sweeps alone take minutes here.
    for settings in both_solvers(0.005, 1e-8).into_iter().filter(|s| s.solver == "direct") {
        let (simulation, _) = run(&model, &settings, 3.0);
        let state = simulation.state();
        let gap = simulation.worst_gaps().iter().copied().fold(0.0, f64::max);
        assert!(gap <= 1e-8, "{}: {gap:e}", settings.solver);
        for i in 0..4 {
            let (z, speed) = (state.s[2 + i].z, state.s_dot[2 + i].norm());
            assert!((z - 0.1).abs() < 1e-6, "{}: box {i} at {z}", settings.solver);
            assert!(speed < 1e-6, "{}: box {i} at {speed} m/s", settings.solver);
        }
    }
}

/// Two legs on one trunk that are driven into each other while they stand on the floor: contacts that are no feet of legs apart come and go. The floor
/// among the first bodies or the last makes no difference.
#[test]
fn legs_touch_each_other() {
    let floor = r#"
        [[body]]
        name = "floor"
        fixed = true
        material = "r"
        shape = { plane = {} }
    "#;
    let leg = |name: &str, x: f64, turn: &str| {
        format!(
            r#"
        [[body]]
        name = "{name}"
        mass = 0.3
        ends = [[{x}, 0, 0.5], [{x}, 0, 0.03]]
        shape = {{ capsule = {{ radius = 0.03 }} }}
        material = "r"

        [[joint]]
        name = "hip_{name}"
        type = "hinge"
        between = ["trunk", "{name}"]
        point = [{x}, 0, 0.5]
        axis = [0, 1, 0]
        drive = {{ angle = "{turn}*t", stiffness = 60, damping = 1.5 }}
    "#
        )
    };
    let legs = [leg("left", -0.1, "-2"), leg("right", 0.1, "2")].concat();
    let head = r#"
        [model]
        name = "legs"

        [[material]]
        name = "r"
        friction = 0.8

        [[body]]
        name = "trunk"
        mass = 2
        position = [0, 0, 0.5]
        shape = { box = { size = [0.3, 0.1, 0.05] } }
    "#;
    let ends = [[head, floor, &legs], [head, &legs, floor]].map(|parts| {
        let model = toml(&parts.concat());
        let (simulation, events) = run(&model, &settings(0.002, 1e-9), 1.0);
        let hits = |e: &&Event| e.kind == "impact" && e.between.iter().all(|b| b != "floor");
        assert!(events.iter().filter(hits).count() > 0, "the legs touch each other");
        // How much goes in impacts and how much in friction is not determined: legs that are pushed together with a friction of 0.8 may jam or slide. The sum is.
        let ledger = simulation.ledger();
        let error = ledger.total() + ledger.dissipation + ledger.impact_loss - ledger.work;
        assert!((error - ledger.initial).abs() < 1e-4, "{ledger:?}");
        assert!(ledger.impact_loss > 0.0 && ledger.kinetic < 1e-9, "{ledger:?}");
        let trunk = model.bodies.iter().position(|b| b.name == "trunk").expect("the trunk");
        simulation.state().s[trunk]
    });
    assert!((ends[0] - ends[1]).norm() < 1e-6, "{ends:?}");
}
