//! XML as a plain tree of elements with spans. No document type, no entities of one's own, depth and size counted.

use std::sync::Arc;

use gelenk_model::{Diagnostic, FileId, Limits, SourceMap, Span};
use roxmltree::{Document, ParsingOptions};

/// An element.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) children: Vec<Element>,
    /// The text in it, before its first child.
    pub(crate) content: String,
    /// Which file's settings hold for it: 0 for the file itself, others for models that are attached.
    pub(crate) scope: usize,
    /// Its start tag.
    pub(crate) span: Span,
    /// What messages call the nearest element around it that has a name.
    pub(crate) within: Option<Arc<str>>,
}

/// An attribute.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Its value.
    pub(crate) span: Span,
}

impl Element {
    /// The attribute of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Its text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(|attribute| attribute.value.trim())
    }

    /// The first child of that name.
    pub(crate) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All children of that name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// What messages call it: "joint `elbow`", or the bare kind.
    pub(crate) fn called(&self) -> String {
        match self.text("name") {
            Some(name) => format!("{} `{name}`", self.name),
            None => self.name.clone(),
        }
    }

    /// The same with what it is part of, where it has no name: "axis of joint `elbow`".
    pub(crate) fn called_within(&self) -> String {
        match (&self.within, self.text("name")) {
            (Some(within), None) => format!("{} of {within}", self.name),
            _ => self.called(),
        }
    }
}

/// Most elements and attributes of one file.
const MOST_NODES: u32 = 4_000_000;

/// Reads a text that is already in `sources`.
pub(crate) fn parse(
    sources: &SourceMap,
    file: FileId,
    limits: &Limits,
) -> Result<Element, Box<Diagnostic>> {
    let text = sources.get(file).map_or("", |file| file.text.as_str());
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let at = offset(text, error.pos().row, error.pos().col);
        let span = Span::new(file, at..(at + 1).min(text.len()));
        let help = match error {
            roxmltree::Error::DtdDetected => {
                "document types and entities are not read: remove <!DOCTYPE ...>"
            }
            roxmltree::Error::NodesLimitReached => "the file has more elements than any robot",
            _ => "the file is not well-formed XML",
        };
        Box::new(
            Diagnostic::error("bad-xml", error.to_string())
                .element("file")
                .help(help)
                .at(sources, span),
        )
    })?;
    // Elements whose end is still to come; the first is a stand-in for the document.
    let mut open: Vec<(roxmltree::NodeId, Element)> = Vec::new();
    let mut done: Option<Element> = None;
    let close = |open: &mut Vec<(roxmltree::NodeId, Element)>, done: &mut Option<Element>| {
        if let Some((_, element)) = open.pop() {
            match open.last_mut() {
                Some((_, parent)) => parent.children.push(element),
                None => *done = Some(element),
            }
        }
    };
    for node in document.root_element().descendants().filter(roxmltree::Node::is_element) {
        let parent = node.parent().map(|parent| parent.id());
        while open.last().is_some_and(|(id, _)| Some(*id) != parent) {
            close(&mut open, &mut done);
        }
        let span = Span::new(file, start_tag(text, node.range()));
        if open.len() >= limits.nesting {
            let message = format!("elements lie more than {} deep in one another", limits.nesting);
            let help = "raise it with `--limit nesting=COUNT`, up to 1000";
            let fault = Diagnostic::error("limit-nesting", message).element("file").help(help);
            return Err(Box::new(fault.at(sources, span)));
        }
        let attributes = node
            .attributes()
            .map(|attribute| Attribute {
                name: attribute.name().to_owned(),
                value: attribute.value().to_owned(),
                span: Span::new(file, attribute.range_value()),
            })
            .collect();
        let name = node.tag_name().name().to_owned();
        let within = open.last().and_then(|(_, around)| match around.text("name") {
            Some(_) if around.name != "robot" && around.name != "mujoco" => {
                Some(around.called().into())
            }
            _ => around.within.clone(),
        });
        let content = node.text().map_or("", str::trim).to_owned();
        let element =
            Element { name, attributes, children: Vec::new(), content, scope: 0, span, within };
        open.push((node.id(), element));
    }
    while !open.is_empty() {
        close(&mut open, &mut done);
    }
    done.ok_or_else(|| {
        Box::new(Diagnostic::error("bad-xml", "the file has no element").element("file"))
    })
}

/// The start tag of an element's range.
fn start_tag(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let tag = text.get(range.clone()).unwrap_or("");
    let mut quote = None;
    for (i, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return range.start..range.start + i + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    range
}

/// Byte offset of a row and a column, both from 1, the column in characters.
fn offset(text: &str, row: u32, col: u32) -> usize {
    let mut start = 0;
    for _ in 1..row {
        match text[start..].find('\n') {
            Some(end) => start += end + 1,
            None => return text.len(),
        }
    }
    let line = text[start..].chars().take_while(|c| *c != '\n');
    start + line.take(col.saturating_sub(1) as usize).map(char::len_utf8).sum::<usize>()
}
