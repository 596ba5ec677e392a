//! Parts, instances, repetition.

use gelenk_model::math::Vec3;

use crate::common::{close, close_vec, faults, load, load_with, place, set, worst_gap};

/// Six legs of two links each around a body.
const HEXAPOD: &str = r#"
[parameters]
n = 6
radius = 0.5

[[body]]
name = "torso"
mass = 10
shape = { cylinder = { radius = "radius", length = 0.1 } }

[part.leg]
description = "two links, hip and knee"
[part.leg.parameters]
l = 0.3
m = "0.5*l"

[[part.leg.body]]
name = "thigh"
mass = "m"
shape = { capsule = { radius = 0.02, length = "l" }, position = ["l/2", 0, 0], rotation = { to = [1, 0, 0] } }

[[part.leg.body]]
name = "shin"
mass = "m"
position = ["l", 0, 0]
shape = { capsule = { radius = 0.02, length = "l" }, position = [0, 0, "-l/2"] }

[[part.leg.joint]]
name = "hip"
type = "hinge"
between = ["mount", "thigh"]
point = [0, 0, 0]
axis = [0, 1, 0]

[[part.leg.joint]]
name = "knee"
type = "hinge"
between = ["thigh", "shin"]
point = ["l", 0, 0]
axis = [0, 1, 0]
drive = { angle = "0.1*sin(t)", stiffness = 5, damping = 0.1 }

[[instance]]
part = "leg"
prefix = "leg{i}_"
repeat = { count = "n", from = 1 }
position = ["radius*cos(2*pi*i/n)", "radius*sin(2*pi*i/n)", 0]
rotation = { axis = [0, 0, 1], angle = "2*pi*i/n" }
parameters = { l = "0.3 + 0.01*i" }
connect = { mount = "torso" }
"#;

#[test]
fn six_legs() {
    let loaded = load(HEXAPOD);
    let model = &loaded.model;
    assert_eq!(model.n_bodies(), 1 + 1 + 12);
    assert_eq!(model.joints.len(), 12);
    assert!(worst_gap(model) < 1e-14, "{}", worst_gap(model));
    let leg = model.body("leg2_shin").unwrap();
    close(model.bodies[leg.index()].mass, 0.5 * 0.32);
    // Leg 2 points to 120°; its knee is l further out.
    let angle = std::f64::consts::TAU / 3.0;
    let out = Vec3::new(angle.cos(), angle.sin(), 0.0);
    close_vec(place(model, "leg2_shin").s, (out * 0.82).into());
    let hip = model.joint("leg2_hip").unwrap();
    assert_eq!(model.joints[hip.index()].bodies[0], model.body("torso").unwrap());
    // The symbolic placement turns with the part as well.
    let pool = &model.pool;
    let value = |name: &str| model.parameters.iter().find(|p| p.name == name).unwrap().value;
    let eval = |e| pool.eval(e, |s| value(&pool.display(s).to_string()));
    let position = loaded.description.bodies[leg.index()].position.map(eval);
    close_vec(Vec3::from(position), (out * 0.82).into());
    // Parameters of a leg have its prefix; those the instance gives are no parameters of their own.
    let names: Vec<&str> = model.parameters.iter().map(|p| p.name.as_str()).collect();
    assert!(names.contains(&"leg3_m") && !names.contains(&"leg3_l"), "{names:?}");
    // They can be set one by one.
    let model = load_with(HEXAPOD, &set(&[("leg3_m", "7")])).model;
    close(model.bodies[model.body("leg3_thigh").unwrap().index()].mass, 7.0);
}

const CHAIN: &str = r#"
[parameters]
n = 3
l = 0.5

[part.link]
[[part.link.body]]
name = "link{i}"
mass = 1
shape = { rod = { length = "l" }, rotation = { to = [1, 0, 0] } }
position = ["(i + 1/2)*l", 0, 0]

