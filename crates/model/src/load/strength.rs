//! End stops, friction and strength of joints.

use super::context::{Allowed, Context};
use super::expand::Element;
use super::joints::OPEN_JOINT;
use super::rotation::radians;
use crate::description::LimitValues;
use crate::joint::{CoordinateKind, JointId, JointKind, JointProperties, Limit};
use crate::spec::Scalar;
use crate::spec::tables::{JointSpec, LimitSpec};

impl<'a> Context<'a> {
    pub(crate) fn joint_properties(&mut self, joint: &Element<'a, JointSpec>, id: JointId) {
        let spec = joint.spec;
        let mut properties = JointProperties::default();
        for spec in &spec.limits.0 {
            let Some(limit) = self.limit(joint, id, spec) else { continue };
            if properties.limits.iter().any(|other| other.which == limit.which) {
                let name = self.coordinates(id)[limit.which].name;
                let message = format!("the limits of `{name}` are given twice");
                self.error("place-twice", &joint.site("limits"), spec.span, message, "keep one");
            }
            properties.limits.push(limit);
        }
        if let Some(friction) = &spec.friction {
            let site = joint.site("friction");
            let mut list = vec![0.0; self.coordinates(id).len()];
            for (which, scalar) in self.per_coordinate(&site, id, friction).unwrap_or_default() {
                list[which] = self.not_negative(&site, scalar).unwrap_or(0.0);
                if list[which] > 0.0
                    && let Some(expr) = self.scalar_expr(&site, scalar, Allowed::Constant)
                {
                    self.description.frictions.push((id, which, expr));
                }
            }
            if list.iter().any(|force| *force > 0.0) {
                properties.friction = list;
            }
        }
        let strength = |context: &mut Self, what, scalar: &Option<Scalar>| {
            let scalar = scalar.as_ref()?;
            context.positive(&joint.site(what), scalar)
        };
        properties.break_force = strength(self, "break_force", &spec.break_force);
        properties.break_torque = strength(self, "break_torque", &spec.break_torque);
        properties.collide = spec.collide == Some(true);
        let kind = &self.builder.model().joints[id.index()].kind;
        if properties.collide && matches!(kind, JointKind::Fixed(_)) {
            let message = "bodies that are fixed to each other cannot touch";
            self.error("unused-key", &joint.site("collide"), spec.span, message, "remove the key");
        }
        if properties != JointProperties::default() {
            self.builder.joint_properties(id, properties);
        }
    }

    fn limit(
        &mut self,
        joint: &Element<'a, JointSpec>,
        id: JointId,
        spec: &LimitSpec,
    ) -> Option<Limit> {
        let site = joint.site("limits");
        let degrees = spec.min_deg.is_some() || spec.max_deg.is_some();
        let kind = degrees.then_some(CoordinateKind::Angle);
        let which = self.which(&site, spec.span, id, spec.coordinate.as_ref(), kind);
        let mut bound =
            |plain: &Option<Scalar>, deg: &Option<Scalar>, default: f64| match (plain, deg) {
                (Some(_), Some(second)) => {
                    self.error(
                        "place-twice",
                        &site,
                        second.span,
                        "the limit is given twice",
                        "keep one",
                    );
                    None
                }
                (Some(scalar), None) => {
                    self.quantity(&site, scalar).map(|q| (Some(q.expr), q.value))
                }
                (None, Some(scalar)) => {
                    let quantity = self.quantity(&site, scalar)?;
                    let quantity = radians(&mut self.pool, quantity);
                    Some((Some(quantity.expr), quantity.value))
                }
                (None, None) => Some((None, default)),
            };
        let min = bound(&spec.min, &spec.min_deg, f64::NEG_INFINITY);
        let max = bound(&spec.max, &spec.max_deg, f64::INFINITY);
        let restitution = match &spec.restitution {
            Some(scalar) => self.fraction(&joint.site("restitution"), scalar),
            None => Some(0.0),
        };
        let (which, (min_expr, min), (max_expr, max)) = (which?, min?, max?);
        let limit = Limit { which, min, max, restitution: restitution? };
        if limit.min > limit.max {
            let message = format!("min = {} is larger than max = {}", limit.min, limit.max);
            self.error("min-above-max", &site, spec.span, message, "swap the two");
            return None;
        }
        if limit.min == f64::NEG_INFINITY && limit.max == f64::INFINITY {
            let message = "the limits are empty";
            self.error("missing-key", &site, spec.span, message, "give `min`, `max` or both");
            return None;
        }
        let start = self.start_coordinate(id, limit.which);
        let outside = start < limit.min - OPEN_JOINT || start > limit.max + OPEN_JOINT;
        // With start values of their own all limits are looked at there.
        if outside && !self.has_starts {
            let message = format!(
                "the joint starts at {start}, outside its limits from {} to {}",
                limit.min, limit.max
            );
            let help = "move the bodies, set the joint's `drawn_at`, or change the limits";
            self.error("out-of-range", &site, spec.span, message, help);
        }
        let ends = [min_expr, max_expr];
        self.description.limits.push(LimitValues { joint: id, which, ends });
        Some(limit)
    }
}
