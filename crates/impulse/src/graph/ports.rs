//! The machine as the law sees it, where few rows act beside the bodies there are.
//!
//! Rows see the machine through a few directions e_d of motion alone, its ports: the rows themselves, or where more rows act than that the free
//! directions of a joint or the velocity of a body. With E the ports and J = Ĵ E,
//!
//! ```text
//! Ĝ = E M⁻¹ Eᵀ,    v̂ = v̂_f + Ĝ Ĵᵀ λ,    (1 + Ĝ ĴᵀAĴ) v̂ = v̂_f + Ĝ Ĵᵀ c,    u = Ĵ v̂
//! ```
//! which is small and dense: the tree is solved for Ĝ, four ports at a time over the nodes between them and the root, and then only before and after
//! the law's work, not at each of its questions. A body that fewer than six free directions carry from the world moves as these do: they are its ports.

use std::ops::Range;

use gelenk_law::{Singular, Weights};

use super::dense::Dense;
use super::factor::Factor;
use super::small::{Six, Wide, dot, narrow, plus, products, shift_wrench, sum, wide, wide_part};
use super::tree::{Tree, WORLD};
use super::{Entry, Place};
use crate::lanes::{F, LANES, lanes};

/// Instructions of a problem, measured with callgrind on quadrupeds, humanoids and hands of 13 to 47 bodies: with P ports over n nodes and two factors,
/// `CUBE` P³ for these, `SQUARE` P² for solves and `EACH` P n for Ĝ; with the elimination of the tree `NODE` n.
const CUBE: f64 = 2.6;
const SQUARE: f64 = 16.0;
const EACH: f64 = 143.0;
const NODE: f64 = 6800.0;

/// Where rows act: the free directions of a node, its body, or all free directions from its body to the world.
#[derive(Clone, Copy, Debug)]
struct Site {
    place: Place,
    path: bool,
    /// First direction, and how many; none where the rows of its group are directions themselves.
    first: usize,
    n: usize,
    group: usize,
}

/// Rows that act on sites which hang together.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    rows: usize,
    /// Directions of its sites.
    width: usize,
}

impl Group {
    fn of_rows(&self) -> bool {
        self.rows <= self.width
    }
}

/// An entry of the problem as the ports see it.
#[derive(Clone, Copy, Debug)]
struct Term {
    row: usize,
    n: usize,
    /// Where its rows are directions: the first of them.
    rows: Option<usize>,
    /// Its sites, and its Jacobian, row by row, 6 numbers a site.
    first: usize,
    sites: usize,
    jac: usize,
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
    /// What they are made for.
    made_for: (Vec<Entry>, Vec<Place>),
    sites: Vec<Site>,
    groups: Vec<Group>,
    /// Sets of sites while they are found, as a forest.
    root: Vec<usize>,
    terms: Vec<Term>,
    /// Sites of the terms.
    site_of: Vec<usize>,
    jac: Vec<Wide>,
    /// Pairs of sites on which one row acts, and those of each term.
    pairs: Vec<(usize, usize)>,
    pair_of: Vec<usize>,
    pairs_of_terms: Vec<usize>,
    /// Ĵᵀ A Ĵ, a block a pair.
    b: Vec<[Wide; 6]>,
    /// Parts of all directions, and where those of each begin.
    parts: Vec<Part>,
    begin: Vec<usize>,
    /// Parts that are rows: their Jacobian among the entries'.
    rows_of_parts: Vec<(usize, usize)>,
    /// The parts that Ĝ was made for, with the generation of the factor.
    known: (Vec<Part>, Vec<usize>, u64),
    /// Ĝ, row by row, and v̂_f. (P × P, P)
    g: Vec<f64>,
    free: Vec<f64>,
    /// A of the factor.
    weights: Weights,
    /// The factor of 1 + Ĝ B.
    matrix: Dense,
    v: Vec<f64>,
    load: Vec<f64>,
    right: Vec<f64>,
    left: Vec<f64>,
    /// Nodes between ports and root, parents first, and their places among them.
    closure: Vec<usize>,
    inside: Vec<usize>,
    /// Whether four ports load each of them, and whether it is asked for what these or later ones do.
    loaded: Vec<bool>,
    asked: Vec<bool>,
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

/// The nodes from this one to the world.
fn path(tree: &Tree, mut node: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let own = (node != WORLD).then_some(node)?;
        node = tree.nodes[own].parent;
        Some(own)
    })
}

