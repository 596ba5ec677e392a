//! Parameters: values that depend on each other in any order.

use gelenk_expr::{Expr, Func, ParseOptions, Parsed};
use rustc_hash::FxHashMap;

use super::context::{Allowed, Context, Site};
use super::scope::{Bound, ScopeId};
use crate::diagnostic::Diagnostic;
use crate::model::Parameter;
use crate::source::Span;
use crate::spec::tables::ParameterTable;
use crate::spec::{Scalar, ScalarSource, Text};

/// A parameter of a scope before its value is known.
struct Pending<'a> {
    name: &'a str,
    span: Span,
    table: &'a ParameterTable,
    /// Its value: an override from the command line, or the file's.
    value: Scalar,
    /// The scope in which the value's names are looked up.
    scope: ScopeId,
    /// The parsed value, if it is an expression.
    parsed: Option<Parsed>,
}

impl<'a> Context<'a> {
    /// Gives the parameters of a scope their values.
    ///
    /// `given` are the values the instance gave. With `inline` the parameters get no symbols of their own: copies of a
    /// repetition that share a prefix would give several values to one name.
    pub(crate) fn bind_parameters(
        &mut self,
        scope: ScopeId,
        given: &FxHashMap<&'a str, Bound>,
        inline: bool,
    ) {
        let contents = self.scopes[scope.0].contents;
        let mut pending: Vec<Pending<'a>> = Vec::new();
        for (name, spec) in &contents.parameters.0 {
            let element = format!("parameter `{}`", name.text);
            let site = Site::new(scope, &element, "value");
            if let Some(help) = fault_of_parameter(&name.text) {
                let message = format!("`{}` cannot be the name of a parameter", name.text);
                self.error("bad-name", &site, name.span, message, help);
                let nothing = Bound { expr: Expr::ZERO, value: None };
                self.scopes[scope.0].parameters.insert(&name.text, nothing);
                continue;
            }
            if let Some(bound) = given.get(name.text.as_str()) {
                self.check_range(&site, &spec.0, name.span, bound.value);
                self.scopes[scope.0].parameters.insert(&name.text, *bound);
                continue;
            }
            let full = format!("{}{}", self.scopes[scope.0].prefix, name.text);
            let (value, value_scope) = match self.overrides.get_mut(&full) {
                Some((value, used)) if !inline => {
                    *used = true;
                    (value.clone(), ScopeId::ROOT)
                }
                _ => (spec.0.value.clone(), scope),
            };
            pending.push(Pending {
                name: &name.text,
                span: name.span,
                table: &spec.0,
                value,
                scope: value_scope,
                parsed: None,
            });
        }
        self.parse_pending(&mut pending, scope);
        for i in self.in_order(&pending, scope) {
            self.bind(&pending[i], scope, inline);
        }
    }

