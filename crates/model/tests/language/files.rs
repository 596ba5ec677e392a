//! Part files, meshes, canonical text.

use std::fs;
use std::path::Path;

use gelenk_model::{Diagnostics, Limits, LoadOptions, Loaded, load_path};

use crate::common::{close, close_vec, faults_with, load_with, signals};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn load(folder: &Path) -> Result<Loaded, Diagnostics> {
    load_path(&folder.join("model.toml"), &LoadOptions::default())
}

fn codes(folder: &Path) -> Vec<&'static str> {
    load(folder).unwrap_err().list.iter().map(|d| d.code).collect()
}

const LEG: &str = "[model]\nname = \"a leg\"\n[parameters]\nl = 1\n[[body]]\nname = \"leg\"\nmass = 1\n\
                   shape = { rod = { length = \"l\" } }\n[[instance]]\nfile = \"foot.toml\"\nprefix = \"foot_\"\n";
const FOOT: &str = "[[point]]\nname = \"sole\"\nmass = 1\n";

#[test]
fn part_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "parts/leg.toml", LEG);
    write(folder, "parts/foot.toml", FOOT);
    write(
        folder,
        "model.toml",
        "[[instance]]\nfile = \"parts/leg.toml\"\nprefix = \"l_\"\nparameters = { l = 2 }\n\
         [[instance]]\nfile = \"parts/leg.toml\"\nprefix = \"r_\"\n",
    );
    let loaded = load(folder).unwrap();
    let names: Vec<&str> = loaded.model.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["world", "l_leg", "r_leg", "l_foot_sole", "r_foot_sole"]);
    assert_eq!(loaded.model.name, "model");
    let files: Vec<&str> = loaded.sources.files().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(files[1..], ["parts/leg.toml", "parts/foot.toml"]);
    // The canonical text does not depend on where the folder is.
    let text = loaded.canonical_text();
    assert!(!text.contains(&folder.display().to_string()));
    assert!(text.contains("parts/leg.toml"));
    assert_eq!(text, load(folder).unwrap().canonical_text());

    // A fault in a part file is told there.
    write(folder, "parts/foot.toml", &FOOT.replace("mass", "mas"));
    let faults = load(folder).unwrap_err();
    let fault = faults.list.iter().find(|d| d.code == "unknown-key").unwrap();
    assert_eq!(fault.place.as_ref().unwrap().file, "parts/foot.toml");
    assert_eq!(fault.line(), 3);
}

