//! Software in the loop: a control law that is called at a fixed rate and sets the model's inputs.

use gelenk_model::Model;
use gelenk_model::rows::Instant;
use gelenk_model::state::{Pose, State, Twist};

use crate::explain::Failure;

/// A control law and its rate.
///
/// The law is called at t₀, t₀ + T, t₀ + 2T, … (exact multiples), whatever the step: steps are cut there. What it sets is
/// held until the next call (zero-order hold).
pub struct Control<'c> {
    /// T, s.
    pub period: f64,
    /// Reads the mechanism, sets inputs; an error ends the run with its text.
    pub law: &'c mut dyn FnMut(&Measured<'_>, &mut Inputs<'_>) -> Result<(), String>,
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("period", &self.period).finish_non_exhaustive()
    }
}

/// What a control law may read.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    model: &'a Model,
    state: &'a State,
}

impl<'a> Measured<'a> {
    pub(crate) fn new(model: &'a Model, state: &'a State) -> Self {
        Measured { model, state }
    }

    /// Time, s.
    pub fn time(&self) -> f64 {
        self.state.t
    }

    /// The whole state.
    pub fn state(&self) -> &'a State {
        self.state
    }

    /// A joint coordinate by joint and name, such as ("elbow", "angle"), rad or m; angles count full turns.
    pub fn coordinate(&self, joint: &str, name: &str) -> Option<f64> {
        let (_, which, first) = self.find(joint, name)?;
        self.state.coordinate.get(first + which).copied()
    }

    /// The rate of a joint coordinate, rad/s or m/s.
    pub fn velocity(&self, joint: &str, name: &str) -> Option<f64> {
        let (id, which, _) = self.find(joint, name)?;
        let n = self.model.n_bodies();
        let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
        self.state.write_poses(&mut poses);
        self.state.write_twists(&mut twists);
        let (t, coordinates) = (self.state.t, &self.state.coordinate);
        let at = Instant { t, poses: &poses, twists: &twists, coordinates };
        Some(self.model.joint_velocity(id, which, &at))
    }

    /// Position and rotation of a body's file frame in the world, m.
    pub fn pose(&self, body: &str) -> Option<Pose> {
        let id = self.model.body(body)?;
        Some(self.model.bodies[id.index()].frame_pose(&self.state.pose(id)))
    }

    /// Velocity of the origin of a body's file frame, m/s, and angular velocity, rad/s, world axes.
    pub fn twist(&self, body: &str) -> Option<Twist> {
        let id = self.model.body(body)?;
        let (pose, twist) = (self.state.pose(id), self.state.twist(id));
        Some(self.model.bodies[id.index()].frame_twist(&pose, &twist))
    }

    fn find(&self, joint: &str, name: &str) -> Option<(gelenk_model::JointId, usize, usize)> {
        let id = self.model.joint(joint)?;
        let joint = &self.model.joints[id.index()];
        let coordinates = joint.kind.equations().coordinates();
        let which = coordinates.iter().position(|c| c.name == name)?;
        Some((id, which, joint.first_coordinate))
    }
}

/// The inputs of a model, to be set by name.
#[derive(Debug)]
pub struct Inputs<'a> {
    model: &'a Model,
    held: &'a mut [f64],
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(model: &'a Model, held: &'a mut [f64]) -> Self {
        Inputs { model, held }
    }

    /// What an input is held at.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.model.input(name).map(|i| self.held[i])
    }

    /// Holds an input at a value; an error names one that is not there, or a value that is not finite.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        let i = self.model.input(name).ok_or_else(|| format!("there is no input `{name}`"))?;
        if !value.is_finite() {
            return Err(format!("input `{name}` is set to {value}, which is not finite"));
        }
        self.held[i] = value;
        Ok(())
    }
}

/// A control law with the times of its calls.
#[derive(Debug)]
pub struct Clocked<'c, 'l> {
    control: &'c mut Control<'l>,
    start: f64,
    calls: u64,
}

impl<'c, 'l> Clocked<'c, 'l> {
    /// The first call is at `start`, s; an error says what is wrong with the period.
    pub fn new(control: &'c mut Control<'l>, start: f64) -> Result<Self, Failure> {
        if !(control.period > 0.0 && control.period.is_finite()) {
            let reason = format!("the control period is {} s: it must be positive", control.period);
            return Err(Failure { reason, element: None });
        }
        Ok(Clocked { control, start, calls: 0 })
    }

    /// The time of the next call, s.
    pub fn next(&self) -> f64 {
        self.start + self.calls as f64 * self.control.period
    }

    /// Calls the law.
    pub(crate) fn call(
        &mut self,
        measured: &Measured<'_>,
        inputs: &mut Inputs<'_>,
    ) -> Result<(), Failure> {
        self.calls += 1;
        let t = measured.time();
        (self.control.law)(measured, inputs).map_err(|why| Failure {
            reason: format!("the control law stopped the run at t = {t} s: {why}"),
            element: None,
        })
    }
}
