//! Distance joint.

use nalgebra::Vector3;

use super::elements::point_row;
use super::{Ball, JointEquations, JointFrame, JointRows, PairRow};
use crate::math::{Real, Vec3, norm};
use crate::state::{Pose, Twist};

/// Distance joint (massless rod): a point of a and a point of b keep their distance L. Takes away 1 degree of freedom.
///
/// ```text
/// C = |Δ| − L                                          Δ = p_b − p_a, u = Δ/|Δ|
/// J = [ −u  −(r_a × u)  u  r_b × u ]
/// γ = −( u·(ω_b×(ω_b×r_b) − ω_a×(ω_a×r_a)) + (|Δ̇|² − (u·Δ̇)²)/|Δ| )
/// ```
/// r = p − s. World frame. L > 0, since two points in one place are a ball joint with 3 rows. Should an iteration bring
/// the points together, u is taken as the world's z axis and the last term as zero.
///
/// \[Schmitt 2003\] section 4 and the point-mass paper's constraint (i, j, d), there as |Δ|² = d².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    ends: Ball,
    length: f64,
}

/// Levers and separation of the ends.
pub(super) struct Ends<T> {
    pub(super) r_a: Vector3<T>,
    pub(super) r_b: Vector3<T>,
    /// |Δ|, m.
    pub(super) distance: T,
    /// Δ/|Δ|.
    pub(super) u: Vector3<T>,
}

impl Distance {
    /// The rod of `length` m between the origins of the two joint frames.
    pub fn new(a: &JointFrame, b: &JointFrame, length: f64) -> Result<Self, String> {
        if !(length.is_finite() && length > 0.0) {
            return Err(format!(
                "the length must be positive, not {length}; for two points in one place use a ball joint"
            ));
        }
        Ok(Distance { ends: Ball::new(a, b), length })
    }

    /// L, m.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// The ends in the principal frames of a and b, m.
    pub fn points(&self) -> [Vec3; 2] {
        [self.ends.r_a_body, self.ends.r_b_body]
    }

    #[inline]
    pub(super) fn ends<T: Real>(&self, a: &Pose<T>, b: &Pose<T>) -> Ends<T> {
        let (r_a, r_b) = (a.turn(&self.ends.r_a_body), b.turn(&self.ends.r_b_body));
        let delta = (b.s + r_b) - (a.s + r_a);
        let distance = norm(&delta);
        let u = if distance.value() > 0.0 { delta / distance } else { Vector3::z() };
        Ends { r_a, r_b, distance, u }
    }
}

impl<T: Real> Ends<T> {
    /// The row of |Δ|.
    #[inline]
    pub(super) fn row(&self) -> PairRow<T> {
        point_row(&self.u, &self.r_a, &self.r_b)
    }

    /// Its γ.
    #[inline]
    pub(super) fn gamma(&self, v_a: &Twist<T>, v_b: &Twist<T>) -> T {
        let (turn_a, turn_b) = (v_a.omega.cross(&self.r_a), v_b.omega.cross(&self.r_b));
        let rate = v_b.s_dot + turn_b - v_a.s_dot - turn_a;
        let bend = v_b.omega.cross(&turn_b) - v_a.omega.cross(&turn_a);
        let across = rate - self.u * self.u.dot(&rate);
        let apart = self.distance.value() > 0.0;
        let swing = if apart { across.dot(&across) / self.distance } else { T::zero() };
        -(self.u.dot(&bend) + swing)
    }
}

impl JointEquations for Distance {
    fn n_rows(&self) -> usize {
        1
    }

    fn row_name(&self, _i: usize) -> &'static str {
        "length"
    }

    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]) {
        c[0] = self.ends(a, b).distance - self.length;
    }

    fn force_point(&self, a: &Pose, b: &Pose) -> Vec3 {
        self.ends.force_point(a, b)
    }
}

impl<T: Real> JointRows<T> for Distance {
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        jac[0] = self.ends(a, b).row();
    }

    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]) {
        gamma[0] = self.ends(a, b).gamma(v_a, v_b);
    }
}
