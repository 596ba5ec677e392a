//! What drives, motors, springs, dampers, brakes, dry friction and prescribed motions do: force or torque, power, energy.
//!
//! | quantity | is |
//! | --- | --- |
//! | `drive.J.torque`, `motor.J.torque` (`.force` where the joint slides) | τ along the coordinate, on the second body |
//! | `spring.J.torque`, `damper.J.torque` (of a joint) | the same |
//! | `brake.J.torque` | −C_F q̇, the part of a drive that its brake gives |
//! | `friction.J.torque` | dry friction, against the rate |
//! | `motion.J.torque` | what a prescribed motion takes |
//! | `spring.S.force`, `damper.S.force` | pull along the line of the ends, negative where it pushes |
//! | `spring.S.length`, `.rate` (also of dampers) | distance of the ends and its rate |
//! | `.power` of any | power that the bodies get: τ q̇, or −F L̇ |
//! | `spring.S.energy`, `spring.J.energy` | energy stored, of springs whose stiffness and length are constant |
//!
//! Laws are evaluated at the instant of the sample. Friction and prescribed motions are parts of the joint's force: the generalized force
//! S · (F, τ) along the coordinate ([`coordinate_twist`]), which the impulse engine gives as the mean over its last step.

use gelenk_model::bound::Friction;
use gelenk_model::force::{ForceContext, ForceKind, JointAxis};
use gelenk_model::joint::CoordinateKind;
use gelenk_model::posing::coordinate_twist;
use gelenk_model::signal::Work;
use gelenk_model::{Instant, Model, RowKind, Sample};

use crate::quantity::{Quantities, Quantity, Reader};

/// Something that acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actuator {
    /// A force element, by its place in [`Model::forces`].
    Force(usize),
    /// The brake of a drive, by its place in [`Model::forces`].
    Brake(usize),
    /// Dry friction of a joint coordinate.
    Friction(JointAxis),
    /// A prescribed motion of a joint coordinate.
    Motion(JointAxis),
}

/// What is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Force or torque, N or N m.
    Effort,
    /// Power, W.
    Power,
    /// Energy stored, J.
    Energy,
    /// Length, m.
    Length,
    /// Its rate, m/s.
    Rate,
}

/// An actuator with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// `drive.elbow`
    pub name: String,
    /// What it is.
    pub actuator: Actuator,
    /// Whether it gives a torque, not a force.
    pub turns: bool,
}

impl Named {
    /// What it has: last word of the name, unit.
    pub fn parts(&self, model: &Model) -> Vec<(Part, &'static str, &'static str)> {
        let effort = if self.turns { ("torque", "N m") } else { ("force", "N") };
        let mut list = vec![(Part::Effort, effort.0, effort.1), (Part::Power, "power", "W")];
        if let Actuator::Force(i) = self.actuator {
            let law = &model.forces[i].kind;
            if law.law().account() == gelenk_model::force::Account::Potential {
                list.push((Part::Energy, "energy", "J"));
            }
            if matches!(law, ForceKind::Spring(_) | ForceKind::Damper(_)) {
                list.extend([(Part::Length, "length", "m"), (Part::Rate, "rate", "m/s")]);
            }
        }
        list
    }
}

