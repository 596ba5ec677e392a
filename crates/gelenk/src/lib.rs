//! Gelenk: multibody dynamics. One model file, four engines that check each other.
//!
//! This crate is the facade: [`simulate()`] runs a [`model`] with the engine it names, [`recording`] keeps the run in an
//! open, crash-safe file with a [`Certificate`] that a re-run can check, [`export`] gives tables, [`film`] and
//! [`plot`] give pictures.

pub mod certificate;
pub mod export;
pub mod film;
pub mod hash;
pub mod plot;
pub mod recording;
pub mod simulate;
mod svg;

pub use certificate::Certificate;
pub use gelenk_model as model;
pub use gelenk_scenes as scenes;
pub use recording::{Recorder, Recording, RecordingError};
pub use simulate::{Both, ENGINES, SimulateError, simulate, verify};

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
