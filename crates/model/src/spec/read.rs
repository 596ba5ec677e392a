//! Reading the TOML tree: every fault is written down, and reading goes on.

use rustc_hash::FxHashSet;
use toml::de::{DeTable, DeValue};

use super::schema::Definitions;
use super::suggest::did_you_mean;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{FileId, SourceMap, Span};

/// A TOML value with its place.
pub(crate) type Value<'i> = toml::Spanned<DeValue<'i>>;

/// How many faults are kept; a file with more is hardly a model.
const MOST_FAULTS: usize = 1000;

/// The texts of a model and what is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) sources: SourceMap,
    list: Vec<(Option<Span>, Diagnostic)>,
    n_errors: usize,
    left_out: usize,
    seen: FxHashSet<(Span, String)>,
}

impl Report {
    /// Adds a diagnostic at a place.
    pub(crate) fn push(&mut self, span: Option<Span>, mut diagnostic: Diagnostic) {
        if let Some(span) = span {
            diagnostic = diagnostic.at(&self.sources, span);
        }
        if diagnostic.severity == Severity::Error {
            self.n_errors += 1;
        }
        // A part that is used many times has its fault once.
        if let Some(span) = span
            && !self.seen.insert((span, diagnostic.message.clone()))
        {
            return;
        }
        if self.list.len() >= MOST_FAULTS {
            self.left_out += 1;
        } else {
            self.list.push((span, diagnostic));
        }
    }

    /// Takes back faults of some elements found since there were `n` of them.
    pub(crate) fn forget_since(&mut self, n: usize, elements: &[String]) {
        let mut i = 0;
        let n_errors = &mut self.n_errors;
        self.list.retain(|(_, diagnostic)| {
            i += 1;
            let keep = i <= n || diagnostic.element.as_ref().is_none_or(|e| !elements.contains(e));
            if !keep && diagnostic.severity == Severity::Error {
                *n_errors -= 1;
            }
            keep
        });
    }

    pub(crate) fn n_faults(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn n_errors(&self) -> usize {
        self.n_errors
    }

    /// All diagnostics in the order of the texts.
    pub(crate) fn into_parts(mut self) -> (Vec<Diagnostic>, SourceMap) {
        self.list.sort_by_key(|(span, _)| *span);
        let mut list: Vec<Diagnostic> = self.list.into_iter().map(|(_, d)| d).collect();
        if self.left_out > 0 {
            let message = format!("{} further faults are not listed", self.left_out);
            list.push(Diagnostic::error("too-many-faults", message));
        }
        (list, self.sources)
    }
}

/// Reads values of one file.
pub(crate) struct Reader<'r> {
    pub(crate) report: &'r mut Report,
    pub(crate) file: FileId,
    /// The element being read: "joint `elbow`".
    element: Option<String>,
    /// Its number among its kind, for elements without a name.
    index: usize,
    /// Say nothing of missing keys, in a text with syntax errors.
    pub(crate) quiet_about_missing: bool,
}

impl<'r> Reader<'r> {
    pub(crate) fn new(report: &'r mut Report, file: FileId) -> Self {
        Reader { report, file, element: None, index: 0, quiet_about_missing: false }
    }

    pub(crate) fn span<T>(&self, value: &toml::Spanned<T>) -> Span {
        Span::new(self.file, value.span())
    }

    pub(crate) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl AsRef<str>,
        help: Option<String>,
    ) {
        let mut diagnostic = Diagnostic::error(code, message);
        diagnostic.element.clone_from(&self.element);
        if let Some(help) = help {
            diagnostic = diagnostic.help(help);
        }
        self.report.push(Some(span), diagnostic);
    }

    /// "expected a number, found a string".
    pub(crate) fn wrong_type(&mut self, value: &Value<'_>, expected: &str) {
        let found = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let span = self.span(value);
        self.error("wrong-type", span, format!("expected {expected}, found {found}"), None);
    }

    /// The value of a key, or what stands for it.
    pub(crate) fn field<T: FromToml>(&mut self, table: &DeTable<'_>, at: Span, key: &str) -> T {
        if let Some(value) = table.get(key) {
            return T::read(value, self);
        }
        T::absent().unwrap_or_else(|| {
            if !self.quiet_about_missing {
                self.error("missing-key", at, format!("key `{key}` is missing"), None);
            }
            T::poison(at)
        })
    }

    pub(crate) fn items<T: FromToml>(&mut self, values: &[Value<'_>]) -> Vec<T> {
        let outer = self.index;
        let items = values
            .iter()
            .enumerate()
            .map(|(i, value)| {
                self.index = i + 1;
                T::read(value, self)
            })
            .collect();
        self.index = outer;
        items
    }
}

/// A type that a TOML value may be read as.
pub(crate) trait FromToml: Sized {
    /// The value; a fault goes to the reader, and something harmless comes back.
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self;
    /// What stands for a value that could not be read; later checks pass over it in silence.
    fn poison(span: Span) -> Self;
    /// What stands for a missing key; `None` if the key is required.
    fn absent() -> Option<Self> {
        None
    }
    /// Its JSON Schema.
    fn schema(schema: &mut Definitions) -> serde_json::Value;
}

/// The keys of a table.
pub(crate) trait Fields: Sized {
    fn keys(keys: &mut Vec<&'static str>);
    fn element() -> Option<&'static str>;
    fn read_fields(table: &DeTable<'_>, span: Span, reader: &mut Reader<'_>) -> Self;
    fn poisoned(span: Span) -> Self;
    fn properties(schema: &mut Definitions);
}

/// Reads a table; keys nobody knows are faults.
pub(crate) fn read_table<T: Fields>(value: &Value<'_>, reader: &mut Reader<'_>) -> T {
    let span = reader.span(value);
    let DeValue::Table(table) = value.get_ref() else {
        reader.wrong_type(value, "a table");
        return T::poisoned(span);
    };
    read_keys(table, span, reader)
}

pub(crate) fn read_keys<T: Fields>(table: &DeTable<'_>, span: Span, reader: &mut Reader<'_>) -> T {
    let outer = reader.element.clone();
    if let Some(kind) = T::element() {
        reader.element = Some(match table.get("name").and_then(|v| v.get_ref().as_str()) {
            Some(name) => format!("{kind} `{name}`"),
            None if reader.index > 0 => format!("{kind} number {}", reader.index),
            None => format!("[{kind}]"),
        });
    }
    let mut keys = Vec::new();
    T::keys(&mut keys);
    let mut unknown: Vec<_> =
        table.keys().filter(|k| !keys.contains(&k.get_ref().as_ref())).collect();
    unknown.sort_by_key(|key| key.span().start);
    for key in unknown {
        let name = key.get_ref();
        let help = did_you_mean(name, keys.iter().copied());
        let span = reader.span(key);
        reader.error("unknown-key", span, format!("unknown key `{name}`"), help);
    }
    let read = T::read_fields(table, span, reader);
    reader.element = outer;
    read
}
