//! How a model changes with its parameters: every number that depends on them with its exact derivatives.
//!
//! The numbers of a [`Model`] are the expressions of its [`Description`](crate::description::Description) at the parameters' values. Here they are evaluated once more, over dual
//! numbers: mass properties (those from shapes too), places of joints and forces on their bodies, constants of laws, conditions and signals, start values. Nothing is approximated.
//!
//! A joint or force that sits elsewhere on its body is the same as one that sits where it did on a body that is displaced ([`displaced`]); so the equations of joints and laws need not be
//! written again. Body axes turn with the file frame as they do in the model: where a parameter turns the principal axes, products of inertia come in instead.

mod geometry;
mod laws;
mod numbers;

use gelenk_expr::{Dual, LANES, Tape};
use nalgebra::{Matrix3, Vector3};

use crate::body::BodyId;
use crate::equation::Equation;
use crate::force::ForceKind;
use crate::load::Loaded;
use crate::math::Real;
use crate::model::Model;
use crate::rows::{Instant, RowKind};
use crate::signal::{BodyVector, StateRef, Work};
use crate::state::{Pose, Twist};
use numbers::Numbers;

/// The numbers of a model with their derivatives by up to [`LANES`] parameters.
#[derive(Clone, Debug)]
pub struct Variation {
    /// Number of parameters: lanes of the dual numbers that are used.
    pub lanes: usize,
    /// Gravity, m/s².
    pub gravity: Vector3<Dual>,
    /// Mass properties. (n_bodies)
    pub bodies: Vec<VariedBody>,
    /// Joints. (n_joints)
    pub joints: Vec<VariedJoint>,
    /// Force laws. (n_forces)
    pub forces: Vec<VariedForce>,
    /// What blocks of rows have beside their joints. (n blocks)
    pub rows: Vec<VariedRow>,
    /// Signals.
    pub signals: VariedSignals,
    /// Poses at the start. (n_bodies)
    pub poses: Vec<Pose<Dual>>,
    /// Twists at the start. (n_bodies)
    pub twists: Vec<Twist<Dual>>,
}

/// Mass properties of a body in its principal frame, whose axes stay where they are in the file frame.
#[derive(Clone, Copy, Debug)]
pub struct VariedBody {
    /// 1/m; 0 if fixed.
    pub mass_inv: Dual,
    /// J about the centre of mass.
    pub inertia: Matrix3<Dual>,
    /// J⁻¹, zero where the body's own is.
    pub inertia_inv: Matrix3<Dual>,
    /// Origin of the file frame, m.
    pub origin: Vector3<Dual>,
}

/// How far something fixed to a body moves on it: p → p + by + turn × p, body axes. The values are zero, the derivatives count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// m.
    pub by: Vector3<Dual>,
    /// rad.
    pub turn: Vector3<Dual>,
}

/// What changes of a joint.
#[derive(Clone, Debug)]
pub struct VariedJoint {
    /// Where it sits on a and b.
    pub shifts: Vec<(BodyId, Shift)>,
    /// The length of a rod or rope, m.
    pub length: Option<Dual>,
    /// The pitch of a screw, m.
    pub pitch: Option<Dual>,
}

/// What changes of a force law.
#[derive(Clone, Debug)]
pub struct VariedForce {
    /// The law; constants that change are signals.
    pub kind: ForceKind,
    /// Where it acts on its bodies.
    pub shifts: Vec<(BodyId, Shift)>,
}

/// What changes of a block of rows.
#[derive(Clone, Debug)]
pub enum VariedRow {
    /// Nothing but its joint.
    Joint,
    /// A condition on joint coordinates.
    Tie {
        /// Ratios. (terms)
        ratios: Vec<Dual>,
        /// f and its time derivatives.
        target: VariedFunction,
    },
    /// An equation; parameters are coordinates of points of the world.
    Equation(Box<Equation<Dual>>),
    /// The place of an end stop, rad or m.
    Stop(Dual),
    /// The largest force of dry friction, N m or N.
    Friction(Dual),
}

/// A function of time with its derivatives by time.
#[derive(Clone, Debug)]
pub enum VariedFunction {
    /// f(t) = c.
    Constant(Dual),
    /// Tape with inputs t and parameters, and outputs f, ḟ, f̈.
    Tape(Tape, Vec<Dual>),
}

