//! The derivation as text, LaTeX, Markdown and JSON.

use std::fmt::Write as _;

use gelenk_expr::Expr;
use gelenk_lagrange::rest::{Equilibrium, Stability};
use gelenk_lagrange::typeset::{latex_text, typeset};
use gelenk_lagrange::write::{Style, write};
use serde_json::{Map, Value, json};

use super::Derivation;

/// A part of what is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// g_μν.
    Metric,
    /// Γ_ρμν.
    Christoffel,
    /// Q_ρ.
    Forces,
    /// Closure conditions of loops.
    Constraints,
    /// The equations written out.
    Motion,
    /// Kinetic and potential energy, dissipation function.
    Energy,
    /// Cyclic coordinates and first integrals.
    Integrals,
    /// Places of rest.
    Equilibria,
    /// The linear equations.
    Linear,
}

/// All parts by name.
pub const PARTS: [(&str, Part); 9] = [
    ("metric", Part::Metric),
    ("christoffel", Part::Christoffel),
    ("forces", Part::Forces),
    ("constraints", Part::Constraints),
    ("motion", Part::Motion),
    ("energy", Part::Energy),
    ("integrals", Part::Integrals),
    ("equilibria", Part::Equilibria),
    ("linear", Part::Linear),
];

impl Part {
    /// The part of a section of the equations' own text.
    fn of_title(title: &str) -> Option<Part> {
        match title {
            "Metric" => Some(Part::Metric),
            "Christoffel symbols of the first kind" => Some(Part::Christoffel),
            "Generalized forces" => Some(Part::Forces),
            "Closure conditions" => Some(Part::Constraints),
            "Equations of motion" => Some(Part::Motion),
            "Potential and dissipation function" => Some(Part::Energy),
            _ => None,
        }
    }
}

/// A section beside those of the equations: title and lines of left and right side; lines without a left side are sentences.
struct Section {
    title: &'static str,
    lines: Vec<(String, String)>,
}

fn wanted(what: &[Part], part: Part) -> bool {
    what.is_empty() || what.contains(&part)
}

/// What a line of a text begins, if it begins a section.
fn title_of(line: &str) -> Option<&str> {
    let latex = line.strip_prefix("\\subsection*{").and_then(|rest| rest.strip_suffix('}'));
    latex
        .or_else(|| line.strip_prefix("## "))
        .or(Some(line))
        .filter(|t| Part::of_title(t).is_some())
}

