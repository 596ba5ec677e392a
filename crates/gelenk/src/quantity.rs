//! Quantities by name: one name for one thing, the same in every result; and formulas over them.
//!
//! ```
//! use gelenk::model::{LoadOptions, load_text};
//! use gelenk::quantity::{Formula, Quantities};
//!
//! let text = gelenk::scenes::scene("double-pendulum").ok_or("no such model")?.text;
//! let model = load_text("double-pendulum", text, &LoadOptions::default())?.model;
//! let all = Quantities::new(&model);
//! assert!(all.names.iter().any(|name| name == "joint.elbow.angle"));
//! let formula = Formula::new(&model, &all, "joint.elbow.angle^2 + l1").map_err(|why| why.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashMap;

use gelenk_expr::{ParseOptions, Pool, Tape};
use gelenk_model::joint::JointId;
use gelenk_model::{BodyKind, Instant, Model, Pose, Sample, Twist};

use crate::actuator::{Actuator, Bench, Part, actuators};

/// A number of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Quantity {
    /// Time, s.
    Time,
    /// Place of the file frame of a body, or of a point, m: body, component.
    Position(usize, usize),
    /// Rotation of the file frame of a body: body, component (w, x, y, z).
    Rotation(usize, usize),
    /// Velocity of the file frame of a body, or of a point, m/s: body, component.
    Velocity(usize, usize),
    /// Angular velocity of a body, rad/s: body, component.
    AngularVelocity(usize, usize),
    /// Place of a marker, m: marker, component.
    MarkerPosition(usize, usize),
    /// Velocity of a marker, m/s: marker, component.
    MarkerVelocity(usize, usize),
    /// Coordinate of a joint, m or rad: joint, which.
    Coordinate(usize, usize),
    /// Its rate: joint, which.
    Rate(usize, usize),
    /// Force of a joint, N: joint, component.
    Force(usize, usize),
    /// Torque of a joint, N m: joint, component.
    Torque(usize, usize),
    /// An energy, J: its place in [`ENERGIES`].
    Energy(usize),
    /// Largest gap of a row block so far.
    Gap(usize),
    /// Sum of the contact forces on the first body from the second.
    Contact([usize; 2], usize),
    /// What a drive, motor, spring, damper, brake, friction or prescribed motion does.
    Actuator(Actuator, Part),
    /// What an input is held at.
    Input(usize),
}

const XYZ: [&str; 3] = ["x", "y", "z"];
const WXYZ: [&str; 4] = ["w", "x", "y", "z"];

/// The energies by name, in the order of [`energies`].
pub const ENERGIES: [&str; 8] =
    ["initial", "kinetic", "potential", "total", "work", "dissipation", "impact_loss", "error"];

/// The energies of a ledger, J.
pub fn energies(ledger: &gelenk_model::Ledger) -> [f64; 8] {
    let (total, error) = (ledger.total(), ledger.integrator_error());
    let parts = [ledger.initial, ledger.kinetic, ledger.potential, total, ledger.work];
    let [initial, kinetic, potential, total, work] = parts;
    [initial, kinetic, potential, total, work, ledger.dissipation, ledger.impact_loss, error]
}

/// A line of the table of quantities.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The name, with capitals for names of elements and `*` for a word.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
}

impl Pattern {
    /// Whether a quantity with a unit is of this kind. Names of elements may have dots.
    pub fn fits(&self, name: &str, unit: &str) -> bool {
        let text = self.name.trim_end_matches(" …");
        let vector = text.len() < self.name.len();
        let Some((head, tail)) = text.split_once('.') else {
            return name == text && unit == self.unit;
        };
        let element = |word: &str| word.starts_with(char::is_uppercase);
        let rest = match tail.split_once('.') {
            Some((word, rest)) if element(word) => rest,
            None if element(tail) => "",
            _ => tail,
        };
        // `drive2` is a second drive.
        let first = name.split('.').next().unwrap_or(name);
        let begins = first.trim_end_matches(|c: char| c.is_ascii_digit()) == head;
        let ends = if vector {
            let stem = rest.rsplit_once('.').map_or(rest, |(stem, _)| stem);
            XYZ.iter().chain(&WXYZ).any(|letter| name.ends_with(&format!(".{stem}.{letter}")))
        } else if let Some(end) = rest.strip_prefix('*') {
            name.ends_with(end)
        } else {
            rest.is_empty() || name.ends_with(&format!(".{rest}"))
        };
        begins && ends && unit == self.unit
    }
}

