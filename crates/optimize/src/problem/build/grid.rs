//! The time of a problem: phases, intervals, durations.

use gelenk_model::spec::Scalar;
use gelenk_model::spec::tables::GridSpec;

use super::{Free, positive};
use crate::controls::ControlKind;
use crate::flow::Duration;
use crate::problem::scope::Scope;
use crate::problem::{Problem, Solution};

/// Most intervals of a phase.
const MOST_INTERVALS: usize = 10_000;

/// A phase as read.
pub(super) struct Read {
    pub(super) name: String,
    pub(super) kind: ControlKind,
    pub(super) intervals: usize,
    pub(super) fine: usize,
    pub(super) accuracy: f64,
    pub(super) steps: usize,
    pub(super) simulate: bool,
    pub(super) durations: Vec<Duration>,
    /// Guess of the whole duration.
    pub(super) length: f64,
    pub(super) free_duration: bool,
}

/// How a start or a given motion differs from the file's grid.
#[derive(Clone, Copy, Default)]
pub(crate) struct Other<'a> {
    /// Another number of intervals of every phase.
    pub(crate) intervals: Option<usize>,
    /// Half the horizon.
    pub(crate) shorter: bool,
    /// As many intervals in every phase as this motion has.
    pub(crate) motion: Option<&'a Solution>,
}

/// All phases of a problem.
pub(super) fn read_phases(
    scope: &mut Scope<'_>,
    problem: &Problem,
    step: usize,
    other: &Other<'_>,
    free: &Free,
) -> Vec<Read> {
    let spec = &problem.spec;
    let mut reads: Vec<Read> = Vec::new();
    if spec.phase.is_empty() {
        match &spec.grid {
            Some(grid) => {
                let mut read = read_grid(scope, grid, "");
                override_grid(scope, problem, step, other, free, &mut read, (0, 1), grid);
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
            let mut read = read_grid(scope, &phase.grid, &phase.name.text);
            if reads.iter().any(|r| r.name == read.name) {
                let message = format!("there are two phases `{}`", read.name);
                scope.fault("duplicate-name", phase.name.span, message, None);
            }
            override_grid(scope, problem, step, other, free, &mut read, (i, n), &phase.grid);
            reads.push(read);
        }
    }
    reads
}

fn override_grid(
    scope: &mut Scope<'_>,
    problem: &Problem,
    step: usize,
    other: &Other<'_>,
    free: &Free,
    read: &mut Read,
    (phase, n_phases): (usize, usize),
    grid: &GridSpec,
) {
    let homotopy = problem.step(step);
    let last = phase + 1 == n_phases;
    if let Some(h) = homotopy {
        if let Some(duration) = &h.duration
            && n_phases > 1
            && last
        {
            scope.fault(
                "phases-of-duration",
                duration.span,
                "with several phases it is not clear which one this is the duration of",
                Some("give durations by parameters, and these other values by `set`".into()),
            );
        }
        if let Some(n) = &h.intervals {
            read.intervals = scope.count(n, MOST_INTERVALS).unwrap_or(1);
        }
        if let Some(a) = &h.accuracy {
            read.accuracy = positive(scope, a).unwrap_or(read.accuracy);
        }
    }
    if let Some(n) = other.intervals {
        read.intervals = n.clamp(1, MOST_INTERVALS);
    }
    if let Some(found) = other.motion.and_then(|motion| motion.phases.get(phase)) {
        read.intervals = (found.controls.len() / read.fine).clamp(1, MOST_INTERVALS);
    }
    let duration = homotopy.and_then(|h| h.duration.as_ref()).unwrap_or(&grid.duration);
    let n_whole = read.intervals;
    if other.shorter {
        read.intervals = n_whole.div_ceil(2);
    }
    set_duration(scope, read, duration, free);
    if other.shorter {
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

fn set_duration(scope: &mut Scope<'_>, read: &mut Read, duration: &Scalar, free: &Free) {
    let Some(e) = scope.read(duration, &free.names) else { return };
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
    for (i, name) in free.names.iter().enumerate() {
        let symbol = scope.pool.symbol(name);
        let slope = scope.pool.diff(e, symbol);
        let whole = scope.pool.mul(&[slope, symbol]);
        if whole == e
            && let Some(part) = scope.pool.as_f64(slope)
            && part > 0.0
        {
            read.length = part * free.start[i];
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
