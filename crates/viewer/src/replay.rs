//! Recordings as runs.

use std::path::Path;
use std::sync::Arc;

use gelenk::Recording;
use gelenk::model::{Limits, Loaded};
use gelenk::recording::Header;
use serde_json::json;

use crate::frame::encode;
use crate::ghost::Making;
use crate::hub::Hub;
use crate::live::Loader;
use crate::server::ViewError;

/// Opens a recording as a run; gives what it takes to run its model with other engines.
pub(crate) fn open(hub: &Hub, path: &Path, limits: Limits) -> Result<Option<Making>, ViewError> {
    let mut recording = Recording::open(path)?;
    let header = recording.header().clone();
    let loaded = header
        .load(limits)
        .map_err(|why| ViewError::Model(format!("`{}`: {why}", path.display())))?;
    let name =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let label = format!("{name} ({})", header.settings.engine);
    let facts = json!({
        "settings": gelenk::report::settings_json(&header.settings),
        "verdict": recording.certificate().map(|certificate| &certificate.verdict),
        "certificate": recording.certificate(),
        "integrity": recording.integrity().to_string(),
    });
    let scene = crate::scene::scene(&loaded.model);
    let Some(id) = hub.add_run(&label, &scene, facts) else {
        return Err(ViewError::Model("too many recordings at once".to_owned()));
    };
    for sample in recording.samples() {
        let sample = sample?;
        if !hub.push(id, |index| encode(&loaded.model, &sample.as_sample(), index), false) {
            let why = "no room for its frames in the folder for temporary files";
            return Err(ViewError::Model(format!("`{}`: {why}", path.display())));
        }
    }
    let events = recording.events().to_vec();
    hub.change(id, |run| {
        run.add_events(&events);
        run.growing = false;
    });
    let load: Loader = Arc::new({
        let header = header.clone();
        move |overrides: &[(String, String)]| load_again(&header, overrides, limits)
    });
    Ok(Some((load, Vec::new(), header.settings)))
}

/// The model of a recording, with other values of parameters.
fn load_again(
    header: &Header,
    overrides: &[(String, String)],
    limits: Limits,
) -> Result<Loaded, String> {
    let mut header = header.clone();
    for (name, value) in overrides {
        header.overrides.retain(|other| &other.name != name);
        let (name, value) = (name.clone(), value.clone());
        header.overrides.push(gelenk::recording::Override { name, value });
    }
    header.load(limits)
}
