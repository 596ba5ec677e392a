//! The machine as the law sees it, where few rows act beside the bodies there are.
//!
//! Rows see the machine through a few directions e_d of motion alone, its ports: the rows themselves, or the velocity of a body where more than six
//! rows act on it. With E the ports and J = Ĵ E,
//!
//! ```text
//! Ĝ = E M⁻¹ Eᵀ,    v̂ = v̂_f + Ĝ Ĵᵀ λ,    (1 + Ĝ ĴᵀAĴ) v̂ = v̂_f + Ĝ Ĵᵀ c,    u = Ĵ v̂
//! ```
//! which is small and dense: the tree is solved for Ĝ, four ports at a time over the nodes between them and the root, and then only before and after
//! the law's work, not at each of its questions.

use gelenk_law::{Singular, Weights};

use super::dense::Dense;
use super::factor::Factor;
use super::small::{Six, dot};
use super::tree::{Tree, WORLD};
use super::{Entry, Place};
use crate::lanes::{F, LANES, lanes};

/// Ports are used up to a number P with P³ ≤ this · nodes: beyond it the elimination of the tree is cheaper than that of a dense matrix. Measured in
/// instructions: a node costs 1,200 to eliminate and 700 for each pair of solves, a dense matrix P³/6.
const DENSE: usize = 12_000;

/// Rows that act on the same bodies, or along the same joint.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// First direction, and how many.
    first: usize,
    n: usize,
    /// Whether the directions are its rows.
    rows: bool,
}

/// A part of a direction: what it is on a body, or along the free directions of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    place: Place,
    row: Six,
}

/// The ports of a problem and what they answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Ports {
    /// Whether the running problem goes through them.
    pub on: bool,
    groups: Vec<Group>,
    /// First of the directions that are groups of their own.
    singles: usize,
    /// Group of each place and of each entry while they are found, as a forest.
    root: Vec<usize>,
    /// Places of all entries, each once, in order; and the first direction of each.
    sites: Vec<(Place, usize)>,
    group_of_site: Vec<usize>,
    /// Site of each of the entries' places.
    site_of: Vec<usize>,
    rows_of: Vec<usize>,
    /// Group and first direction of each entry.
    at: Vec<(usize, usize)>,
    /// Parts of all directions, and where those of each begin.
    parts: Vec<Part>,
    begin: Vec<usize>,
    /// The parts that Ĝ was made for, with the generation of the factor.
    known: (Vec<Part>, Vec<usize>, u64),
    /// Ĝ, row by row, and v̂_f. (P × P, P)
    g: Vec<f64>,
    free: Vec<f64>,
    /// Ĵᵀ A Ĵ of each group, one after the other.
    b: Vec<f64>,
    begin_b: Vec<usize>,
    /// The factor of 1 + Ĝ B.
    matrix: Dense,
    v: Vec<f64>,
    load: Vec<f64>,
    right: Vec<f64>,
    left: Vec<f64>,
    /// Nodes between ports and root, parents first, and their places among them.
    closure: Vec<usize>,
    inside: Vec<usize>,
    lane_r: Vec<[F; 6]>,
    lane_z: Vec<[F; 6]>,
    lane_v: Vec<[F; 6]>,
    lane_q: Vec<[F; 6]>,
}

fn find(root: &mut [usize], mut i: usize) -> usize {
    while root[i] != i {
        root[i] = root[root[i]];
        i = root[i];
    }
    i
}

