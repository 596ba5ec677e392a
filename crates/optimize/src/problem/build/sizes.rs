//! Bounds and sizes of variables.

use super::{Instance, StateFacts, size_of};
use crate::motion::Motion;
use crate::program::Program;

impl Instance {
    pub(super) fn set_bounds(
        &mut self,
        facts: &[StateFacts],
        free: &[(f64, f64)],
        plain: bool,
        fixed_start: bool,
    ) {
        let program = &mut self.program;
        let n_phases = program.phases.len();
        for i in 0..n_phases {
            let n = program.phases[i].motion.intervals();
            let m = program.phases[i].controls;
            for node in 0..=n {
                let at = program.state_at(i, node);
                let states = program.phases[i].motion.sizes(node).states;
                for j in 0..states {
                    let first = i == 0 && node == 0;
                    let (mut l, mut u) = (f64::NEG_INFINITY, f64::INFINITY);
                    if plain {
                        (l, u) = facts[j].limits;
                        // A value that is demanded anyway needs no bounds; beside an equality they would leave no inside.
                        let last = i + 1 == n_phases && node == n;
                        if last && facts[j].end.is_some_and(|end| (l..=u).contains(&end)) {
                            (l, u) = (f64::NEG_INFINITY, f64::INFINITY);
                        }
                        if first && let Some(value) = facts[j].start {
                            (l, u) = (value, value);
                        }
                    } else if first && fixed_start {
                        (l, u) = (0.0, 0.0);
                    }
                    program.lower[at + j] = l;
                    program.upper[at + j] = u;
                }
                let (carried, fresh, at) = program.controls_at(i, node);
                for j in 0..carried + fresh {
                    let (l, u) = self.control_bounds[j % m.max(1)];
                    program.lower[at + j] = l;
                    program.upper[at + j] = u;
                }
            }
        }
        let at = program.shape().global_at();
        for (j, (l, u)) in free.iter().enumerate() {
            program.lower[at + j] = *l;
            program.upper[at + j] = *u;
        }
    }

    pub(super) fn set_nominal(
        &mut self,
        facts: &[StateFacts],
        free: &[Option<f64>],
        controls: &[Option<f64>],
        plain: bool,
    ) {
        let program = &self.program;
        for i in 0..program.phases.len() {
            let m = program.phases[i].controls;
            for node in 0..=program.phases[i].motion.intervals() {
                let at = program.state_at(i, node);
                let states = program.phases[i].motion.sizes(node).states;
                for j in 0..states {
                    // Of a model: metres, and velocities of a fast motion.
                    self.nominal[at + j] = if plain {
                        facts[j].scale.or(size_of(facts[j].limits))
                    } else {
                        Some(if 2 * j < states { 1.0 } else { 10.0 })
                    };
                }
                let (carried, fresh, at) = program.controls_at(i, node);
                for j in 0..carried + fresh {
                    self.nominal[at + j] = controls[j % m.max(1)];
                }
            }
        }
        let at = program.shape().global_at();
        for (j, scale) in free.iter().enumerate() {
            self.nominal[at + j] = *scale;
        }
    }

    /// Sizes of states by the largest value of the guess, where nothing else tells them.
    pub(super) fn size_by_guess(&mut self, plain: bool) {
        if !plain {
            return;
        }
        let program = &self.program;
        let n_states = self.states.first().map_or(0, Vec::len);
        for j in 0..n_states {
            let places: Vec<usize> = (0..program.phases.len())
                .flat_map(|i| (0..=program.phases[i].motion.intervals()).map(move |node| (i, node)))
                .map(|(i, node)| program.state_at(i, node) + j)
                .collect();
            let most = places.iter().fold(0.0_f64, |m, &p| m.max(self.x[p].abs()));
            for p in places {
                if self.nominal[p].is_none() && most > 0.0 {
                    self.nominal[p] = Some(most);
                }
            }
        }
    }
}
