//! What the equations tell: numbers at a point, first integrals, equilibria, linearization, inverse dynamics.

use gelenk_expr::{Expr, Pool, Tape};
use nalgebra::{DMatrix, DVector};
use rustc_hash::FxHashMap;

use crate::equations::Equations;
use crate::ring::Poly;
use crate::simplify::{Assumptions, simplify};

/// The coefficients at a point, as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// g_μν, index 0 is time.
    pub g: Vec<Vec<f64>>,
    /// Γ_ρμν, ρ − 1, μ, ν.
    pub gamma: Vec<Vec<Vec<f64>>>,
    /// Q_ρ.
    pub q: Vec<f64>,
    /// q̈; `None` where the metric is singular, so that it is not determined.
    pub qdd: Option<Vec<f64>>,
    /// Multipliers of the closure conditions.
    pub multipliers: Vec<f64>,
}

/// A quantity that stays constant.
#[derive(Clone, Debug)]
pub struct FirstIntegral {
    /// What it is: "momentum of q1", "energy T + U".
    pub name: String,
    /// Its expression over q, q̇ and parameters.
    pub value: Expr,
}

/// M δq̈ + (D + G) δq̇ + (K + N) δq = B u about a motion.
#[derive(Clone, Debug)]
pub struct Linearization {
    /// M, symmetric.
    pub mass: Vec<Vec<Expr>>,
    /// D, the symmetric part of the velocity matrix: damping.
    pub damping: Vec<Vec<Expr>>,
    /// G, its antisymmetric part: gyroscopic.
    pub gyroscopic: Vec<Vec<Expr>>,
    /// K, the symmetric part of the position matrix: stiffness.
    pub stiffness: Vec<Vec<Expr>>,
    /// N, its antisymmetric part: circulatory.
    pub circulatory: Vec<Vec<Expr>>,
    /// B, one column for each input of the model.
    pub input: Vec<Vec<Expr>>,
}

impl Equations {
    /// The coefficients with numbers for coordinates, rates, time and parameters (those left out keep the model's values).
    /// `None` without closed form.
    pub fn evaluate(
        &self,
        q: &[f64],
        qd: &[f64],
        t: f64,
        parameters: &[(String, f64)],
    ) -> Option<Values> {
        let closed = self.closed.as_ref()?;
        let f = self.n();
        let pool = self.pool();
        let mut known: FxHashMap<Expr, f64> = FxHashMap::default();
        for p in &self.system.parameters {
            known.insert(p.symbol, p.value);
        }
        for (name, value) in parameters {
            if let Some(s) = pool.find_symbol(name) {
                known.insert(s, *value);
            }
        }
        for (s, value) in &self.system.inputs {
            known.insert(*s, *value);
        }
        for (c, (x, v)) in self.coordinates().iter().zip(q.iter().zip(qd)) {
            known.insert(c.symbol, *x);
            known.insert(c.rate, *v);
        }
        if let Some(time) = pool.find_symbol(pool.time_name()) {
            known.insert(time, t);
        }
        // Definitions may use each other in any order; each round knows more.
        for _ in 0..=closed.definitions.len() {
            for (symbol, value, _) in &closed.definitions {
                let x = pool.eval(*value, |s| known.get(&s).copied().unwrap_or(f64::NAN));
                known.insert(*symbol, x);
            }
        }
        let at = |e: Expr| pool.eval(e, |s| known.get(&s).copied().unwrap_or(f64::NAN));
        let row = |v: &[Expr]| v.iter().map(|e| at(*e)).collect::<Vec<f64>>();
        let g: Vec<Vec<f64>> = closed.g.iter().map(|r| row(r)).collect();
        let gamma: Vec<Vec<Vec<f64>>> =
            closed.gamma.iter().map(|m| m.iter().map(|r| row(r)).collect()).collect();
        let force = row(&closed.q);
        let rates: Vec<f64> = std::iter::once(1.0).chain(qd.iter().copied()).collect();
        let right = DVector::from_fn(f, |rho, _| {
            let mut sum = force[rho];
            for mu in 0..=f {
                for nu in 0..=f {
                    sum -= gamma[rho][mu][nu] * rates[mu] * rates[nu];
                }
            }
            sum
        });
        let mass = DMatrix::from_fn(f, f, |i, j| g[i + 1][j + 1]);
        let jac: Vec<f64> = closed.jac.iter().flat_map(|r| row(r)).collect();
        let jac = DMatrix::from_row_slice(closed.jac.len(), f, &jac);
        let bend = DVector::from_vec(row(&closed.gamma_rows));
        let (qdd, multipliers) = match solve(&mass, &right, &jac, &bend) {
            Some((qdd, lambda)) => (Some(qdd), lambda),
            None => (None, Vec::new()),
        };
        Some(Values { g, gamma, q: force, qdd, multipliers })
    }

