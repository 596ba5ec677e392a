//! Exact derivatives of the right-hand side, along any directions, by dual numbers.
//!
//! Loads, J and γ are evaluated once more over dual numbers; the index-1 system differentiated,
//! ```text
//! M δa − Jᵀ δλ = δF + δJᵀ λ,    J δa = δγ − δJ a,
//! ```
//! is solved with the factor that K = J M⁻¹ Jᵀ already has: a direction costs no factorization. Nothing is approximated.

mod columns;

use gelenk_expr::{Dual, LANES};
use gelenk_model::force::{Account, ForceContext, ForceKind, JointAxis};
use gelenk_model::joint::{JointId, MAX_ROWS};
use gelenk_model::rows::{Instant, RowKind};
use gelenk_model::signal::Work;
use gelenk_model::variation::Variation;
use gelenk_model::{Pose, Twist, Wrench};
use nalgebra::{Matrix3, Vector3};

use crate::equations::{Equations, Mode, instant};
use crate::rows::dot;

/// A direction in which time, state and inputs change.
#[derive(Clone, Copy, Debug)]
pub struct Direction<'a> {
    /// δp and δv; empty for none. (2n or more)
    pub y: &'a [f64],
    /// Changes of the inputs; empty for none. (inputs)
    pub inputs: &'a [f64],
    /// Change of time.
    pub t: f64,
}

impl<'a> Direction<'a> {
    /// A change of the state alone.
    pub fn of_state(y: &'a [f64]) -> Self {
        Direction { y, inputs: &[], t: 0.0 }
    }
}

/// Memory for derivatives.
#[derive(Clone, Debug)]
pub struct Tangents {
    pub(crate) t: Dual,
    pub(crate) poses: Vec<Pose<Dual>>,
    pub(crate) twists: Vec<Twist<Dual>>,
    pub(crate) signals: Vec<Dual>,
    pub(crate) work: Work<Dual>,
    pub(crate) loads: [Vec<Wrench<Dual>>; 3],
    /// Loads and forces of rows together. (n_bodies)
    pub(crate) total: Vec<Wrench<Dual>>,
    /// v̇ with λ held. (n_bodies)
    accelerations: Vec<Twist<Dual>>,
    pub(crate) jac: Vec<Dual>,
    /// δγ − δJ a by lane. (n_rows)
    wanted: [Vec<f64>; LANES],
    /// δλ by lane. (n_rows)
    lambda: [Vec<f64>; LANES],
    steps: [Vec<Twist>; LANES],
}

impl Tangents {
    /// Memory for a model's equations.
    pub fn new(equations: &Equations<'_>) -> Self {
        let model = equations.model;
        let (n, rows) = (model.n_bodies(), model.n_rows());
        let widest = model.rows.iter().map(|b| b.n_rows * 6 * b.bodies.len()).max().unwrap_or(0);
        let wrench = Wrench { force: zero(), torque: zero() };
        let twist = Twist { s_dot: zero(), omega: zero() };
        Tangents {
            t: Dual::default(),
            poses: equations.poses.iter().map(constant_pose).collect(),
            twists: vec![twist; n],
            signals: vec![Dual::default(); model.signals.n],
            work: model.work_over(),
            loads: [(); 3].map(|()| vec![wrench; n]),
            total: vec![wrench; n],
            accelerations: vec![twist; n],
            jac: vec![Dual::default(); widest],
            wanted: [(); LANES].map(|()| vec![0.0; rows]),
            lambda: [(); LANES].map(|()| vec![0.0; rows]),
            steps: [(); LANES].map(|()| vec![Twist::zero(); n]),
        }
    }
}

