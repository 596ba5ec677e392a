//! Switching: ropes, end stops, dry friction, joints that break, and corners of force laws.
//!
//! Each has a switching function that is positive as long as its mode lasts; where it falls to zero a step ends, and the modes are found
//! anew ([`Equations::switch`]):
//! ```text
//! slack rope, stop with room      −C             touches: an impact, or it holds
//! taut rope, touched stop         −λ             lets go
//! friction that slips             s q̇            comes to rest: it sticks, or turns
//! friction that sticks            F − |λ|        gives way
//! joint that can break            F_b − |force|, T_b − |torque|
//! corner of an expression         its argument, either way
//! servo at its largest force      T_max − |what the law asks for|, either way
//! ```
//! Which of those that touch or rest hold is a linear complementarity problem, solved by changing one at a time, the first that is wrong
//! (Murty's rule), which ends after finitely many changes.

use gelenk_model::force::{ForceContext, ForceKind};
use gelenk_model::impact::{Bounce, MOST_ROUNDS};
use gelenk_model::joint::{JointId, MAX_ROWS};
use gelenk_model::rows::RowKind;
use gelenk_model::{Event, ImpactLaw, Twist};
use gelenk_ode::{Direction, EventKind};

use crate::equations::{Equations, Mode, instant};
use crate::project::NotClosed;

/// A stop or rope this near touches, m or rad.
const TOUCHES: f64 = 1e-10;
/// A free stop or rope farther beyond its end than this has been missed, m or rad.
const PASSED: f64 = 1e-7;
/// Slower than this is at rest, m/s or rad/s.
const SLOW: f64 = 1e-9;
/// A bounce slower than this does not bounce: the end of the infinitely many bounces of a ball that comes to rest.
const SLOWEST_BOUNCE: f64 = 1e-6;
/// Forces of the wrong sign up to this part of the largest one are zero.
const NO_FORCE: f64 = 1e-10;
/// Impacts that may follow one another at one instant.
const MAX_IMPACTS: u32 = 50;
/// Those of them that bounce; the others are plastic.
const ELASTIC_IMPACTS: u32 = 20;

/// What a switching function watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    /// A block with bounds.
    Bound(usize),
    /// The force (false: torque) at which a joint breaks.
    Break(JointId, bool),
    /// A corner of the signals.
    Kink(usize),
    /// The bound of a servo's force.
    Clamp(usize),
}

/// Modes that do not settle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SwitchError {
    /// Holding and letting go contradict each other at this block.
    Unsettled(usize),
    /// A joint cannot be closed.
    NotClosed(NotClosed),
}

impl From<NotClosed> for SwitchError {
    fn from(error: NotClosed) -> Self {
        SwitchError::NotClosed(error)
    }
}

/// The switching functions of a model and what they have done.
#[derive(Clone, Debug)]
pub(crate) struct Switches {
    pub(crate) watched: Vec<Watched>,
    /// Friction of coordinates whose motion is prescribed: it never sticks. (n blocks)
    prescribed: Vec<bool>,
    /// Memory for the corners of signals.
    kinks: Vec<f64>,
    /// How far stops and ropes that are free were over their ends, within [`TOUCHES`], when modes were last found, m or rad. What leaves
    /// its end is so at zero, never beyond it, and comes back to it however short its flight is. (n blocks)
    over: Vec<f64>,
    /// Energy lost in impacts so far, J.
    pub(crate) impact_loss: f64,
    /// What the coefficient of restitution means.
    pub(crate) impact: ImpactLaw,
}

