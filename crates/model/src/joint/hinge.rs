//! Hinge.

use super::elements::turn_row;
use super::{Ball, Coordinate, CoordinateKind, JointEquations, JointFrame, JointRows, PairRow};
use crate::math::{Mat3, Real, Vec3};
use crate::state::{Pose, Twist};

/// Hinge (revolute joint): a ball joint whose axis is common to both bodies. Takes away 5 degrees of freedom.
///
/// ```text
/// C = [ p_b − p_a ; n_a·x_b ; n_a·y_b ]
/// J = [ ball ; 0  (n_a × u)ᵀ  0  −(n_a × u)ᵀ ]          u = x_b, y_b
/// γ = [ ball ; −( ω_a×(ω_a×n_a)·u + 2 (ω_a×n_a)·(ω_b×u) + n_a·(ω_b×(ω_b×u)) ) ]
/// ```
/// n_a: axis fixed in a; x_b, y_b: across the axis, fixed in b. The angle turns b against a about n_a, zero where
/// x_b = x_a: φ = atan2(y_a·x_b, x_a·x_b).
///
/// \[Schmitt 2003\] section 10 builds it of two ball joints; one of their six equations is redundant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    point: Ball,
    x_a_body: Vec3,
    y_a_body: Vec3,
    n_a_body: Vec3,
    x_b_body: Vec3,
    y_b_body: Vec3,
}

const ANGLE: [Coordinate; 1] = [Coordinate { name: "angle", kind: CoordinateKind::Angle }];

impl Hinge {
    /// The hinge about the z axes of the two joint frames.
    pub fn new(a: &JointFrame, b: &JointFrame) -> Self {
        Hinge {
            point: Ball::new(a, b),
            x_a_body: a.axes.column(0).into(),
            y_a_body: a.axes.column(1).into(),
            n_a_body: a.axes.column(2).into(),
            x_b_body: b.axes.column(0).into(),
            y_b_body: b.axes.column(1).into(),
        }
    }

    pub(super) fn frames(&self) -> [JointFrame; 2] {
        let z_b = self.x_b_body.cross(&self.y_b_body);
        let axes_a = Mat3::from_columns(&[self.x_a_body, self.y_a_body, self.n_a_body]);
        let axes_b = Mat3::from_columns(&[self.x_b_body, self.y_b_body, z_b]);
        [
            JointFrame { origin: self.point.r_a_body, axes: axes_a },
            JointFrame { origin: self.point.r_b_body, axes: axes_b },
        ]
    }

    /// The point that both bodies share.
    pub fn point(&self) -> &Ball {
        &self.point
    }

    /// x_b and y_b in b's principal frame.
    pub fn across(&self) -> [Vec3; 2] {
        [self.x_b_body, self.y_b_body]
    }

    /// The axis n_a in a's principal frame, of length 1.
    pub fn axis(&self) -> Vec3 {
        self.n_a_body
    }
}

impl JointEquations for Hinge {
    fn n_rows(&self) -> usize {
        5
    }

    fn row_name(&self, i: usize) -> &'static str {
        ["x", "y", "z", "tilt x", "tilt y"][i]
    }

    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]) {
        self.point.position_error(a, b, c);
        let n_a = a.direction(&self.n_a_body);
        c[3] = n_a.dot(&b.direction(&self.x_b_body));
        c[4] = n_a.dot(&b.direction(&self.y_b_body));
    }

    fn coordinates(&self) -> &'static [Coordinate] {
        &ANGLE
    }

    fn force_point(&self, a: &Pose, b: &Pose) -> Vec3 {
        self.point.force_point(a, b)
    }
}

impl<T: Real> JointRows<T> for Hinge {
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        self.point.jacobian(a, b, jac);
        let n_a = a.turn(&self.n_a_body);
        for (row, u) in [(3, self.x_b_body), (4, self.y_b_body)] {
            let k = n_a.cross(&(b.turn(&u)));
            jac[row] = turn_row(&-k);
        }
    }

    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]) {
        self.point.gamma(a, b, v_a, v_b, gamma);
        let n_a = a.turn(&self.n_a_body);
        let n_a_dot = v_a.omega.cross(&n_a);
        for (row, u) in [(3, self.x_b_body), (4, self.y_b_body)] {
            let u = b.turn(&u);
            let u_dot = v_b.omega.cross(&u);
            gamma[row] = -(v_a.omega.cross(&n_a_dot).dot(&u)
                + T::from(2.0) * n_a_dot.dot(&u_dot)
                + n_a.dot(&v_b.omega.cross(&u_dot)));
        }
    }

    fn coordinate(&self, a: &Pose<T>, b: &Pose<T>, q: &mut [T]) {
        let x_b = b.turn(&self.x_b_body);
        q[0] = x_b.dot(&(a.turn(&self.y_a_body))).angle(x_b.dot(&(a.turn(&self.x_a_body))));
    }

    fn coordinate_jacobian(&self, a: &Pose<T>, _b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let n = a.turn(&self.n_a_body);
        jac[0] = turn_row(&n);
    }

    fn coordinate_gamma(
        &self,
        a: &Pose<T>,
        _b: &Pose<T>,
        v_a: &Twist<T>,
        v_b: &Twist<T>,
        gamma: &mut [T],
    ) {
        let n_dot = v_a.omega.cross(&(a.turn(&self.n_a_body)));
        gamma[0] = -n_dot.dot(&(v_b.omega - v_a.omega));
    }
}
