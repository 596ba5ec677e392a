//! The outer loop: barrier parameter, line search, restoration, ends.

use std::ops::ControlFlow;

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use super::core::{AllLimits, Core, Primal, Valued};
use super::curvature::{self, Hessian};
use super::newton::{Newton, Step};
use crate::motion::Fault;
use crate::program::{
    Program, RowAt, StageDerivatives, StageValues, all_derivatives, all_values, collect, gradient,
    transposed,
};

/// What the interior point aims at.
#[derive(Clone, Debug, PartialEq)]
pub struct InteriorOptions {
    /// KKT error, in scaled numbers, at which a point is optimal.
    pub tolerance: f64,
    /// Most iterations, those of restorations included.
    pub max_iterations: usize,
    /// Which curvature.
    pub hessian: Hessian,
    /// First barrier parameter.
    pub mu: f64,
    /// How far the start is moved from its bounds, as a part.
    pub push: f64,
}

impl Default for InteriorOptions {
    fn default() -> Self {
        InteriorOptions {
            tolerance: 1e-8,
            max_iterations: 1000,
            hessian: Hessian::Exact,
            mu: 0.1,
            push: 1e-2,
        }
    }
}

/// How a solver ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Status {
    /// All conditions of an optimum hold to the tolerance.
    Optimal,
    /// Conditions contradict each other, as far as can be seen from the start: their violation is at a minimum that is not zero.
    Infeasible,
    /// The iterations were used up.
    IterationLimit,
    /// No step helps any more.
    Stalled,
    /// Stopped from outside.
    Stopped,
    /// The motion has no value at the start.
    Faulty,
}

/// All that the interior point must remember between iterations: a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InteriorState {
    /// The problem itself.
    pub(crate) core: Core,
    /// The elastic problem, while feasibility is being restored.
    pub(crate) restoring: Option<Core>,
    /// Iterations done.
    pub iterations: usize,
    /// BFGS blocks, where used.
    blocks: Vec<Vec<f64>>,
}

impl InteriorState {
    /// The variables reached, scaled.
    pub fn x(&self) -> &[f64] {
        &self.restoring.as_ref().unwrap_or(&self.core).x.value
    }

    /// The same iterate as the start of a new run: multipliers stay, the barrier is raised a little, the filter is empty.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.restoring = None;
        self.iterations = 0;
        self.core.mu = self.core.mu.max(1e-7);
        self.core.filter.clear();
        self.core.short_steps = 0;
        self
    }

    /// Multipliers of equality and inequality rows, scaled.
    pub fn multipliers(&self) -> (&[f64], &[f64]) {
        (&self.core.y, &self.core.v)
    }

    /// The core in use: the elastic one while feasibility is being restored.
    pub(crate) fn core_mut(&mut self) -> &mut Core {
        self.restoring.as_mut().unwrap_or(&mut self.core)
    }

    pub(crate) fn core(&self) -> &Core {
        self.restoring.as_ref().unwrap_or(&self.core)
    }

    /// Active bounds and inequalities of a scaled program.
    pub fn active(&self, program: &dyn Program) -> usize {
        let limits = AllLimits::of(program);
        self.core.x.active(&limits.x) + self.core.s.active(&limits.s)
    }
}

/// One iteration, told.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// Counted from 0.
    pub iteration: usize,
    /// Objective, scaled.
    pub objective: f64,
    /// Largest violation of a condition, scaled.
    pub infeasibility: f64,
    /// KKT error without the violation.
    pub kkt: f64,
    /// Length of the last step, 0 to 1.
    pub step: f64,
    /// Barrier parameter.
    pub mu: f64,
    /// Curvature added in the last step.
    pub delta: f64,
    /// Number of active bounds.
    pub active: usize,
    /// Whether feasibility is being restored.
    pub restoring: bool,
    /// For a checkpoint.
    pub state: &'a InteriorState,
    /// The program where its charts are now.
    pub program: &'a dyn Program,
}

