//! \[Laufen\]: singular positions, crossed by blow-up.

use gelenk_blowup::{Field, Gauss, Judge, Method, System, blow_up};
use gelenk_dae::descriptor::Descriptor;
use gelenk_dae::polynomial::Polynomial;
use gelenk_dae::relax::{Relaxation, integrate, mixed_part, with_added_variables};
use gelenk_ode::Options;

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
            "section II, example 2",
            "The linear relaxation keeps g growing linearly, and runs into the loss of rank at p = 0 where it goes inward.",
            "gelenk papers --only thesis",
            linear_relaxation()?,
        ),
        claim(
            "section II, Baumgarte",
            "g and its rate die away with α.",
            "gelenk papers --only thesis",
            baumgarte_relaxation()?,
        ),
        claim(
            "section II, orthogonal relaxation",
            "The motion goes straight on, whatever the form h(g) of the constraint.",
            "gelenk papers --only thesis",
            orthogonal_relaxation()?,
        ),
        claim(
            "section II, example 3",
            "Mixed: coordinates that are to keep the constraints do; the others take the inconsistent part.",
            "gelenk papers --only thesis",
            mixed_relaxation()?,
        ),
        claim(
            "section II, examples 4 and 5",
            "With k more variables the rank is full everywhere: the linear relaxation passes p = 0.",
            "gelenk papers --only thesis",
            added_variables()?,
        ),
        claim(
            "section III",
            "Complex blow-up: x² + y² = 0 along (t, i t) is regular after one round.",
            "gelenk papers --only thesis",
            complex_blow_up()?,
        ),
        claim(
            "section IV.4, disturbed",
            "x y = ε is taken for the cross with a tolerance above ε, and for a hyperbola without singular position below.",
            "gelenk papers --only thesis",
            disturbed_cross()?,
        ),
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

/// g = h(p² − 1) of one coordinate, no force (section II, example 2).
fn point(h: impl Fn(&Polynomial) -> Polynomial) -> Descriptor<'static> {
    let p = Polynomial::variable(0);
    let g = &p.power(2) - &Polynomial::constant(1.0);
    Descriptor { mass: vec![2.0], g: vec![h(&g)], force: Box::new(|_, _, _, out| out.fill(0.0)) }
}

fn relaxed(
    system: &Descriptor<'_>,
    relaxation: &Relaxation,
    (p, v): (&[f64], &[f64]),
    duration: f64,
) -> Result<(Vec<f64>, Vec<f64>), PapersError> {
    let options = Options { max_steps: 20_000, ..Options::with_tolerance(1e-12) };
    integrate(system, relaxation, (0.0, p, v), duration, &options)
        .map_err(|e| failed("relaxation")(&e))
}

fn linear_relaxation() -> Result<Vec<Line>, PapersError> {
    let system = point(Clone::clone);
    let (p0, v0) = (0.6_f64, 0.4);
    let (p, _) = relaxed(&system, &Relaxation::Linear, (&[p0], &[v0]), 2.0)?;
    // Inward until p = 0 at t = −p0/(2 v0): the last time that is reached, by halving.
    let inward = |t: f64| relaxed(&system, &Relaxation::Linear, (&[p0], &[-v0]), t).is_ok();
    let (mut reached, mut beyond) = (0.1, 2.0);
    for _ in 0..24 {
        let middle = 0.5 * (reached + beyond);
        *(if inward(middle) { &mut reached } else { &mut beyond }) = middle;
    }
    Ok(vec![
        Line::near(
            "outward: p after 2 s, √(p0² + 2 p0 v0 t)",
            (p0 * p0 + 4.0 * p0 * v0).sqrt(),
            p[0],
            1e-10,
        ),
        Line::near("inward: time of the breakdown, −p0/(2 v0), s", 0.5 * p0 / v0, reached, 1e-5),
    ])
}

fn baumgarte_relaxation() -> Result<Vec<Line>, PapersError> {
    let (alpha, p0, v0) = (8.0_f64, 1.1_f64, -0.2_f64);
    let (system, relaxation) = (point(Clone::clone), Relaxation::Baumgarte { alpha });
    let t = 0.5;
    let (p, _) = relaxed(&system, &relaxation, (&[p0], &[v0]), t)?;
    let (g, rate) = (p0 * p0 - 1.0, 2.0 * p0 * v0);
    let target = (g + (rate + alpha * g) * t + (alpha * rate + 0.5 * alpha * alpha * g) * t * t)
        * (-alpha * t).exp();
    let (end, _) = relaxed(&system, &relaxation, (&[p0], &[v0]), 6.0)?;
    Ok(vec![
        Line::near("α = 8: p² − 1 after 0.5 s", target, p[0] * p[0] - 1.0, 1e-7),
        Line::within("|p − 1| after 6 s", (end[0] - 1.0).abs(), 0.0, 1e-12),
    ])
}

