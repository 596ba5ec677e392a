//! A corpus of malformed models: each file says in its head which faults it has, and exactly these are found.
//!
//! ```text
//! # expect: unknown-body joint 'elbow' line 14
//! # expect-warning: negative spring 'spring1' line 7
//! ```
//! An element of `-` stands for a fault that belongs to no element.

use std::fs;
use std::path::Path;

use gelenk_model::{LoadOptions, Severity, load_text};

/// Severity, code, element and line.
type Fault = (Severity, String, String, usize);

fn expected(text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for line in text.lines() {
        let (severity, rest) = if let Some(rest) = line.strip_prefix("# expect: ") {
            (Severity::Error, rest)
        } else if let Some(rest) = line.strip_prefix("# expect-warning: ") {
            (Severity::Warning, rest)
        } else {
            continue;
        };
        let (head, line) = rest.rsplit_once(" line ").expect("the line");
        let (code, element) = head.split_once(' ').expect("code and element");
        let element = element.replace('\'', "`");
        faults.push((severity, code.to_owned(), element, line.parse().expect("a number")));
    }
    faults.sort();
    faults
}

#[test]
fn every_fault_is_found_by_name_and_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 60, "{} files", files.len());
    let mut wrong = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let Err(faults) = load_text(&name, &text, &LoadOptions::default()) else {
            wrong.push(format!("{name}: accepted"));
            continue;
        };
        let mut found: Vec<Fault> = faults
            .list
            .iter()
            .map(|d| {
                let element = d.element.clone().unwrap_or_else(|| "-".to_owned());
                (d.severity, d.code.to_owned(), element, d.line())
            })
            .collect();
        found.sort();
        let expected = expected(&text);
        if found != expected {
            wrong.push(format!("{name}:\n  expected {expected:?}\n  found    {found:?}"));
        }
        // The drawing shows file, line and code of each; errors say what to do.
        let drawn = faults.to_string();
        for d in &faults.list {
            assert!(
                drawn.contains(&format!("{name}:{}:", d.line())),
                "{name}: no place in\n{drawn}"
            );
            assert!(drawn.contains(&format!("[{}]", d.code)), "{name}: no code in\n{drawn}");
            if let Some(element) = &d.element {
                assert!(drawn.contains(element.as_str()), "{name}: no {element} in\n{drawn}");
            }
            assert!(!d.message.is_empty());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Faults that a user can mend come with words how.
#[test]
fn most_faults_have_help() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed");
    let (mut helped, mut all) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let Err(faults) = load_text("m.toml", &text, &LoadOptions::default()) else { continue };
        for d in &faults.list {
            all += 1;
            helped += usize::from(d.help.as_ref().is_some_and(|help| help.len() > 5));
        }
    }
    assert!(helped * 100 >= all * 90, "{helped} of {all}");
}
