//! Rigid bodies as point masses: the same motion.

use std::ops::ControlFlow;

use gelenk::model::math::Vec3;
use gelenk::model::{LoadOptions, Model, RunSettings, State, load_text};
use gelenk::points::{PointModel, PointModelError, point_model, point_model_of};

fn load(name: &str, text: &str) -> Model {
    load_text(name, text, &LoadOptions::default()).expect("a good model").model
}

fn scene(name: &str) -> Model {
    load(name, gelenk::scenes::scene(name).expect("a scene").text)
}

/// A body on a universal joint with another welded and one more hung below on a ball and a rod.
const MOBILE: &str = r#"
[[body]]
name = "arm"
mass = 2
inertia = [0.3, 0.2, 0.15]
position = [0.4, 0, -0.1]
angular_velocity = [0.5, 1, 0]
velocity = [0.1, -0.05, -0.4]

[[body]]
name = "flag-1"
mass = 0.5
shape = { box = { size = [0.3, 0.2, 0.1] } }
position = [0.8, 0.3, 0]
angular_velocity = [0.5, 1, 0]

[[body]]
name = "tail"
mass = 1
shape = { box = { size = [0.1, 0.2, 0.5] } }
position = [0.8, 0, -0.5]

[[point]]
name = "bob"
mass = 0.3
position = [0.8, 0.5, -0.75]

[[joint]]
name = "gimbal"
type = "universal"
between = ["world", "arm"]
point = [0, 0, 0]
axis = [0, 0, 1]
axis2 = [1, 0, 0]

[[joint]]
name = "weld"
type = "fixed"
between = ["arm", "flag-1"]
point = [0.8, 0.1, 0]

[[joint]]
name = "hang"
type = "ball"
between = ["arm", "tail"]
point = [0.8, 0, -0.25]

[[joint]]
name = "thread"
type = "distance"
between = ["tail", "bob"]
points = [[0.8, 0, -0.75], [0.8, 0.5, -0.75]]
"#;

fn end(model: &Model, step: f64, order: u32, duration: f64) -> State {
    let settings = RunSettings {
        step,
        order,
        duration,
        tolerance: 1e-12,
        velocity_tolerance: 1e-11,
        solver: "direct".to_owned(),
        ..RunSettings::default()
    };
    gelenk::simulate(model, &settings, &mut ()).expect("it runs").state
}

/// Where the points of all bodies are, by rigid bodies and by point masses, and their largest distance.
fn apart(
    model: &Model,
    state: &State,
    converted: &PointModel,
    points: &Model,
    there: &State,
) -> f64 {
    let mut worst: f64 = 0.0;
    for (name, of_body) in &converted.bodies {
        let pose = state.pose(model.body(name).expect("a body"));
        for p in of_body {
            let point = points.body(&converted.points[p.point].name).expect("a point");
            worst = worst.max((pose.point(&p.place) - there.s[point.index()]).norm());
        }
    }
    worst
}

#[test]
fn the_motion_is_that_of_the_rigid_bodies() {
    // The top spins slowly here: at 60 rad/s a step of 1 ms is not yet in the range where h² shows.
    let heavy_top = gelenk::scenes::scene("heavy-top").expect("a scene").text;
    let slow_top = heavy_top.replace("value = 60", "value = 12");
    for (model, step, order, duration) in [
        (load("top", &slow_top), 0.004, 2, 0.4),
        (scene("double-pendulum"), 0.004, 2, 0.2),
        (scene("eight-loop"), 0.004, 2, 0.2),
        (load("mobile", MOBILE), 0.004, 2, 0.2),
    ] {
        let converted = point_model(&model).expect("possible");
        let points = load(&converted.name, &converted.to_toml());
        let difference = |step: f64, order: u32| {
            let (a, b) = (end(&model, step, order, duration), end(&points, step, order, duration));
            apart(&model, &a, &converted, &points, &b)
        };
        assert!(apart(&model, &model.start, &converted, &points, &points.start) < 1e-14);
        // Both converge to one motion: what is between them falls with h², and with order 6 there is almost nothing.
        let [coarse, fine] = [step, step / 2.0].map(|step| difference(step, order));
        let slope = (coarse / fine).log2();
        let little = difference(step, 6);
        assert!((slope - 2.0).abs() < 0.1, "{}: {coarse:.2e}, {fine:.2e}: {slope}", model.name);
        assert!(little < 1e-8, "{}: {little:.1e}", model.name);
    }
}

