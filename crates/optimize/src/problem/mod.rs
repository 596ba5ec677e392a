//! Problems as files describe them, and the programs they become.

mod build;
mod job;
mod models;
mod run;
mod scope;
mod solution;

use gelenk_model::source::{SourceMap, Span};
use gelenk_model::spec::tables::{HomotopySpec, ProblemSpec};
use gelenk_model::spec::{Scalar, ScalarSource, Text};
use gelenk_model::{Diagnostic, Diagnostics, Limits, LoadOptions, Loaded, read_problem};

use self::models::Models;
pub use build::Instance;
use build::Other;
pub use run::{Checkpoint, Failed, Finished, Found, Live, RunOptions, Stage, Watcher, optimize};
pub use solution::{Certificate, Instant, PhaseSolution, Solution};

/// A problem of optimal control, read and ready to be built.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its name.
    pub name: String,
    pub(crate) spec: ProblemSpec,
    pub(crate) sources: SourceMap,
    /// The model in every step of the homotopy and every phase.
    models: Models,
    /// Values given beside the file.
    set: Vec<(String, String)>,
    /// How many starts the file asks for, and how.
    pub(crate) plan: Plan,
    overrides: Vec<(String, Scalar)>,
}

/// How a start differs from the file's guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As the file says.
    Guess,
    /// All controls zero.
    Zero,
    /// Random constant controls, from this seed.
    Random(u64),
    /// The same, a quarter as large.
    Gentle(u64),
}

/// Starts as the file plans them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    /// How many.
    pub(crate) starts: usize,
    /// Seed of random ones.
    pub(crate) seed: u64,
    /// No start follows one that reached this objective.
    pub(crate) goal: Option<f64>,
    /// Whether the file's guess has all controls zero.
    pub(crate) still: bool,
}

/// Loads the model that a problem names, with the parameters it gives it and without what does not act in a phase.
pub type LoadModel<'a> = &'a dyn Fn(&str, &LoadOptions) -> Result<Loaded, Diagnostics>;

impl Problem {
    /// Reads a problem. `name` is what messages call the text; `set` gives other values for parameters, of the problem or else of the model.
    pub fn read(
        name: &str,
        text: &str,
        set: &[(String, String)],
        load: LoadModel<'_>,
    ) -> Result<Problem, Diagnostics> {
        let (spec, mut sources) = read_problem(name, text, &Limits::default())?;
        let stem = name.strip_suffix(".toml").unwrap_or(name);
        let stem = stem.rsplit(['/', '\\']).next().unwrap_or(stem);
        let head = spec.problem.as_ref();
        let title =
            head.and_then(|h| h.name.as_ref()).map_or_else(|| stem.to_owned(), |n| n.text.clone());
        let mut overrides = Vec::new();
        let mut for_model = Vec::new();
        for (key, value) in set {
            if !spec.parameters.0.iter().any(|(name, _)| name.text == *key) {
                for_model.push((key.clone(), value.clone()));
                continue;
            }
            let file = sources.add("--set", value);
            let span = Span::new(file, 0..value.len());
            let source = match value.parse::<f64>() {
                Ok(number) if number.is_finite() => ScalarSource::Number(number, value.clone()),
                _ => ScalarSource::Expression(Text::bare(value, span)),
            };
            overrides.push((key.clone(), Scalar { span, source }));
        }
        if head.is_none_or(|h| h.model.is_none())
            && let Some((key, _)) = for_model.first()
        {
            let message = format!("--set: the problem has no parameter `{key}`");
            return Err(Diagnostics {
                list: vec![Diagnostic::error("unknown-parameter", message)],
                sources,
            });
        }
        let plan = Plan { starts: 1, seed: 0, goal: None, still: false };
        let mut problem = Problem {
            name: title,
            spec,
            sources,
            models: Models::default(),
            set: set.to_vec(),
            plan,
            overrides,
        };
        problem.models = Models::load(&problem, &for_model, load)?;
        for step in 0..problem.n_steps() {
            problem.plan = build::build(&problem, step, &Other::default(), false)?.plan;
        }
        Ok(problem)
    }

    /// What it is about, in words.
    pub fn description(&self) -> &str {
        let text = self.spec.problem.as_ref().and_then(|h| h.description.as_ref());
        text.map_or("", |t| t.text.as_str())
    }

    /// The known value of the objective, with its source, in words.
    pub fn known(&self) -> Option<&str> {
        self.spec.problem.as_ref().and_then(|h| h.known.as_ref()).map(|t| t.text.as_str())
    }

    /// The model, if there is one, with the parameters that the problem gives it.
    pub fn model(&self) -> Option<&Loaded> {
        self.models.base(self.n_steps() - 1)
    }

    /// The model as it is in a phase: with that phase's parameters, without what does not act in it.
    pub fn model_in(&self, phase: usize) -> Option<&Loaded> {
        self.models.in_phase(self.n_steps() - 1, phase).map(|loaded| &**loaded)
    }

    /// Names of the numbers that the optimizer chooses.
    pub fn free_names(&self) -> Vec<String> {
        self.spec.free.0.iter().map(|(name, _)| name.text.clone()).collect()
    }

    /// The text of its file, with which [`Problem::read`] reads it again.
    pub fn text(&self) -> &str {
        self.sources.files().first().map_or("", |file| file.text.as_str())
    }

    /// The values of parameters that [`Problem::read`] was given beside the text.
    pub fn set(&self) -> &[(String, String)] {
        &self.set
    }

    /// Parameters of the model that the problem or its user gave other values, as [`LoadModel`] got them.
    pub fn model_set(&self) -> &[(String, String)] {
        &self.models.set
    }

    /// Steps of the homotopy, the problem itself included.
    pub fn n_steps(&self) -> usize {
        self.spec.homotopy.len() + 1
    }

    /// The step of the homotopy: `None` is the problem itself.
    pub(crate) fn step(&self, step: usize) -> Option<&HomotopySpec> {
        self.spec.homotopy.get(step)
    }

    /// The program of a step, with another number of intervals of every phase if given.
    pub fn instance(&self, step: usize, intervals: Option<usize>) -> Result<Instance, Diagnostics> {
        build::build(self, step, &Other { intervals, ..Other::default() }, true)
    }

    /// The program of the problem itself on the grid of a motion.
    pub fn instance_of(&self, motion: &Solution) -> Result<Instance, Diagnostics> {
        let other = Other { motion: Some(motion), ..Other::default() };
        build::build(self, self.n_steps() - 1, &other, true)
    }

    /// The same with half the horizon.
    pub(crate) fn shorter(
        &self,
        step: usize,
        intervals: Option<usize>,
    ) -> Result<Instance, Diagnostics> {
        build::build(self, step, &Other { intervals, shorter: true, motion: None }, true)
    }

    pub(crate) fn parameters(&self, step: usize) -> Vec<(String, Span, Scalar)> {
        let mut list: Vec<(String, Span, Scalar)> = self
            .spec
            .parameters
            .0
            .iter()
            .map(|(n, v)| (n.text.clone(), n.span, v.clone()))
            .collect();
        let mut replace = |name: &str, value: &Scalar| {
            for entry in &mut list {
                if entry.0 == name {
                    entry.2 = value.clone();
                }
            }
        };
        for (name, value) in &self.overrides {
            replace(name, value);
        }
        for (name, value) in self.step(step).iter().flat_map(|s| &s.set.0) {
            replace(&name.text, value);
        }
        list
    }
}
