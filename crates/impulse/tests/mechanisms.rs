//! Mechanisms of the gallery against closed forms and against programs that share no equation with the engine.

mod common;

use std::f64::consts::PI;

use common::tree::{Freedom, Tree, ball, free, hinge};
use common::{accurate, after, extrapolated, scene, scene_with};
use gelenk_impulse::Simulation;
use gelenk_model::check::{CheckOptions, check};
use gelenk_model::math::{Quat, Vec3};
use gelenk_model::{Model, RunSettings, State};

const G: f64 = 9.81;

fn v(x: f64, y: f64, z: f64) -> Vec3 {
    Vec3::new(x, y, z)
}

fn body(model: &Model, name: &str) -> usize {
    model.body(name).expect("a body of that name").index()
}

/// First coordinate of a joint.
fn coordinate(model: &Model, state: &State, name: &str) -> f64 {
    let joint = model.joint(name).expect("a joint of that name");
    state.coordinate[model.joints[joint.index()].first_coordinate]
}

#[track_caller]
fn close(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() < tolerance,
        "{what}: {got} instead of {want}, off by {:e}",
        got - want
    );
}

/// The middle shaft has speed cos β/(1 − sin²β sin²θ), the output that of the input; the drive's work goes into the
/// middle shaft.
#[test]
fn cardan_shaft() {
    let model = scene("cardan-shaft");
    let (bend, speed) = (35.0_f64.to_radians(), 6.0);
    let middle_speed =
        |t: f64| speed * bend.cos() / (1.0 - (bend.sin() * (speed * t).sin()).powi(2));
    let [middle, output] = ["middle", "output"].map(|name| body(&model, name));
    let axis = v(bend.cos(), 0.0, -bend.sin());
    let mut simulation = Simulation::new(&model, &accurate(2, 0.002)).expect("starts");
    let (mut slowest, mut fastest) = (f64::INFINITY, 0.0_f64);
    for _ in 0..600 {
        simulation.step().expect("step");
        let state = simulation.state();
        let want = middle_speed(state.t);
        let off = (state.omega[middle] - axis * want).norm();
        assert!(off < 1e-10, "t = {}: {off:e}", state.t);
        close("output", state.omega[output].x, speed, 1e-10);
        (slowest, fastest) = (slowest.min(want), fastest.max(want));
        let spin = state.rot[middle].inverse_transform_vector(&state.omega[middle]);
        let kinetic =
            |w2: f64| 0.5 * model.bodies[middle].inertia.dot(&spin.component_mul(&spin)) * w2;
        let gained = kinetic(1.0) * (1.0 - (middle_speed(0.0) / want).powi(2));
        close("work", simulation.ledger().work, gained, 1e-6);
    }
    assert!(slowest < speed * 0.83 && fastest > speed * 1.21);
}

/// z̈ = −g/(1 + J (2π/pitch)²/m): a constant, so that the steps are exact.
#[test]
fn screw_nut() {
    let model = scene("screw-nut");
    let nut = body(&model, "nut");
    let (mass, arm, pitch) = (2.2, 0.3, 0.3);
    // Two balls, a crossbar and the nut itself about the spindle.
    let balls = 2.0 * (0.5 * arm * arm + 0.4 * 0.5 * 0.05 * 0.05);
    let bar = 0.2 * ((2.0_f64 * arm).powi(2) / 12.0 + 0.012 * 0.012 / 4.0);
    let inertia = balls + bar + 0.5 * 0.08 * 0.08;
    let a = G / (1.0 + inertia * (2.0 * PI / pitch).powi(2) / mass);
    let simulation = after(&model, &accurate(2, 0.005), 2.2);
    let state = simulation.state();
    let fall = 0.5 * a * state.t * state.t;
    close("height", state.s[nut].z, 1.2 - fall, 1e-11);
    close("speed", state.s_dot[nut].z, -a * state.t, 1e-11);
    close("angle", coordinate(&model, state, "thread"), -2.0 * PI * fall / pitch, 1e-9);
}

