//! Feet: what touches a machine of hinges, each contact at the end of a leg of its own.
//!
//! Legs meet at the root alone, and contacts answer to each other only by way of it. With D of a foot (3 × 3) what its own hinges give way, and
//! W = L⁻¹ b̂ at the root (6 × 3), the response of all rows is G = D + Wᵀ W. Newton's method on the law of contact ([`touches`](super::touches)) has
//! a matrix S G + T, S and T of each foot alone; with A = S D + T, of each foot alone too:
//!
//! ```text
//! (A + S Wᵀ W) δ = r:    y = A⁻¹ r,   B = A⁻¹ S Wᵀ,   (E + Σ W B) z = Σ W y,   δ = y − B z,   W δ = z
//! ```
//! Four feet at a time; the work grows with their number, not with its cube. (The formula of Sherman, Morrison and Woodbury.)
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

mod law;
mod soles;

use self::soles::Sole;
use super::crew::Crew;
use super::limbs::{Limbs, dot};
use super::pattern::{LANES, NOWHERE, Pattern};
use super::touches::{MOST_GROWTH, Near, Side};
use crate::lanes::{F, mul_add};
use crate::rows::Rows;

/// Rows of a foot: its normal and the two of its friction.
const ROWS: usize = 3;

/// Numbers of four feet.
type Four = [f64; LANES];

/// A contact.
#[derive(Clone, Copy, Debug)]
struct Foot {
    /// The block of its normal, before that of its friction.
    block: usize,
    rows: [usize; ROWS],
    /// Largest ratio of friction to the normal's impulse.
    ratio: f64,
    /// What normal and friction did when it was taken.
    sides: [Side; 2],
}

/// What four feet do: masks. Friction that neither holds nor slips has no impulse, a normal that does not hold the one at its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sides {
    normal: F,
    holds: F,
    slips: F,
}

impl Sides {
    const NONE: Sides = Sides { normal: F::ZERO, holds: F::ZERO, slips: F::ZERO };

    /// Of one of them.
    fn of(&self, lane: usize) -> [Side; 2] {
        let is = |mask: &F| mask.to_bitmask() >> lane & 1 == 1;
        let normal = if is(&self.normal) { Side::Holds } else { Side::Free };
        let friction = match (is(&self.holds), is(&self.slips)) {
            (true, _) => Side::Holds,
            (_, true) => Side::Slips,
            _ => Side::Free,
        };
        [normal, friction]
    }

    fn bits(&self) -> [u32; 3] {
        [self.normal, self.holds, self.slips].map(F::to_bitmask)
    }
}

/// A mask of the lanes for which something holds.
fn mask(is: impl Fn(usize) -> bool) -> F {
    F::new(std::array::from_fn(|k| f64::from_bits(if is(k) { u64::MAX } else { 0 })))
}

/// The hinges that four feet come by on their ways up, at the same distance.
#[derive(Clone, Copy, Debug)]
struct Level {
    nodes: [usize; LANES],
    /// b̂, u = n̂·b̂ and u/D of each row.
    b: [[F; 6]; ROWS],
    u: [F; ROWS],
    part: [F; ROWS],
}

/// Four feet.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Its part of the list of levels.
    levels: (usize, usize),
    w: [[F; 6]; ROWS],
    d: [[F; ROWS]; ROWS],
    /// Lanes with a foot, their ratios, bounds of the normal's impulse, and what they do.
    there: F,
    ratio: F,
    bounds: [F; 2],
    sides: Sides,
    /// Largest responses of normal and friction to themselves, and their inverses; 1 without a foot.
    k: [F; 2],
    k_inv: [F; 2],
    /// A⁻¹ and B of the present matrix.
    inverse: [[F; ROWS]; ROWS],
    b: [[F; 6]; ROWS],
    /// Rates and impulses before, and now.
    rate: [F; ROWS],
    before: [F; ROWS],
    p: [F; ROWS],
    e: [F; ROWS],
    /// y, and the last step with this matrix.
    y: [F; ROWS],
    last: [F; ROWS],
}

impl Level {
    const EMPTY: Level = Level {
        nodes: [0; LANES],
        b: [[F::ZERO; 6]; ROWS],
        u: [F::ZERO; ROWS],
        part: [F::ZERO; ROWS],
    };
}

