//! Files that commands write: what they may replace, and what they never do.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use std::fs;
use std::path::Path;

use common::{code, folder, gelenk, json_of, stderr, stdout, text_of};

/// Every output of every command, with the files it reads: `r.mcap`, `m.toml`, `bot.urdf`, `push.toml`. OUT stands for its path.
const OUTPUTS: &[&[&str]] = &[
    &["run", "m.toml", "--output", "OUT"],
    &["run", "m.toml", "--no-record", "--film", "OUT"],
    &["run", "m.toml", "--no-record", "--report", "OUT"],
    &["export", "r.mcap", "--csv", "OUT"],
    &["export", "r.mcap", "--parquet", "OUT"],
    &["export", "r.mcap", "--film", "OUT"],
    &["export", "r.mcap", "--of", "energy", "--plot", "OUT"],
    &["export", "r.mcap", "--gltf", "OUT"],
    &["export", "r.mcap", "--foxglove", "OUT"],
    &["export", "r.mcap", "--png", "OUT"],
    &["optimize", "push.toml", "--record", "OUT"],
    &["optimize", "push.toml", "--output", "OUT"],
    &["optimize", "push.toml", "--report", "OUT"],
    &["compare", "m.toml", "--plot", "OUT"],
    &["compare", "m.toml", "--report", "OUT"],
    &["converge", "m.toml", "--levels", "3", "--plot", "OUT"],
    &["drift", "m.toml", "--plot", "OUT"],
    &["derive", "m.toml", "--report", "OUT"],
    &["derive", "m.toml", "--output", "OUT"],
    &["assemble", "m.toml", "--output", "OUT"],
    &["points", "rods.toml", "--output", "OUT"],
    &["import", "bot.urdf", "--output", "OUT"],
];

/// Commands whose output people edit: replaced only with `--overwrite`.
const TEXTS: usize = 4;

const PENDULUM: &str = r#"
[model]
name = "swing"

[[point]]
name = "bob"
mass = 1
position = [1, 0, 0]

[[joint]]
name = "rod"
type = "distance"
between = ["world", "bob"]
length = 1

[run]
duration = 0.2
step = 0.01
"#;

const ROBOT: &str = r#"<robot name="bot"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"#;

fn inputs(folder: &Path) {
    fs::write(folder.join("m.toml"), PENDULUM).unwrap();
    fs::write(folder.join("bot.urdf"), ROBOT).unwrap();
    let rods = stdout(&gelenk(folder, &["models", "four-bar"]));
    fs::write(folder.join("rods.toml"), rods).unwrap();
    let push = stdout(&gelenk(folder, &["optimize", "push-and-brake", "--print"]));
    fs::write(folder.join("push.toml"), push).unwrap();
    text_of(folder, &["run", "m.toml", "--output", "r.mcap"], 0);
}

