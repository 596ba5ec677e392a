//! End stops and ropes: steps are cut where a coordinate arrives at one or a rope becomes taut, and impacts are made there.

mod give_back;
mod turning;

use gelenk_collide::{Touch, TouchKey};
use gelenk_model::impact::Bounce;
use gelenk_model::rows::RowKind;
use gelenk_model::{Event, Model, State, Twist, Wrench};
use turning::Turned;

use crate::bounds::{Mode, SLOWEST_BOUNCE, rest_speed};
use crate::compose::Order;
use crate::error::StepError;
use crate::graph::ENOUGH;
use crate::method::{Landing, Method};
use crate::parts::Parts;
use crate::rows::{At, Rows};
use crate::scratch::{Bodies, Scratch};
use crate::step::{StepReport, add_joint_impulses, prepare, prepare_read, set_slack};
use crate::touching::{ContactLog, Seen, place};

/// Tolerances by which the gap of a touch may jump where two places at which bodies are close become one.
const MOST_JUMP: f64 = 1000.0;

/// Halvings of a step after which such a jump is taken as it is.
const JUMP_HALVINGS: u32 = 6;

/// Most steps tried to find the moment of arrival.
const MAX_TRIES: u32 = 60;

/// How often a step is made shorter, where something came out of sight into something else.
const MOST_SPANS: u32 = 12;

/// Most impacts made one after the other at one instant.
const MAX_IMPACTS: u32 = 40;

/// After so many impacts at one instant the stops give nothing back any more.
const ELASTIC_IMPACTS: u32 = 20;

/// A stop that was hit within this part of the asked step before gives nothing back.
const SHORTEST_BOUNCE: f64 = 1e-3;

/// Nor does one that is hit again with a speed that times the flight since is below so many tolerances. (A bounce of the
/// height y has 4 y.)
const FLATTEST_BOUNCE: f64 = 40.0;

/// What is left of a part and below this part of the asked step passes without motion: shorter steps would turn rounding of
/// positions into speeds.
const SHORTEST_REST: f64 = 1e-9;

/// After so many events in a part of a step nothing bounces back any more; after twice as many the rest of it is made in one
/// go, with all contacts on the way taken as lasting ones.
const MAX_EVENTS: u32 = 200;

/// Bodies that rock from one contact to another hit ever faster and ever softer. A touch without restitution that is hit so often in
/// a part of a step, or one with restitution so often, ends that: the rest of the part is made in one go, too. The first two where all that may
/// touch is a plane, which has no end.
const MOST_HITS: [[u32; 2]; 2] = [[3, 20], [6, 40]];

/// Impacts that are slower than what gravity gives in the asked step are soft. After so many in a part, the rest of it is made in one go, too.
const MOST_SOFT: u32 = 4;

/// An end stop, a rope, or two bodies that may touch, while a step goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// Its row block. Bodies that do not touch yet have none.
    block: Option<usize>,
    /// The features that may touch; none for an end stop or a rope.
    touch: Option<Touch>,
    /// How far it may be passed, rad or m.
    tolerance: f64,
    /// Whether there was room when the step began.
    open: bool,
    /// C and Ċ when the step began.
    start: (f64, f64),
    /// C and Ċ at a time when there is room, at a later one, and at the end of the last try.
    lo: (f64, f64),
    hi: (f64, f64),
    now: (f64, f64),
    /// Lengths of the last two steps tried from there, and C after them.
    tried: [(f64, f64); 2],
    /// When it was hit last in this asked step, s.
    hit: f64,
    /// C̈ on the way of the last try, with nothing in the way.
    pull: f64,
}

/// Memory of the stops, and the state to go back to.
#[derive(Clone, Debug)]
pub(crate) struct Stops {
    /// End stops and ropes first, then what may touch.
    watches: Vec<Watch>,
    n_ends: usize,
    /// The state before a part, and what the joints had given until then.
    start: State,
    impulses: Vec<Wrench>,
    /// Velocities and impulses after the compression of an impact.
    compressed: Vec<Twist>,
    compressing: Vec<f64>,
    /// What bounces then: its block, its part in the compression, and the impulse that it gives back, N s.
    bounces: Vec<(usize, Bounce, f64)>,
    /// Blocks of dry friction and how fast their coordinates move before a step.
    slips: Vec<(usize, f64)>,
    /// How often something that slides turned round in the running asked step; counted in `turning`, set to 0 where the step begins.
    pub(crate) turns: u32,
    /// What contacts had given before a part.
    contacts: ContactLog,
    /// How often touches were hit in a part and when last, s, and whether one was hit too often: on planes, anywhere.
    hits: Vec<(TouchKey, u32, f64)>,
    rocks: [bool; 2],
    /// Soft impacts in a part.
    soft: u32,
    /// Blocks that take part in an impact, ascending.
    touched: Vec<usize>,
    /// Whether all watches have been seen at the present state.
    seen: bool,
}

impl Watch {
    fn new(block: Option<usize>, touch: Option<Touch>) -> Self {
        Watch {
            block,
            touch,
            tolerance: 0.0,
            open: false,
            start: (0.0, 0.0),
            tried: [(0.0, 0.0); 2],
            lo: (0.0, 0.0),
            hi: (0.0, 0.0),
            now: (0.0, 0.0),
            hit: f64::NEG_INFINITY,
            pull: 0.0,
        }
    }

