//! `gelenk converge`: orders, cost, plot.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, json_of, number, text_of};
use serde_json::Value;

/// The measured order of a quantity.
fn order(value: &Value, name: &str) -> f64 {
    let quantities = value["quantities"].as_array().unwrap();
    let quantity = quantities.iter().find(|q| q["name"] == name);
    let quantity = quantity.unwrap_or_else(|| panic!("no {name} in {value:#}"));
    quantity["order"].as_f64().unwrap_or_else(|| panic!("no order of {name} in {value:#}"))
}

#[test]
fn the_pendulum_converges_with_order_two() {
    let folder = folder();
    let value = json_of(folder.path(), &["converge", "pendulum"], 0);
    for name in ["position", "velocity", "energy"] {
        let measured = order(&value, name);
        assert!((measured - 2.0).abs() < 0.02, "{name}: {measured}");
    }
    let levels = value["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 5);
    for (i, level) in levels.iter().enumerate() {
        assert_eq!(level["steps"], 100 << i);
        assert!(number(level, "wall_seconds") > 0.0);
        assert!(number(level, "errors.position") > 0.0);
    }
    assert!((number(&levels[0], "orders.position") - 2.0).abs() < 0.02);
    assert!(levels[4]["orders"]["position"].is_null());
    assert!(number(&value, "reference.step") < number(&levels[4], "step"));
}

/// Orders 2, 4, 6 and 8 within 0.1 on five mechanisms. Steps are chosen so that errors lie between 1e-3 m, where higher terms show, and
/// 1e-13 m, where rounding does.
#[test]
fn all_orders_are_measured() {
    let folder = folder();
    let slow: &[&str] = &["--set", "speed=3"];
    for (model, duration, steps, set) in [
        ("pendulum", "2", ["1/80", "1/40", "1/20", "1/8"], &[][..]),
        ("spherical-double-pendulum", "1", ["1/160", "1/80", "1/60", "1/30"], &[]),
        ("heavy-top", "0.5", ["1/320", "1/240", "1/160", "1/80"], &[]),
        ("slider-crank", "1", ["1/80", "1/40", "1/40", "1/28"], slow),
        ("spring-swing", "1", ["1/120", "1/80", "1/40", "1/40"], &[]),
    ] {
        for (n, step) in [2_u8, 4, 6, 8].into_iter().zip(steps) {
            let n_text = n.to_string();
            let levels = if n == 8 { "2" } else { "3" };
            let mut args = vec!["converge", model, "--order", &n_text, "--step", step];
            args.extend(["--duration", duration, "--levels", levels, "--quantity", "position"]);
            args.extend(["--tolerance", "1e-15", "--velocity-tolerance", "1e-15"]);
            args.extend(set);
            let value = json_of(folder.path(), &args, 0);
            let measured = order(&value, "position");
            assert!((measured - f64::from(n)).abs() < 0.1, "{model}, order {n}: {measured}");
        }
    }
}

#[test]
fn a_mechanism_with_loops_converges() {
    let folder = folder();
    let args = ["converge", "four-bar", "--duration", "0.2", "--levels", "4"];
    let value = json_of(folder.path(), &args, 0);
    for name in ["position", "rotation", "velocity", "angular_velocity"] {
        let measured = order(&value, name);
        assert!((measured - 2.0).abs() < 0.1, "{name}: {measured}");
    }
}

#[test]
fn people_get_a_table_and_a_plot() {
    let folder = folder();
    let args = [
        "converge",
        "pendulum",
        "--levels",
        "3",
        "--plot",
        "study.svg",
        "--quantity",
        "position.bob,energy",
    ];
    let (text, _) = text_of(folder.path(), &args, 0);
    for part in
        ["position.bob, m", "energy, J", "order", "0.0025", "measured order: position.bob 2.00"]
    {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let svg = std::fs::read_to_string(folder.path().join("study.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("slope 2"));
}

#[test]
fn unknown_quantities_and_short_runs_are_refused() {
    let folder = folder();
    for (args, word) in [
        (["converge", "pendulum", "--quantity", "colour"], "position"),
        (["converge", "pendulum", "--quantity", "position.bib"], "bib"),
        (["converge", "pendulum", "--duration", "0.001"], "shorter"),
    ] {
        let (_, err) = text_of(folder.path(), &args, 2);
        assert!(err.contains(word), "{args:?}: {err}");
        json_of(folder.path(), &args, 2);
    }
}
