//! Friction whose limits follow the normal impulses within Newton's method.
//!
//! With the limits of the round before ([`Newton::settle`]) friction and normals that depend on each other, as where bodies lean on each other in
//! a row, approach each other slowly or not at all. Here the limit is that of the normal impulse of the same moment: with
//! y = p − D e, t̂ = y_t/|y_t|,
//!
//! ```text
//! p_n = min(y_n, 0),    p_t = y_t  or  −μ p_n t̂,      −∂p/∂e = | d_n        0                          |
//!                                                              | −μ d_n t̂   d_t (μ |p_n|/|y_t|)(1 − t̂ t̂ᵀ) |
//! ```
//! The matrix has no symmetry and there is no function to be made small but the residual's own size: \[Alart, Curnier 1991\].

use super::cholesky::Six;
use super::newton::{Near, Newton, Side, WEIGHT};
use super::pattern::{Island, Pattern};
use crate::bounds::Bound;
use crate::rows::Rows;
use crate::small;

/// Most halvings of a step that makes the residual larger.
const MOST_HALVINGS: u32 = 8;

/// What may be left of the residual, which is of the size D e, as a part of e.
const LEFT: f64 = 0.1;

/// Most steps of a try.
const MOST_STEPS: u64 = 10;

/// Most solves with trusted sides, and those of them in which friction turns.
const MOST_TRUSTED: u64 = 16;
const MOST_TURNS: u32 = 3;

/// Impulses that are off by so much more than the first ones have lost their way.
const MOST_GROWTH: f64 = 1e4;

/// The first part of the friction to be added, the smallest one, and most solves on the way.
const FIRST_PART: f64 = 0.25;
const LAST_PART: f64 = 1.0 / 128.0;
const MOST_FRICTION: u64 = 200;

/// Weight of the rows where the usual one does not settle.
const HEAVY: f64 = 1e7;

/// Numbers to go back to.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    p: Vec<f64>,
    e: Vec<f64>,
    centre: Vec<f64>,
    u: Vec<Six>,
}

impl Newton {
    /// Newton's method from the impulses there are, which are off by `worst`. Returns the number of solves and how far off they are then; where
    /// that is no better, nothing has changed.
    pub(super) fn try_coupled(
        &mut self,
        pattern: &Pattern,
        rows: &Rows,
        island: &Island,
        near: Near,
        worst: f64,
    ) -> (u64, f64) {
        self.keep(pattern, rows, island);
        let cones = std::mem::take(&mut self.cones);
        self.find_cones(pattern, rows, island);
        self.coupled = true;
        self.respond(pattern, rows, island);
        let first = self.residual(pattern, rows, island);
        let (mut solves, mut left) = (0, first);
        while solves < MOST_STEPS && left > LEFT / self.weight * first {
            let Some(after) = self.step_coupled(pattern, rows, island) else { break };
            solves += 1;
            let stalls = after > 0.9 * left;
            left = after;
            if stalls && left < first {
                break;
            }
        }
        self.take(pattern, rows, island);
        self.coupled = false;
        let after = self.worst(pattern, rows, island, near);
        self.cones = cones;
        self.find_cones(pattern, rows, island);
        if after < worst {
            return (solves, after);
        }
        self.go_back(pattern, rows, island);
        (solves, f64::INFINITY)
    }

