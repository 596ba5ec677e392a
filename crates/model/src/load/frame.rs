//! Frames: place and rotation, as numbers and as expressions.

use gelenk_expr::{Expr, Func, Pool};

use crate::math::{Mat3, Quat, Vec3};

/// A rotation matrix of expressions, row by row; `None` is the identity.
pub(crate) type RotationExpr = Option<[[Expr; 3]; 3]>;

/// A frame in the one around it.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Origin, m.
    pub(crate) position: Vec3,
    pub(crate) rotation: Quat,
    /// The same with parameters as symbols.
    pub(crate) position_expr: [Expr; 3],
    pub(crate) rotation_expr: RotationExpr,
    /// A vector along its z axis, where that is known without its rotation.
    pub(crate) along: Option<[Expr; 3]>,
}

impl Frame {
    pub(crate) fn identity() -> Self {
        Frame {
            position: Vec3::zeros(),
            rotation: Quat::identity(),
            position_expr: [Expr::ZERO; 3],
            rotation_expr: None,
            along: None,
        }
    }

    /// The frame `inner`, given in this one, in the frame around this one.
    pub(crate) fn compose(&self, pool: &mut Pool, inner: &Frame) -> Frame {
        if self.is_identity() {
            return inner.clone();
        }
        Frame {
            position: self.point(&inner.position),
            rotation: self.rotation * inner.rotation,
            position_expr: self.point_expr(pool, &inner.position_expr),
            rotation_expr: product(pool, &self.rotation_expr, &inner.rotation_expr),
            along: inner.along.map(|v| rotate(pool, &self.rotation_expr, &v)),
        }
    }

    /// Whether it is the identity for all parameter values.
    fn is_identity(&self) -> bool {
        self.rotation_expr.is_none() && self.position_expr == [Expr::ZERO; 3]
    }

    pub(crate) fn point(&self, p: &Vec3) -> Vec3 {
        self.position + self.rotation * p
    }

    pub(crate) fn point_expr(&self, pool: &mut Pool, p: &[Expr; 3]) -> [Expr; 3] {
        if self.is_identity() {
            return *p;
        }
        let turned = rotate(pool, &self.rotation_expr, p);
        [0, 1, 2].map(|i| pool.add(&[self.position_expr[i], turned[i]]))
    }
}

/// R v.
pub(crate) fn rotate(pool: &mut Pool, rotation: &RotationExpr, v: &[Expr; 3]) -> [Expr; 3] {
    match rotation {
        None => *v,
        Some(r) => [0, 1, 2].map(|i| dot(pool, &r[i], v)),
    }
}

pub(crate) fn dot(pool: &mut Pool, a: &[Expr; 3], b: &[Expr; 3]) -> Expr {
    let terms = [0, 1, 2].map(|i| pool.mul(&[a[i], b[i]]));
    pool.add(&terms)
}

fn product(pool: &mut Pool, a: &RotationExpr, b: &RotationExpr) -> RotationExpr {
    match (a, b) {
        (None, r) | (r, None) => *r,
        (Some(a), Some(b)) => Some([0, 1, 2].map(|i| {
            [0, 1, 2].map(|j| {
                let terms = [0, 1, 2].map(|k| pool.mul(&[a[i][k], b[k][j]]));
                pool.add(&terms)
            })
        })),
    }
}

/// Rotation by `angle` about `axis` of any length (Rodrigues): R = c E + (1 − c) n nᵀ + s n×.
pub(crate) fn axis_angle(pool: &mut Pool, axis: &[Expr; 3], angle: Expr) -> [[Expr; 3]; 3] {
    let squared = dot(pool, axis, axis);
    let length = pool.sqrt(squared);
    let n = axis.map(|x| pool.div(x, length));
    let c = pool.func(Func::Cos, &[angle]);
    let s = pool.func(Func::Sin, &[angle]);
    let rest = pool.sub(Expr::ONE, c);
    let cross = cross_matrix(pool, &n);
    [0, 1, 2].map(|i| {
        [0, 1, 2].map(|j| {
            let dyad = pool.mul(&[rest, n[i], n[j]]);
            let turn = pool.mul(&[s, cross[i][j]]);
            let keep = if i == j { c } else { Expr::ZERO };
            pool.add(&[keep, dyad, turn])
        })
    })
}

