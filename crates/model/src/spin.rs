//! The spin of thin rods: which axes without inertia are held by joints, and the small stand-in moment they get.
//!
//! A principal moment J_k = 0 leaves the spin about axis k without inertia of its own. Where every joint acts on points of that axis only, the spin
//! means nothing and J_k⁻¹ = 0 drops it. Where a joint acts off the axis, the spin is kept: it follows from the bodies joined to it, and it hands their
//! inertia on. Then J_k⁻¹ = 1/ε with a stand-in moment ε = [`STAND_IN`] × the body's largest moment, while J_k stays 0 in energies and gyroscopic
//! torques. With V = Σ ε n nᵀ over these axes n, M + V is what engines invert; the equations of motion are those of M exactly if V's own inertia
//! forces are given back:
//!
//! ```text
//! (M + V) a = f + Jᵀλ + V a        (v̇: [`HeldSpins`] with from = 0)
//! (M + V) Δv = Jᵀp + V Δv          (impulses: Δv against the velocities before)
//! ```
//! V a on the right comes from the round before; each round gains ε over the inertia that the joined bodies give. Left out, the motion is that of a rod
//! with the moment ε.

use crate::body::{Body, BodyId, BodyKind};
use crate::joint::JointKind;
use crate::math::Vec3;
use crate::model::Model;
use crate::rows::{Instant, RowBlock, RowKind};
use crate::signal::Work;
use crate::state::{Pose, Twist};

/// The stand-in moment over the largest moment of the body. Small beside the bodies joined to a rod, so that two or three rounds are exact; not so small
/// that K = J M⁻¹Jᵀ loses the digits of its other rows (K grows by its inverse).
pub const STAND_IN: f64 = 1e-5;

/// An entry of J about an axis below this, for joint points in m, is rounding.
const ROUNDING: f64 = 1e-9;

/// An axis without inertia that is held: body and principal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldSpin {
    /// The body.
    pub body: usize,
    /// The principal axis.
    pub axis: usize,
}

impl HeldSpin {
    /// ω about the axis, poses and twists in world axes.
    pub fn rate(&self, poses: &[Pose], twists: &[Twist]) -> f64 {
        poses[self.body].rot.column(self.axis).dot(&twists[self.body].omega)
    }
}

impl Body {
    /// Whether the moment about a principal axis is zero and its spin is held by joints.
    pub fn is_held(&self, axis: usize) -> bool {
        self.inertia[axis] == 0.0 && self.inertia_inv[axis] > 0.0
    }
}

impl Body {
    /// J⁻¹ with the largest moment in place of stand-ins, for measures that small stand-ins would hide everything else from.
    pub fn inertia_inv_even(&self) -> Vec3 {
        let even = |k: usize| {
            if self.is_held(k) { 1.0 / self.inertia.max() } else { self.inertia_inv[k] }
        };
        Vec3::from([0, 1, 2].map(even))
    }
}

impl Model {
    /// The axes without inertia that joints hold, in the order of bodies.
    pub fn held_spins(&self) -> Vec<HeldSpin> {
        let of_body = |(body, about): (usize, &Body)| {
            let held: Vec<HeldSpin> = (0..3)
                .filter(|axis| about.is_held(*axis))
                .map(|axis| HeldSpin { body, axis })
                .collect();
            held
        };
        self.bodies.iter().enumerate().flat_map(of_body).collect()
    }

    /// Gives stand-in moments to the axes without inertia that joints hold.
    pub(crate) fn hold_spins(&mut self) {
        let is_thin = |body: &Body| {
            let some = body.inertia.max() > 0.0 && body.inertia.iter().any(|j| *j == 0.0);
            body.kind == BodyKind::Rigid && !body.fixed && some
        };
        if !self.bodies.iter().any(is_thin) {
            return;
        }
        let mut held: Vec<(usize, usize)> = Vec::new();
        let hold = Hold::new(self);
        for (i, body) in self.bodies.iter().enumerate().filter(|(_, body)| is_thin(body)) {
            held.extend(
                (0..3).filter(|k| body.inertia[*k] == 0.0 && hold.is_held(i, *k)).map(|k| (i, k)),
            );
        }
        for (i, k) in held {
            let body = &mut self.bodies[i];
            body.inertia_inv[k] = 1.0 / (STAND_IN * body.inertia.max());
        }
    }
}

/// A model at its start, looked at for joints that act off an axis.
struct Hold<'m> {
    model: &'m Model,
    poses: Vec<Pose>,
    twists: Vec<Twist>,
    /// Row blocks of each body, without bounds. (n_bodies)
    rows: Vec<Vec<usize>>,
}

impl<'m> Hold<'m> {
    fn new(model: &'m Model) -> Self {
        let mut rows = vec![Vec::new(); model.bodies.len()];
        for (k, block) in model.rows.iter().enumerate().filter(|(_, block)| !block.is_bound()) {
            for body in &block.bodies {
                rows[body.index()].push(k);
            }
        }
        let ids = (0..model.bodies.len()).map(|i| BodyId(u32::try_from(i).unwrap_or(u32::MAX)));
        let poses = ids.map(|id| model.start.pose(id)).collect();
        Hold { model, poses, twists: vec![Twist::zero(); model.bodies.len()], rows }
    }

