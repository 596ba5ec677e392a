//! What a model looks like, as JSON for the page.
//!
//! Places are given in the bodies' principal frames, which is what frames move.

use gelenk::model::force::{ForceKind, PointPair};
use gelenk::model::math::{Quat, Vec3};
use gelenk::model::shape::{Geometry, Shape};
use gelenk::model::{Body, BodyId, BodyKind, JointKind, Model, RowKind};
use serde_json::{Value, json};

/// Points of a curve that is drawn.
const CURVE_POINTS: u32 = 200;

/// The scene of a model.
pub fn scene(model: &Model) -> Value {
    let joint_points = joint_points(model);
    let bodies: Vec<Value> = model
        .bodies
        .iter()
        .zip(&joint_points)
        .map(|(body, points)| body_json(body, points))
        .collect();
    json!({
        "name": model.name,
        "description": model.description,
        "gravity": model.gravity.as_slice(),
        "bodies": bodies,
        "joints": joints(model),
        "rows": model.rows.iter().map(|block| block.name.as_str()).collect::<Vec<_>>(),
        "threads": threads(model),
        "curves": curves(model),
        "markers": markers(model),
        "parameters": parameters(model),
    })
}

fn quat(q: &Quat) -> [f64; 4] {
    [q.i, q.j, q.k, q.w]
}

fn body_json(body: &Body, joints: &[Vec3]) -> Value {
    let kind = match body.kind {
        BodyKind::World => "world",
        BodyKind::Rigid => "rigid",
        BodyKind::Point if body.is_charge => "charge",
        BodyKind::Point => "point",
    };
    let shapes: Vec<Value> =
        body.shapes.iter().filter_map(|shape| shape_json(body, shape)).collect();
    json!({
        "name": body.name,
        "kind": kind,
        "fixed": body.fixed,
        "mass": body.mass,
        "color": body.color,
        "origin": body.frame_origin.as_slice(),
        "shapes": shapes,
        "bars": bars(body, joints),
    })
}

/// A shape in the principal frame of its body; `None` for geometry that cannot be drawn.
fn shape_json(body: &Body, shape: &Shape) -> Option<Value> {
    let position = body.frame_origin + body.frame_rot * shape.position;
    let rotation = body.frame_rot * shape.rotation;
    let mut value = match &shape.geometry {
        Geometry::Box { size } => json!({ "type": "box", "size": size.as_slice() }),
        Geometry::Sphere { radius } => json!({ "type": "sphere", "radius": radius }),
        Geometry::Cylinder { radius, length } | Geometry::Rod { radius, length } => {
            json!({ "type": "cylinder", "radius": radius, "length": length })
        }
        Geometry::Capsule { radius, length } => {
            json!({ "type": "capsule", "radius": radius, "length": length })
        }
        Geometry::Cone { radius, length } => {
            json!({ "type": "cone", "radius": radius, "length": length })
        }
        Geometry::Plane { size } => json!({ "type": "plane", "size": size }),
        Geometry::Heightfield { size, n_x, heights } => {
            json!({ "type": "heightfield", "size": size, "columns": n_x, "heights": &heights[..] })
        }
        Geometry::Mesh { mesh, file } => {
            let vertices: Vec<f64> =
                mesh.vertices.iter().flat_map(|v| [v.x, v.y, v.z].map(rounded)).collect();
            let triangles: Vec<u32> = mesh.triangles.iter().flatten().copied().collect();
            json!({ "type": "mesh", "file": file, "vertices": vertices, "triangles": triangles })
        }
        _ => return None,
    };
    value["position"] = json!(position.as_slice());
    value["rotation"] = json!(quat(&rotation));
    value["color"] = json!(shape.color);
    Some(value)
}

