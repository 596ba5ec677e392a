//! `gelenk sensitivity` and `gelenk workprecision`: numbers by hand, names, checks, exit codes.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, gelenk, json, stdout};
use serde_json::Value;

/// The entry of a derivative by the names of its row and column.
fn entry(answer: &Value, by: &str, row: &str, column: &str) -> f64 {
    let named = |list: &Value, name: &str| {
        let list = list.as_array().unwrap();
        list.iter().position(|n| n["name"] == name).unwrap_or_else(|| panic!("{name}: {list:?}"))
    };
    let blocks = answer["derivatives"].as_array().unwrap();
    let block = blocks.iter().find(|b| b["by"] == by).unwrap();
    let (i, j) = (named(&answer["rows"], row), named(&block["columns"], column));
    block["matrix"][i][j].as_f64().unwrap()
}

const OSCILLATOR: &str = r#"
[model]
name = "oscillator"
gravity = [0, 0, 0]
[parameters]
k = { value = 18, unit = "N/m" }
m = { value = 2, unit = "kg" }
[inputs]
push = 0
[[body]]
name = "mass"
mass = "m"
inertia = [0.1, 0.1, 0.1]
velocity = [1, 0, 0]
[[joint]]
name = "rail"
type = "slider"
between = ["world", "mass"]
point = [0, 0, 0]
axis = [1, 0, 0]
stiffness = "k"
motor = { force = "input.push" }
"#;

/// x = sin ωt/ω: by start, input and parameters in closed form; both kinds agree.
#[test]
fn oscillator_by_hand() {
    let folder = folder();
    std::fs::write(folder.path().join("o.toml"), OSCILLATOR).unwrap();
    let args =
        ["sensitivity", "o.toml", "--at", "0.7", "--by", "start,inputs,k,m", "--check", "--json"];
    let output = gelenk(folder.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let answer = json(&output);
    assert_eq!(
        (answer["degrees_of_freedom"].as_u64(), answer["directions"].as_u64()),
        (Some(1), Some(2))
    );
    let (x, v) = ("joint.rail.position", "joint.rail.velocity");
    let (w, t) = (3.0_f64, 0.7);
    let (sin, cos) = (w * t).sin_cos();
    // ∂x/∂ω = t cos/ω − sin/ω²; ω = √(k/m).
    let by_w = t * cos / w - sin / (w * w);
    for (by, row, column, expected) in [
        ("start", x, x, cos),
        ("start", x, v, sin / w),
        ("start", v, x, -w * sin),
        ("inputs", x, "input.push", (1.0 - cos) / 18.0),
        ("parameters", x, "k", by_w * w / 36.0),
        ("parameters", x, "m", -by_w * w / 4.0),
        ("parameters", v, "k", -t * sin * w / 36.0),
    ] {
        let value = entry(&answer, by, row, column);
        assert!((value - expected).abs() < 1e-10, "{by} {row} {column}: {value} {expected}");
    }
    for check in answer["check"].as_array().unwrap() {
        assert!(check["difference"].as_f64().unwrap() < 1e-7, "{check}");
    }
    assert_eq!(answer["by_differences"], Value::Null, "all numbers have exact derivatives");
    // The mass is thrown and comes back: all multipliers are one.
    let output = gelenk(folder.path(), &["sensitivity", "o.toml", "--periodic", "--json"]);
    let answer = json(&output);
    let period = answer["periodic"]["period"].as_f64().unwrap();
    assert!((period - std::f64::consts::TAU / 3.0).abs() < 1e-9, "{period}");
    assert_eq!(answer["periodic"]["stability"], "neutral");
    for m in answer["periodic"]["multipliers"].as_array().unwrap() {
        assert!((m["abs"].as_f64().unwrap() - 1.0).abs() < 1e-4, "{m}");
    }
}

/// A pendulum on its head, turned at constant speed by nothing: the upper rest is unstable with multipliers exp(±√(g/l) T).
#[test]
fn an_upright_pendulum_is_unstable() {
    let folder = folder();
    let text = r#"
        [[point]]
        name = "bob"
        mass = 1
        position = [0, 0, 1]
        [[joint]]
        name = "rod"
        type = "distance"
        between = ["world", "bob"]
        [[constraint]]
        name = "plane"
        equation = "bob.y = 0"
    "#;
    std::fs::write(folder.path().join("p.toml"), text).unwrap();
    let args = ["sensitivity", "p.toml", "--at", "0.5", "--periodic", "--json"];
    let answer = json(&gelenk(folder.path(), &args));
    assert_eq!(answer["periodic"]["stability"], "unstable");
    let largest = answer["periodic"]["multipliers"][0]["re"].as_f64().unwrap();
    // At rest every time is a period; the one found is near the one asked for.
    let period = answer["periodic"]["period"].as_f64().unwrap();
    assert!((period - 0.5).abs() < 1e-6, "{period}");
    // Derivatives take the steps of the motion, and at rest those are long.
    assert!((largest / (period * 9.81_f64.sqrt()).exp() - 1.0).abs() < 1e-7, "{largest}");
}

/// The walking mechanism: 22 of 60, and the two kinds agree.
#[test]
fn walking_mechanism() {
    let folder = folder();
    let args = [
        "sensitivity",
        "walking-mechanism",
        "--at",
        "0.05",
        "--by",
        "start,inputs",
        "--rtol",
        "1e-10",
        "--check",
    ];
    let output = gelenk(folder.path(), &args);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("11 degrees of freedom, 22 directions integrated of 60"), "{text}");
    assert!(text.contains("agree") && !text.contains("disagree"), "{text}");
}

