//! Bodies that touch: a machine that walks, a pyramid, a stack, and boxes in growing number.

use std::fmt::Write;

use gelenk_impulse::Simulation;
use gelenk_model::{LoadOptions, Model, RunSettings, load_text};

use super::{BenchError, BenchOptions, Group, empty, exponent, measure};

/// What a run with contacts did beside its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactErrors {
    /// Contacts that carried something in the last step.
    pub contacts: usize,
    /// Largest distance of a body from its start, m: the way of what walks, the creep of what should stand.
    pub moved: f64,
    /// Deepest overlap after any step, m.
    pub penetration: f64,
}

impl ContactErrors {
    /// Those of a run; none where nothing can touch.
    pub(super) fn of(simulation: &Simulation<'_>) -> Option<Self> {
        let penetration = simulation.worst_penetration()?;
        let (now, start) = (&simulation.state().s, &simulation.model().start.s);
        let moved = now.iter().zip(start).map(|(s, from)| (s - from).norm()).fold(0.0, f64::max);
        Some(ContactErrors { contacts: simulation.contacts().len(), moved, penetration })
    }
}

/// `n` cubes of 0.2 m apart on a plane, on a square grid.
pub fn boxes(n: usize) -> Model {
    let mut text = format!(
        "[model]\nname = \"{n} boxes\"\n[[material]]\nname = \"m\"\nfriction = 0.5\n\
         [[body]]\nname = \"floor\"\nfixed = true\nmaterial = \"m\"\nshape = {{ plane = {{}} }}\n"
    );
    let side = n.isqrt() + usize::from(n.isqrt().pow(2) < n);
    for i in 0..n {
        let [x, y] = [i % side, i / side].map(|k| 0.4 * k as f64);
        let _ = write!(
            text,
            "[[body]]\nname = \"box{i}\"\nmass = 1\nposition = [{x:?}, {y:?}, 0.1]\nmaterial = \"m\"\n\
             shape = {{ box = {{ size = [0.2, 0.2, 0.2] }} }}\n"
        );
    }
    load_text("boxes.toml", &text, &LoadOptions::default()).expect("a model of its own").model
}

fn scene(name: &str, overrides: &[(&str, &str)]) -> Model {
    let scene = gelenk_scenes::scene(name).expect("a scene of the gallery");
    let overrides = overrides.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let options = LoadOptions { overrides, ..LoadOptions::default() };
    load_text(name, scene.text, &options).expect("a model of the gallery").model
}

/// Scenes of the gallery with their own settings, the walking machine with all contacts of a step at once too, then boxes.
pub(super) fn contact(options: &BenchOptions<'_>) -> Result<Group, BenchError> {
    let about = "what walks and what stands, each with its own step, and n boxes apart on a plane (h = 10 ms, 1e-7 m)";
    let mut group = empty("contact", about);
    let stands: &[(&str, &str)] = &[("stride", "0"), ("lift", "0")];
    for (name, overrides, duration) in [
        ("hexapod", &[][..], 10.0),
        ("hexapod, coarse", &[], 10.0),
        ("hexapod, standing", stands, 10.0),
        ("pyramid", &[], 2.0),
        ("stack", &[], 2.0),
    ] {
        let mut model = scene(name.split(',').next().unwrap_or(name), overrides);
        name.clone_into(&mut model.name);
        if name.ends_with("coarse") {
            "coarse".clone_into(&mut model.run.contact);
        }
        let duration = if options.quick { 0.2 * duration } else { duration };
        group.lines.push(measure(&model, &model.run, duration, options)?);
    }
    let first = group.lines.len();
    for n in if options.quick { &[10, 100][..] } else { &[10, 100, 1000] } {
        let settings = RunSettings { step: 0.01, tolerance: 1e-7, ..RunSettings::default() };
        group.lines.push(measure(&boxes(*n), &settings, 0.5, options)?);
    }
    group.exponent = exponent(&group.lines[first..]);
    Ok(group)
}
