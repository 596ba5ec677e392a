//! Damper along a joint coordinate.

use super::{Account, ForceContext, ForceLaw, JointAxis};
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

impl ForceLaw for JointDamper {
    fn add_wrench(&self, context: &ForceContext<'_>, wrench: &mut [Wrench]) {
        let tau = -self.damping.get(context.signals) * self.axis.velocity(context);
        self.axis.add_force(context, tau, wrench);
    }

    fn account(&self) -> Account {
        Account::Dissipation
    }

    fn depends_on_velocity(&self) -> bool {
        true
    }
}
