//! A small client that speaks HTTP and websocket byte by byte, so that it can also speak them wrongly.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gelenk::model::{LoadOptions, load_text};
use gelenk_viewer::{Loader, Running, ServeOptions, Subject, spawn};
use serde_json::Value;

/// A live server of a gallery model.
pub(crate) fn live(scene: &'static str) -> Running {
    let load: Loader = Arc::new(move |overrides: &[(String, String)]| {
        let text = gelenk::scenes::scene(scene).ok_or("no such scene")?.text;
        let options = LoadOptions { overrides: overrides.to_vec(), ..LoadOptions::default() };
        load_text(scene, text, &options).map_err(|faults| faults.to_string())
    });
    let loaded = load(&[]).expect("a gallery model");
    let settings = Box::new(loaded.model.run.clone());
    let subject = Subject::Live { load, overrides: vec![], loaded: Box::new(loaded), settings };
    spawn(subject, ServeOptions::default()).expect("a free port")
}

/// Host and port, and the path with the token, of a server's address.
pub(crate) fn parts(server: &Running) -> (String, String) {
    let rest = server.address.strip_prefix("http://").expect("http");
    let (host, path) = rest.split_once('/').expect("a path");
    (host.to_owned(), format!("/{path}"))
}

/// Sends a request and gives the whole answer.
pub(crate) fn ask(server: &Running, request: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A plain request with some headers, the connection closed after it.
pub(crate) fn get(server: &Running, path: &str, headers: &str) -> String {
    ask(server, &format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"))
}

pub(crate) fn connect(server: &Running) -> TcpStream {
    let stream = TcpStream::connect(parts(server).0).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream
}

/// What a websocket says.
#[derive(Debug)]
pub(crate) enum Said {
    Text(Value),
    Binary(Vec<u8>),
    Closed,
}

/// A websocket.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

impl Client {
    /// Opens one as the page does.
    pub(crate) fn open(server: &Running) -> Self {
        let (host, path) = parts(server);
        let (client, head) = Client::knock(server, &path, &host, &format!("http://{host}"));
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        client
    }

    /// Asks for one; gives the answer's head.
    pub(crate) fn knock(server: &Running, path: &str, host: &str, origin: &str) -> (Self, String) {
        let mut stream = connect(server);
        let request = format!(
            "GET {path}socket HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("written");
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
            head.push(byte[0]);
        }
        (Client { stream }, String::from_utf8_lossy(&head).into_owned())
    }

    /// Sends bytes with an opcode, masked as clients must.
    pub(crate) fn frame(&mut self, opcode: u8, payload: &[u8]) {
        let mut bytes = vec![0x80 | opcode];
        match payload.len() {
            n @ 0..126 => bytes.push(0x80 | u8::try_from(n).expect("short")),
            n @ 126..65536 => {
                bytes.push(0x80 | 0x7e);
                bytes.extend(u16::try_from(n).expect("middling").to_be_bytes());
            }
            n => {
                bytes.push(0x80 | 127);
                bytes.extend((n as u64).to_be_bytes());
            }
        }
        let mask = [1, 2, 3, 4];
        bytes.extend(mask);
        bytes.extend(payload.iter().enumerate().map(|(i, byte)| byte ^ mask[i % 4]));
        let _ = self.stream.write_all(&bytes);
    }

    pub(crate) fn wish(&mut self, text: &str) {
        self.frame(1, text.as_bytes());
    }

    /// The next message.
    pub(crate) fn hear(&mut self) -> Said {
        let mut head = [0; 2];
        if self.stream.read_exact(&mut head).is_err() {
            return Said::Closed;
        }
        let mut length = u64::from(head[1] & 0x7f);
        if length == 126 {
            let mut more = [0; 2];
            self.stream.read_exact(&mut more).expect("a length");
            length = u64::from(u16::from_be_bytes(more));
        } else if length == 127 {
            let mut more = [0; 8];
            self.stream.read_exact(&mut more).expect("a length");
            length = u64::from_be_bytes(more);
        }
        let mut payload = vec![0; usize::try_from(length).expect("small")];
        if self.stream.read_exact(&mut payload).is_err() {
            return Said::Closed;
        }
        match head[0] & 0x0f {
            1 => Said::Text(serde_json::from_slice(&payload).expect("JSON")),
            2 => Said::Binary(payload),
            8 => Said::Closed,
            _ => self.hear(),
        }
    }

    /// The next text that `wanted` accepts; others are passed over, within 20 s.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            match self.hear() {
                Said::Text(value) if wanted(&value) => return value,
                Said::Closed => panic!("closed"),
                _ => {}
            }
        }
        panic!("nothing of the kind was said");
    }

    /// The next frame of run 0: index and time, and the numbers of the bodies.
    pub(crate) fn moment(&mut self) -> (u32, f64, Vec<f32>) {
        loop {
            match self.hear() {
                Said::Binary(bytes) if bytes.len() > 96 => {
                    let u32_at =
                        |i: usize| u32::from_le_bytes(bytes[i..i + 4].try_into().expect("4"));
                    let t = f64::from_le_bytes(bytes[32..40].try_into().expect("8"));
                    let numbers = bytes[96..]
                        .chunks_exact(4)
                        .map(|x| f32::from_le_bytes(x.try_into().expect("4")))
                        .collect();
                    return (u32_at(24), t, numbers);
                }
                Said::Closed => panic!("closed"),
                _ => {}
            }
        }
    }
}
