//! Impacts with restitution: Poisson's law in two phases, in rounds.

use crate::law::{Ended, Law};
use crate::problem::{Kind, Problem, Response, Singular, Weights, resize};

/// A contact in expansion: its cone's normal row is a coordinate d of its own, of mass 1/K and speed −pK, and one more
/// row u_n − v_d in (0, ∞) ties the body to it. Then λ_n = p + extra, |λ_t| ≤ μλ_n, extra ⟂ u_n ≥ 0.
#[derive(Clone, Copy, Debug)]
struct Helper {
    block: usize,
    /// Rows of the contact, the first and how many.
    row: usize,
    n: usize,
    /// Index of the row u_n − v_d.
    extra: usize,
    p: f64,
    k: f64,
    /// Weight of the extra row, and 1/(1/K + A_nn + a), by which d is eliminated.
    a: f64,
    pivot: f64,
    /// Row n and column n of the contact's weights.
    along: [f64; 6],
    down: [f64; 6],
}

/// The machine after the impulses `offset`, with the helper coordinates.
struct Struck<'a> {
    base: &'a mut dyn Response,
    offset: &'a [f64],
    helpers: &'a mut [Helper],
    /// Weights without the helpers' rows.
    reduced: &'a mut Weights,
    real: &'a mut [f64],
}

impl Response for Struck<'_> {
    fn respond(&mut self, lambda: &[f64], u: &mut [f64]) {
        let n = self.offset.len();
        (0..n).for_each(|i| self.real[i] = self.offset[i] + lambda[i]);
        for h in &*self.helpers {
            self.real[h.row] = self.offset[h.row] + lambda[h.extra];
        }
        self.base.respond(self.real, &mut u[..n]);
        for h in &*self.helpers {
            let v = h.k * (lambda[h.row] - lambda[h.extra] - h.p);
            u[h.extra] = u[h.row] - v;
            u[h.row] = v;
        }
    }

    fn factor(&mut self, weights: &Weights) -> Result<(), Singular> {
        let first = self.reduced.n_blocks();
        (0..first).for_each(|i| self.reduced.block_mut(i).copy_from_slice(weights.block(i)));
        for (i, h) in self.helpers.iter_mut().enumerate() {
            let (a, n) = (self.reduced.block_mut(h.block), h.n);
            h.a = weights.block(first + i)[0];
            let sum = 1.0 / h.k + a[0] + h.a;
            if !(sum > 0.0 && sum.is_finite()) {
                return Err(Singular);
            }
            h.pivot = 1.0 / sum;
            (0..n).for_each(|j| (h.along[j], h.down[j]) = (a[j], a[j * n]));
            // d = (rhs + a u_n − A_nt u_t)/sum, put into the rows of the contact.
            a[0] = h.a - h.a * h.a * h.pivot;
            for i in 1..n {
                a[i] = h.a * h.along[i] * h.pivot;
                a[i * n] = h.a * h.down[i] * h.pivot;
                (1..n).for_each(|j| a[i * n + j] -= h.down[i] * h.along[j] * h.pivot);
            }
        }
        self.base.factor(self.reduced)
    }

    fn solve(&mut self, c: &[f64], u: &mut [f64]) {
        let n = self.offset.len();
        (0..n).for_each(|i| self.real[i] = self.offset[i] + c[i]);
        for h in &*self.helpers {
            let d = (c[h.row] - c[h.extra] - h.p) * h.pivot;
            self.real[h.row] = self.offset[h.row] + c[h.extra] + h.a * d;
            (1..h.n).for_each(|i| self.real[h.row + i] -= h.down[i] * d);
        }
        self.base.solve(self.real, &mut u[..n]);
        for h in &*self.helpers {
            let slip: f64 = (1..h.n).map(|i| h.along[i] * u[h.row + i]).sum();
            let d = (c[h.row] - c[h.extra] - h.p + h.a * u[h.row] - slip) * h.pivot;
            u[h.extra] = u[h.row] - d;
            u[h.row] = d;
        }
    }

    fn diagonal(&mut self, k: &mut [f64]) {
        self.base.diagonal(&mut k[..self.offset.len()]);
        for h in &*self.helpers {
            k[h.extra] = k[h.row] + h.k;
            k[h.row] = h.k;
        }
    }
}

