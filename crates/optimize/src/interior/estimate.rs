//! First multipliers.

use nalgebra::DMatrix;

use super::core::{AllLimits, Core};
use super::newton::Newton;
use crate::motion::Fault;
use crate::program::{Program, all_derivatives, gradient};

/// Multipliers by least squares: |∇f + Jᵀy − z| least; zero if they come out large.
pub(super) fn estimate(
    program: &dyn Program,
    limits: &AllLimits,
    core: &mut Core,
) -> Result<(), Fault> {
    let shape = program.shape();
    let stages = all_derivatives(program, &core.x.value, 1.0, None)?;
    let mut unit = core.clone();
    // Σ = 1 for all: curvature one, no barrier.
    for list in [&mut unit.x, &mut unit.s] {
        list.below.fill(0.0);
        list.above.fill(0.0);
    }
    unit.mu = 0.0;
    unit.elastic = None;
    let g = gradient(shape, &stages);
    let mut g: Vec<f64> = (0..g.len()).map(|i| g[i] - core.x.below[i] + core.x.above[i]).collect();
    for (g, fixed) in g.iter_mut().zip(&limits.fixed) {
        if *fixed {
            *g = 0.0;
        }
    }
    let hessians: Vec<DMatrix<f64>> =
        shape
            .stages
            .iter()
            .enumerate()
            .map(|(k, s)| {
                let n = s.variables + shape.globals;
                DMatrix::from_fn(n, n, |i, j| {
                    if i == j && (i < s.variables || k == 0) { 1.0 } else { 0.0 }
                })
            })
            .collect();
    for i in 0..unit.s.value.len() {
        // A slack's curvature of one, by a multiplier equal to its distance.
        let s = unit.s.value[i];
        if limits.s.lower[i] > f64::NEG_INFINITY {
            unit.s.below[i] = s - limits.s.lower[i];
        } else {
            unit.s.above[i] = limits.s.upper[i] - s;
        }
    }
    let Some(newton) = Newton::new(program, &unit, limits, &stages, &hessians) else {
        return Ok(());
    };
    let rows = vec![0.0; shape.n_equal() + shape.n_unequal()];
    let step = newton.step(&unit, &g, &rows);
    let most = step.y.iter().chain(&step.v).fold(0.0_f64, |m, y| m.max(y.abs()));
    if most <= 1e3 {
        core.y = step.y;
        core.v = step.v;
    }
    Ok(())
}