#[test]
fn faults_of_files() {
    let top = tempfile::tempdir().unwrap();
    let folder = &top.path().join("m");
    let instance =
        |file: &str| write(folder, "model.toml", &format!("[[instance]]\nfile = \"{file}\"\n"));
    write(top.path(), "outside.toml", FOOT);
    instance("../outside.toml");
    assert_eq!(codes(folder), ["outside-folder"]);
    instance("none.toml");
    assert_eq!(codes(folder), ["unreadable-file"]);
    fs::create_dir(folder.join("dir.toml")).unwrap();
    instance("dir.toml");
    assert_eq!(codes(folder), ["not-a-file"]);
    write(folder, "self.toml", "[[instance]]\nfile = \"self.toml\"\n");
    instance("self.toml");
    assert_eq!(codes(folder), ["part-cycle"]);
    fs::write(folder.join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    instance("binary.toml");
    assert_eq!(codes(folder), ["not-text"]);
    let options =
        LoadOptions { limits: Limits { file: 10, ..Limits::default() }, ..LoadOptions::default() };
    let faults = load_path(&folder.join("model.toml"), &options).unwrap_err();
    assert_eq!(faults.list[0].code, "limit-file");
    assert!(faults.list[0].help.as_ref().unwrap().contains("--limit file="));
    let faults = load_path(&folder.join("nothing.toml"), &LoadOptions::default()).unwrap_err();
    assert_eq!(faults.list[0].code, "unreadable-file");
    assert!(faults.to_string().contains("nothing.toml"));
    for i in 0..300 {
        write(
            folder,
            &format!("f{i}.toml"),
            &format!("[[instance]]\nfile = \"f{}.toml\"\n", i + 1),
        );
    }
    instance("f0.toml");
    assert!(codes(folder).contains(&"limit-files"));
}

const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\nv 1 1 1\n\
    f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";

#[test]
fn mesh_gives_mass_and_inertia() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "cube.obj", CUBE);
    write(
        folder,
        "model.toml",
        "[[body]]\nname = \"b\"\ndensity = 3\nshape = { mesh = { file = \"cube.obj\", scale = 2 }, position = [1, 0, 0] }\n",
    );
    let loaded = load(folder).unwrap();
    let body = &loaded.model.bodies[1];
    close(body.mass, 24.0);
    close_vec(loaded.model.start.s[1], [2.0, 1.0, 1.0]);
    close_vec(body.inertia, [16.0, 16.0, 16.0]);
    assert_eq!(loaded.meshes.len(), 1);
    assert!(loaded.canonical_text().contains("mesh cube.obj "));

    // Inside out: turned, with a warning.
    let turned: String = CUBE
        .lines()
        .map(|line| match line.strip_prefix("f ") {
            Some(corners) => {
                let corners: Vec<&str> = corners.split(' ').rev().collect();
                format!("f {}\n", corners.join(" "))
            }
            None => format!("{line}\n"),
        })
        .collect();
    write(folder, "cube.obj", &turned);
    let loaded = load(folder).unwrap();
    assert_eq!(loaded.warnings[0].code, "mesh-inside-out");
    close(loaded.model.bodies[1].mass, 24.0);

    // Open: no mass, unless the body brings its own.
    write(folder, "cube.obj", CUBE.strip_suffix("f 2 4 8 6\n").unwrap());
    let faults = load(folder).unwrap_err();
    assert_eq!(faults.list[0].code, "open-mesh");
    assert!(faults.list[0].message.contains("4 open edges"), "{}", faults.list[0].message);
    let own = "[[body]]\nname = \"b\"\nmass = 1\ninertia = [1, 1, 1]\nshape = { mesh = { file = \"cube.obj\" } }\n";
    write(folder, "model.toml", own);
    assert!(load(folder).is_ok());

    write(folder, "cube.obj", "f 1 2 3\n");
    assert_eq!(codes(folder), ["bad-mesh"]);
    write(folder, "model.toml", &own.replace("cube.obj", "cube.step"));
    write(folder, "cube.step", "x");
    assert_eq!(codes(folder), ["bad-mesh"]);
    write(folder, "cube.obj", CUBE);
    write(folder, "model.toml", own);
    let limits = Limits { triangles: 11, ..Limits::default() };
    let options = LoadOptions { limits, ..LoadOptions::default() };
    let faults = load_path(&folder.join("model.toml"), &options).unwrap_err();
    assert_eq!(faults.list[0].code, "limit-triangles");
}

#[test]
fn materials_and_filters() {
    let text = "[[material]]\nname = \"rubber\"\nfriction = 1\nrestitution = 0.5\ndensity = 1000\n\
        [[material]]\nname = \"ice\"\nfriction = 0.04\nstatic_friction = 0.09\n\
        [[contact]]\nmaterials = [\"ice\", \"ice\"]\nfriction = 0.01\n\
        [[body]]\nname = \"ball\"\nmaterial = \"rubber\"\ngroup = \"toys\"\nshape = { sphere = { radius = 0.1 } }\n\
        [[body]]\nname = \"puck\"\nmaterial = \"ice\"\nmass = 1\ngroup = [\"toys\", \"flat\"]\nshape = { sphere = { radius = 0.1 } }\n\
        [[ignore]]\nbetween = [\"toys\", \"world\"]\n[[ignore]]\nbetween = [\"ball\", \"puck\"]\n";
    let loaded = crate::common::load(text);
    let contact = &loaded.model.contact;
    let ball = &loaded.model.bodies[1];
    assert!(ball.contact.collide);
    close(ball.mass, 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.001);
    let (rubber, ice) = (ball.contact.material, loaded.model.bodies[2].contact.material);
    close(contact.values(rubber, ice).friction, 0.2);
    close(contact.values(rubber, ice).restitution, 0.5);
    close(contact.values(ice, ice).friction, 0.01);
    assert_eq!(contact.ignored.len(), 2);
    assert_eq!(contact.groups, ["toys", "flat"]);
    let codes: Vec<&str> = loaded.warnings.iter().map(|d| d.code).collect();
    assert!(codes.is_empty(), "{codes:?}");
}

