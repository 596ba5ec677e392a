//! Motions of the systems of LAGR's decks: step 3 of the program of 1978, which printed the coefficients and left the integration to
//! others.
//!
//! ```text
//! g q̈ + Γ q̇ q̇ = Q + Jᵀλ        J q̈ = γ − 2 α Ċ − α² C        ẏ = (q̇, q̈)
//! ```
//! The second holds conditions between coordinates, if there are any, with α = [`RETURN`].
//! Coefficients are those of [`deck`](crate::deck), with numbers for their parameters; the integrator is that of order 8 in
//! [`gelenk_ode`].

use gelenk_expr::{Expr, Pool, Tape, nearest};
use gelenk_lagrange::deck::{ForceFunction, Source, SystemResult};
use gelenk_ode::{Failure, Integrator, Options, System};
use nalgebra::{DMatrix, DVector};

/// Most samples of a motion.
const MOST_SAMPLES: f64 = 1e6;

/// α, 1/s: how fast what the integrator leaves of the conditions dies away. Over 10 s of a pendulum of 1 m by a condition the gap stays
/// below 2e-12 m with a tolerance of 1e-10.
pub const RETURN: f64 = 5.0;

/// Conditions that the start misses by more are refused.
const MISSED: f64 = 1e-6;

/// What to integrate.
#[derive(Clone, Debug, PartialEq)]
pub struct DeckSettings {
    /// Values by name: parameters, `Q(k)` and `QP(k)` at the start. Coordinates and rates that are left out are 0.
    pub values: Vec<(String, f64)>,
    /// Simulated time, s.
    pub duration: f64,
    /// Time between samples, s.
    pub step: f64,
    /// Relative and absolute tolerance of the integration.
    pub tolerance: f64,
    /// Which replacement list for the kinetic energy, 0 for none.
    pub kinetic_list: usize,
    /// Which replacement list for the forces, 0 for none.
    pub force_list: usize,
}

/// A motion.
#[derive(Clone, Debug)]
pub struct DeckMotion {
    /// Names of the values of a sample: `Q(1)` …, `QP(1)` …
    pub names: Vec<String>,
    /// The samples.
    pub samples: Vec<DeckSample>,
    /// Steps of the integrator.
    pub steps: usize,
}

/// A moment of a motion.
#[derive(Clone, Debug, PartialEq)]
pub struct DeckSample {
    /// Time, s.
    pub t: f64,
    /// Coordinates, then rates.
    pub y: Vec<f64>,
    /// ½ g_μν q̇^μ q̇^ν, μ, ν = 0..f.
    pub kinetic: f64,
    /// The potential of all forces, where they have one and no list is taken for the forces.
    pub potential: Option<f64>,
    /// Largest |C| of a condition; 0 without.
    pub gap: f64,
}

/// Why there is no motion.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeckRunError {
    /// A name that the equations do not have.
    #[error("there is no `{name}` in the equations{}", near.as_ref().map_or(String::new(), |near| format!("; did you mean `{near}`?")))]
    Unknown {
        /// As given.
        name: String,
        /// One like it.
        near: Option<String>,
    },
    /// Parameters without a value.
    #[error("these need a value: {}", names.join(", "))]
    Missing {
        /// Their names.
        names: Vec<String>,
    },
    /// A replacement list that is not there.
    #[error(
        "there are {kinetic} replacement lists for the kinetic energy and {force} for the forces"
    )]
    NoList {
        /// For G and GAM.
        kinetic: usize,
        /// For KU.
        force: usize,
    },
    /// Too many samples.
    #[error("{duration} s in steps of {step} s are more than a million samples")]
    TooManySamples {
        /// Duration, s.
        duration: f64,
        /// Step, s.
        step: f64,
    },
    /// The start misses a condition.
    #[error("the start misses condition {condition}: its value is {value:e}, its rate {rate:e}")]
    Start {
        /// Its number, from 1.
        condition: usize,
        /// C.
        value: f64,
        /// Ċ.
        rate: f64,
    },
    /// The integration failed.
    #[error(transparent)]
    Integration(#[from] gelenk_ode::Error),
    /// The equations cannot be evaluated.
    #[error("the equations cannot be evaluated: {0}")]
    Equations(String),
}

