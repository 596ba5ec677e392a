//! A robot as the text of a model file.

use std::fmt::Write;

use gelenk_model::math::Vec3;
use nalgebra as na;

use crate::context::Context;
use crate::flat::{Body, Flat, Placed};
use crate::mass::{Mass, Pose};
use crate::number::{number, quoted, rotation, vector};
use crate::tree::{Freedom, Pair, Shape, Surface};

/// Writes the model file.
pub(crate) fn text(context: &mut Context, flat: &Flat) -> String {
    let robot = &flat.robot;
    let mut out = String::new();
    let format = if robot.format == "urdf" { "URDF" } else { "MJCF" };
    let source = context.sources.files().first().map_or("", |file| file.name.as_str());
    let source = source.rsplit(['/', '\\']).next().unwrap_or("");
    let source: String = source.chars().filter(|c| !c.is_control()).collect();
    let _ = write!(
        out,
        "# From the {format} file {source}, by `gelenk import`.\n[model]\nname = {}\ngravity = {}\n\n[run]\nstep = {}\n",
        quoted(&robot.name),
        vector(&robot.gravity),
        number(robot.step.unwrap_or(0.002)),
    );
    if !robot.inputs.is_empty() {
        out.push_str("\n# What actuators are told; a program in the loop sets them.\n[inputs]\n");
        for (name, value) in &robot.inputs {
            let _ = writeln!(out, "{name} = {}", number(*value));
        }
    }
    let materials = Materials::of(flat);
    materials.write(&mut out, &robot.pairs);
    for body in &flat.bodies {
        write_body(&mut out, body, &materials);
    }
    for placed in &flat.joints {
        write_joint(&mut out, placed);
    }
    write_rotors(&mut out, flat);
    write_closures(context, &mut out, flat);
    for coupling in &robot.couplings {
        let joint = |[link, which]: [usize; 2]| quoted(&robot.links[link].joints[which].name);
        let joints: Vec<String> = coupling.terms.iter().map(|(_, at)| joint(*at)).collect();
        let ratios: Vec<String> = coupling.terms.iter().map(|(r, _)| number(*r)).collect();
        let _ = write!(
            out,
            "\n[[gear]]\nname = \"{}\"\njoints = [{}]\nratios = [{}]\n",
            coupling.name,
            joints.join(", "),
            ratios.join(", ")
        );
    }
    write_cords(&mut out, flat);
    for (_, text) in &flat.forces {
        let _ = write!(out, "\n{text}");
    }
    for (name, body, place) in &flat.marks {
        let _ = write!(
            out,
            "\n[[marker]]\nname = \"{name}\"\nbody = \"{body}\"\nposition = {}\n",
            vector(place)
        );
    }
    for [a, b] in &flat.ignores {
        let _ = write!(out, "\n[[ignore]]\nbetween = [\"{a}\", \"{b}\"]\n");
    }
    out
}

/// Materials: one for each way to touch.
struct Materials {
    list: Vec<Surface>,
}

impl Materials {
    fn of(flat: &Flat) -> Self {
        let mut list: Vec<Surface> = Vec::new();
        for shape in flat.bodies.iter().flat_map(|body| &body.shapes) {
            let Some(key) = Self::key(shape) else { continue };
            if !list.contains(&key) {
                list.push(key);
            }
        }
        Materials { list }
    }

    /// What matters of a surface: who touches whom is said elsewhere.
    fn key(shape: &Shape) -> Option<Surface> {
        let surface = shape.surface.filter(|_| shape.touches)?;
        Some(Surface { contype: 0, conaffinity: 0, ..surface })
    }

    fn name(&self, shape: &Shape) -> Option<String> {
        let key = Self::key(shape)?;
        let at = self.list.iter().position(|known| *known == key)?;
        Some(format!("surface{at}"))
    }

