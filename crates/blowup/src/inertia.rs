//! The whole matrix of the equations of motion of a blown-up system.

use crate::blow::Resolution;
use crate::field::Field;
use crate::system::{System, rank};

/// ```text
/// [ M  Gᵀ ] [ v̇ ]   [ F ]
/// [ G  0  ] [ μ ] = [ γ ]        \[Laufen\] (4)
/// ```
/// at x, with M = diag(masses); variables beyond the masses given have mass zero.
pub fn whole_matrix<C: Field>(system: &System<C>, masses: &[C], x: &[C]) -> Vec<Vec<C>> {
    let (n, m) = (system.n_variables(), system.equations.len());
    let g = system.jacobian_at(x);
    let mut rows = vec![vec![C::zero(); n + m]; n + m];
    for (i, mass) in masses.iter().enumerate().take(n) {
        rows[i][i] = mass.clone();
    }
    for (k, row) in g.iter().enumerate() {
        for (i, c) in row.iter().enumerate() {
            rows[n + k][i] = c.clone();
            rows[i][n + k] = c.clone();
        }
    }
    rows
}

/// Whether the whole matrix of a blown-up system has full rank at the singular point, the new variables having no mass:
/// \[Laufen\] IV §2. If not, no smooth motion passes: y² = x³ is blown up to full rank of G, yet a mass on it would have to
/// turn back at once.
pub fn admits_smooth_motion<C: Field>(
    resolution: &Resolution<C>,
    masses: &[C],
    epsilon: f64,
) -> bool {
    let rows = whole_matrix(&resolution.whole, masses, &resolution.point);
    let size = rows.len();
    rank(rows, epsilon) == size
}
