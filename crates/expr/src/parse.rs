//! From text to expressions.
//!
//! ```text
//! equation   = sum [ "=" sum ]
//! sum        = product { ("+" | "-") product }
//! product    = signed { ("*" | "/") signed }
//! signed     = { "+" | "-" } power
//! power      = primary [ ("^" | "**") signed ]           right-associative; -x^2 is -(x^2)
//! primary    = number | "~" number | identifier | "(" sum ")" | call | derivative
//! call       = function "(" sum { "," sum } ")" | "if" "(" sum comparison sum "," sum "," sum ")"
//! derivative = identifier { "'" } "(" time ")"
//! ```

use std::ops::Range;

use crate::error::ParseError;
use crate::func::Func;
use crate::lex::{Spanned, Token, tokens};
use crate::literal;
use crate::node::{Comparison, Expr};
use crate::pool::Pool;
use crate::suggest::nearest;

/// Deepest nesting of parentheses, calls and exponents.
pub const MAX_DEPTH: usize = 256;

/// What the parser may assume.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParseOptions<'a> {
    /// Names of unspecified functions of time, written `f(t)`, `f'(t)`, ...
    ///
    /// With `None` those are accepted that the pool knows, and any name with primes.
    pub functions_of_time: Option<&'a [&'a str]>,
}

/// An expression and where its symbols stand in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The expression; for an equation the left side less the right side.
    pub expr: Expr,
    /// Each symbol in the order of the text, with its place in bytes. Constants and functions
    /// are not among them.
    pub identifiers: Vec<(Range<usize>, String)>,
}

impl Pool {
    /// The expression a text means. Any identifier becomes a symbol.
    ///
    /// ```
    /// # use gelenk_expr::Pool;
    /// let mut pool = Pool::new();
    /// let e = pool.parse("-0.5*k*x^2 + if(x < 0, 0, 2*sin(pi*x))").unwrap();
    /// assert_eq!(pool.display(e).to_string(), "-k*x^2/2 + if(x < 0, 0, 2*sin(pi*x))");
    /// let error = pool.parse("2x").unwrap_err();
    /// assert_eq!(error.span, 0..2);
    /// assert_eq!(error.help.unwrap(), "write `2*x`");
    /// ```
    pub fn parse(&mut self, text: &str) -> Result<Expr, ParseError> {
        self.parse_with_spans(text, &ParseOptions::default()).map(|parsed| parsed.expr)
    }

    /// The expression and the places of its symbols, for messages about unknown ones.
    pub fn parse_with_spans(
        &mut self,
        text: &str,
        options: &ParseOptions<'_>,
    ) -> Result<Parsed, ParseError> {
        let mut parser = Parser::new(self, text, options)?;
        let expr = parser.sum()?;
        parser.expect_end()?;
        Ok(Parsed { expr, identifiers: parser.identifiers })
    }

    /// `lhs = rhs` as the expression lhs - rhs, which is zero where the equation holds.
    pub fn parse_equation(&mut self, text: &str) -> Result<Expr, ParseError> {
        self.parse_equation_with_spans(text, &ParseOptions::default()).map(|parsed| parsed.expr)
    }

    /// Like [`parse_equation`](Self::parse_equation), with the places of the symbols.
    pub fn parse_equation_with_spans(
        &mut self,
        text: &str,
        options: &ParseOptions<'_>,
    ) -> Result<Parsed, ParseError> {
        let mut parser = Parser::new(self, text, options)?;
        let lhs = parser.sum()?;
        let (token, span) = parser.next();
        if token != Token::Equals {
            return Err(ParseError::new(span, "expected `=`").help("write `lhs = rhs`"));
        }
        let rhs = parser.sum()?;
        parser.expect_end()?;
        let identifiers = parser.identifiers;
        Ok(Parsed { expr: self.sub(lhs, rhs), identifiers })
    }
}

struct Parser<'a> {
    pool: &'a mut Pool,
    text: &'a str,
    options: &'a ParseOptions<'a>,
    tokens: Vec<Spanned>,
    at: usize,
    depth: usize,
    identifiers: Vec<(Range<usize>, String)>,
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