    /// Values of a contact: friction as far as its dimension goes.
    fn values((dimension, [slide, spin, roll]): (u8, [f64; 3])) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "friction = {}", number(if dimension > 1 { slide } else { 0.0 }));
        if dimension >= 4 {
            let _ = writeln!(out, "torsional_friction = {}", number(spin));
        }
        if dimension >= 6 {
            let _ = writeln!(out, "rolling_friction = {}", number(roll));
        }
        out
    }

    fn write(&self, out: &mut String, pairs: &[Pair]) {
        for (i, key) in self.list.iter().enumerate() {
            let values = Self::values((key.dimension, key.friction));
            let _ = write!(out, "\n[[material]]\nname = \"surface{i}\"\n{values}");
        }
        for (i, a) in self.list.iter().enumerate() {
            for (j, b) in self.list.iter().enumerate().skip(i + 1) {
                let values = Self::values(Self::between(a, b, pairs));
                let _ = write!(
                    out,
                    "\n[[contact]]\nmaterials = [\"surface{i}\", \"surface{j}\"]\n{values}"
                );
            }
        }
    }

    /// A pair's own values, else those of the surface with the higher priority, else the larger of both, as in MuJoCo.
    fn between(a: &Surface, b: &Surface, pairs: &[Pair]) -> (u8, [f64; 3]) {
        if let (Some(x), Some(y)) = (a.own, b.own)
            && let Some(pair) = pairs.iter().find(|pair| pair.own == [x, y] || pair.own == [y, x])
        {
            return (pair.dimension, pair.friction);
        }
        if a.priority != b.priority {
            let first = if a.priority > b.priority { a } else { b };
            return (first.dimension, first.friction);
        }
        let larger = [0, 1, 2].map(|k| a.friction[k].max(b.friction[k]));
        (a.dimension.max(b.dimension), larger)
    }
}

fn place(out: &mut String, pose: &Pose) {
    if pose.translation.vector.amax() > 1e-15 {
        let _ = writeln!(out, "position = {}", vector(&pose.translation.vector));
    }
    if pose.rotation.angle() > 1e-15 {
        let _ = writeln!(out, "rotation = {}", rotation(&pose.rotation));
    }
}

fn write_body(out: &mut String, body: &Body, materials: &Materials) {
    out.push('\n');
    if let Some(comment) = &body.comment {
        let comment: String = comment.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(out, "# {comment}");
    }
    let _ = writeln!(out, "[[body]]\nname = \"{}\"", body.name);
    if body.fixed {
        out.push_str("fixed = true\n");
    } else {
        write_mass(out, &body.mass);
    }
    place(out, &body.pose);
    if body.velocity.amax() > 0.0 {
        let _ = writeln!(out, "velocity = {}", vector(&body.velocity));
    }
    if body.omega.amax() > 0.0 {
        let _ = writeln!(out, "angular_velocity = {}", vector(&body.omega));
    }
    if body.shapes.iter().any(|shape| shape.touches) {
        out.push_str("collide = true\n");
    }
    if let Some(group) = &body.group {
        let _ = writeln!(out, "group = \"{group}\"");
    }
    if body.shapes.is_empty() {
        return;
    }
    out.push_str("shapes = [\n");
    for shape in &body.shapes {
        let _ = write!(out, "  {{ {}", shape.geometry);
        if shape.pose.translation.vector.amax() > 1e-15 {
            let _ = write!(out, ", position = {}", vector(&shape.pose.translation.vector));
        }
        if shape.pose.rotation.angle() > 1e-15 {
            let _ = write!(out, ", rotation = {}", rotation(&shape.pose.rotation));
        }
        if !shape.touches {
            out.push_str(", physical = false");
        }
        if let Some(material) = materials.name(shape) {
            let _ = write!(out, ", material = \"{material}\"");
        }
        if let Some([r, g, b]) = shape.color {
            let _ = write!(out, ", color = [{}, {}, {}]", number(r), number(g), number(b));
        }
        out.push_str(" },\n");
    }
    out.push_str("]\n");
}

