#![doc = include_str!("../README.md")]

mod chain;
mod cone;
mod impact;
mod law;
mod newton;
mod path;
mod problem;
mod settings;
mod system;

pub use impact::{Impact, ImpactOutcome};
pub use law::{Ended, Grip, Law, Level, Outcome, never};
pub use problem::{Block, Kind, Problem, Response, Singular, Weights};
pub use settings::Settings;
