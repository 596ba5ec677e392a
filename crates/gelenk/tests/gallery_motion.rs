//! What every model of the gallery keeps: positions that do not depend on the velocity correction, two solvers with one motion, the same
//! bits in every run.

use gelenk::hash::state_hash;
use gelenk::model::{LoadOptions, Model, RunReport, RunSettings, State, load_text};
use gelenk::scenes::SCENES;
use gelenk::simulate;

/// Scenes that begin in a singular position: several motions go on from there, and steps are halved until one is found, so that
/// small differences decide.
const SINGULAR: [&str; 2] = ["eight-loop-flat", "eight-loop-paper"];

/// Every scene without contact by name (impacts make small differences large; contact has its own tests); the chain shorter, since the
/// sweep is slow on long ones.
fn gallery() -> impl Iterator<Item = (&'static str, Model)> {
    let all = SCENES.iter().map(|scene| {
        let overrides = match scene.name {
            "chain-100" => vec![("n".to_owned(), "10".to_owned())],
            _ => Vec::new(),
        };
        let options = LoadOptions { overrides, ..LoadOptions::default() };
        let loaded = load_text(scene.name, scene.text, &options);
        (scene.name, loaded.unwrap_or_else(|e| panic!("{}:\n{e}", scene.name)).model)
    });
    all.filter(|(_, model)| !model.bodies.iter().any(|body| body.contact.collide))
}

fn run(model: &Model, settings: &RunSettings) -> RunReport {
    simulate(model, settings, &mut ()).unwrap_or_else(|error| panic!("{}: {error}", model.name))
}

/// Settings for `n` steps of an order with a tolerance.
fn settings(model: &Model, order: u32, n: f64, tolerance: f64) -> RunSettings {
    let duration = n * model.run.step;
    RunSettings { order, duration, tolerance, velocity_tolerance: tolerance, ..model.run.clone() }
}

/// Largest distance of a body's place in one state from that in another, m.
fn distance(a: &State, b: &State) -> f64 {
    a.s.iter().zip(&b.s).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

#[test]
fn velocity_correction_changes_no_position() {
    for (name, model) in gallery() {
        let orders = [(2, 50.0), (4, 20.0), (8, 6.0)];
        for (order, n) in orders.into_iter().filter(|_| !SINGULAR.contains(&name)) {
            let on = settings(&model, order, n, 1e-13);
            let off = RunSettings { velocity_correction: false, ..on.clone() };
            let off = distance(&run(&model, &on).state, &run(&model, &off).state);
            assert!(off < 1e-10, "{name}, order {order}: {off:e} m");
        }
    }
}

#[test]
fn both_solvers_give_the_same_motion() {
    for (name, model) in gallery() {
        for (order, n) in [(2, 60.0), (4, 20.0)].into_iter().filter(|_| !SINGULAR.contains(&name)) {
            let tolerance = 1e-11;
            let direct = settings(&model, order, n, tolerance);
            let iterative =
                RunSettings { solver: "sweep-accelerated".to_owned(), ..direct.clone() };
            let off = distance(&run(&model, &direct).state, &run(&model, &iterative).state);
            assert!(off < 20.0 * tolerance, "{name}, order {order}: {off:e} m");
        }
    }
}

#[test]
fn every_run_gives_the_same_bits() {
    let hashes = || -> Vec<_> {
        let orders = [(2, 100.0), (4, 20.0)];
        let runs = gallery().flat_map(|(name, model)| {
            orders.map(|(order, n)| {
                let settings = settings(&model, order, n, model.run.tolerance);
                (name, order, state_hash(&run(&model, &settings).state))
            })
        });
        runs.collect()
    };
    assert_eq!(hashes(), hashes());
}
