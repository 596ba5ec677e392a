//! A model in motion, step by step.

use gelenk_model::joint::JointId;
use gelenk_model::rows::Instant;
use gelenk_model::run::{Event, Ledger, Reaction, Sample};
use gelenk_model::state::{State, Wrench};
use gelenk_model::{Model, RunSettings};

use crate::error::StepError;
use crate::method::{BadSetting, Method};
use crate::scratch::Scratch;
use crate::step::{StepReport, correct_velocities, energies, step_to};

/// How often a step may be halved before the run gives up.
pub const MAX_HALVINGS: u32 = 16;

/// Good steps in a row after which a halved step grows again.
const GOOD_STEPS: u32 = 4;

/// A joint open by more than this at the start (and by more than its tolerance) is an error, m or rad.
const OPEN_AT_START: f64 = 1e-6;

/// Energy from nowhere beyond this many times the energies at play is an explosion.
const EXPLOSION: f64 = 1e3;

/// A model in motion.
#[derive(Clone, Debug)]
pub struct Simulation<'m> {
    model: &'m Model,
    method: Method,
    /// The asked step, s.
    h: f64,
    state: State,
    scratch: Scratch,
    /// The state before the last asked step.
    before: State,
    /// The asked step is cut into 2^level parts at present.
    level: u32,
    good_steps: u32,
    steps: u64,
    /// Time of step 0, s.
    t_start: f64,
    totals: StepReport,
    ledger: Ledger,
    energy_abs_sum: f64,
    energy_abs_max: f64,
    /// Sum of what is at play, the measure of an explosion, J.
    energy_scale: f64,
    worst_gaps: Vec<f64>,
    worst_velocity_errors: Vec<f64>,
    reactions: Vec<Reaction>,
    joint_impulses: Vec<Wrench>,
    events: Vec<Event>,
}

/// Why a simulation cannot start or go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// What happened, with time, element, value and what to try.
    pub reason: String,
    /// The element at fault, by name, if known.
    pub element: Option<String>,
}

impl From<BadSetting> for Failure {
    fn from(bad: BadSetting) -> Self {
        Failure { reason: bad.to_string(), element: None }
    }
}

impl<'m> Simulation<'m> {
    /// The model at its start.
    pub fn new(model: &'m Model, settings: &RunSettings) -> Result<Self, Failure> {
        Simulation::from_state(model, settings, model.start.clone())
    }

    /// The model at a given state, such as one saved before.
    ///
    /// Velocities that do not fit the joints are corrected first, as the first step would do.
    pub fn from_state(
        model: &'m Model,
        settings: &RunSettings,
        state: State,
    ) -> Result<Self, Failure> {
        let method = Method::new(settings)?;
        let mut simulation = Simulation {
            model,
            method,
            h: settings.step,
            t_start: state.t,
            before: state.clone(),
            state,
            scratch: Scratch::new(model),
            level: 0,
            good_steps: 0,
            steps: 0,
            totals: StepReport::default(),
            ledger: Ledger::default(),
            energy_abs_sum: 0.0,
            energy_abs_max: 0.0,
            energy_scale: 0.0,
            worst_gaps: vec![0.0; model.rows.len()],
            worst_velocity_errors: vec![0.0; model.rows.len()],
            reactions: Vec::with_capacity(model.joints.len()),
            joint_impulses: vec![Wrench::zero(); model.joints.len()],
            events: Vec::new(),
        };
        for i in 0..model.joints.len() {
            let joint = JointId(u32::try_from(i).unwrap_or(u32::MAX));
            let zero = Wrench::zero();
            simulation.reactions.push(Reaction { joint, force: zero.force, torque: zero.torque });
        }
        simulation.check_start()?;
        simulation.correct_start()?;
        simulation.open_ledger();
        Ok(simulation)
    }

    /// Advances by one asked step.
    pub fn step(&mut self) -> Result<(), Failure> {
        let t_next = self.t_start + (self.steps + 1) as f64 * self.h;
        self.advance(self.h, t_next)
    }

