//! Masses and constraints; places and velocities.

use gelenk_expr::{Expr, Pool, Tape};
use gelenk_model::math::Vec3;
use nalgebra::DMatrix;

use super::constraint::{Constraint, ConstraintKind, Gradient, PointEquation};

/// Point masses with constraints, constant during a run.
#[derive(Clone, Debug)]
pub struct PointSystem {
    /// Gravity g, m/s².
    pub gravity: Vec3,
    /// Names of the points. (n)
    pub names: Vec<String>,
    /// 1/m, 1/kg; 0 for points fixed in space. (n)
    pub mass_inv: Vec<f64>,
    /// Constraints.
    pub constraints: Vec<Constraint>,
}

/// Where the points are and how they move; a clone is a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct PointState {
    /// Time, s.
    pub t: f64,
    /// P, m. (n)
    pub p: Vec<Vec3>,
    /// Ṗ, m/s. (n)
    pub p_dot: Vec<Vec3>,
}

/// Why a point system could not be made or advanced.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PointError {
    /// Something that is no point-mass system.
    #[error("{what} `{name}` {why}")]
    NotPoints {
        /// Kind of element.
        what: &'static str,
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Newton's method did not close the constraints.
    #[error(
        "constraint `{constraint}`: error {error:.1e} after {solves} solves at t = {t} s with step {h} s"
    )]
    NotClosed {
        /// The worst constraint.
        constraint: String,
        /// Its error, m or its own unit.
        error: f64,
        /// Linear systems solved.
        solves: usize,
        /// Time at the start of the step, s.
        t: f64,
        /// Step, s.
        h: f64,
    },
    /// The matrix of the constraints is singular.
    #[error("the constraints lose rank at t = {t} s: their matrix is singular")]
    Singular {
        /// When, s.
        t: f64,
    },
}

impl PointSystem {
    /// No points yet.
    pub fn new(gravity: Vec3) -> Self {
        PointSystem { gravity, names: Vec::new(), mass_inv: Vec::new(), constraints: Vec::new() }
    }

    /// Adds a point of `mass` kg; `None` is a point fixed in space. Returns its number.
    pub fn point(&mut self, name: &str, mass: Option<f64>) -> usize {
        self.names.push(name.to_owned());
        self.mass_inv.push(mass.map_or(0.0, |mass| 1.0 / mass));
        self.names.len() - 1
    }

    /// Adds the distance `d` m between points i and j.
    pub fn distance(&mut self, name: &str, i: usize, j: usize, d: f64) -> Result<(), PointError> {
        let bad = |why: &str| {
            Err(PointError::NotPoints {
                what: "distance",
                name: name.to_owned(),
                why: why.to_owned(),
            })
        };
        if i == j || i.max(j) >= self.names.len() {
            return bad("needs two different points of the system");
        }
        if !(d.is_finite() && d > 0.0) {
            return bad("must be positive: points in one place are one point");
        }
        let kind = ConstraintKind::Distance { i, j, d };
        self.constraints.push(Constraint { name: name.to_owned(), kind });
        Ok(())
    }

