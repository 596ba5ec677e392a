//! The members of a sweep on the cores of this machine.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use gelenk_model::Stop;
use rayon::prelude::*;

use super::{Plan, Row};
use crate::files::{self, Kind, WriteError};

/// Stack of a thread: formulas are walked by recursion. Memory is taken only where it is used.
const STACK: usize = 64 << 20;

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The rows in the order of their members.
    pub rows: Vec<Row>,
    /// Whether these are all members.
    pub complete: bool,
}

/// Why a sweep could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// No threads.
    #[error("no threads can be started: {0}")]
    Threads(String),
    /// A recording could not be written.
    #[error("{0}")]
    Recording(String),
}

impl Plan {
    /// Where the recording of a member lies.
    pub fn recording(folder: &Path, member: u64) -> PathBuf {
        folder.join(format!("member-{member:06}.mcap"))
    }

    /// The members that have no row yet.
    pub fn missing(&self, rows: &[Row]) -> Vec<u64> {
        let n = usize::try_from(self.n_members()).unwrap_or(usize::MAX);
        let mut there = vec![false; n];
        for row in rows {
            if let Some(slot) = usize::try_from(row.member).ok().and_then(|i| there.get_mut(i)) {
                *slot = true;
            }
        }
        (0..).zip(there).filter(|(_, there)| !there).map(|(i, _)| i).collect()
    }

    /// Runs a member and writes its recording, if one is wanted. `None`: it was asked to stop.
    pub fn member_recorded(
        &self,
        member: u64,
        recordings: Option<&Path>,
        stop: &Stop,
    ) -> Result<Option<Row>, WorkError> {
        let mut bytes = Vec::new();
        let row = self.member(member, recordings.map(|_| &mut bytes), stop);
        if let (Some(folder), Some(_), false) = (recordings, &row, bytes.is_empty()) {
            let path = Self::recording(folder, member);
            files::write(&path, Kind::Recording, false, &bytes).map_err(|error| {
                WorkError::Recording(match error {
                    WriteError::Refused(refusal) => refusal.to_string(),
                    WriteError::Failed(error) => {
                        format!("cannot write `{}`: {error}", path.display())
                    }
                })
            })?;
        }
        Ok(row)
    }
}

/// Runs all members that have no row in `done`, on all cores or on `threads` of them.
///
/// `each` is called for every row that is new, as soon as it is there and from any thread, with the seconds that it took.
/// `recordings`: a folder for the recordings of all members.
pub fn run(
    plan: &Plan,
    threads: Option<usize>,
    mut done: Vec<Row>,
    recordings: Option<&Path>,
    stop: &Stop,
    each: &(dyn Fn(&Row, f64) + Sync),
) -> Result<Done, WorkError> {
    let missing = plan.missing(&done);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .stack_size(STACK)
        .build()
        .map_err(|error| WorkError::Threads(error.to_string()))?;
    let rows = Mutex::new(Vec::with_capacity(missing.len()));
    let result: Result<(), WorkError> = pool.install(|| {
        missing.par_iter().with_max_len(1).try_for_each(|&member| {
            if stop.is_asked() {
                return Ok(());
            }
            let begin = Instant::now();
            if let Some(row) = plan.member_recorded(member, recordings, stop)? {
                each(&row, begin.elapsed().as_secs_f64());
                rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(row);
            }
            Ok(())
        })
    });
    result?;
    done.extend(rows.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    done.sort_by_key(|row| row.member);
    done.dedup_by_key(|row| row.member);
    let complete = done.len() as u64 == plan.n_members();
    Ok(Done { rows: done, complete })
}