/// Where the solver ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How.
    pub status: Status,
    /// Last point and multipliers.
    pub state: InteriorState,
    /// Objective, scaled.
    pub objective: f64,
    /// Largest violation, scaled.
    pub infeasibility: f64,
    /// KKT error without the violation, scaled.
    pub kkt: f64,
    /// The worst conditions with their violation, scaled; empty where all hold.
    pub violated: Vec<(RowAt, f64)>,
    /// Why there was no value, if that ended it.
    pub fault: Option<Fault>,
}

/// How a step of a barrier problem ended.
enum End {
    Accepted(f64),
    Converged,
    NoStep,
}

struct Solver<'a> {
    program: &'a mut dyn Program,
    limits: AllLimits,
    options: &'a InteriorOptions,
    blocks: Vec<DMatrix<f64>>,
    /// Curvature added in the last step.
    delta: f64,
}

/// All there is to know at an iterate.
struct Look {
    stages: Vec<StageDerivatives>,
    /// Rows of the core, elastic ones relaxed.
    valued: Valued,
    /// Largest row of the problem itself.
    violation: f64,
}

/// Numbers of the KKT conditions.
struct Residuals {
    dual: f64,
    rows: f64,
    complementarity: f64,
}

impl Residuals {
    fn worst(&self) -> f64 {
        self.dual.max(self.rows).max(self.complementarity)
    }
}

