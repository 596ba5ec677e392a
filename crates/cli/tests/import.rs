//! `gelenk import`, and robot files as models.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

mod common;

use common::{folder, json_of, text_of};

const ARM: &str = include_str!("../../import/tests/robots/arm.urdf");
const SWING: &str = include_str!("../../import/tests/robots/swing.xml");

#[test]
fn a_robot_becomes_a_model_that_runs_the_same() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("swing.xml"), SWING).unwrap();
    let (text, report) = text_of(path, &["import", "swing.xml", "--no-contact"], 0);
    assert!(text.starts_with("# From the MJCF file swing.xml"), "{text}");
    assert!(
        report.contains("10 joints") && report.contains("kept: ") && report.contains("[swing.xml:"),
        "{report}"
    );
    std::fs::write(path.join("swing.toml"), &text).unwrap();
    let value =
        json_of(path, &["import", "swing.xml", "--no-contact", "--output", "again.toml"], 0);
    assert_eq!(value["facts"]["velocities"], 12);
    assert_eq!(std::fs::read_to_string(path.join("again.toml")).unwrap(), text);
    let dof = |file: &str| json_of(path, &["check", file], 0)["degrees_of_freedom"].clone();
    assert_eq!(dof("swing.xml"), 10);
    assert_eq!(dof("swing.toml"), 10);
    let value = json_of(path, &["import", "swing.xml", "--keyframe", "none"], 2);
    assert!(
        value["error"]["message"].as_str().unwrap().contains("there is no keyframe `none`"),
        "{value:#}"
    );
}

#[test]
fn commands_take_robot_files_and_warn() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("arm.urdf"), ARM).unwrap();
    let value = json_of(path, &["check", "arm.urdf"], 0);
    assert_eq!(value["degrees_of_freedom"], 2);
    let warnings: Vec<&str> =
        value["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert!(
        warnings
            .iter()
            .any(|w| w.contains("arm.urdf:40") && w.contains("dropped: limits of effort")),
        "{warnings:?}"
    );
    let args = ["run", "arm.urdf", "--duration", "0.1", "--output", "arm.mcap"];
    let (_, told) = text_of(path, &args, 0);
    assert!(told.contains("transmissions"), "{told}");
    // The recording holds the model it became.
    json_of(path, &["verify", "arm.mcap"], 0);
    let args = [
        "export",
        "arm.mcap",
        "--gltf",
        "a.glb",
        "--png",
        "a.png",
        "--size",
        "64x48",
        "--foxglove",
        "f.mcap",
        "--plot",
        "p.svg",
        "--of",
        "joint.shoulder",
    ];
    let value = json_of(path, &args, 0);
    for (format, file) in
        [("gltf", "a.glb"), ("png", "a.png"), ("foxglove", "f.mcap"), ("plot", "p.svg")]
    {
        assert_eq!(value["written"][format], file);
        assert!(path.join(file).metadata().unwrap().len() > 100, "{file}");
    }
    let value =
        json_of(path, &["export", "arm.mcap", "--plot", "p.svg", "--of", "joint.shoulda"], 2);
    assert!(value["error"]["message"].as_str().unwrap().contains("has no `joint.shoulda`"));
}

#[test]
fn bad_robot_files_are_refused_with_their_line() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("bad.urdf"), "<robot name=\"r\">\n<link name=\"a\">\n</robot>")
        .unwrap();
    let value = json_of(path, &["check", "bad.urdf"], 2);
    assert!(value["error"]["message"].as_str().unwrap().contains("bad.urdf:3"), "{value:#}");
    let value = json_of(path, &["import", "none.urdf"], 2);
    assert!(value["error"]["message"].as_str().unwrap().contains("none.urdf"), "{value:#}");
}
