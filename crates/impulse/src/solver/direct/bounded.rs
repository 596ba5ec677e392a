//! Looks at rows with bounds, for the tree of hinges: errors, and which blocks are at a bound that only an impulse beyond it would take away.

use gelenk_model::Model;

use crate::bounds::{Bound, SLIP_PART};
use crate::method::Method;
use crate::rows::{Look, Rows};
use crate::scratch::{Bodies, Scratch};
use crate::small;
use crate::solver::norm;

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

/// The larger of two; what is not a number is larger than any.
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}
