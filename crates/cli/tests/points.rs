//! `gelenk points` and `gelenk drift`.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{code, folder, gelenk_with_input, json_of, number, stdout, text_of};

#[test]
fn a_top_of_point_masses_runs_and_drifts_by_multipliers_only() {
    let folder = folder();
    let (points, _) = text_of(folder.path(), &["points", "heavy-top"], 0);
    let output = gelenk_with_input(folder.path(), &["check", "-", "--json"], &points);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((value["degrees_of_freedom"].as_u64(), code(&output)), (Some(3), 0));
    let args = ["drift", "-", "--duration", "0.2", "--taylor", "3", "--json"];
    let output = gelenk_with_input(folder.path(), &args, &points);
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let methods = value["methods"].as_array().unwrap();
    let keys: Vec<_> = methods.iter().map(|method| method["method"].as_str().unwrap()).collect();
    let expected =
        ["impulse", "taylor", "taylor", "taylor", "newton", "single", "baumgarte", "projection"];
    assert_eq!(keys, expected);
    for method in methods {
        let errors: Vec<f64> =
            method["errors"].as_array().unwrap().iter().map(|e| e.as_f64().unwrap()).collect();
        let (first, last) = (errors[errors.len() / 4], errors[errors.len() - 1]);
        if method["method"] == "impulse" {
            assert!(errors.iter().all(|error| *error <= 1e-10), "{errors:?}");
        } else if method["method"] == "taylor" {
            assert!(last > 5.0 * first && last > 1e-6, "{}: {first} {last}", method["order"]);
        }
    }
}

#[test]
fn six_masses_have_mass_centre_and_tensor_of_the_body() {
    let folder = folder();
    let value = json_of(folder.path(), &["points", "free-body", "--six"], 0);
    let bodies = value["bodies"].as_object().unwrap();
    let points = bodies.values().next().unwrap().as_array().unwrap();
    assert_eq!((bodies.len(), points.len()), (1, 6));
    let mass: f64 = points.iter().map(|p| number(p, "mass")).sum();
    let model = json_of(folder.path(), &["points", "free-body"], 0);
    assert_eq!(model["bodies"].as_object().unwrap().len(), 1);
    assert!(mass > 0.0 && points.iter().all(|p| (number(p, "mass") * 6.0 - mass).abs() < 1e-12));
    let (text, _) = text_of(folder.path(), &["points", "double-pendulum", "--six"], 0);
    assert_eq!(text.lines().count(), 13, "{text}");
}

#[test]
fn redundancy_is_reported_with_its_tolerance() {
    let folder = folder();
    let value = json_of(folder.path(), &["drift", "cuboid", "--duration", "0.1"], 0);
    assert_eq!((value["constraints"].as_u64(), value["rank"].as_u64()), (Some(28), Some(18)));
    assert_eq!(value["redundant"].as_array().unwrap().len(), 10);
    assert!(number(&value, "rank_tolerance") < number(&value, "smallest_pivot"));
    let value = json_of(folder.path(), &["check", "cuboid"], 0);
    assert_eq!(value["rank_tolerance"], serde_json::json!(1e-9));
    let (text, _) = text_of(folder.path(), &["check", "cuboid"], 0);
    assert!(text.contains("pivots up to 1e-9 count as zero"), "{text}");
}

#[test]
fn people_get_tables_files_and_reasons() {
    let folder = folder();
    let args = ["points", "double-pendulum", "--output", "points.toml"];
    let (text, _) = text_of(folder.path(), &args, 0);
    assert!(text.contains("point masses with"), "{text}");
    let value = json_of(folder.path(), &["run", "points.toml", "--duration", "0.1"], 0);
    assert_eq!(value["model"], "double-pendulum-points");
    let args = ["drift", "pendulum", "--duration", "1", "--taylor", "2", "--plot", "drift.svg"];
    let (text, _) = text_of(folder.path(), &args, 0);
    assert!(text.contains("Taylor 2") && !text.contains("Taylor 3"), "{text}");
    let svg = std::fs::read_to_string(folder.path().join("drift.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("Taylor 2"));
    for (args, words) in [
        (["points", "slider-crank"], "joint `cylinder` is a slider"),
        (["points", "three-link-arm"], "motor `turn.motor` is not converted"),
        (["points", "hexapod"], "contact of body"),
        (["drift", "heavy-top"], "gelenk points"),
        (["drift", "free-body"], "rigid body"),
    ] {
        let (_, err) = text_of(folder.path(), &args, 2);
        assert!(err.contains(words), "{err}");
    }
}
