//! Speed of compiled expressions, beside their error against the same formula in Rust.
//!
//! `cargo run --release -p gelenk-expr --example tape_speed`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use gelenk_expr::{Expr, Pool, Tape};

/// A formula as text and as Rust.
struct Case {
    name: &'static str,
    text: String,
    inputs: usize,
    direct: fn(&[f64]) -> f64,
}

fn main() {
    println!(
        "{:<28} {:>10} {:>10} {:>12} {:>12}",
        "formula", "operations", "registers", "M ops/s", "error"
    );
    for case in cases() {
        let mut pool = Pool::new();
        let inputs: Vec<Expr> = (0..case.inputs).map(|i| pool.symbol(&format!("x{i}"))).collect();
        let e = pool.parse(&case.text).expect("the formulas parse");
        let tape = Tape::compile(&pool, &[e], &inputs).expect("all symbols are inputs");
        let (rate, error) = measure(&tape, case.direct);
        println!(
            "{:<28} {:>10} {:>10} {:>12.0} {:>12.1e}",
            case.name,
            tape.n_operations(),
            tape.n_registers(),
            rate / 1e6,
            error
        );
    }
}

/// Operations per second, and the largest relative error over the points.
fn measure(tape: &Tape, direct: fn(&[f64]) -> f64) -> (f64, f64) {
    let mut registers = vec![0.0; tape.n_registers()];
    let mut output = [0.0];
    let points: Vec<Vec<f64>> =
        (0..64u32).map(|k| (0..tape.n_inputs()).map(|i| 0.3 + libm_free(k, i)).collect()).collect();
    let mut error: f64 = 0.0;
    for x in &points {
        tape.eval(x, &mut registers, &mut output);
        let exact = direct(x);
        error = error.max((output[0] - exact).abs() / exact.abs().max(1e-300));
    }
    // Short rounds, of which other programs on the machine leave at least one alone.
    let n_calls = 500_000 / tape.n_operations().max(1);
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let start = Instant::now();
        for k in 0..n_calls {
            tape.eval(black_box(&points[k % points.len()]), &mut registers, &mut output);
            black_box(output[0]);
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    ((n_calls * tape.n_operations()) as f64 / best, error)
}

/// A value in [0, 1) that differs from point to point.
fn libm_free(k: u32, i: usize) -> f64 {
    (f64::from(k) * 0.618_033_988_749_894_9 + i as f64 * 0.414_213_562_373_095).fract()
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "polynomial, 200 terms",
            text: (0..200)
                .map(|k| format!("{}*x{}*x{}*x{}", k + 1, k % 6, (k / 6) % 6, (k / 36) % 6))
                .collect::<Vec<_>>()
                .join(" + "),
            inputs: 6,
            direct: |x| {
                (0..200).map(|k| (k + 1) as f64 * x[k % 6] * x[(k / 6) % 6] * x[(k / 36) % 6]).sum()
            },
        },
        Case {
            name: "nested arithmetic",
            text: {
                let mut text = "x0".to_owned();
                for k in 0..100 {
                    text = format!("({text}*x{} + x{})/(1 + x{})", k % 6, (k + 1) % 6, (k + 2) % 6);
                }
                text
            },
            inputs: 6,
            direct: |x| {
                (0..100).fold(x[0], |e, k| (e * x[k % 6] + x[(k + 1) % 6]) / (1.0 + x[(k + 2) % 6]))
            },
        },
        Case {
            name: "spring and damper",
            text: "-1200*(sqrt((x0 - x3)^2 + (x1 - x4)^2 + (x2 - x5)^2) - 0.3)*(x0 - x3)\
                   /sqrt((x0 - x3)^2 + (x1 - x4)^2 + (x2 - x5)^2) - 15*(x3 - x1)"
                .to_owned(),
            inputs: 6,
            direct: |x| {
                let d = [x[0] - x[3], x[1] - x[4], x[2] - x[5]];
                let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                -1200.0 * (length - 0.3) * d[0] / length - 15.0 * (x[3] - x[1])
            },
        },
        Case {
            name: "sines and exponentials",
            text: "sin(x0)*cos(x1) + exp(-x2)*sin(x3 + x4) + atan2(x5, x0)".to_owned(),
            inputs: 6,
            direct: |x| {
                x[0].sin() * x[1].cos() + (-x[2]).exp() * (x[3] + x[4]).sin() + x[5].atan2(x[0])
            },
        },
    ]
}