impl<'a> Parser<'a> {
    fn new(pool: &'a mut Pool, text: &'a str, options: &'a ParseOptions<'a>) -> Result<Self> {
        let tokens = tokens(text)?;
        Ok(Self { pool, text, options, tokens, at: 0, depth: 0, identifiers: Vec::new() })
    }

    fn peek(&self) -> Token {
        self.tokens[self.at].0
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    /// Takes a token; the last one, `End`, again and again.
    fn next(&mut self) -> Spanned {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn accept(&mut self, token: Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.next();
        }
        found
    }

    fn slice(&self, span: &Range<usize>) -> &'a str {
        &self.text[span.clone()]
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(ParseError::new(self.span(), message));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn expect_end(&mut self) -> Result<()> {
        match self.peek() {
            Token::End => Ok(()),
            _ => Err(self.unexpected("an operator")),
        }
    }

    fn unexpected(&self, expected: &str) -> ParseError {
        let span = self.span();
        let error = match self.peek() {
            Token::End => ParseError::new(span, format!("expected {expected}, found the end")),
            Token::Close if expected == "an operator" => {
                ParseError::new(span, "`)` without a matching `(`")
            }
            _ => {
                let found = short(self.slice(&span));
                ParseError::new(span, format!("expected {expected}, found `{found}`"))
            }
        };
        match self.peek() {
            Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual => {
                error.help("comparisons stand in `if(a < b, x, y)`")
            }
            Token::Equals => {
                error.help("an expression has no `=`; comparisons are `<`, `<=`, `>`, `>=`")
            }
            Token::Prime => error.help("derivatives of functions of time are written `f'(t)`"),
            _ => error,
        }
    }

    fn sum(&mut self) -> Result<Expr> {
        let mut terms = vec![self.product(false)?];
        loop {
            let negative = match self.peek() {
                Token::Plus => false,
                Token::Minus => true,
                _ => return Ok(self.pool.add(&terms)),
            };
            self.next();
            terms.push(self.product(negative)?);
        }
    }

    /// All factors go into one product: -(a + b)/2 is (-1/2)·(a + b), as it is printed.
    fn product(&mut self, negative: bool) -> Result<Expr> {
        let mut factors = Vec::new();
        if negative {
            factors.push(Expr::MINUS_ONE);
        }
        self.signed(&mut factors)?;
        loop {
            match self.peek() {
                Token::Times => {
                    self.next();
                    self.signed(&mut factors)?;
                }
                Token::Divide => {
                    self.next();
                    let start = self.span().start;
                    let mut divisor = Vec::new();
                    self.signed(&mut divisor)?;
                    let divisor = self.pool.mul(&divisor);
                    if divisor == Expr::ZERO {
                        let end = self.tokens[self.at - 1].1.end;
                        return Err(ParseError::new(start..end, "division by zero"));
                    }
                    factors.push(self.pool.pow(divisor, Expr::MINUS_ONE));
                }
                _ => return Ok(self.pool.mul(&factors)),
            }
        }
    }

    fn signed(&mut self, factors: &mut Vec<Expr>) -> Result<()> {
        let mut negative = false;
        loop {
            match self.peek() {
                Token::Plus => {}
                Token::Minus => negative = !negative,
                _ => break,
            }
            self.next();
        }
        if negative {
            factors.push(Expr::MINUS_ONE);
        }
        factors.push(self.power()?);
        Ok(())
    }

    fn power(&mut self) -> Result<Expr> {
        let start = self.at;
        let base = self.primary()?;
        self.forbid_implicit_product(start)?;
        if !self.accept(Token::Power) {
            return Ok(base);
        }
        let exponent = self.deeper(|p| {
            let mut factors = Vec::new();
            p.signed(&mut factors)?;
            Ok(p.pool.mul(&factors))
        })?;
        Ok(self.pool.pow(base, exponent))
    }

    fn forbid_implicit_product(&self, start: usize) -> Result<()> {
        if !matches!(self.peek(), Token::Number | Token::Identifier | Token::Open | Token::About) {
            return Ok(());
        }
        let left = self.tokens[start].1.start..self.tokens[self.at - 1].1.end;
        let right = self.span();
        let (l, r) = (self.slice(&left), self.slice(&right));
        let span = left.start..right.end;
        let adjacent = left.end == right.start;
        if self.tokens[start].0 == Token::Number && adjacent && r.starts_with('_') {
            let error = ParseError::new(span, "digits are not grouped with `_`");
            return Err(error.help(format!("write `{l}{}`", r.trim_matches('_'))));
        }
        let help = match self.peek() {
            Token::Open => format!("write `{l}*(...)`"),
            _ => format!("write `{l}*{r}`"),
        };
        let long = l.len() > 40 || r.len() > 40;
        let help = if long { "write `*` between them".to_owned() } else { help };
        Err(ParseError::new(span, "a product needs `*`").help(help))
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.peek() {
            Token::Number => self.number(literal::value),
            Token::About => {
                self.next();
                if self.peek() != Token::Number {
                    let error = self.unexpected("a number");
                    return Err(error.help("`~0.1` is the float next to 0.1"));
                }
                self.number(literal::float)
            }
            Token::Open => {
                let (_, open) = self.next();
                let inner = self.deeper(Self::sum)?;
                self.close(open)?;
                Ok(inner)
            }
            Token::Identifier => self.identifier(),
            _ => Err(self.unexpected("a number, a name or `(`")),
        }
    }

    fn number(&mut self, value: fn(&str) -> Option<crate::number::Number>) -> Result<Expr> {
        let (_, span) = self.next();
        match value(self.slice(&span)) {
            Some(number) => Ok(self.pool.number(number)),
            None => Err(ParseError::new(span, "number out of range")
                .help("floats reach from about 5e-324 to 1.8e308")),
        }
    }

    fn close(&mut self, open: Range<usize>) -> Result<()> {
        match self.peek() {
            Token::Close => {
                self.next();
                Ok(())
            }
            Token::End => Err(ParseError::new(open, "`(` is never closed")),
            _ => Err(self.unexpected("`)`")),
        }
    }

    fn identifier(&mut self) -> Result<Expr> {
        let (_, span) = self.next();
        let name = self.slice(&span);
        match self.peek() {
            Token::Open if name == "if" => self.conditional(),
            Token::Open => self.call(name, span),
            Token::Prime => {
                let mut order: u32 = 0;
                while self.accept(Token::Prime) {
                    order += 1;
                }
                self.function_of_time(name, span, order)
            }
            _ if Func::from_name(name).is_some() || matches!(name, "sqrt" | "if") => {
                let argument = match self.peek() {
                    Token::Number | Token::Identifier => self.slice(&self.span()),
                    _ => "...",
                };
                let error = ParseError::new(span, format!("`{name}` is a function"));
                Err(error.help(format!("write `{name}({argument})`")))
            }
            _ => {
                let e = self.pool.symbol(name);
                if e != Expr::PI && e != Expr::E {
                    self.identifiers.push((span, name.to_owned()));
                }
                Ok(e)
            }
        }
    }

    fn call(&mut self, name: &str, span: Range<usize>) -> Result<Expr> {
        if let Some(func) = Func::from_name(name) {
            let arguments = self.arguments()?;
            self.check_arguments(name, &span, func.n_arguments(), arguments.len())?;
            return Ok(self.pool.func(func, &arguments));
        }
        if name == "sqrt" {
            let arguments = self.arguments()?;
            self.check_arguments(name, &span, 1..=1, arguments.len())?;
            return Ok(self.pool.sqrt(arguments[0]));
        }
        let declared = match self.options.functions_of_time {
            Some(names) => names.contains(&name),
            None => self.pool.has_function_of_time(name),
        };
        if declared { self.function_of_time(name, span, 0) } else { Err(self.unknown(name, span)) }
    }

    fn arguments(&mut self) -> Result<Vec<Expr>> {
        let (_, open) = self.next();
        let mut arguments = Vec::new();
        if self.accept(Token::Close) {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.deeper(Self::sum)?);
            if !self.accept(Token::Comma) {
                self.close(open)?;
                return Ok(arguments);
            }
        }
    }

