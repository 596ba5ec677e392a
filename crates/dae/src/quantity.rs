//! Numbers of a state by name, and their derivatives: joint coordinates, places, turns and their rates.

use gelenk_expr::LANES;
use gelenk_model::BodyId;
use gelenk_model::signal::StateRef;
use gelenk_model::variation::Variation;
use nalgebra::DMatrix;

use crate::equations::{Equations, instant};
use crate::tangent::{Direction, Tangents};

/// A number of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// One that expressions can name.
    State(StateRef),
    /// How far a body has turned about an axis of the world: a change only, rad.
    Turn(BodyId, usize),
}

impl Equations<'_> {
    /// Values at (t, y); 0 of turns.
    pub fn values(&mut self, t: f64, y: &[f64], list: &[Quantity]) -> Vec<f64> {
        self.read(t, y);
        let at = instant(t, &self.poses, &self.twists, &self.coordinates);
        list.iter()
            .map(|quantity| match quantity {
                Quantity::State(state) => state.value(self.model, &at),
                Quantity::Turn(..) => 0.0,
            })
            .collect()
    }

    /// Their exact derivatives along the columns of a matrix of changes of p and v. (quantities × columns)
    pub fn slopes(
        &mut self,
        tangents: &mut Tangents,
        t: f64,
        y: &[f64],
        columns: &DMatrix<f64>,
        list: &[Quantity],
    ) -> DMatrix<f64> {
        self.slopes_varied(tangents, t, y, columns, list, None)
    }

    /// The same where also the numbers of the model change: column k with lane k of the variation, at most [`LANES`] of them.
    pub fn slopes_varied(
        &mut self,
        tangents: &mut Tangents,
        t: f64,
        y: &[f64],
        columns: &DMatrix<f64>,
        list: &[Quantity],
        variation: Option<&Variation>,
    ) -> DMatrix<f64> {
        self.read(t, y);
        let mut found = DMatrix::zeros(list.len(), columns.ncols());
        let ways: Vec<Vec<f64>> =
            columns.column_iter().map(|c| c.iter().copied().collect()).collect();
        for (chunk, ways) in ways.chunks(LANES).enumerate() {
            let directions: Vec<Direction<'_>> =
                ways.iter().map(|w| Direction::of_state(w)).collect();
            self.lift(tangents, t, y, &directions, variation);
            for (i, quantity) in list.iter().enumerate() {
                let slopes = match *quantity {
                    Quantity::State(state) => match variation {
                        None => state.value(self.model, &tangents.at(self)).d,
                        Some(variation) => {
                            let input = variation.input(self.model, state);
                            let Tangents { t, poses, twists, .. } = tangents;
                            let near = &self.coordinates;
                            variation.state(self.model, &input, *t, poses, twists, near).d
                        }
                    },
                    Quantity::Turn(body, axis) => {
                        let rot = &self.poses[body.index()].rot;
                        std::array::from_fn(|k| {
                            let change = tangents.poses[body.index()].rot.map(|x| x.d[k]);
                            // δR Rᵀ = θ×.
                            let turn = change * rot.transpose();
                            let (next, previous) = ((axis + 1) % 3, (axis + 2) % 3);
                            0.5 * (turn[(previous, next)] - turn[(next, previous)])
                        })
                    }
                };
                for k in 0..ways.len() {
                    found[(i, chunk * LANES + k)] = slopes[k];
                }
            }
        }
        found
    }
}
