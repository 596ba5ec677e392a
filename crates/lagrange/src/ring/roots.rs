//! Reciprocals, roots and magnitudes: atoms, unless they resolve exactly.

use gelenk_expr::{Expr, Func, Node, Pool, Rational};

use super::{Kind, MonoId, Poly, Ring, content, lexicographic, square_part};

impl Ring {
    /// 1/a.
    pub fn reciprocal(&mut self, pool: &mut Pool, a: &Poly) -> Poly {
        if let Some(inverse) = self.inverse_monomial(a) {
            return inverse;
        }
        if a.is_zero() {
            let e = pool.pow(Expr::ZERO, Expr::MINUS_ONE);
            return self.atom(e);
        }
        let (content, common, rest) = self.split_content(a);
        let base = self.to_expr(pool, &rest);
        let e = pool.pow(base, Expr::MINUS_ONE);
        let atom = self.atom_of(e, Kind::Reciprocal { base: rest });
        let outside = Poly(vec![((common, 0), content)]);
        let outside = self.inverse_monomial(&outside).unwrap_or(Poly::ZERO);
        self.mul(&outside, &atom)
    }

    /// a = content · common monomial · rest; the content has the sign of the first term, and the rest is primitive.
    pub(crate) fn split_content(&mut self, a: &Poly) -> (Rational, MonoId, Poly) {
        let Some(((first, _), lead)) = a.0.first() else { return (Rational::ONE, 0, Poly::ZERO) };
        let mut common: Vec<(u32, i32)> = self.monos[*first as usize].to_vec();
        for ((mono, _), _) in &a.0[1..] {
            let other = &self.monos[*mono as usize];
            common.retain_mut(|(atom, e)| {
                match other.iter().find(|(b, _)| b == atom) {
                    Some((_, f)) => *e = (*e).min(*f),
                    None => *e = (*e).min(0),
                }
                *e != 0
            });
            // Atoms of negative exponent that the first terms lack.
            for &(b, f) in &**other {
                if f < 0 && !common.iter().any(|(atom, _)| *atom == b) {
                    let everywhere = a.0.iter().map(|((m, _), _)| {
                        self.monos[*m as usize].iter().find(|(x, _)| *x == b).map_or(0, |x| x.1)
                    });
                    let least = everywhere.min().unwrap_or(0);
                    if least != 0 {
                        common.push((b, least));
                        common.sort_unstable();
                    }
                }
            }
        }
        let content = content(&a.0);
        let content = if lead.is_negative() { -&content } else { content };
        let id = self.mono(common.clone());
        let inverse: Vec<(u32, i32)> = common.iter().map(|&(b, e)| (b, -e)).collect();
        let inverse = self.mono(inverse);
        let scale = content.recip().unwrap_or(Rational::ONE);
        let mut terms: Vec<_> =
            a.0.iter()
                .map(|((m, t), r)| ((self.mono_product(*m, inverse), *t), r * &scale))
                .collect();
        terms.sort_unstable_by_key(|(k, _)| *k);
        (content, id, Poly(terms))
    }

    /// a^(p/q).
    pub(super) fn root(&mut self, pool: &mut Pool, a: &Poly, p: i32, q: i32) -> Poly {
        if let Some(r) = a.as_constant() {
            let base = pool.number(r);
            let exponent = pool.rational(i64::from(p), i64::from(q));
            let e = pool.pow(base, exponent);
            if pool.as_rational(e).is_some() {
                return self.from_expr(pool, e);
            }
        }
        if q == 2
            && let Some(square) = self.perfect_root(a)
        {
            let magnitude = self.magnitude(pool, &square);
            if p < 0 {
                let inverse = self.reciprocal(pool, &magnitude);
                return self.power(&inverse, -p);
            }
            return self.power(&magnitude, p);
        }
        let (content, common, rest) = self.split_content(a);
        // Squares leave the root: √(r² m² p) = r |m| √p.
        let (outer, inner) = square_part(&content);
        let mut outside = Poly::constant(outer);
        let mut inside = Poly::constant(inner);
        if q != 2 {
            outside = Poly::one();
            inside = Poly::constant(content);
        }
        for (atom, e) in self.monos[common as usize].clone() {
            let whole = if q == 2 { e.div_euclid(2) } else { 0 };
            if whole != 0 {
                let mono = self.mono(vec![(atom, 1)]);
                let x = Poly(vec![((mono, 0), Rational::ONE)]);
                let size = self.magnitude(pool, &x);
                let power = if whole > 0 {
                    self.power(&size, whole)
                } else {
                    let inverse = self.reciprocal(pool, &size);
                    self.power(&inverse, -whole)
                };
                outside = self.mul(&outside, &power);
            }
            let left = e - q.min(2) * whole;
            if left != 0 {
                let mono = self.mono(vec![(atom, left)]);
                let x = Poly(vec![((mono, 0), Rational::ONE)]);
                inside = self.mul(&inside, &x);
            }
        }
        let base = self.mul(&inside, &rest);
        if base.as_constant().is_some_and(|r| r.is_one()) {
            let power = if p < 0 { self.reciprocal(pool, &outside) } else { outside };
            return self.power(&power, p.abs());
        }
        let base_expr = self.to_expr(pool, &base);
        let exponent = pool.rational(1, i64::from(q));
        let e = pool.pow(base_expr, exponent);
        if base.as_constant().is_none() {
            let _ = self.reciprocal(pool, &base);
        }
        let atom = if let Node::Power(..) = pool.node(e) {
            self.atom_of(e, Kind::Root { base: base.clone(), degree: q })
        } else {
            self.from_expr(pool, e)
        };
        let root = self.mul(&outside, &atom);
        if p >= 0 {
            return self.power(&root, p);
        }
        // 1/√b = √b/b.
        let mut result = Poly::one();
        let outside = self.reciprocal(pool, &outside);
        let inverse = self.reciprocal(pool, &base);
        let up = self.power(&atom, q - 1);
        let one = self.mul(&up, &inverse);
        let one = self.mul(&one, &outside);
        for _ in 0..-p {
            result = self.mul(&result, &one);
        }
        result
    }

