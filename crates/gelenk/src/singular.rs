//! Singular positions of models of point masses: the way from a model to polynomials.
//!
//! Coordinates are the components of the points that move; distances and equations become polynomials with
//! exact coefficients, as the file writes them. [`gelenk_blowup`] does the rest.

use gelenk_expr::{Expr, Node, Pool, Rational};
use gelenk_model::joint::JointKind;
use gelenk_model::signal::StateRef;
use gelenk_model::{BodyId, BodyKind, Loaded, Model, RowKind};

pub use gelenk_blowup::*;
pub use gelenk_dae::{DaeError, Passage};

const AXES: [&str; 3] = ["x", "y", "z"];

/// Why a model is no system of polynomials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SingularError {
    /// A rigid body that moves.
    #[error("body `{0}` is no point mass; `gelenk points` turns bodies into point masses")]
    Body(String),
    /// Something else than distances and equations.
    #[error("`{0}` is neither a distance between points nor an equation")]
    Condition(String),
    /// An equation that is no polynomial.
    #[error("constraint `{name}`: `{part}` is no polynomial in positions of points")]
    NotPolynomial {
        /// The constraint.
        name: String,
        /// The part of it.
        part: String,
    },
    /// No condition at all.
    #[error("the model has no constraint: no position is singular")]
    NoConstraint,
    /// A force besides gravity, where motion is asked for.
    #[error("force `{0}`: motion through singular positions knows gravity alone")]
    Force(String),
    /// The algebra has no answer.
    #[error(transparent)]
    Algebra(#[from] Error),
}

/// A model as masses on polynomial constraints.
#[derive(Clone, Debug)]
pub struct PointConstraints {
    /// Constraints, masses, potential of gravity.
    pub mechanism: Mechanism,
    /// The model's name of each constraint.
    pub names: Vec<String>,
    /// The start: coordinates.
    pub x: Vec<f64>,
    /// The start: velocities.
    pub v: Vec<f64>,
    /// Coordinates that no constraint names; they move on their own and are left out.
    pub free: Vec<String>,
    /// The first force element, if any.
    pub force: Option<String>,
}

/// The number that the shortest decimal text of x means.
fn decimal(x: f64) -> Rational {
    let mut pool = Pool::new();
    let exact = pool.parse(&format!("{x:e}")).ok();
    let exact = exact.and_then(|e| pool.as_rational(e).cloned());
    exact.or_else(|| Rational::from_f64(x)).unwrap_or(Rational::ZERO)
}

/// Turns a model of point masses into polynomials.
pub fn point_constraints(loaded: &Loaded) -> Result<PointConstraints, SingularError> {
    let model = &loaded.model;
    for body in &model.bodies {
        if body.kind == BodyKind::Rigid && !body.fixed {
            return Err(SingularError::Body(body.name.clone()));
        }
    }
    let moving: Vec<BodyId> = (0u32..)
        .zip(&model.bodies)
        .filter(|(_, body)| body.kind == BodyKind::Point && !body.fixed)
        .map(|(i, _)| BodyId(i))
        .collect();
    let n = 3 * moving.len();
    let index =
        |body: BodyId, axis: usize| moving.iter().position(|b| *b == body).map(|k| 3 * k + axis);
    let start = |body: BodyId, axis: usize| model.start.s[body.index()][axis];
    let mut names = Vec::new();
    let mut equations: Vec<Poly<Rational>> = Vec::new();
    let mut written = loaded.description.equations.iter();
    for block in &model.rows {
        let polynomial = match &block.kind {
            RowKind::Joint(id) => {
                let joint = &model.joints[id.index()];
                let JointKind::Distance(distance) = &joint.kind else {
                    return Err(SingularError::Condition(block.name.clone()));
                };
                // Ends: the moving point itself, or a place that does not move.
                let mut square = Poly::zero(n);
                let mut drawn = Rational::ZERO;
                for axis in 0..3 {
                    let mut along = Poly::zero(n);
                    let mut gap = Rational::ZERO;
                    for (end, sign) in [(0, Rational::MINUS_ONE), (1, Rational::ONE)] {
                        let body = joint.bodies[end];
                        let rot = model.start.rot[body.index()];
                        let lever = decimal((rot * distance.points()[end])[axis]);
                        let place = &decimal(start(body, axis)) + &lever;
                        gap = &gap + &(&sign * &place);
                        match index(body, axis) {
                            Some(i) => {
                                along.add_term(Monomial::variable(n, i), &sign);
                                along.add_term(Monomial::one(n), &(&sign * &lever));
                            }
                            None => along.add_term(Monomial::one(n), &(&sign * &place)),
                        }
                    }
                    drawn = &drawn + &(&gap * &gap);
                    square = square.plus(&along.times(&along));
                }
                // The length as drawn, if that is it: its square may be rational where it is not.
                let length = decimal(distance.length());
                let wanted = &length * &length;
                let near = (drawn.to_f64() - wanted.to_f64()).abs() < 1e-12 * wanted.to_f64();
                square.minus(&Poly::constant(n, if near { drawn } else { wanted }))
            }
            RowKind::Equation(_) => {
                let g = written.next().copied().unwrap_or(Expr::ZERO);
                let given = |r: &StateRef| match r {
                    StateRef::Position(vector, axis) => match index(vector.body, *axis) {
                        Some(i) => Some(Poly::variable(n, i)),
                        None => Some(Poly::constant(n, decimal(start(vector.body, *axis)))),
                    },
                    _ => None,
                };
                equation(loaded, &block.name, g, n, &given)?
            }
            RowKind::Tie(_) | RowKind::Stop(_) | RowKind::Friction(_) => {
                return Err(SingularError::Condition(block.name.clone()));
            }
        };
        names.push(block.name.clone());
        equations.push(polynomial);
    }
    if equations.is_empty() {
        return Err(SingularError::NoConstraint);
    }
    // Only coordinates that a constraint names.
    let used: Vec<usize> = (0..n)
        .filter(|i| equations.iter().any(|g| g.terms().any(|(m, _)| m.exponents()[*i] > 0)))
        .collect();
    let kept = used.len();
    let mut by = vec![Poly::zero(kept); n];
    for (k, i) in used.iter().enumerate() {
        by[*i] = Poly::variable(kept, k);
    }
    let equations = equations.iter().map(|g| g.substitute(&by)).collect();
    let name_of =
        |i: usize| format!("{}.{}", model.bodies[moving[i / 3].index()].name, AXES[i % 3]);
    let constraints = System { names: used.iter().map(|i| name_of(*i)).collect(), equations };
    let mut masses = Vec::new();
    let mut potential = Poly::zero(kept);
    let (mut x, mut v) = (Vec::new(), Vec::new());
    for (k, i) in used.iter().enumerate() {
        let (body, axis) = (moving[i / 3], i % 3);
        let mass = decimal(model.bodies[body.index()].mass);
        let weight = &mass * &decimal(model.gravity[axis]);
        potential.add_term(Monomial::variable(kept, k), &(-&weight));
        masses.push(mass);
        x.push(start(body, axis));
        v.push(model.start.s_dot[body.index()][axis]);
    }
    let mechanism = Mechanism::new(constraints, masses, potential)?;
    let free = (0..n).filter(|i| !used.contains(i)).map(name_of).collect();
    let force = model.forces.first().map(|force| force.name.clone());
    Ok(PointConstraints { mechanism, names, x, v, free, force })
}

