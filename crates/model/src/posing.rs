//! Starts given by joint coordinates: bodies are moved until joints stand where they are asked to.
//!
//! A joint that no loop passes through carries everything on one side of it: that side moves as one rigid body, so that the joint gets
//! its coordinates and all other joints keep theirs, exactly. What then is still open (a joint of a loop, a gear) is closed by
//! [`assemble`](crate::assemble::assemble) with the asked coordinates held: the rest moves as little as possible.

use gelenk_expr::{Pool, Tape};
use nalgebra::{DMatrix, DVector};

use crate::assemble::{AssembleOptions, Outcome, assemble_from, initial_inconsistency};
use crate::body::BodyId;
use crate::builder::add_rows;
use crate::force::JointAxis;
use crate::joint::{CoordinateKind, Joint, JointId, JointKind, MAX_COORDINATES, MAX_ROWS};
use crate::math::{Quat, Vec3};
use crate::model::Model;
use crate::rows::{CoordinateTie, RowKind, unwrap_angle};
use crate::signal::TimeFunction;
use crate::state::{Pose, State, Twist};

/// A joint coordinate that is to begin at a value, at a rate, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoordinateStart {
    /// The coordinate.
    pub axis: JointAxis,
    /// Its value, rad or m.
    pub value: Option<f64>,
    /// Its rate, rad/s or m/s.
    pub rate: Option<f64>,
}

/// What moves with a joint: the bodies on one side of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Whether it is the side of the second body.
    pub second: bool,
    /// The bodies, the joint's own first.
    pub bodies: Vec<BodyId>,
}

/// Errors above this are closed by assembly, m or rad (m/s or rad/s).
const OPEN: f64 = 1e-9;
/// To what assembly closes, m or rad (m/s or rad/s).
const CLOSED: f64 = 1e-11;
/// Largest change of an angle in one step of assembly, rad; of a length, as a share of the largest distance between bodies.
const STEP: f64 = 0.15;
/// Most steps on the way to a posture.
const MOST_STEPS: f64 = 400.0;
/// Most rounds of Newton's method on the way to a coordinate.
const MOST_ROUNDS: usize = 20_000;

/// Lets joints of `model` begin at coordinates and rates; returns what each joint carries, in the order of `wanted`, and `None` for all
/// where a loop or a coupling had to be closed. The reason, where that is not possible.
///
/// Coordinates of a joint that are not asked for stay. Bodies keep their velocities relative to what they are carried by.
pub fn begin_joints(
    model: &mut Model,
    wanted: &[CoordinateStart],
) -> Result<Vec<Option<Carried>>, String> {
    let neighbours = neighbours(model);
    let sides: Vec<Option<Carried>> =
        wanted.iter().map(|one| carried(model, &neighbours, one.axis)).collect();
    for (one, side) in wanted.iter().zip(&sides) {
        if let (Some(side), Some(value)) = (side, one.value) {
            move_side(model, one.axis, side, value)?;
        }
    }
    follow(model);
    for (one, side) in wanted.iter().zip(&sides) {
        if let (Some(side), Some(rate)) = (side, one.rate) {
            push_side(model, one.axis, side, rate);
        }
    }
    let looped = sides.iter().any(Option::is_none);
    let errors = initial_inconsistency(model);
    let open = |error: f64| error > OPEN || error.is_nan();
    let asks_values = wanted.iter().any(|one| one.value.is_some());
    let asks_rates = wanted.iter().any(|one| one.rate.is_some());
    let mut closed = false;
    if asks_values && (looped || errors.iter().any(|e| open(e.position_error))) {
        close_positions(model, wanted)?;
        closed = true;
    }
    let moving = |state: &State| state.s_dot.iter().chain(&state.omega).any(|v| v.norm() > 0.0);
    let broken = errors.iter().any(|e| open(e.velocity_error));
    if asks_rates && (looped || broken) || closed && moving(&model.start) {
        close_velocities(model, wanted)?;
        closed = true;
    }
    Ok(if closed { vec![None; wanted.len()] } else { sides })
}

/// All coordinates that can be set, with what moves with them; `None` in a loop. Of the coordinates of a screw, which are one, the first.
pub(crate) fn free_sides(model: &Model) -> Vec<(JointAxis, Option<Carried>)> {
    let neighbours = neighbours(model);
    let mut list = Vec::new();
    for (i, joint) in (0_u32..).zip(&model.joints) {
        let equations = joint.kind.equations();
        if equations.one_sided() {
            continue;
        }
        let n = equations.coordinates().len().min(6 - equations.n_rows());
        for which in 0..n {
            let axis = JointAxis { joint: JointId(i), which };
            list.push((axis, carried(model, &neighbours, axis)));
        }
    }
    list
}

