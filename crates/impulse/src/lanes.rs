//! Vectors, quaternions and symmetric matrices of four bodies at a time.
#![expect(clippy::inline_always, reason = "the hot loops: measured")]

use std::array::from_fn;
use std::ops::{Add, AddAssign, Mul, Sub};

use gelenk_model::math::{Mat3, Vec3};
use nalgebra::Quaternion;
use wide::f64x4;

use crate::flight::{COS, SHORT, SINC, cos_sinc};

/// How many at a time.
pub(crate) const LANES: usize = 4;

/// A number of each.
pub(crate) type F = f64x4;

/// A number for each lane.
#[inline(always)]
pub(crate) fn lanes(value: impl FnMut(usize) -> f64) -> F {
    F::new(from_fn(value))
}

/// Whether the processor has instructions for a b + c with one rounding.
const FUSED: bool = cfg!(any(
    all(target_feature = "avx", target_feature = "fma"),
    all(target_arch = "aarch64", target_feature = "neon")
));

/// a b + c with one rounding, on every processor.
#[inline(always)]
pub(crate) fn mul_add(a: F, b: F, c: F) -> F {
    if FUSED {
        return a.mul_add(b, c);
    }
    let (a, b, c) = (a.to_array(), b.to_array(), c.to_array());
    lanes(|k| a[k].mul_add(b[k], c[k]))
}

/// a b − c, likewise.
#[inline(always)]
pub(crate) fn mul_sub(a: F, b: F, c: F) -> F {
    if FUSED { a.mul_sub(b, c) } else { mul_add(a, b, -c) }
}

/// c − a b, likewise.
#[inline(always)]
pub(crate) fn less(c: F, a: F, b: F) -> F {
    if FUSED { a.mul_neg_add(b, c) } else { mul_add(-a, b, c) }
}

/// A vector of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct V {
    pub(crate) x: F,
    pub(crate) y: F,
    pub(crate) z: F,
}

impl V {
    pub(crate) const ZERO: V = V { x: F::ZERO, y: F::ZERO, z: F::ZERO };

    /// The same vector in all lanes.
    #[inline(always)]
    pub(crate) fn splat(v: &Vec3) -> V {
        V { x: F::splat(v.x), y: F::splat(v.y), z: F::splat(v.z) }
    }

    /// A vector for each lane.
    #[inline(always)]
    pub(crate) fn gather<'a>(value: impl Fn(usize) -> &'a Vec3) -> V {
        let [a, b, c, d] = from_fn(value);
        V {
            x: F::new([a.x, b.x, c.x, d.x]),
            y: F::new([a.y, b.y, c.y, d.y]),
            z: F::new([a.z, b.z, c.z, d.z]),
        }
    }

    /// The vectors one by one.
    #[inline(always)]
    pub(crate) fn each(self) -> [Vec3; LANES] {
        let rows = F::transpose([self.x, self.y, self.z, F::ZERO]).map(F::to_array);
        rows.map(|[x, y, z, _]| Vec3::new(x, y, z))
    }

    /// Adds to one lane.
    #[inline(always)]
    pub(crate) fn add_to(&mut self, lane: usize, v: &Vec3) {
        self.x.as_mut_array()[lane] += v.x;
        self.y.as_mut_array()[lane] += v.y;
        self.z.as_mut_array()[lane] += v.z;
    }

    #[inline(always)]
    pub(crate) fn dot(self, b: V) -> F {
        mul_add(self.z, b.z, mul_add(self.y, b.y, self.x * b.x))
    }

    #[inline(always)]
    pub(crate) fn cross(self, b: V) -> V {
        V {
            x: mul_sub(self.y, b.z, self.z * b.y),
            y: mul_sub(self.z, b.x, self.x * b.z),
            z: mul_sub(self.x, b.y, self.y * b.x),
        }
    }

    /// self + b k.
    #[inline(always)]
    pub(crate) fn plus(self, b: V, k: F) -> V {
        V { x: mul_add(b.x, k, self.x), y: mul_add(b.y, k, self.y), z: mul_add(b.z, k, self.z) }
    }

    /// self − b k.
    #[inline(always)]
    pub(crate) fn minus(self, b: V, k: F) -> V {
        V { x: less(self.x, b.x, k), y: less(self.y, b.y, k), z: less(self.z, b.z, k) }
    }

    /// self + a × b.
    #[inline(always)]
    pub(crate) fn plus_cross(self, a: V, b: V) -> V {
        V {
            x: less(mul_add(a.y, b.z, self.x), a.z, b.y),
            y: less(mul_add(a.z, b.x, self.y), a.x, b.z),
            z: less(mul_add(a.x, b.y, self.z), a.y, b.x),
        }
    }
}

