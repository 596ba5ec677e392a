//! From a tree of links to bodies with a place in the world, as a model file has them.

use std::collections::{BTreeMap, BTreeSet};

use gelenk_model::Span;
use gelenk_model::math::{Mat3, Vec3};
use nalgebra as na;

use crate::context::Context;
use crate::mass::{Mass, Pose};
use crate::names::Names;
use crate::report::{Facts, Fate};
use crate::tree::{Freedom, Joint, Link, Robot, Shape};

/// Moments of inertia over mass of a ball about a millimetre large, m².
const POINT: f64 = 1e-6;
/// The part of a link's mass that each light body between several joints of it gets.
const SHARE: f64 = 1e-6;
/// Bodies lighter than this are not made, kg.
const LIGHTEST: f64 = 1e-11;

/// The share of a mass that a light body gets: more than a millionth where that is too light to be a body.
fn share(mass: f64) -> f64 {
    SHARE.max(LIGHTEST / mass.max(f64::MIN_POSITIVE)).min(0.1)
}

/// A robot as a model file says it.
#[derive(Clone, Debug)]
pub(crate) struct Flat {
    pub(crate) name: String,
    pub(crate) facts: Facts,
    pub(crate) bodies: Vec<Body>,
    pub(crate) joints: Vec<Placed>,
    pub(crate) rotors: Vec<Rotor>,
    /// Named points: name, body, place.
    pub(crate) marks: Vec<(String, String, Vec3)>,
    /// Bodies or groups that do not touch.
    pub(crate) ignores: Vec<[String; 2]>,
    /// Force tables: body, lines.
    pub(crate) forces: Vec<(String, String)>,
    /// The carrying body of each link, and the link's frame on it.
    pub(crate) carriers: Vec<(usize, Pose)>,
    /// Body names by link.
    pub(crate) body_of: Vec<String>,
    pub(crate) robot: Robot,
}

/// A body.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) name: String,
    pub(crate) fixed: bool,
    pub(crate) pose: Pose,
    pub(crate) velocity: Vec3,
    pub(crate) omega: Vec3,
    pub(crate) mass: Mass,
    pub(crate) shapes: Vec<Shape>,
    /// Says which links are in it, or what it is for.
    pub(crate) comment: Option<String>,
    pub(crate) group: Option<String>,
}

/// A joint in its place.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) joint: Joint,
    pub(crate) bodies: [String; 2],
    /// World coordinates at the start.
    pub(crate) point: Vec3,
    pub(crate) axis: Vec3,
}

/// A rotor that a joint turns: its armature.
#[derive(Clone, Debug)]
pub(crate) struct Rotor {
    pub(crate) prefix: String,
    pub(crate) joint: String,
    pub(crate) armature: f64,
    pub(crate) rate: f64,
}

/// Position and velocity of a frame.
#[derive(Clone, Copy, Debug)]
struct Motion {
    pose: Pose,
    velocity: Vec3,
    omega: Vec3,
}

impl Motion {
    /// Velocity of a point that moves with the frame.
    fn at(&self, point: &Vec3) -> Vec3 {
        self.velocity + self.omega.cross(&(point - self.pose.translation.vector))
    }

    /// The frame after a joint; `start`: at its start, else at its reference.
    fn moved(&self, joint: &Joint, start: bool) -> Motion {
        let q = if start { joint.start - joint.reference } else { 0.0 };
        let rate = if start { joint.rate } else { [0.0; 6] };
        let x = self.pose.translation.vector;
        let anchor = (self.pose * na::Point3::from(joint.anchor)).coords;
        let axis = self.pose.rotation * joint.axis;
        match joint.freedom {
            Freedom::Slide => {
                let to = x + axis * q;
                let pose = Pose::from_parts(to.into(), self.pose.rotation);
                let velocity = self.at(&to) + axis * rate[0];
                Motion { pose, velocity, omega: self.omega }
            }
            Freedom::Hinge | Freedom::Ball => {
                let turn = match joint.freedom {
                    Freedom::Hinge => na::UnitQuaternion::new(joint.axis * q),
                    _ if start => joint.start_turn,
                    _ => na::UnitQuaternion::identity(),
                };
                let rotation = self.pose.rotation * turn;
                let to = anchor - rotation * joint.anchor;
                let spin = match joint.freedom {
                    Freedom::Hinge => axis * rate[0],
                    _ => rotation * Vec3::new(rate[0], rate[1], rate[2]),
                };
                let omega = self.omega + spin;
                let velocity = self.at(&anchor) + omega.cross(&(to - anchor));
                Motion { pose: Pose::from_parts(to.into(), rotation), velocity, omega }
            }
            Freedom::Free => {
                let pose = joint.start_pose.filter(|_| start).unwrap_or(self.pose);
                let velocity = Vec3::new(rate[0], rate[1], rate[2]);
                let omega = pose.rotation * Vec3::new(rate[3], rate[4], rate[5]);
                Motion { pose, velocity, omega }
            }
        }
    }
}

