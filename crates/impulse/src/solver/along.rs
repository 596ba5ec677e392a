//! A loop that passes a singular position, moved along the curve of its positions.
//!
//! Its rows lose rank there, but the curve has a tangent τ everywhere, and impulses of the rows are those with τᵀ M Δv = 0. So the equations of a step need no rows:
//!
//! ```text
//! positions:   find s with  τ(t)ᵀ M (v⁺ − v) = 0,  v⁺ the velocities with which free flight takes the loop to p(s) at t+h
//! velocities:  v ← τ (τᵀ M v)/(τᵀ M τ)
//! ```
//! Where rows are regular this is the same step, so that energies behave as they do elsewhere.

use gelenk_model::math::{Mat3, Vec3};
use gelenk_model::{Model, Pose, Twist};
use gelenk_natural::{Beside, Branch, Layout, Slide};

use super::direct::{look_ahead, look_at_velocities, share_loads};
use super::{Direct, Solver, factorize};
use crate::error::StepError;
use crate::flight;
use crate::method::Method;
use crate::rows::{At, Look, Rows};
use crate::scratch::{Bodies, Scratch};

/// Rounds within which s must be found.
const MAX_ROUNDS: u64 = 30;

/// Rows beside those of a loop for which their dense matrix is made; where there are more, positions are told but not blown up.
const MOST_BESIDE: usize = 120;

/// What is left of the gaps of rows beside a loop, as a part of the tolerance.
const FINE: f64 = 1e-4;

/// A loop on its way through a singular position.
#[derive(Clone, Debug)]
pub struct Crossing {
    pub(crate) branch: Branch,
    layout: Layout,
    /// Whether the loop is moved along the curve; else the position is only told.
    moves: bool,
    /// Blocks that are not the loop's.
    beside: Vec<usize>,
    /// The last place on the curve, and the loop's coordinates it was sought for.
    known: Option<(Vec<f64>, Slide)>,
}

impl Crossing {
    pub(crate) fn new(model: &Model, branch: Branch, rows: &Rows) -> Self {
        let beside: Vec<usize> =
            (0..model.rows.len()).filter(|k| !branch.parts.blocks.contains(k)).collect();
        let n_beside: usize = beside.iter().map(|k| model.rows[*k].n_rows).sum();
        let moves = n_beside <= MOST_BESIDE && !rows.has_bounds() && rows.contacts.is_empty();
        Crossing { branch, layout: Layout::new(model), moves, beside, known: None }
    }

    /// Where the loop is on its curve at the poses of the bodies.
    fn slide(&mut self, model: &Model, poses: &[Pose]) -> Option<Slide> {
        let here = self.branch.coordinates(&self.layout, poses);
        if let Some((at, slide)) = &self.known
            && *at == here
        {
            return Some(slide.clone());
        }
        let slide = self.branch.slide(model, &self.layout, &here, poses)?;
        self.known = Some((here, slide.clone()));
        Some(slide)
    }

    /// Velocities with which free flight over `look.h` ends on the curve, in place of the loop's; the number of rounds.
    fn close(&mut self, model: &Model, look: &Look<'_>, bodies: &mut Bodies) -> Option<u64> {
        let h = look.h;
        let here = self.slide(model, &bodies.poses)?;
        let wanted = here.along(model, &bodies.poses, &bodies.twists);
        for &(body, _) in &here.poses {
            bodies.look_ahead_pose(body, look.flight, h);
        }
        let mut target = self.branch.coordinates(&self.layout, &bodies.ahead);
        let mut plus = bodies.twists.clone();
        let speed = |momentum: f64| momentum.abs() / here.mass.sqrt();
        // Of velocities, and of positions over the step.
        let size = target.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let rounding = 1e-15 * speed(wanted) + 1e-16 * bodies.total_mass.sqrt() * size / h.abs();
        // Way along the curve and residual of the round before.
        let (mut before, mut step) = (None::<f64>, 0.0);
        for round in 1..=MAX_ROUNDS {
            let there = self.branch.slide_near(model, &self.layout, &target, &bodies.poses)?;
            for (body, pose) in &there.poses {
                plus[*body] = velocity_to(bodies, look, *body, pose, &there.spare);
            }
            let rest = here.along(model, &bodies.poses, &plus) - wanted;
            let small = speed(rest);
            if !small.is_finite() {
                return None;
            }
            let stalls =
                before.is_some_and(|b| small >= 0.5 * speed(b)) && small < 100.0 * rounding;
            if small <= rounding || stalls {
                bodies.twists.copy_from_slice(&plus);
                bodies.forget_flights();
                return Some(round);
            }
            // The slope of free flight without turning; then the secant's, unless rounding makes it.
            let gain = here.along(model, &bodies.poses, &there.tau) / h;
            let secant = before.map_or(gain, |b| (rest - b) / step);
            let fits = (0.5..2.0).contains(&(secant / gain));
            step = -rest / if fits { secant } else { gain };
            before = Some(rest);
            for ((target, p), tau) in target.iter_mut().zip(&there.point.p).zip(&there.point.tau) {
                *target = p + tau * step;
            }
        }
        None
    }
}

