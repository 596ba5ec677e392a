//! Rows with bounds beside joints with loops: the joints are eliminated by the factor of their own K, and what is left is a small dense problem.
//!
//! ```text
//! G = J_b (M⁻¹ − M⁻¹ J_jᵀ K⁻¹ J_j M⁻¹) J_bᵀ,   K = J_j M⁻¹ J_jᵀ            j: joints, b: rows with bounds
//! p = P(p − e/k),   e = e₀ + G (p − p₀)                                      P: the projection on the bounds of each block
//! ```
//! by Newton's method \[Alart, Curnier 1991\]. As a fixed point, row by row, this takes hundreds of rounds in a machine: a push at a light foot moves the
//! foot alone until the joints have answered. G has their answer.

use gelenk_model::state::Twist;

use super::Factor;
use crate::bounds::Bound;
use crate::rows::Rows;
use crate::scratch::{Bodies, Scratch};
use crate::small;

/// Most rows with bounds; more are left to others.
const MOST_ROWS: usize = 60;

/// Most rounds of Newton's method, and after how many of them sweeps help.
const MOST_ROUNDS: u32 = 40;
const SWEEP_AT: u32 = 12;
const SWEEPS: u32 = 100;

/// How far impulses may be from their projections, as a part of the rates there are to begin with.
const NEAR: f64 = 1e-10;

/// What rows that say the same share is not determined: this part of their own response keeps it near to what it was.
const SHARED: f64 = 1e-9;

/// A block with bounds.
#[derive(Clone, Copy, Debug)]
struct Part {
    block: usize,
    /// First among the rows with bounds, and how many.
    first: usize,
    n: usize,
    /// Of friction at a contact: the row of its normal, and the largest ratio to its impulse.
    normal: Option<(usize, f64)>,
    /// Largest response of its rows to themselves.
    k: f64,
}

/// Memory of the dense problem.
#[derive(Clone, Debug, Default)]
pub(crate) struct Law {
    parts: Vec<Part>,
    /// The rows with bounds that take part. (n)
    rows: Vec<usize>,
    /// Row by row. (n × n)
    g: Vec<f64>,
    /// Whether G is that of the present rows, and the blocks that were out of K.
    pub(crate) ready: bool,
    made_for: Vec<bool>,
    made_rows: Vec<usize>,
    /// Impulses and rates before, and now. (n)
    p0: Vec<f64>,
    p: Vec<f64>,
    e0: Vec<f64>,
    e: Vec<f64>,
    /// The linear system, and its right side. (n × n, n)
    matrix: Vec<f64>,
    right: Vec<f64>,
    /// Right side of the joints, and the velocities to come back to. (n_rows, n_bodies)
    error: Vec<f64>,
    saved: Vec<Twist>,
}

/// Closes the linear problem of the last look where bodies touch, e + J (v − v₀) = 0 within the bounds, `rows.error` being −e. False where it does not find the
/// impulses; then joints are closed, and nothing else is done. None, and nothing done at all, where nothing touches or too much does, or joints make a tree.
pub(super) fn settle(scratch: &mut Scratch, velocity: bool) -> Option<bool> {
    if scratch.tree.is_some() || scratch.rows.contacts.is_empty() {
        return None;
    }
    let mut law = scratch.law.take().unwrap_or_default();
    let found = law.take(&scratch.rows).then(|| law.settle(scratch, velocity));
    scratch.law = Some(law);
    found
}

