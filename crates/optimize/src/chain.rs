//! The linear systems of stages: Newton's matrix of a program whose stages touch their neighbours and a few global unknowns.

use nalgebra::{DMatrix, DVector};

use crate::front::{Eliminated, Inertia, Remainder, eliminate};
use crate::shape::Shape;

/// One stage's part of the matrix. Columns are z = (w, p).
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Curvature, symmetric, (w, p) by (w, p).
    pub(crate) hessian: DMatrix<f64>,
    /// Rows of equalities.
    pub(crate) equal: DMatrix<f64>,
    /// Rows of links to the next stage.
    pub(crate) left: DMatrix<f64>,
    /// Rows of links from the stage before, as they are subtracted.
    pub(crate) right: DMatrix<f64>,
    /// What equality rows give way: −d on their diagonal.
    pub(crate) give_equal: DVector<f64>,
    /// The same for links to the next stage.
    pub(crate) give_link: DVector<f64>,
}

/// The matrix
///
/// ```text
/// [ H   Aᵀ ]    H: curvature of all stages and globals
/// [ A  −D ]    A: equalities and links left(z_k) − right(z_{k+1})
/// ```
///
/// factored stage by stage from the last to the first: Riccati's recursion as a chain of dense fronts. A row that finds no stable
/// pivot in its stage (a condition on states alone, say) waits for the stage before. The signs of the pivots are the
/// matrix's inertia.
#[derive(Debug)]
pub(crate) struct Chain {
    fronts: Vec<Eliminated>,
    /// Signs of all pivots.
    pub(crate) inertia: Inertia,
}

/// Where the unknowns of the system stand: all variables, then all rows.
fn first_row(shape: &Shape) -> usize {
    shape.n_variables()
}

impl Chain {
    /// Factors the matrix of these blocks.
    pub(crate) fn factor(shape: &Shape, blocks: &[Block]) -> Chain {
        let n_stages = shape.stages.len();
        let (globals, base) = (shape.globals, first_row(shape));
        let global_at = shape.global_at();
        let mut inertia = Inertia::default();
        let mut fronts = Vec::with_capacity(n_stages);
        let mut carried =
            Remainder { matrix: DMatrix::zeros(0, 0), unknowns: Vec::new(), delayed: 0 };
        for k in (0..n_stages).rev() {
            let stage = &shape.stages[k];
            let (w_at, n_w) = (shape.variable_at(k), stage.variables);
            let states = if k == 0 { 0 } else { stage.states };
            // Order: waiting rows, links and equalities and controls of this stage, states of the next; then own states, globals.
            let mut unknowns: Vec<usize> = Vec::new();
            let waiting = carried.unknowns.len() - if k + 1 < n_stages { globals } else { 0 };
            unknowns.extend(&carried.unknowns[..waiting]);
            unknowns.extend((states..n_w).map(|i| w_at + i));
            let link_at = base + shape.link_at(k);
            unknowns.extend((0..stage.links).map(|i| link_at + i));
            let equal_at = base + shape.equal_at(k);
            unknowns.extend((0..stage.equalities).map(|i| equal_at + i));
            let mut summed = unknowns.len();
            unknowns.extend((0..states).map(|i| w_at + i));
            unknowns.extend((0..globals).map(|i| global_at + i));
            if k == 0 {
                summed = unknowns.len();
            }
            let n = unknowns.len();
            let mut front = DMatrix::zeros(n, n);
            let place = Places::new(&unknowns, n);
            let mut add = |i: usize, j: usize, value: f64| {
                let (i, j) = (place.of(i), place.of(j));
                front[(i.max(j), i.min(j))] += value;
            };
            for (j, &q) in carried.unknowns.iter().enumerate() {
                for (i, &p) in carried.unknowns.iter().enumerate().skip(j) {
                    add(p, q, carried.matrix[(i, j)]);
                }
            }
            let block = &blocks[k];
            let column = |j: usize| if j < n_w { w_at + j } else { global_at + j - n_w };
            for j in 0..n_w + globals {
                for i in j..n_w + globals {
                    add(column(i), column(j), block.hessian[(i, j)]);
                }
                for i in 0..stage.equalities {
                    add(equal_at + i, column(j), block.equal[(i, j)]);
                }
                for i in 0..stage.links {
                    add(link_at + i, column(j), block.left[(i, j)]);
                }
            }
            for i in 0..stage.equalities {
                add(equal_at + i, equal_at + i, -block.give_equal[i]);
            }
            for i in 0..stage.links {
                add(link_at + i, link_at + i, -block.give_link[i]);
            }
            if k + 1 < n_stages {
                let (next, next_at) = (&shape.stages[k + 1], shape.variable_at(k + 1));
                let right = &blocks[k + 1].right;
                for i in 0..stage.links {
                    for j in 0..next.states {
                        add(link_at + i, next_at + j, -right[(i, j)]);
                    }
                    for j in 0..globals {
                        add(link_at + i, global_at + j, -right[(i, next.variables + j)]);
                    }
                }
            }
            let (eliminated, rest) = eliminate(front, unknowns, summed, &mut inertia);
            fronts.push(eliminated);
            carried = rest;
        }
        inertia.zero += carried.delayed;
        Chain { fronts, inertia }
    }

    /// Solves in place.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        for front in &self.fronts {
            front.forward(b);
        }
        for front in self.fronts.iter().rev() {
            front.backward(b);
        }
    }
}

/// Positions of unknowns within a front.
struct Places {
    sorted: Vec<(usize, usize)>,
}

impl Places {
    fn new(unknowns: &[usize], _n: usize) -> Self {
        let mut sorted: Vec<(usize, usize)> =
            unknowns.iter().enumerate().map(|(i, &u)| (u, i)).collect();
        sorted.sort_unstable();
        Places { sorted }
    }

    fn of(&self, unknown: usize) -> usize {
        let at = self.sorted.partition_point(|&(u, _)| u < unknown);
        self.sorted[at].1
    }
}

/// The matrix times a vector (variables, rows).
pub(crate) fn multiply(shape: &Shape, blocks: &[Block], x: &[f64]) -> Vec<f64> {
    let base = first_row(shape);
    let mut out = vec![0.0; x.len()];
    for (k, block) in blocks.iter().enumerate() {
        let stage = &shape.stages[k];
        let (w_at, n_w) = (shape.variable_at(k), stage.variables);
        let column = |j: usize| if j < n_w { w_at + j } else { shape.global_at() + j - n_w };
        let (equal_at, link_at) = (base + shape.equal_at(k), base + shape.link_at(k));
        for j in 0..n_w + shape.globals {
            let at = column(j);
            for i in 0..n_w + shape.globals {
                out[at] += block.hessian[(i, j)] * x[column(i)];
            }
            let mut rows = |matrix: &DMatrix<f64>, row_at: usize, sign: f64| {
                for i in 0..matrix.nrows() {
                    let a = sign * matrix[(i, j)];
                    out[at] += a * x[row_at + i];
                    out[row_at + i] += a * x[at];
                }
            };
            rows(&block.equal, equal_at, 1.0);
            rows(&block.left, link_at, 1.0);
            if k > 0 {
                rows(&block.right, base + shape.link_at(k - 1), -1.0);
            }
        }
        for i in 0..stage.equalities {
            out[equal_at + i] -= block.give_equal[i] * x[equal_at + i];
        }
        for i in 0..stage.links {
            out[link_at + i] -= block.give_link[i] * x[link_at + i];
        }
    }
    out
}
