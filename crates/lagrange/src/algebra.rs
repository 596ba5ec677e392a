//! One set of mechanics formulas over two kinds of numbers: elements of the canonical ring, and shared expressions.

use gelenk_expr::{Expr, Pool};

use crate::ring::{Poly, Ring};

/// Numbers to do mechanics with.
pub(crate) trait Algebra {
    /// A number.
    type E: Clone;
    fn zero(&self) -> Self::E;
    fn is_zero(&self, a: &Self::E) -> bool;
    fn expr(&mut self, e: Expr) -> Self::E;
    fn add(&mut self, a: &Self::E, b: &Self::E) -> Self::E;
    fn neg(&mut self, a: &Self::E) -> Self::E;
    fn mul(&mut self, a: &Self::E, b: &Self::E) -> Self::E;
    fn pool(&mut self) -> &mut Pool;
    /// An expression over three symbols with their values put in.
    fn substitute(&mut self, e: Expr, symbols: &[Expr; 3], values: &[Self::E; 3]) -> Self::E;
    /// ∂a/∂x.
    fn diff(&mut self, a: &Self::E, x: Expr) -> Self::E;
    /// 1/a.
    fn inverse(&mut self, a: &Self::E) -> Self::E;
    /// √(square), under a name of its own where it is no simpler expression.
    fn length(&mut self, square: &Self::E, name: &str) -> Self::E;

    fn sub(&mut self, a: &Self::E, b: &Self::E) -> Self::E {
        let b = self.neg(b);
        self.add(a, &b)
    }
}

/// The canonical ring.
pub(crate) struct InRing<'a> {
    pub(crate) ring: &'a mut Ring,
    pub(crate) pool: &'a mut Pool,
    /// Lengths with names: symbol, its square, what it is.
    pub(crate) lengths: Vec<(Expr, Poly, String)>,
}

impl Algebra for InRing<'_> {
    type E = Poly;
    fn zero(&self) -> Poly {
        Poly::ZERO
    }
    fn is_zero(&self, a: &Poly) -> bool {
        a.is_zero()
    }
    fn expr(&mut self, e: Expr) -> Poly {
        self.ring.from_expr(self.pool, e)
    }
    fn add(&mut self, a: &Poly, b: &Poly) -> Poly {
        a.add(b)
    }
    fn neg(&mut self, a: &Poly) -> Poly {
        a.neg()
    }
    fn mul(&mut self, a: &Poly, b: &Poly) -> Poly {
        self.ring.mul(a, b)
    }
    fn pool(&mut self) -> &mut Pool {
        self.pool
    }
    fn substitute(&mut self, e: Expr, symbols: &[Expr; 3], values: &[Poly; 3]) -> Poly {
        let values = [0, 1, 2].map(|i| (symbols[i], self.ring.to_expr(self.pool, &values[i])));
        let e = self.pool.substitute(e, &values);
        self.ring.from_expr(self.pool, e)
    }
    fn diff(&mut self, a: &Poly, x: Expr) -> Poly {
        self.ring.diff(self.pool, a, x)
    }
    fn inverse(&mut self, a: &Poly) -> Poly {
        self.ring.reciprocal(self.pool, a)
    }
    fn length(&mut self, square: &Poly, name: &str) -> Poly {
        if let Some((symbol, _, _)) = self.lengths.iter().find(|(_, known, _)| known == square) {
            let symbol = *symbol;
            return self.ring.atom(symbol);
        }
        if let Some(root) = self.ring.exact_root(self.pool, square) {
            return root;
        }
        let n = self.lengths.len() + 1;
        let mut text = format!("length{n}");
        while self.pool.find_symbol(&text).is_some() {
            text.push('_');
        }
        let symbol = self.pool.symbol(&text);
        self.lengths.push((symbol, square.clone(), name.to_owned()));
        self.ring.atom(symbol)
    }
}

/// Expressions as they come, equal parts shared.
pub(crate) struct InPool<'a> {
    pub(crate) pool: &'a mut Pool,
}

impl Algebra for InPool<'_> {
    type E = Expr;
    fn zero(&self) -> Expr {
        Expr::ZERO
    }
    fn is_zero(&self, a: &Expr) -> bool {
        *a == Expr::ZERO
    }
    fn expr(&mut self, e: Expr) -> Expr {
        e
    }
    fn add(&mut self, a: &Expr, b: &Expr) -> Expr {
        self.pool.add(&[*a, *b])
    }
    fn neg(&mut self, a: &Expr) -> Expr {
        self.pool.neg(*a)
    }
    fn mul(&mut self, a: &Expr, b: &Expr) -> Expr {
        self.pool.mul(&[*a, *b])
    }
    fn pool(&mut self) -> &mut Pool {
        self.pool
    }
    fn substitute(&mut self, e: Expr, symbols: &[Expr; 3], values: &[Expr; 3]) -> Expr {
        let values = [0, 1, 2].map(|i| (symbols[i], values[i]));
        self.pool.substitute(e, &values)
    }
    fn diff(&mut self, a: &Expr, x: Expr) -> Expr {
        self.pool.diff(*a, x)
    }
    fn inverse(&mut self, a: &Expr) -> Expr {
        self.pool.pow(*a, Expr::MINUS_ONE)
    }
    fn length(&mut self, square: &Expr, _name: &str) -> Expr {
        self.pool.sqrt(*square)
    }
}