fn write_mass(out: &mut String, mass: &Mass) {
    let _ = writeln!(out, "mass = {}", exact(mass.mass));
    let t = &mass.inertia;
    let off = [t[(0, 1)], t[(0, 2)], t[(1, 2)]];
    let diagonal = [t[(0, 0)], t[(1, 1)], t[(2, 2)]].map(exact);
    if off.iter().all(|x| x.abs() <= 1e-15 * t.amax()) {
        let _ = writeln!(out, "inertia = [{}]", diagonal.join(", "));
    } else {
        let [xx, yy, zz] = diagonal;
        let [xy, xz, yz] = off.map(exact);
        let _ = writeln!(
            out,
            "inertia = {{ xx = {xx}, yy = {yy}, zz = {zz}, xy = {xy}, xz = {xz}, yz = {yz} }}"
        );
    }
    let _ = writeln!(out, "center_of_mass = {}", vector(&mass.center));
}

/// A number that may be very small and is no noise.
fn exact(x: f64) -> String {
    if x == 0.0 { "0".to_owned() } else { format!("{x:?}") }
}

fn write_joint(out: &mut String, placed: &Placed) {
    let Placed { joint, bodies: [a, b], point, axis } = placed;
    let kind = match joint.freedom {
        Freedom::Hinge => "hinge",
        Freedom::Slide => "slider",
        Freedom::Ball => "ball",
        Freedom::Free => return,
    };
    let _ = write!(
        out,
        "\n[[joint]]\nname = \"{}\"\ntype = \"{kind}\"\nbetween = [\"{a}\", \"{b}\"]\npoint = {}\n",
        joint.name,
        vector(point)
    );
    if joint.freedom == Freedom::Ball {
        return;
    }
    let _ = writeln!(out, "axis = {}", vector(axis));
    if joint.start != 0.0 {
        let _ = writeln!(out, "drawn_at = {}", number(joint.start));
    }
    if let Some([low, high]) = joint.limits {
        let ends = [("min", low), ("max", high)];
        let ends: Vec<String> = ends
            .iter()
            .filter(|(_, x)| x.is_finite())
            .map(|(key, x)| format!("{key} = {}", number(*x)))
            .collect();
        if !ends.is_empty() {
            let _ = writeln!(out, "limits = {{ {} }}", ends.join(", "));
        }
    }
    if joint.stiffness > 0.0 {
        let (k, rest) = (number(joint.stiffness), number(joint.rest));
        let _ = writeln!(out, "stiffness = {k}\nrest = {rest}");
    }
    if joint.damping > 0.0 {
        let _ = writeln!(out, "damping = {}", number(joint.damping));
    }
    if joint.friction > 0.0 {
        let _ = writeln!(out, "friction = {}", number(joint.friction));
    }
    for (key, list) in [("drive", &joint.drives), ("motor", &joint.motors)] {
        match list.as_slice() {
            [] => {}
            [one] => {
                let _ = writeln!(out, "{key} = {one}");
            }
            many => {
                let _ = writeln!(out, "{key} = [{}]", many.join(", "));
            }
        }
    }
    if joint.locked {
        let (key, start) = (joint.coordinate(), number(joint.start));
        let _ = writeln!(out, "motion = {{ {key} = {start} }}");
    }
}

fn write_rotors(out: &mut String, flat: &Flat) {
    if flat.rotors.is_empty() {
        return;
    }
    out.push_str(
        "\n# The inertia of a motor's rotor as its joint feels it (armature): a flywheel beside the robot that turns with the joint.\n\
         # Its weight hangs in its bearing; the number of its mass does not matter.\n\
         [part.rotor.parameters]\narmature = 1\nrate = 0\n\n\
         [[part.rotor.body]]\nname = \"rotor\"\nmass = \"armature\"\ninertia = [\"armature\", \"armature\", \"armature\"]\nangular_velocity = [0, 0, \"rate\"]\n\n\
         [[part.rotor.joint]]\nname = \"rotor\"\ntype = \"hinge\"\nbetween = [\"world\", \"rotor\"]\npoint = [0, 0, 0]\naxis = [0, 0, 1]\n\n\
         [[part.rotor.gear]]\nname = \"rotor\"\njoints = [\"driven\", \"rotor\"]\nratio = 1\n",
    );
    for rotor in &flat.rotors {
        let rate = if rotor.rate == 0.0 {
            String::new()
        } else {
            format!(", rate = {}", number(rotor.rate))
        };
        let _ = write!(
            out,
            "\n[[instance]]\npart = \"rotor\"\nprefix = \"{}\"\nparameters = {{ armature = {}{rate} }}\nconnect = {{ driven = \"{}\" }}\n",
            rotor.prefix,
            exact(rotor.armature),
            rotor.joint
        );
    }
}

