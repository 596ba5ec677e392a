//! One time step.

use gelenk_model::joint::{JointKind, MAX_COORDINATES};
use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::rows::Instant;
use gelenk_model::state::{Pose, State, Twist, Wrench};
use gelenk_model::{Model, rows::unwrap_angle};

use crate::compose::Order;
use crate::error::StepError;
use crate::flight;
use crate::graph::{Graph, settle_kick};
use crate::kick::{book, evaluate_loads, evaluate_signals, kick};
use crate::method::Method;
use crate::rows::{At, Look, Rows};
use crate::scratch::{Bodies, Scratch, larger, largest_speed, position_floor, velocity_floor};
use crate::solver::{sweep_positions, sweep_velocities};

/// What a step took and did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Corrections of positions (single joints, or solves of all joints by a direct solver).
    pub corrections: u64,
    /// Corrections of velocities.
    pub velocity_corrections: u64,
    /// Work done by drives, applied forces and prescribed motions, J.
    pub work: f64,
    /// Energy taken by dampers and friction, J.
    pub dissipation: f64,
    /// Energy lost in impacts: ropes that become taut, bodies that run into end stops, J.
    pub impact_loss: f64,
    /// Kinetic energy that the velocity correction took away, ½ pᵀ K p, J; for gentle steps, 0 where rows have bounds or move.
    pub kick: f64,
    /// Energy that dampers give where stages begin, J: there their forces are those of the velocities before, and one that would stop its bodies within a
    /// quarter of a stage throws them back faster than they came.
    pub thrown: f64,
}

/// Advances `state` by `h` seconds (h < 0 goes back). On an error the state is as before.
///
/// End stops hold what rests at them; a step that runs into one goes past it, and
/// [`Simulation`](crate::Simulation) is what cuts steps there.
///
/// A stage of length h is the RATTLE scheme with exact free flight: symmetric, of second order, with joints closed to
/// the tolerance at its end. Orders 4, 6 and 8 compose stages ([`Order`](crate::Order)).
pub fn step(
    model: &Model,
    method: &Method,
    state: &mut State,
    scratch: &mut Scratch,
    h: f64,
) -> Result<StepReport, StepError> {
    let t_next = state.t + h;
    step_to(model, method, state, scratch, h, t_next, h)
}

/// [`step`], with the time at its end given to the last bit, as a part of a whole step `h_whole`: impulses of the state
/// are for that one, and gaps are to vanish after it ([`Rows::set_target`]).
pub(crate) fn step_to(
    model: &Model,
    method: &Method,
    state: &mut State,
    scratch: &mut Scratch,
    h: f64,
    t_next: f64,
    h_whole: f64,
) -> Result<StepReport, StepError> {
    scratch.saved.clone_from(state);
    scratch.joint_impulses.fill(Wrench::zero());
    scratch.energies = None;
    let mut prepared = scratch.rows.any_bounded;
    if prepared {
        prepare(model, state, scratch);
    }
    scratch.set_modes(model, state, method);
    prepared &= scratch.rows.ready;
    scratch.rows.begin_contacts(&scratch.bodies.poses);
    let stages = method.order.stages();
    let mut report = StepReport::default();
    let t = state.t;
    let keep = (1.0 - h / h_whole).max(0.0);
    let (mut done, mut h_open) = (0.0, 0.0);
    if !scratch.corrects_velocities(method, true) {
        h_open = h * stages[0];
    }
    for (i, gamma) in stages.iter().enumerate() {
        done += gamma;
        let last = i + 1 == stages.len();
        let end = if last { t_next } else { t + done * h };
        let stage = Stage { h: gamma * h, h_open, h_whole, t_next: end, keep, last, prepared };
        prepared = false;
        if let Err(error) = stage.make(model, method, state, scratch, &mut report) {
            state.clone_from(&scratch.saved);
            return Err(scratch.rows.name_contact(error));
        }
        h_open = if scratch.corrects_velocities(method, last) { 0.0 } else { gamma * h };
    }
    if scratch.rows.any_bounded {
        if !scratch.rows.friction_kept(model, &scratch.bodies, h) {
            state.clone_from(&scratch.saved);
            return Err(StepError::Friction { t: t_next });
        }
        scratch.rows.follow_held(model, state);
        scratch.rows.write_memory(&mut state.contacts);
    }
    Ok(report)
}

