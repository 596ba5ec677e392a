//! How joints that say the same share the load: reactions of least norm.

use gelenk_model::Twist;

use super::Factor;
use crate::scratch::Scratch;

/// Damping of K, as a part of its diagonal. Its square root is about the precision of the shares.
const DAMPING: f64 = 1e-8;

/// Solves; each one takes what the damping left, a part DAMPING/σ of it where K, scaled, has an eigenvalue σ.
const ROUNDS: u32 = 3;

/// Where rows are redundant, many impulses p make the same motion, and the solver has left out rows that depend on others. Of
/// all p with the same K p this takes the one with the least Σ K_ii p_i²: loads are shared, equal supports carry equal parts.
///
/// ```text
/// (K + ε diag K) Δp = K (p₀ − p),   p ← p + Δp,   from p = 0
/// ```
/// Everything it adds lies in the range of K (scaled), which is what makes the norm least.
pub(in crate::solver) fn share(scratch: &mut Scratch, velocity: bool) {
    let Scratch { rows, bodies, direct, sharing, .. } = scratch;
    if direct.as_ref().is_none_or(|factor| factor.redundant == 0) {
        return;
    }
    let sharing = sharing.get_or_insert_with(|| {
        Box::new(Sharing::new(Factor::new(rows, &bodies.fixed), bodies.fixed.len()))
    });
    if !rows.shared {
        sharing.factor.refresh_damped(rows, DAMPING);
        rows.shared = true;
    }
    let n = rows.impulse.len();
    let Sharing { factor, twists, wanted, p } = &mut **sharing;
    let found = if velocity { &rows.velocity_impulse } else { &rows.impulse };
    rows.response_to(found, twists, wanted);
    p.fill(0.0);
    for _ in 0..ROUNDS {
        rows.error.fill(0.0);
        let mut error = std::mem::take(&mut rows.error);
        rows.response_to(p, twists, &mut error);
        for k in 0..n {
            error[k] = wanted[k] - error[k];
        }
        factor.solve(&error, &mut rows.solution);
        rows.error = error;
        for k in 0..n {
            p[k] += rows.solution[k];
        }
    }
    let found = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
    found.copy_from_slice(p);
}

/// Memory to share loads between redundant rows.
#[derive(Clone, Debug)]
pub struct Sharing {
    factor: Factor,
    twists: Vec<Twist>,
    wanted: Vec<f64>,
    p: Vec<f64>,
}

impl Sharing {
    fn new(factor: Factor, n_bodies: usize) -> Self {
        let n_rows = factor.n_rows();
        Sharing {
            factor,
            twists: vec![Twist::zero(); n_bodies],
            wanted: vec![0.0; n_rows],
            p: vec![0.0; n_rows],
        }
    }
}
