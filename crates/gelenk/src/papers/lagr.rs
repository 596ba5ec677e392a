//! \[LAGR 1978\]: its example, and what its last section leaves open.

use gelenk_lagrange::deck::{self, ForceFunction, ForceFunctions, Source};

use super::{Claim, Line, Paper, PapersError, failed, gallery};
use crate::decks::{DeckSettings, run_deck};
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
        claim(
            "section 8",
            "Left open: potential and dissipation function. Here all forces of system 2 have both; those of one end of a spring have none.",
            vec![
                Line::within(
                    "potential of all forces found",
                    found(system, Source::All, |f| &f.potential),
                    1.0,
                    1.0,
                ),
                Line::within(
                    "dissipation function found",
                    found(system, Source::All, |f| &f.dissipation),
                    1.0,
                    1.0,
                ),
                Line::within(
                    "potential of body 2's forces found",
                    found(system, Source::Body(2), |f| &f.potential),
                    0.0,
                    0.0,
                ),
            ],
        ),
        Claim {
            command: "gelenk run loudspeaker --engine lagrange; gelenk lagr loudspeaker --run",
            ..claim(
                "section 1",
                "Lagrange's equations serve electromechanical systems too: a loudspeaker with its charge as a coordinate, as a model and on cards.",
                loudspeaker()?,
            )
        },
    ])
}

/// The gallery's loudspeaker by the lagrange engine, beside the deck of the same name.
fn loudspeaker() -> Result<Vec<Line>, PapersError> {
    let what = "loudspeaker";
    let loaded = gallery(what, "loudspeaker", &[])?;
    let duration = 0.1;
    let settings = gelenk_model::RunSettings {
        engine: "lagrange".to_owned(),
        duration,
        step: duration,
        ..loaded.model.run.clone()
    };
    let report = crate::simulate::simulate_loaded(&loaded, &settings, &mut ())
        .map_err(|error| failed(what)(&error))?;
    let name = deck::DECKS.iter().find(|(name, _)| *name == what);
    let text = name.ok_or_else(|| failed(what)(&"no such deck"))?.1;
    let deck = deck::read(text).map_err(|faults| failed(what)(&faults[0]))?;
    let mut pool = Pool::new();
    let derived = deck.derive(&mut pool).map_err(|faults| failed(what)(&faults[0]))?;
    let parameter = |name: &str| {
        let found = loaded.model.parameters.iter().find(|p| p.name == name);
        found.map_or(f64::NAN, |p| p.value)
    };
    let values = [
        ("M(1)", "m"),
        ("M(2)", "L"),
        ("S", "s"),
        ("D", "d"),
        ("R", "R"),
        ("CAP", "cap"),
        ("BL", "Bl"),
        ("U0", "U"),
    ];
    let mut values: Vec<(String, f64)> =
        values.iter().map(|(card, own)| ((*card).to_owned(), parameter(own))).collect();
    values.push(("OM".to_owned(), std::f64::consts::TAU * parameter("f")));
    let settings = DeckSettings {
        values,
        duration,
        step: duration,
        tolerance: 1e-12,
        kinetic_list: 0,
        force_list: 0,
    };
    let motion = run_deck(&mut pool, &derived.systems[0], &settings)
        .map_err(|error| failed(what)(&error))?;
    let last = motion.samples.last().map_or_else(Vec::new, |sample| sample.y.clone());
    let apart = |joint: &str, k: usize| {
        let id = loaded.model.joint(joint);
        let slot = id.map(|id| loaded.model.joints[id.index()].first_coordinate);
        let ours = slot.map_or(f64::NAN, |slot| report.state.coordinate[slot]);
        (ours - last.get(k).copied().unwrap_or(f64::NAN)).abs()
    };
    Ok(vec![
        Line::within("place of the cone after 0.1 s, apart, m", apart("suspension", 0), 0.0, 1e-10),
        Line::within("charge, apart, C", apart("coil", 1), 0.0, 1e-10),
    ])
}

/// 1 if the function was found.
fn found(
    system: &deck::SystemResult,
    source: Source,
    which: impl Fn(&ForceFunctions) -> &ForceFunction,
) -> f64 {
    let functions = system.functions.iter().find(|functions| functions.source == source);
    let is = functions.is_some_and(|f| matches!(which(f), ForceFunction::Is(_)));
    if is { 1.0 } else { 0.0 }
}
