//! Force elements as half impulses at both ends of a step, and their entries in the ledger.

use gelenk_model::Model;
use gelenk_model::force::ForceContext;
use gelenk_model::math::Vec3;
use gelenk_model::rows::Instant;
use gelenk_model::signal::Work;
use gelenk_model::state::{State, Twist, Wrench};

use crate::drives::line_of;
use crate::error::StepError;
use crate::scratch::{Bodies, Loads, same};
use crate::step::StepReport;

/// f(q, v, t) of all force elements, by ledger line; an error names the first force that is not a finite number.
pub(crate) fn evaluate_loads(
    model: &Model,
    bodies: &Bodies,
    state: &State,
    loads: &mut Loads,
    work: &mut Work,
) -> Result<(), StepError> {
    if model.forces.is_empty() {
        return Ok(());
    }
    let (t, coordinates) = (state.t, &state.coordinate);
    if loads.known
        && loads.drives.ready
        && loads.signals_at == Some(t)
        && same(&loads.twists, &bodies.twists, |a, b| {
            let (s, w, o, v) = (&a.s_dot, &a.omega, &b.s_dot, &b.omega);
            [(s.x, o.x), (s.y, o.y), (s.z, o.z), (w.x, v.x), (w.y, v.y), (w.z, v.z)]
        })
        && loads.held == work.held
        && loads.active == state.active
    {
        return Ok(());
    }
    let at = Instant { t, poses: &bodies.poses, twists: &bodies.twists, coordinates };
    evaluate_signals(model, &at, loads, work);
    loads.drives.look(model, &at);
    loads.known = false;
    loads.twists.copy_from_slice(&bodies.twists);
    loads.active.clone_from(&state.active);
    if loads.drives.are_torques() && loads.drives.read_torques(model, &loads.signals, &state.active)
    {
        loads.known = true;
        return Ok(());
    }
    let mut lines = [&mut loads.potential[..], &mut loads.work[..], &mut loads.dissipation[..]];
    let context = ForceContext { model, at, signals: &loads.signals };
    for (wrench, _) in lines.iter_mut().zip(loads.lines).filter(|(_, used)| *used) {
        wrench.fill(Wrench::zero());
    }
    for (i, force) in model.forces.iter().enumerate() {
        if !force.kind.is_active(&state.active) {
            continue;
        }
        let law = force.kind.law();
        let line = line_of(law.account());
        let wrench = &mut *lines[line];
        if !loads.drives.add_wrench(i, line, model, &loads.signals, wrench) {
            law.add_wrench(&context, wrench);
        }
    }
    let all = [&loads.potential, &loads.work, &loads.dissipation];
    let used = all.into_iter().zip(loads.lines).filter(|(_, used)| *used);
    if used.flat_map(|(wrenches, _)| wrenches).all(is_finite) {
        loads.known = true;
        return Ok(());
    }
    // One after the other, to find the one at fault.
    let mut alone = vec![Wrench::zero(); bodies.twists.len()];
    let culprit = model.forces.iter().position(|force| {
        alone.fill(Wrench::zero());
        force.kind.law().add_wrench(&context, &mut alone);
        !alone.iter().all(is_finite)
    });
    Err(StepError::BadForce { force: culprit.unwrap_or(0), t })
}

/// The model's signals at an instant, unless they are there.
pub(crate) fn evaluate_signals(
    model: &Model,
    at: &Instant<'_>,
    loads: &mut Loads,
    work: &mut Work,
) {
    let same = loads.timed && loads.signals_at == Some(at.t) && loads.held == work.held;
    if !same {
        model.signals.evaluate(model, at, work, &mut loads.signals);
        loads.signals_at = Some(at.t);
        loads.held.clone_from(&work.held);
    }
}

fn is_finite(wrench: &Wrench) -> bool {
    let sum = wrench.force + wrench.torque;
    (sum.x + sum.y + sum.z).is_finite()
}

