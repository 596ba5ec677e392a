//! A state of the model, ready for evaluating rows.

use crate::joint::JointId;
use crate::math::{Quat, Vec3};
use crate::model::Model;
use crate::rows::{Instant, RowKind};
use crate::signal::Work;
use crate::state::{Pose, State, Twist};

/// A state of the model with what evaluating its rows needs.
#[derive(Clone, Debug)]
pub(crate) struct Posture<'m> {
    pub(crate) model: &'m Model,
    pub(crate) state: State,
    /// Poses of `state`. (n_bodies)
    pub(super) poses: Vec<Pose>,
    /// Twists of `state`. (n_bodies)
    twists: Vec<Twist>,
    work: Work,
}

impl<'m> Posture<'m> {
    pub(crate) fn new(model: &'m Model, state: State) -> Self {
        let mut poses = vec![Pose::identity(); model.n_bodies()];
        let mut twists = vec![Twist::zero(); model.n_bodies()];
        state.write_poses(&mut poses);
        state.write_twists(&mut twists);
        Posture { model, state, poses, twists, work: model.work() }
    }

    pub(crate) fn set_time(&mut self, t: f64) {
        self.state.t = t;
    }

    fn instant<'a>(state: &'a State, poses: &'a [Pose], twists: &'a [Twist]) -> Instant<'a> {
        Instant { t: state.t, poses, twists, coordinates: &state.coordinate }
    }

    /// C of a block as it stands.
    fn raw_error(&mut self, block: usize) -> Vec<f64> {
        let rows = &self.model.rows[block];
        let mut c = vec![0.0; rows.n_rows];
        let at = Self::instant(&self.state, &self.poses, &self.twists);
        rows.error(self.model, &at, &mut self.work, &mut c);
        c
    }

    /// C of a block, 0 for a rope shorter than its length, a stop with room and friction. (n_rows)
    pub(crate) fn error(&mut self, block: usize) -> Vec<f64> {
        if matches!(self.model.rows[block].kind, RowKind::Friction(_)) {
            return vec![0.0];
        }
        let mut c = self.raw_error(block);
        if self.model.rows[block].one_sided(self.model) {
            cut_negative(&mut c);
        }
        c
    }

    /// Whether a block is a rope that hangs loose: C < −tolerance.
    pub(crate) fn slack(&mut self, block: usize) -> bool {
        let rows = &self.model.rows[block];
        let tolerance = rows.tolerance.unwrap_or(self.model.run.tolerance);
        rows.one_sided(self.model) && self.raw_error(block).iter().all(|c| *c < -tolerance)
    }

    /// ∂C/∂t of a block. (n_rows)
    pub(crate) fn time_rate(&mut self, block: usize) -> Vec<f64> {
        let rows = &self.model.rows[block];
        let mut c_t = vec![0.0; rows.n_rows];
        let at = Self::instant(&self.state, &self.poses, &self.twists);
        rows.time_rate(&at, &mut self.work, &mut c_t);
        c_t
    }

    /// J of a block, row-major, 6 columns a body; 0 for a rope that hangs loose. (n_rows × 6 n_bodies)
    pub(crate) fn jacobian(&mut self, block: usize) -> Vec<f64> {
        let rows = &self.model.rows[block];
        let mut jac = vec![0.0; rows.n_rows * 6 * rows.bodies.len()];
        if self.slack(block) {
            return jac;
        }
        let at = Self::instant(&self.state, &self.poses, &self.twists);
        rows.jacobian(self.model, &at, &mut self.work, &mut jac);
        jac
    }

    /// Ċ = J v + C_t of a block, 0 for a rope that hangs loose or shortens; 0 for stops and friction, which take any
    /// velocity. (n_rows)
    pub(crate) fn rate(&mut self, block: usize) -> Vec<f64> {
        if self.model.rows[block].is_bound() || self.slack(block) {
            return vec![0.0; self.model.rows[block].n_rows];
        }
        let mut c_dot = self.time_rate(block);
        let jac = self.jacobian(block);
        let bodies = &self.model.rows[block].bodies;
        for (sum, row) in c_dot.iter_mut().zip(jac.chunks(6 * bodies.len().max(1))) {
            for (body, row) in bodies.iter().zip(row.chunks(6)) {
                let twist = &self.twists[body.index()];
                for k in 0..3 {
                    *sum += row[k] * twist.s_dot[k] + row[3 + k] * twist.omega[k];
                }
            }
        }
        if self.model.rows[block].one_sided(self.model) {
            cut_negative(&mut c_dot);
        }
        c_dot
    }

    /// Moves a body by `step` and turns it by the rotation vector `turn`, world axes.
    pub(crate) fn displace(&mut self, body: usize, step: &Vec3, turn: &Vec3) {
        let state = &mut self.state;
        state.s[body] += step;
        if *turn != Vec3::zeros() {
            state.rot[body] = Quat::from_scaled_axis(*turn) * state.rot[body];
            state.rot[body].renormalize();
        }
        self.refresh(body);
    }

    /// Puts a body at a place.
    pub(crate) fn place(&mut self, body: usize, s: &Vec3, rot: &Quat) {
        self.state.s[body] = *s;
        self.state.rot[body] = *rot;
        self.refresh(body);
    }

    /// Changes the velocity of a body.
    pub(crate) fn push(&mut self, body: usize, s_dot: &Vec3, omega: &Vec3) {
        self.state.s_dot[body] += s_dot;
        self.state.omega[body] += omega;
        let (s_dot, omega) = (self.state.s_dot[body], self.state.omega[body]);
        self.twists[body] = Twist { s_dot, omega };
    }

    fn refresh(&mut self, body: usize) {
        let rot = self.state.rot[body].to_rotation_matrix().into_inner();
        self.poses[body] = Pose { s: self.state.s[body], rot };
    }

    /// Brings the unwrapped coordinates of joints up to date with the poses.
    pub(crate) fn follow_coordinates(&mut self, joints: impl Iterator<Item = JointId>) {
        for id in joints {
            let joint = &self.model.joints[id.index()];
            for which in 0..joint.kind.equations().coordinates().len() {
                let at = Self::instant(&self.state, &self.poses, &self.twists);
                let q = self.model.joint_coordinate(id, which, &at);
                self.state.coordinate[joint.first_coordinate + which] = q;
            }
        }
    }

    /// The coordinates of a joint in the state.
    pub(super) fn coordinates(&mut self, id: JointId) -> &mut [f64] {
        let joint = &self.model.joints[id.index()];
        let n = joint.kind.equations().coordinates().len();
        &mut self.state.coordinate[joint.first_coordinate..joint.first_coordinate + n]
    }
}

/// Sets negative values to zero and leaves what is not a number.
fn cut_negative(values: &mut [f64]) {
    for value in values {
        if *value < 0.0 {
            *value = 0.0;
        }
    }
}
