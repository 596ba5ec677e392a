//! The elementary equations that joints are made of, each with its row of J and its γ.
//!
//! A joint frame on a and one on b give six directions and two points; every joint whose equations are polynomials
//! in them is a list of [`Row`]s and [`Motion`]s ([`FrameJoint`]). World frame; r = p − s, Δ = p_b − p_a.

use nalgebra::Vector3;

use super::{Coordinate, JointEquations, JointFrame, JointRows, PairRow};
use crate::math::{Real, Vec3};
use crate::state::{Pose, Twist};

/// An axis of a joint frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    X,
    Y,
    Z,
}
use Axis::{X, Y, Z};

/// One equation C = 0.
///
/// ```text
/// Gap(k)       C = e_k·Δ                                     e_k: axis of the world
///              J = [ −e  −(r_a × e)  e  r_b × e ]
///              γ = e·( ω_a×(ω_a×r_a) − ω_b×(ω_b×r_b) )
/// Along(u)     C = u_a·Δ                                     u_a: axis of the frame on a
///              J = [ −u  −((p_b − s_a) × u)  u  r_b × u ]
///              γ = −( (ω_a×(ω_a×u))·Δ + 2 (ω_a×u)·Δ̇ + u·(ω_b×(ω_b×r_b) − ω_a×(ω_a×r_a)) )
/// Right(u, w)  C = u_a·w_b                                   axes of both frames at a right angle
///              J = [ 0  u × w  0  −(u × w) ]
///              γ = −( (ω_a×(ω_a×u))·w + 2 (ω_a×u)·(ω_b×w) + u·(ω_b×(ω_b×w)) )
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// The points coincide along a world axis.
    Gap(Axis),
    /// b's point does not leave a's along an axis of a.
    Along(Axis),
    /// An axis of a is at a right angle to one of b.
    Right(Axis, Axis),
}

/// One joint coordinate q.
///
/// ```text
/// Along(u)     q = u_a·Δ                                     W, γ: those of the row
/// TurnZ        q = atan2(y_a·x_b, x_a·x_b)                   W = [ 0  −z_a  0  z_a ]
/// TurnX        q = atan2(z_a·y_b, z_a·z_b)                   W = [ 0  −x_b  0  x_b ]
///              γ = −(ω×n)·(ω_b − ω_a), n and the ω of its body
/// ```
/// W of the two angles is the rate's exact row where the joint is closed (x_b ⟂ z_a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// Sliding along an axis of a.
    Along(Axis),
    /// Turning about a's z axis.
    TurnZ,
    /// Turning about b's x axis, where a's z axis stays at a right angle to it.
    TurnX,
}

/// A pair of joint frames in the world, with the levers of their origins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<T> {
    /// Levers p − s.
    pub(super) r_a: Vector3<T>,
    pub(super) r_b: Vector3<T>,
    /// Δ = p_b − p_a.
    pub(super) gap: Vector3<T>,
    /// Axes x, y, z.
    pub(super) a: [Vector3<T>; 3],
    pub(super) b: [Vector3<T>; 3],
}

/// Where a joint sits on its two bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FramePair {
    pub(super) a: JointFrame,
    pub(super) b: JointFrame,
}

impl FramePair {
    pub(super) fn new(a: &JointFrame, b: &JointFrame) -> Self {
        FramePair { a: *a, b: *b }
    }

    pub(super) fn both(&self) -> [JointFrame; 2] {
        [self.a, self.b]
    }

    #[inline]
    pub(super) fn place<T: Real>(&self, a: &Pose<T>, b: &Pose<T>) -> Placed<T> {
        let axes = |pose: &Pose<T>, frame: &JointFrame| {
            [pose.turn(&frame.x()), pose.turn(&frame.y()), pose.turn(&frame.z())]
        };
        let (r_a, r_b) = (a.turn(&self.a.origin), b.turn(&self.b.origin));
        let gap = (b.s + r_b) - (a.s + r_a);
        Placed { r_a, r_b, gap, a: axes(a, &self.a), b: axes(b, &self.b) }
    }
}

impl Axis {
    fn of<T: Real>(self, axes: &[Vector3<T>; 3]) -> Vector3<T> {
        axes[self as usize]
    }

    fn world<T: Real>(self) -> Vector3<T> {
        match self {
            X => Vector3::x(),
            Y => Vector3::y(),
            Z => Vector3::z(),
        }
    }
}

