//! What touches a tree: how contact points answer to impulses there, and the impulses that fit the law of contact.
#![expect(clippy::inline_always, reason = "small kernels in hot loops")]

use wide::f64x4;

use super::factor::Elimination;
use super::pattern::{LANES, NOWHERE, Pattern};
use super::triangle::{Square, Triangle, add_rows, room, square, stride};
use crate::bounds::Bound;
use crate::rows::Rows;
use crate::small;

type F = f64x4;

/// Most rows of contacts; more are left to other solvers.
pub(super) const MOST_ROWS: usize = 60;

/// Most solves of the law of contact.
pub(super) const MOST_SOLVES: u32 = 30;

/// Sweeps where Newton does not find them at once, before it tries again each time, and the part of the rates at which they end.
const SWEEPS: [u32; 3] = [25, 100, 875];
const SWEPT: f64 = 1e-6;

/// A matrix of earlier rates serves while each step leaves no more than this part of what impulses are off by.
pub(super) const SERVES: f64 = 0.1;

/// Impulses beyond this many times the size to be expected are not the ones meant.
pub(super) const MOST_GROWTH: f64 = 100.0;

/// Up to four rows of one contact.
#[derive(Clone, Copy, Debug)]
struct Bundle {
    /// First among the rows of all contacts, and how many.
    first: usize,
    n: usize,
    /// Its part of the list of steps.
    steps: (usize, usize),
    /// Whether one body alone goes up.
    single: bool,
}

/// w and q of a body on the way up from a contact, for the rows of a bundle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub node: usize,
    pub w: [F; 6],
    pub q: [F; 6],
}

/// A block of a contact.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// First among the rows of all contacts, and how many.
    first: usize,
    n: usize,
    /// Of friction: the row of its normal, and the largest ratio to its impulse.
    normal: Option<(usize, f64)>,
    side: Side,
    /// Largest response of its rows to themselves, and its inverse.
    k: f64,
    k_inv: f64,
}

impl Part {
    /// Of friction at its edge: the direction of x = p − e/k, its length, and the limit.
    fn slip(&self, p: &[f64], e: &[f64]) -> ([f64; 2], f64, f64) {
        let mut x = [0.0; 2];
        for a in 0..self.n {
            x[a] = p[self.first + a] - e[self.first + a] * self.k_inv;
        }
        let length = small::length(x[0], x[1]);
        let limit = self.normal.map_or(0.0, |(normal, ratio)| ratio * p[normal].abs());
        (x.map(|x| x / length), length, limit)
    }
}

/// What a block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Its impulse is at a bound: there is none.
    Free,
    /// Its rows are equations.
    Holds,
    /// Friction at the edge of its disk.
    Slips,
}

/// Writes the part of G in the rows of one bundle and the columns of another: four numbers a row, where those too many are still to be written or
/// fill the row.
#[inline(always)]
fn write_part(g: &mut [f64], stride: usize, rows: &Bundle, columns: &Bundle, part: &[F; LANES]) {
    let whole = columns.first + LANES <= stride;
    for lane in 0..rows.n {
        let at = (rows.first + lane) * stride + columns.first;
        let numbers = part[lane].to_array();
        if whole {
            g[at..at + LANES].copy_from_slice(&numbers);
        } else {
            for (to, number) in g[at..at + columns.n].iter_mut().zip(numbers) {
                *to = number;
            }
        }
    }
}

/// Adds to a part of G.
fn add_part(g: &mut [f64], stride: usize, rows: &Bundle, columns: &Bundle, part: &[F; LANES]) {
    for lane in 0..rows.n {
        let at = (rows.first + lane) * stride + columns.first;
        let numbers = &part[lane].as_array()[..columns.n];
        for (to, number) in g[at..at + columns.n].iter_mut().zip(numbers) {
            *to += number;
        }
    }
}

/// How far friction that slips may be off: as a part of the rates, of what it is off by to begin with, or as a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub part: f64,
    pub begun: f64,
    pub rate: f64,
}

