//! Assembly: what closes, what does not, and how far things move.

mod mechanisms;

use std::fmt::Write as _;

use gelenk_model::assemble::{FailureKind, assemble_from, initial_inconsistency};
use gelenk_model::joint::{Fixed, JointFrame, JointKind};
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::rows::CoordinateTie;
use gelenk_model::signal::TimeFunction;
use gelenk_model::{
    AssembleOptions, AssembleReport, BodyDef, Builder, CheckOptions, LoadOptions, Model, Outcome,
    State, assemble, check, load_text,
};
use mechanisms::*;
use proptest::prelude::*;

fn run(model: &Model) -> AssembleReport {
    assemble(model, &AssembleOptions::default())
}

fn worst(report: &AssembleReport) -> f64 {
    report.residuals.iter().map(|r| r.after).fold(0.0, f64::max)
}

fn worst_rate(report: &AssembleReport) -> f64 {
    report.residuals.iter().map(|r| r.velocity_after).fold(0.0, f64::max)
}

/// Moves and turns every free body by up to `size`.
fn disturbed(model: &Model, size: f64, seed: u64) -> State {
    let mut number = numbers(seed);
    let mut vector = || Vec3::from_fn(|_, _| size * (2.0 * number() - 1.0));
    let mut state = model.start.clone();
    for (i, body) in model.bodies.iter().enumerate() {
        if body.fixed {
            continue;
        }
        state.s[i] += vector();
        if body.inertia != Vec3::zeros() {
            state.rot[i] = Quat::from_scaled_axis(vector()) * state.rot[i];
        }
        state.s_dot[i] += vector();
        state.omega[i] += vector();
    }
    state
}

fn failure(report: &AssembleReport) -> &gelenk_model::assemble::Failure {
    match &report.outcome {
        Outcome::Failed(failures) => &failures[0],
        Outcome::Closed => panic!("closed with residuals {:?}", report.residuals),
    }
}

#[test]
fn a_closed_start_is_left_as_it_is() {
    for model in [four_bar(), bricard(), eight_loop_flat(), cuboid()] {
        let report = run(&model);
        assert_eq!(report.outcome, Outcome::Closed);
        assert_eq!(report.state, model.start);
        assert!(report.moved.is_empty() && report.pushed.is_empty());
        assert_eq!(report.iterations, 0);
    }
}

#[test]
fn a_pendulum_closes_by_the_least_movement() {
    // A ball of 1 kg on a string of 1 m that starts at distance 2: the nearest place is on the line to the pivot.
    let mut builder = Builder::new("string");
    let ball = builder.point("ball", 1.0, v(1.2, 0.0, -1.6), Vec3::zeros(), false);
    distance(&mut builder, "string", [WORLD, ball], [Vec3::zeros(); 2], 1.0);
    let report = run(&builder.finish());
    assert_eq!(report.outcome, Outcome::Closed);
    assert!((report.state.s[1] - v(0.6, 0.0, -0.8)).norm() < 1e-12);
    assert_eq!(report.moved.len(), 1);
    assert!((report.moved[0].distance - 1.0).abs() < 1e-12);
}

#[test]
fn heavy_bodies_move_less() {
    // Two points at distance 2 on a string of 1 m: they meet with common centre of mass.
    let mut builder = Builder::new("string");
    let a = builder.point("a", 9.0, v(0.0, 0.0, 0.0), Vec3::zeros(), false);
    let b = builder.point("b", 1.0, v(2.0, 0.0, 0.0), Vec3::zeros(), false);
    distance(&mut builder, "string", [a, b], [Vec3::zeros(); 2], 1.0);
    let report = run(&builder.finish());
    assert!((report.state.s[1] - v(0.1, 0.0, 0.0)).norm() < 1e-12);
    assert!((report.state.s[2] - v(1.1, 0.0, 0.0)).norm() < 1e-12);
}

