//! `[[start]]`: where bodies and joints begin, apart from where they are drawn.

use gelenk_expr::Expr;

use super::bodies::FASTEST;
use super::context::{Context, Site};
use super::joints::OPEN_JOINT;
use super::names::Kind;
use super::rotation::{LONGEST, radians};
use super::scope::ScopeId;
use crate::body::BodyKind;
use crate::description::{JointStart, MatExpr, StartEntry, StartValues};
use crate::force::JointAxis;
use crate::joint::{CoordinateKind, JointId};
use crate::math::{Quat, Vec3};
use crate::posing::CoordinateStart;
use crate::rows::Instant;
use crate::source::Span;
use crate::spec::tables::{FileSpec, StartSpec};
use crate::spec::{NumberOrVector, Scalar, ScalarSource, Text, did_you_mean};
use crate::state::{Pose, Twist};

const IDENTITY: MatExpr = {
    let (o, e) = (Expr::ZERO, Expr::ONE);
    [[e, o, o], [o, e, o], [o, o, e]]
};

/// Largest angle at the start, rad.
const MOST_ANGLE: f64 = 1e6;

/// What the command line calls a start value: `--start elbow=0.5` is the override `start.elbow`.
pub(crate) const OVERRIDE: &str = "start.";

/// A joint coordinate that is to begin somewhere.
struct Wanted {
    start: JointStart,
    value: Option<f64>,
    rate: Option<f64>,
    span: Span,
    element: String,
}

