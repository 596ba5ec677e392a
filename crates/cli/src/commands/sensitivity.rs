//! `gelenk sensitivity`: how the end of a motion answers to its start, inputs and parameters.

use std::fmt::Write;

use gelenk::model::{Loaded, Model};
use gelenk::sensitivity::{
    DMatrix, DaeError, Derivatives, Named, Options, ParameterPair, Periodic, Sensitivity,
    SensitivityError, Stability, exact_numbers, find_period, judge, periodic, sensitivity,
};
use gelenk::verdict::{Finding, Level};
use serde_json::{Value, json};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::SensitivityArgs;
use crate::judged;
use crate::show::{BAD, BOLD, DIM, GOOD, styled, width};
use crate::source::{self, Start};
use crate::text::{Align, Table, counted, grouped, sig, wrap};

/// Longer motions of chaotic models have no use of derivatives; this is the default end, s.
const USUAL_DURATION: f64 = 1.0;
/// The change of a parameter, as a part of it.
const PART: f64 = 1e-5;
/// Kinds that differ by more, relative to the largest entry, disagree.
const AGREE: f64 = 1e-6;
/// A motion that ends this near to its start comes back.
const COMES_BACK: f64 = 1e-6;
/// Width of a number in the table.
const NUMBER: usize = 13;

/// A block of the matrix: what it is by, and its columns.
struct Block {
    by: &'static str,
    columns: Vec<Named>,
    matrix: Vec<Vec<f64>>,
}

pub(crate) fn run(args: &SensitivityArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MustClose, manner)?;
    let model = &loaded.model;
    let wanted = Wanted::new(args, &loaded)?;
    let pairs = pairs(args, &loaded, &wanted.parameters)?;
    let options = Options { rtol: args.rtol, atol: args.rtol, ..Options::default() };
    let usual = args.at.unwrap_or(model.run.duration.min(USUAL_DURATION));
    let t = if args.periodic {
        let latest = model.run.duration.max(usual);
        let period = find_period(model, args.at, latest, COMES_BACK, &options);
        let period = period.map_err(|error| run_failure(&error))?;
        match period {
            Some(period) => period,
            None => return Ok(not_periodic(model, args.at, latest)),
        }
    } else {
        usual
    };
    let found =
        sensitivity(model, t, &options, Derivatives::Exact, &pairs).map_err(|e| failure(&e))?;
    let checked = if args.check {
        let other = sensitivity(model, t, &options, Derivatives::Internal, &pairs);
        Some(differences(&wanted, &found, &other.map_err(|e| failure(&e))?))
    } else {
        None
    };
    let blocks = wanted.blocks(model, &found, &pairs);
    let circle = args.periodic.then(|| periodic(&found));
    let mut json = to_json(model, &found, &blocks, checked.as_deref(), circle.as_ref());
    let mut text = to_text(model, &found, &blocks, checked.as_deref(), circle.as_ref());
    let differences: Vec<(&str, &str)> = pairs
        .iter()
        .filter_map(|pair| Some((pair.name.name.as_str(), pair.exact.as_ref().err()?.as_str())))
        .collect();
    for (name, reason) in &differences {
        let note = format!("by {name}: differences of two models, since {reason}");
        let _ = write!(text, "{DIM}{}{DIM:#}", wrap(&note, 0, width()));
    }
    if !differences.is_empty() {
        let list =
            differences.iter().map(|(name, reason)| json!({ "name": name, "reason": reason }));
        json["by_differences"] = Value::Array(list.collect());
    }
    let mut verdict = judge(model, &found, &options).map_err(|e| Failure::input(e.to_string()))?;
    let wrong = judged::refused(&verdict, args.strict);
    let mut exit = Exit::Done;
    for (by, relative) in checked.iter().flatten().filter(|(_, relative)| !(*relative <= AGREE)) {
        exit = Exit::Negative;
        verdict.push(Finding {
            level: Level::Failed,
            quantity: "derivatives".to_owned(),
            value: *relative,
            limit: AGREE,
            time: Some(found.t),
            element: None,
            cause: format!(
                "derivatives by {by}, exact and by internal numerical differentiation, differ by {relative:.1e} of the largest entry"
            ),
            remedy: "try an earlier --at: far derivatives of chaotic motions have no digits"
                .to_owned(),
        });
    }
    let mut answer = Answer::done(json, text).exit(exit);
    judged::tell(&mut answer, &verdict, manner);
    // That the two kinds disagree is an answer.
    match wrong {
        Some(failure) => Ok(answer.failed(failure)),
        None => Ok(answer),
    }
}

