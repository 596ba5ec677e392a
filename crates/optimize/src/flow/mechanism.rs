//! Point masses on constraints as a flow: the index-1 form, with accelerations and multipliers eliminated.

use gelenk_expr::{Expr, Tape};

use super::dense::{Cholesky, axpy, multiply_add};
use super::source::Source;
use super::sparse::{SparseTape, add_quadratic};
use super::{At, Flow, FlowSizes};

/// Coordinates beyond this, m, are taken as a motion that has gone wrong.
const FARTHEST: f64 = 1e7;

/// A mechanism in natural coordinates: x = (p, v), and a is that of
/// ```text
/// [ M  Gᵀ ] [ a ]   [ F(p, v, u, t) ]
/// [ G  0  ] [ λ ] = [ γ(p, v)       ]
/// ```
/// Derivatives are those of the implicit function: the accelerations solved for are never differentiated as formulas. With
/// Gᵀâ … the adjoint (â, λ̂) of weights on a, second derivatives are those of the polynomial
/// â·(F − Gᵀλ) + λ̂·(γ − G a) in (p, v, u, t, a, λ), sparse and short. \[Laufen\] chapter I.
#[derive(Clone, Debug)]
pub struct Mechanism {
    sizes: FlowSizes,
    /// Coordinates.
    pub(crate) n: usize,
    /// Constraints.
    pub(crate) m: usize,
    /// Diagonal of M.
    pub(crate) mass: Vec<f64>,
    mass_inv: Vec<f64>,
    /// F, γ, ℓ of (x, u, p, t).
    value: Tape,
    /// G of p.
    pub(crate) gradient: SparseTape,
    /// The lower triangle of G M⁻¹ Gᵀ as products: place, two entries of G, coordinate.
    products: Vec<[usize; 4]>,
    /// Derivatives of F − Gᵀλ, γ − G a, ℓ by (x, u, p, t); inputs (x, u, p, t, a, λ).
    jacobian: SparseTape,
    /// Of â·(F − Gᵀλ) + λ̂·(γ − G a) + w ℓ by (x, u, p, t, a, λ); inputs these and (â, λ̂, w).
    hessian: SparseTape,
    used: Vec<usize>,
    /// g of p.
    pub(crate) constraints: Tape,
    /// ∂(G v)/∂p of (p, v).
    pub(crate) turning: SparseTape,
    /// Of σ·g + τ·G v by (p, v); inputs (p, v, σ, τ).
    pub(crate) bending: SparseTape,
    /// Names of constraints.
    pub(crate) constraint_names: Vec<String>,
}

impl Mechanism {
    /// Derives and compiles all that is needed from a mechanism's expressions.
    pub fn new(source: Source) -> Result<Self, String> {
        Self::derive(source, false)
    }

    /// The impact without rebound with which a mechanism's constraints begin to hold: velocities v become v + a with
    /// ```text
    /// [ M  Gᵀ ] [ a ]   [  0       ]
    /// [ G  0  ] [ Λ ] = [ −G(p) v  ]
    /// ```
    /// so that G (v + a) = 0 and the loss of energy is ½ aᵀ M a (Carnot). The same equations as those of the motion, without
    /// forces and with another γ.
    pub fn impact(mut source: Source) -> Result<Self, String> {
        source.controls.clear();
        source.parameters.clear();
        source.cost = Expr::ZERO;
        source.force.fill(Expr::ZERO);
        Self::derive(source, true)
    }

