//! Expressions of FORMAC: numbers, names with subscripts, functions, `+ - * / **`, unspecified functions `F.(X, Y)`.

use super::DeckError;
use super::cards::{Place, Text, short};

/// Parentheses, powers and signs may be nested so deep.
const MAX_DEPTH: usize = 100;
/// Longest string. (500 in the original.)
const MAX_LENGTH: usize = 100_000;

/// A function that FORMAC knows, section 6.4 of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Sin,
    Cos,
    Sinh,
    Cosh,
    Atan,
    Atanh,
    Log,
    Log10,
    Log2,
    Erf,
    Fac,
    Comb,
    Step,
    /// Ours: the root, and what √(x²) and its derivative print.
    Sqrt,
    Abs,
    Sign,
}

impl Known {
    const ALL: [(Self, &'static str); 16] = [
        (Self::Sin, "SIN"),
        (Self::Cos, "COS"),
        (Self::Sinh, "SINH"),
        (Self::Cosh, "COSH"),
        (Self::Atan, "ATAN"),
        (Self::Atanh, "ATANH"),
        (Self::Log, "LOG"),
        (Self::Log10, "LOG10"),
        (Self::Log2, "LOG2"),
        (Self::Erf, "ERF"),
        (Self::Fac, "FAC"),
        (Self::Comb, "COMB"),
        (Self::Step, "STEP"),
        (Self::Sqrt, "SQRT"),
        (Self::Abs, "ABS"),
        (Self::Sign, "SIGN"),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|k| k.1 == name).map(|k| k.0)
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|k| k.0 == self).map_or("", |k| k.1)
    }

    fn arguments(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Self::Atan => 1..=2,
            Self::Comb => 2..=64,
            Self::Step => 3..=3,
            _ => 1..=1,
        }
    }
}

/// A part of a formula; its parts have smaller numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Digits, as written.
    Number(String),
    E,
    Pi,
    Name(String, Vec<usize>),
    Call(Known, Vec<usize>),
    /// `F.(X, Y)`, and its derivatives `F.(1, 0)(X, Y)`.
    Function(String, Vec<u32>, Vec<usize>),
    /// `F.($)`: every application of F, in a replacement list.
    Every(String),
    /// `$(k)`.
    Parameter(usize),
    Neg(usize),
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Div(usize, usize),
    Pow(usize, usize),
}

/// A formula: its parts, the whole last, with the places of their signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Formula {
    pub(super) parts: Vec<(Part, Place)>,
    /// As written.
    pub(super) text: String,
    pub(super) place: Place,
}

/// Replacements: what, by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) pairs: Vec<(Formula, Formula)>,
    /// As written.
    pub(super) text: String,
}

/// Reads a string as a formula.
pub(super) fn formula(text: &Text) -> Result<Formula, DeckError> {
    let mut parser = Parser::new(text)?;
    let root = parser.sum()?;
    parser.end()?;
    Ok(parser.finish(root))
}

/// Reads a string as a replacement list: `what, by what, what, by what`.
pub(super) fn list(text: &Text) -> Result<List, DeckError> {
    let mut pieces = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (i, c) in text.text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                pieces.push(text.slice(start, i));
                start = i + 1;
            }
            _ => {}
        }
    }
    pieces.push(text.slice(start, text.text.len()));
    if pieces.len() == 1 && pieces[0].text.trim().is_empty() {
        return Ok(List { pairs: Vec::new(), text: tidy(&text.text) });
    }
    if pieces.len() % 2 == 1 {
        return Err(DeckError::new(
            text.place(0),
            format!(
                "a replacement list has pairs, what and by what; this has {} entries",
                pieces.len()
            ),
        ));
    }
    let mut pairs = Vec::with_capacity(pieces.len() / 2);
    for pair in pieces.chunks_exact(2) {
        pairs.push((formula(&pair[0])?, formula(&pair[1])?));
    }
    Ok(List { pairs, text: tidy(&text.text) })
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(String),
    Name(String),
    /// `#E`, `#PI`.
    Constant(String),
    Sign(&'static str),
}

