//! The Lagrange engine: equations of motion in closed form, derived from energies.

pub mod simplify;