/// Sets coordinates of joints that no loop passes through.
pub(crate) fn place(
    model: &mut Model,
    wanted: &[(JointAxis, &Carried, f64)],
) -> Result<(), String> {
    for &(axis, side, value) in wanted {
        move_side(model, axis, side, value)?;
    }
    follow(model);
    Ok(())
}

/// For each body the joints at it and the bodies at their other ends; fixed bodies count as the world. Ropes, which may be loose, hold
/// nothing together.
fn neighbours(model: &Model) -> Vec<Vec<(usize, usize)>> {
    let mut list = vec![Vec::new(); model.n_bodies()];
    for (i, joint) in model.joints.iter().enumerate() {
        let equations = joint.kind.equations();
        if equations.n_rows() == 0 || equations.one_sided() {
            continue;
        }
        let [a, b] = joint.bodies.map(|id| node(model, id));
        list[a].push((i, b));
        list[b].push((i, a));
    }
    list
}

/// The body, or the world for one that is fixed.
fn node(model: &Model, id: BodyId) -> usize {
    if model.bodies[id.index()].fixed { BodyId::WORLD.index() } else { id.index() }
}

/// The side of a joint that moves when its coordinates change: the one without the world; of two such the second. `None` in a loop.
fn carried(model: &Model, neighbours: &[Vec<(usize, usize)>], axis: JointAxis) -> Option<Carried> {
    let own = axis.joint.index();
    let ends = model.joints[own].bodies.map(|id| node(model, id));
    let side = |k: usize| -> Option<Vec<usize>> {
        let mut seen = vec![false; model.n_bodies()];
        let mut found = vec![ends[k]];
        seen[ends[k]] = true;
        let mut next = 0;
        while next < found.len() {
            for &(joint, other) in &neighbours[found[next]] {
                if joint != own && !seen[other] {
                    seen[other] = true;
                    found.push(other);
                }
            }
            next += 1;
        }
        let alone = !seen[ends[1 - k]] && !seen[BodyId::WORLD.index()];
        alone.then_some(found)
    };
    let (second, found) = match side(1) {
        Some(found) => (true, found),
        None => (false, side(0)?),
    };
    let id = |i: usize| BodyId(u32::try_from(i).unwrap_or(u32::MAX));
    Some(Carried { second, bodies: found.into_iter().map(id).collect() })
}

/// J and W of a joint over the twist [v ω] of its body `side` about the world point p, the other body at rest: (rows + coordinates) × 6.
fn rows_about(joint: &Joint, q: &[f64], poses: &[Pose; 2], side: usize, p: &Vec3) -> DMatrix<f64> {
    let near = joint.kind.near(q);
    let (n, m) = (near.equations().n_rows(), near.equations().coordinates().len());
    let mut rows = [[0.0; 12]; MAX_ROWS];
    near.rows::<f64>().jacobian(&poses[0], &poses[1], &mut rows[..n]);
    let mut along = [[0.0; 12]; MAX_COORDINATES];
    near.rows::<f64>().coordinate_jacobian(&poses[0], &poses[1], &mut along);
    let lever = poses[side].s - p;
    let mut all = DMatrix::zeros(n + m, 6);
    for (i, row) in rows[..n].iter().chain(&along[..m]).enumerate() {
        let part = &row[6 * side..6 * side + 6];
        let force = Vec3::new(part[0], part[1], part[2]);
        // ṡ = v + ω × (s − p).
        let torque = Vec3::new(part[3], part[4], part[5]) + lever.cross(&force);
        for k in 0..3 {
            all[(i, k)] = force[k];
            all[(i, 3 + k)] = torque[k];
        }
    }
    all
}

/// The twist about a point of least size with A x = b.
fn least(a: DMatrix<f64>, b: &DVector<f64>) -> Option<(Vec3, Vec3)> {
    let x = a.svd(true, true).solve(b, 1e-11).ok()?;
    x.iter()
        .all(|x| x.is_finite())
        .then(|| (Vec3::new(x[0], x[1], x[2]), Vec3::new(x[3], x[4], x[5])))
}

