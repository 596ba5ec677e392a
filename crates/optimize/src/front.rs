//! Symmetric indefinite elimination of a dense front, with pivots taken from its first rows only.

use nalgebra::DMatrix;

/// A pivot must not be smaller than this part of the largest entry of its column, so that factors stay below its inverse.
const THRESHOLD: f64 = 1e-3;
/// Pivots below this part of what stood in their column at first count as zero: what is left is rounding.
const ZERO: f64 = 1e-15;

/// A pivot of L D Lᵀ.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pivot {
    /// One row.
    One(f64),
    /// The first of two rows: D = [[a, b], [b, c]].
    Two(f64, f64, f64),
    /// The second of two rows.
    Second,
}

/// The eliminated part of a front: unknowns in pivot order, then those that stay.
#[derive(Clone, Debug)]
pub(crate) struct Eliminated {
    /// Number of every unknown of the front, in pivot order.
    pub(crate) unknowns: Vec<usize>,
    /// Unit lower columns, a column a pivot row; entries above the diagonal mean nothing.
    lower: DMatrix<f64>,
    pivots: Vec<Pivot>,
}

/// Signs of pivots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inertia {
    pub(crate) positive: usize,
    pub(crate) negative: usize,
    pub(crate) zero: usize,
}

/// Eliminates as many of the first `summed` unknowns as stable pivots allow.
///
/// `front` is symmetric; only its lower triangle is read. Gives the factors and the remaining matrix (its lower triangle) with its
/// unknowns: first those that found no pivot (`delayed` of them), then those that stay. This is one step of the multifrontal method
/// (Duff and Reid 1983); the pivot test is theirs.
pub(crate) fn eliminate(
    mut front: DMatrix<f64>,
    mut unknowns: Vec<usize>,
    summed: usize,
    inertia: &mut Inertia,
) -> (Eliminated, Remainder) {
    let n = unknowns.len();
    let mut pivots = Vec::with_capacity(summed);
    let mut zero: Vec<f64> = (0..n)
        .map(|j| ZERO * (0..n).fold(0.0_f64, |most, i| most.max(entry(&front, i, j).abs())))
        .collect();
    let mut k = 0;
    while k < summed {
        let Some((size, at, other)) = find(&front, k, summed, &zero) else { break };
        swap(&mut front, &mut unknowns, k, at);
        zero.swap(k, at);
        if size == 1 {
            let d = front[(k, k)];
            eliminate_one(&mut front, k);
            pivots.push(Pivot::One(d));
            if d > 0.0 { inertia.positive += 1 } else { inertia.negative += 1 }
        } else {
            // The first swap may have moved the partner.
            let other = if other == k { at } else { other };
            swap(&mut front, &mut unknowns, k + 1, other);
            zero.swap(k + 1, other);
            let (a, b, c) = (front[(k, k)], front[(k + 1, k)], front[(k + 1, k + 1)]);
            eliminate_two(&mut front, k, a, b, c);
            pivots.push(Pivot::Two(a, b, c));
            pivots.push(Pivot::Second);
            let det = a * c - b * b;
            if det < 0.0 {
                inertia.positive += 1;
                inertia.negative += 1;
            } else if a > 0.0 {
                inertia.positive += 2;
            } else {
                inertia.negative += 2;
            }
        }
        k += size;
    }
    let rest = front.view((k, k), (n - k, n - k)).into_owned();
    let remainder =
        Remainder { matrix: rest, unknowns: unknowns[k..].to_vec(), delayed: summed - k };
    let lower = front.columns(0, k).into_owned();
    (Eliminated { unknowns, lower, pivots }, remainder)
}

/// What is left of a front.
#[derive(Clone, Debug)]
pub(crate) struct Remainder {
    /// Lower triangle.
    pub(crate) matrix: DMatrix<f64>,
    pub(crate) unknowns: Vec<usize>,
    /// How many of its first unknowns should have been eliminated.
    pub(crate) delayed: usize,
}

fn entry(a: &DMatrix<f64>, i: usize, j: usize) -> f64 {
    if i >= j { a[(i, j)] } else { a[(j, i)] }
}

/// A stable pivot among rows k … summed−1: its size and rows.
fn find(a: &DMatrix<f64>, k: usize, summed: usize, zero: &[f64]) -> Option<(usize, usize, usize)> {
    let n = a.nrows();
    for j in k..summed {
        let (mut most, mut partner, mut partner_size) = (0.0_f64, j, 0.0_f64);
        for i in k..n {
            if i != j {
                let size = entry(a, i, j).abs();
                most = most.max(size);
                if i < summed && size > partner_size {
                    (partner, partner_size) = (i, size);
                }
            }
        }
        let d = a[(j, j)].abs();
        if d > zero[j] && d >= THRESHOLD * most {
            return Some((1, j, j));
        }
        if partner == j || partner_size <= zero[j].min(zero[partner]) {
            continue;
        }
        let r = partner;
        let (mut g_j, mut g_r) = (0.0_f64, 0.0_f64);
        for i in k..n {
            if i != j && i != r {
                g_j = g_j.max(entry(a, i, j).abs());
                g_r = g_r.max(entry(a, i, r).abs());
            }
        }
        let (a_jj, a_rr, a_rj) = (a[(j, j)], a[(r, r)], entry(a, r, j));
        let det = (a_jj * a_rr - a_rj * a_rj).abs();
        if det <= ZERO * (a_rj * a_rj).max((a_jj * a_rr).abs()) {
            continue;
        }
        let first = a_rr.abs() * g_j + a_rj.abs() * g_r;
        let second = a_rj.abs() * g_j + a_jj.abs() * g_r;
        if first.max(second) * THRESHOLD <= det {
            return Some((2, j, r));
        }
    }
    None
}

