//! Six numbers and 6 × 6 blocks: velocities (ṡ, ω), wrenches (f, τ), and what turns the ones into the others.

use gelenk_model::Twist;
use gelenk_model::math::Vec3;

use crate::lanes::{F, mul_add};

/// A velocity or a wrench of a body about its centre.
pub(super) type Six = [f64; 6];

/// A 6 × 6 block, row by row.
pub(super) type Block = [Six; 6];

/// Six numbers in whole lanes.
pub(super) type Wide = [F; 2];

/// A row in lanes.
#[inline(always)]
pub(super) fn wide(row: &Six) -> Wide {
    let [a, b, c, d, e, f] = *row;
    [F::new([a, b, c, d]), F::new([e, f, 0.0, 0.0])]
}

/// The same of up to six numbers.
#[inline(always)]
pub(super) fn wide_part(row: &[f64]) -> Wide {
    match <&Six>::try_from(row) {
        Ok(row) => wide(row),
        Err(_) => {
            let mut six = [0.0; 6];
            six.iter_mut().zip(row).for_each(|(six, x)| *six = *x);
            wide(&six)
        }
    }
}

/// The six numbers.
#[inline(always)]
pub(super) fn narrow(row: Wide) -> Six {
    let ([a, b, c, d], [e, f, ..]) = (row[0].to_array(), row[1].to_array());
    [a, b, c, d, e, f]
}

/// to + a row.
#[inline(always)]
pub(super) fn plus(to: Wide, a: f64, row: &Wide) -> Wide {
    let a = F::splat(a);
    [mul_add(a, row[0], to[0]), mul_add(a, row[1], to[1])]
}

/// Products of numbers at the same place, in lanes that are still to be summed.
#[inline(always)]
pub(super) fn products(sum: F, a: &Wide, b: &Wide) -> F {
    mul_add(a[1], b[1], mul_add(a[0], b[0], sum))
}

/// The sum of all lanes, always in one order.
#[inline(always)]
pub(super) fn sum(lanes: F) -> f64 {
    let [a, b, c, d] = lanes.to_array();
    (a + b) + (c + d)
}

/// Below this part of the largest, a scaled pivot belongs to a direction without inertia: it keeps its velocity.
const WITHOUT_INERTIA: f64 = 1e-13;

/// Scaled pivots below this are chosen from the whole rest: in the order of the rows they would cost a thousandth of the digits.
const WEAK: f64 = 1e-3;

pub(super) fn six(twist: &Twist) -> Six {
    let (v, w) = (&twist.s_dot, &twist.omega);
    [v.x, v.y, v.z, w.x, w.y, w.z]
}

pub(super) fn twist(v: &Six) -> Twist {
    Twist { s_dot: Vec3::new(v[0], v[1], v[2]), omega: Vec3::new(v[3], v[4], v[5]) }
}

#[inline(always)]
pub(super) fn dot(a: &Six, b: &Six) -> f64 {
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
}

/// X v: the velocity of a point at `r` from the centre that moves with v.
#[inline(always)]
pub(super) fn shift_velocity(v: &Six, r: &Vec3) -> Six {
    [
        v[0] + v[4] * r.z - v[5] * r.y,
        v[1] + v[5] * r.x - v[3] * r.z,
        v[2] + v[3] * r.y - v[4] * r.x,
        v[3],
        v[4],
        v[5],
    ]
}

/// Xᵀ w: a wrench at that point, about the centre.
#[inline(always)]
pub(super) fn shift_wrench(w: &Six, r: &Vec3) -> Six {
    [
        w[0],
        w[1],
        w[2],
        w[3] + r.y * w[2] - r.z * w[1],
        w[4] + r.z * w[0] - r.x * w[2],
        w[5] + r.x * w[1] - r.y * w[0],
    ]
}

/// A X, row by row the wrench of the row carried over.
#[inline(always)]
pub(super) fn times_x(a: &Block, r: &Vec3) -> Block {
    a.map(|row| shift_wrench(&row, r))
}

/// Xᵀ A.
#[inline(always)]
pub(super) fn x_times(a: &Block, r: &Vec3) -> Block {
    let mut b = *a;
    for j in 0..6 {
        b[3][j] += r.y * a[2][j] - r.z * a[1][j];
        b[4][j] += r.z * a[0][j] - r.x * a[2][j];
        b[5][j] += r.x * a[1][j] - r.y * a[0][j];
    }
    b
}

/// X A Xᵀ of a symmetric A.
#[inline(always)]
pub(super) fn carry(a: &Block, r: &Vec3) -> Block {
    let half = a.map(|row| shift_velocity(&row, r));
    let mut b = half;
    for j in 0..6 {
        b[0][j] += half[4][j] * r.z - half[5][j] * r.y;
        b[1][j] += half[5][j] * r.x - half[3][j] * r.z;
        b[2][j] += half[3][j] * r.y - half[4][j] * r.x;
    }
    b
}

