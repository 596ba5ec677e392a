//! The tutorial is true: its files are written, its commands run, and what they print is what the page shows.
//!
//! A `toml` block that begins with a comment `# NAME.toml` is that file; any other is added to the end of the last one.
//! A `console` block holds a command after `$ ` and its output. Wall-clock times, speeds and sizes of recordings are
//! not compared, and numbers only as far as the tolerance of joints makes them. A line `...` stands for any lines.
//!
//! `GELENK_UPDATE_DOCS=1 cargo test -p gelenk-cli --test tutorial` writes the program's output into the page.

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use common::{code, folder, gelenk, stderr, stdout};

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md")
}

/// A stretch of the page: text, or a fenced block with its language.
#[derive(Debug)]
struct Piece {
    language: Option<String>,
    lines: Vec<String>,
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = vec![Piece { language: None, lines: Vec::new() }];
    for line in text.lines() {
        let last = pieces.last_mut().expect("never empty");
        match line.strip_prefix("```") {
            Some(language) if last.language.is_none() => {
                pieces.push(Piece { language: Some(language.to_owned()), lines: Vec::new() });
            }
            Some(_) => pieces.push(Piece { language: None, lines: Vec::new() }),
            None => last.lines.push(line.to_owned()),
        }
    }
    pieces
}

fn page_of(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        if let Some(language) = &piece.language {
            let _ = writeln!(text, "```{language}");
        }
        for line in &piece.lines {
            let _ = writeln!(text, "{line}");
        }
        if piece.language.is_some() {
            text.push_str("```\n");
        }
    }
    text
}

fn is_toml(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "toml")
}

/// The words of a command; quotes keep spaces.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        let last = words.last_mut().expect("never empty");
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (' ', None) => words.push(String::new()),
            (c, _) => last.push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What is compared: no speeds, times on the clock and sizes of files, no widths of columns.
fn comparable(lines: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut in_speed = false;
    for line in lines {
        in_speed = if line == "Speed" { true } else { in_speed && !line.is_empty() };
        if in_speed {
            continue;
        }
        let mut words: Vec<&str> = line.split_whitespace().collect();
        // A row of a convergence study: step, time on the clock, ...
        if let [step, clock, "s", ..] = words.as_slice()
            && step.parse::<f64>().is_ok()
            && clock.parse::<f64>().is_ok()
        {
            words.remove(1);
        }
        while let Some(unit) = words.iter().position(|w| matches!(*w, "kB" | "kB)" | "MB" | "MB)"))
        {
            words.drain(unit.saturating_sub(1)..=unit);
        }
        kept.push(words.join(" "));
    }
    kept
}

/// Whether `shown`, in which `...` stands for any lines, is `real`.
fn agrees(shown: &[String], real: &[String]) -> bool {
    match shown {
        [] => real.is_empty(),
        [dots, rest @ ..] if dots == "..." => {
            (0..=real.len()).any(|skipped| agrees(rest, &real[skipped..]))
        }
        [line, rest @ ..] => {
            real.first().is_some_and(|found| same(line, found)) && agrees(rest, &real[1..])
        }
    }
}

/// Whether two lines are the same, with numbers equal as far as the tolerance of a run makes them.
fn same(a: &str, b: &str) -> bool {
    let number = |word: &str| word.trim_matches(['(', ')', ',', ';']).parse::<f64>().ok();
    let near = |(a, b): (&str, &str)| match (number(a), number(b)) {
        (Some(x), Some(y)) => (x - y).abs() <= 1e-8 + 1e-6 * x.abs(),
        _ => a == b,
    };
    a.split(' ').count() == b.split(' ').count() && a.split(' ').zip(b.split(' ')).all(near)
}

#[test]
fn the_tutorial_is_true() {
    let update = std::env::var_os("GELENK_UPDATE_DOCS").is_some();
    let text = std::fs::read_to_string(page()).expect("docs/tutorial.md");
    let mut pieces = pieces(&text);
    assert_eq!(page_of(&pieces), text, "fences are closed");
    let folder = folder();
    let mut file = String::new();
    let mut exit_code = 0;
    let mut n_commands = 0;
    for piece in &mut pieces {
        match piece.language.as_deref() {
            Some("toml") => {
                let named = piece.lines.first().and_then(|line| line.strip_prefix("# "));
                if let Some(name) = named.filter(|name| is_toml(name)) {
                    name.clone_into(&mut file);
                    let _ = std::fs::remove_file(folder.path().join(&file));
                }
                let path = folder.path().join(&file);
                let before = std::fs::read_to_string(&path).unwrap_or_default();
                let text = format!("{before}{}\n", piece.lines.join("\n"));
                std::fs::write(path, text).expect("writable");
            }
            Some("console") => {
                n_commands += 1;
                let (command, shown) = piece.lines.split_first().expect("a command");
                let command = command.strip_prefix("$ ").expect("a command after `$ `").to_owned();
                assert!(!shown.iter().any(|line| line.starts_with("$ ")), "one command a block");
                let words = words(&command);
                let real = match words.first().map(String::as_str) {
                    Some("gelenk") => {
                        let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
                        let output = gelenk(folder.path(), &args);
                        exit_code = code(&output);
                        stdout(&output) + &stderr(&output)
                    }
                    Some("echo") => exit_code.to_string(),
                    other => panic!("cannot run {other:?}"),
                };
                let real: Vec<String> = real.trim_end().lines().map(str::to_owned).collect();
                if agrees(&comparable(shown), &comparable(&real)) {
                    continue;
                }
                let elided = shown.iter().any(|line| line == "...");
                assert!(
                    update && !elided,
                    "`{command}` prints\n{}\nbut docs/tutorial.md shows\n{}\n\
                     GELENK_UPDATE_DOCS=1 writes what it prints into blocks without `...`",
                    real.join("\n"),
                    shown.join("\n"),
                );
                piece.lines.truncate(1);
                piece.lines.extend(real);
            }
            _ => {}
        }
    }
    assert!(n_commands > 10, "the tutorial has commands");
    if update {
        std::fs::write(page(), page_of(&pieces)).expect("writable");
    }
    // The picture of the page is the one that its command draws.
    let drawn = std::fs::read(folder.path().join("swing.svg")).expect("the film strip");
    let picture = page().with_file_name("tutorial-double-pendulum.svg");
    if update {
        std::fs::write(&picture, &drawn).expect("writable");
    }
    let kept = std::fs::read(&picture).expect("docs/tutorial-double-pendulum.svg");
    assert!(kept == drawn, "docs/tutorial-double-pendulum.svg is not what `gelenk run` draws");
}
