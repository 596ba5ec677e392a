//! The outer loop: barrier parameter, restoration, ends.

use std::ops::ControlFlow;

use nalgebra::DMatrix;

use super::core::{AllLimits, Core, Primal, Valued};
use super::curvature::{self, Hessian};
use super::estimate::estimate;
use super::newton::Newton;
use super::state::{InteriorOptions, InteriorState, Outcome, Report, Status, violations};
use crate::motion::Fault;
use crate::program::{
    Program, StageDerivatives, StageValues, all_derivatives, collect, gradient, transposed,
};

/// How a step of a barrier problem ended.
enum End {
    Accepted(f64),
    Converged,
    NoStep,
}

pub(super) struct Solver<'a> {
    pub(super) program: &'a mut dyn Program,
    pub(super) limits: AllLimits,
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
        InteriorState { core, restoring: None, iterations: 0, blocks: Vec::new(), changed: false }
    };
    let blocks = if state.blocks.is_empty() {
        sizes.iter().map(|&n| DMatrix::identity(n, n)).collect()
    } else {
        sizes.iter().zip(&state.blocks).map(|(&n, b)| DMatrix::from_column_slice(n, n, b)).collect()
    };
    let mut solver = Solver { program, limits, options, blocks, delta: 0.0 };
    if std::mem::take(&mut state.changed) {
        let violation = solver.look(&state.core)?.violation;
        state.core.open(&solver.limits, violation);
    }
    solver.run(&mut state, watch)
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
