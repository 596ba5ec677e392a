//! Joints: bodies, points and axes.

use gelenk_expr::Expr;

use super::context::{Context, Quantity, Site};
use super::expand::{Element, Flat};
use super::frame::rotate;
use super::names::Kind;
use super::rotation::radians;
use super::scope::ScopeId;
use crate::body::BodyId;
use crate::description::{BodyPlacement, JointGeometry, MatExpr, Track, VecExpr};
use crate::joint::{
    JOINT_TYPES, JointFrame, JointId, JointKind, JointParameters, JointType, MAX_ROWS,
};
use crate::math::{Mat3, Vec3, perpendicular_frame};
use crate::source::Span;
use crate::spec::tables::JointSpec;
use crate::spec::{Text, did_you_mean, nearest};

/// A joint that is open by more than this at the start is refused, m or rad.
pub const OPEN_JOINT: f64 = 1e-6;

/// Two points, one on each body: in the world, and symbolically in the bodies' file frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) world: [Vec3; 2],
    pub(crate) local_expr: [VecExpr; 2],
    pub(crate) world_expr: [VecExpr; 2],
}

impl<'a> Context<'a> {
    /// Builds all joints; their drives and limits come after, since they may speak of other joints.
    pub(crate) fn build_joints(&mut self, flat: &Flat<'a>) {
        self.joint_ids = vec![None; self.names.list(Kind::Joint).len()];
        for joint in &flat.joints {
            self.joint_ids[joint.index] = self.joint(joint);
        }
    }

    fn joint(&mut self, joint: &Element<'a, JointSpec>) -> Option<JointId> {
        let spec = joint.spec;
        let kind = self.joint_type(&joint.site("type"), &spec.kind);
        let bodies = self.pair(joint, &spec.between, spec.span);
        let tolerance = match &spec.tolerance {
            Some(scalar) => Some(self.positive(&joint.site("tolerance"), scalar)?),
            None => None,
        };
        let (kind, bodies) = (kind?, bodies?);
        self.check_joint(joint, kind, bodies)?;
        let ends = self.joint_ends(joint, kind, bodies)?;
        let axes = if kind.axis { Some(self.joint_axes(joint, kind, bodies)?) } else { None };
        let mut frames = self.joint_frames(joint.scope, kind, bodies, &ends, axes.as_ref());
        let start = self.apply_start(joint, kind, &mut frames)?;
        let mut shown = Vec::new();
        let mut track = None;
        let parameters = self.joint_parameters(joint, kind, &ends, &mut shown, &mut track)?;
        let built = match JointKind::from_type(kind.name, &frames, &parameters) {
            Ok(built) => built,
            Err(message) => {
                let help = format!("a joint of type `{}`: {}", kind.name, kind.summary);
                self.error("bad-joint", &joint.site("joint"), spec.span, message, help);
                return None;
            }
        };
        self.check_closed(joint, &built, bodies);
        let id = self.builder.joint(&joint.name, bodies, built, tolerance);
        let formula = match &track {
            None => Vec::new(),
            Some(Track::Curve { place, .. }) => place.to_vec(),
            Some(Track::Surface { f, .. }) => vec![*f],
            Some(Track::Spline(points)) => points.iter().flatten().copied().collect(),
        };
        let track = track.map(|track| self.placed_track(joint.scope, bodies[0], &track));
        let geometry = JointGeometry {
            anchors: ends.local_expr,
            axes: axes.map(|axes| axes.local_expr),
            parameters: shown,
            as_drawn: kind.parameters.iter().any(|p| p.name == "length") && spec.length.is_none(),
            world_points: ends.world_expr,
            world_axes: axes.map(|axes| axes.world_expr),
            start,
            track,
            formula,
        };
        self.description.joints.push(geometry);
        Some(id)
    }

