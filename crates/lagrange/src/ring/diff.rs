//! Derivatives in the ring.

use gelenk_expr::{Expr, Pool, Rational};

use super::{Atom, Circular, Kind, Poly, Ring, Trig, accumulate};
use rustc_hash::FxHashMap;

impl Ring {
    /// ∂a/∂x for a symbol x, in one pass over the terms.
    pub fn diff(&mut self, pool: &mut Pool, a: &Poly, x: Expr) -> Poly {
        let mut map = FxHashMap::default();
        let mut extra = Poly::ZERO;
        for ((mono, trig), r) in &a.0 {
            for (k, &(atom, e)) in self.monos[*mono as usize].clone().iter().enumerate() {
                let slope = self.atom_slope(pool, atom, x);
                if slope.is_zero() {
                    continue;
                }
                let mut left = self.monos[*mono as usize].to_vec();
                if e == 1 {
                    left.remove(k);
                } else {
                    left[k].1 = e - 1;
                }
                let id = self.mono(left);
                let c = r * &Rational::from(i64::from(e));
                if slope.as_constant().is_some_and(|s| s.is_one()) && !self.special[id as usize] {
                    accumulate(&mut map, (id, *trig), c);
                } else {
                    let rest = Poly(vec![((id, *trig), c)]);
                    let rest = if self.special[id as usize] { self.reduce(rest) } else { rest };
                    let term = self.mul(&rest, &slope);
                    extra = extra.add(&term);
                }
            }
            if *trig == 0 {
                continue;
            }
            let Trig { kind, vector } = self.trigs[*trig as usize].clone();
            let (sign, other) = match kind {
                Circular::Cos => (-1, Circular::Sin),
                Circular::Sin => (1, Circular::Cos),
            };
            let Some((s, other)) = self.trig_of(other, vector.to_vec()) else { continue };
            for (i, v) in vector.iter().enumerate() {
                if *v == 0 {
                    continue;
                }
                let slope = self.angle_slope(pool, i, x);
                if slope.is_zero() {
                    continue;
                }
                let c = r * &Rational::from(i64::from(*v) * i64::from(sign * i32::from(s)));
                if slope.as_constant().is_some_and(|s| s.is_one()) {
                    accumulate(&mut map, (*mono, other), c);
                } else {
                    let rest = Poly(vec![((*mono, other), c)]);
                    let term = self.mul(&rest, &slope);
                    extra = extra.add(&term);
                }
            }
        }
        Poly::collect(map).add(&extra)
    }

    pub(super) fn atom_slope(&mut self, pool: &mut Pool, atom: u32, x: Expr) -> Poly {
        if self.atoms[atom as usize].expr == x {
            return Poly::one();
        }
        let key = (false, atom, x);
        if let Some(known) = self.derivatives.get(&key) {
            return known.clone();
        }
        let Atom { expr, kind } = self.atoms[atom as usize].clone();
        let slope = match kind {
            Kind::Plain => {
                let e = pool.diff(expr, x);
                self.from_expr(pool, e)
            }
            // (b^(1/q))' = b'/(q b) b^(1/q)
            Kind::Root { base, degree } => {
                let inner = self.diff(pool, &base, x);
                if inner.is_zero() {
                    Poly::ZERO
                } else {
                    let inverse = self.reciprocal(pool, &base);
                    let this = self.atom(expr);
                    let q = Rational::new(1, i64::from(degree)).unwrap_or(Rational::ONE);
                    let a = self.mul(&inner, &inverse).scale(&q);
                    self.mul(&a, &this)
                }
            }
            Kind::Reciprocal { base } => {
                let inner = self.diff(pool, &base, x);
                let this = self.atom(expr);
                let square = self.mul(&this, &this);
                self.mul(&inner, &square).neg()
            }
            // |b|' = b' |b|/b
            Kind::Magnitude { base } => {
                let inner = self.diff(pool, &base, x);
                if inner.is_zero() {
                    Poly::ZERO
                } else {
                    let inverse = self.reciprocal(pool, &base);
                    let this = self.atom(expr);
                    let a = self.mul(&inner, &inverse);
                    self.mul(&a, &this)
                }
            }
        };
        self.derivatives.insert(key, slope.clone());
        slope
    }

    pub(super) fn angle_slope(&mut self, pool: &mut Pool, angle: usize, x: Expr) -> Poly {
        let expr = self.angles[angle];
        if expr == x {
            return Poly::one();
        }
        let key = (true, u32::try_from(angle).unwrap_or(u32::MAX), x);
        if let Some(known) = self.derivatives.get(&key) {
            return known.clone();
        }
        let e = pool.diff(expr, x);
        let slope = self.from_expr(pool, e);
        self.derivatives.insert(key, slope.clone());
        slope
    }
}
