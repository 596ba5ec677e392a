//! Derivatives of expressions as tapes of what is not zero.

use gelenk_expr::{CompileError, Expr, Pool, Tape};

use super::dense::axpy;

/// A matrix of expressions, compiled as the list of its entries that are not zero.
#[derive(Clone, Debug)]
pub(crate) struct SparseTape {
    pub(crate) tape: Tape,
    /// Row and column of each output.
    pub(crate) entries: Vec<(usize, usize)>,
}

impl SparseTape {
    /// Compiles entries (row, column, expression).
    pub(crate) fn compile(
        pool: &Pool,
        entries: impl IntoIterator<Item = (usize, usize, Expr)>,
        inputs: &[Expr],
    ) -> Result<Self, CompileError> {
        let kept: Vec<_> = entries.into_iter().filter(|(_, _, e)| *e != Expr::ZERO).collect();
        let outputs: Vec<Expr> = kept.iter().map(|(_, _, e)| *e).collect();
        let tape = Tape::compile(pool, &outputs, inputs)?;
        Ok(SparseTape { tape, entries: kept.iter().map(|(i, j, _)| (*i, *j)).collect() })
    }

    /// ∂e_i/∂x_j.
    pub(crate) fn jacobian(
        pool: &mut Pool,
        exprs: &[Expr],
        variables: &[Expr],
        inputs: &[Expr],
    ) -> Result<Self, CompileError> {
        let mut entries = Vec::new();
        for (i, &e) in exprs.iter().enumerate() {
            for (j, &x) in variables.iter().enumerate() {
                entries.push((i, j, pool.diff(e, x)));
            }
        }
        Self::compile(pool, entries, inputs)
    }

    /// ∂²e/∂x_i∂x_j, the lower triangle.
    pub(crate) fn hessian(
        pool: &mut Pool,
        e: Expr,
        variables: &[Expr],
        inputs: &[Expr],
    ) -> Result<Self, CompileError> {
        let mut entries = Vec::new();
        for (i, &x) in variables.iter().enumerate() {
            let slope = pool.diff(e, x);
            if slope == Expr::ZERO {
                continue;
            }
            for (j, &y) in variables[..=i].iter().enumerate() {
                entries.push((i, j, pool.diff(slope, y)));
            }
        }
        Self::compile(pool, entries, inputs)
    }

    /// Rows and columns in use, rising.
    pub(crate) fn used(&self) -> Vec<usize> {
        let mut used: Vec<usize> = self.entries.iter().flat_map(|(i, j)| [*i, *j]).collect();
        used.sort_unstable();
        used.dedup();
        used
    }
}

/// Adds Dᵀ H D to the lower triangle of `out`, for H given by the entries of its lower triangle. D has k columns; `work` is as large as D.
pub(crate) fn add_quadratic(
    entries: &[(usize, usize)],
    used: &[usize],
    values: &[f64],
    d: &[f64],
    k: usize,
    work: &mut [f64],
    out: &mut [f64],
) {
    for &i in used {
        work[i * k..(i + 1) * k].fill(0.0);
    }
    for (&(i, j), &h) in entries.iter().zip(values) {
        if h != 0.0 {
            axpy(h, &d[j * k..(j + 1) * k], &mut work[i * k..(i + 1) * k]);
            if i != j {
                axpy(h, &d[i * k..(i + 1) * k], &mut work[j * k..(j + 1) * k]);
            }
        }
    }
    for &i in used {
        let (d, hd) = (&d[i * k..(i + 1) * k], &work[i * k..(i + 1) * k]);
        for (c, &factor) in d.iter().enumerate() {
            if factor != 0.0 {
                axpy(factor, &hd[..=c], &mut out[c * k..=c * k + c]);
            }
        }
    }
}