impl Crossing {
    /// Impulses at time t with which the loop ends on its curve and the rows beside it close; the number of rounds.
    fn close_all(
        &mut self,
        model: &Model,
        method: &Method,
        look: &Look<'_>,
        scratch: &mut Scratch,
    ) -> Option<u64> {
        let mut rounds = self.close(model, look, &mut scratch.bodies)?;
        if self.beside.is_empty() {
            return Some(rounds);
        }
        let slide = self.slide(model, &scratch.bodies.poses)?;
        let beside = Beside::new(&slide, &scratch.rows, &self.beside);
        let floor = scratch.bodies.position_floor();
        // Velocities that the loop flies with, and those along τ that it has them from.
        let mut base = scratch.bodies.twists.clone();
        let mut before = f64::INFINITY;
        for _ in 0..MAX_ROUNDS {
            let _ = look_ahead(model, method, look, floor, scratch);
            let Scratch { rows, bodies, .. } = scratch;
            let gaps = self.beside.iter().map(|k| {
                let allowed = rows.blocks[*k].tolerance.unwrap_or(method.tolerance).max(floor);
                rows.gap[*k] / allowed
            });
            let worst = gaps.fold(0.0, f64::max);
            if worst <= FINE || worst < 1.0 && worst > 0.3 * before {
                return Some(rounds);
            }
            if !worst.is_finite() || worst > 100.0 * before {
                return None;
            }
            before = worst;
            let missing: Vec<f64> = (beside.rows.iter())
                .map(|&(block, i)| rows.error[rows.blocks[block].first_row + i])
                .collect();
            let mut answer = vec![Twist::zero(); base.len()];
            beside.solve(&slide, rows, &missing, &mut answer)?;
            for (i, (base, answer)) in base.iter_mut().zip(&answer).enumerate() {
                base.s_dot += answer.s_dot;
                base.omega += answer.omega;
                bodies.twists[i] = *base;
            }
            bodies.forget_flights();
            rounds += self.close(model, look, bodies)?;
        }
        None
    }
}

/// The velocity with which free flight takes a body to a pose; coordinates of a point mass that are `spare` keep theirs.
fn velocity_to(
    bodies: &Bodies,
    look: &Look<'_>,
    body: usize,
    pose: &Pose,
    spare: &[(usize, usize)],
) -> Twist {
    let (from, own) = (&bodies.poses[body], &bodies.twists[body]);
    let mut twist = *own;
    twist.s_dot = (pose.s - from.s) / look.h - bodies.gravity[body] * (0.5 * look.h);
    for (_, axis) in spare.iter().filter(|(b, _)| *b == body) {
        twist.s_dot[*axis] = own.s_dot[*axis];
    }
    let mut before = f64::INFINITY;
    for _ in 0..MAX_ROUNDS {
        let turn = flight::turn(&bodies.spinner(body), &twist.omega, look.flight, look.h);
        let missing = turning(&(pose.rot * (flight::matrix(&turn) * from.rot).transpose()));
        let size = missing.norm();
        // Below this it is rounding.
        if size <= 1e-16 || size < 1e-14 && size >= 0.5 * before {
            break;
        }
        before = size;
        twist.omega += missing / look.h;
    }
    twist
}

/// The vector of the skew part of a matrix: of a small turn, its angle about its axis.
fn turning(a: &Mat3) -> Vec3 {
    Vec3::new(a[(2, 1)] - a[(1, 2)], a[(0, 2)] - a[(2, 0)], a[(1, 0)] - a[(0, 1)]) * 0.5
}

