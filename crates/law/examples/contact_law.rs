//! Solves every single-step problem of a folder of `.npz` files and reports how well, scene by scene:
//! `cargo run --release -p gelenk-law --example contact_law -- FOLDER`. Exits with 1 if the bars are missed.
#![allow(clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use common::{npz, residual};
use gelenk_law::{Law, Level, never};

/// What became of one step.
struct Row {
    r: f64,
    goal: f64,
    factors: usize,
    solves: usize,
    level: Level,
}

fn report(name: &str, rows: &[Row]) -> (f64, f64, f64) {
    let n = rows.len().max(1) as f64;
    let part = |f: &dyn Fn(&Row) -> bool| 100.0 * rows.iter().filter(|r| f(r)).count() as f64 / n;
    let mut factors: Vec<usize> = rows.iter().map(|r| r.factors).collect();
    factors.sort_unstable();
    let mean = factors.iter().sum::<usize>() as f64 / n;
    let solves = rows.iter().map(|r| r.solves).sum::<usize>() as f64 / n;
    let high =
        factors.get((factors.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
    let (tight, loose) = (part(&|r| r.r <= r.goal), part(&|r| r.r <= 1e-6));
    let levels = [Level::Newton, Level::Path, Level::Convex, Level::Relaxed]
        .map(|level| rows.iter().filter(|r| r.level == level).count());
    let worst = rows.iter().fold(0.0_f64, |m, r| m.max(r.r));
    println!(
        "{name:16} {:5} {tight:7.1} {loose:7.1} {mean:7.1} {high:4} {:4} {solves:7.1}   {:3} {:3} {:2} {:2}   {worst:.1e}",
        rows.len(),
        factors.last().copied().unwrap_or(0),
        levels[0],
        levels[1],
        levels[2],
        levels[3]
    );
    (tight, loose, mean)
}

fn main() -> ExitCode {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "crates/law/tests/problems".to_owned());
    let cold = std::env::args().nth(2).is_some_and(|word| word == "cold");
    let mut files: Vec<PathBuf> = std::fs::read_dir(Path::new(&folder))
        .map(|all| all.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|e| e == "npz"));
    files.sort();
    println!(
        "scene            steps  % 1e-8  % 1e-6 factors 99 %  max  solves   levels 1 2 3 4  largest r"
    );
    let (mut law, mut all, mut complete) = (Law::default(), Vec::new(), !files.is_empty());
    for file in &files {
        let Some(steps) = npz::load(file) else {
            println!("{}: cannot be read", file.display());
            complete = false;
            continue;
        };
        let mut rows = Vec::new();
        for mut step in steps {
            let mut lambda = step.warm.clone();
            if cold {
                lambda.fill(0.0);
            }
            let outcome = law.solve(&step.problem, &mut step.dense, &mut lambda, &never);
            complete &= lambda.iter().all(|l| l.is_finite());
            rows.push(Row {
                r: residual(&step.dense, &step.problem, &lambda),
                goal: step.dense.floor(&lambda).max(1e-8),
                factors: outcome.factors,
                solves: outcome.solves,
                level: outcome.level,
            });
        }
        let name = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        report(&name, &rows);
        all.append(&mut rows);
    }
    let (tight, loose, mean) = report("all", &all);
    if complete && tight >= 93.0 && loose >= 99.5 && mean <= 6.0 {
        ExitCode::SUCCESS
    } else {
        println!("bars missed: 93 % to 1e-8 m/s, 99.5 % to 1e-6 m/s, 6 factorizations in the mean");
        ExitCode::from(1)
    }
}
