//! Loops that ask for more than their bodies can do.
//!
//! Rows J_L that close loops may depend on each other, as the three of a ball joint that closes a chain of parallel hinges. What they ask for, b, then has to lie
//! in the range of G = J_L M⁻¹ J_Lᵀ, or no impulse gives it: with z ⊥ range G, zᵀ b ≠ 0 stays open whatever is tried, and rows that share impulses with
//! it flip to and fro. The linear rates of a pass miss it by the squares of what it moves, so that part is left out,
//!
//! ```text
//! b ← b − Z Zᵀ b,    G Z = 0,  Zᵀ Z = 1        (rows scaled by 1/√G_ii)
//! ```
//! and the next pass sees the gap that is there.

use gelenk_law::{Problem, Response};

/// Below this part of its own scale a pivot counts as zero. Hinges in space that are parallel by construction leave 1e-15 to 1e-13; a four-bar 1e-4 rad before its
/// flat position 1e-8.
const DEPENDENT: f64 = 1e-11;

/// The rows of loops of a problem, and what they cannot give.
#[derive(Clone, Debug, Default)]
pub(super) struct Redundant {
    /// Rows of the problem.
    loops: Vec<usize>,
    /// 1/√G_ii of each, 0 where nothing moves.
    scale: Vec<f64>,
    /// Z, vector by vector.
    null: Vec<f64>,
    /// G, and its factor in place, row by row.
    g: Vec<f64>,
    order: Vec<usize>,
    unit: Vec<f64>,
    answer: Vec<f64>,
}

impl Redundant {
    /// Finds Z for the loops of `problem`; `machine` is at rest.
    pub(super) fn find(&mut self, problem: &Problem, machine: &mut dyn Response) {
        let Self { loops, scale, null, g, order, unit, answer } = self;
        loops.clear();
        null.clear();
        loops.extend(problem.blocks.iter().filter(|b| b.kind.is_loop()).map(|b| b.row));
        let n = loops.len();
        if n == 0 {
            return;
        }
        g.clear();
        unit.clear();
        unit.resize(problem.n_rows(), 0.0);
        answer.clear();
        answer.resize(problem.n_rows(), 0.0);
        for &row in &*loops {
            unit[row] = 1.0;
            machine.respond(unit, answer);
            unit[row] = 0.0;
            g.extend(loops.iter().map(|other| answer[*other]));
        }
        let largest = (0..n).map(|i| g[i * n + i]).fold(0.0, f64::max);
        scale.clear();
        scale.extend((0..n).map(|i| {
            let own = g[i * n + i];
            if own > DEPENDENT * largest { 1.0 / own.sqrt() } else { 0.0 }
        }));
        for i in 0..n {
            for j in 0..n {
                g[i * n + j] *= scale[i] * scale[j];
            }
        }
        // Cholesky with the largest pivot next; columns of L stand below it.
        order.clear();
        order.extend(0..n);
        let mut rank = 0;
        while rank < n {
            let (mut best, mut at) = (DEPENDENT, n);
            for (k, &i) in order.iter().enumerate().skip(rank) {
                if g[i * n + i] > best {
                    (best, at) = (g[i * n + i], k);
                }
            }
            if at == n {
                break;
            }
            order.swap(rank, at);
            let p = order[rank];
            let pivot = g[p * n + p].sqrt();
            g[p * n + p] = pivot;
            for &i in &order[rank + 1..] {
                g[i * n + p] /= pivot;
            }
            for k in rank + 1..n {
                let i = order[k];
                for &j in &order[rank + 1..=k] {
                    let product = g[i * n + p] * g[j * n + p];
                    g[i * n + j] -= product;
                    if i != j {
                        g[j * n + i] -= product;
                    }
                }
            }
            rank += 1;
        }
        // Row d = Σ w_i row i over the pivots, Lᵀ w = L_d; the vector e_d − w, across those before it.
        for k in rank..n {
            let d = order[k];
            let first = null.len();
            null.resize(first + n, 0.0);
            let (before, own) = null.split_at_mut(first);
            own[d] = 1.0;
            for a in (0..rank).rev() {
                let i = order[a];
                let mut w = g[d * n + i];
                for &j in &order[a + 1..rank] {
                    w += g[j * n + i] * own[j];
                }
                own[i] = -w / g[i * n + i];
            }
            for _ in 0..2 {
                for other in before.chunks_exact(n) {
                    let along: f64 = other.iter().zip(&*own).map(|(a, b)| a * b).sum();
                    own.iter_mut().zip(other).for_each(|(own, other)| *own -= along * other);
                }
            }
            let size = own.iter().map(|x| x * x).sum::<f64>().sqrt();
            own.iter_mut().for_each(|x| *x /= size);
        }
    }

    /// Takes from `b` what no impulse gives.
    pub(super) fn leave_out(&self, b: &mut [f64]) {
        for null in self.null.chunks_exact(self.loops.len().max(1)) {
            let rows = || self.loops.iter().zip(&self.scale).zip(null);
            let scaled =
                |b: &[f64], row: usize, scale: f64| b[row] * if scale > 0.0 { scale } else { 1.0 };
            let along: f64 = rows().map(|((row, scale), z)| z * scaled(b, *row, *scale)).sum();
            for ((row, scale), z) in rows() {
                b[*row] -= along * z / if *scale > 0.0 { *scale } else { 1.0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gelenk_law::{Kind, Singular, Weights};

    /// J M⁻¹ Jᵀ itself.
    struct Dense(Vec<Vec<f64>>);

    impl Response for Dense {
        fn respond(&mut self, lambda: &[f64], u: &mut [f64]) {
            for (u, row) in u.iter_mut().zip(&self.0) {
                *u = row.iter().zip(lambda).map(|(g, l)| g * l).sum();
            }
        }

        fn factor(&mut self, _: &Weights) -> Result<(), Singular> {
            Err(Singular)
        }

        fn solve(&mut self, _: &[f64], _: &mut [f64]) {}

        fn diagonal(&mut self, _: &mut [f64]) {}
    }

    /// Four rows of rank two: what is left of b is in the range of G, and what was in it stays.
    #[test]
    fn what_no_impulse_gives_is_left_out() {
        let j = [[1.0, 0.0], [0.0, 2.0], [3.0, -1.0], [0.0, 0.0]];
        let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let g = j.iter().map(|a| j.iter().map(|b| dot(*a, *b)).collect()).collect();
        let mut problem = Problem::default();
        for _ in 0..4 {
            problem.push(Kind::Scalar { lo: f64::NEG_INFINITY, hi: f64::INFINITY }, 0, &[]);
        }
        let mut redundant = Redundant::default();
        redundant.find(&problem, &mut Dense(g));
        // J (0.3, 0.7) is given; the rest is none of it.
        let given = j.map(|row| dot(row, [0.3, 0.7]));
        let mut b = given;
        redundant.leave_out(&mut b);
        for (b, given) in b.iter().zip(given) {
            assert!((b - given).abs() < 1e-13, "{b} {given}");
        }
        let mut b = [1.0, -2.0, 0.5, 4.0];
        redundant.leave_out(&mut b);
        assert!(b[3].abs() < 1e-15);
        // b_3 = 3 b_1 − b_2/2 holds for what J gives.
        assert!((b[2] - 3.0 * b[0] + 0.5 * b[1]).abs() < 1e-13, "{b:?}");
    }
}
