//! Sweep files: TOML, read with all that is wrong and where.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range as Bytes;
use std::path::Path;

use gelenk_model::source::{FileId, SourceMap, Span};
use gelenk_model::{Diagnostic, Diagnostics, LoadOptions, Loaded, Model, load_path, load_text};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use toml::Spanned;

use super::design::MOST_SOBOL;
use super::member::{is_joint_start, start_number};
use super::{Keep, MOST_MEMBERS, Over, Plan, Range, Sample, Settings, Varied, Vary};
use crate::import::{ImportOptions, import_model, is_robot_file};
use crate::quantity::{Formula, FormulaError, Quantities};
use crate::recording::Header;

/// A sweep file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    sweep: Spanned<Head>,
    #[serde(default)]
    set: BTreeMap<String, Number>,
    #[serde(default)]
    run: RunTable,
    #[serde(default)]
    vary: Vec<Spanned<VaryTable>>,
    #[serde(default)]
    keep: Vec<Spanned<KeepTable>>,
}

/// `[sweep]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    name: Option<String>,
    model: Option<Spanned<String>>,
    sample: Option<Spanned<String>>,
    count: Option<Spanned<u64>>,
    seed: Option<Spanned<u64>>,
    assemble: Option<bool>,
}

/// `[run]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RunTable {
    engine: Option<String>,
    duration: Option<Number>,
    step: Option<Number>,
    order: Option<u32>,
    solver: Option<String>,
    tolerance: Option<Number>,
    contact: Option<String>,
    accuracy: Option<Number>,
    sample: Option<Number>,
    rtol: Option<Number>,
    atol: Option<Number>,
    integrator: Option<String>,
}

/// `[[vary]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VaryTable {
    parameter: Option<Spanned<String>>,
    start: Option<Spanned<String>>,
    input: Option<Spanned<String>>,
    values: Option<Spanned<Vec<Number>>>,
    from: Option<Spanned<Number>>,
    to: Option<Spanned<Number>>,
    count: Option<Spanned<u64>>,
    #[serde(default)]
    log: bool,
}

/// `[[keep]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeepTable {
    name: Spanned<String>,
    value: Option<Spanned<String>>,
    #[serde(default)]
    over: Over,
}

/// A number, or an expression without names in quotes.
#[derive(Clone, Debug)]
struct Number {
    value: f64,
    /// As it was given: parameters may be set by expressions over others.
    text: String,
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or an expression in quotes")
            }

            fn visit_i64<E: de::Error>(self, x: i64) -> Result<Number, E> {
                Ok(Number { value: x as f64, text: x.to_string() })
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Number, E> {
                Ok(Number { value: x, text: format!("{x:?}") })
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                let value = crate::constant(text).unwrap_or(f64::NAN);
                Ok(Number { value, text: text.to_owned() })
            }
        }
        from.deserialize_any(Either)
    }
}

/// Columns that every table has.
pub(super) const COLUMNS: [&str; 5] = ["member", "verdict", "error", "time", "steps"];

/// What is being read: faults are collected.
struct Reading {
    sources: SourceMap,
    file: FileId,
    faults: Vec<Diagnostic>,
}

impl Reading {
    fn fault(&mut self, code: &'static str, at: Bytes<usize>, message: String) -> &mut Diagnostic {
        let span = Span::new(self.file, at);
        self.faults.push(Diagnostic::error(code, message).at(&self.sources, span));
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    fn unknown<'a>(
        &mut self,
        what: &str,
        name: &str,
        at: Bytes<usize>,
        known: impl Iterator<Item = &'a str>,
    ) {
        let near = gelenk_expr::nearest(name, known);
        let help = near.map(|near| format!("did you mean `{near}`?"));
        self.fault("unknown-name", at, format!("there is no {what} `{name}`")).help = help;
    }

    fn finite(&mut self, number: &Number, at: Bytes<usize>) -> f64 {
        if !number.value.is_finite() {
            let text = &number.text;
            self.fault("not-a-number", at, format!("`{text}` is not a finite number"));
        }
        number.value
    }

    fn finish(self) -> Result<SourceMap, Diagnostics> {
        if self.faults.is_empty() {
            return Ok(self.sources);
        }
        Err(Diagnostics { list: self.faults, sources: self.sources })
    }
}

