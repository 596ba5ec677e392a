//! What acts along joint coordinates: springs, dampers, drives, motors, motions.

use gelenk_expr::Expr;

use super::context::{Allowed, Context, Site};
use super::expand::{Element, Flat};
use super::joints::OPEN_JOINT;
use crate::description::{ForceValues, TieValues};
use crate::force::{ForceKind, JointAxis, JointDamper, JointSpring, Motor, Servo};
use crate::joint::{Coordinate, CoordinateKind, JointId};
use crate::rows::CoordinateTie;
use crate::signal::{TimeFunction, Value, Work};
use crate::source::Span;
use crate::spec::tables::{DriveSpec, JointSpec, MotionSpec, MotorSpec};
use crate::spec::{PerCoordinate, Scalar, Text, did_you_mean};

impl<'a> Context<'a> {
    /// Builds all that acts along joint coordinates.
    pub(crate) fn build_drives(&mut self, flat: &Flat<'a>) {
        for joint in &flat.joints {
            let Some(id) = self.joint_ids[joint.index] else { continue };
            self.joint_spring(joint, id);
            self.joint_damper(joint, id);
            self.joint_properties(joint, id);
            for (i, drive) in joint.spec.drive.0.iter().enumerate() {
                self.drive(joint, id, drive, i);
            }
            for (i, motor) in joint.spec.motor.0.iter().enumerate() {
                self.motor(joint, id, motor, i);
            }
            for (i, motion) in joint.spec.motion.0.iter().enumerate() {
                self.motion(joint, id, motion, i);
            }
        }
    }

