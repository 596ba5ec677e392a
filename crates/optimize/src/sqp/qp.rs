//! Quadratic programs of one SQP step, solved by Clarabel.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use nalgebra::DMatrix;

use crate::program::StageDerivatives;
use crate::shape::Shape;

/// Multipliers of all conditions: positive where the upper side holds, negative where the lower does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Multipliers {
    /// Of equality rows.
    pub(crate) equal: Vec<f64>,
    /// Of inequality rows.
    pub(crate) unequal: Vec<f64>,
    /// Of bounds of variables.
    pub(crate) bound: Vec<f64>,
}

/// The solution of a quadratic program.
pub(crate) struct QpSolution {
    pub(crate) step: Vec<f64>,
    pub(crate) multipliers: Multipliers,
}

/// One SQP step's data.
pub(crate) struct Qp<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) stages: &'a [StageDerivatives],
    /// Positive semidefinite curvature of every stage.
    pub(crate) hessians: &'a [DMatrix<f64>],
    pub(crate) gradient: &'a [f64],
    /// Values of equality rows.
    pub(crate) equal: &'a [f64],
    /// Distances to the lower and upper bounds of inequality rows: l − d, u − d.
    pub(crate) rows: (&'a [f64], &'a [f64]),
    /// l − x, u − x.
    pub(crate) bounds: (&'a [f64], &'a [f64]),
}

impl Qp<'_> {
    /// Solves min ½ dᵀB d + gᵀd over the linearized conditions; `elastic` lets rows give way at this price.
    pub(crate) fn solve(&self, elastic: Option<f64>) -> Option<QpSolution> {
        let shape = self.shape;
        let (n, m, k) = (shape.n_variables(), shape.n_equal(), shape.n_unequal());
        // Elastic variables: up and down for each equality row, one for each inequality row.
        let extra = if elastic.is_some() { 2 * m + k } else { 0 };
        let total = n + extra;
        let mut p: Vec<(usize, usize, f64)> = Vec::new();
        for (s, b) in self.hessians.iter().enumerate() {
            let width = shape.stages[s].variables;
            let column = |j: usize| flat(shape, s, width, j);
            for j in 0..b.ncols() {
                for i in 0..=j {
                    let (r, c) = (column(i), column(j));
                    p.push((r.min(c), r.max(c), b[(i, j)]));
                }
            }
        }
        let mut q = self.gradient.to_vec();
        q.resize(total, elastic.unwrap_or(0.0));
        let mut a: Vec<(usize, usize, f64)> = Vec::new();
        let mut b: Vec<f64> = self.equal.iter().map(|c| -c).collect();
        let mut jacobian: Vec<Vec<(usize, f64)>> = vec![Vec::new(); k];
        for (s, stage) in self.stages.iter().enumerate() {
            let width = shape.stages[s].variables;
            for j in 0..stage.gradient.len() {
                let column = flat(shape, s, width, j);
                let mut put = |matrix: &DMatrix<f64>, at: usize, sign: f64| {
                    for i in 0..matrix.nrows() {
                        if matrix[(i, j)] != 0.0 {
                            a.push((at + i, column, sign * matrix[(i, j)]));
                        }
                    }
                };
                put(&stage.equal, shape.equal_at(s), 1.0);
                put(&stage.left, shape.link_at(s), 1.0);
                if s > 0 {
                    put(&stage.right, shape.link_at(s - 1), -1.0);
                }
                for i in 0..stage.unequal.nrows() {
                    if stage.unequal[(i, j)] != 0.0 {
                        jacobian[shape.unequal_at(s) + i].push((column, stage.unequal[(i, j)]));
                    }
                }
            }
        }
        if elastic.is_some() {
            for i in 0..m {
                a.push((i, n + i, -1.0));
                a.push((i, n + m + i, 1.0));
            }
        }
        // Inequalities: what they belong to, and the side.
        let mut sides: Vec<(bool, usize, f64)> = Vec::new();
        let mut add = |b: &mut Vec<f64>,
                       entries: &[(usize, f64)],
                       side: f64,
                       limit: f64,
                       soft: Option<usize>| {
            let row = b.len();
            for &(column, value) in entries {
                a.push((row, column, side * value));
            }
            if let Some(column) = soft {
                a.push((row, column, -1.0));
            }
            b.push(side * limit);
        };
        for i in 0..k {
            for (side, limit) in [(-1.0, self.rows.0[i]), (1.0, self.rows.1[i])] {
                if limit.is_finite() {
                    add(&mut b, &jacobian[i], side, limit, elastic.map(|_| n + 2 * m + i));
                    sides.push((true, i, side));
                }
            }
        }
        for i in 0..n {
            for (side, limit) in [(-1.0, self.bounds.0[i]), (1.0, self.bounds.1[i])] {
                if limit.is_finite() {
                    add(&mut b, &[(i, 1.0)], side, limit, None);
                    sides.push((false, i, side));
                }
            }
        }
        for j in n..total {
            add(&mut b, &[(j, 1.0)], -1.0, 0.0, None);
        }
        let n_rows = b.len();
        let cones = [SupportedConeT::ZeroConeT(m), SupportedConeT::NonnegativeConeT(n_rows - m)];
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .max_threads(1)
            .tol_gap_abs(1e-10)
            .tol_gap_rel(1e-10)
            .tol_feas(1e-10)
            .build()
            .ok()?;
        let p = compressed(total, total, p);
        let a = compressed(n_rows, total, a);
        let mut solver = DefaultSolver::new(&p, &q, &a, &b, &cones, settings).ok()?;
        solver.solve();
        if !matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved) {
            return None;
        }
        let z = &solver.solution.z;
        let mut multipliers =
            Multipliers { equal: z[..m].to_vec(), unequal: vec![0.0; k], bound: vec![0.0; n] };
        for (&(is_row, i, side), value) in sides.iter().zip(&z[m..]) {
            let slot = if is_row { &mut multipliers.unequal[i] } else { &mut multipliers.bound[i] };
            *slot += side * value;
        }
        Some(QpSolution { step: solver.solution.x[..n].to_vec(), multipliers })
    }
}

/// Flat place of variable j of stage s.
pub(crate) fn flat(shape: &Shape, s: usize, width: usize, j: usize) -> usize {
    if j < width { shape.variable_at(s) + j } else { shape.global_at() + j - width }
}

/// Triplets to compressed columns; entries of one place are added in their order.
fn compressed(
    rows: usize,
    columns: usize,
    mut entries: Vec<(usize, usize, f64)>,
) -> CscMatrix<f64> {
    entries.sort_by_key(|&(r, c, _)| (c, r));
    let mut starts = vec![0; columns + 1];
    let (mut row, mut value): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut last = None;
    for (r, c, v) in entries {
        if last == Some((r, c)) {
            if let Some(sum) = value.last_mut() {
                *sum += v;
            }
            continue;
        }
        last = Some((r, c));
        row.push(r);
        value.push(v);
        starts[c + 1] = row.len();
    }
    for c in 0..columns {
        starts[c + 1] = starts[c + 1].max(starts[c]);
    }
    CscMatrix::new(rows, columns, starts, row, value)
}
