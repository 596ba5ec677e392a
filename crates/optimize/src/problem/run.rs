//! Solving a problem: starts, homotopy, accuracy, checkpoints, failures in words.

use std::ops::ControlFlow;

use nalgebra::DVector;
use serde::{Deserialize, Serialize};

use super::build::Instance;
use super::solution::{Certificate, Solution};
use super::{Problem, Start};
use crate::interior::{InteriorOptions, InteriorState, Report, Status, solve, violations};
use crate::motion::{Fault, Motion};
use crate::program::{Places, Program, RowAt};
use crate::scale::{Scaled, Scales};
use crate::sqp::{self, SqpOptions, SqpReport};
use gelenk_model::Diagnostics;

/// Rounds of solving and choosing integration steps anew.
const ROUNDS: usize = 4;
/// Tolerance of the certificate.
const CERTIFY: f64 = 1e-11;

/// What may differ from the file.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Number of starts: the guess, zero controls, then random ones, every fifth continued from half the horizon. 0 counts as 1.
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
    begin_x: Vec<f64>,
    /// Sizes, where a round takes over those of the one before.
    scales: Option<Scales>,
    /// State of the solver.
    state: SolverState,
    /// Full states reached.
    places: Places,
    /// Iterations of earlier rounds and steps of this start.
    iterations: usize,
    /// Optima of earlier starts.
    found: Vec<Found>,
    /// Solution of the homotopy step before, by which this start may be continued.
    before: Option<Solution>,
}

/// What a solver must remember between iterations.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum SolverState {
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
    Ok(Finished { found, best, distinct, states, controls, free })
}

