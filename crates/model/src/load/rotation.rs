//! Places and rotations as the file gives them.

use gelenk_expr::{Expr, Pool};
use nalgebra::{Quaternion, Unit};

use super::context::{Context, Quantity, Site};
use super::frame::{self, Frame, RotationExpr};
use crate::math::{Quat, Vec3, perpendicular_frame};
use crate::spec::Vec3Spec;
use crate::spec::tables::{RotationSpec, RotationTable};

/// Longest length a model may hold, m.
pub(crate) const LONGEST: f64 = 1e9;

impl Context<'_> {
    /// A frame from `position` and `rotation`; identity where left out.
    pub(crate) fn frame(
        &mut self,
        site: &Site<'_>,
        position: Option<&Vec3Spec>,
        rotation: Option<&RotationSpec>,
    ) -> Option<Frame> {
        let place = match position {
            Some(p) => self.place(&site.on("position"), p),
            None => Some(([Expr::ZERO; 3], Vec3::zeros())),
        };
        let turn = match rotation {
            Some(r) => self.rotation(&site.on("rotation"), r),
            None => Some((None, Quat::identity())),
        };
        let ((position_expr, position), (rotation_expr, rotation)) = (place?, turn?);
        Some(Frame { position, rotation, position_expr, rotation_expr, along: None })
    }

    /// A constant point; not absurdly far.
    pub(crate) fn place(&mut self, site: &Site<'_>, p: &Vec3Spec) -> Option<([Expr; 3], Vec3)> {
        let (expr, value) = self.vector_quantity(site, p)?;
        if value.amax() > LONGEST {
            let message = format!("{} lies {:e} m away", site.what, value.amax());
            let help = format!("coordinates reach to {LONGEST:e} m; are they in metres?");
            self.error("absurd-length", site, p[0].span, message, help);
            return None;
        }
        Some((expr, value))
    }

    /// A direction; not zero.
    pub(crate) fn direction(&mut self, site: &Site<'_>, v: &Vec3Spec) -> Option<([Expr; 3], Vec3)> {
        let (expr, value) = self.vector_quantity(site, v)?;
        // Scaled first, so that very long or short directions do not over- or underflow.
        let largest = value.amax();
        if largest <= 0.0 {
            let message = format!("{} is zero", site.what);
            let help = "give a direction such as [0, 0, 1]; its length does not matter";
            self.error("zero-axis", site, v[0].span, message, help);
            return None;
        }
        Some((expr, (value / largest).normalize()))
    }

    fn rotation(&mut self, site: &Site<'_>, spec: &RotationSpec) -> Option<(RotationExpr, Quat)> {
        match spec {
            RotationSpec::Quaternion(span, parts) => {
                let parts = parts.each_ref().map(|s| self.quantity(site, s));
                let [w, x, y, z] = parts;
                let [w, x, y, z] = [w?, x?, y?, z?];
                let q = Quaternion::new(w.value, x.value, y.value, z.value);
                let norm = q.norm();
                if norm < 1e-100 || !norm.is_finite() {
                    let message = "the quaternion is zero";
                    let help = "no rotation is [1, 0, 0, 0]: w first";
                    self.error("zero-axis", site, *span, message, help);
                    return None;
                }
                if (norm - 1.0).abs() > 1e-3 {
                    let message = format!("the quaternion has length {norm}, not 1");
                    let help = "it is made a unit quaternion; the order is [w, x, y, z]";
                    self.warn("not-unit", site, *span, message, help);
                }
                let expr = frame::quaternion(&mut self.pool, [w.expr, x.expr, y.expr, z.expr]);
                Some((Some(expr), Quat::new_normalize(q)))
            }
            RotationSpec::Table(table) => self.rotation_table(site, table),
        }
    }

    fn rotation_table(
        &mut self,
        site: &Site<'_>,
        table: &RotationTable,
    ) -> Option<(RotationExpr, Quat)> {
        let angles = [&table.angle, &table.angle_deg];
        let n_angles = angles.iter().filter(|a| a.is_some()).count();
        let about_axis = table.axis.is_some() || n_angles > 0;
        let by_euler = table.euler.is_some() || table.euler_deg.is_some();
        let by_directions = table.from.is_some() || table.to.is_some();
        let ways = [about_axis, by_euler, by_directions].iter().filter(|w| **w).count();
        let both_euler = table.euler.is_some() && table.euler_deg.is_some();
        if ways != 1 || n_angles > 1 || both_euler {
            let message = "a rotation is given in one way";
            let help = "use { axis, angle } or { axis, angle_deg }, { euler } or { euler_deg }, or { from, to }";
            self.error("bad-rotation", site, table.span, message, help);
            return None;
        }
        if by_euler {
            return self.euler(site, table);
        }
        if by_directions {
            return self.between(site, table);
        }
        let (Some(axis), Some(angle)) = (&table.axis, angles.into_iter().flatten().next()) else {
            let missing = if table.axis.is_none() { "axis" } else { "angle" };
            let message = format!("key `{missing}` is missing");
            let help = "write { axis = [0, 0, 1], angle_deg = 90 }";
            self.error("missing-key", site, table.span, message, help);
            return None;
        };
        let direction = self.direction(&site.on("axis"), axis);
        let angle = self.quantity(&site.on("angle"), angle);
        let ((axis_expr, axis), mut angle) = (direction?, angle?);
        if table.angle_deg.is_some() {
            angle = radians(&mut self.pool, angle);
        }
        let rotation = Quat::from_axis_angle(&Unit::new_unchecked(axis), angle.value);
        Some((Some(frame::axis_angle(&mut self.pool, &axis_expr, angle.expr)), rotation))
    }

    fn euler(&mut self, site: &Site<'_>, table: &RotationTable) -> Option<(RotationExpr, Quat)> {
        let degrees = table.euler_deg.is_some();
        let angles = table.euler.as_ref().or(table.euler_deg.as_ref())?;
        let [x, y, z] = angles.each_ref().map(|a| self.quantity(&site.on("euler"), a));
        let mut angles = [x?, y?, z?];
        if degrees {
            angles = angles.map(|a| radians(&mut self.pool, a));
        }
        let [x, y, z] = angles.map(|a| a.value);
        let rotation = Quat::from_euler_angles(x, y, z);
        Some((frame::euler(&mut self.pool, angles.map(|a| a.expr)), rotation))
    }

    fn between(&mut self, site: &Site<'_>, table: &RotationTable) -> Option<(RotationExpr, Quat)> {
        let from = match &table.from {
            Some(from) => self.direction(&site.on("from"), from),
            None => Some(([Expr::ZERO, Expr::ZERO, Expr::ONE], Vec3::z())),
        };
        let Some(to) = &table.to else {
            self.error(
                "missing-key",
                site,
                table.span,
                "key `to` is missing",
                "write { to = [1, 0, 0] }",
            );
            return None;
        };
        let to = self.direction(&site.on("to"), to);
        let ((a_expr, a), (b_expr, b)) = (from?, to?);
        if let Some(rotation) = Quat::rotation_between(&a, &b) {
            let expr = frame::between(&mut self.pool, &a_expr, &b_expr);
            return Some((Some(expr), rotation));
        }
        // Opposite directions: half a turn about any axis across.
        let (across, _) = perpendicular_frame(&a);
        let rotation = Quat::from_axis_angle(&Unit::new_normalize(across), std::f64::consts::PI);
        Some((Some(frame::constant(&mut self.pool, &rotation)), rotation))
    }
}

/// Degrees to radians.
pub(crate) fn radians(pool: &mut Pool, degrees: Quantity) -> Quantity {
    let factor = pool.rational(1, 180);
    let expr = pool.mul(&[degrees.expr, Expr::PI, factor]);
    Quantity { expr, value: degrees.value.to_radians() }
}
