//! Quantities by name: one name for one thing, the same in every result.

use std::collections::HashMap;

use gelenk::model::joint::JointId;
use gelenk::model::{BodyKind, Instant, Model, Pose, Sample, Twist};

/// A number of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantity {
    Time,
    /// Of the file frame of a body, or of a point.
    Position(usize, usize),
    Rotation(usize, usize),
    Velocity(usize, usize),
    AngularVelocity(usize, usize),
    MarkerPosition(usize, usize),
    MarkerVelocity(usize, usize),
    Coordinate(usize, usize),
    Rate(usize, usize),
    Force(usize, usize),
    Torque(usize, usize),
    Energy(usize),
    Gap(usize),
    /// Sum of the contact forces on the first body from the second.
    Contact([usize; 2], usize),
}

const XYZ: [&str; 3] = ["x", "y", "z"];
const WXYZ: [&str; 4] = ["w", "x", "y", "z"];

/// The energies by name, in the order of [`energies`].
pub(crate) const ENERGIES: [&str; 8] =
    ["initial", "kinetic", "potential", "total", "work", "dissipation", "impact_loss", "error"];

/// The energies of a ledger, J.
pub(crate) fn energies(ledger: &gelenk::model::Ledger) -> [f64; 8] {
    let (total, error) = (ledger.total(), ledger.integrator_error());
    let parts = [ledger.initial, ledger.kinetic, ledger.potential, total, ledger.work];
    let [initial, kinetic, potential, total, work] = parts;
    [initial, kinetic, potential, total, work, ledger.dissipation, ledger.impact_loss, error]
}

/// The quantities of a model.
#[derive(Debug)]
pub(crate) struct Quantities {
    /// Names in order, without second names.
    pub names: Vec<String>,
    /// Units, in the same order.
    pub units: Vec<&'static str>,
    by_name: HashMap<String, Quantity>,
}

impl Quantities {
    pub(crate) fn new(model: &Model) -> Self {
        let mut all = Quantities { names: Vec::new(), units: Vec::new(), by_name: HashMap::new() };
        all.add("time".to_owned(), "s", Quantity::Time);
        for (i, body) in model.bodies.iter().enumerate() {
            let what = match body.kind {
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
                let [unit, unit_rate] = coordinate_units(model, i, k);
                // As expressions of model files have it.
                let second = match rate.strip_suffix(".rate") {
                    Some(joint) => format!("{joint}.velocity"),
                    None => format!("{place}_velocity"),
                };
                all.by_name.insert(second, Quantity::Rate(i, k));
                all.add(place, unit, Quantity::Coordinate(i, k));
                all.add(rate, unit_rate, Quantity::Rate(i, k));
            }
            all.vector(&format!("joint.{name}.force"), "N", |k| Quantity::Force(i, k));
            all.vector(&format!("joint.{name}.torque"), "N m", |k| Quantity::Torque(i, k));
        }
        for (k, name) in ENERGIES.into_iter().enumerate() {
            all.add(format!("energy.{name}"), "J", Quantity::Energy(k));
        }
        for (i, block) in model.rows.iter().enumerate() {
            all.add(format!("gap.{}", block.name), "", Quantity::Gap(i));
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

    /// The quantity of a name.
    pub(crate) fn one(&self, model: &Model, name: &str) -> Option<Quantity> {
        self.by_name.get(name).copied().or_else(|| contact(model, name))
    }

    /// The quantity of a name, or the components of a vector.
    pub(crate) fn find(&self, model: &Model, name: &str) -> Option<Vec<Quantity>> {
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
        Some(Quantity::Contact(bodies.map(gelenk::model::BodyId::index), axis))
    })
}

/// Names of a joint's coordinates and their rates.
pub(crate) fn coordinate_names(model: &Model, joint: usize) -> Vec<[String; 2]> {
    let name = &model.joints[joint].name;
    let list = model.joints[joint].kind.equations().coordinates();
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

fn coordinate_units(model: &Model, joint: usize, which: usize) -> [&'static str; 2] {
    use gelenk::model::joint::CoordinateKind;
    match model.joints[joint].kind.equations().coordinates()[which].kind {
        CoordinateKind::Angle => ["rad", "rad/s"],
        CoordinateKind::Length => ["m", "m/s"],
    }
}

/// Memory to read samples with.
#[derive(Debug)]
pub(crate) struct Reader {
    poses: Vec<Pose>,
    twists: Vec<Twist>,
}

impl Reader {
    pub(crate) fn new(model: &Model) -> Self {
        let n = model.n_bodies();
        Reader { poses: vec![Pose::identity(); n], twists: vec![Twist::zero(); n] }
    }

    /// Reads quantities of a sample, in order.
    pub(crate) fn read(
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
                    .map(|contact| match contact.bodies.map(gelenk::model::BodyId::index) {
                        pair if pair == [a, b] => contact.force[k],
                        pair if pair == [b, a] => -contact.force[k],
                        _ => 0.0,
                    })
                    .sum(),
            }
        }));
    }
}

/// All joint coordinates, or all their rates.
pub(crate) fn coordinates(model: &Model, rates: bool) -> Vec<Quantity> {
    let joints = model.joints.iter().enumerate();
    let list = joints.flat_map(|(i, joint)| {
        let n = joint.kind.equations().coordinates().len();
        (0..n).map(move |k| if rates { Quantity::Rate(i, k) } else { Quantity::Coordinate(i, k) })
    });
    list.collect()
}
