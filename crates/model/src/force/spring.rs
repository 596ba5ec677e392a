//! Spring between two points.

use super::{Account, ForceContext, ForceLaw, Load, PointPair};
use crate::math::{Real, norm};
use crate::signal::Value;
use crate::state::Wrench;

/// Linear spring: F on b = −K_f (|Δ| − L) Δ/|Δ| with Δ = p_b − p_a; U = ½ K_f (|Δ| − L)².
///
/// L: length without force; where the ends meet (|Δ| = 0) the direction, and so the force, is taken as zero.
/// \[Schmitt 2003\] section 10, where the impulse is given for body 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// Its ends.
    pub ends: PointPair,
    /// L, m.
    pub length: Value,
    /// K_f, N/m.
    pub stiffness: Value,
}

impl<T: Real> Load<T> for Spring {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let (delta, _) = self.ends.separation(&context.at);
        let distance = norm(&delta);
        if distance.value() > 0.0 {
            let stretch = distance - self.length.get(context.signals);
            let force = delta * (-self.stiffness.get(context.signals) * stretch / distance);
            self.ends.add_force(&context.at, &force, wrench);
        }
    }
}

impl ForceLaw for Spring {
    fn account(&self) -> Account {
        match (self.length, self.stiffness) {
            (Value::Constant(_), Value::Constant(_)) => Account::Potential,
            _ => Account::Work,
        }
    }

    fn potential_energy(&self, context: &ForceContext<'_>) -> f64 {
        if self.account() != Account::Potential {
            return 0.0;
        }
        let stretch = self.ends.separation(&context.at).0.norm() - self.length.get(context.signals);
        0.5 * self.stiffness.get(context.signals) * stretch * stretch
    }

    fn depends_on_velocity(&self) -> bool {
        self.account() != Account::Potential
    }
}
