//! Sums: flatten, collect like terms, sort.

use crate::node::{Expr, Node};
use crate::number::{Number, Total};
use crate::pool::Pool;

/// constant + Σ coefficient · rest, not yet sorted.
struct Terms {
    constant: Total,
    terms: Vec<(Expr, Total)>,
}

impl Terms {
    const EMPTY: Self = Self { constant: Total::ZERO, terms: Vec::new() };
}

impl Pool {
    /// The sum of the terms, in canonical form; 0 of none.
    ///
    /// Sums inside are flattened, also negated ones: x - (y - z) is x - y + z. Terms that
    /// differ by a numeric factor are collected, numbers added up. A sum with any other
    /// numeric factor stays as it is, as 2·(x + y), since nothing is expanded without
    /// [`expand`](Self::expand).
    pub fn add(&mut self, terms: &[Expr]) -> Expr {
        match *terms {
            [] => return Expr::ZERO,
            [a] | [a, Expr::ZERO] | [Expr::ZERO, a] => return a,
            _ => {}
        }
        let mut collected = Terms::EMPTY;
        for &term in terms {
            self.collect_terms(term, &Total::ONE, &mut collected);
        }
        self.finish_sum(collected)
    }

    /// a - b.
    pub fn sub(&mut self, a: Expr, b: Expr) -> Expr {
        if b == Expr::ZERO {
            return a;
        }
        let mut collected = Terms::EMPTY;
        self.collect_terms(a, &Total::ONE, &mut collected);
        self.collect_terms(b, &Total::from(&Number::MINUS_ONE), &mut collected);
        self.finish_sum(collected)
    }

    fn collect_terms(&mut self, e: Expr, scale: &Total, out: &mut Terms) {
        if let Node::Sum(parts) = self.node(e) {
            for i in 0..parts.len() {
                let part = self.parts(e)[i];
                self.collect_term(part, scale, out);
            }
        } else {
            self.collect_term(e, scale, out);
        }
    }

    fn collect_term(&mut self, e: Expr, scale: &Total, out: &mut Terms) {
        match self.node(e) {
            Node::Number(n) => {
                let mut n = Total::from(n);
                n.multiply(scale);
                out.constant.add(&n);
            }
            Node::Product(factors) => match self.as_number(factors[0]) {
                Some(coefficient) => {
                    let mut coefficient = Total::from(coefficient);
                    coefficient.multiply(scale);
                    out.terms.push((self.product_tail(e), coefficient));
                }
                None => out.terms.push((e, scale.clone())),
            },
            _ => out.terms.push((e, scale.clone())),
        }
    }

    fn finish_sum(&mut self, mut collected: Terms) -> Expr {
        let mut like = Vec::new();
        loop {
            like.clear();
            merge_like(&mut collected.terms, &mut like);
            if like.iter().any(|(rest, c)| c.is_zero() && self.is_singular(*rest)) {
                return self.undefined();
            }
            // Collecting can leave ±1 times a sum, to be flattened. The youngest handle first
            // makes the outcome independent of the order of the terms.
            let flat = like.iter().rfind(|(rest, c)| {
                (c.is_one() || c.is_minus_one()) && matches!(self.node(*rest), Node::Sum(_))
            });
            let Some((sum, c)) = flat else { break };
            collected.terms.retain(|(rest, _)| rest != sum);
            self.collect_terms(*sum, &Total::from(c), &mut collected);
        }
        like.retain(|(_, c)| !c.is_zero());
        like.sort_unstable_by(|a, b| self.compare(a.0, b.0));
        let mut parts: Vec<Expr> = Vec::with_capacity(like.len() + 1);
        for (rest, c) in like {
            parts.push(self.scaled(rest, &c));
        }
        let constant = collected.constant.round();
        if !constant.is_zero() {
            parts.push(self.number(constant));
        }
        match *parts {
            [] => Expr::ZERO,
            [only] => only,
            _ => self.intern(Node::Sum(&parts)),
        }
    }

    /// coefficient · rest, for a rest without numeric factor.
    fn scaled(&mut self, rest: Expr, coefficient: &Number) -> Expr {
        if coefficient.is_one() {
            return rest;
        }
        let c = self.coefficient(coefficient);
        match self.node(rest) {
            Node::Product(factors) => {
                let parts: Vec<Expr> = std::iter::once(c).chain(factors.iter().copied()).collect();
                self.intern(Node::Product(&parts))
            }
            _ => self.intern(Node::Product(&[c, rest])),
        }
    }

