//! `[[start]]`: where bodies begin, apart from where they are drawn.

use std::f64::consts::FRAC_PI_2;

use gelenk_model::LoadOptions;

use crate::common::{
    close, close_vec, faults, faults_with, load, load_with, place, set, worst_gap,
};

/// An arm on a hinge at the origin, drawn along x; its centre of mass is 0.5 m from its frame.
const ARM: &str = r#"
[[body]]
name = "arm"
mass = 2
inertia = [0.1, 0.3, 0.2]
center_of_mass = [0.5, 0, 0]

[[joint]]
name = "shoulder"
type = "hinge"
between = ["world", "arm"]
point = [0, 0, 0]
axis = [0, 1, 0]
"#;

#[test]
fn a_mechanism_begins_in_another_posture() {
    // A quarter turn about y takes x to −z; it swings with 3 rad/s about the origin of its frame.
    let start = "[[start]]\nbody = \"arm\"\nrotation = { axis = [0, 1, 0], angle_deg = 90 }\n\
                 angular_velocity = [0, 3, 0]\n";
    let loaded = load(&format!("{ARM}{start}"));
    let model = &loaded.model;
    assert!(worst_gap(model) < 1e-15);
    let pose = place(model, "arm");
    close_vec(pose.s, [0.0, 0.0, 0.0]);
    close_vec(pose.rot.column(0).into(), [0.0, 0.0, -1.0]);
    // The centre of mass hangs 0.5 m below and moves with ω × r = (−1.5, 0, 0).
    close_vec(model.start.s[1], [0.0, 0.0, -0.5]);
    close_vec(model.start.s_dot[1], [-1.5, 0.0, 0.0]);
    close_vec(model.start.omega[1], [0.0, 3.0, 0.0]);
    close(model.start.coordinate[0], FRAC_PI_2);
}

#[test]
fn what_is_left_out_stays_and_the_last_entry_counts() {
    let drawn = load(ARM).model;
    let same = load(&format!("{ARM}[[start]]\nbody = \"arm\"\n")).model;
    assert_eq!(same.start, drawn.start);
    let twice = format!(
        "{ARM}[[start]]\nbody = \"arm\"\nangular_velocity = [0, 1, 0]\n\
         [[start]]\nbody = \"arm\"\nangular_velocity = [0, 2, 0]\n"
    );
    close_vec(load(&twice).model.start.omega[1], [0.0, 2.0, 0.0]);
}

#[test]
fn an_open_start_is_refused_unless_it_is_to_be_assembled() {
    let open = format!("{ARM}[[start]]\nbody = \"arm\"\nposition = [0, 0, 0.1]\n");
    assert_eq!(faults(&open), ["open-joint"]);
    let options = LoadOptions { allow_open: true, ..LoadOptions::default() };
    let model = load_with(&open, &options).model;
    assert!((worst_gap(&model) - 0.1).abs() < 1e-12);
}

#[test]
fn start_values_may_close_what_is_drawn_open() {
    let drawn = r#"
[[point]]
name = "bob"
mass = 1
position = [1.5, 0, 0]

[[joint]]
name = "thread"
type = "distance"
between = ["world", "bob"]
length = 1
"#;
    assert_eq!(faults(drawn), ["open-joint"]);
    let closed =
        format!("{drawn}[[start]]\nbody = \"bob\"\nposition = [\"cos(1)\", 0, \"sin(1)\"]\n");
    assert!(worst_gap(&load(&closed).model) < 1e-15);
}

#[test]
fn faults_of_start_values() {
    let with =
        |start: &str| format!("{ARM}\n[[point]]\nname = \"p\"\nmass = 1\n[[start]]\n{start}\n");
    for (start, fault) in [
        ("body = \"amr\"", "unknown-body"),
        ("body = \"world\"\nposition = [0, 0, 0]", "fixed-moves"),
        ("body = \"p\"\nrotation = [1, 0, 0, 0]", "point-turns"),
        ("body = \"arm\"\nvelocity = [1e30, 0, 0]", "absurd-velocity"),
        ("body = \"arm\"\nspeed = 1", "unknown-key"),
        ("position = [0, 0, 0]", "missing-key"),
    ] {
        let options = LoadOptions { allow_open: true, ..LoadOptions::default() };
        assert_eq!(faults_with(&with(start), &options), [fault], "{start}");
    }
}

