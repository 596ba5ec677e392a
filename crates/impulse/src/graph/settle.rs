//! The two phases of a stage: positions at t + h, and velocities.

use gelenk_law::{Ended, Outcome};
use gelenk_model::math::Vec3;
use gelenk_model::{Model, State};

use super::small::{Six, dot, six};
use super::{Damper, Graph, Machine};
use crate::bounds::Bound;
use crate::drives::Drives;
use crate::error::StepError;
use crate::kick::{evaluate_loads, kick};
use crate::method::Method;
use crate::rows::{Look, Rows};
use crate::scratch::{Bodies, Scratch};
use crate::small;
use crate::solver::{FINE, GAIN, norm};
use crate::step::{flatten, largest_change, velocity_floor_of};

/// Most passes of a position correction: free flight is nearly linear, two or three are the rule.
const MOST_PASSES: u64 = 40;

/// Passes end at this part of the tolerance of contacts; after so many, at the larger part.
const PASS_PART: f64 = 0.1;
const PATIENT_PASSES: u64 = 4;
const LEFT_PART: f64 = 0.4;

/// Passes after which contacts do not close, where joints do: the prototype of the law took 5 at most but in one step of falling cards, which did not close in 8.
/// The step is then halved; in parts shorter than [`SHORT_STEP`] of the asked step they are left as they are, with an event, and the next part begins from there.
const CONTACT_PASSES: u64 = 10;
const SHORT_STEP: f64 = 0.1;

/// Passes that leave more than this part of the worst error do nothing; after so many in a row none will: what the law left is what it leaves. A quadruped that begins inside
/// the ground made 40 passes of one and the same answer, 18,600 of its 26,000 factors.
const STALLED: f64 = 0.9;
const STALLS: u32 = 2;

/// What touches stays within this part of the tolerance.
const BAND: f64 = 0.5;

/// Most passes of a velocity correction, and the part of the velocity tolerance at which they end. The law works with rates against what they are
/// to be; each pass begins from the velocities of the one before, so that nothing large cancels. What the law itself leaves, where rows contradict each
/// other, no pass takes away: they end at this many times that.
const VELOCITY_PASSES: u64 = 3;
const RATES_PART: f64 = 0.1;
const OF_THE_LAW: f64 = 2.0;

/// A worst error that grows to this times the first is lost.
const LOST: f64 = 1e4;

/// Most rounds in which laws that read velocities settle.
const MOST_ROUNDS: u32 = 8;

/// Velocities have settled where another round would change them by less than this part of the tolerance.
const NEAR: f64 = 0.3;

/// A guess that leaves rates of joints beyond this is none, m/s or rad/s.
const POOR_GUESS: f64 = 1.0;

impl Scratch {
    /// Runs `solve` with the graph of the joints that are there, its factor made.
    fn with_graph<T>(
        &mut self,
        model: &Model,
        solve: impl FnOnce(&mut Graph, &mut Scratch) -> Option<T>,
    ) -> Option<T> {
        let mut graph = match self.graph.take() {
            Some(graph) if graph.fits(&self.rows) => graph,
            before => {
                let mut graph = Box::new(Graph::new(model, &self.rows, &self.bodies));
                graph.counts = before.map(|graph| graph.counts).unwrap_or_default();
                graph
            }
        };
        let found = solve(&mut graph, self);
        self.graph = Some(graph);
        found
    }
}

/// Whether every row of the model belongs to a joint of the tree, so that there are no loops to close.
pub(crate) fn joints_are_a_tree(model: &Model, scratch: &mut Scratch) -> bool {
    let found = scratch.with_graph(model, |graph, scratch| {
        let blocks = scratch.rows.blocks.len();
        Some(
            graph.machine.tree.holds.len() == blocks
                && graph.machine.tree.holds.iter().all(|held| *held),
        )
    });
    found.unwrap_or(false)
}

