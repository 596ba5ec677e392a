//! The blow-up of a singular position in floating point: a curve of positions, written so that its equations keep their rank.
//!
//! The conditions g of a loop with one degree of freedom are n − 1 polynomials in n natural coordinates; their solutions are curves. Where
//! two of these cross, ∂g loses rank. A round of the blow-up along one of them (\[Laufen\] III theorem 1, with the tolerance of IV §4):
//! ```text
//! 1. equations whose linear part depends on that of others are combined with these so that it vanishes,
//! 2. x_i = x_0 (a_i + z_i), x_0 the coordinate that leaves first, a the slopes of the curve,
//! 3. each equation is divided by its highest power of x_0
//! ```
//! until the rank is full. The polynomials stay sparse: only the few combinations of step 1 are long.

use nalgebra::{DMatrix, DVector, Dyn, LU};

use crate::polynomial::Polynomial;

/// Constant and linear terms below this part of an equation's largest coefficient count as zero.
const EPSILON: f64 = 1e-7;

/// Terms below this are rounding.
const DUST: f64 = 1e-14;

/// Where p′ is less than this part of z′ the curve turns back: places of cusps are found to the root of the rounding only.
const TURNS: f64 = 1e-4;

/// Rounds after which the blow-up gives up.
const MAX_ROUNDS: usize = 8;

/// Equations with factors.
pub type Combination = Vec<(usize, f64)>;

/// One round: x_c = z_c, x_i = z_c (slope_i + z_i).
#[derive(Clone, Debug)]
pub struct Round {
    /// c, the coordinate that leaves first.
    pub chart: usize,
    /// a; 0 for the chart. (n)
    pub slope: Vec<f64>,
    /// The combinations of equations without linear part: (equation, factor).
    pub combinations: Vec<Combination>,
}

/// Why there is no blow-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCurve {
    /// The rank is still lost after the last round.
    Rounds,
    /// The curve reaches the position with a direction that turns back: no smooth motion.
    Turns,
    /// An equation vanishes altogether, or numbers are none.
    Degenerate,
}

/// A curve of positions through a singular one.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The singular position. (n)
    pub place: Vec<f64>,
    /// The rounds.
    pub rounds: Vec<Round>,
    /// The equations of full rank. (n − 1)
    equations: Vec<Polynomial>,
    /// Where z was last. (n)
    z: Vec<f64>,
    /// τ there. (n)
    tangent: Vec<f64>,
    /// The matrix of the last point found, for points near it.
    factors: Option<Factors>,
}

/// The equations and the way along τ, linear at a point.
#[derive(Clone, Debug)]
struct Factors {
    tangent: Vec<f64>,
    lu: LU<f64, Dyn, Dyn>,
}

/// A point of the curve: p, and with the parameter s of the curve τ = p′ and κ = p″.
#[derive(Clone, Debug, Default)]
pub struct CurvePoint {
    /// p. (n)
    pub p: Vec<f64>,
    /// p′. (n)
    pub tau: Vec<f64>,
    /// p″. (n)
    pub kappa: Vec<f64>,
}

/// The matrix of linear terms at the origin.
fn linear_part(equations: &[Polynomial], n: usize) -> DMatrix<f64> {
    let mut a = DMatrix::zeros(equations.len(), n);
    for (k, g) in equations.iter().enumerate() {
        for (monomial, c) in g.terms() {
            if let [(i, 1)] = monomial[..] {
                a[(k, i)] = c;
            }
        }
    }
    a
}

fn largest(g: &Polynomial) -> f64 {
    g.terms().fold(0.0, |most, (_, c)| most.max(c.abs()))
}

/// ∂g at x. (m × n)
pub fn jacobian(equations: &[Polynomial], x: &[f64]) -> DMatrix<f64> {
    let n = x.len();
    let mut a = DMatrix::zeros(equations.len(), n);
    let mut row = vec![0.0; n];
    for (k, g) in equations.iter().enumerate() {
        row.fill(0.0);
        g.add_gradient(x, &mut row);
        for (i, c) in row.iter().enumerate() {
            a[(k, i)] = *c;
        }
    }
    a
}

