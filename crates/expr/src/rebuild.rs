//! Rebuilding expressions from changed parts: substitution and expansion.

use rustc_hash::FxHashMap;

use crate::node::{Expr, Node};
use crate::number::Number;
use crate::pool::Pool;
use crate::rational::Rational;

/// Sums to higher powers are not expanded.
const MAX_EXPANDED_POWER: i64 = 64;

impl Pool {
    /// Replaces every occurrence of each first expression by the second, all at once: with
    /// x -> y, y -> x the two change places. What is put in is not searched again.
    ///
    /// The first expressions may be symbols, functions of time (each order on its own) or any
    /// other expression that occurs as a whole part: in x + y + z there is no x + y.
    pub fn substitute(&mut self, e: Expr, replacements: &[(Expr, Expr)]) -> Expr {
        self.substitute_all(&[e], replacements)[0]
    }

    /// [`substitute`](Self::substitute) in several expressions, sharing the work.
    pub fn substitute_all(&mut self, exprs: &[Expr], replacements: &[(Expr, Expr)]) -> Vec<Expr> {
        let mut done: FxHashMap<Expr, Expr> = FxHashMap::default();
        for &(from, to) in replacements {
            done.entry(from).or_insert(to);
        }
        let order = self.subexpressions_where(exprs, |e| !done.contains_key(&e));
        for e in order {
            let new = self.rebuild(e, &done);
            done.insert(e, new);
        }
        exprs.iter().map(|e| done[e]).collect()
    }

    /// Replaces an unspecified function of time and its derivatives, f(t), f'(t), ..., by an
    /// expression and its time derivatives.
    pub fn substitute_function(&mut self, e: Expr, name: &str, value: Expr) -> Expr {
        let time = self.time();
        let orders: Vec<(Expr, u32)> = self
            .functions_of_time_of(e)
            .into_iter()
            .filter_map(|f| match self.node(f) {
                Node::OfTime { name: n, order } if n == name => Some((f, order)),
                _ => None,
            })
            .collect();
        let mut replacements = Vec::with_capacity(orders.len());
        for (f, order) in orders {
            let mut derivative = value;
            for _ in 0..order {
                derivative = self.diff(derivative, time);
            }
            replacements.push((f, derivative));
        }
        self.substitute(e, &replacements)
    }

    /// e with its parts replaced as `new` says.
    fn rebuild(&mut self, e: Expr, new: &FxHashMap<Expr, Expr>) -> Expr {
        let get = |part: &Expr| new.get(part).copied().unwrap_or(*part);
        let parts: Vec<Expr> = self.parts(e).iter().map(get).collect();
        if parts == self.parts(e) {
            return e;
        }
        match self.node(e) {
            Node::Sum(_) => self.add(&parts),
            Node::Product(_) => self.mul(&parts),
            Node::Power(..) => self.pow(parts[0], parts[1]),
            Node::Apply(func, _) => self.func(func, &parts),
            Node::If(comparison, _) => {
                self.if_else(comparison, parts[0], parts[1], parts[2], parts[3])
            }
            Node::Number(_) | Node::Constant(_) | Node::Symbol(_) | Node::OfTime { .. } => e,
        }
    }

    /// Multiplies products of sums out, everywhere in the expression, and positive integer
    /// powers of sums up to 64: (x + y)² = x² + 2 x y + y².
    ///
    /// Two polynomials in the same atoms are equal exactly if the expansion of their
    /// difference is 0. The number of terms can grow quickly.
    pub fn expand(&mut self, e: Expr) -> Expr {
        let mut done: FxHashMap<Expr, Expr> = FxHashMap::default();
        for e in self.subexpressions(&[e]) {
            let rebuilt = self.rebuild(e, &done);
            let expanded = self.expand_top(rebuilt);
            done.insert(e, expanded);
        }
        done[&e]
    }

    /// Expands the outermost product or power of expanded parts. The result is a sum of
    /// products without sums among the factors, so once is enough.
    fn expand_top(&mut self, e: Expr) -> Expr {
        match self.node(e) {
            Node::Sum(terms) => {
                let terms: Vec<Expr> = terms.to_vec();
                let terms: Vec<Expr> = terms.into_iter().map(|t| self.expand_term(t)).collect();
                self.add(&terms)
            }
            _ => self.expand_term(e),
        }
    }

    fn expand_term(&mut self, e: Expr) -> Expr {
        match self.node(e) {
            Node::Product(factors) => {
                let factors = factors.to_vec();
                let mut result = Expr::ONE;
                for f in factors {
                    let f = self.expand_power(f);
                    result = self.distribute(result, f);
                }
                result
            }
            _ => self.expand_power(e),
        }
    }

    fn expand_power(&mut self, e: Expr) -> Expr {
        let Node::Power(base, exponent) = self.node(e) else { return e };
        let Some(n) = self.as_rational(exponent).and_then(Rational::to_i64) else { return e };
        if !matches!(self.node(base), Node::Sum(_)) || !(2..=MAX_EXPANDED_POWER).contains(&n) {
            return e;
        }
        let mut result = base;
        for _ in 1..n {
            result = self.distribute(result, base);
        }
        result
    }

