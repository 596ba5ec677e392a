//! MJCF: defaults, inertia, joints, conditions, actuators. Reference numbers are MuJoCo's own (4.0.0).
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_import::{Fate, ImportOptions, Imported, import_text};
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{CheckOptions, LoadOptions, Loaded, Pose, check, load_text};

fn import(text: &str) -> Imported {
    import_text("model.xml", text, &ImportOptions::default()).unwrap_or_else(|f| panic!("{f}"))
}

fn load(imported: &Imported) -> Loaded {
    load_text("model", &imported.text, &LoadOptions::default())
        .unwrap_or_else(|faults| panic!("{faults}\n{}", imported.text))
}

fn has(imported: &Imported, fate: Fate, part: &str) -> bool {
    imported.report.notes.iter().any(|note| note.fate == fate && note.text.contains(part))
}

fn model(inside: &str) -> String {
    format!("<mujoco model=\"m\">{inside}</mujoco>")
}

#[test]
fn mass_and_inertia_are_mujocos() {
    let solids = import(include_str!("robots/solids.xml"));
    let loaded = load(&solids);
    // Mass, centre and tensor (xx, yy, zz, xy, xz, yz) in the world, from MuJoCo's xipos, ximat and body_inertia.
    let expected = [
        (
            "box",
            144.57676048805945,
            [-0.027207613571735165, 0.09454543260997142, 0.9526708039383626],
            [
                2.612225802157368,
                2.6236849357363226,
                2.0570692213425747,
                0.41154160589515326,
                -0.25389584549775096,
                0.3415272673438549,
            ],
        ),
        (
            "round",
            46.53573549745151,
            [1.0475891783610045, 0.031726118907336315, 1.0776902819345553],
            [
                0.7905117854439285,
                0.6762053942462044,
                0.8531888970469564,
                -0.2155730426051045,
                0.020928354133639592,
                -0.23091745351150914,
            ],
        ),
        (
            "given",
            2.0,
            [2.0, 0.1, 1.0],
            [0.0296, 0.02, 0.0404, -0.0017888543819998483, 0.0022, -0.0013416407864998905],
        ),
    ];
    for (name, mass, center, [xx, yy, zz, xy, xz, yz]) in expected {
        let i = loaded.model.bodies.iter().position(|body| body.name == name).unwrap();
        let (body, start) = (&loaded.model.bodies[i], &loaded.model.start);
        assert!((body.mass / mass - 1.0).abs() < 1e-12, "{name}: {}", body.mass);
        assert!((start.s[i] - Vec3::from(center)).norm() < 1e-12, "{name}: {}", start.s[i]);
        let r = start.rot[i].to_rotation_matrix();
        let found = r.matrix() * Mat3::from_diagonal(&body.inertia) * r.matrix().transpose();
        let tensor = Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
        assert!((found - tensor).norm() < 1e-10 * tensor.norm(), "{name}: {found} {tensor}");
    }
    // The class's colour, friction in part the class's and in part the program's own.
    assert!(solids.text.contains("color = [1, 0.5, 0]"));
    assert!(solids.text.contains("friction = 0.8"));
    assert!(has(&solids, Fate::Changed, "ellipsoids"));
}

#[test]
fn several_joints_armature_and_loops_keep_degrees_of_freedom_and_mass() {
    let swing = import(include_str!("robots/swing.xml"));
    let facts = &swing.report.facts;
    assert_eq!((facts.joints, facts.velocities, facts.inputs), (10, 12, 2));
    assert!((facts.mass / 20.152388066920068 - 1.0).abs() < 1e-14, "{}", facts.mass);
    assert!((facts.moving_mass / facts.mass - 1.0).abs() < 1e-12);
    let report = check(&load(&swing).model, &CheckOptions::default());
    // Twelve of the tree; the loop of four parallel axes takes two.
    assert_eq!(report.degrees_of_freedom, 10);
    assert!(report.inconsistencies.is_empty(), "{:?}", report.inconsistencies);
    assert!(swing.text.contains("stiffness = 80") && swing.text.contains("damping = 2"));
    assert!(swing.text.contains("[inputs]\nhold = 0.1\ncrank_motor = 0\n"), "{}", swing.text);
}