impl Add for V {
    type Output = V;
    #[inline(always)]
    fn add(self, b: V) -> V {
        V { x: self.x + b.x, y: self.y + b.y, z: self.z + b.z }
    }
}

impl Sub for V {
    type Output = V;
    #[inline(always)]
    fn sub(self, b: V) -> V {
        V { x: self.x - b.x, y: self.y - b.y, z: self.z - b.z }
    }
}

impl AddAssign for V {
    #[inline(always)]
    fn add_assign(&mut self, b: V) {
        *self = *self + b;
    }
}

impl Mul<F> for V {
    type Output = V;
    #[inline(always)]
    fn mul(self, k: F) -> V {
        V { x: self.x * k, y: self.y * k, z: self.z * k }
    }
}

/// Columns of a matrix of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct M {
    pub(crate) x: V,
    pub(crate) y: V,
    pub(crate) z: V,
}

impl Mul<V> for M {
    type Output = V;
    #[inline(always)]
    fn mul(self, v: V) -> V {
        (self.x * v.x).plus(self.y, v.y).plus(self.z, v.z)
    }
}

impl M {
    /// The matrix of one lane.
    pub(crate) fn lane(&self, k: usize) -> Mat3 {
        Mat3::from_columns(&[self.x.each()[k], self.y.each()[k], self.z.each()[k]])
    }

    /// R diag(d) Rᵀ.
    #[inline(always)]
    pub(crate) fn turned(&self, d: V) -> M {
        let (a, b, c) = (self.x * d.x, self.y * d.y, self.z * d.z);
        let entry =
            |ax: F, bx: F, cx: F, y: (F, F, F)| mul_add(cx, y.2, mul_add(bx, y.1, ax * y.0));
        let (rx, ry, rz) = (
            (self.x.x, self.y.x, self.z.x),
            (self.x.y, self.y.y, self.z.y),
            (self.x.z, self.y.z, self.z.z),
        );
        let xx = entry(a.x, b.x, c.x, rx);
        let xy = entry(a.x, b.x, c.x, ry);
        let xz = entry(a.x, b.x, c.x, rz);
        let yy = entry(a.y, b.y, c.y, ry);
        let yz = entry(a.y, b.y, c.y, rz);
        let zz = entry(a.z, b.z, c.z, rz);
        M {
            x: V { x: xx, y: xy, z: xz },
            y: V { x: xy, y: yy, z: yz },
            z: V { x: xz, y: yz, z: zz },
        }
    }

    /// A r×: its columns are A (r × e_k).
    #[inline(always)]
    pub(crate) fn times_cross(&self, r: V) -> M {
        M {
            x: (self.y * r.z).minus(self.z, r.y),
            y: (self.z * r.x).minus(self.x, r.z),
            z: (self.x * r.y).minus(self.y, r.x),
        }
    }
}

/// A symmetric matrix of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct S {
    x: V,
    yy: F,
    yz: F,
    zz: F,
}

impl S {
    pub(crate) const ZERO: S = S { x: V::ZERO, yy: F::ZERO, yz: F::ZERO, zz: F::ZERO };

    /// A matrix that is symmetric.
    #[inline(always)]
    pub(crate) fn of(m: &M) -> S {
        S { x: m.x, yy: m.y.y, yz: m.y.z, zz: m.z.z }
    }

    /// All of it.
    #[inline(always)]
    pub(crate) fn matrix(self) -> M {
        let S { x, yy, yz, zz } = self;
        M { x, y: V { x: x.y, y: yy, z: yz }, z: V { x: x.z, y: yz, z: zz } }
    }
}

/// A quaternion of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Q {
    pub(crate) w: F,
    pub(crate) v: V,
}

impl Q {
    pub(crate) const IDENTITY: Q = Q { w: F::ONE, v: V::ZERO };

