//! What the model says of a state: loads and their power, joint coordinates, gaps, and the forces of joints.
//!
//! All of it comes from the model's rows and force laws, none from the derived equations, so that gaps and the energy balance check
//! these.

use gelenk_model::force::{Account, ForceContext};
use gelenk_model::joint::{CoordinateKind, JointId, MAX_COORDINATES};
use gelenk_model::math::Vec3;
use gelenk_model::rows::{Instant, unwrap_angle};
use gelenk_model::signal::Work;
use gelenk_model::{CheckOptions, Model, Pose, Reaction, State, Twist, Wrench, check_state};
use nalgebra::{DMatrix, DVector};

/// The part of the largest diagonal entry of J M⁻¹ Jᵀ that is added to all, so that redundant rows do no harm.
const DAMPING: f64 = 1e-12;

/// Reads a state through the model; memory for it.
#[derive(Debug)]
pub(super) struct Look<'m> {
    model: &'m Model,
    poses: Vec<Pose>,
    twists: Vec<Twist>,
    signals: Vec<f64>,
    work: Work,
    /// Loads by ledger line: potential, work, dissipation. (n_bodies)
    loads: [Vec<Wrench>; 3],
}

impl<'m> Look<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let n = model.n_bodies();
        Look {
            model,
            poses: vec![Pose::identity(); n],
            twists: vec![Twist::zero(); n],
            signals: vec![0.0; model.signals.n],
            work: model.work(),
            loads: [(); 3].map(|()| vec![Wrench::zero(); n]),
        }
    }

    /// Reads poses and twists.
    pub(super) fn read(&mut self, state: &State) {
        state.write_poses(&mut self.poses);
        state.write_twists(&mut self.twists);
    }

    /// Joint coordinates of the state, angles nearest to those in `state.coordinate`. Poses must have been read.
    pub(super) fn count_on(&self, state: &mut State) {
        for joint in &self.model.joints {
            let near = joint.near(&state.coordinate);
            let equations = near.equations();
            let coordinates = equations.coordinates();
            let [a, b] = joint.bodies.map(|id| &self.poses[id.index()]);
            let mut q = [0.0; MAX_COORDINATES];
            equations.coordinate(a, b, &mut q);
            for (i, coordinate) in coordinates.iter().enumerate() {
                let slot = &mut state.coordinate[joint.first_coordinate + i];
                *slot = match coordinate.kind {
                    CoordinateKind::Angle => unwrap_angle(q[i], *slot),
                    CoordinateKind::Length => q[i],
                };
            }
        }
    }

    /// Rates of all joint coordinates. (n_coordinates)
    pub(super) fn coordinate_rates(&self, state: &State, rates: &mut [f64]) {
        let at = self.instant(state);
        for (i, joint) in (0u32..).zip(&self.model.joints) {
            let n = joint.kind.equations().coordinates().len();
            for which in 0..n {
                rates[joint.first_coordinate + which] =
                    self.model.joint_velocity(JointId(i), which, &at);
            }
        }
    }

    fn instant<'a>(&'a self, state: &'a State) -> Instant<'a> {
        Instant {
            t: state.t,
            poses: &self.poses,
            twists: &self.twists,
            coordinates: &state.coordinate,
        }
    }

    /// Evaluates all force laws.
    pub(super) fn load(&mut self, state: &State) {
        let Look { model, poses, twists, signals, work, loads } = self;
        for wrench in loads.iter_mut() {
            wrench.fill(Wrench::zero());
        }
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        model.signals.evaluate(model, &at, work, signals);
        let context = ForceContext { model, at, signals };
        for force in &model.forces {
            let law = force.kind.law();
            let account = match law.account() {
                Account::Potential => 0,
                Account::Work => 1,
                Account::Dissipation => 2,
            };
            law.add_wrench(&context, &mut loads[account]);
        }
    }

    /// Power of the loads on a ledger line (1: work, 2: dissipation, negative), W.
    fn power(&self, account: usize) -> f64 {
        let mut sum = 0.0;
        for (i, body) in self.model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
            let (load, twist) = (&self.loads[account][i], &self.twists[i]);
            let (torque, omega) =
                (self.poses[i].rot.tr_mul(&load.torque), self.poses[i].rot.tr_mul(&twist.omega));
            sum += load.force.dot(&twist.s_dot);
            // About axes without inertia a torque does no work.
            for k in (0..3).filter(|&k| body.inertia_inv[k] != 0.0) {
                sum += torque[k] * omega[k];
            }
        }
        sum
    }

    /// Power that goes in by drives, applied forces and prescribed motions, and that dampers take out, W.
    ///
    /// A row with C(q, t) = 0 and the multiplier λ does the work λ J v = −λ ∂C/∂t.
    pub(super) fn powers(
        &mut self,
        state: &State,
        accelerations: impl FnOnce() -> Vec<(usize, Twist)>,
    ) -> [f64; 2] {
        self.load(state);
        let mut work = self.power(1);
        let rates = self.time_rates(state);
        if rates.iter().any(|c_t| *c_t != 0.0) {
            let lambda = self.multipliers(state, &accelerations());
            work -= lambda.iter().zip(&rates).map(|(l, c_t)| l * c_t).sum::<f64>();
        }
        [work, -self.power(2)]
    }

    /// ∂C/∂t of all rows.
    fn time_rates(&mut self, state: &State) -> Vec<f64> {
        let Look { model, poses, twists, work, .. } = self;
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        let mut rates = vec![0.0; model.n_rows()];
        for block in &model.rows {
            block.time_rate(&at, work, &mut rates[block.first_row..][..block.n_rows]);
        }
        rates
    }

    /// J of every block, row by row with 6 columns for each of its bodies.
    fn jacobians(&mut self, state: &State) -> Vec<Vec<f64>> {
        let Look { model, poses, twists, work, .. } = self;
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        let of_block = |block: &gelenk_model::RowBlock| {
            let mut jac = vec![0.0; block.n_rows * 6 * block.bodies.len()];
            block.jacobian(model, &at, work, &mut jac);
            jac
        };
        model.rows.iter().map(of_block).collect()
    }

    /// Position and velocity error of every row block, m or rad and per second. (n blocks)
    pub(super) fn gaps(&mut self, state: &State) -> (Vec<f64>, Vec<f64>) {
        let jacobians = self.jacobians(state);
        let rates = self.time_rates(state);
        let Look { model, poses, twists, work, .. } = self;
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        let norm = |list: &[f64]| list.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut gaps = (Vec::new(), Vec::new());
        for (block, jac) in model.rows.iter().zip(&jacobians) {
            let mut c = vec![0.0; block.n_rows];
            block.error(model, &at, work, &mut c);
            gaps.0.push(norm(&c));
            let width = 6 * block.bodies.len();
            for (k, c_dot) in c.iter_mut().enumerate() {
                *c_dot = rates[block.first_row + k];
                for (slot, body) in block.bodies.iter().enumerate() {
                    let entries = &jac[width * k + 6 * slot..][..6];
                    *c_dot += dot(entries, &twists[body.index()]);
                }
            }
            gaps.1.push(norm(&c));
        }
        gaps
    }

    /// Multipliers λ of all rows, so that Jᵀ λ and the loads give the bodies the accelerations they have:
    ///
    /// ```text
    /// (J M⁻¹ Jᵀ) λ = J (v̇ − M⁻¹ f),   f: loads, gravity and −ω × I ω
    /// ```
    /// Where rows are redundant, the λ of least size. Loads must have been evaluated.
    pub(super) fn multipliers(
        &mut self,
        state: &State,
        accelerations: &[(usize, Twist)],
    ) -> Vec<f64> {
        let model = self.model;
        let n_rows = model.n_rows();
        if n_rows == 0 {
            return Vec::new();
        }
        let jacobians = self.jacobians(state);
        let mut missing = vec![Twist::zero(); model.n_bodies()];
        for (i, acceleration) in accelerations {
            missing[*i] = self.unexplained(*i, acceleration);
        }
        let weights: Vec<_> = (model.bodies.iter().zip(&self.poses))
            .map(|(body, pose)| (body.mass_inv, body.inertia_inv_world(&pose.rot)))
            .collect();
        // M⁻¹ Jᵀ for one row and body.
        let weighted = |row: &[f64], body: usize| {
            let (mass_inv, inertia_inv) = &weights[body];
            Twist {
                s_dot: Vec3::new(row[0], row[1], row[2]) * *mass_inv,
                omega: inertia_inv * Vec3::new(row[3], row[4], row[5]),
            }
        };
        let mut on_body: Vec<Vec<(usize, usize)>> = vec![Vec::new(); model.n_bodies()];
        let mut right = DVector::zeros(n_rows);
        for (b, block) in model.rows.iter().enumerate() {
            let width = 6 * block.bodies.len();
            for (slot, body) in block.bodies.iter().enumerate() {
                on_body[body.index()].push((b, slot));
                for k in 0..block.n_rows {
                    let row = &jacobians[b][width * k + 6 * slot..][..6];
                    right[block.first_row + k] += dot(row, &missing[body.index()]);
                }
            }
        }
        let mut k_matrix = DMatrix::zeros(n_rows, n_rows);
        for (body, blocks) in on_body.iter().enumerate().filter(|(i, _)| !model.bodies[*i].fixed) {
            for &(a, slot_a) in blocks {
                let (block_a, width_a) = (&model.rows[a], 6 * model.rows[a].bodies.len());
                for i in 0..block_a.n_rows {
                    let push = weighted(&jacobians[a][width_a * i + 6 * slot_a..][..6], body);
                    for &(b, slot_b) in blocks {
                        let (block_b, width_b) = (&model.rows[b], 6 * model.rows[b].bodies.len());
                        for j in 0..block_b.n_rows {
                            let row = &jacobians[b][width_b * j + 6 * slot_b..][..6];
                            k_matrix[(block_b.first_row + j, block_a.first_row + i)] +=
                                dot(row, &push);
                        }
                    }
                }
            }
        }
        let mut damped = k_matrix.clone();
        let damping = DAMPING * k_matrix.diagonal().amax();
        for i in 0..n_rows {
            damped[(i, i)] += damping;
        }
        let Some(factor) = damped.cholesky() else { return vec![f64::NAN; n_rows] };
        // Each round takes away all but the part `damping`/eigenvalue of what is left.
        let mut lambda = DVector::zeros(n_rows);
        for _ in 0..4 {
            let left = &right - &k_matrix * &lambda;
            lambda += factor.solve(&left);
        }
        lambda.iter().copied().collect()
    }

    /// The acceleration of a body that loads, gravity and its gyroscopic torque do not give it.
    fn unexplained(&self, i: usize, acceleration: &Twist) -> Twist {
        let (body, rot) = (&self.model.bodies[i], &self.poses[i].rot);
        let [a, b, c] = &self.loads;
        let force = a[i].force + b[i].force + c[i].force;
        let torque = rot.tr_mul(&(a[i].torque + b[i].torque + c[i].torque));
        let omega = rot.tr_mul(&self.twists[i].omega);
        let spin = torque - omega.cross(&body.inertia.component_mul(&omega));
        // J⁻¹ (J ω̇ − τ): about axes without inertia joints have τ to hold, nothing else.
        let wanted = body.inertia.component_mul(&rot.tr_mul(&acceleration.omega));
        let turn = body.inertia_inv.component_mul(&(wanted - spin));
        Twist {
            s_dot: acceleration.s_dot - self.model.gravity - force * body.mass_inv,
            omega: rot * turn,
        }
    }

    /// Forces of joints on their second bodies, of the rows that belong to them.
    pub(super) fn reactions(
        &mut self,
        state: &State,
        accelerations: &[(usize, Twist)],
    ) -> Vec<Reaction> {
        let model = self.model;
        self.load(state);
        let lambda = self.multipliers(state, accelerations);
        let jacobians = self.jacobians(state);
        let mut reactions = still(model);
        for (block, jac) in model.rows.iter().zip(&jacobians) {
            let Some(id) = block.acts_in(model) else { continue };
            let joint = &model.joints[id.index()];
            let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
            for k in 0..block.n_rows {
                let (row, l) = (&jac[12 * k + 6..][..6], lambda[block.first_row + k]);
                force += Vec3::new(row[0], row[1], row[2]) * l;
                torque += Vec3::new(row[3], row[4], row[5]) * l;
            }
            let [a, b] = joint.bodies.map(|body| &self.poses[body.index()]);
            let point = joint.kind.equations().force_point(a, b);
            let reaction = &mut reactions[id.index()];
            reaction.force += force;
            reaction.torque += torque - (point - b.s).cross(&force);
        }
        reactions
    }
}

