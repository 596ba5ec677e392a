//! Running a recording again and comparing every byte.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufReader, Cursor, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use gelenk_model::{Event, Model, Observer, RunSettings, Sample};
use serde_json::Value as Json;

use super::container::{
    Bytes, MAGIC, MessageRecord, OP_CHUNK, OP_MESSAGE, OP_MESSAGE_INDEX, RECORD_HEAD,
};
use super::reader::open_file;
use super::state::{FIELD_NAMES, decode};
use super::wire::{Decoder, Value};
use super::{Header, Integrity, Optimum, Recorder, Recording, RecordingError, Sink};
use crate::certificate::{Certificate, End};
use crate::engine::Judged;
use crate::verdict::Verdict;

/// The first place where a recording and its re-run differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// What is there: "state at t = 0.35 s, velocity.x of `upper`".
    pub what: String,
}

/// What [`verify`] found.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// The recording is whole, has a certificate, its re-run gives the same bytes, its run did not fail, and it is not of
    /// an optimization without an optimum.
    pub ok: bool,
    /// The re-run gives the same bytes to the end, whatever they are worth.
    pub reproduced: bool,
    /// The verdict on the re-run.
    pub verdict: Verdict,
    /// Why the recorded run could not go on, or by what its result is wrong.
    pub run_failed: Option<String>,
    /// How an optimization ended that came to no optimum: `infeasible`, `iteration-limit`, ...
    pub no_optimum: Option<String>,
    /// Where the first different byte is.
    pub first_difference: Option<Difference>,
    /// Whether the file itself is whole.
    pub integrity: Integrity,
    /// Bytes from the start that are the same.
    pub same_bytes: u64,
    /// Bytes of the recording.
    pub recorded_bytes: u64,
    /// Version of Gelenk that recorded.
    pub recorded_version: String,
    /// Version that ran again. Where it is another, the re-run is written under the recorded one, so that only data
    /// are compared.
    pub version: String,
    /// The recorded certificate.
    pub recorded: Option<Certificate>,
    /// The certificate of the re-run.
    pub again: Certificate,
}

impl VerifyReport {
    /// Whether another version of Gelenk recorded.
    pub fn version_differs(&self) -> bool {
        self.recorded_version != self.version
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ok {
            write!(f, "verified: {} bytes, the same bit by bit", self.recorded_bytes)?;
        } else {
            write!(f, "not verified")?;
            if self.integrity != Integrity::Complete {
                write!(f, "; the recording is {}", self.integrity)?;
            }
            if let Some(Difference { offset, what }) = &self.first_difference {
                write!(f, "; the first difference is at byte {offset}: {what}")?;
            } else if self.recorded.is_none() {
                write!(f, "; there is no certificate, but all that is there agrees")?;
            }
            if let Some(reason) = &self.run_failed {
                write!(f, "; the recorded run failed: {reason}")?;
            }
            if let Some(status) = &self.no_optimum {
                write!(f, "; this is not an optimum: the optimization ended as {status}")?;
            }
            if self.reproduced {
                write!(f, "; the re-run gives the same bytes")?;
            }
        }
        if self.version_differs() {
            write!(
                f,
                "; recorded by gelenk {}, run again by {}",
                self.recorded_version, self.version
            )?;
        }
        Ok(())
    }
}

/// Why a recording could not be run again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The embedded model cannot be loaded or run.
    #[error("the recorded model cannot be run again: {0}")]
    Model(String),
}

/// Loads the model of a recording from the sources in its header.
pub type Load<'a> = &'a dyn Fn(&Header) -> Result<Model, String>;

/// Runs a model: an engine, and the verdict on the run.
pub type Run<'a> = &'a dyn Fn(&Model, &RunSettings, &mut dyn Observer) -> Result<Judged, String>;

/// Runs a recording again from the model and settings in it, and compares byte by byte.
///
/// A recording that was stopped is run up to where it was stopped. Nothing is kept in memory but a block.
pub fn verify(
    path: impl AsRef<Path>,
    load: Load<'_>,
    run: Run<'_>,
) -> Result<VerifyReport, VerifyError> {
    let path = path.as_ref();
    let recording = Recording::open(path)?;
    let fault = |source| RecordingError::File { action: "open", path: path.to_owned(), source };
    let file = open_file(path)?;
    let length = file.metadata().map_err(fault)?.len();
    compare(&recording, Box::new(BufReader::new(file)), length, load, run)
}

