//! An interval of the shooting grid by Radau IIA with three stages, order 5, with exact derivatives of the discrete map.
//!
//! With q the positions and r the other states, q̇ the first of r, a step from (q₀, r₀) of length h has stages
//! ```text
//! R_s = r₀ + h Σ a_sj K_j,   Q_s = q₀ + h c_s q̇₀ + h² Σ (A²)_sj K̈_j,   K_s = f(Q_s, R_s, u_s, p, t_s)
//! ```
//! (K̈: the part of K that belongs to q̇) and ends with the last. First derivatives solve the linearized stage equations,
//! Φ δK = f′ δ(rest), by one factorization; second derivatives of ω·(end, cost) are Σ_s D_sᵀ (μ_s·f″) D_s with Φᵀ μ = ∂/∂K,
//! D_s the derivatives of the stage's arguments, and the terms in which h multiplies what depends on z.

use super::dense::{Lu, axpy, dot, mirror, multiply_add};
use super::{At, Flow, FlowSizes};

const SQRT6: f64 = 2.449_489_742_783_178;
/// Nodes.
const C: [f64; 3] = [(4.0 - SQRT6) / 10.0, (4.0 + SQRT6) / 10.0, 1.0];
/// The method's matrix; its last row is the weights.
const A: [[f64; 3]; 3] = [
    [(88.0 - 7.0 * SQRT6) / 360.0, (296.0 - 169.0 * SQRT6) / 1800.0, (-2.0 + 3.0 * SQRT6) / 225.0],
    [(296.0 + 169.0 * SQRT6) / 1800.0, (88.0 + 7.0 * SQRT6) / 360.0, (-2.0 - 3.0 * SQRT6) / 225.0],
    [(16.0 - SQRT6) / 36.0, (16.0 + SQRT6) / 36.0, 1.0 / 9.0],
];
/// A².
const A2: [[f64; 3]; 3] = square(&A);
const MAX_ITERATIONS: usize = 40;
/// How often a step that cannot be solved is cut for a guess.
const DEEPEST: usize = 3;

const fn square(a: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let mut out = [[0.0; 3]; 3];
    let mut i = 0;
    while i < 9 {
        let (r, c) = (i / 3, i % 3);
        out[r][c] = a[r][0] * a[0][c] + a[r][1] * a[1][c] + a[r][2] * a[2][c];
        i += 1;
    }
    out
}

/// An interval: where it begins and what acts during it. Controls go on a line from `u0` to `u1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg<'a> {
    pub(crate) x0: &'a [f64],
    pub(crate) u0: &'a [f64],
    pub(crate) u1: &'a [f64],
    pub(crate) p: &'a [f64],
    pub(crate) t0: f64,
    pub(crate) duration: f64,
    /// Ends of the sub-steps as parts of the interval, rising to 1.
    pub(crate) steps: &'a [f64],
}

/// Derivatives of a leg by z, all linear there; rows of k numbers.
#[derive(Clone, Debug)]
pub(crate) struct Seeds {
    pub(crate) k: usize,
    pub(crate) x0: Vec<f64>,
    pub(crate) u0: Vec<f64>,
    pub(crate) u1: Vec<f64>,
    pub(crate) p: Vec<f64>,
    pub(crate) t0: Vec<f64>,
    pub(crate) duration: Vec<f64>,
}

/// Why and when an interval did not come to its end.
#[derive(Clone, Debug)]
pub(crate) struct Stuck {
    pub(crate) time: f64,
    pub(crate) reason: String,
}

/// One step at its solution, with all that its derivatives need.
struct Step<S> {
    /// Length, s.
    h: f64,
    /// Part of the interval that it takes.
    part: f64,
    /// Rates of the stages. (3 m)
    rates: Vec<f64>,
    /// ∂(f, ℓ)/∂(x, u, p, t). (3, m + 1, arguments)
    jac: Vec<f64>,
    scratch: Vec<S>,
    /// Φ.
    lu: Lu,
    /// Derivatives of the stages' arguments by z. (3, arguments, k)
    directions: Vec<f64>,
    /// Of the rates. (3 m, k)
    rate_directions: Vec<f64>,
    /// Of the start. (n, k)
    start: Vec<f64>,
}