    /// Whether a place is behind the stop. Arrivals are found to half the tolerance; one that is just being left may be
    /// within it, and blurred by the gaps of the joints.
    fn passed(&self, place: (f64, f64)) -> bool {
        if self.start.0 > -0.5 * self.tolerance {
            let approaches = place.1 > 0.0;
            place.0 > if approaches { 0.75 * self.tolerance } else { self.tolerance }
        } else {
            place.0 > 0.5 * self.tolerance
        }
    }

    /// Where C rises through 0 between the lengths `early` and `late`, as a part of the way.
    ///
    /// C after a step of length τ is nearly a parabola of τ, for the force over a step is that of its start: it is taken as the cubic through the
    /// steps tried with C and Ċ of the start. (Ċ after a step is not its slope: that has the force of the end, too.)
    fn arrival(&self, early: f64, late: f64) -> f64 {
        let (c, rate) = self.start;
        let [(t1, c1), (t2, c2)] = self.tried;
        let bend = |t: f64, after: f64| (after - c - rate * t) / (t * t);
        let (b1, b2) = (bend(t1, c1), bend(t2, c2));
        let b = if t1.total_cmp(&t2).is_eq() { 0.0 } else { (b2 - b1) / (t2 - t1) };
        let a = b1 - b * t1;
        let at = |t: f64| (c + t * (rate + t * (a + t * b)), rate + t * (2.0 * a + 3.0 * b * t));
        let (lo, hi) = (at(early), at(late));
        let fits = lo.0 < 0.0 && hi.0 >= 0.0;
        let (lo, hi) = if fits { (lo, hi) } else { (self.lo, self.hi) };
        rise(lo, hi, late - early)
    }

    /// Whether the bounce that ends at time `t`, begun at `hit`, is too short or too flat to go on: below the tolerance there is nothing to
    /// see of it. Bounces that become ever shorter have an end.
    fn bounced_lately(&self, hit: f64, t: f64, h: f64) -> bool {
        let flight = t - hit;
        flight < SHORTEST_BOUNCE * h || self.now.1 * flight < FLATTEST_BOUNCE * self.tolerance
    }

    /// Whether a bounce that begins with the part `restitution` of the speed of now would come back too flat to be seen: a flight of
    /// 2 v/C̈. With steps shorter than a bounce nobody remembers when the last one began.
    fn stays(&self, restitution: f64) -> bool {
        let v = restitution * self.now.1;
        2.0 * v * v < FLATTEST_BOUNCE * self.tolerance * self.pull
    }
}

impl Stops {
    pub(crate) fn new(model: &Model, blocks: &[usize]) -> Self {
        let watch = |&block: &usize| Watch::new(Some(block), None);
        Stops {
            watches: blocks.iter().map(watch).collect(),
            n_ends: blocks.len(),
            start: model.start.clone(),
            impulses: vec![Wrench::zero(); model.joints.len()],
            compressed: vec![Twist::zero(); model.n_bodies()],
            compressing: vec![0.0; model.n_rows()],
            bounces: Vec::new(),
            slips: Vec::new(),
            turns: 0,
            contacts: ContactLog::default(),
            hits: Vec::new(),
            rocks: [false; 2],
            soft: 0,
            touched: Vec::new(),
            seen: false,
        }
    }

    /// Forgets what was hit before `t`.
    pub(crate) fn forget_hits(&mut self, t: f64) {
        for watch in &mut self.watches {
            if watch.hit > t {
                watch.hit = f64::NEG_INFINITY;
            }
        }
    }
}