    /// Advances by `h` seconds to the time `t_next` (= t + h but for rounding), in parts where it must.
    ///
    /// On a failure the state is the last good one.
    pub fn advance(&mut self, h: f64, t_next: f64) -> Result<(), Failure> {
        self.before.clone_from(&self.state);
        let Simulation { model, method, state, scratch, .. } = self;
        let mut parts = Parts {
            model,
            method,
            h: self.h,
            level: self.level,
            good_steps: self.good_steps,
            totals: self.totals,
            joint_impulses: &mut self.joint_impulses,
            worst_gaps: &mut self.worst_gaps,
            worst_velocity_errors: &mut self.worst_velocity_errors,
            events: &mut self.events,
        };
        let result = parts.advance(state, scratch, h, t_next);
        (self.level, self.good_steps) = (parts.level, parts.good_steps);
        let totals = parts.totals;
        let result = match result {
            Ok(()) => self.update_ledger(totals),
            Err((error, part)) => Err(self.explain(&error, part)),
        };
        if result.is_err() {
            self.state.clone_from(&self.before);
            return result;
        }
        self.steps += 1;
        self.update_reactions(h);
        Ok(())
    }

    /// Looks at the exact state `dt` seconds from now without moving: a side step of that length.
    ///
    /// Calls `see` with the sample there.
    pub fn peek<R>(&mut self, dt: f64, see: impl FnOnce(&Sample<'_>) -> R) -> Result<R, Failure> {
        let mut side = self.clone_for_side_step();
        let t_next = self.state.t + dt;
        side.advance(dt, t_next)?;
        side.steps = self.steps;
        Ok(see(&side.sample()))
    }

    fn clone_for_side_step(&self) -> Self {
        let mut side = self.clone();
        side.level = 0;
        side.events.clear();
        side
    }

    /// What an observer sees now.
    pub fn sample(&self) -> Sample<'_> {
        Sample {
            step: self.steps,
            state: &self.state,
            reactions: &self.reactions,
            ledger: self.ledger,
            worst_gaps: &self.worst_gaps,
        }
    }

    /// The model.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// The state now.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Asked steps done.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The energy ledger.
    pub fn ledger(&self) -> Ledger {
        self.ledger
    }

    /// Corrections, work and dissipation so far.
    pub fn totals(&self) -> StepReport {
        self.totals
    }

    /// Mean over the steps and largest |integrator error|, J.
    pub fn energy_errors(&self) -> (f64, f64) {
        (self.energy_abs_sum / (self.steps.max(1) as f64), self.energy_abs_max)
    }

    /// Force of every joint, mean over the last step. (n_joints)
    pub fn reactions(&self) -> &[Reaction] {
        &self.reactions
    }

    /// Largest position error so far of each row block, m or rad.
    pub fn worst_gaps(&self) -> &[f64] {
        &self.worst_gaps
    }