impl Robot {
    /// Places of all links in the world, at the start or where they are drawn.
    pub(crate) fn places(&self, start: bool) -> Vec<Pose> {
        self.motions(start).into_iter().map(|(_, motion)| motion.pose).collect()
    }

    /// Motion of every link: before its joints, and after.
    fn motions(&self, start: bool) -> Vec<(Motion, Motion)> {
        let rest = Motion { pose: Pose::identity(), velocity: Vec3::zeros(), omega: Vec3::zeros() };
        let mut all: Vec<(Motion, Motion)> = Vec::with_capacity(self.links.len());
        for (i, link) in self.links.iter().enumerate() {
            let parent = if i == 0 { rest } else { all[link.parent].1 };
            let pose = parent.pose * link.pose;
            let velocity = parent.at(&pose.translation.vector);
            let base = Motion { pose, velocity, omega: parent.omega };
            let end = link.joints.iter().fold(base, |motion, joint| motion.moved(joint, start));
            all.push((base, end));
        }
        all
    }
}

/// Which link carries each one, and its frame there: links without joints are one with their parents.
fn carriers(links: &[Link]) -> Vec<(usize, Pose)> {
    let mut all: Vec<(usize, Pose)> = Vec::with_capacity(links.len());
    for (i, link) in links.iter().enumerate() {
        all.push(if i == 0 || !link.joints.is_empty() {
            (i, Pose::identity())
        } else {
            let (carrier, frame) = all[link.parent];
            (carrier, frame * link.pose)
        });
    }
    all
}

/// Turns a robot into bodies, joints and the rest.
pub(crate) fn flatten(context: &mut Context, mut robot: Robot) -> Flat {
    let carriers = carriers(&robot.links);
    let n = robot.links.len();
    let mut masses = vec![Mass::NONE; n];
    let mut whole = 0.0;
    for (link, (carrier, frame)) in robot.links.iter().zip(&carriers) {
        whole += link.mass.mass;
        if *carrier != 0 {
            masses[*carrier] = masses[*carrier].plus(&link.mass.placed(frame));
        }
    }
    let moving: Vec<usize> = (1..n).filter(|i| carriers[*i].0 == *i).collect();
    let motions = robot.motions(true);
    // What the file calls a link.
    let kind = if robot.format == "mjcf" { "body" } else { "link" };
    let lent = lend_masses(context, kind, &robot.links, &motions, &moving, &carriers, &mut masses);
    for &i in &moving {
        if lent.contains(&i) {
            // That it has nothing of its own is said already.
            let least = masses[i].mass * POINT;
            masses[i].inertia = masses[i].possible(least).unwrap_or(masses[i].inertia);
        } else {
            repair(context, kind, &robot.links[i], &mut masses[i]);
        }
    }
    check_starts(context, &mut robot);
    let mut names = Names::with("world");
    for &i in &moving {
        // Taken first, so that links keep their names.
        names.give(&robot.links[i].name);
    }
    let mut flat = Flat {
        name: robot.name.clone(),
        facts: Facts::default(),
        bodies: Vec::new(),
        joints: Vec::new(),
        rotors: Vec::new(),
        marks: Vec::new(),
        ignores: Vec::new(),
        forces: Vec::new(),
        body_of: vec!["world".to_owned(); n],
        carriers,
        robot,
    };
    ground(&mut flat, &motions, &mut names);
    for &i in &moving {
        flat.body_of[i].clone_from(&flat.robot.links[i].name);
    }
    let mut carried = vec![Vec::new(); n];
    for (k, (carrier, _)) in flat.carriers.iter().enumerate().skip(1) {
        if *carrier != k {
            carried[*carrier].push(k);
        }
    }
    for &i in &moving {
        links_body(context, &mut flat, &motions, &masses[i], i, &carried[i], &mut names);
    }
    for i in 0..n {
        let carrier = flat.carriers[i].0;
        if carrier != i && carrier != 0 {
            let carrying = flat.body_of[carrier].clone();
            flat.body_of[i] = carrying;
        }
    }
    rotors(context, &mut flat, &mut names);
    marks(&mut flat);
    touching(context, &mut flat);
    loads(&mut flat);
    facts(context, &mut flat, &moving, whole);
    flat
}

