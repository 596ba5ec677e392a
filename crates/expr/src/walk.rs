//! Questions about whole expressions, answered without recursion.

use rustc_hash::FxHashSet;

use crate::func::Func;
use crate::node::{Expr, Node};
use crate::pool::Pool;

impl Pool {
    /// Every distinct part of the expressions, themselves included, parts before the whole.
    pub fn subexpressions(&self, roots: &[Expr]) -> Vec<Expr> {
        self.subexpressions_where(roots, |_| true)
    }

    /// Like [`subexpressions`](Self::subexpressions), without what lies below parts that are
    /// not wanted; these are left out as well.
    pub(crate) fn subexpressions_where(
        &self,
        roots: &[Expr],
        wanted: impl Fn(Expr) -> bool,
    ) -> Vec<Expr> {
        let mut seen: FxHashSet<Expr> = FxHashSet::default();
        let mut todo: Vec<Expr> = roots.to_vec();
        let mut found = Vec::new();
        while let Some(e) = todo.pop() {
            if wanted(e) && seen.insert(e) {
                found.push(e);
                todo.extend_from_slice(self.parts(e));
            }
        }
        // A part is created before the whole, so its handle is smaller.
        found.sort_unstable();
        found
    }

    /// The symbols in the expression, in the order of their first appearance in the text that
    /// [`display`](Self::display) gives, up to quotients. Functions of time are not among
    /// them, nor the time they depend on.
    pub fn symbols_of(&self, e: Expr) -> Vec<Expr> {
        self.leaves_of(e, |node| matches!(node, Node::Symbol(_)))
    }

    /// The functions of time in the expression, each order on its own, like
    /// [`symbols_of`](Self::symbols_of).
    pub fn functions_of_time_of(&self, e: Expr) -> Vec<Expr> {
        self.leaves_of(e, |node| matches!(node, Node::OfTime { .. }))
    }

    fn leaves_of(&self, e: Expr, wanted: impl Fn(Node<'_>) -> bool) -> Vec<Expr> {
        let mut seen: FxHashSet<Expr> = FxHashSet::default();
        let mut todo = vec![e];
        let mut found = Vec::new();
        while let Some(e) = todo.pop() {
            if self.is_constant(e) || !seen.insert(e) {
                continue;
            }
            if wanted(self.node(e)) {
                found.push(e);
            }
            todo.extend(self.parts(e).iter().rev());
        }
        found
    }

    /// Whether `part` occurs in `e`. A function of time f'(t) contains the time and itself,
    /// but not f(t).
    pub fn contains(&self, e: Expr, part: Expr) -> bool {
        let is_time = self.find_symbol(self.time_name()) == Some(part);
        let bits = self.variable_bits(part);
        let mut seen: FxHashSet<Expr> = FxHashSet::default();
        let mut todo = vec![e];
        while let Some(e) = todo.pop() {
            if e == part || is_time && matches!(self.node(e), Node::OfTime { .. }) {
                return true;
            }
            if self.variable_bits(e) & bits == bits && seen.insert(e) {
                todo.extend_from_slice(self.parts(e));
            }
        }
        false
    }

    /// Number of arithmetic operations to compute all the expressions when every shared part
    /// is computed once: n - 1 for n terms or factors or arguments of min and max, two for a
    /// conditional, one for any other function and any power.
    pub fn n_operations(&self, exprs: &[Expr]) -> usize {
        let count = |e: Expr| match self.node(e) {
            Node::Sum(parts) | Node::Product(parts) | Node::Apply(Func::Min | Func::Max, parts) => {
                parts.len() - 1
            }
            Node::Power(..) | Node::Apply(..) => 1,
            Node::If(..) => 2,
            Node::Number(_) | Node::Constant(_) | Node::Symbol(_) | Node::OfTime { .. } => 0,
        };
        self.subexpressions(exprs).into_iter().map(count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_in_order_of_appearance() {
        let mut pool = Pool::new();
        let e = pool.parse("b*sin(a) + c^b + g'(t)").unwrap();
        let names: Vec<String> =
            pool.symbols_of(e).into_iter().map(|s| pool.display(s).to_string()).collect();
        assert_eq!(names, ["b", "a", "c"]);
        assert_eq!(pool.functions_of_time_of(e).len(), 1);
    }

    #[test]
    fn containment() {
        let mut pool = Pool::new();
        let e = pool.parse("x*sin(y + 1) + f'(t)").unwrap();
        let part = pool.parse("sin(y + 1)").unwrap();
        let other = pool.parse("sin(y)").unwrap();
        let t = pool.time();
        let (f, f1) = (pool.function_of_time("f", 0), pool.function_of_time("f", 1));
        assert!(pool.contains(e, part));
        assert!(!pool.contains(e, other));
        assert!(pool.contains(e, t));
        assert!(pool.contains(e, f1));
        assert!(!pool.contains(e, f));
    }

    #[test]
    fn shared_parts_count_once() {
        let mut pool = Pool::new();
        let a = pool.parse("sin(x + y)^2").unwrap();
        let b = pool.parse("x*sin(x + y)").unwrap();
        assert_eq!(pool.n_operations(&[a]), 3);
        assert_eq!(pool.n_operations(&[a, b]), 4);
        assert_eq!(pool.n_operations(&[]), 0);
    }
}
