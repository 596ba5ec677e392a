//! Robot files to Gelenk models: URDF and MJCF become the text of a model file, with a report of what was kept, changed
//! and dropped.
//!
//! ```text
//! file.urdf ─┐                                       ┌─> model text (TOML)
//!            ├─> elements with spans ─> Robot: tree ─┤
//! file.xml ──┘   (no DTD, depth counted)             └─> Report: kept, changed, dropped
//! ```
//!
//! Both readers give a `Robot`, a tree of links as the formats mean it. `flat` turns it into what a model
//! file says: links that are welded become one body, links with several joints get light bodies between them, every
//! body a place in the world. Nothing is lost silently: what the reader does not know is an entry of the report, with
//! its line.

mod context;
mod flat;
mod mass;
mod mesh;
mod mjcf;
mod names;
mod number;
mod report;
mod schema;
mod tree;
mod urdf;
mod write;
mod xml;

use std::path::{Path, PathBuf};

pub use report::{Facts, Fate, ImportReport, Note};

use context::Context;
use gelenk_model::{Diagnostic, Diagnostics, Limits, SourceMap};

/// Whether a robot's base may move, where its file does not say (URDF).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The base is fixed to the world, as MuJoCo and Pinocchio take it.
    #[default]
    Fixed,
    /// The base is a free body.
    Free,
}

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// What a file may ask of the machine.
    pub limits: Limits,
    /// Folder below which meshes and included files are read; if `None`, that of the file or of its package.
    pub folder: Option<PathBuf>,
    /// The base of a URDF robot.
    pub base: Base,
    /// MJCF: the keyframe to start from, or `-` for the pose that is drawn. If `None`, the first keyframe, if there is one.
    pub keyframe: Option<String>,
    /// Faults that have a safe repair are repaired and reported, not refused.
    pub lenient: bool,
    /// Leave contact out: no shape touches another.
    pub without_contact: bool,
    /// Leave actuators out.
    pub without_actuators: bool,
}

/// A robot file as a model.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The text of the model file.
    pub text: String,
    /// Name of the model.
    pub name: String,
    /// The folder that mesh paths in the text count from, links resolved.
    pub folder: PathBuf,
    /// Mesh files that the text names, below that folder.
    pub meshes: Vec<String>,
    /// What was kept, changed and dropped.
    pub report: ImportReport,
    /// The texts the model was read from.
    pub sources: SourceMap,
}

impl Imported {
    /// What was changed or dropped, as warnings.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.report.notes.iter().filter_map(Note::warning).collect()
    }
}

/// What becomes of every element of the formats, as Markdown tables (those of docs/import.md).
pub fn element_tables() -> String {
    schema::tables()
}

/// Whether a path looks like a robot file: by its extension, `urdf`, `xml` or `mjcf`.
pub fn is_robot_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    ["urdf", "xml", "mjcf"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Reads a robot file. The format is told by the root element, `robot` or `mujoco`.
pub fn import_path(path: &Path, options: &ImportOptions) -> Result<Imported, Diagnostics> {
    let mut context = Context::new(options.clone());
    let Some(root) = context.open(path) else { return Err(context.failed()) };
    run(context, root, &stem(path))
}

/// Reads a robot from a text; `name` is what messages call it. No file is read unless the options give a folder.
pub fn import_text(
    name: &str,
    text: &str,
    options: &ImportOptions,
) -> Result<Imported, Diagnostics> {
    let mut context = Context::new(options.clone());
    let Some(root) = context.open_text(name, text) else { return Err(context.failed()) };
    run(context, root, &stem(Path::new(name)))
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

fn run(mut context: Context, mut root: xml::Element, stem: &str) -> Result<Imported, Diagnostics> {
    let root_span = root.span;
    let robot = match root.name.as_str() {
        "robot" => {
            schema::check(&mut context, &schema::URDF, &mut root);
            urdf::read(&mut context, &root, stem)
        }
        "mujoco" => mjcf::read(&mut context, root, stem),
        other => {
            let message = format!("`{other}` is not the root of a robot file");
            let help = "URDF files have <robot>, MJCF files <mujoco>";
            context.error("unknown-format", "file", root.span, message, help);
            None
        }
    };
    let (Some(robot), true) = (robot, context.errors.is_empty()) else {
        if context.errors.is_empty() {
            let help = "check the file against the format";
            context.error("not-read", "file", root_span, "the file cannot be read", help);
        }
        return Err(context.failed());
    };
    let flat = flat::flatten(&mut context, robot);
    let text = write::text(&mut context, &flat);
    if !context.errors.is_empty() {
        return Err(context.failed());
    }
    Ok(context.finish(text, flat))
}
