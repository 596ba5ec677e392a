//! The blow-up along a curve: \[Laufen\] III, theorems 1 (curve), 2 (polar) and 3 (complex polar).

mod resolution;
mod rounds;

use crate::error::Error;
use crate::field::Field;
use crate::poly::Poly;
use crate::series::{self, matrix_order};
use crate::system::System;

pub(crate) use rounds::divided;
use rounds::{curve_round, polar_round, straighten};

/// Rounds after which a blow-up gives up; each lowers a finite t-order by one at least.
const MAX_ROUNDS: usize = 32;

/// Which blow-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// x_i = λ_i x_0 with x_0 a component of lowest t-order (definition 14, theorem 1). Keeps
    /// the branch of the curve.
    #[default]
    Curve,
    /// x_i = r e_i with Σ e_i² = 1 (definition 15, theorem 2). Keeps all branches.
    Polar,
    /// The same over the complex numbers: before it x̃_i = x_i − α_i x_0 leaves one component of lowest
    /// t-order (definition 16, theorem 3).
    ComplexPolar,
}

/// Improves a point of a system in which the variable of that number is zero.
pub type Polish<C> = fn(&System<C>, usize, &mut [C]);

/// How numbers are judged.
#[derive(Clone, Copy, Debug)]
pub struct Judge<C> {
    /// Constant and linear terms below this count as zero (§IV.4); without meaning for exact numbers.
    pub epsilon: f64,
    /// Curve blow-up: only the variables of equations without linear part are blown up, so that the others keep their mass: the
    /// centre is the set of singular positions, no single point. For solution sets of more than one dimension, where the thesis'
    /// blow-up of a point leaves slopes open along that set.
    pub locus: bool,
    /// Coefficients of the curve below this count as zero.
    pub curve_epsilon: f64,
    /// Improves a point of the divided system that the curve gives only roughly: called with the system and
    /// the number of its variable that is zero there.
    pub polish: Option<Polish<C>>,
}

impl<C> Judge<C> {
    /// For exact numbers.
    pub fn exact() -> Self {
        Self { epsilon: 0.0, locus: false, curve_epsilon: 0.0, polish: None }
    }
}

/// One round of a blow-up, every system of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Round<C> {
    /// The singular point lies in the origin.
    pub before: System<C>,
    /// Linear parts in triangular form (step 1).
    pub triangular: System<C>,
    /// The component of lowest t-order, as a variable of `before`.
    pub chart: usize,
    /// α of the transformation before the complex blow-up; else empty.
    pub alphas: Vec<(usize, C)>,
    /// New variables put in (step 2).
    pub substituted: System<C>,
    /// Divided by the highest power of x_0 or r; polar: with the norm row.
    pub divided: System<C>,
    /// The new variables at the singular point.
    pub point: Vec<C>,
    /// t-Ord(G∘x) of `before`; none where rounding hides it.
    pub order_before: Option<usize>,
    /// t-Ord of `divided`.
    pub order_after: Option<usize>,
}

/// A variable of a round as one of the whole system minus a constant.
#[derive(Clone, Debug, PartialEq)]
struct Address<C> {
    index: usize,
    origin: C,
}

#[derive(Clone, Debug, PartialEq)]
enum Transform<C> {
    /// new = numerator/denominator.
    Quotient { numerator: Address<C>, denominator: Address<C>, new: usize },
    /// r, e from r first on; Σ e² = norm, and `sign` = e at the singular point.
    Polar { parents: Vec<Address<C>>, first: usize, norm: C, sign: Vec<C> },
    /// new = parent − α other.
    Linear { parent: Address<C>, other: Address<C>, alpha: C, new: usize },
}

/// A singular point blown up until the rank is full.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution<C> {
    /// Which blow-up.
    pub method: Method,
    /// The singular point.
    pub place: Vec<C>,
    /// The rounds; none where the point was regular.
    pub rounds: Vec<Round<C>>,
    /// All equations over all variables, the old ones first: transformations, then the divided
    /// equations of the last round.
    pub whole: System<C>,
    /// How many of the equations are transformations; norm rows are blown up further with the others.
    pub n_transformations: usize,
    /// The variables of `whole` at the singular point.
    pub point: Vec<C>,
    transforms: Vec<Transform<C>>,
}

/// Where the algorithm stands.
struct Stage<C> {
    local: System<C>,
    /// Displacements from the origin of `local`.
    curve: Vec<Vec<C>>,
    addresses: Vec<Address<C>>,
    /// What new variables are called after.
    stems: Vec<String>,
}

