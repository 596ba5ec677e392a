//! Level 2: a primal-dual interior point along the central path.
//!
//! Every contact is a product of second-order cones with a common normal: x = (mλ_n, λ_g m/μ_g), y = (ŵ_n/m,
//! u_g μ_g/m), m = max(μ, 10⁻³), one cone (x_n, x_g) per group of friction. A bound is a cone of one row. With the
//! Nesterov-Todd scaling Q y = x of each cone the weights of a block are A = S R⁻¹ S E, R = Σ Q⁻¹ + δK, S = ∂y/∂w,
//! E = I + Σ μ_g n û_gᵀ. One factor per iteration serves predictor and corrector (\[Mehrotra 1992\],
//! \[Vandenberghe 2010\]).

use crate::cone::{Mat3, Vec3, det, divide, dot, exit, invert, jordan, norm, scaling, times};
use crate::problem::{Kind, Weights, groups, resize};
use crate::system::{System, clamp};

/// One cone: the first row of its block and one group of friction, or one bound.
#[derive(Clone, Copy, Debug, Default)]
struct Cone {
    /// Whether it takes part; all else is 0 if not.
    on: bool,
    /// −1 at an upper bound, else 1.
    sign: f64,
    /// First row of the group, counted from the block's, and how many.
    at: usize,
    len: usize,
    mu: f64,
    x: Vec3,
    y: Vec3,
    dx: Vec3,
    dy: Vec3,
    /// W, W⁻¹ and Q⁻¹ = W⁻².
    w: Mat3,
    w_inv: Mat3,
    q_inv: Mat3,
    /// Products of the predictor, which the corrector takes away.
    second: Vec3,
    /// W⁻¹(Wy \ (τe − second)).
    target: Vec3,
}

/// Scratch of one block.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    row: usize,
    /// Rows that take part.
    n: usize,
    cones: [Cone; 3],
    r_inv: [[f64; 6]; 6],
    /// x = scale · λ, y = ŵ/scale. 0: a row without friction or freedom takes no part.
    scale: [f64; 6],
    /// Row n of E.
    shift: [f64; 6],
}

/// The fixed shift s of a convex problem, one a block; none: the full law.
pub(crate) type Shift<'a> = Option<&'a [f64]>;

/// Scratch of levels 2 and 3.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    weights: Weights,
    parts: Vec<Part>,
    c: Vec<f64>,
    lambda: Vec<f64>,
    u: Vec<f64>,
    to: Vec<f64>,
    u_to: Vec<f64>,
    trial: Vec<f64>,
    u_trial: Vec<f64>,
}

impl Path {
    /// Most problems need no path.
    fn fit(&mut self, system: &System) {
        let Self { weights, parts, c, lambda, u, to, u_to, trial, u_trial } = self;
        weights.fit(system.blocks);
        parts.clear();
        parts.resize(system.blocks.len(), Part::default());
        resize([c, lambda, u, to, u_to, trial, u_trial], system.b.len());
    }

    /// At most `limit` iterations from `lambda` (zeros: a cold start), where the best impulses are left; gives their
    /// residual.
    pub(crate) fn run(
        &mut self,
        system: &mut System,
        lambda: &mut [f64],
        limit: usize,
        shift: Shift,
    ) -> f64 {
        let s = system.settings;
        let (tolerance, jam) = match shift {
            None => (s.path_tolerance, s.path_jam[0]),
            Some(_) => (s.convex_tolerance, s.path_jam[1]),
        };
        self.fit(system);
        self.start(system, lambda, shift);
        let (mut best, mut short) = (f64::INFINITY, 0);
        for _ in 0..limit {
            let (gap, count) = self.gap(0.0);
            let tau = gap / count.max(1.0);
            if !self.weigh(system, shift) || !system.factor(&self.weights) {
                break;
            }
            self.cones().for_each(|cone| cone.second = [0.0; 3]);
            self.direction(system, shift, 0.0);
            let reach = self.reach();
            let ratio = (self.gap(reach.min(1.0)).0.max(0.0) / gap.max(1e-300)).clamp(1e-4, 1.0);
            let sigma = ratio.powi(3).max(1e-6);
            for cone in self.cones() {
                cone.second = jordan(&times(&cone.w_inv, &cone.dx), &times(&cone.w, &cone.dy));
            }
            self.direction(system, shift, sigma * tau);
            let mut alpha = (s.path_reach * self.reach()).min(1.0);
            if alpha < s.path_short {
                self.cones().for_each(|cone| cone.second = [0.0; 3]);
                self.direction(system, shift, sigma.max(0.3) * tau);
                alpha = (s.path_reach * self.reach()).min(1.0);
            }
            self.advance(alpha);
            if !self.lambda.iter().chain(&self.u).all(|x| x.is_finite()) {
                break;
            }
            self.trial.copy_from_slice(&self.lambda);
            system.project(&mut self.trial);
            system.velocity(&self.trial, &mut self.u_trial);
            let r = system.residual_of(&self.trial, &self.u_trial, shift).largest;
            if r < best {
                best = r;
                lambda.copy_from_slice(&self.trial);
            }
            short = if alpha < s.path_short { short + 1 } else { 0 };
            if r < tolerance || short >= jam {
                break;
            }
        }
        best
    }

