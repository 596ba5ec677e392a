//! The equations as aligned text, LaTeX, Markdown and JSON.

use std::fmt::Write as _;

use gelenk_expr::Expr;
use serde_json::{Value, json};

use crate::derive::Closed;
use crate::equations::Equations;
use crate::typeset::{BEGIN, latex_text, typeset};
use crate::write::{Style, symbol, write};

/// A titled list of equations, left and right sides as text.
struct Section {
    title: &'static str,
    lines: Vec<(String, String)>,
}

impl Equations {
    /// The parameters that stand in the equations; all, if there is no closed form.
    pub fn used_parameters(&self) -> Vec<&crate::system::Parameter> {
        let Some(closed) = &self.closed else { return self.system.parameters.iter().collect() };
        let mut all = closed.entries();
        all.extend([closed.potential, closed.dissipation]);
        let parts = self.pool().subexpressions(&all);
        self.system.parameters.iter().filter(|p| parts.binary_search(&p.symbol).is_ok()).collect()
    }

    fn name_of(&self, e: Expr, style: Style) -> String {
        write(self.pool(), e, style)
    }

    /// Indices of a coefficient: `12`, or `1,12` where numbers have several digits.
    fn indices(list: &[usize]) -> String {
        let separator = if list.iter().any(|i| *i > 9) { "," } else { "" };
        let text: Vec<String> = list.iter().map(usize::to_string).collect();
        text.join(separator)
    }

    /// The equations line by line: only what is not zero, symmetric entries once.
    fn sections(&self, closed: &Closed, style: Style) -> Vec<Section> {
        let f = self.n();
        let text = |e: Expr| self.name_of(e, style);
        let mut out = Vec::new();
        let name = |letter: &str, list: &[usize]| {
            let i = Self::indices(list);
            match style {
                Style::Text => format!("{letter}_{i}"),
                Style::Latex => {
                    let letter = if letter == "G" { "\\Gamma" } else { letter };
                    format!("{letter}_{{{i}}}")
                }
            }
        };
        let lines: Vec<_> =
            closed.definitions.iter().map(|(s, e, _)| (text(*s), text(*e))).collect();
        out.push(Section { title: "Named quantities", lines });
        let mut lines = Vec::new();
        for mu in 0..=f {
            for nu in mu..=f {
                if closed.g[mu][nu] != Expr::ZERO {
                    lines.push((name("g", &[mu, nu]), text(closed.g[mu][nu])));
                }
            }
        }
        out.push(Section { title: "Metric", lines });
        let mut lines = Vec::new();
        for rho in 0..f {
            for mu in 0..=f {
                for nu in mu..=f {
                    let e = closed.gamma[rho][mu][nu];
                    if e != Expr::ZERO {
                        lines.push((name("G", &[rho + 1, mu, nu]), text(e)));
                    }
                }
            }
        }
        out.push(Section { title: "Christoffel symbols of the first kind", lines });
        let mut lines = Vec::new();
        for (rho, e) in closed.q.iter().enumerate() {
            if *e != Expr::ZERO {
                lines.push((name("Q", &[rho + 1]), text(*e)));
            }
        }
        out.push(Section { title: "Generalized forces", lines });
        let lines = closed.closures.iter().map(|(_, c)| ("0".to_owned(), text(*c))).collect();
        out.push(Section { title: "Closure conditions", lines });
        out.push(Section { title: "Equations of motion", lines: self.motion_lines(closed, style) });
        let mut lines = Vec::new();
        for (letter, e) in [("U", closed.potential), ("D", closed.dissipation)] {
            if e != Expr::ZERO {
                lines.push((letter.to_owned(), text(e)));
            }
        }
        out.push(Section { title: "Potential and dissipation function", lines });
        out.retain(|section| !section.lines.is_empty());
        out
    }

