//! What is read of each format, as tables: elements, where they stand, what becomes of them and of their attributes.
//!
//! The readers and docs/import.md both live by these tables: an element or attribute that is in none of them is a fault
//! of the file, one that is listed as dropped is reported, and the page's tables are printed from here.

mod mjcf;
mod urdf;

use std::collections::BTreeMap;
use std::fmt::Write;

use gelenk_expr::edit_distance;

use crate::context::Context;
use crate::xml::Element;

/// What becomes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Becomes {
    /// The model has it.
    Kept,
    /// Something else stands for it, or only some of it can be kept.
    Changed,
    /// It is gone, and said to be.
    Dropped,
    /// It is only for the eye: what is not read of it is gone, and faults of it are no faults of the robot.
    Looks,
}

impl Becomes {
    fn word(self) -> &'static str {
        match self {
            Becomes::Kept => "kept",
            Becomes::Changed => "changed",
            Becomes::Dropped => "dropped",
            Becomes::Looks => "looks",
        }
    }
}

/// Elements that are treated alike. Lists are separated by spaces.
#[derive(Debug)]
pub(crate) struct Row {
    /// Their names.
    pub(crate) names: &'static str,
    /// The elements in which they stand.
    pub(crate) within: &'static str,
    pub(crate) fate: Becomes,
    /// What stands for them in the model, or why nothing does.
    pub(crate) becomes: &'static str,
    /// Attributes that are read.
    pub(crate) read: &'static str,
    /// Attributes that say something of the motion and are dropped, each with an entry of the report.
    pub(crate) dropped: &'static str,
    /// Attributes of looks, memory and the other program's solver: dropped with one entry for all.
    pub(crate) idle: &'static str,
}

/// Values that an attribute may have.
#[derive(Debug)]
pub(crate) struct Words {
    /// Elements; empty: all.
    names: &'static str,
    attributes: &'static str,
    allowed: &'static str,
}

/// A format.
#[derive(Debug)]
pub(crate) struct Format {
    /// Its name.
    pub(crate) name: &'static str,
    /// The root element.
    root: &'static str,
    rows: &'static [Row],
    words: &'static [Words],
    /// Attributes that are integers of 32 bits.
    integers: &'static str,
    /// Whether what is not in the tables is a fault; else only what is nearly the name of something is, since the format
    /// lets every program add elements of its own.
    strict: bool,
}

/// MuJoCo's format.
pub(crate) const MJCF: Format = mjcf::FORMAT;
/// The format of ROS.
pub(crate) const URDF: Format = urdf::FORMAT;

/// Attributes that make contacts, limits and constraints soft.
fn softens(attribute: &str) -> bool {
    attribute.starts_with("sol") && attribute != "solver" || attribute.starts_with("o_sol")
}

fn lists(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// Rows by what they stand in and by name.
type Index = BTreeMap<&'static str, BTreeMap<&'static str, &'static Row>>;

struct Checker<'c> {
    context: &'c mut Context,
    format: &'static Format,
    index: Index,
}

/// Holds a file against the table of its format: what is in no table is refused (or, when lenient, taken out), what is dropped
/// is reported.
pub(crate) fn check(context: &mut Context, format: &'static Format, root: &mut Element) {
    let mut index = Index::new();
    for row in format.rows {
        for name in row.names.split(' ') {
            for within in row.within.split(' ') {
                index.entry(within).or_default().insert(name, row);
            }
        }
    }
    Checker { context, format, index }.inside(root, format.root, false);
}

