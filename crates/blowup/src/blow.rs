//! The blow-up along a curve: \[Laufen\] III, theorems 1 (curve), 2 (polar) and 3 (complex polar).

use std::fmt;

use crate::error::Error;
use crate::field::Field;
use crate::poly::{Monomial, Poly};
use crate::series::{self, matrix_order, t_order};
use crate::system::System;

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
    /// Coefficients of the curve below this count as zero.
    pub curve_epsilon: f64,
    /// Improves a point of the divided system that the curve gives only roughly: called with the system and
    /// the number of its variable that is zero there.
    pub polish: Option<Polish<C>>,
}

impl<C> Judge<C> {
    /// For exact numbers.
    pub fn exact() -> Self {
        Self { epsilon: 0.0, curve_epsilon: 0.0, polish: None }
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
        local: local_system(system, place, judge.epsilon),
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
        let local = system.shifted(place);
        for (k, g) in local.equations.iter().enumerate() {
            if series::eval(g, curve).iter().any(|c| !c.is_zero()) {
                return fails(format!("equation {} is not fulfilled along it", k + 1));
            }
        }
    }
    Ok(())
}

/// The system with the point in the origin. Constants below `epsilon` stay: §IV.4 blows xy = ε up to e_x e_y = ε.
fn local_system<C: Field>(system: &System<C>, place: &[C], epsilon: f64) -> System<C> {
    let mut local = system.shifted(place);
    if C::is_rounded() {
        for g in &mut local.equations {
            let scale = g.largest();
            // Rounding of the shift itself; perturbations of the equations are larger.
            let dust = (16.0 * f64::EPSILON * scale).min(epsilon);
            *g = g.without_small(dust);
        }
    }
    local
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

/// The component of lowest t-order: the first, of floats the largest.
fn lowest<C: Field>(curve: &[Vec<C>], judge: &Judge<C>) -> Result<usize, Error> {
    let mut best: Option<(usize, usize, f64)> = None;
    for (i, x) in curve.iter().enumerate() {
        let Some(order) = t_order(x, judge.curve_epsilon) else { continue };
        let size = if C::is_rounded() { x[order].size() } else { 1.0 };
        if best.is_none_or(|(_, o, s)| order < o || (order == o && size > s)) {
            best = Some((i, order, size));
        }
    }
    match best {
        Some((i, ..)) => Ok(i),
        None => Err(Error::NotTraversing { reason: "it stays at the point".into() }),
    }
}

/// x_i/x_k of all components; the k-th is x_k itself, shortened likewise.
fn ratios<C: Field>(curve: &[Vec<C>], k: usize, judge: &Judge<C>) -> Result<Vec<Vec<C>>, Error> {
    let too_short = || Error::NotTraversing { reason: "it is known to too low an order".into() };
    let p = t_order(&curve[k], judge.curve_epsilon).ok_or_else(too_short)?;
    let length = curve[k].len() - p;
    if length < 2 {
        return Err(too_short());
    }
    curve
        .iter()
        .enumerate()
        .map(|(i, x)| {
            if i == k {
                return Ok(x[..length].to_vec());
            }
            series::quotient(x, &curve[k], judge.curve_epsilon).ok_or_else(too_short)
        })
        .collect()
}

fn numbered(letter: &str, round: usize) -> String {
    if round == 0 { letter.to_owned() } else { format!("{letter}{}", round + 1) }
}

/// Divides each equation by the highest power of variable `k`, which stands in every monomial with the
/// degree of the monomial it comes from; terms that do not count are divided by their own power.
pub(crate) fn divided<C: Field>(
    triangular: &System<C>,
    names: &[String],
    place: impl Fn(&Monomial) -> Vec<u16>,
    k: usize,
    epsilon: f64,
) -> (System<C>, System<C>) {
    let n = names.len();
    let put = |g: &Poly<C>, power: Option<u32>| {
        g.map_monomials(n, |m, _| {
            let mut e = place(m);
            let degree = m.degree();
            // The degree is at most the sum of 16-bit exponents of a bounded polynomial.
            e[k] = u16::try_from(degree - power.unwrap_or(0).min(degree)).unwrap_or(u16::MAX);
            Monomial(e)
        })
    };
    let substituted = triangular.equations.iter().map(|g| put(g, None)).collect();
    let divided = triangular.equations.iter().map(|g| put(g, g.lowest_degree(epsilon))).collect();
    (
        System { names: names.to_vec(), equations: substituted },
        System { names: names.to_vec(), equations: divided },
    )
}

/// Moves the new point to the origin (step 4).
fn shift<C: Field>(stage: &mut Stage<C>, next: &System<C>, point: &[C], epsilon: f64) {
    stage.local = local_system(next, point, epsilon);
    for (a, c) in stage.addresses.iter_mut().zip(point) {
        if !c.is_zero() {
            a.origin = c.clone();
        }
    }
    for x in &mut stage.curve {
        x[0] = C::zero();
    }
}

fn curve_round<C: Field>(
    stage: &mut Stage<C>,
    names: &mut Vec<String>,
    transforms: &mut Vec<Transform<C>>,
    number: usize,
    judge: &Judge<C>,
) -> Result<(Round<C>, Vec<Address<C>>), Error> {
    let k = lowest(&stage.curve, judge)?;
    let triangular = stage.local.triangular(judge.epsilon);
    let denominator = stage.addresses[k].clone();
    let mut local_names = stage.local.names.clone();
    let mut addresses = Vec::with_capacity(local_names.len());
    for (i, a) in stage.addresses.iter().enumerate() {
        if i == k {
            addresses.push(a.clone());
            continue;
        }
        let new = names.len();
        let name = format!("{}_{}", numbered("l", number), stage.stems[i]);
        names.push(name.clone());
        local_names[i] = name;
        let (numerator, denominator) = (a.clone(), denominator.clone());
        transforms.push(Transform::Quotient { numerator, denominator, new });
        addresses.push(Address { index: new, origin: C::zero() });
    }
    let place = |m: &Monomial| m.exponents().to_vec();
    let (substituted, divided) = divided(&triangular, &local_names, place, k, judge.epsilon);
    let curve = ratios(&stage.curve, k, judge)?;
    let mut point: Vec<C> = curve.iter().map(|x| x[0].clone()).collect();
    point[k] = C::zero();
    if let Some(polish) = judge.polish {
        polish(&divided, k, &mut point);
    }
    let order_after = order_of(&divided, &curve, judge);
    let round = Round {
        before: stage.local.clone(),
        triangular,
        chart: k,
        alphas: Vec::new(),
        substituted,
        divided: divided.clone(),
        point: point.clone(),
        order_before: None,
        order_after,
    };
    stage.curve = curve;
    stage.addresses.clone_from(&addresses);
    shift(stage, &divided, &point, judge.epsilon);
    Ok((round, addresses))
}

/// The transformation before the complex blow-up: only one component of lowest t-order remains.
fn straighten<C: Field>(
    stage: &mut Stage<C>,
    names: &mut Vec<String>,
    point: &mut Vec<C>,
    transforms: &mut Vec<Transform<C>>,
    judge: &Judge<C>,
) -> Vec<(usize, C)> {
    let Ok(k) = lowest(&stage.curve, judge) else { return Vec::new() };
    let Some(p) = t_order(&stage.curve[k], judge.curve_epsilon) else { return Vec::new() };
    let Some(inverse) = stage.curve[k][p].inverse() else { return Vec::new() };
    let n = stage.curve.len();
    let mut alphas = Vec::new();
    let mut by: Vec<Poly<C>> = (0..n).map(|i| Poly::variable(n, i)).collect();
    for i in 0..n {
        if i == k || t_order(&stage.curve[i], judge.curve_epsilon) != Some(p) {
            continue;
        }
        let alpha = stage.curve[i][p].times(&inverse);
        by[i] = by[i].plus(&by[k].scaled(&alpha));
        let scaled: Vec<C> = stage.curve[k].iter().map(|c| c.times(&alpha)).collect();
        stage.curve[i] = series::difference(&stage.curve[i], &scaled);
        let new = names.len();
        let name = format!("s_{}", stage.local.names[i]);
        names.push(name.clone());
        point.resize(new + 1, C::zero());
        transforms.push(Transform::Linear {
            parent: stage.addresses[i].clone(),
            other: stage.addresses[k].clone(),
            alpha: alpha.clone(),
            new,
        });
        stage.addresses[i] = Address { index: new, origin: C::zero() };
        stage.local.names[i] = name;
        alphas.push((i, alpha));
    }
    for g in &mut stage.local.equations {
        *g = g.substitute(&by);
    }
    alphas
}

fn norm_row<C: Field>(total: usize, first: usize, n: usize, norm: &C) -> Poly<C> {
    let mut row = Poly::constant(total, norm.negative());
    for i in 0..n {
        row = row.plus(&Poly::variable(total, first + 1 + i).power(2));
    }
    row
}

fn polar_round<C: Field>(
    stage: &mut Stage<C>,
    names: &mut Vec<String>,
    transforms: &mut Vec<Transform<C>>,
    number: usize,
    judge: &Judge<C>,
) -> Result<(Round<C>, Vec<Address<C>>), Error> {
    let n = stage.local.n_variables();
    let k = lowest(&stage.curve, judge)?;
    let triangular = stage.local.triangular(judge.epsilon);
    let first = names.len();
    let mut stems = vec![numbered("r", number)];
    let mut local_names = stems.clone();
    for stem in &stage.stems {
        stems.push(stem.clone());
        local_names.push(format!("{}_{stem}", numbered("e", number)));
    }
    names.extend(local_names.iter().cloned());
    // λ_i = x_i/x_k, S = Σ λ_i(0)²; r = x_k s √(Σ λ_i²/S) with s² = S if S has a root, else
    // s = 1 and the norm is S, which keeps the numbers rational.
    let lambda = ratios(&stage.curve, k, judge)?;
    let length = lambda[k].len();
    let mut squares = vec![C::zero(); length];
    squares[0] = C::one();
    for (i, l) in lambda.iter().enumerate() {
        if i != k {
            squares = series::sum(&squares, &series::product(l, l));
        }
    }
    let inverse = squares[0].inverse().ok_or_else(|| Error::NotTraversing {
        reason: "x_0² + … + x_n² vanishes along it; take the complex blow-up".into(),
    })?;
    let (s, norm) = match squares[0].root() {
        Some(root) => (root, C::one()),
        None => (C::one(), squares[0].clone()),
    };
    let relative: Vec<C> = squares.iter().map(|c| c.times(&inverse)).collect();
    let stretch: Vec<C> = series::root(&relative).iter().map(|c| c.times(&s)).collect();
    let mut curve = vec![series::product(&lambda[k], &stretch)];
    let mut one = vec![C::zero(); length];
    one[0] = C::one();
    for (i, l) in lambda.iter().enumerate() {
        let l = if i == k { &one } else { l };
        let e = series::quotient(l, &stretch, judge.curve_epsilon);
        curve.push(e.ok_or_else(|| Error::NotTraversing {
            reason: "it is known to too low an order".into(),
        })?);
    }
    let place = |m: &Monomial| {
        let mut e = vec![0];
        e.extend_from_slice(m.exponents());
        e
    };
    let (substituted, mut divided) = divided(&triangular, &local_names, place, 0, judge.epsilon);
    divided.equations.push(norm_row(n + 1, 0, n, &norm));
    let mut point: Vec<C> = curve.iter().map(|x| x[0].clone()).collect();
    point[0] = C::zero();
    if let Some(polish) = judge.polish {
        polish(&divided, 0, &mut point);
    }
    let addresses: Vec<Address<C>> =
        (0..=n).map(|i| Address { index: first + i, origin: C::zero() }).collect();
    transforms.push(Transform::Polar {
        parents: stage.addresses.clone(),
        first,
        norm,
        sign: point[1..].to_vec(),
    });
    let order_after = order_of(&divided, &curve, judge);
    let round = Round {
        before: stage.local.clone(),
        triangular,
        chart: k,
        alphas: Vec::new(),
        substituted,
        divided: divided.clone(),
        point: point.clone(),
        order_before: None,
        order_after,
    };
    stage.curve = curve;
    stage.addresses.clone_from(&addresses);
    stage.stems = stems;
    shift(stage, &divided, &point, judge.epsilon);
    Ok((round, addresses))
}

impl<C: Field> Address<C> {
    /// The variable as a polynomial of the whole system.
    fn poly(&self, total: usize) -> Poly<C> {
        Poly::variable(total, self.index).minus(&Poly::constant(total, self.origin.clone()))
    }
}

impl<C: Field> Transform<C> {
    /// The transformation as equations, without norm rows.
    fn equations(&self, total: usize) -> Vec<Poly<C>> {
        let v = |i| Poly::variable(total, i);
        match self {
            Self::Quotient { numerator, denominator, new } => {
                vec![numerator.poly(total).minus(&v(*new).times(&denominator.poly(total)))]
            }
            Self::Polar { parents, first, .. } => parents
                .iter()
                .enumerate()
                .map(|(i, p)| p.poly(total).minus(&v(*first).times(&v(first + 1 + i))))
                .collect(),
            Self::Linear { parent, other, alpha, new } => {
                let line = other.poly(total).scaled(alpha);
                vec![parent.poly(total).minus(&line).minus(&v(*new))]
            }
        }
    }
}

impl Resolution<f64> {
    /// The variables of the whole system and their rates from the old ones x and their rates v, away from
    /// the singular point; none where a denominator is zero.
    pub fn lift(&self, x: &[f64], v: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let total = self.whole.n_variables();
        let (mut z, mut z_dot) = (x.to_vec(), v.to_vec());
        z.resize(total, 0.0);
        z_dot.resize(total, 0.0);
        for t in &self.transforms {
            match t {
                Transform::Quotient { numerator, denominator, new } => {
                    let d = z[denominator.index] - denominator.origin;
                    let value = (z[numerator.index] - numerator.origin) / d;
                    z[*new] = value;
                    z_dot[*new] = (z_dot[numerator.index] - value * z_dot[denominator.index]) / d;
                }
                Transform::Polar { parents, first, norm, sign } => {
                    let d: Vec<f64> = parents.iter().map(|p| z[p.index] - p.origin).collect();
                    let along: f64 = d.iter().zip(sign).map(|(a, b)| a * b).sum();
                    let square: f64 = d.iter().map(|a| a * a).sum();
                    let r = (square / norm).sqrt().copysign(along);
                    let power: f64 = parents.iter().zip(&d).map(|(p, d)| d * z_dot[p.index]).sum();
                    let r_dot = power / (norm * r);
                    (z[*first], z_dot[*first]) = (r, r_dot);
                    for (i, (p, d)) in parents.iter().zip(&d).enumerate() {
                        z[first + 1 + i] = d / r;
                        z_dot[first + 1 + i] = (z_dot[p.index] - d / r * r_dot) / r;
                    }
                }
                Transform::Linear { parent, other, alpha, new } => {
                    z[*new] =
                        z[parent.index] - parent.origin - alpha * (z[other.index] - other.origin);
                    z_dot[*new] = z_dot[parent.index] - alpha * z_dot[other.index];
                }
            }
        }
        z.iter().chain(&z_dot).all(|a| a.is_finite()).then_some((z, z_dot))
    }

    /// The variable of the whole system that is zero at the singular point and changes its sign there along
    /// curves of odd order, and its value there: x_0 of the first round, or r.
    pub fn passing(&self) -> Option<(usize, f64)> {
        let round = self.rounds.first()?;
        match self.transforms.iter().find(|t| !matches!(t, Transform::Linear { .. }))? {
            Transform::Polar { first, .. } => Some((*first, 0.0)),
            _ => Some((round.chart, self.place[round.chart])),
        }
    }
}

impl<C: Field> Resolution<C> {
    /// The resolution over floats.
    pub fn to_f64(&self, value: impl Fn(&C) -> f64 + Copy) -> Resolution<f64> {
        let list = |v: &[C]| v.iter().map(value).collect::<Vec<f64>>();
        let address = |a: &Address<C>| Address { index: a.index, origin: value(&a.origin) };
        let transform = |t: &Transform<C>| match t {
            Transform::Quotient { numerator, denominator, new } => Transform::Quotient {
                numerator: address(numerator),
                denominator: address(denominator),
                new: *new,
            },
            Transform::Polar { parents, first, norm, sign } => Transform::Polar {
                parents: parents.iter().map(address).collect(),
                first: *first,
                norm: value(norm),
                sign: list(sign),
            },
            Transform::Linear { parent, other, alpha, new } => Transform::Linear {
                parent: address(parent),
                other: address(other),
                alpha: value(alpha),
                new: *new,
            },
        };
        let round = |r: &Round<C>| Round {
            before: r.before.map(value),
            triangular: r.triangular.map(value),
            chart: r.chart,
            alphas: r.alphas.iter().map(|(i, a)| (*i, value(a))).collect(),
            substituted: r.substituted.map(value),
            divided: r.divided.map(value),
            point: list(&r.point),
            order_before: r.order_before,
            order_after: r.order_after,
        };
        Resolution {
            method: self.method,
            place: list(&self.place),
            rounds: self.rounds.iter().map(round).collect(),
            whole: self.whole.map(value),
            n_transformations: self.n_transformations,
            point: list(&self.point),
            transforms: self.transforms.iter().map(transform).collect(),
        }
    }
}

fn write_lines<C: Field>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    system: &System<C>,
) -> fmt::Result {
    writeln!(f, "  {title}")?;
    for line in system.lines() {
        writeln!(f, "    {line}")?;
    }
    Ok(())
}

