//! The model inside a recording: putting it in and loading it again.

use std::path::Path;
use std::sync::Arc;

use gelenk_model::load::FileSet;
use gelenk_model::{Limits, LoadOptions, Loaded, RunSettings, load_text};

use super::{Header, MeshFile, Override, SourceFile};

impl Header {
    /// The header of a run of a model that was loaded with these overrides: it holds all files of the model, so that a
    /// re-run needs no other.
    ///
    /// Of the main file only its name is kept, not the folder it lies in.
    pub fn of_loaded(
        loaded: &Loaded,
        overrides: &[(String, String)],
        settings: &RunSettings,
    ) -> Self {
        // The texts are: the model file, then the overrides if there are any, then part files.
        let set = usize::from(!overrides.is_empty());
        let files = loaded.sources.files().iter().enumerate();
        let sources = files.filter(|(i, _)| *i == 0 || *i > set).map(|(i, file)| {
            let name = if i == 0 { file_name(&file.name) } else { file.name.clone() };
            SourceFile { name, text: file.text.clone() }
        });
        let given = |(name, value): &(String, String)| Override {
            name: name.clone(),
            value: value.clone(),
        };
        let sources = sources.collect();
        let mut header =
            Header::new(&loaded.model, settings, sources, overrides.iter().map(given).collect());
        header.meshes = loaded
            .mesh_files
            .iter()
            .map(|(name, bytes)| MeshFile { name: name.clone(), bytes: bytes.clone() })
            .collect();
        header
    }

    /// Loads the model again, from the files in the header alone.
    pub fn load(&self, limits: Limits) -> Result<Loaded, String> {
        let given = |given: &Override| (given.name.clone(), given.value.clone());
        let overrides = self.overrides.iter().map(given).collect();
        self.load_with(&LoadOptions { overrides, ..LoadOptions::default() }, limits)
    }

    /// The same with other values given, and without what is to be left out.
    pub(crate) fn load_with(&self, asked: &LoadOptions, limits: Limits) -> Result<Loaded, String> {
        let Some((main, parts)) = self.sources.split_first() else {
            return Err("the recording holds no model file: the model was built in code".to_owned());
        };
        let mut files = FileSet::new();
        for part in parts {
            files.insert(part.name.clone(), part.text.clone().into_bytes());
        }
        for mesh in &self.meshes {
            files.insert(mesh.name.clone(), mesh.bytes.clone());
        }
        let options = LoadOptions {
            limits,
            files: Some(Arc::new(files)),
            // The optimizer takes mechanisms that do not close to the last digit, and makes them.
            allow_open: self.optimum.is_some(),
            ..asked.clone()
        };
        // A model without a name has that of its file.
        let stem = Path::new(&main.name).file_stem();
        let name =
            stem.map_or_else(|| main.name.clone(), |stem| stem.to_string_lossy().into_owned());
        load_text(&name, &main.text, &options).map_err(|diagnostics| diagnostics.to_string())
    }
}

/// The last part of a path.
fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}
