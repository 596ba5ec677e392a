//! \[LAGR 1978\]: its example, and what its last section leaves open.

use gelenk_lagrange::deck;

use super::{Claim, Line, Paper, PapersError, failed};
use crate::expr::{Expr, Pool};

pub(super) fn claims() -> Result<Vec<Claim>, PapersError> {
    let what = "system 2";
    let deck = deck::read(deck::EXAMPLE).map_err(|faults| failed(what)(&faults[0]))?;
    let mut pool = Pool::new();
    let derived = deck.derive(&mut pool).map_err(|faults| failed(what)(&faults[0]))?;
    let system = &derived.systems[0];
    let count =
        |rows: &[Vec<Expr>]| rows.iter().flatten().filter(|e| **e != Expr::ZERO).count() as f64;
    let kinetics = &system.kinetics[0];
    let symbols: Vec<Vec<Expr>> = kinetics.gamma.iter().flatten().cloned().collect();
    let singular = system.kinetics.last().and_then(|k| k.undetermined.as_ref());
    let claim = |place, claim, lines| Claim {
        paper: Paper::Lagr1978,
        place,
        claim,
        command: "gelenk lagr system-2",
        lines,
    };
    Ok(vec![
        claim(
            "section 6.2",
            "A pendulum with a sliding point mass on a guided support: all coefficients in closed form (checked against SymPy at 100 points by the tests).",
            vec![
                Line::within(
                    "coefficients of the kinetic energy that are not zero",
                    count(&kinetics.g),
                    9.0,
                    9.0,
                ),
                Line::within("Christoffel symbols that are not zero", count(&symbols), 7.0, 7.0),
                Line::within(
                    "generalized forces that are not zero",
                    count(&[system.forces[0].q.clone()]),
                    3.0,
                    3.0,
                ),
            ],
        ),
        claim(
            "section 6.2, special case b",
            "Without the point mass its coordinate has no inertia.",
            vec![Line::within(
                "rank of the mass matrix of 3 freedoms",
                singular.map_or(f64::NAN, |u| u.rank as f64),
                2.0,
                2.0,
            )],
        ),
    ])
}
