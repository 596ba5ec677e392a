//! The result of a blow-up: its equations, the way into its variables, its text.

use std::fmt;

use super::{Address, Method, Resolution, Round, Transform};
use crate::field::Field;
use crate::poly::Poly;
use crate::system::System;

impl<C: Field> Address<C> {
    /// The variable as a polynomial of the whole system.
    pub(super) fn poly(&self, total: usize) -> Poly<C> {
        Poly::variable(total, self.index).minus(&Poly::constant(total, self.origin.clone()))
    }
}

impl<C: Field> Transform<C> {
    /// The transformation as equations, without norm rows.
    pub(super) fn equations(&self, total: usize) -> Vec<Poly<C>> {
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