/// Two boxes on hinges with every force that has an equal among points.
const DRIVEN: &str = r#"
[parameters]
reach = 0.4

[[body]]
name = "arm"
mass = 2
shape = { box = { size = [0.8, 0.1, 0.2] } }
position = [0.4, 0, 0]

[[body]]
name = "hand"
mass = 1
shape = { box = { size = [0.1, 0.3, 0.4] } }
position = [0.9, 0.1, -0.3]

[[joint]]
name = "shoulder"
type = "hinge"
between = ["world", "arm"]
point = [0, 0, 0]
axis = [0, 1, 0]
drive = { angle = "reach*sin(3*t)", stiffness = 60, damping = 2, max_torque = 30 }

[[joint]]
name = "wrist"
type = "hinge"
between = ["arm", "hand"]
point = [0.8, 0, 0]
axis = [1, 0, 0]
stiffness = 8
rest = 0.3
damping = 0.4
motor = { torque = "0.5*cos(2*t)" }

[[spring]]
name = "cord"
between = ["world", "hand"]
points = [[1.5, 0, 1], [0.9, 0.1, -0.1]]
length = 0.7
stiffness = 20

[[damper]]
name = "pot"
between = ["arm", "hand"]
points = [[0.4, 0.05, 0], [0.9, 0.1, -0.4]]
damping = 1.5

[[force]]
name = "wind"
body = "hand"
force = ["sin(t)", 0.5, 0]
"#;

#[test]
fn springs_dampers_and_drives_act_between_points() {
    let loaded = load_text("driven", DRIVEN, &LoadOptions::default()).expect("a good model");
    let converted = point_model_of(&loaded).expect("possible");
    let points = load(&converted.name, &converted.to_toml());
    let model = &loaded.model;
    let difference = |step: f64| {
        let (a, b) = (end(model, step, 2, 0.2), end(&points, step, 2, 0.2));
        apart(model, &a, &converted, &points, &b)
    };
    let [coarse, fine] = [0.004, 0.002].map(difference);
    assert!(fine < 1e-4, "{coarse:.2e} {fine:.2e}");
    assert!(((coarse / fine).log2() - 2.0).abs() < 0.2, "{coarse:.2e} {fine:.2e}");
    // Without its formulas the model's numbers that follow time are not known.
    let refused = point_model(model).expect_err("a formula").to_string();
    assert!(refused.contains("shoulder"), "{refused}");
}

/// 83 constraints of rank 82 become 82.
#[test]
fn constraints_that_follow_from_others_are_left_out() {
    let double = point_model(&scene("double-pendulum")).expect("possible");
    assert_eq!((double.distances.len(), double.redundant.len()), (82, 1));
    for name in ["four-bar", "four-bar-ladder", "eight-loop-flat", "cuboid"] {
        let model = scene(name);
        let converted = point_model(&model).expect("possible");
        let points = load(&converted.name, &converted.to_toml());
        let (system, state) = gelenk_impulse::points::from_model(&points).expect("points");
        let tolerance = gelenk_impulse::points::RANK_TOLERANCE;
        let left = gelenk_impulse::points::independent(&system, &state, tolerance);
        // In a singular start rank is lost that is there a moment later.
        if name != "eight-loop-flat" && name != "four-bar-ladder" {
            assert_eq!(left.removed, Vec::<usize>::new(), "{name}");
        }
        assert_eq!(left.kept.len() + left.removed.len(), system.constraints.len());
    }
}

