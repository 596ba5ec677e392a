//! Loads, rows and conditions of a model whose numbers change with parameters.
//!
//! What sits elsewhere on a body sees the body displaced by Λ = R d: with its J′ and γ′ on v′ = [ṡ + ω×Λ, ω],
//! ```text
//! J_s = J′_s,   J_ω = J′_ω + Λ × J′_s,   γ = γ′ − J′_s·(ω × (ω × Λ)),   τ = τ′ + Λ × F′.
//! ```

use std::f64::consts::TAU;

use gelenk_expr::{Dual, LANES};
use gelenk_model::force::{Account, ForceContext, ForceKind, JointAxis};
use gelenk_model::joint::{JointId, JointKind, MAX_ROWS, Screw};
use gelenk_model::rows::{Instant, RowKind};
use gelenk_model::signal::StateRef;
use gelenk_model::variation::{Shift, Variation, VariedInput, VariedRow, VariedSignals, displaced};
use gelenk_model::{BodyId, Model, Pose, Twist, Wrench};
use nalgebra::Vector3;

use crate::equations::{Equations, Mode, instant};
use crate::tangent::{Direction, Tangents, zero};

/// A row on two bodies and its γ, as the bodies are, from those of displaced ones.
fn shift_back(
    row: &mut [Dual],
    gamma: &mut Dual,
    shifts: &[(BodyId, Shift)],
    poses: &[Pose<Dual>],
    twists: &[Twist<Dual>],
) {
    for (entries, (body, shift)) in row.chunks_exact_mut(6).zip(shifts) {
        let i = body.index();
        let lever = poses[i].rot * shift.by;
        let along = Vector3::new(entries[0], entries[1], entries[2]);
        let turn = lever.cross(&along);
        for axis in 0..3 {
            entries[3 + axis] += turn[axis];
        }
        let omega = twists[i].omega;
        *gamma -= along.dot(&omega.cross(&omega.cross(&lever)));
    }
}

/// W of a joint coordinate and −Ẇ v.
fn coordinate_row(
    model: &Model,
    variation: &Variation,
    (joint, which): (JointId, usize),
    t: Dual,
    poses: &mut [Pose<Dual>],
    twists: &mut [Twist<Dual>],
    coordinates: &[f64],
) -> ([Dual; 12], Dual) {
    let shifts = &variation.joints[joint.index()].shifts;
    let (mut row, mut gamma) = displaced(poses, twists, shifts, |poses, twists| {
        let at = Instant { t, poses, twists, coordinates };
        let row = model.joint_coordinate_row(joint, which, &at);
        (row, model.joint_coordinate_gamma(joint, which, &at))
    });
    shift_back(&mut row, &mut gamma, shifts, poses, twists);
    (row, gamma)
}

impl Tangents {
    /// Memory for a variation's tapes.
    pub(crate) fn fit(&mut self, model: &Model, variation: &Variation) {
        let wanted = variation.work(model);
        let grow = |list: &mut Vec<Dual>, n: usize| {
            if list.len() < n {
                list.resize(n, Dual::default());
            }
        };
        grow(&mut self.work.registers, wanted.registers.len());
        grow(&mut self.work.inputs, wanted.inputs.len());
        grow(&mut self.work.outputs, wanted.outputs.len());
        grow(&mut self.signals, model.signals.n + variation.signals.constants.len());
    }

    /// What the tapes of signals read.
    fn read_signals(&mut self, equations: &Equations<'_>, variation: &Variation) -> Vec<Dual> {
        let Tangents { t, poses, twists, work, .. } = self;
        let VariedSignals { inputs, parameters, .. } = &variation.signals;
        let mut values = Vec::with_capacity(inputs.len() + parameters.len());
        for input in inputs {
            values.push(match input {
                VariedInput::State(StateRef::Input(i)) => work.held[*i],
                other => variation.state(
                    equations.model,
                    other,
                    *t,
                    poses,
                    twists,
                    &equations.coordinates,
                ),
            });
        }
        values.extend_from_slice(parameters);
        values
    }