impl Ports {
    /// The ports of these entries; [`on`](Ports::on) tells whether they are worth it for a tree of so many nodes.
    pub(super) fn fit(
        &mut self,
        n_nodes: usize,
        entries: &[Entry],
        places: &[Place],
        jac: &[Six],
        widths: impl Fn(&Place) -> usize,
    ) {
        self.on = entries.iter().all(|entry| entry.places > 0);
        if !self.on {
            return;
        }
        self.sites.clear();
        self.sites.extend(places.iter().map(|place| (*place, 0)));
        self.sites.sort_unstable_by_key(|(place, _)| (place.node, place.along));
        self.sites.dedup_by_key(|(place, _)| (place.node, place.along));
        self.site_of.clear();
        for place in places {
            let key = (place.node, place.along);
            let at = self.sites.binary_search_by_key(&key, |(site, _)| (site.node, site.along));
            self.site_of.push(at.unwrap_or(0));
        }
        self.root.clear();
        self.root.extend(0..self.sites.len());
        for entry in entries {
            for k in 1..entry.places {
                let a = find(&mut self.root, self.site_of[entry.first]);
                let b = find(&mut self.root, self.site_of[entry.first + k]);
                self.root[a.max(b)] = a.min(b);
            }
        }
        for site in 0..self.sites.len() {
            self.root[site] = find(&mut self.root, site);
        }
        self.rows_of.clear();
        self.rows_of.resize(self.sites.len(), 0);
        for entry in entries {
            let group = find(&mut self.root, self.site_of[entry.first]);
            self.rows_of[group] += entry.n;
        }
        // Directions, group by group: those of one direction last.
        self.groups.clear();
        self.group_of_site.clear();
        self.group_of_site.resize(self.sites.len(), usize::MAX);
        let mut n = 0;
        for single in [false, true] {
            self.singles = n;
            for site in 0..self.sites.len() {
                if find(&mut self.root, site) != site {
                    continue;
                }
                let members = || (site..self.sites.len()).filter(|other| self.root[*other] == site);
                let whole: usize = members().map(|other| widths(&self.sites[other].0)).sum();
                let rows = self.rows_of[site] <= whole;
                let width = if rows { self.rows_of[site] } else { whole };
                if (width == 1) != single {
                    continue;
                }
                let mut first = n;
                for other in site..self.sites.len() {
                    if self.root[other] == site {
                        self.group_of_site[other] = self.groups.len();
                        self.sites[other].1 = first;
                        first += widths(&self.sites[other].0);
                    }
                }
                self.groups.push(Group { first: n, n: width, rows });
                n += width;
            }
        }
        self.on = n * n * n <= DENSE * n_nodes;
        if !self.on {
            return;
        }
        // Where entries begin in their groups: rows one after the other.
        self.at.clear();
        self.rows_of.clear();
        self.rows_of.resize(self.groups.len(), 0);
        for entry in entries {
            let group = self.group_of_site[self.site_of[entry.first]];
            self.at.push((group, self.groups[group].first + self.rows_of[group]));
            self.rows_of[group] += entry.n;
        }
        self.parts.clear();
        self.begin.clear();
        for (index, group) in self.groups.iter().enumerate() {
            if group.rows {
                for (entry, _) in entries.iter().zip(&self.at).filter(|(_, at)| at.0 == index) {
                    for i in 0..entry.n {
                        self.begin.push(self.parts.len());
                        for k in 0..entry.places {
                            let row = jac[entry.jac + i * entry.places + k];
                            self.parts.push(Part { place: places[entry.first + k], row });
                        }
                    }
                }
                continue;
            }
            for (&(place, _), _) in
                self.sites.iter().zip(&self.group_of_site).filter(|(_, group)| **group == index)
            {
                for k in 0..widths(&place) {
                    self.begin.push(self.parts.len());
                    let mut row = [0.0; 6];
                    row[k] = 1.0;
                    self.parts.push(Part { place, row });
                }
            }
        }
        self.begin.push(self.parts.len());
    }

    fn n(&self) -> usize {
        self.begin.len() - 1
    }