impl Tangents {
    pub(crate) fn at<'a>(&'a self, equations: &'a Equations<'_>) -> Instant<'a, Dual> {
        let Tangents { t, poses, twists, .. } = self;
        Instant { t: *t, poses, twists, coordinates: &equations.coordinates }
    }

    /// The change of multiplier `row` along direction `lane` of the last derivative.
    pub(crate) fn multiplier_slope(&self, lane: usize, row: usize) -> f64 {
        self.lambda[lane][row]
    }

    /// That of a joint coordinate's rate.
    pub(crate) fn joint_velocity_slope(
        &self,
        equations: &Equations<'_>,
        joint: JointId,
        which: usize,
    ) -> f64 {
        equations.model.joint_velocity(joint, which, &self.at(equations)).d[0]
    }

    /// That of corner `k` of the signals.
    pub(crate) fn kink_slope(&mut self, equations: &Equations<'_>, k: usize) -> f64 {
        let model = equations.model;
        let mut kinks = vec![Dual::default(); model.signals.n_kinks()];
        let Tangents { t, poses, twists, work, .. } = self;
        let at = Instant { t: *t, poses, twists, coordinates: &equations.coordinates };
        model.signals.evaluate_kinks(model, &at, work, &mut kinks);
        kinks[k].d[0]
    }

    /// That of a servo's distance from its bound.
    pub(crate) fn clamp_slope(&self, equations: &Equations<'_>, i: usize) -> f64 {
        let model = equations.model;
        let context = ForceContext { model, at: self.at(equations), signals: &self.signals };
        match &model.forces[i].kind {
            ForceKind::Servo(servo) => servo.margin(&context).d[0],
            _ => 0.0,
        }
    }

    /// That of the first C of block `i`: J δq + C_t δt.
    pub(crate) fn error_slope(
        &self,
        equations: &mut Equations<'_>,
        lane_of: usize,
        i: usize,
    ) -> f64 {
        let t = self.t.v;
        let block = &equations.model.rows[i];
        let mut c_t = [0.0; MAX_ROWS];
        let at = instant(t, &equations.poses, &equations.twists, &equations.coordinates);
        block.time_rate(&at, &mut equations.work, &mut c_t[..block.n_rows]);
        let mut moves = vec![Twist::zero(); equations.poses.len()];
        for (place, d) in equations.layout.places.iter().zip(&equations.layout.squares) {
            let (i, rot) = (place.body, &equations.poses[place.body].rot);
            moves[i].s_dot = lane(&self.poses[i].s, lane_of);
            if place.rigid {
                let change = self.poses[i].rot.map(|x| x.d[lane_of]);
                moves[i].omega = rot * crate::layout::rates(rot, &change, d);
            }
        }
        let mut slope = [0.0; MAX_ROWS];
        equations.rows.rate(i, &moves, &mut slope[..block.n_rows]);
        slope[0] + c_t[0] * self.t.d[lane_of]
    }
}

pub(crate) fn zero() -> Vector3<Dual> {
    Vector3::repeat(Dual::default())
}

fn constant_pose(pose: &Pose) -> Pose<Dual> {
    Pose { s: pose.s.map(Dual::from), rot: pose.rot.map(Dual::from) }
}

/// Lane `k` of a vector.
fn lane(v: &Vector3<Dual>, k: usize) -> nalgebra::Vector3<f64> {
    v.map(|x| x.d[k])
}

