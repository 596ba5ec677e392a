//! Rows: every condition on the motion, in one form that solvers read without knowing joint types.
//!
//! A [`RowBlock`] is a joint, a tie between joint coordinates (gear, prescribed motion) or an equation over points
//! and bodies, an end stop or the dry friction of a joint coordinate. All give C, J, ∂C/∂t and γ over the velocities v = [ṡ ω] of the bodies they touch:
//! Ċ = J v + C_t, C̈ = J v̇ − γ.

use crate::body::BodyId;
use crate::bound::{Friction, Stop};
use crate::equation::Equation;
use crate::joint::{JointId, MAX_COORDINATES, MAX_ROWS, PairRow};
use crate::math::Real;
use crate::model::Model;
use crate::signal::{TimeFunction, Work};
use crate::state::{Pose, Twist};

/// The instant at which rows, signals and forces are evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Instant<'a, T = f64> {
    /// Time, s.
    pub t: T,
    /// Poses of all bodies. (n_bodies)
    pub poses: &'a [Pose<T>],
    /// Twists of all bodies. (n_bodies)
    pub twists: &'a [Twist<T>],
    /// Unwrapped joint coordinates near this instant, to count full turns from. (n_coordinates)
    pub coordinates: &'a [f64],
}

/// A group of rows that belong together.
#[derive(Clone, Debug)]
pub struct RowBlock {
    /// The element it comes from, for messages: a joint's or constraint's name.
    pub name: String,
    /// Where its equations come from.
    pub kind: RowKind,
    /// Bodies it touches, each once. For a joint: a, b.
    pub bodies: Vec<BodyId>,
    /// Index of its first row among all rows.
    pub first_row: usize,
    /// Number of rows.
    pub n_rows: usize,
    /// Largest allowed error, m or rad; `None`: the run's tolerance.
    pub tolerance: Option<f64>,
}

/// Where the equations of a block come from.
#[derive(Clone, Debug)]
pub enum RowKind {
    /// A joint.
    Joint(JointId),
    /// A condition on joint coordinates.
    Tie(CoordinateTie),
    /// An equation.
    Equation(Box<Equation>),
    /// An end stop.
    Stop(Stop),
    /// Dry friction.
    Friction(Friction),
}

/// Σ ratio_k q_k = f(t): gears, couplings, prescribed motions.
#[derive(Clone, Debug)]
pub struct CoordinateTie {
    /// (joint, which of its coordinates, ratio).
    pub terms: Vec<(JointId, usize, f64)>,
    /// f and its time derivatives.
    pub target: TimeFunction,
}

/// A prescribed motion that jumps, which no force can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jump {
    /// Its row block.
    pub block: usize,
    /// When, s.
    pub t: f64,
    /// By how much, m or rad.
    pub size: f64,
}

impl Model {
    /// The first prescribed motion or driven coupling, of those whose joints are there, that jumps between two times; see [`TimeFunction::jump`].
    pub fn jumping_motion(
        &self,
        from: f64,
        to: f64,
        active: &[bool],
        work: &mut Work,
    ) -> Option<Jump> {
        self.rows.iter().enumerate().find_map(|(block, row)| match &row.kind {
            RowKind::Tie(tie) if row.is_active(active) => {
                tie.target.jump(from, to, work).map(|(t, size)| Jump { block, t, size })
            }
            _ => None,
        })
    }
}

impl RowBlock {
    /// What row `i` holds, in words: "joint `elbow`, tilt x".
    pub fn row_label(&self, model: &Model, i: usize) -> String {
        match &self.kind {
            RowKind::Joint(id) => {
                let joint = &model.joints[id.index()];
                format!("joint `{}`, {}", self.name, joint.kind.equations().row_name(i))
            }
            RowKind::Tie(_) => format!("coupling `{}`", self.name),
            RowKind::Equation(_) => format!("constraint `{}`", self.name),
            RowKind::Stop(_) => format!("end stop `{}`", self.name),
            RowKind::Friction(_) => format!("friction `{}`", self.name),
        }
    }

    /// The joint it belongs to and goes with; `None` for couplings and equations.
    pub fn joint(&self) -> Option<JointId> {
        match &self.kind {
            RowKind::Joint(id) => Some(*id),
            RowKind::Stop(stop) => Some(stop.joint),
            RowKind::Friction(friction) => Some(friction.joint),
            RowKind::Tie(_) | RowKind::Equation(_) => None,
        }
    }

    /// The joint whose force its impulse is part of: its own, or the one whose motion it prescribes. A coupling's forces belong to no joint.
    pub fn acts_in(&self, model: &Model) -> Option<JointId> {
        match &self.kind {
            RowKind::Tie(tie) => match tie.terms[..] {
                [(id, ..)] if self.bodies[..] == model.joints[id.index()].bodies[..] => Some(id),
                _ => None,
            },
            _ => self.joint(),
        }
    }

