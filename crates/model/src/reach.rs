//! Inverse kinematics: joint coordinates with which a point of a body is where it is asked to be.
//!
//! ```text
//! e = [ p* − p ;  ℓ rot(R* Rᵀ) ],    (JᵀJ + μ E) δ = Jᵀ e,    q ← clamp(q + δ, min, max)
//! ```
//! p: the point, R: the rotation of its body, if that is asked for; rot: rotation vector; J: how they move with the coordinates
//! ([`coordinate_twist`]); ℓ: distance of the point from the first joint, so that angles and lengths weigh alike; μ falls where a step
//! makes the error smaller and grows where not. Coordinates at an end stop that would go further are left out of a step. Where the way ends
//! in a valley it begins anew from other coordinates, drawn evenly between the end stops by a generator with a fixed seed.

use nalgebra::{DMatrix, DVector};

use crate::body::BodyId;
use crate::force::JointAxis;
use crate::joint::CoordinateKind;
use crate::math::{Quat, Vec3};
use crate::model::Model;
use crate::posing::{Carried, coordinate_twist, free_sides, place};
use crate::rows::RowKind;
use crate::signal::BodyVector;
use crate::state::{Pose, State};

/// Where a point of a body is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The point.
    pub point: BodyVector,
    /// Where it is to be, m.
    pub position: Vec3,
    /// How the file frame of its body is to be turned; `None`: as it comes.
    pub rotation: Option<Quat>,
}

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReachOptions {
    /// Largest distance that counts as there, m; of the rotation, rad.
    pub tolerance: f64,
    /// From how many starts: the model's own, then others.
    pub attempts: u32,
}

impl Default for ReachOptions {
    fn default() -> Self {
        ReachOptions { tolerance: 1e-9, attempts: 100 }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// Whether the point is there, within the tolerance and the end stops.
    pub there: bool,
    /// The coordinates, in the order of the joints: the nearest found where it is not there.
    pub coordinates: Vec<(JointAxis, f64)>,
    /// How far the point is from where it is to be, m.
    pub distance: f64,
    /// By how much its body is turned against what is asked, rad; 0 where nothing is.
    pub angle: f64,
    /// Steps made, over all starts.
    pub rounds: u32,
    /// The posture.
    pub state: State,
}

/// Why joints cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// A joint on the way is part of a loop.
    #[error("the joint `{joint}` is part of a loop; inverse kinematics is for trees of joints")]
    Loop {
        /// The joint.
        joint: String,
    },
    /// No joint moves the point.
    #[error("no joint with coordinates moves the point")]
    Still,
    /// A posture could not be taken.
    #[error("{0}")]
    Posing(String),
}

/// A coordinate that may be set.
struct Free {
    axis: JointAxis,
    side: Carried,
    min: f64,
    max: f64,
    /// For starts elsewhere.
    low: f64,
    high: f64,
}

/// Steps of one way.
const MOST_ROUNDS: u32 = 200;
/// Largest change of an angle in a step, rad.
const LARGEST_TURN: f64 = 1.0;

/// Coordinates of joints with which a point is where `target` says, near the model's start where that is possible.
pub fn reach(
    model: &Model,
    target: &Target,
    options: &ReachOptions,
) -> Result<Reached, ReachError> {
    let mut model = model.clone();
    let free = free_coordinates(&model, target.point.body)?;
    let base = model.joints[free[0].axis.joint.index()].bodies[1];
    let first = model.start.pose(base).s;
    let length = (spot(&model, target).s - first).norm().max((target.position - first).norm());
    let length = if length > 0.0 { length } else { 1.0 };
    let mut generator = Generator(0x9e37_79b9_7f4a_7c15);
    let mut best: Option<Reached> = None;
    let mut rounds = 0;
    for attempt in 0..options.attempts.max(1) {
        if attempt > 0 {
            let others: Vec<f64> =
                free.iter().map(|f| f.low + (f.high - f.low) * generator.next()).collect();
            take(&mut model, &free, &others)?;
        }
        let found = walk(&mut model, &free, target, options.tolerance, length)?;
        rounds += found.rounds;
        let cost = |r: &Reached| r.distance.max(length * r.angle);
        if best.as_ref().is_none_or(|best| cost(&found) < cost(best)) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.there) {
            break;
        }
    }
    let best = best.ok_or(ReachError::Still)?;
    Ok(Reached { rounds, ..best })
}