/// A vector.
pub(crate) type V<E> = [E; 3];
/// A matrix, row by row; `None` is the identity.
pub(crate) type M<E> = Option<[[E; 3]; 3]>;

pub(crate) fn vec_expr<A: Algebra>(a: &mut A, v: &[Expr; 3]) -> V<A::E> {
    [0, 1, 2].map(|i| a.expr(v[i]))
}

pub(crate) fn zero_vec<A: Algebra>(a: &A) -> V<A::E> {
    [a.zero(), a.zero(), a.zero()]
}

pub(crate) fn is_zero_vec<A: Algebra>(a: &A, v: &V<A::E>) -> bool {
    v.iter().all(|x| a.is_zero(x))
}

pub(crate) fn add_vec<A: Algebra>(a: &mut A, x: &V<A::E>, y: &V<A::E>) -> V<A::E> {
    [0, 1, 2].map(|i| a.add(&x[i], &y[i]))
}

pub(crate) fn sub_vec<A: Algebra>(a: &mut A, x: &V<A::E>, y: &V<A::E>) -> V<A::E> {
    [0, 1, 2].map(|i| a.sub(&x[i], &y[i]))
}

pub(crate) fn scale_vec<A: Algebra>(a: &mut A, s: &A::E, x: &V<A::E>) -> V<A::E> {
    [0, 1, 2].map(|i| a.mul(s, &x[i]))
}

pub(crate) fn dot<A: Algebra>(a: &mut A, x: &V<A::E>, y: &V<A::E>) -> A::E {
    let mut sum = a.zero();
    for i in 0..3 {
        if !a.is_zero(&x[i]) && !a.is_zero(&y[i]) {
            let p = a.mul(&x[i], &y[i]);
            sum = a.add(&sum, &p);
        }
    }
    sum
}

pub(crate) fn cross<A: Algebra>(a: &mut A, x: &V<A::E>, y: &V<A::E>) -> V<A::E> {
    [(1, 2), (2, 0), (0, 1)].map(|(i, j)| {
        let p = a.mul(&x[i], &y[j]);
        let q = a.mul(&x[j], &y[i]);
        a.sub(&p, &q)
    })
}

/// R x.
pub(crate) fn turn<A: Algebra>(a: &mut A, r: &M<A::E>, x: &V<A::E>) -> V<A::E> {
    match r {
        None => x.clone(),
        Some(r) => [0, 1, 2].map(|i| dot(a, &r[i], x)),
    }
}

/// Rᵀ x.
pub(crate) fn turn_back<A: Algebra>(a: &mut A, r: &M<A::E>, x: &V<A::E>) -> V<A::E> {
    match r {
        None => x.clone(),
        Some(r) => [0, 1, 2].map(|i| {
            let column = [r[0][i].clone(), r[1][i].clone(), r[2][i].clone()];
            dot(a, &column, x)
        }),
    }
}

/// R S.
pub(crate) fn compose<A: Algebra>(a: &mut A, r: &M<A::E>, s: &M<A::E>) -> M<A::E> {
    match (r, s) {
        (None, x) | (x, None) => x.clone(),
        (Some(r), Some(s)) => Some([0, 1, 2].map(|i| {
            [0, 1, 2].map(|j| {
                let column = [s[0][j].clone(), s[1][j].clone(), s[2][j].clone()];
                dot(a, &r[i], &column)
            })
        })),
    }
}

/// Rotation by `angle` about the unit vector n (Rodrigues): c E + (1 − c) n nᵀ + s n×.
pub(crate) fn rotation<A: Algebra>(a: &mut A, n: &V<A::E>, angle: Expr) -> M<A::E> {
    if angle == Expr::ZERO {
        return None;
    }
    let (c, s) = {
        let pool = a.pool();
        (pool.cos(angle), pool.sin(angle))
    };
    let (c, s) = (a.expr(c), a.expr(s));
    let one = a.expr(Expr::ONE);
    let rest = a.sub(&one, &c);
    let zero = a.zero();
    let minus = [a.neg(&n[0]), a.neg(&n[1]), a.neg(&n[2])];
    let skew = [
        [zero.clone(), minus[2].clone(), n[1].clone()],
        [n[2].clone(), zero.clone(), minus[0].clone()],
        [minus[1].clone(), n[0].clone(), zero],
    ];
    Some([0, 1, 2].map(|i| {
        [0, 1, 2].map(|j| {
            let dyad = a.mul(&n[i], &n[j]);
            let turned = a.mul(&s, &skew[i][j]);
            // c + (1 − c) n², written so that n = ±1 leaves 1 and n = 0 leaves c.
            let kept = if i == j {
                let across = a.sub(&one, &dyad);
                let across = a.mul(&c, &across);
                a.add(&across, &dyad)
            } else {
                a.mul(&rest, &dyad)
            };
            a.add(&kept, &turned)
        })
    }))
}
