//! A flow given by formulas.

use gelenk_expr::{CompileError, Expr, Pool, Tape};

use super::sparse::{SparseTape, add_quadratic};
use super::{At, Flow, FlowSizes};

/// ẋ = f(x, u, p, t) and ℓ(x, u, p, t) as expressions; their derivatives are derived once and compiled.
#[derive(Clone, Debug)]
pub struct Formulas {
    sizes: FlowSizes,
    value: Tape,
    jacobian: SparseTape,
    /// Of Σ wᵢ fᵢ; inputs (x, u, p, t, w).
    hessian: SparseTape,
    used: Vec<usize>,
}

impl Formulas {
    /// States with their rates, symbols of controls and parameters, ℓ. Time is the pool's.
    ///
    /// Where the first rates are other states, in order (q̇ = v), they are positions, and steps are cheaper.
    pub fn new(
        pool: &mut Pool,
        states: &[(Expr, Expr)],
        controls: &[Expr],
        parameters: &[Expr],
        cost: Expr,
    ) -> Result<Self, CompileError> {
        let n = states.len();
        let is_split = |q: usize| (0..q).all(|i| states[i].1 == states[q + i].0);
        let positions = (1..=n / 2).rev().find(|&q| is_split(q)).unwrap_or(0);
        let sizes = FlowSizes {
            states: n,
            positions,
            controls: controls.len(),
            parameters: parameters.len(),
        };
        let time = pool.time();
        let symbols = states.iter().map(|(x, _)| *x);
        let arguments: Vec<Expr> = symbols
            .chain(controls.iter().copied())
            .chain(parameters.iter().copied())
            .chain([time])
            .collect();
        let mut outputs: Vec<Expr> = states[positions..].iter().map(|(_, rate)| *rate).collect();
        outputs.push(cost);
        let value = Tape::compile(pool, &outputs, &arguments)?;
        let jacobian = SparseTape::jacobian(pool, &outputs, &arguments, &arguments)?;
        let weights: Vec<Expr> =
            (0..outputs.len()).map(|i| pool.symbol(&format!("weight.{i}"))).collect();
        let terms: Vec<Expr> =
            outputs.iter().zip(&weights).map(|(f, w)| pool.mul(&[*w, *f])).collect();
        let sum = pool.add(&terms);
        let inputs: Vec<Expr> = arguments.iter().chain(&weights).copied().collect();
        let hessian = SparseTape::hessian(pool, sum, &arguments, &inputs)?;
        let used = hessian.used();
        Ok(Formulas { sizes, value, jacobian, hessian, used })
    }
}

/// Working memory of [`Formulas`].
#[derive(Clone, Debug)]
pub struct FormulaScratch {
    inputs: Vec<f64>,
    registers: Vec<f64>,
    outputs: Vec<f64>,
    work: Vec<f64>,
}

impl FormulaScratch {
    fn set(&mut self, at: &At<'_>) {
        let parts = [at.x, at.u, at.p, &[at.t]];
        let mut i = 0;
        for part in parts {
            self.inputs[i..i + part.len()].copy_from_slice(part);
            i += part.len();
        }
    }
}

impl Flow for Formulas {
    type Scratch = FormulaScratch;

    fn sizes(&self) -> FlowSizes {
        self.sizes
    }

    fn scratch(&self) -> FormulaScratch {
        let tapes = [&self.value, &self.jacobian.tape, &self.hessian.tape];
        FormulaScratch {
            inputs: vec![0.0; self.hessian.tape.n_inputs()],
            registers: vec![0.0; tapes.map(Tape::n_registers).into_iter().max().unwrap_or(0)],
            outputs: vec![0.0; tapes.map(Tape::n_outputs).into_iter().max().unwrap_or(0)],
            work: Vec::new(),
        }
    }

    fn rates(&self, s: &mut FormulaScratch, at: &At<'_>, out: &mut [f64]) -> Result<(), String> {
        s.set(at);
        self.value.eval(&s.inputs, &mut s.registers, out);
        Ok(())
    }

    fn linearize(
        &self,
        s: &mut FormulaScratch,
        at: &At<'_>,
        out: &mut [f64],
        jac: &mut [f64],
    ) -> Result<(), String> {
        self.rates(s, at, out)?;
        self.jacobian.tape.eval(&s.inputs, &mut s.registers, &mut s.outputs);
        jac.fill(0.0);
        let columns = self.sizes.arguments();
        for (&(i, j), &value) in self.jacobian.entries.iter().zip(&s.outputs) {
            jac[i * columns + j] = value;
        }
        Ok(())
    }

    fn curvature(
        &self,
        s: &mut FormulaScratch,
        weights: &[f64],
        directions: &[f64],
        k: usize,
        out: &mut [f64],
    ) {
        s.inputs[self.sizes.arguments()..].copy_from_slice(weights);
        self.hessian.tape.eval(&s.inputs, &mut s.registers, &mut s.outputs);
        s.work.resize(directions.len(), 0.0);
        add_quadratic(
            &self.hessian.entries,
            &self.used,
            &s.outputs,
            directions,
            k,
            &mut s.work,
            out,
        );
    }
}
