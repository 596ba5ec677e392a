//! `[[start]]`: where bodies begin, apart from where they are drawn.

use gelenk_expr::Expr;

use super::context::{Context, Site};
use super::joints::OPEN_JOINT;
use super::scope::ScopeId;
use crate::body::BodyKind;
use crate::description::{MatExpr, StartValues};
use crate::math::{Quat, Vec3};
use crate::rows::Instant;
use crate::spec::tables::{FileSpec, StartSpec};
use crate::state::{Pose, Twist};

const IDENTITY: MatExpr = {
    let (o, e) = (Expr::ZERO, Expr::ONE);
    [[e, o, o], [o, e, o], [o, o, e]]
};

impl Context<'_> {
    /// Moves bodies to their start values; a later entry replaces an earlier one. Joints keep the places on the bodies
    /// that they were drawn with.
    pub(crate) fn build_starts(&mut self, file: &FileSpec) {
        let Some(first) = file.start.first() else { return };
        for start in &file.start {
            self.start(start);
        }
        self.builder.follow_coordinates();
        if !self.options.allow_open && self.report.n_errors() == 0 {
            self.check_starts(first);
        }
    }

    fn start(&mut self, spec: &StartSpec) {
        let element = format!("start of `{}`", spec.body.text);
        let site = Site::new(ScopeId::ROOT, &element, "body");
        let body = self.body_named(&site, &spec.body);
        let frame = self.frame(&site, spec.position.as_ref(), spec.rotation.as_ref());
        let mut vector = |what, v| {
            let v: Option<&crate::spec::Vec3Spec> = v;
            v.map_or(Some(None), |v| self.start_vector(&site.on(what), Some(v)).map(Some))
        };
        let velocity = vector("velocity", spec.velocity.as_ref());
        let angular_velocity = vector("angular_velocity", spec.angular_velocity.as_ref());
        let (Some(body), Some(frame)) = (body, frame) else { return };
        let (Some(velocity), Some(angular_velocity)) = (velocity, angular_velocity) else { return };
        let about = &self.builder.model().bodies[body.index()];
        if about.fixed {
            let message = "it does not move, and begins where it is drawn";
            self.error("fixed-moves", &site, spec.span, message, "remove this entry");
            return;
        }
        let turns = spec.rotation.is_some() || spec.angular_velocity.is_some();
        if about.kind == BodyKind::Point && turns {
            let message = "a point does not turn";
            let help = "remove `rotation` and `angular_velocity`";
            self.error("point-turns", &site, spec.span, message, help);
            return;
        }
        let position: Option<Vec3> = spec.position.is_some().then_some(frame.position);
        let rotation: Option<Quat> = spec.rotation.is_some().then_some(frame.rotation);
        let (velocity_expr, velocity) = velocity.unzip();
        let (spin_expr, angular_velocity) = angular_velocity.unzip();
        let rotation_expr = frame.rotation_expr.unwrap_or(IDENTITY);
        self.description.starts.push(StartValues {
            body,
            position: spec.position.is_some().then_some(frame.position_expr),
            rotation: spec.rotation.is_some().then_some(rotation_expr),
            velocity: velocity_expr,
            angular_velocity: spin_expr,
        });
        self.builder.begin_at(body, position, rotation, velocity, angular_velocity);
    }

    /// Refuses start values with which a joint, coupling or equation is open.
    fn check_starts(&mut self, first: &StartSpec) {
        let model = self.builder.model();
        let n = model.n_bodies();
        let (mut poses, mut twists) = (vec![Pose::identity(); n], vec![Twist::zero(); n]);
        model.start.write_poses(&mut poses);
        model.start.write_twists(&mut twists);
        let coordinates = &model.start.coordinate;
        let at = Instant { t: model.start.t, poses: &poses, twists: &twists, coordinates };
        let mut work = model.work();
        let mut faults = Vec::new();
        for block in &model.rows {
            let mut c = vec![0.0; block.n_rows];
            block.error(model, &at, &mut work, &mut c);
            let one_sided = block.one_sided(model);
            let gap = c.iter().map(|&c| if one_sided { c.max(0.0) } else { c.abs() });
            let gap = gap.fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a });
            if gap > OPEN_JOINT || gap.is_nan() {
                faults.push(format!(
                    "`{}` is open by {gap:.3e} m or rad with these values",
                    block.name
                ));
            }
        }
        let mut outside = Vec::new();
        for joint in &model.joints {
            for limit in &joint.properties.limits {
                let q = model.start.coordinate[joint.first_coordinate + limit.which];
                if q < limit.min - OPEN_JOINT || q > limit.max + OPEN_JOINT {
                    outside.push(format!(
                        "the joint `{}` starts at {q}, outside its limits from {} to {}",
                        joint.name, limit.min, limit.max
                    ));
                }
            }
        }
        let site = Site::new(ScopeId::ROOT, "[[start]]", "start");
        for message in outside {
            let help = "move the bodies, or change the limits";
            self.error("out-of-range", &site, first.span, message, help);
        }
        for message in faults {
            let help = "`gelenk assemble MODEL --output FILE` writes values that fit";
            self.error("open-joint", &site, first.span, message, help);
        }
    }
}
