//! A singular position that a run has passed, in words and small equations.
//!
//! With T a basis of the kernel of G there, p = p* + T q + O(q²), and c the combinations of rows that vanish, what is left of the conditions in lowest order is
//! ```text
//! φ_j(q) = ½ Σ_k c_jk g_k″(T q, T q) = 0
//! ```
//! (Lyapunov and Schmidt's reduction); q are natural coordinates by name. Divided by q_0² these are the blown-up equations in λ_i = q_i/q_0.

use gelenk_natural::Branch;
use gelenk_natural::blow::jacobian;
use nalgebra::{DMatrix, DVector};

use crate::polynomial::Polynomial;

/// A singular position that was passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// When, s.
    pub time: f64,
    /// Where: the loop's natural coordinates by name.
    pub place: Vec<(String, f64)>,
    /// Independent conditions away from it.
    pub independent: usize,
    /// Conditions that always follow from the others, by name.
    pub redundant: Vec<String>,
    /// How many ranks are lost.
    pub lost: usize,
    /// The order with which the largest minor of G vanishes along the curve.
    pub order: u32,
    /// Rounds of the blow-up.
    pub rounds: usize,
    /// Names of q, as far as they count, q_0 first.
    pub variables: Vec<String>,
    /// φ = 0 in lowest order, as text.
    pub reduced: Vec<String>,
    /// The same blown up, in λ_i = q_i/q_0, as text.
    pub blown_up: Vec<String>,
    /// Directions of the curves that meet there, in q; all where one rank is lost, else the one taken.
    pub branches: Vec<Vec<f64>>,
    /// The direction of the motion, in q.
    pub taken: Vec<f64>,
}

/// Free columns of a matrix of the given rank, and a basis of its kernel that is the identity there.
fn kernel(mut a: DMatrix<f64>, rank: usize) -> (Vec<usize>, Vec<DVector<f64>>) {
    let n = a.ncols();
    let (mut rows, mut pivots): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for _ in 0..rank {
        let mut best = (0.0, 0, 0);
        for k in (0..a.nrows()).filter(|k| !rows.contains(k)) {
            for i in (0..n).filter(|i| !pivots.contains(i)) {
                if a[(k, i)].abs() > best.0 {
                    best = (a[(k, i)].abs(), k, i);
                }
            }
        }
        let (_, row, column) = best;
        let inverse = 1.0 / a[(row, column)];
        for i in 0..n {
            a[(row, i)] *= inverse;
        }
        for k in (0..a.nrows()).filter(|k| *k != row) {
            let factor = a[(k, column)];
            if factor != 0.0 {
                for i in 0..n {
                    let c = a[(row, i)];
                    a[(k, i)] -= factor * c;
                }
            }
        }
        rows.push(row);
        pivots.push(column);
    }
    let free: Vec<usize> = (0..n).filter(|i| !pivots.contains(i)).collect();
    let basis = free
        .iter()
        .map(|f| {
            let mut t = DVector::zeros(n);
            t[*f] = 1.0;
            for (row, column) in rows.iter().zip(&pivots) {
                t[*column] = -a[(*row, *f)];
            }
            t
        })
        .collect();
    (free, basis)
}

