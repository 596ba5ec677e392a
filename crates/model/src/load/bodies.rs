//! Bodies, points and markers.

use gelenk_expr::Expr;

use super::colors::{color_from_text, color_names};
use super::context::{Context, Quantity, Site};
use super::expand::{Element, Flat};
use super::frame::{Frame, between, dot, rotate};
use super::inertia::{MASSES, MassProperties};
use super::names::Kind;
use super::shapes::Built;
use super::sources::Sources;
use crate::body::{BodyId, SymbolicInertia};
use crate::builder::BodyDef;
use crate::contact::{BodyContact, GroupId};
use crate::description::VecExpr;
use crate::math::{Quat, Vec3};
use crate::spec::tables::{BodyKeys, BodySpec, MarkerSpec, PointSpec, ShapeSpec, Value};
use crate::spec::{Vec3Spec, did_you_mean};

/// Fastest start, m/s or rad/s.
pub(crate) const FASTEST: f64 = 1e9;

/// No velocity.
const RESTING: (VecExpr, Vec3) = ([Expr::ZERO; 3], Vec3::new(0.0, 0.0, 0.0));

impl<'a> Context<'a> {
    /// Builds all bodies, points and markers.
    pub(crate) fn build_bodies(&mut self, flat: &Flat<'a>, sources: &'a Sources) {
        self.body_ids = vec![None; self.names.list(Kind::Body).len()];
        self.marker_ids = vec![None; self.names.list(Kind::Marker).len()];
        for body in &flat.bodies {
            self.body_ids[body.index] = Some(self.body(body, sources));
        }
        for point in &flat.points {
            self.body_ids[point.index] = Some(self.point(point));
        }
        for marker in &flat.markers {
            self.marker_ids[marker.index] = self.marker(marker);
        }
    }

    fn body(&mut self, body: &Element<'a, BodySpec>, sources: &Sources) -> BodyId {
        let spec = body.spec;
        let fixed = spec.keys.fixed.unwrap_or(false);
        let (frame, span) = if let Some(ends) = &spec.ends {
            self.frame_of_ends(body, ends).unzip()
        } else {
            let (position, rotation) = (spec.keys.position.as_ref(), spec.rotation.as_ref());
            (self.frame(&body.site("body"), position, rotation), None)
        };
        let velocity = self.start_velocity(body, &spec.keys);
        let site = body.site("angular_velocity");
        let angular_velocity = self.start_vector(&site, spec.angular_velocity.as_ref());
        let (velocity, angular_velocity) =
            (velocity.unwrap_or(RESTING), angular_velocity.unwrap_or(RESTING));
        let (contact, color) = self.body_contact(body);
        let complete = spec.mass.is_some() && spec.inertia.is_some();
        let needs_mass = !fixed && !complete;
        let specs: Vec<&ShapeSpec> = spec.shape.iter().chain(&spec.shapes).collect();
        let mut shapes: Vec<(Built, &ShapeSpec)> = Vec::with_capacity(specs.len());
        let mut densities: Vec<Option<Expr>> = Vec::new();
        let mut good = true;
        for shape in specs {
            let own = shape.material.as_ref();
            let own = own.map(|text| self.material_of(&body.site("material"), text));
            let material = own.flatten().or(contact.material);
            let site = body.site("shape");
            match self.shape(&site, shape, sources, material, fixed, needs_mass, span) {
                Some(built) => {
                    densities.push(material.and_then(|id| self.material_density(id)));
                    shapes.push((built, shape));
                }
                None => good = false,
            }
        }
        let density = |i: usize| densities.get(i).copied().flatten();
        let properties = if good { self.mass_properties(body, &shapes, &density) } else { None };
        // What could not be read was reported; a stand-in lets the checks go on.
        let properties = properties.unwrap_or_else(MassProperties::stand_in);
        self.misplaced.push(frame.is_none());
        let frame = frame.unwrap_or_else(Frame::identity);
        let outer = self.scopes[body.scope.0].frame.clone();
        let placed = outer.compose(&mut self.pool, &frame);
        let def = BodyDef {
            name: body.name.clone(),
            mass: properties.mass,
            inertia: properties.inertia,
            center_of_mass: properties.center_of_mass,
            position: placed.position,
            rotation: placed.rotation,
            velocity: outer.rotation * velocity.1,
            angular_velocity: outer.rotation * angular_velocity.1,
            fixed,
        };
        let rates = [velocity.0, angular_velocity.0];
        let rates = rates.map(|v| rotate(&mut self.pool, &outer.rotation_expr, &v));
        self.description.velocities.push(rates);
        if fixed && (def.velocity != Vec3::zeros() || def.angular_velocity != Vec3::zeros()) {
            let message = "a fixed body does not move, but a velocity is given";
            self.error(
                "fixed-moves",
                &body.site("velocity"),
                spec.span,
                message,
                "remove one of the two",
            );
        }
        let id = self.builder.body(&def);
        self.builder.symbolic(id, properties.symbolic);
        self.builder.shapes(id, shapes.into_iter().map(|(built, _)| built.shape).collect());
        self.builder.body_contact(id, contact, color);
        debug_assert_eq!(id.index(), self.body_frames.len(), "frames follow bodies");
        self.body_frames.push(placed);
        id
    }