/// Values of g at x.
pub(crate) fn values(equations: &[Polynomial], x: &[f64]) -> DVector<f64> {
    DVector::from_iterator(equations.len(), equations.iter().map(|g| g.value(x)))
}

/// The shortest vector of least |A x − b|; none if the iteration for it fails.
pub fn least_squares(a: DMatrix<f64>, b: &DVector<f64>, cut: f64) -> Option<DVector<f64>> {
    if a.iter().chain(b.iter()).any(|x| !x.is_finite()) {
        return None;
    }
    let svd = a.try_svd(true, true, f64::EPSILON, 1000)?;
    let most = svd.singular_values.max();
    svd.solve(b, cut * most).ok()
}

/// g(place + x).
fn shifted(g: &Polynomial, place: &[f64]) -> Polynomial {
    substituted(g, |i| &Polynomial::variable(i) + &Polynomial::constant(place[i]))
}

fn substituted(g: &Polynomial, by: impl Fn(usize) -> Polynomial) -> Polynomial {
    let mut out = Polynomial::default();
    for (monomial, c) in g.terms() {
        let mut product = Polynomial::constant(c);
        for &(i, k) in monomial {
            product = &product * &by(i).power(k);
        }
        for (monomial, c) in product.terms() {
            out.add_term(monomial.clone(), c);
        }
    }
    out
}

/// Without the terms that `leave` names.
fn without(g: &Polynomial, leave: impl Fn(u32, f64) -> bool) -> Polynomial {
    let mut out = Polynomial::default();
    for (monomial, c) in g.terms() {
        let degree = monomial.iter().map(|(_, k)| k).sum();
        if !leave(degree, c.abs()) {
            out.add_term(monomial.clone(), c);
        }
    }
    out
}

/// Step 1: replaces equations by combinations without linear part so that the linear parts of the others are independent. Gives the combinations.
fn combine(equations: &mut [Polynomial], n: usize) -> Option<Vec<Combination>> {
    let m = equations.len();
    let a = linear_part(equations, n);
    let scale: Vec<f64> = (0..m).map(|k| a.row(k).norm().max(largest(&equations[k]))).collect();
    let scaled = DMatrix::from_fn(m, n, |k, i| a[(k, i)] / scale[k].max(1e-300));
    let svd = scaled.try_svd(true, false, f64::EPSILON, 1000)?;
    let u = svd.u?;
    let most = svd.singular_values.max();
    let mut null: Vec<Vec<f64>> = (0..m)
        .filter(|j| svd.singular_values.get(*j).is_none_or(|s| *s <= EPSILON * most.max(1.0)))
        .map(|j| (0..m).map(|k| u[(k, j)] / scale[k].max(1e-300)).collect())
        .collect();
    // Echelon form with the largest pivots, so that combinations are as short as they can be.
    let mut lost: Vec<usize> = Vec::new();
    for j in 0..null.len() {
        let free = (0..m).filter(|k| !lost.contains(k));
        let size = |k: &usize, row: &[f64]| (row[*k] * scale[*k]).abs();
        let (row, pivot) = (j..null.len())
            .flat_map(|r| free.clone().map(move |k| (r, k)))
            .max_by(|a, b| size(&a.1, &null[a.0]).total_cmp(&size(&b.1, &null[b.0])))?;
        null.swap(j, row);
        let inverse = 1.0 / null[j][pivot];
        for c in &mut null[j] {
            *c *= inverse;
        }
        let own = null[j].clone();
        for (r, other) in null.iter_mut().enumerate() {
            let factor = other[pivot];
            if r != j && factor != 0.0 {
                for (c, o) in other.iter_mut().zip(&own) {
                    *c -= factor * o;
                }
                other[pivot] = 0.0;
            }
        }
        lost.push(pivot);
    }
    let before = equations.to_vec();
    let mut combinations = Vec::new();
    for (j, &at) in lost.iter().enumerate() {
        let most = (0..m).fold(0.0_f64, |most, k| most.max((null[j][k] * scale[k]).abs()));
        let mut sum = Polynomial::default();
        let mut list = Vec::new();
        for k in 0..m {
            let c = null[j][k];
            if (c * scale[k]).abs() > 1e-10 * most {
                list.push((k, c));
                for (monomial, a) in before[k].terms() {
                    sum.add_term(monomial.clone(), c * a);
                }
            }
        }
        let size = list.iter().fold(0.0, |s: f64, (k, c)| s.max(c.abs() * largest(&before[*k])));
        equations[at] =
            without(&sum, |degree, c| c <= DUST * size || degree <= 1 && c <= EPSILON * size);
        combinations.push(list);
    }
    Some(combinations)
}

