//! `gelenk sweep`: one table with the same bytes however it came about; members that fail, files that are wrong, pictures.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{command, folder, gelenk, json_of, number, stderr, text_of};

/// A four-bar drawn open: the coupler lies flat, and each length of the crank wants another posture.
const FOUR_BAR: &str = r#"
[model]
name = "bars"

[parameters]
crank = 0.4
coupler = 1.1
rate = 3

[inputs]
torque = 0.2

[[body]]
name = "crank"
mass = 1
inertia = [0.02, 0.02, 0.001]
center_of_mass = [0, 0, "crank/2"]
angular_velocity = [0, "rate", 0]

[[body]]
name = "coupler"
mass = 2
inertia = [0.01, 0.2, 0.2]
center_of_mass = ["coupler/2", 0, 0]
position = [0, 0, "crank"]

[[body]]
name = "rocker"
mass = 1.5
inertia = [0.1, 0.1, 0.01]
center_of_mass = [0, 0, 0.45]
position = [1.1, 0, 0]

[[joint]]
name = "A"
type = "hinge"
between = ["world", "crank"]
anchors = [[0, 0, 0], [0, 0, 0]]
axes = [[0, 1, 0], [0, 1, 0]]
motor = { torque = "input.torque" }

[[joint]]
name = "B"
type = "hinge"
between = ["crank", "coupler"]
anchors = [[0, 0, "crank"], [0, 0, 0]]
axes = [[0, 1, 0], [0, 1, 0]]

[[joint]]
name = "C"
type = "hinge"
between = ["coupler", "rocker"]
anchors = [["coupler", 0, 0], [0, 0, 0.9]]
axes = [[0, 1, 0], [0, 1, 0]]

[[joint]]
name = "D"
type = "hinge"
between = ["world", "rocker"]
anchors = [[1.1, 0, 0], [0, 0, 0]]
axes = [[0, 1, 0], [0, 1, 0]]

[run]
duration = 0.3
step = 0.005
tolerance = 1e-10
"#;

const SWEEP: &str = r#"
[sweep]
name = "cranks"
model = "bars.toml"

[[vary]]
parameter = "crank"
from = 0.2
to = 0.5
count = 12

[[vary]]
parameter = "rate"
values = [2, "2 + 2"]

[[keep]]
name = "swing"
value = "joint.D.angle"
over = "max"

[[keep]]
name = "gap"
value = "gap.C"
over = "max"
"#;

