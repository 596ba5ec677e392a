//! K = J M⁻¹ Jᵀ over all joints as a sparse matrix of small blocks, and its factorization K = L D Lᵀ. The engines that keep conditions share it.

mod dense;
mod order;

pub use order::{eliminate, eliminate_in_turns, neighbours};

use crate::joint::MAX_ROWS;
use dense::{
    invert_dropping, multiply, subtract_apply, subtract_apply_transposed, subtract_product,
};

/// Where a block's numbers lie.
#[derive(Clone, Copy, Debug)]
pub struct BlockPlace {
    /// First row.
    pub first_row: usize,
    /// Number of rows, at most [`MAX_ROWS`].
    pub n_rows: usize,
    /// Number of bodies.
    pub n_bodies: usize,
    /// Start of its Jacobian and response in the arrays of all.
    pub jac: usize,
}

/// Rows of all blocks as flat arrays, as engines keep them: J and M⁻¹ Jᵀ.
pub trait ResponseRows {
    /// Number of blocks.
    fn n_blocks(&self) -> usize;
    /// Where the numbers of block `i` lie.
    fn place(&self, i: usize) -> BlockPlace;
    /// The bodies of block `i`.
    fn bodies(&self, i: usize) -> &[usize];
    /// J, row-major, 6 columns a body, block after block.
    fn jac(&self) -> &[f64];
    /// M⁻¹ Jᵀ in the same layout.
    fn response(&self) -> &[f64];
    /// Whether block `i` is to be left out of the factor.
    fn is_out(&self, i: usize) -> bool;
}

/// A pivot below this part of its row's own response is a redundant row.
///
/// Rounding leaves about 1e-16 times the growth of the elimination; regular mechanisms keep pivots above 1/n² or so.
const REDUNDANT: f64 = 1e-13;

/// A row whose own response is below this part of the largest one of its block has none.
const IDLE: f64 = 1e-13;

/// The factor: pattern made once for a model, numbers made once a step.
#[derive(Clone, Debug)]
pub struct Factor {
    columns: Vec<Column>,
    entries: Vec<Entry>,
    updates: Vec<Update>,
    sources: Vec<Source>,
    /// D⁻¹ and L, block after block.
    values: Vec<f64>,
    /// Diagonal of K before elimination, in elimination order. (n_rows)
    scale: Vec<f64>,
    /// Right side and solution, in elimination order. (n_rows)
    x: Vec<f64>,
    /// Blocks left out of the present factor. (n blocks)
    out: Vec<bool>,
    /// Whether `values` belongs to the present rows.
    pub ready: bool,
    /// Rows left out as redundant in the present factor.
    pub redundant: usize,
    /// The smallest of the other pivots, as a part of its row's own response: small near singular positions.
    pub weakest: f64,
    /// Pivots of at most 1e-9 of their row's own response: redundant rows with their rounding. More of them than elsewhere in a
    /// run tell a singular position.
    pub blurred: usize,
    /// The smallest pivot above that, as a part of its row's own response.
    pub clear: f64,
    /// The first row of the block with that pivot; `None` where all are whole.
    pub clear_row: Option<usize>,
}

/// A block of rows in elimination order.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// First row in the model.
    first_row: usize,
    /// First row in elimination order.
    first: usize,
    /// Rows.
    n: usize,
    /// Its diagonal block in `values`.
    diagonal: usize,
    /// Its blocks below the diagonal, in `entries`.
    entries: (usize, usize),
    /// What its elimination subtracts, in `updates`.
    updates: (usize, usize),
}

/// A block below the diagonal.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its place in `values`.
    at: usize,
    /// Its rows: first in elimination order, and how many.
    first: usize,
    n: usize,
}

/// values[target] −= L_a (L_b D)ᵀ.
#[derive(Clone, Copy, Debug)]
struct Update {
    target: usize,
    a: usize,
    b: usize,
}

/// A body through which block `i` answers to impulses of block `j`: adds J_i M⁻¹ J_jᵀ to a block of K.
#[derive(Clone, Copy, Debug)]
struct Source {
    target: usize,
    i: usize,
    j: usize,
    /// Which of their bodies it is.
    slot_i: usize,
    slot_j: usize,
}