/// v += dt M⁻¹ f.
pub(crate) fn kick(bodies: &mut Bodies, loads: &Loads, dt: f64) {
    bodies.couples.fill(Vec3::zeros());
    if loads.drives.are_torques() {
        for own in &loads.drives.axes {
            let torque = own.axis_of_hinge() * (own.torque(true) * dt);
            let [a, b] = own.bodies;
            for (body, torque) in [(a, -torque), (b, torque)] {
                if !bodies.fixed[body] {
                    bodies.twists[body].omega += bodies.inertia_inv_world[body] * torque;
                    bodies.add_couple(body, &torque);
                    bodies.touch(body);
                }
            }
        }
        return;
    }
    for i in 0..bodies.twists.len() {
        if bodies.fixed[i] {
            continue;
        }
        let force = loads.potential[i].force + loads.work[i].force + loads.dissipation[i].force;
        let torque = loads.potential[i].torque + loads.work[i].torque + loads.dissipation[i].torque;
        let twist = &mut bodies.twists[i];
        twist.s_dot += force * (dt * bodies.mass_inv[i]);
        twist.omega += bodies.inertia_inv_world[i] * torque * dt;
        bodies.add_couple(i, &(torque * dt));
        bodies.touch(i);
    }
}

/// The kinetic energy that the force elements give bodies at rest in `dt` seconds: Σ ½ dt² (f²/m + τ·I⁻¹ τ), J.
pub(crate) fn energy_from_rest(bodies: &Bodies, loads: &Loads, dampers: bool, dt: f64) -> f64 {
    let mut sum = 0.0;
    if loads.drives.are_torques() {
        for (i, own) in loads.drives.of_body.iter().enumerate().filter(|(i, _)| !bodies.fixed[*i]) {
            let torque: Vec3 = own
                .iter()
                .map(|&(axis, sign)| {
                    let axis = &loads.drives.axes[axis];
                    axis.axis_of_hinge() * (sign * axis.torque(dampers))
                })
                .sum();
            sum += torque.dot(&(bodies.inertia_inv_world[i] * torque));
        }
        return 0.5 * dt * dt * sum;
    }
    for i in (0..loads.potential.len()).filter(|&i| !bodies.fixed[i]) {
        let mut force = loads.potential[i].force + loads.work[i].force;
        let mut torque = loads.potential[i].torque + loads.work[i].torque;
        if dampers {
            force += loads.dissipation[i].force;
            torque += loads.dissipation[i].torque;
        }
        sum += force.norm_squared() * bodies.mass_inv[i];
        sum += torque.dot(&(bodies.inertia_inv_world[i] * torque));
    }
    0.5 * dt * dt * sum
}

/// Books what the kick did to the kinetic energy: an impulse p that acts, with others, while the velocity goes from
/// v⁻ (`twists_before`) to v⁺ (`twists`) changes it by p · ½ (v⁻ + v⁺), exactly. Returns what went into bodies and out of them, J.
pub(crate) fn book(bodies: &Bodies, loads: &Loads, dt: f64, report: &mut StepReport) -> f64 {
    let mut size = 0.0;
    if !loads.booked {
        return size;
    }
    // On bodies with mass about all axes a torque at a joint gives what it gives along the joint's coordinate.
    if let (true, Some((given, size))) =
        (bodies.all_turn, loads.drives.given(&bodies.twists_before, &bodies.twists, dt))
    {
        report.work += given[0];
        report.dissipation -= given[1];
        return size;
    }
    for i in (0..bodies.twists.len()).filter(|&i| !bodies.fixed[i]) {
        let mean = mean_twist(bodies, i);
        let [_, works, dissipates] = loads.lines;
        let work = if works { dt * power(&loads.work[i], &mean, bodies, i) } else { 0.0 };
        let given =
            if dissipates { dt * power(&loads.dissipation[i], &mean, bodies, i) } else { 0.0 };
        report.work += work;
        report.dissipation -= given;
        size += work.abs() + given.abs();
    }
    size
}

fn mean_twist(bodies: &Bodies, i: usize) -> Twist {
    let (before, after) = (&bodies.twists_before[i], &bodies.twists[i]);
    Twist { s_dot: 0.5 * (before.s_dot + after.s_dot), omega: 0.5 * (before.omega + after.omega) }
}

/// The part of F·ṡ + τ·ω that reaches the kinetic energy: none on fixed bodies and about axes without inertia.
fn power(load: &Wrench, twist: &Twist, bodies: &Bodies, i: usize) -> f64 {
    if bodies.fixed[i] {
        return 0.0;
    }
    if bodies.inertia_inv[i].min() > 0.0 {
        return load.force.dot(&twist.s_dot) + load.torque.dot(&twist.omega);
    }
    let rot = &bodies.poses[i].rot;
    let (torque, omega) = (rot.tr_mul(&load.torque), rot.tr_mul(&twist.omega));
    let mut sum = load.force.dot(&twist.s_dot);
    for k in 0..3 {
        if bodies.inertia_inv[i][k] != 0.0 {
            sum += torque[k] * omega[k];
        }
    }
    sum
}