    /// The same with sides that change only between solves, beginning with those that the guess tells: in smooth motion they are those of the step
    /// before, and a solve or two are all it takes. Later ones are those of p − e/K. (Within a round of [`Newton::settle`] they are those of
    /// p − r e/K, which follow every rate that is not closed yet.)
    pub(super) fn trust(
        &mut self,
        pattern: &Pattern,
        rows: &Rows,
        island: &Island,
        near: Near,
    ) -> (u64, bool) {
        let blocks = &pattern.blocks[island.blocks.0..island.blocks.1];
        let cones = std::mem::take(&mut self.cones);
        self.find_cones(pattern, rows, island);
        let worst = self.worst(pattern, rows, island, near);
        self.keep(pattern, rows, island);
        for &i in blocks {
            self.side[i] = self.trusted[i];
        }
        let mut solves = 0;
        let (mut after, mut before) = (worst, f64::INFINITY);
        while solves < MOST_TRUSTED {
            let mut first = 0.0;
            for step in 0..MOST_TURNS {
                for &i in blocks {
                    self.press_trusting(rows, i);
                }
                let left = self.residual(pattern, rows, island);
                first = if step == 0 { left } else { first };
                if !left.is_finite() || left <= LEFT / self.weight * first {
                    break;
                }
                self.assemble_coupled(pattern, rows, island);
                if !self.lu.factorize(pattern, island) {
                    break;
                }
                self.lu.solve(pattern, island, &mut self.step);
                self.pull_step(pattern, rows, island);
                self.go(pattern, rows, island, 1.0);
                solves += 1;
            }
            self.take(pattern, rows, island);
            after = self.worst(pattern, rows, island, near);
            if after < 1.0 || !after.is_finite() || after > MOST_GROWTH * worst {
                break;
            }
            let mut changed = false;
            for &i in blocks {
                let side = self.natural_side(rows, i);
                changed |= side != self.side[i];
                self.side[i] = side;
            }
            for &i in blocks {
                let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
                self.centre[row..row + n].copy_from_slice(&self.p[row..row + n]);
                if self.side[i] == Side::Given
                    && matches!(rows.blocks[i].bound, Bound::Contact | Bound::Disk)
                    && !rows.inactive[i]
                {
                    self.centre[row..row + n].fill(0.0);
                }
            }
            // What contradicts itself below the tolerance is left so.
            let slow = !changed && after > 0.5 * before;
            before = after;
            if slow && self.worst(pattern, rows, island, Near::ENOUGH) < 1.0 {
                after = 0.0;
                break;
            }
            if slow && self.weight >= HEAVY {
                break;
            }
            if slow {
                // Friction may turn the stress between contacts that say nearly the same into rates of the other sign, σ < 0, by which rounds with
                // r |σ| < 2 go astray.
                self.weight = HEAVY;
            }
        }
        self.weight = WEIGHT;
        self.cones = cones;
        self.find_cones(pattern, rows, island);
        if after < 1.0 {
            self.set_limits(pattern, rows, island);
            self.respond(pattern, rows, island);
        } else {
            self.go_back(pattern, rows, island);
        }
        (solves, after < 1.0)
    }

    /// From no friction, where the problem is convex, to all of it, in parts that are as large as [`trust`](Newton::trust) can follow. Returns the
    /// number of solves and whether that was all the way; if not, nothing has changed.
    pub(super) fn add_friction(
        &mut self,
        pattern: &Pattern,
        rows: &Rows,
        island: &Island,
        near: Near,
    ) -> (u64, bool) {
        let blocks = &pattern.blocks[island.blocks.0..island.blocks.1];
        let slides = |i: &usize| rows.blocks[*i].bound == Bound::Disk && !rows.inactive[*i];
        if !blocks.iter().any(slides) {
            return (0, false);
        }
        let begun = Kept {
            p: self.p.clone(),
            e: self.e.clone(),
            centre: self.centre.clone(),
            u: self.u.clone(),
        };
        self.missing = 1.0;
        let free = self.rounds(pattern, rows, island, near);
        let (mut solves, mut part) = (free.solves, FIRST_PART);
        let mut found = free.off < 1.0;
        while found && self.missing > 0.0 {
            self.trust_impulses(pattern, rows, island);
            if self.missing >= 1.0 {
                for &i in blocks.iter().filter(|i| slides(i)) {
                    self.trusted[i] = self.side_without_friction(rows, i);
                }
            }
            let before = self.missing;
            self.missing = (before - part).max(0.0);
            let (own, closed) = self.trust(pattern, rows, island, near);
            solves += own;
            if closed {
                part *= 2.0;
            } else {
                self.missing = before;
                part *= 0.5;
                found = part >= LAST_PART && solves < MOST_FRICTION;
            }
        }
        self.missing = 0.0;
        if !found {
            self.kept = begun;
            self.go_back(pattern, rows, island);
        }
        (solves, found)
    }

    /// What friction block `i` will do when there is some: what slides slips.
    fn side_without_friction(&self, rows: &Rows, i: usize) -> Side {
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        let slow = small::length(self.e[row], self.e[row + n - 1]) <= self.allowed[i];
        match self.side_of_guess(rows, rows.normal_of(i)) {
            Side::Given if !rows.inactive[rows.normal_of(i)] => Side::Given,
            _ if slow || n != 2 => Side::Holds,
            _ => Side::Slips,
        }
    }

