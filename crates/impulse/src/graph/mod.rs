//! One graph, one factor, one law: how the impulses of a step are found.
//!
//! Bodies that move are nodes. One joint a node makes the tree ([`tree`]), and is met exactly. All other rows are under the law of
//! [`gelenk_law`]: joints that close loops, gears and prescribed motions (λ free), end stops and ropes (one-sided), dry friction (bounded),
//! contacts with friction of all kinds (cones). The law asks for responses, which the factor over the free directions gives ([`factor`]).
//!
//! ```text
//! M (v − v_f) = J_tᵀ λ_t + Jᵀ λ,   J_t v = w_t (tree),   u = J v − w with one law for each block
//! ```
//! Positions and velocities are the same problem with other w: that which free flight to t + h asks for, or −C_t ([`settle`]).

mod dense;
mod factor;
mod ports;
mod redundant;
mod settle;
mod small;
mod tree;

pub(crate) use settle::{joints_are_a_tree, settle_kick, settle_positions, settle_velocities};

use gelenk_law::{Ended, Kind, Law, Level, Outcome, Problem, Response, Singular, Weights};
use gelenk_model::Model;
use gelenk_model::rows::RowKind;

use crate::bounds::Bound;
use crate::lanes::F;
use crate::rows::Rows;
use crate::scratch::Bodies;
use factor::{Along, Factor, momentum};
use ports::Ports;
use redundant::Redundant;
use small::{Block, Six, dot, narrow, plus, shift_velocity, shift_wrench, six, times, twist, wide};
use tree::{Tree, WORLD};

/// Rates this small, m/s, need no further level of the law: further levels for the last digit made three quarters of all factors.
pub(crate) const ENOUGH: f64 = 1e-7;

/// Newton steps of velocities that leave more than this part of a rate that is small enough are the last: rows contradict each other by that much.
const STALL: f64 = 0.3;

/// The most that gaps allow, m/s: in parts of 1e-8 s a gap of 1e-8 m would allow anything.
const MOST_ENOUGH: f64 = 1e-5;

/// Larger ones than this are told, m/s, unless they close gaps within their tolerance.
const ACCEPT: f64 = 1e-6;

/// One more Newton step is taken above this rate where it is velocities that are solved for, m/s, and above this part of what is enough where it is gaps: a
/// walking machine with six feet took 5.9 factors a step with one limit for both, 4.9 with two.
const FINE: f64 = 1e-11;
const FINE_PART: f64 = 1e-2;

/// The part of what a pass may leave of a gap that the law may.
const AIM: f64 = 0.3;

/// Where a row acts: on a body, or along the free directions of a node (its other body is the parent).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    node: usize,
    along: bool,
}

/// A block of the law's problem, as the machine sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    row: usize,
    n: usize,
    /// Its places.
    first: usize,
    places: usize,
    /// Its Jacobian: row by row, 6 numbers a place.
    jac: usize,
}

/// A damper along a coordinate of a node's joint.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Damper {
    node: usize,
    /// Its coordinate's row on the body, and along the free directions.
    row: Six,
    s: Six,
    /// d dt.
    weight: f64,
}