/// The motion of a joint's second body against its first for a unit rate of one coordinate, the others at rest: the velocity of the
/// joint's point and the angular velocity, world axes.
///
/// ```text
/// [J; W] (v, ω) = [0; e_which]
/// ```
/// A force F and a torque τ about that point do the power q̇ (F · v + τ · ω): the generalized force along the coordinate.
pub fn coordinate_twist(
    model: &Model,
    axis: JointAxis,
    poses: &[Pose],
    coordinates: &[f64],
) -> Option<(Vec3, Vec3)> {
    let joint = model.joints.get(axis.joint.index())?;
    let (n, m) = (joint.kind.equations().n_rows(), joint.kind.equations().coordinates().len());
    let pair = joint.bodies.map(|id| poses[id.index()]);
    let q = coordinates.get(joint.first_coordinate..joint.first_coordinate + m)?;
    let p = joint.kind.near(q).equations().force_point(&pair[0], &pair[1]);
    let mut matrix = rows_about(joint, q, &pair, 1, &p);
    let mut unit = DVector::zeros(n + m);
    unit[n + axis.which] = 1.0;
    if n + m > 6 {
        for k in (0..m).filter(|&k| k != axis.which) {
            matrix.row_mut(n + k).fill(0.0);
        }
    }
    least(matrix, &unit)
}

/// Moves one side of a joint so that the coordinate has the value and the joint's other coordinates stay.
///
/// ```text
/// [J; W] (v, ω) = [−C; q* − q],    p: the joint's point,    R ← exp(ω) R,    s ← p + v + exp(ω) (s − p)
/// ```
/// Newton's method from a little ahead to a little ahead, to rounding.
fn move_side(model: &mut Model, axis: JointAxis, side: &Carried, value: f64) -> Result<(), String> {
    let joint = &model.joints[axis.joint.index()];
    let own = usize::from(side.second);
    let equations = joint.kind.equations();
    let (n, kinds) = (equations.n_rows(), equations.coordinates());
    let m = kinds.len();
    let first = joint.first_coordinate;
    let mut q: Vec<f64> = model.start.coordinate[first..first + m].to_vec();
    let mut target = q.clone();
    target[axis.which] = value;
    let whole = (value - q[axis.which]).abs();
    let pace = match (&joint.kind, kinds[axis.which].kind) {
        // Their ways are circles and lines: a step leads there, as long as it can be told from a full turn more.
        (
            JointKind::Hinge(_)
            | JointKind::Slider(_)
            | JointKind::Rail(_)
            | JointKind::Cylindrical(_)
            | JointKind::Planar(_)
            | JointKind::Translation(_),
            kind,
        ) => match kind {
            CoordinateKind::Angle => whole.min(2.0),
            CoordinateKind::Length => whole,
        },
        // Its turns are to be followed.
        (JointKind::Screw(screw), CoordinateKind::Length) => {
            (whole / 16.0).min(0.1 * screw.pitch().abs())
        }
        (_, CoordinateKind::Angle) => (whole / 16.0).min(0.4),
        (_, CoordinateKind::Length) => whole / 16.0,
    };
    // Where a screw turns it slides: its coordinates are one.
    let together = equations.n_rows() + m > 6;
    let body = joint.bodies[own].index();
    let old = (model.start.s[body], model.start.rot[body]);
    let (mut s, mut rot) = old;
    let mut poses = joint.bodies.map(|id| model.start.pose(id));
    let mut last = f64::INFINITY;
    let mut reached = false;
    for _ in 0..MOST_ROUNDS {
        let near = joint.kind.near(&q);
        let mut c = [0.0; MAX_ROWS];
        near.equations().position_error(&poses[0], &poses[1], &mut c);
        let mut now = [0.0; MAX_COORDINATES];
        near.rows::<f64>().coordinate(&poses[0], &poses[1], &mut now);
        for k in 0..m {
            q[k] = match kinds[k].kind {
                CoordinateKind::Angle => unwrap_angle(now[k], q[k]),
                CoordinateKind::Length => now[k],
            };
        }
        let gap = target[axis.which] - q[axis.which];
        let worst = c[..n].iter().fold(0.0, |w: f64, c| w.max(c.abs())).max(gap.abs());
        // Rounding: it does not become better.
        if worst == 0.0 || worst < 1e-10 && worst >= 0.5 * last {
            reached = true;
            break;
        }
        last = worst;
        let mut error = DVector::zeros(n + m);
        for k in 0..n {
            error[k] = -c[k];
        }
        for k in 0..m {
            error[n + k] = if k == axis.which {
                if gap.abs() > 1.5 * pace { gap.signum() * pace } else { gap }
            } else {
                target[k] - q[k]
            };
        }
        let p = near.equations().force_point(&poses[0], &poses[1]);
        let mut matrix = rows_about(joint, &q, &poses, own, &p);
        if together {
            // The other coordinates follow.
            for k in (0..m).filter(|&k| k != axis.which) {
                error[n + k] = 0.0;
                matrix.row_mut(n + k).fill(0.0);
            }
        }
        let Some((v, omega)) = least(matrix, &error) else { break };
        let turn = Quat::from_scaled_axis(omega);
        s = p + v + turn * (s - p);
        rot = turn * rot;
        rot.renormalize();
        poses[own] = Pose { s, rot: rot.to_rotation_matrix().into_inner() };
    }
    if !reached {
        let name = &joint.name;
        return Err(format!("the joint `{name}` cannot be brought to {value}: {last:.3e} remain"));
    }
    q[axis.which] = value;
    let other = model.start.twist(joint.bodies[1 - own]);
    let other_at = model.start.s[joint.bodies[1 - own].index()];
    let turn = rot * old.1.inverse();
    let start = &mut model.start;
    start.coordinate[first..first + m].copy_from_slice(&q);
    for (k, id) in side.bodies.iter().enumerate() {
        let i = id.index();
        let before = start.s[i];
        if k == 0 {
            (start.s[i], start.rot[i]) = (s, rot);
        } else {
            start.s[i] = s + turn * (before - old.0);
            start.rot[i] = turn * start.rot[i];
        }
        // What it has beside the motion of the body at the other end turns with it.
        let beside = start.s_dot[i] - other.s_dot - other.omega.cross(&(before - other_at));
        let spin = start.omega[i] - other.omega;
        if beside != Vec3::zeros() || spin != Vec3::zeros() || other != Twist::zero() {
            start.s_dot[i] =
                other.s_dot + other.omega.cross(&(start.s[i] - other_at)) + turn * beside;
            start.omega[i] = other.omega + turn * spin;
        }
    }
    Ok(())
}

