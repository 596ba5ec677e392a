//! The header of a recording: everything a re-run and a reader need.

use gelenk_model::{BodyKind, Model, RunSettings};
use gelenk_optimize::problem::Solution;
use serde::{Deserialize, Serialize};

use super::state::Lengths;
use super::{FORMAT, RecordingError, base64};
use crate::verdict::VerdictLimits;

/// A file of the model, as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its name as the model calls it; never an absolute path.
    pub name: String,
    /// Its full text.
    pub text: String,
}

/// A mesh file of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeshFile {
    /// Its path below the model's folder.
    pub name: String,
    /// Its bytes; base64 in JSON.
    #[serde(rename = "base64", with = "base64")]
    pub bytes: Vec<u8>,
}

/// A value that replaced one of the file, as `--set name=value`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// What it sets.
    pub name: String,
    /// The value, as given.
    pub value: String,
}

/// What a recording of an optimal motion is made from, beside the model: the problem and the motion found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimum {
    /// Name of the problem.
    pub problem: String,
    /// The text of its file.
    pub text: String,
    /// Values given beside the file, of the problem's or of the model's parameters.
    pub set: Vec<Override>,
    /// Seconds between samples, at most.
    pub every: f64,
    /// Nodes and controls.
    pub motion: Solution,
    /// How the optimization ended: `optimal`, `infeasible`, ...; not known of older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl Optimum {
    /// How the optimization ended, if that is known and it came to no optimum.
    pub fn unsolved(&self) -> Option<&str> {
        self.status.as_deref().filter(|status| *status != "optimal")
    }
}

/// The first message of a recording: where the numbers come from and what they mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub format: u32,
    /// Version of Gelenk that wrote it.
    pub gelenk: String,
    /// Name of the model.
    pub model: String,
    /// The model's files, main file first; empty for a model built in code.
    pub sources: Vec<SourceFile>,
    /// Its mesh files.
    pub meshes: Vec<MeshFile>,
    /// Values given for this run.
    pub overrides: Vec<Override>,
    /// Engine and settings of the run.
    pub settings: RunSettings,
    /// Limits of the verdict; left out where they are the usual ones.
    #[serde(default, skip_serializing_if = "VerdictLimits::are_usual")]
    pub limits: VerdictLimits,
    /// Bodies and points in the order of the samples; the world first.
    pub bodies: Vec<BodyEntry>,
    /// Joints in the order of the samples.
    pub joints: Vec<JointEntry>,
    /// Row blocks in the order of the samples: joints, ties, equations.
    pub rows: Vec<RowEntry>,
    /// Of an optimal motion: what it is made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimum: Option<Optimum>,
}

/// A body in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyEntry {
    /// Its name.
    pub name: String,
    /// `world`, `rigid` or `point`.
    pub kind: String,
}

/// A joint in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JointEntry {
    /// Its name.
    pub name: String,
    /// Its type: `ball`, `hinge`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// Its two bodies; the reaction acts on the second.
    pub between: [String; 2],
    /// Its coordinates.
    pub coordinates: Vec<CoordinateEntry>,
}

/// A joint coordinate in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoordinateEntry {
    /// Its name: `angle`, ...
    pub name: String,
    /// `rad` or `m`.
    pub unit: String,
}

/// A row block in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowEntry {
    /// The element it comes from.
    pub name: String,
    /// Its number of rows.
    pub rows: usize,
}

/// The one field that says how to read the others.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Header {
    /// The header of a run of `model` with `settings`; for a model from files use [`Header::of_loaded`].
    pub fn new(
        model: &Model,
        settings: &RunSettings,
        sources: Vec<SourceFile>,
        overrides: Vec<Override>,
    ) -> Self {
        let body_name = |id: gelenk_model::BodyId| model.bodies[id.index()].name.clone();
        let bodies = model.bodies.iter().map(|body| BodyEntry {
            name: body.name.clone(),
            kind: match body.kind {
                BodyKind::World => "world",
                BodyKind::Rigid => "rigid",
                BodyKind::Point => "point",
            }
            .to_owned(),
        });
        let joints = model.joints.iter().map(|joint| JointEntry {
            name: joint.name.clone(),
            kind: joint.kind.type_name().to_owned(),
            between: joint.bodies.map(body_name),
            coordinates: joint
                .kind
                .equations()
                .coordinates()
                .iter()
                .enumerate()
                .map(|(which, coordinate)| CoordinateEntry {
                    name: coordinate.name.to_owned(),
                    unit: model.coordinate_units(joint, which)[0].to_owned(),
                })
                .collect(),
        });
        let rows = model
            .rows
            .iter()
            .map(|block| RowEntry { name: block.name.clone(), rows: block.n_rows });
        Header {
            format: FORMAT,
            gelenk: crate::VERSION.to_owned(),
            model: model.name.clone(),
            sources,
            meshes: Vec::new(),
            overrides,
            settings: settings.clone(),
            limits: VerdictLimits::default(),
            bodies: bodies.collect(),
            joints: joints.collect(),
            rows: rows.collect(),
            optimum: None,
        }
    }

    /// How long the lists of a sample are.
    pub(crate) fn lengths(&self) -> Lengths {
        Lengths {
            bodies: self.bodies.len(),
            coordinates: self.joints.iter().map(|joint| joint.coordinates.len()).sum(),
            rows: self.rows.iter().fold(0, |sum, block| sum.saturating_add(block.rows)),
            joints: self.joints.len(),
            blocks: self.rows.len(),
        }
    }

    /// The header as JSON; an error where it would not read back the same.
    pub(crate) fn to_json(&self) -> Result<Vec<u8>, RecordingError> {
        let fault = |what: String| RecordingError::Settings { what };
        let json = serde_json::to_vec(self).map_err(|error| fault(error.to_string()))?;
        match serde_json::from_slice::<Header>(&json) {
            Ok(back) if back == *self => Ok(json),
            _ => Err(fault("a setting is not a finite number".to_owned())),
        }
    }

    /// Reads the header back.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, RecordingError> {
        let unreadable = |error: serde_json::Error| RecordingError::NotARecording {
            what: format!("its header cannot be read: {error}"),
        };
        let version: Version = serde_json::from_slice(json).map_err(unreadable)?;
        if version.format > FORMAT {
            return Err(RecordingError::Newer { found: version.format, known: FORMAT });
        }
        serde_json::from_slice(json).map_err(unreadable)
    }
}
