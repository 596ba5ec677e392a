//! The live view: it runs, is pulled, changed and reset; many look on, slow ones slow nobody.

mod common;

use common::{Client, Said, live};
use std::time::{Duration, Instant};

/// Where a body is in a frame's numbers.
fn place(numbers: &[f32], body: usize) -> [f32; 3] {
    [numbers[13 * body], numbers[13 * body + 1], numbers[13 * body + 2]]
}

#[test]
fn a_model_runs_at_the_speed_of_the_clock_and_stops() {
    let server = live("double-pendulum");
    let mut client = Client::open(&server);
    let hello = client.until(|value| value["type"] == "hello");
    assert_eq!((&hello["mode"], &hello["protocol"]), (&"live".into(), &1.into()));
    let scene = client.until(|value| value["type"] == "scene");
    assert_eq!(scene["scene"]["bodies"][1]["name"], "upper");
    assert_eq!(scene["scene"]["joints"][0]["coordinates"][0]["unit"], "rad");
    let (_, t0, _) = client.moment();
    assert!(t0.abs() < 1e-12, "it waits");
    client.wish(r#"{"type":"play","playing":true}"#);
    let begin = Instant::now();
    let (mut last, mut frames) = (0, 0);
    let mut t = 0.0;
    while begin.elapsed() < Duration::from_secs(2) {
        let (index, now, _) = client.moment();
        assert!(index > last || frames == 0, "in order");
        (last, t) = (index, now);
        frames += 1;
    }
    // A busy machine may be slower than the clock, never faster.
    assert!((0.3..2.3).contains(&t), "{t} s in 2 s");
    assert!(frames > 15, "{frames} frames");
    client.wish(r#"{"type":"play","playing":false}"#);
    client.until(|value| value["type"] == "status" && value["playing"] == false);
}

#[test]
fn a_pulled_body_follows_the_hand_and_is_let_go_when_the_client_leaves() {
    for engine in ["impulse", "dae"] {
        let server = live("double-pendulum");
        let mut client = Client::open(&server);
        client.wish(&format!(r#"{{"type":"engine","name":"{engine}"}}"#));
        client.until(|value| value["type"] == "status" && value["engine"] == engine);
        client.wish(r#"{"type":"step","count":10}"#);
        let target = [0.5, 0.0, -0.3];
        client.wish(&format!(r#"{{"type":"grab","body":2,"point":[0,0,0],"target":{target:?}}}"#));
        client.wish(r#"{"type":"step","count":900}"#);
        client.until(|value| value["type"] == "status");
        client.wish(r#"{"type":"step","count":1}"#);
        let mut best = f32::INFINITY;
        for _ in 0..40 {
            client.wish(r#"{"type":"step","count":10}"#);
            let (_, t, numbers) = client.moment();
            if t < 5.0 {
                continue;
            }
            let [x, _, z] = place(&numbers, 2);
            best = best.min((x - 0.5).hypot(z + 0.3));
        }
        assert!(best < 0.35, "{engine}: {best} m from the hand");
        drop(client);
    }
}

#[test]
fn parameters_engines_and_reset_change_the_run_without_restart() {
    let server = live("four-bar");
    let mut client = Client::open(&server);
    client.wish(r#"{"type":"step","count":20}"#);
    client.until(|value| value["type"] == "run");
    client.wish(r#"{"type":"parameter","name":"crank","value":0.42}"#);
    let scene = client.until(|value| value["type"] == "scene" && value["generation"] != 0);
    assert_eq!(scene["keeps"], true, "frames of before still fit");
    let length = &scene["scene"]["bodies"][1]["shapes"][0]["length"];
    assert!((length.as_f64().expect("a length") - 0.42).abs() < 1e-12);
    let value = scene["scene"]["parameters"].as_array().expect("a list")[0]["value"].as_f64();
    assert!((value.expect("a number") - 0.42).abs() < 1e-12);
    let (_, t, _) = client.moment();
    assert!(t > 0.01, "it goes on from where it was: {t}");
    for engine in ["dae", "lagrange", "impulse"] {
        client.wish(&format!(r#"{{"type":"engine","name":"{engine}"}}"#));
        client.until(|value| value["type"] == "status" && value["engine"] == engine);
        client.wish(r#"{"type":"step","count":3}"#);
        let (_, after, _) = client.moment();
        assert!(after >= t, "{engine}");
    }
    // A value that makes no mechanism is told, and nothing changes.
    client.wish(r#"{"type":"parameter","name":"crank","value":-3}"#);
    client.until(|value| value["type"] == "status" && value["message"].is_string());
    client.wish(r#"{"type":"reset"}"#);
    let begin = Instant::now();
    while client.moment().1 > 0.0 {
        assert!(begin.elapsed() < Duration::from_secs(10), "it goes back");
    }
}

#[test]
fn a_ghost_is_run_with_another_engine() {
    let server = live("pendulum");
    let mut client = Client::open(&server);
    client.wish(r#"{"type":"ghost","engine":"dae"}"#);
    let done = client
        .until(|value| value["type"] == "run" && value["run"] == 1 && value["growing"] == false);
    let frames = done["frames"].as_u64().expect("a number");
    assert!(frames > 100, "{frames} frames");
    // All of them can be had, in pieces, none missing.
    let mut have = 0;
    while have < frames {
        client.wish(&format!(r#"{{"type":"frames","run":1,"from":{have},"count":500}}"#));
        loop {
            let Said::Binary(bytes) = client.hear() else { continue };
            let word =
                |i: usize| u64::from(u32::from_le_bytes(bytes[i..i + 4].try_into().expect("4")));
            if word(0) == 1 {
                assert_eq!(word(8), have, "in order");
                have += word(12);
                break;
            }
        }
    }
    assert_eq!(have, frames);
    client.wish(r#"{"type":"drop","run":1}"#);
    client.until(|value| value["type"] == "gone" && value["run"] == 1);
}

#[test]
fn fifty_clients_look_on_and_slow_ones_slow_nobody() {
    let server = live("double-pendulum");
    // Half of them never read: their sockets fill up and stay so.
    let deaf: Vec<Client> = (0..25).map(|_| Client::open(&server)).collect();
    let mut clients: Vec<Client> = (0..25).map(|_| Client::open(&server)).collect();
    clients[0].wish(r#"{"type":"speed","value":4}"#);
    clients[0].wish(r#"{"type":"play","playing":true}"#);
    let begin = Instant::now();
    let seconds = 3.0;
    let readers: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            std::thread::spawn(move || {
                let (mut frames, mut t) = (0_u32, 0.0);
                while begin.elapsed().as_secs_f64() < seconds {
                    t = client.moment().1;
                    frames += 1;
                }
                (frames, t)
            })
        })
        .collect();
    for reader in readers {
        let (frames, t) = reader.join().expect("it reads");
        assert!(frames > 10, "{frames} frames");
        assert!(t > 0.5, "the simulation came to {t} s");
    }
    drop(deaf);
    let mut late = Client::open(&server);
    late.until(|value| value["type"] == "status" && value["playing"] == true);
}