    /// T = ½ g_μν q̇^μ q̇^ν.
    pub fn kinetic_energy(&mut self) -> Option<Expr> {
        let exact = self.canonical.as_mut()?;
        let mut sum = Poly::ZERO;
        let f = self.system.coordinates.len();
        let rates: Vec<Poly> = std::iter::once(Poly::one())
            .chain(self.system.coordinates.iter().map(|c| exact.ring.atom(c.rate)))
            .collect();
        for mu in 0..=f {
            for nu in 0..=f {
                let pair = exact.ring.mul(&rates[mu], &rates[nu]);
                let term = exact.ring.mul(&exact.g[mu][nu], &pair);
                sum = sum.add(&term.scale(&gelenk_expr::Rational::HALF));
            }
        }
        let limits = crate::simplify::Limits::default();
        Some(
            crate::simplify::shortest(&mut exact.ring, &mut self.system.pool, &sum, &[], &limits).0,
        )
    }

    /// Whether coefficients depend on time of themselves.
    fn has_time(&mut self) -> bool {
        let Some(closed) = &self.closed else { return true };
        let time = self.system.pool.time();
        let mut all = closed.entries();
        all.push(closed.potential);
        all.iter().any(|e| self.system.pool.contains(*e, time))
    }

    /// Cyclic coordinates: those that neither the metric nor any force or closure contains, and along which no force acts.
    pub fn cyclic(&mut self) -> Vec<usize> {
        let Some(exact) = self.canonical.as_mut() else { return Vec::new() };
        let pool = &mut self.system.pool;
        let f = self.system.coordinates.len();
        (0..f)
            .filter(|&k| {
                let x = self.system.coordinates[k].symbol;
                let ring = &mut exact.ring;
                let mut free = |p: &Poly| {
                    let slope = ring.diff(pool, p, x);
                    ring.is_zero(&slope)
                };
                let still = exact.g.iter().flatten().all(&mut free)
                    && exact.closures.iter().all(|(_, c)| free(c));
                still && exact.ring.is_zero(&exact.q[k])
            })
            .collect()
    }

    /// First integrals: momenta of cyclic coordinates, and the energy T + U (or Jacobi's T₂ − T₀ + U where motions are
    /// prescribed steadily) if no force spends it.
    pub fn first_integrals(&mut self) -> Vec<FirstIntegral> {
        let mut out = Vec::new();
        let names = self.q_names();
        for k in self.cyclic() {
            let Some(closed) = &self.closed else { continue };
            let row = closed.g[k + 1].clone();
            let pool = &mut self.system.pool;
            let mut terms = vec![row[0]];
            for (g, c) in row[1..].iter().zip(&self.system.coordinates) {
                terms.push(pool.mul(&[*g, c.rate]));
            }
            let value = pool.add(&terms);
            let assumptions = Assumptions { positive: self.system.positive.clone() };
            let value = simplify(pool, value, &assumptions);
            out.push(FirstIntegral { name: format!("momentum of {}", names[k]), value });
        }
        let steady = !self.has_time();
        let conservative = self
            .canonical
            .as_ref()
            .is_some_and(|exact| exact.others.is_empty() && exact.dissipation.is_zero());
        if steady
            && conservative
            && let Some(closed) = self.closed.clone()
        {
            // h = Σ q̇ ∂T/∂q̇ − T + U = ½ g_ij q̇ q̇ − ½ g_00 + U
            let pool = &mut self.system.pool;
            let mut terms = vec![closed.potential];
            for (i, a) in self.system.coordinates.iter().enumerate() {
                for (j, b) in self.system.coordinates.iter().enumerate() {
                    terms.push(pool.mul(&[Expr::HALF, closed.g[i + 1][j + 1], a.rate, b.rate]));
                }
            }
            let fixed = pool.mul(&[Expr::HALF, closed.g[0][0]]);
            terms.push(pool.neg(fixed));
            let value = pool.add(&terms);
            let assumptions = Assumptions { positive: self.system.positive.clone() };
            let value = simplify(pool, value, &assumptions);
            let moved = closed.g[0].iter().any(|e| *e != Expr::ZERO);
            let name = if moved { "Jacobi's integral T2 - T0 + U" } else { "energy T + U" };
            out.push(FirstIntegral { name: name.to_owned(), value });
        }
        out
    }

