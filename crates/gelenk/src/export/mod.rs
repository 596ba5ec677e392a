//! Results for other programs: tables as CSV and Parquet, samples as JSON, motions as glTF and MCAP with Foxglove's schemas, plots.
//!
//! All tables give the same numbers under the same names: bodies in the file frame (the one that the model's `position`
//! and `rotation` place), points, markers, joints with coordinates and reactions, the energy ledger and the worst
//! gaps. Positions and rotations are in the world, SI units, radians.

mod columns;
mod csv;
mod curves;
mod foxglove;
pub(crate) mod gltf;
mod json;
mod parquet;
pub mod surface;

pub use self::csv::write_csv;
pub use self::parquet::write_parquet;
pub use columns::{Column, Columns};
pub use curves::plot_svg;
pub use foxglove::write_foxglove;
pub use gltf::{to_glb, to_gltf};
pub use json::sample_json;

use crate::recording::RecordingError;

/// Why a table cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The samples cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The samples are not of this model.
    #[error("the samples are of another model than `{model}`: {what}")]
    OtherModel {
        /// The model.
        model: String,
        /// What does not fit.
        what: String,
    },
    /// The table cannot be written: disk full, pipe closed.
    #[error("the table cannot be written: {0}")]
    Write(#[from] std::io::Error),
    /// There is no such quantity.
    #[error("the recording has no `{name}`{}", near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    NoColumn {
        /// What was asked for.
        name: String,
        /// The nearest that is there.
        near: Option<String>,
    },
    /// The Parquet writer refuses.
    #[error("the Parquet file cannot be written: {0}")]
    Parquet(String),
}

impl ExportError {
    /// Whether the operating system said no (exit code 4).
    pub fn is_io(&self) -> bool {
        match self {
            ExportError::Recording(error) => error.is_io(),
            ExportError::Write(_) | ExportError::Parquet(_) => true,
            ExportError::OtherModel { .. } | ExportError::NoColumn { .. } => false,
        }
    }
}
