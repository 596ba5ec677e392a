//! Everything that changes as time passes.

use nalgebra::{Matrix3, Vector3};

use crate::body::BodyId;
use crate::joint::JointFrame;
use crate::math::{Mat3, Quat, Real, Vec3, perpendicular_frame};

/// Everything that changes as time passes; a clone is a checkpoint.
#[derive(Debug, PartialEq)]
pub struct State {
    /// Time, s.
    pub t: f64,
    /// Centres of mass, world frame, m. (n_bodies)
    pub s: Vec<Vec3>,
    /// Their velocities, m/s. (n_bodies)
    pub s_dot: Vec<Vec3>,
    /// Rotations, principal frame to world. (n_bodies)
    pub rot: Vec<Quat>,
    /// Angular velocities, world frame, rad/s. (n_bodies)
    pub omega: Vec<Vec3>,
    /// Impulses of the last step, N s or N m s; state, since a replay needs them. (n_rows)
    pub impulse: Vec<f64>,
    /// Joint coordinates with their full turns (unwrapped), rad or m. (n_coordinates)
    pub coordinate: Vec<f64>,
    /// Where dry friction holds: the value at which its coordinate came to rest, which follows the coordinate while that
    /// slips, rad or m. (friction rows)
    pub held: Vec<f64>,
    /// Whether a joint is there: not broken and not removed. Its rows, stops, friction, drives and couplings go with it.
    /// (n_joints)
    pub active: Vec<bool>,
    /// What contacts remember from step to step, ordered by key; those there are now. (contacts)
    pub contacts: Vec<ContactMemory>,
}

/// What a contact between two bodies remembers from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactMemory {
    /// Which features of which shapes touch.
    pub key: [u32; 4],
    /// Its impulses over a step: along the normal, two of sliding, one of spinning, two of rolling, N s and N m s.
    pub impulse: [f64; 6],
    /// How far body a has slipped on body b within the tolerance since it holds, to be taken back, world frame, m.
    pub slid: Vec3,
    /// Whether friction holds.
    pub sticks: bool,
}

impl Clone for State {
    fn clone(&self) -> Self {
        State {
            t: self.t,
            s: self.s.clone(),
            s_dot: self.s_dot.clone(),
            rot: self.rot.clone(),
            omega: self.omega.clone(),
            impulse: self.impulse.clone(),
            coordinate: self.coordinate.clone(),
            held: self.held.clone(),
            active: self.active.clone(),
            contacts: self.contacts.clone(),
        }
    }

    /// Copies into memory that is there already; allocates nothing between states of one model.
    fn clone_from(&mut self, source: &Self) {
        let State { t, s, s_dot, rot, omega, impulse, coordinate, held, active, contacts } = self;
        *t = source.t;
        s.clone_from(&source.s);
        s_dot.clone_from(&source.s_dot);
        rot.clone_from(&source.rot);
        omega.clone_from(&source.omega);
        impulse.clone_from(&source.impulse);
        coordinate.clone_from(&source.coordinate);
        held.clone_from(&source.held);
        active.clone_from(&source.active);
        contacts.clone_from(&source.contacts);
    }
}

/// Where a body is: its principal frame in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose<T = f64> {
    /// Centre of mass, m.
    pub s: Vector3<T>,
    /// Columns are the principal axes in the world.
    pub rot: Matrix3<T>,
}

/// How a body moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twist<T = f64> {
    /// Velocity of the centre of mass, m/s.
    pub s_dot: Vector3<T>,
    /// Angular velocity, world frame, rad/s.
    pub omega: Vector3<T>,
}

/// Force and torque about the centre of mass on a body, world frame, N and N m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrench<T = f64> {
    /// Force, N.
    pub force: Vector3<T>,
    /// Torque about the centre of mass, N m.
    pub torque: Vector3<T>,
}

impl Pose {
    /// The identity: at the world's origin, axes parallel.
    pub fn identity() -> Self {
        Pose { s: Vec3::zeros(), rot: Mat3::identity() }
    }

    /// World position of the point r given in this frame.
    #[inline]
    pub fn point(&self, r: &Vec3) -> Vec3 {
        self.s + self.direction(r)
    }

    /// R r, a direction given in this frame; in one piece, where nalgebra's product is four calls.
    #[inline]
    pub fn direction(&self, r: &Vec3) -> Vec3 {
        let m = &self.rot;
        Vec3::new(
            m.m11 * r.x + m.m12 * r.y + m.m13 * r.z,
            m.m21 * r.x + m.m22 * r.y + m.m23 * r.z,
            m.m31 * r.x + m.m32 * r.y + m.m33 * r.z,
        )
    }
}

impl<T: Real> Pose<T> {
    /// R r, a direction given in this frame.
    #[inline]
    pub fn turn<C: Real>(&self, r: &Vector3<C>) -> Vector3<T>
    where
        T: From<C>,
    {
        self.rot * r.map(T::from)
    }
}

impl Twist {
    /// At rest.
    pub fn zero() -> Self {
        Twist { s_dot: Vec3::zeros(), omega: Vec3::zeros() }
    }
}

impl Wrench {
    /// No load.
    pub fn zero() -> Self {
        Wrench { force: Vec3::zeros(), torque: Vec3::zeros() }
    }
}

impl State {
    /// The joint frames that meet at the world point `point` with axis `axis` (any length but zero) in this state.
    pub fn joint_frames(&self, bodies: [BodyId; 2], point: &Vec3, axis: &Vec3) -> [JointFrame; 2] {
        let n = axis.normalize();
        let (x, y) = perpendicular_frame(&n);
        self.frames_with_axes(bodies, point, &Mat3::from_columns(&[x, y, n]))
    }

    /// The same with all axes given as columns.
    pub(crate) fn frames_with_axes(
        &self,
        bodies: [BodyId; 2],
        point: &Vec3,
        axes: &Mat3,
    ) -> [JointFrame; 2] {
        bodies.map(|id| {
            let pose = self.pose(id);
            let to_body = pose.rot.transpose();
            JointFrame { origin: to_body * (point - pose.s), axes: to_body * axes }
        })
    }

    /// The pose of a body.
    pub fn pose(&self, id: BodyId) -> Pose {
        let i = id.index();
        Pose { s: self.s[i], rot: self.rot[i].to_rotation_matrix().into_inner() }
    }

    /// The twist of a body.
    pub fn twist(&self, id: BodyId) -> Twist {
        let i = id.index();
        Twist { s_dot: self.s_dot[i], omega: self.omega[i] }
    }

    /// Writes the poses of all bodies. (n_bodies)
    pub fn write_poses(&self, poses: &mut [Pose]) {
        for (i, pose) in poses.iter_mut().enumerate() {
            *pose = Pose { s: self.s[i], rot: self.rot[i].to_rotation_matrix().into_inner() };
        }
    }

    /// Writes the twists of all bodies. (n_bodies)
    pub fn write_twists(&self, twists: &mut [Twist]) {
        for ((twist, s_dot), omega) in twists.iter_mut().zip(&self.s_dot).zip(&self.omega) {
            *twist = Twist { s_dot: *s_dot, omega: *omega };
        }
    }
}
