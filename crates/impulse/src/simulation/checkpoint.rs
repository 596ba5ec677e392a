//! All that a simulation needs to go on bit by bit, as a value that can be kept, sent and written down.

use gelenk_model::math::{Quat, Vec3};
use gelenk_model::run::{ContactForce, Ledger, Reaction};
use gelenk_model::state::{ContactMemory, State};
use gelenk_model::{BodyId, JointId};
use nalgebra::Quaternion;

use super::Simulation;
use crate::explain::Failure;
use crate::joints::check_lengths;
use crate::scratch::Scratch;
use crate::step::StepReport;

/// The first bytes of a checkpoint that is written down; the last one is the version.
const MARK: &[u8; 8] = b"gelenkc\x01";

/// A simulation at an instant: [`Simulation::restore`] goes on from it with the bits of one that was never stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The state.
    pub state: State,
    /// What the inputs are held at. (n_inputs)
    pub inputs: Vec<f64>,
    /// Time of step 0, s.
    pub t_start: f64,
    /// Asked steps done.
    pub steps: u64,
    /// The energy ledger.
    pub ledger: Ledger,
    /// Corrections, work and dissipation so far.
    pub totals: StepReport,
    /// Sum and largest of |integrator error| over the steps, and the measure of an explosion, J.
    pub energy: [f64; 3],
    /// Largest position error so far of each row block, m or rad.
    pub worst_gaps: Vec<f64>,
    /// Largest velocity error so far of each row block, m/s or rad/s.
    pub worst_velocity_errors: Vec<f64>,
    /// Deepest overlap so far, m.
    pub worst_penetration: Option<f64>,
    /// Force of every joint over the last step. (n_joints)
    pub reactions: Vec<Reaction>,
    /// Contacts there were in the last step.
    pub contacts: Vec<ContactForce>,
}

impl Simulation<'_> {
    /// The simulation at this instant; events that nobody has taken are not in it.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            state: self.state.clone(),
            inputs: self.scratch.work.held.clone(),
            t_start: self.t_start,
            steps: self.steps,
            ledger: self.ledger,
            totals: self.totals,
            energy: [self.energy_abs_sum, self.energy_abs_max, self.energy_scale],
            worst_gaps: self.worst_gaps.clone(),
            worst_velocity_errors: self.worst_velocity_errors.clone(),
            worst_penetration: self.contacts.worst,
            reactions: self.reactions.clone(),
            contacts: self.contacts.forces().to_vec(),
        }
    }

    /// Goes on from a checkpoint of the same model, with the step and method of this simulation.
    pub fn restore(&mut self, from: &Checkpoint) -> Result<(), Failure> {
        check_lengths(&self.model, &from.state)?;
        let lists = [
            (from.inputs.len(), self.model.inputs.len()),
            (from.worst_gaps.len(), self.model.rows.len()),
            (from.worst_velocity_errors.len(), self.model.rows.len()),
            (from.reactions.len(), self.model.joints.len()),
        ];
        let bodies = from.contacts.iter().flat_map(|contact| contact.bodies);
        if lists.iter().any(|(found, expected)| found != expected)
            || bodies.map(BodyId::index).any(|body| body >= self.model.n_bodies())
        {
            let reason =
                format!("the checkpoint is one of another model than `{}`", self.model.name);
            return Err(Failure { reason, element: None });
        }
        let stop = self.scratch.rows.stop.clone();
        self.scratch = Scratch::new(&self.model);
        self.scratch.rows.stop = stop;
        self.scratch.work.held.clone_from(&from.inputs);
        self.state.clone_from(&from.state);
        self.t_start = from.t_start;
        self.steps = from.steps;
        self.ledger = from.ledger;
        self.totals = from.totals;
        [self.energy_abs_sum, self.energy_abs_max, self.energy_scale] = from.energy;
        self.worst_gaps.clone_from(&from.worst_gaps);
        self.worst_velocity_errors.clone_from(&from.worst_velocity_errors);
        self.contacts.restore(&from.contacts, from.worst_penetration);
        self.reactions.clone_from(&from.reactions);
        self.events.clear();
        Ok(())
    }
}

