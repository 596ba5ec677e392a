//! `gelenk run`: simulate, record, sum up.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gelenk::accuracy::AccuracyError;
use gelenk::actuator::Meter;
use gelenk::engine::{Judged, Steps};
use gelenk::export::sample_json;
use gelenk::files::Kind;
use gelenk::film::film_strip;
use gelenk::model::{
    BodyKind, Event, Loaded, Model, Observer, RunReport, RunSettings, Sample, State, Stop,
};
use gelenk::recording::{FileSink, Header};
use gelenk::thin::Thinned;
use gelenk::verdict::{Verdict, VerdictLimits};
use gelenk::{Recorder, RecordingError};
use gelenk_viewer::report::Motion;
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::RunArgs;
use crate::progress::Progress;
use crate::show::{BOLD, HINT, styled, width};
use crate::source::{self, Start};
use crate::summary::{actuators, summary};
use crate::text::{Align, Table, bytes, counted, sig};
use crate::{files, interrupt, judged, reports, show};

/// How many states are kept for a film strip.
pub(super) const MOST_FRAMES: usize = 2000;
/// How many states of `--at` the summary shows.
const MOST_STATES: usize = 20;

pub(crate) fn run(args: &RunArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let model = &loaded.model;
    let settings = settings(args, model)?;
    refuse(model, &settings)?;
    let limits = verdict_limits(&args.verdict_limit)?;
    interrupt::be_graceful();
    let settings = chosen(model, settings)?;
    let output = output(args, model, manner);
    let outputs = output.iter().map(|path| (path, Kind::Recording));
    let outputs = outputs
        .chain(args.film.iter().map(|path| (path, Kind::Svg)))
        .chain(args.report.iter().map(|path| (path, Kind::Report)));
    files::check_places(outputs, &args.model.model, manner)?;
    let recorder = match &output {
        Some(path) => {
            let mut header = Header::of_loaded(&loaded, &args.model.overrides(), &settings);
            header.limits = limits;
            let recorder = Recorder::create_with(path, header, manner.overwrite);
            Some(recorder.map_err(|error| recording_failure(&error))?)
        }
        None => None,
    };
    let mut watch = Watch {
        model,
        recorder,
        film: args.film.as_ref().map(|_| Thinned::new(MOST_FRAMES)),
        motion: args.report.as_ref().map(|_| Motion::default()),
        meter: Meter::new(model),
        samples: Vec::new(),
        states: Vec::new(),
        corrected_start: None,
        progress: Progress::of_run(&model.name, settings.duration, manner.quiet),
        t_start: model.start.t,
        stopped_by_user: false,
    };
    let begin = Instant::now();
    let Judged { result, verdict } = source::simulate(&loaded, &settings, limits, &mut watch)?;
    let wall_seconds = begin.elapsed().as_secs_f64();
    watch.progress.clear();

    let report = match &result {
        Ok(report) => report,
        Err(failure) => &failure.report,
    };
    let mut answer = Parts { model, settings: &settings, report, verdict: &verdict, wall_seconds }
        .answer(&loaded, &watch, manner);
    // Whatever happened: what was reached is saved, then told.
    let recorder = watch.recorder.take();
    let (mut trouble, mut certificate) = (None, None);
    let fault = match &result {
        Err(_) => Some("failed"),
        Ok(report) if report.stopped => Some("stopped"),
        Ok(_) => verdict.failure().map(|_| "failed"),
    };
    let asked = output;
    let mut output = None;
    if let (Some(path), Some(recorder)) = (&asked, recorder) {
        let kept = recorder.kept();
        let finished = recorder.finish_with(result.as_ref(), verdict.clone());
        // Beside the path that was given, if there is a better recording.
        let now = kept.map_or_else(|| path.clone(), |kept| kept.path());
        let stays = || format!("{} stays as it was", path.display());
        match finished {
            Ok(made) => {
                told_recording(&mut answer, &now, made.samples);
                if now != *path {
                    let _ = writeln!(answer.text, "  {}", stays());
                }
                certificate = Some(made);
            }
            Err(error) => {
                let mut failure = recording_failure(&error);
                if now != *path {
                    let reached = now.display();
                    failure = failure.help(format!("{}; what was reached: {reached}", stays()));
                }
                trouble = Some(failure);
            }
        }
        output = Some(now);
    }
    if let (Some(path), Some(film)) = (&args.film, watch.film.take()) {
        let svg = film_strip(model, &film.into_states(), &args.strip.options());
        let path = &files::place_of(path, Kind::Svg, fault);
        match files::write(path, Kind::Svg, manner, svg.as_bytes()) {
            Ok(()) => {
                answer.json.insert("film".to_owned(), path.display().to_string().into());
                let _ = writeln!(answer.text, "film: {}", path.display());
            }
            Err(failure) => trouble = trouble.or(Some(failure)),
        }
    }
    if let (Some(path), Some(motion)) = (&args.report, watch.motion.take()) {
        let reason = result.as_ref().err().map(|failure| failure.reason.as_str());
        let page = reports::of_run(
            &loaded,
            &settings,
            report,
            reason,
            wall_seconds,
            motion,
            &verdict,
            certificate.as_ref(),
        );
        let path = &files::place_of(path, Kind::Report, fault);
        if let Err(failure) = reports::write(&mut answer, path, &page, manner) {
            trouble = trouble.or(Some(failure));
        }
    }
    if let Err(failure) = &result {
        return Ok(answer.failed(run_failure(failure, output.as_deref())));
    }
    if let Some(failure) = trouble {
        return Ok(answer.failed(failure));
    }
    // A step that goes on is given up without asking the observer.
    if watch.stopped_by_user || report.stopped && interrupt::requested() {
        return Ok(answer.failed(stopped(report, &settings, output.as_deref())));
    }
    if let Some(failure) = judged::refused(&verdict, args.strict) {
        return Ok(answer.failed(failure));
    }
    if output.is_some() || args.film.is_some() {
        answer.text.push_str(&hint(args, output.as_deref()));
    }
    Ok(answer)
}

