//! Rigid bodies as point masses: the same motion.

use std::ops::ControlFlow;

use gelenk::model::math::Vec3;
use gelenk::model::{LoadOptions, Model, RunSettings, State, load_text};
use gelenk::points::{PointModel, PointModelError, point_model};

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
    let error = point_model(&scene("spring-oscillator")).expect_err("a spring");
    assert!(matches!(&error, PointModelError::Element { what: "force", .. }), "{error}");
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
    assert!(error.to_string().starts_with("joint `pin` needs a point of body `rod`"), "{error}");
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