impl Checker<'_> {
    /// Looks through the children of an element. Their depth is that of the elements, which is counted.
    fn inside(&mut self, parent: &mut Element, known_as: &'static str, silent: bool) {
        let mut children = std::mem::take(&mut parent.children);
        children.retain_mut(|child| self.element(child, known_as, silent));
        parent.children = children;
    }

    /// Whether an element stays.
    fn element(&mut self, element: &mut Element, within: &'static str, silent: bool) -> bool {
        let known = self.index.get(within);
        let found = known.and_then(|known| known.get_key_value(element.name.as_str()));
        let Some((&name, &row)) = found else {
            self.unknown_element(element, within, silent);
            return false;
        };
        let looks = row.fate == Becomes::Looks;
        let gone = matches!(row.fate, Becomes::Dropped | Becomes::Looks) && row.read.is_empty();
        if gone && !silent {
            let text = if looks {
                "what is only for the eye".to_owned()
            } else {
                format!("<{name}>: {}", row.becomes)
            };
            self.context.dropped(text, &element.called_within(), element.span);
        }
        let called = element.called_within();
        let attributes = std::mem::take(&mut element.attributes);
        let mut kept = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            if self.attribute(&called, name, row, &attribute, silent || gone || looks) {
                kept.push(attribute);
            }
        }
        element.attributes = kept;
        if gone && !self.format.strict {
            // What other programs put there is theirs.
            return true;
        }
        self.inside(element, name, silent || gone || looks);
        true
    }

    fn unknown_element(&mut self, element: &Element, within: &str, looks: bool) {
        let known = self.index.get(within).into_iter().flat_map(BTreeMap::keys).copied();
        let near = nearest(&element.name, known);
        let called = element.called_within();
        if looks || !(self.format.strict || near.is_some()) {
            let text = format!(
                "<{}>: not a part of {} that is known here",
                element.name, self.format.name
            );
            self.context.dropped(text, &called, element.span);
            return;
        }
        let message = format!("there is no element <{}> in <{within}>", element.name);
        let help = near.map_or_else(
            || format!("remove it: {} has no such element there", self.format.name),
            |near| format!("did you mean <{near}>?"),
        );
        let assumed = "it is passed over";
        self.context.repairable("unknown-element", called, element.span, message, help, assumed);
    }

    /// Whether an attribute stays.
    fn attribute(
        &mut self,
        called: &str,
        name: &str,
        row: &Row,
        attribute: &crate::xml::Attribute,
        silent: bool,
    ) -> bool {
        let key = attribute.name.as_str();
        if lists(row.dropped, key) {
            if !silent {
                self.context.dropped(format!("`{key}` of <{name}>"), called, attribute.span);
            }
        } else if lists(row.idle, key) {
            if silent {
            } else if softens(key) {
                let text = "softness of contacts, limits and constraints (solref, solimp, ...): they are rigid here";
                self.context.changed(text, called, attribute.span);
            } else {
                let text = "attributes of looks, memory and the other program's solver";
                self.context.dropped(text, &format!("{key} of <{name}>"), attribute.span);
            }
        } else if !lists(row.read, key) {
            let all = [row.read, row.dropped, row.idle].map(|list| list.split(' '));
            let near = nearest(key, all.into_iter().flatten().filter(|known| !known.is_empty()));
            if silent || !(self.format.strict || near.is_some()) {
                let text = format!(
                    "`{key}` of <{name}>: not a part of {} that is known here",
                    self.format.name
                );
                self.context.dropped(text, called, attribute.span);
                return false;
            }
            let message = format!("<{name}> has no attribute `{key}`");
            let help = near
                .map_or_else(|| "remove it".to_owned(), |near| format!("did you mean `{near}`?"));
            let assumed = "it is passed over";
            self.context.repairable(
                "unknown-attribute",
                called,
                attribute.span,
                message,
                help,
                assumed,
            );
            return false;
        }
        let value = attribute.value.trim();
        let words = self.format.words.iter().find(|words| {
            lists(words.attributes, key) && (words.names.is_empty() || lists(words.names, name))
        });
        if let Some(words) = words
            && !lists(words.allowed, value)
        {
            let message = format!("`{value}` is no value of `{key}`");
            let near = nearest(value, words.allowed.split(' '));
            let help = near.map_or_else(
                || format!("it is one of {}", words.allowed.replace(' ', ", ")),
                |near| format!("did you mean `{near}`?"),
            );
            if silent {
                self.context.dropped(message, called, attribute.span);
            } else if key == "type" {
                // What it was meant to be is not known.
                self.context.error("bad-word", called, attribute.span, message, help);
            } else {
                let assumed = "the default in its place";
                self.context.repairable("bad-word", called, attribute.span, message, help, assumed);
            }
            return false;
        }
        if lists(self.format.integers, key) && !silent {
            let whole = value.parse::<i64>().ok();
            if whole.is_none_or(|n| i32::try_from(n).is_err()) {
                let message = if whole.is_some() || value.bytes().all(|b| b.is_ascii_digit()) {
                    format!("`{key}` is {value}, which is too large: it has 32 bits")
                } else {
                    format!("`{key}` is `{value}`, which is no integer")
                };
                let help = "write an integer between -2147483648 and 2147483647";
                self.context.error("bad-integer", called, attribute.span, message, help);
                return false;
            }
        }
        true
    }
}

