//! Reading MCAP records (<https://mcap.dev/spec>), with every length checked before it is believed.

use std::io::{self, Read};

/// First and last bytes of an MCAP file.
pub(crate) const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', 0x30, b'\r', b'\n'];

pub(crate) const OP_HEADER: u8 = 0x01;
pub(crate) const OP_FOOTER: u8 = 0x02;
pub(crate) const OP_SCHEMA: u8 = 0x03;
pub(crate) const OP_CHANNEL: u8 = 0x04;
pub(crate) const OP_MESSAGE: u8 = 0x05;
pub(crate) const OP_CHUNK: u8 = 0x06;
pub(crate) const OP_MESSAGE_INDEX: u8 = 0x07;
pub(crate) const OP_DATA_END: u8 = 0x0f;

/// Opcode and length in front of each record.
pub(crate) const RECORD_HEAD: usize = 9;

/// The longest record that is read into memory.
pub(crate) const MAX_RECORD: u64 = 1 << 30;

/// What is wrong with a record.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The file ends inside it.
    CutOff,
    /// Its bytes were changed.
    Damaged(String),
    /// The system cannot read.
    Io(io::Error),
}

/// Profile and library of the container that a file begins with; none where it is no MCAP file.
pub(crate) fn head(bytes: &[u8]) -> Option<(&str, &str)> {
    let (op, body) = Bytes(bytes.strip_prefix(&MAGIC)?).record()?;
    let mut body = Bytes(body);
    let mut text = || {
        let length = usize::try_from(body.u32()?).ok()?;
        std::str::from_utf8(body.take(length)?).ok()
    };
    (op == OP_HEADER).then_some((text()?, text()?))
}

/// Takes fixed-size numbers off the front of a slice; `None` where it is too short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn string(&mut self) -> Option<&'a str> {
        let n = usize::try_from(self.u32()?).ok()?;
        std::str::from_utf8(self.take(n)?).ok()
    }

    /// The next record inside a chunk: opcode and content.
    pub(crate) fn record(&mut self) -> Option<(u8, &'a [u8])> {
        let op = self.u8()?;
        let n = usize::try_from(self.u64()?).ok()?;
        Some((op, self.take(n)?))
    }
}

/// A channel record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChannelRecord<'a> {
    pub(crate) id: u16,
    pub(crate) topic: &'a str,
}

impl<'a> ChannelRecord<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        let id = bytes.u16()?;
        bytes.u16()?; // schema
        Some(ChannelRecord { id, topic: bytes.string()? })
    }
}

/// A message record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageRecord<'a> {
    pub(crate) channel: u16,
    pub(crate) sequence: u32,
    pub(crate) data: &'a [u8],
}

impl<'a> MessageRecord<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut bytes = Bytes(body);
        let (channel, sequence) = (bytes.u16()?, bytes.u32()?);
        bytes.take(16)?; // log time, publish time
        Some(MessageRecord { channel, sequence, data: bytes.0 })
    }
}

/// The records inside a chunk, once its checksum is right.
pub(crate) fn chunk_records(body: &[u8]) -> Result<&[u8], String> {
    let parse = || {
        let mut bytes = Bytes(body);
        bytes.take(16)?; // first and last log time
        let (size, crc) = (bytes.u64()?, bytes.u32()?);
        let compression = bytes.string()?;
        let stored = bytes.u64()?;
        Some((size, crc, compression, stored, bytes.0))
    };
    let Some((size, crc, compression, stored, records)) = parse() else {
        return Err("its block's head is not one".to_owned());
    };
    if !compression.is_empty() {
        return Err(format!(
            "its block is compressed with `{compression}`; Gelenk's recordings are not compressed"
        ));
    }
    if size != stored || stored != records.len() as u64 {
        return Err("its block's lengths do not agree".to_owned());
    }
    if crc32fast::hash(records) != crc {
        return Err("its block's checksum is wrong".to_owned());
    }
    Ok(records)
}

/// Reads records from a file, one after the other.
#[derive(Debug)]
pub(crate) struct RecordReader<R> {
    source: R,
    /// Bytes read so far.
    pub(crate) offset: u64,
    /// Bytes of the file.
    length: u64,
    /// Checksum of all bytes since [`RecordReader::restart_checksum`].
    crc: crc32fast::Hasher,
    /// The same without the last record.
    crc_before: crc32fast::Hasher,
    /// The content of the last record.
    pub(crate) body: Vec<u8>,
}

impl<R: Read> RecordReader<R> {
    pub(crate) fn new(source: R, length: u64) -> Self {
        let crc = crc32fast::Hasher::new();
        RecordReader { source, offset: 0, length, crc_before: crc.clone(), crc, body: Vec::new() }
    }

    /// Checksum of all bytes since the last restart, without the last record.
    pub(crate) fn checksum_before(&self) -> u32 {
        self.crc_before.clone().finalize()
    }

    /// The footer's checksum: all bytes since the last restart and the footer up to the checksum itself.
    pub(crate) fn footer_checksum(&self) -> Option<u32> {
        let mut crc = self.crc_before.clone();
        crc.update(&[OP_FOOTER]);
        crc.update(&(self.body.len() as u64).to_le_bytes());
        crc.update(self.body.get(..16)?);
        Some(crc.finalize())
    }

    /// Starts the checksum anew, from here.
    pub(crate) fn restart_checksum(&mut self) {
        self.crc = crc32fast::Hasher::new();
    }

    /// Whether all bytes have been read.
    pub(crate) fn at_end(&self) -> bool {
        self.offset >= self.length
    }

    /// Reads exactly `n` bytes, checked against the file's length before memory is asked for.
    fn fill(&mut self, n: u64) -> Result<(), Fault> {
        if n > self.length.saturating_sub(self.offset) {
            return Err(Fault::CutOff);
        }
        let n = usize::try_from(n).map_err(|_| Fault::CutOff)?;
        self.body.clear();
        self.body.resize(n, 0);
        self.source.read_exact(&mut self.body).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::CutOff,
            _ => Fault::Io(error),
        })?;
        self.offset += n as u64;
        self.crc.update(&self.body);
        Ok(())
    }

    /// Reads the eight bytes at the start and the end of a file.
    pub(crate) fn magic(&mut self) -> Result<(), Fault> {
        self.fill(MAGIC.len() as u64)?;
        if self.body == MAGIC {
            Ok(())
        } else {
            Err(Fault::Damaged("the MCAP signature is missing".to_owned()))
        }
    }

    /// Reads the next record; its content is then in `body`.
    pub(crate) fn record(&mut self) -> Result<u8, Fault> {
        self.crc_before = self.crc.clone();
        self.fill(RECORD_HEAD as u64)?;
        let mut head = Bytes(&self.body);
        let (Some(op), Some(n)) = (head.u8(), head.u64()) else { return Err(Fault::CutOff) };
        if n > MAX_RECORD {
            return Err(Fault::Damaged(format!(
                "a record of {n} bytes, more than the {MAX_RECORD} that are read"
            )));
        }
        self.fill(n)?;
        Ok(op)
    }
}
