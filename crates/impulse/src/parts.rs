//! The adaptive step: asked steps in parts where they must.

use gelenk_model::{Event, Ledger, Model, State, Wrench};

use crate::compose::Order;
use crate::error::StepError;
use crate::kick::energy_from_rest;
use crate::method::Method;
use crate::scratch::Scratch;
use crate::step::{StepReport, correct_velocities, energies, energies_read, step_to};
use crate::touching::ContactLog;

/// How often a step may be halved before the run gives up.
pub const MAX_HALVINGS: u32 = 16;

/// How often a step is halved only because it makes or loses energy.
const ENERGY_HALVINGS: u32 = 8;

/// The part of the kinetic energy that a step may make or lose; beyond it the step is halved.
const ENERGY_PART: f64 = 0.05;

/// The same where bodies may touch: what thrown machines that spin fast in their joints make in every step adds up, and none of it is to be seen beside
/// what impacts take.
const TOUCHING_PART: f64 = 0.005;

/// The same for a part of a step that has been halved: once it is, it is made good, so that errors do not add up where a
/// step is too long for long.
const ENERGY_PART_HALVED: f64 = 0.0025;

/// The part of the kinetic energy that contacts may make in a step, and in a part of one that has been halved, where that is also more than
/// [`CONTACT_SHARE`] of what they and the drives exchanged: the impulses at both ends then have little in common, as where a contact runs along nearly parallel
/// edges and its normal turns within a step that is short for all else.
const CONTACT_PART: [f64; 2] = [1e-5, 1e-6];

/// The part of the run's energy scale that contacts may make in a step, and in a part of a halved one, in any case.
const CONTACT_MOST: [f64; 2] = [1e-4, 1e-5];

/// The part of the run's energy scale (or of the kinetic energy, where that is more) that may go through the normals of lasting contacts at both ends of a
/// step, either way, beside what weight gives in it.
///
/// A lasting contact works on nothing. In a step its impulses p and p' at both ends change the kinetic energy by ½ K p² and −½ K p'²; p' and the p of the step after it
/// stand for the same force, so that the sums of a contact's steps telescope: since it began, all of them together have made ½ K (p₀² − p'²), not more than what goes
/// through at one end. So this bounds what a contact makes and takes however long it lasts, where bounds on what a step makes add up.
const CONTACT_THROUGH: f64 = 4e-4;

/// See [`CONTACT_PART`]. In steps that resolve the motion it is of the order of the step.
const CONTACT_SHARE: f64 = 0.05;

/// An error that a halving leaves by more than this part does not come from the length of the step: errors of the method fall to an eighth, those that
/// add up over both halves to a quarter.
const STUBBORN: f64 = 0.7;

/// The part of the run's energy scale that contacts may make in a step that halving does not better: a tenth of what makes a run's verdict doubtful.
const CONTACT_STAYS: f64 = 1e-4;

/// So many such halvings in a row, and the step is taken as it is. Robots that begin some millimetres inside the floor took parts down to 1e-6 s, each with the
/// same 2 mJ.
const STUBBORN_HALVINGS: u32 = 2;

/// The part of the run's energy scale that a step may make or lose in any case.
const ENERGY_FLOOR: f64 = 1e-8;

/// Gentle steps: what the joints' impulses at an end of a step may hold of the kinetic energy, beside [`KICK_SHARE`].
const KICK_PART: f64 = 3e-4;

/// Gentle steps: the same as a share of ½ m (a h)², a = g + v²/L, what gravity and turning about a link's end explain.
const KICK_SHARE: f64 = 0.5;

/// Gentle steps: the part of the kinetic energy (and of what gravity gives in a step) that joint forces may work over gaps.
const GAP_WORK_PART: f64 = 1e-3;

/// Steps of a higher order in which dry friction changes are halved so often, then made with order 2, which can show it.
const FRICTION_HALVINGS: u32 = 4;

/// Most tries of a step, or of parts of it, in one asked step; beyond it the run gives up. Halvings and events have limits of their own, whose product nobody
/// would wait for.
pub const MOST_TRIES: u32 = 20_000;

/// Good parts in a row after which they are doubled.
const GOOD_PARTS: u32 = 4;

