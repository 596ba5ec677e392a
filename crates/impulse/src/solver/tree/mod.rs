//! Joints without loops, and what their bodies touch: Newton with a factor of the whole machine in linear time.
//!
//! Joints are eliminated from the leaves ([`factor`]); what is left are the rows of the contacts, a small dense problem ([`touches`]).
//! Dampers along joint coordinates are part of the factor, so that servos of any strength take no rounds.

mod factor;
mod limbs;
mod pattern;
mod touches;
mod triangle;

use gelenk_model::math::Vec3;
use gelenk_model::rows::Instant;
use gelenk_model::{Model, State, Twist};

use self::factor::{Factor, Soft};
use self::limbs::Limbs;
use self::pattern::{LANES, MOST, NOWHERE, Pattern};
use self::touches::{Near, Touches};
use super::direct::bounded::{look_ahead, look_at_velocities, slip_tolerance};
use crate::bounds::{Bound, SLIP_PART};
use crate::drives::Drives;
use crate::error::StepError;
use crate::hinges::Hinges;
use crate::kick::{evaluate_loads, kick};
use crate::method::Method;
use crate::rows::{Look, Rows};
use crate::scratch::{Bodies, Loads, Scratch};
use crate::small;
use crate::step::{largest_change, velocity_floor_of};

/// Most solves of a correction.
const MOST_SOLVES: u64 = 12;

/// Most rounds in which laws that read velocities settle.
const MOST_ROUNDS: u32 = 8;

/// Velocities have settled where another round would change them by less than this part of the tolerance.
const NEAR: f64 = 0.3;

/// How far friction that slips may be off, as a part of the rates: in the first solve, where another look follows, and where none does.
const ROUGH: f64 = 1e-3;
const AHEAD: f64 = 1e-10;
const AT_ONCE: f64 = 1e-13;

/// The same as a part of what it is off by before the second solve, which a third one follows.
const BEGUN: f64 = 1e-3;

/// The same as a part of what a look will let pass.
const LET_PASS: f64 = 0.1;

/// A guess that leaves rates beyond this is none, m/s or rad/s.
const POOR_GUESS: f64 = 1.0;

/// What is within tolerance is corrected once more down to this part of it, where solves leave no more than the part [`GAIN`] of the error: impulses of
/// joints act on two bodies a gap apart, and the moment of that is missing in the angular momentum. Machines of hinges go without.
const DEEP: f64 = 0.01;
const GAIN: f64 = 0.1;

/// A worst error that grows to this times the first is lost.
const LOST: f64 = 1e4;