/// All actuators of a model: force elements in their order, then friction and prescribed motions.
pub fn actuators(model: &Model) -> Vec<Named> {
    let mut list: Vec<Named> = Vec::new();
    let along = |axis: JointAxis| {
        let joint = &model.joints[axis.joint.index()];
        let coordinates = joint.kind.equations().coordinates();
        let coordinate = coordinates[axis.which];
        let several = coordinates.len() > 1;
        let name = if several {
            format!("{}.{}", joint.name, coordinate.name)
        } else {
            joint.name.clone()
        };
        (name, coordinate.kind == CoordinateKind::Angle)
    };
    let mut add = |word: &str, name: String, actuator: Actuator, turns: bool| {
        // A second drive of a coordinate is `drive2`; a joint with the name of a spring comes after it.
        let mut n = 1;
        let mut full = format!("{word}.{name}");
        while list.iter().any(|known| known.name == full) {
            n += 1;
            full = format!("{word}{n}.{name}");
        }
        list.push(Named { name: full, actuator, turns });
    };
    for (i, force) in model.forces.iter().enumerate() {
        let word = match &force.kind {
            ForceKind::Spring(_) => "spring",
            ForceKind::Damper(_) => "damper",
            _ => continue,
        };
        add(word, force.name.clone(), Actuator::Force(i), false);
    }
    for (i, force) in model.forces.iter().enumerate() {
        let Some(axis) = force.kind.axis() else { continue };
        let (name, turns) = along(axis);
        let (word, brakes) = match &force.kind {
            ForceKind::JointSpring(_) => ("spring", false),
            ForceKind::JointDamper(_) => ("damper", false),
            ForceKind::Servo(servo) => {
                ("drive", servo.brake != gelenk_model::signal::Value::Constant(0.0))
            }
            _ => ("motor", false),
        };
        add(word, name.clone(), Actuator::Force(i), turns);
        if brakes {
            add("brake", name, Actuator::Brake(i), turns);
        }
    }
    for block in &model.rows {
        match &block.kind {
            RowKind::Friction(friction) => {
                let axis = JointAxis { joint: friction.joint, which: friction.which };
                let (name, turns) = along(axis);
                add("friction", name, Actuator::Friction(axis), turns);
            }
            RowKind::Tie(tie) => {
                if let [(joint, which, _)] = tie.terms[..] {
                    let axis = JointAxis { joint, which };
                    let (name, turns) = along(axis);
                    add("motion", name, Actuator::Motion(axis), turns);
                }
            }
            _ => {}
        }
    }
    list
}

/// Memory to evaluate actuators with.
#[derive(Debug)]
pub(crate) struct Bench {
    work: Work,
    signals: Vec<f64>,
}

impl Bench {
    pub(crate) fn new(model: &Model) -> Self {
        Bench { work: model.work(), signals: vec![0.0; model.signals.n] }
    }

    /// Evaluates the model's signals at a sample.
    pub(crate) fn turn_to(&mut self, model: &Model, sample: &Sample<'_>, at: &Instant<'_>) {
        for (i, input) in model.inputs.iter().enumerate() {
            let held =
                if sample.inputs.is_empty() { Some(&input.value) } else { sample.inputs.get(i) };
            self.work.held[i] = held.copied().unwrap_or(f64::NAN);
        }
        model.signals.evaluate(model, at, &mut self.work, &mut self.signals);
    }

    /// A part of an actuator at the sample that was turned to.
    pub(crate) fn value(
        &self,
        model: &Model,
        sample: &Sample<'_>,
        at: &Instant<'_>,
        actuator: Actuator,
        part: Part,
    ) -> f64 {
        let context = ForceContext { model, at: *at, signals: &self.signals };
        let law = match actuator {
            Actuator::Force(i) | Actuator::Brake(i) => &model.forces[i].kind,
            Actuator::Friction(axis) | Actuator::Motion(axis) => {
                let rate = axis.velocity(&context);
                let effort = held_back(model, sample, at, actuator, axis, rate);
                return if part == Part::Power { effort * rate } else { effort };
            }
        };
        if !law.is_active(&sample.state.active) {
            return 0.0;
        }
        if part == Part::Energy {
            return law.law().potential_energy(&context);
        }
        let (effort, rate, length) = match law {
            ForceKind::Spring(spring) => {
                let (delta, delta_dot) = spring.ends.separation(at);
                let length = delta.norm();
                let rate = if length > 0.0 { delta.dot(&delta_dot) / length } else { 0.0 };
                let stretch = length - spring.length.get(&self.signals);
                (spring.stiffness.get(&self.signals) * stretch, -rate, length)
            }
            ForceKind::Damper(damper) => {
                let (delta, delta_dot) = damper.ends.separation(at);
                let length = delta.norm();
                let rate = if length > 0.0 { delta.dot(&delta_dot) / length } else { 0.0 };
                (damper.damping.get(&self.signals) * rate, -rate, length)
            }
            law => {
                let Some(axis) = law.axis() else { return f64::NAN };
                let (q, q_dot) = (axis.position(&context), axis.velocity(&context));
                let effort = match (actuator, law) {
                    (Actuator::Brake(_), ForceKind::Servo(servo)) => {
                        -servo.brake.get(&self.signals) * q_dot
                    }
                    _ => law.along(q, q_dot, &self.signals).map_or(f64::NAN, |along| along.force),
                };
                (effort, q_dot, q)
            }
        };
        match part {
            Part::Effort => effort,
            Part::Power => effort * rate,
            Part::Length => length,
            Part::Rate => -rate,
            Part::Energy => f64::NAN,
        }
    }
}