/// Advances a state over an asked step, in 2^level parts.
///
/// Parts that fail are halved, from the state before them, and after [`GOOD_PARTS`] good ones in a row doubled again
/// where they line up, never beyond the asked step. \[Schmitt 2003\] section 5. Every asked step begins whole, so that a
/// run depends on nothing but its state. A part fails if
/// - its corrections do not converge ([`Sweep`](crate::solver::Sweep) says when that is). Where velocities are not
///   corrected after each step, they are before the first halving, as a better start;
/// - it makes or loses energy beyond 5 % of the kinetic energy (and beyond traces, and what gaps within tolerance
///   explain): the step is too long for the motion, or has jumped to a foreign solution of C(t+h) = 0. Parts of a halved
///   step are held to 0.25 %. After 8 halvings only energy made beyond the kinetic energy itself counts. Where velocities
///   are not corrected and the kinetic energy is not exact, the limit is 10 % in any part;
/// - it is to be gentle and joints kick ([`kicks`](Parts::kicks)).
pub(crate) struct Parts<'a> {
    pub model: &'a Model,
    pub method: &'a Method,
    /// The asked step, s.
    pub h: f64,
    /// A measure of the energies at play, J.
    pub energy_scale: f64,
    /// Corrections, work and dissipation so far.
    pub totals: StepReport,
    /// Kinetic and potential energy now, J.
    pub kinetic: f64,
    pub potential: f64,
    pub joint_impulses: &'a mut [Wrench],
    pub contacts: &'a mut ContactLog,
    pub worst_gaps: &'a mut [f64],
    pub worst_velocity_errors: &'a mut [f64],
    pub events: &'a mut Vec<Event>,
    pub told: &'a mut Told,
    /// The state before the asked step, copied where the step takes more than one part; else it is `scratch.saved`.
    pub before: &'a mut State,
    pub kept: bool,
    /// Energy that halving does not make less.
    pub stubborn: Stubborn,
}

/// Energies after a step, J: the kinetic energy, what came from nowhere, and what contacts and friction gave.
#[derive(Clone, Copy)]
struct Outcome {
    kinetic: f64,
    defect: f64,
    made: f64,
}

/// What counts beside the kinetic energy, J: what bodies at rest get in a step, and that with all else that is excused.
#[derive(Clone, Copy)]
struct Room {
    fall: f64,
    excused: f64,
}

/// What is to be said of a step's energies.
enum Verdict {
    Good,
    /// Contacts turn the motion.
    Turned,
    /// This much comes from nowhere, J.
    Wrong(f64),
}

/// Energy from nowhere at a time of the motion, as steps from there are halved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stubborn {
    t: f64,
    defect: f64,
    /// Halvings in a row that left most of it.
    halvings: u32,
    /// Shorter steps do not help: until the asked step ends, steps are taken and their errors are in the ledger.
    stays: bool,
}

impl Stubborn {
    /// Takes note of a step from `t` that was refused.
    fn note(&mut self, t: f64, error: &StepError) {
        let &StepError::Energy { defect, .. } = error else { return };
        let same = t.total_cmp(&self.t).is_eq() && defect.abs() > STUBBORN * self.defect.abs();
        self.halvings = if same { self.halvings + 1 } else { 0 };
        (self.t, self.defect) = (t, defect);
        self.stays |= self.halvings >= STUBBORN_HALVINGS;
    }
}

/// What has been told of halvings, so that trouble that lasts is not told in every step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// Deepest level told.
    level: u32,
    /// Whole steps since.
    quiet_steps: u32,
    /// Fastest opening of contacts told, m/s.
    loose: f64,
    /// Parts that were taken although their energy is wrong, and when the first of them ended.
    pub(crate) refused: Option<(u64, f64)>,
}

impl Told {
    /// Ends an asked step with its deepest level.
    fn end_step(&mut self, deepest: u32) {
        self.quiet_steps = if deepest > 0 { 0 } else { self.quiet_steps + 1 };
        if self.quiet_steps > 10 {
            self.level = 0;
            self.loose = 0.0;
        }
    }
}

