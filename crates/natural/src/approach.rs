//! Loops that may lose rank, and the singular position ahead of one.
//!
//! A loop is a set of bodies that lie on common cycles (or under equations), its conditions polynomials. With one degree of freedom its
//! positions form curves, so that where the motion goes is known without forces: it is followed ahead on the conditions alone.

use gelenk_model::graph::Graph;
use gelenk_model::{Model, RowKind, State};
use nalgebra::{DMatrix, DVector};

use crate::blow::{Curve, NoCurve, jacobian, least_squares, null_vector, values};
use crate::constraints::{Condition, conditions};
use crate::layout::Layout;
use crate::polynomial::Polynomial;

/// Coordinates beyond which a loop is not blown up: its dense algebra would take too long.
const MOST_COORDINATES: usize = 600;

/// A row that is no more than this part outside of the span of earlier ones is redundant.
const DEPENDENT: f64 = 1e-7;

/// A loop of the model.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Bodies, indices of the model.
    pub bodies: Vec<usize>,
    /// Its natural coordinates among all, those that a condition names. (n)
    pub variables: Vec<usize>,
    /// Names of these. (n)
    pub names: Vec<String>,
    /// Row blocks whose conditions it holds.
    pub blocks: Vec<usize>,
    /// The conditions, over the loop's coordinates. (m)
    pub conditions: Vec<Condition>,
    /// The diagonal of M. (n)
    pub mass: Vec<f64>,
}

/// A singular position ahead, blown up.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// The curve through it; or why there is none.
    pub curve: Result<Curve, NoCurve>,
    /// The singular position, over the loop's coordinates. (n)
    pub place: Vec<f64>,
    /// How far it is from here along the curve, in the norm of all coordinates alike.
    pub distance: f64,
    /// The speed on the curve in the same norm.
    pub speed: f64,
    /// How many ranks are lost.
    pub lost: usize,
    /// Which of the loop's conditions are independent, by index: those that were blown up. (n − 1)
    pub kept: Vec<usize>,
    /// The order with which the largest minor vanishes along the curve.
    pub order: u32,
}

/// What a look ahead tells.
#[derive(Clone, Debug)]
pub enum Sight {
    /// The loop has not one degree of freedom here, or too many coordinates.
    Blind,
    /// No loss of rank ahead; worth another look after this way.
    Clear(f64),
    /// There is one.
    Found(Box<Ahead>),
}

/// The loops of a model in which the blocks with `out` hold nothing.
pub fn loops(model: &Model, state: &State, out: &[bool]) -> Vec<Loop> {
    let graph = Graph::new(model);
    let mut sets: Vec<(Vec<usize>, Vec<usize>)> =
        graph.clusters.iter().map(|c| (c.bodies.clone(), c.blocks.clone())).collect();
    // An equation may lose rank on its own.
    for (k, block) in model.rows.iter().enumerate() {
        let alone = !sets.iter().any(|(_, blocks)| blocks.contains(&k));
        if alone && matches!(block.kind, RowKind::Equation(_)) {
            let bodies = block.bodies.iter().map(|b| b.index());
            sets.push((bodies.filter(|b| !model.bodies[*b].fixed).collect(), vec![k]));
        }
    }
    if sets.is_empty() {
        return Vec::new();
    }
    let all = conditions(model, state);
    let layout = Layout::new(model);
    let masses = layout.mass(model);
    sets.into_iter()
        .filter_map(|(bodies, blocks)| {
            let blocks: Vec<usize> = blocks
                .into_iter()
                .filter(|k| !out[*k] && !all.left_out.iter().any(|(left, _)| left == k))
                .collect();
            let places: Vec<_> = bodies
                .iter()
                .filter_map(|b| layout.of_body[*b].map(|k| layout.places[k]))
                .collect();
            let own = |i: usize| places.iter().any(|p| (p.first..p.first + p.len()).contains(&i));
            let list: Vec<&Condition> = all
                .list
                .iter()
                .filter(|c| match c.block {
                    Some(block) => blocks.contains(&block),
                    // Of a rigid body: all its coordinates are its own.
                    None => c.g.terms().flat_map(|(m, _)| m).all(|(i, _)| own(*i)),
                })
                .collect();
            let mut variables: Vec<usize> =
                list.iter().flat_map(|c| c.g.terms()).flat_map(|(m, _)| m).map(|x| x.0).collect();
            variables.sort_unstable();
            variables.dedup();
            if variables.len() > MOST_COORDINATES || !variables.iter().all(|i| own(*i)) {
                return None;
            }
            let local = |g: &Polynomial| {
                let mut out = Polynomial::default();
                for (monomial, c) in g.terms() {
                    let place = |i: usize| variables.binary_search(&i).unwrap_or(0);
                    out.add_term(monomial.iter().map(|&(i, k)| (place(i), k)).collect(), c);
                }
                out
            };
            let conditions =
                list.iter().map(|c| Condition { g: local(&c.g), ..(*c).clone() }).collect();
            Some(Loop {
                names: variables.iter().map(|i| all.variables[*i].clone()).collect(),
                mass: variables.iter().map(|i| masses[*i]).collect(),
                bodies,
                variables,
                blocks,
                conditions,
            })
        })
        .collect()
}

