//! The model: what the engines read.

use gelenk_expr::{Expr, Pool};

use crate::body::{Body, BodyId};
use crate::contact::ContactSettings;
use crate::force::{Force, ForceContext};
use crate::joint::{CoordinateKind, Joint, JointId};
use crate::math::{Real, Vec3};
use crate::rows::{Instant, RowBlock, RowKind};
use crate::settings::RunSettings;
use crate::signal::{BodyVector, Signals, TimeFunction, Work};
use crate::state::{Pose, State, Twist};

/// A checked mechanism: constant during a run, shared by reference.
#[derive(Clone, Debug)]
pub struct Model {
    /// Name from `[model]`.
    pub name: String,
    /// What it is, for people.
    pub description: String,
    /// Gravity, m/s².
    pub gravity: Vec3,
    /// Bodies and point masses; index 0 is the world.
    pub bodies: Vec<Body>,
    /// Joints.
    pub joints: Vec<Joint>,
    /// All conditions on the motion: joints first, in their order, then ties and equations, then end stops and dry
    /// friction; after these what has been added to a running model.
    pub rows: Vec<RowBlock>,
    /// Force elements.
    pub forces: Vec<Force>,
    /// Named body-fixed points.
    pub markers: Vec<Marker>,
    /// Expressions over time and state that forces use.
    pub signals: Signals,
    /// Named parameters with their values.
    pub parameters: Vec<Parameter>,
    /// Numbers that can be set from outside while it runs.
    pub inputs: Vec<Input>,
    /// The expressions of the model.
    pub pool: Pool,
    /// Materials and who may touch whom.
    pub contact: ContactSettings,
    /// How the file wants to be run.
    pub run: RunSettings,
    /// The state at the start, as the file gives it.
    pub start: State,
}

/// A named parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The symbol that stands for it in expressions.
    pub symbol: Expr,
    /// Its value.
    pub value: f64,
    /// Its definition over other parameters; `None` for a plain number.
    pub definition: Option<Expr>,
    /// Its unit, for people.
    pub unit: Option<String>,
    /// What it is, for people.
    pub description: Option<String>,
    /// Smallest sensible value.
    pub min: Option<f64>,
    /// Largest sensible value.
    pub max: Option<f64>,
}

/// A number of forces and drives that is set from outside while the model runs: `input.NAME` in expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its value as long as nobody sets it.
    pub value: f64,
}

/// A named body-fixed point.
#[derive(Clone, Debug)]
pub struct Marker {
    /// Its name.
    pub name: String,
    /// The point.
    pub vector: BodyVector,
}

impl Model {
    /// Number of bodies, the world included.
    pub fn n_bodies(&self) -> usize {
        self.bodies.len()
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows.last().map_or(0, |block| block.first_row + block.n_rows)
    }

    /// Number of joint coordinates.
    pub fn n_coordinates(&self) -> usize {
        self.joints
            .last()
            .map_or(0, |j| j.first_coordinate + j.kind.equations().coordinates().len())
    }

    /// The body of that name.
    pub fn body(&self, name: &str) -> Option<BodyId> {
        let i = self.bodies.iter().position(|b| b.name == name)?;
        Some(BodyId(u32::try_from(i).ok()?))
    }

    /// Units of a joint coordinate and its rate: rad, m, or C and A for a charge of a circuit.
    pub fn coordinate_units(&self, joint: &Joint, which: usize) -> [&'static str; 2] {
        if joint.bodies.iter().any(|body| self.bodies[body.index()].is_charge) {
            return ["C", "A"];
        }
        match joint.kind.equations().coordinates()[which].kind {
            CoordinateKind::Angle => ["rad", "rad/s"],
            CoordinateKind::Length => ["m", "m/s"],
        }
    }

    /// The number of the input of that name.
    pub fn input(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|input| input.name == name)
    }

    /// The joint of that name.
    pub fn joint(&self, name: &str) -> Option<JointId> {
        let i = self.joints.iter().position(|j| j.name == name)?;
        Some(JointId(u32::try_from(i).ok()?))
    }

    /// Scratch memory large enough for every tape of this model.
    pub fn work(&self) -> Work {
        self.work_over()
    }

    /// The same over any numbers.
    pub fn work_over<T: Real>(&self) -> Work<T> {
        let tapes = [&self.signals.tape, &self.signals.kinks];
        let sizes = tapes.into_iter().flatten().map(gelenk_expr::Tape::n_registers);
        let mut registers = sizes.max().unwrap_or(0);
        let mut inputs = self.signals.inputs.len();
        for block in &self.rows {
            match &block.kind {
                RowKind::Joint(_) | RowKind::Stop(_) | RowKind::Friction(_) => {}
                RowKind::Tie(tie) => {
                    if let TimeFunction::Tape(tape) = &tie.target {
                        registers = registers.max(tape.n_registers());
                    }
                }
                RowKind::Equation(equation) => {
                    for tape in [&equation.value, &equation.gradient, &equation.curvature] {
                        registers = registers.max(tape.n_registers());
                    }
                    inputs = inputs.max(2 * equation.coordinates.len() + 1);
                }
            }
        }
        Work {
            registers: vec![T::zero(); registers],
            inputs: vec![T::zero(); inputs],
            held: self.inputs.iter().map(|input| T::from(input.value)).collect(),
            outputs: vec![T::zero(); inputs],
        }
    }

    /// The model with contact switched off: no body touches another, whatever its shapes.
    #[must_use]
    pub fn without_contact(&self) -> Model {
        let mut model = self.clone();
        for body in &mut model.bodies {
            body.contact.collide = false;
        }
        model
    }

    /// Kinetic energy T, J.
    pub fn kinetic_energy(&self, state: &State) -> f64 {
        (0u32..).zip(&self.bodies).map(|(i, body)| body.kinetic_energy(state, BodyId(i))).sum()
    }

    /// Potential energy of gravity and springs, J; gravity's is zero at the world's origin.
    pub fn potential_energy(&self, state: &State) -> f64 {
        let mut sum = 0.0;
        for (body, s) in self.bodies.iter().zip(&state.s) {
            if !body.fixed {
                sum -= body.mass * self.gravity.dot(s);
            }
        }
        let mut poses = vec![Pose::identity(); self.n_bodies()];
        let mut twists = vec![Twist::zero(); self.n_bodies()];
        state.write_poses(&mut poses);
        state.write_twists(&mut twists);
        let at =
            Instant { t: state.t, poses: &poses, twists: &twists, coordinates: &state.coordinate };
        let mut signals = vec![0.0; self.signals.n];
        self.signals.evaluate(self, &at, &mut self.work(), &mut signals);
        let context = ForceContext { model: self, at, signals: &signals };
        sum + self.forces.iter().map(|f| f.kind.law().potential_energy(&context)).sum::<f64>()
    }
}