[part.pin]
[[part.pin.joint]]
name = "pin{i}"
type = "ball"
between = ["link{i-1}", "link{i}"]
point = ["i*l", 0, 0]

[[joint]]
name = "pin0"
type = "ball"
between = ["world", "link0"]
point = [0, 0, 0]

[[instance]]
part = "link"
repeat = { count = "n" }

[[instance]]
part = "pin"
repeat = { count = "n - 1", from = 1 }
"#;

#[test]
fn chain_of_n_links() {
    for n in [1_usize, 3, 50] {
        let model = load_with(CHAIN, &set(&[("n", &n.to_string())])).model;
        assert_eq!(model.n_bodies(), n + 1);
        assert_eq!(model.joints.len(), n);
        assert!(worst_gap(&model) < 1e-12);
    }
    let model = load(CHAIN).model;
    let names: Vec<&str> = model.joints.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, ["pin0", "pin1", "pin2"]);
    let bad = |n: &str| {
        let faults = gelenk_model::load_text("c.toml", CHAIN, &set(&[("n", n)])).unwrap_err();
        faults.list[0].code
    };
    assert_eq!(bad("2.5"), "bad-number");
    assert_eq!(bad("-1"), "bad-repeat");
    assert_eq!(bad("0"), "bad-repeat");
    assert_eq!(bad("1e6"), "limit-bodies");
    assert_eq!(bad("1e12"), "limit-bodies");
}

/// Parts inside parts, names found from the inside out.
#[test]
fn nested_parts() {
    let text = r#"
[parameters]
size = 1.0
[part.finger]
[[part.finger.body]]
name = "bone"
mass = 1
shape = { sphere = { radius = "size" } }
[[part.finger.joint]]
name = "root"
type = "fixed"
between = ["palm", "bone"]
[part.hand]
[[part.hand.body]]
name = "palm"
mass = 2
shape = { sphere = { radius = "2*size" } }
[[part.hand.instance]]
part = "finger"
prefix = "thumb_"
position = [0, "size", 0]
[[part.hand.instance]]
part = "finger"
prefix = "little_"
position = [0, "-size", 0]
[[instance]]
part = "hand"
prefix = "left_"
position = [5, 0, 0]
rotation = { axis = [0, 0, 1], angle_deg = 180 }
[[instance]]
part = "hand"
prefix = "right_"
"#;
    let model = load(text).model;
    let names: Vec<&str> = model.bodies.iter().map(|b| b.name.as_str()).collect();
    let expected = [
        "world",
        "left_palm",
        "left_thumb_bone",
        "left_little_bone",
        "right_palm",
        "right_thumb_bone",
        "right_little_bone",
    ];
    assert_eq!(names, expected);
    let root = model.joint("left_thumb_root").unwrap();
    assert_eq!(model.joints[root.index()].bodies[0], model.body("left_palm").unwrap());
    close_vec(place(&model, "left_thumb_bone").s, [5.0, -1.0, 0.0]);
    close_vec(place(&model, "right_thumb_bone").s, [0.0, 1.0, 0.0]);
}

