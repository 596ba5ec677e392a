//! Rows with bounds, and joints that are not there, in the direct solver: Newton with an active set.
//!
//! A bounded row whose impulse is at a bound, and whose error only an impulse beyond it would take away, keeps its
//! impulse and is left out of K; all others are equations. Both are found anew before every solve, and impulses that leave
//! their bounds are cut. Where errors and bounds agree everywhere, the impulses are found.

use gelenk_model::Model;

use super::{Factor, law};
use crate::bounds::{Bound, SLIP_PART};
use crate::error::StepError;
use crate::method::Method;
use crate::rows::{At, Look, Rows};
use crate::scratch::{Bodies, Scratch};
use crate::small;
use crate::solver::{Iterative, Solver, norm, primal, tree};

/// Most solves; after that the sweep takes over.
const MOST_SOLVES: u64 = 100;

/// Most solves of one linear problem, in which rows take their sides.
const MOST_LINEAR_SOLVES: u64 = 30;

/// A worst error that grows to this times the first is lost.
const LOST: f64 = 100.0;

/// A guess that leaves rates of joints beyond this is none, m/s or rad/s.
const POOR_GUESS: f64 = 1.0;

/// [`Solver::correct_positions`] of models with bounds.
pub(super) fn correct_positions(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    scratch: &mut Scratch,
) -> Result<u64, StepError> {
    let Scratch { bodies, rows, .. } = scratch;
    rows.take_guess();
    let first = rows.first_apart();
    if let (Some(hinges), 1..) = (&mut rows.hinges, first) {
        hinges.apply(&rows.impulse, bodies);
    }
    for i in first..rows.blocks.len() {
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        rows.apply(i, &rows.impulse[row..row + n], bodies);
    }
    match settle_positions(model, method, look, scratch) {
        (solves, true) => Ok(solves),
        (solves, false) => {
            let sweeps = Iterative.correct_positions(model, method, look, scratch)?;
            Ok(solves + sweeps)
        }
    }
}

/// [`Solver::correct_velocities`] of models with bounds.
pub(super) fn correct_velocities(
    model: &Model,
    method: &Method,
    at: &At<'_>,
    scratch: &mut Scratch,
) -> Result<u64, StepError> {
    let Scratch { bodies, rows, .. } = scratch;
    for i in 0..rows.blocks.len() {
        if rows.inactive[i] || matches!(rows.blocks[i].bound, Bound::None | Bound::Disk) {
            continue;
        }
        let row = rows.blocks[i].first_row;
        let before = rows.velocity_impulse[row];
        let p = before.clamp(rows.lower[row], rows.upper[row]);
        rows.velocity_impulse[row] = p;
        rows.apply(i, &[p - before], bodies);
    }
    match settle_velocities(method, scratch) {
        (solves, true) => Ok(solves),
        (solves, false) => {
            let sweeps = Iterative.correct_velocities(model, method, at, scratch)?;
            Ok(solves + sweeps)
        }
    }
}

/// Position correction from the impulses there are: the number of solves, and whether all is closed. If not, the impulses are
/// those there were. Bodies that only touch go the way of Newton on their velocities, since contacts alone are too redundant for K; where joints
/// are, that is the second try.
pub(crate) fn settle_positions(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    scratch: &mut Scratch,
) -> (u64, bool) {
    if let Some(solves) = tree::settle_positions(model, method, look, scratch) {
        return (solves, true);
    }
    let (mut solves, mut settled) = (0, false);
    if scratch.rows.model_size.rows > 0 {
        (solves, settled) = settle_rows(model, method, look, scratch);
    }
    if !settled && !scratch.rows.contacts.is_empty() {
        let (own, closed) = primal::settle_positions(model, method, look, scratch);
        (solves, settled) = (solves + own, closed);
    }
    (solves, settled)
}

