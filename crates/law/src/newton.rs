//! Level 1: proximal semismooth Newton.

use crate::cone::{curved, exit, norm, proximal};
use crate::problem::{Kind, Problem, Weights, groups, resize};
use crate::system::{System, clamp};

/// Steps whose merits the line search looks back on.
const MEMORY: usize = 4;

/// Scratch of level 1; every array has one number per row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newton {
    weights: Weights,
    c: Vec<f64>,
    lambda: Vec<f64>,
    u: Vec<f64>,
    full: Vec<f64>,
    u_full: Vec<f64>,
    next: Vec<f64>,
    u_next: Vec<f64>,
    best: Vec<f64>,
    /// u = J v + b of `best`.
    u_best: Vec<f64>,
}

/// What came out; the impulses are where they began.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) r: f64,
    pub(crate) solved: bool,
    /// No further level is worth it.
    pub(crate) enough: bool,
    /// Impulses grow without effect: rows contradict each other.
    pub(crate) contradicting: bool,
}

impl Newton {
    pub(crate) fn fit(&mut self, problem: &Problem) {
        let Self { weights, c, lambda, u, full, u_full, next, u_next, best, u_best } = self;
        weights.fit(&problem.blocks);
        resize([c, lambda, u, full, u_full, next, u_next, best, u_best], problem.n_rows());
    }

    /// At most `limit` steps from `lambda`, at least `least` unless the residual is already tiny.
    pub(crate) fn run(
        &mut self,
        system: &mut System,
        lambda: &mut [f64],
        least: usize,
        limit: usize,
    ) -> End {
        let s = system.settings;
        self.lambda.copy_from_slice(lambda);
        system.velocity(&self.lambda, &mut self.u);
        let mut now = system.residual(&self.lambda, &self.u);
        let mut merits = [f64::NEG_INFINITY; MEMORY];
        let mut best = f64::INFINITY;
        self.best.copy_from_slice(lambda);
        self.u_best.copy_from_slice(&self.u);
        let (mut steps, mut rays, mut contradicting, mut finer) = (0, 0, false, false);
        let (mut enough, mut before) = (false, f64::INFINITY);
        loop {
            let r = now.largest;
            let stalls = r > s.enough_stall * before;
            before = r;
            merits[steps % MEMORY] = now.merit;
            if r < best {
                best = r;
                enough = now.others <= s.enough && now.loops <= s.enough_loops;
                self.best.copy_from_slice(&self.lambda);
                self.u_best.copy_from_slice(&self.u);
            }
            let good = r <= system.goal(&self.lambda);
            let done = good && (steps >= least && (r <= s.fine || finer) || r < s.exact);
            finer |= good;
            if done && self.holds_projected(system, r, &mut best)
                || steps >= limit
                || enough && (steps >= s.enough_steps || stalls)
                || !self.full_step(system)
            {
                break;
            }
            steps += 1;
            // α = 1, ½, ... : first with enough descent below the largest of the last merits.
            let reference = merits.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let mut alpha = 1.0;
            for halving in 0..=s.halvings {
                for i in 0..self.u.len() {
                    self.next[i] = self.lambda[i] + alpha * (self.full[i] - self.lambda[i]);
                    self.u_next[i] = self.u[i] + alpha * (self.u_full[i] - self.u[i]);
                }
                now = system.residual(&self.next, &self.u_next);
                if now.merit <= (1.0 - s.descent * alpha) * reference || halving == s.halvings {
                    break;
                }
                alpha *= 0.5;
            }
            if alpha > 0.9
                && now.largest > s.ray_stall * r
                && self.moved(system) < s.ray_still * now.largest
            {
                let length = self.ray(system);
                if length > 1e6 && (now.largest - r).abs() < 0.01 * r {
                    rays += 1;
                    if rays >= s.contradictions {
                        contradicting = true;
                        best = now.largest;
                        self.best.copy_from_slice(&self.next);
                        self.u_best.copy_from_slice(&self.u_next);
                        break;
                    }
                } else if length < 1e9 && now.largest < s.ray_below {
                    self.follow(system, length * (1.0 + 1e-6), &mut now);
                }
            }
            std::mem::swap(&mut self.lambda, &mut self.next);
            std::mem::swap(&mut self.u, &mut self.u_next);
        }
        lambda.copy_from_slice(&self.best);
        let solved = best <= system.goal(lambda);
        End { r: best, solved, enough: enough && !contradicting, contradicting }
    }

