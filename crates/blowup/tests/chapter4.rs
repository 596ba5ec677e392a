//! The examples of [Laufen] chapter IV, and example 6 of chapter III.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_blowup::groebner::Work;
use gelenk_blowup::{
    Judge, Method, Resolution, System, admits_smooth_motion, blow_up, branches, redundancy,
    redundant, whole_matrix,
};
use gelenk_expr::Rational;

fn r(n: i64, d: i64) -> Rational {
    Rational::new(n, d).unwrap()
}

fn ints(a: &[i64]) -> Vec<Rational> {
    a.iter().map(|n| Rational::from(*n)).collect()
}

fn work() -> Work {
    Work::new("the test", 2_000_000)
}

fn same(given: &System<Rational>, expected: &[&str]) {
    let names: Vec<&str> = given.names.iter().map(String::as_str).collect();
    assert_eq!(given.lines(), System::parse(&names, expected).unwrap().lines());
}

fn crank() -> System<Rational> {
    System::parse(
        &["x1", "y1", "x2", "y2"],
        &["x1^2 + y1^2 - 1", "(x1 - x2)^2 + (y1 - y2)^2 - 1", "y2"],
    )
    .unwrap()
}

/// The thesis' curve (t/2, √(1 - t²/4) - 1, t, 0).
fn crank_curve() -> Vec<Vec<Rational>> {
    let mut curve = vec![vec![Rational::ZERO; 12]; 4];
    curve[0][1] = r(1, 2);
    curve[2][1] = r(1, 1);
    // √(1 - u) - 1 with u = t²/4, coefficients of the binomial series.
    let mut c = r(-1, 2);
    let mut power = r(1, 4);
    for k in 1..6 {
        curve[1][2 * k] = &c * &power;
        let next = r(2 * i64::try_from(k).unwrap() - 1, 2 * i64::try_from(k).unwrap() + 2);
        c = &c * &next;
        power = &power * &r(1, 4);
    }
    curve
}

#[test]
fn degenerate_crank_by_curve() {
    let place = ints(&[0, 1, 0, 0]);
    let res = blow_up(&crank(), &place, &crank_curve(), Method::Curve, &Judge::exact()).unwrap();
    assert_eq!(res.rounds.len(), 1);
    let round = &res.rounds[0];
    // The thesis' q1, q2, q3, q4 are x1, y1 - 1, x2, y2; equations (46) and those after.
    assert_eq!(round.before.names, ["x1", "d_y1", "x2", "y2"]);
    same(
        &round.before,
        &[
            "x1^2 + d_y1^2 + 2*d_y1",
            "x1^2 - 2*x1*x2 + x2^2 + d_y1^2 + 2*d_y1 - 2*d_y1*y2 - 2*y2 + y2^2",
            "y2",
        ],
    );
    same(
        &round.triangular,
        &["x1^2 + d_y1^2 + 2*d_y1", "y2", "-2*x1*x2 + x2^2 - 2*d_y1*y2 + y2^2"],
    );
    assert_eq!(round.chart, 0);
    same(
        &round.substituted,
        &[
            "x1^2 + l_y1^2*x1^2 + 2*l_y1*x1",
            "l_y2*x1",
            "-2*l_x2*x1^2 + l_x2^2*x1^2 - 2*l_y1*l_y2*x1^2 + l_y2^2*x1^2",
        ],
    );
    same(
        &round.divided,
        &["x1 + l_y1^2*x1 + 2*l_y1", "l_y2", "-2*l_x2 + l_x2^2 - 2*l_y1*l_y2 + l_y2^2"],
    );
    assert_eq!(round.point, ints(&[0, 0, 2, 0]));
    assert_eq!((round.order_before, round.order_after), (Some(1), Some(0)));
    // With l_y2 = 0 the last line is λ3 (λ3 - 2) = 0: the ideal says so.
    let names: Vec<&str> = round.divided.names.iter().map(String::as_str).collect();
    let claim = System::parse(&names, &["l_x2*(l_x2 - 2)"]).unwrap();
    let member = gelenk_blowup::groebner::is_member(
        &claim.equations[0],
        &round.divided.equations[1..],
        &mut work(),
    );
    assert!(member.unwrap());
    let g = res.whole.rank_at(&res.point, 0.0);
    assert_eq!(g, 6);
    assert!(admits_smooth_motion(&res, &ints(&[1, 1, 1, 1]), 0.0));
}

