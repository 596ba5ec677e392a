//! The direct solver: Newton on all joints at once.

mod share;

pub use gelenk_model::factor::Factor;
pub(crate) use gelenk_model::factor::{eliminate_in_turns, neighbours};
pub use share::Sharing;
pub(super) use share::share as share_loads;

use gelenk_model::Model;

use super::{Solver, Sweep, Worst, norm};
use crate::error::StepError;
use crate::graph::{joints_are_a_tree, settle_positions, settle_velocities};
use crate::method::Method;
use crate::rows::{At, Look, Rows};
use crate::scratch::{Bodies, Scratch};
use crate::small;

/// Newton on all joints at once, with K = J M⁻¹ Jᵀ of the whole system at time t, factorized once a step:
///
/// ```text
/// positions:   K Δp = −C(t+h)/h,  a few times      velocities:   K p = −(J v + C_t),  once and refined
/// ```
/// \[Schmitt 2003\] (7.1); \[Schmitt, Bender, Prautzsch 2005\] (4.8), (5.8). K is the matrix of the linear part of free
/// flight; what it leaves out is of the order of the angle turned in a step, and each solve gains that factor.
/// Trees and chains cost linear time. Models with bounds (ropes, end stops, dry friction, contacts) go to the one law, over the graph of all rows. Rows that depend on others get no impulse in a solve; their gap is watched like any
/// other, and the load is shared between them afterwards (`share.rs`).
#[derive(Clone, Copy, Debug)]
pub struct Direct;

/// Weakest pivot with which a guess is taken. Near singular positions impulses are large and tell little of the next ones; the
/// solution to follow is there the one nearest to free flight.
const WEAK: f64 = 1e-3;

/// A solve that leaves no more than this part of the error is worth another one within tolerance, down to [`FINE`].
pub(crate) const GAIN: f64 = 0.1;

/// The part of the tolerance to which a fine solution goes.
pub(crate) const FINE: f64 = 1e-4;

/// A solve that leaves more than this part of the error no longer helps.
const STALLED: f64 = 0.5;

/// Solves within which the worst error must halve.
const PATIENCE: u32 = 20;

impl Solver for Direct {
    fn correct_positions(
        &self,
        model: &Model,
        method: &Method,
        look: &Look<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        if scratch.rows.has_bounds() {
            return Sweep { accelerated: true }.correct_positions(model, method, look, scratch);
        }
        let floor = scratch.bodies.position_floor();
        if let Some((balls, rows, bodies)) = scratch.regular_balls() {
            balls.read_velocities(bodies);
            let found = balls.correct_positions(method, look, floor, rows);
            balls.write_velocities(bodies);
            return found;
        }
        scratch.prepare_rows(model, look.t - look.h, look.coordinates);
        if joints_are_a_tree(model, scratch)
            && let Some(found) = settle_positions(model, method, look, scratch)
        {
            return found;
        }
        scratch.rows.begin_correction(false, &scratch.bodies);
        let Scratch { bodies, rows, direct, .. } = scratch;
        if factorize(rows, bodies, direct).weakest > WEAK {
            rows.impulse.copy_from_slice(&rows.guess);
            apply(bodies, rows, &rows.guess);
        } else if !model.forces.is_empty() {
            // A kick by loads makes light bodies fast, and free flight with such velocities may end anywhere: first J v + C_t = 0.
            look_at_velocities(1.0, scratch);
            solve_and_apply(scratch, false);
        }
        let see = |scratch: &mut Scratch| look_ahead(model, method, look, floor, scratch);
        let solve = |scratch: &mut Scratch| solve_and_apply(scratch, false);
        let found = newton(scratch, method.converges_fine(floor), see, solve);
        share::share(scratch, false);
        found.or_else(|(block, sweeps)| {
            let lost =
                StepError::Positions { block, gap: scratch.rows.gap[block], sweeps, t: look.t };
            // Rows that nearly depend on each other: the law of the graph shares between them.
            scratch.rows.take_back(false, &mut scratch.bodies);
            match settle_positions(model, method, look, scratch) {
                Some(Ok(passes)) => Ok(sweeps + passes),
                _ => Err(lost),
            }
        })
    }

    fn correct_velocities(
        &self,
        model: &Model,
        method: &Method,
        at: &At<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        if scratch.rows.has_bounds() {
            return Sweep { accelerated: true }.correct_velocities(model, method, at, scratch);
        }
        let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
        if let Some((balls, rows, bodies)) = scratch.regular_balls() {
            balls.read_velocities(bodies);
            let found = balls.correct_velocities(tolerance, at.t, rows);
            balls.write_velocities(bodies);
            return found;
        }
        scratch.prepare_rows(model, at.t, at.coordinates);
        if joints_are_a_tree(model, scratch)
            && let Some(solves) = settle_velocities(model, method, scratch)
        {
            return Ok(solves);
        }
        scratch.rows.begin_correction(true, &scratch.bodies);
        let see = |scratch: &mut Scratch| look_at_velocities(tolerance, scratch);
        let found = newton(scratch, false, see, |scratch| solve_and_apply(scratch, true));
        share::share(scratch, true);
        found.or_else(|(block, sweeps)| {
            let error = scratch.rows.velocity_error[block];
            let lost = StepError::Velocities { block, error, sweeps, t: at.t };
            scratch.rows.take_back(true, &mut scratch.bodies);
            let solves = settle_velocities(model, method, scratch).ok_or(lost.clone())?;
            let left = scratch.rows.velocity_error.iter().fold(0.0, |most, e| f64::max(most, *e));
            if left <= tolerance { Ok(sweeps + solves) } else { Err(lost) }
        })
    }
}

