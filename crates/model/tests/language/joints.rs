//! Joints, drives, gears.

use gelenk_model::force::ForceKind;
use gelenk_model::joint::JOINT_TYPES;
use gelenk_model::signal::Value;
use gelenk_model::{JointKind, LoadOptions, RowKind};

use crate::common::{at_start, close, close_vec, faults, load, load_with, signals, worst_gap};

const BODIES: &str = "[[body]]\nname = \"a\"\nmass = 1\ninertia = [1, 2, 2.5]\nposition = [0, 0, 1]\ncenter_of_mass = [0.1, 0, 0]\n\
    rotation = { euler = [0.1, 0.2, 0.3] }\n\
    [[body]]\nname = \"b\"\nmass = 1\ninertia = [[2, 0.1, 0], [0.1, 2, 0], [0, 0, 2]]\nposition = [1, 0, 0]\nrotation = { euler = [0, 0.5, 0.3] }\n";

fn joint(kind: &str, keys: &str) -> String {
    format!(
        "{BODIES}[[joint]]\nname = \"j\"\ntype = \"{kind}\"\nbetween = [\"a\", \"b\"]\n{keys}\n"
    )
}

/// Every type that exists can be written, and is closed at the start.
#[test]
fn every_type() {
    for kind in JOINT_TYPES {
        let keys = match kind.name {
            "ball" => "point = [1, 1, 1]",
            "hinge" | "slider" | "cylindrical" | "planar" | "rail" | "plane-point" => {
                "point = [1, 1, 1]\naxis = [1, 2, 3]"
            }
            "universal" => "point = [1, 1, 1]\naxis = [1, 2, 3]\naxis2 = [2, -1, 0]",
            "screw" => "point = [1, 1, 1]\naxis = [1, 2, 3]\npitch = 0.01",
            "fixed" | "translation" | "distance" | "rope" => "",
            "curve" => "point = [0, 0, 1]\ncurve = { points = [[0, 0, 0], [1, 0, 0], [1, 1, 0]] }",
            "surface" => "point = [0, 0, 1]\nsurface = \"x^2 + y^2 = 2*z\"",
            other => panic!("write a test for the new joint type {other}"),
        };
        let model = load(&joint(kind.name, keys)).model;
        assert_eq!(model.joints[0].kind.type_name(), kind.name);
        assert!(worst_gap(&model) < 1e-12, "{}: {}", kind.name, worst_gap(&model));
        assert_eq!(model.joints[0].kind.free_dof(), kind.freedoms);
    }
}

/// `anchors` and `axes` in the bodies' frames give the same joint as world coordinates.
#[test]
fn anchors_in_body_frames() {
    let world = load(&joint("hinge", "point = [1, 1, 1]\naxis = [1, 2, 3]")).model;
    let mut anchors = String::new();
    let mut axes = String::new();
    for name in ["a", "b"] {
        let pose = crate::common::place(&world, name);
        let p = pose.rot.transpose() * (gelenk_model::math::Vec3::new(1.0, 1.0, 1.0) - pose.s);
        let n = pose.rot.transpose() * gelenk_model::math::Vec3::new(1.0, 2.0, 3.0);
        anchors.push_str(&format!("[{}, {}, {}],", p.x, p.y, p.z));
        axes.push_str(&format!("[{}, {}, {}],", n.x, n.y, n.z));
    }
    let local = load(&joint("hinge", &format!("anchors = [{anchors}]\naxes = [{axes}]"))).model;
    let point = |m: &gelenk_model::Model| {
        let [a, b] = m.joints[0].bodies.map(|id| m.start.pose(id));
        m.joints[0].kind.equations().force_point(&a, &b)
    };
    close_vec(point(&local), [1.0, 1.0, 1.0]);
    assert!(worst_gap(&local) < 1e-14);
    at_start(&local, 0.0, |at, _| {
        let row = local.joint_coordinate_row(local.joint("j").unwrap(), 0, at);
        let same = world.joint_coordinate_row(world.joint("j").unwrap(), 0, at);
        for (x, y) in row.iter().zip(same) {
            close(*x, y);
        }
    });
}

