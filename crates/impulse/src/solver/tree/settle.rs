//! Corrections of a tree: positions, velocities, and velocities together with laws that read them.

use gelenk_model::Model;

use super::super::direct::bounded::slip_tolerance;
use super::Tree;
use super::touches::Near;
use crate::bounds::SLIP_PART;
use crate::method::Method;
use crate::rows::Look;
use crate::scratch::{Bodies, Scratch};

/// Most solves of a correction.
const MOST_SOLVES: u64 = 12;

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

/// How far friction that slips may be off where velocities are corrected to `tolerance`.
pub(super) fn at_once(tolerance: f64, bodies: &Bodies) -> Near {
    Near { part: AT_ONCE, begun: 0.0, rate: LET_PASS * slip_tolerance(tolerance, bodies) }
}
