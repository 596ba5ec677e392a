//! What the optimizer sees of a motion: maps from node to node, and the quantities that conditions are written in.

use nalgebra::{DMatrix, DVector};

/// How many numbers a stage has. Its point is z = (x, u, p): the node's state in its chart, all control numbers of the
/// interval, and the free parameters of the problem (durations among them).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Numbers of the node's state: degrees of freedom twice for mechanisms, not their coordinates.
    pub states: usize,
    /// Control numbers of the interval.
    pub controls: usize,
    /// Free parameters, the same in all stages.
    pub parameters: usize,
}

impl Sizes {
    /// Length of z.
    pub fn total(self) -> usize {
        self.states + self.controls + self.parameters
    }
}

/// End of an interval.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// State at the end, in the chart of the next node.
    pub state: DVector<f64>,
    /// The integral of the Lagrange term over the interval.
    pub cost: f64,
}

/// Σ wᵢ ∂²fᵢ/∂z², symmetric.
pub type Curvature = DMatrix<f64>;

/// Values with derivatives by z = (x, u, p).
#[derive(Clone, Debug)]
pub struct Linearized {
    /// Values f: (state at the end, cost) of an interval; quantities of a node.
    pub values: DVector<f64>,
    /// ∂f/∂z, a row a value.
    pub jacobian: DMatrix<f64>,
    /// Σ wᵢ ∂²fᵢ/∂z² for the weights that were asked for.
    pub curvature: Option<Curvature>,
}

impl Linearized {
    /// The map that leaves y as it is.
    pub fn same(y: &[f64], curvature: bool) -> Self {
        let n = y.len();
        Linearized {
            values: DVector::from_column_slice(y),
            jacobian: DMatrix::identity(n, n),
            curvature: curvature.then(|| DMatrix::zeros(n, n)),
        }
    }
}

/// Why a motion has no value at a point.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The integration of an interval did not come to its end.
    #[error("interval {interval}, {time} s after its start: {reason}")]
    Integration {
        /// Counted from 0.
        interval: usize,
        /// Time since the interval's start.
        time: f64,
        /// In words.
        reason: String,
    },
    /// A node lies too far from the origin of its chart.
    #[error("node {node}: {reason}")]
    Chart {
        /// Counted from 0.
        node: usize,
        /// In words.
        reason: String,
    },
}

/// A motion over a grid of shooting intervals 0 … n−1 between nodes 0 … n.
///
/// Node states live in charts: numbers ξ around a reference on the manifold (for plain differential equations the chart is the
/// identity). All methods are pure: same input, same bits, and intervals may be evaluated in parallel.
pub trait Motion: Sync {
    /// Number of intervals n.
    fn intervals(&self) -> usize;

    /// Sizes of stage k, 0 ≤ k ≤ n; the last node has no controls of its own unless they are continuous.
    fn sizes(&self, stage: usize) -> Sizes;

    /// Where interval k ends, from z = (x, u, p) of stage k.
    fn advance(&self, interval: usize, z: &[f64]) -> Result<Arrival, Fault>;

    /// The same with exact derivatives of the discrete map. Values are (state, cost); `weights`, one for each, ask for the curvature.
    fn linearize(
        &self,
        interval: usize,
        z: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Linearized, Fault>;

    /// Names of the quantities that conditions and objectives may use at a node (`P4.x`, `P4.vx`, `u.knee`, …).
    fn quantities(&self) -> &[String];

    /// The quantities at node k, with derivatives by z of stage k.
    fn observe(&self, node: usize, z: &[f64], weights: Option<&[f64]>)
    -> Result<Linearized, Fault>;

    /// Whether nodes live in charts, so that their numbers are not the full state itself.
    fn charted(&self) -> bool {
        false
    }

    /// Numbers of node 0 where another motion left the full state y, with derivatives by y: what the first node of a phase must
    /// equal. Places off the constraints are measured along the chart's normals; whether velocities are first brought to the
    /// constraints, as by an impact, is the motion's to know. Plain states are taken as they are.
    fn enter(&self, y: &[f64], weights: Option<&[f64]>) -> Result<Linearized, Fault> {
        Ok(Linearized::same(y, weights.is_some()))
    }

    /// Takes the node states as new origins of their charts and returns their numbers there (zero for mechanisms, unchanged for
    /// plain differential equations). The motion itself does not change.
    fn recenter(&mut self, nodes: &[DVector<f64>]) -> Result<Vec<DVector<f64>>, Fault>;
}
