//! The papers' solver: one joint after the other, sweep after sweep.

use gelenk_model::Model;
use gelenk_model::signal::Work;

use super::{Anderson, Solver, Worst, lost_positions, lost_velocities, norm};
use crate::balls::Balls;
use crate::bounds::{Bound, SLIP_PART};
use crate::error::StepError;
use crate::graph::{settle_positions, settle_velocities};
use crate::method::Method;
use crate::rows::{At, Look, Rows};
use crate::scratch::{Bodies, Scratch};
use crate::small;

/// Gauss-Seidel: each joint in turn is corrected as if it were alone, until a whole sweep finds all within tolerance.
///
/// ```text
/// positions:   Δp = −K⁻¹ (C(t+h) − target)/h         velocities:   Δp = −K⁻¹ (J v + C_t)
/// ```
/// \[Schmitt 2003\] P-Schritt 1, 2 and 4. The first sweep corrects every joint, later ones those out of tolerance (the
/// paper's table 9.2 shows the same: never fewer corrections than joints). The last sweep only looks.
///
/// With `accelerated`, after [`PLAIN_SWEEPS`] sweeps without an end, where the convergence is slow, [`Anderson`] acceleration
/// helps; every joint is then corrected in every sweep. Without it this is the papers' algorithm.
///
/// Bounded rows (ropes, end stops, friction) get what their bounds lower ≤ p ≤ upper let them have, and give back what is
/// too much: p ← clamp(p − K⁻¹ e). Blocks that are inactive are left out.
///
/// The paper gives up (and halves h) when the error of any joint grows. In chains and loops errors of single joints do grow while
/// the sweep converges (`gelenk papers` counts how often), so our rule looks at the worst error relative to its tolerance: the sweep goes on while its
/// smallest value so far halves within every window of 200 + 10 n sweeps (n blocks; plain sweeps: 20 times as many), and ends at once where it is not
/// finite or grows to 1000 times that of the first sweep.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// Whether slow sweeps are accelerated.
    pub accelerated: bool,
}

/// Sweeps of ball joints end within this part of the tolerance: the velocities that they lead to are rounded once more.
const WITHIN: f64 = 1.0 - 1e-6;

/// How much that may add where the tolerance is as small as rounding.
const ROUNDED: f64 = 1.5;

/// How much longer plain sweeps may take to halve the worst error. With 1, nine of the 48 runs of table 9.2 end with an error (D_max of 1e-7 m and
/// 1e-8 m, near the chain's first singular position); with 20 none.
const PLAIN_PATIENCE: u64 = 20;

/// Sweeps before acceleration sets in.
pub const PLAIN_SWEEPS: u64 = 40;

impl Solver for Sweep {
    fn correct_positions(
        &self,
        model: &Model,
        method: &Method,
        look: &Look<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        if scratch.rows.has_bounds()
            && let Some(found) = settle_positions(model, method, look, scratch)
        {
            return found;
        }
        let floor = scratch.bodies.position_floor();
        if scratch.balls.is_none() {
            scratch.rows.invert_blocks(&scratch.bodies);
        }
        let Scratch { bodies, rows, work, anderson, balls, .. } = scratch;
        let found = if let Some(balls) = balls {
            balls.read_velocities(bodies);
            let found = sweep_ahead(balls, method, look, floor, true, rows, self.helper(anderson));
            balls.end(&mut rows.impulse, &mut rows.gap);
            balls.write_velocities(bodies);
            found
        } else {
            rows.begin_positions(bodies);
            rows.begin_correction(false, bodies);
            let mut system = PositionSweep { model, method, look, floor, bodies, rows, work };
            sweeps(&mut system, self.helper(anderson))
        };
        found.map_err(|lost| lost_positions(lost, &scratch.rows.gap, look.t))
    }