/// Two links in a plane, drawn along x; hinges about −y, so that positive angles lift.
const LINKS: &str = r#"
[parameters]
lift = 0.5

[[body]]
name = "arm"
mass = 2
ends = [[0, 0, 0], [1, 0, 0]]
shape = { capsule = { radius = 0.02 } }

[[body]]
name = "hand"
mass = 1
ends = [[1, 0, 0], [1.5, 0, 0]]
shape = { capsule = { radius = 0.02 } }

[[joint]]
name = "shoulder"
type = "hinge"
between = ["world", "arm"]
point = [0, 0, 0]
axis = [0, -1, 0]

[[joint]]
name = "elbow"
type = "hinge"
between = ["arm", "hand"]
point = [1, 0, 0]
axis = [0, -1, 0]
"#;

#[test]
fn joints_pose_an_arm_exactly() {
    let text = format!(
        "{LINKS}[[start]]\njoint = \"elbow\"\nangle_deg = 90\nrate = 3\n\
         [[start]]\njoint = \"shoulder\"\nangle = \"lift\"\nvelocity = 2\n"
    );
    let model = load(&text).model;
    let (s, c) = 0.5_f64.sin_cos();
    close_vec(model.start.s[1], [0.5 * c, 0.0, 0.5 * s]);
    close_vec(model.start.s[2], [c - 0.25 * s, 0.0, s + 0.25 * c]);
    close_vec(model.start.s_dot[1], [-2.0 * 0.5 * s, 0.0, 2.0 * 0.5 * c]);
    // The elbow moves with 2 rad/s, the hand turns with 2 + 3.
    let hand = [-2.0 * s - 5.0 * 0.25 * c, 0.0, 2.0 * c - 5.0 * 0.25 * s];
    close_vec(model.start.s_dot[2], hand);
    close_vec(model.start.omega[2], [0.0, -5.0, 0.0]);
    close(model.start.coordinate[0], 0.5);
    close(model.start.coordinate[1], FRAC_PI_2);
    assert!(worst_gap(&model) < 1e-15);
    // The order does not matter, nor on which side of the joint the world is.
    let turned = text.replace("[\"world\", \"arm\"]", "[\"arm\", \"world\"]").replacen(
        "axis = [0, -1, 0]",
        "axis = [0, 1, 0]",
        1,
    );
    let other = load(&turned).model;
    close_vec(other.start.s[2], model.start.s[2].into());
    close_vec(other.start.s_dot[2], hand);
}

#[test]
fn angles_count_full_turns_and_the_command_line_has_the_last_word() {
    let text = format!("{LINKS}[[start]]\njoint = \"elbow\"\nangle = 1\n");
    let model = load_with(&text, &set(&[("start.elbow", "2*pi + lift"), ("lift", "0.25")])).model;
    close(model.start.coordinate[1], std::f64::consts::TAU + 0.25);
    let given = [("start.joint.elbow.angle_deg", "-30"), ("start.shoulder.rate", "1")];
    let model = load_with(LINKS, &set(&given)).model;
    close(model.start.coordinate[1], -std::f64::consts::FRAC_PI_6);
    close_vec(model.start.omega[1], [0.0, -1.0, 0.0]);
    close_vec(model.start.omega[2], [0.0, -1.0, 0.0]);
    for (name, value, fault) in [
        ("start.elbwo", "1", "unknown-joint"),
        ("start.elbow.position", "1", "no-coordinate"),
        ("start.elbow", "1e9", "out-of-range"),
        ("start.elbow", "t", "not-constant"),
    ] {
        assert_eq!(faults_with(LINKS, &set(&[(name, value)])), [fault], "{name}");
    }
}