/// The same for velocities.
pub(crate) fn settle_velocities(method: &Method, scratch: &mut Scratch) -> (u64, bool) {
    if let Some(solves) = tree::settle_velocities(method, scratch) {
        return (solves, true);
    }
    let (mut solves, mut settled) = (0, false);
    if scratch.rows.model_size.rows > 0 {
        (solves, settled) = settle_row_velocities(method, scratch);
    }
    if !settled && !scratch.rows.contacts.is_empty() {
        let (own, closed) = primal::settle_velocities(method, scratch);
        (solves, settled) = (solves + own, closed);
    }
    (solves, settled)
}

/// Each look at C(t+h) gives a linear problem with bounds, which is solved to the end before the next look: while rows are still
/// taking sides, impulses may be far from where they end, and free flight would be far from linear.
fn settle_rows(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    scratch: &mut Scratch,
) -> (u64, bool) {
    let floor = scratch.bodies.position_floor();
    scratch.rows.begin_correction(false, &scratch.bodies);
    let (mut solves, mut first, mut last) = (0, f64::INFINITY, f64::INFINITY);
    // Friction that begins to slip has a finer tolerance from then on.
    let lost = if scratch.rows.contacts.is_empty() { LOST } else { LOST / SLIP_PART };
    if !model.forces.is_empty() && joints_fly_apart(scratch, false) {
        solves += settle_linear(scratch);
    }
    while solves < MOST_SOLVES && !scratch.rows.stop.is_asked() {
        let worst = look_ahead(model, method, look, floor, scratch);
        if worst < 1.0 && (solves > 0 || worst == 0.0) {
            return (solves, true);
        }
        first = if solves == 0 { worst.max(1.0) } else { first };
        if worst.is_nan() || worst > lost * first {
            break;
        }
        // While looks show that it helps.
        let found = if worst <= 0.5 * last { law::settle(scratch, false) } else { None };
        last = if found.is_some() { worst } else { 0.0 };
        if found == Some(true) {
            solves += 1;
            continue;
        }
        if found.is_some() {
            look_ahead(model, method, look, floor, scratch);
        }
        solves += settle_linear(scratch);
    }
    scratch.rows.take_back(false, &mut scratch.bodies);
    (solves, false)
}

/// Whether joints are being left faster than any guess should leave them. If so, what is missing to rates of 0 (or those `wanted`) is the right
/// side of the next solve, in which rows with bounds keep their impulses.
///
/// A kick by loads makes light bodies so fast that free flight may end anywhere; an impulse cut at its bound does the same, and what the
/// other bounded rows then see says nothing about the side that they belong to.
fn joints_fly_apart(scratch: &mut Scratch, wanted: bool) -> bool {
    let Scratch { bodies, rows, .. } = scratch;
    let mut fast = false;
    let mut e = [0.0; small::MAX];
    for i in 0..rows.blocks.len() {
        if rows.inactive[i] || rows.blocks[i].bound != Bound::None {
            continue;
        }
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        rows.error_rate(i, &bodies.twists, &mut e[..n]);
        for k in 0..n {
            e[k] -= if wanted { rows.wanted[row + k] } else { 0.0 };
            rows.error[row + k] = -e[k];
        }
        fast |= norm(&e[..n]) > POOR_GUESS;
    }
    if fast {
        for (i, block) in rows.blocks.iter().enumerate() {
            rows.out[i] = rows.inactive[i] || block.bound != Bound::None;
        }
    }
    fast
}

/// Velocity correction by the active set.
fn settle_row_velocities(method: &Method, scratch: &mut Scratch) -> (u64, bool) {
    let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
    scratch.rows.begin_correction(true, &scratch.bodies);
    let (mut solves, mut last) = (0, f64::INFINITY);
    while solves < MOST_SOLVES && !scratch.rows.stop.is_asked() {
        let worst = look_at_velocities(tolerance, scratch);
        if worst < 1.0 && (solves > 0 || worst == 0.0) {
            return (solves, true);
        }
        if !worst.is_finite() {
            break;
        }
        solves += 1;
        let found = if worst <= 0.5 * last { law::settle(scratch, true) } else { None };
        last = if found.is_some() { worst } else { 0.0 };
        if found == Some(true) {
            continue;
        }
        if found.is_some() {
            look_at_velocities(tolerance, scratch);
        }
        solve_and_apply(scratch, true);
        slip_at_instant(scratch);
        if joints_fly_apart(scratch, false) {
            solve_and_apply(scratch, true);
            solves += 1;
        }
    }
    scratch.rows.take_back(true, &mut scratch.bodies);
    (solves, false)
}

