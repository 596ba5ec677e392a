//! Ball joint.

use super::{JointEquations, JointFrame, JointRows, PairRow};
use crate::math::{Real, Vec3};
use crate::state::{Pose, Twist};

/// Ball joint: a point of body a and a point of body b coincide. Takes away 3 degrees of freedom.
///
/// ```text
/// C = p_b − p_a
/// J = [ −E   r_a×   E   −r_b× ]
/// γ = ω_a × (ω_a × r_a) − ω_b × (ω_b × r_b)
/// ```
/// p: joint point; r = p − s; r×: matrix with (r×) u = r × u. World frame.
/// The impulse acts on b, its opposite on a.
///
/// \[Schmitt 2003\] section 5, P-Schritt 2; there the impulse acts on the first body with a plus sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Joint point in a's principal frame, m.
    pub r_a_body: Vec3,
    /// Joint point in b's principal frame, m.
    pub r_b_body: Vec3,
}

impl Ball {
    /// The ball joint at the origins of the two joint frames.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Ball { r_a_body: a.origin, r_b_body: b.origin }
    }
}

impl JointEquations for Ball {
    fn n_rows(&self) -> usize {
        3
    }

    fn row_name(&self, i: usize) -> &'static str {
        ["x", "y", "z"][i]
    }

    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]) {
        let gap = b.point(&self.r_b_body) - a.point(&self.r_a_body);
        c[..3].copy_from_slice(gap.as_slice());
    }

    fn force_point(&self, _a: &Pose, b: &Pose) -> Vec3 {
        b.point(&self.r_b_body)
    }
}

impl<T: Real> JointRows<T> for Ball {
    #[rustfmt::skip]
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let r_a = a.turn(&self.r_a_body);
        let r_b = b.turn(&self.r_b_body);
        let (o, e) = (T::zero(), T::one());
        jac[0] = [-e, o, o,      o, -r_a.z,  r_a.y,   e, o, o,      o,  r_b.z, -r_b.y];
        jac[1] = [o, -e, o,  r_a.z,      o, -r_a.x,   o, e, o, -r_b.z,      o,  r_b.x];
        jac[2] = [o, o, -e, -r_a.y,  r_a.x,      o,   o, o, e,  r_b.y, -r_b.x,      o];
    }

    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]) {
        let r_a = a.turn(&self.r_a_body);
        let r_b = b.turn(&self.r_b_body);
        let value =
            v_a.omega.cross(&v_a.omega.cross(&r_a)) - v_b.omega.cross(&v_b.omega.cross(&r_b));
        gamma[..3].copy_from_slice(value.as_slice());
    }
}
