//! One run loop for all engines, and the verdict it ends with.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use gelenk::engine::{ENGINE_KINDS, Source, Step, Steps, find};
use gelenk::model::{Event, LoadOptions, Loaded, Observer, RunSettings, Sample, load_text};
use gelenk::recording::RecordedSample;
use gelenk::simulate_judged;
use gelenk::verdict::{Level, VerdictLimits};

fn scene(name: &str) -> Loaded {
    load_text(name, gelenk::scenes::scene(name).unwrap().text, &LoadOptions::default()).unwrap()
}

/// All that an observer is told, in order.
#[derive(Default)]
struct Log(Vec<Told>);

#[derive(Debug, PartialEq)]
enum Told {
    Sample(RecordedSample),
    At(RecordedSample),
    Event(Event),
    Step(f64),
}

impl Observer for Log {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.push(Told::Sample(RecordedSample::new(sample)));
        ControlFlow::Continue(())
    }
    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.push(Told::At(RecordedSample::new(sample)));
        ControlFlow::Continue(())
    }
    fn event(&mut self, event: &Event) {
        self.0.push(Told::Event(event.clone()));
    }
    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.0.push(Told::Step(t));
        ControlFlow::Continue(())
    }
}

/// The loop tells the same, bit by bit and in the same order, as the impulse engine's own.
#[test]
fn the_loop_is_that_of_the_impulse_engine() {
    for name in ["double-pendulum", "rope-bridge", "newtons-cradle", "four-bar"] {
        let loaded = scene(name);
        for (step, sample) in [(0.01, None), (0.007, Some(0.05))] {
            let settings = RunSettings {
                engine: "impulse".to_owned(),
                duration: 0.3,
                step,
                sample,
                at: vec![0.0, 0.001, 0.1, 0.2003, 0.3],
                accuracy: None,
                ..loaded.model.run.clone()
            };
            let (mut ours, mut theirs) = (Log::default(), Log::default());
            let limits = VerdictLimits::default();
            let judged = simulate_judged((&loaded).into(), &settings, limits, &mut ours).unwrap();
            let report = gelenk_impulse::run(&loaded.model, &settings, &mut theirs).unwrap();
            assert_eq!(ours.0, theirs.0, "{name}");
            let own = judged.result.unwrap();
            assert_eq!((own.state, own.ledger), (report.state, report.ledger), "{name}");
            assert_eq!((own.steps, own.events), (report.steps, report.events), "{name}");
        }
    }
}

/// Any engine goes on from a checkpoint of any other: a state is all there is to save.
#[test]
fn engines_go_on_from_checkpoints_of_each_other() {
    let loaded = scene("double-pendulum");
    let settings = RunSettings { step: 1e-3, order: 8, ..loaded.model.run.clone() };
    let mut ends = Vec::new();
    for first in ENGINE_KINDS {
        for second in ENGINE_KINDS {
            let mut state = loaded.model.start.clone();
            for (kind, t_end) in [(first, 0.1), (second, 0.2)] {
                let settings = kind.exact(settings.clone());
                let ready = kind.prepare(Source::from(&loaded), &settings).unwrap();
                let mut engine = ready.start(&settings, &state).unwrap();
                while engine.time() < t_end - 1e-9 {
                    let end = match kind.steps() {
                        Steps::Given => engine.time() + settings.step,
                        Steps::Own => t_end,
                    };
                    engine.advance(&Step { length: settings.step, end }).unwrap();
                    engine.look(engine.time()).unwrap();
                    engine.arrive();
                    engine.settle().unwrap();
                }
                engine.finish();
                state = engine.state().clone();
            }
            ends.push(state);
        }
    }
    for end in &ends {
        let apart = gelenk::compare::difference(&loaded.model, &ends[0], end).position;
        assert!(apart < 1e-8, "{apart:e} m");
    }
}

/// The verdict does not ask for samples: what happens between them counts.
#[test]
fn every_step_is_judged() {
    let loaded = scene("double-pendulum");
    let run = |step, duration| {
        let settings = RunSettings {
            engine: "impulse".to_owned(),
            duration,
            step,
            sample: Some(duration),
            ..loaded.model.run.clone()
        };
        simulate_judged((&loaded).into(), &settings, VerdictLimits::default(), &mut ()).unwrap()
    };
    assert!(run(1e-3, 1.0).verdict.is_good());
    let judged = run(0.1, 5.0);
    assert!(judged.result.is_ok());
    let finding = judged.verdict.failure().unwrap();
    assert_eq!(finding.quantity, "energy");
    assert!(finding.time.is_some_and(|t| t > 0.0 && t < 5.0) && finding.value > finding.limit);
    assert!(!finding.cause.is_empty() && finding.remedy.contains("--step"));
}

/// A run that cannot go on has failed, with what was reached.
#[test]
fn a_run_that_ends_early_has_failed() {
    let loaded = scene("cusp");
    for kind in ENGINE_KINDS {
        let settings = RunSettings {
            engine: kind.name().to_owned(),
            duration: 20.0,
            ..loaded.model.run.clone()
        };
        let judged =
            simulate_judged((&loaded).into(), &settings, VerdictLimits::default(), &mut ());
        let Ok(judged) = judged else { continue };
        let name = kind.name();
        assert_eq!(
            judged.result.is_err(),
            judged.verdict.findings.iter().any(|f| f.quantity == "run"),
            "{name}"
        );
        if judged.result.is_err() {
            assert_eq!(judged.verdict.level, Level::Failed, "{name}");
        }
        assert_eq!(find(judged.report().engine).map(gelenk::engine::EngineKind::name), Some(name));
    }
}