#[test]
fn the_nearest_closed_pose_is_found_not_only_a_near_one() {
    // A body that can only turn about a pivot: m |Δs|² + J φ² is least where its derivative along the circle vanishes.
    let mut builder = Builder::new("pendulum");
    let inertia = Mat3::identity() * 0.3;
    let arm = builder.body(&BodyDef::new("arm", 2.0, inertia).at(v(1.0, 0.0, 0.0)));
    hinge(&mut builder, "pivot", [WORLD, arm], v(0.0, 0.0, 0.0), Vec3::y());
    let mut model = builder.finish();
    model.start.s[1] = v(0.9, 0.0, 0.7);
    model.start.rot[1] = Quat::from_scaled_axis(v(0.0, 0.2, 0.0));
    let start = model.start.clone();
    let report = run(&model);
    assert_eq!(report.outcome, Outcome::Closed);
    let cost = |angle: f64| {
        let s = v(angle.cos(), 0.0, -angle.sin());
        2.0 * (s - start.s[1]).norm_squared() + 0.3 * (angle - 0.2).powi(2)
    };
    // Golden-section search for the angle about y.
    let (mut low, mut high) = (-2.0_f64, 1.0_f64);
    for _ in 0..200 {
        let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
        if cost(a) < cost(b) { high = b } else { low = a }
    }
    let angle = report.state.rot[1].scaled_axis().y;
    assert!((angle - low).abs() < 1e-4, "{angle} instead of {low}");
    let coordinate = &report.coordinates[0];
    assert_eq!(coordinate.name, "pivot.angle");
}

#[test]
fn a_four_bar_given_roughly_closes_nearby() {
    let model = four_bar();
    let state = disturbed(&model, 0.05, 7);
    let report = assemble_from(&model, &state, &AssembleOptions::default());
    assert_eq!(report.outcome, Outcome::Closed);
    assert!(worst(&report) < 1e-12 && worst_rate(&report) < 1e-12);
    assert!(report.moved.iter().all(|m| m.distance < 0.15 && m.angle < 0.15));
    assert_eq!(report.moved.len(), 3);
    assert!(report.iterations < 30, "{} iterations", report.iterations);
}

#[test]
fn elbow_up_stays_elbow_up() {
    let arm = |elbow: f64| {
        let points = [v(0.0, 0.0, 0.0), v(0.8, 0.0, elbow), v(1.6, 0.0, 0.0)];
        let mut builder = Builder::new("toggle");
        let a = block(&mut builder, "a", (points[0] + points[1]) / 2.0);
        let b = block(&mut builder, "b", (points[1] + points[2]) / 2.0);
        hinge(&mut builder, "shoulder", [WORLD, a], points[0], Vec3::y());
        hinge(&mut builder, "elbow", [a, b], points[1], Vec3::y());
        // The hand shall be at 1.5.
        let [fa, fb] = builder.joint_frames([b, WORLD], &points[2], &Vec3::y());
        let fb = JointFrame { origin: v(1.5, 0.0, 0.0), ..fb };
        let hand = gelenk_model::joint::Hinge::new(&fa, &fb);
        builder.joint("hand", [b, WORLD], JointKind::Hinge(hand), None);
        run(&builder.finish())
    };
    for elbow in [0.6, -0.6] {
        let report = arm(elbow);
        assert_eq!(report.outcome, Outcome::Closed);
        // Both links are 1 m long: the elbow lies at height ±√(1 − 0.75²), the hand's half of it at b's centre.
        let height = (1.0_f64 - 0.75 * 0.75).sqrt().copysign(elbow);
        assert!((report.state.s[2].z - height / 2.0).abs() < 1e-10);
    }
}

#[test]
fn a_four_bar_of_too_short_rods_is_not_closable() {
    let mut builder = Builder::new("short");
    let points = [v(0.0, 0.0, 0.0), v(0.0, 0.0, 1.0), v(1.0, 0.0, 1.0), v(1.0, 0.0, 0.0)];
    let mut chain = vec![WORLD];
    for i in 0..3 {
        chain.push(block(&mut builder, &format!("b{i}"), (points[i] + points[i + 1]) / 2.0));
    }
    for i in 0..3 {
        let pair = [chain[i], chain[i + 1]];
        hinge(&mut builder, &format!("h{i}"), pair, points[i], Vec3::y());
    }
    let [fa, fb] = builder.joint_frames([chain[3], WORLD], &points[3], &Vec3::y());
    let fb = JointFrame { origin: v(4.0, 0.0, 0.0), ..fb };
    let last = JointKind::Hinge(gelenk_model::joint::Hinge::new(&fa, &fb));
    builder.joint("h3", [chain[3], WORLD], last, None);
    let report = run(&builder.finish());
    let failure = failure(&report);
    assert_eq!(failure.kind, FailureKind::NotClosable);
    // Three links of 1 m between pivots 4 m apart: 1 m is missing, shared among four hinges.
    assert!((failure.residual - 0.25).abs() < 1e-3, "{failure:?}");
    let text = failure.to_string();
    assert!(text.contains("stays open") && text.contains(&failure.element), "{text}");
}