impl Law {
    fn settle(&mut self, scratch: &mut Scratch, velocity: bool) -> bool {
        let Scratch { bodies, rows, direct, .. } = scratch;
        let mut e = [0.0; small::MAX];
        for i in 0..rows.blocks.len() {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            rows.out[i] = rows.inactive[i] || rows.blocks[i].bound != Bound::None;
            rows.error_rate(i, &bodies.twists, &mut e[..n]);
            for k in 0..n {
                rows.wanted[row + k] = rows.error[row + k] + e[k];
            }
        }
        let factor = direct.get_or_insert_with(|| Box::new(Factor::new(rows, &bodies.fixed)));
        factor.refresh_without(rows);
        self.close_joints(factor, rows, bodies, velocity);
        if !self.ready || self.made_for != rows.out || self.made_rows != self.rows {
            self.respond(factor, rows, bodies);
        }
        let n = self.rows.len();
        for part in &mut self.parts {
            let own = part.first..part.first + part.n;
            part.k = own.map(|k| self.g[k * n + k]).fold(0.0, f64::max);
            if !(part.k > 0.0 && part.k.is_finite()) {
                return false;
            }
            rows.error_rate(part.block, &bodies.twists, &mut e[..part.n]);
            let first_row = rows.blocks[part.block].first_row;
            let now = if velocity { &rows.velocity_impulse } else { &rows.impulse };
            for a in 0..part.n {
                self.e0[part.first + a] = e[a] - rows.wanted[first_row + a];
                self.p0[part.first + a] = now[first_row + a];
            }
        }
        if !self.find(rows) {
            return false;
        }
        for part in &self.parts {
            let mut delta = [0.0; small::MAX];
            let first_row = rows.blocks[part.block].first_row;
            let now = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
            for a in 0..part.n {
                delta[a] = self.p[part.first + a] - self.p0[part.first + a];
                now[first_row + a] = self.p[part.first + a];
            }
            rows.apply(part.block, &delta[..part.n], bodies);
        }
        self.close_joints(factor, rows, bodies, velocity);
        true
    }

    /// Takes the blocks with bounds that are active; false if there are none, or too many rows.
    fn take(&mut self, rows: &Rows) -> bool {
        self.parts.clear();
        self.rows.clear();
        for (i, block) in rows.blocks.iter().enumerate() {
            if rows.inactive[i] || block.bound == Bound::None {
                continue;
            }
            let normal = (block.bound == Bound::Disk).then(|| {
                let (row, ratio) = rows.disk_ratio(i);
                (self.rows.iter().position(|own| *own == row).unwrap_or(usize::MAX), ratio)
            });
            if normal.is_some_and(|(row, _)| row == usize::MAX) {
                return false;
            }
            let (first, n) = (self.rows.len(), block.n_rows);
            self.rows.extend(block.first_row..block.first_row + n);
            self.parts.push(Part { block: i, first, n, normal, k: 0.0 });
        }
        let n = self.rows.len();
        for numbers in [&mut self.p0, &mut self.p, &mut self.e0, &mut self.e, &mut self.right] {
            numbers.resize(n, 0.0);
        }
        self.error.resize(rows.error.len(), 0.0);
        n > 0 && n <= MOST_ROWS
    }

    /// Gives the joints the impulses that bring their rates to those wanted.
    fn close_joints(
        &mut self,
        factor: &mut Factor,
        rows: &mut Rows,
        bodies: &mut Bodies,
        velocity: bool,
    ) {
        let mut e = [0.0; small::MAX];
        self.error.fill(0.0);
        for (i, block) in rows.blocks.iter().enumerate().filter(|(i, _)| !rows.out[*i]) {
            let (row, n) = (block.first_row, block.n_rows);
            rows.error_rate(i, &bodies.twists, &mut e[..n]);
            for k in 0..n {
                self.error[row + k] = rows.wanted[row + k] - e[k];
            }
        }
        factor.solve(&self.error, &mut rows.solution);
        for i in 0..rows.blocks.len() {
            if rows.out[i] {
                continue;
            }
            let own = rows.blocks[i].first_row..rows.blocks[i].first_row + rows.blocks[i].n_rows;
            let sum = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
            for k in own.clone() {
                sum[k] += rows.solution[k];
            }
            rows.apply(i, &rows.solution[own], bodies);
        }
    }

