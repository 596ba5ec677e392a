//! The equations as numbers: tapes for q̈, poses, start values.

use gelenk_expr::{Expr, Pool, Series, Tape};
use gelenk_model::{Model, Pose, State, Twist};
use nalgebra::{DMatrix, DVector};

use crate::program::recursive;
use crate::state::Placement;
use crate::system::{DeriveError, System};

/// Rows of J beyond this part of the largest pivot count as independent.
const RANK: f64 = 1e-7;

/// Elimination takes the cube of the number of coordinates in memory.
const MAX_COORDINATES: usize = 64;

/// The equations with the values of parameters put in: q̈ = f(q, q̇, t), and poses of the model's bodies.
#[derive(Clone, Debug)]
pub struct Numeric {
    /// f over q, q̇, t, then the model's inputs; outputs q̈.
    pub tape: Tape,
    /// Multipliers over the same inputs.
    pub multipliers: Tape,
    /// C, then J by rows, over q, q̇, t and inputs; empty for trees.
    conditions: Tape,
    /// ∂C/∂t.
    condition_rates: Tape,
    placement: Placement,
    n: usize,
    n_rows: usize,
    inputs: Vec<f64>,
    /// Which of the closure rows are kept; the others follow from them.
    pub kept: Vec<bool>,
}

impl Numeric {
    pub(crate) fn new(system: &mut System, model: Option<&Model>) -> Result<Self, DeriveError> {
        let n = system.coordinates.len();
        if n > MAX_COORDINATES {
            let what = format!("{n} coordinates; the limit is {MAX_COORDINATES}");
            return Err(DeriveError::TooLarge { what });
        }
        let values: Vec<(Expr, f64)> =
            system.parameters.iter().map(|p| (p.symbol, p.value)).collect();
        let placement = Placement::new(system, &values)?;
        let mut pool = system.pool.clone();
        let numbers: Vec<(Expr, Expr)> = values.iter().map(|(s, x)| (*s, pool.float(*x))).collect();
        let n_rows: usize = system.closures.iter().map(|c| c.rows.len()).sum();
        let mut kept = vec![true; n_rows];
        let compile = |pool: &Pool, out: &[Expr], inputs: &[Expr]| {
            Tape::compile(pool, out, inputs).map_err(|e| DeriveError::Compile(e.to_string()))
        };
        if n_rows > 0
            && let Some(model) = model
        {
            let rows = crate::program::conditions(system, &mut pool, &numbers, None);
            let mut flat = rows.rows.clone();
            flat.extend(rows.jac.iter().flatten());
            let tape = compile(&pool, &flat, &rows.inputs)?;
            let (q, _) = placement.read(model, &model.start);
            let inputs: Vec<f64> = system.inputs.iter().map(|(_, x)| *x).collect();
            kept = independent(&tape, &q, model.start.t, n_rows, &inputs);
        }
        let program = recursive(system, &mut pool, &numbers, Some(&kept));
        let tape = compile(&pool, &program.accelerations, &program.inputs)?;
        let multipliers = compile(&pool, &program.multipliers, &program.inputs)?;
        let mut flat = program.constraints.clone();
        flat.extend(program.jac.iter().flatten());
        let conditions = compile(&pool, &flat, &program.inputs)?;
        let time = pool.time();
        let rates: Vec<Expr> = program.constraints.iter().map(|c| pool.diff(*c, time)).collect();
        let condition_rates = compile(&pool, &rates, &program.inputs)?;
        Ok(Numeric {
            tape,
            multipliers,
            conditions,
            condition_rates,
            placement,
            n: system.coordinates.len(),
            n_rows: program.constraints.len(),
            inputs: system.inputs.iter().map(|(_, x)| *x).collect(),
            kept,
        })
    }

