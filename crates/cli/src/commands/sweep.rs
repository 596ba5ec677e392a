//! `gelenk sweep`: one model for many values, one table.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use gelenk::files::{Kind, WriteError};
use gelenk::sweep::{
    Done, Journal, JournalError, Plan, Row, pictures, run as work, write_table_file,
};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::SweepArgs;
use crate::progress::Progress;
use crate::show::{BAD, BOLD, DIM, GOOD, WARN, styled};
use crate::text::{counted, sig};
use crate::{files, interrupt, source};

/// Failures that are listed.
const MOST: usize = 12;
/// The first words of a log.
const LOG: &str = "{\"gelenk_sweep_log\":";
/// The longest sweep file, bytes.
const MOST_BYTES: u64 = 16 << 20;

pub(crate) fn run(args: &SweepArgs, manner: Manner) -> Result<Answer, Failure> {
    let plan = read(&args.file)?;
    let output = match &args.output {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}.parquet", files::file_stem(&plan.name))),
    };
    let plots = args.plot.as_ref().map(|path| plot_places(&plan, path)).transpose()?;
    let places = plots.iter().flatten().map(|path| (path, Kind::Svg));
    let all = [(&output, Kind::Parquet)].into_iter().chain(places);
    files::check_places(all, &args.file, manner)?;
    if let Some(folder) = &args.recordings {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::io("make the folder", folder, &error))?;
    }
    let log = args.log.as_ref().map(|path| open_log(path, &plan)).transpose()?;
    let place = beside(&output);
    let (journal, rows) =
        Journal::open(&place, &plan, args.restart).map_err(|error| no_journal(&error))?;
    let before = rows.len() as u64;
    interrupt::be_graceful();
    let n = plan.n_members();
    let mut progress = Progress::of_work(&plan.name, n as f64, manner.quiet || manner.json);
    progress.reached(before as f64);
    let state = Mutex::new(State { journal, log, progress, done: before, trouble: None });
    let stop = interrupt::stop();
    let each = |row: &Row, seconds: f64| {
        let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Err(failure) = state.take(row, seconds) {
            state.trouble = state.trouble.take().or(Some(failure));
            stop.ask();
        }
    };
    let result = work(&plan, args.threads, rows, args.recordings.as_deref(), &stop, &each);
    let State { journal, progress, trouble, .. } =
        state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    progress.clear();
    if let Some(failure) = trouble {
        return Err(failure);
    }
    let done = result.map_err(|error| Failure::new(Exit::Io, error.to_string()))?;
    let mut answer = summary(&plan, &done, before);
    if !done.complete {
        let message = format!(
            "by Ctrl-C with {} of {n} members done; the same command goes on",
            done.rows.len()
        );
        return Ok(answer.failed(Failure::new(Exit::Stopped, message)));
    }
    write_table_file(&plan, &done.rows, &output, manner.overwrite).map_err(
        |error| match error {
            WriteError::Refused(refusal) => files::refused(&refusal, Kind::Parquet),
            WriteError::Failed(error) => Failure::new(Exit::Io, error.to_string()),
        },
    )?;
    journal.remove().map_err(|error| no_journal(&error))?;
    answer.json.insert("output".to_owned(), output.display().to_string().into());
    let _ = writeln!(answer.text, "table: {}", output.display());
    if let Some(plots) = plots {
        let drawn =
            pictures(&plan, &done.rows).map_err(|error| Failure::input(error.to_string()))?;
        for (path, (_, svg)) in plots.iter().zip(drawn) {
            files::write(path, Kind::Svg, manner, svg.as_bytes())?;
            let _ = writeln!(answer.text, "plot: {}", path.display());
        }
        let list: Vec<String> = plots.iter().map(|path| path.display().to_string()).collect();
        answer.json.insert("plots".to_owned(), json!(list));
    }
    let failed = done.rows.iter().any(Row::failed);
    Ok(if failed { answer.exit(Exit::Negative) } else { answer })
}

/// Reads the sweep file; its models lie beside it.
fn read(name: &str) -> Result<Plan, Failure> {
    let (text, folder) = if name == "-" {
        (source::read_standard_input(MOST_BYTES)?, PathBuf::from("."))
    } else {
        let path = Path::new(name);
        files::must_exist(path, "sweep file")?;
        let text = String::from_utf8(files::read(path, MOST_BYTES)?)
            .map_err(|_| Failure::input(format!("`{name}` is not UTF-8 text")))?;
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        (text, if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder })
    };
    Plan::read(name, &text, Some(&folder), None).map_err(|faults| source::bad_model(&faults))
}

/// The journal of a table.
fn beside(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(".journal");
    output.with_file_name(name)
}