/// A body on a rail pushed by what an expression says.
fn pushed(push: &str) -> String {
    format!(
        "[run]\nduration = 2\n[[body]]\nname = \"b\"\nmass = 1\ninertia = [1, 1, 1]\n[[joint]]\nname = \"j\"\ntype = \"slider\"\n\
         between = [\"world\", \"b\"]\npoint = [0, 0, 0]\naxis = \"x\"\nmotor = {{ force = '{push}' }}\n"
    )
}

fn with_data(files: &[(&str, &str)]) -> LoadOptions {
    let data = files.iter().map(|(n, t)| ((*n).to_owned(), t.as_bytes().to_vec())).collect();
    LoadOptions { data, ..LoadOptions::default() }
}

#[test]
fn tables_of_one_argument() {
    let wave = "t [s],a,b [N]\n0,0,5\n0.5,1,4\n1,4,3\n1.5,9,2\n2,16,1\n";
    let options = with_data(&[("wave.csv", wave)]);
    let at = |formula: &str, t: f64| signals(&load_with(&pushed(formula), &options).model, t)[0];
    // y = (2t)²: linear between, exact where it is cubic, stairs where it is held.
    close(at("table(\"wave.csv:a\", t)", 0.75), 2.5);
    close(at("table(\"wave.csv:2\", t, \"cubic\")", 0.75), 2.25);
    close(at("table(\"wave.csv:2\", t, \"cubic\")", 1.9), 14.44);
    close(at("table(\"wave.csv:a\", t, \"held\")", 0.99), 1.0);
    close(at("table(\"wave.csv:a\", t, \"held\")", 1.0), 4.0);
    // Names without their units; the ends hold; arguments are expressions, tables too.
    close(at("table(\"wave.csv:b\", 2*t)", 0.5), 3.0);
    close(at("table(\"wave.csv:b\", t - 3)", 0.0), 5.0);
    close(at("table(\"wave.csv:b\", t)", 9.0), 1.0);
    close(at("1 + 2*table(\"wave.csv:b\", table(\"wave.csv:a\", t)/8)", 1.0), 1.0 + 2.0 * 4.0);
    close(at("table(\"wave.csv:a\", joint.j.position + 1)", 0.0), 4.0);
    // Each knot is a switching function.
    let model = load_with(&pushed("table(\"wave.csv:a\", t)"), &options).model;
    assert_eq!(model.signals.n_kinks(), 5);
    // The file is kept for recordings.
    let loaded = load_with(&pushed("table(\"wave.csv:a\", t)"), &options);
    assert_eq!(loaded.mesh_files, [("wave.csv".to_owned(), wave.as_bytes().to_vec())]);
    assert!(loaded.canonical_text().contains("mesh wave.csv"));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let longer = pushed("table(\"wave.csv:a\", t)").replace("duration = 2", "duration = 3");
    let warned = load_with(&longer, &options).warnings;
    assert_eq!(warned.iter().map(|w| w.code).collect::<Vec<_>>(), ["table-ends"]);
    assert!(warned[0].message.contains("from t = 0 s to 2 s"), "{}", warned[0].message);
}

