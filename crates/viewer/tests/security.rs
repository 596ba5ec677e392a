//! A hostile page cannot reach the server, and nonsense does not bring it down.

mod common;

use common::{Client, Said, ask, connect, get, live, parts};
use std::io::Write;

/// Status line of an answer.
fn status(answer: &str) -> &str {
    answer.lines().next().unwrap_or_default()
}

#[test]
fn the_page_is_served_to_who_knows_the_token() {
    let server = live("pendulum");
    let (host, path) = parts(&server);
    let page = get(&server, &path, &format!("Host: {host}\r\n"));
    assert!(status(&page).contains("200"), "{page}");
    assert!(page.contains("page.js"));
    let lower = page.to_lowercase();
    assert!(lower.contains("content-security-policy: default-src 'none'; script-src 'self'"));
    assert!(!lower.contains("unsafe-inline") && !lower.contains("unsafe-eval"));
    for header in ["x-content-type-options: nosniff", "referrer-policy: no-referrer", "no-store"] {
        assert!(lower.contains(header), "{header}");
    }
    let script = get(&server, &format!("{path}page.js"), &format!("Host: {host}\r\n"));
    assert!(script.to_lowercase().contains("content-type: text/javascript"));
    let port = host.rsplit(':').next().expect("a port");
    let local = get(&server, &path, &format!("Host: localhost:{port}\r\n"));
    assert!(status(&local).contains("200"), "localhost is here too");
}

#[test]
fn nobody_gets_in_without_the_token() {
    let server = live("pendulum");
    let (host, path) = parts(&server);
    let wrong = format!("/{}/", "0".repeat(32));
    for path in ["/", "/page.js", "/socket", "/favicon.ico", &wrong, "//", "/%2e%2e/"] {
        let answer = get(&server, path, &format!("Host: {host}\r\n"));
        assert!(status(&answer).contains("403"), "{path}: {answer}");
        assert!(!answer.contains(path.trim_matches('/')) || path.len() < 3 || path == "/socket");
    }
    let (_, head) = Client::knock(&server, &wrong, &host, &format!("http://{host}"));
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let nothing = get(&server, &format!("{path}other"), &format!("Host: {host}\r\n"));
    assert!(status(&nothing).contains("404"), "{nothing}");
}

#[test]
fn foreign_pages_are_refused() {
    let server = live("pendulum");
    let (host, path) = parts(&server);
    for origin in ["http://evil.example", "https://evil.example", "null", "file://"] {
        let (_, head) = Client::knock(&server, &path, &host, origin);
        assert!(head.starts_with("HTTP/1.1 403"), "{origin}: {head}");
        let page = get(&server, &path, &format!("Host: {host}\r\nOrigin: {origin}\r\n"));
        assert!(status(&page).contains("403"), "{origin}");
    }
    let cross = get(&server, &path, &format!("Host: {host}\r\nSec-Fetch-Site: cross-site\r\n"));
    assert!(status(&cross).contains("403"), "{cross}");
}

#[test]
fn a_rebound_name_is_refused() {
    let server = live("pendulum");
    let (host, path) = parts(&server);
    let port = host.rsplit(':').next().expect("a port");
    for name in
        [format!("evil.example:{port}"), "evil.example".to_owned(), format!("10.0.0.1:{port}")]
    {
        let page = get(&server, &path, &format!("Host: {name}\r\n"));
        assert!(status(&page).contains("421"), "{name}: {page}");
        // The page of the rebound name has that name as origin too.
        let (_, head) = Client::knock(&server, &path, &name, &format!("http://{name}"));
        assert!(head.starts_with("HTTP/1.1 421"), "{name}: {head}");
    }
    let none = ask(&server, &format!("GET {path} HTTP/1.0\r\n\r\n"));
    assert!(status(&none).contains("421"), "no host at all: {none}");
}

#[test]
fn nonsense_does_not_bring_it_down() {
    let server = live("pendulum");
    // Nonsense wishes are answered, and the talk goes on.
    let mut client = Client::open(&server);
    for text in [
        "",
        "nonsense",
        "{}",
        "[[[[",
        r#"{"type":"grab","body":4000000000,"point":[0,0,0],"target":[0,0,0]}"#,
        r#"{"type":"grab","body":0,"point":[0,0,0],"target":[0,0,0]}"#,
        r#"{"type":"pull","target":[1e9,1e9,1e9]}"#,
        r#"{"type":"frames","run":77,"from":4294967295,"count":4294967295}"#,
        r#"{"type":"engine","name":"warp"}"#,
        r#"{"type":"parameter","name":"nothing","value":3}"#,
        r#"{"type":"parameter","name":"","value":1e12}"#,
        r#"{"type":"drop","run":0}"#,
        r#"{"type":"ghost","engine":"warp"}"#,
    ] {
        client.wish(text);
    }
    client.frame(2, &[0xff; 100]);
    client.wish(r#"{"type":"step","count":1}"#);
    let answer = client.until(|value| value["type"] == "error");
    assert!(answer["message"].is_string());
    // Broken frames end that client's talk alone.
    let mut broken = Client::open(&server);
    broken.frame(1, &[0xff, 0xfe, 0xfd]); // no UTF-8
    let mut unmasked = Client::open(&server);
    let _ = unmasked.stream.write_all(&[0x81, 0x02, b'h', b'i']);
    let mut reserved = Client::open(&server);
    reserved.frame(0x0b, b"?");
    let mut huge = Client::open(&server);
    // Promises 2^62 bytes.
    let _ = huge.stream.write_all(&[0x82, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
    let mut long = Client::open(&server);
    long.frame(1, &vec![b' '; 1 << 20]);
    for mut client in [broken, unmasked, reserved, huge, long] {
        while !matches!(client.hear(), Said::Closed) {}
    }
    // One who talks nonsense all the time is shown out.
    let mut silly = Client::open(&server);
    for _ in 0..200 {
        silly.wish("?");
    }
    while !matches!(silly.hear(), Said::Closed) {}
    // No HTTP at all.
    let mut raw = connect(&server);
    let _ = raw.write_all(&[0x16, 0x03, 0x01, 0x00, 0xff]);
    drop(raw);
    // It is all well.
    let mut fine = Client::open(&server);
    fine.wish(r#"{"type":"step","count":2}"#);
    let before = fine.moment();
    fine.wish(r#"{"type":"step","count":2}"#);
    assert!(fine.moment().1 > before.1);
}