/// What the law asks: responses of the machine.
#[derive(Clone, Debug, Default)]
struct Machine {
    tree: Tree,
    /// Nodes that are eliminated: all but riders.
    all: Vec<usize>,
    /// Factor of M, with implicit dampers; the tree alone.
    base: Factor,
    /// Factor of M + JᵀAJ.
    whole: Factor,
    entries: Vec<Entry>,
    places: Vec<Place>,
    /// Rows of J, on the body or along its free directions, and on the body in both cases.
    jac: Vec<Six>,
    whole_jac: Vec<Six>,
    links: Vec<(usize, usize)>,
    /// A of the whole factor, if that is made.
    weights: Weights,
    made: bool,
    /// Implicit dampers.
    dampers: Vec<Damper>,
    /// Nodes that carry rows of the problem, or something that does: ascending, as they leave, and as flags; and H of these alone. (n nodes)
    closure: Vec<usize>,
    leaving: Vec<usize>,
    inside: Vec<bool>,
    bare: Vec<Block>,
    /// M (v_f − v̄), and forces along free directions that go with it. (n nodes)
    momentum: Vec<Six>,
    push: Vec<Six>,
    /// J v of the velocities without impulses. (n_rows)
    free: Vec<f64>,
    /// The last answer: velocities beside v̄, and rates of the free directions; between questions of the law, what impulses add to them.
    v: Vec<Six>,
    q: Vec<Six>,
    r: Vec<Six>,
    along: Vec<Six>,
    /// What a refinement adds to the answer, and λ = c − A u before it.
    better: [Vec<Six>; 2],
    left: Vec<f64>,
    /// Diagonal blocks of the inverse of the tree, at these poses; see [`Factor::inverse`].
    inverse: Vec<Block>,
    rates: Vec<Along>,
    known: Vec<bool>,
    wanted: Vec<bool>,
    /// The same in small, where few rows act.
    ports: Ports,
    /// Whether the tree is that of the poses, and its factor; the dampers of that, and how often it was made.
    placed: bool,
    ready: bool,
    damped: Vec<Damper>,
    generation: u64,
}

/// The machine, the law and what is between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    machine: Machine,
    law: Law,
    problem: Problem,
    redundant: Redundant,
    /// Row of the model's rows and sign of each row of the problem.
    source: Vec<(usize, f64)>,
    lambda: Vec<f64>,
    /// Velocities before the impulses, and how v̄ differs from the last ones. (n nodes)
    start: Vec<Six>,
    closing: Vec<Six>,
    /// The joints that are there.
    active: Vec<bool>,
    /// What solves took; read by the run.
    pub counts: Ways,
}

/// How the problems of a run were solved: every correction of positions or velocities is one or a few problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// Without rows under the law of contacts, stops and friction: one solve with the tree.
    pub tree: u64,
    /// By Newton's method.
    pub newton: u64,
    /// On the interior path, then by Newton's method.
    pub path: u64,
    /// As convex problems with the sliding speeds of the round before.
    pub convex: u64,
    /// With overlaps left as they are.
    pub relaxed: u64,
    /// Factorizations.
    pub factors: u64,
    /// Solves.
    pub solves: u64,
}

impl Ways {
    /// Names and counts; empty where nothing was solved.
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        let Ways { tree, newton, path, convex, relaxed, factors, solves } = *self;
        if *self == Ways::default() {
            return Vec::new();
        }
        let counts = [tree, newton, path, convex, relaxed, factors, solves];
        ["tree", "newton", "path", "convex", "relaxed", "factors", "solves"]
            .into_iter()
            .zip(counts)
            .collect()
    }
}

impl Response for Machine {
    fn respond(&mut self, lambda: &[f64], u: &mut [f64]) {
        if self.ports.on {
            return self.ports.respond(lambda, u);
        }
        self.load(lambda);
        let Machine { tree, base, leaving, r, along, v, q, .. } = self;
        base.solve_in(leaving, tree, r, along, v, q);
        self.rates_of(u);
        self.add_free(u);
    }

    fn factor(&mut self, a: &Weights) -> Result<(), Singular> {
        if self.made && self.weights == *a {
            return Ok(());
        }
        if self.ports.on {
            self.weights.copy_from(a);
            self.made = false;
            self.ports.factor(a)?;
            self.made = true;
            return Ok(());
        }
        let Machine { tree, base, whole, bare, .. } = self;
        whole.begin_from(tree, base, bare);
        self.add_weights(a);
        let done = self.whole.eliminate(&self.tree);
        self.weights.copy_from(a);
        self.made = done;
        if done { Ok(()) } else { Err(Singular) }
    }

