//! Rows beside those of a loop that moves along its curve: of bodies that hang on it, drives, friction that sticks.

use gelenk_model::Twist;
use gelenk_model::factor::ResponseRows;
use gelenk_model::math::Vec3;
use nalgebra::{DMatrix, DVector};

use crate::blow::least_squares;
use crate::branch::Slide;

/// Singular values of dense matrices below this part of the largest are redundant rows.
const CUT: f64 = 1e-12;

/// Rows beside the loop's own, and their K = J̃ M̃⁻¹ J̃ᵀ, the loop having the mass τᵀ M τ.
#[derive(Clone, Debug)]
pub struct Beside {
    /// (block, row in the block).
    pub rows: Vec<(usize, usize)>,
    /// J τ. (rows)
    along: Vec<f64>,
    k: DMatrix<f64>,
}

/// Bodies, J and M⁻¹Jᵀ of row `i` of a block.
pub fn row(
    rows: &impl ResponseRows,
    block: usize,
    i: usize,
) -> impl Iterator<Item = (usize, [f64; 6], [f64; 6])> {
    let place = rows.place(block);
    let start = place.jac + i * 6 * place.n_bodies;
    rows.bodies(block).iter().enumerate().map(move |(slot, &body)| {
        let (mut jac, mut response) = ([0.0; 6], [0.0; 6]);
        jac.copy_from_slice(&rows.jac()[start + 6 * slot..][..6]);
        response.copy_from_slice(&rows.response()[start + 6 * slot..][..6]);
        (body, jac, response)
    })
}

fn dot(row: &[f64; 6], twist: &Twist) -> f64 {
    (0..3).map(|k| row[k] * twist.s_dot[k] + row[3 + k] * twist.omega[k]).sum()
}

impl Beside {
    /// The rows of `blocks`, but for those that are out.
    pub fn new(slide: &Slide, all: &impl ResponseRows, blocks: &[usize]) -> Self {
        let mut rows = Vec::new();
        for &block in blocks.iter().filter(|k| !all.is_out(**k)) {
            rows.extend((0..all.place(block).n_rows).map(|i| (block, i)));
        }
        let mut along = vec![0.0; rows.len()];
        // By body: the rows that touch it, with J and M⁻¹Jᵀ there.
        let mut touching: Vec<Vec<(usize, [f64; 6], [f64; 6])>> = vec![Vec::new(); slide.tau.len()];
        for (r, &(block, i)) in rows.iter().enumerate() {
            for (body, jac, response) in row(all, block, i) {
                if !slide.moves(body) {
                    touching[body].push((r, jac, response));
                    continue;
                }
                along[r] += dot(&jac, &slide.tau[body]);
                for (_, axis) in slide.spare.iter().filter(|(b, _)| *b == body) {
                    let mut only = ([0.0; 6], [0.0; 6]);
                    only.0[*axis] = jac[*axis];
                    only.1[*axis] = response[*axis];
                    touching[body].push((r, only.0, only.1));
                }
            }
        }
        let mut k =
            DMatrix::from_fn(rows.len(), rows.len(), |a, b| along[a] * along[b] / slide.mass);
        for list in &touching {
            for (a, jac, _) in list {
                for (b, _, response) in list {
                    k[(*a, *b)] += jac.iter().zip(response).map(|(x, y)| x * y).sum::<f64>();
                }
            }
        }
        Beside { rows, along, k }
    }

    /// λ of the rows with J (u + response) = wanted, and the response put into `twists`: of the loop along τ. None if there is none.
    pub fn solve(
        &self,
        slide: &Slide,
        all: &impl ResponseRows,
        wanted: &[f64],
        twists: &mut [Twist],
    ) -> Option<Vec<f64>> {
        let mut lambda = vec![0.0; self.rows.len()];
        if self.rows.is_empty() {
            return Some(lambda);
        }
        for _ in 0..2 {
            let missing = self.rows.iter().zip(wanted).map(|(&(block, i), wanted)| {
                let have =
                    row(all, block, i).map(|(body, jac, _)| dot(&jac, &twists[body])).sum::<f64>();
                wanted - have
            });
            let missing = DVector::from_iterator(self.rows.len(), missing);
            let step = least_squares(self.k.clone(), &missing, CUT)?;
            let rate: f64 =
                self.along.iter().zip(step.iter()).map(|(a, l)| a * l).sum::<f64>() / slide.mass;
            for &(body, _) in &slide.poses {
                twists[body].s_dot += slide.tau[body].s_dot * rate;
                twists[body].omega += slide.tau[body].omega * rate;
            }
            for ((&(block, i), l), sum) in self.rows.iter().zip(step.iter()).zip(&mut lambda) {
                *sum += l;
                for (body, _, response) in row(all, block, i) {
                    if !slide.moves(body) {
                        twists[body].s_dot += Vec3::from_column_slice(&response[..3]) * *l;
                        twists[body].omega += Vec3::from_column_slice(&response[3..]) * *l;
                    }
                    for (_, axis) in slide.spare.iter().filter(|(b, _)| *b == body) {
                        twists[body].s_dot[*axis] += response[*axis] * *l;
                    }
                }
            }
        }
        Some(lambda)
    }
}