/// r = r0 cosh Ωt; the rod pushes the bead sideways with 2 m Ω ṙ and carries its weight.
#[test]
fn bead_on_rod() {
    let model = scene("bead-on-rod");
    let bead = body(&model, "bead");
    let (speed, r0, mass) = (2.0, 0.04, 0.5);
    let simulation = after(&model, &accurate(6, 0.01), 2.0);
    let state = simulation.state();
    let r = r0 * (speed * state.t).cosh();
    let (sin, cos) = (speed * state.t).sin_cos();
    assert!((state.s[bead] - v(cos, sin, 0.0) * r).norm() < 1e-11);
    close("coordinate", coordinate(&model, state, "hole"), r, 1e-11);
    // Forces are means over the last step.
    let h = 0.01;
    let fine = RunSettings { step: 1e-4, ..accurate(2, h) };
    let simulation = after(&model, &fine, 0.8);
    let middle = simulation.state().t - 0.5e-4;
    let sideways = 2.0 * mass * speed * speed * r0 * (speed * middle).sinh();
    let (sin, cos) = (speed * middle).sin_cos();
    let want = v(-sin, cos, 0.0) * sideways + v(0.0, 0.0, mass * G);
    let joint = model.joint("hole").expect("there").index();
    let force = simulation.reactions()[joint].force;
    assert!((force - want).norm() < 1e-5, "{force} {want}");
    // The motor's work is the change of the kinetic energy (the bead stays at its height).
    let ledger = simulation.ledger();
    close("work", ledger.work, ledger.kinetic - ledger.initial, 1e-6);
}

/// Regular precession: the axle stays level and goes round with m g l/(J spin).
#[test]
fn gyroscope() {
    let model = scene("gyroscope");
    let inner = body(&model, "inner");
    let (spin, m, l, r) = (80.0, 0.5, 0.35, 0.15);
    let rate = m * G * l / (0.5 * r * r * spin);
    let simulation = after(&model, &accurate(6, 0.003), 2.4);
    let state = simulation.state();
    close("precession", coordinate(&model, state, "stand"), rate * state.t, 1e-9);
    close("nutation", coordinate(&model, state, "trunnion"), 0.0, 1e-9);
    assert!((state.omega[inner] - v(0.0, 0.0, rate)).norm() < 1e-8);
    assert!(rate * state.t > 3.0, "it has gone round by more than 3 rad");
}

/// With another precession at the start it nods; energy and angular momentum about the vertical stay.
#[test]
fn gyroscope_that_nods() {
    let model = scene_with("gyroscope", &[("extra", "-1.5")]);
    let vertical = |state: &State| {
        let mut sum = 0.0;
        for (i, body) in model.bodies.iter().enumerate().skip(1) {
            let spin = state.rot[i].inverse_transform_vector(&state.omega[i]);
            sum += (state.rot[i] * body.inertia.component_mul(&spin)).z;
            sum += body.mass * state.s[i].cross(&state.s_dot[i]).z;
        }
        sum
    };
    let mut simulation = Simulation::new(&model, &accurate(4, 0.002)).expect("starts");
    let start = vertical(simulation.state());
    let mut lowest = 0.0_f64;
    for _ in 0..300 {
        simulation.step().expect("step");
        lowest = lowest.max(coordinate(&model, simulation.state(), "trunnion").abs());
    }
    assert!(lowest > 0.02, "it nods by {lowest} rad");
    close("angular momentum", vertical(simulation.state()), start, 1e-12 * start.abs().max(1.0));
    assert!(simulation.ledger().integrator_error().abs() < 1e-7 * simulation.ledger().initial);
}

/// The hinges of the trihedral Bricard linkage in pairs: with a the turn of hinge 1 from the cube and b that of hinge 2,
/// sin a − sin b − sin a sin b = 0 \[Bricard 1897\]; every other hinge turns alike.
fn bricard_b(a: f64) -> f64 {
    (a.sin() / (1.0 + a.sin())).asin()
}