    /// √a if it is an element without a new root: |p| for a = p², or the root of a monomial.
    pub fn exact_root(&mut self, pool: &mut Pool, a: &Poly) -> Option<Poly> {
        if let Some(p) = self.perfect_root(a) {
            return Some(self.magnitude(pool, &p));
        }
        let single = matches!(a.0.as_slice(), [((_, 0), _)] | []);
        single.then(|| self.root(pool, a, 1, 2))
    }

    /// |a|.
    pub(super) fn magnitude(&mut self, pool: &mut Pool, a: &Poly) -> Poly {
        if let Some(r) = a.as_constant() {
            return Poly::constant(r.abs());
        }
        if let [((mono, 0), r)] = a.0.as_slice() {
            let (r, mono) = (r.abs(), *mono);
            let factors = self.monos[mono as usize].clone();
            let mut result = Poly::constant(r);
            for &(atom, e) in &*factors {
                let entry = self.atoms[atom as usize].clone();
                let known = self.positive.contains(&entry.expr)
                    || matches!(entry.kind, Kind::Magnitude { .. })
                    || matches!(entry.kind, Kind::Root { degree, .. } if degree % 2 == 0)
                    || pool.is_nonnegative(entry.expr);
                let single = self.mono(vec![(atom, 1)]);
                let x = Poly(vec![((single, 0), Rational::ONE)]);
                let x = if known || e % 2 == 0 {
                    x
                } else {
                    let e = pool.func(Func::Abs, &[entry.expr]);
                    self.atom_of(e, Kind::Magnitude { base: x })
                };
                let power = if e > 0 {
                    self.power(&x, e)
                } else {
                    let inverse = self.reciprocal(pool, &x);
                    self.power(&inverse, -e)
                };
                result = self.mul(&result, &power);
            }
            return result;
        }
        if self.is_positive(pool, a) {
            return a.clone();
        }
        let (content, common, rest) = self.split_content(a);
        let inner = self.to_expr(pool, &rest);
        let e = pool.func(Func::Abs, &[inner]);
        let _ = self.reciprocal(pool, &rest);
        let atom = self.atom_of(e, Kind::Magnitude { base: rest });
        let outside = Poly(vec![((common, 0), content.abs())]);
        let outside = if common == 0 { outside } else { self.magnitude(pool, &outside) };
        self.mul(&outside, &atom)
    }

    /// Whether every term is a positive number times positive atoms.
    pub(super) fn is_positive(&self, pool: &Pool, a: &Poly) -> bool {
        a.0.iter().all(|((mono, trig), r)| {
            *trig == 0
                && !r.is_negative()
                && self.monos[*mono as usize].iter().all(|&(atom, e)| {
                    let expr = self.atoms[atom as usize].expr;
                    e % 2 == 0 || self.positive.contains(&expr) || pool.is_nonnegative(expr)
                })
        })
    }

    /// The polynomial whose square this is, without circular functions; `None` if it is none.
    pub(super) fn perfect_root(&mut self, a: &Poly) -> Option<Poly> {
        if a.0.iter().any(|((_, t), _)| *t != 0) || a.len() < 3 || a.len() > 400 {
            return None;
        }
        // Terms from the highest down, in the lexicographic order of exponents.
        let mut terms: Vec<(Vec<(u32, i32)>, Rational)> =
            a.0.iter().map(|((m, _), r)| (self.monos[*m as usize].to_vec(), r.clone())).collect();
        terms.sort_by(|x, y| lexicographic(&y.0, &x.0));
        let (lead, r) = terms.first()?;
        if r.is_negative() || lead.iter().any(|(_, e)| e % 2 != 0) {
            return None;
        }
        let r = r.root(2)?;
        let half: Vec<(u32, i32)> = lead.iter().map(|&(b, e)| (b, e / 2)).collect();
        let id = self.mono(half);
        let first = Poly(vec![((id, 0), r)]);
        let twice = first.scale(&Rational::from(2));
        let divisor = self.inverse_monomial(&twice)?;
        let mut result = first;
        for _ in 0..a.len() {
            let square = self.mul(&result, &result);
            let left = a.sub(&square);
            if left.is_zero() {
                return Some(result);
            }
            let top = left.0.iter().max_by(|x, y| {
                lexicographic(&self.monos[x.0.0 as usize], &self.monos[y.0.0 as usize])
            })?;
            let top = Poly(vec![top.clone()]);
            let next = self.mul(&top, &divisor);
            let below = next
                .0
                .first()
                .is_some_and(|((m, _), _)| self.monos[*m as usize].iter().all(|(_, e)| *e >= 0));
            if !below {
                return None;
            }
            result = result.add(&next);
        }
        None
    }
}