/// A text without the sections that are not wanted.
fn filtered(text: &str, what: &[Part]) -> String {
    let mut out = String::new();
    let (mut keep, mut blank) = (true, true);
    for line in text.lines() {
        if let Some(part) = title_of(line).and_then(Part::of_title) {
            keep = wanted(what, part);
        } else if line.starts_with("\\par")
            || line.starts_with("\\end{document}")
            || line.starts_with("\\subsection")
            || line.starts_with("## ")
            || line.starts_with("- ")
            || (blank && !line.is_empty() && !line.starts_with([' ', '$', '\\']))
        {
            keep = true;
        }
        blank = line.is_empty();
        if keep {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

impl Derivation {
    /// Plain text with the parts wanted; none named: all.
    pub fn text(&self, what: &[Part]) -> String {
        let mut out = filtered(&self.equations.text(), what);
        for section in self.sections(what, Style::Text) {
            let _ = write!(out, "\n{}\n", section.title);
            for (left, right) in section.lines {
                let equals = if left.is_empty() { "" } else { " = " };
                let _ = writeln!(out, "  {left}{equals}{right}");
            }
        }
        out
    }

    /// A LaTeX document.
    pub fn latex(&self, what: &[Part]) -> String {
        let text = filtered(&self.equations.latex(true), what);
        let end = "\\end{document}\n";
        let mut out = text.strip_suffix(end).unwrap_or(&text).to_owned();
        for section in self.sections(what, Style::Latex) {
            let _ = writeln!(out, "\\subsection*{{{}}}", section.title);
            for line in section.lines {
                if line.0.is_empty() {
                    let _ = writeln!(out, "{}\\par", line.1);
                } else {
                    out.push_str(&typeset(&[line]));
                }
            }
        }
        out + end
    }

    /// Markdown with LaTeX formulas.
    pub fn markdown(&self, what: &[Part]) -> String {
        let mut out = filtered(&self.equations.markdown(), what);
        for section in self.sections(what, Style::Latex) {
            let _ = writeln!(out, "\n## {}\n", section.title);
            for (left, right) in section.lines {
                if left.is_empty() {
                    let _ = writeln!(out, "- {right}");
                } else {
                    let _ = writeln!(out, "$$ {left} = {right} $$\n");
                }
            }
        }
        out
    }

    fn sections(&self, what: &[Part], style: Style) -> Vec<Section> {
        let pool = self.equations.pool();
        let show = |e: Expr| write(pool, e, style);
        let mut out = Vec::new();
        if let Some(kinetic) = self.kinetic.filter(|_| wanted(what, Part::Energy)) {
            let lines = vec![("T".to_owned(), show(kinetic))];
            out.push(Section { title: "Kinetic energy", lines });
        }
        if wanted(what, Part::Integrals) && self.equations.closed.is_some() {
            let mut lines = Vec::new();
            let names = self.equations.coordinates();
            for &k in &self.cyclic {
                let name = match style {
                    Style::Text => show(names[k].symbol),
                    Style::Latex => format!("${}$", show(names[k].symbol)),
                };
                lines.push((String::new(), format!("{name} is cyclic")));
            }
            for integral in &self.integrals {
                let name = match style {
                    Style::Text => integral.name.clone(),
                    Style::Latex => format!("\\text{{{}}}", integral.name),
                };
                lines.push((name, show(integral.value)));
            }
            if lines.is_empty() {
                lines.push((String::new(), "none found".to_owned()));
            }
            out.push(Section { title: "First integrals", lines });
        }
        if !self.joint_forces.is_empty() {
            out.push(Section { title: "Forces of joints", lines: self.joint_lines(style) });
        }
        if let Some(found) = self.equilibria.as_ref().filter(|_| wanted(what, Part::Equilibria)) {
            out.push(Section { title: "Places of rest", lines: self.rest_lines(found, style) });
        }
        if wanted(what, Part::Linear)
            && let Some(linear) = &self.linear
        {
            let matrices = [
                ("M", &linear.mass),
                ("D", &linear.damping),
                ("G", &linear.gyroscopic),
                ("K", &linear.stiffness),
                ("N", &linear.circulatory),
                ("B", &linear.input),
            ];
            let mut lines = Vec::new();
            for (name, matrix) in matrices {
                for (i, row) in matrix.iter().enumerate() {
                    for (j, e) in row.iter().enumerate().filter(|(_, e)| **e != Expr::ZERO) {
                        let left = match style {
                            Style::Text => format!("{name}_{}{}", i + 1, j + 1),
                            Style::Latex => format!("{name}_{{{}{}}}", i + 1, j + 1),
                        };
                        lines.push((left, show(*e)));
                    }
                }
            }
            let title = "Linear equations M q'' + (D + G) q' + (K + N) q = B u";
            out.push(Section { title, lines });
        }
        out
    }

    /// Force and torque of each joint asked for, without components that are zero.
    fn joint_lines(&self, style: Style) -> Vec<(String, String)> {
        let pool = self.equations.pool();
        let mut lines = Vec::new();
        for joint in &self.joint_forces {
            let about = format!(
                "joint `{}` on `{}`: N, and N m about its point on `{from}`; axes of space as drawn, turned with `{from}`",
                joint.joint,
                joint.on,
                from = joint.from
            );
            let about = match style {
                Style::Text => about,
                Style::Latex => latex_text(&about),
            };
            lines.push((String::new(), about));
            for (letter, parts) in [("F", &joint.force), ("T", &joint.torque)] {
                for (axis, e) in ["x", "y", "z"].into_iter().zip(parts) {
                    if *e != Expr::ZERO {
                        lines.push((format!("{letter}_{axis}"), write(pool, *e, style)));
                    }
                }
            }
        }
        lines
    }

    fn rest_lines(
        &self,
        found: &Result<Vec<Equilibrium>, &'static str>,
        style: Style,
    ) -> Vec<(String, String)> {
        let pool = self.equations.pool();
        let list = match found {
            Ok(list) if !list.is_empty() => list,
            Ok(_) => return vec![(String::new(), "none found".to_owned())],
            Err(why) => return vec![(String::new(), format!("not looked for: {why}"))],
        };
        let mut lines = Vec::new();
        for rest in list {
            let mut place = String::new();
            for (k, (c, x)) in self.equations.coordinates().iter().zip(&rest.q).enumerate() {
                let comma = if place.is_empty() { "" } else { ", " };
                let name = write(pool, c.symbol, style);
                let _ = match (rest.any[k], style) {
                    (true, Style::Text) => write!(place, "{comma}{name} any"),
                    (true, Style::Latex) => write!(place, "{comma}{name}\\text{{ any}}"),
                    (false, _) => write!(place, "{comma}{name} = {}", rounded(*x)),
                };
            }
            let place = match style {
                Style::Text => place,
                Style::Latex => format!("${place}$"),
            };
            lines.push((String::new(), format!("{place}: {}", stability(rest.stability).0)));
        }
        lines
    }

    /// The derivation as JSON object: `coordinates`, `parameters`, `expressions` with the coefficients, and what the equations tell.
    pub fn json(&self, what: &[Part]) -> Map<String, Value> {
        let mut out = match self.equations.json() {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let pool = self.equations.pool();
        let text = |e: Expr| Value::String(pool.display(e).to_string());
        let mut expressions = Map::new();
        let parts = [
            ("definitions", None),
            ("g", Some(Part::Metric)),
            ("gamma", Some(Part::Christoffel)),
            ("Q", Some(Part::Forces)),
            ("motion", Some(Part::Motion)),
            ("constraints", Some(Part::Constraints)),
            ("potential", Some(Part::Energy)),
            ("dissipation", Some(Part::Energy)),
        ];
        for (key, part) in parts {
            if let Some(value) = out.shift_remove(key)
                && part.is_none_or(|part| wanted(what, part))
            {
                expressions.insert(key.to_owned(), value);
            }
        }
        if let Some(kinetic) = self.kinetic.filter(|_| wanted(what, Part::Energy)) {
            expressions.insert("kinetic".to_owned(), text(kinetic));
        }
        let model = out.shift_remove("name").unwrap_or(Value::Null);
        let after = out.shift_remove("operations").unwrap_or(Value::Null);
        out.shift_insert(0, "model".to_owned(), model);
        out.insert("expressions".to_owned(), Value::Object(expressions));
        out.insert(
            "operations".to_owned(),
            json!({ "before": self.operations_before, "after": after }),
        );
        out.insert("derivation_seconds".to_owned(), json!(self.seconds));
        if wanted(what, Part::Integrals) {
            let names = self.equations.q_names();
            let cyclic: Vec<&String> = self.cyclic.iter().map(|k| &names[*k]).collect();
            let integrals: Vec<Value> = self
                .integrals
                .iter()
                .map(|i| json!({ "name": i.name, "value": text(i.value) }))
                .collect();
            out.insert("cyclic".to_owned(), json!(cyclic));
            out.insert("first_integrals".to_owned(), json!(integrals));
        }
        if let Some(found) = self.equilibria.as_ref().filter(|_| wanted(what, Part::Equilibria)) {
            let all = match found {
                Ok(list) => list
                    .iter()
                    .map(|e| {
                        let (text, stable) = stability(e.stability);
                        json!({ "q": e.q, "any": e.any, "stable": stable, "stability": text })
                    })
                    .collect(),
                Err(why) => json!({ "not_looked_for": why }),
            };
            out.insert("equilibria".to_owned(), all);
        }
        if !self.joint_forces.is_empty() {
            let three = |v: &[Expr; 3]| -> Value { v.iter().map(|e| text(*e)).collect() };
            let all: Map<String, Value> = self
                .joint_forces
                .iter()
                .map(|j| {
                    let value = json!({
                        "from": j.from, "on": j.on, "force": three(&j.force), "torque": three(&j.torque),
                    });
                    (j.joint.clone(), value)
                })
                .collect();
            out.insert("joint_forces".to_owned(), Value::Object(all));
        }
        if let Some(linear) = &self.linear {
            let matrix = |m: &[Vec<Expr>]| -> Value {
                m.iter().map(|row| row.iter().map(|e| text(*e)).collect::<Value>()).collect()
            };
            let value = json!({
                "M": matrix(&linear.mass),
                "D": matrix(&linear.damping),
                "G": matrix(&linear.gyroscopic),
                "K": matrix(&linear.stiffness),
                "N": matrix(&linear.circulatory),
                "B": matrix(&linear.input),
            });
            out.insert("linearization".to_owned(), value);
        }
        out
    }
}

/// How a place of rest is called, and whether it is stable for certain.
fn stability(found: Stability) -> (&'static str, Option<bool>) {
    match found {
        Stability::Stable => ("stable", Some(true)),
        Stability::Unstable => ("unstable", Some(false)),
        Stability::FirstOrder => ("stable to first order", None),
        Stability::Undecided => ("undecided", None),
    }
}

/// A coordinate of a place of rest in eight digits.
fn rounded(x: f64) -> f64 {
    format!("{x:.8}").parse().unwrap_or(x) + 0.0
}
