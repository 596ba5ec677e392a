//! From a model of rigid bodies to one of point masses.

use gelenk_impulse::points::{PointState, RANK_TOLERANCE, from_model, independent};
use gelenk_model::description::Description;
use gelenk_model::joint::JointKind;
use gelenk_model::load_text;
use gelenk_model::math::Vec3;
use gelenk_model::rows::RowKind;
use gelenk_model::{Body, BodyId, BodyKind, Joint, LoadOptions, Loaded, Model, RunSettings, State};

use super::forces::{Numbers, Plan, PointForce, plan};
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
    /// Springs, dampers, drives and forces.
    pub forces: Vec<PointForce>,
    /// Names of constraints left out because they follow from the others.
    pub redundant: Vec<String>,
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
    #[error(
        "{what} `{name}` is not converted: bodies, joints, gravity, and springs, dampers, drives of hinges and forces on points whose numbers \
         are constant or follow time are"
    )]
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
        "`{joint}` needs a point of body `{body}` beside the plane or line that all its mass is in: give the body some thickness"
    )]
    Thin {
        /// The joint.
        joint: String,
        /// The body.
        body: String,
    },
}

/// A point of a joint or force on a body.
struct Reference {
    /// Joints first, then forces.
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
///
/// Springs and dampers act between the same points, forces on theirs; a torque about a hinge becomes forces on a point beside the axis and
/// on two of the axis (angles count from −π to π). Constraints that follow from the others in every position nearby are
/// left out: \[Schmitt, Bender, Prautzsch 2005\] section 4.
pub fn point_model(model: &Model) -> Result<PointModel, PointModelError> {
    converted(model, None)
}

/// The same for a model with its formulas: numbers of forces may follow time.
pub fn point_model_of(loaded: &Loaded) -> Result<PointModel, PointModelError> {
    converted(&loaded.model, Some(&loaded.description))
}

fn converted(
    model: &Model,
    description: Option<&Description>,
) -> Result<PointModel, PointModelError> {
    refuse_others(model)?;
    let start = gelenk_impulse::Simulation::new(model, &model.run)
        .map_err(|failure| PointModelError::Start(failure.reason))?;
    let start = start.state();
    let mut references = Vec::new();
    for (k, joint) in model.joints.iter().enumerate() {
        joint_references(model, start, k, joint, &mut references)?;
    }
    let numbers = Numbers { model, description };
    let mut plans = Vec::new();
    for (k, force) in model.forces.iter().enumerate() {
        let axis_length = |joint: usize| axis_length(model, &model.joints[joint]);
        let Some((places, plan)) = plan(&numbers, start, &force.kind, axis_length) else {
            let (what, name) = (force.kind.type_name(), force.name.clone());
            return Err(PointModelError::Element { what, name });
        };
        for (meets, (body, place)) in places.into_iter().enumerate() {
            references.push(Reference { joint: model.joints.len() + k, body, place, meets });
        }
        plans.push(plan);
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
            joint: element(model, references[own[which]].joint),
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
                points.unite(found[l], found[k], &element(model, r.joint));
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
        forces: Vec::new(),
        redundant: Vec::new(),
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
    converted.leave_out_redundant();
    for (k, (force, plan)) in model.forces.iter().zip(&plans).enumerate() {
        let own = (0..references.len()).filter(|&r| references[r].joint == model.joints.len() + k);
        converted.force(&force.name, plan, &own.map(at).collect::<Vec<usize>>());
    }
    Ok(converted)
}

/// The name of a joint, or of a force by its number after them.
fn element(model: &Model, which: usize) -> String {
    let joint = model.joints.get(which).map(|joint| joint.name.clone());
    joint.unwrap_or_else(|| model.forces[which - model.joints.len()].name.clone())
}

fn refuse_others(model: &Model) -> Result<(), PointModelError> {
    let refuse = |what: &'static str, name: &str| {
        Err(PointModelError::Element { what, name: name.to_owned() })
    };
    let touching = |body: &&Body| body.contact.collide && !body.shapes.is_empty();
    if let Some(body) = model.bodies.iter().find(|body| !body.fixed && touching(body))
        && model.bodies.iter().filter(touching).count() > 1
    {
        return refuse("contact of body", &body.name);
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

/// The name of a distance between two points.
pub(super) fn distance_name(a: &str, b: &str) -> String {
    format!("{a}-{b}")
}

/// How a point model stands after a few steps with other velocities; `None` if it cannot move.
fn pushed(model: &Model, start: &PointState) -> Option<PointState> {
    let mut model = model.clone();
    model.forces.clear();
    for (k, v) in model.start.s_dot.iter_mut().enumerate().filter(|(k, _)| !model.bodies[*k].fixed)
    {
        // Any velocities that follow no symmetry; those that the constraints allow are left.
        let angle = 1.0 + k as f64 * 2.399_963;
        *v = Vec3::new(angle.sin(), (1.7 * angle).cos(), (0.6 * angle + 1.0).sin());
    }
    let size = start.p.iter().map(Vec3::norm).fold(0.0, f64::max).max(1e-3);
    let settings =
        RunSettings { step: 0.01 * size, duration: 0.05 * size, ..RunSettings::default() };
    let mut simulation = gelenk_impulse::Simulation::new(&model, &settings).ok()?;
    for _ in 0..5 {
        simulation.step().ok()?;
    }
    let mut state = start.clone();
    let end = &simulation.state().s;
    state.p[..end.len()].copy_from_slice(end);
    Some(state)
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

    /// A force between the points that its plan asked for.
    fn force(&mut self, name: &str, plan: &Plan, own: &[usize]) {
        // Forces of joints are named `joint.drive`; a file's own names have no points.
        let name = name.replace('.', "-");
        match (plan, own) {
            (Plan::Spring(values), &[a, b]) => {
                self.forces.push(PointForce::Spring { name, ends: [a, b], values: values.clone() });
            }
            (Plan::Damper(damping), &[a, b]) => {
                let damping = damping.clone();
                self.forces.push(PointForce::Damper { name, ends: [a, b], damping });
            }
            (Plan::Applied(force), &[point]) if !self.points[point].fixed => {
                self.forces.push(PointForce::Force { name, point, force: force.clone() });
            }
            (Plan::Turn(turn), &[p, q, a, b]) => {
                let four = [p, q, a, b];
                let names = four.map(|k| self.points[k].name.as_str());
                let forces = turn.forces(&names, four.map(|k| self.points[k].fixed));
                for (k, (at, force)) in forces.into_iter().enumerate() {
                    let name = format!("{name}-{}", k + 1);
                    self.forces.push(PointForce::Force { name, point: four[at], force });
                }
            }
            _ => {}
        }
    }

    /// Leaves out constraints that follow from the others at the start and at a place that a push leads to, so that those stay that
    /// are dependent at the start alone.
    fn leave_out_redundant(&mut self) {
        let text = self.to_toml();
        let Ok(loaded) = load_text(&self.name, &text, &LoadOptions::default()) else { return };
        let Ok((system, state)) = from_model(&loaded.model) else { return };
        let there = independent(&system, &state, RANK_TOLERANCE);
        if there.removed.is_empty() {
            return;
        }
        let Some(moved) = pushed(&loaded.model, &state) else { return };
        let set = independent(&system, &moved, RANK_TOLERANCE);
        // One by one, as long as what is left has the rank at both places.
        let mut left: Vec<usize> = (0..system.constraints.len()).collect();
        let mut gone = Vec::new();
        for &k in &set.removed {
            let mut fewer = system.clone();
            let keep: Vec<usize> = left.iter().copied().filter(|&other| other != k).collect();
            fewer.constraints = keep.iter().map(|&i| system.constraints[i].clone()).collect();
            let rank = |at: &PointState| independent(&fewer, at, RANK_TOLERANCE).kept.len();
            if rank(&state) == there.kept.len() && rank(&moved) == set.kept.len() {
                left = keep;
                gone.push(system.constraints[k].name.clone());
            }
        }
        let names: Vec<String> = self.points.iter().map(|p| p.name.clone()).collect();
        self.distances.retain(|&(i, j, _)| !gone.contains(&distance_name(&names[i], &names[j])));
        self.equations.retain(|(name, _)| !gone.contains(name));
        self.redundant = gone;
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
