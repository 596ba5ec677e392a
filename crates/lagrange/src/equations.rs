//! The derived equations: closed form, recursive form, numbers.

use gelenk_expr::{Expr, Pool, Tape};
use gelenk_model::{Model, Pose, State, Twist};

use crate::derive::{Canonical, Closed, Options, canonical, simplified};
use crate::numeric::Numeric;
use crate::program::{Program, recursive};
use crate::system::{Coordinate, DeriveError, System};

/// The equations of motion of a system.
#[derive(Clone, Debug)]
pub struct Equations {
    /// What was derived; its pool holds all expressions.
    pub system: System,
    /// The closed form, unless it is too large.
    pub closed: Option<Closed>,
    /// Why there is no closed form.
    pub too_large: Option<DeriveError>,
    /// The closed form in the ring, for exact questions.
    pub(crate) canonical: Option<Canonical>,
}

impl System {
    /// Derives the equations of motion. If the closed form would be larger than the options allow, the equations have the
    /// recursive form alone, and say so.
    pub fn derive(&self, options: &Options) -> Result<Equations, DeriveError> {
        let mut system = self.clone();
        if !options.closed {
            return Ok(Equations { system, closed: None, too_large: None, canonical: None });
        }
        let mut pool = std::mem::take(&mut system.pool);
        let result = canonical(&system, &mut pool, options);
        let (closed, exact, too_large) = match result {
            Ok(mut exact) => {
                let closed = simplified(&system, &mut pool, &mut exact, options);
                (Some(closed), Some(exact), None)
            }
            Err(error @ DeriveError::TooLarge { .. }) => (None, None, Some(error)),
            Err(error) => return Err(error),
        };
        system.pool = pool;
        Ok(Equations { system, closed, too_large, canonical: exact })
    }
}

impl Equations {
    /// Number of coordinates f.
    pub fn n(&self) -> usize {
        self.system.coordinates.len()
    }

    /// The coordinates.
    pub fn coordinates(&self) -> &[Coordinate] {
        &self.system.coordinates
    }

    /// Names of the coordinates: `q1`, `q2`, …
    pub fn q_names(&self) -> Vec<String> {
        self.coordinates().iter().map(|c| self.pool().display(c.symbol).to_string()).collect()
    }

    /// The name of multiplier k, from 0: `lambda1`, or another where a parameter has that name.
    pub fn multiplier(&self, k: usize) -> String {
        let used = |prefix: &str| {
            self.system.parameters.iter().any(|p| {
                p.name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<usize>().is_ok())
            })
        };
        let prefix = ["lambda", "multiplier", "multiplier_"].into_iter().find(|p| !used(p));
        format!("{}{}", prefix.unwrap_or("multiplier_of_row_"), k + 1)
    }

    /// The pool of all expressions.
    pub fn pool(&self) -> &Pool {
        &self.system.pool
    }

    /// The recursive form over q, q̇, t, the model's inputs and the parameters, all as symbols.
    pub fn program(&mut self) -> Program {
        let mut pool = std::mem::take(&mut self.system.pool);
        let program = recursive(&self.system, &mut pool, &[], None);
        self.system.pool = pool;
        program
    }

    /// The recursive form with the parameters' values put in; shorter, since constants fold.
    pub fn program_with_values(&mut self, model: &Model) -> Result<Program, DeriveError> {
        let numeric = Numeric::new(&mut self.system, Some(model))?;
        let mut pool = std::mem::take(&mut self.system.pool);
        let values: Vec<(Expr, Expr)> =
            self.system.parameters.iter().map(|p| (p.symbol, pool.float(p.value))).collect();
        let program = recursive(&self.system, &mut pool, &values, Some(&numeric.kept));
        self.system.pool = pool;
        Ok(program)
    }

    /// The equations as numbers, for runs: q̈, start values, poses.
    pub fn numeric(&mut self, model: &Model) -> Result<Numeric, DeriveError> {
        Numeric::new(&mut self.system, Some(model))
    }

    /// A tape for q̈ = f(q, q̇, t) by the closed form: the metric solved for q̈ without recursion. Inputs as
    /// [`Equations::program`] with values put in; `None` without closed form. For trees of few coordinates, and to check the
    /// recursive form.
    pub fn closed_tape(&mut self) -> Option<Result<Tape, DeriveError>> {
        let closed = self.closed.clone()?;
        let pool = &mut self.system.pool;
        let program = crate::program::of_closed(pool, &self.system.coordinates, &closed);
        let back = closed.unnamed(pool);
        let outputs = pool.substitute_all(&program, &back);
        let numbers: Vec<(Expr, Expr)> =
            self.system.parameters.iter().map(|p| (p.symbol, pool.float(p.value))).collect();
        let outputs = pool.substitute_all(&outputs, &numbers);
        let mut inputs: Vec<Expr> = self.system.coordinates.iter().map(|c| c.symbol).collect();
        inputs.extend(self.system.coordinates.iter().map(|c| c.rate));
        inputs.push(pool.time());
        inputs.extend(self.system.inputs.iter().map(|(s, _)| *s));
        Some(
            Tape::compile(pool, &outputs, &inputs).map_err(|e| DeriveError::Compile(e.to_string())),
        )
    }
}

/// A recording's view of the equations.
impl Numeric {
    /// The state of the model at (q, q̇, t), on the pattern of `like`.
    pub fn state(&self, q: &[f64], qd: &[f64], t: f64, like: &State) -> State {
        let mut state = like.clone();
        self.write_state(q, qd, t, &mut state);
        state
    }

    /// The pose and twist of one body.
    pub fn pose(&self, body: usize, q: &[f64], qd: &[f64], t: f64) -> Option<(Pose, Twist)> {
        self.poses(q, qd, t).into_iter().find(|(b, _, _)| *b == body).map(|(_, p, v)| (p, v))
    }
}
