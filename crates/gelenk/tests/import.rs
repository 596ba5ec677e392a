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
    "exact".clone_into(&mut settings.contact); // the dae engine finds every stop
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
    for (engine, order, within) in [("dae", 2, 1e-6), ("impulse", 2, 1e-5), ("impulse", 4, 1e-6)] {
        let place = after_half_a_second(&loaded, engine, order, 0.001);
        for (name, expected) in MUJOCO {
            let off = (place(name) - Vec3::from(expected)).amax();
            assert!(off < within, "{engine}, order {order}: {name} is off by {off:e}");
        }
    }
}

/// A hip of three hinges: light bodies between them, which springs and frictions at the joints make fast before impulses hold them.
/// Both engines agree, with dry friction, and with end stops that are run into.
#[test]
fn light_bodies_between_joints_do_no_harm_to_either_engine() {
    let hip = |keys: &str| {
        let joint = |name: &str, axis: &str| {
            format!("<joint name=\"{name}\" axis=\"{axis}\" armature=\"0.01\" {keys}/>")
        };
        format!(
            "<mujoco><option gravity=\"1 2 -9.81\"/><worldbody><body name=\"thigh\" pos=\"0 0 1\">{}{}{}\
             <geom type=\"capsule\" fromto=\"0 0 0 0.1 0.05 -0.4\" size=\"0.05\"/>\
             <body name=\"toe\" pos=\"0.2 0.05 -0.8\"><joint name=\"toe\" axis=\"0 1 0\"/>\
             <geom type=\"sphere\" size=\"0.05\" pos=\"0.1 0 0\"/></body></body></worldbody></mujoco>",
            joint("x", "1 0 0"),
            joint("y", "0 1 0.2"),
            joint("z", "0 0 1")
        )
    };
    let options = ImportOptions { without_contact: true, ..ImportOptions::default() };
    for keys in [
        "frictionloss=\"0.05\" stiffness=\"3\" springref=\"20\"",
        "stiffness=\"3\" springref=\"40\" limited=\"true\" range=\"-10 10\"",
    ] {
        let imported = import_text("hip.xml", &hip(keys), &options).unwrap();
        let (_, loaded) = finish(imported, &LoadOptions::default()).unwrap();
        let exact = after_half_a_second(&loaded, "dae", 2, 0.001)("toe");
        for (order, within) in [(2, 2e-5), (4, 1e-6)] {
            let off = (after_half_a_second(&loaded, "impulse", order, 0.001)("toe") - exact).amax();
            assert!(off < within, "{keys}, order {order}: {off:e}");
        }
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