/// Solves a scaled program from x, or goes on from a checkpoint.
pub fn solve(
    program: &mut dyn Program,
    x: &[f64],
    resume: Option<InteriorState>,
    options: &InteriorOptions,
    watch: &mut dyn FnMut(&Report<'_>) -> ControlFlow<()>,
) -> Result<Outcome, Fault> {
    let limits = AllLimits::of(program);
    let sizes: Vec<usize> = {
        let shape = program.shape();
        shape.stages.iter().map(|s| s.variables + shape.globals).collect()
    };
    let mut state = if let Some(state) = resume {
        state
    } else {
        let mut core = Core::start(program, &limits, x, options.mu, options.push)?;
        estimate(program, &limits, &mut core)?;
        InteriorState { core, restoring: None, iterations: 0, blocks: Vec::new() }
    };
    let blocks = if state.blocks.is_empty() {
        sizes.iter().map(|&n| DMatrix::identity(n, n)).collect()
    } else {
        sizes.iter().zip(&state.blocks).map(|(&n, b)| DMatrix::from_column_slice(n, n, b)).collect()
    };
    let mut solver = Solver { program, limits, options, blocks, delta: 0.0 };
    solver.run(&mut state, watch)
}

/// Multipliers by least squares: |∇f + Jᵀy − z| least; zero if they come out large.
fn estimate(program: &dyn Program, limits: &AllLimits, core: &mut Core) -> Result<(), Fault> {
    let shape = program.shape();
    let stages = all_derivatives(program, &core.x.value, 1.0, None)?;
    let mut unit = core.clone();
    // Σ = 1 for all: curvature one, no barrier.
    for list in [&mut unit.x, &mut unit.s] {
        list.below.fill(0.0);
        list.above.fill(0.0);
    }
    unit.mu = 0.0;
    unit.elastic = None;
    let g = gradient(shape, &stages);
    let mut g: Vec<f64> = (0..g.len()).map(|i| g[i] - core.x.below[i] + core.x.above[i]).collect();
    for (g, fixed) in g.iter_mut().zip(&limits.fixed) {
        if *fixed {
            *g = 0.0;
        }
    }
    let hessians: Vec<DMatrix<f64>> =
        shape
            .stages
            .iter()
            .enumerate()
            .map(|(k, s)| {
                let n = s.variables + shape.globals;
                DMatrix::from_fn(n, n, |i, j| {
                    if i == j && (i < s.variables || k == 0) { 1.0 } else { 0.0 }
                })
            })
            .collect();
    for i in 0..unit.s.value.len() {
        // A slack's curvature of one, by a multiplier equal to its distance.
        let s = unit.s.value[i];
        if limits.s.lower[i] > f64::NEG_INFINITY {
            unit.s.below[i] = s - limits.s.lower[i];
        } else {
            unit.s.above[i] = limits.s.upper[i] - s;
        }
    }
    let Some(newton) = Newton::new(program, &unit, limits, &stages, &hessians) else {
        return Ok(());
    };
    let rows = vec![0.0; shape.n_equal() + shape.n_unequal()];
    let step = newton.step(&unit, &g, &rows);
    let most = step.y.iter().chain(&step.v).fold(0.0_f64, |m, y| m.max(y.abs()));
    if most <= 1e3 {
        core.y = step.y;
        core.v = step.v;
    }
    Ok(())
}

impl Solver<'_> {
    fn run(
        &mut self,
        state: &mut InteriorState,
        watch: &mut dyn FnMut(&Report<'_>) -> ControlFlow<()>,
    ) -> Result<Outcome, Fault> {
        let mut step = 0.0;
        loop {
            let restoring = state.restoring.is_some();
            let core = state.restoring.as_ref().unwrap_or(&state.core);
            let look = self.look(core)?;
            let residuals = self.residuals(core, &look.stages, &[], 0.0);
            let report = Report {
                iteration: state.iterations,
                objective: look.valued.objective,
                infeasibility: look.violation,
                kkt: residuals.dual.max(residuals.complementarity),
                step,
                mu: state.restoring.as_ref().unwrap_or(&state.core).mu,
                delta: self.delta,
                active: state.core.x.active(&self.limits.x) + state.core.s.active(&self.limits.s),
                restoring,
                state,
                program: &*self.program,
            };
            if watch(&report).is_break() {
                return self.outcome(state, Status::Stopped);
            }
            if state.iterations >= self.options.max_iterations {
                return self.outcome(state, Status::IterationLimit);
            }
            state.iterations += 1;
            if let Some(mut core) = state.restoring.take() {
                let end = self.step(&mut core, &look)?;
                let theta = core.elastic.as_ref().map_or(0.0, |e| e.theta);
                match end {
                    End::Accepted(alpha) => {
                        step = alpha;
                        if self.returns(&state.core, &core, theta)? {
                            self.come_back(state, core)?;
                        } else {
                            state.restoring = Some(core);
                        }
                    }
                    End::Converged => {
                        let feasible = look.violation <= self.options.tolerance.max(1e-8);
                        state.restoring = Some(core);
                        let status = if feasible { Status::Stalled } else { Status::Infeasible };
                        return self.outcome(state, status);
                    }
                    End::NoStep => {
                        state.restoring = Some(core);
                        return self.outcome(state, Status::Stalled);
                    }
                }
            } else {
                let mut core = state.core.clone();
                match self.step(&mut core, &look)? {
                    End::Accepted(alpha) => {
                        step = alpha;
                        state.core = core;
                    }
                    End::Converged => {
                        state.core = core;
                        return self.outcome(state, Status::Optimal);
                    }
                    End::NoStep => {
                        let primal = core.primal();
                        let valued = core.value_at(self.program, &self.limits, &primal)?;
                        if valued.theta <= 1e-2 * self.options.tolerance {
                            state.core = core;
                            return self.outcome(state, Status::Stalled);
                        }
                        core.shut(valued.theta, valued.phi);
                        state.restoring = Some(core.restoration(
                            self.program.shape(),
                            &self.limits,
                            &valued.rows,
                        ));
                        state.core = core;
                    }
                }
            }
        }
    }

    /// Whether a restored point may go back to the problem itself.
    fn returns(&self, core: &Core, restored: &Core, theta: f64) -> Result<bool, Fault> {
        let at = restored.primal();
        let valued = core.value_at(
            self.program,
            &self.limits,
            &Primal { up: Vec::new(), down: Vec::new(), ..at },
        )?;
        Ok(valued.theta <= 0.9 * theta && core.admits(valued.theta, valued.phi))
    }

    fn come_back(&mut self, state: &mut InteriorState, restored: Core) -> Result<(), Fault> {
        let core = &mut state.core;
        core.x = restored.x;
        core.s = restored.s;
        let large =
            core.x.below.iter().chain(&core.x.above).chain(&core.s.below).chain(&core.s.above);
        if large.fold(0.0_f64, |m, z| m.max(*z)) > 1e3 {
            for (list, limits) in [(&mut core.x, &self.limits.x), (&mut core.s, &self.limits.s)] {
                let value = std::mem::take(&mut list.value);
                *list = super::bounded::Bounded::new(limits, value, core.mu, true);
            }
        }
        core.y.fill(0.0);
        core.v.fill(0.0);
        core.short_steps = 0;
        estimate(self.program, &self.limits, core)
    }

    fn look(&self, core: &Core) -> Result<Look, Fault> {
        let program = &*self.program;
        let cost = if core.elastic.is_some() { 0.0 } else { 1.0 };
        let (zero_y, zero_v) = (vec![0.0; core.y.len()], vec![0.0; core.v.len()]);
        let multipliers = match self.options.hessian {
            Hessian::Exact => Some((&core.y[..], &core.v[..])),
            Hessian::GaussNewton => Some((&zero_y[..], &zero_v[..])),
            Hessian::Bfgs => None,
        };
        let stages = all_derivatives(program, &core.x.value, cost, multipliers)?;
        let values: Vec<StageValues> = stages.iter().map(|s| s.values.clone()).collect();
        let known = collect(program.shape(), &values);
        let at = core.primal();
        let mut violation = known.1.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
        for (d, s) in known.2.iter().zip(&at.s) {
            violation = violation.max((d - s).abs());
        }
        let valued = core.value_of(known, &self.limits, &at);
        Ok(Look { stages, valued, violation })
    }

    /// KKT residuals for a barrier parameter.
    fn residuals(
        &self,
        core: &Core,
        stages: &[StageDerivatives],
        rows: &[f64],
        mu: f64,
    ) -> Residuals {
        let shape = self.program.shape();
        let mut g = self.slope(core, stages);
        let pulled = transposed(shape, stages, &core.y, &core.v);
        let mut dual = 0.0_f64;
        for i in 0..g.len() {
            g[i] += pulled[i] - core.x.below[i] + core.x.above[i];
            if !self.limits.fixed[i] {
                dual = dual.max(g[i].abs());
            }
        }
        for i in 0..core.v.len() {
            dual = dual.max((-core.v[i] - core.s.below[i] + core.s.above[i]).abs());
        }
        let mut complementarity = core
            .x
            .complementarity(&self.limits.x, mu)
            .max(core.s.complementarity(&self.limits.s, mu));
        let mut bounds = core.x.total() + core.s.total();
        let mut count = self.limits.x.count() + self.limits.s.count();
        if let Some(e) = &core.elastic {
            for (i, w) in core.y.iter().chain(&core.v).enumerate() {
                let rho = e.weight[i];
                dual = dual.max((rho - w - e.up.below[i]).abs());
                dual = dual.max((rho + w - e.down.below[i]).abs());
            }
            complementarity = complementarity
                .max(e.up.complementarity(&self.limits.elastic, mu))
                .max(e.down.complementarity(&self.limits.elastic, mu));
            bounds += e.up.total() + e.down.total();
            count += 2 * e.up.value.len();
        }
        let all = core.y.iter().chain(&core.v).map(|y| y.abs()).sum::<f64>() + bounds;
        let mean = |sum: f64, n: usize| (sum / n.max(1) as f64).max(100.0) / 100.0;
        dual /= mean(all, count + core.y.len() + core.v.len());
        complementarity /= mean(bounds, count);
        Residuals { dual, rows: rows.iter().fold(0.0_f64, |m, r| m.max(r.abs())), complementarity }
    }

    /// Gradient of the objective of a core: the program's, or that of the elastic problem's reference term.
    fn slope(&self, core: &Core, stages: &[StageDerivatives]) -> Vec<f64> {
        match &core.elastic {
            None => gradient(self.program.shape(), stages),
            Some(e) => (0..e.reference.len())
                .map(|i| core.pull(i) * (core.x.value[i] - e.reference[i]))
                .collect(),
        }
    }

    /// One iteration of a barrier problem.
    fn step(&mut self, core: &mut Core, look: &Look) -> Result<End, Fault> {
        let program = &*self.program;
        let shape = program.shape().clone();
        let tolerance = self.options.tolerance;
        let stages = &look.stages;
        let hessians: Vec<DMatrix<f64>> = if self.options.hessian == Hessian::Bfgs {
            self.blocks.clone()
        } else {
            stages
                .iter()
                .map(|s| s.hessian.clone().unwrap_or_else(|| DMatrix::zeros(0, 0)))
                .collect()
        };
        let here = core.primal();
        let mut valued = look.valued.clone();
        if self.residuals(core, stages, &valued.rows, 0.0).worst() <= tolerance {
            return Ok(End::Converged);
        }
        // Smaller barriers while the present one is solved well enough.
        while core.mu > tolerance / 10.0
            && self.residuals(core, stages, &valued.rows, core.mu).worst() <= 10.0 * core.mu
        {
            core.mu = (tolerance / 10.0).max((0.2 * core.mu).min(core.mu.powf(1.5)));
            core.filter.clear();
            core.short_steps = 0;
            valued = core.value_at(program, &self.limits, &here)?;
        }
        let Some(newton) = Newton::new(program, core, &self.limits, stages, &hessians) else {
            return Ok(End::NoStep);
        };
        let delta = newton.delta;
        if delta > 0.0 {
            core.delta = delta;
        }
        let slope = self.slope(core, stages);
        let full = newton.step(core, &slope, &valued.rows);
        let tau = (1.0 - core.mu).max(0.99);
        let longest = self.longest(core, &full.primal, tau);
        let descent = self.descent(core, &slope, &full.primal);
        let Some((accepted, alpha)) =
            self.search(core, &newton, &slope, &full, &valued, longest, descent)?
        else {
            return Ok(End::NoStep);
        };
        let before = core.x.value.clone();
        self.delta = delta;
        self.accept(core, accepted, &full, alpha, tau);
        if self.options.hessian == Hessian::Bfgs && core.elastic.is_none() {
            let new = all_derivatives(&*self.program, &core.x.value, 1.0, None)?;
            curvature::update(
                &shape,
                &mut self.blocks,
                (&before, stages),
                (&core.x.value, &new),
                (&core.y, &core.v),
            );
        }
        let mut x = std::mem::take(&mut core.x.value);
        let mut y = std::mem::take(&mut core.y);
        let moved = self.program.recenter(&mut x, &mut y);
        (core.x.value, core.y) = (x, y);
        if moved? && let Some(e) = &mut core.elastic {
            // Charts moved: the reference term pulls towards where they are now.
            e.reference.clone_from(&core.x.value);
        }
        Ok(End::Accepted(alpha))
    }

    fn longest(&self, core: &Core, step: &Primal, tau: f64) -> f64 {
        let mut longest = core.x.longest(&self.limits.x, &step.x, tau).min(core.s.longest(
            &self.limits.s,
            &step.s,
            tau,
        ));
        if let Some(e) = &core.elastic {
            longest = longest
                .min(e.up.longest(&self.limits.elastic, &step.up, tau))
                .min(e.down.longest(&self.limits.elastic, &step.down, tau));
        }
        longest
    }

    /// ∇φ · step.
    fn descent(&self, core: &Core, slope: &[f64], step: &Primal) -> f64 {
        let mu = core.mu;
        let mut sum = 0.0;
        for i in 0..step.x.len() {
            sum += (slope[i] + core.x.slope(&self.limits.x, i, mu)) * step.x[i];
        }
        for i in 0..step.s.len() {
            sum += core.s.slope(&self.limits.s, i, mu) * step.s[i];
        }
        if let Some(e) = &core.elastic {
            for i in 0..step.up.len() {
                let rho = e.weight[i];
                sum += (rho + e.up.slope(&self.limits.elastic, i, mu)) * step.up[i];
                sum += (rho + e.down.slope(&self.limits.elastic, i, mu)) * step.down[i];
            }
        }
        sum
    }

    /// Backtracking with the filter; corrected steps of second order at the first trial. Gives the new point and the length.
    fn search(
        &self,
        core: &mut Core,
        newton: &Newton<'_>,
        slope: &[f64],
        full: &Step,
        valued: &Valued,
        longest: f64,
        descent: f64,
    ) -> Result<Option<(Primal, f64)>, Fault> {
        let program = &*self.program;
        let here = core.primal();
        let (theta, phi) = (valued.theta, valued.phi);
        let theta_min = 1e-4 * core.theta_start.max(1.0);
        let switches =
            |alpha: f64| descent < 0.0 && alpha * libm::pow(-descent, 2.3) > libm::pow(theta, 1.1);
        let round = 10.0 * f64::EPSILON * phi.abs().max(1.0);
        let judge = |core: &Core, trial: &Valued, alpha: f64| {
            verdict(
                core,
                trial,
                theta,
                phi,
                (theta <= theta_min && switches(alpha)).then_some(alpha * descent),
                round,
            )
        };
        // A step that moves nothing is taken as it is.
        let relative = full
            .primal
            .x
            .iter()
            .zip(&here.x)
            .fold(0.0_f64, |m, (d, x)| m.max(d.abs() / (1.0 + x.abs())));
        if relative < 10.0 * f64::EPSILON && core.short_steps < 3 {
            core.short_steps += 1;
            return Ok(Some((here.moved(&full.primal, longest), longest)));
        }
        let alpha_min = {
            let mut least = 1e-5_f64;
            if descent < 0.0 {
                least = least.min(1e-8 * theta / -descent);
                if theta <= theta_min {
                    least = least.min(libm::pow(theta, 1.1) / libm::pow(-descent, 2.3));
                }
            }
            (0.05 * least).max(1e-12)
        };
        let mut alpha = longest;
        let mut first = true;
        while alpha >= alpha_min {
            let at = here.moved(&full.primal, alpha);
            let trial = core.value_at(program, &self.limits, &at);
            if let Ok(trial) = &trial {
                let verdict = judge(core, trial, alpha);
                if verdict != Verdict::No {
                    if verdict == Verdict::Filter {
                        core.shut(theta, phi);
                    }
                    return Ok(Some((at, alpha)));
                }
                if first && trial.theta >= theta {
                    // Second-order correction: rows of the trial point added to those of this one.
                    let mut rows: Vec<f64> =
                        valued.rows.iter().zip(&trial.rows).map(|(c, t)| alpha * c + t).collect();
                    let mut last = theta;
                    for _ in 0..4 {
                        let corrected = newton.step(core, slope, &rows);
                        let tau = (1.0 - core.mu).max(0.99);
                        let length = self.longest(core, &corrected.primal, tau);
                        let at = here.moved(&corrected.primal, length);
                        let Ok(trial) = core.value_at(program, &self.limits, &at) else { break };
                        let verdict = judge(core, &trial, alpha);
                        if verdict != Verdict::No {
                            if verdict == Verdict::Filter {
                                core.shut(theta, phi);
                            }
                            return Ok(Some((at, length)));
                        }
                        if trial.theta > 0.99 * last {
                            break;
                        }
                        last = trial.theta;
                        for (r, t) in rows.iter_mut().zip(&trial.rows) {
                            *r = length * *r + t;
                        }
                    }
                }
            }
            first = false;
            alpha *= 0.5;
        }
        Ok(None)
    }

    /// Takes the step: primal as accepted, multipliers by their own length.
    fn accept(&self, core: &mut Core, accepted: Primal, full: &Step, alpha: f64, tau: f64) {
        let mu = core.mu;
        let (limits, primal) = (&self.limits, &full.primal);
        let dual_x = core.x.dual_step(&limits.x, &primal.x, mu);
        let dual_s = core.s.dual_step(&limits.s, &primal.s, mu);
        let mut length = core.x.longest_dual(&dual_x, tau).min(core.s.longest_dual(&dual_s, tau));
        let mut duals = None;
        if let Some(e) = &core.elastic {
            let up = e.up.dual_step(&limits.elastic, &primal.up, mu);
            let down = e.down.dual_step(&limits.elastic, &primal.down, mu);
            length = length.min(e.up.longest_dual(&up, tau)).min(e.down.longest_dual(&down, tau));
            duals = Some((up, down));
        }
        core.x.advance(&limits.x, accepted.x, &dual_x, length, mu);
        core.s.advance(&limits.s, accepted.s, &dual_s, length, mu);
        if let (Some(e), Some((up, down))) = (&mut core.elastic, duals) {
            e.up.advance(&limits.elastic, accepted.up, &up, length, mu);
            e.down.advance(&limits.elastic, accepted.down, &down, length, mu);
        }
        for (y, new) in core.y.iter_mut().zip(&full.y).chain(core.v.iter_mut().zip(&full.v)) {
            *y += alpha * (new - *y);
        }
    }

    fn outcome(&self, state: &mut InteriorState, status: Status) -> Result<Outcome, Fault> {
        state.blocks = if self.options.hessian == Hessian::Bfgs {
            self.blocks.iter().map(|b| b.as_slice().to_vec()).collect()
        } else {
            Vec::new()
        };
        let core = state.restoring.as_ref().unwrap_or(&state.core);
        let look = self.look(core)?;
        let residuals = self.residuals(core, &look.stages, &[], 0.0);
        Ok(Outcome {
            status,
            objective: look.valued.objective,
            infeasibility: look.violation,
            kkt: residuals.dual.max(residuals.complementarity),
            violated: violations(self.program, &core.x.value, self.options.tolerance)?,
            state: state.clone(),
            fault: None,
        })
    }
}

/// What the filter says of a trial point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    No,
    /// The barrier function falls enough.
    Descent,
    /// Better than the present point in one of both; the filter grows.
    Filter,
}