fn kind_of(start: usize, seed: u64, warm: bool) -> (Start, String) {
    match start {
        0 if warm => (Start::Guess, "given motion".into()),
        0 => (Start::Guess, "guess".into()),
        1 => (Start::Zero, "zero controls".into()),
        _ => {
            let more = if continued(start) { ", continued from half the horizon" } else { "" };
            (
                Start::Random(seed.wrapping_add(start as u64)),
                format!("random controls {start}{more}"),
            )
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
    let (kind, label) = kind_of(start, options.seed, options.warm.is_some());
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
                Some(solution) if start == 0 => instance.warm(solution),
                _ => instance.begin(kind),
            },
        }
        let mut job = Job {
            instance,
            stage: Stage { start, step, round: 0, shorter },
            of: (starts, steps),
            iterations,
            found,
            before: before.clone(),
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
        let fine = end.status == Status::Optimal;
        if shorter && end.status != Status::Stopped {
            // Whatever it came to is a start.
            before = Some(end.solution);
            continue;
        }
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

/// How a job ended, in scaled numbers.
struct JobEnd {
    status: Status,
    objective: f64,
    kkt: f64,
    violated: Vec<(RowAt, f64)>,
    active: usize,
    iterations: usize,
    /// Variables.
    x: Vec<f64>,
    /// For the next round.
    state: SolverState,
}

impl Job<'_> {
    fn solve(
        &mut self,
        resume: Option<Checkpoint>,
        watch: &mut Watcher<'_>,
    ) -> Result<(JobEnd, Scales, Vec<f64>), Fault> {
        let mut x = self.instance.x.clone();
        let mut state: Option<SolverState> = None;
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
            let origin = Origin { begin: &begin, begin_x: &begin_x, inherited: inherited.as_ref() };
            let sqp_options = SqpOptions {
                tolerance: self.instance.tolerance,
                max_iterations: self.instance.max_iterations,
            };
            let mut end = match state.take() {
                None if self.instance.sqp => {
                    self.sqp(&x, None, &sizes, &origin, &sqp_options, watch)?
                }
                Some(SolverState::Sqp(at, equal, unequal)) => {
                    let at = unscaled(&at, &sizes);
                    self.sqp(&at, Some((equal, unequal)), &sizes, &origin, &sqp_options, watch)?
                }
                None => self.interior(&x, None, &sizes, &origin, watch)?,
                Some(SolverState::Interior(inner)) => {
                    self.interior(&x, Some(*inner), &sizes, &origin, watch)?
                }
            };
            x = unscaled(&end.x, &sizes);
            self.iterations += end.iterations;
            if self.instance.polish
                && end.status == Status::Optimal
                && let SolverState::Interior(inner) = &end.state
            {
                let (equal, unequal) = inner.multipliers();
                let known = (equal.to_vec(), unequal.to_vec());
                let options =
                    SqpOptions { tolerance: 1e-3 * self.instance.tolerance, max_iterations: 10 };
                let polished = self.sqp(&x, Some(known), &sizes, &origin, &options, watch)?;
                self.iterations += polished.iterations;
                let holds =
                    polished.violated.iter().all(|(_, v)| v.abs() <= self.instance.tolerance);
                if polished.status == Status::Stopped {
                    end.status = Status::Stopped;
                } else if polished.kkt <= end.kkt && holds {
                    let state = end.state;
                    end = JobEnd { state, status: Status::Optimal, ..polished };
                    x = unscaled(&end.x, &sizes);
                }
            }
            let before = self.steps_total();
            let mut done = end.status != Status::Optimal || self.stage.round + 1 >= ROUNDS;
            if !done {
                self.choose_steps(&x);
                done = self.steps_total() == before;
            }
            if done {
                return Ok((end, sizes, x));
            }
            self.stage.round += 1;
            state = Some(match end.state {
                SolverState::Interior(inner) => SolverState::Interior(Box::new(inner.again())),
                other => other,
            });
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
        state: &mut SolverState,
        scales: &Scales,
    ) -> Result<(), Fault> {
        if checkpoint.places.covectors.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let (value, links) = match state {
            SolverState::Interior(inner) => {
                let core = inner.core_mut();
                (&mut core.x.value, &mut core.y)
            }
            SolverState::Sqp(x, equal, _) => (x, equal),
        };
        let mut x = unscaled(value, scales);
        let still = vec![false; checkpoint.places.states.len()];
        self.instance.put_states(&mut x, &checkpoint.places.states, &still, &vec![0; still.len()]);
        *value = x.iter().zip(&scales.variables).map(|(x, s)| x / s).collect();
        let mut plain: Vec<f64> = links.iter().zip(&scales.equal).map(|(y, s)| y * s).collect();
        self.instance.program.pull_links(&x, &checkpoint.places.covectors, &mut plain)?;
        *links = plain.iter().zip(&scales.equal).map(|(l, s)| l / s).collect();
        Ok(())
    }

    fn interior(
        &mut self,
        x: &[f64],
        state: Option<InteriorState>,
        scales: &Scales,
        origin: &Origin<'_>,
        watch: &mut Watcher<'_>,
    ) -> Result<JobEnd, Fault> {
        let options = InteriorOptions {
            tolerance: self.instance.tolerance,
            max_iterations: self.instance.max_iterations,
            hessian: self.instance.hessian,
            mu: if self.warm { 1e-3 } else { 0.1 },
            push: if self.warm { 1e-4 } else { 1e-2 },
        };
        let start: Vec<f64> = x.iter().zip(&scales.variables).map(|(x, s)| x / s).collect();
        let teller = self.teller(scales, origin);
        let mut scaled = Scaled::new(&mut self.instance.program, scales);
        let mut tell = |report: &Report<'_>| {
            let checkpoint = || {
                let core = report.state.core();
                let places = report.program.places(&core.x.value, &core.y)?;
                Some(
                    teller
                        .checkpoint(SolverState::Interior(Box::new(report.state.clone())), places),
                )
            };
            watch(&Live {
                stage: teller.stage,
                of: teller.of,
                iteration: report.iteration,
                objective: teller.unit * report.objective,
                infeasibility: report.infeasibility,
                kkt: report.kkt,
                step: report.step,
                mu: report.mu,
                delta: report.delta,
                active: report.active,
                restoring: report.restoring,
                checkpoint: &checkpoint,
            })
        };
        let outcome = solve(&mut scaled, &start, state, &options, &mut tell)?;
        Ok(JobEnd {
            active: outcome.state.active(&scaled),
            status: outcome.status,
            objective: outcome.objective,
            kkt: outcome.kkt,
            violated: outcome.violated,
            iterations: outcome.state.iterations,
            x: outcome.state.x().to_vec(),
            state: SolverState::Interior(Box::new(outcome.state)),
        })
    }

    fn sqp(
        &mut self,
        x: &[f64],
        known: Option<(Vec<f64>, Vec<f64>)>,
        scales: &Scales,
        origin: &Origin<'_>,
        options: &SqpOptions,
        watch: &mut Watcher<'_>,
    ) -> Result<JobEnd, Fault> {
        let start: Vec<f64> = x.iter().zip(&scales.variables).map(|(x, s)| x / s).collect();
        let teller = self.teller(scales, origin);
        let mut scaled = Scaled::new(&mut self.instance.program, scales);
        let mut tell = |report: &SqpReport<'_>| {
            let checkpoint = || {
                let places = report.program.places(report.x, report.multipliers.0)?;
                let (equal, unequal) = report.multipliers;
                Some(teller.checkpoint(
                    SolverState::Sqp(report.x.to_vec(), equal.to_vec(), unequal.to_vec()),
                    places,
                ))
            };
            watch(&Live {
                stage: teller.stage,
                of: teller.of,
                iteration: report.iteration,
                objective: teller.unit * report.objective,
                infeasibility: report.infeasibility,
                kkt: report.kkt,
                step: report.step,
                mu: 0.0,
                delta: 0.0,
                active: report.active,
                restoring: false,
                checkpoint: &checkpoint,
            })
        };
        let known = known.as_ref().map(|(equal, unequal)| (&equal[..], &unequal[..]));
        let outcome = sqp::solve(&mut scaled, &start, known, options, &mut tell)?;
        Ok(JobEnd {
            violated: violations(&scaled, &outcome.x, options.tolerance)?,
            status: outcome.status,
            objective: outcome.objective,
            kkt: outcome.kkt,
            active: outcome.active,
            iterations: outcome.iterations,
            state: SolverState::Sqp(outcome.x.clone(), outcome.equal, outcome.unequal),
            x: outcome.x,
        })
    }

    /// What every iteration's report and checkpoint share.
    fn teller<'t>(&self, scales: &Scales, origin: &Origin<'t>) -> Teller<'t>
    where
        Self: 't,
    {
        Teller {
            stage: self.stage,
            of: self.of,
            unit: self.instance.sign / scales.objective,
            iterations: self.iterations,
            found: self.found.to_vec(),
            before: self.before.clone(),
            begin: origin.begin,
            begin_x: origin.begin_x,
            inherited: origin.inherited,
        }
    }

    /// A start whose motion has no value.
    fn faulty(&self, fault: &Fault, label: &str) -> Result<Found, Fault> {
        Ok(Found {
            start: self.stage.start,
            kind: label.to_owned(),
            status: Status::Faulty,
            objective: 0.0,
            kkt: f64::MAX,
            infeasibility: f64::MAX,
            iterations: self.iterations,
            solution: self.instance.solution(&self.instance.x)?,
            violated: Vec::new(),
            message: fault.to_string(),
            certificate: None,
            active: 0,
        })
    }

    /// The end of a start, told in the problem's own words and units.
    fn found(&self, end: JobEnd, scales: &Scales, x: &[f64], label: &str) -> Result<Found, Fault> {
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
            end.violated.iter().map(|&(row, v)| (row, v / unit(row))).collect();
        let infeasibility = violated.iter().fold(0.0_f64, |m, (_, v)| m.max(v.abs()));
        // Conditions of the user say more than continuity and copies of start values.
        violated.sort_by_key(|&(row, _)| {
            matches!(row, RowAt::Link(..)) || program.describe(row).starts_with("`start.")
        });
        let named: Vec<(String, f64)> =
            violated.iter().take(8).map(|&(row, v)| (program.describe(row), v)).collect();
        let solution = self.instance.solution(x)?;
        let message = words(&end.status, &named);
        let certificate = if end.status == Status::Optimal {
            self.instance.certify(x, &solution, CERTIFY).ok()
        } else {
            None
        };
        Ok(Found {
            start: self.stage.start,
            kind: label.to_owned(),
            status: end.status,
            objective: self.instance.sign * end.objective / scales.objective,
            kkt: end.kkt,
            infeasibility,
            iterations: self.iterations,
            solution,
            violated: named,
            message,
            certificate,
            active: end.active,
        })
    }
}