impl Group {
    const EMPTY: Group = Group {
        levels: (0, 0),
        w: [[F::ZERO; 6]; ROWS],
        d: [[F::ZERO; ROWS]; ROWS],
        there: F::ZERO,
        ratio: F::ZERO,
        bounds: [F::ZERO; 2],
        sides: Sides::NONE,
        k: [F::ONE; 2],
        k_inv: [F::ONE; 2],
        inverse: [[F::ZERO; ROWS]; ROWS],
        b: [[F::ZERO; 6]; ROWS],
        rate: [F::ZERO; ROWS],
        before: [F::ZERO; ROWS],
        p: [F::ZERO; ROWS],
        e: [F::ZERO; ROWS],
        y: [F::ZERO; ROWS],
        last: [F::ZERO; ROWS],
    };
}

/// All feet of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Feet {
    feet: Vec<Foot>,
    groups: Vec<Group>,
    /// Where they touch, and whether that is known in lanes, as their rates and impulses are then.
    soles: Vec<Sole>,
    soled: bool,
    /// All levels, in memory that stays; how many there are.
    levels: Vec<Level>,
    n_levels: usize,
    /// The node where their ways meet.
    root: usize,
    /// Nodes on some way. (nodes)
    taken: Vec<bool>,
    /// Where ways begin: node, and which of its contact's bodies that is.
    begins: Vec<(usize, usize)>,
    /// First rows and sides of the feet there were before.
    known: Vec<(usize, [Side; 2])>,
    /// E + Σ W B = L U, diagonals of U inverted.
    shared: [[f64; 6]; 6],
    /// Whether the matrix is there, the sides it was made for, and whether none of them slips.
    made: bool,
    made_for: Vec<[u32; 3]>,
    plain: bool,
    /// How much of the last step was gone; 0 where there is none.
    gone: f64,
}

impl Feet {
    /// Forgets what contacts did: a step depends on its state alone.
    pub(super) fn forget(&mut self) {
        self.feet.clear();
    }

    /// Takes the contacts that are active in `rows`; false if they are not feet of legs apart. With bodies in lanes and the tolerance of gaps they are
    /// looked at there where they can be.
    pub(super) fn take(
        &mut self,
        pattern: &Pattern,
        limbs: &Limbs,
        rows: &Rows,
        lanes: Option<(&Crew, f64)>,
    ) -> bool {
        let good = self.try_take(pattern, limbs, rows, lanes);
        if !good {
            self.feet.clear();
            self.soled = false;
        }
        good
    }

    fn try_take(
        &mut self,
        pattern: &Pattern,
        limbs: &Limbs,
        rows: &Rows,
        lanes: Option<(&Crew, f64)>,
    ) -> bool {
        self.known.clear();
        self.known.extend(
            self.feet
                .iter()
                .enumerate()
                .map(|(i, foot)| (foot.rows[0], self.groups[i / LANES].sides.of(i % LANES))),
        );
        self.feet.clear();
        self.n_levels = 0;
        self.begins.clear();
        self.made = false;
        self.root = NOWHERE;
        self.taken.clear();
        self.taken.resize(pattern.nodes.len(), false);
        let mut i = rows.model_size.blocks;
        while i < rows.blocks.len() {
            let of_contact = |k: &usize| rows.normal_of(*k) == i;
            let n = (i..rows.blocks.len()).take_while(of_contact).count();
            if !rows.inactive[i] {
                if n != 2 || !rows.is_slide(i + 1) || rows.inactive[i + 1] {
                    return false;
                }
                let own = &rows.blocks[i];
                let node = |slot: usize| pattern.node_of[rows.body_list[own.first_body + slot]];
                match (node(0), node(1)) {
                    (node, NOWHERE) if node != NOWHERE => self.begins.push((node, 0)),
                    (NOWHERE, node) if node != NOWHERE => self.begins.push((node, 1)),
                    _ => return false,
                }
                let first = rows.blocks[i + 1].first_row;
                let known = self.known.get(self.feet.len());
                let known = known.filter(|(row, _)| *row == own.first_row);
                let slide = if rows.slipped(i + 1) { Side::Slips } else { Side::Holds };
                self.feet.push(Foot {
                    block: i,
                    rows: [own.first_row, first, first + 1],
                    ratio: rows.disk_ratio(i + 1).1,
                    sides: known.map_or([Side::Holds, slide], |(_, sides)| *sides),
                });
            }
            i += n;
        }
        self.groups.resize(self.feet.len().div_ceil(LANES), Group::EMPTY);
        self.take_soles(rows, lanes);
        (0..self.feet.len()).step_by(LANES).all(|first| self.climb(pattern, limbs, rows, first))
    }

