//! `gelenk verify`: a recording run again and compared bit by bit.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::ops::ControlFlow;

use gelenk::RecordingError;
use gelenk::model::{Event, Observer, Sample};
use gelenk::optimize::{Recorded, replay_finding};
use gelenk::recording::{Header, Integrity, VerifyError, VerifyReport, verify};
use gelenk::verdict::{Finding, Level, VerdictLimits};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::VerifyArgs;
use crate::progress::Progress;
use crate::show::{BAD, GOOD, WARN, styled, width};
use crate::text::{bytes, sig, wrap};
use crate::{files, interrupt, judged, source};

/// Tolerance of the DAE engine when it runs an optimal motion again.
const AGAIN: f64 = 1e-11;

pub(crate) fn run(args: &VerifyArgs, manner: Manner) -> Result<Answer, Failure> {
    let path = &args.recording;
    files::must_exist(path, "recording")?;
    interrupt::be_graceful();
    let limits = source::limits(&args.limit)?;
    let kept = RefCell::new(None);
    let optimum = RefCell::new(None);
    let limits_of_verdict = Cell::new(VerdictLimits::default());
    let load = |header: &Header| {
        limits_of_verdict.set(header.limits);
        let loaded = header.load(limits)?;
        optimum.replace(Recorded::of(header, limits)?);
        let model = loaded.model.clone();
        kept.replace(Some(loaded));
        Ok(model)
    };
    let progress = RefCell::new(None);
    let report = verify(path, &load, &|model, settings, observer| {
        let mut progress = progress.borrow_mut();
        let progress =
            progress.insert(Progress::of_run(&model.name, settings.duration, manner.quiet));
        let mut watch = Watch { observer, progress };
        if let Some(recorded) = optimum.borrow().as_ref() {
            let result = recorded.replay(&mut watch);
            watch.progress.clear();
            return result.map(|report| Ok(report).into());
        }
        let kept = kept.borrow();
        let loaded = kept.as_ref().ok_or("the model is not loaded")?;
        let result = source::simulate(loaded, settings, limits_of_verdict.get(), &mut watch);
        watch.progress.clear();
        result.map_err(|failure| failure.message)
    });
    if interrupt::requested() {
        return Err(Failure::new(Exit::Stopped, "by Ctrl-C; nothing can be said of the recording"));
    }
    match report {
        Ok(report) => {
            let optimum = optimum.borrow();
            optimum.as_ref().map_or_else(
                || Ok(answer(args, &report)),
                |recorded| answer_of_optimum(args, &report, recorded),
            )
        }
        Err(error) => unreadable(args, &error),
    }
}

/// Shows progress and hears Ctrl-C on behalf of the re-run.
struct Watch<'a> {
    observer: &'a mut dyn Observer,
    progress: &'a mut Progress,
}

impl Observer for Watch<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.observer.sample(sample)
    }

    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.observer.at(sample)
    }

    fn event(&mut self, event: &Event) {
        self.observer.event(event);
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.progress.reached(t);
        if interrupt::requested() {
            return ControlFlow::Break(());
        }
        self.observer.step(t)
    }
}

fn answer(args: &VerifyArgs, report: &VerifyReport) -> Answer {
    let path = args.recording.display();
    let certificate = report.recorded.as_ref().map(|c| serde_json::to_value(c).unwrap_or_default());
    let json = json!({
        "recording": path.to_string(),
        "verified": report.ok && report.verdict.is_good(),
        "reproduced": report.reproduced,
        "run_failed": report.run_failed,
        "verdict": report.verdict,
        "whole": report.integrity == Integrity::Complete,
        "integrity": report.integrity.to_string(),
        "first_difference": report.first_difference.as_ref().map(|difference| {
            json!({ "offset": difference.offset, "what": difference.what })
        }),
        "same_bytes": report.same_bytes,
        "recorded_bytes": report.recorded_bytes,
        "recorded_version": report.recorded_version,
        "version": report.version,
        "state_hash": report.again.state_hash,
        "certificate": certificate.unwrap_or(Value::Null),
    });
    let strict = args.strict && !report.verdict.is_good();
    let exit = if report.ok && !strict { Exit::Done } else { Exit::Negative };
    Answer::done(json, text(args, report)).exit(exit)
}

