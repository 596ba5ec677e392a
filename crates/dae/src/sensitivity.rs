//! Sensitivities: how the state at the end answers to the state at the start, to inputs and to parameters.
//!
//! Either the equations are differentiated, with exact derivatives of the right-hand side ([`crate::tangent`]), and integrated in the steps of the motion; or varied trajectories go beside the main one in the same steps (internal numerical differentiation), so that what is differentiated is a smooth map and not the
//! choice of steps. They begin where the initial projection puts a start that is moved along the conditions, forward and backward: as many directions as
//! there are degrees of freedom, twice; across the conditions the derivative is zero by construction (\[Laufen\] §3). At an event the step ends for all, and the
//! derivative jumps by the saltation
//! ```text
//! δt = −∇g·w/ġ,    w⁺ = ∂R (w + f⁻ δt) − f⁺ δt
//! ```
//! with g the switching function, R what happens there, f⁻ and f⁺ the right-hand sides before and after.

mod basis;
mod bundle;
mod salt;

use gelenk_model::variation::Variation;
use gelenk_model::{Model, State};
use gelenk_ode::{Integrator, Method, Stop};
use nalgebra::{Complex, DMatrix};

use self::bundle::{Bundle, Column, Parameter};
use self::salt::salt;
use crate::equations::{Equations, Ramp};
use crate::simulation::{DaeError, Options, check_model, explain};
use crate::switch::Switches;
use crate::tangent::Tangents;

/// How far varied trajectories go from the main one.
const EPSILON: f64 = 1e-5;

/// How far apart impacts are of which differences are taken.
const IMPACT: f64 = 1e-6;

/// Times farther they are brought back.
const FAR: f64 = 10.0;

/// The derivative of the state at the end by the state at the start.
#[derive(Clone, Debug)]
pub struct Wronski {
    /// The time at the end, s.
    pub t: f64,
    /// p and v at the end. (2n)
    pub y: Vec<f64>,
    /// p and v at the start, on the conditions. (2n)
    pub y_start: Vec<f64>,
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
    /// ∂y/∂p at the end, by the parameters that were varied. (2n × parameters)
    pub parameters: DMatrix<f64>,
    /// Steps.
    pub steps: u64,
    /// Evaluations of the accelerations of the main trajectory and, by differences, of its neighbours.
    pub evaluations: u64,
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

/// How derivatives are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivatives {
    /// The equations differentiated along the motion, ẇ = (∂f/∂y) w + ∂f/∂u, with exact ∂f/∂y and ∂f/∂u.
    Exact,
    /// Internal numerical differentiation: neighbours in the same steps, central differences.
    Internal,
}

/// A parameter of the model: the model with a larger and with a smaller value, each with its start. Both must have the bodies,
/// joints and rows of the model itself.
#[derive(Clone, Copy, Debug)]
pub struct Varied<'m> {
    /// With the value p + h.
    pub larger: (&'m Model, &'m State),
    /// With the value p − h.
    pub smaller: (&'m Model, &'m State),
    /// h.
    pub step: f64,
    /// The numbers of the model with their exact derivatives, and the lane of this parameter among them. All lanes of a variation must follow each other.
    pub exact: Option<(&'m Variation, usize)>,
}

/// The derivative of the state at `t1` by the state at the start, and by the model's inputs, by internal numerical differentiation.
pub fn wronski(
    model: &Model,
    start: &State,
    t1: f64,
    options: &Options,
) -> Result<Wronski, SensitivityError> {
    sensitivities(model, start, t1, options, Derivatives::Internal, &[])
}

/// The derivative of the state at `t1` by the state at the start, by the model's inputs, and by parameters.
///
/// Parameters are varied by loading the model with two other values: with exact derivatives ∂f/∂p is the difference of the two right-hand sides at one
/// state, good to ten digits, and ∂f/∂y is exact.
pub fn sensitivities<'m>(
    model: &'m Model,
    start: &State,
    t1: f64,
    options: &Options,
    kind: Derivatives,
    parameters: &[Varied<'m>],
) -> Result<Wronski, SensitivityError> {
    along(model, start, t1, options, kind, parameters, None)
}

