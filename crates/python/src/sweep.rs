//! Sweeps: plans that can be sent to other processes, and jobs that collect rows.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use gelenk::files::{Refusal, WriteError};
use gelenk::model::Stop;
use gelenk::sweep::{Journal, JournalError, Plan, Row, pictures, run, write_table_file};
use numpy::PyArray1;
use pyo3::exceptions::{PyFileExistsError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::call::{guarded, interruptible};
use crate::errors::{self, failed, value};
use crate::model::Model;

/// A sweep that has been read, with the model inside.
#[pyclass(frozen, module = "gelenk._gelenk", name = "SweepPlan")]
#[derive(Clone, Debug)]
pub(crate) struct SweepPlan {
    inner: Plan,
}

#[pymethods]
impl SweepPlan {
    /// Reads the text of a sweep file.
    #[new]
    #[pyo3(signature = (text, *, name = "sweep", folder = None, model = None))]
    fn new(
        py: Python<'_>,
        text: &str,
        name: &str,
        folder: Option<PathBuf>,
        model: Option<&Model>,
    ) -> PyResult<Self> {
        let header = model.map(|model| model.inner.header(&model.inner.model().run));
        let plan = guarded(py, || Plan::read(name, text, folder.as_deref(), header.as_ref()))?;
        Ok(SweepPlan { inner: plan.map_err(|faults| errors::faults(py, &faults))? })
    }

    /// A plan from its JSON.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let inner = Plan::from_json(text)
            .map_err(|error| value(py, format!("this text is not a plan: {error}")))?;
        Ok(SweepPlan { inner })
    }

    /// The plan as JSON, for other processes.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.inner.to_json().map_err(|error| value(py, error.to_string()))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// How many members it has.
    fn __len__(&self) -> usize {
        usize::try_from(self.inner.n_members()).unwrap_or(usize::MAX)
    }

    /// Runs members, one after the other; a line of JSON for each.
    fn rows(&self, py: Python<'_>, members: Vec<u64>) -> PyResult<Vec<String>> {
        let n = self.inner.n_members();
        if let Some(member) = members.iter().find(|member| **member >= n) {
            return Err(value(py, format!("there is no member {member} among {n}")));
        }
        let stop = Stop::default();
        let rows: Vec<Option<Row>> = interruptible(
            py,
            &stop,
            |_| Ok(()),
            || members.iter().map(|&member| self.inner.member(member, None, &stop)).collect(),
        )?;
        let lines = rows.iter().flatten().map(serde_json::to_string);
        lines.map(|line| line.map_err(|error| value(py, error.to_string()))).collect()
    }
}

/// A sweep on its way: rows that are done, and their journal.
#[pyclass(module = "gelenk._gelenk", name = "SweepJob")]
#[derive(Debug)]
pub(crate) struct SweepJob {
    plan: Plan,
    rows: Vec<Row>,
    journal: Option<Journal>,
}

fn trouble(py: Python<'_>, error: &JournalError) -> PyErr {
    match error {
        JournalError::Io { .. } => PyOSError::new_err(error.to_string()),
        JournalError::Other(_) => value(py, format!("{error}; pass restart=True to drop it")),
        _ => value(py, error.to_string()),
    }
}

#[pymethods]
impl SweepJob {
    /// Goes on with a journal, if one is given.
    #[new]
    #[pyo3(signature = (plan, journal = None, *, restart = false))]
    fn new(
        py: Python<'_>,
        plan: &SweepPlan,
        journal: Option<PathBuf>,
        restart: bool,
    ) -> PyResult<Self> {
        let plan = plan.inner.clone();
        let (journal, rows) = match journal {
            None => (None, Vec::new()),
            Some(path) => {
                let (journal, rows) =
                    Journal::open(&path, &plan, restart).map_err(|error| trouble(py, &error))?;
                (Some(journal), rows)
            }
        };
        Ok(SweepJob { plan, rows, journal })
    }

    /// The members that have no row yet.
    fn missing(&self) -> Vec<u64> {
        self.plan.missing(&self.rows)
    }

    /// Takes rows that were made elsewhere. A task that ran twice gives the same row twice: one counts.
    fn accept(&mut self, py: Python<'_>, lines: Vec<String>) -> PyResult<()> {
        for line in &lines {
            let row: Row = serde_json::from_str(line)
                .map_err(|error| value(py, format!("this line is not a row: {error}")))?;
            if let Some(journal) = &mut self.journal {
                journal.append(&row).map_err(|error| trouble(py, &error))?;
            }
            self.rows.push(row);
        }
        Ok(())
    }

