//! `gelenk bench`: speed, with the error beside it.

use std::fmt::Write;

use gelenk::bench::{BenchError, BenchOptions, GROUPS, Group, Line, SAME_MOTION, bench};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::BenchArgs;
use crate::progress::Progress;
use crate::show::{BOLD, DIM, styled, width};
use crate::text::{Align, Table, sig, wrap};

pub(crate) fn run(args: &BenchArgs, manner: Manner) -> Result<Answer, Failure> {
    let mut names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.extend(GROUPS);
    }
    if let Some(unknown) = names.iter().find(|name| !GROUPS.contains(name)) {
        return Err(failure(&BenchError::UnknownGroup { name: (*unknown).to_owned() }));
    }
    let progress = Progress::of_parts("bench", manner.quiet);
    let watch = |what: &str| progress.doing(what);
    let options = BenchOptions { quick: args.quick, count_allocations: None, watch: &watch };
    let groups: Result<Vec<Group>, BenchError> =
        names.iter().map(|name| bench(name, &options)).collect();
    progress.clear();
    let groups = groups.map_err(|error| failure(&error))?;
    let json = json!({
        "quick": args.quick,
        "groups": groups.iter().map(to_json).collect::<Vec<_>>(),
    });
    let text = groups.iter().map(to_text).collect::<Vec<_>>().join("\n");
    Ok(Answer::done(json, text))
}

fn failure(error: &BenchError) -> Failure {
    match error {
        BenchError::UnknownGroup { .. } => Failure::input(error.to_string()),
        _ => Failure::new(Exit::Failed, error.to_string()),
    }
}

fn to_json(group: &Group) -> Value {
    let line = |line: &Line| {
        json!({
            "model": line.model,
            "bodies": line.n_bodies,
            "solver": line.settings.solver,
            "order": line.settings.order,
            "step": line.settings.step,
            "tolerance": line.settings.tolerance,
            "steps": line.steps,
            "seconds_per_step": line.seconds_per_step,
            "real_time": line.real_time(),
            "corrections_per_step": line.corrections_per_step,
            "corrections_per_second": line.corrections_per_second(),
            "gap": line.gap,
            "energy_mean_abs_error": line.energy,
            "position_error": line.position_error,
            "contacts": line.contact.map(|c| c.contacts),
            "moved": line.contact.map(|c| c.moved),
            "penetration": line.contact.map(|c| c.penetration),
        })
    };
    let worlds: Vec<Value> = group
        .worlds
        .iter()
        .map(|line| {
            json!({
                "threads": line.threads,
                "worlds": line.worlds,
                "steps_per_second": line.steps_per_second,
                "gain": line.gain,
                "processor_seconds_per_step": line.processor_seconds_per_step,
                "hash": line.hash,
            })
        })
        .collect();
    json!({
        "name": group.name,
        "about": group.about,
        "lines": group.lines.iter().map(line).collect::<Vec<_>>(),
        "exponent": group.exponent,
        "worlds": worlds,
        "reference": group.reference,
        "reference_error": group.reference_error,
    })
}