#[test]
fn angles_limits_and_references() {
    let text = model(
        "<worldbody><body name=\"a\"><joint name=\"j\" range=\"-90 45\" ref=\"30\" springref=\"10\" stiffness=\"2\"/><geom size=\"0.1\"/></body></worldbody>",
    );
    let arm = import(&text);
    let degrees = std::f64::consts::PI / 180.0;
    assert!(arm.text.contains(&format!("drawn_at = {:?}", 30.0 * degrees)), "{}", arm.text);
    assert!(arm.text.contains(&format!("rest = {:?}", 10.0 * degrees)));
    assert!(arm.text.contains(&format!("max = {:?}", 45.0 * degrees)));
    let radians =
        text.replace("<worldbody>", "<compiler angle=\"radian\" autolimits=\"false\"/><worldbody>");
    let arm = import(&radians);
    assert!(arm.text.contains("drawn_at = 30\n") && !arm.text.contains("limits"));
}

#[test]
fn keyframes_place_bodies_and_set_inputs() {
    let text = model(
        "<worldbody><body name=\"a\" pos=\"0 0 1\"><joint name=\"j\" axis=\"0 1 0\" type=\"slide\" range=\"0.5 1\"/><geom size=\"0.1\"/>\
         <body name=\"b\" pos=\"1 0 0\"><joint name=\"k\" axis=\"0 0 1\"/><geom size=\"0.1\"/></body></body></worldbody>\
         <actuator><motor name=\"m\" joint=\"k\"/></actuator>\
         <keyframe><key name=\"home\" qpos=\"0.7 1.5707963267948966\" qvel=\"2 3\" ctrl=\"0.4\"/></keyframe>",
    );
    // The first keyframe is the start.
    let home = import(&text);
    assert!(has(&home, Fate::Kept, "start: key `home`"), "{}", home.report.to_text());
    let loaded = load(&home);
    let start = &loaded.model.start;
    let b = loaded.model.bodies.iter().position(|body| body.name == "b").unwrap();
    assert!((start.s[b] - Vec3::new(1.0, 0.7, 1.0)).norm() < 1e-12, "{}", start.s[b]);
    assert!((start.s_dot[b] - Vec3::new(0.0, 2.0, 0.0)).norm() < 1e-12);
    assert!((start.omega[b] - Vec3::new(0.0, 0.0, 3.0)).norm() < 1e-12);
    assert!(home.text.contains("m = 0.4"));
    let options = ImportOptions { keyframe: Some("-".to_owned()), ..ImportOptions::default() };
    let drawn = import_text("m.xml", &text, &options).unwrap();
    assert!(has(&drawn, Fate::Changed, "widened"));
    let options = ImportOptions { keyframe: Some("away".to_owned()), ..ImportOptions::default() };
    let faults = import_text("m.xml", &text, &options).unwrap_err();
    assert_eq!(faults.list[0].code, "unknown-keyframe");
}

#[test]
fn actuators_become_drives_motors_and_forces() {
    let text = model(
        "<default><position kp=\"7\"/></default><worldbody><body name=\"a\"><joint name=\"j\"/><geom size=\"0.1\"/><site name=\"s\" pos=\"0 0 1\"/></body></worldbody>\
         <tendon><fixed name=\"t\"><joint joint=\"j\" coef=\"0.5\"/></fixed></tendon>\
         <actuator><position name=\"p\" joint=\"j\" forcerange=\"-3 3\"/><velocity name=\"v\" joint=\"j\" kv=\"2\"/>\
         <general name=\"g\" joint=\"j\" gainprm=\"4\" biastype=\"affine\" biasprm=\"1 -2 -3\"/>\
         <motor name=\"f\" tendon=\"t\" gear=\"10\"/><motor name=\"u\" site=\"s\" gear=\"0 0 2 0 0 1\"/>\
         <muscle name=\"x\" joint=\"j\"/></actuator>",
    );
    let arm = import(&text);
    for part in [
        "{ angle = \"input.p\", velocity = 0, stiffness = 7, max_torque = 3 }",
        "{ velocity = \"input.v\", damping = 2 }",
        "{ angle = \"2*input.g + 0.5\", velocity = 0, stiffness = 2, damping = 3 }",
        "{ torque = \"5*(input.f)\" }",
        "force = [0, 0, \"2*(input.u)\"]",
        "torque = [0, 0, \"1*(input.u)\"]",
    ] {
        assert!(arm.text.contains(part), "{part} missing in\n{}", arm.text);
    }
    assert!(has(&arm, Fate::Dropped, "<muscle>"));
    load(&arm);
}