    fn correct_velocities(
        &self,
        model: &Model,
        method: &Method,
        at: &At<'_>,
        scratch: &mut Scratch,
    ) -> Result<u64, StepError> {
        if scratch.rows.has_bounds()
            && let Some(solves) = settle_velocities(model, method, scratch)
        {
            return Ok(solves);
        }
        let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
        if scratch.balls.is_none() {
            scratch.rows.invert_blocks(&scratch.bodies);
        }
        let Scratch { bodies, rows, anderson, balls, .. } = scratch;
        let found = if let Some(balls) = balls {
            balls.read_velocities(bodies);
            let found = sweep_rates(balls, tolerance, rows, self.helper(anderson));
            balls.end(&mut rows.velocity_impulse, &mut rows.velocity_error);
            balls.write_velocities(bodies);
            found
        } else {
            rows.begin_correction(true, bodies);
            sweeps(&mut VelocitySweep { tolerance, bodies, rows }, self.helper(anderson))
        };
        found.map_err(|lost| lost_velocities(lost, &scratch.rows.velocity_error, at.t))
    }
}

impl Sweep {
    /// What helps slow sweeps, if anything does.
    pub(crate) fn helper(self, anderson: &mut Anderson) -> Option<&mut Anderson> {
        self.accelerated.then_some(anderson)
    }
}

/// Sweeps of ball joints that begin with the velocities they have; impulses are written, not added.
pub(crate) fn sweep_positions(
    balls: &mut Balls,
    method: &Method,
    look: &Look<'_>,
    floor: f64,
    rows: &mut Rows,
    anderson: Option<&mut Anderson>,
) -> Result<u64, StepError> {
    let found = sweep_ahead(balls, method, look, floor, false, rows, anderson);
    balls.write(&mut rows.impulse, &mut rows.gap);
    found.map_err(|lost| lost_positions(lost, &rows.gap, look.t))
}

/// The same for velocities; impulses are added.
pub(crate) fn sweep_velocities(
    balls: &mut Balls,
    tolerance: f64,
    t: f64,
    rows: &mut Rows,
    anderson: Option<&mut Anderson>,
) -> Result<u64, StepError> {
    let found = sweep_rates(balls, tolerance, rows, anderson);
    balls.end(&mut rows.velocity_impulse, &mut rows.velocity_error);
    found.map_err(|lost| lost_velocities(lost, &rows.velocity_error, t))
}

/// Sweeps until C(t+h) is 0, or the target of the rows.
fn sweep_ahead(
    balls: &mut Balls,
    method: &Method,
    look: &Look<'_>,
    floor: f64,
    to_target: bool,
    rows: &mut Rows,
    anderson: Option<&mut Anderson>,
) -> Result<u64, (usize, u64)> {
    balls.begin_sweeps(Some(look), to_target.then_some(&rows.target));
    let found = sweeps(&mut BallSweep { method, look, floor, balls, rows }, anderson);
    ended(found, &balls.end_positions(look, method.tolerance, floor))
}

/// Sweeps until J v is 0.
fn sweep_rates(
    balls: &mut Balls,
    tolerance: f64,
    rows: &mut Rows,
    anderson: Option<&mut Anderson>,
) -> Result<u64, (usize, u64)> {
    balls.begin_sweeps(None, None);
    let found = sweeps(&mut BallVelocitySweep { tolerance, balls, rows }, anderson);
    ended(found, &balls.end_velocities(tolerance))
}

/// What sweeps of ball joints have found, if the look at the velocities that they ended with sees it too, but for rounding.
fn ended(found: Result<u64, (usize, u64)>, seen: &Worst) -> Result<u64, (usize, u64)> {
    match found {
        Ok(corrections) if seen.ratio <= ROUNDED => Ok(corrections),
        Ok(sweeps) | Err((_, sweeps)) => Err((seen.block, sweeps)),
    }
}

