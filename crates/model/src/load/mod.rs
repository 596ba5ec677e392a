//! From a file to a model: reading, checking, building.
//!
//! ```text
//! text -parse-> FileSpec (+ part files) -expand-> elements with full names -build-> Model
//! ```
//! Every step writes its faults down and goes on, so that all faults of a file are found at once.

mod bodies;
mod build;
mod circuits;
mod colors;
mod conditions;
mod context;
mod curves;
mod drives;
mod expand;
mod files;
mod forces;
mod frame;
mod inertia;
mod joints;
mod materials;
mod names;
mod nesting;
mod parameters;
mod parse;
mod rotation;
mod run;
mod scope;
mod shapes;
mod sources;
mod start;
mod state;
mod strength;
mod tables;

pub use context::number_of_unit;
pub use files::{FileFault, FileSet, Folder, Opened, read_regular};
pub use joints::OPEN_JOINT;
pub use run::{ENGINES, SOLVERS, solver_today};

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context::Context;
use parse::parse_file;
use sources::Sources;

use crate::description::Description;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limits::Limits;
use crate::model::Model;
use crate::source::{FileId, SourceMap};
use crate::spec::tables::{Contents, FileSpec, ProblemSpec};
use crate::spec::{Report, Text};

/// How to load a model.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Other values for parameters, name and expression: `--set l=2`. Also starts of joints, `start.elbow` (`start.elbow.angle_deg`,
    /// `start.elbow.rate`, ...), and values or formulas of inputs, `input.knee`.
    pub overrides: Vec<(String, String)>,
    /// Files that expressions may name beside those of the model's folder, by the name they are called there: tables of the command line.
    pub data: Vec<(String, Vec<u8>)>,
    /// What a model may ask of the machine.
    pub limits: Limits,
    /// Folder below which part files and meshes are read. `load_path` takes the file's own if this is `None`;
    /// `load_text` then reads no files.
    pub base_dir: Option<PathBuf>,
    /// Part files and meshes to read instead of those on disk.
    pub files: Option<Arc<FileSet>>,
    /// Accept joints and equations that do not hold at the start, for assembly.
    pub allow_open: bool,
    /// A model in which nothing can move is a warning, not an error: it is only looked at.
    pub allow_still: bool,
    /// Joints, constraints, gears and forces of the model file to leave out, by name: a mechanism in a phase of its motion in
    /// which they do not act.
    pub without: Vec<String>,
}

/// A model and all that is known of where it came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The model.
    pub model: Model,
    /// The same with parameters as symbols.
    pub description: Description,
    /// The texts it was read from: the model file first, then `--set`, then part files.
    pub sources: SourceMap,
    /// What its user should know.
    pub warnings: Vec<Diagnostic>,
    /// Mesh files and tables by path below the model's folder, with the BLAKE3 hash of their bytes.
    pub meshes: Vec<(String, String)>,
    /// The bytes of the mesh files, in the same order.
    pub mesh_files: Vec<(String, Vec<u8>)>,
}

impl Loaded {
    /// All of the input in one text: name, length and text of every source, and the hashes of meshes. Two models with the
    /// same canonical text are the same; it does not depend on the folder the command was given in.
    pub fn canonical_text(&self) -> String {
        let mut text = String::from("gelenk model 1\n");
        for (i, file) in self.sources.files().iter().enumerate() {
            let name = if i == 0 { "model" } else { file.name.as_str() };
            let _ = writeln!(text, "{name} {}", file.text.len());
            text.push_str(&file.text);
            text.push('\n');
        }
        let mut meshes = self.meshes.clone();
        meshes.sort();
        for (name, digest) in meshes {
            let _ = writeln!(text, "mesh {name} {digest}");
        }
        text
    }

    /// The warnings drawn with the lines of the file.
    pub fn render_warnings(&self, color: bool) -> String {
        crate::render::render(&self.warnings, &self.sources, color)
    }
}

/// Loads a model file.
pub fn load_path(path: &Path, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    let shown = path.display().to_string();
    let mut report = Report::default();
    let bytes = match read_regular(path, &shown, options.limits.file) {
        Ok(bytes) => bytes,
        Err(fault) => {
            let mut diagnostic = Diagnostic::error(fault.code, fault.message);
            diagnostic.help = fault.help;
            report.push(None, diagnostic);
            return Err(failed(report));
        }
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let message = format!("`{shown}` is not UTF-8 text (byte {at})");
            report
                .push(None, Diagnostic::error("not-text", message).help("save the file as UTF-8"));
            return Err(failed(report));
        }
    };
    let own = path.parent().unwrap_or(Path::new("."));
    let base = options.base_dir.as_deref().unwrap_or(own);
    let stem = path.file_stem().map_or_else(|| shown.clone(), |s| s.to_string_lossy().into_owned());
    load(report, &shown, &stem, &text, Some((base, own)), options)
}

/// Loads a model from a text; `name` is what messages call it. No file is read unless the options give a folder.
pub fn load_text(name: &str, text: &str, options: &LoadOptions) -> Result<Loaded, Diagnostics> {
    let mut report = Report::default();
    if text.len() as u64 > options.limits.file {
        let message = format!("`{name}` is larger than the limit of {} bytes", options.limits.file);
        let help = format!("raise it with `--limit file={}`", text.len());
        report.push(None, Diagnostic::error("limit-file", message).help(help));
        return Err(failed(report));
    }
    let base = options.base_dir.as_deref().map(|base| (base, base));
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    load(report, name, stem, text, base, options)
}

