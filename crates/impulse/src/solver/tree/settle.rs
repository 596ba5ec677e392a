//! Corrections of a tree: positions, velocities, and velocities together with laws that read them.

use gelenk_model::{Flight, Model, State};

use super::super::direct::bounded::{look_at_velocities, slip_tolerance};
use super::touches::Near;
use super::{Made, Tree};
use crate::bounds::SLIP_PART;
use crate::error::StepError;
use crate::kick::{evaluate_loads, kick};
use crate::method::Method;
use crate::rows::{Look, Rows};
use crate::scratch::{Bodies, Loads, Scratch};
use crate::step::{largest_change, velocity_floor_of};

/// Most solves of a correction.
const MOST_SOLVES: u64 = 12;

/// Most rounds in which laws that read velocities settle.
const MOST_ROUNDS: u32 = 8;

/// Velocities have settled where another round would change them by less than this part of the tolerance.
pub(super) const NEAR: f64 = 0.3;

/// How far friction that slips may be off, as a part of the rates: in the first solve, where another look follows, and where none does.
const ROUGH: f64 = 1e-3;
const AHEAD: f64 = 1e-10;
const AT_ONCE: f64 = 1e-13;

/// The same as a part of what it is off by before the second solve, which a third one follows.
const BEGUN: f64 = 1e-3;

/// The same as a part of what a look will let pass.
const LET_PASS: f64 = 0.1;

/// A guess that leaves rates beyond this is none, m/s or rad/s.
pub(super) const POOR_GUESS: f64 = 1.0;

/// What is within tolerance is corrected once more down to this part of it, where solves leave no more than the part [`GAIN`] of the error: impulses of
/// joints act on two bodies a gap apart, and the moment of that is missing in the angular momentum. Machines of hinges go without.
const DEEP: f64 = 0.01;
const GAIN: f64 = 0.1;

/// A worst error that grows to this times the first is lost.
const LOST: f64 = 1e4;

impl Scratch {
    /// Runs `solve` with the tree, if it can be used: all joints are there, and its factor can be made.
    pub(super) fn with_tree<T>(
        &mut self,
        solve: impl FnOnce(&mut Tree, &mut Scratch) -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        if !self.rows.any_off {
            let mut tree = self.tree.take()?;
            found = solve(&mut tree, self);
            self.tree = Some(tree);
        }
        if found.is_none() {
            self.rows.write_hinges(&self.bodies);
        }
        found
    }
}

/// Position correction from the impulses there are: the number of solves, and whether all is closed. If not, the impulses are those there
/// were.
pub(crate) fn settle_positions(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    scratch: &mut Scratch,
) -> Option<u64> {
    let floor = scratch.bodies.position_floor();
    scratch.with_tree(|tree, scratch| {
        if !tree.make_hard(&scratch.rows, &scratch.bodies) || !tree.take_touches(&scratch.rows) {
            return None;
        }
        scratch.rows.begin_correction(false, &scratch.bodies);
        tree.in_lanes = tree.crew.is_some() && matches!(look.flight, Flight::Exact);
        if let (Some(crew), Some(hinges)) = (&mut tree.crew, &scratch.rows.hinges) {
            crew.aim_at(hinges, scratch.rows.keeps.then_some(&scratch.rows.target[..]));
        }
        tree.flown = false;
        tree.enter_lanes(&scratch.bodies);
        if !(tree.take_start(model, look, scratch, true) <= POOR_GUESS) {
            // After an impact free flight may be nearer.
            give_up_guess(&mut scratch.rows, &mut scratch.bodies);
            tree.in_lanes = false;
            tree.take_start(model, look, scratch, false);
        }
        let found = tree.close_positions(model, method, look, floor, scratch);
        if found.is_none() {
            scratch.rows.take_back(false, &mut scratch.bodies);
        }
        found
    })
}