    /// u = J v + b of the best impulses of the last run, if those are `lambda`.
    pub(crate) fn velocity_of(&self, lambda: &[f64], u: &mut [f64]) -> bool {
        let known = self.best == lambda;
        if known {
            u.copy_from_slice(&self.u_best);
        }
        known
    }

    /// Whether λ, whose residual is `r`, is still solved once it is projected; `best` is then that.
    fn holds_projected(&mut self, system: &mut System, r: f64, best: &mut f64) -> bool {
        self.next.copy_from_slice(&self.lambda);
        system.project(&mut self.next);
        let mut own = r;
        if self.next == self.lambda {
            self.u_next.copy_from_slice(&self.u);
        } else {
            system.velocity(&self.next, &mut self.u_next);
            own = system.residual(&self.next, &self.u_next).largest;
        }
        let holds = own <= system.goal(&self.next);
        if holds {
            *best = own;
            self.best.copy_from_slice(&self.next);
            self.u_best.copy_from_slice(&self.u_next);
        }
        holds
    }

    /// Solves (M + JᵀAJ) v⁺ = M v_f + Jᵀc for λ⁺ = c − A J v⁺, into `full` and `u_full`; false if that fails.
    fn full_step(&mut self, system: &mut System) -> bool {
        for index in 0..system.blocks.len() {
            self.linearize(system, index);
        }
        if !system.factor(&self.weights) {
            return false;
        }
        system.solve(&self.c, &mut self.u_full);
        self.weights.apply(&self.c, &self.u_full, &mut self.full);
        if !self.full.iter().all(|x| x.is_finite()) {
            return false;
        }
        // The velocity that these impulses make, not the linear solve's.
        system.velocity(&self.full, &mut self.u_full);
        true
    }

    /// A and c of one block about (λ, u), with z = λ − ŵ/K:
    ///
    /// ```text
    /// scalar  inside: A = 1/(δK), c = λ − b/(δK);  else A = 0, c = bound
    /// contact W = (I − (1−δ)D)⁻¹D, E = I + μ n t̂ᵀ:  A = WE/K, c = W(δλ − Eb/K)
    /// group   |z| ≤ β = μ_g p_n: as scalars;  else A_gg = W/K_g, A_g += μ_g ẑ A_n
    /// ```
    /// \[Alart, Curnier 1991\], with the shift of \[De Saxcé, Feng 1998\].
    fn linearize(&mut self, system: &System, index: usize) {
        let delta = system.settings.newton_compliance;
        let block = &system.blocks[index];
        let i = block.row;
        let n = block.kind.n_rows();
        let a = self.weights.block_mut(index);
        a.fill(0.0);
        let c = &mut self.c[i..i + n];
        let (lambda, u) = (&self.lambda[i..i + n], &self.u[i..i + n]);
        let (b, k) = (&system.b[i..i + n], &system.k[i..i + n]);
        let (mu, spin, roll) = match block.kind {
            Kind::Off { .. } => return c.fill(0.0),
            Kind::Scalar { lo, hi } => {
                let z = lambda[0] - u[0] / k[0];
                if z > lo && z < hi {
                    a[0] = 1.0 / (delta * k[0]);
                    c[0] = lambda[0] - b[0] * a[0];
                } else {
                    c[0] = clamp(z, lo, hi);
                }
                return;
            }
            Kind::Contact { mu, spin, roll } => (mu, spin, roll),
        };
        let slip = norm(&u[1..3]);
        let z = [
            lambda[0] - (u[0] + mu * slip) / k[0],
            lambda[1] - u[1] / k[0],
            lambda[2] - u[2] / k[0],
        ];
        let (p, w) = proximal(&z, mu, delta);
        let shift = if slip > 1e-13 { [mu * u[1] / slip, mu * u[2] / slip] } else { [0.0; 2] };
        let shifted = [b[0] + shift[0] * b[1] + shift[1] * b[2], b[1], b[2]];
        for row in 0..3 {
            a[row * n] = w[row][0] / k[0];
            a[row * n + 1] = (w[row][1] + w[row][0] * shift[0]) / k[0];
            a[row * n + 2] = (w[row][2] + w[row][0] * shift[1]) / k[0];
            c[row] = (0..3).map(|j| w[row][j] * (delta * lambda[j] - shifted[j] / k[0])).sum();
        }
        for g in &groups(mu, spin, roll)[1..] {
            let (limit, rows) = (g.mu * p[0], g.at..g.at + g.len);
            c[rows.clone()].fill(0.0);
            if limit <= 0.0 || g.len == 0 {
                continue;
            }
            let (kg, mut z) = (k[g.at], [0.0; 2]);
            rows.clone().for_each(|row| z[row - g.at] = lambda[row] - u[row] / kg);
            let length = norm(&z);
            let slides = length > limit;
            let curvature = if g.len == 2 { curved(limit / length, delta) } else { 0.0 };
            let turned = [-z[1] / length, z[0] / length];
            for row in rows.clone() {
                for column in rows.clone() {
                    let side = turned[row - g.at] * turned[column - g.at];
                    let stuck = f64::from(u8::from(row == column)) / delta;
                    let w = if slides { curvature * side } else { stuck };
                    a[row * n + column] = w / kg;
                    c[row] += w * (delta * lambda[column] - b[column] / kg);
                }
                if slides {
                    let f = g.mu * z[row - g.at] / length;
                    (0..3).for_each(|column| a[row * n + column] += f * a[column]);
                    c[row] += f * c[0];
                }
            }
        }
    }