/// Every kind of quantity.
pub const PATTERNS: &[Pattern] = &[
    pattern("time", "s", "time"),
    pattern("body.BODY.position.x …", "m", "origin of the body's file frame, world; also y and z"),
    pattern("body.BODY.rotation.w …", "", "rotation of that frame, a quaternion w, x, y, z"),
    pattern("body.BODY.velocity.x …", "m/s", "velocity of that origin"),
    pattern("body.BODY.angular_velocity.x …", "rad/s", "angular velocity, world axes"),
    pattern("point.POINT.position.x …", "m", "place of a point mass"),
    pattern("point.POINT.velocity.x …", "m/s", "its velocity"),
    pattern("marker.MARKER.position.x …", "m", "place of a marker"),
    pattern("marker.MARKER.velocity.x …", "m/s", "its velocity"),
    pattern("joint.JOINT.angle", "rad", "coordinate of a joint that turns, full turns counted"),
    pattern("joint.JOINT.angle1", "rad", "first angle of a universal joint"),
    pattern("joint.JOINT.angle2", "rad", "its second angle"),
    pattern("joint.JOINT.position", "m", "coordinate of a joint that slides"),
    pattern("joint.JOINT.length", "m", "length of a rope"),
    pattern("joint.JOINT.x", "m", "coordinate of a planar or translation joint; also y and z"),
    pattern("joint.JOINT.y", "m", ""),
    pattern("joint.JOINT.z", "m", ""),
    pattern("joint.JOINT.rate", "rad/s", "rate of the only coordinate; also m/s"),
    pattern("joint.JOINT.rate", "m/s", ""),
    pattern(
        "joint.JOINT.*_rate",
        "rad/s",
        "rate of one of several, such as `position_rate`; also m/s",
    ),
    pattern("joint.JOINT.*_rate", "m/s", ""),
    pattern("joint.JOINT.force.x …", "N", "force of the joint on its second body, world axes"),
    pattern("joint.JOINT.torque.x …", "N m", "its torque about the joint's point"),
    pattern("charge.CIRCUIT", "C", "charge that has gone through a circuit"),
    pattern("current.CIRCUIT", "A", "its current"),
    pattern(
        "spring.SPRING.force",
        "N",
        "pull of a spring along the line of its ends; negative where it pushes",
    ),
    pattern("spring.SPRING.length", "m", "distance of its ends"),
    pattern("spring.SPRING.rate", "m/s", "rate of that distance"),
    pattern("spring.SPRING.power", "W", "power that the bodies get from it"),
    pattern("spring.SPRING.energy", "J", "energy stored, where length and stiffness are constant"),
    pattern(
        "spring.JOINT.torque",
        "N m",
        "spring of a joint coordinate; `force` where it slides; power and energy as above",
    ),
    pattern("damper.DAMPER.force", "N", "pull of a damper along the line of its ends"),
    pattern("damper.DAMPER.length", "m", "distance of its ends"),
    pattern("damper.DAMPER.rate", "m/s", "rate of that distance"),
    pattern("damper.DAMPER.power", "W", "power that the bodies get from it: negative"),
    pattern("damper.JOINT.torque", "N m", "damper of a joint coordinate; `force` where it slides"),
    pattern("motor.JOINT.torque", "N m", "torque of a motor on the second body"),
    pattern("motor.JOINT.force", "N", "its force, where the joint slides"),
    pattern("motor.JOINT.power", "W", "its power"),
    pattern(
        "drive.JOINT.torque",
        "N m",
        "torque of a servo on the second body, brake included; a second drive is `drive2`",
    ),
    pattern("drive.JOINT.force", "N", "its force, where the joint slides"),
    pattern("drive.JOINT.power", "W", "its power"),
    pattern("brake.JOINT.torque", "N m", "the part of a drive that its brake gives"),
    pattern("brake.JOINT.force", "N", "the same, where the joint slides"),
    pattern("brake.JOINT.power", "W", "its power: negative"),
    pattern("friction.JOINT.torque", "N m", "dry friction of a joint coordinate"),
    pattern("friction.JOINT.force", "N", "the same, where the joint slides"),
    pattern("friction.JOINT.power", "W", "its power: negative"),
    pattern("motion.JOINT.torque", "N m", "what a prescribed motion takes"),
    pattern("motion.JOINT.force", "N", "the same, where the joint slides"),
    pattern("motion.JOINT.power", "W", "its power"),
    pattern("input.INPUT", "", "what an input is held at, in the unit its author gave it"),
    pattern("energy.initial", "J", "kinetic and potential energy at the start"),
    pattern("energy.kinetic", "J", "kinetic energy"),
    pattern("energy.potential", "J", "potential energy of gravity and springs"),
    pattern("energy.total", "J", "kinetic and potential energy"),
    pattern("energy.work", "J", "work of drives and forces so far"),
    pattern("energy.dissipation", "J", "taken by dampers and friction so far"),
    pattern("energy.impact_loss", "J", "lost in impacts so far"),
    pattern("energy.error", "J", "what the method itself added or lost so far"),
    pattern(
        "gap.ELEMENT",
        "m",
        "largest gap of a joint so far; of gears, motions and equations in their own unit",
    ),
    pattern("gap.ELEMENT", "", ""),
];

