//! One round: new variables, division, the point moved to the origin.

use super::{Address, Judge, Round, Stage, Transform, local_system, order_of};
use crate::error::Error;
use crate::field::Field;
use crate::poly::{Monomial, Poly};
use crate::series::{self, t_order};
use crate::system::System;

/// The variables that are blown up: all, or those of equations without linear part.
fn centre<C: Field>(triangular: &System<C>, judge: &Judge<C>) -> Vec<bool> {
    let n = triangular.n_variables();
    if !judge.locus {
        return vec![true; n];
    }
    let deficient = triangular
        .equations
        .iter()
        .filter(|g| g.lowest_degree(judge.epsilon).is_some_and(|degree| degree > 1));
    let mut centre = vec![false; n];
    for (m, _) in deficient.flat_map(Poly::terms) {
        for (taken, e) in centre.iter_mut().zip(m.exponents()) {
            *taken |= *e > 0;
        }
    }
    centre
}

/// The component of lowest t-order among those in the centre: the first, of floats the largest.
fn lowest<C: Field>(curve: &[Vec<C>], centre: &[bool], judge: &Judge<C>) -> Result<usize, Error> {
    let mut best: Option<(usize, usize, f64)> = None;
    for (i, x) in curve.iter().enumerate() {
        let Some(order) = t_order(x, judge.curve_epsilon).filter(|_| centre[i]) else { continue };
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

/// x_i/x_k of the components in the centre; the k-th is x_k itself, and others are themselves, shortened likewise.
fn ratios<C: Field>(
    curve: &[Vec<C>],
    k: usize,
    centre: &[bool],
    judge: &Judge<C>,
) -> Result<Vec<Vec<C>>, Error> {
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
            if i == k || !centre[i] {
                return Ok(x[..length].to_vec());
            }
            series::quotient(x, &curve[k], judge.curve_epsilon).ok_or_else(too_short)
        })
        .collect()
}

fn numbered(letter: &str, round: usize) -> String {
    if round == 0 { letter.to_owned() } else { format!("{letter}{}", round + 1) }
}

/// Puts x_i = λ_i x_k in for the variables of the centre, and divides each equation by the highest power of x_k: a monomial has the power
/// that it has degree in the centre. Terms that do not count are divided by their own power.
pub(crate) fn divided<C: Field>(
    triangular: &System<C>,
    names: &[String],
    place: impl Fn(&Monomial) -> Vec<u16>,
    k: usize,
    centre: &[bool],
    epsilon: f64,
) -> (System<C>, System<C>) {
    let n = names.len();
    let weight = |m: &Monomial| -> u32 {
        let inside = m.exponents().iter().zip(centre).filter(|(_, inside)| **inside);
        inside.map(|(e, _)| u32::from(*e)).sum()
    };
    let put = |g: &Poly<C>, power: u32| {
        g.map_monomials(n, |m, _| {
            let mut e = place(m);
            let degree = weight(m);
            // Degrees of bounded polynomials are small.
            e[k] = u16::try_from(degree - power.min(degree)).unwrap_or(u16::MAX);
            Monomial(e)
        })
    };
    let power = |g: &Poly<C>| {
        let counting = g.terms().filter(|(m, c)| m.degree() > 1 || !c.is_below(epsilon));
        counting.map(|(m, _)| weight(m)).min().unwrap_or(0)
    };
    let system = |equations| System { names: names.to_vec(), equations };
    (
        system(triangular.equations.iter().map(|g| put(g, 0)).collect()),
        system(triangular.equations.iter().map(|g| put(g, power(g))).collect()),
    )
}

/// Moves the new point to the origin (step 4).
fn shift<C: Field>(
    stage: &mut Stage<C>,
    next: &System<C>,
    point: &[C],
    epsilon: f64,
) -> Result<(), Error> {
    stage.local = local_system(next, point, epsilon)?;
    for (a, c) in stage.addresses.iter_mut().zip(point) {
        if !c.is_zero() {
            a.origin = c.clone();
        }
    }
    for x in &mut stage.curve {
        x[0] = C::zero();
    }
    Ok(())
}

pub(super) fn curve_round<C: Field>(
    stage: &mut Stage<C>,
    names: &mut Vec<String>,
    transforms: &mut Vec<Transform<C>>,
    number: usize,
    judge: &Judge<C>,
) -> Result<(Round<C>, Vec<Address<C>>), Error> {
    let triangular = stage.local.triangular(judge.epsilon);
    let centre = centre(&triangular, judge);
    let k = lowest(&stage.curve, &centre, judge)?;
    let denominator = stage.addresses[k].clone();
    let mut local_names = stage.local.names.clone();
    let mut addresses = Vec::with_capacity(local_names.len());
    for (i, a) in stage.addresses.iter().enumerate() {
        if i == k || !centre[i] {
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
    let (substituted, divided) =
        divided(&triangular, &local_names, place, k, &centre, judge.epsilon);
    let curve = ratios(&stage.curve, k, &centre, judge)?;
    let mut point: Vec<C> = curve.iter().map(|x| x[0].clone()).collect();
    for i in (0..point.len()).filter(|i| *i == k || !centre[*i]) {
        point[i] = C::zero();
    }
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
    shift(stage, &divided, &point, judge.epsilon)?;
    Ok((round, addresses))
}

/// The transformation before the complex blow-up: only one component of lowest t-order remains.
pub(super) fn straighten<C: Field>(
    stage: &mut Stage<C>,
    names: &mut Vec<String>,
    point: &mut Vec<C>,
    transforms: &mut Vec<Transform<C>>,
    judge: &Judge<C>,
) -> Vec<(usize, C)> {
    let all = vec![true; stage.curve.len()];
    let Ok(k) = lowest(&stage.curve, &all, judge) else { return Vec::new() };
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

pub(super) fn polar_round<C: Field>(
    stage: &mut Stage<C>,
    names: &mut Vec<String>,
    transforms: &mut Vec<Transform<C>>,
    number: usize,
    judge: &Judge<C>,
) -> Result<(Round<C>, Vec<Address<C>>), Error> {
    let n = stage.local.n_variables();
    let all = vec![true; n];
    let k = lowest(&stage.curve, &all, judge)?;
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
    let lambda = ratios(&stage.curve, k, &all, judge)?;
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
    let (substituted, mut divided) =
        divided(&triangular, &local_names, place, 0, &all, judge.epsilon);
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
    shift(stage, &divided, &point, judge.epsilon)?;
    Ok((round, addresses))
}
