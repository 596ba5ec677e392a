//! Reading a recording back, whole or cut off.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use gelenk_model::Event;

use super::container::{
    Bytes, ChannelRecord, Fault, MessageRecord, OP_CHANNEL, OP_CHUNK, OP_DATA_END, OP_FOOTER,
    OP_HEADER, OP_MESSAGE, OP_MESSAGE_INDEX, OP_SCHEMA, RecordReader, chunk_records,
};
use super::state::{Lengths, RecordedSample, decode};
use super::{
    Header, RecordingError, TOPIC_AT, TOPIC_CERTIFICATE, TOPIC_EVENT, TOPIC_HEADER, TOPIC_STATE,
};
use crate::certificate::{Certificate, EventEntry};

/// Whether a recording is as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Whole, and every checksum is right.
    Complete,
    /// Cut off: everything before is good.
    Truncated {
        /// Up to where it could be read, bytes.
        at: u64,
    },
    /// Bytes were changed: everything before is good, everything after is left out.
    Damaged {
        /// Where the record at fault begins, bytes.
        at: u64,
        /// What is wrong.
        what: String,
    },
}

impl std::fmt::Display for Integrity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Integrity::Complete => write!(f, "complete"),
            Integrity::Truncated { at } => write!(f, "truncated at byte {at}"),
            Integrity::Damaged { at, what } => write!(f, "damaged at byte {at}: {what}"),
        }
    }
}

/// Anything a recording can be read from.
trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

/// What a topic is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topic {
    Header,
    State,
    At,
    Event,
    Certificate,
    Other,
}

/// A block of the file that holds samples.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Where its content begins.
    offset: u64,
    /// Bytes of its content.
    length: usize,
    /// Messages on `/state` and `/at` in it.
    samples: [u64; 2],
}

/// A recording, open for reading.
///
/// Opening reads the file once, block by block, and checks every checksum; the samples are then read block by block
/// as they are asked for, so that a recording may be larger than memory.
pub struct Recording {
    source: Box<dyn Source>,
    header: Header,
    events: Vec<Event>,
    certificate: Option<Certificate>,
    integrity: Integrity,
    channels: BTreeMap<u16, Topic>,
    blocks: Vec<Block>,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("model", &self.header.model)
            .field("integrity", &self.integrity)
            .field("samples", &self.n_samples())
            .finish_non_exhaustive()
    }
}

/// Opens the file of a recording; anything but a regular file is none.
pub(super) fn open_file(path: &Path) -> Result<File, RecordingError> {
    crate::files::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidInput => RecordingError::NotARecording { what: source.to_string() },
        _ => RecordingError::File { action: "open", path: path.to_owned(), source },
    })
}