    /// The ways of four feet up to the root; false if they do not end there, or meet before.
    fn climb(&mut self, pattern: &Pattern, limbs: &Limbs, rows: &Rows, first: usize) -> bool {
        let begin = self.n_levels;
        let mut nodes = [NOWHERE; LANES];
        for (node, begin) in nodes.iter_mut().zip(&self.begins[first..]) {
            *node = begin.0;
        }
        if self.root == NOWHERE {
            self.root = nodes[0];
            while pattern.nodes[self.root].parent != NOWHERE {
                self.root = pattern.nodes[self.root].parent;
            }
            if !limbs.is_root(self.root) {
                return false;
            }
        }
        // Lanes without a foot are at the root from the beginning; its hinge is none, and changes nothing.
        let root = self.root;
        nodes = nodes.map(|node| if node == NOWHERE { root } else { node });
        let there = mask(|k| first + k < self.feet.len());
        let mut b = match self.sole_rows(first / LANES) {
            Some(b) => b.map(|row| row.map(|number| number & there)),
            None => self.rows_of(first, rows),
        };
        limbs.enter_feet(nodes, &mut b);
        let mut d = [[F::ZERO; ROWS]; ROWS];
        while nodes.iter().any(|node| *node != root) {
            for &node in nodes.iter().filter(|node| **node != root) {
                if std::mem::replace(&mut self.taken[node], true)
                    || pattern.nodes[node].parent == NOWHERE
                {
                    return false;
                }
            }
            if self.n_levels == self.levels.len() {
                self.levels.push(Level::EMPTY);
            }
            let level = &mut self.levels[self.n_levels];
            self.n_levels += 1;
            level.nodes = nodes;
            limbs.pass_hinges(nodes, &mut b, &mut level.b, &mut level.u, &mut level.part);
            let (u, part) = (&level.u, &level.part);
            for i in 0..ROWS {
                for j in 0..=i {
                    d[i][j] = mul_add(u[i], part[j], d[i][j]);
                }
            }
            nodes = nodes.map(|node| if node == root { root } else { pattern.nodes[node].parent });
        }
        limbs.arrive(root, &mut b);
        let feet = &self.feet[first..self.feet.len().min(first + LANES)];
        let k: [F; ROWS] = std::array::from_fn(|r| {
            let w = &b[r];
            d[r][r] + dot(w, w)
        });
        let k = [k[0], k[1].fast_max(k[2])].map(|k| there.bitselect(k, F::ONE));
        let number = |of: &dyn Fn(&Foot) -> f64, other: f64| {
            F::new(std::array::from_fn(|k| feet.get(k).map_or(other, of)))
        };
        let side = |of: &dyn Fn(&Foot) -> bool| mask(|k| feet.get(k).is_some_and(of));
        let group = &mut self.groups[first / LANES];
        group.levels = (begin, self.n_levels);
        for i in 0..ROWS {
            group.w[i] = b[i];
            for j in 0..ROWS {
                group.d[i][j] = d[i.max(j)][i.min(j)];
            }
        }
        group.there = there;
        group.ratio = number(&|foot| foot.ratio, 0.0);
        group.bounds = [
            number(&|foot| rows.lower[foot.rows[0]], 0.0),
            number(&|foot| rows.upper[foot.rows[0]], 0.0),
        ];
        group.sides = Sides {
            normal: side(&|foot| foot.sides[0] == Side::Holds),
            holds: side(&|foot| foot.sides[1] == Side::Holds),
            slips: side(&|foot| foot.sides[1] == Side::Slips),
        };
        group.k = k;
        group.k_inv = k.map(|k| F::ONE / k);
        true
    }

    /// Rows of four feet, at the centres of their bodies.
    fn rows_of(&self, first: usize, rows: &Rows) -> [[F; 6]; ROWS] {
        let mut numbers = [[[0.0; LANES]; 6]; ROWS];
        for (lane, foot) in self.feet[first..].iter().take(LANES).enumerate() {
            let (_, slot) = self.begins[first + lane];
            for (numbers, row) in numbers.iter_mut().zip(foot.rows) {
                for (number, jac) in numbers.iter_mut().zip(rows.contact_row(row, slot)) {
                    number[lane] = *jac;
                }
            }
        }
        numbers.map(|row| row.map(F::new))
    }

