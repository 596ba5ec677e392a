//! Impacts with restitution: known answers, and energy on random ones.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Bodies, Random};
use gelenk_law::{Impact, ImpactOutcome, Kind, Law, never};

const UP: [f64; 3] = [0.0, 0.0, 1.0];
const X: [f64; 3] = [1.0, 0.0, 0.0];

fn contact(mu: f64) -> Kind {
    Kind::Contact { mu, spin: None, roll: None }
}

/// Impulses, velocities after, outcome, and kinetic energies before and after.
fn strike(bodies: &Bodies, restitution: &[f64]) -> (Vec<f64>, Vec<f64>, ImpactOutcome, [f64; 2]) {
    let mut dense = bodies.dense();
    let mut lambda = vec![0.0; bodies.problem.n_rows()];
    let (mut law, mut impact) = (Law::default(), Impact::default());
    let outcome =
        impact.solve(&mut law, &bodies.problem, restitution, &mut dense, &mut lambda, &never);
    let v = dense.velocity(&lambda);
    let energies = [dense.kinetic(&dense.vf), dense.kinetic(&v)];
    (lambda, v, outcome, energies)
}

/// Balls of these masses in a row along x, each touching the next.
fn row(masses: &[f64], speeds: &[f64]) -> Bodies {
    let mut bodies = Bodies::default();
    for (&m, &v) in masses.iter().zip(speeds) {
        bodies.body(m, 0.4 * m, [v, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
    for i in 1..masses.len() {
        let ends = [(i, [-1.0, 0.0, 0.0], 1.0), (i - 1, X, -1.0)];
        bodies.touch(contact(0.3), 0, &ends, X, 0.0);
    }
    bodies
}

#[test]
fn ball_bounces_with_its_coefficient() {
    for epsilon in [0.0, 0.3, 0.8, 1.0] {
        for mu in [0.0, 0.05, 0.5] {
            let mut bodies = Bodies::default();
            bodies.body(2.0, 0.8, [0.5, 0.0, -3.0, 0.0, 0.0, 0.0]);
            bodies.touch(contact(mu), 0, &[(0, [0.0, 0.0, -1.0], 1.0)], UP, 0.0);
            let (lambda, v, outcome, _) = strike(&bodies, &[epsilon]);
            assert!((v[2] - 3.0 * epsilon).abs() < 1e-12, "{v:?}");
            // It slides throughout, or rolls from compression on: ω_y = v_x, v_x = 5/7 of before.
            let p: f64 = 2.0 * 3.0 * (1.0 + epsilon);
            assert!((lambda[0] - p).abs() < 1e-11);
            let stick: f64 = 0.5 * (1.0 - 1.0 / 1.4) * 2.0;
            let friction = stick.min(mu * p);
            assert!((v[0] - (0.5 - friction / 2.0)).abs() < 1e-9, "{mu} {epsilon}: {v:?}");
            assert!(outcome.rounds == 1 && outcome.approach <= 1e-9, "{outcome:?}");
        }
    }
}

#[test]
fn pairs_and_cradles() {
    // Two balls: relative velocity times −ε, momentum kept.
    let (_, v, _, _) = strike(&row(&[1.0, 3.0], &[2.0, -1.0]), &[0.6]);
    assert!((v[6] - v[0] - 1.8).abs() < 1e-12 && (v[0] + 3.0 * v[6] + 1.0).abs() < 1e-12);
    // As many balls leave as come in.
    for n in 1..=3 {
        let speeds: Vec<f64> = (0..5).map(|i| f64::from(u8::from(i < n))).collect();
        let (_, v, outcome, _) = strike(&row(&[1.0; 5], &speeds), &[1.0; 4]);
        for i in 0..5 {
            let expected = f64::from(u8::from(i >= 5 - n));
            assert!((v[6 * i] - expected).abs() < 1e-9, "{n}: {v:?} {outcome:?}");
        }
    }
}

#[test]
fn stops_rebound_and_loops_hold() {
    // A slider with a stop, and a loop row across it.
    for (lo, hi, sign) in [(0.0, f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0, -1.0)] {
        let mut bodies = Bodies::default();
        bodies.body(1.5, 1.0, [-2.0 * sign, 0.7, 0.0, 0.0, 0.0, 0.0]);
        bodies.touch(Kind::Scalar { lo, hi }, 0, &[(0, [0.0; 3], 1.0)], X, 0.0);
        let free = Kind::Scalar { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
        bodies.touch(free, 0, &[(0, [0.0; 3], 1.0)], [0.0, 1.0, 0.0], 0.0);
        let (_, v, _, _) = strike(&bodies, &[0.5, 0.5]);
        assert!((v[0] - sign).abs() < 1e-9 && v[1].abs() < 1e-9, "{v:?}");
    }
}

/// 2 to 6 bodies, 1 to 8 points, stops, mass ratios of 1e3: energy never grows, nothing approaches.
#[test]
fn random_impacts_make_no_energy() {
    let mut numbers = Random(3);
    let (mut left, mut loose, mut rounds, mut factors) = (0, 0, 0, 0);
    let n = 400;
    for case in 0..n {
        let count = 2 + case % 5;
        let mut bodies = Bodies::default();
        for i in 0..count {
            let m = if i % 3 == 2 { 1e3 } else { 1.0 };
            bodies.body(m, 0.1 * m, [(); 6].map(|()| numbers.next()));
        }
        let mut restitution = Vec::new();
        for i in 0..=case % 8 {
            let arms = [numbers.unit(), numbers.unit()].map(|r| r.map(|x| 0.5 * x));
            let ends = [(i % count, arms[0], 1.0), ((i + 1) % count, arms[1], -1.0)];
            let normal = numbers.unit();
            bodies.touch(contact([0.0, 0.3, 1.0][i % 3]), 0, &ends[..=(i % 2)], normal, 0.0);
            restitution.push(0.5 + 0.5 * numbers.next());
        }
        let stop = Kind::Scalar { lo: 0.0, hi: f64::INFINITY };
        bodies.touch(stop, 0, &[(0, numbers.unit(), 1.0)], numbers.unit(), 0.0);
        restitution.push(0.4);
        let (lambda, _, outcome, [before, after]) = strike(&bodies, &restitution);
        assert!(after <= before * (1.0 + 1e-12), "{case}: {before} {after} {outcome:?}");
        for block in &bodies.problem.blocks {
            let l = &lambda[block.row..];
            if let Kind::Contact { mu, .. } = block.kind {
                assert!(l[1].hypot(l[2]) <= mu * l[0] * (1.0 + 1e-12) + 1e-12, "{case} {l:?}");
            }
            assert!(l[0] >= 0.0);
        }
        left += usize::from(outcome.approach > 1e-6);
        loose += usize::from(outcome.residual > 1e-6);
        rounds += outcome.rounds;
        factors += outcome.factors;
    }
    // Measured: none, none, 703 rounds, 5183 factorizations.
    assert!(left == 0 && loose <= 2, "{left} {loose}");
    assert!(rounds <= 2 * n && factors <= 15 * n, "{rounds} {factors}");
}

#[test]
fn impacts_stop_when_asked_and_take_any_coefficient() {
    let bodies = row(&[1.0, 1.0], &[1.0, 0.0]);
    let (mut dense, mut lambda) = (bodies.dense(), vec![0.0; 3]);
    let (mut law, mut impact) = (Law::default(), Impact::default());
    let out = impact.solve(&mut law, &bodies.problem, &[1.0], &mut dense, &mut lambda, &|| true);
    assert!(out.stopped && out.factors == 0, "{out:?}");
    for (given, taken) in [(f64::NAN, 0.0), (-1.0, 0.0), (7.0, 1.0)] {
        let (_, v, _, _) = strike(&bodies, &[given]);
        assert!((v[6] - v[0] - taken).abs() < 1e-9, "{given}: {v:?}");
    }
    assert!(strike(&bodies, &[]).1[0] > 0.49);
}