    /// Adds the equation `text`, over `NAME.x`, `NAME.y`, `NAME.z` of points and the time `t`: "p.x^2 + p.z^2 = 1".
    pub fn equation(&mut self, name: &str, text: &str) -> Result<(), PointError> {
        let bad =
            |why: String| PointError::NotPoints { what: "equation", name: name.to_owned(), why };
        let mut pool = Pool::new();
        let g = pool.parse_equation(text).map_err(|error| bad(error.to_string()))?;
        let time = pool.time();
        let (mut u, mut coordinates): (Vec<Expr>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        for symbol in pool.symbols_of(g) {
            if symbol == time {
                continue;
            }
            let word = pool.display(symbol).to_string();
            let found = word.rsplit_once('.').and_then(|(point, axis)| {
                let point = self.names.iter().position(|name| name == point)?;
                Some((point, ["x", "y", "z"].iter().position(|a| *a == axis)?))
            });
            let found = found.ok_or_else(|| bad(format!("has no meaning for `{word}`")))?;
            u.push(symbol);
            coordinates.push(found);
        }
        let mut slopes: Vec<Expr> = u.iter().map(|u| pool.diff(g, *u)).collect();
        slopes.push(pool.diff(g, time));
        u.push(time);
        let compile = |outputs: &[Expr]| {
            Tape::compile(&pool, outputs, &u).map_err(|error| bad(error.to_string()))
        };
        let equation =
            PointEquation { coordinates, value: compile(&[g])?, gradient: compile(&slopes)? };
        let kind = ConstraintKind::Equation(equation);
        self.constraints.push(Constraint { name: name.to_owned(), kind });
        Ok(())
    }

    /// g of a point: 0 if it is fixed in space.
    pub fn gravity_on(&self, point: usize) -> Vec3 {
        if self.mass_inv[point] == 0.0 { Vec3::zeros() } else { self.gravity }
    }

    /// LA: where all points are after ballistic motion over `h` seconds. (2.5)
    pub fn look_ahead(&self, state: &PointState, h: f64) -> PointState {
        let mut ahead = state.clone();
        ahead.t += h;
        for r in 0..self.names.len() {
            let g = self.gravity_on(r);
            ahead.p[r] += state.p_dot[r] * h + g * (0.5 * h * h);
            ahead.p_dot[r] += g * h;
        }
        ahead
    }

    /// The largest |error| of a constraint and which it is; (0, 0) without any.
    pub fn worst_error(&self, state: &PointState) -> (f64, usize) {
        let mut worst = (0.0, 0);
        for (k, constraint) in self.constraints.iter().enumerate() {
            let error = constraint.error(state).abs();
            // A NaN is worse than anything.
            if error.is_nan() {
                return (error, k);
            }
            if error > worst.0 {
                worst = (error, k);
            }
        }
        worst
    }

    /// Kinetic and potential energy, J.
    pub fn energy(&self, state: &PointState) -> f64 {
        let mut sum = 0.0;
        for r in 0..self.names.len() {
            if self.mass_inv[r] > 0.0 {
                let specific = 0.5 * state.p_dot[r].norm_squared() - self.gravity.dot(&state.p[r]);
                sum += specific / self.mass_inv[r];
            }
        }
        sum
    }

    /// G of the constraints `which` at a state, and their ∂c/∂t.
    pub(super) fn gradients(
        &self,
        state: &PointState,
        which: &[usize],
    ) -> (Vec<Gradient>, Vec<f64>) {
        which.iter().map(|&k| self.constraints[k].gradient(state)).unzip()
    }

    /// M\[r, s\] = −Σ_p (1/m_p) G_r(p)·G_s(p): (4.9) with both gradients of one instant, (5.8) with those of t + h in
    /// the rows.
    pub(super) fn matrix(&self, rows: &[Gradient], columns: &[Gradient]) -> DMatrix<f64> {
        // Which constraints touch a point, so that only neighbours meet.
        let mut touching: Vec<Vec<(usize, Vec3)>> = vec![Vec::new(); self.names.len()];
        for (s, gradient) in columns.iter().enumerate() {
            for &(point, g) in gradient {
                touching[point].push((s, g));
            }
        }
        let mut matrix = DMatrix::zeros(rows.len(), columns.len());
        for (r, gradient) in rows.iter().enumerate() {
            for &(point, g_r) in gradient {
                for (s, g_s) in &touching[point] {
                    matrix[(r, *s)] -= self.mass_inv[point] * g_r.dot(g_s);
                }
            }
        }
        matrix
    }

    /// ΔṖ = −(1/m) Σ G_k x_k: applies impulses of the strengths x. (4.2)
    pub(super) fn apply(&self, gradients: &[Gradient], x: &[f64], p_dot: &mut [Vec3]) {
        for (gradient, x) in gradients.iter().zip(x) {
            for &(point, g) in gradient {
                p_dot[point] -= g * (x * self.mass_inv[point]);
            }
        }
    }
}

/// Σ G·v of one constraint.
pub(super) fn along(gradient: &Gradient, v: &[Vec3]) -> f64 {
    gradient.iter().map(|(point, g)| g.dot(&v[*point])).sum()
}