/// Links that move without any mass borrow a share from what they carry, so that the whole stays as it is; gives those links.
fn lend_masses(
    context: &mut Context,
    kind: &str,
    links: &[Link],
    motions: &[(Motion, Motion)],
    moving: &[usize],
    carriers: &[(usize, Pose)],
    masses: &mut [Mass],
) -> BTreeSet<usize> {
    let mut lent = BTreeSet::new();
    // From the leaves, so that a chain of links without mass finds some.
    for &i in moving.iter().rev() {
        if masses[i].mass > 0.0 {
            continue;
        }
        lent.insert(i);
        let link = &links[i];
        let called = format!("{kind} `{}`", link.name);
        let heir = moving.iter().copied().find(|&child| {
            child != i && carriers[links[child].parent].0 == i && masses[child].mass > 0.0
        });
        let message = "it moves, but has no mass";
        let help = "give it a mass and moments of inertia";
        let Some(child) = heir else {
            masses[i] = Mass::centered(1e-6, [1e-6; 3]);
            let assumed = "1 mg";
            context.repairable("no-mass", called, link.span, message, help, assumed);
            continue;
        };
        let to_here = motions[i].1.pose.inverse() * motions[child].1.pose;
        let part = share(masses[child].mass);
        masses[i] = masses[child].placed(&to_here).times(part);
        masses[child] = masses[child].times(1.0 - part);
        let assumed = "a millionth of the mass of what it carries";
        context.repairable("no-mass", called, link.span, message, help, assumed);
    }
    lent
}

/// Inertia that no body can have becomes the nearest that is possible.
fn repair(context: &mut Context, kind: &str, link: &Link, mass: &mut Mass) {
    let called = format!("{kind} `{}`", link.name);
    let largest = mass.inertia.amax();
    let turned = mass.inertia.symmetric_eigenvalues();
    let mut moments = [turned.x, turned.y, turned.z];
    moments.sort_by(f64::total_cmp);
    let pointlike = largest <= 0.0 || moments[1] <= 1e-12 * moments[2];
    let least = if pointlike { mass.mass * POINT } else { 0.0 };
    if let Some(inertia) = mass.possible(least) {
        mass.inertia = inertia;
        if pointlike {
            let message = "it moves, but has no moments of inertia";
            let help = "give it moments of inertia above zero";
            let assumed = "those of a ball of 1 mm";
            context.repairable("no-inertia", called, link.span, message, help, assumed);
        } else {
            let text = "moments of inertia that no body can have, by rounding: the nearest that one can have";
            context.changed(text, &called, link.span);
        }
    }
}

/// Limits that the start violates are widened.
fn check_starts(context: &mut Context, robot: &mut Robot) {
    for joint in robot.links.iter_mut().flat_map(|link| &mut link.joints) {
        let Some([low, high]) = &mut joint.limits else { continue };
        if joint.start < *low || joint.start > *high {
            (*low, *high) = (low.min(joint.start), high.max(joint.start));
            let text = "limits that the start lies outside of: widened up to the start";
            context.changed(text, &format!("joint `{}`", joint.name), joint.span);
        }
    }
}

/// Shapes that never move: one fixed body for each link that has some.
fn ground(flat: &mut Flat, motions: &[(Motion, Motion)], names: &mut Names) {
    for i in 0..flat.robot.links.len() {
        let link = &flat.robot.links[i];
        if flat.carriers[i].0 != 0 || link.shapes.is_empty() {
            continue;
        }
        let name = names.give(if i == 0 { "ground" } else { &link.name });
        flat.body_of[i].clone_from(&name);
        flat.bodies.push(Body {
            name,
            fixed: true,
            pose: motions[i].1.pose,
            velocity: Vec3::zeros(),
            omega: Vec3::zeros(),
            mass: Mass::NONE,
            shapes: link.shapes.clone(),
            comment: None,
            group: None,
        });
    }
}