/// The coordinates that move a body, with their end stops.
fn free_coordinates(model: &Model, body: BodyId) -> Result<Vec<Free>, ReachError> {
    let held = |axis: JointAxis| {
        model.rows.iter().any(|block| match &block.kind {
            RowKind::Tie(tie) => {
                tie.terms.iter().any(|&(j, w, _)| j == axis.joint && w == axis.which)
            }
            _ => false,
        })
    };
    let mut free = Vec::new();
    for (axis, side) in free_sides(model) {
        let joint = &model.joints[axis.joint.index()];
        let Some(side) = side else {
            // A loop elsewhere is no matter.
            if joint.bodies.contains(&body) {
                return Err(ReachError::Loop { joint: joint.name.clone() });
            }
            continue;
        };
        if !side.bodies.contains(&body) || held(axis) {
            continue;
        }
        let kind = joint.kind.equations().coordinates()[axis.which].kind;
        let (mut min, mut max) = (f64::NEG_INFINITY, f64::INFINITY);
        for limit in joint.properties.limits.iter().filter(|limit| limit.which == axis.which) {
            (min, max) = (min.max(limit.min), max.min(limit.max));
        }
        let now = model.start.coordinate[joint.first_coordinate + axis.which];
        let reach = match kind {
            CoordinateKind::Angle => std::f64::consts::PI,
            CoordinateKind::Length => 1.0,
        };
        let low = if min.is_finite() { min } else { now.min(max) - reach };
        let high = if max.is_finite() { max } else { now.max(min) + reach };
        free.push(Free { axis, side, min, max, low, high });
    }
    if free.is_empty() { Err(ReachError::Still) } else { Ok(free) }
}

/// The point, with the rotation of its body's file frame.
fn spot(model: &Model, target: &Target) -> Pose {
    let body = target.point.body;
    let pose = model.start.pose(body);
    let rot = model.start.rot[body.index()] * model.bodies[body.index()].frame_rot;
    Pose { s: pose.point(&target.point.local), rot: rot.to_rotation_matrix().into_inner() }
}

/// Distance and angle from the target, and both as one error.
fn error(model: &Model, target: &Target, length: f64) -> (f64, f64, DVector<f64>) {
    let body = target.point.body.index();
    let away = target.position - spot(model, target).s;
    let turn = target.rotation.map_or(Vec3::zeros(), |wanted| {
        let now = model.start.rot[body] * model.bodies[body].frame_rot;
        (wanted * now.inverse()).scaled_axis()
    });
    let n = if target.rotation.is_some() { 6 } else { 3 };
    let e = DVector::from_fn(n, |i, _| if i < 3 { away[i] } else { length * turn[i - 3] });
    (away.norm(), turn.norm(), e)
}

fn coordinates(model: &Model, free: &[Free]) -> Vec<f64> {
    let place = |f: &Free| model.joints[f.axis.joint.index()].first_coordinate + f.axis.which;
    free.iter().map(|f| model.start.coordinate[place(f)]).collect()
}

fn take(model: &mut Model, free: &[Free], values: &[f64]) -> Result<(), ReachError> {
    let wanted: Vec<(JointAxis, &Carried, f64)> =
        free.iter().zip(values).map(|(f, &value)| (f.axis, &f.side, value)).collect();
    place(model, &wanted).map_err(ReachError::Posing)
}

