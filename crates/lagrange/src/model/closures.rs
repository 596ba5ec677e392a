//! Conditions beyond the tree: joints that close loops, gears, motions.

use gelenk_expr::Expr;
use gelenk_model::description::Track;
use gelenk_model::rows::RowKind;

use super::{Build, Seat, unsupported};
use crate::algebra::InPool;
use crate::system::{Closure, DeriveError, Row, VecExpr};

impl Build<'_> {
    /// Gears, and motions that no tree joint could take up.
    pub(super) fn ties(&mut self) -> Result<(), DeriveError> {
        let mut names =
            self.loaded.model.rows.iter().filter(|row| matches!(row.kind, RowKind::Tie(_)));
        for tie in &self.loaded.description.ties {
            let name = names.next().map_or_else(String::new, |row| row.name.clone());
            let (mut sum, mut drawn) = (Vec::new(), Vec::new());
            for (joint, which, ratio) in &tie.terms {
                let Some(&q) = self.joint_values[joint.index()].get(*which) else {
                    return unsupported(
                        format!("coupling `{name}`"),
                        "it acts on a joint that closes a loop; the engine has no coordinate for it",
                    );
                };
                let ratio = self.tidy(*ratio);
                sum.push(self.system.pool.mul(&[ratio, q]));
                let as_drawn = self.drawn_values[joint.index()][*which];
                drawn.push(self.system.pool.mul(&[ratio, as_drawn]));
            }
            let target = if tie.as_drawn { self.system.pool.add(&drawn) } else { tie.target };
            let target = self.tidy(target);
            sum.push(self.system.pool.neg(target));
            let row = self.system.pool.add(&sum);
            let row = self.tidy(row);
            if row != Expr::ZERO {
                self.system.closures.push(Closure {
                    name: format!("coupling `{name}`"),
                    rows: vec![Row::Equation(row)],
                });
            }
        }
        Ok(())
    }

    /// The rows of a joint that closes a loop.
    pub(super) fn cut(&mut self, joint: usize) -> Result<(), DeriveError> {
        let about = &self.loaded.model.joints[joint];
        let element = format!("joint `{}`", about.name);
        let kind = about.kind.type_name();
        let geometry = self.loaded.description.joints[joint].clone();
        let [a, b] = about.bodies;
        let ends = [0, 1].map(|i| self.link_point(about.bodies[i], &geometry.world_points[i]));
        let nodes = [ends[0].node, ends[1].node];
        let (seat_a, seat_b) = (self.seat(a), self.seat(b));
        let unit = |i: usize| {
            let mut v = [Expr::ZERO; 3];
            v[i] = Expr::ONE;
            v
        };
        let gap = |direction: VecExpr| Row::Along { ends: ends.clone(), direction };
        let meet = |axis: usize| Row::Gap { ends: ends.clone(), axis };
        // Axes of the joint frames in the drawing: z along the axis, x and y across.
        let drawn = geometry.world_axes.map(|axes| axes.map(|v| self.tidy_vec(&v)));
        let frame = |build: &mut Self, which: usize, seat: &Seat| -> [VecExpr; 3] {
            let Some(axes) = drawn else {
                return [0, 1, 2].map(|i| build.aligned(seat, &unit(i)));
            };
            let value = build.number_vec(&axes[which]).normalize();
            let (x, y) = build.across(&axes[which], &value);
            let z = build.unit(&axes[which]);
            [x, y, z].map(|v| build.aligned(seat, &v))
        };
        let right = |u: VecExpr, w: VecExpr| Row::Right { nodes, directions: [u, w] };
        let mut rows: Vec<Row> = Vec::new();
        match kind {
            "ball" => rows.extend([0, 1, 2].map(&meet)),
            "hinge" => {
                rows.extend([0, 1, 2].map(&meet));
                let (fa, fb) = (frame(self, 0, &seat_a), frame(self, 1, &seat_b));
                rows.extend([right(fa[2], fb[0]), right(fa[2], fb[1])]);
            }
            "universal" => {
                rows.extend([0, 1, 2].map(&meet));
                let axes = drawn.unwrap_or([unit(2), unit(0)]);
                let z = self.unit(&axes[0]);
                let x = self.unit(&axes[1]);
                let (z, x) = (self.aligned(&seat_a, &z), self.aligned(&seat_b, &x));
                rows.push(right(z, x));
            }
            "slider" | "cylindrical" | "planar" | "rail" | "plane-point" => {
                let (fa, fb) = (frame(self, 0, &seat_a), frame(self, 1, &seat_b));
                let across: &[usize] =
                    if matches!(kind, "planar" | "plane-point") { &[2] } else { &[0, 1] };
                rows.extend(across.iter().map(|i| gap(fa[*i])));
                if matches!(kind, "slider" | "cylindrical" | "planar") {
                    rows.extend([right(fa[2], fb[0]), right(fa[2], fb[1])]);
                }
                if kind == "slider" {
                    rows.push(right(fa[0], fb[1]));
                }
            }
            "fixed" | "translation" => {
                if kind == "fixed" {
                    rows.extend([0, 1, 2].map(&meet));
                }
                let (fa, fb) = (frame(self, 0, &seat_a), frame(self, 1, &seat_b));
                rows.extend([right(fa[2], fb[1]), right(fa[0], fb[2]), right(fa[1], fb[0])]);
            }
            "distance" => {
                let length = geometry.parameters.iter().find(|(n, _)| *n == "length");
                let length = self.tidy(length.map_or(Expr::ZERO, |(_, e)| *e));
                rows.push(Row::Distance { ends: ends.clone(), length });
            }
            "surface" => {
                let Some(Track::Surface { x, f, frame }) = geometry.track else {
                    return unsupported(element, "its surface has no formula");
                };
                let origin = self.tidy_vec(&frame.position);
                let origin = self.link_point(a, &origin);
                let axes = frame.rotation.map(|r| r.map(|row| self.tidy_vec(&row)));
                let mut algebra = InPool { pool: &mut self.system.pool };
                let axes = crate::algebra::compose(&mut algebra, &seat_a.align, &axes);
                let f = self.system.pool.substitute(f, &self.definitions);
                rows.push(Row::Surface { ends: [origin, ends[1].clone()], axes, x, f });
            }
            "rope" => {
                return unsupported(
                    element,
                    "a rope is slack or taut and has no one equation of motion; use `distance` for a taut one",
                );
            }
            "screw" => {
                return unsupported(
                    element,
                    "a screw that closes a loop counts turns; let it carry the tree",
                );
            }
            "curve" => {
                return unsupported(
                    element,
                    "a curve that closes a loop is not derived; hang its body on the curve alone",
                );
            }
            _ => {
                return unsupported(
                    element,
                    format!("a joint of type `{kind}` cannot close a loop here"),
                );
            }
        }
        self.system.closures.push(Closure { name: element, rows });
        Ok(())
    }
}
