//! Machines that touch, with the default settings: what they do, whatever the step.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use gelenk_impulse::Simulation;
use gelenk_model::math::{Quat, Vec3};
use gelenk_model::{Model, RunSettings};

fn load(text: &str) -> Model {
    gelenk_model::load_text("machine", text, &gelenk_model::LoadOptions::default())
        .unwrap_or_else(|faults| panic!("{faults:?}"))
        .model
}

fn start(model: &Model, step: f64) -> Simulation<'_> {
    let settings = RunSettings { step, ..model.run.clone() };
    Simulation::new(model, &settings).expect("the machine starts")
}

fn turn(axis: Vec3, degrees: f64) -> Quat {
    Quat::from_scaled_axis(axis * degrees.to_radians())
}

/// A free body with one shape.
fn body(name: &str, mass: f64, inertia: Vec3, s: Vec3, rot: Quat, shape: &str) -> String {
    let [x, y, z] = [inertia.x, inertia.y, inertia.z];
    format!(
        "[[body]]\nname = \"{name}\"\nmass = {mass}\ninertia = [{x}, {y}, {z}]\nposition = [{}, {}, {}]\nrotation = [{}, {}, {}, {}]\ncollide = true\n\
         shapes = [{{ {shape} }}]\n",
        s.x, s.y, s.z, rot.w, rot.i, rot.j, rot.k
    )
}

fn cuboid(name: &str, mass: f64, size: Vec3, s: Vec3, rot: Quat) -> String {
    let square = size.component_mul(&size) * (mass / 12.0);
    let inertia = Vec3::new(square.y + square.z, square.z + square.x, square.x + square.y);
    let shape = format!("box = {{ size = [{}, {}, {}] }}", size.x, size.y, size.z);
    body(name, mass, inertia, s, rot, &shape)
}

const FLOOR: &str = "[[body]]\nname = \"floor\"\nfixed = true\ncollide = true\nshapes = [{ plane = { size = [100, 100] } }]\n";

/// Flat jaws hold a box with six times the force it needs, for 10 s: it neither slips nor swings.
#[test]
fn flat_jaws_hold_a_box() {
    let push = 6.0 * 0.5 * 9.81 / (2.0 * 0.8);
    let mut text = "[model]\nname = \"jaws\"\ngravity = [0, 0, -9.81]\n".to_owned();
    text += "[[material]]\nname = \"rubber\"\nfriction = 0.8\n";
    let rubber =
        |text: String| text.replace("collide = true", "collide = true\nmaterial = \"rubber\"");
    for (name, side) in [("left", 1.0), ("right", -1.0)] {
        let s = Vec3::new(-0.06 * side, 0.0, 0.3);
        text += &rubber(cuboid(name, 0.3, Vec3::new(0.04, 0.1, 0.1), s, Quat::identity()));
        writeln!(
            text,
            "[[joint]]\nname = \"{name}_slide\"\ntype = \"slider\"\nbetween = [\"world\", \"{name}\"]\npoint = [{}, 0, 0.3]\naxis = [{side}, 0, 0]\n\
             drawn_at = -0.03\ndamping = 10\ndrive = {{ position = 0, velocity = 0, stiffness = {} }}",
            s.x,
            push / 0.03
        )
        .unwrap();
    }
    let s = Vec3::new(0.0, 0.0, 0.3);
    text += &rubber(cuboid("box", 0.5, Vec3::repeat(0.08), s, Quat::identity()));
    let model = load(&text);
    for step in [0.001, 0.002, 0.005] {
        let mut simulation = start(&model, step);
        let held = model.body("box").unwrap().index();
        let (mut slipped, mut turned) = (0.0_f64, 0.0_f64);
        while simulation.state().t < 10.0 - 0.5 * step {
            simulation.step().unwrap();
            let state = simulation.state();
            slipped = slipped.max((state.s[held] - s).norm());
            turned = turned.max(state.rot[held].angle());
        }
        assert!(slipped < 1e-9 && turned < 1e-9, "step {step}: {slipped:e} m, {turned:e} rad");
    }
}

