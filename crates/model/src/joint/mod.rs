//! Joints: one file a type, one small trait.
//!
//! ARCHITECTURE.md walks through adding one.

mod ball;
mod curve;
mod cylindrical;
mod distance;
mod elements;
mod fixed;
mod formula;
mod hinge;
mod path;
mod planar;
mod plane_point;
mod rail;
mod rope;
mod screw;
mod slider;
mod spline;
mod surface;
mod translation;
mod types;
mod universal;

pub use ball::Ball;
pub use curve::PointOnCurve;
pub use cylindrical::Cylindrical;
pub use distance::Distance;
pub use fixed::Fixed;
pub use hinge::Hinge;
pub use path::Path;
pub use planar::Planar;
pub use plane_point::PlanePoint;
pub use rail::Rail;
pub use rope::Rope;
pub use screw::Screw;
pub use slider::Slider;
pub use surface::{PointOnSurface, Surface};
pub use translation::Translation;
pub use types::{JOINT_TYPES, JointParameter, JointParameters, JointType};
pub use universal::Universal;

use self::elements::FrameJoint;
use crate::body::BodyId;
use crate::math::{Mat3, Real, Vec3};
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
pub type PairRow<T = f64> = [T; 12];

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

impl JointFrame {
    /// The x axis.
    pub fn x(&self) -> Vec3 {
        self.axes.column(0).into()
    }

    /// The y axis.
    pub fn y(&self) -> Vec3 {
        self.axes.column(1).into()
    }

    /// The z axis, the joint's.
    pub fn z(&self) -> Vec3 {
        self.axes.column(2).into()
    }
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

/// The rows of a joint over plain numbers, or over dual ones for their derivatives. With v = [ṡ_a ω_a ṡ_b ω_b]:
/// Ċ = J v, C̈ = J v̇ − γ.
pub trait JointRows<T: Real> {
    /// J. (n_rows)
    fn jacobian(&self, a: &Pose<T>, b: &Pose<T>, jac: &mut [PairRow<T>]);
    /// γ = −J̇ v. (n_rows)
    fn gamma(&self, a: &Pose<T>, b: &Pose<T>, v_a: &Twist<T>, v_b: &Twist<T>, gamma: &mut [T]);
    /// q, angles in (−π, π]. (coordinates)
    fn coordinate(&self, _a: &Pose<T>, _b: &Pose<T>, _q: &mut [T]) {}
    /// W with q̇ = W v. (coordinates)
    fn coordinate_jacobian(&self, _a: &Pose<T>, _b: &Pose<T>, _jac: &mut [PairRow<T>]) {}
    /// −Ẇ v, so that q̈ = W v̇ − it. (coordinates)
    fn coordinate_gamma(
        &self,
        _a: &Pose<T>,
        _b: &Pose<T>,
        _v_a: &Twist<T>,
        _v_b: &Twist<T>,
        _gamma: &mut [T],
    ) {
    }
}

/// The equations a joint adds: C = 0 with the rows above.
pub trait JointEquations: JointRows<f64> {
    /// Number of rows.
    fn n_rows(&self) -> usize;
    /// What row `i` holds, in words that follow the joint's name: "x", "tilt about u".
    fn row_name(&self, i: usize) -> &'static str;
    /// C; zero where the joint is closed. m or rad. (n_rows)
    fn position_error(&self, a: &Pose, b: &Pose, c: &mut [f64]);
    /// Whether the rows are inequalities C ≤ 0 with λ ≤ 0 (a rope pulls and never pushes).
    fn one_sided(&self) -> bool {
        false
    }
    /// The free motions that have a number; empty for a joint without (ball).
    fn coordinates(&self) -> &'static [Coordinate] {
        &[]
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
    /// End stops, friction and strength.
    pub properties: JointProperties,
}

/// What a joint has besides its equations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointProperties {
    /// End stops.
    pub limits: Vec<Limit>,
    /// Largest dry friction of each coordinate, N m or N; empty for none. (coordinates)
    pub friction: Vec<f64>,
    /// The force at which it breaks, N.
    pub break_force: Option<f64>,
    /// The torque at which it breaks, N m.
    pub break_torque: Option<f64>,
    /// Whether its two bodies may touch each other. (Where several joints connect them, all must say so.)
    pub collide: bool,
}

/// End stops of a joint coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Which coordinate.
    pub which: usize,
    /// Smallest value, rad or m; −∞ for none.
    pub min: f64,
    /// Largest value, rad or m; ∞ for none.
    pub max: f64,
    /// Restitution ε of the stop: 0 plastic, 1 elastic.
    pub restitution: f64,
}

/// Every joint type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JointKind {
    /// Ball and socket.
    Ball(Ball),
    /// Hinge (revolute).
    Hinge(Hinge),
    /// Weld.
    Fixed(Fixed),
    /// Cross with two axes.
    Universal(Universal),
    /// Slider (prismatic).
    Slider(Slider),
    /// Slide and turn.
    Cylindrical(Cylindrical),
    /// Glide on a plane.
    Planar(Planar),
    /// Thread.
    Screw(Screw),
    /// Point on a straight line.
    Rail(Rail),
    /// Point in a plane.
    PlanePoint(PlanePoint),
    /// Massless rod.
    Distance(Distance),
    /// One-sided distance.
    Rope(Rope),
    /// No turning.
    Translation(Translation),
    /// Point on a curve.
    PointOnCurve(PointOnCurve),
    /// Point on a surface.
    PointOnSurface(PointOnSurface),
}

