//! The line search: how far a step goes, by the filter, with corrections of second order.

use super::core::{Core, Primal, Valued};
use super::newton::{Newton, Step};
use super::solve::Solver;
use crate::motion::Fault;

impl Solver<'_> {
    pub(super) fn longest(&self, core: &Core, step: &Primal, tau: f64) -> f64 {
        let mut longest = core.x.longest(&self.limits.x, &step.x, tau).min(core.s.longest(
            &self.limits.s,
            &step.s,
            tau,
        ));
        if let Some(e) = &core.elastic {
            longest = longest
                .min(e.up.longest(&self.limits.elastic, &step.up, tau))
                .min(e.down.longest(&self.limits.elastic, &step.down, tau));
        }
        longest
    }

    /// ∇φ · step.
    pub(super) fn descent(&self, core: &Core, slope: &[f64], step: &Primal) -> f64 {
        let mu = core.mu;
        let mut sum = 0.0;
        for i in 0..step.x.len() {
            sum += (slope[i] + core.x.slope(&self.limits.x, i, mu)) * step.x[i];
        }
        for i in 0..step.s.len() {
            sum += core.s.slope(&self.limits.s, i, mu) * step.s[i];
        }
        if let Some(e) = &core.elastic {
            for i in 0..step.up.len() {
                let rho = e.weight[i];
                sum += (rho + e.up.slope(&self.limits.elastic, i, mu)) * step.up[i];
                sum += (rho + e.down.slope(&self.limits.elastic, i, mu)) * step.down[i];
            }
        }
        sum
    }

    /// Backtracking with the filter; corrected steps of second order at the first trial. Gives the new point and the length.
    pub(super) fn search(
        &self,
        core: &mut Core,
        newton: &Newton<'_>,
        slope: &[f64],
        full: &Step,
        valued: &Valued,
        longest: f64,
        descent: f64,
    ) -> Result<Option<(Primal, f64)>, Fault> {
        let program = &*self.program;
        let here = core.primal();
        let (theta, phi) = (valued.theta, valued.phi);
        let theta_min = 1e-4 * core.theta_start.max(1.0);
        let switches =
            |alpha: f64| descent < 0.0 && alpha * libm::pow(-descent, 2.3) > libm::pow(theta, 1.1);
        let round = 10.0 * f64::EPSILON * phi.abs().max(1.0);
        let judge = |core: &Core, trial: &Valued, alpha: f64| {
            verdict(
                core,
                trial,
                theta,
                phi,
                (theta <= theta_min && switches(alpha)).then_some(alpha * descent),
                round,
            )
        };
        // A step that moves nothing is taken as it is.
        let relative = full
            .primal
            .x
            .iter()
            .zip(&here.x)
            .fold(0.0_f64, |m, (d, x)| m.max(d.abs() / (1.0 + x.abs())));
        if relative < 10.0 * f64::EPSILON && core.short_steps < 3 {
            core.short_steps += 1;
            return Ok(Some((here.moved(&full.primal, longest), longest)));
        }
        let alpha_min = {
            let mut least = 1e-5_f64;
            if descent < 0.0 {
                least = least.min(1e-8 * theta / -descent);
                if theta <= theta_min {
                    least = least.min(libm::pow(theta, 1.1) / libm::pow(-descent, 2.3));
                }
            }
            (0.05 * least).max(1e-12)
        };
        let mut alpha = longest;
        let mut first = true;
        while alpha >= alpha_min {
            let at = here.moved(&full.primal, alpha);
            let trial = core.value_at(program, &self.limits, &at);
            if let Ok(trial) = &trial {
                let verdict = judge(core, trial, alpha);
                if verdict != Verdict::No {
                    if verdict == Verdict::Filter {
                        core.shut(theta, phi);
                    }
                    return Ok(Some((at, alpha)));
                }
                if first && trial.theta >= theta {
                    // Second-order correction: rows of the trial point added to those of this one.
                    let mut rows: Vec<f64> =
                        valued.rows.iter().zip(&trial.rows).map(|(c, t)| alpha * c + t).collect();
                    let mut last = theta;
                    for _ in 0..4 {
                        let corrected = newton.step(core, slope, &rows);
                        let tau = (1.0 - core.mu).max(0.99);
                        let length = self.longest(core, &corrected.primal, tau);
                        let at = here.moved(&corrected.primal, length);
                        let Ok(trial) = core.value_at(program, &self.limits, &at) else { break };
                        let verdict = judge(core, &trial, alpha);
                        if verdict != Verdict::No {
                            if verdict == Verdict::Filter {
                                core.shut(theta, phi);
                            }
                            return Ok(Some((at, length)));
                        }
                        if trial.theta > 0.99 * last {
                            break;
                        }
                        last = trial.theta;
                        for (r, t) in rows.iter_mut().zip(&trial.rows) {
                            *r = length * *r + t;
                        }
                    }
                }
            }
            first = false;
            alpha *= 0.5;
        }
        Ok(None)
    }

    /// Takes the step: primal as accepted, multipliers by their own length.
    pub(super) fn accept(
        &self,
        core: &mut Core,
        accepted: Primal,
        full: &Step,
        alpha: f64,
        tau: f64,
    ) {
        let mu = core.mu;
        let (limits, primal) = (&self.limits, &full.primal);
        let dual_x = core.x.dual_step(&limits.x, &primal.x, mu);
        let dual_s = core.s.dual_step(&limits.s, &primal.s, mu);
        let mut length = core.x.longest_dual(&dual_x, tau).min(core.s.longest_dual(&dual_s, tau));
        let mut duals = None;
        if let Some(e) = &core.elastic {
            let up = e.up.dual_step(&limits.elastic, &primal.up, mu);
            let down = e.down.dual_step(&limits.elastic, &primal.down, mu);
            length = length.min(e.up.longest_dual(&up, tau)).min(e.down.longest_dual(&down, tau));
            duals = Some((up, down));
        }
        core.x.advance(&limits.x, accepted.x, &dual_x, length, mu);
        core.s.advance(&limits.s, accepted.s, &dual_s, length, mu);
        if let (Some(e), Some((up, down))) = (&mut core.elastic, duals) {
            e.up.advance(&limits.elastic, accepted.up, &up, length, mu);
            e.down.advance(&limits.elastic, accepted.down, &down, length, mu);
        }
        for (y, new) in core.y.iter_mut().zip(&full.y).chain(core.v.iter_mut().zip(&full.v)) {
            *y += alpha * (new - *y);
        }
    }
}

/// What the filter says of a trial point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    No,
    /// The barrier function falls enough.
    Descent,
    /// Better than the present point in one of both; the filter grows.
    Filter,
}

/// Judges a trial point; `descent` is the expected change where the barrier function alone decides.
fn verdict(
    core: &Core,
    trial: &Valued,
    theta: f64,
    phi: f64,
    descent: Option<f64>,
    round: f64,
) -> Verdict {
    if !trial.theta.is_finite() || !trial.phi.is_finite() || !core.admits(trial.theta, trial.phi) {
        return Verdict::No;
    }
    if let Some(descent) = descent {
        let falls = trial.phi <= phi + 1e-8 * descent + round;
        return if falls { Verdict::Descent } else { Verdict::No };
    }
    let better =
        trial.theta <= (1.0 - 1e-5) * theta || trial.phi <= phi - 1e-8 * theta + round.min(theta);
    if better { Verdict::Filter } else { Verdict::No }
}