    pub(crate) fn coordinates(&self, id: JointId) -> &'static [Coordinate] {
        self.builder.model().joints[id.index()].kind.equations().coordinates()
    }

    /// Value of a coordinate at the start.
    pub(crate) fn start_coordinate(&self, id: JointId, which: usize) -> f64 {
        let model = self.builder.model();
        model.start.coordinate[model.joints[id.index()].first_coordinate + which]
    }

    /// Coordinates with their numbers: one number for the only coordinate or for all of one kind, a list with one for each.
    pub(crate) fn per_coordinate<'s>(
        &mut self,
        site: &Site<'_>,
        id: JointId,
        numbers: &'s PerCoordinate,
    ) -> Option<Vec<(usize, &'s Scalar)>> {
        let coordinates = self.coordinates(id);
        if !numbers.list || coordinates.is_empty() {
            let range = self.plain_coordinates(site, numbers.span, id)?;
            return Some(range.filter_map(|i| Some((i, numbers.values.first()?))).collect());
        }
        if numbers.values.len() != coordinates.len() {
            let names: Vec<&str> = coordinates.iter().map(|c| c.name).collect();
            let (n, wanted) = (numbers.values.len(), coordinates.len());
            let message = format!("`{}` has {n} numbers for {wanted} coordinates", site.what);
            let help = format!("give one for each of {}", names.join(", "));
            self.error("wrong-length", site, numbers.span, message, help);
            return None;
        }
        Some(numbers.values.iter().enumerate().collect())
    }

    /// The coordinates that a plain `damping` or `stiffness` means: the only one, or all if they are of one kind.
    fn plain_coordinates(
        &mut self,
        site: &Site<'_>,
        span: Span,
        id: JointId,
    ) -> Option<std::ops::Range<usize>> {
        let joint = &self.builder.model().joints[id.index()];
        let (type_name, freedoms) = (joint.kind.type_name(), joint.kind.free_dof());
        let coordinates = self.coordinates(id);
        if coordinates.is_empty() {
            let message =
                format!("a joint of type `{type_name}` has no coordinate for `{}`", site.what);
            let help = "use it with hinge, slider and the like, or put a `[[drag]]` on the body";
            self.error("no-coordinate", site, span, message, help);
            return None;
        }
        if freedoms == 1 {
            return Some(0..1);
        }
        if coordinates.iter().any(|c| c.kind != coordinates[0].kind) {
            let message =
                format!("a joint of type `{type_name}` slides and turns; which is meant?");
            let names: Vec<&str> = coordinates.iter().map(|c| c.name).collect();
            let help = format!("give a list with one number for each of {}", names.join(", "));
            self.error("which-coordinate", site, span, message, help);
            return None;
        }
        Some(0..coordinates.len())
    }

    /// The coordinate that a table means, by its name or by its key (`angle` or `position`).
    pub(crate) fn which(
        &mut self,
        site: &Site<'_>,
        span: Span,
        id: JointId,
        name: Option<&Text>,
        kind: Option<CoordinateKind>,
    ) -> Option<usize> {
        let coordinates = self.coordinates(id);
        let joint = &self.builder.model().joints[id.index()];
        let (type_name, freedoms) = (joint.kind.type_name(), joint.kind.free_dof());
        if coordinates.is_empty() {
            let message = format!("a joint of type `{type_name}` has no coordinate");
            self.error("no-coordinate", site, span, message, "use a hinge, a slider or the like");
            return None;
        }
        if let Some(name) = name {
            let found = coordinates.iter().position(|c| c.name == name.text);
            if found.is_none() && !name.poisoned {
                let known = coordinates.iter().map(|c| c.name);
                let help = did_you_mean(&name.text, known).unwrap_or_default();
                let message =
                    format!("a joint of type `{type_name}` has no coordinate `{}`", name.text);
                self.error("no-coordinate", site, name.span, message, help);
            }
            return found;
        }
        let fitting: Vec<usize> = (0..coordinates.len())
            .filter(|i| kind.is_none_or(|kind| coordinates[*i].kind == kind))
            .collect();
        match fitting.as_slice() {
            [only] => Some(*only),
            [first, ..] if freedoms == 1 => Some(*first),
            [] => {
                let (has, key) = match coordinates[0].kind {
                    CoordinateKind::Angle => ("turns", "angle"),
                    CoordinateKind::Length => ("slides", "position"),
                };
                let message = format!("a joint of type `{type_name}` {has} only");
                self.error("no-coordinate", site, span, message, format!("use `{key}`"));
                None
            }
            _ => {
                let names: Vec<String> =
                    coordinates.iter().map(|c| format!("`{}`", c.name)).collect();
                let message = format!("a joint of type `{type_name}` has several coordinates");
                let help = format!("say which with `coordinate`: {}", names.join(", "));
                self.error("which-coordinate", site, span, message, help);
                None
            }
        }
    }

    fn joint_spring(&mut self, joint: &Element<'a, JointSpec>, id: JointId) -> Option<()> {
        let spec = joint.spec;
        let rest = match (&spec.rest, &spec.rest_deg) {
            (Some(_), Some(second)) => {
                let site = joint.site("rest");
                self.error("place-twice", &site, second.span, "`rest` is given twice", "keep one");
                return None;
            }
            (Some(rest), None) => Some(rest.span),
            (None, Some(rest)) => Some(rest.span),
            (None, None) => None,
        };
        let Some(stiffness) = &spec.stiffness else {
            if let Some(span) = rest {
                let message = "`rest` is of no use without `stiffness`";
                self.error("unused-key", &joint.site("rest"), span, message, "add `stiffness`");
            }
            return None;
        };
        let site = joint.site("stiffness");
        let stiffness = self.per_coordinate(&site, id, stiffness)?;
        let rests = match &spec.rest {
            Some(rest) => self.per_coordinate(&joint.site("rest"), id, rest)?,
            None => Vec::new(),
        };
        for (which, scalar) in stiffness {
            let (stiffness_expr, value) = self.live(&site, scalar)?;
            self.warn_negative(&site, scalar.span, value);
            let angle = self.coordinates(id)[which].kind == CoordinateKind::Angle;
            let plain = rests.iter().find(|(i, _)| *i == which).map(|(_, rest)| (*rest, false));
            let degrees = spec.rest_deg.as_ref().filter(|_| angle).map(|rest| (rest, true));
            let mut as_drawn = true;
            let (rest_expr, rest) = if let Some((scalar, degrees)) = plain.or(degrees) {
                as_drawn = false;
                self.live_angle(&joint.site("rest"), scalar, degrees)?
            } else {
                let start = self.start_coordinate(id, which);
                (self.pool.float(start), Value::Constant(start))
            };
            let axis = JointAxis { joint: id, which };
            let kind = ForceKind::JointSpring(JointSpring { axis, rest, stiffness: value });
            if value == Value::Constant(0.0) {
                continue;
            }
            let values = vec![("rest", rest_expr), ("stiffness", stiffness_expr)];
            self.add_axis_force(joint, "spring", which, kind, values);
            if let Some(last) = self.description.forces.last_mut() {
                last.as_drawn = as_drawn;
            }
        }
        Some(())
    }

    fn joint_damper(&mut self, joint: &Element<'a, JointSpec>, id: JointId) -> Option<()> {
        let damping = joint.spec.damping.as_ref()?;
        let site = joint.site("damping");
        for (which, scalar) in self.per_coordinate(&site, id, damping)? {
            let (expr, value) = self.live(&site, scalar)?;
            self.warn_negative(&site, scalar.span, value);
            if value == Value::Constant(0.0) {
                continue;
            }
            let axis = JointAxis { joint: id, which };
            let kind = ForceKind::JointDamper(JointDamper { axis, damping: value });
            self.add_axis_force(joint, "damping", which, kind, vec![("damping", expr)]);
        }
        Some(())
    }

    /// Adds a force along a coordinate: `elbow.spring`, `elbow.drive2`.
    fn add_axis_force(
        &mut self,
        joint: &Element<'a, JointSpec>,
        what: &str,
        i: usize,
        kind: ForceKind,
        values: Vec<(&'static str, Expr)>,
    ) {
        let name = part_name(&joint.name, what, i);
        self.add_force(&name, kind, ForceValues { values, ..ForceValues::default() });
    }

    /// A live number, from degrees if asked.
    fn live_angle(
        &mut self,
        site: &Site<'_>,
        scalar: &Scalar,
        degrees: bool,
    ) -> Option<(Expr, Value)> {
        let mut expr = self.scalar_expr(site, scalar, Allowed::State)?;
        if degrees {
            expr = self.radians_expr(expr);
        }
        let value = self.live_value(site, scalar.span, expr)?;
        Some((expr, value))
    }

    fn radians_expr(&mut self, degrees: Expr) -> Expr {
        let factor = self.pool.rational(1, 180);
        self.pool.mul(&[degrees, Expr::PI, factor])
    }

    fn drive(
        &mut self,
        joint: &Element<'a, JointSpec>,
        id: JointId,
        spec: &DriveSpec,
        i: usize,
    ) -> Option<()> {
        let site = joint.site("drive");
        let targets = [
            (&spec.angle, CoordinateKind::Angle, false),
            (&spec.angle_deg, CoordinateKind::Angle, true),
            (&spec.position, CoordinateKind::Length, false),
        ];
        let given: Vec<_> = targets
            .iter()
            .filter_map(|(s, kind, deg)| s.as_ref().map(|s| (s, *kind, *deg)))
            .collect();
        if given.len() > 1 {
            let message = "the drive has more than one target";
            let help = "keep one of `angle`, `angle_deg` and `position`";
            self.error("place-twice", &site, spec.span, message, help);
            return None;
        }
        let target = given.first().copied();
        if target.is_none() && spec.velocity.is_none() {
            let message = "the drive has no target";
            let help = "give `angle`, `angle_deg`, `position` or `velocity`; for a plain torque use `motor`";
            self.error("missing-key", &site, spec.span, message, help);
            return None;
        }
        let kind = target.map(|t| t.1);
        let which = self.which(&site, spec.span, id, spec.coordinate.as_ref(), kind)?;
        let (target_expr, target_value) = match target {
            Some((scalar, _, degrees)) => {
                self.live_angle(&joint.site("target of the drive"), scalar, degrees)?
            }
            None => (Expr::ZERO, Value::Constant(0.0)),
        };
        let (velocity_expr, target_velocity) = if let Some(velocity) = &spec.velocity {
            self.live(&joint.site("velocity of the drive"), velocity)?
        } else {
            // A target that is a function of time alone has a velocity of its own.
            let rate = self.time_derivative(target_expr);
            (rate, self.live_value(&site, spec.span, rate)?)
        };
        if let (Some(_), Some(second)) = (&spec.max_torque, &spec.max_force) {
            let message = "the largest force of the drive is given twice";
            let help = "keep `max_torque` for an angle, `max_force` for a position";
            self.error("place-twice", &site, second.span, message, help);
        }
        let mut read = |what: &'static str, scalar: &Option<Scalar>, default: f64| match scalar {
            Some(scalar) => {
                let site = joint.site(what);
                let live = self.live(&site, scalar)?;
                self.warn_negative(&site, scalar.span, live.1);
                Some(live)
            }
            None => Some((self.pool.float(default), Value::Constant(default))),
        };
        let stiffness = read("stiffness of the drive", &spec.stiffness, 0.0);
        let damping = read("damping of the drive", &spec.damping, 0.0);
        let brake = read("brake", &spec.brake, 0.0);
        let max = [&spec.max_torque, &spec.max_force].into_iter().find(|s| s.is_some());
        let max = match max {
            Some(scalar) => read("max_torque", scalar, 0.0),
            None => Some((Expr::ZERO, Value::Constant(f64::INFINITY))),
        };
        let (stiffness, damping, brake, max) = (stiffness?, damping?, brake?, max?);
        let zero = Value::Constant(0.0);
        if stiffness.1 == zero && damping.1 == zero && brake.1 == zero {
            let message = "the drive has neither stiffness nor damping, so it does nothing";
            self.error("idle-drive", &site, spec.span, message, "give `stiffness` and `damping`");
            return None;
        }
        if target.is_some() && stiffness.1 == zero {
            let message =
                "the drive has a target but no stiffness, so it follows the velocity only";
            self.warn("idle-drive", &site, spec.span, message, "give `stiffness`");
        }
        let axis = JointAxis { joint: id, which };
        let servo = Servo {
            axis,
            target: target_value,
            target_velocity,
            stiffness: stiffness.1,
            damping: damping.1,
            max_force: max.1,
            brake: brake.1,
        };
        let mut values = vec![
            ("target", target_expr),
            ("target_velocity", velocity_expr),
            ("stiffness", stiffness.0),
            ("damping", damping.0),
            ("brake", brake.0),
        ];
        if max.1 != Value::Constant(f64::INFINITY) {
            values.push(("max_force", max.0));
        }
        self.add_axis_force(joint, "drive", i, ForceKind::Servo(servo), values);
        Some(())
    }

    /// d/dt of a function of time; zero for one of the state.
    fn time_derivative(&mut self, expr: Expr) -> Expr {
        let symbols = self.pool.symbols_of(expr);
        if symbols.iter().any(|s| self.states.contains_key(s)) {
            return Expr::ZERO;
        }
        let time = self.pool.time();
        self.pool.diff(expr, time)
    }

    fn motor(
        &mut self,
        joint: &Element<'a, JointSpec>,
        id: JointId,
        spec: &MotorSpec,
        i: usize,
    ) -> Option<()> {
        let site = joint.site("motor");
        let (scalar, kind) = match (&spec.torque, &spec.force) {
            (Some(torque), None) => (torque, CoordinateKind::Angle),
            (None, Some(force)) => (force, CoordinateKind::Length),
            _ => {
                let message = "a motor has either `torque` or `force`";
                let help = "give `torque` for a turning joint, `force` for a sliding one";
                self.error("missing-key", &site, spec.span, message, help);
                return None;
            }
        };
        let coordinates = self.coordinates(id);
        if !coordinates.is_empty() && coordinates.iter().all(|c| c.kind != kind) {
            let (given, moves, key) = match kind {
                CoordinateKind::Length => ("force", "turns", "torque"),
                CoordinateKind::Angle => ("torque", "slides", "force"),
            };
            let type_name = self.builder.model().joints[id.index()].kind.type_name();
            let message = format!("a joint of type `{type_name}` {moves}: it has no `{given}`");
            self.error("no-coordinate", &site, scalar.span, message, format!("use `{key}`"));
            return None;
        }
        let which = self.which(&site, spec.span, id, spec.coordinate.as_ref(), Some(kind))?;
        let (expr, force) = self.live(&site, scalar)?;
        let axis = JointAxis { joint: id, which };
        let kind = ForceKind::Motor(Motor { axis, force });
        self.add_axis_force(joint, "motor", i, kind, vec![("force", expr)]);
        Some(())
    }

    fn motion(
        &mut self,
        joint: &Element<'a, JointSpec>,
        id: JointId,
        spec: &MotionSpec,
        i: usize,
    ) -> Option<()> {
        let site = joint.site("motion");
        let targets = [
            (&spec.angle, CoordinateKind::Angle, false),
            (&spec.angle_deg, CoordinateKind::Angle, true),
            (&spec.position, CoordinateKind::Length, false),
        ];
        let given: Vec<_> = targets
            .iter()
            .filter_map(|(s, kind, deg)| s.as_ref().map(|s| (s, *kind, *deg)))
            .collect();
        let [(scalar, kind, degrees)] = given.as_slice() else {
            let message = "a motion has one of `angle`, `angle_deg` and `position`";
            self.error(
                "missing-key",
                &site,
                spec.span,
                message,
                "such as motion = { angle = \"2*pi*t\" }",
            );
            return None;
        };
        let which = self.which(&site, spec.span, id, spec.coordinate.as_ref(), Some(*kind))?;
        let mut expr = self.scalar_expr(&site, scalar, Allowed::Time)?;
        if *degrees {
            expr = self.radians_expr(expr);
        }
        let target = self.time_function(&site, scalar.span, expr)?;
        let start = self.start_coordinate(id, which);
        let [at_zero, ..] = target.value(0.0, &mut work_for(&target));
        // With start values of their own all conditions are looked at together.
        if !self.options.allow_open && !self.has_starts && (at_zero - start).abs() > OPEN_JOINT {
            let message = format!(
                "the motion begins at {at_zero}, but the joint stands at {start} at the start"
            );
            let help = "set the joint's `drawn_at`, or add the difference to the motion";
            self.error("open-joint", &site, scalar.span, message, help);
        }
        let tie = CoordinateTie { terms: vec![(id, which, 1.0)], target };
        let terms = vec![(id, which, Expr::ONE)];
        self.description.ties.push(TieValues { terms, target: expr, as_drawn: false });
        self.ties.push((part_name(&joint.name, "motion", i), tie));
        Some(())
    }

    /// A function of time with its derivatives.
    fn time_function(&mut self, site: &Site<'_>, span: Span, expr: Expr) -> Option<TimeFunction> {
        let time = self.pool.time();
        if !self.pool.contains(expr, time) {
            return self.finite(site, span, expr).map(TimeFunction::Constant);
        }
        let first = self.pool.diff(expr, time);
        let second = self.pool.diff(first, time);
        let tape = self.compile(site, span, &[expr, first, second], &[time])?;
        let values = tape.values(&[0.0]);
        if !values.iter().all(|v| v.is_finite()) {
            let message = format!("{} or its rate is not finite at t = 0", site.what);
            let help = "use a function that is smooth at the start";
            self.error("bad-number", site, span, message, help);
            return None;
        }
        Some(TimeFunction::Tape(tape))
    }
}

fn work_for(target: &TimeFunction) -> Work {
    let registers = match target {
        TimeFunction::Constant(_) => 0,
        TimeFunction::Tape(tape) => tape.n_registers(),
    };
    Work { registers: vec![0.0; registers], ..Work::default() }
}

/// The name of something that belongs to a joint; names that users give have no dots.
fn part_name(joint: &str, what: &str, i: usize) -> String {
    if i == 0 { format!("{joint}.{what}") } else { format!("{joint}.{what}{}", i + 1) }
}