fn files(folder: &Path, sweep: &str) {
    std::fs::write(folder.join("bars.toml"), FOUR_BAR).unwrap();
    std::fs::write(folder.join("sweep.toml"), sweep).unwrap();
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn loops_are_closed_for_each_member_and_threads_change_no_byte() {
    let folder = folder();
    let at = folder.path();
    files(at, SWEEP);
    // As drawn it is open.
    let (_, err) = text_of(at, &["run", "bars.toml", "--no-record"], 2);
    assert!(err.contains("open"), "{err}");
    let args = ["sweep", "sweep.toml", "--output", "one.parquet", "--threads", "1"];
    let value = json_of(at, &args, 0);
    assert_eq!([value["members"].clone(), value["done"].clone()], [24, 24], "{value:#}");
    assert_eq!(value["failed"], 0, "{value:#}");
    let log = ["--threads", "2", "--log", "log"];
    let args: Vec<&str> =
        ["sweep", "sweep.toml", "--output", "two.parquet"].into_iter().chain(log).collect();
    let (out, _) = text_of(at, &args, 0);
    assert!(out.contains("24 members of 24 done"), "{out}");
    let one = bytes(at, "one.parquet");
    assert!(one.starts_with(b"PAR1"));
    assert_eq!(one, bytes(at, "two.parquet"));
    assert!(
        !at.join("two.parquet.journal").exists(),
        "the journal is gone when the table is there"
    );
    // Wall times are in the log.
    let log = String::from_utf8(bytes(at, "log")).unwrap();
    assert_eq!(log.matches("\"seconds\":").count(), 24, "{log}");
    // Another time it replaces its own table; a file of somebody else's it does not.
    text_of(at, &["sweep", "sweep.toml", "--output", "one.parquet"], 0);
    text_of(at, &["sweep", "sweep.toml", "--output", "bars.toml"], 2);
    text_of(at, &["sweep", "sweep.toml", "--log", "bars.toml"], 2);
    assert_eq!(bytes(at, "bars.toml"), FOUR_BAR.as_bytes());
}

/// Killed with some members done, and a line of the journal cut short: the same command goes on, to the same bytes.
#[test]
#[cfg(unix)]
fn a_killed_sweep_goes_on_where_it_was() {
    let folder = folder();
    let at = folder.path();
    let long = SWEEP.replace("count = 12", "count = 60") + "[run]\nduration = 1.5\n";
    files(at, &long);
    text_of(at, &["sweep", "sweep.toml", "--output", "whole.parquet"], 0);
    let args = ["sweep", "sweep.toml", "--output", "killed.parquet", "--threads", "2"];
    let mut child = command(at, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let journal = at.join("killed.parquet.journal");
    let begin = Instant::now();
    let lines = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    while lines() < 10 {
        assert!(begin.elapsed() < Duration::from_mins(1), "no journal appears");
        std::thread::sleep(Duration::from_millis(2));
    }
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!at.join("killed.parquet").exists(), "it was killed before its end");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, &text[..text.len() - 7]).unwrap();
    // Another sweep does not take this journal for its own.
    std::fs::write(at.join("other.toml"), long.replace("over = \"max\"", "over = \"min\""))
        .unwrap();
    let (_, err) = text_of(at, &["sweep", "other.toml", "--output", "killed.parquet"], 2);
    assert!(err.contains("another sweep") && err.contains("--restart"), "{err}");
    let value = json_of(at, &args, 0);
    let before = number(&value, "from_journal");
    assert!((8.0..120.0).contains(&before), "{value:#}");
    assert_eq!(bytes(at, "whole.parquet"), bytes(at, "killed.parquet"));
}

#[test]
#[cfg(unix)]
fn ctrl_c_keeps_what_is_done() {
    let folder = folder();
    let at = folder.path();
    files(at, &(SWEEP.to_owned() + "[run]\nduration = 60\n"));
    let args = ["sweep", "sweep.toml", "--output", "a.parquet", "--threads", "2"];
    let child = command(at, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let journal = at.join("a.parquet.journal");
    let begin = Instant::now();
    while std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count()) < 2 {
        assert!(begin.elapsed() < Duration::from_mins(2), "no journal appears");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("the same command goes on"), "{}", stderr(&output));
    assert!(journal.exists() && !at.join("a.parquet").exists());
}

#[test]
fn a_member_that_fails_is_listed_and_touches_no_other() {
    let folder = folder();
    let at = folder.path();
    let values =
        |list: &str| SWEEP.replace("from = 0.2\nto = 0.5\ncount = 12", &format!("values = {list}"));
    files(at, &values("[0.3, 5, 0.4]"));
    let value = json_of(at, &["sweep", "sweep.toml", "--plot", "map.svg"], 1);
    assert_eq!(value["failed"], 2, "{value:#}");
    assert_eq!([value["good"].clone(), value["done"].clone()], [4, 6], "{value:#}");
    let failure = &value["failures"][0];
    assert_eq!(failure["member"], 2);
    assert_eq!(failure["values"]["crank"], 5.0);
    let error = failure["error"].as_str().unwrap();
    assert!(error.contains("cannot be closed"), "{error}");
    let (out, _) = text_of(at, &["sweep", "sweep.toml"], 1);
    assert!(out.contains("member 2 (crank = 5, rate = 2)"), "{out}");
    // Two things are varied and two numbers kept: two maps, with four cells each.
    for name in ["map-swing.svg", "map-gap.svg"] {
        let svg = std::fs::read_to_string(at.join(name)).unwrap();
        assert_eq!(svg.matches("crispEdges").count(), 4, "{name}");
    }
    // The others are as without it.
    let good = values("[0.3, 0.4]");
    std::fs::write(at.join("good.toml"), &good).unwrap();
    text_of(at, &["sweep", "good.toml", "--output", "good.parquet"], 0);
}