/// Every system of every round, then the whole.
impl<C: Field> fmt::Display for Resolution<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = |o: Option<usize>| o.map_or("unknown".to_owned(), |o| o.to_string());
        for (k, round) in self.rounds.iter().enumerate() {
            let chart = &round.before.names[round.chart];
            let along = match self.method {
                Method::Curve => format!("along {chart}"),
                Method::Polar => "polar".into(),
                Method::ComplexPolar => "complex polar".into(),
            };
            writeln!(f, "blow-up {}, {along}", k + 1)?;
            write_lines(f, "point in the origin:", &round.before)?;
            if !round.alphas.is_empty() {
                writeln!(f, "  transformed before:")?;
                for (i, alpha) in &round.alphas {
                    let (negative, size) = alpha.negative().written();
                    let sign = if negative { '-' } else { '+' };
                    writeln!(f, "    s_{0} = {0} {sign} {size}*{chart}", round.before.names[*i])?;
                }
            }
            write_lines(f, "linear parts triangular:", &round.triangular)?;
            write_lines(f, "new variables:", &round.substituted)?;
            write_lines(f, "divided:", &round.divided)?;
            writeln!(f, "  t-order {} -> {}", order(round.order_before), order(round.order_after))?;
        }
        write_lines(f, "regular formulation:", &self.whole)
    }
}