/// All signals.
#[derive(Clone, Debug)]
pub struct VariedSignals {
    /// What the tapes read first. (inputs of the model's signals)
    pub inputs: Vec<VariedInput>,
    /// What they read then: parameters.
    pub parameters: Vec<Dual>,
    /// Evaluates the signals; `None` when there are none.
    pub tape: Option<Tape>,
    /// Evaluates their switching functions.
    pub kinks: Option<Tape>,
    /// Constants of force laws: signals after those of the tape.
    pub constants: Vec<Dual>,
}

/// What a signal reads.
#[derive(Clone, Copy, Debug)]
pub enum VariedInput {
    /// A number that does not change on its body.
    State(StateRef),
    /// Component of a body-fixed point.
    Position(BodyVector<Dual>, usize),
    /// Component of its velocity.
    Velocity(BodyVector<Dual>, usize),
}

impl Shift {
    /// Whether it changes with no parameter.
    pub fn is_none(&self) -> bool {
        self.by.iter().chain(&self.turn).all(still)
    }
}

impl VariedFunction {
    /// f, ḟ, f̈ at time t.
    pub fn value(&self, t: Dual) -> [Dual; 3] {
        match self {
            VariedFunction::Constant(c) => [*c, Dual::default(), Dual::default()],
            VariedFunction::Tape(tape, parameters) => {
                let inputs: Vec<Dual> = [t].into_iter().chain(parameters.iter().copied()).collect();
                let mut out = [Dual::default(); 3];
                let mut registers = vec![Dual::default(); tape.n_registers()];
                tape.eval_dual(&inputs, &mut registers, &mut out);
                out
            }
        }
    }
}

impl Variation {
    /// How a model changes with some of its parameters, at most [`LANES`]; the reason where one enters what has no derivative here.
    pub fn new(loaded: &Loaded, parameters: &[&str]) -> Result<Self, String> {
        let (model, description) = (&loaded.model, &loaded.description);
        if parameters.len() > LANES {
            return Err(format!("at most {LANES} parameters at once"));
        }
        let mut numbers = Numbers::new(model, parameters)?;
        let gravity = numbers.vector(&description.gravity)?;
        let drawn = geometry::drawn(model, description, &mut numbers)?;
        let joints = geometry::joints(model, description, &drawn, &mut numbers)?;
        let (poses, twists) = geometry::start(model, description, &drawn, &joints, &mut numbers)?;
        let coordinates = geometry::coordinates(model, &drawn, &joints);
        let (forces, constants) =
            laws::forces(model, description, &drawn, &joints, &coordinates, &mut numbers)?;
        let signals = laws::signals(model, description, &drawn, constants, &mut numbers)?;
        let rows = laws::rows(model, description, &drawn, &coordinates, &mut numbers)?;
        let bodies = drawn.bodies;
        let lanes = parameters.len();
        Ok(Variation { lanes, gravity, bodies, joints, forces, rows, signals, poses, twists })
    }

    /// Scratch memory for its tapes.
    pub fn work(&self, model: &Model) -> Work<Dual> {
        let mut work: Work<Dual> = model.work_over();
        let mut registers = work.registers.len();
        let mut inputs =
            work.inputs.len().max(self.signals.inputs.len() + self.signals.parameters.len());
        for tape in [&self.signals.tape, &self.signals.kinks].into_iter().flatten() {
            registers = registers.max(tape.n_registers());
        }
        for row in &self.rows {
            if let VariedRow::Equation(equation) = row {
                for tape in [&equation.value, &equation.gradient, &equation.curvature] {
                    registers = registers.max(tape.n_registers());
                }
                inputs = inputs.max(2 * equation.coordinates.len() + 1);
            }
        }
        work.registers.resize(registers, Dual::default());
        work.inputs.resize(inputs, Dual::default());
        work.outputs.resize(inputs, Dual::default());
        work
    }