    fn solve(&mut self, c: &[f64], u: &mut [f64]) {
        if self.ports.on {
            return self.ports.solve(c, u);
        }
        // Beside the velocities without impulses: (M + JᵀAJ) δ = Jᵀ (c − A J v_f).
        let mut left = std::mem::take(&mut self.left);
        left.clear();
        left.extend_from_slice(c);
        self.weights.take_away(&self.free, &mut left);
        self.load(&left);
        let Machine { tree, whole, r, along, v, q, .. } = self;
        whole.solve_own(tree, r, along, v, q);
        self.rates_of(u);
        // One refinement: A is far stiffer than M.
        self.weights.take_away(u, &mut left);
        self.load(&left);
        self.left = left;
        let Machine { tree, base, whole, closure, bare, r, along, v, q, better, .. } = self;
        for &i in &*closure {
            let known = times(&bare[i], &v[i]);
            (0..6).for_each(|k| r[i][k] -= known[k]);
            let f = tree.nodes[i].f;
            for (along, row) in along[i].iter_mut().zip(&base.along[i]).take(f) {
                *along -= dot(row, &q[i]);
            }
        }
        let [dv, dq] = better;
        whole.solve_own(tree, r, along, dv, dq);
        for &i in &*closure {
            for k in 0..6 {
                v[i][k] += dv[i][k];
                q[i][k] += dq[i][k];
            }
        }
        self.rates_of(u);
        self.add_free(u);
    }

    fn diagonal(&mut self, k: &mut [f64]) {
        if self.ports.on {
            return self.ports.diagonal(k);
        }
        let Machine {
            tree,
            base,
            entries,
            places,
            closure,
            jac,
            inverse,
            rates,
            known,
            wanted,
            ..
        } = self;
        closure.iter().for_each(|&i| wanted[i] = !known[i]);
        base.inverse(tree, wanted, inverse, rates);
        for (known, wanted) in known.iter_mut().zip(wanted) {
            *known |= std::mem::take(wanted);
        }
        for entry in &*entries {
            for i in 0..entry.n {
                let mut sum = 0.0;
                for p in 0..entry.places {
                    let place = places[entry.first + p];
                    let row = &jac[entry.jac + i * entry.places + p];
                    let block = if place.along { &rates[place.node] } else { &inverse[place.node] };
                    sum += dot(row, &times(block, row));
                }
                k[entry.row + i] = sum;
            }
        }
    }
}

impl Machine {
    /// The velocities that impulses λ make, of the whole tree.
    fn move_by(&mut self, lambda: &[f64]) {
        let Machine { momentum, push, r, along, .. } = self;
        r.copy_from_slice(momentum);
        along.copy_from_slice(push);
        self.add_load(lambda);
        let Machine { tree, base, r, along, v, q, .. } = self;
        base.solve(tree, r, along, v, q);
    }

    /// Finds the nodes that carry the rows of the problem.
    fn find_closure(&mut self) {
        let Machine { tree, base, places, closure, leaving, inside, bare, .. } = self;
        inside.fill(false);
        for place in &*places {
            let mut node = place.node;
            while node != WORLD && !inside[node] {
                inside[node] = true;
                node = tree.nodes[node].parent;
            }
        }
        closure.clear();
        closure.extend((0..tree.nodes.len()).filter(|&i| inside[i]));
        leaving.clear();
        leaving.extend(closure.iter().rev());
        base.bare(tree, closure, inside, bare);
    }

    fn add_free(&self, u: &mut [f64]) {
        u.iter_mut().zip(&self.free).for_each(|(u, free)| *u += free);
    }

    /// No velocities and no forces, until the next problem.
    fn rest(&mut self) {
        self.momentum.fill([0.0; 6]);
        self.push.fill([0.0; 6]);
        if self.ports.on {
            self.ports.answer(&self.tree, &self.base, self.generation);
            self.ports.rest();
        }
        let rows = self.entries.last().map_or(0, |entry| entry.row + entry.n);
        self.free.clear();
        self.free.resize(rows, 0.0);
    }

