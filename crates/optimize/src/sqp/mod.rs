//! Sequential quadratic programming for warm starts and polishing.
//!
//! A quadratic program with a positive semidefinite curvature predicts which conditions are active; Newton's step on these, with the exact
//! curvature and the chain of fronts, is taken where it keeps the others (the two-phase method of Fletcher and Sainz de la
//! Maza 1989, and of Gould and Robinson 2010). Steps are judged by the ℓ₁ merit function; a step that this refuses is corrected to
//! second order. Where the linearized conditions contradict each other they become elastic.

mod qp;

use std::ops::ControlFlow;

use nalgebra::{DMatrix, DVector};

use crate::chain::{Block, Chain, multiply};
use crate::interior::Status;
use crate::motion::Fault;
use crate::program::{
    Program, StageDerivatives, StageValues, all_derivatives, all_values, collect, gradient,
    transposed,
};
use crate::shape::{Shape, StageShape};
use qp::{Multipliers, Qp, flat};

/// What SQP aims at.
#[derive(Clone, Debug, PartialEq)]
pub struct SqpOptions {
    /// KKT error, in scaled numbers, at which a point is optimal.
    pub tolerance: f64,
    /// Most iterations.
    pub max_iterations: usize,
}

/// One SQP iteration, told.
#[derive(Clone, Copy)]
pub struct SqpReport<'a> {
    /// Counted from 0.
    pub iteration: usize,
    /// Objective, scaled.
    pub objective: f64,
    /// Largest violation, scaled.
    pub infeasibility: f64,
    /// KKT error without the violation.
    pub kkt: f64,
    /// Length of the last step.
    pub step: f64,
    /// Active bounds and inequalities.
    pub active: usize,
    /// The point, scaled.
    pub x: &'a [f64],
    /// Multipliers of equality and inequality rows.
    pub multipliers: (&'a [f64], &'a [f64]),
    /// The program where its charts are now.
    pub program: &'a dyn Program,
}

/// Where SQP ended.
#[derive(Clone, Debug)]
pub struct SqpOutcome {
    /// How.
    pub status: Status,
    /// The point, scaled.
    pub x: Vec<f64>,
    /// Multipliers of equality rows.
    pub equal: Vec<f64>,
    /// Multipliers of inequality rows.
    pub unequal: Vec<f64>,
    /// Objective, scaled.
    pub objective: f64,
    /// KKT error without the violation.
    pub kkt: f64,
    /// Active bounds and inequalities.
    pub active: usize,
    /// Iterations.
    pub iterations: usize,
}

/// Values at a point.
struct Valued {
    objective: f64,
    equal: Vec<f64>,
    unequal: Vec<f64>,
}

