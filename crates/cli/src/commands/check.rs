//! `gelenk check`: degrees of freedom, redundant conditions, faults.

use std::fmt::Write;

use gelenk::model::Model;
use gelenk::model::check::{CheckOptions, CheckReport, RedundantRow, check};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::CheckArgs;
use crate::show::{BAD, BOLD, DIM, GOOD, HINT, WARN, styled, width};
use crate::source::{self, Start};
use crate::text::{Align, Table, counted, sig, wrap};

/// How many lines of a kind are listed.
const MOST: usize = 12;

pub(crate) fn run(args: &CheckArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MayBeOpen, manner)?;
    let model = &loaded.model;
    let report = check(model, &CheckOptions::default());
    let errors = errors(model, &report);
    let mut warnings = source::warnings(&loaded);
    warnings.extend(report.warnings.iter().cloned());
    let json = to_json(model, &report, &errors, &warnings);
    let text = to_text(model, &report, &errors, args);
    let exit = if errors.is_empty() { Exit::Done } else { Exit::Negative };
    Ok(Answer::done(json, text).exit(exit))
}

/// What keeps the model from running: starts whose joints are open.
fn errors(model: &Model, report: &CheckReport) -> Vec<String> {
    let mut errors = Vec::new();
    for off in &report.inconsistencies {
        let block = model.rows.iter().find(|block| block.name == off.element);
        let tolerance = block.and_then(|block| block.tolerance).unwrap_or(model.run.tolerance);
        let gap = off.position_error;
        if gap.is_nan() {
            errors.push(format!("`{}` has no value at the start", off.element));
        } else if gap > tolerance {
            let (gap, tolerance) = (sig(gap, 3), sig(tolerance, 3));
            errors.push(format!(
                "`{}` is open by {gap} at the start, {tolerance} is allowed",
                off.element
            ));
        }
    }
    errors
}

fn to_json(model: &Model, report: &CheckReport, errors: &[String], warnings: &[String]) -> Value {
    let rows = |rows: &[RedundantRow]| -> Vec<Value> {
        rows.iter()
            .map(|row| {
                json!({
                    "element": row.element,
                    "row": row.row,
                    "index": row.index,
                    "always": row.always,
                    "depends_on": row.depends_on,
                })
            })
            .collect()
    };
    let components: Vec<Value> = report
        .components
        .iter()
        .map(|part| {
            json!({
                "bodies": part.bodies,
                "grounded": part.grounded,
                "loops": part.loops,
                "degrees_of_freedom": part.degrees_of_freedom,
                "constraints": part.constraints,
                "rank": part.rank,
                "singular": part.singular,
                "rank_lost": part.rank_lost,
            })
        })
        .collect();
    let inconsistencies: Vec<Value> = report
        .inconsistencies
        .iter()
        .map(|off| {
            json!({
                "element": off.element,
                "position_error": off.position_error,
                "velocity_error": off.velocity_error,
            })
        })
        .collect();
    json!({
        "model": model.name,
        "degrees_of_freedom": report.degrees_of_freedom,
        "coordinates": report.coordinates,
        "constraints": report.constraints,
        "rank": report.rank,
        "rank_tolerance": CheckOptions::default().rank_tolerance,
        "smallest_pivot": report.smallest_pivot,
        "redundant": rows(&report.redundant),
        "nearly_redundant": rows(&report.nearly_redundant),
        "loops": report.loops,
        "components": components,
        "singular": report.singular,
        "rank_lost": report.rank_lost,
        "immovable": report.immovable,
        "inconsistencies": inconsistencies,
        "errors": errors,
        "warnings": warnings,
    })
}

fn to_text(model: &Model, report: &CheckReport, errors: &[String], args: &CheckArgs) -> String {
    let mut out = format!("{}\n", styled(BOLD, &model.name));
    let mut table = Table::new(&[Align::Right, Align::Left]);
    let line = |n: usize, one: &str, many: &str| {
        [n.to_string(), if n == 1 { one } else { many }.to_owned()]
    };
    table.row(line(report.coordinates, "velocity of a free body", "velocities of free bodies"));
    table.row(line(report.constraints, "condition", "conditions"));
    let tolerance = sig(CheckOptions::default().rank_tolerance, 1);
    let rank = format!("of them independent (rank; pivots up to {tolerance} count as zero)");
    table.row(line(report.rank, &rank, &rank));
    let freedom = report.degrees_of_freedom;
    table.styled(BOLD, line(freedom, "degree of freedom", "degrees of freedom"));
    table.row(line(report.loops, "loop", "loops"));
    let parts = report.components.len();
    table.row(line(parts, "part that moves on its own", "parts that move on their own"));
    out.push_str(&table.render(width()));
    redundant(&mut out, "Redundant", &report.redundant);
    redundant(&mut out, "Nearly redundant", &report.nearly_redundant);
    if !report.redundant.is_empty() {
        let note = "Redundant conditions are no fault: the motion is the same. The forces of the joints involved could be \
                    shared among them in many ways; the direct solver gives the share of least norm.";
        let _ = write!(out, "{DIM}{}{DIM:#}", wrap(note, 2, width()));
    }
    // The redundant rows are listed above.
    for warning in report.warnings.iter().filter(|warning| !warning.contains("redundant")) {
        let _ = write!(out, "\n{}: {}", styled(WARN, "warning"), wrap(warning, 0, width()));
    }
    for error in errors {
        let _ = write!(out, "\n{}: {}", styled(BAD, "error"), wrap(error, 0, width()));
    }
    if errors.is_empty() {
        let _ = writeln!(out, "\n{}", styled(GOOD, "The model can run."));
    } else {
        let hint = format!("gelenk assemble {}", args.model.model);
        let _ = writeln!(out, "\n{}  {hint}", styled(HINT, "next:"));
    }
    out
}

fn redundant(out: &mut String, title: &str, rows: &[RedundantRow]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", styled(BOLD, title));
    for row in rows.iter().take(MOST) {
        let when = if row.always { "always" } else { "in this pose only" };
        let why = if row.depends_on.is_empty() {
            String::new()
        } else {
            format!("; follows from {}", row.depends_on.join(", "))
        };
        out.push_str(&wrap(&format!("{}: {when}{why}", row.row), 2, width()));
    }
    if rows.len() > MOST {
        let more = counted((rows.len() - MOST) as u64, "more row", "more rows");
        let _ = writeln!(out, "  and {more} (--json lists all)");
    }
}
