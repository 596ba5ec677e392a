//! Places of rest, and whether they are stable.

use gelenk_expr::{Expr, Tape};
use nalgebra::{DMatrix, DVector};

use crate::equations::Equations;
use crate::system::Measure;

/// Newton's method begins at these values of each coordinate.
const GRID: [f64; 4] = [0.1, 1.5, 3.0, -1.6];

/// More coordinates than this are not searched.
const MOST: usize = 8;

/// A place where the mechanism can rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// The coordinates.
    pub q: Vec<f64>,
    /// Which coordinates may have any value: they stand in no equation.
    pub any: Vec<bool>,
    /// Whether it is stable.
    pub stability: Stability,
}

/// Whether a place of rest is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// The energy has a strict minimum there, or all eigenvalues of the linear equations have negative real parts.
    Stable,
    /// The linear equations have an eigenvalue with positive real part.
    Unstable,
    /// The eigenvalues of the linear equations are different and imaginary: only the linear equations are stable for certain.
    FirstOrder,
    /// The linear equations do not tell.
    Undecided,
}

impl Equations {
    /// Places of rest of a tree, found by Newton's method from a grid of starts, with the model's parameter values. Angles are taken
    /// in (−π, π]. A root of Q = 0 counts if accelerations vanish towards it: at singular places of the coordinates
    /// Q may be zero where nothing rests.
    ///
    /// An error tells why there was no search.
    pub fn equilibria(&mut self) -> Result<Vec<Equilibrium>, &'static str> {
        let Some(closed) = self.closed.clone() else { return Err("the closed form is too large") };
        let f = self.n();
        if !closed.closures.is_empty() {
            return Err("the model closes loops");
        }
        if f > MOST {
            return Err("there are more than 8 coordinates");
        }
        let system = &mut self.system;
        let pool = &mut system.pool;
        let back = closed.unnamed(pool);
        let time = pool.time();
        let mut numbers: Vec<(Expr, Expr)> =
            system.parameters.iter().map(|p| (p.symbol, pool.float(p.value))).collect();
        numbers.extend(system.inputs.iter().map(|(s, x)| (*s, pool.float(*x))));
        let mut put = |e: &[Expr]| {
            let e = pool.substitute_all(e, &back);
            pool.substitute_all(&e, &numbers)
        };
        let motion = put(&closed.motion);
        let mass: Vec<Expr> = closed.g[1..].iter().flat_map(|row| put(&row[1..])).collect();
        let parts = pool.subexpressions(&[motion.as_slice(), mass.as_slice()].concat());
        let stands = |symbol: Expr| parts.binary_search(&symbol).is_ok();
        if stands(time) {
            return Err("the equations depend on time");
        }
        let symbols: Vec<Expr> = system.coordinates.iter().map(|c| c.symbol).collect();
        let rates: Vec<Expr> = system.coordinates.iter().map(|c| c.rate).collect();
        let any: Vec<bool> = symbols.iter().map(|s| !stands(*s)).collect();
        let still: Vec<(Expr, Expr)> = rates.iter().map(|r| (*r, Expr::ZERO)).collect();
        // Outputs: r = −Q at rest, ∂r/∂q, ∂r/∂q̇, M.
        let mut outputs = pool.substitute_all(&motion, &still);
        if outputs.iter().all(|e| *e == Expr::ZERO) {
            return Err("nothing pulls at rest, every place is one");
        }
        let slopes = pool.jacobian(&outputs, &symbols);
        outputs.extend(slopes.into_iter().flatten());
        let damping: Vec<Expr> = pool.jacobian(&motion, &rates).into_iter().flatten().collect();
        outputs.extend(pool.substitute_all(&damping, &still));
        outputs.extend(mass);
        let Ok(tape) = Tape::compile(pool, &outputs, &symbols) else {
            return Err("the equations do not compile");
        };
        let angles: Vec<bool> =
            system.coordinates.iter().map(|c| c.measure != Measure::Length).collect();
        let has_potential = self.canonical.as_ref().is_some_and(|exact| exact.others.is_empty());
        let look = Look { tape, f };
        let open: Vec<usize> = (0..f).filter(|k| !any[*k]).collect();
        let starts = GRID.len().pow(u32::try_from(open.len().min(4)).unwrap_or(4));
        let begin = |start: usize| {
            let mut q = vec![0.0; f];
            for (place, k) in open.iter().enumerate() {
                q[*k] = GRID[(start >> (2 * (place % 4))) & 3];
            }
            q
        };
        let usual = (0..starts).filter_map(|s| look.restless(&begin(s))).fold(0.0, f64::max);
        let mut found: Vec<Equilibrium> = Vec::new();
        for start in 0..starts {
            let Some(mut q) = look.newton(begin(start)) else { continue };
            for (x, angle) in q.iter_mut().zip(&angles) {
                if *angle {
                    *x = gelenk_model::rows::unwrap_angle(*x, 0.0);
                }
                if x.abs() < 1e-12 {
                    *x = 0.0;
                }
            }
            let same = |a: &Equilibrium| {
                a.q.iter().zip(&q).zip(&angles).all(|((x, y), angle)| {
                    let gap =
                        if *angle { gelenk_model::rows::unwrap_angle(x - y, 0.0) } else { x - y };
                    gap.abs() < 1e-6
                })
            };
            if found.iter().any(same) || !look.rests(&q, &open, usual) {
                continue;
            }
            let stability = look.stability(&q, &open, has_potential);
            found.push(Equilibrium { q, any: any.clone(), stability });
        }
        Ok(found)
    }
}