    fn cones(&mut self) -> impl Iterator<Item = &mut Cone> {
        self.parts.iter_mut().flat_map(|part| &mut part.cones).filter(|cone| cone.on)
    }

    /// All products about τ, the mean of r²/K: y = ŵ pushed inside by √(τK), x = τy⁻¹ or λ pushed inside by that.
    fn start(&mut self, system: &mut System, lambda: &[f64], shift: Shift) {
        self.lambda.copy_from_slice(lambda);
        system.velocity(lambda, &mut self.u);
        let cold = lambda.iter().all(|&l| l == 0.0);
        let residual = system.residual(lambda, &self.u);
        let bounded = system.blocks.iter().filter(|b| !b.kind.is_loop()).count();
        let start = if shift.is_some() { system.settings.convex_start } else { 1.0 };
        let tau = (start * residual.bounded / bounded.max(1) as f64).max(1e-12);
        for (index, block) in system.blocks.iter().enumerate() {
            let i = block.row;
            let part = &mut self.parts[index];
            *part = Part { row: i, ..Part::default() };
            part.shift[0] = 1.0;
            let (mu, spin, roll) = match block.kind {
                Kind::Off { .. } => continue,
                Kind::Scalar { lo, hi } => {
                    let (width, u, l) = (hi - lo, self.u[i], &mut self.lambda[i]);
                    part.n = 1;
                    *l = lo;
                    if width > 0.0 {
                        let margin = tau / u.abs().max((tau * system.k[i]).sqrt());
                        let margin = margin.min(0.3 * width);
                        *l = clamp(lambda[i], lo + margin, hi - margin);
                        part.scale[0] = 1.0;
                        for (cone, (bound, sign)) in
                            part.cones.iter_mut().zip([(lo, 1.0), (hi, -1.0)])
                        {
                            let x = sign * (*l - bound);
                            let least = if width.is_finite() { 0.0 } else { sign * u };
                            cone.on = bound.is_finite();
                            (cone.sign, cone.at) = (sign, 1);
                            (cone.x[0], cone.y[0]) = (x, (tau / x).max(least));
                        }
                    }
                    continue;
                }
                Kind::Contact { mu, spin, roll } => (mu, spin, roll),
            };
            let m = mu.max(system.settings.path_friction);
            let fixed = shift.map(|s| s[index] / m);
            part.n = block.kind.n_rows();
            part.scale[0] = m;
            // τ y⁻¹
            let mut x = [0.0_f64; 6];
            for (g, cone) in groups(m, spin, roll).iter().zip(&mut part.cones) {
                cone.on = g.len > 0 && g.mu > 0.0;
                (cone.sign, cone.at, cone.len, cone.mu) = (1.0, g.at, g.len, g.mu);
                if !cone.on {
                    continue;
                }
                part.scale[g.at..g.at + g.len].fill(m / g.mu);
                let sliding = g.at == 1;
                let mut y = [if sliding { self.u[i] / m } else { 0.0 }, 0.0, 0.0];
                (0..g.len).for_each(|j| y[j + 1] = self.u[i + g.at + j] * g.mu / m);
                let slip = norm(&y[1..]);
                y[0] += fixed.map_or(slip, |s| if sliding { s } else { 0.0 });
                y[0] = y[0].max(slip + (tau * system.k[i]).sqrt());
                let f = tau / det(&y).max(1e-300);
                x[0] = x[0].max(f * y[0]);
                (0..g.len).for_each(|j| x[g.at + j] = -f * y[j + 1]);
                cone.y = y;
            }
            if !cold {
                let inner = x[0];
                (0..part.n).for_each(|j| x[j] = part.scale[j] * lambda[i + j]);
                let sides = part.cones.iter().map(|cone| norm(&x[cone.at..cone.at + cone.len]));
                x[0] = x[0].max(sides.fold(0.0, f64::max) + inner);
            }
            for cone in part.cones.iter_mut().filter(|cone| cone.on) {
                cone.x[0] = x[0];
                cone.x[1..=cone.len].copy_from_slice(&x[cone.at..cone.at + cone.len]);
            }
            for j in 0..part.n {
                self.lambda[i + j] = if part.scale[j] > 0.0 { x[j] / part.scale[j] } else { 0.0 };
            }
        }
    }

    /// Sum of all products x·y after a step `alpha`, and how many there are.
    fn gap(&mut self, alpha: f64) -> (f64, f64) {
        self.cones().fold((0.0, 0.0), |(sum, count), cone| {
            let x = [0, 1, 2].map(|i| cone.x[i] + alpha * cone.dx[i]);
            let y = [0, 1, 2].map(|i| cone.y[i] + alpha * cone.dy[i]);
            (sum + dot(&x, &y), count + 1.0)
        })
    }

