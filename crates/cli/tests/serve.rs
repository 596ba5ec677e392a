//! `gelenk serve`: a line each way, in step and on the clock, on pipes and sockets; the example controllers.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::{command, folder, json_of, text_of};
use serde_json::{Value, json};

/// A session over pipes.
struct Session {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Session {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut child = command(folder, args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Session { child, to, from }
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn say(&mut self, line: &str) -> Value {
        writeln!(self.to.as_mut().unwrap(), "{line}").unwrap();
        self.read()
    }

    /// Ends the input; the exit code and what was said on standard error.
    fn end(mut self) -> (i32, String) {
        self.to = None;
        self.wait()
    }

    fn wait(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }
}

/// Checks an object against the schema of docs/serve.md: its keys, and those that must be there.
fn check(kind: &str, value: &Value) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/serve.md");
    let page = std::fs::read_to_string(page).unwrap();
    let text = page.split("## Schema").nth(1).unwrap().split("```").nth(1).unwrap();
    let schema: Value = serde_json::from_str(text.strip_prefix("json").unwrap()).unwrap();
    let wanted = &schema["$defs"][kind];
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    for key in &keys {
        assert!(wanted["properties"].get(key.as_str()).is_some(), "{kind}: {key} in {value}");
    }
    for key in wanted["required"].as_array().unwrap() {
        assert!(
            keys.iter().any(|known| *known == key.as_str().unwrap()),
            "{kind}: no {key} in {value}"
        );
    }
}

/// The same inputs make the motion of `gelenk run`, to the bit.
#[test]
fn turns_are_the_steps_of_a_run() {
    let folder = folder();
    let args = ["serve", "three-link-arm", "--rate", "200", "--send", "body.forearm.position"];
    let args: Vec<&str> = args.into_iter().chain(["--send", "energy.kinetic"]).collect();
    let mut session = Session::start(folder.path(), &args);
    let hello = session.read();
    check("hello", &hello);
    check("state", &hello["start"]);
    assert_eq!(hello["sensors"], json!({"body.forearm.position": "m", "energy.kinetic": "J"}));
    assert_eq!(hello["joints"]["elbow"], json!({"angle": "rad", "rate": "rad/s"}));
    let mut state = Value::Null;
    for _ in 0..40 {
        state = session.say("{}");
    }
    check("state", &state);
    let (code, said) = session.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("40 turns, to t = 0.2 s"), "{said}");
    let step = hello["step"].to_string();
    let run = ["run", "three-link-arm", "--duration", "0.2", "--step", &step];
    let run = json_of(folder.path(), &run, 0);
    assert_eq!(
        state["sensors"]["body.forearm.position"],
        run["final"]["bodies"]["forearm"]["position"]
    );
    assert_eq!(state["time"], run["final"]["time"]);
}

#[test]
fn a_line_that_is_wrong_moves_no_time() {
    let folder = folder();
    let mut session = Session::start(folder.path(), &["serve", "three-link-arm", "--quiet"]);
    session.read();
    let first = session.say(r#"{"inputs": {"tau1": 2, "tau3": -0.5}}"#);
    let lines = [
        ("tau1 = 2", "not JSON"),
        ("[1]", "object"),
        ("{\"inputs\": [1]}", "object of numbers"),
        ("{\"inputs\": {\"tau9\": 1}}", "did you mean"),
        ("{\"inputs\": {\"tau1\": \"2\"}}", "not a finite number"),
        ("{\"inputs\": {\"tau1\": 1e999}}", "JSON"),
        ("{\"inputs\": {\"tau1\": 5, \"tau3\": null}}", "not a finite number"),
        ("{\"input\": {}}", "`inputs` and `reset`"),
        ("{\"reset\": 1}", "true or false"),
    ];
    for (line, expected) in lines {
        let answer = session.say(line);
        check("refusal", &answer);
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.contains(expected), "{line}: {said}");
        assert_eq!(answer["error"]["time"], first["time"]);
    }
    let long = format!("{{\"inputs\": {{\"tau1\": {}}}}}", "1".repeat(2 << 20));
    let said = session.say(&long)["error"]["message"].to_string();
    assert!(said.contains("more than 1048576 bytes"), "{said}");
    // Inputs are held, and those of refused lines were not taken: as if nothing had been said.
    let second = session.say("\n{}");
    let again = session.say(r#"{"reset": true, "inputs": {"tau1": 2, "tau3": -0.5}}"#);
    assert_eq!(again, first, "a reset keeps nothing of before");
    assert_ne!(second["time"], first["time"]);
    assert_eq!(session.end().0, 0);
}

#[test]
fn silence_ends_with_3_and_bad_usage_with_2() {
    let folder = folder();
    let begin = Instant::now();
    let mut session = Session::start(folder.path(), &["serve", "pendulum", "--timeout", "0.2"]);
    session.read();
    let to = session.to.take();
    let (code, said) = session.wait();
    drop(to);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("no line came for 0.2 s"), "{said}");
    assert!(begin.elapsed() < Duration::from_secs(30));
    let at = folder.path();
    for (args, expected) in [
        (vec!["serve", "pendulum", "--rate", "0"], "above zero"),
        (vec!["serve", "pendulum", "--rate", "1e-9"], "cannot be kept"),
        (vec!["serve", "pendulum", "--send", "energy.kinetik"], "did you mean `energy.kinetic`?"),
        (vec!["serve", "pendulm"], "did you mean `pendulum`?"),
        (vec!["serve", "-"], "--port"),
        (vec!["serve", "pendulum", "--engine", "dae"], "impulse engine"),
        (vec!["serve", "pendulum", "--duration", "1"], "--duration"),
    ] {
        let (out, err) = text_of(at, &args, 2);
        assert!(out.is_empty() && err.contains(expected), "{args:?}: {err}");
    }
    json_of(at, &["serve", "pendulum"], 2);
}

