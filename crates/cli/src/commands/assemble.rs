//! `gelenk assemble`: a start that fits the joints, with the least movement.

use std::fmt::Write;
use std::path::Path;

use gelenk::files::Kind;
use gelenk::model::assemble::{AssembleOptions, AssembleReport, Outcome, assemble};
use gelenk::model::{Loaded, Model};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::AssembleArgs;
use crate::files;
use crate::show::{BAD, BOLD, DIM, GOOD, HINT, styled, width};
use crate::source::{self, Start};
use crate::text::{Align, Table, sig, wrap};

/// How many lines of a kind are listed.
const MOST: usize = 12;

pub(crate) fn run(args: &AssembleArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MayBeOpen, manner)?;
    let model = &loaded.model;
    if let Some(path) = &args.output {
        files::check_place(path, Kind::Text, &args.model.model, manner)?;
        if !args.model.set.is_empty() {
            return Err(Failure::input("--output and --set do not go together")
                .help("change the parameters in the file, then assemble it"));
        }
        if !args.model.start.is_empty() {
            return Err(Failure::input("--output and --start do not go together")
                .help("write the start into the file: [[start]] joint = ..., then assemble it"));
        }
        let has_parts = loaded.sources.files().len() > 1 || !loaded.meshes.is_empty();
        if has_parts && !files::same_folder(path, Path::new(&args.model.model)) {
            return Err(Failure::input("the model reads other files by their place beside it")
                .help("let the output lie in the model's own folder"));
        }
    }
    let options = AssembleOptions { tolerance: args.tolerance, ..AssembleOptions::default() };
    let report = assemble(model, &options);
    let closed = report.outcome == Outcome::Closed;
    let mut json = to_json(model, &report);
    let mut text = to_text(model, &report);
    if let (Some(path), true) = (&args.output, closed) {
        let fixed = gelenk::start::with_start(text_of(&loaded), model, &report.state);
        files::write(path, Kind::Text, manner, fixed.as_bytes())?;
        json["output"] = path.display().to_string().into();
        let path = path.display();
        let _ = write!(text, "\nwritten: {path}\n{}  gelenk run {path}\n", styled(HINT, "next:"));
    } else if closed && args.output.is_none() && !report.moved.is_empty() {
        let name = &args.model.model;
        let _ = writeln!(
            text,
            "\n{}  gelenk assemble {name} --output fixed.toml",
            styled(HINT, "next:")
        );
    }
    Ok(Answer::done(json, text).exit(if closed { Exit::Done } else { Exit::Negative }))
}

/// The text of the model file itself.
fn text_of(loaded: &Loaded) -> &str {
    loaded.sources.files().first().map_or("", |file| file.text.as_str())
}

fn to_json(model: &Model, report: &AssembleReport) -> Value {
    let failures: Vec<Value> = match &report.outcome {
        Outcome::Closed => Vec::new(),
        Outcome::Failed(failures) => failures
            .iter()
            .map(|failure| {
                json!({
                    "element": failure.element,
                    "residual": failure.residual,
                    "message": failure.to_string(),
                })
            })
            .collect(),
    };
    let moved = report
        .moved
        .iter()
        .map(|body| json!({ "body": body.name, "distance": body.distance, "angle": body.angle }));
    let pushed = report.pushed.iter().map(|body| {
        json!({
            "body": body.name,
            "velocity": body.velocity,
            "angular_velocity": body.angular_velocity,
        })
    });
    let coordinates = report.coordinates.iter().map(|change| {
        json!({ "coordinate": change.name, "before": change.before, "after": change.after })
    });
    let residuals = report.residuals.iter().map(|residual| {
        json!({
            "element": residual.element,
            "before": residual.before,
            "after": residual.after,
            "velocity_before": residual.velocity_before,
            "velocity_after": residual.velocity_after,
        })
    });
    json!({
        "model": model.name,
        "closed": report.outcome == Outcome::Closed,
        "failures": failures,
        "moved": moved.collect::<Vec<_>>(),
        "pushed": pushed.collect::<Vec<_>>(),
        "coordinates": coordinates.collect::<Vec<_>>(),
        "residuals": residuals.collect::<Vec<_>>(),
        "iterations": report.iterations,
        "notes": report.notes,
        "start": gelenk::start::start_json(model, &report.state),
    })
}

fn to_text(model: &Model, report: &AssembleReport) -> String {
    let mut out = format!("{}\n", styled(BOLD, &model.name));
    if report.moved.is_empty() && report.pushed.is_empty() {
        out.push_str("  nothing had to move\n");
    }
    if !report.moved.is_empty() {
        let _ = writeln!(out, "\n{}", styled(BOLD, "Moved"));
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
        table.styled(DIM, ["", "distance", "turn"]);
        let rows = report.moved.iter().map(|body| {
            [
                body.name.clone(),
                format!("{} m", sig(body.distance, 3)),
                format!("{} rad", sig(body.angle, 3)),
            ]
        });
        finish_table(&mut out, table, rows);
    }
    if !report.pushed.is_empty() {
        let _ = writeln!(out, "\n{}", styled(BOLD, "Velocities changed"));
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
        table.styled(DIM, ["", "by", "turning by"]);
        let rows = report.pushed.iter().map(|body| {
            [
                body.name.clone(),
                format!("{} m/s", sig(body.velocity, 3)),
                format!("{} rad/s", sig(body.angular_velocity, 3)),
            ]
        });
        finish_table(&mut out, table, rows);
    }
    gaps(&mut out, report);
    for note in &report.notes {
        out.push_str(&wrap(&format!("note: {note}"), 2, width()));
    }
    match &report.outcome {
        Outcome::Closed => {
            let _ = writeln!(out, "\n{}", styled(GOOD, "All joints close."));
        }
        Outcome::Failed(failures) => {
            for failure in failures {
                let text = wrap(&failure.to_string(), 0, width());
                let _ = write!(out, "\n{}: {text}", styled(BAD, "cannot be closed"));
            }
        }
    }
    out
}

/// The gaps before and after, worst first.
fn gaps(out: &mut String, report: &AssembleReport) {
    if report.residuals.is_empty() {
        return;
    }
    let mut order: Vec<_> = report.residuals.iter().collect();
    order.sort_by(|a, b| b.after.total_cmp(&a.after).then(b.before.total_cmp(&a.before)));
    let _ = writeln!(out, "\n{}", styled(BOLD, "Gaps of joints"));
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
    table.styled(DIM, ["m or rad", "before", "after"]);
    let rows = order.into_iter().map(|r| [r.element.clone(), sig(r.before, 3), sig(r.after, 3)]);
    finish_table(out, table, rows);
}

fn finish_table(
    out: &mut String,
    mut table: Table,
    rows: impl ExactSizeIterator<Item = [String; 3]>,
) {
    let more = rows.len().saturating_sub(MOST);
    for row in rows.take(MOST) {
        table.row(row);
    }
    out.push_str(&table.render(width()));
    if more > 0 {
        let _ = writeln!(out, "  and {more} more (--json lists all)");
    }
}
