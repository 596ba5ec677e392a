//! The direct solver: Newton on all joints at once.

mod dense;
mod factor;
mod order;

pub use factor::Factor;

use gelenk_model::Model;
use gelenk_model::math::Vec3;

use super::{Iterative, Solver, norm};
use crate::error::StepError;
use crate::method::Method;
use crate::rows::{Look, Shape};
use crate::scratch::Scratch;
use crate::small;

/// Newton on all joints at once, with K = J M⁻¹ Jᵀ of the whole system at time t, factorized once a step:
///
/// ```text
/// positions:   K Δp = −C(t+h)/h,  a few times      velocities:   K p = −(J v + C_t),  once and refined
/// ```
/// \[Schmitt 2003\] (7.1); \[Schmitt, Bender, Prautzsch 2005\] (4.8), (5.8). K is the matrix of the linear part of free
/// flight; what it leaves out is of the order of the angle turned in a step, and each solve gains that factor.
/// Trees and chains cost linear time. Models with bounded rows (ropes, end stops, dry friction) and with joints that are not there go to the iterative
/// solver. Rows that depend on others get no impulse; their gap is watched like any other.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

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
        if scratch.rows.needs_sweep() {
            return Iterative.correct_positions(model, method, look, scratch);
        }
        let extent = scratch.bodies.poses.iter().map(|p| p.s.amax()).fold(1.0, f64::max);
        let floor = 8.0 * f64::EPSILON * extent;
        let h_inv = -1.0 / look.h;
        let mut newton = Newton::default();
        let mut c = [0.0; small::MAX];
        loop {
            let Scratch { bodies, rows, work, .. } = scratch;
            for i in 0..rows.blocks.len() {
                let block = &rows.blocks[i];
                let (row, n) = (block.first_row, block.n_rows);
                let tolerance = block.tolerance.unwrap_or(method.tolerance).max(floor);
                if let Shape::Ball(ball) = block.shape {
                    let error = rows.balls[ball].error_ahead(bodies, look.flight, look.h);
                    c[..3].copy_from_slice(error.as_slice());
                } else {
                    rows.error_ahead(i, model, bodies, look, work, &mut c[..n]);
                }
                rows.gap[i] = norm(&c[..n]);
                newton.see(i, rows.gap[i] / tolerance);
                for k in 0..n {
                    rows.error[row + k] = (c[k] - rows.target[row + k]) * h_inv;
                }
            }
            match newton.judge() {
                Verdict::Closed => return Ok(newton.solves),
                Verdict::Lost => {
                    let (block, sweeps) = (newton.worst_block, newton.solves);
                    return Err(StepError::Positions {
                        block,
                        gap: scratch.rows.gap[block],
                        sweeps,
                        t: look.t,
                    });
                }
                Verdict::GoOn => solve_and_apply(scratch, false),
            }
        }
    }

    fn correct_velocities(
        &self,
        model: &Model,
        method: &Method,
        t: f64,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        if scratch.rows.needs_sweep() {
            return Iterative.correct_velocities(model, method, t, scratch);
        }
        let speed = scratch.bodies.twists.iter().map(|v| v.s_dot.amax()).fold(1.0, f64::max);
        let tolerance = method.velocity_tolerance.max(32.0 * f64::EPSILON * speed);
        let mut newton = Newton::default();
        let mut e = [0.0; small::MAX];
        loop {
            let Scratch { bodies, rows, .. } = scratch;
            for i in 0..rows.blocks.len() {
                let block = &rows.blocks[i];
                let (row, n) = (block.first_row, block.n_rows);
                if let Shape::Ball(ball) = block.shape {
                    e[..3].copy_from_slice(rows.balls[ball].error_rate(bodies).as_slice());
                } else {
                    rows.error_rate(i, &bodies.twists, &mut e[..n]);
                }
                rows.velocity_error[i] = norm(&e[..n]);
                newton.see(i, rows.velocity_error[i] / tolerance);
                for k in 0..n {
                    rows.error[row + k] = -e[k];
                }
            }
            match newton.judge() {
                Verdict::Closed => return Ok(newton.solves),
                Verdict::Lost => {
                    let (block, sweeps) = (newton.worst_block, newton.solves);
                    let error = scratch.rows.velocity_error[block];
                    return Err(StepError::Velocities { block, error, sweeps, t });
                }
                Verdict::GoOn => solve_and_apply(scratch, true),
            }
        }
    }
}

/// Solves K p = `rows.error` and applies p.
fn solve_and_apply(scratch: &mut Scratch, velocity: bool) {
    let Scratch { bodies, rows, direct, .. } = scratch;
    let factor = direct.get_or_insert_with(|| Box::new(Factor::new(rows, bodies)));
    if !factor.ready {
        if !rows.ball_rows && factor.mixes_balls(rows) {
            rows.ball_rows = true;
            rows.write_ball_rows(bodies);
        }
        factor.refresh(rows, bodies);
    }
    factor.solve(&rows.error, &mut rows.solution);
    for i in 0..rows.blocks.len() {
        let block = &rows.blocks[i];
        let p = &rows.solution[block.first_row..][..block.n_rows];
        if let Shape::Ball(ball) = block.shape {
            rows.balls[ball].apply(&Vec3::new(p[0], p[1], p[2]), bodies);
        } else {
            rows.apply(i, p, bodies);
        }
    }
    let sum = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
    for (sum, p) in sum.iter_mut().zip(&rows.solution) {
        *sum += p;
    }
}

enum Verdict {
    Closed,
    GoOn,
    Lost,
}

/// Watches whether the solves converge.
#[derive(Default)]
struct Newton {
    solves: u64,
    worst: f64,
    worst_block: usize,
    first: f64,
    best: f64,
    stalls: u32,
}

impl Newton {
    #[inline]
    fn see(&mut self, block: usize, error: f64) {
        if error > self.worst || error.is_nan() {
            self.worst = error;
            self.worst_block = block;
        }
    }

    /// Closed when every block is within tolerance; lost when the worst error is not finite, grows a hundredfold over
    /// the first, or does not halve within [`PATIENCE`] solves: a body that turns by a radian in a step converges slowly, but
    /// does.
    fn judge(&mut self) -> Verdict {
        let worst = std::mem::replace(&mut self.worst, 0.0);
        if worst < 1.0 {
            return Verdict::Closed;
        }
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