    /// Ĝ with this factor of the tree, whose generation tells whether it is the one before.
    pub(super) fn answer(&mut self, tree: &Tree, base: &Factor, generation: u64) {
        let n = self.n();
        if self.known.2 == generation && self.known.1 == self.begin && self.known.0 == self.parts {
            return;
        }
        self.known.0.clone_from(&self.parts);
        self.known.1.clone_from(&self.begin);
        self.known.2 = generation;
        self.inside.clear();
        self.inside.resize(tree.nodes.len(), usize::MAX);
        for part in &self.parts {
            let mut node = part.place.node;
            while node != WORLD && self.inside[node] == usize::MAX {
                self.inside[node] = 0;
                node = tree.nodes[node].parent;
            }
        }
        self.closure.clear();
        for node in 0..tree.nodes.len() {
            if self.inside[node] == 0 {
                self.inside[node] = self.closure.len();
                self.closure.push(node);
            }
        }
        self.g.clear();
        self.g.resize(n * n, 0.0);
        let zero = [F::ZERO; 6];
        for lane in [&mut self.lane_r, &mut self.lane_z, &mut self.lane_v, &mut self.lane_q] {
            lane.clear();
            lane.resize(self.closure.len(), zero);
        }
        for first in (0..n).step_by(LANES) {
            let four = first..(first + LANES).min(n);
            self.lane_r.fill(zero);
            self.lane_z.fill(zero);
            for (lane, direction) in four.clone().enumerate() {
                for part in &self.parts[self.begin[direction]..self.begin[direction + 1]] {
                    let at = self.inside[part.place.node];
                    let to =
                        if part.place.along { &mut self.lane_z[at] } else { &mut self.lane_r[at] };
                    for (to, x) in to.iter_mut().zip(&part.row) {
                        *to += lanes(|k| if k == lane { *x } else { 0.0 });
                    }
                }
            }
            base.solve_four(
                tree,
                &self.closure,
                &self.inside,
                &mut self.lane_r,
                &mut self.lane_z,
                &mut self.lane_v,
                &mut self.lane_q,
            );
            for direction in 0..n {
                let mut sum = F::ZERO;
                for part in &self.parts[self.begin[direction]..self.begin[direction + 1]] {
                    let at = self.inside[part.place.node];
                    let v = if part.place.along { &self.lane_q[at] } else { &self.lane_v[at] };
                    for (v, x) in v.iter().zip(&part.row) {
                        sum += *v * F::splat(*x);
                    }
                }
                for (lane, x) in four.clone().zip(sum.to_array()) {
                    self.g[direction * n + lane] = x;
                }
            }
        }
    }

    /// v̂_f = 0.
    pub(super) fn rest(&mut self) {
        self.free.clear();
        self.free.resize(self.n(), 0.0);
    }

    /// v̂_f, from velocities of nodes and rates of their free directions.
    pub(super) fn begin(&mut self, v: &[Six], q: &[Six]) {
        self.free.clear();
        for direction in 0..self.n() {
            let parts = &self.parts[self.begin[direction]..self.begin[direction + 1]];
            let part = |part: &Part| {
                let node = part.place.node;
                dot(&part.row, if part.place.along { &q[node] } else { &v[node] })
            };
            self.free.push(parts.iter().map(part).sum());
        }
    }

    /// `load` = Ĵᵀ λ.
    fn gather(&mut self, entries: &[Entry], jac: &[Six], lambda: &[f64]) {
        self.load.clear();
        self.load.resize(self.n(), 0.0);
        for (entry, &(group, at)) in entries.iter().zip(&self.at) {
            if self.groups[group].rows {
                self.load[at..at + entry.n]
                    .copy_from_slice(&lambda[entry.row..entry.row + entry.n]);
                continue;
            }
            for k in 0..entry.places {
                let first = self.sites[self.site_of[entry.first + k]].1;
                for i in 0..entry.n {
                    let p = lambda[entry.row + i];
                    let row = &jac[entry.jac + i * entry.places + k];
                    for (load, x) in self.load[first..].iter_mut().zip(row) {
                        *load += x * p;
                    }
                }
            }
        }
    }