const DOMINO: Vec3 = Vec3::new(0.01, 0.05, 0.1);

/// A domino whose lower front edge is at x on the floor, tilted forwards.
fn domino(name: &str, x: f64, angle: f64) -> String {
    let (sin, cos) = angle.sin_cos();
    let s = Vec3::new(
        x + 0.5 * (DOMINO.z * sin - DOMINO.x * cos),
        0.0,
        0.5 * (DOMINO.z * cos + DOMINO.x * sin),
    );
    cuboid(name, 0.05, DOMINO, s, Quat::from_scaled_axis(Vec3::y() * angle))
}

fn tilt(rot: &Quat) -> f64 {
    let up = rot * Vec3::z();
    up.x.atan2(up.z)
}

fn dominoes(count: usize, friction: f64, angle: f64) -> Model {
    let mut text = format!(
        "[model]\nname = \"dominoes\"\ngravity = [0, 0, -9.81]\n[[material]]\nname = \"wood\"\nfriction = {friction}\n{FLOOR}"
    );
    for i in 0..count {
        text += &domino(&format!("d{i}"), 0.05 * i as f64, if i == 0 { angle } else { 0.0 });
    }
    load(&text.replace("collide = true", "collide = true\nmaterial = \"wood\""))
}

/// A row with a friction of 0.2 falls; the front runs equally fast whatever the step, and nothing gains energy.
#[test]
fn a_row_of_dominoes_falls_equally_fast_with_any_step() {
    const COUNT: usize = 12;
    let model = dominoes(COUNT, 0.2, 0.244);
    let front = |step: f64| {
        let mut simulation = start(&model, step);
        let begun = simulation.ledger().total();
        let (mut least, mut before) = (begun, [0.0; COUNT]);
        let mut reached = [f64::NAN; COUNT];
        while reached[COUNT - 1].is_nan() {
            simulation.step().unwrap();
            let t = simulation.state().t;
            for i in 1..COUNT {
                let body = model.body(&format!("d{i}")).unwrap().index();
                let now = tilt(&simulation.state().rot[body]);
                if reached[i].is_nan() && now > 0.1 {
                    reached[i] = t - step * (now - 0.1) / (now - before[i]);
                }
                before[i] = now;
            }
            let total = simulation.ledger().total();
            assert!(total < least + 1e-6 * begun, "step {step}, t = {t}: {total} after {least}");
            least = least.min(total);
            assert!(t < 2.0, "step {step}: all fall, {reached:?}");
        }
        let overlap = simulation.worst_penetration().unwrap();
        assert!(overlap <= 1e-7, "step {step}: {overlap:e} m");
        0.05 * 7.0 / (reached[COUNT - 1] - reached[COUNT - 8])
    };
    let [fine, coarse] = [front(0.0005), front(0.002)];
    assert!((coarse / fine - 1.0).abs() < 0.01, "{coarse} m/s with 2 ms, {fine} m/s with 0.5 ms");
}

/// One domino against its planar equation: about its edge α'' = m g d sin α/(I + m d²), α the angle of its centre over the edge, as long as friction holds that.
#[test]
fn one_domino_falls_by_its_planar_equation() {
    let model = dominoes(1, 0.2, 0.15);
    let id = model.body("d0").unwrap().index();
    let (mass, g) = (0.05, 9.81);
    let d = 0.5 * DOMINO.x.hypot(DOMINO.z);
    let inertia = mass * (DOMINO.x * DOMINO.x + DOMINO.z * DOMINO.z) / 12.0 + mass * d * d;
    let lean = (DOMINO.x / DOMINO.z).atan();
    let push = |a: f64| mass * g * d * a.sin() / inertia;
    let step = 0.0005;
    let mut simulation = start(&model, step);
    let (mut a, mut w) = (0.15 - lean, 0.0);
    let mut worst = 0.0_f64;
    let edge = simulation.state().s[id].x - d * a.sin();
    loop {
        simulation.step().unwrap();
        // Twenty steps of order four for one of the engine.
        for _ in 0..20 {
            let h = step / 20.0;
            let (k1, l1) = (w, push(a));
            let (k2, l2) = (w + 0.5 * h * l1, push(a + 0.5 * h * k1));
            let (k3, l3) = (w + 0.5 * h * l2, push(a + 0.5 * h * k2));
            let (k4, l4) = (w + h * l3, push(a + h * k3));
            a += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
            w += h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4);
        }
        // Forces of the edge: friction holds up to 0.2 N.
        let (along, up) = (
            mass * d * (push(a) * a.cos() - w * w * a.sin()),
            mass * (g - d * (push(a) * a.sin() + w * w * a.cos())),
        );
        if along > 0.19 * up {
            break;
        }
        let state = simulation.state();
        worst = worst.max((tilt(&state.rot[id]) - lean - a).abs());
        let slid = state.s[id].x - d * a.sin() - edge;
        assert!(slid.abs() < 1e-6, "t = {}: it has slid by {slid:e} m", state.t);
    }
    assert!(simulation.state().t > 0.1, "it falls for a while");
    assert!(worst < 1e-6, "{worst:e} rad");
}