impl Checkpoint {
    /// The checkpoint as bytes, the same on every machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(MARK.to_vec());
        let State { t, s, s_dot, rot, omega, impulse, coordinate, held, active, contacts } =
            &self.state;
        out.numbers(&[*t, self.t_start]);
        out.count(self.steps);
        for vectors in [s, s_dot, omega] {
            out.count(vectors.len() as u64);
            vectors.iter().for_each(|v| out.numbers(v.as_slice()));
        }
        out.count(rot.len() as u64);
        rot.iter().for_each(|q| out.numbers(&[q.w, q.i, q.j, q.k]));
        for list in [impulse, coordinate, held, &self.inputs] {
            out.list(list);
        }
        out.count(active.len() as u64);
        out.0.extend(active.iter().map(|&active| u8::from(active)));
        out.count(contacts.len() as u64);
        for memory in contacts {
            memory.key.iter().for_each(|&key| out.count(u64::from(key)));
            out.numbers(&memory.impulse);
            out.numbers(memory.slid.as_slice());
            out.0.push(u8::from(memory.sticks));
        }
        let Ledger { initial, kinetic, potential, work, dissipation, impact_loss } = self.ledger;
        out.numbers(&[initial, kinetic, potential, work, dissipation, impact_loss]);
        let totals = &self.totals;
        out.count(totals.corrections);
        out.count(totals.velocity_corrections);
        out.numbers(&[totals.work, totals.dissipation, totals.impact_loss]);
        out.numbers(&[totals.kick, totals.thrown]);
        out.numbers(&self.energy);
        out.list(&self.worst_gaps);
        out.list(&self.worst_velocity_errors);
        out.numbers(&[self.worst_penetration.unwrap_or(f64::NAN)]);
        out.count(self.reactions.len() as u64);
        for reaction in &self.reactions {
            out.count(reaction.joint.index() as u64);
            out.numbers(reaction.force.as_slice());
            out.numbers(reaction.torque.as_slice());
        }
        out.count(self.contacts.len() as u64);
        for contact in &self.contacts {
            contact.bodies.iter().for_each(|body| out.count(body.index() as u64));
            out.numbers(contact.point.as_slice());
            out.numbers(contact.normal.as_slice());
            out.numbers(contact.force.as_slice());
            out.numbers(&[contact.gap]);
        }
        out.0
    }

    /// Reads [`Checkpoint::to_bytes`] back; `None` if the bytes are none of a checkpoint.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Reader(bytes.strip_prefix(MARK)?);
        let [t, t_start] = bytes.numbers()?;
        let steps = bytes.count()?;
        let s = bytes.items(Reader::vector)?;
        let s_dot = bytes.items(Reader::vector)?;
        let omega = bytes.items(Reader::vector)?;
        let rot = bytes.items(|bytes| {
            let [w, i, j, k] = bytes.numbers()?;
            Some(Quat::new_unchecked(Quaternion::new(w, i, j, k)))
        })?;
        let [impulse, coordinate, held, inputs] =
            [bytes.list()?, bytes.list()?, bytes.list()?, bytes.list()?];
        let active = bytes.items(Reader::flag)?;
        let memories = bytes.items(|bytes| {
            let mut key = [0; 4];
            for key in &mut key {
                *key = u32::try_from(bytes.count()?).ok()?;
            }
            let (impulse, slid) = (bytes.numbers()?, bytes.vector()?);
            Some(ContactMemory { key, impulse, slid, sticks: bytes.flag()? })
        })?;
        let state = State {
            t,
            s,
            s_dot,
            rot,
            omega,
            impulse,
            coordinate,
            held,
            active,
            contacts: memories,
        };
        let [initial, kinetic, potential, work, dissipation, impact_loss] = bytes.numbers()?;
        let ledger = Ledger { initial, kinetic, potential, work, dissipation, impact_loss };
        let (corrections, velocity_corrections) = (bytes.count()?, bytes.count()?);
        let [work, dissipation, impact_loss, kick, thrown] = bytes.numbers()?;
        let totals = StepReport {
            corrections,
            velocity_corrections,
            work,
            dissipation,
            impact_loss,
            kick,
            thrown,
        };
        let energy = bytes.numbers()?;
        let (worst_gaps, worst_velocity_errors) = (bytes.list()?, bytes.list()?);
        let [worst] = bytes.numbers()?;
        let reactions = bytes.items(|bytes| {
            let joint = JointId(u32::try_from(bytes.count()?).ok()?);
            Some(Reaction { joint, force: bytes.vector()?, torque: bytes.vector()? })
        })?;
        let contacts = bytes.items(|bytes| {
            let mut body = || Some(BodyId(u32::try_from(bytes.count()?).ok()?));
            let bodies = [body()?, body()?];
            let (point, normal, force) = (bytes.vector()?, bytes.vector()?, bytes.vector()?);
            let [gap] = bytes.numbers()?;
            Some(ContactForce { bodies, point, normal, force, gap })
        })?;
        let whole = Checkpoint {
            state,
            inputs,
            t_start,
            steps,
            ledger,
            totals,
            energy,
            worst_gaps,
            worst_velocity_errors,
            worst_penetration: (!worst.is_nan()).then_some(worst),
            reactions,
            contacts,
        };
        bytes.0.is_empty().then_some(whole)
    }
}

/// Little-endian numbers, one after the other.
struct Writer(Vec<u8>);

impl Writer {
    fn count(&mut self, n: u64) {
        self.0.extend(n.to_le_bytes());
    }

    fn numbers(&mut self, values: &[f64]) {
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
    }

    fn list(&mut self, values: &[f64]) {
        self.count(values.len() as u64);
        self.numbers(values);
    }
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn count(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn flag(&mut self) -> Option<bool> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte != 0)
    }

    fn number(&mut self) -> Option<f64> {
        self.count().map(f64::from_bits)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[f64; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.number()?;
        }
        Some(values)
    }

    fn vector(&mut self) -> Option<Vec3> {
        self.numbers::<3>().map(Vec3::from)
    }

    fn list(&mut self) -> Option<Vec<f64>> {
        self.items(Reader::number)
    }

    /// A list with its length before it; an item has one byte at least, so that a wrong length asks for no memory.
    fn items<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = usize::try_from(self.count()?).ok().filter(|&n| n <= self.0.len())?;
        let mut list = Vec::with_capacity(n.min(1 << 16));
        for _ in 0..n {
            list.push(one(self)?);
        }
        Some(list)
    }
}
