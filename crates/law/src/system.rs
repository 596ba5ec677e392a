//! One problem as all levels see it: scales, velocities, residuals, projections, and counts of work.

use crate::Settings;
use crate::cone::{into_disc, norm, project};
use crate::problem::{Block, Kind, Problem, Response, Weights, groups};

/// A problem with its machine. `b` is apart from the problem's, for the last resort changes it.
pub(crate) struct System<'a> {
    pub(crate) blocks: &'a [Block],
    pub(crate) b: &'a mut [f64],
    /// The problem's wishes, and whether they are given up. (n_blocks)
    pub(crate) wish: &'a [f64],
    pub(crate) gave_up: bool,
    /// Scale K of each row, 1/kg; friction rows of a contact share theirs. (n_rows)
    pub(crate) k: &'a [f64],
    pub(crate) response: &'a mut dyn Response,
    pub(crate) settings: &'a Settings,
    pub(crate) stop: &'a dyn Fn() -> bool,
    pub(crate) stopped: bool,
    pub(crate) factors: usize,
    pub(crate) solves: usize,
}

/// How far impulses are from the law.
#[derive(Clone, Copy, Default)]
pub(crate) struct Residual {
    /// Largest of all rows, m/s.
    pub(crate) largest: f64,
    /// Largest of all but loops, m/s.
    pub(crate) others: f64,
    /// Largest of loops, m/s.
    pub(crate) loops: f64,
    /// ½ Σ K (λ − P(λ − ŵ/K))², J.
    pub(crate) merit: f64,
    /// The same without loops, the halves left out.
    pub(crate) bounded: f64,
}

impl System<'_> {
    /// u = J v + b with v = v_f + M⁻¹Jᵀλ.
    pub(crate) fn velocity(&mut self, lambda: &[f64], u: &mut [f64]) {
        self.response.respond(lambda, u);
        u.iter_mut().zip(&*self.b).for_each(|(u, b)| *u += b);
    }

    /// Takes what is only wished out of b; false if there is nothing of it.
    pub(crate) fn give_up_wishes(&mut self) -> bool {
        for (block, wish) in self.blocks.iter().zip(self.wish).filter(|(_, wish)| **wish > 0.0) {
            self.b[block.row] += block.kind.side() * wish;
            self.gave_up = true;
        }
        self.gave_up
    }

    /// Factors; false where that breaks down or the run is to stop.
    pub(crate) fn factor(&mut self, a: &Weights) -> bool {
        self.stopped = self.stopped || (self.stop)();
        if self.stopped {
            return false;
        }
        self.factors += 1;
        self.response.factor(a).is_ok()
    }

    pub(crate) fn solve(&mut self, c: &[f64], u: &mut [f64]) {
        self.solves += 1;
        self.response.solve(c, u);
    }

    /// Rounding of u, m/s: ε max K|λ|. Sums over rows that share bodies would be larger; bounds of them by √K_i√K_j
    /// are far too large where light gears stand beside heavy bodies.
    pub(crate) fn floor(&self, lambda: &[f64]) -> f64 {
        let largest = self.k.iter().zip(lambda).fold(0.0_f64, |m, (k, l)| m.max(k * l.abs()));
        self.settings.rounding * largest
    }

    /// What counts as solved at these impulses, m/s.
    pub(crate) fn goal(&self, lambda: &[f64]) -> f64 {
        self.settings.tolerance.max(self.floor(lambda))
    }

    /// r = K (λ − P(λ − ŵ/K)) of all blocks; rad/s rows times √(K/K_g). With `shift`, of the convex problem whose
    /// ŵ_n = u_n + s has a fixed s (one a block).
    pub(crate) fn residual_of(&self, lambda: &[f64], u: &[f64], shift: Option<&[f64]>) -> Residual {
        let mut all = Residual::default();
        for (index, block) in self.blocks.iter().enumerate() {
            let i = block.row;
            let k = self.k.get(i).copied().unwrap_or(1.0);
            let mut add = |k: f64, scale: f64, d: f64| {
                let r = (d * k * scale).abs();
                all.largest = all.largest.max(r);
                all.merit += 0.5 * k * d * d;
                if block.kind.is_loop() {
                    all.loops = all.loops.max(r);
                } else {
                    all.others = all.others.max(r);
                    all.bounded += k * d * d;
                }
            };
            let (mu, spin, roll) = match block.kind {
                Kind::Scalar { lo, hi } => {
                    add(k, 1.0, lambda[i] - clamp(lambda[i] - u[i] / k, lo, hi));
                    continue;
                }
                Kind::Off { rows } => {
                    lambda[i..i + rows].iter().for_each(|l| add(k, 1.0, *l));
                    continue;
                }
                Kind::Contact { mu, spin, roll } => (mu, spin, roll),
            };
            let friction = groups(mu, spin, roll);
            let s = match shift {
                None => mu * norm(&u[i + 1..i + 3]),
                Some(shift) => shift[index] - slip(&friction[1..], &u[i..]),
            };
            let mut z = [0, 1, 2].map(|j| lambda[i + j] - u[i + j] / k);
            z[0] -= s / k;
            let (p, _) = project(&z, mu);
            (0..3).for_each(|j| add(k, 1.0, lambda[i + j] - p[j]));
            for g in friction[1..].iter().filter(|g| g.len > 0) {
                let (first, kg) = (i + g.at, self.k[i + g.at]);
                let mut z = [0.0; 2];
                (0..g.len).for_each(|j| z[j] = lambda[first + j] - u[first + j] / kg);
                let f = into_disc(&z, g.mu * p[0]);
                (0..g.len).for_each(|j| add(kg, (k / kg).sqrt(), lambda[first + j] - f * z[j]));
            }
        }
        // A projection hides what is not a number.
        if !u.iter().chain(lambda).all(|x| x.is_finite()) {
            let none = f64::INFINITY;
            (all.largest, all.others, all.loops, all.merit) = (none, none, none, none);
        }
        all
    }

    pub(crate) fn residual(&self, lambda: &[f64], u: &[f64]) -> Residual {
        self.residual_of(lambda, u, None)
    }

    /// Brings λ within its bounds and cones.
    pub(crate) fn project(&self, lambda: &mut [f64]) {
        project_all(self.blocks, lambda);
    }
}

