//! Diagnostics drawn with the lines they speak of.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::{Place, SourceFile, SourceMap};

/// Places of one file that lie closer than this many lines share a drawing.
const NEAR: usize = 40;
/// Longer pieces of text are not drawn.
const MOST_BYTES: usize = 20_000;

/// Draws all diagnostics one below the other.
pub(crate) fn render(list: &[Diagnostic], sources: &SourceMap, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for diagnostic in list {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let title = diagnostic.title();
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(title.as_str()).id(diagnostic.code));
        for window in windows(diagnostic, sources) {
            let bytes = window.file.lines(window.lines.0, window.lines.1);
            if bytes.len() > MOST_BYTES {
                // Too long to draw: the place alone.
                let place = window.marks.first().map(|mark| mark.1);
                let mut origin = Origin::path(window.file.name.as_str());
                if let Some(place) = place {
                    origin = origin.line(place.line).char_column(place.column);
                }
                group = group.element(origin);
                continue;
            }
            group = group.element(window.snippet());
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        text.push_str(&renderer.render(&[group]));
    }
    text
}

/// Neighbouring lines of one file with the marks on them. Only these lines are handed to the renderer, which would
/// otherwise walk the whole text for every diagnostic.
struct Window<'a> {
    file: &'a SourceFile,
    lines: (usize, usize),
    marks: Vec<(bool, &'a Place, Option<&'a str>)>,
}

impl<'a> Window<'a> {
    fn snippet(&self) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let bytes = self.file.lines(self.lines.0, self.lines.1);
        let source = self.file.text.get(bytes.clone()).unwrap_or("");
        let mut snippet = Snippet::source(source)
            .line_start(self.lines.0)
            .path(self.file.name.as_str())
            .fold(true);
        for (primary, place, label) in &self.marks {
            let kind = if *primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let start = place.span.start.clamp(bytes.start, bytes.end) - bytes.start;
            // Only the first line of a long place is marked.
            let line_end = source[start..].find('\n').map_or(source.len(), |i| start + i);
            let end = (place.span.end.max(bytes.start) - bytes.start).clamp(start, line_end);
            let mut mark = kind.span(start..end);
            if let Some(label) = label {
                mark = mark.label(*label);
            }
            snippet = snippet.annotation(mark);
        }
        snippet
    }
}

fn windows<'a>(diagnostic: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Window<'a>> {
    let mut windows: Vec<Window<'a>> = Vec::new();
    let primary = diagnostic.place.iter().map(|place| (true, place, diagnostic.label.as_deref()));
    let others = diagnostic.labels.iter().map(|l| (false, &l.place, Some(l.text.as_str())));
    for mark in primary.chain(others) {
        let Some(file) = sources.files().iter().find(|f| f.name == mark.1.file) else { continue };
        let line = mark.1.line;
        let near = windows.iter_mut().find(|w| {
            w.file.name == file.name && line + NEAR >= w.lines.0 && line <= w.lines.1 + NEAR
        });
        if let Some(window) = near {
            window.lines = (window.lines.0.min(line), window.lines.1.max(line));
            window.marks.push(mark);
        } else {
            windows.push(Window { file, lines: (line, line), marks: vec![mark] });
        }
    }
    windows
}
