//! Accelerations and multipliers at a state: the index-1 system, solved.

use gelenk_model::factor::ResponseRows;
use gelenk_model::force::{Account, ForceContext};
use gelenk_model::joint::{JointId, MAX_ROWS};
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::rows::{Instant, RowKind};
use gelenk_model::signal::Work;
use gelenk_model::{HeldSpin, IdleAxes, Model, Pose, Reaction, State, Twist, Wrench};

use crate::crossing::Crossing;
use crate::layout::{self, Layout};
use crate::rows::{Rows, Solver};
use crate::watch::Pivots;

/// What a block of rows does now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Holds: a joint, coupling or equation; a rope that is taut or a stop that is touched; friction that sticks.
    Holds,
    /// Holds nothing: a slack rope, a stop with room, a joint that is not there.
    Free,
    /// Friction that slips with this sign of q̇: a force −F sign q̇ on its coordinate.
    Slips(f64),
}

/// Inputs that go on lines over time: u(t) = a + (b − a)(t − t₀)/(t₁ − t₀).
#[derive(Clone, Debug, PartialEq)]
pub struct Ramp {
    /// t₀ and t₁, s.
    pub times: [f64; 2],
    /// a. (n inputs)
    pub from: Vec<f64>,
    /// b. (n inputs)
    pub to: Vec<f64>,
}

/// The equations of motion in natural coordinates, with all memory to evaluate them.
///
/// ```text
/// [ M  −Gᵀ ] [ a ]   [ F ]
/// [ G   0  ] [ λ ] = [ γ ],    ṗ = v,  v̇ = a
/// ```
/// The 6 conditions of each rigid body are eliminated by hand: with R̈ = (ω̇× + ω×ω×) R they hold by themselves, and F, M become the wrench and
/// the inertia of the body. What is left, K λ = J M⁻¹Jᵀ λ = γ − J M⁻¹ f, is solved sparsely. λ has the sign of a force on body b.
/// \[Laufen\] (4), (7).
#[derive(Clone, Debug)]
pub struct Equations<'m> {
    pub(crate) model: &'m Model,
    pub(crate) layout: Layout,
    pub(crate) poses: Vec<Pose>,
    pub(crate) twists: Vec<Twist>,
    pub(crate) rows: Rows,
    pub(crate) solver: Solver,
    /// What each block does. (n blocks)
    pub(crate) mode: Vec<Mode>,
    /// Whether each joint is there. (n_joints)
    pub(crate) active: Vec<bool>,
    /// Where friction holds. (friction rows)
    pub(crate) held: Vec<f64>,
    pub(crate) fixed: Vec<bool>,
    inertia_inv: Vec<Mat3>,
    pub(crate) signals: Vec<f64>,
    pub(crate) work: Work,
    /// Loads by ledger line: potential, work, dissipation. (n_bodies)
    loads: [Vec<Wrench>; 3],
    /// v̇ of all bodies, world axes. (n_bodies)
    pub(crate) accelerations: Vec<Twist>,
    /// λ of all rows. (n_rows)
    pub(crate) lambda: Vec<f64>,
    pub(crate) gamma: Vec<f64>,
    /// Joint coordinates with their rates at the last step, from which they are counted on.
    at_step: (f64, Vec<f64>, Vec<f64>),
    /// Joint coordinates about here.
    pub(crate) coordinates: Vec<f64>,
    /// What signals read where choices (`if`, `min`, ...) are made, if not where they are evaluated: so that a law is smooth up to its corner and
    /// from it on.
    pub(crate) guide: Option<Vec<f64>>,
    /// Work and dissipation are integrated as well.
    pub(crate) books: bool,
    /// Evaluations of the accelerations.
    pub evaluations: u64,
    /// Projections to the conditions.
    pub projections: u64,
    /// How near K was to a loss of rank.
    pub(crate) pivots: Pivots,
    /// A loop that crosses a singular position in the blown-up formulation.
    pub(crate) crossing: Option<Box<Crossing>>,
    /// Axes about which joints have no moment.
    idle: IdleAxes,
    /// Axes without inertia that joints hold.
    spins: Vec<HeldSpin>,
    /// Inputs that change with time; held at the model's values if there is none.
    ramp: Option<Box<Ramp>>,
}

