//! Whole runs: times, samples, determinism, failures.

#![expect(clippy::float_cmp, reason = "same times, same bits")]

mod common;

use std::ops::ControlFlow;

use common::{Nobody, double_pendulum, eight_loop, pendulum, settings, toml};
use gelenk_impulse::{Simulation, run};
use gelenk_model::{Event, Model, Observer, RunSettings, Sample, State};

/// Keeps what it sees.
#[derive(Default)]
struct Notes {
    samples: Vec<(f64, State)>,
    at: Vec<(f64, State)>,
    events: Vec<Event>,
    steps: Vec<f64>,
    stop_after: Option<f64>,
}

impl Observer for Notes {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.samples.push((sample.state.t, sample.state.clone()));
        ControlFlow::Continue(())
    }

    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.at.push((sample.state.t, sample.state.clone()));
        ControlFlow::Continue(())
    }

    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.steps.push(t);
        if self.stop_after.is_some_and(|stop| t >= stop) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

fn times(list: &[(f64, State)]) -> Vec<f64> {
    list.iter().map(|(t, _)| *t).collect()
}

#[test]
fn samples_and_steps_come_at_their_times() {
    let model = pendulum();
    let settings = RunSettings { duration: 0.105, sample: Some(0.03), ..settings(0.01, 1e-9) };
    let mut notes = Notes::default();
    let report = run(&model, &settings, &mut notes).expect("runs");
    assert_eq!(report.steps, 11, "ten whole steps and a half one");
    assert_eq!(report.t, 0.105);
    assert_eq!(times(&notes.samples), [0.0, 0.03, 0.06, 0.09, 0.105]);
    assert_eq!(notes.steps.len(), 11);
    assert_eq!(notes.steps[6], 7.0 * 0.01, "times are i h, not sums");
}

/// 1 s in steps of 0.1 s is ten steps, whatever rounding says.
#[test]
fn no_tiny_last_step() {
    let model = pendulum();
    for (duration, step, n) in [(1.0, 0.1, 10), (0.3, 0.1, 3), (2.0, 0.01, 200), (0.0, 0.1, 0)] {
        let settings = RunSettings { duration, ..settings(step, 1e-9) };
        let mut notes = Notes::default();
        let report = run(&model, &settings, &mut notes).expect("runs");
        assert_eq!(report.steps, n);
        assert_eq!(report.t, duration);
        assert_eq!(notes.samples.len(), usize::try_from(n).expect("small") + 1);
    }
}

/// States at asked times are those of a step of that length, and the run does not depend on who asks.
#[test]
fn exact_times_leave_the_run_alone() {
    let model = double_pendulum();
    let plain = RunSettings { duration: 0.5, ..settings(0.01, 1e-12) };
    let asking = RunSettings { at: vec![0.0, 0.123, 0.2, 0.2345, 0.5, 7.0], ..plain.clone() };
    let (mut one, mut two) = (Notes::default(), Notes::default());
    let first = run(&model, &plain, &mut one).expect("runs");
    let second = run(&model, &asking, &mut two).expect("runs");
    assert_eq!(first.state, second.state, "same bits");
    assert_eq!(one.samples, two.samples);
    assert_eq!(times(&two.at), [0.0, 0.123, 0.2, 0.2345, 0.5]);
    assert_eq!(two.at[2].1, two.samples[20].1, "0.2 s is a step of its own");
    // Between steps the state is as exact as at steps: compare with a run in fine steps.
    let fine = common::after(&model, &settings(0.0001, 1e-13), 0.123);
    let error = (two.at[1].1.s[2] - fine.state().s[2]).norm();
    assert!(error < 2e-5, "{error:e}");
}

#[test]
fn observer_stops_the_run() {
    let model = pendulum();
    let mut notes = Notes { stop_after: Some(0.05), ..Notes::default() };
    let report = run(&model, &settings(0.01, 1e-9), &mut notes).expect("runs");
    assert!(report.stopped);
    assert_eq!(report.steps, 5);
}

