//! The equations of motion of a model, as text, LaTeX, Markdown, JSON or code.
//!
//! ```
//! use gelenk::derive::{DeriveOptions, derive};
//! use gelenk::model::{LoadOptions, load_text};
//!
//! let text = gelenk::scenes::scene("double-pendulum").ok_or("no such model")?.text;
//! let loaded = load_text("double-pendulum", text, &LoadOptions::default())?;
//! let mut derivation = derive(&loaded, &DeriveOptions::default())?;
//! assert_eq!(derivation.equations.n(), 2);
//! assert!(derivation.text(&[]).contains("Equations of motion"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod point;
mod show;
mod substitute;

use std::time::Instant;

use gelenk_expr::Expr;
use gelenk_lagrange::analysis::{FirstIntegral, Linearization};
use gelenk_lagrange::code::{self, Language};
use gelenk_lagrange::rest::Equilibrium;
use gelenk_lagrange::simplify::Limits;
use gelenk_lagrange::{DeriveError, Equations, Options, System, from_model};
use gelenk_model::{Loaded, Model, Pose, Twist};

pub use gelenk_lagrange::code::{Language as CodeLanguage, generate as generate_code};
pub use gelenk_lagrange::reactions::JointForce;
pub use point::Point;
pub use show::{PARTS, Part};

/// What to derive.
#[derive(Clone, Debug, Default)]
pub struct DeriveOptions {
    /// Parameters and what is put in their place: numbers or expressions over other parameters.
    pub substitute: Vec<(String, String)>,
    /// Linearize about this place.
    pub linearize: Option<Place>,
    /// Find places of rest.
    pub equilibria: bool,
    /// Count the operations before simplification too.
    pub count: bool,
    /// Joints whose forces are wanted; `all` for every joint of the tree.
    pub joint_forces: Vec<String>,
    /// Derive the recursive form alone, which is all that code needs.
    pub recursive: bool,
}

/// A place to linearize about, at rest.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// The model's start.
    Start,
    /// Coordinates by name, as expressions; those left out are 0.
    At(Vec<(String, String)>),
}

/// Why there are no equations.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DerivationError {
    /// The model has something that Lagrange's equations do not hold.
    #[error("no equations of motion: {0}")]
    Model(#[from] DeriveError),
    /// A substitution or a place makes no sense.
    #[error("{0}")]
    Input(String),
    /// No code can be written.
    #[error(transparent)]
    Code(#[from] code::CodeError),
}

/// The derived equations with what they tell.
#[derive(Debug)]
pub struct Derivation {
    /// The equations.
    pub equations: Equations,
    /// What the derivation took on the clock, s.
    pub seconds: f64,
    /// Operations of the closed form, expanded, before simplification.
    pub operations_before: Option<usize>,
    /// T.
    pub kinetic: Option<Expr>,
    /// Cyclic coordinates by number, from 0.
    pub cyclic: Vec<usize>,
    /// Quantities that stay constant.
    pub integrals: Vec<FirstIntegral>,
    /// Places of rest, if asked for; or why they were not looked for.
    pub equilibria: Option<Result<Vec<Equilibrium>, &'static str>>,
    /// The linear equations, if asked for.
    pub linear: Option<Linearization>,
    /// What joints carry, if asked for.
    pub joint_forces: Vec<JointForce>,
}

/// Derives the equations of motion.
pub fn derive(loaded: &Loaded, options: &DeriveOptions) -> Result<Derivation, DerivationError> {
    let begin = Instant::now();
    let mut system = from_model(loaded)?;
    substitute::substitute(&mut system, &options.substitute)?;
    let mut equations =
        system.derive(&Options { closed: !options.recursive, ..Options::default() })?;
    let seconds = begin.elapsed().as_secs_f64();
    let operations_before = if options.count && equations.closed.is_some() {
        let plain = Options {
            limits: Limits { terms: 0, thorough: 0 },
            legend: false,
            ..Options::default()
        };
        system.derive(&plain)?.closed.map(|closed| closed.operations)
    } else {
        None
    };
    let linear = match &options.linearize {
        Some(place) => Some(linearize(&loaded.model, &mut equations, place)?),
        None => None,
    };
    let joint_forces = joint_forces(&mut equations, &options.joint_forces)?;
    Ok(Derivation {
        joint_forces,
        kinetic: equations.kinetic_energy(),
        cyclic: equations.cyclic(),
        integrals: equations.first_integrals(),
        equilibria: options.equilibria.then(|| places_of_rest(&loaded.model, &mut equations)),
        linear,
        seconds,
        operations_before,
        equations,
    })
}

/// Places of rest; of those that have all bodies in the same poses, one.
fn places_of_rest(
    model: &Model,
    equations: &mut Equations,
) -> Result<Vec<Equilibrium>, &'static str> {
    let found = equations.equilibria()?;
    let Ok(numeric) = equations.numeric(model) else { return Ok(found) };
    let still = vec![0.0; numeric.n()];
    let mut seen: Vec<Vec<(usize, Pose, Twist)>> = Vec::new();
    let mut out = Vec::new();
    for rest in found {
        let poses = numeric.poses(&rest.q, &still, model.start.t);
        let same = |other: &Vec<(usize, Pose, Twist)>| {
            poses.iter().zip(other).all(|((_, a, _), (_, b, _))| {
                (a.s - b.s).norm() < 1e-6 && (a.rot - b.rot).norm() < 1e-6
            })
        };
        if !seen.iter().any(same) {
            seen.push(poses);
            out.push(rest);
        }
    }
    Ok(out)
}