/// Runs a leg.
pub(crate) struct Runner<'a, F: Flow> {
    flow: &'a F,
    sizes: FlowSizes,
    scratch: Vec<F::Scratch>,
    u: Vec<f64>,
    value: Vec<f64>,
    /// Residual and correction. (3 m)
    delta: Vec<f64>,
    jac: Vec<f64>,
    lu: Lu,
    rates: Vec<f64>,
    x: Vec<f64>,
    /// ℓ at the stages.
    costs: [f64; 3],
}

impl<'a, F: Flow> Runner<'a, F> {
    pub(crate) fn new(flow: &'a F) -> Self {
        let sizes = flow.sizes();
        let (m, n) = (sizes.rates(), sizes.states);
        Runner {
            flow,
            sizes,
            scratch: vec![flow.scratch(); 3],
            u: vec![0.0; sizes.controls],
            value: vec![0.0; m + 1],
            delta: vec![0.0; 3 * m],
            jac: vec![0.0; 3 * (m + 1) * sizes.arguments()],
            lu: Lu::new(3 * m),
            rates: vec![0.0; 3 * m],
            x: vec![0.0; 3 * n],
            costs: [0.0; 3],
        }
    }

    /// Where the leg ends, and its cost.
    pub(crate) fn advance(&mut self, leg: &Leg<'_>) -> Result<(Vec<f64>, f64), Stuck> {
        let mut x = leg.x0.to_vec();
        let (mut cost, mut tau, mut last) = (0.0, 0.0, 0.0);
        for &end in leg.steps {
            let part = end - tau;
            self.step(leg, &x, tau, part, last)?;
            self.measure_costs(leg, tau, part)?;
            for s in 0..3 {
                cost += leg.duration * part * A[2][s] * self.costs[s];
            }
            x.copy_from_slice(&self.x[2 * self.sizes.states..]);
            (tau, last) = (end, part);
        }
        Ok((x, cost))
    }

    /// The end of a single step.
    pub(crate) fn once(
        &mut self,
        leg: &Leg<'_>,
        x: &[f64],
        tau: f64,
        part: f64,
    ) -> Result<Vec<f64>, Stuck> {
        self.step(leg, x, tau, part, 0.0)?;
        Ok(self.x[2 * self.sizes.states..].to_vec())
    }

    /// Controls at a part of the leg.
    fn control(&mut self, leg: &Leg<'_>, tau: f64) {
        for (u, (a, b)) in self.u.iter_mut().zip(leg.u0.iter().zip(leg.u1)) {
            *u = a + tau * (b - a);
        }
    }

    /// ℓ at the stages as they are now: the last correction moved them.
    fn measure_costs(&mut self, leg: &Leg<'_>, tau: f64, part: f64) -> Result<(), Stuck> {
        let (n, m) = (self.sizes.states, self.sizes.rates());
        for s in 0..3 {
            let at = tau + C[s] * part;
            self.control(leg, at);
            let t = leg.t0 + at * leg.duration;
            let at = At { x: &self.x[s * n..(s + 1) * n], u: &self.u, p: leg.p, t };
            let stuck = |reason: String| Stuck { time: tau * leg.duration, reason };
            self.flow.rates(&mut self.scratch[s], &at, &mut self.value).map_err(stuck)?;
            self.costs[s] = self.value[m];
        }
        Ok(())
    }

    /// States of the stages from their rates.
    fn stages(&mut self, x0: &[f64], h: f64) {
        let FlowSizes { states: n, positions, .. } = self.sizes;
        let m = self.sizes.rates();
        let (rates, x) = (&self.rates, &mut self.x);
        for s in 0..3 {
            let x = &mut x[s * n..(s + 1) * n];
            for i in 0..m {
                let sum = A[s][0] * rates[i] + A[s][1] * rates[m + i] + A[s][2] * rates[2 * m + i];
                x[positions + i] = x0[positions + i] + h * sum;
            }
            for i in 0..positions {
                let sum =
                    A2[s][0] * rates[i] + A2[s][1] * rates[m + i] + A2[s][2] * rates[2 * m + i];
                x[i] = x0[i] + h * (C[s] * x0[positions + i] + h * sum);
            }
        }
    }

