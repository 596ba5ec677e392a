//! The protobuf message `gelenk.State`: one sample of a run.
//!
//! ```text
//! syntax = "proto3";
//! package gelenk;
//!
//! message State {
//!   double time = 1;                       // s
//!   uint64 step = 2;                       // steps done
//!   repeated double position = 3;          // centres of mass, world, m: x y z a body
//!   repeated double velocity = 4;          // of the centres of mass, m/s: x y z a body
//!   repeated double rotation = 5;          // principal frame to world: w x y z a body
//!   repeated double angular_velocity = 6;  // world, rad/s: x y z a body
//!   repeated double coordinate = 7;        // joint coordinates with full turns, rad or m
//!   repeated double impulse = 8;           // of the last step, N s or N m s: one a row
//!   repeated double force = 9;             // of joints on their second body, world, N: x y z a joint
//!   repeated double torque = 10;           // about the joint's point, world, N m: x y z a joint
//!   repeated double worst_gap = 11;        // largest so far, m or rad: one a row block
//!   Ledger ledger = 12;
//!   repeated double held = 13;             // where dry friction holds, rad or m: one a friction row
//!   repeated double open = 14;             // joints that are broken or removed, by index
//!   repeated double contact = 15;          // bodies a and b by index, point, normal from b to a, force on a (world, m and N),
//!                                          // gap, m: 12 numbers a contact; left out where there is none
//!   repeated double input = 16;            // what the model's inputs are held at; left out where it has none
//! }
//!
//! message Ledger {                         // J
//!   double initial = 1;
//!   double kinetic = 2;
//!   double potential = 3;
//!   double work = 4;
//!   double dissipation = 5;
//!   double impact_loss = 6;
//!   double integrator_error = 7;           // follows from the others; for plots
//! }
//! ```
//! Bodies, joints, coordinates and row blocks come in the order of the header's lists; body 0 is the world. Every
//! field is written, also where it is zero, so that equal samples have equal bytes.

use gelenk_model::math::{Quat, Vec3};
use gelenk_model::{BodyId, ContactForce, JointId, Ledger, Reaction, Sample, State};
use nalgebra::Quaternion;

use super::wire::{Decoder, Encoder, Value, doubles};

/// Full name of the message.
pub(crate) const MESSAGE_NAME: &str = "gelenk.State";

/// A sample read from a recording: the same bits as the run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSample {
    /// Steps done.
    pub step: u64,
    /// The state.
    pub state: State,
    /// Force of every joint. (n_joints)
    pub reactions: Vec<Reaction>,
    /// The energy ledger.
    pub ledger: Ledger,
    /// Largest error so far of each row block, m or rad. (n blocks)
    pub worst_gaps: Vec<f64>,
    /// Contacts there were in the last step.
    pub contacts: Vec<ContactForce>,
    /// What the model's inputs are held at; empty: at the model's own values. (n inputs, or none)
    pub inputs: Vec<f64>,
}

impl RecordedSample {
    /// A copy of what an observer sees.
    pub fn new(sample: &Sample<'_>) -> Self {
        RecordedSample {
            step: sample.step,
            state: sample.state.clone(),
            reactions: sample.reactions.to_vec(),
            ledger: sample.ledger,
            worst_gaps: sample.worst_gaps.to_vec(),
            contacts: sample.contacts.to_vec(),
            inputs: sample.inputs.to_vec(),
        }
    }

    /// The sample as observers see it.
    pub fn as_sample(&self) -> Sample<'_> {
        Sample {
            step: self.step,
            state: &self.state,
            reactions: &self.reactions,
            ledger: self.ledger,
            worst_gaps: &self.worst_gaps,
            contacts: &self.contacts,
            inputs: &self.inputs,
        }
    }
}

/// How long the lists of a sample are; from the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) bodies: usize,
    pub(crate) coordinates: usize,
    pub(crate) rows: usize,
    pub(crate) joints: usize,
    pub(crate) blocks: usize,
}

/// What the fields are, by number from 1.
pub(crate) const FIELD_NAMES: [&str; 16] = [
    "time",
    "step",
    "position",
    "velocity",
    "rotation",
    "angular_velocity",
    "coordinate",
    "impulse",
    "force",
    "torque",
    "worst_gap",
    "ledger",
    "held",
    "open",
    "contact",
    "input",
];

const LEDGER_NAMES: [&str; 7] =
    ["initial", "kinetic", "potential", "work", "dissipation", "impact_loss", "integrator_error"];

