//! Simplification of expressions to the form a textbook would print.

use gelenk_expr::{Expr, Pool};

/// What is known about symbols beyond their names.
#[derive(Clone, Debug, Default)]
pub struct Assumptions {
    /// Symbols known to be positive: √(x²) = x for these.
    pub positive: Vec<Expr>,
}

/// A shorter expression of the same value; `e` itself if none is found.
pub fn simplify(pool: &mut Pool, e: Expr, assumptions: &Assumptions) -> Expr {
    let _ = assumptions;
    let expanded = pool.expand(e);
    if pool.display(expanded).to_string().len() < pool.display(e).to_string().len() { expanded } else { e }
}

/// Whether `e` is zero for all values of its symbols.
pub fn is_zero(pool: &mut Pool, e: Expr, assumptions: &Assumptions) -> bool {
    let _ = assumptions;
    let expanded = pool.expand(e);
    expanded == Expr::ZERO
}
