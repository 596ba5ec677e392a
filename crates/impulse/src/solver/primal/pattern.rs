//! Which bodies answer to one another: islands of bodies, and the pattern of H = 1 + Ĵᵀ D Ĵ over them.

use std::collections::BTreeSet;

use crate::rows::Rows;
use crate::scratch::Bodies;
use crate::solver::direct::eliminate;

/// Of a body that no row moves.
const NOWHERE: usize = usize::MAX;

/// The pattern; made anew when the rows change theirs.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern {
    /// Bodies that rows hold together; they share no body that moves with any other island.
    pub islands: Vec<Island>,
    /// Blocks of all islands, one island after the other, ascending in each.
    pub blocks: Vec<usize>,
    /// The body of each column, in the order of elimination, one island after the other. (n columns)
    pub body: Vec<usize>,
    /// Column of each body. (n bodies)
    column: Vec<usize>,
    /// Where the blocks below each diagonal begin. (n columns + 1)
    pub first_entry: Vec<usize>,
    /// The rows of these blocks, as columns, ascending. (n entries)
    pub entry_row: Vec<usize>,
    /// Products to subtract when a column is eliminated.
    pub updates: Vec<Update>,
    pub first_update: Vec<usize>,
    /// For each row block its pairs of bodies; where they begin. (n blocks + 1)
    pub pairs: Vec<Pair>,
    pub first_pair: Vec<usize>,
    /// The columns of each block's bodies, in the layout of [`Rows::body_list`].
    pub columns: Vec<usize>,
    /// Pairs of bodies that meet, by which a pattern is known again.
    edges: Vec<[usize; 2]>,
    known_bodies: Vec<usize>,
    known_blocks: Vec<(usize, usize)>,
}

/// Bodies held together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Island {
    /// Its columns.
    pub columns: (usize, usize),
    /// Its part of [`Pattern::blocks`].
    pub blocks: (usize, usize),
}

/// H_target −= L_a L_bᵀ; `target` is a column where a = b, else an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    pub target: usize,
    pub a: usize,
    pub b: usize,
}

/// Two bodies of a block and the place of what they add to H: a column's diagonal if they are the same, else an entry, whose rows
/// are those of `slot_a`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub slot_a: usize,
    pub slot_b: usize,
    pub place: usize,
}