    /// Takes rates and impulses of all feet from lists by rows, where they are not in lanes.
    fn load(&mut self, e: &[f64], now: &[f64]) {
        for (group, feet) in self.groups.iter_mut().zip(self.feet.chunks(LANES)) {
            let (mut rate, mut before) = ([[0.0; LANES]; ROWS], [[0.0; LANES]; ROWS]);
            for (lane, foot) in feet.iter().enumerate() {
                for r in 0..ROWS {
                    rate[r][lane] = e[foot.rows[r]];
                    before[r][lane] = now[foot.rows[r]];
                }
            }
            (group.e, group.p) = (rate.map(F::new), before.map(F::new));
        }
    }

    /// Finds the impulses that fit the rates, as [`Touches::settle`](super::touches::Touches::settle) does.
    pub(super) fn settle(&mut self, limbs: &Limbs, e: &[f64], now: &[f64], near: Near) -> bool {
        if self.feet.is_empty() {
            return true;
        }
        let root = limbs.arrived(self.root).map(F::splat);
        if !self.has_soles() {
            self.load(e, now);
        }
        let (mut size, mut scale) = (F::ZERO, F::splat(f64::MIN_POSITIVE));
        for group in &mut self.groups {
            (group.rate, group.before) = (group.e, group.p);
            let mut rate = group.e;
            for level in &self.levels[group.levels.0..group.levels.1] {
                let (d, moment) = limbs.found_at(level.nodes);
                for r in 0..ROWS {
                    rate[r] += mul_add(level.part[r], moment, dot(&level.b[r], &d));
                }
            }
            for r in 0..ROWS {
                rate[r] += dot(&group.w[r], &root);
                let fast = rate[r].abs();
                scale = scale.fast_max(fast);
                size = size.fast_max(group.p[r].abs());
                size = size.fast_max(fast * group.k_inv[r.min(1)]);
            }
            group.e = rate;
        }
        let far = F::splat(MOST_GROWTH * largest(size));
        let within = |group: &Group| group.p.iter().all(|p| p.abs().simd_le(far).all());
        self.find(largest(scale), near) && self.groups.iter().all(within)
    }

    /// Adds what the impulses found do to the way up.
    pub(super) fn push(&self, limbs: &mut Limbs) {
        let mut sums = [F::ZERO; 6];
        for group in &self.groups {
            let delta: [F; ROWS] = std::array::from_fn(|r| group.p[r] - group.before[r]);
            for level in &self.levels[group.levels.0..group.levels.1] {
                let b: [Four; 6] = std::array::from_fn(|k| {
                    let b = &level.b;
                    dot_of([b[0][k], b[1][k], b[2][k]], &delta).to_array()
                });
                let u = dot_of(level.u, &delta).to_array();
                for (lane, &node) in level.nodes.iter().enumerate() {
                    if node != self.root {
                        limbs.push_at(node, b.map(|b| b[lane]), u[lane]);
                    }
                }
            }
            let w = &group.w;
            for k in 0..6 {
                sums[k] = add_dot(sums[k], [w[0][k], w[1][k], w[2][k]], &delta);
            }
        }
        if !self.groups.is_empty() {
            limbs.push_at(self.root, sums.map(F::reduce_add), 0.0);
        }
    }

    /// The rows and the impulses they are to have.
    pub(super) fn found(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.feet.iter().enumerate().flat_map(move |(i, foot)| {
            let group = &self.groups[i / LANES];
            foot.rows.into_iter().zip(group.p.map(|p| p.as_array()[i % LANES]))
        })
    }
}

/// a·b of three numbers, added to a sum.
#[inline(always)]
fn add_dot(sum: F, a: [F; ROWS], b: &[F; ROWS]) -> F {
    mul_add(a[2], b[2], mul_add(a[1], b[1], mul_add(a[0], b[0], sum)))
}

/// a·b of three numbers.
#[inline(always)]
fn dot_of(a: [F; ROWS], b: &[F; ROWS]) -> F {
    mul_add(a[2], b[2], mul_add(a[1], b[1], a[0] * b[0]))
}

/// The largest of four numbers that are not negative.
fn largest(x: F) -> f64 {
    let [a, b, c, d] = x.to_array();
    a.max(b).max(c.max(d))
}
