//! MJCF: MuJoCo's format.

mod actuator;
mod body;
mod conditions;
mod defaults;
mod geom;
mod keyframe;

use std::collections::BTreeMap;
use std::path::PathBuf;

use gelenk_model::Span;
use gelenk_model::math::{Mat3, Quat, Vec3};
use nalgebra as na;

use crate::context::Context;
use crate::mass::Pose;
use crate::names::Names;
use crate::tree::Robot;
use crate::xml::{Attribute, Element};
use defaults::Defaults;

/// Settings of `<compiler>`.
#[derive(Clone, Debug)]
struct Compiler {
    /// Factor on angles of the file.
    angle: f64,
    /// Axes of Euler angles; lower case: turning with the body.
    sequence: [char; 3],
    autolimits: bool,
    /// `None`: where a body gives no inertia itself.
    inertia_from_geom: Option<bool>,
    inertia_groups: (f64, f64),
    balance: bool,
    least_mass: f64,
    least_inertia: f64,
    total_mass: Option<f64>,
    mesh_dir: String,
    exact_meshes: bool,
}

/// A mesh asset.
#[derive(Clone, Debug)]
struct MeshAsset {
    file: Option<String>,
    scale: Vec3,
    reference: Pose,
    inertia: Option<String>,
}

/// A point of a link with a name.
#[derive(Clone, Copy, Debug)]
struct Site {
    link: usize,
    pose: Pose,
}

/// A tendon that sums joint coordinates.
#[derive(Clone, Debug)]
struct Fixed {
    terms: Vec<(f64, [usize; 2])>,
}

/// The state of the reader.
struct Reader<'c> {
    context: &'c mut Context,
    robot: Robot,
    compiler: Compiler,
    defaults: Defaults,
    /// Folder of the main file, from which meshes count.
    own: PathBuf,
    meshes: BTreeMap<String, MeshAsset>,
    fields: BTreeMap<String, Element>,
    colors: BTreeMap<String, [f64; 3]>,
    /// By the name in the file.
    bodies: BTreeMap<String, usize>,
    joints: BTreeMap<String, [usize; 2]>,
    geoms: BTreeMap<String, [usize; 2]>,
    sites: BTreeMap<String, Site>,
    tendons: BTreeMap<String, Fixed>,
    /// Joints whose spring and damper follow from time constant and damping ratio.
    timed: Vec<([usize; 2], [f64; 2])>,
    /// The largest torque of all actuators of a joint.
    strength: BTreeMap<[usize; 2], f64>,
    names: NameSets,
    /// What actuators are told in the keyframe taken.
    key_inputs: Vec<f64>,
    contact: bool,
}

/// Names given so far.
struct NameSets {
    bodies: Names,
    joints: Names,
    conditions: Names,
    forces: Names,
    inputs: Names,
}

/// Reads a model.
pub(crate) fn read(context: &mut Context, root: Element, stem: &str) -> Option<Robot> {
    let own = context.own.clone();
    let root = expand(context, root, 0)?;
    let name = root.text("model").filter(|name| !name.is_empty()).unwrap_or(stem).to_owned();
    let compiler = compiler(context, &root)?;
    let defaults = Defaults::read(context, &root)?;
    let robot = Robot {
        format: "mjcf",
        name: name.chars().filter(|c| !c.is_control()).collect(),
        gravity: Vec3::new(0.0, 0.0, -9.81),
        step: Some(0.002),
        links: vec![crate::urdf::world(root.span)],
        closures: Vec::new(),
        couplings: Vec::new(),
        cords: Vec::new(),
        excludes: Vec::new(),
        touches_itself: true,
        inputs: Vec::new(),
        forces: Vec::new(),
    };
    let mut reader = Reader {
        context,
        robot,
        compiler,
        defaults,
        own,
        meshes: BTreeMap::new(),
        fields: BTreeMap::new(),
        colors: BTreeMap::new(),
        bodies: BTreeMap::from([("world".to_owned(), 0)]),
        joints: BTreeMap::new(),
        geoms: BTreeMap::new(),
        sites: BTreeMap::new(),
        tendons: BTreeMap::new(),
        timed: Vec::new(),
        strength: BTreeMap::new(),
        names: NameSets {
            bodies: Names::with("world"),
            joints: Names::default(),
            conditions: Names::default(),
            forces: Names::default(),
            inputs: Names::default(),
        },
        key_inputs: Vec::new(),
        contact: true,
    };
    reader.options(&root);
    reader.assets(&root);
    for world in root.all("worldbody") {
        let class = world.text("childclass").map(str::to_owned);
        reader.contents(world, 0, class.as_deref(), 0);
    }
    reader.masses();
    reader.springs();
    reader.contacts(&root);
    reader.keyframes(&root);
    reader.tendons(&root);
    reader.equalities(&root);
    if !reader.context.options.without_actuators {
        reader.actuators(&root);
    }
    reader.rest(&root);
    if !reader.contact {
        let shapes = reader.robot.links.iter_mut().flat_map(|link| &mut link.shapes);
        shapes.for_each(|shape| shape.touches = false);
    }
    Some(reader.robot)
}

