//! Axes without inertia, about which no joint has a moment.

use crate::body::BodyKind;
use crate::joint::{JointId, JointKind};
use crate::model::Model;
use crate::run::Reaction;
use crate::state::Pose;

/// Joints on bodies that have no inertia about some axis: thin rods.
///
/// A thin rod turns about its own axis for nothing. Where one joint alone acts on it, beside balls on its axis, that joint has no moment
/// about it: uᵀ(τ + (x − s) × F) = 0, with u the axis, x the joint's point and s the rod's centre. The equations of the joint say 0 = 0 there
/// and leave that moment open.
#[derive(Clone, Debug, Default)]
pub struct IdleAxes(Vec<Idle>);

#[derive(Clone, Debug)]
struct Idle {
    body: usize,
    /// The principal axis without inertia.
    axis: usize,
    /// Joints of the body; not those that are balls, and those.
    joints: Vec<JointId>,
    balls: Vec<JointId>,
}

impl IdleAxes {
    /// Those of a model.
    pub fn of(model: &Model) -> Self {
        let mut place = vec![usize::MAX; model.bodies.len()];
        let mut list: Vec<Idle> = Vec::new();
        for (i, body) in model.bodies.iter().enumerate() {
            let axis = (0..3).find(|&k| body.inertia[k] == 0.0);
            if let (Some(axis), false, BodyKind::Rigid) = (axis, body.fixed, body.kind) {
                place[i] = list.len();
                list.push(Idle { body: i, axis, joints: Vec::new(), balls: Vec::new() });
            }
        }
        for (id, joint) in (0..).map(JointId).zip(&model.joints) {
            for body in &joint.bodies {
                let Some(idle) = list.get_mut(place[body.index()]) else { continue };
                let ball = matches!(joint.kind, JointKind::Ball(_));
                if ball { &mut idle.balls } else { &mut idle.joints }.push(id);
            }
        }
        list.retain(|idle| !idle.joints.is_empty());
        IdleAxes(list)
    }

    /// Takes the moments about these axes out of reactions.
    pub fn drop_moments(
        &self,
        model: &Model,
        active: &[bool],
        poses: &[Pose],
        reactions: &mut [Reaction],
    ) {
        for Idle { body, axis, joints, balls } in &self.0 {
            let (s, u) = (poses[*body].s, poses[*body].rot.column(*axis).into_owned());
            let arm = |id: &JointId| {
                let joint = &model.joints[id.index()];
                let [a, b] = joint.bodies.map(|b| &poses[b.index()]);
                joint.kind.equations().force_point(a, b) - s
            };
            let mut there = joints.iter().filter(|id| active[id.index()]);
            let (Some(id), None) = (there.next(), there.next()) else { continue };
            let beside = |id: &&JointId| active[id.index()] && arm(id).cross(&u).norm() > 1e-9;
            if balls.iter().find(beside).is_none() {
                let Reaction { force, torque, .. } = &mut reactions[id.index()];
                *torque -= u * u.dot(&(*torque + arm(id).cross(force)));
            }
        }
    }
}