/// An equation of the file as a polynomial; parameters have their values.
fn equation(
    loaded: &Loaded,
    name: &str,
    g: Expr,
    n: usize,
    given: &dyn Fn(&StateRef) -> Option<Poly<Rational>>,
) -> Result<Poly<Rational>, SingularError> {
    let pool = &loaded.model.pool;
    let not = |e: Expr| SingularError::NotPolynomial {
        name: name.to_owned(),
        part: pool.display(e).to_string(),
    };
    let symbols = pool.symbols_of(g);
    let mut values = Vec::new();
    for symbol in &symbols {
        let state = loaded.description.states.iter().find(|(s, _)| s == symbol);
        let parameter = loaded.model.parameters.iter().find(|p| p.symbol == *symbol);
        values.push(match (state, parameter) {
            (Some((_, state)), _) => given(state).ok_or_else(|| not(*symbol))?,
            (_, Some(parameter)) => Poly::constant(n, decimal(parameter.value)),
            _ => return Err(not(*symbol)),
        });
    }
    let in_symbols = System::from_exprs(pool, &symbols, &[g]).map_err(|error| match error {
        Error::NotPolynomial { part, .. } => {
            SingularError::NotPolynomial { name: name.to_owned(), part }
        }
        other => SingularError::Algebra(other),
    })?;
    debug_assert!(symbols.iter().all(|s| matches!(pool.node(*s), Node::Symbol(_))));
    match in_symbols.equations.first() {
        Some(p) if !values.is_empty() => Ok(p.substitute(&values)),
        _ => Ok(Poly::zero(n)),
    }
}

/// Analyses a model at its start.
pub fn analyse_model(
    constraints: &PointConstraints,
    work: usize,
) -> Result<Analysis, SingularError> {
    let m = &constraints.mechanism;
    Ok(analyse(&m.constraints, Some(&m.masses), &constraints.x, work)?)
}

/// Runs a model from its start through singular positions, by the constraints that `analysis` left over.
pub fn cross_model(
    constraints: &PointConstraints,
    analysis: &Analysis,
    duration: f64,
    options: &CrossOptions,
    observe: Observe<'_>,
) -> Result<CrossRun, SingularError> {
    if let Some(force) = &constraints.force {
        return Err(SingularError::Force(force.clone()));
    }
    let PointConstraints { mechanism, x, v, .. } = constraints;
    let mut mechanism = mechanism.clone();
    if let Some(redundancy) = &analysis.redundancy {
        mechanism.constraints = redundancy.simplified.clone();
    }
    Ok(run(&mechanism, x, v, duration, options, observe)?)
}

/// The singular positions that a model of rigid bodies passes within `duration` seconds from its start, found and blown up by the dae engine on
/// the way; and why it did not come to the end, if so.
pub fn follow(model: &Model, duration: f64, tolerance: f64) -> (Vec<Passage>, Option<DaeError>) {
    let options =
        gelenk_dae::Options { rtol: tolerance, atol: tolerance, ..gelenk_dae::Options::default() };
    match gelenk_dae::Simulation::new(model, &model.start, &options) {
        Ok(mut simulation) => {
            let end = simulation.run(model.start.t + duration).err();
            (simulation.passages().to_vec(), end)
        }
        Err(error) => (Vec::new(), Some(error)),
    }
}
