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
/// A row depends on earlier rows exactly when some y with yᵀ A = 0 has its last entry there. So the null vectors are
/// brought into echelon form from the last row on, by elimination among those that end there. An entry of at most
/// `threshold` relative to the largest of its vector takes no part: factors above its inverse are not trusted.
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

    /// From the last place on: of the vectors that end there, one keeps its entry and is done; the others are freed of it.
    fn reduce(&mut self, threshold: f64) {
        for place in (0..self.ending_at.len()).rev() {
            let here = std::mem::take(&mut self.ending_at[place]);
            let pivot = self.pivot(&here, threshold);
            if let Some(pivot) = pivot {
                self.pivots.push((place, pivot));
            }
            for k in here.into_iter().filter(|&k| Some(k) != pivot) {
                if let Some(pivot) = pivot {
                    self.subtract(k, pivot);
                }
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

    /// Of vectors that end at the same place, the shortest of those whose last entry is at least a tenth of the largest;
    /// `None` if no last entry exceeds the threshold relative to its vector.
    fn pivot(&self, here: &[usize], threshold: f64) -> Option<usize> {
        let share = |k: usize| {
            let largest = self.vectors[k].iter().fold(0.0_f64, |m, (_, y)| m.max(y.abs()));
            self.vectors[k].last().map_or(0.0, |entry| entry.1.abs()) / largest
        };
        let shares: Vec<f64> = here.iter().map(|&k| share(k)).collect();
        let largest = shares.iter().copied().fold(threshold, f64::max);
        let fit = here.iter().zip(&shares).filter(|(_, share)| **share >= 0.1 * largest);
        let fit = fit.filter(|(_, share)| **share > threshold);
        fit.map(|(&k, _)| k).min_by_key(|&k| self.vectors[k].len())
    }

    /// Subtracts from vector k the multiple of vector `pivot` that takes its last entry away.
    fn subtract(&mut self, k: usize, pivot: usize) {
        let last = |vector: &NullVector| vector.last().map_or(1.0, |entry| entry.1);
        let factor = last(&self.vectors[k]) / last(&self.vectors[pivot]);
        let old = std::mem::take(&mut self.vectors[k]);
        let other = &self.vectors[pivot];
        let mut new = Vec::with_capacity(old.len() + other.len());
        let (mut i, mut j) = (0, 0);
        while i < old.len() || j < other.len() {
            let (a, b) =
                (old.get(i).map_or(usize::MAX, |e| e.0), other.get(j).map_or(usize::MAX, |e| e.0));
            let at = a.min(b);
            let mut y = 0.0;
            if a == at {
                y += old[i].1;
                i += 1;
            }
            if b == at {
                y -= factor * other[j].1;
                j += 1;
            }
            if y.abs() > NOISE {
                new.push((at, y));
            }
        }
        self.vectors[k] = new;
    }

    /// Frees each vector of entries at the pivots of others, so that only rows that are not surplus remain.
    fn clear_pivots(&mut self) {
        let mut pivot_at = vec![None; self.sum.len()];
        let mut seen = vec![false; self.sum.len()];
        for &(place, k) in self.pivots.iter().rev() {
            // All pivots before this place are known and their vectors free of pivots.
            let mut vector = std::mem::take(&mut self.vectors[k]);
            if vector.iter().any(|&(at, _)| pivot_at[at].is_some()) {
                let mut places: Vec<usize> = Vec::new();
                for &(at, y) in &vector {
                    places.push(at);
                    seen[at] = true;
                    self.sum[at] += y;
                }
                for &(at, y) in &vector {
                    let Some(other) = pivot_at[at] else { continue };
                    let other: &NullVector = &self.vectors[other];
                    let factor = y / other.last().map_or(1.0, |entry| entry.1);
                    for &(at, y) in other {
                        if !seen[at] {
                            places.push(at);
                            seen[at] = true;
                        }
                        self.sum[at] -= factor * y;
                    }
                }
                places.sort_unstable();
                vector.clear();
                for at in places {
                    let y = std::mem::take(&mut self.sum[at]);
                    seen[at] = false;
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
