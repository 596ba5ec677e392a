//! Optimal motions by direct multiple shooting (\[Laufen\] in REFERENCES.md, chapters I, V and VI): bounds, conditions,
//! periodicity, free end time.
//!
//! Data flow: a problem (states, controls, objective, conditions) → a [`Motion`] that carries every interval of the grid from one
//! node to the next, with derivatives → a nonlinear program of stages ([`program`]) → its solution ([`interior`]), certified by
//! running it again.

mod chain;
mod controls;
mod flow;
mod front;
pub mod gallery;
mod grid;
pub mod interior;
mod motion;
pub mod problem;
pub mod program;
pub mod scale;
pub mod shape;
pub mod sqp;
mod terms;
mod transcription;

pub use controls::ControlKind;
pub use flow::{
    At, Charted, ControlShape, Duration, Flow, FlowSizes, FormulaScratch, Formulas, Mechanism,
    MechanismScratch, Shooting, Source,
};
pub use grid::Grid;
pub use motion::{Arrival, Curvature, Fault, Linearized, Motion, Sizes};
pub use terms::{Reads, Terms};
pub use transcription::{Names, NodeTerms, Phase, Role, Transcription};
