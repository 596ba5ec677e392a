//! `gelenk serve`: a model in step with another program.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use gelenk::serve::{Session, SessionError, SessionOptions};
use gelenk_viewer::token;
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::ServeArgs;
use crate::source::{self, Start};
use crate::{interrupt, show};

/// The longest line that is read, bytes.
const LONGEST: u64 = 1 << 20;
/// Lines that wait to be read: a program that sends more waits.
const WAITING: usize = 64;
/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &ServeArgs, manner: Manner) -> Result<Answer, Failure> {
    if manner.json && args.port.is_none() {
        return Err(Failure::input("standard output has the lines of the session already")
            .help("--json goes with --port"));
    }
    if args.model.model == "-" && args.port.is_none() {
        return Err(Failure::input("standard input has the lines of the session, not the model")
            .help("give the model's path, or use --port"));
    }
    if let Some(engine) = args.settings.engine.as_deref().filter(|engine| *engine != "impulse") {
        return Err(Failure::input(format!(
            "turns are steps of the impulse engine; the engine {engine} was asked for"
        ))
        .help("leave --engine out"));
    }
    if args.settings.duration.is_some() {
        return Err(Failure::input("a session ends when its input ends, not after a --duration"));
    }
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let mut model = loaded.model;
    model.run = source::settings(&args.settings, &model);
    let options = SessionOptions { rate: args.rate, send: args.send.clone() };
    let session = Session::new(model, &options).map_err(|error| match error {
        SessionError::Start(failure) => Failure::new(Exit::Failed, failure.reason),
        error => Failure::input(error.to_string()),
    })?;
    interrupt::be_graceful();
    let timeout = Duration::try_from_secs_f64(args.timeout)
        .map_err(|_| Failure::input("--timeout is longer than any program runs"))?;
    let mut serving = Serving {
        session,
        clock: args.clock,
        timeout,
        turn: Duration::from_secs_f64(1.0 / args.rate),
        missed: 0,
        turns: 0,
    };
    let ended = match args.port {
        None => serving.speak(lines(io::stdin()), &mut io::stdout()),
        Some(port) => {
            let (from, mut to) = connected(port, timeout, manner)?;
            serving.speak(lines(from), &mut to)
        }
    };
    let Serving { session, turns, missed, .. } = serving;
    if !manner.quiet && !manner.json {
        let missed = if args.clock { format!(", {missed} missed") } else { String::new() };
        show::err(&format!("{turns} turns{missed}, to t = {} s", session.time()));
    }
    ended.map(|()| Answer::told())
}

/// Listens on this machine only, shows where, and waits for one program that knows the token.
fn connected(
    port: u16,
    timeout: Duration,
    manner: Manner,
) -> Result<(TcpStream, TcpStream), Failure> {
    let io = |error: io::Error| Failure::new(Exit::Io, format!("cannot serve: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| io(error).help("choose another --port"))?;
    let token = token::new().map_err(io)?;
    let address = listener.local_addr().map_err(io)?.to_string();
    let place = json!({ "address": address, "token": token });
    let _ = if manner.json {
        show::json(&json!({
            "command": "serve", "status": "serving", "exit_code": 0, "address": address, "token": token,
        }))
    } else {
        show::out(&format!("{place}\n"))
    };
    listener.set_nonblocking(true).map_err(io)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(io)?;
                // A turn is one small line each way: waiting for more would cost 40 ms.
                stream.set_nodelay(true).map_err(io)?;
                if knows(&stream, &token, timeout) {
                    let to = stream.try_clone().map_err(io)?;
                    stream.set_read_timeout(None).map_err(io)?;
                    return Ok((stream, to));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK),
            Err(error) => return Err(io(error)),
        }
        if interrupt::requested() {
            return Err(Failure::new(Exit::Stopped, "by Ctrl-C before a program came"));
        }
    }
}

/// Whether the first line of a program has the token; others are let go.
fn knows(stream: &TcpStream, token: &str, timeout: Duration) -> bool {
    let mut line = Vec::new();
    let limit = timeout.min(Duration::from_secs(10)).max(Duration::from_millis(1));
    if stream.set_read_timeout(Some(limit)).is_err() {
        return false;
    }
    // Byte by byte: what comes after the line belongs to the session.
    let (mut from, mut byte) = (stream, [0]);
    while line.len() < 4096 {
        match from.read(&mut byte) {
            Ok(1) if byte == *b"\n" => break,
            Ok(1) => line.extend(byte),
            _ => return false,
        }
    }
    let given: Value = serde_json::from_slice(&line).unwrap_or_default();
    let known = given["token"].as_str().is_some_and(|given| token::same(given, token));
    if !known {
        let mut stream = stream;
        let _ = writeln!(stream, "{}", json!({ "error": { "message": "this is not the token" } }));
    }
    known
}

/// A line that has come, or why there is none.
type Line = Result<String, String>;