#[test]
fn a_triangle_that_breaks_its_inequality_is_not_closable() {
    let mut builder = Builder::new("triangle");
    let p: Vec<_> = [v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0), v(0.4, 0.0, 0.8)]
        .iter()
        .enumerate()
        .map(|(i, s)| builder.point(&format!("p{i}"), 1.0, *s, Vec3::zeros(), false))
        .collect();
    for (name, i, j, length) in [("a", 0, 1, 1.0), ("b", 1, 2, 1.0), ("c", 2, 0, 3.0)] {
        distance(&mut builder, name, [p[i], p[j]], [Vec3::zeros(); 2], length);
    }
    let report = run(&builder.finish());
    let failure = failure(&report);
    assert_eq!(failure.kind, FailureKind::NotClosable);
    // 1 m is missing, shared by three rods.
    assert!((failure.residual - 1.0 / 3.0).abs() < 1e-6, "{failure:?}");
}

#[test]
fn two_welds_to_different_places_contradict_each_other() {
    let mut builder = Builder::new("welds");
    let body = block(&mut builder, "body", v(0.0, 0.0, 0.0));
    fixed(&mut builder, "here", [WORLD, body], v(0.0, 0.0, 0.0));
    let [fa, fb] = builder.joint_frames([WORLD, body], &v(0.0, 0.0, 0.0), &Vec3::z());
    let fa = JointFrame { origin: v(0.1, 0.0, 0.0), ..fa };
    builder.joint("there", [WORLD, body], JointKind::Fixed(Fixed::new(&fa, &fb)), None);
    let report = run(&builder.finish());
    let failure = failure(&report);
    assert_eq!(failure.element, "there");
    assert_eq!(failure.kind, FailureKind::Contradicting { with: vec!["here".to_owned()] });
    assert!((failure.residual - 0.05).abs() < 1e-9, "{failure:?}");
    assert!(failure.to_string().contains("`there` contradicts `here`"));
}

#[test]
fn two_welds_to_the_same_place_are_only_redundant() {
    let mut builder = Builder::new("welds");
    let body = block(&mut builder, "body", v(0.0, 0.0, 0.0));
    fixed(&mut builder, "here", [WORLD, body], v(0.0, 0.0, 0.0));
    fixed(&mut builder, "again", [WORLD, body], v(0.5, 0.0, 0.0));
    let mut model = builder.finish();
    model.start.s[1] = v(0.2, 0.1, 0.0);
    let report = run(&model);
    assert_eq!(report.outcome, Outcome::Closed);
    assert!(report.state.s[1].norm() < 1e-12);
}

#[test]
fn a_hinge_off_the_plane_of_a_four_bar_contradicts_the_others() {
    let mut builder = Builder::new("skew");
    let points = [v(0.0, 0.0, 0.0), v(0.2, 0.0, 1.0), v(2.1, 0.0, 1.6), v(3.0, 0.0, 0.0)];
    let mut chain = vec![WORLD];
    for i in 0..3 {
        chain.push(block(&mut builder, &format!("b{i}"), (points[i] + points[i + 1]) / 2.0));
    }
    for i in 0..3 {
        let pair = [chain[i], chain[i + 1]];
        hinge(&mut builder, &format!("h{i}"), pair, points[i], Vec3::y());
    }
    let [fa, fb] = builder.joint_frames([chain[3], WORLD], &points[3], &Vec3::y());
    let fb = JointFrame { origin: points[3] + v(0.0, 0.02, 0.0), ..fb };
    let last = JointKind::Hinge(gelenk_model::joint::Hinge::new(&fa, &fb));
    builder.joint("h3", [chain[3], WORLD], last, None);
    let report = run(&builder.finish());
    let failure = failure(&report);
    assert!(matches!(&failure.kind, FailureKind::Contradicting { .. }), "{failure:?}");
    assert_eq!(failure.element, "h3");
}