#[test]
fn bricard_closes_as_bricard_says() {
    let model = scene("bricard");
    let report = check(&model, &CheckOptions::default());
    assert_eq!((report.coordinates, report.constraints, report.rank), (30, 30, 29));
    assert_eq!(report.degrees_of_freedom, 1);
    assert_eq!(report.redundant.len(), 1);
    assert!(report.redundant[0].always && report.redundant[0].element == "hinge6");
    assert!(!report.singular);

    let mut simulation = Simulation::new(&model, &model.run).expect("starts");
    let mut largest = 0.0_f64;
    for _ in 0..550 {
        simulation.step().expect("step");
        let q = &simulation.state().coordinate;
        let (a, b) = (q[0], q[1]);
        close("b of a", b, bricard_b(a), 1e-8);
        for (k, want) in [(2, -a), (3, -b), (4, -a), (5, -b)] {
            close("hinges turn alike", q[k], want, 1e-8);
        }
        largest = largest.max(a);
    }
    assert!(largest > 3.0, "it has gone through to the other side: {largest}");
    assert!(simulation.take_events().is_empty());
    let worst = simulation.worst_gaps().iter().fold(0.0_f64, |a, b| a.max(*b));
    assert!(worst <= model.run.tolerance, "{worst:e}");
}

/// The time of its fall: with one freedom a, T = ½ m(a) ȧ² and t = ∫ √(m/2(E − V)) da.
#[test]
fn bricard_falls_in_time() {
    let model = scene("bricard");
    let mut tree = Tree::new(v(0.0, 0.0, -G));
    let corners = [v(0., 0., 0.), v(1., 0., 0.), v(1., 1., 0.), v(1., 1., 1.), v(0., 1., 1.)];
    let axes = [Vec3::y(), Vec3::z(), Vec3::x(), Vec3::y(), Vec3::z()];
    let mut last = None;
    for k in 0..5 {
        let freedom = hinge(corners[k], axes[k]);
        last = Some(tree.body(last, freedom, &model, &format!("rod{}", k + 1)));
    }
    let turns = |a: f64| {
        let b = bricard_b(a);
        vec![a, b, -a, -b, -a]
    };
    let rates = |a: f64| {
        // cos b b' = cos a/(1 + sin a)²
        let b_rate = a.cos() / (1.0 + a.sin()).powi(2) / bricard_b(a).cos();
        vec![1.0, b_rate, -1.0, -b_rate, -1.0]
    };
    let mass = |a: f64| {
        let q = turns(a);
        let (places, twists) = (tree.places(&q), tree.twists(&q, &rates(a)));
        let parts = tree.links.iter().zip(&places).zip(&twists);
        parts
            .map(|((link, place), (s_dot, omega))| {
                let omega = place.rot.transpose() * omega;
                link.mass * s_dot.norm_squared() + omega.dot(&(link.inertia * omega))
            })
            .sum::<f64>()
    };
    let height = |a: f64| {
        let places = tree.places(&turns(a));
        let parts = tree.links.iter().zip(&places);
        parts.map(|(link, place)| link.mass * place.point(&link.center).z).sum::<f64>()
    };
    let top = height(0.0);
    // a = u² takes the square root away from the start, where it is at rest; Gauss's rule with 3 points in 400 parts.
    let time = |a: f64| {
        let n = 400;
        let width = a.sqrt() / f64::from(n);
        let mut sum = 0.0;
        for i in 0..n {
            let middle = (f64::from(i) + 0.5) * width;
            for (x, weight) in [(-0.6_f64.sqrt(), 5.0), (0.0, 8.0), (0.6_f64.sqrt(), 5.0)] {
                let u = middle + 0.5 * width * x;
                let fall = 2.0 * G * (top - height(u * u));
                sum += weight / 18.0 * width * 2.0 * u * (mass(u * u) / fall).sqrt();
            }
        }
        sum
    };
    let mut simulation = Simulation::new(&model, &accurate(4, 0.002)).expect("starts");
    for _ in 0..4 {
        for _ in 0..100 {
            simulation.step().expect("step");
        }
        let state = simulation.state();
        close("time", time(state.coordinate[0]), state.t, 2e-8);
    }
}