struct Parser<'a> {
    source: &'a Text,
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    parts: Vec<(Part, Place)>,
}

const SIGNS: [&str; 10] = ["**", "+", "-", "*", "/", "(", ")", ",", ".", "$"];

impl<'a> Parser<'a> {
    fn new(source: &'a Text) -> Result<Self, DeckError> {
        let text = source.text.as_str();
        if text.len() > MAX_LENGTH {
            return Err(DeckError::new(
                source.place(0),
                format!("a string of more than {MAX_LENGTH} characters"),
            ));
        }
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            if c.is_whitespace() {
                at += c.len_utf8();
                continue;
            }
            let (token, length) = if c.is_ascii_digit()
                || c == '.' && rest[1..].starts_with(|d: char| d.is_ascii_digit())
            {
                let length = number_length(rest);
                (Token::Number(rest[..length].to_owned()), length)
            } else if c.is_ascii_alphabetic() || c == '_' || c == '@' {
                let length = word_length(rest);
                (Token::Name(rest[..length].to_ascii_uppercase()), length)
            } else if c == '#' {
                let length = 1 + word_length(&rest[1..]);
                (Token::Constant(rest[..length].to_ascii_uppercase()), length)
            } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
                (Token::Sign(sign), sign.len())
            } else {
                return Err(DeckError::new(source.place(at), format!("{c} is no sign of FORMAC")));
            };
            tokens.push((token, at));
            at += length;
        }
        Ok(Self { source, tokens, at: 0, depth: 0, parts: Vec::new() })
    }

    fn place(&self) -> Place {
        let byte = self.tokens.get(self.at).map_or(self.source.text.len(), |t| t.1);
        self.source.place(byte)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, DeckError> {
        Err(DeckError::new(self.place(), message))
    }

    fn sign(&self, sign: &str) -> bool {
        matches!(self.tokens.get(self.at), Some((Token::Sign(s), _)) if *s == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let there = self.sign(sign);
        self.at += usize::from(there);
        there
    }

    fn push(&mut self, part: Part, place: Place) -> usize {
        self.parts.push((part, place));
        self.parts.len() - 1
    }

    fn end(&self) -> Result<(), DeckError> {
        match self.tokens.get(self.at) {
            None => Ok(()),
            Some((Token::Sign(")"), _)) => self.error("a closing parenthesis too much"),
            Some(_) => self.error("an operator is missing here"),
        }
    }

    /// The root is the last part by construction.
    fn finish(self, root: usize) -> Formula {
        debug_assert_eq!(root + 1, self.parts.len());
        let text = tidy(&self.source.text);
        Formula { parts: self.parts, text, place: self.source.place(0) }
    }

    fn deeper(&mut self) -> Result<(), DeckError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error(format!("nested deeper than {MAX_DEPTH}"));
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<usize, DeckError> {
        self.deeper()?;
        let mut left = self.product()?;
        loop {
            let place = self.place();
            let part: fn(usize, usize) -> Part = if self.take("+") {
                Part::Add
            } else if self.take("-") {
                Part::Sub
            } else {
                break;
            };
            let right = self.product()?;
            left = self.push(part(left, right), place);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<usize, DeckError> {
        let mut left = self.signed()?;
        loop {
            let place = self.place();
            let part: fn(usize, usize) -> Part = if self.take("*") {
                Part::Mul
            } else if self.take("/") {
                Part::Div
            } else {
                break;
            };
            let right = self.signed()?;
            left = self.push(part(left, right), place);
        }
        Ok(left)
    }

    /// -A**2 is -(A**2), and A**-2 is allowed, as in PL/1.
    fn signed(&mut self) -> Result<usize, DeckError> {
        self.deeper()?;
        let place = self.place();
        let result = if self.take("-") {
            let inner = self.signed()?;
            self.push(Part::Neg(inner), place)
        } else if self.take("+") {
            self.signed()?
        } else {
            let base = self.atom()?;
            let place = self.place();
            if self.take("**") {
                let exponent = self.signed()?;
                self.push(Part::Pow(base, exponent), place)
            } else {
                base
            }
        };
        self.depth -= 1;
        Ok(result)
    }

    fn atom(&mut self) -> Result<usize, DeckError> {
        let place = self.place();
        let Some((token, _)) = self.tokens.get(self.at).cloned() else {
            return if self.tokens.is_empty() {
                self.error("the string is empty; zero is '0'")
            } else {
                self.error("the formula ends here; something is missing")
            };
        };
        match token {
            Token::Number(text) => {
                self.at += 1;
                Ok(self.push(Part::Number(text), place))
            }
            Token::Constant(name) => {
                self.at += 1;
                let part = match name.as_str() {
                    "#E" => Part::E,
                    "#PI" | "#P" => Part::Pi,
                    _ => {
                        return Err(DeckError::new(
                            place,
                            format!("{name}: the constants are #E and #PI"),
                        ));
                    }
                };
                Ok(self.push(part, place))
            }
            Token::Name(name) => {
                self.at += 1;
                self.named(name, place)
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.sum()?;
                self.close()?;
                Ok(inner)
            }
            Token::Sign("$") => {
                self.at += 1;
                let number = match (self.take("("), self.tokens.get(self.at)) {
                    (true, Some((Token::Number(n), _))) => {
                        n.parse().ok().filter(|n| (1..=64).contains(n))
                    }
                    _ => None,
                };
                let Some(number) = number else {
                    return self.error("a parameter is $(1), $(2), …");
                };
                self.at += 1;
                self.close()?;
                Ok(self.push(Part::Parameter(number), place))
            }
            Token::Sign(sign) => {
                self.error(format!("{sign} where a number, a name or a parenthesis should be"))
            }
        }
    }

    fn close(&mut self) -> Result<(), DeckError> {
        if self.take(")") { Ok(()) } else { self.error("a closing parenthesis is missing") }
    }

    fn arguments(&mut self) -> Result<Vec<usize>, DeckError> {
        let mut arguments = vec![self.sum()?];
        while self.take(",") {
            arguments.push(self.sum()?);
        }
        self.close()?;
        Ok(arguments)
    }

    fn named(&mut self, name: String, place: Place) -> Result<usize, DeckError> {
        if self.sign(".") {
            self.at += 1;
            return self.function(name, place);
        }
        let known = Known::named(&name);
        if !self.take("(") {
            if known.is_some() {
                return Err(DeckError::new(
                    place,
                    format!("{name} needs its argument in parentheses"),
                ));
            }
            return Ok(self.push(Part::Name(name, Vec::new()), place));
        }
        let arguments = self.arguments()?;
        let Some(known) = known else {
            return Ok(self.push(Part::Name(name, arguments), place));
        };
        if !known.arguments().contains(&arguments.len()) {
            let wanted = known.arguments();
            let wanted = if wanted.start() == wanted.end() {
                format!("{}", wanted.start())
            } else {
                format!("{} or more", wanted.start())
            };
            let text = format!("{name} takes {wanted} arguments, not {}", arguments.len());
            return Err(DeckError::new(place, text));
        }
        Ok(self.push(Part::Call(known, arguments), place))
    }

    /// After `F.`: the arguments, or `$`, or the orders of a derivative and then the arguments.
    fn function(&mut self, name: String, place: Place) -> Result<usize, DeckError> {
        if !self.take("(") {
            return self.error(format!(
                "{name}. is an unspecified function; its arguments follow, {name}.(Q(0))"
            ));
        }
        if self.sign("$") && matches!(self.tokens.get(self.at + 1), Some((Token::Sign(")"), _))) {
            self.at += 2;
            return Ok(self.push(Part::Every(name), place));
        }
        let before = self.parts.len();
        let arguments = self.arguments()?;
        if !self.take("(") {
            let orders = vec![0; arguments.len()];
            return Ok(self.push(Part::Function(name, orders, arguments), place));
        }
        let orders: Option<Vec<u32>> = arguments
            .iter()
            .map(|&a| match &self.parts[a].0 {
                Part::Number(n) => n.parse().ok().filter(|n| *n <= 16),
                _ => None,
            })
            .collect();
        let Some(orders) = orders else {
            return Err(DeckError::new(
                place,
                format!("{name}.(…)(…): the first are orders of derivatives, up to 16"),
            ));
        };
        self.parts.truncate(before);
        let arguments = self.arguments()?;
        if arguments.len() != orders.len() {
            return Err(DeckError::new(
                place,
                format!("{name}.: {} orders for {} arguments", orders.len(), arguments.len()),
            ));
        }
        Ok(self.push(Part::Function(name, orders, arguments), place))
    }
}

fn word_length(text: &str) -> usize {
    text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'@').count()
}

/// Digits, a point, an exponent: 12, 1.5, .5, 1.5E-3.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(0);
    if text[length..].starts_with('.') && !text[length + 1..].starts_with('(') {
        length += 1 + digits(length + 1);
    }
    if text[length..].starts_with(['E', 'e']) {
        let sign = usize::from(text[length + 1..].starts_with(['+', '-']));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

/// Without the blanks at the ends of cards.
fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A formula for messages.
pub(super) fn quoted(formula: &Formula) -> String {
    format!("'{}'", short(&formula.text))
}

#[cfg(test)]
mod tests {
    use super::super::cards::Cards;
    use super::*;

    fn text(formula: &str) -> Text {
        Cards::new(&format!("'{formula}'")).string_of("E").unwrap()
    }

    fn last(formula_text: &str) -> Part {
        formula(&text(formula_text)).unwrap().parts.pop().unwrap().0
    }

    #[test]
    fn signs_bind_as_in_pl1() {
        assert!(matches!(last("-A**2"), Part::Neg(_)));
        assert!(matches!(last("A**-2"), Part::Pow(..)));
        assert!(matches!(last("A - B - C"), Part::Sub(..)));
        let parts = formula(&text("A**B**C")).unwrap().parts;
        assert_eq!(parts[4].0, Part::Pow(0, 3));
    }

    #[test]
    fn functions_and_names() {
        assert!(matches!(last("SIN(Q(1))"), Part::Call(Known::Sin, _)));
        assert!(matches!(last("XF(2, 3, 1)"), Part::Name(n, a) if n == "XF" && a.len() == 3));
        assert!(matches!(last("FU.(A, A-B**2, C)"), Part::Function(_, o, _) if o == [0, 0, 0]));
        assert!(matches!(last("FU.(2)(Q(0))"), Part::Function(_, o, _) if o == [2]));
        assert!(matches!(last("FU.($)"), Part::Every(_)));
        assert!(matches!(last("1.5E-3"), Part::Number(_)));
        assert!(matches!(last("#E**X"), Part::Pow(..)));
    }

    #[test]
    fn lists_are_pairs() {
        let pairs = list(&text("XD(1, 3, 2), 0, FU.($), $(1)*$(2)-$(3)")).unwrap().pairs;
        assert_eq!(pairs.len(), 2);
        assert!(list(&text("A, B, C")).unwrap_err().message.contains("3 entries"));
        assert!(list(&text(" ")).unwrap().pairs.is_empty());
    }

    #[test]
    fn faults_are_pointed_at() {
        let column = |t: &str| formula(&text(t)).unwrap_err().place.column - 1;
        assert_eq!(column("A + * B"), 5);
        assert_eq!(column("(A + B"), 7);
        assert_eq!(column("A B"), 3);
        assert_eq!(column("SIN"), 1);
        assert_eq!(column("ATAN(A,B,C)"), 1);
        assert_eq!(column("A ! B"), 3);
        assert!(formula(&text("")).unwrap_err().message.contains("empty"));
        let deep = "(".repeat(1000);
        assert!(formula(&text(&deep)).unwrap_err().message.contains("nested"));
    }
}
