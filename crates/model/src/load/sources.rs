//! The part files of a model, all read before anything is looked up in them.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::LoadOptions;
use super::files::Folder;
use super::parse::parse_file;
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use crate::spec::tables::{Contents, FileSpec};
use crate::spec::{Fields, Report, Text};

/// The model's files.
#[derive(Debug)]
pub(crate) struct Sources {
    files: Vec<FileSpec>,
    /// Folder of each text, for the paths in it.
    folders: FxHashMap<FileId, PathBuf>,
    /// Which file a path in a text leads to; `None` if it cannot be read.
    parts: FxHashMap<(FileId, String), Option<usize>>,
    /// For scopes that hold nothing.
    nothing: Contents,
}

impl Sources {
    /// Reads all part files that a model leads to.
    pub(crate) fn gather(
        report: &mut Report,
        root: FileSpec,
        root_id: FileId,
        folder: Option<&Folder>,
        root_folder: &Path,
        options: &LoadOptions,
    ) -> Self {
        let nothing = Contents::poisoned(Span::new(root_id, 0..0));
        let mut sources = Sources {
            files: vec![root],
            folders: FxHashMap::from_iter([(root_id, root_folder.to_owned())]),
            parts: FxHashMap::default(),
            nothing,
        };
        let mut by_path: FxHashMap<PathBuf, Option<usize>> = FxHashMap::default();
        let mut next = 0;
        while next < sources.files.len() {
            for text in wanted_files(&sources.files[next].contents) {
                let key = (text.span.file, text.text.clone());
                if text.poisoned || sources.parts.contains_key(&key) {
                    continue;
                }
                let found = sources.read_part(report, &text, folder, options, &mut by_path);
                sources.parts.insert(key, found);
            }
            next += 1;
        }
        sources
    }

    fn read_part(
        &mut self,
        report: &mut Report,
        text: &Text,
        folder: Option<&Folder>,
        options: &LoadOptions,
        by_path: &mut FxHashMap<PathBuf, Option<usize>>,
    ) -> Option<usize> {
        let element = format!("instance of `{}`", text.text);
        let Some(folder) = folder else {
            let message = format!("`{}` cannot be read: this model has no folder", text.text);
            let help = "load the model from a file, or give the loader a base folder";
            let fault = Diagnostic::error("no-folder", message).element(element).help(help);
            report.push(Some(text.span), fault);
            return None;
        };
        let limit = options.limits.files;
        if self.files.len() >= limit {
            let message = format!("the model has more than the limit of {limit} files");
            let help = format!("raise it with `--limit files={}`", 2 * limit);
            let fault = Diagnostic::error("limit-files", message).element(element).help(help);
            report.push(Some(text.span), fault);
            return None;
        }
        let from = self.folders.get(&text.span.file)?.clone();
        let opened = match folder.read(&from, &text.text, options.limits.file) {
            Ok(opened) => opened,
            Err(fault) => {
                let mut shown = Diagnostic::error(fault.code, fault.message).element(element);
                shown.help = fault.help;
                report.push(Some(text.span), shown);
                return None;
            }
        };
        if let Some(known) = by_path.get(&opened.path) {
            return *known;
        }
        let Ok(contents) = String::from_utf8(opened.bytes) else {
            let message = format!("`{}` is not UTF-8 text", text.text);
            let fault = Diagnostic::error("not-text", message).element(element);
            report.push(Some(text.span), fault.help("save the file as UTF-8"));
            by_path.insert(opened.path, None);
            return None;
        };
        let id = report.sources.add(&opened.name, &contents);
        if let Some(parent) = opened.path.parent() {
            self.folders.insert(id, parent.to_owned());
        }
        let index = parse_file(report, id, &options.limits).map(|spec| {
            self.files.push(spec);
            self.files.len() - 1
        });
        by_path.insert(opened.path, index);
        index
    }

    /// The model file.
    pub(crate) fn root(&self) -> &FileSpec {
        &self.files[0]
    }

    /// The part file that a text names.
    pub(crate) fn part_file(&self, text: &Text) -> Option<&Contents> {
        let index = (*self.parts.get(&(text.span.file, text.text.clone()))?)?;
        Some(&self.files.get(index)?.contents)
    }

    /// The folder against which paths in a text count.
    pub(crate) fn folder_of(&self, file: FileId) -> Option<&Path> {
        self.folders.get(&file).map(PathBuf::as_path)
    }

    /// The folders of all texts.
    pub(crate) fn folders(&self) -> FxHashMap<FileId, PathBuf> {
        self.folders.clone()
    }

    /// Tables without anything in them.
    pub(crate) fn nothing(&self) -> &Contents {
        &self.nothing
    }
}

/// Paths of the part files that tables ask for, parts inside included.
fn wanted_files(contents: &Contents) -> Vec<Text> {
    let mut wanted = Vec::new();
    let mut open = vec![contents];
    while let Some(contents) = open.pop() {
        wanted.extend(contents.instance.iter().filter_map(|i| i.file.clone()));
        open.extend(contents.part.0.iter().map(|(_, part)| &part.contents));
    }
    wanted
}
