//! Joints without loops, and what their bodies touch: Newton with a factor of the whole machine in linear time.
//!
//! Joints are eliminated from the leaves ([`factor`]); what is left are the rows of the contacts, a small dense problem ([`touches`]).
//! Dampers along joint coordinates are part of the factor, so that servos of any strength take no rounds.

mod crew;
mod factor;
mod feet;
mod laws;
mod limbs;
mod pattern;
mod settle;
mod stage;
mod touches;
mod triangle;

use gelenk_model::math::Vec3;
use gelenk_model::rows::Instant;
use gelenk_model::{Model, State, Twist};

pub(crate) use self::stage::{land_in_lanes, settle_end, settle_start};

use self::crew::Crew;
use self::factor::Factor;
use self::feet::Feet;
use self::laws::Laws;
use self::limbs::Limbs;
use self::pattern::{LANES, MOST, NOWHERE, Pattern};
use self::touches::{Near, Touches};
use super::direct::bounded::{
    larger, look_ahead, look_ahead_from, look_at_velocities, look_at_velocities_from,
    slip_tolerance,
};
use crate::bounds::Bound;
use crate::drives::Drives;
use crate::hinges::Hinges;
use crate::lanes::F;
use crate::method::Method;
use crate::rows::{Look, Rows};
use crate::scratch::{Bodies, Scratch};
use crate::small;

/// The tree of a model's joints.
#[derive(Clone, Debug)]
pub struct Tree {
    pattern: Pattern,
    factor: Factor,
    /// In place of the factor, where all joints are hinges, and their bodies in the same lanes.
    limbs: Option<Limbs>,
    crew: Option<Crew>,
    /// Whether the rates of the hinges are in the lanes of the factor, and those who are to get velocities the crew.
    in_lanes: bool,
    /// Whether a whole stage goes in lanes: bodies get nothing in between.
    stays: bool,
    /// Whether the flight that the crew has looked at is the one to be made.
    flown: bool,
    /// The hinge in each of their lanes, and the errors of its rows and its damper, then their impulses.
    lanes: Vec<[Lane; LANES]>,
    p: Vec<limbs::Sixes>,
    laws: Laws,
    touches: Touches,
    /// In place of them, where all are feet of legs apart, and whether they are.
    feet: Feet,
    on_feet: bool,
    /// Axes with laws along the joint of each node. (nodes)
    axes: Vec<Vec<usize>>,
    /// Rates of the rows to be closed. (n_rows)
    e: Vec<f64>,
    /// Velocities in the middle of a step. (n_bodies)
    twists: Vec<Twist>,
    /// Errors of the dampers. (axes)
    pulls: Vec<f64>,
    /// Whether the factor belongs to the present rows, with dampers or without.
    made: Option<Made>,
}

/// A lane with a hinge, or without.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// Its first row.
    row: Option<usize>,
    /// Its driven axis.
    axis: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Hard,
    Soft,
    /// It cannot be made.
    Singular,
}

impl Tree {
    /// The tree of the model's joints, if they are one.
    pub(crate) fn new(rows: &Rows, bodies: &Bodies, drives: &Drives) -> Option<Tree> {
        let pattern = Pattern::new(rows, bodies)?;
        let mut axes = vec![Vec::new(); pattern.nodes.len()];
        for (k, driven) in drives.axes.iter().enumerate() {
            // The node of b that hangs on a, or the other way round.
            let node = [0, 1].into_iter().find_map(|side| {
                let node = pattern.node_of[driven.bodies[side]];
                let other = pattern.node_of[driven.bodies[1 - side]];
                let own = pattern.nodes.get(node)?;
                (own.parent == other && !own.rows.is_empty()).then_some(node)
            });
            if let Some(node) = node
                && pattern.nodes[node].rows.len() + axes[node].len() < MOST
            {
                axes[node].push(k);
            }
        }
        let factor = Factor::new(&pattern);
        let touches = Touches::default();
        Some(Tree {
            pattern,
            factor,
            limbs: None,
            crew: None,
            in_lanes: false,
            stays: false,
            flown: false,
            lanes: Vec::new(),
            p: Vec::new(),
            laws: Laws::default(),
            touches,
            feet: Feet::default(),
            on_feet: false,
            axes,
            e: Vec::new(),
            twists: Vec::with_capacity(bodies.fixed.len()),
            pulls: vec![0.0; drives.axes.len()],
            made: None,
        })
    }