    /// The side of a block by p − e/K.
    fn natural_side(&self, rows: &Rows, i: usize) -> Side {
        let block = &rows.blocks[i];
        let (row, n, k) = (block.first_row, block.n_rows, self.stiffness[i]);
        if rows.inactive[i] || block.bound != Bound::None && k <= 0.0 {
            return Side::Given;
        }
        match block.bound {
            Bound::None => Side::Holds,
            Bound::Disk => {
                let (normal, ratio) = self.disk_ratio(rows, i);
                // A normal that is about to leave carries nothing.
                let block = rows.normal_of(i);
                let leaves = !rows.inactive[block] && self.side[block] == Side::Given;
                let limit = if leaves { 0.0 } else { ratio * self.p[normal].abs() };
                let mut x = [0.0; 2];
                for a in 0..n {
                    x[a] = self.p[row + a] - self.e[row + a] / k;
                }
                if small::length(x[0], x[1]) <= limit {
                    Side::Holds
                } else if limit > 0.0 && n == 2 {
                    Side::Slips
                } else {
                    Side::Given
                }
            }
            _ => {
                let x = self.p[row] - self.e[row] / k;
                let inside = x > rows.lower[row] && x < rows.upper[row];
                if inside { Side::Holds } else { Side::Given }
            }
        }
    }

    /// What a block would have on the side it is taken to be.
    fn press_trusting(&mut self, rows: &Rows, i: usize) {
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        match self.side[i] {
            Side::Given => self.next[row..row + n].copy_from_slice(&self.centre[row..row + n]),
            Side::Holds if block.bound == Bound::None => {
                for a in 0..n {
                    let k_inv = &self.k_inv[block.k + a * n..][..n];
                    let sum: f64 = (0..n).map(|b| k_inv[b] * self.e[row + b]).sum();
                    self.next[row + a] = self.centre[row + a] - self.weight * sum;
                }
            }
            Side::Holds => {
                let weight = self.weight / self.stiffness[i];
                for a in row..row + n {
                    self.next[a] = self.centre[a] - weight * self.e[a];
                }
            }
            Side::Slips => {
                let (normal, ratio) = self.disk_ratio(rows, i);
                self.limit[i] = ratio * self.next[normal].abs();
                let (x, _) = self.slipping(rows, i);
                for a in 0..n {
                    self.next[row + a] = self.limit[i] * x[a];
                }
            }
        }
    }