/// Steps 2 and 3 for one equation; `slope` of the chart has no meaning.
fn divide(g: &Polynomial, chart: usize, slope: &[f64]) -> Polynomial {
    let degree = |m: &[(usize, u32)]| m.iter().map(|(_, k)| *k).sum::<u32>();
    let power = g.terms().map(|(m, _)| degree(m)).min().unwrap_or(0);
    let size = largest(g);
    let mut out = Polynomial::default();
    for (monomial, c) in g.terms() {
        let mut product = Polynomial::constant(c);
        let mut of_chart = degree(monomial) - power;
        for &(i, k) in monomial.iter().filter(|(i, _)| *i != chart) {
            let factor = &Polynomial::variable(i) + &Polynomial::constant(slope[i]);
            product = &product * &factor.power(k);
        }
        if of_chart > 0 {
            let mut x0 = Polynomial::default();
            x0.add_term(vec![(chart, std::mem::take(&mut of_chart))], 1.0);
            product = &product * &x0;
        }
        for (monomial, c) in product.terms() {
            out.add_term(monomial.clone(), c);
        }
    }
    without(&out, |_, c| c <= DUST * size)
}

/// The slopes of a curve at the origin: Newton's iteration for the divided equations at x_0 = 0, from a guess.
fn polish(equations: &[Polynomial], chart: usize, slope: &mut [f64]) -> Option<()> {
    let n = slope.len();
    // At x_0 = 0 with slopes in place of the other coordinates: only the terms of lowest degree stay.
    let degree = |m: &[(usize, u32)]| m.iter().map(|(_, k)| *k).sum::<u32>();
    let lowest: Vec<Polynomial> = equations
        .iter()
        .map(|g| {
            let power = g.terms().map(|(m, _)| degree(m)).min().unwrap_or(0);
            let mut out = Polynomial::default();
            for (monomial, c) in g.terms().filter(|(m, _)| degree(m) == power) {
                out.add_term(monomial.clone(), c);
            }
            out
        })
        .collect();
    let mut x = slope.to_vec();
    x[chart] = 1.0;
    for _ in 0..80 {
        let all = jacobian(&lowest, &x);
        let a = all.remove_column(chart);
        let step = least_squares(a, &-values(&lowest, &x), 1e-11)?;
        for (j, i) in (0..n).filter(|i| *i != chart).enumerate() {
            x[i] += step[j];
        }
        if step.norm() < 1e-15 * (1.0 + x.iter().map(|x| x * x).sum::<f64>().sqrt()) {
            break;
        }
    }
    // Far away is another curve: the samples know better.
    let moved = x.iter().zip(slope.iter()).enumerate().filter(|(i, _)| *i != chart);
    if moved.map(|(_, (a, b))| (a - b).abs()).fold(0.0, f64::max) < 0.25 {
        slope.copy_from_slice(&x);
    }
    slope[chart] = 0.0;
    slope.iter().all(|s| s.is_finite()).then_some(())
}