    /// a·b, multiplied out one sum by the other.
    fn distribute(&mut self, a: Expr, b: Expr) -> Expr {
        let terms = |pool: &Self, e| match pool.node(e) {
            Node::Sum(terms) => terms.to_vec(),
            _ => vec![e],
        };
        let (a_terms, b_terms) = (terms(self, a), terms(self, b));
        let mut products = Vec::with_capacity(a_terms.len() * b_terms.len());
        for &x in &a_terms {
            for &y in &b_terms {
                products.push(self.mul(&[x, y]));
            }
        }
        // Combining powers can uncover a sum, as (s^(1/2) s^(1/2)) does.
        let nested = products.iter().any(|&p| self.hides_sum(p));
        if nested {
            for p in &mut products {
                *p = self.expand_top(*p);
            }
        }
        self.add(&products)
    }

    /// Whether a product of two expanded terms can itself be expanded.
    fn hides_sum(&self, e: Expr) -> bool {
        let is_sum = |f: Expr| {
            let (base, exponent) = self.as_power(f);
            let positive = self.as_rational(exponent).and_then(Rational::to_i64);
            matches!(self.node(base), Node::Sum(_))
                && positive.is_some_and(|n| (1..=MAX_EXPANDED_POWER).contains(&n))
        };
        match self.node(e) {
            Node::Product(factors) => factors.iter().any(|&f| is_sum(f)),
            _ => is_sum(e),
        }
    }

    /// The numeric factor of a term and the rest: 2·x·y is (2, x·y), a number n is (n, 1).
    pub fn coefficient_and_rest(&mut self, e: Expr) -> (Number, Expr) {
        match self.node(e) {
            Node::Number(n) => (n.clone(), Expr::ONE),
            Node::Product(factors) => match self.as_number(factors[0]).cloned() {
                Some(c) => (c, self.product_tail(e)),
                None => (Number::ONE, e),
            },
            _ => (Number::ONE, e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_expand(text: &str, expected: &str) {
        let mut pool = Pool::new();
        let e = pool.parse(text).unwrap();
        let expanded = pool.expand(e);
        let expected = pool.parse(expected).unwrap();
        assert_eq!(expanded, expected, "{}", pool.display(expanded));
        assert_eq!(pool.expand(expanded), expanded);
    }

    #[test]
    fn products_of_sums_expand() {
        check_expand("(x + y)^2", "x^2 + 2*x*y + y^2");
        check_expand("(x + 1)*(x - 1)", "x^2 - 1");
        check_expand("2*(x + y) - (x + y)", "x + y");
        check_expand("x*(y*(z + 1) + 2)", "x*y*z + x*y + 2*x");
        check_expand("sin(2*(x + y))", "sin(2*x + 2*y)");
        check_expand("sqrt(x + y)*(sqrt(x + y) + 1)", "x + y + sqrt(x + y)");
        check_expand("(x + y)^3 - x^3 - y^3 - 3*x*y*(x + y)", "0");
        check_expand("1/(x + y)^2", "1/(x + y)^2");
        check_expand("(x + y)/(x + y + 1)", "x/(x + y + 1) + y/(x + y + 1)");
    }

    #[test]
    fn substitution_is_simultaneous() {
        let mut pool = Pool::new();
        let e = pool.parse("x + 2*y").unwrap();
        let (x, y) = (pool.symbol("x"), pool.symbol("y"));
        let swapped = pool.substitute(e, &[(x, y), (y, x)]);
        assert_eq!(swapped, pool.parse("y + 2*x").unwrap());
        let zero = pool.substitute(e, &[(x, Expr::ZERO), (y, Expr::ZERO)]);
        assert_eq!(zero, Expr::ZERO);
        let e = pool.parse("sin(x)^2 + sin(x)").unwrap();
        let s = pool.parse("sin(x)").unwrap();
        assert_eq!(pool.substitute(e, &[(s, y)]), pool.parse("y^2 + y").unwrap());
    }

    #[test]
    fn substitution_meets_division_by_zero() {
        let mut pool = Pool::new();
        let e = pool.parse("1/x + y").unwrap();
        let x = pool.symbol("x");
        let result = pool.substitute(e, &[(x, Expr::ZERO)]);
        assert!(pool.is_singular(result));
        let e = pool.parse("sin(x)/x").unwrap();
        assert_eq!(pool.substitute(e, &[(x, Expr::ZERO)]), pool.undefined());
    }

    #[test]
    fn functions_of_time_with_their_derivatives() {
        let mut pool = Pool::new();
        pool.function_of_time("f", 0);
        let e = pool.parse("f''(t) + f(t)").unwrap();
        let value = pool.parse("t^3").unwrap();
        assert_eq!(pool.substitute_function(e, "f", value), pool.parse("6*t + t^3").unwrap());
    }
}
