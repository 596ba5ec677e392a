//! End stops: steps are cut where a coordinate arrives at one, and impacts are made there.

use gelenk_model::rows::RowKind;
use gelenk_model::{Event, Model, State, Twist, Wrench};

use crate::bounds::{Mode, rest_speed};
use crate::error::StepError;
use crate::parts::Parts;
use crate::rows::At;
use crate::scratch::Scratch;
use crate::step::{StepReport, add_joint_impulses, prepare, set_slack};

/// Most steps tried to find the moment of arrival.
const MAX_TRIES: u32 = 60;

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

/// An end stop while a step goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// Its row block.
    block: usize,
    /// How far it may be passed, rad or m.
    tolerance: f64,
    /// Whether there was room when the step began.
    open: bool,
    /// C when the step began.
    start: f64,
    /// C and Ċ at a time when there is room, at a later one, and at the end of the last try.
    lo: (f64, f64),
    hi: (f64, f64),
    now: (f64, f64),
    /// When it was hit last in this asked step, s.
    hit: f64,
}

/// Memory of the stops, and the state to go back to.
#[derive(Clone, Debug)]
pub(crate) struct Stops {
    watches: Vec<Watch>,
    /// The state before a part, and what the joints had given until then.
    start: State,
    impulses: Vec<Wrench>,
    /// Velocities and impulses after the compression of an impact.
    compressed: Vec<Twist>,
    compressing: Vec<f64>,
}

impl Watch {
    /// Whether a place is behind the stop. Arrivals are found to half the tolerance; one that is just being left may be
    /// within it, and blurred by the gaps of the joints.
    fn passed(&self, place: (f64, f64)) -> bool {
        if self.start > -0.5 * self.tolerance {
            let approaches = place.1 > 0.0;
            place.0 > if approaches { 0.75 * self.tolerance } else { self.tolerance }
        } else {
            place.0 > 0.5 * self.tolerance
        }
    }

    /// Whether the bounce that ends at time `t` is too short or too flat to go on: below the tolerance there is nothing to
    /// see of it. Bounces that become ever shorter have an end.
    fn bounced_lately(&self, t: f64, h: f64) -> bool {
        let flight = t - self.hit;
        flight < SHORTEST_BOUNCE * h || self.now.1 * flight < FLATTEST_BOUNCE * self.tolerance
    }
}

