//! Scaling: the solvers see variables, conditions and the objective in sizes near one.

use serde::{Deserialize, Serialize};

use crate::motion::Fault;
use crate::program::{
    Program, RowAt, StageDerivatives, StageValues, Weights, all_derivatives, collect,
};
use crate::shape::Shape;

/// Sizes of all variables, conditions and of the objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scales {
    /// x = size · scaled x.
    pub variables: Vec<f64>,
    /// Scaled row = factor · row; links have their factor at the row.
    pub equal: Vec<f64>,
    /// The same for inequality rows.
    pub unequal: Vec<f64>,
    /// Scaled objective = factor · objective.
    pub objective: f64,
}

/// Rows are scaled so that their largest scaled derivative is at most this, as is the objective's gradient.
const STEEPEST: f64 = 1.0;
/// The objective is never scaled outside this.
const OBJECTIVE: (f64, f64) = (1e-8, 1e8);

impl Scales {
    /// Scales at a point. `nominal` gives sizes of variables that are known (from bounds, guesses, the user); the others
    /// follow from the derivatives, so that units do not matter.
    pub fn at(program: &dyn Program, x: &[f64], nominal: &[Option<f64>]) -> Result<Scales, Fault> {
        let shape = program.shape();
        let none = (vec![0.0; shape.n_equal()], vec![0.0; shape.n_unequal()]);
        let stages = all_derivatives(program, x, 1.0, Some((&none.0, &none.1)))?;
        let size = sizes(shape, &stages, nominal);
        let (equal, unequal) = rows(shape, &stages, &size);
        let gradient = crate::program::gradient(shape, &stages);
        let mut steep = gradient.iter().zip(&size).fold(0.0_f64, |m, (g, s)| m.max((g * s).abs()));
        // A guess at rest may have no slope: then the curvature tells how large the objective becomes.
        for (k, stage) in stages.iter().enumerate() {
            let n = shape.stages[k].variables;
            for (j, h) in stage
                .hessian
                .iter()
                .flat_map(|h| h.diagonal().iter().copied().collect::<Vec<_>>())
                .enumerate()
            {
                let at = if j < n { shape.variable_at(k) + j } else { shape.global_at() + j - n };
                steep = steep.max((h * size[at] * size[at]).abs());
            }
        }
        let objective =
            if steep > 0.0 { (STEEPEST / steep).clamp(OBJECTIVE.0, OBJECTIVE.1) } else { 1.0 };
        Ok(Scales { variables: size, equal, unequal, objective })
    }
}

/// 1 / largest scaled entry of every row.
fn rows(shape: &Shape, stages: &[StageDerivatives], size: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut equal = vec![0.0_f64; shape.n_equal()];
    let mut unequal = vec![0.0_f64; shape.n_unequal()];
    // A condition may be flat where it is looked at (a rod upright); its value then tells its size.
    for (k, stage) in stages.iter().enumerate() {
        for (i, value) in stage.values.unequal.iter().enumerate() {
            unequal[shape.unequal_at(k) + i] = value.abs();
        }
    }
    each(shape, stages, |which, row, variable, value| {
        let slot = if which { &mut equal[row] } else { &mut unequal[row] };
        *slot = slot.max((value * size[variable]).abs());
    });
    let invert =
        |list: Vec<f64>| list.into_iter().map(|m| if m > 0.0 { 1.0 / m } else { 1.0 }).collect();
    (invert(equal), invert(unequal))
}