    /// Derivatives at the stages and their matrix Φ, factored.
    fn differentiate(&mut self, leg: &Leg<'_>, tau: f64, part: f64) -> Result<bool, String> {
        let n = self.sizes.states;
        let (m, arguments) = (self.sizes.rates(), self.sizes.arguments());
        for s in 0..3 {
            let at = tau + C[s] * part;
            self.control(leg, at);
            let at = At {
                x: &self.x[s * n..(s + 1) * n],
                u: &self.u,
                p: leg.p,
                t: leg.t0 + at * leg.duration,
            };
            let jac = &mut self.jac[s * (m + 1) * arguments..(s + 1) * (m + 1) * arguments];
            self.flow.linearize(&mut self.scratch[s], &at, &mut self.value, jac)?;
            self.costs[s] = self.value[m];
        }
        fill(self.lu.matrix(), &self.jac, self.sizes, part * leg.duration);
        Ok(self.lu.factor())
    }

    /// Solves one step; rates and states of its stages are left in `self`. The polynomial and the matrix of the step before serve first; where they do not lead to a
    /// solution, the rates at the start and a new matrix; then rates along shorter steps. All three solve the same equations.
    fn step(
        &mut self,
        leg: &Leg<'_>,
        x0: &[f64],
        tau: f64,
        part: f64,
        last: f64,
    ) -> Result<(), Stuck> {
        if last > 0.0 {
            self.continue_rates(part, last);
            let known = (part - last).abs() <= 1e-12 * part;
            if self.correct(leg, x0, tau, part, known).is_ok() {
                return Ok(());
            }
        }
        self.fresh_step(leg, x0, tau, part, 0)
    }

    /// A step without the one before.
    fn fresh_step(
        &mut self,
        leg: &Leg<'_>,
        x0: &[f64],
        tau: f64,
        part: f64,
        depth: usize,
    ) -> Result<(), Stuck> {
        let m = self.sizes.rates();
        self.rates_at(leg, x0, tau)?;
        for s in 0..3 {
            self.rates[s * m..(s + 1) * m].copy_from_slice(&self.value[..m]);
        }
        let first = self.correct(leg, x0, tau, part, false);
        if first.is_ok() || depth >= DEEPEST {
            return first;
        }
        // From stage to stage by shorter steps: their ends are near the stages.
        let mut guess = vec![0.0; 3 * m];
        let mut x = x0.to_vec();
        let mut begun = 0.0;
        for s in 0..3 {
            self.fresh_step(leg, &x, tau + begun * part, (C[s] - begun) * part, depth + 1)?;
            x.copy_from_slice(&self.x[2 * self.sizes.states..]);
            begun = C[s];
            self.rates_at(leg, &x, tau + begun * part)?;
            guess[s * m..(s + 1) * m].copy_from_slice(&self.value[..m]);
        }
        self.rates.copy_from_slice(&guess);
        self.correct(leg, x0, tau, part, false)
    }

    /// f at a part of the leg, into `self.value`.
    fn rates_at(&mut self, leg: &Leg<'_>, x: &[f64], tau: f64) -> Result<(), Stuck> {
        self.control(leg, tau);
        let at = At { x, u: &self.u, p: leg.p, t: leg.t0 + tau * leg.duration };
        let stuck = |reason: String| Stuck { time: tau * leg.duration, reason };
        self.flow.rates(&mut self.scratch[0], &at, &mut self.value).map_err(stuck)
    }

    /// The last step's polynomial, continued.
    fn continue_rates(&mut self, part: f64, last: f64) {
        let m = self.sizes.rates();
        let weights: [[f64; 3]; 3] = std::array::from_fn(|s| lagrange(1.0 + C[s] * part / last));
        for i in 0..m {
            let old = [self.rates[i], self.rates[m + i], self.rates[2 * m + i]];
            for s in 0..3 {
                self.rates[s * m + i] = dot(&weights[s], &old);
            }
        }
    }

