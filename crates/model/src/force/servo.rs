//! Servo drive.

use super::{Account, AxisForce, ForceContext, ForceLaw, JointAxis, Load};
use crate::math::Real;
use crate::signal::Value;
use crate::state::Wrench;

/// Servo drive with a brake along a joint coordinate:
///
/// ```text
/// τ = clamp( k (q_soll − q) + d (q̇_soll − q̇), ±T_max ) − C_F q̇
/// ```
/// With k = 0 it drives a speed. The brake is not bounded by T_max; as a signal it goes on and off, and a large C_F
/// serves as holding brake. All of its work, the brake's too, is booked as work of drives.
///
/// \[Schmitt 2003\] section 10: φ_soll(t), T_max and C_F; the linear law between them is ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Servo {
    /// The coordinate q.
    pub axis: JointAxis,
    /// q_soll, rad or m.
    pub target: Value,
    /// q̇_soll, rad/s or m/s.
    pub target_velocity: Value,
    /// k, N m/rad or N/m.
    pub stiffness: Value,
    /// d, N m s/rad or N s/m.
    pub damping: Value,
    /// T_max, N m or N; infinite for none.
    pub max_force: Value,
    /// C_F, N m s/rad or N s/m.
    pub brake: Value,
}

impl Servo {
    /// A servo to `target` without bound and brake, its target velocity zero.
    pub fn new(axis: JointAxis, target: Value, stiffness: Value, damping: Value) -> Self {
        Servo {
            axis,
            target,
            target_velocity: Value::Constant(0.0),
            stiffness,
            damping,
            max_force: Value::Constant(f64::INFINITY),
            brake: Value::Constant(0.0),
        }
    }

    /// τ, N m or N.
    pub fn force<T: Real>(&self, context: &ForceContext<'_, T>) -> T {
        let (q, q_dot) = (self.axis.position(context), self.axis.velocity(context));
        self.force_at(q, q_dot, context.signals).force
    }

    /// What the law asks for before the bound: k (q_soll − q) + d (q̇_soll − q̇).
    fn asked<T: Real>(&self, q: T, velocity: T, signals: &[T]) -> T {
        let get = |value: Value| value.get(signals);
        let error = get(self.target) - q;
        get(self.stiffness) * error + get(self.damping) * (get(self.target_velocity) - velocity)
    }

    /// Whether the law has a bound.
    pub fn is_bounded(&self) -> bool {
        !matches!(self.max_force, Value::Constant(bound) if bound.is_infinite())
    }

    /// How far what is asked for is below the bound, N m or N; at its zeros the law has a corner.
    pub fn margin<T: Real>(&self, context: &ForceContext<'_, T>) -> T {
        let (q, q_dot) = (self.axis.position(context), self.axis.velocity(context));
        let asked = self.asked(q, q_dot, context.signals);
        let bound: T = self.max_force.get(context.signals);
        let size = |x: T| if x.value() < 0.0 { -x } else { x };
        size(bound) - size(asked)
    }

    /// τ and −∂τ/∂q̇ at a coordinate and its rate.
    pub fn force_at<T: Real>(&self, q: T, velocity: T, signals: &[T]) -> AxisForce<T> {
        let get = |value: Value| value.get(signals);
        let asked = self.asked(q, velocity, signals);
        // Not `clamp`, which panics on a bound that is not a number; such a bound must show in the run.
        let bound = get(self.max_force);
        let bound = if bound.value() < 0.0 { -bound } else { bound };
        let (driven, damping) = if asked.value() > bound.value() || bound.value().is_nan() {
            (bound, T::zero())
        } else if asked.value() < -bound.value() {
            (-bound, T::zero())
        } else {
            (asked, get(self.damping))
        };
        let brake = get(self.brake);
        AxisForce { force: driven - brake * velocity, damping: damping + brake }
    }
}

impl<T: Real> Load<T> for Servo {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        self.axis.add_force(context, self.force(context), wrench);
    }
}

impl ForceLaw for Servo {
    fn account(&self) -> Account {
        Account::Work
    }

    fn depends_on_velocity(&self) -> bool {
        true
    }
}
