//! The journal of a sweep: a line for each member that is done, so that a sweep goes on after any stop.
//!
//! A line is written whole before the member counts as done; a line that a stop has cut short is dropped, and its member run again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Plan, Row};

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    /// The hash of the plan.
    gelenk_sweep: String,
}

/// Rows that are done, on disk.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

/// Why there is no journal to go on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file at its place is no journal.
    #[error("`{}` is not the journal of a sweep", .0.display())]
    NotOurs(PathBuf),
    /// It is the journal of another sweep, or of another version of Gelenk.
    #[error("`{}` is the journal of another sweep: the sweep file, the model or the version of gelenk has changed", .0.display())]
    Other(PathBuf),
    /// Another process writes it.
    #[error("another process works on this sweep: it holds `{}`", .0.display())]
    Busy(PathBuf),
    /// Reading or writing failed.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl Journal {
    /// Opens the journal of a plan, and gives the rows that are done; `anew` begins again and drops them.
    pub fn open(path: &Path, plan: &Plan, anew: bool) -> Result<(Self, Vec<Row>), JournalError> {
        let io = |error: io::Error| JournalError::Io { path: path.to_owned(), error };
        let json = |error: serde_json::Error| io(error.into());
        if path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
            return Err(JournalError::NotOurs(path.to_owned()));
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(path.to_owned())),
            // Not every file system has locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io)?;
        let head = serde_json::to_string(&Head { gelenk_sweep: plan.hash().map_err(json)? });
        let head = head.map_err(json)? + "\n";
        let (mut rows, mut good) = (Vec::new(), 0);
        let begins = |with: &[u8]| text.starts_with(with) || with.starts_with(&text);
        if text.starts_with(head.as_bytes()) && !anew {
            good = head.len();
            for line in text[good..].split_inclusive(|byte| *byte == b'\n') {
                let whole = line.ends_with(b"\n");
                let row = serde_json::from_slice::<Row>(line).ok().filter(|_| whole);
                let Some(row) = row else { break };
                good += line.len();
                rows.push(row);
            }
        } else if !begins(b"{\"gelenk_sweep\":") {
            return Err(JournalError::NotOurs(path.to_owned()));
        } else if text.contains(&b'\n') && !anew {
            return Err(JournalError::Other(path.to_owned()));
        }
        file.set_len(good as u64).map_err(io)?;
        file.seek(SeekFrom::Start(good as u64)).map_err(io)?;
        if good == 0 {
            file.write_all(head.as_bytes()).map_err(io)?;
        }
        Ok((Journal { file, path: path.to_owned() }, rows))
    }

    /// Notes a member that is done.
    pub fn append(&mut self, row: &Row) -> Result<(), JournalError> {
        let io = |error: io::Error| JournalError::Io { path: self.path.clone(), error };
        let line = serde_json::to_string(row).map_err(|error| io(error.into()))? + "\n";
        self.file.write_all(line.as_bytes()).map_err(io)
    }

    /// Takes the journal away: the table is written.
    pub fn remove(self) -> Result<(), JournalError> {
        let gone = std::fs::remove_file(&self.path);
        gone.map_err(|error| JournalError::Io { path: self.path, error })
    }
}
