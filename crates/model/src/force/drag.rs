//! Viscous drag.

use super::{Account, ForceContext, ForceLaw};
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

impl ForceLaw for Drag {
    fn add_wrench(&self, context: &ForceContext<'_>, wrench: &mut [Wrench]) {
        let i = self.point.body.index();
        let force = -self.linear.get(context.signals) * self.point.rate(&context.at);
        let torque = -self.angular.get(context.signals) * context.at.twists[i].omega;
        wrench[i].force += force;
        wrench[i].torque += torque + self.point.lever(&context.at).cross(&force);
    }

    fn account(&self) -> Account {
        Account::Dissipation
    }

    fn depends_on_velocity(&self) -> bool {
        true
    }
}
