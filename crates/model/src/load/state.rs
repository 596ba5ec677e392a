//! Names of the state in expressions: `body.foot.position.z`, `joint.elbow.angle`, `P.x`.

use gelenk_expr::Expr;

use super::context::{Allowed, Context, InputMeaning, Site};
use super::names::Kind;
use crate::body::{BodyId, BodyKind};
use crate::joint::JointId;
use crate::math::Vec3;
use crate::signal::{BodyVector, StateRef};
use crate::source::Span;
use crate::spec::{did_you_mean, nearest};

const AXES: [&str; 3] = ["x", "y", "z"];
const BODY_WORDS: [&str; 7] =
    ["position", "velocity", "angular_velocity", "x_axis", "y_axis", "z_axis", "center_of_mass"];
const POINT_WORDS: [&str; 2] = ["position", "velocity"];
const KINDS: [&str; 4] = ["body", "point", "marker", "joint"];

/// What a dotted name speaks of.
#[derive(Clone, Copy)]
enum Owner {
    Body(BodyId),
    Point(BodyId),
    Marker(BodyVector),
    Joint(JointId),
}

impl Context<'_> {
    /// The symbol of a dotted name, remembered with what it means.
    pub(crate) fn state_symbol(
        &mut self,
        site: &Site<'_>,
        span: Span,
        name: &str,
        allowed: Allowed,
    ) -> Option<Expr> {
        let words: Vec<&str> = name.split('.').collect();
        if let ["input", input] = words.as_slice()
            && self.find(Kind::Body, site.scope, "input").is_none()
        {
            return self.input_symbol(site, span, input, allowed);
        }
        if let [word @ ("charge" | "current"), circuit] = words.as_slice()
            && self.find(Kind::Body, site.scope, word).is_none()
        {
            return self.charge_symbol(site, span, word, circuit, allowed);
        }
        let (kind, element, rest) = match words.as_slice() {
            [kind, element, rest @ ..] if KINDS.contains(kind) && !rest.is_empty() => {
                (Some(*kind), *element, rest)
            }
            [element, rest @ ..] => (None, *element, rest),
            [] => return None,
        };
        let (owner, owner_name) = self.owner(site, span, name, kind, element)?;
        let (meaning, path) = self.meaning_of(site, span, name, owner, rest)?;
        if allowed == Allowed::Time {
            let message =
                format!("{} is a function of time only, but `{name}` is state", site.what);
            self.error("not-a-time-function", site, span, message, "use `t` and [parameters]");
            return None;
        }
        let is_position = matches!(meaning, StateRef::Position(..));
        if allowed == Allowed::Positions && !is_position {
            let message =
                format!("`{name}` is not a position; an equation is over positions and `t`");
            let help = "use positions of points, bodies and markers, or axes of bodies";
            self.error("not-a-position", site, span, message, help);
            return None;
        }
        let word = match owner {
            Owner::Body(_) => "body",
            Owner::Point(_) => "point",
            Owner::Marker(_) => "marker",
            Owner::Joint(_) => "joint",
        };
        let symbol = self.pool.symbol(&format!("{word}.{owner_name}.{path}"));
        self.states.entry(symbol).or_insert(meaning);
        Some(symbol)
    }

    /// The symbol of `input.NAME`.
    fn input_symbol(
        &mut self,
        site: &Site<'_>,
        span: Span,
        name: &str,
        allowed: Allowed,
    ) -> Option<Expr> {
        if allowed != Allowed::State {
            let message =
                format!("{} cannot use `input.{name}`, which is set from outside", site.what);
            let help = "inputs may stand in forces, motors and drives";
            self.error("not-a-time-function", site, span, message, help);
            return None;
        }
        match self.input_formula(name) {
            Some(InputMeaning::Is(formula)) => return Some(formula),
            Some(_) => return None,
            None => {}
        }
        let model = self.builder.model();
        let Some(i) = model.input(name) else {
            let known = model.inputs.iter().map(|input| input.name.as_str());
            let help = did_you_mean(name, known)
                .unwrap_or_else(|| format!("declare it: [inputs] {name} = 0"));
            let message = format!("there is no input `{name}`");
            self.error("unknown-name", site, span, message, help);
            return None;
        };
        let symbol = self.pool.symbol(&format!("input.{name}"));
        self.states.entry(symbol).or_insert(StateRef::Input(i));
        Some(symbol)
    }

    /// The element of a dotted name, and its full name.
    fn owner(
        &mut self,
        site: &Site<'_>,
        span: Span,
        name: &str,
        kind: Option<&str>,
        element: &str,
    ) -> Option<(Owner, String)> {
        let find = |kind| self.find(kind, site.scope, element);
        let order = match kind {
            Some("joint") => [Some(Kind::Joint), None],
            Some("marker") => [Some(Kind::Marker), None],
            Some(_) => [Some(Kind::Body), None],
            // The short form: a point, a body or a marker.
            None => [Some(Kind::Body), Some(Kind::Marker)],
        };
        let found = order.into_iter().flatten().find_map(|k| find(k).map(|d| (k, d)));
        let Some((found_kind, declared)) = found else {
            if kind.is_none() {
                self.unknown_dotted(site, span, name, element);
            } else if let Some(kind) = order[0] {
                self.unknown(kind, site, span, element);
            }
            return None;
        };
        let full_name = self.names.list(found_kind).get(declared.index)?.clone();
        let owner = match found_kind {
            Kind::Joint => Owner::Joint(self.joint_ids.get(declared.index).copied().flatten()?),
            Kind::Marker => {
                let index = self.marker_ids.get(declared.index).copied().flatten()?;
                Owner::Marker(self.builder.model().markers.get(index)?.vector)
            }
            _ => {
                let id = self.body_ids.get(declared.index).copied().flatten()?;
                let is_point = self.builder.model().bodies.get(id.index())?.kind == BodyKind::Point;
                if is_point { Owner::Point(id) } else { Owner::Body(id) }
            }
        };
        Some((owner, full_name))
    }

    /// What the words after the element's name mean, and how they are written in full.
    fn meaning_of(
        &mut self,
        site: &Site<'_>,
        span: Span,
        name: &str,
        owner: Owner,
        rest: &[&str],
    ) -> Option<(StateRef, String)> {
        if let Owner::Joint(id) = owner {
            return self.joint_word(site, span, name, id, rest);
        }
        let frame = |context: &Self, id: BodyId, v: Vec3, is_point: bool| {
            let local = if is_point {
                context.builder.from_frame(id, &v)
            } else {
                context.builder.model().bodies[id.index()].frame_rot * v
            };
            BodyVector { body: id, local, is_point }
        };
        let (origin, words): (BodyVector, &[&str]) = match owner {
            Owner::Body(id) => (frame(self, id, Vec3::zeros(), true), &BODY_WORDS),
            Owner::Point(id) => (frame(self, id, Vec3::zeros(), true), &POINT_WORDS),
            Owner::Marker(vector) => (vector, &POINT_WORDS),
            Owner::Joint(_) => return None,
        };
        let (word, axis) = match rest {
            [axis] if AXES.contains(axis) => ("position", *axis),
            [word, axis] => (*word, *axis),
            [word] | [word, ..] => (*word, ""),
            [] => ("", ""),
        };
        let known_word = words.contains(&word);
        let Some(i) = AXES.iter().position(|a| *a == axis).filter(|_| known_word) else {
            let help = if known_word {
                format!("name a component: `{word}.x`, `{word}.y` or `{word}.z`")
            } else {
                did_you_mean(word, words.iter().copied()).unwrap_or_default()
            };
            let message = format!("`{name}` means nothing");
            self.error("unknown-name", site, span, message, help);
            return None;
        };
        let id = origin.body;
        let meaning = match word {
            "velocity" => StateRef::Velocity(origin, i),
            "angular_velocity" => StateRef::AngularVelocity(id, i),
            "x_axis" => StateRef::Position(frame(self, id, Vec3::x(), false), i),
            "y_axis" => StateRef::Position(frame(self, id, Vec3::y(), false), i),
            "z_axis" => StateRef::Position(frame(self, id, Vec3::z(), false), i),
            "center_of_mass" => {
                let center = BodyVector { body: id, local: Vec3::zeros(), is_point: true };
                StateRef::Position(center, i)
            }
            _ => StateRef::Position(origin, i),
        };
        Some((meaning, format!("{word}.{axis}")))
    }

    /// `joint.J.angle`, `joint.J.velocity`, `joint.J.angle_velocity`.
    fn joint_word(
        &mut self,
        site: &Site<'_>,
        span: Span,
        name: &str,
        id: JointId,
        rest: &[&str],
    ) -> Option<(StateRef, String)> {
        let joint = self.builder.model().joints.get(id.index())?;
        let coordinates = joint.kind.equations().coordinates();
        let mut known: Vec<String> = Vec::new();
        for (which, coordinate) in coordinates.iter().enumerate() {
            let rate = format!("{}_velocity", coordinate.name);
            if let [word] = rest {
                if *word == coordinate.name {
                    return Some((StateRef::Coordinate(id, which), (*word).to_owned()));
                }
                if *word == rate || (*word == "velocity" && coordinates.len() == 1) {
                    return Some((StateRef::CoordinateRate(id, which), rate));
                }
            }
            known.push(coordinate.name.to_owned());
            known.push(rate);
        }
        if coordinates.len() == 1 {
            known.push("velocity".to_owned());
        }
        let type_name = joint.kind.type_name();
        let help = if known.is_empty() {
            format!("a joint of type `{type_name}` has no coordinate")
        } else {
            did_you_mean(&rest.join("."), known.iter().map(String::as_str)).unwrap_or_default()
        };
        let message = format!("`{name}` means nothing for a joint of type `{type_name}`");
        self.error("unknown-name", site, span, message, help);
        None
    }

    fn unknown_dotted(&mut self, site: &Site<'_>, span: Span, name: &str, element: &str) {
        let names = || {
            let bodies = self.names.list(Kind::Body).iter();
            bodies.chain(self.names.list(Kind::Marker)).map(String::as_str)
        };
        let last = name.rsplit('.').next().unwrap_or(name);
        let help = if let Some(help) = self.dashed(last) {
            help
        } else if let Some(near) = nearest(element, KINDS) {
            format!("did you mean `{near}.NAME...`?")
        } else if let Some(near) = nearest(element, names()) {
            format!("did you mean `{near}`?")
        } else {
            "state is written `body.NAME.position.x`, `point.NAME.x`, `joint.NAME.angle`".to_owned()
        };
        self.error("unknown-name", site, span, format!("there is no `{name}`"), help);
    }

    /// Help for a word that is the beginning of a name with `-`, which expressions read as minus.
    pub(crate) fn dashed(&self, word: &str) -> Option<String> {
        let kinds = [Kind::Body, Kind::Marker, Kind::Joint];
        let mut names = kinds.into_iter().flat_map(|kind| self.names.list(kind));
        let whole =
            names.find(|name| name.strip_prefix(word).is_some_and(|rest| rest.starts_with('-')))?;
        let fixed = whole.replace('-', "_");
        Some(format!("`-` is minus in expressions; call `{whole}` something like `{fixed}`"))
    }
}