impl<'m> Equations<'m> {
    /// The equations of a model, with joint coordinates counted on from `state`.
    pub fn new(model: &'m Model, state: &State) -> Self {
        let n = model.n_bodies();
        let rows = Rows::new(model);
        let fixed: Vec<bool> = model.bodies.iter().map(|b| b.fixed).collect();
        let solver = Solver::new(&rows, &fixed, model.n_rows());
        let mut poses = vec![Pose::identity(); n];
        let mut twists = vec![Twist::zero(); n];
        state.write_poses(&mut poses);
        state.write_twists(&mut twists);
        for i in (0..n).filter(|&i| fixed[i]) {
            twists[i] = Twist::zero();
        }
        let booked =
            |force: &gelenk_model::force::Force| force.kind.law().account() != Account::Potential;
        let drives = |kind: &RowKind| {
            matches!(kind, RowKind::Tie(_) | RowKind::Equation(_) | RowKind::Friction(_))
        };
        let books =
            model.forces.iter().any(booked) || model.rows.iter().any(|block| drives(&block.kind));
        let mut equations = Equations {
            model,
            layout: Layout::new(model),
            poses,
            twists,
            mode: vec![Mode::Holds; model.rows.len()],
            active: state.active.clone(),
            held: state.held.clone(),
            rows,
            solver,
            inertia_inv: vec![Mat3::zeros(); n],
            fixed,
            signals: vec![0.0; model.signals.n],
            work: model.work(),
            loads: [(); 3].map(|()| vec![Wrench::zero(); n]),
            accelerations: vec![Twist::zero(); n],
            lambda: vec![0.0; model.n_rows()],
            gamma: vec![0.0; model.n_rows()],
            at_step: (state.t, state.coordinate.clone(), vec![0.0; state.coordinate.len()]),
            coordinates: state.coordinate.clone(),
            guide: None,
            books,
            evaluations: 0,
            projections: 0,
            pivots: Pivots::default(),
            crossing: None,
            idle: IdleAxes::of(model),
            spins: model.held_spins(),
            ramp: None,
        };
        for (i, block) in model.rows.iter().enumerate() {
            if !block.is_active(&equations.active) || block.is_bound() || block.one_sided(model) {
                equations.set_mode(i, Mode::Free);
            }
        }
        equations
    }

    /// The model.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Lets inputs go on lines from now on, as those of a control do.
    pub fn drive(&mut self, ramp: Ramp) {
        self.ramp = Some(Box::new(ramp));
    }

    /// The natural coordinates.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Length of y: p, v, and [work, dissipation] where there is any.
    pub fn dim(&self) -> usize {
        2 * self.layout.n + if self.books { 2 } else { 0 }
    }

    /// y of a state, with empty books.
    pub fn y_of(&self, state: &State) -> Vec<f64> {
        let mut y = vec![0.0; self.dim()];
        let (p, rest) = y.split_at_mut(self.layout.n);
        self.layout.write(state, p, &mut rest[..self.layout.n]);
        y
    }

    pub(crate) fn set_mode(&mut self, block: usize, mode: Mode) {
        self.mode[block] = mode;
        self.rows.out[block] = mode != Mode::Holds;
    }

    /// Reads poses, twists and the joint coordinates about there.
    pub fn read(&mut self, t: f64, y: &[f64]) {
        let n = self.layout.n;
        self.twists.fill(Twist::zero());
        self.layout.read(&y[..n], &y[n..2 * n], &mut self.poses, &mut self.twists);
        let (t_step, coordinates, rates) = &self.at_step;
        for (k, slot) in self.coordinates.iter_mut().enumerate() {
            *slot = coordinates[k] + (t - t_step) * rates[k];
        }
        if let Some(ramp) = &self.ramp {
            let [t0, t1] = ramp.times;
            let part = if t1 > t0 { (t - t0) / (t1 - t0) } else { 0.0 };
            for (slot, (a, b)) in self.work.held.iter_mut().zip(ramp.from.iter().zip(&ramp.to)) {
                *slot = a + (b - a) * part;
            }
        }
    }