    /// Begins a problem: how rows move without impulses, and where it is small, what its ports answer.
    fn begin(&mut self) {
        self.move_by(&[]);
        if self.ports.on {
            self.ports.answer(&self.tree, &self.base, self.generation);
            let Machine { v, q, ports, .. } = self;
            ports.begin(v, q);
        } else {
            let mut free = std::mem::take(&mut self.free);
            self.rates_of(&mut free);
            self.free = free;
        }
    }

    /// Jᵀλ alone.
    fn load(&mut self, lambda: &[f64]) {
        for &i in &self.closure {
            (self.r[i], self.along[i]) = ([0.0; 6], [0.0; 6]);
        }
        self.add_load(lambda);
    }

    /// The same on top of what there is; no impulses where `lambda` is empty.
    fn add_load(&mut self, lambda: &[f64]) {
        let Machine { entries, places, jac, r, along, .. } = self;
        for entry in entries.iter().filter(|_| !lambda.is_empty()) {
            for i in 0..entry.n {
                let p = lambda[entry.row + i];
                if p == 0.0 {
                    continue;
                }
                for k in 0..entry.places {
                    let place = places[entry.first + k];
                    let row = &jac[entry.jac + i * entry.places + k];
                    let to = if place.along { &mut along[place.node] } else { &mut r[place.node] };
                    (0..6).for_each(|j| to[j] += row[j] * p);
                }
            }
        }
    }

    /// J v of the last answer.
    fn rates_of(&self, u: &mut [f64]) {
        for entry in &self.entries {
            for i in 0..entry.n {
                let mut sum = 0.0;
                for k in 0..entry.places {
                    let place = self.places[entry.first + k];
                    let row = &self.jac[entry.jac + i * entry.places + k];
                    let v = if place.along { &self.q[place.node] } else { &self.v[place.node] };
                    sum += dot(row, v);
                }
                u[entry.row + i] = sum;
            }
        }
    }

    /// H += JᵀAJ.
    fn add_weights(&mut self, a: &Weights) {
        let Machine { whole, entries, places, jac, .. } = self;
        for (entry, (_, n, a)) in entries.iter().zip(a.blocks()) {
            if a.iter().all(|a| *a == 0.0) {
                continue;
            }
            let skew = (0..n).any(|i| (0..i).any(|j| (a[i * n + j] - a[j * n + i]).abs() > 0.0));
            let m = entry.places;
            for k in 0..m {
                let to = places[entry.first + k];
                whole.skew[to.node] |= skew;
                for l in 0..m {
                    let from = places[entry.first + l];
                    let block = if to.along {
                        &mut whole.along[to.node]
                    } else {
                        let place = whole.place(to.node, from.node);
                        &mut whole.h[place]
                    };
                    let mut sum = [[F::ZERO; 2]; 6];
                    for i in 0..n {
                        let mut weighted = [F::ZERO; 2];
                        for j in 0..n {
                            let other = wide(&jac[entry.jac + j * m + l]);
                            weighted = plus(weighted, a[i * n + j], &other);
                        }
                        for (sum, x) in sum.iter_mut().zip(jac[entry.jac + i * m + k]) {
                            *sum = plus(*sum, x, &weighted);
                        }
                    }
                    for (block, sum) in block.iter_mut().zip(sum) {
                        block.iter_mut().zip(narrow(sum)).for_each(|(block, x)| *block += x);
                    }
                }
            }
        }
    }

