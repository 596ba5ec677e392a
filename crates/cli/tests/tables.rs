//! `gelenk tables` and `gelenk bench`: the paper's values beside ours, speed beside error.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, json_of, number, text_of};
use serde_json::Value;

fn table<'a>(value: &'a Value, number: &str) -> &'a Value {
    let tables = value["tables"].as_array().unwrap();
    tables.iter().find(|table| table["number"] == number).unwrap()
}

#[test]
fn the_pendulum_and_the_spring_are_the_papers() {
    let folder = folder();
    let value = json_of(folder.path(), &["tables", "--only", "9.1,10.1"], 0);
    assert_eq!(value["holds"], true);
    assert_eq!(value["failures"], Value::Array(Vec::new()));
    let periods = table(&value, "9.1")["rows"].as_array().unwrap();
    assert_eq!(periods.len(), 9);
    // Rows down to h = 0.0025 s are the paper's to 0.03 %.
    for row in &periods[..5] {
        let ratio = row["ratio"][0].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 3e-4, "{row}");
    }
    // Published: T0 − T = 8.371325490e-5 s at h = 0.01 s.
    assert_eq!(periods[2]["at"], 0.01);
    assert!((periods[2]["ours"][0].as_f64().unwrap() - 8.3715e-5).abs() < 1e-9);
    for check in table(&value, "9.1")["checks"].as_array().unwrap() {
        assert!((number(check, "value") - 4.0).abs() < 0.08, "{check}");
    }
    let spring = table(&value, "10.1")["rows"].as_array().unwrap();
    assert_eq!(spring.len(), 7);
    for row in spring {
        for column in 0..2 {
            let of = |name: &str| row[name][column].as_f64().unwrap();
            assert!((of("ours") - of("paper")).abs() < 5e-10, "{row}");
        }
    }
    // Euler's period, printed with eight decimals.
    let euler = &table(&value, "10.1")["checks"][0];
    assert!((number(euler, "value") - 0.036_663_14).abs() < 5e-9, "{euler}");
}

/// The plain sweep's counts are the paper's to 2 %, its energy error to 10 %, at all forty-eight spots (more for large steps).
#[test]
fn the_loop_needs_the_papers_corrections_and_makes_its_error() {
    let folder = folder();
    let args = ["tables", "--only", "9.2", "9.4", "--plot", "energy.svg"];
    let value = json_of(folder.path(), &args, 0);
    let counts = table(&value, "9.2");
    let columns = serde_json::json!(["1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8"]);
    assert_eq!(counts["columns"], columns);
    // h = 0.00125 s, D_max = 1e-5 m: 28.47 in the paper.
    let row = &counts["rows"][4];
    assert_eq!(row["at"], 0.001_25);
    assert_eq!(row["paper"][2], 28.47);
    assert!((row["ratio"][2].as_f64().unwrap() - 1.0).abs() < 0.01, "{row}");
    let energy = &table(&value, "9.4")["rows"][4];
    assert!((energy["ratio"][2].as_f64().unwrap() - 1.0).abs() < 0.05, "{energy}");
    let plot = std::fs::read_to_string(folder.path().join("energy.svg")).unwrap();
    assert!(
        plot.starts_with("<svg") && plot.contains("paper, 1e-3 m") && plot.contains("ours, 1e-3 m")
    );
}

/// A start that is not the paper's misses the bars: exit code 1, and the cell is named.
#[test]
fn another_loop_misses_the_bars_and_the_cell_is_named() {
    let folder = folder();
    let args = ["tables", "--quick", "--only", "9.4", "--model", "eight-loop-flat"];
    let value = json_of(folder.path(), &args, 1);
    assert_eq!(value["holds"], false);
    let failures = value["failures"].as_array().unwrap();
    let first = failures[0].as_str().unwrap();
    assert!(first.starts_with("table 9.4, h, s = 0.005, D_max, m = 1e-3: "), "{first}");
}

