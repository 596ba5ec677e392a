//! Rope.

use super::{Coordinate, CoordinateKind, Distance, JointEquations, JointFrame, JointRows, PairRow};
use crate::math::{Real, Vec3};
use crate::state::{Pose, Twist};

/// Rope: a point of a and a point of b are at most L apart. Takes away 1 degree of freedom while taut.
///
/// ```text
/// C = |Δ| − L ≤ 0                                      Δ = p_b − p_a, u = Δ/|Δ|
/// J = [ −u  −(r_a × u)  u  r_b × u ]
/// γ = −( u·(ω_b×(ω_b×r_b) − ω_a×(ω_a×r_a)) + (|Δ̇|² − (u·Δ̇)²)/|Δ| )
/// ```
/// r = p − s. World frame. One-sided: λ ≤ 0, the rope pulls and never pushes. The coordinate `length` is |Δ|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rope {
    rod: Distance,
}

const LENGTH: [Coordinate; 1] = [Coordinate { name: "length", kind: CoordinateKind::Length }];

impl Rope {
    /// The rope of `length` m between the origins of the two joint frames.
    pub fn new(a: &JointFrame, b: &JointFrame, length: f64) -> Result<Self, String> {
        Ok(Rope { rod: Distance::new(a, b, length)? })
    }

    /// L, m.
    pub fn length(&self) -> f64 {
        self.rod.length()
    }

    /// The ends in the principal frames of a and b, m.
    pub fn points(&self) -> [Vec3; 2] {
        self.rod.points()
    }
}

impl JointEquations for Rope {
    fn n_rows(&self) -> usize {
        1
    }

    fn row_name(&self, i: usize) -> &'static str {
        self.rod.row_name(i)
    }

    fn one_sided(&self) -> bool {
        true
    }

    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]) {
        self.rod.position_error(a, b, c);
    }

    fn coordinates(&self) -> &'static [Coordinate] {
        &LENGTH
    }

    fn force_point(&self, a: &Pose, b: &Pose) -> Vec3 {
        self.rod.force_point(a, b)
    }
}

impl<T: Real> JointRows<T> for Rope {
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        self.rod.jacobian(a, b, jac);
    }

    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]) {
        self.rod.gamma(a, b, v_a, v_b, gamma);
    }

    fn coordinate(&self, a: &Pose<T>, b: &Pose<T>, q: &mut [T]) {
        q[0] = self.rod.ends(a, b).distance;
    }

    fn coordinate_jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        jac[0] = self.rod.ends(a, b).row();
    }

    fn coordinate_gamma(
        &self,
        a: &Pose<T>,
        b: &Pose<T>,
        v_a: &Twist<T>,
        v_b: &Twist<T>,
        gamma: &mut [T],
    ) {
        gamma[0] = self.rod.ends(a, b).gamma(v_a, v_b);
    }
}
