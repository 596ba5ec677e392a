//! Bounds and sizes of variables.

use gelenk_model::Model;
use gelenk_model::spec::tables::RangeSpec;

use super::{Instance, StateFacts, bounds, size_of};
use crate::motion::Motion;
use crate::problem::Problem;
use crate::problem::scope::Scope;
use crate::program::Program;

/// How large the numbers of a model's charts are: √m times metres and metres a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelSize {
    position: f64,
    velocity: f64,
}

/// A motion comes to about this part of its bounds.
const PART: f64 = 0.2;

/// Sizes of a model's motion: a part of the bounds where the file gives them; else as far as the points are apart at the start, and twice that way in
/// the time.
pub(super) fn model_size(
    scope: &mut Scope<'_>,
    problem: &Problem,
    model: &Model,
    start: &[f64],
    duration: f64,
) -> ModelSize {
    let spec = problem.spec.bounds.as_ref();
    let mut bound = |range: Option<&RangeSpec>| {
        let range = range?;
        size_of(bounds(scope, range.lower.as_ref(), range.upper.as_ref())).map(|size| PART * size)
    };
    let given = bound(spec.and_then(|b| b.position.as_ref()));
    let fast = bound(spec.and_then(|b| b.velocity.as_ref()));
    let places = &start[..start.len() / 2];
    let mut spread = 0.0_f64;
    for axis in 0..3 {
        let along = || places.iter().skip(axis).step_by(3).copied();
        let (low, high) = (along().fold(f64::MAX, f64::min), along().fold(f64::MIN, f64::max));
        spread = spread.max(0.5 * (high - low));
    }
    if spread == 0.0 {
        // One point alone: as far as it is from the origin.
        spread = places.iter().fold(0.0, |most: f64, p| most.max(p.abs()));
    }
    let length = given.unwrap_or(if spread > 0.0 { spread } else { 1.0 });
    let speed = fast.unwrap_or(2.0 * length / duration);
    let masses: Vec<f64> = model.bodies.iter().filter(|b| !b.fixed).map(|b| b.mass).collect();
    let root = (masses.iter().sum::<f64>() / masses.len().max(1) as f64).sqrt();
    ModelSize { position: root * length, velocity: root * speed }
}

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
                    let (l, u) = self.control_bounds[i][j % m.max(1)];
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
        controls: &[Vec<Option<f64>>],
        model: Option<ModelSize>,
    ) {
        let program = &self.program;
        for i in 0..program.phases.len() {
            let m = program.phases[i].controls;
            for node in 0..=program.phases[i].motion.intervals() {
                let at = program.state_at(i, node);
                let states = program.phases[i].motion.sizes(node).states;
                for j in 0..states {
                    self.nominal[at + j] = match model {
                        Some(model) if 2 * j < states => Some(model.position),
                        Some(model) => Some(model.velocity),
                        None => facts[j].scale.or(size_of(facts[j].limits)),
                    };
                }
                let (carried, fresh, at) = program.controls_at(i, node);
                for j in 0..carried + fresh {
                    self.nominal[at + j] = controls[i][j % m.max(1)];
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
