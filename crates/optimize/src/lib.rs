//! Optimal motions by direct multiple shooting ([Laufen] in REFERENCES.md, chapters I, V and VI): bounds, conditions,
//! periodicity, free end time.
//!
//! Data flow: a problem (states, controls, objective, conditions) → a [`Motion`] that carries every interval of the grid from one
//! node to the next, with derivatives → a nonlinear program of stages → its solution, certified by running it again.

mod motion;

pub use motion::{Arrival, Curvature, Fault, Linearized, Motion, Sizes};
