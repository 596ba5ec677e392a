//! Orthogonal elimination, front by front.

use super::matrix::BlockMatrix;
use super::plan::Plan;

/// Q R = A by fronts, with the rows that reduce to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    fronts: Vec<Front>,
    /// Number of independent rows.
    pub(crate) rank: usize,
    /// The smallest pivot that was kept; infinite when there is none.
    pub(crate) smallest_pivot: f64,
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
    /// The reflections, in order.
    reflections: Vec<Reflection>,
    /// Where each row came from.
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
    /// A row of the matrix.
    Row(usize),
    /// Row k of those that an earlier front handed on.
    Handed(usize, usize),
    /// The damping row of a column.
    Damping,
}

/// Damping rows δ x = −δ d, appended below A.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damping<'a> {
    /// δ.
    pub(crate) delta: f64,
    /// δ d for each right-hand side, column-major. (n_columns n_right)
    pub(crate) right: &'a [f64],
}

/// Eliminates all columns of `[A B]`, B being `right` (column-major, n_rows each), with pivoting inside a group.
///
/// A pivot counts when the remaining column is longer than `tolerance`; shorter ones are set to zero. Rows of A should
/// have length 1, so that the tolerance is relative. `damping` appends a row a column and makes the rank full.
pub(crate) fn factor(
    matrix: &BlockMatrix,
    plan: &Plan,
    right: &[f64],
    damping: Option<Damping<'_>>,
    tolerance: f64,
) -> Factor {
    let n_rows = matrix.n_rows();
    let n_right = match damping {
        Some(damping) => damping.right.len() / matrix.n_columns().max(1),
        None => right.len() / n_rows.max(1),
    };
    let mut result = Factor {
        fronts: Vec::with_capacity(plan.fronts.len()),
        rank: 0,
        smallest_pivot: f64::INFINITY,
        n_right,
    };
    // Rows on their way from a front to a later one: (first column with an entry, entries).
    let mut handed: Vec<Vec<HandedRow>> = Vec::with_capacity(plan.fronts.len());
    // Place of each column in the current front.
    let mut place = vec![0_usize; matrix.n_columns()];
    for (f, front_plan) in plan.fronts.iter().enumerate() {
        let columns: Vec<usize> = front_plan
            .groups
            .iter()
            .flat_map(|&g| matrix.first_column[g]..matrix.first_column[g + 1])
            .collect();
        for (k, &column) in columns.iter().enumerate() {
            place[column] = k;
        }
        let n_own = matrix.width(front_plan.groups[0]);
        let mut dense = Dense::new(columns.len(), n_right);
        for &b in &front_plan.blocks {
            let block = &matrix.blocks[b];
            let block_columns: Vec<usize> = matrix.columns(block).map(|c| place[c]).collect();
            let lead = block_columns.iter().copied().min().unwrap_or(0);
            for i in 0..block.n_rows {
                let entries = &block.values[i * block_columns.len()..(i + 1) * block_columns.len()];
                let row = dense.push(Source::Row(block.first_row + i), lead);
                for (&k, &a) in block_columns.iter().zip(entries) {
                    row[k] = a;
                }
                for j in 0..n_right {
                    row[columns.len() + j] = right[j * n_rows + block.first_row + i];
                }
            }
        }
        for &child in &front_plan.children {
            let child_columns = &result.fronts[child].rest;
            for (k, from) in std::mem::take(&mut handed[child]).into_iter().enumerate() {
                let lead = place[child_columns[from.lead]];
                let row = dense.push(Source::Handed(child, k), lead);
                for (&column, &a) in child_columns.iter().zip(&from.entries) {
                    row[place[column]] = a;
                }
                row[columns.len()..].copy_from_slice(&from.entries[child_columns.len()..]);
            }
        }
        if let Some(damping) = damping {
            for (k, &column) in columns[..n_own].iter().enumerate() {
                let row = dense.push(Source::Damping, k);
                row[k] = damping.delta;
                for j in 0..n_right {
                    row[columns.len() + j] = damping.right[j * matrix.n_columns() + column];
                }
            }
        }
        let (front, rows) = dense.eliminate(&columns, n_own, tolerance, &mut result.smallest_pivot);
        result.rank += front.rank;
        result.fronts.push(front);
        handed.push(rows);
        debug_assert_eq!(handed.len(), f + 1);
    }
    result
}

/// A row that a front hands on, over its other columns and the right-hand sides.
struct HandedRow {
    /// First column with an entry.
    lead: usize,
    entries: Vec<f64>,
}

/// A front while it is worked on.
struct Dense {
    n_columns: usize,
    width: usize,
    rows: Vec<DenseRow>,
}

struct DenseRow {
    source: Source,
    lead: usize,
    entries: Vec<f64>,
}

impl Dense {
    fn new(n_columns: usize, n_right: usize) -> Self {
        Dense { n_columns, width: n_columns + n_right, rows: Vec::new() }
    }

