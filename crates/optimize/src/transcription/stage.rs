//! Values and derivatives of one stage.

use nalgebra::{DMatrix, DVector};

use super::{Role, Stage, Transcription};
use crate::motion::{Fault, Motion};
use crate::program::{StageDerivatives, StageValues, Weights};
use crate::terms::Reads;

impl<M: Motion> Transcription<M> {
    /// The motion that a stage links to, if it ends a phase that another one follows.
    fn next_phase(&self, stage: &Stage) -> Option<&M> {
        let next = self.phases.get(stage.phase + 1)?;
        (!stage.end.is_empty()).then_some(&next.motion)
    }

    pub(super) fn stage_values(&self, k: usize, z: &[f64]) -> Result<StageValues, Fault> {
        let stage = &self.stages[k];
        let phase = &self.phases[stage.phase];
        let point = &stage.to_motion * DVector::from_column_slice(z);
        let mut out = StageValues::default();
        let n_w = self.shape.stages[k].variables;
        if stage.advances {
            let arrival = phase.motion.advance(stage.node, point.as_slice())?;
            out.cost += arrival.cost;
            out.left.extend(arrival.state.iter());
            let control = DVector::from_column_slice(&z[stage.states..n_w]);
            out.left.extend((&stage.control.pass * control).iter());
        }
        if stage.control.changes.nrows() > 0 {
            out.cost += self.roughness(stage, z).0;
        }
        if k > 0 && self.shape.stages[k - 1].links > 0 {
            out.right.extend(&z[..self.shape.stages[k].states]);
        }
        if let Some(set) = self.set(stage) {
            let observed = phase.motion.observe(stage.node, point.as_slice(), None)?;
            let values = set.terms.values(&self.inputs(set, &observed, &z[n_w..]));
            out.cost += stage.cost.iter().map(|&t| values[t]).sum::<f64>();
            out.equal.extend(stage.equal.iter().map(|&t| values[t] - target(&set.roles[t])));
            out.unequal.extend(stage.unequal.iter().map(|&t| values[t]));
            if let Some(next) = self.next_phase(stage) {
                let left: Vec<f64> = stage.end.iter().map(|&t| values[t]).collect();
                out.left.extend(next.enter(&left, None)?.values.iter());
            }
        }
        Ok(out)
    }