impl Parts<'_> {
    /// On an error also gives the length of the part that failed.
    pub(crate) fn advance(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        h: f64,
        t_next: f64,
    ) -> Result<(), (StepError, f64)> {
        const WHOLE: u32 = 1 << MAX_HALVINGS;
        let t = state.t;
        let (mut done, mut level, mut good, mut deepest) = (0, 0, 0, 0);
        let mut corrected = false;
        self.joint_impulses.fill(Wrench::zero());
        self.contacts.begin_step();
        (scratch.tries, scratch.stops.turns) = (0, 0);
        scratch.stops.forget_hits(f64::NEG_INFINITY);
        while done < WHOLE {
            let size = WHOLE >> level;
            let part = h * (f64::from(size) / f64::from(WHOLE));
            let end = done + size;
            let t_end =
                if end == WHOLE { t_next } else { t + h * (f64::from(end) / f64::from(WHOLE)) };
            match self.pass(state, scratch, part, t_end, level) {
                Ok(()) => {
                    corrected = false;
                    done = end;
                    good += 1;
                    if level > 0 && good >= GOOD_PARTS && done % (2 * size) == 0 {
                        (level, good) = (level - 1, 0);
                    }
                }
                Err(error @ (StepError::Stopped { .. } | StepError::Work { .. })) => {
                    return Err((error, part));
                }
                Err(_) if !corrected && !scratch.corrects_velocities(self.method, true) => {
                    corrected = true;
                    self.keep(state);
                    correct_velocities(self.model, self.method, state, scratch)
                        .map_err(|error| (error, part))?;
                }
                // A singular position that came too soon to be seen before.
                Err(error)
                    if level == 0
                        && !matches!(error, StepError::Friction { .. })
                        && scratch
                            .finds_branch(self.model, self.method, state, part)
                            .map_err(|error| (error, part))? => {}
                Err(error) if level == MAX_HALVINGS => return Err((error, part)),
                Err(error) => {
                    self.stubborn.note(state.t, &error);
                    self.keep(state);
                    (level, good) = (level + 1, 0);
                    if matches!(error, StepError::Friction { .. }) {
                        continue;
                    }
                    if level > deepest {
                        deepest = level;
                        self.tell(&error, state.t, level, part / 2.0);
                    }
                }
            }
        }
        self.told.end_step(deepest);
        Ok(())
    }

    /// Keeps the state before the first part.
    fn keep(&mut self, state: &State) {
        if !self.kept {
            self.before.clone_from(state);
            self.kept = true;
        }
    }

    /// Goes back to the state before the asked step.
    pub(crate) fn go_back(&self, state: &mut State, scratch: &Scratch) {
        state.clone_from(if self.kept { self.before } else { &scratch.saved });
    }

    /// A step of length `part`; on an error the state is as before.
    pub(crate) fn make(
        &self,
        state: &mut State,
        scratch: &mut Scratch,
        part: f64,
        t_end: f64,
        level: u32,
    ) -> Result<StepReport, StepError> {
        if scratch.rows.stop.is_asked() {
            return Err(StepError::Stopped { t: state.t });
        }
        scratch.tries += 1;
        if scratch.tries > MOST_TRIES {
            return Err(StepError::Work { tries: MOST_TRIES, t: state.t });
        }
        let mut method = *self.method;
        scratch.rows.work_allowed = if method.gentle {
            GAP_WORK_PART * (self.kinetic + self.energy_of_a_fall(scratch, part, 0.0))
        } else {
            f64::INFINITY
        };
        let changes = level >= FRICTION_HALVINGS && scratch.rows.any_friction();
        if changes || !scratch.rows.contacts.is_empty() {
            method.order = Order::Two;
        }
        step_to(self.model, &method, state, scratch, part, t_end, self.h)
    }

    /// Takes the step that was made, or refuses it and goes back to the state before.
    pub(crate) fn accept(
        &mut self,
        report: &StepReport,
        state: &mut State,
        scratch: &mut Scratch,
        part: f64,
        level: u32,
    ) -> Result<(), StepError> {
        let known = scratch.energies.take().filter(|_| !scratch.loads.lines[0]);
        let (kinetic, potential) = if let Some(energies) = known {
            energies
        } else if scratch.touching.is_some() && scratch.balls.is_none() {
            energies_read(self.model, state, scratch) // by the look for what is touched
        } else {
            energies(self.model, state, scratch)
        };
        let change = kinetic + potential - self.kinetic - self.potential;
        let defect = change - report.work + report.dissipation + report.impact_loss;
        // Contacts and friction take energy; what they give is the error of the step.
        let made = -report.impact_loss.min(0.0) - report.dissipation.min(0.0);
        let outcome = Outcome { kinetic, defect, made };
        // All that is excused beside weight makes limits wider: what is good without it is good.
        let mut room = self.room_of_weight(scratch, part);
        let mut verdict = self.judge(&outcome, &room, scratch, level);
        if self.method.gentle || !matches!(verdict, Verdict::Good) {
            room = self.room(scratch, part);
            verdict = self.judge(&outcome, &room, scratch, level);
        }
        // Energies of the impulses at both ends: kinetic energy rises by the one at the start and falls by the one at the end.
        let kick = report.kick.max(report.kick + defect);
        let scale = self.scale(&outcome, &room);
        if self.method.gentle && level < ENERGY_HALVINGS && self.kicks(kick, scale, scratch) {
            self.totals.corrections += report.corrections;
            state.clone_from(&scratch.saved);
            return Err(StepError::Kick { kick, t: scratch.saved.t + part });
        }
        let thrown = report.thrown;
        if thrown > 0.0 && thrown > self.most_thrown(scratch, part) {
            self.totals.corrections += report.corrections;
            state.clone_from(&scratch.saved);
            return Err(StepError::Dampers { thrown, t: scratch.saved.t + part });
        }
        let t = scratch.saved.t + part;
        let refused = match verdict {
            Verdict::Good => None,
            Verdict::Turned => {
                Some(StepError::Turned { through: scratch.rows.through_contacts, t })
            }
            Verdict::Wrong(defect) => Some(StepError::Energy { defect, kinetic: self.kinetic, t }),
        };
        if let Some(error) = refused {
            self.totals.corrections += report.corrections;
            state.clone_from(&scratch.saved);
            return Err(error);
        }
        // What is only taken since halving does not help.
        if level >= ENERGY_HALVINGS {
            room = self.room(scratch, part);
        }
        if level >= ENERGY_HALVINGS
            && !matches!(self.judge(&outcome, &room, scratch, ENERGY_HALVINGS - 1), Verdict::Good)
        {
            let (many, first) = self.told.refused.unwrap_or((0, state.t));
            self.told.refused = Some((many + 1, first));
        }
        (self.kinetic, self.potential) = (kinetic, potential);
        self.tell_loose(scratch, state.t);
        self.add(report, scratch);
        Ok(())
    }

    /// Whether the energies after a step are what they should be.
    fn judge(&self, outcome: &Outcome, room: &Room, scratch: &Scratch, level: u32) -> Verdict {
        let (Outcome { defect, made, .. }, Room { fall, excused }) = (*outcome, *room);
        let scale = self.scale(outcome, room);
        let level = if self.stubborn.stays { ENERGY_HALVINGS } else { level };
        let accepted = if level >= ENERGY_HALVINGS {
            defect <= self.kinetic + 10.0 * excused
        } else if scratch.corrects_velocities(self.method, true) {
            let fine = level > 0 && !self.method.gentle;
            let whole = if scratch.touching.is_some() { TOUCHING_PART } else { ENERGY_PART };
            let part = if fine { ENERGY_PART_HALVED } else { whole };
            defect.abs() <= part * (scale + excused)
        } else {
            // Velocities across the joints, h/2 times the forces, blur the kinetic energy.
            defect.abs() <= 2.0 * ENERGY_PART * scale + 10.0 * excused
        };
        let halved = usize::from(level > 0);
        let too_much = made > CONTACT_SHARE * scratch.rows.exchanged
            && made > CONTACT_PART[halved] * (scale + excused)
            || made > CONTACT_MOST[halved] * self.energy_scale;
        // Short parts are taken as they are, but for what would be an explosion; so are steps with deep overlaps, which shorter ones do not take apart.
        let contacts = &scratch.rows.contacts;
        let deep = contacts.iter().any(|contact| contact.sunk);
        let stays = self.stubborn.stays || deep;
        let least = if stays { CONTACT_STAYS * self.energy_scale } else { 0.0 };
        let explodes = made > (ENERGY_PART * (self.kinetic + excused)).max(least);
        let too_much = too_much && !deep;
        let made_by_contacts =
            !contacts.is_empty() && (explodes || level < ENERGY_HALVINGS && too_much);
        if made_by_contacts {
            return Verdict::Wrong(made);
        }
        if !accepted {
            return Verdict::Wrong(defect);
        }
        // Where impacts are made in one go with the step, they are what goes through.
        let most = fall + CONTACT_THROUGH * self.energy_scale.max(scale + excused);
        let turned = !scratch.rows.at_once
            && level < ENERGY_HALVINGS
            && scratch.rows.through_contacts > most;
        if turned { Verdict::Turned } else { Verdict::Good }
    }

    /// The kinetic energy that errors are measured by, J.
    fn scale(&self, outcome: &Outcome, room: &Room) -> f64 {
        self.kinetic.max(outcome.kinetic.min(2.0 * self.kinetic + room.excused))
    }

    /// What counts beside the kinetic energy in a step.
    fn room(&self, scratch: &Scratch, part: f64) -> Room {
        let fall = self.energy_of_a_fall(scratch, part, 0.0);
        Room { fall, excused: fall + self.excused_energy(scratch, part) }
    }

    /// The same without force elements and gaps.
    fn room_of_weight(&self, scratch: &Scratch, part: f64) -> Room {
        let fall = self.energy_of_weight(scratch, part, 0.0);
        Room { fall, excused: fall + ENERGY_FLOOR * self.energy_scale }
    }

    /// What dampers may give where stages begin, J: half of the kinetic energy there is, which a damper gives that alone would stop its bodies in 0.45
    /// of a stage, and what everything else gives bodies at rest, which dampers hold back. What is rounding of velocities is none.
    fn most_thrown(&self, scratch: &Scratch, part: f64) -> f64 {
        let Scratch { bodies, loads, .. } = scratch;
        let speed = self.model.gravity.norm() * part;
        0.5 * (self.kinetic + bodies.total_mass * speed * speed)
            + energy_from_rest(bodies, loads, false, part)
            + ENERGY_FLOOR * self.energy_scale
            + bodies.total_mass * bodies.velocity_floor() * bodies.velocity_floor()
    }

    /// Energy that counts beside the kinetic energy and that of a fall: a trace of the energies at play, and the work of the joints' forces
    /// over gaps within tolerance.
    fn excused_energy(&self, scratch: &Scratch, part: f64) -> f64 {
        let rows = &scratch.rows;
        let work: f64 = if self.method.gentle {
            // What the gaps there are explain.
            let pull = |p: &[f64]| p.iter().map(|p| p.abs()).sum::<f64>();
            let blocks = rows.blocks.iter().zip(&rows.gap);
            blocks.map(|(b, gap)| pull(&rows.impulse[b.first_row..][..b.n_rows]) * gap).sum()
        } else {
            rows.impulse.iter().map(|p| p.abs()).sum::<f64>() * self.method.tolerance
        };
        ENERGY_FLOOR * self.energy_scale + 10.0 * work / (0.5 * part.abs())
    }

    /// What bodies at rest get in `h` seconds from gravity, an acceleration beside it and the force elements, J.
    fn energy_of_a_fall(&self, scratch: &Scratch, h: f64, acceleration: f64) -> f64 {
        let pushed = if self.model.forces.is_empty() {
            0.0
        } else {
            energy_from_rest(&scratch.bodies, &scratch.loads, true, h)
        };
        self.energy_of_weight(scratch, h, acceleration) + pushed
    }

    /// The same without the force elements.
    fn energy_of_weight(&self, scratch: &Scratch, h: f64, acceleration: f64) -> f64 {
        let speed = (self.model.gravity.norm() + acceleration) * h;
        0.5 * scratch.bodies.total_mass * speed * speed
    }

    /// Whether the impulses of the joints hold more energy than gravity, force elements and turning with v²/L explain in an asked
    /// step, v² = 2 T/m, with L the links' length.
    ///
    /// With corrected velocities the impulse at an end of a step of length h is h/2 times the forces of the joints, and its
    /// energy ½ pᵀ K p is ½ m (a h/2)², a the acceleration that the joints give. The energy error of a step is the difference of
    /// these two energies. A chain that snaps taut has large ones for a moment; shorter parts follow it.
    fn kicks(&self, kick: f64, kinetic: f64, scratch: &Scratch) -> bool {
        let bodies = &scratch.bodies;
        let turning = 2.0 * kinetic / (bodies.total_mass * bodies.link_length);
        let explained = KICK_SHARE * self.energy_of_a_fall(scratch, self.h, turning);
        kick > KICK_PART * kinetic + explained || kick.is_nan()
    }

    fn add(&mut self, report: &StepReport, scratch: &Scratch) {
        self.totals.corrections += report.corrections;
        self.totals.velocity_corrections += report.velocity_corrections;
        self.totals.work += report.work;
        self.totals.dissipation += report.dissipation;
        self.totals.impact_loss += report.impact_loss;
        for (sum, impulse) in self.joint_impulses.iter_mut().zip(&scratch.joint_impulses) {
            sum.force += impulse.force;
            sum.torque += impulse.torque;
        }
        self.contacts.add(&scratch.rows.contacts);
        for (worst, gap) in self.worst_gaps.iter_mut().zip(&scratch.rows.gap) {
            *worst = worst.max(*gap);
        }
        let errors = self.worst_velocity_errors.iter_mut().zip(&scratch.rows.velocity_error);
        for (worst, error) in errors {
            *worst = worst.max(*error);
        }
    }

    /// Tells of a halving, unless it has been told lately.
    fn tell(&mut self, error: &StepError, time: f64, level: u32, part: f64) {
        if level <= self.told.level {
            return;
        }
        self.told.level = level;
        let element = match *error {
            StepError::Positions { block, .. }
            | StepError::Velocities { block, .. }
            | StepError::Jump { block, .. } => Some(self.model.rows[block].name.clone()),
            StepError::Contact { bodies, .. } => Some(self.model.bodies[bodies[0]].name.clone()),
            StepError::BadForce { force, .. } => Some(self.model.forces[force].name.clone()),
            StepError::Forces { body, .. }
            | StepError::NotFinite { body, .. }
            | StepError::Spin { body, .. } => Some(self.model.bodies[body].name.clone()),
            StepError::NoMotion { ref why, .. } => Some(why.element.clone()),
            StepError::Energy { .. }
            | StepError::Kick { .. }
            | StepError::Dampers { .. }
            | StepError::Turned { .. }
            | StepError::Work { .. }
            | StepError::Stopped { .. }
            | StepError::Friction { .. } => None,
        };
        let what = match *error {
            StepError::Positions { gap, .. } => format!("its gap stays at {gap:.1e}"),
            StepError::Velocities { error, .. } => {
                format!("its velocity error stays at {error:.1e}")
            }
            StepError::Contact { bodies, error, .. } => {
                let other = &self.model.bodies[bodies[1]].name;
                format!("its contact with `{other}` stays off by {error:.1e}")
            }
            StepError::Forces { .. } => "forces that read velocities do not settle".to_owned(),
            StepError::BadForce { .. } | StepError::NotFinite { .. } => {
                "it is not a finite number".to_owned()
            }
            StepError::Friction { .. } => "dry friction changes".to_owned(),
            StepError::NoMotion { .. } => "no smooth motion goes on".to_owned(),
            StepError::Spin { turn, .. } => format!("it turns by {turn:.1e} rad"),
            StepError::Work { .. } | StepError::Stopped { .. } => "it is given up".to_owned(),
            StepError::Jump { .. } => "its motion jumps".to_owned(),
            StepError::Energy { defect, .. } => format!("{defect:.1e} J come from nowhere"),
            StepError::Turned { through, .. } => {
                format!("contacts turn the motion, with {through:.1e} J")
            }
            StepError::Kick { kick, .. } => format!("joints kick with {kick:.1e} J"),
            StepError::Dampers { thrown, .. } => {
                format!("dampers too strong for it throw {thrown:.1e} J back")
            }
        };
        let where_ = element.as_ref().map_or(String::new(), |name| format!(" at `{name}`"));
        self.events.push(Event {
            time,
            kind: "step-halved".to_owned(),
            between: element.into_iter().collect(),
            detail: format!("step halved to {part:.3e} s{where_}: {what}"),
            point: None,
            impulse: None,
        });
    }

    /// Tells of contacts that opened while they pushed, since their friction found no end, unless it has been told lately.
    pub(crate) fn tell_loose(&mut self, scratch: &mut Scratch, time: f64) {
        let loose = std::mem::take(&mut scratch.rows.loose);
        if loose <= 2.0 * self.told.loose || loose <= self.method.velocity_tolerance {
            return;
        }
        self.told.loose = loose;
        self.told.quiet_steps = 0;
        self.events.push(Event {
            time,
            kind: "contact-loose".to_owned(),
            between: Vec::new(),
            detail: format!(
                "friction and normal forces of contacts that lean on each other do not settle; they open with up to {loose:.1e} m/s while \
                 they push"
            ),
            point: None,
            impulse: None,
        });
    }

    /// The ledger at the end.
    pub(crate) fn ledger(&self, before: &Ledger) -> Ledger {
        Ledger {
            kinetic: self.kinetic,
            potential: self.potential,
            work: self.totals.work,
            dissipation: self.totals.dissipation,
            impact_loss: self.totals.impact_loss,
            ..*before
        }
    }
}