impl Ports {
    /// The ports of these entries; [`on`](Ports::on) tells whether they are worth it.
    pub(super) fn fit(&mut self, tree: &Tree, entries: &[Entry], places: &[Place], jac: &[Six]) {
        if self.made_for.0 != entries || self.made_for.1 != places {
            self.made_for.0.clear();
            self.made_for.0.extend_from_slice(entries);
            self.made_for.1.clear();
            self.made_for.1.extend_from_slice(places);
            self.on = entries.iter().all(|entry| entry.places > 0);
            if self.on {
                self.find_sites(tree, entries, places);
                self.on = self.find_directions(tree, entries, places);
            }
            if self.on {
                self.find_pairs();
            }
        }
        if self.on {
            self.take_rows(tree, entries, jac);
        }
    }

    /// Sites, their groups and the terms.
    fn find_sites(&mut self, tree: &Tree, entries: &[Entry], places: &[Place]) {
        let Ports { sites, root, site_of, terms, groups, .. } = self;
        sites.clear();
        site_of.clear();
        terms.clear();
        let mut n_jac = 0;
        for entry in entries {
            let first = site_of.len();
            for place in &places[entry.first..][..entry.places] {
                let freedoms = || path(tree, place.node).map(|node| tree.nodes[node].f);
                let kind =
                    if place.along { 1 } else { 2 * usize::from(freedoms().sum::<usize>() < 6) };
                site_of.push(3 * place.node + kind);
            }
            let (row, n, sites) = (entry.row, entry.n, entry.places);
            terms.push(Term { row, n, rows: None, first, sites, jac: n_jac });
            n_jac += n * sites;
        }
        self.pair_of.clear();
        self.pair_of.extend_from_slice(site_of);
        self.pair_of.sort_unstable();
        self.pair_of.dedup();
        for key in &self.pair_of {
            let place = Place { node: key / 3, along: key % 3 == 1 };
            let n = match key % 3 {
                0 => 6,
                1 => tree.nodes[place.node].f,
                _ => path(tree, place.node).map(|node| tree.nodes[node].f).sum(),
            };
            sites.push(Site { place, path: key % 3 == 2, first: 0, n, group: 0 });
        }
        for key in &mut *site_of {
            *key = self.pair_of.binary_search(key).unwrap_or(0);
        }
        root.clear();
        root.extend(0..sites.len());
        for term in &*terms {
            for k in 1..term.sites {
                let (a, b) = (site_of[term.first], site_of[term.first + k]);
                let (a, b) = (find(root, a), find(root, b));
                root[a.max(b)] = a.min(b);
            }
        }
        groups.clear();
        groups.resize(sites.len(), Group::default());
        for (i, site) in sites.iter_mut().enumerate() {
            site.group = find(root, i);
            groups[site.group].width += site.n;
        }
        for term in &*terms {
            groups[sites[site_of[term.first]].group].rows += term.n;
        }
    }

    /// Directions, those of sites first; whether they are few.
    fn find_directions(&mut self, tree: &Tree, entries: &[Entry], places: &[Place]) -> bool {
        let Ports { sites, site_of, groups, terms, parts, begin, rows_of_parts, .. } = self;
        parts.clear();
        begin.clear();
        rows_of_parts.clear();
        for site in &mut *sites {
            site.first = begin.len();
            if groups[site.group].of_rows() {
                continue;
            }
            let mut push = |place: Place, n: usize| {
                for k in 0..n {
                    begin.push(parts.len());
                    let mut row = [0.0; 6];
                    row[k] = 1.0;
                    parts.push(Part { place, row });
                }
            };
            if site.path {
                for node in path(tree, site.place.node) {
                    push(Place { node, along: true }, tree.nodes[node].f);
                }
            } else {
                push(site.place, site.n);
            }
        }
        for (term, entry) in terms.iter_mut().zip(entries) {
            let group = &groups[sites[site_of[term.first]].group];
            if !group.of_rows() {
                continue;
            }
            term.rows = Some(begin.len());
            for i in 0..entry.n {
                begin.push(parts.len());
                for k in 0..entry.places {
                    rows_of_parts.push((parts.len(), entry.jac + i * entry.places + k));
                    parts.push(Part { place: places[entry.first + k], row: [0.0; 6] });
                }
            }
        }
        begin.push(parts.len());
        let (p, n) = (self.n() as f64, (tree.nodes.len() - tree.riders.len()) as f64);
        p * (p * (CUBE * p + SQUARE) + EACH * n) <= NODE * n
    }