impl Equations<'_> {
    /// The derivatives of ẏ along up to [`LANES`] directions; [`Equations::rates`] must have been called at (t, y) last. Each of `out` is
    /// as long as ẏ, or without the books. (2n or [`Equations::dim`])
    pub fn rates_along(
        &mut self,
        tangents: &mut Tangents,
        t: f64,
        y: &[f64],
        directions: &[Direction<'_>],
        out: &mut [&mut [f64]],
    ) {
        self.rates_along_varied(tangents, t, y, directions, out, None);
    }

    /// The same where also the numbers of the model change: lane k of the variation with direction k.
    pub fn rates_along_varied(
        &mut self,
        tangents: &mut Tangents,
        t: f64,
        y: &[f64],
        directions: &[Direction<'_>],
        out: &mut [&mut [f64]],
        variation: Option<&Variation>,
    ) {
        let lanes = directions.len().min(LANES);
        if let Some(variation) = variation {
            tangents.fit(self.model, variation);
        }
        self.lift(tangents, t, y, directions, variation);
        self.dual_loads(tangents, variation);
        self.dual_rows(tangents, variation);
        self.dual_accelerations(tangents, variation);
        let axes = self.held_axes();
        let from = vec![0.0; axes.len()];
        let Tangents { accelerations, wanted, lambda, steps, .. } = tangents;
        for k in 0..lanes {
            for (step, a) in steps[k].iter_mut().zip(accelerations.iter()) {
                *step = Twist { s_dot: lane(&a.s_dot, k), omega: lane(&a.omega, k) };
            }
            lambda[k].fill(0.0);
            let (step, lambda) = (&mut steps[k], &mut lambda[k]);
            self.solver.solve_held(&self.rows, &axes, &from, &wanted[k], step, lambda);
        }
        let n = self.layout.n;
        for (k, (direction, out)) in directions.iter().zip(out.iter_mut()).enumerate() {
            match direction.y.get(n..2 * n) {
                Some(velocities) => out[..n].copy_from_slice(velocities),
                None => out[..n].fill(0.0),
            }
            self.write_lane(tangents, k, &mut out[n..2 * n]);
            if self.books && out.len() >= 2 * n + 2 {
                let powers = self.powers_along(tangents, k, variation);
                out[2 * n..2 * n + 2].copy_from_slice(&powers);
            }
        }
    }

    /// Time, poses, twists and inputs with their derivatives.
    pub(crate) fn lift(
        &self,
        tangents: &mut Tangents,
        t: f64,
        y: &[f64],
        directions: &[Direction<'_>],
        variation: Option<&Variation>,
    ) {
        let n = self.layout.n;
        for (i, _) in self.fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
            // A fixed body may stand elsewhere with another parameter.
            tangents.poses[i] = match variation {
                Some(variation) => variation.poses[i],
                None => constant_pose(&self.poses[i]),
            };
        }
        tangents.t = Dual::from(t);
        for (slot, held) in tangents.work.held.iter_mut().zip(&self.work.held) {
            *slot = Dual::from(*held);
        }
        for (k, direction) in directions.iter().take(LANES).enumerate() {
            tangents.t.d[k] = direction.t;
            for (slot, change) in tangents.work.held.iter_mut().zip(direction.inputs) {
                slot.d[k] = *change;
            }
        }
        let dual = |i: usize| {
            let mut x = Dual::from(y[i]);
            for (k, direction) in directions.iter().take(LANES).enumerate() {
                x.d[k] = direction.y.get(i).copied().unwrap_or(0.0);
            }
            x
        };
        let vector = |i: usize| Vector3::new(dual(i), dual(i + 1), dual(i + 2));
        let matrix = |i: usize| Matrix3::from_columns(&[vector(i), vector(i + 3), vector(i + 6)]);
        for (place, d) in self.layout.places.iter().zip(&self.layout.squares) {
            let (pose, twist) = (&mut tangents.poses[place.body], &mut tangents.twists[place.body]);
            pose.s = vector(place.first);
            twist.s_dot = vector(n + place.first);
            if place.rigid {
                pose.rot = matrix(place.first + 3);
                let rate = matrix(n + place.first + 3);
                twist.omega = pose.rot * crate::layout::rates(&pose.rot, &rate, d);
            }
        }
    }

    fn dual_loads(&self, tangents: &mut Tangents, variation: Option<&Variation>) {
        let none = Wrench { force: zero(), torque: zero() };
        for loads in &mut tangents.loads {
            loads.fill(none);
        }
        match variation {
            Some(variation) => self.varied_loads(tangents, variation),
            None => self.plain_loads(tangents),
        }
        let Tangents { loads, total, .. } = tangents;
        for (i, total) in total.iter_mut().enumerate() {
            let [a, b, c] = &*loads;
            total.force = a[i].force + b[i].force + c[i].force;
            total.torque = a[i].torque + b[i].torque + c[i].torque;
        }
    }

    /// Loads of the model as it is, by ledger line.
    fn plain_loads(&self, tangents: &mut Tangents) {
        let model = self.model;
        let Tangents { t, poses, twists, signals, work, loads, .. } = tangents;
        let at = Instant { t: *t, poses, twists, coordinates: &self.coordinates };
        if !model.forces.is_empty() {
            match &self.guide {
                Some(guide) => model.signals.evaluate_dual_beside(model, &at, guide, work, signals),
                None => model.signals.evaluate(model, &at, work, signals),
            }
        }
        let context = ForceContext { model, at, signals };
        for force in model.forces.iter().filter(|f| f.kind.is_active(&self.active)) {
            let account = match force.kind.law().account() {
                Account::Potential => 0,
                Account::Work => 1,
                Account::Dissipation => 2,
            };
            force.kind.load().add_wrench(&context, &mut loads[account]);
        }
        for (block, mode) in model.rows.iter().zip(&self.mode) {
            if let (RowKind::Friction(friction), Mode::Slips(sign)) = (&block.kind, mode) {
                let axis = JointAxis { joint: friction.joint, which: friction.which };
                axis.add_force(&context, Dual::from(-sign * friction.force), &mut loads[2]);
            }
        }
    }

    /// J of block `i` into the memory for it, its γ and ∂C/∂t.
    fn dual_row(
        &self,
        tangents: &mut Tangents,
        variation: Option<&Variation>,
        i: usize,
    ) -> ([Dual; MAX_ROWS], [Dual; MAX_ROWS]) {
        let (mut gamma, mut c_t) = ([Dual::default(); MAX_ROWS], [Dual::default(); MAX_ROWS]);
        let model = self.model;
        if let Some(variation) = variation
            && variation.changes(model, i)
        {
            self.varied_row(tangents, variation, i, &mut gamma, &mut c_t);
            return (gamma, c_t);
        }
        let block = &model.rows[i];
        let Tangents { t, poses, twists, work, jac, .. } = tangents;
        let at = Instant { t: *t, poses, twists, coordinates: &self.coordinates };
        block.jacobian(model, &at, work, &mut jac[..block.n_rows * 6 * block.bodies.len()]);
        block.gamma(model, &at, work, &mut gamma[..block.n_rows]);
        block.time_rate(&at, work, &mut c_t[..block.n_rows]);
        (gamma, c_t)
    }

    /// Adds Jᵀ λ, λ held, to the loads, and finds δγ − δJ a.
    fn dual_rows(&self, tangents: &mut Tangents, variation: Option<&Variation>) {
        for (i, block) in self.model.rows.iter().enumerate() {
            let rows = self.rows_of(i);
            if self.rows.out[i] {
                for wanted in &mut tangents.wanted {
                    wanted[rows.clone()].fill(0.0);
                }
                continue;
            }
            let width = 6 * block.bodies.len();
            let (gamma, _) = self.dual_row(tangents, variation, i);
            let Tangents { total, jac, wanted, .. } = tangents;
            for (r, row) in rows.zip(0..) {
                let lambda = Dual::from(self.lambda[r]);
                let mut bend = gamma[row].d;
                for (entries, body) in jac[row * width..][..width].chunks(6).zip(&block.bodies) {
                    let i = body.index();
                    let [x, y, z, u, v, w] = [0, 1, 2, 3, 4, 5].map(|e| entries[e]);
                    total[i].force += Vector3::new(x, y, z) * lambda;
                    total[i].torque += Vector3::new(u, v, w) * lambda;
                    for (k, bend) in bend.iter_mut().enumerate() {
                        let slopes = [0, 1, 2, 3, 4, 5].map(|e: usize| entries[e].d[k]);
                        *bend -= dot(&slopes, &self.accelerations[i]);
                    }
                }
                for (wanted, bend) in wanted.iter_mut().zip(bend) {
                    wanted[r] = bend;
                }
            }
        }
    }

    /// v̇ = M⁻¹ (loads + Jᵀ λ), λ held; its values are the accelerations themselves.
    fn dual_accelerations(&self, tangents: &mut Tangents, variation: Option<&Variation>) {
        let Tangents { poses, twists, total, accelerations, .. } = tangents;
        for place in &self.layout.places {
            let i = place.body;
            let (body, rot) = (&self.model.bodies[i], &poses[i].rot);
            let acceleration = &mut accelerations[i];
            if let Some(variation) = variation {
                let body = &variation.bodies[i];
                acceleration.s_dot = variation.gravity + total[i].force * body.mass_inv;
                if place.rigid {
                    let back = rot.transpose();
                    let omega = back * twists[i].omega;
                    let spin = back * total[i].torque - omega.cross(&(body.inertia * omega));
                    acceleration.omega = rot * (body.inertia_inv * spin);
                }
                continue;
            }
            let gravity = self.model.gravity.map(Dual::from);
            acceleration.s_dot = gravity + total[i].force * Dual::from(body.mass_inv);
            if place.rigid {
                let back = rot.transpose();
                let (inertia, inverse) =
                    (body.inertia.map(Dual::from), body.inertia_inv.map(Dual::from));
                let omega = back * twists[i].omega;
                let spin = back * total[i].torque - omega.cross(&inertia.component_mul(&omega));
                acceleration.omega = rot * inverse.component_mul(&spin);
            }
        }
        // Spins that joints hold have no inertia: they turn with their axes.
        for (spin, rate) in self.held_accelerations() {
            let n = poses[spin.body].rot.column(spin.axis) * Dual::from(rate);
            accelerations[spin.body].omega += n;
        }
    }

    /// Lane `k` of v̇ in natural coordinates.
    fn write_lane(&self, tangents: &Tangents, k: usize, out: &mut [f64]) {
        for place in &self.layout.places {
            let i = place.body;
            let step = &tangents.steps[k][i];
            out[place.first..place.first + 3].copy_from_slice(step.s_dot.as_slice());
            if place.rigid {
                // R̈ = (ω̇× + ω×ω×) R.
                let (rot, omega) = (&self.poses[i].rot, self.twists[i].omega.cross_matrix());
                let turn = tangents.poses[i].rot.map(|x| x.d[k]);
                let rate = lane(&tangents.twists[i].omega, k).cross_matrix();
                let bend = self.accelerations[i].omega.cross_matrix() + omega * omega;
                let change = step.omega.cross_matrix() + rate * omega + omega * rate;
                let matrix = change * rot + bend * turn;
                out[place.first + 3..place.first + 12].copy_from_slice(matrix.as_slice());
            }
        }
    }

    /// Lane `k` of the powers of drives and of dampers.
    fn powers_along(
        &self,
        tangents: &mut Tangents,
        k: usize,
        variation: Option<&Variation>,
    ) -> [f64; 2] {
        let Tangents { poses, twists, loads, .. } = tangents;
        let power = |loads: &[Wrench<Dual>]| {
            let mut sum = Dual::default();
            for place in &self.layout.places {
                let i = place.body;
                sum += loads[i].force.dot(&twists[i].s_dot);
                if place.rigid {
                    let back = poses[i].rot.transpose();
                    let (torque, omega) = (back * loads[i].torque, back * twists[i].omega);
                    for axis in 0..3 {
                        if self.model.bodies[i].inertia_inv[axis] != 0.0 {
                            sum += torque[axis] * omega[axis];
                        }
                    }
                }
            }
            sum.d[k]
        };
        let (mut done, lost) = (power(&loads[1]), power(&loads[2]));
        for (i, block) in self.model.rows.iter().enumerate() {
            if self.rows.out[i] || matches!(block.kind, RowKind::Joint(_)) {
                continue;
            }
            let (_, c_t) = self.dual_row(tangents, variation, i);
            let r = block.first_row;
            done -= tangents.lambda[k][r] * c_t[0].v + self.lambda[r] * c_t[0].d[k];
        }
        [done, -lost]
    }

    /// ∂f/∂y, row-major; [`Equations::rates`] must have been called at (t, y) last. (dim × dim)
    pub fn jacobian(&mut self, tangents: &mut Tangents, t: f64, y: &[f64], jac: &mut [f64]) {
        let (n, dim) = (2 * self.layout.n, self.dim());
        let mut units = vec![0.0; LANES * n];
        let mut columns = vec![0.0; LANES * dim];
        jac.fill(0.0);
        for first in (0..n).step_by(LANES) {
            let lanes = LANES.min(n - first);
            units.fill(0.0);
            for k in 0..lanes {
                units[k * n + first + k] = 1.0;
            }
            let directions: Vec<Direction<'_>> =
                units.chunks(n).take(lanes).map(Direction::of_state).collect();
            let mut out: Vec<&mut [f64]> = columns.chunks_mut(dim).take(lanes).collect();
            self.rates_along(tangents, t, y, &directions, &mut out);
            for (k, column) in out.iter().enumerate() {
                for (i, value) in column.iter().enumerate() {
                    jac[i * dim + first + k] = *value;
                }
            }
        }
    }
}