/// The command with a path for OUT, and nothing else that is written or read from elsewhere.
fn with<'a>(args: &[&'a str], out: &'a str) -> Vec<&'a str> {
    let mut args: Vec<&str> =
        args.iter().map(|&arg| if arg == "OUT" { out } else { arg }).collect();
    if args[0] == "optimize" {
        args.push("--no-checkpoint");
    }
    args.push("--json");
    args
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_of_others_are_replaced_only_when_asked() {
    let folder = folder();
    let path = folder.path();
    inputs(path);
    let notes = path.join("notes.txt");
    for args in OUTPUTS {
        fs::write(&notes, "my notes").unwrap();
        let before = names(path);
        let output = gelenk(path, &with(args, "notes.txt"));
        assert_eq!(code(&output), 2, "{args:?}: {}", stdout(&output));
        assert!(stdout(&output).contains("--overwrite"), "{args:?}: {}", stdout(&output));
        assert_eq!(fs::read(&notes).unwrap(), b"my notes", "{args:?}");
        assert_eq!(names(path), before, "{args:?}");
        let mut forced = with(args, "notes.txt");
        forced.push("--overwrite");
        let output = gelenk(path, &forced);
        assert!(code(&output) <= 1, "{args:?}: {}{}", stdout(&output), stderr(&output));
        assert_ne!(fs::read(&notes).unwrap(), b"my notes", "{args:?}");
        assert_eq!(names(path), before, "{args:?}: no temporary file is left");
    }
}

#[test]
fn files_of_ours_are_replaced_and_edited_texts_are_not() {
    let folder = folder();
    let path = folder.path();
    inputs(path);
    for (i, args) in OUTPUTS.iter().enumerate() {
        let name = format!("out-{i}");
        let first = gelenk(path, &with(args, &name));
        assert!(code(&first) <= 1, "{args:?}: {}{}", stdout(&first), stderr(&first));
        let size = fs::metadata(path.join(&name)).unwrap().len();
        assert!(size > 0, "{args:?}");
        let again = code(&gelenk(path, &with(args, &name)));
        let edited = i + TEXTS >= OUTPUTS.len();
        assert_eq!(again, if edited { 2 } else { code(&first) }, "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn devices_pipes_links_and_models_are_never_written() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let path = folder.path();
    inputs(path);
    fs::write(path.join("other.toml"), "my model").unwrap();
    fs::hard_link(path.join("other.toml"), path.join("hard")).unwrap();
    fs::hard_link(path.join("m.toml"), path.join("same")).unwrap();
    symlink("other.toml", path.join("link")).unwrap();
    symlink("nowhere", path.join("dangling")).unwrap();
    assert!(
        std::process::Command::new("mkfifo").arg(path.join("pipe")).status().unwrap().success()
    );
    let texts = OUTPUTS.len() - TEXTS;
    let before = names(path);
    for (i, args) in OUTPUTS.iter().enumerate() {
        for place in ["pipe", "link", "dangling", "hard", "same", "/dev/null", "other.toml"] {
            if place == "other.toml" && i >= texts {
                continue;
            }
            let mut args = with(args, place);
            args.push("--overwrite");
            let output = gelenk(path, &args);
            assert_eq!(code(&output), 2, "{args:?}: {}{}", stdout(&output), stderr(&output));
        }
    }
    assert_eq!(names(path), before);
    assert_eq!(fs::read(path.join("hard")).unwrap(), b"my model");
    assert_eq!(fs::read_to_string(path.join("m.toml")).unwrap(), PENDULUM);
    assert!(fs::symlink_metadata(path.join("link")).unwrap().is_symlink());
}

#[test]
fn checkpoints_replace_and_delete_nothing_but_checkpoints() {
    let folder = folder();
    let path = folder.path();
    inputs(path);
    fs::write(path.join("notes.txt"), "my notes").unwrap();
    fs::write(path.join("c.old"), "my old notes").unwrap();
    fs::write(path.join("bryson-denham.checkpoint"), "mine, too").unwrap();
    let before = names(path);
    // Beside `c` a checkpoint would be kept as `c.old`.
    for args in [
        &["optimize", "push.toml", "--checkpoint", "notes.txt"][..],
        &["optimize", "push.toml", "--checkpoint", "c"],
        &["optimize", "push.toml", "--checkpoint", "m.toml"],
        &["optimize", "push.toml", "--checkpoint", "push.toml"],
        &["optimize", "push.toml", "--checkpoint", "r.mcap"],
        &["optimize", "bryson-denham"],
    ] {
        for more in ["--json", "--overwrite", "--resume"] {
            let args: Vec<&str> = args.iter().copied().chain([more]).collect();
            let output = gelenk(path, &args);
            assert_eq!(code(&output), 2, "{args:?}: {}{}", stdout(&output), stderr(&output));
        }
    }
    if cfg!(unix) {
        text_of(path, &["optimize", "push.toml", "--checkpoint", "/dev/null"], 2);
    }
    assert_eq!(names(path), before);
    assert_eq!(fs::read(path.join("notes.txt")).unwrap(), b"my notes");
    assert_eq!(fs::read(path.join("c.old")).unwrap(), b"my old notes");
    assert_eq!(fs::read(path.join("bryson-denham.checkpoint")).unwrap(), b"mine, too");
    // One of ours is replaced, and deleted at the end.
    let args = ["optimize", "push.toml", "--checkpoint", "new", "--max-iterations", "3"];
    text_of(path, &args, 3);
    assert!(path.join("new").exists() && path.join("new.old").exists());
    text_of(path, &args[..4], 0);
    assert!(!path.join("new").exists() && !path.join("new.old").exists());
}

/// A file that appears during the run is found at its end.
#[cfg(unix)]
#[test]
fn a_file_that_appears_during_the_run_is_kept() {
    let folder = folder();
    let path = folder.path();
    let args = ["run", "double-pendulum", "--duration", "1e6", "--film", "f.svg", "--output"];
    let mut child = common::command(path, &args)
        .arg("long.mcap")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    while !path.join("long.mcap").exists() {
        assert!(begin.elapsed().as_secs() < 60 && child.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fs::write(path.join("f.svg"), "drawn by me").unwrap();
    fs::write(path.join("f-stopped.svg"), "drawn by me, too").unwrap();
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(code(&child.wait_with_output().unwrap()), 130);
    assert_eq!(fs::read(path.join("f.svg")).unwrap(), b"drawn by me");
    assert_eq!(fs::read(path.join("f-stopped.svg")).unwrap(), b"drawn by me, too");
    assert!(fs::metadata(path.join("f-stopped-2.svg")).unwrap().len() > 0);
}

/// A killed run leaves the recording that was there; one that is stopped or fails, too.
#[cfg(unix)]
#[test]
fn a_good_recording_outlives_runs_that_do_not_finish() {
    use std::process::{Command, Stdio};
    let folder = folder();
    let path = folder.path();
    let args = ["run", "double-pendulum", "--output", "r.mcap", "--film", "f.svg", "--duration"];
    let run = |duration: &str| {
        let mut command = common::command(path, &args);
        command.arg(duration).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    assert!(run("0.2").status().unwrap().success());
    let good = ["r.mcap", "f.svg"].map(|name| fs::read(path.join(name)).unwrap());
    let unfinished = path.join("r-unfinished.mcap");
    for signal in ["-KILL", "-INT"] {
        let mut child = run("1e6").spawn().unwrap();
        let begin = std::time::Instant::now();
        while fs::metadata(&unfinished).map_or(0, |about| about.len()) < 200_000 {
            assert!(begin.elapsed().as_secs() < 60, "no recording appears");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        child.wait().unwrap();
        for (name, bytes) in ["r.mcap", "f.svg"].iter().zip(&good) {
            assert!(fs::read(path.join(name)).unwrap() == *bytes, "{name} after {signal}");
        }
        if signal == "-KILL" {
            // What the killed run wrote can be read.
            json_of(path, &["export", "r-unfinished.mcap", "--csv", "k.csv"], 0);
            fs::remove_file(&unfinished).unwrap();
        }
    }
    assert_eq!(names(path), ["f-stopped.svg", "f.svg", "k.csv", "r-stopped.mcap", "r.mcap"]);
    json_of(path, &["verify", "r.mcap"], 0);
    json_of(path, &["verify", "r-stopped.mcap"], 0);
    // A full disk.
    let args = ["run", "double-pendulum", "--output", "r.mcap", "--duration", "5", "--json"];
    let output = common::on_a_small_disk(path, &args).output().unwrap();
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(fs::read(path.join("r.mcap")).unwrap() == good[0]);
}

#[test]
fn a_motion_that_is_no_optimum_replaces_nothing_and_is_not_verified() {
    let folder = folder();
    let path = folder.path();
    inputs(path);
    let optimize = |problem, more: &[&str], exit| {
        let mut args = vec!["optimize", problem, "--no-checkpoint", "--record", "best.mcap"];
        args.extend(["--output", "best.json", "--report", "best.html"]);
        args.extend(more);
        json_of(path, &args, exit)
    };
    let value = optimize("push.toml", &[], 0);
    assert_eq!((&value["recording"], &value["output"]), (&"best.mcap".into(), &"best.json".into()));
    let files = ["best.mcap", "best.json", "best.html"];
    let good = files.map(|name| fs::read(path.join(name)).unwrap());
    let text = fs::read_to_string(path.join("push.toml")).unwrap();
    // Neither phase may take longer than half a second.
    fs::write(
        path.join("hurry.toml"),
        text.replace(
            "guess = 1.5, lower = 0.1, upper = 10",
            "guess = 0.4, lower = 0.1, upper = 0.5",
        ),
    )
    .unwrap();
    for (problem, more, exit) in
        [("push.toml", &["--max-iterations", "3"][..], 3), ("hurry.toml", &[], 1)]
    {
        let value = optimize(problem, more, exit);
        assert_eq!(value["recording"], "best-failed.mcap", "{value:#}");
        assert_eq!(value["output"], "best-failed.json", "{value:#}");
        assert_eq!(value["report"], "best-failed.html", "{value:#}");
        for (name, bytes) in files.iter().zip(&good) {
            assert!(fs::read(path.join(name)).unwrap() == *bytes, "{name}");
        }
        let verified = json_of(path, &["verify", "best-failed.mcap"], 1);
        assert_eq!(verified["verified"], false, "{verified:#}");
        assert_eq!(verified["no_optimum"], value["status"], "{verified:#}");
        let (text, _) = text_of(path, &["verify", "best-failed.mcap"], 1);
        assert!(text.starts_with("not verified") && text.contains("not an optimum"), "{text}");
    }
    json_of(path, &["verify", "best.mcap"], 0);
    // Where nothing is, a failed motion does not take the name either.
    fs::remove_file(path.join("best.mcap")).unwrap();
    optimize("push.toml", &["--max-iterations", "3"], 3);
    assert!(!path.join("best.mcap").exists() && path.join("best-failed.mcap").exists());
}