/// The part of a joint's force that dry friction or a prescribed motion gives along a coordinate.
///
/// Alone it is all of it. Beside others a friction that slips is −F sign(q̇); one that sticks is what an end stop leaves, up to F, and
/// nothing where a motion holds.
fn held_back(
    model: &Model,
    sample: &Sample<'_>,
    at: &Instant<'_>,
    actuator: Actuator,
    axis: JointAxis,
    rate: f64,
) -> f64 {
    /// Rates below this count as none, rad/s or m/s.
    const STILL: f64 = 1e-9;
    let i = axis.joint.index();
    if !sample.state.active[i] {
        return 0.0;
    }
    let reaction = &sample.reactions[i];
    let Some((v, omega)) = coordinate_twist(model, axis, at.poses, at.coordinates) else {
        return f64::NAN;
    };
    let whole = v.dot(&reaction.force) + omega.dot(&reaction.torque);
    let (mut friction, mut moved, mut stopped): (Option<&Friction>, bool, bool) =
        (None, false, false);
    for block in &model.rows {
        match &block.kind {
            RowKind::Friction(own) if own.joint == axis.joint && own.which == axis.which => {
                friction = Some(own);
            }
            RowKind::Stop(stop) => {
                stopped |= stop.joint == axis.joint && stop.which == axis.which;
            }
            RowKind::Tie(tie) => {
                moved |= matches!(tie.terms[..], [(j, w, _)] if j == axis.joint && w == axis.which);
            }
            _ => {}
        }
    }
    let rubbed = match friction {
        None => 0.0,
        Some(_) if !moved && !stopped => whole,
        Some(friction) if rate.abs() > STILL => -friction.force * rate.signum(),
        Some(_) if moved => 0.0,
        Some(friction) => whole.clamp(-friction.force, friction.force),
    };
    match actuator {
        Actuator::Friction(_) => rubbed,
        _ => whole - rubbed,
    }
}

/// What an actuator did over a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metered {
    /// Its name: `drive.elbow`.
    pub name: String,
    /// `N` or `N m`.
    pub unit: &'static str,
    /// Largest force or torque by size, with its sign.
    pub peak: f64,
    /// When that was, s.
    pub peak_time: f64,
    /// √(∫ F² dt / T).
    pub rms: f64,
    /// Largest power by size, with its sign, W.
    pub peak_power: f64,
    /// ∫ P dt, J.
    pub work: f64,
}

/// Follows the actuators of a model through a run: peaks over its samples, integrals by the trapezoidal rule between them.
#[derive(Debug)]
pub struct Meter {
    reader: Reader,
    /// Effort and power of each.
    wanted: Vec<Quantity>,
    list: Vec<Metered>,
    squares: Vec<f64>,
    begin: f64,
    last: Option<(f64, Vec<f64>)>,
}

