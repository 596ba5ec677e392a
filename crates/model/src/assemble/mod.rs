//! Assembly: rough positions and velocities made consistent.
//!
//! A model file seldom places its bodies so that every joint closes to twelve digits. [`assemble`] moves them as little
//! as possible, in the metric of their masses, until all joints close, then changes the velocities as little as possible
//! until they agree with the joints. It says what moved and how far, and when joints cannot close, whether the mechanism
//! is too short or contradicts itself. It never reports success with an error above its tolerance.

mod closure;
mod diagnosis;
mod nearby;
mod nearest;
mod report;
mod velocity;

pub use report::{
    AssembleOptions, AssembleReport, CoordinateChange, Failure, FailureKind, Inconsistency, Moved,
    Outcome, Pushed, Residual,
};

pub(crate) use closure::Closing;
#[cfg(test)]
pub(crate) use nearby::Spread;
pub(crate) use nearby::{free_motion, nearby};

use crate::body::BodyId;
use crate::graph::{Component, Graph};
use crate::joint::JointId;
use crate::linear::{Metric, Part, Posture};
use crate::math::Vec3;
use crate::model::Model;
use crate::state::State;

/// Position and velocity error of every row block at the start, in their order.
pub fn initial_inconsistency(model: &Model) -> Vec<Inconsistency> {
    inconsistency(&mut Posture::new(model, model.start.clone()))
}

fn inconsistency(posture: &mut Posture<'_>) -> Vec<Inconsistency> {
    let largest = |values: Vec<f64>| {
        values.into_iter().fold(0.0, |m: f64, c| if c.is_nan() { c } else { m.max(c.abs()) })
    };
    let rows = &posture.model.rows;
    let errors = rows.iter().enumerate().map(|(k, block)| Inconsistency {
        element: block.name.clone(),
        position_error: largest(posture.error(k)),
        velocity_error: largest(posture.rate(k)),
    });
    errors.collect()
}

/// Makes the model's start consistent; see [`assemble_from`].
pub fn assemble(model: &Model, options: &AssembleOptions) -> AssembleReport {
    assemble_from(model, &model.start, options)
}

/// Makes `state` consistent: positions first, then velocities.
///
/// Each connected part is closed by itself: damped Gauss-Newton steps of least movement Σ m |Δs|² + Δφ·J Δφ, then
/// sliding along the closed postures towards the start. A part whose joints are within tolerance is left as it is, bit
/// for bit. Bodies without moment about an axis (thin rods) may turn about it; point masses do not turn.
pub fn assemble_from(model: &Model, state: &State, options: &AssembleOptions) -> AssembleReport {
    let graph = Graph::new(model);
    let mut posture = Posture::new(model, state.clone());
    let before = inconsistency(&mut posture);
    let mut report = AssembleReport {
        state: state.clone(),
        outcome: Outcome::Closed,
        moved: Vec::new(),
        pushed: Vec::new(),
        coordinates: Vec::new(),
        residuals: Vec::new(),
        iterations: 0,
        notes: Vec::new(),
    };
    let mut failures = Vec::new();
    let velocity_tolerance = options.velocity_tolerance.unwrap_or(model.run.velocity_tolerance);
    for component in &graph.components {
        let closing = closing(model, component, options);
        if let Err(failure) = close_part(&closing, &mut posture, &mut report) {
            failures.push(failure);
        } else if !velocity::project(&closing, &mut posture, velocity_tolerance) {
            let rates = closing.part.rates(&mut posture);
            let (element, residual) = diagnosis::worst(&closing, &posture, &rates);
            let kind = FailureKind::VelocityContradicting;
            failures.push(Failure { element, residual, kind });
        }
    }
    posture.follow_coordinates((0_u32..).zip(&model.joints).map(|(i, _)| JointId(i)));
    let after = inconsistency(&mut posture);
    for &block in &graph.idle_blocks {
        failures.extend(idle_failure(model, options, block, &after[block]));
    }
    failures.sort_by(|a, b| b.residual.total_cmp(&a.residual));
    if !failures.is_empty() {
        report.outcome = Outcome::Failed(failures);
    }
    report.residuals = before
        .into_iter()
        .zip(after)
        .map(|(before, after)| Residual {
            element: before.element,
            before: before.position_error,
            after: after.position_error,
            velocity_before: before.velocity_error,
            velocity_after: after.velocity_error,
        })
        .collect();
    report.state = posture.state;
    list_changes(model, state, &mut report);
    note_end_stops(model, &mut report);
    report
}

/// The allowed error of a row block, m or rad.
fn tolerance(model: &Model, options: &AssembleOptions, block: usize) -> f64 {
    match (model.rows[block].tolerance, options.tolerance) {
        (Some(own), Some(asked)) => own.min(asked),
        (own, asked) => own.or(asked).unwrap_or(model.run.tolerance),
    }
}

/// A component made ready for closing.
pub(crate) fn closing(model: &Model, component: &Component, options: &AssembleOptions) -> Closing {
    let Component { bodies, blocks, .. } = component;
    let part = Part::new(model, bodies, blocks, Metric::Assembly, |_, _| true);
    let plan = part.plan();
    let tolerances = part.rows().iter().map(|&(k, _)| tolerance(model, options, k)).collect();
    Closing { part, plan, tolerances, max_iterations: options.max_iterations }
}

