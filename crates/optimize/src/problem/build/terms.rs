//! Conditions, costs and links of nodes: from the file to compiled terms.

use gelenk_expr::Expr;
use gelenk_model::spec::tables::ConditionSpec;
use gelenk_model::spec::{ScalarSource, Text};

use super::bounds;
use super::grid::Read;
use crate::problem::Problem;
use crate::problem::scope::Scope;
use crate::transcription::Role;

/// A term of a node before it is compiled.
pub(super) struct Term {
    pub(super) expr: Expr,
    pub(super) role: Role,
    pub(super) at: Where,
}

/// Where a term is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Where {
    /// `None`: all phases.
    pub(super) phase: Option<usize>,
    pub(super) nodes: Nodes,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Nodes {
    /// First node of the first phase (or of the named one).
    Start,
    /// Last node of the last phase (or of the named one).
    End,
    All,
    Inner,
    Path,
    List(Vec<usize>),
    /// Last node of exactly this phase.
    PhaseEnd,
}

/// All conditions, ends and periodicity.
pub(super) fn read_terms(
    scope: &mut Scope<'_>,
    problem: &Problem,
    step: usize,
    reads: &[Read],
    names: &[String],
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
    terms
}

/// Bounds of a model's coordinates and velocities.
pub(super) fn read_bounds(
    scope: &mut Scope<'_>,
    problem: &Problem,
    states: &[String],
) -> Vec<Term> {
    let Some(spec) = &problem.spec.bounds else { return Vec::new() };
    if problem.model().is_none() {
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
    pub(super) fn holds(
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
            Nodes::PhaseEnd => last,
        }
    }
}
