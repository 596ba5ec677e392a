//! URDF: what a small arm and a four-bar become.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_import::{Base, Fate, ImportOptions, Imported, import_path, import_text};
use gelenk_model::{CheckOptions, LoadOptions, Loaded, check, load_text};

const ARM: &str = include_str!("robots/arm.urdf");
const FOUR_BAR: &str = include_str!("robots/four-bar.urdf");

fn import(text: &str) -> Imported {
    import_text("robot.urdf", text, &ImportOptions::default()).unwrap()
}

fn load(imported: &Imported) -> Loaded {
    load_text("robot", &imported.text, &LoadOptions::default())
        .unwrap_or_else(|faults| panic!("{faults}\n{}", imported.text))
}

fn has(imported: &Imported, fate: Fate, part: &str) -> bool {
    imported.report.notes.iter().any(|note| note.fate == fate && note.text.contains(part))
}

#[test]
fn an_arm_keeps_its_numbers() {
    let arm = import(ARM);
    let facts = &arm.report.facts;
    assert_eq!((facts.bodies, facts.joints, facts.velocities), (3, 3, 3));
    assert!((facts.mass - 8.2).abs() < 1e-12 && (facts.moving_mass - 3.2).abs() < 1e-12);
    let loaded = load(&arm);
    let model = &loaded.model;
    // The tool is welded to the arm: masses 2 and 1, centres at z = 0.25 and (0.1, 0, 0.5).
    let body = model.bodies.iter().find(|body| body.name == "upper_arm").unwrap();
    assert!((body.mass - 3.0).abs() < 1e-12);
    let center = body.frame_rot.inverse() * -body.frame_origin;
    assert!((center - nalgebra::Vector3::new(0.1 / 3.0, 0.0, 1.0 / 3.0)).norm() < 1e-12);
    // By hand: the arm's tensor turned by 90° about z is (0.05, 0.02, 0.04, xy −0.001); parallel axes for both.
    let r = body.frame_rot.inverse().to_rotation_matrix();
    let tensor =
        r.matrix() * nalgebra::Matrix3::from_diagonal(&body.inertia) * r.matrix().transpose();
    let (d1, d2) = ([-0.1 / 3.0, 0.0, 0.25 - 1.0 / 3.0], [0.2 / 3.0, 0.0, 0.5 - 1.0 / 3.0]);
    let xx = 0.05 + 0.003 + 2.0 * d1[2] * d1[2] + d2[2] * d2[2];
    let xz = -2.0 * d1[0] * d1[2] - d2[0] * d2[2];
    assert!((tensor[(0, 0)] - xx).abs() < 1e-12, "{tensor}");
    assert!((tensor[(0, 2)] - xz).abs() < 1e-12 && (tensor[(0, 1)] + 0.001).abs() < 1e-12);
    // A mimic joint is a coupling: two degrees of freedom are left of three; it starts at its offset.
    let report = check(model, &CheckOptions::default());
    assert_eq!(report.degrees_of_freedom, 2);
    assert!(arm.text.contains("drawn_at = -0.02"));
    // Looks, limits, damping and friction.
    assert!(arm.text.contains("limits = { min = -1, max = 2 }"));
    assert!(arm.text.contains("damping = 0.4") && arm.text.contains("friction = 0.2"));
    assert!(arm.text.contains("physical = false, color = [0, 0, 1]"));
    assert!(arm.text.contains("name = \"frame\"") && arm.text.contains("[[marker]]"));
}

#[test]
fn nothing_is_lost_silently() {
    let arm = import(ARM);
    for (fate, part) in [
        (Fate::Kept, "3 bodies"),
        (Fate::Changed, "names"),
        (Fate::Changed, "base moves"),
        (Fate::Changed, "not each other"),
        (Fate::Dropped, "transmissions"),
        (Fate::Dropped, "`.ply`"),
        (Fate::Dropped, "effort"),
    ] {
        assert!(has(&arm, fate, part), "{part}: {}", arm.report.to_text());
    }
    let effort = arm.report.notes.iter().find(|note| note.text.contains("effort")).unwrap();
    assert_eq!(effort.place.as_ref().unwrap().line, 40);
    assert!(arm.warnings().iter().all(|warning| warning.code.starts_with("import-")));
}

#[test]
fn a_loop_tag_closes_a_four_bar() {
    let bar = import(FOUR_BAR);
    let loaded = load(&bar);
    let report = check(&loaded.model, &CheckOptions::default());
    assert_eq!((report.degrees_of_freedom, report.loops), (1, 1));
    assert!(report.inconsistencies.is_empty(), "{:?}", report.inconsistencies);
}

#[test]
fn the_base_is_fixed_unless_free() {
    let options = ImportOptions { base: Base::Free, ..ImportOptions::default() };
    let free = import_text("arm.urdf", ARM, &options).unwrap();
    assert_eq!((free.report.facts.joints, free.report.facts.velocities), (4, 9));
    let report = check(&load(&free).model, &CheckOptions::default());
    assert_eq!(report.degrees_of_freedom, 8);
    // Without any joint nothing could move: the robot is free, and that is told.
    let alone = r#"<robot name="box"><link name="l"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>"#;
    let alone = import(alone);
    assert_eq!(alone.report.facts.velocities, 6);
    assert!(has(&alone, Fate::Changed, "without joints"));
}

