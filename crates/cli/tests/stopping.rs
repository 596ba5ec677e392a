//! Ctrl-C and runs that fail: what was reached is saved, the exit code says so, JSON stays one object.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{code, command, folder, json, json_of, number, stderr, stdout, text_of};

fn start(folder: &Path, args: &[&str]) -> Child {
    command(folder, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits until the recording has some samples.
fn wait_for(path: &Path) {
    let begin = Instant::now();
    while std::fs::metadata(path).map_or(0, |data| data.len()) < 200_000 {
        assert!(begin.elapsed() < Duration::from_mins(1), "no recording appears");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a run that would take hours, stops it by Ctrl-C.
fn stopped(folder: &Path, more: &[&str]) -> Output {
    let mut args = vec!["run", "double-pendulum", "--duration", "1e6", "--output", "long.mcap"];
    args.extend(more);
    let child = start(folder, &args);
    wait_for(&folder.join("long.mcap"));
    let begin = Instant::now();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(2), "it took too long to stop");
    assert_eq!(code(&output), 130, "{}", stderr(&output));
    output
}

#[test]
fn ctrl_c_finishes_the_recording() {
    let folder = folder();
    let output = stopped(folder.path(), &[]);
    assert!(stdout(&output).contains("Energy"), "the summary is of what was reached");
    let said = stderr(&output);
    assert!(said.contains("stopped") && said.contains("long.mcap"), "{said}");
    let value = json_of(folder.path(), &["verify", "long.mcap"], 0);
    assert_eq!(value["certificate"]["end"]["kind"], "stopped", "{value:#}");
    let value = json_of(folder.path(), &["export", "long.mcap", "--csv", "long.csv"], 0);
    assert!(number(&value, "samples") > 10.0);
}

#[test]
fn ctrl_c_with_json_prints_one_object() {
    let folder = folder();
    let output = stopped(folder.path(), &["--json"]);
    let value = json(&output);
    assert_eq!(value["status"], "stopped");
    assert!(number(&value, "duration") > 0.0 && number(&value, "steps") > 0.0);
    assert_eq!(value["recording"], "long.mcap");
}

#[test]
fn ctrl_c_stops_studies_and_verification_too() {
    let folder = folder();
    let args = ["converge", "double-pendulum", "--duration", "1000", "--levels", "12", "--json"];
    let child = start(folder.path(), &args);
    std::thread::sleep(Duration::from_millis(700));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 130, "{}", stderr(&output));
    json(&output);
}

/// Stopped in a later start than the first, which has come to an optimum: the answer is told, and goes on with `--resume`.
#[test]
fn ctrl_c_in_a_later_start_is_no_success() {
    let folder = folder();
    let child = start(folder.path(), &["optimize", "cart-pole", "--starts", "1000", "--json"]);
    let begin = Instant::now();
    let later = || {
        let text = std::fs::read(folder.path().join("cart-pole.checkpoint")).unwrap_or_default();
        String::from_utf8_lossy(&text).contains("\"found\":[{")
    };
    while !later() {
        assert!(begin.elapsed() < Duration::from_mins(1), "no checkpoint of a later start appears");
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 130, "{}", stderr(&output));
    let value = json(&output);
    assert_eq!(value["status"], "stopped", "{value:#}");
    assert!(value["error"]["message"].as_str().unwrap().contains(" of 1000 "), "{value:#}");
    let value = json_of(folder.path(), &["optimize", "cart-pole", "--starts", "3", "--resume"], 0);
    assert!(value["starts"].as_array().unwrap().len() >= 3, "{value:#}");
}

/// A driven mass whose force has no value after 0.5 s.
const FAILING: &str = r#"
[model]
name = "failing"

[[point]]
name = "bob"
mass = 1

[[force]]
name = "push"
body = "bob"
force = ["1/sqrt(0.5 - t)", 0, 0]

[run]
duration = 2
step = 0.01
"#;

#[test]
fn a_run_that_fails_says_where_and_keeps_what_was_reached() {
    let folder = folder();
    std::fs::write(folder.path().join("failing.toml"), FAILING).unwrap();
    let (text, err) = text_of(folder.path(), &["run", "failing.toml"], 3);
    assert!(
        err.contains("force `push`") && err.contains("t = 0.") && err.contains("failing.mcap"),
        "{err}"
    );
    assert!(text.contains("recording: failing.mcap"), "{text}");
    // It can be reproduced, but nothing that failed is called verified.
    let value = json_of(folder.path(), &["verify", "failing.mcap"], 1);
    assert_eq!(value["certificate"]["end"]["kind"], "failed", "{value:#}");
    assert_eq!((&value["verified"], &value["reproduced"]), (&false.into(), &true.into()));
    let (text, _) = text_of(folder.path(), &["verify", "failing.mcap"], 1);
    assert!(text.starts_with("not verified") && text.contains("force `push`"), "{text}");
    let value = json_of(folder.path(), &["run", "failing.toml"], 3);
    let reached = number(&value, "duration");
    assert!(reached > 0.4 && reached < 0.6, "{value:#}");
    assert!(value["final"]["points"]["bob"]["position"][0].is_number());
}

#[test]
fn a_reader_that_goes_away_does_not_stop_a_run() {
    let folder = folder();
    let args = ["run", "pendulum", "--duration", "1", "--output", "r.mcap"];
    let mut child = start(folder.path(), &args);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    text_of(folder.path(), &["verify", "r.mcap"], 0);
}
