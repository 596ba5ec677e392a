//! What the steps of loading share, and how they turn texts into numbers and expressions.

use std::sync::Arc;

use gelenk_expr::{Expr, ParseOptions, Pool};
use rustc_hash::FxHashMap;

use super::circuits::Charge;
use super::files::Folder;
use super::frame::Frame;
use super::names::Names;
use super::scope::{Bound, Scope, ScopeId};
use super::{LoadOptions, Overrides};
use crate::body::BodyId;
use crate::builder::Builder;
use crate::contact::ContactSettings;
use crate::description::Description;
use crate::diagnostic::Diagnostic;
use crate::joint::JointId;
use crate::math::Vec3;
use crate::mesh::TriMesh;
use crate::model::Parameter;
use crate::rows::CoordinateTie;
use crate::signal::StateRef;
use crate::source::{FileId, Span};
use crate::spec::{Report, Scalar, ScalarSource, Text, did_you_mean};

/// The model while it is being loaded.
pub(crate) struct Context<'a> {
    pub(crate) options: &'a LoadOptions,
    pub(crate) report: Report,
    pub(crate) pool: Pool,
    /// Values of the parameters' symbols.
    pub(crate) values: FxHashMap<Expr, f64>,
    pub(crate) scopes: Vec<Scope<'a>>,
    pub(crate) names: Names,
    /// What instances connect: scope, instance, place and name.
    pub(crate) connections: Vec<(ScopeId, String, Span, String)>,
    /// A part could not be put in place, so names may be missing that are there.
    pub(crate) incomplete: bool,
    pub(crate) builder: Builder,
    pub(crate) description: Description,
    pub(crate) folder: Option<Folder>,
    /// Parameters with symbols of their own, in the order of their values' dependence.
    pub(crate) parameters: Vec<Parameter>,
    /// Where they were given.
    pub(crate) parameter_spans: FxHashMap<String, Span>,
    /// Values from the command line, and whether a parameter took them.
    pub(crate) overrides: Overrides,
    /// Bodies, joints and markers by the number of their name; `None` if they could not be built.
    pub(crate) body_ids: Vec<Option<BodyId>>,
    pub(crate) joint_ids: Vec<Option<JointId>>,
    pub(crate) marker_ids: Vec<Option<usize>>,
    /// Bodies whose placement could not be read, so that nothing can be said of it. (n_bodies)
    pub(crate) misplaced: Vec<bool>,
    /// File frames of the bodies in the world at the start. (n_bodies)
    pub(crate) body_frames: Vec<Frame>,
    /// What the symbols of the state mean.
    pub(crate) states: FxHashMap<Expr, StateRef>,
    /// Expressions over time and state that forces use.
    pub(crate) signals: Vec<Expr>,
    /// Circuits by name, for suggestions.
    pub(crate) circuit_names: Vec<String>,
    /// Charge and current of the circuits at the start, by their number among the bodies.
    pub(crate) circuit_starts: Vec<(usize, Quantity, Quantity)>,
    /// The points that stand for charges, circuits first, until they have their joints.
    pub(crate) charges: Vec<Option<Charge>>,
    /// Inputs that have a formula from the command line.
    pub(crate) input_formulas: Vec<InputFormula>,
    /// What stands for calls of `table`.
    pub(crate) tables: Vec<Expr>,
    /// Tables over time: file, place, first and last time.
    pub(crate) table_bounds: Vec<(Text, Span, f64, f64)>,
    /// Folders against which paths in texts count.
    pub(crate) text_folders: FxHashMap<FileId, std::path::PathBuf>,
    /// Prescribed motions; their rows come after all joints'.
    pub(crate) ties: Vec<(String, CoordinateTie)>,
    pub(crate) contact: ContactSettings,
    /// Densities of the materials.
    pub(crate) material_densities: Vec<Option<Expr>>,
    /// Start values are given apart: whether joints close is looked at with them.
    pub(crate) has_starts: bool,
    /// Meshes by the text that names them; `None` if they cannot be used.
    pub(crate) meshes: FxHashMap<(FileId, String), Option<Arc<TriMesh>>>,
    /// Names and hashes of the mesh files.
    pub(crate) mesh_digests: Vec<(String, String)>,
    /// Names and bytes of the mesh files.
    pub(crate) mesh_files: Vec<(String, Vec<u8>)>,
}