    /// Whether it is an end stop or friction: a row that takes no degree of freedom.
    pub fn is_bound(&self) -> bool {
        matches!(self.kind, RowKind::Stop(_) | RowKind::Friction(_))
    }

    /// Whether it holds in a state: its joint, or all joints that a coupling ties, are there.
    pub fn is_active(&self, active: &[bool]) -> bool {
        match &self.kind {
            RowKind::Tie(tie) => tie.terms.iter().all(|(joint, _, _)| active[joint.index()]),
            RowKind::Equation(_) => true,
            _ => self.joint().is_none_or(|joint| active[joint.index()]),
        }
    }

    /// Whether the rows are inequalities C ≤ 0 (a rope, an end stop).
    pub fn one_sided(&self, model: &Model) -> bool {
        match &self.kind {
            RowKind::Joint(id) => model.joints[id.index()].kind.equations().one_sided(),
            RowKind::Stop(_) => true,
            RowKind::Tie(_) | RowKind::Equation(_) | RowKind::Friction(_) => false,
        }
    }

    /// C, m or rad. For friction: q, of which the place that holds is to be taken away. (n_rows)
    pub fn error(&self, model: &Model, at: &Instant<'_>, work: &mut Work, c: &mut [f64]) {
        match &self.kind {
            RowKind::Joint(id) => {
                let joint = &model.joints[id.index()];
                let [a, b] = joint.bodies;
                let (a, b) = (&at.poses[a.index()], &at.poses[b.index()]);
                joint.near(at.coordinates).equations().position_error(a, b, c);
            }
            RowKind::Tie(tie) => {
                let mut sum = 0.0;
                for &(joint, which, ratio) in &tie.terms {
                    sum += ratio * model.joint_coordinate(joint, which, at);
                }
                c[0] = sum - tie.target.value(at.t, work)[0];
            }
            RowKind::Equation(equation) => c[0] = equation.error(at, work),
            RowKind::Stop(stop) => {
                c[0] = stop.error(model.joint_coordinate(stop.joint, stop.which, at));
            }
            RowKind::Friction(row) => c[0] = model.joint_coordinate(row.joint, row.which, at),
        }
    }

    /// J, row-major with 6 columns a body in the order of `bodies`. (n_rows × 6 n_bodies)
    pub fn jacobian<T: Real>(
        &self,
        model: &Model,
        at: &Instant<'_, T>,
        work: &mut Work<T>,
        jac: &mut [T],
    ) {
        match &self.kind {
            RowKind::Joint(id) => {
                let joint = &model.joints[id.index()];
                let [a, b] = joint.bodies;
                let (a, b) = (&at.poses[a.index()], &at.poses[b.index()]);
                let mut rows = [[T::zero(); 12]; MAX_ROWS];
                let near = joint.near(at.coordinates);
                near.rows().jacobian(a, b, &mut rows[..self.n_rows]);
                for (i, row) in rows[..self.n_rows].iter().enumerate() {
                    jac[12 * i..12 * (i + 1)].copy_from_slice(row);
                }
            }
            RowKind::Tie(tie) => {
                jac.fill(T::zero());
                for &(id, which, ratio) in &tie.terms {
                    let row = model.joint_coordinate_row(id, which, at);
                    self.add_pair_row(model, id, T::from(ratio), &row, jac);
                }
            }
            RowKind::Equation(equation) => equation.jacobian(at, work, &self.bodies, jac),
            RowKind::Stop(stop) => {
                let row = model.joint_coordinate_row(stop.joint, stop.which, at);
                jac.copy_from_slice(&row.map(|w| T::from(stop.side.sign()) * w));
            }
            RowKind::Friction(friction) => {
                let row = model.joint_coordinate_row(friction.joint, friction.which, at);
                jac.copy_from_slice(&row);
            }
        }
    }

    /// ∂C/∂t. (n_rows)
    pub fn time_rate<T: Real>(&self, at: &Instant<'_, T>, work: &mut Work<T>, c_t: &mut [T]) {
        match &self.kind {
            RowKind::Joint(_) | RowKind::Stop(_) | RowKind::Friction(_) => c_t.fill(T::zero()),
            RowKind::Tie(tie) => c_t[0] = -tie.target.value(at.t, work)[1],
            RowKind::Equation(equation) => c_t[0] = equation.time_rate(at, work),
        }
    }