    /// Adds rows of a block (and of those that follow it, for contacts) as one entry; the first with `sign`.
    fn add_entry(
        &mut self,
        rows: &Rows,
        bodies: &Bodies,
        block: usize,
        own: std::ops::Range<usize>,
        row: usize,
        sign: f64,
    ) {
        let block = &rows.blocks[block];
        let list = &rows.body_list[block.first_body..block.first_body + block.n_bodies];
        let (first, width) = (self.places.len(), 6 * block.n_bodies);
        let Machine { tree, places, .. } = self;
        for &body in list.iter().filter(|body| !bodies.fixed[**body]) {
            let node = tree.node_of[body];
            if places[first..].iter().all(|place| place.node != node) {
                places.push(Place { node, along: false });
            }
        }
        let parent = |node: usize| tree.nodes[node].joint.map(|_| tree.nodes[node].parent);
        match places[first..] {
            [Place { node, .. }] if parent(node) == Some(WORLD) => places[first].along = true,
            [Place { node: a, .. }, Place { node: b, .. }] if parent(a) == Some(b) => {
                places.pop();
                places[first].along = true;
            }
            [Place { node: a, .. }, Place { node: b, .. }] if parent(b) == Some(a) => {
                places[first] = Place { node: b, along: true };
                places.pop();
            }
            _ => {
                for k in first..places.len() {
                    for l in k + 1..places.len() {
                        let (a, b) = (places[k].node, places[l].node);
                        self.links.push((a.min(b), a.max(b)));
                    }
                }
            }
        }
        let n_places = places.len() - first;
        let jac = self.jac.len();
        for k in own.clone() {
            let sign = if k == own.start { sign } else { 1.0 };
            for place in &places[first..] {
                let node = &tree.nodes[place.node];
                let mut whole = [0.0; 6];
                for (slot, _) in list.iter().enumerate().filter(|(_, body)| **body == node.body) {
                    let part = &rows.jac[block.jac + k * width + 6 * slot..][..6];
                    (0..6).for_each(|j| whole[j] += sign * part[j]);
                }
                let mut row = whole;
                if place.along {
                    row = [0.0; 6];
                    (0..node.f).for_each(|j| row[j] = dot(&node.s[j], &whole));
                }
                self.jac.push(row);
                self.whole_jac.push(whole);
            }
        }
        self.entries.push(Entry { row, n: own.len(), first, places: n_places, jac });
    }

    /// J v of velocities that need not fit the joints.
    fn rates_at(&self, v: &[Six], u: &mut [f64]) {
        for entry in &self.entries {
            for i in 0..entry.n {
                let mut sum = 0.0;
                for k in 0..entry.places {
                    let place = self.places[entry.first + k];
                    let node = &self.tree.nodes[place.node];
                    let mut own = v[place.node];
                    if let (true, Some(parent)) = (place.along, v.get(node.parent)) {
                        let carried = shift_velocity(parent, &node.r);
                        (0..6).for_each(|j| own[j] -= carried[j]);
                    }
                    sum += dot(&self.whole_jac[entry.jac + i * entry.places + k], &own);
                }
                u[entry.row + i] = sum;
            }
        }
    }

    /// The tree at the present poses.
    fn place(&mut self, rows: &Rows, bodies: &Bodies) -> bool {
        self.placed = self.placed || self.tree.place(rows, bodies);
        self.placed
    }

    /// The factor of the tree at the present poses.
    fn make_base(&mut self, rows: &Rows, bodies: &Bodies) -> bool {
        if self.ready && self.dampers == self.damped {
            return true;
        }
        if !self.place(rows, bodies) {
            return false;
        }
        self.generation += 1;
        self.known.fill(false);
        if self.all.is_empty() {
            let rides = |i: &usize| self.tree.riders.iter().any(|rider| rider.node == *i);
            self.all = (0..self.tree.nodes.len()).filter(|i| !rides(i)).collect();
        }
        self.base.fit(&self.tree, &self.all, &[]);
        self.base.begin(&self.tree);
        add_dampers(&mut self.base, &self.dampers);
        self.ready = self.base.eliminate(&self.tree);
        self.damped.clone_from(&self.dampers);
        self.ready
    }
}

fn add_dampers(factor: &mut Factor, dampers: &[Damper]) {
    for Damper { node, s, weight, .. } in dampers {
        let along = &mut factor.along[*node];
        for x in 0..6 {
            (0..6).for_each(|y| along[x][y] += weight * s[x] * s[y]);
        }
    }
}

