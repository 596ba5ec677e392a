//! MJCF: MuJoCo's format.

mod actuator;
mod attach;
mod body;
mod conditions;
mod defaults;
mod expand;
mod geom;
mod keyframe;
mod mesh;
mod options;

use std::collections::{BTreeMap, BTreeSet};

use gelenk_model::Span;
use gelenk_model::math::{Mat3, Quat, Vec3};
use nalgebra as na;

use crate::context::Context;
use crate::mass::Pose;
use crate::names::Names;
use crate::tree::Robot;
use crate::xml::{Attribute, Element};
use attach::Scope;
use options::Compiler;

/// A mesh asset.
#[derive(Clone, Debug)]
struct MeshAsset {
    file: Option<String>,
    scale: Vec3,
    reference: Pose,
    inertia: Option<String>,
    span: Span,
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
    /// Settings and classes of the file, and of the models attached in it.
    scopes: Vec<Scope>,
    /// By scope and name.
    meshes: BTreeMap<(usize, String), MeshAsset>,
    fields: BTreeMap<(usize, String), Element>,
    colors: BTreeMap<(usize, String), [f64; 3]>,
    /// By the name in the file.
    bodies: BTreeMap<String, usize>,
    joints: BTreeMap<String, [usize; 2]>,
    geoms: BTreeMap<String, Option<[usize; 2]>>,
    sites: BTreeMap<String, Site>,
    /// `None`: a tendon that is no sum of joint coordinates.
    tendons: BTreeMap<String, Option<Fixed>>,
    /// Kinds and names given so far, where nothing else keeps them.
    named: BTreeSet<(&'static str, String)>,
    /// Places of links in the world as they are drawn.
    drawn: Vec<Pose>,
    /// Joints whose spring and damper follow from time constant and damping ratio.
    timed: Vec<([usize; 2], [f64; 2])>,
    /// The least and largest torque of all actuators of a joint together.
    strength: BTreeMap<[usize; 2], [f64; 2]>,
    names: NameSets,
    /// What actuators are told in the keyframe taken.
    key_inputs: Vec<f64>,
    /// What the file switches off.
    off: Vec<&'static str>,
    /// Only pairs touch.
    pairs_only: bool,
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
    let mut scopes = Vec::new();
    let root = attach::model(context, root, &own, &mut scopes, 0)?;
    let name = root.text("model").filter(|name| !name.is_empty()).unwrap_or(stem).to_owned();
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
        pairs: Vec::new(),
        touches_itself: true,
        inputs: Vec::new(),
        forces: Vec::new(),
    };
    let mut reader = Reader {
        context,
        robot,
        scopes,
        meshes: BTreeMap::new(),
        fields: BTreeMap::new(),
        colors: BTreeMap::new(),
        bodies: BTreeMap::from([("world".to_owned(), 0)]),
        joints: BTreeMap::new(),
        geoms: BTreeMap::new(),
        sites: BTreeMap::new(),
        tendons: BTreeMap::new(),
        named: BTreeSet::new(),
        drawn: vec![Pose::identity()],
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
        off: Vec::new(),
        pairs_only: false,
    };
    reader.options(&root);
    reader.assets(&root);
    for world in root.all("worldbody") {
        reader.unique(world);
        let class = world.text("childclass").map(str::to_owned);
        reader.contents(world, 0, class.as_deref(), 0);
    }
    reader.masses();
    reader.springs();
    reader.switch_off();
    if reader.pairs_only {
        let shapes = reader.robot.links.iter_mut().flat_map(|link| &mut link.shapes);
        shapes
            .filter_map(|shape| {
                shape.touches = false;
                shape.surface.as_mut()
            })
            .for_each(|surface| (surface.contype, surface.conaffinity) = (0, 0));
    }
    reader.contacts(&root);
    reader.keyframes(&root);
    reader.tendons(&root);
    if !reader.off("equality") {
        reader.equalities(&root);
    }
    if !reader.context.options.without_actuators && !reader.off("actuation") {
        reader.actuators(&root);
    }
    if reader.off("contact") {
        let shapes = reader.robot.links.iter_mut().flat_map(|link| &mut link.shapes);
        shapes.for_each(|shape| shape.touches = false);
    }
    Some(reader.robot)
}