impl Switches {
    pub(crate) fn new(equations: &Equations<'_>) -> Self {
        let model = equations.model;
        let mut watched = Vec::new();
        for (i, block) in model.rows.iter().enumerate() {
            if block.one_sided(model) || block.is_bound() {
                watched.push(Watched::Bound(i));
            }
        }
        for (i, joint) in (0u32..).zip(&model.joints) {
            if joint.properties.break_force.is_some() {
                watched.push(Watched::Break(JointId(i), true));
            }
            if joint.properties.break_torque.is_some() {
                watched.push(Watched::Break(JointId(i), false));
            }
        }
        let n_kinks = model.signals.n_kinks();
        watched.extend((0..n_kinks).map(Watched::Kink));
        for (i, force) in model.forces.iter().enumerate() {
            if let ForceKind::Servo(servo) = &force.kind
                && servo.is_bounded()
            {
                watched.push(Watched::Clamp(i));
            }
        }
        let driven = |joint: JointId, which: usize| {
            model.rows.iter().any(|block| match &block.kind {
                RowKind::Tie(tie) => {
                    matches!(tie.terms[..], [(j, w, _)] if (j, w) == (joint, which))
                }
                _ => false,
            })
        };
        let prescribed = model.rows.iter().map(|block| match &block.kind {
            RowKind::Friction(friction) => driven(friction.joint, friction.which),
            _ => false,
        });
        Switches {
            watched,
            prescribed: prescribed.collect(),
            kinks: vec![0.0; n_kinks],
            over: vec![0.0; model.rows.len()],
            impact_loss: 0.0,
            impact: ImpactLaw::default(),
        }
    }
}