/// An input that follows a formula: `--input knee="2*sin(t)"`.
#[derive(Clone, Debug)]
pub(crate) struct InputFormula {
    pub(crate) name: String,
    pub(crate) scalar: Scalar,
    pub(crate) meaning: InputMeaning,
}

/// What an input with a formula stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputMeaning {
    /// Not looked at yet.
    Unread,
    /// Nothing; that was reported, or it is being looked at.
    Faulty,
    /// This.
    Is(Expr),
}

/// Which names an expression may use besides parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// None: a constant.
    Constant,
    /// Time.
    Time,
    /// Time and positions.
    Positions,
    /// Time and state.
    State,
}

/// Where an expression stands: its scope, its element and what it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'s> {
    pub(crate) scope: ScopeId,
    /// "joint `elbow`".
    pub(crate) element: &'s str,
    /// "mass".
    pub(crate) what: &'s str,
}

impl<'s> Site<'s> {
    pub(crate) fn new(scope: ScopeId, element: &'s str, what: &'s str) -> Self {
        Site { scope, element, what }
    }

    /// The same element, another of its values.
    pub(crate) fn on(&self, what: &'s str) -> Self {
        Site { what, ..*self }
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        options: &'a LoadOptions,
        report: Report,
        name: &str,
        overrides: Overrides,
        folder: Option<Folder>,
    ) -> Self {
        Context {
            options,
            report,
            pool: Pool::new(),
            values: FxHashMap::default(),
            scopes: Vec::new(),
            names: Names::default(),
            connections: Vec::new(),
            incomplete: false,
            builder: Builder::new(name),
            description: Description::default(),
            folder,
            parameters: Vec::new(),
            parameter_spans: FxHashMap::default(),
            overrides,
            body_ids: Vec::new(),
            joint_ids: Vec::new(),
            marker_ids: Vec::new(),
            misplaced: vec![false],
            body_frames: vec![Frame::identity()],
            states: FxHashMap::default(),
            signals: Vec::new(),
            circuit_names: Vec::new(),
            circuit_starts: Vec::new(),
            charges: Vec::new(),
            input_formulas: Vec::new(),
            tables: Vec::new(),
            table_bounds: Vec::new(),
            text_folders: FxHashMap::default(),
            ties: Vec::new(),
            contact: ContactSettings::default(),
            material_densities: Vec::new(),
            has_starts: false,
            meshes: FxHashMap::default(),
            mesh_digests: Vec::new(),
            mesh_files: Vec::new(),
        }
    }

    /// Adds a diagnostic at a place.
    pub(crate) fn push(&mut self, span: Span, diagnostic: Diagnostic) {
        self.report.push(Some(span), diagnostic);
    }