/// What is swept: positions or velocities, of general rows or of ball joints.
trait Swept {
    /// Number of row blocks.
    fn n_blocks(&self) -> usize;
    /// Whether someone wants to stop.
    fn given_up(&self) -> bool;
    /// Looks at the blocks one after the other and corrects each that `sweep` wants as if it were alone.
    fn sweep(&mut self, sweep: &mut OneSweep);
    /// The impulses so far. (n_rows)
    fn impulses(&mut self) -> &[f64];
    /// Adds `delta` to them, as far as bounds allow; true if some did not. (n_rows)
    fn add(&mut self, delta: &mut [f64]) -> bool;
}

/// Position correction of general rows.
struct PositionSweep<'a> {
    model: &'a Model,
    method: &'a Method,
    look: &'a Look<'a>,
    floor: f64,
    bodies: &'a mut Bodies,
    rows: &'a mut Rows,
    work: &'a mut Work,
}

impl Swept for PositionSweep<'_> {
    fn n_blocks(&self) -> usize {
        self.rows.blocks.len()
    }

    fn given_up(&self) -> bool {
        self.rows.stop.is_asked()
    }

    fn sweep(&mut self, sweep: &mut OneSweep) {
        for i in 0..self.n_blocks() {
            self.correct(i, sweep);
        }
    }

    fn impulses(&mut self) -> &[f64] {
        &self.rows.impulse
    }

    fn add(&mut self, delta: &mut [f64]) -> bool {
        self.rows.apply_all(delta, false, self.bodies)
    }
}

impl PositionSweep<'_> {
    /// Looks at block `i` and corrects it as if it were alone, if `sweep` wants it.
    fn correct(&mut self, i: usize, sweep: &mut OneSweep) {
        let (rows, bodies) = (&mut *self.rows, &mut *self.bodies);
        if rows.inactive[i] {
            rows.gap[i] = 0.0;
            return;
        }
        let h_inv = 1.0 / self.look.h;
        let block = &rows.blocks[i];
        let tolerance = block.tolerance.unwrap_or(self.method.tolerance).max(self.floor);
        let (row, n) = (block.first_row, block.n_rows);
        let mut c = [0.0; small::MAX];
        let c = &mut c[..n];
        rows.error_ahead(i, self.model, bodies, self.look, self.work, c);
        if block.bound == Bound::Disk {
            let mut e = [0.0; 2];
            for k in 0..n {
                e[k] = (c[k] - rows.target[row + k]) * h_inv;
            }
            let p = rows.swept_friction(i, &e, false);
            let missing = rows.off_by(i, p, false) * self.look.h.abs();
            rows.gap[i] = missing;
            let part = if rows.slips(i, &e, false).is_some() { SLIP_PART } else { 1.0 };
            if sweep.wants_part(i, missing, tolerance, part) {
                rows.slip_with(i, p, false, bodies);
            }
            return;
        }
        if block.bound != Bound::None {
            let one_sided = block.bound != Bound::Friction;
            let (target, allowed) = block.bound.target(rows.target[row], tolerance);
            rows.gap[i] = if one_sided { c[0].max(0.0) } else { 0.0 };
            let k_inv = rows.k_inv[block.k];
            let p = rows.bounded(row, k_inv * (c[0] - target) * h_inv, rows.impulse[row]);
            let mut missing = p.abs() / (k_inv * h_inv.abs()).max(f64::MIN_POSITIVE);
            if one_sided && c[0] > target && p != 0.0 {
                missing = c[0] - Bound::counts_from(target, tolerance); // not from the target
            }
            if sweep.wants(i, missing, allowed) {
                let mut over = c[0] - target;
                if let Some(joint) = rows.carrier[i] {
                    let (row, n) = (rows.blocks[joint].first_row, rows.blocks[joint].n_rows);
                    let mut c = [0.0; small::MAX];
                    rows.error_ahead(joint, self.model, bodies, self.look, self.work, &mut c[..n]);
                    let tolerance = rows.blocks[joint].tolerance.unwrap_or(self.method.tolerance);
                    let part = sweep.part(norm(&c[..n]), tolerance.max(self.floor));
                    for k in 0..n {
                        over += rows.carry[i][k] * (c[k] - rows.target[row + k]) * part;
                    }
                }
                let row = rows.blocks[i].first_row;
                let p = rows.bounded(row, k_inv * over * h_inv, rows.impulse[row]);
                rows.apply_bounded(i, p, false, bodies);
            }
            return;
        }
        let gap = norm(c);
        rows.gap[i] = gap;
        if sweep.wants(i, gap, tolerance) {
            let part = sweep.part(gap, tolerance);
            for (c, target) in c.iter_mut().zip(&rows.target[row..row + n]) {
                *c = (*c - target) * (h_inv * part);
            }
            let mut p = [0.0; small::MAX];
            rows.solve(i, c, &mut p[..n]);
            rows.apply(i, &p[..n], bodies);
            for k in 0..n {
                rows.impulse[row + k] += p[k];
            }
        }
    }
}

