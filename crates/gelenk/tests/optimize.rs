//! Optimal motions run again by the DAE engine, recorded, and made again from their recordings.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use std::ops::ControlFlow;

use gelenk::model::{Diagnostics, Limits, LoadOptions, Loaded, load_text};
use gelenk::optimize::problem::{Live, Problem, RunOptions, Solution, optimize};
use gelenk::optimize::{Recorded, certify_by_dae, record};
use gelenk::recording::{Recording, verify};

/// The first example of the thesis as a mechanism: two masses on a rod of 2 m, turned by a torque.
const ROD: &str = r#"
[model]
name = "rod"
gravity = [0, 0, 0]
[parameters]
m = 1
[inputs]
torque = 0
[[point]]
name = "a"
mass = "m"
position = [1, 0, 0]
[[point]]
name = "b"
mass = "m"
position = [-1, 0, 0]
[[constraint]]
name = "rod"
equation = "(a.x - b.x)^2 + (a.y - b.y)^2 + (a.z - b.z)^2 = 4"
[[force]]
name = "turn"
between = ["a", "b"]
torque = [0, 0, "input.torque"]
"#;

const TURN: &str = r#"
[problem]
name = "turn"
model = "rod"
[parameters]
m = 2
[controls]
torque = { lower = -100, upper = 100, guess = 5 }
[objective]
integral = "torque^2"
[grid]
duration = 1
intervals = 8
controls = "linear"
[[condition]]
name = "turned by a right angle"
value = "a.x"
at = "end"
equals = 0
"#;

fn load(_: &str, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    load_text("rod", ROD, options)
}

fn turn() -> Problem {
    Problem::read("turn", TURN, &[], &load).unwrap_or_else(|e| panic!("{e}"))
}

fn solved(problem: &Problem, most: Option<usize>) -> (f64, Solution) {
    let options = RunOptions { max_iterations: most, ..RunOptions::default() };
    let mut watch = |_: &Live<'_>| ControlFlow::Continue(());
    let finished = optimize(problem, &options, None, &mut watch).unwrap_or_else(|e| panic!("{e}"));
    let found = &finished.found[finished.best];
    (found.objective, found.solution.clone())
}

/// The moment of inertia is 2 m r² = 4 kg m² with the problem's masses of 2 kg, not the model's 1 kg: the least integral is 3 J² (π/2)².
#[test]
fn the_dae_engine_confirms_a_motion_and_finds_the_interval_that_was_changed() {
    let problem = turn();
    let (objective, motion) = solved(&problem, None);
    let known = 3.0 * 16.0 * std::f64::consts::FRAC_PI_2.powi(2);
    assert!((objective / known - 1.0).abs() < 1e-6, "{objective}");
    let again = certify_by_dae(&problem, &motion, &[], 1e-11).unwrap().expect("it has a model");
    assert!(again.state_error < 1e-8, "{again:?}");
    // One newton metre more in one interval of 1/8 s: the angular velocity is 1/8 / 4 rad/s off at its end.
    let mut changed = motion.clone();
    changed.phases[0].controls[3].0[0] += 1.0;
    changed.phases[0].controls[3].1[0] += 1.0;
    let again = certify_by_dae(&problem, &changed, &[], 1e-11).unwrap().expect("it has a model");
    assert_eq!(again.worst_interval, 3);
    assert!((0.005..0.04).contains(&again.state_error), "{again:?}");
    // The engine does not run a model whose parameters the optimizer chose.
    assert!(certify_by_dae(&problem, &motion, &["m".to_owned()], 1e-11).unwrap().is_none());
}

