//! Sensitivities: how the state at the end answers to the state at the start and to inputs.
//!
//! Varied trajectories go beside the main one in the same steps (internal numerical differentiation), so that what is differentiated is a smooth map and not the
//! choice of steps. They begin where the initial projection puts a start that is moved along the conditions, forward and backward: as many directions as
//! there are degrees of freedom, twice; across the conditions the derivative is zero by construction (\[Laufen\] §3). At an event the step ends for all, and the
//! derivative jumps by the saltation
//! ```text
//! δt = −∇g·w/ġ,    w⁺ = ∂R (w + f⁻ δt) − f⁺ δt
//! ```
//! with g the switching function, R what happens there, f⁻ and f⁺ the right-hand sides before and after.

use gelenk_model::{Model, State};
use gelenk_ode::{Direction, Failure, Integrator, Method, Stop, System};
use nalgebra::{Complex, DMatrix, DVector};

use crate::equations::Equations;
use crate::simulation::{DaeError, Options, check_model, explain};
use crate::switch::{Switches, Watched};

/// How far varied trajectories begin from the main one.
const EPSILON: f64 = 1e-5;

/// Farther than this they are brought back.
const FAR: f64 = 1e-4;

/// Pivots below this part of the largest one are zero.
const RANK_TOLERANCE: f64 = 1e-10;

/// The derivative of the state at the end by the state at the start.
#[derive(Clone, Debug)]
pub struct Wronski {
    /// The time at the end, s.
    pub t: f64,
    /// p and v at the end. (2n)
    pub y: Vec<f64>,
    /// Degrees of freedom f; there are 2f directions.
    pub freedoms: usize,
    /// Directions at the start in natural coordinates, M-orthonormal: f of positions, then f of velocities. (2n × 2f)
    pub directions: DMatrix<f64>,
    /// The derivative along them at the start, after the projection. (2n × 2f)
    pub start: DMatrix<f64>,
    /// The derivative along them at the end. (2n × 2f)
    pub end: DMatrix<f64>,
    /// ∂y/∂u at the end, by the model's inputs held at other values. (2n × inputs)
    pub inputs: DMatrix<f64>,
    /// The diagonal of M. (n)
    mass: Vec<f64>,
}

impl Wronski {
    /// ∂y(t₁)/∂y₀ in natural coordinates, zero across the conditions. (2n × 2n)
    pub fn matrix(&self) -> DMatrix<f64> {
        let n = self.mass.len();
        let weighted = DMatrix::from_fn(2 * self.freedoms, 2 * n, |k, i| {
            self.directions[(i, k)] * self.mass[i % n]
        });
        &self.end * weighted
    }

    /// The same between the directions, for motions that come back to their start: the monodromy matrix. (2f × 2f)
    pub fn monodromy(&self) -> DMatrix<f64> {
        // Coordinates of a tangent vector: the least squares solution, since the derivative at the start is a basis.
        let svd = self.start.clone().svd(true, true);
        svd.solve(&self.end, 1e-13).unwrap_or_else(|_| DMatrix::zeros(0, 0))
    }

    /// Eigenvalues of the monodromy matrix: all within the unit circle, the motion is stable.
    pub fn multipliers(&self) -> Vec<Complex<f64>> {
        self.monodromy().complex_eigenvalues().iter().copied().collect()
    }
}

/// Why there is no derivative.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SensitivityError {
    /// The run itself failed.
    #[error(transparent)]
    Run(#[from] DaeError),
    /// Near the start something else happens: the end does not depend smoothly on it.
    #[error("t = {t} s: the motion does not depend smoothly on its start here: {what}")]
    NotSmooth {
        /// When.
        t: f64,
        /// What differs.
        what: String,
    },
}

/// The main trajectory and its variations, one after the other in y.
struct Bundle<'m> {
    equations: Equations<'m>,
    switches: Switches,
    tolerance: f64,
    /// Inputs of each trajectory.
    held: Vec<Vec<f64>>,
    /// Length of y of one.
    n: usize,
}

impl Bundle<'_> {
    fn hold(&mut self, k: usize) {
        self.equations.work.held.clone_from(&self.held[k]);
    }
}