impl Equations<'_> {
    /// Values of the switching functions at (t, y).
    pub(crate) fn switch_values(
        &mut self,
        switches: &mut Switches,
        t: f64,
        y: &[f64],
        g: &mut [f64],
    ) {
        self.read(t, y);
        let needs_forces = |watched: &Watched| match *watched {
            Watched::Bound(i) => self.mode[i] == Mode::Holds,
            Watched::Break(joint, _) => self.active[joint.index()],
            Watched::Kink(_) | Watched::Clamp(_) => false,
        };
        let forces = switches.watched.iter().any(needs_forces);
        if forces {
            self.accelerate(t);
        }
        let breaks = switches.watched.iter().any(|w| matches!(w, Watched::Break(..)));
        let reactions = if breaks { self.reactions() } else { Vec::new() };
        let at = instant(t, &self.poses, &self.twists, &self.coordinates);
        self.model.signals.evaluate_kinks(self.model, &at, &mut self.work, &mut switches.kinks);
        if switches.watched.iter().any(|w| matches!(w, Watched::Clamp(_))) {
            self.find_signals(t);
        }
        for (g, watched) in g.iter_mut().zip(&switches.watched) {
            *g = match *watched {
                Watched::Bound(i) => self.bound_value(i, t, switches.over[i]),
                Watched::Break(joint, force) => {
                    let properties = &self.model.joints[joint.index()].properties;
                    let reaction = &reactions[joint.index()];
                    let (limit, now) = if force {
                        (properties.break_force, reaction.force.norm())
                    } else {
                        (properties.break_torque, reaction.torque.norm())
                    };
                    if self.active[joint.index()] { limit.unwrap_or(f64::MAX) - now } else { 1.0 }
                }
                Watched::Kink(k) => switches.kinks[k],
                Watched::Clamp(i) => self.clamp_margin(i, t),
            };
        }
    }

    /// Which sign changes of a switching function count.
    pub(crate) fn direction(&self, watched: Watched) -> Direction {
        match watched {
            Watched::Kink(_) | Watched::Clamp(_) => Direction::Both,
            Watched::Bound(i)
                if self.mode[i] == Mode::Free && self.model.rows[i].one_sided(self.model) =>
            {
                Direction::Leaving
            }
            Watched::Bound(_) | Watched::Break(..) => Direction::Falling,
        }
    }

    /// How far a servo is from its bound; signals must belong to the state.
    fn clamp_margin(&self, i: usize, t: f64) -> f64 {
        let force = &self.model.forces[i].kind;
        let ForceKind::Servo(servo) = force else { return 1.0 };
        if !force.is_active(&self.active) {
            return 1.0;
        }
        let at = instant(t, &self.poses, &self.twists, &self.coordinates);
        servo.margin(&ForceContext { model: self.model, at, signals: &self.signals })
    }

    fn bound_value(&mut self, i: usize, t: f64, over: f64) -> f64 {
        let block = &self.model.rows[i];
        if !block.is_active(&self.active) {
            return 1.0;
        }
        match (&block.kind, self.mode[i]) {
            (RowKind::Friction(friction), Mode::Slips(sign)) => {
                let at = instant(t, &self.poses, &self.twists, &self.coordinates);
                sign * self.model.joint_velocity(friction.joint, friction.which, &at)
            }
            (RowKind::Friction(friction), Mode::Holds) => {
                friction.force - self.lambda[block.first_row].abs()
            }
            (RowKind::Friction(_), Mode::Free) => 1.0,
            (_, Mode::Holds) => -self.lambda[block.first_row],
            _ => {
                let mut c = [0.0; MAX_ROWS];
                self.raw_error(i, t, &mut c[..block.n_rows]);
                over - c[0]
            }
        }
    }

    /// Finds the modes after an event, with the impacts there are, and puts y on the new conditions. What happened is told.
    pub(crate) fn switch(
        &mut self,
        switches: &mut Switches,
        t: f64,
        y: &mut [f64],
        fired: &[gelenk_ode::Event],
    ) -> Result<Vec<Event>, SwitchError> {
        let mut events = Vec::new();
        self.read(t, y);
        self.accelerate(t);
        for event in fired.iter().filter(|event| event.kind != EventKind::Grazing) {
            match switches.watched[event.switch] {
                Watched::Bound(i) => self.flip(switches, i, t, &mut events),
                Watched::Break(joint, force) => {
                    let (what, unit, most) = self.strength(joint, force);
                    let detail = format!("its {what} reaches its strength of {most} {unit}");
                    self.break_joint(joint, t, detail, &mut events);
                }
                Watched::Kink(_) | Watched::Clamp(_) => {}
            }
        }
        let touched = self.touched(t);
        let mut struck = Vec::new();
        if self.impacts(switches, &touched, t, &mut struck, &mut events)? {
            self.write(y);
        }
        for (joint, force) in struck {
            let (what, ..) = self.strength(joint, force);
            let detail = format!("an impact takes its {what} beyond every strength");
            self.break_joint(joint, t, detail, &mut events);
        }
        self.settle(switches, t)?;
        while self.break_overloaded(switches, t, &mut events) {
            self.settle(switches, t)?;
        }
        self.project(t, y)?;
        self.read(t, y);
        for i in 0..self.mode.len() {
            switches.over[i] = self.over(i, t);
        }
        Ok(events)
    }

    /// How far a free stop or rope is over its end at the state read last, m or rad; 0 of all else.
    pub(crate) fn over(&mut self, i: usize, t: f64) -> f64 {
        let block = &self.model.rows[i];
        if self.mode[i] != Mode::Free
            || !block.one_sided(self.model)
            || !block.is_active(&self.active)
        {
            return 0.0;
        }
        let mut c = [0.0; MAX_ROWS];
        self.raw_error(i, t, &mut c[..block.n_rows]);
        c[0].max(0.0)
    }

    /// A free stop or rope that was passed without being seen, at the state read last.
    pub(crate) fn passed(&mut self, t: f64) -> Option<NotClosed> {
        let mut found: Option<NotClosed> = None;
        for i in 0..self.mode.len() {
            let gap = self.over(i, t);
            if gap > PASSED.max(self.model.rows[i].tolerance.unwrap_or(0.0))
                && found.as_ref().is_none_or(|worst| gap > worst.gap)
            {
                found = Some(NotClosed { block: i, gap });
            }
        }
        found
    }

    /// The change that a switching function announced.
    fn flip(&mut self, switches: &Switches, i: usize, t: f64, events: &mut Vec<Event>) {
        let block = &self.model.rows[i];
        if !block.is_active(&self.active) {
            return;
        }
        let tell = |kind: &str, what: &str| {
            let joint = block.joint().map(|id| self.model.joints[id.index()].name.clone());
            Event::new(t, kind, joint.into_iter().collect(), format!("`{}` {what}", block.name))
        };
        match (&block.kind, self.mode[i]) {
            (RowKind::Friction(friction), Mode::Slips(sign)) => {
                events.push(tell("rest", "comes to rest"));
                if switches.prescribed[i] {
                    self.set_mode(i, Mode::Slips(-sign));
                } else {
                    let (joint, which) = (friction.joint, friction.which);
                    let at = instant(t, &self.poses, &self.twists, &self.coordinates);
                    self.held[friction.slot] = self.model.joint_coordinate(joint, which, &at);
                    self.set_mode(i, Mode::Holds);
                }
            }
            (RowKind::Friction(_), Mode::Holds) => {
                events.push(tell("slip", "gives way"));
                let sign = -self.lambda[block.first_row].signum();
                self.set_mode(i, Mode::Slips(sign));
            }
            (_, Mode::Holds) => {
                events.push(tell("release", "lets go"));
                self.set_mode(i, Mode::Free);
            }
            _ => {}
        }
    }

    /// What a joint breaks at, its force or its torque: name, unit and size.
    fn strength(&self, joint: JointId, force: bool) -> (&'static str, &'static str, f64) {
        let properties = &self.model.joints[joint.index()].properties;
        let (what, unit, most) = if force {
            ("force", "N", properties.break_force)
        } else {
            ("torque", "N m", properties.break_torque)
        };
        (what, unit, most.unwrap_or(f64::INFINITY))
    }

    /// Breaks the joints whose force or torque is beyond their strength as it is: where the motion begins, or where it jumps. Whether there were any.
    fn break_overloaded(&mut self, switches: &Switches, t: f64, events: &mut Vec<Event>) -> bool {
        let any = |w: &Watched| matches!(w, Watched::Break(joint, _) if self.active[joint.index()]);
        if !switches.watched.iter().any(any) {
            return false;
        }
        self.accelerate(t);
        let reactions = self.reactions();
        let mut found = false;
        for watched in &switches.watched {
            let Watched::Break(joint, force) = *watched else { continue };
            let reaction = &reactions[joint.index()];
            let now = if force { reaction.force.norm() } else { reaction.torque.norm() };
            let (what, unit, most) = self.strength(joint, force);
            if now > most && self.active[joint.index()] {
                let detail = format!(
                    "its {what} of {now:.6e} {unit} is above its strength of {most} {unit}"
                );
                self.break_joint(joint, t, detail, events);
                found = true;
            }
        }
        found
    }

    fn break_joint(&mut self, joint: JointId, t: f64, detail: String, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.active[joint.index()], false) {
            return;
        }
        let name = self.model.joints[joint.index()].name.clone();
        events.push(Event::new(t, "broken", vec![name], detail));
        for (i, block) in self.model.rows.iter().enumerate() {
            if !block.is_active(&self.active) {
                self.mode[i] = Mode::Free;
                self.rows.out[i] = true;
            }
        }
    }

    /// Ropes and stops that are touched.
    fn touched(&mut self, t: f64) -> Vec<usize> {
        let model = self.model;
        let mut touched = Vec::new();
        for (i, block) in model.rows.iter().enumerate() {
            if !block.one_sided(model) || !block.is_active(&self.active) {
                continue;
            }
            let mut c = [0.0; MAX_ROWS];
            self.raw_error(i, t, &mut c[..block.n_rows]);
            if self.mode[i] == Mode::Holds
                || c[0] >= -block.tolerance.unwrap_or(TOUCHES).min(TOUCHES)
            {
                touched.push(i);
            }
        }
        touched
    }

    fn rate_of(&mut self, i: usize, t: f64) -> f64 {
        let mut c = [0.0; MAX_ROWS];
        let n = self.model.rows[i].n_rows;
        self.error_rate(i, t, &mut c[..n]);
        c[0]
    }

    /// Impacts at this instant, by Poisson's law: a compression after which nothing runs into what it touches (p ≤ 0, Ċ ≤ 0, p Ċ = 0),
    /// then each stop gives its part ε of the compression's impulse back. Joints stay closed; dry friction, a finite force, has no part
    /// in it. Whether there was any. `struck`: joints that can break by a force (true) or torque and had one, an impulse in no time.
    fn impacts(
        &mut self,
        switches: &mut Switches,
        touched: &[usize],
        t: f64,
        struck: &mut Vec<(JointId, bool)>,
        events: &mut Vec<Event>,
    ) -> Result<bool, SwitchError> {
        for round in 0..MAX_IMPACTS {
            let rates: Vec<f64> = touched.iter().map(|&i| self.rate_of(i, t)).collect();
            if !rates.iter().any(|rate| *rate > SLOW) {
                return Ok(round > 0);
            }
            let energy_before = self.kinetic_energy();
            let friction = self.friction_out();
            let impulses = self.compress(touched, &rates, t)?;
            self.see_struck(switches, &impulses, struck);
            let mut bounces = vec![0.0; self.model.n_rows()];
            let restitution = |i: usize| match &self.model.rows[i].kind {
                RowKind::Stop(stop) => stop.restitution,
                _ => 0.0,
            };
            // Where one is fast enough to bounce, all that were pressed give their part back, those that rested too.
            let fast = |(&i, rate): (&usize, &f64)| restitution(i) * rate > SLOWEST_BOUNCE;
            if round < ELASTIC_IMPACTS && touched.iter().zip(&rates).any(fast) {
                let list = touched.iter().zip(&rates).map(|(&i, &approach)| {
                    let compression = -impulses[self.model.rows[i].first_row].min(0.0);
                    (i, Bounce { restitution: restitution(i), compression, approach })
                });
                let list: Vec<_> = list.collect();
                self.give_back(switches.impact, touched, &list, &mut bounces, energy_before, t);
            }
            for &i in touched {
                self.set_mode(i, Mode::Free);
            }
            for (i, mode) in friction {
                self.set_mode(i, mode);
            }
            self.jacobians(t);
            switches.impact_loss += energy_before - self.kinetic_energy();
            for (&i, rate) in touched.iter().zip(&rates) {
                let p = impulses[self.model.rows[i].first_row];
                let bounce = bounces[self.model.rows[i].first_row];
                if p != 0.0 && (*rate > SLOW || bounce != 0.0) {
                    let after = self.rate_of(i, t);
                    events.push(self.impact_event(i, t, *rate, after, p + bounce));
                }
            }
        }
        Err(SwitchError::Unsettled(touched.first().copied().unwrap_or(0)))
    }

    /// Gives back what stops do by the law of impact, after the compression; impulses into `bounces`. What would be more energy than there was `before`
    /// is not given.
    fn give_back(
        &mut self,
        law: ImpactLaw,
        touched: &[usize],
        list: &[(usize, Bounce)],
        bounces: &mut [f64],
        before: f64,
        t: f64,
    ) {
        let row = |equations: &Self, i: usize| equations.model.rows[i].first_row;
        for (i, bounce) in list {
            bounces[row(self, *i)] = -law.first(bounce);
        }
        if bounces.iter().all(|p| *p == 0.0) {
            return;
        }
        let compressed = self.twists.clone();
        // The bounce has its part in what their stand-in moments take from the spins of thin rods.
        let from = self.held_rates(&compressed);
        let energy_compressed = self.kinetic_energy();
        let give = |equations: &mut Self, bounces: &[f64]| {
            equations.twists.copy_from_slice(&compressed);
            for &i in touched {
                equations.rows.out[i] = bounces[equations.model.rows[i].first_row] == 0.0;
            }
            equations.rows.apply(bounces, &mut equations.twists);
            for &i in touched {
                equations.rows.out[i] = true;
            }
            equations.fit_velocities_since(t, &from);
        };
        for _ in 0..MOST_ROUNDS {
            give(self, bounces);
            let mut met = true;
            for (i, bounce) in list {
                let p = bounces[row(self, *i)];
                if let Some(next) = law.next(bounce, -p, -self.rate_of(*i, t)) {
                    (bounces[row(self, *i)], met) = (-next, false);
                }
            }
            if met {
                break;
            }
        }
        // Velocities are linear in what is given back: E(s) = E_c + b s + c s².
        let energy = self.kinetic_energy();
        let first = list.first().map_or(0.0, |(_, bounce)| bounce.restitution);
        // With one ε for all none is made, but by prescribed motions.
        let mixed = list.iter().any(|(_, bounce)| bounce.restitution.to_bits() != first.to_bits());
        if mixed && energy > before {
            let half: Vec<f64> = bounces.iter().map(|p| 0.5 * p).collect();
            give(self, &half);
            let middle = self.kinetic_energy();
            let c = 2.0 * (energy + energy_compressed - 2.0 * middle);
            let b = energy - energy_compressed - c;
            let room = (before - energy_compressed).max(0.0);
            let root = (b * b + 4.0 * c * room).max(0.0).sqrt();
            let part = if b >= 0.0 { 2.0 * room / (b + root) } else { (root - b) / (2.0 * c) };
            let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
            bounces.iter_mut().for_each(|p| *p *= part);
            give(self, bounces);
        }
    }

    /// Notes the joints that can break and take part in an impact with these impulses.
    fn see_struck(
        &mut self,
        switches: &Switches,
        impulses: &[f64],
        struck: &mut Vec<(JointId, bool)>,
    ) {
        let breakable = |w: &Watched| match *w {
            Watched::Break(joint, force) if self.active[joint.index()] => Some((joint, force)),
            _ => None,
        };
        let breakable: Vec<(JointId, bool)> =
            switches.watched.iter().filter_map(breakable).collect();
        if breakable.is_empty() {
            return;
        }
        let forces = std::mem::replace(&mut self.lambda, impulses.to_vec());
        let reactions = self.reactions();
        self.lambda = forces;
        let largest = impulses.iter().fold(0.0, |a: f64, p| a.max(p.abs()));
        for (joint, force) in breakable {
            let reaction = &reactions[joint.index()];
            let p = if force { reaction.force.norm() } else { reaction.torque.norm() };
            if p > NO_FORCE * largest {
                struck.push((joint, force));
            }
        }
    }

    fn impact_event(&self, i: usize, t: f64, before: f64, after: f64, p: f64) -> Event {
        let block = &self.model.rows[i];
        let joint = block.joint().map(|id| self.model.joints[id.index()].name.clone());
        let (what, sign) = match &block.kind {
            RowKind::Stop(stop) => ("end stop", stop.side.sign()),
            _ => ("rope", 1.0),
        };
        let detail = format!(
            "{what} `{}`: velocity {:.6e} before, {:.6e} after, impulse {:.6e}",
            block.name,
            sign * before,
            sign * after,
            sign * p
        );
        Event::new(t, "impact", joint.into_iter().collect(), detail)
    }

    /// Takes dry friction out of the rows; gives back what it did.
    fn friction_out(&mut self) -> Vec<(usize, Mode)> {
        let is_friction = |i: &usize| matches!(self.model.rows[*i].kind, RowKind::Friction(_));
        let list: Vec<(usize, Mode)> =
            (0..self.mode.len()).filter(is_friction).map(|i| (i, self.mode[i])).collect();
        for &(i, _) in &list {
            self.rows.out[i] = true;
        }
        list
    }

    /// The compression: p of all rows. Leaves the velocities after it.
    fn compress(
        &mut self,
        touched: &[usize],
        rates: &[f64],
        t: f64,
    ) -> Result<Vec<f64>, SwitchError> {
        let start: Vec<Twist> = self.twists.clone();
        let mut holds: Vec<bool> = touched
            .iter()
            .zip(rates)
            .map(|(&i, rate)| *rate > SLOW || self.mode[i] == Mode::Holds)
            .collect();
        for _ in 0..20 + 4 * touched.len() * touched.len() {
            for (&i, holds) in touched.iter().zip(&holds) {
                self.rows.out[i] = !holds;
            }
            self.twists.copy_from_slice(&start);
            let impulses = self.fit_velocities(t);
            let largest = impulses.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            let mut wrong = None;
            for (k, &i) in touched.iter().enumerate() {
                let p = impulses[self.model.rows[i].first_row];
                let is_wrong =
                    if holds[k] { p > NO_FORCE * largest } else { self.rate_of(i, t) > SLOW };
                if is_wrong {
                    wrong = Some(k);
                    break;
                }
            }
            match wrong {
                Some(k) => holds[k] = !holds[k],
                None => return Ok(impulses),
            }
        }
        Err(SwitchError::Unsettled(touched.first().copied().unwrap_or(0)))
    }

    fn kinetic_energy(&self) -> f64 {
        let mut sum = 0.0;
        for place in &self.layout.places {
            let (body, twist) = (&self.model.bodies[place.body], &self.twists[place.body]);
            let omega = self.poses[place.body].rot.tr_mul(&twist.omega);
            let spin = body.inertia.component_mul(&omega).dot(&omega);
            sum += 0.5 * (body.mass * twist.s_dot.norm_squared() + spin);
        }
        sum
    }

    /// Which of the blocks that touch or rest hold, so that forces and accelerations have the right signs.
    fn settle(&mut self, switches: &Switches, t: f64) -> Result<(), SwitchError> {
        let model = self.model;
        self.jacobians(t);
        // Blocks that may hold or not; others are set for good.
        let mut open: Vec<usize> = Vec::new();
        for i in self.touched(t) {
            let rate = self.rate_of(i, t);
            if rate.abs() <= 10.0 * SLOW {
                open.push(i);
            } else {
                self.set_mode(i, Mode::Free);
            }
        }
        for (i, block) in model.rows.iter().enumerate() {
            let RowKind::Friction(friction) = &block.kind else { continue };
            if !block.is_active(&self.active) {
                continue;
            }
            let at = instant(t, &self.poses, &self.twists, &self.coordinates);
            let rate = model.joint_velocity(friction.joint, friction.which, &at);
            if switches.prescribed[i] {
                if rate.abs() > SLOW {
                    self.set_mode(i, Mode::Slips(rate.signum()));
                }
                continue;
            }
            if rate.abs() > SLOW {
                self.set_mode(i, Mode::Slips(rate.signum()));
                continue;
            }
            if self.mode[i] == Mode::Free {
                self.held[friction.slot] =
                    model.joint_coordinate(friction.joint, friction.which, &at);
                self.set_mode(i, Mode::Holds);
            }
            open.push(i);
        }
        open.sort_unstable();
        for _ in 0..20 + 8 * open.len() * open.len().max(1) {
            self.accelerate(t);
            let Some((i, mode)) = self.first_wrong(&open) else {
                self.side_with_motion(switches);
                return Ok(());
            };
            if let (RowKind::Friction(friction), Mode::Holds) = (&model.rows[i].kind, mode) {
                let at = instant(t, &self.poses, &self.twists, &self.coordinates);
                self.held[friction.slot] =
                    model.joint_coordinate(friction.joint, friction.which, &at);
            }
            self.set_mode(i, mode);
        }
        Err(SwitchError::Unsettled(open.first().copied().unwrap_or(0)))
    }

    /// Friction of a prescribed motion that begins from rest slips the way the motion goes.
    fn side_with_motion(&mut self, switches: &Switches) {
        for i in (0..self.mode.len()).filter(|&i| switches.prescribed[i]) {
            let row = self.model.rows[i].first_row;
            if self.mode[i] != Mode::Free || !self.model.rows[i].is_active(&self.active) {
                continue;
            }
            let mut rise = [0.0];
            self.rows.rate(i, &self.accelerations, &mut rise);
            let rise = rise[0] - self.gamma[row];
            self.set_mode(i, Mode::Slips(if rise < 0.0 { -1.0 } else { 1.0 }));
        }
    }

    /// The first block of the list whose mode contradicts the forces, and the mode it should have.
    fn first_wrong(&self, open: &[usize]) -> Option<(usize, Mode)> {
        let largest_force = self.lambda.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let size = |twist: &Twist| twist.s_dot.amax().max(twist.omega.amax());
        let largest = self.accelerations.iter().map(size).fold(0.0, f64::max);
        let no_force = NO_FORCE * largest_force;
        // Accelerations up to this are none.
        let no_rise = 1e-9 * largest.max(1e-3);
        for &i in open {
            let block = &self.model.rows[i];
            let lambda = self.lambda[block.first_row];
            let mut rise = [0.0; MAX_ROWS];
            self.rows.rate(i, &self.accelerations, &mut rise[..block.n_rows]);
            let rise = rise[0] - self.gamma[block.first_row];
            let mode = match (&block.kind, self.mode[i]) {
                (RowKind::Friction(f), Mode::Holds) if lambda.abs() > f.force + no_force => {
                    Mode::Slips(-lambda.signum())
                }
                (RowKind::Friction(_), Mode::Slips(sign)) if sign * rise < -no_rise => Mode::Holds,
                (RowKind::Friction(_), _) => continue,
                (_, Mode::Holds) if lambda > no_force => Mode::Free,
                (_, Mode::Free) if rise > no_rise => Mode::Holds,
                _ => continue,
            };
            return Some((i, mode));
        }
        None
    }
}
