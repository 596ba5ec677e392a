//! Names of elements, and finding them from where they are used.

use rustc_hash::FxHashMap;

use super::context::{Context, Site};
use super::scope::ScopeId;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::spec::{Text, did_you_mean};

/// Kinds of elements that have names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Bodies and points.
    Body,
    Joint,
    Marker,
    Material,
    /// Gears and constraints.
    Condition,
    /// Springs, dampers and forces.
    Force,
}

impl Kind {
    const N: usize = 6;

    fn word(self) -> &'static str {
        match self {
            Kind::Body => "body",
            Kind::Joint => "joint",
            Kind::Marker => "marker",
            Kind::Material => "material",
            Kind::Condition => "constraint",
            Kind::Force => "force element",
        }
    }
}

/// Where a name was given, and which element of its kind has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    /// Its number among the elements of its kind.
    pub(crate) index: usize,
    /// Place of the name.
    span: Span,
    /// The instance it came with.
    instance: Option<Span>,
    /// What it is: "point".
    word: &'static str,
}

/// All names of a model.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tables: [FxHashMap<String, Declared>; Kind::N],
    /// The same in the order of the files, for suggestions.
    lists: [Vec<String>; Kind::N],
    /// How many elements without a name there are of each stem.
    numbers: FxHashMap<(Kind, String), usize>,
}

impl Names {
    pub(crate) fn get(&self, kind: Kind, name: &str) -> Option<Declared> {
        self.tables[kind as usize].get(name).copied()
    }

    pub(crate) fn list(&self, kind: Kind) -> &[String] {
        &self.lists[kind as usize]
    }

    fn add(
        &mut self,
        kind: Kind,
        word: &'static str,
        name: &str,
        span: Span,
        instance: Option<Span>,
    ) -> usize {
        let list = &mut self.lists[kind as usize];
        let index = list.len();
        list.push(name.to_owned());
        self.tables[kind as usize]
            .insert(name.to_owned(), Declared { index, span, instance, word });
        index
    }

    /// A number not yet given to elements called `stem`1, `stem`2, ...
    fn next_number(&mut self, kind: Kind, stem: &str) -> usize {
        let next = self.numbers.entry((kind, stem.to_owned())).or_insert(0);
        *next += 1;
        *next
    }
}

/// Longest name, in bytes.
const LONGEST: usize = 200;