    /// Blocks of Ĵᵀ A Ĵ.
    fn find_pairs(&mut self) {
        let Ports { sites, site_of, terms, pairs, pair_of, pairs_of_terms, b, .. } = self;
        let n = sites.len();
        pair_of.clear();
        pair_of.resize(n * n, usize::MAX);
        pairs.clear();
        pairs_of_terms.clear();
        for term in terms.iter().filter(|term| term.rows.is_none()) {
            let own = &site_of[term.first..][..term.sites];
            for to in own {
                for from in own {
                    let pair = &mut pair_of[to * n + from];
                    if *pair == usize::MAX {
                        *pair = pairs.len();
                        pairs.push((*to, *from));
                    }
                    pairs_of_terms.push(*pair);
                }
            }
        }
        b.clear();
        b.resize(pairs.len(), [[F::ZERO; 2]; 6]);
    }

    /// The Jacobian at the present poses.
    fn take_rows(&mut self, tree: &Tree, entries: &[Entry], jac: &[Six]) {
        let Ports { sites, site_of, terms, parts, rows_of_parts, .. } = self;
        for (part, row) in &*rows_of_parts {
            parts[*part].row = jac[*row];
        }
        self.jac.clear();
        for (term, entry) in terms.iter().zip(entries) {
            if term.rows.is_some() {
                self.jac.extend(std::iter::repeat_n([F::ZERO; 2], term.n * term.sites));
                continue;
            }
            let rows = jac[entry.jac..].chunks_exact(entry.places).take(entry.n);
            for (row, site) in rows.flat_map(|rows| rows.iter().zip(&site_of[term.first..])) {
                if !sites[*site].path {
                    self.jac.push(wide(row));
                    continue;
                }
                // What the row is about the centre of each body that carries this one, along its free directions.
                let (mut own, mut at, mut wrench) = ([0.0; 6], 0, *row);
                for node in path(tree, sites[*site].place.node) {
                    let node = &tree.nodes[node];
                    for (own, s) in own[at..].iter_mut().zip(&node.s[..node.f]) {
                        *own = dot(s, &wrench);
                    }
                    at += node.f;
                    wrench = shift_wrench(&wrench, &node.r);
                }
                self.jac.push(wide(&own));
            }
        }
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
        // All of Ĝ is written, and what is loaded is taken back.
        self.g.resize(n * n, 0.0);
        let zero = [F::ZERO; 6];
        for lane in [&mut self.lane_r, &mut self.lane_z, &mut self.lane_v, &mut self.lane_q] {
            lane.resize(self.closure.len(), zero);
        }
        self.loaded.resize(self.closure.len(), false);
        self.asked.clear();
        self.asked.resize(self.closure.len(), false);
        // Ĝ is symmetric: from the last four on, each asks those after it alone, and loads no nodes but its own.
        for first in (0..n).step_by(LANES).rev() {
            let four = first..(first + LANES).min(n);
            for (lane, direction) in four.clone().enumerate() {
                for part in &self.parts[self.begin[direction]..self.begin[direction + 1]] {
                    let at = self.inside[part.place.node];
                    let to =
                        if part.place.along { &mut self.lane_z[at] } else { &mut self.lane_r[at] };
                    for (to, x) in to.iter_mut().zip(&part.row) {
                        *to += lanes(|k| if k == lane { *x } else { 0.0 });
                    }
                    for node in path(tree, part.place.node) {
                        let at = self.inside[node];
                        if std::mem::replace(&mut self.loaded[at], true) {
                            break;
                        }
                        self.asked[at] = true;
                    }
                }
            }
            base.solve_four(
                tree,
                &self.closure,
                &self.inside,
                [&self.loaded, &self.asked],
                &mut self.lane_r,
                &mut self.lane_z,
                &mut self.lane_v,
                &mut self.lane_q,
            );
            for (at, loaded) in self.loaded.iter_mut().enumerate() {
                if std::mem::take(loaded) {
                    (self.lane_r[at], self.lane_z[at]) = (zero, zero);
                }
            }
            for direction in first..n {
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
                    self.g[lane * n + direction] = x;
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
    fn gather(&mut self, lambda: &[f64]) {
        let Ports { terms, sites, site_of, jac, load, .. } = self;
        load.clear();
        load.resize(self.begin.len() - 1, 0.0);
        for term in &*terms {
            let lambda = &lambda[term.row..][..term.n];
            if let Some(at) = term.rows {
                load[at..at + term.n].copy_from_slice(lambda);
                continue;
            }
            if lambda.iter().all(|p| *p == 0.0) {
                continue;
            }
            for (at, site) in site_of[term.first..][..term.sites].iter().enumerate() {
                let rows = jac[term.jac + at..].iter().step_by(term.sites);
                let sum = rows.zip(lambda).fold([F::ZERO; 2], |sum, (row, p)| plus(sum, *p, row));
                let Site { first, n, .. } = sites[*site];
                let load = load[first..first + n].iter_mut();
                load.zip(narrow(sum)).for_each(|(load, x)| *load += x);
            }
        }
    }

    /// u = Ĵ v̂.
    fn rates(&self, u: &mut [f64]) {
        for term in &self.terms {
            let u = &mut u[term.row..][..term.n];
            if let Some(at) = term.rows {
                u.copy_from_slice(&self.v[at..at + term.n]);
                continue;
            }
            let mut sums = [F::ZERO; 6];
            for (at, site) in self.site_of[term.first..][..term.sites].iter().enumerate() {
                let Site { first, n, .. } = self.sites[*site];
                let v = wide_part(&self.v[first..first + n]);
                let rows = self.jac[term.jac + at..].iter().step_by(term.sites);
                for (own, row) in sums.iter_mut().take(term.n).zip(rows) {
                    *own = products(*own, row, &v);
                }
            }
            u.iter_mut().zip(sums).for_each(|(u, own)| *u = sum(own));
        }
    }

    /// u = J v_f + J M⁻¹ Jᵀ λ.
    pub(super) fn respond(&mut self, lambda: &[f64], u: &mut [f64]) {
        self.gather(lambda);
        self.v.clone_from(&self.free);
        add_product(&self.g, &self.load, &mut self.v);
        self.rates(u);
    }

    /// Factors 1 + Ĝ ĴᵀAĴ.
    pub(super) fn factor(&mut self, a: &Weights) -> Result<(), Singular> {
        let n = self.n();
        self.weights.copy_from(a);
        self.b.fill([[F::ZERO; 2]; 6]);
        let mut pairs = &self.pairs_of_terms[..];
        for (term, (_, m, a)) in self.terms.iter().zip(a.blocks()) {
            if term.rows.is_some() {
                continue;
            }
            let (own, rest) = pairs.split_at(term.sites * term.sites);
            pairs = rest;
            if a.iter().all(|a| *a == 0.0) {
                continue;
            }
            let rows = &self.jac[term.jac..][..m * term.sites];
            for from in 0..term.sites {
                let mut weighted = [[F::ZERO; 2]; 6];
                for (to, a) in weighted.iter_mut().zip(a.chunks_exact(m)) {
                    for (row, a) in rows[from..].iter().step_by(term.sites).zip(a) {
                        *to = plus(*to, *a, row);
                    }
                }
                for to in 0..term.sites {
                    let block = &mut self.b[own[to * term.sites + from]];
                    for (row, weighted) in rows[to..].iter().step_by(term.sites).zip(&weighted) {
                        for (block, x) in block.iter_mut().zip(narrow(*row)) {
                            *block = plus(*block, x, weighted);
                        }
                    }
                }
            }
        }
        // 1 + Ĝ B.
        self.matrix.clear(n);
        for ((to, from), block) in self.pairs.iter().zip(&self.b) {
            let (to, from) = (self.sites[*to], self.sites[*from]);
            let (to, from) = (to.first..to.first + to.n, from.first..from.first + from.n);
            add_block(&self.g, to, block, from, &mut self.matrix);
        }
        for (term, (_, m, a)) in self.terms.iter().zip(a.blocks()) {
            if let (Some(at), true) = (term.rows, a.iter().any(|a| *a != 0.0)) {
                let mut block = [[F::ZERO; 2]; 6];
                for (block, a) in block.iter_mut().zip(a.chunks_exact(m)) {
                    *block = wide_part(a);
                }
                add_block(&self.g, at..at + m, &block, at..at + m, &mut self.matrix);
            }
        }
        for i in 0..n {
            self.matrix.row_mut(i)[i] += 1.0;
        }
        if self.matrix.factor() { Ok(()) } else { Err(Singular) }
    }

    /// `right` −= B v̂.
    fn take_away(&mut self) {
        let Ports { sites, pairs, b, terms, weights, right, v, .. } = self;
        for ((to, from), block) in pairs.iter().zip(&*b) {
            let (to, from) = (sites[*to], sites[*from]);
            let v = wide_part(&v[from.first..from.first + from.n]);
            let right = &mut right[to.first..to.first + to.n];
            right.iter_mut().zip(block).for_each(|(to, b)| *to -= sum(products(F::ZERO, b, &v)));
        }
        for (term, (_, m, a)) in terms.iter().zip(weights.blocks()) {
            let Some(at) = term.rows else { continue };
            for (to, a) in right[at..at + m].iter_mut().zip(a.chunks_exact(m)) {
                *to -= a.iter().zip(&v[at..at + m]).map(|(a, v)| a * v).sum::<f64>();
            }
        }
    }

    /// u = Ĵ v̂ of (1 + Ĝ B) v̂ = v̂_f + Ĝ Ĵᵀ c, refined once.
    pub(super) fn solve(&mut self, c: &[f64], u: &mut [f64]) {
        self.gather(c);
        self.v.clear();
        self.v.resize(self.n(), 0.0);
        for refined in [false, true] {
            // Ĝ (Ĵᵀc − B v̂) + v̂_f − v̂.
            self.right.clone_from(&self.load);
            if refined {
                self.take_away();
            }
            self.left.clear();
            self.left.extend(self.free.iter().zip(&self.v).map(|(free, v)| free - v));
            add_product(&self.g, &self.right, &mut self.left);
            self.matrix.add_solution(&self.left, &mut self.v);
        }
        self.rates(u);
    }

    /// Diagonal of J M⁻¹ Jᵀ.
    pub(super) fn diagonal(&self, k: &mut [f64]) {
        let n = self.n();
        for term in &self.terms {
            let k = &mut k[term.row..][..term.n];
            if let Some(at) = term.rows {
                for (i, k) in k.iter_mut().enumerate() {
                    *k = self.g[(at + i) * n + at + i];
                }
                continue;
            }
            k.fill(0.0);
            let rows = &self.jac[term.jac..][..term.n * term.sites];
            for a in 0..term.sites {
                for b in 0..=a {
                    let [to, from] = [a, b].map(|site| self.sites[self.site_of[term.first + site]]);
                    let twice = if a == b { 1.0 } else { 2.0 };
                    let mut g = [[F::ZERO; 2]; 6];
                    let rows_of = self.g[to.first * n..].chunks_exact(n.max(1)).take(to.n);
                    for (g, row) in g.iter_mut().zip(rows_of) {
                        *g = wide_part(&row[from.first..from.first + from.n]);
                    }
                    for (i, k) in k.iter_mut().enumerate() {
                        let [own, other] = [a, b].map(|site| &rows[i * term.sites + site]);
                        let mut answer = [F::ZERO; 2];
                        for (x, g) in narrow(*own).into_iter().zip(&g) {
                            answer = plus(answer, x, g);
                        }
                        *k += twice * sum(products(F::ZERO, &answer, other));
                    }
                }
            }
        }
    }
}

/// Columns `from` += columns `to` of G times a block.
fn add_block(g: &[f64], to: Range<usize>, block: &[Wide; 6], from: Range<usize>, out: &mut Dense) {
    match to.len() {
        1 => add_rows::<1>(g, to, block, from, out),
        2 => add_rows::<2>(g, to, block, from, out),
        3 => add_rows::<3>(g, to, block, from, out),
        4 => add_rows::<4>(g, to, block, from, out),
        5 => add_rows::<5>(g, to, block, from, out),
        _ => add_rows::<6>(g, to, block, from, out),
    }
}

#[inline(always)]
fn add_rows<const N: usize>(
    g: &[f64],
    to: Range<usize>,
    block: &[Wide; 6],
    from: Range<usize>,
    out: &mut Dense,
) {
    let low: [F; N] = std::array::from_fn(|i| block[i][0]);
    let high: [F; N] = std::array::from_fn(|i| block[i][1]);
    let n = out.n();
    // Welded bodies have no free directions at all.
    for (i, g) in g.chunks_exact(n.max(1)).enumerate() {
        let Some(g) = g[to.start..].first_chunk::<N>() else { continue };
        let out = &mut out.row_mut(i)[from.clone()];
        let sum = |lanes: &[F; N]| {
            let mut sum = F::splat(g[0]) * lanes[0];
            for k in 1..N {
                sum += F::splat(g[k]) * lanes[k];
            }
            sum.to_array()
        };
        let [a, b, c, d] = sum(&low);
        match out {
            [x] => *x += a,
            [x, y, z] => {
                *x += a;
                *y += b;
                *z += c;
            }
            out => {
                let [e, f, ..] = sum(&high);
                match <&mut Six>::try_from(&mut *out) {
                    Ok(out) => {
                        let sum = [a, b, c, d, e, f];
                        (0..6).for_each(|x| out[x] += sum[x]);
                    }
                    Err(_) => out.iter_mut().zip([a, b, c, d, e]).for_each(|(out, x)| *out += x),
                }
            }
        }
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
