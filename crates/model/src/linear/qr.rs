//! Orthogonal elimination, front by front.

use super::matrix::BlockMatrix;
use super::plan::{FrontPlan, Plan};
use super::surplus::NullVector;

/// Q R = A by fronts, with the rows that reduce to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    fronts: Vec<Front>,
    /// Number of independent rows.
    pub(crate) rank: usize,
    /// The smallest pivot that was kept; infinite when there is none.
    pub(crate) smallest_pivot: f64,
    /// 1 with a right-hand side, else 0.
    n_right: usize,
}

/// An eliminated front. Its rows after elimination: `rank` rows of R, then what it hands on, then nothing.
#[derive(Clone, Debug, Default)]
struct Front {
    /// Own columns, in the order of their pivots.
    own: Vec<usize>,
    /// Other columns.
    rest: Vec<usize>,
    /// Number of pivots.
    rank: usize,
    /// Rows of R: own and other columns, then right-hand sides.
    r: Vec<f64>,
    /// The reflections, in order; empty where Q is not kept.
    reflections: Vec<Reflection>,
    /// Where each row came from; empty where Q is not kept.
    sources: Vec<Source>,
    /// Number of rows handed on to a later front.
    n_handed: usize,
}

/// H = E − β v vᵀ on the rows from `start`.
#[derive(Clone, Debug)]
struct Reflection {
    start: usize,
    beta: f64,
    v: Vec<f64>,
}

/// Where a row of a front came from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Row i of block k of those that enter here.
    Block(usize, usize),
    /// A row of the matrix.
    Row(usize),
    /// Row k of those that an earlier front handed on.
    Handed(usize, usize),
    /// The damping row of own column k.
    Damping(usize),
}

/// Damping rows δ x = −δ d, appended below A.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damping<'a> {
    /// δ.
    pub(crate) delta: f64,
    /// δ d. (n_columns)
    pub(crate) right: &'a [f64],
}

/// Eliminates all columns of A with pivoting inside a group; pivots up to `tolerance` count as zero.
///
/// Rows of A should have length 1, so that the tolerance is relative. Keeps Q, for [`Factor::null_vectors`].
pub(crate) fn factor(matrix: &BlockMatrix, plan: &Plan, tolerance: f64) -> Factor {
    Elimination::new(matrix, &[], None, tolerance).run(plan)
}

/// Eliminates all columns of `[A b; δ E δ d]`, for [`Factor::solve`].
pub(crate) fn factor_damped(
    matrix: &BlockMatrix,
    plan: &Plan,
    b: &[f64],
    damping: Damping<'_>,
) -> Factor {
    Elimination::new(matrix, b, Some(damping), 0.0).run(plan)
}

/// Columns shorter than this times the tolerance are not handed on: a row that is done with would carry its rounding
/// errors through all later fronts and mix with other such rows.
const NOISE: f64 = 1e-3;

/// The work of eliminating, front by front, with memory used again.
struct Elimination<'a> {
    matrix: &'a BlockMatrix,
    /// Right-hand side, empty for none. (n_rows)
    right: &'a [f64],
    damping: Option<Damping<'a>>,
    tolerance: f64,
    /// Place of each column in the current front.
    place: Vec<usize>,
    /// Rows on their way from a front to a later one.
    handed: Vec<Handed>,
    /// Columns of the current front: its own, then others in order of elimination.
    columns: Vec<usize>,
    /// (first column with an entry, source) of each row of the current front.
    rows: Vec<(usize, Source)>,
    /// Entries of the current front, row-major; the right-hand side last.
    entries: Vec<f64>,
    /// vᵀ times the entries, for a reflection.
    w: Vec<f64>,
}

/// Rows that a front hands on, over its other columns and the right-hand side.
#[derive(Default)]
struct Handed {
    /// First column with an entry, row by row.
    leads: Vec<usize>,
    entries: Vec<f64>,
}