/// Rows that are independent of earlier ones, by Gram and Schmidt.
pub(crate) fn independent(g: &DMatrix<f64>) -> Vec<usize> {
    let mut basis: Vec<DVector<f64>> = Vec::new();
    let mut kept = Vec::new();
    for k in 0..g.nrows() {
        let row: DVector<f64> = g.row(k).transpose();
        let size = row.norm();
        if size == 0.0 {
            continue;
        }
        let mut rest = row / size;
        for _ in 0..2 {
            for b in &basis {
                let along = b.dot(&rest);
                rest.axpy(-along, b, 1.0);
            }
        }
        let left = rest.norm();
        if left > DEPENDENT {
            basis.push(rest / left);
            kept.push(k);
        }
    }
    kept
}

/// The smallest singular value of G, by inverse iteration on G Gᵀ; 0 where that is not positive.
fn least_singular(g: &DMatrix<f64>) -> f64 {
    let Some(factor) = (g * g.transpose()).cholesky() else { return 0.0 };
    let m = g.nrows();
    let mut x = DVector::from_fn(m, |i, _| 1.0 + 0.1 * ((i % 5) as f64));
    let mut value = 0.0;
    for _ in 0..12 {
        x.normalize_mut();
        factor.solve_mut(&mut x);
        value = x.norm();
    }
    if value.is_finite() && value > 0.0 { 1.0 / value.sqrt() } else { 0.0 }
}

impl Loop {
    /// The rank of all conditions at a place, redundant ones included.
    pub fn rank(&self, x: &[f64]) -> usize {
        let equations: Vec<Polynomial> = self.conditions.iter().map(|c| c.g.clone()).collect();
        let sizes = jacobian(&equations, x).singular_values();
        let least = DEPENDENT * sizes.max();
        sizes.iter().filter(|size| **size > least).count()
    }

    /// Its coordinates out of all.
    pub fn pick(&self, p: &[f64]) -> Vec<f64> {
        self.variables.iter().map(|i| p[*i]).collect()
    }