/// By what to differentiate.
struct Wanted {
    start: bool,
    inputs: bool,
    parameters: Vec<String>,
}

impl Wanted {
    fn new(args: &SensitivityArgs, loaded: &Loaded) -> Result<Self, Failure> {
        let model = &loaded.model;
        let mut wanted = Wanted { start: args.periodic, inputs: false, parameters: Vec::new() };
        for word in &args.by {
            match word.trim() {
                "start" => wanted.start = true,
                "inputs" if model.inputs.is_empty() => {
                    return Err(Failure::input("the model has no inputs")
                        .help("give it some: [inputs] push = 0"));
                }
                "inputs" => wanted.inputs = true,
                "parameters" => {
                    let plain = model.parameters.iter().filter(|p| p.definition.is_none());
                    wanted.parameters.extend(plain.map(|p| p.name.clone()));
                }
                name => {
                    if !model.parameters.iter().any(|p| p.name == name) {
                        let names = model.parameters.iter().map(|p| p.name.as_str());
                        let words = names.chain(["start", "inputs", "parameters"]);
                        let failure = Failure::input(format!("there is no parameter `{name}`"));
                        return Err(match gelenk::nearest(name, words) {
                            Some(near) => failure.help(format!("did you mean `{near}`?")),
                            None => {
                                failure.help("say start, inputs, parameters, or a parameter's name")
                            }
                        });
                    }
                    wanted.parameters.push(name.to_owned());
                }
            }
        }
        wanted.parameters.dedup();
        Ok(wanted)
    }

    fn blocks(&self, model: &Model, found: &Sensitivity, pairs: &[ParameterPair]) -> Vec<Block> {
        let rows = |matrix: &DMatrix<f64>| {
            matrix.row_iter().map(|row| row.iter().copied().collect()).collect()
        };
        let mut blocks = Vec::new();
        if self.start {
            let columns = found.quantities.clone();
            blocks.push(Block { by: "start", columns, matrix: rows(&found.by_start) });
        }
        if self.inputs {
            let named = |input: &gelenk::model::Input| Named {
                name: format!("input.{}", input.name),
                unit: "1".to_owned(),
            };
            let columns = model.inputs.iter().map(named).collect();
            blocks.push(Block { by: "inputs", columns, matrix: rows(&found.by_inputs) });
        }
        if !pairs.is_empty() {
            let columns = pairs.iter().map(|p| p.name.clone()).collect();
            blocks.push(Block { by: "parameters", columns, matrix: rows(&found.by_parameters) });
        }
        blocks
    }
}

/// The model with a larger and a smaller value of each parameter.
fn pairs(
    args: &SensitivityArgs,
    loaded: &Loaded,
    names: &[String],
) -> Result<Vec<ParameterPair>, Failure> {
    let mut pairs = Vec::new();
    for name in names {
        let Some(parameter) = loaded.model.parameters.iter().find(|p| &p.name == name) else {
            continue;
        };
        let step = PART * if parameter.value == 0.0 { 1.0 } else { parameter.value.abs() };
        let quiet = Manner { quiet: true, json: true, overwrite: false };
        let with = |value: f64| {
            let mut model = args.model.clone();
            model.set.retain(|(set, _)| set != name);
            model.set.push((name.clone(), format!("{value:?}")));
            source::load(&model, Start::MustClose, quiet).map(|loaded| loaded.model)
        };
        if args.model.model == "-" {
            return Err(Failure::input("standard input can be read once only")
                .help("save the model to a file to differentiate by parameters"));
        }
        let models = [with(parameter.value + step)?, with(parameter.value - step)?];
        let unit = parameter.unit.clone().unwrap_or_else(|| "1".to_owned());
        let exact = Err(String::new());
        pairs.push(ParameterPair { name: Named { name: name.clone(), unit }, models, step, exact });
    }
    exact_numbers(loaded, &mut pairs);
    Ok(pairs)
}

