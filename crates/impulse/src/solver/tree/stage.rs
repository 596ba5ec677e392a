//! A stage of a machine of hinges that goes in lanes from the kick at its start to the velocities at its end. Bodies one by one are only those that
//! touch something, and all where the stage ends. The page it follows is that of [`step`](crate::step); where anything is out of the
//! ordinary, that one is taken.

use gelenk_model::math::Vec3;
use gelenk_model::rows::Instant;
use gelenk_model::{Flight, Model, State};

use super::pattern::NOWHERE;
use super::settle::{NEAR, POOR_GUESS, at_once};
use super::{Made, Tree};
use crate::drives::Drives;
use crate::kick::evaluate_signals;
use crate::lanes::F;
use crate::method::{Method, SolverKind};
use crate::rows::{Look, Rows};
use crate::scratch::{Bodies, Loads, Scratch};
use crate::step::velocity_floor_of;

impl Scratch {
    /// Whether stages go in lanes: all joints are hinges of a tree, all laws torques about them, and contacts all that has bounds.
    pub(crate) fn stays_in_lanes(&self, method: &Method) -> bool {
        let rows = &self.rows;
        self.tree.as_ref().is_some_and(|tree| tree.crew.is_some())
            && rows.first_apart() > 0
            && !rows.contacts.is_empty()
            && !rows.model_size.bounded
            && !rows.rheonomic
            && self.loads.drives.are_torques()
            && self.loads.timed
            && self.loads.velocity_dependent
            && method.solver == SolverKind::Direct
            && matches!(method.flight, Flight::Exact)
    }
}

/// v += h/2 M⁻¹ f(q, v, t), and C(t+h) = 0: the number of solves. None, and nothing done but to velocities of bodies that touch, where it does not settle.
pub(crate) fn settle_start(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    scratch: &mut Scratch,
) -> Option<u64> {
    let floor = scratch.bodies.position_floor();
    scratch.with_tree(|tree, scratch| {
        let Scratch { rows, bodies, loads, .. } = &mut *scratch;
        let crew = tree.crew.as_mut()?;
        crew.begin_at(bodies);
        crew.aim_at(rows.hinges.as_ref()?, rows.keeps.then_some(&rows.target[..]));
        let allowed = method.tolerance.max(floor);
        if !tree.make_hard(rows, bodies) || !tree.take_touches_in(rows, Some(allowed)) {
            return None;
        }
        tree.feet.begin_instant(tree.crew.as_ref()?);
        rows.take_guess();
        (tree.in_lanes, tree.stays, tree.flown) = (true, true, false);
        tree.feet.begin(&rows.impulse);
        tree.laws.load(&loads.drives);
        tree.kick(rows, bodies, 0.5 * look.h, false);
        let mut near = tree.take_start(model, look, scratch, true) <= POOR_GUESS;
        if !near && tree.has_soles() {
            // After an impact free flight may be nearer.
            let Scratch { rows, bodies, .. } = &mut *scratch;
            rows.impulse.fill(0.0);
            tree.feet.begin(&rows.impulse);
            let crew = tree.crew.as_mut()?;
            crew.begin_at(bodies);
            crew.stay_calm();
            tree.kick(rows, bodies, 0.5 * look.h, false);
            near = tree.take_start(model, look, scratch, true).is_finite();
        }
        let found =
            if near { tree.close_positions(model, method, look, floor, scratch) } else { None };
        tree.stays = false;
        if found.is_some() {
            // The laws were read before the kick.
            let turning = tree.turning(&scratch.rows);
            tree.laws.book(turning, false, &mut scratch.loads.drives);
        }
        found
    })
}

/// Lands where the flight that was looked at ends: state, bodies, and rows there. False where a number is not finite; the bodies then have their
/// velocities.
pub(crate) fn land_in_lanes(
    model: &Model,
    state: &mut State,
    scratch: &mut Scratch,
    h: f64,
    t_next: f64,
) -> bool {
    let Some(mut tree) = scratch.tree.take() else { return false };
    let landed = tree.land(&scratch.bodies, h, state);
    if let (true, Some(crew)) = (landed, &mut tree.crew) {
        state.t = t_next;
        scratch.forget_poses();
        tree.made = None;
        if let Some(limbs) = &mut tree.limbs {
            limbs.forget();
        }
        crew.arrive(&mut scratch.bodies, state);
        if let Some(hinges) = &mut scratch.rows.hinges {
            hinges.prepare_at(|g| crew.axes(g));
            hinges.follow(&mut state.coordinate);
        }
        scratch.prepare_apart(model, state.t, &state.coordinate);
        tree.place_drives(&scratch.rows, &mut scratch.loads.drives, &state.coordinate);
    } else if let Some(crew) = &mut tree.crew {
        crew.write(true, &mut scratch.bodies);
    }
    scratch.tree = Some(tree);
    landed
}

