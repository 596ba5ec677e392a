//! Small dense kernels, row-major; 3×3 blocks, the common case, have loops of fixed length.

/// What the pivots of an elimination were.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pivots {
    /// Rows left out as redundant.
    pub(super) dropped: usize,
    /// The smallest other pivot as a part of its scale.
    pub(super) weakest: f64,
    /// Pivots of no more than [`BLURRED`] of their scale, those dropped among them.
    pub(super) blurred: usize,
    /// The smallest pivot above that.
    pub(super) clear: f64,
}

/// Pivots below this part of their scale may be rounding of redundant rows.
const BLURRED: f64 = 1e-9;

/// Inverse of a symmetric positive semidefinite matrix in place, leaving out rows that depend on earlier ones.
///
/// Gauss-Jordan in the given order. A pivot not above `drop` times `scale` (the diagonal before any elimination) is
/// rounding: its row is redundant and gets no impulse.
pub(super) fn invert_dropping(a: &mut [f64], n: usize, scale: &[f64], drop: f64) -> Pivots {
    let mut found = Pivots { dropped: 0, weakest: 1.0, blurred: 0, clear: 1.0 };
    for k in 0..n {
        let pivot = a[k * n + k];
        if pivot > BLURRED * scale[k] {
            found.clear = found.clear.min(pivot / scale[k]);
        } else {
            found.blurred += 1;
        }
        if pivot.is_nan() || pivot <= drop * scale[k] {
            for j in 0..n {
                a[k * n + j] = 0.0;
                a[j * n + k] = 0.0;
            }
            found.dropped += 1;
            continue;
        }
        found.weakest = found.weakest.min(pivot / scale[k]);
        let inverse = 1.0 / pivot;
        for j in 0..n {
            if j != k {
                a[k * n + j] *= inverse;
            }
        }
        for i in 0..n {
            if i == k {
                continue;
            }
            let factor = a[i * n + k];
            for j in 0..n {
                if j != k {
                    a[i * n + j] -= factor * a[k * n + j];
                }
            }
            a[i * n + k] = -factor * inverse;
        }
        a[k * n + k] = inverse;
    }
    found
}

/// c = a b with a: m×k, b: k×n.
#[inline]
pub(super) fn multiply(a: &[f64], b: &[f64], c: &mut [f64], m: usize, k: usize, n: usize) {
    if (m, k, n) == (3, 3, 3)
        && let (Ok(a), Ok(b), Ok(c)) =
            (<&[f64; 9]>::try_from(a), <&[f64; 9]>::try_from(b), <&mut [f64; 9]>::try_from(&mut *c))
    {
        for i in 0..3 {
            for j in 0..3 {
                c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
            }
        }
        return;
    }
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
        }
    }
}

/// c −= a bᵀ with a: m×k, b: n×k.
#[inline]
pub(super) fn subtract_product(a: &[f64], b: &[f64], c: &mut [f64], m: usize, k: usize, n: usize) {
    if (m, k, n) == (3, 3, 3)
        && let (Ok(a), Ok(b), Ok(c)) =
            (<&[f64; 9]>::try_from(a), <&[f64; 9]>::try_from(b), <&mut [f64; 9]>::try_from(&mut *c))
    {
        for i in 0..3 {
            for j in 0..3 {
                c[3 * i + j] -=
                    a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
            }
        }
        return;
    }
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] -= (0..k).map(|l| a[i * k + l] * b[j * k + l]).sum::<f64>();
        }
    }
}

/// y −= a x with a: m×n.
#[inline]
pub(super) fn subtract_apply(a: &[f64], x: &[f64], y: &mut [f64], m: usize, n: usize) {
    if let (Ok(a), Ok(x), Ok(y)) =
        (<&[f64; 9]>::try_from(a), <&[f64; 3]>::try_from(x), <&mut [f64; 3]>::try_from(&mut *y))
    {
        for i in 0..3 {
            y[i] -= a[3 * i] * x[0] + a[3 * i + 1] * x[1] + a[3 * i + 2] * x[2];
        }
        return;
    }
    for i in 0..m {
        y[i] -= (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>();
    }
}

/// y −= aᵀ x with a: m×n.
#[inline]
pub(super) fn subtract_apply_transposed(a: &[f64], x: &[f64], y: &mut [f64], m: usize, n: usize) {
    if let (Ok(a), Ok(x), Ok(y)) =
        (<&[f64; 9]>::try_from(a), <&[f64; 3]>::try_from(x), <&mut [f64; 3]>::try_from(&mut *y))
    {
        for j in 0..3 {
            y[j] -= a[j] * x[0] + a[3 + j] * x[1] + a[6 + j] * x[2];
        }
        return;
    }
    for j in 0..n {
        y[j] -= (0..m).map(|i| a[i * n + j] * x[i]).sum::<f64>();
    }
}