/// The largest difference of the two kinds, relative to the largest entry, by block.
fn differences(
    wanted: &Wanted,
    exact: &Sensitivity,
    other: &Sensitivity,
) -> Vec<(&'static str, f64)> {
    let relative = |a: &DMatrix<f64>, b: &DMatrix<f64>| {
        let size = a.iter().fold(1e-300, |s: f64, x| s.max(x.abs()));
        (a - b).iter().fold(0.0, |s: f64, x| s.max(x.abs())) / size
    };
    let mut list = Vec::new();
    if wanted.start {
        list.push(("start", relative(&exact.by_start, &other.by_start)));
    }
    if wanted.inputs {
        list.push(("inputs", relative(&exact.by_inputs, &other.by_inputs)));
    }
    if !wanted.parameters.is_empty() {
        list.push(("parameters", relative(&exact.by_parameters, &other.by_parameters)));
    }
    list
}

fn run_failure(error: &DaeError) -> Failure {
    match error {
        DaeError::Unsupported { .. } | DaeError::OpenAtStart { .. } => {
            Failure::input(error.to_string())
        }
        _ => Failure::new(Exit::Failed, error.to_string()).help("take an earlier --at"),
    }
}

fn failure(error: &SensitivityError) -> Failure {
    match error {
        SensitivityError::Run(error) => run_failure(error),
        _ => Failure::new(Exit::Failed, error.to_string()).help("take an earlier --at"),
    }
}

fn not_periodic(model: &Model, at: Option<f64>, latest: f64) -> Answer {
    let when = match at {
        Some(at) => format!("near {} s", sig(at, 4)),
        None => format!("within {} s", sig(latest, 4)),
    };
    let text = format!("{}: the motion does not come back to its start {when}\n", model.name);
    let json = json!({ "model": model.name, "periodic": null });
    Answer::done(json, text).exit(Exit::Negative)
}

/// Name and unit.
fn title(n: &Named) -> String {
    if n.unit == "1" { n.name.clone() } else { format!("{}, {}", n.name, n.unit) }
}

pub(super) fn stability_word(stability: Stability) -> &'static str {
    match stability {
        Stability::Stable => "stable",
        Stability::Neutral => "neutral",
        Stability::Unstable => "unstable",
    }
}

