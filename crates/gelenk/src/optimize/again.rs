//! Optimal motions run again by the DAE engine, which shares no equation with the optimizer's.

use gelenk_dae::{Options, Ramp, Simulation};
use gelenk_optimize::problem::{Problem, Solution};
use serde::{Deserialize, Serialize};

use super::state_of;

/// What the DAE engine made of a motion, interval by interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DaeCertificate {
    /// Largest difference of a coordinate or velocity at the end of an interval, relative to 1 + |x|.
    pub state_error: f64,
    /// The interval where it is, counted over all phases.
    pub worst_interval: usize,
    /// Relative and absolute tolerance of the engine.
    pub tolerance: f64,
}

/// Runs the motion of a problem's model again with the DAE engine: every interval from its node, inputs on the lines of its controls, to be compared with the next node.
/// None for problems without a model, and where a free number is a parameter of the model.
pub fn certify_by_dae(
    problem: &Problem,
    solution: &Solution,
    free: &[String],
    tolerance: f64,
) -> Result<Option<DaeCertificate>, String> {
    let Some(base) = problem.model() else { return Ok(None) };
    let model = &base.model;
    if model.parameters.iter().any(|p| free.contains(&p.name)) {
        return Ok(None);
    }
    let options = Options { rtol: tolerance, atol: tolerance, ..Options::default() };
    let mut worst = (0.0_f64, 0);
    let mut interval = 0;
    for (i, phase) in solution.phases.iter().enumerate() {
        // What does not act in this phase is not there.
        let model = problem.model_in(i).map_or(model, |loaded| &loaded.model);
        for (k, (from, to)) in phase.controls.iter().enumerate() {
            let times = [phase.times[k], phase.times[k + 1]];
            let start = state_of(model, times[0], &phase.states[k]);
            let wrong = |error| format!("interval {interval}: {error}");
            let mut simulation = Simulation::new(model, &start, &options).map_err(wrong)?;
            let ramp = Ramp { times, from: from.clone(), to: to.clone() };
            simulation.equations().drive(ramp);
            let end = simulation.run(times[1]).map_err(wrong)?;
            let known = state_of(model, times[1], &phase.states[k + 1]);
            let pairs = end.s.iter().zip(&known.s).chain(end.s_dot.iter().zip(&known.s_dot));
            for (a, b) in pairs.flat_map(|(a, b)| a.iter().zip(b.iter())) {
                let error = (a - b).abs() / (1.0 + b.abs());
                if !(error <= worst.0 || worst.0.is_nan()) {
                    worst = (error, interval);
                }
            }
            interval += 1;
        }
    }
    Ok(Some(DaeCertificate { state_error: worst.0, worst_interval: worst.1, tolerance }))
}
