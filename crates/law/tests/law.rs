//! The law on small problems whose answers are known, and on random ones.
#![allow(clippy::float_cmp, clippy::unwrap_used)]

mod common;

use common::{Bodies, Dense, Random, residual};
use gelenk_law::{Ended, Grip, Kind, Law, Level, Outcome, Problem, never};

const G: f64 = 9.81;
const INF: f64 = f64::INFINITY;

fn contact(mu: f64) -> Kind {
    Kind::Contact { mu, spin: None, roll: None }
}

fn solve(bodies: &Bodies) -> (Vec<f64>, Vec<f64>, Outcome, Dense) {
    let mut dense = bodies.dense();
    let mut lambda = vec![0.0; bodies.problem.n_rows()];
    let outcome = Law::default().solve(&bodies.problem, &mut dense, &mut lambda, &never);
    let v = dense.velocity(&lambda);
    (lambda, v, outcome, dense)
}

/// λ in its cones and bounds to rounding.
fn holds(problem: &Problem, lambda: &[f64]) {
    for block in &problem.blocks {
        let l = &lambda[block.row..];
        match block.kind {
            Kind::Scalar { lo, hi } => assert!(l[0] >= lo && l[0] <= hi),
            Kind::Off { rows } => assert!(l[..rows].iter().all(|&l| l == 0.0)),
            Kind::Contact { mu, spin, roll } => {
                let normal = l[0] * (1.0 + 1e-14);
                assert!(l[0] >= 0.0 && l[1].hypot(l[2]) <= mu * normal, "{block:?} {l:?}");
                let mut at = 3;
                if let Some(mu) = spin {
                    assert!(l[at].abs() <= mu * normal);
                    at += 1;
                }
                if let Some(mu) = roll {
                    assert!(l[at].hypot(l[at + 1]) <= mu * normal);
                }
            }
        }
    }
}

/// Every law in words, apart from the solver's projections: what moves by more than `tol` m/s (rad/s × 1 m) pushes as
/// far as it may against the motion, what could push further does not move.
fn complementary(problem: &Problem, lambda: &[f64], u: &[f64], tol: f64) {
    let friction = |limit: f64, l: &[f64], u: &[f64], tol: f64, what: &str| {
        let size = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (speed, force) = (size(u), size(l));
        if force < limit * (1.0 - 1e-6) - tol {
            assert!(speed <= tol, "{what} sticks and moves: {l:?} {u:?}");
        } else if speed > tol {
            let power: f64 = l.iter().zip(u).map(|(l, u)| l * u).sum();
            assert!(
                (power + limit * speed).abs() <= (limit + 1.0) * tol,
                "{what} does not oppose: {l:?} {u:?}"
            );
        }
    };
    for block in &problem.blocks {
        let (l, u) = (&lambda[block.row..], &u[block.row..]);
        match block.kind {
            Kind::Off { .. } => {}
            Kind::Scalar { lo, hi } => {
                assert!(
                    l[0] <= lo + tol || u[0] <= tol,
                    "above lo and rises: {block:?} {l:?} {u:?}"
                );
                assert!(l[0] >= hi - tol || u[0] >= -tol, "below hi and falls: {block:?}");
            }
            Kind::Contact { mu, spin, roll } => {
                assert!(u[0] >= -tol && (l[0] <= tol || u[0] <= tol), "{block:?} {l:?} {u:?}");
                friction(mu * l[0], &l[1..3], &u[1..3], tol, "slip");
                let mut at = 3;
                if let Some(mu) = spin {
                    friction(mu * l[0], &l[at..=at], &u[at..=at], 10.0 * tol, "spin");
                    at += 1;
                }
                if let Some(mu) = roll {
                    friction(mu * l[0], &l[at..at + 2], &u[at..at + 2], 10.0 * tol, "roll");
                }
            }
        }
    }
}

