//! What became of a robot file: kept, changed, dropped.

use std::fmt::Write;

use gelenk_model::{Diagnostic, Place};
use serde::Serialize;

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// As the file says.
    Kept,
    /// Something else stands for it.
    Changed,
    /// It is gone.
    Dropped,
}

/// An entry of the report; equal ones are one entry.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// What became of it.
    pub fate: Fate,
    /// What it is, and what stands for it.
    pub text: String,
    /// The elements it is about, by name; the first few.
    pub elements: Vec<String>,
    /// How many elements.
    pub count: usize,
    /// Where the first of them is.
    #[serde(flatten)]
    pub place: Option<Place>,
}

/// Elements that an entry names.
pub(crate) const MOST_NAMES: usize = 4;

impl Note {
    /// As a warning, unless everything was kept.
    pub fn warning(&self) -> Option<Diagnostic> {
        let code = match self.fate {
            Fate::Kept => return None,
            Fate::Changed => "import-changed",
            Fate::Dropped => "import-dropped",
        };
        let mut diagnostic = Diagnostic::warning(code, self.sentence());
        diagnostic.place.clone_from(&self.place);
        Some(diagnostic)
    }

    /// "dropped: ... (joint `a`, joint `b` and 3 more)".
    fn sentence(&self) -> String {
        let fate = match self.fate {
            Fate::Kept => "kept",
            Fate::Changed => "changed",
            Fate::Dropped => "dropped",
        };
        let mut text = format!("{fate}: {}", self.text);
        if !self.elements.is_empty() {
            let _ = write!(text, " ({}", self.elements.join(", "));
            let more = self.count.saturating_sub(self.elements.len());
            if more > 0 {
                let _ = write!(text, " and {more} more");
            }
            text.push(')');
        }
        text
    }
}

/// Numbers of the robot, for comparing with what other programs say of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// `"urdf"` or `"mjcf"`.
    pub format: &'static str,
    /// Bodies that move, without the light ones between several joints and without rotors.
    pub bodies: usize,
    /// Joints of the file, free ones included, fixed ones not.
    pub joints: usize,
    /// Their velocities: 6 for a free joint, 3 for a ball, 1 for the others.
    pub velocities: usize,
    /// Mass of all bodies, kg, rotors not counted.
    pub mass: f64,
    /// Mass of those that move, kg.
    pub moving_mass: f64,
    /// Conditions beside the tree: loops, couplings.
    pub closures: usize,
    /// Inputs of actuators.
    pub inputs: usize,
}

/// What became of a file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ImportReport {
    /// Its numbers.
    pub facts: Facts,
    /// Its entries: kept, changed, dropped, each in the order of the file.
    pub notes: Vec<Note>,
}

impl ImportReport {
    /// The report for people, one line an entry.
    pub fn to_text(&self) -> String {
        let Facts { bodies, joints, velocities, mass, moving_mass, .. } = &self.facts;
        let mut out = format!(
            "{bodies} moving bodies, {joints} joints, {velocities} velocities of the tree, {mass:.6} kg ({moving_mass:.6} kg of it move)\n"
        );
        for note in &self.notes {
            let _ = write!(out, "{}", note.sentence());
            if let Some(place) = &note.place {
                let _ = write!(out, " [{}:{}]", place.file, place.line);
            }
            out.push('\n');
        }
        out
    }
}
