//! Expressions of a problem file: what their names mean, and faults with their places.

use gelenk_expr::{Expr, ParseOptions, Pool, nearest};
use gelenk_model::source::{SourceMap, Span};
use gelenk_model::spec::{Scalar, ScalarSource};
use gelenk_model::{Diagnostic, Diagnostics};

/// Reads expressions and collects faults.
pub(crate) struct Scope<'a> {
    pub(crate) pool: Pool,
    sources: &'a SourceMap,
    /// Constants: symbol and value.
    constants: Vec<(Expr, Expr)>,
    faults: Vec<Diagnostic>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(sources: &'a SourceMap) -> Self {
        Scope { pool: Pool::new(), sources, constants: Vec::new(), faults: Vec::new() }
    }

    /// A fault at a place.
    pub(crate) fn fault(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl AsRef<str>,
        help: Option<String>,
    ) {
        let mut fault = Diagnostic::error(code, message).at(self.sources, span);
        if let Some(help) = help {
            fault = fault.help(help);
        }
        self.faults.push(fault);
    }

    /// All faults, if there are any.
    pub(crate) fn finish(self) -> Result<Pool, Diagnostics> {
        if self.faults.is_empty() {
            Ok(self.pool)
        } else {
            Err(Diagnostics { list: self.faults, sources: self.sources.clone() })
        }
    }

    pub(crate) fn n_faults(&self) -> usize {
        self.faults.len()
    }

    /// Defines constants, in an order that lets each use the others.
    pub(crate) fn define(&mut self, list: &[(String, Span, Scalar)]) {
        let mut waiting: Vec<&(String, Span, Scalar)> = list.iter().collect();
        let names: Vec<&str> = list.iter().map(|(name, _, _)| name.as_str()).collect();
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut later = Vec::new();
            for entry in waiting {
                let (name, _, value) = entry;
                let ready = match &value.source {
                    ScalarSource::Expression(text) => {
                        let mut pool = self.pool.clone();
                        pool.parse(&text.text).is_ok_and(|e| {
                            pool.symbols_of(e).into_iter().all(|s| {
                                !names.contains(&pool.display(s).to_string().as_str())
                                    || self.constants.iter().any(|(c, _)| *c == s)
                            })
                        })
                    }
                    _ => true,
                };
                if !ready {
                    later.push(entry);
                    continue;
                }
                if let Some(e) = self.read(value, &[]) {
                    let symbol = self.pool.symbol(name);
                    self.constants.push((symbol, e));
                }
            }
            if later.len() == before {
                for (name, span, value) in later {
                    if let ScalarSource::Expression(text) = &value.source
                        && self.pool.clone().parse(&text.text).is_err()
                    {
                        self.read(value, &[]);
                        continue;
                    }
                    self.fault(
                        "cycle",
                        *span,
                        format!("parameter `{name}` depends on itself"),
                        None,
                    );
                }
                return;
            }
            waiting = later;
        }
    }

    /// An expression over constants and these names.
    pub(crate) fn read(&mut self, scalar: &Scalar, names: &[String]) -> Option<Expr> {
        match &scalar.source {
            ScalarSource::Number(value, digits) => {
                Some(self.pool.parse(digits).unwrap_or_else(|_| self.pool.float(*value)))
            }
            ScalarSource::Poisoned => None,
            ScalarSource::Expression(text) => {
                let options = ParseOptions { functions_of_time: Some(&[]) };
                let parsed = match self.pool.parse_with_spans(&text.text, &options) {
                    Ok(parsed) => parsed,
                    Err(error) => {
                        let span = text.part(error.span.clone());
                        self.fault("bad-expression", span, error.message, error.help);
                        return None;
                    }
                };
                let mut fine = true;
                for (range, name) in &parsed.identifiers {
                    let symbol = self.pool.symbol(name);
                    let known =
                        names.contains(name) || self.constants.iter().any(|(c, _)| *c == symbol);
                    if !known {
                        fine = false;
                        let constants: Vec<String> = self
                            .constants
                            .iter()
                            .map(|(c, _)| self.pool.display(*c).to_string())
                            .collect();
                        let all = names.iter().chain(&constants).map(String::as_str);
                        let help = nearest(name, all).map(|near| format!("did you mean `{near}`?"));
                        let message = format!("nothing here is called `{name}`");
                        self.fault("unknown-name", text.part(range.clone()), message, help);
                    }
                }
                let constants = self.constants.clone();
                fine.then(|| self.pool.substitute(parsed.expr, &constants))
            }
        }
    }

    /// A number: an expression of constants alone.
    pub(crate) fn number(&mut self, scalar: &Scalar) -> Option<f64> {
        let e = self.read(scalar, &[])?;
        let value = self.pool.as_f64(e).filter(|v| v.is_finite());
        if value.is_none() {
            self.fault("bad-number", scalar.span, "this is not a finite number", None);
        }
        value
    }

    /// A whole number from 1.
    pub(crate) fn count(&mut self, scalar: &Scalar, most: usize) -> Option<usize> {
        let value = self.number(scalar)?;
        if value.fract() != 0.0 || value < 1.0 || value > most as f64 {
            let message = format!("expected a whole number from 1 to {most}");
            self.fault("bad-number", scalar.span, message, None);
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let count = value as usize;
        Some(count)
    }
}