/// Σ μ_g |u_g| over groups of friction; `u` begins at the contact's normal.
pub(crate) fn slip(groups: &[crate::problem::Group], u: &[f64]) -> f64 {
    groups.iter().map(|g| g.mu * norm(&u[g.at..g.at + g.len])).sum()
}

/// `clamp` that does not panic.
pub(crate) fn clamp(x: f64, lo: f64, hi: f64) -> f64 {
    x.min(hi).max(lo)
}

pub(crate) fn project_all(blocks: &[Block], lambda: &mut [f64]) {
    for block in blocks {
        let i = block.row;
        match block.kind {
            Kind::Scalar { lo, hi } => lambda[i] = clamp(lambda[i], lo, hi),
            Kind::Off { rows } => lambda[i..i + rows].fill(0.0),
            Kind::Contact { mu, spin, roll } => {
                let (p, _) = project(&[lambda[i], lambda[i + 1], lambda[i + 2]], mu);
                lambda[i..i + 3].copy_from_slice(&p);
                for g in &groups(mu, spin, roll)[1..] {
                    let part = &mut lambda[i + g.at..i + g.at + g.len];
                    let f = into_disc(part, g.mu * p[0]);
                    part.iter_mut().for_each(|x| *x *= f);
                }
            }
        }
    }
}

/// Scales K of all rows from the diagonal of J M⁻¹Jᵀ, in place. Contact: mean of n, t₁, t₂, and of each further
/// group of friction; then the mean over its pair. `order` and `mean` are scratch.
pub(crate) fn scales(
    problem: &Problem,
    settings: &Settings,
    k: &mut [f64],
    order: &mut Vec<(u32, usize)>,
) {
    const LEAST: f64 = 1e-14;
    k.iter_mut().for_each(|k| *k = if *k > LEAST && k.is_finite() { *k } else { LEAST });
    let mut largest = 0.0_f64;
    order.clear();
    for (index, block) in problem.blocks.iter().enumerate() {
        let i = block.row;
        if block.kind.is_loop() {
            largest = largest.max(k[i]);
        }
        if let Kind::Contact { spin, roll, .. } = block.kind {
            let mean = (k[i] + k[i + 1] + k[i + 2]) / 3.0;
            k[i..i + 3].fill(mean);
            for g in groups(0.0, spin, roll)[1..].iter().filter(|g| g.len > 0) {
                let part = &mut k[i + g.at..i + g.at + g.len];
                let mean = part.iter().sum::<f64>() / part.len() as f64;
                part.fill(mean);
            }
            if block.pair != 0 {
                order.push((block.pair, index));
            }
        }
    }
    for block in problem.blocks.iter().filter(|block| block.kind.is_loop()) {
        k[block.row] = k[block.row].max(settings.loop_scale * largest);
    }
    order.sort_unstable();
    for pair in order.chunk_by(|a, b| a.0 == b.0) {
        let rows = |index: usize| problem.blocks[index].row;
        let mean = pair.iter().map(|&(_, index)| k[rows(index)]).sum::<f64>() / pair.len() as f64;
        pair.iter().for_each(|&(_, index)| k[rows(index)..rows(index) + 3].fill(mean));
    }
}
