//! Restitution after the compression of an impact, by the law of impact: Poisson's, Newton's or Stronge's.

use gelenk_model::impact::MOST_ROUNDS;
use gelenk_model::{ImpactLaw, State};

use crate::error::StepError;
use crate::parts::Parts;
use crate::rows::At;
use crate::scratch::Scratch;

impl Parts<'_> {
    /// Gives back what `stops.bounces` say: impulses along the normals, joints closed and friction in its cone. `before` and `compressed` are the
    /// kinetic energies before and after compression, J: where the law asks for more than the first, a part is given back that keeps it.
    pub(super) fn give_back(
        &self,
        state: &mut State,
        scratch: &mut Scratch,
        before: f64,
        compressed: f64,
    ) -> Result<(), StepError> {
        let (law, solver) = (self.method.impact, self.method.solver.solver());
        let rounds = if law == ImpactLaw::Poisson { 1 } else { MOST_ROUNDS };
        for (_, bounce, p) in &mut scratch.stops.bounces {
            *p = law.first(bounce);
        }
        for round in 0..rounds {
            let Scratch { rows, bodies, stops, .. } = &mut *scratch;
            if round > 0 {
                bodies.twists.copy_from_slice(&stops.compressed);
                bodies.forget_flights();
                rows.velocity_impulse.copy_from_slice(&stops.compressing);
            }
            for (block, _, p) in &stops.bounces {
                rows.apply(*block, &[-p], bodies);
                rows.velocity_impulse[rows.blocks[*block].first_row] -= p;
            }
            rows.set_instant_bounds(|_| false);
            rows.free_friction();
            solver
                .correct_velocities(self.model, self.method, &At::of(state), scratch)
                .map_err(|error| scratch.rows.name_contact(error))?;
            let Scratch { rows, bodies, stops, .. } = &mut *scratch;
            let mut met = true;
            for (block, bounce, p) in &mut stops.bounces {
                if let Some(next) = law.next(bounce, *p, -rows.rate(*block, bodies)) {
                    (*p, met) = (next, false);
                }
            }
            if met {
                break;
            }
        }
        scratch.bodies.write_velocities(state);
        let energy = self.model.kinetic_energy(state);
        if energy > before {
            let part = scratch.part_of_energy(before, compressed, energy);
            scratch.give_back_only(part);
            scratch.bodies.write_velocities(state);
        }
        Ok(())
    }
}