/// The tree of a model's joints.
#[derive(Clone, Debug)]
pub struct Tree {
    pattern: Pattern,
    factor: Factor,
    /// In place of the factor, where all joints are hinges.
    limbs: Option<Limbs>,
    /// First row and driven axis of the hinge in each of their lanes.
    lanes: Vec<[Option<(usize, Option<usize>)>; LANES]>,
    touches: Touches,
    /// Axes with laws along the joint of each node. (nodes)
    axes: Vec<Vec<usize>>,
    /// The dampers of the present factor, one node after the other, and where those of a node begin. (nodes + 1)
    soft: Vec<Soft>,
    first_soft: Vec<usize>,
    /// Rates of the rows to be closed. (n_rows)
    e: Vec<f64>,
    /// Velocities in the middle of a step. (n_bodies)
    twists: Vec<Twist>,
    /// Errors of the dampers. (axes)
    pulls: Vec<f64>,
    /// Whether the factor belongs to the present rows, with dampers or without.
    made: Option<Made>,
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
        let mut first_soft = vec![0];
        for own in &axes {
            first_soft.push(first_soft.last().map_or(0, |first| first + own.len()));
        }
        let soft = vec![Soft::default(); axes.iter().map(Vec::len).sum()];
        let factor = Factor::new(&pattern);
        let touches = Touches::default();
        Some(Tree {
            pattern,
            factor,
            limbs: None,
            lanes: Vec::new(),
            touches,
            axes,
            soft,
            first_soft,
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
    pub(crate) fn use_hinges(&mut self, hinges: &Hinges, bodies: &Bodies) {
        self.limbs = Some(Limbs::new(&self.pattern, hinges, bodies));
        let own = |i: usize| {
            let first = self.pattern.nodes[i].rows.first()?;
            Some((first.number, self.axes[i].first().copied()))
        };
        let groups = 0..self.pattern.nodes.len() / LANES;
        self.lanes = groups.map(|g| std::array::from_fn(|k| own(LANES * g + k))).collect();
    }

    /// Forgets what contacts did before: a step depends on its state alone.
    pub(crate) fn forget_sides(&mut self) {
        self.touches.forget();
    }

    /// Marks the factor as out of date.
    pub(crate) fn forget(&mut self) {
        self.made = None;
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
            (Some(limbs), Some(hinges)) => limbs.make(hinges, bodies, |_| 0.0),
            _ => factor.make(pattern, rows, bodies, |_| &[]),
        };
        self.made = Some(if good { Made::Hard } else { Made::Singular });
        good
    }

    /// The factor with the dampers of the drives over `h`/2.
    fn make_soft(&mut self, rows: &Rows, bodies: &Bodies, drives: &Drives, h: f64) -> bool {
        for (node, axes) in self.axes.iter().enumerate() {
            let own = &mut self.soft[self.first_soft[node]..self.first_soft[node + 1]];
            for (soft, &k) in own.iter_mut().zip(axes) {
                let driven = &drives.axes[k];
                soft.weight = 0.5 * h * driven.damping;
                if self.limbs.is_some() {
                    continue; // the axis is the hinge's
                }
                let side = usize::from(driven.bodies[1] == self.pattern.nodes[node].body);
                soft.own.copy_from_slice(&driven.row[6 * side..][..6]);
                soft.other.copy_from_slice(&driven.row[6 * (1 - side)..][..6]);
            }
        }
        let Tree { pattern, factor, limbs, soft, first_soft, .. } = self;
        let own = |i: usize| &soft[first_soft[i]..first_soft[i + 1]];
        let good = match (limbs, &rows.hinges) {
            (Some(limbs), Some(hinges)) => limbs
                .make(hinges, bodies, |i| own(i).first().map_or(0.0, |soft| soft.weight.max(0.0))),
            _ => factor.make(pattern, rows, bodies, own),
        };
        self.made = good.then_some(Made::Soft);
        good
    }

    /// Takes the contacts that are active; false if there are too many.
    fn take_touches(&mut self, rows: &Rows) -> bool {
        match &self.limbs {
            Some(limbs) => self.touches.take(&self.pattern, limbs, rows),
            None => self.touches.take(&self.pattern, &self.factor, rows),
        }
    }

    /// The rates that a look has left.
    fn take_rates(&mut self, rows: &Rows) {
        self.e.clear();
        self.e.extend(rows.error.iter().map(|error| -error));
        self.pulls.fill(0.0);
    }

    /// The rates J v + C_t there are.
    fn take_rates_now(&mut self, rows: &Rows, bodies: &Bodies) {
        self.e.resize(rows.error.len(), 0.0);
        rows.rates(&bodies.twists, &mut self.e);
        self.pulls.fill(0.0);
    }

    /// The rates of a position correction to second order: (C + h J v + h²/2 (J a − γ))/h, a the acceleration in free flight.
    ///
    /// a and γ are those of the velocities there are, with a `guess`, or else of those before all impulses.
    fn take_start(&mut self, model: &Model, look: &Look<'_>, scratch: &mut Scratch, guess: bool) {
        let Scratch { rows, bodies, work, .. } = scratch;
        let half = 0.5 * look.h;
        let twists = if guess { &bodies.twists } else { &bodies.twists_before };
        self.twists.clear();
        for (i, twist) in bodies.twists.iter().enumerate() {
            let omega = twist.omega + bodies.turns_faster(i, &twists[i].omega) * half;
            self.twists.push(Twist { s_dot: twist.s_dot + bodies.gravity[i] * half, omega });
        }
        let (t, poses, coordinates) = (look.t - look.h, &bodies.poses, look.coordinates);
        let at = Instant { t, poses, twists, coordinates };
        self.e.resize(rows.error.len(), 0.0);
        let first = rows.first_apart();
        if let (Some(hinges), 1..) = (&rows.hinges, first) {
            hinges.rates_ahead(&self.twists, twists, half, &mut self.e);
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
    }

    /// Gives the bodies the impulses of the dampers that a solve has found.
    fn give_dampers(&self, bodies: &mut Bodies) {
        if self.limbs.is_some() {
            return; // they have them
        }
        for (i, node) in self.pattern.nodes.iter().enumerate() {
            let soft = &self.soft[self.first_soft[i]..self.first_soft[i + 1]];
            for (a, soft) in (node.rows.len()..).zip(soft) {
                let p = self.factor.p[i / LANES][a][i % LANES];
                let parent = self.pattern.nodes.get(node.parent).map_or(NOWHERE, |up| up.body);
                for (body, w) in [(node.body, &soft.own), (parent, &soft.other)] {
                    if body != NOWHERE && soft.weight > 0.0 {
                        let twist = &mut bodies.twists[body];
                        twist.s_dot += Vec3::new(w[0], w[1], w[2]) * (bodies.mass_inv[body] * p);
                        let torque = Vec3::new(w[3], w[4], w[5]) * p;
                        twist.omega += bodies.inertia_inv_world[body] * torque;
                        bodies.touch(body);
                    }
                }
            }
        }
    }

    /// Whether the dampers are others than those of the factor.
    fn dampers_changed(&self, drives: &Drives, h: f64) -> bool {
        self.axes.iter().enumerate().any(|(node, axes)| {
            let own = &self.soft[self.first_soft[node]..self.first_soft[node + 1]];
            own.iter().zip(axes).any(|(soft, &k)| {
                soft.weight.total_cmp(&(0.5 * h * drives.axes[k].damping)).is_ne()
            })
        })
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
        if !touches.settle(factor, rows, e, now, near) {
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
        let Tree { factor, limbs: Some(limbs), lanes, touches, e, pulls, .. } = self else {
            return false;
        };
        for (p, lanes) in factor.p.iter_mut().zip(lanes.iter()) {
            for (lane, own) in lanes.iter().enumerate() {
                let Some((first, axis)) = *own else { continue };
                let e: &[f64] = &e[first..first + 5];
                for k in 0..5 {
                    p[k][lane] = e[k];
                }
                p[5][lane] = axis.map_or(0.0, |axis| pulls[axis]);
            }
        }
        limbs.climb(&factor.p);
        let now = if velocity { &rows.velocity_impulse } else { &rows.impulse };
        if !touches.settle(limbs, rows, e, now, near) {
            return false;
        }
        touches.push(limbs);
        limbs.descend(&mut factor.p);
        limbs.give(bodies);
        let now = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
        for (p, lanes) in factor.p.iter().zip(lanes.iter()) {
            for (lane, own) in lanes.iter().enumerate() {
                let Some((first, _)) = *own else { continue };
                let now = &mut now[first..first + 5];
                for k in 0..5 {
                    now[k] += p[k][lane];
                }
            }
        }
        for (row, p) in touches.found() {
            now[row] = p;
        }
        true
    }
}

impl Scratch {
    /// Runs `solve` with the tree, if it can be used: all joints are there, and its factor can be made.
    fn with_tree<T>(
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
        let (mut first, mut before) = (f64::INFINITY, f64::INFINITY);
        // A first solve with rates as they would be without curvature, from the start's: no look is so cheap.
        tree.take_start(model, look, scratch, true);
        if tree.e.iter().any(|e| e.abs() > POOR_GUESS) {
            // After an impact free flight may be nearer.
            give_up_guess(&mut scratch.rows, &mut scratch.bodies);
            tree.take_start(model, look, scratch, false);
        }
        let passes = LET_PASS * SLIP_PART * method.tolerance.max(floor) / look.h.abs();
        let near = |part: f64, begun: f64| Near { part, begun, rate: passes };
        tree.solve(&mut scratch.rows, &mut scratch.bodies, false, near(ROUGH, 0.0));
        for solves in 1..MOST_SOLVES {
            let worst = look_ahead(model, method, look, floor, scratch);
            let gains = worst > DEEP && worst <= GAIN * before && tree.limbs.is_none();
            if worst < 1.0 && !gains {
                scratch.rows.looked = true;
                return Some(solves);
            }
            before = worst;
            first = if solves == 1 { worst.max(1.0) } else { first };
            if worst.is_nan() || worst > LOST * first {
                break;
            }
            tree.take_rates(&scratch.rows);
            // What a look finds after the first solve is not yet what the next one will find.
            let begun = if solves == 1 { BEGUN } else { 0.0 };
            let near = near(AHEAD, begun);
            if !tree.solve(&mut scratch.rows, &mut scratch.bodies, false, near) {
                if worst < 1.0 {
                    return Some(solves); // nothing has changed
                }
                break;
            }
        }
        scratch.rows.take_back(false, &mut scratch.bodies);
        None
    })
}

/// Velocity correction from the impulses there are, likewise.
pub(crate) fn settle_velocities(method: &Method, scratch: &mut Scratch) -> Option<u64> {
    let tolerance = method.velocity_tolerance.max(scratch.bodies.velocity_floor());
    scratch.with_tree(|tree, scratch| {
        if !tree.make_hard(&scratch.rows, &scratch.bodies) || !tree.take_touches(&scratch.rows) {
            return None;
        }
        scratch.rows.begin_correction(true, &scratch.bodies);
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
            let near = at_once(tolerance, bodies);
            if !tree.solve(rows, bodies, true, near) {
                break;
            }
            solves += 1;
            tree.give_dampers(bodies);
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
            }
            let worst = look_at_velocities(tolerance, scratch);
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
fn at_once(tolerance: f64, bodies: &Bodies) -> Near {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;

    /// The elimination of hinges by their angles and the general one by rows, on a machine that walks: the same velocities and impulses,
    /// with its dampers and without, joints and feet together.
    #[test]
    fn hinges_agree_with_rows() {
        let scene = gelenk_scenes::scene("hexapod").expect("the walking machine");
        let options = gelenk_model::LoadOptions::default();
        let model =
            gelenk_model::load_text("hexapod", scene.text, &options).expect("a model").model;
        let mut simulation = Simulation::new(&model, &model.run).expect("it starts");
        for _ in 0..150 {
            simulation.step().expect("it walks");
        }
        let mut scratch = simulation.scratch.clone();
        scratch.bodies.read_state(&simulation.state);
        scratch.rows.ready = false;
        scratch.prepare_rows(&model, simulation.state.t, &simulation.state.coordinate);
        scratch.rows.write_hinges(&scratch.bodies);
        let tree = scratch.tree.take().expect("its joints are a tree");
        assert!(tree.limbs.is_some() && !scratch.rows.contacts.is_empty());
        for h in [0.0, 0.005] {
            let found = [true, false].map(|by_angles| {
                let (mut tree, mut rows) = (tree.clone(), scratch.rows.clone());
                let mut bodies = scratch.bodies.clone();
                if !by_angles {
                    (tree.limbs, rows.hinges) = (None, None);
                }
                tree.made = None;
                let drives = &scratch.loads.drives;
                assert!(tree.make_soft(&rows, &bodies, drives, h) && tree.take_touches(&rows));
                tree.take_rates_now(&rows, &bodies);
                for (i, e) in tree.e.iter_mut().enumerate() {
                    *e += 0.01 * (i as f64).sin();
                }
                for (i, pull) in tree.pulls.iter_mut().enumerate() {
                    *pull = 0.1 * (1.7 * i as f64).cos();
                }
                rows.velocity_impulse.fill(0.0);
                let near = at_once(0.0, &bodies);
                assert!(tree.solve(&mut rows, &mut bodies, true, near));
                tree.give_dampers(&mut bodies);
                (bodies.twists, rows.velocity_impulse)
            });
            let (far, _) = largest_change(&found[0].0, &found[1].0);
            let (moved, _) = largest_change(&found[0].0, &scratch.bodies.twists);
            assert!(moved > 1e-3 && far < 1e-11 * moved.max(1.0), "h = {h}: {far} of {moved}");
            let size = found[1].1.iter().fold(0.0, |m: f64, p| m.max(p.abs()));
            for (a, b) in found[0].1.iter().zip(&found[1].1) {
                assert!((a - b).abs() < 1e-10 * size, "h = {h}: {a} for {b}, the largest {size}");
            }
        }
    }
}
