//! Damper between two points.

use super::{Account, ForceContext, ForceLaw, Load, PointPair};
use crate::math::Real;
use crate::signal::Value;
use crate::state::Wrench;

/// Axial damper: F on b = −K_d (d|Δ|/dt) Δ/|Δ| with Δ = p_b − p_a.
///
/// \[Schmitt 2003\] section 10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Damper {
    /// Its ends.
    pub ends: PointPair,
    /// K_d, N s/m.
    pub damping: Value,
}

impl<T: Real> Load<T> for Damper {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let (delta, rate) = self.ends.separation(&context.at);
        let squared = delta.dot(&delta);
        if squared.value() > 0.0 {
            let force = delta * (-self.damping.get(context.signals) * delta.dot(&rate) / squared);
            self.ends.add_force(&context.at, &force, wrench);
        }
    }
}

impl ForceLaw for Damper {
    fn account(&self) -> Account {
        Account::Dissipation
    }

    fn depends_on_velocity(&self) -> bool {
        true
    }
}
