//! Geoms: shapes, their mass, how they touch.

use gelenk_model::math::Vec3;

use super::{Reader, shortest};
use crate::mass::{Mass, Pose, Solid};
use crate::mesh::{Volume, mesh_mass};
use crate::number::{number, vector};
use crate::tree::{Shape, Surface};
use crate::xml::Element;

/// What a geom is made of: its TOML, its mass for density 1.
struct Made {
    geometry: Option<String>,
    /// The place of the geometry in the geom's frame.
    within: Pose,
    /// For density 1, in the geom's frame; for a mesh also what its shell has.
    solid: Option<Mass>,
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
        let element = self.defaults.resolve(element, class);
        let called = element.called();
        let mut size = self.context.numbers(&element, "size", 1..=3).unwrap_or_default();
        let given = size.len();
        size.resize(3, 0.0);
        let mut pose = self.pose(&element);
        let kind = element.text("type").unwrap_or(if element.get("mesh").is_some() {
            "mesh"
        } else {
            "sphere"
        });
        if let Some(ends) = self.context.numbers(&element, "fromto", 6..=6) {
            let (place, half) = between(&ends);
            pose = place;
            match kind {
                "capsule" | "cylinder" => size[1] = half,
                "box" | "ellipsoid" => {
                    size[1] = size[0];
                    size[2] = half;
                }
                _ => {}
            }
        } else if given == 0 && !matches!(kind, "mesh" | "hfield" | "plane") {
            let message = "the geom has no size";
            self.context.error("no-size", called, element.span, message, "give `size`");
            return;
        }
        let pose = frame * pose;
        let Some(made) = self.make(&element, kind, &size, link) else { return };
        let counts = self.context.number_or(&element, "group", 0.0);
        let (first, last) = self.compiler.inertia_groups;
        // The world has no mass.
        let weighs = link != 0 && counts >= first && counts <= last;
        if let Some(solid) = made.solid.filter(|_| weighs) {
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
        let Some(geometry) = made.geometry else { return };
        let surface = self.surface(&element);
        let touches = surface.contype != 0 || surface.conaffinity != 0;
        let rgba = self.context.numbers(&element, "rgba", 4..=4);
        let own = rgba.map(|c| [c[0], c[1], c[2]].map(|x| x.clamp(0.0, 1.0)));
        let painted = element.text("material").and_then(|name| self.colors.get(name).copied());
        let shapes = &mut self.robot.links[link].shapes;
        if let Some(name) = element.text("name") {
            self.geoms.insert(name.to_owned(), [link, shapes.len()]);
        }
        let color = own.or(painted);
        let pose = pose * made.within;
        shapes.push(Shape { geometry, pose, touches, color, surface: Some(surface) });
    }

    fn surface(&mut self, element: &Element) -> Surface {
        let mut mask = |key: &str| {
            let x = self.context.number_or(element, key, 1.0);
            // Masks have 32 bits; the upper half is for pairs.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "cut to the range first"
            )]
            let bits = x.clamp(0.0, f64::from(u32::MAX)) as u64;
            bits
        };
        let (contype, conaffinity) = (mask("contype"), mask("conaffinity"));
        let friction = self.context.numbers(element, "friction", 1..=3).unwrap_or_default();
        let mut full = [1.0, 0.005, 0.0001];
        for (slot, value) in full.iter_mut().zip(&friction) {
            *slot = value.max(0.0);
        }
        let dimension = match element.text("condim") {
            Some("1") => 1,
            Some("4") => 4,
            Some("6") => 6,
            _ => 3,
        };
        if let Some(reference) = self.context.numbers(element, "solref", 1..=2)
            && reference[0] < 0.0
        {
            let text = "contact stiffness and damping (negative solref): contacts are rigid and do not bounce";
            self.context.changed(text, &element.called(), element.span);
        }
        if element.get("margin").is_some() || element.get("gap").is_some() {
            let text = "margins of contact";
            self.context.dropped(text, &element.called(), element.span);
        }
        Surface { contype, conaffinity, dimension, friction: full }
    }

    /// The geometry of a geom; `None` if it is at fault.
    fn make(&mut self, element: &Element, kind: &str, size: &[f64], link: usize) -> Option<Made> {
        let called = element.called();
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
        if needed > 0 && element.get("mesh").is_some() {
            let text =
                format!("{kind} fitted to a mesh: the sizes of the geom are taken as they are");
            self.context.changed(text, &called, element.span);
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
                    let text = "planes on bodies that move";
                    self.context.dropped(text, &called, element.span);
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
            "mesh" => self.mesh_geom(element),
            other => {
                let text =
                    format!("geoms of type {other}: they have neither mass nor contact here");
                self.context.dropped(text, &called, element.span);
                Some(nothing())
            }
        }
    }

    /// Whether a link or one below it in the tree has a joint.
    fn moves(&self, link: usize) -> bool {
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
        let field = element.text("hfield").and_then(|name| self.fields.get(name).cloned());
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

    fn mesh_geom(&mut self, element: &Element) -> Option<Made> {
        let called = element.called();
        let name = element.text("mesh").unwrap_or("");
        let Some(asset) = self.meshes.get(name).cloned() else {
            let message = format!("there is no mesh `{name}`");
            self.context.error("unknown-mesh", called, element.span, message, "check the name");
            return None;
        };
        let Some(file) = &asset.file else {
            let text = "meshes given by their corners: they have neither mass nor contact here";
            self.context.dropped(text, &called, element.span);
            return Some(nothing());
        };
        let folder = self.compiler.mesh_dir.clone();
        let path = if folder.is_empty() { file.clone() } else { format!("{folder}/{file}") };
        let own = self.own.clone();
        match self.context.find_mesh(&path, &own) {
            Ok((path, mesh)) => {
                let rule = match asset.inertia.as_deref() {
                    _ if element.text("shellinertia") == Some("true") => Volume::Shell,
                    Some("exact") => Volume::Exact,
                    Some("shell") => Volume::Shell,
                    Some("convex") => {
                        let text = "mass of meshes by their convex hulls: by the meshes themselves";
                        self.context.changed(text, &called, element.span);
                        Volume::Exact
                    }
                    _ if self.compiler.exact_meshes => Volume::Exact,
                    _ => Volume::Legacy,
                };
                let within = asset.reference.inverse();
                let solid = mesh_mass(&mesh, &asset.scale, rule).map(|mass| mass.placed(&within));
                let geometry = self.context.mesh_geometry(&path, &asset.scale);
                Some(Made { geometry: Some(geometry), within, solid })
            }
            Err(why) => {
                let weighs = self.context.number(element, "mass") != Some(0.0)
                    && self.context.number(element, "density") != Some(0.0);
                let text = if weighs {
                    format!(
                        "meshes, with the mass that bodies without <inertial> have from them: {why}"
                    )
                } else {
                    format!("meshes: {why}")
                };
                self.context.dropped(text, &called, element.span);
                Some(nothing())
            }
        }
    }
}

fn nothing() -> Made {
    Made { geometry: None, within: Pose::identity(), solid: None }
}

fn round(kind: &str, radius: f64, length: f64) -> String {
    format!("{kind} = {{ radius = {}, length = {} }}", number(radius), number(length))
}