/// Solves the linear problem of the last look, e + J (v − v₀) = 0 within the bounds; returns the number of solves.
fn settle_linear(scratch: &mut Scratch) -> u64 {
    let Scratch { bodies, rows, .. } = scratch;
    rows.wanted.copy_from_slice(&rows.error);
    for i in 0..rows.blocks.len() {
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        let mut e = [0.0; small::MAX];
        rows.error_rate(i, &bodies.twists, &mut e[..n]);
        for k in 0..n {
            rows.wanted[row + k] += e[k];
        }
    }
    let size = rows.error.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    for solve in 1..=MOST_LINEAR_SOLVES {
        solve_and_apply(scratch, false);
        if joints_fly_apart(scratch, true) {
            solve_and_apply(scratch, false);
        }
        let Scratch { bodies, rows, .. } = scratch;
        let (mut left, mut changed) = (0.0, false);
        let slipping = slip_linear(rows, bodies);
        for i in 0..rows.blocks.len() {
            if rows.inactive[i] {
                continue;
            }
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            let mut e = [0.0; small::MAX];
            rows.error_rate(i, &bodies.twists, &mut e[..n]);
            for k in 0..n {
                rows.error[row + k] = rows.wanted[row + k] - e[k];
            }
            if rows.blocks[i].bound != Bound::None {
                let out = if rows.blocks[i].bound == Bound::Disk {
                    let e = [0, n - 1].map(|k| -rows.error[row + k]);
                    rows.slips(i, &e, false).is_some()
                } else {
                    rows.at_bound(row, -rows.error[row], rows.impulse[row])
                };
                changed |= out != rows.out[i];
                rows.out[i] = out;
            }
            if !rows.out[i] {
                let own = &rows.error[row..row + n];
                left = own.iter().fold(left, |a: f64, b| larger(a, b.abs()));
            }
        }
        let settled = !changed && slipping <= SLIP_PART * size;
        if settled || larger(left, slipping) <= 1e-6 * size || !left.is_finite() {
            return solve;
        }
    }
    MOST_LINEAR_SOLVES
}

/// Gives friction that slips its impulses, in a velocity correction.
fn slip_at_instant(scratch: &mut Scratch) {
    let Scratch { bodies, rows, .. } = scratch;
    for i in rows.model_size.blocks..rows.blocks.len() {
        if rows.inactive[i] || rows.blocks[i].bound != Bound::Disk {
            continue;
        }
        let n = rows.blocks[i].n_rows;
        let mut e = [0.0; 2];
        rows.error_rate(i, &bodies.twists, &mut e[..n]);
        if let Some(p) = rows.slips(i, &e, true) {
            rows.slip_with(i, p, true, bodies);
        }
    }
}

/// Gives friction that slips its impulses, for the linear problem; returns the largest change of a rate.
fn slip_linear(rows: &mut Rows, bodies: &mut Bodies) -> f64 {
    let mut change = 0.0;
    for i in rows.model_size.blocks..rows.blocks.len() {
        if rows.inactive[i] || rows.blocks[i].bound != Bound::Disk {
            continue;
        }
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        let mut e = [0.0; 2];
        rows.error_rate(i, &bodies.twists, &mut e[..n]);
        for k in 0..n {
            e[k] -= rows.wanted[row + k];
        }
        if let Some(p) = rows.slips(i, &e, false) {
            change = larger(change, rows.slip_with(i, p, false, bodies));
        }
    }
    change
}

