//! Sweeps over the blocks of an island, where Newton's method has to be shown the way.
//!
//! Each block in turn takes the impulse that its own rate asks for, within its bounds: p ← P(p − e/K), \[Moreau 1988\], \[Jean 1999\]. That finds
//! slowly, but from anywhere, who slips, holds and leaves.

use super::newton::{Newton, pull, push};
use super::pattern::{Island, Pattern};
use crate::bounds::Bound;
use crate::rows::Rows;
use crate::small;

/// Sweeps end where impulses change by less than this part of what they began with, seen as rates.
const SMALL: f64 = 1e-6;

impl Newton {
    /// At most `most` sweeps, forwards and backwards in turn, from the impulses and rates there are.
    pub(super) fn sweep(&mut self, pattern: &Pattern, rows: &Rows, island: &Island, most: u32) {
        let blocks = &pattern.blocks[island.blocks.0..island.blocks.1];
        // The part of the rates that impulses do not change, in e_step.
        for &i in blocks {
            let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
            pull(&self.jac, &self.u, pattern, rows, i, &mut self.e_step, false);
            for k in row..row + n {
                self.e_step[k] = self.e[k] - self.e_step[k];
            }
        }
        let mut first = 0.0;
        for sweep in 0..most {
            let mut change = 0.0_f64;
            for k in 0..blocks.len() {
                let i = blocks[if sweep % 2 == 0 { k } else { blocks.len() - 1 - k }];
                if !rows.inactive[i] {
                    change = change.max(self.sweep_block(pattern, rows, i));
                }
            }
            first = if sweep == 0 { change } else { first };
            if change <= SMALL * first || change.is_nan() {
                break;
            }
        }
        for &i in blocks {
            self.rate_of(pattern, rows, i);
        }
    }

    /// e of a block at the velocities u.
    fn rate_of(&mut self, pattern: &Pattern, rows: &Rows, i: usize) {
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        self.e[row..row + n].copy_from_slice(&self.e_step[row..row + n]);
        pull(&self.jac, &self.u, pattern, rows, i, &mut self.e, true);
    }

    /// P(p − e/K) of a block; how much that changes its rate.
    fn sweep_block(&mut self, pattern: &Pattern, rows: &Rows, i: usize) -> f64 {
        let block = &rows.blocks[i];
        let (row, n) = (block.first_row, block.n_rows);
        self.rate_of(pattern, rows, i);
        let k = self.stiffness[i];
        if block.bound == Bound::None {
            for a in 0..n {
                let k_inv = &self.k_inv[block.k + a * n..][..n];
                self.next[row + a] = -(0..n).map(|b| k_inv[b] * self.e[row + b]).sum::<f64>();
            }
        } else if k <= 0.0 {
            return 0.0;
        } else {
            let mut x = [0.0; 2];
            for a in 0..n {
                x[a] = self.p[row + a] - self.e[row + a] / k;
            }
            if block.bound == Bound::Disk {
                let (normal, ratio) = self.disk_ratio(rows, i);
                let limit = ratio * self.p[normal].abs();
                let size = small::length(x[0], x[1]);
                if size > limit {
                    x = x.map(|x| x * (limit / size));
                }
            } else {
                x[0] = x[0].clamp(rows.lower[row], rows.upper[row]);
            }
            for a in 0..n {
                self.next[row + a] = x[a] - self.p[row + a];
            }
        }
        // The change, in `next`.
        push(&self.jac, &self.next, pattern, rows, i, 1.0, &mut self.u);
        let mut change = 0.0_f64;
        for a in row..row + n {
            self.p[a] += self.next[a];
            let rate = if block.bound == Bound::None { self.e[a] } else { k * self.next[a] };
            change = change.max(rate.abs());
        }
        change
    }
}
