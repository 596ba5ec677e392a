//! From the words of a problem file to a program of stages with a start.

use gelenk_expr::{Expr, Pool};
use gelenk_model::Diagnostics;
use gelenk_model::spec::tables::{ConditionSpec, GridSpec, PhaseSpec};
use gelenk_model::spec::{Scalar, ScalarSource, Text};

use super::scope::Scope;
use super::{Problem, Start};
use crate::controls::ControlKind;
use crate::flow::{ControlShape, Duration, Formulas, Mechanism, Shooting, Source};
use crate::grid::Grid;
use crate::interior::Hessian;
use crate::motion::Motion;
use crate::program::Program;
use crate::terms::{Reads, Terms};
use crate::transcription::{Names, NodeTerms, Phase, Role, Transcription};

/// Most intervals of a phase.
const MOST_INTERVALS: usize = 10_000;

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
    /// Bounds of the controls.
    pub control_bounds: Vec<(f64, f64)>,
    /// Names of the free numbers.
    pub free: Vec<String>,
    /// Names of the phases; empty for the only one.
    pub phases: Vec<String>,
    /// Accuracy of the integration of every phase.
    pub accuracy: Vec<f64>,
    /// KKT error to stop at.
    pub tolerance: f64,
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
    guess: Guess,
}

/// The guess of the file, node by node.
struct Guess {
    /// Whether states follow from a simulation.
    simulate: Vec<bool>,
    /// Full states of every phase and node.
    states: Vec<Vec<Vec<f64>>>,
    /// Values of controls at the start and end of every piece.
    controls: Vec<Vec<(Vec<f64>, Vec<f64>)>>,
    free: Vec<f64>,
    amplitude: Vec<f64>,
    /// Whether the file says how large a control is.
    sized: Vec<bool>,
    /// Whether the first state is given whole.
    starts: bool,
}

/// A term of a node before it is compiled.
struct Term {
    expr: Expr,
    role: Role,
    at: Where,
}

/// Where a term is evaluated.
#[derive(Clone, Debug, PartialEq)]
struct Where {
    /// `None`: all phases.
    phase: Option<usize>,
    nodes: Nodes,
}

#[derive(Clone, Debug, PartialEq)]
enum Nodes {
    /// First node of the first phase (or of the named one).
    Start,
    /// Last node of the last phase (or of the named one).
    End,
    All,
    Inner,
    Path,
    List(Vec<usize>),
    /// First node of exactly this phase.
    PhaseStart,
    /// Last node of exactly this phase.
    PhaseEnd,
}

/// A phase as read.
struct Read {
    name: String,
    kind: ControlKind,
    intervals: usize,
    fine: usize,
    accuracy: f64,
    steps: usize,
    simulate: bool,
    durations: Vec<Duration>,
    /// Guess of the whole duration.
    length: f64,
    free_duration: bool,
}