/// What a look at the sides has found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub changed: bool,
    pub slips: bool,
    /// How far impulses are from their projections, as a rate.
    pub off: f64,
}

impl Taken {
    /// Whether the law holds to `near`, `scale` the size of the rates. Where nothing slips and no side changes it holds.
    pub(super) fn settled(&self, round: u32, scale: f64, near: f64) -> bool {
        let near = if self.slips { near } else { f64::INFINITY };
        self.off <= 1e-13 * scale || round > 0 && !self.changed && self.off <= near
    }
}

/// Contacts of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Touches {
    bundles: Vec<Bundle>,
    steps: Vec<Step>,
    parts: Vec<Part>,
    /// First row and side of the blocks there were before.
    known: Vec<(usize, Side)>,
    /// The row of each. (n)
    rows: Vec<usize>,
    /// Response to impulses, rows of whole groups of four numbers. (n × stride)
    g: Vec<f64>,
    stride: usize,
    /// L⁻¹ b̂ at the one root of all, where there is one. (6 × stride)
    root: Vec<f64>,
    /// Impulses before, and now. (n)
    before: Vec<f64>,
    pub p: Vec<f64>,
    /// Rates before, and now. (n)
    rate: Vec<f64>,
    e: Vec<f64>,
    /// Rows of blocks that are not free.
    active: Vec<usize>,
    /// The linear system, transposed, and its right side. (n)
    matrix: Square,
    right: Vec<f64>,
    /// The same where nothing slips, and whether that is so.
    triangle: Triangle,
    plain: bool,
    /// Whether it is there, and the sides it was made for.
    made: bool,
    made_for: Vec<Side>,
    /// Impulses that sweeps have left. (n)
    swept: Vec<f64>,
    /// The last step with this matrix, and how much of it was gone.
    last: Vec<f64>,
    gone: f64,
}

impl Touches {
    /// Takes the contacts that are active in `rows`; false if there are too many.
    pub(super) fn take(
        &mut self,
        pattern: &Pattern,
        factor: &impl Elimination,
        rows: &Rows,
    ) -> bool {
        self.bundles.clear();
        self.steps.clear();
        self.known.clear();
        self.known.extend(self.parts.iter().map(|part| (self.rows[part.first], part.side)));
        self.parts.clear();
        self.rows.clear();
        self.made = false;
        let begin = rows.model_size.blocks;
        let mut normal = 0;
        let mut i = begin;
        while i < rows.blocks.len() {
            let contact = rows.normal_of(i);
            let from = self.rows.len();
            while i < rows.blocks.len() && rows.normal_of(i) == contact {
                let block = &rows.blocks[i];
                if !rows.inactive[i] {
                    let first = self.rows.len();
                    let own = if block.bound == Bound::Disk {
                        Some((normal, rows.disk_ratio(i).1))
                    } else {
                        normal = first;
                        None
                    };
                    self.rows.extend(block.first_row..block.first_row + block.n_rows);
                    // Most do again what they did before: in this step, or by the state in the one before.
                    let known = self.known.get(self.parts.len());
                    let known = known.filter(|(row, _)| *row == block.first_row);
                    let slipped = block.bound == Bound::Disk && rows.slipped(i);
                    let side = if slipped { Side::Slips } else { Side::Holds };
                    let side = known.map_or(side, |(_, side)| *side);
                    self.parts.push(Part {
                        first,
                        n: block.n_rows,
                        normal: own,
                        side,
                        k: 0.0,
                        k_inv: 0.0,
                    });
                }
                i += 1;
            }
            for first in (from..self.rows.len()).step_by(LANES) {
                let n = (self.rows.len() - first).min(LANES);
                self.climb(pattern, factor, rows, contact, first, n);
            }
        }
        let n = self.rows.len();
        if n > MOST_ROWS {
            return false;
        }
        let Touches { before, p, rate, e, right, .. } = self;
        for numbers in [before, p, rate, e, right] {
            numbers.resize(n, 0.0);
        }
        self.stride = stride(n);
        self.g.resize(room(n), 0.0);
        self.respond(factor);
        for part in &mut self.parts {
            let own = part.first..part.first + part.n;
            part.k = own.map(|k| self.g[k * self.stride + k]).fold(0.0, f64::max);
            part.k_inv = 1.0 / part.k;
        }
        true
    }