    /// Takes the state read last as the place from which joint coordinates are counted on.
    pub fn arrive(&mut self, t: f64) {
        let model = self.model;
        let at = instant(t, &self.poses, &self.twists, &self.coordinates);
        let (t_step, coordinates, rates) = &mut self.at_step;
        *t_step = t;
        for (i, joint) in (0u32..).zip(&model.joints) {
            for which in 0..joint.kind.equations().coordinates().len() {
                let k = joint.first_coordinate + which;
                coordinates[k] = model.joint_coordinate(JointId(i), which, &at);
                rates[k] = model.joint_velocity(JointId(i), which, &at);
            }
        }
        self.coordinates.copy_from_slice(&self.at_step.1);
    }

    /// Counts joint coordinates on from where others do.
    pub(crate) fn count_as(&mut self, other: &Equations<'_>) {
        self.at_step.clone_from(&other.at_step);
        self.coordinates.clone_from(&other.coordinates);
    }

    /// What signals read at the state read last.
    pub(crate) fn signal_inputs(&self, t: f64) -> Vec<f64> {
        let at = instant(t, &self.poses, &self.twists, &self.coordinates);
        let mut inputs = Vec::new();
        self.model.signals.read(self.model, &at, &self.work, &mut inputs);
        inputs
    }

    /// The largest rate of a joint coordinate where they were last counted.
    pub fn fastest(&self) -> f64 {
        self.at_step.2.iter().fold(0.0, |a: f64, b| a.max(b.abs()))
    }

    /// Accelerations and multipliers at the state read last.
    pub fn accelerate(&mut self, t: f64) {
        self.evaluations += 1;
        self.find_loads(t);
        self.prepare(t);
        self.pivots.see(&self.solver.factor);
        self.find_gamma(t);
        self.free_accelerations();
        if self.crossing.is_some() {
            self.solve_crossing();
        } else {
            self.solve();
        }
    }

    /// Signals at the state read last.
    pub(crate) fn find_signals(&mut self, t: f64) {
        let Equations { model, poses, twists, coordinates, signals, work, .. } = self;
        let at = instant(t, poses, twists, coordinates);
        model.signals.evaluate(model, &at, work, signals);
    }

    /// Loads of force laws, gravity left out.
    pub(crate) fn find_loads(&mut self, t: f64) {
        let Equations { model, poses, twists, coordinates, signals, work, loads, .. } = self;
        for wrench in loads.iter_mut() {
            wrench.fill(Wrench::zero());
        }
        let at = instant(t, poses, twists, coordinates);
        if !model.forces.is_empty() {
            match &self.guide {
                Some(guide) => model.signals.evaluate_beside(model, &at, guide, work, signals),
                None => model.signals.evaluate(model, &at, work, signals),
            }
        }
        let context = ForceContext { model, at, signals };
        for force in model.forces.iter().filter(|f| f.kind.is_active(&self.active)) {
            let law = force.kind.law();
            let account = match law.account() {
                Account::Potential => 0,
                Account::Work => 1,
                Account::Dissipation => 2,
            };
            law.add_wrench(&context, &mut loads[account]);
        }
        for (block, mode) in model.rows.iter().zip(&self.mode) {
            if let (RowKind::Friction(friction), Mode::Slips(sign)) = (&block.kind, mode) {
                let axis =
                    gelenk_model::force::JointAxis { joint: friction.joint, which: friction.which };
                axis.add_force(&context, -sign * friction.force, &mut loads[2]);
            }
        }
    }

    /// J, M⁻¹ Jᵀ and the factor of K.
    pub(crate) fn prepare(&mut self, t: f64) {
        self.prepare_rows(t);
        self.solver.refresh(&self.rows);
    }

    /// J and M⁻¹ Jᵀ.
    pub(crate) fn prepare_rows(&mut self, t: f64) {
        let Equations { model, poses, twists, coordinates, rows, work, .. } = self;
        for place in &self.layout.places {
            let i = place.body;
            self.inertia_inv[i] = model.bodies[i].inertia_inv_world(&poses[i].rot);
        }
        let at = instant(t, poses, twists, coordinates);
        rows.prepare(model, &at, &self.inertia_inv, work);
    }

    /// The same with moments of the usual size for thin rods that are held.
    pub(crate) fn prepare_rows_evenly(&mut self, t: f64) {
        self.prepare_rows(t);
        if self.spins.is_empty() {
            return;
        }
        let Equations { model, poses, twists, coordinates, rows, work, .. } = self;
        for spin in &self.spins {
            let (i, rot) = (spin.body, &poses[spin.body].rot);
            let inverse = model.bodies[i].inertia_inv_even();
            self.inertia_inv[i] = rot * Mat3::from_diagonal(&inverse) * rot.transpose();
        }
        let at = instant(t, poses, twists, coordinates);
        rows.prepare(model, &at, &self.inertia_inv, work);
    }

