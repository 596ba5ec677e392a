//! Ghosts: the model run from its start with an engine, to lie over another motion.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use gelenk::model::{Event, Model, Observer, RunSettings, Sample};
use gelenk::verdict::VerdictLimits;
use serde_json::{Value, json};

use crate::frame::encode;
use crate::hub::Hub;
use crate::live::Loader;

/// Frames a second of a ghost, unless its samples are further apart.
const RATE: f64 = 60.0;
/// Most frames of a ghost.
const MOST_FRAMES: f64 = 6000.0;

/// What it takes to make ghosts.
pub(crate) type Making = (Loader, Vec<(String, String)>, RunSettings);

/// Makes ghosts, if there is a model to make them of.
pub(crate) struct Ghosts {
    making: Option<Mutex<Making>>,
    hub: Arc<Hub>,
}

impl Ghosts {
    pub(crate) fn new(making: Option<Making>, hub: Arc<Hub>) -> Self {
        Ghosts { making: making.map(Mutex::new), hub }
    }

    /// Whether ghosts can be made.
    pub(crate) fn possible(&self) -> bool {
        self.making.is_some()
    }

    /// Takes note of a parameter's value.
    pub(crate) fn set(&self, name: &str, value: f64) {
        if let Some(making) = &self.making
            && let Ok(mut making) = making.lock()
        {
            making.1.retain(|(other, _)| other != name);
            making.1.push((name.to_owned(), format!("{value:?}")));
        }
    }

    /// Begins a run with an engine; its frames come as they are computed.
    pub(crate) fn run(&self, engine: &str) -> Result<(), String> {
        let Some(making) = &self.making else {
            return Err("there is no model to run".to_owned());
        };
        let (load, overrides, mut settings) = making.lock().map_err(|_| "busy".to_owned())?.clone();
        if !gelenk::ENGINES.contains(&engine) {
            return Err(format!("there is no engine `{engine}`"));
        }
        let loaded = load(&overrides)?;
        engine.clone_into(&mut settings.engine);
        settings.at.clear();
        let apart = (settings.duration / MOST_FRAMES).max(1.0 / RATE).max(settings.step);
        settings.sample = Some(settings.sample.unwrap_or(apart).max(apart));
        let scene = crate::scene::scene(&loaded.model);
        let facts = json!({ "settings": gelenk::report::settings_json(&settings) });
        let label = format!("{engine} engine");
        let id = self.hub.add_run(&label, &scene, facts).ok_or("there are ghosts enough")?;
        let hub = Arc::clone(&self.hub);
        std::thread::spawn(move || {
            let mut watch = Watch { model: &loaded.model, hub: &hub, id };
            let limits = VerdictLimits::default();
            let source = (&loaded).into();
            let judged = gelenk::simulate_judged(source, &settings, limits, &mut watch);
            let (failed, verdict) = match judged {
                Ok(judged) => {
                    (judged.result.err().map(|error| error.to_string()), Some(judged.verdict))
                }
                Err(error) => (Some(error.to_string()), None),
            };
            hub.change(id, |run| {
                run.growing = false;
                if let Some(verdict) = verdict {
                    run.set_fact("verdict", json!(verdict));
                }
                if let Some(reason) = failed {
                    run.set_fact("failed", Value::from(reason));
                }
            });
        });
        Ok(())
    }
}

struct Watch<'a> {
    model: &'a Model,
    hub: &'a Hub,
    id: u32,
}

impl Observer for Watch<'_> {
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()> {
        // A ghost that was taken away need not be finished.
        let there = self.hub.push(self.id, |index| encode(self.model, sample, index), false);
        if there { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn event(&mut self, event: &Event) {
        self.hub.change(self.id, |run| run.add_events(std::slice::from_ref(event)));
    }
}
