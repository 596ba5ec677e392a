//! Velocities that agree with the joints.

use super::closure::Closing;
use crate::linear::{Posture, damped_least_squares};

/// Damping relative to rows of length 1.
const DAMPING: f64 = 1e-8;
/// Each round removes what the damping of the last one left over.
const MAX_ROUNDS: usize = 10;

/// Changes the velocities of a part so that J v + C_t = 0 with the least kinetic energy of the change:
/// Δv = −M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ (J v + C_t). True if every rate is then within `tolerance`.
pub(crate) fn project(closing: &Closing, posture: &mut Posture<'_>, tolerance: f64) -> bool {
    let part = &closing.part;
    let largest = |rates: &[f64]| rates.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
    let finite = |rates: &[f64]| rates.iter().all(|r| r.is_finite());
    let mut rates = part.rates(posture);
    let mut worst = largest(&rates);
    if !finite(&rates) || worst <= tolerance {
        return finite(&rates);
    }
    let mut matrix = part.matrix(posture).matrix;
    let scales: Vec<f64> =
        matrix.row_norms().iter().map(|n| if *n > 0.0 { 1.0 / n } else { 0.0 }).collect();
    matrix.scale_rows(&scales);
    let all = matrix;
    let ropes = part.one_sided(posture.model);
    for _ in 0..MAX_ROUNDS {
        // A rope that shortens is in nobody's way.
        let mut matrix = all.clone();
        matrix.clear_rows(|i| ropes[i] && rates[i] == 0.0);
        let b: Vec<f64> = rates.iter().zip(&scales).map(|(r, s)| r * s).collect();
        let x = damped_least_squares(&matrix, &closing.plan, &b, DAMPING, None);
        for (&body, (s_dot, omega)) in part.bodies.iter().zip(part.movements(posture, &x)) {
            posture.push(body, &s_dot, &omega);
        }
        rates = part.rates(posture);
        let now = largest(&rates);
        if now >= 0.5 * worst {
            break;
        }
        worst = now;
    }
    finite(&rates) && largest(&rates) <= tolerance
}