    fn find_gamma(&mut self, t: f64) {
        let Equations { model, poses, twists, coordinates, work, gamma, .. } = self;
        let at = instant(t, poses, twists, coordinates);
        for (i, block) in model.rows.iter().enumerate() {
            let gamma = &mut gamma[block.first_row..][..block.n_rows];
            if self.rows.out[i] && block.joint().is_none_or(|joint| !self.active[joint.index()]) {
                gamma.fill(0.0);
            } else {
                block.gamma(model, &at, work, gamma);
            }
        }
    }

    /// Accelerations by loads and gyroscopic torques, without joints.
    pub(crate) fn free_accelerations(&mut self) {
        // Those of fixed bodies too: a value that was none must not stay.
        self.accelerations.fill(Twist::zero());
        for place in &self.layout.places {
            let i = place.body;
            let (body, rot) = (&self.model.bodies[i], &self.poses[i].rot);
            let [a, b, c] = &self.loads;
            let force = a[i].force + b[i].force + c[i].force;
            let acceleration = &mut self.accelerations[i];
            acceleration.s_dot = self.model.gravity + force * body.mass_inv;
            if place.rigid {
                let torque = rot.tr_mul(&(a[i].torque + b[i].torque + c[i].torque));
                let omega = rot.tr_mul(&self.twists[i].omega);
                let spin = torque - omega.cross(&body.inertia.component_mul(&omega));
                acceleration.omega = rot * body.inertia_inv.component_mul(&spin);
            }
        }
    }

    fn solve(&mut self) {
        self.lambda.fill(0.0);
        let axes = self.held_axes();
        let from = vec![0.0; axes.len()];
        let Equations { rows, solver, gamma, accelerations, lambda, .. } = self;
        solver.solve_held(rows, &axes, &from, gamma, accelerations, lambda);
    }

    /// Axes without inertia that joints hold, by body, world axes.
    pub(crate) fn held_axes(&self) -> Vec<(usize, Vec3)> {
        let axis =
            |spin: &HeldSpin| (spin.body, self.poses[spin.body].rot.column(spin.axis).into_owned());
        self.spins.iter().map(axis).collect()
    }

    /// ω about them at the poses read last.
    pub(crate) fn held_rates(&self, twists: &[Twist]) -> Vec<f64> {
        self.spins.iter().map(|spin| spin.rate(&self.poses, twists)).collect()
    }

    /// The nearest velocities with J v = wanted in the norm of M, and the impulses that lead there, added to `multipliers`; `from`: the spins before, of
    /// [`Equations::held_rates`].
    pub(crate) fn nearest_velocities(
        &mut self,
        wanted: &[f64],
        from: &[f64],
        multipliers: &mut [f64],
    ) {
        let axes = self.held_axes();
        let Equations { rows, solver, twists, .. } = self;
        solver.solve_held(rows, &axes, from, wanted, twists, multipliers);
    }

