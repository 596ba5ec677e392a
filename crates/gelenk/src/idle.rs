//! Forces that turn thin rods about their own axis, about which they have no inertia and no joint gives them any.
//!
//! Where every joint acts on points of the axis, the spin of a rod means nothing and engines leave it out, each with an angle of its own. A force at a point beside the
//! axis depends on that angle, so that it has no motion of its own: the limit of a small inertia is a spin that swings ever faster.

use gelenk_model::force::{ForceContext, ForceKind};
use gelenk_model::math::{Mat3, Quat, Vec3};
use gelenk_model::rows::Instant;
use gelenk_model::{BodyKind, Model, Pose, Twist, Wrench};

/// A moment about the axis below this part of force and torque is rounding.
const ROUNDING: f64 = 1e-9;

/// A force and the rod that it turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdleTurn {
    /// The force, by name.
    pub(crate) force: String,
    /// The body, by name.
    pub(crate) body: String,
}

/// The first spring, damper or applied force that has a moment about an axis without inertia that no joint holds, somewhere near the start.
pub(crate) fn idle_turn(model: &Model) -> Option<IdleTurn> {
    let axes: Vec<(usize, usize)> = model
        .bodies
        .iter()
        .enumerate()
        .filter(|(_, body)| body.kind == BodyKind::Rigid && !body.fixed)
        .flat_map(|(i, body)| (0..3).map(move |k| (i, k, body)))
        .filter(|(_, k, body)| body.inertia[*k] == 0.0 && body.inertia_inv[*k] == 0.0)
        .map(|(i, k, _)| (i, k))
        .collect();
    if axes.is_empty() {
        return None;
    }
    // In no special place, and moving, so that dampers act and arms do not vanish by chance.
    let odd = |i: usize| {
        let x = 1.0 + i as f64;
        Vec3::new((2.3 * x).sin(), (3.1 * x).cos(), (4.7 * x).sin())
    };
    let start = &model.start;
    let mut poses = vec![Pose { s: Vec3::zeros(), rot: Mat3::identity() }; model.n_bodies()];
    start.write_poses(&mut poses);
    let mut twists = vec![Twist::zero(); model.n_bodies()];
    for (i, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.fixed) {
        poses[i].s += 0.01 * odd(i);
        if body.kind == BodyKind::Rigid {
            let turn = Quat::from_scaled_axis(0.2 * odd(i + 7)).to_rotation_matrix();
            poses[i].rot = turn.matrix() * poses[i].rot;
        }
        twists[i] = Twist { s_dot: odd(i + 3), omega: odd(i + 5) };
    }
    let at = Instant { t: start.t, poses: &poses, twists: &twists, coordinates: &start.coordinate };
    let mut signals = vec![0.0; model.signals.n];
    model.signals.evaluate(model, &at, &mut model.work(), &mut signals);
    let context = ForceContext { model, at, signals: &signals };
    let of_points = |kind: &ForceKind| {
        matches!(kind, ForceKind::Spring(_) | ForceKind::Damper(_) | ForceKind::Applied(_))
    };
    for force in model.forces.iter().filter(|force| of_points(&force.kind)) {
        let mut loads = vec![Wrench::zero(); model.n_bodies()];
        force.kind.law().add_wrench(&context, &mut loads);
        let turns = |(body, axis): &&(usize, usize)| {
            let Wrench { force, torque } = &loads[*body];
            let moment = poses[*body].rot.column(*axis).dot(torque).abs();
            force.norm() > 0.0 && moment > ROUNDING * (force.norm() + torque.norm())
        };
        if let Some((body, _)) = axes.iter().find(turns) {
            return Some(IdleTurn {
                force: force.name.clone(),
                body: model.bodies[*body].name.clone(),
            });
        }
    }
    None
}