    /// G, column by column: an impulse 1 of a row, and what the joints answer.
    fn respond(&mut self, factor: &mut Factor, rows: &mut Rows, bodies: &mut Bodies) {
        let n = self.rows.len();
        self.g.resize(n * n, 0.0);
        self.saved.clone_from(&bodies.twists);
        let mut e = [0.0; small::MAX];
        for part in &self.parts {
            for a in 0..part.n {
                bodies.twists.fill(Twist::zero());
                let mut unit = [0.0; small::MAX];
                unit[a] = 1.0;
                rows.apply(part.block, &unit[..part.n], bodies);
                self.error.fill(0.0);
                for (i, block) in rows.blocks.iter().enumerate().filter(|(i, _)| !rows.out[*i]) {
                    rows.error_rate(i, &bodies.twists, &mut e[..block.n_rows]);
                    for k in 0..block.n_rows {
                        let row = block.first_row + k;
                        self.error[row] = rows.c_t[row] - e[k];
                    }
                }
                factor.solve(&self.error, &mut rows.solution);
                for (i, block) in rows.blocks.iter().enumerate().filter(|(i, _)| !rows.out[*i]) {
                    rows.apply(i, &rows.solution[block.first_row..][..block.n_rows], bodies);
                }
                for other in &self.parts {
                    rows.error_rate(other.block, &bodies.twists, &mut e[..other.n]);
                    let first_row = rows.blocks[other.block].first_row;
                    for b in 0..other.n {
                        self.g[(other.first + b) * n + part.first + a] =
                            e[b] - rows.c_t[first_row + b];
                    }
                }
            }
        }
        bodies.twists.copy_from_slice(&self.saved);
        for i in 0..bodies.twists.len() {
            bodies.touch(i);
        }
        self.made_for.clone_from(&rows.out);
        self.made_rows.clone_from(&self.rows);
        self.ready = true;
    }

    /// Finds the impulses that fit the law.
    fn find(&mut self, rows: &Rows) -> bool {
        self.p.copy_from_slice(&self.p0);
        let size = self.e0.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        for round in 0..MOST_ROUNDS {
            self.follow();
            let off = self.linearize(rows);
            if off <= NEAR * size {
                return true;
            }
            if !off.is_finite() {
                return false;
            }
            if round % SWEEP_AT == SWEEP_AT - 1 {
                self.sweep(rows);
                continue;
            }
            if !solve_dense(&mut self.matrix, &mut self.right) {
                return false;
            }
            for (p, step) in self.p.iter_mut().zip(&self.right) {
                *p += step;
            }
        }
        false
    }

    /// e = e₀ + G (p − p₀).
    fn follow(&mut self) {
        let n = self.p.len();
        for r in 0..n {
            let row = &self.g[r * n..][..n];
            let steps = self.p.iter().zip(&self.p0).map(|(p, p0)| p - p0);
            self.e[r] = self.e0[r] + row.iter().zip(steps).map(|(g, d)| g * d).sum::<f64>();
        }
    }

    /// x = p − e/k of friction at a contact, its length, the limit, and how that changes with the normal impulse.
    fn slip(&self, part: &Part) -> ([f64; 2], f64, f64, f64) {
        let mut x = [0.0; 2];
        for a in 0..part.n {
            x[a] = self.p[part.first + a] - self.e[part.first + a] / part.k;
        }
        let (normal, ratio) = part.normal.unwrap_or((part.first, 0.0));
        let sign = if self.p[normal] > 0.0 { 1.0 } else { -1.0 };
        (x, small::length(x[0], x[1]), ratio * self.p[normal].abs(), ratio * sign)
    }

