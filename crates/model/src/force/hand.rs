//! A hand that pulls at a body.

use nalgebra::Vector3;

use super::{Account, ForceContext, ForceLaw, Load};
use crate::body::BodyId;
use crate::math::{Real, Vec3, lift, norm};
use crate::model::Model;
use crate::signal::BodyVector;
use crate::state::Wrench;

/// A spring and damper from a body-fixed point p to a place in space, as strong as a hand and no stronger:
///
/// ```text
/// F = k (x − p) − c ṗ,  shortened to |F| ≤ F_max
/// ```
/// x: where the hand is. No model file has it; viewers add it while somebody drags a body. Its work is booked as done from
/// outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// p, where it holds the body.
    pub point: BodyVector,
    /// x, world frame, m.
    pub target: Vec3,
    /// k, N/m.
    pub stiffness: f64,
    /// c, N s/m.
    pub damping: f64,
    /// F_max, N.
    pub max_force: f64,
}

impl Hand {
    /// A hand that holds `body` at a point of its principal frame, strong enough for all that hangs on the body:
    ///
    /// ```text
    /// k = M ω²,  c = 2 · 0.7 · M ω,  F_max = 30 M a
    /// ```
    /// M: mass of all bodies connected with it; ω = 2π · 1 Hz, and no more than what a step of `h` seconds follows with
    /// the body's own mass m, m (0.5/h)² = k; a: gravity, at least 9.81 m/s².
    pub fn new(model: &Model, body: BodyId, local: Vec3, target: Vec3, h: f64) -> Self {
        let graph = crate::graph::Graph::new(model);
        let own = model.bodies[body.index()].mass;
        let connected = graph.components.iter().find(|part| part.bodies.contains(&body.index()));
        let all: f64 = connected.map_or(own, |part| {
            let bodies = part.bodies.iter().map(|&i| &model.bodies[i]);
            bodies.filter(|body| !body.fixed).map(|body| body.mass).sum()
        });
        let omega = 2.0 * std::f64::consts::PI;
        let stiffness = (all * omega * omega).min(own * (0.5 / h).powi(2));
        let damping = (1.4 * (all * stiffness).sqrt()).min(own * 0.5 / h);
        let max_force = 30.0 * all * model.gravity.norm().max(9.81);
        let point = BodyVector { body, local, is_point: true };
        Hand { point, target, stiffness, damping, max_force }
    }

    /// F on the body, N.
    pub fn force<T: Real>(&self, context: &ForceContext<'_, T>) -> Vector3<T> {
        let stretch = lift::<T>(&self.target) - self.point.value(&context.at);
        let damped = self.point.rate(&context.at) * T::from(self.damping);
        let force = stretch * T::from(self.stiffness) - damped;
        let size = norm(&force);
        if size.value() > self.max_force { force * (T::from(self.max_force) / size) } else { force }
    }
}

impl<T: Real> Load<T> for Hand {
    fn add_wrench(&self, context: &ForceContext<'_, T>, wrench: &mut [Wrench<T>]) {
        let force = self.force(context);
        let load = &mut wrench[self.point.body.index()];
        load.force += force;
        load.torque += self.point.lever(&context.at).cross(&force);
    }
}

impl ForceLaw for Hand {
    fn account(&self) -> Account {
        Account::Work
    }

    fn depends_on_velocity(&self) -> bool {
        true
    }
}