#[test]
fn joints_of_every_kind_take_a_start() {
    for (kind, keys, starts) in [
        ("slider", "axis = [1, 2, 0]", vec![("position", -0.7)]),
        ("rail", "axis = [1, 2, 0]", vec![("position", 0.4)]),
        ("cylindrical", "axis = [1, 2, 0]", vec![("position", 0.3), ("angle", 4.0)]),
        ("planar", "axis = [0, 1, 1]", vec![("x", 0.3), ("y", -0.2), ("angle", -2.0)]),
        ("screw", "axis = [0, 0, 1]\npitch = 0.01", vec![("angle", 40.0)]),
        ("screw", "axis = [0, 0, 1]\npitch = 0.01", vec![("position", 0.0234)]),
        (
            "universal",
            "axis = [1, 0, 0]\naxis2 = [0, 1, 0]",
            vec![("angle1", 1.0), ("angle2", -0.5)],
        ),
        ("translation", "", vec![("x", 1.0), ("y", 2.0), ("z", -3.0)]),
    ] {
        let mut text = format!(
            "[[body]]\nname = \"b\"\nmass = 1\ninertia = [0.1, 0.3, 0.2]\nposition = [1, 1, 1]\n\
             [[joint]]\nname = \"j\"\ntype = \"{kind}\"\nbetween = [\"world\", \"b\"]\n\
             point = [1, 1, 1]\n{keys}\n"
        );
        for (coordinate, value) in &starts {
            let key = if coordinate.contains("angle") { "angle" } else { "position" };
            text.push_str(&format!(
                "[[start]]\njoint = \"j\"\ncoordinate = \"{coordinate}\"\n{key} = {value}\nrate = {value}\n"
            ));
        }
        let model = load(&text).model;
        assert!(worst_gap(&model) < 1e-14, "{kind}: {}", worst_gap(&model));
        let list = model.joints[0].kind.equations().coordinates();
        for (name, value) in starts {
            let which = list.iter().position(|c| c.name == name).expect("it has it");
            let q = model.start.coordinate[which];
            assert!((q - value).abs() < 1e-13, "{kind} {name}: {q}");
            let rate = crate::common::at_start(&model, 0.0, |at, _| {
                model.joint_velocity(gelenk_model::JointId(0), which, at)
            });
            assert!((rate - value).abs() < 1e-12, "{kind} {name} rate: {rate}");
        }
    }
}