#[inline(always)]
pub(super) fn add(a: &mut Block, b: &Block) {
    for (a, b) in a.iter_mut().zip(b) {
        for (a, b) in a.iter_mut().zip(b) {
            *a += b;
        }
    }
}

#[inline(always)]
pub(super) fn times(a: &Block, v: &Six) -> Six {
    [dot(&a[0], v), dot(&a[1], v), dot(&a[2], v), dot(&a[3], v), dot(&a[4], v), dot(&a[5], v)]
}

/// The inverse of the leading F × F part of `d`. Directions whose pivot vanishes get none.
#[inline(always)]
pub(super) fn invert<const F: usize>(d: &[[f64; F]; F]) -> Option<[[f64; F]; F]> {
    if F == 1 {
        let mut inverse = [[0.0; F]; F];
        let x = d[0][0];
        if !x.is_finite() {
            return None;
        }
        if x != 0.0 {
            inverse[0][0] = 1.0 / x;
        }
        return Some(inverse);
    }
    let scale: [f64; F] = std::array::from_fn(|i| {
        let x = d[i][i].abs();
        if x > 0.0 { 1.0 / x.sqrt() } else { 0.0 }
    });
    let mut a = [[0.0; F]; F];
    for i in 0..F {
        for j in 0..F {
            a[i][j] = d[i][j] * scale[i] * scale[j];
            if !a[i][j].is_finite() {
                return None;
            }
        }
    }
    let mut inverse = [[0.0; F]; F];
    if in_order(&mut inverse, &a) {
        for i in 0..F {
            for j in 0..F {
                inverse[i][j] *= scale[i] * scale[j];
            }
        }
        return Some(inverse);
    }
    // Gauss-Jordan in place with pivots from the whole rest.
    let (mut row_of, mut column_of, mut done) = ([0; F], [0; F], [false; F]);
    let mut used = [false; F];
    let mut rank = 0;
    for k in 0..F {
        let (mut best, mut p, mut q) = (WITHOUT_INERTIA, F, F);
        for i in (0..F).filter(|&i| !used[i]) {
            for j in (0..F).filter(|&j| !done[j]) {
                if a[i][j].abs() > best {
                    (best, p, q) = (a[i][j].abs(), i, j);
                }
            }
        }
        if p == F {
            break;
        }
        (used[p], done[q]) = (true, true);
        (row_of[k], column_of[k]) = (p, q);
        rank = k + 1;
        let pivot = 1.0 / a[p][q];
        for j in 0..F {
            if j != q {
                a[p][j] *= pivot;
            }
        }
        for i in 0..F {
            if i != p {
                let factor = a[i][q];
                for j in 0..F {
                    if j != q {
                        a[i][j] -= factor * a[p][j];
                    }
                }
                a[i][q] = -factor * pivot;
            }
        }
        a[p][q] = pivot;
    }
    // Entry (p, q) of the worked matrix is entry (q, p) of the inverse.
    inverse = [[0.0; F]; F];
    for k in 0..rank {
        for l in 0..rank {
            let (p, q) = (row_of[l], column_of[k]);
            inverse[q][p] = a[row_of[k]][column_of[l]] * scale[q] * scale[p];
        }
    }
    Some(inverse)
}

/// Gauss-Jordan in place with the diagonal for pivots; false where one of them says little.
#[inline(always)]
fn in_order<const F: usize>(inverse: &mut [[f64; F]; F], a: &[[f64; F]; F]) -> bool {
    *inverse = *a;
    for k in 0..F {
        let x = inverse[k][k];
        if x.abs() < WEAK {
            return false;
        }
        let pivot = 1.0 / x;
        inverse[k][k] = 1.0;
        for j in 0..F {
            inverse[k][j] *= pivot;
        }
        let row = inverse[k];
        for i in 0..F {
            if i != k {
                let factor = inverse[i][k];
                inverse[i][k] = 0.0;
                for j in 0..F {
                    inverse[i][j] -= factor * row[j];
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_of_an_unsymmetric_block() {
        let d = [[2.0, 1.0, -1.0], [0.5, 3.0, 0.25], [1.0, -2.0, 1.5]];
        let inverse = invert(&d).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let sum: f64 = (0..3).map(|k| d[i][k] * inverse[k][j]).sum();
                assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-14, "{i} {j} {sum}");
            }
        }
    }

    /// A direction without inertia keeps its velocity.
    #[test]
    fn inverse_of_a_block_without_rank() {
        let inverse = invert(&[[2.0, 0.0], [0.0, 0.0]]).unwrap();
        assert_eq!(inverse, [[0.5, 0.0], [0.0, 0.0]]);
    }
}
