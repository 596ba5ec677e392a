//! Gelenk: multibody dynamics. One model file, four engines that check each other.
//!
//! This crate is the facade: [`simulate()`] runs a [`model`] with the engine it names (all of them are in [`mod@engine`]), [`recording`] keeps the run in an
//! open, crash-safe file with a [`Certificate`] that a re-run can check, [`export`] gives tables, [`film`] and
//! [`plot`] give pictures, [`converge`] measures orders, [`worlds`] steps many models at once, [`sweep`] runs a model for many values, [`tables`] and [`mod@bench`] measure the
//! method.
//!
//! ```
//! use gelenk::model::{LoadOptions, load_text};
//!
//! let text = gelenk::scenes::scene("double-pendulum").ok_or("no such model")?.text;
//! let model = load_text("double-pendulum", text, &LoadOptions::default())?.model;
//! let report = gelenk::simulate(&model, &model.run, &mut ())?;
//! assert!(report.worst_gaps.iter().all(|gap| *gap <= model.run.tolerance));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/double_pendulum.rs` watches a run, `examples/own_model.rs` builds a model in code.

pub mod accuracy;
pub mod actuator;
pub mod bench;
pub mod certificate;
pub mod compare;
pub mod converge;
pub mod dae;
pub mod decks;
pub mod derive;
pub mod drift;
pub mod engine;
pub mod export;
pub mod files;
pub mod film;
pub mod fmu;
pub mod hash;
mod idle;
pub mod import;
pub mod lagrange;
pub mod optimize;
pub mod papers;
pub mod picture;
pub mod plot;
pub mod points;
pub mod precision;
pub mod quantity;
pub mod recording;
pub mod report;
pub mod sensitivity;
pub mod serve;
pub mod settings;
pub mod simulate;
pub mod singular;
pub mod start;
mod svg;
pub mod sweep;
pub mod tables;
pub mod thin;
pub mod verdict;
pub mod worlds;

pub use certificate::Certificate;
pub use engine::ENGINES;
pub use gelenk_expr as expr;
pub use gelenk_expr::nearest;
pub use gelenk_impulse::control;
pub use gelenk_lagrange::deck;
pub use gelenk_model as model;
pub use gelenk_model::number_of_unit;
pub use gelenk_scenes as scenes;
pub use recording::{Recorder, Recording, RecordingError};
pub use settings::{SettingsError, check_settings};
pub use simulate::{
    Both, SimulateError, simulate, simulate_controlled, simulate_judged, simulate_loaded, verify,
};

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The value of an expression without names, such as `1/240` or `2*pi`; else what is wrong with it.
pub fn constant(text: &str) -> Result<f64, String> {
    let mut pool = gelenk_expr::Pool::new();
    let expr = pool.parse(text).map_err(|error| match error.help {
        Some(help) => format!("{}; {help}", error.message),
        None => error.message,
    })?;
    pool.as_f64(expr).ok_or_else(|| "it must be a number".to_owned())
}