/// Puts included files in place of `<include>`.
fn expand(context: &mut Context, root: Element, depth: usize) -> Option<Element> {
    let Element { name, attributes, children, span, within } = root;
    let mut all = Vec::with_capacity(children.len());
    for child in children {
        if child.name != "include" {
            // Levels of elements are counted already; those of files are here.
            all.push(expand(context, child, depth)?);
            continue;
        }
        if depth >= context.options.limits.depth {
            let message = format!(
                "files include one another more than {} deep",
                context.options.limits.depth
            );
            let help = "does a file include itself?";
            context.error("limit-depth", "include", child.span, message, help);
            return None;
        }
        let Some(file) = child.text("file") else {
            let help = "give `file`";
            context.error("missing-file", "include", child.span, "which file?", help);
            return None;
        };
        // Paths count from the main file's folder.
        let own = context.own.clone();
        let inner = context.read_include(file, &own, child.span)?;
        let inner = expand(context, inner, depth + 1)?;
        all.extend(inner.children);
    }
    Some(Element { name, attributes, children: all, span, within })
}

fn compiler(context: &mut Context, root: &Element) -> Option<Compiler> {
    let mut compiler = Compiler {
        angle: std::f64::consts::PI / 180.0,
        sequence: ['x', 'y', 'z'],
        autolimits: true,
        inertia_from_geom: None,
        inertia_groups: (f64::NEG_INFINITY, f64::INFINITY),
        balance: false,
        least_mass: 0.0,
        least_inertia: 0.0,
        total_mass: None,
        mesh_dir: String::new(),
        exact_meshes: false,
    };
    for element in root.all("compiler") {
        match element.text("angle") {
            Some("radian") => compiler.angle = 1.0,
            Some("degree") => compiler.angle = std::f64::consts::PI / 180.0,
            _ => {}
        }
        if let Some(sequence) = element.text("eulerseq") {
            let letters: Vec<char> = sequence.chars().collect();
            match letters.as_slice() {
                [a, b, c] if letters.iter().all(|l| "xyzXYZ".contains(*l)) => {
                    compiler.sequence = [*a, *b, *c];
                }
                _ => {
                    let message = format!("`{sequence}` is no sequence of axes");
                    let help = "three letters of x, y, z, X, Y, Z";
                    context.error("bad-rotation", "compiler", element.span, message, help);
                    return None;
                }
            }
        }
        if element.text("coordinate") == Some("global") {
            let message = "global coordinates are not read";
            let help = "load and save the model with an older MuJoCo to get local ones";
            context.error("global-coordinates", "compiler", element.span, message, help);
            return None;
        }
        if let Some(auto) = element.text("autolimits") {
            compiler.autolimits = auto == "true";
        }
        match element.text("inertiafromgeom") {
            Some("true") => compiler.inertia_from_geom = Some(true),
            Some("false") => compiler.inertia_from_geom = Some(false),
            Some("auto") => compiler.inertia_from_geom = None,
            _ => {}
        }
        if let Some(range) = context.numbers(element, "inertiagrouprange", 2..=2) {
            compiler.inertia_groups = (range[0], range[1]);
        }
        if let Some(flag) = element.text("balanceinertia") {
            compiler.balance = flag == "true";
        }
        compiler.least_mass = context.number_or(element, "boundmass", compiler.least_mass);
        compiler.least_inertia = context.number_or(element, "boundinertia", compiler.least_inertia);
        if let Some(mass) = context.number(element, "settotalmass").filter(|mass| *mass > 0.0) {
            compiler.total_mass = Some(mass);
        }
        for key in ["assetdir", "meshdir"] {
            if let Some(folder) = element.text(key) {
                folder.clone_into(&mut compiler.mesh_dir);
            }
        }
        if element.text("strippath") == Some("true") {
            let text = "strippath: paths of meshes are read as they are";
            context.dropped(text, "compiler", element.span);
        }
        if let Some(flag) = element.text("exactmeshinertia") {
            compiler.exact_meshes = flag == "true";
        }
    }
    Some(compiler)
}

