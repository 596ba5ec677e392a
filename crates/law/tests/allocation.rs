//! No allocation in a solve once the workspace has seen the size.
#![allow(clippy::unwrap_used)]

mod common;

use gelenk_law::{Impact, Law, Level, never};

#[test]
fn solves_allocate_nothing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/problems");
    let mut deepest = Level::Newton;
    for file in std::fs::read_dir(folder).unwrap().flatten() {
        for mut step in common::npz::load(&file.path()).unwrap() {
            let mut law = Law::default();
            let mut lambda = step.warm.clone();
            let outcome = law.solve(&step.problem, &mut step.dense, &mut lambda, &never);
            deepest = deepest.max(outcome.level);
            lambda.copy_from_slice(&step.warm);
            let count = allocation_counter::measure(|| {
                law.solve(&step.problem, &mut step.dense, &mut lambda, &never);
            });
            assert_eq!(count.count_total, 0, "{:?}", file.path());
            let mut impact = Impact::default();
            let restitution = vec![0.5; step.problem.blocks.len()];
            let mut strike = || {
                impact.solve(
                    &mut law,
                    &step.problem,
                    &restitution,
                    &mut step.dense,
                    &mut lambda,
                    &never,
                )
            };
            strike();
            let count = allocation_counter::measure(|| {
                strike();
            });
            assert_eq!(count.count_total, 0, "impact, {:?}", file.path());
        }
    }
    assert!(deepest > Level::Newton);
}
