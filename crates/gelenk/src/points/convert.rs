//! From a model of rigid bodies to one of point masses.

use gelenk_model::joint::JointKind;
use gelenk_model::math::Vec3;
use gelenk_model::rows::RowKind;
use gelenk_model::{BodyId, BodyKind, Joint, Model, RunSettings, State};

use super::frame::{Hold, hold};
use super::masses::equivalent_masses;

/// A model of point masses.
#[derive(Clone, Debug)]
pub struct PointModel {
    /// Name.
    pub name: String,
    /// Gravity, m/s².
    pub gravity: Vec3,
    /// How to run it: as the model it comes from.
    pub run: RunSettings,
    /// The points.
    pub points: Vec<PointMass>,
    /// Distances (i, j, d), i < j, d in m.
    pub distances: Vec<(usize, usize, f64)>,
    /// Equations: name and text.
    pub equations: Vec<(String, String)>,
    /// The points of each rigid body of the original, by its name.
    pub bodies: Vec<(String, Vec<BodyPoint>)>,
}

/// A point mass of a point model.
#[derive(Clone, Debug, PartialEq)]
pub struct PointMass {
    /// Unique name, fit for expressions.
    pub name: String,
    /// Mass, kg.
    pub mass: f64,
    /// Place at the start, m.
    pub position: Vec3,
    /// Velocity at the start, m/s.
    pub velocity: Vec3,
    /// Held in space.
    pub fixed: bool,
}

/// A point that stands for a part of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPoint {
    /// Which of [`PointModel::points`].
    pub point: usize,
    /// Its place in the body's principal frame, m.
    pub place: Vec3,
    /// The body's share of its mass, kg.
    pub mass: f64,
}

/// What has no equivalent of point masses here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointModelError {
    /// A joint of another type.
    #[error(
        "joint `{joint}` is a {kind}: ball, hinge, universal, fixed and distance joints become point masses, others do not"
    )]
    Joint {
        /// Its name.
        joint: String,
        /// Its type.
        kind: &'static str,
    },
    /// A force element, equation or coupling.
    #[error("{what} `{name}` is not converted: bodies, joints and gravity are")]
    Element {
        /// Kind of element.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The model cannot start.
    #[error("{0}")]
    Start(String),
    /// A thin body cannot carry mass at the joint's points.
    #[error(
        "joint `{joint}` needs a point of body `{body}` beside the plane or line that all its mass is in: give the body some thickness"
    )]
    Thin {
        /// The joint.
        joint: String,
        /// The body.
        body: String,
    },
}

/// A point of a joint on a body.
struct Reference {
    joint: usize,
    body: BodyId,
    /// Place in the body's principal frame.
    place: Vec3,
    /// Points of one joint with the same number are one point.
    meets: usize,
}

/// Turns a model into point masses.
///
/// Each free rigid body becomes the masses of [`equivalent_masses`] with one at every point of its joints, held together
/// by as few distances as will do (equations for flat and thin bodies). Joints become common points:
///
/// ```text
/// ball        1 common point              fixed       3 common points
/// hinge       2 on the axis               universal   1, and (A − P)·(B − P) = 0 for points A, B on the two axes
/// distance    the distance of a point of each body
/// ```
/// Points that belong to fixed bodies are fixed. Anything else is an error that names it. Velocities that do not fit the
/// joints at the start are corrected first, as a run would do.
pub fn point_model(model: &Model) -> Result<PointModel, PointModelError> {
    refuse_others(model)?;
    let start = gelenk_impulse::Simulation::new(model, &model.run)
        .map_err(|failure| PointModelError::Start(failure.reason))?;
    let start = start.state();
    let mut references = Vec::new();
    for (k, joint) in model.joints.iter().enumerate() {
        joint_references(model, start, k, joint, &mut references)?;
    }
    let mut points = Points::default();
    // Where each reference is among the points.
    let mut found = vec![usize::MAX; references.len()];
    let mut bodies = Vec::new();
    let mut holds: Vec<(Vec<usize>, Vec<Hold>)> = Vec::new();
    for (i, body) in model.bodies.iter().enumerate() {
        let id = BodyId(u32::try_from(i).unwrap_or(u32::MAX));
        let own: Vec<usize> = (0..references.len()).filter(|&r| references[r].body == id).collect();
        let places: Vec<Vec3> = own.iter().map(|&r| references[r].place).collect();
        let (pose, twist) = (start.pose(id), start.twist(id));
        let mut add = |place: &Vec3, mass: f64| {
            let lever = pose.rot * place;
            points.list.push(PointMass {
                name: points_name(&body.name),
                mass,
                position: pose.s + lever,
                velocity: twist.s_dot + twist.omega.cross(&lever),
                fixed: body.fixed,
            });
            points.list.len() - 1
        };
        if body.fixed {
            for (r, place) in own.iter().zip(&places) {
                found[*r] = add(place, 0.0);
            }
            continue;
        }
        let equivalent = equivalent_masses(body.mass, &body.inertia, &places);
        let equivalent = equivalent.map_err(|which| PointModelError::Thin {
            joint: model.joints[references[own[which]].joint].name.clone(),
            body: body.name.clone(),
        })?;
        let numbers: Vec<usize> = equivalent.points.iter().map(|p| add(&p.place, p.mass)).collect();
        for (r, at) in own.iter().zip(&equivalent.at) {
            found[*r] = numbers[*at];
        }
        let places: Vec<Vec3> = equivalent.points.iter().map(|p| p.place).collect();
        holds.push((numbers.clone(), hold(&places)));
        if body.kind == BodyKind::Rigid {
            let of_body = numbers.iter().zip(&equivalent.points);
            let of_body =
                of_body.map(|(&point, p)| BodyPoint { point, place: p.place, mass: p.mass });
            bodies.push((body.name.clone(), of_body.collect()));
        }
    }
    for (k, r) in references.iter().enumerate() {
        for (l, other) in references[..k].iter().enumerate() {
            if r.joint == other.joint && r.meets == other.meets {
                points.unite(found[l], found[k], &model.joints[r.joint].name);
            }
        }
    }
    let numbers = points.number();
    let mut converted = PointModel {
        name: format!("{}-points", model.name),
        gravity: model.gravity,
        run: model.run.clone(),
        points: points.named(),
        distances: Vec::new(),
        equations: Vec::new(),
        bodies,
    };
    for (_, of_body) in &mut converted.bodies {
        for p in of_body {
            p.point = numbers[p.point];
        }
    }
    for (own, holds) in holds {
        for hold in holds {
            converted.hold(&hold, |k| numbers[own[k]]);
        }
    }
    let at = |r: usize| numbers[found[r]];
    converted.joints(model, &references, at);
    Ok(converted)
}