#[test]
fn a_recorded_optimum_is_made_again_from_what_the_recording_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("turn.mcap");
    let problem = turn();
    let (_, motion) = solved(&problem, None);
    record(&problem, &motion, 0.01, &path).unwrap().expect("it has a model");
    let again = |path: &std::path::Path| {
        let header = Recording::open(path).unwrap().header().clone();
        let recorded = Recorded::of(&header, Limits::default()).unwrap().expect("an optimum");
        let load = |header: &gelenk::recording::Header| {
            header.load(Limits::default()).map(|loaded| loaded.model)
        };
        let report = verify(path, &load, &|_, _, observer| {
            recorded.replay(observer).map(|report| Ok(report).into())
        });
        (recorded, report.unwrap())
    };
    let (recorded, report) = again(&path);
    assert!(report.ok, "{report}");
    assert!(recorded.missed().unwrap().is_none());
    let certificate = recorded.certify(1e-11).unwrap().expect("it has a model");
    assert!(certificate.state_error < 1e-8, "{certificate:?}");
    // A motion that does not reach its end says so.
    let (_, unfinished) = solved(&problem, Some(1));
    record(&problem, &unfinished, 0.01, &path).unwrap().expect("it has a model");
    let (recorded, report) = again(&path);
    assert!(report.ok, "{report}");
    let (name, by) = recorded.missed().unwrap().expect("not there yet");
    assert!(name == "turned by a right angle" && by > 1e-3, "{name} {by}");
}

/// Problems of several phases: the dae engine runs every interval with the model of its phase, the recording plays through all phases and is made again, and a
/// phase that begins elsewhere than the one before it ended is told.
#[test]
fn several_phases_are_certified_recorded_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    for (name, intervals) in
        [("rod-turn-slow", [5, 5]), ("push-and-brake", [6, 6]), ("sling", [8, 4])]
    {
        let text = gelenk::optimize::gallery::problem(name).unwrap().text;
        let problem = gelenk::optimize::read(name, text, &[], None).unwrap();
        let (_, motion) = solved(&problem, None);
        let free = problem.free_names();
        let again =
            certify_by_dae(&problem, &motion, &free, 1e-11).unwrap().expect("it has a model");
        assert!(again.state_error < 1e-8, "{name}: {again:?}");
        let path = folder.path().join(format!("{name}.mcap"));
        record(&problem, &motion, 0.01, &path).unwrap().expect("it has a model");
        let mut recording = Recording::open(&path).unwrap();
        let header = recording.header().clone();
        let total: f64 = motion.phases.iter().map(|p| *p.times.last().unwrap()).sum();
        let times: Vec<f64> = recording.samples().map(|s| s.unwrap().state.t).collect();
        assert!(times.windows(2).all(|t| t[0] < t[1]), "{name}: times rise");
        assert!((times.last().unwrap() - total).abs() < 1e-12, "{name}: {total} s");
        let recorded = Recorded::of(&header, Limits::default()).unwrap().expect("an optimum");
        let load = |header: &gelenk::recording::Header| {
            header.load(Limits::default()).map(|loaded| loaded.model)
        };
        let report = verify(&path, &load, &|_, _, observer| {
            recorded.replay(observer).map(|report| Ok(report).into())
        });
        let report = report.unwrap();
        assert!(report.ok, "{name}: {report}");
        assert!(recorded.missed().unwrap().is_none(), "{name}");
        let certificate = recorded.certify(1e-11).unwrap().expect("it has a model");
        assert!(certificate.state_error < 1e-8, "{name}: {certificate:?}");
        assert_eq!(motion.phases.iter().map(|p| p.controls.len()).collect::<Vec<_>>(), intervals);
        // Another speed at the start of the second phase: its first interval no longer leads on, and the phases no longer meet.
        let mut changed = motion.clone();
        let n = changed.phases[1].states[0].len();
        for v in &mut changed.phases[1].states[0][n / 2..] {
            *v *= 1.01;
        }
        let again = certify_by_dae(&problem, &changed, &free, 1e-11).unwrap().expect("a model");
        assert_eq!(again.worst_interval, intervals[0], "{name}: {again:?}");
        record(&problem, &changed, 0.01, &path).unwrap().expect("it has a model");
        let header = Recording::open(&path).unwrap().header().clone();
        let recorded = Recorded::of(&header, Limits::default()).unwrap().expect("an optimum");
        let (missed, by) = recorded.missed().unwrap().expect("phases do not meet");
        assert!(missed.contains("continuity") && by > 1e-3, "{name}: {missed} {by}");
    }
}
