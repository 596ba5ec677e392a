//! `--report FILE.html`: what a command found, as a page that stands alone.

mod optimum;

use std::path::Path;

use gelenk::Certificate;
use gelenk::compare::{CompareOptions, Comparison};
use gelenk::converge::Study;
use gelenk::derive::{Derivation, Part};
use gelenk::files::Kind;
use gelenk::model::{Loaded, Model, RunReport, RunSettings};
use gelenk::tables::Table as PaperTable;
use gelenk::verdict::Verdict;
use gelenk_viewer::report::{Motion, Report, Table};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Failure};
use crate::text::{bytes, grouped, sig};
use crate::{files, judged};

pub(crate) use optimum::{History, of_optimum};

/// Frames a second of motions that are run for a report.
const RATE: f64 = 60.0;
/// Gaps and events that a report lists.
const MOST: usize = 200;

/// Writes a report and tells where it is.
pub(crate) fn write(
    answer: &mut Answer,
    path: &Path,
    report: &Report,
    manner: Manner,
) -> Result<(), Failure> {
    let html = report.to_html();
    files::write(path, Kind::Report, manner, html.as_bytes())?;
    answer.json.insert("report".to_owned(), path.display().to_string().into());
    let size = bytes(html.len() as u64);
    answer.text.push_str(&format!("report: {} ({size})\n", path.display()));
    Ok(())
}

/// The report of a run.
pub(crate) fn of_run(
    loaded: &Loaded,
    settings: &RunSettings,
    result: &RunReport,
    failure: Option<&str>,
    wall_seconds: f64,
    motion: Motion,
    verdict: &Verdict,
    certificate: Option<&Certificate>,
) -> Report {
    let model = &loaded.model;
    let simulated = result.t - model.start.t;
    let subtitle = format!(
        "{} engine, {} s simulated in {} s, {} steps",
        result.engine,
        sig(simulated, 6),
        sig(wall_seconds, 2),
        grouped(result.steps)
    );
    let mut report = Report::new(&model.name, &subtitle);
    let facts = json!({ "settings": gelenk::report::settings_json(settings), "verdict": verdict });
    report.motion(&format!("{} engine", result.engine), model, motion, &facts);
    if let Some(reason) = failure {
        report.verdict(false, reason);
    }
    judged::report(&mut report, verdict);
    let worst = gelenk::report::largest(&result.worst_gaps);
    report.heading("Result");
    let mut table = Table::new(&["", ""]);
    let mut line = |name: &str, value: String| table.row([name.to_owned(), value]);
    line("simulated", format!("{} s", sig(simulated, 6)));
    line("time on the clock", format!("{} s", sig(wall_seconds, 3)));
    if wall_seconds > 0.0 {
        line("times real time", sig(simulated / wall_seconds, 3));
    }
    line("steps", grouped(result.steps));
    line("largest gap of a joint", format!("{worst:.2e} m"));
    line("largest energy error", format!("{:.2e} J", result.energy_max_abs_error));
    if let Some(depth) = result.worst_penetration {
        line("deepest overlap", format!("{depth:.2e} m"));
    }
    report.table(&table);
    energy(&mut report, result);
    gaps(&mut report, model, settings, result);
    events(&mut report, result);
    report.heading("Settings");
    report.facts(&gelenk::report::settings_json(settings));
    if let Some(certificate) = certificate {
        report.heading("Certificate");
        report.paragraph(
            "`gelenk verify` runs the recording again and compares every byte with these.",
        );
        report.facts(&serde_json::to_value(certificate).unwrap_or(Value::Null));
    } else {
        report.heading("State");
        report.facts(&json!({ "state_hash": gelenk::hash::state_hash(&result.state) }));
    }
    report.model(loaded);
    report
}

fn energy(report: &mut Report, result: &RunReport) {
    let ledger = &result.ledger;
    report.heading("Energy");
    let mut table = Table::new(&["", "J"]);
    for (name, value) in [
        ("initial", ledger.initial),
        ("kinetic, at the end", ledger.kinetic),
        ("potential, at the end", ledger.potential),
        ("work from outside", ledger.work),
        ("dissipation", ledger.dissipation),
        ("loss in impacts", ledger.impact_loss),
        ("error of the method", ledger.integrator_error()),
    ] {
        table.row([name.to_owned(), sig(value, 6)]);
    }
    report.table(&table);
}

