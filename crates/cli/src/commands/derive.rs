//! `gelenk derive`: the equations of motion.

use std::fmt::Write;
use std::path::Path;

use gelenk::derive::{
    CodeLanguage, Derivation, DerivationError, DeriveOptions, PARTS, Part, Place, Point, derive,
};
use gelenk::files::Kind;
use serde_json::{Map, Value};

use crate::Manner;
use crate::answer::{Answer, Exit, Failure};
use crate::args::{DeriveArgs, DeriveFormat};
use crate::parse::assignment;
use crate::source::{self, Start};
use crate::text::sig;
use crate::{files, reports};

/// Longer points are no points, bytes.
const LONGEST_POINT: u64 = 1 << 20;

pub(crate) fn run(args: &DeriveArgs, manner: Manner) -> Result<Answer, Failure> {
    let loaded = source::load(&args.model, Start::MayBeOpen, manner)?;
    let what = parts(&args.what)?;
    let places = args
        .output
        .iter()
        .map(|path| (path, Kind::Text))
        .chain(args.report.iter().map(|path| (path, Kind::Report)));
    files::check_places(places, &args.model.model, manner)?;
    let linearize = args.linearize.as_deref().map(place).transpose()?;
    let describes = manner.json || !is_code(args.format);
    let options = DeriveOptions {
        substitute: args.substitute.clone(),
        linearize,
        equilibria: describes && (what.is_empty() || what.contains(&Part::Equilibria)),
        count: describes,
        joint_forces: args.joint_force.clone(),
        // Code is written from the recursive form.
        recursive: !describes
            && args.linearize.is_none()
            && args.evaluate.is_none()
            && args.report.is_none(),
    };
    let mut derivation = derive(&loaded, &options).map_err(|error| failure(&error))?;
    let numbers = match &args.evaluate {
        Some(path) => Some(evaluate(path, &derivation)?),
        None => None,
    };
    let mut json = Map::new();
    if manner.json || args.format == DeriveFormat::Json {
        json = derivation.json(&what);
        json.extend(numbers.clone().unwrap_or_default());
    }
    let code = |derivation: &mut Derivation, language| {
        derivation.code(&loaded.model, language).map_err(|error| failure(&error))
    };
    let mut text = match args.format {
        DeriveFormat::Text => describe(&derivation, &what),
        DeriveFormat::Latex => derivation.latex(&what),
        DeriveFormat::Markdown => derivation.markdown(&what),
        DeriveFormat::Json => serde_json::to_string_pretty(&json).unwrap_or_default() + "\n",
        DeriveFormat::Rust => code(&mut derivation, CodeLanguage::Rust)?,
        DeriveFormat::C => code(&mut derivation, CodeLanguage::C)?,
        DeriveFormat::Python => code(&mut derivation, CodeLanguage::Python)?,
    };
    if let Some(numbers) = numbers.filter(|_| args.format == DeriveFormat::Text) {
        text.push_str("\nNumbers at the point\n");
        for (name, value) in &numbers {
            let _ = writeln!(text, "  {name} = {value}");
        }
    }
    if is_code(args.format) {
        json.insert("code".to_owned(), text.clone().into());
    }
    json.insert("warnings".to_owned(), serde_json::json!(source::warnings(&loaded)));
    let mut answer = match &args.output {
        Some(path) => {
            files::write(path, Kind::Text, manner, text.as_bytes())?;
            json.insert("output".to_owned(), path.display().to_string().into());
            Answer::done(Value::Object(json), format!("equations: {}\n", path.display()))
        }
        // With a report the equations are there.
        None if args.report.is_some() => Answer::done(Value::Object(json), String::new()),
        None => Answer::done(Value::Object(json), text).asked(),
    };
    if let Some(path) = &args.report {
        let report = reports::of_derivation(&loaded, &derivation, &what);
        reports::write(&mut answer, path, &report, manner)?;
    }
    Ok(answer)
}

fn is_code(format: DeriveFormat) -> bool {
    matches!(format, DeriveFormat::Rust | DeriveFormat::C | DeriveFormat::Python)
}

/// The text with what the derivation cost.
fn describe(derivation: &Derivation, what: &[Part]) -> String {
    let mut text = derivation.text(what);
    let closed = derivation.equations.closed.as_ref();
    if let (Some(before), Some(closed)) = (derivation.operations_before, closed) {
        // Told at the end, with the time.
        text = text.replacen(&format!("\n{} operations\n", closed.operations), "", 1);
        let _ = writeln!(
            text,
            "\n{before} operations expanded, {} simplified; derived in {} s",
            closed.operations,
            sig(derivation.seconds, 2)
        );
    }
    text
}

/// The parts of `--what`.
fn parts(names: &[String]) -> Result<Vec<Part>, Failure> {
    let find = |name: &String| {
        PARTS.iter().find(|(known, _)| known == name).map(|(_, part)| *part).ok_or_else(|| {
            let all: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
            let failure = Failure::input(format!("--what: there is no part `{name}`"));
            match gelenk::nearest(name, all.iter().copied()) {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure.help(format!("there are {}", all.join(", "))),
            }
        })
    };
    names.iter().map(find).collect()
}

/// The place of `--linearize`.
fn place(text: &str) -> Result<Place, Failure> {
    if text.trim() == "start" {
        return Ok(Place::Start);
    }
    let all = text.split(',').map(|one| {
        assignment(one.trim()).map_err(|why| {
            Failure::input(format!("--linearize {text}: {why}"))
                .help("write `start`, or places such as q1=0,q2=pi/2")
        })
    });
    Ok(Place::At(all.collect::<Result<_, _>>()?))
}

/// The numbers at the point of a file.
fn evaluate(path: &Path, derivation: &Derivation) -> Result<Map<String, Value>, Failure> {
    let text = if path == Path::new("-") {
        source::read_standard_input(LONGEST_POINT)?
    } else {
        String::from_utf8(files::read(path, LONGEST_POINT)?)
            .map_err(|_| Failure::input(format!("`{}` is not UTF-8 text", path.display())))?
    };
    let equations = &derivation.equations;
    let point = Point::from_json(&text, equations)
        .map_err(|why| Failure::input(format!("--evaluate {}: {why}", path.display())))?;
    point.evaluate(equations).ok_or_else(|| {
        Failure::new(Exit::Failed, "the closed form is too large to be evaluated")
            .help("write code with --format c, rust or python, or run it with --engine lagrange")
    })
}

fn failure(error: &DerivationError) -> Failure {
    Failure::input(error.to_string())
}