fn refuse_others(model: &Model) -> Result<(), PointModelError> {
    let refuse = |what: &'static str, name: &str| {
        Err(PointModelError::Element { what, name: name.to_owned() })
    };
    if let Some(force) = model.forces.first() {
        return refuse("force", &force.name);
    }
    for joint in &model.joints {
        if joint.properties.break_force.is_some() || joint.properties.break_torque.is_some() {
            return refuse("breakable joint", &joint.name);
        }
    }
    for block in &model.rows {
        match &block.kind {
            RowKind::Joint(_) => {}
            RowKind::Tie(_) => return refuse("coupling", &block.name),
            RowKind::Equation(_) => return refuse("constraint", &block.name),
            RowKind::Stop(_) => return refuse("end stop", &block.name),
            RowKind::Friction(_) => return refuse("friction", &block.name),
        }
    }
    Ok(())
}

/// The points that a joint needs on its two bodies.
fn joint_references(
    model: &Model,
    start: &State,
    k: usize,
    joint: &Joint,
    references: &mut Vec<Reference>,
) -> Result<(), PointModelError> {
    let poses = joint.bodies.map(|id| start.pose(id));
    let mut add = |side: usize, world: Vec3, meets: usize| {
        let place = poses[side].rot.transpose() * (world - poses[side].s);
        references.push(Reference { joint: k, body: joint.bodies[side], place, meets });
    };
    let equations = joint.kind.equations();
    let point = equations.force_point(&poses[0], &poses[1]);
    let length = axis_length(model, joint);
    // Common points: the joint's own, and others along its axes.
    let common: Vec<Vec3> = match &joint.kind {
        JointKind::Ball(_) => vec![point],
        JointKind::Hinge(hinge) => vec![point, point + poses[0].rot * hinge.axis() * length],
        JointKind::Fixed(_) => {
            vec![point, point + Vec3::x() * length, point + Vec3::y() * length]
        }
        JointKind::Universal(universal) => {
            let [a, b] = universal.axes();
            add(0, point + poses[0].rot * a * length, 1);
            add(1, point + poses[1].rot * b * length, 2);
            vec![point]
        }
        JointKind::Distance(distance) => {
            let [a, b] = distance.points();
            add(0, poses[0].point(&a), 1);
            add(1, poses[1].point(&b), 2);
            Vec::new()
        }
        other => {
            let kind = other.type_name();
            return Err(PointModelError::Joint { joint: joint.name.clone(), kind });
        }
    };
    for (which, world) in common.into_iter().enumerate() {
        add(0, world, 10 + which);
        add(1, world, 10 + which);
    }
    Ok(())
}

/// How far along an axis of a joint its second point is: the smaller radius of gyration of its bodies, m.
fn axis_length(model: &Model, joint: &Joint) -> f64 {
    let bodies = joint.bodies.map(|id| &model.bodies[id.index()]);
    let radii = bodies.into_iter().filter(|body| !body.fixed && body.inertia.sum() > 0.0);
    let smallest = radii
        .map(|body| (0.5 * body.inertia.sum() / body.mass).sqrt())
        .fold(f64::INFINITY, f64::min);
    if smallest.is_finite() { smallest } else { 1.0 }
}

