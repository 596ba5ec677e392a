//! glTF 2.0: shapes and motion for Blender, browsers and engines (<https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html>).

use gelenk_model::math::{Quat, Vec3};
use gelenk_model::shape::{Geometry, Shape};
use gelenk_model::{BodyKind, Model, State};
use serde_json::{Value, json};

use super::surface::Triangles;
use crate::svg::Color;

const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// The motion as a binary glTF file (`.glb`): one node a body, animated; y up, metres, quaternions x y z w, 32-bit floats.
///
/// The root node turns z up into y up. Rods without mass, springs and ropes are not in it.
pub fn to_glb(model: &Model, states: &[(f64, State)]) -> Vec<u8> {
    let (mut document, mut binary) = build(model, states);
    while binary.len() % 4 != 0 {
        binary.push(0);
    }
    document["buffers"] = json!([{ "byteLength": binary.len() }]);
    let mut text = document.to_string().into_bytes();
    while text.len() % 4 != 0 {
        text.push(b' ');
    }
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut out = Vec::with_capacity(28 + text.len() + binary.len());
    out.extend_from_slice(b"glTF");
    out.extend_from_slice(&2u32.to_le_bytes());
    out.extend_from_slice(&size(28 + text.len() + binary.len()));
    out.extend_from_slice(&size(text.len()));
    out.extend_from_slice(b"JSON");
    out.append(&mut text);
    out.extend_from_slice(&size(binary.len()));
    out.extend_from_slice(b"BIN\0");
    out.append(&mut binary);
    out
}

/// The same as one JSON file (`.gltf`) with the numbers inside.
pub fn to_gltf(model: &Model, states: &[(f64, State)]) -> String {
    let (mut document, binary) = build(model, states);
    let data = crate::recording::base64::encode(&binary);
    let uri = format!("data:application/octet-stream;base64,{data}");
    document["buffers"] = json!([{ "byteLength": binary.len(), "uri": uri }]);
    document.to_string()
}

/// What is collected on the way.
#[derive(Default)]
struct Writer {
    binary: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    meshes: Vec<Value>,
    materials: Vec<Value>,
    colors: Vec<Color>,
    nodes: Vec<Value>,
}

