//! Expressions into the ring and back.

use gelenk_expr::{Expr, Func, Node, Pool, Rational};

use super::{Circular, Poly, Ring, TrigId, accumulate};
use rustc_hash::FxHashMap;

/// Higher powers of sums stay as they are.
const HIGHEST_POWER: u32 = 6;

impl Ring {
    /// The element that an expression is.
    pub fn from_expr(&mut self, pool: &mut Pool, e: Expr) -> Poly {
        if let Some(known) = self.converted.get(&e) {
            return known.clone();
        }
        for part in pool.subexpressions(&[e]) {
            if !self.converted.contains_key(&part) {
                let value = self.convert(pool, part);
                self.converted.insert(part, value);
            }
        }
        self.converted[&e].clone()
    }

    pub(super) fn convert(&mut self, pool: &mut Pool, e: Expr) -> Poly {
        let get = |ring: &Self, e: &Expr| ring.converted[e].clone();
        match pool.node(e) {
            Node::Number(n) => Poly::constant(n.to_exact()),
            Node::Constant(_) | Node::Symbol(_) | Node::OfTime { .. } | Node::If(..) => {
                self.atom(e)
            }
            Node::Sum(terms) => {
                let mut map = FxHashMap::default();
                for t in terms {
                    for (k, r) in &self.converted[t].0 {
                        accumulate(&mut map, *k, r.clone());
                    }
                }
                Poly::collect(map)
            }
            Node::Product(factors) => {
                let factors = factors.to_vec();
                let mut result = Poly::one();
                for f in factors {
                    let f = get(self, &f);
                    result = self.mul(&result, &f);
                }
                result
            }
            Node::Power(base, exponent) => {
                let base_poly = get(self, &base);
                let Some((p, q)) = pool.as_number(exponent).and_then(|k| {
                    let (p, q) = k.as_rational()?.parts()?;
                    Some((i32::try_from(p).ok()?, i32::try_from(q).ok()?))
                }) else {
                    return self.atom(e);
                };
                if p.unsigned_abs() > 64 || q > 16 {
                    return self.atom(e);
                }
                if q != 1 {
                    return self.root(pool, &base_poly, p, q);
                }
                // Written out, a high power of a sum cancels where the sum is small, and nobody would read it.
                if base_poly.len() > 1 && p.unsigned_abs() > HIGHEST_POWER {
                    return self.atom(e);
                }
                if p >= 0 {
                    return self.power(&base_poly, p);
                }
                let inverse = self.reciprocal(pool, &base_poly);
                self.power(&inverse, -p)
            }
            Node::Apply(func, arguments) => {
                let arguments = arguments.to_vec();
                match func {
                    Func::Sin => self.convert_circular(pool, Circular::Sin, arguments[0]),
                    Func::Cos => self.convert_circular(pool, Circular::Cos, arguments[0]),
                    Func::Tan => {
                        let s = self.convert_circular(pool, Circular::Sin, arguments[0]);
                        let c = self.convert_circular(pool, Circular::Cos, arguments[0]);
                        let inverse = self.reciprocal(pool, &c);
                        self.mul(&s, &inverse)
                    }
                    Func::Abs => {
                        let inner = get(self, &arguments[0]);
                        self.magnitude(pool, &inner)
                    }
                    _ => {
                        let canonical: Vec<Expr> = arguments
                            .iter()
                            .map(|a| {
                                let p = get(self, a);
                                self.to_expr(pool, &p)
                            })
                            .collect();
                        let e = pool.func(func, &canonical);
                        match pool.node(e) {
                            Node::Number(n) => Poly::constant(n.to_exact()),
                            _ => self.atom(e),
                        }
                    }
                }
            }
        }
    }

    /// cos or sin of an expression: its argument as an integer combination of angles and a constant part.
    pub(super) fn convert_circular(
        &mut self,
        pool: &mut Pool,
        kind: Circular,
        argument: Expr,
    ) -> Poly {
        let argument = self.converted[&argument].clone();
        let mut vector: Vec<i16> = Vec::new();
        let mut fixed = Expr::ZERO;
        for ((mono, trig), r) in &argument.0 {
            let unit = self.to_expr(pool, &Poly(vec![((*mono, *trig), Rational::ONE)]));
            let whole =
                r.to_i64().and_then(|n| i16::try_from(n).ok()).filter(|n| n.unsigned_abs() < 1000);
            if pool.is_constant(unit) {
                let number = pool.number(r.clone());
                let term = pool.mul(&[number, unit]);
                fixed = pool.add(&[fixed, term]);
                continue;
            }
            let (angle, n) = if let Some(n) = whole {
                (unit, n)
            } else {
                // A fraction of a combination is an angle of its own.
                let number = pool.number(r.abs());
                (pool.mul(&[number, unit]), if r.is_negative() { -1 } else { 1 })
            };
            let i = self.angle(angle);
            if vector.len() <= i {
                vector.resize(i + 1, 0);
            }
            vector[i] += n;
        }
        if fixed == Expr::ZERO {
            return self.circular_of(kind, vector);
        }
        let (c, s) = (pool.cos(fixed), pool.sin(fixed));
        let exact = |pool: &Pool, e: Expr| {
            !pool.subexpressions(&[e]).iter().any(|p| matches!(pool.node(*p), Node::Apply(..)))
        };
        if !exact(pool, c) || !exact(pool, s) {
            let i = self.angle(fixed);
            if vector.len() <= i {
                vector.resize(i + 1, 0);
            }
            vector[i] += 1;
            return self.circular_of(kind, vector);
        }
        let (c, s) = (self.from_expr(pool, c), self.from_expr(pool, s));
        let (cos, sin) = (
            self.circular_of(Circular::Cos, vector.clone()),
            self.circular_of(Circular::Sin, vector),
        );
        match kind {
            // cos(x + f) = cos x cos f − sin x sin f
            Circular::Cos => {
                let (a, b) = (self.mul(&cos, &c), self.mul(&sin, &s));
                a.sub(&b)
            }
            Circular::Sin => {
                let (a, b) = (self.mul(&sin, &c), self.mul(&cos, &s));
                a.add(&b)
            }
        }
    }

    /// The expanded expression of an element.
    pub fn to_expr(&self, pool: &mut Pool, a: &Poly) -> Expr {
        let mut terms = Vec::with_capacity(a.len());
        let mut factors = Vec::new();
        for ((mono, trig), r) in &a.0 {
            factors.clear();
            factors.push(pool.number(r.clone()));
            for (base, e) in self.factors(*mono) {
                let exponent = pool.num(i64::from(e));
                factors.push(pool.pow(base, exponent));
            }
            if *trig != 0 {
                factors.push(self.trig_expr(pool, *trig));
            }
            terms.push(pool.mul(&factors));
        }
        pool.add(&terms)
    }

    /// cos(v·θ) or sin(v·θ) as an expression.
    pub fn trig_expr(&self, pool: &mut Pool, id: TrigId) -> Expr {
        let trig = &self.trigs[id as usize];
        let terms: Vec<Expr> = trig
            .vector
            .iter()
            .zip(&self.angles)
            .filter(|(v, _)| **v != 0)
            .map(|(v, angle)| {
                let n = pool.num(i64::from(*v));
                pool.mul(&[n, *angle])
            })
            .collect();
        let argument = pool.add(&terms);
        match trig.kind {
            Circular::Cos => pool.cos(argument),
            Circular::Sin => pool.sin(argument),
        }
    }
}
