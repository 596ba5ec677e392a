//! Signals: expressions over time and state, evaluated together once an instant.

use gelenk_expr::{Dual, Tape};
use nalgebra::Vector3;

use crate::body::BodyId;
use crate::joint::JointId;
use crate::math::Real;
use crate::model::Model;
use crate::rows::Instant;

/// A number of the state that expressions may name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StateRef {
    /// `t`, s.
    Time,
    /// Component `axis` of a body-fixed point or direction.
    Position(BodyVector, usize),
    /// Component `axis` of its velocity.
    Velocity(BodyVector, usize),
    /// `body.B.angular_velocity.x`, world frame, rad/s.
    AngularVelocity(BodyId, usize),
    /// `joint.J.angle`, coordinate `which` of a joint, unwrapped.
    Coordinate(JointId, usize),
    /// `joint.J.velocity`, its rate.
    CoordinateRate(JointId, usize),
    /// `input.NAME`, a number set from outside: [`Model::inputs`].
    Input(usize),
}

/// A body-fixed point s + R c, or direction R c, by its place in the principal frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyVector<C: Real = f64> {
    /// The body.
    pub body: BodyId,
    /// c, in the body's principal frame.
    pub local: Vector3<C>,
    /// True for a point, false for a direction.
    pub is_point: bool,
}

impl<C: Real> BodyVector<C> {
    /// R c, the lever from the centre of mass, world axes.
    pub fn lever<T: Real + From<C>>(&self, at: &Instant<'_, T>) -> Vector3<T> {
        at.poses[self.body.index()].turn(&self.local)
    }

    /// s + R c or R c.
    pub fn value<T: Real + From<C>>(&self, at: &Instant<'_, T>) -> Vector3<T> {
        let r = self.lever(at);
        if self.is_point { at.poses[self.body.index()].s + r } else { r }
    }

    /// Its time derivative ṡ + ω × R c or ω × R c.
    pub fn rate<T: Real + From<C>>(&self, at: &Instant<'_, T>) -> Vector3<T> {
        let twist = &at.twists[self.body.index()];
        let turn = twist.omega.cross(&self.lever(at));
        if self.is_point { twist.s_dot + turn } else { turn }
    }
}

impl StateRef {
    /// Its value at an instant; of an input, the default.
    pub fn value<T: Real>(&self, model: &Model, at: &Instant<'_, T>) -> T {
        match *self {
            StateRef::Time => at.t,
            StateRef::Position(vector, axis) => vector.value(at)[axis],
            StateRef::Velocity(vector, axis) => vector.rate(at)[axis],
            StateRef::AngularVelocity(body, axis) => at.twists[body.index()].omega[axis],
            StateRef::Coordinate(joint, which) => model.joint_coordinate(joint, which, at),
            StateRef::CoordinateRate(joint, which) => model.joint_velocity(joint, which, at),
            StateRef::Input(i) => T::from(model.inputs[i].value),
        }
    }
}

/// All expressions of a model that depend on time or state, compiled together.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// The tape's inputs.
    pub inputs: Vec<StateRef>,
    /// Evaluates every signal; `None` when there are none.
    pub tape: Option<Tape>,
    /// Number of signals.
    pub n: usize,
    /// At the zeros of its outputs a signal has a jump or a corner; the same inputs. `None` when all are smooth.
    pub kinks: Option<Tape>,
    /// The first signal that has each of these jumps or corners. (`n_kinks`)
    pub kink_signals: Vec<usize>,
}

impl Signals {
    /// Evaluates all signals. (n)
    pub fn evaluate<T: Real>(
        &self,
        model: &Model,
        at: &Instant<'_, T>,
        work: &mut Work<T>,
        values: &mut [T],
    ) {
        let Some(tape) = &self.tape else { return };
        self.run(tape, model, at, work, values);
    }

    /// The values that the tapes' inputs have at an instant. (inputs)
    pub fn read(&self, model: &Model, at: &Instant<'_>, work: &Work, inputs: &mut Vec<f64>) {
        inputs.clear();
        inputs.extend(self.inputs.iter().map(|input| match *input {
            StateRef::Input(i) => work.held[i],
            ref other => other.value(model, at),
        }));
    }

    /// Evaluates all signals with the choices (`if`, `min`, ...) that `guide`, the inputs of a neighbouring instant, makes. (n)
    pub fn evaluate_beside(
        &self,
        model: &Model,
        at: &Instant<'_>,
        guide: &[f64],
        work: &Work,
        values: &mut [f64],
    ) {
        let Some(tape) = &self.tape else { return };
        let mut inputs = Vec::with_capacity(self.inputs.len());
        self.read(model, at, work, &mut inputs);
        tape.eval_beside(guide, &inputs, &mut vec![0.0; 2 * tape.n_registers()], values);
    }

