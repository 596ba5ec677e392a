//! URDF: links and joints of a robot.

use std::collections::{BTreeMap, BTreeSet};

use gelenk_model::Span;
use gelenk_model::math::{Mat3, Quat, Vec3};

use crate::Base;
use crate::context::Context;
use crate::mass::{Mass, Pose};
use crate::names::Names;
use crate::number::{number, vector};
use crate::tree::{Closure, Coupling, Freedom, Joint, Link, Robot, Shape};
use crate::xml::Element;

/// A joint with the links it joins, before they are in order.
struct Edge<'a> {
    element: &'a Element,
    parent: &'a str,
    child: &'a str,
}

/// Reads a robot.
pub(crate) fn read(context: &mut Context, root: &Element, stem: &str) -> Option<Robot> {
    let name = root.text("name").filter(|name| !name.is_empty()).unwrap_or(stem);
    let mut reader = Reader {
        context,
        colors: BTreeMap::new(),
        links: Vec::new(),
        index: BTreeMap::new(),
        joints: BTreeMap::new(),
        joint_names: Names::default(),
        condition_names: Names::default(),
    };
    for material in root.all("material") {
        let Some(name) = material.text("name") else { continue };
        if let Some(color) = reader.color(material) {
            reader.colors.insert(name.to_owned(), color);
        }
    }
    let (mut links, couplings) = reader.tree(root)?;
    let closures = reader.loops(root);
    let inputs = reader.transmissions(root, &mut links);
    let robot = Robot {
        format: "urdf",
        name: name.chars().filter(|c| !c.is_control()).collect(),
        gravity: Vec3::new(0.0, 0.0, -9.81),
        step: None,
        links,
        closures,
        couplings,
        cords: Vec::new(),
        excludes: Vec::new(),
        pairs: Vec::new(),
        touches_itself: false,
        inputs,
        forces: Vec::new(),
    };
    Some(robot)
}

struct Reader<'c> {
    context: &'c mut Context,
    colors: BTreeMap<String, [f64; 3]>,
    links: Vec<Link>,
    /// Links by name.
    index: BTreeMap<String, usize>,
    /// Joints by name: link and place on it.
    joints: BTreeMap<String, [usize; 2]>,
    joint_names: Names,
    condition_names: Names,
}

