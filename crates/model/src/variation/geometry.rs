//! Bodies, places of joints and start values with their derivatives.

use gelenk_expr::Dual;
use nalgebra::{Matrix3, Vector3};

use super::numbers::Numbers;
use super::{Shift, VariedBody, VariedJoint, cross, displaced, still};
use crate::body::{BodyId, BodyKind};
use crate::description::{Description, JointGeometry, JointStart, StartEntry, VecExpr};
use crate::joint::{Joint, JointId, JointKind};
use crate::math::norm;
use crate::model::Model;
use crate::rows::Instant;
use crate::state::{Pose, Twist};

/// Bodies as they are drawn.
pub(super) struct Drawn {
    /// Principal frames. (n_bodies)
    pub(super) poses: Vec<Pose<Dual>>,
    /// Centres of mass in the file frames. (n_bodies)
    pub(super) centers: Vec<Vector3<Dual>>,
    /// Rotations from file frames to principal frames. (n_bodies)
    pub(super) turns: Vec<Matrix3<Dual>>,
    pub(super) bodies: Vec<VariedBody>,
}

impl Drawn {
    /// A point of a body's file frame in its principal frame.
    pub(super) fn local(&self, body: BodyId, point: &Vector3<Dual>) -> Vector3<Dual> {
        let i = body.index();
        self.turns[i] * (point - self.centers[i])
    }

    /// Its shift on the body.
    pub(super) fn shift(
        &self,
        numbers: &Numbers,
        body: BodyId,
        point: &VecExpr,
    ) -> Result<(BodyId, Shift), String> {
        let local = self.local(body, &numbers.vector(point)?);
        Ok((body, Shift { by: changes(&local), turn: zero() }))
    }
}

fn zero() -> Vector3<Dual> {
    Vector3::repeat(Dual::default())
}

/// The derivatives alone.
fn changes(v: &Vector3<Dual>) -> Vector3<Dual> {
    v.map(|x| Dual { v: 0.0, ..x })
}

pub(super) fn drawn(
    model: &Model,
    description: &Description,
    numbers: &mut Numbers,
) -> Result<Drawn, String> {
    let n = model.n_bodies();
    let mut drawn = Drawn {
        poses: Vec::with_capacity(n),
        centers: Vec::with_capacity(n),
        turns: Vec::with_capacity(n),
        bodies: Vec::with_capacity(n),
    };
    for (body, placement) in model.bodies.iter().zip(&description.bodies) {
        let position = numbers.vector(&placement.position)?;
        let rotation = numbers.matrix(placement.rotation.as_ref())?;
        let turn = body.frame_rot.to_rotation_matrix().into_inner().map(Dual::from);
        let (mut center, mut mass_inv) = (zero(), Dual::from(body.mass_inv));
        let mut inertia = Matrix3::from_diagonal(&body.inertia.map(Dual::from));
        let mut inertia_inv = Matrix3::from_diagonal(&body.inertia_inv.map(Dual::from));
        if let Some(symbolic) = &body.symbolic {
            center = numbers.vector(&symbolic.center_of_mass)?;
            let mass = numbers.number(symbolic.mass)?;
            // d(1/m) = −dm/m².
            mass_inv.d = mass.d.map(|d| -d * body.mass_inv * body.mass_inv);
            if body.kind == BodyKind::Rigid {
                let list = numbers.all(&symbolic.inertia)?;
                let [xx, yy, zz, xy, xz, yz] = [0, 1, 2, 3, 4, 5].map(|i| list[i]);
                let file = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
                let change = (turn * file * turn.transpose()).map(|x| Dual { v: 0.0, ..x });
                // dJ⁻¹ = −J⁻¹ dJ J⁻¹.
                let change_inv = inertia_inv * change * inertia_inv;
                inertia += change;
                inertia_inv -= change_inv;
            }
        }
        drawn
            .poses
            .push(Pose { s: position + rotation * center, rot: rotation * turn.transpose() });
        let origin = -(turn * center);
        let origin = body.frame_origin.map(Dual::from) + changes(&origin);
        drawn.bodies.push(VariedBody { mass_inv, inertia, inertia_inv, origin });
        drawn.centers.push(center);
        drawn.turns.push(turn);
    }
    Ok(drawn)
}