/// The limits of the verdict with those of the command line.
fn verdict_limits(changes: &[(String, f64)]) -> Result<VerdictLimits, Failure> {
    let mut limits = VerdictLimits::default();
    for (name, value) in changes {
        let set = limits.set(name, *value);
        set.map_err(|why| Failure::input(format!("--verdict-limit {name}: {why}")))?;
    }
    Ok(limits)
}

/// The model's settings with those of the command line.
fn settings(args: &RunArgs, model: &Model) -> Result<RunSettings, Failure> {
    let mut settings = source::settings(&args.settings, model);
    settings.accuracy = args.accuracy.or(settings.accuracy);
    match args.sample {
        Some(0.0) => settings.sample = None,
        Some(sample) => settings.sample = Some(sample),
        None => {}
    }
    settings.at = args.at.iter().flat_map(|times| &times.0).copied().collect();
    settings.at.sort_by(f64::total_cmp);
    settings.at.dedup();
    let end = settings.duration;
    if let Some(late) = settings.at.iter().find(|&&t| t > end * (1.0 + 1e-12)) {
        return Err(Failure::input(format!(
            "--at {late} s lies after the end of the run, {end} s"
        ))
        .help(format!("run longer: --duration {late}")));
    }
    source::check(&settings)?;
    Ok(settings)
}

/// Refuses a model that its engine cannot run, before any file is written.
fn refuse(model: &Model, settings: &RunSettings) -> Result<(), Failure> {
    let Some(kind) = gelenk::engine::find(&settings.engine) else { return Ok(()) };
    kind.check_model(model, settings).map_err(|error| Failure::input(error.to_string()))
}

