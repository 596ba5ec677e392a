//! Contact pairs, equality constraints and tendons.

use gelenk_model::math::{Quat, Vec3};
use nalgebra as na;

use super::{Fixed, Reader};
use crate::mass::Pose;
use crate::tree::{Closure, Cord, Coupling, Freedom, Pair};
use crate::xml::Element;

/// First bit of a mask that is for pairs.
const PAIR_BITS: std::ops::Range<u32> = 32..128;

impl Reader<'_> {
    pub(super) fn contacts(&mut self, root: &Element) {
        let mut bit = PAIR_BITS;
        for child in root.all("contact").flat_map(|section| &section.children) {
            self.only_once("contact", child);
            match child.name.as_str() {
                "exclude" => {
                    let a = self.body_named(child, "body1");
                    let b = self.body_named(child, "body2");
                    if let (Some(a), Some(b)) = (a, b) {
                        self.robot.excludes.push([a, b]);
                    }
                }
                "pair" => self.pair(child, &mut bit),
                _ => {}
            }
        }
    }

    /// A pair of geoms that touch whatever their masks say: a bit of its own. Where it has values of its own, the two surfaces
    /// become their own, so that these can be said of them.
    fn pair(&mut self, element: &Element, bits: &mut std::ops::Range<u32>) {
        let element = &self.resolve(element, None);
        let mut found = Vec::new();
        for key in ["geom1", "geom2"] {
            let Some(name) = self.name_in(element, key) else { return };
            match self.geoms.get(name) {
                Some(place) => found.extend(*place),
                None => {
                    self.unknown(element, key, "geom", self.geoms.keys().cloned().collect());
                    return;
                }
            }
        }
        self.margin(element);
        let own = self.friction(element, 5);
        let wanted = super::geom::dimension(element);
        let ([a, b], Some(bit)) = (found.as_slice(), bits.next()) else {
            let text = "pairs of geoms that touch: more than 96, or of geoms that are left out";
            self.context.dropped(text, &element.called(), element.span);
            return;
        };
        let next = self.robot.pairs.len() * 2;
        let mut tags = [0, 0];
        let (mut dimension, mut friction) = (1, [0.0; 3]);
        for (k, [link, shape]) in [a, b].into_iter().enumerate() {
            let shape = &mut self.robot.links[*link].shapes[*shape];
            shape.touches = true;
            let Some(surface) = &mut shape.surface else { continue };
            let mask = if k == 0 { &mut surface.contype } else { &mut surface.conaffinity };
            *mask |= 1 << bit;
            dimension = dimension.max(surface.dimension);
            for (larger, other) in friction.iter_mut().zip(surface.friction) {
                *larger = f64::max(*larger, other);
            }
            if own.is_some() || wanted.is_some() {
                tags[k] = *surface.own.get_or_insert(next + k);
            }
        }
        if own.is_some() || wanted.is_some() {
            let (dimension, friction) = (wanted.unwrap_or(dimension), own.unwrap_or(friction));
            self.robot.pairs.push(Pair { own: tags, dimension, friction });
        }
    }

    pub(super) fn tendons(&mut self, root: &Element) {
        for child in root.all("tendon").flat_map(|section| &section.children) {
            let child = self.resolve(child, None);
            self.only_once("tendon", &child);
            match child.name.as_str() {
                "fixed" => self.fixed_tendon(&child),
                "spatial" => self.spatial_tendon(&child),
                _ => {}
            }
        }
    }

    fn fixed_tendon(&mut self, element: &Element) {
        let called = element.called();
        let mut terms = Vec::new();
        for joint in element.all("joint") {
            let coef = self.context.number_or(joint, "coef", 1.0);
            if let Some(at) = self.joint_named(joint, "joint") {
                terms.push((coef, at));
            }
        }
        if let Some(range) = self.context.numbers(element, "range", 2..=2)
            && self.bounded(element, "range", "limited", &range)
        {
            self.context.dropped("limits of fixed tendons", &called, element.span);
        }
        if terms.is_empty() {
            let message = "the tendon has no joints";
            let help = "give it <joint joint=\"...\" coef=\"...\"/>";
            self.context.error("missing-name", &called, element.span, message, help);
            return;
        }
        for (key, what) in [("frictionloss", "dry friction"), ("armature", "armature")] {
            if self.context.number(element, key).is_some_and(|x| x > 0.0) {
                self.context.dropped(format!("{what} of tendons"), &called, element.span);
            }
        }
        let stiffness = self.context.number_or(element, "stiffness", 0.0);
        let damping = self.context.number_or(element, "damping", 0.0);
        if stiffness > 0.0 || damping > 0.0 {
            // Without `springlength` a tendon is slack as it is drawn.
            let drawn: f64 = terms.iter().map(|(c, at)| c * self.joint(*at).reference).sum();
            let rest = self.context.numbers(element, "springlength", 1..=2).unwrap_or_default();
            let rest = rest.first().copied().filter(|x| *x >= 0.0).unwrap_or(drawn);
            let length = self.sum_of(&terms, false);
            let rate = self.sum_of(&terms, true);
            let mut pull = Vec::new();
            if stiffness > 0.0 {
                let (k, rest) = (crate::number::number(stiffness), crate::number::number(rest));
                pull.push(format!("{k}*({rest} - ({length}))"));
            }
            if damping > 0.0 {
                pull.push(format!("-{}*({rate})", crate::number::number(damping)));
            }
            let pull = pull.join(" + ").replace("+ -", "- ");
            self.pull(&terms, &pull);
        }
        if let Some(name) = element.text("name") {
            self.tendons.insert(name.to_owned(), Some(Fixed { terms }));
        }
    }

    /// Σ c q, or Σ c q̇, as an expression.
    pub(super) fn sum_of(&self, terms: &[(f64, [usize; 2])], rate: bool) -> String {
        let mut parts = Vec::new();
        for (coef, at) in terms {
            let joint = self.joint(*at);
            let which = if rate { "velocity" } else { joint.coordinate() };
            parts.push(format!("{}*joint.{}.{which}", crate::number::number(*coef), joint.name));
        }
        parts.join(" + ")
    }

    /// A force along a fixed tendon: c times it at every joint.
    pub(super) fn pull(&mut self, terms: &[(f64, [usize; 2])], force: &str) {
        for (coef, [link, which]) in terms {
            let joint = &mut self.robot.links[*link].joints[*which];
            let key = if joint.freedom == Freedom::Slide { "force" } else { "torque" };
            let coef = crate::number::number(*coef);
            joint.motors.push(format!("{{ {key} = \"{coef}*({force})\" }}"));
        }
    }

    fn spatial_tendon(&mut self, element: &Element) {
        let called = element.called();
        if let Some(name) = element.text("name") {
            self.tendons.insert(name.to_owned(), None);
        }
        let sites: Vec<&Element> = element.children.iter().collect();
        let straight = sites.len() == 2 && sites.iter().all(|site| site.name == "site");
        if !straight {
            let text = "spatial tendons with more than two sites, or around geoms";
            self.context.dropped(text, &called, element.span);
            return;
        }
        let ends: Vec<_> = sites.iter().filter_map(|s| self.site_named(s, "site")).collect();
        let [a, b] = ends.as_slice() else { return };
        let stiffness = self.context.number_or(element, "stiffness", 0.0);
        let damping = self.context.number_or(element, "damping", 0.0);
        let length = self.context.numbers(element, "springlength", 1..=2).unwrap_or_default();
        if length.len() == 2 && length[1] > length[0] {
            let text = "springs of tendons that are slack between two lengths";
            self.context.dropped(text, &called, element.span);
        }
        let places = self.robot.places(false);
        let at =
            |site: &super::Site| places[site.link] * na::Point3::from(site.pose.translation.vector);
        let drawn = (at(a) - at(b)).norm();
        let length = length.first().copied().filter(|x| *x >= 0.0).unwrap_or(drawn);
        let range = self
            .context
            .numbers(element, "range", 2..=2)
            .filter(|range| self.bounded(element, "range", "limited", range));
        if range.as_ref().is_some_and(|range| range[0] > 0.0) {
            let text = "smallest lengths of tendons";
            self.context.dropped(text, &called, element.span);
        }
        if self.context.number(element, "frictionloss").is_some_and(|x| x > 0.0) {
            self.context.dropped("dry friction of tendons", &called, element.span);
        }
        let name = element.text("name").unwrap_or("tendon").to_owned();
        // Springs and ropes share a name, but not a set of names.
        let name = self.names.joints.give(&name);
        self.names.forces.give(&name);
        self.robot.cords.push(Cord {
            name,
            links: [a.link, b.link],
            anchors: [a.pose.translation.vector, b.pose.translation.vector],
            spring: (stiffness > 0.0).then_some((stiffness, Some(length))),
            damping,
            longest: range.map(|range| range[1]).filter(|longest| *longest > 0.0),
        });
    }

    pub(super) fn equalities(&mut self, root: &Element) {
        for child in root.all("equality").flat_map(|section| &section.children) {
            let child = self.resolve(child, None);
            self.only_once("equality", &child);
            if child.text("active") == Some("false") {
                self.context.dropped("conditions that are not active", &child.called(), child.span);
                continue;
            }
            match child.name.as_str() {
                "connect" => self.connect(&child),
                "weld" => self.weld(&child),
                "joint" => self.joint_equality(&child),
                "tendon" => self.tendon_equality(&child),
                _ => {}
            }
        }
    }

    /// Two bodies, or two sites, of a condition: links and places on them.
    fn two_ends(&mut self, element: &Element) -> Option<([usize; 2], Option<[Pose; 2]>)> {
        if element.get("site1").is_some() {
            let (a, b) = (self.site_named(element, "site1")?, self.site_named(element, "site2")?);
            return Some(([a.link, b.link], Some([a.pose, b.pose])));
        }
        let a = self.body_named(element, "body1")?;
        let b = if element.get("body2").is_some() { self.body_named(element, "body2")? } else { 0 };
        Some(([a, b], None))
    }

    fn connect(&mut self, element: &Element) {
        let Some((links, sites)) = self.two_ends(element) else { return };
        let anchors = if let Some([a, b]) = sites {
            [a.translation.vector, b.translation.vector]
        } else {
            let anchor = self.context.vector(element, "anchor").unwrap_or_else(Vec3::zeros);
            // The anchor on the second body is where the two meet as drawn.
            let places = self.robot.places(false);
            let world = places[links[0]] * na::Point3::from(anchor);
            [anchor, (places[links[1]].inverse() * world).coords]
        };
        let wanted = element.text("name").unwrap_or("connect");
        let name = self.names.joints.give(wanted);
        self.robot.closures.push(Closure { name, kind: "ball", links, anchors, axes: None });
    }

    fn weld(&mut self, element: &Element) {
        let Some((links, sites)) = self.two_ends(element) else { return };
        let drawn = self.robot.places(false);
        // Place of the second body in the first.
        let wanted = if let Some([a, b]) = sites {
            a * b.inverse()
        } else {
            let list = self.context.numbers(element, "relpose", 7..=7).unwrap_or_default();
            let q = list.get(3..7).map(|q| na::Quaternion::new(q[0], q[1], q[2], q[3]));
            match q.filter(|q| q.norm() > 1e-12) {
                Some(q) => {
                    let x = Vec3::new(list[0], list[1], list[2]);
                    Pose::from_parts(x.into(), Quat::from_quaternion(q))
                }
                None => drawn[links[0]].inverse() * drawn[links[1]],
            }
        };
        let start = self.robot.places(true);
        let now = start[links[0]].inverse() * start[links[1]];
        let off = (now.translation.vector - wanted.translation.vector).norm();
        if off > 1e-6 || now.rotation.angle_to(&wanted.rotation) > 1e-6 {
            let text = "welds that do not hold at the start: welded as they start";
            self.context.changed(text, &element.called(), element.span);
        }
        let name = self.names.joints.give(element.text("name").unwrap_or("weld"));
        let anchors = [Vec3::zeros(); 2];
        self.robot.closures.push(Closure { name, kind: "fixed", links, anchors, axes: None });
    }

    /// q₁ − q₁⁰ = Σ c_k (q₂ − q₂⁰)^k: a coupling where it is linear.
    fn joint_equality(&mut self, element: &Element) {
        let called = element.called();
        let Some(first) = self.joint_named(element, "joint1") else { return };
        let mut poly = [0.0, 1.0, 0.0, 0.0, 0.0];
        let given = self.context.numbers(element, "polycoef", 1..=5).unwrap_or_default();
        poly[..given.len()].copy_from_slice(&given);
        let wanted = element
            .text("name")
            .map_or_else(|| format!("{}_coupled", self.joint(first).name), str::to_owned);
        let one = |reader: &Self, at| reader.joint(at).velocities() == 1;
        if !one(self, first) {
            self.context.dropped("couplings of ball and free joints", &called, element.span);
            return;
        }
        if element.get("joint2").is_none() {
            let reference = self.joint(first).reference;
            let target = reference + poly[0];
            let joint = &mut self.robot.links[first[0]].joints[first[1]];
            joint.locked = true;
            if (joint.start - target).abs() > 1e-12 {
                joint.start = target;
                let text = "start: joints that a condition holds at a value start there";
                self.context.changed(text, &called, element.span);
            }
            return;
        }
        let Some(second) = self.joint_named(element, "joint2") else { return };
        if !one(self, second) {
            self.context.dropped("couplings of ball and free joints", &called, element.span);
            return;
        }
        let at = self.joint(second).start - self.joint(second).reference;
        let value = poly.iter().rev().fold(0.0, |sum, c| sum * at + c);
        let slope = (1..5)
            .rev()
            .fold(0.0, |sum, k| sum * at + poly[k] * f64::from(u8::try_from(k).unwrap_or(0)));
        if poly[2..].iter().any(|c| *c != 0.0) {
            let text = "couplings of joints by polynomials: by their slope at the start";
            self.context.changed(text, &called, element.span);
        }
        let target = self.joint(first).reference + value;
        let joint = &mut self.robot.links[first[0]].joints[first[1]];
        if (joint.start - target).abs() > 1e-9 {
            joint.start = target;
            let text = "start: joints that follow others start where these want them";
            self.context.changed(text, &called, element.span);
        }
        let name = self.names.conditions.give(&wanted);
        let terms = vec![(1.0, first), (-slope, second)];
        self.robot.couplings.push(Coupling { name, terms });
    }

    /// A condition between two fixed tendons, or on one.
    fn tendon_equality(&mut self, element: &Element) {
        let called = element.called();
        for key in ["tendon1", "tendon2"] {
            if element.text(key).is_some_and(|name| !self.tendons.contains_key(name)) {
                self.unknown(element, key, "tendon", self.tendons.keys().cloned().collect());
                return;
            }
        }
        let find = |key: &str| {
            element.text(key).and_then(|name| self.tendons.get(name).cloned().flatten())
        };
        let first = find("tendon1");
        let second = find("tendon2");
        let known = first.is_some() && (second.is_some() || element.get("tendon2").is_none());
        let mut poly = [0.0, 1.0, 0.0, 0.0, 0.0];
        let given = self.context.numbers(element, "polycoef", 1..=5).unwrap_or_default();
        poly[..given.len()].copy_from_slice(&given);
        let (Some(first), true, true) =
            (first, known, poly[0] == 0.0 && poly[2..].iter().all(|c| *c == 0.0))
        else {
            let text = "conditions on tendons that are not linear, or on spatial ones";
            self.context.dropped(text, &called, element.span);
            return;
        };
        let mut terms = first.terms.clone();
        terms.extend(second.into_iter().flat_map(|f| f.terms).map(|(c, at)| (-poly[1] * c, at)));
        let name = self.names.conditions.give(element.text("name").unwrap_or("tendon"));
        if terms.len() == 1 {
            let [link, which] = terms[0].1;
            self.robot.links[link].joints[which].locked = true;
            return;
        }
        self.robot.couplings.push(Coupling { name, terms });
    }
}
