//! Newton's step of a barrier problem.

use nalgebra::{DMatrix, DVector};

use super::core::{AllLimits, Core, Primal};
use crate::chain::{Block, Chain, multiply};
use crate::program::{Program, StageDerivatives};
use crate::shape::Shape;

/// Highest regularization that is tried.
const HIGHEST: f64 = 1e20;
/// In scaled numbers curvature is of the size of one: where this much does not help, rows depend on each other to rounding.
const SUSPECT: f64 = 1e3;

/// A factored Newton matrix with what its right-hand sides need.
pub(crate) struct Newton<'a> {
    shape: &'a Shape,
    stages: &'a [StageDerivatives],
    limits: &'a AllLimits,
    blocks: Vec<Block>,
    chain: Chain,
    /// Weights of condensed inequality rows.
    weights: Vec<f64>,
    /// Regularization of the curvature.
    pub(crate) delta: f64,
}

/// A step of everything.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) primal: Primal,
    /// New multipliers of equality rows (not their step).
    pub(crate) y: Vec<f64>,
    /// New multipliers of inequality rows.
    pub(crate) v: Vec<f64>,
}

/// 1/Σ_p + 1/Σ_n of row i.
fn softness(core: &Core, limits: &AllLimits, i: usize) -> f64 {
    match &core.elastic {
        Some(e) => 1.0 / e.up.sigma(&limits.elastic, i) + 1.0 / e.down.sigma(&limits.elastic, i),
        None => 0.0,
    }
}

impl<'a> Newton<'a> {
    /// Factors with the least regularization that gives the inertia of a minimum. None if there is none.
    pub(crate) fn new(
        program: &'a dyn Program,
        core: &Core,
        limits: &'a AllLimits,
        stages: &'a [StageDerivatives],
        hessians: &[DMatrix<f64>],
    ) -> Option<Newton<'a>> {
        let shape = program.shape();
        let (n, m) = (shape.n_variables(), shape.n_equal());
        let (mut delta, mut give) = (0.0, 0.0);
        let mut first = true;
        loop {
            let weights: Vec<f64> = (0..shape.n_unequal())
                .map(|i| {
                    let slack = 1.0 / (core.s.sigma(&limits.s, i) + delta);
                    1.0 / (slack + softness(core, limits, m + i))
                })
                .collect();
            let blocks = assemble(shape, core, limits, stages, hessians, &weights, delta, give);
            let chain = Chain::factor(shape, &blocks);
            let inertia = chain.inertia;
            if inertia.positive == n && inertia.negative == m {
                return Some(Newton { shape, stages, limits, blocks, chain, weights, delta });
            }
            if inertia.zero > 0 && give == 0.0 && core.elastic.is_none() {
                give = (1e-8 * core.mu.powf(0.25)).max(1e-12);
                if first {
                    first = false;
                    continue;
                }
            }
            first = false;
            delta = if delta > 0.0 {
                delta * if core.delta > 0.0 { 8.0 } else { 100.0 }
            } else if core.delta > 0.0 {
                (core.delta / 3.0).max(1e-20)
            } else {
                1e-4
            };
            if delta > SUSPECT && give == 0.0 && core.elastic.is_none() {
                give = (1e-8 * core.mu.powf(0.25)).max(1e-12);
                delta = 0.0;
                continue;
            }
            if delta > HIGHEST {
                return None;
            }
        }
    }

    /// The step for rows with these residuals (c, d − s, less what they give way); `gradient` is that of the objective.
    pub(crate) fn step(&self, core: &Core, gradient: &[f64], rows: &[f64]) -> Step {
        let (shape, limits, mu) = (self.shape, self.limits, core.mu);
        let (n, m) = (shape.n_variables(), shape.n_equal());
        // What elastic variables add to a row's residual. The differences are small near a solution: multipliers step, they are not solved for anew.
        let pushed = |i: usize, w: f64| match &core.elastic {
            Some(e) => {
                let (p, q) = (e.up.value[i], e.down.value[i]);
                (e.weight[i] - w - mu / p) / e.up.sigma(&limits.elastic, i)
                    - (e.weight[i] + w - mu / q) / e.down.sigma(&limits.elastic, i)
            }
            None => 0.0,
        };
        let slack_slope: Vec<f64> =
            (0..shape.n_unequal()).map(|i| core.s.slope(&limits.s, i, mu)).collect();
        let slack_sigma: Vec<f64> =
            (0..shape.n_unequal()).map(|i| core.s.sigma(&limits.s, i) + self.delta).collect();
        let offset: Vec<f64> = (0..shape.n_unequal())
            .map(|i| {
                rows[m + i]
                    + (slack_slope[i] - core.v[i]) / slack_sigma[i]
                    + pushed(m + i, core.v[i])
            })
            .collect();
        let weighted: Vec<f64> =
            (0..offset.len()).map(|i| core.v[i] + offset[i] * self.weights[i]).collect();
        let pulled = crate::program::transposed(shape, self.stages, &core.y, &weighted);
        let mut b = vec![0.0; n + m];
        for i in 0..n {
            if !limits.fixed[i] {
                b[i] = -(gradient[i] + core.x.slope(&limits.x, i, mu) + pulled[i]);
            }
        }
        for i in 0..m {
            b[n + i] = -(rows[i] + pushed(i, core.y[i]));
        }
        let solution = self.refined(&b);
        let dx = solution[..n].to_vec();
        let dy = &solution[n..];
        let (_, along) = crate::program::forward(shape, self.stages, &dx);
        let dv: Vec<f64> =
            (0..shape.n_unequal()).map(|i| self.weights[i] * (along[i] + offset[i])).collect();
        let ds: Vec<f64> = (0..dv.len())
            .map(|i| ((core.v[i] - slack_slope[i]) + dv[i]) / slack_sigma[i])
            .collect();
        let (mut up, mut down) = (Vec::new(), Vec::new());
        if let Some(e) = &core.elastic {
            let all = core.y.iter().zip(dy).chain(core.v.iter().zip(&dv));
            for (i, (w, dw)) in all.enumerate() {
                let (p, q) = (e.up.value[i], e.down.value[i]);
                up.push(((w - e.weight[i] + mu / p) + dw) / e.up.sigma(&limits.elastic, i));
                down.push(((-w - e.weight[i] + mu / q) - dw) / e.down.sigma(&limits.elastic, i));
            }
        }
        let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let (y, v) = (add(&core.y, dy), add(&core.v, &dv));
        Step { primal: Primal { x: dx, s: ds, up, down }, y, v }
    }

    /// The solution, with its residual solved again while that helps.
    fn refined(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        self.chain.solve(&mut x);
        let size = |r: &[f64]| r.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let residual = |x: &[f64]| -> Vec<f64> {
            let product = multiply(self.shape, &self.blocks, x);
            b.iter().zip(&product).map(|(b, p)| b - p).collect()
        };
        let mut r = residual(&x);
        for _ in 0..4 {
            let before = size(&r);
            if before <= 1e-14 * size(b) {
                break;
            }
            let mut correction = r.clone();
            self.chain.solve(&mut correction);
            let better: Vec<f64> = x.iter().zip(&correction).map(|(x, c)| x + c).collect();
            let next = residual(&better);
            if size(&next) < before {
                (x, r) = (better, next);
            } else {
                break;
            }
        }
        x
    }
}

