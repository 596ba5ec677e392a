//! Runs: a whole motion with any engine, kept as a recording in memory.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use gelenk::control::{Control, Inputs as Held, Measured};
use gelenk::export::{write_csv, write_parquet};
use gelenk::files::{self, Kind};
use gelenk::model::{Event, Observer, RunFailure, RunReport, RunSettings, Sample, Stop};
use gelenk::recording::{Header, RecordedSample};
use gelenk::verdict::{Judge, Verdict};
use gelenk::{Recorder, Recording, SimulateError};
use numpy::ndarray::{Array1, Array2};
use numpy::{AllowTypeChange, IntoPyArray, PyArrayLike1};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use serde_json::{Value, json};

use crate::call::{guarded, interruptible};
use crate::errors::{self, failed, finite, type_name, value, wrong_type};
use crate::from_json;
use crate::model::{Inner, Model, limits};
use gelenk::quantity::{Quantity, Reader};

/// A motion: times, quantities by name, verdict.
#[pyclass(frozen, module = "gelenk", name = "Run")]
#[derive(Debug)]
pub(crate) struct Run {
    inner: Arc<Inner>,
    settings: RunSettings,
    /// The recording: MCAP, as `gelenk run` writes it.
    bytes: Vec<u8>,
    samples: OnceLock<Vec<RecordedSample>>,
    events: Vec<Event>,
    verdict: Verdict,
    /// Steps, errors, counts by their names of `--json`.
    summary: Value,
}

/// Sees a run, keeps it, and hears of a wish to stop.
struct Watch<'a> {
    recorder: Recorder<&'a mut Vec<u8>>,
    judge: Judge,
    stop: Stop,
    start: f64,
    /// The time reached, s, as bits.
    reached: &'a AtomicU64,
}

impl Observer for Watch<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.judge.sample(sample);
        self.recorder.sample(sample)
    }

    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.recorder.at(sample)
    }

    fn event(&mut self, event: &Event) {
        self.recorder.event(event);
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.reached.store((t - self.start).to_bits(), Ordering::Relaxed);
        if self.stop.is_asked() {
            return ControlFlow::Break(());
        }
        self.recorder.step(t)
    }

    fn stop(&self) -> Option<Stop> {
        Some(self.stop.clone())
    }
}

/// What an input does over a run.
enum Course {
    /// A formula of time and state, in the place of the input.
    Formula(String),
    /// Values that are held from their times on.
    Held(Vec<f64>, Vec<f64>),
}

/// Reads `inputs=` of a run.
fn courses(inner: &Inner, given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, Course)>> {
    let mut list = Vec::new();
    for (name, given) in given.into_iter().flatten() {
        let py = given.py();
        let name: String = name.extract().map_err(|_| {
            wrong_type(format!("inputs are named by str, not {}", type_name(&name)))
        })?;
        let known = inner.model().inputs.iter().map(|input| input.name.as_str());
        if !known.clone().any(|known| known == name) {
            return Err(errors::name(py, "input", &name, known));
        }
        let course = if let Ok(text) = given.cast::<PyString>() {
            Course::Formula(formula(py, &name, &text.to_string())?)
        } else if let Ok(pair) = given.cast::<PyTuple>() {
            if pair.len() != 2 {
                let message = format!(
                    "input `{name}`: a tuple of times and values is wanted, not one of {}",
                    pair.len()
                );
                return Err(value(py, message));
            }
            let [times, values] =
                [array(&name, &pair.get_item(0)?)?, array(&name, &pair.get_item(1)?)?];
            if times.len() != values.len() || times.is_empty() {
                let message =
                    format!("input `{name}` has {} times and {} values", times.len(), values.len());
                return Err(value(py, message));
            }
            if times.windows(2).any(|pair| pair[1] <= pair[0]) {
                return Err(value(py, format!("input `{name}`: its times must increase")));
            }
            Course::Held(times, values)
        } else if let Ok(x) = given.extract::<f64>() {
            let x = finite(py, &format!("input `{name}`"), x)?;
            Course::Formula(format!("({x:?})"))
        } else {
            return Err(wrong_type(format!(
                "input `{name}`: a number, a formula or a tuple of times and values is wanted, not {}",
                type_name(&given)
            )));
        };
        list.push((name, course));
    }
    Ok(list)
}

/// Finite numbers of an array or list.
fn array(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let py = given.py();
    let list: PyArrayLike1<'_, f64, AllowTypeChange> = given.extract().map_err(|_| {
        wrong_type(format!(
            "input `{name}`: one-dimensional arrays of numbers are wanted, not {}",
            type_name(given)
        ))
    })?;
    let list = list.as_array().to_vec();
    match list.iter().find(|x| !x.is_finite()) {
        Some(x) => Err(value(py, format!("input `{name}` is {x}, which is not a finite number"))),
        None => Ok(list),
    }
}