/// What an impact came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ImpactOutcome {
    /// Rounds of compression and expansion.
    pub rounds: usize,
    /// Largest residual of all solves, m/s.
    pub residual: f64,
    /// Largest approach speed left, m/s.
    pub approach: f64,
    /// Factorizations.
    pub factors: usize,
    /// The stop hook asked for an end.
    pub stopped: bool,
}

/// Impacts and their memory: nothing is allocated once it has seen the size.
#[derive(Clone, Debug, Default)]
pub struct Impact {
    part: Problem,
    helpers: Vec<Helper>,
    reduced: Weights,
    /// Impulses of a phase, on top of `offset`; helpers' rows follow.
    lambda: Vec<f64>,
    offset: Vec<f64>,
    real: Vec<f64>,
    compression: Vec<f64>,
    expansion: Vec<f64>,
    /// Velocities before a round, after compression, after expansion.
    u: Vec<f64>,
    u_c: Vec<f64>,
    u_e: Vec<f64>,
}

impl Impact {
    /// Impulses of an impact at one instant, from zero, into `lambda`. `restitution` has one number in \[0, 1\] per
    /// block, read at contacts and stops; b of the problem counts as 0. Dry friction of joints belongs left out: a
    /// finite force has no impulse.
    ///
    /// In rounds, while something approaches: compression v_c, λᶜ among what approaches, all blocks without
    /// restitution and the loops; p = ελᶜ_n; expansion v_e with λ_n = p + extra; v = v_c + s(v_e − v_c) with the
    /// largest s ≤ 1 for which the kinetic energy does not grow. The last round is plastic. \[Glocker, Pfeiffer 1995\]
    pub fn solve(
        &mut self,
        law: &mut Law,
        problem: &Problem,
        restitution: &[f64],
        response: &mut dyn Response,
        lambda: &mut [f64],
        stop: &dyn Fn() -> bool,
    ) -> ImpactOutcome {
        let n = problem.n_rows();
        self.reduced.fit(&problem.blocks);
        let Self { lambda: phase, offset, real, compression, expansion, u, u_c, u_e, .. } = self;
        resize([phase, offset, real, compression, expansion, u, u_c, u_e], n);
        lambda.fill(0.0);
        let (mut out, mut first) = (ImpactOutcome::default(), 0.0);
        loop {
            response.respond(lambda, &mut self.u);
            let approach = |i: usize| {
                let block = &problem.blocks[i];
                if block.kind.side() == 0.0 { 0.0 } else { -block.kind.side() * self.u[block.row] }
            };
            out.approach = (0..problem.blocks.len()).map(approach).fold(0.0, f64::max);
            first = f64::max(first, out.approach);
            let s = &law.settings;
            if out.approach <= s.impact_speed || out.stopped || out.rounds > s.impact_rounds {
                return out;
            }
            let plastic = out.approach < s.impact_small * first || out.rounds == s.impact_rounds;
            let epsilon = |i: usize| match restitution.get(i) {
                Some(&e) if e > 0.0 && !plastic && problem.blocks[i].kind.side() != 0.0 => {
                    e.min(1.0)
                }
                _ => 0.0,
            };
            out.rounds += 1;
            self.part.clear();
            for (i, block) in problem.blocks.iter().enumerate() {
                let touched = epsilon(i) <= 0.0 || approach(i) > 0.0;
                let off = Kind::Off { rows: block.kind.n_rows() };
                self.part.push(if touched { block.kind } else { off }, block.pair, &[]);
            }
            self.helpers.clear();
            self.offset.copy_from_slice(lambda);
            resize([&mut self.lambda], n);
            self.phase(law, response, stop, &mut out);
            self.compression.copy_from_slice(&self.lambda);
            (0..n).for_each(|i| lambda[i] += self.compression[i]);
            // Expansion.
            self.offset.copy_from_slice(lambda);
            resize([&mut self.lambda, &mut self.expansion], n);
            for (i, block) in problem.blocks.iter().enumerate() {
                let row = block.row;
                let p = epsilon(i) * self.compression.get(row).copied().unwrap_or(0.0);
                if p == 0.0 {
                    continue;
                }
                self.offset[row] += p;
                self.expansion[row] = p;
                if let Kind::Contact { .. } = block.kind {
                    self.lambda[row] = p;
                    let (k, extra) = (law.scales()[row], n + self.helpers.len());
                    let (n, along, down) = (block.kind.n_rows(), [0.0; 6], [0.0; 6]);
                    let (block, a, pivot) = (i, 0.0, 0.0);
                    self.helpers.push(Helper { block, row, n, extra, p, k, a, pivot, along, down });
                    self.part.push(Kind::Scalar { lo: 0.0, hi: f64::INFINITY }, 0, &[]);
                }
            }
            if out.stopped || self.expansion.iter().all(|&p| p == 0.0) {
                continue;
            }
            self.lambda.resize(n + self.helpers.len(), 0.0);
            self.phase(law, response, stop, &mut out);
            // λ_n of a cone contains p already.
            self.helpers.iter().for_each(|h| self.lambda[h.row] -= h.p);
            (0..n).for_each(|i| self.expansion[i] += self.lambda[i]);
            let s = self.share(response, lambda);
            (0..n).for_each(|i| lambda[i] += s * self.expansion[i]);
        }
    }

