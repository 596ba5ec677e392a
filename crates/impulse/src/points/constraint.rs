//! Constraints between point masses: distances and equations.

use gelenk_expr::{Series, Tape};
use gelenk_model::math::Vec3;

use super::system::PointState;

/// A constraint.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Unique name.
    pub name: String,
    /// What must hold.
    pub kind: ConstraintKind,
}

/// What must hold.
#[derive(Clone, Debug)]
pub enum ConstraintKind {
    /// The points keep their distance: c = ½ (A² − d²), A = P_j − P_i. (2.1)
    Distance {
        /// The first point.
        i: usize,
        /// The second point.
        j: usize,
        /// The distance d, m; positive.
        d: f64,
    },
    /// An equation, polynomial or not: c = g.
    Equation(PointEquation),
}

/// g(u, t) = 0 over coordinates u of points.
#[derive(Clone, Debug)]
pub struct PointEquation {
    /// (point, axis) of each u, in the order of the tapes' inputs.
    pub coordinates: Vec<(usize, usize)>,
    /// Inputs u, t; output g.
    pub value: Tape,
    /// Inputs u, t; outputs ∂g/∂u for all u, then ∂g/∂t.
    pub gradient: Tape,
}

/// G_k of one constraint: (point, ∂c/∂P) for each point it touches.
pub type Gradient = Vec<(usize, Vec3)>;

impl PointEquation {
    fn inputs(&self, state: &PointState) -> Vec<f64> {
        let u = self.coordinates.iter().map(|&(point, axis)| state.p[point][axis]);
        u.chain([state.t]).collect()
    }

    /// The inputs along the motion P(t₀ + τ) = Σ p\[k\] τᵏ, to `n` coefficients.
    fn series_inputs(&self, t0: f64, p: &[Vec<Vec3>], n: usize) -> Vec<Series> {
        let component = |point: usize, axis: usize| {
            Series::new(p[..n].iter().map(|coefficient| coefficient[point][axis]).collect())
        };
        let u = self.coordinates.iter().map(|&(point, axis)| component(point, axis));
        let mut time = vec![0.0; n];
        time[0] = t0;
        if let Some(rate) = time.get_mut(1) {
            *rate = 1.0;
        }
        u.chain([Series::new(time)]).collect()
    }

    /// Gathers the derivatives by the coordinates into vectors by point.
    fn gather(&self, slopes: impl Fn(usize) -> f64) -> Gradient {
        let mut gradient: Gradient = Vec::new();
        for (k, &(point, axis)) in self.coordinates.iter().enumerate() {
            let slot = gradient.iter().position(|(other, _)| *other == point);
            let slot = slot.unwrap_or_else(|| {
                gradient.push((point, Vec3::zeros()));
                gradient.len() - 1
            });
            gradient[slot].1[axis] += slopes(k);
        }
        gradient
    }
}

impl Constraint {
    /// c.
    pub fn value(&self, state: &PointState) -> f64 {
        match &self.kind {
            ConstraintKind::Distance { i, j, d } => {
                let a = state.p[*j] - state.p[*i];
                0.5 * (a.norm_squared() - d * d)
            }
            ConstraintKind::Equation(equation) => equation.value.values(&equation.inputs(state))[0],
        }
    }

    /// How far it is from holding: |A| − d, m, or g.
    pub fn error(&self, state: &PointState) -> f64 {
        match &self.kind {
            ConstraintKind::Distance { i, j, d } => (state.p[*j] - state.p[*i]).norm() - d,
            ConstraintKind::Equation(_) => self.value(state),
        }
    }

    /// G = ∂c/∂P and ∂c/∂t.
    pub fn gradient(&self, state: &PointState) -> (Gradient, f64) {
        match &self.kind {
            ConstraintKind::Distance { i, j, .. } => {
                let a = state.p[*j] - state.p[*i];
                (vec![(*i, -a), (*j, a)], 0.0)
            }
            ConstraintKind::Equation(equation) => {
                let slopes = equation.gradient.values(&equation.inputs(state));
                (equation.gather(|k| slopes[k]), slopes[equation.coordinates.len()])
            }
        }
    }

    /// The coefficient of τᵏ of c along the motion P(t₀ + τ) = Σ p\[k\] τᵏ.
    pub(super) fn value_coefficient(&self, t0: f64, p: &[Vec<Vec3>], k: usize) -> f64 {
        match &self.kind {
            ConstraintKind::Distance { i, j, d } => {
                let a = |k: usize| p[k][*j] - p[k][*i];
                let square: f64 = (0..=k).map(|l| a(l).dot(&a(k - l))).sum();
                0.5 * (if k == 0 { square - d * d } else { square })
            }
            ConstraintKind::Equation(equation) => {
                equation.value.eval_series(&equation.series_inputs(t0, p, k + 1))[0].at(k)
            }
        }
    }

    /// The coefficient of τᵏ of G along the motion.
    pub(super) fn gradient_coefficient(&self, t0: f64, p: &[Vec<Vec3>], k: usize) -> Gradient {
        match &self.kind {
            ConstraintKind::Distance { i, j, .. } => {
                let a = p[k][*j] - p[k][*i];
                vec![(*i, -a), (*j, a)]
            }
            ConstraintKind::Equation(equation) => {
                let inputs = equation.series_inputs(t0, p, k + 1);
                let slopes = equation.gradient.eval_series(&inputs);
                equation.gather(|u| slopes[u].at(k))
            }
        }
    }
}