/// The settings with step and order for the accuracy asked for, if any.
fn chosen(model: &Model, settings: RunSettings) -> Result<RunSettings, Failure> {
    // The other engines choose their steps themselves.
    let kind = gelenk::engine::find(&settings.engine);
    let own = kind.is_some_and(|kind| kind.steps() == Steps::Own);
    if settings.accuracy.is_none() || own {
        return Ok(settings);
    }
    let watch = &mut || {
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    gelenk::accuracy::choose(model, &settings, watch).map_err(|error| match error {
        AccuracyError::NotReached { reached, .. } => Failure::new(Exit::Failed, error.to_string())
            .help(format!("ask for an accuracy of {:.0e}, or a shorter --duration", 3.0 * reached)),
        AccuracyError::Rounding { floor, .. } => Failure::new(Exit::Failed, error.to_string())
            .help(format!("ask for {:.0e} or more, or a shorter --duration", 10.0 * floor)),
        AccuracyError::Stopped => {
            Failure::new(Exit::Stopped, "by Ctrl-C while the step was chosen")
        }
        AccuracyError::Failed(_) => Failure::new(Exit::Failed, error.to_string()),
        _ => Failure::input(error.to_string()),
    })
}

/// Where the recording goes, if anywhere.
fn output(args: &RunArgs, model: &Model, manner: Manner) -> Option<PathBuf> {
    if args.no_record {
        return None;
    }
    match &args.output {
        Some(path) => Some(path.clone()),
        None if manner.json => None,
        None => Some(PathBuf::from(format!("{}.mcap", files::file_stem(&model.name)))),
    }
}

/// Watches a run for all that want to know.
struct Watch<'m> {
    model: &'m Model,
    recorder: Option<Recorder<FileSink>>,
    /// Samples for the film strip, if one is wanted.
    film: Option<Thinned>,
    /// The motion for the report, if one is wanted.
    motion: Option<Motion>,
    /// What drives, springs and the like do, if there are any.
    meter: Option<Meter>,
    /// States at the times of `--at`.
    samples: Vec<Value>,
    states: Vec<State>,
    /// The state at the start, where its velocities are not those of the model.
    corrected_start: Option<State>,
    progress: Progress,
    t_start: f64,
    stopped_by_user: bool,
}

impl Observer for Watch<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        if sample.step == 0 {
            let (start, now) = (&self.model.start, sample.state);
            if start.s_dot != now.s_dot || start.omega != now.omega {
                self.corrected_start = Some(now.clone());
            }
        }
        if let Some(film) = &mut self.film {
            film.push(sample.state);
        }
        if let Some(meter) = &mut self.meter {
            meter.sample(self.model, sample);
        }
        if let Some(motion) = &mut self.motion {
            motion.sample(self.model, sample);
        }
        self.recorder.as_mut().map_or(ControlFlow::Continue(()), |r| r.sample(sample))
    }

    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.samples.push(sample_json(self.model, sample));
        if self.states.len() < MOST_STATES {
            self.states.push(sample.state.clone());
        }
        self.recorder.as_mut().map_or(ControlFlow::Continue(()), |r| r.at(sample))
    }

    fn event(&mut self, event: &Event) {
        if let Some(motion) = &mut self.motion {
            motion.event(event);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.event(event);
        }
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.progress.reached(t - self.t_start);
        if interrupt::requested() {
            self.stopped_by_user = true;
            return ControlFlow::Break(());
        }
        self.recorder.as_mut().map_or(ControlFlow::Continue(()), |r| r.step(t))
    }

    fn stop(&self) -> Option<Stop> {
        Some(interrupt::stop())
    }
}

/// What an answer is made of.
struct Parts<'a> {
    model: &'a Model,
    settings: &'a RunSettings,
    report: &'a RunReport,
    verdict: &'a Verdict,
    wall_seconds: f64,
}

impl Parts<'_> {
    fn answer(&self, loaded: &Loaded, watch: &Watch<'_>, manner: Manner) -> Answer {
        let Parts { model, settings, report, verdict, wall_seconds } = *self;
        let mut warnings = source::warnings(loaded);
        if let Some(start) = &watch.corrected_start
            && let Some(warning) = velocity_warning(model, start)
        {
            if manner.talks() {
                show::warning(&warning);
            }
            warnings.push(warning);
        }
        let mut json = gelenk::report::run_json(model, settings, report, wall_seconds);
        json.insert("samples".to_owned(), watch.samples.clone().into());
        let metered = watch.meter.as_ref().map(Meter::results).unwrap_or_default();
        json.insert("actuators".to_owned(), gelenk::report::actuators_json(&metered));
        json.insert("final".to_owned(), gelenk::start::start_json(model, &report.state));
        json.insert("warnings".to_owned(), json!(warnings));
        let mut text = summary(model, settings, report, wall_seconds);
        text.push_str(&actuators(&metered));
        text.push_str(&states_text(model, &watch.states, watch.samples.len()));
        let mut answer = Answer::done(Value::Object(json), text);
        judged::tell(&mut answer, verdict, manner);
        answer
    }
}