impl Plan {
    /// Reads a sweep file. `folder`: where the model's path begins; no file is read without it. `model`: the model, in place of
    /// the one that the file names.
    pub fn read(
        name: &str,
        text: &str,
        folder: Option<&Path>,
        model: Option<&Header>,
    ) -> Result<Self, Diagnostics> {
        let mut sources = SourceMap::default();
        let file = sources.add(name, text);
        let mut reading = Reading { sources, file, faults: Vec::new() };
        let parsed: File = match toml::from_str(text) {
            Ok(parsed) => parsed,
            Err(error) => {
                let at = error.span().unwrap_or(0..0);
                reading.fault("bad-sweep", at, error.message().to_owned());
                reading.finish()?;
                return Err(Diagnostics { list: Vec::new(), sources: SourceMap::default() });
            }
        };
        let set: Vec<(String, String)> =
            parsed.set.iter().map(|(name, number)| (name.clone(), number.text.clone())).collect();
        let loaded = load(&mut reading, &parsed, &set, folder, model)?;
        let settings = settings(&mut reading, &parsed)?;
        let resolved = settings.over(&loaded.model.run);
        if let Err(error) = crate::check_settings(&resolved) {
            let at = parsed.sweep.span();
            reading.fault("bad-setting", at, format!("[run]: {error}"));
        }
        let mut plan = Plan {
            gelenk: crate::VERSION.to_owned(),
            name: parsed.sweep.get_ref().name.clone().unwrap_or_else(|| stem(name)),
            sample: sample(&mut reading, &parsed.sweep),
            vary: Vec::new(),
            keep: Vec::new(),
            settings,
            assemble: parsed.sweep.get_ref().assemble.unwrap_or(true),
            model: Header::of_loaded(&loaded, &set, &resolved),
        };
        for table in &parsed.vary {
            let faults = reading.faults.len();
            if let Some(vary) = vary(&mut reading, &loaded.model, plan.sample, table) {
                if plan.vary.iter().any(|other| other.what == vary.what) {
                    let message = format!("`{}` is varied twice", vary.what.column());
                    reading.fault("twice", table.span(), message);
                }
                plan.vary.push(vary);
            } else if faults == reading.faults.len() {
                reading.fault("bad-vary", table.span(), "nothing to vary".to_owned());
            }
        }
        if parsed.vary.is_empty() {
            let at = parsed.sweep.span();
            let fault = reading.fault("no-vary", at, "nothing is varied".to_owned());
            fault.help = Some("add `[[vary]]` with a `parameter`, `start` or `input`".to_owned());
        }
        let all = Quantities::new(&loaded.model);
        for table in &parsed.keep {
            keep(&mut reading, &mut plan, &loaded.model, &all, table);
        }
        if reading.faults.is_empty() {
            counts(&mut reading, &plan, &parsed);
        }
        reading.finish()?;
        Ok(plan)
    }
}

fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem();
    stem.map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Loads the model that the file names, or the one that is given.
fn load(
    reading: &mut Reading,
    parsed: &File,
    set: &[(String, String)],
    folder: Option<&Path>,
    model: Option<&Header>,
) -> Result<Loaded, Diagnostics> {
    let named = &parsed.sweep.get_ref().model;
    let options =
        LoadOptions { overrides: set.to_vec(), allow_open: true, ..LoadOptions::default() };
    let nowhere = |reading: &mut Reading, message: String, at: Bytes<usize>| {
        let fault = reading.fault("no-model", at, message);
        fault.help =
            Some("`model` is a model of the gallery, or a path beside the sweep file".to_owned());
        Diagnostics {
            list: std::mem::take(&mut reading.faults),
            sources: std::mem::take(&mut reading.sources),
        }
    };
    match (named, model) {
        (Some(named), Some(_)) => {
            let message = "the model is given already; `model` names another".to_owned();
            Err(nowhere(reading, message, named.span()))
        }
        (None, Some(header)) => {
            let mut all: Vec<(String, String)> =
                header.overrides.iter().map(|o| (o.name.clone(), o.value.clone())).collect();
            all.retain(|(name, _)| !set.iter().any(|(other, _)| other == name));
            all.extend(set.iter().cloned());
            header.load_again(|text| text, LoadOptions { overrides: all, ..options })
        }
        (None, None) => {
            let at = parsed.sweep.span();
            Err(nowhere(reading, "no model is named".to_owned(), at))
        }
        (Some(named), None) => {
            let name = named.get_ref().as_str();
            if let Some(scene) = gelenk_scenes::scene(name) {
                return load_text(scene.name, scene.text, &options);
            }
            let path = folder.map(|folder| folder.join(name)).filter(|path| path.is_file());
            match path {
                Some(path) if is_robot_file(&path) => {
                    let import =
                        ImportOptions { limits: options.limits, ..ImportOptions::default() };
                    import_model(&path, &import, &options).map(|(_, loaded)| loaded)
                }
                Some(path) => load_path(&path, &options),
                None => {
                    let message = format!("`{name}` is neither a model of the gallery nor a file");
                    Err(nowhere(reading, message, named.span()))
                }
            }
        }
    }
}

