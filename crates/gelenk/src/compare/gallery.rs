//! The engines against each other on every model of the gallery: how far they are apart, and which models are left out for what reason.
//!
//! Engines that refuse a model, fail on it or whose verdict fails are left out with their words. A model is left out where fewer than two engines remain, or where
//! the motion is chaotic: an engine that is started twice with tolerances at its limit ends apart by more than it is compared to.

use std::ops::ControlFlow;

use gelenk_model::{LoadOptions, Loaded, Model, load_text};
use gelenk_scenes::{SCENES, Scene};
use rayon::prelude::*;

use super::{CompareError, CompareOptions, Comparison, compare};
use crate::engine::{ENGINE_KINDS, ENGINES, Steps};
use crate::simulate::SimulateError;

/// Agreement without contact, m.
pub const SMOOTH: f64 = 1e-9;
/// Agreement of models that touch, stop, stick or catch, m.
pub const BOUNDED: f64 = 1e-8;
/// The longest time compared, s.
pub const DURATION: f64 = 1.0;
/// How many times are compared.
const TIMES: u32 = 4;
/// Orders of the impulse engine, tried in turn until engines agree: beside stiff dampers the negative steps of order 8 are given up.
const ORDERS: [u32; 2] = [8, 4];
/// A motion that ends apart from itself by more than this part of the bar is not compared.
const CHAOTIC: f64 = 0.5;
/// An engine whose positions still change by more than this part of the bar with half the step has not come to it; it may be apart by so many times that change.
const OPEN: f64 = 0.1;
const TIMES_CHANGE: f64 = 10.0;
/// Models compared with another value of a parameter: its name, the value, and why.
const CHANGED: [(&str, &str, &str, &str); 2] = [
    ("chain-100", "n", "10", "ten links: the lagrange engine takes 64 coordinates at most"),
    (
        "four-bar-ladder",
        "v",
        "0.1",
        "tipped over slowly: its bars lie on one line after that second",
    ),
];

/// A model of the gallery, compared.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub model: &'static str,
    /// A parameter with another value than in the file, and why: `n = 10 (…)`.
    pub changed: Option<String>,
    /// The bar, m: [`SMOOTH`] or [`BOUNDED`].
    pub within: f64,
    /// Simulated time, s.
    pub duration: f64,
    /// The engines compared.
    pub engines: Vec<String>,
    /// The order of the impulse engine.
    pub order: u32,
    /// Engines left out, each with the reason.
    pub without: Vec<(String, String)>,
    /// How far centres of mass are apart, m; none where fewer than two engines run.
    pub apart: Option<f64>,
    /// What came out.
    pub outcome: Outcome,
}

/// What a comparison came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All engines that run it agree to the bar.
    Agrees,
    /// The model is left out, for this reason.
    LeftOut(String),
    /// They do not agree: when, and at which body.
    Apart(String),
}

/// Compares the engines on every model of the gallery, in parallel.
pub fn gallery(watch: &(dyn Fn() -> ControlFlow<()> + Sync)) -> Result<Vec<Line>, CompareError> {
    SCENES.par_iter().with_max_len(1).map(|scene| line(scene, watch)).collect()
}