/// One stage of a step.
struct Stage {
    h: f64,
    /// Length of the stage before if its velocities were left uncorrected; this one makes up for it.
    h_open: f64,
    /// The whole step that this is part of.
    h_whole: f64,
    t_next: f64,
    keep: f64,
    last: bool,
    /// Whether all is prepared at its start.
    prepared: bool,
}

impl Stage {
    /// The page of the paper.
    fn make(
        &self,
        model: &Model,
        method: &Method,
        state: &mut State,
        scratch: &mut Scratch,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        if self.make_of_balls(model, method, state, scratch, report)? {
            return Ok(());
        }
        let (h, t_next) = (self.h, self.t_next);
        let solver = scratch.solver(method);

        if !self.prepared {
            prepare(model, state, scratch); // J, K = J M⁻¹ Jᵀ at t
        }
        half_kick(model, state, scratch, h)?; // v += h/2 M⁻¹ f(q, v, t)
        set_target(model, state, scratch, self.keep);
        // The impulse at an instant stands for the force over half the stages on both sides.
        let span = 0.5 * (h + self.h_open);
        scratch.rows.begin(&state.impulse, span / self.h_whole);
        scratch.rows.set_bounds(model, h, false);
        let look = Look { t: t_next, h, flight: method.flight, coordinates: &state.coordinate };
        report.corrections += solver.correct_positions(model, method, &look, scratch)?; // C(t+h) = 0
        scratch.rows.note_sliding(&mut scratch.bodies, &look);
        close_instant(model, scratch, h, false, report);

        fly(model, method, state, scratch, h, t_next)?; // s, R, v by free flight
        if scratch.bodies.read_state(state) {
            scratch.forget_poses();
        }
        follow_coordinates(model, &scratch.bodies.poses, &mut state.coordinate);
        prepare_read(model, state, scratch); // J, K at t+h

        // v += h/2 M⁻¹ f(q, v, t+h) with J v + C_t = 0
        let correct = scratch.corrects_velocities(method, self.last);
        end_kick(model, method, state, scratch, h, correct, report)?;
        close_instant(model, scratch, h, true, report);
        scratch.bodies.write_velocities(state);
        self.note_impulses(&scratch.rows, correct, &mut state.impulse);
        // What a short part leaves within tolerance is large beside its forces, and would be no guess.
        if correct && h.abs() > SHORT_PART * self.h_whole.abs() {
            scratch.rows.note_contact_impulses(0.5 * h / self.h_whole);
        }
        Ok(())
    }
}