    /// u = Ĵ v̂.
    fn rates(&self, entries: &[Entry], jac: &[Six], u: &mut [f64]) {
        for (entry, &(group, at)) in entries.iter().zip(&self.at) {
            let u = &mut u[entry.row..entry.row + entry.n];
            if self.groups[group].rows {
                u.copy_from_slice(&self.v[at..at + entry.n]);
                continue;
            }
            u.fill(0.0);
            for k in 0..entry.places {
                let first = self.sites[self.site_of[entry.first + k]].1;
                for (i, u) in u.iter_mut().enumerate() {
                    let row = &jac[entry.jac + i * entry.places + k];
                    *u += self.v[first..].iter().zip(row).map(|(v, x)| v * x).sum::<f64>();
                }
            }
        }
    }

    /// u = J v_f + J M⁻¹ Jᵀ λ.
    pub(super) fn respond(
        &mut self,
        entries: &[Entry],
        jac: &[Six],
        lambda: &[f64],
        u: &mut [f64],
    ) {
        self.gather(entries, jac, lambda);
        let n = self.n();
        self.v.clone_from(&self.free);
        add_product(&self.g, &self.load, &mut self.v);
        debug_assert_eq!(self.v.len(), n);
        self.rates(entries, jac, u);
    }

    /// Factors 1 + Ĝ ĴᵀAĴ.
    pub(super) fn factor(
        &mut self,
        entries: &[Entry],
        jac: &[Six],
        a: &Weights,
    ) -> Result<(), Singular> {
        let n = self.n();
        self.begin_b.clear();
        let mut size = 0;
        for group in &self.groups {
            self.begin_b.push(size);
            size += group.n * group.n;
        }
        self.b.clear();
        self.b.resize(size, 0.0);
        for ((entry, &(index, at)), (_, m, a)) in entries.iter().zip(&self.at).zip(a.blocks()) {
            let group = self.groups[index];
            let b = &mut self.b[self.begin_b[index]..][..group.n * group.n];
            if group.rows {
                let at = at - group.first;
                for i in 0..m {
                    b[(at + i) * group.n + at..][..m].copy_from_slice(&a[i * m..(i + 1) * m]);
                }
                continue;
            }
            if a.iter().all(|a| *a == 0.0) {
                continue;
            }
            if let (1, 6, (b, [])) = (entry.places, group.n, b.as_chunks_mut::<6>()) {
                let own = &jac[entry.jac..entry.jac + m];
                for i in 0..m {
                    let mut row = [0.0; 6];
                    for (own, a) in own.iter().zip(&a[i * m..]) {
                        (0..6).for_each(|x| row[x] += a * own[x]);
                    }
                    for (b, own) in b.iter_mut().zip(&own[i]) {
                        (0..6).for_each(|x| b[x] += own * row[x]);
                    }
                }
                continue;
            }
            for l in 0..entry.places {
                let column = self.sites[self.site_of[entry.first + l]].1 - group.first;
                let width = (group.n - column).min(6);
                for i in 0..m {
                    let mut row = [0.0; 6];
                    for j in 0..m {
                        let own = &jac[entry.jac + j * entry.places + l];
                        (0..6).for_each(|x| row[x] += a[i * m + j] * own[x]);
                    }
                    for k in 0..entry.places {
                        let first = self.sites[self.site_of[entry.first + k]].1 - group.first;
                        let own = &jac[entry.jac + i * entry.places + k];
                        for (x, own) in own.iter().enumerate().take(group.n - first) {
                            let to = &mut b[(first + x) * group.n + column..][..width];
                            to.iter_mut().zip(&row).for_each(|(to, row)| *to += own * row);
                        }
                    }
                }
            }
        }
        // 1 + Ĝ B.
        self.matrix.clear(n);
        let singles = self.singles..n;
        for i in 0..n {
            let g = &self.g[i * n..(i + 1) * n];
            let to = self.matrix.row_mut(i);
            for (group, b) in
                self.groups.iter().zip(&self.begin_b).take_while(|(g, _)| g.first < singles.start)
            {
                let own = group.first..group.first + group.n;
                add_row(&g[own.clone()], &self.b[*b..*b + group.n * group.n], &mut to[own]);
            }
            let b = &self.b[size - singles.len()..];
            for ((to, g), b) in to[singles.clone()].iter_mut().zip(&g[singles.clone()]).zip(b) {
                *to = g * b;
            }
            to[i] += 1.0;
        }
        if self.matrix.factor() { Ok(()) } else { Err(Singular) }
    }