/// An optimal motion is more than its bytes: intervals run again by the DAE engine, and conditions evaluated at its nodes. Whether it is the best one is not checked.
fn answer_of_optimum(
    args: &VerifyArgs,
    report: &VerifyReport,
    recorded: &Recorded,
) -> Result<Answer, Failure> {
    let wrong = |error: String| Failure::new(Exit::Failed, error);
    let certificate = recorded.certify(AGAIN).map_err(wrong)?;
    let missed = recorded.missed().map_err(wrong)?;
    // The motion is what the recording says; whether it is what the problem asks for is another question.
    let mut report = report.clone();
    if missed.is_some() {
        report.ok = false;
        report.no_optimum.get_or_insert_with(|| "infeasible".to_owned());
    }
    if let Some((condition, by)) = &missed {
        report.verdict.push(Finding {
            level: Level::Failed,
            quantity: "status".to_owned(),
            value: by.abs(),
            limit: 0.0,
            time: None,
            element: Some(condition.clone()),
            cause: format!("`{condition}` is missed by {}", sig(*by, 2)),
            remedy: "optimize again".to_owned(),
        });
    }
    if let Some(finding) = certificate.as_ref().and_then(replay_finding) {
        report.ok &= finding.level < Level::Failed;
        report.verdict.push(finding);
    }
    let report = &report;
    let mut answer = answer(args, report);
    answer.json.insert("no_optimum".to_owned(), json!(report.no_optimum));
    if let Some(certificate) = &certificate {
        let _ = writeln!(
            answer.text,
            "  run again by the dae engine, interval by interval: states differ by {} at most",
            sig(certificate.state_error, 2)
        );
    }
    let _ = match &missed {
        None => writeln!(answer.text, "  all conditions hold at its nodes"),
        Some((name, by)) => {
            writeln!(answer.text, "  `{name}` is missed by {}", sig(*by, 2))
        }
    };
    let missed = missed.map(|(name, by)| json!({ "condition": name, "by": by }));
    answer.json.insert("missed".to_owned(), missed.unwrap_or(Value::Null));
    let again = serde_json::to_value(&certificate).unwrap_or(Value::Null);
    answer.json.insert("dae_certificate".to_owned(), again);
    Ok(answer)
}

fn text(args: &VerifyArgs, report: &VerifyReport) -> String {
    let path = args.recording.display();
    let doubtful = report.verdict.level == Level::Doubtful;
    let mut out = if report.ok && doubtful {
        // What is not good is never called verified.
        format!(
            "{} {path}: {} of `{}`, the same bit by bit, but the result is doubtful\n",
            styled(WARN, "reproduced"),
            bytes(report.recorded_bytes),
            report.again.model,
        )
    } else if report.ok {
        let how = report.recorded.as_ref().map_or_else(String::new, |c| format!(", {}", c.end));
        format!(
            "{} {path}: {} of `{}`{how}, the same bit by bit\n",
            styled(GOOD, "verified"),
            bytes(report.recorded_bytes),
            report.again.model,
        )
    } else {
        let mut out = format!("{} {path}\n", styled(BAD, "not verified"));
        out.push_str(&wrap(&report.to_string(), 2, width()));
        out
    };
    for finding in &report.verdict.findings {
        let finding = format!("{}: {}; {}", finding.level, finding.cause, finding.remedy);
        out.push_str(&wrap(&finding, 2, width()));
    }
    if report.recorded.is_some() {
        let _ = writeln!(out, "verdict: {}", judged::word(&report.verdict));
    }
    if report.version_differs() {
        let note = format!(
            "recorded by gelenk {}, run again by {}",
            report.recorded_version, report.version
        );
        let _ = writeln!(out, "{}: {note}", styled(WARN, "note"));
    }
    out
}

/// A damaged recording is not verified; one that the system cannot read is an I/O error; anything else is no recording.
fn unreadable(args: &VerifyArgs, error: &VerifyError) -> Result<Answer, Failure> {
    let path = args.recording.display();
    if let VerifyError::Recording(RecordingError::Damaged { offset, what }) = error {
        let json = json!({
            "recording": path.to_string(),
            "verified": false,
            "reproduced": false,
            "whole": false,
            "integrity": error.to_string(),
            "first_difference": { "offset": offset, "what": what },
        });
        let text = format!(
            "{} {path}\n{}",
            styled(BAD, "not verified"),
            wrap(&error.to_string(), 2, width())
        );
        return Ok(Answer::done(json, text).exit(Exit::Negative));
    }
    let io = matches!(error, VerifyError::Recording(error) if error.is_io());
    let exit = if io { Exit::Io } else { Exit::Input };
    Err(Failure::new(exit, format!("`{path}`: {error}")))
}