    /// The derivatives of corner `k` of the signals.
    pub(crate) fn varied_kink(
        &mut self,
        equations: &Equations<'_>,
        variation: &Variation,
        k: usize,
    ) -> Dual {
        let inputs = self.read_signals(equations, variation);
        let Some(tape) = &variation.signals.kinks else { return Dual::default() };
        let mut kinks = vec![Dual::default(); tape.n_outputs()];
        tape.eval_dual(&inputs, &mut vec![Dual::default(); tape.n_registers()], &mut kinks);
        kinks[k]
    }

    /// Those of a servo's distance from its bound.
    pub(crate) fn varied_clamp(
        &mut self,
        equations: &Equations<'_>,
        variation: &Variation,
        i: usize,
    ) -> Dual {
        let Tangents { t, poses, twists, signals, .. } = self;
        let force = &variation.forces[i];
        let ForceKind::Servo(servo) = &force.kind else { return Dual::default() };
        displaced(poses, twists, &force.shifts, |poses, twists| {
            let at = Instant { t: *t, poses, twists, coordinates: &equations.coordinates };
            servo.margin(&ForceContext { model: equations.model, at, signals })
        })
    }

    /// Those of a joint coordinate's rate.
    pub(crate) fn varied_rate(
        &mut self,
        equations: &Equations<'_>,
        variation: &Variation,
        joint: JointId,
        which: usize,
    ) -> Dual {
        let Tangents { t, poses, twists, .. } = self;
        let state = VariedInput::State(StateRef::CoordinateRate(joint, which));
        variation.state(equations.model, &state, *t, poses, twists, &equations.coordinates)
    }
}