fn settings(reading: &mut Reading, parsed: &File) -> Result<Settings, Diagnostics> {
    let RunTable { engine, order, solver, contact, integrator, .. } = &parsed.run;
    let run = &parsed.run;
    let at = parsed.sweep.span();
    let mut number = |name: &str, given: &Option<Number>, zero: bool| {
        let given = given.as_ref()?;
        let x = given.value;
        if !(x.is_finite() && (x > 0.0 || zero && x == 0.0)) {
            let message = format!("[run]: {name} is {}, not a positive number", given.text);
            reading.fault("bad-setting", at.clone(), message);
        }
        Some(x)
    };
    Ok(Settings {
        engine: engine.clone(),
        duration: number("duration", &run.duration, true),
        step: number("step", &run.step, false),
        order: *order,
        solver: solver.clone(),
        tolerance: number("tolerance", &run.tolerance, false),
        contact: contact.clone(),
        accuracy: number("accuracy", &run.accuracy, false),
        sample: number("sample", &run.sample, true),
        rtol: number("rtol", &run.rtol, false),
        atol: number("atol", &run.atol, false),
        integrator: integrator.clone(),
    })
}

fn sample(reading: &mut Reading, head: &Spanned<Head>) -> Sample {
    let Head { sample, count, seed, .. } = head.get_ref();
    let word = sample.as_ref().map_or("grid", |word| word.get_ref().as_str());
    let at = sample.as_ref().map_or_else(|| head.span(), Spanned::span);
    let random = matches!(word, "random" | "latin" | "sobol");
    if let (Some(count), false) = (count, random) {
        let message = format!("a sample of kind `{word}` has as many members as values");
        let fault = reading.fault("unused-key", count.span(), message);
        fault.help = Some("give `count` in `[[vary]]`".to_owned());
    }
    if let (Some(seed), false) = (seed, random) {
        reading.fault("unused-key", seed.span(), format!("a {word} has no seed"));
    }
    let many = count.as_ref().map_or(0, |count| *count.get_ref());
    if random && many == 0 {
        let at = count.as_ref().map_or_else(|| at.clone(), Spanned::span);
        reading.fault("no-count", at, format!("`{word}` wants `count`, the number of members"));
    }
    let seed = seed.as_ref().map(|seed| *seed.get_ref());
    match word {
        "grid" => Sample::Grid,
        "list" => Sample::List,
        "random" => Sample::Random { count: many, seed: seed.unwrap_or(0) },
        "latin" => Sample::Latin { count: many, seed: seed.unwrap_or(0) },
        "sobol" => Sample::Sobol { count: many, seed },
        other => {
            let message = format!("there is no sample of kind `{other}`");
            let help = "there are grid, list, random, latin and sobol";
            reading.fault("unknown-sample", at, message).help = Some(help.to_owned());
            Sample::Grid
        }
    }
}

