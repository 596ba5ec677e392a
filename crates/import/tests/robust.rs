//! Damaged and hostile files: refused with a reason or read, never a panic, never for long.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_import::{ImportOptions, import_path, import_text};
use gelenk_model::{LoadOptions, load_text};
use proptest::prelude::*;

const FILES: [&str; 4] = [
    include_str!("robots/arm.urdf"),
    include_str!("robots/four-bar.urdf"),
    include_str!("robots/solids.xml"),
    include_str!("robots/swing.xml"),
];

/// A file is refused with a place or becomes a text that the loader reads (or refuses with a reason).
fn survives(text: &str) {
    match import_text("robot.xml", text, &ImportOptions::default()) {
        Ok(imported) => {
            let _ = imported.report.to_text();
            if let Err(faults) = load_text("robot", &imported.text, &LoadOptions::default()) {
                // Numbers may be absurd, but what is written is a model file.
                let codes = [
                    "bad-toml",
                    "syntax",
                    "unknown-key",
                    "unknown-table",
                    "wrong-type",
                    "missing-key",
                    "unknown-name",
                ];
                for fault in &faults.list {
                    assert!(!codes.contains(&fault.code), "{fault}\n{}", imported.text);
                }
            }
        }
        Err(faults) => {
            assert!(faults.n_errors() > 0);
            assert!(faults.render(false).contains("error"));
        }
    }
}

#[test]
fn truncated_anywhere() {
    for text in FILES {
        for end in (0..text.len()).step_by(11) {
            if text.is_char_boundary(end) {
                survives(&text[..end]);
            }
        }
    }
}

#[test]
fn lines_left_out() {
    for text in FILES {
        let lines: Vec<&str> = text.lines().collect();
        for i in 0..lines.len() {
            let mut fewer = lines.clone();
            fewer.remove(i);
            survives(&fewer.join("\n"));
        }
    }
}

#[test]
fn entities_and_document_types_are_refused() {
    let laughs = "<!DOCTYPE r [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]>\n<robot name=\"&c;\"/>";
    let outside =
        "<!DOCTYPE r [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\n<mujoco model=\"&x;\"/>";
    for text in [laughs, outside] {
        let faults = import_text("r.urdf", text, &ImportOptions::default()).unwrap_err();
        assert_eq!(faults.list[0].code, "bad-xml", "{faults}");
    }
}

#[test]
fn depth_and_size_are_counted() {
    let mut deep = String::from("<mujoco><worldbody>");
    deep.push_str(&"<body>".repeat(200_000));
    deep.push_str(&"</body>".repeat(200_000));
    deep.push_str("</worldbody></mujoco>");
    let faults = import_text("deep.xml", &deep, &ImportOptions::default()).unwrap_err();
    assert_eq!(faults.list[0].code, "limit-nesting");
    let defaults = format!(
        "<mujoco>{}{}</mujoco>",
        "<default class=\"a\">".repeat(5000),
        "</default>".repeat(5000)
    );
    assert!(import_text("d.xml", &defaults, &ImportOptions::default()).is_err());
    let mut options = ImportOptions::default();
    options.limits.file = 100;
    let faults = import_text("big.xml", &" ".repeat(200), &options).unwrap_err();
    assert_eq!(faults.list[0].code, "limit-file");
    options = ImportOptions::default();
    options.limits.bodies = 3;
    let many = format!(
        "<mujoco><worldbody>{}</worldbody></mujoco>",
        "<body><freejoint/><geom size=\"1\"/></body>".repeat(9)
    );
    let faults = import_text("many.xml", &many, &options).unwrap_err();
    assert_eq!(faults.list[0].code, "limit-bodies");
}

#[test]
fn too_many_bodies_are_told_once_and_many_are_read() {
    let robot = |n: usize| {
        let body = "<body><freejoint/><geom size=\"0.1\"/></body>";
        format!("<mujoco><worldbody>{}</worldbody></mujoco>", body.repeat(n))
    };
    let mut options = ImportOptions::default();
    options.limits.bodies = 1000;
    let faults = import_text("many.xml", &robot(3000), &options).unwrap_err();
    let codes: Vec<&str> = faults.list.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["limit-bodies"]);
    let many = import_text("many.xml", &robot(900), &options).unwrap();
    assert_eq!(many.report.facts.bodies, 900);
}

#[test]
fn includes_stay_in_their_folder_and_end() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("model");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(top.path().join("secret.xml"), "<mujoco><size/></mujoco>").unwrap();
    let file = folder.join("scene.xml");
    let try_it = |text: &str| {
        std::fs::write(&file, text).unwrap();
        import_path(&file, &ImportOptions::default())
    };
    let body = "<worldbody><body name=\"b\"><freejoint/><geom size=\"0.1\"/></body></worldbody>";
    std::fs::write(folder.join("part.xml"), format!("<mujocoinclude>{body}</mujocoinclude>"))
        .unwrap();
    let read = try_it("<mujoco><include file=\"part.xml\"/></mujoco>").unwrap();
    assert_eq!(read.report.facts.bodies, 1);
    for (text, code) in [
        ("<mujoco><include file=\"../secret.xml\"/></mujoco>", "outside-folder"),
        ("<mujoco><include file=\"/etc/passwd\"/></mujoco>", "outside-folder"),
        ("<mujoco><include file=\"none.xml\"/></mujoco>", "unreadable-file"),
        ("<mujoco><include file=\"scene.xml\"/></mujoco>", "limit-depth"),
        ("<mujoco><include/></mujoco>", "missing-file"),
    ] {
        let faults = try_it(text).unwrap_err();
        assert_eq!(faults.list[0].code, code, "{faults}");
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    for value in ["NaN", "inf", "1e999", "0x10", "one", "", "1 2"] {
        let text = format!(
            "<mujoco><worldbody><body><freejoint/><geom type=\"box\" size=\"1 1 {value}\"/></body></worldbody></mujoco>"
        );
        assert!(import_text("n.xml", &text, &ImportOptions::default()).is_err(), "{value}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_flipped(which in 0..FILES.len(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
        let mut bytes = FILES[which].as_bytes().to_vec();
        for (index, byte) in flips {
            let i = index.index(bytes.len());
            bytes[i] = byte;
        }
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn values_exchanged(which in 0..FILES.len(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let mut parts: Vec<&str> = FILES[which].split('"').collect();
        let values = parts.len() / 2;
        let (i, j) = (2 * a.index(values) + 1, 2 * b.index(values) + 1);
        parts.swap(i, j);
        survives(&parts.join("\""));
    }
}
