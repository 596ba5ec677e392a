//! \[Laufen\]: singular positions, crossed by blow-up.

use gelenk_blowup::System;

use super::{Claim, Line, Paper, PapersError, failed, gallery};
use crate::singular::{
    Analysis, CrossOptions, CrossRun, PointConstraints, analyse_model, cross_model,
    point_constraints,
};

/// Coefficient operations at a position.
const WORK: usize = 2_000_000;

pub(super) fn claims() -> Result<Vec<Claim>, PapersError> {
    let claim =
        |place, claim, command, lines| Claim { paper: Paper::Laufen, place, claim, command, lines };
    Ok(vec![
        claim(
            "section IV.4",
            "x y = 0: two branches cross, and the blow-up passes along each.",
            "gelenk singularities coordinate-cross --cross",
            cross()?,
        ),
        claim(
            "section IV.3",
            "The lying eight is crossed in 85 steps and 1190 evaluations.",
            "gelenk singularities lying-eight --cross --tolerance 2e-8",
            eight()?,
        ),
        claim(
            "sections III and IV",
            "The blow-up lowers the t-order of G along the curve: degenerate crank, from 1 to 0.",
            "gelenk singularities degenerate-crank --polar",
            crank()?,
        ),
        claim(
            "section III",
            "Blowing up along a curve makes that curve passable, not every one: (y + x)(y − x)² stays singular on y = x.",
            "gelenk papers",
            double_line()?,
        ),
        claim(
            "section IV",
            "No smooth motion passes the cusp.",
            "gelenk singularities cusp",
            cusp()?,
        ),
    ])
}

fn analysed(what: &'static str) -> Result<(PointConstraints, Analysis), PapersError> {
    let loaded = gallery(what, what, &[])?;
    let constraints = point_constraints(&loaded).map_err(|e| failed(what)(&e))?;
    let analysis = analyse_model(&constraints, WORK).map_err(|e| failed(what)(&e))?;
    Ok((constraints, analysis))
}

fn crossed(
    what: &'static str,
    duration: f64,
    tolerance: f64,
) -> Result<(Analysis, CrossRun), PapersError> {
    let (constraints, analysis) = analysed(what)?;
    let options = CrossOptions { tolerance, ..CrossOptions::default() };
    let run = cross_model(&constraints, &analysis, duration, &options, &mut |_, _, _| {})
        .map_err(|e| failed(what)(&e))?;
    Ok((analysis, run))
}

fn branches(analysis: &Analysis) -> f64 {
    analysis.positions.first().map_or(f64::NAN, |p| p.branches.found.len() as f64)
}

fn cross() -> Result<Vec<Line>, PapersError> {
    let (analysis, run) = crossed("coordinate-cross", 2.0, 1e-10)?;
    Ok(vec![
        Line::equal("branches", 2.0, branches(&analysis)),
        Line::equal("singular positions crossed", 1.0, run.crossings.len() as f64),
        // From x = −1 m with 1 m/s, straight on.
        Line::near("x after 2 s, m", 1.0, run.x[0], 1e-9),
    ])
}

fn eight() -> Result<Vec<Line>, PapersError> {
    let (analysis, run) = crossed("lying-eight", 2.0, 2e-8)?;
    let most = |what: &str, paper: f64, ours: usize| Line {
        what: what.to_owned(),
        paper: Some(paper),
        ours: ours as f64,
        low: 0.0,
        high: paper,
    };
    Ok(vec![
        Line::equal("branches", 2.0, branches(&analysis)),
        most("steps (tolerance 2e-8; at most)", 85.0, run.steps),
        most("evaluations of the accelerations (at most)", 1190.0, run.evaluations),
        Line::within("energy error, J", run.energy_error, 0.0, 1e-6),
    ])
}

fn crank() -> Result<Vec<Line>, PapersError> {
    let (_, analysis) = analysed("degenerate-crank")?;
    let branch = analysis.positions.first().and_then(|p| p.resolved.first());
    let round = branch.and_then(|branch| branch.curve.rounds.first());
    let order = |of: Option<Option<usize>>| of.flatten().map_or(f64::NAN, |order| order as f64);
    Ok(vec![
        Line::equal("branches", 2.0, branches(&analysis)),
        Line::equal("t-order before", 1.0, order(round.map(|r| r.order_before))),
        Line::equal("t-order after", 0.0, order(round.map(|r| r.order_after))),
    ])
}

fn double_line() -> Result<Vec<Line>, PapersError> {
    let what = "(y + x)(y − x)²";
    let system =
        System::parse(&["x", "y"], &["(y + x)*(y - x)^2 = 0"]).map_err(|e| failed(what)(&e))?;
    let place = [gelenk_expr::Rational::ZERO, gelenk_expr::Rational::ZERO];
    let mut work = gelenk_blowup::groebner::Work::new("branches", WORK);
    let found =
        gelenk_blowup::branches(&system, &place, &mut work).map_err(|e| failed(what)(&e))?;
    let lasting = found.found.iter().filter(|branch| branch.order.is_none()).count();
    Ok(vec![
        Line::equal("branches", 2.0, found.found.len() as f64),
        Line::equal("of these with rank lost all along", 1.0, lasting as f64),
    ])
}

fn cusp() -> Result<Vec<Line>, PapersError> {
    let (_, analysis) = analysed("cusp")?;
    let resolved = analysis.positions.iter().flat_map(|p| &p.resolved);
    let smooth = resolved.filter(|branch| branch.smooth != Some(false)).count();
    Ok(vec![Line::equal("branches with a smooth motion", 0.0, smooth as f64)])
}
