//! How a motion begins where another one ended.

use nalgebra::{DMatrix, DVector};

use super::dense::mirror;
use super::mechanism::Mechanism;
use super::shooting::{Charted, Nodes, Shooting};
use super::{At, Flow};
use crate::motion::{Fault, Linearized};

impl<F: Charted> Shooting<F> {
    /// Velocities with which the motion is entered go through this impact; see [`Mechanism::impact`].
    #[must_use]
    pub fn with_impact(mut self, impact: Mechanism) -> Self {
        self.impact = Some(impact);
        self
    }

    /// Numbers of the first node's chart from a full state y = (p, v): ξ = (Nᵀ M (p − p̄), Nᵀ M (v⁺ − v̄)) with v⁺ = v + a(p, v)
    /// after the impact, v⁺ = v without.
    pub(super) fn enter_from(
        &self,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Linearized, Fault> {
        let size = y.len();
        let (Nodes::Charts(charts), Some(mechanism)) = (&self.nodes, self.flow.mechanism()) else {
            return Ok(Linearized::same(y, weights.is_some()));
        };
        let (chart, n) = (&charts[0], size / 2);
        let mut after = y.to_vec();
        // ∂(p, v⁺)/∂(p, v), a row a number.
        let mut slope = vec![0.0; size * size];
        for i in 0..size {
            slope[i * size + i] = 1.0;
        }
        let omega = weights.map(|weights| chart.pull(mechanism, weights));
        let mut curvature = omega.as_ref().map(|_| vec![0.0; size * size]);
        if let Some(impact) = &self.impact {
            let mut scratch = impact.scratch();
            let arguments = impact.sizes().arguments();
            let (mut change, mut jac) = (vec![0.0; n + 1], vec![0.0; (n + 1) * arguments]);
            let at = At { x: y, u: &[], p: &[], t: 0.0 };
            impact
                .linearize(&mut scratch, &at, &mut change, &mut jac)
                .map_err(|reason| Fault::Chart { node: 0, reason })?;
            for i in 0..n {
                after[n + i] += change[i];
                for j in 0..size {
                    slope[(n + i) * size + j] += jac[i * arguments + j];
                }
            }
            if let (Some(omega), Some(curvature)) = (&omega, &mut curvature) {
                let mut asked = omega[n..].to_vec();
                asked.push(0.0);
                let mut directions = vec![0.0; arguments * size];
                for i in 0..size {
                    directions[i * size + i] = 1.0;
                }
                impact.curvature(&mut scratch, &asked, &directions, size, curvature);
                mirror(curvature, size);
            }
        }
        let values = chart.measure(mechanism, &after);
        let rows = chart.measure_directions(mechanism, &slope, size);
        Ok(Linearized {
            jacobian: DMatrix::from_row_slice(values.len(), size, &rows),
            values: DVector::from_vec(values),
            curvature: curvature.map(|c| DMatrix::from_row_slice(size, size, &c)),
        })
    }
}