/// Start values: those of the drawing, and what is given apart.
pub(super) fn start(
    model: &Model,
    description: &Description,
    drawn: &Drawn,
    joints: &[VariedJoint],
    numbers: &mut Numbers,
) -> Result<(Vec<Pose<Dual>>, Vec<Twist<Dual>>), String> {
    let mut poses = drawn.poses.clone();
    let mut twists = Vec::with_capacity(poses.len());
    for ((pose, rates), body) in poses.iter().zip(&description.velocities).zip(&drawn.bodies) {
        let (velocity, omega) = (numbers.vector(&rates[0])?, numbers.vector(&rates[1])?);
        let lever = -(pose.rot * body.origin);
        twists.push(Twist { s_dot: velocity + omega.cross(&lever), omega });
    }
    for entry in &description.starts {
        let values = match entry {
            StartEntry::Body(values) => values,
            StartEntry::Joint(values) => {
                carry(model, values, joints, numbers, &mut poses, &mut twists)?;
                continue;
            }
        };
        let i = values.body.index();
        let origin = drawn.bodies[i].origin;
        let (pose, twist) = (&mut poses[i], &mut twists[i]);
        let position = pose.s + pose.rot * origin;
        let velocity = twist.s_dot + twist.omega.cross(&(pose.rot * origin));
        if values.rotation.is_some() {
            pose.rot = numbers.matrix(values.rotation.as_ref())? * drawn.turns[i].transpose();
        }
        if let Some(omega) = &values.angular_velocity {
            twist.omega = numbers.vector(omega)?;
        }
        let lever = pose.rot * origin;
        let position = values.position.as_ref().map_or(Ok(position), |v| numbers.vector(v))?;
        let velocity = values.velocity.as_ref().map_or(Ok(velocity), |v| numbers.vector(v))?;
        pose.s = position - lever;
        twist.s_dot = velocity - twist.omega.cross(&lever);
    }
    // The values are the model's own, to the last bit.
    for (i, (pose, twist)) in poses.iter_mut().zip(&mut twists).enumerate() {
        let id = BodyId(u32::try_from(i).map_err(|e| e.to_string())?);
        let (own, rates) = (model.start.pose(id), model.start.twist(id));
        pose.s = own.s.map(Dual::from) + changes(&pose.s);
        pose.rot = own.rot.map(Dual::from) + pose.rot.map(|x| Dual { v: 0.0, ..x });
        twist.s_dot = rates.s_dot.map(Dual::from) + changes(&twist.s_dot);
        twist.omega = rates.omega.map(Dual::from) + changes(&twist.omega);
    }
    Ok((poses, twists))
}

/// A start value of a joint: what the joint carries moves along its coordinate.
fn carry(
    model: &Model,
    values: &JointStart,
    joints: &[VariedJoint],
    numbers: &Numbers,
    poses: &mut [Pose<Dual>],
    twists: &mut [Twist<Dual>],
) -> Result<(), String> {
    let (id, which) = (values.axis.joint, values.axis.which);
    let joint = &model.joints[id.index()];
    let number = |e: &Option<_>| e.map(|e| numbers.number(e)).transpose();
    let (value, rate) = (number(&values.value)?, number(&values.rate)?);
    let shifts = &joints[id.index()].shifts;
    let moves = |pose: &Pose<Dual>| !pose.s.iter().chain(&pose.rot).all(still);
    let given = [value, rate];
    let changes = given.iter().flatten().any(|x| !still(x))
        || shifts.iter().any(|(_, shift)| !shift.is_none())
        || poses.iter().any(moves)
        || twists.iter().any(|twist| !twist.s_dot.iter().chain(&twist.omega).all(still));
    if !changes {
        return Ok(());
    }
    let name = &joint.name;
    let Some(carried) = &values.carried else {
        return Err(format!(
            "the start of joint `{name}` closes loops, and no derivative of that by a parameter is known"
        ));
    };
    // Frames on a, and where b's point is, in the world.
    let [a, b] = joint.bodies.map(BodyId::index);
    let frames = joint.kind.frames();
    let near: Vec<f64> = model.start.coordinate.clone();
    let (origin, axes, point, q, q_dot) = displaced(poses, twists, shifts, |poses, twists| {
        let origin = poses[a].s + poses[a].turn(&frames[0].origin);
        let axes = poses[a].rot * frames[0].axes.map(Dual::from);
        let point = poses[b].s + poses[b].turn(&frames[1].origin);
        let at = Instant { t: Dual::default(), poses, twists, coordinates: &near };
        let q = model.joint_coordinate(id, which, &at);
        (origin, axes, point, q, model.joint_velocity(id, which, &at))
    });
    let column = |k: usize| -> Vector3<Dual> { axes.column(k).into() };
    // Along which the coordinate slides, or about which and where it turns.
    let (slide, turn, at) = match (&joint.kind, which) {
        (JointKind::Hinge(_), _) => (None, Some(column(2)), origin),
        (JointKind::Slider(_) | JointKind::Rail(_), _) => (Some(column(2)), None, origin),
        (JointKind::Cylindrical(_), 0) => (Some(column(2)), None, origin),
        (JointKind::Cylindrical(_), _) => (None, Some(column(2)), origin),
        (JointKind::Planar(_), 2) => (None, Some(column(2)), point),
        (JointKind::Planar(_) | JointKind::Translation(_), k) => (Some(column(k)), None, origin),
        _ => {
            let kind = joint.kind.type_name();
            return Err(format!(
                "the start of joint `{name}` has no derivative by a parameter: it is a joint of type `{kind}`"
            ));
        }
    };
    let sign = Dual::from(if carried.second { 1.0 } else { -1.0 });
    let other = if carried.second { a } else { b };
    let (frame, motion) = (poses[other], twists[other]);
    let mut rotation = Matrix3::identity();
    let mut shift = zero();
    if let Some(value) = value {
        let by = sign * (value - q);
        match (turn, slide) {
            (Some(n), _) => {
                let (c, s) = (by.chain(by.v.cos(), -by.v.sin()), by.chain(by.v.sin(), by.v.cos()));
                let dyad = n * n.transpose();
                let rest = Matrix3::identity() - dyad;
                rotation = dyad + rest * c + cross(&n) * s;
            }
            (None, Some(d)) => shift = d * by,
            (None, None) => {}
        }
    }
    let push = match rate {
        // A slide turns with nothing, a turn keeps its axis: the rate before is that after.
        Some(rate) => sign * (rate - q_dot),
        None => Dual::default(),
    };
    // Where the turning point comes to lie.
    let pivot = at + shift;
    for body in &carried.bodies {
        let i = body.index();
        let before = poses[i].s;
        let after = pivot + rotation * (before - at);
        let beside = twists[i].s_dot - motion.s_dot - motion.omega.cross(&(before - frame.s));
        let spin = twists[i].omega - motion.omega;
        poses[i] = Pose { s: after, rot: rotation * poses[i].rot };
        let mut s_dot = motion.s_dot + motion.omega.cross(&(after - frame.s)) + rotation * beside;
        let mut omega = motion.omega + rotation * spin;
        match (turn, slide) {
            (Some(n), _) => {
                omega += n * push;
                s_dot += (n * push).cross(&(after - pivot));
            }
            (None, Some(d)) => s_dot += d * push,
            (None, None) => {}
        }
        twists[i] = Twist { s_dot, omega };
    }
    Ok(())
}

