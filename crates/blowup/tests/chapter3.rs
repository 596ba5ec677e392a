//! The examples of [Laufen] chapter III.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_blowup::Field;
use gelenk_blowup::{Error, Gauss, Judge, Method, Resolution, System, blow_up};
use gelenk_expr::Rational;

fn system(names: &[&str], equations: &[&str]) -> System<Rational> {
    System::parse(names, equations).unwrap()
}

fn series(a: &[i64]) -> Vec<Rational> {
    let mut a: Vec<Rational> = a.iter().map(|n| Rational::from(*n)).collect();
    a.resize(12, Rational::ZERO);
    a
}

fn zeros(n: usize) -> Vec<Rational> {
    vec![Rational::ZERO; n]
}

/// The equations of the whole system are these, in this order.
fn assert_whole(resolution: &Resolution<Rational>, expected: &[&str]) {
    let names: Vec<&str> = resolution.whole.names.iter().map(String::as_str).collect();
    assert_eq!(resolution.whole.lines(), System::parse(&names, expected).unwrap().lines());
}

/// The whole system has full rank at its point.
fn assert_regular(resolution: &Resolution<Rational>) {
    let rank = resolution.whole.rank_at(&resolution.point, 0.0);
    assert_eq!(rank, resolution.whole.equations.len());
}

#[test]
fn example_9_cusp_by_curve_and_polar() {
    let cusp = system(&["x0", "x1"], &["x1^2 - x0^3"]);
    let curve = [series(&[0, 0, 1]), series(&[0, 0, 0, 1])];
    let by_curve = blow_up(&cusp, &zeros(2), &curve, Method::Curve, &Judge::exact()).unwrap();
    assert_whole(&by_curve, &["x1 - l_x1*x0", "l_x1^2 - x0"]);
    assert_regular(&by_curve);
    // G = (-3 x0², 2 x1) = (-3 t⁴, 2 t³).
    assert_eq!(by_curve.rounds[0].order_before, Some(3));
    assert_eq!(by_curve.rounds[0].order_after, Some(0));
    let polar = blow_up(&cusp, &zeros(2), &curve, Method::Polar, &Judge::exact()).unwrap();
    assert_whole(
        &polar,
        &["x0 - r*e_x0", "x1 - r*e_x1", "e_x1^2 - r*e_x0^3", "e_x0^2 + e_x1^2 - 1"],
    );
    assert_regular(&polar);
}

#[test]
fn example_8_traversable_or_not() {
    let judge = Judge::exact();
    let cross = system(&["x", "y"], &["x*y"]);
    let along_x = [series(&[0, 1]), series(&[])];
    let r = blow_up(&cross, &zeros(2), &along_x, Method::Curve, &judge).unwrap();
    assert_whole(&r, &["y - l_y*x", "l_y"]);
    assert_eq!(r.rounds[0].order_before, Some(1));
    assert_regular(&r);
    // The other branch, by the other curve.
    let along_y = [series(&[]), series(&[0, 1])];
    let r = blow_up(&cross, &zeros(2), &along_y, Method::Curve, &judge).unwrap();
    assert_whole(&r, &["x - l_x*y", "l_x"]);

    // x² = 0: the only curve stays at the point.
    let point = system(&["x"], &["x^2"]);
    let error = blow_up(&point, &zeros(1), &[series(&[])], Method::Curve, &judge).unwrap_err();
    assert!(matches!(error, Error::NotTraversing { .. }), "{error}");
    let off = blow_up(&point, &zeros(1), &[series(&[0, 1])], Method::Curve, &judge).unwrap_err();
    assert_eq!(
        off.to_string(),
        "the curve does not traverse the singularity: equation 1 is not fulfilled along it"
    );

    // x = 0, xy = 0: redundant, rank is lost everywhere.
    let twice = system(&["x", "y"], &["x", "x*y"]);
    let error = blow_up(&twice, &zeros(2), &along_y, Method::Curve, &judge).unwrap_err();
    assert!(matches!(error, Error::NotTraversing { .. }), "{error}");
}

#[test]
fn the_other_point_may_not_be_traversable() {
    // g = (y + x)(y - x)²: along (t, -t) it goes well, along (t, t) not.
    let g = system(&["x", "y"], &["(y + x)*(y - x)^2"]);
    let judge = Judge::exact();
    let down = [series(&[0, 1]), series(&[0, -1])];
    let r = blow_up(&g, &zeros(2), &down, Method::Curve, &judge).unwrap();
    assert_whole(&r, &["y - l_y*x", "(l_y + 1)*(l_y - 1)^2"]);
    // G(t, -t) = ((2t)², (2t)²).
    assert_eq!((r.rounds[0].order_before, r.rounds[0].order_after), (Some(2), Some(0)));
    assert_regular(&r);
    let up = [series(&[0, 1]), series(&[0, 1])];
    assert!(matches!(
        blow_up(&g, &zeros(2), &up, Method::Curve, &judge),
        Err(Error::NotTraversing { .. })
    ));
}

