//! The dae engine at tolerances from 1e-6 to 1e-12 on every model of the gallery: the error falls with the tolerance, or the verdict says why not;
//! and it does not depend on when the motion is looked at.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use std::ops::ControlFlow;

use gelenk::accuracy::{Snapshot, apart};
use gelenk::model::{LoadOptions, Loaded, Observer, RunSettings, Sample, load_text};
use gelenk::scenes::SCENES;
use gelenk::simulate_judged;
use gelenk::verdict::{Level, VerdictLimits};
use rayon::prelude::*;

/// Errors below this are rounding, m: of a millimetre's loop in a ladder of four-bars, and of what the motion makes of it.
const ROUNDING: f64 = 1e-10;
/// With a hundredth of the tolerance the error falls to this part at least. (With errors proportional to the tolerance it would be 0.01; steps are whole,
/// and events are found to 1e-12 at any tolerance.)
const FALLS: f64 = 0.5;
/// Errors are at most this multiple of the tolerance, over a second.
const MOST: f64 = 1e5;

fn load(name: &str) -> Loaded {
    let text = gelenk::scenes::scene(name).unwrap().text;
    let overrides = match name {
        "chain-100" => vec![("n".to_owned(), "5".to_owned())],
        _ => Vec::new(),
    };
    load_text(name, text, &LoadOptions { overrides, ..LoadOptions::default() }).unwrap()
}

#[derive(Default)]
struct Camera(Vec<Snapshot>);

impl Observer for Camera {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn at(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        self.0.push(Snapshot::of(sample.state));
        ControlFlow::Continue(())
    }
}

/// What was seen at four times, or why the result is none.
fn seen(loaded: &Loaded, rtol: f64, step: f64) -> Result<(Vec<Snapshot>, Level), String> {
    let duration = if loaded.model.n_bodies() > 30 { 0.25 } else { 1.0 };
    let settings = RunSettings {
        engine: "dae".to_owned(),
        contact: "none".to_owned(),
        duration,
        step,
        rtol: Some(rtol),
        accuracy: None,
        at: (1..=4).map(|k| duration * f64::from(k) / 4.0).collect(),
        ..loaded.model.run.clone()
    };
    let mut camera = Camera::default();
    let limits = VerdictLimits::default();
    let judged = simulate_judged(loaded.into(), &settings, limits, &mut camera)
        .map_err(|error| error.to_string())?;
    match judged.verdict.failure() {
        Some(failure) => Err(failure.cause.clone()),
        None => Ok((camera.0, judged.verdict.level)),
    }
}

/// A line of what was found; an error where it is not as it should be.
fn judge(name: &str) -> Result<String, String> {
    let loaded = load(name);
    let model = &loaded.model;
    let truth = match seen(&loaded, 1e-13, 0.01) {
        Ok((truth, _)) => truth,
        Err(reason) => return Ok(format!("{name}: refused: {reason}")),
    };
    let mut line = format!("{name}:");
    let mut before: Option<f64> = None;
    for rtol in [1e-6, 1e-8, 1e-10, 1e-12] {
        match seen(&loaded, rtol, 0.01) {
            Err(reason) => line += &format!(" {rtol:.0e} says: {reason};"),
            Ok((states, level)) => {
                let off = apart(model, &states, &truth);
                line += &format!(" {rtol:.0e} {off:.1e};");
                // What is far below the tolerance as it is need not fall.
                let least = ROUNDING.max(0.1 * rtol);
                let falls = before.is_none_or(|before| off <= (FALLS * before).max(least));
                if level == Level::Good && !(falls && off <= (MOST * rtol).max(ROUNDING)) {
                    return Err(format!("{line} <-- does not fall"));
                }
                before = Some(off);
            }
        }
    }
    // Looked at three times as often: the same steps, bit by bit.
    if let (Ok((often, _)), Ok((seldom, _))) =
        (seen(&loaded, 1e-9, 0.003), seen(&loaded, 1e-9, 0.4))
        && often != seldom
    {
        return Err(format!(
            "{line} depends on the step of samples by {:.1e}",
            apart(model, &often, &seldom)
        ));
    }
    Ok(line)
}

#[test]
fn errors_fall_with_the_tolerance() {
    let names: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
    let lines: Vec<_> = names.par_iter().map(|name| judge(name)).collect();
    let wrong: Vec<&String> = lines.iter().filter_map(|line| line.as_ref().err()).collect();
    let good = lines.iter().flatten().filter(|line| !line.contains("refused")).count();
    let all: Vec<&String> = lines.iter().map(|line| line.as_ref().unwrap_or_else(|x| x)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\nof {all:#?}");
    assert!(good > 30, "{good}: {all:#?}");
}
