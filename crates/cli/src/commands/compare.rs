//! `gelenk compare`: the engines against each other.

use std::fmt::Write;
use std::ops::ControlFlow;

use gelenk::compare::gallery::{Line, Outcome, gallery};
use gelenk::compare::{CompareError, CompareOptions, Comparison, Difference, compare, plot_svg};
use gelenk::files::Kind;
use gelenk::model::Model;
use serde_json::{Map, Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::CompareArgs;
use crate::show::{BAD, BOLD, DIM, GOOD, styled, width};
use crate::source::{self, Start};
use crate::text::{Align, Table, grouped, sig, wrap};
use crate::{files, interrupt, judged, reports};

/// Longer comparisons of chaotic models measure chaos; this is the default end, s.
const USUAL_DURATION: f64 = 1.0;
/// Times compared unless told.
const TIMES: u32 = 20;
/// Times shown in the table.
const MOST_TIMES: usize = 25;
/// The word for all models of the gallery.
const GALLERY: &str = "gallery";

pub(crate) fn run(args: &CompareArgs, manner: Manner) -> Result<Answer, Failure> {
    if args.model.model == GALLERY {
        return whole_gallery(args);
    }
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let model = &loaded.model;
    let options = options(args, model)?;
    let places = args
        .plot
        .iter()
        .map(|path| (path, Kind::Svg))
        .chain(args.report.iter().map(|path| (path, Kind::Report)));
    files::check_places(places, &args.model.model, manner)?;
    interrupt::be_graceful();
    let comparison = compare(&loaded, &options, &mut || {
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let comparison = comparison.map_err(|error| failure(&error))?;
    if comparison.runs.len() < 2 {
        let reasons: Vec<&str> = comparison.unable.iter().map(|(_, why)| why.as_str()).collect();
        let why =
            if reasons.is_empty() { "it takes two engines".to_owned() } else { reasons.join("; ") };
        return Err(Failure::input(format!("there is nothing to compare: {why}")));
    }
    let mut json = to_json(model, &options, &comparison);
    let mut text = to_text(model, &options, &comparison);
    if let Some(path) = &args.plot {
        files::write(path, Kind::Svg, manner, plot_svg(model, &comparison).as_bytes())?;
        json.insert("plot".to_owned(), path.display().to_string().into());
        let _ = writeln!(text, "\nplot: {}", path.display());
    }
    let exit = if comparison.agree { Exit::Done } else { Exit::Negative };
    let mut answer = Answer::done(Value::Object(json), text).exit(exit);
    judged::tell(&mut answer, &comparison.verdict, manner);
    if let Some(path) = &args.report {
        let report = reports::of_comparison(&loaded, &options, &comparison);
        reports::write(&mut answer, path, &report, manner)?;
    }
    // That they disagree is an answer.
    if comparison.agree
        && let Some(failure) = judged::refused(&comparison.verdict, args.strict)
    {
        return Ok(answer.failed(failure));
    }
    Ok(answer)
}

/// Every model of the gallery, each with its bar.
fn whole_gallery(args: &CompareArgs) -> Result<Answer, Failure> {
    let given = [
        ("--set", !args.model.set.is_empty()),
        ("--duration", args.duration.is_some()),
        ("--at", !args.at.is_empty()),
        ("--step", args.step.is_some()),
        ("--plot", args.plot.is_some()),
        ("--report", args.report.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::input(format!("`gelenk compare gallery` takes no {option}"))
            .help("compare one model to use it"));
    }
    interrupt::be_graceful();
    let lines = gallery(&|| {
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let lines = lines.map_err(|error| failure(&error))?;
    let agree = lines.iter().all(|line| !matches!(line.outcome, Outcome::Apart(_)));
    let json = json!({
        "agree": agree,
        "models": lines.iter().map(line_json).collect::<Vec<_>>(),
    });
    let exit = if agree { Exit::Done } else { Exit::Negative };
    Ok(Answer::done(json, gallery_text(&lines)).exit(exit))
}

fn line_json(line: &Line) -> Value {
    let without: Vec<Value> = (line.without.iter())
        .map(|(engine, reason)| json!({ "engine": engine, "reason": reason }))
        .collect();
    let (word, reason) = match &line.outcome {
        Outcome::Agrees => ("agrees", None),
        Outcome::LeftOut(reason) => ("left-out", Some(reason)),
        Outcome::Apart(place) => ("apart", Some(place)),
    };
    json!({
        "model": line.model,
        "changed": line.changed,
        "duration": line.duration,
        "within": line.within,
        "engines": line.engines,
        "order": line.order,
        "without": without,
        "apart": line.apart,
        "outcome": word,
        "reason": reason,
    })
}

fn gallery_text(lines: &[Line]) -> String {
    let mut out = format!("{}\n", styled(BOLD, "The engines on the gallery"));
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Left]);
    table.styled(DIM, ["", "apart, m", "bar, m", "engines"]);
    for line in lines {
        let apart = line.apart.map_or_else(String::new, |apart| format!("{apart:.1e}"));
        let (bar, engines) = match &line.outcome {
            Outcome::Agrees => (format!("{:.0e}", line.within), line.engines.join(" ")),
            Outcome::LeftOut(_) => (String::new(), "left out".to_owned()),
            Outcome::Apart(place) => {
                (format!("{:.0e}", line.within), format!("{} {place}", styled(BAD, "apart")))
            }
        };
        table.row([line.model.to_owned(), apart, bar, engines]);
    }
    out.push_str(&table.render(width()));
    let mut notes = String::new();
    for line in lines {
        if let Outcome::LeftOut(reason) = &line.outcome {
            notes.push_str(&wrap(&format!("{}: {reason}", line.model), 2, width()));
        } else {
            for (engine, reason) in &line.without {
                let note = format!("{}, {engine}: {reason}", line.model);
                notes.push_str(&wrap(&note, 2, width()));
            }
        }
        if let Some(changed) = &line.changed {
            notes.push_str(&wrap(&format!("{}: {changed}", line.model), 2, width()));
        }
    }
    let _ = write!(out, "\n{}\n{notes}", styled(BOLD, "Left out or changed"));
    let count = |wanted: fn(&Outcome) -> bool| lines.iter().filter(|l| wanted(&l.outcome)).count();
    let agree = count(|outcome| *outcome == Outcome::Agrees);
    let left = count(|outcome| matches!(outcome, Outcome::LeftOut(_)));
    let apart = lines.len() - agree - left;
    let words = format!("{agree} models agree, {left} are left out, {apart} are apart");
    let style = if apart == 0 { GOOD } else { BAD };
    let _ = writeln!(out, "\n{}", styled(style, words));
    out
}

fn options(args: &CompareArgs, model: &Model) -> Result<CompareOptions, Failure> {
    let mut times: Vec<f64> = args.at.iter().flat_map(|times| &times.0).copied().collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let usual = times.last().copied().unwrap_or(model.run.duration.min(USUAL_DURATION));
    let duration = args.duration.unwrap_or(usual);
    if let Some(late) = times.iter().find(|&&t| t > duration * (1.0 + 1e-12)) {
        return Err(Failure::input(format!("--at {late} s lies after the end, {duration} s")));
    }
    if duration <= 0.0 {
        return Err(Failure::input("there is no time to compare over").help("give a --duration"));
    }
    let mut options = CompareOptions::new(duration, TIMES);
    if !times.is_empty() {
        options.times = times;
    }
    options.engines.clone_from(&args.engines);
    options.step = args.step;
    options.within = args.within;
    options.orders = !args.no_orders;
    Ok(options)
}

fn failure(error: &CompareError) -> Failure {
    match error {
        CompareError::Failed { .. } => Failure::new(Exit::Failed, error.to_string())
            .help("take a shorter --duration or a smaller --step"),
        CompareError::Stopped => {
            Failure::new(Exit::Stopped, "by Ctrl-C; a comparison has no result before its end")
        }
        _ => Failure::input(error.to_string()),
    }
}

fn difference_json(difference: &Difference) -> Value {
    json!({
        "time": difference.time,
        "position": difference.position,
        "rotation": difference.rotation,
        "velocity": difference.velocity,
        "energy": difference.energy,
        "body": difference.body,
    })
}

fn to_json(model: &Model, options: &CompareOptions, comparison: &Comparison) -> Map<String, Value> {
    let engines: Vec<Value> = comparison
        .runs
        .iter()
        .map(|run| {
            json!({
                "engine": run.engine,
                "how": run.how,
                "steps": run.steps,
                "wall_seconds": run.wall_seconds,
                "max_position_error": run.gap,
                "energy_max_abs_error": run.energy_error,
                "energies": run.energies,
                "verdict": run.verdict,
            })
        })
        .collect();
    let unable: Vec<Value> = comparison
        .unable
        .iter()
        .map(|(engine, reason)| json!({ "engine": engine, "reason": reason }))
        .collect();
    let orders: Vec<Value> = comparison
        .orders
        .iter()
        .map(|o| {
            json!({
                "order": o.order, "steps": o.steps, "errors": o.errors, "measured": o.measured,
            })
        })
        .collect();
    let value = json!({
        "model": model.name,
        "duration": options.duration,
        "within": options.within,
        "agree": comparison.agree,
        "engines": engines,
        "unable": unable,
        "worst": difference_json(&comparison.worst),
        "differences": comparison.differences.iter().map(difference_json).collect::<Vec<_>>(),
        "orders": orders,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn to_text(model: &Model, options: &CompareOptions, comparison: &Comparison) -> String {
    let mut out = format!("{}\n", styled(BOLD, &model.name));
    for run in &comparison.runs {
        let line = format!(
            "{}: {}; {} steps in {} s; gaps up to {:.1e}, energy to {:.1e} J",
            run.engine,
            run.how,
            grouped(run.steps),
            sig(run.wall_seconds, 2),
            run.gap,
            run.energy_error
        );
        out.push_str(&wrap(&line, 2, width()));
    }
    for (engine, reason) in &comparison.unable {
        out.push_str(&wrap(&format!("{engine}: {reason}"), 2, width()));
    }
    let _ = writeln!(out, "\n{}", styled(BOLD, "Differences"));
    let mut table = Table::new(&[Align::Right; 5]);
    table.styled(DIM, ["t, s", "position, m", "rotation, rad", "velocity, m/s", "energy, J"]);
    for d in comparison.differences.iter().take(MOST_TIMES) {
        let cells = [d.position, d.rotation, d.velocity, d.energy].map(|x| format!("{x:.1e}"));
        table.row(std::iter::once(sig(d.time, 5)).chain(cells));
    }
    out.push_str(&table.render(width()));
    if !comparison.orders.is_empty() {
        let _ = writeln!(out, "\n{}", styled(BOLD, "Orders of the impulse engine"));
        let mut table = Table::new(&[Align::Right; 5]);
        table.styled(DIM, ["order", "step, s", "error, m", "error with half the step", "measured"]);
        for o in &comparison.orders {
            table.row([
                o.order.to_string(),
                sig(o.steps[0], 4),
                format!("{:.1e}", o.errors[0]),
                format!("{:.1e}", o.errors[1]),
                o.measured.map_or("rounding".to_owned(), |p| format!("{p:.2}")),
            ]);
        }
        out.push_str(&table.render(width()));
    }
    let worst = &comparison.worst;
    let verdict =
        if comparison.agree { styled(GOOD, "they agree") } else { styled(BAD, "they disagree") };
    let line = format!(
        "{verdict}: positions to {:.1e} m (asked: {}), rotations to {:.1e} rad, energies to {:.1e} J",
        worst.position,
        sig(options.within, 2),
        worst.rotation,
        worst.energy
    );
    let _ = write!(out, "\n{line}\n");
    if !comparison.agree {
        let _ = writeln!(out, "worst at t = {} s, `{}`", sig(worst.time, 5), worst.body);
    }
    out
}