/// Solves a scaled program from x, with first multipliers of equality and inequality rows if they are known.
pub fn solve(
    program: &mut dyn Program,
    x: &[f64],
    multipliers: Option<(&[f64], &[f64])>,
    options: &SqpOptions,
    watch: &mut dyn FnMut(&SqpReport<'_>) -> ControlFlow<()>,
) -> Result<SqpOutcome, Fault> {
    let shape = program.shape().clone();
    let (lower, upper) = (program.bounds().0.to_vec(), program.bounds().1.to_vec());
    let mut x: Vec<f64> =
        x.iter().enumerate().map(|(i, v)| v.max(lower[i]).min(upper[i])).collect();
    let mut known = Multipliers {
        equal: multipliers.map_or_else(|| vec![0.0; shape.n_equal()], |m| m.0.to_vec()),
        unequal: multipliers.map_or_else(|| vec![0.0; shape.n_unequal()], |m| m.1.to_vec()),
        bound: vec![0.0; shape.n_variables()],
    };
    let mut fresh = true;
    let mut price = 1.0_f64;
    let mut length = 0.0;
    for iteration in 0.. {
        let stages = all_derivatives(program, &x, 1.0, Some((&known.equal, &known.unequal)))?;
        let values: Vec<StageValues> = stages.iter().map(|s| s.values.clone()).collect();
        let (objective, equal, unequal) = collect(&shape, &values);
        let here = Valued { objective, equal, unequal };
        let slope = gradient(&shape, &stages);
        if fresh {
            // The multipliers of bounds are what the others leave.
            let rest = transposed(&shape, &stages, &known.equal, &known.unequal);
            known.bound = bound_multipliers(&x, &lower, &upper, &slope, &rest);
            fresh = false;
        }
        let infeasibility = worst(program, &here);
        let kkt = kkt(program, &stages, &slope, &x, &here, &known);
        let active = known.unequal.iter().chain(&known.bound).filter(|v| v.abs() > 1e-8).count();
        let report = SqpReport {
            iteration,
            objective,
            infeasibility,
            kkt,
            step: length,
            active,
            x: &x,
            multipliers: (&known.equal, &known.unequal),
            program,
        };
        let end = |status: Status, x: &[f64], known: &Multipliers| SqpOutcome {
            status,
            x: x.to_vec(),
            equal: known.equal.clone(),
            unequal: known.unequal.clone(),
            objective,
            kkt,
            active,
            iterations: iteration,
        };
        if watch(&report).is_break() {
            return Ok(end(Status::Stopped, &x, &known));
        }
        if kkt.max(infeasibility) <= options.tolerance {
            return Ok(end(Status::Optimal, &x, &known));
        }
        if iteration >= options.max_iterations {
            return Ok(end(Status::IterationLimit, &x, &known));
        }
        let exact: Vec<DMatrix<f64>> = stages
            .iter()
            .map(|s| s.hessian.clone().unwrap_or_else(|| DMatrix::zeros(0, 0)))
            .collect();
        let convex: Vec<DMatrix<f64>> = exact.iter().map(convexified).collect();
        let (row_lower, row_upper) = program.row_bounds();
        let less =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
        let rows = (less(row_lower, &here.unequal), less(row_upper, &here.unequal));
        let bounds = (less(&lower, &x), less(&upper, &x));
        let problem = Qp {
            shape: &shape,
            stages: &stages,
            hessians: &convex,
            gradient: &slope,
            equal: &here.equal,
            rows: (&rows.0, &rows.1),
            bounds: (&bounds.0, &bounds.1),
        };
        let (solution, elastic) = if let Some(solution) = problem.solve(None) {
            (solution, false)
        } else {
            let most =
                known.equal.iter().chain(&known.unequal).fold(1.0_f64, |m, v| m.max(v.abs()));
            match problem.solve(Some(10.0 * most.max(price))) {
                Some(solution) => (solution, true),
                None => return Ok(end(Status::Stalled, &x, &known)),
            }
        };
        let size = solution.step.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
        if elastic && size < 1e-7 && infeasibility > options.tolerance.max(1e-8) {
            return Ok(end(Status::Infeasible, &x, &known));
        }
        // Newton's step on the conditions that the quadratic program holds.
        let predicted = if elastic {
            None
        } else {
            newton(&shape, &stages, &exact, &slope, &here, &problem, &solution.multipliers)
        };
        let most = solution
            .multipliers
            .equal
            .iter()
            .chain(&solution.multipliers.unequal)
            .fold(0.0_f64, |m, v| m.max(v.abs()));
        price = price.max(1.5 * most).min(1e8);
        let mut accepted = None;
        for (step, multipliers) in
            predicted.into_iter().chain([(solution.step.clone(), solution.multipliers.clone())])
        {
            if let Some((alpha, next)) =
                search(program, &x, &here, &slope, &step, price, &problem, (&lower, &upper))?
            {
                accepted = Some((alpha, next, multipliers));
                break;
            }
        }
        let Some((alpha, next, multipliers)) = accepted else {
            return Ok(end(Status::Stalled, &x, &known));
        };
        length = alpha;
        x = next;
        let mix = |old: &mut [f64], new: &[f64]| {
            old.iter_mut().zip(new).for_each(|(o, n)| *o += alpha * (n - *o));
        };
        mix(&mut known.equal, &multipliers.equal);
        mix(&mut known.unequal, &multipliers.unequal);
        mix(&mut known.bound, &multipliers.bound);
        program.recenter(&mut x, &mut known.equal)?;
    }
    Err(Fault::Chart { node: 0, reason: "no iteration was made".into() })
}

/// Multipliers of active bounds: what stationarity leaves there.
fn bound_multipliers(
    x: &[f64],
    lower: &[f64],
    upper: &[f64],
    slope: &[f64],
    rest: &[f64],
) -> Vec<f64> {
    (0..x.len())
        .map(|i| {
            let left = -(slope[i] + rest[i]);
            let near = 1e-6;
            if (upper[i] - x[i] < near && left > 0.0) || (x[i] - lower[i] < near && left < 0.0) {
                left
            } else {
                0.0
            }
        })
        .collect()
}

/// The nearest positive semidefinite matrix, with a little curvature everywhere.
fn convexified(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    if matrix.nrows() == 0 {
        return matrix.clone();
    }
    let eigen = ((matrix + matrix.transpose()) * 0.5).symmetric_eigen();
    let most = eigen.eigenvalues.amax().max(1e-8);
    let values = eigen.eigenvalues.map(|v| v.max(1e-8 * most));
    &eigen.eigenvectors * DMatrix::from_diagonal(&values) * eigen.eigenvectors.transpose()
}

/// Largest violation of rows.
fn worst(program: &dyn Program, at: &Valued) -> f64 {
    let (lower, upper) = program.row_bounds();
    let rows =
        at.unequal.iter().enumerate().map(|(i, d)| (lower[i] - d).max(d - upper[i]).max(0.0));
    at.equal.iter().map(|c| c.abs()).chain(rows).fold(0.0, f64::max)
}

fn violation(program: &dyn Program, at: &Valued) -> f64 {
    let (lower, upper) = program.row_bounds();
    let rows =
        at.unequal.iter().enumerate().map(|(i, d)| (lower[i] - d).max(d - upper[i]).max(0.0));
    at.equal.iter().map(|c| c.abs()).chain(rows).sum()
}

/// Stationarity and complementarity.
fn kkt(
    program: &dyn Program,
    stages: &[StageDerivatives],
    slope: &[f64],
    x: &[f64],
    at: &Valued,
    known: &Multipliers,
) -> f64 {
    let shape = program.shape();
    let rest = transposed(shape, stages, &known.equal, &known.unequal);
    let (lower, upper) = program.bounds();
    let mut dual = 0.0_f64;
    let mut gap = 0.0_f64;
    let mut add = |multiplier: f64, value: f64, l: f64, u: f64| {
        let distance = if multiplier > 0.0 { u - value } else { value - l };
        if multiplier != 0.0 {
            gap = gap.max((multiplier * distance.abs().min(1.0)).abs());
        }
    };
    for i in 0..x.len() {
        if upper[i] > lower[i] {
            dual = dual.max((slope[i] + rest[i] + known.bound[i]).abs());
            add(known.bound[i], x[i], lower[i], upper[i]);
        }
    }
    let (lower, upper) = program.row_bounds();
    for i in 0..at.unequal.len() {
        add(known.unequal[i], at.unequal[i], lower[i], upper[i]);
    }
    let all: f64 =
        known.equal.iter().chain(&known.unequal).chain(&known.bound).map(|v| v.abs()).sum();
    let count = known.equal.len() + known.unequal.len() + known.bound.len();
    let mean = (all / count.max(1) as f64).max(100.0) / 100.0;
    (dual / mean).max(gap / mean)
}

/// Newton's step with the active conditions as equalities; none where its matrix has not the inertia of a minimum, or where it leaves
/// conditions that were not active or multipliers of the wrong sign.
fn newton(
    shape: &Shape,
    stages: &[StageDerivatives],
    exact: &[DMatrix<f64>],
    slope: &[f64],
    here: &Valued,
    qp: &Qp<'_>,
    guess: &Multipliers,
) -> Option<(Vec<f64>, Multipliers)> {
    let held = |value: f64| value.abs() > 1e-6;
    // A variable at its bound stays there; an active row is one more equality of its stage.
    let n = shape.n_variables();
    let fixed: Vec<Option<f64>> = (0..n)
        .map(|i| {
            if qp.bounds.1[i] <= qp.bounds.0[i] {
                Some(0.0)
            } else if held(guess.bound[i]) {
                Some(if guess.bound[i] > 0.0 { qp.bounds.1[i] } else { qp.bounds.0[i] })
            } else {
                None
            }
        })
        .collect();
    let mut active: Vec<Vec<usize>> = Vec::new();
    let shapes: Vec<StageShape> = shape
        .stages
        .iter()
        .enumerate()
        .map(|(k, s)| {
            let list: Vec<usize> = (0..s.inequalities)
                .filter(|i| held(guess.unequal[shape.unequal_at(k) + i]))
                .collect();
            let equalities = s.equalities + list.len();
            active.push(list);
            StageShape { equalities, inequalities: 0, ..*s }
        })
        .collect();
    let grown = Shape::new(shapes, shape.globals);
    let mut b = vec![0.0; n + grown.n_equal()];
    for i in 0..n {
        b[i] = fixed[i].unwrap_or(-slope[i]);
    }
    // Columns of fixed variables go to the right-hand side.
    let moved: Vec<f64> = fixed.iter().map(|f| f.unwrap_or(0.0)).collect();
    let (along_equal, along_rows) = crate::program::forward(shape, stages, &moved);
    let mut blocks = Vec::new();
    for (k, stage) in stages.iter().enumerate() {
        let s = &shape.stages[k];
        let width = s.variables;
        let mut equal = DMatrix::zeros(grown.stages[k].equalities, stage.gradient.len());
        equal.rows_mut(0, s.equalities).copy_from(&stage.equal);
        for (row, &i) in active[k].iter().enumerate() {
            equal.set_row(s.equalities + row, &stage.unequal.row(i));
            let at = shape.unequal_at(k) + i;
            let limit = if guess.unequal[at] > 0.0 { qp.rows.1[at] } else { qp.rows.0[at] };
            b[n + grown.equal_at(k) + s.equalities + row] = limit - along_rows[at];
        }
        for i in 0..s.equalities {
            let at = shape.equal_at(k) + i;
            b[n + grown.equal_at(k) + i] = -here.equal[at] - along_equal[at];
        }
        for i in 0..s.links {
            let at = shape.link_at(k) + i;
            b[n + grown.link_at(k) + i] = -here.equal[at] - along_equal[at];
        }
        let (mut left, mut right) = (stage.left.clone(), stage.right.clone());
        let mut hessian = exact[k].clone();
        let z = DVector::from_iterator(
            stage.gradient.len(),
            (0..stage.gradient.len()).map(|j| moved[flat(shape, k, width, j)]),
        );
        let pulled = &hessian * z;
        for j in 0..stage.gradient.len() {
            let at = flat(shape, k, width, j);
            if fixed[at].is_some() {
                hessian.row_mut(j).fill(0.0);
                hessian.column_mut(j).fill(0.0);
                equal.column_mut(j).fill(0.0);
                left.column_mut(j).fill(0.0);
                right.column_mut(j).fill(0.0);
                if j < width || k == 0 {
                    hessian[(j, j)] = 1.0;
                }
            } else {
                b[at] -= pulled[j];
            }
        }
        let zeros = |n: usize| DVector::zeros(n);
        blocks.push(Block {
            hessian,
            give_equal: zeros(equal.nrows()),
            give_link: zeros(left.nrows()),
            equal,
            left,
            right,
        });
    }
    let chain = Chain::factor(&grown, &blocks);
    if chain.inertia.positive != n || chain.inertia.negative != grown.n_equal() {
        return None;
    }
    let mut solution = b.clone();
    chain.solve(&mut solution);
    for _ in 0..2 {
        let product = multiply(&grown, &blocks, &solution);
        let mut rest: Vec<f64> = b.iter().zip(&product).map(|(b, p)| b - p).collect();
        chain.solve(&mut rest);
        solution.iter_mut().zip(&rest).for_each(|(s, r)| *s += r);
    }
    let step = solution[..n].to_vec();
    let mut multipliers = Multipliers {
        equal: vec![0.0; shape.n_equal()],
        unequal: vec![0.0; shape.n_unequal()],
        bound: vec![0.0; n],
    };
    for (k, s) in shape.stages.iter().enumerate() {
        for i in 0..s.equalities {
            multipliers.equal[shape.equal_at(k) + i] = solution[n + grown.equal_at(k) + i];
        }
        for i in 0..s.links {
            multipliers.equal[shape.link_at(k) + i] = solution[n + grown.link_at(k) + i];
        }
        for (row, &i) in active[k].iter().enumerate() {
            multipliers.unequal[shape.unequal_at(k) + i] =
                solution[n + grown.equal_at(k) + s.equalities + row];
        }
    }
    // Multipliers of bounds from stationarity of the model.
    let rest = transposed(shape, stages, &multipliers.equal, &multipliers.unequal);
    let mut bent = vec![0.0; n];
    for (k, h) in exact.iter().enumerate() {
        let width = shape.stages[k].variables;
        let z = DVector::from_vec(shape.point(&step, k));
        for (j, v) in (h * z).iter().enumerate() {
            bent[flat(shape, k, width, j)] += v;
        }
    }
    for i in 0..n {
        if fixed[i].is_some() && qp.bounds.1[i] > qp.bounds.0[i] {
            multipliers.bound[i] = -(slope[i] + rest[i] + bent[i]);
        }
    }
    let right_sign =
        |new: &[f64], old: &[f64]| new.iter().zip(old).all(|(n, o)| !held(*o) || n * o >= 0.0);
    if !right_sign(&multipliers.unequal, &guess.unequal)
        || !right_sign(&multipliers.bound, &guess.bound)
    {
        return None;
    }
    let size = 1e-9 + step.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    let inside = (0..n).all(|i| {
        step[i] >= qp.bounds.0[i] - 1e-9 * size && step[i] <= qp.bounds.1[i] + 1e-9 * size
    });
    let (_, along) = crate::program::forward(shape, stages, &step);
    let holds = (0..along.len()).all(|i| {
        along[i] >= qp.rows.0[i] - 1e-6 * size - 1e-9
            && along[i] <= qp.rows.1[i] + 1e-6 * size + 1e-9
    });
    (inside && holds).then_some((step, multipliers))
}

/// Backtracking on f + price · violation, corrected to second order at the first trial.
fn search(
    program: &dyn Program,
    x: &[f64],
    here: &Valued,
    slope: &[f64],
    step: &[f64],
    price: f64,
    qp: &Qp<'_>,
    bounds: (&[f64], &[f64]),
) -> Result<Option<(f64, Vec<f64>)>, Fault> {
    let shape = program.shape();
    let theta = violation(program, here);
    let merit = here.objective + price * theta;
    let along: f64 = slope.iter().zip(step).map(|(g, d)| g * d).sum();
    let expected = along - price * theta;
    let round = 10.0 * f64::EPSILON * merit.abs().max(1.0);
    let at = |alpha: f64, step: &[f64]| -> Vec<f64> {
        (0..x.len()).map(|i| (x[i] + alpha * step[i]).max(bounds.0[i]).min(bounds.1[i])).collect()
    };
    let look = |x: &[f64]| -> Option<(f64, Valued)> {
        let (objective, equal, unequal) = collect(shape, &all_values(program, x).ok()?);
        let valued = Valued { objective, equal, unequal };
        let merit = valued.objective + price * violation(program, &valued);
        merit.is_finite().then_some((merit, valued))
    };
    let mut alpha = 1.0;
    for trial in 0..30 {
        let next = at(alpha, step);
        if let Some((value, valued)) = look(&next) {
            if value <= merit + 1e-4 * alpha * expected.min(0.0) + round {
                return Ok(Some((alpha, next)));
            }
            if trial == 0 {
                // The rows' own curvature, put right once: J d = −c(x + d) + J d.
                let (j_equal, j_rows) = crate::program::forward(shape, qp.stages, step);
                let equal: Vec<f64> =
                    valued.equal.iter().zip(&j_equal).map(|(c, j)| c - j).collect();
                let shift = |limit: &[f64]| -> Vec<f64> {
                    (0..limit.len())
                        .map(|i| limit[i] + here.unequal[i] - valued.unequal[i] + j_rows[i])
                        .collect()
                };
                let rows = (shift(qp.rows.0), shift(qp.rows.1));
                let corrected = Qp { equal: &equal, rows: (&rows.0, &rows.1), ..*qp };
                if let Some(solution) = corrected.solve(None) {
                    let next = at(1.0, &solution.step);
                    if let Some((value, _)) = look(&next)
                        && value <= merit + 1e-4 * expected.min(0.0) + round
                    {
                        return Ok(Some((1.0, next)));
                    }
                }
            }
        }
        alpha *= 0.5;
    }
    Ok(None)
}
