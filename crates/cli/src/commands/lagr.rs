//! `gelenk lagr`: the punched cards of the program LAGR.

use std::path::Path;

use gelenk::deck::{self, DeckError};
use gelenk::decks::{DeckMotion, DeckRunError, DeckSettings, run_deck};
use gelenk::derive::{CodeLanguage, generate_code};
use gelenk::expr::Pool;
use serde_json::{Value, json};

use crate::answer::{Answer, Exit, Failure, Faults};
use crate::args::{DeckFormat, LagrArgs};
use crate::show::BOLD;
use crate::text::{Align, Table as Columns, counted, sig};
use crate::{files, source};

/// Longest deck, bytes.
const MOST: u64 = 10_000_000;

pub(crate) fn run(args: &LagrArgs) -> Result<Answer, Failure> {
    let text = read(&args.deck)?;
    if args.print_deck {
        return Ok(Answer::done(json!({ "deck": text }), text).asked());
    }
    let deck = deck::read(&text).map_err(|faults| bad_deck(&args.deck, &faults))?;
    let mut pool = Pool::new();
    let derived = deck.derive(&mut pool).map_err(|faults| bad_deck(&args.deck, &faults))?;
    let mut json = derived.to_json(&pool);
    let one = || {
        let found = args.system.checked_sub(1).and_then(|i| derived.systems.get(i));
        found.ok_or_else(|| {
            let n = counted(derived.systems.len() as u64, "system", "systems");
            Failure::input(format!("--system {}: the deck has {n}", args.system))
        })
    };
    if let Some(format) = args.format {
        let code = code(args, &mut pool, one()?, format)?;
        json["code"] = code.clone().into();
        return Ok(Answer::done(json, code).asked());
    }
    if args.run {
        let motion = motion(args, &mut pool, one()?)?;
        json["motion"] = motion_json(&motion);
        return Ok(Answer::done(json, motion_text(&motion)).asked());
    }
    json["text"] = derived.print().into();
    Ok(Answer::done(json, derived.print().to_owned()).asked())
}

/// The equations in a language.
fn code(
    args: &LagrArgs,
    pool: &mut Pool,
    system: &deck::SystemResult,
    format: DeckFormat,
) -> Result<String, Failure> {
    let language = match format {
        DeckFormat::C => CodeLanguage::C,
        DeckFormat::Rust => CodeLanguage::Rust,
        DeckFormat::Python => CodeLanguage::Python,
    };
    let name =
        Path::new(&args.deck).file_stem().map_or("deck".into(), |stem| stem.to_string_lossy());
    let name = if name == "-" { "deck".into() } else { name };
    let program = system.program(pool, &name, args.kinetic_list, args.force_list);
    let program = program.ok_or_else(|| {
        let (kinetic, force) = (system.kinetics.len() - 1, system.forces.len() - 1);
        Failure::input(DeckRunError::NoList { kinetic, force }.to_string())
    })?;
    generate_code(pool, &program, language).map_err(|error| Failure::input(error.to_string()))
}

fn motion(
    args: &LagrArgs,
    pool: &mut Pool,
    system: &deck::SystemResult,
) -> Result<DeckMotion, Failure> {
    let value = |(name, text): &(String, String)| {
        let value = gelenk::constant(text);
        let value = value.map_err(|why| Failure::input(format!("--set {name}={text}: {why}")))?;
        Ok((name.clone(), value))
    };
    let settings = DeckSettings {
        values: args.set.iter().map(value).collect::<Result<_, Failure>>()?,
        duration: args.duration,
        step: args.step,
        tolerance: args.tolerance,
        kinetic_list: args.kinetic_list,
        force_list: args.force_list,
    };
    run_deck(pool, system, &settings).map_err(|error| match &error {
        DeckRunError::Integration(_) => Failure::new(Exit::Failed, error.to_string()),
        DeckRunError::Missing { .. } => Failure::input(error.to_string())
            .help("--set NAME=VALUE; unspecified functions are replaced by a list: --kinetic-list, --force-list"),
        _ => Failure::input(error.to_string()),
    })
}

fn motion_json(motion: &DeckMotion) -> Value {
    let samples = motion.samples.iter().map(|sample| {
        json!({
            "time": sample.t,
            "values": sample.y,
            "energy": { "kinetic": sample.kinetic, "potential": sample.potential },
            "gap": sample.gap,
        })
    });
    json!({
        "names": motion.names,
        "steps": motion.steps,
        "samples": samples.collect::<Vec<_>>(),
    })
}

fn motion_text(motion: &DeckMotion) -> String {
    let has_potential = motion.samples.iter().all(|sample| sample.potential.is_some());
    let mut head = vec!["t".to_owned()];
    head.extend(motion.names.iter().cloned());
    head.push("kinetic energy".to_owned());
    if has_potential {
        head.push("energy".to_owned());
    }
    let mut lines = Columns::new(&vec![Align::Right; head.len()]);
    lines.styled(BOLD, head);
    for sample in &motion.samples {
        let mut cells = vec![sig(sample.t, 8)];
        cells.extend(sample.y.iter().map(|x| sig(*x, 10)));
        cells.push(sig(sample.kinetic, 10));
        if let Some(potential) = sample.potential.filter(|_| has_potential) {
            cells.push(sig(sample.kinetic + potential, 10));
        }
        lines.row(cells);
    }
    lines.render(usize::MAX)
}

fn read(name: &str) -> Result<String, Failure> {
    if name == "-" {
        return source::read_standard_input(MOST);
    }
    let path = Path::new(name);
    match std::fs::metadata(path) {
        Ok(_) => String::from_utf8(files::read(path, MOST)?)
            .map_err(|_| Failure::input(format!("`{name}` is not UTF-8 text"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if let Some((_, text)) = deck::DECKS.iter().find(|(known, _)| *known == name) {
                return Ok((*text).to_owned());
            }
            Err(Failure::input(format!("there is no file `{name}`"))
                .help("`gelenk lagr system-2 --deck > my-deck.txt` starts a deck"))
        }
        Err(error) => Err(Failure::io("read", path, &error)),
    }
}

/// All faults of a deck, one a line.
fn bad_deck(name: &str, faults: &[DeckError]) -> Failure {
    let first = faults.first().map_or_else(String::new, ToString::to_string);
    let n = faults.len() as u64;
    let message = if n == 1 {
        format!("{name}: {first}")
    } else {
        format!("{name}: {}; the first: {first}", counted(n, "fault", "faults"))
    };
    let drawn: Vec<String> = faults.iter().map(|f| format!("error: {name}: {f}")).collect();
    let list: Vec<Value> = faults
        .iter()
        .map(|f| json!({ "card": f.place.card, "column": f.place.column, "message": f.message }))
        .collect();
    let mut failure = Failure::input(message);
    failure.faults = Some(Box::new(Faults { json: list.into(), drawn: drawn.join("\n") }));
    failure
}