impl Recording {
    /// Opens a recording. One that is cut off or damaged opens too, up to there: see [`Recording::integrity`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let file = open_file(path)?;
        let fault = |source| RecordingError::File { action: "open", path: path.to_owned(), source };
        let length = file.metadata().map_err(fault)?.len();
        Recording::scan(Box::new(BufReader::new(file)), length)
    }

    /// Reads a recording from memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, RecordingError> {
        let length = bytes.len() as u64;
        Recording::scan(Box::new(Cursor::new(bytes)), length)
    }

    fn scan(mut source: Box<dyn Source>, length: u64) -> Result<Self, RecordingError> {
        let mut scan = Scan::default();
        let mut records = RecordReader::new(&mut source, length);
        let mut at = 0;
        let integrity = match scan.file(&mut records, &mut at) {
            Ok(()) => Integrity::Complete,
            Err(Fault::CutOff) => Integrity::Truncated { at },
            Err(Fault::Damaged(what)) => Integrity::Damaged { at, what },
            Err(Fault::Io(error)) => return Err(RecordingError::Read(error)),
        };
        let Scan { header, events, certificate, channels, blocks, .. } = scan;
        let header = match (header, &integrity) {
            (Some(header), _) => header?,
            (None, Integrity::Damaged { at: 0, what }) => {
                return Err(RecordingError::NotARecording { what: what.clone() });
            }
            (None, Integrity::Damaged { at, what }) => {
                return Err(RecordingError::Damaged { offset: *at, what: what.clone() });
            }
            (None, _) => {
                let what = if length == 0 { "it is empty" } else { "it ends before its header" };
                return Err(RecordingError::NotARecording { what: what.to_owned() });
            }
        };
        Ok(Recording { source, header, events, certificate, integrity, channels, blocks })
    }

    /// Where the numbers come from and what they mean.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What happened, in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How the run ended; `None` if the recording is cut off before.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// Whether the recording is whole.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }

    /// Whether the file ends before its end.
    pub fn truncated(&self) -> bool {
        matches!(self.integrity, Integrity::Truncated { .. })
    }

    /// Number of samples.
    pub fn n_samples(&self) -> u64 {
        self.blocks.iter().map(|block| block.samples[0]).sum()
    }

    /// The samples, in order.
    pub fn samples(&mut self) -> Samples<'_> {
        self.messages(Topic::State)
    }

    /// The exact states at the times of [`RunSettings::at`](gelenk_model::RunSettings::at), in order.
    pub fn at_samples(&mut self) -> Samples<'_> {
        self.messages(Topic::At)
    }

    fn messages(&mut self, topic: Topic) -> Samples<'_> {
        let lengths = self.header.lengths();
        Samples { recording: self, topic, lengths, next_block: 0, records: Vec::new(), position: 0 }
    }

    /// Reads the records of a block into `records`.
    fn read_block(&mut self, block: Block, records: &mut Vec<u8>) -> Result<(), RecordingError> {
        let mut body = vec![0; block.length];
        self.source.seek(SeekFrom::Start(block.offset)).map_err(RecordingError::Read)?;
        self.source.read_exact(&mut body).map_err(RecordingError::Read)?;
        // The file may have changed since it was opened.
        let content = chunk_records(&body)
            .map_err(|what| RecordingError::Damaged { offset: block.offset, what })?;
        records.clear();
        records.extend_from_slice(content);
        Ok(())
    }
}

/// Iterator over the samples of a recording.
#[derive(Debug)]
pub struct Samples<'a> {
    recording: &'a mut Recording,
    topic: Topic,
    lengths: Lengths,
    next_block: usize,
    records: Vec<u8>,
    position: usize,
}

impl Samples<'_> {
    /// The next sample of the open block.
    fn in_block(&mut self) -> Option<Result<RecordedSample, RecordingError>> {
        loop {
            let rest = self.records.get(self.position..)?;
            let mut bytes = Bytes(rest);
            let (op, body) = bytes.record()?;
            self.position += rest.len() - bytes.0.len();
            if op != OP_MESSAGE {
                continue;
            }
            let message = MessageRecord::parse(body)?;
            if self.recording.channels.get(&message.channel) == Some(&self.topic) {
                return Some(decode(message.data, self.lengths).ok_or_else(|| {
                    let block = self.recording.blocks.get(self.next_block.saturating_sub(1));
                    RecordingError::Damaged {
                        offset: block.map_or(0, |block| block.offset),
                        what: "a sample does not fit the header".to_owned(),
                    }
                }));
            }
        }
    }
}