#[test]
fn a_truss_with_a_bar_of_the_wrong_length_contradicts_itself() {
    // Five points and ten bars: one more than a rigid body needs.
    let mut builder = Builder::new("truss");
    let s =
        [v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0), v(0.3, 0.9, 0.0), v(0.4, 0.3, 0.8), v(0.5, 0.2, -0.9)];
    let p: Vec<_> =
        (0..5).map(|i| builder.point(&format!("p{i}"), 1.0, s[i], Vec3::zeros(), false)).collect();
    for i in 0..5 {
        for j in i + 1..5 {
            let wrong = if (i, j) == (3, 4) { 0.05 } else { 0.0 };
            let length = (s[i] - s[j]).norm() + wrong;
            distance(&mut builder, &format!("d{i}{j}"), [p[i], p[j]], [Vec3::zeros(); 2], length);
        }
    }
    let report = run(&builder.finish());
    let failure = failure(&report);
    assert!(matches!(&failure.kind, FailureKind::Contradicting { .. }), "{failure:?}");
    assert_eq!(failure.element, "d34");
    assert!(failure.residual > 1e-3 && failure.residual < 0.05);
}

#[test]
fn a_straight_chain_that_is_too_long_folds_out_of_its_line() {
    // Ten links on a line between pivots nearer than the chain is long: to first order nothing helps.
    let mut builder = Builder::new("folded");
    let mut last = WORLD;
    for i in 0..10 {
        let x = f64::from(i);
        let body = rod(&mut builder, &format!("rod{i}"), v(x, 0.0, 0.0), v(x + 1.0, 0.0, 0.0));
        ball(&mut builder, &format!("j{i}"), [last, body], v(x, 0.0, 0.0));
        last = body;
    }
    let [fa, fb] = builder.joint_frames([last, WORLD], &v(10.0, 0.0, 0.0), &Vec3::z());
    let fb = JointFrame { origin: v(9.0, 0.0, 0.0), ..fb };
    let end = JointKind::Ball(gelenk_model::joint::Ball::new(&fa, &fb));
    builder.joint("end", [last, WORLD], end, None);
    let report = run(&builder.finish());
    assert_eq!(report.outcome, Outcome::Closed);
    assert!(worst(&report) < 1e-10);
}

#[test]
fn a_thin_rod_turns_about_its_own_axis_where_a_hinge_asks_for_it() {
    let mut builder = Builder::new("rod");
    let body = rod(&mut builder, "rod", v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0));
    hinge(&mut builder, "hinge", [WORLD, body], v(0.0, 0.0, 0.0), Vec3::y());
    let mut model = builder.finish();
    model.start.rot[1] = Quat::from_scaled_axis(v(0.3, 0.0, 0.0));
    let report = run(&model);
    assert_eq!(report.outcome, Outcome::Closed);
    assert!((report.moved[0].angle - 0.3).abs() < 1e-9);
    assert!(report.moved[0].distance < 1e-9);
}

#[test]
fn velocities_lose_only_what_the_joint_forbids() {
    // A point on a string, moving at 45°: the part along the string goes, the rest stays.
    let mut builder = Builder::new("string");
    let ball = builder.point("ball", 2.0, v(0.0, 0.0, -1.0), v(1.0, 2.0, 3.0), false);
    distance(&mut builder, "string", [WORLD, ball], [Vec3::zeros(); 2], 1.0);
    let model = builder.finish();
    assert!((initial_inconsistency(&model)[0].velocity_error - 3.0).abs() < 1e-12);
    let report = run(&model);
    assert_eq!(report.outcome, Outcome::Closed);
    assert!(report.moved.is_empty());
    assert!((report.state.s_dot[1] - v(1.0, 2.0, 0.0)).norm() < 1e-12);
    assert!((report.pushed[0].velocity - 3.0).abs() < 1e-12);
}

