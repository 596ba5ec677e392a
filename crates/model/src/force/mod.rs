//! Force elements: one file a law, one small trait.

mod applied;
mod branch;
mod damper;
mod drag;
mod hand;
mod joint_damper;
mod joint_spring;
mod motor;
mod rod_torque;
mod servo;
mod spring;

pub use applied::{AppliedForce, Axes};
pub use branch::Branch;
pub use damper::Damper;
pub use drag::Drag;
pub use hand::Hand;
pub use joint_damper::JointDamper;
pub use joint_spring::JointSpring;
pub use motor::Motor;
pub use rod_torque::RodTorque;
pub use servo::Servo;
pub use spring::Spring;

use nalgebra::Vector3;

use crate::body::BodyId;
use crate::joint::JointId;
use crate::math::{Real, Vec3};
use crate::model::Model;
use crate::rows::Instant;
use crate::signal::Value;
use crate::state::Wrench;

/// The line of the energy ledger on which a force's work is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// Stored in a potential.
    Potential,
    /// Work done by drives and applied forces.
    Work,
    /// Taken by dampers and friction.
    Dissipation,
}

/// Where a force law is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct ForceContext<'a, T = f64> {
    /// The model.
    pub model: &'a Model,
    /// Time, poses, twists.
    pub at: Instant<'a, T>,
    /// The model's signals at this instant.
    pub signals: &'a [T],
}

/// The load of a force law over plain numbers, or over dual ones for its derivatives.
pub trait Load<T: Real> {
    /// Adds force and torque about each centre of mass to the bodies it acts on. (n_bodies)
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]);
}

/// A force law: its load on the bodies, and its energy.
pub trait ForceLaw: Load<f64> {
    /// The ledger line of its work.
    fn account(&self) -> Account;
    /// Potential energy, J; 0 for laws without.
    fn potential_energy(&self, _context: &ForceContext<'_>) -> f64 {
        0.0
    }
    /// Whether the law reads velocities; such laws are solved for at the end of a step to keep it symmetric.
    fn depends_on_velocity(&self) -> bool;
}

/// A named force element.
#[derive(Clone, Debug)]
pub struct Force {
    /// Unique name.
    pub name: String,
    /// The law.
    pub kind: ForceKind,
}

/// Every force law.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ForceKind {
    /// Spring between two points.
    Spring(Spring),
    /// Damper between two points.
    Damper(Damper),
    /// Spring along a joint coordinate.
    JointSpring(JointSpring),
    /// Damper along a joint coordinate.
    JointDamper(JointDamper),
    /// Servo drive of a joint coordinate.
    Servo(Servo),
    /// Given torque or force along a joint coordinate.
    Motor(Motor),
    /// Capacitor or resistor that lies in two circuits.
    Branch(Branch),
    /// Given force and torque on a body.
    Applied(AppliedForce),
    /// Viscous drag on a body.
    Drag(Drag),
    /// Torque on a massless rod.
    RodTorque(RodTorque),
    /// A hand that pulls at a body while the model runs.
    Hand(Hand),
}

impl ForceKind {
    /// The law's equations.
    #[inline]
    pub fn law(&self) -> &dyn ForceLaw {
        match self {
            ForceKind::Spring(law) => law,
            ForceKind::Damper(law) => law,
            ForceKind::JointSpring(law) => law,
            ForceKind::JointDamper(law) => law,
            ForceKind::Servo(law) => law,
            ForceKind::Motor(law) => law,
            ForceKind::Branch(law) => law,
            ForceKind::Applied(law) => law,
            ForceKind::Drag(law) => law,
            ForceKind::RodTorque(law) => law,
            ForceKind::Hand(law) => law,
        }
    }

    /// The law's load over any numbers.
    #[inline]
    pub fn load<T: Real>(&self) -> &dyn Load<T> {
        match self {
            ForceKind::Spring(law) => law,
            ForceKind::Damper(law) => law,
            ForceKind::JointSpring(law) => law,
            ForceKind::JointDamper(law) => law,
            ForceKind::Servo(law) => law,
            ForceKind::Motor(law) => law,
            ForceKind::Branch(law) => law,
            ForceKind::Applied(law) => law,
            ForceKind::Drag(law) => law,
            ForceKind::RodTorque(law) => law,
            ForceKind::Hand(law) => law,
        }
    }

    /// The joint along whose coordinate it acts, and with which it goes; `None` for others.
    pub fn joint(&self) -> Option<JointId> {
        self.axis().map(|axis| axis.joint)
    }

    /// The law at a coordinate `q` of its joint and its rate, if it acts along one ([`axis`](ForceKind::axis)).
    pub fn along(&self, q: f64, q_dot: f64, signals: &[f64]) -> Option<AxisForce> {
        let get = |value: Value| value.get(signals);
        let (force, damping) = match self {
            ForceKind::JointSpring(law) => (-get(law.stiffness) * (q - get(law.rest)), 0.0),
            ForceKind::JointDamper(law) => (-get(law.damping) * q_dot, get(law.damping)),
            ForceKind::Servo(law) => return Some(law.force_at(q, q_dot, signals)),
            ForceKind::Motor(law) => (get(law.force), 0.0),
            _ => return None,
        };
        Some(AxisForce { force, damping })
    }

