//! `gelenk optimize`: answers, failures, checkpoints.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{code, folder, gelenk, json, json_of, number, stderr, stdout};

#[test]
fn an_optimum_with_all_that_the_contract_names() {
    let folder = folder();
    let value = json_of(folder.path(), &["optimize", "bryson-denham"], 0);
    assert_eq!(value["status"], "optimal");
    assert!((number(&value, "objective") - 4.0).abs() < 1e-6);
    for key in ["kkt", "infeasibility", "iterations", "wall_seconds"] {
        assert!(number(&value, key) >= 0.0, "{key}");
    }
    assert!(number(&value, "kkt") < 1e-8);
    let nodes = value["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 31);
    assert_eq!(nodes[0]["states"]["v"], 1.0);
    assert!(nodes[0]["controls"]["u"].is_number() && nodes[30].get("controls").is_none());
    assert!((number(&value["certificate"], "objective") - 4.0).abs() < 1e-6);
    assert!(!folder.path().join("bryson-denham.checkpoint").exists(), "nothing to go on with");
    let value = json_of(folder.path(), &["optimize", "bryson-denham", "--set", "l=1/6"], 0);
    assert!((number(&value, "objective") - 4.0 * 6.0 / 9.0).abs() < 1e-6);
}

/// Three damped oscillators, one of them driven: all disturbances die away like e^{−d t/(2 m)}, whatever the control.
#[test]
fn multipliers_of_a_motion_that_comes_back() {
    let folder = folder();
    let model = "[model]\ngravity = [0, 0, 0]\n[inputs]\nu = 0\n[[point]]\nname = \"P\"\nmass = 2\n[[force]]\nbody = \"P\"\n\
        force = [\"input.u - 20*P.x - 0.8*P.velocity.x\", \"-30*P.y - 0.8*P.velocity.y\", \"-40*P.z - 0.8*P.velocity.z\"]\n";
    std::fs::write(folder.path().join("model.toml"), model).unwrap();
    let mut problem = String::from(
        "[problem]\nname = \"back\"\nmodel = \"model.toml\"\nstart = \"free\"\n[controls]\nu = { lower = -10, upper = 10 }\n\
         [objective]\nintegral = \"(P.x - 0.1*sin(2*pi*t))^2 + 0.001*u^2\"\n\
         [grid]\nduration = 1\nintervals = 16\ncontrols = \"linear\"\n",
    );
    for value in ["P.x", "P.y", "P.z", "P.vx", "P.vy", "P.vz"] {
        problem.push_str(&format!(
            "[[condition]]\nname = \"{value} returns\"\nvalue = \"{value} - start.{value}\"\nat = \"end\"\nequals = 0\n"
        ));
    }
    std::fs::write(folder.path().join("back.toml"), problem).unwrap();
    let value = json_of(folder.path(), &["optimize", "back.toml", "--stability"], 0);
    let stability = &value["stability"];
    assert_eq!(stability["stability"], "stable");
    let multipliers = stability["multipliers"].as_array().unwrap();
    assert_eq!(multipliers.len(), 6);
    for multiplier in multipliers {
        assert!((number(multiplier, "abs") - (-0.2_f64).exp()).abs() < 1e-9, "{multiplier}");
    }
    // Most motions do not come back.
    let value = json_of(folder.path(), &["optimize", "bryson-denham", "--stability"], 0);
    assert!(value["stability"].is_null());
}

#[test]
fn the_list_the_file_and_a_wrong_name() {
    let folder = folder();
    let value = json_of(folder.path(), &["optimize"], 0);
    assert!(value["problems"].as_array().unwrap().iter().any(|p| p["name"] == "cart-pole"));
    let printed = stdout(&gelenk(folder.path(), &["optimize", "goddard", "--print"]));
    std::fs::write(
        folder.path().join("my.toml"),
        printed.replace("intervals = 50", "intervals = 10"),
    )
    .unwrap();
    let value = json_of(folder.path(), &["optimize", "my.toml"], 0);
    assert_eq!(value["nodes"].as_array().unwrap().len(), 11);
    let output = gelenk(folder.path(), &["optimize", "cart-pol"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("did you mean `cart-pole`?"), "{}", stderr(&output));
    std::fs::write(folder.path().join("bad.toml"), printed.replace("burn/c", "burm/c")).unwrap();
    let output = gelenk(folder.path(), &["optimize", "bad.toml"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("did you mean `burn`?"), "{}", stderr(&output));
}

#[test]
fn conditions_that_contradict_each_other_end_with_no() {
    let folder = folder();
    let text = stdout(&gelenk(folder.path(), &["optimize", "double-integrator", "--print"]));
    std::fs::write(
        folder.path().join("hurry.toml"),
        text.replace("lower = 0.01 }", "lower = 0.01, upper = 1 }"),
    )
    .unwrap();
    let output = gelenk(folder.path(), &["optimize", "hurry.toml", "--json"]);
    assert_eq!(code(&output), 1);
    let value = json(&output);
    assert_eq!(value["status"], "infeasible");
    assert!(value["violated"][0]["condition"].as_str().unwrap().contains("node 20"), "{value:#}");
    let output = gelenk(folder.path(), &["optimize", "goddard", "--max-iterations", "3", "--json"]);
    assert_eq!(code(&output), 3);
    assert_eq!(json(&output)["status"], "iteration-limit");
}

#[cfg(unix)]
#[test]
fn a_killed_run_goes_on_where_it_was() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    let folder = folder();
    let args = ["optimize", "goddard", "--intervals", "300", "--json"];
    let whole = json_of(folder.path(), &args[..4], 0);
    let mut child = common::command(folder.path(), &args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let saved = folder.path().join("goddard.checkpoint.old");
    while !saved.exists() {
        assert!(begin.elapsed() < Duration::from_mins(1), "no checkpoint appears");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut again = args.to_vec();
    again.push("--resume");
    let output = gelenk(folder.path(), &again);
    let resumed = json(&output);
    assert_eq!(resumed["status"], "optimal");
    for key in ["objective", "nodes", "iterations", "kkt"] {
        assert_eq!(whole[key], resumed[key], "{key}");
    }
    // Another problem's checkpoint is refused.
    std::fs::write(folder.path().join("van-der-pol.checkpoint"), "nonsense").unwrap();
    let output = gelenk(folder.path(), &["optimize", "van-der-pol", "--resume"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
}

/// The iterations that a run told on standard error.
#[cfg(unix)]
fn told(text: &str) -> Vec<usize> {
    text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

/// A model in several phases: summary, nodes and recording of all of them, and a run killed wherever it is loses one iteration at most.
#[cfg(unix)]
#[test]
fn several_phases_of_a_model_killed_anywhere_and_verified() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let folder = folder();
    let text = stdout(&gelenk(folder.path(), &["optimize", "push-and-brake", "--print"]));
    std::fs::write(folder.path().join("push.toml"), text).unwrap();
    let args = ["optimize", "push.toml", "--log", "--json", "--record", "push.mcap"];
    let output = gelenk(folder.path(), &args);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (whole, lines) = (json(&output), told(&stderr(&output)));
    assert!((number(&whole, "objective") - 3.069_980_12).abs() < 1e-6, "{whole:#}");
    assert!(number(&whole["dae_certificate"], "state_error") < 1e-8, "{whole:#}");
    let phases = whole["phases"].as_array().unwrap();
    assert_eq!((&phases[0]["name"], &phases[1]["name"]), (&"push".into(), &"brake".into()));
    assert!((number(&phases[1], "start") - number(&phases[0], "duration")).abs() < 1e-15);
    let verified = json_of(folder.path(), &["verify", "push.mcap"], 0);
    assert_eq!(verified["verified"], true);
    assert_eq!(verified["missed"], serde_json::Value::Null);
    for stop in [1, lines.len() / 3, 2 * lines.len() / 3, lines.len() - 1] {
        let mut child = common::command(folder.path(), &args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let seen = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut seen = seen.map(Result::unwrap).filter(|line| !told(line).is_empty());
        let last = told(&seen.nth(stop).unwrap())[0];
        child.kill().unwrap();
        child.wait().unwrap();
        let mut again = args.to_vec();
        again.push("--resume");
        let output = gelenk(folder.path(), &again);
        assert_eq!(code(&output), 0, "killed at {stop}: {}", stderr(&output));
        let first = told(&stderr(&output))[0];
        assert!(first + 1 >= last, "killed at {last}, went on at {first}");
        let resumed = json(&output);
        let apart = number(&resumed, "objective") - number(&whole, "objective");
        assert!(apart.abs() < 1e-8, "killed at {stop}: {apart:e}");
    }
    // A motion of another problem is told as such, and is no reason to fall over.
    gelenk(folder.path(), &["optimize", "bryson-denham", "--output", "wall.json"]);
    let output = gelenk(folder.path(), &["optimize", "push.toml", "--from", "wall.json"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("it has 1 phase, the problem has 2"), "{}", stderr(&output));
}
