//! Writing a recording while a run goes on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gelenk_model::{Event, Observer, RunFailure, RunReport, Sample};
use mcap::records::MessageHeader;
use mcap::write::{NoSeek, WriteOptions, Writer};

use super::state::{MESSAGE_NAME, encode, file_descriptor_set};
use super::{
    BLOCK_BYTES, Header, RecordingError, TOPIC_AT, TOPIC_CERTIFICATE, TOPIC_EVENT, TOPIC_HEADER,
    TOPIC_STATE,
};
use crate::certificate::{Certificate, End, EventEntry};
use crate::files::{self, Kind, WriteError};
use crate::verdict::Verdict;

/// Where a recording goes.
pub trait Sink: Write {
    /// Called once at the end: makes sure that the bytes stay.
    fn sync(&mut self) -> io::Result<()> {
        self.flush()
    }

    /// Called once at the end instead, with the word for a run that did not reach it: `stopped`, `failed`.
    fn end(&mut self, _unfinished: Option<&'static str>) -> io::Result<()> {
        self.sync()
    }
}

impl Sink for Vec<u8> {}
impl<S: Sink + ?Sized> Sink for &mut S {
    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }

    fn end(&mut self, unfinished: Option<&'static str>) -> io::Result<()> {
        (**self).end(unfinished)
    }
}

/// A recording on disk: appended to, given to the operating system block by block, synced at the end.
///
/// A new one has its final name from the start. Where a file is already there, it is written beside it and takes its
/// place once the run has reached its end; else it stays beside it, as `NAME-stopped` or `NAME-failed`.
#[derive(Debug)]
pub struct FileSink {
    file: BufWriter<File>,
    /// Where it was asked for.
    path: PathBuf,
    overwrite: bool,
    /// Its name until then, if that is another.
    beside: Option<PathBuf>,
    kept: Kept,
}

/// Where a recording is found after its end.
#[derive(Clone, Debug)]
pub struct Kept(Arc<Mutex<PathBuf>>);

impl Kept {
    /// The path of the recording as it is now.
    pub fn path(&self) -> PathBuf {
        self.0.lock().map_or_else(|error| error.into_inner().clone(), |path| path.clone())
    }

    fn set(&self, to: PathBuf) {
        if let Ok(mut path) = self.0.lock() {
            *path = to;
        }
    }
}

impl FileSink {
    fn create(path: &Path, overwrite: bool) -> Result<Self, RecordingError> {
        let fault =
            |source| RecordingError::File { action: "create", path: path.to_owned(), source };
        files::check(path, Kind::Recording, overwrite)?;
        let (name, file, beside) = match files::new_file([path.to_owned()]) {
            Ok((name, file)) => (name, file, None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let names = files::names_beside(path, "unfinished");
                let (name, file) = files::new_file(names).map_err(fault)?;
                (name.clone(), file, Some(name))
            }
            Err(error) => return Err(fault(error)),
        };
        let kept = Kept(Arc::new(Mutex::new(name)));
        let file = BufWriter::new(file);
        Ok(FileSink { file, path: path.to_owned(), overwrite, beside, kept })
    }

    /// Gives a recording that did not come to its end a name beside the one that is there.
    fn set_aside(&mut self, word: &str) -> io::Result<()> {
        let Some(beside) = self.beside.take() else { return Ok(()) };
        let name = files::beside(&self.path, word, Kind::Recording);
        match files::publish::<io::Error>(&beside, &name, Kind::Recording, false) {
            Ok(()) => {
                self.kept.set(name);
                Ok(())
            }
            Err(WriteError::Failed(error)) => Err(error),
            Err(WriteError::Refused(refusal)) => Err(io::Error::other(refusal)),
        }
    }
}

impl Write for FileSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Sink for FileSink {
    fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }

    fn end(&mut self, unfinished: Option<&'static str>) -> io::Result<()> {
        self.sync()?;
        if let Some(word) = unfinished {
            return self.set_aside(word);
        }
        let Some(beside) = &self.beside else { return Ok(()) };
        match files::publish::<io::Error>(beside, &self.path, Kind::Recording, self.overwrite) {
            Ok(()) => {
                self.beside = None;
                self.kept.set(self.path.clone());
                Ok(())
            }
            // It stays where it is, which `Drop` sees to.
            Err(WriteError::Failed(error)) => Err(error),
            Err(WriteError::Refused(refusal)) => Err(io::Error::other(refusal)),
        }
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        let Some(beside) = self.beside.clone() else { return };
        let _ = self.file.flush();
        if std::fs::metadata(&beside).is_ok_and(|about| about.len() == 0) {
            let _ = std::fs::remove_file(&beside);
            return;
        }
        let _ = self.set_aside("failed");
    }
}

/// The channels, by the order in which they are added.
#[derive(Clone, Copy, Debug)]
struct Channel {
    id: u16,
    sequence: u32,
}

