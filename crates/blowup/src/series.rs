//! Truncated power series and the t-order of matrices of them.
//!
//! A series is the slice of its coefficients a₀, a₁, … a_K; all have the same length. (The series of
//! `gelenk-expr` are of floats; these are of any [`Field`].)

use crate::field::Field;
use crate::poly::Poly;

/// The smallest k with a_k ≠ 0: \[Laufen\] III, definition 10; none where all known ones are zero.
///
/// Coefficients below `epsilon` count as zero.
pub fn t_order<C: Field>(a: &[C], epsilon: f64) -> Option<usize> {
    a.iter().position(|c| !c.is_below(epsilon))
}

pub(crate) fn sum<C: Field>(a: &[C], b: &[C]) -> Vec<C> {
    a.iter().zip(b).map(|(a, b)| a.plus(b)).collect()
}

pub(crate) fn difference<C: Field>(a: &[C], b: &[C]) -> Vec<C> {
    a.iter().zip(b).map(|(a, b)| a.minus(b)).collect()
}

pub(crate) fn product<C: Field>(a: &[C], b: &[C]) -> Vec<C> {
    let mut c = vec![C::zero(); a.len()];
    for (i, a) in a.iter().enumerate().filter(|(_, a)| !a.is_zero()) {
        for (j, b) in b.iter().enumerate().take(c.len() - i) {
            c[i + j] = c[i + j].plus(&a.times(b));
        }
    }
    c
}

/// a/b as far as it is known: shorter than a by the t-order of b. None if a has a lower t-order
/// or b is zero.
pub(crate) fn quotient<C: Field>(a: &[C], b: &[C], epsilon: f64) -> Option<Vec<C>> {
    let p = t_order(b, epsilon)?;
    if a.iter().take(p).any(|c| !c.is_below(epsilon)) {
        return None;
    }
    let (a, b) = (&a[p.min(a.len())..], &b[p..]);
    let inverse = b[0].inverse()?;
    let mut c: Vec<C> = Vec::with_capacity(a.len());
    for k in 0..a.len() {
        let mut rest = a[k].clone();
        for j in 1..=k.min(b.len() - 1) {
            rest = rest.minus(&b[j].times(&c[k - j]));
        }
        c.push(rest.times(&inverse));
    }
    Some(c)
}

/// √a for a₀ = 1.
pub(crate) fn root<C: Field>(a: &[C]) -> Vec<C> {
    let half = C::from_int(2).inverse().unwrap_or_else(C::zero);
    let mut c = vec![C::one()];
    for k in 1..a.len() {
        let mut rest = a[k].clone();
        for j in 1..k {
            rest = rest.minus(&c[j].times(&c[k - j]));
        }
        c.push(rest.times(&half));
    }
    c
}

/// p(x(t)).
pub(crate) fn eval<C: Field>(p: &Poly<C>, x: &[Vec<C>]) -> Vec<C> {
    let length = x.first().map_or(1, Vec::len);
    let mut total = vec![C::zero(); length];
    for (m, c) in p.terms() {
        let mut term = vec![C::zero(); length];
        term[0] = c.clone();
        for (e, x) in m.exponents().iter().zip(x) {
            for _ in 0..*e {
                term = product(&term, x);
            }
        }
        total = sum(&total, &term);
    }
    total
}

/// The t-order of a matrix: the smallest t-order of its largest minors, \[Laufen\] III,
/// definition 12. None where it exceeds what is known.
///
/// Elimination with the entry of lowest order as pivot: the quotients stay power series, every largest
/// minor has at least the sum of the pivots' orders, and one has just that.
pub fn matrix_order<C: Field>(mut rows: Vec<Vec<Vec<C>>>, epsilon: f64) -> Option<usize> {
    let n_rows = rows.len();
    let mut done: Vec<(usize, usize)> = Vec::new();
    let mut total = 0;
    while done.len() < n_rows {
        let mut best: Option<(usize, usize, usize, f64)> = None;
        for (i, row) in rows.iter().enumerate() {
            if done.iter().any(|(r, _)| *r == i) {
                continue;
            }
            for (j, a) in row.iter().enumerate() {
                if done.iter().any(|(_, c)| *c == j) {
                    continue;
                }
                let Some(order) = t_order(a, epsilon) else { continue };
                let size = if C::is_rounded() { a[order].size() } else { 1.0 };
                if best.is_none_or(|(_, _, o, s)| order < o || (order == o && size > s)) {
                    best = Some((i, j, order, size));
                }
            }
        }
        let (row, column, order, _) = best?;
        total += order;
        let pivot_row = rows[row].clone();
        for (i, other) in rows.iter_mut().enumerate() {
            if i == row || done.iter().any(|(r, _)| *r == i) {
                continue;
            }
            let Some(mut factor) = quotient(&other[column], &pivot_row[column], epsilon) else {
                continue;
            };
            factor.resize(pivot_row[column].len(), C::zero());
            for (a, b) in other.iter_mut().zip(&pivot_row) {
                *a = difference(a, &product(&factor, b));
            }
        }
        done.push((row, column));
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gelenk_expr::Rational;

    fn s(a: &[i64]) -> Vec<Rational> {
        a.iter().map(|n| Rational::from(*n)).collect()
    }

    #[test]
    fn series_arithmetic() {
        // (1 + t)² = 1 + 2t + t², its root and quotient.
        let a = s(&[1, 1, 0, 0]);
        let square = product(&a, &a);
        assert_eq!(square, s(&[1, 2, 1, 0]));
        assert_eq!(root(&square), a);
        assert_eq!(quotient(&square, &a, 0.0), Some(a.clone()));
        // t³/t² is known to one coefficient less for each order.
        assert_eq!(quotient(&s(&[0, 0, 0, 1]), &s(&[0, 0, 1, 0]), 0.0), Some(s(&[0, 1])));
        assert_eq!(quotient(&s(&[0, 1]), &s(&[0, 0]), 0.0), None);
        assert_eq!(quotient(&s(&[1, 0]), &s(&[0, 1]), 0.0), None);
    }

    #[test]
    fn orders_of_matrices() {
        let t = s(&[0, 1, 0, 0, 0]);
        let t2 = s(&[0, 0, 1, 0, 0]);
        let one = s(&[1, 0, 0, 0, 0]);
        let zero = s(&[0; 5]);
        // det = t - t² t: order 1; with equal rows none.
        assert_eq!(
            matrix_order(vec![vec![t.clone(), t2.clone()], vec![t.clone(), one]], 0.0),
            Some(1)
        );
        let twice = vec![vec![t.clone(), t2.clone()], vec![t.clone(), t2.clone()]];
        assert_eq!(matrix_order(twice, 0.0), None);
        let wide = vec![vec![t2.clone(), zero.clone(), t.clone()], vec![zero.clone(), t2, zero]];
        assert_eq!(matrix_order(wide, 0.0), Some(3));
    }
}