    fn push(&mut self, source: Source, lead: usize) -> &mut [f64] {
        self.rows.push(DenseRow { source, lead, entries: vec![0.0; self.width] });
        let last = self.rows.len() - 1;
        &mut self.rows[last].entries
    }

    /// Eliminates the own columns with pivoting, then brings what remains into echelon form.
    fn eliminate(
        mut self,
        columns: &[usize],
        n_own: usize,
        tolerance: f64,
        smallest_pivot: &mut f64,
    ) -> (Front, Vec<HandedRow>) {
        // Rows in the order of their first entry, so that each reflection touches only rows it must.
        for row in &mut self.rows {
            if row.lead < n_own {
                row.lead = 0;
            }
        }
        self.rows.sort_by_key(|row| row.lead);
        let mut front = Front {
            own: columns[..n_own].to_vec(),
            rest: columns[n_own..].to_vec(),
            sources: self.rows.iter().map(|row| row.source).collect(),
            ..Front::default()
        };
        let mut end = self.rows.iter().take_while(|row| row.lead == 0).count();
        if n_own == 0 {
            end = 0;
        }

        let mut done = 0;
        while done < n_own.min(end) {
            let (pivot, length) = self.longest_column(done, n_own, end);
            if !length.is_finite() || length <= tolerance {
                break;
            }
            *smallest_pivot = smallest_pivot.min(length);
            if pivot != done {
                front.own.swap(done, pivot);
                self.rows.iter_mut().take(end).for_each(|row| row.entries.swap(done, pivot));
            }
            front.reflections.extend(self.reflect(done, done, end));
            done += 1;
        }
        front.rank = done;
        for row in self.rows.iter_mut().take(end).skip(done) {
            row.entries[..n_own].fill(0.0);
        }

        let mut leads = Vec::new();
        for column in n_own..self.n_columns {
            while end < self.rows.len() && self.rows[end].lead <= column {
                end += 1;
            }
            if done < end && self.rows[done..end].iter().any(|row| row.entries[column] != 0.0) {
                front.reflections.extend(self.reflect(column, done, end));
                leads.push(column - n_own);
                done += 1;
            }
        }
        front.n_handed = leads.len();
        front.r = self.rows[..front.rank].iter().flat_map(|row| row.entries.clone()).collect();
        let handed = self.rows.into_iter().skip(front.rank).zip(leads);
        let handed = handed
            .map(|(row, lead)| HandedRow { lead, entries: row.entries[n_own..].to_vec() })
            .collect();
        (front, handed)
    }

    /// The longest of the columns from..to over the rows from..end, and its length.
    fn longest_column(&self, from: usize, to: usize, end: usize) -> (usize, f64) {
        let mut best = (from, -1.0);
        for column in from..to {
            let squares = self.rows[from..end].iter().map(|row| row.entries[column].powi(2));
            let length = squares.sum::<f64>().sqrt();
            if length > best.1 || length.is_nan() {
                best = (column, length);
            }
        }
        best
    }

    /// Reflects the rows start..end so that `column` keeps an entry in the first of them only.
    fn reflect(&mut self, column: usize, start: usize, end: usize) -> Option<Reflection> {
        let rows = &mut self.rows[start..end];
        let below: f64 = rows[1..].iter().map(|row| row.entries[column].powi(2)).sum();
        if below == 0.0 {
            return None;
        }
        let head = rows[0].entries[column];
        let length = (head * head + below).sqrt();
        let target = if head > 0.0 { -length } else { length };
        let mut v: Vec<f64> = rows.iter().map(|row| row.entries[column]).collect();
        v[0] = head - target;
        let beta = 2.0 / (v[0] * v[0] + below);
        let mut w = vec![0.0; self.width - column];
        for (row, v_i) in rows.iter().zip(&v) {
            for (w_j, a) in w.iter_mut().zip(&row.entries[column..]) {
                *w_j += v_i * a;
            }
        }
        for (row, v_i) in rows.iter_mut().zip(&v) {
            let factor = beta * v_i;
            for (a, w_j) in row.entries[column..].iter_mut().zip(&w) {
                *a -= factor * w_j;
            }
        }
        rows[0].entries[column] = target;
        rows[1..].iter_mut().for_each(|row| row.entries[column] = 0.0);
        Some(Reflection { start, beta, v })
    }
}

impl Factor {
    /// R x = −(Qᵀ B) by back substitution, for each right-hand side; columns without pivot get 0. (n_columns n_right)
    pub(crate) fn solve(&self, n_columns: usize) -> Vec<f64> {
        let mut x = vec![0.0; n_columns * self.n_right];
        for front in self.fronts.iter().rev() {
            let n = front.own.len() + front.rest.len();
            let width = n + self.n_right;
            for j in 0..self.n_right {
                let x = &mut x[j * n_columns..(j + 1) * n_columns];
                for i in (0..front.rank).rev() {
                    let row = &front.r[i * width..(i + 1) * width];
                    let mut sum = -row[n + j];
                    for k in i + 1..front.own.len() {
                        sum -= row[k] * x[front.own[k]];
                    }
                    for (k, &column) in front.rest.iter().enumerate() {
                        sum -= row[front.own.len() + k] * x[column];
                    }
                    x[front.own[i]] = sum / row[i];
                }
            }
        }
        x
    }