/// Gives a coordinate its rate by a rigid motion of one side; the joint's other coordinates keep theirs.
fn push_side(model: &mut Model, axis: JointAxis, side: &Carried, rate: f64) {
    let joint = &model.joints[axis.joint.index()];
    let own = usize::from(side.second);
    let poses = joint.bodies.map(|id| model.start.pose(id));
    let twists = joint.bodies.map(|id| model.start.twist(id));
    let (n, m) = (joint.kind.equations().n_rows(), joint.kind.equations().coordinates().len());
    let q = &model.start.coordinate[joint.first_coordinate..joint.first_coordinate + m];
    let p = joint.kind.near(q).equations().force_point(&poses[0], &poses[1]);
    let parts = [0, 1].map(|k| rows_about(joint, q, &poses, k, &p));
    // Rates of the rows and coordinates now.
    let mut now = DVector::zeros(n + m);
    for (part, (pose, twist)) in parts.iter().zip(poses.iter().zip(&twists)) {
        let v = twist.s_dot + twist.omega.cross(&(p - pose.s));
        let omega = twist.omega;
        now += part * DVector::from_column_slice(&[v.x, v.y, v.z, omega.x, omega.y, omega.z]);
    }
    let mut error = -now.clone();
    let mut matrix = parts[own].clone();
    for k in 0..m {
        error[n + k] = if k == axis.which { rate - now[n + k] } else { 0.0 };
        if k != axis.which && n + m > 6 {
            matrix.row_mut(n + k).fill(0.0);
        }
    }
    let Some((v, omega)) = least(matrix, &error) else { return };
    let start = &mut model.start;
    for id in &side.bodies {
        let i = id.index();
        let lever = start.s[i] - p;
        start.s_dot[i] += v + omega.cross(&lever);
        start.omega[i] += omega;
    }
}

/// Takes joint coordinates from the poses at the start, each with the full turns it had.
pub(crate) fn follow(model: &mut Model) {
    for joint in &model.joints {
        let [a, b] = joint.bodies.map(|id| model.start.pose(id));
        let equations = joint.kind.equations();
        let mut q = [0.0; MAX_COORDINATES];
        equations.coordinate(&a, &b, &mut q);
        for (which, coordinate) in equations.coordinates().iter().enumerate() {
            let slot = &mut model.start.coordinate[joint.first_coordinate + which];
            *slot = match coordinate.kind {
                CoordinateKind::Angle => unwrap_angle(q[which], *slot),
                CoordinateKind::Length => q[which],
            };
        }
    }
}

