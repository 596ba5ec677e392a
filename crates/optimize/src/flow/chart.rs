//! Charts of nodes: numbers for the places of the manifold g(p) = 0, G(p) v = 0 near a reference.

use super::dense::{Lu, axpy, dot, mirror};
use super::mechanism::Mechanism;
use super::sparse::add_quadratic;

const MAX_ITERATIONS: usize = 30;

/// A chart around (p̄, v̄): with N an M-orthonormal basis of the directions that Ḡ = G(p̄) allows,
/// ```text
/// ξ = (Nᵀ M (p − p̄), Nᵀ M (v − v̄))
/// p = p̄ + N ξ_p + M⁻¹ Ḡᵀ κ with g(p) = 0,   v = v̄ + N ξ_v + M⁻¹ Ḡᵀ κ̇ with G(p) v = 0
/// ```
/// ξ is linear in (p, v), so that conditions of continuity are; the way back is the initial projection of \[Laufen\] chapter I,
/// along fixed normals.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// (p̄, v̄). (2 n)
    pub(crate) reference: Vec<f64>,
    /// N, a row a direction. (free, n)
    basis: Vec<f64>,
    /// M⁻¹ Ḡᵀ, a row a constraint. (m, n)
    normals: Vec<f64>,
    /// Ḡ M⁻¹ Ḡᵀ. (m, m)
    metric: Vec<f64>,
}

/// How much larger than at the reference corrections along the normals may be: a rod turned by θ needs 1/cos θ.
const STRETCH: f64 = 4.0;

/// A place with its derivatives by ξ.
pub(crate) struct Placed {
    /// (p, v). (2 n)
    pub(crate) y: Vec<f64>,
    /// ∂(p, v)/∂ξ. (2 n, 2 free)
    pub(crate) jac: Vec<f64>,
    /// W = G(p) M⁻¹ Ḡᵀ.
    lu: Lu,
}

/// g, G and related numbers of a mechanism at a place.
fn gradient(mechanism: &Mechanism, p: &[f64]) -> Vec<f64> {
    let (n, m) = (mechanism.n, mechanism.m);
    let values = mechanism.gradient.tape.values(p);
    let mut g = vec![0.0; m * n];
    for (&(i, j), value) in mechanism.gradient.entries.iter().zip(values) {
        g[i * n + j] = value;
    }
    g
}

/// What is left of x without its parts along orthonormal vectors, and its length. Twice is enough for orthogonality to rounding.
fn reduce(x: &mut [f64], known: &[Vec<f64>]) -> f64 {
    for _ in 0..2 {
        for other in known {
            let along = dot(other, x);
            axpy(-along, other, x);
        }
    }
    dot(x, x).sqrt()
}

/// An orthonormal basis of the rows of G M^(−1/2): directions √M δp that the constraints do not allow. A constraint that depends on
/// others is named.
fn normals(mechanism: &Mechanism, g: &[f64], root: &[f64]) -> Result<Vec<Vec<f64>>, String> {
    let (n, m) = (mechanism.n, mechanism.m);
    let mut known: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..m {
        let mut x: Vec<f64> = (0..n).map(|j| g[i * n + j] / root[j]).collect();
        let before = dot(&x, &x).sqrt();
        let size = reduce(&mut x, &known);
        if !(size > 1e-9 * before) {
            return Err(format!(
                "constraint `{}` depends on others here",
                mechanism.constraint_names[i]
            ));
        }
        x.iter_mut().for_each(|x| *x /= size);
        known.push(x);
    }
    Ok(known)
}

/// Square roots of the masses.
fn roots(mechanism: &Mechanism) -> Vec<f64> {
    mechanism.mass.iter().map(|m| m.sqrt()).collect()
}