#[test]
fn a_loop_is_closed_around_the_joint_that_is_given() {
    // A four-bar: crank 0.3 at the origin, coupler, rocker to (1, 0, 0); angles lift.
    let text = r#"
[[body]]
name = "crank"
mass = 1
ends = [[0, 0, 0], [0, 0, 0.3]]
shape = { capsule = { radius = 0.01 } }
[[body]]
name = "coupler"
mass = 1
ends = [[0, 0, 0.3], [1, 0, 0.8]]
shape = { capsule = { radius = 0.01 } }
[[body]]
name = "rocker"
mass = 1
ends = [[1, 0, 0], [1, 0, 0.8]]
shape = { capsule = { radius = 0.01 } }
[[joint]]
name = "a"
type = "hinge"
between = ["world", "crank"]
point = [0, 0, 0]
axis = [0, -1, 0]
[[joint]]
name = "b"
type = "hinge"
between = ["crank", "coupler"]
point = [0, 0, 0.3]
axis = [0, -1, 0]
[[joint]]
name = "c"
type = "hinge"
between = ["coupler", "rocker"]
point = [1, 0, 0.8]
axis = [0, -1, 0]
[[joint]]
name = "d"
type = "hinge"
between = ["world", "rocker"]
point = [1, 0, 0]
axis = [0, -1, 0]
"#;
    let turned = 2.0_f64;
    let posed = format!("{text}[[start]]\njoint = \"a\"\nangle = {turned}\nrate = 1.5\n");
    let model = load(&posed).model;
    assert!(worst_gap(&model) < 1e-10, "{}", worst_gap(&model));
    assert!((model.start.coordinate[0] - turned).abs() < 1e-11);
    // The rocker's angle ψ closes the triangle of crank end, ground and lengths 1.118..., 0.8 on the branch it was drawn on:
    // |(1, 0) + 0.8 (cos ψ, sin ψ) − A|² = 1.25.
    let phi = std::f64::consts::FRAC_PI_2 + turned;
    let a = [0.3 * phi.cos(), 0.3 * phi.sin()];
    let d = [1.0 - a[0], -a[1]];
    let (reach, far) = (0.8_f64, d[0].hypot(d[1]));
    let inner = ((1.25 - reach * reach - far * far) / (2.0 * reach * far)).acos();
    let psi = d[1].atan2(d[0]) + inner;
    let drawn = std::f64::consts::FRAC_PI_2;
    let q = model.start.coordinate[3];
    assert!((q - (psi - drawn)).abs() < 1e-9, "{q} is not {}", psi - drawn);
    let rate = |i| {
        crate::common::at_start(&model, 0.0, |at, _| {
            model.joint_velocity(gelenk_model::JointId(i), 0, at)
        })
    };
    assert!((rate(0) - 1.5).abs() < 1e-10, "{}", rate(0));
    // The rate of the rocker from the closed posture a little later.
    let later = load(&posed.replace("angle = 2", "angle = 2.000001")).model;
    let slope = (later.start.coordinate[3] - q) / 1e-6;
    assert!((rate(3) - 1.5 * slope).abs() < 1e-4, "{} {slope}", rate(3));
    // Out of reach.
    let far = format!("{text}[[start]]\njoint = \"d\"\nangle_deg = 120\n");
    assert_eq!(faults(&far), ["open-joint"]);
}

#[test]
fn a_gear_turns_with_its_partner() {
    let geared = format!(
        "{LINKS}[[gear]]\nname = \"belt\"\njoints = [\"elbow\", \"shoulder\"]\nratio = -2\n\
         [[start]]\njoint = \"shoulder\"\nangle = 0.3\nrate = 1\n"
    );
    let model = load(&geared).model;
    assert!((model.start.coordinate[0] - 0.3).abs() < 1e-10);
    assert!((model.start.coordinate[1] + 0.6).abs() < 1e-9);
    assert!((model.start.omega[2] - gelenk_model::math::Vec3::new(0.0, 1.0, 0.0)).norm() < 1e-9);
}

#[test]
fn faults_of_joint_starts() {
    for (start, fault) in [
        ("joint = \"elbow\"\nbody = \"hand\"\nangle = 1", "place-twice"),
        ("joint = \"elbwo\"\nangle = 1", "unknown-joint"),
        ("joint = \"elbow\"", "missing-key"),
        ("joint = \"elbow\"\nangle = 1\nangle_deg = 1", "place-twice"),
        ("joint = \"elbow\"\nposition = 1", "no-coordinate"),
        ("joint = \"elbow\"\nangle = [1, 0, 0]", "wrong-type"),
        ("joint = \"elbow\"\nangle = 1\nvelocity = [1, 0, 0]", "wrong-type"),
        ("joint = \"elbow\"\nrotation = [1, 0, 0, 0]", "unused-key"),
        ("body = \"hand\"\nangle = 1", "unused-key"),
        ("body = \"hand\"\nposition = 1", "wrong-type"),
        ("", "missing-key"),
    ] {
        assert_eq!(faults(&format!("{LINKS}[[start]]\n{start}\n")), [fault], "{start}");
    }
    // The first place in the file is told.
    let both = format!("{LINKS}[[start]]\njoint = \"elbow\"\nbody = \"hand\"\nangle = 1\n");
    let fault = gelenk_model::load_text("arm.toml", &both, &LoadOptions::default()).unwrap_err();
    assert!(fault.list[0].line() > 30, "{fault}");
}

