//! What both readers share: files, faults, notes.

use std::path::{Path, PathBuf};

use gelenk_model::math::{Quat, Vec3};
use gelenk_model::{Diagnostic, Diagnostics, FileFault, Folder, SourceMap, Span};
use nalgebra as na;

use crate::flat::Flat;
use crate::report::{Fate, ImportReport, MOST_NAMES, Note};
use crate::xml::{self, Element};
use crate::{ImportOptions, Imported};

/// Folders above the file in which its package is looked for.
const PACKAGE_ABOVE: usize = 4;

/// The state of an import.
pub(crate) struct Context {
    pub(crate) options: ImportOptions,
    pub(crate) sources: SourceMap,
    pub(crate) errors: Vec<Diagnostic>,
    notes: Vec<Note>,
    /// What may be read; `None` for a text without a folder.
    pub(crate) folder: Option<Folder>,
    /// Folder of the file itself.
    pub(crate) own: PathBuf,
    /// Meshes that the model uses, paths below the folder.
    pub(crate) meshes: Vec<String>,
    pub(crate) mesh_cache: crate::mesh::Cache,
    /// Files read so far, for the limit.
    pub(crate) files: usize,
}

impl Context {
    pub(crate) fn new(options: ImportOptions) -> Self {
        Context {
            options,
            sources: SourceMap::default(),
            errors: Vec::new(),
            notes: Vec::new(),
            folder: None,
            own: PathBuf::new(),
            meshes: Vec::new(),
            mesh_cache: crate::mesh::Cache::default(),
            files: 0,
        }
    }

    /// Opens the robot file.
    pub(crate) fn open(&mut self, path: &Path) -> Option<Element> {
        let shown = path.display().to_string();
        let read = gelenk_model::load::read_regular(path, &shown, self.options.limits.file);
        let bytes = read.map_err(|fault| self.fault(&fault, None)).ok()?;
        let own = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.own = own.canonicalize().unwrap_or_else(|_| own.to_owned());
        let Ok(text) = String::from_utf8(bytes) else {
            let message = format!("`{shown}` is not UTF-8 text");
            self.errors.push(Diagnostic::error("not-text", message).help("save it as UTF-8"));
            return None;
        };
        let root = self.options.folder.clone().unwrap_or_else(|| package_folder(&self.own, &text));
        match Folder::new(&root) {
            Ok(folder) => self.folder = Some(folder),
            Err(fault) => {
                self.fault(&fault, None);
                return None;
            }
        }
        self.parse(&shown, &text)
    }

    /// Opens a text.
    pub(crate) fn open_text(&mut self, name: &str, text: &str) -> Option<Element> {
        if text.len() as u64 > self.options.limits.file {
            let message =
                format!("`{name}` is larger than the limit of {} bytes", self.options.limits.file);
            self.errors.push(Diagnostic::error("limit-file", message));
            return None;
        }
        if let Some(root) = &self.options.folder {
            let folder = Folder::new(root);
            self.own = folder.as_ref().map_or_else(|_| root.clone(), |f| f.root().to_owned());
            self.folder = folder.map_err(|fault| self.fault(&fault, None)).ok();
        }
        self.parse(name, text)
    }

    /// Adds a text to the sources and reads its elements.
    pub(crate) fn parse(&mut self, name: &str, text: &str) -> Option<Element> {
        self.files += 1;
        // A mark of byte order is no part of the text.
        let id = self.sources.add(name, text.strip_prefix('\u{feff}').unwrap_or(text));
        match xml::parse(&self.sources, id, &self.options.limits) {
            Ok(root) => Some(root),
            Err(fault) => {
                self.errors.push(*fault);
                None
            }
        }
    }

    /// Writes a fault of a file down.
    pub(crate) fn fault(&mut self, fault: &FileFault, span: Option<Span>) {
        let mut diagnostic = Diagnostic::error(fault.code, &fault.message);
        diagnostic.help.clone_from(&fault.help);
        if let Some(span) = span {
            diagnostic = diagnostic.at(&self.sources, span);
        }
        self.errors.push(diagnostic);
    }

