//! Gelenk: multibody dynamics. One model file, four engines that check each other.

pub mod certificate;
pub mod export;
pub mod film;
pub mod hash;
pub mod recording;
mod svg;

pub use certificate::Certificate;
pub use gelenk_model as model;
pub use recording::{Recorder, Recording, RecordingError};

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