    /// Forgets what contacts did: a step depends on its state alone.
    pub(super) fn forget(&mut self) {
        self.parts.clear();
        self.rows.clear();
    }

    /// The way of `n` rows from `first` on up the tree.
    fn climb(
        &mut self,
        pattern: &Pattern,
        factor: &impl Elimination,
        rows: &Rows,
        block: usize,
        first: usize,
        n: usize,
    ) {
        let begin = self.steps.len();
        // Both bodies of the contact go up until their ways meet.
        let mut ways = [(NOWHERE, [F::ZERO; 6]); 2];
        let own = &rows.blocks[block];
        for (slot, way) in ways.iter_mut().enumerate() {
            way.0 = pattern.node_of[rows.body_list[own.first_body + slot]];
            if way.0 == NOWHERE {
                continue;
            }
            let mut b = [[0.0; LANES]; 6];
            for lane in 0..n {
                // Rows of a contact follow each other, 12 numbers each.
                let row = self.rows[first + lane] - own.first_row;
                let jac = &rows.jac[own.jac + 12 * row + 6 * slot..][..6];
                for k in 0..6 {
                    b[k][lane] = jac[k];
                }
            }
            for k in 0..6 {
                way.1[k] = F::new(b[k]);
            }
            factor.enter(way.0, &mut way.1);
        }
        if ways[0].0 == ways[1].0 && ways[0].0 != NOWHERE {
            for k in 0..6 {
                let other = ways[1].1[k];
                ways[0].1[k] += other;
            }
            ways[1].0 = NOWHERE;
        }
        let single = ways[0].0 == NOWHERE || ways[1].0 == NOWHERE;
        if single {
            // Alone to the root: by far the most.
            let (mut node, mut b) = if ways[0].0 == NOWHERE { ways[1] } else { ways[0] };
            while node != NOWHERE {
                let (w, q, up) = factor.climb_columns(node, &b);
                self.steps.push(Step { node, w, q });
                (node, b) = (pattern.nodes[node].parent, up);
            }
            self.bundles.push(Bundle { first, n, steps: (begin, self.steps.len()), single });
            return;
        }
        loop {
            let now = usize::from(ways[1].0 < ways[0].0);
            let (node, b) = ways[now];
            if node == NOWHERE {
                break;
            }
            let (w, q, mut up) = factor.climb_columns(node, &b);
            self.steps.push(Step { node, w, q });
            let parent = pattern.nodes[node].parent;
            if parent != NOWHERE && ways[1 - now].0 == parent {
                for k in 0..6 {
                    up[k] += ways[1 - now].1[k];
                }
                ways[1 - now].0 = NOWHERE;
            }
            ways[now] = (parent, up);
        }
        self.bundles.push(Bundle { first, n, steps: (begin, self.steps.len()), single });
    }

    /// The same where all ways end at one root: its part at once, then what ways share before it. False, and nothing done, where they do not.
    fn respond_by_root(&mut self, factor: &impl Elimination) -> bool {
        let (n, stride) = (self.rows.len(), self.stride);
        let Touches { bundles, steps, root, g, .. } = self;
        let end = |bundle: &Bundle| steps[bundle.steps.0..bundle.steps.1].last().copied();
        let Some(first) = bundles.first().and_then(end) else { return false };
        let same = |bundle: &Bundle| {
            bundle.single && end(bundle).is_some_and(|step| step.node == first.node)
        };
        if !factor.ends_at(first.node) || !bundles.iter().all(same) {
            return false;
        }
        root.resize(room(6.max(n)), 0.0);
        for row in root.chunks_exact_mut(stride).take(6) {
            row[n..].fill(0.0);
        }
        for bundle in bundles.iter() {
            let step = &steps[bundle.steps.1 - 1];
            for k in 0..6 {
                let at = k * stride + bundle.first;
                let numbers = &step.w[k].as_array()[..bundle.n];
                for (to, number) in root[at..at + bundle.n].iter_mut().zip(numbers) {
                    *to = *number;
                }
            }
        }
        square(root, stride, n, g);
        for (j, other) in bundles.iter().enumerate() {
            let b = &steps[other.steps.0..other.steps.1 - 1];
            for own in &bundles[j..] {
                let a = &steps[own.steps.0..own.steps.1 - 1];
                let mut sums = [F::ZERO; LANES];
                let mut meet = false;
                for (a, b) in a.iter().rev().zip(b.iter().rev()) {
                    if a.node != b.node {
                        break;
                    }
                    factor.respond(a, b, &mut sums);
                    meet = true;
                }
                if meet {
                    add_part(g, stride, own, other, &sums);
                    if own.first != other.first {
                        add_part(g, stride, other, own, &F::transpose(sums));
                    }
                }
            }
        }
        true
    }