/// Looks at C(t+h) of all blocks and leaves −(C − target)/h as the right side of the next solve.
pub(super) fn look_ahead(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    floor: f64,
    scratch: &mut Scratch,
) -> Worst {
    let Scratch { bodies, rows, work, .. } = scratch;
    let rate = -1.0 / look.h;
    let mut worst = Worst::default();
    let mut c = [0.0; small::MAX];
    for i in 0..rows.blocks.len() {
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        rows.error_ahead(i, model, bodies, look, work, &mut c[..n]);
        rows.gap[i] = norm(&c[..n]);
        worst.see(rows.gap[i] / block.tolerance.unwrap_or(method.tolerance).max(floor), i);
        for k in 0..n {
            rows.error[row + k] = (c[k] - rows.target[row + k]) * rate;
            worst.work += (rows.impulse[row + k] * rows.error[row + k]).abs();
        }
    }
    worst.work /= rows.work_allowed;
    worst
}

/// Looks at J v + C_t of all blocks and leaves −(J v + C_t) as the right side of the next solve.
pub(super) fn look_at_velocities(tolerance: f64, scratch: &mut Scratch) -> Worst {
    let Scratch { bodies, rows, .. } = scratch;
    let mut worst = Worst::default();
    let mut e = [0.0; small::MAX];
    for i in 0..rows.blocks.len() {
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        rows.error_rate(i, &bodies.twists, &mut e[..n]);
        rows.velocity_error[i] = norm(&e[..n]);
        worst.see(rows.velocity_error[i] / tolerance, i);
        for k in 0..n {
            rows.error[row + k] = -e[k];
        }
    }
    worst
}

/// The factor of K at the present rows.
pub(crate) fn factorize<'a>(
    rows: &mut Rows,
    bodies: &Bodies,
    direct: &'a mut Option<Box<Factor>>,
) -> &'a mut Factor {
    rows.respond_all(bodies);
    let factor = direct.get_or_insert_with(|| Box::new(Factor::new(rows, &bodies.fixed)));
    if !factor.ready || !factor.whole() {
        factor.refresh(rows);
    }
    factor
}

/// Solves K p = `rows.error` and applies p.
fn solve_and_apply(scratch: &mut Scratch, velocity: bool) {
    let Scratch { bodies, rows, direct, .. } = scratch;
    let factor = factorize(rows, bodies, direct);
    factor.solve(&rows.error, &mut rows.solution);
    apply(bodies, rows, &rows.solution);
    let sum = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
    for (sum, p) in sum.iter_mut().zip(&rows.solution) {
        *sum += p;
    }
}

/// v += M⁻¹ Jᵀ p.
fn apply(bodies: &mut Bodies, rows: &Rows, p: &[f64]) {
    for (i, block) in rows.blocks.iter().enumerate() {
        rows.apply(i, &p[block.first_row..][..block.n_rows], bodies);
    }
}

/// Solves until `look` finds every block within tolerance; returns the number of solves, or the worst block and that number.
///
/// A position or velocity out of tolerance is solved for at least once: what is within tolerance by luck of the guess is made
/// better, as the first sweep of the papers does. Within tolerance a `fine` solution goes on while solves gain [`GAIN`], to
/// [`FINE`] of the tolerance: gaps that remain come from the guess, always from the same side, and their work would add up over
/// many steps.
pub(crate) fn newton<S>(
    system: &mut S,
    fine: bool,
    mut look: impl FnMut(&mut S) -> Worst,
    mut solve: impl FnMut(&mut S),
) -> Result<u64, (usize, u64)> {
    let mut progress = Progress { fine, ..Progress::default() };
    loop {
        let worst = look(system);
        match progress.judge(&worst) {
            Verdict::Closed => return Ok(progress.solves),
            Verdict::Lost => return Err((worst.block, progress.solves)),
            Verdict::GoOn => solve(system),
        }
    }
}

enum Verdict {
    Closed,
    GoOn,
    Lost,
}

/// Watches whether the solves converge.
#[derive(Default)]
struct Progress {
    solves: u64,
    first: f64,
    best: f64,
    stalls: u32,
    /// The error before the last solve.
    last: f64,
    /// Go on within tolerance while it is cheap.
    fine: bool,
}

impl Progress {
    /// Closed when every block is within tolerance, and better where that is cheap or the work of the gaps is too large; lost when the worst error is not finite, grows a hundredfold over
    /// the first, or does not halve within [`PATIENCE`] solves: a body that turns by a radian in a step converges slowly, but
    /// does.
    fn judge(&mut self, seen: &Worst) -> Verdict {
        let worst = seen.ratio;
        if worst < 1.0 && (self.solves > 0 || worst == 0.0) {
            let left = worst / self.last;
            let gains = self.fine && worst > FINE && left <= GAIN;
            let works = seen.work > 1.0 && left < STALLED;
            if !(gains || works) {
                return Verdict::Closed;
            }
        }
        self.last = worst;
        if self.solves == 0 {
            (self.first, self.best) = (worst, f64::INFINITY);
        }
        self.stalls += 1;
        if worst < 0.5 * self.best {
            (self.best, self.stalls) = (worst, 0);
        }
        let lost =
            !worst.is_finite() || worst > 100.0 * self.first.max(1.0) || self.stalls > PATIENCE;
        if lost {
            return Verdict::Lost;
        }
        self.solves += 1;
        Verdict::GoOn
    }
}
