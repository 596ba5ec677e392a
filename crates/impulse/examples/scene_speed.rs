//! Speed of a model of the gallery or of a file: `cargo run --release -p gelenk-impulse --example scene_speed -- hexapod 0.005 1000`,
//! with other values for parameters after it: `stride=0 lift=0`, for the settings of the run: `tolerance=1e-6 contact=coarse`, and `events=20` to see the first ones.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]

use std::path::Path;

use cpu_time::ProcessTime;
use gelenk_impulse::Simulation;
use gelenk_model::RunSettings;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [name, h, steps, others @ ..] = &given[..] else {
        eprintln!("scene_speed NAME STEP STEPS [PARAMETER=VALUE]...");
        return;
    };
    let pair = |other: &String| other.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    let pairs: Vec<(String, String)> = others.iter().filter_map(pair).collect();
    let setting = |key: &str| pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    let (tolerance, contact) = (setting("tolerance"), setting("contact"));
    let shown = setting("events").map_or(0, |v| v.parse().expect("a number"));
    let settings_of_the_run = ["tolerance", "contact", "events"];
    let overrides =
        pairs.into_iter().filter(|(k, _)| !settings_of_the_run.contains(&k.as_str())).collect();
    let options = gelenk_model::LoadOptions { overrides, ..gelenk_model::LoadOptions::default() };
    let loaded = match gelenk_scenes::scene(name) {
        Some(scene) => gelenk_model::load_text(name, scene.text, &options),
        None => gelenk_model::load_path(Path::new(name), &options),
    };
    let model = loaded.expect("a scene of the gallery or a model file").model;
    let tolerance = tolerance.map_or(model.run.tolerance, |v| v.parse().expect("a number"));
    let contact = contact.unwrap_or(model.run.contact.clone());
    let step = h.parse().expect("a number");
    let settings = RunSettings { step, tolerance, contact, ..model.run.clone() };
    let steps: u32 = steps.parse().expect("a number");
    let mut simulation = Simulation::new(&model, &settings).expect("the model starts");
    let begin = ProcessTime::now();
    for _ in 0..steps {
        simulation.step().expect("the step is made");
    }
    let time = begin.elapsed().as_secs_f64() / f64::from(steps);
    let totals = simulation.totals();
    let per_step = |n: u64| n as f64 / f64::from(steps);
    println!(
        "{name}: {:.1} us a step, {:.2} + {:.2} solves a step, energy error {:.2e} J",
        1e6 * time,
        per_step(totals.corrections),
        per_step(totals.velocity_corrections),
        simulation.energy_errors().1,
    );
    println!("  {:?}", simulation.ways());
    let events = simulation.take_events();
    for event in events.iter().take(shown) {
        println!("  {:.6} s {} {:?}: {}", event.time, event.kind, event.between, event.detail);
    }
    let count = |kind: &str| events.iter().filter(|event| event.kind == kind).count();
    println!(
        "  {} impacts, {} times halved, overlap {:.1e} m",
        count("impact"),
        count("step-halved"),
        simulation.worst_penetration().unwrap_or(0.0),
    );
    // How far contacts slip on what stands still, in a run of its own.
    let mut again = Simulation::new(&model, &settings).expect("the model starts");
    let mut slipped = 0.0;
    for _ in 0..steps {
        again.step().expect("the step is made");
        let state = again.state();
        for contact in again.contacts() {
            let [a, b] = contact.bodies.map(|body| {
                let i = body.index();
                state.s_dot[i] + state.omega[i].cross(&(contact.point - state.s[i]))
            });
            let v = a - b;
            slipped += settings.step * (v - contact.normal * v.dot(&contact.normal)).norm();
        }
    }
    println!("  contacts have slipped by {slipped:.2e} m, all together");
    for (i, s) in simulation.state().s.iter().enumerate().skip(1).take(2) {
        println!("  body {i} at {s:?}");
    }
}
