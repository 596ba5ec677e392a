//! The model of a problem in every step of its homotopy and every phase.

use std::sync::Arc;

use gelenk_expr::nearest;
use gelenk_model::spec::tables::PhaseSpec;
use gelenk_model::{Diagnostics, LoadOptions, Loaded};

use super::scope::Scope;
use super::{LoadModel, Problem};

/// Values of parameters, as the loader takes them.
type Set = Vec<(String, String)>;

/// The model in all its changes; nothing for problems without a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Models {
    steps: Vec<Step>,
    /// What the model of the last step was loaded with.
    pub(super) set: Set,
}

/// The model in a step of the homotopy.
#[derive(Clone, Debug)]
struct Step {
    /// As the file has it.
    base: Arc<Loaded>,
    /// As it is in every phase; the base alone where there are none.
    phases: Vec<Arc<Loaded>>,
}

impl Models {
    /// Loads the model for every step and phase: parameters of the problem that the model knows by the same name are the model's, with
    /// their values of that step.
    pub(super) fn load(
        problem: &Problem,
        set: &[(String, String)],
        load: LoadModel<'_>,
    ) -> Result<Self, Diagnostics> {
        let spec = &problem.spec;
        let Some(model) = spec.problem.as_ref().and_then(|h| h.model.as_ref()) else {
            return no_model(problem).map(|()| Models::default());
        };
        // What was loaded already, with what.
        let mut known: Vec<(Set, Vec<String>, Arc<Loaded>)> = Vec::new();
        let mut get = |set: &Set, without: &[String]| -> Result<Arc<Loaded>, Diagnostics> {
            if let Some((.., loaded)) = known.iter().find(|(s, w, _)| s == set && w == without) {
                return Ok(Arc::clone(loaded));
            }
            let options = LoadOptions {
                overrides: set.clone(),
                without: without.to_vec(),
                ..LoadOptions::default()
            };
            let loaded = Arc::new(load(&model.text, &options)?);
            known.push((set.clone(), without.to_vec(), Arc::clone(&loaded)));
            Ok(loaded)
        };
        let first = get(&set.to_vec(), &[])?;
        let is_parameter = |name: &str| first.model.parameters.iter().any(|p| p.name == name);
        let mut models = Models::default();
        for step in 0..problem.n_steps() {
            let mut scope = Scope::new(&problem.sources);
            let parameters = problem.parameters(step);
            scope.define(&parameters);
            let mut all = set.to_vec();
            for (name, _, scalar) in parameters.iter().filter(|(name, ..)| is_parameter(name)) {
                if let Some(value) = scope.number(scalar) {
                    all.push((name.clone(), format!("{value:e}")));
                }
            }
            let changes: Vec<(Set, Vec<String>)> =
                spec.phase.iter().map(|p| changes(&mut scope, problem, p, &first, &all)).collect();
            scope.finish()?;
            let base = get(&all, &[])?;
            let mut phases = Vec::new();
            for (set, without) in &changes {
                phases.push(get(set, without)?);
            }
            if phases.is_empty() {
                phases.push(Arc::clone(&base));
            }
            models.steps.push(Step { base, phases });
            models.set = all;
        }
        Ok(models)
    }

    /// The model in a step of the homotopy, without the changes of phases.
    pub(super) fn base(&self, step: usize) -> Option<&Loaded> {
        self.steps.get(step).map(|step| &*step.base)
    }

    /// The model in a phase of a step.
    pub(super) fn in_phase(&self, step: usize, phase: usize) -> Option<&Arc<Loaded>> {
        self.steps.get(step)?.phases.get(phase)
    }
}

/// Parameters and left-out elements of a phase.
fn changes(
    scope: &mut Scope<'_>,
    problem: &Problem,
    phase: &PhaseSpec,
    first: &Loaded,
    all: &[(String, String)],
) -> (Set, Vec<String>) {
    let mut set = all.to_vec();
    for (name, value) in &phase.set.0 {
        let parameters = || first.model.parameters.iter().map(|p| p.name.as_str());
        if problem.spec.free.0.iter().any(|(free, _)| free.text == name.text) {
            let message =
                format!("`{}` is a free number, the same over the whole motion", name.text);
            scope.fault("unknown-parameter", name.span, message, None);
        } else if !parameters().any(|p| p == name.text) {
            let help = nearest(&name.text, parameters()).map(|n| format!("did you mean `{n}`?"));
            let message = format!("the model has no parameter `{}`", name.text);
            scope.fault("unknown-parameter", name.span, message, help);
        } else if let Some(value) = scope.number(value) {
            // The last of a name counts.
            set.retain(|(known, _)| *known != name.text);
            set.push((name.text.clone(), format!("{value:e}")));
        }
    }
    let mut without: Vec<String> = Vec::new();
    for name in &phase.without {
        let model = &first.model;
        let elements = || {
            let joints = model.joints.iter().map(|j| j.name.as_str());
            let rows = model.rows.iter().map(|r| r.name.as_str());
            joints.chain(rows).chain(model.forces.iter().map(|f| f.name.as_str()))
        };
        if elements().any(|e| e == name.text) {
            without.push(name.text.clone());
        } else {
            let help = nearest(&name.text, elements()).map(|n| format!("did you mean `{n}`?"));
            let message = format!("the model has no joint, constraint or force `{}`", name.text);
            scope.fault("unknown-name", name.span, message, help);
        }
    }
    without.sort_unstable();
    without.dedup();
    (set, without)
}

/// Without a model its changes mean nothing.
fn no_model(problem: &Problem) -> Result<(), Diagnostics> {
    let mut scope = Scope::new(&problem.sources);
    for phase in &problem.spec.phase {
        let set = phase.set.0.iter().map(|(name, _)| name);
        for name in set.chain(&phase.without) {
            let help = Some("rates of a phase are given by `rates`".into());
            scope.fault("no-model", name.span, "there is no model to change in this phase", help);
        }
    }
    scope.finish().map(|_| ())
}