    /// Number of coordinates.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of closure rows that are kept.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn arguments(&self, q: &[f64], qd: &[f64], t: f64) -> Vec<f64> {
        let mut all = q.to_vec();
        all.extend_from_slice(qd);
        all.push(t);
        all.extend_from_slice(&self.inputs);
        all
    }

    /// q̈ = f(q, q̇, t), the model's inputs at their own values.
    pub fn accelerations(&self, q: &[f64], qd: &[f64], t: f64) -> Vec<f64> {
        self.tape.values(&self.arguments(q, qd, t))
    }

    /// The multipliers λ of the closure rows: generalized forces Jᵀ λ.
    pub fn multipliers(&self, q: &[f64], qd: &[f64], t: f64) -> Vec<f64> {
        self.multipliers.values(&self.arguments(q, qd, t))
    }

    /// C and J of the closure rows.
    pub fn conditions(&self, q: &[f64], t: f64) -> (Vec<f64>, DMatrix<f64>) {
        let values = self.conditions.values(&self.arguments(q, &vec![0.0; self.n], t));
        let (c, jac) = values.split_at(self.n_rows);
        (c.to_vec(), DMatrix::from_row_slice(self.n_rows, self.n, jac))
    }

    /// Moves q so that the closures hold (Newton, least movement), then q̇ so that their rates vanish.
    pub fn project(&self, q: &mut [f64], qd: &mut [f64], t: f64) {
        if self.n_rows == 0 {
            return;
        }
        for _ in 0..30 {
            let (c, jac) = self.conditions(q, t);
            let c = DVector::from_vec(c);
            if c.amax() < 1e-14 {
                break;
            }
            let Some(step) = least_movement(&jac, &c) else { break };
            for (x, d) in q.iter_mut().zip(step.iter()) {
                *x -= d;
            }
        }
        let (_, jac) = self.conditions(q, t);
        let c_t = self.condition_rates.values(&self.arguments(q, qd, t));
        let rate = &jac * DVector::from_column_slice(qd) + DVector::from_vec(c_t);
        if let Some(step) = least_movement(&jac, &rate) {
            for (x, d) in qd.iter_mut().zip(step.iter()) {
                *x -= d;
            }
        }
    }

    /// Moves q̇ to the velocities nearest to those of a state in the norm of kinetic energy, as impulses in the joints would:
    /// min Σ m |ṡ − ṡ₀|² + (ω − ω₀)·J (ω − ω₀) over q̇ with J q̇ + ∂C/∂t = 0. Velocities that fit stay as they are.
    pub fn fit_velocities(&self, model: &Model, state: &State, q: &[f64], qd: &mut [f64]) {
        let (n, t) = (self.n, state.t);
        let now = self.poses(q, qd, t);
        // Velocities are linear in q̇: columns by unit rates, each body's weighted by the root of its mass and inertia.
        let weighted = |twists: &[(usize, Pose, Twist)], from: Option<&[(usize, Pose, Twist)]>| {
            let mut column = Vec::with_capacity(6 * twists.len());
            for (k, (body, pose, twist)) in twists.iter().enumerate() {
                let about = &model.bodies[*body];
                let (mut v, mut w) = (twist.s_dot, twist.omega);
                if let Some(from) = from {
                    v -= from[k].2.s_dot;
                    w -= from[k].2.omega;
                }
                let w = pose.rot.transpose() * w;
                column.extend((v * about.mass.sqrt()).iter());
                column.extend((0..3).map(|i| w[i] * about.inertia[i].max(0.0).sqrt()));
            }
            column
        };
        let mut columns = Vec::with_capacity(n);
        for k in 0..n {
            let mut rates = qd.to_vec();
            rates[k] += 1.0;
            columns.push(DVector::from_vec(weighted(&self.poses(q, &rates, t), Some(&now))));
        }
        if n == 0 || now.is_empty() {
            return;
        }
        let wanted: Vec<(usize, Pose, Twist)> = now
            .iter()
            .map(|(body, pose, _)| {
                let twist = Twist { s_dot: state.s_dot[*body], omega: state.omega[*body] };
                (*body, *pose, twist)
            })
            .collect();
        let miss = DVector::from_vec(weighted(&wanted, Some(&now)));
        let speeds = DMatrix::from_columns(&columns);
        let (_, jac) = self.conditions(q, t);
        let open = &jac * DVector::from_column_slice(qd)
            + DVector::from_vec(self.condition_rates.values(&self.arguments(q, qd, t)));
        let Some(change) = nearest(&speeds, &miss, jac, &open) else { return };
        for (x, d) in qd.iter_mut().zip(change.iter()) {
            *x += d;
        }
    }

    /// Poses (principal frames) and twists of the moving bodies by their index in the model.
    pub fn poses(&self, q: &[f64], qd: &[f64], t: f64) -> Vec<(usize, Pose, Twist)> {
        self.placement.poses(q, qd, t)
    }

    /// Writes poses and twists of (q, q̇) into a state of the model.
    pub fn write_state(&self, q: &[f64], qd: &[f64], t: f64, state: &mut State) {
        self.placement.write(q, qd, t, state);
    }

    /// (q, q̇) of a state of the model.
    pub fn read_state(&self, model: &Model, state: &State) -> (Vec<f64>, Vec<f64>) {
        self.placement.read(model, state)
    }

    /// Accelerations of the moving bodies (s̈, ω̇) that belong to q̈, exactly: the derivative of their velocities.
    pub fn body_accelerations(
        &self,
        q: &[f64],
        qd: &[f64],
        qdd: &[f64],
        t: f64,
    ) -> Vec<(usize, Twist)> {
        let mut inputs: Vec<Series> = Vec::with_capacity(2 * self.n + 1);
        inputs.extend((0..self.n).map(|k| Series::new(vec![q[k], qd[k]])));
        inputs.extend((0..self.n).map(|k| Series::new(vec![qd[k], qdd[k]])));
        inputs.push(Series::new(vec![t, 1.0]));
        self.placement.rates_of(&inputs)
    }
}

