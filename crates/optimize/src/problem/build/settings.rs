//! The way to the solution, as the file has it.

use super::positive;
use crate::interior::Hessian;
use crate::problem::scope::Scope;
use crate::problem::{Plan, Problem};

/// What `[solver]` says.
pub(super) struct Settings {
    pub(super) hessian: Hessian,
    pub(super) sqp: bool,
    pub(super) tolerance: f64,
    pub(super) barrier: Option<f64>,
    pub(super) max_iterations: usize,
    pub(super) polish: bool,
    pub(super) plan: Plan,
}

/// Reads `[solver]` for a step of the homotopy; `still`: the guess has all controls zero.
pub(super) fn read_settings(
    scope: &mut Scope<'_>,
    problem: &Problem,
    step: usize,
    still: bool,
) -> Settings {
    let homotopy = problem.step(step);
    let solver = problem.spec.solver.as_ref();
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
        .and_then(|t| positive(scope, t))
        .unwrap_or(1e-8);
    let barrier = match homotopy {
        Some(step) => step.barrier.as_ref(),
        None => solver.and_then(|s| s.barrier.as_ref()),
    }
    .and_then(|b| positive(scope, b));
    let max_iterations = solver
        .and_then(|s| s.max_iterations.as_ref())
        .and_then(|n| scope.count(n, 1_000_000))
        .unwrap_or(1000);
    let polish = solver.and_then(|s| s.polish).unwrap_or(false);
    let plan = Plan {
        starts: solver
            .and_then(|s| s.starts.as_ref())
            .and_then(|n| scope.count(n, 100_000))
            .unwrap_or(1),
        seed: solver
            .and_then(|s| s.seed.as_ref())
            .and_then(|n| scope.count(n, 1_000_000_000))
            .map_or(0, |n| n as u64),
        goal: solver.and_then(|s| s.goal.as_ref()).and_then(|g| scope.number(g)),
        still,
    };
    Settings { hessian, sqp, tolerance, barrier, max_iterations, polish, plan }
}