    fn parse_pending(&mut self, pending: &mut [Pending<'a>], scope: ScopeId) {
        for item in pending {
            let ScalarSource::Expression(text) = &item.value.source else { continue };
            let element = format!("parameter `{}`", item.name);
            let site = Site::new(scope, &element, "value");
            let options = ParseOptions { functions_of_time: Some(&[]) };
            match self.pool.parse_with_spans(&text.text, &options) {
                Ok(parsed) => item.parsed = Some(parsed),
                Err(error) => {
                    let text = text.clone();
                    self.bad_expression(&site, &text, &error);
                    item.value.source = ScalarSource::Poisoned;
                }
            }
        }
    }

    /// An order in which each parameter comes after those it uses; circles are reported and left out.
    fn in_order(&mut self, pending: &[Pending<'a>], scope: ScopeId) -> Vec<usize> {
        let number: FxHashMap<&str, usize> =
            pending.iter().enumerate().map(|(i, p)| (p.name, i)).collect();
        // What each uses of the others in this scope. Overrides speak of the model's parameters.
        let uses: Vec<Vec<usize>> = pending
            .iter()
            .map(|p| {
                let names = p.parsed.iter().flat_map(|parsed| &parsed.identifiers);
                let local = names.filter(|_| p.scope == scope);
                local.filter_map(|(_, name)| number.get(name.as_str()).copied()).collect()
            })
            .collect();
        // Depth first with a stack of our own, since chains may be as long as the file.
        let mut order = Vec::with_capacity(pending.len());
        let mut state = vec![0u8; pending.len()]; // 0 not seen, 1 on the way, 2 done
        for start in 0..pending.len() {
            if state[start] != 0 {
                continue;
            }
            let mut way: Vec<(usize, usize)> = vec![(start, 0)];
            state[start] = 1;
            while let Some((i, next)) = way.last_mut() {
                let i = *i;
                if let Some(&j) = uses[i].get(*next) {
                    *next += 1;
                    match state[j] {
                        0 => {
                            state[j] = 1;
                            way.push((j, 0));
                        }
                        1 => {
                            let first = way.iter().position(|(k, _)| *k == j).unwrap_or(0);
                            let circle: Vec<usize> = way[first..].iter().map(|(k, _)| *k).collect();
                            self.report_circle(pending, &circle, scope);
                        }
                        _ => {}
                    }
                } else {
                    state[i] = 2;
                    order.push(i);
                    way.pop();
                }
            }
        }
        order
    }

    fn report_circle(&mut self, pending: &[Pending<'a>], circle: &[usize], scope: ScopeId) {
        // The first of the file leads, whichever was met first.
        let least = circle.iter().enumerate().min_by_key(|(_, i)| **i).map_or(0, |(k, _)| k);
        let mut circle = circle.to_vec();
        circle.rotate_left(least);
        let Some(&first) = circle.first() else { return };
        let mut chain: Vec<String> =
            circle.iter().take(8).map(|i| format!("`{}`", pending[*i].name)).collect();
        if circle.len() > 8 {
            chain.push("...".to_owned());
        }
        chain.push(format!("`{}`", pending[first].name));
        let message = format!("parameters depend on each other in a circle: {}", chain.join(" → "));
        let mut fault = Diagnostic::error("parameter-cycle", message)
            .element(format!("parameter `{}`", pending[first].name))
            .help("give one of them a number");
        for i in circle.iter().skip(1).take(7) {
            fault = fault.also(&self.report.sources, pending[*i].value.span, "used on the way");
        }
        self.push(pending[first].value.span, fault);
        for i in circle {
            let nothing = Bound { expr: Expr::ZERO, value: None };
            self.scopes[scope.0].parameters.insert(pending[i].name, nothing);
        }
    }

    fn bind(&mut self, item: &Pending<'a>, scope: ScopeId, inline: bool) {
        if self.scopes[scope.0].parameters.contains_key(item.name) {
            return; // in a circle
        }
        let full = format!("{}{}", self.scopes[scope.0].prefix, item.name);
        let element = format!("parameter `{full}`");
        let site = Site::new(item.scope, &element, "value");
        let quantity = match (&item.value.source, &item.parsed) {
            (ScalarSource::Expression(text), Some(parsed)) => {
                let expr = self.resolve(&site, text, parsed, Allowed::Constant);
                expr.and_then(|expr| {
                    let value = self.finite(&site, item.value.span, expr)?;
                    Some((expr, value))
                })
            }
            _ => self.quantity(&site, &item.value).map(|q| (q.expr, q.value)),
        };
        let Some((definition, value)) = quantity else {
            let nothing = Bound { expr: Expr::ZERO, value: None };
            self.scopes[scope.0].parameters.insert(item.name, nothing);
            return;
        };
        self.check_range(&site, item.table, item.value.span, Some(value));
        if inline {
            let bound = Bound { expr: definition, value: Some(value) };
            self.scopes[scope.0].parameters.insert(item.name, bound);
            return;
        }
        if let Some(first) = self.parameter_spans.get(&full) {
            let message = format!("there are two parameters with the name `{full}`");
            let fault = Diagnostic::error("duplicate-name", message)
                .element(&element)
                .also(&self.report.sources, *first, "the first is here")
                .help("give each instance a prefix of its own: prefix = \"left_\"");
            self.push(item.span, fault);
        }
        self.parameter_spans.insert(full.clone(), item.span);
        let symbol = self.pool.symbol(&full);
        self.values.insert(symbol, value);
        self.scopes[scope.0]
            .parameters
            .insert(item.name, Bound { expr: symbol, value: Some(value) });
        let text = |text: &Option<Text>| text.as_ref().map(|t| t.text.clone());
        let bound = |context: &mut Self, scalar: &Option<Scalar>, what| {
            scalar.as_ref().and_then(|s| context.number(&Site::new(scope, &element, what), s))
        };
        let constant = self.pool.is_constant(definition);
        let parameter = Parameter {
            name: full.clone(),
            symbol,
            value,
            definition: (!constant).then_some(definition),
            unit: text(&item.table.unit),
            description: text(&item.table.description),
            min: bound(self, &item.table.min, "min"),
            max: bound(self, &item.table.max, "max"),
        };
        self.parameters.push(parameter);
    }

    /// Checks a value against the bounds of its parameter.
    fn check_range(
        &mut self,
        site: &Site<'_>,
        table: &ParameterTable,
        span: Span,
        value: Option<f64>,
    ) {
        let min = table.min.as_ref().and_then(|s| self.number(&site.on("min"), s));
        let max = table.max.as_ref().and_then(|s| self.number(&site.on("max"), s));
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            let message = format!("min = {min} is larger than max = {max}");
            self.error("min-above-max", site, table.span, message, "swap the two");
            return;
        }
        let Some(value) = value else { return };
        let broken = match (min, max) {
            (Some(min), _) if value < min => Some(format!("below its min = {min}")),
            (_, Some(max)) if value > max => Some(format!("above its max = {max}")),
            _ => None,
        };
        if let Some(broken) = broken {
            let message = format!("the value {value} lies {broken}");
            let help = "choose a value inside the bounds, or change the bounds";
            self.error("out-of-range", site, span, message, help);
        }
    }
}

/// Why a text cannot name a parameter.
pub(crate) fn fault_of_parameter(name: &str) -> Option<String> {
    if name == "t" {
        return Some("`t` is the time".to_owned());
    }
    if name == "pi" || name == "e" {
        return Some(format!("`{name}` is a constant of mathematics"));
    }
    if Func::from_name(name).is_some() || name == "sqrt" || name == "if" {
        return Some(format!("`{name}` is a function"));
    }
    if name.contains('.') || !gelenk_expr::is_identifier(name) {
        return Some("use letters, digits and `_`, not a digit first".to_owned());
    }
    None
}