/// Gentle steps carry it through its start, in the whole grid: no more energy error than the paper's chain, with a like number of corrections.
#[test]
fn gentle_steps_hold_the_bars_on_the_flat_loop() {
    let folder = folder();
    let only = ["tables", "--only", "9.2", "9.4"];
    let args = [&only[..], &["--model", "eight-loop-flat", "--gentle"]].concat();
    let value = json_of(folder.path(), &args, 0);
    assert_eq!((&value["holds"], &value["gentle"]), (&true.into(), &true.into()));
    let rows = table(&value, "9.4")["rows"].as_array().unwrap();
    assert_eq!(rows[4]["at"], 0.001_25);
    for ratio in rows[4]["ratio"].as_array().unwrap() {
        assert!(ratio.as_f64().unwrap() < 0.8, "{}", rows[4]);
    }
    let all: Vec<f64> = rows
        .iter()
        .flat_map(|row| row["ratio"].as_array().unwrap())
        .map(|ratio| ratio.as_f64().expect("a run that came to its end"))
        .collect();
    assert_eq!(all.len(), 48);
    assert!(all.iter().filter(|ratio| **ratio <= 1.0).count() >= 47, "{all:?}");
}

#[test]
fn people_read_tables_of_a_hundred_columns() {
    let folder = folder();
    let (text, _) = text_of(folder.path(), &["tables", "--quick", "--only", "9.2", "9.1"], 0);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for words in ["Table 9.1", "Table 9.2", "ours", "paper", "ratio", "D_max, m", "all bars hold"] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
}

#[test]
fn bad_wishes_are_told() {
    let folder = folder();
    for (args, expected) in [
        (&["tables", "--only", "9.9"][..], "there is no table `9.9`; there are 9.1"),
        (&["tables", "--model", "four-bar"], "`four-bar` is no 8-loop"),
        (&["tables", "--only", "9.5", "--plot", "a.svg"], "--plot has nothing to draw"),
        (&["bench", "chian"], "there is no bench `chian`; there are eight-loop"),
    ] {
        let (_, err) = text_of(folder.path(), args, 2);
        assert!(err.contains(expected), "{args:?}: {err}");
    }
}

#[test]
fn a_bench_prints_speed_beside_error() {
    let folder = folder();
    let value = json_of(folder.path(), &["bench", "worlds", "--quick"], 0);
    let worlds = value["groups"][0]["worlds"].as_array().unwrap();
    assert_eq!(worlds[0]["threads"], 1);
    for line in worlds {
        assert!(number(line, "steps_per_second") > 0.0);
        assert_eq!(line["hash"], worlds[0]["hash"], "the same bits on any number of threads");
    }
    let (text, _) = text_of(folder.path(), &["bench", "four-bars", "--quick"], 0);
    for words in ["bodies", "µs/step", "gap, m", "energy, J", "to the power"] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
}

/// Claims of the papers, with sections, numbers and commands.
#[test]
fn papers_hold_what_they_claim() {
    let folder = folder();
    let value = json_of(folder.path(), &["papers", "--quick"], 0);
    assert_eq!(value["holds"], true, "{}", value["failures"]);
    let claims = value["claims"].as_array().unwrap();
    assert!(claims.len() >= 18, "{}", claims.len());
    let of = |place: &str, what: &str| {
        let mut lines = claims
            .iter()
            .filter(|c| c["place"] == place)
            .flat_map(|c| c["lines"].as_array().unwrap());
        let line = lines.find(|line| line["what"].as_str().unwrap().starts_with(what));
        number(line.unwrap_or_else(|| panic!("no {what} in {place}")), "ours")
    };
    // −g h/2 before the correction: the table of section 2.
    assert!((of("section 2", "velocity at t + h") + 0.049_05).abs() < 1e-12);
    assert!((of("section 4", "rank") - 18.0).abs() < 1e-9);
    assert!((of("section 8", "power of h with which x") - 2.0).abs() < 0.02);
    assert!(of("section IV.3", "steps") <= 85.0);
    let (text, _) = text_of(folder.path(), &["papers", "--only", "2005,thesis"], 0);
    for words in ["section 4", "paper", "ours", "claims hold", "gelenk drift cuboid"] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    assert!(!text.contains("Table 9.1"));
    let (_, err) = text_of(folder.path(), &["papers", "--only", "2004"], 2);
    assert!(err.contains("there is no paper `2004`; there are 2003, 2005, lagr, thesis"), "{err}");
}