/// A point of a link as a point of its body, and the body's name; the world for links that never move.
fn on_body(flat: &Flat, places: &[Pose], link: usize, point: &Vec3) -> (String, Vec3) {
    let (carrier, frame) = flat.carriers[link];
    if carrier == 0 {
        ("world".to_owned(), (places[link] * na::Point3::from(*point)).coords)
    } else {
        (flat.body_of[carrier].clone(), (frame * na::Point3::from(*point)).coords)
    }
}

/// The same for a direction.
fn turned(flat: &Flat, places: &[Pose], link: usize, axis: &Vec3) -> Vec3 {
    let (carrier, frame) = flat.carriers[link];
    if carrier == 0 { places[link].rotation * axis } else { frame.rotation * axis }
}

fn write_closures(context: &mut Context, out: &mut String, flat: &Flat) {
    let places = flat.robot.places(true);
    for closure in &flat.robot.closures {
        let ends = [0, 1].map(|k| on_body(flat, &places, closure.links[k], &closure.anchors[k]));
        let [(a, at_a), (b, at_b)] = &ends;
        if a == b {
            let text = "conditions between links that are one body";
            let span = flat.robot.links[closure.links[0]].span;
            context.dropped(text, &format!("`{}`", closure.name), span);
            continue;
        }
        let _ = write!(
            out,
            "\n[[joint]]\nname = \"{}\"\ntype = \"{}\"\nbetween = [\"{a}\", \"{b}\"]\n",
            closure.name, closure.kind
        );
        if closure.kind == "fixed" {
            continue;
        }
        let _ = writeln!(out, "anchors = [{}, {}]", vector(at_a), vector(at_b));
        if let Some(axes) = &closure.axes {
            let [x, y] = [0, 1].map(|k| vector(&turned(flat, &places, closure.links[k], &axes[k])));
            let _ = writeln!(out, "axes = [{x}, {y}]");
        }
        if flat.robot.touches_itself {
            out.push_str("collide = true\n");
        }
    }
}

fn write_cords(out: &mut String, flat: &Flat) {
    let places = flat.robot.places(true);
    for cord in &flat.robot.cords {
        let ends = [0, 1].map(|k| on_body(flat, &places, cord.links[k], &cord.anchors[k]));
        let [(a, at_a), (b, at_b)] = &ends;
        if a == b {
            continue;
        }
        let between = format!(
            "between = [\"{a}\", \"{b}\"]\nanchors = [{}, {}]\n",
            vector(at_a),
            vector(at_b)
        );
        let name = &cord.name;
        if let Some((stiffness, length)) = cord.spring {
            let _ = write!(
                out,
                "\n[[spring]]\nname = \"{name}\"\n{between}stiffness = {}\n",
                number(stiffness)
            );
            if let Some(length) = length {
                let _ = writeln!(out, "length = {}", number(length));
            }
            if cord.damping > 0.0 {
                let _ = writeln!(out, "damping = {}", number(cord.damping));
            }
        } else if cord.damping > 0.0 {
            let _ = write!(
                out,
                "\n[[damper]]\nname = \"{name}\"\n{between}damping = {}\n",
                number(cord.damping)
            );
        }
        if let Some(longest) = cord.longest {
            let _ = write!(
                out,
                "\n[[joint]]\nname = \"{name}\"\ntype = \"rope\"\n{between}length = {}\ncollide = true\n",
                number(longest)
            );
        }
    }
}
