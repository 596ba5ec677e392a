//! A basis of the movements that the conditions allow.

use nalgebra::DMatrix;

use crate::equations::Equations;

/// Pivots below this part of the largest one are zero.
const RANK_TOLERANCE: f64 = 1e-10;

impl Equations<'_> {
    /// An M-orthonormal basis of the movements that the conditions allow at (t, y), in natural coordinates. (n × degrees of freedom)
    pub fn tangents(&mut self, t: f64, y: &[f64]) -> DMatrix<f64> {
        self.read(t, y);
        self.jacobians(t);
        // Columns of unit mass: world axes of centres, principal axes of turns.
        let mut moves: Vec<(usize, usize, f64)> = Vec::new();
        for (k, place) in self.layout.places.iter().enumerate() {
            let body = &self.model.bodies[place.body];
            moves.extend((0..3).map(|axis| (k, axis, body.mass_inv.sqrt())));
            if place.rigid {
                let turns = (0..3).filter(|&i| body.inertia_inv[i] > 0.0);
                moves.extend(turns.map(|i| (k, 3 + i, body.inertia_inv[i].sqrt())));
            }
        }
        let blocks = self.holding();
        let rows: usize = blocks.iter().map(|&i| self.model.rows[i].n_rows).sum();
        let size = moves.len();
        // Aᵀ with zero columns up to a square, so that Q is whole.
        let mut matrix = DMatrix::<f64>::zeros(size, rows.max(size));
        let mut row = 0;
        for &i in &blocks {
            let block = &self.model.rows[i];
            let width = 6 * block.bodies.len();
            for jac in self.rows.jacobian(i).chunks(width.max(1)) {
                for (slot, body) in block.bodies.iter().enumerate() {
                    let Some(place) = self.layout.of_body[body.index()] else { continue };
                    let rot = &self.poses[body.index()].rot;
                    for (column, &(k, axis, weight)) in moves.iter().enumerate() {
                        if k != place {
                            continue;
                        }
                        let entries = &jac[6 * slot..6 * slot + 6];
                        let value = if axis < 3 {
                            entries[axis]
                        } else {
                            let u = rot.column(axis - 3);
                            entries[3] * u[0] + entries[4] * u[1] + entries[5] * u[2]
                        };
                        matrix[(column, row)] += weight * value;
                    }
                }
                row += 1;
            }
        }
        let qr = matrix.col_piv_qr();
        let (q, r) = (qr.q(), qr.r());
        let pivots: Vec<f64> = (0..r.nrows().min(r.ncols())).map(|i| r[(i, i)].abs()).collect();
        let largest = pivots.iter().fold(0.0, |a: f64, b| a.max(*b));
        let rank = pivots.iter().filter(|p| **p > RANK_TOLERANCE * largest && **p > 0.0).count();
        let mut basis = DMatrix::zeros(self.layout.n, size - rank);
        for f in 0..size - rank {
            for (column, &(k, axis, weight)) in moves.iter().enumerate() {
                let x = q[(column, rank + f)] * weight;
                let place = &self.layout.places[k];
                if axis < 3 {
                    basis[(place.first + axis, f)] += x;
                } else {
                    let rot = &self.poses[place.body].rot;
                    let axis_world = rot.column(axis - 3).into_owned();
                    let turn = axis_world.cross_matrix() * rot * x;
                    for (e, entry) in turn.as_slice().iter().enumerate() {
                        basis[(place.first + 3 + e, f)] += entry;
                    }
                }
            }
        }
        basis
    }
}