/// [`verify`] of a recording in memory.
pub fn verify_bytes(
    bytes: &[u8],
    load: Load<'_>,
    run: Run<'_>,
) -> Result<VerifyReport, VerifyError> {
    let recording = Recording::from_bytes(bytes.to_vec())?;
    compare(&recording, Box::new(Cursor::new(bytes)), bytes.len() as u64, load, run)
}

fn compare(
    recording: &Recording,
    recorded: Box<dyn Read + '_>,
    length: u64,
    load: Load<'_>,
    run: Run<'_>,
) -> Result<VerifyReport, VerifyError> {
    let recorded_header = recording.header();
    let model = load(recorded_header).map_err(VerifyError::Model)?;
    let mut header = Header::new(
        &model,
        &recorded_header.settings,
        recorded_header.sources.clone(),
        recorded_header.overrides.clone(),
    );
    header.meshes.clone_from(&recorded_header.meshes);
    header.limits = recorded_header.limits;
    header.optimum.clone_from(&recorded_header.optimum);
    // The format may be older too, but then this version still writes its own: a difference that is reported.
    header.gelenk.clone_from(&recorded_header.gelenk);

    let ended = Rc::new(Cell::new(false));
    let mut comparison = Comparison::new(recorded, Rc::clone(&ended));
    let (again, mut verdict) = {
        let mut replay = Replay {
            recorder: Recorder::new(&mut comparison, header.clone())?,
            stop_at: match recording.certificate().map(|certificate| &certificate.end) {
                Some(End::Stopped { time }) => Some(*time),
                _ => None,
            },
            // Without a certificate nobody knows where the run ended; there is no use in going on after the recording.
            stop_at_end: recording.certificate().is_none().then_some(ended),
        };
        let Judged { result, verdict } =
            run(&model, &recorded_header.settings, &mut replay).map_err(VerifyError::Model)?;
        // Recordings without a verdict are compared as they are.
        let judged = recording.certificate().is_some_and(|recorded| !recorded.verdict.is_good());
        let written = if judged { verdict.clone() } else { Verdict::default() };
        (replay.recorder.finish_with(result.as_ref(), written)?, verdict)
    };
    comparison.end()?;

    let certificate = recording.certificate().cloned();
    let difference = match comparison.difference {
        // A recording that is cut off but agrees up to there differs in nothing that it says.
        Some(offset) if offset == length && recording.truncated() => None,
        Some(offset) => Some(Difference { offset, what: comparison.describe(&header) }),
        None => None,
    };
    let no_optimum = recorded_header.optimum.as_ref().and_then(Optimum::unsolved);
    if let Some(status) = no_optimum {
        verdict.push(crate::optimize::no_optimum(status, ""));
    }
    let run_failed = match certificate.as_ref().map(|certificate| &certificate.end) {
        Some(End::Failed { reason, .. }) => Some(reason.clone()),
        _ if no_optimum.is_some() => None,
        _ => verdict.failure().map(|finding| finding.cause.clone()),
    };
    let reproduced = comparison.difference.is_none()
        && certificate.is_some()
        && *recording.integrity() == Integrity::Complete;
    Ok(VerifyReport {
        ok: reproduced && no_optimum.is_none() && run_failed.is_none(),
        reproduced,
        verdict,
        run_failed,
        no_optimum: no_optimum.map(str::to_owned),
        first_difference: difference,
        integrity: recording.integrity().clone(),
        same_bytes: comparison.difference.unwrap_or(length),
        recorded_bytes: length,
        recorded_version: recorded_header.gelenk.clone(),
        version: crate::VERSION.to_owned(),
        recorded: certificate,
        again,
    })
}

/// Records the re-run and stops it where the recorded run was stopped.
struct Replay<S: Sink> {
    recorder: Recorder<S>,
    stop_at: Option<f64>,
    stop_at_end: Option<Rc<Cell<bool>>>,
}