fn cross_matrix(pool: &mut Pool, v: &[Expr; 3]) -> [[Expr; 3]; 3] {
    let m = v.map(|x| pool.neg(x));
    [[Expr::ZERO, m[2], v[1]], [v[2], Expr::ZERO, m[0]], [m[1], v[0], Expr::ZERO]]
}

/// Rotation of the quaternion (w, x, y, z) of any length.
pub(crate) fn quaternion(pool: &mut Pool, [w, x, y, z]: [Expr; 4]) -> [[Expr; 3]; 3] {
    let squares = [w, x, y, z].map(|q| pool.mul(&[q, q]));
    let norm = pool.add(&squares);
    let mut entry = |a: [Expr; 2], b: [Expr; 2], sign: Expr| {
        let a = pool.mul(&a);
        let b = pool.mul(&[sign, b[0], b[1]]);
        let sum = pool.add(&[a, b]);
        let twice = pool.mul(&[Expr::TWO, sum]);
        pool.div(twice, norm)
    };
    let (plus, minus) = (Expr::ONE, Expr::MINUS_ONE);
    let off = [
        [Expr::ZERO, entry([x, y], [w, z], minus), entry([x, z], [w, y], plus)],
        [entry([x, y], [w, z], plus), Expr::ZERO, entry([y, z], [w, x], minus)],
        [entry([x, z], [w, y], minus), entry([y, z], [w, x], plus), Expr::ZERO],
    ];
    let diagonal =
        [entry([y, y], [z, z], plus), entry([x, x], [z, z], plus), entry([x, x], [y, y], plus)];
    let mut r = off;
    for i in 0..3 {
        r[i][i] = pool.sub(Expr::ONE, diagonal[i]);
    }
    r
}

/// Rotations about the fixed axes x, y, z in this order.
pub(crate) fn euler(pool: &mut Pool, angles: [Expr; 3]) -> RotationExpr {
    let mut r: RotationExpr = None;
    for (i, angle) in angles.into_iter().enumerate() {
        let mut axis = [Expr::ZERO; 3];
        axis[i] = Expr::ONE;
        let turn = Some(axis_angle(pool, &axis, angle));
        r = product(pool, &turn, &r);
    }
    r
}

/// The shortest turn that takes the direction a into b: R = E + v× + (v×)²/(1 + a·b), v = a × b, unit vectors.
pub(crate) fn between(pool: &mut Pool, a: &[Expr; 3], b: &[Expr; 3]) -> [[Expr; 3]; 3] {
    let [a, b] = [a, b].map(|v| {
        let squared = dot(pool, v, v);
        let length = pool.sqrt(squared);
        v.map(|x| pool.div(x, length))
    });
    let v = [(1, 2), (2, 0), (0, 1)].map(|(i, j)| {
        let plus = pool.mul(&[a[i], b[j]]);
        let minus = pool.mul(&[a[j], b[i]]);
        pool.sub(plus, minus)
    });
    let c = dot(pool, &a, &b);
    let divisor = pool.add(&[Expr::ONE, c]);
    let k = cross_matrix(pool, &v);
    [0, 1, 2].map(|i| {
        [0, 1, 2].map(|j| {
            let terms = [0, 1, 2].map(|m| pool.mul(&[k[i][m], k[m][j]]));
            let square = pool.add(&terms);
            let square = pool.div(square, divisor);
            let unit = if i == j { Expr::ONE } else { Expr::ZERO };
            pool.add(&[unit, k[i][j], square])
        })
    })
}

/// A numeric rotation as constant expressions.
pub(crate) fn constant(pool: &mut Pool, rotation: &Quat) -> [[Expr; 3]; 3] {
    let m: Mat3 = rotation.to_rotation_matrix().into_inner();
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| pool.float(m[(i, j)])))
}
