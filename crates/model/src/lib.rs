//! The Gelenk model: bodies, joints, forces, the file format and its diagnostics. Knows no engine.

pub mod assemble;
pub mod body;
pub mod bound;
pub mod builder;
pub mod check;
pub mod contact;
pub mod description;
pub mod diagnostic;
pub mod equation;
pub mod factor;
pub mod force;
pub mod graph;
mod idle;
pub mod impact;
pub mod joint;
pub mod limits;
mod linear;
pub mod load;
pub mod math;
pub mod mesh;
pub mod model;
pub mod posing;
pub mod reach;
mod render;
pub mod rows;
pub mod run;
pub mod settings;
pub mod shape;
pub mod signal;
pub mod source;
pub mod spec;
pub mod spin;
pub mod state;
pub mod variation;

pub use assemble::{AssembleOptions, AssembleReport, Outcome, assemble};
pub use body::{Body, BodyId, BodyKind};
pub use builder::{BodyDef, Builder};
pub use check::{CheckOptions, CheckReport, check, check_state};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use idle::IdleAxes;
pub use impact::ImpactLaw;
pub use joint::{Joint, JointId, JointKind};
pub use limits::Limits;
pub use load::{
    FileFault, FileSet, Folder, LoadOptions, Loaded, load_path, load_text, number_of_unit,
    read_problem, solver_today,
};
pub use model::{Input, Marker, Model, Parameter};
pub use rows::{Instant, RowBlock, RowKind};
pub use run::{
    ContactForce, Event, Ledger, Observer, Reaction, RunFailure, RunReport, Sample, Statistics,
    Stop,
};
pub use settings::{Flight, RunSettings};
pub use source::{FileId, Place, SourceMap, Span};
pub use spec::json_schema;
pub use spin::HeldSpin;
pub use state::{ContactMemory, Pose, State, Twist, Wrench};
