//! The summary of a run for people: energy ledger, gaps, speed beside error, events.

use gelenk::actuator::Metered;
use gelenk::engine::Steps;
use gelenk::model::{Flight, Ledger, Model, RunReport, RunSettings, Statistics};

use crate::show::{BAD, BOLD, DIM, styled, width};
use crate::text::{Align, Table, counted, grouped, sig, wrap};

/// How many joints and events are listed.
const MOST: usize = 8;

/// The whole summary, without where the recording went.
pub(crate) fn summary(
    model: &Model,
    settings: &RunSettings,
    report: &RunReport,
    wall_seconds: f64,
) -> String {
    let mut out = head(model, settings, report);
    out.push_str(&energy(report));
    out.push_str(&gaps(model, settings, report));
    out.push_str(&speed(report, report.t - model.start.t, wall_seconds));
    out.push_str(&events(report));
    out
}

fn head(model: &Model, settings: &RunSettings, report: &RunReport) -> String {
    let kind = gelenk::engine::find(report.engine);
    let method = if let Some(statistics) = &report.statistics {
        dae_method(model, settings, report, statistics)
    } else if let Some(kind) = kind.filter(|kind| kind.steps() == Steps::Own) {
        format!(
            "{} engine, {}; {} s in {}",
            report.engine,
            kind.precision(settings),
            sig(report.t - model.start.t, 6),
            counted(report.steps, "step", "steps"),
        )
    } else {
        impulse_method(model, settings, report)
    };
    let mut out = format!("{}\n{}", styled(BOLD, &model.name), wrap(&method, 2, width()));
    if let (Some(accuracy), Some(error)) = (settings.accuracy, settings.estimated_error) {
        let chosen = format!(
            "step and order chosen for an accuracy of {} m; estimated position error {} m",
            sig(accuracy, 3),
            sig(error, 2)
        );
        out.push_str(&wrap(&chosen, 2, width()));
    }
    out
}

/// How the dae engine was run.
fn dae_method(
    model: &Model,
    settings: &RunSettings,
    report: &RunReport,
    statistics: &Statistics,
) -> String {
    let (rtol, atol) = gelenk::dae::tolerances(settings);
    let stiff = match statistics.stiff_at {
        Some(t) => format!("; found stiff at t = {} s", sig(t, 6)),
        None => String::new(),
    };
    format!(
        "{} engine, {}, local errors of {} relative and {} absolute; {} s in {} ({} evaluations, {}){stiff}",
        report.engine,
        settings.integrator.as_deref().unwrap_or("auto"),
        sig(rtol, 2),
        sig(atol, 2),
        sig(report.t - model.start.t, 6),
        counted(report.steps, "step", "steps"),
        grouped(statistics.evaluations),
        counted(statistics.projections, "projection", "projections"),
    )
}

/// How the impulse engine was run.
fn impulse_method(model: &Model, settings: &RunSettings, report: &RunReport) -> String {
    let flight = match settings.flight {
        Flight::Exact => String::new(),
        Flight::Taylor(order) => format!(", free flight by Taylor series of order {order}"),
    };
    let velocities = if settings.velocity_correction { "" } else { ", velocities not corrected" };
    let gentle = if settings.gentle { ", gentle" } else { "" };
    format!(
        "{} engine, order {}, {} solver{flight}{velocities}{gentle}; {} s in {} of {} s",
        report.engine,
        settings.order,
        settings.solver,
        sig(report.t - model.start.t, 6),
        counted(report.steps, "step", "steps"),
        sig(settings.step, 6),
    )
}

/// The ledger as a sum that the reader can check: the lines above the total, with the signs before their names, add up
/// to it.
fn energy(report: &RunReport) -> String {
    let ledger = &report.ledger;
    let lines = [
        ("at the start", ledger.initial, ""),
        ("+ work of drives and forces", ledger.work, ""),
        ("- taken by dampers", ledger.dissipation, ""),
        ("- lost in impacts", ledger.impact_loss, ""),
        ("+ error of the method", ledger.integrator_error(), ""),
        ("= at the end", ledger.total(), "total"),
        ("  kinetic", ledger.kinetic, "part"),
        ("  potential", ledger.potential, "part"),
    ];
    let decimals = ledger_decimals(ledger);
    let mut table = Table::new(&[Align::Left, Align::Right]);
    for (name, value, role) in lines {
        // No minus sign before a zero.
        let value = if value == 0.0 { 0.0 } else { value };
        let cells = [name.to_owned(), format!("{value:.decimals$} J")];
        match role {
            "total" => table.styled(BOLD, cells),
            "part" => table.styled(DIM, cells),
            _ => table.row(cells),
        }
    }
    let errors = format!(
        "  error of the method: mean {} J, largest {} J\n",
        sig(report.energy_mean_abs_error, 3),
        sig(report.energy_max_abs_error, 3),
    );
    format!("\n{}\n{}{errors}", styled(BOLD, "Energy"), table.render(width()))
}