/// The known word that a word is more likely a slip of the pen of than a word of another program.
fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let longest = word.len() + 2;
    let near = known.into_iter().filter(|known| known.len() <= longest).map(|known| {
        let far = if word.eq_ignore_ascii_case(known) { 0 } else { edit_distance(word, known) };
        (far, known)
    });
    let slip = |(far, known): &(usize, &str)| *far <= if known.len() > 4 { 2 } else { 1 };
    // Longer words than that are of no format.
    if word.len() > 64 {
        return None;
    }
    near.filter(slip).min_by_key(|(far, _)| *far).map(|(_, known)| known)
}

/// The tables as Markdown.
pub(crate) fn tables() -> String {
    let mut out = String::new();
    for format in [&MJCF, &URDF] {
        let _ = write!(
            out,
            "### {}\n\n| element | in | fate | in the model | attributes read | attributes dropped |\n|---|---|---|---|---|---|\n",
            format.name
        );
        for row in format.rows {
            let quoted = |list: &str| match list {
                "" => String::new(),
                list => format!("`{}`", list.replace(' ', "` `")),
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                quoted(row.names),
                row.within.replace(' ', ", "),
                row.fate.word(),
                row.becomes,
                quoted(row.read),
                quoted(row.dropped),
            );
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attribute that a table calls read is named in the reader; one that it does not is not.
    #[test]
    fn tables_and_readers_agree() {
        let readers = [
            (
                &MJCF,
                concat!(
                    include_str!("../mjcf/mod.rs"),
                    include_str!("../mjcf/actuator.rs"),
                    include_str!("../mjcf/attach.rs"),
                    include_str!("../mjcf/body.rs"),
                    include_str!("../mjcf/conditions.rs"),
                    include_str!("../mjcf/defaults.rs"),
                    include_str!("../mjcf/expand.rs"),
                    include_str!("../mjcf/geom.rs"),
                    include_str!("../mjcf/keyframe.rs"),
                    include_str!("../mjcf/mesh.rs"),
                    include_str!("../mjcf/options.rs"),
                ),
            ),
            (&URDF, include_str!("../urdf.rs")),
        ];
        for (format, source) in readers {
            for row in format.rows {
                for key in row.read.split(' ').filter(|key| !key.is_empty()) {
                    let named = source.contains(&format!("\"{key}\""));
                    assert!(named, "{}: `{key}` of {} is not read", format.name, row.names);
                }
                for key in row.dropped.split(' ').filter(|key| !key.is_empty()) {
                    let elsewhere = format
                        .rows
                        .iter()
                        .any(|other| lists(other.read, key) || lists(other.names, key));
                    let named = source.contains(&format!("\"{key}\""));
                    assert!(
                        !named || elsewhere,
                        "{}: `{key}` of {} is read",
                        format.name,
                        row.names
                    );
                }
            }
        }
    }

    #[test]
    fn no_element_is_listed_twice() {
        for format in [&MJCF, &URDF] {
            let mut seen = std::collections::BTreeSet::new();
            for row in format.rows {
                for name in row.names.split(' ') {
                    for within in row.within.split(' ') {
                        assert!(seen.insert((name, within)), "{}: {name} in {within}", format.name);
                    }
                }
            }
        }
    }
}