/// The model with coordinates tied to functions of time.
fn tied(model: &Model, ties: impl Iterator<Item = (JointAxis, TimeFunction)>) -> Model {
    let mut tied = model.clone();
    for (axis, target) in ties {
        let joint = &model.joints[axis.joint.index()];
        let coordinate = joint.kind.equations().coordinates()[axis.which].name;
        let name = format!("start of {}.{coordinate}", joint.name);
        let tie = CoordinateTie { terms: vec![(axis.joint, axis.which, 1.0)], target };
        add_rows(&mut tied, &name, RowKind::Tie(tie), joint.bodies.to_vec(), 1, None);
    }
    tied
}

/// Closes what is open with the asked coordinates held, from a little ahead to a little ahead.
fn close_positions(model: &mut Model, wanted: &[CoordinateStart]) -> Result<(), String> {
    let places = &model.start.s;
    let span = places.iter().skip(1).map(|s| (s - places[1]).norm()).fold(0.0, f64::max);
    let from: Vec<(JointAxis, f64, f64)> = wanted
        .iter()
        .filter_map(|one| Some((one.axis, coordinate(model, one.axis), one.value?)))
        .collect();
    let mut steps = 1.0_f64;
    for &(axis, now, value) in &from {
        let kind = model.joints[axis.joint.index()].kind.equations().coordinates()[axis.which].kind;
        let unit = match kind {
            CoordinateKind::Angle => 1.0,
            CoordinateKind::Length => span.max(1e-9),
        };
        steps = steps.max(((value - now).abs() / (STEP * unit)).ceil());
    }
    let steps = steps.min(MOST_STEPS);
    let options = AssembleOptions {
        tolerance: Some(CLOSED),
        velocity_tolerance: Some(f64::INFINITY),
        ..AssembleOptions::default()
    };
    let mut k = 0.0;
    while k < steps {
        k += 1.0;
        let share = k / steps;
        let ties = from.iter().map(|&(axis, now, value)| {
            let value = if share < 1.0 { now + share * (value - now) } else { value };
            (axis, TimeFunction::Constant(value))
        });
        let held = tied(model, ties);
        let report = assemble_from(&held, &held.start, &options);
        if let Outcome::Failed(failures) = &report.outcome {
            let why = failures.first().map_or_else(String::new, ToString::to_string);
            let of = if steps > 1.0 {
                format!(", after {:.0} % of the way", 100.0 * (k - 1.0) / steps)
            } else {
                String::new()
            };
            return Err(format!("the loops cannot be closed with these coordinates{of}: {why}"));
        }
        // Velocities are dealt with afterwards.
        model.start.s = report.state.s;
        model.start.rot = report.state.rot;
        follow(model);
    }
    Ok(())
}

/// Makes the velocities fit with the asked rates held.
fn close_velocities(model: &mut Model, wanted: &[CoordinateStart]) -> Result<(), String> {
    let mut ties = Vec::new();
    for one in wanted {
        let Some(rate) = one.rate else { continue };
        ties.push((one.axis, ramp(coordinate(model, one.axis), rate, model.start.t)?));
    }
    let held = tied(model, ties.into_iter());
    let options = AssembleOptions {
        tolerance: Some(1e-6),
        velocity_tolerance: Some(CLOSED),
        ..AssembleOptions::default()
    };
    let report = assemble_from(&held, &held.start, &options);
    if let Outcome::Failed(failures) = &report.outcome {
        let why = failures.first().map_or_else(String::new, ToString::to_string);
        return Err(format!("the rates do not fit the loops: {why}"));
    }
    model.start.s_dot = report.state.s_dot;
    model.start.omega = report.state.omega;
    Ok(())
}

/// f(t) = q + q̇ (t − t₀).
fn ramp(q: f64, rate: f64, start: f64) -> Result<TimeFunction, String> {
    let mut pool = Pool::new();
    let time = pool.time();
    let (offset, slope) = (pool.float(q - rate * start), pool.float(rate));
    let along = pool.mul(&[slope, time]);
    let f = pool.add(&[offset, along]);
    let tape = Tape::compile(&pool, &[f, slope, gelenk_expr::Expr::ZERO], &[time]);
    tape.map(TimeFunction::Tape).map_err(|error| error.to_string())
}

fn coordinate(model: &Model, axis: JointAxis) -> f64 {
    model.start.coordinate[model.joints[axis.joint.index()].first_coordinate + axis.which]
}
