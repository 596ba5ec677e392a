//! Table 9.1 of Schmitt (2003), reproduced through the command line: the period of the 1 m pendulum against the step.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, json_of, number};

struct Row {
    h: f64,
    /// T0 − T, s.
    error: f64,
}

/// The exact period T0, s, and the rows of the table.
fn table() -> (f64, Vec<Row>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference/schmitt-2003-table-9-1.csv");
    let text = std::fs::read_to_string(path).expect("the reference table");
    let t0 = text.split("T0 = ").nth(1).and_then(|rest| rest.split(' ').next()).expect("T0");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| {
        let numbers: Vec<f64> = line.split(',').map(|n| n.parse().unwrap()).collect();
        Row { h: numbers[0], error: numbers[2] }
    });
    (t0.parse().unwrap(), rows.collect())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
/// The period that the program gives with step h, from two zero crossings of the bob's x in the same direction.
///
/// Released at x > 0, the bob crosses downwards at T/4 and again at 5T/4. As in the paper the crossing is interpolated
/// between the two steps around it, here by Newton's iteration on the cubic through positions and velocities.
fn period(h: f64, t0: f64) -> f64 {
    let crossings: Vec<f64> = [0.25 * t0, 1.25 * t0]
        .iter()
        .map(|&guess| {
            // Steps for 5 h and 2 ms around the expected time, whichever is more.
            let reach = (2e-3_f64).max(5.0 * h);
            let first = ((guess - reach) / h).floor();
            let last = ((guess + reach) / h).ceil();
            let times: Vec<String> = (0..=(last - first) as u32)
                .map(|i| ((first + f64::from(i)) * h).to_string())
                .collect();
            crossing(h, &times.join(","))
        })
        .collect();
    crossings[1] - crossings[0]
}

fn crossing(h: f64, at: &str) -> f64 {
    let folder = folder();
    let step = h.to_string();
    let args =
        ["run", "pendulum", "--step", &step, "--tolerance", "1e-9", "--duration", "3", "--at", at];
    let value = json_of(folder.path(), &args, 0);
    let samples = value["samples"].as_array().unwrap();
    let read = |i: usize| {
        let bob = &samples[i]["points"]["bob"];
        let x = bob["position"][0].as_f64().unwrap();
        let v = bob["velocity"][0].as_f64().unwrap();
        (number(&samples[i], "time"), x, v)
    };
    let after = (1..samples.len()).find(|&i| read(i).1 <= 0.0).expect("x changes its sign");
    let ((t_a, x_a, v_a), (t_b, x_b, v_b)) = (read(after - 1), read(after));
    let length = t_b - t_a;
    // Cubic Hermite interpolation on s from 0 to 1.
    let cubic = |s: f64| {
        let (s2, s3) = (s * s, s * s * s);
        (2.0 * s3 - 3.0 * s2 + 1.0) * x_a
            + (s3 - 2.0 * s2 + s) * length * v_a
            + (3.0 * s2 - 2.0 * s3) * x_b
            + (s3 - s2) * length * v_b
    };
    let mut s = x_a / (x_a - x_b);
    for _ in 0..50 {
        let slope = (cubic(s + 1e-6) - cubic(s - 1e-6)) / 2e-6;
        s -= cubic(s) / slope;
    }
    t_a + s * length
}

#[test]
fn the_period_of_the_pendulum_is_that_of_the_paper() {
    let (t0, rows) = table();
    assert_eq!(rows.len(), 9);
    let mut before: Option<f64> = None;
    for row in &rows {
        let error = t0 - period(row.h, t0);
        let off = error / row.error - 1.0;
        // The last row contradicts the ratio: see the reference file.
        if row.h > 0.000_31 {
            let percent = 100.0 * off;
            assert!(off.abs() < 0.05, "h = {}: {error} is {percent:.2} % off the paper's", row.h);
        }
        if let Some(before) = before {
            let ratio: f64 = before / error;
            assert!((ratio / 4.0 - 1.0).abs() < 0.02, "h = {}: ratio {ratio}", row.h);
        }
        before = Some(error);
    }
}