/// The equations at rest as numbers.
struct Look {
    tape: Tape,
    f: usize,
}

impl Look {
    fn parts(&self, q: &[f64]) -> (DVector<f64>, [DMatrix<f64>; 3]) {
        let f = self.f;
        let values = self.tape.values(q);
        let matrix = |k: usize| {
            let begin = f + k * f * f;
            DMatrix::from_row_slice(f, f, &values[begin..begin + f * f])
        };
        (DVector::from_column_slice(&values[..f]), [matrix(0), matrix(1), matrix(2)])
    }

    fn newton(&self, mut q: Vec<f64>) -> Option<Vec<f64>> {
        for _ in 0..60 {
            let (r, [j, ..]) = self.parts(&q);
            if !r.iter().all(|x| x.is_finite()) {
                return None;
            }
            let scale = j.amax().max(1e-300);
            // Damped a little, so that coordinates without force do not stop it.
            let square =
                j.transpose() * &j + DMatrix::identity(self.f, self.f) * (1e-12 * scale * scale);
            let step = square.cholesky()?.solve(&(j.transpose() * &r));
            let size = step.norm();
            let shrink = if size > 1.0 { 1.0 / size } else { 1.0 };
            for (x, d) in q.iter_mut().zip(step.iter()) {
                *x -= shrink * d;
            }
            if r.amax() <= 1e-11 * scale.max(1.0) && size < 1e-9 {
                return Some(q);
            }
        }
        None
    }

    /// q̈·M q̈ of a mechanism let go at q: the squares of all accelerations, weighted with the masses.
    fn restless(&self, q: &[f64]) -> Option<f64> {
        let (r, [_, _, mass]) = self.parts(q);
        let size = r.dot(&mass.cholesky()?.solve(&r));
        size.is_finite().then_some(size)
    }

    /// Whether accelerations vanish towards q.
    fn rests(&self, q: &[f64], open: &[usize], usual: f64) -> bool {
        const NEAR: f64 = 1e-4;
        (1..=3_u32).all(|k| {
            let mut near = q.to_vec();
            for (i, n) in open.iter().zip(1_u32..) {
                near[*i] += NEAR * (f64::from(n * 7 + k * 13)).sin();
            }
            self.restless(&near).is_some_and(|size| size <= 1e-5 * usual)
        })
    }

    fn stability(&self, q: &[f64], open: &[usize], has_potential: bool) -> Stability {
        let (_, [k, d, mass]) = self.parts(q);
        let pick = |m: &DMatrix<f64>| {
            DMatrix::from_fn(open.len(), open.len(), |i, j| m[(open[i], open[j])])
        };
        let (k, d, mass) = (pick(&k), pick(&d), pick(&mass));
        if open.is_empty() {
            return Stability::Undecided;
        }
        // The energy decides where forces have a potential: a minimum is stable whatever gyroscopic forces there are.
        let stiffness = (&k + k.transpose()) / 2.0;
        let eigen = stiffness.symmetric_eigenvalues();
        let (least, largest) = (eigen.min(), eigen.amax().max(1e-300));
        if has_potential && least > 1e-9 * largest {
            return Stability::Stable;
        }
        let n = open.len();
        let Some(factor) = mass.cholesky() else { return Stability::Undecided };
        let (pull, drag) = (factor.solve(&k), factor.solve(&d));
        let system = DMatrix::from_fn(2 * n, 2 * n, |i, j| match (i < n, j < n) {
            (true, _) => f64::from(u8::from(j == i + n)),
            (false, true) => -pull[(i - n, j)],
            (false, false) => -drag[(i - n, j - n)],
        });
        let roots = system.complex_eigenvalues();
        let size = roots.iter().fold(1e-300, |a: f64, z| a.max(z.norm()));
        let worst = roots.iter().fold(f64::NEG_INFINITY, |a, z| a.max(z.re));
        if worst > 1e-6 * size {
            return Stability::Unstable;
        }
        if worst < -1e-6 * size {
            return Stability::Stable;
        }
        let apart = |i: usize, j: usize| (roots[i] - roots[j]).norm() > 1e-4 * size;
        let simple = (0..2 * n).all(|i| (0..i).all(|j| apart(i, j)));
        if simple { Stability::FirstOrder } else { Stability::Undecided }
    }
}