#[test]
fn polar_blow_up_keeps_points_that_are_not_traversable() {
    // xy² = 0 along (0, t): regular at r = 0, e = (0, 1); singular at e = (1, 0).
    let g = system(&["x", "y"], &["x*y^2"]);
    let curve = [series(&[]), series(&[0, 1])];
    let r = blow_up(&g, &zeros(2), &curve, Method::Polar, &Judge::exact()).unwrap();
    let round = &r.rounds[0];
    assert_eq!(round.divided.lines(), ["e_x*e_y^2 = 0", "e_x^2 + e_y^2 - 1 = 0"]);
    assert_eq!(round.point, [0, 0, 1].map(Rational::from));
    assert_regular(&r);
    assert_eq!(round.divided.rank_at(&[0, 0, 1].map(Rational::from), 0.0), 2);
    assert_eq!(round.divided.rank_at(&[0, 1, 0].map(Rational::from), 0.0), 1);
}

#[test]
fn complex_blow_up() {
    // x² + y² = 0 along (t, i t): the norm vanishes without the transformation before.
    let g = system(&["x", "y"], &["x^2 + y^2"]).map(Gauss::from_rational);
    let complex =
        |a: &[i64]| -> Vec<Gauss> { series(a).iter().map(Gauss::from_rational).collect() };
    let x = complex(&[0, 1]);
    let y: Vec<Gauss> = x.iter().map(|c| c.times(&Gauss::i())).collect();
    let curve = [x, y];
    let origin = [Gauss::zero(), Gauss::zero()];
    let judge = Judge::exact();
    let error = blow_up(&g, &origin, &curve, Method::Polar, &judge).unwrap_err();
    assert!(error.to_string().contains("complex blow-up"), "{error}");
    let r = blow_up(&g, &origin, &curve, Method::ComplexPolar, &judge).unwrap();
    let round = &r.rounds[0];
    assert_eq!(round.alphas, [(1, Gauss::i())]);
    // y = s + i x: x² + y² = s² + 2 i x s.
    assert_eq!(round.triangular.lines(), ["2*i*x*s_y + s_y^2 = 0"]);
    assert_eq!(round.divided.lines(), ["2*i*e_x*e_y + e_y^2 = 0", "e_x^2 + e_y^2 - 1 = 0"]);
    assert_eq!((round.order_before, round.order_after), (Some(1), Some(0)));
    assert_eq!(r.whole.rank_at(&r.point, 0.0), r.whole.equations.len());
    assert_eq!(
        r.whole.lines(),
        [
            "-i*x + y - s_y = 0",
            "-r*e_x + x = 0",
            "-r*e_y + s_y = 0",
            "2*i*e_x*e_y + e_y^2 = 0",
            "e_x^2 + e_y^2 - 1 = 0"
        ]
    );
}

#[test]
fn two_rounds_where_branches_touch() {
    // (y - x²)(y + x²) = 0: both branches have the tangent y = 0; after y = λx, λ² = x².
    let g = system(&["x", "y"], &["y^2 - x^4"]);
    let curve = [series(&[0, 1]), series(&[0, 0, 1])];
    for method in [Method::Curve, Method::Polar] {
        let r = blow_up(&g, &zeros(2), &curve, method, &Judge::exact()).unwrap();
        assert_eq!(r.rounds.len(), 2, "{method:?}");
        let orders: Vec<_> = r.rounds.iter().map(|r| (r.order_before, r.order_after)).collect();
        assert_eq!(orders, [(Some(2), Some(1)), (Some(1), Some(0))]);
        assert_regular(&r);
    }
    let r = blow_up(&g, &zeros(2), &curve, Method::Curve, &Judge::exact()).unwrap();
    assert_whole(&r, &["y - l_y*x", "l_y - l2_y*x", "l2_y^2 - 1"]);
    assert_eq!(r.point, [0, 0, 0, 1].map(Rational::from));
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    let g = system(&["x", "y"], &["x*y"]);
    let judge = Judge::exact();
    let line = [series(&[0, 1]), series(&[])];
    let e = blow_up(&g, &zeros(3), &line, Method::Curve, &judge).unwrap_err();
    assert_eq!(e.to_string(), "point: 3 values for 2 variables");
    let e = blow_up(&g, &zeros(2), &line[..1], Method::Curve, &judge).unwrap_err();
    assert_eq!(e.to_string(), "curve: 1 values for 2 variables");
    let one = [Rational::ONE, Rational::ONE];
    let e = blow_up(&g, &one, &line, Method::Curve, &judge).unwrap_err();
    assert!(matches!(e, Error::NotOnSolution { index: 1, .. }));
}