impl Curve {
    /// The blow-up of `place` along the curve on which `samples` lie, the nearest last. (n − 1 equations)
    pub fn new(
        g: &[Polynomial],
        place: &[f64],
        samples: &[Vec<f64>],
        weights: &[f64],
    ) -> Result<Self, NoCurve> {
        let n = place.len();
        let mut equations: Vec<Polynomial> = g
            .iter()
            .map(|g| {
                let local = shifted(g, place);
                let size = largest(&local);
                without(&local, |degree, c| c <= DUST * size || degree == 0 && c <= EPSILON * size)
            })
            .collect();
        let mut points: Vec<Vec<f64>> =
            samples.iter().map(|x| x.iter().zip(place).map(|(x, a)| x - a).collect()).collect();
        let mut rounds = Vec::new();
        loop {
            let combined = combine(&mut equations, n).ok_or(NoCurve::Degenerate)?;
            if combined.is_empty() {
                break;
            }
            if rounds.len() == MAX_ROUNDS || equations.iter().any(|g| g.terms().next().is_none()) {
                return Err(NoCurve::Rounds);
            }
            let [.., before, last] = &points[..] else { return Err(NoCurve::Degenerate) };
            let chart = (0..n)
                .max_by(|a, b| last[*a].abs().total_cmp(&last[*b].abs()))
                .ok_or(NoCurve::Degenerate)?;
            // Slopes of the two nearest samples, carried on to x_0 = 0.
            let mut slope: Vec<f64> = (0..n)
                .map(|i| {
                    let (near, far) = (last[i] / last[chart], before[i] / before[chart]);
                    let there = last[chart] / (before[chart] - last[chart]);
                    near + (near - far) * there
                })
                .collect();
            if slope.iter().any(|s| !s.is_finite()) {
                return Err(NoCurve::Degenerate);
            }
            polish(&equations, chart, &mut slope).ok_or(NoCurve::Degenerate)?;
            let divided: Vec<Polynomial> = equations
                .iter()
                .map(|g| {
                    let g = divide(g, chart, &slope);
                    let size = largest(&g);
                    without(&g, |degree, c| degree == 0 && c <= EPSILON * size)
                })
                .collect();
            for x in &mut points {
                let x_0 = x[chart];
                for i in (0..n).filter(|i| *i != chart) {
                    x[i] = x[i] / x_0 - slope[i];
                }
            }
            equations = divided;
            rounds.push(Round { chart, slope, combinations: combined });
        }
        let mut curve = Curve {
            place: place.to_vec(),
            rounds,
            equations,
            z: vec![0.0; n],
            tangent: vec![],
            factors: None,
        };
        // The direction in the position itself: along the samples.
        let last = samples.last().ok_or(NoCurve::Degenerate)?;
        let way: Vec<f64> = last.iter().zip(place).map(|(a, b)| a - b).collect();
        let a = jacobian(&curve.equations, &curve.z);
        let tangent = null_vector(&a).ok_or(NoCurve::Degenerate)?;
        let zero = vec![0.0; n];
        let (_, tau, _) = curve.outward(&curve.z, tangent.as_slice(), &zero);
        let size = tau.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        if size < TURNS {
            return Err(NoCurve::Turns);
        }
        let along: f64 = (0..n).map(|i| weights[i] * tau[i] * way[i]).sum();
        let sign = if along < 0.0 { -1.0 } else { 1.0 };
        curve.tangent = tau.iter().map(|x| sign * x).collect();
        // Begin at the nearest sample.
        curve.begin(last);
        curve.find(last, weights).ok_or(NoCurve::Degenerate)?;
        Ok(curve)
    }

    /// Begins anew at a point of the curve that is not the singular one.
    pub(crate) fn begin(&mut self, x: &[f64]) {
        let mut z: Vec<f64> = x.iter().zip(&self.place).map(|(a, b)| a - b).collect();
        for round in &self.rounds {
            let x_0 = z[round.chart];
            for i in (0..z.len()).filter(|i| *i != round.chart) {
                z[i] = z[i] / x_0 - round.slope[i];
            }
        }
        self.z = z;
    }