/// An M-orthonormal basis of the directions with G δp = 0: unit vectors, or those of an old basis, made orthogonal to the rows of G M⁻¹ and to each other.
fn tangents(mechanism: &Mechanism, g: &[f64], old: Option<&[f64]>) -> Result<Vec<f64>, String> {
    let (n, m) = (mechanism.n, mechanism.m);
    // Work with √M δp, in which the M-norm is the plain one.
    let root = roots(mechanism);
    let mut known = normals(mechanism, g, &root)?;
    let free = n - m;
    if let Some(old) = old {
        for row in old.chunks_exact(n) {
            let mut x: Vec<f64> = row.iter().zip(&root).map(|(x, r)| x * r).collect();
            let size = reduce(&mut x, &known);
            if !(size > 0.1) {
                // Turned too far; a new basis is better than a bad one.
                return tangents(mechanism, g, None);
            }
            x.iter_mut().for_each(|x| *x /= size);
            known.push(x);
        }
    } else {
        // The unit vector that has most left is taken each time.
        while known.len() < n {
            let mut best: (f64, Vec<f64>) = (0.0, Vec::new());
            for j in 0..n {
                let mut x = vec![0.0; n];
                x[j] = 1.0;
                let size = reduce(&mut x, &known);
                if size > best.0 + 1e-6 {
                    best = (size, x);
                }
            }
            let (size, mut x) = best;
            x.iter_mut().for_each(|x| *x /= size);
            known.push(x);
        }
    }
    let mut basis = Vec::with_capacity(free * n);
    for row in &known[m..] {
        basis.extend(row.iter().zip(&root).map(|(x, r)| x / r));
    }
    Ok(basis)
}

impl Chart {
    /// The chart around a place of the manifold; an old one's basis is kept as far as it can be.
    pub(crate) fn around(
        mechanism: &Mechanism,
        reference: &[f64],
        old: Option<&Chart>,
    ) -> Result<Self, String> {
        let g = gradient(mechanism, &reference[..mechanism.n]);
        let basis = tangents(mechanism, &g, old.map(|chart| &chart.basis[..]))?;
        Ok(Self::with_basis(mechanism, reference, &g, basis))
    }

    fn with_basis(mechanism: &Mechanism, reference: &[f64], g: &[f64], basis: Vec<f64>) -> Self {
        let n = mechanism.n;
        let mut normals = g.to_vec();
        for row in normals.chunks_exact_mut(n) {
            row.iter_mut().zip(&mechanism.mass).for_each(|(x, m)| *x /= m);
        }
        let mut metric = Vec::with_capacity(mechanism.m * mechanism.m);
        for row in g.chunks_exact(n) {
            metric.extend(normals.chunks_exact(n).map(|normal| dot(row, normal)));
        }
        Chart { reference: reference.to_vec(), basis, normals, metric }
    }

    /// Numbers of ξ.
    pub(crate) fn numbers(&self, mechanism: &Mechanism) -> usize {
        2 * (mechanism.n - mechanism.m)
    }

    /// ξ of a place.
    pub(crate) fn measure(&self, mechanism: &Mechanism, y: &[f64]) -> Vec<f64> {
        let n = mechanism.n;
        let mut xi = Vec::with_capacity(self.numbers(mechanism));
        for half in [0, n] {
            for row in self.basis.chunks_exact(n) {
                let along = |i: usize| {
                    row[i] * mechanism.mass[i] * (y[half + i] - self.reference[half + i])
                };
                xi.push((0..n).map(along).sum());
            }
        }
        xi
    }

    /// ∂ξ/∂y applied to k directions. (2 n, k) to (2 free, k)
    pub(crate) fn measure_directions(
        &self,
        mechanism: &Mechanism,
        dy: &[f64],
        k: usize,
    ) -> Vec<f64> {
        let n = mechanism.n;
        let mut out = vec![0.0; self.numbers(mechanism) * k];
        let free = n - mechanism.m;
        for half in 0..2 {
            for (r, row) in self.basis.chunks_exact(n).enumerate() {
                let out = &mut out[(half * free + r) * k..(half * free + r + 1) * k];
                for i in 0..n {
                    let from = &dy[(half * n + i) * k..(half * n + i + 1) * k];
                    axpy(row[i] * mechanism.mass[i], from, out);
                }
            }
        }
        out
    }