/// Reads the text of a problem of optimal control; what its words mean is the optimizer's part.
pub fn read_problem(
    name: &str,
    text: &str,
    limits: &Limits,
) -> Result<(ProblemSpec, SourceMap), Diagnostics> {
    let mut report = Report::default();
    if text.len() as u64 > limits.file {
        let message = format!("`{name}` is larger than the limit of {} bytes", limits.file);
        report.push(
            None,
            Diagnostic::error("limit-file", message).help("raise it with `--limit file=...`"),
        );
        return Err(failed(report));
    }
    let file = report.sources.add(name, text);
    let spec = parse_file(&mut report, file, limits);
    match spec {
        Some(spec) if report.n_errors() == 0 => Ok((spec, report.into_parts().1)),
        _ => Err(failed(report)),
    }
}

fn failed(report: Report) -> Diagnostics {
    let (list, sources) = report.into_parts();
    Diagnostics { list, sources }
}

fn load(
    mut report: Report,
    shown: &str,
    stem: &str,
    text: &str,
    folders: Option<(&Path, &Path)>,
    options: &LoadOptions,
) -> Result<Loaded, Diagnostics> {
    let root_id = report.sources.add(shown, text);
    let overrides = read_overrides(&mut report, &options.overrides);
    let in_memory = options.files.as_ref().map(|files| Ok(Folder::in_memory(Arc::clone(files))));
    let folders = folders.filter(|_| in_memory.is_none());
    let folder = match in_memory.or_else(|| folders.map(|(base, _)| Folder::new(base))) {
        Some(Ok(folder)) => Some(folder),
        Some(Err(fault)) => {
            let mut diagnostic = Diagnostic::error(fault.code, fault.message);
            diagnostic.help = fault.help;
            report.push(None, diagnostic);
            None
        }
        None => None,
    };
    let Some(mut root) = parse_file::<FileSpec>(&mut report, root_id, &options.limits) else {
        return Err(failed(report));
    };
    for name in &options.without {
        if !leave_out(&mut root.contents, name) {
            let message = format!("there is no joint, constraint or force `{name}` to leave out");
            report.push(None, Diagnostic::error("unknown-name", message));
        }
    }
    let own = folders.and_then(|(_, own)| {
        let own = if own.as_os_str().is_empty() { Path::new(".") } else { own };
        own.canonicalize().ok()
    });
    let own = own.or_else(|| folder.as_ref().map(|f| f.root().to_owned())).unwrap_or_default();
    let sources = Sources::gather(&mut report, root, root_id, folder.as_ref(), &own, options);
    let name = sources.root().model.as_ref().and_then(|m| m.name.as_ref());
    let name = name.map_or_else(|| stem.to_owned(), |n| n.text.clone());
    let mut context = Context::new(options, report, &name, overrides, folder);
    context.text_folders = sources.folders();
    let root_folder = context.text_folders.get(&root_id).cloned();
    // Values from the command line speak of files beside the model.
    for (scalar, _) in context.overrides.values() {
        context.text_folders.insert(scalar.span.file, root_folder.clone().unwrap_or_default());
    }
    context.build(&sources);
    context.finish()
}

/// Takes the joints, constraints and forces of a name out of a file; whether there were any.
fn leave_out(contents: &mut Contents, name: &str) -> bool {
    fn from<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool) -> bool {
        let before = list.len();
        list.retain(|element| !is(element));
        list.len() < before
    }
    let named = |own: Option<&Text>| own.is_some_and(|own| own.text == name);
    let mut found = from(&mut contents.joint, |e| e.name.text == name);
    found |= from(&mut contents.constraint, |e| e.name.text == name);
    found |= from(&mut contents.gear, |e| e.name.text == name);
    found |= from(&mut contents.spring, |e| named(e.name.as_ref()));
    found |= from(&mut contents.damper, |e| named(e.name.as_ref()));
    found |= from(&mut contents.force, |e| named(e.name.as_ref()));
    found |= from(&mut contents.capacitor, |e| named(e.name.as_ref()));
    found |= from(&mut contents.resistor, |e| named(e.name.as_ref()));
    found |= from(&mut contents.source, |e| named(e.name.as_ref()));
    found |= from(&mut contents.coupling, |e| named(e.name.as_ref()));
    found | from(&mut contents.drag, |e| named(e.name.as_ref()))
}

/// A parameter's value from the command line, and whether a parameter took it.
type Overrides = rustc_hash::FxHashMap<String, (crate::spec::Scalar, bool)>;

/// Values from the command line, as a text of their own: one line each.
fn read_overrides(report: &mut Report, overrides: &[(String, String)]) -> Overrides {
    use crate::source::Span;
    use crate::spec::{Scalar, ScalarSource};
    let mut read = Overrides::default();
    if overrides.is_empty() {
        return read;
    }
    let mut text = String::new();
    let mut places = Vec::new();
    for (name, value) in overrides {
        // A line break inside a value would shift the lines of the others.
        let (name, value) = (name.trim(), value.trim().replace(['\n', '\r'], " "));
        let start = text.len() + name.len() + 1;
        places.push((name.to_owned(), value.clone(), start..start + value.len()));
        let _ = writeln!(text, "{name}={value}");
    }
    let file: FileId = report.sources.add("--set", &text);
    for (name, value, range) in places {
        let span = Span::new(file, range);
        let source = match value.parse::<f64>() {
            Ok(x) if x.is_finite() && !value.starts_with('+') => ScalarSource::Number(x, value),
            _ => ScalarSource::Expression(Text::bare(&value, span)),
        };
        read.insert(name, (Scalar { span, source }, false));
    }
    read
}