/// Moves a loop along the curve of its positions; [`Direct`] where there is none.
#[derive(Clone, Copy, Debug)]
pub struct Along;

impl Solver for Along {
    fn correct_positions(
        &self,
        model: &Model,
        method: &Method,
        look: &Look<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        let Some(mut crossing) = scratch.crossing.take() else {
            return Direct.correct_positions(model, method, look, scratch);
        };
        scratch.prepare_rows(model, look.t - look.h, look.coordinates);
        scratch.rows.respond_all(&scratch.bodies);
        let begun = scratch.bodies.twists.clone();
        let rounds = crossing.close_all(model, method, look, scratch);
        let floor = scratch.bodies.position_floor();
        let worst = look_ahead(model, method, look, floor, scratch);
        let lost = |scratch: &Scratch| StepError::Positions {
            block: worst.block,
            gap: scratch.rows.gap[worst.block],
            sweeps: rounds.unwrap_or(MAX_ROUNDS),
            t: look.t,
        };
        let found = match rounds {
            Some(rounds) if worst.ratio <= 1.0 => Ok(rounds),
            _ => Err(lost(scratch)),
        };
        scratch.crossing = Some(crossing);
        tell_impulses(scratch, &begun, false);
        found
    }

    fn correct_velocities(
        &self,
        model: &Model,
        method: &Method,
        at: &At<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        let Some(mut crossing) = scratch.crossing.take() else {
            return Direct.correct_velocities(model, method, at, scratch);
        };
        scratch.prepare_rows(model, at.t, at.coordinates);
        scratch.rows.respond_all(&scratch.bodies);
        let begun = scratch.bodies.twists.clone();
        let bodies = &mut scratch.bodies;
        let slide = crossing.slide(model, &bodies.poses);
        if let Some(slide) = &slide {
            let rate = slide.along(model, &bodies.poses, &bodies.twists) / slide.mass;
            slide.put(rate, 0.0, &mut bodies.twists);
            if !crossing.beside.is_empty() {
                let rows = &scratch.rows;
                let beside = Beside::new(slide, rows, &crossing.beside);
                let rate =
                    |&(block, i): &(usize, usize)| -rows.c_t[rows.blocks[block].first_row + i];
                let wanted: Vec<f64> = beside.rows.iter().map(rate).collect();
                // Where there is none, the errors looked at below tell.
                let _ = beside.solve(slide, rows, &wanted, &mut bodies.twists);
            }
            bodies.forget_flights();
        }
        scratch.crossing = Some(crossing);
        let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
        let worst = look_at_velocities(tolerance, scratch);
        if slide.is_none() || worst.ratio > 1.0 || worst.ratio.is_nan() {
            let error = scratch.rows.velocity_error[worst.block];
            return Err(StepError::Velocities { block: worst.block, error, sweeps: 1, t: at.t });
        }
        tell_impulses(scratch, &begun, true);
        Ok(1)
    }
}

/// Impulses of the rows that explain the change of velocities, K p = J Δv, shared; in the position itself some forces are the limit of none, and what is lost in
/// rounding is not told.
fn tell_impulses(scratch: &mut Scratch, begun: &[Twist], velocity: bool) {
    let Scratch { rows, bodies, direct, .. } = scratch;
    let change: Vec<Twist> = (bodies.twists.iter().zip(begun))
        .map(|(a, b)| Twist { s_dot: a.s_dot - b.s_dot, omega: a.omega - b.omega })
        .collect();
    let mut error = std::mem::take(&mut rows.error);
    rows.rates(&change, &mut error);
    factorize(rows, bodies, direct).solve(&error, &mut rows.solution);
    rows.error = error;
    let found = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
    for (sum, p) in found.iter_mut().zip(&rows.solution) {
        *sum += p;
    }
    share_loads(scratch, velocity);
}

impl Scratch {
    /// The solver of a step: the method's, or along the curve of a singular position.
    pub(crate) fn solver(&self, method: &Method) -> &'static dyn Solver {
        match &self.crossing {
            Some(crossing) if crossing.moves => &Along,
            _ => method.solver.solver(),
        }
    }
}
