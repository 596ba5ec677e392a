//! Forces between bodies as forces between point masses.

use gelenk_model::description::Description;
use gelenk_model::force::{ForceKind, JointAxis, Servo};
use gelenk_model::joint::JointKind;
use gelenk_model::math::Vec3;
use gelenk_model::signal::{StateRef, Value};
use gelenk_model::{BodyId, Instant, Model, State};

/// A force element between points.
#[derive(Clone, Debug, PartialEq)]
pub enum PointForce {
    /// A spring between two points: length without load, m, and stiffness, N/m.
    Spring {
        /// Its name.
        name: String,
        /// Its ends.
        ends: [usize; 2],
        /// Formulas of length and stiffness.
        values: [String; 2],
    },
    /// A damper between two points.
    Damper {
        /// Its name.
        name: String,
        /// Its ends.
        ends: [usize; 2],
        /// Formula of the damping, N s/m.
        damping: String,
    },
    /// A force on a point, world axes, N.
    Force {
        /// Its name.
        name: String,
        /// The point.
        point: usize,
        /// Formulas of its components.
        force: [String; 3],
    },
}

/// The numbers of force laws as text.
pub(super) struct Numbers<'a> {
    pub(super) model: &'a Model,
    pub(super) description: Option<&'a Description>,
}

impl Numbers<'_> {
    /// A number that is constant or follows time alone.
    fn text(&self, value: Value) -> Option<String> {
        let signal = match value {
            Value::Constant(x) => return Some(format!("{x:?}")),
            Value::Signal(signal) => signal,
        };
        let description = self.description?;
        let pool = &mut self.model.pool.clone();
        let values: Vec<_> = self
            .model
            .parameters
            .iter()
            .filter_map(|p| pool.find_symbol(&p.name).map(|symbol| (symbol, p.value)))
            .collect();
        let values: Vec<_> = values.into_iter().map(|(s, x)| (s, pool.float(x))).collect();
        let text = pool.substitute(*description.signals.get(signal)?, &values);
        let used = pool.symbols_of(text);
        let inputs = description.signal_inputs.iter().zip(&self.model.signals.inputs);
        let others = inputs.filter(|(_, input)| **input != StateRef::Time);
        if others.into_iter().any(|(symbol, _)| used.contains(symbol)) {
            return None;
        }
        Some(format!("({})", pool.display(text)))
    }

    fn texts<const N: usize>(&self, values: [Value; N]) -> Option<[String; N]> {
        let mut out = Vec::with_capacity(N);
        for value in values {
            out.push(self.text(value)?);
        }
        out.try_into().ok()
    }
}

/// What of a force is wanted on bodies: (body, place in its principal frame, m).
pub(super) type Place = (BodyId, Vec3);

/// The law of a force, ready to be written over points.
pub(super) enum Plan {
    /// Along the line between two points.
    Spring([String; 2]),
    /// The same.
    Damper(String),
    /// On a point.
    Applied([String; 3]),
    /// A torque about the axis of a hinge.
    Turn(Box<Turn>),
}

/// A torque about the line through P and Q, common points of a and b, on b's point A, and its opposite on a's point B.
pub(super) struct Turn {
    /// Where A and B stand along P Q, 0 at P, 1 at Q.
    along: [f64; 2],
    /// Their distances from the axis, m.
    radius: [f64; 2],
    /// |Q − P|, m.
    length: f64,
    /// The angle of the coordinate is that from B to A less this, rad.
    offset: f64,
    /// The law over the formulas of angle and rate.
    law: Law,
}

enum Law {
    Motor(String),
    Spring([String; 2]),
    Damper(String),
    Servo(Box<[String; 6]>),
}