impl Graph {
    /// The graph of the joints that are there.
    pub(crate) fn new(model: &Model, rows: &Rows, bodies: &Bodies) -> Self {
        let is_joint = |i: usize| matches!(model.rows[i].kind, RowKind::Joint(_));
        let mut tree = Tree::new(rows, bodies, is_joint);
        let is_gear = |i: usize| match &model.rows[i].kind {
            RowKind::Tie(tie) => tie.terms.len() == 2,
            _ => false,
        };
        let may_ride = |body: usize| {
            let body = &model.bodies[body];
            !body.contact.collide || body.shapes.iter().all(|shape| !shape.physical)
        };
        tree.find_riders(rows, bodies, is_gear, may_ride);
        let n = tree.nodes.len();
        let zero = vec![[0.0; 6]; n];
        let machine = Machine {
            momentum: zero.clone(),
            push: zero.clone(),
            v: zero.clone(),
            q: zero.clone(),
            r: zero.clone(),
            along: zero.clone(),
            better: [zero.clone(), zero.clone()],
            bare: vec![[[0.0; 6]; 6]; n],
            inside: vec![false; n],
            inverse: vec![[[0.0; 6]; 6]; n],
            rates: vec![[[0.0; 6]; 6]; n],
            known: vec![false; n],
            wanted: vec![false; n],
            tree,
            ..Machine::default()
        };
        let mut law = Law::default();
        // What rests keeps what a solve leaves: a block on a slope crept by 6e-13 m/s with the law's own 1e-12.
        law.settings.exact = 1e-15;
        Graph {
            machine,
            law,
            start: zero.clone(),
            closing: zero,
            active: rows.known_active.clone(),
            ..Graph::default()
        }
    }

    /// Whether the tree holds each block of the model.
    pub(crate) fn held(&self) -> &[bool] {
        &self.machine.tree.holds
    }

    /// How far problems are solved where rows contradict each other: as far as it shows. Rates that are to close gaps of `contacts` and `joints` (m) in a time
    /// h are worth that part of them over h; velocities [`ENOUGH`].
    fn aim(&mut self, h: f64, contacts: f64, joints: f64) {
        let Law { settings, .. } = &mut self.law;
        settings.enough = ENOUGH.max((AIM * contacts / h.abs()).min(MOST_ENOUGH));
        settings.enough_loops = ENOUGH.min(AIM * joints / h.abs());
        // Passes of positions go on until gaps are closed: a solve that ends early would be the same one again.
        settings.enough_stall = if h.is_finite() { f64::INFINITY } else { STALL };
        settings.accept = ACCEPT.max(settings.enough);
        // Of gaps nothing is left to the motion: what a pass leaves there is taken back in the next step.
        settings.fine = if h.is_finite() { FINE_PART * settings.enough } else { FINE };
    }

    /// Poses have changed.
    pub(crate) fn forget(&mut self) {
        self.machine.placed = false;
        self.machine.ready = false;
    }

    /// Whether it is made for the joints that are there.
    pub(crate) fn fits(&self, rows: &Rows) -> bool {
        self.active == rows.known_active
    }