impl Stage {
    /// The same page for mechanisms of ball joints on which nothing acts but gravity, four links at a time; false, and
    /// nothing done, where it is another one, or nearly singular.
    fn make_of_balls(
        &self,
        model: &Model,
        method: &Method,
        state: &mut State,
        scratch: &mut Scratch,
        report: &mut StepReport,
    ) -> Result<bool, StepError> {
        let swept = method.solver.sweep();
        if !model.forces.is_empty() || self.keep != 0.0 {
            return Ok(false);
        }
        let (h, t) = (self.h, self.t_next);
        let correct = scratch.corrects_velocities(method, self.last);
        let Scratch { balls: Some(balls), rows, joint_impulses, anderson, .. } = scratch else {
            return Ok(false);
        };
        if !balls.is_whole() {
            return Ok(false);
        }
        balls.read_state(state);
        if !(swept.is_some() || balls.factorize()) {
            return Ok(false);
        }
        let span = 0.5 * (h + self.h_open);
        let before = (&state.impulse[..], span / self.h_whole);
        let floor = position_floor(&state.s);
        let look = Look { t, h, flight: method.flight, coordinates: &[] };
        report.corrections += if let Some(sweep) = swept {
            let anderson = sweep.helper(anderson);
            sweep_positions(balls, method, &look, floor, rows, anderson)?
        } else {
            balls.correct_whole(method, &look, floor, before, rows)?
        }; // C(t+h) = 0
        balls.add_impulses(joint_impulses);
        balls.fly(method.flight, h, t, !correct, state)?; // s, R, v by free flight

        if correct {
            rows.velocity_impulse.fill(0.0);
        }
        if correct && (swept.is_some() || balls.factorize()) {
            let tolerance = method.velocity_tolerance.max(velocity_floor(&state.s_dot));
            let before = if method.gentle { balls.kinetic() } else { 0.0 };
            report.velocity_corrections += if let Some(sweep) = swept {
                sweep_velocities(balls, tolerance, t, rows, sweep.helper(anderson))?
            } else {
                balls.correct_velocities(tolerance, t, rows)?
            }; // J v = 0
            if method.gentle {
                report.kick = before - balls.kinetic();
            }
            balls.add_impulses(joint_impulses);
            balls.write_state(state);
        } else if correct {
            balls.write_state(state);
            prepare(model, state, scratch);
            let at = At::of(state);
            let solver = method.solver.solver();
            let before = scratch.bodies.kinetic();
            report.velocity_corrections +=
                solver.correct_velocities(model, method, &at, scratch)?;
            report.kick = before - scratch.bodies.kinetic();
            close_instant(model, scratch, h, true, report);
            scratch.bodies.write_velocities(state);
        }
        self.note_impulses(&scratch.rows, correct, &mut state.impulse);
        Ok(true)
    }
}

/// Impulses of parts shorter than this part of a step say nothing of the next ones, where bodies touch.
const SHORT_PART: f64 = 0.1;

/// Up to this part of their size may p and p_v differ, squared, to make a guess.
const CALM: f64 = 0.1;

impl Stage {
    /// Keeps the impulses as those of a whole step, to begin the next position correction with.
    ///
    /// The impulse at the start of a stage stands for the force λ over half the stages on both sides of it. A velocity
    /// correction stands for the later half of its stage and is nearer to what comes next: with λ changing evenly,
    /// ```text
    /// p = h/2 (λ(t) + h/3 λ̇),   p_v = h/2 (λ(t) + 2h/3 λ̇),   the next p = h/2 (λ(t) + 4h/3 λ̇)
    /// ```
    /// (3 p_v − 2 p would be right but for the errors within tolerance, which it makes five times larger.) Where p and p_v
    /// have little in common the step is too long for the motion, and the best guess is none: Newton then finds the solution
    /// nearest to free flight, not one nearest to noise.
    fn note_impulses(&self, rows: &Rows, corrected: bool, impulse: &mut [f64]) {
        if corrected && self.h_open == 0.0 && !rows.any_bounded {
            let pairs = || rows.impulse.iter().zip(&rows.velocity_impulse);
            let size: f64 = pairs().map(|(p, p_v)| p * p + p_v * p_v).sum();
            let change: f64 = pairs().map(|(p, p_v)| (p_v - p) * (p_v - p)).sum();
            if change > CALM * size {
                impulse.fill(0.0);
                return;
            }
        }
        let (found, span) = if corrected {
            (&rows.velocity_impulse, 0.5 * self.h)
        } else {
            (&rows.impulse, 0.5 * (self.h + self.h_open))
        };
        let part = span / self.h_whole;
        // Stages that run back and forth may leave a span near zero, which tells nothing about the force; nor do short parts between impacts.
        let least = if rows.contacts.is_empty() { 0.01 } else { 0.5 * SHORT_PART };
        if part.abs() > least {
            for (next, p) in impulse.iter_mut().zip(found) {
                *next = p / part;
            }
        }
    }
}

