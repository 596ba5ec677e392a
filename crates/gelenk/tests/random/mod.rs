//! Random machines as model files: trees and loops of all joints, with springs, dampers, servos, stops, dry friction and contact.
//!
//! A machine is drawn with its joints closed, at random velocities that need not fit them. Its file can be written in another frame, with other
//! units of length and mass, and with its bodies and joints in another order: the motion is the same.

use std::fmt::Write;

use gelenk::model::math::{Quat, Vec3};

/// Random numbers (SplitMix64): the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From `low` to `high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// True with a probability.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// 0 to n − 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.bits() % n.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn vector(&mut self, size: f64) -> Vec3 {
        Vec3::new(self.between(-size, size), self.between(-size, size), self.between(-size, size))
    }

    pub(crate) fn direction(&mut self) -> Vec3 {
        loop {
            let v = self.vector(1.0);
            if (0.1..1.0).contains(&v.norm()) {
                return v.normalize();
            }
        }
    }

    pub(crate) fn rotation(&mut self) -> Quat {
        let axis = nalgebra::Unit::new_normalize(self.direction());
        Quat::from_axis_angle(&axis, self.between(-3.0, 3.0))
    }
}

/// What a machine may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Joints, springs, dampers, servos: all engines run it.
    Smooth,
    /// The same with stops, ropes and dry friction: impulse and dae.
    Bounded,
    /// Bodies that touch: impulse alone.
    Contact,
}

#[derive(Clone, Debug)]
struct Body {
    name: String,
    mass: f64,
    /// Principal moments; none: a point.
    inertia: Option<Vec3>,
    shape: Option<[f64; 3]>,
    position: Vec3,
    rotation: Quat,
    velocity: Vec3,
    omega: Vec3,
}

/// A number with its unit: powers of length and mass.
#[derive(Clone, Copy, Debug)]
struct Quantity(f64, i32, i32);

#[derive(Clone, Debug)]
struct Joint {
    name: String,
    kind: &'static str,
    between: [String; 2],
    points: Vec<Vec3>,
    axes: Vec<Vec3>,
    /// Lists by coordinate.
    lists: Vec<(&'static str, Vec<Quantity>)>,
    numbers: Vec<(&'static str, Quantity)>,
    /// Lines written as they are, with quantities for `{}` in turn.
    lines: Vec<(String, Vec<Quantity>)>,
}

#[derive(Clone, Debug)]
struct Line {
    damper: bool,
    name: String,
    between: [String; 2],
    points: [Vec3; 2],
    stiffness: f64,
    damping: f64,
}

/// A machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) family: Family,
    gravity: Vec3,
    bodies: Vec<Body>,
    joints: Vec<Joint>,
    lines: Vec<Line>,
    /// Friction and restitution of what touches.
    material: [f64; 2],
}

/// Where and in what units a machine is written.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) turn: Quat,
    pub(crate) origin: Vec3,
    pub(crate) length: f64,
    pub(crate) mass: f64,
    /// Bodies and joints from the last to the first.
    pub(crate) backwards: bool,
}

impl Default for Frame {
    fn default() -> Self {
        Frame {
            turn: Quat::identity(),
            origin: Vec3::zeros(),
            length: 1.0,
            mass: 1.0,
            backwards: false,
        }
    }
}

/// Joint types, and the units of their coordinates: 0 an angle, 1 a length.
const KINDS: [(&str, &[i32]); 13] = [
    ("ball", &[]),
    ("hinge", &[0]),
    ("universal", &[0, 0]),
    ("slider", &[1]),
    ("cylindrical", &[1, 0]),
    ("planar", &[1, 1, 0]),
    ("screw", &[0, 1]),
    ("rail", &[1]),
    ("plane-point", &[]),
    ("distance", &[]),
    ("translation", &[1, 1, 1]),
    ("fixed", &[]),
    ("hinge", &[0]),
];