/// Looks at C(t+h); leaves −(C − target)/h, and which blocks are out. Returns the worst error over its tolerance.
pub(crate) fn look_ahead(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    floor: f64,
    scratch: &mut Scratch,
) -> f64 {
    let Scratch { bodies, rows, .. } = &mut *scratch;
    let h_inv = 1.0 / look.h;
    let mut worst = 0.0;
    let first = rows.first_apart();
    if let (Some(hinges), 1..) = (&rows.hinges, first) {
        bodies.look_ahead_poses(look.flight, look.h);
        rows.out[..first].fill(false);
        let (target, error, gap) = (&rows.target, &mut rows.error, &mut rows.gap);
        hinges.errors(&bodies.ahead, |block, row, tolerance, c, size| {
            let tolerance = tolerance.unwrap_or(method.tolerance).max(floor);
            gap[block] = size;
            worst = larger(worst, size / tolerance);
            let (error, target) = (&mut error[row..row + 5], &target[row..row + 5]);
            for k in 0..5 {
                error[k] = (target[k] - c[k]) * h_inv;
            }
        });
    }
    larger(worst, look_ahead_from(first, model, method, look, floor, scratch))
}

/// The same of the blocks from `first` on.
pub(crate) fn look_ahead_from(
    first: usize,
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    floor: f64,
    scratch: &mut Scratch,
) -> f64 {
    let Scratch { bodies, rows, work, .. } = scratch;
    let h_inv = 1.0 / look.h;
    let mut worst = 0.0;
    let mut c = [0.0; small::MAX];
    for i in first..rows.blocks.len() {
        rows.out[i] = rows.inactive[i];
        rows.gap[i] = 0.0;
        if rows.inactive[i] {
            continue;
        }
        let (row, n, bound) =
            (rows.blocks[i].first_row, rows.blocks[i].n_rows, rows.blocks[i].bound);
        let tolerance = rows.blocks[i].tolerance.unwrap_or(method.tolerance).max(floor);
        let c = &mut c[..n];
        rows.error_ahead(i, model, bodies, look, work, c);
        if bound == Bound::None {
            rows.gap[i] = norm(c);
            worst = larger(worst, rows.gap[i] / tolerance);
            for k in 0..n {
                rows.error[row + k] = (rows.target[row + k] - c[k]) * h_inv;
            }
            continue;
        }
        if bound == Bound::Disk {
            let mut e = [0.0; 2];
            for k in 0..n {
                e[k] = (c[k] - rows.target[row + k]) * h_inv;
                rows.error[row + k] = -e[k];
            }
            let missing = match rows.slips(i, &e, false) {
                Some(p) => {
                    rows.out[i] = true;
                    rows.off_by(i, p, false) / SLIP_PART
                }
                None => norm(&e),
            };
            worst = larger(worst, missing * look.h.abs() / tolerance);
            continue;
        }
        let (target, allowed) = bound.target(rows.target[row], tolerance);
        let over = c[0] - target;
        rows.error[row] = -over * h_inv;
        rows.out[i] = rows.at_bound(row, over * h_inv, rows.impulse[row]);
        let one_sided = bound != Bound::Friction;
        if one_sided {
            rows.gap[i] = c[0].max(0.0);
        }
        if !rows.out[i] {
            let from = Bound::counts_from(target, tolerance);
            let error = if one_sided && over > 0.0 { c[0] - from } else { over.abs() };
            worst = larger(worst, error / allowed);
        }
    }
    worst
}

/// How far friction that slips may be off, as a rate, where velocities are corrected to `tolerance`.
pub(crate) fn slip_tolerance(tolerance: f64, bodies: &Bodies) -> f64 {
    (SLIP_PART * tolerance).max(64.0 * bodies.velocity_floor())
}

/// Looks at J v + C_t; leaves −(J v + C_t), and which blocks are out. Returns the worst error over the tolerance.
pub(crate) fn look_at_velocities(tolerance: f64, scratch: &mut Scratch) -> f64 {
    let Scratch { bodies, rows, .. } = &mut *scratch;
    let mut worst = 0.0;
    let first = rows.first_apart();
    if let (Some(hinges), 1..) = (&rows.hinges, first) {
        rows.out[..first].fill(false);
        let (error, velocity_error) = (&mut rows.error, &mut rows.velocity_error);
        hinges.each_rate(&bodies.twists, |block, row, _, e, size| {
            velocity_error[block] = size;
            worst = larger(worst, size / tolerance);
            let error = &mut error[row..row + 5];
            for k in 0..5 {
                error[k] = -e[k];
            }
        });
    }
    larger(worst, look_at_velocities_from(first, tolerance, scratch))
}