/// The half kick at the end of the stage and the velocity correction, as [`settle_kick`](super::settle_kick), for laws that are straight lines: one solve.
/// None, and nothing done, where another one is needed.
pub(crate) fn settle_end(
    model: &Model,
    method: &Method,
    state: &State,
    scratch: &mut Scratch,
    h: f64,
) -> Option<u64> {
    let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
    let mut tree = scratch.tree.take()?;
    scratch.rows.begun.copy_from_slice(&scratch.rows.velocity_impulse);
    let found = tree.end(model, method, tolerance, state, scratch, h);
    tree.made = None;
    if found.is_some() {
        scratch.energies = tree.crew.as_ref().map(super::crew::Crew::energies);
    }
    scratch.tree = Some(tree);
    if found.is_none() {
        scratch.rows.velocity_impulse.copy_from_slice(&scratch.rows.begun);
        scratch.rows.taken_known = false;
    }
    found
}

impl Tree {
    fn end(
        &mut self,
        model: &Model,
        method: &Method,
        tolerance: f64,
        state: &State,
        scratch: &mut Scratch,
        h: f64,
    ) -> Option<u64> {
        let Scratch { rows, bodies, loads, work, .. } = &mut *scratch;
        let (poses, twists) = (&bodies.poses, &bodies.twists);
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        loads.known = false;
        evaluate_signals(model, &at, loads, work);
        if !self.read_laws(model, state, rows, loads)
            || !self.make_soft_in_lanes(rows, bodies, h)
            || !self.take_touches_in(rows, Some(method.tolerance))
        {
            return None;
        }
        self.laws.note();
        self.feet.begin_instant(self.crew.as_ref()?);
        self.in_lanes = true;
        self.feet.begin(&rows.velocity_impulse);
        self.crew.as_mut()?.forget_impulses();
        self.kick(rows, bodies, 0.5 * h, true);
        self.take_rates_in_lanes(rows, bodies);
        let near = at_once(tolerance, bodies);
        if !self.solve(rows, bodies, true, near) {
            return None;
        }
        self.leave_lanes(false, bodies, &mut rows.velocity_impulse);
        // The laws at the velocities found, and whether these are what they make.
        let near = velocity_floor_of(&bodies.twists).max(NEAR * method.velocity_tolerance);
        let good = self.read_laws(model, state, rows, loads)
            && loads.drives.are_complete()
            && self.laws.are_straight(0.5 * h, near)
            && self.look_at_velocities(tolerance, scratch) < 1.0;
        if !good {
            return None;
        }
        let Scratch { bodies, loads, .. } = &mut *scratch;
        loads.known = true;
        loads.twists.copy_from_slice(&bodies.twists);
        loads.active.clone_from(&state.active);
        self.laws.write(&mut loads.drives);
        self.laws.book(|_| F::ZERO, true, &mut loads.drives);
        Some(1)
    }