const fn pattern(name: &'static str, unit: &'static str, meaning: &'static str) -> Pattern {
    Pattern { name, unit, meaning }
}

/// The table of quantities, as Markdown: docs/quantities.md.
pub fn reference() -> String {
    use std::fmt::Write;
    let mut text = String::from(include_str!("quantities.md"));
    text.push_str("\n| quantity | unit | meaning |\n| --- | --- | --- |\n");
    for Pattern { name, unit, meaning } in PATTERNS {
        if !meaning.is_empty() {
            let _ = writeln!(text, "| `{name}` | {unit} | {meaning} |");
        }
    }
    text
}

/// The quantities of a model.
#[derive(Debug)]
pub struct Quantities {
    /// Names in order, without second names.
    pub names: Vec<String>,
    /// Units, in the same order.
    pub units: Vec<&'static str>,
    by_name: HashMap<String, Quantity>,
}

impl Quantities {
    /// All quantities of `model`.
    pub fn new(model: &Model) -> Self {
        let mut all = Quantities { names: Vec::new(), units: Vec::new(), by_name: HashMap::new() };
        all.add("time".to_owned(), "s", Quantity::Time);
        for (i, body) in model.bodies.iter().enumerate() {
            let what = match body.kind {
                _ if body.is_charge => continue,
                BodyKind::World => continue,
                BodyKind::Rigid => "body",
                BodyKind::Point => "point",
            };
            let name = format!("{what}.{}", body.name);
            all.vector(&format!("{name}.position"), "m", |k| Quantity::Position(i, k));
            if body.kind == BodyKind::Rigid {
                for (k, letter) in WXYZ.into_iter().enumerate() {
                    all.add(format!("{name}.rotation.{letter}"), "", Quantity::Rotation(i, k));
                }
            }
            all.vector(&format!("{name}.velocity"), "m/s", |k| Quantity::Velocity(i, k));
            if body.kind == BodyKind::Rigid {
                let turn = |k| Quantity::AngularVelocity(i, k);
                all.vector(&format!("{name}.angular_velocity"), "rad/s", turn);
            }
        }
        for (i, marker) in model.markers.iter().enumerate() {
            let name = format!("marker.{}", marker.name);
            all.vector(&format!("{name}.position"), "m", |k| Quantity::MarkerPosition(i, k));
            all.vector(&format!("{name}.velocity"), "m/s", |k| Quantity::MarkerVelocity(i, k));
        }
        for (i, joint) in model.joints.iter().enumerate() {
            let name = &joint.name;
            for (k, [place, rate]) in coordinate_names(model, i).into_iter().enumerate() {
                let [unit, unit_rate] = model.coordinate_units(joint, k);
                // As expressions of model files have it.
                let second = match rate.strip_suffix(".rate") {
                    Some(joint) => format!("{joint}.velocity"),
                    None => format!("{place}_velocity"),
                };
                all.by_name.insert(second, Quantity::Rate(i, k));
                all.add(place, unit, Quantity::Coordinate(i, k));
                all.add(rate, unit_rate, Quantity::Rate(i, k));
            }
            if is_charge(model, i) {
                continue;
            }
            all.vector(&format!("joint.{name}.force"), "N", |k| Quantity::Force(i, k));
            all.vector(&format!("joint.{name}.torque"), "N m", |k| Quantity::Torque(i, k));
        }
        for named in actuators(model) {
            for (part, word, unit) in named.parts(model) {
                let quantity = Quantity::Actuator(named.actuator, part);
                all.add(format!("{}.{word}", named.name), unit, quantity);
            }
        }
        for (i, input) in model.inputs.iter().enumerate() {
            all.add(format!("input.{}", input.name), "", Quantity::Input(i));
        }
        for (k, name) in ENERGIES.into_iter().enumerate() {
            all.add(format!("energy.{name}"), "J", Quantity::Energy(k));
        }
        for (i, block) in model.rows.iter().enumerate() {
            // Equations have the unit that their author gave them.
            let unit = if matches!(block.kind, gelenk_model::RowKind::Joint(_)) { "m" } else { "" };
            all.add(format!("gap.{}", block.name), unit, Quantity::Gap(i));
        }
        all
    }