/// Blows up the singular point `place` along a traversing curve: displacements from `place`, the series of each
/// variable, all of one length, constant term zero.
pub fn blow_up<C: Field>(
    system: &System<C>,
    place: &[C],
    curve: &[Vec<C>],
    method: Method,
    judge: &Judge<C>,
) -> Result<Resolution<C>, Error> {
    let n = system.n_variables();
    check(system, place, curve, judge)?;
    let mut stage = Stage {
        local: local_system(system, place, judge.epsilon)?,
        curve: curve.to_vec(),
        addresses: (0..n).map(|i| Address { index: i, origin: place[i].clone() }).collect(),
        stems: system.names.clone(),
    };
    let mut names = system.names.clone();
    let mut point = place.to_vec();
    let mut transforms = Vec::new();
    let mut rounds: Vec<Round<C>> = Vec::new();
    let mut last: Option<(System<C>, Vec<Address<C>>)> = None;
    while !stage.local.is_regular_at_origin(judge.epsilon) {
        if rounds.len() == MAX_ROUNDS {
            let reason = format!("rank is still lost after {MAX_ROUNDS} rounds");
            return Err(Error::NotTraversing { reason });
        }
        let order = order_of(&stage.local, &stage.curve, judge);
        if order.is_none() && !C::is_rounded() {
            let reason = "rank is lost all along it, as far as it is known".into();
            return Err(Error::NotTraversing { reason });
        }
        let (round, address) = match method {
            Method::Curve => {
                curve_round(&mut stage, &mut names, &mut transforms, rounds.len(), judge)?
            }
            Method::Polar | Method::ComplexPolar => {
                let alphas = if method == Method::ComplexPolar {
                    straighten(&mut stage, &mut names, &mut point, &mut transforms, judge)
                } else {
                    Vec::new()
                };
                let (mut round, address) =
                    polar_round(&mut stage, &mut names, &mut transforms, rounds.len(), judge)?;
                round.alphas = alphas;
                (round, address)
            }
        };
        for (i, a) in address.iter().enumerate() {
            if a.index >= point.len() {
                point.resize(a.index + 1, C::zero());
            }
            if a.origin.is_zero() {
                point[a.index] = round.point[i].clone();
            }
        }
        last = Some((round.divided.clone(), address));
        rounds.push(Round { order_before: order, ..round });
    }
    let total = names.len();
    let mut equations: Vec<Poly<C>> = transforms.iter().flat_map(|t| t.equations(total)).collect();
    let n_transformations = equations.len();
    match last {
        Some((divided, address)) => {
            let by: Vec<Poly<C>> = address.iter().map(|a| a.poly(total)).collect();
            equations.extend(divided.equations.iter().map(|g| g.substitute(&by)));
        }
        None => equations.extend(system.equations.iter().cloned()),
    }
    Ok(Resolution {
        method,
        place: place.to_vec(),
        rounds,
        whole: System { names, equations },
        n_transformations,
        point,
        transforms,
    })
}

fn check<C: Field>(
    system: &System<C>,
    place: &[C],
    curve: &[Vec<C>],
    judge: &Judge<C>,
) -> Result<(), Error> {
    let n = system.n_variables();
    let wrong = |what, given: usize| Err(Error::WrongLength { what, given, variables: n });
    if place.len() != n {
        return wrong("point", place.len());
    }
    if curve.len() != n {
        return wrong("curve", curve.len());
    }
    if system.equations.len() > n {
        return Err(Error::TooManyEquations { equations: system.equations.len(), variables: n });
    }
    for (k, g) in system.equations.iter().enumerate() {
        let value = g.eval(place);
        if !value.is_below(judge.epsilon) {
            return Err(Error::NotOnSolution { index: k + 1, value: value.size() });
        }
    }
    let fails = |reason: String| Err(Error::NotTraversing { reason });
    let length = curve.first().map_or(0, Vec::len);
    if length < 2 || curve.iter().any(|x| x.len() != length || !x[0].is_zero()) {
        return fails("it needs series of one length that begin with 0".into());
    }
    if !C::is_rounded() {
        let local = system.shifted(place)?;
        for (k, g) in local.equations.iter().enumerate() {
            if series::eval(g, curve).iter().any(|c| !c.is_zero()) {
                return fails(format!("equation {} is not fulfilled along it", k + 1));
            }
        }
    }
    Ok(())
}

/// The system with the point in the origin. Constants below `epsilon` stay: §IV.4 blows xy = ε up to e_x e_y = ε.
fn local_system<C: Field>(
    system: &System<C>,
    place: &[C],
    epsilon: f64,
) -> Result<System<C>, Error> {
    let mut local = system.shifted(place)?;
    if C::is_rounded() {
        for g in &mut local.equations {
            let scale = g.largest();
            // Rounding of the shift itself; perturbations of the equations are larger.
            let dust = (16.0 * f64::EPSILON * scale).min(epsilon);
            *g = g.without_small(dust);
        }
    }
    Ok(local)
}

pub(crate) fn order_of<C: Field>(
    system: &System<C>,
    curve: &[Vec<C>],
    judge: &Judge<C>,
) -> Option<usize> {
    let rows = system.jacobian();
    let rows = rows.iter().map(|row| row.iter().map(|p| series::eval(p, curve)).collect());
    matrix_order(rows.collect(), judge.curve_epsilon)
}