impl<S: Sink> Observer for Replay<S> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.recorder.sample(sample)?;
        self.stop(sample.state.t)
    }

    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.recorder.at(sample)
    }

    fn event(&mut self, event: &Event) {
        self.recorder.event(event);
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.recorder.step(t)?;
        self.stop(t)
    }
}

impl<S: Sink> Replay<S> {
    /// Whether to stop after the step to `t`.
    fn stop(&self, t: f64) -> ControlFlow<()> {
        let reached = self.stop_at.is_some_and(|end| t >= end);
        let ended = self.stop_at_end.as_ref().is_some_and(|ended| ended.get());
        if reached || ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Compares what is written to it with a recording; keeps the block with the first difference.
struct Comparison<'a> {
    recorded: Box<dyn Read + 'a>,
    /// Bytes compared so far.
    offset: u64,
    /// Where the kept block begins.
    block_offset: u64,
    /// The block as the re-run writes it.
    again: Vec<u8>,
    /// The same bytes of the recording, if it has them.
    before: Vec<u8>,
    /// The first different byte.
    difference: Option<u64>,
    /// The block with the difference is whole; nothing more is kept.
    sealed: bool,
    /// Set when there is nothing more to compare.
    ended: Rc<Cell<bool>>,
}

impl<'a> Comparison<'a> {
    fn new(recorded: Box<dyn Read + 'a>, ended: Rc<Cell<bool>>) -> Self {
        Comparison {
            recorded,
            offset: 0,
            block_offset: 0,
            again: Vec::new(),
            before: Vec::new(),
            difference: None,
            sealed: false,
            ended,
        }
    }

    /// Looks for bytes that the recording has after the re-run's end.
    fn end(&mut self) -> Result<(), RecordingError> {
        let mut more = Vec::new();
        let rest = (&mut self.recorded).take(1).read_to_end(&mut more);
        if rest.map_err(RecordingError::Read)? > 0 && self.difference.is_none() {
            self.difference = Some(self.offset);
        }
        Ok(())
    }
}

impl Write for Comparison<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.sealed {
            let start = self.before.len();
            (&mut self.recorded).take(bytes.len() as u64).read_to_end(&mut self.before)?;
            let before = self.before.get(start..).unwrap_or_default();
            if before.len() < bytes.len() {
                self.ended.set(true);
            }
            if self.difference.is_none() {
                let same = before.iter().zip(bytes).take_while(|(a, b)| a == b).count();
                if same < bytes.len() {
                    self.difference = Some(self.offset + same as u64);
                }
            }
            self.again.extend_from_slice(bytes);
        }
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.difference.is_some() {
            self.sealed = true;
            self.ended.set(true);
        } else {
            self.again.clear();
            self.before.clear();
            self.block_offset = self.offset;
        }
        Ok(())
    }
}

impl Sink for Comparison<'_> {}

impl Comparison<'_> {
    /// What is at the first difference.
    fn describe(&self, header: &Header) -> String {
        let Some(offset) = self.difference else { return "nothing".to_owned() };
        let end = self.block_offset + self.again.len() as u64;
        if offset >= end {
            return "the recording goes on after the end of the re-run".to_owned();
        }
        if offset >= self.block_offset + self.before.len() as u64 {
            return "the recording ends here, the re-run goes on".to_owned();
        }
        let inside = usize::try_from(offset - self.block_offset).unwrap_or(usize::MAX);
        let mut start = if self.block_offset == 0 { MAGIC.len() } else { 0 };
        if inside < start {
            return "the signature of the file".to_owned();
        }
        while let Some((op, body)) = self.again.get(start..).and_then(|rest| Bytes(rest).record()) {
            let next = start + RECORD_HEAD + body.len();
            if inside < next {
                return match op {
                    OP_CHUNK => {
                        let before = self.before.get(start + RECORD_HEAD..).unwrap_or_default();
                        describe_block(body, before, header)
                    }
                    OP_MESSAGE_INDEX => "the index of a block".to_owned(),
                    _ => "the container's own records".to_owned(),
                };
            }
            start = next;
        }
        "the container's own records".to_owned()
    }
}