#[test]
fn starts_inputs_samples_and_recordings() {
    let folder = folder();
    let at = folder.path();
    let sweep = r#"
[sweep]
model = "three-link-arm"
sample = "latin"
count = 5
seed = 3
[run]
duration = 0.1
[[vary]]
input = "tau1"
from = -1
to = 1
[[vary]]
parameter = "m3"
from = 0.5
to = 5
log = true
[[keep]]
name = "tau"
value = "input.tau1 + 0*m3"
[[keep]]
name = "energy.total"
[[keep]]
name = "mean"
value = "t"
over = "mean"
"#;
    std::fs::write(at.join("arm.toml"), sweep).unwrap();
    let value = json_of(at, &["sweep", "arm.toml", "--recordings", "runs", "--plot", "a.svg"], 0);
    assert_eq!(value["good"], 5, "{value:#}");
    let svg = std::fs::read_to_string(at.join("a-tau.svg")).unwrap();
    assert_eq!(svg.matches("<circle").count(), 5);
    for i in 0..5 {
        // A recording of a member is one like any other: its run is in it.
        let value = json_of(at, &["verify", &format!("runs/member-00000{i}.mcap")], 0);
        assert_eq!(value["reproduced"], true, "{value:#}");
    }
    let thrown = r#"
[sweep]
model = "free-body"
[run]
duration = 0.5
[[vary]]
start = "body.BODY.velocity.x"
values = [0, 1, 2, 3]
[[keep]]
name = "x"
value = "body.BODY.position.x"
"#;
    let models = gelenk(at, &["models", "free-body"]);
    let text = String::from_utf8(models.stdout).unwrap();
    let body = text.split("[[body]]").nth(1).unwrap().split('"').nth(1).unwrap().to_owned();
    std::fs::write(at.join("thrown.toml"), thrown.replace("BODY", &body)).unwrap();
    let value =
        json_of(at, &["sweep", "thrown.toml", "--plot", "x.svg", "--recordings", "thrown"], 0);
    assert_eq!(value["good"], 4, "{value:#}");
    // Members differ by their start velocity times the time.
    let last = |i: usize| -> f64 {
        let file = format!("thrown/member-00000{i}.mcap");
        json_of(at, &["verify", &file], 0);
        text_of(at, &["export", &file, "--csv", &format!("{i}.csv")], 0);
        let table = std::fs::read_to_string(at.join(format!("{i}.csv"))).unwrap();
        let column = format!("body.{body}.position.x [m]");
        let k = table.lines().next().unwrap().split(',').position(|name| name == column).unwrap();
        table.lines().last().unwrap().split(',').nth(k).unwrap().parse().unwrap()
    };
    for i in 1..4 {
        let moved = last(i) - last(0);
        assert!((moved - 0.5 * i as f64).abs() < 1e-9, "{i}: {moved}");
    }
    assert!(std::fs::read_to_string(at.join("x.svg")).unwrap().contains("<polyline"));
}

