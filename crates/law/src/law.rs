//! The solver as callers see it.

use crate::chain::{Work, relax};
use crate::problem::{Problem, Response, resize};
use crate::system::{System, project_all, scales};
use crate::{Kind, Settings};

/// Which member of the list of fallbacks gave the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Level 1: proximal Newton.
    Newton,
    /// Level 2: interior point, then Newton.
    Path,
    /// Level 3: convex problems with a fixed shift.
    Convex,
    /// Level 3 without the speeds that overlaps ask for.
    Relaxed,
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// r ≤ max(1e-8 m/s, rounding).
    Solved,
    /// r ≤ 1e-6 m/s.
    Accepted,
    /// Loop rows contradict each other; this is their least-squares answer. [`Law::contradicting`] lists them.
    Contradicting,
    /// The answer violates the law by r.
    Loose,
    /// The stop hook asked for an end; the impulses obey their cones, nothing more.
    Stopped,
}

/// What a solve came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// r = max K|λ − P(λ − ŵ/K)|, m/s, with the velocity that the answer makes.
    pub residual: f64,
    /// What gave the answer.
    pub level: Level,
    /// How it ended.
    pub ended: Ended,
    /// Factorizations.
    pub factors: usize,
    /// Solves with them.
    pub solves: usize,
    /// Whether [`Problem::wish`] was given up; the residual is without it.
    pub gave_up: bool,
}

/// The solver and its memory: nothing is allocated in [`Law::solve`] once it has seen the size.
#[derive(Clone, Debug, Default)]
pub struct Law {
    /// All constants.
    pub settings: Settings,
    k: Vec<f64>,
    b: Vec<f64>,
    order: Vec<(u32, usize)>,
    contradicting: Vec<usize>,
    work: Work,
}

/// Never stops.
pub fn never() -> bool {
    false
}

impl Law {
    /// A solver with these constants.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Solves the law of all blocks together. `lambda` holds impulses to begin from (zeros: none known) and then the
    /// answer, which always lies in its bounds and cones. `stop` is asked before every factorization.
    ///
    /// ```text
    /// M(v − v_f) = Jᵀλ,  u = J v + b,  ŵ = u + μ|u_t|n
    /// scalar rows: λ = P[lo, hi](λ − u/K);  contacts: λ = P_Kμ(λ − ŵ/K)
    /// ```
    /// for any K > 0 \[De Saxcé, Feng 1998\]; spin and roll are dry friction with the limit μ_g λ_n.
    pub fn solve(
        &mut self,
        problem: &Problem,
        response: &mut dyn Response,
        lambda: &mut [f64],
        stop: &dyn Fn() -> bool,
    ) -> Outcome {
        self.solve_with(problem, response, lambda, stop, 0)
    }

    /// [`Law::solve`] with `more` Newton steps at the end: an impact's error stays in the motion (ball: 1e-9 → 4e-16).
    pub(crate) fn solve_with(
        &mut self,
        problem: &Problem,
        response: &mut dyn Response,
        lambda: &mut [f64],
        stop: &dyn Fn() -> bool,
        more: usize,
    ) -> Outcome {
        debug_assert_eq!(lambda.len(), problem.n_rows());
        self.fit(problem);
        response.diagonal(&mut self.k);
        scales(problem, &self.settings, &mut self.k, &mut self.order);
        for (warm, l) in self.work.warm.iter_mut().zip(&*lambda) {
            *warm = if l.is_finite() { *l } else { 0.0 };
        }
        project_all(&problem.blocks, &mut self.work.warm);
        let mut system = System {
            blocks: &problem.blocks,
            b: &mut self.b,
            wish: &problem.wish,
            gave_up: false,
            k: &self.k,
            response,
            settings: &self.settings,
            stop,
            stopped: false,
            factors: 0,
            solves: 0,
        };
        let work = &mut self.work;
        let mut found = work.chain(&mut system);
        let poor = found.r > self.settings.poor && !found.dissipative && !system.stopped;
        if poor && !work.only_loops(&mut system) && relax(&mut system) {
            found = work.chain(&mut system);
            found.level = Level::Relaxed;
            system.b.copy_from_slice(&problem.b);
            if system.gave_up {
                system.give_up_wishes();
            }
        }
        if more > 0 && found.r <= self.settings.accept {
            work.newton.run(&mut system, &mut work.best, more, more);
        }
        system.project(&mut work.best);
        lambda.copy_from_slice(&work.best);
        let known = found.level != Level::Relaxed && work.newton.velocity_of(lambda, &mut work.u);
        if !known {
            system.velocity(lambda, &mut work.u);
        }
        let residual = if known && found.level == Level::Newton && more == 0 {
            found.r
        } else {
            system.residual(lambda, &work.u).largest
        };
        let ended = if system.stopped {
            Ended::Stopped
        } else if residual <= system.goal(lambda) {
            Ended::Solved
        } else if residual <= self.settings.accept {
            Ended::Accepted
        } else if work.only_loops(&mut system) {
            let loops = problem.blocks.iter().filter(|block| block.kind.is_loop());
            let open = loops.map(|block| block.row).filter(|&i| work.u[i].abs() > 0.01 * residual);
            self.contradicting.extend(open);
            Ended::Contradicting
        } else {
            Ended::Loose
        };
        let (factors, solves, gave_up) = (system.factors, system.solves, system.gave_up);
        Outcome { residual, level: found.level, ended, factors, solves, gave_up }
    }

