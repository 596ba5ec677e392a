//! Closing the joints of a part: damped Gauss-Newton.

use crate::linear::{Part, Plan, Posture, damped_least_squares};
use crate::rows::RowKind;

/// Damping relative to the longest row: small enough not to be felt, large enough for rows that depend on others.
const LEAST_DAMPING: f64 = 1e-8;
/// The damping from which a refused step starts over.
const FIRST_DAMPING: f64 = 1e-4;
/// Damping beyond which there is no way down.
const MOST_DAMPING: f64 = 1e4;
/// The largest turn of a body in one step, rad.
const LARGEST_TURN: f64 = 0.5;
/// Steps in a row that may gain less than this share.
const MOST_SLOW: usize = 8;
const SLOW: f64 = 1e-6;
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
    /// For δ → 0 this is Δq = −M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ C. S makes equations of any unit read like lengths. A step that
    /// does not lower |S C| is halved, then damped more (\[Marquardt 1963\]). Goes on below the tolerance as long as
    /// the errors fall.
    pub(crate) fn close(&self, posture: &mut Posture<'_>) -> Closure {
        let mut c = self.part.errors(posture);
        let scales = self.row_scales(posture);
        let mut result =
            Closure { closed: false, iterations: 0, cost: cost_of(&c, &scales), stationary: false };
        let mut damping = LEAST_DAMPING;
        let mut falling = true;
        let mut slow = 0;
        while result.iterations < self.max_iterations
            && result.cost > 0.0
            && result.cost.is_finite()
        {
            if self.is_closed(&c) && (!falling || self.is_well_closed(&c)) {
                break;
            }
            result.iterations += 1;
            let Some(x) = self.step(posture, &c, &scales, damping) else {
                result.stationary = true;
                break;
            };
            if let Some((new_c, whole)) = self.descend(posture, &x, result.cost, &scales) {
                c = new_c;
                let new_cost = cost_of(&c, &scales);
                falling = new_cost < 0.25 * result.cost;
                slow = if new_cost > (1.0 - SLOW) * result.cost { slow + 1 } else { 0 };
                result.cost = new_cost;
                damping = if whole { (0.1 * damping).max(LEAST_DAMPING) } else { damping };
            } else {
                falling = false;
                damping = (10.0 * damping).max(FIRST_DAMPING);
            }
            if slow >= MOST_SLOW || damping > MOST_DAMPING {
                result.stationary = true;
                break;
            }
        }
        result.closed = self.is_closed(&c);
        result
    }

    /// x of the step at this damping; `None` where it promises nothing.
    fn step(
        &self,
        posture: &mut Posture<'_>,
        c: &[f64],
        scales: &[f64],
        damping: f64,
    ) -> Option<Vec<f64>> {
        let mut matrix = self.part.matrix(posture).matrix;
        matrix.scale_rows(scales);
        let longest = matrix.row_norms().into_iter().fold(0.0_f64, f64::max);
        if !longest.is_finite() || longest == 0.0 {
            return None;
        }
        let b: Vec<f64> = c.iter().zip(scales).map(|(c, s)| c * s).collect();
        let x = damped_least_squares(&matrix, &self.plan, &b, damping * longest, None);
        let now: f64 = b.iter().map(|b| b * b).sum();
        let then = matrix.multiply(&x);
        let then: f64 = then.iter().zip(&b).map(|(ax, b)| (ax + b).powi(2)).sum();
        (now - then > STATIONARY * now).then_some(x)
    }

    /// Whether every error is within its tolerance; false for what is not a number.
    pub(crate) fn is_closed(&self, c: &[f64]) -> bool {
        c.iter().zip(&self.tolerances).all(|(c, tolerance)| c.abs() <= *tolerance)
    }

    /// Whether every error is so far below its tolerance that another step is not worth it.
    fn is_well_closed(&self, c: &[f64]) -> bool {
        c.iter().zip(&self.tolerances).all(|(c, tolerance)| c.abs() <= 1e-3 * tolerance)
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
        let saved = self.part.places(posture);
        for share in [1.0, 0.5, 0.25, 0.125] {
            self.part.displace(posture, &movements, whole * share);
            let c = self.part.errors(posture);
            if cost_of(&c, scales) < cost {
                posture.follow_coordinates(self.part.joints.iter().copied());
                return Some((c, whole * share >= 1.0));
            }
            self.part.restore(posture, &saved);
        }
        None
    }

    /// S: 1 / |J| for equations, whose unit is anything, so that they read like lengths; 1 for joints, in m and rad.
    fn row_scales(&self, posture: &mut Posture<'_>) -> Vec<f64> {
        let lengths = self.part.matrix(posture).lengths;
        let rows = self.part.rows().into_iter().zip(lengths);
        let is_equation = |k: usize| matches!(posture.model.rows[k].kind, RowKind::Equation(_));
        let scales = rows.map(|((block, _), length)| {
            let usable = length.is_finite() && length > 1e-9;
            if usable && is_equation(block) { 1.0 / length } else { 1.0 }
        });
        scales.collect()
    }
}

fn cost_of(c: &[f64], scales: &[f64]) -> f64 {
    0.5 * c.iter().zip(scales).map(|(c, s)| (c * s).powi(2)).sum::<f64>()
}