/// The symbolic anchors say the same as the numbers.
#[test]
fn symbolic_anchors() {
    let text = format!(
        "[parameters]\nl = 0.7\n{}",
        joint("hinge", "point = [\"l\", 1, 1]\naxis = [1, \"2*l\", 3]")
    );
    let loaded = load(&text);
    let (model, pool) = (&loaded.model, &loaded.model.pool);
    let geometry = &loaded.description.joints[0];
    for (side, name) in ["a", "b"].into_iter().enumerate() {
        let pose = crate::common::place(model, name);
        let value = |v: [_; 3]| gelenk_model::math::Vec3::from(v.map(|e| pool.eval(e, |_| 0.7)));
        close_vec(pose.point(&value(geometry.anchors[side])), [0.7, 1.0, 1.0]);
        close_vec(pose.rot * value(geometry.axes.unwrap()[side]), [1.0, 1.4, 3.0]);
    }
}

#[test]
fn open_joints_are_refused_unless_asked_for() {
    let text = joint("ball", "anchors = [[0, 0, 0], [0, 0, 0]]");
    assert_eq!(faults(&text), ["open-joint"]);
    let options = LoadOptions { allow_open: true, ..LoadOptions::default() };
    assert!((worst_gap(&load_with(&text, &options).model) - 1.0).abs() < 1e-12);
}

#[test]
fn start_moves_the_zero() {
    let keys = "point = [1, 1, 1]\naxis = [0, 0, 1]\n";
    let model = load(&joint("hinge", &format!("{keys}drawn_at_deg = 30"))).model;
    close(model.start.coordinate[0], 30_f64.to_radians());
    let model = load(&joint("slider", &format!("{keys}drawn_at = -0.25"))).model;
    close(model.start.coordinate[0], -0.25);
    assert!(worst_gap(&model) < 1e-14);
    assert_eq!(faults(&joint("ball", "point = [1, 1, 1]\ndrawn_at = 1")), ["unused-key"]);
}

#[test]
fn drives_and_springs_on_coordinates() {
    let keys = "point = [1, 1, 1]\naxis = [0, 0, 1]\nstiffness = 3\nrest_deg = 90\ndamping = 0.5\n\
        drive = { angle_deg = \"90*t^2\", stiffness = 40, damping = 2, max_torque = 10, brake = 0.1 }\n\
        motor = { torque = \"2*joint.j.angle + t\" }";
    let model = load(&joint("hinge", keys)).model;
    let names: Vec<&str> = model.forces.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["j.spring", "j.damping", "j.drive", "j.motor"]);
    let ForceKind::JointSpring(spring) = &model.forces[0].kind else { panic!() };
    assert_eq!(spring.rest, Value::Constant(std::f64::consts::FRAC_PI_2));
    let ForceKind::Servo(servo) = &model.forces[2].kind else { panic!() };
    assert_eq!((servo.max_force, servo.brake), (Value::Constant(10.0), Value::Constant(0.1)));
    let values = signals(&model, 0.5);
    close(servo.target.get(&values), std::f64::consts::FRAC_PI_2 * 0.25);
    // The target's own rate, derived from the expression.
    close(servo.target_velocity.get(&values), std::f64::consts::FRAC_PI_2);
    let ForceKind::Motor(motor) = &model.forces[3].kind else { panic!() };
    close(motor.force.get(&values), 0.5);
}

