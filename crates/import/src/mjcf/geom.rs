//! Geoms: shapes, their mass, how they touch.

use gelenk_model::math::Vec3;

use super::{Reader, shortest};
use crate::mass::{Mass, Pose, Solid};
use crate::number::{number, vector};
use crate::tree::{Shape, Surface};
use crate::xml::Element;

/// What a geom is made of: its TOML, its mass for density 1.
pub(super) struct Made {
    pub(super) geometry: Option<String>,
    /// The place of the geometry in the geom's frame.
    pub(super) within: Pose,
    /// For density 1, in the geom's frame; for a mesh also what its shell has.
    pub(super) solid: Option<Mass>,
}

/// What a geom is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) link: usize,
    /// It touches others.
    pub(super) touches: bool,
    /// Its body has mass from it.
    pub(super) weighs: bool,
}

impl Use {
    /// Whether it is there for more than its looks.
    pub(super) fn matters(self) -> bool {
        self.touches || self.weighs
    }
}

/// Middle, with z along the way, and half length of a `fromto`.
pub(super) fn between(ends: &[f64]) -> (Pose, f64) {
    let from = Vec3::new(ends[0], ends[1], ends[2]);
    let to = Vec3::new(ends[3], ends[4], ends[5]);
    let way = from - to;
    let turn = way.try_normalize(1e-12).map_or_else(|| shortest(&Vec3::z()), |z| shortest(&z));
    (Pose::from_parts(((from + to) / 2.0).into(), turn), way.norm() / 2.0)
}

