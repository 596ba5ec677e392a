//! The values of the language: numbers that may be expressions, texts, lists.

use serde_json::{Value as Json, json};
use toml::de::DeValue;

use super::read::{FromToml, Reader, Value};
use super::schema::Definitions;
use crate::source::Span;

/// A text with its place.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text; empty if it could not be read.
    pub text: String,
    /// Its place, quotes included.
    pub span: Span,
    /// Where its first character lies in the file, if it is written there without escapes.
    content: Option<u32>,
    /// It could not be read; that was reported.
    pub poisoned: bool,
}

impl Text {
    /// A text that stands in no file by itself, at a place that explains it.
    pub fn new(text: &str, span: Span) -> Self {
        Text { text: text.to_owned(), span, content: None, poisoned: false }
    }

    /// A text that starts at the first byte of a span.
    pub fn bare(text: &str, span: Span) -> Self {
        Text { content: Some(span.start), ..Text::new(text, span) }
    }

    /// A part of a text, with its own place.
    pub(crate) fn slice(text: &Text, range: std::ops::Range<usize>) -> Self {
        let span = text.part(range.clone());
        let part = text.text.get(range).unwrap_or("");
        if text.content.is_some() { Text::bare(part, span) } else { Text::new(part, span) }
    }

    /// The place of a part of the text, given by its bytes.
    pub fn part(&self, range: std::ops::Range<usize>) -> Span {
        match self.content {
            Some(start) => {
                let start = start as usize;
                Span::new(self.span.file, start + range.start..start + range.end)
            }
            None => self.span,
        }
    }

    fn of(text: &str, span: Span, reader: &Reader<'_>) -> Self {
        let raw = reader.report.sources.text(span);
        let content = [1usize, 3]
            .into_iter()
            .find(|n| raw.len() == text.len() + 2 * n && raw.get(*n..*n + text.len()) == Some(text))
            .and_then(|n| u32::try_from(n).ok())
            .map(|n| span.start + n);
        Text { text: text.to_owned(), span, content, poisoned: false }
    }
}

impl FromToml for Text {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        let span = reader.span(value);
        if let DeValue::String(text) = value.get_ref() {
            return Text::of(text, span, reader);
        }
        reader.wrong_type(value, "a string");
        Text::poison(span)
    }

    fn poison(span: Span) -> Self {
        Text { poisoned: true, ..Text::new("", span) }
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "string" })
    }
}

/// A number, or an expression that gives one.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// Its place.
    pub span: Span,
    /// What is written there.
    pub source: ScalarSource,
}

/// What a [`Scalar`] is written as.
#[derive(Clone, Debug)]
pub enum ScalarSource {
    /// A number: its value, and its digits for exact arithmetic.
    Number(f64, String),
    /// An expression.
    Expression(Text),
    /// It could not be read; that was reported.
    Poisoned,
}

impl FromToml for Scalar {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        let span = reader.span(value);
        let source = match value.get_ref() {
            DeValue::Integer(number) => integer(number.as_str(), number.radix()),
            DeValue::Float(number) => {
                let digits = number.as_str().replace('_', "");
                match digits.parse::<f64>() {
                    Ok(x) if x.is_finite() => Some(ScalarSource::Number(x, digits)),
                    _ => None,
                }
            }
            DeValue::String(text) => Some(ScalarSource::Expression(Text::of(text, span, reader))),
            _ => {
                reader.wrong_type(value, "a number or an expression in quotes");
                return Scalar::poison(span);
            }
        };
        let source = source.unwrap_or_else(|| {
            let written = reader.report.sources.text(span).to_owned();
            let message = format!("`{written}` is not a finite number");
            reader.error("bad-number", span, message, Some("write a finite number".to_owned()));
            ScalarSource::Poisoned
        });
        Scalar { span, source }
    }

    fn poison(span: Span) -> Self {
        Scalar { span, source: ScalarSource::Poisoned }
    }

    fn schema(schema: &mut Definitions) -> Json {
        schema.define("Scalar", || {
            json!({
                "description": "A number, or an expression in quotes over parameters (and, where it makes sense, time `t` and the state).",
                "type": ["number", "string"]
            })
        })
    }
}

