//! Forces of joints where they are easily wrong: prescribed motions, axes without inertia; stops that several joints press at once.

use std::ops::ControlFlow;

use gelenk::model::math::Vec3;
use gelenk::model::{LoadOptions, Loaded, Observer, Sample, load_text};
use gelenk::simulate_loaded;

fn parse(text: &str) -> Loaded {
    load_text("test", text, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Force and torque of the last joint at the end, and the largest coordinate of each joint on the way.
#[derive(Default)]
struct Seen {
    force: Vec3,
    torque: Vec3,
    largest: Vec<f64>,
}

impl Observer for Seen {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        if let Some(reaction) = sample.reactions.last() {
            (self.force, self.torque) = (reaction.force, reaction.torque);
        }
        self.largest.resize(sample.state.coordinate.len(), f64::MIN);
        for (most, now) in self.largest.iter_mut().zip(&sample.state.coordinate) {
            *most = most.max(*now);
        }
        ControlFlow::Continue(())
    }
}

fn run(text: &str, engine: &str, change: impl FnOnce(&mut Loaded)) -> (Seen, f64, u64) {
    let mut loaded = parse(text);
    engine.clone_into(&mut loaded.model.run.engine);
    change(&mut loaded);
    let mut seen = Seen::default();
    let settings = loaded.model.run.clone();
    let report = simulate_loaded(&loaded, &settings, &mut seen)
        .unwrap_or_else(|error| panic!("{engine}: {error}"));
    (seen, report.state.t, report.steps)
}

/// Four bars in a row with stops that are hit together; they never go beyond 0.5 rad.
#[test]
fn no_stop_is_passed() {
    let mut text = String::from("[model]\n");
    for i in 0..4 {
        let before = if i == 0 { "world".to_owned() } else { format!("b{}", i - 1) };
        text += &format!(
            r#"
[[body]]
name = "b{i}"
mass = 1
ends = [[{i}, 0, 0], [{}, 0, 0]]
shape = {{ cylinder = {{ radius = 0.03 }} }}
[[joint]]
name = "j{i}"
type = "hinge"
between = ["{before}", "b{i}"]
point = [{i}, 0, 0]
axis = [0, 1, 0]
limits = {{ min = -0.3, max = 0.5, restitution = 0.4 }}
"#,
            i + 1
        );
    }
    for engine in ["dae", "impulse"] {
        let (seen, t, _) = run(&text, engine, |loaded| {
            loaded.model.run.duration = 2.0;
            loaded.model.run.step = 1e-3;
        });
        assert!((t - 2.0).abs() < 1e-12);
        for most in seen.largest {
            assert!(most < 0.5 + 1e-8, "{engine}: {most}");
        }
    }
}

/// A stop that rests against its end while another is hit gives its part of the impulse back too (Poisson): both engines end alike.
#[test]
fn pressed_stops_give_back_their_part() {
    let text = r#"
[model]
[[body]]
name = "b0"
mass = 1
ends = [[0, 0, 0], [1, 0, 0]]
shape = { cylinder = { radius = 0.03 } }
[[body]]
name = "b1"
mass = 1
ends = [[1, 0, 0], [2, 0, 0]]
shape = { cylinder = { radius = 0.03 } }
[[joint]]
name = "j0"
type = "hinge"
between = ["world", "b0"]
point = [0, 0, 0]
axis = [0, 1, 0]
friction = 3
limits = { min = -0.1, max = 0.5, restitution = 0.2 }
[[joint]]
name = "j1"
type = "hinge"
between = ["b0", "b1"]
point = [1, 0, 0]
axis = [0, 1, 0]
friction = 3
limits = { min = -0.1, max = 0.5, restitution = 0.2 }
[run]
duration = 2
step = 1e-3
"#;
    let ends = ["impulse", "dae"].map(|engine| {
        let mut loaded = parse(text);
        loaded.model.run.engine = engine.to_owned();
        let settings = loaded.model.run.clone();
        simulate_loaded(&loaded, &settings, &mut Seen::default()).unwrap().state.coordinate
    });
    for (a, b) in ends[0].iter().zip(&ends[1]) {
        assert!((a - b).abs() < 1e-4, "{ends:?}");
    }
}

/// A bar turned at constant speed: what its motor gives is the moment of its weight.
#[test]
fn a_prescribed_motion_shows_its_torque() {
    let text = r#"
[model]
[[body]]
name = "bar"
mass = 2
ends = [[0, 0, 0], [1, 0, 0]]
shape = { cylinder = { radius = 0.02 } }
angular_velocity = [0, 3, 0]
velocity = [0, 0, -1.5]
[[joint]]
name = "motor"
type = "hinge"
between = ["world", "bar"]
point = [0, 0, 0]
axis = [0, 1, 0]
motion = { angle = "3*t" }
[run]
duration = 0.5
step = 1e-4
"#;
    let moment = -2.0 * 9.81 * 0.5 * 1.5_f64.cos();
    for (engine, near) in [("impulse", 5e-3), ("dae", 1e-8)] {
        let (seen, ..) = run(text, engine, |_| {});
        assert!((seen.torque.y - moment).abs() < near, "{engine}: {} {moment}", seen.torque.y);
    }
}

/// A thin rod has no inertia about its axis, and no joint a moment about it.
#[test]
fn thin_rods_have_no_moment_about_their_axis() {
    let welded = r#"
[model]
[[body]]
name = "b"
mass = 1
ends = [[0, 0, 0], [0.6, 0.3, -0.8]]
shape = { rod = {} }
[[joint]]
name = "j"
type = "fixed"
between = ["world", "b"]
point = [0, 0, 0]
[run]
duration = 0.1
"#;
    let hinged = r#"
[model]
[[body]]
name = "b"
mass = 1
ends = [[0, 0, 0], [0, 0, -1]]
shape = { rod = {} }
angular_velocity = [0, 0.001, 0]
velocity = [-0.0005, 0, 0]
[[joint]]
name = "j"
type = "hinge"
between = ["world", "b"]
point = [0, 0, 0]
axis = [0, 1, 0]
break_torque = 1
[run]
duration = 0.1
"#;
    for engine in ["impulse", "dae"] {
        let (seen, ..) = run(welded, engine, |_| {});
        let true_torque = Vec3::new(0.15 * 9.81, -0.3 * 9.81, 0.0);
        assert!((seen.torque - true_torque).norm() < 1e-6, "{engine}: {}", seen.torque);
        let (seen, ..) = run(hinged, engine, |_| {});
        assert!(seen.torque.norm() < 1e-6, "{engine}: {}", seen.torque);
        assert!(seen.force.norm() > 9.0, "{engine}: it has broken, {}", seen.force);
    }
}

/// A step longer than the run is as long as the run.
#[test]
fn a_step_may_be_longer_than_the_run() {
    let text = r#"
[model]
[[body]]
name = "ball"
mass = 1
shape = { sphere = { radius = 0.1 } }
[run]
duration = 2
"#;
    let (_, t, steps) = run(text, "impulse", |loaded| loaded.model.run.step = 1e10);
    assert_eq!((t, steps), (2.0, 1));
}