/// The body of a link that moves, with its joints and the light bodies between them.
fn links_body(
    context: &mut Context,
    flat: &mut Flat,
    motions: &[(Motion, Motion)],
    mass: &Mass,
    i: usize,
    carried: &[usize],
    names: &mut Names,
) {
    let link = flat.robot.links[i].clone();
    let parent = flat.carriers[link.parent].0;
    let mut before = if parent == 0 { "world".to_owned() } else { flat.body_of[parent].clone() };
    let mut motion = motions[i].0;
    let between = link.joints.len() - 1;
    let part = share(mass.mass);
    for (k, joint) in link.joints.iter().enumerate() {
        let next = motion.moved(joint, true);
        let last = k == between;
        let name = if last {
            link.name.clone()
        } else {
            names.give(&format!("{}_{}", link.name, joint.name))
        };
        // As seen after this joint, the rest of the link's joints at their start.
        if !last {
            let to_here = next.pose.inverse() * motions[i].1.pose;
            flat.bodies.push(Body {
                name: name.clone(),
                fixed: false,
                pose: next.pose,
                velocity: next.velocity,
                omega: next.omega,
                mass: mass.placed(&to_here).times(part),
                shapes: Vec::new(),
                comment: Some(format!("between the joints of {}", link.name)),
                group: None,
            });
        }
        if joint.freedom != Freedom::Free {
            let point = (motion.pose * na::Point3::from(joint.anchor)).coords;
            let axis = motion.pose.rotation * joint.axis;
            let bodies = [before.clone(), name.clone()];
            flat.joints.push(Placed { joint: joint.clone(), bodies, point, axis });
        }
        before = name;
        motion = next;
    }
    if between > 0 {
        let text = "links with several joints: light bodies between them, each with a millionth of the link's mass";
        context.changed(text, &format!("link `{}`", link.name), link.span);
        if parent != 0 {
            flat.ignores.push([flat.body_of[parent].clone(), link.name.clone()]);
        }
    }
    let mut shapes = link.shapes.clone();
    let mut welded = Vec::new();
    for &k in carried {
        let frame = flat.carriers[k].1;
        welded.push(flat.robot.links[k].name.clone());
        shapes.extend(flat.robot.links[k].shapes.iter().cloned().map(|mut shape| {
            shape.pose = frame * shape.pose;
            shape
        }));
    }
    let comment = (!welded.is_empty()).then(|| format!("with {}", welded.join(", ")));
    let rest = 1.0 - part * between as f64;
    flat.bodies.push(Body {
        name: link.name.clone(),
        fixed: false,
        pose: motion.pose,
        velocity: motion.velocity,
        omega: motion.omega,
        mass: mass.times(rest),
        shapes,
        comment,
        group: None,
    });
}

/// Rotors for joints with armature.
fn rotors(context: &mut Context, flat: &mut Flat, names: &mut Names) {
    for placed in &flat.joints {
        let joint = &placed.joint;
        if joint.armature <= 0.0 {
            continue;
        }
        let called = format!("joint `{}`", joint.name);
        if joint.freedom == Freedom::Ball {
            context.dropped("armature of ball joints", &called, joint.span);
            continue;
        }
        let name = names.give(&format!("{}_rotor", joint.name));
        let Some(prefix) = name.strip_suffix("rotor") else { continue };
        flat.rotors.push(Rotor {
            prefix: prefix.to_owned(),
            joint: joint.name.clone(),
            armature: joint.armature,
            rate: joint.rate[0],
        });
    }
    let free = flat.robot.links.iter().flat_map(|link| &link.joints);
    for joint in free.filter(|j| j.freedom == Freedom::Free && j.armature > 0.0) {
        context.dropped("armature of free joints", &format!("joint `{}`", joint.name), joint.span);
    }
}

/// Named points; links that were welded to others keep theirs.
fn marks(flat: &mut Flat) {
    let mut names = Names::default();
    let mut marks = Vec::new();
    for (i, link) in flat.robot.links.iter().enumerate() {
        let (carrier, frame) = flat.carriers[i];
        let body = if carrier == 0 { &flat.body_of[i] } else { &flat.body_of[carrier] };
        // A point of the world needs no name: it never moves.
        if carrier == 0 {
            continue;
        }
        if carrier != i && link.named {
            marks.push((names.give(&link.name), body.clone(), frame.translation.vector));
        }
        for (name, place) in &link.marks {
            let place = (frame * na::Point3::from(*place)).coords;
            marks.push((names.give(name), body.clone(), place));
        }
    }
    flat.marks = marks;
}