fn integer(digits: &str, radix: u32) -> Option<ScalarSource> {
    let digits = digits.replace('_', "");
    if radix == 10 {
        let x = digits.parse::<f64>().ok().filter(|x| x.is_finite())?;
        return Some(ScalarSource::Number(x, digits.trim_start_matches('+').to_owned()));
    }
    let x = i64::from_str_radix(&digits, radix).ok()?;
    Some(ScalarSource::Number(x as f64, x.to_string()))
}

/// A vector of three numbers.
pub type Vec3Spec = [Scalar; 3];

impl FromToml for bool {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        if let DeValue::Boolean(b) = value.get_ref() {
            return *b;
        }
        reader.wrong_type(value, "true or false");
        false
    }

    fn poison(_: Span) -> Self {
        false
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": "boolean" })
    }
}

impl<T: FromToml> FromToml for Option<T> {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        Some(T::read(value, reader))
    }

    fn poison(_: Span) -> Self {
        None
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn schema(schema: &mut Definitions) -> Json {
        T::schema(schema)
    }
}

/// A list; a missing key is an empty list.
impl<T: FromToml> FromToml for Vec<T> {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        if let DeValue::Array(values) = value.get_ref() {
            return reader.items(values);
        }
        reader.wrong_type(value, "a list");
        Vec::new()
    }

    fn poison(_: Span) -> Self {
        Vec::new()
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }

    fn schema(schema: &mut Definitions) -> Json {
        json!({ "type": "array", "items": T::schema(schema) })
    }
}

/// A list of fixed length.
impl<T: FromToml, const N: usize> FromToml for [T; N] {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        let span = reader.span(value);
        let DeValue::Array(values) = value.get_ref() else {
            reader.wrong_type(value, &format!("a list of {N}"));
            return Self::poison(span);
        };
        if values.len() == N {
            let items: Vec<T> = reader.items(values);
            if let Ok(items) = items.try_into() {
                return items;
            }
        } else {
            let message = format!("expected a list of {N}, found {}", values.len());
            reader.error("wrong-length", span, message, None);
        }
        Self::poison(span)
    }

    fn poison(span: Span) -> Self {
        std::array::from_fn(|_| T::poison(span))
    }

    fn schema(schema: &mut Definitions) -> Json {
        json!({ "type": "array", "items": T::schema(schema), "minItems": N, "maxItems": N })
    }
}

