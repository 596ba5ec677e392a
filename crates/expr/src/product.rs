//! Products: flatten, combine equal bases, sort.

use crate::func::Func;
use crate::node::{Expr, Node};
use crate::number::Total;
use crate::pool::Pool;

/// coefficient · Π base^exponent, not yet sorted.
struct Factors {
    coefficient: Total,
    powers: Vec<(Expr, Expr)>,
}

impl Pool {
    /// The product of the factors, in canonical form; 1 of none.
    ///
    /// Products inside are flattened, numbers multiplied, powers of one base combined:
    /// x^a x^b = x^(a+b), exp(a) exp(b) = exp(a + b). 0 times anything is 0, unless a division
    /// by an exact zero takes part, when the product is [`undefined`](Self::undefined). -1
    /// times a sum changes the signs of its terms; nothing else is expanded.
    pub fn mul(&mut self, factors: &[Expr]) -> Expr {
        match *factors {
            [] => return Expr::ONE,
            [a] | [a, Expr::ONE] | [Expr::ONE, a] => return a,
            _ => {}
        }
        let mut collected = Factors { coefficient: Total::ONE, powers: Vec::new() };
        let mut pending = factors.to_vec();
        // Combined powers may turn into numbers or other bases, and then take part again.
        while !pending.is_empty() {
            for e in pending.drain(..) {
                self.collect_factors(e, &mut collected);
            }
            self.combine_bases(&mut collected.powers, &mut pending);
        }
        self.finish_product(collected)
    }

    /// a/b = a·b^(-1). Division by an exact zero stays as the unevaluated 0^(-1), which
    /// evaluates to infinity.
    pub fn div(&mut self, a: Expr, b: Expr) -> Expr {
        let inverse = self.pow(b, Expr::MINUS_ONE);
        self.mul(&[a, inverse])
    }

    /// -a.
    pub fn neg(&mut self, a: Expr) -> Expr {
        self.mul(&[Expr::MINUS_ONE, a])
    }

    fn collect_factors(&self, e: Expr, out: &mut Factors) {
        match self.node(e) {
            Node::Product(factors) => {
                for &f in factors {
                    self.collect_factor(f, out);
                }
            }
            _ => self.collect_factor(e, out),
        }
    }

    fn collect_factor(&self, e: Expr, out: &mut Factors) {
        match self.node(e) {
            Node::Number(n) => out.coefficient.multiply(&n.into()),
            Node::Power(base, exponent) => out.powers.push((base, exponent)),
            Node::Apply(Func::Exp, &[x]) => out.powers.push((Expr::E, x)),
            _ => out.powers.push((e, Expr::ONE)),
        }
    }

    /// Moves each base that occurs more than once, as one power, to `combined`.
    fn combine_bases(&mut self, powers: &mut Vec<(Expr, Expr)>, combined: &mut Vec<Expr>) {
        if powers.len() < 2 {
            return;
        }
        powers.sort_unstable();
        let mut kept = 0;
        let mut i = 0;
        while i < powers.len() {
            let base = powers[i].0;
            let n = powers[i..].iter().take_while(|p| p.0 == base).count();
            if n == 1 {
                powers[kept] = powers[i];
                kept += 1;
            } else {
                let exponents: Vec<Expr> = powers[i..i + n].iter().map(|p| p.1).collect();
                let exponent = self.add(&exponents);
                combined.push(self.pow(base, exponent));
            }
            i += n;
        }
        powers.truncate(kept);
    }

    fn finish_product(&mut self, collected: Factors) -> Expr {
        let Factors { coefficient, powers } = collected;
        let coefficient = coefficient.round();
        if coefficient.is_zero() {
            let singular = powers.iter().any(|&(base, exponent)| {
                (base == Expr::ZERO && self.reads_negative(exponent))
                    || self.is_singular(base)
                    || self.is_singular(exponent)
            });
            return if singular { self.undefined() } else { Expr::ZERO };
        }
        let mut parts: Vec<Expr> = Vec::with_capacity(powers.len() + 1);
        for (base, exponent) in powers {
            parts.push(self.plain_power(base, exponent));
        }
        parts.sort_unstable_by(|&a, &b| self.compare_factors(a, b));
        if coefficient.is_one() && !parts.is_empty() {
            return match *parts {
                [only] => only,
                _ => self.intern(Node::Product(&parts)),
            };
        }
        match *parts {
            [] => self.number(coefficient),
            [sum] if coefficient.is_minus_one() && matches!(self.node(sum), Node::Sum(_)) => {
                self.negated_sum(sum)
            }
            _ => {
                let c = self.coefficient(&coefficient);
                parts.insert(0, c);
                self.intern(Node::Product(&parts))
            }
        }
    }

    /// base^exponent as it was taken apart, without looking for another form.
    fn plain_power(&mut self, base: Expr, exponent: Expr) -> Expr {
        if exponent == Expr::ONE {
            base
        } else if base == Expr::E {
            self.intern(Node::Apply(Func::Exp, &[exponent]))
        } else {
            self.intern(Node::Power(base, exponent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bases_combine() {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        let y = pool.symbol("y");
        let squared = pool.pow(x, Expr::TWO);
        assert_eq!(pool.mul(&[x, x]), squared);
        let root = pool.sqrt(x);
        assert_eq!(pool.mul(&[root, root]), x);
        assert_eq!(pool.div(x, x), Expr::ONE);
        let p = pool.mul(&[x, y]);
        assert_eq!(pool.div(p, y), x);
        let (xa, xb) = (pool.pow(x, y), pool.pow(x, Expr::TWO));
        let exponent = pool.add(&[y, Expr::TWO]);
        assert_eq!(pool.mul(&[xa, xb]), pool.pow(x, exponent));
        let a = pool.func(Func::Abs, &[x]);
        assert_eq!(pool.mul(&[a, a]), squared);
    }

    #[test]
    fn exponentials_combine() {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        let minus_x = pool.neg(x);
        let (a, b) = (pool.func(Func::Exp, &[x]), pool.func(Func::Exp, &[minus_x]));
        assert_eq!(pool.mul(&[a, b]), Expr::ONE);
        let next = pool.add(&[x, Expr::ONE]);
        assert_eq!(pool.mul(&[Expr::E, a]), pool.func(Func::Exp, &[next]));
    }

    #[test]
    fn zero_and_division_by_zero() {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        assert_eq!(pool.mul(&[Expr::ZERO, x]), Expr::ZERO);
        let inf = pool.div(Expr::ONE, Expr::ZERO);
        let undefined = pool.undefined();
        assert_eq!(pool.mul(&[Expr::ZERO, inf]), undefined);
        assert_eq!(pool.div(Expr::ZERO, Expr::ZERO), undefined);
        let e = pool.mul(&[x, inf]);
        assert_eq!(pool.mul(&[Expr::ZERO, e]), undefined);
    }

    #[test]
    fn order_does_not_matter() {
        let mut pool = Pool::new();
        let names = ["a", "b", "c"].map(|n| pool.symbol(n));
        let [a, b, c] = names;
        let p = pool.mul(&[a, b, c]);
        for q in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
            assert_eq!(pool.mul(&q), p);
        }
    }
}