    /// Newton's corrections of the rates to a solution of the stage equations. The matrix of the step before serves, if it is `known`, as long as it brings the
    /// stages on.
    fn correct(
        &mut self,
        leg: &Leg<'_>,
        x0: &[f64],
        tau: f64,
        part: f64,
        known: bool,
    ) -> Result<(), Stuck> {
        let n = self.sizes.states;
        let m = self.sizes.rates();
        let h = part * leg.duration;
        let stuck = |reason: String| Stuck { time: tau * leg.duration, reason };
        self.stages(x0, h);
        let (mut before, mut fresh) = (f64::INFINITY, false);
        if !known && !self.differentiate(leg, tau, part).map_err(stuck)? {
            return Err(stuck("the stage equations are singular".into()));
        }
        for _ in 0..MAX_ITERATIONS {
            for s in 0..3 {
                let at = tau + C[s] * part;
                self.control(leg, at);
                let t = leg.t0 + at * leg.duration;
                let at = At { x: &self.x[s * n..(s + 1) * n], u: &self.u, p: leg.p, t };
                self.flow.rates(&mut self.scratch[s], &at, &mut self.value).map_err(stuck)?;
                for i in 0..m {
                    self.delta[s * m + i] = self.value[i] - self.rates[s * m + i];
                }
            }
            self.lu.solve_one(&mut self.delta);
            axpy(1.0, &self.delta, &mut self.rates);
            self.stages(x0, h);
            let mut change: f64 = 0.0;
            for s in 0..3 {
                for i in 0..m {
                    let x = self.x[s * n + self.sizes.positions + i];
                    // NaN must stay visible.
                    let relative = (h * self.delta[s * m + i]).abs() / (1.0 + x.abs());
                    change = if relative > change || relative.is_nan() { relative } else { change };
                }
            }
            if !change.is_finite() || change > 1e8 {
                return Err(stuck("the stage equations have no solution near".into()));
            }
            // The rate is known from the second correction by a matrix on.
            let rate = if before.is_finite() { change / before } else { 0.0 };
            let left = if rate > 0.0 && rate < 1.0 { change * rate / (1.0 - rate) } else { change };
            // Near rounding nothing gets better.
            if left <= 1e-15 || (change < 1e-11 && rate > 0.5) {
                return Ok(());
            }
            let slow = rate > 0.1 && !(fresh && rate < 0.3);
            let wild = before.is_infinite() && known && !fresh && change > 1.0;
            if slow || wild {
                fresh = true;
                if !self.differentiate(leg, tau, part).map_err(stuck)? {
                    return Err(stuck("the stage equations are singular".into()));
                }
                before = f64::INFINITY;
            } else {
                before = change;
            }
        }
        Err(stuck(format!("the stage equations were not solved in {MAX_ITERATIONS} iterations")))
    }

    /// The leg with derivatives.
    pub(crate) fn linearize(
        &mut self,
        leg: &Leg<'_>,
        seeds: &Seeds,
    ) -> Result<Tangent<'a, F>, Stuck> {
        let FlowSizes { states: n, positions, controls, parameters } = self.sizes;
        let (m, arguments, k) = (self.sizes.rates(), self.sizes.arguments(), seeds.k);
        let mut steps: Vec<Step<F::Scratch>> = Vec::with_capacity(leg.steps.len());
        let mut x0 = leg.x0.to_vec();
        let mut dx = seeds.x0.clone();
        let (mut cost, mut dcost) = (0.0, vec![0.0; k]);
        let (mut tau, mut last) = (0.0, 0.0);
        for &end in leg.steps {
            let part = end - tau;
            let h = part * leg.duration;
            self.step(leg, &x0, tau, part, last)?;
            // The matrix of the corrections stays for the next step, as it does without derivatives: both come to the same bits.
            let kept = self.lu.clone();
            if !self
                .differentiate(leg, tau, part)
                .map_err(|reason| Stuck { time: tau * leg.duration, reason })?
            {
                let reason = "the stage equations are singular".into();
                return Err(Stuck { time: tau * leg.duration, reason });
            }
            // Derivatives of the arguments of f at each stage, as far as they do not come by way of the rates.
            let taus = C.map(|c| tau + c * part);
            let mut directions = vec![0.0; 3 * arguments * k];
            let dh: Vec<f64> = seeds.duration.iter().map(|d| part * d).collect();
            for s in 0..3 {
                let d = &mut directions[s * arguments * k..(s + 1) * arguments * k];
                d[..n * k].copy_from_slice(&dx);
                for i in 0..positions {
                    axpy(
                        h * C[s],
                        &dx[(positions + i) * k..(positions + i + 1) * k],
                        &mut d[i * k..(i + 1) * k],
                    );
                    let mut by_h = C[s] * x0[positions + i];
                    for j in 0..3 {
                        by_h += 2.0 * h * A2[s][j] * self.rates[j * m + i];
                    }
                    axpy(by_h, &dh, &mut d[i * k..(i + 1) * k]);
                }
                for i in 0..m {
                    let by_h: f64 = (0..3).map(|j| A[s][j] * self.rates[j * m + i]).sum();
                    axpy(by_h, &dh, &mut d[(positions + i) * k..(positions + i + 1) * k]);
                }
                let u = &mut d[n * k..(n + controls) * k];
                axpy(1.0 - taus[s], &seeds.u0, u);
                axpy(taus[s], &seeds.u1, u);
                d[(n + controls) * k..(n + controls + parameters) * k].copy_from_slice(&seeds.p);
                let t = &mut d[(arguments - 1) * k..];
                t.copy_from_slice(&seeds.t0);
                axpy(taus[s], &seeds.duration, t);
            }
            // Φ δK = f′ D
            let mut dk = vec![0.0; 3 * m * k];
            for s in 0..3 {
                let jac = &self.jac[s * (m + 1) * arguments..][..m * arguments];
                multiply_add(
                    jac,
                    &directions[s * arguments * k..(s + 1) * arguments * k],
                    &mut dk[s * m * k..(s + 1) * m * k],
                    arguments,
                    k,
                );
            }
            self.lu.solve(&mut dk, k);
            for s in 0..3 {
                let d = &mut directions[s * arguments * k..(s + 1) * arguments * k];
                for j in 0..3 {
                    let from = &dk[j * m * k..(j + 1) * m * k];
                    axpy(h * h * A2[s][j], &from[..positions * k], &mut d[..positions * k]);
                    axpy(h * A[s][j], from, &mut d[positions * k..n * k]);
                }
                let by = &self.jac[s * (m + 1) * arguments + m * arguments..][..arguments];
                let d = &directions[s * arguments * k..(s + 1) * arguments * k];
                cost += h * A[2][s] * self.costs[s];
                axpy(A[2][s] * self.costs[s], &dh, &mut dcost);
                for (&factor, row) in by.iter().zip(d.chunks_exact(k)) {
                    if factor != 0.0 {
                        axpy(h * A[2][s] * factor, row, &mut dcost);
                    }
                }
            }
            let start =
                std::mem::replace(&mut dx, directions[2 * arguments * k..][..n * k].to_vec());
            x0.copy_from_slice(&self.x[2 * n..]);
            steps.push(Step {
                h,
                part,
                rates: self.rates.clone(),
                jac: self.jac.clone(),
                scratch: self.scratch.clone(),
                lu: std::mem::replace(&mut self.lu, kept),
                directions,
                rate_directions: dk,
                start,
            });
            (tau, last) = (end, part);
        }
        Ok(Tangent {
            flow: self.flow,
            sizes: self.sizes,
            steps,
            duration: seeds.duration.clone(),
            k,
            x: x0,
            cost,
            dx,
            dcost,
        })
    }
}