#[test]
fn the_old_key_of_the_zero_still_reads() {
    let old = LINKS.replacen("axis = [0, -1, 0]", "axis = [0, -1, 0]\nstart = 0.5", 1);
    let loaded = load(&old);
    assert_eq!(loaded.warnings.iter().map(|w| w.code).collect::<Vec<_>>(), ["old-key"]);
    close(loaded.model.start.coordinate[0], 0.5);
    close_vec(loaded.model.start.s[1], [0.5, 0.0, 0.0]);
    let new = load(&old.replace("start = 0.5", "drawn_at = 0.5"));
    assert!(new.warnings.is_empty());
    assert_eq!(new.model.start, loaded.model.start);
    assert_eq!(faults(&old.replace("start = 0.5", "start = 0.5\ndrawn_at = 0.5")), ["place-twice"]);
}

#[test]
fn posed_starts_have_derivatives() {
    use gelenk_model::variation::Variation;
    let text = format!(
        "[parameters]\nl = 1\nq = 0.4\nw = 1.5\n\
         [[body]]\nname = \"arm\"\nmass = 2\nends = [[0, 0, 0], [\"l\", 0, 0]]\nshape = {{ capsule = {{ radius = 0.02 }} }}\n\
         [[body]]\nname = \"hand\"\nmass = 1\nends = [[\"l\", 0, 0], [\"1.5*l\", 0, 0]]\nshape = {{ capsule = {{ radius = 0.02 }} }}\n\
         [[joint]]\nname = \"shoulder\"\ntype = \"hinge\"\nbetween = [\"world\", \"arm\"]\npoint = [0, 0, 0]\naxis = [0, -1, 0]\n\
         [[joint]]\nname = \"elbow\"\ntype = \"{}\"\nbetween = [\"arm\", \"hand\"]\npoint = [\"l\", 0, 0]\naxis = [0.6, -1, 0]\n\
         [[start]]\njoint = \"elbow\"\n{} = \"q^2\"\nrate = \"w*l\"\n\
         [[start]]\njoint = \"shoulder\"\nangle = \"2*q\"\nrate = \"w\"\n",
        "hinge", "angle"
    );
    for text in [
        text.clone(),
        text.replace("\"hinge\"\nbetween = [\"arm\"", "\"slider\"\nbetween = [\"arm\"")
            .replace("\nangle = \"q^2\"", "\nposition = \"q^2\""),
    ] {
        let loaded = load(&text);
        let names = ["l", "q", "w"];
        let varied = Variation::new(&loaded, &names).unwrap_or_else(|why| panic!("{why}"));
        for (lane, name) in names.into_iter().enumerate() {
            let value =
                loaded.model.parameters.iter().find(|p| p.name == name).expect("there").value;
            let at = |x: f64| load_with(&text, &set(&[(name, &format!("{x:?}"))])).model.start;
            let h = 1e-5;
            let (low, high) = (at(value - h), at(value + h));
            for i in 1..=2 {
                for k in 0..3 {
                    let slope = (high.s[i][k] - low.s[i][k]) / (2.0 * h);
                    let exact = varied.poses[i].s[k].d[lane];
                    assert!((slope - exact).abs() < 1e-8, "{name}: s {i} {k}: {exact} {slope}");
                    let slope = (high.s_dot[i][k] - low.s_dot[i][k]) / (2.0 * h);
                    let exact = varied.twists[i].s_dot[k].d[lane];
                    assert!((slope - exact).abs() < 1e-8, "{name}: v {i} {k}: {exact} {slope}");
                    let slope = (high.omega[i][k] - low.omega[i][k]) / (2.0 * h);
                    let exact = varied.twists[i].omega[k].d[lane];
                    assert!((slope - exact).abs() < 1e-8, "{name}: w {i} {k}: {exact} {slope}");
                }
            }
        }
    }
}
