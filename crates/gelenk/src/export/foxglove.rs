//! MCAP with Foxglove's own schemas: the 3D panel of Foxglove and Rerun show it without a word about Gelenk.
//!
//! | topic | schema | messages |
//! |---|---|---|
//! | `/tf` | `foxglove.FrameTransforms` | every sample: a frame a body, by its name, in `world` |
//! | `/scene` | `foxglove.SceneUpdate` | once: the shapes, each locked to its body's frame |
//! | `/values` | `gelenk.Values` | every sample: joint coordinates and velocities, energy, by name, for plots |
//!
//! All messages are JSON with a JSON Schema.

use std::collections::BTreeMap;
use std::io::Write;

use gelenk_model::math::{Quat, Vec3};
use gelenk_model::shape::{Geometry, Shape};
use gelenk_model::{BodyKind, Model, Pose, Sample};
use mcap::records::MessageHeader;
use mcap::write::{NoSeek, WriteOptions};
use serde_json::{Map, Value, json};

use super::gltf::{colors, rgb, shapes};
use super::surface::Triangles;
use super::{Columns, ExportError};
use crate::recording::{RecordedSample, RecordingError};
use crate::svg::Color;

/// How large bodies without a shape are drawn, m.
const SPECK: f64 = 0.02;

/// Writes samples as MCAP with Foxglove's schemas; gives their number.
pub fn write_foxglove(
    model: &Model,
    samples: impl IntoIterator<Item = Result<RecordedSample, RecordingError>>,
    writer: impl Write,
) -> Result<u64, ExportError> {
    let options = WriteOptions::new()
        .compression(None)
        .disable_seeking(true)
        .profile("")
        .library(format!("gelenk {}", crate::VERSION));
    let mut file = options.create(NoSeek::new(writer)).map_err(|error| failed(&error))?;
    let mut topics = Vec::new();
    for (topic, name, schema) in [
        ("/tf", "foxglove.FrameTransforms", transforms_schema()),
        ("/scene", "foxglove.SceneUpdate", scene_schema()),
        ("/values", "gelenk.Values", values_schema()),
    ] {
        let text = schema.to_string();
        let schema =
            file.add_schema(name, "jsonschema", text.as_bytes()).map_err(|e| failed(&e))?;
        let channel = file.add_channel(schema, topic, "json", &BTreeMap::new());
        topics.push(channel.map_err(|error| failed(&error))?);
    }
    let mut sequence = [0u32; 3];
    let mut send = |which: usize, time: f64, message: &Value| -> Result<(), ExportError> {
        let time = nanoseconds(time);
        let header = MessageHeader {
            channel_id: topics[which],
            sequence: sequence[which],
            log_time: time,
            publish_time: time,
        };
        sequence[which] += 1;
        let text = message.to_string();
        file.write_to_known_channel(&header, text.as_bytes()).map_err(|error| failed(&error))
    };
    let mut columns = Columns::new(model);
    let wanted: Vec<(usize, String)> = columns
        .columns()
        .iter()
        .enumerate()
        .filter(|(_, column)| {
            let name = &column.name;
            name.starts_with("energy.")
                || (name.starts_with("joint.")
                    && !name.contains(".force")
                    && !name.contains(".torque"))
        })
        .map(|(i, column)| (i, column.name.clone()))
        .collect();
    let (mut row, mut n) = (Vec::new(), 0);
    for sample in samples {
        let sample = sample?;
        let sample = sample.as_sample();
        let t = sample.state.t;
        columns.row(&sample, &mut row)?;
        if n == 0 {
            send(1, t, &scene(model, t))?;
        }
        send(0, t, &transforms(model, &sample))?;
        let mut values = Map::from_iter([("time".to_owned(), json!(t))]);
        values.extend(wanted.iter().map(|(i, name)| (name.clone(), json!(row[*i]))));
        send(2, t, &Value::Object(values))?;
        n += 1;
    }
    file.finish().map_err(|error| failed(&error))?;
    Ok(n)
}