/// Records a run: give it to an engine as observer, then call [`Recorder::finish`].
///
/// If writing fails the run is stopped ([`ControlFlow::Break`]) and [`Recorder::finish`] says why. A recorder that is
/// dropped without `finish` leaves a recording without certificate, which reads as truncated.
#[derive(Debug)]
pub struct Recorder<S: Sink> {
    /// `None` once the stream has been taken back.
    writer: Option<Mcap<S>>,
    header: Header,
    error: Option<RecordingError>,
    samples: u64,
    samples_hash: SamplesHash,
    /// Time of the last message, ns.
    last_time: u64,
    /// Where it is, if it is a file.
    kept: Option<Kept>,
}

/// The hash of all samples, fed in pieces large enough to be fast (a third of the time of sample by sample).
#[derive(Debug, Default)]
struct SamplesHash {
    hasher: blake3::Hasher,
    pending: Vec<u8>,
}

impl SamplesHash {
    fn update(&mut self, message: &[u8]) {
        self.pending.extend_from_slice(message);
        if self.pending.len() >= BLOCK_BYTES {
            self.hasher.update(&self.pending);
            self.pending.clear();
        }
    }

    fn finish(&mut self) -> String {
        self.hasher.update(&self.pending);
        self.pending.clear();
        self.hasher.finalize().to_hex().to_string()
    }
}

struct Mcap<S: Sink> {
    writer: Writer<NoSeek<S>>,
    state: Channel,
    at: Channel,
    event: Channel,
    certificate: Channel,
    /// Bytes of messages in the open block.
    open: usize,
}

impl<S: Sink> std::fmt::Debug for Mcap<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mcap").field("open", &self.open).finish_non_exhaustive()
    }
}

impl Recorder<FileSink> {
    /// Starts a recording in a file. A recording that is there is replaced at the end of a run that reaches its end; a file
    /// that is not a recording is refused: see [`crate::files`].
    pub fn create(path: impl AsRef<Path>, header: Header) -> Result<Self, RecordingError> {
        Recorder::create_with(path, header, false)
    }

    /// The same; `overwrite` permits other ordinary files to be replaced, too.
    pub fn create_with(
        path: impl AsRef<Path>,
        header: Header,
        overwrite: bool,
    ) -> Result<Self, RecordingError> {
        let sink = FileSink::create(path.as_ref(), overwrite)?;
        let kept = sink.kept.clone();
        let mut recorder = Recorder::new(sink, header)?;
        recorder.kept = Some(kept);
        Ok(recorder)
    }

    /// Where the recording is found, during the run and after [`Recorder::finish`].
    pub fn kept(&self) -> Option<Kept> {
        self.kept.clone()
    }
}

impl<S: Sink> Recorder<S> {
    /// Starts a recording: the header goes out at once, as a block of its own.
    pub fn new(sink: S, header: Header) -> Result<Self, RecordingError> {
        let json = header.to_json()?;
        let mut mcap = Mcap::new(sink, &header).map_err(write_error)?;
        let mut channel = mcap.channel(TOPIC_HEADER).map_err(write_error)?;
        mcap.write(&mut channel, 0, &json).and_then(|()| mcap.flush()).map_err(write_error)?;
        Ok(Recorder {
            writer: Some(mcap),
            header,
            error: None,
            samples: 0,
            samples_hash: SamplesHash::default(),
            last_time: 0,
            kept: None,
        })
    }

    /// The header as written.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Why writing failed, if it did; the run was stopped for it.
    pub fn error(&self) -> Option<&RecordingError> {
        self.error.as_ref()
    }

    /// Ends the recording with the certificate of how the run went, and makes sure that it stays on disk.
    pub fn finish(
        self,
        outcome: Result<&RunReport, &RunFailure>,
    ) -> Result<Certificate, RecordingError> {
        self.finish_with(outcome, Verdict::default())
    }

    /// [`Recorder::finish`] with the verdict on the run: one that has failed does not replace an earlier recording.
    pub fn finish_with(
        mut self,
        outcome: Result<&RunReport, &RunFailure>,
        verdict: Verdict,
    ) -> Result<Certificate, RecordingError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let hash = self.samples_hash.finish();
        let mut certificate = Certificate::new(&self.header, outcome, self.samples, hash);
        certificate.verdict = verdict;
        let json = serde_json::to_vec(&certificate)
            .map_err(|error| RecordingError::Settings { what: error.to_string() })?;
        let time = self.last_time.max(nanoseconds(certificate.time));
        let mcap = self.writer.take().ok_or_else(|| {
            RecordingError::Write(io::Error::other("the recording has ended already"))
        })?;
        let unfinished = match certificate.end {
            End::Finished => certificate.verdict.failure().map(|_| "failed"),
            End::Stopped { .. } => Some("stopped"),
            End::Failed { .. } => Some("failed"),
        };
        mcap.end(time, &json, unfinished).map_err(RecordingError::Write)?;
        Ok(certificate)
    }

    fn record(&mut self, time: f64, data: &[u8], channel: fn(&mut Mcap<S>) -> &mut Channel) {
        let time = nanoseconds(time);
        self.last_time = self.last_time.max(time);
        if let Some(mcap) = &mut self.writer {
            let mut own = *channel(mcap);
            if let Err(error) = mcap.write(&mut own, time, data) {
                self.error.get_or_insert(write_error(error));
            }
            *channel(mcap) = own;
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.error.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl<S: Sink> Observer for Recorder<S> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        if self.error.is_none() {
            let message = encode(sample);
            self.samples += 1;
            self.samples_hash.update(&message);
            self.record(sample.state.t, &message, |mcap| &mut mcap.state);
        }
        self.flow()
    }

    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        if self.error.is_none() {
            self.record(sample.state.t, &encode(sample), |mcap| &mut mcap.at);
        }
        self.flow()
    }

    fn event(&mut self, event: &Event) {
        if self.error.is_none() {
            match serde_json::to_vec(&EventEntry::from(event)) {
                Ok(json) => self.record(event.time, &json, |mcap| &mut mcap.event),
                Err(error) => {
                    self.error = Some(RecordingError::Settings { what: error.to_string() });
                }
            }
        }
    }

    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        self.flow()
    }
}