/// Exchanges rows and columns p and q of the lower triangle, rows of the finished columns included.
fn swap(a: &mut DMatrix<f64>, unknowns: &mut [usize], p: usize, q: usize) {
    if p == q {
        return;
    }
    let (p, q) = if p < q { (p, q) } else { (q, p) };
    unknowns.swap(p, q);
    for i in 0..p {
        a.swap((p, i), (q, i));
    }
    a.swap((p, p), (q, q));
    for i in p + 1..q {
        a.swap((i, p), (q, i));
    }
    for i in q + 1..a.nrows() {
        a.swap((i, p), (i, q));
    }
}

fn eliminate_one(a: &mut DMatrix<f64>, k: usize) {
    let n = a.nrows();
    let inverse = 1.0 / a[(k, k)];
    let (before, rest) = a.as_mut_slice().split_at_mut((k + 1) * n);
    let done = &mut before[k * n..];
    for j in k + 1..n {
        let factor = done[j] * inverse;
        if factor != 0.0 {
            let column = &mut rest[(j - k - 1) * n..(j - k) * n];
            for (t, s) in column[j..].iter_mut().zip(&done[j..]) {
                *t -= factor * s;
            }
        }
    }
    for value in &mut done[k + 1..] {
        *value *= inverse;
    }
}

fn eliminate_two(m: &mut DMatrix<f64>, k: usize, a: f64, b: f64, c: f64) {
    let n = m.nrows();
    let det = a * c - b * b;
    let (before, rest) = m.as_mut_slice().split_at_mut((k + 2) * n);
    let (first, second) = before[k * n..].split_at_mut(n);
    let factors = |x: f64, y: f64| ((c * x - b * y) / det, (a * y - b * x) / det);
    for j in k + 2..n {
        let (fx, fy) = factors(first[j], second[j]);
        if fx != 0.0 || fy != 0.0 {
            let column = &mut rest[(j - k - 2) * n..(j - k - 1) * n];
            for ((t, s), r) in column[j..].iter_mut().zip(&first[j..]).zip(&second[j..]) {
                *t -= fx * s + fy * r;
            }
        }
    }
    for j in k + 2..n {
        (first[j], second[j]) = factors(first[j], second[j]);
    }
}

impl Eliminated {
    /// b ← L⁻¹ b, in place.
    pub(crate) fn forward(&self, b: &mut [f64]) {
        for (k, pivot) in self.pivots.iter().enumerate() {
            let value = b[self.unknowns[k]];
            // The second column of a pair has no entry in the first's rows; the first none in the second's.
            let begin = if matches!(pivot, Pivot::Two(..)) { k + 2 } else { k + 1 };
            if value != 0.0 {
                let column = self.lower.column(k);
                for i in begin..self.unknowns.len() {
                    b[self.unknowns[i]] -= column[i] * value;
                }
            }
        }
    }

    /// b ← L⁻ᵀ D⁻¹ b, in place.
    pub(crate) fn backward(&self, b: &mut [f64]) {
        let dot = |k: usize, begin: usize, b: &[f64]| {
            let column = self.lower.column(k);
            (begin..self.unknowns.len()).map(|i| column[i] * b[self.unknowns[i]]).sum::<f64>()
        };
        for (k, pivot) in self.pivots.iter().enumerate().rev() {
            let at = self.unknowns[k];
            match *pivot {
                Pivot::One(d) => b[at] = b[at] / d - dot(k, k + 1, b),
                Pivot::Two(a, p, c) => {
                    let next = self.unknowns[k + 1];
                    let (x, y, det) = (b[at], b[next], a * c - p * p);
                    let first = dot(k, k + 2, b);
                    let second = dot(k + 1, k + 2, b);
                    b[at] = (c * x - p * y) / det - first;
                    b[next] = (a * y - p * x) / det - second;
                }
                Pivot::Second => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DVector;

    /// A reproducible sequence in −1 … 1.
    fn noise(seed: &mut u64) -> f64 {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*seed >> 33) as f64) / f64::from(1u32 << 30) - 1.0
    }

    #[test]
    fn indefinite_systems_are_solved_and_signs_counted() {
        let mut seed = 3;
        for n in [1, 2, 5, 12] {
            let mut a = DMatrix::from_fn(n, n, |_, _| noise(&mut seed));
            a = &a + a.transpose();
            for i in 0..n {
                // Zero diagonals ask for pivots of two rows.
                if i % 2 == 0 && n > 1 {
                    a[(i, i)] = 0.0;
                }
            }
            let mut inertia = Inertia::default();
            let (factor, rest) = eliminate(a.clone(), (0..n).collect(), n, &mut inertia);
            assert_eq!(rest.unknowns.len(), 0);
            let x = DVector::from_fn(n, |_, _| noise(&mut seed));
            let mut b = (&a * &x).as_slice().to_vec();
            factor.forward(&mut b);
            factor.backward(&mut b);
            let error = (DVector::from_vec(b) - x).amax();
            assert!(error < 1e-10, "{n}: {error:e}");
            let positive = a.symmetric_eigenvalues().iter().filter(|&&e| e > 0.0).count();
            assert_eq!((inertia.positive, inertia.negative), (positive, n - positive));
        }
    }

    #[test]
    fn rows_without_a_pivot_wait() {
        // x and λ of [[0, 1], [1, 0]]: x alone has no pivot.
        let a = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, 1.0, 0.0]);
        let mut inertia = Inertia::default();
        let (_, rest) = eliminate(a, vec![7, 9], 1, &mut inertia);
        assert_eq!((rest.unknowns, rest.delayed), (vec![7, 9], 1));
        assert_eq!(inertia, Inertia::default());
    }
}