/// Who touches whom: MuJoCo's masks become groups.
fn touching(context: &mut Context, flat: &mut Flat) {
    if context.options.without_contact {
        for body in &mut flat.bodies {
            body.shapes.iter_mut().for_each(|shape| shape.touches = false);
        }
        flat.ignores.clear();
        return;
    }
    let touches = |body: &Body| body.shapes.iter().any(|shape| shape.touches);
    let there: BTreeSet<String> =
        flat.bodies.iter().filter(|b| touches(b)).map(|b| b.name.clone()).collect();
    flat.ignores.retain(|pair| pair.iter().all(|name| there.contains(name)));
    for [a, b] in flat.robot.excludes.clone() {
        let (x, y) = (flat.carriers[a].0, flat.carriers[b].0);
        let of = |link: usize, carrier: usize| {
            if carrier == 0 { flat.body_of[link].clone() } else { flat.body_of[carrier].clone() }
        };
        let pair = [of(a, x), of(b, y)];
        let known = pair.iter().all(|name| there.contains(name)) && pair[0] != pair[1];
        if known && !flat.ignores.contains(&pair) {
            flat.ignores.push(pair);
        }
    }
    if !flat.robot.touches_itself {
        if there.len() > 1 {
            for body in flat.bodies.iter_mut().filter(|b| there.contains(&b.name)) {
                body.group = Some("robot".to_owned());
            }
            flat.ignores.push(["robot".to_owned(), "robot".to_owned()]);
            let text = "links of the robot touch other things, but not each other: remove the `[[ignore]]` of `robot` to change that";
            context.changed(text, "file", Span::new(gelenk_model::FileId(0), 0..0));
        }
        return;
    }
    masks(context, flat);
}

