//! What assembling reports.

use crate::body::BodyId;
use crate::joint::JointId;
use crate::state::State;

/// Settings of [`assemble`](super::assemble).
#[derive(Clone, Debug, PartialEq)]
pub struct AssembleOptions {
    /// Largest error, m or rad; where an element's own tolerance is stricter, that one. `None`: the element's, else the
    /// run's.
    pub tolerance: Option<f64>,
    /// Largest velocity error, m/s or rad/s; `None`: the run's.
    pub velocity_tolerance: Option<f64>,
    /// Most steps a connected part may take in one attempt.
    pub max_iterations: usize,
}

impl Default for AssembleOptions {
    fn default() -> Self {
        AssembleOptions { tolerance: None, velocity_tolerance: None, max_iterations: 300 }
    }
}

/// What assembling did.
#[derive(Clone, Debug)]
pub struct AssembleReport {
    /// The consistent state; where it failed, the one with the least errors found.
    pub state: State,
    /// Whether everything closed.
    pub outcome: Outcome,
    /// Bodies that were moved, in file order.
    pub moved: Vec<Moved>,
    /// Bodies whose velocity was changed, in file order.
    pub pushed: Vec<Pushed>,
    /// Joint coordinates that changed, in file order: they tell the branch that was reached, the one nearest to the start.
    pub coordinates: Vec<CoordinateChange>,
    /// Errors of every element before and after, in file order.
    pub residuals: Vec<Residual>,
    /// Gauss-Newton steps, over all connected parts.
    pub iterations: usize,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// How assembling ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every error is within its tolerance.
    Closed,
    /// Some part failed; the worst failure is first.
    Failed(Vec<Failure>),
}

/// A part that does not close.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The element with the largest error, or for a contradiction the last one of it in the file.
    pub element: String,
    /// The largest error at the local minimum reached, m or rad (m/s or rad/s for velocities).
    pub residual: f64,
    /// What is wrong.
    pub kind: FailureKind,
}

/// What keeps a part from closing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The joints cannot meet from this start: something is too short, too long or too far away.
    NotClosable,
    /// The element demands what others forbid, in every posture: no movement helps.
    Contradicting {
        /// The other elements of the contradiction, in file order.
        with: Vec<String>,
    },
    /// The velocities that the elements demand do not go together.
    VelocityContradicting,
    /// The element's equation has no value here (a root of a negative number, a division by zero).
    Undefined,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure { element, residual, kind } = self;
        match kind {
            FailureKind::NotClosable => write!(
                f,
                "`{element}` stays open by {residual:.3e}: the parts do not reach each other from this start"
            ),
            FailureKind::Contradicting { with } if with.is_empty() => {
                write!(
                    f,
                    "`{element}` demands what no movement can give: it stays open by {residual:.3e}"
                )
            }
            FailureKind::Contradicting { with } => write!(
                f,
                "`{element}` contradicts `{}`: no posture satisfies both, {residual:.3e} remain",
                with.join("`, `")
            ),
            FailureKind::VelocityContradicting => write!(
                f,
                "`{element}` demands a velocity that other elements forbid: {residual:.3e} remain"
            ),
            FailureKind::Undefined => write!(f, "`{element}` has no value at this posture"),
        }
    }
}

/// A body that was moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Which.
    pub body: BodyId,
    /// Its name.
    pub name: String,
    /// How far its centre of mass went, m.
    pub distance: f64,
    /// How far it turned, rad.
    pub angle: f64,
}

/// A body whose velocity was changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pushed {
    /// Which.
    pub body: BodyId,
    /// Its name.
    pub name: String,
    /// |Δṡ|, m/s.
    pub velocity: f64,
    /// |Δω|, rad/s.
    pub angular_velocity: f64,
}

/// A joint coordinate before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinateChange {
    /// Which joint.
    pub joint: JointId,
    /// Joint and coordinate: `elbow.angle`.
    pub name: String,
    /// Before, rad or m.
    pub before: f64,
    /// After, rad or m.
    pub after: f64,
}

/// Errors of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// Its name.
    pub element: String,
    /// Largest |C| before, m or rad.
    pub before: f64,
    /// Largest |C| after.
    pub after: f64,
    /// Largest |Ċ| before, m/s or rad/s.
    pub velocity_before: f64,
    /// Largest |Ċ| after.
    pub velocity_after: f64,
}

/// Errors of an element at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Inconsistency {
    /// Its name.
    pub element: String,
    /// Largest |C|, m or rad; NaN where the element has no value.
    pub position_error: f64,
    /// Largest |Ċ| = |J v + C_t|, m/s or rad/s.
    pub velocity_error: f64,
}