    /// Generalized drive forces that a motion needs: τ_ρ = g_ρν q̈^ν + Γ_ρμν q̇^μ q̇^ν − Q_ρ.
    pub fn inverse_dynamics(&mut self) -> Option<Vec<Expr>> {
        let closed = self.closed.as_ref()?;
        let pool = &mut self.system.pool;
        let rows = closed.motion.iter().enumerate().map(|(rho, motion)| {
            let mut terms = vec![*motion];
            for (g, c) in closed.g[rho + 1][1..].iter().zip(&self.system.coordinates) {
                terms.push(pool.mul(&[*g, c.acceleration]));
            }
            pool.add(&terms)
        });
        Some(rows.collect())
    }

    /// The equations linearized about q = `q0`, q̇ = `qd0` (zero for a place of rest), q̈ = 0; values may be symbols.
    ///
    /// With Q from Γ: M δq̈ + ∂(Γ q̇ q̇ − Q)/∂q̇ δq̇ + ∂(Γ q̇ q̇ − Q)/∂q δq = ∂Q/∂u u. For trees; `None` without closed form or
    /// with closures.
    pub fn linearize(&mut self, q0: &[Expr], qd0: &[Expr]) -> Option<Linearization> {
        let closed = self.closed.clone()?;
        if !closed.closures.is_empty() {
            return None;
        }
        let system = &mut self.system;
        let pool = &mut system.pool;
        let back = closed.unnamed(pool);
        let motion = pool.substitute_all(&closed.motion, &back);
        let mass: Vec<Vec<Expr>> =
            closed.g[1..].iter().map(|row| pool.substitute_all(&row[1..], &back)).collect();
        let mut place: Vec<(Expr, Expr)> = Vec::new();
        for (k, c) in system.coordinates.iter().enumerate() {
            place.push((c.symbol, q0[k]));
            place.push((c.rate, qd0[k]));
        }
        let assumptions = Assumptions { positive: system.positive.clone() };
        let mut at = |pool: &mut Pool, e: Expr| {
            let e = pool.substitute(e, &place);
            simplify(pool, e, &assumptions)
        };
        let f = system.coordinates.len();
        let by =
            |pool: &mut Pool, variables: &[Expr], at: &mut dyn FnMut(&mut Pool, Expr) -> Expr| {
                let mut out = Vec::with_capacity(f);
                for e in &motion {
                    let slopes: Vec<Expr> = variables.iter().map(|x| pool.diff(*e, *x)).collect();
                    out.push(slopes.into_iter().map(|s| at(pool, s)).collect::<Vec<Expr>>());
                }
                out
            };
        let symbols: Vec<Expr> = system.coordinates.iter().map(|c| c.symbol).collect();
        let rates: Vec<Expr> = system.coordinates.iter().map(|c| c.rate).collect();
        let inputs: Vec<Expr> = system.inputs.iter().map(|(s, _)| *s).collect();
        let position = by(pool, &symbols, &mut at);
        let velocity = by(pool, &rates, &mut at);
        let input = by(pool, &inputs, &mut at);
        let input =
            input.into_iter().map(|r| r.into_iter().map(|e| pool.neg(e)).collect()).collect();
        let mass = mass.into_iter().map(|r| r.into_iter().map(|e| at(pool, e)).collect()).collect();
        let mut part = |m: &[Vec<Expr>], sign: i64| -> Vec<Vec<Expr>> {
            (0..f)
                .map(|i| {
                    (0..f)
                        .map(|j| {
                            let other = pool.num(sign);
                            let other = pool.mul(&[other, m[j][i]]);
                            let sum = pool.add(&[m[i][j], other]);
                            let half = pool.mul(&[Expr::HALF, sum]);
                            simplify(pool, half, &assumptions)
                        })
                        .collect()
                })
                .collect()
        };
        let (damping, gyroscopic) = (part(&velocity, 1), part(&velocity, -1));
        let (stiffness, circulatory) = (part(&position, 1), part(&position, -1));
        Some(Linearization { mass, damping, gyroscopic, stiffness, circulatory, input })
    }

