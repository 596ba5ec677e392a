//! Flows: differential equations with derivatives of second order, and the maps from node to node made of them.

mod chart;
mod dense;
mod enter;
mod formulas;
mod mechanism;
mod radau;
mod shooting;
mod source;
mod sparse;

pub use formulas::{FormulaScratch, Formulas};
pub use mechanism::{Mechanism, MechanismScratch};
pub use shooting::{Charted, ControlShape, Duration, Shooting};
pub use source::Source;

/// How many numbers a [`Flow`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSizes {
    /// Numbers of x.
    pub states: usize,
    /// The first of x are positions: the rate of x_i is x_{positions + i}, and needs no formula.
    pub positions: usize,
    /// Numbers of u.
    pub controls: usize,
    /// Numbers of p.
    pub parameters: usize,
}

impl FlowSizes {
    /// Rates that have formulas: of all states but the positions.
    pub fn rates(self) -> usize {
        self.states - self.positions
    }

    /// Arguments (x, u, p, t).
    pub fn arguments(self) -> usize {
        self.states + self.controls + self.parameters + 1
    }
}

/// Where a flow is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// States.
    pub x: &'a [f64],
    /// Controls.
    pub u: &'a [f64],
    /// Parameters.
    pub p: &'a [f64],
    /// Time, s.
    pub t: f64,
}

/// ẋ = f(x, u, p, t) with a Lagrange term ℓ(x, u, p, t), twice differentiable.
///
/// Algebraic variables, 0 = g(x, w, u, p, t), are eliminated inside: f is what remains, and its derivatives are those of
/// the implicit function.
pub trait Flow: Sync {
    /// Working memory of one place, which keeps between [`linearize`](Flow::linearize) and [`curvature`](Flow::curvature) what both need.
    type Scratch: Clone + Send;

    /// Numbers of each kind.
    fn sizes(&self) -> FlowSizes;

    /// New working memory.
    fn scratch(&self) -> Self::Scratch;

    /// The rates that have formulas, then ℓ. (rates + 1)
    fn rates(&self, s: &mut Self::Scratch, at: &At<'_>, out: &mut [f64]) -> Result<(), String>;

    /// The same with derivatives by (x, u, p, t), a row a rate. (rates + 1 by arguments)
    fn linearize(
        &self,
        s: &mut Self::Scratch,
        at: &At<'_>,
        out: &mut [f64],
        jac: &mut [f64],
    ) -> Result<(), String>;

    /// Adds Dᵀ (Σ wᵢ ∂²fᵢ) D at the place where `s` was linearized last; the lower triangle alone. D has a row for each argument and `k`
    /// columns, the weights are those of the rates and of ℓ.
    fn curvature(
        &self,
        s: &mut Self::Scratch,
        weights: &[f64],
        directions: &[f64],
        k: usize,
        out: &mut [f64],
    );
}