fn to_json(
    model: &Model,
    found: &Sensitivity,
    blocks: &[Block],
    checked: Option<&[(&'static str, f64)]>,
    circle: Option<&Periodic>,
) -> Value {
    let named = |list: &[Named]| -> Vec<Value> {
        list.iter().map(|n| json!({ "name": n.name, "unit": n.unit })).collect()
    };
    let blocks: Vec<Value> = blocks
        .iter()
        .map(|b| json!({ "by": b.by, "columns": named(&b.columns), "matrix": b.matrix }))
        .collect();
    let mut json = json!({
        "model": model.name,
        "time": found.t,
        "degrees_of_freedom": found.freedoms,
        "directions": 2 * found.freedoms,
        "coordinates": found.wronski.y.len(),
        "steps": found.wronski.steps,
        "evaluations": found.wronski.evaluations,
        "rows": named(&found.quantities),
        "start": found.values[0],
        "end": found.values[1],
        "derivatives": blocks,
    });
    if let Some(checked) = checked {
        let list = checked.iter().map(|(by, relative)| json!({ "by": by, "difference": relative }));
        json["check"] = Value::Array(list.collect());
    }
    if let Some(circle) = circle {
        let multipliers: Vec<Value> = circle
            .multipliers
            .iter()
            .map(|m| json!({ "re": m.re, "im": m.im, "abs": m.norm() }))
            .collect();
        json["periodic"] = json!({
            "period": circle.period,
            "gap": circle.gap,
            "multipliers": multipliers,
            "stability": stability_word(circle.stability),
        });
    }
    json
}

fn to_text(
    model: &Model,
    found: &Sensitivity,
    blocks: &[Block],
    checked: Option<&[(&'static str, f64)]>,
    circle: Option<&Periodic>,
) -> String {
    let mut out = format!("{}\n", styled(BOLD, &model.name));
    let line = format!(
        "the state at {} s: {}, {} directions integrated of {} coordinates and velocities, {} steps",
        sig(found.t, 8),
        counted(found.freedoms as u64, "degree of freedom", "degrees of freedom"),
        2 * found.freedoms,
        found.wronski.y.len(),
        grouped(found.wronski.steps),
    );
    out.push_str(&wrap(&line, 2, width()));
    for block in blocks {
        let _ = writeln!(out, "\n{}", styled(BOLD, format!("By {}", block.by)));
        let titles: Vec<String> = block.columns.iter().map(title).collect();
        let label = found.quantities.iter().map(|q| title(q).chars().count()).max().unwrap_or(0);
        let mut first = 0;
        while first < titles.len() {
            // As many columns beside each other as there is room for.
            let (mut last, mut used) = (first, 2 + label);
            while last < titles.len() {
                used += 2 + titles[last].chars().count().max(NUMBER);
                if last > first && used > width() {
                    break;
                }
                last += 1;
            }
            let mut aligns = vec![Align::Left];
            aligns.resize(1 + last - first, Align::Right);
            let mut table = Table::new(&aligns);
            let heads = titles[first..last].iter().cloned();
            table.styled(DIM, std::iter::once(String::new()).chain(heads));
            for (row, quantity) in block.matrix.iter().zip(&found.quantities) {
                let cells = row[first..last].iter().map(|x| format!("{x:.6e}"));
                table.row(std::iter::once(title(quantity)).chain(cells));
            }
            out.push_str(&table.render(width()));
            first = last;
        }
    }
    if let Some(circle) = circle {
        let _ = writeln!(out, "\n{}", styled(BOLD, "Multipliers"));
        let line = format!(
            "period {} s, after which the state differs from the start by {:.1e}",
            sig(circle.period, 12),
            circle.gap
        );
        out.push_str(&wrap(&line, 2, width()));
        let mut table = Table::new(&[Align::Right; 3]);
        table.styled(DIM, ["real", "imaginary", "absolute"]);
        for m in &circle.multipliers {
            table.row([format!("{:.8}", m.re), format!("{:.8}", m.im), format!("{:.8}", m.norm())]);
        }
        out.push_str(&table.render(width()));
        let verdict = match circle.stability {
            Stability::Stable => styled(GOOD, "stable: disturbances die away"),
            Stability::Neutral => {
                styled(GOOD, "neutral: none is outside the unit circle, some are on it")
            }
            Stability::Unstable => styled(BAD, "unstable: one is outside the unit circle"),
        };
        let _ = writeln!(out, "{verdict}");
    }
    if let Some(checked) = checked {
        out.push('\n');
        for (by, relative) in checked {
            let fine = *relative <= AGREE;
            let verdict = if fine { styled(GOOD, "agree") } else { styled(BAD, "disagree") };
            let _ = writeln!(
                out,
                "by {by}: exact and internal numerical differentiation {verdict}, largest difference {relative:.1e} of the largest entry"
            );
        }
    }
    out
}
