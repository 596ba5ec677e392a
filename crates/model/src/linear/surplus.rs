//! Which rows are too many, and on which others they depend.

/// A row that is a combination of others: row = Σ factor · term, over rows that are not surplus themselves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Surplus {
    /// The row.
    pub(crate) row: usize,
    /// (row, factor), ascending rows.
    pub(crate) terms: Vec<(usize, f64)>,
}

/// A combination of rows that vanishes: (row, factor), ascending rows.
pub(crate) type NullVector = Vec<(usize, f64)>;

/// Entries below this are rounding.
const NOISE: f64 = 1e-14;
/// Terms below this, relative to the largest, are not told.
const SMALLEST_TERM: f64 = 1e-6;

/// The rows that depend on earlier ones, ascending; `order` gives each row's place in the order, all different.
///
/// A row depends on earlier rows exactly when some y with yᵀ A = 0 has its last entry there. So the orthonormal null
/// vectors are brought into echelon form from the last row on, by reflections among those that end there. A row whose
/// entries are at most `threshold` takes no part: factors above its inverse are not trusted.
pub(crate) fn surplus_rows(
    vectors: &[NullVector],
    n_rows: usize,
    threshold: f64,
    order: impl Fn(usize) -> usize,
) -> Vec<Surplus> {
    let mut rows: Vec<usize> = (0..n_rows).collect();
    rows.sort_unstable_by_key(|&row| order(row));
    let mut place = vec![0; n_rows];
    for (k, &row) in rows.iter().enumerate() {
        place[row] = k;
    }
    let placed = vectors.iter().map(|vector| {
        let mut placed: NullVector = vector.iter().map(|&(row, y)| (place[row], y)).collect();
        placed.sort_unstable_by_key(|entry| entry.0);
        placed
    });
    let mut echelon = Echelon::new(placed.collect(), n_rows);
    echelon.reduce(threshold);
    echelon.clear_pivots();
    let mut found: Vec<Surplus> = Vec::with_capacity(echelon.pivots.len());
    for &(pivot, k) in &echelon.pivots {
        let vector = &echelon.vectors[k];
        let head = vector.last().map_or(1.0, |entry| entry.1);
        let others = &vector[..vector.len().saturating_sub(1)];
        let largest = others.iter().fold(0.0_f64, |m, (_, y)| m.max(y.abs()));
        let told = others.iter().filter(|(_, y)| y.abs() > SMALLEST_TERM * largest.max(head.abs()));
        let mut terms: Vec<(usize, f64)> = told.map(|&(at, y)| (rows[at], -y / head)).collect();
        terms.sort_unstable_by_key(|term| term.0);
        found.push(Surplus { row: rows[pivot], terms });
    }
    found.sort_by_key(|surplus| surplus.row);
    found
}

/// Sparse vectors on their way to echelon form.
struct Echelon {
    vectors: Vec<NullVector>,
    /// Vectors by the place of their last entry. (n places)
    ending_at: Vec<Vec<usize>>,
    /// (place, vector) of each pivot, descending.
    pivots: Vec<(usize, usize)>,
    /// One number a place, zero between uses.
    sum: Vec<f64>,
}

impl Echelon {
    fn new(vectors: Vec<NullVector>, n_places: usize) -> Self {
        let mut ending_at = vec![Vec::new(); n_places];
        for (k, vector) in vectors.iter().enumerate() {
            if let Some(&(last, _)) = vector.last() {
                ending_at[last].push(k);
            }
        }
        Echelon { vectors, ending_at, pivots: Vec::new(), sum: vec![0.0; n_places] }
    }

    /// From the last place on: of the vectors that end there, one keeps its entry and is done.
    fn reduce(&mut self, threshold: f64) {
        for place in (0..self.ending_at.len()).rev() {
            let mut here = std::mem::take(&mut self.ending_at[place]);
            let last = |k: &usize| self.vectors[*k].last().map_or(0.0, |entry| entry.1);
            let length = here.iter().map(|k| last(k).powi(2)).sum::<f64>().sqrt();
            if length > threshold {
                self.reflect(&here);
                self.pivots.push((place, here.remove(0)));
            }
            for k in here {
                let vector = &mut self.vectors[k];
                while vector.last().is_some_and(|&(at, y)| at == place || y.abs() <= NOISE) {
                    vector.pop();
                }
                if let Some(&(at, _)) = vector.last() {
                    self.ending_at[at].push(k);
                }
            }
        }
    }