/// Integrates a system of a deck.
pub fn run_deck(
    pool: &mut Pool,
    system: &SystemResult,
    settings: &DeckSettings,
) -> Result<DeckMotion, DeckRunError> {
    let f = system.f;
    let program = system.program(pool, "deck", settings.kinetic_list, settings.force_list);
    let program = program.ok_or_else(|| DeckRunError::NoList {
        kinetic: system.kinetics.len() - 1,
        force: system.forces.len() - 1,
    })?;
    let n_samples = (settings.duration / settings.step).round();
    if n_samples.is_nan() || n_samples > MOST_SAMPLES {
        let DeckSettings { duration, step, .. } = *settings;
        return Err(DeckRunError::TooManySamples { duration, step });
    }
    let mut outputs: Vec<Expr> = program.outputs.iter().flat_map(|o| o.1.clone()).collect();
    outputs.push(kinetic_energy(pool, system, settings.kinetic_list));
    let symbols: Vec<Expr> = program.inputs.iter().map(|input| input.1).collect();
    let known = |e: &Expr| pool.symbols_of(*e).iter().all(|symbol| symbols.contains(symbol));
    let potential = potential(system, settings).filter(known);
    outputs.extend(potential);
    let tape = Tape::compile(pool, &outputs, &symbols)
        .map_err(|error| DeckRunError::Equations(error.to_string()))?;
    let names: Vec<String> = program.inputs.iter().map(|input| input.0.clone()).collect();
    let inputs = values(&names, f, &settings.values)?;
    let mut motion = Motion {
        registers: vec![0.0; tape.n_registers()],
        values: vec![0.0; tape.n_outputs()],
        first: names.len() - 2 * f - 1,
        tape,
        inputs,
        f,
        m: system.conditions.len(),
    };
    let t_0 = motion.inputs[motion.first];
    let y = motion.inputs[motion.first + 1..].to_vec();
    motion.evaluate(t_0, &y);
    for k in 0..motion.m {
        let (value, rate) = (motion.conditions()[k], motion.condition_rates()[k]);
        if !(value.abs() <= MISSED && rate.abs() <= MISSED) {
            return Err(DeckRunError::Start { condition: k + 1, value, rate });
        }
    }
    let options =
        Options { rtol: settings.tolerance, atol: settings.tolerance, ..Options::default() };
    let mut integrator = Integrator::new(options, t_0, &y)?;
    let mut samples = vec![motion.sample(t_0, &y, potential.is_some())];
    let mut i = 0.0;
    while i < n_samples {
        i += 1.0;
        integrator.run(&mut motion, t_0 + i * settings.step)?;
        samples.push(motion.sample(integrator.t(), integrator.y(), potential.is_some()));
    }
    let names = names[names.len() - 2 * f..].to_vec();
    Ok(DeckMotion { names, samples, steps: integrator.stats().steps })
}

fn kinetic_energy(pool: &mut Pool, system: &SystemResult, list: usize) -> Expr {
    let mut terms = Vec::new();
    for (mu, row) in system.kinetics[list].g.iter().enumerate() {
        for (nu, &g) in row.iter().enumerate() {
            let factor = if mu == nu { Expr::HALF } else { Expr::ONE };
            terms.push(pool.mul(&[factor, g, system.rates[mu], system.rates[nu]]));
        }
    }
    pool.add(&terms)
}

fn potential(system: &SystemResult, settings: &DeckSettings) -> Option<Expr> {
    if settings.force_list != 0 {
        return None;
    }
    let all = system.functions.iter().find(|functions| functions.source == Source::All)?;
    match all.potential {
        ForceFunction::Zero => Some(Expr::ZERO),
        ForceFunction::Is(e) => Some(e),
        _ => None,
    }
}

/// The values of the inputs: parameters, time, coordinates, rates.
fn values(names: &[String], f: usize, given: &[(String, f64)]) -> Result<Vec<f64>, DeckRunError> {
    let plain = |name: &str| {
        name.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_uppercase()
    };
    let mut values: Vec<Option<f64>> = vec![None; names.len()];
    for slot in values.iter_mut().rev().take(2 * f + 1) {
        *slot = Some(0.0);
    }
    for (name, value) in given {
        let at = names.iter().position(|known| plain(known) == plain(name));
        let Some(at) = at else {
            let near = nearest(&plain(name), names.iter().map(String::as_str)).map(str::to_owned);
            return Err(DeckRunError::Unknown { name: name.clone(), near });
        };
        values[at] = Some(*value);
    }
    let missing = names.iter().zip(&values).filter(|(_, value)| value.is_none());
    let missing: Vec<String> = missing.map(|(name, _)| name.clone()).collect();
    if missing.is_empty() {
        Ok(values.into_iter().flatten().collect())
    } else {
        Err(DeckRunError::Missing { names: missing })
    }
}

