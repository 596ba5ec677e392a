//! Solves a named problem, or one from a file, and tells every iteration: `solve NAME [--starts N] [--seed N] [--from A.json] [--to B.json] [--set K=V] [--skip N]`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::ops::ControlFlow;
use std::time::Instant;

use gelenk_model::{LoadOptions, load_text};
use gelenk_optimize::problem::{Live, Problem, RunOptions, optimize};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().expect("a problem");
    let mut options = RunOptions::default();
    let (mut to, mut set) = (None, Vec::new());
    while let Some(key) = arguments.next() {
        let value = arguments.next().expect("a value");
        match key.as_str() {
            "--starts" => options.starts = Some(value.parse().expect("a number")),
            "--seed" => options.seed = Some(value.parse().expect("a number")),
            "--intervals" => options.intervals = Some(value.parse().expect("a number")),
            "--iterations" => options.max_iterations = Some(value.parse().expect("a number")),
            "--from" => {
                let text = std::fs::read_to_string(value).expect("a file");
                options.warm = Some(serde_json::from_str(&text).expect("a motion"));
            }
            "--barrier" => options.barrier = Some(value.parse().expect("a number")),
            "--to" => to = Some(value),
            "--set" => {
                let (key, value) = value.split_once('=').expect("NAME=VALUE");
                set.push((key.to_owned(), value.to_owned()));
            }
            _ => panic!("{key}?"),
        }
    }
    let text = gelenk_optimize::gallery::problem(&name).map_or_else(
        || std::fs::read_to_string(&name).expect("a problem or a file"),
        |named| named.text.to_owned(),
    );
    let load = |model: &str, options: &LoadOptions| {
        load_text(model, gelenk_scenes::scene(model).expect("in the gallery").text, options)
    };
    let problem = Problem::read(&name, &text, &set, &load).unwrap_or_else(|e| panic!("{e}"));
    let clock = Instant::now();
    let mut watch = |live: &Live<'_>| {
        println!(
            "{:7.1} s  {}.{}.{}{} {:4} {:13.6} inf {:8.1e} kkt {:8.1e} step {:8.1e} mu {:7.1e} delta {:7.1e} active {:3} {}",
            clock.elapsed().as_secs_f64(),
            live.stage.start,
            live.stage.step,
            live.stage.round,
            if live.stage.shorter { "s" } else { "" },
            live.iteration,
            live.objective,
            live.infeasibility,
            live.kkt,
            live.step,
            live.mu,
            live.delta,
            live.active,
            if live.restoring { "restoring" } else { "" }
        );
        ControlFlow::Continue(())
    };
    let finished = optimize(&problem, &options, None, &mut watch).unwrap_or_else(|e| panic!("{e}"));
    for found in &finished.found {
        println!(
            "start {} ({}): {:?} {:.6}, kkt {:.1e}, missed {:.1e}, {} iterations, {}{}",
            found.start,
            found.kind,
            found.status,
            found.objective,
            found.kkt,
            found.infeasibility,
            found.iterations,
            found.message,
            found.certificate.as_ref().map_or_else(String::new, |c| format!(
                "run again {:.6}, differs by {:.1e} in interval {}",
                c.objective, c.state_error, c.worst_interval
            ))
        );
    }
    let best = &finished.found[finished.best];
    println!("best {:.6} after {:.1} s", best.objective, clock.elapsed().as_secs_f64());
    if let Some(to) = to {
        std::fs::write(to, serde_json::to_string(&best.solution).expect("numbers"))
            .expect("a file");
    }
}
