//! The Gelenk model: bodies, joints, forces, the file format and its diagnostics. Knows no engine.

pub mod assemble;
pub mod body;
pub mod builder;
pub mod diagnostic;
pub mod check;
pub mod equation;
pub mod force;
pub mod graph;
pub mod joint;
pub mod limits;
pub mod load;
mod linear;
pub mod math;
pub mod mesh;
pub mod model;
mod render;
pub mod rows;
pub mod run;
pub mod settings;
pub mod shape;
pub mod signal;
pub mod source;
pub mod spec;
pub mod state;

pub use assemble::{AssembleOptions, AssembleReport, Outcome, assemble};
pub use body::{Body, BodyId, BodyKind};
pub use builder::{BodyDef, Builder};
pub use check::{CheckOptions, CheckReport, check};
pub use joint::{Joint, JointId, JointKind};
pub use model::{Marker, Model, Parameter};
pub use rows::{Instant, RowBlock, RowKind};
pub use run::{Event, Ledger, Observer, Reaction, RunFailure, RunReport, Sample};
pub use settings::{Flight, RunSettings};
pub use state::{Pose, State, Twist, Wrench};