impl Meter {
    /// For the actuators of a model; `None` if it has none.
    pub fn new(model: &Model) -> Option<Self> {
        let all = actuators(model);
        if all.is_empty() {
            return None;
        }
        let part = |named: &Named, part| Quantity::Actuator(named.actuator, part);
        let list = all.iter().map(|named| Metered {
            name: named.name.clone(),
            unit: if named.turns { "N m" } else { "N" },
            peak: 0.0,
            peak_time: 0.0,
            rms: 0.0,
            peak_power: 0.0,
            work: 0.0,
        });
        Some(Meter {
            reader: Reader::new(model),
            wanted: all
                .iter()
                .flat_map(|n| [part(n, Part::Effort), part(n, Part::Power)])
                .collect(),
            list: list.collect(),
            squares: vec![0.0; all.len()],
            begin: 0.0,
            last: None,
        })
    }

    /// Looks at a sample; they come in the order of time.
    pub fn sample(&mut self, model: &Model, sample: &Sample<'_>) {
        let t = sample.state.t;
        let mut now = Vec::with_capacity(self.wanted.len());
        self.reader.read(model, sample, &self.wanted, &mut now);
        if self.last.is_none() {
            self.begin = t;
        }
        for (i, one) in self.list.iter_mut().enumerate() {
            let (effort, power) = (now[2 * i], now[2 * i + 1]);
            if effort.abs() > one.peak.abs() || self.last.is_none() {
                (one.peak, one.peak_time) = (effort, t);
            }
            if power.abs() > one.peak_power.abs() || self.last.is_none() {
                one.peak_power = power;
            }
            if let Some((before, values)) = &self.last {
                let half = 0.5 * (t - before);
                self.squares[i] += half * (effort * effort + values[2 * i] * values[2 * i]);
                one.work += half * (power + values[2 * i + 1]);
            }
        }
        self.last = Some((t, now));
    }

    /// What they did so far.
    pub fn results(&self) -> Vec<Metered> {
        let span = self.last.as_ref().map_or(0.0, |(t, _)| t - self.begin);
        let list = self.list.iter().zip(&self.squares).map(|(one, squares)| {
            let rms = if span > 0.0 { (squares / span).sqrt() } else { one.peak.abs() };
            Metered { rms, ..one.clone() }
        });
        list.collect()
    }
}

/// The quantities of actuators and inputs, nested at the dots of their names: `{drive: {elbow: {torque, power}}}`.
pub fn nested(model: &Model, sample: &Sample<'_>) -> serde_json::Map<String, serde_json::Value> {
    use serde_json::{Map, json};
    let mut top = Map::new();
    let all = Quantities::new(model);
    let is_ours = |q: Quantity| matches!(q, Quantity::Actuator(..) | Quantity::Input(_));
    let named: Vec<(&String, Quantity)> = all
        .names
        .iter()
        .filter_map(|name| Some((name, all.one(model, name)?)))
        .filter(|(_, quantity)| is_ours(*quantity))
        .collect();
    let wanted: Vec<Quantity> = named.iter().map(|(_, quantity)| *quantity).collect();
    let mut values = Vec::new();
    Reader::new(model).read(model, sample, &wanted, &mut values);
    for ((name, _), value) in named.into_iter().zip(values) {
        let words: Vec<&str> = name.split('.').collect();
        put(&mut top, &words, json!(value));
    }
    top
}

/// Puts a value where a path of words leads.
fn put(
    map: &mut serde_json::Map<String, serde_json::Value>,
    words: &[&str],
    value: serde_json::Value,
) {
    match words {
        [] => {}
        [last] => {
            map.insert((*last).to_owned(), value);
        }
        [first, rest @ ..] => {
            let next = map.entry((*first).to_owned()).or_insert_with(|| serde_json::json!({}));
            if let serde_json::Value::Object(next) = next {
                put(next, rest, value);
            }
        }
    }
}
