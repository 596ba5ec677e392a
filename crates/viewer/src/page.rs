//! The page, built by `crates/viewer/page` and embedded.

/// The page of `gelenk view`.
pub(crate) const HTML: &str = include_str!("../dist/index.html");
/// Its program.
pub(crate) const SCRIPT: &str = include_str!("../dist/page.js");
/// Its looks.
pub(crate) const STYLE: &str = include_str!("../dist/page.css");
