//! What touches a tree: how contact points answer to impulses there, and the impulses that fit the law of contact.

use wide::f64x4;

use super::factor::Factor;
use super::pattern::{LANES, NOWHERE, Pattern};
use crate::bounds::Bound;
use crate::rows::Rows;

type F = f64x4;

/// Most rows of contacts; more are left to other solvers.
pub(super) const MOST_ROWS: usize = 60;

/// Most solves of the law of contact.
const MOST_SOLVES: u32 = 30;

/// A pivot below this part of the largest response is none: contacts say the same.
const WEAK: f64 = 1e-9;

/// Up to four rows of one contact.
#[derive(Clone, Copy, Debug)]
struct Bundle {
    /// First among the rows of all contacts, and how many.
    first: usize,
    n: usize,
    /// Its part of the list of steps.
    steps: (usize, usize),
}

/// w and q of a body on the way up from a contact, for the rows of a bundle.
#[derive(Clone, Copy, Debug)]
struct Step {
    node: usize,
    w: [F; 6],
    q: [F; 6],
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
    /// Largest response of its rows to themselves.
    k: f64,
}

/// What a block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Its impulse is at a bound: there is none.
    Free,
    /// Its rows are equations.
    Holds,
    /// Friction at the edge of its disk.
    Slips,
}