fn failed(error: &mcap::McapError) -> ExportError {
    ExportError::Write(std::io::Error::other(error.to_string()))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn nanoseconds(time: f64) -> u64 {
    (time * 1e9).round().max(0.0) as u64
}

fn timestamp(time: f64) -> Value {
    let all = nanoseconds(time);
    json!({ "sec": all / 1_000_000_000, "nsec": all % 1_000_000_000 })
}

fn xyz(v: &Vec3) -> Value {
    json!({ "x": v.x, "y": v.y, "z": v.z })
}

fn xyzw(q: &Quat) -> Value {
    json!({ "x": q.i, "y": q.j, "z": q.k, "w": q.w })
}

fn transforms(model: &Model, sample: &Sample<'_>) -> Value {
    let state = sample.state;
    let mut poses = vec![Pose::identity(); model.n_bodies()];
    state.write_poses(&mut poses);
    let stamp = timestamp(state.t);
    let list: Vec<Value> = (1..model.n_bodies())
        .map(|i| {
            let body = &model.bodies[i];
            let rotation = match body.kind {
                BodyKind::Rigid => state.rot[i] * body.frame_rot,
                _ => Quat::identity(),
            };
            json!({
                "timestamp": stamp,
                "parent_frame_id": "world",
                "child_frame_id": body.name,
                "translation": xyz(&body.frame_pose(&poses[i]).s),
                "rotation": xyzw(&rotation),
            })
        })
        .collect();
    json!({ "transforms": list })
}

fn scene(model: &Model, time: f64) -> Value {
    let palette = colors(model);
    let mut entities = Vec::new();
    for i in 0..model.n_bodies() {
        let mut lists: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for shape in shapes(model, i, SPECK) {
            let color = shape.color.map_or(palette[i], rgb);
            let (kind, value) = primitive(&shape, color);
            lists.entry(kind).or_default().push(value);
        }
        if lists.is_empty() {
            continue;
        }
        let name = if i == 0 { "world" } else { model.bodies[i].name.as_str() };
        let mut entity = json!({
            "timestamp": timestamp(time),
            "frame_id": name,
            "id": name,
            "lifetime": { "sec": 0, "nsec": 0 },
            "frame_locked": true,
            "metadata": [],
        });
        let kinds =
            ["arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models"];
        for kind in kinds {
            entity[kind] = Value::Array(lists.remove(kind).unwrap_or_default());
        }
        entities.push(entity);
    }
    json!({ "deletions": [], "entities": entities })
}

/// A shape as one of Foxglove's primitives.
fn primitive(shape: &Shape, color: Color) -> (&'static str, Value) {
    let part = |byte: u8| f64::from(byte) / 255.0;
    let color = json!({ "r": part(color.0), "g": part(color.1), "b": part(color.2), "a": 1.0 });
    let pose = json!({ "position": xyz(&shape.position), "orientation": xyzw(&shape.rotation) });
    let round = |r: f64, length: f64, top: f64| {
        let size = Vec3::new(2.0 * r, 2.0 * r, length);
        json!({ "pose": pose, "size": xyz(&size), "bottom_scale": 1.0, "top_scale": top, "color": color })
    };
    match &shape.geometry {
        Geometry::Box { size } => {
            ("cubes", json!({ "pose": pose, "size": xyz(size), "color": color }))
        }
        Geometry::Sphere { radius } => {
            let size = Vec3::repeat(2.0 * radius);
            ("spheres", json!({ "pose": pose, "size": xyz(&size), "color": color }))
        }
        Geometry::Cylinder { radius, length } | Geometry::Rod { length, radius } => {
            ("cylinders", round(*radius, *length, 1.0))
        }
        Geometry::Cone { radius, length } => ("cylinders", round(*radius, *length, 0.0)),
        other => {
            let surface = Triangles::of(other);
            let points: Vec<Value> = surface.corners.iter().map(xyz).collect();
            let indices: Vec<u32> = surface.indices.iter().flatten().copied().collect();
            let value = json!({
                "pose": pose, "points": points, "color": color, "colors": [], "indices": indices,
            });
            ("triangles", value)
        }
    }
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn numbers(names: &[&str]) -> Value {
    let properties = names.iter().map(|name| ((*name).to_owned(), json!({ "type": "number" })));
    object(Value::Object(properties.collect()))
}

fn time_schema() -> Value {
    let part = json!({ "type": "integer", "minimum": 0 });
    json!({ "type": "object", "title": "time", "properties": { "sec": part, "nsec": part } })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn transforms_schema() -> Value {
    let transform = object(json!({
        "timestamp": time_schema(),
        "parent_frame_id": text(),
        "child_frame_id": text(),
        "translation": numbers(&["x", "y", "z"]),
        "rotation": numbers(&["x", "y", "z", "w"]),
    }));
    let mut schema = object(json!({ "transforms": list(transform) }));
    schema["title"] = "foxglove.FrameTransforms".into();
    schema
}

fn scene_schema() -> Value {
    let duration = json!({
        "type": "object", "title": "duration",
        "properties": { "sec": { "type": "integer" }, "nsec": { "type": "integer" } },
    });
    let pose = object(json!({
        "position": numbers(&["x", "y", "z"]), "orientation": numbers(&["x", "y", "z", "w"]),
    }));
    let (size, color) = (numbers(&["x", "y", "z"]), numbers(&["r", "g", "b", "a"]));
    let number = json!({ "type": "number" });
    let cube = object(json!({ "pose": pose, "size": size, "color": color }));
    let cylinder = object(json!({
        "pose": pose, "size": size, "bottom_scale": number, "top_scale": number, "color": color,
    }));
    let triangles = object(json!({
        "pose": pose, "points": list(numbers(&["x", "y", "z"])), "color": color,
        "colors": list(color.clone()), "indices": list(json!({ "type": "integer" })),
    }));
    let other = list(object(json!({})));
    let entity = object(json!({
        "timestamp": time_schema(),
        "frame_id": text(),
        "id": text(),
        "lifetime": duration,
        "frame_locked": { "type": "boolean" },
        "metadata": list(object(json!({ "key": text(), "value": text() }))),
        "arrows": other,
        "cubes": list(cube.clone()),
        "spheres": list(cube),
        "cylinders": list(cylinder),
        "lines": other,
        "triangles": list(triangles),
        "texts": other,
        "models": other,
    }));
    let deletion = object(json!({
        "timestamp": time_schema(), "type": { "type": "integer" }, "id": text(),
    }));
    let mut schema = object(json!({ "deletions": list(deletion), "entities": list(entity) }));
    schema["title"] = "foxglove.SceneUpdate".into();
    schema
}

fn values_schema() -> Value {
    json!({ "type": "object", "title": "gelenk.Values", "additionalProperties": { "type": "number" } })
}