    /// Largest velocity error so far of each row block, m/s or rad/s.
    pub fn worst_velocity_errors(&self) -> &[f64] {
        &self.worst_velocity_errors
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Finite numbers, closed joints; fixed bodies stand still.
    fn check_start(&mut self) -> Result<(), Failure> {
        let (model, state) = (self.model, &mut self.state);
        for (i, body) in model.bodies.iter().enumerate() {
            if body.fixed {
                state.s_dot[i].fill(0.0);
                state.omega[i].fill(0.0);
            }
            let numbers = state.s[i].iter().chain(&state.s_dot[i]).chain(&state.omega[i]);
            if !numbers.chain(state.rot[i].coords.iter()).all(|x| x.is_finite()) {
                let reason =
                    format!("body `{}` starts with a number that is not finite", body.name);
                return Err(Failure { reason, element: Some(body.name.clone()) });
            }
        }
        let Scratch { bodies, work, .. } = &mut self.scratch;
        bodies.read_state(state);
        let (poses, twists) = (&bodies.poses, &bodies.twists);
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        for (i, block) in model.rows.iter().enumerate() {
            let mut c = [0.0; crate::small::MAX];
            block.error(model, &at, work, &mut c[..block.n_rows]);
            let gap = c.iter().map(|x| x * x).sum::<f64>().sqrt();
            self.worst_gaps[i] = gap;
            let allowed = block.tolerance.unwrap_or(self.method.tolerance).max(OPEN_AT_START);
            if gap.is_nan() || gap > allowed {
                let reason = format!(
                    "`{}` is open by {gap:.3e} at the start, more than {allowed:.1e}: \
                     move its bodies to where it is closed",
                    block.name
                );
                return Err(Failure { reason, element: Some(block.name.clone()) });
            }
        }
        Ok(())
    }

    /// J v + C_t = 0 at the start.
    fn correct_start(&mut self) -> Result<(), Failure> {
        let Simulation { model, method, state, scratch, .. } = self;
        if !scratch.corrects_velocities(method, true) {
            return Ok(());
        }
        let change = correct_velocities(model, method, state, scratch);
        let change = change.map_err(|error| self.explain(&error, self.h))?;
        if change > 1e-6 {
            self.events.push(Event {
                time: self.state.t,
                kind: "start-velocity".to_owned(),
                between: Vec::new(),
                detail: format!(
                    "velocities at the start did not fit the joints and were changed by up to {change:.2e}"
                ),
            });
        }
        Ok(())
    }

    fn open_ledger(&mut self) {
        let (kinetic, potential) = energies(self.model, &self.state, &mut self.scratch);
        self.ledger =
            Ledger { initial: kinetic + potential, kinetic, potential, ..Ledger::default() };
        let weight: f64 = self.model.bodies.iter().filter(|b| !b.fixed).map(|b| b.mass).sum();
        self.energy_scale = kinetic + potential.abs() + weight * self.model.gravity.norm();
    }

    /// Balances the ledger with the totals after a step, or says that energy explodes.
    fn update_ledger(&mut self, totals: StepReport) -> Result<(), Failure> {
        let (kinetic, potential) = energies(self.model, &self.state, &mut self.scratch);
        let (work, dissipation) = (totals.work, totals.dissipation);
        let ledger = Ledger { kinetic, potential, work, dissipation, ..self.ledger };
        let error = ledger.integrator_error().abs();
        self.energy_scale += (work - self.totals.work).abs();
        self.energy_scale += (dissipation - self.totals.dissipation).abs();
        if error.is_nan() || error > EXPLOSION * self.energy_scale.max(1e-9) {
            return Err(self.explain_explosion(error));
        }
        self.ledger = ledger;
        self.totals = totals;
        self.energy_abs_sum += error;
        self.energy_abs_max = self.energy_abs_max.max(error);
        Ok(())
    }

    fn update_reactions(&mut self, h: f64) {
        for (reaction, sum) in self.reactions.iter_mut().zip(&self.joint_impulses) {
            reaction.force = sum.force / h;
            reaction.torque = sum.torque / h;
        }
    }

    fn explain_explosion(&self, error: f64) -> Failure {
        // The body with the largest share of the kinetic energy is the one to look at.
        let shares = (0_u32..).zip(&self.model.bodies);
        let shares =
            shares.map(|(i, b)| (b, b.kinetic_energy(&self.state, gelenk_model::BodyId(i))));
        let fastest =
            shares.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(b, share)| (b.name.clone(), share));
        let (name, share) = fastest.unwrap_or_default();
        let reason = format!(
            "energy explodes at t = {} s (step {}): {error:.2e} J came from nowhere, body `{name}` now has {share:.2e} J; \
             the step is likely too long for the stiffest spring or the fastest turn: try a step of {} s",
            self.state.t,
            self.steps + 1,
            self.h / 10.0
        );
        Failure { reason, element: Some(name) }
    }

    /// The failure of a step, in words.
    fn explain(&self, error: &StepError, h: f64) -> Failure {
        let try_step = h / 2.0;
        let block_name = |i: usize| self.model.rows[i].name.clone();
        match *error {
            StepError::Positions { block, gap, sweeps, t } => {
                let name = block_name(block);
                let cause = self.cause(block);
                let reason = format!(
                    "`{name}` cannot be closed at t = {t} s: gap {gap:.2e} after {sweeps} sweeps with steps down to {h:.2e} s; {cause}"
                );
                Failure { reason, element: Some(name) }
            }
            StepError::Velocities { block, error, sweeps, t } => {
                let name = block_name(block);
                let cause = self.cause(block);
                let reason = format!(
                    "velocities at `{name}` cannot be corrected at t = {t} s: error {error:.2e} after {sweeps} sweeps; {cause}"
                );
                Failure { reason, element: Some(name) }
            }
            StepError::Forces { body, change, rounds, t } => {
                let name = self.model.bodies[body].name.clone();
                let reason = format!(
                    "forces that depend on velocities do not settle at t = {t} s: the velocity of body `{name}` still changes by {change:.2e} after {rounds} rounds; \
                     a damper is too strong for the step, try {try_step:.2e} s"
                );
                Failure { reason, element: Some(name) }
            }
            StepError::NotFinite { body, t } => {
                let name = self.model.bodies[body].name.clone();
                let reason = format!(
                    "body `{name}` has no finite position or velocity at t = {t} s (step {}); a force or signal is likely not finite there, or the step is too long: try {try_step:.2e} s",
                    self.steps + 1
                );
                Failure { reason, element: Some(name) }
            }
        }
    }

