//! Where what slides comes to rest and goes back: friction turns round there, and the step ends there.
//!
//! A step holds one direction of friction. In the step in which a box on a slope turns round that is right for a part of it only, and its velocity
//! after it would be off by up to 2 μ g h: an error of first order that stays.

use gelenk_model::State;
use gelenk_model::joint::CoordinateKind;
use gelenk_model::math::Vec3;
use gelenk_model::rows::RowKind;

use crate::bounds::Mode;
use crate::contact::Contact;
use crate::error::StepError;
use crate::method::Landing;
use crate::parts::Parts;
use crate::scratch::Scratch;
use crate::step::StepReport;

/// Speeds before and after that are below this part of what gravity gives in the step make no turn that counts: of contacts, and of coordinates, which
/// tremble where servos hold them.
const LEAST: f64 = 0.005;
const LEAST_OF_COORDINATES: f64 = 0.1;

/// What is left of the speed where the step ends, as a part of that before; speeds fall evenly, so that the second try is mostly there.
const LEFT: f64 = 1e-5;

/// Most tries.
const MOST_TRIES: u32 = 6;

/// Turns that are looked for in an asked step, those that count most: in a heap that falls something turns round in nearly every step. 50 boxes in a tray took 25 law
/// problems a step with all of them, 9 with one, 6 with none.
const MOST_TURNS: u32 = 1;

/// Velocity of a's point over that of b's along the surfaces.
fn sliding(contact: &Contact, state: &State) -> Vec3 {
    let point = contact.point();
    let [a, b] =
        contact.touch.bodies.map(|k| state.s_dot[k] + state.omega[k].cross(&(point - state.s[k])));
    let normal = contact.place.normal;
    let v = a - b;
    v - normal * normal.dot(&v)
}

/// What slides.
#[derive(Clone, Copy)]
enum Sliding {
    /// A coordinate with dry friction: its block, and its rate before.
    Coordinate(usize, f64),
    /// A contact, by its place in the list, and its velocity before over the square of its speed.
    Contact(usize, Vec3),
}

/// What came of it.
pub(super) enum Turned {
    /// Nothing turned round: the step made stands.
    No,
    /// The state is that after a step of this length, with its report.
    At(f64, StepReport),
    /// Something does, but the moment was not found: the state is that before the step.
    Lost,
}

impl Parts<'_> {
    /// Notes how fast coordinates with dry friction move before a step, where the rows are ready.
    pub(super) fn note_slips(&self, scratch: &mut Scratch) {
        let Scratch { rows, bodies, stops, .. } = scratch;
        stops.slips.clear();
        let slips = |i: &usize| rows.mode[*i] == Mode::Coulomb;
        stops
            .slips
            .extend((0..rows.model_size.blocks).filter(slips).map(|i| (i, rows.rate(i, bodies))));
    }

    /// Whether the coordinate of a block of dry friction is an angle.
    fn is_turn(&self, block: usize) -> bool {
        let Some(RowKind::Friction(friction)) = self.model.rows.get(block).map(|row| &row.kind)
        else {
            return false;
        };
        let joint = &self.model.joints[friction.joint.index()];
        let coordinates = joint.kind.equations().coordinates();
        coordinates.get(friction.which).is_some_and(|c| c.kind == CoordinateKind::Angle)
    }

    /// What slid one way before the step made and slides the other way after it, and counts most: what it is, and its speed before.
    fn turning(&self, state: &State, scratch: &Scratch, left: f64) -> Option<Sliding> {
        let Scratch { rows, bodies, stops, saved, .. } = scratch;
        let mut found: Option<(f64, Sliding)> = None;
        let mut see = |part: f64, sliding: Sliding| {
            if found.as_ref().is_none_or(|(most, _)| part > *most) {
                found = Some((part, sliding));
            }
        };
        let fall = self.model.gravity.norm() * left;
        for &(block, before) in &stops.slips {
            let after = rows.rate(block, bodies);
            // What gravity gives, along a coordinate as about a joint: holding servos tremble by less.
            let own = if self.is_turn(block) { fall / bodies.link_length } else { fall };
            let least = LEAST_OF_COORDINATES * own.max((after - before).abs());
            if after * before < 0.0 && after.abs() > least && before.abs() > least {
                see(after.abs() / (after - before).abs(), Sliding::Coordinate(block, before));
            }
        }
        if scratch.touching.is_none() || self.method.landing == Landing::Coarse {
            return found.map(|(_, sliding)| sliding);
        }
        let least = LEAST * self.model.gravity.norm() * left;
        for (k, contact) in rows.contacts.iter().enumerate() {
            let row = rows.blocks[contact.first_block].first_row;
            let pushes = rows.impulse[row] + rows.velocity_impulse[row] != 0.0;
            if !pushes || contact.values.friction <= 0.0 {
                continue;
            }
            let before = sliding(contact, saved);
            let speed = before.norm();
            let after = sliding(contact, state).dot(&before) / speed;
            if speed > least && after < -least {
                see(-after / (speed - after), Sliding::Contact(k, before / (speed * speed)));
            }
        }
        found.map(|(_, sliding)| sliding)
    }

    /// After a step of length `left` from `scratch.saved`: a step that ends where what slid one way comes to rest, if it went back in the one
    /// made.
    pub(super) fn turns_back(
        &self,
        state: &mut State,
        scratch: &mut Scratch,
        left: f64,
        level: u32,
    ) -> Result<Turned, StepError> {
        if scratch.stops.turns >= MOST_TURNS {
            return Ok(Turned::No);
        }
        let Some(turning) = self.turning(state, scratch, left) else { return Ok(Turned::No) };
        scratch.stops.turns += 1;
        let t = scratch.saved.t;
        let (mut early, mut late) = (0.0, left);
        let mut span = 0.5 * left;
        for _ in 0..MOST_TRIES {
            state.clone_from(&scratch.saved);
            let report = self.make(state, scratch, span, t + span, level)?;
            let rest = match turning {
                Sliding::Coordinate(block, before) => {
                    scratch.rows.rate(block, &scratch.bodies) / before
                }
                Sliding::Contact(k, along) => {
                    let Some(contact) = scratch.rows.contacts.get(k) else { break };
                    sliding(contact, state).dot(&along)
                }
            };
            if (0.0..=LEFT).contains(&rest) {
                return Ok(Turned::At(span, report));
            }
            // Speeds fall evenly until it turns. A hair earlier: what comes to rest within the step is held there, and rounding would decide which it is.
            let even = span / (1.0 - rest) * (1.0 - 1e-3 * LEFT);
            if rest > 0.0 {
                early = span;
            } else {
                late = span;
            }
            let inside = rest > 0.0 && even > early && even < late;
            span = if inside { even } else { 0.5 * (early + late) };
        }
        state.clone_from(&scratch.saved);
        Ok(Turned::Lost)
    }
}