/// Φ: block (s, j) is δ_sj − h a_sj f_r − h² (A²)_sj f_q, at stage s.
fn fill(matrix: &mut [f64], jac: &[f64], sizes: FlowSizes, h: f64) {
    let positions = sizes.positions;
    let (m, arguments) = (sizes.rates(), sizes.arguments());
    for s in 0..3 {
        for i in 0..m {
            let by = &jac[(s * (m + 1) + i) * arguments..][..arguments];
            let row = &mut matrix[(s * m + i) * 3 * m..][..3 * m];
            for j in 0..3 {
                let block = &mut row[j * m..(j + 1) * m];
                let (a, a2) = (-h * A[s][j], -h * h * A2[s][j]);
                for (out, f_r) in block.iter_mut().zip(&by[positions..]) {
                    *out = a * f_r;
                }
                axpy(a2, &by[..positions], &mut block[..positions]);
            }
            row[s * m + i] += 1.0;
        }
    }
}

/// Lagrange's polynomials on the nodes, at θ.
fn lagrange(theta: f64) -> [f64; 3] {
    std::array::from_fn(|s| {
        (0..3).filter(|&j| j != s).fold(1.0, |product, j| product * (theta - C[j]) / (C[s] - C[j]))
    })
}

/// A leg that has been run with its first derivatives.
pub(crate) struct Tangent<'a, F: Flow> {
    flow: &'a F,
    sizes: FlowSizes,
    steps: Vec<Step<F::Scratch>>,
    duration: Vec<f64>,
    k: usize,
    /// The end. (n)
    pub(crate) x: Vec<f64>,
    /// The cost.
    pub(crate) cost: f64,
    /// ∂x/∂z. (n, k)
    pub(crate) dx: Vec<f64>,
    /// ∂cost/∂z. (k)
    pub(crate) dcost: Vec<f64>,
}