/// J v + C_t = 0, nothing else; end stops and friction take no part. Returns the largest change of a velocity, m/s or rad/s.
///
/// Impulses along the rows at time t change no later position: the position correction finds them anyway.
pub(crate) fn correct_velocities(
    model: &Model,
    method: &Method,
    state: &mut State,
    scratch: &mut Scratch,
) -> Result<f64, StepError> {
    prepare(model, state, scratch);
    scratch.set_modes(model, state, method);
    prepare(model, state, scratch);
    set_slack(model, method, state, scratch);
    scratch.rows.set_instant_bounds(|_| false);
    scratch.rows.velocity_impulse.fill(0.0);
    method.solver.solver().correct_velocities(model, method, &At::of(state), scratch)?;
    scratch.bodies.write_velocities(state);
    Ok(largest_change(&scratch.bodies.twists, &scratch.bodies.twists_before).0)
}

pub(crate) fn set_slack(model: &Model, method: &Method, state: &State, scratch: &mut Scratch) {
    let Scratch { bodies, rows, work, .. } = scratch;
    rows.set_slack(model, bodies, state.t, &state.coordinate, method.tolerance, work);
}

fn set_target(model: &Model, state: &State, scratch: &mut Scratch, keep: f64) {
    let Scratch { bodies, rows, work, .. } = scratch;
    rows.set_target(keep, model, bodies, state.t, &state.coordinate, &state.held, work);
}

/// Poses, velocities, J, M⁻¹ Jᵀ and K⁻¹ of the state, unless they are there from the end of the step before.
pub(crate) fn prepare(model: &Model, state: &State, scratch: &mut Scratch) {
    if scratch.bodies.read_state(state) {
        scratch.forget_poses();
    }
    prepare_read(model, state, scratch);
}

/// The same of a state that the bodies have read.
pub(crate) fn prepare_read(model: &Model, state: &State, scratch: &mut Scratch) {
    match &mut scratch.balls {
        Some(balls) => balls.prepare(state),
        None => scratch.prepare_rows(model, state.t, &state.coordinate),
    }
    let bodies = &mut scratch.bodies;
    bodies.twists_before.copy_from_slice(&bodies.twists);
}

/// v += h/2 M⁻¹ f(q, v, t).
fn half_kick(model: &Model, state: &State, scratch: &mut Scratch, h: f64) -> Result<(), StepError> {
    if model.forces.is_empty() {
        return Ok(());
    }
    let Scratch { bodies, loads, work, .. } = scratch;
    evaluate_loads(model, bodies, state, loads, work)?;
    kick(bodies, loads, 0.5 * h);
    Ok(())
}

/// Free flight over `h`: s(h) = s + ṡ h + g h²/2, ṡ(h) = ṡ + g h, R(h) = R(q) R, ω(h).
fn fly(
    model: &Model,
    method: &Method,
    state: &mut State,
    scratch: &mut Scratch,
    h: f64,
    t_next: f64,
) -> Result<(), StepError> {
    let bodies = &scratch.bodies;
    // High orders want the last digits of the series, which they go with.
    for i in 0..model.n_bodies() {
        if bodies.fixed[i] {
            continue;
        }
        let (twist, g) = (&bodies.twists[i], &bodies.gravity[i]);
        let s = state.s[i] + (twist.s_dot + g * (0.5 * h)) * h;
        let s_dot = twist.s_dot + g * h;
        let (turn, omega) = flight::fly_on(
            &bodies.spinner(i),
            &twist.omega,
            method.flight,
            h,
            bodies.known_turn(i).filter(|_| method.order == Order::Two),
        );
        let rot = flight::unit(&(turn * state.rot[i].into_inner()));
        // The sum is finite only where every number is.
        let sum = s + s_dot + omega;
        if !(sum.x + sum.y + sum.z + rot.w).is_finite() {
            check_turn(bodies, i, &twist.omega, method, h, t_next)?;
            return Err(StepError::NotFinite { body: i, t: t_next });
        }
        (state.s[i], state.s_dot[i], state.rot[i], state.omega[i]) = (s, s_dot, rot, omega);
    }
    state.t = t_next;
    Ok(())
}

