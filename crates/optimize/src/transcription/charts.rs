//! Nodes in charts: their full states, and charts that move along.

use nalgebra::{DMatrix, DVector};

use super::Transcription;
use crate::motion::{Fault, Motion};
use crate::program::Places;

impl<M: Motion> Transcription<M> {
    /// The first node of a phase that a link leads to: of the first phase, the one after its start.
    fn first_linked(&self, phase: usize) -> usize {
        usize::from(phase == 0)
    }

    /// See [`Program::places`](crate::program::Program::places).
    pub(super) fn full_places(&self, x: &[f64], links: &[f64]) -> Option<Places> {
        let mut places = Places::default();
        for (i, phase) in self.phases.iter().enumerate() {
            let (mut states, mut covectors) = (Vec::new(), Vec::new());
            for node in 0..=phase.motion.intervals() {
                let point = self.motion_point(x, i, node);
                let observed = phase.motion.observe(node, point.as_slice(), None).ok()?;
                states.push(observed.values.as_slice()[..phase.full_states].to_vec());
                let k = self.stage_of(i, node);
                let n = self.stages[k].states;
                if k > 0 && phase.motion.charted() {
                    // Q (QᵀQ)⁻¹ λ: the least covector whose pull to the chart is λ.
                    let q = observed.jacobian.view((0, 0), (phase.full_states, n)).into_owned();
                    let at = self.shape.link_at(k - 1);
                    let lambda = DVector::from_column_slice(&links[at..at + n]);
                    let solved = q.tr_mul(&q).cholesky()?.solve(&lambda);
                    covectors.push((q * solved).as_slice().to_vec());
                }
            }
            places.states.push(states);
            places.covectors.push(covectors);
        }
        Some(places)
    }

    /// See [`Program::recenter`](crate::program::Program::recenter).
    pub(super) fn move_charts(&mut self, x: &mut [f64], links: &mut [f64]) -> Result<bool, Fault> {
        let mut changed = false;
        for i in 0..self.phases.len() {
            let n = self.phases[i].motion.intervals();
            let first = self.stage_of(i, 0);
            let nodes: Vec<DVector<f64>> = (0..=n)
                .map(|node| {
                    let at = self.shape.variable_at(first + node);
                    DVector::from_column_slice(&x[at..at + self.stages[first + node].states])
                })
                .collect();
            let look = |s: &Self, x: &[f64]| -> Result<Vec<DMatrix<f64>>, Fault> {
                (0..=n)
                    .map(|node| {
                        let point = s.motion_point(x, i, node);
                        let observed = s.phases[i].motion.observe(node, point.as_slice(), None)?;
                        Ok(observed.jacobian.columns(0, nodes[node].len()).into_owned())
                    })
                    .collect()
            };
            let before = look(self, x)?;
            let moved = self.phases[i].motion.recenter(&nodes)?;
            if moved == nodes {
                continue;
            }
            changed = true;
            for node in 0..=n {
                let at = self.shape.variable_at(first + node);
                x[at..at + moved[node].len()].copy_from_slice(moved[node].as_slice());
            }
            let after = look(self, x)?;
            // λ belongs to the numbers of the chart it arrives in: λ_new = (∂ξ_old/∂ξ_new)ᵀ λ_old, from ∂quantities/∂ξ of both.
            for node in self.first_linked(i)..=n {
                let (old, new) = (&before[node], &after[node]);
                let normal = old.tr_mul(old);
                let Some(factor) = normal.cholesky() else { continue };
                let change = factor.solve(&old.tr_mul(new));
                let at = self.shape.link_at(first + node - 1);
                let m = nodes[node].len();
                let lambda = DVector::from_column_slice(&links[at..at + m]);
                links[at..at + m].copy_from_slice(change.tr_mul(&lambda).as_slice());
            }
        }
        Ok(changed)
    }

    /// Multipliers of links from covectors of full states; see [`Program::places`](crate::program::Program::places).
    pub fn pull_links(
        &self,
        x: &[f64],
        covectors: &[Vec<Vec<f64>>],
        links: &mut [f64],
    ) -> Result<(), Fault> {
        for (i, phase) in self.phases.iter().enumerate() {
            for (before, covector) in
                covectors.get(i).map_or(&[][..], |c| &c[..]).iter().enumerate()
            {
                let node = before + self.first_linked(i);
                let point = self.motion_point(x, i, node);
                let observed = phase.motion.observe(node, point.as_slice(), None)?;
                let k = self.stage_of(i, node);
                let n = self.stages[k].states;
                let q = observed.jacobian.view((0, 0), (phase.full_states, n)).into_owned();
                let lambda = q.tr_mul(&DVector::from_column_slice(covector));
                let at = self.shape.link_at(k - 1);
                links[at..at + n].copy_from_slice(lambda.as_slice());
            }
        }
        Ok(())
    }
}