    /// The block of the joint of each node. (nodes)
    pub(crate) fn lanes(&self, rows: &Rows) -> Vec<Option<usize>> {
        let block = |row: &pattern::Row| rows.blocks.iter().position(|b| b.first_row == row.number);
        self.pattern.nodes.iter().map(|node| node.rows.first().and_then(block)).collect()
    }

    /// All joints are `hinges`, in the lanes of the nodes.
    pub(crate) fn use_hinges(&mut self, hinges: &Hinges, bodies: &Bodies, drives: &Drives) {
        self.limbs = Some(Limbs::new(&self.pattern, hinges, bodies));
        self.crew = Some(Crew::new(&self.pattern, hinges, bodies));
        self.p = vec![[F::ZERO; 6]; self.pattern.nodes.len() / LANES];
        let own = |i: usize| Lane {
            row: self.pattern.nodes[i].rows.first().map(|row| row.number),
            axis: self.axes[i].first().copied(),
        };
        let groups = 0..self.pattern.nodes.len() / LANES;
        self.lanes = groups.map(|g| std::array::from_fn(|k| own(LANES * g + k))).collect();
        self.laws = Laws::new(&self.lanes, drives);
    }

    /// Forgets what contacts did before: a step depends on its state alone.
    pub(crate) fn forget_sides(&mut self) {
        self.touches.forget();
        self.feet.forget();
    }

    /// Marks the factor as out of date.
    pub(crate) fn forget(&mut self) {
        self.made = None;
        if let Some(crew) = &mut self.crew {
            crew.forget();
        }
        if let Some(limbs) = &mut self.limbs {
            limbs.forget();
        }
    }

    /// The factor without dampers at the present rows; false if there is none.
    fn make_hard(&mut self, rows: &Rows, bodies: &Bodies) -> bool {
        if self.made == Some(Made::Hard) {
            return true;
        }
        if self.made == Some(Made::Singular) {
            return false;
        }
        let Tree { pattern, factor, limbs, .. } = self;
        let good = match (limbs, &rows.hinges) {
            (Some(limbs), Some(hinges)) => limbs.make(hinges, bodies, |_| F::ZERO),
            _ => factor.make(pattern, rows, bodies, |_| &[]),
        };
        self.made = Some(if good { Made::Hard } else { Made::Singular });
        good
    }

    /// The same; where feet can be looked at in lanes, with this tolerance of gaps, they are.
    fn take_touches_in(&mut self, rows: &Rows, lanes: Option<f64>) -> bool {
        let Tree { pattern, factor, limbs, touches, feet, on_feet, crew, .. } = self;
        let Some(limbs) = limbs else { return touches.take(pattern, factor, rows) };
        *on_feet = feet.take(pattern, limbs, rows, crew.as_ref().zip(lanes));
        *on_feet || touches.take(pattern, limbs, rows)
    }

    /// Whether rates and impulses of all contacts are in lanes.
    fn has_soles(&self) -> bool {
        self.on_feet && self.feet.has_soles()
    }

    /// The rates that a look has left.
    fn take_rates(&mut self, rows: &Rows) {
        if self.has_soles() {
            return; // they are there
        }
        self.e.resize(rows.error.len(), 0.0);
        let first = if self.in_lanes { rows.model_size.rows } else { 0 };
        for (e, error) in self.e.iter_mut().zip(&rows.error).skip(first) {
            *e = -error;
        }
        self.pulls.fill(0.0);
    }

    /// Looks at C(t+h) after a solve; see [`look_ahead`].
    fn look_ahead(
        &mut self,
        model: &Model,
        method: &Method,
        look: &Look<'_>,
        floor: f64,
        scratch: &mut Scratch,
    ) -> f64 {
        let Scratch { rows, bodies, .. } = &mut *scratch;
        let (true, Some(crew), Some(hinges)) = (self.in_lanes, &mut self.crew, &rows.hinges) else {
            return look_ahead(model, method, look, floor, scratch);
        };
        let allowed = |group: &crate::hinges::Group| group.allowed(method.tolerance, floor);
        let worst = crew.look_ahead(hinges, bodies, look.h, allowed, &mut self.p);
        if self.on_feet && self.feet.has_soles() {
            let feet = self.feet.look_ahead(crew, look.h, method.tolerance.max(floor));
            return larger(worst, feet);
        }
        for body in rows.contacts.iter().flat_map(|contact| contact.touch.bodies) {
            if self.pattern.node_of[body] != NOWHERE {
                crew.write_flight(self.pattern.node_of[body], bodies);
            }
        }
        let first = rows.first_apart();
        larger(worst, look_ahead_from(first, model, method, look, floor, scratch))
    }

