//! Stress between contacts that say the same.
//!
//! A body that stands on two corners and is held at two others has more friction than it needs: how the corners share it is not determined by the
//! motion. What the guess has of such stress stays through all solves, and what rounding adds to it adds up over many steps, until a corner slips
//! that need not. So the impulses that a solve begins with are the least ones that do the same to the bodies,
//!
//! ```text
//! ½ pᵀ D⁻¹ p least with Ĵᵀ p = u:      p = D Ĵ λ,   λ = (1 + Ĵᵀ D Ĵ)⁻¹ u
//! ```
//! with 1 in place of a small number, which leaves 1/(r σ) of u (see [`WEIGHT`]) for the solve to find.

use super::newton::{Newton, Side, WEIGHT, pull, push};
use super::pattern::{Island, Pattern};
use crate::bounds::Bound;
use crate::rows::Rows;
use crate::small;

impl Newton {
    /// Takes the stress out of the impulses of an island; rates follow.
    pub(super) fn relax(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        let blocks = &pattern.blocks[island.blocks.0..island.blocks.1];
        self.trusted.resize(rows.blocks.len(), Side::Given);
        let idle = |&i: &usize| {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            self.p[row..row + n].iter().all(|p| *p == 0.0)
        };
        if blocks.iter().all(idle) {
            for &i in blocks {
                self.trusted[i] = self.side_of_rates(rows, i);
            }
            return;
        }
        let cones = std::mem::take(&mut self.cones);
        self.find_cones(pattern, rows, island);
        self.cones = cones;
        let columns = island.columns.0..island.columns.1;
        // What is left of u for those that take part.
        self.step[columns.clone()].copy_from_slice(&self.u[columns.clone()]);
        for &i in blocks {
            self.trusted[i] = self.side_of_guess(rows, i);
            // What slips keeps its impulse.
            let holds = self.trusted[i] == Side::Holds;
            self.side[i] = if holds { Side::Holds } else { Side::Given };
            if !rows.inactive[i] && !holds {
                push(&self.jac, &self.p, pattern, rows, i, -1.0, &mut self.step);
            }
        }
        self.assemble(pattern, rows, island);
        self.factor.factorize(pattern, island);
        self.factor.solve(pattern, island, &mut self.step);
        self.pull_step(pattern, rows, island);
        for &i in blocks.iter().filter(|&&i| self.side[i] == Side::Holds) {
            let block = &rows.blocks[i];
            let (row, n) = (block.first_row, block.n_rows);
            if block.bound == Bound::None {
                for a in 0..n {
                    let k_inv = &self.k_inv[block.k + a * n..][..n];
                    let sum: f64 = (0..n).map(|b| k_inv[b] * self.e_step[row + b]).sum();
                    self.p[row + a] = WEIGHT * sum;
                }
                continue;
            }
            let weight = WEIGHT / self.stiffness[i];
            for a in row..row + n {
                self.p[a] = (weight * self.e_step[a]).clamp(rows.lower[a], rows.upper[a]);
            }
            if block.bound == Bound::Disk {
                let (normal, ratio) = self.disk_ratio(rows, i);
                let limit = ratio * self.p[normal].abs();
                let size = small::length(self.p[row], self.p[row + n - 1]);
                let size = if n == 1 { self.p[row].abs() } else { size };
                if size > limit {
                    for p in &mut self.p[row..row + n] {
                        *p *= limit / size;
                    }
                }
            }
        }
        // Rates by the change of u.
        for k in columns.clone() {
            self.step[k] = self.u[k].map(|u| -u);
        }
        self.begin(pattern, rows, island);
        for k in columns {
            for m in 0..6 {
                self.step[k][m] += self.u[k][m];
            }
        }
        for &i in blocks {
            pull(&self.jac, &self.step, pattern, rows, i, &mut self.e, true);
        }
    }

    /// Takes the sides that the impulses tell as those to trust.
    pub(super) fn trust_impulses(&mut self, pattern: &Pattern, rows: &Rows, island: &Island) {
        self.trusted.resize(rows.blocks.len(), Side::Given);
        for &i in &pattern.blocks[island.blocks.0..island.blocks.1] {
            self.trusted[i] = self.side_of_guess(rows, i);
        }
    }

    /// What a block will do at an impact by the rates before it: what touches holds, what slides slips.
    fn side_of_rates(&self, rows: &Rows, i: usize) -> Side {
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        let slow = 10.0 * self.allowed[i];
        if rows.inactive[i] || block.bound != Bound::None && self.stiffness[i] <= 0.0 {
            return Side::Given;
        }
        match block.bound {
            Bound::None => Side::Holds,
            Bound::Disk if self.e[row..row + n].iter().any(|e| e.abs() > slow) && n == 2 => {
                Side::Slips
            }
            Bound::Disk => Side::Holds,
            _ if self.e[row] > -slow => Side::Holds,
            _ => Side::Given,
        }
    }

    /// What a block did by its impulses.
    pub(super) fn side_of_guess(&self, rows: &Rows, i: usize) -> Side {
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        if rows.inactive[i] {
            return Side::Given;
        }
        let p = &self.p[row..row + n];
        match block.bound {
            Bound::None => Side::Holds,
            _ if self.stiffness[i] <= 0.0 => Side::Given,
            Bound::Disk => {
                let (normal, ratio) = self.disk_ratio(rows, i);
                let limit = ratio * self.p[normal].abs();
                let size = if n == 2 { small::length(p[0], p[1]) } else { p[0].abs() };
                if limit <= 0.0 {
                    Side::Given
                } else if size >= limit * (1.0 - 1e-6) {
                    Side::Slips
                } else {
                    Side::Holds
                }
            }
            _ if p[0] > rows.lower[row] && p[0] < rows.upper[row] => Side::Holds,
            _ => Side::Given,
        }
    }
}
