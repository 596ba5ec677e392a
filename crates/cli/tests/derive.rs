//! `gelenk derive`, `gelenk compare` and `run --engine lagrange`.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, json_of, number, text_of};

/// A ball on a rod without mass, written with parameters.
const BOB: &str = r#"
    [model]
    name = "bob"
    gravity = [0, 0, "-g"]
    [parameters]
    g = 9.81
    l = 2.0
    m = 3.0
    r = 0.1
    [[body]]
    name = "bob"
    mass = "m"
    position = [0, 0, "-l"]
    inertia = ["m*r^2", "m*r^2", "m*r^2"]
    [[joint]]
    name = "pivot"
    type = "hinge"
    between = ["world", "bob"]
    point = [0, 0, 0]
    axis = [0, -1, 0]
"#;

fn bob(folder: &std::path::Path) {
    std::fs::write(folder.join("bob.toml"), BOB).unwrap();
}

#[test]
fn the_pendulum_in_closed_form() {
    let folder = folder();
    bob(folder.path());
    let (text, _) = text_of(folder.path(), &["derive", "bob.toml"], 0);
    assert!(text.contains("joint `pivot`, angle"), "{text}");
    assert!(text.contains("g_11 = m*(l^2 + r^2)"), "{text}");
    assert!(text.contains("g*l*m*sin(q1)"), "{text}");
    assert!(text.contains("q1 = 0: stable"), "{text}");
    assert!(text.contains("9 operations expanded, 8 simplified"), "{text}");
    let (only, _) = text_of(folder.path(), &["derive", "bob.toml", "--what", "metric"], 0);
    assert!(only.contains("Metric") && !only.contains("Generalized forces"), "{only}");
}

#[test]
fn numbers_at_a_point() {
    let folder = folder();
    bob(folder.path());
    let point = r#"{"parameters": {"m": 1}, "q": [0.5], "qd": {"q1": 2}, "t": 0}"#;
    std::fs::write(folder.path().join("point.json"), point).unwrap();
    let value = json_of(folder.path(), &["derive", "bob.toml", "--evaluate", "point.json"], 0);
    let qdd = value["qdd"][0].as_f64().unwrap();
    assert!((qdd + 9.81 * 2.0 / 4.01 * 0.5_f64.sin()).abs() < 1e-13, "{qdd}");
    assert!((value["g"][1][1].as_f64().unwrap() - 4.01).abs() < 1e-14);
    assert_eq!(value["g"].as_array().unwrap().len(), 2);
    assert_eq!(value["gamma"][0].as_array().unwrap().len(), 2);
    let force = value["Q"][0].as_f64().unwrap();
    assert!((force + 9.81 * 2.0 * 0.5_f64.sin()).abs() < 1e-13, "{force}");
    for key in ["coordinates", "parameters", "expressions", "operations", "first_integrals"] {
        assert!(value.get(key).is_some(), "{key}");
    }
    assert!(number(&value, "operations.before") >= number(&value, "operations.after"));
    assert_eq!(value["expressions"]["g"][1][1], "m*(l^2 + r^2)");
}

#[test]
fn the_double_pendulum_has_two_coordinates() {
    let folder = folder();
    let value = json_of(folder.path(), &["derive", "double-pendulum"], 0);
    assert_eq!(value["coordinates"].as_array().unwrap().len(), 2);
    assert_eq!(value["expressions"]["g"].as_array().unwrap().len(), 3);
    assert_eq!(value["cyclic"].as_array().unwrap().len(), 0);
    assert_eq!(value["equilibria"].as_array().unwrap().len(), 4);
    let stable = value["equilibria"].as_array().unwrap().iter().filter(|e| e["stable"] == true);
    assert_eq!(stable.count(), 1);
}

#[test]
fn substitutions_and_linear_equations() {
    let folder = folder();
    bob(folder.path());
    let args = ["derive", "bob.toml", "--substitute", "l=r", "--linearize", "q1=0"];
    let value = json_of(folder.path(), &args, 0);
    assert_eq!(value["expressions"]["g"][1][1], "2*m*r^2");
    assert_eq!(value["linearization"]["M"][0][0], "2*m*r^2");
    assert_eq!(value["linearization"]["K"][0][0], "g*m*r");
    let value = json_of(folder.path(), &["derive", "bob.toml", "--substitute", "k=1"], 2);
    assert!(value["error"]["message"].as_str().unwrap().contains("no parameter `k`"));
}