impl Machine {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5851_f42d_4c95_7f2d);
        let r = &mut random;
        let family = match seed % 10 {
            0..=5 => Family::Smooth,
            6 | 7 => Family::Bounded,
            _ => Family::Contact,
        };
        let gravity = if r.chance(0.75) { r.direction() * 9.81 } else { Vec3::zeros() };
        let gravity = if family == Family::Contact { Vec3::new(0.0, 0.0, -9.81) } else { gravity };
        let n = 1 + r.below(4);
        let mut machine = Machine {
            family,
            gravity,
            bodies: Vec::new(),
            joints: Vec::new(),
            lines: Vec::new(),
            material: [r.unit(), if r.chance(0.5) { 0.0 } else { r.unit() }],
        };
        for i in 0..n {
            machine.add_body(r, i);
            if family == Family::Contact && r.chance(0.4) || r.chance(0.08) {
                continue;
            }
            // To an earlier body, or the ground.
            let other = r.below(i + 1);
            machine.add_joint(r, other, i, false);
        }
        // Loops.
        while machine.joints.len() < 6 && r.chance(0.3) {
            let (a, b) = (r.below(n + 1), r.below(n));
            if a != b + 1 {
                machine.add_joint(r, a, b, true);
            }
        }
        while machine.lines.len() < 3 && r.chance(0.4) {
            let (a, b) = (r.below(n + 1), r.below(n));
            if a == b + 1 {
                continue;
            }
            let damper = r.chance(0.3);
            let points = [machine.place(r, a), machine.place(r, b + 1)];
            if (points[0] - points[1]).norm() < 0.1 {
                continue;
            }
            let strong = if r.chance(0.2) { 100.0 } else { 1.0 };
            machine.lines.push(Line {
                damper,
                name: format!("line{}", machine.lines.len()),
                between: [machine.name(a), machine.name(b + 1)],
                points,
                stiffness: strong * r.between(1.0, 100.0),
                damping: if r.chance(0.5) { strong * r.between(0.0, 5.0) } else { 0.0 },
            });
        }
        machine
    }

    /// 0 is the ground.
    fn name(&self, i: usize) -> String {
        if i == 0 { "world".to_owned() } else { self.bodies[i - 1].name.clone() }
    }

    fn is_point(&self, i: usize) -> bool {
        i > 0 && self.bodies[i - 1].inertia.is_none()
    }

    /// Somewhere on a body, world axes.
    fn place(&self, r: &mut Random, i: usize) -> Vec3 {
        if i == 0 {
            return r.vector(0.6);
        }
        let body = &self.bodies[i - 1];
        if body.inertia.is_none() { body.position } else { body.position + r.vector(0.3) }
    }

    fn add_body(&mut self, r: &mut Random, i: usize) {
        let mass = if r.chance(0.15) { r.between(0.01, 0.1) } else { r.between(0.3, 3.0) };
        let size = [r.between(0.05, 0.4), r.between(0.05, 0.4), r.between(0.05, 0.4)];
        let moment = |a: f64, b: f64| mass * (a * a + b * b) / 12.0;
        let [x, y, z] = size;
        let contact = self.family == Family::Contact;
        let inertia = if !contact && r.chance(0.1) {
            None
        } else if !contact && r.chance(0.12) {
            let across = mass * z * z / 12.0;
            Some(Vec3::new(across, across, 0.0))
        } else {
            Some(Vec3::new(moment(y, z), moment(x, z), moment(x, y)))
        };
        let mut position = r.vector(0.5);
        if contact {
            // Apart from each other, above the ground at z = 0.
            position += Vec3::new(1.2 * i as f64, 0.0, 0.9);
        }
        let fast = if r.chance(0.2) { 4.0 } else { 1.0 };
        self.bodies.push(Body {
            name: format!("body{i}"),
            mass,
            inertia,
            shape: contact.then_some(size),
            position,
            rotation: r.rotation(),
            velocity: r.vector(fast),
            omega: r.vector(3.0 * fast),
        });
    }

    fn add_joint(&mut self, r: &mut Random, a: usize, body: usize, closes: bool) {
        let b = body + 1;
        let of_point = self.is_point(a) || self.is_point(b);
        let bounded = self.family == Family::Bounded;
        let (kind, units) = if of_point {
            *[KINDS[9], ("rope", &[1_i32][..])]
                .get(usize::from(bounded && r.chance(0.5)))
                .unwrap_or(&KINDS[9])
        } else if closes {
            // What leaves most loops a freedom.
            *[KINDS[0], KINDS[7], KINDS[8], KINDS[9], KINDS[9], KINDS[1]]
                .get(r.below(6))
                .unwrap_or(&KINDS[9])
        } else if bounded && r.chance(0.1) {
            ("rope", &[1_i32][..])
        } else {
            KINDS[r.below(KINDS.len())]
        };
        let length = |units: &[i32], l, m| -> Vec<Quantity> {
            units.iter().map(|u| Quantity(0.0, if *u == 0 { l } else { 0 }, m)).collect()
        };
        let points = match kind {
            "distance" | "rope" => vec![self.place(r, a), self.place(r, b)],
            _ => vec![self.place(r, b)],
        };
        if points.len() == 2 && (points[0] - points[1]).norm() < 0.05 {
            return;
        }
        let axis = r.direction();
        let across = axis.cross(&r.direction()).normalize();
        let axes = match kind {
            "hinge" | "slider" | "cylindrical" | "planar" | "screw" | "rail" | "plane-point" => {
                vec![axis]
            }
            "universal" => vec![axis, across],
            _ => Vec::new(),
        };
        let mut joint = Joint {
            name: format!("joint{}", self.joints.len()),
            kind,
            between: [self.name(a), self.name(b)],
            points: if kind == "translation" || kind == "fixed" { Vec::new() } else { points },
            axes,
            lists: Vec::new(),
            numbers: Vec::new(),
            lines: Vec::new(),
        };
        if kind == "screw" {
            let pitch = r.between(0.05, 0.5) * if r.chance(0.5) { -1.0 } else { 1.0 };
            joint.numbers.push(("pitch", Quantity(pitch, 1, 0)));
        }
        if kind == "rope" {
            let taut = (joint.points[0] - joint.points[1]).norm();
            let slack = if r.chance(0.5) { 0.0 } else { r.between(0.0, 0.1) };
            joint.numbers.push(("length", Quantity(taut + slack, 1, 0)));
        }
        if kind != "rope" && !units.is_empty() {
            // Directions across an axis are the engine's own: what acts along them is alike, so that it does not depend on the frame.
            let alike = ["planar", "translation"].contains(&kind);
            let list = |r: &mut Random, key, l, m, most: f64, joint: &mut Joint| {
                let strong = if r.chance(0.2) { 30.0 } else { 1.0 };
                let across = strong * r.between(0.0, most);
                let values = length(units, l, m).into_iter().zip(units).map(|(q, unit)| {
                    let own =
                        if alike && *unit == 1 { across } else { strong * r.between(0.0, most) };
                    Quantity(own, q.1, q.2)
                });
                joint.lists.push((key, values.collect()));
            };
            if r.chance(0.35) {
                list(r, "stiffness", 2, 1, 10.0, &mut joint);
            }
            if r.chance(0.35) {
                list(r, "damping", 2, 1, 1.0, &mut joint);
            }
            if bounded && !alike && r.chance(0.4) {
                let values = units.iter();
                let values =
                    values.map(|u| Quantity(r.between(0.0, 2.0), if *u == 0 { 2 } else { 1 }, 1));
                joint.lists.push(("friction", values.collect()));
            }
            let single = ["hinge", "slider"].contains(&kind);
            let angle = units[0] == 0;
            let motor = single && r.chance(0.25);
            let drive = single && !motor && r.chance(0.25);
            if motor {
                let (key, l) = if angle { ("torque", 2) } else { ("force", 1) };
                let text = format!("motor = {{ {key} = \"{{}}*sin({}*t)\" }}", r.between(1.0, 9.0));
                joint.lines.push((text, vec![Quantity(r.between(-3.0, 3.0), l, 1)]));
            } else if drive {
                let (key, l) = if angle { ("angle", 0) } else { ("position", 1) };
                let k = if angle { 2 } else { 0 };
                let text = format!(
                    "drive = {{ {key} = \"{{}}*sin({}*t)\", stiffness = {{}}, damping = {{}} }}",
                    r.between(1.0, 9.0)
                );
                let stiff = if r.chance(0.3) { 100.0 } else { 1.0 };
                let values = vec![
                    Quantity(r.between(-0.5, 0.5), l, 0),
                    Quantity(stiff * r.between(1.0, 40.0), k, 1),
                    Quantity(stiff.sqrt() * r.between(0.0, 2.0), k, 1),
                ];
                joint.lines.push((text, values));
            } else if single && !closes && r.chance(0.08) {
                let (key, l) = if angle { ("angle", 0) } else { ("position", 1) };
                let text =
                    format!("motion = {{ {key} = \"{{}}*(1-cos({}*t))\" }}", r.between(1.0, 9.0));
                joint.lines.push((text, vec![Quantity(r.between(-0.3, 0.3), l, 0)]));
            }
            let moves = joint.lines.iter().any(|(text, _)| text.starts_with("motion"));
            if bounded && single && !moves && r.chance(0.5) {
                let l = i32::from(!angle);
                let text = format!(
                    "limits = {{ min = {{}}, max = {{}}, restitution = {} }}",
                    if r.chance(0.5) { 0.0 } else { r.unit() }
                );
                let values = vec![
                    Quantity(-r.between(0.02, 0.4), l, 0),
                    Quantity(r.between(0.02, 0.4), l, 0),
                ];
                joint.lines.push((text, values));
            }
        }
        self.joints.push(joint);
    }

    /// Whether nothing ties it to the ground.
    pub(crate) fn floats(&self) -> bool {
        let tied = |between: &[String; 2]| between.iter().any(|name| name == "world");
        self.family != Family::Contact
            && !self.joints.iter().any(|joint| tied(&joint.between))
            && !self.lines.iter().any(|line| tied(&line.between))
    }

    pub(crate) fn gravity(&self) -> Vec3 {
        self.gravity
    }

    /// Its model file.
    pub(crate) fn text(&self, frame: &Frame) -> String {
        let q = |Quantity(x, l, m): Quantity| {
            format!("{:e}", x * frame.length.powi(l) * frame.mass.powi(m))
        };
        let list = |v: Vec3| format!("[{:e}, {:e}, {:e}]", v.x, v.y, v.z);
        let turned = |v: Vec3, l: f64| list(frame.turn * v * l);
        let place = |v: Vec3| list((frame.turn * v + frame.origin) * frame.length);
        let names = |[a, b]: &[String; 2]| format!("between = [\"{a}\", \"{b}\"]\n");
        let mut out = String::new();
        let _ = writeln!(out, "[model]\nname = \"random\"");
        let _ = writeln!(out, "gravity = {}", turned(self.gravity, frame.length));
        if self.family == Family::Contact {
            let [friction, restitution] = self.material;
            let _ = writeln!(
                out,
                "[[material]]\nname = \"stuff\"\nfriction = {friction:e}\nrestitution = {restitution:e}"
            );
            let w = frame.turn;
            let _ = writeln!(
                out,
                "[[body]]\nname = \"floor\"\nfixed = true\nposition = {}\nrotation = [{:e}, {:e}, {:e}, {:e}]\nmaterial = \"stuff\"\nshape = {{ plane = {{ size = [{}, {}] }} }}",
                place(Vec3::zeros()),
                w.w,
                w.i,
                w.j,
                w.k,
                20.0 * frame.length,
                20.0 * frame.length,
            );
        }
        let order = |n: usize| -> Vec<usize> {
            if frame.backwards { (0..n).rev().collect() } else { (0..n).collect() }
        };
        for i in order(self.bodies.len()) {
            let body = &self.bodies[i];
            let table = if body.inertia.is_some() { "body" } else { "point" };
            let _ = writeln!(out, "[[{table}]]\nname = \"{}\"", body.name);
            let _ = writeln!(out, "mass = {}", q(Quantity(body.mass, 0, 1)));
            let _ = writeln!(out, "position = {}", place(body.position));
            let _ = writeln!(out, "velocity = {}", turned(body.velocity, frame.length));
            if let Some(inertia) = body.inertia {
                let turn = frame.turn * body.rotation;
                let _ = writeln!(
                    out,
                    "rotation = [{:e}, {:e}, {:e}, {:e}]",
                    turn.w, turn.i, turn.j, turn.k
                );
                let _ = writeln!(out, "angular_velocity = {}", turned(body.omega, 1.0));
                let unit = frame.mass * frame.length * frame.length;
                let _ = writeln!(out, "inertia = {}", list(inertia * unit));
            }
            if let Some(size) = body.shape {
                let size = size.map(|x| x * frame.length);
                let shape = match i % 3 {
                    0 => {
                        format!("box = {{ size = [{:e}, {:e}, {:e}] }}", size[0], size[1], size[2])
                    }
                    1 => format!("sphere = {{ radius = {:e} }}", size[0]),
                    _ => format!(
                        "capsule = {{ radius = {:e}, length = {:e} }}",
                        0.5 * size[0],
                        size[1]
                    ),
                };
                let _ = writeln!(out, "material = \"stuff\"\nshape = {{ {shape} }}");
            }
        }
        for i in order(self.joints.len()) {
            let joint = &self.joints[i];
            let _ =
                write!(out, "[[joint]]\nname = \"{}\"\ntype = \"{}\"\n", joint.name, joint.kind);
            out += &names(&joint.between);
            match &joint.points[..] {
                [point] => {
                    let _ = writeln!(out, "point = {}", place(*point));
                }
                [a, b] => {
                    let _ = writeln!(out, "points = [{}, {}]", place(*a), place(*b));
                }
                _ => {}
            }
            for (axis, key) in joint.axes.iter().zip(["axis", "axis2"]) {
                let _ = writeln!(out, "{key} = {}", turned(*axis, 1.0));
            }
            for (key, values) in &joint.lists {
                let values: Vec<String> = values.iter().map(|x| q(*x)).collect();
                let _ = writeln!(out, "{key} = [{}]", values.join(", "));
            }
            for (key, value) in &joint.numbers {
                let _ = writeln!(out, "{key} = {}", q(*value));
            }
            for (text, values) in &joint.lines {
                let filled =
                    values.iter().fold(text.clone(), |text, x| text.replacen("{}", &q(*x), 1));
                out += &filled;
                out.push('\n');
            }
        }
        for i in order(self.lines.len()) {
            let line = &self.lines[i];
            let table = if line.damper { "damper" } else { "spring" };
            let _ = write!(out, "[[{table}]]\nname = \"{}\"\n", line.name);
            out += &names(&line.between);
            let _ =
                writeln!(out, "points = [{}, {}]", place(line.points[0]), place(line.points[1]));
            if !line.damper {
                let _ = writeln!(out, "stiffness = {}", q(Quantity(line.stiffness, 0, 1)));
            }
            let _ = writeln!(out, "damping = {}", q(Quantity(line.damping, 0, 1)));
        }
        out
    }
}