pub(super) fn joints(
    model: &Model,
    description: &Description,
    drawn: &Drawn,
    numbers: &mut Numbers,
) -> Result<Vec<VariedJoint>, String> {
    let mut list = Vec::with_capacity(model.joints.len());
    for (joint, geometry) in model.joints.iter().zip(&description.joints) {
        let refused =
            |what: &str| Err(format!("joint `{}`: {what} changes with the parameter", joint.name));
        if !numbers.changing(&geometry.formula).is_empty() {
            return refused("its curve or surface");
        }
        let points = geometry.world_points.each_ref().map(|p| numbers.vector(p));
        let [a, b] = points;
        let points = [a?, b?];
        let shifts = shifts(joint, geometry, &points, drawn, numbers)?;
        let shifts: Vec<(BodyId, Shift)> = joint.bodies.into_iter().zip(shifts).collect();
        let stay = shifts.iter().all(|(_, shift)| shift.is_none());
        let value = |name: &str| geometry.parameters.iter().find(|(n, _)| *n == name);
        let mut length = match value("length") {
            Some(_) if geometry.as_drawn => Some(norm(&(points[1] - points[0]))),
            Some((_, expr)) => Some(numbers.number(*expr)?),
            None => None,
        };
        let mut pitch = match value("pitch") {
            Some((_, expr)) => Some(numbers.number(*expr)?),
            None => None,
        };
        length = length.filter(|x| !still(x));
        pitch = pitch.filter(|x| !still(x));
        let shifts = if stay { Vec::new() } else { shifts };
        list.push(VariedJoint { shifts, length, pitch });
    }
    Ok(list)
}