/// Contacts of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Touches {
    bundles: Vec<Bundle>,
    steps: Vec<Step>,
    parts: Vec<Part>,
    /// The row of each. (n)
    rows: Vec<usize>,
    /// Response to impulses. (n × n)
    g: Vec<f64>,
    /// Impulses before, and now. (n)
    before: Vec<f64>,
    pub p: Vec<f64>,
    /// Rates before, and now. (n)
    rate: Vec<f64>,
    e: Vec<f64>,
    /// The linear system and its right side. (n × n, n)
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl Touches {
    /// Takes the contacts that are active in `rows`; false if there are too many.
    pub(super) fn take(&mut self, pattern: &Pattern, factor: &Factor, rows: &Rows) -> bool {
        self.bundles.clear();
        self.steps.clear();
        self.parts.clear();
        self.rows.clear();
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
                    let side = Side::Holds;
                    self.parts.push(Part { first, n: block.n_rows, normal: own, side, k: 0.0 });
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
        self.g.resize(n * n, 0.0);
        self.matrix.resize(n * n, 0.0);
        self.respond();
        for part in &mut self.parts {
            let own = part.first..part.first + part.n;
            part.k = own.map(|k| self.g[k * n + k]).fold(0.0, f64::max);
        }
        true
    }

    /// The way of `n` rows from `first` on up the tree.
    fn climb(
        &mut self,
        pattern: &Pattern,
        factor: &Factor,
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
            let mut b = [[0.0; LANES]; 6];
            for lane in 0..n {
                // Rows of a contact follow each other, 12 numbers each.
                let row = self.rows[first + lane] - own.first_row;
                let jac = &rows.jac[own.jac + 12 * row + 6 * slot..][..6];
                for k in 0..6 {
                    b[k][lane] = jac[k];
                }
            }
            way.1 = b.map(F::new);
        }
        if ways[0].0 == ways[1].0 && ways[0].0 != NOWHERE {
            for k in 0..6 {
                ways[0].1[k] = ways[0].1[k] + ways[1].1[k];
            }
            ways[1].0 = NOWHERE;
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
                    up[k] = up[k] + ways[1 - now].1[k];
                }
                ways[1 - now].0 = NOWHERE;
            }
            ways[now] = (parent, up);
        }
        self.bundles.push(Bundle { first, n, steps: (begin, self.steps.len()) });
    }

    /// G = J H⁻¹ Jᵀ of all rows of contacts.
    fn respond(&mut self) {
        let n = self.rows.len();
        for (j, other) in self.bundles.iter().enumerate() {
            for own in &self.bundles[j..] {
                let mut sums = [F::ZERO; LANES];
                let (mut x, mut y) = (own.steps.0, other.steps.0);
                while x < own.steps.1 && y < other.steps.1 {
                    let (a, b) = (&self.steps[x], &self.steps[y]);
                    if a.node == b.node {
                        for k in 0..6 {
                            let (w, q) = (a.w[k].to_array(), a.q[k].to_array());
                            for lane in 0..own.n {
                                sums[lane] +=
                                    b.w[k] * F::splat(w[lane]) - b.q[k] * F::splat(q[lane]);
                            }
                        }
                    }
                    x += usize::from(a.node <= b.node);
                    y += usize::from(b.node <= a.node);
                }
                for lane in 0..own.n {
                    let sum = sums[lane].to_array();
                    for m in 0..other.n {
                        self.g[(own.first + lane) * n + other.first + m] = sum[m];
                        self.g[(other.first + m) * n + own.first + lane] = sum[m];
                    }
                }
            }
        }
    }

    /// Finds the impulses `p` that fit the rates, given what the factor's way up says of the joints; false if it does not. `e` are the rates
    /// and `now` the impulses there are. (all rows)
    pub(super) fn settle(&mut self, factor: &Factor, rows: &Rows, e: &[f64], now: &[f64]) -> bool {
        for (k, &row) in self.rows.iter().enumerate() {
            self.rate[k] = e[row];
            self.before[k] = now[row];
        }
        for bundle in &self.bundles {
            let mut sum = F::ZERO;
            for step in &self.steps[bundle.steps.0..bundle.steps.1] {
                let (g, lane) = (step.node / LANES, step.node % LANES);
                for k in 0..6 {
                    sum += step.w[k] * F::splat(factor.w[g][k][lane]);
                    sum -= step.q[k] * F::splat(factor.q[g][k][lane]);
                }
            }
            let sum = sum.to_array();
            for lane in 0..bundle.n {
                self.rate[bundle.first + lane] += sum[lane];
            }
        }
        self.p.copy_from_slice(&self.before);
        self.find(rows)
    }

    /// Newton on the law of contact, with every block a projection of p − e/k on its bounds: \[Alart, Curnier 1991\], \[Qi, Sun 1993\].
    fn find(&mut self, rows: &Rows) -> bool {
        let n = self.rows.len();
        let Touches { parts, g, p, before, rate, e, matrix, right, .. } = self;
        if n == 0 {
            return true;
        }
        e.copy_from_slice(rate);
        let scale = rate.iter().fold(f64::MIN_POSITIVE, |a: f64, b| a.max(b.abs()));
        for round in 0..MOST_SOLVES {
            // Sides, and the linear system.
            let (mut changed, mut off, mut slips) = (false, 0.0_f64, false);
            matrix.fill(0.0);
            for part in parts.iter_mut() {
                let (i, k) = (part.first, part.k);
                if k <= 0.0 {
                    return false;
                }
                let before = part.side;
                let Some((normal, ratio)) = part.normal else {
                    let row = self.rows[i];
                    let wanted = p[i] - e[i] / k;
                    let held = wanted.clamp(rows.lower[row], rows.upper[row]);
                    part.side =
                        if wanted.total_cmp(&held).is_eq() { Side::Holds } else { Side::Free };
                    if part.side == Side::Holds {
                        matrix[i * n..(i + 1) * n].copy_from_slice(&g[i * n..(i + 1) * n]);
                        right[i] = -e[i];
                    } else {
                        matrix[i * n + i] = 1.0;
                        right[i] = held - p[i];
                    }
                    off = off.max((p[i] - held).abs() * k);
                    changed |= part.side != before;
                    continue;
                };
                let limit = ratio * p[normal].abs();
                let m = part.n;
                let mut x = [0.0; 2];
                for a in 0..m {
                    x[a] = p[i + a] - e[i + a] / k;
                }
                let size = x[0].hypot(x[1]);
                part.side = if size <= limit {
                    Side::Holds
                } else if limit > 0.0 {
                    Side::Slips
                } else {
                    Side::Free
                };
                changed |= part.side != before;
                match part.side {
                    Side::Holds => {
                        for a in i..i + m {
                            matrix[a * n..(a + 1) * n].copy_from_slice(&g[a * n..(a + 1) * n]);
                            right[a] = -e[a];
                            off = off.max(e[a].abs());
                        }
                    }
                    Side::Free => {
                        for a in i..i + m {
                            matrix[a * n + a] = 1.0;
                            right[a] = -p[a];
                            off = off.max(p[a].abs() * k);
                        }
                    }
                    Side::Slips => {
                        // p − limit x/|x| = 0 with x = p − e/k.
                        slips = true;
                        let along = x.map(|x| x / size);
                        let turn = if m == 2 { limit / size } else { 0.0 };
                        for a in 0..m {
                            let at = (i + a) * n;
                            for b in 0..m {
                                let unit = f64::from(u8::from(a == b));
                                let across = turn * (unit - along[a] * along[b]);
                                matrix[at + i + b] += unit - across;
                                if across != 0.0 {
                                    for j in 0..n {
                                        matrix[at + j] += across / k * g[(i + b) * n + j];
                                    }
                                }
                            }
                            matrix[at + normal] -= along[a] * ratio * p[normal].signum();
                            right[i + a] = limit * along[a] - p[i + a];
                            off = off.max(right[i + a].abs() * k);
                        }
                    }
                }
            }
            if off <= 1e-13 * scale || round > 0 && !changed && !slips {
                return true;
            }
            if round > 0 && !changed && off <= 1e-9 * scale {
                return true;
            }
            if !off.is_finite() || !eliminate(matrix, right, n) {
                return false;
            }
            for k in 0..n {
                p[k] += right[k];
            }
            for i in 0..n {
                let mut sum = rate[i];
                for j in 0..n {
                    sum += g[i * n + j] * (p[j] - before[j]);
                }
                e[i] = sum;
            }
        }
        false
    }

    /// Adds what the impulses found do to the factor's way up.
    pub(super) fn push(&self, factor: &mut Factor) {
        for bundle in &self.bundles {
            let mut p = [0.0; LANES];
            for lane in 0..bundle.n {
                p[lane] = self.p[bundle.first + lane] - self.before[bundle.first + lane];
            }
            let p = F::new(p);
            for step in &self.steps[bundle.steps.0..bundle.steps.1] {
                let (g, lane) = (step.node / LANES, step.node % LANES);
                for k in 0..6 {
                    factor.w[g][k][lane] += (step.w[k] * p).reduce_add();
                    factor.q[g][k][lane] += (step.q[k] * p).reduce_add();
                }
            }
        }
    }

    /// The rows and the impulses they are to have.
    pub(super) fn found(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.rows.iter().copied().zip(self.p.iter().copied())
    }
}

/// x ← A⁻¹ x by elimination with pivots; false where A is nearly singular.
fn eliminate(a: &mut [f64], x: &mut [f64], n: usize) -> bool {
    let largest = a.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            if a[i * n + k].abs() > a[pivot * n + k].abs() {
                pivot = i;
            }
        }
        if a[pivot * n + k].abs() <= WEAK * largest {
            return false;
        }
        if pivot != k {
            for j in k..n {
                a.swap(k * n + j, pivot * n + j);
            }
            x.swap(k, pivot);
        }
        let (above, below) = a.split_at_mut((k + 1) * n);
        let row = &above[k * n + k..];
        let inverse = 1.0 / row[0];
        for i in k + 1..n {
            let own = &mut below[(i - k - 1) * n + k..][..n - k];
            let part = own[0] * inverse;
            if part != 0.0 {
                for (own, row) in own.iter_mut().zip(row) {
                    *own -= part * row;
                }
                x[i] -= part * x[k];
            }
        }
    }
    for k in (0..n).rev() {
        let mut sum = x[k];
        for j in k + 1..n {
            sum -= a[k * n + j] * x[j];
        }
        x[k] = sum / a[k * n + k];
    }
    true
}