    /// Solves `part` from `lambda` on top of the offset.
    fn phase(
        &mut self,
        law: &mut Law,
        response: &mut dyn Response,
        stop: &dyn Fn() -> bool,
        out: &mut ImpactOutcome,
    ) {
        let Self { part, helpers, reduced, lambda, offset, real, .. } = self;
        let mut struck = Struck { base: response, offset, helpers, reduced, real };
        let outcome = law.solve_with(part, &mut struck, lambda, stop, 2);
        out.residual = out.residual.max(outcome.residual);
        out.factors += outcome.factors;
        out.stopped |= outcome.ended == Ended::Stopped;
    }

    /// Largest s ≤ 1 with T(s) ≤ T⁻: T(s) − T⁻ = ½(λᶜ + sλᵉ)ᵀ(u⁻ + u(s)) = αs² + βs + γ, γ ≤ 0 ≤ α.
    fn share(&mut self, response: &mut dyn Response, compressed: &[f64]) -> f64 {
        response.respond(compressed, &mut self.u_c);
        (0..compressed.len()).for_each(|i| self.real[i] = compressed[i] + self.expansion[i]);
        response.respond(&self.real, &mut self.u_e);
        let (mut alpha, mut beta, mut gamma) = (0.0, 0.0, 0.0);
        for i in 0..compressed.len() {
            let (c, e) = (self.compression[i], self.expansion[i]);
            let (sum, change) = (self.u[i] + self.u_c[i], self.u_e[i] - self.u_c[i]);
            gamma += 0.5 * c * sum;
            beta += 0.5 * (c * change + e * sum);
            alpha += 0.5 * e * change;
        }
        let gamma = f64::min(gamma, 0.0);
        if alpha + beta + gamma <= 0.0 {
            return 1.0;
        }
        let root = (beta * beta - 4.0 * alpha * gamma).max(0.0).sqrt();
        let s =
            if beta > 0.0 { -2.0 * gamma / (beta + root) } else { (root - beta) / (2.0 * alpha) };
        if s.is_finite() { s.clamp(0.0, 1.0) } else { 0.0 }
    }
}