/// All cranks of the ladder move as one pendulum, through positions in which all bars are in line; there its conditions lose
/// one rank for every loop.
#[test]
fn four_bar_ladder() {
    let n = 5.0;
    let model = scene("four-bar-ladder");
    // φ from the vertical: ((n+1)(1/3 + r²/4) + n) φ̈ = ((n+1)/2 + n) g sin φ, for bars of 1 kg and 1 m with radius r.
    let inertia = (n + 1.0) * (1.0 / 3.0 + 0.02 * 0.02 / 4.0) + n;
    let weight = (0.5 * (n + 1.0) + n) * G;
    let f = |y: &[f64]| vec![y[1], weight / inertia * y[0].sin()];
    let settings =
        RunSettings { tolerance: 1e-11, velocity_tolerance: 1e-11, ..accurate(4, 0.004) };
    let mut simulation = Simulation::new(&model, &settings).expect("starts");
    let cranks: Vec<usize> = (0..6).map(|i| body(&model, &format!("crank{i}"))).collect();
    let mut flat = 0;
    let mut side = 1.0;
    for _ in 0..6 {
        for _ in 0..100 {
            simulation.step().expect("step");
            let height = simulation.state().s[cranks[0]].z;
            if height * side < 0.0 {
                (side, flat) = (-side, flat + 1);
            }
        }
        let state = simulation.state();
        let phi = extrapolated(f, vec![0.0, 1.0], state.t)[0];
        for (i, &crank) in cranks.iter().enumerate() {
            let want = v(i as f64 + 0.5 * phi.sin(), 0.0, 0.5 * phi.cos());
            let off = (state.s[crank] - want).norm();
            assert!(off < 2e-6, "crank {i} at {} s: off by {off:e}", state.t);
        }
    }
    assert_eq!(flat, 2, "it has passed the singular position twice");

    let upright = check(&model, &CheckOptions::default());
    assert_eq!((upright.degrees_of_freedom, upright.redundant.len()), (1, 15));
    assert!(upright.redundant.iter().all(|row| row.always) && !upright.singular);
    let mut flat = model.clone();
    let turn = Quat::from_axis_angle(&Vec3::y_axis(), PI / 2.0);
    for i in 0..6_u8 {
        let foot = v(f64::from(i), 0.0, 0.0);
        let crank = body(&model, &format!("crank{i}"));
        flat.start.s[crank] = foot + v(0.5, 0.0, 0.0);
        flat.start.rot[crank] = turn * flat.start.rot[crank];
        if i < 5 {
            flat.start.s[body(&model, &format!("coupler{i}"))] = foot + v(1.5, 0.0, 0.0);
        }
    }
    for (s_dot, omega) in flat.start.s_dot.iter_mut().zip(&mut flat.start.omega) {
        (*s_dot, *omega) = (Vec3::zeros(), Vec3::zeros());
    }
    let flat = check(&flat, &CheckOptions::default());
    assert_eq!((flat.degrees_of_freedom, flat.redundant.len()), (6, 20));
    assert!(flat.singular);
    // From there single loops can fold flat, so that not all five are redundant in this pose only.
    let here = flat.redundant.iter().filter(|row| !row.always);
    assert!(here.map(|row| row.row.as_str()).any(|row| row == "joint `foot1`, x"));
}

