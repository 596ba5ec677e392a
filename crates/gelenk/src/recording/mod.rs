//! Recordings: an open, crash-safe file of a run, with a certificate that a re-run can check bit by bit.
//!
//! A recording is an MCAP file (<https://mcap.dev/spec>) without compression and with every checksum, which Foxglove
//! and Rerun open. `docs/recording.md` describes it for readers in other languages. Its topics:
//!
//! | topic | encoding | content |
//! | --- | --- | --- |
//! | `/header` | JSON | one [`Header`]: sources, settings, names |
//! | `/state` | protobuf `gelenk.State` | the samples: [`RecordedSample`] |
//! | `/at` | protobuf `gelenk.State` | the exact states at the times of [`RunSettings::at`](gelenk_model::RunSettings::at) |
//! | `/event` | JSON | events: [`EventEntry`](crate::certificate::EventEntry) |
//! | `/certificate` | JSON | one [`Certificate`](crate::Certificate), last |
//!
//! **Same bits.** Nothing in it depends on clock, host or chance: the log time is simulated time in nanoseconds, and a
//! block ends when it holds [`BLOCK_BYTES`]. So a re-run gives the same file, and [`verify`] compares the two.
//!
//! **Crash-safe.** The file is only appended to, one whole block (an MCAP chunk with its checksum) at a time. A new one is
//! written under its final name, since what is on disk can be read at any moment: after `kill -9` all full blocks are
//! there and the reader says "truncated".
//!
//! **Nothing is lost.** Where a recording is already there, the new one is written beside it (`run-unfinished.mcap`) and
//! takes its place once the run has reached its end. If it does not, the old recording stays and the new one becomes
//! `run-failed.mcap` or `run-stopped.mcap`. Files that are not recordings of Gelenk are never replaced: [`crate::files`].

pub(crate) mod base64;
mod container;
mod embedded;
mod header;
pub(crate) mod number;
mod reader;
mod recorder;
mod state;
mod verify;
mod wire;

use std::path::PathBuf;

use crate::files::Refusal;

pub(crate) use container::head as container_head;

pub use base64::encode as base64_text;
pub use header::{
    BodyEntry, CoordinateEntry, Header, JointEntry, MeshFile, Optimum, Override, RowEntry,
    SourceFile,
};
pub use reader::{Integrity, Recording, Samples};
pub use recorder::{FileSink, Kept, Recorder, Sink};
pub use state::RecordedSample;
pub use verify::{Difference, Load, Run, VerifyError, VerifyReport, verify, verify_bytes};

/// The version of the format that this version writes, and the newest it reads.
pub const FORMAT: u32 = 1;

/// A block is closed and given to the operating system once its messages have this many bytes.
pub const BLOCK_BYTES: usize = 64 * 1024;

pub(crate) const TOPIC_HEADER: &str = "/header";
pub(crate) const TOPIC_STATE: &str = "/state";
pub(crate) const TOPIC_AT: &str = "/at";
pub(crate) const TOPIC_EVENT: &str = "/event";
pub(crate) const TOPIC_CERTIFICATE: &str = "/certificate";

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be opened or created.
    #[error("cannot {action} `{}`: {source}", path.display())]
    File {
        /// What was tried: "open", "create".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Writing failed: disk full, pipe closed. What was written before can be read.
    #[error("the recording cannot be written on: {0}")]
    Write(#[source] std::io::Error),
    /// Reading failed.
    #[error("the recording cannot be read on: {0}")]
    Read(#[source] std::io::Error),
    /// Not a recording of Gelenk at all, or cut before its header.
    #[error("not a Gelenk recording: {what}")]
    NotARecording {
        /// What is missing.
        what: String,
    },
    /// Made by a later version.
    #[error(
        "the recording has format {found}, this version reads up to {known}; use a newer gelenk"
    )]
    Newer {
        /// Its format.
        found: u32,
        /// The newest known here.
        known: u32,
    },
    /// Bytes were changed.
    #[error("the recording is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where, bytes from the start of the file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Nothing is written there: the place is not ours.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The settings cannot be written down.
    #[error("the run cannot be recorded: {what}")]
    Settings {
        /// What is wrong with them.
        what: String,
    },
}

impl RecordingError {
    /// Whether the operating system said no (exit code 4), rather than the content being wrong.
    pub fn is_io(&self) -> bool {
        use RecordingError::{File, Read, Refused, Write};
        match self {
            File { .. } | Write(_) | Read(_) => true,
            Refused(refusal) => refusal.is_io(),
            _ => false,
        }
    }
}