    /// Adds an error about a value.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        site: &Site<'_>,
        span: Span,
        message: impl AsRef<str>,
        help: impl AsRef<str>,
    ) {
        let fault = Diagnostic::error(code, message).element(site.element).help(help);
        self.push(span, fault);
    }

    /// Adds a warning about a value.
    pub(crate) fn warn(
        &mut self,
        code: &'static str,
        site: &Site<'_>,
        span: Span,
        message: impl AsRef<str>,
        help: impl AsRef<str>,
    ) {
        let fault = Diagnostic::warning(code, message).element(site.element).help(help);
        self.push(span, fault);
    }

    /// What a name without dots means in a scope.
    pub(crate) fn bound(&mut self, scope: ScopeId, name: &str) -> Option<Bound> {
        let mut scope = Some(scope);
        while let Some(id) = scope {
            let s = &self.scopes[id.0];
            if let Some((index, value)) = s.index
                && index == name
            {
                let expr = self.pool.num(value);
                return Some(Bound { expr, value: Some(value as f64) });
            }
            if let Some(bound) = s.parameters.get(name) {
                return Some(*bound);
            }
            scope = s.parent;
        }
        None
    }

    /// All names without dots that a scope sees.
    pub(crate) fn visible(&self, scope: ScopeId) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let mut scope = Some(scope);
        while let Some(id) = scope {
            let s = &self.scopes[id.0];
            names.extend(s.index.map(|(name, _)| name));
            // In the order of the file, not of the hash table.
            names.extend(s.contents.parameters.0.iter().map(|(name, _)| name.text.as_str()));
            scope = s.parent;
        }
        names
    }

    /// A text as an expression; names become the symbols they stand for. Faults are reported at their own place.
    pub(crate) fn expression(
        &mut self,
        site: &Site<'_>,
        text: &Text,
        allowed: Allowed,
    ) -> Option<Expr> {
        if text.poisoned {
            return None;
        }
        let filled;
        let mut text = text;
        if text.text.contains('{') {
            filled = Text::new(&self.fill(site, text)?, text.span);
            text = &filled;
        }
        let replaced;
        if text.text.contains("table") {
            replaced = self.without_tables(site, text, allowed)?;
            text = &replaced;
        }
        let options = ParseOptions { functions_of_time: Some(&[]) };
        let parsed = match self.pool.parse_with_spans(&text.text, &options) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.bad_expression(site, text, &error);
                return None;
            }
        };
        self.resolve(site, text, &parsed, allowed)
    }

    /// Reports a text that is no expression.
    pub(crate) fn bad_expression(
        &mut self,
        site: &Site<'_>,
        text: &Text,
        error: &gelenk_expr::ParseError,
    ) {
        let message = format!("{}: {}", site.what, error.message);
        let fault = Diagnostic::error("bad-expression", message).element(site.element);
        let unit = number_of_unit(&text.text)
            .map(|number| format!("numbers are in SI units and stand alone: write {number}"));
        let help = unit.or_else(|| error.help.clone());
        let help = help.unwrap_or_else(|| "correct the expression".to_owned());
        self.push(text.part(error.span.clone()), fault.help(help));
    }

    /// Puts in what the names of a parsed text stand for.
    pub(crate) fn resolve(
        &mut self,
        site: &Site<'_>,
        text: &Text,
        parsed: &gelenk_expr::Parsed,
        allowed: Allowed,
    ) -> Option<Expr> {
        let mut replacements: Vec<(Expr, Expr)> = Vec::new();
        let mut good = true;
        for (i, (range, name)) in parsed.identifiers.iter().enumerate() {
            if parsed.identifiers[..i].iter().any(|(_, before)| before == name) {
                continue;
            }
            let span = text.part(range.clone());
            if let Some(expr) = self.meaning(site, span, name, allowed) {
                let raw = self.pool.symbol(name);
                if raw != expr {
                    replacements.push((raw, expr));
                }
            } else {
                good = false;
            }
        }
        if !good {
            return None;
        }
        if replacements.is_empty() {
            return Some(parsed.expr);
        }
        Some(self.pool.substitute(parsed.expr, &replacements))
    }

    /// What a name in an expression stands for.
    fn meaning(
        &mut self,
        site: &Site<'_>,
        span: Span,
        name: &str,
        allowed: Allowed,
    ) -> Option<Expr> {
        if let Some(bound) = self.bound(site.scope, name) {
            return bound.value.map(|_| bound.expr);
        }
        if let Some(table) = self.table_stand_in(name) {
            return Some(table);
        }
        let is_time = name == "t";
        if allowed == Allowed::Constant && (is_time || name.contains('.')) {
            let message = format!("{} must be constant, but `{name}` changes with time", site.what);
            let help = format!("use numbers and [parameters] for {}", site.what);
            self.error("not-constant", site, span, message, help);
            return None;
        }
        if is_time {
            return Some(self.pool.time());
        }
        if name.contains('.') {
            return self.state_symbol(site, span, name, allowed);
        }
        let mut known = self.visible(site.scope);
        if allowed != Allowed::Constant {
            known.push("t");
        }
        let near = did_you_mean(name, known.iter().copied());
        let help = self
            .dashed(name)
            .or(near)
            .unwrap_or_else(|| format!("declare it: [parameters] {name} = 1.0"));
        let message = format!("there is no parameter `{name}`");
        self.error("unknown-name", site, span, message, help);
        None
    }

    /// The value of an expression over parameters.
    pub(crate) fn evaluate(&self, expr: Expr) -> f64 {
        match self.pool.as_f64(expr) {
            Some(value) => value,
            None => {
                self.pool.eval(expr, |symbol| self.values.get(&symbol).copied().unwrap_or(f64::NAN))
            }
        }
    }

    /// The value of a constant text.
    pub(crate) fn constant_text(&mut self, site: &Site<'_>, text: &Text) -> Option<f64> {
        let expr = self.expression(site, text, Allowed::Constant)?;
        self.finite(site, text.span, expr)
    }

    pub(crate) fn finite(&mut self, site: &Site<'_>, span: Span, expr: Expr) -> Option<f64> {
        let value = self.evaluate(expr);
        if value.is_finite() {
            return Some(value);
        }
        let message = format!("{} is {value}, not a finite number", site.what);
        let help = "check for a division by zero, or the root or logarithm of a negative number";
        self.error("bad-number", site, span, message, help);
        None
    }

    /// A constant number.
    pub(crate) fn number(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<f64> {
        match &scalar.source {
            ScalarSource::Number(value, _) => Some(*value),
            ScalarSource::Expression(text) => self.constant_text(site, text),
            ScalarSource::Poisoned => None,
        }
    }

    /// A number or expression as it is written, names resolved.
    pub(crate) fn scalar_expr(
        &mut self,
        site: &Site<'_>,
        scalar: &Scalar,
        allowed: Allowed,
    ) -> Option<Expr> {
        match &scalar.source {
            ScalarSource::Number(value, digits) => {
                Some(self.pool.parse(digits).unwrap_or_else(|_| self.pool.float(*value)))
            }
            ScalarSource::Expression(text) => self.expression(site, text, allowed),
            ScalarSource::Poisoned => None,
        }
    }

    /// A constant number as an expression and as a value.
    pub(crate) fn quantity(&mut self, site: &Site<'_>, scalar: &Scalar) -> Option<Quantity> {
        let expr = self.scalar_expr(site, scalar, Allowed::Constant)?;
        let value = match &scalar.source {
            ScalarSource::Number(value, _) => *value,
            _ => self.finite(site, scalar.span, expr)?,
        };
        Some(Quantity { expr, value })
    }

    /// A constant vector.
    pub(crate) fn vector(&mut self, site: &Site<'_>, v: &[Scalar; 3]) -> Option<Vec3> {
        let [x, y, z] = v.each_ref().map(|scalar| self.number(site, scalar));
        Some(Vec3::new(x?, y?, z?))
    }

    /// A constant vector as expressions and as values, m.
    pub(crate) fn vector_quantity(
        &mut self,
        site: &Site<'_>,
        v: &[Scalar; 3],
    ) -> Option<([Expr; 3], Vec3)> {
        let [x, y, z] = v.each_ref().map(|scalar| self.quantity(site, scalar));
        let (x, y, z) = (x?, y?, z?);
        Some(([x.expr, y.expr, z.expr], Vec3::new(x.value, y.value, z.value)))
    }
}

/// A constant as an expression over parameters and as a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    pub(crate) expr: Expr,
    pub(crate) value: f64,
}

/// The number of a text like `2 kg` or `5s`: a number with a unit behind it.
pub fn number_of_unit(text: &str) -> Option<&str> {
    const UNITS: [&str; 34] = [
        "kg", "g", "t", "m", "mm", "cm", "km", "s", "ms", "min", "h", "N", "kN", "Nm", "N m",
        "N*m", "rad", "deg", "°", "J", "W", "kW", "Hz", "m/s", "m/s^2", "m/s²", "rad/s", "N/m",
        "N s/m", "Ns/m", "kg/m^3", "kg/m³", "kg m²", "kg m^2",
    ];
    let text = text.trim();
    let digits = text.trim_start_matches(['+', '-']);
    let end = digits.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'));
    let end = end.filter(|&end| end > 0)? + (text.len() - digits.len());
    let (number, unit) = text.split_at(end);
    UNITS.contains(&unit.trim()).then_some(number)
}