/// The derivative of the state at `t1` by the state at the start while inputs go on lines, as those of a control do; by internal numerical differentiation.
pub fn wronski_driven(
    model: &Model,
    start: &State,
    t1: f64,
    ramp: &Ramp,
    options: &Options,
) -> Result<Wronski, SensitivityError> {
    along(model, start, t1, options, Derivatives::Internal, &[], Some(ramp))
}

fn along<'m>(
    model: &'m Model,
    start: &State,
    t1: f64,
    options: &Options,
    kind: Derivatives,
    parameters: &[Varied<'m>],
    ramp: Option<&Ramp>,
) -> Result<Wronski, SensitivityError> {
    check_model(model)?;
    let t0 = start.t;
    let closed = |error: crate::project::NotClosed| explain(model, t0, error.into());
    let (mut equations, switches, y) = begin(model, start)?;
    if let Some(ramp) = ramp {
        equations.drive(ramp.clone());
    }
    let (n, coordinates) = (y.len(), equations.layout().n);
    let directions = equations.tangents(t0, &y);
    let freedoms = directions.ncols();
    let mut tangents = Tangents::new(&equations);
    let modes = equations.mode.clone();

    // Columns at the start, by direction of positions and of velocities, then by input, then by parameter.
    let mut begins: Vec<[Vec<f64>; 2]> = Vec::new();
    let mut columns = Vec::new();
    let mut scale = Vec::new();
    for k in 0..2 * freedoms {
        let offset = if k < freedoms { 0 } else { coordinates };
        let mut w = vec![0.0; n];
        for i in 0..coordinates {
            w[offset + i] = directions[(i, k % freedoms)];
        }
        // As far in the coordinate that goes farthest.
        let step = EPSILON / w.iter().fold(1e-3, |a: f64, b| a.max(b.abs()));
        let ends = if kind == Derivatives::Exact {
            equations.project_columns(&mut tangents, t0, &y, &mut [&mut w]);
            [w, Vec::new()]
        } else {
            let mut ends = [y.clone(), y.clone()];
            for (end, sign) in ends.iter_mut().zip([step, -step]) {
                for (end, w) in end.iter_mut().zip(&w) {
                    *end += sign * w;
                }
                equations.project(t0, end).map_err(closed)?;
            }
            ends
        };
        begins.push(ends);
        columns.push(Column::Start);
        scale.push(1.0 / step);
    }
    for i in 0..model.inputs.len() {
        begins.push(match kind {
            Derivatives::Exact => [vec![0.0; n], Vec::new()],
            Derivatives::Internal => [y.clone(), y.clone()],
        });
        columns.push(Column::Input(i));
        scale.push(1.0 / EPSILON);
    }
    for varied in parameters {
        let mut both = Vec::new();
        for (model, start) in [varied.larger, varied.smaller] {
            let (equations, _, y) = begin(model, start)?;
            if y.len() != n || equations.mode != modes {
                return Err(SensitivityError::NotSmooth {
                    t: t0,
                    what: "a parameter changes how many bodies or conditions there are".to_owned(),
                });
            }
            both.push((equations, y));
        }
        let (Some((smaller, y_smaller)), Some((larger, y_larger))) = (both.pop(), both.pop())
        else {
            continue;
        };
        begins.push(match (kind, varied.exact) {
            (Derivatives::Exact, Some((variation, lane))) => {
                let all = equations.start_along(&mut tangents, variation, start, &y);
                let mut column = all.into_iter().nth(lane).unwrap_or_default();
                column.resize(n, 0.0);
                [column, Vec::new()]
            }
            (Derivatives::Exact, None) => {
                let slope = |(a, b): (&f64, &f64)| (a - b) / (2.0 * varied.step);
                [y_larger.iter().zip(&y_smaller).map(slope).collect(), Vec::new()]
            }
            (Derivatives::Internal, _) => [y_larger, y_smaller],
        });
        columns.push(Column::Parameter(Box::new(Parameter {
            pair: [larger, smaller],
            step: varied.step,
            exact: varied.exact,
        })));
        scale.push(1.0 / varied.step);
    }
    let n_columns = columns.len();
    let mut all = y.clone();
    for [a, b] in begins {
        all.extend(a);
        all.extend(b);
    }
    // The norm of the error is a mean over all components: so counted, the motion has the error it has alone, and each exact column one of its own, measured against its
    // size at the start. Neighbours must take the steps of the motion.
    let share = (n as f64 / all.len() as f64).sqrt();
    let mut atol = vec![options.atol * share; n];
    for column in all[n..].chunks(n) {
        let size = column.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
        let counts = kind == Derivatives::Exact && options.control_derivatives;
        let own = if counts { options.atol * share * size } else { 1e200 };
        atol.resize(atol.len() + n, own);
    }
    // Each projection leaves rounding in neighbours, which differences enlarge a hundred thousand times: they are put back less often.
    let tolerance = match kind {
        Derivatives::Exact => options.invariants(),
        Derivatives::Internal => 10.0 * options.invariants(),
    };
    let settings = gelenk_ode::Options {
        method: Method::Dop853,
        rtol: (options.rtol * share).max(1e-14),
        atol_each: Some(atol),
        max_steps: options.max_steps,
        ..gelenk_ode::Options::default()
    };
    equations.read(t0, &y);
    let mut system = Bundle { kind, equations, switches, tolerance, columns, scale, n, tangents };
    system.follow();
    system.choose(t0, &y);
    let start_columns = system.read(&all);
    let failed = |error| DaeError::Integrator { error };
    let mut integrator = Integrator::new(settings, t0, &all).map_err(failed)?;
    while integrator.t() < t1 {
        let stop = integrator.advance(&mut system, t1).map_err(failed)?;
        let t = integrator.t();
        system.equations.read(t, &integrator.y()[..n]);
        system.equations.arrive(t);
        system.follow();
        let event = matches!(stop, Stop::Event | Stop::Chattering);
        let far = |k: usize, found: &DMatrix<f64>| {
            !matches!(system.columns[k], Column::Parameter(..))
                && found.column(k).amax() / system.scale[k] > FAR * EPSILON
        };
        let mut all = integrator.y().to_vec();
        if event {
            let fired = integrator.events().to_vec();
            let found = system.read(&all);
            let found = salt(&mut system, t, &mut all, &fired, &found, model)?;
            system.write(&mut all, &found);
            integrator.set_state(&all);
        } else if kind == Derivatives::Internal {
            let found = system.read(&all);
            if (0..n_columns).any(|k| far(k, &found)) {
                system.write(&mut all, &found);
                integrator.set_state(&all);
            }
        }
    }
    let all = integrator.y();
    let found = system.read(all);
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
    let inputs = model.inputs.len();
    Ok(Wronski {
        t: t1,
        y: all[..m].to_vec(),
        y_start: y[..m].to_vec(),
        freedoms,
        directions: whole,
        start: pick(0, 2 * freedoms, &start_columns),
        end: pick(0, 2 * freedoms, &found),
        inputs: pick(2 * freedoms, inputs, &found),
        parameters: pick(2 * freedoms + inputs, parameters.len(), &found),
        steps: integrator.stats().steps as u64,
        evaluations: system.equations.evaluations,
        mass: system.equations.layout().mass(model),
    })
}

/// Equations, switching functions and y of a start, on the conditions, its modes found.
fn begin<'m>(
    model: &'m Model,
    start: &State,
) -> Result<(Equations<'m>, Switches, Vec<f64>), DaeError> {
    let t0 = start.t;
    let mut equations = Equations::new(model, start);
    let mut switches = Switches::new(&equations);
    let mut y = equations.y_of(start);
    equations.project(t0, &mut y).map_err(|error| explain(model, t0, error.into()))?;
    if !switches.watched.is_empty() {
        let settled = equations.switch(&mut switches, t0, &mut y, &[]);
        settled.map_err(|error| explain(model, t0, error))?;
    }
    equations.read(t0, &y);
    equations.arrive(t0);
    Ok((equations, switches, y))
}