/// A formula that may stand in a string of a model file.
fn formula(py: Python<'_>, name: &str, text: &str) -> PyResult<String> {
    let mut pool = gelenk::expr::Pool::with_time("t");
    if text.contains(['"', '\'', '\\', '\n', '\r', '#']) {
        return Err(value(py, format!("input `{name}`: `{text}` is not a formula")));
    }
    pool.parse(text)
        .map_err(|error| value(py, format!("input `{name}`: `{text}`: {}", error.message)))?;
    Ok(format!("({text})"))
}

/// Settings that were given.
struct Given {
    duration: Option<f64>,
    engine: Option<String>,
    step: Option<f64>,
    order: Option<u32>,
    tolerance: Option<f64>,
    accuracy: Option<f64>,
    sample: Option<f64>,
    at: Option<Vec<f64>>,
    contact: Option<String>,
    rtol: Option<f64>,
    atol: Option<f64>,
    integrator: Option<String>,
}

impl Given {
    fn settings(self, py: Python<'_>, inner: &Inner) -> PyResult<RunSettings> {
        let mut settings = inner.model().run.clone();
        let numbers = [
            ("duration", self.duration, true),
            ("step", self.step, false),
            ("tolerance", self.tolerance, false),
            ("accuracy", self.accuracy, false),
            ("sample", self.sample, true),
            ("rtol", self.rtol, false),
            ("atol", self.atol, false),
        ];
        for (name, given, zero) in numbers {
            let Some(x) = given else { continue };
            let x = finite(py, name, x)?;
            if x < 0.0 || x == 0.0 && !zero {
                return Err(value(py, format!("{name} is {x}: it must be positive")));
            }
        }
        if self.step.is_some() || self.order.is_some() {
            settings.accuracy = None;
        }
        settings.duration = self.duration.unwrap_or(settings.duration);
        settings.engine = self.engine.unwrap_or(settings.engine);
        settings.step = self.step.unwrap_or(settings.step);
        settings.order = self.order.unwrap_or(settings.order);
        settings.tolerance = self.tolerance.unwrap_or(settings.tolerance);
        settings.accuracy = self.accuracy.or(settings.accuracy);
        settings.contact = self.contact.unwrap_or(settings.contact);
        settings.rtol = self.rtol.or(settings.rtol);
        settings.atol = self.atol.or(settings.atol);
        settings.integrator = self.integrator.or(settings.integrator);
        match self.sample {
            Some(0.0) => settings.sample = None,
            Some(sample) => settings.sample = Some(sample),
            None => {}
        }
        settings.at = self.at.unwrap_or_default();
        settings.at.sort_by(f64::total_cmp);
        settings.at.dedup();
        if let Some(late) = settings.at.iter().find(|&&t| !(0.0..=settings.duration).contains(&t)) {
            return Err(value(
                py,
                format!("at = {late} s lies outside of the run of {} s", settings.duration),
            ));
        }
        gelenk::check_settings(&settings).map_err(|error| value(py, error.to_string()))?;
        Ok(settings)
    }
}

