//! Solving a problem: starts, homotopy, accuracy, checkpoints, failures in words.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::build::Instance;
use super::job::Job;
use super::solution::{Certificate, Solution};
use super::{Problem, Start};
use crate::interior::{InteriorState, Status};
use crate::motion::Fault;
use crate::program::Places;
use crate::scale::Scales;
use gelenk_model::Diagnostics;

/// What may differ from the file.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Number of starts: the guess, zero controls (unless the guess is that), then random ones, every second gentle, every fifth continued from half the horizon.
    /// `None`: as many as the file says.
    pub starts: Option<usize>,
    /// Seed of the random starts; `None`: the file's.
    pub seed: Option<u64>,
    /// Another number of intervals of every phase.
    pub intervals: Option<usize>,
    /// Another KKT error to stop at.
    pub tolerance: Option<f64>,
    /// Another limit of iterations.
    pub max_iterations: Option<usize>,
    /// A motion to begin with.
    pub warm: Option<Solution>,
    /// Another first barrier parameter where a motion is given or a step of the homotopy follows another.
    pub barrier: Option<f64>,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// Start, from 0.
    pub start: usize,
    /// Step of the homotopy, from 0.
    pub step: usize,
    /// Round of choosing integration steps, from 0.
    pub round: usize,
    /// Whether half the horizon is solved first, to be continued.
    pub shorter: bool,
}

/// One iteration, told.
pub struct Live<'a> {
    /// Where the run is.
    pub stage: Stage,
    /// Starts and homotopy steps in all.
    pub of: (usize, usize),
    /// Iterations of this round.
    pub iteration: usize,
    /// Objective.
    pub objective: f64,
    /// Largest violation, scaled.
    pub infeasibility: f64,
    /// KKT error, scaled.
    pub kkt: f64,
    /// Length of the last step.
    pub step: f64,
    /// Barrier parameter.
    pub mu: f64,
    /// Curvature added in the last step.
    pub delta: f64,
    /// Active bounds and inequalities.
    pub active: usize,
    /// Whether feasibility is being restored.
    pub restoring: bool,
    /// Makes the checkpoint of this iteration.
    pub checkpoint: &'a dyn Fn() -> Option<Checkpoint>,
}

/// Watches a run; `Break` stops it with what was reached.
pub type Watcher<'a> = dyn FnMut(&Live<'_>) -> ControlFlow<()> + 'a;

/// All that is needed to go on with a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Where it was.
    pub stage: Stage,
    /// Motion with which the round began: scales and integration steps follow from it.
    pub begin: Solution,
    /// Variables with which the round began.
    pub(super) begin_x: Vec<f64>,
    /// Sizes, where a round takes over those of the one before.
    pub(super) scales: Option<Scales>,
    /// State of the solver.
    pub(super) state: SolverState,
    /// Full states reached.
    pub(super) places: Places,
    /// Iterations of earlier rounds and steps of this start.
    pub(super) iterations: usize,
    /// Optima of earlier starts.
    pub(super) found: Vec<Found>,
    /// Solution of the homotopy step before, by which this start may be continued.
    pub(super) before: Option<Solution>,
}

/// What a solver must remember between iterations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum SolverState {
    /// The interior point.
    Interior(Box<InteriorState>),
    /// SQP: scaled variables, multipliers of equality and of inequality rows.
    Sqp(Vec<f64>, Vec<f64>, Vec<f64>),
}