    /// The value of a number of the state; poses and twists are lent and given back as they were.
    pub fn state(
        &self,
        model: &Model,
        state: &VariedInput,
        t: Dual,
        poses: &mut [Pose<Dual>],
        twists: &mut [Twist<Dual>],
        coordinates: &[f64],
    ) -> Dual {
        fn at<'a>(
            t: Dual,
            poses: &'a [Pose<Dual>],
            twists: &'a [Twist<Dual>],
            coordinates: &'a [f64],
        ) -> Instant<'a, Dual> {
            Instant { t, poses, twists, coordinates }
        }
        let near = coordinates;
        match state {
            VariedInput::Position(vector, axis) => vector.value(&at(t, poses, twists, near))[*axis],
            VariedInput::Velocity(vector, axis) => vector.rate(&at(t, poses, twists, near))[*axis],
            VariedInput::State(StateRef::Coordinate(joint, which)) => {
                let shifts = &self.joints[joint.index()].shifts;
                displaced(poses, twists, shifts, |poses, twists| {
                    model.joint_coordinate(*joint, *which, &at(t, poses, twists, near))
                })
            }
            VariedInput::State(StateRef::CoordinateRate(joint, which)) => {
                let shifts = &self.joints[joint.index()].shifts;
                displaced(poses, twists, shifts, |poses, twists| {
                    model.joint_velocity(*joint, *which, &at(t, poses, twists, near))
                })
            }
            VariedInput::State(other) => other.value(model, &at(t, poses, twists, near)),
        }
    }

    /// What a number of the state that belongs to bodies' file frames reads.
    pub fn input(&self, model: &Model, state: StateRef) -> VariedInput {
        let origin = |vector: &BodyVector| {
            let body = &model.bodies[vector.body.index()];
            (vector.is_point && vector.local == body.frame_origin).then(|| BodyVector {
                body: vector.body,
                local: self.bodies[vector.body.index()].origin,
                is_point: true,
            })
        };
        match state {
            StateRef::Position(vector, axis) => match origin(&vector) {
                Some(vector) => VariedInput::Position(vector, axis),
                None => VariedInput::State(state),
            },
            StateRef::Velocity(vector, axis) => match origin(&vector) {
                Some(vector) => VariedInput::Velocity(vector, axis),
                None => VariedInput::State(state),
            },
            _ => VariedInput::State(state),
        }
    }

    /// Whether block `i` of rows changes with a parameter.
    pub fn changes(&self, model: &Model, i: usize) -> bool {
        let joint = |id: crate::joint::JointId| {
            let joint = &self.joints[id.index()];
            !joint.shifts.is_empty() || joint.length.is_some() || joint.pitch.is_some()
        };
        match (&model.rows[i].kind, &self.rows[i]) {
            (_, VariedRow::Equation(_) | VariedRow::Tie { .. }) => true,
            (RowKind::Joint(id), _) => joint(*id),
            (RowKind::Stop(stop), VariedRow::Stop(at)) => joint(stop.joint) || !still(at),
            (RowKind::Friction(friction), _) => joint(friction.joint),
            _ => false,
        }
    }
}

/// Calls `f` with the poses and twists of bodies displaced: what sits at p on a body then sits where it does at p + `by` + `turn` × p on the body as it is.
pub fn displaced<R>(
    poses: &mut [Pose<Dual>],
    twists: &mut [Twist<Dual>],
    shifts: &[(BodyId, Shift)],
    f: impl FnOnce(&[Pose<Dual>], &[Twist<Dual>]) -> R,
) -> R {
    let mut kept: [Option<(usize, Pose<Dual>, Twist<Dual>)>; 2] = [None, None];
    for (slot, (body, shift)) in kept.iter_mut().zip(shifts) {
        let i = body.index();
        *slot = Some((i, poses[i], twists[i]));
        let lever = poses[i].rot * shift.by;
        poses[i].s += lever;
        poses[i].rot *= Matrix3::identity() + cross(&shift.turn);
        twists[i].s_dot += twists[i].omega.cross(&lever);
    }
    let result = f(poses, twists);
    for (i, pose, twist) in kept.into_iter().flatten() {
        (poses[i], twists[i]) = (pose, twist);
    }
    result
}

/// r×.
fn cross<T: Real>(r: &Vector3<T>) -> Matrix3<T> {
    let o = T::zero();
    Matrix3::new(o, -r.z, r.y, r.z, o, -r.x, -r.y, r.x, o)
}

/// Whether a number changes with no parameter.
fn still(x: &Dual) -> bool {
    x.d.iter().all(|d| *d == 0.0)
}