impl<'a> Elimination<'a> {
    fn new(
        matrix: &'a BlockMatrix,
        right: &'a [f64],
        damping: Option<Damping<'a>>,
        tolerance: f64,
    ) -> Self {
        Elimination {
            matrix,
            right,
            damping,
            tolerance,
            place: vec![0; matrix.n_columns()],
            handed: Vec::new(),
            columns: Vec::new(),
            rows: Vec::new(),
            entries: Vec::new(),
            w: Vec::new(),
        }
    }

    fn run(mut self, plan: &Plan) -> Factor {
        let mut result = Factor {
            fronts: Vec::with_capacity(plan.fronts.len()),
            rank: 0,
            smallest_pivot: f64::INFINITY,
            n_right: usize::from(self.damping.is_some()),
        };
        for front_plan in &plan.fronts {
            let n_own = self.gather(front_plan, &result);
            let front = self.eliminate(n_own, &mut result.smallest_pivot);
            result.rank += front.rank;
            result.fronts.push(front);
        }
        result
    }

    /// Entries a row, the right-hand side included.
    fn width(&self) -> usize {
        self.columns.len() + usize::from(self.damping.is_some())
    }

    /// Brings the rows of a front together, in the order of their first entry, so that each reflection touches only rows
    /// it must. Returns the number of own columns.
    fn gather(&mut self, plan: &FrontPlan, result: &Factor) -> usize {
        let matrix = self.matrix;
        self.columns.clear();
        let groups = plan.groups.iter();
        self.columns
            .extend(groups.flat_map(|&g| matrix.first_column[g]..matrix.first_column[g + 1]));
        for (k, &column) in self.columns.iter().enumerate() {
            self.place[column] = k;
        }
        let n_own = matrix.width(plan.groups[0]);
        // Own columns are eliminated with pivoting, so that it does not matter in which of them a row begins.
        let lead = |place: usize| if place < n_own { 0 } else { place };
        self.rows.clear();
        for (k, &b) in plan.blocks.iter().enumerate() {
            let block = &matrix.blocks[b];
            let first = matrix.columns(block).map(|c| self.place[c]).min().unwrap_or(0);
            self.rows.extend((0..block.n_rows).map(|i| (lead(first), Source::Block(k, i))));
        }
        for &child in &plan.children {
            let columns = &result.fronts[child].rest;
            for (k, &first) in self.handed[child].leads.iter().enumerate() {
                self.rows.push((lead(self.place[columns[first]]), Source::Handed(child, k)));
            }
        }
        if self.damping.is_some() {
            self.rows.extend((0..n_own).map(|k| (0, Source::Damping(k))));
        }
        self.rows.sort_by_key(|row| row.0);
        self.fill(plan, result);
        n_own
    }

    /// Writes the entries of the gathered rows.
    fn fill(&mut self, plan: &FrontPlan, result: &Factor) {
        let (matrix, n, width) = (self.matrix, self.columns.len(), self.width());
        self.entries.clear();
        self.entries.resize(self.rows.len() * width, 0.0);
        for ((_, source), row) in self.rows.iter_mut().zip(self.entries.chunks_mut(width.max(1))) {
            match *source {
                Source::Block(k, i) => {
                    let block = &matrix.blocks[plan.blocks[k]];
                    let block_width = block.values.len() / block.n_rows;
                    let values = &block.values[i * block_width..(i + 1) * block_width];
                    for (column, &a) in matrix.columns(block).zip(values) {
                        row[self.place[column]] = a;
                    }
                    if self.damping.is_some() {
                        row[n] = self.right[block.first_row + i];
                    }
                    *source = Source::Row(block.first_row + i);
                }
                Source::Handed(child, k) => {
                    let columns = &result.fronts[child].rest;
                    let child_width = columns.len() + width - n;
                    let values =
                        &self.handed[child].entries[k * child_width..(k + 1) * child_width];
                    for (&column, &a) in columns.iter().zip(values) {
                        row[self.place[column]] = a;
                    }
                    row[n..].copy_from_slice(&values[columns.len()..]);
                }
                Source::Damping(k) => {
                    if let Some(damping) = self.damping {
                        row[k] = damping.delta;
                        row[n] = damping.right[self.columns[k]];
                    }
                }
                Source::Row(_) => {}
            }
        }
        for &child in &plan.children {
            self.handed[child] = Handed::default();
        }
    }