impl Row {
    #[inline]
    pub(super) fn error<T: Real>(self, at: &Placed<T>) -> T {
        match self {
            Row::Gap(k) => at.gap[k as usize],
            Row::Along(u) => u.of(&at.a).dot(&at.gap),
            Row::Right(u, w) => u.of(&at.a).dot(&w.of(&at.b)),
        }
    }

    #[inline]
    pub(super) fn row<T: Real>(self, at: &Placed<T>) -> PairRow<T> {
        match self {
            Row::Gap(k) => point_row(&k.world(), &at.r_a, &at.r_b),
            Row::Along(u) => at.along_row(&u.of(&at.a)),
            Row::Right(u, w) => turn_row(&-u.of(&at.a).cross(&w.of(&at.b))),
        }
    }

    #[inline]
    pub(super) fn gamma<T: Real>(self, at: &Placed<T>, v_a: &Twist<T>, v_b: &Twist<T>) -> T {
        match self {
            Row::Gap(k) => -at.gap_bend(v_a, v_b)[k as usize],
            Row::Along(u) => at.along_gamma(&u.of(&at.a), v_a, v_b),
            Row::Right(u, w) => -dot_bend(&u.of(&at.a), &w.of(&at.b), v_a, v_b),
        }
    }
}

impl Motion {
    pub(super) fn value<T: Real>(self, at: &Placed<T>) -> T {
        match self {
            Motion::Along(u) => Row::Along(u).error(at),
            Motion::TurnZ => at.a[1].dot(&at.b[0]).angle(at.a[0].dot(&at.b[0])),
            Motion::TurnX => at.a[2].dot(&at.b[1]).angle(at.a[2].dot(&at.b[2])),
        }
    }

    pub(super) fn row<T: Real>(self, at: &Placed<T>) -> PairRow<T> {
        match self {
            Motion::Along(u) => Row::Along(u).row(at),
            Motion::TurnZ => turn_row(&at.a[2]),
            Motion::TurnX => turn_row(&at.b[0]),
        }
    }

    pub(super) fn gamma<T: Real>(self, at: &Placed<T>, v_a: &Twist<T>, v_b: &Twist<T>) -> T {
        let turn = v_b.omega - v_a.omega;
        match self {
            Motion::Along(u) => Row::Along(u).gamma(at, v_a, v_b),
            Motion::TurnZ => -v_a.omega.cross(&at.a[2]).dot(&turn),
            Motion::TurnX => -v_b.omega.cross(&at.b[0]).dot(&turn),
        }
    }
}

impl<T: Real> Placed<T> {
    /// The row of u·Δ for a direction u fixed in a.
    pub(super) fn along_row(&self, u: &Vector3<T>) -> PairRow<T> {
        point_row(u, &(self.gap + self.r_a), &self.r_b)
    }

    /// Its γ.
    pub(super) fn along_gamma(&self, u: &Vector3<T>, v_a: &Twist<T>, v_b: &Twist<T>) -> T {
        let u_dot = v_a.omega.cross(u);
        -(v_a.omega.cross(&u_dot).dot(&self.gap)
            + T::from(2.0) * u_dot.dot(&self.gap_rate(v_a, v_b))
            + u.dot(&self.gap_bend(v_a, v_b)))
    }

    /// Δ̇.
    pub(super) fn gap_rate(&self, v_a: &Twist<T>, v_b: &Twist<T>) -> Vector3<T> {
        v_b.s_dot + v_b.omega.cross(&self.r_b) - v_a.s_dot - v_a.omega.cross(&self.r_a)
    }

    /// Δ̈ at v̇ = 0.
    pub(super) fn gap_bend(&self, v_a: &Twist<T>, v_b: &Twist<T>) -> Vector3<T> {
        v_b.omega.cross(&v_b.omega.cross(&self.r_b)) - v_a.omega.cross(&v_a.omega.cross(&self.r_a))
    }

    /// x = Δ in the axes of the frame on a, where paths and surfaces are given.
    pub(super) fn local(&self) -> Vector3<T> {
        self.in_frame(&self.gap)
    }

    /// ẋ.
    pub(super) fn local_rate(&self, v_a: &Twist<T>, v_b: &Twist<T>) -> Vector3<T> {
        self.in_frame(&(self.gap_rate(v_a, v_b) - v_a.omega.cross(&self.gap)))
    }

