//! A nonlinear program of stages, as the solvers see it.

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::motion::Fault;
use crate::shape::Shape;

/// Values of one stage's functions at z = (w, p).
#[derive(Clone, Debug, Default)]
pub struct StageValues {
    /// Its part of the objective.
    pub cost: f64,
    /// c(z) = 0.
    pub equal: Vec<f64>,
    /// d(z), between bounds.
    pub unequal: Vec<f64>,
    /// left(z): what the next stage's `right` must equal.
    pub left: Vec<f64>,
    /// right(z): what the stage before must arrive at.
    pub right: Vec<f64>,
}

/// The same with derivatives by z = (w, p).
#[derive(Clone, Debug)]
pub struct StageDerivatives {
    /// Values.
    pub values: StageValues,
    /// Gradient of the cost.
    pub gradient: DVector<f64>,
    /// ∂c/∂z.
    pub equal: DMatrix<f64>,
    /// ∂d/∂z.
    pub unequal: DMatrix<f64>,
    /// ∂left/∂z.
    pub left: DMatrix<f64>,
    /// ∂right/∂z.
    pub right: DMatrix<f64>,
    /// Curvature of the weighted sum, if weights were given.
    pub hessian: Option<DMatrix<f64>>,
}

/// Weights of the functions in the curvature.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    /// Of the cost.
    pub cost: f64,
    /// Of the equalities.
    pub equal: Vec<f64>,
    /// Of the inequalities.
    pub unequal: Vec<f64>,
    /// Of left.
    pub left: Vec<f64>,
    /// Of right.
    pub right: Vec<f64>,
}

/// Full states of nodes; see [`Program::places`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Places {
    /// By phase and node.
    pub states: Vec<Vec<Vec<f64>>>,
    /// Covector of the link into each node; empty where numbers are the states themselves.
    pub covectors: Vec<Vec<Vec<f64>>>,
}

/// A condition of a program, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowAt {
    /// Equality i of a stage.
    Equal(usize, usize),
    /// Inequality i of a stage.
    Unequal(usize, usize),
    /// Link i to the next stage.
    Link(usize, usize),
    /// Bounds of a flat variable.
    Variable(usize),
}

/// min Σ cost_k(w_k, p) subject to c_k = 0, lower ≤ d_k ≤ upper, left_k(w_k, p) = right_{k+1}(w_{k+1}, p) and bounds on all variables.
///
/// Everything is a function of one stage and the globals. Conditions between far stages (periodicity) are
/// written with global variables that take the values of one of them.
pub trait Program: Sync {
    /// Sizes.
    fn shape(&self) -> &Shape;

    /// Bounds of all variables; equal bounds fix one.
    fn bounds(&self) -> (&[f64], &[f64]);

    /// Bounds of all inequality rows; at least one of each is finite.
    fn row_bounds(&self) -> (&[f64], &[f64]);

    /// Values of stage k.
    fn values(&self, stage: usize, z: &[f64]) -> Result<StageValues, Fault>;

    /// Values and derivatives of stage k.
    fn derivatives(
        &self,
        stage: usize,
        z: &[f64],
        weights: Option<&Weights>,
    ) -> Result<StageDerivatives, Fault>;

    /// What a condition is called, with its node.
    fn describe(&self, row: RowAt) -> String;

    /// The full states of all nodes, for checkpoints, with the multipliers of links as their covectors where nodes lie in charts.
    fn places(&self, x: &[f64], links: &[f64]) -> Option<Places> {
        let _ = (x, links);
        None
    }

    /// Moves charts to the point x, which is then changed to its numbers in the new charts, and the multipliers of links with it.
    /// True if anything changed.
    fn recenter(&mut self, x: &mut [f64], links: &mut [f64]) -> Result<bool, Fault> {
        let _ = (x, links);
        Ok(false)
    }
}

/// Values of all stages, in parallel; the results come in order, so that threads change no bit.
pub fn all_values(program: &dyn Program, x: &[f64]) -> Result<Vec<StageValues>, Fault> {
    let shape = program.shape();
    let stages: Vec<Result<StageValues, Fault>> = (0..shape.stages.len())
        .into_par_iter()
        .map(|k| program.values(k, &shape.point(x, k)).and_then(finite))
        .collect();
    stages.into_iter().collect()
}

fn finite(values: StageValues) -> Result<StageValues, Fault> {
    let lists = [&values.equal, &values.unequal, &values.left, &values.right];
    let fine = values.cost.is_finite() && lists.iter().all(|l| l.iter().all(|v| v.is_finite()));
    if fine {
        Ok(values)
    } else {
        Err(Fault::Chart { node: 0, reason: "a value is not a number".into() })
    }
}

