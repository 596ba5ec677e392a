//! The library inside functional mock-up units: the C interface of FMI 3.0 and FMI 2.0 (co-simulation) over [`gelenk::fmu::Machine`].
//!
//! It is the one crate with `unsafe`, and it has nothing else: `memory` turns pointers of the importer into slices and texts and back,
//! [`instance`] is what a handle points to (safe), `three` and `two` are the functions of the two versions. What the importer must keep to is
//! the standard: handles are those that it was given and has not freed, and a pointer with a count points to as many values. Null pointers are
//! refused; panics never pass the border.

pub mod instance;
mod memory;
pub mod three;
pub mod two;
