//! Scopes: the model itself, and each use of a part.

use gelenk_expr::Expr;
use rustc_hash::FxHashMap;

use super::frame::Frame;
use crate::source::Span;
use crate::spec::tables::Contents;

/// Index of a [`Scope`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScopeId(pub(crate) usize);

impl ScopeId {
    /// The model file itself.
    pub(crate) const ROOT: ScopeId = ScopeId(0);
}

/// What a parameter name stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Its symbol, or the expression an instance gave for it.
    pub(crate) expr: Expr,
    /// Its value; `None` if it has none, which was reported.
    pub(crate) value: Option<f64>,
}

/// Names as one use of a part sees them.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    /// The scope around it.
    pub(crate) parent: Option<ScopeId>,
    /// Put before the names of its elements, outer prefixes included.
    pub(crate) prefix: String,
    /// Name and value of the repetition's index.
    pub(crate) index: Option<(&'a str, i64)>,
    /// Its parameters.
    pub(crate) parameters: FxHashMap<&'a str, Bound>,
    /// Its names for things outside.
    pub(crate) connect: FxHashMap<&'a str, String>,
    /// Its tables.
    pub(crate) contents: &'a Contents,
    /// Where it is placed in the world.
    pub(crate) frame: Frame,
    /// The instance that made it.
    pub(crate) instance: Option<Span>,
}
