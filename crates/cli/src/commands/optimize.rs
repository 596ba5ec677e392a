//! `gelenk optimize`: the best motion of a problem.

use std::fmt::Write;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gelenk::files::{Kind, beside};
use gelenk::optimize::interior::Status;
use gelenk::optimize::problem::{Failed, Finished, Live, Problem, RunOptions, Solution, optimize};
use gelenk::optimize::{
    CheckpointError, DaeCertificate, Gait, answer_json, certify_by_dae, gait, gallery,
    record_found, status_word, verdict_on,
};
use serde_json::{Value, json};

use super::sensitivity::stability_word;
use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::OptimizeArgs;
use crate::reports::{History, of_optimum};
use crate::show::{BOLD, DIM, GOOD, HINT, WARN, styled, width};
use crate::source::{bad_model, read_standard_input};
use crate::text::{Align, Table, sig};
use crate::{files, interrupt, judged, reports, show};

/// The largest file of a motion that is read, bytes.
const MOST_MOTION: u64 = 1 << 30;
/// Seconds between samples of a recording.
const SAMPLE: f64 = 0.005;
/// Tolerance of the DAE engine when it runs a motion again.
const AGAIN: f64 = 1e-11;
/// How often a checkpoint is forced to disk; in between the system writes it when it likes, which a killed process survives.
const SYNC: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &OptimizeArgs, manner: Manner) -> Result<Answer, Failure> {
    let Some(name) = &args.problem else { return Ok(list()) };
    let (text, folder) = text_of(name)?;
    if args.print {
        return Ok(Answer::done(json!({ "problem": name, "text": text }), text).asked());
    }
    let problem = gelenk::optimize::read(name, &text, &args.set, folder.as_deref())
        .map_err(|faults| bad_model(&faults))?;
    let stem = files::file_stem(&problem.name);
    let checkpoint = match (&args.checkpoint, args.no_checkpoint) {
        (_, true) => None,
        (Some(path), _) => Some(path.clone()),
        (None, _) => Some(PathBuf::from(format!("{stem}.checkpoint"))),
    };
    let recording = match (&args.record, args.no_record || problem.model().is_none()) {
        (_, true) => None,
        (Some(path), _) => Some(path.clone()),
        (None, _) if manner.json => None,
        (None, _) => Some(PathBuf::from(format!("{stem}.mcap"))),
    };
    if let (Some(path), None) = (&args.record, problem.model()) {
        let message =
            format!("`{}` cannot be written: the problem has no model to show", path.display());
        return Err(Failure::input(message).help("--output FILE writes the motion's numbers"));
    }
    let before = checkpoint.as_deref().map(gelenk::optimize::older);
    let checkpoints = checkpoint.iter().chain(&before).map(|path| (path, Kind::Checkpoint));
    let places = checkpoints
        .chain(args.output.iter().map(|path| (path, Kind::Motion)))
        .chain(recording.iter().map(|path| (path, Kind::Recording)))
        .chain(args.report.iter().map(|path| (path, Kind::Report)));
    files::check_places(places, name, manner)?;
    let warm = args.from.as_deref().map(read_motion).transpose()?;
    let options = RunOptions {
        starts: args.starts.map(|n| n as usize),
        seed: args.seed,
        intervals: args.intervals.map(|n| n as usize),
        tolerance: args.tolerance,
        max_iterations: args.max_iterations.map(|n| n as usize),
        warm,
        barrier: None,
    };
    let settings = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        args.set, args.seed, args.intervals, args.tolerance, args.from
    );
    let key = gelenk::optimize::key(&text, &settings);
    let resume = match (&checkpoint, args.resume) {
        (Some(path), true) => {
            Some(gelenk::optimize::restore(path, &key).map_err(|e| checkpoint_failure(&e))?)
        }
        _ => None,
    };
    interrupt::be_graceful();
    let begin = Instant::now();
    let mut watch = Watch {
        lines: !manner.quiet && (args.log || std::io::stderr().is_terminal()),
        headed: None,
        checkpoint: checkpoint.as_deref(),
        key: &key,
        synced: None,
        trouble: None,
        history: args.report.as_ref().map(|_| History::default()),
    };
    let result = optimize(&problem, &options, resume, &mut |live| watch.iteration(live));
    let wall_seconds = begin.elapsed().as_secs_f64();
    let (trouble, history) = (watch.trouble.take(), watch.history.take());
    let finished = match result {
        Ok(finished) => finished,
        Err(Failed::File(faults)) => return Err(bad_model(&faults)),
        Err(error @ Failed::Motion(_)) => return Err(Failure::input(error.to_string())),
        Err(error) => {
            return Err(
                Failure::new(Exit::Failed, error.to_string()).help("another guess may help")
            );
        }
    };
    let best = &finished.found[finished.best];
    let mut json = answer_json(&problem, &finished);
    json.insert("wall_seconds".to_owned(), wall_seconds.into());
    // The best may be that of an earlier start.
    let stopped = finished.found.iter().position(|found| found.status == Status::Stopped);
    if stopped.is_some() {
        json.insert("status".to_owned(), "stopped".into());
    }
    let file = text;
    let mut failure = trouble;
    let again = if best.status == Status::Optimal {
        certify_by_dae(&problem, &best.solution, &finished.free, AGAIN).unwrap_or_else(|error| {
            let message = format!("the dae engine does not run the motion again: {error}");
            failure.get_or_insert(Failure::new(Exit::Failed, message));
            None
        })
    } else {
        None
    };
    json.insert("dae_certificate".to_owned(), serde_json::to_value(&again).unwrap_or(Value::Null));
    let mut text = summary(&problem, &finished, again.as_ref(), wall_seconds);
    if args.stability && best.status == Status::Optimal {
        match gait(&problem, &best.solution, &finished.free, AGAIN) {
            Ok(found) => {
                json.insert("stability".to_owned(), stability_json(found.as_ref()));
                text.push_str(&stability_text(found.as_ref()));
            }
            Err(error) => {
                let message = format!("the multipliers cannot be found: {error}");
                failure.get_or_insert(Failure::new(Exit::Failed, message));
            }
        }
    }
    if let Some(path) = &args.output {
        let path = &place_of_motion(path, &best.status);
        let status = status_word(&best.status);
        let motion = json!({ "problem": problem.name, "status": status, "motion": best.solution });
        match files::write(path, Kind::Motion, manner, format!("{motion}\n").as_bytes()) {
            Ok(()) => {
                json.insert("output".to_owned(), path.display().to_string().into());
                let _ = writeln!(text, "motion: {}", path.display());
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Some(path) = &recording
        && best.status != Status::Faulty
    {
        // A motion that is not an optimum never gets the name of one.
        let optimal = best.status == Status::Optimal;
        let failed = (!optimal).then(|| beside(path, "failed", Kind::Recording));
        let asked = path;
        let path = failed.as_ref().unwrap_or(path);
        match record_found(&problem, best, SAMPLE, path, manner.overwrite) {
            Ok(Some(samples)) => {
                json.insert("recording".to_owned(), path.display().to_string().into());
                let _ = writeln!(text, "recording: {} ({samples} samples)", path.display());
                if !optimal {
                    let status = status_word(&best.status);
                    let _ = write!(text, "  not an optimum ({status})");
                    let stays = format!("; {} stays as it was", asked.display());
                    text.push_str(if asked.exists() { &stays } else { "" });
                    text.push('\n');
                }
            }
            Ok(None) => {}
            Err(error) => {
                let exit = if error.is_io() { Exit::Io } else { Exit::Failed };
                failure = failure.or(Some(Failure::new(exit, error.to_string())));
            }
        }
    }
    let verdict = verdict_on(&finished, again.as_ref());
    let mut answer = Answer::done(Value::Object(json), text);
    judged::tell(&mut answer, &verdict, manner);
    if let (Some(path), Some(history)) = (&args.report, &history) {
        let mut page = of_optimum(&problem, &file, &options, &finished, history, wall_seconds);
        judged::report(&mut page, &verdict);
        let fault = (best.status != Status::Optimal).then_some("failed");
        let path = &files::place_of(path, Kind::Report, fault);
        if let Err(error) = reports::write(&mut answer, path, &page, manner) {
            failure = failure.or(Some(error));
        }
    }
    if best.status == Status::Optimal
        && failure.is_none()
        && stopped.is_none()
        && let Some(path) = &checkpoint
    {
        // Done: nothing to go on with.
        gelenk::optimize::discard(path);
    }
    if let Some(failure) = failure {
        return Ok(answer.failed(failure));
    }
    if let Some(start) = stopped {
        let of = finished.starts;
        let which = if of > 1 { format!(" in start {} of {of}", start + 1) } else { String::new() };
        let iterations = finished.found[start].iterations;
        let message = format!("by Ctrl-C{which} after {iterations} iterations");
        let failure = Failure::new(Exit::Stopped, message);
        return Ok(answer.failed(match checkpoint {
            Some(_) => failure.help(format!("gelenk optimize {name} --resume goes on")),
            None => failure,
        }));
    }
    if best.status == Status::Infeasible {
        // The question was answered, with no.
        let _ = writeln!(answer.text, "\n{}: {}", styled(WARN, "infeasible"), best.message);
        return Ok(answer.exit(Exit::Negative));
    }
    if best.status != Status::Optimal {
        let failure = Failure::new(Exit::Failed, best.message.clone())
            .help("more iterations (--max-iterations), another guess, more starts (--starts 20) or a homotopy may help");
        answer = answer.failed(failure);
    } else if let Some(failure) = judged::refused(&verdict, args.strict) {
        answer = answer.failed(failure);
    }
    Ok(answer)
}

fn stability_json(found: Option<&Gait>) -> Value {
    let Some(gait) = found else { return Value::Null };
    let multipliers: Vec<Value> = gait
        .multipliers
        .iter()
        .map(|m| json!({ "re": m.re, "im": m.im, "abs": m.norm() }))
        .collect();
    json!({
        "period": gait.period,
        "moved": gait.moved.as_slice(),
        "gap": gait.gap,
        "multipliers": multipliers,
        "stability": stability_word(gait.stability),
    })
}

fn stability_text(found: Option<&Gait>) -> String {
    let Some(gait) = found else {
        return "stability: the motion does not come back to its start in one phase\n".to_owned();
    };
    let largest: Vec<String> = gait.multipliers.iter().take(4).map(|m| sig(m.norm(), 4)).collect();
    format!(
        "stability: {}; a period of {} s moves it on by {} m; largest multipliers {}\n",
        stability_word(gait.stability),
        sig(gait.period, 6),
        sig(gait.moved.norm(), 4),
        largest.join(", ")
    )
}

fn list() -> Answer {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let mut entries = Vec::new();
    for named in gallery::PROBLEMS {
        let about = named
            .text
            .lines()
            .find_map(|line| line.strip_prefix("description = \""))
            .map_or("", |rest| rest.trim_end_matches('"'));
        table.row([named.name.to_owned(), about.to_owned()]);
        entries.push(json!({ "name": named.name, "description": about }));
    }
    let text = format!("{}\n{}", table.render(width()), hint_line("gelenk optimize cart-pole"));
    Answer::done(json!({ "problems": entries }), text).asked()
}

fn hint_line(command: &str) -> String {
    format!("{} {command}\n", styled(HINT, "next:"))
}

/// The text of a problem, and the folder its models lie in.
fn text_of(name: &str) -> Result<(String, Option<PathBuf>), Failure> {
    if name == "-" {
        let most = gelenk::model::Limits::default().file;
        return Ok((read_standard_input(most)?, Some(PathBuf::from("."))));
    }
    if let Some(named) = gallery::problem(name) {
        return Ok((named.text.to_owned(), None));
    }
    let path = Path::new(name);
    match path.metadata() {
        Ok(data) if data.is_file() => {
            if data.len() > gelenk::model::Limits::default().file {
                return Err(Failure::input(format!("`{name}` is larger than a problem may be")));
            }
            let bytes = files::read(path, gelenk::model::Limits::default().file)?;
            let text = String::from_utf8(bytes)
                .map_err(|_| Failure::input(format!("`{name}` is not UTF-8 text")))?;
            Ok((text, path.parent().map(Path::to_owned)))
        }
        Ok(_) => Err(Failure::input(format!("`{name}` is not a regular file"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let failure = Failure::input(format!("`{name}` is neither a named problem nor a file"));
            let names = gallery::PROBLEMS.iter().map(|p| p.name);
            Err(match gelenk::nearest(name, names) {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure.help("`gelenk optimize` lists the named problems"),
            })
        }
        Err(error) => Err(Failure::io("read", path, &error)),
    }
}

/// Where the motion found goes: beside the place asked for, if it is no optimum and one is there.
fn place_of_motion(path: &Path, status: &Status) -> PathBuf {
    let good = || {
        let there = read_motion_file(path).ok();
        let status = there.as_ref().and_then(|value| value.get("status")).and_then(Value::as_str);
        path.exists() && status.is_none_or(|status| status == "optimal")
    };
    if *status != Status::Optimal && good() {
        beside(path, "failed", Kind::Motion)
    } else {
        path.to_owned()
    }
}

fn read_motion_file(path: &Path) -> Result<Value, Failure> {
    serde_json::from_slice(&files::read(path, MOST_MOTION)?)
        .map_err(|error| Failure::input(format!("`{}` is no motion: {error}", path.display())))
}

/// The motion in a file that `--output` wrote.
fn read_motion(path: &Path) -> Result<Solution, Failure> {
    files::must_exist(path, "motion")?;
    let value = read_motion_file(path)?;
    serde_json::from_value(value.get("motion").cloned().unwrap_or(value))
        .map_err(|error| Failure::input(format!("`{}` is no motion: {error}", path.display())))
}

fn checkpoint_failure(error: &CheckpointError) -> Failure {
    if let CheckpointError::Io { doing: "read", path, error } = error
        && error.kind() == std::io::ErrorKind::NotFound
    {
        let message = format!("there is no checkpoint `{}` to go on from", path.display());
        return Failure::new(Exit::Io, message).help("without --resume it begins anew");
    }
    if let CheckpointError::Refused(refusal) = error {
        return files::refused(refusal, Kind::Checkpoint);
    }
    let exit = if matches!(error, CheckpointError::Io { .. }) { Exit::Io } else { Exit::Input };
    Failure::new(exit, error.to_string())
}

/// Tells iterations, writes checkpoints, listens for Ctrl-C.
struct Watch<'a> {
    lines: bool,
    headed: Option<gelenk::optimize::problem::Stage>,
    checkpoint: Option<&'a Path>,
    key: &'a str,
    synced: Option<Instant>,
    trouble: Option<Failure>,
    /// What a report tells of the iterations, if one is wanted.
    history: Option<History>,
}

impl Watch<'_> {
    fn iteration(&mut self, live: &Live<'_>) -> ControlFlow<()> {
        if self.lines {
            self.line(live);
        }
        if let Some(history) = &mut self.history {
            history.see(live);
        }
        if let Some(path) = self.checkpoint
            && let Some(checkpoint) = (live.checkpoint)()
        {
            let sync = self.synced.is_none_or(|at| at.elapsed() > SYNC);
            if sync {
                self.synced = Some(Instant::now());
            }
            if let Err(error) = gelenk::optimize::save(path, self.key, checkpoint, sync) {
                self.trouble = Some(checkpoint_failure(&error));
                return ControlFlow::Break(());
            }
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn line(&mut self, live: &Live<'_>) {
        let stage = live.stage;
        if self.headed != Some(stage) {
            self.headed = Some(stage);
            let mut title = String::new();
            if live.of.0 > 1 {
                let _ = write!(title, "start {} of {}  ", live.stage.start + 1, live.of.0);
            }
            if live.of.1 > 1 {
                let _ = write!(title, "homotopy step {} of {}  ", live.stage.step + 1, live.of.1);
            }
            if live.stage.shorter {
                title.push_str("half the horizon first  ");
            }
            if live.stage.round > 0 {
                title.push_str("finer integration steps");
            }
            if !title.is_empty() {
                show::err(&styled(BOLD, title.trim_end()));
            }
            show::err(&styled(
                DIM,
                "iteration        objective  infeasibility        KKT    step  active",
            ));
        }
        let note = if live.restoring { "  restoring feasibility" } else { "" };
        show::err(&format!(
            "{:9} {:>16.9} {:>14.2e} {:>10.2e} {:>7.3} {:>7}{note}",
            live.iteration, live.objective, live.infeasibility, live.kkt, live.step, live.active
        ));
    }
}

fn summary(
    problem: &Problem,
    finished: &Finished,
    again: Option<&DaeCertificate>,
    wall_seconds: f64,
) -> String {
    let best = &finished.found[finished.best];
    let mut out = format!("{}\n", styled(BOLD, &problem.name));
    if !problem.description().is_empty() {
        out.push_str(&crate::text::wrap(problem.description(), 2, width()));
    }
    let mut table = Table::new(&[Align::Left, Align::Left]);
    let style = if best.status == Status::Optimal { GOOD } else { WARN };
    table.row(["status".to_owned(), styled(style, status_word(&best.status))]);
    table.row(["objective".to_owned(), sig(best.objective, 10)]);
    if let Some(c) = &best.certificate {
        table.row([
            "run again".to_owned(),
            format!("{}, states differ by {} at most", sig(c.objective, 10), sig(c.state_error, 2)),
        ]);
    }
    if let Some(c) = again {
        let says = format!("states differ by {} at most", sig(c.state_error, 2));
        table.row(["by dae engine".to_owned(), says]);
    }
    if let Some(known) = problem.known() {
        table.row(["known".to_owned(), known.to_owned()]);
    }
    table.row(["KKT error".to_owned(), sig(best.kkt, 2)]);
    table.row(["infeasibility".to_owned(), sig(best.infeasibility, 2)]);
    table.row(["active".to_owned(), best.active.to_string()]);
    table.row(["iterations".to_owned(), best.iterations.to_string()]);
    table.row(["time".to_owned(), format!("{} s", sig(wall_seconds, 3))]);
    for phase in best.solution.phases.iter().filter(|phase| !phase.name.is_empty()) {
        let duration = sig(phase.times.last().copied().unwrap_or(0.0), 6);
        let says = format!("{duration} s in {} intervals", phase.controls.len());
        table.row([format!("phase {}", phase.name), says]);
    }
    for (name, value) in finished.free.iter().zip(&best.solution.free) {
        table.row([name.clone(), sig(*value, 10)]);
    }
    out.push_str(&table.render(width()));
    if finished.found.len() > 1 {
        let _ = writeln!(out, "\n{}", styled(BOLD, "Distinct optima"));
        let mut table = Table::new(&[Align::Right, Align::Left]);
        for &i in &finished.distinct {
            table.row([sig(finished.found[i].objective, 10), finished.found[i].kind.clone()]);
        }
        out.push_str(&table.render(width()));
        let failed = finished.found.iter().filter(|f| f.status != Status::Optimal).count();
        if failed > 0 {
            let _ = writeln!(
                out,
                "  {failed} of {} starts did not come to an optimum",
                finished.found.len()
            );
        }
    }
    if best.status != Status::Optimal && best.violated.len() > 1 {
        let _ = writeln!(out, "\n{}", styled(BOLD, "Conditions that do not hold"));
        let mut table = Table::new(&[Align::Left, Align::Right]);
        for (name, by) in &best.violated {
            table.row([name.clone(), sig(*by, 3)]);
        }
        out.push_str(&table.render(width()));
    }
    out
}
