//! Robot files (URDF, MJCF) as models: [`import_model`] reads one, closes its loops and loads it.

use std::path::Path;

use gelenk_model::assemble::{AssembleOptions, Outcome, assemble, initial_inconsistency};
use gelenk_model::{Diagnostics, LoadOptions, Loaded, load_text};

pub use gelenk_import::{
    Base, Facts, Fate, ImportOptions, ImportReport, Imported, Note, import_path, import_text,
    is_robot_file,
};

/// Reads a robot file and loads the model it becomes.
///
/// Loops that the file leaves open at the start are closed with the least movement ([`mod@gelenk_model::assemble`]); the
/// text then ends with `[[start]]` tables and the report says how far things moved. What was changed or dropped comes
/// first in the warnings of the loaded model.
pub fn import_model(
    path: &Path,
    options: &ImportOptions,
    load: &LoadOptions,
) -> Result<(Imported, Loaded), Diagnostics> {
    finish(import_path(path, options)?, load)
}

/// Closes the loops of an imported model and loads it.
pub fn finish(
    mut imported: Imported,
    load: &LoadOptions,
) -> Result<(Imported, Loaded), Diagnostics> {
    let name = imported.name.clone();
    let base_dir = (!imported.folder.as_os_str().is_empty()).then(|| imported.folder.clone());
    let mut load = LoadOptions { base_dir, ..load.clone() };
    let allow_open = load.allow_open;
    load.allow_open = true;
    // Scenery and parts of robots may be looked at, but not run.
    load.allow_still = allow_open;
    let mut loaded = load_text(&name, &imported.text, &load)?;
    let tolerance = loaded.model.run.tolerance;
    let open =
        initial_inconsistency(&loaded.model).iter().any(|gap| !(gap.position_error <= tolerance));
    if open {
        let report = assemble(&loaded.model, &AssembleOptions::default());
        let text = match &report.outcome {
            Outcome::Closed => {
                imported.text =
                    crate::start::with_start(&imported.text, &loaded.model, &report.state);
                let far = report.moved.iter().map(|moved| moved.distance).fold(0.0, f64::max);
                format!(
                    "start: loops that are open as drawn are closed; bodies move by up to {far:.3e} m"
                )
            }
            Outcome::Failed(_) => {
                "start: loops are open as drawn, and no posture near it closes them".to_owned()
            }
        };
        let note = Note { fate: Fate::Changed, text, elements: Vec::new(), count: 1, place: None };
        imported.report.notes.push(note);
        imported.report.notes.sort_by_key(|note| note.fate);
    }
    load.allow_open = allow_open;
    loaded = load_text(&name, &imported.text, &load)?;
    let mut warnings = imported.warnings();
    warnings.append(&mut loaded.warnings);
    loaded.warnings = warnings;
    Ok((imported, loaded))
}