/// What one start found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Found {
    /// Start, from 0.
    pub start: usize,
    /// How the start was made.
    pub kind: String,
    /// How it ended.
    pub status: Status,
    /// Objective.
    pub objective: f64,
    /// KKT error, scaled.
    pub kkt: f64,
    /// Largest violation of a condition, in its own unit.
    pub infeasibility: f64,
    /// Iterations in all.
    pub iterations: usize,
    /// The motion.
    pub solution: Solution,
    /// The worst conditions with their violations, for failures.
    pub violated: Vec<(String, f64)>,
    /// A failure in words; empty where there is none.
    pub message: String,
    /// Running it again.
    pub certificate: Option<Certificate>,
    /// Active bounds and inequalities.
    pub active: usize,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// All starts, in order.
    pub found: Vec<Found>,
    /// The best of them: optimal ones first, then the least objective (or the largest).
    pub best: usize,
    /// Distinct optima: indices of `found`, best first.
    pub distinct: Vec<usize>,
    /// How many starts there were to be; fewer are found where the goal was reached, or someone stopped.
    pub starts: usize,
    /// Names for the answer.
    pub states: Vec<Vec<String>>,
    /// Names of controls.
    pub controls: Vec<String>,
    /// Names of free numbers.
    pub free: Vec<String>,
}

/// Why nothing could be tried.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failed {
    /// The file does not make sense.
    #[error("{0}")]
    File(Box<Diagnostics>),
    /// The motion has no value at the start.
    #[error("{0}")]
    Start(Fault),
    /// The motion to begin with is none of this problem.
    #[error("the motion to begin with is none of this problem: {0}")]
    Motion(String),
    /// The checkpoint does not belong to the problem.
    #[error("the checkpoint does not belong to this problem")]
    Checkpoint,
}

/// Solves a problem from all its starts.
pub fn optimize(
    problem: &Problem,
    options: &RunOptions,
    resume: Option<Checkpoint>,
    watch: &mut Watcher<'_>,
) -> Result<Finished, Failed> {
    let starts = options.starts.unwrap_or(problem.plan.starts).max(1);
    let mut found = resume.as_ref().map_or_else(Vec::new, |c| c.found.clone());
    let mut resume = resume;
    let mut names = None;
    for start in found.len()..starts {
        let resumed = resume.take().filter(|c| c.stage.start == start);
        let (end, instance) = one_start(problem, options, start, starts, &found, resumed, watch)?;
        let stopped = end.status == Status::Stopped;
        names = Some((instance.states, instance.controls, instance.free, instance.sign));
        let sign = names.as_ref().map_or(1.0, |n| n.3);
        let reached = end.status == Status::Optimal
            && problem.plan.goal.is_some_and(|goal| sign * end.objective <= sign * goal);
        found.push(end);
        if stopped || reached {
            break;
        }
    }
    let (states, controls, free, sign) = if let Some(names) = names {
        names
    } else {
        let instance = problem
            .instance(problem.n_steps() - 1, options.intervals)
            .map_err(|d| Failed::File(Box::new(d)))?;
        (instance.states, instance.controls, instance.free, instance.sign)
    };
    let rank = |f: &Found| {
        let class = match f.status {
            Status::Optimal => 0,
            Status::IterationLimit | Status::Stalled | Status::Stopped => 1,
            _ => 2,
        };
        // Of unfinished ones the least violated.
        if class == 0 { (0, sign * f.objective) } else { (class, f.infeasibility) }
    };
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|&a, &b| {
        let (x, y) = (rank(&found[a]), rank(&found[b]));
        x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)).then(a.cmp(&b))
    });
    let mut distinct: Vec<usize> = Vec::new();
    for &i in &order {
        let same = |&j: &usize| {
            let (a, b) = (found[i].objective, found[j].objective);
            (a - b).abs() <= 1e-5 * (1.0 + a.abs())
        };
        if found[i].status == Status::Optimal && !distinct.iter().any(same) {
            distinct.push(i);
        }
    }
    let best = order.first().copied().unwrap_or(0);
    Ok(Finished { found, best, distinct, starts, states, controls, free })
}

fn kind_of(start: usize, seed: u64, warm: bool, still: bool) -> (Start, String) {
    match start {
        0 if warm => (Start::Guess, "given motion".into()),
        0 => (Start::Guess, "guess".into()),
        // A guess with controls at rest is that already.
        1 if warm || !still => (Start::Zero, "zero controls".into()),
        _ => {
            let more = if continued(start) { ", continued from half the horizon" } else { "" };
            let seed = seed.wrapping_add(start as u64);
            let (kind, how) = if start % 2 == 1 {
                (Start::Gentle(seed), "gentle random")
            } else {
                (Start::Random(seed), "random")
            };
            (kind, format!("{how} controls {start}{more}"))
        }
    }
}