/// The equations with numbers in them.
struct Motion {
    tape: Tape,
    registers: Vec<f64>,
    /// Mass matrix, bias, force, kinetic energy, potential.
    values: Vec<f64>,
    inputs: Vec<f64>,
    /// Place of the time among the inputs.
    first: usize,
    f: usize,
    /// Number of conditions.
    m: usize,
}

impl Motion {
    fn evaluate(&mut self, t: f64, y: &[f64]) {
        self.inputs[self.first] = t;
        self.inputs[self.first + 1..].copy_from_slice(y);
        self.tape.eval(&self.inputs, &mut self.registers, &mut self.values);
    }

    /// C. (m)
    fn conditions(&self) -> &[f64] {
        &self.values[self.f * (self.f + 2)..][..self.m]
    }

    /// Ċ. (m)
    fn condition_rates(&self) -> &[f64] {
        &self.values[self.f * (self.f + 2) + self.m * (self.f + 2)..][..self.m]
    }

    fn sample(&mut self, t: f64, y: &[f64], has_potential: bool) -> DeckSample {
        self.evaluate(t, y);
        let energies = self.f * (self.f + 2) + self.m * (self.f + 3);
        let gap = self.conditions().iter().fold(0.0_f64, |most, c| most.max(c.abs()));
        DeckSample {
            gap,
            t,
            y: y.to_vec(),
            kinetic: self.values[energies],
            potential: has_potential.then(|| self.values[energies + 1]),
        }
    }
}

impl Motion {
    /// q̈ and −λ of [g Jᵀ; J 0] (q̈, −λ) = (Q − Γ q̇ q̇, γ − 2 α Ċ − α² C).
    fn constrained(&self, matrix: &DMatrix<f64>, right: &DVector<f64>) -> Option<DVector<f64>> {
        let (f, m) = (self.f, self.m);
        let first = f * (f + 2) + m;
        let (jacobian, gamma) = (&self.values[first..], &self.values[first + m * f..]);
        let (c, rate) = (self.conditions(), self.condition_rates());
        let whole = DMatrix::from_fn(f + m, f + m, |i, j| match (i < f, j < f) {
            (true, true) => matrix[(i, j)],
            (true, false) => jacobian[(j - f) * f + i],
            (false, true) => jacobian[(i - f) * f + j],
            (false, false) => 0.0,
        });
        let right = DVector::from_fn(f + m, |i, _| {
            if i < f {
                return right[i];
            }
            let k = i - f;
            gamma[k] - 2.0 * RETURN * rate[k] - RETURN * RETURN * c[k]
        });
        whole.lu().solve(&right)
    }
}

impl System for Motion {
    fn dim(&self) -> usize {
        2 * self.f
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), Failure> {
        self.evaluate(t, y);
        let f = self.f;
        let matrix = DMatrix::from_row_slice(f, f, &self.values[..f * f]);
        let (bias, force) =
            (&self.values[f * f..f * f + f], &self.values[f * f + f..f * f + 2 * f]);
        let right = DVector::from_fn(f, |i, _| force[i] - bias[i]);
        if matrix.iter().chain(right.iter()).any(|x| !x.is_finite()) {
            return Err(Failure::Domain);
        }
        dy[..f].copy_from_slice(&y[f..]);
        if self.m > 0 {
            let found = self.constrained(&matrix, &right);
            let Some(found) = found.filter(|x| x.iter().all(|x| x.is_finite())) else {
                let message = "the conditions depend on each other, or a coordinate without inertia is held by none";
                return Err(Failure::Stop(message.to_owned()));
            };
            dy[f..].copy_from_slice(&found.as_slice()[..f]);
            return Ok(());
        }
        let Some(factor) = matrix.cholesky() else {
            let message = "the mass matrix is not positive definite: a coordinate without inertia, or bad values";
            return Err(Failure::Stop(message.to_owned()));
        };
        dy[f..].copy_from_slice(factor.solve(&right).as_slice());
        Ok(())
    }
}