    /// u = Ĵ v̂ of (1 + Ĝ B) v̂ = v̂_f + Ĝ Ĵᵀ c, refined once.
    pub(super) fn solve(&mut self, entries: &[Entry], jac: &[Six], c: &[f64], u: &mut [f64]) {
        self.gather(entries, jac, c);
        let n = self.n();
        self.v.clear();
        self.v.resize(n, 0.0);
        for _ in 0..2 {
            // Ĝ (Ĵᵀc − B v̂) + v̂_f − v̂.
            self.right.clone_from(&self.load);
            for (group, b) in self.groups.iter().zip(&self.begin_b) {
                let own = group.first..group.first + group.n;
                for (to, b) in self.right[own.clone()]
                    .iter_mut()
                    .zip(self.b[*b..].chunks_exact(group.n.max(1)))
                {
                    *to -= b.iter().zip(&self.v[own.clone()]).map(|(b, v)| b * v).sum::<f64>();
                }
            }
            self.left.clear();
            self.left.extend(self.free.iter().zip(&self.v).map(|(free, v)| free - v));
            add_product(&self.g, &self.right, &mut self.left);
            self.matrix.add_solution(&self.left, &mut self.v);
        }
        self.rates(entries, jac, u);
    }

    /// Diagonal of J M⁻¹ Jᵀ.
    pub(super) fn diagonal(&self, entries: &[Entry], jac: &[Six], k: &mut [f64]) {
        let n = self.n();
        for (entry, &(group, at)) in entries.iter().zip(&self.at) {
            for i in 0..entry.n {
                if self.groups[group].rows {
                    k[entry.row + i] = self.g[(at + i) * n + at + i];
                    continue;
                }
                let mut sum = 0.0;
                for a in 0..entry.places {
                    let first = self.sites[self.site_of[entry.first + a]].1;
                    let own = &jac[entry.jac + i * entry.places + a];
                    for b in 0..entry.places {
                        let second = self.sites[self.site_of[entry.first + b]].1;
                        let other = &jac[entry.jac + i * entry.places + b];
                        for (x, own) in own.iter().enumerate().filter(|(_, own)| **own != 0.0) {
                            let g = &self.g[(first + x) * n..][..n];
                            sum += own
                                * g[second..].iter().zip(other).map(|(g, y)| g * y).sum::<f64>();
                        }
                    }
                }
                k[entry.row + i] = sum;
            }
        }
    }
}

/// to += g B of a group.
#[inline(always)]
fn add_row(g: &[f64], b: &[f64], to: &mut [f64]) {
    // One body, mostly.
    if let (Ok(to), (b, [])) = (<&mut Six>::try_from(&mut *to), b.as_chunks::<6>()) {
        let mut sum = [F::ZERO; 2];
        for (g, [b0, b1, b2, b3, b4, b5]) in g.iter().zip(b) {
            let g = F::splat(*g);
            sum[0] += g * F::new([*b0, *b1, *b2, *b3]);
            sum[1] += g * F::new([*b4, *b5, 0.0, 0.0]);
        }
        let [[a, b, c, d], [e, f, ..]] = sum.map(F::to_array);
        *to = [a, b, c, d, e, f];
        return;
    }
    for (g, b) in g.iter().zip(b.chunks_exact(to.len())) {
        to.iter_mut().zip(b).for_each(|(to, b)| *to += g * b);
    }
}

/// y += G x of a symmetric G.
fn add_product(g: &[f64], x: &[f64], y: &mut [f64]) {
    if x.is_empty() {
        return;
    }
    for (row, x) in g.chunks_exact(x.len()).zip(x).filter(|(_, x)| **x != 0.0) {
        y.iter_mut().zip(row).for_each(|(y, g)| *y += g * x);
    }
}
