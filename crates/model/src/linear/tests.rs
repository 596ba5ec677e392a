//! The factorization against dense algebra.

use nalgebra::DMatrix;

use super::damped_least_squares;
use super::matrix::{Block, BlockMatrix};
use super::plan::Plan;
use super::qr::factor;
use crate::assemble::Spread;

/// A matrix whose blocks each touch a few groups, some rows being combinations of others.
fn random(seed: usize, n_groups: usize, n_blocks: usize) -> BlockMatrix {
    let mut spread = Spread::new(seed as u64);
    let mut first_column = vec![0];
    for g in 0..n_groups {
        first_column.push(first_column[g] + 1 + (g + seed) % 6);
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut first_row = 0;
    for k in 0..n_blocks {
        let mut groups: Vec<usize> =
            (0..=k % 3).map(|j| (7 * k + 5 * j * j + 3 * seed) % n_groups).collect();
        groups.sort_unstable();
        groups.dedup();
        let width: usize = groups.iter().map(|&g| first_column[g + 1] - first_column[g]).sum();
        let n_rows = 1 + k % 4;
        let mut values: Vec<f64> = (0..n_rows * width).map(|_| spread.next()).collect();
        if k % 5 == 4 {
            // Doubles an earlier block.
            groups.clone_from(&blocks[k / 2].groups);
            values = blocks[k / 2].values.iter().map(|a| -2.0 * a).collect();
        }
        let width: usize = groups.iter().map(|&g| first_column[g + 1] - first_column[g]).sum();
        let n_rows = values.len() / width;
        blocks.push(Block { groups, first_row, n_rows, grounded: k % 3 == 0, values });
        first_row += n_rows;
    }
    BlockMatrix { first_column, blocks }
}

fn dense(matrix: &BlockMatrix) -> DMatrix<f64> {
    let mut full = DMatrix::zeros(matrix.n_rows(), matrix.n_columns());
    for block in &matrix.blocks {
        let columns: Vec<usize> = matrix.columns(block).collect();
        for i in 0..block.n_rows {
            for (k, &column) in columns.iter().enumerate() {
                full[(block.first_row + i, column)] = block.values[i * columns.len() + k];
            }
        }
    }
    full
}

#[test]
fn rank_and_null_vectors_agree_with_singular_values() {
    for seed in 0..60 {
        let (n_groups, n_blocks) = (2 + seed % 9, 1 + seed % 17);
        let matrix = random(seed, n_groups, n_blocks);
        let full = dense(&matrix);
        let factor = factor(&matrix, &Plan::new(&matrix), 1e-9);
        assert_eq!(factor.rank, full.clone().svd(false, false).rank(1e-9), "seed {seed}");
        let vectors = factor.null_vectors();
        assert_eq!(vectors.len(), matrix.n_rows() - factor.rank);
        let mut y = DMatrix::zeros(vectors.len(), matrix.n_rows());
        for (k, vector) in vectors.iter().enumerate() {
            for &(row, value) in vector {
                y[(k, row)] = value;
            }
        }
        assert!((&y * &full).amax() < 1e-12, "seed {seed}");
        let gram = &y * y.transpose();
        assert!((gram - DMatrix::identity(vectors.len(), vectors.len())).amax() < 1e-12);
    }
}

#[test]
fn damped_least_squares_agrees_with_the_normal_equations() {
    for seed in 0..40 {
        let matrix = random(seed, 2 + seed % 9, 1 + seed % 17);
        let full = dense(&matrix);
        let mut spread = Spread::new(seed as u64 + 1000);
        let b: Vec<f64> = (0..matrix.n_rows()).map(|_| spread.next()).collect();
        let d: Vec<f64> = (0..matrix.n_columns()).map(|_| spread.next()).collect();
        let delta = 0.1;
        let plan = Plan::new(&matrix);
        let x = damped_least_squares(&matrix, &plan, &b, delta, Some(&d));
        let n = matrix.n_columns();
        let normal = full.transpose() * &full + DMatrix::identity(n, n) * (delta * delta);
        let right = -(full.transpose() * DMatrix::from_vec(b.len(), 1, b.clone()))
            - DMatrix::from_vec(n, 1, d) * (delta * delta);
        let expected = normal.lu().solve(&right).expect("regular");
        let difference = (DMatrix::from_vec(n, 1, x) - expected).amax();
        assert!(difference < 1e-11, "seed {seed}: {difference}");
    }
}