impl Reader<'_> {
    fn options(&mut self, root: &Element) {
        for option in root.all("option") {
            if let Some(gravity) = self.context.vector(option, "gravity") {
                self.robot.gravity = gravity;
            }
            match self.context.number(option, "timestep") {
                Some(step) if step > 0.0 => self.robot.step = Some(step),
                Some(step) => {
                    let text = format!("timestep: {step} s is no step; 0.002 s in its place");
                    self.context.changed(text, "option", option.span);
                }
                None => {}
            }
            for key in ["density", "viscosity"] {
                if self.context.number(option, key).is_some_and(|x| x != 0.0) {
                    let text = "forces of a surrounding medium (density, viscosity, wind)";
                    self.context.dropped(text, "option", option.span);
                }
            }
            for flag in option.all("flag") {
                let off = |key: &str| flag.text(key) == Some("disable");
                if off("gravity") {
                    self.robot.gravity = Vec3::zeros();
                }
                if off("contact") || off("constraint") {
                    self.contact = false;
                }
                for key in
                    ["constraint", "equality", "frictionloss", "limit", "passive", "actuation"]
                {
                    if off(key) {
                        let text = format!("the flag that switches `{key}` off: it is on");
                        self.context.dropped(text, "option", flag.span);
                    }
                }
            }
        }
    }

    fn assets(&mut self, root: &Element) {
        for asset in root.all("asset") {
            for child in &asset.children {
                let child = self.defaults.resolve(child, None);
                match child.name.as_str() {
                    "mesh" => self.mesh_asset(&child),
                    "material" => {
                        let rgba = self.context.numbers(&child, "rgba", 4..=4);
                        if let (Some(name), Some(rgba)) = (child.text("name"), rgba) {
                            let color = [rgba[0], rgba[1], rgba[2]].map(|x| x.clamp(0.0, 1.0));
                            self.colors.insert(name.to_owned(), color);
                        }
                    }
                    "hfield" => {
                        let name = child.text("name").or_else(|| child.text("file").map(stem));
                        let name = name.unwrap_or("").to_owned();
                        self.fields.insert(name, child);
                    }
                    "texture" => self.context.dropped("textures", &child.called(), child.span),
                    other => {
                        let text = format!("<{other}> of assets");
                        self.context.dropped(text, &child.called(), child.span);
                    }
                }
            }
        }
    }

    fn mesh_asset(&mut self, mesh: &Element) {
        let file = mesh.text("file").map(str::to_owned);
        let name = mesh.text("name").or_else(|| mesh.text("file").map(stem)).unwrap_or("");
        let name = name.to_owned();
        let scale = self.context.vector(mesh, "scale").unwrap_or(Vec3::repeat(1.0));
        let at = self.context.vector(mesh, "refpos").unwrap_or_else(Vec3::zeros);
        let turn = self.context.quaternion(mesh, "refquat").unwrap_or_else(Quat::identity);
        let asset = MeshAsset {
            file,
            scale,
            reference: Pose::from_parts(at.into(), turn),
            inertia: mesh.text("inertia").map(str::to_owned),
        };
        self.meshes.insert(name, asset);
    }

    /// Sections that are passed over.
    fn rest(&mut self, root: &Element) {
        for child in &root.children {
            let text = match child.name.as_str() {
                // The last three say nothing of a robot.
                "compiler" | "option" | "default" | "asset" | "worldbody" | "contact"
                | "equality" | "tendon" | "actuator" | "keyframe" | "size" | "statistic"
                | "visual" => continue,
                "sensor" => "sensors: joints, bodies and markers are in every recording",
                "custom" => "custom data",
                "extension" => "plugins",
                "deformable" => "deformable bodies",
                other => {
                    let text = format!("<{other}>: not a part of MJCF that is known here");
                    self.context.dropped(text, &child.called(), child.span);
                    continue;
                }
            };
            self.context.dropped(text, &child.name, child.span);
        }
    }

    /// Position and rotation of an element, with all ways to say the rotation.
    fn pose(&mut self, element: &Element) -> Pose {
        let x = self.context.vector(element, "pos").unwrap_or_else(Vec3::zeros);
        Pose::from_parts(x.into(), self.rotation(element))
    }

    fn rotation(&mut self, element: &Element) -> Quat {
        if element.get("quat").is_some() {
            return self.context.quaternion(element, "quat").unwrap_or_else(Quat::identity);
        }
        if let Some(list) = self.context.numbers(element, "axisangle", 4..=4) {
            let axis = Vec3::new(list[0], list[1], list[2]);
            let axis = na::Unit::try_new(axis, 1e-12).unwrap_or_else(Vec3::z_axis);
            return Quat::from_axis_angle(&axis, list[3] * self.compiler.angle);
        }
        if let Some(angles) = self.context.vector(element, "euler") {
            return euler(self.compiler.sequence, &(angles * self.compiler.angle));
        }
        if let Some(list) = self.context.numbers(element, "xyaxes", 6..=6) {
            let x = Vec3::new(list[0], list[1], list[2]);
            let y = Vec3::new(list[3], list[4], list[5]);
            if let Some(turn) = from_axes(&x, &y) {
                return turn;
            }
            let help = "give two directions that differ";
            self.context.error("bad-rotation", element.called(), element.span, "bad xyaxes", help);
        }
        if let Some(z) = self.context.direction(element, "zaxis") {
            return shortest(&z);
        }
        Quat::identity()
    }

    /// A name that an element must give.
    fn name_in<'e>(&mut self, element: &'e Element, key: &str) -> Option<&'e str> {
        let name = element.text(key);
        if name.is_none() {
            let message = format!("`{key}` is missing");
            self.context.error("missing-name", element.called(), element.span, message, "give it");
        }
        name
    }

    /// The link of a body's name.
    fn body_named(&mut self, element: &Element, key: &str) -> Option<usize> {
        let name = self.name_in(element, key)?;
        let found = self.bodies.get(name).copied();
        if found.is_none() {
            let message = format!("there is no body `{name}`");
            let span = element.get(key).map_or(element.span, |a| a.span);
            self.context.error("unknown-body", element.called(), span, message, "check the name");
        }
        found
    }

    /// The joint of a name.
    fn joint_named(&mut self, element: &Element, key: &str) -> Option<[usize; 2]> {
        let name = self.name_in(element, key)?;
        let found = self.joints.get(name).copied();
        if found.is_none() {
            let message = format!("there is no joint `{name}`");
            let span = element.get(key).map_or(element.span, |a| a.span);
            self.context.error("unknown-joint", element.called(), span, message, "check the name");
        }
        found
    }

    fn site_named(&mut self, element: &Element, key: &str) -> Option<Site> {
        let name = self.name_in(element, key)?;
        let found = self.sites.get(name).copied();
        if found.is_none() {
            let message = format!("there is no site `{name}`");
            let span = element.get(key).map_or(element.span, |a| a.span);
            self.context.error("unknown-site", element.called(), span, message, "check the name");
        }
        found
    }

    fn joint(&self, [link, which]: [usize; 2]) -> &crate::tree::Joint {
        &self.robot.links[link].joints[which]
    }
}