    /// Why a block may resist all impulses.
    fn cause(&self, block: usize) -> &'static str {
        let bodies = &self.model.rows[block].bodies;
        if bodies.iter().all(|b| self.model.bodies[b.index()].fixed) {
            return "all its bodies are fixed in space";
        }
        let thin = |b: &gelenk_model::BodyId| {
            let body = &self.model.bodies[b.index()];
            !body.fixed && body.inertia_inv.iter().any(|j| *j == 0.0)
        };
        if bodies.iter().any(thin) {
            return "a body of it has no inertia about some axis, so that no impulse turns it about that axis: \
                    give it a thickness; or other joints contradict it, or the position is singular";
        }
        "other joints contradict it, or the position is singular: `check` tells which; \
         a larger tolerance or a shorter step may help"
    }
}

/// Advances a state over an asked step in 2^level parts.
///
/// Parts that fail are halved, with the state from before them; where velocities are not corrected after each step, they
/// are before the first halving, as a better start. After [`GOOD_STEPS`] good parts in a row they are doubled
/// again where they line up, never beyond the asked step. \[Schmitt 2003\] section 5.
struct Parts<'a> {
    model: &'a Model,
    method: &'a Method,
    /// The asked step, s.
    h: f64,
    level: u32,
    good_steps: u32,
    totals: StepReport,
    joint_impulses: &'a mut [Wrench],
    worst_gaps: &'a mut [f64],
    worst_velocity_errors: &'a mut [f64],
    events: &'a mut Vec<Event>,
}

impl Parts<'_> {
    /// On an error also gives the length of the part that failed.
    fn advance(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        h: f64,
        t_next: f64,
    ) -> Result<(), (StepError, f64)> {
        const WHOLE: u32 = 1 << MAX_HALVINGS;
        let t = state.t;
        let mut done = 0;
        let mut corrected = false;
        self.joint_impulses.fill(Wrench::zero());
        while done < WHOLE {
            let size = WHOLE >> self.level;
            let part = h * (f64::from(size) / f64::from(WHOLE));
            let end = done + size;
            let t_end =
                if end == WHOLE { t_next } else { t + h * (f64::from(end) / f64::from(WHOLE)) };
            let keep = (1.0 - part / self.h).max(0.0);
            match step_to(self.model, self.method, state, scratch, part, t_end, keep) {
                Ok(report) => {
                    corrected = false;
                    done = end;
                    self.add(&report, scratch);
                    self.good_steps += 1;
                    if self.level > 0 && self.good_steps >= GOOD_STEPS && done % (2 * size) == 0 {
                        self.level -= 1;
                        self.good_steps = 0;
                    }
                }
                Err(_) if !corrected && !scratch.corrects_velocities(self.method, true) => {
                    corrected = true;
                    correct_velocities(self.model, self.method, state, scratch)
                        .map_err(|error| (error, part))?;
                }
                Err(error) if self.level == MAX_HALVINGS => return Err((error, part)),
                Err(error) => {
                    self.level += 1;
                    self.good_steps = 0;
                    self.tell(&error, state.t, part / 2.0);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, report: &StepReport, scratch: &Scratch) {
        self.totals.corrections += report.corrections;
        self.totals.velocity_corrections += report.velocity_corrections;
        self.totals.work += report.work;
        self.totals.dissipation += report.dissipation;
        for (sum, impulse) in self.joint_impulses.iter_mut().zip(&scratch.joint_impulses) {
            sum.force += impulse.force;
            sum.torque += impulse.torque;
        }
        for (worst, gap) in self.worst_gaps.iter_mut().zip(&scratch.rows.gap) {
            *worst = worst.max(*gap);
        }
        let errors = self.worst_velocity_errors.iter_mut().zip(&scratch.rows.velocity_error);
        for (worst, error) in errors {
            *worst = worst.max(*error);
        }
    }

    fn tell(&mut self, error: &StepError, time: f64, part: f64) {
        let element = match *error {
            StepError::Positions { block, .. } | StepError::Velocities { block, .. } => {
                &self.model.rows[block].name
            }
            StepError::Forces { body, .. } | StepError::NotFinite { body, .. } => {
                &self.model.bodies[body].name
            }
        };
        self.events.push(Event {
            time,
            kind: "step-halved".to_owned(),
            between: vec![element.clone()],
            detail: format!("step halved to {part:.3e} s: {error}"),
        });
    }
}