impl Reader<'_> {
    pub(super) fn geom(
        &mut self,
        element: &Element,
        link: usize,
        frame: &Pose,
        class: Option<&str>,
    ) {
        let element = self.resolve(element, class);
        let called = element.called();
        let mut size = self.context.numbers(&element, "size", 1..=3).unwrap_or_default();
        let given = size.len();
        size.resize(3, 0.0);
        let mut pose = self.pose(&element);
        let meshed = element.text("mesh").is_some_and(|mesh| !mesh.is_empty());
        let kind = element.text("type").unwrap_or(if meshed { "mesh" } else { "sphere" });
        let fitted = meshed && kind != "mesh";
        if let Some(ends) = self.context.numbers(&element, "fromto", 6..=6) {
            let (place, half) = between(&ends);
            pose = place;
            let span = element.get("fromto").map_or(element.span, |a| a.span);
            if half <= 1e-9 {
                let message = "the two points of `fromto` are one";
                let help = "give two points apart";
                self.context.error("bad-size", &called, span, message, help);
                return;
            }
            match kind {
                "capsule" | "cylinder" => size[1] = half,
                "box" | "ellipsoid" => {
                    size[1] = size[0];
                    size[2] = half;
                }
                _ => {
                    let message = format!("a {kind} has no `fromto`");
                    let help = "capsule, cylinder, box and ellipsoid have one";
                    self.context.error("bad-size", &called, span, message, help);
                    return;
                }
            }
        } else if given == 0 && !fitted && !matches!(kind, "mesh" | "hfield" | "plane" | "sdf") {
            let message = "the geom has no size";
            self.context.error("no-size", called, element.span, message, "give `size`");
            return;
        }
        let mut pose = frame * pose;
        let surface = self.surface(&element);
        let touches = surface.contype != 0 || surface.conaffinity != 0;
        let group = self.context.number_or(&element, "group", 0.0);
        let (first, last) = self.compiler(&element).inertia_groups;
        let heavy = self.context.number(&element, "mass") != Some(0.0)
            && (element.get("mass").is_some()
                || self.context.number(&element, "density") != Some(0.0));
        // The world has no mass.
        let counts = link != 0 && group >= first && group <= last;
        let weighs = counts && heavy && !self.robot.links[link].weighed;
        let purpose = Use { link, touches, weighs };
        if fitted {
            let Some((fit, place)) = self.fit(&element, kind, purpose) else { return };
            size = fit;
            pose *= place;
        }
        let Some(made) = self.make(&element, kind, &size, purpose) else { return };
        if let Some(solid) = made.solid.filter(|_| counts) {
            let given = self.context.number(&element, "mass");
            let density = self.context.number_or(&element, "density", 1000.0);
            let factor = match given {
                Some(mass) if solid.mass > 0.0 => mass / solid.mass,
                Some(_) => 0.0,
                None => density,
            };
            if factor < 0.0 || !factor.is_finite() {
                let message = "mass and density of a geom are not negative";
                self.context.error("bad-mass", &called, element.span, message, "give 0 or more");
                return;
            }
            let mass = solid.times(factor).placed(&pose);
            if mass.mass > 0.0 {
                let link = &mut self.robot.links[link];
                link.mass = link.mass.plus(&mass);
            }
        }
        let own = self.context.color(&element, "rgba");
        let painted = element.text("material").filter(|name| !name.is_empty()).and_then(|name| {
            let color = self.colors.get(&(element.scope, name.to_owned())).copied();
            if color.is_none() {
                let text = format!("material `{name}`, which the file does not have");
                self.context.dropped(text, &called, element.span);
            }
            color
        });
        let shapes = &mut self.robot.links[link].shapes;
        let place = made.geometry.is_some().then_some([link, shapes.len()]);
        if let Some(name) = element.text("name") {
            self.geoms.insert(name.to_owned(), place);
        }
        let Some(geometry) = made.geometry else { return };
        let color = own.or(painted);
        let pose = pose * made.within;
        shapes.push(Shape { geometry, pose, touches, color, surface: Some(surface) });
    }

    fn surface(&mut self, element: &Element) -> Surface {
        // The 32 bits of an integer, as the table of elements sees to.
        let mask = |key: &str| {
            let bits = element.text(key).and_then(|text| text.parse::<i32>().ok());
            bits.map_or(1, |bits| u128::from(bits.cast_unsigned()))
        };
        let (contype, conaffinity) = (mask("contype"), mask("conaffinity"));
        let priority = element.text("priority").and_then(|text| text.parse().ok()).unwrap_or(0);
        let friction = self.friction(element, 3).unwrap_or([1.0, 0.005, 0.0001]);
        if let Some(reference) = self.context.numbers(element, "solref", 1..=2)
            && reference[0] < 0.0
        {
            let text = "contact stiffness and damping (negative solref): contacts are rigid and do not bounce";
            self.context.changed(text, &element.called(), element.span);
        }
        self.margin(element);
        let dimension = dimension(element).unwrap_or(3);
        Surface { contype, conaffinity, priority, own: None, dimension, friction }
    }

    /// Coefficients of friction, of which an element may give the first only.
    pub(super) fn friction(&mut self, element: &Element, most: usize) -> Option<[f64; 3]> {
        let given = self.context.numbers(element, "friction", 1..=most)?;
        let mut full = [1.0, 0.005, 0.0001];
        // A pair has two directions of sliding and of rolling.
        let places: &[usize] = if most == 3 { &[0, 1, 2] } else { &[0, 0, 1, 2, 2] };
        for (place, value) in places.iter().zip(&given).rev() {
            full[*place] = *value;
        }
        if given.iter().any(|x| *x < 0.0) {
            let span = element.get("friction").map_or(element.span, |a| a.span);
            let message = "a coefficient of friction is negative";
            let (called, help) = (element.called_within(), "give 0 or more");
            self.context.error("bad-number", called, span, message, help);
        }
        Some(full)
    }

    /// Contacts hold at a distance of margin − gap there, and at no distance here.
    pub(super) fn margin(&mut self, element: &Element) {
        let margin = self.context.number_or(element, "margin", 0.0);
        let gap = self.context.number_or(element, "gap", 0.0);
        if margin - gap > 0.0 {
            let text = "margins of contact larger than their gaps: shapes touch at no distance";
            self.context.changed(text, &element.called_within(), element.span);
        }
    }

    /// The geometry of a geom; `None` if it is at fault.
    fn make(&mut self, element: &Element, kind: &str, size: &[f64], purpose: Use) -> Option<Made> {
        let called = element.called();
        let link = purpose.link;
        let plain = |geometry: String, solid: Solid| {
            let mass = Mass::centered(solid.volume(), solid.moments());
            Some(Made { geometry: Some(geometry), within: Pose::identity(), solid: Some(mass) })
        };
        let needed = match kind {
            "sphere" => 1,
            "capsule" | "cylinder" => 2,
            "box" | "ellipsoid" => 3,
            _ => 0,
        };
        if size[..needed].iter().any(|x| *x <= 0.0) {
            let message = format!("a {kind} needs {needed} positive sizes");
            self.context.error("bad-size", called, element.span, message, "check `size`");
            return None;
        }
        match kind {
            "sphere" => plain(
                format!("sphere = {{ radius = {} }}", number(size[0])),
                Solid::Ellipsoid(Vec3::repeat(size[0])),
            ),
            "capsule" => {
                plain(round("capsule", size[0], 2.0 * size[1]), Solid::Capsule(size[0], size[1]))
            }
            "cylinder" => {
                plain(round("cylinder", size[0], 2.0 * size[1]), Solid::Cylinder(size[0], size[1]))
            }
            "box" => {
                let half = Vec3::new(size[0], size[1], size[2]);
                plain(format!("box = {{ size = {} }}", vector(&(half * 2.0))), Solid::Box(half))
            }
            "ellipsoid" => {
                let half = Vec3::new(size[0], size[1], size[2]);
                let (geometry, within) = self.ellipsoid(element, &half);
                let solid = Solid::Ellipsoid(half);
                let mass = Mass::centered(solid.volume(), solid.moments());
                Some(Made { geometry: Some(geometry), within, solid: Some(mass) })
            }
            "plane" => {
                if link != 0 && self.moves(link) {
                    let message = "a plane stands on a body that moves";
                    let help = "planes belong to the world; use a box";
                    let assumed = "it is left out";
                    let (code, span) = ("bad-plane", element.span);
                    self.context.repairable(code, called, span, message, help, assumed);
                    return Some(nothing());
                }
                let drawn = if size[0] > 0.0 && size[1] > 0.0 {
                    format!("size = [{}, {}]", number(2.0 * size[0]), number(2.0 * size[1]))
                } else {
                    String::new()
                };
                let geometry = Some(format!("plane = {{ {drawn} }}"));
                Some(Made { geometry, within: Pose::identity(), solid: None })
            }
            "hfield" => Some(self.field(element, link)),
            "mesh" => self.mesh_geom(element, purpose),
            other => {
                let text =
                    format!("geoms of type {other}: they have neither mass nor contact here");
                self.context.dropped(text, &called, element.span);
                Some(nothing())
            }
        }
    }

    /// Whether a link or one below it in the tree has a joint.
    pub(super) fn moves(&self, link: usize) -> bool {
        let mut at = link;
        while at != 0 {
            if !self.robot.links[at].joints.is_empty() {
                return true;
            }
            at = self.robot.links[at].parent;
        }
        false
    }

    /// There are no ellipsoids: round bodies of about the same extent stand for them. Mass and inertia are the ellipsoid's.
    fn ellipsoid(&mut self, element: &Element, half: &Vec3) -> (String, Pose) {
        let (low, high) = (half.min(), half.max());
        if high - low <= 1e-9 * high {
            return (format!("sphere = {{ radius = {} }}", number(high)), Pose::identity());
        }
        let long = half.imax();
        let others: Vec<f64> = (0..3).filter(|k| *k != long).map(|k| half[k]).collect();
        let radius = (others[0] * others[1]).sqrt();
        let text =
            "ellipsoids: capsules along the longest axis; mass and inertia are the ellipsoid's";
        self.context.changed(text, &element.called(), element.span);
        let axis = Vec3::ith(long, 1.0);
        let within = Pose::from_parts(Vec3::zeros().into(), shortest(&axis));
        let length = 2.0 * (half[long] - radius);
        if length <= 1e-3 * radius {
            return (format!("sphere = {{ radius = {} }}", number(radius)), within);
        }
        (round("capsule", radius, length), within)
    }

    fn field(&mut self, element: &Element, link: usize) -> Made {
        let called = element.called();
        let wanted = (element.scope, element.text("hfield").unwrap_or("").to_owned());
        let field = self.fields.get(&wanted).cloned();
        if field.is_none() {
            let message = format!("there is no height field `{}`", wanted.1);
            let help = "check the name";
            self.context.error("unknown-hfield", &called, element.span, message, help);
        }
        let moves = self.moves(link);
        let read = field.and_then(|field| {
            if moves || field.get("elevation").is_none() {
                return None;
            }
            let size = self.context.numbers(&field, "size", 4..=4)?;
            let rows = self.context.number(&field, "nrow")?;
            let columns = self.context.number(&field, "ncol")?;
            let heights = self.context.numbers(&field, "elevation", 4..=4_000_000)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked against the count"
            )]
            let (rows, columns) = (rows as usize, columns as usize);
            if rows < 2 || columns < 2 || rows.checked_mul(columns) != Some(heights.len()) {
                return None;
            }
            // Scaled so that the lowest is 0 and the highest `size[2]`.
            let (low, high) =
                heights.iter().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
            let range = if high > low { high - low } else { 1.0 };
            // The first row of the text is the farthest in y.
            let grid: Vec<String> = heights
                .chunks(columns)
                .rev()
                .map(|row| {
                    let row = row.iter().map(|x| number((x - low) / range * size[2]));
                    format!("[{}]", row.collect::<Vec<_>>().join(", "))
                })
                .collect();
            let (x, y) = (number(2.0 * size[0]), number(2.0 * size[1]));
            Some(format!("heightfield = {{ size = [{x}, {y}], heights = [{}] }}", grid.join(", ")))
        });
        if read.is_none() {
            let text = "height fields from pictures, or on bodies that move";
            self.context.dropped(text, &called, element.span);
        }
        Made { geometry: read, within: Pose::identity(), solid: None }
    }
}

/// The dimension of contacts, where an element gives it.
pub(super) fn dimension(element: &Element) -> Option<u8> {
    element.text("condim").and_then(|text| text.parse().ok())
}

pub(super) fn nothing() -> Made {
    Made { geometry: None, within: Pose::identity(), solid: None }
}

fn round(kind: &str, radius: f64, length: f64) -> String {
    format!("{kind} = {{ radius = {}, length = {} }}", number(radius), number(length))
}