fn gaps(report: &mut Report, model: &Model, settings: &RunSettings, result: &RunReport) {
    if model.rows.is_empty() {
        return;
    }
    report.heading("Gaps");
    let mut table = Table::new(&["", "kind", "largest gap", "allowed", "largest velocity error"]);
    let errors = result.worst_gaps.iter().zip(&result.worst_velocity_errors);
    for (block, (gap, rate)) in model.rows.iter().zip(errors).take(MOST) {
        table.row([
            block.name.clone(),
            gelenk::report::kind_name(&block.kind).to_owned(),
            format!("{gap:.2e}"),
            format!("{:.1e}", crate::summary::allowed_gap(settings, block.tolerance)),
            format!("{rate:.2e}"),
        ]);
    }
    report.table(&table);
    if model.rows.len() > MOST {
        report.paragraph(&format!("The first {MOST} of {}.", model.rows.len()));
    }
}

fn events(report: &mut Report, result: &RunReport) {
    if result.events.is_empty() {
        return;
    }
    report.heading("Events");
    let mut table = Table::new(&["t, s", "kind", "between", ""]);
    for event in result.events.iter().take(MOST) {
        let between = event.between.join(", ");
        table.row([sig(event.time, 6), event.kind.clone(), between, event.detail.clone()]);
    }
    report.table(&table);
    if result.events.len() > MOST {
        report.paragraph(&format!("The first {MOST} of {}.", result.events.len()));
    }
}

/// Runs a model with an engine for the sake of its motion; one that cannot is left out.
fn put_motion(report: &mut Report, loaded: &Loaded, engine: &str, mut settings: RunSettings) {
    engine.clone_into(&mut settings.engine);
    settings.at.clear();
    settings.sample = Some((1.0 / RATE).max(settings.step));
    if let Ok((motion, _)) = Motion::of_run(loaded, &settings) {
        let facts = json!({ "settings": gelenk::report::settings_json(&settings) });
        report.motion(&format!("{engine} engine"), &loaded.model, motion, &facts);
    }
}

/// The report of a comparison.
pub(crate) fn of_comparison(
    loaded: &Loaded,
    options: &CompareOptions,
    comparison: &Comparison,
) -> Report {
    let model = &loaded.model;
    let names: Vec<&str> = comparison.runs.iter().map(|run| run.engine.as_str()).collect();
    let mut report = Report::new(&model.name, &format!("{} compared", names.join(", ")));
    for engine in &names {
        let settings = RunSettings { duration: options.duration, ..model.run.clone() };
        put_motion(&mut report, loaded, engine, settings);
    }
    let worst = &comparison.worst;
    let verdict = format!(
        "The engines {}: positions to {:.1e} m (asked: {}), rotations to {:.1e} rad, energies to {:.1e} J.",
        if comparison.agree { "agree" } else { "disagree" },
        worst.position,
        sig(options.within, 2),
        worst.rotation,
        worst.energy
    );
    report.verdict(comparison.agree, &verdict);
    judged::report(&mut report, &comparison.verdict);
    report.heading("Engines");
    let mut table = Table::new(&["engine", "how", "steps", "time, s", "gap", "energy error, J"]);
    for run in &comparison.runs {
        table.row([
            run.engine.clone(),
            run.how.clone(),
            grouped(run.steps),
            sig(run.wall_seconds, 2),
            format!("{:.1e}", run.gap),
            format!("{:.1e}", run.energy_error),
        ]);
    }
    report.table(&table);
    for (engine, reason) in &comparison.unable {
        report.paragraph(&format!("{engine}: {reason}"));
    }
    report.heading("Differences");
    report.svg(&gelenk::compare::plot_svg(model, comparison), "Differences over time");
    let mut table =
        Table::new(&["t, s", "position, m", "rotation, rad", "velocity, m/s", "energy, J"]);
    for d in &comparison.differences {
        let cells = [d.position, d.rotation, d.velocity, d.energy].map(|x| format!("{x:.1e}"));
        table.row(std::iter::once(sig(d.time, 5)).chain(cells));
    }
    report.table(&table);
    if !comparison.orders.is_empty() {
        report.heading("Orders of the impulse engine");
        let mut table = Table::new(&[
            "order",
            "step, s",
            "error, m",
            "error with half the step, m",
            "measured",
        ]);
        for o in &comparison.orders {
            table.row([
                o.order.to_string(),
                sig(o.steps[0], 4),
                format!("{:.1e}", o.errors[0]),
                format!("{:.1e}", o.errors[1]),
                o.measured.map_or("rounding".to_owned(), |p| format!("{p:.2}")),
            ]);
        }
        report.table(&table);
    }
    report.model(loaded);
    report
}