    /// A vector in the axes of the frame on a.
    pub(super) fn in_frame(&self, u: &Vector3<T>) -> Vector3<T> {
        Vector3::new(self.a[0].dot(u), self.a[1].dot(u), self.a[2].dot(u))
    }

    /// A vector given in the axes of the frame on a.
    pub(super) fn in_world(&self, u: &Vector3<T>) -> Vector3<T> {
        self.a[0] * u.x + self.a[1] * u.y + self.a[2] * u.z
    }
}

/// The row [ −u  −(r_a × u)  u  r_b × u ]: a force along u at the levers' ends.
#[inline]
pub(super) fn point_row<T: Real>(u: &Vector3<T>, r_a: &Vector3<T>, r_b: &Vector3<T>) -> PairRow<T> {
    let (on_a, on_b) = (r_a.cross(u), r_b.cross(u));
    [-u.x, -u.y, -u.z, -on_a.x, -on_a.y, -on_a.z, u.x, u.y, u.z, on_b.x, on_b.y, on_b.z]
}

/// The row [ 0  −n  0  n ]: a torque about n.
#[inline]
pub(super) fn turn_row<T: Real>(n: &Vector3<T>) -> PairRow<T> {
    let zero = T::zero();
    [zero, zero, zero, -n.x, -n.y, -n.z, zero, zero, zero, n.x, n.y, n.z]
}

/// d²(u·w)/dt² at v̇ = 0 for u fixed in a and w fixed in b.
#[inline]
pub(super) fn dot_bend<T: Real>(
    u: &Vector3<T>,
    w: &Vector3<T>,
    v_a: &Twist<T>,
    v_b: &Twist<T>,
) -> T {
    let (u_dot, w_dot) = (v_a.omega.cross(u), v_b.omega.cross(w));
    v_a.omega.cross(&u_dot).dot(w)
        + T::from(2.0) * u_dot.dot(&w_dot)
        + u.dot(&v_b.omega.cross(&w_dot))
}

/// A joint that is a list of elementary equations; it gets [`JointEquations`] from the list.
pub(super) trait FrameJoint {
    /// Its equations with their names.
    const ROWS: &'static [(Row, &'static str)];
    /// Its coordinates.
    const COORDINATES: &'static [Coordinate] = &[];
    /// What each coordinate measures. (coordinates)
    const MOTIONS: &'static [Motion] = &[];
    /// Where it sits.
    fn frames(&self) -> &FramePair;
    /// The same as two frames.
    fn pair(&self) -> [JointFrame; 2] {
        self.frames().both()
    }
}

impl<F: FrameJoint> JointEquations for F {
    fn n_rows(&self) -> usize {
        F::ROWS.len()
    }

    fn row_name(&self, i: usize) -> &'static str {
        F::ROWS[i].1
    }

    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]) {
        let at = self.frames().place(a, b);
        for (c, (row, _)) in c.iter_mut().zip(F::ROWS) {
            *c = row.error(&at);
        }
    }

    fn coordinates(&self) -> &'static [Coordinate] {
        F::COORDINATES
    }

    fn force_point(&self, _a: &Pose, b: &Pose) -> Vec3 {
        b.point(&self.frames().b.origin)
    }
}

impl<F: FrameJoint, T: Real> JointRows<T> for F {
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let at = self.frames().place(a, b);
        for (jac, (row, _)) in jac.iter_mut().zip(F::ROWS) {
            *jac = row.row(&at);
        }
    }

    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]) {
        let at = self.frames().place(a, b);
        for (gamma, (row, _)) in gamma.iter_mut().zip(F::ROWS) {
            *gamma = row.gamma(&at, v_a, v_b);
        }
    }

    fn coordinate(&self, a: &Pose<T>, b: &Pose<T>, q: &mut [T]) {
        let at = self.frames().place(a, b);
        for (q, motion) in q.iter_mut().zip(F::MOTIONS) {
            *q = motion.value(&at);
        }
    }

    fn coordinate_jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]) {
        let at = self.frames().place(a, b);
        for (jac, motion) in jac.iter_mut().zip(F::MOTIONS) {
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
        let at = self.frames().place(a, b);
        for (gamma, motion) in gamma.iter_mut().zip(F::MOTIONS) {
            *gamma = motion.gamma(&at, v_a, v_b);
        }
    }
}