#[test]
fn a_general_body_on_a_ball_is_8q_plus_8_masses() {
    let text = r#"
        [[body]]
        name = "b"
        mass = 3
        inertia = [2, 3, 4]

        [[joint]]
        name = "pivot"
        type = "ball"
        between = ["world", "b"]
        point = [0.3, 0.2, -0.7]
    "#;
    let model = load("body", text);
    let converted = point_model(&model).expect("possible");
    assert_eq!(converted.points.len(), 16);
    // One point is the world's and fixed: 3·15 coordinates less 3 degrees of freedom.
    assert_eq!(converted.points.iter().filter(|p| p.fixed).count(), 1);
    assert_eq!((converted.distances.len(), converted.equations.len()), (42, 0));
    let points = load("points", &converted.to_toml());
    let report =
        gelenk::model::check::check(&points, &gelenk::model::check::CheckOptions::default());
    assert_eq!((report.degrees_of_freedom, report.redundant.len()), (3, 0));
    // Mass and inertia about the origin of the world are the body's.
    let mass: f64 = converted.bodies[0].1.iter().map(|p| p.mass).sum();
    assert!((mass - 3.0).abs() < 1e-14);
}

#[test]
fn degrees_of_freedom_stay() {
    let options = gelenk::model::check::CheckOptions::default();
    for model in
        [scene("double-pendulum"), scene("eight-loop"), load("mobile", MOBILE), scene("four-bar")]
    {
        let converted = point_model(&model).expect("possible");
        let points = load("points", &converted.to_toml());
        let dof = |model: &Model| gelenk::model::check::check(model, &options).degrees_of_freedom;
        assert_eq!(dof(&model), dof(&points), "{}", model.name);
        let sum =
            |model: &Model| model.bodies.iter().filter(|b| !b.fixed).map(|b| b.mass).sum::<f64>();
        let fixed: f64 = converted
            .bodies
            .iter()
            .flat_map(|(_, of_body)| of_body)
            .map(|p| if converted.points[p.point].fixed { p.mass } else { 0.0 })
            .sum();
        assert!((sum(&model) - sum(&points) - fixed).abs() < 1e-12);
        assert_eq!(converted.gravity, Vec3::new(0.0, 0.0, -9.81));
    }
}

#[test]
fn what_has_no_equivalent_is_named() {
    let error = point_model(&scene("slider-crank")).expect_err("a slider");
    assert!(
        matches!(&error, PointModelError::Joint { joint, kind: "slider" } if joint == "cylinder"),
        "{error}"
    );
    let windy = "[[point]]\nname = \"p\"\nmass = 1\nposition = [0, 0, 0]\n[[drag]]\nbody = \"p\"\nlinear = 1\n";
    let error = point_model(&load("windy", windy)).expect_err("drag");
    assert!(matches!(&error, PointModelError::Element { what: "drag", .. }), "{error}");
    let thin = r#"
        [[body]]
        name = "rod"
        mass = 1
        ends = [[0, 0, 0], [1, 0, 0]]
        shape = { rod = {} }

        [[joint]]
        name = "pin"
        type = "hinge"
        between = ["world", "rod"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
    "#;
    let error = point_model(&load("thin", thin)).expect_err("no mass beside the rod");
    assert!(error.to_string().starts_with("`pin` needs a point of body `rod`"), "{error}");
}

/// A joint that may break is no equation that always holds: both ways to point masses refuse it by name.
#[test]
fn breakable_joints_are_refused() {
    let text = r#"
        [[point]]
        name = "bob"
        mass = 1
        position = [1, 0, 0]
        [[joint]]
        name = "string"
        type = "distance"
        between = ["world", "bob"]
        break_force = 10
    "#;
    let model = load_text("breaks", text, &LoadOptions::default()).expect("a good model").model;
    let refused = point_model(&model).expect_err("refused").to_string();
    assert!(refused.contains("string") && refused.contains("break"), "{refused}");
    let settings = RunSettings { duration: 0.1, ..model.run.clone() };
    let refused = gelenk::drift::drift(&model, &settings, 2, &mut |_| ControlFlow::Continue(()));
    let refused = refused.expect_err("refused").to_string();
    assert!(refused.contains("string") && refused.contains("break"), "{refused}");
}
