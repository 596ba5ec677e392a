//! The pages of the guide are true: their models load, and the reference names all that the language has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gelenk::model::joint::JOINT_TYPES;
use gelenk::model::{LoadOptions, Model, json_schema, load_text};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages a user reads.
fn pages() -> Vec<String> {
    let folder = std::fs::read_dir(root().join("docs")).expect("docs");
    let files = folder.map(|entry| PathBuf::from(entry.expect("readable").file_name()));
    let pages = files.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    let mut pages: Vec<String> = pages.map(|file| format!("docs/{}", file.display())).collect();
    pages.sort();
    pages.push("README.md".to_owned());
    pages
}

/// The fenced blocks of a page in a language, each with its line.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    for (i, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(found)) => open = Some((i + 1, found == language, String::new())),
            (None, None) => {}
            (Some((_, _, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (Some(_), Some(_)) => {
                if let Some((at, true, block)) = open.take() {
                    blocks.push((at, block));
                }
            }
        }
    }
    assert!(open.is_none(), "a fence is never closed");
    blocks
}

/// A whole model: it begins with `[model]`, after comments at most.
fn is_model(block: &str) -> bool {
    let mut lines = block.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next() == Some("[model]")
}

/// Loads a model and does two steps of it.
fn load_and_try(name: &str, text: &str) -> Model {
    let loaded = load_text(name, text, &LoadOptions::default())
        .unwrap_or_else(|faults| panic!("{name}\n{}", faults.render(false)));
    let mut settings = loaded.model.run.clone();
    settings.duration = 2.0 * settings.step;
    gelenk::simulate(&loaded.model, &settings, &mut ())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    loaded.model
}

#[test]
fn every_model_of_every_page_loads_and_runs() {
    let mut n_models = 0;
    for page in pages() {
        for (line, block) in blocks(&read(&page), "toml") {
            // The tutorial shows a mistake, which its own test expects.
            if is_model(&block) && !block.starts_with("# mistake.toml") {
                load_and_try(&format!("{page}:{line}"), &block);
                n_models += 1;
            }
        }
    }
    assert!(n_models >= 6, "{n_models} models");
}

#[test]
fn every_short_example_of_the_reference_goes_with_its_first_model() {
    let text = read("docs/model.md");
    let blocks = blocks(&text, "toml");
    let (_, workbench) = blocks.first().expect("the workbench");
    let plain = load_and_try("docs/model.md: workbench", workbench);
    let mut n_examples = 0;
    for (line, block) in &blocks {
        if is_model(block) || block.starts_with("#:schema") {
            continue;
        }
        let model =
            load_and_try(&format!("docs/model.md:{line}"), &format!("{workbench}\n{block}"));
        n_examples += 1;
        assert_eq!(model.gravity, plain.gravity);
    }
    assert!(n_examples > 20, "{n_examples} examples");
}

/// Keys in the rows of `| key |` tables of a page, section by section.
fn documented_keys(text: &str) -> Vec<BTreeSet<String>> {
    let mut sections = vec![BTreeSet::new()];
    let mut in_table = false;
    for line in text.lines() {
        if line.starts_with("## ") || line.starts_with("### ") {
            sections.push(BTreeSet::new());
        }
        in_table = line.starts_with("| key |") || (in_table && line.starts_with('|'));
        if !in_table {
            continue;
        }
        let cell = line.split('|').nth(1).unwrap_or("");
        // Only what stands before a remark in parentheses: `size` (of `box`).
        let cell = cell.split(" (").next().unwrap_or("");
        for word in cell.split('`').skip(1).step_by(2) {
            let word = word.trim_matches(|c| c == '[' || c == ']').trim_end_matches(".NAME");
            sections.last_mut().expect("never empty").insert(word.to_owned());
        }
    }
    sections
}

