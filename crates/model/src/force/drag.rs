//! Viscous drag.

use super::{Account, ForceContext, ForceLaw, Load};
use crate::math::Real;
use crate::signal::{BodyVector, Value};
use crate::state::Wrench;

/// Viscous drag of a body in a resting medium: F = −c v at a point moving with v, T = −c_r ω.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag {
    /// Where F acts: a body-fixed point.
    pub point: BodyVector,
    /// c, N s/m.
    pub linear: Value,
    /// c_r, N m s/rad.
    pub angular: Value,
}

impl<T: Real> Load<T> for Drag {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let i = self.point.body.index();
        let force = self.point.rate(&context.at) * -self.linear.get(context.signals);
        let torque = context.at.twists[i].omega * -self.angular.get(context.signals);
        wrench[i].force += force;
        wrench[i].torque += torque + self.point.lever(&context.at).cross(&force);
    }
}

impl ForceLaw for Drag {
    fn account(&self) -> Account {
        Account::Dissipation
    }

    fn depends_on_velocity(&self) -> bool {
        true
    }
}