/// Bytes in a chunk before its records, without compression.
const CHUNK_HEAD: usize = 8 + 8 + 8 + 4 + 4 + 8;

/// The first difference inside a block. Its head comes first in the file, but holds sums over what follows.
fn describe_block(again: &[u8], before: &[u8], header: &Header) -> String {
    let (Some(records), Some(old)) = (again.get(CHUNK_HEAD..), before.get(CHUNK_HEAD..)) else {
        return "the head of a block".to_owned();
    };
    let inside = records.iter().zip(old).take_while(|(a, b)| a == b).count();
    let mut bytes = Bytes(records);
    let mut start = 0;
    while let Some((op, body)) = bytes.record() {
        let next = records.len() - bytes.0.len();
        if inside < next && op == OP_MESSAGE {
            let data = next - MessageRecord::parse(body).map_or(0, |message| message.data.len());
            let old_record = old.get(start..).and_then(|rest| Bytes(rest).record());
            let old_data = old_record.and_then(|(_, body)| MessageRecord::parse(body));
            let message = MessageRecord::parse(body);
            return message.map_or_else(
                || "a message".to_owned(),
                |message| {
                    let old = old_data.map_or(&[][..], |message| message.data);
                    describe_message(&message, old, inside.checked_sub(data), header)
                },
            );
        }
        if inside < next {
            return "the description of the topics".to_owned();
        }
        start = next;
    }
    "the head of a block".to_owned()
}

/// What is at byte `inside` of a message's data (`None`: before its data), given what was recorded in its place.
fn describe_message(
    message: &MessageRecord<'_>,
    old: &[u8],
    inside: Option<usize>,
    header: &Header,
) -> String {
    if let Some(sample) = decode(message.data, header.lengths()) {
        let field = inside.and_then(|inside| describe_field(message.data, inside, header));
        let field = field.map_or(String::new(), |field| format!(", {field}"));
        return format!("state at t = {} s{field}", sample.state.t);
    }
    let (Ok(new), old) = (serde_json::from_slice::<Json>(message.data), old) else {
        return "a message".to_owned();
    };
    let what = if new.get("state_hash").is_some() {
        "certificate"
    } else if new.get("sources").is_some() {
        "header"
    } else {
        let time = new.get("time").cloned().unwrap_or_default();
        return format!("event at t = {time} s");
    };
    let old = serde_json::from_slice::<Json>(old).unwrap_or_default();
    let differs = |(key, value): &(&String, &Json)| old.get(key.as_str()) != Some(*value);
    match new.as_object().and_then(|object| object.iter().find(differs)) {
        Some((key, _)) => format!("{what}, `{key}`"),
        None => what.to_owned(),
    }
}

/// What is at byte `inside` of a `gelenk.State` message.
fn describe_field(data: &[u8], inside: usize, header: &Header) -> Option<String> {
    let mut fields = Decoder::new(data);
    loop {
        let (field, value) = fields.next()??;
        let end = data.len() - fields.remaining();
        if inside >= end {
            continue;
        }
        let name = FIELD_NAMES.get(usize::try_from(field).ok()?.checked_sub(1)?)?;
        let Value::Bytes(list) = value else { return Some((*name).to_owned()) };
        let index = (inside + list.len()).checked_sub(end)? / 8;
        let body = |width: usize| header.bodies.get(index / width).map(|body| &body.name);
        let joint = |i: usize| header.joints.get(i).map(|joint| &joint.name);
        let axis = ["x", "y", "z"].get(index % 3)?;
        return Some(match field {
            3 | 4 | 6 => format!("{name}.{axis} of `{}`", body(3)?),
            5 => format!("{name}.{} of `{}`", ["w", "x", "y", "z"].get(index % 4)?, body(4)?),
            9 | 10 => format!("{name}.{axis} of joint `{}`", joint(index / 3)?),
            11 => format!("worst gap of `{}`", header.rows.get(index)?.name),
            12 => (*name).to_owned(),
            _ => format!("{name} {index}"),
        });
    }
}
