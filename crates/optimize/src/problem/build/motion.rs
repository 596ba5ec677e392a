//! The motions of a problem: formulas of its own, or a model.

use std::sync::Arc;

use gelenk_expr::Expr;
use gelenk_model::Loaded;
use gelenk_model::source::Span;
use gelenk_model::spec::Scalar;
use gelenk_model::spec::tables::PhaseSpec;

use super::grid::Read;
use super::list;
use crate::controls::ControlKind;
use crate::flow::{ControlShape, Formulas, Mechanism, Shooting, Source};
use crate::grid::Grid;
use crate::problem::Problem;
use crate::problem::scope::Scope;

/// Motions of all phases, with what they are made of.
pub(super) struct Motions {
    pub(super) list: Vec<Box<dyn Grid>>,
    /// Names of full states.
    pub(super) states: Vec<String>,
    pub(super) controls: Vec<String>,
    /// The model's start.
    pub(super) start: Option<Vec<f64>>,
    /// Constraints of every phase that do not hold in the one before, with their left sides.
    pub(super) added: Vec<Vec<(String, Expr)>>,
}

/// Makes the motions of all phases; fewer where something is wrong, which is told.
pub(super) fn motions(
    scope: &mut Scope<'_>,
    problem: &Problem,
    step: usize,
    reads: &[Read],
    free: &[String],
) -> Motions {
    let spec = &problem.spec;
    let maximize = spec.objective.aim.as_ref().is_some_and(|a| a.text == "maximize");
    let controls: Vec<String> = match problem.models.base(step) {
        Some(loaded) => loaded.model.inputs.iter().map(|i| i.name.clone()).collect(),
        None => spec.controls.0.iter().map(|(n, _)| n.text.clone()).collect(),
    };
    for (name, _) in &spec.controls.0 {
        if !controls.contains(&name.text) {
            let help = Some(format!("its inputs are {}", list(&controls)));
            scope.fault(
                "unknown-control",
                name.span,
                format!("the model has no input `{}`", name.text),
                help,
            );
        }
    }
    // Names of quantities.
    let flow_names: Vec<String> = match problem.models.base(step) {
        Some(_) => Vec::new(),
        None => spec.states.0.iter().map(|(n, _)| n.text.clone()).collect(),
    };
    let mut motions: Vec<Box<dyn Grid>> = Vec::new();
    let mut full_names = flow_names.clone();
    let mut model = OfModel::default();
    if problem.models.base(step).is_some() {
        if let Some((name, _)) = spec.states.0.first() {
            scope.fault(
                "two-motions",
                name.span,
                "a problem has a model or states of its own, not both",
                None,
            );
        }
        for name in spec.phase.iter().flat_map(|p| &p.rates.0).map(|(name, _)| name) {
            let help = Some("a phase changes the model by `set` and `without`".into());
            scope.fault("two-motions", name.span, "rates are the model's here", help);
        }
        model = of_model(scope, problem, step, reads, free, maximize);
        full_names.clone_from(&model.names);
        motions = std::mem::take(&mut model.list);
    } else {
        if flow_names.is_empty() {
            scope.fault(
                "no-motion",
                spec.span,
                "the problem names neither a model nor states",
                Some("add `[states]` or `model`".into()),
            );
        }
        for (name, _) in &spec.controls.0 {
            if flow_names.contains(&name.text) || free.contains(&name.text) {
                scope.fault(
                    "duplicate-name",
                    name.span,
                    format!("`{}` is already something else", name.text),
                    None,
                );
            }
        }
        let mut known: Vec<String> =
            flow_names.iter().chain(&controls).chain(free).cloned().collect();
        known.push("t".into());
        for (i, read) in reads.iter().enumerate() {
            let phase = spec.phase.get(i);
            if let Some(flow) =
                formulas(scope, problem, phase, &flow_names, &controls, free, &known)
            {
                let shape = shape_of(read.kind);
                motions.push(Box::new(Shooting::new(
                    flow,
                    shape,
                    read.durations.clone(),
                    read.steps,
                    &flow_names,
                    &controls,
                    free,
                )));
            }
        }
    }
    let OfModel { start, added, .. } = model;
    Motions { list: motions, states: full_names, controls, start, added }
}

/// Motions of a model.
#[derive(Default)]
struct OfModel {
    list: Vec<Box<dyn Grid>>,
    names: Vec<String>,
    start: Option<Vec<f64>>,
    added: Vec<Vec<(String, Expr)>>,
}

