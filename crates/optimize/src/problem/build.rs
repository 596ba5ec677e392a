//! From the words of a problem file to a program of stages with a start.

mod compile;
mod grid;
mod guess;
mod links;
mod motion;
mod settings;
mod sizes;
mod terms;

use gelenk_expr::Expr;
use gelenk_model::Diagnostics;
use gelenk_model::spec::Scalar;

use self::compile::{Common, phases};
pub(super) use self::grid::Other;
use self::grid::{Read, read_phases};
use self::guess::{Guess, guess};
use self::links::read_links;
use self::motion::motions;
use self::settings::read_settings;
use self::sizes::model_size;
use self::terms::{Nodes, Term, Where, read_bounds, read_terms};
use super::scope::Scope;
use super::{Plan, Problem, Start};
use crate::grid::Grid;
use crate::interior::Hessian;
use crate::motion::Motion;
use crate::program::Program;
use crate::transcription::{Names, Role, Transcription};

/// A program with its start and all that is needed to solve it and to tell of it.
pub struct Instance {
    /// The program.
    pub program: Transcription<Box<dyn Grid>>,
    /// First guess of all variables.
    pub x: Vec<f64>,
    /// Sizes of variables, where they are known.
    pub nominal: Vec<Option<f64>>,
    /// 1 to minimize, −1 to maximize.
    pub sign: f64,
    /// Names of the full states of every phase.
    pub states: Vec<Vec<String>>,
    /// Names of the controls.
    pub controls: Vec<String>,
    /// Bounds of the controls in every phase.
    pub control_bounds: Vec<Vec<(f64, f64)>>,
    /// Names of the free numbers.
    pub free: Vec<String>,
    /// Names of the phases; empty for the only one.
    pub phases: Vec<String>,
    /// Accuracy of the integration of every phase.
    pub accuracy: Vec<f64>,
    /// KKT error to stop at.
    pub tolerance: f64,
    /// First barrier parameter where another motion leads here, if the file tells.
    pub barrier: Option<f64>,
    /// Most iterations.
    pub max_iterations: usize,
    /// Curvature.
    pub hessian: Hessian,
    /// Whether SQP is the method.
    pub sqp: bool,
    /// Whether SQP polishes.
    pub polish: bool,
    /// Whether each phase's duration is free.
    pub free_duration: Vec<bool>,
    pub(crate) plan: Plan,
    guess: Guess,
}

impl Instance {
    /// The least and the largest value that a control may have in any phase.
    pub fn control_range(&self, control: usize) -> [f64; 2] {
        let all = self.control_bounds.iter().filter_map(|phase| phase.get(control));
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, u], b| [l.min(b.0), u.max(b.1)])
    }
}

/// The free numbers of a problem.
struct Free {
    names: Vec<String>,
    /// Guesses.
    start: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    scale: Vec<Option<f64>>,
}

/// What the file says of the controls, one entry each.
#[derive(Default)]
struct ControlFacts {
    /// In every phase.
    bounds: Vec<Vec<(f64, f64)>>,
    guess: Vec<Option<Expr>>,
    smooth: Vec<f64>,
    /// Amplitude of random ones.
    amplitude: Vec<f64>,
    /// Whether the file tells the size.
    sized: Vec<bool>,
    /// In every phase.
    scale: Vec<Vec<Option<f64>>>,
}

