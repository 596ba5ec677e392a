//! The cone of Coulomb's friction, |p_t| ≤ m r with the normal impulse r ≥ 0, and the nearest point of it.

/// The nearest point of the cone to (r, t₁, t₂) and its derivative there, row-major.
///
/// ```text
/// inside           the point itself                   |t| ≤ m r
/// below            0                                  m |t| ≤ −r
/// else             q (1, m t̂),  q = (r + m |t|)/(1 + m²)
/// derivative       (1, m t̂)(1, m t̂)ᵀ/(1 + m²) + (m q/|t|) (1 − t̂ t̂ᵀ)
/// ```
pub(super) fn nearest(y: [f64; 3], m: f64) -> ([f64; 3], Place, [f64; 9]) {
    let [r, t1, t2] = y;
    let size = t1.hypot(t2);
    if size <= m * r {
        return (y, Place::Inside, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }
    if m * size <= -r {
        return ([0.0; 3], Place::Below, [0.0; 9]);
    }
    let q = (r + m * size) / (1.0 + m * m);
    let (c, s) = (t1 / size, t2 / size);
    let (a, w) = (1.0 / (1.0 + m * m), m * q / size);
    let along = [1.0, m * c, m * s];
    let across = [0.0, -s, c];
    let mut d = [0.0; 9];
    for i in 0..3 {
        for j in 0..3 {
            d[3 * i + j] = a * along[i] * along[j] + w * across[i] * across[j];
        }
    }
    ([q, m * q * c, m * q * s], Place::Edge, d)
}

/// Where a point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Inside,
    Below,
    Edge,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left is normal to the cone there (and points out of it), and the derivative is that of differences.
    #[test]
    fn nearest_points() {
        let m = 0.7;
        for y in [[1.0, 0.2, -0.3], [-2.0, 0.5, 0.5], [0.3, 0.8, -0.6], [-0.2, 1.0, 0.4]] {
            let (z, place, d) = nearest(y, m);
            assert!(z[1].hypot(z[2]) <= m * z[0] + 1e-15);
            let left: f64 = (0..3).map(|k| (y[k] - z[k]) * z[k]).sum();
            assert!(left.abs() < 1e-15, "{place:?} {left}");
            for k in 0..3 {
                let (mut high, mut low) = (y, y);
                high[k] += 1e-6;
                low[k] -= 1e-6;
                let (high, low) = (nearest(high, m).0, nearest(low, m).0);
                for i in 0..3 {
                    let slope = (high[i] - low[i]) / 2e-6;
                    assert!((slope - d[3 * i + k]).abs() < 1e-8, "{place:?} {i} {k}");
                }
            }
        }
    }
}
