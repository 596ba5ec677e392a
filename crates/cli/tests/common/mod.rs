//! Runs the real program and reads what it says.
#![allow(dead_code, reason = "each test file uses some of these")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The program, to run in `folder`.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gelenk"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// The program, to run in `folder` with files of at most 4 KiB: writing more fails as on a full disk.
#[cfg(unix)]
pub(crate) fn on_a_small_disk(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    command.args(["-c", limited, env!("CARGO_BIN_EXE_gelenk")]).args(args);
    command.current_dir(folder).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// Runs it to its end.
pub(crate) fn gelenk(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("gelenk starts")
}

/// Runs it with a text on standard input.
pub(crate) fn gelenk_with_input(folder: &Path, args: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child = command(folder, args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gelenk starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("gelenk reads");
    drop(stdin);
    child.wait_with_output().expect("gelenk ends")
}

/// The exit code; a signal is a failure.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("ended by a signal: {output:?}"))
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// The one JSON object on standard output, with what every answer has.
pub(crate) fn json(output: &Output) -> Value {
    let text = stdout(output);
    let value: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("not one JSON value: {error}\n{text}\n{}", stderr(output)));
    assert!(value.is_object(), "{text}");
    assert_eq!(value["exit_code"], code(output), "{text}");
    let failed = !matches!(code(output), 0 | 1);
    assert_eq!(value.get("error").is_some(), failed, "{text}");
    if failed {
        assert_eq!(value["error"]["code"], code(output));
        assert!(value["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
        assert!(value["error"]["diagnostics"].is_array());
    }
    value
}

/// Runs with `--json`, expects an exit code, gives the object.
pub(crate) fn json_of(folder: &Path, args: &[&str], expected: i32) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let output = gelenk(folder, &args);
    let value = json(&output);
    assert_eq!(code(&output), expected, "{args:?}: {value:#}\n{}", stderr(&output));
    value
}

/// Runs without `--json`, expects an exit code, gives standard output and standard error.
pub(crate) fn text_of(folder: &Path, args: &[&str], expected: i32) -> (String, String) {
    let output = gelenk(folder, args);
    assert_eq!(code(&output), expected, "{args:?}: {}\n{}", stdout(&output), stderr(&output));
    (stdout(&output), stderr(&output))
}

/// A number in an object, by path: `energy.initial`.
pub(crate) fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(value, |value, key| &value[key]);
    found.as_f64().unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

/// An empty folder.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
