//! Solves a named problem and prints every start: `problem NAME [STARTS] [SEED] [VERBOSE]`.
#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;
use std::time::Instant;

use gelenk_model::{LoadOptions, load_text};
use gelenk_optimize::gallery;
use gelenk_optimize::problem::{Live, Problem, RunOptions, optimize};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number =
        |i: usize, default: u64| arguments.get(i).map_or(default, |a| a.parse().expect("a number"));
    let name = arguments.get(1).expect("a name");
    let text = match gallery::problem(name) {
        Some(known) => known.text.to_owned(),
        None => std::fs::read_to_string(name).expect("a file"),
    };
    let load = |model: &str, set: &[(String, String)]| {
        let scene = gelenk_scenes::scene(model).expect("in the gallery");
        load_text(
            model,
            scene.text,
            &LoadOptions { overrides: set.to_vec(), ..LoadOptions::default() },
        )
    };
    let clock = Instant::now();
    let problem =
        Problem::read(name, &text, &[], &load).unwrap_or_else(|faults| panic!("{faults}"));
    println!("read in {:?}", clock.elapsed());
    let verbose = number(4, 0);
    let starts = usize::try_from(number(2, 1)).expect("small");
    let clock = Instant::now();
    let mut watch = |live: &Live<'_>| {
        let every = verbose > 0 && (live.iteration as u64).is_multiple_of(verbose);
        if live.iteration == 0 || every {
            println!(
                "{}.{}.{} {:3} {:12.6} {:9.2e} {:9.2e} α {:7.1e} μ {:8.1e} {} {} {:.1?}",
                live.stage.start,
                live.stage.step,
                live.stage.round,
                live.iteration,
                live.objective,
                live.infeasibility,
                live.kkt,
                live.step,
                live.mu,
                live.active,
                live.restoring,
                clock.elapsed()
            );
        }
        ControlFlow::Continue(())
    };
    let options = RunOptions { starts, seed: number(3, 0), ..RunOptions::default() };
    let finished = optimize(&problem, &options, None, &mut watch).unwrap_or_else(|e| panic!("{e}"));
    for found in &finished.found {
        println!(
            "start {} ({}): {:?} objective {:.6} kkt {:.1e} infeasible {:.1e} iterations {} certificate {:?} {}",
            found.start,
            found.kind,
            found.status,
            found.objective,
            found.kkt,
            found.infeasibility,
            found.iterations,
            found.certificate.as_ref().map(|c| (c.objective, c.state_error)),
            found.message
        );
    }
    println!("best {} in {:?}", finished.found[finished.best].objective, clock.elapsed());
}