impl Stops {
    pub(crate) fn new(model: &Model, blocks: &[usize]) -> Self {
        let watch = |&block: &usize| Watch {
            block,
            tolerance: 0.0,
            open: false,
            start: 0.0,
            lo: (0.0, 0.0),
            hi: (0.0, 0.0),
            now: (0.0, 0.0),
            hit: f64::NEG_INFINITY,
        };
        Stops {
            watches: blocks.iter().map(watch).collect(),
            start: model.start.clone(),
            impulses: vec![Wrench::zero(); model.joints.len()],
            compressed: vec![Twist::zero(); model.n_bodies()],
            compressing: vec![0.0; model.n_rows()],
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
        if scratch.rows.stops.is_empty() || part <= 0.0 {
            let report = self.make(state, scratch, part, t_end, level)?;
            return self.accept(&report, state, scratch, part, level);
        }
        let before = (self.totals, self.kinetic, self.potential, self.events.len());
        scratch.stops.start.clone_from(state);
        scratch.stops.impulses.copy_from_slice(self.joint_impulses);
        let result = self.pass_stops(state, scratch, part, t_end, level);
        if result.is_err() {
            state.clone_from(&scratch.stops.start);
            self.joint_impulses.copy_from_slice(&scratch.stops.impulses);
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
        loop {
            self.impacts(state, scratch)?;
            if self.go_to_stop(state, scratch, left, t_end, level)? {
                return Ok(());
            }
            left = t_end - state.t;
            if left <= SHORTEST_REST * self.h {
                state.t = t_end;
                return Ok(());
            }
        }
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
        // Places before the step, where the rows are ready.
        let Scratch { rows, bodies, stops, .. } = &mut *scratch;
        for watch in &mut stops.watches {
            watch.tolerance = rows.bound_tolerance(watch.block, bodies, self.method);
            watch.lo = rows.stop_place(watch.block, self.model, bodies, state);
            watch.start = watch.lo.0;
        }
        let report = self.make(state, scratch, left, t_end, level)?;
        let mut passed = self.look(state, scratch);
        let mut late = left;
        if !passed && let Some(top) = turning_point(scratch, left) {
            // It may have been there and back.
            late = top * left;
            state.clone_from(&scratch.saved);
            let t_late = state.t + late;
            self.make(state, scratch, late, t_late, level)?;
            passed = self.look(state, scratch);
            if !passed {
                state.clone_from(&scratch.saved);
                let report = self.make(state, scratch, left, t_end, level)?;
                self.look(state, scratch);
                self.accept(&report, state, scratch, left, level)?;
                return Ok(true);
            }
        }
        if !passed {
            self.accept(&report, state, scratch, left, level)?;
            return Ok(true);
        }
        state.clone_from(&scratch.saved);
        let (report, part) = self.find_arrival(state, scratch, late, level)?;
        self.accept(&report, state, scratch, part, level)?;
        Ok(false)
    }

    /// Where the stops are after a step (`now` of their watches); true if an open one has been passed.
    fn look(&self, state: &State, scratch: &mut Scratch) -> bool {
        let Scratch { rows, bodies, stops, .. } = scratch;
        let mut passed = false;
        for watch in &mut stops.watches {
            watch.now = rows.stop_place(watch.block, self.model, bodies, state);
            watch.open = rows.mode[watch.block] == Mode::Open;
            if watch.open {
                rows.gap[watch.block] = watch.now.0.max(0.0);
                passed |= watch.passed(watch.now);
            }
        }
        passed
    }

    /// Steps to the moment when the first stop is touched, between 0 and `late`, where one has been passed.
    ///
    /// C over the time is taken as the cubic with the values and rates at both ends of an interval that shrinks around
    /// its root. Returns the report of the step there and its length.
    fn find_arrival(
        &mut self,
        state: &mut State,
        scratch: &mut Scratch,
        late: f64,
        level: u32,
    ) -> Result<(StepReport, f64), StepError> {
        let (mut early, mut late) = (0.0, late);
        let t = state.t;
        scratch.stops.watches.iter_mut().for_each(|watch| watch.hi = watch.now);
        for round in 0..MAX_TRIES {
            let width = late - early;
            let passed = scratch.stops.watches.iter().filter(|w| w.open && w.passed(w.hi));
            let mut guess = passed.map(|w| rise(w.lo, w.hi, width)).fold(1.0, f64::min);
            if round % 4 == 3 || !(guess > 0.0 && guess < 1.0) {
                guess = 0.5;
            }
            let tau = early + guess * width;
            let report = self.make(state, scratch, tau, t + tau, level)?;
            let watches = |scratch: &mut Scratch, keep: fn(&mut Watch)| {
                scratch.stops.watches.iter_mut().for_each(keep);
            };
            if self.look(state, scratch) {
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
        let passed = scratch.stops.watches.iter().find(|w| w.open && w.passed(w.hi));
        let (block, gap) = passed.map_or((0, 0.0), |w| (w.block, w.hi.0));
        Err(StepError::Positions { block, gap, sweeps: u64::from(MAX_TRIES), t })
    }

    /// The impacts at this instant: stops that are touched and run into.
    ///
    /// Poisson's law for all at once. Compression: the smallest change of velocities after which nothing runs into a
    /// touched stop any more (p ≤ 0, J v ≤ 0, p J v = 0); it loses energy or keeps it. Restitution: each stop gives its part
    /// ε of its compression impulse back, and the joints take what they must. With one ε for all, the energy after is that
    /// before less (1 − ε²) times that of the compression; where stops of different ε meet and would make energy, all give
    /// less, so that none is made. What then runs into another touched stop is the next impact.
    fn impacts(&mut self, state: &mut State, scratch: &mut Scratch) -> Result<(), StepError> {
        let solver = self.method.solver.solver();
        for round in 0..MAX_IMPACTS {
            prepare(self.model, state, scratch);
            scratch.set_modes(self.model, state, self.method);
            if !self.runs_into_stop(state, scratch) {
                return Ok(());
            }
            set_slack(self.model, self.method, state, scratch);
            let energy_before = self.model.kinetic_energy(state);

            let Scratch { rows, bodies, stops, .. } = scratch;
            let Stops { watches, .. } = stops;
            for watch in watches.iter_mut() {
                watch.open = rows.mode[watch.block] == Mode::Off
                    || rows.stop_place(watch.block, self.model, bodies, state).0 < -watch.tolerance;
            }
            let touched = |i: usize| watches.iter().any(|w| w.block == i && !w.open);
            rows.set_instant_bounds(touched);
            rows.velocity_impulse.fill(0.0);
            solver.correct_velocities(self.model, self.method, &At::of(state), scratch)?;
            scratch.bodies.write_velocities(state);
            let energy_compressed = self.model.kinetic_energy(state);

            let Scratch { rows, bodies, stops, .. } = scratch;
            stops.compressed.copy_from_slice(&bodies.twists);
            stops.compressing.copy_from_slice(&rows.velocity_impulse);
            let mut bounces = false;
            for watch in &stops.watches {
                let RowKind::Stop(stop) = &self.model.rows[watch.block].kind else { continue };
                let row = rows.blocks[watch.block].first_row;
                let lately = watch.bounced_lately(state.t, self.h);
                let p = stop.restitution * rows.velocity_impulse[row];
                if p != 0.0 && !lately && round < ELASTIC_IMPACTS {
                    rows.apply(watch.block, &[p], bodies);
                    rows.velocity_impulse[row] += p;
                    bounces = true;
                }
            }
            if bounces {
                rows.set_instant_bounds(|_| false);
                solver.correct_velocities(self.model, self.method, &At::of(state), scratch)?;
                scratch.bodies.write_velocities(state);
                let energy = self.model.kinetic_energy(state);
                if energy > energy_before {
                    let given = (energy - energy_compressed).max(f64::MIN_POSITIVE);
                    let part = ((energy_before - energy_compressed).max(0.0) / given).sqrt();
                    scratch.give_back_only(part);
                    scratch.bodies.write_velocities(state);
                }
            }
            self.close_impact(state, scratch, energy_before);
        }
        let block = scratch.rows.stops[0];
        let error = scratch.rows.rate(block, &scratch.bodies);
        Err(StepError::Velocities { block, error, sweeps: u64::from(MAX_IMPACTS), t: state.t })
    }

    /// Whether a touched stop is run into; notes Ċ of all stops.
    fn runs_into_stop(&self, state: &State, scratch: &mut Scratch) -> bool {
        let Scratch { rows, bodies, stops, .. } = scratch;
        let slow = rest_speed(bodies, self.method);
        let mut runs = false;
        for watch in &mut stops.watches {
            watch.tolerance = rows.bound_tolerance(watch.block, bodies, self.method);
            watch.now = rows.stop_place(watch.block, self.model, bodies, state);
            let there = rows.mode[watch.block] != Mode::Off;
            runs |= there && watch.now.0 >= -watch.tolerance && watch.now.1 > slow;
        }
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
        for watch in &mut stops.watches {
            let block = &self.model.rows[watch.block];
            let p = impulse[block.first_row];
            let (true, Some(joint)) = (p != 0.0, block.joint()) else { continue };
            watch.hit = state.t;
            let RowKind::Stop(stop) = &block.kind else { continue };
            let (before, after) = (watch.now.1, rows.rate(watch.block, bodies));
            let sign = stop.side.sign();
            self.events.push(Event {
                time: state.t,
                kind: "impact".to_owned(),
                between: vec![self.model.joints[joint.index()].name.clone()],
                detail: format!(
                    "end stop `{}`: velocity {:.6e} before, {:.6e} after, impulse {:.6e}",
                    block.name,
                    sign * before,
                    sign * after,
                    sign * p
                ),
            });
        }
    }
}

impl Scratch {
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