/// x with the least |S x − miss| of those with J x = −open, and of these the shortest: where S or J loses rank, as masses that are zero and singular positions
/// make it, what they do not tell stays.
fn nearest(
    speeds: &DMatrix<f64>,
    miss: &DVector<f64>,
    jac: DMatrix<f64>,
    open: &DVector<f64>,
) -> Option<DVector<f64>> {
    let n = speeds.ncols();
    let m = jac.nrows();
    // With rows of zeros, so that V is whole.
    let square = jac.resize(m.max(n), n, 0.0);
    let svd = square.try_svd(true, true, f64::EPSILON, 1000)?;
    let (u, v_t) = (svd.u?, svd.v_t?);
    let cut = RANK * svd.singular_values.max();
    let mut change = DVector::zeros(n);
    let mut free = Vec::new();
    for k in 0..n {
        let sigma = svd.singular_values[k];
        let v = v_t.row(k).transpose();
        if sigma > cut {
            change.axpy(-u.column(k).rows(0, m).dot(open) / sigma, &v, 1.0);
        } else {
            free.push(v);
        }
    }
    if free.is_empty() {
        return Some(change);
    }
    let free = DMatrix::from_columns(&free);
    let svd = (speeds * &free).try_svd(true, true, f64::EPSILON, 1000)?;
    let most = svd.singular_values.max();
    let along = svd.solve(&(miss - speeds * &change), RANK * most).ok()?;
    Some(change + free * along)
}

/// The shortest x with J x = b: Jᵀ (J Jᵀ)⁻¹ b, once refined.
fn least_movement(jac: &DMatrix<f64>, b: &DVector<f64>) -> Option<DVector<f64>> {
    let k = (jac * jac.transpose()).cholesky()?;
    let mut x = jac.transpose() * k.solve(b);
    let left = b - jac * &x;
    x += jac.transpose() * k.solve(&left);
    Some(x)
}

/// Which rows of J are independent: at the start, or at a place near it where more are, should the start be singular.
fn independent(tape: &Tape, start: &[f64], t: f64, rows: usize, inputs: &[f64]) -> Vec<bool> {
    let n = start.len();
    let at = |q: &[f64]| {
        let mut arguments = q.to_vec();
        arguments.extend(std::iter::repeat_n(0.0, n));
        arguments.push(t);
        arguments.extend_from_slice(inputs);
        let values = tape.values(&arguments);
        let c = DVector::from_column_slice(&values[..rows]);
        (c, DMatrix::from_row_slice(rows, n, &values[rows..]))
    };
    let count = |kept: &[bool]| kept.iter().filter(|k| **k).count();
    let mut best = rank_rows(at(start).1);
    for trial in 1..4u32 {
        let mut q: Vec<f64> = (0u32..)
            .zip(start)
            .map(|(k, x)| x + 0.05 * (1.7 * f64::from(k * 3 + trial) + 0.3).sin())
            .collect();
        // Back to where all rows hold, damped, since they may depend on each other.
        for _ in 0..200 {
            let (c, jac) = at(&q);
            if c.amax() < 1e-13 {
                break;
            }
            let damping = 1e-9 * (1.0 + jac.norm_squared()) * c.amax().min(1.0);
            let square = &jac * jac.transpose() + DMatrix::identity(rows, rows) * damping;
            let Some(factor) = square.cholesky() else { break };
            let step = jac.transpose() * factor.solve(&c);
            for (x, d) in q.iter_mut().zip(step.iter()) {
                *x -= d;
            }
        }
        let (c, jac) = at(&q);
        if c.amax() < 1e-10 {
            let kept = rank_rows(jac);
            if count(&kept) > count(&best) {
                best = kept;
            }
        }
    }
    best
}

/// Independent rows, by orthogonalization with pivots.
fn rank_rows(mut jac: DMatrix<f64>) -> Vec<bool> {
    let (rows, n) = jac.shape();
    let mut kept = vec![false; rows];
    let mut largest: f64 = 0.0;
    for _ in 0..rows.min(n) {
        let norms: Vec<f64> =
            (0..rows).map(|i| if kept[i] { 0.0 } else { jac.row(i).norm() }).collect();
        let Some(best) = (0..rows).max_by(|a, b| norms[*a].total_cmp(&norms[*b])) else { break };
        largest = largest.max(norms[best]);
        if norms[best] <= RANK * largest || norms[best] == 0.0 {
            break;
        }
        kept[best] = true;
        let unit = jac.row(best) / norms[best];
        for i in 0..rows {
            if !kept[i] {
                // Twice, so that rounding leaves nothing behind.
                for _ in 0..2 {
                    let part = jac.row(i).dot(&unit);
                    let next = jac.row(i) - &unit * part;
                    jac.set_row(i, &next);
                }
            }
        }
    }
    kept
}

/// A program's own conditions, for the choice of rows.
pub(crate) struct Conditions {
    pub(crate) inputs: Vec<Expr>,
    pub(crate) rows: Vec<Expr>,
    pub(crate) jac: Vec<Vec<Expr>>,
}