/// Velocity correction of general rows.
struct VelocitySweep<'a> {
    tolerance: f64,
    bodies: &'a mut Bodies,
    rows: &'a mut Rows,
}

impl Swept for VelocitySweep<'_> {
    fn n_blocks(&self) -> usize {
        self.rows.blocks.len()
    }

    fn given_up(&self) -> bool {
        self.rows.stop.is_asked()
    }

    fn sweep(&mut self, sweep: &mut OneSweep) {
        for i in 0..self.n_blocks() {
            self.correct(i, sweep);
        }
    }

    fn impulses(&mut self) -> &[f64] {
        &self.rows.velocity_impulse
    }

    fn add(&mut self, delta: &mut [f64]) -> bool {
        self.rows.apply_all(delta, true, self.bodies)
    }
}

impl VelocitySweep<'_> {
    /// Looks at block `i` and corrects it as if it were alone, if `sweep` wants it.
    fn correct(&mut self, i: usize, sweep: &mut OneSweep) {
        let (rows, bodies) = (&mut *self.rows, &mut *self.bodies);
        if rows.inactive[i] {
            rows.velocity_error[i] = 0.0;
            return;
        }
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        let (mut e, mut p) = ([0.0; small::MAX], [0.0; small::MAX]);
        rows.error_rate(i, &bodies.twists, &mut e[..n]);
        if block.bound == Bound::Disk {
            let p = rows.swept_friction(i, &[e[0], e[1]], true);
            let missing = rows.off_by(i, p, true);
            rows.velocity_error[i] = missing;
            let slips = rows.slips(i, &[e[0], e[1]], true).is_some();
            let part = if slips { SLIP_PART } else { 1.0 };
            if sweep.wants_part(i, missing, self.tolerance, part) {
                rows.slip_with(i, p, true, bodies);
            }
            return;
        }
        if block.bound != Bound::None {
            let one_sided = block.bound != Bound::Friction;
            rows.velocity_error[i] = if one_sided { e[0].max(0.0) } else { 0.0 };
            let k_inv = rows.k_inv[block.k];
            let p = rows.bounded(row, k_inv * e[0], rows.velocity_impulse[row]);
            let missing = p.abs() / k_inv.max(f64::MIN_POSITIVE);
            if sweep.wants(i, missing, self.tolerance) {
                let mut over = e[0];
                if let Some(joint) = rows.carrier[i] {
                    let n = rows.blocks[joint].n_rows;
                    rows.error_rate(joint, &bodies.twists, &mut e[..n]);
                    over += rows.carry[i][..n].iter().zip(&e[..n]).map(|(m, e)| m * e).sum::<f64>();
                }
                let p = rows.bounded(row, k_inv * over, rows.velocity_impulse[row]);
                rows.apply_bounded(i, p, true, bodies);
            }
            return;
        }
        let error = norm(&e[..n]);
        rows.velocity_error[i] = error;
        if sweep.wants(i, error, self.tolerance) {
            rows.solve(i, &e[..n], &mut p[..n]);
            rows.apply(i, &p[..n], bodies);
            for k in 0..n {
                rows.velocity_impulse[row + k] += p[k];
            }
        }
    }
}