#[test]
fn bad_sweep_files_end_with_2_and_say_where() {
    let folder = folder();
    let at = folder.path();
    files(at, SWEEP);
    let cases: [(&str, &str, &str); 19] = [
        ("model = \"bars.toml\"", "model = \"bar.toml\"", "neither a model"),
        ("model = \"bars.toml\"", "modell = \"bars.toml\"", "unknown field"),
        ("model = \"bars.toml\"", "", "no model"),
        ("parameter = \"crank\"", "parameter = \"krank\"", "did you mean `crank`?"),
        ("parameter = \"crank\"", "input = \"torqe\"", "did you mean `torque`?"),
        ("parameter = \"crank\"", "start = \"body.crank.angle\"", "no start value"),
        ("parameter = \"crank\"", "parameter = \"rate\"", "varied twice"),
        ("count = 12", "count = 0", "`count` is wanted"),
        ("count = 12", "count = 100000000", "above the limit"),
        ("from = 0.2", "from = \"1/0\"", "not a finite number"),
        ("from = 0.2", "from = -1\nlog = true", "above zero"),
        ("from = 0.2", "values = [1]\nfrom = 0.2", "either `values`"),
        ("values = [2, \"2 + 2\"]", "values = []", "empty"),
        ("value = \"gap.C\"", "value = \"gap.Z\"", "no quantity `gap.Z`"),
        ("value = \"gap.C\"", "value = \"gap.C +\"", "gap.C +"),
        ("over = \"max\"", "over = \"largest\"", "largest"),
        ("name = \"gap\"", "name = \"crank\"", "another column"),
        ("[sweep]", "[sweep]\nsample = \"list\"", "equally many values"),
        ("[sweep]", "[sweep]\nsample = \"halton\"", "random, latin and sobol"),
    ];
    for (what, by, expected) in cases {
        let text = SWEEP.replacen(what, by, 1);
        assert_ne!(text, SWEEP, "{what}");
        std::fs::write(at.join("bad.toml"), text).unwrap();
        let (out, err) = text_of(at, &["sweep", "bad.toml"], 2);
        assert!(out.is_empty() && err.contains(expected), "{by}: no {expected:?} in\n{err}");
        assert!(err.contains("bad.toml:"), "{by}: it says where\n{err}");
        json_of(at, &["sweep", "bad.toml"], 2);
    }
    for args in [
        vec!["sweep", "none.toml"],
        vec!["sweep", "sweep.toml", "--threads", "0"],
        vec!["sweep", "sweep.toml", "--output", "no/folder.parquet"],
    ] {
        assert!(!gelenk(at, &args).status.success());
    }
    let three = SWEEP.to_owned() + "[[vary]]\nparameter = \"coupler\"\nvalues = [1.1]\n";
    std::fs::write(at.join("three.toml"), three).unwrap();
    let (_, err) = text_of(at, &["sweep", "three.toml", "--plot", "a.svg"], 2);
    assert!(err.contains("this one varies 3"), "{err}");
}

/// The example of the guide, typed as it stands.
#[test]
fn the_sweep_of_the_guide_runs() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweep.md");
    let page = std::fs::read_to_string(page).unwrap();
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = folder();
    std::fs::write(folder.path().join("lengths.toml"), text).unwrap();
    let (out, _) = text_of(folder.path(), &["sweep", "lengths.toml", "--plot", "lengths.svg"], 0);
    assert!(out.contains("31 members of 31 done"), "{out}");
    let svg = std::fs::read_to_string(folder.path().join("lengths.svg")).unwrap();
    assert!(svg.contains(">speed<"), "{svg}");
}

#[test]
fn a_sweep_varies_starts_of_joints() {
    let folder = folder();
    let at = folder.path();
    let sweep = r#"
[sweep]
model = "double-pendulum"
[run]
duration = 0.1
[[vary]]
start = "joint.elbow.angle"
values = [0.5, 7.0]
[[vary]]
start = "joint.shoulder.rate"
values = [-2]
[[keep]]
name = "x"
value = "joint.elbow.angle"
over = "start"
"#;
    std::fs::write(at.join("poses.toml"), sweep).unwrap();
    let value = json_of(at, &["sweep", "poses.toml", "--recordings", "runs"], 0);
    assert_eq!(value["good"], 2, "{value:#}");
    for (i, angle) in [0.5, 7.0].into_iter().enumerate() {
        let file = format!("runs/member-00000{i}.mcap");
        json_of(at, &["verify", &file], 0);
        text_of(at, &["export", &file, "--csv", &format!("{i}.csv")], 0);
        let table = std::fs::read_to_string(at.join(format!("{i}.csv"))).unwrap();
        let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (head, first) = (lines.next().unwrap(), lines.next().unwrap());
        let cell = |name: &str| -> f64 {
            first[head.iter().position(|known| known.starts_with(name)).unwrap()].parse().unwrap()
        };
        assert!((cell("joint.elbow.angle") - angle).abs() < 1e-12);
        assert!((cell("joint.shoulder.rate") + 2.0).abs() < 1e-9);
    }
    let wrong = sweep.replace("joint.elbow.angle\"\nvalues", "joint.elbow.position\"\nvalues");
    std::fs::write(at.join("poses.toml"), wrong).unwrap();
    let (_, err) = text_of(at, &["sweep", "poses.toml"], 2);
    assert!(err.contains("joint.NAME.angle"), "{err}");
}