/// A start at rest where joints lose rank, and that cannot be left the way that loads and joints pull.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stuck {
    /// How many ranks are lost.
    pub(crate) lost: usize,
    /// Joints open by this times the square of the way moved, 1/m.
    pub(crate) bend: f64,
    /// The joint that opens most.
    pub(crate) element: String,
}

/// How far bodies are moved to see whether joints open, m.
const MOVED: f64 = 1e-4;
/// Where joints open by less than this times the square of the way they do not, 1/m: the next order gives 1e-4.
const BENT: f64 = 1e-2;

/// At rest where joints lose rank, with a the accelerations that the smallest joint forces leave: moved by x = ½ a t² they open by the part of
/// C(x) = ½ xᵀ C″ x that no further motion of that order closes. If there is one, forces grow without bound as the motion begins, like 1/t², and several
/// motions may begin.
pub(crate) fn stuck_start(model: &Model, start: &State) -> Option<Stuck> {
    let moving = || (0..model.n_bodies()).filter(|i| !model.bodies[*i].fixed);
    let still = |i: usize| start.s_dot[i].norm().max(start.omega[i].norm()) < 1e-12;
    if gelenk_model::graph::Graph::new(model).clusters.is_empty() || !moving().all(still) {
        return None;
    }
    let lost = check_state(model, start, &CheckOptions::default()).rank_lost;
    if lost == 0 {
        return None;
    }
    let mut look = Look::new(model);
    look.read(start);
    look.load(start);
    let none: Vec<(usize, Twist)> = moving().map(|i| (i, Twist::zero())).collect();
    let lambda = look.multipliers(start, &none);
    let jacobians = look.jacobians(start);
    let mut a: Vec<Twist> = vec![Twist::zero(); model.n_bodies()];
    for i in moving() {
        let missing = look.unexplained(i, &Twist::zero());
        a[i] = Twist { s_dot: -missing.s_dot, omega: -missing.omega };
    }
    let free = |block: &gelenk_model::RowBlock| !block.is_bound();
    for (block, jac) in model.rows.iter().zip(&jacobians).filter(|(block, _)| free(block)) {
        let width = 6 * block.bodies.len();
        for k in 0..block.n_rows {
            for (slot, body) in block.bodies.iter().enumerate() {
                let (i, row) = (body.index(), &jac[width * k + 6 * slot..][..6]);
                if model.bodies[i].fixed {
                    continue;
                }
                let l = lambda[block.first_row + k];
                a[i].s_dot += Vec3::new(row[0], row[1], row[2]) * (l * model.bodies[i].mass_inv);
                let inertia_inv = model.bodies[i].inertia_inv_world(&look.poses[i].rot);
                a[i].omega += inertia_inv * Vec3::new(row[3], row[4], row[5]) * l;
            }
        }
    }
    let fastest = a.iter().fold(0.0, |most: f64, a| most.max(a.s_dot.norm()).max(a.omega.norm()));
    if !(fastest > 0.0 && fastest.is_finite()) {
        return None;
    }
    let scale = MOVED / fastest;
    let mut moved = start.clone();
    for i in moving() {
        moved.s[i] += a[i].s_dot * scale;
        moved.rot[i] =
            gelenk_model::math::Quat::from_scaled_axis(a[i].omega * scale) * moved.rot[i];
    }
    look.read(&moved);
    let rows = model.n_rows();
    let (mut open, mut all) = (DVector::zeros(rows), DMatrix::zeros(rows, 6 * model.n_bodies()));
    let Look { model, poses, twists, work, .. } = &mut look;
    let at = Instant { t: start.t, poses, twists, coordinates: &start.coordinate };
    for (block, jac) in model.rows.iter().zip(&jacobians).filter(|(block, _)| free(block)) {
        let mut c = vec![0.0; block.n_rows];
        block.error(model, &at, work, &mut c);
        let width = 6 * block.bodies.len();
        for k in 0..block.n_rows {
            open[block.first_row + k] = c[k];
            for (slot, body) in block.bodies.iter().enumerate() {
                if !model.bodies[body.index()].fixed {
                    for e in 0..6 {
                        all[(block.first_row + k, 6 * body.index() + e)] +=
                            jac[width * k + 6 * slot + e];
                    }
                }
            }
        }
    }
    let svd = all.clone().try_svd(true, true, f64::EPSILON, 1000)?;
    let closed = svd.solve(&open, 1e-9 * svd.singular_values.max()).ok()?;
    let left = open - all * closed;
    let bend = left.norm() / (MOVED * MOVED);
    let of = |block: &gelenk_model::RowBlock| left.rows(block.first_row, block.n_rows).norm();
    let worst = model.rows.iter().max_by(|a, b| of(a).total_cmp(&of(b)))?;
    (bend > BENT).then(|| Stuck { lost, bend, element: worst.name.clone() })
}

/// Joints without force.
pub(super) fn still(model: &Model) -> Vec<Reaction> {
    let zero = Vec3::zeros();
    (0u32..)
        .zip(&model.joints)
        .map(|(i, _)| Reaction { joint: JointId(i), force: zero, torque: zero })
        .collect()
}

/// A row of J over one body times its twist.
fn dot(row: &[f64], twist: &Twist) -> f64 {
    let mut sum = 0.0;
    for k in 0..3 {
        sum += row[k] * twist.s_dot[k] + row[3 + k] * twist.omega[k];
    }
    sum
}