impl<F: Flow> Tangent<'_, F> {
    /// ∂²(ω·x + w cost)/∂z² as far as the leg's start is linear in z, and ∂(ω·x + w cost)/∂x₀. (k, k) and (n)
    pub(crate) fn curvature(self, omega: &[f64], weight: f64) -> (Vec<f64>, Vec<f64>) {
        let Tangent { flow, sizes, mut steps, duration, k, .. } = self;
        let FlowSizes { states: n, positions, .. } = sizes;
        let (m, arguments) = (sizes.rates(), sizes.arguments());
        let mut out = vec![0.0; k * k];
        let mut omega = omega.to_vec();
        let mut mu = vec![0.0; 3 * m];
        let mut pull = vec![0.0; 3 * n];
        let free = duration.iter().any(|d| *d != 0.0);
        let mut weights = vec![0.0; m + 1];
        for step in steps.iter_mut().rev() {
            let h = step.h;
            let jac = |s: usize, i: usize| &step.jac[(s * (m + 1) + i) * arguments..][..arguments];
            // ∂ψ/∂(Q_s, R_s) without the stage equations: the end and the cost.
            pull.fill(0.0);
            pull[2 * n..].copy_from_slice(&omega);
            for s in 0..3 {
                axpy(weight * h * A[2][s], &jac(s, m)[..n], &mut pull[s * n..(s + 1) * n]);
            }
            mu.fill(0.0);
            for j in 0..3 {
                let g = &mut mu[j * m..(j + 1) * m];
                for s in 0..3 {
                    let pull = &pull[s * n..(s + 1) * n];
                    axpy(h * A[s][j], &pull[positions..], g);
                    axpy(h * h * A2[s][j], &pull[..positions], &mut g[..positions]);
                }
            }
            step.lu.solve_transposed(&mut mu);
            for s in 0..3 {
                for i in 0..m {
                    axpy(mu[s * m + i], &jac(s, i)[..n], &mut pull[s * n..(s + 1) * n]);
                }
            }
            if free {
                length_terms(sizes, &duration, step, &pull, weight, k, &mut out);
            }
            for s in 0..3 {
                weights[..m].copy_from_slice(&mu[s * m..(s + 1) * m]);
                weights[m] = weight * h * A[2][s];
                let directions = &step.directions[s * arguments * k..(s + 1) * arguments * k];
                flow.curvature(&mut step.scratch[s], &weights, directions, k, &mut out);
            }
            omega.fill(0.0);
            for s in 0..3 {
                let pull = &pull[s * n..(s + 1) * n];
                axpy(1.0, pull, &mut omega);
                axpy(h * C[s], &pull[..positions], &mut omega[positions..2 * positions]);
            }
        }
        mirror(&mut out, k);
        (out, omega)
    }
}

/// Terms of the second derivative from h times what depends on z, where h itself does. `pull` is ∂/∂(Q_s, R_s).
fn length_terms<S>(
    sizes: FlowSizes,
    duration: &[f64],
    step: &Step<S>,
    pull: &[f64],
    weight: f64,
    k: usize,
    out: &mut [f64],
) {
    let FlowSizes { states: n, positions, .. } = sizes;
    let (m, arguments) = (sizes.rates(), sizes.arguments());
    let dh: Vec<f64> = duration.iter().map(|d| step.part * d).collect();
    let mut row = vec![0.0; k];
    let mut square = 0.0;
    for s in 0..3 {
        let pull = &pull[s * n..(s + 1) * n];
        for i in 0..m {
            for j in 0..3 {
                let mut factor = pull[positions + i] * A[s][j];
                if i < positions {
                    factor += 2.0 * step.h * pull[i] * A2[s][j];
                    square += pull[i] * A2[s][j] * step.rates[j * m + i];
                }
                axpy(factor, &step.rate_directions[(j * m + i) * k..(j * m + i + 1) * k], &mut row);
            }
        }
        for i in 0..positions {
            axpy(
                pull[i] * C[s],
                &step.start[(positions + i) * k..(positions + i + 1) * k],
                &mut row,
            );
        }
        let by = &step.jac[(s * (m + 1) + m) * arguments..][..arguments];
        for (&factor, d) in by.iter().zip(step.directions[s * arguments * k..].chunks_exact(k)) {
            axpy(weight * A[2][s] * factor, d, &mut row);
        }
    }
    for i in 0..k {
        for j in 0..=i {
            out[i * k + j] += dh[i] * row[j] + row[i] * dh[j] + 2.0 * square * dh[i] * dh[j];
        }
    }
}