/// A number of six digits at most.
fn number(x: f64) -> String {
    let text = format!("{x:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Σ c m = 0 as text; the first coefficient has no sign of its own but minus.
fn equation(terms: &[(f64, String)]) -> String {
    let mut text = String::new();
    for (c, m) in terms {
        let size = number(c.abs());
        let part = match (size.as_str(), m.as_str()) {
            (_, "") => size.clone(),
            ("1", _) => m.clone(),
            _ => format!("{size}*{m}"),
        };
        let sign = match (text.is_empty(), *c < 0.0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        text = format!("{text}{sign}{part}");
    }
    if text.is_empty() { "0 = 0 in second order".to_owned() } else { format!("{text} = 0") }
}

fn power(name: &str, k: u32) -> String {
    if k == 1 { name.to_owned() } else { format!("{name}^{k}") }
}

/// Directions (x, y) with a x² + b x y + c y² = 0, the larger of them 1.
fn directions([a, b, c]: [f64; 3]) -> Vec<Vec<f64>> {
    let mut found = Vec::new();
    let mut add = |x: f64, y: f64| {
        let size = if x.abs() >= y.abs() { x } else { y };
        if size != 0.0 && size.is_finite() {
            found.push(vec![x / size, y / size]);
        }
    };
    let zero = 1e-9;
    if c.abs() < zero {
        // x (a x + b y) = 0.
        add(0.0, 1.0);
        add(-b, a);
        return found;
    }
    let square = b * b - 4.0 * a * c;
    if square >= 0.0 {
        let q = -0.5 * (b + square.sqrt().copysign(b));
        add(c, q);
        if square > 0.0 {
            add(q, a);
        }
    }
    found
}

impl Passage {
    /// What is to be told of the position.
    pub(crate) fn new(branch: &Branch, time: f64) -> Passage {
        let n = branch.parts.names.len();
        let g: Vec<Polynomial> =
            branch.kept.iter().map(|k| branch.parts.conditions[*k].g.clone()).collect();
        let place = &branch.curve.place;
        let (free, basis) = kernel(jacobian(&g, place), n - 1 - branch.lost);
        let mut curve = branch.curve.clone();
        let tau = curve.find(place, &branch.parts.mass).map(|at| at.tau).unwrap_or_default();
        let along = |i: usize| tau.get(free[i]).copied().unwrap_or(0.0);
        let mut order: Vec<usize> = (0..free.len()).collect();
        order.sort_by(|a, b| along(*b).abs().total_cmp(&along(*a).abs()));
        let size = order.first().map_or(1.0, |i| along(*i));
        let taken = order.iter().map(|i| along(*i) / size).collect();
        let names: Vec<String> =
            order.iter().map(|i| branch.parts.names[free[*i]].replace(".s.", ".")).collect();
        let combinations = branch.curve.rounds.first().map_or(&[][..], |round| &round.combinations);
        let (mut reduced, mut blown_up, mut branches) = (Vec::new(), Vec::new(), Vec::new());
        for list in combinations {
            let mut form = Vec::new();
            for (a, i) in order.iter().enumerate() {
                for (b, j) in order.iter().enumerate().skip(a) {
                    let twice = if a == b { 0.5 } else { 1.0 };
                    let value = |&(k, c): &(usize, f64)| {
                        c * g[k].second(place, basis[*i].as_slice(), basis[*j].as_slice())
                    };
                    form.push((a, b, twice * list.iter().map(value).sum::<f64>()));
                }
            }
            let most = form
                .iter()
                .fold(0.0, |most: f64, x| if x.2.abs() > most.abs() { x.2 } else { most });
            let form: Vec<(usize, usize, f64)> =
                form.into_iter().map(|(a, b, c)| (a, b, c / most)).collect();
            let counts = |c: f64| c.abs() > 1e-9;
            let before = form.iter().filter(|x| counts(x.2)).map(|&(a, b, c)| {
                let m =
                    if a == b { power(&names[a], 2) } else { format!("{}*{}", names[a], names[b]) };
                (c, m)
            });
            reduced.push(equation(&before.collect::<Vec<_>>()));
            let after = form.iter().filter(|x| counts(x.2)).map(|&(a, b, c)| {
                let m = match (a, b) {
                    (0, 0) => String::new(),
                    (0, b) => format!("l_{}", names[b]),
                    (a, b) if a == b => power(&format!("l_{}", names[a]), 2),
                    (a, b) => format!("l_{}*l_{}", names[a], names[b]),
                };
                (c, m)
            });
            blown_up.push(equation(&after.collect::<Vec<_>>()));
            if let ([x, y, z], true) = (&form[..], most != 0.0) {
                branches = directions([x.2, y.2, z.2]);
            }
        }
        if branches.is_empty() {
            branches.push(order.iter().map(|i| along(*i) / size).collect());
        }
        let outside = (0..branch.parts.conditions.len()).filter(|k| !branch.kept.contains(k));
        Passage {
            time,
            place: branch.parts.names.iter().cloned().zip(place.iter().copied()).collect(),
            independent: g.len(),
            redundant: outside.map(|k| branch.parts.conditions[k].name.clone()).collect(),
            lost: branch.lost,
            order: branch.order,
            rounds: branch.curve.rounds.len(),
            variables: names,
            reduced,
            blown_up,
            branches,
            taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_of_quadratic_forms() {
        assert_eq!(directions([0.0, 1.0, 0.0]), [vec![0.0, 1.0], vec![1.0, -0.0]]);
        // y² − 2 x y = 0: y = 0 or y = 2 x.
        let found = directions([0.0, -2.0, 1.0]);
        assert!(found.contains(&vec![0.5, 1.0]) && found.contains(&vec![1.0, 0.0]), "{found:?}");
        assert!(directions([1.0, 0.0, 1.0]).is_empty());
    }

    #[test]
    fn kernels_are_the_identity_where_they_are_free() {
        let a = DMatrix::from_row_slice(2, 4, &[1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 3.0, 3.0]);
        let (free, basis) = kernel(a.clone(), 2);
        assert_eq!(basis.len(), 2);
        for (f, t) in free.iter().zip(&basis) {
            assert!((t[*f] - 1.0).abs() < 1e-15 && (&a * t).amax() < 1e-15);
        }
    }
}