#[test]
fn on_the_clock_missed_turns_are_counted() {
    let folder = folder();
    let args = ["serve", "pendulum", "--rate", "100", "--clock", "--timeout", "0.5"];
    let mut session = Session::start(folder.path(), &args);
    session.read();
    let begin = Instant::now();
    let mut states = vec![session.say("{}")];
    let to = session.to.take();
    loop {
        let mut line = String::new();
        if session.from.read_line(&mut line).unwrap() == 0 {
            break;
        }
        states.push(serde_json::from_str(&line).unwrap());
    }
    let took = begin.elapsed().as_secs_f64();
    drop(to);
    assert_eq!(session.wait().0, 3, "nobody spoke any more");
    check("state", &states[0]);
    assert_eq!(states[0]["missed"], 0);
    let last = states.last().unwrap();
    assert_eq!(last["missed"], states.len() - 1);
    // Turns are made by the clock: not before their time.
    let t = last["time"].as_f64().unwrap();
    assert!(t > 0.3 && t <= took + 0.02, "{t} s of simulated time in {took} s");
}

fn socket(folder: &Path, args: &[&str]) -> (Session, String, String) {
    let mut session = Session::start(folder, args);
    let place = session.read();
    let text = |key: &str| place[key].as_str().unwrap().to_owned();
    let (address, token) = (text("address"), text("token"));
    (session, address, token)
}

#[test]
fn a_socket_wants_the_token() {
    let folder = folder();
    let args = ["serve", "three-link-arm", "--port", "0", "--rate", "100"];
    let (session, address, token) = socket(folder.path(), &args);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    assert_eq!(token.len(), 32);
    for wrong in [json!({"token": "0".repeat(32)}), json!({}), json!({"inputs": {}})] {
        let mut stream = TcpStream::connect(&address).unwrap();
        writeln!(stream, "{wrong}").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.contains("not the token"), "{said}");
    }
    let stream = TcpStream::connect(&address).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut say = |text: String| {
        writeln!(&stream, "{text}").unwrap();
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    check("hello", &say(json!({"token": token}).to_string()));
    assert_eq!(say("{}".to_owned())["time"], 0.01);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let (code, said) = session.wait();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("1 turns"), "{said}");
}

fn controllers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/controllers")
}

#[test]
fn the_controller_in_python_holds_the_rod_up() {
    let path = controllers().join("balance.py");
    let output = Command::new("python3")
        .arg(path)
        .arg(env!("CARGO_BIN_EXE_gelenk"))
        .output()
        .expect("Python is there");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let angle = said.split("angle = ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(angle.parse::<f64>().unwrap().abs() < 1e-3, "{said}");
}

#[test]
#[cfg(unix)]
fn the_controller_in_c_holds_the_rod_up() {
    let folder = folder();
    let program = folder.path().join("balance");
    let built = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(&program)
        .arg(controllers().join("balance.c"))
        .status()
        .expect("a C compiler is there: Rust links with it");
    assert!(built.success());
    let model = controllers().join("balance.toml");
    let args = ["serve", model.to_str().unwrap(), "--rate", "500", "--port", "0"];
    let (session, address, token) = socket(folder.path(), &args);
    let port = address.rsplit(':').next().unwrap();
    let output = Command::new(&program).args([port, &token]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("angle = "), "{said}");
    let (code, err) = session.wait();
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("1500 turns, to t = 3 s"), "{err}");
}