impl Writer {
    /// Adds numbers; gives the accessor's index.
    fn floats(
        &mut self,
        rows: &[Vec<f32>],
        kind: &str,
        bounds: bool,
        target: Option<u32>,
    ) -> usize {
        let offset = self.binary.len();
        for x in rows.iter().flatten() {
            self.binary.extend_from_slice(&x.to_le_bytes());
        }
        let view = self.view(offset, target);
        let mut accessor = json!({
            "bufferView": view, "componentType": FLOAT, "count": rows.len(), "type": kind,
        });
        if bounds && !rows.is_empty() {
            let width = rows[0].len();
            let fold = |start: f32, pick: fn(f32, f32) -> f32| -> Vec<f32> {
                (0..width).map(|k| rows.iter().map(|row| row[k]).fold(start, pick)).collect()
            };
            accessor["min"] = json!(fold(f32::INFINITY, f32::min));
            accessor["max"] = json!(fold(f32::NEG_INFINITY, f32::max));
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn view(&mut self, offset: usize, target: Option<u32>) -> usize {
        let mut view =
            json!({ "buffer": 0, "byteOffset": offset, "byteLength": self.binary.len() - offset });
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.views.push(view);
        self.views.len() - 1
    }

    fn material(&mut self, color: Color) -> usize {
        if let Some(known) = self.colors.iter().position(|other| *other == color) {
            return known;
        }
        // Colours are given as screens take them; glTF wants them linear.
        let linear = |byte: u8| {
            let x = f64::from(byte) / 255.0;
            if x <= 0.040_45 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
        };
        let Color(r, g, b) = color;
        self.colors.push(color);
        self.materials.push(json!({
            "name": color.to_string(),
            "pbrMetallicRoughness": {
                "baseColorFactor": [linear(r), linear(g), linear(b), 1.0],
                "metallicFactor": 0.1,
                "roughnessFactor": 0.6,
            },
        }));
        self.colors.len() - 1
    }

    /// A mesh of a surface; `None` if there is nothing of it.
    fn mesh(&mut self, surface: &Triangles, color: Color) -> Option<usize> {
        if surface.indices.is_empty() {
            return None;
        }
        let corners: Vec<Vec<f32>> = surface.corners.iter().map(vector).collect();
        let normals: Vec<Vec<f32>> = surface.normals.iter().map(vector).collect();
        let position = self.floats(&corners, "VEC3", true, Some(ARRAY_BUFFER));
        let normal = self.floats(&normals, "VEC3", false, Some(ARRAY_BUFFER));
        let offset = self.binary.len();
        for i in surface.indices.iter().flatten() {
            self.binary.extend_from_slice(&i.to_le_bytes());
        }
        let view = self.view(offset, Some(ELEMENT_ARRAY_BUFFER));
        self.accessors.push(json!({
            "bufferView": view, "componentType": UNSIGNED_INT,
            "count": 3 * surface.indices.len(), "type": "SCALAR",
        }));
        let indices = self.accessors.len() - 1;
        let material = self.material(color);
        self.meshes.push(json!({ "primitives": [{
            "attributes": { "POSITION": position, "NORMAL": normal },
            "indices": indices,
            "material": material,
        }] }));
        Some(self.meshes.len() - 1)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "glTF has 32-bit floats")]
fn single(x: f64) -> f32 {
    x as f32
}

fn vector(v: &Vec3) -> Vec<f32> {
    v.iter().map(|x| single(*x)).collect()
}

/// x y z w, of unit length as 32-bit numbers.
fn quaternion(q: &Quat) -> Vec<f32> {
    [q.i, q.j, q.k, q.w].map(single).to_vec()
}

fn place(node: &mut Value, position: &Vec3, rotation: &Quat) {
    if position.amax() > 0.0 {
        node["translation"] = json!(vector(position));
    }
    if rotation.angle() > 0.0 {
        node["rotation"] = json!(quaternion(rotation));
    }
}

/// How large point masses and bodies without shape are drawn: a part of the scene.
pub(crate) fn speck(model: &Model, states: &[(f64, State)]) -> f64 {
    let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    for (_, state) in states {
        for (i, s) in state.s.iter().enumerate() {
            let moves = model.bodies.get(i).is_some_and(|body| !body.fixed && !body.is_charge);
            if moves && s.iter().all(|x| x.is_finite()) {
                (low, high) = (low.inf(s), high.sup(s));
            }
        }
    }
    let size = if low.x <= high.x { (high - low).norm() } else { 0.0 };
    if size > 0.0 { 0.012 * size } else { 0.02 }
}

/// Colour of a shape: its own, its body's, or the body's number among those that move.
pub(crate) fn colors(model: &Model) -> Vec<Color> {
    let n = model.bodies.iter().filter(|body| !body.fixed).count();
    let mut moving = 0;
    let mut list = Vec::with_capacity(model.bodies.len());
    for body in &model.bodies {
        let own = body.color.map(rgb);
        list.push(own.unwrap_or_else(|| {
            if body.fixed { Color(0xb8, 0xbc, 0xc4) } else { Color::of(moving, n) }
        }));
        moving += usize::from(!body.fixed);
    }
    list
}

/// A colour of a model, from 0 to 1, as bytes.
pub(crate) fn rgb(color: [f64; 3]) -> Color {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to a byte")]
    let [r, g, b] = color.map(|x| (x.clamp(0.0, 1.0) * 255.0).round() as u8);
    Color(r, g, b)
}

/// The shapes of a body; a small ball for a point, and for bodies where none has a shape.
pub(crate) fn shapes(model: &Model, body: usize, speck: f64) -> Vec<Shape> {
    let body = &model.bodies[body];
    if body.is_charge {
        return Vec::new(); // It has no place in space.
    }
    // Light bodies between joints, rotors and the like are not worth a ball where others have shapes.
    let others = model.bodies.iter().any(|body| !body.fixed && !body.shapes.is_empty());
    if !body.shapes.is_empty() || body.fixed || body.kind == BodyKind::Rigid && others {
        return body.shapes.clone();
    }
    let mut ball = Shape::new(Geometry::Sphere { radius: speck });
    if body.kind == BodyKind::Rigid {
        // The centre of mass, seen from the file's frame.
        ball.position = body.frame_rot.inverse() * -body.frame_origin;
    }
    vec![ball]
}

fn build(model: &Model, states: &[(f64, State)]) -> (Value, Vec<u8>) {
    let mut out = Writer::default();
    let turn = std::f32::consts::FRAC_1_SQRT_2;
    out.nodes.push(json!({ "name": model.name, "rotation": [-turn, 0.0, 0.0, turn] }));
    let palette = colors(model);
    let speck = speck(model, states);
    let frames = frames(model, states);
    let mut roots = Vec::new();
    let mut animated = Vec::new();
    for i in 0..model.n_bodies() {
        let shapes = shapes(model, i, speck);
        if shapes.is_empty() && (model.bodies[i].fixed || model.bodies[i].is_charge) {
            continue;
        }
        let mut children = Vec::new();
        for shape in &shapes {
            let color = shape.color.map_or(palette[i], rgb);
            let Some(mesh) = out.mesh(&Triangles::of(&shape.geometry), color) else { continue };
            let mut node = json!({ "mesh": mesh });
            place(&mut node, &shape.position, &shape.rotation);
            out.nodes.push(node);
            children.push(out.nodes.len() - 1);
        }
        let mut node = json!({ "name": model.bodies[i].name });
        if !children.is_empty() {
            node["children"] = json!(children);
        }
        if let Some((position, rotation)) = frames.places.first().map(|first| first[i]) {
            place(&mut node, &position, &rotation);
        }
        out.nodes.push(node);
        roots.push(out.nodes.len() - 1);
        if !model.bodies[i].fixed {
            animated.push((i, out.nodes.len() - 1));
        }
    }
    out.nodes[0]["children"] = json!(roots);
    let animation = animation(&mut out, model, &frames, &animated);
    let mut document = json!({
        "asset": { "version": "2.0", "generator": format!("Gelenk {}", crate::VERSION) },
        "scene": 0,
        "scenes": [{ "name": model.name, "nodes": [0] }],
        "nodes": out.nodes,
    });
    let lists = [
        ("meshes", out.meshes),
        ("materials", out.materials),
        ("accessors", out.accessors),
        ("bufferViews", out.views),
        ("animations", animation.into_iter().collect()),
    ];
    // Lists of glTF are not empty.
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        document[name] = Value::Array(list);
    }
    if roots.is_empty()
        && let Some(root) = document["nodes"][0].as_object_mut()
    {
        root.remove("children");
    }
    (document, out.binary)
}

/// Times and places of all bodies by their file frames.
struct Frames {
    times: Vec<f32>,
    /// (frames × bodies)
    places: Vec<Vec<(Vec3, Quat)>>,
}

/// Frames with finite numbers, at times that grow as 32-bit numbers.
fn frames(model: &Model, states: &[(f64, State)]) -> Frames {
    let mut frames = Frames { times: Vec::new(), places: Vec::new() };
    let start = states.first().map_or(0.0, |(t, _)| *t);
    let mut poses = vec![gelenk_model::Pose::identity(); model.n_bodies()];
    for (t, state) in states {
        let time = single(t - start);
        if frames.times.last().is_some_and(|last| time <= *last) || state.s.len() != poses.len() {
            continue;
        }
        state.write_poses(&mut poses);
        let places: Vec<(Vec3, Quat)> = model
            .bodies
            .iter()
            .enumerate()
            .map(|(i, body)| {
                let position = body.frame_pose(&poses[i]).s;
                let mut rotation = state.rot[i] * body.frame_rot;
                // The shorter way from frame to frame.
                let before = frames.places.last().map(|last: &Vec<(Vec3, Quat)>| last[i].1);
                if before.is_some_and(|q| q.coords.dot(&rotation.coords) < 0.0) {
                    rotation = Quat::new_unchecked(-rotation.into_inner());
                }
                (position, rotation)
            })
            .collect();
        let finite = |v: &Vec3| v.iter().all(|x| single(*x).is_finite());
        if places.iter().all(|(x, q)| finite(x) && q.coords.iter().all(|c| c.is_finite())) {
            frames.times.push(time);
            frames.places.push(places);
        }
    }
    frames
}

fn animation(
    out: &mut Writer,
    model: &Model,
    frames: &Frames,
    animated: &[(usize, usize)],
) -> Option<Value> {
    if frames.times.len() < 2 || animated.is_empty() {
        return None;
    }
    let times: Vec<Vec<f32>> = frames.times.iter().map(|t| vec![*t]).collect();
    let input = out.floats(&times, "SCALAR", true, None);
    let (mut channels, mut samplers) = (Vec::new(), Vec::new());
    for &(body, node) in animated {
        let path = |out: &mut Writer, rows: Vec<Vec<f32>>, kind: &str| {
            out.floats(&rows, kind, false, None)
        };
        let positions = frames.places.iter().map(|all| vector(&all[body].0)).collect();
        let mut tracks = vec![("translation", path(out, positions, "VEC3"))];
        if model.bodies[body].kind == BodyKind::Rigid {
            let turns = frames.places.iter().map(|all| quaternion(&all[body].1)).collect();
            tracks.push(("rotation", path(out, turns, "VEC4")));
        }
        for (path, output) in tracks {
            channels.push(
                json!({ "sampler": samplers.len(), "target": { "node": node, "path": path } }),
            );
            samplers.push(json!({ "input": input, "output": output, "interpolation": "LINEAR" }));
        }
    }
    Some(json!({ "name": "motion", "channels": channels, "samplers": samplers }))
}