impl Context<'_> {
    /// Moves bodies and joints to their start values; a later entry replaces an earlier one. Joints keep the places on the bodies
    /// that they were drawn with.
    pub(crate) fn build_starts(&mut self, file: &FileSpec) {
        let mut wanted: Vec<Wanted> = Vec::new();
        // How many of them have been posed.
        let mut posed = 0;
        for start in &file.start {
            match (&start.body, &start.joint) {
                (Some(body), None) => {
                    self.pose(&wanted, &mut posed);
                    // What a body is given replaces what its joints were.
                    wanted.clear();
                    posed = 0;
                    self.start(start, body);
                }
                (None, Some(joint)) => {
                    if let Some(one) = self.joint_start(start, joint) {
                        put(&mut wanted, one);
                        posed = 0;
                    }
                }
                (Some(_), Some(joint)) => {
                    let message = "a start is that of a `body` or of a `joint`, not of both";
                    let site = Site::new(ScopeId::ROOT, "[[start]]", "joint");
                    let help = "write two entries, or remove one of the two keys";
                    self.error("place-twice", &site, joint.span, message, help);
                }
                (None, None) => {
                    let site = Site::new(ScopeId::ROOT, "[[start]]", "body");
                    let message = "key `body` or `joint` is missing";
                    let help = "name what begins there: body = \"arm\", or joint = \"elbow\"";
                    self.error("missing-key", &site, start.span, message, help);
                }
            }
        }
        for one in self.start_overrides() {
            put(&mut wanted, one);
            posed = 0;
        }
        self.pose(&wanted, &mut posed);
        let first = file.start.first().map(|start| start.span);
        let Some(first) = first.or(wanted.first().map(|one| one.span)) else { return };
        self.builder.follow_coordinates();
        if !self.options.allow_open && self.report.n_errors() == 0 {
            self.check_starts(first);
        }
    }

    /// Whether the command line gives start values.
    pub(crate) fn starts_overridden(&self) -> bool {
        self.overrides.keys().any(|name| name.starts_with(OVERRIDE))
    }

    /// Poses joints as asked for so far.
    fn pose(&mut self, wanted: &[Wanted], posed: &mut usize) {
        if *posed == wanted.len() {
            return;
        }
        *posed = wanted.len();
        if self.report.n_errors() > 0 {
            return; // bodies or joints may be missing
        }
        self.builder.follow_coordinates();
        let list: Vec<CoordinateStart> = wanted
            .iter()
            .map(|one| CoordinateStart { axis: one.start.axis, value: one.value, rate: one.rate })
            .collect();
        match self.builder.begin_joints(&list) {
            Ok(carried) => {
                for (one, carried) in wanted.iter().zip(carried) {
                    let start = JointStart { carried, ..one.start.clone() };
                    self.description.starts.push(StartEntry::Joint(start));
                }
            }
            // Assembly will try on its own, and report.
            Err(_) if self.options.allow_open => {}
            Err(message) => {
                let Some(last) = wanted.last() else { return };
                let site = Site::new(ScopeId::ROOT, &last.element, "joint");
                let help = "try other values, or give more of the joints of the loop";
                self.error("open-joint", &site, last.span, message, help);
            }
        }
    }

    /// An entry for a joint.
    fn joint_start(&mut self, spec: &StartSpec, text: &Text) -> Option<Wanted> {
        let element = format!("start of joint `{}`", text.text);
        let site = Site::new(ScopeId::ROOT, &element, "joint");
        let declared = self.find_text(Kind::Joint, &site, text);
        let foreign = [
            ("rotation", spec.rotation.is_some()),
            ("angular_velocity", spec.angular_velocity.is_some()),
        ];
        for (key, given) in foreign {
            if given {
                let message = format!("`{key}` is of a body, not of a joint");
                let help = "a joint has `angle`, `angle_deg` or `position`, and `rate`";
                self.error("unused-key", &site.on(key), spec.span, message, help);
                return None;
            }
        }
        let mut number = |key: &str, given: &Option<NumberOrVector>| match given {
            Some(NumberOrVector::Number(number)) => Some(Some(number.clone())),
            Some(NumberOrVector::Vector(span, _)) => {
                let message = format!("`{key}` of a joint is a number, not a vector");
                self.error("wrong-type", &site, *span, message, "give the coordinate of the joint");
                None
            }
            None => Some(None),
        };
        let position = number("position", &spec.position);
        let velocity = number("velocity", &spec.velocity);
        let (position, velocity) = (position?, velocity?);
        let id = self.joint_ids.get(declared?.index).copied().flatten()?;
        let values = [
            (spec.angle.as_ref(), Some(CoordinateKind::Angle), false),
            (spec.angle_deg.as_ref(), Some(CoordinateKind::Angle), true),
            (position.as_ref(), Some(CoordinateKind::Length), false),
        ];
        let given: Vec<_> =
            values.into_iter().filter_map(|(s, kind, deg)| s.map(|s| (s, kind, deg))).collect();
        let rates: Vec<&Scalar> = spec.rate.iter().chain(velocity.as_ref()).collect();
        if given.len() > 1 || rates.len() > 1 {
            let message = "the start of the joint is given more than once";
            let help =
                "keep one of `angle`, `angle_deg` and `position`, and one of `rate` and `velocity`";
            self.error("place-twice", &site, spec.span, message, help);
            return None;
        }
        let value = given.first().copied();
        if value.is_none() && rates.is_empty() {
            let message = "the entry says nothing about the joint";
            let help = "give `angle`, `angle_deg` or `position`, or `rate`";
            self.error("missing-key", &site, spec.span, message, help);
            return None;
        }
        let kind = value.and_then(|(_, kind, _)| kind);
        let which = self.which(&site, spec.span, id, spec.coordinate.as_ref(), kind)?;
        if let (Some(kind), Some(name)) = (kind, &spec.coordinate)
            && self.coordinates(id)[which].kind != kind
        {
            let key = if kind == CoordinateKind::Angle { "position" } else { "angle" };
            let message = format!("the coordinate `{}` is no such value", name.text);
            self.error("unused-key", &site, name.span, message, format!("use `{key}`"));
            return None;
        }
        let value = value.map(|(scalar, _, degrees)| (scalar, degrees));
        self.wanted(&element, spec.span, id, which, value, rates.first().copied())
    }

    /// A coordinate with its value, in degrees or not, and its rate.
    fn wanted(
        &mut self,
        element: &str,
        span: Span,
        id: JointId,
        which: usize,
        value: Option<(&Scalar, bool)>,
        rate: Option<&Scalar>,
    ) -> Option<Wanted> {
        let site = Site::new(ScopeId::ROOT, element, "value");
        if self.builder.model().joints[id.index()].kind.equations().one_sided() {
            let message = "the length of a rope follows from its ends";
            let help = "give the joints that hold its ends, or a start of its bodies";
            self.error("no-coordinate", &site, span, message, help);
            return None;
        }
        let value = match value {
            Some((scalar, degrees)) => {
                let mut value = self.quantity(&site, scalar)?;
                if degrees {
                    value = radians(&mut self.pool, value);
                }
                let length = self.coordinates(id)[which].kind == CoordinateKind::Length;
                let most = if length { LONGEST } else { MOST_ANGLE };
                if value.value.abs() > most {
                    let message = format!("the value {:e} is beyond {most:e}", value.value);
                    self.error("out-of-range", &site, scalar.span, message, "correct the number");
                    return None;
                }
                Some(value)
            }
            None => None,
        };
        let rate = match rate {
            Some(scalar) => {
                let rate = self.quantity(&site.on("rate"), scalar)?;
                if rate.value.abs() > FASTEST {
                    let message = format!("the rate is {:e}", rate.value);
                    let help = format!("it reaches to {FASTEST:e}; are the units SI?");
                    self.error("absurd-velocity", &site, scalar.span, message, help);
                    return None;
                }
                Some(rate)
            }
            None => None,
        };
        let axis = JointAxis { joint: id, which };
        Some(Wanted {
            start: JointStart {
                axis,
                value: value.map(|v| v.expr),
                rate: rate.map(|r| r.expr),
                carried: None,
            },
            value: value.map(|v| v.value),
            rate: rate.map(|r| r.value),
            span,
            element: element.to_owned(),
        })
    }

    /// Start values of the command line, in their order: `elbow=0.5`, `elbow.angle_deg=30`, `elbow.rate=2`.
    fn start_overrides(&mut self) -> Vec<Wanted> {
        let mut given: Vec<(String, Scalar)> = Vec::new();
        for (name, (scalar, used)) in &mut self.overrides {
            if let Some(what) = name.strip_prefix(OVERRIDE) {
                *used = true;
                given.push((what.to_owned(), scalar.clone()));
            }
        }
        given.sort_by_key(|(_, scalar)| scalar.span);
        given.iter().filter_map(|(name, scalar)| self.start_override(name, scalar)).collect()
    }

    fn start_override(&mut self, name: &str, scalar: &Scalar) -> Option<Wanted> {
        let element = format!("start `{name}`");
        let site = Site::new(ScopeId::ROOT, &element, "joint");
        let whole = name.strip_prefix("joint.").unwrap_or(name);
        let (joint, word) = match self.find(Kind::Joint, ScopeId::ROOT, whole) {
            Some(_) => (whole, None),
            None => whole.rsplit_once('.').map_or((whole, None), |(j, w)| (j, Some(w))),
        };
        let Some(declared) = self.find(Kind::Joint, ScopeId::ROOT, joint) else {
            let known = self.names.list(Kind::Joint).iter().map(String::as_str);
            let help = did_you_mean(joint, known)
                .unwrap_or_else(|| "write --start JOINT=VALUE, or JOINT.rate=VALUE".to_owned());
            let message = format!("there is no joint `{joint}` to start");
            self.error("unknown-joint", &site, scalar.span, message, help);
            return None;
        };
        let id = self.joint_ids.get(declared.index).copied().flatten()?;
        let coordinates = self.coordinates(id);
        let Some(word) = word else {
            let which = self.which(&site, scalar.span, id, None, None)?;
            return self.wanted(&element, scalar.span, id, which, Some((scalar, false)), None);
        };
        let find = |word: &str| coordinates.iter().position(|c| c.name == word);
        if let Some(which) = find(word) {
            return self.wanted(&element, scalar.span, id, which, Some((scalar, false)), None);
        }
        if let Some(which) = word.strip_suffix("_deg").and_then(find)
            && coordinates[which].kind == CoordinateKind::Angle
        {
            return self.wanted(&element, scalar.span, id, which, Some((scalar, true)), None);
        }
        let rate = ["_rate", "_velocity"].into_iter().find_map(|end| word.strip_suffix(end));
        if let Some(which) = rate.and_then(find) {
            return self.wanted(&element, scalar.span, id, which, None, Some(scalar));
        }
        if matches!(word, "rate" | "velocity") {
            let which = self.which(&site, scalar.span, id, None, None)?;
            return self.wanted(&element, scalar.span, id, which, None, Some(scalar));
        }
        let mut known: Vec<String> = Vec::new();
        for coordinate in coordinates {
            known.push(coordinate.name.to_owned());
            if coordinate.kind == CoordinateKind::Angle {
                known.push(format!("{}_deg", coordinate.name));
            }
            known.push(format!("{}_rate", coordinate.name));
        }
        known.push("rate".to_owned());
        let help = did_you_mean(word, known.iter().map(String::as_str))
            .unwrap_or_else(|| format!("it has {}", known.join(", ")));
        let message = format!("the joint `{joint}` has no `{word}` to start with");
        self.error("no-coordinate", &site, scalar.span, message, help);
        None
    }

    fn start(&mut self, spec: &StartSpec, name: &Text) {
        let element = format!("start of `{}`", name.text);
        let site = Site::new(ScopeId::ROOT, &element, "body");
        let body = self.body_named(&site, name);
        let foreign = [
            ("coordinate", spec.coordinate.is_some()),
            ("angle", spec.angle.is_some()),
            ("angle_deg", spec.angle_deg.is_some()),
            ("rate", spec.rate.is_some()),
        ];
        for (key, given) in foreign {
            if given {
                let message = format!("`{key}` is of a joint, not of a body");
                let help = "a body has `position`, `rotation`, `velocity` and `angular_velocity`";
                self.error("unused-key", &site.on(key), spec.span, message, help);
                return;
            }
        }
        let mut vector = |key: &str, given: &Option<NumberOrVector>| match given {
            Some(NumberOrVector::Vector(_, v)) => Some(Some(v.clone())),
            Some(NumberOrVector::Number(number)) => {
                if !matches!(number.source, ScalarSource::Poisoned) {
                    let message = format!("`{key}` of a body is a vector of three numbers");
                    self.error("wrong-type", &site, number.span, message, "give x, y and z");
                }
                None
            }
            None => Some(None),
        };
        let position = vector("position", &spec.position);
        let velocity = vector("velocity", &spec.velocity);
        let (Some(position), Some(velocity)) = (position, velocity) else { return };
        let frame = self.frame(&site, position.as_ref(), spec.rotation.as_ref());
        let mut vector = |what, v| {
            let v: Option<&crate::spec::Vec3Spec> = v;
            v.map_or(Some(None), |v| self.start_vector(&site.on(what), Some(v)).map(Some))
        };
        let velocity = vector("velocity", velocity.as_ref());
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
        let placed = position.is_some();
        let position: Option<Vec3> = placed.then_some(frame.position);
        let rotation: Option<Quat> = spec.rotation.is_some().then_some(frame.rotation);
        let (velocity_expr, velocity) = velocity.unzip();
        let (spin_expr, angular_velocity) = angular_velocity.unzip();
        let rotation_expr = frame.rotation_expr.unwrap_or(IDENTITY);
        self.description.starts.push(StartEntry::Body(StartValues {
            body,
            position: placed.then_some(frame.position_expr),
            rotation: spec.rotation.is_some().then_some(rotation_expr),
            velocity: velocity_expr,
            angular_velocity: spin_expr,
        }));
        self.builder.begin_at(body, position, rotation, velocity, angular_velocity);
    }

    /// Refuses start values with which a joint, coupling or equation is open.
    fn check_starts(&mut self, first: Span) {
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
            self.error("out-of-range", &site, first, message, help);
        }
        for message in faults {
            let help = "`gelenk assemble MODEL --output FILE` writes values that fit";
            self.error("open-joint", &site, first, message, help);
        }
    }
}

/// Adds a coordinate to those that are asked for; what it gives replaces what was given before.
fn put(wanted: &mut Vec<Wanted>, one: Wanted) {
    match wanted.iter_mut().find(|before| before.start.axis == one.start.axis) {
        Some(before) => {
            if one.value.is_some() {
                (before.value, before.start.value) = (one.value, one.start.value);
            }
            if one.rate.is_some() {
                (before.rate, before.start.rate) = (one.rate, one.start.rate);
            }
            (before.span, before.element) = (one.span, one.element);
        }
        None => wanted.push(one),
    }
}