/// So many decimals that the largest entry has ten digits.
fn ledger_decimals(ledger: &Ledger) -> usize {
    let entries =
        [ledger.initial, ledger.kinetic, ledger.potential, ledger.work, ledger.dissipation];
    let largest = entries.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    let mut decimals = 9;
    let mut bound = 10.0;
    while largest >= bound && decimals > 0 {
        decimals -= 1;
        bound *= 10.0;
    }
    decimals
}

/// The largest gap that the engine of a run allows a joint, which may have a tolerance of its own.
pub(crate) fn allowed_gap(settings: &RunSettings, own: Option<f64>) -> f64 {
    let kind = gelenk::engine::find(&settings.engine);
    kind.map_or(own.unwrap_or(settings.tolerance), |kind| kind.allowed_gap(settings, own))
}

/// The gaps that came nearest to what is allowed.
fn gaps(model: &Model, settings: &RunSettings, report: &RunReport) -> String {
    if model.rows.is_empty() {
        return String::new();
    }
    let allowed = |i: usize| allowed_gap(settings, model.rows[i].tolerance);
    let share = |i: usize| report.worst_gaps[i] / allowed(i);
    let mut order: Vec<usize> = (0..model.rows.len()).collect();
    order.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.styled(DIM, ["", "largest, m or rad", "allowed", "velocity error, /s"]);
    for &i in order.iter().take(MOST) {
        let cells = [
            model.rows[i].name.clone(),
            sig(report.worst_gaps[i], 3),
            sig(allowed(i), 3),
            sig(report.worst_velocity_errors[i], 3),
        ];
        if share(i) <= 1.0 { table.row(cells) } else { table.styled(BAD, cells) }
    }
    let more = match order.get(MOST) {
        Some(&next) => format!(
            "  and {} more, none above {}\n",
            order.len() - MOST,
            sig(report.worst_gaps[next].max(0.0), 3)
        ),
        None => String::new(),
    };
    format!("\n{}\n{}{more}", styled(BOLD, "Gaps of joints"), table.render(width()))
}

/// What drives, motors, springs, dampers and the like did.
pub(crate) fn actuators(list: &[Metered]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut order: Vec<&Metered> = list.iter().collect();
    order.sort_by(|a, b| b.peak_power.abs().total_cmp(&a.peak_power.abs()));
    let mut table =
        Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.styled(DIM, ["", "peak, N m or N", "RMS", "peak power, W", "work, J"]);
    for one in order.iter().take(MOST) {
        table.row([
            one.name.clone(),
            sig(one.peak, 4),
            sig(one.rms, 4),
            sig(one.peak_power, 4),
            sig(one.work, 4),
        ]);
    }
    let more = match order.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("  and {more} more (--json gives all)\n"),
        _ => String::new(),
    };
    format!("\n{}\n{}{more}", styled(BOLD, "Forces and torques"), table.render(width()))
}

/// Speed is never told without the error it was bought with.
fn speed(report: &RunReport, simulated: f64, wall_seconds: f64) -> String {
    let per_second = |n: f64| if wall_seconds > 0.0 { n / wall_seconds } else { 0.0 };
    let corrections =
        if report.steps > 0 { report.corrections as f64 / report.steps as f64 } else { 0.0 };
    let text = format!(
        "{} x real time at a mean energy error of {} J: {} s on the clock, {} steps/s, {} corrections a step",
        sig(per_second(simulated), 3),
        sig(report.energy_mean_abs_error, 3),
        sig(wall_seconds, 3),
        rounded(per_second(report.steps as f64)),
        sig(corrections, 3),
    );
    format!("\n{}\n{}", styled(BOLD, "Speed"), wrap(&text, 2, width()))
}

/// A rate with three digits, grouped.
fn rounded(rate: f64) -> String {
    if !(1000.0..1e15).contains(&rate) {
        return sig(rate, 3);
    }
    let mut unit = 1.0;
    while rate / unit >= 1000.0 {
        unit *= 10.0;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 1e15")]
    let n = ((rate / unit).round() * unit) as u64;
    grouped(n)
}

/// Events, those of a kind together: how many, when, and the first in words.
fn events(report: &RunReport) -> String {
    if report.events.is_empty() {
        return String::new();
    }
    let mut kinds: Vec<&str> = Vec::new();
    for event in &report.events {
        if !kinds.contains(&event.kind.as_str()) {
            kinds.push(&event.kind);
        }
    }
    let mut out = format!("\n{}\n", styled(BOLD, "Events"));
    for kind in kinds.into_iter().take(MOST) {
        let same = || report.events.iter().filter(|event| event.kind == kind);
        let (Some(first), Some(last)) = (same().next(), same().next_back()) else { continue };
        let n = same().count();
        let when = if n == 1 {
            format!("at t = {} s", sig(first.time, 6))
        } else {
            format!("{n} times, from t = {} s to {} s", sig(first.time, 6), sig(last.time, 6))
        };
        let between = first.between.join(", ");
        let place = if between.is_empty() { String::new() } else { format!("{between}: ") };
        let lead = if n == 1 { "" } else { "first " };
        let line = format!("{kind} {when}; {lead}{place}{}", first.detail);
        out.push_str(&wrap(&line, 2, width()));
    }
    out
}