/// Short enough for JSON, exact enough for the eye.
fn rounded(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

/// How far a shape reaches from its place, m.
fn reach(shape: &Shape) -> f64 {
    match &shape.geometry {
        Geometry::Box { size } => 0.5 * size.norm(),
        Geometry::Sphere { radius } => *radius,
        Geometry::Cylinder { radius, length } | Geometry::Cone { radius, length } => {
            radius.hypot(0.5 * length)
        }
        Geometry::Capsule { radius, length } => radius + 0.5 * length,
        Geometry::Rod { length, .. } => 0.5 * length,
        Geometry::Mesh { mesh, .. } => mesh.vertices.iter().map(Vec3::norm).fold(0.0, f64::max),
        _ => f64::INFINITY,
    }
}

/// Bars that show what holds together, in the principal frame: of a body without shapes between its joints, of others
/// from a joint to the nearest shape where it lies apart from all.
fn bars(body: &Body, joints: &[Vec3]) -> Vec<[[f64; 3]; 2]> {
    let bar = |a: Vec3, b: Vec3| [a.into(), b.into()];
    let centre = Vec3::zeros();
    if body.fixed || body.kind == BodyKind::World {
        return Vec::new();
    }
    if body.shapes.is_empty() {
        return match joints {
            [] => Vec::new(),
            [p] if p.norm() < 1e-12 => Vec::new(),
            [p, q] => vec![bar(*p, *q)],
            several => several.iter().map(|p| bar(*p, centre)).collect(),
        };
    }
    let places: Vec<(Vec3, f64)> = body
        .shapes
        .iter()
        .map(|shape| (body.frame_origin + body.frame_rot * shape.position, reach(shape)))
        .collect();
    let mut out = Vec::new();
    for p in joints {
        if places.iter().any(|(place, reach)| (p - place).norm() <= 1.02 * reach) {
            continue;
        }
        let nearest = places.iter().min_by(|a, b| (p - a.0).norm().total_cmp(&(p - b.0).norm()));
        out.extend(nearest.map(|(place, _)| bar(*p, *place)));
    }
    out
}

/// The points of joints on each body at the start, principal frame. Rods and ropes are threads, not points.
fn joint_points(model: &Model) -> Vec<Vec<Vec3>> {
    let mut points = vec![Vec::new(); model.n_bodies()];
    let pose = |id: BodyId| model.start.pose(id);
    for joint in &model.joints {
        if matches!(joint.kind, JointKind::Distance(_) | JointKind::Rope(_)) {
            continue;
        }
        let [a, b] = joint.bodies.map(pose);
        let near = joint.near(&model.start.coordinate);
        let p = near.equations().force_point(&a, &b);
        for (id, pose) in joint.bodies.into_iter().zip([a, b]) {
            points[id.index()].push(pose.rot.transpose() * (p - pose.s));
        }
    }
    points
}

fn joints(model: &Model) -> Vec<Value> {
    let one = |joint: &gelenk::model::Joint| {
        let coordinates: Vec<Value> = joint
            .kind
            .equations()
            .coordinates()
            .iter()
            .enumerate()
            .map(|(which, coordinate)| {
                let [unit, _] = model.coordinate_units(joint, which);
                json!({ "name": coordinate.name, "unit": unit })
            })
            .collect();
        // The axis on the first body, for those that have one.
        let axis = joint.kind.frames()[0].z();
        json!({
            "name": joint.name,
            "type": joint.kind.type_name(),
            "bodies": joint.bodies.map(|id| id.0),
            "axis": axis.as_slice(),
            "coordinates": coordinates,
        })
    };
    model.joints.iter().map(one).collect()
}

/// Springs, dampers, ropes and rods without mass: two points on two bodies.
fn threads(model: &Model) -> Vec<Value> {
    let thread = |kind: &str, name: &str, pair: &PointPair| {
        json!({
            "kind": kind,
            "name": name,
            "bodies": pair.bodies.map(|id| id.0),
            "points": pair.points.map(|p| [p.x, p.y, p.z]),
        })
    };
    let mut out = Vec::new();
    for joint in &model.joints {
        let (kind, points) = match &joint.kind {
            JointKind::Distance(joint) => ("rod", joint.points()),
            JointKind::Rope(joint) => ("rope", joint.points()),
            _ => continue,
        };
        let mut value = thread(kind, &joint.name, &PointPair { bodies: joint.bodies, points });
        if let JointKind::Rope(rope) = &joint.kind {
            value["length"] = json!(rope.length());
        }
        out.push(value);
    }
    for block in &model.rows {
        let RowKind::Equation(equation) = &block.kind else { continue };
        let mut vectors = Vec::new();
        for (vector, _) in &equation.coordinates {
            if !vectors.contains(vector) {
                vectors.push(*vector);
            }
        }
        if let [a, b] = vectors[..]
            && a.is_point
            && b.is_point
        {
            let pair = PointPair { bodies: [a.body, b.body], points: [a.local, b.local] };
            out.push(thread("rod", &block.name, &pair));
        }
    }
    for force in &model.forces {
        match &force.kind {
            ForceKind::Spring(spring) => out.push(thread("spring", &force.name, &spring.ends)),
            ForceKind::Damper(damper) => {
                let same = |value: &Value| {
                    value["points"] == json!(damper.ends.points.map(|p| [p.x, p.y, p.z]))
                };
                // A spring with damping is drawn once.
                if !out.iter().any(same) {
                    out.push(thread("damper", &force.name, &damper.ends));
                }
            }
            _ => {}
        }
    }
    out
}

/// Curves that points are held on, as points in the principal frame of the body that carries them.
fn curves(model: &Model) -> Vec<Value> {
    let mut out = Vec::new();
    for joint in &model.joints {
        let JointKind::PointOnCurve(curve) = &joint.kind else { continue };
        let [frame, _] = joint.kind.frames();
        let path = curve.path();
        let points: Vec<[f64; 3]> = (0..=CURVE_POINTS)
            .map(|i| path.length() * f64::from(i) / f64::from(CURVE_POINTS))
            .map(|position| (frame.origin + frame.axes * path.point(position)).into())
            .collect();
        out.push(json!({ "name": joint.name, "body": joint.bodies[0].0, "points": points }));
    }
    out
}

fn markers(model: &Model) -> Vec<Value> {
    let points = model.markers.iter().filter(|marker| marker.vector.is_point);
    points
        .map(|marker| {
            let vector = &marker.vector;
            json!({ "name": marker.name, "body": vector.body.0, "point": vector.local.as_slice() })
        })
        .collect()
}

/// Parameters that are plain numbers, with a range to slide in.
fn parameters(model: &Model) -> Vec<Value> {
    let plain = model.parameters.iter().filter(|parameter| parameter.definition.is_none());
    plain
        .map(|parameter| {
            let x = parameter.value;
            let (low, high) = if x > 0.0 {
                (0.0, 2.0 * x)
            } else if x < 0.0 {
                (2.0 * x, 0.0)
            } else {
                (-1.0, 1.0)
            };
            json!({
                "name": parameter.name,
                "value": x,
                "unit": parameter.unit,
                "description": parameter.description,
                "min": parameter.min.unwrap_or(low.min(x)),
                "max": parameter.max.unwrap_or(high.max(x)),
            })
        })
        .collect()
}