impl Parts<'_> {
    /// One part with its impacts; on an error the state is as before.
    pub(crate) fn pass(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        part: f64,
        t_end: f64,
        level: u32,
    ) -> Result<(), StepError> {
        let friction = self.method.order == Order::Two && scratch.rows.any_friction();
        let plain = scratch.rows.stops.is_empty() && scratch.touching.is_none() && !friction;
        if plain || part <= 0.0 {
            let report = self.make(state, scratch, part, t_end, level)?;
            return self.accept(&report, state, scratch, part, level);
        }
        let before = (self.totals, self.kinetic, self.potential, self.events.len());
        scratch.rows.whole_step = self.h;
        scratch.stops.start.clone_from(state);
        scratch.stops.impulses.copy_from_slice(self.joint_impulses);
        scratch.stops.contacts.clone_from(self.contacts);
        let result = self.pass_stops(state, scratch, part, t_end, level);
        if result.is_err() {
            state.clone_from(&scratch.stops.start);
            self.joint_impulses.copy_from_slice(&scratch.stops.impulses);
            self.contacts.clone_from(&scratch.stops.contacts);
            (self.totals, self.kinetic, self.potential) = (before.0, before.1, before.2);
            self.events.truncate(before.3);
            scratch.stops.forget_hits(state.t);
        }
        result
    }

    fn pass_stops(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        part: f64,
        t_end: f64,
        level: u32,
    ) -> Result<(), StepError> {
        let mut left = part;
        let mut events = 0;
        // What would not bounce need not fly either: a foot that an impact elsewhere lifts so slowly lasts.
        let slow = SLOWEST_BOUNCE * self.model.gravity.norm() * self.h.abs();
        scratch.rows.slow_leaving = slow;
        scratch.stops.hits.clear();
        scratch.stops.rocks = [false; 2];
        scratch.stops.soft = 0;
        scratch.forget_unseen();
        let landing = self.method.landing;
        let all = match landing {
            Landing::Exact => false,
            // What does not bounce lands in the step that it is listed for.
            Landing::Auto => true,
            // What lasts for the whole step can be listed at once.
            Landing::Coarse => scratch.rows.stops.is_empty(),
        } && scratch.touching.is_some();
        loop {
            self.watch_contacts(state, scratch, left, all);
            let elastic = events < MAX_EVENTS || scratch.touching.is_none();
            if self.impacts(state, scratch, elastic)? {
                self.watch_contacts(state, scratch, left, all);
                prepare(self.model, state, scratch);
                scratch.set_modes(self.model, state, self.method);
            }
            let plain = scratch.touching.as_ref().is_some_and(|t| t.is_plain());
            let rocks = scratch.stops.rocks[usize::from(!plain)];
            let at_once = match landing {
                Landing::Coarse => true,
                Landing::Exact => events > 2 * MAX_EVENTS || rocks,
                Landing::Auto => events > 2 * MAX_EVENTS,
            };
            if at_once && scratch.touching.is_some() && scratch.rows.stops.is_empty() {
                if self.pass_at_once(state, scratch, left, t_end, level)? {
                    return Ok(());
                }
            } else if self.go_to_stop(state, scratch, left, t_end, level)? {
                return Ok(());
            }
            events += 1;
            left = t_end - state.t;
            if left <= SHORTEST_REST * self.h {
                state.t = t_end;
                return Ok(());
            }
        }
    }

    /// A step over all that is `left`, with everything on the way taken as a lasting contact; what has come to touch bounces at its
    /// end. False where it had to be shorter.
    fn pass_at_once(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        left: f64,
        t_end: f64,
        level: u32,
    ) -> Result<bool, StepError> {
        let (mut span, mut tries) = (left, 0);
        let report = loop {
            let seen = std::mem::take(&mut scratch.stops.seen) && scratch.rows.at_once;
            if !seen {
                self.watch_contacts(state, scratch, span, true);
                self.see(state, scratch);
            }
            scratch.note_poses();
            for watch in &mut scratch.stops.watches {
                watch.lo = watch.now;
            }
            let whole = span.total_cmp(&left).is_eq();
            let t_span = if whole { t_end } else { state.t + span };
            let report = self.make(state, scratch, span, t_span, level)?;
            let seen = scratch.list_unseen(self.method, false);
            tries += 1;
            if seen == Seen::All || tries > MOST_SPANS {
                break report;
            }
            if seen == Seen::Beside {
                span *= 0.5;
            }
            state.clone_from(&scratch.saved);
        };
        let whole = span.total_cmp(&left).is_eq();
        self.accept(&report, state, scratch, span, level)?;
        let elastic = |contact: &crate::contact::Contact| contact.values.restitution > 0.0;
        if !scratch.rows.contacts.iter().any(elastic) {
            return Ok(whole);
        }
        let energy_compressed = self.model.kinetic_energy(state);
        let Scratch { rows, bodies, stops, .. } = scratch;
        stops.compressed.copy_from_slice(&bodies.twists);
        stops.compressing.clear();
        stops.compressing.resize(rows.velocity_impulse.len(), 0.0);
        for i in 0..rows.velocity_impulse.len() {
            rows.solution[i] = rows.impulse[i] + rows.velocity_impulse[i];
        }
        rows.velocity_impulse.fill(0.0);
        stops.bounces.clear();
        for watch in &mut stops.watches {
            let (Some(block), Some(_)) = (watch.block, &watch.touch) else { continue };
            watch.now = watch.lo;
            let restitution = self.restitution(watch, &stops.hits, rows, state.t);
            let compression = -rows.solution[rows.blocks[block].first_row];
            if restitution * compression != 0.0 && watch.lo.0 < -watch.tolerance {
                let bounce = Bounce { restitution, compression, approach: watch.lo.1 };
                stops.bounces.push((block, bounce, 0.0));
            }
        }
        if stops.bounces.is_empty() {
            return Ok(whole);
        }
        let most = energy_compressed + report.impact_loss.max(0.0);
        self.give_back(state, scratch, most, energy_compressed)?;
        self.close_impact(state, scratch, energy_compressed);
        Ok(whole)
    }

    /// A step over what is `left` of a part, or up to the first stop on the way; true if it went all the way.
    fn go_to_stop(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        left: f64,
        t_end: f64,
        level: u32,
    ) -> Result<bool, StepError> {
        let mut span = left;
        for _ in 0..MOST_SPANS {
            let whole = span.total_cmp(&left).is_eq();
            let t_span = if whole { t_end } else { state.t + span };
            let (part, report) = self.look_for_stop(state, scratch, span, t_span, level)?;
            match scratch.list_unseen(self.method, part.is_none()) {
                Seen::All => {
                    let all = part.is_none();
                    self.accept(&report, state, scratch, part.unwrap_or(span), level)?;
                    self.tell_landings(state, scratch);
                    return Ok(all && whole);
                }
                Seen::More => {
                    // Once more from where it began, with what had not been listed.
                    state.clone_from(&scratch.saved);
                    return Ok(false);
                }
                Seen::Beside => span = 0.5 * part.unwrap_or(span),
            }
            state.clone_from(&scratch.saved);
            prepare(self.model, state, scratch);
        }
        // What is still not seen is found when the next part begins.
        let t_span = state.t + span;
        let (part, report) = self.look_for_stop(state, scratch, span, t_span, level)?;
        self.accept(&report, state, scratch, part.unwrap_or(span), level)?;
        Ok(false)
    }

    /// Tells of what was reached within the step that was made, and stays.
    fn tell_landings(&mut self, state: &State, scratch: &Scratch) {
        if self.method.landing != Landing::Auto {
            return;
        }
        let Scratch { rows, bodies, stops, .. } = scratch;
        let slow = hit_speed(bodies, self.method);
        for watch in &stops.watches {
            let Some(block) = watch.block.filter(|&block| rows.mode[block] == Mode::OneSided)
            else {
                continue;
            };
            let row = rows.blocks[block].first_row;
            let p = rows.impulse[row] + rows.velocity_impulse[row];
            let (c, speed) = watch.start;
            if p == 0.0 || c >= -watch.tolerance || speed <= slow {
                continue;
            }
            let speeds = (speed, rows.rate(block, bodies));
            let told = impact_event(self.model, rows, watch, speeds, p, state.t, slow);
            self.events.extend(told);
        }
    }

    /// A step of the length `left`, or to the first stop on the way, with its report; the length, if it did not go all the way.
    fn look_for_stop(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        left: f64,
        t_end: f64,
        level: u32,
    ) -> Result<(Option<f64>, StepReport), StepError> {
        // Places before the step, where the rows are ready.
        let seen = std::mem::take(&mut scratch.stops.seen);
        if !seen {
            self.see(state, scratch);
        }
        scratch.note_poses();
        self.note_slips(scratch);
        for watch in &mut scratch.stops.watches {
            watch.lo = watch.now;
            watch.start = watch.lo;
        }
        let mut report = self.make(state, scratch, left, t_end, level)?;
        let mut passed = self.look(state, scratch, true);
        for watch in &mut scratch.stops.watches {
            watch.pull = (watch.now.1 - watch.lo.1) / left;
        }
        let mut late = left;
        if !passed && let Some(top) = turning_point(scratch, left) {
            // It may have been there and back.
            late = top * left;
            state.clone_from(&scratch.saved);
            let t_late = state.t + late;
            self.make(state, scratch, late, t_late, level)?;
            passed = self.look(state, scratch, true);
            if !passed {
                state.clone_from(&scratch.saved);
                report = self.make(state, scratch, left, t_end, level)?;
                self.look(state, scratch, true);
                late = left;
            }
        }
        if !passed && let Some(part) = scratch.crossing(self.method) {
            // Something fast has gone through something thin: up to it, for a closer look.
            let part = part * left;
            state.clone_from(&scratch.saved);
            let t_part = state.t + part;
            let report = self.make(state, scratch, part, t_part, level)?;
            self.look(state, scratch, true);
            return Ok((Some(part), report));
        }
        if !passed && !self.watch_unseen(scratch, left) {
            match self.turns_back(state, scratch, left, level)? {
                Turned::No => {}
                Turned::At(part, report) => {
                    self.look(state, scratch, true);
                    return Ok((Some(part), report));
                }
                Turned::Lost => {
                    report = self.make(state, scratch, left, t_end, level)?;
                    self.look(state, scratch, true);
                }
            }
            return Ok((None, report));
        }
        state.clone_from(&scratch.saved);
        let (report, part) = self.find_arrival(state, scratch, late, level)?;
        Ok((Some(part), report))
    }

    /// Finds what may touch within `h`; see [`Scratch::find_contacts`].
    fn watch_contacts(&self, state: &State, scratch: &mut Scratch, h: f64, all: bool) {
        scratch.stops.seen = false;
        scratch.find_contacts(self.model, self.method, state, h, all);
        let Scratch { stops, rows, touching: Some(touching), .. } = scratch else { return };
        stops.watches.truncate(stops.n_ends);
        let mut contacts = rows.contacts.iter().peekable();
        for touch in &touching.near {
            let own = contacts.next_if(|contact| contact.touch.key == touch.key);
            let block = own.map(|contact| contact.first_block);
            stops.watches.push(Watch::new(block, Some(*touch)));
        }
    }

    /// Where stops and touches are (`now` of their watches), at a state.
    fn see(&self, state: &State, scratch: &mut Scratch) {
        if scratch.bodies.read_state(state) {
            scratch.forget_poses();
        }
        self.see_read(state, scratch, false);
    }

    /// The same at a state that the bodies have read; `found` says that the search for contacts has been at these places.
    fn see_read(&self, state: &State, scratch: &mut Scratch, found: bool) {
        let Scratch { rows, bodies, stops, .. } = scratch;
        let known = found && stops.n_ends == 0;
        let floor = if known { 0.0 } else { bodies.position_floor() };
        let tolerance = if known {
            rows.overlap_allowed
        } else {
            self.method.contact_tolerance.max(2.0 * floor)
        };
        for watch in &mut stops.watches {
            if let Some(touch) = &watch.touch {
                watch.tolerance = tolerance;
                watch.now = place(touch, &bodies.poses, &bodies.twists);
            } else if let Some(block) = watch.block {
                watch.tolerance = rows.bound_tolerance(block, floor, self.method);
                watch.now = rows.stop_place(block, self.model, bodies, state);
            }
        }
    }

    /// The same after a step; true if something has been passed that was open, which is found out where `first`.
    fn look(&self, state: &State, scratch: &mut Scratch, first: bool) -> bool {
        if scratch.balls.is_some() {
            self.see(state, scratch);
        } else {
            self.see_read(state, scratch, false); // the step has read it
        }
        let Scratch { rows, bodies, stops, touching, .. } = scratch;
        let mut passed = false;
        for watch in &mut stops.watches {
            if first {
                watch.open = watch.block.is_none_or(|block| rows.mode[block] == Mode::Open);
                if let (true, Some(touch), Some(touching)) = (watch.open, &watch.touch, &touching)
                    && watch.passed(watch.now)
                {
                    // Beside the edges of a face its plane is nothing.
                    let [a, b] = touch.bodies.map(|body| &bodies.poses[body]);
                    let over = watch.now.0.max(watch.tolerance);
                    watch.open = touching.world.holds(touch, a, b, over);
                }
            }
            if watch.open {
                if let Some(block) = watch.block {
                    rows.gap[block] = watch.now.0.max(0.0);
                }
                passed |= watch.passed(watch.now);
            }
        }
        passed
    }

    /// After a step of length `h` in which nothing watched was passed: watches what has gone into something else all the same, if it
    /// was clearly open when the step began; true if there is something.
    fn watch_unseen(&self, scratch: &mut Scratch, h: f64) -> bool {
        scratch.find_unseen(self.method);
        let Scratch { stops, bodies, rows, touching: Some(touching), .. } = scratch else {
            return false;
        };
        let tolerance = self.method.contact_tolerance.max(2.0 * bodies.position_floor());
        let mut found = false;
        for touch in &touching.unseen {
            let [a, b] = touch.bodies;
            let (from_a, from_b) = (&touching.from[a], &touching.from[b]);
            let before = -touch.gap(from_a, from_b);
            // What does not bounce needs no moment: it is listed, and the step made again.
            let lands = self.method.landing == Landing::Auto
                && touching.world.pairs()[touch.pair].values.restitution == 0.0;
            if lands || before >= -tolerance || !touching.world.has_place(touch, from_a, from_b) {
                continue;
            }
            let known = stops
                .watches
                .iter()
                .position(|watch| watch.touch.as_ref().is_some_and(|own| own.key == touch.key));
            let at = known.unwrap_or_else(|| {
                stops.watches.push(Watch::new(None, Some(*touch)));
                stops.watches.len() - 1
            });
            let watch = &mut stops.watches[at];
            if watch.block.is_some_and(|block| rows.mode[block] != Mode::Open) {
                continue;
            }
            let after = -touch.gap(&bodies.poses[a], &bodies.poses[b]);
            let rate = (after - before) / h;
            (watch.tolerance, watch.open) = (tolerance, true);
            (watch.start, watch.lo, watch.now) = ((before, rate), (before, rate), (after, rate));
            found |= watch.passed(watch.now);
        }
        found
    }

    /// Steps to the moment when the first stop is touched, between 0 and `late`, where one has been passed.
    ///
    /// An interval shrinks around the length of the step there ([`Watch::arrival`]). Returns the report of that step and its length. Where two places at which
    /// bodies are close run into one, the gap of a touch may jump; where shorter steps do not help, a small jump counts as an overlap that was found late.
    fn find_arrival(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        late: f64,
        level: u32,
    ) -> Result<(StepReport, f64), StepError> {
        let (mut early, mut late) = (0.0, late);
        let t = state.t;
        for watch in &mut scratch.stops.watches {
            watch.hi = watch.now;
            watch.tried = [(late, watch.now.0); 2];
        }
        for round in 0..MAX_TRIES {
            let width = late - early;
            let passed = scratch.stops.watches.iter().filter(|w| w.open && w.passed(w.hi));
            let mut guess = passed.map(|w| w.arrival(early, late)).fold(1.0, f64::min);
            if round % 6 == 5 || !(guess > 0.0 && guess < 1.0) {
                guess = 0.5;
            }
            let tau = early + guess * width;
            let report = self.make(state, scratch, tau, t + tau, level)?;
            let watches = |scratch: &mut Scratch, keep: fn(&mut Watch)| {
                scratch.stops.watches.iter_mut().for_each(keep);
            };
            let passed = self.look(state, scratch, false);
            for watch in &mut scratch.stops.watches {
                watch.tried = [(tau, watch.now.0), watch.tried[0]];
            }
            if passed {
                late = tau;
                watches(scratch, |watch| watch.hi = watch.now);
            } else {
                let arrives = |w: &Watch| w.open && w.passed(w.hi) && w.now.0 >= -0.5 * w.tolerance;
                if scratch.stops.watches.iter().any(arrives) {
                    return Ok((report, tau));
                }
                early = tau;
                watches(scratch, |watch| watch.lo = watch.now);
            }
            state.clone_from(&scratch.saved);
        }
        let jumps = scratch.stops.watches.iter().filter(|w| w.open && w.passed(w.hi));
        let jump = jumps.fold(0.0, |most, w| f64::max(most, w.hi.0 / w.tolerance));
        if level >= JUMP_HALVINGS && jump <= MOST_JUMP {
            let report = self.make(state, scratch, late, t + late, level)?;
            self.look(state, scratch, false);
            return Ok((report, late));
        }
        let passed = scratch.stops.watches.iter().find(|w| w.open && w.passed(w.hi));
        let sweeps = u64::from(MAX_TRIES);
        Err(match passed.map(|w| (w.block, w.touch, w.hi.0)) {
            Some((_, Some(touch), error)) => {
                StepError::Contact { bodies: touch.bodies, error, sweeps, t }
            }
            Some((Some(block), None, gap)) => StepError::Positions { block, gap, sweeps, t },
            _ => StepError::Positions { block: 0, gap: 0.0, sweeps, t },
        })
    }

    /// The impacts at this instant: stops that are touched and run into.
    ///
    /// For all at once, by the law of impact ([`gelenk_model::impact`]; here Poisson's). Compression: the smallest change of velocities after which nothing runs into a
    /// touched stop any more (p ≤ 0, J v ≤ 0, p J v = 0); it loses energy or keeps it. Restitution: each stop gives its part
    /// ε of its compression impulse back, and the joints take what they must. With one ε for all, the energy after is that
    /// before less (1 − ε²) times that of the compression; where stops of different ε meet and would make energy, all give
    /// less, so that none is made. What then runs into another touched stop is the next impact.
    fn impacts(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        elastic: bool,
    ) -> Result<bool, StepError> {
        let solver = self.method.solver.solver();
        for round in 0..MAX_IMPACTS {
            if round == 0 && scratch.touching.is_some() {
                prepare_read(self.model, state, scratch); // by the search for what touches
            } else {
                prepare(self.model, state, scratch);
            }
            scratch.set_modes(self.model, state, self.method);
            if !self.runs_into_stop(state, scratch) {
                return Ok(round > 0);
            }
            set_slack(self.model, self.method, state, scratch);
            let elastic = elastic && round < ELASTIC_IMPACTS;
            let energy_before = self.model.kinetic_energy(state);

            let slow = hit_speed(&scratch.bodies, self.method);
            let Scratch { rows, stops, .. } = scratch;
            for watch in &mut stops.watches {
                let Some(block) = watch.block else { continue };
                let there = rows.mode[block] != Mode::Off && watch.now.0 >= -watch.tolerance;
                // Bodies that touch and could bounce wait for their turn: Newton's cradle.
                let waits = watch.touch.is_some()
                    && watch.now.1 <= slow
                    && elastic
                    && rows.contact(block).values.restitution > 0.0;
                watch.open = !there || waits;
            }
            let Stops { watches, touched, .. } = &mut *stops;
            touched.clear();
            touched.extend(watches.iter().filter(|w| !w.open).filter_map(|w| w.block));
            touched.sort_unstable();
            rows.set_instant_bounds(|i| touched.binary_search(&i).is_ok());
            rows.velocity_impulse.fill(0.0);
            solver
                .correct_velocities(self.model, self.method, &At::of(state), scratch)
                .map_err(|error| scratch.rows.name_contact(error))?;
            scratch.bodies.write_velocities(state);
            let energy_compressed = self.model.kinetic_energy(state);

            let Scratch { rows, bodies, stops, .. } = scratch;
            stops.compressed.copy_from_slice(&bodies.twists);
            stops.compressing.clone_from(&rows.velocity_impulse);
            stops.bounces.clear();
            for watch in stops.watches.iter().filter(|_| elastic) {
                let Some(block) = watch.block else { continue };
                let restitution = self.restitution(watch, &stops.hits, rows, state.t);
                let compression = -rows.velocity_impulse[rows.blocks[block].first_row];
                if restitution * compression != 0.0 {
                    let bounce = Bounce { restitution, compression, approach: watch.now.1 };
                    stops.bounces.push((block, bounce, 0.0));
                }
            }
            if !stops.bounces.is_empty() {
                self.give_back(state, scratch, energy_before, energy_compressed)?;
            }
            debug_assert!(
                self.model.kinetic_energy(state)
                    <= energy_before * (1.0 + 1e-9) + 1e-9 * self.energy_scale,
                "an impact makes energy"
            );
            self.close_impact(state, scratch, energy_before);
        }
        // Rows that contradict each other: what is still run into is left to the step, and told.
        let open = scratch.stops.watches.iter().filter(|w| w.block.is_some() && !w.open);
        let fastest = open.map(|watch| watch.now.1).fold(0.0, f64::max);
        scratch.rows.loose = scratch.rows.loose.max(fastest);
        self.tell_loose(scratch, state.t);
        Ok(true)
    }

    /// The part ε of its impulse that something gives back.
    fn restitution(
        &self,
        watch: &Watch,
        hits: &[(TouchKey, u32, f64)],
        rows: &Rows,
        t: f64,
    ) -> f64 {
        let Some(block) = watch.block else { return 0.0 };
        if let Some(touch) = &watch.touch {
            let restitution = rows.contact(block).values.restitution;
            let last = hits.iter().find(|(key, ..)| *key == touch.key);
            if last.is_some_and(|(_, _, hit)| t > *hit && watch.bounced_lately(*hit, t, self.h)) {
                return 0.0;
            }
            // In the coarse mode a bounce within one step cannot be seen.
            let slowest = if self.method.landing == Landing::Coarse { 1.0 } else { SLOWEST_BOUNCE };
            let slow = slowest * self.model.gravity.norm() * self.h.abs();
            return if restitution * watch.now.1 > slow { restitution } else { 0.0 };
        }
        match &self.model.rows[block].kind {
            RowKind::Stop(stop) => {
                let ends =
                    watch.bounced_lately(watch.hit, t, self.h) || watch.stays(stop.restitution);
                if ends { 0.0 } else { stop.restitution }
            }
            _ => 0.0,
        }
    }

    /// Whether a touched stop or body is run into; notes where all are.
    fn runs_into_stop(&self, state: &State, scratch: &mut Scratch) -> bool {
        let found = scratch.touching.is_some();
        self.see_read(state, scratch, found);
        let Scratch { rows, bodies, stops, .. } = scratch;
        // Mostly nothing moves so fast that the velocities of all bodies have to be looked at.
        let fast = 10.0 * self.method.velocity_tolerance;
        // What does not bounce lands in the step.
        let lands = |block: usize| {
            self.method.landing == Landing::Auto && rows.restitution(self.model, block) == 0.0
        };
        let runs = stops.watches.iter().any(|watch| {
            watch.block.is_some_and(|block| rows.mode[block] != Mode::Off && !lands(block))
                && watch.now.0 >= -watch.tolerance
                && watch.now.1 > fast
                && watch.now.1 > hit_speed(bodies, self.method)
        });
        stops.seen = !runs;
        runs
    }

    /// Books an impact and tells of it.
    fn close_impact(&mut self, state: &State, scratch: &mut Scratch, energy_before: f64) {
        let energy = self.model.kinetic_energy(state);
        self.totals.impact_loss += energy_before - energy;
        self.kinetic = energy;
        let Scratch { rows, bodies, stops, .. } = scratch;
        let impulse = &rows.velocity_impulse;
        add_joint_impulses(self.model, bodies, rows, impulse, self.joint_impulses);
        let loose = rows.loose;
        rows.begin_contacts(&bodies.poses);
        rows.add_contact_impulses(true);
        self.contacts.add(&rows.contacts);
        let impulse = &rows.velocity_impulse;
        let slow = hit_speed(bodies, self.method);
        let Stops { watches, hits, rocks, soft, .. } = stops;
        let mut fastest = 0.0;
        for watch in watches {
            let Some(block) = watch.block else { continue };
            let p = impulse[rows.blocks[block].first_row];
            if p == 0.0 {
                continue;
            }
            watch.hit = state.t;
            fastest = f64::max(fastest, watch.now.1);
            if let (Some(touch), true) = (&watch.touch, watch.now.1 > slow) {
                let at = hits.iter().position(|(key, ..)| *key == touch.key).unwrap_or(hits.len());
                if at == hits.len() {
                    hits.push((touch.key, 0, state.t));
                }
                hits[at].1 += 1;
                hits[at].2 = state.t;
                let elastic = rows.contact(block).values.restitution > 0.0;
                for (rocks, most) in rocks.iter_mut().zip(MOST_HITS) {
                    *rocks |= hits[at].1 >= most[usize::from(elastic)];
                }
            }
            let after = rows.rate(block, bodies);
            if let Some(event) =
                impact_event(self.model, rows, watch, (watch.now.1, after), p, state.t, slow)
            {
                self.events.push(event);
            }
        }
        *soft += u32::from(fastest < self.model.gravity.norm() * self.h.abs());
        rocks[1] |= *soft >= MOST_SOFT;
        scratch.rows.loose = loose;
        self.tell_loose(scratch, state.t);
    }
}