/// Whether a start solves half the horizon first.
fn continued(start: usize) -> bool {
    start % 5 == 4
}

fn one_start(
    problem: &Problem,
    options: &RunOptions,
    start: usize,
    starts: usize,
    found: &[Found],
    mut resume: Option<Checkpoint>,
    watch: &mut Watcher<'_>,
) -> Result<(Found, Instance), Failed> {
    let steps = problem.n_steps();
    let seed = options.seed.unwrap_or(problem.plan.seed);
    let (kind, label) = kind_of(start, seed, options.warm.is_some(), problem.plan.still);
    let first = resume.as_ref().map_or(0, |c| c.stage.step);
    let mut iterations = resume.as_ref().map_or(0, |c| c.iterations);
    let mut before = resume.as_ref().and_then(|c| c.before.clone());
    let mut jobs: Vec<(usize, bool)> = (first..steps).map(|step| (step, false)).collect();
    let halved = match &resume {
        Some(checkpoint) => checkpoint.stage.shorter,
        None => continued(start),
    };
    if halved {
        jobs.insert(0, (first, true));
    }
    for (step, shorter) in jobs {
        let last = step + 1 == steps && !shorter;
        let intervals = options.intervals.filter(|_| step + 1 == steps);
        let built = if shorter {
            problem.shorter(step, intervals)
        } else {
            problem.instance(step, intervals)
        };
        let mut instance = built.map_err(|d| Failed::File(Box::new(d)))?;
        if let Some(tolerance) = options.tolerance
            && last
        {
            instance.tolerance = tolerance;
        }
        if let Some(most) = options.max_iterations {
            instance.max_iterations = most;
        }
        match &before {
            Some(solution) => instance.warm(solution),
            None => match &options.warm {
                Some(solution) if start == 0 => {
                    if let Some(why) = solution.misfit(&instance) {
                        return Err(Failed::Motion(why));
                    }
                    instance.warm(solution);
                }
                // A new instance begins with the guess.
                _ if kind == Start::Guess => {}
                _ => instance.begin(kind),
            },
        }
        // A given motion may be the best one already; a step of the homotopy has some way to go.
        let usual = if before.is_some() { 1e-2 } else { 1e-3 };
        let barrier = options.barrier.or(instance.barrier).unwrap_or(usual);
        let mut job = Job {
            instance,
            stage: Stage { start, step, round: 0, shorter },
            of: (starts, steps),
            iterations,
            found,
            before: before.clone(),
            barrier,
            warm: before.is_some() || (options.warm.is_some() && start == 0),
        };
        let resumed = resume.take();
        let solved = job
            .solve(resumed, watch)
            .and_then(|(end, scales, x)| job.found(end, &scales, &x, &label));
        let end = match solved {
            Ok(end) => end,
            // One start without a motion is told; the others go on.
            Err(fault) if starts > 1 && !shorter => {
                job.faulty(&fault, &label).map_err(Failed::Start)?
            }
            Err(_) if shorter => continue,
            Err(fault) => return Err(Failed::Start(fault)),
        };
        iterations = end.iterations;
        // A step of the homotopy is a start alone, and so is what it came to short of its end; half the horizon is one whatever it came to.
        let start_of_next = match end.status {
            Status::Optimal | Status::Stalled | Status::IterationLimit => true,
            Status::Stopped => false,
            _ => shorter,
        };
        if last || !start_of_next {
            let mut end = end;
            if !last && end.status != Status::Stopped {
                end.message =
                    format!("step {} of {steps} of the homotopy: {}", step + 1, end.message);
            }
            return Ok((end, job.instance));
        }
        before = Some(end.solution);
    }
    Err(Failed::Checkpoint)
}
