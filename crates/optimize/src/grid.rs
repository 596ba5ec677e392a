//! Motions over a flow as a problem needs them: states in full coordinates, steps chosen anew, rates for the certificate.

use std::ops::Range;

use nalgebra::DVector;

use crate::flow::{At, Charted, Shooting};
use crate::motion::{Arrival, Fault, Linearized, Motion, Sizes};

/// A [`Motion`] made of a flow.
pub trait Grid: Motion + Send {
    /// The flow's state (coordinates and velocities of a mechanism) at a node.
    fn full_state(&self, node: usize, numbers: &[f64]) -> Result<Vec<f64>, Fault>;

    /// Puts the nodes' charts around these states; gives the nodes' numbers.
    fn place(&mut self, states: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, Fault>;

    /// Puts the chart of one node around a state; gives its numbers.
    fn place_one(&mut self, node: usize, state: &[f64]) -> Result<Vec<f64>, Fault>;

    /// A node's numbers of a full state.
    fn numbers_of(&self, node: usize, state: &[f64]) -> Vec<f64>;

    /// The full state in which an interval ends, however far it is from the next node's chart.
    fn arrive(&self, interval: usize, z: &[f64]) -> Result<Vec<f64>, Fault>;

    /// Chooses the integration steps of all intervals for this accuracy.
    fn choose(&mut self, points: &[DVector<f64>], accuracy: f64) -> Result<(), Fault>;

    /// Integration steps in all.
    fn n_steps(&self) -> usize;

    /// When node k is reached.
    fn time_of(&self, node: usize, parameters: &[f64]) -> f64;

    /// Numbers of a full state.
    fn full_size(&self) -> usize;

    /// Which of them are velocities; none where a state is nothing but its differential equation.
    fn velocities(&self) -> Range<usize>;

    /// Rates of a full state and, last, the Lagrange term.
    fn rates(&self, x: &[f64], u: &[f64], p: &[f64], t: f64) -> Result<Vec<f64>, String>;
}

impl<F: Charted + Send> Grid for Shooting<F> {
    fn full_state(&self, node: usize, numbers: &[f64]) -> Result<Vec<f64>, Fault> {
        self.state(node, numbers)
    }

    fn place(&mut self, states: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, Fault> {
        let placed = self.place_nodes(states)?;
        Ok(placed.iter().enumerate().map(|(node, state)| self.numbers(node, state)).collect())
    }

    fn place_one(&mut self, node: usize, state: &[f64]) -> Result<Vec<f64>, Fault> {
        let placed = self.place_node(node, state)?;
        Ok(self.numbers(node, &placed))
    }

    fn numbers_of(&self, node: usize, state: &[f64]) -> Vec<f64> {
        self.numbers(node, state)
    }

    fn arrive(&self, interval: usize, z: &[f64]) -> Result<Vec<f64>, Fault> {
        Shooting::arrive(self, interval, z)
    }

    fn choose(&mut self, points: &[DVector<f64>], accuracy: f64) -> Result<(), Fault> {
        self.choose_steps(points, accuracy)
    }

    fn n_steps(&self) -> usize {
        (0..self.intervals()).map(|k| Shooting::n_steps(self, k)).sum()
    }

    fn time_of(&self, node: usize, parameters: &[f64]) -> f64 {
        self.time(node, parameters)
    }

    fn full_size(&self) -> usize {
        self.flow().sizes().states
    }

    fn velocities(&self) -> Range<usize> {
        let positions = self.flow().sizes().positions;
        positions..2 * positions
    }

    fn rates(&self, x: &[f64], u: &[f64], p: &[f64], t: f64) -> Result<Vec<f64>, String> {
        let flow = self.flow();
        let sizes = flow.sizes();
        let mut scratch = flow.scratch();
        let mut out = vec![0.0; sizes.rates() + 1];
        flow.rates(&mut scratch, &At { x, u, p, t }, &mut out)?;
        let mut all: Vec<f64> = (0..sizes.positions).map(|i| x[sizes.positions + i]).collect();
        all.extend(out);
        Ok(all)
    }
}

impl Motion for Box<dyn Grid> {
    fn intervals(&self) -> usize {
        (**self).intervals()
    }

    fn sizes(&self, stage: usize) -> Sizes {
        (**self).sizes(stage)
    }

    fn advance(&self, interval: usize, z: &[f64]) -> Result<Arrival, Fault> {
        (**self).advance(interval, z)
    }

    fn linearize(
        &self,
        interval: usize,
        z: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Linearized, Fault> {
        (**self).linearize(interval, z, weights)
    }

    fn quantities(&self) -> &[String] {
        (**self).quantities()
    }

    fn observe(
        &self,
        node: usize,
        z: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Linearized, Fault> {
        (**self).observe(node, z, weights)
    }

    fn charted(&self) -> bool {
        (**self).charted()
    }

    fn enter(&self, y: &[f64], weights: Option<&[f64]>) -> Result<Linearized, Fault> {
        (**self).enter(y, weights)
    }

    fn recenter(&mut self, nodes: &[DVector<f64>]) -> Result<Vec<DVector<f64>>, Fault> {
        (**self).recenter(nodes)
    }
}