/// World anchors, axes, curves, velocities and forces turn with the part they stand in.
#[test]
fn everything_turns_with_the_part() {
    let inner = r#"
[[part.p.body]]
name = "a"
mass = 1
inertia = [1, 1, 1]
position = [1, 0, 0]
velocity = [0, 2, 0]
angular_velocity = [3, 0, 0]
[[part.p.joint]]
name = "j"
type = "hinge"
between = ["world", "a"]
anchors = [[1, 0, 0], [0, 0, 0]]
axes = [[1, 0, 0], [1, 0, 0]]
[[part.p.point]]
name = "q"
mass = 1
position = [0, 1, 0]
[[part.p.joint]]
name = "c"
type = "curve"
between = ["world", "q"]
curve = { points = [[0, 0, 0], [0, 1, 0], [0, 2, 0]] }
[[part.p.force]]
body = "a"
force = [1, 0, "t"]
[[part.p.spring]]
between = ["world", "a"]
points = [[1, 0, 4], [1, 0, 0]]
stiffness = 1
[[instance]]
part = "p"
position = [0, 0, 10]
rotation = { axis = [0, 0, 1], angle_deg = 90 }
"#;
    let model = load(&format!("[part.p]\n{inner}")).model;
    assert!(worst_gap(&model) < 1e-12, "{}", worst_gap(&model));
    close_vec(place(&model, "a").s, [0.0, 1.0, 10.0]);
    close_vec(model.start.s_dot[1], [-2.0, 0.0, 0.0]);
    close_vec(model.start.omega[1], [0.0, 3.0, 0.0]);
    let mut wrench = vec![gelenk_model::Wrench::zero(); model.n_bodies()];
    let signals = crate::common::signals(&model, 0.5);
    crate::common::at_start(&model, 0.5, |at, _| {
        let context =
            gelenk_model::force::ForceContext { model: &model, at: *at, signals: &signals };
        let applied = model.forces.iter().find(|f| f.kind.type_name() == "applied force").unwrap();
        applied.kind.law().add_wrench(&context, &mut wrench);
    });
    close_vec(wrench[1].force, [0.0, 1.0, 0.5]);
    let gelenk_model::force::ForceKind::Spring(spring) = &model.forces[0].kind else { panic!() };
    close_vec(spring.ends.points[0], [0.0, 1.0, 14.0]);
}

#[test]
fn faults_of_parts() {
    let part = "[part.p]\n[part.p.parameters]\nl = 1\n[[part.p.body]]\nname = \"b\"\nmass = \"l\"\nshape = { sphere = { radius = 1 } }\n";
    let with = |instance: &str| faults(&format!("{part}[[instance]]\n{instance}\n"));
    assert!(with("part = \"p\"").is_empty());
    assert_eq!(with("part = \"q\""), ["unknown-part"]);
    assert_eq!(with("prefix = \"x_\""), ["bad-instance"]);
    assert_eq!(with("part = \"p\"\nparameters = { ll = 2 }"), ["unknown-parameter"]);
    assert_eq!(with("part = \"p\"\nfile = \"p.toml\""), ["bad-instance", "no-folder"]);
    assert_eq!(with("part = \"p\"\nrepeat = { count = 2 }"), ["duplicate-name"]);
    assert!(with("part = \"p\"\nprefix = \"{i}_\"\nrepeat = { count = 2 }").is_empty());
    // A connection to nothing is told where it is made, not inside the part.
    let loose = HEXAPOD.replace("mount = \"torso\"", "mount = \"torsoo\"");
    let faults_found = gelenk_model::load_text("h.toml", &loose, &set(&[])).unwrap_err();
    assert_eq!(faults_found.list.len(), 1);
    assert_eq!(faults_found.list[0].line(), 50);
    assert_eq!(faults_found.list[0].help.as_deref(), Some("did you mean `torso`?"));
    // A fault in a part that is used twice is told once.
    let twice = "part = \"p\"\nprefix = \"a\"\nparameters = { l = -1 }\n[[instance]]\npart = \"p\"\nprefix = \"b\"\nparameters = { l = -1 }";
    assert_eq!(with(twice), ["bad-mass"]);
    let cycle = "[part.a]\n[[part.a.instance]]\npart = \"b\"\n[part.b]\n[[part.b.instance]]\npart = \"a\"\n[[instance]]\npart = \"a\"\n";
    assert_eq!(faults(cycle), ["part-cycle"]);
    let mut deep = String::new();
    for i in 0..20 {
        deep.push_str(&format!("[part.p{i}]\n[[part.p{i}.instance]]\npart = \"p{}\"\n", i + 1));
    }
    deep.push_str("[part.p20]\n[[instance]]\npart = \"p0\"\n");
    assert_eq!(faults(&deep), ["limit-depth"]);
}