#[test]
fn what_is_asked_wrongly_is_told() {
    let folder = folder();
    let output = gelenk(folder.path(), &["sensitivity", "pendulum", "--by", "lenght"]);
    assert_eq!(output.status.code(), Some(2));
    let output = gelenk(folder.path(), &["sensitivity", "pendulum", "--by", "inputs"]);
    assert_eq!(output.status.code(), Some(2));
    let output =
        gelenk(folder.path(), &["sensitivity", "double-pendulum", "--periodic", "--at", "0.5"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
}

/// Errors fall, each engine has its line, and the plot is written.
#[test]
fn work_and_precision() {
    let folder = folder();
    let args = ["workprecision", "pendulum", "--duration", "0.2", "--plot", ".", "--json"];
    let answer = json(&gelenk(folder.path(), &args));
    let methods = answer["models"][0]["methods"].as_array().unwrap();
    let names: Vec<&str> = methods.iter().map(|m| m["method"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    for method in methods {
        let errors: Vec<f64> = method["trials"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["error"].as_f64().unwrap())
            .collect();
        let least = errors.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        assert!(least < 1e-3 * errors[0] || least < 1e-9, "{method}");
    }
    assert!(std::fs::read_to_string(folder.path().join("pendulum.svg")).unwrap().contains("<svg"));
}

/// A parameter in the formula of a curve has no exact derivative; differences stand in, and it is said.
#[test]
fn a_curve_by_a_parameter_is_told() {
    let folder = folder();
    let text = r#"
[model]
gravity = [0, 0, -9.81]
[parameters]
r = 1.0
m = 2.0
[[point]]
name = "bead"
mass = "m"
position = ["r", 0, 0]
velocity = [0, 1, 0]
[[joint]]
name = "wire"
type = "curve"
between = ["world", "bead"]
curve = { formula = ["r*cos(u)", "r*sin(u)", "0.2*sin(2*u)"], range = [0, "2*pi"] }
"#;
    std::fs::write(folder.path().join("w.toml"), text).unwrap();
    let args = ["sensitivity", "w.toml", "--at", "0.3", "--by", "m,r", "--check", "--json"];
    let output = gelenk(folder.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let answer = json(&output);
    let told = answer["by_differences"].as_array().unwrap();
    assert_eq!((told.len(), &told[0]["name"]), (1, &Value::from("r")));
    assert!(told[0]["reason"].as_str().unwrap().contains("joint `wire`"), "{told:?}");
}
