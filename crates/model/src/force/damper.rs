//! Damper between two points.

use super::{Account, ForceContext, ForceLaw, PointPair};
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

impl ForceLaw for Damper {
    fn add_wrench(&self, context: &ForceContext<'_>, wrench: &mut [Wrench]) {
        let (delta, rate) = self.ends.separation(&context.at);
        let squared = delta.norm_squared();
        if squared > 0.0 {
            let force = delta * (-self.damping.get(context.signals) * delta.dot(&rate) / squared);
            self.ends.add_force(&context.at, &force, wrench);
        }
    }

    fn account(&self) -> Account {
        Account::Dissipation
    }

    fn depends_on_velocity(&self) -> bool {
        true
    }
}