/// The points that a force needs, and its law; `None` where it has no equal among points.
pub(super) fn plan(
    numbers: &Numbers<'_>,
    start: &State,
    kind: &ForceKind,
    axis_length: impl Fn(usize) -> f64,
) -> Option<(Vec<Place>, Plan)> {
    let ends = |pair: &gelenk_model::force::PointPair| {
        vec![(pair.bodies[0], pair.points[0]), (pair.bodies[1], pair.points[1])]
    };
    let turn = |axis: &JointAxis, law: Law| turn(numbers.model, start, axis, law, &axis_length);
    match kind {
        ForceKind::Spring(spring) => {
            let values = numbers.texts([spring.length, spring.stiffness])?;
            Some((ends(&spring.ends), Plan::Spring(values)))
        }
        ForceKind::Damper(damper) => {
            Some((ends(&damper.ends), Plan::Damper(numbers.text(damper.damping)?)))
        }
        ForceKind::Applied(applied) => {
            let zero = |value: &Value| matches!(value, Value::Constant(x) if *x == 0.0);
            let turns = !applied.torque.iter().all(zero);
            if turns || applied.axes != gelenk_model::force::Axes::World || !applied.point.is_point
            {
                return None;
            }
            let place = (applied.point.body, applied.point.local);
            Some((vec![place], Plan::Applied(numbers.texts(applied.force)?)))
        }
        ForceKind::JointSpring(spring) => {
            let values = numbers.texts([spring.rest, spring.stiffness])?;
            turn(&spring.axis, Law::Spring(values))
        }
        ForceKind::JointDamper(damper) => {
            turn(&damper.axis, Law::Damper(numbers.text(damper.damping)?))
        }
        ForceKind::Motor(motor) => turn(&motor.axis, Law::Motor(numbers.text(motor.force)?)),
        ForceKind::Servo(servo) => {
            let Servo { target, target_velocity, stiffness, damping, max_force, brake, .. } =
                *servo;
            let bound = match max_force {
                Value::Constant(x) if x.is_infinite() => String::new(),
                bound => numbers.text(bound)?,
            };
            let [target, speed, stiffness, damping, brake] =
                numbers.texts([target, target_velocity, stiffness, damping, brake])?;
            let law = Law::Servo(Box::new([target, speed, stiffness, damping, bound, brake]));
            turn(&servo.axis, law)
        }
        _ => None,
    }
}

/// A torque about a hinge: its points P, Q on b (which a shares), A on b and B on a.
fn turn(
    model: &Model,
    start: &State,
    axis: &JointAxis,
    law: Law,
    axis_length: &impl Fn(usize) -> f64,
) -> Option<(Vec<Place>, Plan)> {
    let joint = &model.joints[axis.joint.index()];
    let JointKind::Hinge(hinge) = &joint.kind else { return None };
    let poses = joint.bodies.map(|id| start.pose(id));
    let p = joint.kind.equations().force_point(&poses[0], &poses[1]);
    let n = poses[0].rot * hinge.axis();
    let length = axis_length(axis.joint.index());
    // A point beside the axis: the centre of mass has a mass there in any body; else one to the side.
    let side = if n.x.abs() < 0.9 { Vec3::x() } else { Vec3::y() };
    let side = n.cross(&side).normalize() * length;
    let beside = |which: usize| {
        let body = &model.bodies[joint.bodies[which].index()];
        let lever = poses[which].s - p;
        let across = lever - n * n.dot(&lever);
        let at =
            if body.fixed || across.norm() < 1e-6 * length { p + side } else { poses[which].s };
        let lever = at - p;
        let along = n.dot(&lever);
        (at, along / length, lever - n * along)
    };
    let ((at_b, along_b, across_b), (at_a, along_a, across_a)) = (beside(1), beside(0));
    let angle = n.dot(&across_a.cross(&across_b)).atan2(across_a.dot(&across_b));
    let ids = || (0..model.bodies.len()).map(|k| BodyId(u32::try_from(k).unwrap_or(u32::MAX)));
    let all: Vec<_> = ids().map(|id| start.pose(id)).collect();
    let twists: Vec<_> = ids().map(|id| start.twist(id)).collect();
    let at = Instant { t: start.t, poses: &all, twists: &twists, coordinates: &start.coordinate };
    let coordinate = model.joint_coordinate(axis.joint, axis.which, &at);
    let turn = Turn {
        along: [along_b, along_a],
        radius: [across_b.norm(), across_a.norm()],
        length,
        offset: angle - coordinate,
        law,
    };
    let local = |which: usize, at: Vec3| {
        (joint.bodies[which], poses[which].rot.transpose() * (at - poses[which].s))
    };
    let places = vec![local(1, p), local(1, p + n * length), local(1, at_b), local(0, at_a)];
    Some((places, Plan::Turn(Box::new(turn))))
}

