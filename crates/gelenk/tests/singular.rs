//! Models with singular positions: their polynomials, and the engines on them.
#![allow(clippy::unwrap_used, reason = "a test ends where its expectation does")]

use std::fmt::Write;

use gelenk::model::{LoadOptions, Loaded, load_text};
use gelenk::singular::{
    CrossOptions, Error, PointConstraints, SingularError, analyse_model, cross_model,
    point_constraints,
};

fn load(name: &str) -> Loaded {
    let text = gelenk::scenes::scene(name).unwrap().text;
    load_text(name, text, &LoadOptions::default()).unwrap()
}

fn constraints(name: &str) -> PointConstraints {
    point_constraints(&load(name)).unwrap()
}

fn refused(text: &str) -> String {
    let loaded = load_text("test", text, &LoadOptions::default()).unwrap();
    point_constraints(&loaded).unwrap_err().to_string()
}

const POINT: &str = "[model]\nname = \"m\"\n[parameters]\na = 0.3\n[[point]]\nname = \"P\"\nmass = 2\nposition = [0.3, 0, 0.1]\n";

#[test]
fn polynomials_have_the_numbers_of_the_file() {
    let crank = constraints("degenerate-crank");
    assert_eq!(
        crank.mechanism.constraints.lines(),
        [
            "A.x^2 + A.y^2 + A.z^2 - 1 = 0",
            "A.x^2 + A.y^2 + A.z^2 - 2*A.x*B.x + B.x^2 - 2*A.y*B.y + B.y^2 - 2*A.z*B.z + B.z^2 - 1 = 0",
            "B.z = 0",
            "A.y = 0",
            "B.y = 0",
        ]
    );
    assert_eq!(crank.names, ["crank", "rod", "guide", "plane-A", "plane-B"]);
    let text = format!(
        "{POINT}[[constraint]]\nname = \"c\"\nequation = \"P.x*(P.x - 0.1) = a^2 - 0.1*a\"\n"
    );
    let loaded = load_text("test", &text, &LoadOptions::default()).unwrap();
    let found = point_constraints(&loaded).unwrap();
    assert_eq!(found.mechanism.constraints.lines(), ["P.x^2 - 1/10*P.x - 3/50 = 0"]);
    assert_eq!(found.free, ["P.y", "P.z"]);
}

#[test]
fn positions_of_the_gallery() {
    for (name, n_positions, n_branches, smooth) in [
        ("coordinate-cross", 1, 2, true),
        ("lying-eight", 1, 2, true),
        ("degenerate-crank", 2, 2, true),
        ("cusp", 1, 1, false),
    ] {
        let found = analyse_model(&constraints(name), 2_000_000).unwrap();
        assert!(found.complete, "{name}: {:?}", found.notes);
        assert_eq!(found.positions.len(), n_positions, "{name}");
        for position in &found.positions {
            assert_eq!(position.branches.found.len(), n_branches, "{name}");
            assert!(position.resolved.iter().all(|b| b.smooth == Some(smooth)), "{name}");
        }
    }
}

#[test]
fn models_move_through() {
    let go = |name: &str, duration: f64| {
        let found = constraints(name);
        let analysis = analyse_model(&found, 2_000_000).unwrap();
        cross_model(&found, &analysis, duration, &CrossOptions::default(), &mut |_, _, _| {})
    };
    let cross = go("coordinate-cross", 2.0).unwrap();
    assert!((cross.x[0] - 1.0).abs() < 1e-10 && cross.crossings.len() == 1);
    let eight = go("lying-eight", 2.0).unwrap();
    assert_eq!(eight.crossings.len(), 2);
    assert!((eight.crossings[0].time - 0.491_682_97).abs() < 1e-7);
    let crank = go("degenerate-crank", 1.0).unwrap();
    // Upright above, then below.
    assert_eq!(crank.crossings.len(), 2);
    // The slider moves on: B.x = 2 A.x.
    assert!((crank.x[3] - 2.0 * crank.x[0]).abs() < 1e-9, "{:?}", crank.x);
    let error = go("cusp", 1.0).unwrap_err();
    assert!(matches!(error, SingularError::Algebra(Error::NoSmoothMotion { .. })), "{error}");
}