    /// Looks at J v + C_t after a solve; see [`look_at_velocities`].
    fn look_at_velocities(&mut self, tolerance: f64, scratch: &mut Scratch) -> f64 {
        let Scratch { rows, bodies, .. } = &mut *scratch;
        let (true, Some(crew), Some(hinges)) = (self.in_lanes, &mut self.crew, &rows.hinges) else {
            return look_at_velocities(tolerance, scratch);
        };
        let worst = crew.rates(hinges, &mut self.p) / tolerance;
        crew.note_errors(hinges, &mut rows.velocity_error);
        if self.on_feet && self.feet.has_soles() {
            let slip = slip_tolerance(tolerance, bodies);
            let feet = self.feet.look_at_rates(crew, tolerance, slip);
            self.feet.note_rates(rows);
            return larger(worst, feet);
        }
        let first = rows.first_apart();
        larger(worst, look_at_velocities_from(first, tolerance, scratch))
    }

    /// The rates of a position correction to second order: (C + h J v + h²/2 (J a − γ))/h, a the acceleration in free flight.
    ///
    /// a and γ are those of the velocities there are, with a `guess`, or else of those before all impulses.
    /// Returns the largest.
    fn take_start(
        &mut self,
        model: &Model,
        look: &Look<'_>,
        scratch: &mut Scratch,
        guess: bool,
    ) -> f64 {
        let Scratch { rows, bodies, work, .. } = scratch;
        let half = 0.5 * look.h;
        let twists = if guess { &bodies.twists } else { &bodies.twists_before };
        let middle = |i: usize| {
            let twist = &bodies.twists[i];
            let omega = twist.omega + bodies.turns_faster(i, &twists[i].omega) * half;
            Twist { s_dot: twist.s_dot + bodies.gravity[i] * half, omega }
        };
        let (t, poses, coordinates) = (look.t - look.h, &bodies.poses, look.coordinates);
        let at = Instant { t, poses, twists, coordinates };
        self.e.resize(rows.error.len(), 0.0);
        self.twists.resize(bodies.twists.len(), Twist::zero());
        let first = rows.first_apart();
        let mut largest = 0.0;
        if let (true, Some(crew), Some(hinges)) = (self.in_lanes, &mut self.crew, &rows.hinges) {
            largest = crew.rates_ahead(hinges, half, &mut self.p);
            let soles = self.on_feet && self.feet.has_soles();
            let feet = if soles { self.feet.rates_ahead(crew, look.h) } else { 0.0 };
            crew.end_calm();
            if soles {
                return larger(largest, feet);
            }
            for i in rows.contacts.iter().flat_map(|contact| contact.touch.bodies) {
                self.twists[i] = middle(i);
            }
        } else {
            for (i, twist) in self.twists.iter_mut().enumerate() {
                *twist = middle(i);
            }
            if let (Some(hinges), 1..) = (&rows.hinges, first) {
                hinges.rates_ahead(&self.twists, twists, half, &mut self.e);
            }
        }
        for (i, block) in rows.blocks.iter().enumerate().skip(first) {
            let e = &mut self.e[block.first_row..block.first_row + block.n_rows];
            if rows.inactive[i] {
                e.fill(0.0);
                continue;
            }
            rows.error_rate(i, &self.twists, e);
            if let Some(own) = model.rows.get(i) {
                let mut gamma = [0.0; small::MAX];
                own.gamma(model, &at, work, &mut gamma[..block.n_rows]);
                for (e, gamma) in e.iter_mut().zip(gamma) {
                    *e -= half * gamma;
                }
                continue;
            }
            // Of a contact: the points of its features go round both centres.
            let contact = rows.contact(i);
            let [point_a, point_b] = contact.feature_points();
            let round = |body: usize, point: Vec3| {
                let (omega, r) = (&twists[body].omega, point - poses[body].s);
                omega.cross(&omega.cross(&r))
            };
            let [a, b] = contact.touch.bodies;
            let bend = (round(a, point_a) - round(b, point_b)) * half;
            if block.bound == Bound::Contact {
                e[0] -= contact.place.normal.dot(&bend) + contact.place.gap / look.h;
            } else if rows.is_slide(i) {
                e[0] += contact.tangents[0].dot(&bend);
                e[1] += contact.tangents[1].dot(&bend);
            }
        }
        self.pulls.fill(0.0);
        let apart = if self.in_lanes { rows.model_size.rows } else { 0 };
        self.e[apart..].iter().fold(largest, |most, e| larger(most, e.abs()))
    }