/// Compares the engines on a model of the gallery.
pub fn line(
    scene: &'static Scene,
    watch: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<Line, CompareError> {
    let changed = CHANGED.iter().find(|(name, ..)| *name == scene.name);
    let overrides = changed.map(|(_, name, value, _)| ((*name).to_owned(), (*value).to_owned()));
    let options =
        LoadOptions { overrides: overrides.into_iter().collect(), ..LoadOptions::default() };
    let loaded = load_text(scene.name, scene.text, &options).map_err(|error| {
        let reason = error.to_string();
        CompareError::Engine(SimulateError::Unsupported { engine: "gallery", reason })
    })?;
    let within = if is_bounded(&loaded.model) { BOUNDED } else { SMOOTH };
    let duration = loaded.model.run.duration.min(DURATION);
    let mut line = Line {
        model: scene.name,
        changed: changed.map(|(_, name, value, why)| format!("{name} = {value} ({why})")),
        within,
        duration,
        engines: ENGINES.map(str::to_owned).to_vec(),
        order: ORDERS[0],
        without: Vec::new(),
        apart: None,
        outcome: Outcome::Agrees,
    };
    let mut change = None;
    for order in ORDERS {
        line.order = order;
        if !compared_once(&loaded, &mut line, &mut change, watch)? {
            return Ok(line);
        }
    }
    // An engine that has not come to the bar by itself is left out; the others are compared.
    let apart = line.apart.unwrap_or(f64::NAN);
    if let Some((name, change)) = change
        && change > OPEN * within
        && apart <= TIMES_CHANGE * change
    {
        line.engines.retain(|engine| *engine != name);
        let reason = format!(
            "its positions still change by {change:.1e} m with half the step, the shortest that is tried, and are {apart:.1e} m off"
        );
        line.without.push((name, reason));
        if !compared_once(&loaded, &mut line, &mut None, watch)? {
            return Ok(line);
        }
    }
    for kind in ENGINE_KINDS.into_iter().filter(|kind| kind.steps() == Steps::Own) {
        if !line.engines.iter().any(|engine| engine == kind.name()) {
            continue;
        }
        let options = CompareOptions {
            engines: vec![kind.name().to_owned()],
            within,
            orders: false,
            ..CompareOptions::new(duration, TIMES)
        };
        let off = super::from_itself(&loaded, kind, &options, &mut || watch())?;
        if let Some(off) = off
            && !(off <= CHAOTIC * within)
        {
            line.outcome = Outcome::LeftOut(format!(
                "chaotic or singular: the {} engine is {off:.1e} m apart from itself with local errors of 1e-12 and 1e-13",
                kind.name()
            ));
            break;
        }
    }
    Ok(line)
}

/// Compares the engines of a line; whether it is still open what came out. `change`: the engine that takes a step, and how far it was with twice that.
fn compared_once(
    loaded: &Loaded,
    line: &mut Line,
    change: &mut Option<(String, f64)>,
    watch: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<bool, CompareError> {
    let Some(comparison) = compared(loaded, line, watch)? else {
        let reasons: Vec<String> =
            line.without.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        line.outcome = Outcome::LeftOut(reasons.join("; "));
        return Ok(false);
    };
    let mut halved = comparison.runs.iter();
    *change = halved.find_map(|run| run.change.map(|change| (run.engine.clone(), change)));
    line.apart = Some(comparison.worst.position);
    if comparison.agree {
        line.outcome = Outcome::Agrees;
        return Ok(false);
    }
    let worst = &comparison.worst;
    line.outcome = Outcome::Apart(format!("at t = {} s, `{}`", worst.time, worst.body));
    Ok(true)
}

/// Whether something touches, stops, sticks, catches or breaks.
fn is_bounded(model: &Model) -> bool {
    model.rows.iter().any(gelenk_model::RowBlock::is_bound)
        || model.bodies.iter().any(|body| body.contact.collide)
        || model.joints.iter().any(|joint| {
            let properties = &joint.properties;
            !properties.limits.is_empty() || properties.friction.iter().any(|f| *f != 0.0)
        })
}

/// The comparison of those engines of a line that run the model to a verdict that is not failed; `None` where there are fewer than two.
fn compared(
    loaded: &Loaded,
    line: &mut Line,
    watch: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<Option<Comparison>, CompareError> {
    loop {
        let options = CompareOptions {
            engines: line.engines.clone(),
            within: line.within,
            orders: false,
            order: line.order,
            ..CompareOptions::new(line.duration, TIMES)
        };
        let (name, reason) = match compare(loaded, &options, &mut || watch()) {
            Err(CompareError::Failed { engine, failure }) => (engine, failure.reason.clone()),
            Err(error) => return Err(error),
            Ok(comparison) => {
                for (name, reason) in &comparison.unable {
                    line.engines.retain(|engine| engine != name);
                    line.without.push((name.clone(), reason.clone()));
                }
                if comparison.runs.len() < 2 {
                    return Ok(None);
                }
                let failed = comparison.runs.iter().find_map(|run| {
                    run.verdict.failure().map(|failure| (run.engine.clone(), failure.cause.clone()))
                });
                match failed {
                    Some(failed) => failed,
                    None => return Ok(Some(comparison)),
                }
            }
        };
        line.engines.retain(|engine| *engine != name);
        line.without.push((name, reason));
    }
}