#[test]
fn every_format_is_written() {
    let folder = folder();
    bob(folder.path());
    for (format, sign) in [
        ("latex", "\\begin{document}"),
        ("markdown", "## Metric"),
        ("json", "\"expressions\""),
        ("rust", "pub fn bob_accelerations"),
        ("c", "void bob_accelerations"),
        ("python", "def bob_accelerations"),
    ] {
        let (text, _) = text_of(folder.path(), &["derive", "bob.toml", "--format", format], 0);
        assert!(text.contains(sign), "{format}: {text}");
    }
    text_of(folder.path(), &["derive", "bob.toml", "-f", "c", "--output", "bob.c"], 0);
    assert!(std::fs::read_to_string(folder.path().join("bob.c")).unwrap().contains("sin"));
}

#[test]
fn faults_of_derive_end_with_2() {
    let folder = folder();
    bob(folder.path());
    std::fs::write(folder.path().join("bad.json"), r#"{"q": [1, 2]}"#).unwrap();
    for (args, word) in [
        (["derive", "bob.toml", "--what", "metrics"], "no part `metrics`"),
        (["derive", "bob.toml", "--evaluate", "bad.json"], "1 numbers"),
        (["derive", "bob.toml", "--linearize", "q7=0"], "no coordinate `q7`"),
    ] {
        let value = json_of(folder.path(), &args, 2);
        let message = value["error"]["message"].as_str().unwrap();
        assert!(message.contains(word), "{message}");
    }
    json_of(folder.path(), &["derive", "bob.toml", "--evaluate", "none.json"], 4);
}

#[test]
fn the_lagrange_engine_runs_records_and_verifies() {
    let folder = folder();
    let args = ["run", "double-pendulum", "--engine", "lagrange", "--duration", "1"];
    let args = [&args[..], &["--output", "a.mcap", "--film", "a.svg"]].concat();
    let (text, _) = text_of(folder.path(), &args, 0);
    assert!(text.contains("lagrange engine"), "{text}");
    let value = json_of(folder.path(), &["verify", "a.mcap"], 0);
    assert_eq!(value["exit_code"], 0);
    text_of(folder.path(), &["export", "a.mcap", "--csv", "a.csv"], 0);
    assert!(std::fs::read_to_string(folder.path().join("a.csv")).unwrap().lines().count() > 10);
    let args = ["run", "double-pendulum", "--engine", "lagrange", "--duration", "1", "--at", "0.5"];
    let value = json_of(folder.path(), &args, 0);
    assert_eq!(value["engine"], "lagrange");
    assert_eq!(value["samples"].as_array().unwrap().len(), 1);
    assert!(number(&value, "energy.max_abs_error") < 1e-9);
}

#[test]
fn what_lagrange_cannot_run_is_refused_by_name() {
    let folder = folder();
    let value = json_of(folder.path(), &["run", "rope-bridge", "--engine", "lagrange"], 2);
    assert!(value["error"]["message"].as_str().unwrap().contains('`'), "{value:#}");
    let value = json_of(folder.path(), &["converge", "pendulum", "--engine", "lagrange"], 2);
    assert!(value["error"]["message"].as_str().unwrap().contains("chooses its steps itself"));
    // Contact is for impulses alone.
    let value = json_of(folder.path(), &["compare", "stack"], 2);
    assert!(value["error"]["message"].as_str().unwrap().contains("nothing to compare"));
    let value = json_of(folder.path(), &["compare", "pendulum", "--engines", "impulse,ode"], 2);
    assert!(value["error"]["message"].as_str().unwrap().contains("no engine `ode`"));
}

#[test]
fn engines_are_compared() {
    let folder = folder();
    let args = ["compare", "spherical-pendulum", "--duration", "0.5", "--plot", "d.svg"];
    let value = json_of(folder.path(), &args, 0);
    assert_eq!(value["agree"], true);
    assert!(number(&value, "worst.position") < 1e-8);
    assert_eq!(value["differences"].as_array().unwrap().len(), 21);
    assert_eq!(value["orders"].as_array().unwrap().len(), 4);
    let p = value["orders"][0]["measured"].as_f64().unwrap();
    assert!((p - 2.0).abs() < 0.1, "{p}");
    assert!(std::fs::read_to_string(folder.path().join("d.svg")).unwrap().contains("<svg"));
    // A long step of the impulse engine is found out.
    let args = ["compare", "double-pendulum", "--step", "0.1", "--no-orders"];
    let value = json_of(folder.path(), &args, 1);
    assert_eq!(value["agree"], false);
}