/// Position correction of ball joints.
struct BallSweep<'a> {
    method: &'a Method,
    look: &'a Look<'a>,
    floor: f64,
    balls: &'a mut Balls,
    /// Memory for the impulses.
    rows: &'a mut Rows,
}

impl Swept for BallSweep<'_> {
    fn n_blocks(&self) -> usize {
        self.rows.blocks.len()
    }

    fn given_up(&self) -> bool {
        self.rows.stop.is_asked()
    }

    fn sweep(&mut self, sweep: &mut OneSweep) {
        let (common, floor) = (self.method.tolerance, self.floor);
        let tolerance = |own: Option<f64>| WITHIN * own.unwrap_or(common).max(floor);
        let h = Some(self.look.h);
        let swept = self.balls.sweep(h, tolerance, sweep.all, sweep.slow);
        sweep.take(swept);
    }

    fn impulses(&mut self) -> &[f64] {
        self.balls.write_impulses(self.rows);
        &self.rows.solution
    }

    fn add(&mut self, delta: &mut [f64]) -> bool {
        self.balls.add(delta);
        false
    }
}

/// Velocity correction of ball joints.
struct BallVelocitySweep<'a> {
    tolerance: f64,
    balls: &'a mut Balls,
    rows: &'a mut Rows,
}

impl Swept for BallVelocitySweep<'_> {
    fn n_blocks(&self) -> usize {
        self.rows.blocks.len()
    }

    fn given_up(&self) -> bool {
        self.rows.stop.is_asked()
    }

    fn sweep(&mut self, sweep: &mut OneSweep) {
        let swept = self.balls.sweep(None, |_| WITHIN * self.tolerance, sweep.all, false);
        sweep.take(swept);
    }

    fn impulses(&mut self) -> &[f64] {
        self.balls.write_impulses(self.rows);
        &self.rows.solution
    }

    fn add(&mut self, delta: &mut [f64]) -> bool {
        self.balls.add(delta);
        false
    }
}

/// Sweeps until all blocks are closed and returns the corrections, or the worst block and the sweeps done.
fn sweeps(
    system: &mut impl Swept,
    mut anderson: Option<&mut Anderson>,
) -> Result<u64, (usize, u64)> {
    let n_blocks = system.n_blocks();
    let mut progress = Progress::new(n_blocks, anderson.is_some());
    let mut corrections = 0;
    let mut accelerate = false;
    loop {
        let mut sweep = OneSweep::new(progress.sweeps == 0 || accelerate, accelerate);
        if let (true, Some(anderson)) = (accelerate, &mut anderson) {
            anderson.before(system.impulses());
        }
        system.sweep(&mut sweep);
        let given_up = system.given_up();
        corrections += sweep.corrections;
        if sweep.corrections == 0 {
            return Ok(corrections);
        }
        if !progress.goes_on(sweep.worst, sweep.size) || given_up {
            return Err((sweep.worst_block, progress.sweeps));
        }
        let Some(anderson) = &mut anderson else { continue };
        if accelerate {
            let delta = anderson.after(system.impulses());
            // A row that has come to a bound no longer follows the trend.
            if system.add(delta) {
                anderson.reset();
            }
        }
        // All within tolerance while it swept: the next sweep only looks, and goes on if that did not hold.
        let slow = progress.sweeps >= PLAIN_SWEEPS && sweep.worst >= 1.0;
        if slow && !accelerate {
            anderson.reset();
        }
        accelerate = slow;
    }
}

impl Rows {
    /// What friction block `i` is to have as if it were alone: all that stops its rate `e` within its disk, else the
    /// projection of p − e/k.
    fn swept_friction(&self, i: usize, e: &[f64; 2], velocity: bool) -> [f64; 2] {
        let (row, n) = (self.blocks[i].first_row, self.blocks[i].n_rows);
        let sum = if velocity { &self.velocity_impulse } else { &self.impulse };
        let mut p = [0.0; 2];
        self.solve(i, &e[..n], &mut p[..n]);
        for k in 0..n {
            p[k] += sum[row + k];
        }
        let limit = self.disk_limit(i, velocity);
        if p[0].hypot(p[1]) <= limit {
            return p;
        }
        self.slips(i, e, velocity).unwrap_or_else(|| p.map(|x| x * (limit / p[0].hypot(p[1]))))
    }