impl Factor {
    /// The pattern for the rows of a model; `fixed`: which bodies do not move. (n_bodies)
    pub fn new(rows: &impl ResponseRows, fixed: &[bool]) -> Self {
        let (order, touched) = eliminate(neighbours(rows, fixed));
        let mut position = vec![0; order.len()];
        for (k, &i) in order.iter().enumerate() {
            position[i] = k;
        }
        let size = |i: usize| rows.place(i).n_rows;
        let mut first = vec![0; order.len()];
        let mut n_rows = 0;
        for &i in &order {
            first[i] = n_rows;
            n_rows += size(i);
        }
        let mut factor = Factor {
            columns: Vec::with_capacity(order.len()),
            entries: Vec::new(),
            updates: Vec::new(),
            sources: Vec::new(),
            values: Vec::new(),
            scale: vec![0.0; n_rows],
            x: vec![0.0; n_rows],
            out: vec![false; order.len()],
            ready: false,
            redundant: 0,
            weakest: 1.0,
            blurred: 0,
            clear: 1.0,
            clear_row: None,
        };
        // Places of the blocks: diagonal, then those below it by their position in the order.
        let mut n_values = 0;
        let mut below: Vec<Vec<(usize, usize)>> = Vec::with_capacity(order.len());
        for (k, &i) in order.iter().enumerate() {
            let n = size(i);
            let diagonal = n_values;
            n_values += n * n;
            let mut later = touched[k].clone();
            later.sort_by_key(|&j| position[j]);
            let start = factor.entries.len();
            let mut places = Vec::with_capacity(later.len());
            for &j in &later {
                factor.entries.push(Entry { at: n_values, first: first[j], n: size(j) });
                places.push((j, n_values));
                n_values += size(j) * n;
            }
            below.push(places);
            factor.columns.push(Column {
                first_row: rows.place(i).first_row,
                first: first[i],
                n,
                diagonal,
                entries: (start, factor.entries.len()),
                updates: (0, 0),
            });
        }
        factor.values = vec![0.0; n_values];
        let place = |columns: &[Column], i: usize, j: usize| {
            // Block with rows of i and columns of j, where i is eliminated no earlier than j.
            let k = position[j];
            if i == j {
                return columns[k].diagonal;
            }
            let found = below[k].iter().find(|(row, _)| *row == i);
            found.expect("elimination adds every block it touches to the pattern").1
        };
        for k in 0..order.len() {
            let start = factor.updates.len();
            let (from, to) = factor.columns[k].entries;
            let later = &below[k];
            for b in 0..later.len() {
                for a in b..later.len() {
                    let target = place(&factor.columns, later[a].0, later[b].0);
                    factor.updates.push(Update { target, a: from + a, b: from + b });
                }
            }
            debug_assert_eq!(to - from, later.len());
            factor.columns[k].updates = (start, factor.updates.len());
        }
        factor.find_sources(rows, fixed, &position, &place);
        factor
    }

    fn find_sources(
        &mut self,
        rows: &impl ResponseRows,
        fixed: &[bool],
        position: &[usize],
        place: &dyn Fn(&[Column], usize, usize) -> usize,
    ) {
        let mut at_body: Vec<Vec<(usize, usize)>> = vec![Vec::new(); fixed.len()];
        for i in 0..rows.n_blocks() {
            for (slot, &body) in rows.bodies(i).iter().enumerate() {
                if !fixed[body] {
                    at_body[body].push((i, slot));
                }
            }
        }
        for list in &at_body {
            for &(i, slot_i) in list {
                for &(j, slot_j) in list {
                    if position[i] >= position[j] {
                        let target = place(&self.columns, i, j);
                        self.sources.push(Source { target, i, j, slot_i, slot_j });
                    }
                }
            }
        }
        self.sources.sort_by_key(|s| (s.target, s.i, s.slot_i, s.j, s.slot_j));
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.x.len()
    }

    /// The factor of K + ε diag K at the present rows.
    pub fn refresh_damped(&mut self, rows: &impl ResponseRows, damping: f64) {
        self.leave_out(rows);
        self.assemble(rows);
        for column in &self.columns {
            for k in 0..column.n {
                self.values[column.diagonal + k * column.n + k] *= 1.0 + damping;
            }
        }
        self.factorize();
    }

    /// Whether the factor is that of all rows.
    pub fn whole(&self) -> bool {
        !self.out.contains(&true)
    }

    /// The factor without the blocks that are `out`, if it is not that already.
    pub fn refresh_without(&mut self, rows: &impl ResponseRows) {
        let same = |(i, out): (usize, &bool)| *out == rows.is_out(i);
        if !self.ready || !self.out.iter().enumerate().all(same) {
            self.leave_out(rows);
            self.make(rows);
        }
    }

    fn leave_out(&mut self, rows: &impl ResponseRows) {
        for (i, out) in self.out.iter_mut().enumerate() {
            *out = rows.is_out(i);
        }
    }

    /// Numbers of K and of its factor at the present rows.
    pub fn refresh(&mut self, rows: &impl ResponseRows) {
        self.out.fill(false);
        self.make(rows);
    }

    fn make(&mut self, rows: &impl ResponseRows) {
        self.assemble(rows);
        self.factorize();
        self.ready = true;
    }

    fn assemble(&mut self, rows: &impl ResponseRows) {
        self.values.fill(0.0);
        let (jac_all, response_all) = (rows.jac(), rows.response());
        for s in &self.sources {
            // Rows of zeros get no impulse.
            if self.out[s.i] || self.out[s.j] {
                continue;
            }
            let (block_i, block_j) = (rows.place(s.i), rows.place(s.j));
            let (m, n) = (block_i.n_rows, block_j.n_rows);
            let target = &mut self.values[s.target..s.target + m * n];
            let (width_i, width_j) = (6 * block_i.n_bodies, 6 * block_j.n_bodies);
            for a in 0..m {
                let jac = &jac_all[block_i.jac + a * width_i + 6 * s.slot_i..][..6];
                for b in 0..n {
                    let response = &response_all[block_j.jac + b * width_j + 6 * s.slot_j..][..6];
                    target[a * n + b] += jac.iter().zip(response).map(|(x, y)| x * y).sum::<f64>();
                }
            }
        }
        for column in &self.columns {
            let own = |k: usize| self.values[column.diagonal + k * column.n + k];
            let largest = (0..column.n).map(own).fold(0.0, f64::max);
            for k in 0..column.n {
                // A turn about an axis without inertia has no response but rounding.
                let idle = own(k) <= IDLE * largest;
                self.scale[column.first + k] = if idle { largest } else { own(k) };
            }
        }
    }