/// The same of the blocks from `first` on.
pub(crate) fn look_at_velocities_from(first: usize, tolerance: f64, scratch: &mut Scratch) -> f64 {
    let Scratch { bodies, rows, .. } = scratch;
    let mut worst = 0.0;
    let mut e = [0.0; small::MAX];
    // Impulses of friction are no better than rounding lets them be.
    let slip = slip_tolerance(tolerance, bodies);
    for i in first..rows.blocks.len() {
        rows.out[i] = rows.inactive[i];
        rows.velocity_error[i] = 0.0;
        if rows.inactive[i] {
            continue;
        }
        let (row, n, bound) =
            (rows.blocks[i].first_row, rows.blocks[i].n_rows, rows.blocks[i].bound);
        rows.error_rate(i, &bodies.twists, &mut e[..n]);
        for k in 0..n {
            rows.error[row + k] = -e[k];
        }
        if bound == Bound::Disk {
            let missing = match rows.slips(i, &e[..n], true) {
                Some(p) => {
                    rows.out[i] = true;
                    rows.off_by(i, p, true) / slip
                }
                None => norm(&e[..n]) / tolerance,
            };
            worst = larger(worst, missing);
            continue;
        }
        rows.out[i] = bound != Bound::None && rows.at_bound(row, e[0], rows.velocity_impulse[row]);
        let error = norm(&e[..n]);
        if !rows.out[i] {
            worst = larger(worst, error / tolerance);
        }
        rows.velocity_error[i] = match bound {
            Bound::None => error,
            Bound::Stop | Bound::Contact => e[0].max(0.0),
            Bound::Friction | Bound::Disk => 0.0,
        };
    }
    worst
}

impl Rows {
    /// The guess as impulses of a position correction, cut to their bounds.
    pub(crate) fn take_guess(&mut self) {
        let first = self.first_apart();
        if first > 0 {
            let own = self.model_size.rows;
            self.impulse[..own].copy_from_slice(&self.guess[..own]);
        }
        for i in first..self.blocks.len() {
            let (row, n) = (self.blocks[i].first_row, self.blocks[i].n_rows);
            for k in row..row + n {
                let guess = if self.inactive[i] { 0.0 } else { self.guess[k] };
                self.impulse[k] = guess.clamp(self.lower[k], self.upper[k]);
            }
            if self.blocks[i].bound == Bound::Disk && !self.inactive[i] {
                let mut p = [0.0; 2];
                p[..n].copy_from_slice(&self.impulse[row..row + n]);
                self.impulse[row..row + n].fill(0.0);
                self.cut_to_disk(i, &mut p[..n], false);
                self.impulse[row..row + n].copy_from_slice(&p[..n]);
            }
        }
    }

    /// Whether the impulse `p` of a bounded row is where an error `e` (of a rate) would push it out of its bounds.
    fn at_bound(&self, row: usize, e: f64, p: f64) -> bool {
        e > 0.0 && p <= self.lower[row] || e < 0.0 && p >= self.upper[row]
    }
}

/// Solves K Δp = `rows.error` over the blocks that are not out, and applies Δp as far as the bounds allow.
fn solve_and_apply(scratch: &mut Scratch, velocity: bool) {
    let Scratch { bodies, rows, direct, .. } = scratch;
    for (i, block) in rows.blocks.iter().enumerate() {
        if rows.out[i] {
            rows.error[block.first_row..block.first_row + block.n_rows].fill(0.0);
        }
    }
    let factor = direct.get_or_insert_with(|| Box::new(Factor::new(rows, &bodies.fixed)));
    factor.refresh_without(rows);
    factor.solve(&rows.error, &mut rows.solution);
    let mut delta = std::mem::take(&mut rows.solution);
    rows.apply_all(&mut delta, velocity, bodies);
    rows.solution = delta;
}

/// The larger of two; what is not a number is larger than any.
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}
