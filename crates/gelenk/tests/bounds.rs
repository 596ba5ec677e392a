//! Stops, friction and breaking joints in recordings: events are there, samples read back, a re-run gives the same bytes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use gelenk::model::{
    LoadOptions, Model, Observer, RunFailure, RunReport, RunSettings, Sample, load_text,
};
use gelenk::recording::{Header, RecordedSample, Recorder, Recording, verify_bytes};

const TEXT: &str = r#"
[model]
name = "gate"

[run]
duration = 2
step = 0.01

[[body]]
name = "arm"
mass = 1
shape = { cylinder = { radius = 0.02 } }
ends = [[0, 0, 0], [1, 0, 0]]

[[body]]
name = "weight"
mass = 0.5
shape = { sphere = { radius = 0.1 } }
position = [1, 0, -0.5]

[[joint]]
name = "hinge"
type = "hinge"
between = ["world", "arm"]
point = [0, 0, 0]
axis = [0, 1, 0]
limits = { max_deg = 70, restitution = 0.4 }
friction = 0.3

[[joint]]
name = "hook"
type = "ball"
between = ["arm", "weight"]
point = [1, 0, 0]
break_force = 18
"#;

fn model() -> Model {
    load_text("gate.toml", TEXT, &LoadOptions::default()).unwrap().model
}

fn run(
    model: &Model,
    settings: &RunSettings,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunFailure> {
    gelenk_impulse::run(model, settings, observer)
}

#[derive(Default)]
struct Keep(Vec<RecordedSample>);

impl Observer for Keep {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.push(RecordedSample::new(sample));
        ControlFlow::Continue(())
    }
}

#[test]
fn a_run_with_impacts_and_a_break_is_recorded_and_verified() {
    let model = model();
    let settings = model.run.clone();
    let header = Header::new(&model, &settings, Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    let mut recorder = Recorder::new(&mut bytes, header).unwrap();
    let outcome = run(&model, &settings, &mut recorder);
    recorder.finish(outcome.as_ref()).unwrap();
    let report = outcome.unwrap();
    let mut keep = Keep::default();
    run(&model, &settings, &mut keep).unwrap();

    let mut recording = Recording::from_bytes(bytes.clone()).unwrap();
    assert_eq!(recording.events(), report.events);
    for kind in ["impact", "broken"] {
        assert!(
            report.events.iter().any(|event| event.kind == kind),
            "{kind}: {:?}",
            report.events
        );
    }
    let samples: Vec<_> = recording.samples().map(Result::unwrap).collect();
    assert_eq!(samples, keep.0);
    let last = samples.last().unwrap();
    assert_eq!(last.state.active, [true, false]);
    assert_eq!(last.state.held.len(), 1);
    assert!(samples[0].state.active.iter().all(|active| *active));
    assert!(last.ledger.impact_loss > 0.0 && last.ledger.dissipation > 0.0);

    let again = verify_bytes(&bytes, &|_| Ok(self::model()), &|model, settings, observer| {
        Ok(run(model, settings, observer).into())
    });
    let again = again.unwrap();
    assert!(again.ok, "{again}");
}

#[test]
fn a_broken_joint_is_another_state_to_the_hash() {
    let start = model().start;
    let mut broken = start.clone();
    broken.active[1] = false;
    let mut held = start.clone();
    held.held[0] += 1e-12;
    let hash = gelenk::hash::state_hash;
    assert_ne!(hash(&start), hash(&broken));
    assert_ne!(hash(&start), hash(&held));
}
