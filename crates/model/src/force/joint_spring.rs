//! Spring along a joint coordinate.

use super::{Account, ForceContext, ForceLaw, JointAxis, Load};
use crate::math::Real;
use crate::signal::Value;
use crate::state::Wrench;

/// Spring at a joint: τ = −k (q − q_0), U = ½ k (q − q_0)². Torsion spring at an angle, linear spring at a length.
///
/// q counts full turns, so that a torsion spring winds up. \[Schmitt 2003\] section 10, there between two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointSpring {
    /// The coordinate q.
    pub axis: JointAxis,
    /// q_0, where it is relaxed, rad or m.
    pub rest: Value,
    /// k, N m/rad or N/m.
    pub stiffness: Value,
}

impl JointSpring {
    fn stretch<T: Real>(&self, context: &ForceContext<'_, T>) -> T {
        self.axis.position(context) - self.rest.get(context.signals)
    }
}

impl<T: Real> Load<T> for JointSpring {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let tau = -self.stiffness.get(context.signals) * self.stretch(context);
        self.axis.add_force(context, tau, wrench);
    }
}

impl ForceLaw for JointSpring {
    fn account(&self) -> Account {
        match (self.rest, self.stiffness) {
            (Value::Constant(_), Value::Constant(_)) => Account::Potential,
            _ => Account::Work,
        }
    }

    fn potential_energy(&self, context: &ForceContext<'_>) -> f64 {
        if self.account() != Account::Potential {
            return 0.0;
        }
        let stretch = self.stretch(context);
        0.5 * self.stiffness.get(context.signals) * stretch * stretch
    }

    fn depends_on_velocity(&self) -> bool {
        self.account() != Account::Potential
    }
}