    fn add(&mut self, name: String, unit: &'static str, quantity: Quantity) {
        // Of rows with one name (a joint and its stop) the first has it.
        if !self.by_name.contains_key(&name) {
            self.by_name.insert(name.clone(), quantity);
            self.names.push(name);
            self.units.push(unit);
        }
    }

    fn vector(&mut self, name: &str, unit: &'static str, make: impl Fn(usize) -> Quantity) {
        for (k, letter) in XYZ.into_iter().enumerate() {
            self.add(format!("{name}.{letter}"), unit, make(k));
        }
    }

    /// All quantities, in the order of their names.
    pub fn list(&self) -> Vec<Quantity> {
        self.names.iter().filter_map(|name| self.by_name.get(name).copied()).collect()
    }

    /// The quantity of a name.
    pub fn one(&self, model: &Model, name: &str) -> Option<Quantity> {
        self.by_name.get(name).copied().or_else(|| contact(model, name))
    }

    /// The quantity of a name, or the components of a vector.
    pub fn find(&self, model: &Model, name: &str) -> Option<Vec<Quantity>> {
        if let Some(quantity) = self.one(model, name) {
            return Some(vec![quantity]);
        }
        let parts = |letters: &[&str]| -> Option<Vec<Quantity>> {
            letters.iter().map(|letter| self.one(model, &format!("{name}.{letter}"))).collect()
        };
        parts(&WXYZ).or_else(|| parts(&XYZ))
    }
}

/// `contact.A.B.force.x`: the force on A from B. Names may have dots.
fn contact(model: &Model, name: &str) -> Option<Quantity> {
    let pair = name.strip_prefix("contact.")?;
    let (pair, letter) = pair.rsplit_once('.')?;
    let pair = pair.strip_suffix(".force")?;
    let axis = XYZ.iter().position(|known| *known == letter)?;
    pair.match_indices('.').find_map(|(dot, _)| {
        let bodies = [model.body(&pair[..dot])?, model.body(&pair[dot + 1..])?];
        Some(Quantity::Contact(bodies.map(gelenk_model::BodyId::index), axis))
    })
}

