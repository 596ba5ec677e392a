//! Cost of one evaluation of the accelerations against the number of bodies: chains and binary trees of hinged rods. Without arguments it measures times;
//! the exponents of the last lines are to be near 1. With `ARITY N COUNT` it makes COUNT evaluations for one tree and prints nothing, for tools that count
//! instructions: `bench/trees` does.
#![allow(clippy::print_stdout, reason = "an example")]

use std::fmt::Write;
use std::time::Instant;

use gelenk_dae::Equations;
use gelenk_model::{LoadOptions, load_text};

/// n rods, each hinged to its parent, `parent(i)` of rod i (none: the world).
fn text(n: usize, parent: impl Fn(usize) -> Option<usize>) -> String {
    let mut text = String::new();
    let mut tip = Vec::new();
    for i in 0..n {
        let from: [f64; 3] = parent(i).map_or([0.0; 3], |k| tip[k]);
        let turn = 0.4 * (i as f64 * 1.7).sin();
        let to = [from[0] + 0.2 * turn, from[1] + 0.1, from[2] - 0.3];
        tip.push(to);
        let name = parent(i).map_or("world".to_owned(), |k| format!("rod{k}"));
        let _ = write!(
            text,
            "[[body]]\nname = \"rod{i}\"\nmass = 1\nends = [{from:?}, {to:?}]\nshape = {{ cylinder = {{ radius = 0.02 }} }}\n\
             [[joint]]\nname = \"hinge{i}\"\ntype = \"hinge\"\nbetween = [\"{name}\", \"rod{i}\"]\npoint = {from:?}\naxis = [1, {}, 0]\n",
            i % 2
        );
    }
    text
}

fn seconds(text: &str) -> f64 {
    let loaded = load_text("tree", text, &LoadOptions::default()).expect("the text is a model");
    let model = &loaded.model;
    let mut equations = Equations::new(model, &model.start);
    let y = equations.y_of(&model.start);
    equations.read(0.0, &y);
    // The least of several, since other programs disturb.
    let mut least = f64::INFINITY;
    for _ in 0..20 {
        let begin = Instant::now();
        equations.accelerate(0.0);
        least = least.min(begin.elapsed().as_secs_f64());
    }
    least
}

/// n rods; each but the first hangs on one before it, `arity` on each.
fn tree(n: usize, arity: usize) -> String {
    text(n, |i| (i > 0).then(|| (i - 1) / arity))
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    if let [arity, n, count] = numbers[..] {
        let loaded =
            load_text("tree", &tree(n, arity.max(1)), &LoadOptions::default()).expect("a model");
        let mut equations = Equations::new(&loaded.model, &loaded.model.start);
        let y = equations.y_of(&loaded.model.start);
        equations.read(0.0, &y);
        for _ in 0..count {
            equations.accelerate(0.0);
        }
        return;
    }
    for (name, arity) in [("chain", 1), ("binary tree", 2)] {
        let mut first = None;
        for n in [62, 125, 250, 500, 1000] {
            let time = seconds(&tree(n, arity));
            let from = *first.get_or_insert((n, time));
            let exponent = (time / from.1).ln() / (n as f64 / from.0 as f64).ln();
            println!(
                "{name:12} {n:5} bodies {:9.1} us an evaluation, {:6.2} us a body, exponent {exponent:.3}",
                1e6 * time,
                1e6 * time / n as f64
            );
        }
    }
}
