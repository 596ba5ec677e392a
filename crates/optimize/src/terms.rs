//! Expressions of a node's quantities and of global variables, with derivatives: conditions, costs, links of phases.

use gelenk_expr::{CompileError, Expr, Pool, Tape};
use nalgebra::{DMatrix, DVector};

/// What an expression reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reads {
    /// A quantity of the node, by its place in the motion's list.
    Quantity(usize),
    /// A global variable.
    Global(usize),
}

/// Some expressions of one node, compiled with their first and second derivatives.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What the tapes read, in order.
    pub inputs: Vec<Reads>,
    values: Tape,
    jacobian: Tape,
    jacobian_at: Vec<(usize, usize)>,
    hessian: Tape,
    hessian_at: Vec<(usize, usize)>,
}

impl Terms {
    /// Compiles expressions; `symbol` tells what a symbol reads (all symbols of the expressions have been checked).
    pub fn new(
        pool: &mut Pool,
        expressions: &[Expr],
        symbol: impl Fn(Expr) -> Option<Reads>,
    ) -> Result<Terms, CompileError> {
        let mut found: Vec<(Reads, Expr)> = Vec::new();
        for &e in expressions {
            for s in pool.symbols_of(e) {
                if let Some(reads) = symbol(s) {
                    found.push((reads, s));
                }
            }
        }
        found.sort_by_key(|(reads, _)| *reads);
        found.dedup_by_key(|(reads, _)| *reads);
        let symbols: Vec<Expr> = found.iter().map(|(_, s)| *s).collect();
        let values = Tape::compile(pool, expressions, &symbols)?;
        let (mut entries, mut jacobian_at) = (Vec::new(), Vec::new());
        for (i, &e) in expressions.iter().enumerate() {
            for (j, &s) in symbols.iter().enumerate() {
                let d = pool.diff(e, s);
                if d != Expr::ZERO {
                    entries.push(d);
                    jacobian_at.push((i, j));
                }
            }
        }
        let jacobian = Tape::compile(pool, &entries, &symbols)?;
        let weights: Vec<Expr> =
            (0..expressions.len()).map(|i| pool.symbol(&format!("weight.of.{i}"))).collect();
        let products: Vec<Expr> =
            expressions.iter().zip(&weights).map(|(e, w)| pool.mul(&[*w, *e])).collect();
        let sum = pool.add(&products);
        let (mut entries, mut hessian_at) = (Vec::new(), Vec::new());
        for j in 0..symbols.len() {
            let slope = pool.diff(sum, symbols[j]);
            for i in j..symbols.len() {
                let d = pool.diff(slope, symbols[i]);
                if d != Expr::ZERO {
                    entries.push(d);
                    hessian_at.push((i, j));
                }
            }
        }
        let all: Vec<Expr> = symbols.iter().chain(&weights).copied().collect();
        let hessian = Tape::compile(pool, &entries, &all)?;
        let inputs = found.iter().map(|(reads, _)| *reads).collect();
        Ok(Terms { inputs, values, jacobian, jacobian_at, hessian, hessian_at })
    }

    /// Number of expressions.
    pub fn len(&self) -> usize {
        self.values.n_outputs()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values.
    pub fn values(&self, inputs: &[f64]) -> DVector<f64> {
        DVector::from_vec(self.values.values(inputs))
    }

    /// Derivatives by the inputs.
    pub fn jacobian(&self, inputs: &[f64]) -> DMatrix<f64> {
        let mut out = DMatrix::zeros(self.len(), inputs.len());
        for (&at, value) in self.jacobian_at.iter().zip(self.jacobian.values(inputs)) {
            out[at] = value;
        }
        out
    }

    /// Σ wᵢ ∂²eᵢ.
    pub fn hessian(&self, inputs: &[f64], weights: &[f64]) -> DMatrix<f64> {
        let n = inputs.len();
        let mut out = DMatrix::zeros(n, n);
        let all: Vec<f64> = inputs.iter().chain(weights).copied().collect();
        for (&(i, j), value) in self.hessian_at.iter().zip(self.hessian.values(&all)) {
            out[(i, j)] = value;
            out[(j, i)] = value;
        }
        out
    }
}
