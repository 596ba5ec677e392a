//! Periodic walking: the motions that the named problems find, kept as files, are optimal, return, and carry the weight by the ground's stiffness alone.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use gelenk_model::{Diagnostics, LoadOptions, Loaded, load_text};
use gelenk_optimize::interior::Status;
use gelenk_optimize::problem::{Live, Problem, RunOptions, Solution, optimize};

/// Coordinates of the feet along z, of all masses along x; velocities follow after 30 places.
const FEET: [usize; 2] = [2, 20];
const C_Z: f64 = 8e4;
const WEIGHT: f64 = 98.1;

fn load(model: &str, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    load_text(model, gelenk_scenes::scene(model).expect("in the gallery").text, options)
}

fn problem(name: &str, text: &str, set: &[(&str, &str)]) -> Problem {
    let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Problem::read(name, text, &set, &load).unwrap_or_else(|e| panic!("{e}"))
}

/// The file of a named problem without its homotopy, and the motion kept of it.
fn kept(name: &str) -> (Problem, Solution) {
    let text = gelenk_optimize::gallery::problem(name).expect("a named problem").text;
    let (before, solver) = text.split_once("[solver]").expect("it has settings");
    let before = before.split("[[homotopy]]").next().expect("a first part");
    let path = format!("{}/tests/motions/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let motion = std::fs::read_to_string(path).expect("a motion");
    let motion = serde_json::from_str(&motion).expect("nodes and controls");
    (problem(name, &format!("{before}[solver]{solver}"), &[]), motion)
}

/// Largest difference between end and start, places moved back by the distance: (m, m/s).
fn defect(motion: &Solution) -> (f64, f64) {
    let nodes = &motion.phases[0].states;
    let (start, end) = (&nodes[0], nodes.last().unwrap());
    let far = |i: usize| if i < 30 && i.is_multiple_of(3) { motion.free[0] } else { 0.0 };
    let worst = |range: std::ops::Range<usize>| {
        range.fold(0.0_f64, |m, i| m.max((end[i] - far(i) - start[i]).abs()))
    };
    (worst(0..30), worst(30..60))
}

/// Impulses of the ground upright, N s: damping and stiffness, by Simpson's rule over the motion run again.
fn impulses(problem: &Problem, motion: &Solution, stiffness: f64) -> (f64, f64) {
    let instance = problem.instance(problem.n_steps() - 1, None).unwrap_or_else(|e| panic!("{e}"));
    let phase = &motion.phases[0];
    let length = phase.times[1] - phase.times[0];
    // An even number of pieces in every interval.
    let pieces = 40;
    let samples = instance.samples(motion, length / f64::from(pieces) * (1.0 + 1e-9)).unwrap();
    let force = |y: &[f64]| {
        FEET.iter().fold((0.0, 0.0), |sum: (f64, f64), &i| {
            let z = y[i].min(0.0).powi(3);
            (sum.0 + C_Z * y[30 + i] * z, sum.1 - stiffness * z)
        })
    };
    let mut sum = (0.0, 0.0);
    for three in samples.windows(3).step_by(2) {
        let h = three[2].time - three[0].time;
        let [a, b, c] = [0, 1, 2].map(|i| force(&three[i].state));
        sum.0 += h / 6.0 * (a.0 + 4.0 * b.0 + c.0);
        sum.1 += h / 6.0 * (a.1 + 4.0 * b.1 + c.1);
    }
    sum
}

/// What each file's motion must hold: all conditions, a KKT error below 1e-6, agreement of every interval run again to 1e-5, the objective told in docs/walking.md, and
/// the balance of impulses: nothing from the damping, the weight times the period from the stiffness.
fn holds(name: &str, objective: f64) {
    let (problem, motion) = kept(name);
    let options = RunOptions { warm: Some(motion), barrier: Some(1e-8), ..RunOptions::default() };
    let mut watch = |_: &Live<'_>| ControlFlow::Continue(());
    let finished = optimize(&problem, &options, None, &mut watch).unwrap_or_else(|e| panic!("{e}"));
    let found = &finished.found[0];
    assert_eq!(found.status, Status::Optimal, "{name}: {}", found.message);
    assert!(found.kkt < 1e-6, "{name}: {:e}", found.kkt);
    assert!((found.objective - objective).abs() < 1e-4, "{name}: {}", found.objective);
    let again = found.certificate.as_ref().expect("run again");
    assert!(again.state_error < 1e-5, "{name}: {again:?}");
    let (place, velocity) = defect(&found.solution);
    assert!(place < 1e-6 && velocity < 1e-5, "{name}: {place:e} {velocity:e}");
    let model = &problem.model().expect("a model").model;
    let stiffness = model.parameters.iter().find(|p| p.name == "D").expect("of the ground").value;
    assert!(stiffness > 1e4, "the problem's own ground: {stiffness}");
    let period = *found.solution.phases[0].times.last().unwrap();
    let (damping, carried) = impulses(&problem, &found.solution, stiffness);
    assert!(damping.abs() < 1e-3 * WEIGHT * period, "{name}: {damping}");
    assert!((carried / (WEIGHT * period) - 1.0).abs() < 1e-3, "{name}: {carried}");
}

#[test]
fn walking_upright_returns() {
    holds("walk-periodic", -2.3250);
}

#[test]
fn running_returns() {
    holds("run-periodic", -3.4170);
}

#[test]
fn running_with_least_effort_returns() {
    holds("walk-effort", 2.2918);
}

#[test]
fn a_period_of_free_length_returns() {
    holds("walk-free-time", -4.8349);
}

/// A parameter of the problem that the model knows by the same name is the model's, in every step of the homotopy its own.
#[test]
fn parameters_of_the_problem_are_the_models() {
    let text = gelenk_optimize::gallery::problem("run-periodic").expect("a named problem").text;
    let stiffness = |problem: &Problem| {
        let model = &problem.model().expect("a model").model;
        model.parameters.iter().find(|p| p.name == "D").expect("of the ground").value
    };
    assert!((stiffness(&problem("file", text, &[])) - 2.8e4).abs() < 1e-9);
    let other = problem("other", text, &[("D", "2*5e3"), ("C_z", "7e4")]);
    assert!((stiffness(&other) - 1e4).abs() < 1e-9);
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(other.model_set(), [set("C_z", "7e4"), set("D", "1e4")]);
}