    /// g_ρν q̈^ν + … = λ_k ∂_ρC_k, written out.
    fn motion_lines(&self, closed: &Closed, style: Style) -> Vec<(String, String)> {
        let f = self.n();
        let pool = self.pool();
        let mut lines = Vec::new();
        let join = |parts: Vec<String>| {
            let mut all = String::new();
            for part in parts {
                match (all.is_empty(), part.strip_prefix('-')) {
                    (true, _) => all.push_str(&part),
                    (false, Some(rest)) => {
                        let _ = write!(all, " - {rest}");
                    }
                    (false, None) => {
                        let _ = write!(all, " + {part}");
                    }
                }
            }
            if all.is_empty() { "0".to_owned() } else { all }
        };
        // The sign stands before the product, not in parentheses.
        let times = |factor: Expr, by: String| {
            let mut sign = "";
            let mut text = write(pool, factor, style);
            let is_sum = matches!(pool.node(factor), gelenk_expr::Node::Sum(_));
            if is_sum {
                text = match style {
                    Style::Text => format!("({text})"),
                    Style::Latex => format!("\\left({text}\\right)"),
                };
            } else if let Some(rest) = text.strip_prefix('-') {
                sign = "-";
                text = rest.to_owned();
            }
            if text == "1" {
                return format!("{sign}{by}");
            }
            let dot = if style == Style::Text { "*" } else { "\\," };
            format!("{sign}{text}{dot}{by}")
        };
        for rho in 0..f {
            let mut left = Vec::new();
            for nu in 1..=f {
                let g = closed.g[rho + 1][nu];
                if g != Expr::ZERO {
                    left.push(times(
                        g,
                        write(pool, self.coordinates()[nu - 1].acceleration, style),
                    ));
                }
            }
            if closed.motion[rho] != Expr::ZERO {
                left.push(write(pool, closed.motion[rho], style));
            }
            let mut right = Vec::new();
            for (k, row) in closed.jac.iter().enumerate() {
                if row[rho] != Expr::ZERO {
                    let lambda = symbol(&self.multiplier(k), style);
                    right.push(times(row[rho], lambda));
                }
            }
            lines.push((join(left), join(right)));
        }
        lines
    }