#[test]
fn a_struck_rod_keeps_the_energy_least_change_leaves() {
    // A free rod end is pinned: v, ω follow from the impulse at the pin: Δv = p/m, Δω = r p/J.
    let mut builder = Builder::new("rod");
    let body = rod(&mut builder, "rod", v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0));
    ball(&mut builder, "pin", [WORLD, body], v(0.0, 0.0, 0.0));
    let mut model = builder.finish();
    model.start.s_dot[1] = v(0.0, 0.0, 1.0);
    let report = run(&model);
    // p (1/m + r²/J) = −1 with r = ½, J = 1/12: p = −¼.
    assert!((report.state.s_dot[1] - v(0.0, 0.0, 0.75)).norm() < 1e-12);
    assert!((report.state.omega[1] - v(0.0, -1.5, 0.0)).norm() < 1e-12);
}

#[test]
fn prescribed_rates_that_disagree_are_told() {
    let mut builder = Builder::new("driven");
    let arm = block(&mut builder, "arm", v(0.5, 0.0, 0.0));
    let [fa, fb] = builder.joint_frames([WORLD, arm], &Vec3::zeros(), &Vec3::y());
    let kind = JointKind::Hinge(gelenk_model::joint::Hinge::new(&fa, &fb));
    let joint = builder.joint("pivot", [WORLD, arm], kind, None);
    for (name, value) in [("first", 0.2), ("second", 0.3)] {
        let target = TimeFunction::Constant(value);
        builder.tie(name, CoordinateTie { terms: vec![(joint, 0, 1.0)], target });
    }
    let report = run(&builder.finish());
    let failure = failure(&report);
    assert_eq!(failure.element, "second");
    assert_eq!(failure.kind, FailureKind::Contradicting { with: vec!["first".to_owned()] });
    assert!((failure.residual - 0.05).abs() < 1e-9);
}

#[test]
fn a_rope_is_shortened_when_too_long_and_left_alone_when_slack() {
    let mut builder = Builder::new("rope");
    let far = builder.point("far", 1.0, v(0.0, 0.0, -2.0), v(0.0, 0.0, -1.0), false);
    let near = builder.point("near", 1.0, v(1.0, 0.0, -0.5), v(0.0, 0.0, -1.0), false);
    rope(&mut builder, "long", [WORLD, far], [Vec3::zeros(); 2], 1.5);
    rope(&mut builder, "slack", [WORLD, near], [v(1.0, 0.0, 0.0), Vec3::zeros()], 1.5);
    let report = run(&builder.finish());
    assert_eq!(report.outcome, Outcome::Closed);
    assert!((report.state.s[1] - v(0.0, 0.0, -1.5)).norm() < 1e-9);
    assert!(report.state.s_dot[1].norm() < 1e-9);
    assert_eq!(report.state.s[2], v(1.0, 0.0, -0.5));
    assert_eq!(report.state.s_dot[2], v(0.0, 0.0, -1.0));
}

#[test]
fn a_joint_between_fixed_bodies_that_does_not_fit_is_told() {
    let mut builder = Builder::new("posts");
    let mut def = BodyDef::new("post", 1.0, Mat3::identity());
    def.fixed = true;
    let post = builder.body(&def);
    distance(&mut builder, "beam", [WORLD, post], [v(2.0, 0.0, 0.0), Vec3::zeros()], 1.0);
    let report = run(&builder.finish());
    let failure = failure(&report);
    assert_eq!((failure.element.as_str(), failure.residual), ("beam", 1.0));
}

#[test]
fn a_chain_of_two_thousand_links_given_roughly_closes_in_few_steps() {
    let mut builder = Builder::new("chain");
    let mut last = WORLD;
    for i in 0..2_000 {
        let x = f64::from(i);
        let body = block(&mut builder, &format!("b{i}"), v(x + 0.5, 0.0, 0.0));
        hinge(&mut builder, &format!("h{i}"), [last, body], v(x, 0.0, 0.0), Vec3::y());
        last = body;
    }
    let model = builder.finish();
    let state = disturbed(&model, 1e-3, 3);
    let report = assemble_from(&model, &state, &AssembleOptions::default());
    assert_eq!(report.outcome, Outcome::Closed);
    assert!(worst(&report) < 1e-11 && worst_rate(&report) < 1e-11);
    assert!(report.iterations <= 40, "{} iterations", report.iterations);
}

