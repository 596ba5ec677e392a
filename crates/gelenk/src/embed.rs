//! A model inside its recording: which texts go in, and how they become a model again.

use std::path::Path;

use gelenk_model::{Diagnostics, Limits, LoadOptions, Loaded, RunSettings, load_text};

use crate::recording::{Header, Override, SourceFile};

/// The name under which values of `--set` stand among the sources of a loaded model.
const OVERRIDES: &str = "--set";

/// The header of a recording of this model with these settings.
///
/// The model's texts go in whole, so that the recording can be run again anywhere. Of the path that the user gave, only
/// the file's name is kept.
pub fn header(loaded: &Loaded, overrides: &[(String, String)], settings: &RunSettings) -> Header {
    let mut sources = Vec::new();
    for (i, file) in loaded.sources.files().iter().enumerate() {
        if i > 0 && file.name == OVERRIDES {
            continue;
        }
        let name = match Path::new(&file.name).file_stem() {
            Some(stem) if i == 0 => format!("{}.toml", stem.to_string_lossy()),
            _ => file.name.clone(),
        };
        sources.push(SourceFile { name, text: file.text.clone() });
    }
    let overrides = overrides
        .iter()
        .map(|(name, value)| Override { name: name.clone(), value: value.clone() })
        .collect();
    Header::new(&loaded.model, settings, sources, overrides)
}

/// Loads the model of a recording from the texts in its header.
///
/// Meshes are not in a recording; they are read from `folder`, where the recording was made or lies.
pub fn load_recorded(
    header: &Header,
    limits: &Limits,
    folder: &Path,
) -> Result<Loaded, Diagnostics> {
    let (name, text) = match header.sources.first() {
        Some(main) => (main.name.as_str(), main.text.as_str()),
        None => ("model", ""),
    };
    let overrides = header.overrides.iter().map(|o| (o.name.clone(), o.value.clone())).collect();
    let texts = header.sources.iter().skip(1).map(|s| (s.name.clone(), s.text.clone())).collect();
    let options = LoadOptions {
        overrides,
        limits: *limits,
        base_dir: Some(folder.to_owned()),
        texts,
        ..LoadOptions::default()
    };
    load_text(name, text, &options)
}
