//! `<attach>`: bodies of another model, with settings, classes and assets of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::defaults::Defaults;
use super::expand;
use super::options::Compiler;
use crate::context::Context;
use crate::schema;
use crate::xml::Element;

/// What holds for the elements of one file.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) compiler: Compiler,
    pub(super) defaults: Defaults,
}

/// Sections whose elements go along with the bodies they are about.
const SECTIONS: [&str; 5] = ["contact", "equality", "tendon", "actuator", "asset"];

/// Attributes that name things of the tree.
const NAMES: [&str; 21] = [
    "name",
    "joint",
    "joint1",
    "joint2",
    "jointinparent",
    "body",
    "body1",
    "body2",
    "geom",
    "geom1",
    "geom2",
    "site",
    "site1",
    "site2",
    "refsite",
    "slidersite",
    "cranksite",
    "sidesite",
    "tendon",
    "tendon1",
    "tendon2",
];

/// Reads a file with all that stands for other things in it put in its place. `scopes` gains the file's own settings and
/// those of all models attached in it.
pub(super) fn model(
    context: &mut Context,
    root: Element,
    from: &Path,
    scopes: &mut Vec<Scope>,
    depth: usize,
) -> Option<Element> {
    let mut root = expand::include(context, root, from, 0)?;
    schema::check(context, &schema::MJCF, &mut root);
    let compiler = super::options::compiler(context, &root, from)?;
    let defaults = Defaults::read(context, &root)?;
    defaults.check_classes(context, &root);
    expand::replicate(context, &mut root, &compiler);
    let here = scopes.len();
    scopes.push(Scope { compiler, defaults });
    set_scope(&mut root, here);
    let files = files(context, &root);
    let mut models = BTreeMap::new();
    let mut sections = Vec::new();
    let mut place = |context: &mut Context, element: &Element| {
        attached(context, element, &files, &mut models, &mut sections, from, scopes, depth)
    };
    let mut children = std::mem::take(&mut root.children);
    for world in children.iter_mut().filter(|child| child.name == "worldbody") {
        put(context, world, &mut place);
    }
    children.append(&mut sections);
    root.children = children;
    Some(root)
}

/// The model files that the assets name: name, path.
fn files(context: &mut Context, root: &Element) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for model in root.all("asset").flat_map(|asset| asset.all("model")) {
        let Some(file) = model.text("file") else {
            let help = "give `file`";
            context.error("missing-file", model.called(), model.span, "which file?", help);
            continue;
        };
        let name = model.text("name").unwrap_or_else(|| super::stem(file));
        files.insert(name.to_owned(), file.to_owned());
    }
    files
}

/// Puts what `place` finds in place of every `<attach>`.
fn put(
    context: &mut Context,
    element: &mut Element,
    place: &mut impl FnMut(&mut Context, &Element) -> Option<Element>,
) {
    for child in &mut element.children {
        if child.name == "attach" {
            if let Some(found) = place(context, child) {
                *child = found;
            }
        } else {
            put(context, child, place);
        }
    }
    element.children.retain(|child| child.name != "attach");
}

/// The body that an `<attach>` asks for, with its names; what goes along with it is added to `sections`.
fn attached(
    context: &mut Context,
    element: &Element,
    files: &BTreeMap<String, String>,
    models: &mut BTreeMap<String, Element>,
    sections: &mut Vec<Element>,
    from: &Path,
    scopes: &mut Vec<Scope>,
    depth: usize,
) -> Option<Element> {
    let called = format!("attach `{}`", element.text("model").unwrap_or(""));
    let wanted = element.text("model").unwrap_or("");
    let Some(file) = files.get(wanted) else {
        let message = format!("there is no model `{wanted}` among the assets");
        let help = "add `<model name=\"...\" file=\"...\"/>` to <asset>";
        context.error("unknown-model", called, element.span, message, help);
        return None;
    };
    if depth >= context.options.limits.depth {
        let message =
            format!("models attach one another more than {} deep", context.options.limits.depth);
        let help = "does a model attach itself?";
        context.error("limit-depth", called, element.span, message, help);
        return None;
    }
    if !models.contains_key(wanted) {
        let (root, folder): (Element, PathBuf) = context.read_include(file, from, element.span)?;
        let inner = model(context, root, &folder, scopes, depth + 1)?;
        models.insert(wanted.to_owned(), inner);
    }
    let mut inner = models.get(wanted)?.clone();
    let prefix = element.text("prefix").unwrap_or("");
    let body = element.text("body");
    let mut taken = match body {
        Some(name) => {
            let found = inner.all("worldbody").find_map(|world| find_body(world, name)).cloned();
            let Some(found) = found else {
                let message = format!("model `{wanted}` has no body `{name}`");
                let help = "check the name; without `body` the whole model is attached";
                context.error("unknown-body", called, element.span, message, help);
                return None;
            };
            found
        }
        None => {
            let mut whole = element.clone();
            whole.attributes.clear();
            whole.children = inner.all("worldbody").flat_map(|w| w.children.clone()).collect();
            "frame".clone_into(&mut whole.name);
            whole
        }
    };
    let (mut there, mut gone) = (BTreeSet::new(), BTreeSet::new());
    names(&taken, &mut there);
    inner.all("worldbody").for_each(|world| names(world, &mut gone));
    gone.retain(|name| !there.contains(name));
    for mut section in inner.children.drain(..) {
        if !SECTIONS.contains(&section.name.as_str()) {
            continue;
        }
        if section.name != "asset" {
            section.children.retain(|child| !speaks_of(child, &gone));
            section.children.iter_mut().for_each(|child| add_prefix(child, prefix));
        } else if sections.iter().any(|other| other.name == "asset" && other.scope == section.scope)
        {
            continue;
        }
        sections.push(section);
    }
    add_prefix(&mut taken, prefix);
    Some(taken)
}

fn find_body<'e>(element: &'e Element, name: &str) -> Option<&'e Element> {
    element.children.iter().find_map(|child| match child.name.as_str() {
        "body" if child.text("name") == Some(name) => Some(child),
        "body" | "frame" => find_body(child, name),
        _ => None,
    })
}

fn names(element: &Element, all: &mut BTreeSet<String>) {
    all.extend(element.text("name").map(str::to_owned));
    element.children.iter().for_each(|child| names(child, all));
}

/// Whether an element, or one in it, refers to one of these names.
fn speaks_of(element: &Element, gone: &BTreeSet<String>) -> bool {
    let named = element.attributes.iter().any(|attribute| {
        attribute.name != "name"
            && NAMES.contains(&attribute.name.as_str())
            && gone.contains(attribute.value.trim())
    });
    named || element.children.iter().any(|child| speaks_of(child, gone))
}

fn add_prefix(element: &mut Element, prefix: &str) {
    for attribute in &mut element.attributes {
        let known = NAMES.contains(&attribute.name.as_str());
        if known && attribute.value.trim() != "world" {
            attribute.value = format!("{prefix}{}", attribute.value.trim());
        }
    }
    element.children.iter_mut().for_each(|child| add_prefix(child, prefix));
}

fn set_scope(element: &mut Element, scope: usize) {
    element.scope = scope;
    element.children.iter_mut().for_each(|child| set_scope(child, scope));
}