#[test]
fn tables_have_derivatives() {
    let options = with_data(&[("wave.csv", "0,0\n0.5,1\n1,4\n1.5,9\n2,16\n")]);
    // The rate of a target that is a table over time is that of the table.
    let text = pushed("0").replace(
        "motor = { force = '0' }",
        "drive = { position = 'table(\"wave.csv\", t, \"cubic\")', stiffness = 1, damping = 1 }",
    );
    let model = load_with(&text, &options).model;
    let values = signals(&model, 0.8);
    assert!(values.iter().any(|v| (v - 4.0 * 0.8 * 0.8).abs() < 1e-12), "{values:?}");
    assert!(values.iter().any(|v| (v - 8.0 * 0.8).abs() < 1e-12), "{values:?}");
}

#[test]
fn tables_of_two_arguments() {
    let map = "rpm\\load,0,1,3\n0,0,1,3\n10,10,12,16\n";
    let options = with_data(&[("map.csv", map), ("plain.csv", "0 0 1 3\n0 0 1 3\n10 10 12 16\n")]);
    let at = |formula: &str| signals(&load_with(&pushed(formula), &options).model, 1.0)[0];
    for file in ["map.csv", "plain.csv"] {
        // z = x + y + x y / 10 at the knots: bilinear, so exact between them.
        let z = |x: f64, y: f64| x + y + 0.1 * x * y;
        close(at(&format!("table(\"{file}\", 4*t, 2.5*t)")), z(4.0, 2.5));
        close(at(&format!("table(\"{file}\", 7*t, t/2)")), z(7.0, 0.5));
        close(at(&format!("table(\"{file}\", 70*t, 9*t)")), z(10.0, 3.0));
        close(at(&format!("table(\"{file}\", 4*t, 2.5*t, \"held\")")), z(0.0, 1.0));
    }
}

#[test]
fn faults_of_tables() {
    let options = with_data(&[
        ("wave.csv", "t,a\n0,0\n1,4\n"),
        ("back.csv", "0,0\n1,4\n0.5,2\n"),
        ("three.csv", "0,0,1\n1,4,2\n"),
        ("words.csv", "t,a\n0,0\n1,x\n"),
        ("one.csv", "0,1\n"),
    ]);
    for (formula, fault, word) in [
        ("table(\"wvae.csv\", t)", "no-folder", "has no folder"),
        ("table(\"wave.csv\")", "bad-expression", "one or two arguments"),
        ("table(\"wave.csv\", t, \"curly\")", "bad-expression", "one or two arguments"),
        ("table(\"wave.csv\", t", "bad-expression", "is open"),
        ("table(\"wave.csv:b\", t)", "bad-table", "has no column `b`"),
        ("table(\"three.csv\", t)", "bad-table", "has 3 columns"),
        ("table(\"back.csv\", t)", "bad-table", "0.5 comes after 1"),
        ("table(\"words.csv\", t)", "bad-table", "`x` in line 3"),
        ("table(\"one.csv\", t)", "bad-table", "2 or more"),
        ("table(\"wave.csv\", u)", "unknown-name", "u"),
        ("table(t)", "bad-expression", "one or two arguments"),
    ] {
        assert_eq!(faults_with(&pushed(formula), &options), [fault], "{formula}");
        let told =
            gelenk_model::load_text("m", &pushed(formula), &options).unwrap_err().to_string();
        assert!(told.contains(word), "{told}");
    }
}

#[test]
fn tables_are_read_beside_the_model() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("wave.csv"), "0,1\n2,5\n").expect("written");
    let path = folder.path().join("m.toml");
    std::fs::write(&path, pushed("table(\"wave.csv\", t)")).expect("written");
    let model = gelenk_model::load_path(&path, &LoadOptions::default()).expect("loads").model;
    close(signals(&model, 0.5)[0], 2.0);
    std::fs::write(&path, pushed("table(\"../wave.csv\", t)")).expect("written");
    assert!(gelenk_model::load_path(&path, &LoadOptions::default()).is_err());
}