impl System for Bundle<'_> {
    fn dim(&self) -> usize {
        self.n * self.held.len()
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        let n = self.n;
        for k in 0..self.held.len() {
            self.hold(k);
            if !self.equations.rates(t, &y[k * n..][..n], &mut dy[k * n..][..n]) {
                return Err(Failure::Domain);
            }
        }
        self.hold(0);
        Ok(())
    }

    fn n_switches(&self) -> usize {
        self.switches.watched.len()
    }

    fn switches(&mut self, t: f64, y: &[f64], g: &mut [f64]) -> Result<(), Failure> {
        self.equations.switch_values(&mut self.switches, t, &y[..self.n], g);
        if g.iter().all(|g| g.is_finite()) { Ok(()) } else { Err(Failure::Domain) }
    }

    fn direction(&self, switch: usize) -> Direction {
        match self.switches.watched[switch] {
            Watched::Kink(_) => Direction::Both,
            Watched::Bound(_) | Watched::Break(..) => Direction::Falling,
        }
    }

    fn accepted(&mut self, t: f64, y: &mut [f64]) -> Result<bool, Failure> {
        let n = self.n;
        let found = self.equations.invariants(t, &y[..n]);
        if found.position <= self.tolerance && found.velocity <= self.tolerance {
            return Ok(false);
        }
        for k in (0..self.held.len()).rev() {
            let projected = self.equations.project(t, &mut y[k * n..][..n]);
            projected.map_err(|_| Failure::Stop("a joint stays open".to_owned()))?;
        }
        Ok(true)
    }
}

/// The derivative of the state at `t1` by the state at the start, and by the model's inputs.
pub fn wronski(
    model: &Model,
    start: &State,
    t1: f64,
    options: &Options,
) -> Result<Wronski, SensitivityError> {
    check_model(model)?;
    let t0 = start.t;
    let mut equations = Equations::new(model, start);
    let mut switches = Switches::new(&equations);
    let mut y = equations.y_of(start);
    let closed = |error: crate::project::NotClosed| explain(model, t0, error.into());
    equations.project(t0, &mut y).map_err(closed)?;
    if !switches.watched.is_empty() {
        let settled = equations.switch(&mut switches, t0, &mut y, &[]);
        settled.map_err(|error| explain(model, t0, error))?;
    }
    equations.read(t0, &y);
    equations.arrive(t0);
    let n = y.len();
    let directions = equations.tangents(t0, &y);
    let freedoms = directions.ncols();
    let coordinates = equations.layout().n;

    // Main, then a pair for each direction of positions, of velocities, and for each input.
    let mut bundle: Vec<Vec<f64>> = vec![y.clone()];
    for k in 0..2 * freedoms {
        let offset = if k < freedoms { 0 } else { coordinates };
        for sign in [1.0, -1.0] {
            let mut varied = y.clone();
            for i in 0..coordinates {
                varied[offset + i] += sign * EPSILON * directions[(i, k % freedoms)];
            }
            equations.project(t0, &mut varied).map_err(closed)?;
            bundle.push(varied);
        }
    }
    let inputs: Vec<f64> = model.inputs.iter().map(|input| input.value).collect();
    let mut held = vec![inputs.clone(); bundle.len()];
    for i in 0..inputs.len() {
        for sign in [1.0, -1.0] {
            let mut other = inputs.clone();
            other[i] += sign * EPSILON;
            held.push(other);
            bundle.push(y.clone());
        }
    }
    let n_columns = (bundle.len() - 1) / 2;
    let all = bundle.concat();
    let start_columns = columns(&all, n, 1.0 / EPSILON);
    // The norm of the error is a mean over all components, of which only the first n count.
    let share = (n as f64 / all.len() as f64).sqrt();
    let mut atol = vec![options.atol * share; n];
    atol.resize(all.len(), 1e200);
    let tolerance = options
        .invariant_tolerance
        .unwrap_or_else(|| (10.0 * options.rtol.max(options.atol)).max(1e-13));
    let settings = gelenk_ode::Options {
        method: Method::Dop853,
        rtol: (options.rtol * share).max(1e-14),
        atol_each: Some(atol),
        max_steps: options.max_steps,
        ..gelenk_ode::Options::default()
    };
    equations.read(t0, &y);
    let mut system = Bundle { equations, switches, tolerance, held, n };
    let failed = |error| DaeError::Integrator { error };
    let mut integrator = Integrator::new(settings, t0, &all).map_err(failed)?;
    // Columns are these times what the pairs are apart.
    let mut scale = vec![1.0 / EPSILON; n_columns];
    while integrator.t() < t1 {
        let stop = integrator.advance(&mut system, t1).map_err(failed)?;
        let t = integrator.t();
        let mut all = integrator.y().to_vec();
        system.equations.read(t, &all[..n]);
        system.equations.arrive(t);
        let event = matches!(stop, Stop::Event | Stop::Chattering);
        let found = scaled_columns(&all, n, &scale);
        let apart = |k: usize| found.column(k).amax() / scale[k];
        let far = (0..n_columns).any(|k| apart(k) > FAR);
        if !event && !far {
            continue;
        }
        let found = if event {
            let fired = integrator.events().to_vec();
            salt(&mut system, t, &mut all, &fired, &found, model)?
        } else {
            found
        };
        for k in 0..n_columns {
            let size = found.column(k).amax();
            scale[k] = size.max(1e-3) / EPSILON;
            for i in 0..n {
                let step = found[(i, k)] / scale[k];
                all[(1 + 2 * k) * n + i] = all[i] + step;
                all[(2 + 2 * k) * n + i] = all[i] - step;
            }
        }
        integrator.set_state(&all);
    }
    let all = integrator.y();
    let found = scaled_columns(all, n, &scale);
    let m = 2 * coordinates;
    let pick = |from: usize, count: usize, matrix: &DMatrix<f64>| {
        matrix.view((0, from), (m, count)).into_owned()
    };
    let mut whole = DMatrix::zeros(m, 2 * freedoms);
    for k in 0..freedoms {
        for i in 0..coordinates {
            whole[(i, k)] = directions[(i, k)];
            whole[(coordinates + i, freedoms + k)] = directions[(i, k)];
        }
    }
    Ok(Wronski {
        t: t1,
        y: all[..m].to_vec(),
        freedoms,
        directions: whole,
        start: pick(0, 2 * freedoms, &start_columns),
        end: pick(0, 2 * freedoms, &found),
        inputs: pick(2 * freedoms, inputs.len(), &found),
        mass: system.equations.layout().mass(model),
    })
}