/// Reads lines in a thread beside, so that time limits and Ctrl-C are kept; the end of the channel is the end of the input.
fn lines(from: impl Read + Send + 'static) -> Receiver<Line> {
    let (send, receive) = sync_channel(WAITING);
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            match (&mut from).take(LONGEST + 1).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let long = line.len() as u64 > LONGEST;
            if long && !line.ends_with(b"\n") && !skip_line(&mut from) {
                return;
            }
            let line = if long {
                Err(format!("a line has more than {LONGEST} bytes"))
            } else {
                String::from_utf8(line).map_err(|_| "a line is not UTF-8 text".to_owned())
            };
            if line.as_ref().is_ok_and(|line| line.trim().is_empty()) {
                continue;
            }
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

/// Skips to the end of the line; false at the end of the input.
fn skip_line(from: &mut impl BufRead) -> bool {
    loop {
        let Ok(some) = from.fill_buf() else { return false };
        if some.is_empty() {
            return false;
        }
        let end = some.iter().position(|byte| *byte == b'\n');
        let n = end.map_or(some.len(), |end| end + 1);
        from.consume(n);
        if end.is_some() {
            return true;
        }
    }
}

/// A session and how it is kept.
struct Serving {
    session: Session,
    clock: bool,
    timeout: Duration,
    /// The length of a turn, on the clock.
    turn: Duration,
    missed: u64,
    turns: u64,
}

impl Serving {
    /// Says hello and takes turns until the input ends.
    fn speak(&mut self, lines: Receiver<Line>, to: &mut impl Write) -> Result<(), Failure> {
        let hello = self.session.hello();
        if !say(to, &hello)? {
            return Ok(());
        }
        if self.clock { self.on_the_clock(&lines, to) } else { self.in_step(&lines, to) }
    }

    /// Waits for a line, makes a turn, answers.
    fn in_step(&mut self, lines: &Receiver<Line>, to: &mut impl Write) -> Result<(), Failure> {
        while let Some(line) = self.wait(lines)? {
            let taken = line.and_then(|line| self.session.take(&line));
            let answer = match taken {
                Ok(()) => self.turned(to)?,
                Err(why) => self.refusal(&why),
            };
            if !say(to, &answer)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes a turn whenever its time has come, with the inputs that have come by then.
    fn on_the_clock(&mut self, lines: &Receiver<Line>, to: &mut impl Write) -> Result<(), Failure> {
        // The clock begins with the first line.
        let Some(mut first) = self.wait(lines)?.map(Some) else { return Ok(()) };
        let begin = Instant::now();
        let mut heard = begin;
        for n in 1.. {
            let mut any = false;
            loop {
                let line = match first.take() {
                    Some(line) => line,
                    None => match lines.try_recv() {
                        Ok(line) => line,
                        Err(TryRecvError::Empty) => break,
                        Err(TryRecvError::Disconnected) => return Ok(()),
                    },
                };
                heard = Instant::now();
                match line.and_then(|line| self.session.take(&line)) {
                    Ok(()) => any = true,
                    Err(why) => {
                        let refusal = self.refusal(&why);
                        if !say(to, &refusal)? {
                            return Ok(());
                        }
                    }
                }
            }
            if !any {
                self.missed += 1;
            }
            let mut answer = self.turned(to)?;
            answer["missed"] = self.missed.into();
            if !say(to, &answer)? {
                return Ok(());
            }
            if heard.elapsed() > self.timeout {
                return Err(self.silence());
            }
            let next = begin + self.turn.saturating_mul(n);
            loop {
                if interrupt::requested() {
                    return Err(self.stopped());
                }
                let left = next.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                std::thread::sleep(left.min(LOOK));
            }
        }
        Ok(())
    }

    /// The next line; `None` at the end of the input.
    fn wait(&self, lines: &Receiver<Line>) -> Result<Option<Line>, Failure> {
        let begin = Instant::now();
        loop {
            let left = self.timeout.saturating_sub(begin.elapsed());
            match lines.recv_timeout(left.min(LOOK)) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if interrupt::requested() => {
                    return Err(self.stopped());
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(self.silence()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Makes a turn; a failure of the engine is told to the program, too.
    fn turned(&mut self, to: &mut impl Write) -> Result<Value, Failure> {
        match self.session.turn() {
            Ok(answer) => {
                self.turns += 1;
                Ok(answer)
            }
            Err(failure) => {
                let error = json!({
                    "message": failure.reason, "element": failure.element,
                    "time": self.session.time(), "ended": true,
                });
                let _ = say(to, &json!({ "error": error }));
                Err(Failure::new(Exit::Failed, failure.reason))
            }
        }
    }

    fn refusal(&self, why: &str) -> Value {
        json!({ "error": { "message": why, "time": self.session.time() } })
    }

    fn silence(&self) -> Failure {
        let (seconds, t) = (self.timeout.as_secs_f64(), self.session.time());
        Failure::new(Exit::Failed, format!("no line came for {seconds} s, at t = {t} s"))
            .help("--timeout sets how long to wait")
    }

    fn stopped(&self) -> Failure {
        Failure::new(Exit::Stopped, format!("by Ctrl-C at t = {} s", self.session.time()))
    }
}

/// Writes a line; false where nobody listens any more.
fn say(to: &mut impl Write, line: &Value) -> Result<bool, Failure> {
    match to.write_all(format!("{line}\n").as_bytes()).and_then(|()| to.flush()) {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(Failure::new(Exit::Io, format!("cannot write a line: {error}"))),
    }
}
