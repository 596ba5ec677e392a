//! From text to tokens.

use std::ops::Range;

use crate::error::ParseError;

/// Longest text, in bytes.
pub const MAX_LENGTH: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Number,
    Identifier,
    Plus,
    Minus,
    Times,
    Divide,
    Power,
    Open,
    Close,
    Comma,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equals,
    Prime,
    About,
    End,
}

pub(crate) type Spanned = (Token, Range<usize>);

/// Whether a text can name a symbol: letters of any script, digits 0 to 9 and underscores, in
/// parts joined by dots (`joint.elbow.angle`); the first part starts with no digit.
pub fn is_identifier(text: &str) -> bool {
    identifier_length(text) == text.len() && !text.is_empty()
}

fn identifier_length(text: &str) -> usize {
    let mut end = 0;
    loop {
        let part = &text[end..];
        let belongs = |c: char| c.is_alphabetic() || c.is_ascii_digit() || c == '_';
        let len = part.find(|c: char| !belongs(c)).unwrap_or(part.len());
        let starts_well = end > 0 || !part.starts_with(|c: char| c.is_ascii_digit());
        if len == 0 || !starts_well {
            // A dot without a name behind it is not ours.
            return end.saturating_sub(1);
        }
        end += len;
        if !text[end..].starts_with('.') {
            return end;
        }
        end += 1;
    }
}

fn number_length(text: &str) -> usize {
    let digits = |from: usize| {
        text[from..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| from + n)
    };
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let signed = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let start = text.len() - signed.len();
        let after = digits(start);
        if after > start {
            end = after;
        }
    }
    end
}

pub(crate) fn tokens(text: &str) -> Result<Vec<Spanned>, ParseError> {
    if text.len() > MAX_LENGTH {
        let message = format!("the text is longer than {MAX_LENGTH} bytes");
        return Err(ParseError::new(0..0, message));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let two = |second: char, long: Token, short: Token| {
            if rest[1..].starts_with(second) { (long, 2) } else { (short, 1) }
        };
        let (token, len) = match c {
            _ if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '0'..='9' => (Token::Number, number_length(rest)),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                (Token::Number, number_length(rest))
            }
            '+' => (Token::Plus, 1),
            '-' => (Token::Minus, 1),
            '*' => two('*', Token::Power, Token::Times),
            '/' => (Token::Divide, 1),
            '^' => (Token::Power, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '<' => two('=', Token::LessEqual, Token::Less),
            '>' => two('=', Token::GreaterEqual, Token::Greater),
            '=' => (Token::Equals, 1),
            '\'' => (Token::Prime, 1),
            '~' => (Token::About, 1),
            _ => match identifier_length(rest) {
                0 => return Err(unknown(c, at)),
                len => (Token::Identifier, len),
            },
        };
        tokens.push((token, at..at + len));
        at += len;
    }
    tokens.push((Token::End, text.len()..text.len()));
    Ok(tokens)
}

fn unknown(c: char, at: usize) -> ParseError {
    let error = ParseError::new(at..at + c.len_utf8(), format!("unexpected character `{c}`"));
    match c {
        '−' | '–' | '—' => error.help("write `-`"),
        '·' | '×' | '⋅' => error.help("write `*`"),
        '÷' => error.help("write `/`"),
        '≤' => error.help("write `<=`"),
        '≥' => error.help("write `>=`"),
        '′' | '’' => error.help("write `'`"),
        '[' | ']' | '{' | '}' => error.help("group with `(` and `)`"),
        '²' | '³' => error.help("write `^2` or `^3`"),
        '√' => error.help("write `sqrt(...)`"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers() {
        for name in ["x", "_a1", "joint.elbow.angle", "größe", "θ1", "body.2.x"] {
            assert!(is_identifier(name), "{name}");
        }
        for name in ["", "1x", ".x", "x.", "a..b", "a b", "a-b", "x'", "x²"] {
            assert!(!is_identifier(name), "{name}");
        }
    }

    #[test]
    fn numbers_end_where_they_should() {
        for (text, len) in [("1", 1), ("0.3x", 3), ("1e-9", 4), ("1e", 1), ("1e+", 1), (".5", 2)] {
            assert_eq!(number_length(text), len, "{text}");
        }
    }

    #[test]
    fn spans_cover_the_text() {
        use Token::*;
        let kinds: Vec<_> = tokens("f''(t) >= 2**x").unwrap().into_iter().map(|t| t.0).collect();
        let expected = [
            Identifier,
            Prime,
            Prime,
            Open,
            Identifier,
            Close,
            GreaterEqual,
            Number,
            Power,
            Identifier,
            End,
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn foreign_signs_are_explained() {
        let error = tokens("a − b").unwrap_err();
        assert_eq!(error.span, 2..5);
        assert_eq!(error.help.as_deref(), Some("write `-`"));
    }
}