impl<S: Sink> Drop for Recorder<S> {
    fn drop(&mut self) {
        if let Some(mut mcap) = self.writer.take() {
            // Keep the samples of the open block. Taking the stream back keeps the container from being closed,
            // so that the file reads as what it is: cut off.
            if self.error.is_none() {
                let _ = mcap.flush();
            }
            let _ = mcap.writer.into_inner();
        }
    }
}

impl<S: Sink> Mcap<S> {
    fn new(sink: S, header: &Header) -> mcap::McapResult<Self> {
        let writer = WriteOptions::new()
            .profile("gelenk")
            .library(format!("gelenk {}", header.gelenk))
            .compression(None)
            // Blocks end where this module says, and go out whole.
            .chunk_size(None)
            .disable_seeking(true)
            .create(NoSeek::new(sink))?;
        let unset = Channel { id: 0, sequence: 0 };
        let mut mcap =
            Mcap { writer, state: unset, at: unset, event: unset, certificate: unset, open: 0 };
        mcap.channel(TOPIC_HEADER)?;
        mcap.state = mcap.channel(TOPIC_STATE)?;
        mcap.at = mcap.channel(TOPIC_AT)?;
        mcap.event = mcap.channel(TOPIC_EVENT)?;
        mcap.certificate = mcap.channel(TOPIC_CERTIFICATE)?;
        Ok(mcap)
    }

    /// Adds a channel, or finds the one of that topic.
    fn channel(&mut self, topic: &str) -> mcap::McapResult<Channel> {
        let (schema, encoding) = match topic {
            TOPIC_STATE | TOPIC_AT => (
                self.writer.add_schema(MESSAGE_NAME, "protobuf", &file_descriptor_set())?,
                "protobuf",
            ),
            _ => {
                let name = match topic {
                    TOPIC_HEADER => "gelenk.Header",
                    TOPIC_EVENT => "gelenk.Event",
                    _ => "gelenk.Certificate",
                };
                (self.writer.add_schema(name, "jsonschema", br#"{"type":"object"}"#)?, "json")
            }
        };
        let id = self.writer.add_channel(schema, topic, encoding, &BTreeMap::new())?;
        Ok(Channel { id, sequence: 0 })
    }

    fn write(&mut self, channel: &mut Channel, time: u64, data: &[u8]) -> mcap::McapResult<()> {
        let header = MessageHeader {
            channel_id: channel.id,
            sequence: channel.sequence,
            log_time: time,
            publish_time: time,
        };
        channel.sequence = channel.sequence.wrapping_add(1);
        self.writer.write_to_known_channel(&header, data)?;
        self.open += data.len();
        if self.open >= BLOCK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Closes the block and gives it to the operating system.
    fn flush(&mut self) -> mcap::McapResult<()> {
        self.open = 0;
        self.writer.flush()
    }

    /// Writes the certificate, closes the container and syncs.
    fn end(
        mut self,
        time: u64,
        certificate: &[u8],
        unfinished: Option<&'static str>,
    ) -> io::Result<()> {
        let mut channel = self.certificate;
        let written = self
            .flush()
            .and_then(|()| self.write(&mut channel, time, certificate))
            .and_then(|()| self.writer.finish().map(drop));
        let mut sink = self.writer.into_inner().into_inner();
        written.map_err(io_error)?;
        sink.end(unfinished)
    }
}

/// Simulated time in nanoseconds, rounded; 0 before the start.
fn nanoseconds(time: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates; negative times and NaN become 0"
    )]
    let rounded = (time * 1e9).round() as u64;
    rounded
}

fn io_error(error: mcap::McapError) -> io::Error {
    match error {
        mcap::McapError::Io(error) => error,
        other => io::Error::other(other),
    }
}

fn write_error(error: mcap::McapError) -> RecordingError {
    RecordingError::Write(io_error(error))
}
