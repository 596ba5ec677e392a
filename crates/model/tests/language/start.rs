//! `[[start]]`: where bodies begin, apart from where they are drawn.

use std::f64::consts::FRAC_PI_2;

use gelenk_model::LoadOptions;

use crate::common::{close, close_vec, faults, faults_with, load, load_with, place, worst_gap};

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
