//! Errors of this crate.

use std::fmt;
use std::ops::Range;

/// Why a text is not an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// The place in the text, in bytes.
    pub span: Range<usize>,
    /// What is wrong there.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl ParseError {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ParseError {}

/// Why expressions cannot be compiled to a [`Tape`](crate::Tape).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A variable of the outputs is not among the inputs.
    #[error("`{name}` is not among the inputs")]
    MissingInput {
        /// The variable, as printed.
        name: String,
    },
    /// An input is neither a symbol nor a function of time.
    #[error("input `{text}` is neither a symbol nor a function of time")]
    NotAVariable {
        /// The input, as printed.
        text: String,
    },
    /// The tape would need more than 2^32 instructions or registers.
    #[error("the expressions are too large for a tape")]
    TooLarge,
}
