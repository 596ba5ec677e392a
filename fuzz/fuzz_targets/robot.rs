//! Any text as a robot file: faults come back with a reason, never as a panic; what is read is a model text that the loader
//! takes or refuses with a reason.
#![no_main]

use gelenk_import::{ImportOptions, import_text};
use gelenk_model::mesh::TriMesh;
use gelenk_model::{LoadOptions, load_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    check(text);
    let _ = TriMesh::read("dae", text.as_bytes(), 1000);
    let _ = TriMesh::read("dae", format!("<COLLADA>{text}</COLLADA>").as_bytes(), 1000);
    check(&format!(
        "<mujoco><worldbody><body><joint/><geom size=\"1\"/>{text}</body></worldbody></mujoco>"
    ));
    check(&format!(
        "<robot name=\"r\"><link name=\"a\"/><link name=\"b\"><inertial><mass value=\"1\"/></inertial></link>{text}</robot>"
    ));
});

fn check(text: &str) {
    match import_text("robot.xml", text, &ImportOptions::default()) {
        Ok(imported) => {
            let _ = imported.report.to_text();
            let _ = load_text("robot", &imported.text, &LoadOptions::default());
        }
        Err(faults) => assert!(faults.n_errors() > 0),
    }
}
