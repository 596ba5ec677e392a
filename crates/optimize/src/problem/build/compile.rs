//! Terms of every node, compiled: the phases of a program.

use gelenk_expr::Expr;

use super::grid::Read;
use super::links::uses_control;
use super::terms::{Nodes, Term};
use crate::grid::Grid;
use crate::motion::Motion;
use crate::problem::Problem;
use crate::problem::scope::Scope;
use crate::terms::{Reads, Terms};
use crate::transcription::{NodeTerms, Phase};

/// What all phases share.
pub(super) struct Common<'a> {
    pub(super) problem: &'a Problem,
    pub(super) reads: &'a [Read],
    pub(super) terms: &'a [Term],
    /// Symbols of `start.NAME` with their globals.
    pub(super) globals: &'a [(Expr, usize)],
    pub(super) controls: &'a [String],
    pub(super) states: usize,
    /// Free numbers.
    pub(super) free: usize,
    /// Weights of changes of controls.
    pub(super) smooth: &'a [f64],
    pub(super) fixed_start: bool,
    /// Whether every phase begins with the very state in which the one before it ends.
    pub(super) goes_on: &'a [bool],
}

/// The phases with their terms.
pub(super) fn phases(
    scope: &mut Scope<'_>,
    common: &Common<'_>,
    motions: Vec<Box<dyn Grid>>,
) -> Vec<Phase<Box<dyn Grid>>> {
    let Common { problem, reads, terms, globals, controls, smooth, fixed_start, goes_on, .. } =
        *common;
    let n_phases = reads.len();
    let mut phases = Vec::new();
    for (i, (motion, read)) in motions.into_iter().zip(reads).enumerate() {
        let n_nodes = motion.intervals() + 1;
        let mut symbols: Vec<(Expr, Reads)> = Vec::new();
        for (q, name) in motion.quantities().iter().enumerate() {
            symbols.push((scope.pool.symbol(name), Reads::Quantity(q)));
            // Controls may be named without their `u.`.
            if let Some(plain) = name.strip_prefix("u.") {
                symbols.push((scope.pool.symbol(plain), Reads::Quantity(q)));
                // A constant control ends an interval as it began it.
                if !read.kind.is_linear() {
                    let ends = [format!("{name}.end"), format!("{plain}.end")];
                    symbols.extend(ends.map(|e| (scope.pool.symbol(&e), Reads::Quantity(q))));
                }
            }
        }
        symbols.extend(globals.iter().map(|(s, g)| (*s, Reads::Global(*g))));
        let needs_control: Vec<bool> =
            terms.iter().map(|t| uses_control(scope, t.expr, controls)).collect();
        let mut lists: Vec<Vec<usize>> = Vec::new();
        let mut nodes = Vec::new();
        for node in 0..n_nodes {
            let here: Vec<usize> = (0..terms.len())
                .filter(|&t| {
                    let last = node + 1 == n_nodes;
                    let everywhere = matches!(terms[t].at.nodes, Nodes::All | Nodes::Path);
                    // Where the start is fixed nothing can be demanded of it.
                    let given = i == 0 && node == 0 && fixed_start && problem.model().is_some();
                    // The phase before demands the same of the same state.
                    let twice =
                        node == 0 && goes_on[i] && terms[t].at.phase.is_none() && !needs_control[t];
                    terms[t].at.holds(i, n_phases, node, n_nodes, read.fine)
                        && !(last && needs_control[t])
                        && !(everywhere && (given || twice))
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
                Err(error) => {
                    scope.fault("bad-expression", problem.spec.span, error.to_string(), None);
                }
            }
        }
        let weighted = smooth.iter().any(|w| *w != 0.0);
        phases.push(Phase {
            motion,
            kind: read.kind,
            refine: read.fine,
            controls: controls.len(),
            full_states: common.states,
            parameters: (0..common.free).collect(),
            smooth: if weighted { smooth.to_vec() } else { Vec::new() },
            nodes,
            sets,
        });
    }
    phases
}
