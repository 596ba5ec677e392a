//! `gelenk converge`: the order of the method and the cost of accuracy, measured.

use std::fmt::Write;
use std::ops::ControlFlow;

use gelenk::converge::{Study, StudyError, StudyOptions, converge, study_tolerance};
use gelenk::files::Kind;
use gelenk::model::{Model, RunSettings};
use serde_json::{Map, Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::ConvergeArgs;
use crate::progress::Progress;
use crate::show::{BOLD, DIM, styled, width};
use crate::source::{self, Start};
use crate::text::{Align, Table, sig, wrap};
use crate::{files, interrupt, judged, reports};

/// Longer studies of chaotic models measure chaos; this is the default end, s.
const USUAL_DURATION: f64 = 1.0;

pub(crate) fn run(args: &ConvergeArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let model = &loaded.model;
    let settings = settings(args, model)?;
    let places = args
        .plot
        .iter()
        .map(|path| (path, Kind::Svg))
        .chain(args.report.iter().map(|path| (path, Kind::Report)));
    files::check_places(places, &args.model.model, manner)?;
    let options = StudyOptions { levels: args.levels, quantities: args.quantity.clone() };
    interrupt::be_graceful();
    let mut progress = Progress::of_work(&model.name, 1.0, manner.quiet);
    let study = converge(model, &settings, &options, &mut |share| {
        progress.reached(share);
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.clear();
    let study = study.map_err(|error| failure(&error))?;
    let mut json = to_json(model, &study);
    let mut text = to_text(model, &study);
    if let Some(path) = &args.plot {
        files::write(
            path,
            Kind::Svg,
            manner,
            gelenk::converge::plot_svg(model, &study).as_bytes(),
        )?;
        json.insert("plot".to_owned(), path.display().to_string().into());
        let _ = writeln!(text, "\nplot: {}", path.display());
    }
    let mut answer = Answer::done(Value::Object(json), text);
    judged::tell(&mut answer, &study.verdict, manner);
    if let Some(path) = &args.report {
        reports::write(&mut answer, path, &reports::of_study(&loaded, &study), manner)?;
    }
    if let Some(failure) = judged::refused(&study.verdict, args.strict) {
        return Ok(answer.failed(failure));
    }
    Ok(answer)
}

/// The model's settings with those of the command line; tight tolerances and a short end unless told.
fn settings(args: &ConvergeArgs, model: &Model) -> Result<RunSettings, Failure> {
    let mut settings = source::stepping(&args.settings, source::settings(&args.settings, model))?;
    if args.settings.duration.is_none() {
        settings.duration = settings.duration.min(USUAL_DURATION);
    }
    let tight = study_tolerance(&settings, args.levels);
    if args.settings.tolerance.is_none() {
        settings.tolerance = tight;
    }
    if args.settings.velocity_tolerance.is_none() {
        settings.velocity_tolerance = settings.velocity_tolerance.min(tight);
    }
    source::check(&settings)?;
    Ok(settings)
}

fn failure(error: &StudyError) -> Failure {
    match error {
        StudyError::Failed { .. } => Failure::new(Exit::Failed, error.to_string())
            .help("take a looser --tolerance, a smaller --step or a shorter --duration"),
        StudyError::Stopped => {
            Failure::new(Exit::Stopped, "by Ctrl-C; a study has no result before its end")
        }
        _ => Failure::input(error.to_string()),
    }
}

fn to_json(model: &Model, study: &Study) -> Map<String, Value> {
    let by_name = |value: &dyn Fn(usize) -> Value| -> Value {
        let names = study.quantities.iter().enumerate();
        Value::Object(names.map(|(k, q)| (q.name.clone(), value(k))).collect())
    };
    let levels: Vec<Value> = study
        .levels
        .iter()
        .enumerate()
        .map(|(i, level)| {
            json!({
                "step": level.step,
                "steps": level.steps,
                "corrections": level.corrections,
                "wall_seconds": level.wall_seconds,
                "errors": by_name(&|k| json!(level.errors[k])),
                "orders": by_name(&|k| json!(study.order(i, k))),
            })
        })
        .collect();
    let quantities: Vec<Value> = study
        .quantities
        .iter()
        .enumerate()
        .map(|(k, quantity)| {
            json!({
                "name": quantity.name,
                "unit": quantity.unit,
                "order": study.measured_order(k),
                "floor": study.floors[k],
            })
        })
        .collect();
    let reference = &study.reference;
    let value = json!({
        "model": model.name,
        "engine": study.settings.engine,
        "settings": gelenk::report::settings_json(&study.settings),
        "quantities": quantities,
        "levels": levels,
        "reference": {
            "step": reference.step,
            "order": reference.order,
            "steps": reference.steps,
            "wall_seconds": reference.wall_seconds,
            "errors": by_name(&|k| json!(reference.errors[k])),
        },
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn to_text(model: &Model, study: &Study) -> String {
    let settings = &study.settings;
    let reference = &study.reference;
    let head = format!(
        "{} engine, order {}, {} solver over {} s; gaps within {} m; reference: order {} with step {} s",
        settings.engine,
        settings.order,
        settings.solver,
        sig(settings.duration, 6),
        sig(settings.tolerance, 2),
        reference.order,
        sig(reference.step, 4),
    );
    let mut out = format!("{}\n{}", styled(BOLD, &model.name), wrap(&head, 2, width()));
    // Each quantity takes 24 columns; a narrow terminal gets several tables.
    let fit = (width().saturating_sub(24) / 24).max(1);
    let all: Vec<usize> = (0..study.quantities.len()).collect();
    for some in all.chunks(fit) {
        out.push('\n');
        out.push_str(&table(study, some));
    }
    out.push('\n');
    let orders = all.iter().map(|&k| {
        let order = study.measured_order(k).map_or("none".to_owned(), |p| format!("{p:.2}"));
        format!("{} {order}", study.quantities[k].name)
    });
    let orders = orders.collect::<Vec<_>>().join(", ");
    out.push_str(&wrap(&format!("measured order: {orders}"), 0, width()));
    if all.iter().any(|&k| study.measured_order(k).is_none()) {
        let why = "none: its errors are rounding, or no larger than the reference's own";
        let _ = writeln!(out, "{}", styled(DIM, why));
    }
    out
}

/// Error and order of some quantities at each level.
fn table(study: &Study, some: &[usize]) -> String {
    let mut aligns = vec![Align::Right, Align::Right];
    let mut head = vec!["step, s".to_owned(), "time".to_owned()];
    for &k in some {
        let quantity = &study.quantities[k];
        head.extend([format!("{}, {}", quantity.name, quantity.unit), "order".to_owned()]);
        aligns.extend([Align::Right, Align::Right]);
    }
    let mut table = Table::new(&aligns);
    table.styled(BOLD, head);
    for (i, level) in study.levels.iter().enumerate() {
        let mut cells = vec![sig(level.step, 5), format!("{} s", sig(level.wall_seconds, 2))];
        for &k in some {
            let order = i.checked_sub(1).and_then(|before| study.order(before, k));
            let order = order.map_or(String::new(), |p| format!("{p:.2}"));
            let mark = if study.is_clean(i, k) { "" } else { "~" };
            cells.extend([format!("{mark}{:.2e}", level.errors[k]), order]);
        }
        table.row(cells);
    }
    table.render(width())
}