impl Tree {
    /// Solves from the rates of the start, which are those without curvature (no look is so cheap), until a look finds all closed.
    pub(super) fn close_positions(
        &mut self,
        model: &Model,
        method: &Method,
        look: &Look<'_>,
        floor: f64,
        scratch: &mut Scratch,
    ) -> Option<u64> {
        let (mut first, mut before) = (f64::INFINITY, f64::INFINITY);
        let passes = LET_PASS * SLIP_PART * method.tolerance.max(floor) / look.h.abs();
        let near = |part: f64, begun: f64| Near { part, begun, rate: passes };
        // Of feet the law is found to the end with little work, and another solve is often spared.
        let rough = if self.on_feet { AHEAD } else { ROUGH };
        self.solve(&mut scratch.rows, &mut scratch.bodies, false, near(rough, 0.0));
        for solves in 1..MOST_SOLVES {
            let worst = self.look_ahead(model, method, look, floor, scratch);
            let gains = worst > DEEP && worst <= GAIN * before && self.limbs.is_none();
            if worst < 1.0 && !gains {
                scratch.rows.looked = true;
                let Scratch { rows, bodies, .. } = scratch;
                if self.has_soles() {
                    self.note_feet(rows, bodies);
                }
                if let (true, Some(crew), Some(hinges)) = (self.in_lanes, &self.crew, &rows.hinges)
                {
                    crew.note_errors(hinges, &mut rows.gap);
                }
                if self.stays {
                    self.add_impulses(true, &mut rows.impulse);
                } else {
                    self.leave_lanes(true, bodies, &mut rows.impulse);
                }
                return Some(solves);
            }
            before = worst;
            first = if solves == 1 { worst.max(1.0) } else { first };
            if worst.is_nan() || worst > LOST * first {
                break;
            }
            self.take_rates(&scratch.rows);
            // What a look finds after the first solve is not yet what the next one will find.
            let begun = if solves == 1 { BEGUN } else { 0.0 };
            let near = near(AHEAD, begun);
            if !self.solve(&mut scratch.rows, &mut scratch.bodies, false, near) {
                if worst < 1.0 {
                    return Some(solves); // nothing has changed
                }
                break;
            }
        }
        None
    }
}

/// Velocity correction from the impulses there are, likewise.
pub(crate) fn settle_velocities(method: &Method, scratch: &mut Scratch) -> Option<u64> {
    let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
    scratch.with_tree(|tree, scratch| {
        if !tree.make_hard(&scratch.rows, &scratch.bodies) || !tree.take_touches(&scratch.rows) {
            return None;
        }
        scratch.rows.begin_correction(true, &scratch.bodies);
        tree.in_lanes = false;
        let near = at_once(tolerance, &scratch.bodies);
        for solves in 0..MOST_SOLVES {
            let worst = look_at_velocities(tolerance, scratch);
            if worst < 1.0 && (solves > 0 || worst == 0.0) {
                return Some(solves);
            }
            tree.take_rates(&scratch.rows);
            if !worst.is_finite() || !tree.solve(&mut scratch.rows, &mut scratch.bodies, true, near)
            {
                break;
            }
        }
        scratch.rows.take_back(true, &mut scratch.bodies);
        None
    })
}

