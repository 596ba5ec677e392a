//! Speed of contact beside its errors: pyramids of growing size, and boxes apart on a plane.
//!
//! `cargo run --release -p gelenk-impulse --example contact_speed [pyramid rows | boxes n | ...]`

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::fmt::Write as _;

use cpu_time::ProcessTime;
use gelenk_impulse::Simulation;
use gelenk_model::{Model, RunSettings};

const SIZE: f64 = 0.2;

fn model(places: &[[f64; 3]]) -> Model {
    let mut text = String::from(
        "[model]\nname = \"boxes\"\n[[material]]\nname = \"m\"\nfriction = 0.5\n\
         [[body]]\nname = \"floor\"\nfixed = true\nmaterial = \"m\"\nshape = { plane = {} }\n",
    );
    for (i, place) in places.iter().enumerate() {
        let _ = write!(
            text,
            "[[body]]\nname = \"box{i}\"\nmass = 1\nposition = {place:?}\nmaterial = \"m\"\n\
             shape = {{ box = {{ size = [{SIZE}, {SIZE}, {SIZE}] }} }}\n"
        );
    }
    let options = gelenk_model::LoadOptions::default();
    gelenk_model::load_text("boxes.toml", &text, &options).expect("a model").model
}

/// Rows of boxes, each one box shorter than the one below and half a box further.
fn pyramid(rows: usize) -> Vec<[f64; 3]> {
    let mut places = Vec::new();
    for row in 0..rows {
        for k in 0..rows - row {
            let x = 1.05 * SIZE * (k as f64 + 0.5 * row as f64);
            places.push([x, 0.0, SIZE * (row as f64 + 0.5)]);
        }
    }
    places
}

/// Boxes on a plane, apart, on a square grid.
fn boxes(n: usize) -> Vec<[f64; 3]> {
    let side = n.isqrt() + usize::from(n.isqrt().pow(2) < n);
    (0..n)
        .map(|i| [2.0 * SIZE * (i % side) as f64, 2.0 * SIZE * (i / side) as f64, 0.5 * SIZE])
        .collect()
}

fn measure(name: &str, places: &[[f64; 3]], steps: u32) {
    let model = model(places);
    let settings = RunSettings { step: 0.01, tolerance: 1e-7, ..RunSettings::default() };
    let mut simulation = Simulation::new(&model, &settings).expect("the model starts");
    for _ in 0..10 {
        simulation.step().expect("the step is made");
    }
    let begin = ProcessTime::now();
    let before = simulation.totals();
    for _ in 0..steps {
        simulation.step().expect("the step is made");
    }
    let time = begin.elapsed().as_secs_f64() / f64::from(steps);
    let state = simulation.state();
    let moved =
        (0..state.s.len()).map(|i| (state.s[i] - model.start.s[i]).norm()).fold(0.0, f64::max);
    println!(
        "{name:14} {:5} contacts {:9.1} us a step {:6.1} + {:6.1} solves a step, moved {moved:.1e} m, energy {:.1e} J",
        state.contacts.len(),
        1e6 * time,
        (simulation.totals().corrections - before.corrections) as f64 / f64::from(steps),
        (simulation.totals().velocity_corrections - before.velocity_corrections) as f64
            / f64::from(steps),
        simulation.energy_errors().1,
    );
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [kind, n, rest @ ..] = &given[..] {
        let n: usize = n.parse().expect("a number");
        let steps = rest.first().map_or(100, |s| s.parse().expect("a number"));
        let places = if kind == "boxes" { boxes(n) } else { pyramid(n) };
        return measure(&format!("{kind} {}", places.len()), &places, steps);
    }
    for rows in [4, 10, 20] {
        let places = pyramid(rows);
        measure(&format!("pyramid {}", places.len()), &places, 100);
    }
    for n in [10, 30, 100, 300, 1000] {
        measure(&format!("boxes {n}"), &boxes(n), 100);
    }
}