/// Position correction: impulses at t, after which free flight closes all joints and keeps bodies apart. The number of passes; none where rows of a
/// joint depend on each other, or friction has a limit of its own.
pub(crate) fn settle_positions(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    scratch: &mut Scratch,
) -> Option<Result<u64, StepError>> {
    let floor = scratch.bodies.position_floor();
    scratch.with_graph(model, |graph, scratch| {
        let Scratch { rows, bodies, .. } = &mut *scratch;
        graph.machine.dampers.clear();
        if !graph.machine.make_base(rows, bodies) || !graph.gather(rows, bodies, look.h) {
            return None;
        }
        rows.begin_correction(false, bodies);
        graph.begin(bodies);
        graph.aim(look.h, PASS_PART * rows.overlap_allowed, method.tolerance);
        take_guess(rows);
        apply(rows, bodies);
        let fine = method.converges_fine(floor);
        let (mut first, mut before, mut last, mut stalls) =
            (f64::INFINITY, f64::INFINITY, f64::INFINITY, 0);
        let mut lost = None;
        if !(rates(rows, bodies) <= POOR_GUESS) {
            // A kick or an impact makes light bodies so fast that free flight may end anywhere: first J v = 0.
            rows.take_back(false, bodies);
            rates(rows, bodies);
            contacts_ahead(rows, look.h);
            lost = graph.solve(rows, bodies, false);
        }
        for passes in 0..MOST_PASSES {
            let [joints, contacts] = look_ahead(model, method, look, floor, passes > 0, scratch);
            let worst = larger(joints, contacts);
            let Scratch { rows, bodies, .. } = &mut *scratch;
            stalls = if worst > STALLED * last { stalls + 1 } else { 0 };
            last = worst;
            let stalled = stalls >= STALLS;
            let patient = passes < PATIENT_PASSES && !stalled || contacts > LEFT_PART / PASS_PART;
            let late = (passes >= CONTACT_PASSES || stalled) && contacts.is_finite();
            // Shorter steps take no deep overlap apart.
            let deep = || rows.contacts.iter().any(|contact| contact.sunk);
            let bounded = late && (look.h.abs() < SHORT_STEP * rows.whole_step.abs() || deep());
            // What is left within tolerance comes from the same side in every step, and its work would add up; of a tree alone a pass is one solve.
            let gains =
                fine && graph.problem.blocks.is_empty() && joints > FINE && joints <= GAIN * before;
            before = joints;
            let closed = worst < 1.0 && (passes > 0 || worst == 0.0) && !gains;
            if closed || joints < 1.0 && (!patient || bounded) {
                if contacts > LEFT_PART / PASS_PART {
                    let left = contacts * (PASS_PART * rows.overlap_allowed).max(floor);
                    rows.loose = rows.loose.max(left / look.h.abs());
                }
                rows.looked = true;
                rows.loose = rows.loose.max(Graph::looseness(lost).unwrap_or(0.0));
                graph.note_joints(rows, bodies, false);
                bodies.couples.fill(Vec3::zeros());
                return Some(Ok(passes));
            }
            first = if passes == 0 { worst.max(1.0) } else { first };
            let lasts = stalled && worst >= 1.0;
            if worst.is_nan()
                || worst > LOST * first
                || stopped(lost)
                || lasts
                || late && joints < 1.0
            {
                break;
            }
            lost = graph.solve(rows, bodies, false);
            if lost.is_some_and(|outcome| outcome.gave_up) {
                rows.hold_deep();
                graph.problem.wish.fill(0.0);
            }
        }
        let Scratch { rows, bodies, .. } = &mut *scratch;
        rows.take_back(false, bodies);
        if rows.stop.is_asked() {
            return Some(Err(StepError::Stopped { t: look.t }));
        }
        let gap = |i: &usize| rows.gap[*i];
        let worst = (0..rows.gap.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)));
        let (block, sweeps) = (worst.unwrap_or(0), MOST_PASSES);
        Some(Err(StepError::Positions { block, gap: gap(&block), sweeps, t: look.t }))
    })
}

