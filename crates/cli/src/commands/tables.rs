//! `gelenk tables`: the tables of the paper, ours beside the published values.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Mutex;

use gelenk::files::Kind;
use gelenk::tables::{Cell, Table, TableOptions, TablesError, judge, plot_svg, tables};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::TablesArgs;
use crate::progress::Progress;
use crate::show::{BAD, BOLD, DIM, GOOD, styled, width};
use crate::text::{Align, Table as Columns, sig, wrap};
use crate::{files, interrupt, judged, reports};

pub(crate) fn run(args: &TablesArgs, manner: Manner) -> Result<Answer, Failure> {
    let options = TableOptions {
        only: args.only.clone(),
        quick: args.quick,
        model: args.model.clone(),
        velocity_correction: args.velocity_correction,
        gentle: args.gentle,
    };
    let places = args
        .plot
        .iter()
        .map(|path| (path, Kind::Svg))
        .chain(args.report.iter().map(|path| (path, Kind::Report)));
    files::check_places(places, "", manner)?;
    interrupt::be_graceful();
    let progress = Mutex::new(Progress::of_work("tables", 1.0, manner.quiet));
    let measured = tables(&options, &|share| {
        // A bar that is busy is told the next time.
        if let Ok(mut progress) = progress.try_lock() {
            progress.reached(share);
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Ok(progress) = progress.lock() {
        progress.clear();
    }
    let measured = measured.map_err(|error| failure(&error))?;
    let failures: Vec<String> = measured.iter().flat_map(Table::failures).collect();
    let mut json = json!({
        "model": options.model,
        "velocity_correction": options.velocity_correction,
        "gentle": options.gentle,
        "quick": options.quick,
        "holds": failures.is_empty(),
        "failures": failures,
        "tables": measured.iter().map(to_json).collect::<Vec<_>>(),
    });
    let mut text = measured.iter().map(to_text).collect::<Vec<_>>().join("\n");
    text.push('\n');
    if failures.is_empty() {
        let _ = writeln!(text, "{}", styled(GOOD, "all bars hold"));
    } else {
        let _ = writeln!(text, "{}", styled(BAD, "bars that do not hold:"));
        for failure in &failures {
            text.push_str(&wrap(failure, 2, width()));
        }
    }
    if let Some(path) = &args.plot {
        let svg = plot_svg(&measured).ok_or_else(|| {
            Failure::input("--plot has nothing to draw: ask for one of 9.1, 9.2, 9.3, 9.4, 10.1")
        })?;
        files::write(path, Kind::Svg, manner, svg.as_bytes())?;
        json["plot"] = path.display().to_string().into();
        let _ = writeln!(text, "plot: {}", path.display());
    }
    let exit = if failures.is_empty() { Exit::Done } else { Exit::Negative };
    let mut answer = Answer::done(json, text).exit(exit);
    judged::tell(&mut answer, &judge(&measured), manner);
    if let Some(path) = &args.report {
        let plot = plot_svg(&measured);
        let report = reports::of_tables(&measured, &failures, plot.as_deref());
        reports::write(&mut answer, path, &report, manner)?;
    }
    Ok(answer)
}

fn failure(error: &TablesError) -> Failure {
    match error {
        TablesError::Failed { .. } => Failure::new(Exit::Failed, error.to_string()),
        TablesError::Stopped => {
            Failure::new(Exit::Stopped, "by Ctrl-C; the tables have no result before their end")
        }
        _ => Failure::input(error.to_string()),
    }
}

pub(super) fn to_json(table: &Table) -> Value {
    let rows: Vec<Value> = table
        .rows
        .iter()
        .map(|row| {
            let cells = |value: &dyn Fn(&Cell) -> Value| -> Vec<Value> {
                row.cells.iter().map(value).collect()
            };
            json!({
                "at": row.at,
                "ours": cells(&|cell| json!(cell.ours)),
                "paper": cells(&|cell| json!(cell.paper)),
                "ratio": cells(&|cell| json!(cell.ratio())),
                "holds": cells(&|cell| json!(cell.holds)),
            })
        })
        .collect();
    let checks: Vec<Value> = table
        .checks
        .iter()
        .map(|check| {
            let high = check.high.is_finite().then_some(check.high);
            json!({
                "what": check.what,
                "value": check.value,
                "low": check.low,
                "high": high,
                "holds": check.holds(),
            })
        })
        .collect();
    json!({
        "number": table.number,
        "title": table.title,
        "unit": table.unit,
        "row_name": table.row_name,
        "column_name": table.column_name,
        "columns": table.columns,
        "bar": table.bar,
        "rows": rows,
        "checks": checks,
    })
}

pub(super) fn to_text(table: &Table) -> String {
    let unit = if table.unit.is_empty() { String::new() } else { format!(", {}", table.unit) };
    let head = format!("Table {}: {}{unit}", table.number, table.title);
    let mut out = styled(BOLD, wrap(&head, 0, width()).trim_end());
    out.push('\n');
    out.push_str(&if table.column_name.is_empty() { list(table) } else { grid(table) });
    for check in &table.checks {
        let mark = if check.holds() { String::new() } else { styled(BAD, " misses its bar") };
        let line = format!("{}: {}{mark}", check.what, sig(check.value, 4));
        out.push_str(&wrap(&line, 2, width()));
    }
    if table.columns.len() > 1 && table.number == "9.4" {
        let (below, all) = table.at_or_below();
        let _ = writeln!(out, "  {below} of {all} cells at or below the paper's");
    }
    out.push_str(&wrap(&format!("bar: {}", table.bar), 2, width()));
    out
}

/// Columns of values of their own kinds: a line a value, with all digits that the paper prints.
fn list(table: &Table) -> String {
    let mut out = String::new();
    for (i, name) in table.columns.iter().enumerate() {
        if table.columns.len() > 1 {
            let _ = writeln!(out, "  {name}");
        }
        let mut lines = Columns::new(&[Align::Right; 5]);
        lines.styled(BOLD, [table.row_name, "ours", "paper", "ratio", ""]);
        for row in &table.rows {
            let cell = &row.cells[i];
            let mark = if cell.holds { "" } else { "misses its bar" };
            lines.row([
                sig(row.at, 8),
                format!("{:.6e}", cell.ours),
                format!("{:.6e}", cell.paper),
                format!("{:.4}", cell.ratio()),
                mark.to_owned(),
            ]);
        }
        out.push_str(&lines.render(width()));
    }
    out
}

/// Several columns: three lines a row, ours, the paper's and their ratio.
fn grid(table: &Table) -> String {
    let mut aligns = vec![Align::Right, Align::Left];
    aligns.extend(table.columns.iter().map(|_| Align::Right));
    let mut lines = Columns::new(&aligns);
    let mut head = vec![table.row_name.to_owned(), format!("{} →", table.column_name)];
    head.extend(table.columns.iter().cloned());
    lines.styled(BOLD, head);
    for row in &table.rows {
        let line = |first: String, name: &str, value: &dyn Fn(&Cell) -> String| {
            let mut cells = vec![first, name.to_owned()];
            cells.extend(row.cells.iter().map(value));
            cells
        };
        let number = |x: f64| if x.is_nan() { "failed".to_owned() } else { sig(x, 4) };
        lines.row(line(sig(row.at, 8), "ours", &|cell| number(cell.ours)));
        lines.row(line(String::new(), "paper", &|cell| number(cell.paper)));
        let ratio = |cell: &Cell| {
            let mark = if cell.holds { "" } else { "!" };
            format!("{mark}{:.3}", cell.ratio())
        };
        lines.styled(DIM, line(String::new(), "ratio", &ratio));
    }
    let mut out = lines.render(width());
    if table.rows.iter().any(|row| row.cells.iter().any(|cell| !cell.holds)) {
        let _ = writeln!(out, "  {}", styled(DIM, "! misses its bar"));
    }
    out
}