/// A file's name without folder and extension.
fn stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// Euler angles: lower case letters turn about axes that turn along, upper case about fixed ones.
fn euler(sequence: [char; 3], angles: &Vec3) -> Quat {
    let mut turn = Quat::identity();
    for (letter, angle) in sequence.iter().zip(angles.iter()) {
        let axis = match letter.to_ascii_lowercase() {
            'x' => Vec3::x_axis(),
            'y' => Vec3::y_axis(),
            _ => Vec3::z_axis(),
        };
        let next = Quat::from_axis_angle(&axis, *angle);
        turn = if letter.is_ascii_lowercase() { turn * next } else { next * turn };
    }
    turn
}

/// The frame with this x axis and a y axis in this half plane.
fn from_axes(x: &Vec3, y: &Vec3) -> Option<Quat> {
    let x = x.try_normalize(1e-12)?;
    let y = (y - x * x.dot(y)).try_normalize(1e-12)?;
    let matrix = Mat3::from_columns(&[x, y, x.cross(&y)]);
    Some(Quat::from_rotation_matrix(&na::Rotation3::from_matrix_unchecked(matrix)))
}

/// The shortest turn that brings z to this direction.
fn shortest(z: &Vec3) -> Quat {
    Quat::rotation_between(&Vec3::z(), z)
        .unwrap_or_else(|| Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::PI))
}

/// An attribute as if the file had it.
fn attribute(name: &str, value: &str, span: Span) -> Attribute {
    Attribute { name: name.to_owned(), value: value.to_owned(), span }
}