    /// G = J H⁻¹ Jᵀ of all rows of contacts.
    fn respond(&mut self, factor: &impl Elimination) {
        let stride = self.stride;
        if self.respond_by_root(factor) {
            return;
        }
        for (j, other) in self.bundles.iter().enumerate() {
            let b = &self.steps[other.steps.0..other.steps.1];
            for own in &self.bundles[j..] {
                let mut sums = [F::ZERO; LANES];
                let a = &self.steps[own.steps.0..own.steps.1];
                if own.single && other.single {
                    // Ways that meet go on together.
                    for (a, b) in a.iter().rev().zip(b.iter().rev()) {
                        if a.node != b.node {
                            break;
                        }
                        factor.respond(a, b, &mut sums);
                    }
                } else {
                    let (mut x, mut y) = (0, 0);
                    while x < a.len() && y < b.len() {
                        let (a, b) = (&a[x], &b[y]);
                        if a.node == b.node {
                            factor.respond(a, b, &mut sums);
                        }
                        x += usize::from(a.node <= b.node);
                        y += usize::from(b.node <= a.node);
                    }
                }
                write_part(&mut self.g, stride, own, other, &sums);
                if own.first != other.first {
                    write_part(&mut self.g, stride, other, own, &F::transpose(sums));
                }
            }
        }
    }

    /// Finds the impulses `p` that fit the rates, given what the factor's way up says of the joints; false if it does not. `e` are the rates
    /// and `now` the impulses there are (all rows); friction that slips may be off by `near`. Where Newton was `tried` from there, it is not again.
    pub(super) fn settle(
        &mut self,
        factor: &impl Elimination,
        rows: &Rows,
        e: &[f64],
        now: &[f64],
        near: Near,
        tried: bool,
    ) -> bool {
        for (k, &row) in self.rows.iter().enumerate() {
            self.rate[k] = e[row];
            self.before[k] = now[row];
        }
        for bundle in &self.bundles {
            let mut sum = F::ZERO;
            for step in &self.steps[bundle.steps.0..bundle.steps.1] {
                sum += factor.rate(step);
            }
            let sum = sum.to_array();
            for lane in 0..bundle.n {
                self.rate[bundle.first + lane] += sum[lane];
            }
        }
        self.p.copy_from_slice(&self.before);
        // Newton may end far away where friction changes sides, or not at all; sweeps find the way, mostly soon.
        let far = MOST_GROWTH * self.size();
        if !tried && self.find(rows, true, near) && self.p.iter().all(|p| p.abs() <= far) {
            return true;
        }
        self.p.copy_from_slice(&self.before);
        for sweeps in SWEEPS {
            let swept = self.sweep(rows, sweeps);
            self.swept.clone_from(&self.p);
            if self.find(rows, false, near) && self.p.iter().all(|p| p.abs() <= far) {
                return true;
            }
            if swept {
                break;
            }
            self.p.copy_from_slice(&self.swept);
        }
        false
    }

    /// The size of impulses to be expected.
    fn size(&self) -> f64 {
        let mut size = 0.0_f64;
        for part in &self.parts {
            for k in part.first..part.first + part.n {
                size = size.max(self.before[k].abs()).max(self.rate[k].abs() / part.k);
            }
        }
        size
    }