    /// A quaternion for each lane.
    #[inline(always)]
    pub(crate) fn gather(value: impl Fn(usize) -> Quaternion<f64>) -> Q {
        let rows = from_fn(value).map(|q: Quaternion<f64>| F::new([q.i, q.j, q.k, q.w]));
        let [x, y, z, w] = F::transpose(rows);
        Q { w, v: V { x, y, z } }
    }

    /// The quaternions one by one.
    #[inline(always)]
    pub(crate) fn each(self) -> [Quaternion<f64>; LANES] {
        let rows = F::transpose([self.v.x, self.v.y, self.v.z, self.w]).map(F::to_array);
        rows.map(|[i, j, k, w]| Quaternion::new(w, i, j, k))
    }

    /// [`exp`](crate::flight::exp).
    #[inline(always)]
    pub(crate) fn exp(x: V) -> Q {
        let half = x * F::splat(0.5);
        let z = half.dot(half);
        let small = z.to_array();
        let largest = small[0].max(small[1]).max(small[2].max(small[3]));
        let (cos, sinc) = if largest < SHORT {
            let (z2, z4) = (z * z, (z * z) * (z * z));
            let sum = |k: &[f64; 9]| {
                let k = k.map(F::splat);
                let low = mul_add(z2, mul_add(z, k[2], k[1]), mul_add(z, k[0], F::ONE));
                mul_add(z4, mul_add(z, k[4], k[3]), low)
            };
            (sum(&COS), sum(&SINC))
        } else {
            let each = small.map(cos_sinc);
            (lanes(|k| each[k].0), lanes(|k| each[k].1))
        };
        Q { w: cos, v: half * sinc }
    }

    /// R(q) r.
    #[inline(always)]
    pub(crate) fn rotate(self, r: V) -> V {
        let twice = self.v.cross(r) * F::splat(2.0);
        r.plus(twice, self.w).plus_cross(self.v, twice)
    }

    /// R(q).
    #[inline(always)]
    pub(crate) fn matrix(self) -> M {
        let (one, two) = (F::ONE, F::splat(2.0));
        let (w, V { x, y, z }) = (self.w, self.v);
        let (x2, y2, z2) = (x * two, y * two, z * two);
        M {
            x: V {
                x: less(less(one, y, y2), z, z2),
                y: mul_add(x2, y, w * z2),
                z: mul_sub(x2, z, w * y2),
            },
            y: V {
                x: mul_sub(x2, y, w * z2),
                y: less(less(one, x, x2), z, z2),
                z: mul_add(y2, z, w * x2),
            },
            z: V {
                x: mul_add(x2, z, w * y2),
                y: mul_sub(y2, z, w * x2),
                z: less(less(one, x, x2), y, y2),
            },
        }
    }

    /// [`unit`](crate::flight::unit), for a quaternion whose length is 1 but for rounding.
    #[inline(always)]
    pub(crate) fn unit(self) -> Q {
        let (mut sum, mut rest) = (F::splat(-1.0), F::ZERO);
        for x in [self.w, self.v.x, self.v.y, self.v.z] {
            let product = x * x;
            let shifted = x * F::splat(134_217_729.0); // 2²⁷ + 1
            let high = shifted - (shifted - x);
            let low = x - high;
            let error = ((high * high - product) + F::splat(2.0) * high * low) + low * low;
            let next = sum + product;
            let part = next - sum;
            rest += error + ((sum - (next - part)) + (product - part));
            sum = next;
        }
        let k = F::splat(0.5) * (sum + rest);
        Q { w: self.w - self.w * k, v: self.v - self.v * k }
    }
}

impl Mul for Q {
    type Output = Q;
    #[inline(always)]
    fn mul(self, b: Q) -> Q {
        Q {
            w: mul_sub(self.w, b.w, self.v.dot(b.v)),
            v: (b.v * self.w).plus(self.v, b.w).plus_cross(self.v, b.v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products and sums have one rounding, whatever the processor: 1/3 · 3 − 1 is what rounding 1/3 has left.
    #[test]
    fn products_and_sums_have_one_rounding() {
        let [a, b, c] = [1.0 / 3.0, 3.0, 1.0];
        let left = f64::mul_add(a, b, -c);
        assert!(left < 0.0 && a * b - c == 0.0);
        let [x, y, z] = [a, b, c].map(F::splat);
        assert_eq!(mul_add(x, y, -z), F::splat(left));
        assert_eq!(mul_sub(x, y, z), F::splat(left));
        assert_eq!(less(z, x, y), F::splat(-left));
    }
}