/// Refuses a turn of body `i` that is not followed.
pub(crate) fn check_turn(
    bodies: &Bodies,
    i: usize,
    omega: &Vec3,
    method: &Method,
    h: f64,
    t: f64,
) -> Result<(), StepError> {
    match flight::turns_too_far(&bodies.spinner(i), omega, method.flight, h) {
        Some((turn, most)) if !bodies.fixed[i] => Err(StepError::Spin { body: i, turn, most, t }),
        _ => Ok(()),
    }
}

/// The half kick at the end of a stage and the velocity correction, together: they act at the same instant.
///
/// Where a law reads velocities, the velocities it reads are those after kick and correction, so that the step is its
/// own mirror image: v = v⁻ + h/2 M⁻¹ f(q, v, t+h) + M⁻¹ Jᵀ p with J v + C_t = 0, found by repetition (accelerated by
/// [`Anderson`](crate::solver::Anderson), so that dampers may be strong).
fn end_kick(
    model: &Model,
    method: &Method,
    state: &State,
    scratch: &mut Scratch,
    h: f64,
    correct: bool,
    report: &mut StepReport,
) -> Result<(), StepError> {
    /// Most repetitions.
    const MAX_ROUNDS: u32 = 100;
    /// Repetitions after which a change within the velocity tolerance is small enough.
    const FINE_ROUNDS: u32 = 20;
    let solver = scratch.solver(method);
    set_slack(model, method, state, scratch);
    scratch.rows.set_bounds(model, h, true);
    scratch.rows.velocity_impulse.fill(0.0);
    if !scratch.loads.velocity_dependent {
        let Scratch { rows, bodies, graph, .. } = &mut *scratch;
        rows.begin_velocities(held(graph.as_deref()), bodies);
        half_kick(model, state, scratch, h)?;
        if correct {
            let before = if method.gentle { scratch.bodies.kinetic() } else { 0.0 };
            report.velocity_corrections +=
                solver.correct_velocities(model, method, &At::of(state), scratch)?;
            if method.gentle && !scratch.rows.any_bounded && !scratch.rows.rheonomic {
                report.kick = before - scratch.bodies.kinetic();
            }
        }
        return Ok(());
    }
    scratch.rows.guess_velocities(held(scratch.graph.as_deref()));
    if let Some(solves) = settle_kick(model, method, state, scratch, h)? {
        report.velocity_corrections += solves;
        return Ok(());
    }
    scratch.bodies.twists.copy_from_slice(&scratch.bodies.twists_before);
    scratch.rows.velocity_impulse.fill(0.0);
    let Scratch { rows, bodies, graph, .. } = &mut *scratch;
    rows.begin_velocities(held(graph.as_deref()), bodies);
    // The start of the repetition: velocities corrected after a kick by the loads of the start of the stage.
    kick(&mut scratch.bodies, &scratch.loads, 0.5 * h);
    report.velocity_corrections +=
        solver.correct_velocities(model, method, &At::of(state), scratch)?;
    scratch.rounds.reset();
    let (mut change, mut body) = (0.0, 0);
    for round in 0..MAX_ROUNDS {
        let Scratch { bodies, loads, work, rows, .. } = scratch;
        flatten(&bodies.twists, &mut scratch.flat_twists);
        scratch.rounds.before(&scratch.flat_twists);
        scratch.previous_twists.copy_from_slice(&bodies.twists);
        evaluate_loads(model, bodies, state, loads, work)?;
        bodies.twists.copy_from_slice(&bodies.twists_before);
        kick(bodies, loads, 0.5 * h);
        if scratch.balls.is_some() {
            rows.velocity_impulse.fill(0.0);
        } else {
            for (i, block) in rows.blocks.iter().enumerate() {
                let p = &rows.velocity_impulse[block.first_row..][..block.n_rows];
                rows.apply(i, p, bodies);
            }
        }
        report.velocity_corrections +=
            solver.correct_velocities(model, method, &At::of(state), scratch)?;
        let twists = &mut scratch.bodies.twists;
        (change, body) = largest_change(twists, &scratch.previous_twists);
        let floor = velocity_floor_of(twists);
        // Far below the tolerance where that can be had; a solver that leaves errors within it may leave such changes.
        let part = if round < FINE_ROUNDS { 0.01 } else { 1.0 };
        if change <= floor.max(part * method.velocity_tolerance) {
            return Ok(());
        }
        if !change.is_finite() {
            break;
        }
        flatten(twists, &mut scratch.flat_twists);
        let delta = scratch.rounds.after(&scratch.flat_twists);
        for (twist, delta) in twists.iter_mut().zip(delta.chunks_exact(6)) {
            twist.s_dot += Vec3::new(delta[0], delta[1], delta[2]);
            twist.omega += Vec3::new(delta[3], delta[4], delta[5]);
        }
    }
    Err(StepError::Forces { body, change, rounds: MAX_ROUNDS, t: state.t })
}