    /// The weights A at the present point; false where a scaling breaks down.
    fn weigh(&mut self, system: &System, shift: Shift) -> bool {
        let delta = system.settings.path_compliance;
        for (index, part) in self.parts.iter_mut().enumerate() {
            let (i, n) = (part.row, part.n);
            let mut r = [[0.0; 6]; 6];
            for j in 0..n {
                // Rows that take no part get an identity that nothing reads.
                let s = part.scale[j];
                let natural = if j < 3 { 1.0 } else { s };
                r[j][j] = if s > 0.0 { delta * system.k[i + j] / (natural * natural) } else { 1.0 };
            }
            for cone in part.cones.iter_mut().filter(|cone| cone.on) {
                (cone.w, cone.w_inv) = scaling(&cone.x, &cone.y);
                let place = [0, cone.at, cone.at + 1];
                for row in 0..3 {
                    cone.q_inv[row] = cone.w_inv.map(|other| dot(&cone.w_inv[row], &other));
                }
                for row in 0..=cone.len {
                    for column in 0..=cone.len {
                        r[place[row]][place[column]] += cone.q_inv[row][column];
                    }
                }
                let u = &self.u[i + cone.at..][..cone.len];
                let slip = norm(u);
                let f = if shift.is_none() && slip > 1e-13 { cone.mu / slip } else { 0.0 };
                (0..cone.len).for_each(|j| part.shift[cone.at + j] = f * u[j]);
            }
            if !invert(n, &mut r) {
                return false;
            }
            part.r_inv = r;
            let a = self.weights.block_mut(index);
            a.fill(0.0);
            for row in (0..n).filter(|&j| part.scale[j] > 0.0) {
                for column in (0..n).filter(|&j| part.scale[j] > 0.0) {
                    let s = part.scale[row] * part.scale[column];
                    a[row * n + column] = r[row][column] / s;
                }
                // Times E: column n goes into all others.
                (1..n).for_each(|j| a[row * n + j] += a[row * n] * part.shift[j]);
            }
        }
        true
    }

    /// The step to products of size τ less the remembered second-order terms.
    fn direction(&mut self, system: &mut System, shift: Shift, tau: f64) {
        for (index, part) in self.parts.iter_mut().enumerate() {
            let (i, n) = (part.row, part.n);
            let b = &system.b[i..i + n];
            let mut q = [0.0; 6];
            q[..n].iter_mut().zip(b).for_each(|(q, b)| *q = -b);
            if n > 0 {
                q[0] = match shift {
                    Some(s) => -b[0] - s[index],
                    None => -b.iter().zip(&part.shift).map(|(b, e)| b * e).sum::<f64>(),
                };
            }
            for j in 0..n {
                q[j] = if part.scale[j] > 0.0 { q[j] / part.scale[j] } else { 0.0 };
            }
            for cone in part.cones.iter_mut().filter(|cone| cone.on) {
                let e = [tau - cone.second[0], -cone.second[1], -cone.second[2]];
                cone.target = times(&cone.w_inv, &divide(&times(&cone.w, &cone.y), &e));
                q[0] += cone.sign * cone.target[0];
                (0..cone.len).for_each(|j| q[cone.at + j] += cone.target[j + 1]);
            }
            for j in 0..n {
                let step: f64 = (0..n).map(|k| part.r_inv[j][k] * q[k]).sum();
                let s = part.scale[j];
                self.c[i + j] = self.lambda[i + j] + if s > 0.0 { step / s } else { 0.0 };
            }
        }
        system.solve(&self.c, &mut self.u_to);
        self.weights.apply(&self.c, &self.u_to, &mut self.to);
        for part in &mut self.parts {
            let step = |j: usize| {
                let row = part.row + j;
                part.scale[j] * (self.to[row] - self.lambda[row])
            };
            for cone in part.cones.iter_mut().filter(|cone| cone.on) {
                cone.dx[0] = cone.sign * step(0);
                (0..cone.len).for_each(|j| cone.dx[j + 1] = step(cone.at + j));
                for j in 0..=cone.len {
                    cone.dy[j] = cone.target[j] - dot(&cone.q_inv[j], &cone.dx) - cone.y[j];
                }
            }
        }
        // u along the path contains b.
        self.u_to.iter_mut().zip(&*system.b).for_each(|(u, b)| *u += b);
    }

    /// Largest step that keeps all cones and bounds.
    fn reach(&mut self) -> f64 {
        self.cones().fold(f64::INFINITY, |reach, cone| {
            reach.min(exit(&cone.x, &cone.dx)).min(exit(&cone.y, &cone.dy))
        })
    }

    fn advance(&mut self, alpha: f64) {
        for i in 0..self.u.len() {
            self.lambda[i] += alpha * (self.to[i] - self.lambda[i]);
            self.u[i] += alpha * (self.u_to[i] - self.u[i]);
        }
        for cone in self.cones() {
            for i in 0..3 {
                cone.x[i] += alpha * cone.dx[i];
                cone.y[i] += alpha * cone.dy[i];
            }
        }
    }
}