/// Twelve boxes and eight capsules fall into a tray and come to rest there: rolling resistance of 0.2 mm stops what would roll for ever.
#[test]
fn a_heap_comes_to_rest() {
    let mut text = "[model]\nname = \"heap\"\ngravity = [0, 0, -9.81]\n[[material]]\nname = \"wood\"\nfriction = 0.6\nrolling_friction = 0.0002\n".to_owned();
    text += "[[body]]\nname = \"tray\"\nfixed = true\ncollide = true\nshapes = [{ box = { size = [0.8, 0.8, 0.1] }, position = [0, 0, -0.05] }";
    for (x, y) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
        let [sx, sy] = if x == 0 { [1.0, 0.1] } else { [0.1, 1.0] };
        let [px, py] = [0.45 * f64::from(x), 0.45 * f64::from(y)];
        write!(text, ", {{ box = {{ size = [{sx}, {sy}, 1.2] }}, position = [{px}, {py}, 0.6] }}")
            .unwrap();
    }
    text += "]\n";
    for i in 0..20_i32 {
        let place = Vec3::new(
            0.22 * f64::from(i % 3 - 1) + 0.01 * f64::from(i % 7 - 3),
            0.22 * f64::from(i / 3 % 3 - 1) + 0.015 * f64::from(i % 5 - 2),
            0.15 + 0.2 * f64::from(i / 9),
        );
        let rot = turn(Vec3::z(), f64::from(37 * i % 180))
            * turn(Vec3::y(), f64::from(23 * i % 60))
            * turn(Vec3::x(), f64::from(11 * i % 60));
        let name = format!("b{i}");
        if i % 5 < 3 {
            text += &cuboid(&name, 0.96, Vec3::new(0.12, 0.1, 0.08), place, rot);
        } else {
            let inertia = Vec3::new(0.0055, 0.0055, 0.00081);
            let shape = "capsule = { radius = 0.04, length = 0.16 }";
            text += &body(&name, 1.07, inertia, place, rot, shape);
        }
    }
    let model = load(&text.replace("collide = true", "collide = true\nmaterial = \"wood\""));
    let mut simulation = start(&model, 0.002);
    let rest = loop {
        simulation.step().unwrap();
        let (t, kinetic) = (simulation.state().t, model.kinetic_energy(simulation.state()));
        if kinetic < 1e-9 && t > 0.5 || t > 6.0 {
            break (t, kinetic);
        }
    };
    assert!(rest.1 < 1e-9, "{} J at t = {}", rest.1, rest.0);
    let overlap = simulation.worst_penetration().unwrap();
    assert!(overlap <= 1e-7, "{overlap:e} m");
    let (_, energy) = simulation.energy_errors();
    assert!(energy < 1e-9, "{energy:e} J");
    for id in 1..model.n_bodies() {
        let s = simulation.state().s[id];
        assert!(model.bodies[id].fixed || s.x.abs() < 0.4 && s.y.abs() < 0.4 && s.z > 0.0, "{s}");
    }
}
