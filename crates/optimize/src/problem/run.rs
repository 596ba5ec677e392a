//! Solving a problem: starts, homotopy, accuracy, checkpoints, failures in words.

use std::ops::ControlFlow;

use nalgebra::DVector;
use serde::{Deserialize, Serialize};

use super::build::Instance;
use super::solution::{Certificate, Solution};
use super::{Problem, Start};
use crate::interior::{InteriorOptions, InteriorState, Outcome, Report, Status, solve};
use crate::motion::{Fault, Motion};
use crate::program::{Places, Program, RowAt};
use crate::scale::{Scaled, Scales};
use gelenk_model::Diagnostics;

/// Rounds of solving and choosing integration steps anew.
const ROUNDS: usize = 4;
/// Tolerance of the certificate.
const CERTIFY: f64 = 1e-11;

/// What may differ from the file.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Number of starts: the guess, zero controls, then random ones. 0 counts as 1.
    pub starts: usize,
    /// Seed of the random starts.
    pub seed: u64,
    /// Another number of intervals.
    pub intervals: Option<usize>,
    /// Another KKT error to stop at.
    pub tolerance: Option<f64>,
    /// Another limit of iterations.
    pub max_iterations: Option<usize>,
    /// A motion to begin with.
    pub warm: Option<Solution>,
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
    begin_x: Vec<f64>,
    /// Sizes, where a round takes over those of the one before.
    scales: Option<Scales>,
    /// State of the interior point.
    state: InteriorState,
    /// Full states reached.
    places: Places,
    /// Iterations of earlier rounds and steps of this start.
    iterations: usize,
    /// Optima of earlier starts.
    found: Vec<Found>,
    /// Solution of the homotopy step before, by which this start may be continued.
    before: Option<Solution>,
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
    let starts = options.starts.max(1);
    let mut found = resume.as_ref().map_or_else(Vec::new, |c| c.found.clone());
    let mut resume = resume;
    let mut names = None;
    for start in found.len()..starts {
        let resumed = resume.take().filter(|c| c.stage.start == start);
        let (end, instance) = one_start(problem, options, start, starts, &found, resumed, watch)?;
        let stopped = end.status == Status::Stopped;
        names = Some((instance.states, instance.controls, instance.free, instance.sign));
        found.push(end);
        if stopped {
            break;
        }
    }
    let (states, controls, free, sign) = match names {
        Some(names) => names,
        None => {
            let instance = problem
                .instance(problem.n_steps() - 1, options.intervals)
                .map_err(|d| Failed::File(Box::new(d)))?;
            (instance.states, instance.controls, instance.free, instance.sign)
        }
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
    Ok(Finished { found, best, distinct, states, controls, free })
}

fn kind_of(start: usize, seed: u64, warm: bool) -> (Start, String) {
    match start {
        0 if warm => (Start::Guess, "given motion".into()),
        0 => (Start::Guess, "guess".into()),
        1 => (Start::Zero, "zero controls".into()),
        _ => (Start::Random(seed.wrapping_add(start as u64)), format!("random controls {start}")),
    }
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
    let (kind, label) = kind_of(start, options.seed, options.warm.is_some());
    let first = resume.as_ref().map_or(0, |c| c.stage.step);
    let mut iterations = resume.as_ref().map_or(0, |c| c.iterations);
    let mut before = resume.as_ref().and_then(|c| c.before.clone());
    for step in first..steps {
        let last = step + 1 == steps;
        let intervals = options.intervals.filter(|_| last);
        let mut instance =
            problem.instance(step, intervals).map_err(|d| Failed::File(Box::new(d)))?;
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
                Some(solution) if start == 0 => instance.warm(solution),
                _ => instance.begin(kind),
            },
        }
        let mut job = Job {
            instance,
            stage: Stage { start, step, round: 0 },
            of: (starts, steps),
            iterations,
            found,
            before: before.clone(),
            warm: before.is_some() || (options.warm.is_some() && start == 0),
        };
        let resumed = resume.take();
        let (end, x) = job.solve(resumed, watch).map_err(Failed::Start)?;
        let end = job.found(end, &x, &label).map_err(Failed::Start)?;
        iterations = end.iterations;
        let fine = end.status == Status::Optimal;
        if last || !fine {
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

/// One program on the way.
struct Job<'a> {
    instance: Instance,
    stage: Stage,
    of: (usize, usize),
    iterations: usize,
    found: &'a [Found],
    before: Option<Solution>,
    warm: bool,
}