/// Bodies with random contacts, stops, dry friction and a loop; b = 0 unless `speeds`.
fn random(random: &mut Random, bodies: usize, contacts: usize, speeds: bool, ratio: f64) -> Bodies {
    let mut all = Bodies::default();
    for i in 0..bodies {
        let m = if i % 2 == 1 { ratio } else { 1.0 };
        let v = [(); 6].map(|()| random.next());
        all.body(m, 0.1 * m, v);
    }
    for i in 0..contacts {
        let mu = [0.0, 0.3, 0.8, 1.5][i % 4];
        let spin = (i % 3 == 1).then_some(0.02);
        let roll = (i % 5 < 2).then_some(0.01);
        let a = i % bodies;
        let arms = [random.unit().map(|x| 0.5 * x), random.unit().map(|x| 0.5 * x)];
        let b = if speeds { 0.3 * random.next() } else { 0.0 };
        let ends = [(a, arms[0], 1.0), ((a + 1) % bodies, arms[1], -1.0)];
        let count = if i % 2 == 0 || bodies == 1 { 1 } else { 2 };
        let n = random.unit();
        all.touch(Kind::Contact { mu, spin, roll }, 0, &ends[..count], n, b);
    }
    for (lo, hi) in [(0.0, INF), (-0.2, 0.2), (-INF, INF), (-INF, 0.0), (-0.1, INF), (0.0, 0.0)] {
        let n = random.unit();
        all.touch(Kind::Scalar { lo, hi }, 0, &[(bodies - 1, random.unit(), 1.0)], n, 0.0);
    }
    all
}

#[test]
fn random_problems_are_solved_and_make_no_energy() {
    let mut numbers = Random(1);
    let (mut solved, mut accepted, mut factors) = (0, 0, 0);
    for i in 0..300 {
        let bodies = random(&mut numbers, 1 + i % 5, i % 9, false, 1.0);
        let (lambda, v, outcome, dense) = solve(&bodies);
        holds(&bodies.problem, &lambda);
        let u = dense.rows(&v, &vec![0.0; lambda.len()]);
        if outcome.ended == Ended::Solved {
            complementary(&bodies.problem, &lambda, &u, 1e-7);
        }
        let power: f64 = lambda.iter().zip(&u).map(|(l, u)| l * u).sum();
        assert!(
            power <= 1e-6 * lambda.iter().fold(1.0, |s, l| s + l.abs()),
            "{i}: {power} {outcome:?}"
        );
        if outcome.residual <= 1e-6 {
            assert!(dense.kinetic(&v) <= dense.kinetic(&dense.vf) + 1e-6, "{i}");
            accepted += 1;
        }
        solved += usize::from(outcome.ended == Ended::Solved);
        factors += outcome.factors;
    }
    assert!(solved >= 295 && accepted >= 298, "{solved} {accepted}");
    assert!(factors < 300 * 9, "{factors}");
}

#[test]
fn badly_scaled_problems_stay_in_their_cones() {
    let mut numbers = Random(2);
    // Of 1000 problems each 99.5 and 98.3 % were accepted.
    for (ratio, bar) in [(1e4, 392), (1e6, 384)] {
        let mut accepted = 0;
        for i in 0..400 {
            let bodies = random(&mut numbers, 2 + i % 4, 1 + i % 6, true, ratio);
            let (lambda, _, outcome, _) = solve(&bodies);
            holds(&bodies.problem, &lambda);
            accepted += usize::from(outcome.residual <= 1e-6);
        }
        assert!(accepted >= bar, "{ratio}: {accepted}");
    }
}

/// A heavy box on a light one on the ground: the light one carries both. Rounding of u is ε·Kλ/δ in a Newton step.
#[test]
fn heavy_box_on_a_light_one() {
    for (heavy, bar) in [(1e2, 1e-8), (1e4, 1e-8), (1e6, 1e-6)] {
        let mut stack = Bodies::default();
        for m in [1.0, heavy] {
            stack.body(m, 0.1 * m, [0.0, 0.0, -G * 0.01, 0.0, 0.0, 0.0]);
        }
        for (x, y) in [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)] {
            let up = [0.0, 0.0, 1.0];
            stack.touch(contact(0.5), 1, &[(0, [x, y, -0.5], 1.0)], up, 0.0);
            let ends = [(1, [x, y, -0.5], 1.0), (0, [x, y, 0.5], -1.0)];
            stack.touch(contact(0.5), 2, &ends, up, 0.0);
        }
        let (lambda, v, outcome, _) = solve(&stack);
        assert!(outcome.residual <= bar, "{heavy}: {outcome:?}");
        assert!(v.iter().all(|v| v.abs() < 10.0 * bar), "{heavy}: {v:?}");
        let carried: f64 = lambda.chunks(6).map(|l| l[0]).sum();
        assert!((carried / (0.01 * G * (heavy + 1.0)) - 1.0).abs() < 100.0 * bar);
    }
}

