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
pub(super) const ROTATIONS: [&str; 5] = ["quat", "axisangle", "xyaxes", "zaxis", "euler"];

/// Lists of which an element may give the beginning only.
const LISTS: [&str; 7] = ["size", "friction", "gear", "gainprm", "biasprm", "polycoef", "solref"];

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
            if self.knows(name) {
                let message = format!("there are two default classes `{name}`");
                context.error("name-twice", "default", inner.span, message, "rename one");
            }
            self.add(context, inner, name, class.clone())?;
        }
        Some(())
    }

    /// Whether there is such a class.
    pub(super) fn knows(&self, class: &str) -> bool {
        self.classes.contains_key(class)
    }

    /// Refuses classes that the file does not define.
    pub(super) fn check_classes(&self, context: &mut Context, element: &Element) {
        for child in &element.children {
            // What an asset looks like is no fault of the robot, and a class in itself has no class.
            if matches!(child.name.as_str(), "default" | "visual" | "texture" | "material") {
                continue;
            }
            for key in ["class", "childclass"] {
                let Some(attribute) = child.get(key) else { continue };
                let name = attribute.value.trim();
                if self.knows(name) || name.is_empty() {
                    continue;
                }
                let near = gelenk_expr::nearest(name, self.classes.keys().map(String::as_str));
                let help = near.map_or_else(
                    || "define it in <default>".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                let message = format!("there is no default class `{name}`");
                context.error(
                    "unknown-class",
                    child.called_within(),
                    attribute.span,
                    message,
                    help,
                );
            }
            self.check_classes(context, child);
        }
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
            content: String::new(),
            scope: element.scope,
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