/// The keys of every table of the language; under the empty name those of a file.
fn keys_of_the_language() -> BTreeMap<String, BTreeSet<String>> {
    let schema = json_schema();
    let keys = |table: &serde_json::Value| -> BTreeSet<String> {
        table["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    let mut tables = BTreeMap::from([(String::new(), keys(&schema))]);
    for (name, table) in schema["$defs"].as_object().expect("definitions") {
        tables.insert(name.clone(), keys(table));
    }
    tables
}

#[test]
fn the_reference_names_every_key_where_it_belongs() {
    let sections = documented_keys(&read("docs/model.md"));
    let tables = keys_of_the_language();
    let top = &tables[""];
    for (table, keys) in &tables {
        // A part holds the tables of a file; they are listed once.
        let own: BTreeSet<String> = if table == "PartSpec" { keys - top } else { keys.clone() };
        let best = sections.iter().map(|section| &own - section).min_by_key(BTreeSet::len);
        let missing = best.expect("sections");
        assert!(
            missing.is_empty(),
            "docs/model.md: no section has all keys of {table}: {missing:?}"
        );
    }
    let known: BTreeSet<&String> = tables.values().flatten().collect();
    for key in sections.iter().flatten() {
        assert!(known.contains(key), "docs/model.md has a key `{key}` that there is not");
    }
}

/// Rows of the table that begins with a header.
fn rows<'a>(text: &'a str, header: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let lines = lines.take_while(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn joint_types_stand_in_the_reference_and_in_the_readme() {
    let (reference, readme) = (read("docs/model.md"), read("README.md"));
    let reference = rows(&reference, "| type | rows | leaves | coordinates |");
    let readme = rows(&readme, "| type | | leaves |");
    let find = |rows: &[Vec<&str>], name: &str| -> Vec<String> {
        let row = rows.iter().find(|row| row[0] == format!("`{name}`"));
        row.unwrap_or_else(|| panic!("no row for `{name}`"))
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!((reference.len(), readme.len()), (JOINT_TYPES.len(), JOINT_TYPES.len()));
    for joint in JOINT_TYPES {
        let row = find(&reference, joint.name);
        let coordinates: Vec<String> = joint.coordinates.iter().map(|c| format!("`{c}`")).collect();
        assert_eq!(row[1], (6 - joint.freedoms).to_string(), "rows of {}", joint.name);
        assert_eq!(row[2], joint.freedoms.to_string(), "{}", joint.name);
        assert_eq!(row[3], coordinates.join(", "), "{}", joint.name);
        for parameter in joint.parameters.iter().filter(|p| p.name != "length") {
            assert!(row[4].contains(parameter.name), "{} needs {}", joint.name, parameter.name);
        }
        assert_eq!(find(&readme, joint.name)[2], joint.freedoms.to_string(), "{}", joint.name);
    }
}

#[test]
fn defaults_and_limits_are_those_of_the_program() {
    use gelenk::model::{Limits, RunSettings};
    let text = read("docs/model.md");
    let limits = Limits::default();
    let values = [
        ("file", limits.file),
        ("nesting", limits.nesting as u64),
        ("depth", limits.depth as u64),
        ("files", limits.files as u64),
        ("bodies", limits.bodies as u64),
        ("elements", limits.elements as u64),
        ("triangles", limits.triangles as u64),
    ];
    assert_eq!(values.map(|(name, _)| name), Limits::NAMES);
    let table = rows(&text, "| limit | default | of |");
    for ((name, value), row) in values.iter().zip(table) {
        assert_eq!(row[0], format!("`{name}`"));
        assert_eq!(row[1].split(' ').next(), Some(value.to_string().as_str()), "{name}");
    }
    let run = RunSettings::default();
    let section = text.split("## `[run]`").nth(1).expect("section");
    let table = rows(section, "| key | value | default | meaning |");
    let default = |key: &str| {
        let row = table.iter().find(|row| row[0] == format!("`{key}`"));
        row.unwrap_or_else(|| panic!("no `{key}`"))[2].trim_matches(['`', '"']).to_owned()
    };
    let number = |key: &str| default(key).parse::<f64>().expect("a number");
    assert_eq!(default("engine"), run.engine);
    assert_eq!(default("solver"), run.solver);
    assert_eq!(number("duration").to_bits(), run.duration.to_bits());
    assert_eq!(number("step").to_bits(), run.step.to_bits());
    assert_eq!(number("tolerance").to_bits(), run.tolerance.to_bits());
    assert_eq!(number("velocity_tolerance").to_bits(), run.velocity_tolerance.to_bits());
    assert_eq!(default("order"), run.order.to_string());
    assert_eq!(default("velocity_correction"), run.velocity_correction.to_string());
    assert_eq!(default("gentle"), run.gentle.to_string());
    assert!(run.sample.is_none() && run.flight == gelenk::model::Flight::Exact);
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let text = read(&page);
        let folder = root().join(&page).parent().expect("a folder").to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if file.contains("://") {
                continue;
            }
            let path = if file.is_empty() { root().join(&page) } else { folder.join(file) };
            assert!(path.exists(), "{page}: `{target}` leads nowhere");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&path).expect("a page");
                assert!(has_anchor(&text, anchor), "{page}: no `{anchor}` in `{file}`");
            }
        }
    }
}

/// Whether a page has a heading or an id of that name.
fn has_anchor(text: &str, anchor: &str) -> bool {
    let slug = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
    };
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| slug(line.trim_start_matches('#'))).any(|slug| slug == anchor)
        || text.contains(&format!("id=\"{anchor}\""))
}

#[test]
fn tests_that_the_guide_names_exist() {
    let text = read("docs/reliability.md");
    let mut n_files = 0;
    for word in text.split('`').skip(1).step_by(2) {
        let is_path = word.contains('/') && !word.contains([' ', '*', '{', '$', '=']);
        if is_path {
            n_files += 1;
            assert!(root().join(word).exists(), "docs/reliability.md: there is no {word}");
        }
    }
    assert!(n_files > 10, "{n_files} files");
}