    /// The frame midway between two ends with z from the first to the second, and their distance.
    fn frame_of_ends(
        &mut self,
        body: &Element<'a, BodySpec>,
        ends: &[Vec3Spec; 2],
    ) -> Option<(Frame, Quantity)> {
        let site = body.site("ends");
        let spec = body.spec;
        if spec.keys.position.is_some() || spec.rotation.is_some() {
            let message = "`ends` stands for `position` and `rotation`";
            let help = "remove `ends`, or the other two";
            self.error("both-given", &site, ends[0][0].span, message, help);
        }
        let [a, b] = ends.each_ref().map(|end| self.place(&site, end));
        let ((a_expr, a), (b_expr, b)) = (a?, b?);
        let distance = (b - a).norm();
        if distance < 1e-9 {
            let message = "the ends of the body coincide";
            let help = "give two points at least 1e-9 m apart";
            self.error("not-positive", &site, ends[0][0].span, message, help);
            return None;
        }
        let pool = &mut self.pool;
        let along: [Expr; 3] = std::array::from_fn(|i| pool.sub(b_expr[i], a_expr[i]));
        let squared = dot(pool, &along, &along);
        let length = Quantity { expr: pool.sqrt(squared), value: distance };
        let position_expr = std::array::from_fn(|i| {
            let sum = pool.add(&[a_expr[i], b_expr[i]]);
            pool.mul(&[Expr::HALF, sum])
        });
        let direction = (b - a) / distance;
        let z = [Expr::ZERO, Expr::ZERO, Expr::ONE];
        // The shortest turn from z; half a turn about x where the body points down.
        let (rotation_expr, rotation) = match Quat::rotation_between(&Vec3::z(), &direction) {
            Some(rotation) if direction.z > -1.0 + 1e-12 => {
                (Some(between(pool, &z, &along)), rotation)
            }
            _ => {
                let (o, one, minus) = (Expr::ZERO, Expr::ONE, Expr::MINUS_ONE);
                let rotation = Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::PI);
                (Some([[one, o, o], [o, minus, o], [o, o, minus]]), rotation)
            }
        };
        let position = (a + b) / 2.0;
        let along = Some(along);
        Some((Frame { position, rotation, position_expr, rotation_expr, along }, length))
    }

    fn point(&mut self, point: &Element<'a, PointSpec>) -> BodyId {
        let spec = point.spec;
        let fixed = spec.keys.fixed.unwrap_or(false);
        let frame = self.frame(&point.site("point"), spec.keys.position.as_ref(), None);
        let velocity = self.start_velocity(point, &spec.keys);
        let site = point.site("mass");
        let mass = match &spec.mass {
            Some(mass) => self.mass(&site, mass, fixed),
            None if fixed => Some(Expr::ZERO),
            None => {
                let help = "give `mass`, or write `fixed = true`";
                self.error("no-mass", &site, spec.span, "the point has no mass", help);
                None
            }
        };
        self.misplaced.push(frame.is_none());
        let frame = frame.unwrap_or_else(Frame::identity);
        let velocity = velocity.unwrap_or(RESTING);
        let mass = mass.unwrap_or(Expr::ONE);
        let outer = self.scopes[point.scope.0].frame.clone();
        let placed = outer.compose(&mut self.pool, &frame);
        let value = self.evaluate(mass);
        let rate = rotate(&mut self.pool, &outer.rotation_expr, &velocity.0);
        self.description.velocities.push([rate, [Expr::ZERO; 3]]);
        let velocity = outer.rotation * velocity.1;
        debug_assert!(fixed || MASSES.contains(&value), "checked when it was read");
        let id = self.builder.point(&point.name, value, placed.position, velocity, fixed);
        let symbolic =
            SymbolicInertia { mass, center_of_mass: [Expr::ZERO; 3], inertia: [Expr::ZERO; 6] };
        self.builder.symbolic(id, symbolic);
        debug_assert_eq!(id.index(), self.body_frames.len(), "frames follow bodies");
        self.body_frames.push(placed);
        id
    }

    fn marker(&mut self, marker: &Element<'a, MarkerSpec>) -> Option<usize> {
        let spec = marker.spec;
        let body = self.body_named(&marker.site("body"), &spec.body);
        let place = match &spec.position {
            Some(position) => self.place(&marker.site("position"), position),
            None => Some(RESTING),
        };
        let (body, (mut expr, place)) = (body?, place?);
        if body == BodyId::WORLD {
            let frame = self.scopes[marker.scope.0].frame.clone();
            expr = frame.point_expr(&mut self.pool, &expr);
        }
        self.description.markers.push(expr);
        let local = self.builder.from_frame(body, &self.in_body(marker.scope, body, &place));
        self.builder.marker(&marker.name, body, local);
        Some(self.builder.model().markers.len() - 1)
    }

    /// The body or point that a text names; `world` is the ground.
    pub(crate) fn body_named(
        &mut self,
        site: &Site<'_>,
        text: &crate::spec::Text,
    ) -> Option<BodyId> {
        let local = self.fill(site, text)?;
        let declared = self.find(Kind::Body, site.scope, &local);
        if declared.is_none() && self.outer_name(site.scope, &local) == "world" {
            return Some(BodyId::WORLD);
        }
        let declared = declared.or_else(|| self.find_text(Kind::Body, site, text))?;
        self.body_ids.get(declared.index).copied().flatten()
    }

    /// A point of a body's own frame. The world's own frame is that of the part the text stands in.
    pub(crate) fn in_body(&self, scope: super::scope::ScopeId, body: BodyId, p: &Vec3) -> Vec3 {
        if body == BodyId::WORLD { self.scopes[scope.0].frame.point(p) } else { *p }
    }

    fn start_velocity<T>(
        &mut self,
        element: &Element<'a, T>,
        keys: &BodyKeys,
    ) -> Option<(VecExpr, Vec3)> {
        self.start_vector(&element.site("velocity"), keys.velocity.as_ref())
    }

    /// A velocity; zero where left out.
    pub(crate) fn start_vector(
        &mut self,
        site: &Site<'_>,
        v: Option<&Vec3Spec>,
    ) -> Option<(VecExpr, Vec3)> {
        let Some(v) = v else { return Some(RESTING) };
        let (expr, value) = self.vector_quantity(site, v)?;
        if value.amax() > FASTEST {
            let message = format!("{} is {:e}", site.what, value.amax());
            let help = format!("it reaches to {FASTEST:e}; are the units metres and seconds?");
            self.error("absurd-velocity", site, v[0].span, message, help);
            return None;
        }
        Some((expr, value))
    }

    /// Material, groups and colour of a body.
    fn body_contact(&mut self, body: &Element<'a, BodySpec>) -> (BodyContact, Option<[f64; 3]>) {
        let spec = body.spec;
        let site = body.site("material");
        let material = spec.material.as_ref().and_then(|text| self.material_of(&site, text));
        let mut groups: Vec<GroupId> = Vec::new();
        for text in &spec.group.0 {
            if let Some(name) = self.fill(&body.site("group"), text) {
                let id = self.group(&name);
                if !groups.contains(&id) {
                    groups.push(id);
                }
            }
        }
        let asked = material.is_some() || spec.collide == Some(true);
        let collide = asked && spec.collide != Some(false);
        let color = spec.color.as_ref().and_then(|c| self.color(&body.site("color"), c));
        if collide && spec.shape.is_none() && spec.shapes.is_empty() {
            let message = "the body is to touch others but has no shape";
            self.warn("no-shape", &site, spec.span, message, "give it a `shape`");
        }
        (BodyContact { collide, material, groups }, color)
    }

    fn group(&mut self, name: &str) -> GroupId {
        let groups = &mut self.contact.groups;
        let index = groups.iter().position(|g| g == name).unwrap_or_else(|| {
            groups.push(name.to_owned());
            groups.len() - 1
        });
        GroupId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// A colour: `#rrggbb`, a name, or [r, g, b].
    pub(crate) fn color(&mut self, site: &Site<'_>, value: &Value) -> Option<[f64; 3]> {
        let color = match &value.json {
            serde_json::Value::String(text) => color_from_text(text),
            serde_json::Value::Array(parts) if parts.len() == 3 => {
                let mut color = [0.0; 3];
                let mut good = true;
                for (slot, part) in color.iter_mut().zip(parts) {
                    match part.as_f64() {
                        Some(x) if (0.0..=1.0).contains(&x) => *slot = x,
                        _ => good = false,
                    }
                }
                good.then_some(color)
            }
            _ => None,
        };
        if color.is_none() {
            let near = value.json.as_str().and_then(|text| did_you_mean(text, color_names()));
            let help = near.unwrap_or_else(|| {
                "write \"#rrggbb\", a name such as \"red\" (all of CSS), or [r, g, b] from 0 to 1".to_owned()
            });
            self.error("bad-color", site, value.span, "not a colour", help);
        }
        color
    }
}