#[test]
fn coordinates_by_name() {
    let keys = "point = [1, 1, 1]\naxis = [0, 0, 1]\n";
    let two = "drive = [{ angle = 0, stiffness = 1 }, { position = 0.1, stiffness = 2 }]";
    let model = load(&joint("cylindrical", &format!("{keys}{two}"))).model;
    let axes: Vec<usize> = model
        .forces
        .iter()
        .map(|f| match &f.kind {
            ForceKind::Servo(servo) => servo.axis.which,
            _ => panic!(),
        })
        .collect();
    assert_eq!(axes, [1, 0]);
    let unclear = format!("{keys}drive = {{ velocity = 1, damping = 1 }}");
    assert_eq!(faults(&joint("cylindrical", &unclear)), ["which-coordinate"]);
    let clear = unclear.replace("velocity = 1", "coordinate = \"position\", velocity = 1");
    assert!(faults(&joint("cylindrical", &clear)).is_empty());
    assert_eq!(
        faults(&joint("hinge", &format!("{keys}motor = {{ force = 1 }}"))),
        ["no-coordinate"]
    );
    // One freedom, two coordinates: the screw's angle.
    let screw = format!("{keys}pitch = 0.1\ndamping = 1");
    assert_eq!(load(&joint("screw", &screw)).model.forces.len(), 1);
    let both = "point = [1, 1, 1]\naxis = [0, 0, 1]\naxis2 = [1, 0, 0]\ndamping = 1";
    assert_eq!(load(&joint("universal", both)).model.forces.len(), 2);
}

#[test]
fn prescribed_motion() {
    let keys = "point = [1, 1, 1]\naxis = [0, 0, 1]\ndrawn_at = 0.2\nmotion = { angle = \"0.2 + sin(3*t)\" }";
    let model = load(&joint("hinge", keys)).model;
    let RowKind::Tie(tie) = &model.rows[1].kind else { panic!() };
    let mut work = model.work();
    let [f, f_dot, f_ddot] = tie.target.value(0.1, &mut work);
    close(f, 0.2 + 0.3_f64.sin());
    close(f_dot, 3.0 * 0.3_f64.cos());
    close(f_ddot, -9.0 * 0.3_f64.sin());
    assert_eq!(faults(&joint("hinge", &keys.replace("drawn_at = 0.2\n", ""))), ["open-joint"]);
    let state = keys.replace("sin(3*t)", "0*joint.j.angle");
    assert_eq!(faults(&joint("hinge", &state)), ["not-a-time-function"]);
}