    /// Gauss-Seidel on the same projections, from the impulses there are; true where it came to its end.
    fn sweep(&mut self, rows: &Rows, sweeps: u32) -> bool {
        self.follow();
        let (n, stride) = (self.rows.len(), self.stride);
        let Touches { parts, g, p, rate, e, .. } = self;
        let scale = rate.iter().fold(f64::MIN_POSITIVE, |a: f64, b| a.max(b.abs()));
        for _ in 0..sweeps {
            let mut change = 0.0_f64;
            for part in parts.iter() {
                let (i, m) = (part.first, part.n);
                // No smaller than the largest eigenvalue of the block.
                let k = if m == 2 { part.k + g[i * stride + i + 1].abs() } else { part.k };
                let mut next = [0.0; 2];
                for a in 0..m {
                    next[a] = p[i + a] - e[i + a] / k;
                }
                if let Some((normal, ratio)) = part.normal {
                    let (limit, size) = (ratio * p[normal].abs(), small::length(next[0], next[1]));
                    if size > limit {
                        next = next.map(|x| x * (limit / size));
                    }
                } else {
                    let row = self.rows[i];
                    next[0] = next[0].clamp(rows.lower[row], rows.upper[row]);
                }
                for a in 0..m {
                    let delta = next[a] - p[i + a];
                    p[i + a] = next[a];
                    change = change.max(delta.abs() * k);
                    for j in 0..n {
                        e[j] += g[(i + a) * stride + j] * delta;
                    }
                }
            }
            if change <= SWEPT * scale {
                return true;
            }
        }
        false
    }

    /// Newton on the law of contact, with every block a projection of p − e/k on its bounds: \[Alart, Curnier 1991\], \[Qi, Sun 1993\].
    ///
    /// With `trust` the first round takes the sides there are.
    fn find(&mut self, rows: &Rows, trust: bool, near: Near) -> bool {
        let n = self.rows.len();
        if n == 0 {
            return true;
        }
        self.follow();
        let scale = self.rate.iter().fold(f64::MIN_POSITIVE, |a: f64, b| a.max(b.abs()));
        let (mut before, begun) = (f64::INFINITY, near.begun);
        let mut near = near.rate.max(near.part * scale);
        for round in 0..MOST_SOLVES {
            let take = self.take_sides(rows, trust && round == 0);
            if round == 0 {
                near = near.max(begun * take.off);
            }
            if take.settled(round, scale, near) {
                return true;
            }
            // The matrix changes little while sides stay; while it serves, it is kept.
            let known = self.made && self.made_for.iter().eq(self.parts.iter().map(|p| &p.side));
            let good = known && take.off <= SERVES * before;
            if !take.off.is_finite() || !good && !self.make() {
                return false;
            }
            before = if good { take.off } else { f64::INFINITY };
            if !good || round == 0 {
                self.last.clear();
            }
            self.step();
        }
        false
    }

    /// e = rate + G (p − before).
    fn follow(&mut self) {
        let n = self.rows.len();
        if self.p == self.before {
            self.e.copy_from_slice(&self.rate);
            return;
        }
        for i in 0..n {
            let row = &self.g[i * self.stride..][..n];
            let mut sum = self.rate[i];
            for j in 0..n {
                sum += row[j] * (self.p[j] - self.before[j]);
            }
            self.e[i] = sum;
        }
    }

