//! Faulty files: each one is refused with the right code, name and line, or, if the fault is only in looks, read with a report.
//! A file says what it expects in its last line:
//! `<!-- refused: CODE | NAME | line N | lenient: loads -->`.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use std::path::{Path, PathBuf};

use gelenk_import::{Fate, ImportOptions, import_path};
use gelenk_model::{LoadOptions, load_text};

/// What a file expects of the reader.
struct Expected {
    refused: bool,
    code: String,
    name: String,
    line: usize,
    lenient: bool,
}

fn expected(text: &str) -> Expected {
    let last = text.trim_end().lines().last().unwrap();
    let inner = last.trim_start_matches("<!-- ").trim_end_matches(" -->");
    let (kind, rest) = inner.split_once(": ").unwrap();
    let parts: Vec<&str> = rest.split('|').map(str::trim).collect();
    let [code, name, line, lenient] = parts.as_slice() else { panic!("{last}") };
    Expected {
        refused: kind == "refused",
        code: (*code).to_owned(),
        name: (*name).to_owned(),
        line: line.trim_start_matches("line ").parse().unwrap(),
        lenient: *lenient == "lenient: loads",
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = all.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// What is wrong with how a file is judged; empty if nothing.
fn judge(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let wanted = expected(&text);
    let mut wrong = String::new();
    let strict = import_path(path, &ImportOptions::default());
    match (&strict, wanted.refused) {
        (Ok(_), true) => wrong.push_str("it is not refused; "),
        (Err(faults), false) => wrong = format!("it is refused: {faults}; "),
        (Err(faults), true) => {
            let first = &faults.list[0];
            let shown = first.to_string();
            if first.code != wanted.code {
                wrong += &format!("code {} instead of {}; ", first.code, wanted.code);
            }
            if first.line() != wanted.line {
                wrong += &format!("line {} instead of {}; ", first.line(), wanted.line);
            }
            if !shown.contains(&wanted.name) || first.help.is_none() {
                wrong += "name or help are missing; ";
            }
            if faults.n_errors() > 2 {
                wrong += "one fault becomes many; ";
            }
            if !wrong.is_empty() {
                wrong += &faults.to_string();
            }
        }
        (Ok(imported), false) => {
            let told = imported.report.notes.iter().any(|note| {
                note.fate == Fate::Dropped
                    && note.place.as_ref().is_some_and(|place| place.line == wanted.line)
                    && note.elements.iter().any(|element| element.contains(&wanted.name))
            });
            if !told {
                wrong = format!("nothing is reported there: {}", imported.report.to_text());
            }
        }
    }
    let options = ImportOptions { lenient: true, ..ImportOptions::default() };
    match (import_path(path, &options), wanted.lenient) {
        (Ok(_), false) => wrong += "--lenient reads it; ",
        (Err(faults), true) => wrong += &format!("--lenient refuses it: {faults}"),
        (Ok(imported), true) => {
            let load =
                LoadOptions { base_dir: Some(imported.folder.clone()), ..LoadOptions::default() };
            if let Err(faults) = load_text("model", &imported.text, &load) {
                wrong += &format!("what --lenient makes is no model: {faults}");
            }
            if !imported.report.notes.iter().any(|note| note.fate != Fate::Kept) {
                wrong += "--lenient repairs without a word; ";
            }
        }
        (Err(_), false) => {}
    }
    wrong
}

#[test]
fn every_fault_is_named_with_its_line() {
    let files = files();
    assert!(files.len() >= 150, "{} files", files.len());
    let wrong: Vec<String> = files
        .iter()
        .map(|path| (path, judge(path)))
        .filter(|(_, wrong)| !wrong.is_empty())
        .map(|(path, wrong)| format!("{}: {wrong}", path.file_name().unwrap().display()))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}