    fn check_arguments(
        &self,
        name: &str,
        span: &Range<usize>,
        wanted: std::ops::RangeInclusive<usize>,
        found: usize,
    ) -> Result<()> {
        if wanted.contains(&found) {
            return Ok(());
        }
        let span = span.start..self.tokens[self.at - 1].1.end;
        let least = wanted.start();
        let more = if wanted.end() > least { " or more" } else { "" };
        let plural = if *least == 1 && more.is_empty() { "" } else { "s" };
        let message = format!("`{name}` takes {least}{more} argument{plural}, not {found}");
        Err(ParseError::new(span, message))
    }

    fn conditional(&mut self) -> Result<Expr> {
        let (_, open) = self.next();
        let a = self.deeper(Self::sum)?;
        let comparison = match self.peek() {
            Token::Less => Comparison::Less,
            Token::LessEqual => Comparison::LessEqual,
            Token::Greater => Comparison::Greater,
            Token::GreaterEqual => Comparison::GreaterEqual,
            _ => {
                let error = self.unexpected("a comparison");
                return Err(error.help("write `if(a < b, x, y)`"));
            }
        };
        self.next();
        let b = self.deeper(Self::sum)?;
        let mut branches = [Expr::ZERO; 2];
        for branch in &mut branches {
            if !self.accept(Token::Comma) {
                let error = self.unexpected("`,`");
                return Err(error.help("write `if(a < b, x, y)`"));
            }
            *branch = self.deeper(Self::sum)?;
        }
        self.close(open)?;
        Ok(self.pool.if_else(comparison, a, b, branches[0], branches[1]))
    }