impl Reader<'_> {
    /// The links in order of the tree.
    fn tree(&mut self, root: &Element) -> Option<(Vec<Link>, Vec<Coupling>)> {
        let mut by_name: BTreeMap<&str, &Element> = BTreeMap::new();
        for link in root.all("link") {
            let name = self.name_of(link)?;
            if by_name.insert(name, link).is_some() {
                let message = format!("there are two links `{name}`");
                self.context.error("name-twice", link.called(), link.span, message, "rename one");
            }
        }
        let mut children: BTreeMap<&str, Vec<Edge<'_>>> = BTreeMap::new();
        let mut has_parent: BTreeMap<&str, Span> = BTreeMap::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for element in root.all("joint") {
            let name = self.name_of(element)?;
            if !seen.insert(name) {
                let message = format!("there are two joints `{name}`");
                self.context.error(
                    "name-twice",
                    element.called(),
                    element.span,
                    message,
                    "rename one",
                );
            }
            let end = |side: &str| element.child(side).and_then(|child| child.text("link"));
            let (Some(parent), Some(child)) = (end("parent"), end("child")) else {
                let help = "give <parent link=\"...\"/> and <child link=\"...\"/>";
                let message = "the joint does not name its two links";
                self.context.error("missing-link", element.called(), element.span, message, help);
                continue;
            };
            for link in [parent, child] {
                if !by_name.contains_key(link) {
                    let message = format!("there is no link `{link}`");
                    let near = "check the names of the links";
                    self.context.error(
                        "unknown-link",
                        element.called(),
                        element.span,
                        message,
                        near,
                    );
                }
            }
            if has_parent.insert(child, element.span).is_some() {
                let message = format!("link `{child}` is the child of two joints");
                let help = "URDF robots are trees; close a loop with <loop_joint>";
                self.context.error("two-parents", element.called(), element.span, message, help);
            }
            children.entry(parent).or_default().push(Edge { element, parent, child });
        }
        if !self.context.errors.is_empty() {
            return None;
        }
        let roots: Vec<&Element> = root
            .all("link")
            .filter(|link| link.text("name").is_some_and(|name| !has_parent.contains_key(name)))
            .collect();
        if roots.is_empty() {
            let (message, help) = if by_name.is_empty() {
                ("the robot has no links", "give it a <link>")
            } else {
                let message = "no link is the base: every one is the child of a joint";
                (message, "leave one without a parent")
            };
            self.context.error("no-base", "robot", root.span, message, help);
            return None;
        }
        for second in roots.iter().skip(1) {
            let message = format!(
                "a second link without a parent: `{}` is one already",
                roots[0].text("name").unwrap_or("")
            );
            let help = "join it to the robot: URDF robots have one base";
            let assumed = "it is a base of its own";
            self.context.repairable(
                "two-bases",
                second.called(),
                second.span,
                message,
                help,
                assumed,
            );
        }
        self.links.push(world(root.span));
        let still = root.all("joint").all(|joint| joint.text("type") == Some("fixed"));
        let mut names = Names::with("world");
        let mut waiting: Vec<(usize, Option<&Edge<'_>>, &Element)> = Vec::new();
        for base in roots.iter().rev() {
            waiting.push((0, None, base));
        }
        let mut mimics = Vec::new();
        while let Some((parent, edge, element)) = waiting.pop() {
            let wanted = element.text("name").unwrap_or("");
            let mut link = self.link(element, names.give(wanted), parent);
            match edge {
                Some(edge) => self.joint(edge, &mut link, &mut mimics)?,
                None => self.base(element, &mut link, wanted, still),
            }
            let here = self.links.len();
            self.index.insert(wanted.to_owned(), here);
            for (k, joint) in link.joints.iter().enumerate() {
                self.joints.entry(joint.name.clone()).or_insert([here, k]);
            }
            self.links.push(link);
            for edge in children.get(wanted).into_iter().flatten().rev() {
                // Every link has one parent, and a base has none, so that this ends.
                let child = by_name.get(edge.child).copied()?;
                waiting.push((here, Some(edge), child));
            }
        }
        let unreached =
            |link: &&Element| link.text("name").is_some_and(|name| !self.index.contains_key(name));
        let unreached: Vec<&Element> = root.all("link").filter(unreached).collect();
        if let Some(first) = unreached.first() {
            let others = match unreached.len() - 1 {
                0 => String::new(),
                n => format!(" with {n} others"),
            };
            let message = format!("it is joined in a circle{others} and hangs on no base");
            let help = "URDF robots are trees; close a loop with <loop_joint>";
            self.context.error("circle", first.called(), first.span, message, help);
            return None;
        }
        let couplings = self.mimic(mimics);
        Some((std::mem::take(&mut self.links), couplings))
    }

    fn name_of<'a>(&mut self, element: &'a Element) -> Option<&'a str> {
        let name = element.text("name").filter(|name| !name.is_empty());
        if name.is_none() {
            let message = format!("the {} has no name", element.name);
            self.context.error("no-name", &element.name, element.span, message, "give it a `name`");
        }
        name
    }

    /// The base: fixed to the world unless free.
    fn base(&mut self, element: &Element, link: &mut Link, wanted: &str, still: bool) {
        let called = element.called();
        let alone = still
            && link.mass.mass > 0.0
            && self.context.options.base == Base::Fixed
            && wanted != "world";
        if alone {
            let text =
                "a robot without joints that move: it is free, since nothing could move else";
            self.context.changed(text, &called, element.span);
        }
        if wanted == "world" || self.context.options.base == Base::Fixed && !alone {
            if wanted != "world" && link.mass.mass > 0.0 {
                let text = "URDF does not say whether the base moves: it is fixed (`gelenk import --base free` lets it go)";
                self.context.changed(text, &called, element.span);
            }
            return;
        }
        let name = self.joint_names.give(&format!("{}_free", link.name));
        link.joints.push(Joint::new(&name, Freedom::Free, element.span));
    }

    fn link(&mut self, element: &Element, name: String, parent: usize) -> Link {
        if element.text("name") != Some(name.as_str()) {
            self.context.changed(
                "names: letters, digits and _ only, none twice",
                &element.called(),
                element.span,
            );
        }
        let mut link = Link {
            name,
            named: true,
            parent,
            pose: Pose::identity(),
            joints: Vec::new(),
            mass: Mass::NONE,
            shapes: Vec::new(),
            marks: Vec::new(),
            gravity_held: 0.0,
            weighed: true,
            scope: 0,
            span: element.span,
        };
        for (n, child) in element.all("inertial").enumerate() {
            if n > 0 {
                let message = "the link has two <inertial>";
                self.context.error(
                    "name-twice",
                    element.called(),
                    child.span,
                    message,
                    "leave one",
                );
            } else {
                link.mass = self.inertial(child, &element.called());
            }
        }
        for child in &element.children {
            if matches!(child.name.as_str(), "visual" | "collision") {
                let shape = self.shape(child, &element.called());
                link.shapes.extend(shape);
            }
        }
        link
    }

    fn inertial(&mut self, element: &Element, called: &str) -> Mass {
        let pose = self.origin(element);
        let Some(given) = element.child("mass") else {
            let message = "the inertial has no <mass>";
            let help = "add <mass value=\"...\"/>";
            self.context.error("bad-mass", called, element.span, message, help);
            return Mass::NONE;
        };
        let Some(mass) = self.context.number(given, "value") else {
            if given.get("value").is_none() {
                let help = "give `value`";
                self.context.error("bad-mass", called, given.span, "<mass> has no `value`", help);
            }
            return Mass::NONE;
        };
        if mass < 0.0 {
            let message = format!("the mass is {mass} kg, but a mass is positive");
            self.context.error("bad-mass", called, given.span, message, "give a mass above 0");
            return Mass::NONE;
        }
        let tensor = element.child("inertia");
        let inertia = tensor.map_or_else(Mat3::zeros, |tensor| {
            let [xx, xy, xz, yy, yz, zz] = ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"]
                .map(|key| self.context.number_or(tensor, key, 0.0));
            for key in ["ixx", "iyy", "izz"] {
                if tensor.get(key).is_none() {
                    let message = format!("<inertia> has no `{key}`");
                    let help = "give all moments";
                    self.context.error("bad-inertia", called, tensor.span, message, help);
                }
            }
            Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
        });
        if mass == 0.0 {
            if inertia.amax() > 0.0 {
                self.context.dropped(
                    "moments of inertia of links without mass",
                    called,
                    element.span,
                );
            }
            return Mass::NONE;
        }
        let mass = Mass { mass, center: Vec3::zeros(), inertia };
        mass.refuse_impossible(self.context, called, tensor.map_or(element.span, |t| t.span));
        mass.placed(&pose)
    }

    /// `<origin xyz rpy>`; rpy are turns about the fixed axes x, y, z, in this order.
    fn origin(&mut self, element: &Element) -> Pose {
        element.child("origin").map_or_else(Pose::identity, |origin| self.place(origin))
    }

    fn place(&mut self, origin: &Element) -> Pose {
        let x = self.context.vector(origin, "xyz").unwrap_or_else(Vec3::zeros);
        let angles = self.context.vector(origin, "rpy").unwrap_or_else(Vec3::zeros);
        Pose::from_parts(x.into(), Quat::from_euler_angles(angles.x, angles.y, angles.z))
    }

    fn color(&mut self, material: &Element) -> Option<[f64; 3]> {
        if let Some(color) = material.child("color") {
            return self.context.color(color, "rgba");
        }
        let name = material.text("name")?;
        self.colors.get(name).copied()
    }

    fn shape(&mut self, element: &Element, called: &str) -> Option<Shape> {
        let touches = element.name == "collision";
        let pose = self.origin(element);
        let color = element.child("material").and_then(|material| self.color(material));
        let name = if touches { "collision" } else { "visual" };
        let called = &format!("{name} of {called}");
        let Some(geometry) = element.child("geometry").and_then(|g| g.children.first()) else {
            let message = "a shape without a geometry";
            self.bad_shape(touches, called, element.span, message, "add <geometry>");
            return None;
        };
        let positive = |list: &[f64]| list.iter().all(|x| *x > 1e-9);
        // Sizes that are missing or not numbers count as not positive.
        let size_of = |context: &mut Context, key: &str| context.number_or(geometry, key, 0.0);
        let text = match geometry.name.as_str() {
            "box" => {
                let size = self.context.vector(geometry, "size").unwrap_or_else(Vec3::zeros);
                positive(size.as_slice()).then(|| format!("box = {{ size = {} }}", vector(&size)))
            }
            "sphere" => {
                let r = size_of(self.context, "radius");
                positive(&[r]).then(|| format!("sphere = {{ radius = {} }}", number(r)))
            }
            kind @ ("cylinder" | "capsule") => {
                let (r, l) = (size_of(self.context, "radius"), size_of(self.context, "length"));
                let (radius, length) = (number(r), number(l));
                positive(&[r, l])
                    .then(|| format!("{kind} = {{ radius = {radius}, length = {length} }}"))
            }
            "mesh" => {
                let scale = self.context.vector(geometry, "scale").unwrap_or(Vec3::repeat(1.0));
                let file = geometry.text("filename").unwrap_or("");
                let own = self.context.own.clone();
                match self.context.find_mesh(file, &own) {
                    Ok((name, mesh)) if scale.iter().all(|s| s.abs() > 1e-12) => {
                        if touches && crate::mesh::is_flat(&mesh) {
                            let message = format!("mesh `{file}` is flat: it has no volume");
                            let help = "give it thickness, or use a box";
                            self.bad_shape(touches, called, geometry.span, message, help);
                            return None;
                        }
                        Some(self.context.mesh_geometry(&name, &scale))
                    }
                    Ok(_) => None,
                    Err(why) => {
                        let message = format!("mesh `{file}` cannot be used: {why}");
                        let help = "mesh files lie below the folder of the robot's package";
                        self.bad_shape(touches, called, geometry.span, message, help);
                        return None;
                    }
                }
            }
            "plane" => {
                // Bullet's; the table of elements reports it.
                return None;
            }
            other => {
                let message = format!("<{other}> is no geometry that is known here");
                let help = "box, sphere, cylinder, capsule and mesh are";
                self.bad_shape(touches, called, geometry.span, message, help);
                return None;
            }
        };
        let Some(geometry) = text else {
            let message = format!("sizes of the {} are missing or not positive", geometry.name);
            self.bad_shape(touches, called, geometry.span, message, "give sizes above 0");
            return None;
        };
        Some(Shape { geometry, pose, touches, color, surface: None })
    }

    /// A fault of a shape: one that touches is part of the motion, one for looks is not.
    fn bad_shape(
        &mut self,
        touches: bool,
        called: &str,
        span: Span,
        message: impl AsRef<str>,
        help: &str,
    ) {
        if touches {
            let assumed = "the shape is left out";
            self.context.repairable("bad-shape", called, span, message, help, assumed);
        } else {
            let text = format!("shapes for looks: {}", message.as_ref());
            self.context.dropped(text, called, span);
        }
    }

    fn joint<'a>(
        &mut self,
        edge: &Edge<'a>,
        link: &mut Link,
        mimics: &mut Vec<(&'a Element, String)>,
    ) -> Option<()> {
        let element = edge.element;
        let called = element.called();
        link.pose = self.origin(element);
        let kind = element.text("type").unwrap_or("");
        let wanted = element.text("name").unwrap_or("");
        let needs_axis = matches!(kind, "revolute" | "continuous" | "prismatic" | "planar");
        let axis = match element.child("axis") {
            Some(axis) if needs_axis && axis.get("xyz").is_some() => {
                self.context.direction(axis, "xyz")?
            }
            _ => Vec3::x(),
        };
        let freedoms: &[(&str, Freedom, Vec3)] = match kind {
            "fixed" => &[],
            "revolute" | "continuous" => &[("", Freedom::Hinge, axis)],
            "prismatic" => &[("", Freedom::Slide, axis)],
            "spherical" => &[("", Freedom::Ball, axis)],
            "floating" => &[("", Freedom::Free, axis)],
            "planar" => {
                let (x, y) = gelenk_model::math::perpendicular_frame(&axis);
                let text = "planar joints: two sliders and a hinge";
                self.context.changed(text, &called, element.span);
                &[
                    ("_x", Freedom::Slide, x),
                    ("_y", Freedom::Slide, y),
                    ("_angle", Freedom::Hinge, axis),
                ]
            }
            other => {
                let message = format!("there is no joint type `{other}`");
                let help = "URDF has revolute, continuous, prismatic, fixed, floating and planar";
                self.context.error("unknown-type", called, element.span, message, help);
                return None;
            }
        };
        if kind == "floating" && edge.parent != "world" && link.parent != 0 {
            let text = "floating joints on links: the child is free, joined to nothing";
            self.context.changed(text, &called, element.span);
        }
        for (suffix, freedom, axis) in freedoms {
            let name = self.joint_names.give(&format!("{wanted}{suffix}"));
            let mut joint = Joint::new(&name, *freedom, element.span);
            joint.axis = *axis;
            self.properties(element, kind, &mut joint);
            if suffix.is_empty()
                && matches!(freedom, Freedom::Hinge | Freedom::Slide)
                && let Some(mimic) = element.child("mimic")
            {
                mimics.push((mimic, joint.name.clone()));
            }
            link.joints.push(joint);
        }
        Some(())
    }

    /// Limits, damping and friction.
    fn properties(&mut self, element: &Element, kind: &str, joint: &mut Joint) {
        let called = element.called();
        if let Some(limit) = element.child("limit") {
            let low = self.context.number_or(limit, "lower", 0.0);
            let high = self.context.number_or(limit, "upper", 0.0);
            if matches!(kind, "revolute" | "prismatic") {
                if low < high {
                    joint.limits = Some([low, high]);
                } else if low > high {
                    let message = format!("the limits are the wrong way round: {low} to {high}");
                    let help = "`lower` is the smaller of the two";
                    let assumed = "the two are exchanged";
                    let (code, span) = ("bad-limits", limit.span);
                    self.context.repairable(code, &called, span, message, help, assumed);
                    joint.limits = Some([high, low]);
                } else {
                    let text = "limits without width: the joint has none";
                    self.context.changed(text, &called, limit.span);
                }
            }
            for key in ["effort", "velocity"] {
                if self.context.number(limit, key).is_some_and(|x| x < 0.0) {
                    let message = format!("`{key}` of the limits is negative");
                    let help = "give 0 or more";
                    self.context.error("bad-limits", &called, limit.span, message, help);
                }
            }
            if limit.get("velocity").is_some() {
                self.context.dropped("limits of velocity", &called, limit.span);
            }
            let effort = self.context.number(limit, "effort").filter(|effort| *effort > 0.0);
            joint.strength = effort.map(|effort| (effort, limit.span));
        } else if kind == "revolute" {
            let text = "joints of type revolute without <limit>: they turn freely";
            self.context.changed(text, &called, element.span);
        }
        if let Some(dynamics) = element.child("dynamics") {
            let keys = ["damping", "friction", "spring_stiffness"];
            let [damping, friction, stiffness] =
                keys.map(|key| self.context.number_or(dynamics, key, 0.0));
            if damping < 0.0 || friction < 0.0 || stiffness < 0.0 {
                let message = "damping, friction and stiffness are not negative";
                let help = "give 0 or more";
                self.context.error("bad-number", &called, dynamics.span, message, help);
            }
            joint.damping = damping.max(0.0);
            joint.friction = friction.max(0.0);
            if joint.velocities() == 1 {
                joint.stiffness = stiffness.max(0.0);
                joint.rest = self.context.number_or(dynamics, "spring_reference", 0.0);
            }
            if joint.freedom == Freedom::Ball && joint.friction > 0.0 {
                self.context.dropped("dry friction of ball joints", &called, dynamics.span);
            }
        }
    }

    /// Transmissions of one joint and one actuator: an input, and a motor at the joint with its torque times the reduction.
    fn transmissions(&mut self, root: &Element, links: &mut [Link]) -> Vec<(String, f64)> {
        let mut inputs = Vec::new();
        let mut names = Names::default();
        for element in root.all("transmission") {
            let called = element.called();
            let joints: Vec<&Element> = element.all("joint").collect();
            let actuators: Vec<&Element> = element.all("actuator").collect();
            let ([joint], [actuator]) = (joints.as_slice(), actuators.as_slice()) else {
                let text = "transmissions that are not of one joint and one actuator";
                self.context.dropped(text, &called, element.span);
                continue;
            };
            let wanted = joint.text("name").unwrap_or("");
            let Some(&[link, which]) = self.joints.get(&crate::names::plain(wanted)) else {
                let known = root.all("joint").any(|joint| joint.text("name") == Some(wanted));
                if known {
                    let text = "transmissions of joints without a coordinate";
                    self.context.dropped(text, &called, element.span);
                } else {
                    let message = format!("there is no joint `{wanted}`");
                    let help = "check the name of the joint";
                    self.context.error("unknown-joint", called, joint.span, message, help);
                }
                continue;
            };
            if self.context.options.without_actuators {
                continue;
            }
            let reduction = [*actuator, *joint, element]
                .into_iter()
                .find_map(|holder| holder.child("mechanicalReduction"))
                .map_or(Some(1.0), |text| text.content.parse::<f64>().ok())
                .filter(|x| x.is_finite() && *x != 0.0);
            let Some(reduction) = reduction else {
                let message = "the mechanical reduction is not a number but zero";
                let help = "give a number, 1 for none";
                self.context.error("bad-number", called, element.span, message, help);
                continue;
            };
            let joint = &mut links[link].joints[which];
            if joint.velocities() != 1 {
                let text = "transmissions of joints with several coordinates";
                self.context.dropped(text, &called, element.span);
                continue;
            }
            let name = names.give(actuator.text("name").unwrap_or(wanted));
            let mut told = format!("input.{name}");
            if reduction.to_bits() != 1.0_f64.to_bits() {
                told = format!("{}*{told}", number(reduction));
            }
            if let Some((most, _)) = joint.strength {
                let most = number(most);
                told = format!("min(max({told}, -{most}), {most})");
            }
            let key = if joint.freedom == Freedom::Slide { "force" } else { "torque" };
            joint.motors.push(format!("{{ {key} = \"{told}\" }}"));
            inputs.push((name, 0.0));
        }
        for joint in links.iter().flat_map(|link| &link.joints) {
            if let (Some((_, span)), []) = (joint.strength, joint.motors.as_slice()) {
                let text = "limits of effort: the joint has no motor that they could bound";
                self.context.dropped(text, &format!("joint `{}`", joint.name), span);
            }
        }
        inputs
    }

    /// q = multiplier q' + offset: a coupling, with the joint drawn at its offset.
    fn mimic(&mut self, mimics: Vec<(&Element, String)>) -> Vec<Coupling> {
        let mut couplings = Vec::new();
        // Those that follow followers start after them.
        let mut waiting = mimics;
        let mut rounds = waiting.len() + 1;
        while !waiting.is_empty() && rounds > 0 {
            rounds -= 1;
            let followers: Vec<String> = waiting.iter().map(|(_, name)| name.clone()).collect();
            let mut later = Vec::new();
            for (mimic, name) in waiting {
                let leader = crate::names::plain(mimic.text("joint").unwrap_or(""));
                if followers.contains(&leader) && leader != name {
                    if rounds > 0 {
                        later.push((mimic, name));
                    } else {
                        let message = "joints follow each other in a circle";
                        let (whose, help) = (format!("joint `{name}`"), "let one of them lead");
                        self.context.error("bad-mimic", whose, mimic.span, message, help);
                    }
                    continue;
                }
                let (Some(&led), Some(&own)) = (self.joints.get(&leader), self.joints.get(&name))
                else {
                    let message = format!("there is no joint `{leader}` with one coordinate");
                    let help = "name a revolute, continuous or prismatic joint";
                    self.context.error(
                        "unknown-joint",
                        format!("joint `{name}`"),
                        mimic.span,
                        message,
                        help,
                    );
                    continue;
                };
                if led == own || self.links[led[0]].joints[led[1]].velocities() != 1 {
                    let message = "a joint cannot follow itself, nor one with several coordinates";
                    let help = "name a revolute, continuous or prismatic joint";
                    self.context.error(
                        "bad-mimic",
                        format!("joint `{name}`"),
                        mimic.span,
                        message,
                        help,
                    );
                    continue;
                }
                let multiplier = self.context.number_or(mimic, "multiplier", 1.0);
                let offset = self.context.number_or(mimic, "offset", 0.0);
                let start = multiplier * self.links[led[0]].joints[led[1]].start + offset;
                self.links[own[0]].joints[own[1]].start = start;
                couplings.push(Coupling {
                    name: self.condition_names.give(&name),
                    terms: vec![(1.0, own), (-multiplier, led)],
                });
            }
            waiting = later;
        }
        couplings
    }

    /// `<loop_joint>`: a joint that closes a loop.
    fn loops(&mut self, root: &Element) -> Vec<Closure> {
        let mut closures = Vec::new();
        for element in root.all("loop_joint") {
            let called = element.called();
            let kind = match element.text("type").unwrap_or("") {
                "revolute" | "continuous" => "hinge",
                "prismatic" => "slider",
                "spherical" | "ball" => "ball",
                "fixed" => "fixed",
                other => {
                    let message = format!("a loop is not closed by a joint of type `{other}`");
                    let help = "use revolute, prismatic, spherical or fixed";
                    self.context.error("unknown-type", called, element.span, message, help);
                    continue;
                }
            };
            let mut ends = Vec::new();
            for side in ["link1", "link2"] {
                let Some(end) = element.child(side) else { continue };
                let name = end.text("link").unwrap_or("");
                if let Some(link) = self.index.get(name).copied() {
                    ends.push((link, self.place(end)));
                } else {
                    let message = format!("there is no link `{name}`");
                    let help = "check the names of the links";
                    self.context.error("unknown-link", &called, end.span, message, help);
                }
            }
            let [(a, on_a), (b, on_b)] = ends.as_slice() else {
                let help = "give <link1 link=\"...\" xyz=\"...\" rpy=\"...\"/> and <link2 .../>";
                let message = "a loop joint names two links";
                self.context.error("missing-link", called, element.span, message, help);
                continue;
            };
            let axis = match element.child("axis") {
                Some(axis) if axis.get("xyz").is_some() => self.context.direction(axis, "xyz"),
                _ => Some(Vec3::x()),
            };
            let Some(axis) = axis else { continue };
            let axes = matches!(kind, "hinge" | "slider")
                .then(|| [on_a.rotation * axis, on_b.rotation * axis]);
            let wanted = element.text("name").unwrap_or("loop");
            closures.push(Closure {
                name: self.joint_names.give(wanted),
                kind,
                links: [*a, *b],
                anchors: [on_a.translation.vector, on_b.translation.vector],
                axes,
            });
        }
        closures
    }
}

/// The link that never moves.
pub(crate) fn world(span: Span) -> Link {
    Link {
        name: "world".to_owned(),
        named: false,
        parent: 0,
        pose: Pose::identity(),
        joints: Vec::new(),
        mass: Mass::NONE,
        shapes: Vec::new(),
        marks: Vec::new(),
        gravity_held: 0.0,
        weighed: false,
        scope: 0,
        span,
    }
}
