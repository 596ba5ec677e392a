//! From a file to a model: reading, checking, building.

mod files;
mod nesting;
mod parse;