    /// Sides of all blocks, and how far p is from its projection. What is free is given its impulse at once.
    #[inline(never)]
    fn take_sides(&mut self, rows: &Rows, trust: bool) -> Taken {
        let mut taken = Taken { changed: false, slips: false, off: 0.0 };
        let Touches { parts, rows: own_rows, g, stride, p, e, active, .. } = self;
        active.clear();
        for part in parts.iter_mut() {
            let (i, m) = (part.first, part.n);
            let (k, k_inv) = (part.k, part.k_inv);
            let mut given = 0.0;
            // Whether trust in a side that slips is possible at all.
            let mut can_slip = false;
            let natural = match part.normal {
                None => {
                    let row = own_rows[i];
                    let x = p[i] - e[i] * k_inv;
                    given = x.clamp(rows.lower[row], rows.upper[row]);
                    taken.off = taken.off.max((p[i] - given).abs() * k);
                    let within = x.to_bits() == given.to_bits();
                    if within { Side::Holds } else { Side::Free }
                }
                Some((normal, ratio)) => {
                    let (p, e) = (&p[..], &e[i..i + m]);
                    let mut x = [0.0; 2];
                    for a in 0..m {
                        x[a] = p[i + a] - e[a] * k_inv;
                    }
                    let (limit, size) = (ratio * p[normal].abs(), small::length(x[0], x[1]));
                    can_slip = size > 0.0 && limit > 0.0;
                    if size <= limit {
                        for e in e {
                            taken.off = taken.off.max(e.abs());
                        }
                        Side::Holds
                    } else {
                        let part = if limit > 0.0 { limit / size } else { 0.0 };
                        for a in 0..m {
                            taken.off = taken.off.max((p[i + a] - part * x[a]).abs() * k);
                        }
                        if limit > 0.0 { Side::Slips } else { Side::Free }
                    }
                }
            };
            let side = match (trust, part.side) {
                (true, Side::Slips) if can_slip => Side::Slips,
                (true, Side::Holds) => Side::Holds,
                _ => natural,
            };
            taken.changed |= side != part.side || side != natural;
            taken.slips |= side == Side::Slips;
            part.side = side;
            if side != Side::Free {
                active.push(i);
                if m == 2 {
                    active.push(i + 1);
                }
                continue;
            }
            for a in i..i + m {
                let delta = given - p[a];
                if delta != 0.0 {
                    p[a] = given;
                    for (e, g) in e.iter_mut().zip(&g[a * *stride..]) {
                        *e += g * delta;
                    }
                }
            }
        }
        taken
    }

    /// The matrix of Newton's method over the blocks that are not free, factorized; false where it is singular.
    fn make(&mut self) -> bool {
        self.plain = self.parts.iter().all(|part| part.side != Side::Slips);
        let Touches {
            parts, g, stride, p, e, matrix, triangle, plain, active, made, made_for, ..
        } = self;
        made_for.clear();
        made_for.extend(parts.iter().map(|part| part.side));
        if *plain {
            // The matrix is a part of G.
            *made = triangle.make(g, *stride, active);
            return *made;
        }
        let m = active.len();
        // Column after column, so that solving with its triangles goes along rows of memory; G is symmetric.
        matrix.begin(g, *stride, active);
        let mut row = 0;
        for part in parts.iter().filter(|part| part.side != Side::Free) {
            if let (Side::Slips, Some((normal, ratio))) = (part.side, part.normal) {
                // p − limit x/|x| = 0 with x = p − e/k; the rows have G by now.
                let size = part.n;
                let normal_at = active.iter().position(|&j| j == normal);
                let (along, length, limit) = part.slip(p, e);
                let turn = if size == 2 { limit / length } else { 0.0 };
                let unit = |a: usize, b: usize| f64::from(u8::from(a == b));
                let across = |a: usize, b: usize| turn * (unit(a, b) - along[a] * along[b]);
                let matrix_of = |a: usize, b: usize| across(a, b) * part.k_inv;
                let own = [[matrix_of(0, 0), matrix_of(0, 1)], [matrix_of(1, 0), matrix_of(1, 1)]];
                for j in 0..m {
                    let x = *matrix.at(j, row);
                    if size == 2 {
                        let y = *matrix.at(j, row + 1);
                        *matrix.at(j, row) = own[0][0] * x + own[0][1] * y;
                        *matrix.at(j, row + 1) = own[1][0] * x + own[1][1] * y;
                    } else {
                        *matrix.at(j, row) = own[0][0] * x;
                    }
                }
                for a in 0..size {
                    for b in 0..size {
                        *matrix.at(row + b, row + a) += unit(a, b) - across(a, b);
                    }
                    if let Some(at) = normal_at {
                        *matrix.at(at, row + a) -= along[a] * ratio * p[normal].signum();
                    }
                }
            }
            row += part.n;
        }
        *made = matrix.factorize();
        *made
    }