    /// Axes without inertia that joints hold, with α n for spin accelerations α that stay while n turns with its body.
    pub(crate) fn held_accelerations(&self) -> impl Iterator<Item = (HeldSpin, f64)> + '_ {
        self.spins.iter().map(|spin| (*spin, spin.rate(&self.poses, &self.accelerations)))
    }

    /// ẏ at (t, y); false where it has no finite value.
    pub fn rates(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> bool {
        self.read(t, y);
        self.accelerate(t);
        let n = self.layout.n;
        dy[..n].copy_from_slice(&y[n..2 * n]);
        for place in &self.layout.places {
            let i = place.body;
            let a = &self.accelerations[i];
            let out = &mut dy[n + place.first..][..place.len()];
            out[..3].copy_from_slice(a.s_dot.as_slice());
            if place.rigid {
                let omega = self.twists[i].omega.cross_matrix();
                let turn = (a.omega.cross_matrix() + omega * omega) * self.poses[i].rot;
                out[3..].copy_from_slice(turn.as_slice());
            }
        }
        if self.books {
            let powers = self.powers(t);
            dy[2 * n..].copy_from_slice(&powers);
        }
        dy.iter().all(|x| x.is_finite())
    }

    /// F(t, p, v) in natural coordinates: forces on centres; a torque τ as ½ τ × R_k on column k of R, which does the same work in every
    /// turn. (n)
    pub(crate) fn natural_forces(&mut self, t: f64, p: &[f64], v: &[f64], out: &mut [f64]) {
        self.layout.read(p, v, &mut self.poses, &mut self.twists);
        self.find_loads(t);
        for place in &self.layout.places {
            let i = place.body;
            let [a, b, c] = &self.loads;
            let weight = self.model.gravity * self.model.bodies[i].mass;
            let force = a[i].force + b[i].force + c[i].force + weight;
            out[place.first..place.first + 3].copy_from_slice(force.as_slice());
            if place.rigid {
                let torque = a[i].torque + b[i].torque + c[i].torque;
                let turn = torque.cross_matrix() * self.poses[i].rot * 0.5;
                out[place.first + 3..place.first + 12].copy_from_slice(turn.as_slice());
            }
        }
    }

    /// Power of the loads on a ledger line, W.
    fn power(&self, account: usize) -> f64 {
        let mut sum = 0.0;
        for place in &self.layout.places {
            let i = place.body;
            let (load, twist) = (&self.loads[account][i], &self.twists[i]);
            sum += load.force.dot(&twist.s_dot);
            let rot = &self.poses[i].rot;
            let (torque, omega) = (rot.tr_mul(&load.torque), rot.tr_mul(&twist.omega));
            // About axes without inertia a torque does no work.
            for k in (0..3).filter(|&k| self.model.bodies[i].inertia_inv[k] != 0.0) {
                sum += torque[k] * omega[k];
            }
        }
        sum
    }

    /// Power that goes in by drives, applied forces and prescribed motions, and that dampers and friction take out, W.
    ///
    /// A row with C(q, t) = 0 does the work λ J v = −λ ∂C/∂t.
    fn powers(&mut self, t: f64) -> [f64; 2] {
        let mut work = self.power(1);
        let mut c_t = [0.0; MAX_ROWS];
        for i in 0..self.model.rows.len() {
            let block = &self.model.rows[i];
            if self.rows.out[i] || matches!(block.kind, RowKind::Joint(_)) {
                continue;
            }
            let at = instant(t, &self.poses, &self.twists, &self.coordinates);
            block.time_rate(&at, &mut self.work, &mut c_t[..block.n_rows]);
            work -= self.lambda[block.first_row] * c_t[0];
        }
        [work, -self.power(2)]
    }

    /// C of block `i` at the state read last, 0 where it holds nothing. (n_rows)
    pub(crate) fn error(&mut self, i: usize, t: f64, c: &mut [f64]) {
        if self.rows.out[i] {
            c.fill(0.0);
            return;
        }
        self.raw_error(i, t, c);
    }

    /// C of block `i`, whether it holds or not; of friction, q less the place that holds. (n_rows)
    pub(crate) fn raw_error(&mut self, i: usize, t: f64, c: &mut [f64]) {
        let block = &self.model.rows[i];
        let at = instant(t, &self.poses, &self.twists, &self.coordinates);
        block.error(self.model, &at, &mut self.work, c);
        if let RowKind::Friction(friction) = &block.kind {
            c[0] -= self.held[friction.slot];
        }
    }

    /// Ċ = J v + C_t of block `i`; J must belong to the state. (n_rows)
    pub(crate) fn error_rate(&mut self, i: usize, t: f64, c_dot: &mut [f64]) {
        let block = &self.model.rows[i];
        let mut c_t = [0.0; MAX_ROWS];
        let at = instant(t, &self.poses, &self.twists, &self.coordinates);
        block.time_rate(&at, &mut self.work, &mut c_t[..block.n_rows]);
        self.rows.rate(i, &self.twists, c_dot);
        for (c, c_t) in c_dot.iter_mut().zip(&c_t) {
            *c += c_t;
        }
    }

    /// Position and velocity error of every block at the state read last, m or rad and per second; 0 of those that hold
    /// nothing, but for stops and ropes that are passed. J must belong to the state. (n blocks)
    pub fn gaps(&mut self, t: f64) -> (Vec<f64>, Vec<f64>) {
        let n = self.model.rows.len();
        let norm = |list: &[f64]| list.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (mut gaps, mut rates) = (vec![0.0; n], vec![0.0; n]);
        let mut c = [0.0; MAX_ROWS];
        for i in self.holding() {
            let c = &mut c[..self.model.rows[i].n_rows];
            self.raw_error(i, t, c);
            gaps[i] = norm(c);
            self.error_rate(i, t, c);
            rates[i] = norm(c);
        }
        for (i, gap) in gaps.iter_mut().enumerate() {
            *gap += self.over(i, t);
        }
        (gaps, rates)
    }

    /// Forces of joints on their second bodies from λ, shared where rows are redundant; [`Equations::accelerate`] must have been called.
    pub fn reactions(&mut self) -> Vec<Reaction> {
        let model = self.model;
        if self.crossing.is_some() {
            self.crossing_lambda();
        }
        let mut lambda = self.lambda.clone();
        if self.crossing.is_none() {
            self.solver.share(&self.rows, &self.fixed, &mut lambda);
        }
        let zero = Vec3::zeros();
        let none = |(i, _)| Reaction { joint: JointId(i), force: zero, torque: zero };
        let mut reactions: Vec<Reaction> = (0u32..).zip(&model.joints).map(none).collect();
        for (i, block) in model.rows.iter().enumerate() {
            let Some(id) = block.acts_in(model) else { continue };
            let slips = match (&block.kind, self.mode[i]) {
                (RowKind::Friction(friction), Mode::Slips(sign)) => Some(-sign * friction.force),
                _ => None,
            };
            if self.rows.out[i] && slips.is_none() {
                continue;
            }
            let joint = &model.joints[id.index()];
            let jac = self.rows.jacobian(i);
            let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
            for k in 0..block.n_rows {
                let row = &jac[12 * k + 6..][..6];
                let l = slips.unwrap_or(lambda[block.first_row + k]);
                force += Vec3::new(row[0], row[1], row[2]) * l;
                torque += Vec3::new(row[3], row[4], row[5]) * l;
            }
            let [a, b] = joint.bodies.map(|body| &self.poses[body.index()]);
            let point = joint.near(&self.coordinates).equations().force_point(a, b);
            let reaction = &mut reactions[id.index()];
            reaction.force += force;
            reaction.torque += torque - (point - b.s).cross(&force);
        }
        self.idle.drop_moments(model, &self.active, &self.poses, &mut reactions);
        reactions
    }

    /// The state read last, as the model keeps it; `like` gives the rest.
    pub fn state(&self, t: f64, like: &State) -> State {
        let mut state = like.clone();
        state.t = t;
        self.layout.write_state(&self.poses, &self.twists, &mut state);
        let at = instant(t, &self.poses, &self.twists, &self.coordinates);
        for (i, joint) in (0u32..).zip(&self.model.joints) {
            for which in 0..joint.kind.equations().coordinates().len() {
                state.coordinate[joint.first_coordinate + which] =
                    self.model.joint_coordinate(JointId(i), which, &at);
            }
        }
        state.active.clone_from(&self.active);
        state.held.clone_from(&self.held);
        state
    }

    /// Puts poses and twists into y.
    pub(crate) fn write(&self, y: &mut [f64]) {
        let n = self.layout.n;
        let (p, v) = y.split_at_mut(n);
        for place in &self.layout.places {
            let (pose, twist) = (&self.poses[place.body], &self.twists[place.body]);
            layout::put(place, pose, twist, p, &mut v[..n]);
        }
    }

    /// Blocks that hold.
    pub(crate) fn holding(&self) -> Vec<usize> {
        (0..self.model.rows.len()).filter(|&i| !self.rows.out[i]).collect()
    }

    /// Number of rows of block `i` and the first of them.
    pub(crate) fn rows_of(&self, i: usize) -> std::ops::Range<usize> {
        let place = self.rows.place(i);
        place.first_row..place.first_row + place.n_rows
    }
}

pub(crate) fn instant<'a>(
    t: f64,
    poses: &'a [Pose],
    twists: &'a [Twist],
    coordinates: &'a [f64],
) -> Instant<'a> {
    Instant { t, poses, twists, coordinates }
}
