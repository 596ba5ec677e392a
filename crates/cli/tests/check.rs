//! `gelenk check` and `gelenk assemble`.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, json_of, number, text_of};

#[test]
fn degrees_of_freedom_of_the_gallery() {
    let folder = folder();
    // By hand: a point has 3, a body 6, a thin rod 5 velocities.
    for (model, freedom, rank) in [
        ("pendulum", 2, 1),
        ("double-pendulum", 2, 10),
        ("four-bar", 1, 17),
        ("slider-crank", 1, 17),
        ("free-body", 6, 0),
        ("heavy-top", 3, 3),
        ("cuboid", 6, 18),
    ] {
        let value = json_of(folder.path(), &["check", model], 0);
        assert_eq!(value["degrees_of_freedom"], freedom, "{model}: {value:#}");
        assert_eq!(value["rank"], rank, "{model}");
        let count = |key: &str| value[key].as_u64().unwrap();
        let redundant = value["redundant"].as_array().unwrap().len() as u64;
        assert_eq!(redundant, count("constraints") - count("rank"), "{model}");
        assert!(value["warnings"].is_array() && value["errors"].as_array().unwrap().is_empty());
    }
}

#[test]
fn redundant_rows_are_named() {
    let folder = folder();
    let (text, _) = text_of(folder.path(), &["check", "four-bar"], 0);
    assert!(text.contains("1  degree of freedom") && text.contains("always"), "{text}");
    assert!(text.contains("The model can run."), "{text}");
    let value = json_of(folder.path(), &["check", "four-bar"], 0);
    for row in value["redundant"].as_array().unwrap() {
        assert_eq!(row["always"], true);
        assert!(row["row"].as_str().unwrap().contains("joint `"));
        assert!(!row["depends_on"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_redundancy_of_this_pose_only_is_told_apart() {
    let folder = folder();
    let value = json_of(folder.path(), &["check", "eight-loop-flat"], 0);
    assert_eq!(value["singular"], true, "{value:#}");
    assert_eq!(value["rank_lost"], 1, "{value:#}");
    let warnings = value["warnings"].to_string();
    assert!(warnings.contains("singular position") && warnings.contains("1 lost"), "{warnings}");
    let redundant = value["redundant"].as_array().unwrap();
    assert!(redundant.iter().any(|row| row["always"] == false), "{value:#}");
}

/// Two bars whose ends do not quite meet.
fn open(gap: f64) -> String {
    format!(
        r#"
[model]
name = "open"

[[point]]
name = "a"
mass = 1
position = [1, 0, 0]

[[point]]
name = "b"
mass = 1
position = [{}, 0, -1]

[[joint]]
name = "upper"
type = "distance"
between = ["world", "a"]
points = [[0, 0, 0], [1, 0, 0]]
length = 1

[[joint]]
name = "lower"
type = "distance"
between = ["a", "b"]
length = 1

[run]
duration = 0.5
"#,
        1.0 + gap
    )
}

#[test]
fn an_open_start_is_assembled_and_runs() {
    let folder = folder();
    std::fs::write(folder.path().join("open.toml"), open(0.1)).unwrap();
    let (_, err) = text_of(folder.path(), &["run", "open.toml"], 2);
    assert!(err.contains("lower") && err.contains("gelenk assemble"), "{err}");
    let value = json_of(folder.path(), &["check", "open.toml"], 1);
    assert!(value["errors"][0].as_str().unwrap().contains("`lower` is open"), "{value:#}");
    let (text, _) = text_of(folder.path(), &["check", "open.toml"], 1);
    assert!(text.contains("gelenk assemble open.toml"), "{text}");

    let args = ["assemble", "open.toml", "--output", "fixed.toml"];
    let (text, _) = text_of(folder.path(), &args, 0);
    for part in ["Moved", "lower", "All joints close.", "fixed.toml"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    // It may have been edited since.
    json_of(folder.path(), &args, 2);
    let value = json_of(folder.path(), &[&args[..], &["--overwrite"]].concat(), 0);
    assert_eq!(value["closed"], true);
    let residuals = value["residuals"].as_array().unwrap();
    assert!(residuals.iter().all(|r| number(r, "after") <= 1e-9));
    let fixed = std::fs::read_to_string(folder.path().join("fixed.toml")).unwrap();
    assert!(fixed.starts_with(open(0.1).trim_end()), "the text stays as it was");

    let value = json_of(folder.path(), &["run", "fixed.toml"], 0);
    assert!(number(&value, "constraint.max_position_error") <= 1e-9);
    // Assembled again, nothing moves; the recording of the assembled model verifies.
    let value = json_of(folder.path(), &["assemble", "fixed.toml", "--output", "again.toml"], 0);
    assert_eq!(value["moved"].as_array().unwrap().len(), 0, "{value:#}");
    text_of(folder.path(), &["run", "fixed.toml", "--output", "r.mcap"], 0);
    text_of(folder.path(), &["verify", "r.mcap"], 0);
}

#[test]
fn what_cannot_be_closed_is_named_with_its_gap() {
    let folder = folder();
    let text = open(0.0)
        + "\n[[joint]]\nname = \"far\"\ntype = \"distance\"\nbetween = [\"world\", \"b\"]\n\
           points = [[0, 0, -5], [1, 0, -1]]\nlength = 1\n";
    std::fs::write(folder.path().join("far.toml"), text).unwrap();
    let value = json_of(folder.path(), &["assemble", "far.toml", "--output", "fixed.toml"], 1);
    assert_eq!(value["closed"], false);
    let failure = &value["failures"][0];
    assert!(number(failure, "residual") > 0.1, "{value:#}");
    assert!(failure["element"].is_string());
    assert!(!folder.path().join("fixed.toml").exists());
    let (text, _) = text_of(folder.path(), &["assemble", "far.toml"], 1);
    assert!(text.contains("cannot be closed"), "{text}");
    json_of(folder.path(), &["check", "far.toml"], 1);
}

#[test]
fn a_model_that_fits_is_left_alone() {
    let folder = folder();
    let (text, _) = text_of(folder.path(), &["assemble", "pendulum"], 0);
    assert!(text.contains("nothing had to move"), "{text}");
}