/// The name of today for a column of tables of before, which are still understood: `joint.J.coordinate.angle`, `joint.J.velocity.angle`,
/// `worst_gap.J`, `energy.integrator_error`.
pub fn name_today(model: &Model, name: &str) -> Option<String> {
    if name == "energy.integrator_error" {
        return Some("energy.error".to_owned());
    }
    if let Some(element) = name.strip_prefix("worst_gap.") {
        return Some(format!("gap.{element}"));
    }
    let (joint, which) = name.strip_prefix("joint.")?.rsplit_once('.')?;
    let (joint, what) = joint.rsplit_once('.')?;
    let i = model.joint(joint)?.index();
    let coordinates = model.joints[i].kind.equations().coordinates();
    let k = coordinates.iter().position(|coordinate| coordinate.name == which)?;
    let [place, rate] = coordinate_names(model, i).swap_remove(k);
    match what {
        "coordinate" => Some(place),
        "velocity" => Some(rate),
        _ => None,
    }
}

/// Names of a joint's coordinates and their rates.
pub fn coordinate_names(model: &Model, joint: usize) -> Vec<[String; 2]> {
    let name = &model.joints[joint].name;
    let list = model.joints[joint].kind.equations().coordinates();
    if is_charge(model, joint) {
        return vec![[format!("charge.{name}"), format!("current.{name}")]];
    }
    let names = list.iter().map(|coordinate| {
        let place = format!("joint.{name}.{}", coordinate.name);
        let rate = match list.len() {
            1 => format!("joint.{name}.rate"),
            _ => format!("{place}_rate"),
        };
        [place, rate]
    });
    names.collect()
}

/// Whether the coordinate of a joint is the charge of a circuit.
fn is_charge(model: &Model, joint: usize) -> bool {
    model.joints[joint].bodies.iter().any(|body| model.bodies[body.index()].is_charge)
}

/// Memory to read samples with.
#[derive(Debug)]
pub struct Reader {
    poses: Vec<Pose>,
    twists: Vec<Twist>,
    bench: Bench,
}

impl Reader {
    /// Memory for samples of `model`.
    pub fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        let bench = Bench::new(model);
        Reader { poses: vec![Pose::identity(); n], twists: vec![Twist::zero(); n], bench }
    }

    /// Reads quantities of a sample, in order.
    pub fn read(
        &mut self,
        model: &Model,
        sample: &Sample<'_>,
        wanted: &[Quantity],
        out: &mut Vec<f64>,
    ) {
        let state = sample.state;
        state.write_poses(&mut self.poses);
        state.write_twists(&mut self.twists);
        let (poses, twists) = (&self.poses, &self.twists);
        let at = Instant { t: state.t, poses, twists, coordinates: &state.coordinate };
        let id = |joint: usize| JointId(u32::try_from(joint).unwrap_or(u32::MAX));
        let bench = &mut self.bench;
        if wanted.iter().any(|quantity| matches!(quantity, Quantity::Actuator(..))) {
            bench.turn_to(model, sample, &at);
        }
        out.extend(wanted.iter().map(|quantity| {
            match *quantity {
                Quantity::Time => state.t,
                Quantity::Position(i, k) => model.bodies[i].frame_pose(&poses[i]).s[k],
                Quantity::Rotation(i, k) => {
                    let q = state.rot[i] * model.bodies[i].frame_rot;
                    [q.w, q.i, q.j, q.k][k]
                }
                Quantity::Velocity(i, k) => {
                    model.bodies[i].frame_twist(&poses[i], &twists[i]).s_dot[k]
                }
                Quantity::AngularVelocity(i, k) => twists[i].omega[k],
                Quantity::MarkerPosition(i, k) => model.markers[i].vector.value(&at)[k],
                Quantity::MarkerVelocity(i, k) => model.markers[i].vector.rate(&at)[k],
                Quantity::Coordinate(i, k) => model.joint_coordinate(id(i), k, &at),
                Quantity::Rate(i, k) => model.joint_velocity(id(i), k, &at),
                Quantity::Force(i, k) => sample.reactions[i].force[k],
                Quantity::Torque(i, k) => sample.reactions[i].torque[k],
                Quantity::Energy(k) => energies(&sample.ledger)[k],
                Quantity::Gap(i) => sample.worst_gaps[i],
                Quantity::Contact([a, b], k) => sample
                    .contacts
                    .iter()
                    .map(|contact| match contact.bodies.map(gelenk_model::BodyId::index) {
                        pair if pair == [a, b] => contact.force[k],
                        pair if pair == [b, a] => -contact.force[k],
                        _ => 0.0,
                    })
                    .sum(),
                Quantity::Actuator(actuator, part) => {
                    bench.value(model, sample, &at, actuator, part)
                }
                Quantity::Input(i) if sample.inputs.is_empty() => model.inputs[i].value,
                Quantity::Input(i) => sample.inputs.get(i).copied().unwrap_or(f64::NAN),
            }
        }));
    }
}

