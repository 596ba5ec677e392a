//! The reproducible order of terms and factors.

use std::cmp::Ordering;

use crate::node::{Expr, Node};
use crate::number::Number;
use crate::pool::Pool;

/// Structure is compared down to this depth, hashes of structure decide below it.
const MAX_DEPTH: u32 = 8;

/// A product seen as coefficient × factors.
struct Term<'a> {
    coefficient: Option<&'a Number>,
    factors: &'a [Expr],
}

impl Pool {
    /// The order in which terms and factors are kept.
    ///
    /// Factors: numbers, constants, symbols by rank (order of first declaration), functions of
    /// time, functions, conditionals, sums. Terms: factor by factor, higher powers and longer
    /// products first, numbers last; coefficients decide only between otherwise equal terms.
    /// The order depends on the structure and on ranks alone, so the same input is sorted the
    /// same way in every run.
    pub fn compare(&self, a: Expr, b: Expr) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.compare_terms(a, b, MAX_DEPTH)
            .then_with(|| self.structural_hash(a).cmp(&self.structural_hash(b)))
            .then(a.cmp(&b))
    }

    /// The order of factors: like [`compare`](Self::compare), but numbers come first.
    pub(crate) fn compare_factors(&self, a: Expr, b: Expr) -> Ordering {
        self.compare_powers(a, b, MAX_DEPTH).then_with(|| self.compare(a, b))
    }

    fn compare_terms(&self, a: Expr, b: Expr, depth: u32) -> Ordering {
        if a == b || depth == 0 {
            return Ordering::Equal;
        }
        let (one_a, one_b) = ([a], [b]);
        let (ta, tb) = (self.as_term(&one_a), self.as_term(&one_b));
        for (&fa, &fb) in ta.factors.iter().zip(tb.factors) {
            let order = self.compare_powers(fa, fb, depth);
            if order.is_ne() {
                return order;
            }
        }
        let longer_first = tb.factors.len().cmp(&ta.factors.len());
        longer_first.then_with(|| match (ta.coefficient, tb.coefficient) {
            (Some(x), Some(y)) => x.order(y),
            (x, y) => x.is_some().cmp(&y.is_some()),
        })
    }

    fn as_term<'a>(&'a self, e: &'a [Expr; 1]) -> Term<'a> {
        match self.node(e[0]) {
            Node::Number(n) => Term { coefficient: Some(n), factors: &[] },
            Node::Product(factors) => match self.as_number(factors[0]) {
                Some(n) => Term { coefficient: Some(n), factors: &factors[1..] },
                None => Term { coefficient: None, factors },
            },
            _ => Term { coefficient: None, factors: e },
        }
    }

    fn compare_powers(&self, a: Expr, b: Expr, depth: u32) -> Ordering {
        if a == b || depth == 0 {
            return Ordering::Equal;
        }
        let (base_a, exponent_a) = self.as_power(a);
        let (base_b, exponent_b) = self.as_power(b);
        self.compare_atoms(base_a, base_b, depth - 1).then_with(|| {
            match (self.as_number(exponent_a), self.as_number(exponent_b)) {
                (Some(x), Some(y)) => y.order(x),
                _ => self.compare_terms(exponent_a, exponent_b, depth - 1),
            }
        })
    }

    /// e as base and exponent; the exponent of everything but a power is 1.
    pub(crate) fn as_power(&self, e: Expr) -> (Expr, Expr) {
        match self.node(e) {
            Node::Power(base, exponent) => (base, exponent),
            _ => (e, Expr::ONE),
        }
    }

    fn compare_atoms(&self, a: Expr, b: Expr, depth: u32) -> Ordering {
        if a == b || depth == 0 {
            return Ordering::Equal;
        }
        let (na, nb) = (self.node(a), self.node(b));
        class(na).cmp(&class(nb)).then_with(|| match (na, nb) {
            (Node::Number(x), Node::Number(y)) => x.order(y),
            (Node::Constant(x), Node::Constant(y)) => x.cmp(&y),
            (Node::Symbol(_), Node::Symbol(_)) => self.rank(a).cmp(&self.rank(b)),
            (Node::OfTime { order: x, .. }, Node::OfTime { order: y, .. }) => {
                self.rank(a).cmp(&self.rank(b)).then(x.cmp(&y))
            }
            (Node::Apply(f, x), Node::Apply(g, y)) => {
                f.cmp(&g).then_with(|| self.compare_lists(x, y, depth - 1))
            }
            (Node::If(f, x), Node::If(g, y)) => {
                f.cmp(&g).then_with(|| self.compare_lists(&x, &y, depth - 1))
            }
            (Node::Sum(x), Node::Sum(y)) => self.compare_lists(x, y, depth - 1),
            _ => self.compare_terms(a, b, depth - 1),
        })
    }

    fn compare_lists(&self, a: &[Expr], b: &[Expr], depth: u32) -> Ordering {
        a.iter()
            .zip(b)
            .map(|(&x, &y)| self.compare_terms(x, y, depth))
            .find(|order| order.is_ne())
            .unwrap_or(a.len().cmp(&b.len()))
    }
}

fn class(node: Node<'_>) -> u8 {
    match node {
        Node::Number(_) => 0,
        Node::Constant(_) => 1,
        Node::Symbol(_) => 2,
        Node::OfTime { .. } => 3,
        Node::Apply(..) => 4,
        Node::If(..) => 5,
        Node::Sum(_) => 6,
        Node::Product(_) => 7,
        Node::Power(..) => 8,
    }
}

#[cfg(test)]
mod tests {
    use crate::Pool;

    #[test]
    fn terms_and_factors_come_in_reading_order() {
        let mut pool = Pool::new();
        for name in ["m", "l", "g", "x"] {
            pool.symbol(name);
        }
        let mut show = |text: &str| {
            let e = pool.parse(text).unwrap();
            pool.display(e).to_string()
        };
        assert_eq!(show("1 + x + x^2"), "x^2 + x + 1");
        assert_eq!(show("cos(x)*l*m*2"), "2*m*l*cos(x)");
        assert_eq!(show("(x + 1)*g"), "g*(x + 1)");
        assert_eq!(show("x*sqrt(2)"), "sqrt(2)*x");
        assert_eq!(show("g + l*x + l + m"), "m + l*x + l + g");
    }
}