/// Groups of bodies with equal masks; pairs of groups that never touch.
fn masks(context: &mut Context, flat: &mut Flat) {
    let mut kinds: BTreeMap<Vec<(u128, u128)>, Vec<usize>> = BTreeMap::new();
    for (i, body) in flat.bodies.iter().enumerate() {
        let mut masks: Vec<(u128, u128)> = body
            .shapes
            .iter()
            .filter(|shape| shape.touches)
            .map(|shape| shape.surface.map_or((1, 1), |s| (s.contype, s.conaffinity)))
            .collect();
        masks.sort_unstable();
        masks.dedup();
        if !masks.is_empty() {
            kinds.entry(masks).or_default().push(i);
        }
    }
    if kinds.len() == 1 && kinds.keys().all(|k| k.iter().all(|(t, a)| t & a != 0)) {
        return;
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    let meets = |(t, a): &(u128, u128), (u, b): &(u128, u128)| t & b != 0 || u & a != 0;
    let mut used = vec![false; kinds.len()];
    let mut mixed = false;
    let mut pairs = Vec::new();
    for (x, (one, members)) in kinds.iter().enumerate() {
        for (y, (other, _)) in kinds.iter().enumerate().skip(x) {
            let met = one.iter().flat_map(|m| other.iter().map(move |o| meets(m, o)));
            let (yes, no) = met.fold((false, false), |(y, n), met| (y || met, n || !met));
            mixed |= yes && no;
            if !yes && (x != y || members.len() > 1) {
                pairs.push([x, y]);
                (used[x], used[y]) = (true, true);
            }
        }
    }
    for (x, (_, members)) in kinds.iter().enumerate().filter(|(x, _)| used[*x]) {
        for &i in members {
            flat.bodies[i].group = Some(format!("touch{x}"));
        }
    }
    flat.ignores.extend(pairs.iter().map(|pair| pair.map(|x| format!("touch{x}"))));
    if mixed {
        let text = "contype and conaffinity that differ among the shapes of a body: a pair of bodies touches if any of their shapes do";
        context.changed(text, "contact", Span::new(gelenk_model::FileId(0), 0..0));
    }
}

/// Weights that are held up, drag of free joints and forces of the file.
fn loads(flat: &mut Flat) {
    use crate::number::{number, vector};
    let mut forces = Vec::new();
    for (i, link) in flat.robot.links.iter().enumerate() {
        let (carrier, frame) = flat.carriers[i];
        if carrier == 0 {
            continue;
        }
        let body = flat.body_of[carrier].clone();
        if link.gravity_held != 0.0 && link.mass.mass > 0.0 {
            let force = -flat.robot.gravity * (link.mass.mass * link.gravity_held);
            let anchor = (frame * na::Point3::from(link.mass.center)).coords;
            let lines = format!("force = {}\nanchor = {}\n", vector(&force), vector(&anchor));
            forces.push((body.clone(), format!("[[force]]\nbody = \"{body}\"\n{lines}")));
        }
        for joint in link.joints.iter().filter(|j| j.damping > 0.0) {
            let d = number(joint.damping);
            if joint.freedom == Freedom::Free {
                let text = format!(
                    "[[drag]]\nbody = \"{body}\"\nlinear = {d}\nangular = {d}\nanchor = [0, 0, 0]\n"
                );
                forces.push((body.clone(), text));
            }
        }
    }
    // A ball joint has no coordinate for a damper: equal and opposite torques against the relative angular velocity.
    for placed in flat.joints.iter().filter(|p| p.joint.freedom == Freedom::Ball) {
        if placed.joint.damping <= 0.0 {
            continue;
        }
        let d = number(placed.joint.damping);
        let [a, b] = &placed.bodies;
        let rate = |axis: &str| match a.as_str() {
            "world" => format!("body.{b}.angular_velocity.{axis}"),
            _ => format!("(body.{b}.angular_velocity.{axis} - body.{a}.angular_velocity.{axis})"),
        };
        for (body, sign) in [(b, "-"), (a, "")] {
            if body == "world" {
                continue;
            }
            let torque: Vec<String> =
                ["x", "y", "z"].iter().map(|k| format!("\"{sign}{d}*{}\"", rate(k))).collect();
            let torque = torque.join(", ");
            let text = format!("[[force]]\nbody = \"{body}\"\ntorque = [{torque}]\n");
            forces.push((body.clone(), text));
        }
    }
    for (link, lines) in &flat.robot.forces {
        let carrier = flat.carriers[*link].0;
        if carrier != 0 {
            let body = flat.body_of[carrier].clone();
            forces.push((body.clone(), format!("[[force]]\nbody = \"{body}\"\n{lines}")));
        }
    }
    flat.forces = forces;
}

/// Numbers of the robot, and what was kept.
fn facts(context: &mut Context, flat: &mut Flat, moving: &[usize], whole: f64) {
    let joints: Vec<&Joint> = flat.robot.links.iter().flat_map(|link| &link.joints).collect();
    let light = |body: &&Body| !body.fixed;
    flat.facts = Facts {
        format: flat.robot.format,
        bodies: moving.len(),
        joints: joints.len(),
        velocities: joints.iter().map(|joint| joint.velocities()).sum(),
        mass: whole,
        moving_mass: flat.bodies.iter().filter(light).map(|body| body.mass.mass).sum(),
        closures: flat.robot.closures.len() + flat.robot.couplings.len(),
        inputs: flat.robot.inputs.len(),
    };
    let count = |freedom: Freedom| joints.iter().filter(|j| j.freedom == freedom).count();
    let kept = [
        (moving.len(), "bodies"),
        (count(Freedom::Hinge), "hinges"),
        (count(Freedom::Slide), "sliders"),
        (count(Freedom::Ball), "ball joints"),
        (count(Freedom::Free), "free joints"),
        (flat.bodies.iter().map(|body| body.shapes.len()).sum(), "shapes"),
        (flat.robot.closures.len(), "joints that close loops"),
        (flat.robot.couplings.len(), "couplings"),
        (flat.rotors.len(), "rotors (armature)"),
        (flat.robot.inputs.len(), "actuators, each with an input"),
    ];
    let text: Vec<String> =
        kept.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let span = Span::new(gelenk_model::FileId(0), 0..0);
    if !text.is_empty() {
        context.note(Fate::Kept, text.join(", "), "file", span);
    }
}

/// Composite inertia felt by a joint where the robot is drawn, armature included: a diagonal entry of its mass matrix.
pub(crate) fn felt_inertia(robot: &Robot, link: usize, which: usize) -> f64 {
    let motions = robot.motions(false);
    let joint = &robot.links[link].joints[which];
    let place = motions[link].1.pose;
    let axis = place.rotation * joint.axis;
    let anchor = (place * na::Point3::from(joint.anchor)).coords;
    let mut below = vec![false; robot.links.len()];
    let mut sum = joint.armature;
    for (i, other) in robot.links.iter().enumerate() {
        below[i] = i == link || (i > 0 && below[other.parent]);
        if !below[i] {
            continue;
        }
        let mass = other.mass.placed(&motions[i].1.pose);
        sum += if joint.freedom == Freedom::Slide {
            mass.mass
        } else {
            {
                let tensor: Mat3 =
                    mass.inertia + crate::mass::steiner(mass.mass, &(mass.center - anchor));
                axis.dot(&(tensor * axis))
            }
        };
    }
    sum
}