    fn derive(source: Source, impact: bool) -> Result<Self, String> {
        let Source { mut pool, p, v, controls, parameters, mass, force, constraints, cost, .. } =
            source;
        let (n, m) = (p.len(), constraints.len());
        let wrong = |error: gelenk_expr::CompileError| error.to_string();
        let time = pool.time();
        let list = |parts: &[&[Expr]]| -> Vec<Expr> { parts.concat() };
        let arguments = list(&[&p, &v, &controls, &parameters, &[time]]);
        let g: Vec<Expr> = constraints.iter().map(|(_, g)| *g).collect();
        for (name, g) in &constraints {
            if pool.diff(*g, time) != Expr::ZERO {
                return Err(format!(
                    "constraint `{name}` depends on time, which charts of nodes do not know"
                ));
            }
        }
        let mut equations = pool.constraint_equations(&g, &p, &v, time);
        if impact {
            for (row, gamma) in equations.jac.iter().zip(&mut equations.gamma) {
                let terms: Vec<Expr> =
                    row.iter().zip(&v).map(|(g, v)| pool.mul(&[*g, *v])).collect();
                let rate = pool.add(&terms);
                *gamma = pool.neg(rate);
            }
        }
        let value = Tape::compile(&pool, &list(&[&force, &equations.gamma, &[cost]]), &arguments)
            .map_err(wrong)?;
        let gradient_entries: Vec<(usize, usize, Expr)> = equations
            .jac
            .iter()
            .enumerate()
            .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, e)| (i, j, *e)))
            .collect();
        let gradient = SparseTape::compile(&pool, gradient_entries, &p).map_err(wrong)?;
        let mut products = Vec::new();
        for (a, &(row, column)) in gradient.entries.iter().enumerate() {
            for (b, &(other, same)) in gradient.entries.iter().enumerate() {
                if same == column && other >= row {
                    products.push([other * m + row, a, b, column]);
                }
            }
        }
        let mut symbols = |name: &str, k: usize| -> Vec<Expr> {
            (0..k).map(|i| pool.symbol(&format!("{name}.{i}.of"))).collect()
        };
        let (a, lambda) = (symbols("acceleration", n), symbols("multiplier", m));
        let (a_hat, lambda_hat, weight) =
            (symbols("adjoint", n), symbols("costate", m), symbols("weight", 1));
        let mut rest = Vec::with_capacity(n + m + 1);
        for i in 0..n {
            let pull: Vec<Expr> =
                (0..m).map(|k| pool.mul(&[equations.jac[k][i], lambda[k]])).collect();
            let pull = pool.add(&pull);
            rest.push(pool.sub(force[i], pull));
        }
        for k in 0..m {
            let along: Vec<Expr> = (0..n).map(|i| pool.mul(&[equations.jac[k][i], a[i]])).collect();
            let along = pool.add(&along);
            rest.push(pool.sub(equations.gamma[k], along));
        }
        rest.push(cost);
        let inputs = list(&[&arguments, &a, &lambda]);
        let jacobian =
            SparseTape::jacobian(&mut pool, &rest, &arguments, &inputs).map_err(wrong)?;
        let weights = list(&[&a_hat, &lambda_hat, &weight]);
        let terms: Vec<Expr> =
            rest.iter().zip(&weights).map(|(e, w)| pool.mul(&[*e, *w])).collect();
        let sum = pool.add(&terms);
        let all = list(&[&inputs, &weights]);
        let hessian = SparseTape::hessian(&mut pool, sum, &inputs, &all).map_err(wrong)?;
        let used = hessian.used();
        let tape_g = Tape::compile(&pool, &g, &p).map_err(wrong)?;
        let mut rates = Vec::with_capacity(m);
        for row in &equations.jac {
            let terms: Vec<Expr> = row.iter().zip(&v).map(|(g, v)| pool.mul(&[*g, *v])).collect();
            rates.push(pool.add(&terms));
        }
        let place = list(&[&p, &v]);
        let turning = SparseTape::jacobian(&mut pool, &rates, &p, &place).map_err(wrong)?;
        let terms: Vec<Expr> = (g.iter().zip(&lambda).chain(rates.iter().zip(&lambda_hat)))
            .map(|(e, w)| pool.mul(&[*e, *w]))
            .collect();
        let sum = pool.add(&terms);
        let bending =
            SparseTape::hessian(&mut pool, sum, &place, &list(&[&place, &lambda, &lambda_hat]))
                .map_err(wrong)?;
        Ok(Mechanism {
            sizes: FlowSizes {
                states: 2 * n,
                positions: n,
                controls: controls.len(),
                parameters: parameters.len(),
            },
            n,
            m,
            mass_inv: mass.iter().map(|m| 1.0 / m).collect(),
            mass,
            value,
            gradient,
            products,
            jacobian,
            hessian,
            used,
            constraints: tape_g,
            turning,
            bending,
            constraint_names: constraints.into_iter().map(|(name, _)| name).collect(),
        })
    }

    /// How many numbers tapes compute at a place: for rates, for first and for second derivatives.
    pub fn operations(&self) -> [usize; 3] {
        let first = self.value.n_operations() + self.gradient.tape.n_operations();
        [first, self.jacobian.tape.n_operations(), self.hessian.tape.n_operations()]
    }

    /// Accelerations, multipliers and ℓ; G and the factor of G M⁻¹ Gᵀ are left in `s`.
    fn accelerate(&self, s: &mut MechanismScratch, at: &At<'_>) -> Result<(), String> {
        let (n, m) = (self.n, self.m);
        // A motion that runs away has no meaning, and its numbers would not end.
        if !at.x[..n].iter().all(|p| p.abs() < FARTHEST) {
            return Err("a point runs away".into());
        }
        let mut i = 0;
        for part in [at.x, at.u, at.p, &[at.t]] {
            s.inputs[i..i + part.len()].copy_from_slice(part);
            i += part.len();
        }
        self.value.eval(&s.inputs, &mut s.registers, &mut s.outputs);
        let (force, gamma) = (&s.outputs[..n], &s.outputs[n..n + m]);
        s.cost = s.outputs[n + m];
        // λ: G M⁻¹ Gᵀ λ = G M⁻¹ F − γ
        s.acceleration.copy_from_slice(force);
        s.lambda.iter_mut().zip(gamma).for_each(|(l, g)| *l = -g);
        self.gradient.tape.eval(at.x, &mut s.registers, &mut s.g);
        let k = s.factor.matrix();
        k.fill(0.0);
        for (&(row, column), &g) in self.gradient.entries.iter().zip(&s.g) {
            s.lambda[row] += g * self.mass_inv[column] * s.acceleration[column];
        }
        for &[at, a, b, column] in &self.products {
            k[at] += s.g[a] * s.g[b] * self.mass_inv[column];
        }
        s.factor.factor().map_err(|i| {
            format!("constraint `{}` depends on others here", self.constraint_names[i])
        })?;
        s.factor.solve_one(&mut s.lambda);
        for (&(row, column), &g) in self.gradient.entries.iter().zip(&s.g) {
            s.acceleration[column] -= g * s.lambda[row];
        }
        s.acceleration.iter_mut().zip(&self.mass_inv).for_each(|(a, m)| *a *= m);
        Ok(())
    }
}

