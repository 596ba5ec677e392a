//! The papers' solver: one joint after the other, sweep after sweep.

use gelenk_model::Model;
use gelenk_model::math::Vec3;

use super::{Solver, norm};
use crate::error::StepError;
use crate::method::Method;
use crate::rows::{Look, Shape};
use crate::scratch::Scratch;
use crate::small;

/// Gauss-Seidel: each joint in turn is corrected as if it were alone, until a whole sweep finds all within tolerance.
///
/// ```text
/// positions:   Δp = −K⁻¹ C(t+h)/h         velocities:   Δp = −K⁻¹ (J v + C_t)
/// ```
/// \[Schmitt 2003\] P-Schritt 1, 2 and 4. The first sweep corrects every joint, later ones those out of tolerance (the
/// paper's table 9.2 shows the same: never fewer corrections than joints). The last sweep only looks.
///
/// The paper gives up (and halves h) when the error of any joint grows. In loops errors of single joints do grow while the
/// sweep converges, so our rule looks at the worst error relative to its tolerance: the sweep goes on while it
/// halves within every window of 200 + n² sweeps (n blocks; a chain of n links takes about n² sweeps for one digit),
/// and ends at once where it is not finite or 1000 times that of the first sweep.
#[derive(Clone, Copy, Debug)]
pub struct Iterative;

impl Solver for Iterative {
    fn correct_positions(
        &self,
        model: &Model,
        method: &Method,
        look: &Look<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        let Scratch { bodies, rows, work, .. } = scratch;
        let n_blocks = rows.blocks.len();
        // Below this the gap is rounding of the positions.
        let extent = bodies.poses.iter().map(|p| p.s.amax()).fold(1.0, f64::max);
        let floor = 8.0 * f64::EPSILON * extent;
        let mut corrections = 0;
        let mut progress = Progress::new(n_blocks);
        let (mut c, mut p) = ([0.0; small::MAX], [0.0; small::MAX]);
        let h_inv = 1.0 / look.h;
        loop {
            let first = progress.sweeps == 0;
            let mut closed = true;
            for i in 0..n_blocks {
                let block = &rows.blocks[i];
                let tolerance = block.tolerance.unwrap_or(method.tolerance).max(floor);
                if let Shape::Ball(ball) = block.shape {
                    let row = block.first_row;
                    let ball = &rows.balls[ball];
                    let error = ball.error_ahead(bodies, look.flight, look.h);
                    let gap = error.norm();
                    rows.gap[i] = gap;
                    progress.see(i, gap / tolerance);
                    if gap < tolerance && !first {
                        continue;
                    }
                    let p = ball.k_inv * (error * -h_inv);
                    ball.apply(&p, bodies);
                    for k in 0..3 {
                        rows.impulse[row + k] += p[k];
                    }
                } else {
                    let (row, n) = (block.first_row, block.n_rows);
                    rows.error_ahead(i, model, bodies, look, work, &mut c[..n]);
                    let gap = norm(&c[..n]);
                    rows.gap[i] = gap;
                    progress.see(i, gap / tolerance);
                    if gap < tolerance && !first {
                        continue;
                    }
                    for c in &mut c[..n] {
                        *c *= h_inv;
                    }
                    rows.solve(i, &c[..n], &mut p[..n]);
                    rows.apply(i, &p[..n], bodies);
                    for k in 0..n {
                        rows.impulse[row + k] += p[k];
                    }
                }
                corrections += 1;
                closed = false;
            }
            if closed {
                return Ok(corrections);
            }
            if !progress.goes_on() {
                let block = progress.worst_block;
                return Err(StepError::Positions {
                    block,
                    gap: rows.gap[block],
                    sweeps: progress.sweeps,
                    t: look.t,
                });
            }
        }
    }

    fn correct_velocities(
        &self,
        _model: &Model,
        method: &Method,
        t: f64,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        let Scratch { bodies, rows, .. } = scratch;
        let n_blocks = rows.blocks.len();
        let speed = bodies.twists.iter().map(|v| v.s_dot.amax()).fold(1.0, f64::max);
        let tolerance = method.velocity_tolerance.max(32.0 * f64::EPSILON * speed);
        let mut corrections = 0;
        let mut progress = Progress::new(n_blocks);
        let (mut e, mut p) = ([0.0; small::MAX], [0.0; small::MAX]);
        loop {
            let first = progress.sweeps == 0;
            let mut closed = true;
            for i in 0..n_blocks {
                let block = &rows.blocks[i];
                let (row, n) = (block.first_row, block.n_rows);
                if let Shape::Ball(ball) = block.shape {
                    let ball = &rows.balls[ball];
                    let rate = ball.error_rate(bodies);
                    let error = rate.norm();
                    rows.velocity_error[i] = error;
                    progress.see(i, error / tolerance);
                    if error < tolerance && !first {
                        continue;
                    }
                    let impulse: Vec3 = -(ball.k_inv * rate);
                    ball.apply(&impulse, bodies);
                    p[..3].copy_from_slice(impulse.as_slice());
                } else {
                    rows.error_rate(i, bodies, &mut e[..n]);
                    let error = norm(&e[..n]);
                    rows.velocity_error[i] = error;
                    progress.see(i, error / tolerance);
                    if error < tolerance && !first {
                        continue;
                    }
                    rows.solve(i, &e[..n], &mut p[..n]);
                    rows.apply(i, &p[..n], bodies);
                }
                for k in 0..n {
                    rows.velocity_impulse[row + k] += p[k];
                }
                corrections += 1;
                closed = false;
            }
            if closed {
                return Ok(corrections);
            }
            if !progress.goes_on() {
                let block = progress.worst_block;
                return Err(StepError::Velocities {
                    block,
                    error: rows.velocity_error[block],
                    sweeps: progress.sweeps,
                    t,
                });
            }
        }
    }
}

/// Watches whether sweeps converge.
struct Progress {
    sweeps: u64,
    window: u64,
    window_end: u64,
    /// Worst error over tolerance in the running sweep, and whose it is.
    worst: f64,
    worst_block: usize,
    /// That of the first sweep.
    first: f64,
    /// The smallest so far, and what it was when the window began.
    best: f64,
    best_before: f64,
}

impl Progress {
    fn new(n_blocks: usize) -> Self {
        let window = 200 + (n_blocks as u64).saturating_mul(n_blocks as u64);
        Progress {
            sweeps: 0,
            window,
            window_end: window,
            worst: 0.0,
            worst_block: 0,
            first: 0.0,
            best: f64::INFINITY,
            best_before: f64::INFINITY,
        }
    }

    #[inline]
    fn see(&mut self, block: usize, error: f64) {
        // A NaN is worse than any number.
        if error > self.worst || error.is_nan() {
            self.worst = error;
            self.worst_block = block;
        }
    }

    /// Ends a sweep that was not yet closed; false: no use to go on.
    fn goes_on(&mut self) -> bool {
        let worst = std::mem::replace(&mut self.worst, 0.0);
        if self.sweeps == 0 {
            self.first = worst.max(1.0);
        }
        self.sweeps += 1;
        self.best = self.best.min(worst);
        if !worst.is_finite() || worst > 1e3 * self.first {
            return false;
        }
        if self.sweeps == self.window_end {
            if self.best > 0.5 * self.best_before {
                return false;
            }
            self.best_before = self.best;
            self.window_end += self.window;
        }
        true
    }
}
