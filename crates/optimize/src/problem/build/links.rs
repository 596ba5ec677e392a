//! Where phases meet: states that go on, jumps, constraints that begin to hold.

use gelenk_expr::{Expr, nearest};

use super::terms::{Nodes, Term, Where};
use crate::problem::Problem;
use crate::problem::scope::Scope;
use crate::transcription::Role;

/// Links of all phases to those before them. Values with which a phase begins are those at the end of the one before, or the `link`
/// expressions of them. `added` are the constraints of every phase that do not hold in the one before: there the places must
/// meet them already.
pub(super) fn read_links(
    scope: &mut Scope<'_>,
    problem: &Problem,
    names: &[String],
    states: &[String],
    controls: &[String],
    added: &[Vec<(String, Expr)>],
) -> Vec<Term> {
    let mut terms = Vec::new();
    for (i, phase) in problem.spec.phase.iter().enumerate() {
        for (name, _) in &phase.link.0 {
            if i == 0 {
                let message = "the first phase has none before it to link to";
                scope.fault("first-phase", name.span, message, None);
            } else if !states.contains(&name.text) {
                let near = nearest(&name.text, states.iter().map(String::as_str));
                let help = near.map(|near| format!("did you mean `{near}`?"));
                let message = format!("there is no state `{}`", name.text);
                scope.fault("unknown-state", name.span, message, help);
            }
        }
        if i == 0 {
            continue;
        }
        let at = Where { phase: Some(i - 1), nodes: Nodes::PhaseEnd };
        let mut jumps = Vec::new();
        for state in states {
            let symbol = scope.pool.symbol(state);
            let own = phase.link.0.iter().find(|(n, _)| n.text == *state);
            let before = match own {
                Some((_, value)) => {
                    let Some(e) = scope.read(value, names) else { continue };
                    if uses_control(scope, e, controls) {
                        let message = "controls have no value where a phase ends";
                        scope.fault("no-value", value.span, message, None);
                    }
                    jumps.push((symbol, e));
                    e
                }
                None => symbol,
            };
            terms.push(Term { expr: before, role: Role::End, at: at.clone() });
        }
        for (name, g) in added.get(i).into_iter().flatten() {
            let expr = scope.pool.substitute(*g, &jumps);
            let name = format!("{name} begins to hold");
            let role = Role::Condition { name, lower: 0.0, upper: 0.0 };
            terms.push(Term { expr, role, at: at.clone() });
        }
    }
    terms
}

/// Whether an expression names a control, with or without its `u.`.
pub(super) fn uses_control(scope: &Scope<'_>, e: Expr, controls: &[String]) -> bool {
    scope.pool.symbols_of(e).iter().any(|s| {
        let name = scope.pool.display(*s).to_string();
        let plain = name.strip_prefix("u.").unwrap_or(&name);
        controls.iter().any(|c| plain == c || plain.strip_suffix(".end") == Some(c))
    })
}