#[test]
fn degenerate_crank_by_polar() {
    let place = ints(&[0, 1, 0, 0]);
    let res = blow_up(&crank(), &place, &crank_curve(), Method::Polar, &Judge::exact()).unwrap();
    let round = &res.rounds[0];
    same(
        &round.substituted,
        &[
            "r^2*e_x1^2 + r^2*e_y1^2 + 2*r*e_y1",
            "r*e_y2",
            "-2*r^2*e_x1*e_x2 + r^2*e_x2^2 - 2*r^2*e_y1*e_y2 + r^2*e_y2^2",
        ],
    );
    // The direction (1, 0, 2, 0) has the irrational length √5: the norm row is scaled, Σ e² = 5 with e_x1 = 1.
    same(
        &round.divided,
        &[
            "r*e_x1^2 + r*e_y1^2 + 2*e_y1",
            "e_y2",
            "-2*e_x1*e_x2 + e_x2^2 - 2*e_y1*e_y2 + e_y2^2",
            "e_x1^2 + e_y1^2 + e_x2^2 + e_y2^2 - 5",
        ],
    );
    assert_eq!(round.point, ints(&[0, 1, 0, 2, 0]));
    // The critical block ∂(third, norm)/∂(e_x1, e_x2) = [-4 2; 2 4] e_x1.
    let g = round.divided.jacobian_at(&round.point);
    let block = [[&g[2][1], &g[2][3]], [&g[3][1], &g[3][3]]];
    assert_eq!(block.map(|row| row.map(Rational::to_f64)), [[-4.0, 2.0], [2.0, 4.0]]);
    // Over floats the row is the thesis'.
    let float: Vec<Vec<f64>> =
        crank_curve().iter().map(|x| x.iter().map(Rational::to_f64).collect()).collect();
    let judge = Judge { epsilon: 1e-12, curve_epsilon: 1e-12, ..Judge::exact() };
    let place = [0.0, 1.0, 0.0, 0.0];
    let res = blow_up(&crank().to_f64(), &place, &float, Method::Polar, &judge).unwrap();
    let last = res.rounds[0].divided.lines().pop().unwrap();
    assert_eq!(last, "e_x1^2 + e_y1^2 + e_x2^2 + e_y2^2 - 1 = 0");
}

#[test]
fn crank_branches() {
    let place = ints(&[0, 1, 0, 0]);
    let found = branches(&crank(), &place, &mut work()).unwrap();
    let told: Vec<_> = found.found.iter().map(|b| (b.tangent(), b.order)).collect();
    // λ3 = 0: the slider rests; λ3 = 2: it goes twice as far as the pin.
    assert_eq!(told, [(ints(&[1, 0, 0, 0]), Some(1)), (ints(&[1, 0, 2, 0]), Some(1))]);
    let names = crank().names;
    let lines = found.found[0].lines(&names, &place, 2);
    assert_eq!(lines[2], "x2 = 0");
    assert!(found.cuts.is_empty() && !found.incomplete);
}

fn cross_polar(ex: i64, ey: i64) -> Resolution<Rational> {
    let cross = System::parse(&["x", "y"], &["x*y"]).unwrap();
    let mut curve = vec![vec![Rational::ZERO; 6]; 2];
    (curve[0][1], curve[1][1]) = (Rational::from(ex), Rational::from(ey));
    blow_up(&cross, &ints(&[0, 0]), &curve, Method::Polar, &Judge::exact()).unwrap()
}

