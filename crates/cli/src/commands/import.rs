//! `gelenk import`: a robot file as a model, with a report of what was kept, changed and dropped.

use std::path::{Component, Path, PathBuf};

use gelenk::files::Kind;
use gelenk::import::{Base, ImportOptions, Imported, finish, import_path};
use gelenk::model::LoadOptions;
use serde_json::json;

use crate::Manner;
use crate::answer::{Answer, Failure};
use crate::args::{BaseArg, ImportArgs};
use crate::{files, show, source};

pub(crate) fn run(args: &ImportArgs, manner: Manner) -> Result<Answer, Failure> {
    files::must_exist(&args.file, "robot file")?;
    if let Some(path) = &args.output {
        files::check_place(path, Kind::Text, &args.file.display().to_string(), manner)?;
    }
    let limits = source::limits(&args.limit)?;
    let options = ImportOptions {
        limits,
        folder: args.folder.clone(),
        base: if args.base == BaseArg::Free { Base::Free } else { Base::Fixed },
        keyframe: args.keyframe.clone(),
        lenient: args.lenient,
        without_contact: args.no_contact,
        without_actuators: args.no_actuators,
    };
    let load = LoadOptions { limits, allow_open: true, ..LoadOptions::default() };
    let imported =
        import_path(&args.file, &options).map_err(|faults| source::bad_model(&faults))?;
    let (mut imported, loaded) =
        finish(imported, &load).map_err(|faults| source::bad_model(&faults))?;
    let mut hint = None;
    if !imported.meshes.is_empty() {
        hint = place_meshes(args, &mut imported, manner)?;
    }
    let mut json = json!({
        "model": imported.name,
        "facts": imported.report.facts,
        "notes": imported.report.notes,
        "meshes": imported.meshes,
        "warnings": source::warnings(&loaded),
    });
    let mut report = imported.report.to_text();
    if let Some(hint) = &hint {
        report.push_str(hint);
        report.push('\n');
        json["hint"] = hint.clone().into();
    }
    match &args.output {
        None => {
            if manner.talks() {
                show::err(report.trim_end());
            }
            json["text"] = imported.text.clone().into();
            Ok(Answer::done(json, imported.text).asked())
        }
        Some(path) => {
            files::write(path, Kind::Text, manner, imported.text.as_bytes())?;
            json["output"] = path.display().to_string().into();
            Ok(Answer::done(json, format!("{report}written: {}\n", path.display())))
        }
    }
}

/// Makes the mesh paths count from the folder of the output: the meshes lie below it, or are copied there.
fn place_meshes(
    args: &ImportArgs,
    imported: &mut Imported,
    manner: Manner,
) -> Result<Option<String>, Failure> {
    let target = args.output.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let target = if target.as_os_str().is_empty() { Path::new(".") } else { target };
    let real = target.canonicalize().map_err(|error| Failure::io("find", target, &error))?;
    let prefix = if let (true, Some(output)) = (args.copy_meshes, &args.output) {
        let stem =
            output.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let folder = PathBuf::from(format!("{stem}-meshes"));
        for name in &imported.meshes {
            let to = target.join(&folder).join(name);
            if let Some(parent) = to.parent() {
                let made = std::fs::create_dir_all(parent);
                made.map_err(|error| Failure::io("make", parent, &error))?;
            }
            let most = source::limits(&args.limit)?.file;
            let bytes = files::read(&imported.folder.join(name), most)?;
            // A copy that is there already is left as it is; another file is not replaced unasked.
            if !gelenk::files::read(&to, most).is_ok_and(|there| there == bytes) {
                files::write(&to, Kind::Text, manner, &bytes)?;
            }
        }
        folder
    } else if let Ok(below) = imported.folder.strip_prefix(&real) {
        below.to_owned()
    } else {
        let folder = imported.folder.display();
        return Ok(Some(format!(
            "mesh paths count from {folder}: save the model there, or copy the meshes with --output FILE --copy-meshes"
        )));
    };
    let parts = prefix.components().filter(|part| matches!(part, Component::Normal(_)));
    let prefix: String =
        parts.map(|part| format!("{}/", part.as_os_str().to_string_lossy())).collect();
    if !prefix.is_empty() {
        let quoted = prefix.replace('\\', "\\\\").replace('"', "\\\"");
        imported.text =
            imported.text.replace("mesh = { file = \"", &format!("mesh = {{ file = \"{quoted}"));
        imported.meshes.iter_mut().for_each(|name| name.insert_str(0, &prefix));
    }
    Ok(None)
}