/// Builds the program of a step; `begin` it with the file's guess, or only see whether the file makes sense.
pub(crate) fn build(
    problem: &Problem,
    step: usize,
    other: &Other<'_>,
    begin: bool,
) -> Result<Instance, Diagnostics> {
    let spec = &problem.spec;
    let homotopy = problem.step(step);
    let mut scope = Scope::new(&problem.sources);
    scope.define(&problem.parameters(step));
    for (name, _) in homotopy.iter().flat_map(|h| &h.set.0) {
        if !spec.parameters.0.iter().any(|(n, _)| n.text == name.text) {
            scope.fault(
                "unknown-parameter",
                name.span,
                format!("there is no parameter `{}`", name.text),
                None,
            );
        }
    }
    let free = read_free(&mut scope, problem);
    let reads = read_phases(&mut scope, problem, step, other, &free);
    let motions = motions(&mut scope, problem, step, &reads, &free.names);
    if motions.list.len() != reads.len() || motions.list.is_empty() {
        return Err(failed(scope));
    }
    let (controls, full_names) = (motions.controls, motions.states);
    // Terms of nodes. Names: quantities, controls without their `u.`, `start.` before any of them.
    let quantities: Vec<String> = motions.list[0].quantities().to_vec();
    let mut names = quantities.clone();
    names.extend(controls.iter().cloned());
    names.extend(controls.iter().map(|c| format!("{c}.end")));
    let mut with_start = names.clone();
    with_start.extend(names.iter().map(|n| format!("start.{n}")));
    let mut terms = read_terms(&mut scope, problem, step, &reads, &with_start);
    let added = &motions.added;
    terms.extend(read_links(&mut scope, problem, &with_start, &full_names, &controls, added));
    terms.extend(read_bounds(&mut scope, problem, &full_names));
    let sign = match spec.objective.aim.as_ref().map(|t| t.text.as_str()) {
        None | Some("minimize") => 1.0,
        Some("maximize") => -1.0,
        Some(_) => {
            let span = spec.objective.aim.as_ref().map_or(spec.span, |t| t.span);
            scope.fault("unknown-aim", span, "expected `minimize` or `maximize`", None);
            1.0
        }
    };
    if spec.objective.end.is_none()
        && spec.objective.integral.is_none()
        && spec.phase.iter().all(|p| p.integral.is_none())
    {
        scope.fault(
            "no-objective",
            spec.objective.span,
            "the objective has neither `end` nor `integral`",
            None,
        );
    }
    if let Some(end) = &spec.objective.end
        && let Some(e) = scope.read(end, &with_start)
    {
        let e = if sign < 0.0 { scope.pool.neg(e) } else { e };
        terms.push(Term {
            expr: e,
            role: Role::Cost,
            at: Where { phase: None, nodes: Nodes::End },
        });
    }
    // `start.NAME` become global variables that equal NAME at the first node.
    let n_free = free.names.len();
    let mut copies: Vec<(Expr, String)> = Vec::new();
    for term in &terms {
        for symbol in scope.pool.symbols_of(term.expr) {
            let text = scope.pool.display(symbol).to_string();
            if text.starts_with("start.") && !copies.iter().any(|(s, _)| *s == symbol) {
                copies.push((symbol, text));
            }
        }
    }
    for (symbol, text) in &copies {
        let inner = scope.pool.symbol(&text["start.".len()..]);
        let expr = scope.pool.sub(inner, *symbol);
        let role = Role::Condition { name: text.clone(), lower: 0.0, upper: 0.0 };
        terms.push(Term { expr, role, at: Where { phase: None, nodes: Nodes::Start } });
    }
    if scope.n_faults() > 0 {
        return Err(failed(scope));
    }
    let facts = read_controls(&mut scope, problem, &controls, &reads);
    let state_facts = read_states(&mut scope, problem);
    let still = facts.guess.iter().all(|g| g.is_none_or(|g| g == Expr::ZERO));
    let settings = read_settings(&mut scope, problem, step, still);
    let fixed_start = match spec.problem.as_ref().and_then(|p| p.start.as_ref()) {
        None => true,
        Some(text) if text.text == "fixed" => true,
        Some(text) if text.text == "free" => false,
        Some(text) => {
            scope.fault("unknown-start", text.span, "expected `fixed` or `free`", None);
            true
        }
    };
    if scope.n_faults() > 0 {
        return Err(failed(scope));
    }
    let n_phases = reads.len();
    let globals: Vec<(Expr, usize)> =
        copies.iter().enumerate().map(|(i, (s, _))| (*s, n_free + i)).collect();
    let common = Common {
        problem,
        reads: &reads,
        terms: &terms,
        globals: &globals,
        controls: &controls,
        states: full_names.len(),
        free: n_free,
        smooth: &facts.smooth,
        fixed_start,
        goes_on: &(0..n_phases)
            .map(|i| {
                let jumps = spec.phase.get(i).is_some_and(|p| !p.link.0.is_empty());
                i > 0 && !jumps && added.get(i).is_none_or(Vec::is_empty)
            })
            .collect::<Vec<bool>>(),
    };
    let phases = phases(&mut scope, &common, motions.list);
    if scope.n_faults() > 0 {
        return Err(failed(scope));
    }
    let plain = problem.model().is_none();
    let global_names =
        free.names.iter().cloned().chain(copies.iter().map(|(_, t)| t.clone())).collect();
    let names = Names {
        phases: reads.iter().map(|r| r.name.clone()).collect(),
        states: vec![if plain { full_names.clone() } else { Vec::new() }; n_phases],
        controls: vec![controls.clone(); n_phases],
        globals: global_names,
    };
    let program = Transcription::new(phases, n_free + copies.len(), names);
    let duration = reads.iter().map(|r| r.length).sum();
    let model_size = problem
        .models
        .base(step)
        .zip(motions.start.as_ref())
        .map(|(base, start)| model_size(&mut scope, problem, &base.model, start, duration));
    let pool = scope.finish()?;
    let guess = guess(
        &pool,
        &program,
        &reads,
        &state_facts,
        &facts,
        motions.start.as_deref(),
        &free.start,
        &controls,
    );
    let mut instance = Instance {
        x: vec![0.0; program.shape().n_variables()],
        nominal: vec![None; program.shape().n_variables()],
        program,
        sign,
        states: vec![full_names; n_phases],
        controls,
        control_bounds: facts.bounds,
        free: free.names,
        phases: reads.iter().map(|r| r.name.clone()).collect(),
        accuracy: reads.iter().map(|r| r.accuracy).collect(),
        tolerance: settings.tolerance,
        barrier: settings.barrier,
        max_iterations: settings.max_iterations,
        hessian: settings.hessian,
        sqp: settings.sqp,
        polish: settings.polish,
        free_duration: reads.iter().map(|r| r.free_duration).collect(),
        plan: settings.plan,
        guess,
    };
    instance.set_bounds(&state_facts, &free.bounds, plain, fixed_start);
    instance.set_nominal(&state_facts, &free.scale, &facts.scale, model_size);
    if begin {
        instance.begin(Start::Guess);
        instance.size_by_guess(plain);
    }
    Ok(instance)
}