    /// Runs what is missing on the cores of this machine.
    #[pyo3(signature = (*, threads = None, recordings = None, progress = None))]
    fn run(
        &mut self,
        py: Python<'_>,
        threads: Option<usize>,
        recordings: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let rows = std::mem::take(&mut self.rows);
        let (reached, n) = (AtomicUsize::new(rows.len()), self.plan.n_members());
        let stop = Stop::default();
        let writing = Mutex::new((self.journal.take(), None));
        let each = |row: &Row, _: f64| {
            let mut writing = writing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (journal, error) = &mut *writing;
            if let Some(Err(bad)) = journal.as_mut().map(|journal| journal.append(row)) {
                *error = Some(bad);
                stop.ask();
            }
            reached.fetch_add(1, Ordering::Relaxed);
        };
        let shown = AtomicUsize::new(usize::MAX);
        let meanwhile = |py: Python<'_>| -> PyResult<()> {
            let now = reached.load(Ordering::Relaxed);
            if let Some(progress) = &progress
                && shown.swap(now, Ordering::Relaxed) != now
            {
                progress.call1(py, (now as f64 / n as f64,))?;
            }
            Ok(())
        };
        let plan = &self.plan;
        let (stop_ref, each_ref) = (&stop, &each);
        let kept = rows.clone();
        let result = interruptible(py, &stop, meanwhile, || {
            run(plan, threads, rows, recordings.as_deref(), stop_ref, each_ref)
        });
        let (journal, bad) =
            writing.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.journal = journal;
        let done = match result {
            Ok(done) => done,
            Err(error) => {
                self.rows = kept;
                return Err(error);
            }
        };
        if let Some(error) = bad {
            return Err(trouble(py, &error));
        }
        self.rows = done.map_err(|error| PyOSError::new_err(error.to_string()))?.rows;
        if let Some(progress) = &progress {
            progress.call1(py, (1.0,))?;
        }
        Ok(())
    }

    /// Writes the table, if a path is given, and takes the journal away.
    #[pyo3(signature = (path = None, *, overwrite = false))]
    fn finish(&mut self, py: Python<'_>, path: Option<PathBuf>, overwrite: bool) -> PyResult<()> {
        self.rows.sort_by_key(|row| row.member);
        self.rows.dedup_by_key(|row| row.member);
        let missing = self.missing().len();
        if missing > 0 {
            return Err(failed(py, &format!("{missing} members of the sweep are not done"), None));
        }
        if let Some(path) = path {
            self.save(py, path, overwrite)?;
        }
        let gone = self.journal.take().map_or(Ok(()), Journal::remove);
        gone.map_err(|error| trouble(py, &error))
    }

    /// Writes the table.
    #[pyo3(signature = (path, *, overwrite = false))]
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        let done = py.detach(|| write_table_file(&self.plan, &self.rows, &path, overwrite));
        done.map_err(|error| match error {
            WriteError::Refused(refusal @ (Refusal::Io { .. } | Refusal::Directory { .. })) => {
                PyOSError::new_err(refusal.to_string())
            }
            WriteError::Refused(refusal) => {
                let message = format!("{refusal}; pass overwrite=True to replace it");
                PyFileExistsError::new_err(message)
            }
            WriteError::Failed(error) => PyOSError::new_err(error.to_string()),
        })
    }

    /// The columns of the table by name.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let members: Vec<u64> = self.rows.iter().map(|row| row.member).collect();
        let values: Vec<Vec<f64>> = members.iter().map(|&i| self.plan.values(i)).collect();
        dict.set_item("member", PyArray1::from_vec(py, members))?;
        for (k, vary) in self.plan.vary.iter().enumerate() {
            let column = values.iter().map(|values| values[k]);
            dict.set_item(vary.what.column(), PyArray1::from_iter(py, column))?;
        }
        for (k, keep) in self.plan.keep.iter().enumerate() {
            let column =
                self.rows.iter().map(|row| row.results.get(k).copied().unwrap_or(f64::NAN));
            dict.set_item(&keep.name, PyArray1::from_iter(py, column))?;
        }
        let verdicts: Vec<&str> = self.rows.iter().map(|row| row.verdict.as_str()).collect();
        dict.set_item("verdict", verdicts)?;
        let errors: Vec<Option<&str>> = self.rows.iter().map(|row| row.error.as_deref()).collect();
        dict.set_item("error", errors)?;
        dict.set_item("time", PyArray1::from_iter(py, self.rows.iter().map(|row| row.time)))?;
        dict.set_item("steps", PyArray1::from_iter(py, self.rows.iter().map(|row| row.steps)))?;
        Ok(dict)
    }

    /// Names of what is varied.
    #[getter]
    fn varied(&self) -> Vec<String> {
        self.plan.vary.iter().map(|vary| vary.what.column()).collect()
    }

    /// Names of what is kept.
    #[getter]
    fn kept(&self) -> Vec<String> {
        self.plan.keep.iter().map(|keep| keep.name.clone()).collect()
    }

    /// A picture (SVG) of each number that is kept, with its name.
    fn pictures(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        pictures(&self.plan, &self.rows).map_err(|error| value(py, error.to_string()))
    }
}
