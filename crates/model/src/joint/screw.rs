//! Screw.

use std::f64::consts::TAU;

use nalgebra::Vector3;

use super::elements::Axis::{X, Y, Z};
use super::elements::{FramePair, Motion, Placed, Row, dot_bend, turn_row};
use super::{Coordinate, CoordinateKind, JointEquations, JointFrame, JointRows, PairRow};
use crate::math::{Real, Vec3};
use crate::rows::unwrap_angle;
use crate::state::{Pose, Twist};

/// Screw: b turns about z_a and moves along it, a `pitch` each turn. Takes away 5 degrees of freedom.
///
/// ```text
/// C = [ cylindrical (4 rows) ; z_a·Δ − k φ ]                         k = pitch/2π, φ = atan2(Y, X) + full turns
/// J = [ cylindrical ; J(z_a·Δ) − k J_φ ]                             J_φ = [ 0  −n  0  n ]
/// γ = [ cylindrical ; γ(z_a·Δ) + k φ̈ ]                               φ̈ at v̇ = 0
/// X = x_a·x_b, Y = y_a·x_b, n = x_b × (X y_a − Y x_a)/(X² + Y²)      (n = z_a where the joint is closed)
/// φ̈ = (X Ÿ − Y Ẍ)/(X² + Y²) − 2 φ̇ (X Ẋ + Y Ẏ)/(X² + Y²)
/// ```
/// Δ = p_b − p_a. A positive pitch is a right-hand thread.
///
/// The full turns of φ are those nearest to a known angle ([`Screw::near`], what runs use): then the joint holds for
/// any pitch and any number of turns. Without one, they are those nearest to 2π z_a·Δ/pitch, and C is right within half
/// a pitch. Rows are smooth wherever φ is not half a turn off.
///
/// Coordinates: angle = φ, the free one, and position = z_a·Δ = pitch φ/2π.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Screw {
    frames: FramePair,
    pitch: f64,
    near: Option<f64>,
}

const ACROSS: [Row; 4] = [Row::Along(X), Row::Along(Y), Row::Right(Z, X), Row::Right(Z, Y)];

const COORDINATES: [Coordinate; 2] = [
    Coordinate { name: "angle", kind: CoordinateKind::Angle },
    Coordinate { name: "position", kind: CoordinateKind::Length },
];
const MOTIONS: [Motion; 2] = [Motion::TurnZ, Motion::Along(Z)];

impl Screw {
    /// The screw along z of the frame on a; `pitch` in m a turn, negative for a left-hand thread.
    pub fn new(a: &JointFrame, b: &JointFrame, pitch: f64) -> Result<Self, String> {
        if !pitch.is_finite() {
            return Err(format!("the pitch must be a number, not {pitch}"));
        }
        if pitch == 0.0 {
            return Err("the pitch of a screw must not be zero; use a hinge".to_owned());
        }
        Ok(Screw { frames: FramePair::new(a, b), pitch, near: None })
    }

    /// The same, with the full turns of its angle counted near `angle`, rad.
    #[must_use]
    pub fn near(mut self, angle: f64) -> Self {
        self.near = Some(angle);
        self
    }

    pub(super) fn frames(&self) -> [JointFrame; 2] {
        self.frames.both()
    }

    /// Movement a turn, m.
    pub fn pitch(&self) -> f64 {
        self.pitch
    }

    fn angle<T: Real>(&self, at: &Placed<T>) -> T {
        let position = at.a[2].dot(&at.gap).value();
        unwrap_angle(Motion::TurnZ.value(at), self.near.unwrap_or(TAU * position / self.pitch))
    }
}

/// X and Y of the angle with their rates and X² + Y².
struct Turn<T> {
    x: T,
    y: T,
    /// Row vector of φ̇ on ω_b − ω_a.
    n: Vector3<T>,
    squared: T,
}

impl<T: Real> Turn<T> {
    fn new(at: &Placed<T>) -> Self {
        let (x, y) = (at.a[0].dot(&at.b[0]), at.a[1].dot(&at.b[0]));
        let sum = x * x + y * y;
        let squared =
            if sum.value() > f64::MIN_POSITIVE { sum } else { T::from(f64::MIN_POSITIVE) };
        Turn { x, y, n: at.b[0].cross(&(at.a[1] * x - at.a[0] * y)) / squared, squared }
    }

    /// φ̈ at v̇ = 0.
    fn bend(&self, at: &Placed<T>, v_a: &Twist<T>, v_b: &Twist<T>) -> T {
        let turn = v_b.omega - v_a.omega;
        let x_dot = turn.dot(&at.b[0].cross(&at.a[0]));
        let y_dot = turn.dot(&at.b[0].cross(&at.a[1]));
        let x_ddot = dot_bend(&at.a[0], &at.b[0], v_a, v_b);
        let y_ddot = dot_bend(&at.a[1], &at.b[0], v_a, v_b);
        let stretch = T::from(2.0) * turn.dot(&self.n) * (self.x * x_dot + self.y * y_dot);
        (self.x * y_ddot - self.y * x_ddot - stretch) / self.squared
    }
}

impl JointEquations for Screw {
    fn n_rows(&self) -> usize {
        5
    }

    fn row_name(&self, i: usize) -> &'static str {
        ["across x", "across y", "tilt x", "tilt y", "thread"][i]
    }

    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]) {
        let at = self.frames.place(a, b);
        for (c, row) in c.iter_mut().zip(ACROSS) {
            *c = row.error(&at);
        }
        c[4] = at.a[2].dot(&at.gap) - self.pitch / TAU * self.angle(&at);
    }

    fn coordinates(&self) -> &'static [Coordinate] {
        &COORDINATES
    }

    fn force_point(&self, _a: &Pose, b: &Pose) -> Vec3 {
        b.point(&self.frames.b.origin)
    }
}

impl<T: Real> JointRows<T> for Screw {
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let at = self.frames.place(a, b);
        for (jac, row) in jac.iter_mut().zip(ACROSS) {
            *jac = row.row(&at);
        }
        let along = at.along_row(&at.a[2]);
        let turn = turn_row(&Turn::new(&at).n);
        for k in 0..12 {
            jac[4][k] = along[k] - T::from(self.pitch / TAU) * turn[k];
        }
    }

    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]) {
        let at = self.frames.place(a, b);
        for (gamma, row) in gamma.iter_mut().zip(ACROSS) {
            *gamma = row.gamma(&at, v_a, v_b);
        }
        gamma[4] = at.along_gamma(&at.a[2], v_a, v_b)
            + T::from(self.pitch / TAU) * Turn::new(&at).bend(&at, v_a, v_b);
    }

    fn coordinate(&self, a: &Pose<T>, b: &Pose<T>, q: &mut [T]) {
        let at = self.frames.place(a, b);
        q[0] = self.angle(&at);
        q[1] = at.a[2].dot(&at.gap);
    }

    fn coordinate_jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let at = self.frames.place(a, b);
        for (jac, motion) in jac.iter_mut().zip(MOTIONS) {
            *jac = motion.row(&at);
        }
    }

    fn coordinate_gamma(
        &self,
        a: &Pose<T>,
        b: &Pose<T>,
        v_a: &Twist<T>,
        v_b: &Twist<T>,
        gamma: &mut [T],
    ) {
        let at = self.frames.place(a, b);
        for (gamma, motion) in gamma.iter_mut().zip(MOTIONS) {
            *gamma = motion.gamma(&at, v_a, v_b);
        }
    }
}