fn to_text(group: &Group) -> String {
    let mut out = format!("{}\n", styled(BOLD, group.name));
    out.push_str(&wrap(group.about, 2, width()));
    if group.lines.iter().any(|line| line.contact.is_some()) {
        out.push_str(&contact_lines(group));
    } else if !group.lines.is_empty() {
        out.push_str(&lines(group));
    }
    if let Some(error) = group.reference_error {
        let _ = writeln!(
            out,
            "  reference: a second one with twice its step is {} m away",
            sig(error, 2)
        );
    }
    if let Some(line) = best(group) {
        let text = format!(
            "least time for a position error below {SAME_MOTION} m: order {}, h = {} s: {} s for 10 s",
            line.settings.order,
            sig(line.settings.step, 3),
            sig(10.0 * line.seconds_per_step / line.settings.step, 3),
        );
        out.push_str(&wrap(&text, 2, width()));
    }
    if let Some(p) = group.exponent {
        let _ = writeln!(out, "  time per step grows with the size to the power {p:.2}");
    }
    if let Some(first) = group.worlds.first() {
        let mut table = Table::new(&[Align::Right; 5]);
        let head = ["threads", "worlds", "world-steps/s", "gain", "processor, µs/world-step"];
        table.styled(BOLD, head);
        for line in &group.worlds {
            let cells = [
                line.threads.to_string(),
                line.worlds.to_string(),
                sig(line.steps_per_second, 3),
                format!("{:.2}", line.gain),
                sig(1e6 * line.processor_seconds_per_step, 3),
            ];
            table.row(cells);
        }
        out.push_str(&table.render(width()));
        let same = group.worlds.iter().all(|line| line.hash == first.hash);
        let said =
            if same { "the final states agree bit by bit" } else { "THE FINAL STATES DIFFER" };
        let _ = writeln!(out, "  {}", styled(DIM, said));
    }
    out
}

/// The run that keeps the motion for a second with the least time on the clock.
fn best(group: &Group) -> Option<&Line> {
    let same =
        group.lines.iter().filter(|line| line.position_error.is_some_and(|e| e < SAME_MOTION));
    let cost = |line: &Line| line.seconds_per_step / line.settings.step;
    same.min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// Bodies that touch: how many contacts, how deep, how far from the start.
fn contact_lines(group: &Group) -> String {
    let head = [
        "model",
        "bodies",
        "contacts",
        "h, s",
        "µs/step",
        "steps/s",
        "overlap, m",
        "moved, m",
        "energy, J",
    ];
    let mut aligns = [Align::Right; 9];
    aligns[0] = Align::Left;
    let mut table = Table::new(&aligns);
    table.styled(BOLD, head);
    for line in &group.lines {
        let of = |value: fn(&gelenk::bench::ContactErrors) -> f64| {
            line.contact.as_ref().map_or_else(String::new, |c| format!("{:.0e}", value(c)))
        };
        table.row([
            line.model.clone(),
            line.n_bodies.to_string(),
            line.contact.map_or_else(String::new, |c| c.contacts.to_string()),
            sig(line.settings.step, 3),
            sig(1e6 * line.seconds_per_step, 3),
            sig(1.0 / line.seconds_per_step, 3),
            of(|c| c.penetration),
            line.contact.map_or_else(String::new, |c| sig(c.moved, 2)),
            format!("{:.1e}", line.energy),
        ]);
    }
    table.render(width())
}

fn lines(group: &Group) -> String {
    let positions = group.lines.iter().any(|line| line.position_error.is_some());
    // The 8-loop has one size; its place is needed for the position error.
    let sizes = !positions;
    let mut head = vec![
        "solver",
        "order",
        "h, s",
        "µs/step",
        "× real",
        "corr./step",
        "Mcorr./s",
        "gap, m",
        "energy, J",
    ];
    let mut aligns = vec![Align::Right; head.len() + 1];
    aligns[usize::from(sizes)] = Align::Left;
    if sizes {
        head.insert(0, "bodies");
    } else {
        head.push("at 1 s, m");
    }
    let mut table = Table::new(&aligns);
    table.styled(BOLD, head);
    for line in &group.lines {
        let mut cells = vec![
            line.settings.solver.clone(),
            line.settings.order.to_string(),
            sig(line.settings.step, 3),
            sig(1e6 * line.seconds_per_step, 3),
            sig(line.real_time(), 3),
            sig(line.corrections_per_step, 3),
            sig(line.corrections_per_second() / 1e6, 3),
            format!("{:.0e}", line.gap),
            format!("{:.1e}", line.energy),
        ];
        match line.position_error {
            Some(error) => cells.push(format!("{error:.1e}")),
            None => cells.insert(0, line.n_bodies.to_string()),
        }
        table.row(cells);
    }
    table.render(width())
}