    /// Closes the rates `e` with impulses within their bounds, `pulls` the errors of the dampers: changes impulses and velocities.
    /// False, and nothing done, where the contacts do not settle.
    fn solve(&mut self, rows: &mut Rows, bodies: &mut Bodies, velocity: bool, near: Near) -> bool {
        if self.limbs.is_some() {
            return self.solve_limbs(rows, bodies, velocity, near);
        }
        let Tree { pattern, factor, touches, axes, e, pulls, .. } = self;
        for (i, node) in pattern.nodes.iter().enumerate() {
            let (p, lane) = (&mut factor.p[i / LANES], i % LANES);
            for (a, row) in node.rows.iter().enumerate() {
                p[a][lane] = e[row.number];
            }
            for (a, &k) in (node.rows.len()..).zip(&axes[i]) {
                p[a][lane] = pulls[k];
            }
            for a in node.rows.len() + axes[i].len()..MOST {
                p[a][lane] = 0.0;
            }
        }
        for b in &mut factor.b {
            *b = [[0.0; LANES]; 6];
        }
        factor.climb(pattern);
        let now = if velocity { &rows.velocity_impulse } else { &rows.impulse };
        if !touches.settle(factor, rows, e, now, near, false) {
            return false;
        }
        touches.push(factor);
        factor.descend(pattern);
        // What the rows give, so that every impulse has its opposite.
        let mut delta = std::mem::take(&mut rows.solution);
        delta.fill(0.0);
        let now = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
        for (i, node) in pattern.nodes.iter().enumerate() {
            for (a, row) in node.rows.iter().enumerate() {
                delta[row.number] = factor.p[i / LANES][a][i % LANES];
                now[row.number] += delta[row.number];
            }
        }
        for (row, p) in touches.found() {
            delta[row] = p - now[row];
            now[row] = p;
        }
        rows.apply_to_all(&delta, bodies);
        rows.solution = delta;
        true
    }

    /// The same where all joints are hinges; bodies get their velocities at once.
    fn solve_limbs(
        &mut self,
        rows: &mut Rows,
        bodies: &mut Bodies,
        velocity: bool,
        near: Near,
    ) -> bool {
        let Tree {
            pattern,
            p,
            limbs: Some(limbs),
            lanes,
            touches,
            feet,
            on_feet,
            e,
            pulls,
            crew,
            in_lanes,
            ..
        } = self
        else {
            return false;
        };
        for (p, lanes) in p.iter_mut().zip(lanes.iter()).filter(|_| !*in_lanes) {
            for (lane, own) in lanes.iter().enumerate() {
                let Some(first) = own.row else { continue };
                let e: &[f64] = &e[first..first + 5];
                for k in 0..5 {
                    p[k].as_mut_array()[lane] = e[k];
                }
                p[5].as_mut_array()[lane] = own.axis.map_or(0.0, |axis| pulls[axis]);
            }
        }
        limbs.climb(p);
        let mut tried = false;
        if *on_feet
            && !feet.settle(
                limbs,
                e,
                if velocity { &rows.velocity_impulse } else { &rows.impulse },
                near,
            )
        {
            // Sweeps may find the way.
            let now = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
            feet.give_up_soles(e, now);
            (*on_feet, tried) = (false, true);
            if !touches.take(pattern, limbs, rows) {
                return false;
            }
        }
        if *on_feet {
            feet.push(limbs);
        } else {
            let now = if velocity { &rows.velocity_impulse } else { &rows.impulse };
            if !touches.settle(limbs, rows, e, now, near, tried) {
                return false;
            }
            touches.push(limbs);
        }
        limbs.descend(p);
        let now = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
        if *on_feet {
            feet.found().filter(|_| !feet.has_soles()).for_each(|(row, p)| now[row] = p);
        } else {
            touches.found().for_each(|(row, p)| now[row] = p);
        }
        if let (true, Some(crew)) = (*in_lanes, crew) {
            crew.take(limbs, p);
            return true;
        }
        limbs.give(bodies);
        for (p, lanes) in p.iter().zip(lanes.iter()) {
            for (lane, own) in lanes.iter().enumerate() {
                let Some(first) = own.row else { continue };
                let now = &mut now[first..first + 5];
                for k in 0..5 {
                    now[k] += p[k].as_array()[lane];
                }
            }
        }
        true
    }

