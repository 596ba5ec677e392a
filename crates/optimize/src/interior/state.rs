//! What the interior point is told, remembers between iterations, and tells.

use serde::{Deserialize, Serialize};

use super::core::{AllLimits, Core};
use super::curvature::Hessian;
use crate::motion::Fault;
use crate::program::{Program, RowAt, all_values, collect};

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
    pub(super) blocks: Vec<Vec<f64>>,
    /// The program has changed since: the barrier opens before the first step.
    #[serde(default)]
    pub(super) changed: bool,
}

impl InteriorState {
    /// The variables reached, scaled.
    pub fn x(&self) -> &[f64] {
        &self.restoring.as_ref().unwrap_or(&self.core).x.value
    }

    /// The same iterate as the start of a run with a program that is a little different: multipliers stay, the filter is empty, and the barrier opens as
    /// far as rows are off.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.restoring = None;
        self.iterations = 0;
        self.changed = true;
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
