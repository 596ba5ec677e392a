//! Joints: one file a type, one small trait.
//!
//! To add a joint: its file here, a variant of [`JointKind`] and its arms in [`JointKind::equations`], its keys in
//! the file format, a line in the joint checker (`tests/joints.rs`), a scene, a line in README and CHANGELOG.
//! ARCHITECTURE.md walks through it.

mod ball;
mod hinge;

pub use ball::Ball;
pub use hinge::Hinge;

use crate::body::BodyId;
use crate::math::{Mat3, Vec3};
use crate::state::{Pose, Twist};

/// Index of a joint in [`Model::joints`](crate::Model::joints).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JointId(pub u32);

impl JointId {
    /// The position in arrays over joints.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The most rows a joint may have.
pub const MAX_ROWS: usize = 6;
/// The most coordinates a joint may have.
pub const MAX_COORDINATES: usize = 6;

/// One row of a joint's Jacobian, on v = [ṡ_a ω_a ṡ_b ω_b].
pub type PairRow = [f64; 12];

/// Where a joint sits on a body: origin and axes in the body's principal frame.
///
/// The z axis (third column) is the joint's axis; x is where its angle is zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointFrame {
    /// Joint point, m.
    pub origin: Vec3,
    /// Columns are the joint's x, y, z axes.
    pub axes: Mat3,
}

/// What a joint coordinate measures, for units and unwrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoordinateKind {
    /// An angle, rad; unwrapped over full turns.
    Angle,
    /// A length, m.
    Length,
}

/// A free motion that a joint allows and that has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// The name in expressions: `joint.elbow.angle`.
    pub name: &'static str,
    /// Angle or length.
    pub kind: CoordinateKind,
}

/// The equations a joint adds. With v = [ṡ_a ω_a ṡ_b ω_b]:
/// C = 0, Ċ = J v, C̈ = J v̇ − γ.
pub trait JointEquations {
    /// Number of rows.
    fn n_rows(&self) -> usize;
    /// What row `i` holds, in words that follow the joint's name: "x", "tilt about u".
    fn row_name(&self, i: usize) -> &'static str;
    /// C; zero where the joint is closed. m or rad. (n_rows)
    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]);
    /// J. (n_rows)
    fn jacobian(&self, a: &Pose, b: &Pose, jac: &mut [PairRow]);
    /// γ = −J̇ v. (n_rows)
    fn gamma(&self, a: &Pose, b: &Pose, v_a: &Twist, v_b: &Twist, gamma: &mut [f64]);
    /// The free motions that have a number; empty for a joint without (ball).
    fn coordinates(&self) -> &'static [Coordinate] {
        &[]
    }
    /// q, angles in (−π, π]. (coordinates)
    fn coordinate(&self, _a: &Pose, _b: &Pose, _q: &mut [f64]) {}
    /// W with q̇ = W v. (coordinates)
    fn coordinate_jacobian(&self, _a: &Pose, _b: &Pose, _jac: &mut [PairRow]) {}
    /// −Ẇ v, so that q̈ = W v̇ − it. (coordinates)
    fn coordinate_gamma(
        &self,
        _a: &Pose,
        _b: &Pose,
        _v_a: &Twist,
        _v_b: &Twist,
        _gamma: &mut [f64],
    ) {
    }
    /// World point at which the joint's force on body b is reported, m.
    fn force_point(&self, a: &Pose, b: &Pose) -> Vec3;
}

/// A joint between two bodies.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Unique name.
    pub name: String,
    /// Bodies a and b; impulses act on b, their opposites on a.
    pub bodies: [BodyId; 2],
    /// Type and geometry.
    pub kind: JointKind,
    /// Largest allowed gap, m (rows in rad count as m at 1 m); `None`: the run's tolerance.
    pub tolerance: Option<f64>,
    /// Index of its first coordinate in [`State::coordinate`](crate::State::coordinate).
    pub first_coordinate: usize,
}

/// Every joint type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JointKind {
    /// Ball and socket.
    Ball(Ball),
    /// Hinge (revolute).
    Hinge(Hinge),
}

impl JointKind {
    /// The type's equations.
    #[inline]
    pub fn equations(&self) -> &dyn JointEquations {
        match self {
            JointKind::Ball(joint) => joint,
            JointKind::Hinge(joint) => joint,
        }
    }

    /// The name of the type in model files.
    pub fn type_name(&self) -> &'static str {
        match self {
            JointKind::Ball(_) => "ball",
            JointKind::Hinge(_) => "hinge",
        }
    }
}