fn read_free(scope: &mut Scope<'_>, problem: &Problem) -> Free {
    let spec = &problem.spec;
    let mut free = Free {
        names: spec.free.0.iter().map(|(n, _)| n.text.clone()).collect(),
        start: Vec::new(),
        bounds: Vec::new(),
        scale: Vec::new(),
    };
    for (name, f) in &spec.free.0 {
        let guess = scope.number(&f.guess).unwrap_or(1.0);
        let bounds = bounds(scope, f.lower.as_ref(), f.upper.as_ref());
        let scale = f.scale.as_ref().and_then(|s| positive(scope, s));
        if guess < bounds.0 || guess > bounds.1 {
            scope.fault(
                "bad-guess",
                name.span,
                format!("the guess of `{}` lies outside its bounds", name.text),
                None,
            );
        }
        free.scale.push(scale.or((guess != 0.0).then_some(guess.abs())));
        free.start.push(guess);
        free.bounds.push(bounds);
    }
    free
}

fn read_controls(
    scope: &mut Scope<'_>,
    problem: &Problem,
    controls: &[String],
    reads: &[Read],
) -> ControlFacts {
    let spec = &problem.spec;
    let mut facts = ControlFacts::default();
    let (mut limits, mut given_scale) = (Vec::new(), Vec::new());
    for name in controls {
        let given = spec.controls.0.iter().find(|(n, _)| n.text == *name).map(|(_, c)| c);
        let own = match given {
            Some(c) => bounds(scope, c.lower.as_ref(), c.upper.as_ref()),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        facts.guess.push(
            given.and_then(|c| c.guess.as_ref()).and_then(|g| scope.read(g, &["s".to_owned()])),
        );
        facts.smooth.push(
            given.and_then(|c| c.smooth.as_ref()).and_then(|s| scope.number(s)).unwrap_or(0.0),
        );
        let scale = given.and_then(|c| c.scale.as_ref()).and_then(|s| positive(scope, s));
        facts.amplitude.push(scale.or(size_of(own)).unwrap_or(1.0));
        facts.sized.push(scale.is_some());
        limits.push(own);
        given_scale.push(scale);
    }
    for i in 0..reads.len() {
        let mut here = limits.clone();
        for (name, range) in spec.phase.get(i).iter().flat_map(|p| &p.limits.0) {
            let Some(c) = controls.iter().position(|c| *c == name.text) else {
                let message = format!("there is no control `{}`", name.text);
                let help = Some(format!("the controls are {}", list(controls)));
                scope.fault("unknown-control", name.span, message, help);
                continue;
            };
            // What a phase leaves out stays as it is.
            let (l, u) = bounds(scope, range.lower.as_ref(), range.upper.as_ref());
            here[c] = (
                if range.lower.is_some() { l } else { here[c].0 },
                if range.upper.is_some() { u } else { here[c].1 },
            );
            if here[c].0 > here[c].1 {
                let message = format!("no value of `{}` is within its bounds here", name.text);
                scope.fault("empty-bounds", name.span, message, None);
            }
        }
        let size = |c: usize| given_scale[c].or(size_of(here[c]));
        facts.scale.push((0..controls.len()).map(size).collect());
        facts.bounds.push(here);
    }
    facts
}

fn read_states(scope: &mut Scope<'_>, problem: &Problem) -> Vec<StateFacts> {
    let mut facts = Vec::new();
    for (_, s) in &problem.spec.states.0 {
        let start = s.start.as_ref().and_then(|v| scope.number(v));
        let end = s.end.as_ref().and_then(|v| scope.number(v));
        let limits = bounds(scope, s.lower.as_ref(), s.upper.as_ref());
        let guess = s.guess.as_ref().and_then(|g| scope.read(g, &["s".to_owned()]));
        let scale = s.scale.as_ref().and_then(|v| positive(scope, v));
        facts.push(StateFacts { start, end, limits, guess, scale });
    }
    facts
}

/// What the file says of a state.
struct StateFacts {
    start: Option<f64>,
    end: Option<f64>,
    limits: (f64, f64),
    guess: Option<Expr>,
    scale: Option<f64>,
}

fn failed(scope: Scope<'_>) -> Diagnostics {
    match scope.finish() {
        Err(faults) => faults,
        Ok(_) => {
            Diagnostics { list: Vec::new(), sources: gelenk_model::source::SourceMap::default() }
        }
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

fn positive(scope: &mut Scope<'_>, scalar: &Scalar) -> Option<f64> {
    let value = scope.number(scalar)?;
    if value > 0.0 {
        return Some(value);
    }
    scope.fault("bad-number", scalar.span, "expected a number above 0", None);
    None
}

fn bounds(scope: &mut Scope<'_>, lower: Option<&Scalar>, upper: Option<&Scalar>) -> (f64, f64) {
    let l = lower.and_then(|v| scope.number(v)).unwrap_or(f64::NEG_INFINITY);
    let u = upper.and_then(|v| scope.number(v)).unwrap_or(f64::INFINITY);
    if l > u
        && let Some(v) = upper
    {
        scope.fault("empty-bounds", v.span, "the upper bound lies below the lower one", None);
    }
    (l, u)
}

/// A size from bounds on both sides.
fn size_of((l, u): (f64, f64)) -> Option<f64> {
    (l.is_finite() && u.is_finite() && l.abs().max(u.abs()) > 0.0).then(|| l.abs().max(u.abs()))
}
