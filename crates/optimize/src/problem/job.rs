//! One program on the way: rounds of integration steps, the solvers, reports and checkpoints, the end in words.

use nalgebra::DVector;

use super::build::Instance;
use super::run::{Checkpoint, Found, Live, SolverState, Stage, Watcher};
use super::solution::Solution;
use crate::interior::{InteriorOptions, InteriorState, Report, Status, solve, violations};
use crate::motion::{Fault, Motion};
use crate::program::{Places, Program, RowAt};
use crate::scale::{Scaled, Scales};
use crate::sqp::{self, SqpOptions, SqpReport};

/// Rounds of solving and choosing integration steps anew.
const ROUNDS: usize = 4;
/// Tolerance of the certificate.
const CERTIFY: f64 = 1e-11;

/// One program on the way.
pub(super) struct Job<'a> {
    pub(super) instance: Instance,
    pub(super) stage: Stage,
    pub(super) of: (usize, usize),
    pub(super) iterations: usize,
    pub(super) found: &'a [Found],
    pub(super) before: Option<Solution>,
    pub(super) warm: bool,
    /// First barrier parameter of a warm start.
    pub(super) barrier: f64,
}

/// How a job ended, in scaled numbers.
pub(super) struct JobEnd {
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
    pub(super) fn solve(
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
            mu: if self.warm { self.barrier } else { 0.1 },
            // Too near to bounds that just became narrower, steps would stay short.
            push: if self.warm && self.barrier <= 1e-3 { 1e-4 } else { 1e-2 },
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
    pub(super) fn faulty(&self, fault: &Fault, label: &str) -> Result<Found, Fault> {
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
    pub(super) fn found(
        &self,
        end: JobEnd,
        scales: &Scales,
        x: &[f64],
        label: &str,
    ) -> Result<Found, Fault> {
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