/// Sizes of all variables from those that are known: a row's size is that of the largest change that known variables make in it, and a
/// variable's size is what changes a row by its size. In this way units pass from variable to variable.
fn sizes(shape: &Shape, stages: &[StageDerivatives], nominal: &[Option<f64>]) -> Vec<f64> {
    let mut size = nominal.to_vec();
    if size.iter().all(Option::is_some) {
        return size.into_iter().flatten().collect();
    }
    let n_equal = shape.n_equal();
    let mut entries: Vec<(usize, usize, f64)> = Vec::new();
    each(shape, stages, |is_equal, row, variable, value| {
        if value != 0.0 {
            entries.push((if is_equal { row } else { n_equal + row }, variable, value.abs()));
        }
    });
    let n_rows = n_equal + shape.n_unequal();
    if size.iter().all(Option::is_none) {
        // Nothing is known: what a condition misses at the guess is the size of its row.
        let values: Vec<StageValues> = stages.iter().map(|s| s.values.clone()).collect();
        let (_, equal, _) = collect(shape, &values);
        let mut seed = vec![0.0_f64; size.len()];
        for &(row, variable, value) in &entries {
            if row < n_equal && equal[row] != 0.0 {
                seed[variable] = seed[variable].max(value / equal[row].abs());
            }
        }
        for (s, c) in size.iter_mut().zip(&seed) {
            *s = (*c > 0.0).then_some(1.0 / c);
        }
    }
    loop {
        let mut row_size = vec![0.0_f64; n_rows];
        for &(row, variable, value) in &entries {
            if let Some(s) = size[variable] {
                row_size[row] = row_size[row].max(value * s);
            }
        }
        let mut steepest = vec![0.0_f64; size.len()];
        for &(row, variable, value) in &entries {
            if size[variable].is_none() && row_size[row] > 0.0 {
                steepest[variable] = steepest[variable].max(value / row_size[row]);
            }
        }
        let mut changed = false;
        for (s, c) in size.iter_mut().zip(&steepest) {
            if *c > 0.0 {
                *s = Some(1.0 / c);
                changed = true;
            }
        }
        if !changed {
            return size.into_iter().map(|s| s.unwrap_or(1.0)).collect();
        }
    }
}

/// Every entry of the Jacobian: whether it is an equality, row, variable, value.
fn each(
    shape: &Shape,
    stages: &[StageDerivatives],
    mut visit: impl FnMut(bool, usize, usize, f64),
) {
    for (k, stage) in stages.iter().enumerate() {
        let n = shape.stages[k].variables;
        for j in 0..n + shape.globals {
            let variable = if j < n { shape.variable_at(k) + j } else { shape.global_at() + j - n };
            for i in 0..stage.equal.nrows() {
                visit(true, shape.equal_at(k) + i, variable, stage.equal[(i, j)]);
            }
            for i in 0..stage.unequal.nrows() {
                visit(false, shape.unequal_at(k) + i, variable, stage.unequal[(i, j)]);
            }
            for i in 0..stage.left.nrows() {
                visit(true, shape.link_at(k) + i, variable, stage.left[(i, j)]);
            }
            if k > 0 {
                for i in 0..stage.right.nrows() {
                    visit(true, shape.link_at(k - 1) + i, variable, stage.right[(i, j)]);
                }
            }
        }
    }
}

/// A program in scaled variables.
pub struct Scaled<'a> {
    inner: &'a mut dyn Program,
    scales: &'a Scales,
    shape: Shape,
    bounds: (Vec<f64>, Vec<f64>),
    row_bounds: (Vec<f64>, Vec<f64>),
}

impl<'a> Scaled<'a> {
    /// The program seen through its scales.
    pub fn new(inner: &'a mut dyn Program, scales: &'a Scales) -> Self {
        let shape = inner.shape().clone();
        let (lower, upper) = inner.bounds();
        let divide =
            |list: &[f64]| list.iter().zip(&scales.variables).map(|(b, s)| b / s).collect();
        let bounds = (divide(lower), divide(upper));
        let (lower, upper) = inner.row_bounds();
        let times = |list: &[f64]| list.iter().zip(&scales.unequal).map(|(b, s)| b * s).collect();
        let row_bounds = (times(lower), times(upper));
        Scaled { inner, scales, shape, bounds, row_bounds }
    }

    fn unscaled(&self, stage: usize, z: &[f64]) -> Vec<f64> {
        (0..z.len()).map(|j| z[j] * self.size(stage, j)).collect()
    }

    fn size(&self, stage: usize, j: usize) -> f64 {
        let n = self.shape.stages[stage].variables;
        let at =
            if j < n { self.shape.variable_at(stage) + j } else { self.shape.global_at() + j - n };
        self.scales.variables[at]
    }