/// The message of a sample.
pub(crate) fn encode(sample: &Sample<'_>) -> Vec<u8> {
    let State { t, s, s_dot, rot, omega, impulse, coordinate, held, active, contacts: _ } =
        sample.state;
    let reactions = sample.reactions;
    let doubles = 13 * s.len() + impulse.len() + coordinate.len() + 6 * reactions.len();
    let mut out =
        Encoder { bytes: Vec::with_capacity(8 * (doubles + sample.worst_gaps.len()) + 200) };
    out.double(1, *t);
    out.uint(2, sample.step);
    vectors(&mut out, 3, s);
    vectors(&mut out, 4, s_dot);
    out.packed(5, 4 * rot.len(), rot.iter().flat_map(|q| [q.w, q.i, q.j, q.k]));
    vectors(&mut out, 6, omega);
    out.packed(7, coordinate.len(), coordinate.iter().copied());
    out.packed(8, impulse.len(), impulse.iter().copied());
    out.packed(
        9,
        3 * reactions.len(),
        reactions.iter().flat_map(|r| [r.force.x, r.force.y, r.force.z]),
    );
    out.packed(
        10,
        3 * reactions.len(),
        reactions.iter().flat_map(|r| [r.torque.x, r.torque.y, r.torque.z]),
    );
    out.packed(11, sample.worst_gaps.len(), sample.worst_gaps.iter().copied());
    out.field(12, &encode_ledger(&sample.ledger));
    out.packed(13, held.len(), held.iter().copied());
    let open = || active.iter().enumerate().filter(|(_, active)| !**active);
    out.packed(14, open().count(), open().map(|(i, _)| i as f64));
    if !sample.contacts.is_empty() {
        let numbers = sample.contacts.iter().flat_map(contact_numbers);
        out.packed(15, CONTACT_NUMBERS * sample.contacts.len(), numbers);
    }
    if !sample.inputs.is_empty() {
        out.packed(16, sample.inputs.len(), sample.inputs.iter().copied());
    }
    out.bytes
}

/// Numbers of a contact.
const CONTACT_NUMBERS: usize = 12;

fn contact_numbers(contact: &ContactForce) -> [f64; CONTACT_NUMBERS] {
    let ContactForce { bodies: [a, b], point, normal, force, gap } = contact;
    let [a, b] = [a, b].map(|id| f64::from(id.0));
    let [p, n, f] = [point, normal, force];
    [a, b, p.x, p.y, p.z, n.x, n.y, n.z, f.x, f.y, f.z, *gap]
}

fn to_contacts(list: &[f64], bodies: usize) -> Option<Vec<ContactForce>> {
    let (groups, rest) = list.as_chunks::<CONTACT_NUMBERS>();
    let body = |index: f64| {
        let id = (0..bodies).find(|i| (*i as f64).total_cmp(&index).is_eq())?;
        u32::try_from(id).ok().map(BodyId)
    };
    let contact = |x: &[f64; CONTACT_NUMBERS]| {
        let vector = |k: usize| Vec3::new(x[k], x[k + 1], x[k + 2]);
        let bodies = [body(x[0])?, body(x[1])?];
        let (point, normal, force) = (vector(2), vector(5), vector(8));
        Some(ContactForce { bodies, point, normal, force, gap: x[11] })
    };
    rest.is_empty().then(|| groups.iter().map(contact).collect())?
}

fn vectors(out: &mut Encoder, field: u32, vectors: &[Vec3]) {
    out.packed(field, 3 * vectors.len(), vectors.iter().flat_map(|v| [v.x, v.y, v.z]));
}

fn encode_ledger(ledger: &Ledger) -> Vec<u8> {
    let Ledger { initial, kinetic, potential, work, dissipation, impact_loss } = *ledger;
    let error = ledger.integrator_error();
    let mut out = Encoder::default();
    for (field, value) in
        (1..).zip([initial, kinetic, potential, work, dissipation, impact_loss, error])
    {
        out.double(field, value);
    }
    out.bytes
}

