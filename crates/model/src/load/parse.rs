//! From text to the tables of the language.

use toml::de::DeTable;

use super::context::number_of_unit;
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
    // What comes behind an open bracket was read as part of the list.
    let open = if errors.is_empty() { None } else { unclosed(&text) };
    let mut lines: Vec<usize> = Vec::new();
    let mut broken: Vec<String> = Vec::new();
    for error in &errors {
        let range = error.span().unwrap_or(text.len()..text.len());
        if open.is_some_and(|open| range.start >= open) {
            continue;
        }
        // One fault of a line is enough; those behind it mostly follow from it.
        let line = report.sources.get(file).map_or(0, |f| f.line_column(range.start).0);
        if lines.contains(&line) {
            continue;
        }
        lines.push(line);
        let mut fault = Diagnostic::error("syntax", sentence(error.message()));
        fault.element = element_at(&text, range.start);
        broken.extend(fault.element.clone());
        let unit = number_at(&text, range.start)
            .map(|number| format!("numbers are in SI units and stand alone: write {number}"));
        if let Some(help) = unit.or_else(|| syntax_help(error.message()).map(str::to_owned)) {
            fault = fault.help(help);
        }
        report.push(Some(Span::new(file, range)), fault);
    }
    if let Some(open) = open {
        let mut fault = Diagnostic::error("syntax", "not valid TOML: this bracket is not closed");
        fault.element = element_at(&text, open);
        report.push(Some(Span::new(file, open..open + 1)), fault.help("close the bracket"));
        return None;
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

/// Where a bracket is opened that is still open when the next key or table begins, or at the end.
fn unclosed(text: &str) -> Option<usize> {
    /// Whether a line can only be a new key or table: nothing like it stands in a list.
    fn begins_anew(line: &str) -> bool {
        let line = line.trim_start();
        let word = |text: &str| {
            let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
            text.split_at(end.unwrap_or(text.len())).0.len()
        };
        if let Some(header) = line.strip_prefix('[') {
            let header = header.strip_prefix('[').unwrap_or(header);
            let n = word(header);
            let letter = header.starts_with(|c: char| c.is_alphabetic() || c == '_');
            return letter && header[n..].starts_with(']');
        }
        let n = word(line);
        n > 0 && line[n..].trim_start().starts_with('=')
    }
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut begin = 0;
    let mut in_text: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        if in_text.is_none() && begins_anew(line) {
            if let Some(&(at, b'[')) = open.last() {
                return Some(at);
            }
            let header = line.trim_start().starts_with('[');
            if let (Some(&(at, _)), true) = (open.last(), header) {
                return Some(at);
            }
            if header {
                begin += line.len();
                continue;
            }
        }
        let bytes = line.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            if let Some(end) = in_text {
                if end.starts_with('"') && bytes[i] == b'\\' {
                    i += 2;
                } else if line.get(i..).is_some_and(|rest| rest.starts_with(end)) {
                    in_text = None;
                    i += end.len();
                } else {
                    i += 1;
                }
                continue;
            }
            match bytes[i] {
                b'#' => break,
                b'"' | b'\'' => {
                    let three = if bytes[i] == b'"' { "\"\"\"" } else { "\'\'\'" };
                    let long = line[i..].starts_with(three);
                    let mark = if long { three } else { &three[..1] };
                    in_text = Some(mark);
                    i += mark.len();
                    continue;
                }
                bracket @ (b'[' | b'{') => open.push((begin + i, bracket)),
                b']' | b'}' => _ = open.pop(),
                _ => {}
            }
            i += 1;
        }
        // A text of one line ends with it.
        in_text = in_text.filter(|end| end.len() == 3);
        begin += line.len();
    }
    open.first().map(|(at, _)| *at)
}

/// The number on the line of a place where a unit stands behind it: `mass = 2 kg`.
fn number_at(text: &str, offset: usize) -> Option<&str> {
    let offset = text.floor_char_boundary(offset);
    let begin = text[..offset].rfind('\n').map_or(0, |i| i + 1);
    let line = text[begin..].lines().next()?;
    let (_, value) = line.split_once('=')?;
    number_of_unit(value.split('#').next()?)
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
    fn open_brackets_are_found_where_they_open() {
        assert_eq!(unclosed("a = [1, 2\nb = 3\n"), Some(4));
        assert_eq!(unclosed("a = [[0, 1],\n  [2, 3]]\n[[body]]\nx = \"]\" # [\n"), None);
        assert_eq!(unclosed("a = [1,\n[[body]]\n"), Some(4));
        assert_eq!(unclosed("a = { b = 1,\n c = 2 }\n"), None);
        assert_eq!(unclosed("a = { b = 1\n[run]\n"), Some(4));
        assert_eq!(unclosed("a = \"\"\"[\n\"\"\"\nb = [1"), Some(17));
    }

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