    /// Whether a row acts off a principal axis of a body.
    fn is_held(&self, body: usize, axis: usize) -> bool {
        let of_block = |k: &usize| {
            let block = &self.model.rows[*k];
            match &block.kind {
                RowKind::Equation(equation) => equation
                    .coordinates
                    .iter()
                    .filter(|(vector, _)| vector.body.index() == body)
                    .any(|(vector, _)| vector.local.cross(&Vec3::ith(axis, 1.0)).norm() > ROUNDING),
                RowKind::Joint(id) => {
                    let joint = &self.model.joints[id.index()];
                    let first = joint.bodies[0].index() == body;
                    match joint.kind {
                        // They keep to the axis for ever if they do so now.
                        JointKind::Ball(_)
                        | JointKind::Distance(_)
                        | JointKind::Rope(_)
                        | JointKind::Hinge(_)
                        | JointKind::Cylindrical(_) => self.acts_about(block, body, axis),
                        JointKind::Rail(_)
                        | JointKind::PlanePoint(_)
                        | JointKind::PointOnCurve(_)
                        | JointKind::PointOnSurface(_)
                            if !first =>
                        {
                            self.acts_about(block, body, axis)
                        }
                        _ => true,
                    }
                }
                _ => self.acts_about(block, body, axis),
            }
        };
        self.rows[body].iter().any(of_block)
    }

    /// Whether J of a block has an entry about a principal axis of a body at the start.
    fn acts_about(&self, block: &RowBlock, body: usize, axis: usize) -> bool {
        let Hold { model, poses, twists, .. } = self;
        let at = Instant { t: model.start.t, poses, twists, coordinates: &model.start.coordinate };
        let width = 6 * block.bodies.len();
        let mut jac = vec![0.0; block.n_rows * width];
        block.jacobian(model, &at, &mut Work::default(), &mut jac);
        let n = poses[body].rot.column(axis).into_owned();
        let mut slots = (0..block.bodies.len()).filter(|k| block.bodies[*k].index() == body);
        slots.any(|slot| {
            jac.chunks_exact(width).any(|row| {
                let turn = Vec3::from_column_slice(&row[6 * slot + 3..6 * slot + 6]);
                turn.dot(&n).abs() > ROUNDING
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{BodyDef, Builder};
    use crate::joint::{Ball, Hinge};
    use crate::math::Mat3;

    /// A thin rod along z with its upper end in the origin, on a joint.
    fn rod(hang: impl Fn(&mut Builder, BodyId)) -> Model {
        let mut builder = Builder::new("rod");
        let inertia = Mat3::from_diagonal(&Vec3::new(0.1, 0.1, 0.0));
        let body = builder.body(&BodyDef::new("rod", 1.0, inertia).at(Vec3::new(0.0, 0.0, -0.5)));
        hang(&mut builder, body);
        builder.finish()
    }

    fn hinge(builder: &mut Builder, body: BodyId, axis: Vec3) {
        let bodies = [BodyId::WORLD, body];
        let frames = builder.joint_frames(bodies, &Vec3::zeros(), &axis);
        builder.joint("pivot", bodies, JointKind::Hinge(Hinge::new(&frames[0], &frames[1])), None);
    }

    fn ball(builder: &mut Builder, body: BodyId, point: Vec3) {
        let bodies = [BodyId::WORLD, body];
        let frames = builder.joint_frames(bodies, &point, &Vec3::z());
        builder.joint("pivot", bodies, JointKind::Ball(Ball::new(&frames[0], &frames[1])), None);
    }

    #[test]
    fn joints_off_the_axis_hold_the_spin() {
        let held = [HeldSpin { body: 1, axis: 2 }];
        let across = rod(|builder, body| hinge(builder, body, Vec3::x()));
        assert_eq!(across.held_spins(), held);
        assert!((across.bodies[1].inertia_inv.z - 1.0 / (STAND_IN * 0.1)).abs() < 1e-6);
        assert!(across.bodies[1].inertia.z.abs() < f64::MIN_POSITIVE);
        let beside = rod(|builder, body| ball(builder, body, Vec3::new(0.1, 0.0, 0.0)));
        assert_eq!(beside.held_spins(), held);
    }

    #[test]
    fn joints_on_the_axis_leave_it_idle() {
        for model in [
            rod(|builder, body| ball(builder, body, Vec3::zeros())),
            rod(|builder, body| hinge(builder, body, Vec3::z())),
            rod(|_, _| {}),
        ] {
            assert!(model.held_spins().is_empty());
            assert!(model.bodies[1].inertia_inv.z.abs() < f64::MIN_POSITIVE);
        }
    }
}
