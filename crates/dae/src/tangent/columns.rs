//! Columns put on the conditions: the derivative of the projection.

use gelenk_expr::LANES;
use gelenk_model::Twist;
use gelenk_model::rows::RowKind;
use gelenk_model::variation::Variation;

use super::{Direction, Tangents, lane};
use crate::equations::Equations;
use crate::rows::dot;

impl Equations<'_> {
    /// Puts columns on the conditions that belong to y: the derivative of [`Equations::project`] along them. y must satisfy the
    /// conditions. (each 2n)
    pub fn project_columns(
        &mut self,
        tangents: &mut Tangents,
        t: f64,
        y: &[f64],
        columns: &mut [&mut [f64]],
    ) {
        self.project_varied(tangents, t, y, columns, None);
    }

    /// The same for columns that belong to a variation: lane k with column k, at most [`LANES`] of them. The conditions move.
    pub(crate) fn project_varied(
        &mut self,
        tangents: &mut Tangents,
        t: f64,
        y: &[f64],
        columns: &mut [&mut [f64]],
        variation: Option<&Variation>,
    ) {
        let n = self.layout.n;
        self.read(t, y);
        self.prepare(t);
        let mut moved = vec![[0.0; LANES]; if variation.is_some() { self.lambda.len() } else { 0 }];
        if let Some(variation) = variation {
            tangents.fit(self.model, variation);
            self.lift(tangents, t, y, &[], Some(variation));
            for i in (0..self.model.rows.len()).filter(|i| !self.rows.out[*i]) {
                let slopes = self.varied_error(tangents, variation, i);
                for (r, slope) in self.rows_of(i).zip(slopes) {
                    moved[r] = slope;
                }
            }
        }
        for columns in columns.chunks_mut(LANES) {
            let directions: Vec<Direction<'_>> =
                columns.iter().map(|c| Direction::of_state(c)).collect();
            self.lift(tangents, t, y, &directions, variation);
            let lanes = directions.len();
            // Positions: nearest rigid turns, then J δq = 0.
            let mut moves = vec![vec![Twist::zero(); self.poses.len()]; lanes];
            for (k, moves) in moves.iter_mut().enumerate() {
                for (place, d) in self.layout.places.iter().zip(&self.layout.squares) {
                    let (i, rot) = (place.body, &self.poses[place.body].rot);
                    moves[i].s_dot = lane(&tangents.poses[i].s, k);
                    if place.rigid {
                        let change = tangents.poses[i].rot.map(|x| x.d[k]);
                        moves[i].omega = rot * crate::layout::rates(rot, &change, d);
                    }
                }
                tangents.wanted[k].fill(0.0);
                for (wanted, moved) in tangents.wanted[k].iter_mut().zip(&moved) {
                    *wanted = -moved[k];
                }
                tangents.lambda[k].fill(0.0);
                for (i, block) in self.model.rows.iter().enumerate() {
                    // Friction holds each neighbour where it came to rest itself.
                    if matches!(block.kind, RowKind::Friction(_)) && !self.rows.out[i] {
                        let wanted = &mut tangents.wanted[k][block.first_row..][..block.n_rows];
                        self.rows.rate(i, moves, wanted);
                    }
                }
                let (wanted, lambda) = (&tangents.wanted[k], &mut tangents.lambda[k]);
                self.solver.solve(&self.rows, wanted, moves, lambda, 2);
            }
            for place in &self.layout.places {
                let i = place.body;
                let pose = &mut tangents.poses[i];
                for axis in 0..3 {
                    for (k, moves) in moves.iter().enumerate() {
                        pose.s[axis].d[k] = moves[i].s_dot[axis];
                    }
                }
                if place.rigid {
                    for (k, moves) in moves.iter().enumerate() {
                        let turn = moves[i].omega.cross_matrix() * self.poses[i].rot;
                        for (x, turn) in pose.rot.iter_mut().zip(turn.iter()) {
                            x.d[k] = *turn;
                        }
                    }
                }
            }
            // Velocities: J δv = −δJ v − δC_t.
            self.dual_rates(tangents, variation);
            for (k, column) in columns.iter_mut().enumerate() {
                for (i, step) in tangents.steps[k].iter_mut().enumerate() {
                    *step = Twist {
                        s_dot: lane(&tangents.twists[i].s_dot, k),
                        omega: lane(&tangents.twists[i].omega, k),
                    };
                }
                tangents.lambda[k].fill(0.0);
                let Tangents { wanted, lambda, steps, .. } = tangents;
                self.solver.solve(&self.rows, &wanted[k], &mut steps[k], &mut lambda[k], 2);
                for place in &self.layout.places {
                    let i = place.body;
                    let (p, v) = column[..2 * n].split_at_mut(n);
                    let (p, v) = (&mut p[place.first..], &mut v[place.first..]);
                    p[..3].copy_from_slice(moves[k][i].s_dot.as_slice());
                    v[..3].copy_from_slice(steps[k][i].s_dot.as_slice());
                    if place.rigid {
                        let (rot, omega) = (&self.poses[i].rot, &self.twists[i].omega);
                        let turn = moves[k][i].omega.cross_matrix() * rot;
                        p[3..12].copy_from_slice(turn.as_slice());
                        let rate =
                            steps[k][i].omega.cross_matrix() * rot + omega.cross_matrix() * turn;
                        v[3..12].copy_from_slice(rate.as_slice());
                    }
                }
            }
        }
    }

    /// −δJ v − δC_t into what is wanted.
    fn dual_rates(&self, tangents: &mut Tangents, variation: Option<&Variation>) {
        for (i, block) in self.model.rows.iter().enumerate() {
            let rows = self.rows_of(i);
            if self.rows.out[i] {
                for wanted in &mut tangents.wanted {
                    wanted[rows.clone()].fill(0.0);
                }
                continue;
            }
            let width = 6 * block.bodies.len();
            let (_, c_t) = self.dual_row(tangents, variation, i);
            let Tangents { jac, wanted, .. } = tangents;
            for (r, row) in rows.zip(0..) {
                for (k, wanted) in wanted.iter_mut().enumerate() {
                    let mut rate = c_t[row].d[k];
                    for (entries, body) in jac[row * width..][..width].chunks(6).zip(&block.bodies)
                    {
                        let slopes = [0, 1, 2, 3, 4, 5].map(|e: usize| entries[e].d[k]);
                        rate += dot(&slopes, &self.twists[body.index()]);
                    }
                    wanted[r] = -rate;
                }
            }
        }
    }
}