    /// Largest change of velocity in the last step, m/s.
    fn moved(&self, system: &System) -> f64 {
        let mut largest = 0.0_f64;
        for block in system.blocks {
            for row in block.row..block.row + block.kind.n_rows() {
                let scale = (system.k[block.row] / system.k[row]).sqrt();
                largest = largest.max((self.u_next[row] - self.u[row]).abs() * scale);
            }
        }
        largest
    }

    /// How many times the last step may be repeated until a cone or bound is left; ∞ if never.
    fn ray(&self, system: &System) -> f64 {
        let mut length = f64::INFINITY;
        for block in system.blocks {
            let i = block.row;
            let step = |row: usize| self.next[row] - self.lambda[row];
            match block.kind {
                Kind::Off { .. } => {}
                Kind::Scalar { lo, hi } => {
                    let d = step(i);
                    let way = if d < 0.0 { lo } else { hi } - self.next[i];
                    if way / d > 0.0 {
                        length = length.min(way / d);
                    }
                }
                Kind::Contact { mu, spin, roll } => {
                    for g in groups(mu, spin, roll).iter().filter(|g| g.len > 0) {
                        let m = g.mu.max(1e-9);
                        let (mut x, mut d) = ([0.0; 3], [0.0; 3]);
                        (x[0], d[0]) = (m * self.next[i], m * step(i));
                        for j in 0..g.len {
                            (x[j + 1], d[j + 1]) = (self.next[i + g.at + j], step(i + g.at + j));
                        }
                        if norm(&x[1..]) <= x[0] * (1.0 - 1e-9) {
                            length = length.min(exit(&x, &d));
                        }
                    }
                }
            }
        }
        length
    }

    /// Goes on by `length` times the last step, unless that spoils too much.
    fn follow(&mut self, system: &mut System, length: f64, now: &mut crate::system::Residual) {
        for i in 0..self.full.len() {
            self.full[i] = self.next[i] + length * (self.next[i] - self.lambda[i]);
        }
        system.velocity(&self.full, &mut self.u_full);
        self.c.copy_from_slice(&self.full);
        system.project(&mut self.c);
        let ahead = system.residual(&self.c, &self.u_full);
        if ahead.largest < system.settings.ray_growth * now.largest {
            std::mem::swap(&mut self.next, &mut self.full);
            std::mem::swap(&mut self.u_next, &mut self.u_full);
            *now = system.residual(&self.next, &self.u_next);
        }
    }
}
