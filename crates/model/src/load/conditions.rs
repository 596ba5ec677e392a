//! Gears and equations; tapes.

use gelenk_expr::{Expr, Func, Node, ParseOptions, Tape};

use super::context::{Allowed, Context, Quantity, Site};
use super::expand::{Element, Flat};
use super::joints::OPEN_JOINT;
use super::names::Kind;
use crate::description::TieValues;
use crate::equation::{Equation, SymbolicEquation};
use crate::joint::JointId;
use crate::rows::{CoordinateTie, Instant};
use crate::signal::{BodyVector, Signals, StateRef, TimeFunction, Work};
use crate::source::Span;
use crate::spec::tables::{ConstraintSpec, GearSpec};
use crate::state::{Pose, Twist};

impl<'a> Context<'a> {
    /// Builds motions, gears and equations, in this order, after the joints.
    pub(crate) fn build_conditions(&mut self, flat: &Flat<'a>) {
        for (name, tie) in std::mem::take(&mut self.ties) {
            self.builder.tie(&name, tie);
        }
        for gear in &flat.gears {
            self.gear(gear);
        }
        for constraint in &flat.constraints {
            self.constraint(constraint);
        }
    }

    fn gear(&mut self, gear: &Element<'a, GearSpec>) -> Option<()> {
        let spec = gear.spec;
        let site = gear.site("joints");
        let tolerance = match &spec.tolerance {
            Some(scalar) => Some(self.positive(&gear.site("tolerance"), scalar)?),
            None => None,
        };
        let n = spec.joints.len();
        if n < 2 {
            let help = "name two joints: joints = [\"crank\", \"wheel\"]";
            self.error("missing-key", &site, spec.span, "a gear couples two joints or more", help);
            return None;
        }
        if !spec.coordinates.is_empty() && spec.coordinates.len() != n {
            let message =
                format!("there are {n} joints but {} coordinates", spec.coordinates.len());
            self.error("wrong-length", &site, spec.span, message, "name one coordinate a joint");
            return None;
        }
        let ratios = self.gear_ratios(gear, n)?;
        let mut terms: Vec<(JointId, usize, f64)> = Vec::with_capacity(n);
        let mut symbolic: Vec<(JointId, usize, Expr)> = Vec::with_capacity(n);
        for (i, text) in spec.joints.iter().enumerate() {
            let declared = self.find_text(Kind::Joint, &site, text)?;
            let id = self.joint_ids.get(declared.index).copied().flatten()?;
            let which = self.which(&site, text.span, id, spec.coordinates.get(i), None)?;
            if terms.iter().any(|(other, w, _)| (*other, *w) == (id, which)) {
                let message = format!("joint `{}` is named twice", text.text);
                self.error("same-body", &site, text.span, message, "name different joints");
                return None;
            }
            terms.push((id, which, ratios[i].value));
            symbolic.push((id, which, ratios[i].expr));
        }
        let start = terms.iter().map(|(id, w, r)| r * self.start_coordinate(*id, *w)).sum();
        let target = TimeFunction::Constant(start);
        let target_expr = self.pool.float(start);
        self.description.ties.push(TieValues {
            terms: symbolic,
            target: target_expr,
            as_drawn: true,
        });
        self.builder.tie_within(&gear.name, CoordinateTie { terms, target }, tolerance);
        Some(())
    }

    fn gear_ratios(&mut self, gear: &Element<'a, GearSpec>, n: usize) -> Option<Vec<Quantity>> {
        let spec = gear.spec;
        let site = gear.site("ratio");
        let ratios = match (&spec.ratio, spec.ratios.is_empty()) {
            (Some(ratio), true) if n == 2 => {
                let ratio = self.quantity(&site, ratio)?;
                let minus = Quantity { expr: self.pool.neg(ratio.expr), value: -ratio.value };
                vec![Quantity { expr: Expr::ONE, value: 1.0 }, minus]
            }
            (None, false) if spec.ratios.len() == n => {
                let mut ratios = Vec::with_capacity(n);
                for ratio in &spec.ratios {
                    ratios.push(self.quantity(&site, ratio)?);
                }
                ratios
            }
            (None, false) => {
                let message = format!("there are {n} joints but {} ratios", spec.ratios.len());
                self.error("wrong-length", &site, spec.span, message, "give one ratio a joint");
                return None;
            }
            _ => {
                let message = "a gear has either `ratio`, for two joints, or `ratios`";
                let help = "ratio = 2 turns the first joint twice for one turn of the second";
                self.error("missing-key", &site, spec.span, message, help);
                return None;
            }
        };
        if ratios.iter().any(|ratio| ratio.value == 0.0) {
            let message = "a ratio is zero";
            self.error("not-positive", &site, spec.span, message, "leave the joint out instead");
            return None;
        }
        Some(ratios)
    }