    fn function_of_time(&mut self, name: &str, span: Range<usize>, order: u32) -> Result<Expr> {
        if let Some(names) = self.options.functions_of_time
            && !names.contains(&name)
        {
            return Err(self.unknown(name, span));
        }
        let time = self.pool.time_name().to_owned();
        let expected = |p: &Self| {
            let help = format!("write `{name}{}({time})`", "'".repeat(order.min(9) as usize));
            p.unexpected("the time").help(help)
        };
        if !self.accept(Token::Open) {
            return Err(expected(self));
        }
        let argument = self.span();
        if self.peek() != Token::Identifier || self.slice(&argument) != time {
            return Err(expected(self));
        }
        self.next();
        if !self.accept(Token::Close) {
            return Err(expected(self));
        }
        Ok(self.pool.function_of_time(name, order))
    }

    fn unknown(&self, name: &str, span: Range<usize>) -> ParseError {
        let error = ParseError::new(span, format!("unknown function `{}`", short(name)));
        let declared = self.options.functions_of_time.unwrap_or_default().iter().copied();
        let functions = Func::ALL.iter().map(|f| f.name());
        let names = functions.chain(["sqrt", "if"]).chain(declared);
        match name.to_lowercase().as_str() {
            "ln" => error.help("the natural logarithm is `log`"),
            "pow" | "power" => error.help("write `x^y`"),
            "arcsin" | "arccos" | "arctan" => error.help(format!("write `a{}`", &name[3..])),
            "sgn" | "signum" => error.help("write `sign`"),
            "heaviside" => error.help("write `step`"),
            "lg" => error.help("write `log10`"),
            lower => match nearest(lower, names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None if self.pool.find_symbol(name).is_some() => {
                    error.help(format!("for a product write `{name}*(...)`"))
                }
                None => error,
            },
        }
    }
}

/// The beginning of a name, enough to recognize it in a message.
fn short(name: &str) -> &str {
    name.char_indices().nth(64).map_or(name, |(end, _)| &name[..end])
}
