//! Robot files run: the motion is MuJoCo's.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use gelenk::import::{Fate, ImportOptions, finish, import_model, import_text};
use gelenk::model::math::Vec3;
use gelenk::model::{LoadOptions, Loaded, Observer, Pose, Sample, State};

fn robot(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/robots").join(name)
}

#[derive(Default)]
struct Last(Option<State>);

impl Observer for Last {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0 = Some(sample.state.clone());
        ControlFlow::Continue(())
    }
}

/// Origins of the bodies' frames after half a second.
fn after_half_a_second(
    loaded: &Loaded,
    engine: &str,
    order: u32,
    step: f64,
) -> impl Fn(&str) -> Vec3 {
    let mut settings = loaded.model.run.clone();
    engine.clone_into(&mut settings.engine);
    (settings.duration, settings.order, settings.step) = (0.5, order, step);
    let mut last = Last::default();
    gelenk::simulate_loaded(loaded, &settings, &mut last).unwrap();
    let (model, state) = (loaded.model.clone(), last.0.unwrap());
    assert!((state.t - 0.5).abs() < 1e-12);
    move |name: &str| {
        let i = model.bodies.iter().position(|body| body.name == name).unwrap();
        let mut poses = vec![Pose::identity(); model.n_bodies()];
        state.write_poses(&mut poses);
        model.bodies[i].frame_pose(&poses[i]).s
    }
}

/// xpos of MuJoCo 4.0.0 after 0.5 s: RK4 with steps of 25 µs, contact off, solimp 0.9999 and solref 2.5 steps for the loop.
const MUJOCO: [(&str, [f64; 3]); 6] = [
    ("trunk", [0.13288656294580278, 0.0, 0.11674179084554849]),
    ("thigh", [0.23245510881572432, 0.0015325013451031148, 0.009036134258433925]),
    ("shin", [0.18775944204577433, 0.12312541007962256, -0.3694046958821158]),
    ("arm", [0.04078240698054168, 0.0, 0.22405825954409847]),
    ("rod", [0.022046508163308217, 0.0, 0.5234726314361478]),
    ("rocker", [0.24020303164435275, 0.0, 0.2088459468108096]),
];

/// Several joints on a body, references, springs, dampers, armature, a ball joint, a loop, a servo, held weight: the light
/// bodies between joints make a difference of some 2e-7 m.
#[test]
fn a_robot_moves_as_in_mujoco() {
    let options = ImportOptions { without_contact: true, ..ImportOptions::default() };
    let (imported, loaded) =
        import_model(&robot("swing.xml"), &options, &LoadOptions::default()).unwrap();
    assert!(imported.report.notes.iter().all(|note| note.fate != Fate::Dropped));
    let place = after_half_a_second(&loaded, "dae", 2, 0.001);
    for (name, expected) in MUJOCO {
        let off = (place(name) - Vec3::from(expected)).amax();
        assert!(off < 1e-6, "{name} is off by {off:e}");
    }
}

#[test]
fn loops_that_are_open_are_closed_and_told() {
    let text = std::fs::read_to_string(robot("four-bar.urdf")).unwrap();
    let open = text.replace(
        "link1 link=\"coupler\" xyz=\"0.2 0 0\"",
        "link1 link=\"coupler\" xyz=\"0.205 0 0\"",
    );
    assert_ne!(text, open);
    let imported = import_text("four-bar.urdf", &open, &ImportOptions::default()).unwrap();
    let (imported, loaded) = finish(imported, &LoadOptions::default()).unwrap();
    assert!(imported.text.contains("[[start]]"));
    let note = imported.report.notes.iter().find(|note| note.text.starts_with("start: loops"));
    assert_eq!(note.unwrap().fate, Fate::Changed);
    assert!(loaded.warnings.iter().any(|warning| warning.code == "import-changed"));
    let place = after_half_a_second(&loaded, "impulse", 2, 0.002);
    assert!(place("coupler").iter().all(|x| x.is_finite()));
}