#[test]
fn same_input_same_bits() {
    for (model, order) in [(eight_loop(), 2), (double_pendulum(), 4)] {
        let settings = RunSettings { duration: 1.0, order, ..settings(0.01, 1e-9) };
        let one = run(&model, &settings, &mut Nobody).expect("runs");
        let two = run(&model.clone(), &settings, &mut Nobody).expect("runs");
        assert_eq!(one.state, two.state);
        assert_eq!(one.ledger, two.ledger);
        assert_eq!(one.corrections, two.corrections);
    }
}

/// A state with fresh memory goes on as if nothing had happened: scratch holds nothing.
#[test]
fn scratch_can_be_thrown_away() {
    let model = eight_loop();
    for solver in ["sweep-accelerated", "direct"] {
        let settings = RunSettings { solver: solver.to_owned(), ..settings(0.01, 1e-9) };
        let method = gelenk_impulse::Method::new(&settings).expect("good settings");
        let mut one = model.start.clone();
        let mut two = model.start.clone();
        let mut scratch = gelenk_impulse::Scratch::new(&model);
        for _ in 0..50 {
            gelenk_impulse::step(&model, &method, &mut one, &mut scratch, 0.01).expect("step");
            let mut fresh = gelenk_impulse::Scratch::new(&model);
            gelenk_impulse::step(&model, &method, &mut two, &mut fresh, 0.01).expect("step");
        }
        assert_eq!(one, two, "{solver}");
    }
}

fn fails(model: &Model, settings: &RunSettings, words: &[&str]) {
    let failure = run(model, settings, &mut Nobody).expect_err("cannot run");
    for word in words {
        assert!(failure.reason.contains(word), "`{word}` is missing in: {}", failure.reason);
    }
}

#[test]
fn bad_settings_are_named() {
    let model = pendulum();
    let good = settings(0.01, 1e-9);
    fails(&model, &RunSettings { step: 0.0, ..good.clone() }, &["`step`", "positive"]);
    fails(&model, &RunSettings { step: f64::NAN, ..good.clone() }, &["`step`"]);
    fails(&model, &RunSettings { tolerance: -1.0, ..good.clone() }, &["`tolerance`"]);
    fails(&model, &RunSettings { order: 3, ..good.clone() }, &["`order`", "2, 4, 6 and 8"]);
    let solver = "magic".to_owned();
    fails(
        &model,
        &RunSettings { solver, ..good.clone() },
        &["`solver`", "magic", "sweep-accelerated"],
    );
    fails(&model, &RunSettings { duration: f64::INFINITY, ..good }, &["`duration`"]);
}

#[test]
fn open_joint_at_the_start_is_named() {
    let mut model = eight_loop();
    model.start.s[3].x += 0.01;
    fails(&model, &settings(0.01, 1e-9), &["joint 2", "open", "start"]);
    model.start.s[3].x = f64::NAN;
    fails(&model, &settings(0.01, 1e-9), &["rod 3", "not finite"]);
}

/// Two joints that contradict each other as the motion goes on: a bar on two fixed hinges' circles. The run stops, names a joint
/// and keeps the last good state.
#[test]
fn contradicting_joints_stop_the_run() {
    let model = toml(
        r#"
[model]
name = "torn"
[[body]]
name = "bar"
mass = 1
inertia = [0.1, 0.1, 0.1]
position = [0.5, 0, 0]
[[joint]]
name = "left"
type = "ball"
between = ["world", "bar"]
point = [0, 0, 0]
[[joint]]
name = "crank"
type = "hinge"
between = ["world", "arm"]
point = [2, 0, 0]
axis = [0, 1, 0]
motion = { angle = "t" }
[[body]]
name = "arm"
mass = 1
inertia = [0.1, 0.1, 0.1]
position = [1.5, 0, 0]
angular_velocity = [0, 1, 0]
velocity = [0, 0, 0.5]
[[joint]]
name = "right"
type = "ball"
between = ["arm", "bar"]
point = [1, 0, 0]
"#,
    );
    // The arm's end must go on its circle about (2,0,0) while the bar holds it on another about the origin: impossible.
    let failure = run(&model, &settings(0.01, 1e-9), &mut Nobody).expect_err("torn apart");
    assert!(failure.element.is_some(), "{failure}");
    assert!(failure.report.t < 0.2, "{failure}");
    assert!(failure.report.state.s.iter().all(|s| s.iter().all(|x| x.is_finite())));
    assert!(failure.reason.contains("t = "), "{failure}");
}

