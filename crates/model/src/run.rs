//! What every engine gives while it runs and when it ends.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::body::BodyId;
use crate::joint::JointId;
use crate::math::Vec3;
use crate::state::State;

/// The energy ledger, J. It balances:
/// kinetic + potential = initial + work − dissipation − impact_loss + integrator_error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Kinetic plus potential energy at the start.
    pub initial: f64,
    /// Kinetic energy now.
    pub kinetic: f64,
    /// Potential energy of gravity and springs now.
    pub potential: f64,
    /// Work done so far by drives, applied forces and prescribed motions.
    pub work: f64,
    /// Energy taken so far by dampers and friction.
    pub dissipation: f64,
    /// Energy lost so far in impacts.
    pub impact_loss: f64,
}

impl Ledger {
    /// Kinetic plus potential energy now.
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// What the method itself added or lost: the part of the change nobody accounts for.
    pub fn integrator_error(&self) -> f64 {
        self.total() - self.initial - self.work + self.dissipation + self.impact_loss
    }
}

/// Force and torque that a joint puts on its second body, world frame; the first body gets the opposite.
///
/// The torque is about the joint's point. An impulse engine gives the mean over the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reaction {
    /// The joint.
    pub joint: JointId,
    /// Force on body b, N.
    pub force: Vec3,
    /// Torque on body b about the joint's point, N m.
    pub torque: Vec3,
}

/// What a contact does: where two bodies touch and the force between them, mean over the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactForce {
    /// The bodies a and b.
    pub bodies: [BodyId; 2],
    /// Where they touch, world frame, m.
    pub point: Vec3,
    /// Unit normal from b to a, world frame.
    pub normal: Vec3,
    /// Force on body a, world frame, N; b gets the opposite.
    pub force: Vec3,
    /// Distance of the surfaces, m; negative where they overlap within the tolerance.
    pub gap: f64,
}

/// A moment of a run that an observer may look at.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Steps done.
    pub step: u64,
    /// The state.
    pub state: &'a State,
    /// Force of every joint. (n_joints)
    pub reactions: &'a [Reaction],
    /// Contacts there were in the last step. (contacts)
    pub contacts: &'a [ContactForce],
    /// The ledger.
    pub ledger: Ledger,
    /// Largest error so far of each row block, m or rad. (n blocks)
    pub worst_gaps: &'a [f64],
    /// What the model's inputs are held at, NaN where that is not known; empty where nobody sets them and they have the model's own
    /// values. (n inputs, or none)
    pub inputs: &'a [f64],
}

/// Something that happened at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When, s.
    pub time: f64,
    /// What: `step-halved`, `singularity`, `impact`, ...
    pub kind: String,
    /// Between which elements, by name.
    pub between: Vec<String>,
    /// A sentence for people.
    pub detail: String,
    /// Where, world frame, m: the point of an impact.
    pub point: Option<Vec3>,
    /// Impulse on the first of `between`, world frame, N s.
    pub impulse: Option<Vec3>,
}

impl Event {
    /// An event without a place.
    pub fn new(time: f64, kind: &str, between: Vec<String>, detail: String) -> Self {
        Event { time, kind: kind.to_owned(), between, detail, point: None, impulse: None }
    }
}

/// A wish to stop that an engine hears inside a step, where [`Observer::step`] is not asked. Clones share it.
///
/// ```
/// use gelenk_model::run::Stop;
///
/// let stop = Stop::default();
/// let heard = stop.clone();
/// stop.ask();
/// assert!(heard.is_asked());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks to stop; from any thread, and for good.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether someone has asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Watches a run.
pub trait Observer {
    /// Called at the start, at each sample time and at the end, in order of time.
    fn sample(&mut self, sample: &Sample<'_>) -> ControlFlow<()>;
    /// Called at each time of [`RunSettings::at`](crate::RunSettings::at), with the exact state there.
    fn at(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Called at each event.
    fn event(&mut self, _event: &Event) {}
    /// Called after each step with the time reached; break to stop the run here.
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// A wish to stop that is heard inside a step, asked for once when a run begins. The step is given up, and the run has stopped at
    /// the end of the one before.
    fn stop(&self) -> Option<Stop> {
        None
    }
}

/// Watches nothing.
impl Observer for () {
    fn sample(&mut self, _sample: &Sample<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// What a run with a step of its own has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Steps made.
    pub steps: u64,
    /// Steps refused.
    pub rejected: u64,
    /// Evaluations of the accelerations.
    pub evaluations: u64,
    /// Factorizations of the matrix of the conditions.
    pub factorizations: u64,
    /// Projections to the conditions.
    pub projections: u64,
    /// Switching functions that met zero.
    pub events: u64,
    /// Where the equations were found stiff, s.
    pub stiff_at: Option<f64>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Engine name.
    pub engine: &'static str,
    /// Time reached, s.
    pub t: f64,
    /// Steps done.
    pub steps: u64,
    /// Joint corrections done (sweeps) or solves (direct ones).
    pub corrections: u64,
    /// Stopped early by the observer.
    pub stopped: bool,
    /// The ledger at the end.
    pub ledger: Ledger,
    /// Mean over the steps of |integrator error|, J.
    pub energy_mean_abs_error: f64,
    /// Largest |integrator error|, J.
    pub energy_max_abs_error: f64,
    /// Largest position error of each row block, m or rad. (n blocks)
    pub worst_gaps: Vec<f64>,
    /// Largest velocity error of each row block, m/s or rad/s. (n blocks)
    pub worst_velocity_errors: Vec<f64>,
    /// Deepest that bodies have overlapped after a step, m; `None` where none touched.
    pub worst_penetration: Option<f64>,
    /// Contacts in the last step.
    pub contacts: Vec<ContactForce>,
    /// Events, in order.
    pub events: Vec<Event>,
    /// How the problems of constraints were solved and what that took: names and counts; empty where an engine does not say.
    pub ways: Vec<(&'static str, u64)>,
    /// What engines with a step of their own count.
    pub statistics: Option<Statistics>,
    /// The last good state.
    pub state: State,
}

/// A run that could not go on: why, and what was reached.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct RunFailure {
    /// What happened, with time, element, value and what to try.
    pub reason: String,
    /// The element at fault, by name, if known.
    pub element: Option<String>,
    /// What was reached before.
    pub report: Box<RunReport>,
}