/// A picture for each number that is kept: the path itself, or with the name where there are several.
fn plot_places(plan: &Plan, path: &Path) -> Result<Vec<PathBuf>, Failure> {
    // What cannot be drawn is known before any work is done.
    pictures(plan, &[]).map_err(|error| Failure::input(format!("--plot: {error}")))?;
    if plan.keep.len() == 1 {
        return Ok(vec![path.to_owned()]);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let named = |name: &str| path.with_file_name(format!("{stem}-{}.svg", files::file_stem(name)));
    Ok(plan.keep.iter().map(|keep| named(&keep.name)).collect())
}

/// Opens a log to write on at its end; another file is refused.
fn open_log(path: &Path, plan: &Plan) -> Result<File, Failure> {
    let io = |error: std::io::Error| Failure::io("write", path, &error);
    if path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
        return Err(Failure::input(format!("`{}` is not a regular file", path.display())));
    }
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
    let mut head = Vec::new();
    (&mut file).take(LOG.len() as u64).read_to_end(&mut head).map_err(io)?;
    if !head.is_empty() && head != LOG.as_bytes() {
        let message = format!("`{}` is not the log of a sweep", path.display());
        return Err(Failure::input(message).help("choose another name"));
    }
    writeln!(file, "{LOG}{},\"begun\":{}}}", json!(plan.name), clock()).map_err(io)?;
    Ok(file)
}

/// Seconds since 1970.
fn clock() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// What happens to rows as they come.
struct State {
    journal: Journal,
    log: Option<File>,
    progress: Progress,
    done: u64,
    trouble: Option<Failure>,
}

impl State {
    fn take(&mut self, row: &Row, seconds: f64) -> Result<(), Failure> {
        self.journal.append(row).map_err(|error| no_journal(&error))?;
        if let Some(log) = &mut self.log {
            let line = json!({
                "member": row.member, "seconds": seconds, "finished": clock(), "verdict": row.verdict,
            });
            let io = |error| Failure::new(Exit::Io, format!("cannot write the log: {error}"));
            writeln!(log, "{line}").map_err(io)?;
        }
        self.done += 1;
        self.progress.reached(self.done as f64);
        Ok(())
    }
}

fn no_journal(error: &JournalError) -> Failure {
    match error {
        JournalError::Io { .. } => Failure::new(Exit::Io, error.to_string()),
        JournalError::Other(_) => Failure::input(error.to_string())
            .help("--restart drops what it holds, another --output leaves it"),
        _ => Failure::input(error.to_string()).help("choose another --output"),
    }
}

fn summary(plan: &Plan, done: &Done, before: u64) -> Answer {
    let n = plan.n_members();
    let count = |word: &str| done.rows.iter().filter(|row| row.verdict == word).count() as u64;
    let (good, doubtful, failed) = (count("good"), count("doubtful"), count("failed"));
    let failures: Vec<Value> = done
        .rows
        .iter()
        .filter(|row| row.failed())
        .map(|row| json!({ "member": row.member, "values": values(plan, row), "error": row.error }))
        .collect();
    let mut text = format!("{}\n", styled(BOLD, &plan.name));
    let _ =
        writeln!(text, "  {} of {n} done", counted(done.rows.len() as u64, "member", "members"));
    if before > 0 {
        let _ = writeln!(text, "  {before} of them before, from the journal");
    }
    let _ = writeln!(text, "  {} good", styled(GOOD, good));
    if doubtful > 0 {
        let _ = writeln!(text, "  {} doubtful", styled(WARN, doubtful));
    }
    if failed > 0 {
        let _ = writeln!(text, "  {} failed", styled(BAD, failed));
    }
    for row in done.rows.iter().filter(|row| row.failed()).take(MOST) {
        let list: Vec<String> = plan
            .vary
            .iter()
            .zip(plan.values(row.member))
            .map(|(vary, x)| format!("{} = {}", vary.what.column(), sig(x, 6)))
            .collect();
        let _ = writeln!(
            text,
            "    member {} ({}): {}",
            row.member,
            list.join(", "),
            row.error.as_deref().unwrap_or_default()
        );
    }
    if failed > MOST as u64 {
        let more = format!("... and {} more, in the table", failed - MOST as u64);
        let _ = writeln!(text, "    {}", styled(DIM, more));
    }
    let json = json!({
        "sweep": plan.name,
        "members": n,
        "done": done.rows.len(),
        "from_journal": before,
        "good": good,
        "doubtful": doubtful,
        "failed": failed,
        "failures": failures,
    });
    Answer::done(json, text)
}

fn values(plan: &Plan, row: &Row) -> Value {
    let list = plan.vary.iter().zip(plan.values(row.member));
    Value::Object(list.map(|(vary, x)| (vary.what.column(), json!(x))).collect())
}