    /// Follows the curve from x in the direction of v to a loss of rank, not further than `reach` times the speed.
    pub fn look(&self, x: &[f64], v: &[f64], reach: f64) -> Sight {
        let n = x.len();
        let all: Vec<Polynomial> = self.conditions.iter().map(|c| c.g.clone()).collect();
        let kept = independent(&jacobian(&all, x));
        if kept.len() + 1 != n || n < 2 {
            return Sight::Blind;
        }
        let g: Vec<Polynomial> = kept.iter().map(|k| all[*k].clone()).collect();
        let speed = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let limit = reach * speed;
        let g0 = jacobian(&g, x);
        let Some(mut tau) = null_vector(&g0) else { return Sight::Blind };
        if tau.iter().zip(v).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
            tau = -tau;
        }
        let mut sigma = least_singular(&g0);
        let small = 1e-4 * limit.max(1e-6);
        let Some((near, _)) = march(&g, x, &tau, small) else { return Sight::Blind };
        let falling = (sigma - least_singular(&jacobian(&g, &near))) / small;
        if falling <= 0.0 || sigma / falling > limit {
            let ahead = if falling > 0.0 { sigma / falling } else { limit };
            return Sight::Clear(ahead / speed);
        }
        let start = (x.to_vec(), sigma);
        let mut samples = vec![x.to_vec()];
        let mut left = sigma / falling;
        let first = left;
        let mut here = x.to_vec();
        for _ in 0..12 {
            let step = 0.5 * left;
            let Some((next, direction)) = march(&g, &here, &tau, step) else {
                return Sight::Clear(0.1 * first / speed);
            };
            let value = least_singular(&jacobian(&g, &next));
            let falling = (sigma - value) / step;
            if falling <= 0.0 || value > 0.95 * sigma {
                return Sight::Clear(left / speed);
            }
            (here, tau, sigma) = (next, direction, value);
            samples.push(here.clone());
            left = (sigma / falling).min(left);
            if left < 0.02 * first || sigma < 0.01 * start.1 {
                break;
            }
        }
        let guess: Vec<f64> = here.iter().zip(tau.iter()).map(|(x, t)| x + left * t).collect();
        let Some((place, lost)) = singular_place(&g, &guess, &jacobian(&g, x)) else {
            return Sight::Clear(0.25 * first / speed);
        };
        let gap = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
        };
        if gap(&place, &guess) > 1.5 * gap(&guess, &here) {
            return Sight::Clear(0.25 * first / speed);
        }
        let curve = Curve::new(&g, &place, &samples, &self.mass);
        // Conditions that were left out as redundant must hold on the far side as well.
        let curve = curve.and_then(|mut curve| {
            let beyond: Vec<f64> = place.iter().zip(&here).map(|(a, b)| 2.0 * a - b).collect();
            for target in [x, &place, &beyond] {
                let found = curve.find(target, &self.mass).ok_or(NoCurve::Degenerate)?;
                if values(&all, &found.p).amax() > 1e-7 {
                    return Err(NoCurve::Degenerate);
                }
            }
            curve.find(x, &self.mass).ok_or(NoCurve::Degenerate)?;
            Ok(curve)
        });
        let order = order(&g, &place, &samples, lost);
        let distance = gap(&place, x);
        let ahead = Ahead { curve, place, distance, speed, lost, kept, order };
        Sight::Found(Box::new(ahead))
    }
}

/// The order with which the product of the vanishing singular values, and so the largest minor, falls towards the position.
fn order(g: &[Polynomial], place: &[f64], samples: &[Vec<f64>], lost: usize) -> u32 {
    let [.., a, b] = samples else { return 0 };
    let product = |x: &[f64]| {
        let mut s: Vec<f64> = jacobian(g, x).singular_values().iter().copied().collect();
        s.sort_by(f64::total_cmp);
        s.iter().take(lost).map(|s| s.max(1e-300).ln()).sum::<f64>()
    };
    let way =
        |x: &[f64]| x.iter().zip(place).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt().ln();
    let slope = (product(a) - product(b)) / (way(a) - way(b));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, above 0")]
    let order = slope.round().clamp(0.0, 1000.0) as u32;
    order
}

/// A step along the curve g = 0 from x; the point and the tangent there.
fn march(
    g: &[Polynomial],
    x: &[f64],
    tau: &DVector<f64>,
    step: f64,
) -> Option<(Vec<f64>, DVector<f64>)> {
    let n = x.len();
    let mut next: Vec<f64> = x.iter().zip(tau.iter()).map(|(x, t)| x + step * t).collect();
    for _ in 0..12 {
        let mut a = jacobian(g, &next).insert_row(n - 1, 0.0);
        for i in 0..n {
            a[(n - 1, i)] = tau[i];
        }
        let mut right = (-values(g, &next)).insert_row(n - 1, 0.0);
        if !a.lu().solve_mut(&mut right) {
            return None;
        }
        let size = right.amax();
        for (x, d) in next.iter_mut().zip(right.iter()) {
            *x += d;
        }
        // Steps across the way that are as long as it lead to another curve.
        if !size.is_finite() || size > 0.5 * step {
            return None;
        }
        if size < 1e-14 {
            break;
        }
    }
    let mut direction = null_vector(&jacobian(g, &next))?;
    if direction.dot(tau) < 0.0 {
        direction = -direction;
    }
    Some((next, direction))
}

