//! `gelenk drift`: constraint errors over time, by Lagrange multipliers and by impulses.

use std::fmt::Write;
use std::ops::ControlFlow;

use gelenk::drift::{Drift, DriftError, DriftKind, drift, plot_svg};
use gelenk::files::Kind;
use gelenk::model::Model;
use serde_json::{Map, Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::DriftArgs;
use crate::progress::Progress;
use crate::show::{BOLD, WARN, styled, width};
use crate::source::{self, Start};
use crate::text::{Align, Table, counted, sig, wrap};
use crate::{files, interrupt, judged};

/// Lines of the table.
const LINES: usize = 10;

pub(crate) fn run(args: &DriftArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let model = &loaded.model;
    let settings = source::stepping(&args.settings, source::settings(&args.settings, model))?;
    source::check(&settings)?;
    if let Some(path) = &args.plot {
        files::check_place(path, Kind::Svg, &args.model.model, manner)?;
    }
    interrupt::be_graceful();
    let mut progress = Progress::of_work(&model.name, 1.0, manner.quiet);
    let study = drift(model, &settings, args.taylor, &mut |share| {
        progress.reached(share);
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.clear();
    let study = study.map_err(|error| failure(&error))?;
    let mut json = to_json(model, &study);
    let mut text = to_text(model, &study);
    if let Some(path) = &args.plot {
        files::write(path, Kind::Svg, manner, plot_svg(model, &study).as_bytes())?;
        json.insert("plot".to_owned(), path.display().to_string().into());
        let _ = writeln!(text, "\nplot: {}", path.display());
    }
    let mut answer = Answer::done(Value::Object(json), text);
    judged::tell(&mut answer, &study.verdict, manner);
    if let Some(failure) = judged::refused(&study.verdict, args.strict) {
        return Ok(answer.failed(failure));
    }
    Ok(answer)
}

fn failure(error: &DriftError) -> Failure {
    match error {
        DriftError::Points(_) => Failure::input(error.to_string())
            .help("`gelenk points MODEL > points.toml` turns rigid bodies into point masses"),
        DriftError::Failed(_) => Failure::new(Exit::Failed, error.to_string())
            .help("take a looser --tolerance or a smaller --step"),
        DriftError::Stopped => {
            Failure::new(Exit::Stopped, "by Ctrl-C; a study has no result before its end")
        }
        _ => Failure::input(error.to_string()),
    }
}

fn to_json(model: &Model, study: &Drift) -> Map<String, Value> {
    // JSON has no infinity: null.
    let methods = study.methods.iter().map(|method| {
        json!({
            "method": method.kind.key(),
            "order": match method.kind {
                DriftKind::Taylor(order) => order,
                DriftKind::Impulse => study.settings.order as usize,
                DriftKind::Baumgarte => 4,
                _ => 2,
            },
            "errors": method.errors,
            "energy": method.energy,
            "stopped": method.stopped,
        })
    });
    let value = json!({
        "model": model.name,
        "settings": gelenk::report::settings_json(&study.settings),
        "constraints": study.independent.kept.len() + study.independent.removed.len(),
        "rank": study.independent.kept.len(),
        "rank_tolerance": study.independent.tolerance,
        "smallest_pivot": study.independent.smallest_kept,
        "redundant": study.redundant,
        "times": study.times,
        "methods": methods.collect::<Vec<_>>(),
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn to_text(model: &Model, study: &Drift) -> String {
    let set = &study.independent;
    let head = format!(
        "step {} s; impulse engine of order {}, gaps within {} m; {}, rank {} (pivots up to {} count as zero, the \
         smallest that counts is {})",
        sig(study.settings.step, 5),
        study.settings.order,
        sig(study.settings.tolerance, 2),
        counted((set.kept.len() + set.removed.len()) as u64, "constraint", "constraints"),
        set.kept.len(),
        sig(set.tolerance, 1),
        sig(set.smallest_kept, 2),
    );
    let mut out = format!("{}\n{}", styled(BOLD, &model.name), wrap(&head, 2, width()));
    out.push_str("\n  largest error of a constraint since the line before, m\n");
    // A column takes 10; what does not fit a narrow terminal gets a table of its own.
    let fit = (width().saturating_sub(12) / 10).max(1);
    for methods in study.methods.chunks(fit) {
        let mut table = Table::new(&vec![Align::Right; methods.len() + 1]);
        let mut names = vec!["time, s".to_owned()];
        names.extend(methods.iter().map(gelenk::drift::DriftMethod::name));
        table.styled(BOLD, names);
        let n = study.times.len();
        let lines = n.min(LINES);
        for line in 0..lines {
            let (from, to) = (line * n / lines, (line + 1) * n / lines);
            let mut cells = vec![sig(study.times[to - 1], 4)];
            for method in methods {
                let worst = method.errors[from..to].iter().copied().fold(0.0, f64::max);
                cells.push(if worst.is_finite() {
                    format!("{worst:.1e}")
                } else {
                    "–".to_owned()
                });
            }
            table.row(cells);
        }
        let mut energies = vec!["energy, J".to_owned()];
        energies.extend(methods.iter().map(|method| {
            let change = method.energy.last().copied().unwrap_or(f64::NAN);
            if change.is_finite() { format!("{change:.1e}") } else { "–".to_owned() }
        }));
        table.row(energies);
        out.push_str(&table.render(width()));
    }
    out.push_str("  the last line is the change of energy at the end\n");
    for method in &study.methods {
        if let Some(why) = &method.stopped {
            let line = format!("{} broke down {why}", method.name());
            let _ = write!(out, "{}: {}", styled(WARN, "note"), wrap(&line, 0, width()));
        }
    }
    out
}