    /// Eliminates the own columns with pivoting, then brings what remains into echelon form and hands it on.
    fn eliminate(&mut self, n_own: usize, smallest_pivot: &mut f64) -> Front {
        let (n_rows, width) = (self.rows.len(), self.width());
        let mut front = Front {
            own: self.columns[..n_own].to_vec(),
            rest: self.columns[n_own..].to_vec(),
            ..Front::default()
        };
        let mut end = self.rows.iter().take_while(|row| row.0 == 0).count();
        let mut done = 0;
        while done < n_own.min(end) {
            let (pivot, length) = self.longest_column(done, n_own, end);
            if !length.is_finite() || length <= self.tolerance {
                break;
            }
            *smallest_pivot = smallest_pivot.min(length);
            if pivot != done {
                front.own.swap(done, pivot);
                self.entries.chunks_mut(width).take(end).for_each(|row| row.swap(done, pivot));
            }
            let reflection = self.reflect(done, done, end);
            front.reflections.extend(reflection);
            done += 1;
        }
        front.rank = done;
        front.r = self.entries[..done * width].to_vec();
        for row in self.entries.chunks_mut(width.max(1)).take(end).skip(done) {
            row[..n_own].fill(0.0);
        }

        let mut leads = Vec::new();
        for column in n_own..self.columns.len() {
            while end < n_rows && self.rows[end].0 <= column {
                end += 1;
            }
            let squares = (done..end).map(|i| self.entries[i * width + column].powi(2));
            if squares.sum::<f64>().sqrt() > NOISE * self.tolerance {
                let reflection = self.reflect(column, done, end);
                front.reflections.extend(reflection);
                leads.push(column - n_own);
                done += 1;
            } else {
                (done..end).for_each(|i| self.entries[i * width + column] = 0.0);
            }
        }
        front.n_handed = leads.len();
        if self.damping.is_none() {
            front.sources = self.rows.iter().map(|row| row.1).collect();
        }
        let handed = self.entries.chunks(width.max(1)).skip(front.rank).take(leads.len());
        let mut entries = Vec::with_capacity(leads.len() * (width - n_own));
        for row in handed {
            entries.extend_from_slice(&row[n_own..]);
        }
        self.handed.push(Handed { leads, entries });
        front
    }

    /// The longest of the columns from..to over the rows from..end, and its length.
    fn longest_column(&mut self, from: usize, to: usize, end: usize) -> (usize, f64) {
        let width = self.width();
        self.w.clear();
        self.w.resize(to - from, 0.0);
        for row in self.entries.chunks(width).take(end).skip(from) {
            for (square, a) in self.w.iter_mut().zip(&row[from..to]) {
                *square += a * a;
            }
        }
        let mut best = (from, -1.0);
        for (k, &square) in self.w.iter().enumerate() {
            if square > best.1 || square.is_nan() {
                best = (from + k, square);
            }
        }
        (best.0, best.1.sqrt())
    }