/// Events of a run reach observer and report alike.
#[test]
fn events_are_told() {
    let model = common::eight_loop_flat();
    let settings = RunSettings { duration: 0.2, ..settings(0.01, 1e-8) };
    let mut notes = Notes::default();
    let report = run(&model, &settings, &mut notes).expect("runs");
    assert_eq!(report.events, notes.events);
    assert!(notes.events.iter().any(|e| e.kind == "step-halved"));
    assert!(notes.events.len() < 50);
}

/// Every model of the gallery runs with both solvers; gaps stay within tolerance.
#[test]
fn gallery_runs() {
    for scene in gelenk_scenes::SCENES {
        // The sweep alone is slow on many bricks.
        let overrides = match scene.name {
            "pyramid" => vec![("n".to_owned(), "4".to_owned())],
            _ => Vec::new(),
        };
        let options = gelenk_model::LoadOptions { overrides, ..Default::default() };
        let model = gelenk_model::load_text(scene.name, scene.text, &options)
            .unwrap_or_else(|d| panic!("{}: {d}", scene.name))
            .model;
        for solver in ["sweep-accelerated", "direct"] {
            let solver = solver.to_owned();
            let settings = RunSettings { solver, duration: 0.1, ..model.run.clone() };
            let report = run(&model, &settings, &mut Nobody)
                .unwrap_or_else(|e| panic!("{} ({}): {e}", scene.name, settings.solver));
            let worst = report.worst_gaps.iter().fold(0.0, |a: f64, b| a.max(*b));
            assert!(worst <= settings.tolerance, "{}: gap {worst:e}", scene.name);
        }
    }
}

/// A joint drawn a little open says so, and is within its tolerance from the first step on.
#[test]
fn open_start_is_told_and_closed() {
    let text = r#"
        [model]
        name = "open"
        [[point]]
        name = "bob"
        mass = 1
        position = [0, 0, -1.0000005]
        [[joint]]
        name = "thread"
        type = "distance"
        between = ["world", "bob"]
        length = 1
    "#;
    let loaded = gelenk_model::load_text("open", text, &gelenk_model::LoadOptions::default());
    let model = loaded.unwrap_or_else(|d| panic!("{d}")).model;
    let settings = RunSettings { duration: 0.1, ..model.run.clone() };
    let report = run(&model, &settings, &mut Nobody).expect("runs");
    assert!(report.events.iter().any(|e| e.kind == "start-open" && e.between == ["thread"]));
    assert!(report.worst_gaps[0] <= settings.tolerance, "{:e}", report.worst_gaps[0]);
}

/// A force that leaves the numbers is named, not the joint it pulls at.
#[test]
fn force_that_is_no_number_is_named() {
    let text = r#"
        [model]
        name = "root"
        [[body]]
        name = "bar"
        mass = 1
        ends = [[0, 0, 0], [1, 0, 0]]
        shape = { cylinder = { radius = 0.02 } }
        [[joint]]
        name = "elbow"
        type = "hinge"
        between = ["world", "bar"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
        motor = { torque = "sqrt(joint.elbow.angle - 1)" }
    "#;
    let loaded = gelenk_model::load_text("root", text, &gelenk_model::LoadOptions::default());
    let model = loaded.unwrap_or_else(|d| panic!("{d}")).model;
    let failure = run(&model, &model.run, &mut Nobody).expect_err("no number");
    assert_eq!(failure.element.as_deref(), Some("elbow.motor"), "{failure}");
}

/// A simulation taken up from a state goes on from there.
#[test]
fn simulation_from_a_state() {
    let model = double_pendulum();
    let settings = settings(0.01, 1e-12);
    let whole = common::after(&model, &settings, 0.6);
    let half = common::after(&model, &settings, 0.3);
    let mut rest = Simulation::from_state(&model, &settings, half.state().clone()).expect("starts");
    for _ in 0..30 {
        rest.step().expect("step");
    }
    for (a, b) in whole.state().s.iter().zip(&rest.state().s) {
        assert!((a - b).norm() < 1e-10);
    }
}
