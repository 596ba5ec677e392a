//! Applied force and torque.

use nalgebra::Vector3;

use super::{Account, ForceContext, ForceLaw, Load};
use crate::math::{Real, rotate};
use crate::signal::{BodyVector, Value};
use crate::state::Wrench;

/// The axes in which an applied force is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// The world's.
    World,
    /// Those of the body's file frame; the force turns with the body.
    Body,
}

/// A given force F at a point of a body and a given torque T on it, from outside the mechanism.
///
/// ```text
/// F on the body, T + r × F about its centre of mass          r = p − s
/// ```
/// The values may be signals over time and state: ground reactions, thrust, wind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AppliedForce {
    /// Where F acts: a body-fixed point.
    pub point: BodyVector,
    /// F, N.
    pub force: [Value; 3],
    /// T, N m.
    pub torque: [Value; 3],
    /// The axes of F and T.
    pub axes: Axes,
}

impl<T: Real> Load<T> for AppliedForce {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let i = self.point.body.index();
        let vector = |values: &[Value; 3]| {
            let v = Vector3::from(values.map(|value| value.get(context.signals)));
            match self.axes {
                Axes::World => v,
                Axes::Body => {
                    context.at.poses[i].rot * rotate(&context.model.bodies[i].frame_rot, &v)
                }
            }
        };
        let force = vector(&self.force);
        wrench[i].force += force;
        wrench[i].torque += vector(&self.torque) + self.point.lever(&context.at).cross(&force);
    }
}

impl ForceLaw for AppliedForce {
    fn account(&self) -> Account {
        Account::Work
    }

    fn depends_on_velocity(&self) -> bool {
        self.force.iter().chain(&self.torque).any(|value| matches!(value, Value::Signal(_)))
    }
}