/// The motions of a model in all phases; what a phase changes gives it a mechanism of its own.
fn of_model(
    scope: &mut Scope<'_>,
    problem: &Problem,
    step: usize,
    reads: &[Read],
    free: &[String],
    maximize: bool,
) -> OfModel {
    let spec = &problem.spec;
    let at = spec.problem.as_ref().map_or(spec.span, |p| p.span);
    let mut out = OfModel::default();
    // The mechanism of the phase before, with what it was derived from.
    let mut before: Option<(Arc<Loaded>, Option<Span>, Mechanism)> = None;
    let mut held: Vec<(String, String)> = Vec::new();
    for (i, read) in reads.iter().enumerate() {
        let Some(loaded) = problem.models.in_phase(step, i) else { continue };
        let phase = spec.phase.get(i);
        let place = phase.map_or(at, |p| p.name.span);
        let source = match Source::from_model(loaded, free) {
            Ok(source) => source,
            Err(message) => {
                scope.fault("bad-model", place, message, None);
                continue;
            }
        };
        if i == 0 {
            out.names.clone_from(&source.names);
            out.start = Some(source.start.clone());
        }
        let controls = source.control_names.clone();
        // Constraints by name and text: the same name with other numbers is another constraint.
        let holds: Vec<(String, String)> = source
            .constraints
            .iter()
            .map(|(name, g)| (name.clone(), source.pool.display(*g).to_string()))
            .collect();
        let mut added = Vec::new();
        for (name, text) in holds.iter().filter(|_| i > 0).filter(|c| !held.contains(c)) {
            match scope.pool.parse(text) {
                Ok(g) => added.push((name.clone(), g)),
                Err(error) => scope.fault("bad-model", place, error.to_string(), None),
            }
        }
        let integral = phase.and_then(|p| p.integral.as_ref()).or(spec.objective.integral.as_ref());
        let span = integral.map(|integral| integral.span);
        let same = before.as_ref().filter(|(l, s, _)| Arc::ptr_eq(l, loaded) && *s == span);
        let impact = !added.is_empty() || phase.is_some_and(|p| !p.link.0.is_empty());
        let impact = impact.then(|| Mechanism::impact(source.clone()));
        let flow = match same {
            Some((.., flow)) => Ok(flow.clone()),
            None => derive(scope, source, integral, &controls, maximize),
        };
        match (flow, impact.transpose()) {
            (Ok(flow), Ok(impact)) => {
                before = Some((Arc::clone(loaded), span, flow.clone()));
                let mut motion = Shooting::new(
                    flow,
                    shape_of(read.kind),
                    read.durations.clone(),
                    read.steps,
                    &out.names,
                    &controls,
                    free,
                );
                if let Some(impact) = impact {
                    motion = motion.with_impact(impact);
                }
                out.list.push(Box::new(motion));
            }
            (Err(message), _) | (_, Err(message)) => {
                scope.fault("bad-model", place, message, None);
            }
        }
        out.added.push(added);
        held = holds;
    }
    out
}

/// The mechanism of a source with the problem's integrand.
fn derive(
    scope: &mut Scope<'_>,
    mut source: Source,
    integral: Option<&Scalar>,
    controls: &[String],
    maximize: bool,
) -> Result<Mechanism, String> {
    if let Some(integral) = integral
        && let Err(message) = set_model_cost(scope, &mut source, integral, controls, maximize)
    {
        scope.fault("bad-expression", integral.span, message, None);
    }
    Mechanism::new(source)
}

fn shape_of(kind: ControlKind) -> ControlShape {
    if kind.is_linear() { ControlShape::Linear } else { ControlShape::Constant }
}

fn formulas(
    scope: &mut Scope<'_>,
    problem: &Problem,
    phase: Option<&PhaseSpec>,
    states: &[String],
    controls: &[String],
    free: &[String],
    known: &[String],
) -> Option<Formulas> {
    let spec = &problem.spec;
    for (name, _) in phase.iter().flat_map(|p| &p.rates.0) {
        if !states.contains(&name.text) {
            scope.fault(
                "unknown-state",
                name.span,
                format!("there is no state `{}`", name.text),
                None,
            );
        }
    }
    let mut rates = Vec::new();
    for (name, state) in &spec.states.0 {
        let own = phase.and_then(|p| p.rates.0.iter().find(|(n, _)| n.text == name.text));
        let rate = scope.read(own.map_or(&state.rate, |(_, r)| r), known);
        let symbol = scope.pool.symbol(&name.text);
        rates.push(rate.map(|r| (symbol, r)));
    }
    let integral = phase.and_then(|p| p.integral.as_ref()).or(spec.objective.integral.as_ref());
    let cost = match integral {
        Some(integral) => {
            let mut all = known.to_vec();
            all.extend(controls.iter().map(|c| format!("u.{c}")));
            scope.read(integral, &all)?
        }
        None => Expr::ZERO,
    };
    let controls: Vec<Expr> = controls.iter().map(|c| scope.pool.symbol(c)).collect();
    // `u.NAME` means NAME as well.
    let same: Vec<(Expr, Expr)> = controls
        .iter()
        .map(|c| {
            let name = format!("u.{}", scope.pool.display(*c));
            (scope.pool.symbol(&name), *c)
        })
        .collect();
    let cost = scope.pool.substitute(cost, &same);
    let maximize = spec.objective.aim.as_ref().is_some_and(|a| a.text == "maximize");
    let cost = if maximize { scope.pool.neg(cost) } else { cost };
    let rates: Option<Vec<(Expr, Expr)>> = rates.into_iter().collect();
    let free: Vec<Expr> = free.iter().map(|f| scope.pool.symbol(f)).collect();
    match Formulas::new(&mut scope.pool, &rates?, &controls, &free, cost) {
        Ok(flow) => Some(flow),
        Err(error) => {
            scope.fault("bad-expression", spec.span, error.to_string(), None);
            None
        }
    }
}

/// The Lagrange term of a model's motion, with the problem's constants put in.
fn set_model_cost(
    scope: &mut Scope<'_>,
    source: &mut Source,
    integral: &Scalar,
    controls: &[String],
    maximize: bool,
) -> Result<(), String> {
    let mut names = source.names.clone();
    names.extend(controls.iter().map(|c| format!("u.{c}")));
    names.extend(controls.iter().cloned());
    names.extend(source.parameters.iter().map(|p| source.pool.display(*p).to_string()));
    names.push("t".into());
    let Some(e) = scope.read(integral, &names) else { return Ok(()) };
    let same: Vec<(Expr, Expr)> = controls
        .iter()
        .map(|c| (scope.pool.symbol(c), scope.pool.symbol(&format!("u.{c}"))))
        .collect();
    let e = scope.pool.substitute(e, &same);
    let e = if maximize { scope.pool.neg(e) } else { e };
    source.set_cost(&scope.pool.display(e).to_string())
}