/// Velocity correction from the velocities there are, likewise.
pub(crate) fn settle_velocities(
    model: &Model,
    method: &Method,
    scratch: &mut Scratch,
) -> Option<u64> {
    let near = RATES_PART * method.velocity_tolerance.max(scratch.bodies.velocity_floor());
    scratch.with_graph(model, |graph, scratch| {
        let Scratch { rows, bodies, .. } = &mut *scratch;
        graph.machine.dampers.clear();
        if !graph.machine.make_base(rows, bodies) || !graph.gather(rows, bodies, f64::INFINITY) {
            return None;
        }
        rows.begin_correction(true, bodies);
        graph.begin_without(rows, bodies);
        graph.aim(f64::INFINITY, 0.0, f64::INFINITY);
        rates(rows, bodies);
        let mut passes = 0;
        let found = loop {
            let found = graph.solve(rows, bodies, true);
            passes += 1;
            if open_rates(rows, bodies) <= near.max(left(found)) || passes >= VELOCITY_PASSES {
                break found;
            }
        };
        graph.note_joints(rows, bodies, true);
        bodies.couples.fill(Vec3::zeros());
        rows.loose = rows.loose.max(Graph::looseness(found).unwrap_or(0.0));
        note_velocities(rows);
        Some(passes)
    })
}

/// Velocity correction together with laws that read velocities and act along joint coordinates:
///
/// ```text
/// v = v⁻ + h/2 M⁻¹ f(q, v, t+h) + M⁻¹ Jᵀ p,    J v + C_t = 0
/// ```
/// Newton with f's slope along the coordinates in the factor.
pub(crate) fn settle_kick(
    model: &Model,
    method: &Method,
    state: &State,
    scratch: &mut Scratch,
    h: f64,
) -> Result<Option<u64>, StepError> {
    let dt = 0.5 * h;
    let mut fault = None;
    let found = scratch.with_graph(model, |graph, scratch| {
        let Scratch { rows, bodies, .. } = &mut *scratch;
        rows.begun.copy_from_slice(&rows.velocity_impulse);
        bodies.twists.copy_from_slice(&bodies.twists_before);
        graph.aim(f64::INFINITY, 0.0, f64::INFINITY);
        scratch.rounds.reset();
        for round in 1..=MOST_ROUNDS {
            let Scratch { bodies, loads, work, rows, previous_twists, rounds, flat_twists, .. } =
                &mut *scratch;
            // The laws at the velocities there are; the first are those before the kick.
            if round == 1 {
                fault = evaluate_loads(model, bodies, state, loads, work).err();
                if fault.is_some() {
                    return None;
                }
            }
            graph.take_dampers(&loads.drives, rows, bodies, dt);
            if !graph.machine.make_base(rows, bodies) || !graph.gather(rows, bodies, f64::INFINITY)
            {
                return None;
            }
            previous_twists.copy_from_slice(&bodies.twists);
            flatten(&bodies.twists, flat_twists);
            rounds.before(flat_twists);
            bodies.twists.copy_from_slice(&bodies.twists_before);
            kick(bodies, loads, dt);
            graph.begin(bodies);
            bodies.twists.copy_from_slice(previous_twists);
            rates(rows, bodies);
            for driven in &mut loads.drives.axes {
                driven.read = driven.law();
            }
            let loose = graph.solve(rows, bodies, true);
            fault = evaluate_loads(model, bodies, state, loads, work).err();
            if fault.is_some() {
                return None;
            }
            let near = velocity_floor_of(&bodies.twists).max(NEAR * method.velocity_tolerance);
            let (change, _) = largest_change(&bodies.twists, previous_twists);
            if !change.is_finite() {
                break;
            }
            let settled = change <= near || loads.drives.are_straight(dt, near);
            let least = RATES_PART * method.velocity_tolerance.max(bodies.velocity_floor());
            let exact = open_rates(rows, bodies) <= least.max(left(loose))
                || u64::from(round) >= VELOCITY_PASSES;
            if settled && exact {
                // What joints gave is what the loads at these velocities left to them.
                previous_twists.copy_from_slice(&bodies.twists);
                bodies.twists.copy_from_slice(&bodies.twists_before);
                kick(bodies, loads, dt);
                graph.begin(bodies);
                bodies.twists.copy_from_slice(previous_twists);
                bodies.forget_flights();
                graph.note_joints(rows, bodies, true);
                bodies.couples.fill(Vec3::zeros());
                rows.loose = rows.loose.max(Graph::looseness(loose).unwrap_or(0.0));
                note_velocities(rows);
                return Some(u64::from(round));
            }
            // Laws that are not along joint coordinates, as dampers of ball joints, are no part of the factor: what they do from round to round
            // is mostly one factor, which is found out.
            flatten(&bodies.twists, flat_twists);
            let delta = rounds.after(flat_twists);
            for (i, delta) in delta.chunks_exact(6).enumerate() {
                let twist = &mut bodies.twists[i];
                twist.s_dot += Vec3::new(delta[0], delta[1], delta[2]);
                twist.omega += Vec3::new(delta[3], delta[4], delta[5]);
                bodies.touch(i);
            }
            fault = evaluate_loads(model, bodies, state, loads, work).err();
            if fault.is_some() {
                return None;
            }
        }
        None
    });
    if found.is_none() {
        scratch.rows.velocity_impulse.copy_from_slice(&scratch.rows.begun);
    }
    fault.map_or(Ok(found), Err)
}

