//! Materials, their pairs, and who does not touch whom.

use gelenk_expr::Expr;

use super::context::{Context, Site};
use super::expand::{Element, Flat};
use super::names::Kind;
use crate::body::BodyId;
use crate::contact::{ContactValues, GroupId, Material, MaterialId, Party};
use crate::spec::tables::{ContactSpec, MaterialSpec};
use crate::spec::{Scalar, Text, did_you_mean};

impl<'a> Context<'a> {
    /// Builds all materials; bodies refer to them.
    pub(crate) fn build_materials(&mut self, flat: &Flat<'a>) {
        for material in &flat.materials {
            let built = self.material(material);
            // A material whose values are wrong keeps its number, so that others keep theirs.
            self.contact.materials.push(built);
            let density = material.spec.density.as_ref();
            let density = density.and_then(|d| self.density(&material.site("density"), d));
            self.material_densities.push(density);
        }
    }

    /// Builds pairs and filters, once the bodies are there.
    pub(crate) fn build_contacts(&mut self, flat: &Flat<'a>) {
        for contact in &flat.contacts {
            self.contact_pair(contact);
        }
        for ignore in &flat.ignores {
            let site = ignore.site("between");
            let sides = ignore.spec.between.each_ref().map(|text| self.party(&site, text));
            if let [Some(a), Some(b)] = sides {
                self.contact.ignored.push([a, b]);
            }
        }
        let settings = std::mem::take(&mut self.contact);
        self.builder.contact(settings);
    }

    fn material(&mut self, element: &Element<'a, MaterialSpec>) -> Material {
        let spec = element.spec;
        let values = self.contact_values(
            element,
            [
                &spec.friction,
                &spec.static_friction,
                &spec.restitution,
                &spec.rolling_friction,
                &spec.torsional_friction,
            ],
            ContactValues::default(),
        );
        let color = spec.color.as_ref().and_then(|c| self.color(&element.site("color"), c));
        Material { name: element.name.clone(), values, color }
    }

    fn contact_pair(&mut self, element: &Element<'a, ContactSpec>) {
        let spec = element.spec;
        let site = element.site("materials");
        let sides = spec.materials.each_ref().map(|text| self.material_of(&site, text));
        let [Some(a), Some(b)] = sides else { return };
        let rule = self.contact.values(Some(a), Some(b));
        let values = self.contact_values(
            element,
            [
                &spec.friction,
                &spec.static_friction,
                &spec.restitution,
                &spec.rolling_friction,
                &spec.torsional_friction,
            ],
            rule,
        );
        if self.contact.pairs.iter().any(|(pair, _)| *pair == [a, b] || *pair == [b, a]) {
            let message = "this pair of materials is given twice";
            self.error("duplicate-name", &site, spec.span, message, "remove one of the two");
        }
        self.contact.pairs.push(([a, b], values));
    }

    fn contact_values<T>(
        &mut self,
        element: &Element<'a, T>,
        [friction, static_friction, restitution, rolling, torsional]: [&Option<Scalar>; 5],
        default: ContactValues,
    ) -> ContactValues {
        let mut read = |what, scalar: &Option<Scalar>, most: f64| {
            let scalar = scalar.as_ref()?;
            let site = element.site(what);
            let value = self.number(&site, scalar)?;
            if !(0.0..=most).contains(&value) {
                let message = format!("{what} is {value}");
                let help = if most.is_finite() {
                    format!("it lies between 0 and {most}")
                } else {
                    "it is 0 or more".to_owned()
                };
                self.error("out-of-range", &site, scalar.span, message, help);
                return None;
            }
            Some(value)
        };
        let sliding = read("friction", friction, f64::INFINITY);
        let sticking = read("static_friction", static_friction, f64::INFINITY);
        let restitution = read("restitution", restitution, 1.0);
        let rolling = read("rolling_friction", rolling, f64::INFINITY);
        let torsional = read("torsional_friction", torsional, f64::INFINITY);
        let friction = sliding.unwrap_or(default.friction);
        ContactValues {
            friction,
            static_friction: sticking.unwrap_or(if sliding.is_some() {
                friction
            } else {
                default.static_friction
            }),
            restitution: restitution.unwrap_or(default.restitution),
            rolling_friction: rolling.unwrap_or(default.rolling_friction),
            torsional_friction: torsional.unwrap_or(default.torsional_friction),
        }
    }

    /// The material that a text names.
    pub(crate) fn material_of(&mut self, site: &Site<'_>, text: &Text) -> Option<MaterialId> {
        let declared = self.find_text(Kind::Material, site, text)?;
        Some(MaterialId(u32::try_from(declared.index).ok()?))
    }

    pub(crate) fn material_density(&self, id: MaterialId) -> Option<Expr> {
        self.material_densities.get(id.0 as usize).copied().flatten()
    }

    /// A body or a group.
    fn party(&mut self, site: &Site<'_>, text: &Text) -> Option<Party> {
        let local = self.fill(site, text)?;
        if let Some(group) = self.contact.groups.iter().position(|g| *g == local) {
            return Some(Party::Group(GroupId(u32::try_from(group).ok()?)));
        }
        if self.outer_name(site.scope, &local) == "world" {
            return Some(Party::Body(BodyId::WORLD));
        }
        if let Some(declared) = self.find(Kind::Body, site.scope, &local) {
            return self.body_ids.get(declared.index).copied().flatten().map(Party::Body);
        }
        let bodies = self.names.list(Kind::Body).iter();
        let known: Vec<&str> = bodies.chain(&self.contact.groups).map(String::as_str).collect();
        let help = did_you_mean(&local, known)
            .unwrap_or_else(|| "name a body, or a `group` of bodies".to_owned());
        let message = format!("there is no body or group `{local}`");
        self.error("unknown-body", site, text.span, message, help);
        None
    }
}