    fn joint_type(&mut self, site: &Site<'_>, text: &Text) -> Option<&'static JointType> {
        if text.poisoned {
            return None;
        }
        if let Some(kind) = JointType::named(&text.text) {
            return Some(kind);
        }
        let words = || JOINT_TYPES.iter().flat_map(|t| t.aliases.iter().copied().chain([t.name]));
        let near = nearest(&text.text, words()).and_then(JointType::known_elsewhere_as);
        let help = match (JointType::known_elsewhere_as(&text.text), near) {
            (Some(kind), _) => format!("it is called `{}` here", kind.name),
            (None, Some(kind)) => format!("did you mean `{}`?", kind.name),
            (None, None) => {
                did_you_mean(&text.text, JOINT_TYPES.iter().map(|t| t.name)).unwrap_or_default()
            }
        };
        let message = format!("there is no joint type `{}`", text.text);
        self.error("unknown-type", site, text.span, message, help);
        None
    }

    /// The two bodies of an element.
    pub(crate) fn pair<T>(
        &mut self,
        element: &Element<'a, T>,
        between: &[Text; 2],
        span: Span,
    ) -> Option<[BodyId; 2]> {
        let site = element.site("between");
        let [a, b] = between.each_ref().map(|text| self.body_named(&site, text));
        let bodies = [a?, b?];
        if bodies[0] == bodies[1] {
            let message = format!("both ends are on the same body, `{}`", between[0].text);
            let help = "name two different bodies; `world` is the ground";
            self.error("same-body", &site, between[1].span, message, help);
            return None;
        }
        if bodies.iter().all(|id| self.builder.model().bodies[id.index()].fixed) {
            let message = "both bodies are fixed, so nothing can move";
            let help = "remove it, or let one of the bodies move";
            self.error("immovable", &site, span, message, help);
            return None;
        }
        Some(bodies)
    }

    /// Keys that this type of joint cannot use.
    fn check_joint(
        &mut self,
        joint: &Element<'a, JointSpec>,
        kind: &JointType,
        bodies: [BodyId; 2],
    ) -> Option<()> {
        let spec = joint.spec;
        let takes = |name: &str| kind.parameters.iter().any(|p| p.name == name);
        let keys = [
            ("axis", spec.axis.is_some(), kind.axis),
            ("axes", spec.axes.is_some(), kind.axis),
            ("axis2", spec.axis2.is_some(), kind.name == "universal"),
            ("pitch", spec.pitch.is_some(), takes("pitch")),
            ("length", spec.length.is_some(), takes("length")),
            ("curve", spec.curve.is_some(), takes("curve")),
            ("surface", spec.surface.is_some(), takes("surface")),
        ];
        for (key, given, used) in keys {
            if given && !used {
                let message = format!("a joint of type `{}` has no `{key}`", kind.name);
                self.error("unused-key", &joint.site(key), spec.span, message, "remove the key");
            }
        }
        let point = bodies.iter().position(|id| {
            self.builder.model().bodies[id.index()].kind == crate::body::BodyKind::Point
        });
        if let Some(side) = point
            && !kind.of_points
        {
            let name = &spec.between[side].text;
            let message = format!("`{name}` is a point mass and has no direction to hold");
            let of_points = JOINT_TYPES.iter().filter(|t| t.of_points).map(|t| t.name);
            let list = of_points.collect::<Vec<_>>().join(", ");
            let help = format!("use a joint of points ({list}), or a body");
            self.error("bad-joint", &joint.site("joint"), spec.span, message, help);
            return None;
        }
        Some(())
    }

    /// The points that a joint joins.
    fn joint_ends(
        &mut self,
        joint: &Element<'a, JointSpec>,
        kind: &JointType,
        bodies: [BodyId; 2],
    ) -> Option<Ends> {
        let spec = joint.spec;
        let given = [spec.point.is_some(), spec.points.is_some(), spec.anchors.is_some()];
        let n = given.iter().filter(|g| **g).count();
        let site = joint.site("point");
        if n > 1 {
            let message = "the place of the joint is given more than once";
            let help = "keep one of `point`, `points` and `anchors`";
            self.error("place-twice", &site, spec.span, message, help);
            return None;
        }
        if let Some(point) = &spec.point {
            let (expr, value) = self.place(&site, point)?;
            return Some(self.world_ends(joint.scope, bodies, [expr; 2], [value; 2]));
        }
        if let Some(points) = &spec.points {
            let [a, b] = points.each_ref().map(|p| self.place(&site, p));
            let ((a_expr, a), (b_expr, b)) = (a?, b?);
            return Some(self.world_ends(joint.scope, bodies, [a_expr, b_expr], [a, b]));
        }
        if let Some(anchors) = &spec.anchors {
            let [a, b] = anchors.each_ref().map(|p| self.place(&joint.site("anchors"), p));
            let ((a_expr, a), (b_expr, b)) = (a?, b?);
            return Some(self.local_ends(joint.scope, bodies, [a_expr, b_expr], [a, b]));
        }
        let origins = [[Expr::ZERO; 3]; 2];
        match kind.name {
            "distance" | "rope" => {
                Some(self.local_ends(joint.scope, bodies, origins, [Vec3::zeros(); 2]))
            }
            // At the origin of the second body, or of the first if the second is the world.
            "fixed" | "translation" | "curve" | "surface" => {
                let side = usize::from(bodies[1] != BodyId::WORLD);
                let frame = self.body_frames[bodies[side].index()].clone();
                let local_expr = bodies.map(|id| self.local_expr(id, &frame.position_expr));
                let world_expr = [frame.position_expr; 2];
                Some(Ends { world: [frame.position; 2], local_expr, world_expr })
            }
            _ => {
                let message = "the place of the joint is missing";
                let help = "give `point` in world coordinates, or `anchors` in the bodies' own";
                self.error("missing-key", &site, spec.span, message, help);
                None
            }
        }
    }

    /// Points given in world coordinates of a scope.
    pub(crate) fn world_ends(
        &mut self,
        scope: ScopeId,
        bodies: [BodyId; 2],
        expr: [VecExpr; 2],
        value: [Vec3; 2],
    ) -> Ends {
        let frame = self.scopes[scope.0].frame.clone();
        let world = value.map(|p| frame.point(&p));
        let world_expr = expr.map(|p| frame.point_expr(&mut self.pool, &p));
        let local_expr = [0, 1].map(|i| self.local_expr(bodies[i], &world_expr[i]));
        Ends { world, local_expr, world_expr }
    }

    /// Points given in the bodies' own frames.
    pub(crate) fn local_ends(
        &mut self,
        scope: ScopeId,
        bodies: [BodyId; 2],
        expr: [VecExpr; 2],
        value: [Vec3; 2],
    ) -> Ends {
        let part = self.scopes[scope.0].frame.clone();
        let mut ends = Ends { world: value, local_expr: expr, world_expr: expr };
        for i in 0..2 {
            if bodies[i] == BodyId::WORLD {
                // The world's own frame is that of the part.
                ends.world[i] = part.point(&value[i]);
                ends.local_expr[i] = part.point_expr(&mut self.pool, &expr[i]);
                ends.world_expr[i] = ends.local_expr[i];
            } else {
                let frame = self.body_frames[bodies[i].index()].clone();
                ends.world[i] = frame.point(&value[i]);
                ends.world_expr[i] = frame.point_expr(&mut self.pool, &expr[i]);
            }
        }
        ends
    }

    /// Rᵀ (p − x): a world point in a body's file frame.
    pub(crate) fn local_expr(&mut self, body: BodyId, p: &VecExpr) -> VecExpr {
        let frame = self.body_frames[body.index()].clone();
        let d = [0, 1, 2].map(|i| self.pool.sub(p[i], frame.position_expr[i]));
        rotate(&mut self.pool, &frame.rotation_expr.map(transpose), &d)
    }

    /// The joint's axes: in the world, and symbolically in the bodies' file frames.
    fn joint_axes(
        &mut self,
        joint: &Element<'a, JointSpec>,
        kind: &JointType,
        bodies: [BodyId; 2],
    ) -> Option<Ends> {
        let spec = joint.spec;
        let site = joint.site("axis");
        let universal = kind.name == "universal";
        let part = self.scopes[joint.scope.0].frame.clone();
        let ends = match (&spec.axis, &spec.axes) {
            (Some(_), Some(_)) => {
                let message = "the axis is given twice";
                self.error("place-twice", &site, spec.span, message, "keep `axis` or `axes`");
                return None;
            }
            (None, None) => {
                let message = format!("a joint of type `{}` needs `axis`", kind.name);
                let help = "give a direction in world coordinates, such as axis = [0, 1, 0]";
                self.error("missing-key", &site, spec.span, message, help);
                return None;
            }
            (Some(axis), None) => {
                let first = self.direction(&site, axis);
                let second = match (&spec.axis2, universal) {
                    (Some(axis2), true) => self.direction(&joint.site("axis2"), axis2),
                    (None, true) => {
                        let message = "a joint of type `universal` needs `axis2`";
                        let help = "give the axis on the second body, at a right angle to `axis`";
                        self.error("missing-key", &site, spec.span, message, help);
                        None
                    }
                    _ => first,
                };
                let ((a_expr, a), (b_expr, b)) = (first?, second?);
                let world_expr =
                    [a_expr, b_expr].map(|v| rotate(&mut self.pool, &part.rotation_expr, &v));
                let local_expr = [0, 1].map(|i| {
                    let frame = self.body_frames[bodies[i].index()].clone();
                    rotate(&mut self.pool, &frame.rotation_expr.map(transpose), &world_expr[i])
                });
                Ends { world: [part.rotation * a, part.rotation * b], local_expr, world_expr }
            }
            (None, Some(axes)) => {
                let [a, b] = axes.each_ref().map(|v| self.direction(&joint.site("axes"), v));
                let ((a_expr, a), (b_expr, b)) = (a?, b?);
                let exprs = [a_expr, b_expr];
                let mut ends = Ends { world: [a, b], local_expr: exprs, world_expr: exprs };
                for i in 0..2 {
                    if bodies[i] == BodyId::WORLD {
                        ends.world[i] = part.rotation * ends.world[i];
                        ends.local_expr[i] =
                            rotate(&mut self.pool, &part.rotation_expr, &ends.local_expr[i]);
                        ends.world_expr[i] = ends.local_expr[i];
                    } else {
                        let frame = self.body_frames[bodies[i].index()].clone();
                        ends.world[i] = frame.rotation * ends.world[i];
                        ends.world_expr[i] =
                            rotate(&mut self.pool, &frame.rotation_expr, &exprs[i]);
                    }
                }
                ends
            }
        };
        if universal && ends.world[0].cross(&ends.world[1]).norm() < 1e-3 {
            let message = "the two axes are parallel";
            let help = "the axes of a universal joint stand at a right angle";
            self.error("bad-joint", &site, spec.span, message, help);
            return None;
        }
        Some(ends)
    }

    /// Joint frames in the principal frames of the bodies. z is the axis; x is common to both bodies at the start.
    fn joint_frames(
        &self,
        scope: ScopeId,
        kind: &JointType,
        bodies: [BodyId; 2],
        ends: &Ends,
        axes: Option<&Ends>,
    ) -> [JointFrame; 2] {
        // Curves and surfaces are given in the file frame of the first body.
        let is_track = matches!(kind.name, "curve" | "surface");
        let first = match bodies[0] {
            BodyId::WORLD => &self.scopes[scope.0].frame,
            id => &self.body_frames[id.index()],
        };
        let world_axes: [Mat3; 2] = match axes {
            None if is_track => [first.rotation.to_rotation_matrix().into_inner(); 2],
            None => [Mat3::identity(); 2],
            Some(axes) if kind.name == "universal" => {
                let [z_a, x_b] = axes.world;
                let x_a = (x_b - z_a * z_a.dot(&x_b)).normalize();
                let z_b = (z_a - x_b * x_b.dot(&z_a)).normalize();
                [columns(x_a, z_a), columns(x_b, z_b)]
            }
            Some(axes) => {
                let [z_a, z_b] = axes.world;
                let (x_a, _) = perpendicular_frame(&z_a);
                let across = x_a - z_b * z_b.dot(&x_a);
                let x_b = if across.norm() > 1e-6 {
                    across.normalize()
                } else {
                    perpendicular_frame(&z_b).0
                };
                [columns(x_a, z_a), columns(x_b, z_b)]
            }
        };
        [0, 1].map(|i| {
            let pose = self.builder.model().start.pose(bodies[i]);
            let origin = if i == 0 && is_track { first.position } else { ends.world[i] };
            JointFrame {
                origin: pose.rot.transpose() * (origin - pose.s),
                axes: pose.rot.transpose() * world_axes[i],
            }
        })
    }

    /// Moves the zero of the coordinate so that it has the given value as drawn; returns that value.
    fn apply_start(
        &mut self,
        joint: &Element<'a, JointSpec>,
        kind: &JointType,
        frames: &mut [JointFrame; 2],
    ) -> Option<Expr> {
        let spec = joint.spec;
        let site = joint.site("drawn_at");
        for (old, scalar) in [("start", &spec.start), ("start_deg", &spec.start_deg)] {
            let Some(scalar) = scalar else { continue };
            let new = old.replace("start", "drawn_at");
            let message = format!(
                "`{old}` of a joint is now called `{new}`: it moves the zero, not the bodies"
            );
            let help = format!("write `{new}`; to begin in another posture: [[start]] joint = ...");
            self.warn("old-key", &joint.site(old), scalar.span, message, help);
        }
        let given = [
            ("drawn_at", &spec.drawn_at, false),
            ("drawn_at_deg", &spec.drawn_at_deg, true),
            ("start", &spec.start, false),
            ("start_deg", &spec.start_deg, true),
        ];
        let mut given = given.into_iter().filter_map(|(k, s, deg)| s.as_ref().map(|s| (k, s, deg)));
        let Some((key, scalar, degrees)) = given.next() else { return Some(Expr::ZERO) };
        if let Some((_, second, _)) = given.next() {
            let message = "the value as drawn is given twice";
            self.error("place-twice", &site, second.span, message, "keep one of the two");
            return None;
        }
        let mut start = self.quantity(&site, scalar)?;
        let value = start.value;
        if degrees {
            start = radians(&mut self.pool, start);
        }
        match kind.name {
            "hinge" => {
                let angle = if degrees { value.to_radians() } else { value };
                let turn = nalgebra::Rotation3::new(Vec3::z() * -angle).into_inner();
                frames[0].axes *= turn;
            }
            "slider" | "rail" if !degrees => {
                let z: Vec3 = frames[0].axes.column(2).into();
                frames[0].origin -= z * value;
            }
            name => {
                let message = format!("a joint of type `{name}` has no `{key}`");
                let help = "`drawn_at` is for hinge, slider and rail, `drawn_at_deg` for hinge";
                self.error("unused-key", &site, scalar.span, message, help);
                return None;
            }
        }
        Some(start.expr)
    }

    /// A curve or surface, given in the frame of the first body, in the world.
    fn placed_track(&mut self, scope: ScopeId, first: BodyId, track: &Track) -> Track {
        let frame = match first {
            BodyId::WORLD => self.scopes[scope.0].frame.clone(),
            id => self.body_frames[id.index()].clone(),
        };
        match track.clone() {
            Track::Curve { u, place } => {
                Track::Curve { u, place: frame.point_expr(&mut self.pool, &place) }
            }
            Track::Surface { x, f, .. } => {
                let (position, rotation) = (frame.position_expr, frame.rotation_expr);
                Track::Surface { x, f, frame: BodyPlacement { position, rotation, along: None } }
            }
            spline @ Track::Spline(_) => spline,
        }
    }

    /// Length, pitch, curve or surface.
    fn joint_parameters(
        &mut self,
        joint: &Element<'a, JointSpec>,
        kind: &JointType,
        ends: &Ends,
        shown: &mut Vec<(&'static str, Expr)>,
        track: &mut Option<Track>,
    ) -> Option<JointParameters> {
        let spec = joint.spec;
        let mut parameters = JointParameters::default();
        for parameter in kind.parameters {
            match parameter.name {
                "length" => {
                    let length = if let Some(scalar) = &spec.length {
                        self.length(&joint.site("length"), scalar)?
                    } else {
                        self.drawn_length(ends)
                    };
                    shown.push(("length", length.expr));
                    parameters.length = Some(length.value);
                }
                "pitch" => {
                    if let Some(scalar) = &spec.pitch {
                        let pitch = self.quantity(&joint.site("pitch"), scalar)?;
                        shown.push(("pitch", pitch.expr));
                        parameters.pitch = Some(pitch.value);
                    }
                }
                "curve" => {
                    if let Some(curve) = &spec.curve {
                        let (path, formula) = self.path(joint, curve)?;
                        parameters.path = Some(path);
                        *track = Some(formula);
                    }
                }
                "surface" => {
                    if let Some(text) = &spec.surface {
                        let (surface, formula) = self.surface(joint, text)?;
                        parameters.surface = Some(surface);
                        *track = Some(formula);
                    }
                }
                _ => {}
            }
        }
        Some(parameters)
    }

    /// The distance between two points as drawn; an expression where parameters move them.
    pub(crate) fn drawn_length(&mut self, ends: &Ends) -> Quantity {
        let value = (ends.world[1] - ends.world[0]).norm();
        let [a, b] = &ends.world_expr;
        let gap = [0, 1, 2].map(|i| self.pool.sub(b[i], a[i]));
        if gap.iter().all(|e| self.pool.symbols_of(*e).is_empty()) {
            return Quantity { expr: self.pool.float(value), value };
        }
        let squares = gap.map(|e| self.pool.mul(&[e, e]));
        let squared = self.pool.add(&squares);
        Quantity { expr: self.pool.sqrt(squared), value }
    }

    /// Refuses a joint that is open at the start.
    fn check_closed(
        &mut self,
        joint: &Element<'a, JointSpec>,
        kind: &JointKind,
        bodies: [BodyId; 2],
    ) {
        if self.options.allow_open
            || self.has_starts
            || bodies.iter().any(|id| self.misplaced[id.index()])
        {
            return;
        }
        let equations = kind.equations();
        let [a, b] = bodies.map(|id| self.builder.model().start.pose(id));
        let mut c = [0.0; MAX_ROWS];
        equations.position_error(&a, &b, &mut c);
        let mut open: Vec<String> = Vec::new();
        for (i, error) in c[..equations.n_rows()].iter().enumerate() {
            let error = if equations.one_sided() { error.max(0.0) } else { *error };
            if error.abs() > OPEN_JOINT || !error.is_finite() {
                open.push(format!("{} {error:.3e}", equations.row_name(i)));
            }
        }
        if open.is_empty() {
            return;
        }
        let n = if equations.n_rows() >= 3 { 3 } else { equations.n_rows() };
        let gap = c[..n].iter().map(|x| x * x).sum::<f64>().sqrt();
        let open = open.join(", ");
        // Bodies that meet but are turned wrong have no gap to tell.
        let (message, help) = if gap > OPEN_JOINT || !gap.is_finite() {
            let message =
                format!("the joint is open at the start, by {gap:.6} m ({open} m or rad)");
            (
                message,
                "move the bodies or the anchors so that they meet, or let `gelenk assemble` close it",
            )
        } else {
            let message =
                format!("the bodies meet, but are turned wrong for the joint: {open} (rad)");
            (message, "turn the bodies or correct the axes, or let `gelenk assemble` close it")
        };
        self.error("open-joint", &joint.site("joint"), joint.spec.span, message, help);
    }
}

fn columns(x: Vec3, z: Vec3) -> Mat3 {
    Mat3::from_columns(&[x, z.cross(&x), z])
}

pub(crate) fn transpose(m: MatExpr) -> MatExpr {
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| m[j][i]))
}
