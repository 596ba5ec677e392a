//! The whole answer, as the command prints it.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use gelenk_blowup::{Error, System, analyse};
use gelenk_expr::Rational;

fn text(names: &[&str], equations: &[&str], point: &[f64]) -> String {
    let system = System::parse(names, equations).unwrap();
    let masses = vec![Rational::ONE; names.len()];
    analyse(&system, Some(&masses), point, 500_000).unwrap().to_string()
}

#[test]
fn cross() {
    let told = text(&["x", "y"], &["x*y = 0"], &[1.0, 0.0]);
    assert_eq!(
        told,
        "\
constraints
  x*y = 0
at x = 1, y = 0: rank 1 of 1

singular position x = 0, y = 0: rank 0
branch 1: x = t, y = 0   (t-order 1)
  blow-up 1, along x
    point in the origin:
      x*y = 0
    linear parts triangular:
      x*y = 0
    new variables:
      x^2*l_y = 0
    divided:
      l_y = 0
    t-order 1 -> 0
    regular formulation:
      -x*l_y + y = 0
      l_y = 0
  a smooth motion passes
branch 2: x = 0, y = t   (t-order 1)
  blow-up 1, along y
    point in the origin:
      x*y = 0
    linear parts triangular:
      x*y = 0
    new variables:
      l_x*y^2 = 0
    divided:
      l_x = 0
    t-order 1 -> 0
    regular formulation:
      -y*l_x + x = 0
      l_x = 0
  a smooth motion passes
"
    );
}

#[test]
fn crank_from_a_regular_position() {
    let equations = ["x1^2 + y1^2 = 1", "(x1 - x2)^2 + (y1 - y2)^2 = 1", "y2 = 0"];
    let names = ["x1", "y1", "x2", "y2"];
    let system = System::parse(&names, &equations).unwrap();
    let found = analyse(&system, None, &[0.6, 0.8, 1.2, 0.0], 2_000_000).unwrap();
    assert!(found.complete, "{:?}", found.notes);
    assert_eq!(found.rank, 3);
    let mut places: Vec<Vec<f64>> =
        found.positions.iter().map(|p| p.place.iter().map(Rational::to_f64).collect()).collect();
    places.sort_by(|a, b| a[1].total_cmp(&b[1]));
    // Upright above and below.
    assert_eq!(places, [[0.0, -1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]);
    assert!(found.positions.iter().all(|p| p.branches.found.len() == 2));
}

#[test]
fn cusp_eight_and_circle() {
    let told = text(&["x", "y"], &["y^2 = x^3"], &[1.0, 1.0]);
    assert!(told.contains("branch 1: x = t^2, y = t^3   (t-order 3)"), "{told}");
    assert!(told.contains("no smooth motion passes"), "{told}");
    let told = text(&["x", "y"], &["y^2 = x^2*(1 - x^2)"], &[1.0, 0.0]);
    assert!(told.contains("singular position x = 0, y = 0: rank 0"), "{told}");
    assert_eq!(told.matches("a smooth motion passes").count(), 2);
    let told = text(&["x", "y"], &["x^2 + y^2 = 1"], &[1.0, 0.0]);
    assert!(told.contains("no singular position with rational coordinates"), "{told}");
}

#[test]
fn three_masses_in_a_line() {
    let told = text(
        &["x1", "y1", "x2", "y2", "x3", "y3"],
        &["(x1-x3)^2 + (y1-y3)^2 = 4", "(x1-x2)^2 + (y1-y2)^2 = 1", "(x2-x3)^2 + (y2-y3)^2 = 1"],
        &[0.0, 0.0, 1.0, 0.0, 2.0, 0.0],
    );
    assert!(told.contains("rank 2 of 3"), "{told}");
    assert!(told.contains("a combination of constraints is a sum of squares"), "{told}");
    assert!(told.contains("x1 - 2*x2 + x3 = 0"), "{told}");
    assert!(told.contains("no singular position"), "{told}");
}

#[test]
fn isolated_redundant_and_off() {
    let told = text(&["x", "y"], &["x^2 + y^2 = 0"], &[0.0, 0.0]);
    assert!(told.contains("a combination of constraints is a sum of squares"), "{told}");
    let told = text(&["x", "y"], &["x = 0", "x*y = 0"], &[0.0, 1.0]);
    assert!(told.contains("constraint 2 follows from the others: x*y = 0"), "{told}");
    let system = System::parse(&["x", "y"], &["x*y"]).unwrap();
    assert!(matches!(
        analyse(&system, None, &[1.0, 1.0], 1000),
        Err(Error::NotOnSolution { index: 1, .. })
    ));
    assert!(matches!(analyse(&system, None, &[1.0], 1000), Err(Error::WrongLength { .. })));
}

#[test]
fn work_bounds_are_told() {
    // Five loops of a ladder: far beyond a hundred operations.
    let names = ["x0", "y0", "x1", "y1", "x2", "y2"];
    let equations = [
        "x0^2 + y0^2 = 1",
        "(x1 - 1)^2 + y1^2 = 1",
        "(x2 - 2)^2 + y2^2 = 1",
        "(x1 - x0)^2 + (y1 - y0)^2 = 1",
        "(x2 - x1)^2 + (y2 - y1)^2 = 1",
    ];
    let system = System::parse(&names, &equations).unwrap();
    let found = analyse(&system, None, &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0], 100).unwrap();
    assert!(!found.complete);
    assert!(
        found.notes.iter().any(|n| n.contains("more than 100 operations")),
        "{:?}",
        found.notes
    );
    // With room the flat position is found and its branches told.
    let found = analyse(&system, None, &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0], 200_000).unwrap();
    let flat = &found.positions[0];
    assert_eq!(flat.rank, 3);
    assert_eq!(flat.branches.found.len(), 3);
    assert_eq!(flat.resolved.len(), 2);
}

#[test]
fn planes_are_passed() {
    let told = text(&["x", "y", "z"], &["x*y = 0"], &[1.0, 0.0, 2.0]);
    // The singular positions are a line: the one nearest is shown, in a cut.
    assert!(told.contains("singular positions are not isolated points"), "{told}");
    assert!(told.contains("seen in the cut"), "{told}");
    assert_eq!(told.matches("a smooth motion passes").count(), 2, "{told}");
}
