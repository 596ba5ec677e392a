//! docs/commands.md holds the help texts as they are. `GELENK_UPDATE_DOCS=1 cargo test -p gelenk-cli --test docs` writes them anew.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{command, folder, stdout};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md");

/// The help of a command (of the program, if `name` is empty), at a fixed width.
fn help(name: &str) -> String {
    let folder = folder();
    let args: Vec<&str> = [name, "--help"].into_iter().filter(|arg| !arg.is_empty()).collect();
    let output = command(folder.path(), &args).env_remove("COLUMNS").output().unwrap();
    stdout(&output).lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// The page with every block that a comment announces filled in.
fn filled(page: &str) -> String {
    let mut out = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        let name = line.strip_prefix("<!-- help: ").and_then(|rest| rest.strip_suffix("-->"));
        let Some(name) = name else { continue };
        let fence = lines.next().unwrap();
        assert_eq!(fence, "```text", "a help text is fenced");
        lines.by_ref().find(|line| *line == "```").unwrap();
        out.extend([fence.to_owned(), help(name.trim()), "```".to_owned()]);
    }
    out.join("\n") + "\n"
}

#[test]
fn the_command_reference_is_up_to_date() {
    let page = std::fs::read_to_string(PATH).unwrap();
    let expected = filled(&page);
    if std::env::var_os("GELENK_UPDATE_DOCS").is_some() {
        std::fs::write(PATH, &expected).unwrap();
        return;
    }
    assert!(
        page == expected,
        "docs/commands.md is out of date; write it with GELENK_UPDATE_DOCS=1"
    );
}

#[test]
fn every_command_is_described() {
    let page = std::fs::read_to_string(PATH).unwrap();
    let program = help("");
    let commands = program.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    for name in commands.lines().filter_map(|line| line.split_whitespace().next()) {
        assert!(name == "help" || page.contains(&format!("\n## {name}\n")), "{name}");
    }
}
