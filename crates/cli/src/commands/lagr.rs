//! `gelenk lagr`: the punched cards of the program LAGR.

use std::path::Path;

use gelenk::deck::{self, DeckError};
use gelenk::expr::Pool;
use serde_json::{Value, json};

use crate::answer::{Answer, Failure, Faults};
use crate::args::LagrArgs;
use crate::text::counted;
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
    json["text"] = derived.print().into();
    Ok(Answer::done(json, derived.print().to_owned()).asked())
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
            if name == deck::EXAMPLE_NAME {
                return Ok(deck::EXAMPLE.to_owned());
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