/// What every iteration's report and checkpoint share.
struct Teller<'a> {
    stage: Stage,
    of: (usize, usize),
    /// Objective of the problem over that of the scaled program.
    unit: f64,
    iterations: usize,
    found: Vec<Found>,
    before: Option<Solution>,
    begin: &'a Solution,
    begin_x: &'a [f64],
    inherited: Option<&'a Scales>,
}

impl Teller<'_> {
    fn checkpoint(&self, state: SolverState, places: Places) -> Checkpoint {
        Checkpoint {
            stage: self.stage,
            begin: self.begin.clone(),
            begin_x: self.begin_x.to_vec(),
            scales: self.inherited.cloned(),
            state,
            places,
            iterations: self.iterations,
            found: self.found.clone(),
            before: self.before.clone(),
        }
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
fn words(status: &Status, violated: &[(String, f64)]) -> String {
    let worst = violated.first().map(|(name, v)| format!("{name} is missed by {:.3e}", v.abs()));
    match status {
        Status::Optimal => String::new(),
        Status::Infeasible => match worst {
            Some(worst) => format!("the conditions contradict each other near this start: {worst}"),
            None => "the conditions contradict each other near this start".into(),
        },
        Status::IterationLimit => format!("not converged in the iterations allowed{}", tail(worst)),
        Status::Stalled => format!("not converged: no step makes it better{}", tail(worst)),
        Status::Stopped => "stopped".into(),
        Status::Faulty => "the motion has no value".into(),
    }
}

fn tail(worst: Option<String>) -> String {
    worst.map_or_else(String::new, |w| format!("; {w}"))
}
