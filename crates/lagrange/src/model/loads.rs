//! Equations and loads over the coordinates, and what is left out.

use gelenk_expr::{Expr, Func, Pool};
use gelenk_model::description::ForceValues;
use gelenk_model::force::{Axes as ModelAxes, ForceKind};
use gelenk_model::rows::RowKind;
use gelenk_model::signal::{BodyVector, StateRef};

use super::{Build, total_rate, unsupported};
use crate::algebra::{InPool, turn};
use crate::kinematics::Kinematics;
use crate::system::{AlongKind, Axes, Closure, DeriveError, Law, LinkPoint, Load, Row, VecExpr};

impl Build<'_> {
    /// What the symbols of the state mean over q, q̇ and t.
    pub(super) fn states(&mut self, exprs: &[Expr]) -> Result<Vec<(Expr, Expr)>, DeriveError> {
        let mut needed: Vec<Expr> = Vec::new();
        for e in exprs {
            for s in self.system.pool.symbols_of(*e) {
                if !needed.contains(&s) {
                    needed.push(s);
                }
            }
        }
        let mut out = Vec::new();
        let states = self.loaded.description.states.clone();
        if !states.iter().any(|(s, _)| needed.contains(s)) {
            return Ok(out);
        }
        let mut pool = std::mem::take(&mut self.system.pool);
        let mut kinematics = Kinematics::new(&self.system, &mut InPool { pool: &mut pool });
        let result = (|| {
            for (symbol, state) in states {
                if !needed.contains(&symbol) {
                    continue;
                }
                let mut algebra = InPool { pool: &mut pool };
                let value = match state {
                    StateRef::Time => algebra.pool.time(),
                    StateRef::Coordinate(id, which) | StateRef::CoordinateRate(id, which) => {
                        let values = &self.joint_values[id.index()];
                        let Some(&q) = values.get(which) else {
                            let name = &self.loaded.model.joints[id.index()].name;
                            return unsupported(
                                format!("joint `{name}`"),
                                "an expression uses its coordinate, but the joint closes a loop and has none here",
                            );
                        };
                        match state {
                            StateRef::Coordinate(..) => q,
                            _ => total_rate(algebra.pool, &self.system.coordinates, q),
                        }
                    }
                    StateRef::Position(vector, axis) => {
                        self.position(&mut kinematics, &mut algebra, symbol, &vector)[axis]
                    }
                    StateRef::Velocity(vector, axis) => {
                        let p = self.position(&mut kinematics, &mut algebra, symbol, &vector);
                        let p = p[axis];
                        total_rate(algebra.pool, &self.system.coordinates, p)
                    }
                    StateRef::AngularVelocity(body, axis) => {
                        let node = self.seat(body).node;
                        kinematics.angular_velocity_world(&self.system, &mut algebra, node)[axis]
                    }
                    StateRef::Input(i) => {
                        let known = self.system.inputs.iter().any(|(s, _)| *s == symbol);
                        if !known {
                            let value = self.loaded.model.inputs[i].value;
                            self.system.inputs.push((symbol, value));
                        }
                        symbol
                    }
                };
                out.push((symbol, value));
            }
            Ok(())
        })();
        self.system.pool = pool;
        result.map(|()| out)
    }

    /// A body-fixed point or direction in the world, and the symbol that stands for it.
    pub(super) fn position(
        &self,
        kinematics: &mut Kinematics<Expr>,
        algebra: &mut InPool<'_>,
        symbol: Expr,
        vector: &BodyVector,
    ) -> VecExpr {
        let seat = self.seat(vector.body);
        // File frame → drawing → node.
        let description = &self.loaded.description;
        let marker = description.marker_place(&self.loaded.model, algebra.pool, symbol).copied();
        let file = match marker {
            Some(place) => place.map(|e| algebra.pool.substitute(e, &self.definitions)),
            None => self.in_file_frame(algebra.pool, vector),
        };
        let placement = &self.loaded.description.bodies[vector.body.index()];
        let rotation = placement
            .rotation
            .map(|r| r.map(|row| row.map(|e| algebra.pool.substitute(e, &self.definitions))));
        let drawn = turn(algebra, &rotation, &file);
        if !vector.is_point {
            let local = turn(algebra, &seat.align, &drawn);
            return kinematics.direction_world(&self.system, algebra, seat.node, &local);
        }
        let local = if seat.pointlike {
            [Expr::ZERO; 3]
        } else {
            let place = [0, 1, 2].map(|i| {
                let p = algebra.pool.substitute(placement.position[i], &self.definitions);
                let sum = algebra.pool.add(&[p, drawn[i]]);
                algebra.pool.sub(sum, seat.origin[i])
            });
            turn(algebra, &seat.align, &place)
        };
        kinematics.point_world(&self.system, algebra, seat.node, &local)
    }

    /// A vector in the principal frame as numbers in the file frame.
    fn in_file_frame(&self, pool: &mut Pool, vector: &BodyVector) -> VecExpr {
        let body = &self.loaded.model.bodies[vector.body.index()];
        let file = body.frame_rot.inverse_transform_vector(
            &(if vector.is_point { vector.local - body.frame_origin } else { vector.local }),
        );
        [0, 1, 2].map(|i| {
            let whole = file[i].round();
            #[expect(clippy::cast_possible_truncation, reason = "small")]
            if (file[i] - whole).abs() < 1e-15 {
                pool.num(whole as i64)
            } else {
                pool.float(file[i])
            }
        })
    }

    /// Values of a force with parameters, state and time put in.
    pub(super) fn live(&mut self, values: &[Expr]) -> Result<Vec<Expr>, DeriveError> {
        let values = {
            let definitions = self.definitions.clone();
            self.system.pool.substitute_all(values, &definitions)
        };
        let states = self.states(&values)?;
        Ok(self.system.pool.substitute_all(&values, &states))
    }

    pub(super) fn equations(&mut self) -> Result<(), DeriveError> {
        let names: Vec<String> = self
            .loaded
            .model
            .rows
            .iter()
            .filter(|row| matches!(row.kind, RowKind::Equation(_)))
            .map(|row| row.name.clone())
            .collect();
        for (g, name) in self.loaded.description.equations.clone().into_iter().zip(names) {
            let g = self.live(&[g])?[0];
            let name = format!("constraint `{name}`");
            self.system.closures.push(Closure { name, rows: vec![Row::Equation(g)] });
        }
        Ok(())
    }

    pub(super) fn loads(&mut self) -> Result<(), DeriveError> {
        let loaded = self.loaded;
        for (force, values) in loaded.model.forces.iter().zip(&loaded.description.forces) {
            let law = self.law(&force.name, &force.kind, values)?;
            self.system.loads.push(Load { name: force.name.clone(), law });
        }
        Ok(())
    }

    pub(super) fn law(
        &mut self,
        name: &str,
        kind: &ForceKind,
        values: &ForceValues,
    ) -> Result<Law, DeriveError> {
        let exprs: Vec<Expr> = values.values.iter().map(|(_, e)| *e).collect();
        let exprs = self.live(&exprs)?;
        let get = |key: &str| {
            values.values.iter().position(|(k, _)| *k == key).map_or(Expr::ZERO, |i| exprs[i])
        };
        let has = |key: &str| values.values.iter().any(|(k, _)| *k == key);
        let points: Vec<LinkPoint> = values
            .points
            .iter()
            .zip(&values.world_points)
            .map(|((body, _), drawn)| self.link_point(*body, drawn))
            .collect();
        let pair = |points: &[LinkPoint]| [points[0].clone(), points[1].clone()];
        let along = |build: &Self, axis: &gelenk_model::force::JointAxis| match build.joint_values
            [axis.joint.index()]
        .get(axis.which)
        {
            Some(&q) => Ok(q),
            None => unsupported(
                format!("force `{name}`"),
                "it acts along a joint that closes a loop; the engine has no coordinate for it",
            ),
        };
        Ok(match kind {
            ForceKind::Spring(_) => Law::Spring {
                ends: pair(&points),
                stiffness: get("stiffness"),
                length: get("length"),
            },
            ForceKind::Damper(_) => Law::Damper { ends: pair(&points), damping: get("damping") },
            ForceKind::JointSpring(law) => {
                let q = along(self, &law.axis)?;
                let (c, mut rest) = (get("stiffness"), get("rest"));
                if values.as_drawn {
                    rest = self.drawn_values[law.axis.joint.index()][law.axis.which];
                }
                let pool = &mut self.system.pool;
                let stretch = pool.sub(q, rest);
                let force = pool.mul(&[Expr::MINUS_ONE, c, stretch]);
                Law::Along { displacement: q, force, kind: AlongKind::Spring(c, rest) }
            }
            ForceKind::JointDamper(law) => {
                let q = along(self, &law.axis)?;
                let d = get("damping");
                let rate = total_rate(&mut self.system.pool, &self.system.coordinates, q);
                let force = self.system.pool.mul(&[Expr::MINUS_ONE, d, rate]);
                Law::Along { displacement: q, force, kind: AlongKind::Damper(d) }
            }
            ForceKind::Motor(law) => {
                let q = along(self, &law.axis)?;
                Law::Along { displacement: q, force: get("force"), kind: AlongKind::Drive }
            }
            ForceKind::Servo(law) => {
                let q = along(self, &law.axis)?;
                let rate = total_rate(&mut self.system.pool, &self.system.coordinates, q);
                let pool = &mut self.system.pool;
                let error = pool.sub(get("target"), q);
                let slip = pool.sub(get("target_velocity"), rate);
                let a = pool.mul(&[get("stiffness"), error]);
                let b = pool.mul(&[get("damping"), slip]);
                let mut force = pool.add(&[a, b]);
                if has("max_force") {
                    let bound = pool.func(Func::Abs, &[get("max_force")]);
                    let low = pool.neg(bound);
                    let capped = pool.func(Func::Min, &[force, bound]);
                    force = pool.func(Func::Max, &[capped, low]);
                }
                let brake = pool.mul(&[get("brake"), rate]);
                let force = pool.sub(force, brake);
                Law::Along { displacement: q, force, kind: AlongKind::Drive }
            }
            ForceKind::Applied(law) => {
                let force = [get("force.x"), get("force.y"), get("force.z")];
                let torque = [get("torque.x"), get("torque.y"), get("torque.z")];
                let (axes, force, torque) = match law.axes {
                    ModelAxes::World => (Axes::World, force, torque),
                    ModelAxes::Body => {
                        let body = law.point.body;
                        let rotation = self.loaded.description.bodies[body.index()].rotation;
                        let rotation = rotation.map(|r| r.map(|row| self.tidy_vec(&row)));
                        let seat = self.seat(body);
                        let mut algebra = InPool { pool: &mut self.system.pool };
                        let [f, t] = [force, torque].map(|v| {
                            let drawn = turn(&mut algebra, &rotation, &v);
                            turn(&mut algebra, &seat.align, &drawn)
                        });
                        (Axes::Body, f, t)
                    }
                };
                Law::Applied { point: points[0].clone(), force, torque, axes }
            }
            ForceKind::Branch(law) => {
                let (a, b) = (along(self, &law.axes[0])?, along(self, &law.axes[1])?);
                let charge = self.system.pool.sub(a, b);
                let (c, d) = (get("stiffness"), get("damping"));
                if d == Expr::ZERO {
                    let force = self.system.pool.mul(&[c, charge]);
                    let force = self.system.pool.neg(force);
                    let kind = AlongKind::Spring(c, Expr::ZERO);
                    Law::Along { displacement: charge, force, kind }
                } else {
                    let current =
                        total_rate(&mut self.system.pool, &self.system.coordinates, charge);
                    let force = self.system.pool.mul(&[d, current]);
                    let force = self.system.pool.neg(force);
                    Law::Along { displacement: charge, force, kind: AlongKind::Damper(d) }
                }
            }
            ForceKind::Drag(_) => Law::Drag {
                point: points[0].clone(),
                linear: get("linear"),
                angular: get("angular"),
            },
            ForceKind::RodTorque(_) => Law::RodTorque {
                ends: pair(&points),
                torque: [get("torque.x"), get("torque.y"), get("torque.z")],
            },
            other => {
                return unsupported(
                    format!("force `{name}`"),
                    format!("a force of type `{}` is not derived", other.type_name()),
                );
            }
        })
    }

    /// Notes on what the model has and equations of motion do not show.
    pub(super) fn left_out(&mut self) {
        let model = &self.loaded.model;
        let notes = &mut self.system.notes;
        for joint in &model.joints {
            if !joint.properties.limits.is_empty() {
                notes.push(format!("joint `{}`: its end stops are left out", joint.name));
            }
            if joint.properties.friction.iter().any(|f| *f != 0.0) {
                notes.push(format!("joint `{}`: its dry friction is left out", joint.name));
            }
            if joint.properties.break_force.is_some() || joint.properties.break_torque.is_some() {
                notes.push(format!("joint `{}`: that it may break is left out", joint.name));
            }
        }
        for body in &model.bodies {
            if body.contact.collide {
                notes.push(format!("body `{}`: contact is left out", body.name));
            }
        }
        for coordinate in &self.system.coordinates {
            if let Some(singular) = &coordinate.singular {
                notes.push(format!("{}: {singular}", coordinate.meaning));
            }
        }
        for closure in &self.system.closures {
            notes.push(format!("{}: closes a loop, with multipliers", closure.name));
        }
    }
}
