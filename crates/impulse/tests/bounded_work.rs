//! A step takes a bounded time: what turns or takes too long is refused by name, and a wish to stop is heard inside a step.

mod common;

use std::ops::ControlFlow;

use common::{pendulum, settings, toml};
use gelenk_impulse::{Simulation, run};
use gelenk_model::{Model, Observer, RunSettings, Sample, Stop};

/// A box without weight that turns with `speed` rad/s about no axis of its own.
fn spinning(size: &str, speed: f64) -> Model {
    toml(&format!(
        r#"
[model]
name = "spinning"
gravity = [0, 0, 0]

[[body]]
name = "brick"
density = 1000
shape = {{ box = {{ size = {size} }} }}
angular_velocity = [{}, {}, {}]
"#,
        0.6 * speed,
        0.64 * speed,
        0.48 * speed
    ))
}

/// 1e9 rad/s in steps of a millisecond are a million radians a step: the run says so at once, and which step would do.
#[test]
fn a_body_that_turns_too_far_in_a_step_is_refused() {
    let model = spinning("[0.1, 0.2, 0.3]", 1e9);
    let mut simulation = Simulation::new(&model, &settings(1e-3, 1e-9)).unwrap();
    let failure = simulation.step().unwrap_err();
    assert_eq!(failure.element.as_deref(), Some("brick"));
    for words in ["`brick` turns by 1.6e5 revolutions", "take a step of 5.0e-7 s or less"] {
        assert!(failure.reason.contains(words), "{}", failure.reason);
    }
    assert!(simulation.state().t.abs() < f64::MIN_POSITIVE, "the state is the one before");
    // What it says helps; energy and momentum are kept.
    let mut simulation = Simulation::new(&model, &settings(5e-7, 1e-9)).unwrap();
    for _ in 0..10 {
        simulation.step().unwrap();
    }
    let ledger = simulation.ledger();
    assert!((ledger.kinetic / ledger.initial - 1.0).abs() < 1e-10, "{ledger:?}");
}

/// Two equal moments have a turn in closed form, at any speed.
#[test]
fn a_symmetric_body_may_turn_as_fast_as_it_likes() {
    let model = spinning("[0.1, 0.1, 0.3]", 1e9);
    let mut simulation = Simulation::new(&model, &settings(1e-3, 1e-9)).unwrap();
    for _ in 0..10 {
        simulation.step().unwrap();
    }
    let ledger = simulation.ledger();
    assert!((ledger.kinetic / ledger.initial - 1.0).abs() < 1e-6, "{ledger:?}");
}

/// A step of four thousand swings would be halved into parts without end.
#[test]
fn a_step_that_takes_too_many_tries_is_given_up() {
    let model = pendulum();
    let mut simulation = Simulation::new(&model, &settings(8000.0, 1e-9)).unwrap();
    let failure = simulation.step().unwrap_err();
    assert!(failure.reason.contains("more than 20000 tries"), "{}", failure.reason);
    assert!(failure.reason.contains("try a step of"), "{}", failure.reason);
}

/// Asks to stop at the first sample, but lets the run go on where it is asked itself.
struct Hurried(Stop);

impl Observer for Hurried {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.ask();
        ControlFlow::Continue(())
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        panic!("the step to {t} s was to be given up");
    }

    fn stop(&self) -> Option<Stop> {
        Some(self.0.clone())
    }
}

/// The step is given up where it is; the run has stopped at the end of the one before, and nothing of the step is told.
#[test]
fn a_wish_to_stop_is_heard_inside_a_step() {
    let model = pendulum();
    let settings = RunSettings { duration: 1.0, ..settings(0.01, 1e-9) };
    let report = run(&model, &settings, &mut Hurried(Stop::default())).unwrap();
    assert!(report.stopped);
    assert_eq!((report.steps, report.events.len()), (0, 0));
    assert_eq!(report.state, model.start);
}