/// Six lengths put the platform where it is wanted, and the legs carry its weight and its inertia.
#[test]
fn stewart_platform() {
    let model = scene("stewart-platform");
    let platform = body(&model, "platform");
    let (h, lift, tilt, w) = (1.0, 0.12, 0.3, 2.0);
    let pose = |t: f64| {
        let sin = (w * t).sin();
        let about_x = Quat::from_axis_angle(&Vec3::x_axis(), tilt * sin.powi(3));
        let about_y = Quat::from_axis_angle(&Vec3::y_axis(), tilt * sin * (2.0 * w * t).sin());
        (v(0.0, 0.0, h + lift * (1.0 - (w * t).cos())), about_y * about_x)
    };
    let step = 0.001;
    let mut simulation = Simulation::new(&model, &accurate(2, step)).expect("starts");
    for _ in 0..700 {
        simulation.step().expect("step");
    }
    let state = simulation.state();
    let (place, turn) = pose(state.t);
    assert!((state.s[platform] - place).norm() < 1e-11);
    let off = (turn.inverse() * state.rot[platform] * model.start.rot[platform].inverse()).angle();
    assert!(off < 1e-11, "{off:e}");
    // Over the last step: m (Δv + g h) is the sum of the heads' impulses.
    let middle = state.t - 0.5 * step;
    let acceleration = lift * w * w * (w * middle).cos();
    let sum: Vec3 = (0..6)
        .map(|i| model.joint(&format!("leg{i}_head")).expect("there").index())
        .map(|joint| simulation.reactions()[joint].force)
        .sum();
    assert!((sum - v(0.0, 0.0, 20.0 * (G + acceleration))).norm() < 1e-4, "{sum}");
}

/// Positions, rotations and velocities of bodies against those of the links of a tree.
#[track_caller]
fn same_motion(
    model: &Model,
    state: &State,
    tree: &Tree,
    links: &[(usize, usize)],
    (q, rates): &(Vec<f64>, Vec<f64>),
    tolerance: f64,
) {
    let (places, twists) = (tree.places(q), tree.twists(q, rates));
    for &(link, body) in links {
        let name = &model.bodies[body].name;
        let off = (state.s[body] - places[link].point(&tree.links[link].center)).norm();
        assert!(off < tolerance, "`{name}` is off by {off:e} m");
        let drawn = model.start.rot[body].to_rotation_matrix().into_inner();
        let now = state.rot[body].to_rotation_matrix().into_inner();
        let off = (now - places[link].rot * drawn).norm();
        assert!(off < tolerance, "`{name}` is turned by {off:e}");
        let off = (state.s_dot[body] - twists[link].0).norm();
        assert!(off < 30.0 * tolerance, "`{name}` has a velocity off by {off:e}");
        let off = (state.omega[body] - twists[link].1).norm();
        assert!(off < 30.0 * tolerance, "`{name}` has an angular velocity off by {off:e}");
    }
}

fn no_loads(_: &[common::tree::Place], _: &[(Vec3, Vec3)]) -> Vec<[Vec3; 2]> {
    Vec::new()
}

/// The arm in reduced coordinates, with the servos' law.
#[test]
fn robot_arm() {
    let model = scene("robot-arm");
    let names = ["column", "upper-arm", "forearm", "roll", "hand", "gripper"];
    let x = [0.0, 0.0, 0.0, 0.36, 0.62, 0.72];
    let z = [0.0, 0.4, 1.0, 1.0, 1.0, 1.0];
    let axes = [Vec3::z(), Vec3::y(), Vec3::y(), Vec3::x(), Vec3::y(), Vec3::x()];
    let mut tree = Tree::new(v(0.0, 0.0, -G));
    let mut last = None;
    let mut links = Vec::new();
    for k in 0..6 {
        let freedom = hinge(v(x[k], 0.0, z[k]), axes[k]);
        let link = tree.body(last, freedom, &model, names[k]);
        links.push((link, body(&model, names[k])));
        last = Some(link);
    }
    let servos = [
        (0.7, 1.5, 6000.0, 300.0),
        (0.4, 2.0, 6000.0, 300.0),
        (-0.5, 2.5, 3000.0, 100.0),
        (0.8, 3.0, 100.0, 1.0),
        (0.5, 3.5, 200.0, 5.0),
        (0.9, 4.0, 50.0, 0.4),
    ];
    let torque = |t: f64, q: &[f64], rates: &[f64]| {
        (0..6)
            .map(|k| {
                let (a, w, stiffness, damping) = servos[k];
                let (target, rate) = (a * (1.0 - (w * t).cos()), a * w * (w * t).sin());
                stiffness * (target - q[k]) + damping * (rate - rates[k])
            })
            .collect()
    };
    tree.step = 0.0025;
    let t = 0.4;
    let reference = tree.run(&[0.0; 12], t, torque, no_loads);
    let simulation = after(&model, &accurate(4, 0.001), t);
    same_motion(&model, simulation.state(), &tree, &links, &reference, 2e-7);
    assert!(reference.0[0] > 0.1 && reference.0[5] > 0.5, "it moves");
}

