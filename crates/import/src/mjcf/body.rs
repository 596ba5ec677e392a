//! Bodies, joints, sites and inertia.

use gelenk_model::Span;
use gelenk_model::math::{Mat3, Vec3};

use super::{Reader, Site};
use crate::mass::{Mass, Pose};
use crate::tree::{Freedom, Joint, Link};
use crate::xml::Element;

impl Reader<'_> {
    /// What stands in the world or a body: its own things, then the bodies in it, in the order of the file.
    pub(super) fn contents(
        &mut self,
        element: &Element,
        link: usize,
        class: Option<&str>,
        depth: usize,
    ) {
        self.own_contents(element, link, &Pose::identity(), class, depth);
        self.children(element, link, &Pose::identity(), class, depth);
        if link == 0 {
            self.joints_of(element, 0, &Pose::identity(), class, depth);
        }
    }

    fn body(
        &mut self,
        element: &Element,
        parent: usize,
        frame: &Pose,
        class: Option<&str>,
        depth: usize,
    ) {
        let here = self.robot.links.len();
        if here > self.context.options.limits.bodies {
            let told = self.context.errors.last().is_some_and(|last| last.code == "limit-bodies");
            if !told {
                let message = format!("more than {} bodies", self.context.options.limits.bodies);
                let help = "raise it with `--limit bodies=COUNT`";
                self.context.error("limit-bodies", element.called(), element.span, message, help);
            }
            return;
        }
        // Classes of the file that attaches a model mean nothing in it.
        let around = class.filter(|_| self.robot.links[parent].scope == element.scope);
        let class = element.text("childclass").or(around).map(str::to_owned);
        let class = class.as_deref();
        let wanted = element.text("name").filter(|name| !name.is_empty());
        let name = match wanted {
            Some(name) => self.names.bodies.give(name),
            None => self.names.bodies.give(&format!("body{here}")),
        };
        if let Some(wanted) = wanted {
            self.renamed(wanted, &name, element.span);
            if self.bodies.insert(wanted.to_owned(), here).is_some() {
                let message = format!("there are two bodies `{wanted}`");
                self.context.error(
                    "name-twice",
                    element.called(),
                    element.span,
                    message,
                    "rename one",
                );
            }
        }
        let global = self.compiler(element).global;
        let pose = if global { self.global_place(element, parent) } else { self.pose(element) };
        let pose = frame * pose;
        self.drawn.push(self.drawn[parent] * pose);
        // What is in a body counts from it; with global coordinates from the world.
        let within = if global { self.drawn[here].inverse() } else { Pose::identity() };
        if element.text("mocap") == Some("true") {
            let text = "mocap bodies: they stay where they are drawn";
            self.context.changed(text, &element.called(), element.span);
        }
        let gravity_held = self.context.number_or(element, "gravcomp", 0.0);
        self.robot.links.push(Link {
            name,
            named: wanted.is_some(),
            parent,
            pose,
            joints: Vec::new(),
            mass: Mass::NONE,
            shapes: Vec::new(),
            marks: Vec::new(),
            gravity_held,
            weighed: false,
            scope: element.scope,
            span: element.span,
        });
        self.joints_of(element, here, &within, class, depth);
        let from_geoms = self.compiler(element).inertia_from_geom;
        let inertial = element.child("inertial");
        self.robot.links[here].weighed = match from_geoms {
            Some(given) => !given,
            None => inertial.is_some(),
        };
        self.own_contents(element, here, &within, class, depth);
        if let Some(second) = element.all("inertial").nth(1) {
            let message = "the body has two <inertial>";
            self.context.error("name-twice", element.called(), second.span, message, "leave one");
        }
        if let Some(inertial) = inertial {
            let geoms = self.robot.links[here].mass;
            let given = self.inertial(inertial, &within);
            self.robot.links[here].mass = match from_geoms {
                Some(true) => geoms,
                _ => given.unwrap_or(geoms),
            };
        } else if from_geoms == Some(false) {
            self.robot.links[here].mass = Mass::NONE;
        }
        // Children come after, so that the body's own mass is ready; their order is that of the file.
        self.children(element, here, &Pose::identity(), class, depth);
    }

    /// The place of a body in its parent, where the file gives places in the world. A body without one lies where its inertial
    /// does.
    fn global_place(&mut self, element: &Element, parent: usize) -> Pose {
        let turned = super::defaults::ROTATIONS.into_iter().any(|key| element.get(key).is_some());
        let mut pose = self.pose(element);
        if element.get("pos").is_none() {
            let inertial = element.child("inertial").map(|inertial| self.pose(inertial));
            pose.translation = inertial.unwrap_or(self.drawn[parent]).translation;
        }
        if !turned {
            pose.rotation = gelenk_model::math::Quat::identity();
        }
        self.drawn[parent].inverse() * pose
    }

    /// Geoms, sites and the like of a body or a frame in it, without the bodies; `frame` is the frame's place in the link.
    fn own_contents(
        &mut self,
        element: &Element,
        link: usize,
        frame: &Pose,
        class: Option<&str>,
        depth: usize,
    ) {
        if depth > self.context.options.limits.nesting {
            return;
        }
        for child in &element.children {
            match child.name.as_str() {
                // Read elsewhere.
                "body" | "inertial" | "joint" | "freejoint" => {}
                "frame" => {
                    let pose = frame * self.pose(child);
                    let class = child.text("childclass").or(class).map(str::to_owned);
                    self.own_contents(child, link, &pose, class.as_deref(), depth + 1);
                }
                "geom" => self.geom(child, link, frame, class),
                "site" => self.site(child, link, frame, class),
                // What is left is dropped by the table of elements.
                _ => {}
            }
        }
    }

    fn children(
        &mut self,
        element: &Element,
        link: usize,
        frame: &Pose,
        class: Option<&str>,
        depth: usize,
    ) {
        if depth > self.context.options.limits.nesting {
            return;
        }
        for child in &element.children {
            match child.name.as_str() {
                "body" => self.body(child, link, frame, class, depth + 1),
                "frame" => {
                    let pose = frame * self.pose(child);
                    let class = child.text("childclass").or(class).map(str::to_owned);
                    self.children(child, link, &pose, class.as_deref(), depth + 1);
                }
                _ => {}
            }
        }
    }

    /// The joints of a body, those in frames of it included.
    fn joints_of(
        &mut self,
        element: &Element,
        link: usize,
        frame: &Pose,
        class: Option<&str>,
        depth: usize,
    ) {
        if depth > self.context.options.limits.nesting {
            return;
        }
        for child in &element.children {
            match child.name.as_str() {
                "joint" | "freejoint" if link == 0 => {
                    let message = "the world body has no joints: it does not move";
                    let help = "put the joint into the body that it moves";
                    let (called, span) = (child.called(), child.span);
                    let assumed = "it is passed over";
                    self.context.repairable("bad-joint", called, span, message, help, assumed);
                }
                "joint" | "freejoint" => self.read_joint(child, link, frame, class),
                "frame" => {
                    let pose = frame * self.pose(child);
                    let class = child.text("childclass").or(class).map(str::to_owned);
                    self.joints_of(child, link, &pose, class.as_deref(), depth + 1);
                }
                _ => {}
            }
        }
        let joints = &self.robot.links[link].joints;
        if joints.len() > 1 && joints.iter().any(|joint| joint.freedom == Freedom::Free) {
            let message = "a body with a free joint has no other joints";
            self.context.error("bad-joint", element.called(), element.span, message, "remove them");
        }
        if let Some(joint) = joints.iter().find(|joint| joint.freedom == Freedom::Free)
            && self.robot.links[link].parent != 0
        {
            let called = format!("joint `{}`", joint.name);
            let message = "a free joint belongs to a body of the world";
            self.context.error("bad-joint", called, element.span, message, "move the body up");
        }
    }

    fn read_joint(&mut self, element: &Element, link: usize, frame: &Pose, class: Option<&str>) {
        let free = element.name == "freejoint";
        let element = if free { element.clone() } else { self.resolve(element, class) };
        let called = element.called();
        let freedom = match element.text("type").unwrap_or(if free { "free" } else { "hinge" }) {
            "hinge" => Freedom::Hinge,
            "slide" => Freedom::Slide,
            "ball" => Freedom::Ball,
            "free" => Freedom::Free,
            "fixed" => {
                let text = "joints of type fixed (of Bullet): the body is one with what carries it";
                self.context.changed(text, &called, element.span);
                return;
            }
            other => {
                let message = format!("there is no joint type `{other}`");
                let help = "MJCF has hinge, slide, ball and free";
                self.context.error("unknown-type", called, element.span, message, help);
                return;
            }
        };
        let which = self.robot.links[link].joints.len();
        let wanted = element.text("name").filter(|name| !name.is_empty());
        let body = self.robot.links[link].name.clone();
        let name = match wanted {
            Some(wanted) => self.names.joints.give(wanted),
            None => self.names.joints.give(&format!("{body}_joint")),
        };
        if let Some(wanted) = wanted {
            self.renamed(wanted, &name, element.span);
            if self.joints.insert(wanted.to_owned(), [link, which]).is_some() {
                let message = format!("there are two joints `{wanted}`");
                self.context.error("name-twice", &called, element.span, message, "rename one");
            }
        }
        let mut joint = Joint::new(&name, freedom, element.span);
        let unit = if freedom == Freedom::Hinge { self.compiler(&element).angle } else { 1.0 };
        if freedom != Freedom::Free {
            let anchor = self.context.vector(&element, "pos").unwrap_or_else(Vec3::zeros);
            joint.anchor = (frame * nalgebra::Point3::from(anchor)).coords;
        }
        if matches!(freedom, Freedom::Hinge | Freedom::Slide) {
            if element.get("axis").is_some() {
                joint.axis = self.context.direction(&element, "axis").unwrap_or_else(Vec3::z);
            }
            joint.axis = frame.rotation * joint.axis;
            joint.reference = unit * self.context.number_or(&element, "ref", 0.0);
            joint.start = joint.reference;
            joint.rest = unit * self.context.number_or(&element, "springref", 0.0);
        }
        joint.stiffness = self.first(&element, "stiffness", 0.0);
        joint.damping = self.first(&element, "damping", 0.0);
        joint.armature = self.context.number_or(&element, "armature", 0.0);
        joint.friction = self.context.number_or(&element, "frictionloss", 0.0);
        let given = [joint.stiffness, joint.damping, joint.armature, joint.friction];
        if given.iter().any(|x| *x < 0.0) {
            let message = "stiffness, damping, armature and frictionloss are not negative";
            self.context.error("bad-number", &called, element.span, message, "give 0 or more");
        }
        if matches!(freedom, Freedom::Ball | Freedom::Free) {
            let kind = if freedom == Freedom::Ball { "ball" } else { "free" };
            for (value, what) in [(joint.stiffness, "springs"), (joint.friction, "dry friction")] {
                if value > 0.0 {
                    let text = format!("{what} of {kind} joints");
                    self.context.dropped(text, &called, element.span);
                }
            }
        }
        self.read_limits(&element, &mut joint, unit);
        if let Some(pair) = self.context.numbers(&element, "springdamper", 2..=2)
            && pair.iter().all(|x| *x > 0.0)
        {
            self.timed.push(([link, which], [pair[0], pair[1]]));
        }
        if let Some(range) = self.context.numbers(&element, "actuatorfrcrange", 2..=2)
            && self.bounded(&element, "actuatorfrcrange", "actuatorfrclimited", &range)
        {
            self.strength.insert([link, which], [range[0], range[1]]);
        }
        self.robot.links[link].joints.push(joint);
    }

    /// The first number of a list whose others are factors of powers.
    fn first(&mut self, element: &Element, name: &str, default: f64) -> f64 {
        let Some(list) = self.context.numbers(element, name, 1..=3) else { return default };
        if list[1..].iter().any(|x| *x != 0.0) {
            let text = format!("{name} that grows with powers: the linear part is kept");
            self.context.changed(text, &element.called(), element.span);
        }
        list[0]
    }

    fn read_limits(&mut self, element: &Element, joint: &mut Joint, unit: f64) {
        let Some(range) = self.context.numbers(element, "range", 2..=2) else {
            if element.text("limited") == Some("true") {
                let message = "the joint is limited, but has no `range`";
                let help = "give `range`";
                self.context.error("bad-limits", element.called(), element.span, message, help);
            }
            return;
        };
        if joint.freedom == Freedom::Free || !self.bounded(element, "range", "limited", &range) {
            return;
        }
        if joint.freedom == Freedom::Ball {
            let text = "limits of ball joints";
            self.context.dropped(text, &element.called(), element.span);
        } else {
            let [low, high] = [range[0].min(range[1]), range[0].max(range[1])];
            joint.limits = Some([low * unit, high * unit]);
        }
    }

    /// Whether a range bounds something. One of no width bounds nothing unless the file insists; one the wrong way round is a
    /// fault, and its ends exchanged the repair.
    pub(super) fn bounded(
        &mut self,
        element: &Element,
        key: &str,
        flag: &str,
        range: &[f64],
    ) -> bool {
        let asked = match element.text(flag) {
            Some("true") => Some(true),
            Some("false") => return false,
            _ => None,
        };
        let span = element.get(key).map_or(element.span, |a| a.span);
        if range[0] > range[1] {
            let message = format!("`{key}` is the wrong way round: {} to {}", range[0], range[1]);
            let help = "give the smaller number first";
            let assumed = "the two are exchanged";
            let code = "bad-limits";
            return self.context.repairable(code, element.called(), span, message, help, assumed);
        }
        if range[0] < range[1] {
            return asked.unwrap_or(self.compiler(element).autolimits);
        }
        if asked == Some(true) && element.text("type") != Some("ball") {
            let message = format!("`{key}` has no width, but `{flag}` asks for it");
            let help = "give two numbers that differ";
            self.context.error("bad-limits", element.called(), span, message, help);
        }
        false
    }

    fn site(&mut self, element: &Element, link: usize, frame: &Pose, class: Option<&str>) {
        let element = self.resolve(element, class);
        let Some(name) = element.text("name").filter(|name| !name.is_empty()) else { return };
        let name = name.to_owned();
        let pose = match self.context.numbers(&element, "fromto", 6..=6) {
            Some(ends) => super::geom::between(&ends).0,
            None => self.pose(&element),
        };
        let pose = frame * pose;
        self.robot.links[link].marks.push((name.clone(), pose.translation.vector));
        self.sites.insert(name, Site { link, pose });
    }

    fn inertial(&mut self, element: &Element, within: &Pose) -> Option<Mass> {
        if element.get("pos").is_none() {
            let message = "the inertial has no `pos`";
            let help = "say where the centre of mass is";
            let (called, assumed) = (element.called_within(), "the origin of the body");
            let code = "missing-place";
            self.context.repairable(code, called, element.span, message, help, assumed);
        }
        let pose = within * self.pose(element);
        let Some(mass) = self.context.number(element, "mass") else {
            if element.get("mass").is_none() {
                let message = "the inertial has no mass";
                let called = element.called_within();
                self.context.error("bad-mass", called, element.span, message, "give `mass`");
            }
            return None;
        };
        if mass < 0.0 {
            let span = element.get("mass").map_or(element.span, |a| a.span);
            let message = format!("the mass is {mass} kg, but a mass is positive");
            let help = "give a mass above 0";
            self.context.error("bad-mass", element.called_within(), span, message, help);
            return None;
        }
        let (inertia, span) = if let Some(full) =
            self.context.numbers(element, "fullinertia", 6..=6)
        {
            let [xx, yy, zz, xy, xz, yz] = [full[0], full[1], full[2], full[3], full[4], full[5]];
            if element.get("diaginertia").is_some() {
                let message = "the inertia is given twice, by `diaginertia` and `fullinertia`";
                let called = element.called_within();
                self.context.error("bad-inertia", called, element.span, message, "leave one");
            }
            let tensor = Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
            (tensor, element.get("fullinertia").map(|a| a.span))
        } else {
            let diagonal = self.context.vector(element, "diaginertia");
            let tensor = Mat3::from_diagonal(&diagonal.unwrap_or_else(Vec3::zeros));
            (tensor, element.get("diaginertia").map(|a| a.span))
        };
        let mass = Mass { mass, center: Vec3::zeros(), inertia };
        let compiler = self.compiler(element);
        let mends = compiler.balance || compiler.least_inertia > 0.0;
        if let (Some(span), false) = (span, mends) {
            mass.refuse_impossible(self.context, &element.called_within(), span);
        }
        Some(mass.placed(&pose))
    }

    /// Bounds, balance and the total of masses, as the compiler's settings ask.
    pub(super) fn masses(&mut self) {
        // A model that is attached brings its own settings, but these are for the whole.
        let compiler = self.scopes[0].compiler.clone();
        for link in self.robot.links.iter_mut().skip(1) {
            let mass = &mut link.mass;
            if compiler.least_mass > 0.0 && mass.mass < compiler.least_mass {
                mass.mass = compiler.least_mass;
            }
            if compiler.least_inertia > 0.0 {
                let moments = mass.inertia.symmetric_eigenvalues();
                if moments.min() < compiler.least_inertia {
                    let eigen = nalgebra::SymmetricEigen::new(mass.inertia);
                    let bounded = eigen.eigenvalues.map(|x| x.max(compiler.least_inertia));
                    mass.inertia = eigen.eigenvectors
                        * Mat3::from_diagonal(&bounded)
                        * eigen.eigenvectors.transpose();
                }
            }
            if compiler.balance && mass.possible(0.0).is_some() {
                mass.inertia = Mat3::identity() * (mass.inertia.trace() / 3.0);
            }
        }
        if let Some(total) = compiler.total_mass {
            let sum: f64 = self.robot.links.iter().skip(1).map(|link| link.mass.mass).sum();
            if sum > 0.0 {
                for link in self.robot.links.iter_mut().skip(1) {
                    link.mass = link.mass.times(total / sum);
                }
            }
        }
    }

    /// Springs given by time constant T and damping ratio ζ: k = J/(T ζ)², d = 2 J/T, with the inertia J that the joint
    /// feels where it is drawn.
    pub(super) fn springs(&mut self) {
        for ([link, which], [time, ratio]) in std::mem::take(&mut self.timed) {
            let inertia = crate::flat::felt_inertia(&self.robot, link, which);
            let joint = &mut self.robot.links[link].joints[which];
            joint.stiffness = inertia / (time * time * ratio * ratio);
            joint.damping = 2.0 * inertia / time;
        }
    }

    fn renamed(&mut self, wanted: &str, name: &str, span: Span) {
        if wanted != name {
            let text = "names: letters, digits and _ only, none twice";
            self.context.changed(text, &format!("`{wanted}`"), span);
        }
    }
}