#[test]
fn tendons_welds_and_couplings() {
    let text = model(
        "<worldbody><site name=\"top\" pos=\"0 0 2\"/>\
         <body name=\"a\" pos=\"0 0 1\"><freejoint/><geom size=\"0.1\"/><site name=\"eye\"/></body>\
         <body name=\"b\" pos=\"1 0 1\"><freejoint/><geom size=\"0.1\"/></body>\
         <body name=\"c\" pos=\"2 0 1\"><joint name=\"c1\" type=\"slide\"/><geom size=\"0.1\"/></body>\
         <body name=\"d\" pos=\"3 0 1\"><joint name=\"d1\" type=\"slide\"/><geom size=\"0.1\"/></body></worldbody>\
         <tendon><spatial name=\"cord\" range=\"0 1.5\" stiffness=\"3\" damping=\"0.1\"><site site=\"top\"/><site site=\"eye\"/></spatial></tendon>\
         <equality><weld body1=\"a\" body2=\"b\"/><joint joint1=\"c1\" joint2=\"d1\" polycoef=\"0 2 0 0 0\"/></equality>",
    );
    let all = import(&text);
    assert!(all.text.contains("type = \"rope\"") && all.text.contains("[[spring]]"));
    assert!(all.text.contains("ratios = [1, -2]"));
    let report = check(&load(&all).model, &CheckOptions::default());
    // 6 + 6 − 6 of the welded pair, 1 + 1 − 1 of the coupled one; a slack rope takes none.
    assert_eq!(report.degrees_of_freedom, 7);
}

#[test]
fn masks_and_excludes_say_who_touches() {
    let text = model(
        "<worldbody><geom type=\"plane\" size=\"1 1 1\"/>\
         <body name=\"a\"><freejoint/><geom size=\"0.1\" contype=\"2\" conaffinity=\"1\"/></body>\
         <body name=\"b\" pos=\"1 0 0\"><freejoint/><geom size=\"0.1\" contype=\"2\" conaffinity=\"1\"/></body>\
         <body name=\"c\" pos=\"2 0 0\"><freejoint/><geom size=\"0.1\" contype=\"0\" conaffinity=\"0\"/></body></worldbody>\
         <contact><exclude body1=\"a\" body2=\"world\"/></contact>",
    );
    let three = import(&text);
    let loaded = load(&three);
    let takes_part = |name: &str| {
        let body = loaded.model.bodies.iter().find(|body| body.name == name).unwrap();
        body.shapes.iter().any(|shape| shape.physical)
    };
    assert!(takes_part("ground") && takes_part("a") && !takes_part("c"));
    // a and b carry bit 2 and answer to bit 1: not to each other.
    assert!(three.text.contains("between = [\"touch1\", \"touch1\"]"), "{}", three.text);
    assert!(three.text.contains("between = [\"a\", \"ground\"]"));
    let options = ImportOptions { without_contact: true, ..ImportOptions::default() };
    let none = import_text("m.xml", &text, &options).unwrap();
    assert!(!none.text.contains("collide") && !none.text.contains("[[ignore]]"));
}

#[test]
fn what_is_not_known_is_told() {
    let text = model(
        "<worldbody><body name=\"a\"><joint type=\"ball\" range=\"0 30\" stiffness=\"1\"/><geom size=\"0.1\"/><composite/><camera/></body></worldbody>\
         <sensor><gyro/></sensor><custom/>",
    );
    let some = import(&text);
    for part in
        ["limits of ball", "springs of ball", "<composite>", "for the eye", "<sensor>", "<custom>"]
    {
        assert!(has(&some, Fate::Dropped, part), "{part}: {}", some.report.to_text());
    }
}

