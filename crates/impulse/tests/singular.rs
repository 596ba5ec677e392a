//! Singular positions: passed without losing energy, told, and refused where no smooth motion goes on.

mod common;

use common::{scene_with, toml};
use gelenk_impulse::Simulation;
use gelenk_model::{Event, Model, RunSettings};

struct Run {
    /// Energy error after every step, J.
    errors: Vec<f64>,
    events: Vec<Event>,
    /// Largest gap over its tolerance.
    gap: f64,
    /// Why it ended early.
    failure: Option<String>,
    t: f64,
}

impl Run {
    fn new(model: &Model, settings: &RunSettings, steps: u64) -> Self {
        let mut simulation = Simulation::new(model, settings).expect("starts");
        let (mut errors, mut events, mut failure) = (Vec::new(), Vec::new(), None);
        for _ in 0..steps {
            if let Err(error) = simulation.step() {
                failure = Some(error.reason);
                break;
            }
            errors.push(simulation.ledger().integrator_error());
            events.extend(simulation.take_events());
        }
        let gaps = simulation.worst_gaps().iter().zip(&model.rows);
        let part = |(gap, block): (&f64, &gelenk_model::RowBlock)| {
            gap / block.tolerance.unwrap_or(settings.tolerance)
        };
        let gap = gaps.map(part).fold(0.0, f64::max);
        Run { errors, events, gap, failure, t: simulation.state().t }
    }

    fn passages(&self) -> Vec<&Event> {
        self.events.iter().filter(|e| e.kind == "singularity").collect()
    }
}

fn largest(errors: &[f64]) -> f64 {
    errors.iter().fold(0.0, |most, e| most.max(e.abs()))
}

fn order(model: &Model, order: u32) -> RunSettings {
    RunSettings { engine: "impulse".to_owned(), order, ..model.run.clone() }
}

/// What is lost in a passage would add up: the second half of a long run is as good as the first. Before, the eight lost 8 J here and the crank 15 J.
#[test]
fn passages_take_no_energy() {
    for (name, parameters, steps, least, bound) in [
        ("lying-eight", &[][..], 20_000, 40, 4e-3),
        ("degenerate-crank", &[], 20_000, 60, 6e-3),
        ("coordinate-cross", &[], 2000, 1, 1e-13),
        ("four-bar-ladder", &[("n", "1")], 3000, 4, 2e-3),
    ] {
        let model = scene_with(name, parameters);
        let run = Run::new(&model, &order(&model, 2), steps);
        assert!(run.failure.is_none() && run.gap <= 1.0, "{name}: {:?} {}", run.failure, run.gap);
        let passages = run.passages().len();
        assert!(passages >= least, "{name}: {passages} passages");
        assert_eq!(run.events.len(), passages, "{name}: steps were halved");
        let (one, two) = run.errors.split_at(run.errors.len() / 2);
        let (one, two) = (largest(one), largest(two));
        assert!(one < bound && two <= 1.1 * one + 1e-13, "{name}: {one:e} J, then {two:e} J");
    }
}

/// One swing through the flat position and back, ranks of five loops at once.
#[test]
fn several_ranks_at_once() {
    let model = scene_with("four-bar-ladder", &[("n", "2")]);
    let run = Run::new(&model, &order(&model, 2), 800);
    assert_eq!(run.passages().len(), 2);
    assert!(run.passages()[0].detail.contains("lose 2 ranks"), "{}", run.passages()[0].detail);
    assert!(largest(&run.errors) < 2e-3, "{:e} J", largest(&run.errors));
}

/// Steps of higher order, whose stages go back and forth about the position, are as good as elsewhere.
#[test]
fn higher_orders_keep_theirs() {
    for name in ["lying-eight", "degenerate-crank"] {
        let model = scene_with(name, &[]);
        // Gaps within tolerance are energy too: g d, with the way d = tolerance/2x to the curve.
        let settings = RunSettings { tolerance: 1e-13, ..order(&model, 8) };
        let run = Run::new(&model, &settings, 1000);
        assert!(run.passages().len() >= 2, "{name}");
        assert!(largest(&run.errors) < 1e-10, "{name}: {:e} J", largest(&run.errors));
    }
}

/// Where and when: straight lines, and the times that the dae engine finds (0.49168297 s; one over the angle to 1e-13).
#[test]
fn time_and_place_are_told() {
    let model = scene_with("coordinate-cross", &[]);
    let run = Run::new(&model, &order(&model, 2), 600);
    let [event] = run.passages()[..] else { panic!("{:?}", run.events) };
    assert!((event.time - 1.0).abs() < 1e-12, "{}", event.time);
    assert_eq!(event.between, ["cross"]);
    assert!(event.point.is_some_and(|p| p.norm() < 1e-12));
    assert!(event.detail.contains("P.x = 0, P.y = 0, P.z = 0"), "{}", event.detail);
    let model = scene_with("lying-eight", &[]);
    let run = Run::new(&model, &order(&model, 6), 1000);
    let times: Vec<f64> = run.passages().iter().map(|e| e.time).collect();
    assert_eq!(times.len(), 2);
    assert!((times[0] - 0.491_682_97).abs() < 1e-7, "{times:?}");
}