    /// u = J v + b of the last answer. (n_rows)
    pub fn velocity(&self) -> &[f64] {
        &self.work.u
    }

    /// Scales K of the last problem, 1/kg. (n_rows)
    pub fn scales(&self) -> &[f64] {
        &self.k
    }

    /// Loop rows that stayed open when the last solve ended as [`Ended::Contradicting`].
    pub fn contradicting(&self) -> &[usize] {
        &self.contradicting
    }

    fn fit(&mut self, problem: &Problem) {
        let n = problem.n_rows();
        self.work.fit(problem);
        resize([&mut self.k], n);
        self.b.clear();
        self.b.extend_from_slice(&problem.b);
        self.contradicting.clear();
        self.contradicting.reserve(n);
        self.order.reserve(problem.blocks.len());
    }
}

/// Friction with a static and a kinetic coefficient at one contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grip {
    /// The contact's block.
    pub block: usize,
    /// Coefficient while it sticks.
    pub still: f64,
    /// Coefficient while it slides.
    pub sliding: f64,
    /// Mode, kept from step to step. A new contact sticks below [`Settings::stick_speed`].
    pub stuck: bool,
}

impl Law {
    /// [`Law::solve`] with static friction: stuck contacts get their static coefficient, those that slip nevertheless
    /// the kinetic one, and one more solve follows (at most 4 % of the steps measured). Contacts that came to rest are
    /// stuck from the next step on. Counts are of both solves.
    pub fn solve_gripping(
        &mut self,
        problem: &mut Problem,
        grips: &mut [Grip],
        response: &mut dyn Response,
        lambda: &mut [f64],
        stop: &dyn Fn() -> bool,
    ) -> Outcome {
        let set = |problem: &mut Problem, grip: &Grip| {
            if let Some(Kind::Contact { mu, .. }) =
                problem.blocks.get_mut(grip.block).map(|block| &mut block.kind)
            {
                *mu = if grip.stuck { grip.still } else { grip.sliding };
            }
        };
        let limit = self.settings.break_speed;
        grips.iter().for_each(|grip| set(problem, grip));
        let mut outcome = self.solve(problem, response, lambda, stop);
        let mut broken = false;
        for grip in grips.iter_mut().filter(|grip| grip.stuck) {
            grip.stuck = self.slip(problem, grip.block) <= limit;
            broken |= !grip.stuck;
            set(problem, grip);
        }
        if broken {
            let first = outcome;
            outcome = self.solve(problem, response, lambda, stop);
            outcome.factors += first.factors;
            outcome.solves += first.solves;
        }
        for grip in grips.iter_mut() {
            grip.stuck |= self.slip(problem, grip.block) <= limit;
        }
        outcome
    }

    /// |u_t| of a block in the last answer, m/s.
    fn slip(&self, problem: &Problem, block: usize) -> f64 {
        let row = problem.blocks.get(block).map_or(0, |block| block.row);
        self.work.u.get(row + 1..row + 3).map_or(0.0, crate::cone::norm)
    }
}
