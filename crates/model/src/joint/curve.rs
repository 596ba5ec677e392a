//! Point on a curve.

use std::sync::Arc;

use super::elements::{FramePair, Placed};
use super::path::{Foot, Path};
use super::{Coordinate, CoordinateKind, JointEquations, JointFrame, JointRows, PairRow};
use crate::math::{Real, Vec3, norm};
use crate::state::{Pose, Twist};

/// Point on a curve: a point of b stays on a curve c(u) fixed in a; b turns freely. Takes away 2 degrees of freedom.
///
/// With x the point in the frame on a, u its foot, (x − c)·c' = 0, δ = x − c, and e_1, e_2 across the tangent there:
/// ```text
/// C = [ e_1·δ ; e_2·δ ]
/// J = J_x(e_i + (e_i'·δ) c'/D)             D = |c'|² − δ·c'', u̇ = c'·ẋ/D
/// γ = γ_x(the same) − u̇ e_i'·(2 ẋ − c' u̇)
/// ```
/// J_x(w), γ_x(w): row and γ of w·Δ for the direction w fixed in a ([`Rail`](super::Rail)); γ is exact where δ = 0.
/// The parameter u needs no place in the state: the foot is found from the poses and the coordinate of a moment ago, so
/// that a point goes straight through a crossing of the curve ([`PointOnCurve::near`], what runs use). Without that, the
/// nearest foot of all counts.
///
/// The coordinate is position, the arc length from the start of the curve to the foot; on a closed curve it counts full
/// rounds. Its rate is |c'| u̇. The ends of an open curve are limits of it.
///
/// \[Schmitt 2003\] section 10 names points gliding on space curves.
#[derive(Clone, Debug)]
pub struct PointOnCurve {
    frames: FramePair,
    path: Arc<Path>,
    near: Option<f64>,
}

const POSITION: [Coordinate; 1] = [Coordinate { name: "position", kind: CoordinateKind::Length }];

impl PointOnCurve {
    /// The joint that holds the origin of the frame on b on a curve given in the frame on a.
    pub fn new(a: &JointFrame, b: &JointFrame, path: Path) -> Self {
        PointOnCurve { frames: FramePair::new(a, b), path: Arc::new(path), near: None }
    }

    /// The same, with its foot sought from `position` m along the curve.
    #[must_use]
    pub fn near(&self, position: f64) -> Self {
        PointOnCurve { near: Some(position), ..self.clone() }
    }

    pub(super) fn frames(&self) -> [JointFrame; 2] {
        self.frames.both()
    }

    /// The curve.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn foot<T: Real>(&self, a: &Pose<T>, b: &Pose<T>) -> (Placed<T>, Foot<T>) {
        let at = self.frames.place(a, b);
        let foot = self.path.foot(&at.local(), self.near);
        (at, foot)
    }
}

impl JointEquations for PointOnCurve {
    fn n_rows(&self) -> usize {
        2
    }

    fn row_name(&self, i: usize) -> &'static str {
        ["across 1", "across 2"][i]
    }

    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]) {
        let (_, foot) = self.foot(a, b);
        let (e, _) = self.path.across(&foot);
        c[0] = e[0].dot(&foot.delta);
        c[1] = e[1].dot(&foot.delta);
    }

    fn coordinates(&self) -> &'static [Coordinate] {
        &POSITION
    }

    fn force_point(&self, _a: &Pose, b: &Pose) -> Vec3 {
        b.point(&self.frames.b.origin)
    }
}

impl<T: Real> JointRows<T> for PointOnCurve {
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let (at, foot) = self.foot(a, b);
        let (e, e_prime) = self.path.across(&foot);
        for i in 0..2 {
            let w = e[i] + foot.d1 * (e_prime[i].dot(&foot.delta) / foot.slope);
            jac[i] = at.along_row(&at.in_world(&w));
        }
    }

    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]) {
        let (at, foot) = self.foot(a, b);
        let (e, e_prime) = self.path.across(&foot);
        let x_dot = at.local_rate(v_a, v_b);
        let u_dot = foot.d1.dot(&x_dot) / foot.slope;
        for i in 0..2 {
            let w = e[i] + foot.d1 * (e_prime[i].dot(&foot.delta) / foot.slope);
            gamma[i] = at.along_gamma(&at.in_world(&w), v_a, v_b)
                - u_dot * e_prime[i].dot(&(x_dot * T::from(2.0) - foot.d1 * u_dot));
        }
    }

    fn coordinate(&self, a: &Pose<T>, b: &Pose<T>, q: &mut [T]) {
        let (_, foot) = self.foot(a, b);
        let position = self.path.position(foot.u.value());
        let position = match self.near {
            Some(near) => self.path.unwrap(position, near),
            None => position,
        };
        q[0] = foot.u.chain(position, norm(&foot.d1).value());
    }

    fn coordinate_jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let (at, foot) = self.foot(a, b);
        jac[0] = at.along_row(&at.in_world(&(foot.d1 * (norm(&foot.d1) / foot.slope))));
    }

    /// q̈ = |c'| ü + (c'·c''/|c'|) u̇², D ü = c''·ẋ u̇ − u̇ Ḋ + c'·ẍ, Ḋ = 2 c'·c'' u̇ − c''·(ẋ − c' u̇) where δ = 0.
    fn coordinate_gamma(
        &self,
        a: &Pose<T>,
        b: &Pose<T>,
        v_a: &Twist<T>,
        v_b: &Twist<T>,
        gamma: &mut [T],
    ) {
        let (at, foot) = self.foot(a, b);
        let (d1, d2) = (foot.d1, foot.d2);
        let speed = norm(&d1);
        let x_dot = at.local_rate(v_a, v_b);
        let u_dot = d1.dot(&x_dot) / foot.slope;
        let slope_dot = T::from(2.0) * d1.dot(&d2) * u_dot - d2.dot(&(x_dot - d1 * u_dot));
        let bend = (d2.dot(&x_dot) - slope_dot) * u_dot * speed / foot.slope
            + d1.dot(&d2) / speed * u_dot * u_dot;
        gamma[0] = at.along_gamma(&at.in_world(&(d1 * (speed / foot.slope))), v_a, v_b) - bend;
    }
}