/// What runs into something slower than this does not hit it: the law may leave as much where rows contradict each other.
fn hit_speed(bodies: &Bodies, method: &Method) -> f64 {
    rest_speed(bodies, method).max(3.0 * ENOUGH)
}

/// What is told of an impact at the block of a watch, with the speeds before and after it and the impulse of its row.
fn impact_event(
    model: &Model,
    rows: &Rows,
    watch: &Watch,
    (before, after): (f64, f64),
    p: f64,
    time: f64,
    slow: f64,
) -> Option<Event> {
    let block = watch.block?;
    let kind = "impact".to_owned();
    if watch.touch.is_some() {
        let contact = rows.contact(block);
        let names = contact.touch.bodies.map(|i| model.bodies[i].name.clone());
        let at = contact.point();
        let detail = format!(
            "at ({:.6e}, {:.6e}, {:.6e}) m: approach {before:.6e} m/s, departure {:.6e} m/s, impulse {:.6e} N s",
            at.x, at.y, at.z, -after, -p
        );
        let (between, point, impulse) = (names.to_vec(), Some(at), Some(contact.given));
        return Some(Event { time, kind, between, detail, point, impulse });
    }
    let row = &model.rows[block];
    let joint = row.joint()?;
    if before <= slow {
        return None; // It was there before, and takes its part.
    }
    let (what, sign) = match &row.kind {
        RowKind::Stop(stop) => ("end stop", stop.side.sign()),
        _ => ("rope", 1.0),
    };
    let detail = format!(
        "{what} `{}`: velocity {:.6e} before, {:.6e} after, impulse {:.6e}",
        row.name,
        sign * before,
        sign * after,
        sign * p
    );
    let between = vec![model.joints[joint.index()].name.clone()];
    Some(Event { time, kind, between, detail, point: None, impulse: None })
}

