//! Sparse linear algebra on the rows of a mechanism: rank, dependence and least squares without squaring.
//!
//! A `BlockMatrix` A has a block of rows for each row block of the model and a group of columns for each free
//! body. [`Plan`] fixes the order in which bodies are eliminated, `factor` eliminates them by orthogonal
//! transformations of small dense fronts (a multifrontal QR, \[Davis 2011\]), so that a tree costs time and memory
//! in proportion to its bodies and a loop little more. From it come
//! - the rank of A and a basis of the combinations of rows that vanish ([`rank`]),
//! - in file order, the rows that depend on earlier ones ([`surplus_rows`]),
//! - damped least squares, min |A x + b|² + δ² |x + d|² ([`damped_least_squares`]).

mod least_squares;
mod matrix;
mod part;
mod plan;
mod posture;
mod qr;
mod rank;
mod surplus;
#[cfg(test)]
mod tests;

pub(crate) use least_squares::damped_least_squares;
pub(crate) use part::{Metric, Part, Places};
pub(crate) use plan::Plan;
pub(crate) use posture::Posture;
pub(crate) use rank::{Rank, rank};
pub(crate) use surplus::{Surplus, strongest_rows, surplus_rows};
