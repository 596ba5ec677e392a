//! Accuracy as an input: true errors are below it, and the estimate tells them.

use std::fmt::Write;
use std::ops::ControlFlow;

use gelenk::accuracy::{AccuracyError, Snapshot, apart, choose};
use gelenk::model::{LoadOptions, Model, Observer, RunSettings, Sample, load_text};

fn scene(name: &str) -> Model {
    let text = gelenk::scenes::scene(name).expect("a scene").text;
    load_text(name, text, &LoadOptions::default()).expect("a good model").model
}

fn choose_for(model: &Model, accuracy: f64, duration: f64) -> Result<RunSettings, AccuracyError> {
    let settings = RunSettings { accuracy: Some(accuracy), duration, ..model.run.clone() };
    choose(model, &settings, &mut || ControlFlow::Continue(()))
}

/// Looks at every m-th step.
struct Look(u64, Vec<Snapshot>);

impl Observer for Look {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        if sample.step > 0 && sample.step.is_multiple_of(self.0) {
            self.1.push(Snapshot::of(sample.state));
        }
        ControlFlow::Continue(())
    }
}

fn look(model: &Model, settings: &RunSettings, every: u64) -> Vec<Snapshot> {
    let mut look = Look(every, Vec::new());
    let settings = RunSettings { sample: None, ..settings.clone() };
    gelenk::simulate(model, &settings, &mut look).expect("it runs");
    look.1
}

/// The error of a run at all its steps, against a much finer one.
fn true_error(model: &Model, settings: &RunSettings) -> f64 {
    // A step that order 8 resolves to rounding.
    let finer = (settings.step / 0.002).ceil().max(2.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    let every = finer as u64;
    let reference = RunSettings {
        step: settings.step / finer,
        order: 8,
        tolerance: 1e-13,
        velocity_tolerance: 1e-13,
        ..settings.clone()
    };
    let (run, exact) = (look(model, settings, 1), look(model, &reference, every));
    assert_eq!(run.len(), exact.len());
    apart(model, &run, &exact)
}

#[test]
fn the_error_is_below_the_accuracy_and_known() {
    let models = [
        ("pendulum", 2.0),
        ("double-pendulum", 0.5),
        ("slider-crank", 0.4),
        ("heavy-top", 0.2),
        ("spring-oscillator", 2.0),
    ];
    let mut report = String::new();
    let mut good = true;
    for (name, duration) in models {
        let model = scene(name);
        for accuracy in [1e-4, 1e-6, 1e-8, 1e-10] {
            let chosen = choose_for(&model, accuracy, duration).expect("possible");
            let estimate = chosen.estimated_error.expect("an estimate");
            let error = true_error(&model, &chosen);
            let within = error <= accuracy && estimate < 10.0 * error && error < 10.0 * estimate;
            good &= within;
            let _ = writeln!(
                report,
                "{name}, accuracy {accuracy:.0e}, order {}, step {:.4} s: estimate {estimate:.1e}, error {error:.1e}{}",
                chosen.order,
                chosen.step,
                if within { "" } else { "  <--" }
            );
        }
    }
    assert!(good, "{report}");
}

#[test]
fn a_run_with_accuracy_is_that_of_what_was_chosen() {
    let model = scene("pendulum");
    let settings = RunSettings { accuracy: Some(1e-6), duration: 1.0, ..model.run.clone() };
    let chosen = choose_for(&model, 1e-6, 1.0).expect("possible");
    assert_eq!(chosen, choose_for(&model, 1e-6, 1.0).expect("possible"), "the same every time");
    let run = |settings: &RunSettings| {
        gelenk::simulate(&model, settings, &mut ()).expect("it runs").state
    };
    assert_eq!(run(&settings), run(&chosen));
    // Chosen once, it is used as it is.
    let again = choose(&model, &chosen, &mut || ControlFlow::Continue(())).expect("as it is");
    assert_eq!(again, chosen);
}

#[test]
fn what_cannot_be_reached_is_told_with_what_was() {
    let model = scene("pendulum");
    let error = choose_for(&model, 1e-17, 1.0).expect_err("below rounding");
    assert!(matches!(error, AccuracyError::Rounding { floor, .. } if floor < 1e-12), "{error}");
    // Chaos over a long time: errors grow by many decades.
    let model = scene("double-pendulum");
    let error = choose_for(&model, 1e-9, 30.0).expect_err("chaotic");
    assert!(matches!(error, AccuracyError::Rounding { growth, .. } if growth > 1e6), "{error}");
}