/// A model from a file.
fn load(text: &str) -> Model {
    let options = LoadOptions { allow_open: true, ..LoadOptions::default() };
    load_text("test.toml", text, &options).expect("a good model").model
}

fn bead(position: &str, equations: &[&str]) -> Model {
    let mut text = format!("[[point]]\nname = \"P\"\nmass = 1\nposition = {position}\n");
    for (i, equation) in equations.iter().enumerate() {
        let _ = writeln!(text, "[[constraint]]\nname = \"e{i}\"\nequation = \"{equation}\"");
    }
    load(&text)
}

#[test]
fn a_bead_comes_to_its_curve_whatever_the_unit_of_the_equation() {
    for factor in ["1", "1e6", "1e-6"] {
        let equation = format!("{factor}*(P.x^2 + P.y^2 - 1) = 0");
        let report = run(&bead("[3, 4, 2]", &[&equation, "P.z = 2"]));
        assert_eq!(report.outcome, Outcome::Closed, "{factor}");
        let gap = (report.state.s[1] - v(0.6, 0.8, 2.0)).norm();
        // The tolerance 1e-9 is in the equation's unit.
        assert!(gap < if factor == "1e-6" { 1e-3 } else { 1e-9 }, "{factor}: {gap}");
    }
}

#[test]
fn two_circles_without_common_point_contradict_each_other() {
    let report = run(&bead("[1.5, 0, 0]", &["P.x^2 + P.y^2 = 1", "P.x^2 + P.y^2 = 4"]));
    let failure = failure(&report);
    assert_eq!(failure.element, "e1");
    assert_eq!(failure.kind, FailureKind::Contradicting { with: vec!["e0".to_owned()] });
}

#[test]
fn two_circles_side_by_side_that_do_not_meet_are_not_closable() {
    let report = run(&bead("[1.5, 0.1, 0]", &["P.x^2 + P.y^2 = 1", "(P.x - 3)^2 + P.y^2 = 1"]));
    assert_eq!(failure(&report).kind, FailureKind::NotClosable);
}

#[test]
fn an_equation_without_value_is_named() {
    let mut model = bead("[1, 0, 0]", &["sqrt(P.x) = 2", "P.y = 1"]);
    model.start.s[1].x = -1.0;
    let report = run(&model);
    let failure = failure(&report);
    assert_eq!((failure.element.as_str(), &failure.kind), ("e0", &FailureKind::Undefined));
    assert_eq!(failure.to_string(), "`e0` has no value at this posture");
}

#[test]
fn a_bead_at_the_centre_of_its_circle_leaves_it_some_way() {
    // No direction is nearer than another and the gradient vanishes.
    let report = run(&bead("[0, 0, 0]", &["P.x^2 + P.y^2 = 1", "P.z = 0"]));
    assert_eq!(report.outcome, Outcome::Closed);
    assert!((report.moved[0].distance - 1.0).abs() < 1e-9);
    assert!(report.notes[0].contains("several ways"), "{:?}", report.notes);
}

