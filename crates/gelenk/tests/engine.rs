//! The facade with a real engine: recorded, stopped, verified.

mod support;

use std::ops::ControlFlow;

use gelenk::model::{Observer, RunSettings, Sample};
use gelenk::recording::{Recorder, verify_bytes};
use gelenk::{Both, Recording, SimulateError, simulate};
use support::{double_pendulum, header};

/// Stops in one of the calls at a time.
struct Stop {
    at: f64,
    in_sample: bool,
}

impl Stop {
    fn flow(&self, t: f64, in_sample: bool) -> ControlFlow<()> {
        if t >= self.at && in_sample == self.in_sample {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Observer for Stop {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.flow(sample.state.t, true)
    }
    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.flow(t, false)
    }
}

/// Wherever and however a run is stopped, its re-run gives the same bytes.
#[test]
fn runs_of_the_impulse_engine_are_verified() {
    let model = double_pendulum();
    for sample in [None, Some(0.1)] {
        let settings = RunSettings {
            duration: 1.0,
            step: 0.01,
            sample,
            at: vec![0.105, 0.5],
            ..RunSettings::default()
        };
        for (at, in_sample) in [(9.0, false), (0.0, true), (0.45, false), (0.45, true)] {
            let mut bytes = Vec::new();
            let mut recorder = Recorder::new(&mut bytes, header(&model, &settings)).unwrap();
            let mut stop = Stop { at, in_sample };
            let report = simulate(&model, &settings, &mut Both(&mut recorder, &mut stop)).unwrap();
            assert_eq!(report.stopped, at < 1.0);
            let certificate = recorder.finish(Ok(&report)).unwrap();
            assert!(certificate.worst_gap.unwrap().value <= settings.tolerance);
            let again =
                verify_bytes(&bytes, &|_| Ok(double_pendulum()), &|model, settings, observer| {
                    match simulate(model, settings, observer) {
                        Ok(report) => Ok(Ok(report).into()),
                        Err(SimulateError::Failed(failure)) => Ok(Err(failure).into()),
                        Err(other) => Err(other.to_string()),
                    }
                });
            let again = again.unwrap();
            assert!(again.ok, "sample {sample:?}, stop at {at} ({in_sample}): {again}");
            let last = Recording::from_bytes(bytes).unwrap().samples().last().unwrap().unwrap();
            if in_sample || sample.is_none() {
                assert_eq!(last.state, report.state);
            }
        }
    }
}

#[test]
fn an_unknown_engine_is_told_with_those_there_are() {
    let settings = RunSettings { engine: "steam".to_owned(), ..RunSettings::default() };
    let model = double_pendulum();
    let mut stop = Stop { at: 0.0, in_sample: true };
    let error = simulate(&model, &settings, &mut stop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no engine `steam`; there is `impulse`, `dae`, `lagrange`"
    );
}