/// Judges a trial point; `descent` is the expected change where the barrier function alone decides.
fn verdict(
    core: &Core,
    trial: &Valued,
    theta: f64,
    phi: f64,
    descent: Option<f64>,
    round: f64,
) -> Verdict {
    if !trial.theta.is_finite() || !trial.phi.is_finite() || !core.admits(trial.theta, trial.phi) {
        return Verdict::No;
    }
    if let Some(descent) = descent {
        let falls = trial.phi <= phi + 1e-8 * descent + round;
        return if falls { Verdict::Descent } else { Verdict::No };
    }
    let better =
        trial.theta <= (1.0 - 1e-5) * theta || trial.phi <= phi - 1e-8 * theta + round.min(theta);
    if better { Verdict::Filter } else { Verdict::No }
}

/// Rows of a program that do not hold at x, worst first: how far the value lies from where it should be.
pub fn violations(
    program: &dyn Program,
    x: &[f64],
    tolerance: f64,
) -> Result<Vec<(RowAt, f64)>, Fault> {
    let shape = program.shape();
    let (_, equal, unequal) = collect(shape, &all_values(program, x)?);
    let (lower, upper) = program.row_bounds();
    let mut list = Vec::new();
    for (k, stage) in shape.stages.iter().enumerate() {
        for i in 0..stage.equalities {
            list.push((RowAt::Equal(k, i), equal[shape.equal_at(k) + i]));
        }
        for i in 0..stage.links {
            list.push((RowAt::Link(k, i), equal[shape.link_at(k) + i]));
        }
        for i in 0..stage.inequalities {
            let at = shape.unequal_at(k) + i;
            let d = unequal[at];
            list.push((RowAt::Unequal(k, i), (d - upper[at]).max(0.0) + (d - lower[at]).min(0.0)));
        }
    }
    list.retain(|(_, r)| r.abs() > tolerance.max(1e-9));
    list.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    Ok(list)
}