    /// The joint coordinate along which it acts; `None` for others.
    pub fn axis(&self) -> Option<JointAxis> {
        match self {
            ForceKind::JointSpring(law) => Some(law.axis),
            ForceKind::JointDamper(law) => Some(law.axis),
            ForceKind::Servo(law) => Some(law.axis),
            ForceKind::Motor(law) => Some(law.axis),
            ForceKind::Spring(_)
            | ForceKind::Damper(_)
            | ForceKind::Branch(_)
            | ForceKind::Applied(_)
            | ForceKind::Drag(_)
            | ForceKind::RodTorque(_)
            | ForceKind::Hand(_) => None,
        }
    }

    /// Whether it acts in a state: the joint along which it acts is there.
    pub fn is_active(&self, active: &[bool]) -> bool {
        self.joint().is_none_or(|joint| active[joint.index()])
    }

    /// Whether one of the law's numbers is that signal.
    pub fn reads(&self, signal: usize) -> bool {
        let values: Vec<Value> = match self {
            ForceKind::Spring(law) => vec![law.length, law.stiffness],
            ForceKind::Damper(law) => vec![law.damping],
            ForceKind::JointSpring(law) => vec![law.rest, law.stiffness],
            ForceKind::JointDamper(law) => vec![law.damping],
            ForceKind::Servo(law) => vec![
                law.target,
                law.target_velocity,
                law.stiffness,
                law.damping,
                law.max_force,
                law.brake,
            ],
            ForceKind::Motor(law) => vec![law.force],
            ForceKind::Branch(law) => vec![law.stiffness, law.damping],
            ForceKind::Applied(law) => law.force.into_iter().chain(law.torque).collect(),
            ForceKind::Drag(law) => vec![law.linear, law.angular],
            ForceKind::RodTorque(law) => law.torque.to_vec(),
            ForceKind::Hand(_) => Vec::new(),
        };
        values.contains(&Value::Signal(signal))
    }

    /// What the law is called in messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            ForceKind::Spring(_) => "spring",
            ForceKind::Damper(_) => "damper",
            ForceKind::JointSpring(_) => "joint spring",
            ForceKind::JointDamper(_) => "joint damper",
            ForceKind::Servo(_) => "servo",
            ForceKind::Motor(_) => "motor",
            ForceKind::Branch(_) => "branch of two circuits",
            ForceKind::Applied(_) => "applied force",
            ForceKind::Drag(_) => "drag",
            ForceKind::RodTorque(_) => "rod torque",
            ForceKind::Hand(_) => "hand",
        }
    }
}

/// What a law along a joint coordinate gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisForce<T = f64> {
    /// τ on b along the coordinate, N m or N.
    pub force: T,
    /// −∂τ/∂q̇ where signals do not depend on q̇, N m s or N s/m.
    pub damping: T,
}

/// A joint coordinate q along which a drive, spring or damper acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointAxis {
    /// The joint.
    pub joint: JointId,
    /// Which of its coordinates.
    pub which: usize,
}

impl JointAxis {
    /// q, unwrapped, rad or m.
    pub fn position<T: Real>(&self, context: &ForceContext<'_, T>) -> T {
        context.model.joint_coordinate(self.joint, self.which, &context.at)
    }

    /// q̇ = W v, rad/s or m/s.
    pub fn velocity<T: Real>(&self, context: &ForceContext<'_, T>) -> T {
        context.model.joint_velocity(self.joint, self.which, &context.at)
    }

    /// Adds Wᵀ τ: the force or torque `tau` along the coordinate on b, and its opposite on a.
    pub fn add_force<T: Real>(
        &self,
        context: &ForceContext<'_, T>,
        tau: T,
        wrench: &mut [Wrench<T>],
    ) {
        let row = context.model.joint_coordinate_row(self.joint, self.which, &context.at);
        let bodies = context.model.joints[self.joint.index()].bodies;
        for (w, body) in row.chunks_exact(6).zip(bodies) {
            let wrench = &mut wrench[body.index()];
            wrench.force += Vector3::new(w[0], w[1], w[2]) * tau;
            wrench.torque += Vector3::new(w[3], w[4], w[5]) * tau;
        }
    }
}

/// Two body-fixed points between which a spring or damper acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointPair {
    /// The bodies a, b.
    pub bodies: [BodyId; 2],
    /// The points in their principal frames, m.
    pub points: [Vec3; 2],
}

impl PointPair {
    /// p_b − p_a and its rate, world frame.
    pub fn separation<T: Real>(&self, at: &Instant<'_, T>) -> (Vector3<T>, Vector3<T>) {
        let mut ends = [(Vector3::zeros(), Vector3::zeros()); 2];
        for (end, (body, point)) in ends.iter_mut().zip(self.bodies.iter().zip(&self.points)) {
            let (pose, twist) = (&at.poses[body.index()], &at.twists[body.index()]);
            let r = pose.turn(point);
            *end = (pose.s + r, twist.s_dot + twist.omega.cross(&r));
        }
        (ends[1].0 - ends[0].0, ends[1].1 - ends[0].1)
    }

    /// Adds `force` on b at its point and the opposite on a.
    pub fn add_force<T: Real>(
        &self,
        at: &Instant<'_, T>,
        force: &Vector3<T>,
        wrench: &mut [Wrench<T>],
    ) {
        for (sign, side) in [(-1.0, 0), (1.0, 1)] {
            let (i, sign) = (self.bodies[side].index(), T::from(sign));
            let r = at.poses[i].turn(&self.points[side]);
            wrench[i].force += force * sign;
            wrench[i].torque += r.cross(force) * sign;
        }
    }
}