/// The walker in reduced coordinates: two for the hook, three for each leg.
#[test]
fn walker() {
    let model = scene("walker");
    let mut tree = Tree::new(v(0.0, 0.0, -G));
    let hook = v(0.0, 0.0, 0.45);
    let turns = [Vec3::x(), Vec3::y()].map(|axis| Freedom::Turn { point: hook, axis });
    let trunk = tree.body(None, turns.into(), &model, "trunk");
    let mut links = vec![(trunk, body(&model, "trunk"))];
    let mut legs = Vec::new();
    for (name, x, side, phase) in [
        ("left_front_", 0.35, -1.0, 0.0),
        ("left_middle_", 0.0, -1.0, PI),
        ("left_back_", -0.35, -1.0, 0.0),
        ("right_front_", 0.35, 1.0, PI),
        ("right_middle_", 0.0, 1.0, 0.0),
        ("right_back_", -0.35, 1.0, PI),
    ] {
        // Left legs point along y, right ones along −y.
        let out = v(0.0, -side, 0.0);
        let root = v(x, -side * 0.13, 0.0);
        let across = out.cross(&Vec3::z());
        let mut last = trunk;
        for (part, point, axis) in [
            ("coxa", root, Vec3::z()),
            ("femur", root + out * 0.1, across),
            ("tibia", root + out * 0.35 + v(0.0, 0.0, 0.1), across),
        ] {
            let name = format!("{name}{part}");
            last = tree.body(Some(last), hinge(point, axis), &model, &name);
            links.push((last, body(&model, &name)));
        }
        legs.push((side, phase));
    }
    let (w, swing, lift) = (5.0, 0.4, 0.6);
    let torque = |t: f64, q: &[f64], rates: &[f64]| {
        let mut tau = vec![0.0; 20];
        let (ramp, ramp_rate) = (1.0 - (-4.0 * t * t).exp(), 8.0 * t * (-4.0 * t * t).exp());
        for (leg, &(side, phase)) in legs.iter().enumerate() {
            let (sin, cos) = (w * t + phase).sin_cos();
            let up = (4.0 * (cos - 1.0)).exp();
            let up_rate = -4.0 * sin * w * up;
            let raised = (lift * ramp * up, lift * (ramp_rate * up + ramp * up_rate));
            let targets = [
                (side * swing * ramp * sin, side * swing * (ramp_rate * sin + ramp * w * cos)),
                raised,
                (-0.5 * raised.0, -0.5 * raised.1),
            ];
            for (k, (target, rate)) in targets.into_iter().enumerate() {
                let i = 2 + 3 * leg + k;
                let (stiffness, damping) = if k == 2 { (30.0, 1.0) } else { (80.0, 4.0) };
                tau[i] = stiffness * (target - q[i]) + damping * (rate - rates[i]);
            }
        }
        tau
    };
    tree.step = 0.00625;
    let t = 0.25;
    let reference = tree.run(&[0.0; 40], t, torque, no_loads);
    let simulation = after(&model, &accurate(4, 0.00125), t);
    same_motion(&model, simulation.state(), &tree, &links, &reference, 2e-7);
    let hips: Vec<f64> = (0..6).map(|leg| reference.0[2 + 3 * leg]).collect();
    assert!(hips.iter().all(|q| q.abs() > 0.02), "all legs move: {hips:?}");
}