fn assemble(
    shape: &Shape,
    core: &Core,
    limits: &AllLimits,
    stages: &[StageDerivatives],
    hessians: &[DMatrix<f64>],
    weights: &[f64],
    delta: f64,
    give: f64,
) -> Vec<Block> {
    (0..stages.len())
        .map(|k| {
            let (stage, d) = (&shape.stages[k], &stages[k]);
            let n_w = stage.variables;
            let size = n_w + shape.globals;
            let mut hessian = hessians[k].clone();
            if stage.inequalities > 0 {
                let at = shape.unequal_at(k);
                let mut weighted = d.unequal.clone();
                for i in 0..stage.inequalities {
                    weighted.row_mut(i).scale_mut(weights[at + i]);
                }
                hessian += d.unequal.tr_mul(&weighted);
            }
            let (mut equal, mut left, mut right) =
                (d.equal.clone(), d.left.clone(), d.right.clone());
            for j in 0..size {
                let (flat, own) = if j < n_w {
                    (shape.variable_at(k) + j, true)
                } else {
                    (shape.global_at() + j - n_w, k == 0)
                };
                if limits.fixed[flat] {
                    hessian.row_mut(j).fill(0.0);
                    hessian.column_mut(j).fill(0.0);
                    equal.column_mut(j).fill(0.0);
                    left.column_mut(j).fill(0.0);
                    right.column_mut(j).fill(0.0);
                    if own {
                        hessian[(j, j)] = 1.0;
                    }
                } else if own {
                    hessian[(j, j)] += core.x.sigma(&limits.x, flat) + delta + core.pull(flat);
                }
            }
            let soft = |at: usize, n: usize| {
                DVector::from_iterator(n, (0..n).map(|i| softness(core, limits, at + i) + give))
            };
            let give_equal = soft(shape.equal_at(k), stage.equalities);
            let give_link = soft(shape.link_at(k), stage.links);
            Block { hessian, equal, left, right, give_equal, give_link }
        })
        .collect()
}
