//! A sample as JSON: the `samples` of `gelenk run --json`.

use gelenk_model::math::Vec3;
use gelenk_model::{BodyKind, Instant, JointId, Model, Pose, Sample, Twist};
use serde_json::{Map, Value, json};

use crate::quantity::coordinate_names;

/// The JSON form of a sample.
///
/// ```text
/// {time,
///  bodies {name: {position, rotation (w,x,y,z), velocity, angular_velocity}},
///  points {name: {position, velocity}},
///  markers {name: {position, velocity}},
///  joints {name: {coordinate, velocity, force, torque, angle, rate, ...}},
///  drive {name: {torque, power}}, spring {name: {force, power, energy, length, rate}}, ..., input {name}}
/// ```
/// The last are the quantities of [`actuator`](crate::actuator), nested at the dots of their names, as far as the model has them.
/// Bodies by their file frame. A joint's coordinate and velocity are a number, a list where the joint has several, or
/// null where it has none; its force and torque act on its second body, at the joint's point, world axes. Numbers
/// that are not finite are null.
pub fn sample_json(model: &Model, sample: &Sample<'_>) -> Value {
    let state = sample.state;
    let n = model.n_bodies();
    let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
    state.write_poses(&mut poses);
    state.write_twists(&mut twists);
    let at = Instant { t: state.t, poses: &poses, twists: &twists, coordinates: &state.coordinate };

    let (mut bodies, mut points) = (Map::new(), Map::new());
    for (i, body) in model.bodies.iter().enumerate() {
        let (pose, twist) = (body.frame_pose(&poses[i]), body.frame_twist(&poses[i], &twists[i]));
        match body.kind {
            BodyKind::World => {}
            BodyKind::Rigid => {
                let q = state.rot[i] * body.frame_rot;
                let entry = json!({
                    "position": vector(&pose.s),
                    "rotation": [q.w, q.i, q.j, q.k],
                    "velocity": vector(&twist.s_dot),
                    "angular_velocity": vector(&twist.omega),
                });
                bodies.insert(body.name.clone(), entry);
            }
            BodyKind::Point => {
                points.insert(body.name.clone(), moving(&pose.s, &twist.s_dot));
            }
        }
    }
    let markers: Map<_, _> = model
        .markers
        .iter()
        .map(|marker| {
            (marker.name.clone(), moving(&marker.vector.value(&at), &marker.vector.rate(&at)))
        })
        .collect();
    let mut joints = Map::new();
    for (id, joint) in (0u32..).map(JointId).zip(&model.joints) {
        let n = joint.kind.equations().coordinates().len();
        let reaction = sample.reactions.iter().find(|reaction| reaction.joint == id);
        let mut entry = json!({
            "coordinate": one_or_more((0..n).map(|which| model.joint_coordinate(id, which, &at))),
            "velocity": one_or_more((0..n).map(|which| model.joint_velocity(id, which, &at))),
            "force": reaction.map(|reaction| vector(&reaction.force)),
            "torque": reaction.map(|reaction| vector(&reaction.torque)),
        });
        let begin = format!("joint.{}.", joint.name);
        for (which, names) in coordinate_names(model, id.index()).into_iter().enumerate() {
            let values =
                [model.joint_coordinate(id, which, &at), model.joint_velocity(id, which, &at)];
            for (name, value) in names.iter().zip(values) {
                entry[name.strip_prefix(&begin).unwrap_or(name)] = json!(value);
            }
        }
        joints.insert(joint.name.clone(), entry);
    }
    let mut all = json!({
        "time": state.t,
        "bodies": bodies,
        "points": points,
        "markers": markers,
        "joints": joints,
    });
    for (what, of) in crate::actuator::nested(model, sample) {
        all[what] = of;
    }
    all
}

fn vector(v: &Vec3) -> [f64; 3] {
    [v.x, v.y, v.z]
}

fn moving(position: &Vec3, velocity: &Vec3) -> Value {
    json!({ "position": vector(position), "velocity": vector(velocity) })
}

fn one_or_more(values: impl Iterator<Item = f64>) -> Value {
    let values: Vec<f64> = values.collect();
    match values[..] {
        [] => Value::Null,
        [value] => json!(value),
        _ => json!(values),
    }
}
