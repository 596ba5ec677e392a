//! `gelenk view` and `--report`: they start, say where they are, and end.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use common::{code, command, folder, gelenk, json_of, stderr};
use serde_json::Value;

/// Starts a server; gives it with what it says.
#[expect(clippy::zombie_processes, reason = "whoever takes the child waits for it")]
fn serve(folder: &Path, args: &[&str]) -> (Child, Value) {
    let mut all = vec!["view", "--no-open", "--json"];
    all.extend(args);
    let mut child = command(folder, &all).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut text = String::new();
    loop {
        text.push_str(&lines.next().expect("it says where it is").unwrap());
        if let Ok(value) = serde_json::from_str(&text) {
            return (child, value);
        }
    }
}

fn get(address: &str) -> String {
    let rest = address.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[cfg(unix)]
#[test]
fn a_model_and_a_recording_are_served_until_ctrl_c() {
    let folder = folder();
    let run = ["run", "pendulum", "--duration", "0.5", "--output", "a.mcap", "--quiet"];
    assert_eq!(code(&gelenk(folder.path(), &run)), 0);
    for what in [&["pendulum", "--set", "l=2"][..], &["a.mcap"], &["a.mcap", "a.mcap"]] {
        let (mut child, said) = serve(folder.path(), what);
        assert_eq!(said["status"], "serving");
        assert_eq!(said["opened"], false);
        let address = said["address"].as_str().unwrap();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        assert!(get(address).starts_with("HTTP/1.1 200"), "{what:?}");
        let id = child.id().to_string();
        let kill = std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(kill.success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{what:?}");
    }
}

#[test]
fn what_cannot_be_shown_is_told() {
    let folder = folder();
    for (args, expected) in [
        (&["view", "nothing.mcap"][..], 2),
        (&["view", "no-such-model"], 2),
        (&["view", "pendulum", "nothing.mcap", "--no-open"], 2),
        (&["view", "pendulum", "--engine", "warp", "--no-open"], 2),
    ] {
        let output = gelenk(folder.path(), args);
        assert_eq!(code(&output), expected, "{args:?}: {}", stderr(&output));
    }
    std::fs::write(folder.path().join("broken.mcap"), b"nothing of the kind").unwrap();
    assert_eq!(code(&gelenk(folder.path(), &["view", "broken.mcap"])), 2);
    // A port that is taken.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = gelenk(folder.path(), &["view", "pendulum", "--no-open", "--port", &port]);
    assert_eq!(code(&output), 4, "{}", stderr(&output));
}

#[test]
fn reports_are_written_by_every_command_that_has_them() {
    let folder = folder();
    let commands: [(&[&str], &str); 7] = [
        (&["run", "spring-swing", "--duration", "0.3", "--no-record"], "Energy"),
        (&["compare", "pendulum", "--duration", "0.2", "--no-orders"], "Differences"),
        (&["converge", "pendulum", "--duration", "0.2", "--levels", "3"], "Errors"),
        (&["tables", "--only", "9.1", "--quick"], "Table 9.1"),
        (&["derive", "double-pendulum"], "<math"),
        (&["optimize", "bryson-denham", "--no-checkpoint"], "<td>end of v</td>"),
        (&["optimize", "walk-0.1", "--no-checkpoint"], "optimal motion"),
    ];
    for (args, expected) in commands {
        let mut args = args.to_vec();
        args.extend(["--report", "report.html"]);
        let value = json_of(folder.path(), &args, 0);
        assert_eq!(value["report"], "report.html", "{args:?}");
        let html = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
        assert!(html.contains(expected), "{args:?}");
        assert!(html.contains("gelenk-data") && html.ends_with("</html>\n"));
        let outside = html.split("<script").next().unwrap();
        assert!(!outside.contains("src=\"http") && !outside.contains("href=\"http"), "{args:?}");
    }
    let output =
        gelenk(folder.path(), &["run", "pendulum", "--no-record", "--report", "no/where.html"]);
    assert_eq!(code(&output), 4, "{}", stderr(&output));
}