    fn factors(&self, stage: usize) -> [&[f64]; 4] {
        let (shape, s) = (&self.shape, &self.shape.stages[stage]);
        let part = |list: &'a [f64], at: usize, n: usize| &list[at..at + n];
        let right = match stage.checked_sub(1) {
            Some(k) => part(&self.scales.equal, shape.link_at(k), shape.stages[k].links),
            None => &[],
        };
        [
            part(&self.scales.equal, shape.equal_at(stage), s.equalities),
            part(&self.scales.unequal, shape.unequal_at(stage), s.inequalities),
            part(&self.scales.equal, shape.link_at(stage), s.links),
            right,
        ]
    }

    fn scale_values(&self, stage: usize, values: &mut StageValues) {
        values.cost *= self.scales.objective;
        let [equal, unequal, left, right] = self.factors(stage);
        let times =
            |list: &mut [f64], by: &[f64]| list.iter_mut().zip(by).for_each(|(v, f)| *v *= f);
        times(&mut values.equal, equal);
        times(&mut values.unequal, unequal);
        times(&mut values.left, left);
        times(&mut values.right, right);
    }
}

impl Program for Scaled<'_> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.bounds.0, &self.bounds.1)
    }

    fn row_bounds(&self) -> (&[f64], &[f64]) {
        (&self.row_bounds.0, &self.row_bounds.1)
    }

    fn values(&self, stage: usize, z: &[f64]) -> Result<StageValues, Fault> {
        let mut values = self.inner.values(stage, &self.unscaled(stage, z))?;
        self.scale_values(stage, &mut values);
        Ok(values)
    }

    fn derivatives(
        &self,
        stage: usize,
        z: &[f64],
        weights: Option<&Weights>,
    ) -> Result<StageDerivatives, Fault> {
        let [equal, unequal, left, right] = self.factors(stage);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).collect();
        let weights = weights.map(|w| Weights {
            cost: w.cost * self.scales.objective,
            equal: product(&w.equal, equal),
            unequal: product(&w.unequal, unequal),
            left: product(&w.left, left),
            right: product(&w.right, right),
        });
        let z = self.unscaled(stage, z);
        let mut out = self.inner.derivatives(stage, &z, weights.as_ref())?;
        self.scale_values(stage, &mut out.values);
        for j in 0..z.len() {
            let size = self.size(stage, j);
            out.gradient[j] *= size * self.scales.objective;
            let columns = [
                (&mut out.equal, equal),
                (&mut out.unequal, unequal),
                (&mut out.left, left),
                (&mut out.right, right),
            ];
            for (matrix, factors) in columns {
                for i in 0..matrix.nrows() {
                    matrix[(i, j)] *= size * factors[i];
                }
            }
            if let Some(hessian) = &mut out.hessian {
                for i in 0..z.len() {
                    hessian[(i, j)] *= size * self.size(stage, i);
                }
            }
        }
        Ok(out)
    }

    fn describe(&self, row: RowAt) -> String {
        self.inner.describe(row)
    }

    fn places(&self, x: &[f64], links: &[f64]) -> Option<crate::program::Places> {
        let plain: Vec<f64> = x.iter().zip(&self.scales.variables).map(|(x, s)| x * s).collect();
        let multipliers: Vec<f64> =
            links.iter().zip(&self.scales.equal).map(|(l, s)| l * s).collect();
        self.inner.places(&plain, &multipliers)
    }

    fn recenter(&mut self, x: &mut [f64], links: &mut [f64]) -> Result<bool, Fault> {
        let mut plain: Vec<f64> =
            x.iter().zip(&self.scales.variables).map(|(x, s)| x * s).collect();
        let mut multipliers: Vec<f64> =
            links.iter().zip(&self.scales.equal).map(|(l, s)| l * s).collect();
        if !self.inner.recenter(&mut plain, &mut multipliers)? {
            return Ok(false);
        }
        for ((x, p), s) in x.iter_mut().zip(&plain).zip(&self.scales.variables) {
            *x = p / s;
        }
        for ((l, m), s) in links.iter_mut().zip(&multipliers).zip(&self.scales.equal) {
            *l = m / s;
        }
        Ok(true)
    }
}