/// All joint coordinates, or all their rates.
pub fn coordinates(model: &Model, rates: bool) -> Vec<Quantity> {
    let joints = model.joints.iter().enumerate();
    let list = joints.flat_map(|(i, joint)| {
        let n = joint.kind.equations().coordinates().len();
        (0..n).map(move |k| if rates { Quantity::Rate(i, k) } else { Quantity::Coordinate(i, k) })
    });
    list.collect()
}

/// A formula over quantities, inputs (`input.NAME`), parameters (by their names) and time (`t`).
#[derive(Clone, Debug)]
pub struct Formula {
    tape: Tape,
    of: Vec<Quantity>,
    /// Inputs that come after the quantities, as places in [`Model::inputs`].
    inputs: Vec<usize>,
    /// Parameters that come after the inputs, by value.
    parameters: Vec<f64>,
}

/// Why a text is not a formula over the quantities of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// It is not an expression.
    #[error("`{text}`: {why}")]
    Syntax {
        /// The formula.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// A name that the model does not have.
    #[error("there is no quantity `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
}

impl Formula {
    /// Reads a formula over the quantities `all` of `model`.
    pub fn new(model: &Model, all: &Quantities, text: &str) -> Result<Self, FormulaError> {
        let syntax = |why: String| FormulaError::Syntax { text: text.to_owned(), why };
        let mut pool = Pool::new();
        let parsed = pool
            .parse_with_spans(text, &ParseOptions::default())
            .map_err(|error| syntax(error.message))?;
        let (mut of, mut inputs, mut parameters) = (Vec::new(), Vec::new(), Vec::new());
        let (mut places, mut held, mut known) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen: Vec<&str> = Vec::new();
        for (_, name) in &parsed.identifiers {
            if seen.contains(&name.as_str()) {
                continue;
            }
            seen.push(name);
            let symbol = pool.symbol(name);
            let quantity = match name.as_str() {
                "t" => Some(Quantity::Time),
                // The caller knows what they are.
                name if name.starts_with("input.") => None,
                name => all.one(model, name),
            };
            if let Some(quantity) = quantity {
                places.push(symbol);
                of.push(quantity);
            } else if let Some(i) = name.strip_prefix("input.").and_then(|n| model.input(n)) {
                held.push(symbol);
                inputs.push(i);
            } else if let Some(parameter) = model.parameters.iter().find(|p| p.name == *name) {
                known.push(symbol);
                parameters.push(parameter.value);
            } else {
                return Err(FormulaError::Unknown { name: name.clone() });
            }
        }
        places.extend(held);
        places.extend(known);
        let tape = Tape::compile(&pool, &[parsed.expr], &places)
            .map_err(|error| syntax(error.to_string()))?;
        Ok(Formula { tape, of, inputs, parameters })
    }

    /// Its value at a sample; `input` gives the value of an input by its place in the model.
    pub fn value(
        &self,
        model: &Model,
        reader: &mut Reader,
        sample: &Sample<'_>,
        input: impl Fn(usize) -> f64,
    ) -> f64 {
        let mut given = Vec::with_capacity(self.of.len() + self.inputs.len());
        reader.read(model, sample, &self.of, &mut given);
        given.extend(self.inputs.iter().map(|&i| input(i)));
        given.extend(&self.parameters);
        self.tape.values(&given).first().copied().unwrap_or(f64::NAN)
    }
}