/// How the frames of a joint move on its bodies: the loader's frames over dual numbers.
fn shifts(
    joint: &Joint,
    geometry: &JointGeometry,
    points: &[Vector3<Dual>; 2],
    drawn: &Drawn,
    numbers: &Numbers,
) -> Result<[Shift; 2], String> {
    let poses = joint.bodies.map(|id| &drawn.poses[id.index()]);
    let is_track = matches!(joint.kind, JointKind::PointOnCurve(_) | JointKind::PointOnSurface(_));
    let [a, _] = joint.bodies;
    let mut origins = *points;
    let axes = match &geometry.world_axes {
        None if is_track => {
            if a == BodyId::WORLD {
                // Given in the frame of a part.
                if track_frame_changes(geometry, numbers) {
                    return Err(format!(
                        "joint `{}`: the frame of its curve or surface changes with the parameter",
                        joint.name
                    ));
                }
                origins[0] = zero();
                [Matrix3::identity(); 2]
            } else {
                let i = a.index();
                let rotation = drawn.poses[i].rot * drawn.turns[i];
                origins[0] = drawn.poses[i].s - rotation * drawn.centers[i];
                [rotation; 2]
            }
        }
        None => [Matrix3::identity(); 2],
        Some(axes) => {
            let [p, q] = axes.each_ref().map(|v| numbers.vector(v));
            frame_axes(joint, unit(&p?), unit(&q?))
        }
    };
    let mut local = [0, 1].map(|i| {
        let back = poses[i].rot.transpose();
        (back * (origins[i] - poses[i].s), back * axes[i])
    });
    let start = numbers.number(geometry.start)?;
    match joint.kind {
        JointKind::Hinge(_) => {
            let (c, s) = (
                start.chain(start.v.cos(), -start.v.sin()),
                start.chain(start.v.sin(), start.v.cos()),
            );
            let (o, e) = (Dual::default(), Dual::from(1.0));
            local[0].1 *= Matrix3::new(c, s, o, -s, c, o, o, o, e);
        }
        JointKind::Slider(_) | JointKind::Rail(_) => {
            let z: Vector3<Dual> = local[0].1.column(2).into();
            local[0].0 -= z * start;
        }
        _ => {}
    }
    let turns =
        !matches!(joint.kind, JointKind::Ball(_) | JointKind::Distance(_) | JointKind::Rope(_));
    Ok(local.map(|(origin, axes)| {
        let mut turn = zero();
        if turns {
            // δA Aᵀ = φ×.
            let rates = (axes.map(|x| Dual { v: 0.0, ..x }) * axes.transpose())
                .map(|x| Dual { v: 0.0, ..x });
            turn = Vector3::new(rates[(2, 1)], rates[(0, 2)], rates[(1, 0)]);
        }
        let place = origin.map(|x| Dual::from(x.v));
        Shift { by: changes(&(origin - cross(&turn) * place)), turn }
    }))
}

fn track_frame_changes(geometry: &JointGeometry, numbers: &Numbers) -> bool {
    use crate::description::Track;
    match &geometry.track {
        Some(Track::Curve { place, .. }) => !numbers.changing(place).is_empty(),
        Some(Track::Surface { frame, .. }) => {
            let rotation = frame.rotation.map_or(Vec::new(), |m| m.concat());
            let all: Vec<_> = frame.position.into_iter().chain(rotation).collect();
            !numbers.changing(&all).is_empty()
        }
        _ => false,
    }
}

fn unit(v: &Vector3<Dual>) -> Vector3<Dual> {
    v / norm(v)
}

/// Axes of the two joint frames in the world: z along the axes, x common.
fn frame_axes(joint: &Joint, first: Vector3<Dual>, second: Vector3<Dual>) -> [Matrix3<Dual>; 2] {
    let columns = |x: Vector3<Dual>, z: Vector3<Dual>| Matrix3::from_columns(&[x, z.cross(&x), z]);
    if matches!(joint.kind, JointKind::Universal(_)) {
        let (z_a, x_b) = (first, second);
        let x_a = unit(&(x_b - z_a * z_a.dot(&x_b)));
        let z_b = unit(&(z_a - x_b * x_b.dot(&z_a)));
        return [columns(x_a, z_a), columns(x_b, z_b)];
    }
    let (z_a, z_b) = (first, second);
    let x_a = across(&z_a);
    let rest = x_a - z_b * z_b.dot(&x_a);
    let x_b = if norm(&rest).v > 1e-6 { unit(&rest) } else { across(&z_b) };
    [columns(x_a, z_a), columns(x_b, z_b)]
}

/// The x axis of [`perpendicular_frame`](crate::math::perpendicular_frame).
fn across(n: &Vector3<Dual>) -> Vector3<Dual> {
    let (x, y, z) = (n.x.v.abs(), n.y.v.abs(), n.z.v.abs());
    let helper = if z >= x && z >= y {
        Vector3::x()
    } else if x >= y {
        Vector3::y()
    } else {
        Vector3::z()
    };
    unit(&(helper - n * n.dot(&helper)))
}

/// Joint coordinates as drawn, without full turns. (n_coordinates)
pub(super) fn coordinates(model: &Model, drawn: &Drawn, joints: &[VariedJoint]) -> Vec<Dual> {
    let mut poses = drawn.poses.clone();
    let mut twists = vec![Twist { s_dot: zero(), omega: zero() }; poses.len()];
    let near = vec![0.0; model.n_coordinates()];
    let mut list = Vec::with_capacity(near.len());
    for ((i, joint), varied) in (0u32..).zip(&model.joints).zip(joints) {
        for which in 0..joint.kind.equations().coordinates().len() {
            list.push(displaced(&mut poses, &mut twists, &varied.shifts, |poses, twists| {
                let at = Instant { t: Dual::default(), poses, twists, coordinates: &near };
                model.joint_coordinate(JointId(i), which, &at)
            }));
        }
    }
    list
}