/// The singular position near a guess and how many ranks are lost there; `far` is G at a place away from it.
///
/// With U₀ the left and T the right vectors of the vanishing singular values (T with the tangent as well), Newton's iteration for
/// g = 0 across T and U₀ᵀ G T = 0 along T.
fn singular_place(
    g: &[Polynomial],
    guess: &[f64],
    far: &DMatrix<f64>,
) -> Option<(Vec<f64>, usize)> {
    let (m, n) = (g.len(), guess.len());
    let mut before: Vec<f64> = far.clone().singular_values().iter().copied().collect();
    before.sort_by(f64::total_cmp);
    let mut now: Vec<f64> = jacobian(g, guess).singular_values().iter().copied().collect();
    now.sort_by(f64::total_cmp);
    let lost = now.iter().zip(&before).take_while(|(now, before)| **now < 0.25 * **before).count();
    if lost == 0 {
        return None;
    }
    let mut x = guess.to_vec();
    let size = 1.0 + x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for _ in 0..80 {
        let a = jacobian(g, &x);
        let svd = a.clone().try_svd(true, true, f64::EPSILON, 1000)?;
        let (u, v_t, s) = (svd.u?, svd.v_t?, svd.singular_values);
        let mut order: Vec<usize> = (0..m).collect();
        order.sort_by(|a, b| s[*a].total_cmp(&s[*b]));
        let (small, large) = order.split_at(lost);
        let r = values(g, &x);
        let mut step = DVector::zeros(n);
        for &j in large {
            let along = u.column(j).dot(&r) / s[j];
            step.axpy(-along, &v_t.row(j).transpose(), 1.0);
        }
        // T: right vectors of the small values and what no row sees.
        let mut t: Vec<DVector<f64>> = small.iter().map(|j| v_t.row(*j).transpose()).collect();
        t.push(unseen(&v_t, n)?);
        let d = t.len();
        let mut left = DMatrix::zeros(lost * d, d);
        let mut right = DVector::zeros(lost * d);
        for (jj, &j) in small.iter().enumerate() {
            // h T and h δ with h = Σ u_k ∂²g_k.
            let mut h_t = vec![DVector::<f64>::zeros(n); d];
            let mut h_step = DVector::<f64>::zeros(n);
            for (k, g) in g.iter().enumerate() {
                let c = u[(k, j)];
                if c.abs() < 1e-15 {
                    continue;
                }
                g.each_second(&x, |a, b, h| {
                    for (out, t) in h_t.iter_mut().zip(&t) {
                        out[a] += c * h * t[b];
                    }
                    h_step[a] += c * h * step[b];
                });
            }
            let slope = a.tr_mul(&u.column(j));
            for (b, t_b) in t.iter().enumerate() {
                for (c, h) in h_t.iter().enumerate() {
                    left[(jj * d + b, c)] = h.dot(t_b);
                }
                right[jj * d + b] = -(slope.dot(t_b) + h_step.dot(t_b));
            }
        }
        let q = least_squares(left, &right, 1e-11)?;
        for (q, t) in q.iter().zip(&t) {
            step.axpy(*q, t, 1.0);
        }
        for (x, d) in x.iter_mut().zip(step.iter()) {
            *x += d;
        }
        let moved = step.norm();
        if !moved.is_finite() || moved > size {
            return None;
        }
        if moved < 1e-15 * size {
            break;
        }
    }
    let mut s: Vec<f64> = jacobian(g, &x).singular_values().iter().copied().collect();
    s.sort_by(f64::total_cmp);
    let most = s.last().copied().unwrap_or(0.0).max(before.last().copied().unwrap_or(0.0));
    let open = values(g, &x).amax();
    (open < 1e-9 && s[lost - 1] < 1e-7 * most).then_some((x, lost))
}

/// The unit vector orthogonal to n − 1 orthonormal rows.
fn unseen(rows: &DMatrix<f64>, n: usize) -> Option<DVector<f64>> {
    let mut best: Option<DVector<f64>> = None;
    for i in 0..n {
        let mut e = DVector::zeros(n);
        e[i] = 1.0;
        for _ in 0..2 {
            let along = rows * &e;
            e -= rows.tr_mul(&along);
        }
        if best.as_ref().is_none_or(|b| e.norm() > b.norm()) {
            best = Some(e);
        }
    }
    best.filter(|b| b.norm() > 1e-8).map(|b| b.normalize())
}