    /// A number as a factor; the float -1 is as good as the exact one.
    pub(crate) fn coefficient(&mut self, c: &Number) -> Expr {
        if c.is_minus_one() { Expr::MINUS_ONE } else { self.number(c.clone()) }
    }

    /// -e for a sum e: every term changes its sign, which keeps their order.
    pub(crate) fn negated_sum(&mut self, e: Expr) -> Expr {
        let mut parts = self.parts(e).to_vec();
        for part in &mut parts {
            *part = self.negated_term(*part);
        }
        self.intern(Node::Sum(&parts))
    }

    fn negated_term(&mut self, e: Expr) -> Expr {
        match self.node(e) {
            Node::Number(n) => {
                let n = -n;
                self.number(n)
            }
            Node::Product(factors) => match self.as_number(factors[0]) {
                Some(c) => {
                    let c = -c;
                    let rest = self.product_tail(e);
                    self.scaled(rest, &c)
                }
                None => self.scaled(e, &Number::MINUS_ONE),
            },
            _ => self.scaled(e, &Number::MINUS_ONE),
        }
    }

    /// Whether the expression reads as negative: a negative number, a negative coefficient, or
    /// a sum whose first term is such. Exactly one of e and -e does, except for 0.
    pub(crate) fn reads_negative(&self, e: Expr) -> bool {
        let leading = match self.node(e) {
            Node::Sum(terms) => terms[0],
            _ => e,
        };
        match self.node(leading) {
            Node::Number(n) => n.is_negative(),
            Node::Product(factors) => self.as_number(factors[0]).is_some_and(Number::is_negative),
            _ => false,
        }
    }
}

/// Adds up the coefficients of equal rests, also those that cancel, sorted by handle.
fn merge_like(terms: &mut [(Expr, Total)], like: &mut Vec<(Expr, Number)>) {
    terms.sort_unstable_by_key(|t| t.0);
    for group in terms.chunk_by(|a, b| a.0 == b.0) {
        let mut total = group[0].1.clone();
        for (_, c) in &group[1..] {
            total.add(c);
        }
        like.push((group[0].0, total.round()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> (Pool, Expr, Expr, Expr) {
        let mut pool = Pool::new();
        let (x, y, z) = (pool.symbol("x"), pool.symbol("y"), pool.symbol("z"));
        (pool, x, y, z)
    }

    #[test]
    fn like_terms_collect() {
        let (mut pool, x, y, _) = setup();
        let two_x = pool.mul(&[Expr::TWO, x]);
        assert_eq!(pool.add(&[x, x]), two_x);
        assert_eq!(pool.sub(two_x, x), x);
        let a = pool.add(&[x, y]);
        assert_eq!(pool.sub(a, a), Expr::ZERO);
        assert_eq!(pool.add(&[y, x]), a);
        let third = pool.rational(1, 3);
        let sixth = pool.rational(1, 6);
        let (p, q) = (pool.mul(&[third, x]), pool.mul(&[sixth, x]));
        assert_eq!(pool.add(&[p, q]), pool.mul(&[Expr::HALF, x]));
    }

    #[test]
    fn negated_sums_flatten() {
        let (mut pool, x, y, z) = setup();
        let d = pool.sub(y, z);
        let e = pool.sub(x, d);
        assert_eq!(pool.parts(e).len(), 3);
        let negated = pool.neg(d);
        assert_eq!(negated, pool.sub(z, y));
        assert_eq!(pool.neg(negated), d);
    }

    #[test]
    fn scaled_sums_stay() {
        let (mut pool, x, y, z) = setup();
        let s = pool.add(&[x, y]);
        let two_s = pool.mul(&[Expr::TWO, s]);
        let e = pool.add(&[two_s, z]);
        assert_eq!(pool.parts(e).len(), 2);
        // 2 s + z - 3 s = z - x - y
        let three = pool.num(3);
        let three_s = pool.mul(&[three, s]);
        let e = pool.sub(e, three_s);
        let expected = pool.sub(z, s);
        assert_eq!(e, expected);
    }

    #[test]
    fn reads_negative_is_one_of_two() {
        let (mut pool, x, y, _) = setup();
        for e in [x, pool.num(-3), pool.sub(x, y), pool.sub(y, x), pool.mul(&[x, y])] {
            let minus = pool.neg(e);
            assert!(pool.reads_negative(e) ^ pool.reads_negative(minus));
        }
    }
}
