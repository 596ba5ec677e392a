//! From text to the tables of the language.

use toml::de::DeTable;

use super::nesting::too_deep;
use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::source::{FileId, Span};
use crate::spec::{Fields, Reader, Report, read_keys};

/// Reads a text already in the report's sources. Faults go to the report; `None` if the text is no TOML at all, so
/// that nothing can be said about its meaning.
pub(crate) fn parse_file<T: Fields>(
    report: &mut Report,
    file: FileId,
    limits: &Limits,
) -> Option<T> {
    let text = report.sources.get(file)?.text.clone();
    if let Some(range) = too_deep(&text, limits.nesting) {
        let message = format!("values nest deeper than the limit of {}", limits.nesting);
        let help =
            format!("flatten the value, or raise it with `--limit nesting={}`", 2 * limits.nesting);
        let span = Span::new(file, range.clone());
        let mut fault = Diagnostic::error("limit-nesting", message).help(help);
        fault.element = element_at(&text, range.start);
        report.push(Some(span), fault);
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(&text);
    let mut lines: Vec<usize> = Vec::new();
    let mut broken: Vec<String> = Vec::new();
    for error in &errors {
        let range = error.span().unwrap_or(text.len()..text.len());
        // One fault of a line is enough; those behind it mostly follow from it.
        let line = report.sources.get(file).map_or(0, |f| f.line_column(range.start).0);
        if lines.contains(&line) {
            continue;
        }
        lines.push(line);
        let mut fault = Diagnostic::error("syntax", sentence(error.message()));
        fault.element = element_at(&text, range.start);
        broken.extend(fault.element.clone());
        if let Some(help) = syntax_help(error.message()) {
            fault = fault.help(help);
        }
        report.push(Some(Span::new(file, range)), fault);
    }
    let whole = Span::new(file, 0..0);
    let n_faults = report.n_faults();
    let mut reader = Reader::new(report, file);
    // What a broken line leaves out would otherwise be reported as missing.
    reader.quiet_about_missing = !errors.is_empty();
    let spec = read_keys(table.get_ref(), whole, &mut reader);
    report.forget_since(n_faults, &broken);
    errors.is_empty().then_some(spec)
}

fn sentence(message: &str) -> String {
    format!("not valid TOML: {message}")
}

fn syntax_help(message: &str) -> Option<&'static str> {
    if message.contains("duplicate key") {
        Some("remove one of the two; repeated elements are written `[[body]]` with two brackets")
    } else if message.contains("must be quoted") {
        Some("put texts and expressions in quotes: mass = \"2*m\"")
    } else if message.contains("unclosed") || message.contains("missing close") {
        Some("close the bracket")
    } else {
        None
    }
}

/// The element whose table holds a place: "joint `elbow`". Works on text that does not parse, line by line.
fn element_at(text: &str, offset: usize) -> Option<String> {
    let mut kind: Option<&str> = None;
    let mut name: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if let Some(header) = trimmed.strip_prefix('[') {
            if at > offset {
                break;
            }
            let header = header.trim_start_matches('[');
            kind = header.split(']').next().map(str::trim);
            name = None;
        } else if let Some(value) = trimmed.strip_prefix("name").map(str::trim_start)
            && let Some(value) = value.strip_prefix('=').map(str::trim_start)
            && let Some(value) = value.strip_prefix('"')
        {
            name = value.split('"').next().filter(|n| !n.is_empty());
        }
        at += line.len();
    }
    // A longer "name" is a broken file, and nobody reads it.
    let short = |text: &&str| !text.is_empty() && text.len() <= 80;
    let kind = kind.filter(short)?;
    Some(match name.filter(short) {
        Some(name) => format!("{kind} `{name}`"),
        None => format!("[{kind}]"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_faults_name_the_element() {
        let text = "[[body]]\nname = \"a\"\nmass = = 1\n[[joint]]\nname = \"j\"\ntype = hinge\n";
        let mut report = Report::default();
        let file = report.sources.add("m.toml", text);
        assert!(
            parse_file::<crate::spec::tables::FileSpec>(&mut report, file, &Limits::default())
                .is_none()
        );
        let (list, _) = report.into_parts();
        let found: Vec<_> =
            list.iter().map(|d| (d.code, d.element.as_deref().unwrap_or(""), d.line())).collect();
        assert!(found.contains(&("syntax", "body `a`", 3)), "{found:?}");
        assert!(found.contains(&("syntax", "joint `j`", 6)), "{found:?}");
        assert!(!found.iter().any(|f| f.0 == "missing-key"), "{found:?}");
    }
}
