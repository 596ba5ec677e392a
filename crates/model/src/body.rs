//! Bodies: what moves, and the world that does not.

use gelenk_expr::Expr;

use crate::contact::BodyContact;
use crate::math::{Mat3, Quat, Vec3};
use crate::state::{Pose, State, Twist};

/// Index of a body in [`Model::bodies`](crate::Model::bodies).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub u32);

impl BodyId {
    /// The world: body 0 of every model, fixed in space.
    pub const WORLD: BodyId = BodyId(0);

    /// The position in arrays over bodies.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a body is to its user; the engines treat all kinds alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// The inertial frame, body 0.
    World,
    /// A rigid body (`[[body]]`).
    Rigid,
    /// A point mass (`[[point]]`): no rotation, zero inertia.
    Point,
}

/// A rigid body, a point mass or the world.
///
/// Engines move the *principal frame*: origin at the centre of mass, axes along the principal axes of
/// inertia. The *file frame* is the one the user placed with `position` and `rotation`; results are given
/// in it. A fixed body has 1/m = 0, J⁻¹ = 0; a principal moment that is zero (thin rod, point mass) has
/// J_i⁻¹ = 0. \[Schmitt 2003\] section 3.
#[derive(Clone, Debug)]
pub struct Body {
    /// Unique name.
    pub name: String,
    /// World, rigid body or point mass.
    pub kind: BodyKind,
    /// Held in space.
    pub fixed: bool,
    /// Its place is a charge of a circuit: it has no place in space, and pictures leave it out.
    pub is_charge: bool,
    /// Mass m, kg.
    pub mass: f64,
    /// 1/m, 1/kg; 0 if fixed.
    pub mass_inv: f64,
    /// Principal moments of inertia J about the centre of mass, kg m².
    pub inertia: Vec3,
    /// 1/J_i, 0 where J_i = 0 or the body is fixed; where J_i = 0 and a joint holds the spin, that of a stand-in moment ([`crate::spin`]).
    pub inertia_inv: Vec3,
    /// Origin of the file frame, in the principal frame, m.
    pub frame_origin: Vec3,
    /// Rotation from file frame to principal frame.
    pub frame_rot: Quat,
    /// Mass properties with parameters as symbols, for the symbolic engine.
    pub symbolic: Option<SymbolicInertia>,
    /// Shapes for looks and contact, in the file frame.
    pub shapes: Vec<crate::shape::Shape>,
    /// How it takes part in contact.
    pub contact: BodyContact,
    /// Colour for viewers, red, green, blue from 0 to 1.
    pub color: Option<[f64; 3]>,
}

/// Mass properties as expressions over the model's parameters, in the file frame.
#[derive(Clone, Debug)]
pub struct SymbolicInertia {
    /// Mass, kg.
    pub mass: Expr,
    /// Centre of mass, m.
    pub center_of_mass: [Expr; 3],
    /// Inertia tensor about the centre of mass: xx, yy, zz, xy, xz, yz, kg m².
    pub inertia: [Expr; 6],
}

impl Body {
    /// J̃⁻¹ = R J⁻¹ Rᵀ, the inverse inertia tensor in world axes. \[Schmitt 2003\] (4.6).
    pub fn inertia_inv_world(&self, rot: &Mat3) -> Mat3 {
        let mut scaled = *rot;
        for i in 0..3 {
            scaled.column_mut(i).scale_mut(self.inertia_inv[i]);
        }
        scaled * rot.transpose()
    }

    /// Position and rotation of the file frame when the principal frame is at `pose`.
    pub fn frame_pose(&self, pose: &Pose) -> Pose {
        let rot = pose.rot * self.frame_rot.to_rotation_matrix().matrix();
        Pose { s: pose.s + pose.rot * self.frame_origin, rot }
    }

    /// Velocity of the file frame's origin and angular velocity, world axes.
    pub fn frame_twist(&self, pose: &Pose, twist: &Twist) -> Twist {
        let r = pose.rot * self.frame_origin;
        Twist { s_dot: twist.s_dot + twist.omega.cross(&r), omega: twist.omega }
    }

    /// Kinetic energy ½ m ṡ² + ½ ω J̃ ω, J. Fixed bodies have none.
    pub fn kinetic_energy(&self, state: &State, id: BodyId) -> f64 {
        if self.fixed {
            return 0.0;
        }
        let i = id.index();
        let omega_body = state.rot[i].inverse_transform_vector(&state.omega[i]);
        let spin = self.inertia.component_mul(&omega_body).dot(&omega_body);
        0.5 * (self.mass * state.s_dot[i].norm_squared() + spin)
    }
}