/// (y⁺ − y⁻)/2 times a factor, pair by pair. (n × pairs)
fn columns(all: &[f64], n: usize, factor: f64) -> DMatrix<f64> {
    let n_columns = (all.len() / n - 1) / 2;
    scaled_columns(all, n, &vec![factor; n_columns])
}

fn scaled_columns(all: &[f64], n: usize, scale: &[f64]) -> DMatrix<f64> {
    DMatrix::from_fn(n, scale.len(), |i, k| {
        0.5 * scale[k] * (all[(1 + 2 * k) * n + i] - all[(2 + 2 * k) * n + i])
    })
}

/// The event at t for the main trajectory, and the columns after it.
fn salt(
    system: &mut Bundle<'_>,
    t: f64,
    all: &mut [f64],
    fired: &[gelenk_ode::Event],
    columns: &DMatrix<f64>,
    model: &Model,
) -> Result<DMatrix<f64>, SensitivityError> {
    let n = system.n;
    let before = all[..n].to_vec();
    let not_smooth = |what: &str| SensitivityError::NotSmooth { t, what: what.to_owned() };
    let Some(first) = fired.first() else { return Ok(columns.clone()) };
    if first.kind == gelenk_ode::EventKind::Grazing {
        return Err(not_smooth("a switching function only touches zero"));
    }
    let mut f_before = vec![0.0; n];
    system.equations.rates(t, &before, &mut f_before);
    let mut g = vec![0.0; system.switches.watched.len()];
    let mut value = |system: &mut Bundle<'_>, t: f64, y: &[f64]| {
        system.equations.switch_values(&mut system.switches, t, y, &mut g);
        g[first.switch]
    };
    let moved = |y: &[f64], w: &dyn Fn(usize) -> f64, factor: f64| -> Vec<f64> {
        y.iter().enumerate().map(|(i, y)| y + factor * w(i)).collect()
    };
    let tau = 1e-6;
    let along = |i: usize| f_before[i];
    let later = value(system, t + tau, &moved(&before, &along, tau));
    let earlier = value(system, t - tau, &moved(&before, &along, -tau));
    let rate = (later - earlier) / (2.0 * tau);
    if rate == 0.0 || !rate.is_finite() {
        return Err(not_smooth("a switching function stands still at its zero"));
    }
    let n_columns = columns.ncols();
    let mut shifts = vec![0.0; n_columns];
    for (k, shift) in shifts.iter_mut().enumerate() {
        let w = columns.column(k);
        let step = EPSILON / w.amax().max(1e-3);
        let there = value(system, t, &moved(&before, &|i| w[i], step));
        let here = value(system, t, &moved(&before, &|i| w[i], -step));
        *shift = -(there - here) / (2.0 * step) / rate;
    }
    // The event of the main trajectory and, from the modes before it, those of its neighbours.
    let (old_equations, old_switches) = (system.equations.clone(), system.switches.clone());
    let mut after = before.clone();
    let told = |error| SensitivityError::Run(explain(model, t, error));
    system.equations.read(t, &before);
    system.equations.switch(&mut system.switches, t, &mut after, fired).map_err(told)?;
    let mut f_after = vec![0.0; n];
    system.equations.rates(t, &after, &mut f_after);
    all[..n].copy_from_slice(&after);
    let mut result = DMatrix::zeros(n, n_columns);
    for k in 0..n_columns {
        let w: DVector<f64> = columns.column(k).into_owned();
        let shifted = |i: usize| w[i] + f_before[i] * shifts[k];
        let step = 0.1 * EPSILON / (0..n).fold(1e-3, |a: f64, i| a.max(shifted(i).abs()));
        let mut ends = [Vec::new(), Vec::new()];
        for (end, sign) in ends.iter_mut().zip([1.0, -1.0]) {
            let (mut equations, mut switches) = (old_equations.clone(), old_switches.clone());
            let mut y = moved(&before, &shifted, sign * step);
            equations.read(t, &y);
            equations.switch(&mut switches, t, &mut y, fired).map_err(told)?;
            if equations.mode != system.equations.mode {
                return Err(not_smooth("neighbours hold and let go elsewhere"));
            }
            *end = y;
        }
        for i in 0..n {
            result[(i, k)] = (ends[0][i] - ends[1][i]) / (2.0 * step) - f_after[i] * shifts[k];
        }
    }
    Ok(result)
}

