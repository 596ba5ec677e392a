//! Every run ends with a verdict, and a wrong result never with 0.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, json_of, stderr, text_of};

/// A coarse step loses energy.
#[test]
fn runs_that_lose_energy_fail() {
    let folder = folder();
    let args = ["run", "double-pendulum", "--step", "0.1", "--duration", "5"];
    let value = json_of(folder.path(), &args, 3);
    assert_eq!(value["verdict"]["level"], "failed", "{value:#}");
    let worst = &value["verdict"]["findings"][0];
    assert_eq!(worst["quantity"], "energy", "{value:#}");
    assert!(worst["value"].as_f64() > worst["limit"].as_f64(), "{value:#}");
    assert!(value["error"]["help"].as_str().unwrap().contains("--step"), "{value:#}");
}

#[test]
fn doubtful_runs_warn_and_fail_only_when_strict() {
    let folder = folder();
    let path = folder.path();
    let args = ["run", "double-pendulum", "--no-record", "--duration", "5", "--step", "0.01"];
    let (text, warnings) = text_of(path, &args, 0);
    assert!(text.contains("verdict: doubtful"), "{text}");
    assert!(warnings.contains("warning: the energy is off by"), "{warnings}");
    let output = common::gelenk(path, &[&args[..], &["--strict"]].concat());
    assert_eq!(common::code(&output), 3);
    assert!(stderr(&output).contains("the result is doubtful"), "{}", stderr(&output));
    let args = ["run", "double-pendulum", "--no-record", "--duration", "1", "--step", "0.001"];
    let (text, warnings) = text_of(path, &[&args[..], &["--strict"]].concat(), 0);
    assert!(text.contains("verdict: good") && warnings.is_empty(), "{text}{warnings}");
}

/// Limits can be set; a recording keeps them for `verify`.
#[test]
fn limits_of_the_verdict_are_kept_with_the_recording() {
    let folder = folder();
    let path = folder.path();
    let run = ["run", "double-pendulum", "--duration", "5", "--step", "0.1", "--output", "r.mcap"];
    let wide = [&run[..], &["--verdict-limit", "energy=0.9"]].concat();
    assert_eq!(json_of(path, &wide, 0)["verdict"]["level"], "good");
    let value = json_of(path, &["verify", "r.mcap"], 0);
    assert_eq!((&value["verified"], &value["verdict"]["level"]), (&true.into(), &"good".into()));
    let doubt = [&run[..], &["--verdict-limit", "energy=0.1"]].concat();
    assert_eq!(json_of(path, &doubt, 0)["verdict"]["level"], "doubtful");
    let value = json_of(path, &["verify", "r.mcap"], 0);
    assert_eq!((&value["verified"], &value["reproduced"]), (&false.into(), &true.into()));
    json_of(path, &["verify", "r.mcap", "--strict"], 1);
    json_of(path, &[&run[..], &["--verdict-limit", "speed=1"]].concat(), 2);
}

/// Comparisons and studies have a verdict, too.
#[test]
fn comparisons_and_studies_are_judged() {
    let folder = folder();
    let path = folder.path();
    let compare = ["compare", "double-pendulum", "--duration", "0.2", "--no-orders"];
    let value = json_of(path, &compare, 0);
    assert_eq!(value["verdict"]["level"], "good", "{value:#}");
    assert!(value["engines"].as_array().unwrap().iter().all(|e| e["verdict"]["level"] == "good"));
    let value = json_of(path, &[&compare[..], &["--within", "1e-18"]].concat(), 1);
    assert_eq!(value["verdict"]["findings"][0]["quantity"], "difference", "{value:#}");
    let study = ["converge", "double-pendulum", "--duration", "0.2", "--levels", "2"];
    assert_eq!(json_of(path, &study, 0)["verdict"]["level"], "good");
}

/// The drift of a model, derivatives of a motion and the paper's tables are judged, too.
#[test]
fn drift_sensitivity_and_tables_are_judged() {
    let folder = folder();
    let path = folder.path();
    let drift = ["drift", "pendulum", "--duration", "1", "--taylor", "1", "--step"];
    assert_eq!(json_of(path, &[&drift[..], &["0.001"]].concat(), 0)["verdict"]["level"], "good");
    // The pendulum swings by 0.15 J; coarse steps are off by a tenth of that.
    let value = json_of(path, &[&drift[..], &["0.5"]].concat(), 3);
    assert_eq!(value["verdict"]["findings"][0]["quantity"], "energy", "{value:#}");
    let doubtful = [&drift[..], &["0.05"]].concat();
    let value = json_of(path, &doubtful, 0);
    assert_eq!(value["verdict"]["level"], "doubtful", "{value:#}");
    json_of(path, &[&doubtful[..], &["--strict"]].concat(), 3);

    let slopes = ["sensitivity", "double-pendulum", "--at", "1", "--rtol"];
    let value = json_of(path, &[&slopes[..], &["1e-10", "--check"]].concat(), 0);
    assert_eq!(value["verdict"]["level"], "good", "{value:#}");
    let coarse = [&slopes[..], &["1e-2"]].concat();
    let value = json_of(path, &coarse, 0);
    assert_eq!(value["verdict"]["level"], "doubtful", "{value:#}");
    let value = json_of(path, &[&coarse[..], &["--strict"]].concat(), 3);
    assert!(!value["derivatives"].as_array().unwrap().is_empty(), "what was found is shown");
    // No motion, no derivative.
    json_of(path, &["sensitivity", "eight-loop-flat", "--at", "0.01"], 3);

    let tables = ["tables", "--quick", "--only", "9.1,10.1"];
    assert_eq!(json_of(path, &tables, 0)["verdict"]["level"], "good");
    let flat = ["tables", "--quick", "--only", "9.4", "--model", "eight-loop-flat"];
    let value = json_of(path, &flat, 1);
    let worst = &value["verdict"]["findings"][0];
    assert_eq!((&worst["quantity"], &worst["element"]), (&"bar".into(), &"table 9.4".into()));
}

/// A failed result is saved beside the good one, and `verify` does not call it verified.
#[test]
fn a_failed_verdict_replaces_no_recording_and_is_not_verified() {
    let folder = folder();
    let path = folder.path();
    let run = |step, exit| {
        let args = ["run", "double-pendulum", "--duration", "5", "--output", "r.mcap", "--step"];
        json_of(path, &[&args[..], &[step]].concat(), exit)
    };
    assert_eq!(run("0.005", 0)["recording"], "r.mcap");
    let good = std::fs::read(path.join("r.mcap")).unwrap();
    assert_eq!(run("0.1", 3)["recording"], "r-failed.mcap");
    assert!(std::fs::read(path.join("r.mcap")).unwrap() == good);
    json_of(path, &["verify", "r.mcap"], 0);
    let value = json_of(path, &["verify", "r-failed.mcap"], 1);
    assert_eq!((&value["verified"], &value["reproduced"]), (&false.into(), &true.into()));
    assert_eq!(value["certificate"]["verdict"]["level"], "failed", "{value:#}");
    assert!(value["run_failed"].as_str().unwrap().starts_with("the energy is off"), "{value:#}");
}