/// A box on a face with n × n points, and duplicates, cold: equal forces.
#[test]
fn redundant_contacts_share_equally() {
    for (side, copies) in [(2, 1), (2, 2), (3, 1)] {
        let mut bodies = Bodies::default();
        bodies.body(1.0, 1.0 / 6.0, [0.0, 0.0, -0.01 * G, 0.0, 0.0, 0.0]);
        for i in 0..side * side * copies {
            let at = |i: usize| (i % side) as f64 / (side - 1) as f64 - 0.5;
            let r = [at(i), at(i / side % side), -0.5];
            bodies.touch(contact(0.6), 7, &[(0, r, 1.0)], [0.0, 0.0, 1.0], 0.0);
        }
        let (lambda, v, outcome, _) = solve(&bodies);
        assert_eq!(outcome.ended, Ended::Solved);
        assert!(v.iter().all(|v| v.abs() < 1e-9));
        let share = 0.01 * G / (side * side * copies) as f64;
        for l in lambda.chunks(3) {
            assert!((l[0] - share).abs() < 1e-9 * share, "{} {share}", l[0]);
        }
    }
}

#[test]
fn scalar_rows_keep_their_bounds() {
    // Velocity 1 along x, one row along it; expected λ of each pair of bounds.
    for (lo, hi, b, expected) in [
        (-INF, INF, 0.0, -2.0),
        (0.0, INF, 0.0, 0.0),
        (-INF, 0.0, 0.0, -2.0),
        (-0.5, 0.5, 0.0, -0.5),
        (-3.0, 3.0, 0.5, -3.0),
        (-INF, INF, 0.5, -3.0),
        (0.25, 0.25, 0.0, 0.25),
        (0.0, INF, -1.5, 1.0),
        (-INF, INF, 1e-30, -2.0),
    ] {
        let mut bodies = Bodies::default();
        bodies.body(2.0, 1.0, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        bodies.touch(Kind::Scalar { lo, hi }, 0, &[(0, [0.0; 3], 1.0)], [1.0, 0.0, 0.0], b);
        let (lambda, _, outcome, _) = solve(&bodies);
        assert!((lambda[0] - expected).abs() < 1e-9, "{lo} {hi}: {}", lambda[0]);
        assert_eq!(outcome.ended, Ended::Solved);
    }
}

#[test]
fn nothing_to_solve() {
    let mut bodies = Bodies::default();
    bodies.body(1.0, 1.0, [1.0; 6]);
    let (lambda, _, outcome, _) = solve(&bodies);
    assert!(lambda.is_empty() && outcome.ended == Ended::Solved && outcome.factors == 0);
    bodies.touch(contact(0.5), 0, &[(0, [0.0; 3], 1.0)], [0.0, 0.0, 1.0], f64::NAN);
    let (lambda, _, outcome, _) = solve(&bodies);
    assert!(
        lambda.iter().all(|l| l.is_finite()) && outcome.ended == Ended::Loose,
        "{lambda:?} {outcome:?}"
    );
    bodies.problem.blocks[0].kind = Kind::Off { rows: 3 };
    bodies.problem.b[0] = -1.0;
    let (lambda, _, outcome, _) = solve(&bodies);
    assert_eq!((lambda, outcome.ended), (vec![0.0; 3], Ended::Solved));
}

#[test]
fn contradicting_loops_end_in_least_squares() {
    let mut bodies = Bodies::default();
    bodies.body(1.0, 1.0, [0.3, 0.2, 0.0, 0.0, 0.0, 0.0]);
    let free = Kind::Scalar { lo: -INF, hi: INF };
    for b in [0.1, -0.1] {
        bodies.touch(free, 0, &[(0, [0.0; 3], 1.0)], [1.0, 0.0, 0.0], b);
    }
    bodies.touch(free, 0, &[(0, [0.0; 3], 1.0)], [0.0, 1.0, 0.0], 0.0);
    let mut dense = bodies.dense();
    let (mut law, mut lambda) = (Law::default(), vec![0.0; 3]);
    let outcome = law.solve(&bodies.problem, &mut dense, &mut lambda, &never);
    assert_eq!((outcome.ended, outcome.level), (Ended::Contradicting, Level::Newton));
    assert_eq!(law.contradicting(), [0, 1]);
    let v = dense.velocity(&lambda);
    assert!(v[0].abs() < 1e-6 && v[1].abs() < 1e-9, "{v:?}");
}

/// A rod that slides on its tip: with much friction a sliding answer does not exist, it jams.
#[test]
fn painleve_rod_jams() {
    for mu in [1.5, 3.0, 5.0] {
        let mut bodies = Bodies::default();
        bodies.body(1.0, 1.0 / 12.0, [1.0, 0.0, -0.01 * G, 0.0, 0.0, 0.0]);
        let r = [0.5 * 0.5, 0.0, -0.5 * 0.866];
        bodies.touch(contact(mu), 0, &[(0, r, 1.0)], [0.0, 0.0, 1.0], 0.0);
        let (lambda, v, outcome, dense) = solve(&bodies);
        holds(&bodies.problem, &lambda);
        assert!(outcome.residual < 1e-8, "{mu}: {outcome:?}");
        assert!(outcome.factors <= 60, "{outcome:?}");
        assert!(dense.kinetic(&v) <= dense.kinetic(&dense.vf));
    }
}

/// A block between two walls that both push into it has no answer; it stays put and gains no energy.
#[test]
fn block_between_pushing_walls_stays() {
    let mut bodies = Bodies::default();
    bodies.body(1.0, 0.1, [0.0, 0.0, -0.01 * G, 0.0, 0.0, 0.0]);
    for (x, n) in [(-0.5, 1.0), (0.5, -1.0)] {
        for (y, z) in [(-0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (0.5, -0.5)] {
            bodies.touch(contact(0.6), 0, &[(0, [x, y, z], 1.0)], [n, 0.0, 0.0], -0.1);
        }
    }
    let (lambda, v, outcome, _) = solve(&bodies);
    holds(&bodies.problem, &lambda);
    assert_eq!(outcome.ended, Ended::Loose);
    assert!(v.iter().all(|v| v.abs() < 0.11), "{v:?} {outcome:?}");
}

/// The same where the walls only wish to push, as deep overlaps do: the wish is given up, and the block falls between them.
#[test]
fn wishes_that_contradict_each_other_are_given_up() {
    let mut bodies = Bodies::default();
    bodies.body(1.0, 0.1, [0.0, 0.0, -0.01 * G, 0.0, 0.0, 0.0]);
    for (x, n) in [(-0.5, 1.0), (0.5, -1.0)] {
        for (y, z) in [(-0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (0.5, -0.5)] {
            bodies.touch(contact(0.6), 0, &[(0, [x, y, z], 1.0)], [n, 0.0, 0.0], -0.1);
        }
    }
    let (_, _, before, _) = solve(&bodies);
    bodies.problem.wish.fill(0.1);
    let (lambda, v, outcome, _) = solve(&bodies);
    holds(&bodies.problem, &lambda);
    assert_eq!((outcome.ended, outcome.gave_up), (Ended::Solved, true), "{outcome:?}");
    assert!(v[0].abs() < 1e-8 && (v[2] + 0.01 * G).abs() < 1e-8, "{v:?} {outcome:?}");
    assert!(5 * outcome.factors < before.factors, "{outcome:?} {before:?}");
    // A wish that can be had is had.
    let mut bodies = Bodies::default();
    bodies.body(1.0, 0.1, [0.0, 0.0, -0.01 * G, 0.0, 0.0, 0.0]);
    bodies.touch(contact(0.6), 0, &[(0, [0.0, 0.0, -0.5], 1.0)], [0.0, 0.0, 1.0], -0.1);
    bodies.problem.wish.fill(0.1);
    let (_, v, outcome, _) = solve(&bodies);
    assert!(!outcome.gave_up && (v[2] - 0.1).abs() < 1e-8, "{v:?} {outcome:?}");
}

/// Flat jaws, 4 + 4 points, pressed by a force on one of them: the block does not creep.
#[test]
fn block_in_jaws_is_held() {
    let h = 0.002;
    let mut bodies = Bodies::default();
    bodies.body(0.2, 1e-4, [0.0, 0.0, -h * G, 0.0, 0.0, 0.0]);
    bodies.body(1.0, 1.0, [-h * 10.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    for (y, z) in [(-0.05, -0.05), (0.05, 0.05), (-0.05, 0.05), (0.05, -0.05)] {
        bodies.touch(contact(0.6), 1, &[(0, [-0.05, y, z], 1.0)], [1.0, 0.0, 0.0], 0.0);
        let ends = [(0, [0.05, y, z], 1.0), (1, [-0.05, y, z], -1.0)];
        bodies.touch(contact(0.6), 2, &ends, [-1.0, 0.0, 0.0], 0.0);
    }
    let slide = Kind::Scalar { lo: -INF, hi: INF };
    for (n, r) in [([0.0, 1.0, 0.0], [0.0; 3]), ([0.0, 0.0, 1.0], [0.0; 3])] {
        bodies.touch(slide, 0, &[(1, r, 1.0)], n, 0.0);
    }
    for (n, r) in [
        ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]),
        ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]),
        ([0.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
    ] {
        bodies.touch(slide, 0, &[(1, r, 1.0)], n, 0.0);
    }
    let (lambda, v, outcome, dense) = solve(&bodies);
    assert!(outcome.ended == Ended::Solved, "{outcome:?}");
    assert!(residual(&dense, &bodies.problem, &lambda) < 1e-8);
    assert!(v.iter().all(|v| v.abs() < 1e-8), "{v:?}");
}

/// Ball on a slope: rolling friction holds it below the slope μ_r/R; above, it rolls. Spin is limited apart.
#[test]
fn rolling_and_torsional_friction_are_separate() {
    let (radius, h) = (0.1, 0.01);
    let ball = |slope: f64, spin: f64| {
        let mut bodies = Bodies::default();
        let v = [h * G * slope, 0.0, -h * G, 0.0, 0.0, spin];
        bodies.body(1.0, 0.4 * radius * radius, v);
        let kind = Kind::Contact { mu: 0.8, spin: Some(0.005), roll: Some(0.01) };
        bodies.touch(kind, 0, &[(0, [0.0, 0.0, -radius], 1.0)], [0.0, 0.0, 1.0], 0.0);
        let (lambda, v, outcome, _) = solve(&bodies);
        holds(&bodies.problem, &lambda);
        assert!(outcome.residual < 1e-8, "{outcome:?}");
        (lambda, v)
    };
    let (lambda, v) = ball(0.09, 0.0);
    assert!(v.iter().all(|v| v.abs() < 1e-8), "{v:?}");
    assert!((lambda[0] - h * G).abs() < 1e-9);
    // Rolls: m R v̇ (1 + 2/5) = m g (R tan − μ_r).
    let (_, v) = ball(0.2, 0.0);
    assert!((v[0] - h * G * (0.2 - 0.1) / 1.4).abs() < 1e-8, "{v:?}");
    assert!((v[4] * radius - v[0]).abs() < 1e-8);
    // Spin of 30 rad/s is braked by μ_s m g h, whatever rolls.
    let (lambda, v) = ball(0.2, 30.0);
    assert!((v[0] - h * G * 0.1 / 1.4).abs() < 1e-8);
    assert!((lambda[3] + 0.005 * h * G).abs() < 1e-9 && v[5] > 0.0, "{lambda:?}");
    let (_, v) = ball(0.09, 0.01);
    assert!(v.iter().all(|v| v.abs() < 1e-8), "{v:?}");
}

#[test]
fn without_friction_nothing_is_held_and_nothing_pulls() {
    let mut bodies = Bodies::default();
    bodies.body(1.0, 0.1, [0.7, 0.0, -1.0, 0.0, 0.0, 0.0]);
    bodies.body(1.0, 0.1, [0.7, 0.0, 1.0, 0.0, 0.0, 0.0]);
    for body in 0..2 {
        bodies.touch(contact(0.0), 0, &[(body, [0.0, 0.0, -0.5], 1.0)], [0.0, 0.0, 1.0], 0.0);
    }
    let (lambda, v, outcome, _) = solve(&bodies);
    assert_eq!(outcome.ended, Ended::Solved);
    assert!((lambda[0] - 1.0).abs() < 1e-9 && lambda[1..].iter().all(|&l| l == 0.0), "{lambda:?}");
    assert!((v[0] - 0.7).abs() < 1e-15 && v[2].abs() < 1e-8 && v[8] == 1.0);
}

/// A box pulled sideways sticks by the static coefficient, then slides by the kinetic one, then sticks again.
#[test]
fn static_friction_breaks_and_returns() {
    let h = 0.01;
    let step = |pull: f64, grip: &mut [Grip; 1]| {
        let mut bodies = Bodies::default();
        bodies.body(1.0, 0.1, [h * G * pull, 0.0, -h * G, 0.0, 0.0, 0.0]);
        bodies.touch(contact(0.0), 0, &[(0, [0.0; 3], 1.0)], [0.0, 0.0, 1.0], 0.0);
        let (mut dense, mut lambda) = (bodies.dense(), vec![0.0; 3]);
        let mut law = Law::default();
        law.solve_gripping(&mut bodies.problem, grip, &mut dense, &mut lambda, &never);
        dense.velocity(&lambda)[0]
    };
    let mut grip = [Grip { block: 0, still: 0.7, sliding: 0.5, stuck: true }];
    assert!(step(0.69, &mut grip).abs() < 1e-8 && grip[0].stuck);
    assert!((step(0.71, &mut grip) - h * G * 0.21).abs() < 1e-9 && !grip[0].stuck);
    assert!((step(0.6, &mut grip) - h * G * 0.1).abs() < 1e-9 && !grip[0].stuck);
    assert!(step(0.4, &mut grip).abs() < 1e-9 && grip[0].stuck);
}

#[test]
fn answers_repeat_warm_and_bit_by_bit_and_stop_when_asked() {
    let mut numbers = Random(5);
    let bodies = random(&mut numbers, 4, 8, true, 10.0);
    let (first, _, outcome, mut dense) = solve(&bodies);
    assert_eq!(outcome.ended, Ended::Solved);
    assert_eq!(solve(&bodies).0, first);
    let mut again = first.clone();
    let warm = Law::default().solve(&bodies.problem, &mut dense, &mut again, &never);
    assert!(warm.factors <= 1 && warm.ended == Ended::Solved, "{warm:?}");
    let mut lambda = vec![f64::NAN; first.len()];
    let stopped = Law::default().solve(&bodies.problem, &mut dense, &mut lambda, &|| true);
    assert_eq!((stopped.ended, stopped.factors), (Ended::Stopped, 0));
    holds(&bodies.problem, &lambda);
    // Asked before every factorization, and no further one follows.
    let mut numbers = Random(6);
    for i in 0..40 {
        let bodies = random(&mut numbers, 3, 8, true, 1e4);
        let (asked, mut dense) = (std::cell::Cell::new(0), bodies.dense());
        let count = |limit: usize| {
            asked.set(asked.get() + 1);
            asked.get() > limit
        };
        let mut lambda = vec![0.0; bodies.problem.n_rows()];
        let all = Law::default().solve(&bodies.problem, &mut dense, &mut lambda, &|| count(999));
        assert_eq!(asked.get(), all.factors);
        let limit = all.factors * i / 40;
        asked.set(0);
        lambda.fill(0.0);
        let part = Law::default().solve(&bodies.problem, &mut dense, &mut lambda, &|| count(limit));
        if limit < all.factors {
            assert_eq!((part.ended, part.factors, asked.get()), (Ended::Stopped, limit, limit + 1));
        }
        holds(&bodies.problem, &lambda);
    }
    // The check of complementarity notices impulses a little off.
    let bodies = random(&mut numbers, 4, 8, false, 1.0);
    let (lambda, v, _, dense) = solve(&bodies);
    let u = dense.rows(&v, &bodies.problem.b);
    complementary(&bodies.problem, &lambda, &u, 1e-7);
    let pressed = bodies.problem.blocks.iter().rfind(|b| lambda[b.row] > 1e-3).unwrap().row;
    let wrong = u.iter().enumerate().map(|(i, u)| if i == pressed { u + 1e-6 } else { *u });
    let wrong: Vec<f64> = wrong.collect();
    let check = || complementary(&bodies.problem, &lambda, &wrong, 1e-7);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err());
}

/// The bars of the whole set of problems, on the steps kept here.
#[test]
fn steps_of_robots_and_piles_are_solved() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/problems");
    let (mut count, mut tight, mut factors, mut law) = (0, 0, 0, Law::default());
    for file in std::fs::read_dir(folder).unwrap().flatten() {
        for mut step in common::npz::load(&file.path()).unwrap() {
            let mut lambda = step.warm.clone();
            let outcome = law.solve(&step.problem, &mut step.dense, &mut lambda, &never);
            holds(&step.problem, &lambda);
            let r = residual(&step.dense, &step.problem, &lambda);
            assert!(r <= 1e-6, "{:?}: {r}", file.path());
            assert!((r - outcome.residual).abs() <= 1e-12 + 1e-3 * r, "{r} {outcome:?}");
            count += 1;
            tight += usize::from(r <= 1e-8);
            factors += outcome.factors;
        }
    }
    assert!(count >= 60 && tight * 100 >= count * 93, "{tight} of {count}");
    assert!(factors <= 6 * count, "{factors}");
}
