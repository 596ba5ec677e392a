//! Joints that carry bodies, as elementary motions of the tree.

use gelenk_expr::Expr;
use gelenk_model::description::{JointGeometry, Track};
use gelenk_model::math::{Vec3, perpendicular_frame};
use gelenk_model::{BodyKind, JointId};

use super::{Build, Seat, unsupported};
use crate::algebra::InPool;
use crate::state::Reader;
use crate::system::{DeriveError, Measure, Motion, VecExpr};

impl Build<'_> {
    /// The value of a joint coordinate: a new q, or the motion that prescribes it.
    pub(super) fn joint_value(
        &mut self,
        joint: usize,
        which: usize,
        measure: Measure,
    ) -> (Expr, Option<usize>) {
        if let Some(&target) = self.prescribed.get(&(joint, which)) {
            return (self.tidy(target), None);
        }
        let about = &self.loaded.model.joints[joint];
        let names = about.kind.equations().coordinates();
        let word = names.get(which).map_or("coordinate", |c| c.name);
        let is_charge = self.loaded.description.circuits.iter().any(|id| id.index() == joint);
        let meaning = if is_charge {
            format!("circuit `{}`, charge", about.name)
        } else {
            format!("joint `{}`, {word}", about.name)
        };
        let k = self.coordinate(measure, meaning, None);
        self.system.readers.push(Reader::Joint {
            coordinate: k,
            joint: JointId(u32::try_from(joint).unwrap_or(0)),
            which,
        });
        (self.system.coordinates[k].symbol, Some(k))
    }

    /// The nodes of a carrying joint.
    pub(super) fn carried(
        &mut self,
        body: usize,
        joint: usize,
        reversed: bool,
        above: &Seat,
    ) -> Result<Seat, DeriveError> {
        let about = &self.loaded.model.joints[joint];
        let element = format!("joint `{}`", about.name);
        let kind = about.kind.type_name();
        let geometry: JointGeometry = self.loaded.description.joints[joint].clone();
        let side = usize::from(reversed);
        let child_is_point = self.loaded.model.bodies[body].kind == BodyKind::Point;
        let points = geometry.world_points.map(|p| self.tidy_vec(&p));
        let gap = self.number_vec(&points[1]) - self.number_vec(&points[0]);
        let glides = matches!(
            kind,
            "distance"
                | "rail"
                | "plane-point"
                | "curve"
                | "translation"
                | "slider"
                | "cylindrical"
                | "planar"
        );
        if gap.norm() > 1e-6 && !glides {
            return unsupported(
                element,
                "it is open as drawn; draw the bodies where the joint is closed",
            );
        }
        let (near, far) = (points[side], points[1 - side]);
        let axes = geometry.world_axes;
        if above.pointlike && !matches!(kind, "distance") {
            return unsupported(element, "it hangs on a point mass, which has no directions");
        }
        // Values count from the drawing: the node begins at the far point, or turns at the near one.
        let open = gap.norm() > 1e-9;
        let pivot = if reversed && open { near } else { far };
        let offset = if kind == "distance" { near } else { pivot };
        let offset = self.local(above, &offset);
        let start = self.tidy(geometry.start);
        // Elementary motions from a to b: axis, kind, value from the drawing.
        let mut steps: Vec<(Motion, Expr, Option<usize>)> = Vec::new();
        let axis = |build: &mut Self, i: usize| {
            let v = axes.map_or([Expr::ZERO; 3], |a| a[i]);
            let v = build.tidy_vec(&v);
            let v = build.aligned(above, &v);
            build.unit(&v)
        };
        let sub = |build: &mut Self, a: Expr, b: Expr| build.system.pool.sub(a, b);
        // Values of the joint's coordinates, and what they are as drawn.
        let (mut values, mut drawn) = (Vec::new(), Vec::new());
        let slide_zero = |build: &mut Self, direction: &VecExpr| {
            // The coordinate of sliding joints is the gap along the axis as drawn, less the start.
            let gap = [0, 1, 2].map(|i| build.system.pool.sub(points[1][i], points[0][i]));
            let gap = build.tidy_vec(&gap);
            let gap = build.aligned(above, &gap);
            let d =
                crate::algebra::dot(&mut InPool { pool: &mut build.system.pool }, &gap, direction);
            build.tidy(d)
        };
        let mut extra_turns = false;
        match kind {
            "fixed" => {}
            "hinge" => {
                let n = axis(self, 0);
                let (q, k) = self.joint_value(joint, 0, Measure::Angle);
                values.push(q);
                drawn.push(start);
                let value = sub(self, q, start);
                steps.push((Motion::Turn(n), value, k));
            }
            "slider" | "rail" => {
                let n = axis(self, 0);
                let zero = slide_zero(self, &n);
                let (q, k) = self.joint_value(joint, 0, Measure::Length);
                values.push(q);
                drawn.push(self.system.pool.add(&[start, zero]));
                let value = sub(self, q, start);
                let value = sub(self, value, zero);
                steps.push((Motion::Slide(n), value, k));
                extra_turns = kind == "rail" && !child_is_point;
            }
            "cylindrical" => {
                let n = axis(self, 0);
                let zero = slide_zero(self, &n);
                let (s, k) = self.joint_value(joint, 0, Measure::Length);
                let (phi, l) = self.joint_value(joint, 1, Measure::Angle);
                values.extend([s, phi]);
                drawn.extend([zero, Expr::ZERO]);
                let value = sub(self, s, zero);
                steps.push((Motion::Slide(n), value, k));
                steps.push((Motion::Turn(n), phi, l));
            }
            "screw" => {
                let n = axis(self, 0);
                let pitch = geometry.parameters.iter().find(|(name, _)| *name == "pitch");
                let pitch = self.tidy(pitch.map_or(Expr::ZERO, |(_, e)| *e));
                let pool = &mut self.system.pool;
                let turn = pool.mul(&[Expr::TWO, Expr::PI]);
                let rate = pool.div(pitch, turn);
                let (phi, k) = if let Some(&target) = self.prescribed.get(&(joint, 1)) {
                    let target = self.tidy(target);
                    (self.system.pool.div(target, rate), None)
                } else {
                    self.joint_value(joint, 0, Measure::Angle)
                };
                let s = self.system.pool.mul(&[rate, phi]);
                values.extend([phi, s]);
                drawn.extend([Expr::ZERO; 2]);
                steps.push((Motion::Screw(n, rate), phi, k));
            }
            "universal" => {
                let (z, x) = (axis(self, 0), axis(self, 1));
                let (a, k) = self.joint_value(joint, 0, Measure::Angle);
                let (b, l) = self.joint_value(joint, 1, Measure::Angle);
                values.extend([a, b]);
                drawn.extend([Expr::ZERO; 2]);
                steps.push((Motion::Turn(z), a, k));
                steps.push((Motion::Turn(x), b, l));
            }
            "planar" | "plane-point" => {
                let n_drawn = axes.map_or([Expr::ZERO; 3], |a| a[0]);
                let n_drawn = self.tidy_vec(&n_drawn);
                let n_value = self.number_vec(&n_drawn).normalize();
                let n = axis(self, 0);
                let (x, y) = self.across(&n_drawn, &n_value);
                let (x, y) = (self.aligned(above, &x), self.aligned(above, &y));
                let planar = kind == "planar";
                for (i, direction) in [x, y].into_iter().enumerate() {
                    let zero = slide_zero(self, &direction);
                    let (q, k) = if planar {
                        self.joint_value(joint, i, Measure::Length)
                    } else {
                        let meaning = format!("{element}, {} in the plane", ["x", "y"][i]);
                        let k = self.coordinate(Measure::Length, meaning, None);
                        let reader = Reader::Glide {
                            coordinate: k,
                            ends: self.principal_ends(joint),
                            direction: [x, y][i],
                            seat: above.node,
                        };
                        self.system.readers.push(reader);
                        (self.system.coordinates[k].symbol, Some(k))
                    };
                    if planar {
                        values.push(q);
                        drawn.push(zero);
                    }
                    let value = sub(self, q, zero);
                    steps.push((Motion::Slide(direction), value, k));
                }
                if planar {
                    let (phi, k) = self.joint_value(joint, 2, Measure::Angle);
                    values.push(phi);
                    drawn.push(Expr::ZERO);
                    steps.push((Motion::Turn(n), phi, k));
                } else {
                    extra_turns = !child_is_point;
                }
            }
            "translation" => {
                for i in 0..3 {
                    let mut direction = [Expr::ZERO; 3];
                    direction[i] = Expr::ONE;
                    let direction = self.aligned(above, &direction);
                    let zero = slide_zero(self, &direction);
                    let (q, k) = self.joint_value(joint, i, Measure::Length);
                    values.push(q);
                    drawn.push(zero);
                    let value = sub(self, q, zero);
                    steps.push((Motion::Slide(direction), value, k));
                }
            }
            "ball" => extra_turns = !child_is_point,
            "curve" => {
                let Some(Track::Curve { u, place }) = geometry.track else {
                    return unsupported(element, "its curve is a spline; give it by `formula`");
                };
                let meaning = format!("{element}, parameter u of its curve");
                let k = self.coordinate(Measure::Parameter, meaning, None);
                self.system.readers.push(Reader::Curve { coordinate: k, joint });
                let symbol = self.system.coordinates[k].symbol;
                let place = place.map(|e| self.system.pool.substitute(e, &[(u, symbol)]));
                // From the drawn point to the place on the curve.
                let d = [0, 1, 2].map(|i| self.system.pool.sub(place[i], far[i]));
                let d = self.tidy_vec(&d);
                let d = self.aligned(above, &d);
                steps.push((Motion::Path(d), symbol, Some(k)));
                extra_turns = !child_is_point;
            }
            "distance" => return Ok(self.thread(body, joint, above, offset, far, &geometry)),
            _ => {
                return unsupported(
                    element,
                    format!("a joint of type `{kind}` has no closed form"),
                );
            }
        }
        debug_assert_eq!(values.len(), drawn.len(), "each coordinate has its value as drawn");
        self.joint_values[joint] = values;
        self.drawn_values[joint] = drawn;
        if reversed {
            steps.reverse();
            for (motion, value, _) in &mut steps {
                if let Motion::Path(_) = motion {
                    return unsupported(
                        element,
                        "the curve must belong to the body nearer to the world",
                    );
                }
                *value = self.system.pool.neg(*value);
            }
        }
        let mut node = above.node;
        let mut first = offset;
        if steps.is_empty() {
            node = self.node(node, first, Motion::Fixed, Expr::ZERO, None);
        }
        for (motion, value, coordinate) in steps {
            node = self.node(node, first, motion, value, coordinate);
            first = [Expr::ZERO; 3];
        }
        let seat = Seat { node, align: above.align, origin: pivot, pointlike: false };
        Ok(if extra_turns { self.turns(body, &element, seat) } else { seat })
    }

    /// The points of a joint in the principal frames of its bodies.
    pub(super) fn principal_ends(&self, joint: usize) -> crate::state::Ends {
        let model = &self.loaded.model;
        let anchors = self.loaded.description.joints[joint].anchors;
        [0, 1].map(|i| {
            let body = model.joints[joint].bodies[i].index();
            let about = &model.bodies[body];
            (body, about.frame_origin + about.frame_rot * self.number_vec(&anchors[i]))
        })
    }

    /// Two directions across a drawn axis, as the model's joint frames have them.
    pub(super) fn across(&mut self, n: &VecExpr, value: &Vec3) -> (VecExpr, VecExpr) {
        let (x, y) = perpendicular_frame(value);
        let exact = |v: &Vec3| v.iter().all(|c| (c - c.round()).abs() < 1e-15);
        if exact(&x) && exact(&y) {
            return (self.exact(&x), self.exact(&y));
        }
        // u = (h − n (n·h))/|…|, w = n × u, with the helper that the numbers chose.
        let (a, b, c) = (value.x.abs(), value.y.abs(), value.z.abs());
        let helper = if c >= a && c >= b {
            0
        } else if a >= b {
            1
        } else {
            2
        };
        let n = self.tidy_vec(n);
        let n = self.unit(&n);
        let pool = &mut self.system.pool;
        let u = [0, 1, 2].map(|i| {
            let p = pool.mul(&[n[i], n[helper]]);
            let h = if i == helper { Expr::ONE } else { Expr::ZERO };
            pool.sub(h, p)
        });
        let u = self.unit(&u);
        let w = crate::algebra::cross(&mut InPool { pool: &mut self.system.pool }, &n, &u);
        (u, self.tidy_vec(&w))
    }

    /// A rod of given length from a point of the parent: two turns and the length.
    pub(super) fn thread(
        &mut self,
        body: usize,
        joint: usize,
        above: &Seat,
        offset: VecExpr,
        far: VecExpr,
        geometry: &JointGeometry,
    ) -> Seat {
        let model = &self.loaded.model;
        let element = format!("joint `{}`", model.joints[joint].name);
        let length = geometry.parameters.iter().find(|(n, _)| *n == "length").map(|(_, e)| *e);
        let length = self.tidy(length.unwrap_or(Expr::ZERO));
        let g = self.number_vec(&self.system.gravity);
        let upright = above.node == 0 && g.x.abs() + g.y.abs() < 1e-12 && g.z < 0.0;
        let state = &model.start;
        let anchor = self.number_vec(&geometry.world_points[0]);
        let r = state.s[body] - anchor;
        let round = r.x * state.s_dot[body].y - r.y * state.s_dot[body].x;
        let tilt = (r.x.hypot(r.y)) / r.norm();
        let (o, one, minus) = (Expr::ZERO, Expr::ONE, Expr::MINUS_ONE);
        let polar = upright && round.abs() > 1e-9 && tilt > 0.05;
        let (axes, names, note) = if polar {
            let axes = [[o, o, one], [o, minus, o]];
            (axes, ["azimuth", "angle from the vertical"], "singular where the thread is vertical")
        } else if r.y.abs() < 0.8 * r.norm() {
            let axes = [[o, minus, o], [one, o, o]];
            (
                axes,
                ["swing in the x-z plane", "swing out of it"],
                "singular where the thread lies along y",
            )
        } else {
            let axes = [[one, o, o], [o, one, o]];
            (
                axes,
                ["swing in the y-z plane", "swing out of it"],
                "singular where the thread lies along x",
            )
        };
        let mut node = above.node;
        let mut numbers = [0; 2];
        let mut first = offset;
        for i in 0..2 {
            let singular = (i == 1).then(|| note.to_owned());
            let k = self.coordinate(Measure::Angle, format!("{element}, {}", names[i]), singular);
            let symbol = self.system.coordinates[k].symbol;
            node = self.node(node, first, Motion::Turn(axes[i]), symbol, Some(k));
            first = [o; 3];
            numbers[i] = k;
        }
        let down = self.system.pool.neg(length);
        let node = self.node(node, [o, o, down], Motion::Fixed, o, None);
        let axes = axes.map(|a| self.number_vec(&a));
        let ends = self.principal_ends(joint);
        let reversed = model.joints[joint].bodies[0].index() == body;
        self.system.readers.push(Reader::Thread {
            coordinates: numbers,
            axes,
            ends,
            reversed,
            parent: above.node,
        });
        let is_point = model.bodies[body].kind == BodyKind::Point;
        let mut seat = Seat { node, align: above.align, origin: far, pointlike: is_point };
        if !is_point {
            // Beyond the rod the body turns freely; its axes are told against the rod's.
            seat = self.turns(body, &element, seat);
        }
        seat
    }
}