    /// Reflects the rows start..end so that `column` keeps an entry in the first of them only; the reflection is given
    /// back where Q is kept.
    fn reflect(&mut self, column: usize, start: usize, end: usize) -> Option<Reflection> {
        let width = self.width();
        let rows = &mut self.entries[start * width..end * width];
        let mut v: Vec<f64> = rows.chunks(width).map(|row| row[column]).collect();
        let below: f64 = v[1..].iter().map(|a| a * a).sum();
        if below == 0.0 {
            return None;
        }
        let head = v[0];
        let length = (head * head + below).sqrt();
        let target = if head > 0.0 { -length } else { length };
        v[0] = head - target;
        let beta = 2.0 / (v[0] * v[0] + below);
        self.w.clear();
        self.w.resize(width - column, 0.0);
        for (row, v_i) in rows.chunks(width).zip(&v) {
            for (w_j, a) in self.w.iter_mut().zip(&row[column..]) {
                *w_j += v_i * a;
            }
        }
        for (row, v_i) in rows.chunks_mut(width).zip(&v) {
            let factor = beta * v_i;
            for (a, w_j) in row[column..].iter_mut().zip(&self.w) {
                *a -= factor * w_j;
            }
            row[column] = 0.0;
        }
        rows[column] = target;
        self.damping.is_none().then_some(Reflection { start, beta, v })
    }
}

impl Factor {
    /// R x = −Qᵀ b by back substitution; columns without pivot get 0. (n_columns)
    pub(crate) fn solve(&self, n_columns: usize) -> Vec<f64> {
        let mut x = vec![0.0; n_columns];
        for front in self.fronts.iter().rev() {
            let n_own = front.own.len();
            let n = n_own + front.rest.len();
            for i in (0..front.rank).rev() {
                let row = &front.r[i * (n + self.n_right)..(i + 1) * (n + self.n_right)];
                let mut sum = -row[n..].iter().sum::<f64>();
                for (a, &column) in row[i + 1..n_own].iter().zip(&front.own[i + 1..]) {
                    sum -= a * x[column];
                }
                for (a, &column) in row[n_own..n].iter().zip(&front.rest) {
                    sum -= a * x[column];
                }
                x[front.own[i]] = sum / row[i];
            }
        }
        x
    }

    /// An orthonormal basis of the y with yᵀ A = 0, each vector as (row, entry) with ascending rows.
    ///
    /// They are the rows of Qᵀ A that came out empty, followed back through the fronts.
    pub(crate) fn null_vectors(&self) -> Vec<NullVector> {
        let mut vectors = Vec::new();
        for (f, front) in self.fronts.iter().enumerate() {
            for empty in front.rank + front.n_handed..front.sources.len() {
                let mut y = vec![0.0; front.sources.len()];
                y[empty] = 1.0;
                vectors.push(self.trace_back(f, y));
            }
        }
        vectors
    }

    fn trace_back(&self, front: usize, y: Vec<f64>) -> NullVector {
        /// Entries below this are rounding; following them would visit the whole model.
        const NOISE: f64 = 1e-14;
        let mut entries = Vec::new();
        let mut waiting = vec![(front, y)];
        while let Some((f, mut y)) = waiting.pop() {
            let front = &self.fronts[f];
            for reflection in front.reflections.iter().rev() {
                let part = &mut y[reflection.start..reflection.start + reflection.v.len()];
                let dot: f64 = part.iter().zip(&reflection.v).map(|(a, b)| a * b).sum();
                if dot != 0.0 {
                    let factor = reflection.beta * dot;
                    part.iter_mut().zip(&reflection.v).for_each(|(a, v)| *a -= factor * v);
                }
            }
            let first_new = waiting.len();
            for (&source, &value) in front.sources.iter().zip(&y) {
                if value.abs() <= NOISE {
                    continue;
                }
                match source {
                    Source::Row(row) => entries.push((row, value)),
                    Source::Block(..) | Source::Damping(_) => {}
                    Source::Handed(child, k) => {
                        let known = waiting[first_new..].iter().position(|(c, _)| *c == child);
                        let at = known.map_or(waiting.len(), |i| first_new + i);
                        if at == waiting.len() {
                            waiting.push((child, vec![0.0; self.fronts[child].sources.len()]));
                        }
                        waiting[at].1[self.fronts[child].rank + k] = value;
                    }
                }
            }
        }
        entries.sort_by_key(|&(row, _)| row);
        entries
    }
}