    /// The coordinate of the first round that is zero in the position and passes it; none without rounds.
    pub fn passing(&self) -> Option<usize> {
        self.rounds.first().map(|round| round.chart)
    }

    /// p, p′ and p″ from z, z′ and z″.
    fn outward(&self, z: &[f64], d1: &[f64], d2: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let (mut z, mut d1, mut d2) = (z.to_vec(), d1.to_vec(), d2.to_vec());
        for round in self.rounds.iter().rev() {
            let c = round.chart;
            for i in (0..z.len()).filter(|i| *i != c) {
                let ratio = round.slope[i] + z[i];
                d2[i] = d2[c] * ratio + 2.0 * d1[c] * d1[i] + z[c] * d2[i];
                d1[i] = d1[c] * ratio + z[c] * d1[i];
                z[i] = z[c] * ratio;
            }
        }
        for (z, a) in z.iter_mut().zip(&self.place) {
            *z += a;
        }
        (z, d1, d2)
    }

    /// yᵀ ∂p/∂z.
    fn inward(&self, z: &[f64], y: &[f64]) -> Vec<f64> {
        // z of every round, the first last.
        let mut levels = vec![z.to_vec()];
        for round in self.rounds.iter().rev().take(self.rounds.len().saturating_sub(1)) {
            let mut x = levels[levels.len() - 1].clone();
            let c = round.chart;
            for i in (0..x.len()).filter(|i| *i != c) {
                x[i] = x[c] * (round.slope[i] + x[i]);
            }
            levels.push(x);
        }
        let mut y = y.to_vec();
        for (round, z) in self.rounds.iter().zip(levels.iter().rev()) {
            let c = round.chart;
            for i in (0..y.len()).filter(|i| *i != c) {
                y[c] += y[i] * (round.slope[i] + z[i]);
                y[i] *= z[c];
            }
        }
        y
    }

    fn bordered(&self, z: &[f64], weights: &[f64]) -> LU<f64, Dyn, Dyn> {
        let n = z.len();
        let y: Vec<f64> = self.tangent.iter().zip(weights).map(|(t, w)| t * w).collect();
        let w = self.inward(z, &y);
        let mut a = jacobian(&self.equations, z).insert_row(n - 1, 0.0);
        for (i, w) in w.iter().enumerate() {
            a[(n - 1, i)] = *w;
        }
        a.lu()
    }

    /// Takes τ as the tangent, scaled so that it stays of one size.
    fn face(&mut self, tau: &[f64]) -> Option<()> {
        let size = tau.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        self.tangent = tau.iter().map(|x| x / size).collect();
        self.tangent.iter().all(|x| x.is_finite()).then_some(())
    }

