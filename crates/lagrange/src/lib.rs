//! The Lagrange engine: equations of motion in closed form, derived from energies.

pub mod deck;
mod factor;
mod recombine;
pub mod ring;
pub mod simplify;
