//! Curves and surfaces of joints.

use gelenk_expr::{Expr, ParseOptions};
use rustc_hash::FxHashMap;

use super::context::{Allowed, Context, Site};
use super::expand::Element;
use super::frame::Frame;
use super::scope::{Bound, Scope, ScopeId};
use crate::description::{BodyPlacement, Track};
use crate::joint::{Path, Surface};
use crate::math::Vec3;
use crate::spec::Text;
use crate::spec::tables::{CurveSpec, JointSpec};

impl<'a> Context<'a> {
    /// A scope inside another in which `names` stand for symbols of their own.
    fn local_scope(&mut self, outer: ScopeId, names: &[&'static str]) -> (ScopeId, Vec<Expr>) {
        let symbols: Vec<Expr> =
            names.iter().map(|name| self.pool.symbol(&format!("local.{name}"))).collect();
        let mut parameters: FxHashMap<&'a str, Bound> = FxHashMap::default();
        for (name, symbol) in names.iter().zip(&symbols) {
            parameters.insert(name, Bound { expr: *symbol, value: Some(0.0) });
        }
        let contents = self.scopes[outer.0].contents;
        let prefix = self.scopes[outer.0].prefix.clone();
        let id = ScopeId(self.scopes.len());
        self.scopes.push(Scope {
            parent: Some(outer),
            prefix,
            index: None,
            parameters,
            connect: FxHashMap::default(),
            contents,
            frame: Frame::identity(),
            instance: None,
        });
        (id, symbols)
    }

    /// The parameters in expressions, with their values.
    pub(crate) fn parameter_values(&self, exprs: &[Expr]) -> Vec<(Expr, f64)> {
        let mut values: Vec<(Expr, f64)> = Vec::new();
        for expr in exprs {
            for symbol in self.pool.symbols_of(*expr) {
                if let Some(value) = self.values.get(&symbol)
                    && !values.iter().any(|(known, _)| *known == symbol)
                {
                    values.push((symbol, *value));
                }
            }
        }
        values
    }

    /// The curve of a joint.
    pub(crate) fn path(
        &mut self,
        joint: &Element<'a, JointSpec>,
        spec: &CurveSpec,
    ) -> Option<(Path, Track)> {
        let site = joint.site("curve");
        let formula_help = "remove the key; a formula is closed where its ends meet smoothly";
        let useless = [
            ("closed", spec.closed.is_some() && spec.formula.is_some(), "points", formula_help),
            ("range", spec.range.is_some() && !spec.points.is_empty(), "formula", "remove the key"),
        ];
        for (key, given, other, help) in useless {
            if given {
                let message = format!("`{key}` goes with `{other}` only");
                self.error("unused-key", &site, spec.span, message, help);
            }
        }
        let mut track = Track::Spline(Vec::new());
        let built = match (&spec.formula, spec.points.is_empty()) {
            (Some(formula), true) => {
                let (scope, symbols) = self.local_scope(joint.scope, &["u"]);
                let inner = Site::new(scope, &joint.label, "curve");
                let xyz = formula
                    .each_ref()
                    .map(|scalar| self.scalar_expr(&inner, scalar, Allowed::Constant));
                let [x, y, z] = xyz;
                let xyz = [x?, y?, z?];
                let range = match &spec.range {
                    Some([from, to]) => {
                        let (from, to) = (self.number(&site, from), self.number(&site, to));
                        [from?, to?]
                    }
                    None => [0.0, 1.0],
                };
                let values = self.parameter_values(&xyz);
                let u = *symbols.first()?;
                track = Track::Curve { u, place: xyz };
                Path::formula(&mut self.pool, xyz, u, range, &values)
            }
            (None, false) => {
                let mut exprs = Vec::with_capacity(spec.points.len());
                let mut points: Vec<Vec3> = Vec::with_capacity(spec.points.len() + 1);
                for point in &spec.points {
                    let (expr, place) = self.place(&site, point)?;
                    exprs.push(expr);
                    points.push(place);
                }
                track = Track::Spline(exprs);
                if spec.closed == Some(true) && points.first() != points.last() {
                    points.extend(points.first().copied());
                }
                Path::spline(&points)
            }
            _ => Err("a curve has either `points` or `formula`".to_owned()),
        };
        built
            .map(|path| (path, track))
            .map_err(|message| {
                let help = "give points = [[x, y, z], ...], or formula = [\"cos(u)\", \"sin(u)\", \"0\"] and range";
                self.error("bad-curve", &site, spec.span, message, help);
            })
            .ok()
    }

    /// The surface of a joint.
    pub(crate) fn surface(
        &mut self,
        joint: &Element<'a, JointSpec>,
        text: &Text,
    ) -> Option<(Surface, Track)> {
        if text.poisoned {
            return None;
        }
        let (scope, symbols) = self.local_scope(joint.scope, &["x", "y", "z"]);
        let site = Site::new(scope, &joint.label, "surface");
        let options = ParseOptions { functions_of_time: Some(&[]) };
        let parsed = match self.pool.parse_equation_with_spans(&text.text, &options) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.bad_expression(&site, text, &error);
                return None;
            }
        };
        let f = self.resolve(&site, text, &parsed, Allowed::Constant)?;
        let values = self.parameter_values(&[f]);
        let x: [Expr; 3] = symbols.try_into().ok()?;
        let frame = BodyPlacement { position: [Expr::ZERO; 3], rotation: None, along: None };
        let track = Track::Surface { x, f, frame };
        Surface::formula(&mut self.pool, f, x, &values)
            .map(|surface| (surface, track))
            .map_err(|message| {
                let help = "write an equation such as \"x^2 + y^2 + z^2 = r^2\"";
                self.error("bad-surface", &site, text.span, message, help);
            })
            .ok()
    }
}