    pub(super) fn stage_derivatives(
        &self,
        k: usize,
        z: &[f64],
        weights: Option<&Weights>,
    ) -> Result<StageDerivatives, Fault> {
        let stage = &self.stages[k];
        let shape = &self.shape.stages[k];
        let phase = &self.phases[stage.phase];
        let (n, n_w) = (z.len(), shape.variables);
        let point = &stage.to_motion * DVector::from_column_slice(z);
        let n_right = match k.checked_sub(1) {
            Some(before) => self.shape.stages[before].links,
            None => 0,
        };
        let mut out = StageDerivatives {
            values: StageValues::default(),
            gradient: DVector::zeros(n),
            equal: DMatrix::zeros(shape.equalities, n),
            unequal: DMatrix::zeros(shape.inequalities, n),
            left: DMatrix::zeros(shape.links, n),
            right: DMatrix::zeros(n_right, n),
            hessian: weights.map(|_| DMatrix::zeros(n, n)),
        };
        let control_at = stage.states;
        if stage.advances {
            let asked = weights.map(|w| {
                let mut list = w.left[..phase.motion.sizes(stage.node + 1).states].to_vec();
                list.push(w.cost);
                list
            });
            let map = phase.motion.linearize(stage.node, point.as_slice(), asked.as_deref())?;
            let jacobian = &map.jacobian * &stage.to_motion;
            let n_x = map.values.len() - 1;
            out.values.cost += map.values[n_x];
            out.gradient += jacobian.row(n_x).transpose();
            out.left.view_mut((0, 0), (n_x, n)).copy_from(&jacobian.rows(0, n_x));
            out.values.left.extend(map.values.iter().take(n_x));
            let pass = &stage.control.pass;
            out.left.view_mut((n_x, control_at), pass.shape()).copy_from(pass);
            let control = DVector::from_column_slice(&z[control_at..n_w]);
            out.values.left.extend((pass * control).iter());
            if let (Some(hessian), Some(curvature)) = (&mut out.hessian, &map.curvature) {
                *hessian += stage.to_motion.tr_mul(&(curvature * &stage.to_motion));
            }
        }
        if stage.control.changes.nrows() > 0 {
            let (cost, gradient, curvature) = self.roughness(stage, z);
            out.values.cost += cost;
            let mut view = out.gradient.rows_mut(control_at, gradient.len());
            view += &gradient;
            if let (Some(hessian), Some(weights)) = (&mut out.hessian, weights) {
                let mut view = hessian.view_mut((control_at, control_at), curvature.shape());
                view += curvature * weights.cost;
            }
        }
        if n_right > 0 {
            out.values.right.extend(&z[..shape.states]);
            for i in 0..shape.states {
                out.right[(i, i)] = 1.0;
            }
        }
        if let Some(set) = self.set(stage) {
            let first = phase.motion.observe(stage.node, point.as_slice(), None)?;
            let inputs = self.inputs(set, &first, &z[n_w..]);
            let values = set.terms.values(&inputs);
            let slopes = set.terms.jacobian(&inputs);
            // ∂inputs/∂z.
            let mut along = DMatrix::zeros(inputs.len(), n);
            for (i, reads) in set.terms.inputs.iter().enumerate() {
                match *reads {
                    Reads::Quantity(q) => {
                        along.set_row(i, &(first.jacobian.row(q) * &stage.to_motion));
                    }
                    Reads::Global(g) => along[(i, n_w + g)] = 1.0,
                }
            }
            let jacobian = &slopes * &along;
            let mut asked = vec![0.0; values.len()];
            for &t in &stage.cost {
                out.values.cost += values[t];
                out.gradient += jacobian.row(t).transpose();
                asked[t] = weights.map_or(0.0, |w| w.cost);
            }
            for (i, &t) in stage.equal.iter().enumerate() {
                out.values.equal.push(values[t] - target(&set.roles[t]));
                out.equal.set_row(i, &jacobian.row(t));
                asked[t] = weights.map_or(0.0, |w| w.equal[i]);
            }
            for (i, &t) in stage.unequal.iter().enumerate() {
                out.values.unequal.push(values[t]);
                out.unequal.set_row(i, &jacobian.row(t));
                asked[t] = weights.map_or(0.0, |w| w.unequal[i]);
            }
            if let Some(next) = self.next_phase(stage) {
                let left: Vec<f64> = stage.end.iter().map(|&t| values[t]).collect();
                let slope = jacobian.select_rows(&stage.end);
                let asked_next = weights.map(|w| &w.left[..]);
                let entered = next.enter(&left, asked_next)?;
                out.values.left.extend(entered.values.iter());
                out.left.copy_from(&(&entered.jacobian * &slope));
                if let (Some(w), Some(hessian)) = (weights, &mut out.hessian) {
                    let pulled = entered.jacobian.tr_mul(&DVector::from_column_slice(&w.left));
                    for (&t, w) in stage.end.iter().zip(pulled.iter()) {
                        asked[t] = *w;
                    }
                    if let Some(curvature) = &entered.curvature {
                        *hessian += slope.tr_mul(&(curvature * &slope));
                    }
                }
            }
            if let Some(hessian) = &mut out.hessian {
                let inner = set.terms.hessian(&inputs, &asked);
                *hessian += along.tr_mul(&(inner * &along));
                // Curvature of the quantities themselves.
                let pulled = slopes.tr_mul(&DVector::from_vec(asked));
                let mut quantity = vec![0.0; first.values.len()];
                for (reads, w) in set.terms.inputs.iter().zip(pulled.iter()) {
                    if let Reads::Quantity(q) = reads {
                        quantity[*q] += w;
                    }
                }
                if quantity.iter().any(|&w| w != 0.0) {
                    let second =
                        phase.motion.observe(stage.node, point.as_slice(), Some(&quantity))?;
                    if let Some(curvature) = &second.curvature {
                        *hessian += stage.to_motion.tr_mul(&(curvature * &stage.to_motion));
                    }
                }
            }
        }
        Ok(out)
    }
}

/// What an equality must equal.
fn target(role: &Role) -> f64 {
    match role {
        Role::Condition { lower, .. } => *lower,
        _ => 0.0,
    }
}