fn vary(
    reading: &mut Reading,
    model: &Model,
    sample: Sample,
    table: &Spanned<VaryTable>,
) -> Option<Vary> {
    let VaryTable { parameter, start, input, values, from, to, count, log } = table.get_ref();
    let at = table.span();
    let what = match (parameter, start, input) {
        (Some(name), None, None) => {
            let known = || model.parameters.iter().map(|p| p.name.as_str());
            if !known().any(|known| known == name.get_ref()) {
                reading.unknown("parameter", name.get_ref(), name.span(), known());
            }
            Varied::Parameter(name.get_ref().clone())
        }
        (None, Some(name), None) => {
            let known = is_joint_start(model, name.get_ref());
            if !known && start_number(model, name.get_ref()).is_none() {
                let message = format!("there is no start value `{}`", name.get_ref());
                reading.fault("unknown-name", name.span(), message).help = Some(
                    "there are joint.NAME.angle (or its other coordinates) and joint.NAME.rate, body.NAME.position.x, .velocity.x and \
                     .angular_velocity.x, and the first two of point.NAME"
                        .to_owned(),
                );
            }
            Varied::Start(name.get_ref().clone())
        }
        (None, None, Some(name)) => {
            let known = || model.inputs.iter().map(|input| input.name.as_str());
            if !known().any(|known| known == name.get_ref()) {
                reading.unknown("input", name.get_ref(), name.span(), known());
            }
            Varied::Input(name.get_ref().clone())
        }
        _ => {
            let message = "one of `parameter`, `start` and `input` is wanted".to_owned();
            reading.fault("bad-vary", at, message);
            return None;
        }
    };
    let counted = matches!(sample, Sample::Grid | Sample::List);
    let range = match (values, from, to) {
        (Some(list), None, None) => {
            let at = list.span();
            if list.get_ref().is_empty() {
                reading.fault("no-values", at.clone(), "`values` is empty".to_owned());
            }
            if let Some(count) = count {
                let message = "`count` goes with `from` and `to`".to_owned();
                reading.fault("unused-key", count.span(), message);
            }
            let list = list.get_ref().iter();
            Range::Values(list.map(|number| reading.finite(number, at.clone())).collect())
        }
        (None, Some(from), Some(to)) => {
            let n = count.as_ref().map_or(0, |count| *count.get_ref());
            if counted && n == 0 {
                let message = "`count` is wanted beside `from` and `to`".to_owned();
                reading.fault("no-count", at.clone(), message);
            }
            if let (Some(count), false) = (count, counted) {
                let message = "the number of members is `count` in `[sweep]`".to_owned();
                reading.fault("unused-key", count.span(), message);
            }
            let ends = [from, to].map(|end| reading.finite(end.get_ref(), end.span()));
            if *log && !ends.iter().all(|end| *end > 0.0) {
                let message = "with `log`, `from` and `to` must be above zero".to_owned();
                reading.fault("bad-range", at, message);
            }
            Range::Between { from: ends[0], to: ends[1], count: n, log: *log }
        }
        _ => {
            let message = "either `values`, or `from` and `to`, are wanted".to_owned();
            reading.fault("bad-vary", at, message);
            return None;
        }
    };
    Some(Vary { what, range })
}

fn keep(
    reading: &mut Reading,
    plan: &mut Plan,
    model: &Model,
    all: &Quantities,
    table: &Spanned<KeepTable>,
) {
    let KeepTable { name, value, over } = table.get_ref();
    let taken = plan.keep.iter().any(|other| other.name == *name.get_ref())
        || plan.vary.iter().any(|vary| vary.what.column() == *name.get_ref())
        || COLUMNS.contains(&name.get_ref().as_str());
    if taken || name.get_ref().trim().is_empty() {
        let message = format!("`{}` is the name of another column", name.get_ref());
        let fault = reading.fault("name-twice", name.span(), message);
        fault.help = Some("choose another name".to_owned());
    }
    // A name alone is a quantity.
    let text = value.as_ref().unwrap_or(name);
    match Formula::new(model, all, text.get_ref()) {
        Ok(_) => {}
        Err(FormulaError::Unknown { name }) => {
            reading.unknown("quantity", &name, text.span(), all.names.iter().map(String::as_str));
        }
        Err(error) => {
            reading.fault("bad-formula", text.span(), error.to_string());
        }
    }
    let (name, value) = (name.get_ref().clone(), text.get_ref().clone());
    plan.keep.push(Keep { name, value, over: *over });
}

/// Faults of numbers of members.
fn counts(reading: &mut Reading, plan: &Plan, parsed: &File) {
    let at = parsed.sweep.span();
    if plan.sample == Sample::List {
        let lengths: Vec<u64> = plan.vary.iter().map(|vary| vary.range.len()).collect();
        if lengths.windows(2).any(|pair| pair[0] != pair[1]) {
            let message = format!("in a list all have equally many values, not {lengths:?}");
            reading.fault("lengths", at.clone(), message);
        }
    }
    if matches!(plan.sample, Sample::Sobol { .. }) && plan.vary.len() > MOST_SOBOL {
        let message = format!("a Sobol sample varies at most {MOST_SOBOL} things");
        reading.fault("limit-sobol", at.clone(), message).help =
            Some("use `latin`, which has no limit".to_owned());
    }
    let n = plan.n_members();
    if n > MOST_MEMBERS {
        let message = format!("{n} members are above the limit of {MOST_MEMBERS}");
        reading.fault("limit-members", at, message);
    }
}
