//! Branch that two circuits share.

use super::{Account, ForceContext, ForceLaw, JointAxis, Load};
use crate::math::Real;
use crate::signal::Value;
use crate::state::Wrench;

/// Capacitor or resistor that lies in two circuits: with the charge q = q_a − q_b through it
///
/// ```text
/// u = −k q − d q̇   on a, −u on b,   U = ½ k q²,   k = 1/C
/// ```
/// The charges are joint coordinates; the same law couples any two coordinates of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Branch {
    /// The coordinates q_a and q_b.
    pub axes: [JointAxis; 2],
    /// k, 1/F.
    pub stiffness: Value,
    /// d, Ω.
    pub damping: Value,
}

impl<T: Real> Load<T> for Branch {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let [a, b] = &self.axes;
        let charge = a.position(context) - b.position(context);
        let current = a.velocity(context) - b.velocity(context);
        let tau = -self.stiffness.get(context.signals) * charge
            - self.damping.get(context.signals) * current;
        a.add_force(context, tau, wrench);
        b.add_force(context, -tau, wrench);
    }
}

impl ForceLaw for Branch {
    fn account(&self) -> Account {
        match (self.stiffness, self.damping) {
            (Value::Constant(_), Value::Constant(0.0)) => Account::Potential,
            (Value::Constant(0.0), _) => Account::Dissipation,
            _ => Account::Work,
        }
    }

    fn potential_energy(&self, context: &ForceContext<'_>) -> f64 {
        if self.account() != Account::Potential {
            return 0.0;
        }
        let charge = self.axes[0].position(context) - self.axes[1].position(context);
        0.5 * self.stiffness.get(context.signals) * charge * charge
    }

    fn depends_on_velocity(&self) -> bool {
        self.account() != Account::Potential
    }
}
