//! Levels 1, 2 and 3, and the last resort.

use crate::law::Level;
use crate::newton::Newton;
use crate::path::Path;
use crate::problem::{Kind, Problem, groups, resize};
use crate::system::{System, slip};

/// Scratch of the chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    pub(crate) newton: Newton,
    path: Path,
    /// Impulses given, projected. (n_rows, as all but `shift`)
    pub(crate) warm: Vec<f64>,
    trial: Vec<f64>,
    /// Best impulses so far, written by `keep`.
    pub(crate) best: Vec<f64>,
    /// Last convex answer.
    fallback: Vec<f64>,
    pub(crate) u: Vec<f64>,
    /// Fixed s of the convex problems. (n_blocks)
    shift: Vec<f64>,
}

/// The best so far.
pub(crate) struct Found {
    pub(crate) r: f64,
    pub(crate) level: Level,
    /// It is a convex answer, which makes no energy.
    pub(crate) dissipative: bool,
}

impl Work {
    pub(crate) fn fit(&mut self, problem: &Problem) {
        let Self { newton, path: _, warm, trial, best, fallback, u, shift } = self;
        newton.fit(problem);
        resize([warm, trial, best, fallback, u], problem.n_rows());
        resize([shift], problem.blocks.len());
    }

    /// Levels 1, 2, 3 in turn, until one is good enough; the answer is left in `best`.
    pub(crate) fn chain(&mut self, system: &mut System) -> Found {
        let s = system.settings;
        self.best.copy_from_slice(&self.warm);
        let mut end = self.newton.run(system, &mut self.best, 1, s.newton_steps);
        if end.r > s.poor && !system.stopped && !system.gave_up && system.give_up_wishes() {
            self.best.copy_from_slice(&self.warm);
            end = self.newton.run(system, &mut self.best, 1, s.newton_steps);
        }
        let mut found = Found { r: end.r, level: Level::Newton, dissipative: false };
        let enough = end.solved || end.enough;
        if enough || system.stopped || end.contradicting && self.only_loops(system) {
            return found;
        }
        let mut contradicting = end.contradicting;
        if !contradicting && self.warm.iter().any(|&l| l != 0.0) {
            self.trial.copy_from_slice(&self.warm);
            let r = self.path.run(system, &mut self.trial, s.path_warm_steps, None);
            if r <= s.path_hopeless
                && self.polish(system, Level::Path, &mut found, &mut contradicting)
            {
                return found;
            }
        }
        if !contradicting {
            self.trial.fill(0.0);
            self.path.run(system, &mut self.trial, s.path_cold_steps, None);
            if self.polish(system, Level::Path, &mut found, &mut contradicting) {
                return found;
            }
        }
        if found.r > s.accept {
            self.convex(system, &mut found);
        }
        found
    }

    /// ŵ_n = u_n + s with s fixed makes the law the optimality condition of a convex problem
    /// (\[Acary, Cadoux, Lemaréchal, Malick 2011\]): interior point with E = I, then Newton on the full law;
    /// s = 0 at first, then s ← Σ μ_g|u_g|. If all stays poor, the last convex answer is taken: its λᵀu = −sλ_n ≤ 0
    /// for b = 0 makes no energy.
    fn convex(&mut self, system: &mut System, found: &mut Found) {
        let s = system.settings;
        self.shift.fill(0.0);
        let mut converged = false;
        for _ in 0..s.convex_rounds {
            self.trial.fill(0.0);
            let r = self.path.run(system, &mut self.trial, s.convex_steps, Some(&self.shift));
            if r < s.poor {
                converged = true;
                self.fallback.copy_from_slice(&self.trial);
            }
            system.velocity(&self.trial, &mut self.u);
            for (shift, block) in self.shift.iter_mut().zip(system.blocks) {
                if let Kind::Contact { mu, spin, roll } = block.kind {
                    *shift = slip(&groups(mu, spin, roll), &self.u[block.row..]);
                }
            }
            if self.polish(system, Level::Convex, found, &mut false) {
                return;
            }
        }
        if found.r > s.poor && converged {
            self.best.copy_from_slice(&self.fallback);
            (found.level, found.dissipative) = (Level::Convex, true);
        }
    }

    /// Newton steps from the trial, kept if it is the best; whether that is good enough, or the run is to stop.
    fn polish(
        &mut self,
        system: &mut System,
        level: Level,
        found: &mut Found,
        contradicting: &mut bool,
    ) -> bool {
        let s = system.settings;
        let end = self.newton.run(system, &mut self.trial, 0, s.polish_steps);
        *contradicting = end.contradicting;
        if end.r < found.r {
            self.best.copy_from_slice(&self.trial);
            (found.r, found.level) = (end.r, level);
        }
        end.solved || found.r < s.accept || system.stopped
    }

    /// Whether loops alone are open at `best`.
    pub(crate) fn only_loops(&mut self, system: &mut System) -> bool {
        system.velocity(&self.best, &mut self.u);
        let r = system.residual(&self.best, &self.u);
        r.largest.is_finite() && r.others < 0.01 * r.largest
    }
}

/// Drops speeds that overlaps and passed stops ask for, so that v = 0 would do; false if there are none.
pub(crate) fn relax(system: &mut System) -> bool {
    let mut any = false;
    for block in system.blocks {
        let Some(b) = system.b.get_mut(block.row) else { continue };
        if block.kind.side() * *b < 0.0 {
            *b = 0.0;
            any = true;
        }
    }
    any
}