impl Graph {
    /// Velocities before the impulses of a position correction.
    fn begin(&mut self, bodies: &Bodies) {
        for (start, node) in self.start.iter_mut().zip(&self.machine.tree.nodes) {
            *start = six(&bodies.twists[node.body]);
        }
    }

    /// Dampers along joint coordinates as weights of the factor, for loads that act over `dt`. What would drive the motion is none, as in stages that
    /// go back.
    fn take_dampers(&mut self, drives: &Drives, rows: &Rows, bodies: &Bodies, dt: f64) {
        if !self.machine.place(rows, bodies) {
            return;
        }
        let Machine { tree, dampers, made, .. } = &mut self.machine;
        *made = false;
        dampers.clear();
        for own in drives.axes.iter().filter(|own| dt * own.damping > 0.0) {
            let [a, b] = own.bodies.map(|body| tree.node_of[body]);
            let parent = |node: usize| {
                let node = tree.nodes.get(node)?;
                node.joint.map(|_| node.parent)
            };
            let (node, slot) = if parent(b) == Some(a) {
                (b, 1)
            } else if parent(a) == Some(b) {
                (a, 0)
            } else {
                continue;
            };
            let row: &Six = own.row[6 * slot..][..6].try_into().unwrap_or(&[0.0; 6]);
            let mut s = [0.0; 6];
            (0..tree.nodes[node].f).for_each(|k| s[k] = dot(&tree.nodes[node].s[k], row));
            dampers.push(Damper { node, row: *row, s, weight: dt * own.damping });
        }
    }

    /// The same where the impulses of the rows that take part are in the velocities: without them.
    fn begin_without(&mut self, rows: &mut Rows, bodies: &mut Bodies) {
        for i in 0..rows.blocks.len() {
            let own = rows.blocks[i].first_row..rows.blocks[i].first_row + rows.blocks[i].n_rows;
            if rows.velocity_impulse[own.clone()].iter().all(|p| *p == 0.0) {
                continue;
            }
            if rows.inactive[i] {
                // Given, as a bounce: it stays in the velocities, which do not show what it has about axes without inertia.
                if bodies.held_spin {
                    rows.give_couple(i, &rows.velocity_impulse[own], bodies);
                }
                continue;
            }
            let mut p = [0.0; small::MAX];
            for (p, known) in p.iter_mut().zip(&rows.velocity_impulse[own.clone()]) {
                *p = -known;
            }
            rows.apply(i, &p[..own.len()], bodies);
        }
        self.begin(bodies);
    }
}

/// Rates that a solution of the law leaves open where rows contradict each other, m/s.
fn left(outcome: Option<Outcome>) -> f64 {
    let open = outcome.filter(|outcome| outcome.ended != Ended::Solved);
    open.map_or(0.0, |outcome| OF_THE_LAW * outcome.residual)
}

fn stopped(outcome: Option<Outcome>) -> bool {
    outcome.is_some_and(|outcome| outcome.ended == Ended::Stopped)
}

/// v += M⁻¹ Jᵀ p with the impulses of positions.
fn apply(rows: &Rows, bodies: &mut Bodies) {
    for (i, block) in rows.blocks.iter().enumerate() {
        if !rows.inactive[i] {
            rows.apply(i, &rows.impulse[block.first_row..][..block.n_rows], bodies);
        }
    }
}

