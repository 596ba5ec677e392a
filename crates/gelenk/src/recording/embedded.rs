//! The model inside a recording: putting it in and loading it again.

use std::path::Path;
use std::sync::Arc;

use gelenk_model::load::FileSet;
use gelenk_model::{Diagnostics, Limits, LoadOptions, Loaded, RunSettings, load_text};

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
        if self.sources.is_empty() {
            return Err("the recording holds no model file: the model was built in code".to_owned());
        }
        let options = LoadOptions {
            limits,
            // The optimizer takes mechanisms that do not close to the last digit, and makes them.
            allow_open: self.optimum.is_some(),
            ..asked.clone()
        };
        self.load_again(|text| text, options).map_err(|diagnostics| diagnostics.to_string())
    }

    /// Loads the model with another text of its main file, from what is in the header alone; all of `options` counts but its files.
    pub fn load_again<'t, T: AsRef<str>>(
        &'t self,
        change: impl FnOnce(&'t str) -> T,
        options: LoadOptions,
    ) -> Result<Loaded, Diagnostics> {
        let (name, text) = self
            .sources
            .first()
            .map_or(("model", ""), |main| (main.name.as_str(), main.text.as_str()));
        let mut files = FileSet::new();
        for part in self.sources.iter().skip(1) {
            files.insert(part.name.clone(), part.text.clone().into_bytes());
        }
        for mesh in &self.meshes {
            files.insert(mesh.name.clone(), mesh.bytes.clone());
        }
        // A model without a name has that of its file.
        let stem = Path::new(name).file_stem();
        let name = stem.map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned());
        let options = LoadOptions { files: Some(Arc::new(files)), ..options };
        load_text(&name, change(text).as_ref(), &options)
    }
}

/// The last part of a path.
fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}