/// The blocks of the model that the tree of the graph holds.
fn held(graph: Option<&Graph>) -> &[bool] {
    graph.map_or(&[], Graph::held)
}

/// Below this a change of these velocities is rounding.
pub(crate) fn velocity_floor_of(twists: &[Twist]) -> f64 {
    64.0 * f64::EPSILON * largest_speed(twists)
}

/// The velocities in one row of numbers. (6 n_bodies)
pub(crate) fn flatten(twists: &[Twist], flat: &mut [f64]) {
    for (twist, six) in twists.iter().zip(flat.chunks_exact_mut(6)) {
        six[..3].copy_from_slice(twist.s_dot.as_slice());
        six[3..].copy_from_slice(twist.omega.as_slice());
    }
}

pub(crate) fn largest_change(twists: &[Twist], previous: &[Twist]) -> (f64, usize) {
    let (mut largest, mut body) = (0.0, 0);
    for (i, (now, before)) in twists.iter().zip(previous).enumerate() {
        let (slide, turn) = (now.s_dot - before.s_dot, now.omega - before.omega);
        let sum = slide + turn;
        let change = if (sum.x + sum.y + sum.z).is_nan() {
            f64::NAN
        } else {
            larger(larger(0.0, &slide), &turn)
        };
        if change > largest || change.is_nan() {
            (largest, body) = (change, i);
        }
    }
    (largest, body)
}

/// Books the impulses of an instant: force elements, prescribed motions, joint reactions.
///
/// Friction takes energy. A row with ∂C/∂t ≠ 0 moves its bodies: the power of its impulses is λ J v = −λ C_t.
fn close_instant(model: &Model, scratch: &mut Scratch, h: f64, end: bool, report: &mut StepReport) {
    let Scratch { bodies, rows, loads, joint_impulses, .. } = scratch;
    let taken = report.dissipation;
    rows.exchanged += book(bodies, loads, 0.5 * h, report);
    if !end && h > 0.0 {
        report.thrown += (taken - report.dissipation).max(0.0);
    }
    if rows.any_bounded {
        report.dissipation += rows.friction_loss(bodies, end);
        let before = rows.pushed_out;
        report.impact_loss += rows.contact_loss(bodies, end);
        // What it takes to get out of an overlap comes from outside.
        report.work += rows.pushed_out - before;
        rows.taken_known = false;
    }
    let impulse = if end { &rows.velocity_impulse } else { &rows.impulse };
    if rows.rheonomic {
        report.work -= impulse.iter().zip(&rows.c_t).map(|(p, c_t)| p * c_t).sum::<f64>();
    }
    add_joint_impulses(model, bodies, rows, impulse, joint_impulses);
    rows.add_contact_impulses(end);
}

/// Adds, for each joint, impulse and angular impulse about its point on body b, with those of its stops, its friction and
/// its prescribed motion.
pub(crate) fn add_joint_impulses(
    model: &Model,
    bodies: &Bodies,
    rows: &Rows,
    impulse: &[f64],
    joint_impulses: &mut [Wrench],
) {
    for (block, row) in rows.blocks.iter().zip(&model.rows) {
        let Some(id) = row.acts_in(model) else { continue };
        let p = &impulse[block.first_row..][..block.n_rows];
        let sum = &mut joint_impulses[id.index()];
        let joint = &model.joints[id.index()];
        if let JointKind::Ball(_) = joint.kind {
            sum.force += Vec3::new(p[0], p[1], p[2]);
            continue;
        }
        let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
        for (k, p) in p.iter().enumerate() {
            let jac = &rows.jac[block.jac + 12 * k + 6..][..6];
            force += Vec3::new(jac[0], jac[1], jac[2]) * *p;
            torque += Vec3::new(jac[3], jac[4], jac[5]) * *p;
        }
        let [a, b] = joint.bodies.map(|b| &bodies.poses[b.index()]);
        let point = joint.kind.equations().force_point(a, b);
        sum.force += force;
        sum.torque += torque - (point - b.s).cross(&force);
    }
}

