//! A model in motion, step by step.

mod checkpoint;

pub use checkpoint::Checkpoint;

use std::borrow::Cow;

use gelenk_collide::{Touch, World};
use gelenk_model::body::BodyId;
use gelenk_model::contact::Party;
use gelenk_model::joint::JointId;
use gelenk_model::run::{ContactForce, Event, Ledger, Reaction, Sample, Stop};
use gelenk_model::state::{State, Wrench};
use gelenk_model::{IdleAxes, Model, RunSettings};

use crate::control::{Clocked, Inputs, Measured};
use crate::dense::Dense;
use crate::error::StepError;
use crate::explain::{Failure, explain};
use crate::graph::Ways;
use crate::joints::{breakable, check_lengths, gap};
use crate::method::Method;
use crate::parts::{Parts, Stubborn, Told};
use crate::scratch::Scratch;
use crate::step::{StepReport, check_turn, correct_velocities, energies};
use crate::touching::{ContactLog, Touching};

/// A joint open by more than this at the start (and by more than its tolerance) is an error, m or rad.
const OPEN_AT_START: f64 = 1e-6;

/// A run that has made or lost this many times the energies at play goes nowhere.
const EXPLOSION: f64 = 10.0;

/// A model in motion.
#[derive(Clone, Debug)]
pub struct Simulation<'m> {
    /// The model; one of its own once a joint has been added.
    pub(crate) model: Cow<'m, Model>,
    pub(crate) method: Method,
    /// The asked step, s.
    pub(crate) h: f64,
    pub(crate) state: State,
    pub(crate) scratch: Scratch,
    /// The state before an asked step that takes more than one part.
    before: State,
    pub(crate) steps: u64,
    /// Time of step 0, s.
    t_start: f64,
    pub(crate) totals: StepReport,
    pub(crate) ledger: Ledger,
    energy_abs_sum: f64,
    energy_abs_max: f64,
    /// Sum of what is at play, the measure of an explosion, J.
    energy_scale: f64,
    pub(crate) worst_gaps: Vec<f64>,
    pub(crate) worst_velocity_errors: Vec<f64>,
    pub(crate) reactions: Vec<Reaction>,
    /// Axes about which joints have no moment.
    pub(crate) idle: IdleAxes,
    /// Joints that can break.
    pub(crate) breakable: Vec<usize>,
    pub(crate) joint_impulses: Vec<Wrench>,
    contacts: ContactLog,
    pub(crate) events: Vec<Event>,
    /// What has been told of halvings.
    told: Told,
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
        Simulation::start(Cow::Borrowed(model), settings, state)
    }

    /// The model at its start, kept by the simulation itself: for owners that cannot lend it.
    pub fn owned(model: Model, settings: &RunSettings) -> Result<Simulation<'static>, Failure> {
        let start = model.start.clone();
        Simulation::start(Cow::Owned(model), settings, start)
    }

    fn start(model: Cow<'m, Model>, settings: &RunSettings, state: State) -> Result<Self, Failure> {
        let method = Method::new(settings)?;
        let model =
            if settings.contact == "none" { Cow::Owned(model.without_contact()) } else { model };
        check_lengths(&model, &state)?;
        // A shape that cannot touch anything must not go unsaid.
        World::new(&model).map_err(|bad| Failure { reason: bad.to_string(), element: None })?;
        let mut simulation = Simulation {
            scratch: Scratch::new(&model),
            worst_gaps: vec![0.0; model.rows.len()],
            worst_velocity_errors: vec![0.0; model.rows.len()],
            reactions: Vec::with_capacity(model.joints.len()),
            idle: IdleAxes::of(&model),
            breakable: breakable(&model),
            joint_impulses: vec![Wrench::zero(); model.joints.len()],
            model,
            method,
            h: settings.step,
            t_start: state.t,
            before: state.clone(),
            state,
            steps: 0,
            totals: StepReport::default(),
            ledger: Ledger::default(),
            energy_abs_sum: 0.0,
            energy_abs_max: 0.0,
            energy_scale: 0.0,
            contacts: ContactLog::default(),
            events: Vec::new(),
            told: Told::default(),
        };
        for i in 0..simulation.model.joints.len() {
            let joint = JointId(u32::try_from(i).unwrap_or(u32::MAX));
            let zero = Wrench::zero();
            simulation.reactions.push(Reaction { joint, force: zero.force, torque: zero.torque });
        }
        simulation.leave_out_stuck();
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
        let t = self.state.t;
        if self.scratch.rows.rheonomic
            && let Some(jump) =
                self.model.jumping_motion(t, t_next, &self.state.active, &mut self.scratch.work)
        {
            let error = StepError::Jump { block: jump.block, size: jump.size, t: jump.t };
            return Err(explain(&self.model, &self.state, self.steps + 1, &error, h));
        }
        for &i in self.scratch.bodies.tumbling() {
            let omega = &self.state.omega[i];
            check_turn(&self.scratch.bodies, i, omega, &self.method, h, t)
                .map_err(|error| explain(&self.model, &self.state, self.steps + 1, &error, h))?;
        }
        let told = self.events.len();
        let seen = self.scratch.watch_ahead(&self.model, &self.method, &self.state, h);
        seen.map_err(|error| explain(&self.model, &self.state, self.steps + 1, &error, h))?;
        let mut parts = Parts {
            model: &self.model,
            method: &self.method,
            h: self.h,
            energy_scale: self.energy_scale,
            totals: self.totals,
            kinetic: self.ledger.kinetic,
            potential: self.ledger.potential,
            joint_impulses: &mut self.joint_impulses,
            contacts: &mut self.contacts,
            worst_gaps: &mut self.worst_gaps,
            worst_velocity_errors: &mut self.worst_velocity_errors,
            events: &mut self.events,
            told: &mut self.told,
            before: &mut self.before,
            kept: false,
            stubborn: Stubborn::default(),
        };
        if let Err((error, part)) = parts.advance(&mut self.state, &mut self.scratch, h, t_next) {
            parts.go_back(&mut self.state, &self.scratch);
            if matches!(error, StepError::Stopped { .. }) {
                self.events.truncate(told); // what happened in it has not happened
            }
            return Err(explain(&self.model, &self.state, self.steps + 1, &error, part));
        }
        let (ledger, totals, kept) = (parts.ledger(&self.ledger), parts.totals, parts.kept);
        if let Some(failure) = self.explosion(&ledger) {
            self.state.clone_from(if kept { &self.before } else { &self.scratch.saved });
            return Err(failure);
        }
        self.update_ledger(ledger, totals);
        self.events.extend(self.scratch.passage(&self.model, &self.state, t));
        self.steps += 1;
        self.update_reactions(h);
        self.contacts.end_step(h);
        self.break_joints();
        Ok(())
    }

    /// Lets `stop` end steps that go on: [`advance`](Simulation::advance) then fails, with the state before the step.
    pub fn set_stop(&mut self, stop: Stop) {
        self.scratch.rows.stop = stop;
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

    /// Advances by one asked step and gives the motion over it: the state at any time within ([`Dense`]).
    ///
    /// A side step of half the length gives the node in the middle; the run itself is that of [`step`](Simulation::step).
    /// For single times see [`peek`](Simulation::peek).
    pub fn step_dense(&mut self) -> Result<Dense, Failure> {
        let start = self.state.clone();
        let middle = self.peek(0.5 * self.h, |sample| sample.state.clone())?;
        self.step()?;
        Ok(Dense::new([start, middle, self.state.clone()]))
    }

    fn clone_for_side_step(&self) -> Self {
        let mut side = self.clone();
        side.events.clear();
        side
    }

    /// Lets a law read the state and set inputs.
    pub fn control(&mut self, law: &mut Clocked<'_, '_>) -> Result<(), Failure> {
        let held = &mut self.scratch.work.held;
        law.call(&Measured::new(&self.model, &self.state), &mut Inputs::new(&self.model, held))
    }

    /// The model's inputs, to be read and set; they are held until set again. They are no part of the state: who goes on
    /// from a saved one sets them anew.
    pub fn inputs(&mut self) -> Inputs<'_> {
        Inputs::new(&self.model, &mut self.scratch.work.held)
    }

    /// What an observer sees now.
    pub fn sample(&self) -> Sample<'_> {
        Sample {
            step: self.steps,
            state: &self.state,
            reactions: &self.reactions,
            contacts: self.contacts.forces(),
            ledger: self.ledger,
            worst_gaps: &self.worst_gaps,
            inputs: &self.scratch.work.held,
        }
    }

    /// The model, with the joints that have been added.
    pub fn model(&self) -> &Model {
        &self.model
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

    /// How the problems of constraints so far were solved, with the counts of what that took.
    pub fn ways(&self) -> Ways {
        self.scratch.graph.as_ref().map_or_else(Ways::default, |graph| graph.counts)
    }

    /// Mean over the steps and largest |integrator error|, J.
    pub fn energy_errors(&self) -> (f64, f64) {
        (self.energy_abs_sum / (self.steps.max(1) as f64), self.energy_abs_max)
    }

    /// Force of every joint, mean over the last step. (n_joints)
    pub fn reactions(&self) -> &[Reaction] {
        &self.reactions
    }

    /// Contacts there were in the last step, with their mean force.
    pub fn contacts(&self) -> &[ContactForce] {
        self.contacts.forces()
    }

    /// Deepest that bodies have overlapped after a step, m; `None` where none touched.
    pub fn worst_penetration(&self) -> Option<f64> {
        self.contacts.worst
    }

    /// Largest position error so far of each row block, m or rad.
    pub fn worst_gaps(&self) -> &[f64] {
        &self.worst_gaps
    }

    /// Largest velocity error so far of each row block, m/s or rad/s.
    pub fn worst_velocity_errors(&self) -> &[f64] {
        &self.worst_velocity_errors
    }

    /// Parts of steps that were taken although their energy is wrong, since halving did not help, and when the first ended, s.
    pub fn refused(&self) -> Option<(u64, f64)> {
        self.told.refused
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Finite numbers, closed joints; fixed bodies stand still.
    fn check_start(&mut self) -> Result<(), Failure> {
        let (model, state): (&Model, _) = (&self.model, &mut self.state);
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
        self.scratch.bodies.read_state(state);
        self.scratch.forget_poses();
        let (mut n_open, mut widest) = (0, (0.0, 0));
        for (i, block) in model.rows.iter().enumerate() {
            if !block.is_active(&state.active) {
                continue;
            }
            let gap = gap(model, state, &mut self.scratch, i);
            self.scratch.rows.gap[i] = gap;
            let tolerance = block.tolerance.unwrap_or(self.method.tolerance);
            if gap <= tolerance {
                self.worst_gaps[i] = gap;
            } else {
                n_open += 1;
                if gap > widest.0 {
                    widest = (gap, i);
                }
            }
            let allowed = tolerance.max(OPEN_AT_START);
            if gap.is_nan() || gap > allowed {
                let reason = format!(
                    "`{}` is open by {gap:.3e} at the start, more than {allowed:.1e}: \
                     move its bodies to where it is closed",
                    block.name
                );
                return Err(Failure { reason, element: Some(block.name.clone()) });
            }
        }
        self.tell_overlaps();
        let (model, state): (&Model, _) = (&self.model, &self.state);
        if n_open > 0 {
            let (gap, block) = (widest.0, &model.rows[widest.1]);
            let tolerance = block.tolerance.unwrap_or(self.method.tolerance);
            self.events.push(Event {
                time: state.t,
                kind: "start-open".to_owned(),
                between: vec![block.name.clone()],
                detail: format!(
                    "{n_open} joint(s) or equation(s) start wider than their tolerance, the widest `{}` with {gap:.2e} \
                     where {tolerance:.1e} is allowed; the first step closes them, and gaps count from there",
                    block.name
                ),
                point: None,
                impulse: None,
            });
        }
        Ok(())
    }

    /// Bodies that a joint connects and that begin inside each other cannot be parted: they do not touch in this run.
    fn leave_out_stuck(&mut self) {
        let Simulation { model, method, state, scratch, events, .. } = self;
        if scratch.touching.is_none() {
            return;
        }
        scratch.bodies.read_state(state);
        let Scratch { bodies, touching: Some(touching), .. } = scratch else { return };
        let tolerance = method.tolerance.max(2.0 * bodies.position_floor());
        let mut list = Vec::new();
        touching.world.overlaps(&bodies.poses, 2.0 * tolerance, &mut list);
        let depth = |touch: &Touch| {
            let [a, b] = touch.bodies.map(|body| &bodies.poses[body]);
            -touch.gap(a, b)
        };
        let mut stuck: Vec<([usize; 2], f64)> = Vec::new();
        for touch in list.iter().filter(|touch| touching.world.are_linked(touch)) {
            match stuck.iter_mut().find(|(bodies, _)| *bodies == touch.bodies) {
                Some((_, deepest)) => *deepest = deepest.max(depth(touch)),
                None => stuck.push((touch.bodies, depth(touch))),
            }
        }
        if stuck.is_empty() {
            return;
        }
        let model = model.to_mut();
        for (pair, depth) in stuck {
            let names = pair.map(|body| model.bodies[body].name.clone());
            let party = |body: usize| Party::Body(BodyId(u32::try_from(body).unwrap_or(u32::MAX)));
            model.contact.ignored.push(pair.map(party));
            events.push(Event {
                time: state.t,
                kind: "contact-left-out".to_owned(),
                detail: format!(
                    "`{}` and `{}` begin {depth:.2e} m inside each other, and the joint between them cannot part them: they do not touch each \
                     other in this run; to say so in the file, list them under `[contact] ignore`",
                    names[0], names[1]
                ),
                between: names.to_vec(),
                point: None,
                impulse: None,
            });
        }
        scratch.touching = Touching::new(model).map(Box::new);
    }

    /// Tells of bodies that begin inside each other by more than the tolerance.
    fn tell_overlaps(&mut self) {
        let Simulation { model, method, state, scratch, .. } = self;
        let mut list = Vec::new();
        let Scratch { bodies, touching: Some(touching), .. } = scratch else { return };
        let tolerance = method.tolerance.max(2.0 * bodies.position_floor());
        touching.world.overlaps(&bodies.poses, 2.0 * tolerance, &mut list);
        let depth = |touch: &Touch| {
            let [a, b] = touch.bodies.map(|body| &bodies.poses[body]);
            -touch.gap(a, b)
        };
        let Some(deepest) = list.iter().max_by(|a, b| depth(a).total_cmp(&depth(b))) else {
            return;
        };
        let names = deepest.bodies.map(|body| model.bodies[body].name.clone());
        self.events.push(Event {
            time: state.t,
            kind: "start-overlap".to_owned(),
            detail: format!(
                "bodies begin inside each other at {} place(s), deepest `{}` in `{}` with {:.2e} m where {tolerance:.1e} is allowed; they are \
                 pushed out slowly, and what that takes is booked as work",
                list.len(),
                names[0],
                names[1],
                depth(deepest)
            ),
            between: names.to_vec(),
            point: None,
            impulse: None,
        });
    }

    /// J v + C_t = 0 at the start.
    fn correct_start(&mut self) -> Result<(), Failure> {
        let Simulation { model, method, state, scratch, .. } = self;
        if !scratch.corrects_velocities(method, true) {
            return Ok(());
        }
        let change = correct_velocities(model, method, state, scratch);
        let change = change.map_err(|error| explain(model, state, 0, &error, self.h))?;
        if change > 1e-6 {
            self.events.push(Event {
                time: self.state.t,
                kind: "start-velocity".to_owned(),
                between: Vec::new(),
                detail: format!(
                    "velocities at the start did not fit the joints and were changed by up to {change:.2e}"
                ),
                point: None,
                impulse: None,
            });
        }
        Ok(())
    }

    fn open_ledger(&mut self) {
        if self.scratch.bodies.read_state(&self.state) {
            self.scratch.forget_poses();
        }
        let (kinetic, potential) = energies(&self.model, &self.state, &mut self.scratch);
        self.ledger =
            Ledger { initial: kinetic + potential, kinetic, potential, ..Ledger::default() };
        let weight: f64 = self.model.bodies.iter().filter(|b| !b.fixed).map(|b| b.mass).sum();
        self.energy_scale = kinetic + potential.abs() + weight * self.model.gravity.norm();
    }

    /// The failure of a run that has made or lost many times the energy there is.
    fn explosion(&self, ledger: &Ledger) -> Option<Failure> {
        let (defect, kinetic, t) = (ledger.integrator_error(), ledger.kinetic, self.state.t);
        // A NaN is an explosion too.
        if defect.abs() <= EXPLOSION * self.energy_scale.max(1e-9) {
            return None;
        }
        let error = StepError::Energy { defect, kinetic, t };
        Some(explain(&self.model, &self.state, self.steps + 1, &error, self.h))
    }

    /// Takes the ledger after a step.
    fn update_ledger(&mut self, ledger: Ledger, totals: StepReport) {
        self.energy_scale += (totals.work - self.totals.work).abs();
        self.energy_scale += (totals.dissipation - self.totals.dissipation).abs();
        self.ledger = ledger;
        self.totals = totals;
        let error = ledger.integrator_error().abs();
        self.energy_abs_sum += error;
        self.energy_abs_max = self.energy_abs_max.max(error);
    }

    fn update_reactions(&mut self, h: f64) {
        for (reaction, sum) in self.reactions.iter_mut().zip(&self.joint_impulses) {
            reaction.force = sum.force / h;
            reaction.torque = sum.torque / h;
        }
        let poses = &self.scratch.bodies.poses;
        self.idle.drop_moments(&self.model, &self.state.active, poses, &mut self.reactions);
    }
}