#[test]
fn cross_and_its_whole_matrix() {
    let cross = System::parse(&["x", "y"], &["x*y"]).unwrap();
    let masses = ints(&[1, 1]);
    // Before: [m 0 y; 0 m x; y x 0] has lost its rank in the origin.
    let before = whole_matrix(&cross, &masses, &ints(&[0, 0]));
    assert_eq!(before[2], ints(&[0, 0, 0]));
    for (ex, ey) in [(1, 0), (0, 1)] {
        let res = cross_polar(ex, ey);
        same(&res.whole, &["x - r*e_x", "y - r*e_y", "e_x*e_y", "e_x^2 + e_y^2 - 1"]);
        assert!(admits_smooth_motion(&res, &masses, 0.0));
    }
    // The printed matrix for r = 0, e = (1, 0), row by row.
    let printed: [[i64; 9]; 9] = [
        [1, 0, 0, 0, 0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, -1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 2],
        [0, 0, 0, 0, 0, 0, 0, 1, 0],
        [1, 0, -1, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 2, 0, 0, 0, 0, 0],
    ];
    let res = cross_polar(1, 0);
    let rows = whole_matrix(&res.whole, &masses, &res.point);
    assert_eq!(rows, printed.map(|row| ints(&row)));
    // At e = (-1, 0), (0, ±1), the other points the origin was split into.
    for e in [[0, 0, 0, -1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, -1]] {
        let mut other = cross_polar(1, 0);
        other.point = ints(&e);
        assert!(admits_smooth_motion(&other, &masses, 0.0));
    }
}

#[test]
fn cusp_has_full_rank_but_no_smooth_motion() {
    let cusp = System::parse(&["x", "y"], &["y^2 - x^3"]).unwrap();
    let found = branches(&cusp, &ints(&[0, 0]), &mut work()).unwrap();
    assert_eq!(found.found.len(), 1);
    for method in [Method::Curve, Method::Polar] {
        let res =
            blow_up(&cusp, &ints(&[0, 0]), &found.found[0].curve, method, &Judge::exact()).unwrap();
        assert_eq!(res.whole.rank_at(&res.point, 0.0), res.whole.equations.len());
        assert!(!admits_smooth_motion(&res, &ints(&[1, 1]), 0.0), "{method:?}");
    }
}

#[test]
fn lying_eight() {
    let eight = System::parse(&["x", "y"], &["y^2 - x^2*(1 - x^2)"]).unwrap();
    assert_eq!(eight.lines(), ["x^4 - x^2 + y^2 = 0"]);
    let found = branches(&eight, &ints(&[0, 0]), &mut work()).unwrap();
    assert_eq!(found.found.len(), 2);
    for branch in &found.found {
        let float: Vec<Vec<f64>> =
            branch.curve.iter().map(|x| x.iter().map(Rational::to_f64).collect()).collect();
        let judge = Judge { epsilon: 1e-12, curve_epsilon: 1e-12, ..Judge::exact() };
        let res = blow_up(&eight.to_f64(), &[0.0, 0.0], &float, Method::Polar, &judge).unwrap();
        let expected = System::parse(
            &["x", "y", "r", "e_x", "e_y"],
            &["x - r*e_x", "y - r*e_y", "r^2*e_x^4 - e_x^2 + e_y^2", "e_x^2 + e_y^2 - 1"],
        );
        assert_eq!(res.whole.lines(), expected.unwrap().lines());
        assert!(admits_smooth_motion(&res, &[1.0, 1.0], 1e-12));
        // Exactly, with the norm 2 and e = (1, ±1).
        let res =
            blow_up(&eight, &ints(&[0, 0]), &branch.curve, Method::Polar, &Judge::exact()).unwrap();
        assert_eq!(res.rounds[0].divided.lines()[0], "r^2*e_x^4 - e_x^2 + e_y^2 = 0");
        assert!(admits_smooth_motion(&res, &ints(&[1, 1]), 0.0));
    }
}

#[test]
fn perturbed_cross_with_tolerance() {
    // xy = ε is blown up to e_x e_y = ε: the cross, turned a little (§IV.4).
    let cross = System::parse(&["x", "y"], &["x*y = 1e-10"]).unwrap().to_f64();
    let curve = vec![vec![0.0, 1.0, 0.0, 0.0], vec![0.0; 4]];
    let judge = Judge { epsilon: 1e-8, curve_epsilon: 1e-8, ..Judge::exact() };
    let res = blow_up(&cross, &[0.0, 0.0], &curve, Method::Polar, &judge).unwrap();
    assert_eq!(
        res.whole.lines(),
        ["-r*e_x + x = 0", "-r*e_y + y = 0", "e_x*e_y - 0.0000000001 = 0", "e_x^2 + e_y^2 - 1 = 0"]
    );
    // A tolerance below ε leaves a hyperbola, which has no singular point there.
    let judge = Judge { epsilon: 1e-12, ..judge };
    assert!(blow_up(&cross, &[0.0, 0.0], &curve, Method::Polar, &judge).is_err());
}