/// The sample of a message; `None` where it is not one of a run with these lengths.
pub(crate) fn decode(bytes: &[u8], lengths: Lengths) -> Option<RecordedSample> {
    let mut time = None;
    let mut step = None;
    let mut lists: [Option<Vec<f64>>; 9] = Default::default();
    let mut ledger = None;
    // Recordings of before had none of these.
    let (mut held, mut open, mut contacts) = (Vec::new(), Vec::new(), Vec::new());
    let mut inputs = Vec::new();
    for field in Decoder::new(bytes) {
        match field? {
            (1, Value::Double(value)) => time = Some(value),
            (2, Value::Varint(value)) => step = Some(value),
            (field @ 3..=11, Value::Bytes(bytes)) => {
                *lists.get_mut(field as usize - 3)? = Some(doubles(bytes)?);
            }
            (12, Value::Bytes(bytes)) => ledger = Some(decode_ledger(bytes)?),
            (13, Value::Bytes(bytes)) => held = doubles(bytes)?,
            (14, Value::Bytes(bytes)) => open = doubles(bytes)?,
            (15, Value::Bytes(bytes)) => contacts = doubles(bytes)?,
            (16, Value::Bytes(bytes)) => inputs = doubles(bytes)?,
            // A later version of the format may add fields.
            (17.., _) => {}
            _ => return None,
        }
    }
    let Lengths { bodies, coordinates, rows, joints, blocks } = lengths;
    let [s, s_dot, rot, omega, coordinate, impulse, force, torque, worst_gaps] = lists;
    let (force, torque) = (to_vectors(&force?, joints)?, to_vectors(&torque?, joints)?);
    let reactions = (0u32..)
        .zip(force.into_iter().zip(torque))
        .map(|(i, (force, torque))| Reaction { joint: JointId(i), force, torque })
        .collect();
    let mut active = vec![true; joints];
    for index in open {
        // A number that is no index is no sample of ours.
        let i = (0..joints).find(|i| (*i as f64).total_cmp(&index).is_eq())?;
        active[i] = false;
    }
    Some(RecordedSample {
        step: step?,
        state: State {
            t: time?,
            s: to_vectors(&s?, bodies)?,
            s_dot: to_vectors(&s_dot?, bodies)?,
            rot: to_rotations(&rot?, bodies)?,
            omega: to_vectors(&omega?, bodies)?,
            impulse: impulse.filter(|list| list.len() == rows)?,
            coordinate: coordinate.filter(|list| list.len() == coordinates)?,
            held,
            active,
            contacts: Vec::new(),
        },
        reactions,
        ledger: ledger?,
        worst_gaps: worst_gaps.filter(|list| list.len() == blocks)?,
        contacts: to_contacts(&contacts, bodies)?,
        inputs,
    })
}

fn to_vectors(list: &[f64], n: usize) -> Option<Vec<Vec3>> {
    let (triples, rest) = list.as_chunks::<3>();
    (rest.is_empty() && triples.len() == n)
        .then(|| triples.iter().map(|&[x, y, z]| Vec3::new(x, y, z)).collect())
}

fn to_rotations(list: &[f64], n: usize) -> Option<Vec<Quat>> {
    let (quads, rest) = list.as_chunks::<4>();
    // Not normalized: the bits are those of the run.
    let rotation = |&[w, x, y, z]: &[f64; 4]| Quat::new_unchecked(Quaternion::new(w, x, y, z));
    (rest.is_empty() && quads.len() == n).then(|| quads.iter().map(rotation).collect())
}

fn decode_ledger(bytes: &[u8]) -> Option<Ledger> {
    let mut values = [None; 7];
    for field in Decoder::new(bytes) {
        if let (field @ 1..=7, Value::Double(value)) = field? {
            *values.get_mut(field as usize - 1)? = Some(value);
        }
    }
    let [initial, kinetic, potential, work, dissipation, impact_loss, _] = values;
    Some(Ledger {
        initial: initial?,
        kinetic: kinetic?,
        potential: potential?,
        work: work?,
        dissipation: dissipation?,
        impact_loss: impact_loss?,
    })
}

/// The message's description as a `google.protobuf.FileDescriptorSet`, which MCAP readers ask for.
///
/// Numbers of the fields below are those of `google/protobuf/descriptor.proto`.
pub(crate) fn file_descriptor_set() -> Vec<u8> {
    const TYPE_DOUBLE: u64 = 1;
    const TYPE_UINT64: u64 = 4;
    const TYPE_MESSAGE: u64 = 11;
    const OPTIONAL: u64 = 1;
    const REPEATED: u64 = 3;
    let field = |number: u64, name: &str, label: u64, kind: u64| {
        let mut out = Encoder::default(); // FieldDescriptorProto
        out.field(1, name.as_bytes());
        out.uint(3, number);
        out.uint(4, label);
        out.uint(5, kind);
        if kind == TYPE_MESSAGE {
            out.field(6, b".gelenk.Ledger");
        }
        out.bytes
    };
    let message = |name: &str, fields: &[Vec<u8>]| {
        let mut out = Encoder::default(); // DescriptorProto
        out.field(1, name.as_bytes());
        for field in fields {
            out.field(2, field);
        }
        out.bytes
    };
    let state: Vec<_> = (1..)
        .zip(FIELD_NAMES)
        .map(|(number, name)| match number {
            1 => field(number, name, OPTIONAL, TYPE_DOUBLE),
            2 => field(number, name, OPTIONAL, TYPE_UINT64),
            12 => field(number, name, OPTIONAL, TYPE_MESSAGE),
            _ => field(number, name, REPEATED, TYPE_DOUBLE),
        })
        .collect();
    let ledger: Vec<_> = (1..)
        .zip(LEDGER_NAMES)
        .map(|(number, name)| field(number, name, OPTIONAL, TYPE_DOUBLE))
        .collect();
    let mut file = Encoder::default(); // FileDescriptorProto
    file.field(1, b"gelenk.proto");
    file.field(2, b"gelenk");
    file.field(4, &message("State", &state));
    file.field(4, &message("Ledger", &ledger));
    file.field(12, b"proto3");
    let mut set = Encoder::default(); // FileDescriptorSet
    set.field(1, &file.bytes);
    set.bytes
}