/// The guess as impulses of a position correction, cut to their bounds.
fn take_guess(rows: &mut Rows) {
    for i in 0..rows.blocks.len() {
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        for k in row..row + n {
            let guess = if rows.inactive[i] { 0.0 } else { rows.guess[k] };
            rows.impulse[k] = guess.clamp(rows.lower[k], rows.upper[k]);
        }
        if rows.blocks[i].bound == Bound::Disk && !rows.inactive[i] {
            let mut p = [0.0; 2];
            p[..n].copy_from_slice(&rows.impulse[row..row + n]);
            rows.impulse[row..row + n].fill(0.0);
            rows.cut_to_disk(i, &mut p[..n], false);
            rows.impulse[row..row + n].copy_from_slice(&p[..n]);
        }
    }
}

/// −(J v + C_t) of all rows that take part; the largest of the equations, m/s or rad/s.
fn rates(rows: &mut Rows, bodies: &Bodies) -> f64 {
    let mut worst = 0.0;
    let mut e = [0.0; small::MAX];
    for i in 0..rows.blocks.len() {
        let (row, n) = (rows.blocks[i].first_row, rows.blocks[i].n_rows);
        if rows.inactive[i] {
            continue;
        }
        rows.error_rate(i, &bodies.twists, &mut e[..n]);
        for k in 0..n {
            rows.error[row + k] = -e[k];
        }
        if rows.blocks[i].bound == Bound::None {
            worst = larger(worst, norm(&e[..n]));
        }
    }
    worst
}

/// The same, and the largest of those that are to be 0: equations, stops and contacts that push, those that are run into.
fn open_rates(rows: &mut Rows, bodies: &Bodies) -> f64 {
    let mut worst = rates(rows, bodies);
    for (block, _) in rows.blocks.iter().zip(&rows.inactive).filter(|(_, inactive)| !**inactive) {
        if matches!(block.bound, Bound::Stop | Bound::Contact) {
            let rate = -rows.error[block.first_row];
            let pushes = rows.velocity_impulse[block.first_row] != 0.0;
            worst = larger(worst, if pushes { rate.abs() } else { rate.max(0.0) });
        }
    }
    worst
}

/// Adds what gaps allow to the rates of contacts.
fn contacts_ahead(rows: &mut Rows, h: f64) {
    for k in 0..rows.contacts.len() {
        let contact = &rows.contacts[k];
        if rows.inactive[contact.first_block] {
            continue;
        }
        let row = rows.blocks[contact.first_block].first_row;
        rows.error[row] += (contact.place.gap + contact_target(rows, contact.first_block)) / h;
    }
}

/// Where C = −gap of a contact is to go: it stays within the tolerance, so that points of one face never ask for different speeds, and away from its
/// ends, so that what a pass leaves does not open it.
fn contact_target(rows: &Rows, block: usize) -> f64 {
    let contact = rows.contact(block);
    let now = -contact.place.gap;
    let most = BAND * rows.overlap_allowed;
    if now.abs() <= rows.overlap_allowed && !contact.pushes_out {
        now.clamp(-most, most)
    } else {
        rows.target[rows.blocks[block].first_row]
    }
}

