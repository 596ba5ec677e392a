//! `gelenk workprecision`: what an error costs, method by method.

use std::fmt::Write;
use std::ops::ControlFlow;

use gelenk::compare::CompareError;
use gelenk::files::Kind;
use gelenk::precision::{Method, Trial, precision};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::{ModelArgs, WorkPrecisionArgs};
use crate::progress::Progress;
use crate::show::{BOLD, DIM, styled, width};
use crate::source::{self, Start};
use crate::text::{Align, Table, grouped};
use crate::{files, interrupt};

pub(crate) fn run(args: &WorkPrecisionArgs, manner: Manner) -> Result<Answer, Failure> {
    let mut all = Vec::new();
    for name in &args.models {
        let (set, limit) = (args.set.clone(), Vec::new());
        let model = ModelArgs { model: name.clone(), set, limit, ..ModelArgs::default() };
        let loaded = source::load(&model, Start::MustClose, manner)?;
        let path = args
            .plot
            .as_ref()
            .map(|f| f.join(format!("{}.svg", files::file_stem(&loaded.model.name))));
        if let Some(path) = &path {
            files::check_place(path, Kind::Svg, name, manner)?;
        }
        all.push((loaded, path));
    }
    interrupt::be_graceful();
    let mut progress = Progress::of_work("workprecision", all.len() as f64, manner.quiet);
    let mut text = String::new();
    let mut models = Vec::new();
    for (k, (loaded, path)) in all.iter().enumerate() {
        let methods = precision(loaded, args.duration, &mut || {
            if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let methods = methods.map_err(|error| failure(&error))?;
        progress.reached(k as f64 + 1.0);
        let _ = writeln!(text, "{}", styled(BOLD, &loaded.model.name));
        text.push_str(&to_text(&methods));
        let mut json = json!({
            "model": loaded.model.name, "duration": args.duration, "methods": to_json(&methods),
        });
        if let Some(path) = path {
            let svg = gelenk::precision::plot_svg(&loaded.model, &methods);
            files::write(path, Kind::Svg, manner, svg.as_bytes())?;
            json["plot"] = path.display().to_string().into();
            let _ = writeln!(text, "plot: {}", path.display());
        }
        text.push('\n');
        models.push(json);
    }
    progress.clear();
    Ok(Answer::done(json!({ "models": models }), text))
}

fn failure(error: &CompareError) -> Failure {
    match error {
        CompareError::Failed { .. } => {
            Failure::new(Exit::Failed, error.to_string()).help("take a shorter --duration")
        }
        CompareError::Stopped => {
            Failure::new(Exit::Stopped, "by Ctrl-C; a measurement has no result before its end")
        }
        _ => Failure::input(error.to_string()),
    }
}

fn to_json(methods: &[Method]) -> Value {
    let trial = |t: &Trial| {
        json!({
            "setting": t.setting, "steps": t.steps, "seconds": t.seconds, "error": t.error, "verdict": t.verdict,
        })
    };
    let list = methods.iter().map(
        |m| json!({ "method": m.name, "trials": m.trials.iter().map(trial).collect::<Vec<_>>() }),
    );
    Value::Array(list.collect())
}

fn to_text(methods: &[Method]) -> String {
    let number = Align::Right;
    let mut table = Table::new(&[Align::Left, number, number, number, number, Align::Left]);
    table.styled(DIM, ["", "step or tolerance", "steps", "time, s", "error, m", "verdict"]);
    for method in methods {
        for trial in &method.trials {
            table.row([
                method.name.clone(),
                format!("{:.2e}", trial.setting),
                grouped(trial.steps),
                format!("{:.2e}", trial.seconds),
                format!("{:.1e}", trial.error),
                trial.verdict.to_string(),
            ]);
        }
    }
    table.render(width())
}
