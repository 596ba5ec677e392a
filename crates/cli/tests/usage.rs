//! Help, bad usage, the gallery, schema, completions, closed pipes.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use std::process::Stdio;

use common::{code, command, folder, gelenk, json, json_of, stderr, text_of};

const COMMANDS: [&str; 15] = [
    "run",
    "check",
    "assemble",
    "models",
    "converge",
    "tables",
    "bench",
    "drift",
    "points",
    "serve",
    "sweep",
    "verify",
    "export",
    "schema",
    "completions",
];

#[test]
fn every_command_has_help_with_units() {
    let folder = folder();
    let (help, _) = text_of(folder.path(), &["--help"], 0);
    for name in COMMANDS {
        assert!(help.contains(&format!("\n  {name} ")), "{name} is missing in --help");
        let (help, _) = text_of(folder.path(), &[name, "--help"], 0);
        assert!(help.contains("Usage: gelenk"), "{help}");
        if !matches!(name, "schema") {
            assert!(help.contains("Examples:"), "{name} --help shows no example");
        }
    }
    let (help, _) = text_of(folder.path(), &["run", "--help"], 0);
    for words in ["Simulated time, s", "Time step, s", "gap of a joint, m", "m/s"] {
        assert!(help.contains(words), "{words} is missing in run --help");
    }
}

#[test]
fn bad_usage_ends_with_2_and_says_why() {
    let folder = folder();
    let cases: [(&[&str], &str); 16] = [
        (&[], "Usage"),
        (&["fly"], "unrecognized subcommand"),
        (&["run"], "MODEL"),
        (&["run", "pendulum", "--stepp", "0.1"], "--step"),
        (&["run", "pendulum", "--step", "0"], "above zero"),
        (&["run", "pendulum", "--step", "nan"], "finite"),
        (&["run", "pendulum", "--step", "fast"], "--step"),
        (&["run", "pendulum", "--duration", "-1"], "--duration"),
        (&["run", "pendulum", "--order", "3"], "2, 4, 6 and 8"),
        (&["run", "pendulum", "--flight", "taylor"], "taylor:N"),
        (&["run", "pendulum", "--set", "l"], "name=value"),
        (&["run", "pendulum", "--limit", "bodies=many"], "name=count"),
        (&["run", "pendulum", "--at", "1:2"], "FROM:TO:EVERY"),
        (&["run", "pendulum", "--no-record", "--output", "a.mcap"], "--no-record"),
        (&["export", "a.mcap"], "--csv"),
        (&["converge", "pendulum", "--levels", "1"], "from 2 to 20"),
    ];
    for (args, expected) in cases {
        let (out, err) = text_of(folder.path(), args, 2);
        assert!(out.is_empty(), "{args:?} wrote to standard output: {out}");
        assert!(err.contains(expected), "{args:?}: no {expected:?} in\n{err}");
    }
    for (args, _) in cases.iter().skip(1) {
        let mut args = args.to_vec();
        args.push("--json");
        let output = gelenk(folder.path(), &args);
        assert_eq!(code(&output), 2, "{args:?}");
        json(&output);
        assert!(stderr(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn the_gallery_lists_and_prints() {
    let folder = folder();
    let (list, _) = text_of(folder.path(), &["models"], 0);
    let value = json_of(folder.path(), &["models"], 0);
    let models = value["models"].as_array().unwrap();
    assert!(models.len() >= 13);
    for model in models {
        let name = model["name"].as_str().unwrap();
        assert!(list.contains(name) && !model["summary"].as_str().unwrap().is_empty());
        let (text, _) = text_of(folder.path(), &["models", name], 0);
        assert!(text.contains("[model]"));
        assert_eq!(json_of(folder.path(), &["models", name], 0)["text"], text);
    }
    let (_, err) = text_of(folder.path(), &["models", "pendulm"], 2);
    assert!(err.contains("did you mean `pendulum`?"), "{err}");
    json_of(folder.path(), &["models", "pendulm"], 2);
}

#[test]
fn the_schema_is_one_json_document() {
    let folder = folder();
    let (text, _) = text_of(folder.path(), &["schema"], 0);
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"));
    let (same, _) = text_of(folder.path(), &["schema", "--json"], 0);
    assert_eq!(same, text);
}

#[test]
fn completions_for_every_shell() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (script, _) = text_of(folder.path(), &["completions", shell], 0);
        assert!(script.contains("converge"), "{shell}");
        assert_eq!(json_of(folder.path(), &["completions", shell], 0)["script"], script);
    }
}

#[test]
fn a_reader_that_goes_away_ends_quietly() {
    let folder = folder();
    for args in [&["schema"][..], &["models"], &["models", "--json"], &["--help"]] {
        let mut child = command(folder.path(), args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{args:?}");
        assert_eq!(stderr(&output), "", "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_an_output_error() {
    let folder = folder();
    for args in [&["schema"][..], &["models", "--json"], &["--help"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output =
            command(folder.path(), args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(code(&output), 4, "{args:?}");
        assert!(stderr(&output).contains("standard output"), "{args:?}");
    }
}

#[test]
fn colours_only_where_wanted() {
    let folder = folder();
    let escape = '\u{1b}';
    let (plain, _) = text_of(folder.path(), &["models"], 0);
    assert!(!plain.contains(escape));
    let (colored, _) = text_of(folder.path(), &["models", "--color", "always"], 0);
    assert!(colored.contains(escape));
    let (_, err) = text_of(folder.path(), &["models", "x", "--color", "never"], 2);
    assert!(!err.contains(escape));
}