/// Every mechanism of the gallery that does not touch anything, over a second: those that pass singular positions say so, at the times of the dae engine, and the
/// others say nothing.
#[test]
fn only_singular_positions_are_told() {
    for scene in gelenk_scenes::SCENES {
        let parameters: &[_] = match scene.name {
            "chain-100" => &[("n", "10")],
            "four-bar-ladder" => &[("n", "1")],
            _ => &[],
        };
        let model = scene_with(scene.name, parameters);
        if model.bodies.iter().any(|body| body.contact.collide) || scene.name == "cusp" {
            continue;
        }
        let settings = order(&model, 2);
        let duration: f64 = if model.n_bodies() > 60 { 0.1 } else { 1.2 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let run = Run::new(&model, &settings, (duration / settings.step) as u64);
        assert!(run.failure.is_none(), "{}: {:?}", scene.name, run.failure);
        let times: Vec<f64> = run.passages().iter().map(|e| e.time).collect();
        let expected = match scene.name {
            "coordinate-cross" | "lying-eight" | "degenerate-crank" | "four-bar-ladder" => {
                told_by_dae(&model, duration)
            }
            _ => Vec::new(),
        };
        assert_eq!(times.len(), expected.len(), "{}: {times:?}, {expected:?}", scene.name);
        for (time, expected) in times.iter().zip(&expected) {
            assert!((time - expected).abs() < 1e-3, "{}: {times:?}, {expected:?}", scene.name);
        }
    }
}

fn told_by_dae(model: &Model, duration: f64) -> Vec<f64> {
    let options = gelenk_dae::Options::default();
    let mut simulation =
        gelenk_dae::Simulation::new(model, &model.start, &options).expect("starts");
    simulation.run(duration).expect("runs");
    simulation.passages().iter().map(|p| p.time).collect()
}

/// z² = x³ ends in the origin: the run says so, just before.
#[test]
fn no_smooth_motion_at_a_cusp() {
    let model = scene_with("cusp", &[]);
    for order_of in [2, 6] {
        let run = Run::new(&model, &order(&model, order_of), 500);
        let reason = run.failure.clone().expect("refused");
        assert!(reason.contains("no smooth motion passes the singular position"), "{reason}");
        assert!(reason.contains("P.x = 0, P.y = 0, P.z = 0"), "{reason}");
        assert!(run.t > 0.595 && run.t < 0.6044, "{}", run.t);
        assert!(run.passages().is_empty());
    }
}

/// A parallelogram that passes its flat position with a pendulum at its coupler: rows beside those of the loop.
#[test]
fn bodies_that_hang_on_the_loop() {
    let mut text = "[model]\nname = \"hung\"\n".to_owned();
    for (name, ends, velocity, omega) in [
        ("a", "[[0, 0, 0], [0, 0, 1]]", "[0.5, 0, 0]", "[0, 1, 0]"),
        ("b", "[[1, 0, 0], [1, 0, 1]]", "[0.5, 0, 0]", "[0, 1, 0]"),
        ("c", "[[0, 0, 1], [1, 0, 1]]", "[1, 0, 0]", "[0, 0, 0]"),
        ("p", "[[0.5, 0, 1], [0.5, 0, 0.4]]", "[1, 0, 0]", "[0, 0, 0]"),
    ] {
        text += &format!(
            "[[body]]\nname = \"{name}\"\nmass = 1\nends = {ends}\nshape = {{ cylinder = {{ radius = 0.05 }} }}\n\
             velocity = {velocity}\nangular_velocity = {omega}\n"
        );
    }
    for (name, between, point) in [
        ("foot-a", "[\"world\", \"a\"]", "[0, 0, 0]"),
        ("foot-b", "[\"world\", \"b\"]", "[1, 0, 0]"),
        ("left", "[\"a\", \"c\"]", "[0, 0, 1]"),
        ("right", "[\"b\", \"c\"]", "[1, 0, 1]"),
        ("hook", "[\"c\", \"p\"]", "[0.5, 0, 1]"),
    ] {
        text += &format!(
            "[[joint]]\nname = \"{name}\"\ntype = \"hinge\"\nbetween = {between}\npoint = {point}\naxis = [0, 1, 0]\n"
        );
    }
    let model = toml(&text);
    let settings = RunSettings { step: 0.002, tolerance: 1e-9, ..order(&model, 4) };
    let run = Run::new(&model, &settings, 600);
    let times: Vec<f64> = run.passages().iter().map(|e| e.time).collect();
    let expected = told_by_dae(&model, 1.2);
    assert!(!expected.is_empty() && times.len() == expected.len(), "{times:?}, {expected:?}");
    for (time, expected) in times.iter().zip(&expected) {
        assert!((time - expected).abs() < 1e-6, "{times:?}, {expected:?}");
    }
    assert!(run.failure.is_none() && run.gap <= 1.0 && run.events.len() == times.len());
    assert!(largest(&run.errors) < 1e-6, "{:e} J", largest(&run.errors));
}
