//! Failures in words: time, element, value, likely cause, what to try.

use gelenk_model::{BodyId, Model, State};

use crate::error::StepError;
use crate::method::BadSetting;

/// Why a simulation cannot start or go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// What happened, with time, element, value and what to try.
    pub reason: String,
    /// The element at fault, by name, if known.
    pub element: Option<String>,
}

impl From<BadSetting> for Failure {
    fn from(bad: BadSetting) -> Self {
        Failure { reason: bad.to_string(), element: None }
    }
}

/// The failure of step number `step` from `state`, which was tried with parts down to `h`.
pub(crate) fn explain(
    model: &Model,
    state: &State,
    step: u64,
    error: &StepError,
    h: f64,
) -> Failure {
    let try_step = format!("try a step of {:.1e} s", h / 2.0);
    let (reason, element) = match *error {
        StepError::Positions { block, gap, sweeps, t } => {
            let name = &model.rows[block].name;
            let cause = cause(model, block);
            let reason = format!(
                "`{name}` cannot be closed at t = {t} s (step {step}): gap {gap:.2e} m after {sweeps} sweeps, \
                 with steps down to {h:.1e} s; {cause}"
            );
            (reason, name.clone())
        }
        StepError::Velocities { block, error, sweeps, t } => {
            let name = &model.rows[block].name;
            let cause = cause(model, block);
            let reason = format!(
                "velocities at `{name}` cannot be corrected at t = {t} s (step {step}): error {error:.2e} m/s \
                 after {sweeps} sweeps; {cause}"
            );
            (reason, name.clone())
        }
        StepError::Contact { bodies, error, sweeps, t } => {
            let [a, b] = bodies.map(|body| &model.bodies[body].name);
            let reason = format!(
                "the contact of `{a}` and `{b}` does not settle at t = {t} s (step {step}): off by {error:.2e} after {sweeps} \
                 sweeps, with steps down to {h:.1e} s; {try_step}, or a larger tolerance"
            );
            (reason, a.clone())
        }
        StepError::Forces { body, change, rounds, t } => {
            let name = &model.bodies[body].name;
            let reason = format!(
                "forces that depend on velocities do not settle at t = {t} s (step {step}): the velocity of body \
                 `{name}` still changes by {change:.2e} after {rounds} rounds; a damper or drive is too strong for \
                 the step: {try_step}"
            );
            (reason, name.clone())
        }
        StepError::Energy { defect, kinetic, t } => {
            let name = fastest_body(model, state);
            let reason = format!(
                "energy explodes at t = {t} s (step {step}): {defect:.2e} J come from nowhere beside {kinetic:.2e} J \
                 of kinetic energy, most of it in body `{name}`, with steps down to {h:.1e} s; a spring is too stiff \
                 for the step, a joint is jammed or the position is singular: {try_step}"
            );
            (reason, name)
        }
        StepError::Kick { kick, t } => {
            let name = fastest_body(model, state);
            let reason = format!(
                "joints take {kick:.2e} J out of a step at t = {t} s (step {step}) with steps down to {h:.1e} s: {try_step}"
            );
            (reason, name)
        }
        StepError::Turned { through, t } => {
            let name = fastest_body(model, state);
            let reason = format!(
                "contacts turn the motion of `{name}` too far in a step at t = {t} s (step {step}), with {through:.2e} J, with steps down to {h:.1e} s: \
                 {try_step}"
            );
            (reason, name)
        }
        StepError::Dampers { thrown, t } => {
            let name = fastest_body(model, state);
            let reason = format!(
                "dampers throw {thrown:.2e} J back at t = {t} s (step {step}) with steps down to {h:.1e} s: one would stop its bodies, of which \
                 `{name}` is the fastest, in a fraction of that; a joint or a prescribed motion says the same without a step: {try_step}"
            );
            (reason, name)
        }
        StepError::Jump { block, size, t } => {
            let name = &model.rows[block].name;
            let reason = format!(
                "the motion that `{name}` prescribes jumps by {size:.3e} (rad or m) at t = {t} s (step {step}), which no force can do; \
                 make it go there over some time"
            );
            (reason, name.clone())
        }
        StepError::NoMotion { ref why, .. } => {
            let reason = format!("{error} (step {step})");
            (reason, why.element.clone())
        }
        StepError::Friction { t } => {
            let name = fastest_body(model, state);
            let reason = format!(
                "dry friction does not settle at t = {t} s (step {step}) with steps down to {h:.1e} s: {try_step}"
            );
            (reason, name)
        }
        StepError::BadForce { force, t } => {
            let name = model.forces[force].name.clone();
            let reason = format!(
                "the force `{name}` is not a finite number at t = {t} s; look at its expressions there: \
                 it may take a root of a negative number or divide by zero"
            );
            (reason, name)
        }
        StepError::Spin { body, turn, most, t } => {
            let name = &model.bodies[body].name;
            let reason = format!(
                "body `{name}` turns by {:.1e} revolutions in one step at t = {t} s (step {step}): the turn of a body with three different \
                 moments of inertia is followed over {:.0} revolutions a step; take a step of {:.1e} s or less, or give it two equal moments, \
                 whose turn has a closed form",
                turn / std::f64::consts::TAU,
                most / std::f64::consts::TAU,
                0.5 * h * most / turn // tumbling, it may become faster
            );
            (reason, name.clone())
        }
        StepError::Work { tries, t } => {
            let name = fastest_body(model, state);
            let reason = format!(
                "one step takes more than {tries} tries (step {step}, got to t = {t} s): bodies that touch or joints find no end, the fastest \
                 body is `{name}`; {try_step} or a larger tolerance, or `contact = \"coarse\"`, which does not look for every impact"
            );
            (reason, name)
        }
        StepError::Stopped { t } => {
            let reason = format!("stopped within step {step}, at t = {t} s");
            return Failure { reason, element: None };
        }
        StepError::NotFinite { body, t } => {
            let name = &model.bodies[body].name;
            let reason = format!(
                "body `{name}` has no finite position or velocity at t = {t} s (step {step}); a force is not finite \
                 there or the step is too long: {try_step}"
            );
            (reason, name.clone())
        }
    };
    Failure { reason, element: Some(element) }
}

/// The body with the largest share of the kinetic energy.
fn fastest_body(model: &Model, state: &State) -> String {
    let shares =
        (0_u32..).zip(&model.bodies).map(|(i, body)| (body, body.kinetic_energy(state, BodyId(i))));
    let fastest = shares.max_by(|a, b| a.1.total_cmp(&b.1));
    fastest.map_or_else(String::new, |(body, _)| body.name.clone())
}

/// Why a block may resist all impulses.
fn cause(model: &Model, block: usize) -> &'static str {
    let bodies = &model.rows[block].bodies;
    if bodies.iter().all(|b| model.bodies[b.index()].fixed) {
        return "all its bodies are fixed in space";
    }
    let thin = |b: &BodyId| {
        let body = &model.bodies[b.index()];
        !body.fixed && body.inertia_inv.iter().any(|j| *j == 0.0)
    };
    if bodies.iter().any(thin) {
        return "a body of it has no inertia about some axis, so that no impulse turns it about that axis: give it a \
                thickness; or other joints contradict it, or the position is singular";
    }
    "other joints contradict it, or the position is singular: `check` tells which; a larger tolerance or a shorter step \
     may help"
}