    /// The matrix and right side of Newton's method; returns how far impulses are from their projections, as a rate.
    fn linearize(&mut self, rows: &Rows) -> f64 {
        let n = self.p.len();
        self.matrix.clear();
        self.matrix.resize(n * n, 0.0);
        let mut off = 0.0_f64;
        let mut note = |x: f64| off = if x > off || x.is_nan() { x } else { off };
        for k in 0..self.parts.len() {
            let part = self.parts[k];
            match part.normal {
                None => {
                    let r = part.first;
                    let row = self.rows[r];
                    let x = self.p[r] - self.e[r] / part.k;
                    let to = x.clamp(rows.lower[row], rows.upper[row]);
                    note((to - self.p[r]).abs() * part.k);
                    if to.total_cmp(&x).is_ne() {
                        self.matrix[r * n + r] = 1.0;
                        self.right[r] = to - self.p[r];
                    } else {
                        self.hold(r, part.k);
                    }
                }
                Some((normal, _)) => {
                    let (x, length, limit, rises) = self.slip(&part);
                    if length <= limit {
                        for a in 0..part.n {
                            note(self.e[part.first + a].abs());
                            self.hold(part.first + a, part.k);
                        }
                        continue;
                    }
                    let x = x.map(|x| x / length);
                    let c = limit / length;
                    for a in 0..part.n {
                        let r = part.first + a;
                        note((limit * x[a] - self.p[r]).abs() * part.k);
                        self.right[r] = limit * x[a] - self.p[r];
                        self.matrix[r * n + r] += 1.0;
                        for b in 0..part.n {
                            let across = c * (f64::from(u8::from(a == b)) - x[a] * x[b]);
                            self.matrix[r * n + part.first + b] -= across;
                            for m in 0..n {
                                self.matrix[r * n + m] +=
                                    across / part.k * self.g[(part.first + b) * n + m];
                            }
                        }
                        self.matrix[r * n + normal] -= rises * x[a];
                    }
                }
            }
        }
        off
    }

    /// The equation of a row that holds.
    fn hold(&mut self, r: usize, k: f64) {
        let n = self.p.len();
        self.matrix[r * n..][..n].copy_from_slice(&self.g[r * n..][..n]);
        self.matrix[r * n + r] += SHARED * k;
        self.right[r] = -self.e[r];
    }

    /// Gauss-Seidel on the same projections, from sides that Newton does not get out of.
    fn sweep(&mut self, rows: &Rows) {
        let n = self.p.len();
        for _ in 0..SWEEPS {
            for k in 0..self.parts.len() {
                let part = self.parts[k];
                let mut to = [0.0; 2];
                if part.normal.is_some() {
                    let (x, length, limit, _) = self.slip(&part);
                    to = if length > limit { x.map(|x| x * (limit / length)) } else { x };
                } else {
                    let row = self.rows[part.first];
                    let x = self.p[part.first] - self.e[part.first] / part.k;
                    to[0] = x.clamp(rows.lower[row], rows.upper[row]);
                }
                for a in 0..part.n {
                    let r = part.first + a;
                    let step = to[a] - self.p[r];
                    self.p[r] = to[a];
                    for m in 0..n {
                        self.e[m] += self.g[m * n + r] * step;
                    }
                }
            }
        }
    }
}

/// Solves a x = b by elimination with pivots, x in the place of b; false where a is singular.
fn solve_dense(a: &mut [f64], b: &mut [f64]) -> bool {
    let n = b.len();
    for k in 0..n {
        let best = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs()));
        let pivot = best.unwrap_or(k);
        if pivot != k {
            for m in 0..n {
                a.swap(k * n + m, pivot * n + m);
            }
            b.swap(k, pivot);
        }
        let d = a[k * n + k];
        if d == 0.0 || !d.is_finite() {
            return false;
        }
        for i in k + 1..n {
            let f = a[i * n + k] / d;
            if f == 0.0 {
                continue;
            }
            for m in k + 1..n {
                a[i * n + m] -= f * a[k * n + m];
            }
            b[i] -= f * b[k];
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|m| a[k * n + m] * b[m]).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 x + y = 5, x + 2 y = 5 with the pivot in the second row first.
    #[test]
    fn solves_with_pivots() {
        let mut b = [4.0, 5.0, 5.0];
        let mut a = [0.0, 0.0, 2.0, 3.0, 1.0, 0.0, 1.0, 2.0, 0.0];
        assert!(solve_dense(&mut a, &mut b));
        for (x, y) in b.iter().zip([1.0, 2.0, 2.0]) {
            assert!((x - y).abs() < 1e-15, "{b:?}");
        }
        assert!(!solve_dense(&mut [1.0, 2.0, 2.0, 4.0], &mut [1.0, 2.0]));
    }
}