/// The impulse engine passes too, along the same branch, in whole steps, and says so.
#[test]
fn the_impulse_engine_passes_too() {
    for (name, body, tolerance, energy) in [
        ("coordinate-cross", "P", 1e-9, 1e-12),
        ("degenerate-crank", "B", 5e-4, 5e-5),
        ("lying-eight", "P", 1e-3, 5e-4),
    ] {
        let loaded = load(name);
        let model = &loaded.model;
        let report = gelenk::simulate(model, &model.run, &mut ())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = constraints(name);
        let analysis = analyse_model(&found, 2_000_000).unwrap();
        let options = CrossOptions::default();
        let duration = model.run.duration;
        let run = cross_model(&found, &analysis, duration, &options, &mut |_, _, _| {}).unwrap();
        let names = &found.mechanism.constraints.names;
        let index = names.iter().position(|n| *n == format!("{body}.x")).unwrap();
        let off = (report.state.s[model.body(body).unwrap().index()].x - run.x[index]).abs();
        assert!(off < tolerance, "{name}: {off:e} m");
        let lost = report.ledger.integrator_error().abs() / report.ledger.initial;
        assert!(lost < energy, "{name}: {lost:e} of the energy");
        let passed = report.events.iter().filter(|event| event.kind == "singularity").count();
        assert_eq!(passed, run.crossings.len(), "{name}");
        assert_eq!(report.events.len(), passed, "{name}: no step was halved");
    }
}

/// Three masses in a line by three distances: rank is lost everywhere, yet it turns as a rod does.
#[test]
fn redundant_distances_are_replaced() {
    let mut text = "[model]\nname = \"line\"\ngravity = [0, 0, 0]\n".to_owned();
    for (i, (x, v)) in [(-1, -1), (0, 0), (1, 1)].into_iter().enumerate() {
        let _ = write!(
            text,
            "[[point]]\nname = \"P{i}\"\nmass = 1\nposition = [{x}, 0, 0]\nvelocity = [0, {v}, 0]\n"
        );
        let _ = write!(text, "[[constraint]]\nname = \"plane{i}\"\nequation = \"P{i}.z = 0\"\n");
    }
    for (i, j) in [(0, 2), (0, 1), (1, 2)] {
        let _ = write!(
            text,
            "[[joint]]\nname = \"d{i}{j}\"\ntype = \"distance\"\nbetween = [\"P{i}\", \"P{j}\"]\n"
        );
    }
    let loaded = load_text("line", &text, &LoadOptions::default()).unwrap();
    let found = point_constraints(&loaded).unwrap();
    let analysis = analyse_model(&found, 2_000_000).unwrap();
    assert_eq!(analysis.redundancy.as_ref().unwrap().squares.len(), 1);
    let options = CrossOptions::default();
    let run = cross_model(&found, &analysis, 1.0, &options, &mut |_, _, _| {}).unwrap();
    // One turn a 2π seconds.
    let last = &run.x[6..8];
    assert!((last[0] - 1f64.cos()).hypot(last[1] - 1f64.sin()) < 1e-9, "{:?}", run.x);
}

#[test]
fn what_is_not_polynomial_is_refused_by_name() {
    let sine =
        format!("{POINT}[[constraint]]\nname = \"wave\"\nequation = \"P.y = sin(P.z - 0.1)\"\n");
    assert_eq!(
        refused(&sine),
        "constraint `wave`: `sin(point.P.position.z - 1/10)` is no polynomial in positions of points"
    );
    let moving = format!("{POINT}[[constraint]]\nname = \"lift\"\nequation = \"P.z = 0.1 + t\"\n");
    assert!(refused(&moving).starts_with("constraint `lift`: `t`"), "{}", refused(&moving));
    assert_eq!(refused(POINT), "the model has no constraint: no position is singular");
    let text = gelenk::scenes::scene("double-pendulum").unwrap().text;
    assert!(refused(text).contains("is no point mass"));
}