impl Equations<'_> {
    /// An M-orthonormal basis of the movements that the conditions allow at (t, y), in natural coordinates. (n × degrees of freedom)
    pub fn tangents(&mut self, t: f64, y: &[f64]) -> DMatrix<f64> {
        self.read(t, y);
        self.jacobians(t);
        // Columns of unit mass: world axes of centres, principal axes of turns.
        let mut moves: Vec<(usize, usize, f64)> = Vec::new();
        for (k, place) in self.layout.places.iter().enumerate() {
            let body = &self.model.bodies[place.body];
            moves.extend((0..3).map(|axis| (k, axis, body.mass_inv.sqrt())));
            if place.rigid {
                let turns = (0..3).filter(|&i| body.inertia_inv[i] > 0.0);
                moves.extend(turns.map(|i| (k, 3 + i, body.inertia_inv[i].sqrt())));
            }
        }
        let blocks = self.holding();
        let rows: usize = blocks.iter().map(|&i| self.model.rows[i].n_rows).sum();
        let size = moves.len();
        // Aᵀ with zero columns up to a square, so that Q is whole.
        let mut matrix = DMatrix::<f64>::zeros(size, rows.max(size));
        let mut row = 0;
        for &i in &blocks {
            let block = &self.model.rows[i];
            let width = 6 * block.bodies.len();
            for jac in self.rows.jacobian(i).chunks(width.max(1)) {
                for (slot, body) in block.bodies.iter().enumerate() {
                    let Some(place) = self.layout.of_body[body.index()] else { continue };
                    let rot = &self.poses[body.index()].rot;
                    for (column, &(k, axis, weight)) in moves.iter().enumerate() {
                        if k != place {
                            continue;
                        }
                        let entries = &jac[6 * slot..6 * slot + 6];
                        let value = if axis < 3 {
                            entries[axis]
                        } else {
                            let u = rot.column(axis - 3);
                            entries[3] * u[0] + entries[4] * u[1] + entries[5] * u[2]
                        };
                        matrix[(column, row)] += weight * value;
                    }
                }
                row += 1;
            }
        }
        let qr = matrix.col_piv_qr();
        let (q, r) = (qr.q(), qr.r());
        let pivots: Vec<f64> = (0..r.nrows().min(r.ncols())).map(|i| r[(i, i)].abs()).collect();
        let largest = pivots.iter().fold(0.0, |a: f64, b| a.max(*b));
        let rank = pivots.iter().filter(|p| **p > RANK_TOLERANCE * largest && **p > 0.0).count();
        let mut basis = DMatrix::zeros(self.layout.n, size - rank);
        for f in 0..size - rank {
            for (column, &(k, axis, weight)) in moves.iter().enumerate() {
                let x = q[(column, rank + f)] * weight;
                let place = &self.layout.places[k];
                if axis < 3 {
                    basis[(place.first + axis, f)] += x;
                } else {
                    let rot = &self.poses[place.body].rot;
                    let axis_world = rot.column(axis - 3).into_owned();
                    let turn = axis_world.cross_matrix() * rot * x;
                    for (e, entry) in turn.as_slice().iter().enumerate() {
                        basis[(place.first + 3 + e, f)] += entry;
                    }
                }
            }
        }
        basis
    }
}