#[test]
fn impossible_masses_are_refused_or_repaired() {
    let text = r#"<robot name="odd"><link name="world"/>
      <link name="thin"><inertial><mass value="1"/><inertia ixx="1" iyy="0.1" izz="0.1"/></inertial></link>
      <link name="none"/>
      <link name="dot"><inertial><mass value="2"/><inertia ixx="0" iyy="0" izz="0"/></inertial></link>
      <joint name="a" type="continuous"><parent link="world"/><child link="thin"/></joint>
      <joint name="b" type="continuous"><parent link="world"/><child link="none"/></joint>
      <joint name="c" type="continuous"><parent link="none"/><child link="dot"/><axis xyz="0 1 0"/></joint>
    </robot>"#;
    let faults = import_text("odd.urdf", text, &ImportOptions::default()).unwrap_err();
    let codes: Vec<&str> = faults.list.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["bad-inertia"], "{faults}");
    let thick = text.replace("ixx=\"1\"", "ixx=\"0.1\"");
    let faults = import_text("odd.urdf", &thick, &ImportOptions::default()).unwrap_err();
    let codes: Vec<&str> = faults.list.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["no-mass", "no-inertia"], "{faults}");
    let options = ImportOptions { lenient: true, ..ImportOptions::default() };
    let odd = import_text("odd.urdf", text, &options).unwrap();
    load(&odd);
    assert!((odd.report.facts.moving_mass - 3.0).abs() < 1e-12);
    for part in
        ["the nearest that a body can have", "those of a ball of 1 mm", "no mass: a millionth"]
    {
        assert!(has(&odd, Fate::Changed, part), "{part}: {}", odd.report.to_text());
    }
}

#[test]
fn meshes_are_found_in_the_package_and_nowhere_else() {
    let top = tempfile::tempdir().unwrap();
    let package = top.path().join("arm_description");
    std::fs::create_dir_all(package.join("urdf")).unwrap();
    std::fs::create_dir_all(package.join("meshes")).unwrap();
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    std::fs::write(package.join("meshes/link.obj"), obj).unwrap();
    std::fs::write(top.path().join("secret.obj"), obj).unwrap();
    let robot = |path: &str| {
        format!(
            "<robot name=\"m\"><link name=\"l\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial>\
             <visual><geometry><mesh filename=\"{path}\" scale=\"0.1 0.1 0.1\"/></geometry></visual></link></robot>"
        )
    };
    let file = package.join("urdf/arm.urdf");
    for path in [
        "package://arm_description/meshes/link.obj",
        "package://all/robots/arm_description/meshes/link.obj",
    ] {
        std::fs::write(&file, robot(path)).unwrap();
        let imported = import_path(&file, &ImportOptions::default()).unwrap();
        assert_eq!(imported.meshes, ["meshes/link.obj"], "{}", imported.report.to_text());
        let base_dir = Some(imported.folder.clone());
        let options = LoadOptions { base_dir, ..LoadOptions::default() };
        assert_eq!(load_text("m", &imported.text, &options).unwrap().meshes.len(), 1);
    }
    let outside = top.path().join("secret.obj").display().to_string();
    for path in [
        "../../secret.obj",
        "package://arm_description/../secret.obj",
        "package://../../secret.obj",
        &outside,
        &format!("file://{outside}"),
    ] {
        std::fs::write(&file, robot(path)).unwrap();
        let imported = import_path(&file, &ImportOptions::default()).unwrap();
        assert!(imported.meshes.is_empty(), "{path}");
        assert!(has(&imported, Fate::Dropped, "secret.obj"), "{}", imported.report.to_text());
    }
}

#[test]
fn faults_have_their_line() {
    for (text, code, line) in [
        ("<robot name=\"r\">\n<link/>\n</robot>", "no-name", 2),
        (
            "<robot name=\"r\">\n<link name=\"a\"/>\n<joint name=\"j\" type=\"fixed\"><parent link=\"a\"/><child link=\"b\"/></joint></robot>",
            "unknown-link",
            3,
        ),
        (
            "<robot name=\"r\">\n<link name=\"a\"/><link name=\"b\"/>\n<joint name=\"j\" type=\"wobbly\"><parent link=\"a\"/><child link=\"b\"/></joint></robot>",
            "unknown-type",
            3,
        ),
        (
            "<robot name=\"r\">\n<link name=\"a\"/><link name=\"b\"/>\n<joint name=\"i\" type=\"fixed\"><parent link=\"a\"/><child link=\"b\"/></joint>\n<joint name=\"j\" type=\"fixed\"><parent link=\"b\"/><child link=\"a\"/></joint></robot>",
            "no-base",
            1,
        ),
        (
            "<robot name=\"r\">\n<link name=\"a\">\n<inertial><mass value=\"NaN\"/></inertial></link></robot>",
            "bad-number",
            3,
        ),
        (
            "<robot name=\"r\">\n<link name=\"a\">\n<inertial><mass value=\"-1\"/></inertial></link></robot>",
            "bad-mass",
            3,
        ),
        ("<sdf/>", "unknown-format", 1),
        ("<robot name=\"r\">\n<link name=\"a\">\n</robot>", "bad-xml", 3),
    ] {
        let faults = import_text("r.urdf", text, &ImportOptions::default()).unwrap_err();
        let fault = faults.list.iter().find(|fault| fault.code == code);
        let fault = fault.unwrap_or_else(|| panic!("{code} missing in {faults}"));
        assert_eq!(fault.line(), line, "{code}");
    }
}