/// Looks at C(t+h); leaves −(C − target)/h, the change of rates that is missing. Returns the worst error over its tolerance, of joints and of contacts. After
/// impulses have been `tried`, deep overlaps that go no deeper count as none: what takes them apart may contradict itself.
fn look_ahead(
    model: &Model,
    method: &Method,
    look: &Look<'_>,
    floor: f64,
    tried: bool,
    scratch: &mut Scratch,
) -> [f64; 2] {
    let Scratch { bodies, rows, work, .. } = scratch;
    bodies.look_ahead_poses(look.flight, look.h);
    let h_inv = 1.0 / look.h;
    let [mut worst, mut touching] = [0.0; 2];
    let of_contacts = (PASS_PART * rows.overlap_allowed).max(floor);
    let mut c = [0.0; small::MAX];
    rows.gap.fill(0.0);
    let hinges = std::mem::take(&mut rows.hinges);
    hinges.look(&bodies.ahead, |i, c| {
        if !rows.inactive[i] {
            let tolerance = rows.blocks[i].tolerance.unwrap_or(method.tolerance).max(floor);
            note_equation(rows, i, c, h_inv);
            worst = larger(worst, rows.gap[i] / tolerance);
        }
    });
    let beside = rows.model_size.blocks..rows.blocks.len();
    for i in hinges.others.iter().copied().chain(beside) {
        if rows.inactive[i] {
            continue;
        }
        let (row, n, bound) =
            (rows.blocks[i].first_row, rows.blocks[i].n_rows, rows.blocks[i].bound);
        let tolerance = rows.blocks[i].tolerance.unwrap_or(method.tolerance).max(floor);
        let c = &mut c[..n];
        rows.error_ahead(i, model, bodies, look, work, c);
        let (target, allowed) = match bound {
            Bound::Contact => (contact_target(rows, i), of_contacts),
            Bound::Stop => bound.target(rows.target[row], tolerance),
            _ => (rows.target[row], tolerance),
        };
        match bound {
            Bound::None => {
                note_equation(rows, i, c, h_inv);
                worst = larger(worst, rows.gap[i] / tolerance);
            }
            Bound::Disk => {
                let mut e = [0.0; 2];
                for k in 0..n {
                    e[k] = (c[k] - rows.target[row + k]) * h_inv;
                    rows.error[row + k] = -e[k];
                }
                let missing = match rows.slips(i, &e, false) {
                    Some(p) => rows.off_by(i, p, false),
                    None => norm(&e),
                };
                touching = larger(touching, missing * look.h.abs() / of_contacts);
            }
            Bound::Contact | Bound::Stop | Bound::Friction => {
                let over = c[0] - target;
                rows.error[row] = -over * h_inv;
                if bound != Bound::Friction {
                    rows.gap[i] = c[0].max(0.0);
                }
                // How far p is from its law, as a way: p − P(p − over/(h k)), P to the bounds, k the answer of the row to itself.
                let block = &rows.blocks[i];
                let own = block.jac..block.jac + 6 * block.n_bodies;
                let both = rows.jac[own.clone()].iter().zip(&rows.response[own]);
                let k = both.map(|(j, answer)| j * answer).sum::<f64>().max(f64::MIN_POSITIVE);
                let (p, h) = (rows.impulse[row], look.h);
                let meant = (p - over / (h * k)).min(rows.upper[row]).max(rows.lower[row]);
                let mut off = ((p - meant) * k * h).abs();
                if tried && over > 0.0 && bound == Bound::Contact {
                    let contact = rows.contact(i);
                    let stays = contact.sunk && c[0] <= -contact.place.gap;
                    off = if stays { 0.0 } else { off };
                }
                let to = if bound == Bound::Contact { &mut touching } else { &mut worst };
                *to = larger(*to, off / allowed);
            }
        }
    }
    rows.hinges = hinges;
    [worst, touching]
}

/// Notes C(t+h) of an equation, and the change of rates that it lacks.
fn note_equation(rows: &mut Rows, i: usize, c: &[f64], h_inv: f64) {
    rows.gap[i] = norm(c);
    let own = rows.blocks[i].first_row..rows.blocks[i].first_row + c.len();
    for ((error, target), c) in rows.error[own.clone()].iter_mut().zip(&rows.target[own]).zip(c) {
        *error = (target - c) * h_inv;
    }
}

/// Notes J v + C_t of the equations, and how fast stops and contacts are run into, from the [`rates`] there are.
fn note_velocities(rows: &mut Rows) {
    for (i, block) in rows.blocks.iter().enumerate() {
        let missing = &rows.error[block.first_row..block.first_row + block.n_rows];
        rows.velocity_error[i] = match block.bound {
            _ if rows.inactive[i] => 0.0,
            Bound::None => norm(missing),
            Bound::Stop | Bound::Contact => (-missing[0]).max(0.0),
            Bound::Friction | Bound::Disk => 0.0,
        };
    }
}

/// The larger of two; what is not a number is larger than any.
fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}