/// Runs a model.
#[pyfunction]
#[pyo3(signature = (
    model, *, duration = None, engine = None, step = None, order = None, tolerance = None, accuracy = None,
    sample = None, at = None, contact = None, rtol = None, atol = None, integrator = None, inputs = None, progress = None
))]
pub(crate) fn run(
    py: Python<'_>,
    model: &Model,
    duration: Option<f64>,
    engine: Option<String>,
    step: Option<f64>,
    order: Option<u32>,
    tolerance: Option<f64>,
    accuracy: Option<f64>,
    sample: Option<f64>,
    at: Option<Vec<f64>>,
    contact: Option<String>,
    rtol: Option<f64>,
    atol: Option<f64>,
    integrator: Option<String>,
    inputs: Option<&Bound<'_, PyDict>>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Run> {
    let given = Given {
        duration,
        engine,
        step,
        order,
        tolerance,
        accuracy,
        sample,
        at,
        contact,
        rtol,
        atol,
        integrator,
    };
    let mut settings = given.settings(py, &model.inner)?;
    if let Some(progress) = &progress
        && !progress.is_callable()
    {
        return Err(wrong_type(format!("progress is called: {} is not", type_name(progress))));
    }
    let mut inner = model.inner.clone();
    let mut held = Vec::new();
    let mut formulas = Vec::new();
    for (name, course) in courses(&inner, inputs)? {
        match course {
            Course::Formula(text) => formulas.push((name, text)),
            Course::Held(times, values) => held.push((name, times, values)),
        }
    }
    if !formulas.is_empty() {
        let mut set = inner.set.clone();
        for (name, formula) in formulas {
            let name = format!("input.{name}");
            set.retain(|(other, _)| *other != name);
            set.push((name, formula));
        }
        let again = guarded(py, || inner.again(set, str::to_owned))?;
        inner = again.map_err(|faults| errors::faults(py, &faults))?;
    }
    if !held.is_empty() && settings.engine != "impulse" {
        let message = format!(
            "inputs by arrays go with the fixed step of the impulse engine; give the {} engine a formula of t",
            settings.engine
        );
        return Err(value(py, message));
    }
    let stop = Stop::default();
    if settings.accuracy.is_some()
        && settings.engine == "impulse"
        && settings.estimated_error.is_none()
    {
        let chosen = interruptible(
            py,
            &stop,
            |_| Ok(()),
            || {
                gelenk::accuracy::choose(inner.model(), &settings, &mut || {
                    if stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
            },
        )?;
        settings = chosen.map_err(|error| failed(py, &error.to_string(), None))?;
    }
    let reached = AtomicU64::new(0);
    let length = settings.duration;
    let shown = Mutex::new(0.0_f64);
    let meanwhile = |_: Python<'_>| -> PyResult<()> {
        let Some(progress) = &progress else { return Ok(()) };
        let t = f64::from_bits(reached.load(Ordering::Relaxed));
        if let Ok(mut shown) = shown.lock()
            && t > *shown
            && length > 0.0
        {
            *shown = t;
            progress.call1(((t / length).min(1.0),))?;
        }
        Ok(())
    };
    let made = {
        let (inner, settings, stop, reached) = (&inner, &settings, &stop, &reached);
        interruptible(py, stop, meanwhile, || record(inner, settings, &held, stop, reached))?
    };
    let made = made.map_err(|error| value(py, error))?;
    if let Some(progress) = &progress {
        progress.call1((1.0,))?;
    }
    let Made { bytes, report, failure, verdict, seconds } = made;
    let summary = gelenk::report::run_json(inner.model(), &settings, &report, seconds);
    let run = Run {
        inner,
        settings,
        bytes,
        samples: OnceLock::new(),
        events: report.events,
        verdict,
        summary: Value::Object(summary),
    };
    let Some((reason, element)) = failure else { return Ok(run) };
    let error = failed(py, &reason, element.as_deref());
    error.value(py).setattr("run", Bound::new(py, run)?)?;
    Err(error)
}

/// A run that has ended.
struct Made {
    bytes: Vec<u8>,
    report: RunReport,
    failure: Option<(String, Option<String>)>,
    verdict: Verdict,
    seconds: f64,
}

/// Runs and records; an error is one of the settings.
fn record(
    inner: &Inner,
    settings: &RunSettings,
    held: &[(String, Vec<f64>, Vec<f64>)],
    stop: &Stop,
    reached: &AtomicU64,
) -> Result<Made, String> {
    let mut bytes = Vec::new();
    let (result, verdict, seconds) = watched(inner, settings, held, stop, reached, &mut bytes)?;
    let (report, failure) = match result {
        Ok(report) => (report, None),
        Err(RunFailure { reason, element, report }) => (*report, Some((reason, element))),
    };
    Ok(Made { bytes, report, failure, verdict, seconds })
}

/// How a run ended, what is thought of it, and what it took on the clock, s.
type Watched = (Result<RunReport, RunFailure>, Verdict, f64);

/// Runs and records into `bytes`.
fn watched(
    inner: &Inner,
    settings: &RunSettings,
    held: &[(String, Vec<f64>, Vec<f64>)],
    stop: &Stop,
    reached: &AtomicU64,
    bytes: &mut Vec<u8>,
) -> Result<Watched, String> {
    let model = inner.model();
    let recorder =
        Recorder::new(bytes, inner.header(settings)).map_err(|error| error.to_string())?;
    let mut watch = Watch {
        recorder,
        judge: Judge::default(),
        stop: stop.clone(),
        start: model.start.t,
        reached,
    };
    let begin = std::time::Instant::now();
    let result = if held.is_empty() {
        gelenk::simulate_loaded(&inner.loaded, settings, &mut watch)
    } else {
        let mut law = |measured: &Measured<'_>, inputs: &mut Held<'_>| {
            // A step that begins at a time of the array has the value of that time.
            let t = measured.time() + 1e-9 * settings.step;
            for (name, times, values) in held {
                if let Some(k) = times.partition_point(|&from| from <= t).checked_sub(1) {
                    inputs.set(name, values[k])?;
                }
            }
            Ok(())
        };
        let mut control = Control { period: settings.step, law: &mut law };
        gelenk::simulate_controlled(model, settings, &mut control, &mut watch)
    };
    let seconds = begin.elapsed().as_secs_f64();
    let result: Result<RunReport, RunFailure> = match result {
        Ok(report) => Ok(report),
        Err(SimulateError::Failed(failure)) => Err(failure),
        Err(error) => return Err(error.to_string()),
    };
    let report = match &result {
        Ok(report) => report,
        Err(failure) => &failure.report,
    };
    let Watch { recorder, mut judge, .. } = watch;
    let reason = result.as_ref().err().map(|failure| failure.reason.as_str());
    let verdict = judge.verdict(model, settings, report, reason, None);
    let finished = recorder.finish_with(result.as_ref(), verdict.clone());
    finished.map_err(|error| error.to_string())?;
    Ok((result, verdict, seconds))
}

/// A run from a recording on disk.
#[pyfunction]
pub(crate) fn open_recording(py: Python<'_>, path: PathBuf) -> PyResult<Run> {
    if !path.exists() {
        let message = format!("there is no file `{}`", path.display());
        return Err(PyFileNotFoundError::new_err(message));
    }
    let bytes = files::read(&path, u64::MAX).map_err(|error| {
        PyOSError::new_err(format!("cannot read `{}`: {error}", path.display()))
    })?;
    let no = |why: String| value(py, format!("`{}`: {why}", path.display()));
    let recording = guarded(py, || Recording::from_bytes(bytes.clone()))?
        .map_err(|error| no(error.to_string()))?;
    let header: &Header = recording.header();
    let loaded = guarded(py, || header.load(limits()))?.map_err(no)?;
    let set = header.overrides.iter().map(|o| (o.name.clone(), o.value.clone())).collect();
    let certificate = recording.certificate();
    let verdict = certificate.map(|c| c.verdict.clone()).unwrap_or_default();
    Ok(Run {
        settings: header.settings.clone(),
        summary: serde_json::to_value(certificate).unwrap_or_default(),
        events: recording.events().to_vec(),
        inner: Inner::new(loaded, set),
        bytes,
        samples: OnceLock::new(),
        verdict,
    })
}

impl Run {
    fn samples(&self, py: Python<'_>) -> PyResult<&[RecordedSample]> {
        if let Some(samples) = self.samples.get() {
            return Ok(samples);
        }
        let read = py.detach(|| -> Result<Vec<RecordedSample>, String> {
            let mut recording =
                Recording::from_bytes(self.bytes.clone()).map_err(|error| error.to_string())?;
            let samples: Result<Vec<_>, _> = recording.samples().collect();
            samples.map_err(|error| error.to_string())
        });
        let samples = read.map_err(|error| failed(py, &error, None))?;
        Ok(self.samples.get_or_init(|| samples))
    }

    /// Rows of quantities, one a sample.
    fn rows(&self, py: Python<'_>, wanted: &[Quantity]) -> PyResult<Vec<f64>> {
        let samples = self.samples(py)?;
        let model = self.inner.model();
        Ok(py.detach(|| {
            let mut reader = Reader::new(model);
            let mut out = Vec::with_capacity(samples.len() * wanted.len());
            for sample in samples {
                reader.read(model, &sample.as_sample(), wanted, &mut out);
            }
            out
        }))
    }

    fn write(
        &self,
        py: Python<'_>,
        path: &std::path::Path,
        kind: Kind,
        overwrite: bool,
        bytes: &[u8],
    ) -> PyResult<()> {
        py.detach(|| files::write(path, kind, overwrite, bytes)).map_err(|error| match error {
            files::WriteError::Refused(refusal) if !refusal.is_io() => {
                let message = format!("{refusal}; pass overwrite=True to replace it");
                pyo3::exceptions::PyFileExistsError::new_err(message)
            }
            files::WriteError::Refused(refusal) => PyOSError::new_err(refusal.to_string()),
            files::WriteError::Failed(error) => {
                PyOSError::new_err(format!("cannot write `{}`: {error}", path.display()))
            }
        })
    }

    fn table(
        &self,
        py: Python<'_>,
        write: impl Fn(&[RecordedSample], &mut Vec<u8>) -> Result<u64, gelenk::export::ExportError>,
    ) -> PyResult<Vec<u8>> {
        let mut bytes = Vec::new();
        write(self.samples(py)?, &mut bytes)
            .map_err(|error| failed(py, &error.to_string(), None))?;
        Ok(bytes)
    }
}

#[pymethods]
impl Run {
    /// The model that was run.
    #[getter]
    fn model(&self) -> Model {
        Model { inner: self.inner.clone() }
    }

    /// The engine.
    #[getter]
    fn engine(&self) -> &str {
        &self.settings.engine
    }

    /// The settings of the run.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &gelenk::report::settings_json(&self.settings))
    }

    /// What `gelenk run --json` shows: steps, energy, constraint errors, corrections.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.summary)
    }

    /// The verdict on the result.
    #[getter]
    fn verdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = json!(self.verdict).to_string();
        py.import("gelenk._results")?.call_method1("_verdict", (json,))
    }

    /// Events in order.
    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list: Vec<Value> = self
            .events
            .iter()
            .map(|event| {
                json!({
                    "time": event.time,
                    "kind": event.kind,
                    "between": event.between,
                    "detail": event.detail,
                })
            })
            .collect();
        from_json(py, &Value::Array(list))
    }

    /// Times of the samples, s.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        matrix_or_vector(py, self.rows(py, &[Quantity::Time])?, 1)
    }

    /// The motion of a body or point.
    fn body<'py>(slf: Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let results = slf.py().import("gelenk._results")?;
        results.getattr("BodyMotion")?.call1((slf, name))
    }

    /// All quantities as a pandas.DataFrame, one row a sample; needs pandas.
    fn to_pandas(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let pandas = slf.py().import("pandas")?;
        let how = PyDict::new(slf.py());
        how.set_item("columns", slf.get().keys())?;
        let table = slf.get().to_numpy(slf.py())?;
        pandas.getattr("DataFrame")?.call((table,), Some(&how))
    }

    /// Names of all quantities.
    fn keys(&self) -> Vec<String> {
        self.inner.quantities.names.clone()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.samples(py)?.len())
    }

    fn __contains__(&self, name: &str) -> bool {
        self.inner.quantities.find(self.inner.model(), name).is_some()
    }

    /// A quantity by name: an array of one number a sample, or of the components of a vector.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let all = &self.inner.quantities;
        let Some(wanted) = all.find(self.inner.model(), name) else {
            return Err(errors::name(py, "quantity", name, all.names.iter().map(String::as_str)));
        };
        let rows = self.rows(py, &wanted)?;
        matrix_or_vector(py, rows, wanted.len())
    }

    /// All quantities: an array with one row a sample, columns in the order of `keys()`.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = &self.inner.quantities;
        let model = self.inner.model();
        let wanted: Vec<Quantity> =
            all.names.iter().filter_map(|name| all.one(model, name)).collect();
        let rows = self.rows(py, &wanted)?;
        let n = rows.len() / wanted.len().max(1);
        let table = Array2::from_shape_vec((n, wanted.len()), rows);
        let table = table.map_err(|error| failed(py, &error.to_string(), None))?;
        Ok(table.into_pyarray(py).into_any())
    }

    /// Writes the recording.
    #[pyo3(signature = (path, *, overwrite = false))]
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("mcap") | None => self.write(py, &path, Kind::Recording, overwrite, &self.bytes),
            Some("csv") => {
                let table = self.table(py, |samples, out| {
                    write_csv(self.inner.model(), samples.iter().cloned().map(Ok), out)
                })?;
                self.write(py, &path, Kind::Csv, overwrite, &table)
            }
            Some("parquet") => {
                let table = self.table(py, |samples, out| {
                    write_parquet(self.inner.model(), samples.iter().cloned().map(Ok), out)
                })?;
                self.write(py, &path, Kind::Parquet, overwrite, &table)
            }
            Some(other) => {
                Err(value(py, format!("a run is saved as .mcap, .csv or .parquet, not .{other}")))
            }
        }
    }

    fn __repr__(&self) -> String {
        format!(
            "<gelenk.Run of {:?} with the {} engine: {} s, verdict {}>",
            self.inner.model().name,
            self.settings.engine,
            self.settings.duration,
            self.verdict.level
        )
    }
}

/// Numbers as an array (n,), or as (n, width) for vectors.
pub(crate) fn matrix_or_vector(
    py: Python<'_>,
    rows: Vec<f64>,
    width: usize,
) -> PyResult<Bound<'_, PyAny>> {
    if width == 1 {
        return Ok(Array1::from_vec(rows).into_pyarray(py).into_any());
    }
    let table = Array2::from_shape_vec((rows.len() / width, width), rows);
    let table = table.map_err(|error| failed(py, &error.to_string(), None))?;
    Ok(table.into_pyarray(py).into_any())
}
