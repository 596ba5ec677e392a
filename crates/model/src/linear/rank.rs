//! The rank of a part's rows.

use super::part::Part;
use super::plan::Plan;
use super::posture::Posture;
use super::qr::factor;
use super::surplus::NullVector;

/// Rank of the mass-weighted rows of a part at a posture, and what they combine to nothing with.
#[derive(Clone, Debug)]
pub(crate) struct Rank {
    /// Number of independent rows.
    pub(crate) n_independent: usize,
    /// The smallest pivot that counted; near the tolerance the rank is in doubt.
    pub(crate) smallest_pivot: f64,
    /// Orthonormal y with yᵀ D J M^-½ = 0, as (row, entry).
    pub(crate) null_vectors: Vec<NullVector>,
    /// D: what each row was multiplied by to have length 1; 0 for rows without inertia or value. (n_rows)
    pub(crate) scales: Vec<f64>,
    /// Rows whose Jacobian is not a number.
    pub(crate) undefined: Vec<usize>,
    /// Rows that move no inertia.
    pub(crate) dead: Vec<usize>,
    /// Rows whose Jacobian vanishes: equations at a point where their curve crosses itself.
    pub(crate) flat: Vec<usize>,
    /// Rows of ropes that hang loose.
    pub(crate) slack: Vec<usize>,
}

impl Rank {
    /// Whether a row takes part in the count.
    pub(crate) fn counts(&self, row: usize) -> bool {
        self.undefined.binary_search(&row).is_err() && self.slack.binary_search(&row).is_err()
    }

    /// Number of rows that depend on others.
    pub(crate) fn n_surplus(&self) -> usize {
        self.null_vectors.len() - self.undefined.len() - self.slack.len()
    }
}

/// |J| up to this is none at all.
const FLAT: f64 = 1e-12;

/// Rank of D J M^-½, rows scaled to length 1; pivots up to `tolerance` count as zero.
///
/// A row is without inertia when its weighted length is at most `tolerance` times what it would be if no direction
/// lacked inertia.
pub(crate) fn rank(part: &Part, plan: &Plan, posture: &mut Posture<'_>, tolerance: f64) -> Rank {
    let rows = part.matrix(posture);
    let mut matrix = rows.matrix;
    let norms = matrix.row_norms();
    let mut scales = vec![0.0; norms.len()];
    let (mut undefined, mut dead, mut flat) = (Vec::new(), Vec::new(), Vec::new());
    let mut slack = Vec::new();
    for b in &part.blocks {
        if posture.slack(b.block) {
            slack.extend(b.first_row..b.first_row + b.rows.len());
        }
    }
    for (i, &norm) in norms.iter().enumerate() {
        if slack.binary_search(&i).is_ok() {
            continue;
        }
        if !norm.is_finite() || !rows.ceilings[i].is_finite() {
            undefined.push(i);
        } else if rows.lengths[i] <= FLAT {
            flat.push(i);
        } else if norm <= tolerance * rows.ceilings[i] {
            dead.push(i);
        } else {
            scales[i] = 1.0 / norm;
        }
    }
    // Rows out of the count are cleared: zero times NaN would still be NaN.
    matrix.scale_rows(&scales);
    matrix.clear_rows(|i| scales[i] == 0.0);
    let factor = factor(&matrix, plan, tolerance);
    let mut null_vectors = factor.null_vectors();
    for block in matrix.blocks.iter().filter(|block| block.groups.is_empty()) {
        null_vectors
            .extend((block.first_row..block.first_row + block.n_rows).map(|i| vec![(i, 1.0)]));
    }
    Rank {
        n_independent: factor.rank,
        smallest_pivot: factor.smallest_pivot,
        null_vectors,
        scales,
        undefined,
        dead,
        flat,
        slack,
    }
}