pub(crate) fn build(
    problem: &Problem,
    step: usize,
    intervals: Option<usize>,
    shorter: bool,
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
    let maximize = spec.objective.aim.as_ref().is_some_and(|a| a.text == "maximize");
    // Free numbers.
    let free: Vec<String> = spec.free.0.iter().map(|(n, _)| n.text.clone()).collect();
    let mut free_start = Vec::new();
    let mut free_bounds = Vec::new();
    let mut free_scale = Vec::new();
    for (name, f) in &spec.free.0 {
        let guess = scope.number(&f.guess).unwrap_or(1.0);
        let bounds = bounds(&mut scope, f.lower.as_ref(), f.upper.as_ref());
        let scale = f.scale.as_ref().and_then(|s| positive(&mut scope, s));
        if guess < bounds.0 || guess > bounds.1 {
            scope.fault(
                "bad-guess",
                name.span,
                format!("the guess of `{}` lies outside its bounds", name.text),
                None,
            );
        }
        free_scale.push(scale.or((guess != 0.0).then_some(guess.abs())));
        free_start.push(guess);
        free_bounds.push(bounds);
    }
    // Phases.
    let mut reads: Vec<Read> = Vec::new();
    let override_grid = |scope: &mut Scope<'_>, read: &mut Read, last: bool, grid: &GridSpec| {
        if let Some(h) = homotopy {
            if let Some(n) = &h.intervals
                && last
            {
                read.intervals = scope.count(n, MOST_INTERVALS).unwrap_or(1);
            }
            if let Some(a) = &h.accuracy {
                read.accuracy = positive(scope, a).unwrap_or(read.accuracy);
            }
        }
        if let Some(n) = intervals
            && last
        {
            read.intervals = n.clamp(1, MOST_INTERVALS);
        }
        let duration = homotopy.and_then(|h| h.duration.as_ref()).unwrap_or(&grid.duration);
        let n_whole = read.intervals;
        if shorter {
            read.intervals = n_whole.div_ceil(2);
        }
        set_duration(scope, read, duration, &free, &free_start);
        if shorter {
            // Half the intervals, as long as before.
            let share = read.intervals as f64 / n_whole as f64;
            read.length *= share;
            for duration in &mut read.durations {
                match duration {
                    Duration::Fixed(length) => *length *= share,
                    Duration::Part { part, .. } => *part *= share,
                }
            }
        }
    };
    if spec.phase.is_empty() {
        match &spec.grid {
            Some(grid) => {
                let mut read = read_grid(&mut scope, grid, "");
                override_grid(&mut scope, &mut read, true, grid);
                reads.push(read);
            }
            None => scope.fault(
                "missing-key",
                spec.span,
                "there is no `[grid]`",
                Some("add `[grid]` with `duration` and `intervals`".into()),
            ),
        }
    } else {
        if let Some(grid) = &spec.grid {
            scope.fault(
                "two-grids",
                grid.span,
                "`[grid]` and `[[phase]]` do not go together",
                None,
            );
        }
        let n = spec.phase.len();
        for (i, phase) in spec.phase.iter().enumerate() {
            let mut read = read_grid(&mut scope, &phase.grid, &phase.name.text);
            override_grid(&mut scope, &mut read, i + 1 == n, &phase.grid);
            reads.push(read);
        }
    }
    let controls: Vec<String> = match &problem.loaded {
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
    let flow_names: Vec<String> = match &problem.loaded {
        Some(_) => Vec::new(),
        None => spec.states.0.iter().map(|(n, _)| n.text.clone()).collect(),
    };
    let mut motions: Vec<Box<dyn Grid>> = Vec::new();
    let mut full_names = flow_names.clone();
    let mut model_start: Option<Vec<f64>> = None;
    if let Some(loaded) = &problem.loaded {
        if let Some((name, _)) = spec.states.0.first() {
            scope.fault(
                "two-motions",
                name.span,
                "a problem has a model or states of its own, not both",
                None,
            );
        }
        if reads.len() > 1 {
            scope.fault(
                "phases-of-model",
                spec.phase[0].span,
                "phases are for states of the problem's own, not for a model",
                None,
            );
        }
        let at = spec.problem.as_ref().map_or(spec.span, |p| p.span);
        match Source::from_model(loaded, &free) {
            Err(message) => scope.fault("bad-model", at, message, None),
            Ok(mut source) => {
                full_names.clone_from(&source.names);
                model_start = Some(source.start.clone());
                let control_names = source.control_names.clone();
                if let Some(integral) = &spec.objective.integral
                    && let Err(message) =
                        set_model_cost(&mut scope, &mut source, integral, &control_names, maximize)
                {
                    scope.fault("bad-expression", integral.span, message, None);
                }
                match (Mechanism::new(source), reads.first()) {
                    (Ok(flow), Some(read)) => {
                        let shape = shape_of(read.kind);
                        let durations = read.durations.clone();
                        motions.push(Box::new(Shooting::new(
                            flow,
                            shape,
                            durations,
                            read.steps,
                            &full_names,
                            &control_names,
                            &free,
                        )));
                    }
                    (Err(message), _) => scope.fault("bad-model", at, message, None),
                    _ => {}
                }
            }
        }
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
            flow_names.iter().chain(&controls).chain(&free).cloned().collect();
        known.push("t".into());
        for (i, read) in reads.iter().enumerate() {
            let phase = spec.phase.get(i);
            if let Some(flow) =
                formulas(&mut scope, problem, phase, &flow_names, &controls, &free, &known)
            {
                let shape = shape_of(read.kind);
                motions.push(Box::new(Shooting::new(
                    flow,
                    shape,
                    read.durations.clone(),
                    read.steps,
                    &flow_names,
                    &controls,
                    &free,
                )));
            }
        }
    }
    if motions.len() != reads.len() || motions.is_empty() {
        return Err(failed(scope));
    }
    // Terms of nodes. Names: quantities, controls without their `u.`, `start.` before any of them.
    let quantities: Vec<String> = motions[0].quantities().to_vec();
    let mut names = quantities.clone();
    names.extend(controls.iter().cloned());
    names.extend(controls.iter().map(|c| format!("{c}.end")));
    let mut with_start = names.clone();
    with_start.extend(names.iter().map(|n| format!("start.{n}")));
    let mut terms = read_terms(&mut scope, problem, step, &reads, &with_start, &full_names);
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
    let n_free = free.len();
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
    // Controls: bounds, guesses, weights.
    let mut control_bounds = Vec::new();
    let mut control_guess: Vec<Option<Expr>> = Vec::new();
    let mut smooth = Vec::new();
    let (mut amplitude, mut sized) = (Vec::new(), Vec::new());
    let mut control_scale = Vec::new();
    for name in &controls {
        let given = spec.controls.0.iter().find(|(n, _)| n.text == *name).map(|(_, c)| c);
        let limits = match given {
            Some(c) => bounds(&mut scope, c.lower.as_ref(), c.upper.as_ref()),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        control_guess.push(
            given.and_then(|c| c.guess.as_ref()).and_then(|g| scope.read(g, &["s".to_owned()])),
        );
        smooth.push(
            given.and_then(|c| c.smooth.as_ref()).and_then(|s| scope.number(s)).unwrap_or(0.0),
        );
        let scale = given.and_then(|c| c.scale.as_ref()).and_then(|s| positive(&mut scope, s));
        let size = scale.or(size_of(limits));
        amplitude.push(size.unwrap_or(1.0));
        sized.push(scale.is_some());
        control_scale.push(size);
        control_bounds.push(limits);
    }
    // States: start, end, bounds, guesses.
    let mut state_facts: Vec<StateFacts> = Vec::new();
    for (_, s) in &spec.states.0 {
        let start = s.start.as_ref().and_then(|v| scope.number(v));
        let end = s.end.as_ref().and_then(|v| scope.number(v));
        let limits = bounds(&mut scope, s.lower.as_ref(), s.upper.as_ref());
        let guess = s.guess.as_ref().and_then(|g| scope.read(g, &["s".to_owned()]));
        let scale = s.scale.as_ref().and_then(|v| positive(&mut scope, v));
        state_facts.push(StateFacts { start, end, limits, guess, scale });
    }
    let solver = spec.solver.as_ref();
    let hessian = match solver.and_then(|s| s.hessian.as_ref()).map(|t| (t.text.as_str(), t.span)) {
        None | Some(("exact", _)) => Hessian::Exact,
        Some(("gauss-newton", _)) => Hessian::GaussNewton,
        Some(("bfgs", _)) => Hessian::Bfgs,
        Some((_, span)) => {
            scope.fault(
                "unknown-hessian",
                span,
                "expected `exact`, `gauss-newton` or `bfgs`",
                None,
            );
            Hessian::Exact
        }
    };
    let sqp = match solver.and_then(|s| s.method.as_ref()).map(|t| (t.text.as_str(), t.span)) {
        None | Some(("interior", _)) => false,
        Some(("sqp", _)) => true,
        Some((_, span)) => {
            scope.fault("unknown-method", span, "expected `interior` or `sqp`", None);
            false
        }
    };
    let tolerance = homotopy
        .and_then(|h| h.tolerance.as_ref())
        .or(solver.and_then(|s| s.tolerance.as_ref()))
        .and_then(|t| positive(&mut scope, t))
        .unwrap_or(1e-8);
    let max_iterations = solver
        .and_then(|s| s.max_iterations.as_ref())
        .and_then(|n| scope.count(n, 1_000_000))
        .unwrap_or(1000);
    let polish = solver.and_then(|s| s.polish).unwrap_or(false);
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
    // Compile the terms of every node.
    let n_phases = reads.len();
    let globals: Vec<(Expr, usize)> =
        copies.iter().enumerate().map(|(i, (s, _))| (*s, n_free + i)).collect();
    let mut phases = Vec::new();
    for (i, (motion, read)) in motions.into_iter().zip(&reads).enumerate() {
        let n_nodes = motion.intervals() + 1;
        let mut symbols: Vec<(Expr, Reads)> = Vec::new();
        for (q, name) in motion.quantities().iter().enumerate() {
            symbols.push((scope.pool.symbol(name), Reads::Quantity(q)));
            // Controls may be named without their `u.`.
            if let Some(plain) = name.strip_prefix("u.") {
                symbols.push((scope.pool.symbol(plain), Reads::Quantity(q)));
            }
        }
        symbols.extend(globals.iter().map(|(s, g)| (*s, Reads::Global(*g))));
        let needs_control: Vec<bool> = terms
            .iter()
            .map(|t| {
                scope.pool.symbols_of(t.expr).iter().any(|s| {
                    let name = scope.pool.display(*s).to_string();
                    let plain = name.strip_prefix("u.").unwrap_or(&name);
                    controls.iter().any(|c| plain == c || plain.strip_suffix(".end") == Some(c))
                })
            })
            .collect();
        let mut lists: Vec<Vec<usize>> = Vec::new();
        let mut nodes = Vec::new();
        for node in 0..n_nodes {
            let here: Vec<usize> = (0..terms.len())
                .filter(|&t| {
                    let last = node + 1 == n_nodes;
                    // Where the start is fixed nothing can be demanded of it.
                    let given = node == 0 && fixed_start && problem.loaded.is_some();
                    terms[t].at.holds(i, n_phases, node, n_nodes, read.fine)
                        && !(last && needs_control[t])
                        && !(given && matches!(terms[t].at.nodes, Nodes::All | Nodes::Path))
                })
                .collect();
            if here.is_empty() {
                nodes.push(None);
                continue;
            }
            let set = lists.iter().position(|l| *l == here).unwrap_or_else(|| {
                lists.push(here);
                lists.len() - 1
            });
            nodes.push(Some(set));
        }
        let mut sets = Vec::new();
        for list in &lists {
            let exprs: Vec<Expr> = list.iter().map(|&t| terms[t].expr).collect();
            let find = |e: Expr| symbols.iter().find(|(s, _)| *s == e).map(|(_, r)| *r);
            let compiled = Terms::new(&mut scope.pool, &exprs, find);
            match compiled {
                Ok(compiled) => {
                    let roles = list.iter().map(|&t| terms[t].role.clone()).collect();
                    sets.push(NodeTerms { terms: compiled, roles });
                }
                Err(error) => scope.fault("bad-expression", spec.span, error.to_string(), None),
            }
        }
        let weighted = smooth.iter().any(|w| *w != 0.0);
        phases.push(Phase {
            motion,
            kind: read.kind,
            refine: read.fine,
            controls: controls.len(),
            full_states: full_names.len(),
            parameters: (0..n_free).collect(),
            smooth: if weighted { smooth.clone() } else { Vec::new() },
            nodes,
            sets,
        });
    }
    if scope.n_faults() > 0 {
        return Err(failed(scope));
    }
    let plain = problem.loaded.is_none();
    let global_names = free.iter().cloned().chain(copies.iter().map(|(_, t)| t.clone())).collect();
    let names = Names {
        phases: reads.iter().map(|r| r.name.clone()).collect(),
        states: vec![if plain { full_names.clone() } else { Vec::new() }; n_phases],
        controls: vec![controls.clone(); n_phases],
        globals: global_names,
    };
    let program = Transcription::new(phases, n_free + copies.len(), names);
    let pool = scope.finish()?;
    let guess = guess(
        &pool,
        &program,
        &reads,
        &state_facts,
        &control_guess,
        model_start.as_deref(),
        &free_start,
        &amplitude,
        &sized,
        &controls,
    );
    let mut instance = Instance {
        x: vec![0.0; program.shape().n_variables()],
        nominal: vec![None; program.shape().n_variables()],
        program,
        sign,
        states: vec![full_names; n_phases],
        controls,
        control_bounds,
        free,
        phases: reads.iter().map(|r| r.name.clone()).collect(),
        accuracy: reads.iter().map(|r| r.accuracy).collect(),
        tolerance,
        max_iterations,
        hessian,
        sqp,
        polish,
        free_duration: reads.iter().map(|r| r.free_duration).collect(),
        guess,
    };
    instance.set_bounds(&state_facts, &free_bounds, plain, fixed_start);
    instance.set_nominal(&state_facts, &free_scale, &control_scale, plain);
    instance.begin(Start::Guess);
    instance.size_by_guess(plain);
    Ok(instance)
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

fn shape_of(kind: ControlKind) -> ControlShape {
    if kind.is_linear() { ControlShape::Linear } else { ControlShape::Constant }
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

fn read_grid(scope: &mut Scope<'_>, grid: &GridSpec, name: &str) -> Read {
    let kind = match grid.controls.as_ref().map(|t| t.text.as_str()) {
        None | Some("constant") => ControlKind::Constant,
        Some("linear") => ControlKind::Continuous,
        Some("linear-with-jumps") => ControlKind::Jumping,
        Some(_) => {
            let span = grid.controls.as_ref().map_or(grid.span, |t| t.span);
            scope.fault(
                "unknown-controls",
                span,
                "expected `constant`, `linear` or `linear-with-jumps`",
                None,
            );
            ControlKind::Constant
        }
    };
    let simulate = match grid.start.as_ref().map(|t| t.text.as_str()) {
        None | Some("line") => false,
        Some("simulate") => true,
        Some(_) => {
            let span = grid.start.as_ref().map_or(grid.span, |t| t.span);
            scope.fault("unknown-start", span, "expected `line` or `simulate`", None);
            false
        }
    };
    Read {
        name: name.to_owned(),
        kind,
        intervals: scope.count(&grid.intervals, MOST_INTERVALS).unwrap_or(1),
        fine: grid.fine.as_ref().and_then(|f| scope.count(f, 100)).unwrap_or(1),
        accuracy: grid.accuracy.as_ref().and_then(|a| positive(scope, a)).unwrap_or(1e-9),
        steps: grid.steps.as_ref().and_then(|s| scope.count(s, 1024)).unwrap_or(1),
        simulate,
        durations: Vec::new(),
        length: 1.0,
        free_duration: false,
    }
}

fn set_duration(
    scope: &mut Scope<'_>,
    read: &mut Read,
    duration: &Scalar,
    free: &[String],
    start: &[f64],
) {
    let Some(e) = scope.read(duration, free) else { return };
    let n = read.intervals * read.fine;
    if let Some(length) = scope.pool.as_f64(e) {
        if !(length > 0.0 && length.is_finite()) {
            scope.fault("bad-number", duration.span, "expected a duration above 0", None);
            return;
        }
        read.length = length;
        read.durations = vec![Duration::Fixed(length / n as f64); n];
        return;
    }
    for (i, name) in free.iter().enumerate() {
        let symbol = scope.pool.symbol(name);
        let slope = scope.pool.diff(e, symbol);
        let whole = scope.pool.mul(&[slope, symbol]);
        if whole == e
            && let Some(part) = scope.pool.as_f64(slope)
            && part > 0.0
        {
            read.length = part * start[i];
            read.free_duration = true;
            read.durations = vec![Duration::Part { parameter: i, part: part / n as f64 }; n];
            return;
        }
    }
    let help = Some("write a number, a free number, or a multiple of one: \"T\", \"T/2\"".into());
    scope.fault(
        "bad-duration",
        duration.span,
        "a duration is a number or a multiple of one free number",
        help,
    );
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

fn read_terms(
    scope: &mut Scope<'_>,
    problem: &Problem,
    step: usize,
    reads: &[Read],
    names: &[String],
    states: &[String],
) -> Vec<Term> {
    let spec = &problem.spec;
    let mut terms = Vec::new();
    let left_out: Vec<&Text> = problem.step(step).iter().flat_map(|h| &h.without).collect();
    for text in &left_out {
        if !spec.condition.iter().any(|c| c.name.text == text.text) {
            scope.fault(
                "unknown-condition",
                text.span,
                format!("there is no condition `{}`", text.text),
                None,
            );
        }
    }
    for condition in &spec.condition {
        if left_out.iter().any(|t| t.text == condition.name.text) {
            continue;
        }
        let Some(expr) = scope.read(&condition.value, names) else { continue };
        let (lower, upper) = match &condition.equals {
            Some(value) => {
                if condition.lower.is_some() || condition.upper.is_some() {
                    scope.fault(
                        "two-bounds",
                        condition.span,
                        "`equals` goes without `lower` and `upper`",
                        None,
                    );
                }
                let value = scope.number(value).unwrap_or(0.0);
                (value, value)
            }
            None => bounds(scope, condition.lower.as_ref(), condition.upper.as_ref()),
        };
        if lower == f64::NEG_INFINITY && upper == f64::INFINITY {
            let help = Some("give `equals`, `lower` or `upper`".into());
            scope.fault(
                "no-bound",
                condition.span,
                format!("condition `{}` demands nothing", condition.name.text),
                help,
            );
        }
        let phase = condition.phase.as_ref().and_then(|name| {
            let found = reads.iter().position(|r| r.name == name.text);
            if found.is_none() {
                scope.fault(
                    "unknown-phase",
                    name.span,
                    format!("there is no phase `{}`", name.text),
                    None,
                );
            }
            found
        });
        let Some(nodes) = read_nodes(scope, condition) else { continue };
        let role = Role::Condition { name: condition.name.text.clone(), lower, upper };
        terms.push(Term { expr, role, at: Where { phase, nodes } });
    }
    for (name, state) in &spec.states.0 {
        if let Some(end) = &state.end
            && let Some(value) = scope.number(end)
        {
            let expr = scope.pool.symbol(&name.text);
            let role = Role::Condition {
                name: format!("end of {}", name.text),
                lower: value,
                upper: value,
            };
            terms.push(Term { expr, role, at: Where { phase: None, nodes: Nodes::End } });
        }
    }
    for (name, value) in &spec.periodic.0 {
        if !names.contains(&name.text) {
            scope.fault(
                "unknown-name",
                name.span,
                format!("nothing here is called `{}`", name.text),
                None,
            );
            continue;
        }
        let Some(e) = scope.read(value, names) else { continue };
        let symbol = scope.pool.symbol(&name.text);
        let expr = scope.pool.sub(symbol, e);
        let role =
            Role::Condition { name: format!("periodic {}", name.text), lower: 0.0, upper: 0.0 };
        terms.push(Term { expr, role, at: Where { phase: None, nodes: Nodes::End } });
    }
    // Links of phases.
    for (i, phase) in spec.phase.iter().enumerate() {
        for (name, _) in &phase.link.0 {
            if i == 0 {
                scope.fault(
                    "first-phase",
                    name.span,
                    "the first phase has none before it to link to",
                    None,
                );
            } else if !states.contains(&name.text) {
                scope.fault(
                    "unknown-state",
                    name.span,
                    format!("there is no state `{}`", name.text),
                    None,
                );
            }
        }
        if i == 0 {
            continue;
        }
        for state in states {
            let own = phase.link.0.iter().find(|(n, _)| n.text == *state);
            let symbol = scope.pool.symbol(state);
            let before = match own {
                Some((_, value)) => scope.read(value, names),
                None => Some(symbol),
            };
            let Some(before) = before else { continue };
            terms.push(Term {
                expr: before,
                role: Role::End,
                at: Where { phase: Some(i - 1), nodes: Nodes::PhaseEnd },
            });
            terms.push(Term {
                expr: symbol,
                role: Role::Start,
                at: Where { phase: Some(i), nodes: Nodes::PhaseStart },
            });
        }
    }
    terms
}

/// Bounds of a model's coordinates and velocities.
fn read_bounds(scope: &mut Scope<'_>, problem: &Problem, states: &[String]) -> Vec<Term> {
    let Some(spec) = &problem.spec.bounds else { return Vec::new() };
    if problem.loaded.is_none() {
        let help = Some("give `lower` and `upper` to each state".into());
        scope.fault("no-model", spec.span, "`bounds` are for the coordinates of a model", help);
        return Vec::new();
    }
    let mut terms = Vec::new();
    let (positions, rates) = states.split_at(states.len() / 2);
    for (range, names) in [(&spec.position, positions), (&spec.velocity, rates)] {
        let Some(range) = range else { continue };
        let (lower, upper) = bounds(scope, range.lower.as_ref(), range.upper.as_ref());
        for name in names {
            let role = Role::Condition { name: name.clone(), lower, upper };
            terms.push(Term {
                expr: scope.pool.symbol(name),
                role,
                at: Where { phase: None, nodes: Nodes::All },
            });
        }
    }
    terms
}

fn read_nodes(scope: &mut Scope<'_>, condition: &ConditionSpec) -> Option<Nodes> {
    let mut list = Vec::new();
    for at in &condition.at.0 {
        match &at.source {
            ScalarSource::Expression(text) => {
                let nodes = match text.text.as_str() {
                    "start" => Nodes::Start,
                    "end" => Nodes::End,
                    "nodes" => Nodes::All,
                    "inner" => Nodes::Inner,
                    "path" => Nodes::Path,
                    _ => {
                        let help = Some(
                            "write `start`, `end`, `nodes`, `inner`, `path` or node numbers".into(),
                        );
                        scope.fault(
                            "unknown-place",
                            at.span,
                            format!("`{}` is no place", text.text),
                            help,
                        );
                        return None;
                    }
                };
                return Some(nodes);
            }
            ScalarSource::Number(value, _)
                if *value >= 0.0 && value.fract() == 0.0 && *value < 1e9 =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked above"
                )]
                list.push(*value as usize);
            }
            ScalarSource::Number(..) => {
                scope.fault("bad-number", at.span, "expected the number of a node, from 0", None);
                return None;
            }
            ScalarSource::Poisoned => return None,
        }
    }
    Some(if list.is_empty() { Nodes::All } else { Nodes::List(list) })
}

impl Where {
    /// Whether it holds at a node; `fine` nodes lie between those of the grid.
    fn holds(
        &self,
        phase: usize,
        n_phases: usize,
        node: usize,
        n_nodes: usize,
        fine: usize,
    ) -> bool {
        let here = self.phase.is_none_or(|p| p == phase);
        let coarse = node.is_multiple_of(fine);
        let (first, last) = (node == 0, node + 1 == n_nodes);
        here && match &self.nodes {
            Nodes::Start => first && (self.phase.is_some() || phase == 0),
            Nodes::End => last && (self.phase.is_some() || phase + 1 == n_phases),
            Nodes::All => coarse,
            Nodes::Inner => coarse && !first && !last,
            Nodes::Path => true,
            Nodes::List(list) => coarse && list.contains(&(node / fine)),
            Nodes::PhaseStart => first,
            Nodes::PhaseEnd => last,
        }
    }
}

fn guess(
    pool: &Pool,
    program: &Transcription<Box<dyn Grid>>,
    reads: &[Read],
    facts: &[StateFacts],
    control_guess: &[Option<Expr>],
    model_start: Option<&[f64]>,
    free: &[f64],
    amplitude: &[f64],
    sized: &[bool],
    controls: &[String],
) -> Guess {
    let total: f64 = reads.iter().map(|r| r.length).sum();
    let at = |e: Option<Expr>, s: f64, other: f64| e.map_or(other, |e| pool.eval(e, |_| s));
    let mut begun = 0.0;
    let (mut states, mut pieces) = (Vec::new(), Vec::new());
    for (i, read) in reads.iter().enumerate() {
        let n = program.phases[i].motion.intervals();
        let share = |node: usize| (begun + read.length * node as f64 / n as f64) / total;
        let mut nodes = Vec::new();
        for node in 0..=n {
            let s = share(node);
            nodes.push(match model_start {
                Some(start) => start.to_vec(),
                None => facts
                    .iter()
                    .map(|f| {
                        let line = match (f.start, f.end) {
                            (Some(a), Some(b)) => a + (b - a) * s,
                            (Some(a), None) | (None, Some(a)) => a,
                            (None, None) => 0.0_f64.clamp(f.limits.0, f.limits.1),
                        };
                        at(f.guess, s, line)
                    })
                    .collect(),
            });
        }
        states.push(nodes);
        let values = |s: f64| -> Vec<f64> {
            (0..controls.len()).map(|c| at(control_guess[c], s, 0.0)).collect()
        };
        let fine = read.fine;
        pieces.push(
            (0..n / fine)
                .map(|k| {
                    let (a, b) = (share(k * fine), share((k + 1) * fine));
                    if read.kind.is_linear() {
                        (values(a), values(b))
                    } else {
                        let middle = values(0.5 * (a + b));
                        (middle.clone(), middle)
                    }
                })
                .collect(),
        );
        begun += read.length;
    }
    Guess {
        simulate: reads.iter().map(|r| r.simulate || model_start.is_some()).collect(),
        states,
        controls: pieces,
        free: free.to_vec(),
        amplitude: amplitude.to_vec(),
        sized: sized.to_vec(),
        starts: model_start.is_some() || facts.iter().all(|f| f.start.is_some()),
    }
}

impl Instance {
    fn set_bounds(
        &mut self,
        facts: &[StateFacts],
        free: &[(f64, f64)],
        plain: bool,
        fixed_start: bool,
    ) {
        let program = &mut self.program;
        let n_phases = program.phases.len();
        for i in 0..n_phases {
            let n = program.phases[i].motion.intervals();
            let m = program.phases[i].controls;
            for node in 0..=n {
                let at = program.state_at(i, node);
                let states = program.phases[i].motion.sizes(node).states;
                for j in 0..states {
                    let first = i == 0 && node == 0;
                    let (mut l, mut u) = (f64::NEG_INFINITY, f64::INFINITY);
                    if plain {
                        (l, u) = facts[j].limits;
                        // A value that is demanded anyway needs no bounds; beside an equality they would leave no inside.
                        let last = i + 1 == n_phases && node == n;
                        if last && facts[j].end.is_some_and(|end| (l..=u).contains(&end)) {
                            (l, u) = (f64::NEG_INFINITY, f64::INFINITY);
                        }
                        if first && let Some(value) = facts[j].start {
                            (l, u) = (value, value);
                        }
                    } else if first && fixed_start {
                        (l, u) = (0.0, 0.0);
                    }
                    program.lower[at + j] = l;
                    program.upper[at + j] = u;
                }
                let (carried, fresh, at) = program.controls_at(i, node);
                for j in 0..carried + fresh {
                    let (l, u) = self.control_bounds[j % m.max(1)];
                    program.lower[at + j] = l;
                    program.upper[at + j] = u;
                }
            }
        }
        let at = program.shape().global_at();
        for (j, (l, u)) in free.iter().enumerate() {
            program.lower[at + j] = *l;
            program.upper[at + j] = *u;
        }
    }

    fn set_nominal(
        &mut self,
        facts: &[StateFacts],
        free: &[Option<f64>],
        controls: &[Option<f64>],
        plain: bool,
    ) {
        let program = &self.program;
        for i in 0..program.phases.len() {
            let m = program.phases[i].controls;
            for node in 0..=program.phases[i].motion.intervals() {
                let at = program.state_at(i, node);
                let states = program.phases[i].motion.sizes(node).states;
                for j in 0..states {
                    // Of a model: metres, and velocities of a fast motion.
                    self.nominal[at + j] = if plain {
                        facts[j].scale.or(size_of(facts[j].limits))
                    } else {
                        Some(if 2 * j < states { 1.0 } else { 10.0 })
                    };
                }
                let (carried, fresh, at) = program.controls_at(i, node);
                for j in 0..carried + fresh {
                    self.nominal[at + j] = controls[j % m.max(1)];
                }
            }
        }
        let at = program.shape().global_at();
        for (j, scale) in free.iter().enumerate() {
            self.nominal[at + j] = *scale;
        }
    }

    /// Sizes of states by the largest value of the guess, where nothing else tells them.
    fn size_by_guess(&mut self, plain: bool) {
        if !plain {
            return;
        }
        let program = &self.program;
        let n_states = self.states.first().map_or(0, Vec::len);
        for j in 0..n_states {
            let places: Vec<usize> = (0..program.phases.len())
                .flat_map(|i| (0..=program.phases[i].motion.intervals()).map(move |node| (i, node)))
                .map(|(i, node)| program.state_at(i, node) + j)
                .collect();
            let most = places.iter().fold(0.0_f64, |m, &p| m.max(self.x[p].abs()));
            for p in places {
                if self.nominal[p].is_none() && most > 0.0 {
                    self.nominal[p] = Some(most);
                }
            }
        }
    }

    /// Sets the variables to a start. States that follow from a simulation stop where it fails.
    pub fn begin(&mut self, start: Start) {
        let mut seed = match start {
            Start::Random(seed) => seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03,
            _ => 0,
        };
        let random: Vec<f64> = (0..self.controls.len())
            .map(|c| {
                let r = noise(&mut seed);
                let (l, u) = self.control_bounds[c];
                let wide = (2.0 * r - 1.0) * self.guess.amplitude[c];
                if l.is_finite() && u.is_finite() && !self.guess.sized[c] {
                    l + (u - l) * r
                } else {
                    wide.clamp(l, u)
                }
            })
            .collect();
        let mut x = vec![0.0; self.x.len()];
        let at = self.program.shape().global_at();
        x[at..at + self.guess.free.len()].copy_from_slice(&self.guess.free);
        for i in 0..self.program.phases.len() {
            let n = self.program.phases[i].motion.intervals();
            let fine = self.program.phases[i].refine;
            for node in 0..=n {
                let piece = (node / fine).min(self.guess.controls[i].len() - 1);
                let (mut a, mut b) = self.guess.controls[i][piece].clone();
                match start {
                    Start::Guess => {}
                    Start::Zero => {
                        a.fill(0.0);
                        b.fill(0.0);
                    }
                    Start::Random(_) => {
                        a.clone_from(&random);
                        b.clone_from(&random);
                    }
                }
                if node == n {
                    self.program.set_controls(&mut x, i, node, &b, &b);
                } else {
                    self.program.set_controls(&mut x, i, node, &a, &b);
                }
            }
        }
        let states = self.guess.states.clone();
        let simulate: Vec<bool> =
            self.guess.simulate.iter().map(|s| *s && self.guess.starts).collect();
        self.put_states(&mut x, &states, &simulate, &vec![0; states.len()]);
        self.copy_starts(&mut x);
        self.x = x;
    }

    /// Puts full states into x, charts around them; phases to simulate are integrated on from node `from`.
    pub(crate) fn put_states(
        &mut self,
        x: &mut [f64],
        states: &[Vec<Vec<f64>>],
        simulate: &[bool],
        from: &[usize],
    ) {
        for i in 0..states.len() {
            let n = states[i].len() - 1;
            let mut list = states[i].clone();
            let placed = self.program.phases[i].motion.place(&list);
            let Ok(placed) = placed else { continue };
            for (node, numbers) in placed.iter().enumerate() {
                let at = self.program.state_at(i, node);
                x[at..at + numbers.len()].copy_from_slice(numbers);
            }
            if !simulate[i] {
                continue;
            }
            for node in from[i]..n {
                let point = self.program.motion_point(x, i, node);
                let motion = &self.program.phases[i].motion;
                let Ok(full) = motion.arrive(node, point.as_slice()) else { break };
                if full.iter().any(|v| !v.is_finite()) {
                    break;
                }
                // The rest follows this state until the simulation goes on.
                for later in &mut list[node + 1..] {
                    later.clone_from(&full);
                }
                let Ok(placed) = self.program.phases[i].motion.place(&list) else { break };
                for (later, numbers) in placed.iter().enumerate().skip(node + 1) {
                    let at = self.program.state_at(i, later);
                    x[at..at + numbers.len()].copy_from_slice(numbers);
                }
            }
        }
    }

    /// Global copies of quantities of the first node.
    pub(crate) fn copy_starts(&self, x: &mut [f64]) {
        let program = &self.program;
        let point = program.motion_point(x, 0, 0);
        let motion = &program.phases[0].motion;
        let Ok(observed) = motion.observe(0, point.as_slice(), None) else { return };
        let at = program.shape().global_at();
        for (j, name) in program.names.globals.iter().enumerate().skip(self.free.len()) {
            let inner = name.strip_prefix("start.").unwrap_or(name);
            let place = motion
                .quantities()
                .iter()
                .position(|q| q == inner || q.strip_prefix("u.") == Some(inner));
            if let Some(q) = place {
                x[at + j] = observed.values[q];
            }
        }
    }
}

/// A number from 0 to 1 of a reproducible sequence.
fn noise(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