    /// An orthonormal basis of the y with yᵀ A = 0, each vector as (row, entry) with ascending rows.
    ///
    /// They are the rows of Qᵀ A that came out empty, followed back through the fronts.
    pub(crate) fn null_vectors(&self) -> Vec<Vec<(usize, f64)>> {
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

    fn trace_back(&self, front: usize, y: Vec<f64>) -> Vec<(usize, f64)> {
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
                    Source::Damping => {}
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

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::*;
    use crate::assemble::Spread;
    use crate::linear::matrix::Block;

    /// A matrix whose blocks each touch a few groups, some rows being combinations of others.
    fn random(seed: u64, n_groups: usize, n_blocks: usize) -> BlockMatrix {
        let mut spread = Spread::new(seed);
        let mut first_column = vec![0];
        for g in 0..n_groups {
            first_column.push(first_column[g] + 1 + (g + seed as usize) % 6);
        }
        let mut blocks: Vec<Block> = Vec::new();
        let mut first_row = 0;
        for k in 0..n_blocks {
            let pick = |x: f64, n: usize| ((x + 1.0) * 0.5 * n as f64) as usize % n;
            let mut groups: Vec<usize> =
                (0..1 + k % 3).map(|_| pick(spread.next(), n_groups)).collect();
            groups.sort_unstable();
            groups.dedup();
            let width: usize = groups.iter().map(|&g| first_column[g + 1] - first_column[g]).sum();
            let n_rows = 1 + k % 4;
            let mut values: Vec<f64> = (0..n_rows * width).map(|_| spread.next()).collect();
            if k % 5 == 4 {
                // Doubles an earlier block.
                groups.clone_from(&blocks[k / 2].groups);
                values = blocks[k / 2].values.iter().map(|a| -2.0 * a).collect();
            }
            let width: usize = groups.iter().map(|&g| first_column[g + 1] - first_column[g]).sum();
            let n_rows = values.len() / width;
            blocks.push(Block { groups, first_row, n_rows, values });
            first_row += n_rows;
        }
        BlockMatrix { first_column, blocks }
    }

    fn dense(matrix: &BlockMatrix) -> DMatrix<f64> {
        let mut full = DMatrix::zeros(matrix.n_rows(), matrix.n_columns());
        for block in &matrix.blocks {
            let columns: Vec<usize> = matrix.columns(block).collect();
            for i in 0..block.n_rows {
                for (k, &column) in columns.iter().enumerate() {
                    full[(block.first_row + i, column)] = block.values[i * columns.len() + k];
                }
            }
        }
        full
    }

    #[test]
    fn rank_and_null_vectors_agree_with_singular_values() {
        for seed in 0..60 {
            let (n_groups, n_blocks) = (2 + seed as usize % 9, 1 + seed as usize % 17);
            let matrix = random(seed, n_groups, n_blocks);
            let full = dense(&matrix);
            let factor = factor(&matrix, &Plan::new(&matrix), &[], None, 1e-9);
            assert_eq!(factor.rank, full.clone().svd(false, false).rank(1e-9), "seed {seed}");
            let vectors = factor.null_vectors();
            assert_eq!(vectors.len(), matrix.n_rows() - factor.rank);
            let mut y = DMatrix::zeros(vectors.len(), matrix.n_rows());
            for (k, vector) in vectors.iter().enumerate() {
                vector.iter().for_each(|&(row, value)| y[(k, row)] = value);
            }
            assert!((&y * &full).amax() < 1e-12, "seed {seed}");
            let gram = &y * y.transpose();
            assert!((gram - DMatrix::identity(vectors.len(), vectors.len())).amax() < 1e-12);
        }
    }

    #[test]
    fn damped_least_squares_agrees_with_the_normal_equations() {
        for seed in 0..40 {
            let matrix = random(seed, 2 + seed as usize % 9, 1 + seed as usize % 17);
            let full = dense(&matrix);
            let mut spread = Spread::new(seed + 1000);
            let b: Vec<f64> = (0..matrix.n_rows()).map(|_| spread.next()).collect();
            let d: Vec<f64> = (0..matrix.n_columns()).map(|_| spread.next()).collect();
            let delta = 0.1;
            let plan = Plan::new(&matrix);
            let x = crate::linear::damped_least_squares(&matrix, &plan, &b, delta, Some(&d));
            let n = matrix.n_columns();
            let normal = full.transpose() * &full + DMatrix::identity(n, n) * (delta * delta);
            let right = -(full.transpose() * DMatrix::from_vec(b.len(), 1, b.clone()))
                - DMatrix::from_vec(n, 1, d) * (delta * delta);
            let expected = normal.lu().solve(&right).expect("regular");
            let difference = (DMatrix::from_vec(n, 1, x) - expected).amax();
            assert!(difference < 1e-11, "seed {seed}: {difference}");
        }
    }
}
