//! Inverses of the small symmetric matrices K of single joints.

/// The largest K of one block.
pub(crate) const MAX: usize = gelenk_model::joint::MAX_ROWS;

/// Below this part of the largest eigenvalue of the scaled K a direction counts as one that no impulse can move.
const RANK_TOLERANCE: f64 = 1e-12;

/// √(x² + y²), without the care of `hypot` for numbers near the ends of the range, which takes five times as long.
#[inline]
pub(crate) fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// Writes the inverse of the symmetric positive semidefinite n × n matrix `k` (row-major), in place.
///
/// Rows are first scaled to a unit diagonal, so that metres and radians compare. If K loses rank (an axis of a thin
/// rod, two fixed bodies) the inverse is the pseudo-inverse of the scaled matrix: no impulse in directions without
/// response. Returns the rank.
pub(crate) fn invert(k: &mut [f64], n: usize) -> usize {
    let mut scale = [0.0; MAX];
    let largest = (0..n).map(|i| k[i * n + i]).fold(0.0, f64::max);
    for i in 0..n {
        // A row far below the others is noise of a row that is zero.
        let diagonal = k[i * n + i];
        scale[i] = if diagonal > largest * 1e-14 { 1.0 / diagonal.sqrt() } else { 0.0 };
    }
    let mut a = [[0.0; MAX]; MAX];
    for i in 0..n {
        for j in 0..n {
            a[i][j] = k[i * n + j] * scale[i] * scale[j];
        }
    }
    let (inverse, rank) = match cholesky_inverse(&a, n) {
        Some(inverse) => (inverse, n),
        None => pseudo_inverse(a, n),
    };
    for i in 0..n {
        for j in 0..n {
            k[i * n + j] = inverse[i][j] * scale[i] * scale[j];
        }
    }
    rank
}

type Small = [[f64; MAX]; MAX];

/// A⁻¹ by A = L Lᵀ, or `None` where a pivot falls below the rank tolerance.
fn cholesky_inverse(a: &Small, n: usize) -> Option<Small> {
    let mut l = [[0.0; MAX]; MAX];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i][j];
            for m in 0..j {
                sum -= l[i][m] * l[j][m];
            }
            if i == j {
                if sum <= RANK_TOLERANCE {
                    return None;
                }
                l[i][i] = sum.sqrt();
            } else {
                l[i][j] = sum / l[j][j];
            }
        }
    }
    // L⁻¹, then L⁻ᵀ L⁻¹.
    let mut l_inv = [[0.0; MAX]; MAX];
    for i in 0..n {
        l_inv[i][i] = 1.0 / l[i][i];
        for j in 0..i {
            let mut sum = 0.0;
            for m in j..i {
                sum -= l[i][m] * l_inv[m][j];
            }
            l_inv[i][j] = sum / l[i][i];
        }
    }
    let mut inverse = [[0.0; MAX]; MAX];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = 0.0;
            for m in i..n {
                sum += l_inv[m][i] * l_inv[m][j];
            }
            inverse[i][j] = sum;
            inverse[j][i] = sum;
        }
    }
    Some(inverse)
}

/// The pseudo-inverse V D⁺ Vᵀ by Jacobi rotations, and the rank.
fn pseudo_inverse(mut a: Small, n: usize) -> (Small, usize) {
    let mut v = [[0.0; MAX]; MAX];
    for i in 0..n {
        v[i][i] = 1.0;
    }
    for _ in 0..30 {
        let mut off = 0.0;
        for i in 0..n {
            for j in 0..i {
                off += a[i][j] * a[i][j];
            }
        }
        if off < 1e-34 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                jacobi_rotation(&mut a, &mut v, n, p, q);
            }
        }
    }
    let largest = (0..n).map(|i| a[i][i]).fold(0.0, f64::max);
    let mut inverse = [[0.0; MAX]; MAX];
    let mut rank = 0;
    for m in 0..n {
        let d = a[m][m];
        if d <= RANK_TOLERANCE * largest || d <= 0.0 {
            continue;
        }
        rank += 1;
        for i in 0..n {
            for j in 0..n {
                inverse[i][j] += v[i][m] * v[j][m] / d;
            }
        }
    }
    (inverse, rank)
}

/// Turns columns p, q so that a_pq = 0.
fn jacobi_rotation(a: &mut Small, v: &mut Small, n: usize, p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let tau = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    for m in 0..n {
        let (x, y) = (a[m][p], a[m][q]);
        a[m][p] = c * x - s * y;
        a[m][q] = s * x + c * y;
    }
    for m in 0..n {
        let (x, y) = (a[p][m], a[q][m]);
        a[p][m] = c * x - s * y;
        a[q][m] = s * x + c * y;
    }
    for m in 0..n {
        let (x, y) = (v[m][p], v[m][q]);
        v[m][p] = c * x - s * y;
        v[m][q] = s * x + c * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverts_a_full_matrix() {
        let k = [4.0, 1.0, 0.5, 1.0, 3.0, -0.2, 0.5, -0.2, 2.0];
        let mut inverse = k;
        assert_eq!(invert(&mut inverse, 3), 3);
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|m| k[3 * i + m] * inverse[3 * m + j]).sum();
                let unit = f64::from(u8::from(i == j));
                assert!((product - unit).abs() < 1e-15, "{i} {j} {product}");
            }
        }
    }

    #[test]
    fn leaves_directions_without_response_alone() {
        // Two rows that say the same, and a row without response.
        let mut k = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(invert(&mut k, 3), 1);
        for (i, expected) in [0.25, 0.25, 0.0, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0].iter().enumerate() {
            assert!((k[i] - expected).abs() < 1e-15, "{i} {}", k[i]);
        }
    }
}