/// The governor in two coordinates, the turn φ of the spindle and the angle θ of the arms, by Lagrange's equations.
#[test]
fn flyball_governor() {
    let model = scene("flyball-governor");
    let (l, low, high, gain, damping) = (0.4_f64, 8.4, 12.0, 2.0, 8.0);
    // Arm: rod of 0.1 kg and a ball of 1 kg at its end. Moments about the pivot, across and along the arm.
    let across = 0.1 * (l * l / 3.0 + 0.01 * 0.01 / 4.0) + l * l + 0.4 * 0.06 * 0.06;
    let along = 0.5 * 0.1 * 0.01 * 0.01 + 0.4 * 0.06 * 0.06;
    let pull = 0.1 * 0.5 * l + l; // first moment
    // Link: rod of 0.1 kg, about its centre.
    let link_across = 0.1 * (l * l / 12.0 + 0.01 * 0.01 / 4.0);
    let link_along = 0.5 * 0.1 * 0.01 * 0.01;
    let turning = 0.5 * 0.02 * 0.02 + 0.5 * 1.5 * 0.06 * 0.06; // spindle and collar
    let f = |y: &[f64]| {
        let (theta, phi_dot, theta_dot, t) = (y[1], y[2], y[3], y[4]);
        let (sin, cos) = theta.sin_cos();
        // T = ½ J(θ) φ̇² + ½ A(θ) θ̇²
        let j2 = 2.0 * (across - along + link_across - link_along + 0.1 * 0.25 * l * l);
        let j = turning + 2.0 * (along + link_along) + j2 * sin * sin;
        let j_rate = 2.0 * j2 * sin * cos;
        let a2 = 2.0 * 0.1 * 2.0 * l * l + 1.5 * 4.0 * l * l; // links: ¼ cos² + 9/4 sin²; collar: 4 sin²
        let a = 2.0 * (across + link_across + 0.1 * 0.25 * l * l) + a2 * sin * sin;
        let a_rate = 2.0 * a2 * sin * cos;
        let weight = G * (2.0 * pull + 2.0 * 0.1 * 1.5 * l + 1.5 * 2.0 * l) * sin;
        let torque = gain * (high - (high - low) * (-t).exp() - phi_dot);
        let drag = damping * (2.0 * l * sin).powi(2) * theta_dot;
        let phi_ddot = (torque - j_rate * theta_dot * phi_dot) / j;
        let push = 0.5 * j_rate * phi_dot * phi_dot - 0.5 * a_rate * theta_dot * theta_dot;
        vec![phi_dot, theta_dot, phi_ddot, (push - weight - drag) / a, 1.0]
    };
    let mut simulation = Simulation::new(&model, &accurate(4, 0.004)).expect("starts");
    for _ in 0..3 {
        for _ in 0..125 {
            simulation.step().expect("step");
        }
        let state = simulation.state();
        let y = extrapolated(f, vec![0.0, 0.5, low, 0.0, 0.0], state.t);
        close("turn", coordinate(&model, state, "bearing"), y[0], 1e-6);
        for side in ["right-top", "left-top"] {
            close("arms", coordinate(&model, state, side), y[1], 1e-6);
        }
    }
    let lifted = coordinate(&model, simulation.state(), "right-top");
    assert!(lifted > 0.9, "the balls have risen: {lifted}");
}