    /// Weights of ξ as weights of y. (2 free) to (2 n)
    pub(crate) fn pull(&self, mechanism: &Mechanism, weights: &[f64]) -> Vec<f64> {
        let (n, free) = (mechanism.n, mechanism.n - mechanism.m);
        let mut out = vec![0.0; 2 * n];
        for half in 0..2 {
            for (r, row) in self.basis.chunks_exact(n).enumerate() {
                for i in 0..n {
                    out[half * n + i] += weights[half * free + r] * row[i] * mechanism.mass[i];
                }
            }
        }
        out
    }

    /// The place of ξ.
    pub(crate) fn place(
        &self,
        mechanism: &Mechanism,
        xi: &[f64],
    ) -> Result<(Vec<f64>, Lu), String> {
        let (n, m) = (mechanism.n, mechanism.m);
        let free = n - m;
        let mut y = self.reference.clone();
        for half in 0..2 {
            for (r, row) in self.basis.chunks_exact(n).enumerate() {
                axpy(xi[half * free + r], row, &mut y[half * n..(half + 1) * n]);
            }
        }
        let mut lu = Lu::new(m);
        let factor = |lu: &mut Lu, p: &[f64]| -> Result<Vec<f64>, String> {
            let g = gradient(mechanism, p);
            let w = lu.matrix();
            for i in 0..m {
                for j in 0..m {
                    w[i * m + j] = dot(&g[i * n..(i + 1) * n], &self.normals[j * n..(j + 1) * n]);
                }
            }
            if lu.factor() { Ok(g) } else { Err("the place is too far from the last one".into()) }
        };
        // Rounding of g grows with the size of its terms, |Ḡ| |p̄|; up to some metres it is below what is asked for.
        let reference = &self.reference[..n];
        let terms = self.normals.chunks_exact(n).fold(0.0, |most: f64, row| {
            let sum = (0..n).map(|i| (row[i] * mechanism.mass[i] * reference[i]).abs()).sum();
            most.max(sum)
        });
        let size = (1e-3 * terms).max(1.0);
        let mut error = f64::INFINITY;
        for iteration in 0.. {
            let mut kappa = mechanism.constraints.values(&y[..n]);
            let now = kappa.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
            let done = now <= 1e-15 * size || (now < 1e-11 * size && now >= 0.25 * error);
            if done {
                break;
            }
            if iteration >= MAX_ITERATIONS || !now.is_finite() || now > 1e6 * size {
                return Err(format!(
                    "no place of the mechanism is near: its constraints are open by {now:.1e}"
                ));
            }
            error = now;
            factor(&mut lu, &y[..n])?;
            lu.solve(&mut kappa, 1);
            for (row, k) in self.normals.chunks_exact(n).zip(&kappa) {
                axpy(-k, row, &mut y[..n]);
            }
        }
        let g = factor(&mut lu, &y[..n])?;
        // W⁻¹ W̄ is the identity at the reference and grows where the normals turn into directions of motion.
        let mut stretch = self.metric.clone();
        lu.solve(&mut stretch, m);
        if !stretch.iter().all(|s| s.abs() <= STRETCH) {
            return Err("the place is too far from the last one".into());
        }
        let mut kappa: Vec<f64> = g.chunks_exact(n).map(|row| dot(row, &y[n..])).collect();
        lu.solve(&mut kappa, 1);
        for (row, k) in self.normals.chunks_exact(n).zip(&kappa) {
            axpy(-k, row, &mut y[n..]);
        }
        Ok((y, lu))
    }