/// Working memory of [`Mechanism`].
#[derive(Clone, Debug)]
pub struct MechanismScratch {
    inputs: Vec<f64>,
    registers: Vec<f64>,
    outputs: Vec<f64>,
    acceleration: Vec<f64>,
    lambda: Vec<f64>,
    cost: f64,
    /// Entries of G.
    g: Vec<f64>,
    /// G M⁻¹ Gᵀ.
    factor: Cholesky,
    /// ∂λ/∂(x, u, p, t). (m, arguments)
    multiplier_jac: Vec<f64>,
    /// Derivatives of F − Gᵀλ. (n, arguments)
    rest: Vec<f64>,
    directions: Vec<f64>,
    work: Vec<f64>,
}

impl Flow for Mechanism {
    type Scratch = MechanismScratch;

    fn sizes(&self) -> FlowSizes {
        self.sizes
    }

    fn scratch(&self) -> MechanismScratch {
        let tapes = [&self.value, &self.gradient.tape, &self.jacobian.tape, &self.hessian.tape];
        let (n, m, arguments) = (self.n, self.m, self.sizes.arguments());
        MechanismScratch {
            inputs: vec![0.0; self.hessian.tape.n_inputs()],
            registers: vec![0.0; tapes.map(Tape::n_registers).into_iter().max().unwrap_or(0)],
            outputs: vec![0.0; tapes.map(Tape::n_outputs).into_iter().max().unwrap_or(0)],
            acceleration: vec![0.0; n],
            lambda: vec![0.0; m],
            cost: 0.0,
            g: vec![0.0; self.gradient.entries.len()],
            factor: Cholesky::new(m),
            multiplier_jac: vec![0.0; m * arguments],
            rest: vec![0.0; n * arguments],
            directions: Vec::new(),
            work: Vec::new(),
        }
    }

    fn rates(&self, s: &mut MechanismScratch, at: &At<'_>, out: &mut [f64]) -> Result<(), String> {
        self.accelerate(s, at)?;
        out[..self.n].copy_from_slice(&s.acceleration);
        out[self.n] = s.cost;
        Ok(())
    }