impl Reader<'_> {
    fn assets(&mut self, root: &Element) {
        for child in root.all("asset").flat_map(|asset| &asset.children) {
            let child = self.resolve(child, None);
            let named = child.text("name").filter(|name| !name.is_empty());
            let name = named.or_else(|| child.text("file").map(stem)).unwrap_or("").to_owned();
            let key = (child.scope, name.clone());
            let twice = match child.name.as_str() {
                "mesh" => match self.mesh_asset(&child) {
                    Some(asset) => self.meshes.insert(key, asset).is_some(),
                    None => false,
                },
                "material" => {
                    let color = self.context.color(&child, "rgba");
                    self.colors.insert(key, color.unwrap_or([1.0; 3])).is_some()
                }
                "hfield" => self.fields.insert(key, child.clone()).is_some(),
                _ => false,
            };
            if twice {
                self.twice(&child, &name);
            }
        }
    }

    /// A fault: a name that another element of the kind has.
    fn twice(&mut self, element: &Element, name: &str) {
        let message = format!("there are two {}s `{name}`", element.name);
        let span = element.get("name").map_or(element.span, |a| a.span);
        self.context.error("name-twice", element.called(), span, message, "rename one");
    }

    /// Holds a name against those of its kind so far.
    fn only_once(&mut self, kind: &'static str, element: &Element) {
        if let Some(name) = element.text("name").filter(|name| !name.is_empty())
            && !self.named.insert((kind, name.to_owned()))
        {
            self.twice(element, name);
        }
    }

    /// Holds the names of geoms and sites against each other, in the order of the file.
    fn unique(&mut self, element: &Element) {
        for child in &element.children {
            match child.name.as_str() {
                "geom" => self.only_once("geom", child),
                "site" => self.only_once("site", child),
                _ => self.unique(child),
            }
        }
    }

    /// Settings of the file that an element is from.
    fn compiler(&self, element: &Element) -> &Compiler {
        &self.scopes[element.scope].compiler
    }

    /// An element with all that its class says and it does not.
    fn resolve(&self, element: &Element, class: Option<&str>) -> Element {
        self.scopes[element.scope].defaults.resolve(element, class)
    }

    /// Position and rotation of an element, with all ways to say the rotation.
    fn pose(&mut self, element: &Element) -> Pose {
        let x = self.context.vector(element, "pos").unwrap_or_else(Vec3::zeros);
        Pose::from_parts(x.into(), self.rotation(element))
    }

    fn rotation(&mut self, element: &Element) -> Quat {
        let given: Vec<&str> =
            defaults::ROTATIONS.into_iter().filter(|key| element.get(key).is_some()).collect();
        if let [first, second, ..] = given[..] {
            let message = format!("the rotation is given twice, by `{first}` and by `{second}`");
            let help = "leave one of them";
            self.context.error("bad-rotation", element.called(), element.span, message, help);
        }
        let (unit, sequence) = {
            let compiler = self.compiler(element);
            (compiler.angle, compiler.sequence)
        };
        if element.get("quat").is_some() {
            return self.context.quaternion(element, "quat").unwrap_or_else(Quat::identity);
        }
        if let Some(list) = self.context.numbers(element, "axisangle", 4..=4) {
            let axis = Vec3::new(list[0], list[1], list[2]);
            let Some(axis) = na::Unit::try_new(axis, 1e-12) else {
                let help = "give a direction and an angle";
                let message = "the axis of `axisangle` is zero";
                self.context.error("bad-rotation", element.called(), element.span, message, help);
                return Quat::identity();
            };
            return Quat::from_axis_angle(&axis, list[3] * unit);
        }
        if let Some(angles) = self.context.vector(element, "euler") {
            return euler(sequence, &(angles * unit));
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
            let called = element.called_within();
            self.context.error("missing-name", called, element.span, message, "give it");
        }
        name
    }

    /// A fault: a name that nothing of the kind has.
    fn unknown(&mut self, element: &Element, key: &str, kind: &'static str, all: Vec<String>) {
        let name = element.text(key).unwrap_or("");
        let code = match kind {
            "body" => "unknown-body",
            "joint" => "unknown-joint",
            "site" => "unknown-site",
            "geom" => "unknown-geom",
            "tendon" => "unknown-tendon",
            _ => "unknown-name",
        };
        let near = gelenk_expr::nearest(name, all.iter().map(String::as_str));
        let help = near
            .map_or_else(|| "check the name".to_owned(), |near| format!("did you mean `{near}`?"));
        let message = format!("there is no {kind} `{name}`");
        let span = element.get(key).map_or(element.span, |a| a.span);
        self.context.error(code, element.called_within(), span, message, help);
    }

    /// The link of a body's name.
    fn body_named(&mut self, element: &Element, key: &str) -> Option<usize> {
        let name = self.name_in(element, key)?;
        let found = self.bodies.get(name).copied();
        if found.is_none() {
            self.unknown(element, key, "body", self.bodies.keys().cloned().collect());
        }
        found
    }

    /// The joint of a name.
    fn joint_named(&mut self, element: &Element, key: &str) -> Option<[usize; 2]> {
        let name = self.name_in(element, key)?;
        let found = self.joints.get(name).copied();
        if found.is_none() {
            self.unknown(element, key, "joint", self.joints.keys().cloned().collect());
        }
        found
    }

    fn site_named(&mut self, element: &Element, key: &str) -> Option<Site> {
        let name = self.name_in(element, key)?;
        let found = self.sites.get(name).copied();
        if found.is_none() {
            self.unknown(element, key, "site", self.sites.keys().cloned().collect());
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
