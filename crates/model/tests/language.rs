//! The model language, feature by feature.

#![expect(clippy::unwrap_used, clippy::format_push_string, reason = "plain test code")]

#[path = "language/common.rs"]
mod common;
#[path = "language/expressions.rs"]
mod expressions;
#[path = "language/files.rs"]
mod files;
#[path = "language/joints.rs"]
mod joints;
#[path = "language/mass.rs"]
mod mass;
#[path = "language/parts.rs"]
mod parts;
#[path = "language/placement.rs"]
mod placement;
#[path = "language/robust.rs"]
mod robust;
#[path = "language/schema.rs"]
mod schema;
#[path = "language/start.rs"]
mod start;