/// Closes one connected part, starting over from disturbed postures where it is stuck between ways.
fn close_part(
    closing: &Closing,
    posture: &mut Posture<'_>,
    report: &mut AssembleReport,
) -> Result<(), Failure> {
    /// Disturbances against standing on a ridge, rad and share of the size.
    const DISTURBANCES: [f64; 3] = [1e-3, 1e-2, 1e-1];
    if closing.is_closed(&closing.part.errors(posture)) {
        return Ok(());
    }
    let start = closing.part.places(posture);
    let first = closing.close(posture);
    report.iterations += first.iterations;
    if !first.closed && first.cost.is_finite() {
        let mut best = (first.cost, closing.part.places(posture));
        let from = best.1.clone();
        let mut spread = nearby::Spread::new(0);
        for amplitude in DISTURBANCES {
            closing.part.restore(posture, &from);
            let movements = disturbance(closing, posture, &mut spread);
            closing.part.displace(posture, &movements, amplitude);
            let again = closing.close(posture);
            report.iterations += again.iterations;
            if again.closed || again.cost < best.0 {
                best = (again.cost, closing.part.places(posture));
            }
            if again.closed {
                let name = &posture.model.rows[closing.part.blocks[0].block].name;
                report.notes.push(format!(
                    "the part with `{name}` starts between several ways to close; one was taken"
                ));
                break;
            }
        }
        closing.part.restore(posture, &best.1);
    }
    if !closing.is_closed(&closing.part.errors(posture)) {
        return Err(diagnosis::diagnose(closing, posture));
    }
    report.iterations += nearest::approach(closing, posture, &start);
    Ok(())
}

/// A movement of every body in all directions, of about the size of the part and 1 rad.
fn disturbance(
    closing: &Closing,
    posture: &Posture<'_>,
    spread: &mut nearby::Spread,
) -> Vec<(Vec3, Vec3)> {
    let size = nearby::size(&closing.part, posture);
    let mut movements = Vec::with_capacity(closing.part.bodies.len());
    for &body in &closing.part.bodies {
        let step = Vec3::from_fn(|_, _| spread.next()) * size;
        let turns = posture.model.bodies[body].inertia_inv != Vec3::zeros();
        let turn = if turns { Vec3::from_fn(|_, _| spread.next()) } else { Vec3::zeros() };
        movements.push((step, turn));
    }
    movements
}

/// The failure of a block without a body that could move.
fn idle_failure(
    model: &Model,
    options: &AssembleOptions,
    block: usize,
    error: &Inconsistency,
) -> Option<Failure> {
    let velocity_tolerance = options.velocity_tolerance.unwrap_or(model.run.velocity_tolerance);
    let element = error.element.clone();
    if error.position_error.is_nan() {
        return Some(Failure { element, residual: f64::NAN, kind: FailureKind::Undefined });
    }
    if error.position_error > tolerance(model, options, block) {
        let kind = FailureKind::Contradicting { with: Vec::new() };
        return Some(Failure { element, residual: error.position_error, kind });
    }
    let within = error.velocity_error <= velocity_tolerance;
    let kind = FailureKind::VelocityContradicting;
    (!within).then_some(Failure { element, residual: error.velocity_error, kind })
}

/// Fills in what differs from the state before.
fn list_changes(model: &Model, before: &State, report: &mut AssembleReport) {
    let after = &report.state;
    for (i, body) in (0_u32..).zip(&model.bodies) {
        let k = BodyId(i).index();
        let distance = (after.s[k] - before.s[k]).norm();
        let angle = after.rot[k].angle_to(&before.rot[k]);
        let turned = after.rot[k] != before.rot[k];
        if distance > 0.0 || turned {
            report.moved.push(Moved { body: BodyId(i), name: body.name.clone(), distance, angle });
        }
        let velocity = (after.s_dot[k] - before.s_dot[k]).norm();
        let angular_velocity = (after.omega[k] - before.omega[k]).norm();
        if velocity > 0.0 || angular_velocity > 0.0 {
            let name = body.name.clone();
            report.pushed.push(Pushed { body: BodyId(i), name, velocity, angular_velocity });
        }
    }
    for (i, joint) in (0_u32..).zip(&model.joints) {
        for (which, coordinate) in joint.kind.equations().coordinates().iter().enumerate() {
            let k = joint.first_coordinate + which;
            let (before, after) = (before.coordinate[k], after.coordinate[k]);
            if (after - before).abs() > 1e-12 * (1.0 + before.abs()) {
                let name = format!("{}.{}", joint.name, coordinate.name);
                report.coordinates.push(CoordinateChange {
                    joint: JointId(i),
                    name,
                    before,
                    after,
                });
            }
        }
    }
}

/// Notes the joints that now are beyond their end stops, which assembly does not heed.
fn note_end_stops(model: &Model, report: &mut AssembleReport) {
    for joint in &model.joints {
        for limit in &joint.properties.limits {
            let Some(q) = report.state.coordinate.get(joint.first_coordinate + limit.which) else {
                continue;
            };
            let stop = if *q < limit.min { limit.min } else { limit.max };
            if (*q - stop).abs() > model.run.tolerance && (*q < limit.min || *q > limit.max) {
                let name = &joint.name;
                report
                    .notes
                    .push(format!("`{name}` is at {q:.6}, beyond its end stop at {stop:.6}"));
            }
        }
    }
}
