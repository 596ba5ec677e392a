//! Against SciPy's DOP853 and Radau: single steps to rounding, runs to their tolerance.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{Plain, Switched, lorenz, oregonator, pendulum, robertson};
use gelenk_ode::{Direction, Integrator, Method, Options, Stop};

struct Row {
    kind: String,
    problem: String,
    h: f64,
    theta: f64,
    y: Vec<f64>,
}

fn rows(kind: &str) -> Vec<Row> {
    let rows: Vec<Row> = include_str!("scipy_reference.csv")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("kind"))
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let numbers: Vec<f64> = cells[2..].iter().map(|c| c.parse().unwrap()).collect();
            Row {
                kind: cells[0].into(),
                problem: cells[1].into(),
                h: numbers[1],
                theta: numbers[2],
                y: numbers[3..].to_vec(),
            }
        })
        .filter(|row| row.kind == kind)
        .collect();
    assert!(!rows.is_empty(), "{kind}");
    rows
}

type Rhs = fn(f64, &[f64], &mut [f64]);

fn problem(name: &str) -> (Rhs, Vec<f64>) {
    match name {
        "pendulum" => (pendulum, vec![1.0, 0.5]),
        "lorenz" => (lorenz, vec![1.0, 2.0, 20.0]),
        "robertson" => (robertson, vec![1.0, 0.0, 0.0]),
        "oregonator" => (oregonator, vec![1.0, 2.0, 3.0]),
        other => panic!("no problem {other}"),
    }
}

fn assert_close(row: &Row, y: &[f64], relative: f64) {
    for (a, b) in y.iter().zip(&row.y) {
        let error = (a - b).abs() / b.abs();
        assert!(error < relative, "{} {}: {a} and {b}: {error:.1e}", row.kind, row.problem);
    }
}

#[test]
fn a_step_of_order_eight_and_its_interpolant() {
    for row in rows("dop853-step") {
        let (f, y0) = problem(&row.problem);
        let mut system = Plain(y0.len(), f);
        let options =
            Options { first_step: Some(row.h), rtol: 0.9, atol: 1e6, ..Options::default() };
        let mut run = Integrator::new(options, 0.0, &y0).unwrap();
        assert_eq!(run.advance(&mut system, row.h).unwrap(), Stop::End);
        assert_eq!(run.stats().steps, 1);
        let mut y = y0.clone();
        run.at(&mut system, row.theta * row.h, &mut y).unwrap();
        // Sums in another order: a few units in the last place.
        assert_close(&row, &y, 4e-15);
    }
}

/// A step of Radau whose iteration is carried to the end: that is how steps to events are made.
#[test]
fn a_step_of_radau_and_its_polynomial() {
    for row in rows("radau-step") {
        let (f, y0) = problem(&row.problem);
        let h = row.h;
        let mut system = Switched {
            dim: y0.len(),
            f,
            n_switches: 1,
            g: |t: f64, _: &[f64], g: &mut [f64]| g[0] = t - h,
            direction: Direction::Both,
        };
        let options = Options { first_step: Some(0.5), rtol: 0.5, atol: 0.1, ..Options::default() };
        let mut run = Integrator::new(options.method(Method::Radau5), 0.0, &y0).unwrap();
        assert_eq!(run.advance(&mut system, 1.0).unwrap(), Stop::Event);
        assert_eq!(run.stats().steps, 1);
        assert!((run.t() - h).abs() < 1e-15);
        let mut y = y0.clone();
        run.at(&mut system, row.theta * h, &mut y).unwrap();
        assert_close(&row, &y, 2e-13);
    }
}

/// Both programs at 1e-13: the rest is amplified by the problem (Lorenz: e^1.8 in 2 s).
#[test]
fn runs_of_order_eight() {
    for row in rows("dop853-run") {
        let (f, y0) = problem(&row.problem);
        let mut system = Plain(y0.len(), f);
        let mut run = Integrator::new(Options::with_tolerance(1e-13), 0.0, &y0).unwrap();
        assert_eq!(run.run(&mut system, row.h).unwrap(), Stop::End);
        assert_close(&row, run.y(), 2e-11);
    }
}

/// Both programs near 1e-11.
#[test]
fn runs_of_radau() {
    for row in rows("radau-run") {
        let (f, y0) = problem(&row.problem);
        let mut system = Plain(y0.len(), f);
        let options = Options { rtol: 1e-12, atol: 1e-16, ..Options::default() };
        let mut run = Integrator::new(options.method(Method::Radau5), 0.0, &y0).unwrap();
        assert_eq!(run.run(&mut system, row.h).unwrap(), Stop::End);
        assert_close(&row, run.y(), 2e-9);
    }
}