    /// Keeps the numbers of an island, and takes its impulses as centres.
    fn keep(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        self.kept.p.clone_from(&self.p);
        self.kept.e.clone_from(&self.e);
        self.kept.centre.clone_from(&self.centre);
        self.kept.u.clone_from(&self.u);
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            self.centre[row..row + n].copy_from_slice(&self.p[row..row + n]);
        }
    }

    /// Goes back to the numbers kept.
    fn go_back(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        std::mem::swap(&mut self.kept.p, &mut self.p);
        std::mem::swap(&mut self.kept.e, &mut self.e);
        std::mem::swap(&mut self.kept.centre, &mut self.centre);
        std::mem::swap(&mut self.kept.u, &mut self.u);
        self.set_limits(pattern, rows, island);
        self.respond(pattern, rows, island);
    }

    /// One step of Newton's method from the rates there are; what is left of the residual, or none where it leads nowhere.
    fn step_coupled(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) -> Option<f64> {
        self.assemble_coupled(pattern, rows, island);
        if !self.lu.factorize(pattern, island) {
            return None;
        }
        let before = self.residual(pattern, rows, island);
        self.lu.solve(pattern, island, &mut self.step);
        let columns = island.columns.0..island.columns.1;
        self.direction.resize(self.step.len(), [0.0; 6]);
        self.direction[columns.clone()].copy_from_slice(&self.step[columns.clone()]);
        self.pull_step(pattern, rows, island);
        let (mut alpha, mut best) = (1.0, (0.0, f64::INFINITY));
        let mut at = 0.0;
        for _ in 0..MOST_HALVINGS {
            self.go_along(pattern, rows, island, alpha - at);
            at = alpha;
            self.respond(pattern, rows, island);
            let after = self.residual(pattern, rows, island);
            if after < best.1 {
                best = (alpha, after);
            }
            if after <= (1.0 - 0.1 * alpha) * before {
                return Some(after);
            }
            alpha *= 0.5;
        }
        if !best.1.is_finite() {
            return None;
        }
        // At a kink every direction may go up: the least of them, to see more of it from there.
        self.go_along(pattern, rows, island, best.0 - at);
        self.respond(pattern, rows, island);
        Some(best.1)
    }

    fn go_along(&mut self, pattern: &Pattern, rows: &Rows, island: &Island, alpha: f64) {
        let columns = island.columns.0..island.columns.1;
        self.step[columns.clone()].copy_from_slice(&self.direction[columns]);
        self.go(pattern, rows, island, alpha);
    }

    /// −∂p/∂e of a block of contact, with its friction where it is a normal: n × n, row-major.
    fn slopes(&self, rows: &Rows, i: usize, d: &mut [f64; small::MAX * small::MAX]) -> usize {
        let block = &rows.blocks[i];
        let n = block.n_rows;
        match (block.bound, self.side[i]) {
            (_, Side::Given) => {}
            (Bound::None, _) => {
                for (d, k) in d.iter_mut().zip(&self.k_inv[block.k..block.k + n * n]) {
                    *d = self.weight * k;
                }
            }
            (_, Side::Holds) => {
                for a in 0..n {
                    d[a * n + a] = self.weight / self.stiffness[i];
                }
            }
            (_, Side::Slips) => {
                let (x, size) = self.slipping(rows, i);
                let w = self.weight / self.stiffness[i] * self.limit[i] / size;
                if n == 2 {
                    let (c, s) = (x[0], x[1]);
                    d[..4].copy_from_slice(&[w * s * s, -w * c * s, -w * c * s, w * c * c]);
                }
            }
        }
        n
    }

    /// The direction of y_t of friction that slips, and its size.
    fn slipping(&self, rows: &Rows, i: usize) -> ([f64; 2], f64) {
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        let weight = self.weight / self.stiffness[i];
        let mut x = [0.0; 2];
        for a in 0..n {
            x[a] = self.centre[row + a] - weight * self.e[row + a];
        }
        let size = small::length(x[0], x[1]);
        (x.map(|x| x / size), size)
    }

    /// H = 1 + Ĵᵀ (−∂p/∂e) Ĵ.
    fn assemble_coupled(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        self.lu.reset(pattern, island);
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            let block = &rows.blocks[i];
            let mut d = [0.0; small::MAX * small::MAX];
            if self.side[i] == Side::Given {
                continue;
            }
            let n = self.slopes(rows, i, &mut d);
            self.add_to_h(pattern, rows, i, (block.jac, n), (block.jac, n), &d);
            if self.side[i] == Side::Slips {
                // The limit follows the normal impulse, where that is free to.
                let normal = rows.normal_of(i);
                if self.side[normal] == Side::Holds {
                    let ratio = self.disk_ratio(rows, i).1;
                    let (x, _) = self.slipping(rows, i);
                    let weight = self.weight / self.stiffness[normal];
                    let mut d = [0.0; small::MAX * small::MAX];
                    for a in 0..n {
                        d[a] = -ratio * weight * x[a];
                    }
                    self.add_to_h(
                        pattern,
                        rows,
                        i,
                        (block.jac, n),
                        (rows.blocks[normal].jac, 1),
                        &d,
                    );
                }
            }
        }
    }

    /// H += Ĵ_leftᵀ d Ĵ_right; both of the bodies of block `i`, given by where their rows begin and how many they are.
    fn add_to_h(
        &mut self,
        pattern: &Pattern,
        rows: &Rows,
        i: usize,
        left: (usize, usize),
        right: (usize, usize),
        d: &[f64],
    ) {
        let block = &rows.blocks[i];
        let width = 6 * block.n_bodies;
        let columns = &pattern.columns[block.first_body..];
        for pair in &pattern.pairs[pattern.first_pair[i]..pattern.first_pair[i + 1]] {
            let same = columns[pair.slot_a] == columns[pair.slot_b];
            let jac = &self.jac;
            let add = |slot_a: usize, slot_b: usize, target: &mut [f64; 36]| {
                for a in 0..left.1 {
                    let mut weighted = [0.0; 6];
                    for b in 0..right.1 {
                        let w = d[a * right.1 + b];
                        let jac = &jac[right.0 + b * width + 6 * slot_b..][..6];
                        for k in 0..6 {
                            weighted[k] += w * jac[k];
                        }
                    }
                    let jac = &jac[left.0 + a * width + 6 * slot_a..][..6];
                    for k in 0..6 {
                        for m in 0..6 {
                            target[6 * k + m] += jac[k] * weighted[m];
                        }
                    }
                }
            };
            if same {
                add(pair.slot_a, pair.slot_b, &mut self.lu.diagonal[pair.place]);
            } else {
                add(pair.slot_a, pair.slot_b, &mut self.lu.below[pair.place]);
                add(pair.slot_b, pair.slot_a, &mut self.lu.above[pair.place]);
            }
        }
    }
}