/// Joint coordinates of the state, counted on over full turns.
pub(crate) fn update_coordinates(model: &Model, state: &mut State) {
    let mut poses = vec![Pose::identity(); model.n_bodies()];
    state.write_poses(&mut poses);
    follow_coordinates(model, &poses, &mut state.coordinate);
}

/// The same at given poses.
fn follow_coordinates(model: &Model, poses: &[Pose], known: &mut [f64]) {
    use gelenk_model::joint::CoordinateKind;
    for joint in &model.joints {
        let near = joint.near(known);
        let equations = near.equations();
        let coordinates = equations.coordinates();
        if coordinates.is_empty() {
            continue;
        }
        let [a, b] = joint.bodies.map(|id| &poses[id.index()]);
        let mut q = [0.0; MAX_COORDINATES];
        equations.coordinate(a, b, &mut q);
        for (i, coordinate) in coordinates.iter().enumerate() {
            let slot = &mut known[joint.first_coordinate + i];
            *slot = match coordinate.kind {
                CoordinateKind::Angle => unwrap_angle(q[i], *slot),
                CoordinateKind::Length => q[i],
            };
        }
    }
}

/// Kinetic and potential energy, J.
pub(crate) fn energies(model: &Model, state: &State, scratch: &mut Scratch) -> (f64, f64) {
    if let Some(energies) = scratch.balls.as_ref().and_then(|balls| balls.energies(state)) {
        return energies;
    }
    if scratch.bodies.read_state(state) {
        scratch.forget_poses();
    }
    energies_read(model, state, scratch)
}

/// The same of a state that the bodies have read.
pub(crate) fn energies_read(model: &Model, state: &State, scratch: &mut Scratch) -> (f64, f64) {
    use gelenk_model::force::ForceContext;
    let Scratch { bodies, loads, work, .. } = scratch;
    let (mut kinetic, mut potential) = (0.0, 0.0);
    let n = bodies.fixed.len();
    // Of one length, so that no index needs a check.
    let (poses, mass, inertia) = (&bodies.poses[..n], &bodies.mass[..n], &bodies.inertia[..n]);
    let (gravity, s) = (&bodies.gravity[..n], &state.s[..n]);
    let (s_dot, omega) = (&state.s_dot[..n], &state.omega[..n]);
    for i in 0..n {
        if bodies.fixed[i] {
            continue;
        }
        let own = in_axes(&poses[i].rot, &omega[i]);
        let spin = inertia[i].component_mul(&own).dot(&own);
        kinetic += 0.5 * (mass[i] * s_dot[i].norm_squared() + spin);
        potential -= mass[i] * gravity[i].dot(&s[i]);
    }
    if !model.forces.is_empty() {
        let (poses, twists) = (&bodies.poses, &bodies.twists);
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        evaluate_signals(model, &at, loads, work);
        let context = ForceContext { model, at, signals: &loads.signals };
        let stores = loads.lines[0];
        for force in model.forces.iter().filter(|f| stores && f.kind.is_active(&state.active)) {
            potential += force.kind.law().potential_energy(&context);
        }
    }
    (kinetic, potential)
}

/// Rᵀ v.
#[inline]
fn in_axes(rot: &Mat3, v: &Vec3) -> Vec3 {
    let along = |[x, y, z]: [f64; 3]| x * v.x + y * v.y + z * v.z;
    let [x, y, z] = rot.data.0;
    Vec3::new(along(x), along(y), along(z))
}