impl Scratch {
    /// How much of what was gained since the compression of an impact keeps the energy at `before`: s with
    /// E_c + b s + c s² = E_before, c the kinetic energy of the gain.
    fn part_of_energy(&self, before: f64, compressed: f64, now: f64) -> f64 {
        let Scratch { bodies, stops, .. } = self;
        let mut c = 0.0;
        for (i, (now, then)) in bodies.twists.iter().zip(&stops.compressed).enumerate() {
            if !bodies.fixed[i] {
                let turn = bodies.poses[i].rot.tr_mul(&(now.omega - then.omega));
                let spin = bodies.inertia[i].component_mul(&turn).dot(&turn);
                c += 0.5 * (bodies.mass[i] * (now.s_dot - then.s_dot).norm_squared() + spin);
            }
        }
        let (b, room) = (now - compressed - c, (before - compressed).max(0.0));
        if c <= 0.0 {
            return 0.0;
        }
        // The smaller of what the root says and 1, from the stable form of the root.
        let root = (b * b + 4.0 * c * room).sqrt();
        let part = if b >= 0.0 { 2.0 * room / (b + root) } else { (root - b) / (2.0 * c) };
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Leaves `part` of what velocities and impulses gained since the compression of an impact.
    fn give_back_only(&mut self, part: f64) {
        let Scratch { rows, bodies, stops, .. } = self;
        for (now, then) in bodies.twists.iter_mut().zip(&stops.compressed) {
            now.s_dot = then.s_dot + part * (now.s_dot - then.s_dot);
            now.omega = then.omega + part * (now.omega - then.omega);
        }
        for (now, then) in rows.velocity_impulse.iter_mut().zip(&stops.compressing) {
            *now = then + part * (*now - then);
        }
    }
}

/// The cubic with values and rates (`lo`, `hi`) at both ends of an interval of length `width`, at `s` from 0 to 1.
fn cubic(lo: (f64, f64), hi: (f64, f64), width: f64, s: f64) -> f64 {
    let (a, b) = (width * lo.1, width * hi.1);
    let rise = hi.0 - lo.0;
    let (c2, c3) = (3.0 * rise - 2.0 * a - b, a + b - 2.0 * rise);
    lo.0 + s * (a + s * (c2 + s * c3))
}

/// Where the cubic rises through 0, from 0 to 1; it ends above 0.
fn rise(lo: (f64, f64), hi: (f64, f64), width: f64) -> f64 {
    const PIECES: u32 = 32;
    let value = |s: f64| cubic(lo, hi, width, s);
    // The first place with room; a stop that has just been left begins without.
    let at = |k: u32| f64::from(k) / f64::from(PIECES);
    let Some(first) = (0..PIECES).find(|&k| value(at(k)) < 0.0) else { return 0.0 };
    let Some(next) = (first + 1..=PIECES).find(|&k| value(at(k)) >= 0.0) else { return 1.0 };
    let (mut below, mut above) = (at(next - 1), at(next));
    for _ in 0..60 {
        let middle = 0.5 * (below + above);
        if value(middle) < 0.0 {
            below = middle;
        } else {
            above = middle;
        }
    }
    above
}

/// Where in the step an open stop may have been passed and left again, as a part of it: the highest point of the cubic.
fn turning_point(scratch: &Scratch, width: f64) -> Option<f64> {
    let mut found: Option<(f64, f64)> = None;
    for watch in scratch.stops.watches.iter().filter(|w| w.open) {
        if watch.lo.1 > 0.0 && watch.now.1 < 0.0 {
            for k in 1..32 {
                let s = f64::from(k) / 32.0;
                let c = cubic(watch.lo, watch.now, width, s) / watch.tolerance;
                if c > found.map_or(1.0, |(_, highest)| highest) {
                    found = Some((s, c));
                }
            }
        }
    }
    found.map(|(s, _)| s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cubic is exact for a cubic: C = (s − 0.3)(s + 1)(s + 2) over a width of 1.
    #[test]
    fn finds_the_root_of_a_cubic() {
        let c = |s: f64| (s - 0.3) * (s + 1.0) * (s + 2.0);
        let rate = |s: f64| (s + 1.0) * (s + 2.0) + (s - 0.3) * (s + 2.0) + (s - 0.3) * (s + 1.0);
        let root = rise((c(0.0), rate(0.0)), (c(1.0), rate(1.0)), 1.0);
        assert!((root - 0.3).abs() < 1e-14, "{root}");
    }

    /// A stop that is just being left is not taken for the one that is arrived at: C = s (s − 0.5).
    #[test]
    fn leaves_the_stop_where_it_begins() {
        let root = rise((0.0, -0.5), (0.5, 1.5), 1.0);
        assert!((root - 0.5).abs() < 1e-14, "{root}");
    }
}