impl Pattern {
    /// Follows the rows.
    pub(super) fn follow(&mut self, rows: &Rows, bodies: &Bodies) {
        let same_blocks = self.known_blocks.len() == rows.blocks.len()
            && self.known_bodies == rows.body_list
            && self
                .known_blocks
                .iter()
                .zip(&rows.blocks)
                .all(|(known, b)| *known == (b.first_body, b.n_bodies));
        if same_blocks {
            return;
        }
        self.known_bodies.clone_from(&rows.body_list);
        self.known_blocks.clear();
        self.known_blocks.extend(rows.blocks.iter().map(|b| (b.first_body, b.n_bodies)));
        let mut edges = Vec::with_capacity(2 * rows.blocks.len());
        for block in &rows.blocks {
            let list = &rows.body_list[block.first_body..][..block.n_bodies];
            for (k, &a) in list.iter().enumerate() {
                for &b in &list[k..] {
                    if !bodies.fixed[a] && !bodies.fixed[b] {
                        edges.push([a.min(b), a.max(b)]);
                    }
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        if edges != self.edges {
            self.edges = edges;
            self.find_order(bodies.fixed.len());
        }
        self.find_pairs(rows);
    }

    /// Islands, order of elimination and fill.
    fn find_order(&mut self, n_bodies: usize) {
        // Bodies of rows, ascending, and their islands by the smallest of them.
        let mut root: Vec<usize> = (0..n_bodies).collect();
        let mut moves = vec![false; n_bodies];
        for &[a, b] in &self.edges {
            (moves[a], moves[b]) = (true, true);
            let (ra, rb) = (find(&mut root, a), find(&mut root, b));
            root[ra.max(rb)] = ra.min(rb);
        }
        let nodes: Vec<usize> = (0..n_bodies).filter(|&i| moves[i]).collect();
        let mut node_of = vec![NOWHERE; n_bodies];
        for (k, &body) in nodes.iter().enumerate() {
            node_of[body] = k;
        }
        let mut graph = vec![BTreeSet::new(); nodes.len()];
        for &[a, b] in self.edges.iter().filter(|[a, b]| a != b) {
            graph[node_of[a]].insert(node_of[b]);
            graph[node_of[b]].insert(node_of[a]);
        }
        let (order, touched) = eliminate(graph);
        let mut sorted: Vec<usize> = (0..order.len()).collect();
        sorted.sort_by_key(|&k| find(&mut root, nodes[order[k]]));
        self.body.clear();
        self.column.clear();
        self.column.resize(n_bodies, NOWHERE);
        self.islands.clear();
        let mut last = NOWHERE;
        for &k in &sorted {
            let body = nodes[order[k]];
            let column = self.body.len();
            if find(&mut root, body) != last {
                last = find(&mut root, body);
                self.islands.push(Island { columns: (column, column), blocks: (0, 0) });
            }
            if let Some(island) = self.islands.last_mut() {
                island.columns.1 = column + 1;
            }
            self.column[body] = column;
            self.body.push(body);
        }
        self.entry_row.clear();
        self.first_entry.clear();
        for &k in &sorted {
            let from = self.entry_row.len();
            self.first_entry.push(from);
            self.entry_row.extend(touched[k].iter().map(|&j| self.column[nodes[j]]));
            self.entry_row[from..].sort_unstable();
        }
        self.first_entry.push(self.entry_row.len());
        self.updates.clear();
        self.first_update.clear();
        for k in 0..self.body.len() {
            self.first_update.push(self.updates.len());
            let entries = self.first_entry[k]..self.first_entry[k + 1];
            for b in entries.clone() {
                for a in b..entries.end {
                    let target = self.place(self.entry_row[a], self.entry_row[b]);
                    self.updates.push(Update { target, a, b });
                }
            }
        }
        self.first_update.push(self.updates.len());
    }

    /// Where the block of rows `i` and column `j` ≤ `i` is.
    fn place(&self, i: usize, j: usize) -> usize {
        if i == j {
            return i;
        }
        let entries = &self.entry_row[self.first_entry[j]..self.first_entry[j + 1]];
        self.first_entry[j] + entries.partition_point(|&row| row < i)
    }

    /// What each block adds where, and which island it belongs to.
    fn find_pairs(&mut self, rows: &Rows) {
        self.columns.clear();
        self.columns.extend(rows.body_list.iter().map(|&body| self.column[body]));
        self.pairs.clear();
        self.first_pair.clear();
        for block in &rows.blocks {
            self.first_pair.push(self.pairs.len());
            let columns = block.first_body..block.first_body + block.n_bodies;
            for (slot_a, a) in columns.clone().map(|k| self.columns[k]).enumerate() {
                for (slot_b, b) in columns.clone().map(|k| self.columns[k]).enumerate() {
                    // A diagonal gets every pair of slots, also of a body that is there twice.
                    if a != NOWHERE && b != NOWHERE && a >= b {
                        let place = self.place(a, b);
                        self.pairs.push(Pair { slot_a, slot_b, place });
                    }
                }
            }
        }
        self.first_pair.push(self.pairs.len());
        self.blocks.clear();
        let mut of_island = vec![NOWHERE; self.body.len()];
        for (i, island) in self.islands.iter().enumerate() {
            of_island[island.columns.0..island.columns.1].fill(i);
        }
        let mut keyed: Vec<(usize, usize)> = Vec::with_capacity(rows.blocks.len());
        for (i, block) in rows.blocks.iter().enumerate() {
            let columns = &self.columns[block.first_body..][..block.n_bodies];
            if let Some(&column) = columns.iter().find(|&&c| c != NOWHERE) {
                keyed.push((of_island[column], i));
            }
        }
        keyed.sort_unstable();
        let mut at = 0;
        for (i, island) in self.islands.iter_mut().enumerate() {
            let from = at;
            while at < keyed.len() && keyed[at].0 == i {
                at += 1;
            }
            island.blocks = (from, at);
        }
        self.blocks.extend(keyed.iter().map(|(_, i)| *i));
    }

    /// Whether a slot's column is one that moves.
    pub(super) fn moves(column: usize) -> bool {
        column != NOWHERE
    }
}

fn find(root: &mut [usize], mut i: usize) -> usize {
    while root[i] != i {
        root[i] = root[root[i]];
        i = root[i];
    }
    i
}
