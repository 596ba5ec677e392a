//! Damper along a joint coordinate.

use super::{Account, ForceContext, ForceLaw, JointAxis, Load};
use crate::math::Real;
use crate::signal::Value;
use crate::state::Wrench;

/// Damper at a joint: τ = −d q̇.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointDamper {
    /// The coordinate q.
    pub axis: JointAxis,
    /// d, N m s/rad or N s/m.
    pub damping: Value,
}

impl<T: Real> Load<T> for JointDamper {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let tau = -self.damping.get(context.signals) * self.axis.velocity(context);
        self.axis.add_force(context, tau, wrench);
    }
}

impl ForceLaw for JointDamper {
    fn account(&self) -> Account {
        Account::Dissipation
    }

    fn depends_on_velocity(&self) -> bool {
        true
    }
}