    /// The same with derivatives. (n)
    pub fn evaluate_dual_beside(
        &self,
        model: &Model,
        at: &Instant<'_, Dual>,
        guide: &[f64],
        work: &mut Work<Dual>,
        values: &mut [Dual],
    ) {
        let Some(tape) = &self.tape else { return };
        for (slot, input) in work.inputs.iter_mut().zip(&self.inputs) {
            *slot = match *input {
                StateRef::Input(i) => work.held[i],
                ref other => other.value(model, at),
            };
        }
        let n = tape.n_registers();
        let (inputs, registers) = (&work.inputs[..self.inputs.len()], &mut work.registers[..n]);
        tape.eval_dual_beside(guide, inputs, &mut vec![0.0; n], registers, values);
    }

    /// Evaluates the switching functions of the signals. (`n_kinks`)
    pub fn evaluate_kinks<T: Real>(
        &self,
        model: &Model,
        at: &Instant<'_, T>,
        work: &mut Work<T>,
        values: &mut [T],
    ) {
        let Some(tape) = &self.kinks else { return };
        self.run(tape, model, at, work, values);
    }

    /// Number of switching functions.
    pub fn n_kinks(&self) -> usize {
        self.kinks.as_ref().map_or(0, Tape::n_outputs)
    }

    fn run<T: Real>(
        &self,
        tape: &Tape,
        model: &Model,
        at: &Instant<'_, T>,
        work: &mut Work<T>,
        values: &mut [T],
    ) {
        for (slot, input) in work.inputs.iter_mut().zip(&self.inputs) {
            *slot = match *input {
                StateRef::Input(i) => work.held[i],
                ref other => other.value(model, at),
            };
        }
        let n = self.inputs.len();
        T::eval(tape, &work.inputs[..n], &mut work.registers[..tape.n_registers()], values);
    }
}

/// A number of a force law: fixed, or one of the model's signals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The same at all times.
    Constant(f64),
    /// Signal number.
    Signal(usize),
}

impl Value {
    /// Its value, given the signals of the instant.
    #[inline]
    pub fn get<T: Real>(self, signals: &[T]) -> T {
        match self {
            Value::Constant(value) => T::from(value),
            Value::Signal(i) => signals[i],
        }
    }
}

/// A function of time alone with its first two derivatives.
#[derive(Clone, Debug)]
pub enum TimeFunction {
    /// f(t) = c.
    Constant(f64),
    /// Tape with input t and outputs f, ḟ, f̈.
    Tape(Tape),
}

impl TimeFunction {
    /// f, ḟ, f̈ at time t.
    pub fn value<T: Real>(&self, t: T, work: &mut Work<T>) -> [T; 3] {
        match self {
            TimeFunction::Constant(c) => [T::from(*c), T::zero(), T::zero()],
            TimeFunction::Tape(tape) => {
                let mut out = [T::zero(); 3];
                T::eval(tape, &[t], &mut work.registers[..tape.n_registers()], &mut out);
                out
            }
        }
    }

    /// Where f jumps between two times and by how much, if it does: (t, f(t+) − f(t−)).
    ///
    /// Where f is elsewhere than its rates at both times lead to, that half of the interval is followed in which it is so more than in the other, down to rounding of the
    /// time: what rates do not explain falls with the cube of the length where f is smooth, and with the length at a corner.
    pub fn jump(&self, from: f64, to: f64, work: &mut Work) -> Option<(f64, f64)> {
        /// Jumps that are not looked for.
        const SMALL: f64 = 1e-4;
        if matches!(self, TimeFunction::Constant(_)) {
            return None;
        }
        let beside = |low: (f64, [f64; 3]), high: (f64, [f64; 3])| {
            (high.1[0] - low.1[0] - 0.5 * (low.1[1] + high.1[1]) * (high.0 - low.0)).abs()
        };
        let (mut low, mut high) = ((from, self.value(from, work)), (to, self.value(to, work)));
        while beside(low, high) > SMALL {
            let t = 0.5 * (low.0 + high.0);
            if t <= low.0 || t >= high.0 {
                return Some((high.0, high.1[0] - low.1[0]));
            }
            let middle = (t, self.value(t, work));
            if beside(low, middle) > beside(middle, high) {
                high = middle;
            } else {
                low = middle;
            }
        }
        None
    }
}

/// Scratch memory for tapes; sized once for a model, so that evaluating allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Work<T = f64> {
    /// Tape registers.
    pub registers: Vec<T>,
    /// Tape inputs.
    pub inputs: Vec<T>,
    /// Inputs of the model as they are held now; no scratch, but here so that all evaluations see them. (n inputs)
    pub held: Vec<T>,
    /// Tape outputs of equations.
    pub outputs: Vec<T>,
}