    /// Writes an error down.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        element: impl AsRef<str>,
        span: Span,
        message: impl AsRef<str>,
        help: impl AsRef<str>,
    ) {
        let fault = Diagnostic::error(code, message).element(element).help(help);
        self.errors.push(fault.at(&self.sources, span));
    }

    /// Writes a fault down that has a safe repair: an error; or, where the import is lenient, a change that says what is assumed.
    /// Whether the reader may go on with the repair.
    pub(crate) fn repairable(
        &mut self,
        code: &'static str,
        element: impl AsRef<str>,
        span: Span,
        message: impl AsRef<str>,
        help: impl AsRef<str>,
        assumed: &str,
    ) -> bool {
        let (message, element) = (message.as_ref(), element.as_ref());
        if self.options.lenient {
            self.changed(format!("{message}: {assumed}"), element, span);
            return true;
        }
        let help = format!("{} (`--lenient`: {assumed})", help.as_ref());
        self.error(code, element, span, message, help);
        false
    }

    /// Writes an entry of the report down; equal ones become one.
    pub(crate) fn note(&mut self, fate: Fate, text: impl Into<String>, element: &str, span: Span) {
        let text = text.into();
        let known = self.notes.iter_mut().find(|note| note.fate == fate && note.text == text);
        if let Some(note) = known {
            note.count += 1;
            if note.elements.len() < MOST_NAMES && !note.elements.iter().any(|e| e == element) {
                note.elements.push(element.to_owned());
            }
            return;
        }
        let place = self.sources.place(span);
        self.notes.push(Note { fate, text, elements: vec![element.to_owned()], count: 1, place });
    }

    /// Something else stands for it.
    pub(crate) fn changed(&mut self, text: impl Into<String>, element: &str, span: Span) {
        self.note(Fate::Changed, text, element, span);
    }

    /// It is gone.
    pub(crate) fn dropped(&mut self, text: impl Into<String>, element: &str, span: Span) {
        self.note(Fate::Dropped, text, element, span);
    }

    #[allow(clippy::needless_pass_by_value, reason = "ranges are written where it is called")]
    /// Numbers of an attribute; a fault if one of them is no finite number or their count is not in the range.
    pub(crate) fn numbers(
        &mut self,
        element: &Element,
        name: &str,
        count: std::ops::RangeInclusive<usize>,
    ) -> Option<Vec<f64>> {
        let attribute = element.get(name)?;
        let (called, span) = (element.called_within(), attribute.span);
        let mut list = Vec::new();
        for word in attribute.value.split(|c: char| c.is_ascii_whitespace() || c == ',') {
            if word.is_empty() {
                continue;
            }
            match word.parse::<f64>() {
                Ok(x) if x.is_finite() && x.abs() <= 1e30 => list.push(x),
                // MuJoCo writes infinite ranges.
                Ok(x) if x.is_infinite() && name.ends_with("range") => list.push(x),
                _ => {
                    let message = format!("`{word}` of `{name}` is not a finite number");
                    self.error("bad-number", called, span, message, "write a plain number");
                    return None;
                }
            }
        }
        if !count.contains(&list.len()) {
            let wanted = if count.start() == count.end() {
                format!("{}", count.start())
            } else {
                format!("{} to {}", count.start(), count.end())
            };
            let message = format!("`{name}` has {} numbers instead of {wanted}", list.len());
            self.error("bad-count", called, span, message, "give all of them");
            return None;
        }
        Some(list)
    }

    /// A number.
    pub(crate) fn number(&mut self, element: &Element, name: &str) -> Option<f64> {
        self.numbers(element, name, 1..=1).map(|list| list[0])
    }

    /// A number, or what stands for it.
    pub(crate) fn number_or(&mut self, element: &Element, name: &str, default: f64) -> f64 {
        self.number(element, name).unwrap_or(default)
    }

    /// A colour; one that is none is left out, since it is only for the eye.
    pub(crate) fn color(&mut self, element: &Element, name: &str) -> Option<[f64; 3]> {
        let attribute = element.get(name)?;
        let words: Vec<&str> = attribute.value.split_ascii_whitespace().collect();
        if words.is_empty() {
            return None;
        }
        let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
        match numbers.as_slice() {
            [r, g, b] | [r, g, b, _]
                if words.len() == numbers.len() && numbers.iter().all(|x| x.is_finite()) =>
            {
                Some([*r, *g, *b].map(|x| x.clamp(0.0, 1.0)))
            }
            _ => {
                let text = format!("`{name}` that is not a colour");
                self.dropped(text, &element.called_within(), attribute.span);
                None
            }
        }
    }

    /// A vector.
    pub(crate) fn vector(&mut self, element: &Element, name: &str) -> Option<Vec3> {
        self.numbers(element, name, 3..=3).map(|list| Vec3::new(list[0], list[1], list[2]))
    }

    /// A quaternion w x y z of any length but zero.
    pub(crate) fn quaternion(&mut self, element: &Element, name: &str) -> Option<Quat> {
        let list = self.numbers(element, name, 4..=4)?;
        let q = na::Quaternion::new(list[0], list[1], list[2], list[3]);
        if q.norm() < 1e-12 {
            let span = element.get(name).map_or(element.span, |a| a.span);
            let help = "1 0 0 0 is no rotation";
            self.error(
                "bad-rotation",
                element.called_within(),
                span,
                "the quaternion is zero",
                help,
            );
            return None;
        }
        Some(Quat::from_quaternion(q))
    }

    /// A direction: a vector of any length but zero, as a unit vector.
    pub(crate) fn direction(&mut self, element: &Element, name: &str) -> Option<Vec3> {
        let v = self.vector(element, name)?;
        if v.norm() < 1e-12 {
            let span = element.get(name).map_or(element.span, |a| a.span);
            let message = format!("`{name}` is zero");
            self.error("bad-axis", element.called_within(), span, message, "give a direction");
            return None;
        }
        Some(v.normalize())
    }

    /// All that went wrong.
    pub(crate) fn failed(self) -> Diagnostics {
        Diagnostics { list: self.errors, sources: self.sources }
    }

    /// The import's result.
    pub(crate) fn finish(self, text: String, flat: Flat) -> Imported {
        let mut notes = self.notes;
        notes.sort_by_key(|note| note.fate);
        let folder = self.folder.map_or_else(|| self.own, |folder| folder.root().to_owned());
        Imported {
            text,
            name: flat.name,
            folder,
            meshes: self.meshes,
            report: ImportReport { facts: flat.facts, notes },
            sources: self.sources,
        }
    }
}