impl Equations<'_> {
    /// Signals of a varied model.
    fn varied_signals(&self, tangents: &mut Tangents, variation: &Variation) {
        let n = self.model.signals.n;
        if let Some(tape) = &variation.signals.tape {
            let inputs = tangents.read_signals(self, variation);
            let registers = &mut tangents.work.registers[..tape.n_registers()];
            let signals = &mut tangents.signals[..n];
            match &self.guide {
                Some(guide) => {
                    let parameters = variation.signals.parameters.iter().map(|p| p.v);
                    let guide: Vec<f64> = guide.iter().copied().chain(parameters).collect();
                    let mut plain = vec![0.0; tape.n_registers()];
                    tape.eval_dual_beside(&guide, &inputs, &mut plain, registers, signals);
                }
                None => tape.eval_dual(&inputs, registers, signals),
            }
        }
        for (slot, value) in tangents.signals[n..].iter_mut().zip(&variation.signals.constants) {
            *slot = *value;
        }
    }

    /// Loads of a varied model, by ledger line.
    pub(crate) fn varied_loads(&self, tangents: &mut Tangents, variation: &Variation) {
        let model = self.model;
        if !model.forces.is_empty() {
            self.varied_signals(tangents, variation);
        }
        let Tangents { t, poses, twists, signals, loads, .. } = tangents;
        let mut add =
            |line: usize,
             shifts: &[(BodyId, Shift)],
             act: &dyn Fn(&ForceContext<'_, Dual>, &mut [Wrench<Dual>])| {
                let loads = &mut loads[line];
                let none = Wrench { force: zero(), torque: zero() };
                let before: Vec<Wrench<Dual>> = shifts
                    .iter()
                    .map(|(body, _)| std::mem::replace(&mut loads[body.index()], none))
                    .collect();
                displaced(poses, twists, shifts, |poses, twists| {
                    let at = Instant { t: *t, poses, twists, coordinates: &self.coordinates };
                    act(&ForceContext { model, at, signals }, loads);
                });
                for ((body, shift), before) in shifts.iter().zip(before) {
                    let i = body.index();
                    let lever = poses[i].rot * shift.by;
                    let force = loads[i].force;
                    loads[i].torque += lever.cross(&force) + before.torque;
                    loads[i].force += before.force;
                }
            };
        for (force, varied) in model.forces.iter().zip(&variation.forces) {
            if !force.kind.is_active(&self.active) {
                continue;
            }
            let line = match force.kind.law().account() {
                Account::Potential => 0,
                Account::Work => 1,
                Account::Dissipation => 2,
            };
            add(line, &varied.shifts, &|context, loads| {
                varied.kind.load().add_wrench(context, loads);
            });
        }
        for ((block, mode), varied) in model.rows.iter().zip(&self.mode).zip(&variation.rows) {
            if let (RowKind::Friction(friction), Mode::Slips(sign), VariedRow::Friction(force)) =
                (&block.kind, mode, varied)
            {
                let axis = JointAxis { joint: friction.joint, which: friction.which };
                let shifts = &variation.joints[friction.joint.index()].shifts;
                let force = *force * Dual::from(-sign);
                add(2, shifts, &|context, loads| axis.add_force(context, force, loads));
            }
        }
    }

    /// J of block `i` into the memory for it, its γ and ∂C/∂t.
    pub(crate) fn varied_row(
        &self,
        tangents: &mut Tangents,
        variation: &Variation,
        i: usize,
        gamma: &mut [Dual; MAX_ROWS],
        c_t: &mut [Dual; MAX_ROWS],
    ) {
        let model = self.model;
        let block = &model.rows[i];
        let width = 6 * block.bodies.len();
        let Tangents { t, poses, twists, work, jac, .. } = tangents;
        let (t, coordinates) = (*t, &self.coordinates[..]);
        let jac = &mut jac[..block.n_rows * width];
        c_t.fill(Dual::default());
        match (&block.kind, &variation.rows[i]) {
            (RowKind::Joint(id), _) => {
                let joint = &variation.joints[id.index()];
                displaced(poses, twists, &joint.shifts, |poses, twists| {
                    let at = Instant { t, poses, twists, coordinates };
                    block.jacobian(model, &at, work, jac);
                    block.gamma(model, &at, work, &mut gamma[..block.n_rows]);
                });
                for (row, gamma) in jac.chunks_mut(width).zip(gamma.iter_mut()) {
                    shift_back(row, gamma, &joint.shifts, poses, twists);
                }
                if let Some(pitch) = joint.pitch {
                    self.vary_pitch(*id, pitch, jac, gamma);
                }
            }
            (RowKind::Tie(tie), VariedRow::Tie { ratios, target }) => {
                let [_, rate, bend] = target.value(t);
                jac.fill(Dual::default());
                (gamma[0], c_t[0]) = (bend, -rate);
                for (&(id, which, _), ratio) in tie.terms.iter().zip(ratios) {
                    let at = (id, which);
                    let (row, own) =
                        coordinate_row(model, variation, at, t, poses, twists, coordinates);
                    gamma[0] += *ratio * own;
                    for (entries, body) in row.chunks(6).zip(model.joints[id.index()].bodies) {
                        let Some(slot) = block.bodies.iter().position(|b| *b == body) else {
                            continue;
                        };
                        for (sum, w) in jac[6 * slot..].iter_mut().zip(entries) {
                            *sum += *ratio * *w;
                        }
                    }
                }
            }
            (RowKind::Equation(_), VariedRow::Equation(equation)) => {
                let at = Instant { t, poses, twists, coordinates };
                equation.jacobian(&at, work, &block.bodies, jac);
                gamma[0] = equation.gamma(&at, work);
                c_t[0] = equation.time_rate(&at, work);
            }
            (RowKind::Stop(stop), _) => {
                let at = (stop.joint, stop.which);
                let (row, own) =
                    coordinate_row(model, variation, at, t, poses, twists, coordinates);
                let sign = Dual::from(stop.side.sign());
                gamma[0] = sign * own;
                jac.copy_from_slice(&row.map(|w| sign * w));
            }
            (RowKind::Friction(friction), _) => {
                let at = (friction.joint, friction.which);
                let (row, own) =
                    coordinate_row(model, variation, at, t, poses, twists, coordinates);
                gamma[0] = own;
                jac.copy_from_slice(&row);
            }
            (RowKind::Tie(_) | RowKind::Equation(_), _) => {
                let at = Instant { t, poses, twists, coordinates };
                block.jacobian(model, &at, work, jac);
                block.gamma(model, &at, work, &mut gamma[..block.n_rows]);
                block.time_rate(&at, work, &mut c_t[..block.n_rows]);
            }
        }
    }

    /// J and γ of a screw are linear in its pitch: what another pitch gives is their derivative.
    fn vary_pitch(&self, id: JointId, pitch: Dual, jac: &mut [Dual], gamma: &mut [Dual]) {
        let joint = &self.model.joints[id.index()];
        let near = joint.near(&self.coordinates);
        let [frame_a, frame_b] = joint.kind.frames();
        let Ok(other) = Screw::new(&frame_a, &frame_b, 2.0 * pitch.v) else { return };
        let other = JointKind::Screw(other.near(self.coordinates[joint.first_coordinate]));
        let [a, b] = joint.bodies.map(BodyId::index);
        let (pose_a, pose_b) = (&self.poses[a], &self.poses[b]);
        let (v_a, v_b) = (&self.twists[a], &self.twists[b]);
        let mut rows = [[[0.0; 12]; MAX_ROWS]; 2];
        let mut bends = [[0.0; MAX_ROWS]; 2];
        let list = [near.rows::<f64>(), other.rows::<f64>()];
        for ((kind, rows), bend) in list.into_iter().zip(&mut rows).zip(&mut bends) {
            kind.jacobian(pose_a, pose_b, rows);
            kind.gamma(pose_a, pose_b, v_a, v_b, bend);
        }
        let rate = pitch.d.map(|d| d / pitch.v);
        for row in 0..5 {
            for k in 0..LANES {
                for column in 0..12 {
                    let slope = rows[1][row][column] - rows[0][row][column];
                    jac[12 * row + column].d[k] += slope * rate[k];
                }
                gamma[row].d[k] += (bends[1][row] - bends[0][row]) * rate[k];
            }
        }
    }

    /// ∂C/∂(parameters) of block `i` with the state held. J must be there, and the tangents lifted with nothing but the variation.
    pub(crate) fn varied_error(
        &self,
        tangents: &mut Tangents,
        variation: &Variation,
        i: usize,
    ) -> [[f64; LANES]; MAX_ROWS] {
        let mut slopes = [[0.0; LANES]; MAX_ROWS];
        let model = self.model;
        let block = &model.rows[i];
        let Tangents { t, poses, twists, work, .. } = tangents;
        let (t, coordinates) = (*t, &self.coordinates[..]);
        let mut coordinate = |joint: JointId, which: usize| {
            let state = VariedInput::State(StateRef::Coordinate(joint, which));
            variation.state(model, &state, t, poses, twists, coordinates)
        };
        match (&block.kind, &variation.rows[i]) {
            (RowKind::Tie(tie), VariedRow::Tie { ratios, target }) => {
                let mut sum = -target.value(t)[0];
                for (&(joint, which, _), ratio) in tie.terms.iter().zip(ratios) {
                    sum += *ratio * coordinate(joint, which);
                }
                slopes[0] = sum.d;
            }
            (RowKind::Stop(stop), VariedRow::Stop(at)) => {
                let sign = Dual::from(stop.side.sign());
                slopes[0] = (sign * (coordinate(stop.joint, stop.which) - *at)).d;
            }
            (_, VariedRow::Equation(equation)) => {
                let at = Instant { t, poses, twists, coordinates };
                slopes[0] = equation.error(&at, work).d;
            }
            (RowKind::Joint(id), _) => {
                let joint = &variation.joints[id.index()];
                let seen = displaced(poses, twists, &joint.shifts, |poses, _| {
                    model.joints[id.index()].bodies.map(|body| poses[body.index()])
                });
                let jac = self.rows.jacobian(i);
                for (row, slopes) in jac.chunks(12).zip(&mut slopes) {
                    for (entries, pose) in row.chunks(6).zip(&seen) {
                        for k in 0..LANES {
                            let change = pose.rot.map(|x| x.d[k]);
                            let turn = change * pose.rot.map(|x| x.v).transpose();
                            let theta = [turn[(2, 1)], turn[(0, 2)], turn[(1, 0)]];
                            for axis in 0..3 {
                                slopes[k] += entries[axis] * pose.s[axis].d[k]
                                    + entries[3 + axis] * theta[axis];
                            }
                        }
                    }
                }
                if let Some(length) = joint.length {
                    for k in 0..LANES {
                        slopes[0][k] -= length.d[k];
                    }
                }
                if let Some(pitch) = joint.pitch {
                    let at = instant(t.v, &self.poses, &self.twists, &self.coordinates);
                    let angle = model.joint_coordinate(*id, 0, &at);
                    for k in 0..LANES {
                        slopes[4][k] -= angle * pitch.d[k] / TAU;
                    }
                }
            }
            _ => {}
        }
        slopes
    }

    /// The derivatives of p and v at the start by a parameter: those of the file's values, brought to the conditions as the values are.
    /// y: the start on the conditions. (2n each)
    pub(crate) fn start_along(
        &mut self,
        tangents: &mut Tangents,
        variation: &Variation,
        start: &gelenk_model::State,
        y: &[f64],
    ) -> Vec<Vec<f64>> {
        let t = start.t;
        let n = self.layout.n;
        // Impulses that make the file's velocities fit.
        self.read(t, y);
        start.write_twists(&mut self.twists);
        let impulses = self.fit_velocities(t);
        self.read(t, y);
        self.prepare(t);
        tangents.fit(self.model, variation);
        // Positions first; what the impulses do depends on them.
        let mut columns = vec![vec![0.0; 2 * n]; variation.lanes];
        for (k, column) in columns.iter_mut().enumerate() {
            for place in &self.layout.places {
                let pose = &variation.poses[place.body];
                let p = &mut column[place.first..][..place.len()];
                for (slot, x) in p.iter_mut().zip(pose.s.iter().chain(pose.rot.iter())) {
                    *slot = x.d[k];
                }
            }
        }
        let mut views: Vec<&mut [f64]> = columns.iter_mut().map(Vec::as_mut_slice).collect();
        self.project_varied(tangents, t, y, &mut views, Some(variation));
        for column in &mut columns {
            column[n..].fill(0.0);
        }
        let directions: Vec<Direction<'_>> =
            columns.iter().map(|c| Direction::of_state(c)).collect();
        self.lift(tangents, t, y, &directions, Some(variation));
        for total in &mut tangents.total {
            *total = Wrench { force: zero(), torque: zero() };
        }
        for (i, block) in self.model.rows.iter().enumerate() {
            if self.rows.out[i] {
                continue;
            }
            let (mut gamma, mut c_t) = ([Dual::default(); MAX_ROWS], [Dual::default(); MAX_ROWS]);
            self.varied_row(tangents, variation, i, &mut gamma, &mut c_t);
            let width = 6 * block.bodies.len();
            let Tangents { jac, total, .. } = tangents;
            for (row, r) in jac.chunks(width).take(block.n_rows).zip(self.rows_of(i)) {
                let impulse = Dual::from(impulses[r]);
                for (entries, body) in row.chunks(6).zip(&block.bodies) {
                    let total = &mut total[body.index()];
                    let [x, y, z, u, v, w] = [0, 1, 2, 3, 4, 5].map(|e| entries[e] * impulse);
                    total.force += Vector3::new(x, y, z);
                    total.torque += Vector3::new(u, v, w);
                }
            }
        }
        for place in &self.layout.places {
            let i = place.body;
            let (twist, body) = (&variation.twists[i], &variation.bodies[i]);
            let kick = &tangents.total[i];
            let s_dot = twist.s_dot + kick.force * body.mass_inv;
            let rot = tangents.poses[i].rot;
            let omega = twist.omega + rot * (body.inertia_inv * (rot.transpose() * kick.torque));
            for (k, column) in columns.iter_mut().enumerate() {
                let v = &mut column[n..];
                for axis in 0..3 {
                    v[place.first + axis] = s_dot[axis].d[k];
                }
                if place.rigid {
                    for c in 0..3 {
                        let axis: Vector3<Dual> = rot.column(c).into();
                        let rate = omega.cross(&axis);
                        for r in 0..3 {
                            v[place.first + 3 + 3 * c + r] = rate[r].d[k];
                        }
                    }
                }
            }
        }
        let mut views: Vec<&mut [f64]> = columns.iter_mut().map(Vec::as_mut_slice).collect();
        self.project_varied(tangents, t, y, &mut views, Some(variation));
        columns
    }
}
