//! A model of several files: all of them travel with its recording.

use gelenk::model::{Limits, LoadOptions};
use gelenk::recording::{Header, Recorder};
use gelenk::simulate;

#[test]
fn a_model_is_verified_after_its_files_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let model_folder = folder.path().join("model");
    std::fs::create_dir_all(model_folder.join("parts")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(model_folder.join(name), text).unwrap();
    write(
        "machine.toml",
        r#"
[parameters]
l = 1.0

[[instance]]
prefix = "left"
file = "parts/arm.toml"

[[body]]
name = "weight"
mass = 2
position = [2, 0, 0]
inertia = [1, 1, 1]
shape = { mesh = { file = "parts/stone.stl" } }

[run]
duration = 0.1
step = 0.01
"#,
    );
    write(
        "parts/arm.toml",
        r#"
[[body]]
name = "arm"
mass = 1
position = [0, 0, -0.5]
shape = { rod = { length = 1 } }

[[joint]]
name = "pin"
type = "ball"
between = ["world", "arm"]
point = [0, 0, 0]
"#,
    );
    write("parts/stone.stl", &tetrahedron());
    let path = folder.path().join("machine.mcap");
    let overrides = vec![("l".to_owned(), "2".to_owned())];
    let options = LoadOptions { overrides: overrides.clone(), ..LoadOptions::default() };
    let loaded = gelenk::model::load_path(&model_folder.join("machine.toml"), &options)
        .unwrap_or_else(|e| panic!("{e}"));
    let header = Header::of_loaded(&loaded, &overrides, &loaded.model.run);
    let names: Vec<_> = header.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["machine.toml", "parts/arm.toml"]);
    assert_eq!(header.meshes.len(), 1);
    let mut recorder = Recorder::create(&path, header).unwrap();
    let report = simulate(&loaded.model, &loaded.model.run, &mut recorder).unwrap();
    recorder.finish(Ok(&report)).unwrap();
    std::fs::remove_dir_all(&model_folder).unwrap();
    let verified = gelenk::verify(&path, Limits::default()).unwrap();
    assert!(verified.ok, "{verified}");
}

/// A mesh of four triangles.
fn tetrahedron() -> String {
    let corners = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"];
    let mut text = "solid stone\n".to_owned();
    for triangle in [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]] {
        text.push_str("facet normal 0 0 0\nouter loop\n");
        for corner in triangle {
            text.extend(["vertex ", corners[corner], "\n"]);
        }
        text.push_str("endloop\nendfacet\n");
    }
    text + "endsolid stone\n"
}