    /// What to add to the impulse `p` of a bounded row that is too large by `excess`, within its bounds.
    #[inline]
    fn bounded(&self, row: usize, excess: f64, p: f64) -> f64 {
        (p - excess).clamp(self.lower[row], self.upper[row]) - p
    }
}

/// One sweep.
struct OneSweep {
    /// Correct every block, out of tolerance or not.
    all: bool,
    /// The sweeps are slow.
    slow: bool,
    corrections: u64,
    /// Worst error over tolerance, and whose it is.
    worst: f64,
    worst_block: usize,
    /// The same over tolerances that do not change with the mode of a block: what tells whether sweeps run away.
    size: f64,
}

impl OneSweep {
    fn new(all: bool, slow: bool) -> Self {
        OneSweep { all, slow, corrections: 0, worst: 0.0, worst_block: 0, size: 0.0 }
    }

    /// Notes the error of a block; true if it is to be corrected.
    #[inline]
    fn wants(&mut self, block: usize, error: f64, tolerance: f64) -> bool {
        self.wants_part(block, error, tolerance, 1.0)
    }

    /// The same with a part of the tolerance.
    #[inline]
    fn wants_part(&mut self, block: usize, error: f64, tolerance: f64, part: f64) -> bool {
        let relative = error / (part * tolerance);
        self.size = self.size.max(error / tolerance);
        // A NaN is worse than any number.
        if relative > self.worst || relative.is_nan() {
            self.worst = relative;
            self.worst_block = block;
        }
        let wanted = self.all || relative >= 1.0 || relative.is_nan();
        self.corrections += u64::from(wanted);
        wanted
    }
}

impl OneSweep {
    /// Which part of a position error to take away: all of it, but where sweeps are slow only what is out of tolerance.
    #[inline]
    fn part(&self, gap: f64, tolerance: f64) -> f64 {
        if self.slow { part_of_gap(gap / tolerance) } else { 1.0 }
    }

    /// Takes the corrections and the worst error of a sweep.
    fn take(&mut self, (corrections, worst): (u64, f64)) {
        (self.corrections, self.worst, self.size) = (corrections, worst, worst);
    }
}

/// The part of a gap that is out of tolerance, given as their ratio.
///
/// Slow directions are those that impulses hardly move. To take a gap within tolerance away in one step h there
/// would need speeds of gap/(h ε) that have nothing to do with the motion.
#[inline]
pub(crate) fn part_of_gap(ratio: f64) -> f64 {
    (1.0 - 0.9 / ratio).max(0.0)
}

/// Watches whether sweeps converge.
struct Progress {
    sweeps: u64,
    window: u64,
    window_end: u64,
    /// Worst error over tolerance of the first sweep.
    first: f64,
    /// The smallest so far, and what it was when the window began.
    best: f64,
    best_before: f64,
}

impl Progress {
    fn new(n_blocks: usize, accelerated: bool) -> Self {
        let patience = if accelerated { 1 } else { PLAIN_PATIENCE };
        let window = patience * (200 + 10 * n_blocks as u64);
        Progress {
            sweeps: 0,
            window,
            window_end: window,
            first: 0.0,
            best: f64::INFINITY,
            best_before: f64::INFINITY,
        }
    }

    /// Ends a sweep that was not yet closed; false: no use to go on.
    fn goes_on(&mut self, worst: f64, size: f64) -> bool {
        if self.sweeps == 0 {
            self.first = size.max(1.0);
        }
        self.sweeps += 1;
        self.best = self.best.min(worst);
        if !worst.is_finite() || size > 1e3 * self.first {
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
