//! Torque on a massless rod.

use nalgebra::Vector3;

use super::{Account, ForceContext, ForceLaw, Load, PointPair};
use crate::math::Real;
use crate::signal::Value;
use crate::state::Wrench;

/// Torque τ on the massless rod between two points, as the couple on its ends that has this torque:
///
/// ```text
/// F on b = τ × Δ/|Δ|²,   −F on a,   Δ = p_b − p_a
/// Δ × F = τ − (τ·u) u,   u = Δ/|Δ|
/// ```
/// A rod without thickness takes no torque about itself: the part of τ along it acts on nothing. Where the ends meet
/// there is no couple. World axes. For mechanisms of point masses; a muscle between two rods is a pair of these with
/// opposite τ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RodTorque {
    /// The ends of the rod.
    pub ends: PointPair,
    /// τ, N m.
    pub torque: [Value; 3],
}

impl<T: Real> Load<T> for RodTorque {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let (delta, _) = self.ends.separation(&context.at);
        let squared = delta.dot(&delta);
        if squared.value() > 0.0 {
            let torque = Vector3::from(self.torque.map(|value| value.get(context.signals)));
            self.ends.add_force(&context.at, &(torque.cross(&delta) / squared), wrench);
        }
    }
}

impl ForceLaw for RodTorque {
    fn account(&self) -> Account {
        Account::Work
    }

    fn depends_on_velocity(&self) -> bool {
        self.torque.iter().any(|value| matches!(value, Value::Signal(_)))
    }
}
