//! Diagnostics: what is wrong with a model, where, and what to do.

use std::fmt;

use serde::Serialize;

use crate::source::{Place, SourceMap, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The model can be used.
    Warning,
    /// The model cannot be used.
    Error,
}

/// A second place that has to do with a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// What is there.
    pub text: String,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
}

/// One thing that is wrong, with its place and a way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// A stable name for the kind of fault: `unknown-key`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The element at fault: "joint `elbow`".
    pub element: Option<String>,
    /// Where; `None` for faults that lie in no text (a missing file).
    #[serde(flatten)]
    pub place: Option<Place>,
    /// Words for the place.
    pub label: Option<String>,
    /// Other places that matter.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without place, element or help.
    pub fn error(code: &'static str, message: impl AsRef<str>) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: printable(message.as_ref()),
            element: None,
            place: None,
            label: None,
            labels: Vec::new(),
            help: None,
        }
    }

    /// A warning without place, element or help.
    pub fn warning(code: &'static str, message: impl AsRef<str>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// The element at fault.
    #[must_use]
    pub fn element(mut self, element: impl AsRef<str>) -> Self {
        self.element = Some(printable(element.as_ref()));
        self
    }

    /// Where it is.
    #[must_use]
    pub fn at(mut self, sources: &SourceMap, span: Span) -> Self {
        self.place = sources.place(span);
        self
    }

    /// What to do.
    #[must_use]
    pub fn help(mut self, help: impl AsRef<str>) -> Self {
        self.help = Some(printable(help.as_ref()));
        self
    }

    /// Words for its place.
    #[must_use]
    pub fn label(mut self, text: impl AsRef<str>) -> Self {
        self.label = Some(printable(text.as_ref()));
        self
    }

    /// Another place that matters.
    #[must_use]
    pub fn also(mut self, sources: &SourceMap, span: Span, text: impl AsRef<str>) -> Self {
        if let Some(place) = sources.place(span) {
            self.labels.push(Label { text: printable(text.as_ref()), place });
        }
        self
    }

    /// Line from 1; 0 if it has no place.
    pub fn line(&self) -> usize {
        self.place.as_ref().map_or(0, |place| place.line)
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: error: message (code)`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{}:{}:{}: ", place.file, place.line, place.column)?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}", self.title())?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl Diagnostic {
    /// The message, led by the element if the message does not name it.
    pub fn title(&self) -> String {
        match &self.element {
            Some(element) if !self.message.contains(element.as_str()) => {
                format!("{element}: {}", self.message)
            }
            _ => self.message.clone(),
        }
    }
}

/// Control characters become visible, so that a name cannot steer the terminal.
fn printable(text: &str) -> String {
    if !text.chars().any(|c| c.is_control() && c != '\n') {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| {
            let escape = c.is_control() && c != '\n';
            let escaped = escape.then(|| c.escape_default());
            let plain = (!escape).then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

/// Everything that is wrong with a model: at least one error, warnings too.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// What was found, in the order of the file.
    pub list: Vec<Diagnostic>,
    /// The texts it was found in.
    pub sources: SourceMap,
}

impl Diagnostics {
    /// Number of errors.
    pub fn n_errors(&self) -> usize {
        self.list.iter().filter(|d| d.severity == Severity::Error).count()
    }

    /// All of it drawn with the lines of the file; with terminal colours or plain.
    pub fn render(&self, color: bool) -> String {
        crate::render::render(&self.list, &self.sources, color)
    }

    /// The list as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(&self.list).unwrap_or_default()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

impl Serialize for Diagnostics {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Diagnostics {
        let mut sources = SourceMap::default();
        let text = "[[joint]]\nname = \"elbow\"\ntype = \"hinje\"\n";
        let file = sources.add("arm.toml", text);
        let at = Span::new(file, 32..39);
        let name = Span::new(file, 17..24);
        let list = vec![
            Diagnostic::error("unknown-type", "there is no joint type `hinje`")
                .element("joint `elbow`")
                .at(&sources, at)
                .also(&sources, name, "this joint")
                .help("did you mean `hinge`?"),
        ];
        Diagnostics { list, sources }
    }

    #[test]
    fn drawing_shows_file_line_caret_and_help() {
        let text = sample().render(false);
        for part in [
            "error[unknown-type]: joint `elbow`: there is no joint type `hinje`",
            "arm.toml:3:8",
            "type = \"hinje\"",
            "^^^^^^^",
            "this joint",
            "did you mean `hinge`?",
        ] {
            assert!(text.contains(part), "{part} missing in\n{text}");
        }
        assert!(sample().render(true).contains("\u{1b}["));
    }

    #[test]
    fn json_has_stable_names() {
        let json = sample().to_json();
        let first = &json[0];
        assert_eq!(first["code"], "unknown-type");
        assert_eq!(first["severity"], "error");
        assert_eq!(first["element"], "joint `elbow`");
        assert_eq!(first["file"], "arm.toml");
        assert_eq!(first["line"], 3);
        assert_eq!(first["column"], 8);
        assert_eq!(first["span"]["start"], 32);
        assert_eq!(first["labels"][0]["line"], 2);
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let diagnostic = Diagnostic::error("bad-name", "bad name `\u{1b}[31m`");
        assert_eq!(diagnostic.message, "bad name `\\u{1b}[31m`");
    }
}