/// Places, masses and rotations that MuJoCo 4.0.0 gives of the same file.
#[test]
fn replicas_frames_and_attached_models_are_where_mujoco_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(
        path.join("hand.xml"),
        "<mujoco><compiler angle=\"radian\"/><default><geom density=\"500\"/><joint damping=\"0.1\"/>\
         <default class=\"x\"><geom size=\"0.07\"/></default></default><worldbody>\
         <body name=\"g\" pos=\"0 0 0.1\" euler=\"0.5 0 0\"><joint name=\"j\" range=\"-1 1\"/><geom class=\"x\"/>\
         <body name=\"h\" pos=\"0.2 0 0\"><joint name=\"k\" axis=\"0 1 0\"/><geom size=\"0.03\"/></body></body>\
         <body name=\"other\"><freejoint/><geom size=\"1\"/></body></worldbody>\
         <contact><exclude body1=\"g\" body2=\"other\"/></contact>\
         <actuator><position name=\"p\" joint=\"k\" kp=\"3\"/></actuator></mujoco>",
    )
    .unwrap();
    std::fs::write(
        path.join("arm.xml"),
        "<mujoco><asset><model name=\"hand\" file=\"hand.xml\"/></asset><worldbody>\
         <body name=\"a\" pos=\"0 0 1\" euler=\"0 90 0\"><joint name=\"j\" range=\"-90 90\"/><geom size=\"0.1\"/>\
         <frame pos=\"0.3 0 0\"><attach model=\"hand\" body=\"g\" prefix=\"l_\"/></frame></body>\
         <replicate count=\"11\" offset=\"0.2 0 0.1\" euler=\"0 0 20\" sep=\"_\"><body name=\"r\" pos=\"0 5 1\"><freejoint/>\
         <geom size=\"0.05 0.1\" type=\"capsule\"/><frame pos=\"0.1 0 0\" euler=\"0 30 0\"><frame pos=\"0 0.1 0\"><body name=\"k\">\
         <joint name=\"kj\" axis=\"1 0 0\" pos=\"0 0.1 0\"/><geom size=\"0.02 0.1\" type=\"capsule\" pos=\"0 0 0.1\"/>\
         </body></frame></frame></body></replicate></worldbody></mujoco>",
    )
    .unwrap();
    let arm = gelenk_import::import_path(&path.join("arm.xml"), &ImportOptions::default())
        .unwrap_or_else(|f| panic!("{f}"));
    let loaded = load(&arm);
    assert_eq!((arm.report.facts.velocities, arm.report.facts.inputs), (80, 1));
    let mut poses = vec![Pose::identity(); loaded.model.n_bodies()];
    loaded.model.start.write_poses(&mut poses);
    for (name, mass, x) in [
        ("l_g", 0.7183775201208663, [0.10000000000000007, 0.0, 0.7]),
        ("l_h", 0.05654866776461627, [0.1000000000000001, 0.0, 0.5]),
        ("r_03", 2.094395102393196, [-3.7889796061412153, 2.6969615506024427, 1.3]),
        ("k_03", 0.28483773392547457, [-3.8255821465196593, 2.833564090980887, 1.3]),
        ("r_10", 2.094395102393196, [1.7101007166283435, -3.5642067400059996, 1.9999999999999998]),
        ("k_10", 0.28483773392547457, [1.6503334688823195, -3.692378016417157, 1.9999999999999998]),
    ] {
        let i = loaded.model.bodies.iter().position(|body| body.name == name).unwrap();
        let body = &loaded.model.bodies[i];
        assert!((body.mass / mass - 1.0).abs() < 1e-12, "{name}: {}", body.mass);
        let place = body.frame_pose(&poses[i]).s;
        assert!((place - Vec3::from(x)).amax() < 1e-12, "{name}: {place}");
    }
}