    /// The rows under the law, from the blocks that take part, of which what is to take overlaps apart in a time `h` is only wished; false where friction has an
    /// impulse of its own, without that of its normal.
    fn gather(&mut self, rows: &Rows, bodies: &Bodies, h: f64) -> bool {
        let Graph { machine, problem, redundant, source, lambda, .. } = self;
        problem.clear();
        source.clear();
        machine.entries.clear();
        machine.places.clear();
        machine.jac.clear();
        machine.whole_jac.clear();
        machine.links.clear();
        machine.made = false;
        lambda.clear();
        let mut i = 0;
        while i < rows.blocks.len() {
            let block = &rows.blocks[i];
            let held = machine.tree.holds.get(i).copied().unwrap_or(false);
            if rows.inactive[i] || held {
                let stray = block.bound == Bound::Disk;
                if stray && !rows.inactive[i] {
                    return false;
                }
                i += 1;
                continue;
            }
            let first = problem.n_rows();
            match block.bound {
                Bound::Disk => return false,
                Bound::Contact => {
                    let blocks = rows.blocks_of_contact(i);
                    if blocks.len() > 1 && rows.inactive[i + 1] {
                        return false;
                    }
                    let sign = if rows.upper[block.first_row] == 0.0 { -1.0 } else { 1.0 };
                    let kind = rows.law_of_contact(i);
                    let contact = rows.contact(i);
                    let [a, b] = contact.touch.bodies;
                    let pair = u32::try_from(a * bodies.fixed.len() + b + 1).unwrap_or(0);
                    let at = problem.push(kind, pair, &[]);
                    if contact.pushes_out {
                        problem.wish[at] = contact.push / h.abs();
                    }
                    source.push((block.first_row, sign));
                    for row in block.first_row + 1..block.first_row + kind.n_rows() {
                        source.push((row, 1.0));
                    }
                    machine.add_entry(rows, bodies, i, 0..kind.n_rows(), first, sign);
                    i += blocks.len();
                    continue;
                }
                Bound::None | Bound::Stop | Bound::Friction => {
                    for row in block.first_row..block.first_row + block.n_rows {
                        let (lo, hi) = (rows.lower[row], rows.upper[row]);
                        problem.push(Kind::Scalar { lo, hi }, 0, &[]);
                        source.push((row, 1.0));
                    }
                    for k in 0..block.n_rows {
                        machine.add_entry(rows, bodies, i, k..k + 1, first + k, 1.0);
                    }
                }
            }
            i += 1;
        }
        machine.links.sort_unstable();
        machine.links.dedup();
        if !problem.blocks.is_empty() {
            let Machine { ports, tree, entries, places, jac, .. } = machine;
            ports.fit(tree, entries, places, jac);
            if !machine.ports.on {
                machine.find_closure();
                machine.whole.fit(&machine.tree, &machine.closure, &machine.links);
            }
            machine.rest();
            redundant.find(problem, machine);
        }
        lambda.resize(problem.n_rows(), 0.0);
        true
    }