fn orthogonal_relaxation() -> Result<Vec<Line>, PapersError> {
    let forms = [
        point(Clone::clone),
        point(|g| &g.power(3) + &g.scaled(2.0)),
        point(|g| &g.scaled(5.0) - &g.power(2)),
    ];
    let (mut worst, v0) = (0.0_f64, -1.0);
    for system in &forms {
        for p0 in [1.0, -0.3, 0.05, 2.0] {
            let (p, _) = relaxed(system, &Relaxation::Orthogonal, (&[p0], &[v0]), 3.0)?;
            worst = worst.max((p[0] - (p0 + 3.0 * v0)).abs());
        }
    }
    Ok(vec![Line::within(
        "largest |p − (p0 + v0 t)| for g, g³ + 2 g and 5 g − g², 3 s",
        worst,
        0.0,
        1e-10,
    )])
}

/// M1 on the unit circle, M2 at distance 1 from it (section II, example 3).
fn two_masses() -> Descriptor<'static> {
    let [x1, y1, x2, y2] = [0, 1, 2, 3].map(Polynomial::variable);
    let one = Polynomial::constant(1.0);
    let square = |a: &Polynomial, b: &Polynomial| &a.power(2) + &b.power(2);
    Descriptor {
        mass: vec![1.0; 4],
        g: vec![&square(&x1, &y1) - &one, &square(&(&x1 - &x2), &(&y1 - &y2)) - &one],
        force: Box::new(|_, _, _, out| out.fill(0.0)),
    }
}

fn mixed_relaxation() -> Result<Vec<Line>, PapersError> {
    let system = two_masses();
    let (p, v) = ([0.0, 1.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.0]);
    let part = mixed_part(&system, &p, &v, &[0, 1]).map_err(|e| failed("mixed part")(&e))?;
    let mixed = Relaxation::Mixed { kept: vec![0, 1] };
    let (kept, _) = relaxed(&system, &mixed, (&p, &v), 0.25)?;
    let (plain, _) = relaxed(&system, &Relaxation::Orthogonal, (&p, &v), 0.25)?;
    Ok(vec![
        Line::near("inconsistent part of M2's velocity with M1 kept", -2.0, part[2], 1e-14),
        Line::near("distance of M1 from its centre, mixed", 1.0, kept[0].hypot(kept[1]), 1e-11),
        Line::near("the same, orthogonal", 0.25_f64.hypot(1.0), plain[0].hypot(plain[1]), 1e-11),
    ])
}

fn added_variables() -> Result<Vec<Line>, PapersError> {
    let start: (&[f64], &[f64]) = (&[0.6, 0.0], &[-0.4, 0.0]);
    let system = with_added_variables(point(Clone::clone), false);
    let smallest = (-20..=20)
        .map(|k| system.jacobian(&[f64::from(k) * 0.1, 0.0]).norm())
        .fold(f64::INFINITY, f64::min);
    // Without them this breaks down at 0.75 s.
    let passed = relaxed(&system, &Relaxation::Linear, start, 1.0).is_ok();
    Ok(vec![
        Line::within("smallest norm of G for p from −2 to 2", smallest, 1.0, f64::INFINITY),
        Line::equal("the run inward passes", 1.0, if passed { 1.0 } else { 0.0 }),
    ])
}

fn complex_blow_up() -> Result<Vec<Line>, PapersError> {
    let what = "x² + y²";
    let system = System::parse(&["x", "y"], &["x^2 + y^2 = 0"]).map_err(|e| failed(what)(&e))?;
    let x: Vec<Gauss> =
        [0, 1, 0, 0, 0].map(|k| Gauss::from_rational(&gelenk_expr::Rational::from(k))).to_vec();
    let y = x.iter().map(|c| c.times(&Gauss::i())).collect();
    let found = blow_up(
        &system.map(Gauss::from_rational),
        &[Gauss::zero(), Gauss::zero()],
        &[x, y],
        Method::ComplexPolar,
        &Judge::exact(),
    )
    .map_err(|e| failed(what)(&e))?;
    let round = found.rounds.first();
    let order = |of: Option<Option<usize>>| of.flatten().map_or(f64::NAN, |order| order as f64);
    Ok(vec![
        Line::equal("t-order before", 1.0, order(round.map(|r| r.order_before))),
        Line::equal("t-order after", 0.0, order(round.map(|r| r.order_after))),
        Line::equal(
            "equations less rank after",
            0.0,
            found.whole.equations.len() as f64 - found.whole.rank_at(&found.point, 0.0) as f64,
        ),
    ])
}

fn disturbed_cross() -> Result<Vec<Line>, PapersError> {
    let what = "x y = ε";
    let system = System::parse(&["x", "y"], &["x*y = 1e-10"]).map_err(|e| failed(what)(&e))?;
    let system = system.to_f64();
    let curve = [vec![0.0, 1.0, 0.0, 0.0], vec![0.0; 4]];
    let rounds = |epsilon: f64| {
        let judge = Judge { epsilon, curve_epsilon: 1e-8, ..Judge::exact() };
        let found = blow_up(&system, &[0.0, 0.0], &curve, Method::Polar, &judge);
        found.map_or(0.0, |found| found.rounds.len() as f64)
    };
    Ok(vec![
        Line::equal("ε = 1e-10, tolerance 1e-8: rounds of blow-up", 1.0, rounds(1e-8)),
        Line::equal("tolerance 1e-12: rounds, as there is nothing to blow up", 0.0, rounds(1e-12)),
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
