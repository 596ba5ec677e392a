//! Default classes: what elements say when they say nothing.

use std::collections::BTreeMap;

use super::attribute;
use crate::context::Context;
use crate::xml::{Attribute, Element};

/// The kinds of actuators share their defaults.
pub(super) const ACTUATORS: [&str; 9] = [
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
];

/// Ways to say a rotation: one of an element's own puts off those of its class.
const ROTATIONS: [&str; 5] = ["quat", "axisangle", "xyaxes", "zaxis", "euler"];

/// Lists of which an element may give the beginning only.
const LISTS: [&str; 8] =
    ["size", "friction", "gear", "gainprm", "biasprm", "dynprm", "polycoef", "solref"];

/// Attributes of one class, by kind of element.
type Class = BTreeMap<String, Vec<Attribute>>;

/// All classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults {
    classes: BTreeMap<String, Class>,
}

impl Defaults {
    /// Reads all `<default>` sections.
    pub(super) fn read(context: &mut Context, root: &Element) -> Option<Self> {
        let mut defaults = Defaults::default();
        defaults.classes.insert("main".to_owned(), Class::new());
        for section in root.all("default") {
            // The class at the top has no name but `main`, whatever it is called.
            let top = section.text("class").unwrap_or("main").to_owned();
            let parent = defaults.classes.get("main").cloned().unwrap_or_default();
            defaults.add(context, section, &top, parent)?;
            if top != "main" {
                let class = defaults.classes.get(&top).cloned().unwrap_or_default();
                defaults.classes.insert("main".to_owned(), class);
            }
        }
        Some(defaults)
    }

    fn add(
        &mut self,
        context: &mut Context,
        section: &Element,
        name: &str,
        mut class: Class,
    ) -> Option<()> {
        for child in section.children.iter().filter(|child| child.name != "default") {
            let kind = kind_of(&child.name);
            let known = class.remove(kind).unwrap_or_default();
            class.insert(kind.to_owned(), overlay(&child.attributes, &known));
        }
        self.classes.insert(name.to_owned(), class.clone());
        // Their depth is that of the elements, which is counted.
        for inner in section.all("default") {
            let Some(name) = inner.text("class") else {
                let help = "give `class`";
                context.error("no-name", "default", inner.span, "a class without a name", help);
                return None;
            };
            self.add(context, inner, name, class.clone())?;
        }
        Some(())
    }

    /// Whether there is such a class.
    pub(super) fn knows(&self, class: &str) -> bool {
        self.classes.contains_key(class)
    }

    /// An element with all that its class says and it does not.
    pub(super) fn resolve(&self, element: &Element, childclass: Option<&str>) -> Element {
        let class = element.text("class").or(childclass).unwrap_or("main");
        let class = self.classes.get(class).or_else(|| self.classes.get("main"));
        let kind = kind_of(&element.name);
        let known = class.and_then(|class| class.get(kind)).map_or(&[][..], Vec::as_slice);
        Element {
            name: element.name.clone(),
            attributes: overlay(&element.attributes, known),
            children: element.children.clone(),
            span: element.span,
            within: element.within.clone(),
        }
    }
}

/// What elements share their defaults with.
fn kind_of(name: &str) -> &str {
    match name {
        name if ACTUATORS.contains(&name) => "actuator",
        "connect" | "weld" => "equality",
        "spatial" | "fixed" => "tendon",
        name => name,
    }
}

/// Own attributes, then those below that are not put off by them.
fn overlay(own: &[Attribute], below: &[Attribute]) -> Vec<Attribute> {
    let has = |list: &[&str]| own.iter().any(|a| list.contains(&a.name.as_str()));
    let turned = has(&ROTATIONS);
    let mut all: Vec<Attribute> = own.to_vec();
    for known in below {
        let name = known.name.as_str();
        if turned && ROTATIONS.contains(&name) || name == "class" {
            continue;
        }
        match all.iter_mut().find(|a| a.name == known.name) {
            None => all.push(known.clone()),
            Some(given) if LISTS.contains(&name) => {
                let n = given.value.split_whitespace().count();
                let more: Vec<&str> = known.value.split_whitespace().skip(n).collect();
                if !more.is_empty() {
                    let value = format!("{} {}", given.value, more.join(" "));
                    *given = attribute(name, &value, given.span);
                }
            }
            Some(_) => {}
        }
    }
    all
}