/// A vector of formulas.
type Formulas = [String; 3];

fn between(to: &str, from: &str, what: &str) -> Formulas {
    ["x", "y", "z"].map(|c| format!("({to}{what}.{c} - {from}{what}.{c})"))
}

fn cross(u: &Formulas, v: &Formulas) -> Formulas {
    [(1, 2), (2, 0), (0, 1)].map(|(i, j)| format!("({}*{} - {}*{})", u[i], v[j], u[j], v[i]))
}

fn dot(u: &Formulas, v: &Formulas) -> String {
    format!("({}*{} + {}*{} + {}*{})", u[0], v[0], u[1], v[1], u[2], v[2])
}

impl Turn {
    /// What is across the axis of the way from P to a point at `along`.
    fn across(&self, names: &[&str; 4], which: usize, what: &str) -> Formulas {
        let lever = between(names[2 + which], names[0], what);
        let axis = between(names[1], names[0], what);
        [0, 1, 2].map(|k| format!("({} - ({:?})*{})", lever[k], self.along[which], axis[k]))
    }

    /// n · ω of the body that holds P, Q and the point.
    fn rate(&self, names: &[&str; 4], which: usize) -> String {
        let axis = between(names[1], names[0], "");
        let turned = cross(&self.across(names, which, ""), &self.across(names, which, ".velocity"));
        let scale = self.length * self.radius[which].powi(2);
        format!("{}/({scale:?})", dot(&axis, &turned))
    }

    /// The forces on P, Q, A and B, with what is `fixed` left out.
    pub(super) fn forces(&self, names: &[&str; 4], fixed: [bool; 4]) -> Vec<(usize, Formulas)> {
        let axis = between(names[1], names[0], "");
        let (a, b) = (self.across(names, 0, ""), self.across(names, 1, ""));
        // sin and cos of the angle from B to A, each times the radii; the axis has its length in it.
        let sin = format!("({}/({:?}))", dot(&axis, &cross(&b, &a)), self.length);
        let cos = dot(&b, &a);
        let (s, c) = self.offset.sin_cos();
        let angle = format!("atan2({sin}*({c:?}) - {cos}*({s:?}), {cos}*({c:?}) + {sin}*({s:?}))");
        let own = self.rate(names, 0);
        let other = if fixed[3] { "0".to_owned() } else { self.rate(names, 1) };
        let rate = format!("({own} - {other})");
        let torque = match &self.law {
            Law::Motor(torque) => torque.clone(),
            Law::Spring([rest, stiffness]) => format!("(-{stiffness}*({angle} - {rest}))"),
            Law::Damper(damping) => format!("(-{damping}*{rate})"),
            Law::Servo(values) => {
                let [target, speed, stiffness, damping, bound, brake] = values.as_ref();
                let asked =
                    format!("({stiffness}*({target} - {angle}) + {damping}*({speed} - {rate}))");
                let bounded = if bound.is_empty() {
                    asked
                } else {
                    format!("max(-{bound}, min({bound}, {asked}))")
                };
                format!("({bounded} - {brake}*{rate})")
            }
        };
        let mut forces: Vec<(usize, Formulas)> = Vec::new();
        for (which, sign) in [(0, 1.0), (1, -1.0)] {
            let point = 2 + which;
            // F = τ n × A⊥/ρ²; its opposite at the foot of A on the axis.
            let lever = self.across(names, which, "");
            let arm = cross(&axis, &lever);
            let scale = sign / (self.length * self.radius[which].powi(2));
            for (at, part) in [(point, 1.0), (0, self.along[which] - 1.0), (1, -self.along[which])]
            {
                if !fixed[at] && part != 0.0 {
                    let scale = scale * part;
                    forces
                        .push((at, [0, 1, 2].map(|k| format!("({scale:?})*{torque}*{}", arm[k]))));
                }
            }
        }
        forces
    }
}