/// How the error's parts move with the coordinates.
fn jacobian(model: &Model, free: &[Free], target: &Target, n: usize, length: f64) -> DMatrix<f64> {
    let mut poses = vec![Pose::identity(); model.n_bodies()];
    model.start.write_poses(&mut poses);
    let at = spot(model, target).s;
    let mut jac = DMatrix::zeros(n, free.len());
    for (k, f) in free.iter().enumerate() {
        let twist = coordinate_twist(model, f.axis, &poses, &model.start.coordinate);
        let Some((v, omega)) = twist else { continue };
        let joint = &model.joints[f.axis.joint.index()];
        let [a, b] = joint.bodies.map(|id| poses[id.index()]);
        let near = joint.near(&model.start.coordinate);
        let p = near.equations().force_point(&a, &b);
        let sign = if f.side.second { 1.0 } else { -1.0 };
        let moves = (v + omega.cross(&(at - p))) * sign;
        for i in 0..3 {
            jac[(i, k)] = moves[i];
            if n == 6 {
                jac[(3 + i, k)] = length * sign * omega[i];
            }
        }
    }
    jac
}

/// From where the model stands to the end of the way.
fn walk(
    model: &mut Model,
    free: &[Free],
    target: &Target,
    tolerance: f64,
    length: f64,
) -> Result<Reached, ReachError> {
    let clamped = |k: usize, x: f64| x.max(free[k].min).min(free[k].max);
    let begin: Vec<f64> =
        coordinates(model, free).iter().enumerate().map(|(k, x)| clamped(k, *x)).collect();
    take(model, free, &begin)?;
    let (mut distance, mut angle, mut e) = error(model, target, length);
    let mut mu = 1e-3 * length * length;
    let mut rounds = 0;
    while rounds < MOST_ROUNDS && (distance > 0.01 * tolerance || angle > 0.01 * tolerance) {
        rounds += 1;
        let q = coordinates(model, free);
        let jac = jacobian(model, free, target, e.len(), length);
        let mut open = vec![true; free.len()];
        let mut step = vec![0.0; free.len()];
        // Coordinates at a stop that would go on are left out, one set after the other.
        for _ in 0..=free.len() {
            let mut part = jac.clone();
            for k in (0..free.len()).filter(|&k| !open[k]) {
                part.column_mut(k).fill(0.0);
            }
            let matrix = part.transpose() * &part + DMatrix::identity(free.len(), free.len()) * mu;
            let Some(found) = matrix.cholesky().map(|c| c.solve(&(part.transpose() * &e))) else {
                break;
            };
            step.copy_from_slice(found.as_slice());
            let mut closed = false;
            for k in 0..free.len() {
                let beyond =
                    q[k] >= free[k].max && step[k] > 0.0 || q[k] <= free[k].min && step[k] < 0.0;
                if open[k] && beyond {
                    open[k] = false;
                    closed = true;
                }
            }
            if !closed {
                break;
            }
        }
        let largest = step.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let scale = if largest > LARGEST_TURN { LARGEST_TURN / largest } else { 1.0 };
        let next: Vec<f64> = (0..free.len()).map(|k| clamped(k, q[k] + scale * step[k])).collect();
        take(model, free, &next)?;
        let (d, a, e_next) = error(model, target, length);
        if e_next.norm() < e.norm() {
            let gain = 1.0 - e_next.norm() / e.norm();
            (distance, angle, e) = (d, a, e_next);
            mu = (0.2 * mu).max(1e-14 * length * length);
            if gain < 1e-6 && distance > tolerance {
                break;
            }
        } else {
            take(model, free, &q)?;
            mu *= 8.0;
            if mu > 1e9 * length * length || largest < 1e-15 {
                break;
            }
        }
    }
    let values = coordinates(model, free);
    let found = free.iter().zip(values).map(|(f, value)| (f.axis, value));
    Ok(Reached {
        there: distance <= tolerance && angle <= tolerance,
        coordinates: found.collect(),
        distance,
        angle,
        rounds,
        state: model.start.clone(),
    })
}

/// Numbers from 0 to 1, the same on every machine: splitmix64.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