/// What was changed to make the velocities fit the joints, if it is more than rounding.
fn velocity_warning(model: &Model, start: &State) -> Option<String> {
    let before = &model.start;
    let mut changes = Vec::new();
    for (i, body) in model.bodies.iter().enumerate() {
        let linear = (start.s_dot[i] - before.s_dot[i]).norm();
        let angular = (start.omega[i] - before.omega[i]).norm();
        let limit = model.run.velocity_tolerance;
        if linear > limit || angular > limit {
            let mut change = format!("`{}` by {} m/s", body.name, sig(linear, 3));
            if angular > limit {
                let _ = write!(change, " and {} rad/s", sig(angular, 3));
            }
            changes.push(change);
        }
    }
    if changes.is_empty() {
        return None;
    }
    let more = changes.len().saturating_sub(4);
    changes.truncate(4);
    let mut list = changes.join(", ");
    if more > 0 {
        let _ = write!(list, " and {more} more");
    }
    Some(format!(
        "the start velocities did not fit the joints and were changed as little as possible: {list}"
    ))
}

/// Positions and velocities at the times of `--at`.
fn states_text(model: &Model, states: &[State], n_samples: usize) -> String {
    if states.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[Align::Right, Align::Left, Align::Left, Align::Left, Align::Left]);
    let mut lines = 0;
    table.styled(show::DIM, ["t, s", "", "position, m", "velocity, m/s"]);
    'states: for state in states {
        for (i, body) in model.bodies.iter().enumerate() {
            if body.kind == BodyKind::World || body.fixed {
                continue;
            }
            lines += 1;
            if lines > MOST_STATES {
                break 'states;
            }
            let id = gelenk::model::BodyId(u32::try_from(i).unwrap_or(u32::MAX));
            let (pose, twist) = (state.pose(id), state.twist(id));
            let (place, speed) = (body.frame_pose(&pose).s, body.frame_twist(&pose, &twist).s_dot);
            let vector = |v: &gelenk::model::math::Vec3| {
                format!("({}, {}, {})", sig(v.x, 6), sig(v.y, 6), sig(v.z, 6))
            };
            table.row([sig(state.t, 6), body.name.clone(), vector(&place), vector(&speed)]);
        }
    }
    let more = if lines > MOST_STATES || n_samples > states.len() {
        "  ... (--json gives all)\n"
    } else {
        ""
    };
    format!("\n{}\n{}{more}", styled(BOLD, "States"), table.render(width()))
}

fn told_recording(answer: &mut Answer, path: &Path, samples: u64) {
    let size = std::fs::metadata(path).map_or(0, |data| data.len());
    let _ = writeln!(
        answer.text,
        "recording: {} ({}, {})",
        path.display(),
        counted(samples, "sample", "samples"),
        bytes(size)
    );
    answer.json.insert("recording".to_owned(), path.display().to_string().into());
}

/// A failure of the run, with where what was reached can be found.
fn run_failure(failure: &gelenk::model::RunFailure, output: Option<&Path>) -> Failure {
    let saved = match output {
        Some(path) => {
            format!("; saved up to t = {} s in {}", sig(failure.report.t, 6), path.display())
        }
        None => String::new(),
    };
    Failure::new(Exit::Failed, format!("{}{saved}", failure.reason))
}

fn stopped(report: &RunReport, settings: &RunSettings, output: Option<&Path>) -> Failure {
    let (t, end) = (sig(report.t, 6), sig(settings.duration, 6));
    let saved = match output {
        Some(path) => format!("what was reached is in {}", path.display()),
        None => "nothing was recorded".to_owned(),
    };
    Failure::new(Exit::Stopped, format!("by Ctrl-C at t = {t} s of {end} s; {saved}"))
}

fn recording_failure(error: &RecordingError) -> Failure {
    let exit = if error.is_io() { Exit::Io } else { Exit::Input };
    Failure::new(exit, error.to_string())
}

fn hint(args: &RunArgs, output: Option<&Path>) -> String {
    let mut hints = Vec::new();
    if let Some(path) = output {
        let path = path.display().to_string();
        let stem = path.strip_suffix(".mcap").unwrap_or(&path);
        hints.push(format!("gelenk view {path}"));
        hints.push(format!("gelenk verify {path}"));
        hints.push(format!("gelenk export {path} --csv {stem}.csv"));
        if args.film.is_none() {
            hints.push(format!("gelenk export {path} --film {stem}.svg"));
        }
    }
    let mut text = String::new();
    for (i, hint) in hints.iter().enumerate() {
        let lead = if i == 0 { styled(HINT, "next:") } else { "     ".to_owned() };
        let _ = writeln!(text, "{lead} {hint}");
    }
    text
}