/// The forces of the joints named.
fn joint_forces(
    equations: &mut Equations,
    names: &[String],
) -> Result<Vec<JointForce>, DerivationError> {
    let known: Vec<String> = equations.system.joints.iter().map(|j| j.name.clone()).collect();
    let names = if names.iter().any(|name| name == "all") { &known } else { names };
    let one = |name: &String| {
        equations.joint_force(name).ok_or_else(|| {
            let cut = format!("joint `{name}`");
            let why = if equations.system.closures.iter().any(|c| c.name == cut) {
                "closes a loop: what it carries are its multipliers".to_owned()
            } else {
                format!("carries no body; there are {}", known.join(", "))
            };
            DerivationError::Input(format!("joint `{name}` {why}"))
        })
    };
    names.iter().map(one).collect()
}

fn linearize(
    model: &Model,
    equations: &mut Equations,
    place: &Place,
) -> Result<Linearization, DerivationError> {
    let n = equations.n();
    let names = equations.q_names();
    let mut q0 = vec![Expr::ZERO; n];
    match place {
        Place::Start => {
            let numeric = equations.numeric(model)?;
            let (q, _) = numeric.read_state(model, &model.start);
            for (slot, x) in q0.iter_mut().zip(q) {
                *slot = equations.system.pool.float(x);
            }
        }
        Place::At(list) => {
            for (name, value) in list {
                let Some(k) = names.iter().position(|n| n == name) else {
                    return Err(DerivationError::Input(format!(
                        "there is no coordinate `{name}`; there are {}",
                        names.join(", ")
                    )));
                };
                q0[k] = substitute::parse(&mut equations.system, value)?;
            }
        }
    }
    let still = vec![Expr::ZERO; n];
    if let Some(linear) = equations.linearize(&q0, &still) {
        return Ok(linear);
    }
    // Too large for formulas: numbers.
    let System { pool, parameters, .. } = &mut equations.system;
    let values: Vec<(Expr, Expr)> =
        parameters.iter().map(|p| (p.symbol, pool.float(p.value))).collect();
    let places = pool.substitute_all(&q0, &values);
    let numbers: Option<Vec<f64>> = places.iter().map(|e| pool.as_f64(*e)).collect();
    numbers.and_then(|q| equations.linearize_numbers(model.start.t, &q)).ok_or_else(|| {
        DerivationError::Input("only trees are linearized: this model closes loops".to_owned())
    })
}

impl Derivation {
    /// Code that computes accelerations, mass matrix, bias and closure conditions by the recursive form.
    ///
    /// Where loops are closed, the values of parameters are put in: which of the conditions are independent depends on them.
    pub fn code(&mut self, model: &Model, language: Language) -> Result<String, DerivationError> {
        let loops = !self.equations.system.closures.is_empty();
        let program = if loops {
            self.equations.program_with_values(model)?
        } else {
            self.equations.program()
        };
        let pool = self.equations.pool();
        let name = |e: Expr| pool.display(e).to_string();
        let mut about: Vec<(String, String)> = self
            .equations
            .coordinates()
            .iter()
            .map(|c| (name(c.symbol), c.meaning.clone()))
            .collect();
        about.extend(self.equations.system.parameters.iter().map(|p| {
            let what = p.description.as_deref().unwrap_or("parameter");
            (p.name.clone(), format!("{what}, {} in the model", p.value))
        }));
        about
            .push(("accelerations".to_owned(), "second derivatives of the coordinates".to_owned()));
        about.push(("mass".to_owned(), "M, symmetric, by rows".to_owned()));
        about.push(("bias".to_owned(), "M q'' + bias = J^T lambda".to_owned()));
        let mut outputs = vec![
            ("accelerations".to_owned(), program.accelerations.clone()),
            ("mass".to_owned(), symmetric(&program.mass)),
            ("bias".to_owned(), program.bias.clone()),
        ];
        if loops {
            outputs.push(("multipliers".to_owned(), program.multipliers.clone()));
            outputs.push(("constraints".to_owned(), program.constraints.clone()));
            outputs.push(("jacobian".to_owned(), program.jac.iter().flatten().copied().collect()));
        }
        let program = code::Program {
            name: self.equations.system.name.clone(),
            inputs: program.inputs.iter().map(|e| (name(*e), *e)).collect(),
            outputs,
            about,
        };
        Ok(code::generate(pool, &program, language)?)
    }
}

/// A matrix by rows from its lower triangle.
fn symmetric(lower: &[Vec<Expr>]) -> Vec<Expr> {
    let n = lower.len();
    (0..n * n).map(|k| (k / n, k % n)).map(|(i, j)| lower[i.max(j)][i.min(j)]).collect()
}