#[test]
fn a_driven_crank_gets_the_velocity_of_its_motion() {
    let model = load(
        r#"
        [[body]]
        name = "crank"
        mass = 1
        inertia = [0.1, 0.1, 0.1]
        position = [0.5, 0, 0]
        [[joint]]
        name = "pivot"
        type = "hinge"
        between = ["world", "crank"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
        motion = { angle = "0.3 + 2*sin(t)" }
        "#,
    );
    let report = run(&model);
    assert_eq!(report.outcome, Outcome::Closed);
    let angle = report.state.rot[1].scaled_axis();
    assert!((angle - v(0.0, 0.3, 0.0)).norm() < 1e-9);
    assert!((report.state.omega[1] - v(0.0, 2.0, 0.0)).norm() < 1e-9);
    let speed = report.state.omega[1].cross(&report.state.s[1]);
    assert!((report.state.s_dot[1] - speed).norm() < 1e-9);
}

#[test]
fn a_joint_assembled_beyond_its_end_stop_is_noted() {
    let model = load(
        r#"
        [[body]]
        name = "arm"
        mass = 1
        inertia = [0.1, 0.1, 0.1]
        position = [0.5, 0, 0]
        [[joint]]
        name = "pivot"
        type = "hinge"
        between = ["world", "arm"]
        point = [0, 0, 0]
        axis = [0, 1, 0]
        limits = { min = -0.1, max = 0.1 }
        motion = { angle = "0.5" }
        "#,
    );
    let report = run(&model);
    assert_eq!(report.outcome, Outcome::Closed);
    assert_eq!(report.notes, ["`pivot` is at 0.500000, beyond its end stop at 0.100000"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_disturbed_mechanism_closes_and_stays(which in 0_usize..5, seed in 0_u64..1_000_000) {
        let model = [four_bar, bricard, eight_loop, eight_loop_flat, cuboid][which]();
        let state = disturbed(&model, 0.03, seed);
        let options = AssembleOptions::default();
        let first = assemble_from(&model, &state, &options);
        prop_assert_eq!(&first.outcome, &Outcome::Closed);
        prop_assert!(worst(&first) <= model.run.tolerance);
        prop_assert!(worst_rate(&first) <= model.run.velocity_tolerance);
        let second = assemble_from(&model, &first.state, &options);
        prop_assert_eq!(&second.state, &first.state);
        prop_assert!(second.moved.is_empty() && second.pushed.is_empty());
    }

    #[test]
    fn success_means_that_every_error_is_within_tolerance(
        n in 2_usize..8, extra in 1_usize..5, gap in 0.0..0.6, seed in 0_u64..1_000_000
    ) {
        let model = random_loops(n, extra, gap, numbers(seed));
        let report = run(&model);
        let closed = report.residuals.iter().all(|r| {
            r.after <= model.run.tolerance && r.velocity_after <= model.run.velocity_tolerance
        });
        prop_assert_eq!(report.outcome == Outcome::Closed, closed, "{:?}", report);
        prop_assert!(report.state.s.iter().all(|s| s.iter().all(|x| x.is_finite())));
        let again = run(&model);
        prop_assert_eq!(format!("{report:?}"), format!("{again:?}"));
        let checked = check(&model, &CheckOptions::default());
        prop_assert!(checked.rank <= checked.coordinates.min(checked.constraints));
        prop_assert_eq!(checked.rank + checked.redundant.len(), checked.constraints);
    }

    #[test]
    fn a_twin_of_a_joint_at_another_place_contradicts_it(
        n in 1_usize..8, which in 0_usize..3, shift in 0.01..0.3, seed in 0_u64..1_000_000
    ) {
        let mut number = numbers(seed);
        let tree = random_tree(n, &mut number);
        let mut builder = Builder::new("twins");
        for (i, body) in tree.bodies.iter().enumerate().skip(1) {
            let mut def = BodyDef::new(&body.name, body.mass, Mat3::from_diagonal(&body.inertia));
            def.position = tree.start.s[i];
            def.rotation = tree.start.rot[i];
            builder.body(&def);
        }
        for joint in &tree.joints[..n - 1] {
            builder.joint(&joint.name, joint.bodies, joint.kind.clone(), None);
        }
        let bodies = tree.joints[n - 1].bodies;
        let mut vector = || Vec3::from_fn(|_, _| 2.0 * number() - 1.0);
        let [a, b] = builder.joint_frames(bodies, &vector(), &(vector() + v(0.0, 0.0, 1e-3)));
        builder.joint("first", bodies, any_joint(which, &a, &b), None);
        let origin = b.origin + vector().normalize() * shift;
        builder.joint("twin", bodies, any_joint(which, &a, &JointFrame { origin, ..b }), None);
        let report = run(&builder.finish());
        let failure = failure(&report);
        prop_assert_eq!(&failure.element, "twin");
        let with = vec!["first".to_owned()];
        prop_assert_eq!(&failure.kind, &FailureKind::Contradicting { with });
    }

    #[test]
    fn a_disturbed_tree_closes_and_stays(n in 1_usize..15, seed in 0_u64..1_000_000) {
        let model = random_tree(n, numbers(seed));
        let state = disturbed(&model, 0.1, seed + 1);
        let options = AssembleOptions::default();
        let first = assemble_from(&model, &state, &options);
        prop_assert_eq!(&first.outcome, &Outcome::Closed);
        let second = assemble_from(&model, &first.state, &options);
        prop_assert_eq!(&second.state, &first.state);
    }
}