    /// Gives the bodies what the crew has found, with their flights where `flown`, and the impulses to those there are.
    fn leave_lanes(&mut self, flown: bool, bodies: &mut Bodies, impulse: &mut [f64]) {
        if let (true, Some(crew)) = (self.in_lanes, &self.crew) {
            crew.write(flown, bodies);
            self.add_impulses(flown, impulse);
        }
    }

    /// Adds the impulses that the crew has found to those there are.
    fn add_impulses(&mut self, flown: bool, impulse: &mut [f64]) {
        if let Some(crew) = &mut self.crew {
            crew.add_impulses(&self.lanes, impulse);
            self.flown = flown;
        }
    }

    /// The state after free flight over `h`, where a position correction has just looked at it: false, and nothing done, elsewhere.
    pub(crate) fn land(&mut self, bodies: &Bodies, h: f64, state: &mut State) -> bool {
        let flown = std::mem::take(&mut self.flown);
        self.crew.as_mut().is_some_and(|crew| flown && crew.land(bodies, h, state))
    }
}

#[cfg(test)]
mod tests {
    use crate::Simulation;

    /// Steps of a machine that walks, with its bodies in lanes and one by one: the same but for rounding.
    #[test]
    fn lanes_agree_with_bodies() {
        let scene = gelenk_scenes::scene("hexapod").expect("the walking machine");
        let options = gelenk_model::LoadOptions::default();
        let model =
            gelenk_model::load_text("hexapod", scene.text, &options).expect("a model").model;
        let mut simulation = Simulation::new(&model, &model.run).expect("it starts");
        for _ in 0..15 {
            for _ in 0..10 {
                simulation.step().expect("it walks");
            }
            let (method, h) = (&simulation.method, simulation.h);
            let found = [true, false].map(|in_lanes| {
                let (mut state, mut scratch) =
                    (simulation.state.clone(), simulation.scratch.clone());
                if !in_lanes && let Some(tree) = &mut scratch.tree {
                    (tree.crew, tree.in_lanes) = (None, false);
                }
                crate::step::step(&model, method, &mut state, &mut scratch, h).expect("a step");
                let tree = scratch.tree.expect("its joints are a tree");
                assert_eq!(tree.in_lanes, in_lanes);
                state
            });
            for i in 0..model.n_bodies() {
                let far = (found[0].s[i] - found[1].s[i]).amax();
                let turned = found[0].rot[i].angle_to(&found[1].rot[i]);
                // The other way is the graph's, with its own errors within tolerance.
                let most = method.tolerance;
                assert!(far < most && turned < 1e-7, "body {i}: {far} m, {turned} rad");
                let faster = (found[0].s_dot[i] - found[1].s_dot[i]).amax();
                let turns = (found[0].omega[i] - found[1].omega[i]).amax();
                assert!(
                    faster < most / h && turns < most / h,
                    "body {i}: {faster} m/s, {turns} rad/s"
                );
            }
        }
    }

    /// A step of a machine that walks depends on its state alone: with nothing known from the step before it is the same, to the bit.
    #[test]
    fn steps_depend_on_their_state_alone() {
        let scene = gelenk_scenes::scene("hexapod").expect("the walking machine");
        let options = gelenk_model::LoadOptions::default();
        let model =
            gelenk_model::load_text("hexapod", scene.text, &options).expect("a model").model;
        let mut simulation = Simulation::new(&model, &model.run).expect("it starts");
        for _ in 0..40 {
            for _ in 0..7 {
                simulation.step().expect("it walks");
            }
            let (method, h) = (&simulation.method, simulation.h);
            let found = [true, false].map(|known| {
                let (mut state, mut scratch) =
                    (simulation.state.clone(), simulation.scratch.clone());
                if !known {
                    scratch.bodies.forget_state();
                    scratch.rows.ready = false;
                    scratch.loads.known = false;
                    scratch.loads.drives.ready = false;
                    scratch.loads.signals_at = None;
                    scratch.forget_poses();
                }
                crate::step::step(&model, method, &mut state, &mut scratch, h).expect("a step");
                state
            });
            assert_eq!(found[0], found[1], "after {} s", simulation.state.t);
        }
    }
}