    fn linearize(
        &self,
        s: &mut MechanismScratch,
        at: &At<'_>,
        out: &mut [f64],
        jac: &mut [f64],
    ) -> Result<(), String> {
        self.rates(s, at, out)?;
        let (n, m, arguments) = (self.n, self.m, self.sizes.arguments());
        s.inputs[arguments..arguments + n].copy_from_slice(&s.acceleration);
        s.inputs[arguments + n..arguments + n + m].copy_from_slice(&s.lambda);
        self.jacobian.tape.eval(&s.inputs, &mut s.registers, &mut s.outputs);
        // G M⁻¹ Gᵀ δλ = G M⁻¹ δ(F − Gᵀλ) − δ(γ − G a),   M δa = δ(F − Gᵀλ) − Gᵀ δλ
        s.rest.fill(0.0);
        s.multiplier_jac.fill(0.0);
        jac[n * arguments..].fill(0.0);
        for (&(row, column), &value) in self.jacobian.entries.iter().zip(&s.outputs) {
            if row < n {
                s.rest[row * arguments + column] = value;
            } else if row < n + m {
                s.multiplier_jac[(row - n) * arguments + column] = -value;
            } else {
                jac[n * arguments + column] = value;
            }
        }
        for (&(row, column), &g) in self.gradient.entries.iter().zip(&s.g) {
            let factor = g * self.mass_inv[column];
            axpy(
                factor,
                &s.rest[column * arguments..(column + 1) * arguments],
                &mut s.multiplier_jac[row * arguments..(row + 1) * arguments],
            );
        }
        s.factor.solve(&mut s.multiplier_jac, arguments);
        let out = &mut jac[..n * arguments];
        out.copy_from_slice(&s.rest);
        for (&(row, column), &g) in self.gradient.entries.iter().zip(&s.g) {
            axpy(
                -g,
                &s.multiplier_jac[row * arguments..(row + 1) * arguments],
                &mut out[column * arguments..(column + 1) * arguments],
            );
        }
        for (row, m) in out.chunks_exact_mut(arguments).zip(&self.mass_inv) {
            row.iter_mut().for_each(|a| *a *= m);
        }
        s.rest.copy_from_slice(out);
        Ok(())
    }

    fn curvature(
        &self,
        s: &mut MechanismScratch,
        weights: &[f64],
        directions: &[f64],
        k: usize,
        out: &mut [f64],
    ) {
        let (n, m, arguments) = (self.n, self.m, self.sizes.arguments());
        // [M Gᵀ; G 0] (â, λ̂) = (w, 0)
        let (a_hat, rest) = s.inputs[arguments + n + m..].split_at_mut(n);
        let (lambda_hat, weight) = rest.split_at_mut(m);
        a_hat.copy_from_slice(&weights[..n]);
        weight[0] = weights[n];
        lambda_hat.fill(0.0);
        for (&(row, column), &g) in self.gradient.entries.iter().zip(&s.g) {
            lambda_hat[row] += g * self.mass_inv[column] * weights[column];
        }
        s.factor.solve_one(lambda_hat);
        for (&(row, column), &g) in self.gradient.entries.iter().zip(&s.g) {
            a_hat[column] -= g * lambda_hat[row];
        }
        a_hat.iter_mut().zip(&self.mass_inv).for_each(|(a, m)| *a *= m);
        self.hessian.tape.eval(&s.inputs, &mut s.registers, &mut s.outputs);
        // Directions of a and λ follow those of the arguments.
        s.directions.resize((arguments + n + m) * k, 0.0);
        s.work.resize((arguments + n + m) * k, 0.0);
        let (given, follow) = s.directions.split_at_mut(arguments * k);
        given.copy_from_slice(directions);
        follow.fill(0.0);
        multiply_add(&s.rest, directions, &mut follow[..n * k], arguments, k);
        multiply_add(&s.multiplier_jac, directions, &mut follow[n * k..], arguments, k);
        add_quadratic(
            &self.hessian.entries,
            &self.used,
            &s.outputs,
            &s.directions,
            k,
            &mut s.work,
            out,
        );
    }
}