impl Iterator for Samples<'_> {
    type Item = Result<RecordedSample, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(sample) = self.in_block() {
                return Some(sample);
            }
            let block = *self.recording.blocks.get(self.next_block)?;
            self.next_block += 1;
            let which = usize::from(self.topic == Topic::At);
            if block.samples[which] > 0 {
                let mut records = std::mem::take(&mut self.records);
                let read = self.recording.read_block(block, &mut records);
                (self.records, self.position) = (records, 0);
                if let Err(error) = read {
                    self.records.clear();
                    self.next_block = usize::MAX;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// What a first reading finds.
#[derive(Default)]
struct Scan {
    header: Option<Result<Header, RecordingError>>,
    events: Vec<Event>,
    certificate: Option<Certificate>,
    channels: BTreeMap<u16, Topic>,
    /// Number of the next message of each channel.
    sequence: BTreeMap<u16, u32>,
    blocks: Vec<Block>,
}

impl Scan {
    /// Reads a whole file. `at` is where the record being read begins.
    fn file<R: Read>(&mut self, records: &mut RecordReader<R>, at: &mut u64) -> Result<(), Fault> {
        let damaged = |what: &str| Fault::Damaged(what.to_owned());
        records.magic()?;
        *at = records.offset;
        if records.record()? != OP_HEADER {
            return Err(damaged("the container's header is missing"));
        }
        loop {
            *at = records.offset;
            match records.record()? {
                OP_CHUNK => self.block(&records.body, records.offset)?,
                OP_MESSAGE_INDEX => {}
                OP_DATA_END => {
                    if Bytes(&records.body).u32() != Some(records.checksum_before()) {
                        return Err(damaged("the checksum of all blocks is wrong"));
                    }
                    break;
                }
                op => return Err(Fault::Damaged(format!("a record of unexpected kind {op:#04x}"))),
            }
        }
        records.restart_checksum();
        loop {
            *at = records.offset;
            if records.record()? == OP_FOOTER {
                let stored = records.body.get(16..).and_then(|bytes| Bytes(bytes).u32());
                if records.body.len() != 20 || stored != records.footer_checksum() {
                    return Err(damaged("the checksum of the index is wrong"));
                }
                break;
            }
        }
        *at = records.offset;
        records.magic()?;
        *at = records.offset;
        if records.at_end() { Ok(()) } else { Err(damaged("there are bytes after the end")) }
    }

    /// Takes in a block that ends at `end`.
    fn block(&mut self, body: &[u8], end: u64) -> Result<(), Fault> {
        let damaged = |what: &str| Fault::Damaged(what.to_owned());
        let mut records = Bytes(chunk_records(body).map_err(Fault::Damaged)?);
        let mut samples = [0; 2];
        while !records.0.is_empty() {
            let (op, body) = records.record().ok_or_else(|| damaged("a record ends too late"))?;
            match op {
                OP_SCHEMA => {}
                OP_CHANNEL => {
                    let channel = ChannelRecord::parse(body);
                    let channel = channel.ok_or_else(|| damaged("a channel cannot be read"))?;
                    self.channel(&channel)?;
                }
                OP_MESSAGE => {
                    let message = MessageRecord::parse(body);
                    let message = message.ok_or_else(|| damaged("a message cannot be read"))?;
                    match self.message(&message)? {
                        Topic::State => samples[0] += 1,
                        Topic::At => samples[1] += 1,
                        _ => {}
                    }
                }
                op => return Err(Fault::Damaged(format!("a record of unexpected kind {op:#04x}"))),
            }
        }
        if samples != [0, 0] {
            let length = body.len();
            self.blocks.push(Block { offset: end - length as u64, length, samples });
        }
        Ok(())
    }

    fn channel(&mut self, channel: &ChannelRecord<'_>) -> Result<(), Fault> {
        let topic = match channel.topic {
            TOPIC_HEADER => Topic::Header,
            TOPIC_STATE => Topic::State,
            TOPIC_AT => Topic::At,
            TOPIC_EVENT => Topic::Event,
            TOPIC_CERTIFICATE => Topic::Certificate,
            _ => Topic::Other,
        };
        if *self.channels.entry(channel.id).or_insert(topic) == topic {
            Ok(())
        } else {
            Err(Fault::Damaged(format!("channel {} has two topics", channel.id)))
        }
    }

    fn message(&mut self, message: &MessageRecord<'_>) -> Result<Topic, Fault> {
        let Some(&topic) = self.channels.get(&message.channel) else {
            return Err(Fault::Damaged(format!(
                "a message on unknown channel {}",
                message.channel
            )));
        };
        let expected = self.sequence.entry(message.channel).or_insert(0);
        if message.sequence != *expected {
            // Else a whole block could vanish unnoticed from a recording that is cut off later.
            return Err(Fault::Damaged("messages are missing".to_owned()));
        }
        *expected = expected.wrapping_add(1);
        let json = |error: serde_json::Error, what: &str| {
            Fault::Damaged(format!("the {what} cannot be read: {error}"))
        };
        match topic {
            Topic::Header => self.header = Some(Header::from_json(message.data)),
            Topic::Event => {
                let event = serde_json::from_slice::<EventEntry>(message.data);
                self.events.push(event.map_err(|error| json(error, "event"))?.into());
            }
            Topic::Certificate => {
                let certificate = serde_json::from_slice(message.data);
                self.certificate = Some(certificate.map_err(|error| json(error, "certificate"))?);
            }
            Topic::State | Topic::At | Topic::Other => {}
        }
        if self.header.is_none() {
            return Err(Fault::Damaged("the header is not first".to_owned()));
        }
        Ok(topic)
    }
}