    /// One step of Newton's method with the matrix there is.
    #[inline(never)]
    fn step(&mut self) {
        let Touches {
            parts,
            g,
            stride,
            p,
            e,
            matrix,
            right,
            active,
            triangle,
            plain,
            last,
            gone,
            ..
        } = self;
        let m = active.len();
        let mut row = 0;
        for part in parts.iter().filter(|part| part.side != Side::Free) {
            if part.side == Side::Slips {
                let (along, _, limit) = part.slip(p, e);
                for a in 0..part.n {
                    right[row + a] = limit * along[a] - p[part.first + a];
                }
            } else {
                for a in 0..part.n {
                    right[row + a] = -e[part.first + a];
                }
            }
            row += part.n;
        }
        if *plain {
            triangle.solve(&mut right[..m]);
        } else {
            matrix.solve_transposed(&mut right[..m]);
            let more = stretch(&right[..m], last, *gone);
            last.clear();
            last.extend_from_slice(&right[..m]);
            *gone = more;
            for delta in &mut right[..m] {
                *delta *= more;
            }
        }
        for (&i, delta) in active.iter().zip(right.iter()) {
            p[i] += delta;
        }
        // G is symmetric: its rows are its columns.
        add_rows(g, *stride, active, &right[..m], e);
    }

    /// Adds what the impulses found do to the factor's way up.
    pub(super) fn push(&self, factor: &mut impl Elimination) {
        for bundle in &self.bundles {
            let mut p = [0.0; LANES];
            for lane in 0..bundle.n {
                p[lane] = self.p[bundle.first + lane] - self.before[bundle.first + lane];
            }
            let p = F::new(p);
            for step in &self.steps[bundle.steps.0..bundle.steps.1] {
                factor.push(step, p);
            }
        }
    }

    /// The rows and the impulses they are to have.
    pub(super) fn found(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.rows.iter().copied().zip(self.p.iter().copied())
    }
}

/// How far to go along the step δ with a matrix that serves again, after `gone` of the step δ₀ before: steps with one matrix leave nearly the same part ρ of
/// what impulses are off by, δ = δ₀ (1 − gone (1 − ρ)), and 1/(1 − ρ) of a step leaves nothing of it (Aitken).
fn stretch(step: &[f64], before: &[f64], gone: f64) -> f64 {
    if before.len() != step.len() {
        return 1.0;
    }
    let (mut both, mut square) = (0.0, 0.0);
    for (a, b) in step.iter().zip(before) {
        both += a * b;
        square += b * b;
    }
    stretch_part(both, square, gone)
}

/// The same from the products δ·δ₀ and δ₀·δ₀.
pub(super) fn stretch_part(both: f64, square: f64, gone: f64) -> f64 {
    /// Parts beyond this are none to be trusted.
    const MOST: f64 = 0.3;
    let rho = 1.0 - (1.0 - both / square) / gone;
    if rho.abs() <= MOST { 1.0 / (1.0 - rho) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where steps leave the same part of what is missing, the second one ends it.
    #[test]
    fn a_stretched_step_ends_where_steps_would() {
        let (rho, missing) = (0.1, [1.0, -2.0]);
        let first = missing.map(|x| x * (1.0 - rho));
        let second = first.map(|x| x * rho);
        let more = stretch(&second, &first, 1.0);
        for k in 0..2 {
            assert!((first[k] + more * second[k] - missing[k]).abs() < 1e-15);
        }
        // What is left after a stretched step tells the same part again.
        let left = 0.01 * (1.0 - rho);
        let again = stretch(&[left * (1.0 - more * (1.0 - rho))], &[left], more);
        assert!((again - more).abs() < 1e-12, "{again} for {more}");
        for before in [&[1.0][..], &[]] {
            let plain = stretch(&[1.0], before, 1.0);
            assert!((plain - 1.0).abs() < 1e-15, "nothing gained, or nothing known: {plain}");
        }
    }
}
