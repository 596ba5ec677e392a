//! Which rows are too many, and on which others they depend.

use crate::graph::Sets;

/// A row that is a combination of others: row = Σ factor · term, over rows that are not surplus themselves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Surplus {
    /// The row.
    pub(crate) row: usize,
    /// (row, factor), ascending rows.
    pub(crate) terms: Vec<(usize, f64)>,
}

/// Entries of a null vector below this do not connect two rows.
const SUPPORT: f64 = 1e-9;
/// A row is called surplus when its entry in a null vector is at least this, as far as that goes: first the first.
///
/// Null vectors known to rounding allow small ones, so that file order decides; those of rows that are only nearly
/// dependent do not, since a row with a small entry hardly takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preference {
    /// File order.
    Order,
    /// Rows that take part most, file order among them.
    Share,
}

impl Preference {
    fn thresholds(self) -> &'static [f64] {
        match self {
            Preference::Order => &[SMALLEST, 0.0],
            Preference::Share => &[0.1, 1e-2, 1e-3, SMALLEST, 0.0],
        }
    }
}

/// Factors above the inverse of this, or below it relative to the largest, are not trusted.
const SMALLEST: f64 = 1e-6;

/// The rows that depend on earlier ones in the order given by `rank_of_row` (smaller comes earlier), ascending.
///
/// A row depends on earlier rows exactly when some y with yᵀ A = 0 has its last entry there. So the orthonormal null
/// vectors are brought into echelon form from the last row on, by reflections among the vectors.
pub(crate) fn surplus_rows(
    vectors: &[Vec<(usize, f64)>],
    n_rows: usize,
    preference: Preference,
    rank_of_row: impl Fn(usize) -> usize,
) -> Vec<Surplus> {
    // Vectors that share rows are reduced together.
    let mut sets = Sets::new(n_rows);
    for vector in vectors {
        let mut rows = vector.iter().filter(|(_, y)| y.abs() > SUPPORT).map(|&(row, _)| row);
        if let Some(first) = rows.next() {
            rows.for_each(|row| _ = sets.join(first, row));
        }
    }
    let mut grouped: Vec<(usize, usize)> = Vec::with_capacity(vectors.len());
    for (k, vector) in vectors.iter().enumerate() {
        if let Some(&(row, _)) = vector.iter().find(|(_, y)| y.abs() > SUPPORT) {
            grouped.push((sets.root(row), k));
        }
    }
    grouped.sort_unstable();
    let mut found = Vec::new();
    for group in grouped.chunk_by(|a, b| a.0 == b.0) {
        let group: Vec<&Vec<(usize, f64)>> = group.iter().map(|&(_, k)| &vectors[k]).collect();
        reduce(&group, preference, &rank_of_row, &mut found);
    }
    found.sort_by_key(|surplus: &Surplus| surplus.row);
    found
}

fn reduce(
    vectors: &[&Vec<(usize, f64)>],
    preference: Preference,
    rank_of_row: &impl Fn(usize) -> usize,
    found: &mut Vec<Surplus>,
) {
    let mut rows: Vec<usize> = vectors.iter().flat_map(|v| v.iter().map(|e| e.0)).collect();
    rows.sort_unstable_by_key(|&row| (rank_of_row(row), row));
    rows.dedup();
    let mut place: Vec<(usize, usize)> = rows.iter().enumerate().map(|(k, &r)| (r, k)).collect();
    place.sort_unstable();
    let at = |row: usize| place.binary_search_by_key(&row, |e| e.0).map_or(0, |i| place[i].1);
    let mut n: Vec<Vec<f64>> = vec![vec![0.0; rows.len()]; vectors.len()];
    for (dense, vector) in n.iter_mut().zip(vectors) {
        for &(row, y) in *vector {
            dense[at(row)] = y;
        }
    }

    let mut pivots: Vec<usize> = Vec::with_capacity(n.len());
    for &threshold in preference.thresholds() {
        for k in (0..rows.len()).rev() {
            if pivots.len() < n.len() && !pivots.contains(&k) {
                let remaining = &mut n[pivots.len()..];
                if remaining.iter().map(|v| v[k] * v[k]).sum::<f64>().sqrt() > threshold {
                    reflect(remaining, k);
                    pivots.push(k);
                }
            }
        }
    }
    // Vector i now has nothing at the pivots found before its own; clear those found after.
    for i in (0..pivots.len()).rev() {
        let (earlier, later) = n.split_at_mut(i);
        let pivot = pivots[i];
        for vector in earlier {
            let factor = vector[pivot] / later[0][pivot];
            if factor != 0.0 {
                vector.iter_mut().zip(&later[0]).for_each(|(a, b)| *a -= factor * b);
            }
        }
    }
    for (vector, &pivot) in n.iter().zip(&pivots) {
        let largest = vector.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
        let mut terms = Vec::new();
        for (k, &y) in vector.iter().enumerate() {
            if k != pivot && !pivots.contains(&k) && y.abs() > SMALLEST * largest {
                terms.push((rows[k], -y / vector[pivot]));
            }
        }
        terms.sort_unstable_by_key(|term| term.0);
        found.push(Surplus { row: rows[pivot], terms });
    }
}

/// Reflects the vectors among each other so that only the first keeps an entry at k.
fn reflect(vectors: &mut [Vec<f64>], k: usize) {
    let below: f64 = vectors[1..].iter().map(|v| v[k] * v[k]).sum();
    if below == 0.0 {
        return;
    }
    let head = vectors[0][k];
    let length = (head * head + below).sqrt();
    let target = if head > 0.0 { -length } else { length };
    let mut u: Vec<f64> = vectors.iter().map(|v| v[k]).collect();
    u[0] = head - target;
    let beta = 2.0 / (u[0] * u[0] + below);
    for column in 0..vectors[0].len() {
        let dot: f64 = vectors.iter().zip(&u).map(|(v, u_i)| v[column] * u_i).sum();
        if dot != 0.0 {
            vectors.iter_mut().zip(&u).for_each(|(v, u_i)| v[column] -= beta * dot * u_i);
        }
    }
    vectors[0][k] = target;
    vectors[1..].iter_mut().for_each(|v| v[k] = 0.0);
}