    /// The place of ξ with derivatives.
    pub(crate) fn linearize(&self, mechanism: &Mechanism, xi: &[f64]) -> Result<Placed, String> {
        let (y, lu) = self.place(mechanism, xi)?;
        let (n, m) = (mechanism.n, mechanism.m);
        let (free, k) = (n - m, 2 * (n - m));
        let g = gradient(mechanism, &y[..n]);
        let mut jac = vec![0.0; 2 * n * k];
        for (r, row) in self.basis.chunks_exact(n).enumerate() {
            for i in 0..n {
                jac[i * k + r] = row[i];
                jac[(n + i) * k + free + r] = row[i];
            }
        }
        let turning = mechanism.turning.tape.values(&y);
        for half in 0..2 {
            // W δκ = G N δξ (+ ∂(G v)/∂p δp)
            let mut delta = vec![0.0; m * k];
            let (positions, rates) = jac.split_at(n * k);
            let from = if half == 0 { positions } else { rates };
            for i in 0..m {
                for j in 0..n {
                    if g[i * n + j] != 0.0 {
                        axpy(
                            g[i * n + j],
                            &from[j * k..(j + 1) * k],
                            &mut delta[i * k..(i + 1) * k],
                        );
                    }
                }
            }
            if half == 1 {
                for (&(i, j), &value) in mechanism.turning.entries.iter().zip(&turning) {
                    axpy(value, &positions[j * k..(j + 1) * k], &mut delta[i * k..(i + 1) * k]);
                }
            }
            lu.solve(&mut delta, k);
            let to = &mut jac[half * n * k..(half + 1) * n * k];
            for (row, delta) in self.normals.chunks_exact(n).zip(delta.chunks_exact(k)) {
                for j in 0..n {
                    axpy(-row[j], delta, &mut to[j * k..(j + 1) * k]);
                }
            }
        }
        Ok(Placed { y, jac, lu })
    }

    /// ∂²(w·(p, v))/∂ξ². (2 free, 2 free)
    ///
    /// With σ_v = −W⁻ᵀ (M⁻¹Ḡᵀ)ᵀ w_v and σ_p = −W⁻ᵀ (M⁻¹Ḡᵀ)ᵀ (w_p + (∂(G v)/∂p)ᵀ σ_v) it is that of σ_p·g + σ_v·G v along the derivatives.
    pub(crate) fn curvature(
        &self,
        mechanism: &Mechanism,
        placed: &Placed,
        weights: &[f64],
    ) -> Vec<f64> {
        let (n, m) = (mechanism.n, mechanism.m);
        let k = 2 * (n - m);
        let adjoint = |w: &[f64]| -> Vec<f64> {
            let mut sigma: Vec<f64> =
                self.normals.chunks_exact(n).map(|row| -dot(row, w)).collect();
            placed.lu.solve_transposed(&mut sigma);
            sigma
        };
        let sigma_v = adjoint(&weights[n..]);
        let mut w_p = weights[..n].to_vec();
        let turning = mechanism.turning.tape.values(&placed.y);
        for (&(i, j), value) in mechanism.turning.entries.iter().zip(turning) {
            w_p[j] += value * sigma_v[i];
        }
        let sigma_p = adjoint(&w_p);
        let inputs = [&placed.y[..], &sigma_p, &sigma_v].concat();
        let values = mechanism.bending.tape.values(&inputs);
        let mut out = vec![0.0; k * k];
        let mut work = vec![0.0; 2 * n * k];
        add_quadratic(
            &mechanism.bending.entries,
            &mechanism.bending.used(),
            &values,
            &placed.jac,
            k,
            &mut work,
            &mut out,
        );
        mirror(&mut out, k);
        out
    }
}

/// The place of the manifold nearest to (p, v) in the M-norm, to first order: Newton along the normals of each iterate.
pub(crate) fn project(mechanism: &Mechanism, y: &[f64]) -> Result<Vec<f64>, String> {
    let n = mechanism.n;
    let root = roots(mechanism);
    let mut y = y.to_vec();
    for _ in 0..MAX_ITERATIONS {
        // Only the normals are needed: a chart without directions, at its origin.
        let g = gradient(mechanism, &y[..n]);
        normals(mechanism, &g, &root)?;
        let before = y.clone();
        y = Chart::with_basis(mechanism, &y, &g, Vec::new()).place(mechanism, &[])?.0;
        let moved = before.iter().zip(&y).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        if moved < 1e-13 * (1.0 + y[..n].iter().fold(0.0, |most: f64, p| most.max(p.abs()))) {
            return Ok(y);
        }
    }
    Err("the start does not come to the mechanism's constraints".into())
}