#[test]
fn example_6_three_masses_in_a_line() {
    let names = ["x1", "y1", "x2", "y2", "x3", "y3"];
    let bars = System::parse(
        &names,
        &["(x1-x3)^2 + (y1-y3)^2 - 4", "(x1-x2)^2 + (y1-y2)^2 - 1", "(x2-x3)^2 + (y2-y3)^2 - 1"],
    )
    .unwrap();
    let place = ints(&[0, 0, 1, 0, 2, 0]);
    assert_eq!(bars.rank_at(&place, 0.0), 2);
    // No equation follows from the others …
    assert!(redundant(&bars, &mut work()).unwrap().is_empty());
    // … but a combination is a sum of squares, and says what the thesis says by hand.
    let told = redundancy(&bars, &place, &mut work()).unwrap();
    assert_eq!(told.squares.len(), 1);
    let middle =
        System::parse(&names, &["(x1-x3)^2 + (y1-y3)^2 - 4", "x1 - 2*x2 + x3", "y1 - 2*y2 + y3"])
            .unwrap();
    assert_eq!(told.simplified.lines(), middle.lines());
    assert_eq!(told.simplified.rank_at(&place, 0.0), 3);
}

#[test]
fn redundant_equation_is_named() {
    let twice = System::parse(&["x", "y"], &["x", "x*y"]).unwrap();
    assert_eq!(redundant(&twice, &mut work()).unwrap(), [1]);
    // A fourth bar in a parallelogram of five points that is implied by the ideal.
    let s = System::parse(
        &["x", "y", "u", "v"],
        &["x^2 + y^2 - 1", "u - 2*x", "v - 2*y", "u^2 + v^2 - 4"],
    )
    .unwrap();
    assert_eq!(redundant(&s, &mut work()).unwrap(), [3]);
}

/// Bars of length 1 on the feet (i, 0), couplers of length 1 between their heads.
fn four_bars(n: usize) -> (System<Rational>, Vec<Rational>) {
    let mut names = Vec::new();
    let mut equations = Vec::new();
    let mut place = Vec::new();
    for i in 0..=n {
        names.extend([format!("x{i}"), format!("y{i}")]);
        equations.push(format!("(x{i} - {i})^2 + y{i}^2 - 1"));
        place.extend([i64::try_from(i).unwrap() + 1, 0]);
    }
    for i in 0..n {
        let j = i + 1;
        equations.push(format!("(x{j} - x{i})^2 + (y{j} - y{i})^2 - 1"));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let equations: Vec<&str> = equations.iter().map(String::as_str).collect();
    (System::parse(&names, &equations).unwrap(), ints(&place))
}

#[test]
fn four_bars_lying_flat() {
    for n in 1..=3 {
        let (system, place) = four_bars(n);
        // Every coupler loses its row.
        assert_eq!(system.rank_at(&place, 0.0), n + 1);
        let found = branches(&system, &place, &mut work()).unwrap();
        // v_i (v_i - v_{i+1}) = 0 for all i: the bars before some k stay, the others turn together.
        assert_eq!(found.found.len(), n + 1, "n = {n}");
        let crossing: Vec<_> = found.found.iter().filter(|b| b.order.is_some()).collect();
        // With two bars at rest their loop loses rank all along.
        assert_eq!(crossing.len(), 2, "n = {n}");
        for branch in crossing {
            assert_eq!(branch.order, Some(n));
            let res =
                blow_up(&system, &place, &branch.curve, Method::Curve, &Judge::exact()).unwrap();
            assert_eq!(res.rounds.len(), 1);
            let masses = vec![Rational::ONE; 2 * (n + 1)];
            assert!(admits_smooth_motion(&res, &masses, 0.0));
        }
    }
}