    /// The point of the curve nearest to `target` in the norm of `weights`, sought from where it was last.
    pub fn find(&mut self, target: &[f64], weights: &[f64]) -> Option<CurvePoint> {
        let n = target.len();
        let mut z = self.z.clone();
        let zero = vec![0.0; n];
        let mut before = f64::INFINITY;
        // The matrix, and how far z has gone since it was made.
        let mut factors: Option<(LU<f64, Dyn, Dyn>, f64)> = None;
        for _ in 0..25 {
            // The foot of the perpendicular to the tangent there, not to one of before: a motion must not depend on what was asked last.
            let (lu, gone) = match factors.take() {
                Some((lu, gone)) if gone < 1e-9 => (lu, gone),
                _ => {
                    let lu = self.bordered(&z, weights);
                    let mut d1 = DVector::zeros(n);
                    d1[n - 1] = 1.0;
                    if !lu.solve_mut(&mut d1) {
                        return None;
                    }
                    let (_, tau, _) = self.outward(&z, d1.as_slice(), &zero);
                    self.face(&tau)?;
                    (lu, 0.0)
                }
            };
            let (p, _, _) = self.outward(&z, &zero, &zero);
            let mut right = (-values(&self.equations, &z)).insert_row(n - 1, 0.0);
            right[n - 1] = (0..n).map(|i| weights[i] * self.tangent[i] * (target[i] - p[i])).sum();
            if !lu.solve_mut(&mut right) {
                return None;
            }
            let step = right.amax();
            if !step.is_finite() {
                return None;
            }
            for (z, d) in z.iter_mut().zip(right.iter()) {
                *z += d;
            }
            factors = Some((lu, gone + step));
            if step <= 2e-15 || step < 1e-12 && step >= 0.25 * before {
                break;
            }
            before = step;
        }
        let factors = match factors {
            Some((lu, gone)) if gone < 1e-13 => lu,
            _ => self.bordered(&z, weights),
        };
        let mut d1 = DVector::zeros(n);
        d1[n - 1] = 1.0;
        let solved = factors.solve_mut(&mut d1);
        let bend = self.equations.iter().map(|g| -g.second(&z, d1.as_slice(), d1.as_slice()));
        let mut d2 = DVector::from_iterator(n - 1, bend).insert_row(n - 1, 0.0);
        if !solved || !factors.solve_mut(&mut d2) {
            return None;
        }
        let (p, tau, kappa) = self.outward(&z, d1.as_slice(), d2.as_slice());
        if p.iter().chain(&tau).chain(&kappa).any(|x| !x.is_finite()) {
            return None;
        }
        let before = std::mem::take(&mut self.tangent);
        self.face(&tau)?;
        self.factors = Some(Factors { tangent: before, lu: factors });
        self.z = z;
        Some(CurvePoint { p, tau, kappa })
    }

    /// A point of the curve near `target`, which is near the last one found: with the matrix of that, so that τ is a little off, κ is zero, and the point
    /// is not quite the nearest.
    pub fn near(&mut self, target: &[f64], weights: &[f64]) -> Option<CurvePoint> {
        let Some(factors) = self.factors.take() else { return self.find(target, weights) };
        let found = self.chord(&factors, target, weights);
        self.factors = Some(factors);
        let Some((z, point)) = found else { return self.find(target, weights) };
        self.z = z;
        Some(point)
    }

    fn chord(
        &self,
        factors: &Factors,
        target: &[f64],
        weights: &[f64],
    ) -> Option<(Vec<f64>, CurvePoint)> {
        let Factors { tangent, lu } = factors;
        let n = target.len();
        let (mut z, zero) = (self.z.clone(), vec![0.0; n]);
        let mut before = f64::INFINITY;
        for _ in 0..40 {
            let (p, _, _) = self.outward(&z, &zero, &zero);
            let mut right = (-values(&self.equations, &z)).insert_row(n - 1, 0.0);
            right[n - 1] = (0..n).map(|i| weights[i] * tangent[i] * (target[i] - p[i])).sum();
            if !lu.solve_mut(&mut right) {
                return None;
            }
            let step = right.amax();
            for (z, d) in z.iter_mut().zip(right.iter()) {
                *z += d;
            }
            if step <= 2e-15 || step < 1e-12 && step >= 0.25 * before {
                let mut d1 = DVector::zeros(n);
                d1[n - 1] = 1.0;
                lu.solve_mut(&mut d1);
                let (p, tau, _) = self.outward(&z, d1.as_slice(), &zero);
                return Some((z, CurvePoint { p, tau, kappa: zero }));
            }
            // Too far from where the matrix was made, or not a number.
            if step.is_nan() || step > 0.3 * before {
                return None;
            }
            before = step;
        }
        None
    }
}