/// At rest the bridge hangs as a chain of ropes and planks: with the pull H along it, rope k has the slope V_k/H and plank k
/// the mean of the slopes beside it, V_k = (7 − k) W.
#[test]
fn rope_bridge() {
    let model = scene_with("rope-bridge", &[("air", "20")]);
    let (width, rope, gap, weight) = (0.24, 0.1, 0.08, 2.0 * G);
    let slopes = |pull: f64| {
        let at = move |k: f64| (7.0 - k) * weight / pull;
        // Ropes 1 to 13 and planks 1 to 12 between them.
        (1..=13_u8)
            .flat_map(move |k| [(rope, at(f64::from(k))), (width, at(f64::from(k) + 0.5))])
            .take(25)
    };
    let span = |pull: f64| slopes(pull).map(|(l, s)| l / s.hypot(1.0)).sum::<f64>();
    let (mut low, mut high) = (1.0, 1e4);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if span(middle) < 12.0 * width + 13.0 * gap {
            low = middle;
        } else {
            high = middle;
        }
    }
    let pull = low;
    let settings = RunSettings { step: 0.01, tolerance: 1e-7, ..model.run.clone() };
    let simulation = after(&model, &settings, 6.0);
    let state = simulation.state();
    let mut height = 0.0;
    for (i, (length, slope)) in slopes(pull).enumerate() {
        let drop = length * slope / slope.hypot(1.0);
        if i % 2 == 0 {
            let k = i / 2 + 1;
            let force: Vec3 = ["left", "right"]
                .map(|side| model.joint(&format!("{side}{k}")).expect("there").index())
                .iter()
                .map(|&joint| simulation.reactions()[joint].force)
                .sum();
            // On the plank after the rope: pulled back and, left of the middle, up.
            assert!((force.x / -pull - 1.0).abs() < 1e-3, "rope {k}: {force} instead of {pull}");
            assert!((force.z - slope * pull).abs() < 1e-3 * pull, "rope {k}: {force}");
            height -= drop;
        } else {
            let plank = body(&model, &format!("plank{}", i / 2 + 1));
            let at = state.s[plank].z;
            assert!(
                (at - (height - 0.5 * drop)).abs() < 1e-3,
                "plank {}: {at} {height}",
                i / 2 + 1
            );
            height -= drop;
        }
    }
    assert!(height.abs() < 1e-6, "the other bank is as high: {height}");
    let ledger = simulation.ledger();
    assert!(ledger.impact_loss > 1.0, "the ropes have caught it: {}", ledger.impact_loss);
}

/// Two bars on ball joints, in six angles.
#[test]
fn spherical_double_pendulum() {
    let model = scene("spherical-double-pendulum");
    let mut tree = Tree::new(v(0.0, 0.0, -G));
    let upper = tree.body(None, ball(Vec3::zeros()), &model, "upper");
    let lower = tree.body(Some(upper), ball(v(0.8, 0.0, -0.6)), &model, "lower");
    let links = [(upper, body(&model, "upper")), (lower, body(&model, "lower"))];
    let mut start = vec![0.0; 12];
    // Angular velocities z, y, x: of the upper bar, of the lower one against it.
    start[6..9].copy_from_slice(&[1.6, 0.0, 1.2]);
    start[9..12].copy_from_slice(&[1.4, 0.0, -1.2]);
    tree.step = 0.01;
    let t = 0.8;
    let reference = tree.run(&start, t, |_, _, _| vec![0.0; 6], no_loads);
    let simulation = after(&model, &accurate(8, 0.016), t);
    same_motion(&model, simulation.state(), &tree, &links, &reference, 1e-10);
}

/// Board and bar on springs, in nine coordinates.
#[test]
fn spring_swing() {
    let model = scene("spring-swing");
    let mut tree = Tree::new(v(0.0, 0.0, -G));
    let board = tree.body(None, free(Vec3::zeros()), &model, "board");
    let bar = tree.body(Some(board), ball(v(0.2, 0.1, 0.0)), &model, "bar");
    let links = [(board, body(&model, "board")), (bar, body(&model, "bar"))];
    let loads = |places: &[common::tree::Place], _: &[(Vec3, Vec3)]| {
        let mut loads = vec![[Vec3::zeros(); 2]; 9];
        let c = places[board].point(&Vec3::zeros());
        for (sx, sy) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
            let end = places[board].point(&v(0.4 * sx, 0.25 * sy, 0.0));
            let d = v(0.5 * sx, 0.3 * sy, 0.8) - end;
            let force = d * (150.0 * (d.norm() - 0.75) / d.norm());
            loads[board][0] += force;
            loads[board][1] += (end - c).cross(&force);
        }
        loads
    };
    let mut start = vec![0.0; 18];
    start[9..12].copy_from_slice(&[0.5, 0.2, 0.0]);
    start[12] = 1.0;
    start[15..18].copy_from_slice(&[1.0, 0.0, 1.0]);
    let t = 0.8;
    let reference = tree.run(&start, t, |_, _, _| vec![0.0; 9], loads);
    let simulation = after(&model, &accurate(8, 0.02), t);
    same_motion(&model, simulation.state(), &tree, &links, &reference, 1e-9);
}