/// How a job ended: outcome, scales.
struct JobEnd {
    outcome: Outcome,
    scales: Scales,
}

impl Job<'_> {
    fn solve(
        &mut self,
        resume: Option<Checkpoint>,
        watch: &mut Watcher<'_>,
    ) -> Result<(JobEnd, Vec<f64>), Fault> {
        let mut x = self.instance.x.clone();
        let mut state: Option<InteriorState> = None;
        let mut scales: Option<Scales> = None;
        let mut resumed = resume;
        if let Some(checkpoint) = &resumed {
            self.stage.round = checkpoint.stage.round;
            scales.clone_from(&checkpoint.scales);
        }
        loop {
            let begin = match &resumed {
                Some(checkpoint) => {
                    self.instance.warm(&checkpoint.begin);
                    x.clone_from(&checkpoint.begin_x);
                    checkpoint.begin.clone()
                }
                None => self.instance.solution(&x)?,
            };
            self.choose_steps(&x);
            let inherited = scales.clone();
            let sizes = match scales.take() {
                Some(scales) => scales,
                None => Scales::at(&self.instance.program, &x, &self.instance.nominal)?,
            };
            let begin_x = x.clone();
            if let Some(checkpoint) = resumed.take() {
                let mut inner = checkpoint.state.clone();
                self.restore(&checkpoint, &mut inner, &sizes)?;
                state = Some(inner);
            }
            let options = InteriorOptions {
                tolerance: self.instance.tolerance,
                max_iterations: self.instance.max_iterations,
                hessian: self.instance.hessian,
                mu: if self.warm { 1e-3 } else { 0.1 },
                push: if self.warm { 1e-4 } else { 1e-2 },
            };
            let origin = Origin { begin: &begin, begin_x: &begin_x, inherited: inherited.as_ref() };
            let outcome = self.interior(&x, state.take(), &options, &sizes, &origin, watch)?;
            x = unscaled(outcome.state.x(), &sizes);
            self.iterations += outcome.state.iterations;
            let before = self.steps_total();
            let mut done = outcome.status != Status::Optimal || self.stage.round + 1 >= ROUNDS;
            if !done {
                self.choose_steps(&x);
                done = self.steps_total() == before;
            }
            if done {
                return Ok((JobEnd { outcome, scales: sizes }, x));
            }
            self.stage.round += 1;
            state = Some(outcome.state.again());
            scales = Some(sizes);
        }
    }

    fn steps_total(&self) -> usize {
        self.instance.program.phases.iter().map(|p| p.motion.n_steps()).sum()
    }

    /// Integration steps for the accuracy at these variables; where a motion does not come to its end the steps stay as they are.
    fn choose_steps(&mut self, x: &[f64]) {
        for i in 0..self.instance.program.phases.len() {
            let n = self.instance.program.phases[i].motion.intervals();
            let points: Vec<DVector<f64>> =
                (0..=n).map(|node| self.instance.program.motion_point(x, i, node)).collect();
            let accuracy = self.instance.accuracy[i];
            let _ = self.instance.program.phases[i].motion.choose(&points, accuracy);
        }
    }

    /// Puts charts where they were, and the multipliers of links into them.
    fn restore(
        &mut self,
        checkpoint: &Checkpoint,
        state: &mut InteriorState,
        scales: &Scales,
    ) -> Result<(), Fault> {
        if checkpoint.places.covectors.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let mut x = unscaled(state.x(), scales);
        let still = vec![false; checkpoint.places.states.len()];
        self.instance.put_states(&mut x, &checkpoint.places.states, &still, &vec![0; still.len()]);
        let core = state.core_mut();
        core.x.value = x.iter().zip(&scales.variables).map(|(x, s)| x / s).collect();
        let mut links: Vec<f64> = core.y.iter().zip(&scales.equal).map(|(y, s)| y * s).collect();
        self.instance.program.pull_links(&x, &checkpoint.places.covectors, &mut links)?;
        core.y = links.iter().zip(&scales.equal).map(|(l, s)| l / s).collect();
        Ok(())
    }

    fn interior(
        &mut self,
        x: &[f64],
        state: Option<InteriorState>,
        options: &InteriorOptions,
        scales: &Scales,
        origin: &Origin<'_>,
        watch: &mut Watcher<'_>,
    ) -> Result<Outcome, Fault> {
        let start: Vec<f64> = x.iter().zip(&scales.variables).map(|(x, s)| x / s).collect();
        let (stage, of, sign) = (self.stage, self.of, self.instance.sign);
        let (iterations, found, before) = (self.iterations, self.found, &self.before);
        let mut scaled = Scaled::new(&mut self.instance.program, scales);
        let mut tell = |report: &Report<'_>| {
            let checkpoint = || {
                let core = report.state.core();
                let places = report.program.places(&core.x.value, &core.y)?;
                Some(Checkpoint {
                    stage,
                    begin: origin.begin.clone(),
                    begin_x: origin.begin_x.to_vec(),
                    scales: origin.inherited.cloned(),
                    state: report.state.clone(),
                    places,
                    iterations,
                    found: found.to_vec(),
                    before: before.clone(),
                })
            };
            watch(&Live {
                stage,
                of,
                iteration: report.iteration,
                objective: sign * report.objective / scales.objective,
                infeasibility: report.infeasibility,
                kkt: report.kkt,
                step: report.step,
                mu: report.mu,
                active: report.active,
                restoring: report.restoring,
                checkpoint: &checkpoint,
            })
        };
        solve(&mut scaled, &start, state, options, &mut tell)
    }

    /// The end of a start, told in the problem's own words and units.
    fn found(&mut self, end: JobEnd, x: &[f64], label: &str) -> Result<Found, Fault> {
        let JobEnd { outcome, scales } = end;
        let program = &self.instance.program;
        let unit = |row: RowAt| {
            let shape = program.shape();
            match row {
                RowAt::Equal(k, i) => scales.equal[shape.equal_at(k) + i],
                RowAt::Link(k, i) => scales.equal[shape.link_at(k) + i],
                RowAt::Unequal(k, i) => scales.unequal[shape.unequal_at(k) + i],
                RowAt::Variable(_) => 1.0,
            }
        };
        let mut violated: Vec<(RowAt, f64)> =
            outcome.violated.iter().map(|&(row, v)| (row, v / unit(row))).collect();
        let infeasibility = violated.iter().fold(0.0_f64, |m, (_, v)| m.max(v.abs()));
        // Conditions of the user say more than continuity.
        violated.sort_by_key(|(row, _)| matches!(row, RowAt::Link(..)));
        let named: Vec<(String, f64)> =
            violated.iter().take(8).map(|&(row, v)| (program.describe(row), v)).collect();
        let solution = self.instance.solution(x)?;
        let message = words(&outcome, &named);
        let certificate = if outcome.status == Status::Optimal {
            self.instance.certify(x, &solution, CERTIFY).ok()
        } else {
            None
        };
        let active = {
            let scaled = Scaled::new(&mut self.instance.program, &scales);
            outcome.state.active(&scaled)
        };
        Ok(Found {
            start: self.stage.start,
            kind: label.to_owned(),
            status: outcome.status,
            objective: self.instance.sign * outcome.objective / scales.objective,
            kkt: outcome.kkt,
            infeasibility,
            iterations: self.iterations,
            solution,
            violated: named,
            message,
            certificate,
            active,
        })
    }
}

/// Where a round began.
struct Origin<'a> {
    begin: &'a Solution,
    begin_x: &'a [f64],
    inherited: Option<&'a Scales>,
}

fn unscaled(x: &[f64], scales: &Scales) -> Vec<f64> {
    x.iter().zip(&scales.variables).map(|(x, s)| x * s).collect()
}

/// A failure in words.
fn words(outcome: &Outcome, violated: &[(String, f64)]) -> String {
    let worst = violated.first().map(|(name, v)| format!("{name} is missed by {:.3e}", v.abs()));
    match outcome.status {
        Status::Optimal => String::new(),
        Status::Infeasible => match worst {
            Some(worst) => format!("the conditions contradict each other near this start: {worst}"),
            None => "the conditions contradict each other near this start".into(),
        },
        Status::IterationLimit => format!("not converged in the iterations allowed{}", tail(worst)),
        Status::Stalled => format!("not converged: no step makes it better{}", tail(worst)),
        Status::Stopped => "stopped".into(),
        Status::Faulty => outcome.fault.as_ref().map_or_else(String::new, ToString::to_string),
    }
}

fn tail(worst: Option<String>) -> String {
    worst.map_or_else(String::new, |w| format!("; {w}"))
}