/// The report of a study of steps.
pub(crate) fn of_study(loaded: &Loaded, study: &Study) -> Report {
    let model = &loaded.model;
    let settings = &study.settings;
    let subtitle = format!(
        "convergence: {} engine, order {}, {} s",
        settings.engine,
        settings.order,
        sig(settings.duration, 6)
    );
    let mut report = Report::new(&model.name, &subtitle);
    put_motion(&mut report, loaded, &settings.engine, settings.clone());
    judged::report(&mut report, &study.verdict);
    report.heading("Errors");
    report.svg(&gelenk::converge::plot_svg(model, study), "Error against step and cost");
    let mut head = vec!["step, s".to_owned(), "steps".to_owned(), "time, s".to_owned()];
    for quantity in &study.quantities {
        head.push(format!("{}, {}", quantity.name, quantity.unit));
        head.push("order".to_owned());
    }
    let mut table = Table::with_head(head);
    for (i, level) in study.levels.iter().enumerate() {
        let mut cells = vec![sig(level.step, 5), grouped(level.steps), sig(level.wall_seconds, 2)];
        for k in 0..study.quantities.len() {
            let order = i.checked_sub(1).and_then(|before| study.order(before, k));
            let mark = if study.is_clean(i, k) { "" } else { "~" };
            cells.push(format!("{mark}{:.2e}", level.errors[k]));
            cells.push(order.map_or(String::new(), |p| format!("{p:.2}")));
        }
        table.row(cells);
    }
    report.table(&table);
    report.paragraph(&format!(
        "Against a reference of order {} with step {} s. Errors marked ~ are rounding, or no larger than the reference's own.",
        study.reference.order,
        sig(study.reference.step, 4)
    ));
    report.heading("Settings");
    report.facts(&gelenk::report::settings_json(settings));
    report.model(loaded);
    report
}

/// The report of the paper's tables.
pub(crate) fn of_tables(tables: &[PaperTable], failures: &[String], plot: Option<&str>) -> Report {
    let mut report = Report::new("Tables", "measured again, beside the published values");
    judged::report(&mut report, &gelenk::tables::judge(tables));
    if failures.is_empty() {
        report.verdict(true, "All bars hold.");
    }
    if let Some(svg) = plot {
        report.svg(svg, "Ours and the paper's");
    }
    for table in tables {
        let unit = if table.unit.is_empty() { String::new() } else { format!(", {}", table.unit) };
        report.heading(&format!("Table {}: {}{unit}", table.number, table.title));
        let mut head = vec![table.row_name.to_owned(), String::new()];
        head.extend(table.columns.iter().cloned());
        let mut out = Table::with_head(head);
        for row in &table.rows {
            let number = |x: f64| if x.is_nan() { "failed".to_owned() } else { sig(x, 5) };
            let line = |first: String, name: &str, cells: Vec<String>| {
                [first, name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
            };
            let of = |value: &dyn Fn(&gelenk::tables::Cell) -> String| {
                row.cells.iter().map(value).collect::<Vec<_>>()
            };
            out.row(line(sig(row.at, 8), "ours", of(&|cell| number(cell.ours))));
            out.row(line(String::new(), "paper", of(&|cell| number(cell.paper))));
            let ratio = |cell: &gelenk::tables::Cell| {
                format!("{}{:.3}", if cell.holds { "" } else { "! " }, cell.ratio())
            };
            out.row(line(String::new(), "ratio", of(&ratio)));
        }
        report.table(&out);
        for check in &table.checks {
            let mark = if check.holds() { "" } else { ": misses its bar" };
            report.paragraph(&format!("{}: {}{mark}", check.what, sig(check.value, 4)));
        }
        report.paragraph(&format!("Bar: {}", table.bar));
    }
    report
}

/// The report of a derivation.
pub(crate) fn of_derivation(loaded: &Loaded, derivation: &Derivation, what: &[Part]) -> Report {
    let model = &loaded.model;
    let mut report = Report::new(&model.name, "equations of motion");
    let duration = model.run.duration.min(10.0);
    let settings = RunSettings { duration, rtol: Some(1e-9), ..model.run.clone() };
    put_motion(&mut report, loaded, "lagrange", settings);
    report.markdown(&derivation.markdown(what));
    if let (Some(before), Some(closed)) =
        (derivation.operations_before, derivation.equations.closed.as_ref())
    {
        report.paragraph(&format!(
            "{before} operations expanded, {} simplified; derived in {} s.",
            closed.operations,
            sig(derivation.seconds, 2)
        ));
    }
    report.model(loaded);
    report
}