impl JointKind {
    /// The type's equations.
    ///
    /// Those of a screw or a curve find the turn or the branch they are on from the poses alone; runs, which know the
    /// coordinates of a moment ago, go through [`JointKind::near`].
    #[inline]
    pub fn equations(&self) -> &dyn JointEquations {
        match self {
            JointKind::Ball(joint) => joint,
            JointKind::Hinge(joint) => joint,
            JointKind::Fixed(joint) => joint,
            JointKind::Universal(joint) => joint,
            JointKind::Slider(joint) => joint,
            JointKind::Cylindrical(joint) => joint,
            JointKind::Planar(joint) => joint,
            JointKind::Screw(joint) => joint,
            JointKind::Rail(joint) => joint,
            JointKind::PlanePoint(joint) => joint,
            JointKind::Distance(joint) => joint,
            JointKind::Rope(joint) => joint,
            JointKind::Translation(joint) => joint,
            JointKind::PointOnCurve(joint) => joint,
            JointKind::PointOnSurface(joint) => joint,
        }
    }

    /// The type's rows over any numbers.
    #[inline]
    pub fn rows<T: Real>(&self) -> &dyn JointRows<T> {
        match self {
            JointKind::Ball(joint) => joint,
            JointKind::Hinge(joint) => joint,
            JointKind::Fixed(joint) => joint,
            JointKind::Universal(joint) => joint,
            JointKind::Slider(joint) => joint,
            JointKind::Cylindrical(joint) => joint,
            JointKind::Planar(joint) => joint,
            JointKind::Screw(joint) => joint,
            JointKind::Rail(joint) => joint,
            JointKind::PlanePoint(joint) => joint,
            JointKind::Distance(joint) => joint,
            JointKind::Rope(joint) => joint,
            JointKind::Translation(joint) => joint,
            JointKind::PointOnCurve(joint) => joint,
            JointKind::PointOnSurface(joint) => joint,
        }
    }

    /// The joint on the branch its known coordinates `q` tell: the turn of a screw, the pass of a point through a
    /// crossing of its curve. Without `q` (empty) the branch is found from the poses.
    #[inline]
    pub fn near(&self, q: &[f64]) -> NearJoint<'_> {
        match (self, q.first()) {
            (JointKind::Screw(joint), Some(q)) => NearJoint::Own(JointKind::Screw(joint.near(*q))),
            (JointKind::PointOnCurve(joint), Some(q)) => {
                NearJoint::Own(JointKind::PointOnCurve(joint.near(*q)))
            }
            _ => NearJoint::Plain(self),
        }
    }

    /// Where it sits on a and b. Of joints that hold points alone the axes mean nothing.
    pub fn frames(&self) -> [JointFrame; 2] {
        let points =
            |[a, b]: [Vec3; 2]| [a, b].map(|origin| JointFrame { origin, axes: Mat3::identity() });
        match self {
            JointKind::Ball(joint) => points([joint.r_a_body, joint.r_b_body]),
            JointKind::Hinge(joint) => joint.frames(),
            JointKind::Fixed(joint) => joint.pair(),
            JointKind::Universal(joint) => joint.pair(),
            JointKind::Slider(joint) => joint.pair(),
            JointKind::Cylindrical(joint) => joint.pair(),
            JointKind::Planar(joint) => joint.pair(),
            JointKind::Screw(joint) => joint.frames(),
            JointKind::Rail(joint) => joint.pair(),
            JointKind::PlanePoint(joint) => joint.pair(),
            JointKind::Distance(joint) => points(joint.points()),
            JointKind::Rope(joint) => points(joint.points()),
            JointKind::Translation(joint) => joint.pair(),
            JointKind::PointOnCurve(joint) => joint.frames(),
            JointKind::PointOnSurface(joint) => joint.frames(),
        }
    }

    /// The name of the type in model files.
    pub fn type_name(&self) -> &'static str {
        match self {
            JointKind::Ball(_) => "ball",
            JointKind::Hinge(_) => "hinge",
            JointKind::Fixed(_) => "fixed",
            JointKind::Universal(_) => "universal",
            JointKind::Slider(_) => "slider",
            JointKind::Cylindrical(_) => "cylindrical",
            JointKind::Planar(_) => "planar",
            JointKind::Screw(_) => "screw",
            JointKind::Rail(_) => "rail",
            JointKind::PlanePoint(_) => "plane-point",
            JointKind::Distance(_) => "distance",
            JointKind::Rope(_) => "rope",
            JointKind::Translation(_) => "translation",
            JointKind::PointOnCurve(_) => "curve",
            JointKind::PointOnSurface(_) => "surface",
        }
    }

    /// Degrees of freedom it leaves between two rigid bodies: 6 less its rows (a rope counts as taut).
    pub fn free_dof(&self) -> usize {
        6 - self.equations().n_rows()
    }
}

/// A joint with its branch known; see [`JointKind::near`].
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack for one evaluation; a box would allocate"
)]
pub enum NearJoint<'a> {
    /// A joint without branches.
    Plain(&'a JointKind),
    /// A copy that keeps to its branch.
    Own(JointKind),
}

impl NearJoint<'_> {
    /// The equations on the branch.
    #[inline]
    pub fn equations(&self) -> &dyn JointEquations {
        match self {
            NearJoint::Plain(kind) => kind.equations(),
            NearJoint::Own(kind) => kind.equations(),
        }
    }

    /// The rows on the branch, over any numbers.
    #[inline]
    pub fn rows<T: Real>(&self) -> &dyn JointRows<T> {
        match self {
            NearJoint::Plain(kind) => kind.rows(),
            NearJoint::Own(kind) => kind.rows(),
        }
    }
}

impl Joint {
    /// The joint on the branch told by the coordinates of all joints, `coordinates` (n_coordinates).
    #[inline]
    pub fn near(&self, coordinates: &[f64]) -> NearJoint<'_> {
        self.kind.near(coordinates.get(self.first_coordinate..).unwrap_or(&[]))
    }
}