    /// The same with numbers, from the recursive form: for trees of any size. Parameters and inputs have their values in the model.
    ///
    /// `None` where loops are closed or an entry has no value.
    pub fn linearize_numbers(&mut self, t: f64, q0: &[f64]) -> Option<Linearization> {
        let system = &mut self.system;
        if !system.closures.is_empty() {
            return None;
        }
        let f = system.coordinates.len();
        let pool = &mut system.pool.clone();
        let values: Vec<(Expr, Expr)> =
            system.parameters.iter().map(|p| (p.symbol, pool.float(p.value))).collect();
        let program = crate::program::recursive(system, pool, &values, None);
        let inputs: Vec<Expr> = system.inputs.iter().map(|(s, _)| *s).collect();
        let mut variables: Vec<Expr> = system.coordinates.iter().map(|c| c.symbol).collect();
        variables.extend(system.coordinates.iter().map(|c| c.rate));
        variables.extend(&inputs);
        let slopes = pool.jacobian(&program.bias, &variables);
        let mut wanted: Vec<Expr> = slopes.into_iter().flatten().collect();
        let n_slopes = wanted.len();
        wanted.extend(program.mass.iter().flat_map(|row| &row[..]));
        let mut at = q0.to_vec();
        at.resize(2 * f, 0.0);
        at.push(t);
        at.extend(system.inputs.iter().map(|(_, x)| *x));
        let numbers = Tape::compile(pool, &wanted, &program.inputs).ok()?.values(&at);
        if numbers.iter().any(|x| !x.is_finite()) {
            return None;
        }
        // What rounding leaves of a zero is none.
        let largest = numbers[..n_slopes].iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let clean = |x: f64| if x.abs() <= 1e-14 * largest { 0.0 } else { x };
        let slope = |i: usize, j: usize| clean(numbers[i * variables.len() + j]);
        // M is kept by rows of its lower triangle.
        let starts: Vec<usize> = program
            .mass
            .iter()
            .scan(n_slopes, |at, row| {
                let start = *at;
                *at += row.len();
                Some(start)
            })
            .collect();
        let pool = &mut system.pool;
        let mut matrix = |columns: usize, entry: &dyn Fn(usize, usize) -> f64| {
            let mut row = |i| (0..columns).map(|j| pool.float(entry(i, j))).collect::<Vec<Expr>>();
            (0..f).map(&mut row).collect::<Vec<Vec<Expr>>>()
        };
        let part = |first: usize, sign: f64| {
            move |i: usize, j: usize| {
                clean(0.5 * (slope(i, first + j) + sign * slope(j, first + i)))
            }
        };
        Some(Linearization {
            mass: matrix(f, &|i, j| numbers[starts[i.max(j)] + i.min(j)]),
            damping: matrix(f, &part(f, 1.0)),
            gyroscopic: matrix(f, &part(f, -1.0)),
            stiffness: matrix(f, &part(0, 1.0)),
            circulatory: matrix(f, &part(0, -1.0)),
            input: matrix(inputs.len(), &|i, j| -slope(i, 2 * f + j)),
        })
    }
}

/// M q̈ = r + Jᵀ λ, J q̈ = γ; rows that follow from others are harmless.
fn solve(
    mass: &DMatrix<f64>,
    right: &DVector<f64>,
    jac: &DMatrix<f64>,
    gamma: &DVector<f64>,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let f = right.len();
    let size = mass.amax();
    let lu = mass.clone().full_piv_lu();
    let pivot = lu.u().diagonal().iter().fold(f64::INFINITY, |a: f64, b| a.min(b.abs()));
    if pivot.is_nan() || pivot <= 1e-14 * size {
        return None;
    }
    let free = lu.solve(right)?;
    if jac.nrows() == 0 {
        return Some((free.iter().copied().collect(), Vec::new()));
    }
    let columns = lu.solve(&jac.transpose())?;
    let k = jac * &columns;
    let eigen = k.clone().symmetric_eigen();
    let floor = 1e-12 * eigen.eigenvalues.amax();
    let inverse = |b: &DVector<f64>| {
        let mut c = eigen.eigenvectors.tr_mul(b);
        for (c, w) in c.iter_mut().zip(eigen.eigenvalues.iter()) {
            *c = if w.abs() > floor { *c / w } else { 0.0 };
        }
        &eigen.eigenvectors * c
    };
    let wanted = gamma - jac * &free;
    let mut lambda = inverse(&wanted);
    lambda += inverse(&(&wanted - &k * &lambda));
    let qdd = free + columns * &lambda;
    debug_assert_eq!(qdd.len(), f);
    Some((qdd.iter().copied().collect(), lambda.iter().copied().collect()))
}