/// Derivatives of all stages, in parallel. `multipliers` are those of equality rows (links among them) and of inequality rows.
pub fn all_derivatives(
    program: &dyn Program,
    x: &[f64],
    cost: f64,
    multipliers: Option<(&[f64], &[f64])>,
) -> Result<Vec<StageDerivatives>, Fault> {
    let shape = program.shape();
    let stages: Vec<Result<StageDerivatives, Fault>> = (0..shape.stages.len())
        .into_par_iter()
        .map(|k| {
            let weights =
                multipliers.map(|(equal, unequal)| weights(shape, k, cost, equal, unequal));
            program.derivatives(k, &shape.point(x, k), weights.as_ref())
        })
        .collect();
    stages.into_iter().collect()
}

fn weights(shape: &Shape, k: usize, cost: f64, equal: &[f64], unequal: &[f64]) -> Weights {
    let stage = &shape.stages[k];
    let part = |from: &[f64], at: usize, n: usize| from[at..at + n].to_vec();
    let right = match k.checked_sub(1) {
        Some(before) => {
            let links = part(equal, shape.link_at(before), shape.stages[before].links);
            links.into_iter().map(|w| -w).collect()
        }
        None => Vec::new(),
    };
    Weights {
        cost,
        equal: part(equal, shape.equal_at(k), stage.equalities),
        unequal: part(unequal, shape.unequal_at(k), stage.inequalities),
        left: part(equal, shape.link_at(k), stage.links),
        right,
    }
}

/// Objective, equality rows (links as left − right) and inequality rows of all stages.
pub fn collect(shape: &Shape, stages: &[StageValues]) -> (f64, Vec<f64>, Vec<f64>) {
    let mut objective = 0.0;
    let mut equal = Vec::with_capacity(shape.n_equal());
    let mut unequal = Vec::with_capacity(shape.n_unequal());
    for (k, stage) in stages.iter().enumerate() {
        objective += stage.cost;
        equal.extend(&stage.equal);
        if let Some(next) = stages.get(k + 1) {
            equal.extend(stage.left.iter().zip(&next.right).map(|(l, r)| l - r));
        }
        unequal.extend(&stage.unequal);
    }
    (objective, equal, unequal)
}

/// Gradient of the objective, flat.
pub fn gradient(shape: &Shape, stages: &[StageDerivatives]) -> Vec<f64> {
    let mut out = vec![0.0; shape.n_variables()];
    for (k, stage) in stages.iter().enumerate() {
        scatter(shape, k, &mut out, |j| stage.gradient[j]);
    }
    out
}

/// Jᵀ y, flat, of equality rows y and inequality rows v.
pub fn transposed(shape: &Shape, stages: &[StageDerivatives], y: &[f64], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; shape.n_variables()];
    for (k, stage) in stages.iter().enumerate() {
        let (equal_at, unequal_at) = (shape.equal_at(k), shape.unequal_at(k));
        scatter(shape, k, &mut out, |j| {
            let mut sum = 0.0;
            for i in 0..stage.equal.nrows() {
                sum += stage.equal[(i, j)] * y[equal_at + i];
            }
            for i in 0..stage.unequal.nrows() {
                sum += stage.unequal[(i, j)] * v[unequal_at + i];
            }
            for i in 0..stage.left.nrows() {
                sum += stage.left[(i, j)] * y[shape.link_at(k) + i];
            }
            if k > 0 {
                for i in 0..stage.right.nrows() {
                    sum -= stage.right[(i, j)] * y[shape.link_at(k - 1) + i];
                }
            }
            sum
        });
    }
    out
}

/// J dx: equality rows and inequality rows.
pub fn forward(shape: &Shape, stages: &[StageDerivatives], dx: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut equal = vec![0.0; shape.n_equal()];
    let mut unequal = vec![0.0; shape.n_unequal()];
    for (k, stage) in stages.iter().enumerate() {
        let dz = DVector::from_vec(shape.point(dx, k));
        let add = |out: &mut [f64], rows: &DMatrix<f64>, sign: f64| {
            for (o, v) in out.iter_mut().zip((rows * &dz).iter()) {
                *o += sign * v;
            }
        };
        add(&mut equal[shape.equal_at(k)..], &stage.equal, 1.0);
        add(&mut unequal[shape.unequal_at(k)..], &stage.unequal, 1.0);
        add(&mut equal[shape.link_at(k)..], &stage.left, 1.0);
        if k > 0 {
            add(&mut equal[shape.link_at(k - 1)..], &stage.right, -1.0);
        }
    }
    (equal, unequal)
}

fn scatter(shape: &Shape, k: usize, out: &mut [f64], value: impl Fn(usize) -> f64) {
    let (at, n) = (shape.variable_at(k), shape.stages[k].variables);
    for j in 0..n {
        out[at + j] += value(j);
    }
    for j in 0..shape.globals {
        out[shape.global_at() + j] += value(n + j);
    }
}
