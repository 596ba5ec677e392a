//! Motor.

use super::{Account, ForceContext, ForceLaw, JointAxis, Load};
use crate::math::Real;
use crate::signal::Value;
use crate::state::Wrench;

/// Motor: a given torque or force τ along a joint coordinate, on b, and its opposite on a.
///
/// \[Schmitt 2003\] section 10: the pair of angular impulses ±τ h along the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motor {
    /// The coordinate.
    pub axis: JointAxis,
    /// τ, N m or N.
    pub force: Value,
}

impl<T: Real> Load<T> for Motor {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        self.axis.add_force(context, self.force.get(context.signals), wrench);
    }
}

impl ForceLaw for Motor {
    fn account(&self) -> Account {
        Account::Work
    }

    fn depends_on_velocity(&self) -> bool {
        matches!(self.force, Value::Signal(_))
    }
}
