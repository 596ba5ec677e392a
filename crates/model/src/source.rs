//! Source texts and places in them.

use serde::Serialize;

/// Index of a text in a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A range of bytes in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of a text. Texts are shorter than 4 GiB; larger offsets are cut there.
    pub fn new(file: FileId, range: std::ops::Range<usize>) -> Self {
        let cut = |x: usize| u32::try_from(x).unwrap_or(u32::MAX);
        Span { file, start: cut(range.start), end: cut(range.end) }
    }

    /// The same as a range.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text with a name.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// What messages call it: the path as the user gave it, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Byte offset of each line's first character.
    line_starts: Vec<usize>,
}

/// All texts a model was read from, in the order they were opened.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// A place in a text, ready to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Name of the text.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// The bytes.
    pub span: std::ops::Range<usize>,
}

impl SourceFile {
    fn new(name: &str, text: &str) -> Self {
        let mut line_starts = vec![0];
        line_starts
            .extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1));
        SourceFile { name: name.to_owned(), text: text.to_owned(), line_starts }
    }

    /// Line and column, both from 1, of a byte offset; offsets inside a character or past the end are moved back.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = floor_char(&self.text, offset);
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts[line - 1];
        (line, 1 + self.text[start..offset].chars().count())
    }

    /// Number of lines.
    pub fn n_lines(&self) -> usize {
        self.line_starts.len()
    }

    /// The bytes of lines `first..=last`, counted from 1, without the last line's end.
    pub fn lines(&self, first: usize, last: usize) -> std::ops::Range<usize> {
        let first = first.clamp(1, self.n_lines());
        let last = last.clamp(first, self.n_lines());
        let end = self.line_starts.get(last).map_or(self.text.len(), |next| next - 1);
        self.line_starts[first - 1]..end
    }
}

/// The largest character boundary not after `offset`.
fn floor_char(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

impl SourceMap {
    /// Adds a text.
    pub fn add(&mut self, name: &str, text: &str) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile::new(name, text));
        id
    }

    /// All texts, in the order they were added.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// One text.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// The text under a span; empty if the span lies in no text.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|file| file.text.get(span.range())).unwrap_or("")
    }

    /// Where a span is.
    pub fn place(&self, span: Span) -> Option<Place> {
        let file = self.get(span.file)?;
        let start = floor_char(&file.text, span.start as usize);
        let end = floor_char(&file.text, span.end as usize).max(start);
        let (line, column) = file.line_column(start);
        Some(Place { file: file.name.clone(), line, column, span: start..end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let mut map = SourceMap::default();
        let id = map.add("a.toml", "x = 1\nü = \"ß\" # y\n");
        let place = map.place(Span::new(id, 11..15)).unwrap();
        assert_eq!((place.line, place.column), (2, 5));
        // Past the end, inside a character: moved back, no panic.
        assert_eq!(map.place(Span::new(id, 7..8)).unwrap().column, 1);
        assert_eq!(map.place(Span::new(id, 900..901)).unwrap().line, 3);
        assert_eq!(map.get(id).unwrap().lines(1, 1), 0..5);
        assert_eq!(map.get(id).unwrap().lines(3, 9), 20..20);
    }
}