impl Context<'_> {
    /// Gives an element its name. A bad or second name is reported, and the element gets a stand-in, so that its other
    /// faults are found too.
    pub(crate) fn declare(
        &mut self,
        kind: Kind,
        word: &'static str,
        scope: ScopeId,
        text: &Text,
    ) -> (String, usize) {
        let Some(name) = self.full_name(word, scope, text) else {
            return self.stand_in(kind, word, text);
        };
        let element = format!("{word} `{name}`");
        if let Some(help) = fault_of_name(&name) {
            let fault = Diagnostic::error("bad-name", format!("`{name}` cannot be a name"));
            self.push(text.span, fault.element(&element).help(help));
        } else if kind == Kind::Body && name == "world" {
            let fault = Diagnostic::error("bad-name", "`world` is the name of the ground");
            let help = "choose another name; `world` is fixed in space and always there";
            self.push(text.span, fault.element(element).help(help));
            return self.stand_in(kind, word, text);
        }
        let instance = self.scopes[scope.0].instance;
        if let Some(first) = self.names.get(kind, &name) {
            let message = format!("there are two elements with the name `{name}`");
            let mut fault = Diagnostic::error("duplicate-name", message);
            // Told at the later of the two, in the order of the file.
            let (at, other, word_there) = if first.span > text.span {
                (first.span, text.span, first.word)
            } else {
                (text.span, first.span, word)
            };
            fault = fault.element(format!("{word_there} `{name}`"));
            if first.span == text.span {
                // The same line, used twice.
                fault = fault.help("give each instance a prefix of its own: prefix = \"left_\"");
                for span in [first.instance, instance].into_iter().flatten() {
                    fault = fault.also(&self.report.sources, span, "this instance has the name");
                }
            } else {
                let sources = &self.report.sources;
                fault =
                    fault.also(sources, other, "the first is here").help("rename one of the two");
            }
            self.push(at, fault);
            return self.stand_in(kind, word, text);
        }
        let index = self.names.add(kind, word, &name, text.span, instance);
        (name, index)
    }

    /// A name that nothing else can have.
    fn stand_in(&mut self, kind: Kind, word: &'static str, text: &Text) -> (String, usize) {
        let name = format!("{}#{}", text.text, self.names.list(kind).len() + 1);
        let index = self.names.add(kind, word, &name, text.span, None);
        (name, index)
    }

    /// A name for an element that may go without: `spring3`.
    pub(crate) fn declare_or_number(
        &mut self,
        kind: Kind,
        word: &'static str,
        scope: ScopeId,
        text: Option<&Text>,
        span: Span,
    ) -> (String, usize) {
        if let Some(text) = text {
            return self.declare(kind, word, scope, text);
        }
        let prefix = self.scopes[scope.0].prefix.clone();
        let mut number = self.names.next_number(kind, &format!("{prefix}{word}"));
        while self.names.get(kind, &format!("{prefix}{word}{number}")).is_some() {
            number += 1;
        }
        let name = format!("{prefix}{word}{number}");
        let index = self.names.add(kind, word, &name, span, None);
        (name, index)
    }

    /// Prefix and name, with what stands in braces worked out.
    fn full_name(&mut self, word: &str, scope: ScopeId, text: &Text) -> Option<String> {
        let element = format!("{word} `{}`", text.text);
        let site = Site::new(scope, &element, "name");
        let name = self.fill(&site, text)?;
        Some(format!("{}{name}", self.scopes[scope.0].prefix))
    }

    /// The text with `{expression}` replaced by its whole number.
    pub(crate) fn fill(&mut self, site: &Site<'_>, text: &Text) -> Option<String> {
        if text.poisoned {
            return None;
        }
        if !text.text.contains(['{', '}']) {
            return Some(text.text.clone());
        }
        let mut filled = String::new();
        let mut at = 0;
        while let Some(open) = text.text[at..].find('{').map(|i| at + i) {
            filled.push_str(&text.text[at..open]);
            let Some(close) = text.text[open..].find('}').map(|i| open + i) else {
                let fault = Diagnostic::error("bad-name", "`{` is never closed");
                let help = "an index in a name is written `{i}` or `{i-1}`";
                let span = text.part(open..open + 1);
                self.push(span, fault.element(site.element).help(help));
                return None;
            };
            let inner = Text::slice(text, open + 1..close);
            let value = self.constant_text(site, &inner)?;
            let rounded = value.round();
            if (value - rounded).abs() > 1e-9 || rounded.abs() > 1e15 {
                let message = format!("`{{{}}}` is {value}, not a whole number", inner.text);
                let fault = Diagnostic::error("bad-name", message).element(site.element);
                self.push(inner.span, fault);
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "below 1e15")]
            filled.push_str(&(rounded as i64).to_string());
            at = close + 1;
        }
        filled.push_str(&text.text[at..]);
        Some(filled)
    }

    /// The element that a name means, seen from a scope: its own prefix first, then the outer ones, and what the
    /// instance connects.
    pub(crate) fn find(&self, kind: Kind, scope: ScopeId, local: &str) -> Option<Declared> {
        let mut scope = Some(scope);
        let mut local = local.to_owned();
        while let Some(id) = scope {
            let s = &self.scopes[id.0];
            if let Some(found) = self.names.get(kind, &format!("{}{local}", s.prefix)) {
                return Some(found);
            }
            if let Some(outer) = s.connect.get(local.as_str()) {
                local.clone_from(outer);
            }
            scope = s.parent;
        }
        None
    }

    /// The name at the end of all connections: `mount` becomes `torso`.
    pub(crate) fn outer_name(&self, scope: ScopeId, local: &str) -> String {
        let mut name = local.to_owned();
        let mut scope = Some(scope);
        while let Some(id) = scope {
            let s = &self.scopes[id.0];
            if let Some(outer) = s.connect.get(name.as_str()) {
                name.clone_from(outer);
            }
            scope = s.parent;
        }
        name
    }

    /// The element that a text names; reported if there is none.
    pub(crate) fn find_text(
        &mut self,
        kind: Kind,
        site: &Site<'_>,
        text: &Text,
    ) -> Option<Declared> {
        let local = self.fill(site, text)?;
        let found = self.find(kind, site.scope, &local);
        if found.is_none() {
            self.unknown(kind, site, text.span, &local);
        }
        found
    }

    /// Checks that what instances connect is there.
    pub(crate) fn check_connections(&mut self) {
        const ALL: [Kind; 4] = [Kind::Body, Kind::Joint, Kind::Marker, Kind::Material];
        for (scope, label, span, name) in std::mem::take(&mut self.connections) {
            let there = ALL.into_iter().any(|kind| self.find(kind, scope, &name).is_some());
            if there || self.incomplete || self.outer_name(scope, &name) == "world" {
                continue;
            }
            let known = self.names.list(Kind::Body).iter().map(String::as_str).chain(["world"]);
            let help = did_you_mean(&name, known).unwrap_or_else(|| "correct the name".to_owned());
            let message = format!("there is no body `{name}` to connect");
            self.error("unknown-body", &Site::new(scope, &label, "connect"), span, message, help);
        }
    }

    /// Reports a name that no element has.
    pub(crate) fn unknown(&mut self, kind: Kind, site: &Site<'_>, span: Span, local: &str) {
        if self.incomplete {
            return; // it may be in a part that could not be put in place
        }
        if self.outer_name(site.scope, local) != local {
            return; // the connection was reported
        }
        let word = kind.word();
        let code = match kind {
            Kind::Body => "unknown-body",
            Kind::Joint => "unknown-joint",
            Kind::Marker => "unknown-marker",
            Kind::Material => "unknown-material",
            Kind::Condition | Kind::Force => "unknown-name",
        };
        let world = (kind == Kind::Body).then_some("world");
        let known = self.names.list(kind).iter().map(String::as_str).chain(world);
        let dashed = self
            .names
            .list(kind)
            .iter()
            .find(|name| name.strip_prefix(local).is_some_and(|rest| rest.starts_with('-')));
        let help = if let Some(name) = dashed {
            format!(
                "`{name}` cannot be used in expressions, since `-` is minus; rename it with `_`"
            )
        } else {
            did_you_mean(local, known)
                .unwrap_or_else(|| format!("declare it with `[[{word}]]`, or correct the name"))
        };
        let message = format!("there is no {word} `{local}`");
        self.push(span, Diagnostic::error(code, message).element(site.element).help(help));
    }
}

/// Why a text cannot be a name.
fn fault_of_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("give it a name".to_owned());
    }
    if name.len() > LONGEST {
        return Some(format!("names are at most {LONGEST} bytes long"));
    }
    let bad = name.chars().find(|c| !(c.is_alphanumeric() || *c == '_' || *c == '-'))?;
    let shown = match bad {
        ' ' => "a space".to_owned(),
        c => format!("`{c}`"),
    };
    let fixed: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    Some(format!("names hold letters, digits, `_` and `-`, not {shown}; write `{fixed}`"))
}