/// One value, or a list of them.
#[derive(Clone, Debug, Default)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T: FromToml> FromToml for OneOrMany<T> {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        match value.get_ref() {
            DeValue::Array(values) => OneOrMany(reader.items(values)),
            _ => OneOrMany(vec![T::read(value, reader)]),
        }
    }

    fn poison(_: Span) -> Self {
        OneOrMany(Vec::new())
    }

    fn absent() -> Option<Self> {
        Some(OneOrMany(Vec::new()))
    }

    fn schema(schema: &mut Definitions) -> Json {
        let one = T::schema(schema);
        json!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

/// One number for all coordinates of a joint, or a list with one for each.
#[derive(Clone, Debug)]
pub struct PerCoordinate {
    /// Its place.
    pub span: Span,
    /// The numbers.
    pub values: Vec<Scalar>,
    /// Whether they are written as a list.
    pub list: bool,
}

impl FromToml for PerCoordinate {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        let span = reader.span(value);
        match value.get_ref() {
            DeValue::Array(values) => {
                PerCoordinate { span, values: reader.items(values), list: true }
            }
            _ => PerCoordinate { span, values: vec![Scalar::read(value, reader)], list: false },
        }
    }

    fn poison(span: Span) -> Self {
        PerCoordinate { span, values: vec![Scalar::poison(span)], list: false }
    }

    fn schema(schema: &mut Definitions) -> Json {
        let one = Scalar::schema(schema);
        json!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

/// A direction: a vector of three numbers, or an axis by its name: "x", "y", "z", "-x", "-y", "-z".
#[derive(Clone, Debug)]
pub struct Direction(pub Vec3Spec);

impl std::ops::Deref for Direction {
    type Target = Vec3Spec;

    fn deref(&self) -> &Vec3Spec {
        &self.0
    }
}

impl FromToml for Direction {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        let DeValue::String(name) = value.get_ref() else {
            return Direction(<Vec3Spec>::read(value, reader));
        };
        let span = reader.span(value);
        let (sign, letter) = match name.strip_prefix('-') {
            Some(letter) => (-1.0, letter),
            None => (1.0, name.strip_prefix('+').unwrap_or(name)),
        };
        let Some(axis) = ["x", "y", "z"].iter().position(|known| *known == letter) else {
            let message = format!("`{name}` is not an axis");
            let help = "write [0, 1, 0], or one of \"x\", \"y\", \"z\", \"-x\", \"-y\", \"-z\"";
            reader.error("wrong-type", span, message, Some(help.to_owned()));
            return Direction::poison(span);
        };
        Direction(std::array::from_fn(|k| {
            let (value, digits) = match (k == axis, sign < 0.0) {
                (true, true) => (-1.0, "-1"),
                (true, false) => (1.0, "1"),
                (false, _) => (0.0, "0"),
            };
            Scalar { span, source: ScalarSource::Number(value, digits.to_owned()) }
        }))
    }

    fn poison(span: Span) -> Self {
        Direction(<Vec3Spec>::poison(span))
    }

    fn schema(schema: &mut Definitions) -> Json {
        let vector = <Vec3Spec>::schema(schema);
        json!({ "anyOf": [vector, { "type": "string", "enum": ["x", "y", "z", "-x", "-y", "-z"] }] })
    }
}

/// A number, or a vector of three.
#[derive(Clone, Debug)]
pub enum NumberOrVector {
    /// A number.
    Number(Scalar),
    /// A vector, with its place.
    Vector(Span, Vec3Spec),
}

impl NumberOrVector {
    /// Its place.
    pub fn span(&self) -> Span {
        match self {
            NumberOrVector::Number(number) => number.span,
            NumberOrVector::Vector(span, _) => *span,
        }
    }
}

impl FromToml for NumberOrVector {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        match value.get_ref() {
            DeValue::Array(_) => {
                NumberOrVector::Vector(reader.span(value), <Vec3Spec>::read(value, reader))
            }
            _ => NumberOrVector::Number(Scalar::read(value, reader)),
        }
    }

    fn poison(span: Span) -> Self {
        NumberOrVector::Number(Scalar::poison(span))
    }

    fn schema(schema: &mut Definitions) -> Json {
        json!({ "anyOf": [Scalar::schema(schema), <Vec3Spec>::schema(schema)] })
    }
}

/// A table whose keys are names, in the order of the file.
#[derive(Clone, Debug)]
pub struct Named<T>(pub Vec<(Text, T)>);

impl<T: FromToml> FromToml for Named<T> {
    fn read(value: &Value<'_>, reader: &mut Reader<'_>) -> Self {
        let DeValue::Table(table) = value.get_ref() else {
            reader.wrong_type(value, "a table");
            return Named(Vec::new());
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let read = |(key, value): (&toml::Spanned<_>, &Value<'_>)| {
            let key: &toml::Spanned<std::borrow::Cow<'_, str>> = key;
            (Text::bare(key.get_ref(), reader.span(key)), T::read(value, reader))
        };
        Named(entries.into_iter().map(read).collect())
    }

    fn poison(_: Span) -> Self {
        Named(Vec::new())
    }

    fn absent() -> Option<Self> {
        Some(Named(Vec::new()))
    }

    fn schema(schema: &mut Definitions) -> Json {
        json!({ "type": "object", "additionalProperties": T::schema(schema) })
    }
}