    fn constraint(&mut self, constraint: &Element<'a, ConstraintSpec>) -> Option<()> {
        let spec = constraint.spec;
        let site = constraint.site("equation");
        let tolerance = match &spec.tolerance {
            Some(scalar) => Some(self.positive(&constraint.site("tolerance"), scalar)?),
            None => None,
        };
        let text = &spec.equation;
        if text.poisoned {
            return None;
        }
        let filled;
        let mut parsed_text = text;
        if text.text.contains('{') {
            filled = crate::spec::Text::new(&self.fill(&site, text)?, text.span);
            parsed_text = &filled;
        }
        let options = ParseOptions { functions_of_time: Some(&[]) };
        let parsed = match self.pool.parse_equation_with_spans(&parsed_text.text, &options) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.bad_expression(&site, parsed_text, &error);
                return None;
            }
        };
        let g = self.resolve(&site, parsed_text, &parsed, Allowed::Positions)?;
        let symbols: Vec<(Expr, BodyVector, usize)> = self
            .pool
            .symbols_of(g)
            .into_iter()
            .filter_map(|symbol| match self.states.get(&symbol) {
                Some(StateRef::Position(vector, axis)) => Some((symbol, *vector, *axis)),
                _ => None,
            })
            .collect();
        let moves = |v: &BodyVector| !self.builder.model().bodies[v.body.index()].fixed;
        if !symbols.iter().any(|(_, vector, _)| moves(vector)) {
            let message = "the equation has no position of a body or point that moves";
            let help = "use positions such as `P.x` or `body.arm.position.z`";
            self.error("empty-equation", &site, text.span, message, help);
            return None;
        }
        let equation = self.equation(&site, parsed_text, g, &symbols)?;
        self.check_equation(&site, text.span, &equation);
        self.description.equations.push(g);
        self.builder.equation(&constraint.name, equation, tolerance);
        Some(())
    }

    fn equation(
        &mut self,
        site: &Site<'_>,
        text: &crate::spec::Text,
        g: Expr,
        symbols: &[(Expr, BodyVector, usize)],
    ) -> Option<Equation> {
        let u: Vec<Expr> = symbols.iter().map(|(symbol, _, _)| *symbol).collect();
        let rates: Vec<Expr> =
            (0..u.len()).map(|k| self.pool.symbol(&format!("local.rate{k}"))).collect();
        let time = self.pool.time();
        let derived = self.pool.constraint_equations(&[g], &u, &rates, time);
        let mut inputs = u.clone();
        inputs.push(time);
        let mut gradient = derived.jac.into_iter().next()?;
        gradient.extend(derived.g_t);
        let curvature: Vec<Expr> = derived.gamma.iter().map(|e| self.pool.neg(*e)).collect();
        let value = self.compile(site, text.span, &[g], &inputs)?;
        let gradient = self.compile(site, text.span, &gradient, &inputs)?;
        inputs.extend(rates);
        let curvature = self.compile(site, text.span, &curvature, &inputs)?;
        let coordinates = symbols.iter().map(|(_, vector, axis)| (*vector, *axis)).collect();
        let text = text.text.clone();
        let symbolic = SymbolicEquation { g, u };
        Some(Equation { text, symbolic, coordinates, value, gradient, curvature })
    }

    /// Refuses an equation that does not hold at the start.
    fn check_equation(&mut self, site: &Site<'_>, span: Span, equation: &Equation) {
        let model = self.builder.model();
        let n = model.n_bodies();
        let mut poses = vec![Pose::identity(); n];
        let mut twists = vec![Twist::zero(); n];
        model.start.write_poses(&mut poses);
        model.start.write_twists(&mut twists);
        let at = Instant {
            t: 0.0,
            poses: &poses,
            twists: &twists,
            coordinates: &model.start.coordinate,
        };
        let m = 2 * equation.coordinates.len() + 1;
        let tapes = [&equation.value, &equation.gradient, &equation.curvature];
        let registers = tapes.iter().map(|t| t.n_registers()).max().unwrap_or(0);
        let mut work = Work {
            registers: vec![0.0; registers],
            inputs: vec![0.0; m],
            outputs: vec![0.0; m],
            ..Work::default()
        };
        let g = equation.error(&at, &mut work);
        if !g.is_finite() {
            let message = format!("the equation is {g} at the start");
            let help =
                "check for a division by zero, or the root or logarithm of a negative number";
            self.error("bad-number", site, span, message, help);
        } else if g.abs() > OPEN_JOINT && !self.options.allow_open && !self.has_starts {
            let message =
                format!("the equation does not hold at the start: left less right is {g:.6e}");
            let help = "move the points so that it holds, or let `gelenk assemble` do it";
            self.error("open-joint", site, span, message, help);
        }
    }

    /// Compiles expressions with the values of parameters put in.
    pub(crate) fn compile(
        &mut self,
        site: &Site<'_>,
        span: Span,
        outputs: &[Expr],
        inputs: &[Expr],
    ) -> Option<Tape> {
        let values = self.parameter_values(outputs);
        let values: Vec<(Expr, Expr)> =
            values.into_iter().map(|(symbol, value)| (symbol, self.pool.float(value))).collect();
        let outputs = self.pool.substitute_all(outputs, &values);
        match Tape::compile(&self.pool, &outputs, inputs) {
            Ok(tape) => Some(tape),
            Err(error) => {
                let message = format!("{} cannot be computed: {error}", site.what);
                self.error("bad-expression", site, span, message, "make the expression shorter");
                None
            }
        }
    }

    /// The arguments at whose zeros expressions have a jump or a corner: |x|, sign x, step x, floor x, min, max, if.
    /// Each with the first of the expressions that contains it.
    fn kinks(&mut self, outputs: &[Expr]) -> (Vec<Expr>, Vec<usize>) {
        let (mut found, mut owners): (Vec<Expr>, Vec<usize>) = (Vec::new(), Vec::new());
        let parts: Vec<(usize, Expr)> = outputs
            .iter()
            .enumerate()
            .flat_map(|(i, output)| {
                self.pool.subexpressions(&[*output]).into_iter().map(move |e| (i, e))
            })
            .collect();
        for (owner, e) in parts {
            let pairs: Vec<(Expr, Expr)> = match self.pool.node(e) {
                Node::Apply(Func::Abs | Func::Sign | Func::Step, [x]) => vec![(*x, Expr::ZERO)],
                Node::Apply(Func::Min | Func::Max, list) => {
                    let after = |i: usize| list[i + 1..].iter().map(move |y| (list[i], *y));
                    (0..list.len()).flat_map(after).collect()
                }
                Node::If(_, [a, b, _, _]) => vec![(a, b)],
                // Integers are the zeros of sin πx.
                Node::Apply(Func::Floor, [x]) => {
                    let x = *x;
                    let turn = self.pool.mul(&[Expr::PI, x]);
                    vec![(self.pool.sin(turn), Expr::ZERO)]
                }
                _ => continue,
            };
            for (a, b) in pairs {
                let difference = self.pool.sub(a, b);
                if !self.pool.is_constant(difference) && !found.contains(&difference) {
                    found.push(difference);
                    owners.push(owner);
                }
            }
        }
        (found, owners)
    }

    /// All signals in one tape.
    pub(crate) fn compile_signals(&mut self) -> Signals {
        let outputs = std::mem::take(&mut self.signals);
        if outputs.is_empty() {
            return Signals::default();
        }
        let time = self.pool.time();
        let mut symbols: Vec<Expr> = Vec::new();
        let mut inputs: Vec<StateRef> = Vec::new();
        for output in &outputs {
            for symbol in self.pool.symbols_of(*output) {
                if symbols.contains(&symbol) {
                    continue;
                }
                if symbol == time {
                    symbols.push(symbol);
                    inputs.push(StateRef::Time);
                } else if let Some(state) = self.states.get(&symbol) {
                    symbols.push(symbol);
                    inputs.push(*state);
                }
            }
        }
        let n = outputs.len();
        let root = Span::new(crate::source::FileId(0), 0..0);
        let site = Site::new(super::scope::ScopeId::ROOT, "model", "the forces");
        let Some(tape) = self.compile(&site, root, &outputs, &symbols) else {
            return Signals::default();
        };
        let (bends, kink_signals) = self.kinks(&outputs);
        let kinks = match bends.len() {
            0 => None,
            _ => self.compile(&site, root, &bends, &symbols),
        };
        self.description.signals = outputs;
        self.description.kinks = bends;
        self.description.signal_inputs = symbols;
        Signals { inputs, tape: Some(tape), n, kinks, kink_signals }
    }
}