/// A unit vector v with A v = 0, A of n − 1 rows.
pub(crate) fn null_vector(a: &DMatrix<f64>) -> Option<DVector<f64>> {
    let n = a.ncols();
    // The smallest eigenvector of AᵀA, by inverse iteration on a bordered matrix that is regular.
    let mut border: DVector<f64> = DVector::from_element(n, 1.0 / (n as f64).sqrt());
    for round in 0..6 {
        let mut b = a.clone().insert_row(a.nrows(), 0.0);
        for i in 0..n {
            b[(n - 1, i)] = border[i];
        }
        let mut v = DVector::zeros(n);
        v[n - 1] = 1.0;
        if !b.lu().solve_mut(&mut v) || v.iter().any(|x| !x.is_finite()) {
            // An unlucky border: another.
            border = DVector::from_fn(n, |i, _| ((i * (round + 2)) % 7) as f64 - 2.5).normalize();
            continue;
        }
        let v = v.normalize();
        if (&v - &border).norm().min((&v + &border).norm()) < 0.5 {
            return Some(v);
        }
        border = v;
    }
    Some(border)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]
mod tests {
    use super::*;

    fn x(i: usize) -> Polynomial {
        Polynomial::variable(i)
    }

    /// y² = x² (1 − x²): through the origin along y = x, with κ = p″ = −3 x of y at s = x.
    #[test]
    fn lying_eight() {
        let (xx, yy) = (x(0).power(2), x(1).power(2));
        let g = &yy - &(&xx - &xx.power(2));
        let at = |x: f64| vec![x, x * (1.0 - x * x).sqrt()];
        let samples = [at(0.2), at(0.1), at(0.05)];
        let mut curve = Curve::new(&[g], &[0.0, 0.0], &samples, &[1.0, 1.0]).unwrap();
        assert_eq!(curve.rounds.len(), 1);
        for k in 0..=20 {
            let s = 0.05 - 0.01 * f64::from(k);
            let found = curve.find(&at(s), &[1.0, 1.0]).unwrap();
            for i in 0..2 {
                assert!((found.p[i] - at(s)[i]).abs() < 1e-15, "{s} {found:?}");
            }
            // y′ = (1 − 2 x²)/√(1 − x²); y″ = (2 x³ − 3 x)/(1 − x²)^(3/2), by hand.
            let w = 1.0 - s * s;
            let slope = (1.0 - 2.0 * s * s) / w.sqrt();
            let bend = (2.0 * s * s * s - 3.0 * s) / w.powf(1.5);
            let [a, b] = [found.tau[0], found.tau[1]];
            assert!((b / a - slope).abs() < 1e-13, "{s} {found:?}");
            // Of a curve (x(s), y(s)): y″ as a function of x is (b' a − b a')/a³.
            let [a1, b1] = [found.kappa[0], found.kappa[1]];
            assert!(((b1 * a - b * a1) / a.powi(3) - bend).abs() < 1e-12, "{s} {found:?}");
        }
    }

    /// (y − x²)(y − x² − x³) = 0: two parabolas that touch to second order need more than one round.
    #[test]
    fn touching_curves() {
        let xx = x(0).power(2);
        let first = &x(1) - &xx;
        let g = &first * &(&first - &x(0).power(3));
        let at = |x: f64| vec![x, x * x + x * x * x];
        let samples = [at(0.08), at(0.04), at(0.02)];
        let mut curve = Curve::new(&[g], &[0.0, 0.0], &samples, &[1.0, 1.0]).unwrap();
        assert!(curve.rounds.len() > 1);
        for k in 0..=10 {
            let s = 0.02 - 0.01 * f64::from(k);
            let found = curve.find(&at(s), &[1.0, 1.0]).unwrap();
            // A double root is known to the root of the rounding only: slopes to 1e-8, here times x².
            assert!((found.p[1] - at(found.p[0])[1]).abs() < 1e-10, "{s} {found:?}");
        }
    }

    /// y² = x³ has full rank after one round, but its direction turns back in the origin.
    #[test]
    fn cusp_turns() {
        let g = &x(1).power(2) - &x(0).power(3);
        let at = |x: f64| vec![x, x.powf(1.5)];
        let found = Curve::new(&[g], &[0.0, 0.0], &[at(0.01), at(0.005), at(0.002)], &[1.0, 1.0]);
        assert_eq!(found.unwrap_err(), NoCurve::Turns);
    }
}