    /// Solves the problem of the rates that rows lack: `rows.error` is what each of them is to change by from the velocities of `bodies`. Leaves the
    /// velocities and the impulses of the rows under the law.
    fn solve(&mut self, rows: &mut Rows, bodies: &mut Bodies, velocity: bool) -> Option<Outcome> {
        let Graph {
            machine, law, problem, redundant, source, lambda, start, closing, counts, ..
        } = self;
        let Machine { tree, momentum: own, push, dampers, .. } = &mut *machine;
        tree.close(rows, &rows.error, closing);
        push.fill([0.0; 6]);
        // −w Wᵀ W δ̄: implicit dampers feel what closes the joints, too.
        for damper in &*dampers {
            let node = &tree.nodes[damper.node];
            let mut away = closing[damper.node];
            if let Some(parent) = closing.get(node.parent) {
                let carried = shift_velocity(parent, &node.r);
                (0..6).for_each(|k| away[k] -= carried[k]);
            }
            let force = -damper.weight * dot(&damper.row, &away);
            (0..6).for_each(|k| push[damper.node][k] += force * damper.s[k]);
        }
        for (i, node) in tree.nodes.iter().enumerate() {
            let now = six(&bodies.twists[node.body]);
            let mut away = [0.0; 6];
            (0..6).for_each(|k| away[k] = start[i][k] - (now[k] + closing[i][k]));
            own[i] = momentum(node, &away);
            if let Some(couple) = bodies.couples.get(node.body) {
                (0..3).for_each(|k| own[i][3 + k] += couple[k]);
            }
        }
        debug_assert!(dampers.is_empty() || velocity);
        let impulse = if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse };
        let outcome = if problem.blocks.is_empty() {
            machine.move_by(&[]);
            counts.tree += 1;
            counts.solves += 1;
            None
        } else {
            // b = J δ̄ − d.
            machine.rates_at(closing, &mut problem.b);
            for ((row, sign), b) in source.iter().zip(&mut problem.b) {
                *b -= sign * rows.error[*row];
            }
            redundant.leave_out(&mut problem.b);
            for ((row, sign), lambda) in source.iter().zip(&mut *lambda) {
                *lambda = sign * impulse[*row];
            }
            let stop = || rows.stop.is_asked();
            machine.begin();
            let outcome = law.solve(problem, machine, lambda, &stop);
            machine.move_by(lambda);
            for ((row, sign), lambda) in source.iter().zip(&*lambda) {
                impulse[*row] = sign * lambda;
            }
            *match outcome.level {
                Level::Newton => &mut counts.newton,
                Level::Path => &mut counts.path,
                Level::Convex => &mut counts.convex,
                Level::Relaxed => &mut counts.relaxed,
            } += 1;
            counts.factors += outcome.factors as u64;
            counts.solves += outcome.solves as u64;
            Some(outcome)
        };
        for (i, node) in machine.tree.nodes.iter().enumerate() {
            let now = six(&bodies.twists[node.body]);
            let mut v = machine.v[i];
            (0..6).for_each(|k| v[k] += now[k] + closing[i][k]);
            bodies.twists[node.body] = twist(&v);
            bodies.touch(node.body);
        }
        outcome
    }

    /// Impulses of the tree's joints: λ = Tᵀ F with F = M (v − v_f) − Jᵀλ of all that hangs on the node.
    fn note_joints(&mut self, rows: &mut Rows, bodies: &Bodies, velocity: bool) {
        let Graph { machine, start, lambda, .. } = self;
        let Machine { tree, entries, places, whole_jac, r, along, .. } = machine;
        let mut impulse =
            std::mem::take(if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse });
        for (i, node) in tree.nodes.iter().enumerate() {
            let mut gained = six(&bodies.twists[node.body]);
            (0..6).for_each(|k| gained[k] -= start[i][k]);
            r[i] = momentum(node, &gained);
            if let Some(couple) = bodies.couples.get(node.body) {
                (0..3).for_each(|k| r[i][3 + k] -= couple[k]);
            }
            along[i] = [0.0; 6];
        }
        for entry in &*entries {
            for i in 0..entry.n {
                let p = lambda[entry.row + i];
                for k in 0..entry.places {
                    let place = places[entry.first + k];
                    let row = &whole_jac[entry.jac + i * entry.places + k];
                    // What acts along the joint comes from the parent, as what the joint gives.
                    let (to, p) = if place.along {
                        (&mut along[place.node], p)
                    } else {
                        (&mut r[place.node], -p)
                    };
                    (0..6).for_each(|j| to[j] += row[j] * p);
                }
            }
        }
        tree.note_gears(rows, r, along, &mut impulse);
        for i in (0..tree.nodes.len()).rev() {
            let node = &tree.nodes[i];
            let all = r[i];
            if let Some((block, _)) = node.joint {
                let first = rows.blocks[block].first_row;
                let mut own = all;
                (0..6).for_each(|k| own[k] -= along[i][k]);
                for k in 0..6 - node.f {
                    impulse[first + k] = dot(&node.t[k], &own);
                }
            }
            if node.parent != WORLD {
                let all = shift_wrench(&all, &node.r);
                (0..6).for_each(|k| r[node.parent][k] += all[k]);
            }
        }
        *(if velocity { &mut rows.velocity_impulse } else { &mut rows.impulse }) = impulse;
    }

    /// Whether an outcome is no answer, and how far it is off.
    fn looseness(outcome: Option<Outcome>) -> Option<f64> {
        outcome.and_then(|o| matches!(o.ended, Ended::Loose).then_some(o.residual))
    }
}