    /// Aligned plain text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{}: {} coordinates", self.system.name, self.n());
        out.push('\n');
        for c in self.coordinates() {
            let _ = writeln!(out, "  {:4} {}", self.name_of(c.symbol, Style::Text), c.meaning);
        }
        for parameter in self.used_parameters() {
            let name = &parameter.name;
            let what = parameter.description.as_deref().unwrap_or("parameter");
            let _ = writeln!(out, "  {name:4} = {}, {what}", parameter.value);
        }
        let Some(closed) = &self.closed else {
            if let Some(reason) = &self.too_large {
                let _ = writeln!(out, "\n{reason}");
            }
            self.text_notes(&mut out);
            return out;
        };
        for section in self.sections(closed, Style::Text) {
            let _ = writeln!(out, "\n{}", section.title);
            let width = section.lines.iter().map(|(l, _)| l.chars().count()).max().unwrap_or(0);
            let aligned = width <= 24;
            for (left, right) in section.lines {
                let pad = if aligned { width - left.chars().count() } else { 0 };
                let _ = writeln!(out, "  {left}{} = {right}", " ".repeat(pad));
            }
        }
        let _ = writeln!(out, "\n{} operations", closed.operations);
        self.text_notes(&mut out);
        out
    }

    fn text_notes(&self, out: &mut String) {
        let notes = self.notes();
        if !notes.is_empty() {
            out.push_str("\nNotes\n");
            for note in notes {
                let _ = writeln!(out, "  {note}");
            }
        }
    }

    /// Choices made, things left out, signs taken for granted, steps switched off.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.system.notes.clone();
        if let Some(closed) = &self.closed {
            notes.extend(closed.notes.iter().cloned());
        }
        let roots = self.closed.as_ref().is_some_and(|c| {
            c.definitions
                .iter()
                .any(|(_, e, _)| matches!(self.pool().node(*e), gelenk_expr::Node::Power(..)))
        });
        if roots && !self.system.positive.is_empty() {
            notes.push(
                "parameters with positive values are taken as positive under roots".to_owned(),
            );
        }
        notes
    }

    /// LaTeX: a document of its own, or only its body.
    pub fn latex(&self, document: bool) -> String {
        let mut out = String::new();
        if document {
            out.push_str(BEGIN);
        }
        let _ = writeln!(out, "\\section*{{{}}}", latex_text(&self.system.name));
        out.push_str("\\begin{itemize}\n");
        for c in self.coordinates() {
            let name = self.name_of(c.symbol, Style::Latex);
            let _ = writeln!(out, "\\item ${name}$: {}", latex_text(&c.meaning));
        }
        for p in self.used_parameters() {
            let what = p.description.as_deref().unwrap_or("parameter");
            let _ = writeln!(
                out,
                "\\item ${} = {}$: {}",
                symbol(&p.name, Style::Latex),
                p.value,
                latex_text(what)
            );
        }
        out.push_str("\\end{itemize}\n");
        if let Some(closed) = &self.closed {
            for section in self.sections(closed, Style::Latex) {
                let _ = writeln!(out, "\\subsection*{{{}}}", section.title);
                out.push_str(&typeset(&section.lines));
            }
        } else if let Some(reason) = &self.too_large {
            let _ = writeln!(out, "{}", latex_text(&reason.to_string()));
        }
        for note in self.notes() {
            let _ = writeln!(out, "\\par {}", latex_text(&note));
        }
        if document {
            out.push_str("\\end{document}\n");
        }
        out
    }

    /// Markdown with LaTeX formulas.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "# {}\n", self.system.name);
        for c in self.coordinates() {
            let _ = writeln!(out, "- ${}$: {}", self.name_of(c.symbol, Style::Latex), c.meaning);
        }
        for p in self.used_parameters() {
            let what = p.description.as_deref().unwrap_or("parameter");
            let _ = writeln!(out, "- ${} = {}$: {what}", symbol(&p.name, Style::Latex), p.value);
        }
        if let Some(closed) = &self.closed {
            for section in self.sections(closed, Style::Latex) {
                let _ = writeln!(out, "\n## {}\n", section.title);
                for (left, right) in section.lines {
                    let _ = writeln!(out, "$$ {left} = {right} $$\n");
                }
            }
        } else if let Some(reason) = &self.too_large {
            let _ = writeln!(out, "\n{reason}");
        }
        for note in self.notes() {
            let _ = writeln!(out, "- {note}");
        }
        out
    }

    /// JSON: expressions as text that [`gelenk_expr::Pool::parse`] reads, index 0 of `g` and `gamma` is time.
    pub fn json(&self) -> Value {
        let text = |e: Expr| Value::String(self.pool().display(e).to_string());
        let list = |v: &[Expr]| Value::Array(v.iter().map(|e| text(*e)).collect());
        let matrix = |m: &[Vec<Expr>]| Value::Array(m.iter().map(|row| list(row)).collect());
        let coordinates: Vec<Value> = self
            .coordinates()
            .iter()
            .map(|c| {
                json!({
                    "name": text(c.symbol),
                    "rate": text(c.rate),
                    "acceleration": text(c.acceleration),
                    "meaning": c.meaning,
                    "singular": c.singular,
                })
            })
            .collect();
        let parameters: serde_json::Map<String, Value> =
            self.system.parameters.iter().map(|p| (p.name.clone(), json!(p.value))).collect();
        let mut out = json!({
            "name": self.system.name,
            "coordinates": coordinates,
            "parameters": parameters,
            "notes": self.notes(),
        });
        if let Some(closed) = &self.closed {
            let definitions: Vec<Value> = closed
                .definitions
                .iter()
                .map(|(s, e, what)| json!({"name": text(*s), "value": text(*e), "meaning": what}))
                .collect();
            let constraints: Vec<Value> = closed
                .closures
                .iter()
                .enumerate()
                .map(|(k, (name, c))| {
                    json!({
                        "name": name, "value": text(*c), "jacobian": list(&closed.jac[k]),
                        "gamma": text(closed.gamma_rows[k]),
                    })
                })
                .collect();
            out["definitions"] = Value::Array(definitions);
            out["g"] = matrix(&closed.g);
            out["gamma"] = Value::Array(closed.gamma.iter().map(|m| matrix(m)).collect());
            out["Q"] = list(&closed.q);
            out["motion"] = list(&closed.motion);
            out["constraints"] = Value::Array(constraints);
            out["potential"] = text(closed.potential);
            out["dissipation"] = text(closed.dissipation);
            out["operations"] = json!(closed.operations);
        } else {
            out["too_large"] = json!(self.too_large.as_ref().map(ToString::to_string));
        }
        out
    }
}