    /// v += M⁻¹ (Jᵀ p + Wᵀ τ `dt`) with the torques of the laws: at the start of a stage with the impulses of all rows, at its `end` with those of
    /// contacts. Bodies that touch get their velocities.
    fn kick(&mut self, rows: &Rows, bodies: &mut Bodies, dt: f64, end: bool) {
        let (Some(crew), Some(hinges)) = (&mut self.crew, &rows.hinges) else { return };
        let turn = |g: usize| self.laws.force(g) * F::splat(dt);
        let impulse = if end { &rows.velocity_impulse } else { &rows.impulse };
        if end {
            crew.collect_turns(hinges, turn);
        } else {
            crew.collect(hinges, impulse, turn);
        }
        if self.on_feet && self.feet.has_soles() {
            self.feet.give(crew);
            crew.act();
            return;
        }
        for (i, block) in rows.blocks.iter().enumerate().skip(rows.model_size.blocks) {
            if rows.inactive[i] {
                continue;
            }
            for slot in 0..2 {
                let node = self.pattern.node_of[rows.body_list[block.first_body + slot]];
                if node == NOWHERE {
                    continue;
                }
                let (mut force, mut torque) = (Vec3::zeros(), Vec3::zeros());
                for row in block.first_row..block.first_row + block.n_rows {
                    let (jac, p) = (rows.contact_row(row, slot), impulse[row]);
                    force += Vec3::new(jac[0], jac[1], jac[2]) * p;
                    torque += Vec3::new(jac[3], jac[4], jac[5]) * p;
                }
                crew.collect_at(node, &force, &torque);
            }
        }
        crew.act();
        for body in rows.contacts.iter().flat_map(|contact| contact.touch.bodies) {
            if self.pattern.node_of[body] != NOWHERE {
                crew.write_velocity(self.pattern.node_of[body], bodies);
            }
        }
    }

    /// Writes what the last look has found of the feet, and the flights of bodies that touch.
    pub(super) fn note_feet(&self, rows: &mut Rows, bodies: &mut Bodies) {
        let Some(crew) = &self.crew else { return };
        self.feet.note_gaps(rows, crew);
        for body in rows.contacts.iter().flat_map(|contact| contact.touch.bodies) {
            if self.pattern.node_of[body] != NOWHERE {
                crew.write_flight(self.pattern.node_of[body], bodies);
            }
        }
    }

    /// The laws at the velocities in lanes; false if one is not a finite number.
    fn read_laws(&mut self, model: &Model, state: &State, rows: &Rows, loads: &mut Loads) -> bool {
        let mut laws = std::mem::take(&mut self.laws);
        let good = laws.read(self.turning(rows), model, state, loads);
        self.laws = laws;
        good
    }

    /// q̇ of each group at the velocities in lanes.
    #[inline]
    fn turning<'a>(&'a self, rows: &'a Rows) -> impl Fn(usize) -> F + 'a {
        move |g| {
            let group = rows.hinges.as_ref().and_then(|hinges| hinges.group(g));
            self.crew.as_ref().zip(group).map_or(F::ZERO, |(crew, group)| crew.turning(g, group))
        }
    }

    /// The factor with the dampers of the laws over `h`/2.
    fn make_soft_in_lanes(&mut self, rows: &Rows, bodies: &Bodies, h: f64) -> bool {
        let Tree { limbs: Some(limbs), laws, .. } = self else { return false };
        let Some(hinges) = &rows.hinges else { return false };
        let good = limbs.make(hinges, bodies, |g| laws.weight(g, 0.5 * h));
        self.made = good.then_some(Made::Soft);
        good
    }

    /// Rates J v of the hinges in lanes, those of contacts, and how far q̇ is from those that the laws were read at.
    fn take_rates_in_lanes(&mut self, rows: &Rows, bodies: &Bodies) {
        self.e.resize(rows.error.len(), 0.0);
        let Tree { crew: Some(crew), laws, p, .. } = self else { return };
        if let Some(hinges) = &rows.hinges {
            crew.rates(hinges, p);
            for (g, e) in p.iter_mut().enumerate() {
                if let Some(group) = hinges.group(g) {
                    e[5] = laws.pull(g, crew.turning(g, group));
                }
            }
        }
        if let (true, Some(crew)) = (self.has_soles(), &self.crew) {
            return self.feet.rates(crew);
        }
        rows.rates_from(rows.first_apart(), &bodies.twists, &mut self.e);
    }

    /// Axes and coordinates of the laws at the prepared poses.
    fn place_drives(&self, rows: &Rows, drives: &mut Drives, coordinates: &[f64]) {
        let Some(hinges) = &rows.hinges else { return };
        for (g, lanes) in self.lanes.iter().enumerate() {
            let Some(group) = hinges.group(g) else { continue };
            let axes = group.axes();
            for (own, axis) in lanes.iter().zip(axes) {
                if let Some(k) = own.axis {
                    drives.axes[k].turn_about([axis.x, axis.y, axis.z]);
                }
            }
        }
        drives.place(coordinates);
    }
}
