//! Gelenk: multibody dynamics. One model file, four engines that check each other.

pub mod certificate;
pub mod converge;
pub mod export;
pub mod film;
pub mod hash;
pub mod recording;
pub mod report;
pub mod start;
mod svg;
pub mod thin;

pub use certificate::Certificate;
pub use gelenk_model as model;
pub use gelenk_scenes as scenes;
pub use recording::{Recorder, Recording, RecordingError};

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// x
pub fn simulate(
    model: &model::Model,
    settings: &model::RunSettings,
    observer: &mut dyn model::Observer,
) -> Result<model::RunReport, model::RunFailure> {
    gelenk_impulse::run(model, settings, observer)
}
