//! Closing the joints of a part: damped Gauss-Newton.

use crate::linear::{Part, Plan, Posture, damped_least_squares};
use crate::math::{Quat, Vec3};

/// Damping relative to the longest row: small enough not to be felt, large enough for rows that depend on others.
const LEAST_DAMPING: f64 = 1e-8;
/// The damping from which a refused step starts over.
const FIRST_DAMPING: f64 = 1e-4;
/// Damping beyond which there is no way down.
const MOST_DAMPING: f64 = 1e4;
/// The largest turn of a body in one step, rad.
const LARGEST_TURN: f64 = 0.5;
/// A step that promises less than this share of the error is none.
const STATIONARY: f64 = 1e-13;

/// How an attempt to close ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Closure {
    /// Every error is within its tolerance.
    pub(crate) closed: bool,
    /// Steps done.
    pub(crate) iterations: usize,
    /// Half the sum of squared scaled errors.
    pub(crate) cost: f64,
    /// The errors cannot be made smaller from here, to first order.
    pub(crate) stationary: bool,
}

/// A part whose joints are to be closed.
#[derive(Clone, Debug)]
pub(crate) struct Closing {
    pub(crate) part: Part,
    pub(crate) plan: Plan,
    /// Allowed |C|. (n_rows)
    pub(crate) tolerances: Vec<f64>,
    /// Most steps.
    pub(crate) max_iterations: usize,
}

impl Closing {
    /// Moves the bodies of the part until C = 0, with the least movement M^½ Δq in each step:
    ///
    /// ```text
    /// Δq = −M^-½ x,  x = argmin |A x − S C|² + δ² |x|²,  A = S J M^-½
    /// ```
    /// For δ → 0 this is Δq = −M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ C. S brings the rows of a block to length ≤ 1. A step that does
    /// not lower |S C| is halved, then damped more (\[Marquardt 1963\]). Goes on below the tolerance as long as the
    /// errors fall.
    pub(crate) fn close(&self, posture: &mut Posture<'_>) -> Closure {
        let part = &self.part;
        let mut c = part.errors(posture);
        let scales = self.block_scales(posture);
        let mut cost = cost_of(&c, &scales);
        let mut result = Closure { closed: false, iterations: 0, cost, stationary: false };
        let mut damping = LEAST_DAMPING;
        let mut falling = true;
        let mut slow = 0;
        while result.iterations < self.max_iterations && cost > 0.0 && cost.is_finite() {
            if self.is_closed(&c) && !falling {
                break;
            }
            result.iterations += 1;
            let mut matrix = part.matrix(posture).matrix;
            matrix.scale_rows(&scales);
            let longest = matrix.row_norms().into_iter().fold(0.0_f64, f64::max);
            if !longest.is_finite() || longest == 0.0 {
                break;
            }
            let b: Vec<f64> = c.iter().zip(&scales).map(|(c, s)| c * s).collect();
            let x = damped_least_squares(&matrix, &self.plan, &b, damping * longest, None);
            let remaining = matrix.multiply(&x);
            let remaining: f64 = remaining.iter().zip(&b).map(|(ax, b)| (ax + b).powi(2)).sum();
            if cost - 0.5 * remaining <= STATIONARY * cost {
                result.stationary = true;
                break;
            }
            match self.descend(posture, &x, cost, &scales) {
                Some((new_c, full)) => {
                    c = new_c;
                    let new_cost = cost_of(&c, &scales);
                    falling = new_cost < 0.25 * cost;
                    slow = if new_cost > (1.0 - 1e-9) * cost { slow + 1 } else { 0 };
                    cost = new_cost;
                    if full {
                        damping = (0.1 * damping).max(LEAST_DAMPING);
                    }
                    if slow >= 8 {
                        result.stationary = true;
                        break;
                    }
                }
                None => {
                    falling = false;
                    damping = (10.0 * damping).max(FIRST_DAMPING);
                    if damping > MOST_DAMPING {
                        result.stationary = true;
                        break;
                    }
                }
            }
        }
        result.cost = cost;
        result.closed = self.is_closed(&c);
        result
    }

    /// Whether every error is within its tolerance; false for what is not a number.
    pub(crate) fn is_closed(&self, c: &[f64]) -> bool {
        c.iter().zip(&self.tolerances).all(|(c, tolerance)| c.abs() <= *tolerance)
    }

    /// Moves along x as far as it lowers the cost; the new errors and whether the step was whole.
    fn descend(
        &self,
        posture: &mut Posture<'_>,
        x: &[f64],
        cost: f64,
        scales: &[f64],
    ) -> Option<(Vec<f64>, bool)> {
        let movements = self.part.movements(posture, x);
        let turn = movements.iter().map(|(_, turn)| turn.norm()).fold(0.0, f64::max);
        let whole = if turn > LARGEST_TURN { LARGEST_TURN / turn } else { 1.0 };
        let saved = self.places(posture);
        for share in [1.0, 0.5, 0.25, 0.125] {
            self.displace(posture, &movements, whole * share);
            let c = self.part.errors(posture);
            if cost_of(&c, scales) < cost {
                posture.follow_coordinates(self.part.blocks.iter().map(|b| b.block));
                return Some((c, whole * share >= 1.0));
            }
            self.restore(posture, &saved);
        }
        None
    }

    /// Moves all bodies by `share` of the movements.
    pub(crate) fn displace(
        &self,
        posture: &mut Posture<'_>,
        movements: &[(Vec3, Vec3)],
        share: f64,
    ) {
        for (&body, (step, turn)) in self.part.bodies.iter().zip(movements) {
            posture.displace(body, &(step * share), &(turn * share));
        }
    }

    /// Where the bodies are.
    pub(crate) fn places(&self, posture: &Posture<'_>) -> Vec<(Vec3, Quat)> {
        let state = &posture.state;
        self.part.bodies.iter().map(|&b| (state.s[b], state.rot[b])).collect()
    }

    /// Puts the bodies back.
    pub(crate) fn restore(&self, posture: &mut Posture<'_>, places: &[(Vec3, Quat)]) {
        for (&body, (s, rot)) in self.part.bodies.iter().zip(places) {
            posture.place(body, s, rot);
        }
    }

    /// S: 1 / (longest row of J in the block), so that equations of any size read like lengths.
    fn block_scales(&self, posture: &mut Posture<'_>) -> Vec<f64> {
        let lengths = self.part.matrix(posture).lengths;
        let mut scales = Vec::with_capacity(lengths.len());
        for block in &self.part.blocks {
            let lengths = &lengths[block.first_row..block.first_row + block.rows.len()];
            let longest = lengths.iter().copied().fold(0.0, f64::max);
            let scale = if longest.is_finite() && longest > 1e-9 { 1.0 / longest } else { 1.0 };
            scales.extend(std::iter::repeat_n(scale, block.rows.len()));
        }
        scales
    }
}

fn cost_of(c: &[f64], scales: &[f64]) -> f64 {
    0.5 * c.iter().zip(scales).map(|(c, s)| (c * s).powi(2)).sum::<f64>()
}