/// The half kick at the end of a stage of length `h` and the velocity correction together, where laws read velocities:
///
/// ```text
/// v = v⁻ + h/2 M⁻¹ f(q, v) + M⁻¹ Jᵀ p,    J v + C_t = 0
/// ```
/// by Newton: f(v) is f(u) − Wᵀ d W (v − u) near the velocities u of the round before, exact for servos and dampers at joints. Returns the number
/// of solves; `None`, with the impulses as they were, where it does not settle.
pub(crate) fn settle_kick(
    model: &Model,
    method: &Method,
    state: &State,
    scratch: &mut Scratch,
    h: f64,
) -> Result<Option<u64>, StepError> {
    let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
    let mut fault = None;
    let found = scratch.with_tree(|tree, scratch| {
        if tree.made == Some(Made::Singular) {
            return None;
        }
        let Scratch { rows, bodies, .. } = &mut *scratch;
        rows.begun.copy_from_slice(&rows.velocity_impulse);
        // What held at the start of the stage is near what holds at its end.
        let own = ..rows.model_size.rows;
        if tree.limbs.is_none() {
            rows.velocity_impulse[own].copy_from_slice(&rows.impulse[own]);
        }
        bodies.twists.copy_from_slice(&bodies.twists_before);
        tree.in_lanes = tree.crew.is_some();
        let mut solves = 0;
        for round in 0..MOST_ROUNDS {
            let Scratch { bodies, loads, work, rows, .. } = &mut *scratch;
            if round == 0 {
                fault = evaluate_loads(model, bodies, state, loads, work).err();
                if fault.is_some() {
                    break;
                }
            }
            if (round == 0 || tree.dampers_changed(&loads.drives, h))
                && !(tree.make_soft(rows, bodies, &loads.drives, h) && tree.take_touches(rows))
            {
                break;
            }
            if round == 0 && tree.limbs.is_some() {
                // Joints are solved for at once and need no guess.
                bodies.twists.copy_from_slice(&bodies.twists_before);
                kick(bodies, loads, 0.5 * h);
                for i in rows.model_size.blocks..rows.blocks.len() {
                    if !rows.inactive[i] {
                        let block = &rows.blocks[i];
                        let p = &rows.velocity_impulse[block.first_row..][..block.n_rows];
                        rows.apply(i, p, bodies);
                    }
                }
                tree.take_rates_now(rows, bodies);
            } else if round == 0 {
                kick_with(rows, bodies, loads, h);
                tree.take_rates_now(rows, bodies);
            } else {
                tree.take_rates(rows);
            }
            let Scratch { bodies, loads, rows, work, previous_twists, .. } = &mut *scratch;
            for (pull, driven) in tree.pulls.iter_mut().zip(&mut loads.drives.axes) {
                // The laws were read at that rate.
                *pull = driven.rate_of(&bodies.twists) - driven.rate;
                driven.read = driven.law();
            }
            tree.pull_in_lanes();
            let near = at_once(tolerance, bodies);
            if !tree.solve(rows, bodies, true, near) {
                break;
            }
            solves += 1;
            tree.give_dampers(bodies);
            tree.leave_lanes(false, bodies, &mut rows.velocity_impulse);
            // The laws at the velocities found, and whether these are what they make.
            previous_twists.copy_from_slice(&bodies.twists);
            fault = evaluate_loads(model, bodies, state, loads, work).err();
            if fault.is_some() {
                break;
            }
            let near = velocity_floor_of(&bodies.twists).max(NEAR * method.velocity_tolerance);
            let mut change = 0.0;
            if !(tree.limbs.is_some() && loads.drives.are_straight(0.5 * h, near)) {
                kick_with(rows, bodies, loads, h);
                (change, _) = largest_change(&bodies.twists, previous_twists);
                tree.enter_lanes(bodies);
            }
            let worst = tree.look_at_velocities(tolerance, scratch);
            if change <= near && worst < 1.0 {
                tree.made = None;
                return Some(solves);
            }
            if !change.is_finite() {
                break;
            }
        }
        tree.made = None;
        scratch.rows.velocity_impulse.copy_from_slice(&scratch.rows.begun);
        None
    });
    fault.map_or(Ok(found), Err)
}

/// How far friction that slips may be off where velocities are corrected to `tolerance`.
pub(super) fn at_once(tolerance: f64, bodies: &Bodies) -> Near {
    Near { part: AT_ONCE, begun: 0.0, rate: LET_PASS * slip_tolerance(tolerance, bodies) }
}

/// Takes all impulses of a position correction back.
fn give_up_guess(rows: &mut Rows, bodies: &mut Bodies) {
    rows.write_hinges(bodies);
    for i in 0..rows.blocks.len() {
        let own = rows.blocks[i].first_row..rows.blocks[i].first_row + rows.blocks[i].n_rows;
        for p in &mut rows.impulse[own.clone()] {
            *p = -*p;
        }
        rows.apply(i, &rows.impulse[own.clone()], bodies);
        rows.impulse[own].fill(0.0);
    }
}

/// v = v⁻ + h/2 M⁻¹ f + M⁻¹ Jᵀ p with the loads and impulses there are.
fn kick_with(rows: &mut Rows, bodies: &mut Bodies, loads: &Loads, h: f64) {
    bodies.twists.copy_from_slice(&bodies.twists_before);
    kick(bodies, loads, 0.5 * h);
    let impulse = std::mem::take(&mut rows.velocity_impulse);
    rows.apply_to_all(&impulse, bodies);
    rows.velocity_impulse = impulse;
}