#[test]
fn gears() {
    let text = "[[body]]\nname = \"a\"\nmass = 1\ninertia = [1, 1, 1]\n[[body]]\nname = \"b\"\nmass = 1\ninertia = [1, 1, 1]\nposition = [1, 0, 0]\n\
        [[joint]]\nname = \"ja\"\ntype = \"hinge\"\nbetween = [\"world\", \"a\"]\npoint = [0, 0, 0]\naxis = [0, 0, 1]\ndrawn_at = 0.5\n\
        [[joint]]\nname = \"jb\"\ntype = \"hinge\"\nbetween = [\"world\", \"b\"]\npoint = [1, 0, 0]\naxis = [0, 0, 1]\n\
        [[gear]]\nname = \"g\"\njoints = [\"ja\", \"jb\"]\nratio = -2\ntolerance = 1e-7\n";
    let model = load(text).model;
    let block = &model.rows[2];
    let RowKind::Tie(tie) = &block.kind else { panic!() };
    assert_eq!(tie.terms.iter().map(|t| t.2).collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!(block.tolerance, Some(1e-7));
    assert!(worst_gap(&model) < 1e-15);
    let differential = text.replace("ratio = -2", "ratios = [1, \"1/2\"]");
    assert!(faults(&differential).is_empty());
    assert_eq!(faults(&text.replace("ratio = -2", "ratio = 0")), ["not-positive"]);
    assert_eq!(faults(&text.replace("\"jb\"]\n", "\"ja\"]\n")), ["same-body"]);
}

#[test]
fn limits_friction_strength() {
    let keys = "point = [1, 1, 1]\naxis = [0, 0, 1]\nlimits = { min_deg = -30, max = 1, restitution = 0.2 }\nfriction = 0.3\nbreak_force = 100";
    let loaded = load(&joint("hinge", keys));
    let properties = &loaded.model.joints[0].properties;
    close(properties.limits[0].min, -30_f64.to_radians());
    close(properties.limits[0].max, 1.0);
    assert_eq!(properties.friction, [0.3]);
    assert_eq!(properties.break_force, Some(100.0));
    assert!(loaded.warnings.is_empty());
    let names: Vec<&str> = loaded.model.rows.iter().map(|block| block.name.as_str()).collect();
    assert_eq!(names, ["j", "j.min", "j.max", "j.friction"]);
    let outside = keys.replace("min_deg = -30", "min = 0.5");
    assert_eq!(faults(&joint("hinge", &outside)), ["out-of-range"]);
}

/// Joined bodies touch each other where the joint says so; those that are one body never do.
#[test]
fn joined_bodies_may_touch() {
    let keys = "point = [1, 1, 1]\naxis = [0, 0, 1]";
    let collides = |keys: &str| load(&joint("hinge", keys)).model.joints[0].properties.collide;
    assert!(!collides(keys) && !collides(&format!("{keys}\ncollide = false")));
    assert!(collides(&format!("{keys}\ncollide = true")));
    assert_eq!(faults(&joint("fixed", "collide = true")), ["unused-key"]);
}

/// A point mass takes the joints that hold a point, and none that holds a direction.
#[test]
fn point_masses_take_joints_of_points() {
    let with = |kind: &str, axis: &str| {
        format!(
            "[[point]]\nname = \"P\"\nmass = 1\n[[joint]]\nname = \"j\"\ntype = \"{kind}\"\n\
             between = [\"world\", \"P\"]\npoint = [0, 0, 0]\n{axis}\n"
        )
    };
    assert!(faults(&with("ball", "")).is_empty());
    for kind in ["rail", "plane-point"] {
        assert!(faults(&with(kind, "axis = [1, 2, 3]")).is_empty(), "{kind}");
    }
    for kind in ["hinge", "slider", "planar"] {
        assert_eq!(faults(&with(kind, "axis = [1, 2, 3]")), ["bad-joint"], "{kind}");
    }
}

/// A bead on a circle given by formulas: the position is the arc length.
#[test]
fn bead_on_a_formula() {
    let text = "[parameters]\nr = 2\n[[point]]\nname = \"P\"\nmass = 1\nposition = [0, 2, 0]\n\
        [[joint]]\nname = \"wire\"\ntype = \"curve\"\nbetween = [\"world\", \"P\"]\n\
        curve = { formula = [\"r*cos(u)\", \"r*sin(u)\", 0], range = [0, \"2*pi\"] }\n";
    let model = load(text).model;
    assert!((model.start.coordinate[0] - std::f64::consts::PI).abs() < 1e-6);
    let JointKind::PointOnCurve(curve) = &model.joints[0].kind else { panic!() };
    assert!(curve.path().is_closed());
    // A parameter `u` of the model does not get in the way.
    let shadow = text.replace("r = 2", "r = 2\nu = 7");
    assert!(faults(&shadow).is_empty());
}

#[test]
fn other_forces() {
    let text = format!(
        "{BODIES}[[point]]\nname = \"p\"\nmass = 1\n[[point]]\nname = \"q\"\nmass = 1\nposition = [1, 0, 0]\n\
         [[force]]\nname = \"muscle\"\nbetween = [\"p\", \"q\"]\ntorque = [0, 0, \"sin(t)\"]\n\
         [[drag]]\nbody = \"a\"\nlinear = 0.1\nangular = \"0.2\"\n\
         [[damper]]\nbetween = [\"a\", \"b\"]\ndamping = 4\n\
         [[force]]\nbody = \"a\"\nforce = [1, 0, 0]\nframe = \"body\"\nanchor = [0, 0, 1]\n"
    );
    let model = load(&text).model;
    let kinds: Vec<&str> = model.forces.iter().map(|f| f.kind.type_name()).collect();
    assert_eq!(kinds, ["damper", "rod torque", "applied force", "drag"]);
}
