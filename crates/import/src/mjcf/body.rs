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
        let class = element.text("childclass").or(class).map(str::to_owned);
        if let Some(name) = &class
            && !self.defaults.knows(name)
        {
            let message = format!("there is no default class `{name}`");
            self.context.error(
                "unknown-class",
                element.called(),
                element.span,
                message,
                "check the name",
            );
        }
        let class = class.as_deref();
        let wanted = element.text("name");
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
        let pose = frame * self.pose(element);
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
            span: element.span,
        });
        self.joints_of(element, here, class, depth);
        self.own_contents(element, here, &Pose::identity(), class, depth);
        if let Some(inertial) = element.child("inertial") {
            let geoms = self.robot.links[here].mass;
            let given = self.inertial(inertial);
            self.robot.links[here].mass = match self.compiler.inertia_from_geom {
                Some(true) => geoms,
                _ => given.unwrap_or(geoms),
            };
        } else if self.compiler.inertia_from_geom == Some(false) {
            self.robot.links[here].mass = Mass::NONE;
        }
        // Children come after, so that the body's own mass is ready; their order is that of the file.
        self.children(element, here, &Pose::identity(), class, depth);
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
                "camera" | "light" => {
                    self.context.dropped("cameras and lights", &child.called(), child.span);
                }
                other => {
                    let text = format!("<{other}> of bodies: what it makes is missing");
                    self.context.dropped(text, &child.called(), child.span);
                }
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
    fn joints_of(&mut self, element: &Element, link: usize, class: Option<&str>, depth: usize) {
        if depth > self.context.options.limits.nesting {
            return;
        }
        for child in &element.children {
            match child.name.as_str() {
                "joint" | "freejoint" => self.read_joint(child, link, class),
                "frame" if child.children.iter().any(|c| c.name.ends_with("joint")) => {
                    let text =
                        "joints in frames: they are read as if they stood in the body itself";
                    self.context.changed(text, &child.called(), child.span);
                    self.joints_of(child, link, class, depth + 1);
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

    fn read_joint(&mut self, element: &Element, link: usize, class: Option<&str>) {
        let free = element.name == "freejoint";
        let element = if free { element.clone() } else { self.defaults.resolve(element, class) };
        let called = element.called();
        let freedom = match element.text("type").unwrap_or(if free { "free" } else { "hinge" }) {
            "hinge" => Freedom::Hinge,
            "slide" => Freedom::Slide,
            "ball" => Freedom::Ball,
            "free" => Freedom::Free,
            other => {
                let message = format!("there is no joint type `{other}`");
                let help = "MJCF has hinge, slide, ball and free";
                self.context.error("unknown-type", called, element.span, message, help);
                return;
            }
        };
        let which = self.robot.links[link].joints.len();
        let wanted = element.text("name");
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
        let unit = if freedom == Freedom::Hinge { self.compiler.angle } else { 1.0 };
        if freedom != Freedom::Free {
            joint.anchor = self.context.vector(&element, "pos").unwrap_or_else(Vec3::zeros);
        }
        if matches!(freedom, Freedom::Hinge | Freedom::Slide) {
            if element.get("axis").is_some() {
                joint.axis = self.context.direction(&element, "axis").unwrap_or_else(Vec3::z);
            }
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
            && range[0] < range[1]
        {
            if (range[0] + range[1]).abs() <= 0.0 {
                self.strength.insert([link, which], range[1]);
            } else {
                let text = "actuatorfrcrange that is not symmetric";
                self.context.dropped(text, &called, element.span);
            }
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
        let Some(range) = self.context.numbers(element, "range", 2..=2) else { return };
        let limited = match element.text("limited") {
            Some("true") => true,
            Some("false") => false,
            _ => self.compiler.autolimits,
        };
        if !limited {
            return;
        }
        match joint.freedom {
            Freedom::Ball => {
                let text = "limits of ball joints";
                self.context.dropped(text, &element.called(), element.span);
            }
            Freedom::Free => {}
            _ if range[0] < range[1] => {
                joint.limits = Some([range[0] * unit, range[1] * unit]);
            }
            _ => {
                let text = "limits that are empty or the wrong way round";
                self.context.dropped(text, &element.called(), element.span);
            }
        }
    }

    fn site(&mut self, element: &Element, link: usize, frame: &Pose, class: Option<&str>) {
        let element = self.defaults.resolve(element, class);
        let Some(name) = element.text("name").map(str::to_owned) else { return };
        let pose = match self.context.numbers(&element, "fromto", 6..=6) {
            Some(ends) => super::geom::between(&ends).0,
            None => self.pose(&element),
        };
        let pose = frame * pose;
        self.robot.links[link].marks.push((name.clone(), pose.translation.vector));
        self.sites.insert(name, Site { link, pose });
    }

    fn inertial(&mut self, element: &Element) -> Option<Mass> {
        let pose = self.pose(element);
        let mass = self.context.number(element, "mass");
        let Some(mass) = mass.filter(|mass| *mass >= 0.0) else {
            let message = "the inertial has no mass, or a negative one";
            self.context.error("bad-mass", "inertial", element.span, message, "give `mass`");
            return None;
        };
        if let Some(full) = self.context.numbers(element, "fullinertia", 6..=6) {
            let [xx, yy, zz, xy, xz, yz] = [full[0], full[1], full[2], full[3], full[4], full[5]];
            let inertia = Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
            return Some(Mass { mass, center: Vec3::zeros(), inertia }.placed(&pose));
        }
        let diagonal = self.context.vector(element, "diaginertia").unwrap_or_else(Vec3::zeros);
        let inertia = Mat3::from_diagonal(&diagonal);
        Some(Mass { mass, center: Vec3::zeros(), inertia }.placed(&pose))
    }

    /// Bounds, balance and the total of masses, as the compiler's settings ask.
    pub(super) fn masses(&mut self) {
        let compiler = self.compiler.clone();
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
