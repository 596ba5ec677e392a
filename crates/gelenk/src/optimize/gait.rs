//! Stability of optimal motions that come back, such as gaits: how disturbances grow over a period with the controls as they are.

use gelenk_dae::sensitivity::wronski_driven;
use gelenk_dae::{Options, Ramp};
use gelenk_model::State;
use gelenk_model::math::Vec3;
use gelenk_optimize::problem::{Problem, Solution};
use nalgebra::{Complex, DMatrix};

use super::state_of;
use crate::sensitivity::{Stability, sort};

/// A motion whose end is farther from its start does not come back, m, m/s or rad/s.
const BACK: f64 = 1e-5;
/// Multipliers this near the unit circle count as on it: the nodes of a motion are as exact as its integration.
const ON_CIRCLE: f64 = 1e-3;

/// Disturbances that level ground does not feel: on, sideways, and a turn about the vertical.
const LEVEL: usize = 3;

/// A motion that comes back to its start, moved on by a distance or not.
#[derive(Clone, Debug)]
pub struct Gait {
    /// The period, s.
    pub period: f64,
    /// How far a period goes, m.
    pub moved: Vec3,
    /// How far the state at its end is from that at the start, moved on.
    pub gap: f64,
    /// Multipliers of disturbances, largest first: two for each degree of freedom.
    pub multipliers: Vec<Complex<f64>>,
    /// What they say. Where a motion goes anywhere, the three on the unit circle that level ground does not feel (on, sideways, turned) are left out.
    pub stability: Stability,
}

/// The multipliers of an optimal motion: eigenvalues of the derivative of the state after a period by that at its start, the product of those over the
/// intervals, which the dae engine finds with the controls on their lines.
///
/// `None` for problems without a model or with several phases, where a free number is a parameter of the model, and for motions that do not come back.
pub fn gait(
    problem: &Problem,
    solution: &Solution,
    free: &[String],
    tolerance: f64,
) -> Result<Option<Gait>, String> {
    let Some(base) = problem.model() else { return Ok(None) };
    let [phase] = solution.phases.as_slice() else { return Ok(None) };
    if base.model.parameters.iter().any(|p| free.contains(&p.name)) {
        return Ok(None);
    }
    let model = problem.model_in(0).map_or(&base.model, |loaded| &loaded.model);
    let (Some(first), Some(last)) = (phase.states.first(), phase.states.last()) else {
        return Ok(None);
    };
    let period = phase.times.last().copied().unwrap_or(0.0);
    let (start, end) = (state_of(model, 0.0, first), state_of(model, period, last));
    let moving = || (0..model.n_bodies()).filter(|i| !model.bodies[*i].fixed);
    let Some(one) = moving().next() else { return Ok(None) };
    let moved = end.s[one] - start.s[one];
    let gap = moving().fold(0.0, |worst: f64, i| worst.max(apart(&start, &end, i, &moved)));
    if gap.is_nan() || gap > BACK {
        return Ok(None);
    }
    let options = Options { rtol: tolerance, atol: tolerance, ..Options::default() };
    let mut product: Option<DMatrix<f64>> = None;
    let mut directions = 0;
    for (k, (from, to)) in phase.controls.iter().enumerate() {
        let times = [phase.times[k], phase.times[k + 1]];
        let node = state_of(model, times[0], &phase.states[k]);
        let ramp = Ramp { times, from: from.clone(), to: to.clone() };
        let wronski = wronski_driven(model, &node, times[1], &ramp, &options)
            .map_err(|error| format!("interval {k}: {error}"))?;
        directions = 2 * wronski.freedoms;
        let matrix = wronski.matrix();
        product = Some(match product {
            Some(before) => matrix * before,
            None => matrix,
        });
    }
    let Some(product) = product else { return Ok(None) };
    let mut multipliers: Vec<Complex<f64>> =
        product.complex_eigenvalues().iter().copied().collect();
    sort(&mut multipliers);
    // Across the conditions there are no disturbances: the rest is zero.
    multipliers.truncate(directions);
    let largest = |skip: usize| {
        let mut far: Vec<f64> = multipliers.iter().map(|m| m.norm()).collect();
        let near = |x: &f64| (x - 1.0).abs() <= ON_CIRCLE;
        for _ in 0..skip {
            if let Some(at) = far.iter().position(near) {
                far.remove(at);
            }
        }
        far.into_iter().fold(0.0, f64::max)
    };
    let free_ways = if moved.norm() > BACK { LEVEL } else { 0 };
    let stability = match largest(free_ways) {
        size if size > 1.0 + ON_CIRCLE => Stability::Unstable,
        size if size < 1.0 - ON_CIRCLE => Stability::Stable,
        _ => Stability::Neutral,
    };
    Ok(Some(Gait { period, moved, gap, multipliers, stability }))
}

/// How far a body is from where it began, moved on, in place, turn and velocities.
fn apart(start: &State, end: &State, i: usize, moved: &Vec3) -> f64 {
    let place = (end.s[i] - start.s[i] - moved).norm();
    let turn = start.rot[i].angle_to(&end.rot[i]);
    let rates = (end.s_dot[i] - start.s_dot[i]).norm().max((end.omega[i] - start.omega[i]).norm());
    place.max(turn).max(rates)
}