/// A name that expressions can use.
fn points_name(name: &str) -> String {
    let mut plain: String =
        name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_digit()) {
        plain.insert(0, 'p');
    }
    plain
}

/// Points, some of them one and the same.
#[derive(Default)]
struct Points {
    list: Vec<PointMass>,
    /// (point, the earlier one it is the same as).
    same: Vec<(usize, usize)>,
}

impl Points {
    /// Points a and b are one, named after the joint.
    fn unite(&mut self, a: usize, b: usize, joint: &str) {
        let (a, b) = (self.root(a), self.root(b));
        self.list[a.min(b)].name = points_name(joint);
        if a != b {
            self.same.push((a.max(b), a.min(b)));
        }
    }

    fn root(&self, mut point: usize) -> usize {
        while let Some(&(_, earlier)) = self.same.iter().find(|(later, _)| *later == point) {
            point = earlier;
        }
        point
    }

    /// The number of each point among those that are left.
    fn number(&self) -> Vec<usize> {
        let roots: Vec<usize> = (0..self.list.len()).map(|k| self.root(k)).collect();
        let mut numbers = vec![0; roots.len()];
        let mut n = 0;
        for k in 0..roots.len() {
            numbers[k] = if roots[k] == k {
                n += 1;
                n - 1
            } else {
                numbers[roots[k]]
            };
        }
        numbers
    }

    /// The points that are left, with the masses of those united and names of their own.
    fn named(self) -> Vec<PointMass> {
        let numbers = self.number();
        let mut out: Vec<PointMass> = Vec::new();
        for (point, &number) in self.list.iter().zip(&numbers) {
            if number == out.len() {
                out.push(point.clone());
                continue;
            }
            let one = &mut out[number];
            one.mass += point.mass;
            if point.fixed && !one.fixed {
                (one.fixed, one.position) = (true, point.position);
            }
        }
        for k in 0..out.len() {
            let stem = out[k].name.clone();
            let taken =
                out[..k].iter().filter(|p| p.name.rsplit_once('_').is_some_and(|(s, _)| s == stem));
            let name = format!("{stem}_{}", taken.count() + 1);
            out[k].name = name;
            if out[k].fixed {
                out[k].velocity = Vec3::zeros();
                // Fixed points need a mass in model files, whatever it is.
                if out[k].mass == 0.0 {
                    out[k].mass = 1.0;
                }
            }
        }
        out
    }
}

impl PointModel {
    /// Adds a distance unless it is there or both ends are fixed.
    fn distance(&mut self, i: usize, j: usize, d: f64) {
        let (i, j) = (i.min(j), i.max(j));
        let both_fixed = self.points[i].fixed && self.points[j].fixed;
        if i != j && !both_fixed && !self.distances.iter().any(|&(k, l, _)| (k, l) == (i, j)) {
            self.distances.push((i, j, d));
        }
    }

    fn hold(&mut self, hold: &Hold, number: impl Fn(usize) -> usize) {
        match hold {
            Hold::Distance(i, j) => {
                let (i, j) = (number(*i), number(*j));
                let d = (self.points[j].position - self.points[i].position).norm();
                self.distance(i, j, d);
            }
            Hold::Sum(k, weights) => {
                let own = self.points[number(*k)].name.clone();
                for axis in ["x", "y", "z"] {
                    let terms = weights
                        .iter()
                        .map(|&(b, w)| format!("({w:?})*{}.{axis}", self.points[number(b)].name));
                    let sum = terms.collect::<Vec<_>>().join(" + ");
                    self.equations.push((format!("{own}-{axis}"), format!("{own}.{axis} = {sum}")));
                }
            }
        }
    }

    /// Distances and equations of joints that are more than common points.
    fn joints(&mut self, model: &Model, references: &[Reference], at: impl Fn(usize) -> usize) {
        for (k, joint) in model.joints.iter().enumerate() {
            let find = |meets: usize| {
                references.iter().position(|r| r.joint == k && r.meets == meets).map(&at)
            };
            match &joint.kind {
                JointKind::Distance(distance) => {
                    if let (Some(i), Some(j)) = (find(1), find(2)) {
                        self.distance(i, j, distance.length());
                    }
                }
                JointKind::Universal(_) => {
                    let (Some(a), Some(b), Some(p)) = (find(1), find(2), find(10)) else {
                        continue;
                    };
                    let [a, b, p] = [a, b, p].map(|k| self.points[k].name.clone());
                    let terms =
                        ["x", "y", "z"].map(|c| format!("({a}.{c} - {p}.{c})*({b}.{c} - {p}.{c})"));
                    self.equations.push((joint.name.clone(), format!("{} = 0", terms.join(" + "))));
                }
                _ => {}
            }
        }
    }
}