    fn factorize(&mut self) {
        (self.redundant, self.weakest) = (0, 1.0);
        (self.blurred, self.clear, self.clear_row) = (0, 1.0, None);
        let mut inverse = [0.0; MAX_ROWS * MAX_ROWS];
        // K_ij of the entries of one column, before they become L_ij = K_ij D⁻¹.
        let mut raw = [0.0; MAX_ROWS * MAX_ROWS];
        for column in &self.columns {
            let n = column.n;
            let inverse = &mut inverse[..n * n];
            inverse.copy_from_slice(&self.values[column.diagonal..][..n * n]);
            let scale = &self.scale[column.first..column.first + n];
            let pivots = invert_dropping(inverse, n, scale, REDUNDANT);
            self.redundant += pivots.dropped;
            self.weakest = self.weakest.min(pivots.weakest);
            self.blurred += pivots.blurred;
            if pivots.clear < self.clear {
                self.clear = pivots.clear;
                self.clear_row = Some(column.first_row);
            }
            self.values[column.diagonal..][..n * n].copy_from_slice(inverse);
            // target −= L_a K_bᵀ with L_a = K_a D⁻¹; b runs before a, so K_b is still raw where a = b comes last.
            let (from, to) = column.updates;
            let mut update = from;
            let (first_entry, last_entry) = column.entries;
            for b in first_entry..last_entry {
                let entry_b = self.entries[b];
                let size = entry_b.n * n;
                raw[..size].copy_from_slice(&self.values[entry_b.at..][..size]);
                let (head, tail) = self.values.split_at_mut(entry_b.at + size);
                multiply(
                    &raw[..size],
                    inverse,
                    &mut head[entry_b.at..entry_b.at + size],
                    entry_b.n,
                    n,
                    n,
                );
                // L_b K_aᵀ for all a after b, transposed into place: target_ab −= K_a L_bᵀ.
                while update < to && self.updates[update].b == b {
                    let u = self.updates[update];
                    let entry_a = self.entries[u.a];
                    let l_b = &head[entry_b.at..entry_b.at + size];
                    if u.a == b {
                        let base = entry_b.at + size;
                        let target = &mut tail[u.target - base..][..entry_b.n * entry_b.n];
                        subtract_product(&raw[..size], l_b, target, entry_b.n, n, entry_b.n);
                    } else {
                        let base = entry_b.at + size;
                        let (k_a, rest) = tail.split_at_mut(entry_a.at - base + entry_a.n * n);
                        let k_a = &k_a[entry_a.at - base..];
                        let offset = u.target - entry_a.at - entry_a.n * n;
                        let target = &mut rest[offset..][..entry_a.n * entry_b.n];
                        subtract_product(k_a, l_b, target, entry_a.n, n, entry_b.n);
                    }
                    update += 1;
                }
            }
        }
    }

    /// Solves K x = e in place of the model's rows: reads `e`, writes `x`. (n_rows)
    pub fn solve(&mut self, e: &[f64], x: &mut [f64]) {
        let y = &mut self.x;
        for column in &self.columns {
            y[column.first..][..column.n].copy_from_slice(&e[column.first_row..][..column.n]);
        }
        for column in &self.columns {
            let (done, later) = y.split_at_mut(column.first + column.n);
            let own = &done[column.first..];
            for entry in &self.entries[column.entries.0..column.entries.1] {
                let l = &self.values[entry.at..][..entry.n * column.n];
                let target = &mut later[entry.first - column.first - column.n..][..entry.n];
                subtract_apply(l, own, target, entry.n, column.n);
            }
        }
        let mut own = [0.0; MAX_ROWS];
        for column in self.columns.iter().rev() {
            let n = column.n;
            let inverse = &self.values[column.diagonal..][..n * n];
            for i in 0..n {
                let row = &inverse[i * n..][..n];
                own[i] = row.iter().zip(&y[column.first..]).map(|(a, y)| a * y).sum();
            }
            for entry in &self.entries[column.entries.0..column.entries.1] {
                let l = &self.values[entry.at..][..entry.n * n];
                subtract_apply_transposed(
                    l,
                    &y[entry.first..][..entry.n],
                    &mut own[..n],
                    entry.n,
                    n,
                );
            }
            y[column.first..][..n].copy_from_slice(&own[..n]);
        }
        for column in &self.columns {
            x[column.first_row..][..column.n].copy_from_slice(&y[column.first..][..column.n]);
        }
    }
}
