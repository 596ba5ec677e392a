//! Springs, dampers and forces.

use gelenk_expr::Expr;

use super::context::{Allowed, Context, Site};
use super::expand::{Element, Flat};
use super::frame::rotate;
use super::joints::Ends;
use crate::body::BodyId;
use crate::description::ForceValues;
use crate::force::{AppliedForce, Axes, Damper, Drag, ForceKind, PointPair, RodTorque, Spring};
use crate::math::Vec3;
use crate::signal::{BodyVector, Value};
use crate::source::Span;
use crate::spec::tables::{DamperSpec, DragSpec, ForceSpec, SpringSpec};
use crate::spec::{Scalar, Vec3Spec};

impl<'a> Context<'a> {
    /// Builds all force elements.
    pub(crate) fn build_forces(&mut self, flat: &Flat<'a>) {
        for spring in &flat.springs {
            self.spring(spring);
        }
        for damper in &flat.dampers {
            self.damper(damper);
        }
        for force in &flat.forces {
            self.applied(force);
        }
        for drag in &flat.drags {
            self.drag(drag);
        }
    }

    /// A number that may depend on time and state: its expression, and a constant or a signal.
    pub(crate) fn live(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<(Expr, Value)> {
        let expr = self.scalar_expr(site, scalar, Allowed::State)?;
        let value = self.live_value(site, scalar.span, expr)?;
        Some((expr, value))
    }

    /// An expression as a constant or a signal.
    pub(crate) fn live_value(&mut self, site: &Site<'_>, span: Span, expr: Expr) -> Option<Value> {
        if self.changes(expr) {
            let known = self.signals.iter().position(|s| *s == expr);
            let signal = known.unwrap_or_else(|| {
                self.signals.push(expr);
                self.signals.len() - 1
            });
            return Some(Value::Signal(signal));
        }
        self.finite(site, span, expr).map(Value::Constant)
    }

    /// Whether an expression depends on time or state.
    pub(crate) fn changes(&mut self, expr: Expr) -> bool {
        let time = self.pool.time();
        let symbols = self.pool.symbols_of(expr);
        symbols.iter().any(|s| *s == time || self.states.contains_key(s))
    }

    /// Warns of a negative constant.
    pub(crate) fn warn_negative(&mut self, site: &Site<'_>, span: Span, value: Value) {
        if let Value::Constant(value) = value
            && value < 0.0
        {
            let message = format!("{} is negative: {value}", site.what);
            self.warn("negative", site, span, message, "it adds energy; check the sign");
        }
    }

    /// Adds a force element with its symbolic values.
    pub(crate) fn add_force(&mut self, name: &str, kind: ForceKind, values: ForceValues) {
        self.builder.force(name, kind);
        self.description.forces.push(values);
    }

    /// The ends of a spring or damper.
    fn ends<T>(
        &mut self,
        element: &Element<'a, T>,
        bodies: [BodyId; 2],
        points: Option<&[Vec3Spec; 2]>,
        anchors: Option<&[Vec3Spec; 2]>,
        span: Span,
    ) -> Option<Ends> {
        match (points, anchors) {
            (Some(_), Some(_)) => {
                let message = "the ends are given twice";
                let site = element.site("points");
                self.error("place-twice", &site, span, message, "keep `points` or `anchors`");
                None
            }
            (Some(points), None) => {
                let [a, b] = points.each_ref().map(|p| self.place(&element.site("points"), p));
                let ((a_expr, a), (b_expr, b)) = (a?, b?);
                Some(self.world_ends(element.scope, bodies, [a_expr, b_expr], [a, b]))
            }
            (None, Some(anchors)) => {
                let [a, b] = anchors.each_ref().map(|p| self.place(&element.site("anchors"), p));
                let ((a_expr, a), (b_expr, b)) = (a?, b?);
                Some(self.local_ends(element.scope, bodies, [a_expr, b_expr], [a, b]))
            }
            (None, None) => {
                let origins = [[Expr::ZERO; 3]; 2];
                Some(self.local_ends(element.scope, bodies, origins, [Vec3::zeros(); 2]))
            }
        }
    }

    fn point_pair(&self, bodies: [BodyId; 2], ends: &Ends) -> PointPair {
        PointPair {
            bodies,
            points: [0, 1].map(|i| self.builder.local_point(bodies[i], &ends.world[i])),
        }
    }

    fn spring(&mut self, spring: &Element<'a, SpringSpec>) -> Option<()> {
        let spec = spring.spec;
        let bodies = self.pair(spring, &spec.between, spec.span);
        let stiffness = self.live(&spring.site("stiffness"), &spec.stiffness);
        let damping =
            spec.damping.as_ref().map(|d| (self.live(&spring.site("damping"), d), d.span));
        let length = spec.length.as_ref().map(|l| (self.live(&spring.site("length"), l), l.span));
        let bodies = bodies?;
        let points = spec.points.as_ref();
        let ends = self.ends(spring, bodies, points, spec.anchors.as_ref(), spec.span)?;
        let pair = self.point_pair(bodies, &ends);
        let (length_expr, length) = match length {
            Some((length, span)) => {
                let length = length?;
                self.warn_negative(&spring.site("length"), span, length.1);
                length
            }
            None => {
                let drawn = self.drawn_length(&ends);
                (drawn.expr, Value::Constant(drawn.value))
            }
        };
        let (stiffness_expr, stiffness) = stiffness?;
        self.warn_negative(&spring.site("stiffness"), spec.stiffness.span, stiffness);
        let points: Vec<_> = bodies.into_iter().zip(ends.local_expr).collect();
        let values = vec![("length", length_expr), ("stiffness", stiffness_expr)];
        let kind = ForceKind::Spring(Spring { ends: pair, length, stiffness });
        self.add_force(
            &spring.name,
            kind,
            ForceValues {
                points: points.clone(),
                world_points: ends.world_expr.to_vec(),
                values,
                as_drawn: spec.length.is_none(),
            },
        );
        if let Some((damping, span)) = damping {
            let (expr, damping) = damping?;
            self.warn_negative(&spring.site("damping"), span, damping);
            let kind = ForceKind::Damper(Damper { ends: pair, damping });
            let values = vec![("damping", expr)];
            let name = format!("{}.damping", spring.name);
            let world_points = ends.world_expr.to_vec();
            self.add_force(
                &name,
                kind,
                ForceValues { points, world_points, values, as_drawn: false },
            );
        }
        Some(())
    }

    fn damper(&mut self, damper: &Element<'a, DamperSpec>) -> Option<()> {
        let spec = damper.spec;
        let bodies = self.pair(damper, &spec.between, spec.span);
        let damping = self.live(&damper.site("damping"), &spec.damping);
        let bodies = bodies?;
        let points = spec.points.as_ref();
        let ends = self.ends(damper, bodies, points, spec.anchors.as_ref(), spec.span)?;
        let pair = self.point_pair(bodies, &ends);
        let (expr, damping) = damping?;
        self.warn_negative(&damper.site("damping"), spec.damping.span, damping);
        let points: Vec<_> = bodies.into_iter().zip(ends.local_expr).collect();
        let kind = ForceKind::Damper(Damper { ends: pair, damping });
        let (world_points, values) = (ends.world_expr.to_vec(), vec![("damping", expr)]);
        self.add_force(
            &damper.name,
            kind,
            ForceValues { points, world_points, values, as_drawn: false },
        );
        Some(())
    }

    fn applied(&mut self, force: &Element<'a, ForceSpec>) -> Option<()> {
        let spec = force.spec;
        let site = force.site("force");
        if spec.force.is_none() && spec.torque.is_none() {
            let help = "give `force = [x, y, z]`, `torque = [x, y, z]` or both";
            self.error("missing-key", &site, spec.span, "there is neither force nor torque", help);
        }
        let axes = match spec.frame.as_ref().map(|f| f.text.as_str()) {
            None | Some("world") => Axes::World,
            Some("body") => Axes::Body,
            Some(other) => {
                let message = format!("there is no frame `{other}`");
                let span = spec.frame.as_ref().map_or(spec.span, |f| f.span);
                self.error("unknown-frame", &site, span, message, "use `world` or `body`");
                return None;
            }
        };
        let push = self.live_vector(force, "force", spec.force.as_ref(), axes);
        let turn = self.live_vector(force, "torque", spec.torque.as_ref(), axes);
        if let Some(between) = &spec.between {
            return self.rod_torque(force, between, turn?);
        }
        let Some(body) = &spec.body else {
            let help = "name the body it acts on: body = \"arm\"";
            self.error("missing-key", &site, spec.span, "key `body` is missing", help);
            return None;
        };
        let body = self.body_named(&force.site("body"), body)?;
        if self.builder.model().bodies[body.index()].fixed {
            let message = "the force acts on a body that cannot move";
            self.warn("immovable", &site, spec.span, message, "remove it, or let the body move");
        }
        let (place, place_expr) = self.force_point(force, body)?;
        let ((push_expr, push), (turn_expr, turn)) = (push?, turn?);
        let point = BodyVector { body, local: place, is_point: true };
        let values = [("force.x", 0), ("force.y", 1), ("force.z", 2)]
            .map(|(name, i)| (name, push_expr[i]))
            .into_iter()
            .chain(
                [("torque.x", 0), ("torque.y", 1), ("torque.z", 2)].map(|(n, i)| (n, turn_expr[i])),
            )
            .collect();
        let kind = ForceKind::Applied(AppliedForce { point, force: push, torque: turn, axes });
        let world_points =
            vec![self.body_frames[body.index()].clone().point_expr(&mut self.pool, &place_expr)];
        let points = vec![(body, place_expr)];
        self.add_force(
            &force.name,
            kind,
            ForceValues { points, world_points, values, as_drawn: false },
        );
        Some(())
    }

    /// A vector of values; zero if left out. Directions of the world turn with the part they stand in.
    fn live_vector<T>(
        &mut self,
        element: &Element<'a, T>,
        what: &'static str,
        vector: Option<&Vec3Spec>,
        axes: Axes,
    ) -> Option<([Expr; 3], [Value; 3])> {
        let Some(vector) = vector else {
            return Some(([Expr::ZERO; 3], [Value::Constant(0.0); 3]));
        };
        let site = element.site(what);
        let [x, y, z] = vector.each_ref().map(|s| self.scalar_expr(&site, s, Allowed::State));
        let mut expr = [x?, y?, z?];
        if axes == Axes::World {
            let rotation = self.scopes[element.scope.0].frame.rotation_expr;
            expr = rotate(&mut self.pool, &rotation, &expr);
        }
        let [x, y, z] = [0, 1, 2].map(|i| self.live_value(&site, vector[i].span, expr[i]));
        Some((expr, [x?, y?, z?]))
    }

    /// Where a force acts, in the principal frame and symbolically in the file frame.
    fn force_point(
        &mut self,
        force: &Element<'a, ForceSpec>,
        body: BodyId,
    ) -> Option<(Vec3, [Expr; 3])> {
        let spec = force.spec;
        match (&spec.point, &spec.anchor) {
            (Some(_), Some(_)) => {
                let message = "the place of the force is given twice";
                self.error(
                    "place-twice",
                    &force.site("point"),
                    spec.span,
                    message,
                    "keep one of the two",
                );
                None
            }
            (Some(point), None) => {
                let (expr, value) = self.place(&force.site("point"), point)?;
                let ends = self.world_ends(force.scope, [body; 2], [expr; 2], [value; 2]);
                Some((self.builder.local_point(body, &ends.world[0]), ends.local_expr[0]))
            }
            (None, Some(anchor)) => {
                let (expr, value) = self.place(&force.site("anchor"), anchor)?;
                Some((self.builder.from_frame(body, &value), expr))
            }
            (None, None) => {
                let symbolic = self.builder.model().bodies[body.index()].symbolic.as_ref();
                let center = symbolic.map_or([Expr::ZERO; 3], |s| s.center_of_mass);
                Some((Vec3::zeros(), center))
            }
        }
    }

    fn rod_torque(
        &mut self,
        force: &Element<'a, ForceSpec>,
        between: &[crate::spec::Text; 2],
        (expr, torque): ([Expr; 3], [Value; 3]),
    ) -> Option<()> {
        let spec = force.spec;
        let wrong = [
            ("body", spec.body.is_some()),
            ("force", spec.force.is_some()),
            ("point", spec.point.is_some()),
            ("anchor", spec.anchor.is_some()),
            ("frame", spec.frame.is_some()),
        ];
        for (key, given) in wrong {
            if given {
                let message = format!("`{key}` does not go with `between`");
                let help =
                    "with `between`, only `torque` is given: it acts on the line between the two";
                self.error("unused-key", &force.site(key), spec.span, message, help);
            }
        }
        let bodies = self.pair(force, between, spec.span)?;
        let origins = [[Expr::ZERO; 3]; 2];
        let ends = self.local_ends(force.scope, bodies, origins, [Vec3::zeros(); 2]);
        let pair = self.point_pair(bodies, &ends);
        let points: Vec<_> = bodies.into_iter().zip(ends.local_expr).collect();
        let values = [("torque.x", 0), ("torque.y", 1), ("torque.z", 2)];
        let values = values.map(|(name, i)| (name, expr[i])).into();
        let kind = ForceKind::RodTorque(RodTorque { ends: pair, torque });
        let world_points = ends.world_expr.to_vec();
        self.add_force(
            &force.name,
            kind,
            ForceValues { points, world_points, values, as_drawn: false },
        );
        Some(())
    }

    fn drag(&mut self, drag: &Element<'a, DragSpec>) -> Option<()> {
        let spec = drag.spec;
        let site = drag.site("drag");
        if spec.linear.is_none() && spec.angular.is_none() {
            let help = "give `linear`, `angular` or both";
            self.error("missing-key", &site, spec.span, "the drag has no coefficient", help);
            return None;
        }
        let body = self.body_named(&drag.site("body"), &spec.body);
        let mut coefficient = |what: &'static str, scalar: &Option<Scalar>| match scalar {
            Some(scalar) => {
                let site = drag.site(what);
                let live = self.live(&site, scalar)?;
                self.warn_negative(&site, scalar.span, live.1);
                Some(live)
            }
            None => Some((Expr::ZERO, Value::Constant(0.0))),
        };
        let linear = coefficient("linear", &spec.linear);
        let angular = coefficient("angular", &spec.angular);
        let place = match &spec.anchor {
            Some(anchor) => Some(self.place(&drag.site("anchor"), anchor)?),
            None => None,
        };
        let (body, linear, angular) = (body?, linear?, angular?);
        let local = place.map_or(Vec3::zeros(), |(_, p)| self.builder.from_frame(body, &p));
        let symbolic = self.builder.model().bodies[body.index()].symbolic.as_ref();
        let center = symbolic.map_or([Expr::ZERO; 3], |s| s.center_of_mass);
        let place = place.map_or(center, |(expr, _)| expr);
        let world_points =
            vec![self.body_frames[body.index()].clone().point_expr(&mut self.pool, &place)];
        let points = vec![(body, place)];
        let point = BodyVector { body, local, is_point: true };
        let values = vec![("linear", linear.0), ("angular", angular.0)];
        let kind = ForceKind::Drag(Drag { point, linear: linear.1, angular: angular.1 });
        self.add_force(
            &drag.name,
            kind,
            ForceValues { points, world_points, values, as_drawn: false },
        );
        Some(())
    }
}
