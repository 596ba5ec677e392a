//! Problems with known optima.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::ops::ControlFlow;

use gelenk_model::LoadOptions;
use gelenk_optimize::gallery;
use gelenk_optimize::interior::Status;
use gelenk_optimize::problem::{Finished, Found, Live, Problem, RunOptions, optimize};

fn read(name: &str, text: &str) -> Problem {
    let load = |model: &str, _: &LoadOptions| panic!("no model `{model}` here");
    Problem::read(name, text, &[], &load).unwrap_or_else(|faults| panic!("{faults}"))
}

fn run(name: &str, options: &RunOptions) -> Finished {
    let problem = read(name, gallery::problem(name).unwrap().text);
    let mut watch = |live: &Live<'_>| {
        println!(
            "{:?} {:3} {:15.9e} {:9.2e} {:9.2e} α {:7.1e} μ {:8.1e} {} {}",
            live.stage.round,
            live.iteration,
            live.objective,
            live.infeasibility,
            live.kkt,
            live.step,
            live.mu,
            live.active,
            live.restoring
        );
        ControlFlow::Continue(())
    };
    optimize(&problem, options, None, &mut watch).unwrap()
}

fn best(name: &str) -> Found {
    let finished = run(name, &RunOptions::default());
    let found = finished.found[finished.best].clone();
    assert_eq!(found.status, Status::Optimal, "{}", found.message);
    let certificate = found.certificate.clone().unwrap();
    println!(
        "{name}: {} again {} error {:e}",
        found.objective, certificate.objective, certificate.state_error
    );
    assert!(certificate.state_error < 1e-7, "{certificate:?}");
    assert!((certificate.objective - found.objective).abs() < 1e-6, "{certificate:?}");
    found
}

#[test]
fn double_integrator() {
    assert!((best("double-integrator").objective - 2.0).abs() < 1e-6);
}

/// Time of the cycloid x = r(φ − sin φ), y = r(1 − cos φ) through (a, b): √(r/g) φ.
fn cycloid(a: f64, b: f64, g: f64) -> f64 {
    let (mut low, mut high) = (1e-6, 2.0 * std::f64::consts::PI - 1e-6);
    for _ in 0..200 {
        let phi: f64 = 0.5 * (low + high);
        if (phi - phi.sin()) / (1.0 - phi.cos()) < a / b {
            low = phi;
        } else {
            high = phi;
        }
    }
    (b / (1.0 - low.cos()) / g).sqrt() * low
}

#[test]
fn brachistochrone() {
    let exact = cycloid(10.0, 5.0, 9.81);
    let found = best("brachistochrone").objective;
    assert!((found - exact).abs() < 1e-6, "{found} {exact}");
}

#[test]
fn bryson_denham() {
    let found = best("bryson-denham").objective;
    assert!((found - 4.0).abs() < 1e-6, "{found}");
}

#[test]
fn rod_turn() {
    let exact = 3.0 * std::f64::consts::PI.powi(2);
    let found = best("rod-turn").objective;
    assert!((found - exact).abs() < 1e-6, "{found} {exact}");
}

/// The optimum that another program found on the same grid (reference/optimal.py).
fn reference(name: &str) -> f64 {
    let table = include_str!("../../../reference/optimal.csv");
    let line = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(','));
    line.unwrap().parse().unwrap()
}

#[test]
fn van_der_pol_goddard_and_cart_pole_agree_with_another_program() {
    for name in ["van-der-pol", "goddard", "cart-pole"] {
        let (found, other) = (best(name).objective, reference(name));
        assert!((found - other).abs() < 1e-6, "{name}: {found} {other}");
    }
}

#[test]
fn more_intervals_come_to_the_published_rocket() {
    // COPS 3.0 gives 1.01283 for Goddard's rocket.
    let options = RunOptions { intervals: Some(100), ..RunOptions::default() };
    let finished = run("goddard", &options);
    let found = &finished.found[finished.best];
    assert_eq!(found.status, Status::Optimal);
    assert!((found.objective - 1.01283).abs() < 1e-5, "{}", found.objective);
}