    /// Reflects vectors that end at the same place among each other so that only the first keeps its last entry.
    fn reflect(&mut self, here: &[usize]) {
        let mut u: Vec<f64> =
            here.iter().map(|&k| self.vectors[k].last().map_or(0.0, |entry| entry.1)).collect();
        let below: f64 = u[1..].iter().map(|u| u * u).sum();
        if below == 0.0 {
            return;
        }
        let head = u[0];
        let length = (head * head + below).sqrt();
        let target = if head > 0.0 { -length } else { length };
        u[0] = head - target;
        let beta = 2.0 / (u[0] * u[0] + below);

        let mut places: Vec<usize> = Vec::new();
        for (&k, u) in here.iter().zip(&u) {
            for &(at, y) in &self.vectors[k] {
                places.push(at);
                self.sum[at] += u * y;
            }
        }
        places.sort_unstable();
        places.dedup();
        for (&k, u) in here.iter().zip(&u) {
            let old = std::mem::take(&mut self.vectors[k]);
            let mut old = old.into_iter().peekable();
            let mut new = Vec::with_capacity(places.len());
            for &at in &places {
                let y = old.next_if(|entry| entry.0 == at).map_or(0.0, |entry| entry.1);
                let y = y - beta * u * self.sum[at];
                if y.abs() > NOISE {
                    new.push((at, y));
                }
            }
            self.vectors[k] = new;
        }
        for at in places {
            self.sum[at] = 0.0;
        }
    }

    /// Frees each vector of entries at the pivots of others, so that only rows that are not surplus remain.
    fn clear_pivots(&mut self) {
        let mut pivot_at = vec![None; self.sum.len()];
        for &(place, k) in self.pivots.iter().rev() {
            // All pivots before this place are known and their vectors free of pivots.
            let mut vector = std::mem::take(&mut self.vectors[k]);
            if vector.iter().any(|&(at, _)| pivot_at[at].is_some()) {
                let mut places: Vec<usize> = Vec::new();
                for &(at, y) in &vector {
                    places.push(at);
                    self.sum[at] += y;
                }
                for &(at, y) in &vector {
                    let Some(other) = pivot_at[at] else { continue };
                    let other: &NullVector = &self.vectors[other];
                    let factor = y / other.last().map_or(1.0, |entry| entry.1);
                    for &(at, y) in other {
                        places.push(at);
                        self.sum[at] -= factor * y;
                    }
                }
                places.sort_unstable();
                places.dedup();
                vector.clear();
                for at in places {
                    let y = std::mem::take(&mut self.sum[at]);
                    if pivot_at[at].is_none() && y.abs() > NOISE {
                        vector.push((at, y));
                    }
                }
            }
            self.vectors[k] = vector;
            pivot_at[place] = Some(k);
        }
    }
}

/// As many rows as there are null vectors, each with the largest share in what the others leave: without them the rest
/// is as far from dependent as can be. Later rows are preferred among equals. Ascending.
pub(crate) fn strongest_rows(vectors: &[NullVector], n_rows: usize) -> Vec<usize> {
    let mut n = nalgebra::DMatrix::zeros(vectors.len(), n_rows);
    for (k, vector) in vectors.iter().enumerate() {
        for &(row, y) in vector {
            n[(k, row)] = y;
        }
    }
    let mut chosen = Vec::with_capacity(vectors.len());
    for done in 0..vectors.len() {
        let remaining = n.rows(done, vectors.len() - done);
        let share = |row: usize| remaining.column(row).norm();
        let largest = (0..n_rows).map(share).fold(0.0, f64::max);
        let Some(row) = (0..n_rows).rev().find(|&row| share(row) >= 0.9 * largest) else { break };
        // Takes the chosen direction out of the remaining vectors.
        let mut u: Vec<f64> = remaining.column(row).iter().copied().collect();
        let length = u.iter().map(|u| u * u).sum::<f64>().sqrt();
        u[0] += length.copysign(u[0]);
        let square: f64 = u.iter().map(|u| u * u).sum();
        if square == 0.0 {
            break;
        }
        for mut column in n.rows_mut(done, vectors.len() - done).column_iter_mut() {
            let dot: f64 = column.iter().zip(&u).map(|(y, u)| y * u).sum();
            column.iter_mut().zip(&u).for_each(|(y, u)| *y -= 2.0 * dot / square * u);
        }
        chosen.push(row);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_three_equal_rows_are_surplus() {
        // Rows 1, 3, 4 are equal: y spans e1 − e3, e1 − e4.
        let h = 0.5_f64.sqrt();
        let s = 1.0 / 6.0_f64.sqrt();
        let vectors = [vec![(1, h), (3, -h)], vec![(1, s), (3, s), (4, -2.0 * s)]];
        let surplus = surplus_rows(&vectors, 6, 1e-6, |row| row);
        assert_eq!(surplus.len(), 2);
        for (surplus, row) in surplus.iter().zip([3, 4]) {
            assert_eq!(surplus.row, row);
            assert_eq!(surplus.terms.len(), 1);
            assert_eq!(surplus.terms[0].0, 1);
            assert!((surplus.terms[0].1 - 1.0).abs() < 1e-12);
        }
        let reversed = surplus_rows(&vectors, 6, 1e-6, |row| 6 - row);
        assert_eq!(reversed.iter().map(|s| s.row).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(strongest_rows(&vectors, 6).len(), 2);
    }
}