    /// γ with C̈ = J v̇ − γ. (n_rows)
    pub fn gamma<T: Real>(
        &self,
        model: &Model,
        at: &Instant<'_, T>,
        work: &mut Work<T>,
        gamma: &mut [T],
    ) {
        match &self.kind {
            RowKind::Joint(id) => {
                let joint = &model.joints[id.index()];
                let [a, b] = [joint.bodies[0].index(), joint.bodies[1].index()];
                let (pose_a, pose_b) = (&at.poses[a], &at.poses[b]);
                let (v_a, v_b) = (&at.twists[a], &at.twists[b]);
                joint.near(at.coordinates).rows().gamma(pose_a, pose_b, v_a, v_b, gamma);
            }
            RowKind::Tie(tie) => {
                let mut sum = tie.target.value(at.t, work)[2];
                for &(id, which, ratio) in &tie.terms {
                    sum += T::from(ratio) * model.joint_coordinate_gamma(id, which, at);
                }
                gamma[0] = sum;
            }
            RowKind::Equation(equation) => gamma[0] = equation.gamma(at, work),
            RowKind::Stop(stop) => {
                let bend = model.joint_coordinate_gamma(stop.joint, stop.which, at);
                gamma[0] = T::from(stop.side.sign()) * bend;
            }
            RowKind::Friction(friction) => {
                gamma[0] = model.joint_coordinate_gamma(friction.joint, friction.which, at);
            }
        }
    }

    /// Adds `factor` times a pair row of joint `id` into the only row of `jac`.
    fn add_pair_row<T: Real>(
        &self,
        model: &Model,
        id: JointId,
        factor: T,
        row: &PairRow<T>,
        jac: &mut [T],
    ) {
        for (side, body) in model.joints[id.index()].bodies.iter().enumerate() {
            if let Some(slot) = self.bodies.iter().position(|b| b == body) {
                for k in 0..6 {
                    jac[6 * slot + k] += factor * row[6 * side + k];
                }
            }
        }
    }
}

impl Model {
    /// Coordinate `which` of a joint, unwrapped near `at.coordinates`.
    pub fn joint_coordinate<T: Real>(&self, id: JointId, which: usize, at: &Instant<'_, T>) -> T {
        let joint = &self.joints[id.index()];
        let [a, b] = joint.bodies;
        let mut q = [T::zero(); MAX_COORDINATES];
        let near = joint.near(at.coordinates);
        near.rows().coordinate(&at.poses[a.index()], &at.poses[b.index()], &mut q);
        match near.equations().coordinates()[which].kind {
            crate::joint::CoordinateKind::Angle => {
                unwrap_angle(q[which], at.coordinates[joint.first_coordinate + which])
            }
            crate::joint::CoordinateKind::Length => q[which],
        }
    }

    /// The row W of a joint coordinate: q̇ = W [ṡ_a ω_a ṡ_b ω_b].
    pub fn joint_coordinate_row<T: Real>(
        &self,
        id: JointId,
        which: usize,
        at: &Instant<'_, T>,
    ) -> PairRow<T> {
        let joint = &self.joints[id.index()];
        let [a, b] = joint.bodies;
        let mut rows = [[T::zero(); 12]; MAX_COORDINATES];
        let (a, b) = (&at.poses[a.index()], &at.poses[b.index()]);
        joint.near(at.coordinates).rows().coordinate_jacobian(a, b, &mut rows);
        rows[which]
    }

    /// The velocity q̇ of a joint coordinate.
    pub fn joint_velocity<T: Real>(&self, id: JointId, which: usize, at: &Instant<'_, T>) -> T {
        let row = self.joint_coordinate_row(id, which, at);
        let mut sum = T::zero();
        for (side, body) in self.joints[id.index()].bodies.iter().enumerate() {
            let twist = &at.twists[body.index()];
            for k in 0..3 {
                sum += row[6 * side + k] * twist.s_dot[k] + row[6 * side + 3 + k] * twist.omega[k];
            }
        }
        sum
    }

    /// −Ẇ v of a joint coordinate: q̈ = W v̇ − it.
    pub fn joint_coordinate_gamma<T: Real>(
        &self,
        id: JointId,
        which: usize,
        at: &Instant<'_, T>,
    ) -> T {
        let joint = &self.joints[id.index()];
        let [a, b] = [joint.bodies[0].index(), joint.bodies[1].index()];
        let mut gamma = [T::zero(); MAX_COORDINATES];
        let near = joint.near(at.coordinates);
        let (pose_a, pose_b) = (&at.poses[a], &at.poses[b]);
        let (v_a, v_b) = (&at.twists[a], &at.twists[b]);
        near.rows().coordinate_gamma(pose_a, pose_b, v_a, v_b, &mut gamma);
        gamma[which]
    }
}

/// The angle that differs from `angle` by full turns and lies nearest to `reference`.
pub fn unwrap_angle<T: Real>(angle: T, reference: f64) -> T {
    use std::f64::consts::TAU;
    angle + T::from(TAU * ((reference - angle.value()) / TAU).round())
}