/// The folder of the package that a file belongs to: the nearest one above it in which a file lies that a `package://` path of the
/// text names; else the nearest that holds a `package.xml`, or whose name such a path has; else the file's own.
fn package_folder(own: &Path, text: &str) -> PathBuf {
    let paths: Vec<&str> = text
        .match_indices("package://")
        .take(1000)
        .map(|(at, _)| text[at..].split(['"', '\'']).next().unwrap_or(""))
        .collect();
    let above = || own.ancestors().take(PACKAGE_ABOVE);
    let name = |folder: &Path| folder.file_name().map(|name| name.to_string_lossy().into_owned());
    // What a path says after the name of a folder.
    let after = |path: &str, name: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        let at = parts.iter().position(|part| *part == name)?;
        Some(parts[at + 1..].join("/"))
    };
    let holds = |folder: &&Path| {
        name(folder).is_some_and(|name| {
            let inside = paths.iter().filter_map(|path| after(path, &name));
            inside.filter(|rest| !rest.is_empty()).any(|rest| folder.join(rest).is_file())
        })
    };
    let named = |folder: &&Path| {
        folder.join("package.xml").is_file()
            || name(folder)
                .is_some_and(|name| paths.iter().any(|path| after(path, &name).is_some()))
    };
    let found = above().find(holds).or_else(|| above().find(named));
    found.unwrap_or(own).to_owned()
}
