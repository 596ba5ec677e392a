//! Depth of a TOML text, counted before a recursive parser sees it.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// The first place, in bytes, where values nest deeper than `most`.
///
/// Counts brackets and the dots of keys on the parser's own tokens. Where a text is malformed it may count too deep,
/// never too shallow: a bracket is taken off only by its own kind.
pub(crate) fn too_deep(text: &str, most: usize) -> Option<std::ops::Range<usize>> {
    // Per open bracket: its kind, and the depth outside it.
    let mut open: Vec<(TokenKind, usize)> = Vec::new();
    let mut header = 0; // depth of the table whose keys follow
    let mut depth = 0; // depth of what is being read
    let mut in_header = false;
    let mut line_start = true;
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::Whitespace | TokenKind::Comment => continue,
            TokenKind::Newline => {
                if open.is_empty() {
                    line_start = true;
                    in_header = false;
                    depth = header;
                }
                continue;
            }
            kind @ (TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => {
                if line_start && open.is_empty() && kind == TokenKind::LeftSquareBracket {
                    in_header = true;
                    depth = 0;
                }
                open.push((kind, depth));
                depth += 1;
            }
            kind @ (TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket) => {
                let opener = if kind == TokenKind::RightSquareBracket {
                    TokenKind::LeftSquareBracket
                } else {
                    TokenKind::LeftCurlyBracket
                };
                if open.last().is_some_and(|(kind, _)| *kind == opener)
                    && let Some((_, outside)) = open.pop()
                {
                    if in_header && open.is_empty() {
                        header = depth;
                    }
                    depth = outside;
                }
            }
            // A dot also stands in numbers, where it counts one too much for a moment.
            TokenKind::Dot => depth += 1,
            // The next entry of a list or table; its depth is that of the bracket around it.
            TokenKind::Comma => depth = open.last().map_or(header, |(_, outside)| outside + 1),
            _ => {}
        }
        line_start = false;
        if depth > most {
            let span = token.span();
            return Some(span.start()..span.end());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted() {
        let deep = |n: usize| format!("a = {}1{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(too_deep(&deep(256), 256), None);
        assert_eq!(too_deep(&deep(257), 256), Some(260..261));
        let keys = |n: usize| format!("{}a = 1\n", "a.".repeat(n));
        assert_eq!(too_deep(&keys(256), 256), None);
        assert!(too_deep(&keys(257), 256).is_some());
        assert!(too_deep(&format!("[{}a]\n{}", "a.".repeat(200), keys(200)), 256).is_some());
        assert!(too_deep(&"{a.b=".repeat(200), 256).is_some());
        // Mismatched closers take nothing off.
        assert!(too_deep(&format!("a = {}", "[ } ".repeat(300)), 256).is_some());
    }

    #[test]
    fn long_is_not_deep() {
        let list = format!("a = [{}]\n", "[1.5, 2.5], ".repeat(1000));
        assert_eq!(too_deep(&list, 8), None);
        let tables = "[[body]]\nname = \"a.b.c.d.e.f\" # [[[[[[[[\nx = { y = { z = 1.0 } }\n";
        assert_eq!(too_deep(&tables.repeat(500), 8), None);
    }
}
